"""How lines look to people, where there is much to tell."""

from __future__ import annotations

import pytest

from pfspark.cli import looks


@pytest.mark.parametrize(
    ("stores", "said"),
    [(0, ""), (2, "S1, S2"), (8, "S1, S2, S3, S4, S5, S6, S7, S8"), (9, "S1, S2, S3, S4, S5, S6, S7 and 2 others"),
     (1_200, "S1, S2, S3, S4, S5, S6, S7 and 1,193 others")],
)  # fmt: skip
def test_of_many_stores_the_first_are_named(stores: int, said: str) -> None:
    """A message may go to hundreds, and all of them count."""
    assert looks.named(f"S{nth}" for nth in range(1, stores + 1)) == said
