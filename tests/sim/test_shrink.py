"""A scenario that goes wrong is shrunk to the steps that it takes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.sim.shrink import shrunk

HEAD = 'name = "x"\nprofile = "modern"'


def scenario(*steps: int) -> str:
    """Of every three the first is a fault."""
    blocks = (f"[[{'steps' if step % 3 else 'faults'}]]\nat = {step}" for step in steps)
    return "\n".join([HEAD, *blocks]) + "\n"


@pytest.mark.parametrize("needed", [(), (0,), (19,), (3, 7), (0, 10, 19), tuple(range(20))])
def test_the_steps_that_it_takes_stay_in_their_order(needed: tuple[int, ...]) -> None:
    tries: list[int] = []

    def wrong(texts: Sequence[str]) -> list[bool]:
        tries.append(len(texts))
        return [{f"at = {step}" for step in needed} <= set(text.splitlines()) for text in texts]

    assert shrunk(scenario(*range(20)), wrong) == scenario(*needed)
    assert len(tries) <= 20  # plays of all that is tried at a time


def test_steps_that_only_together_go_wrong_are_not_parted() -> None:
    """Either both of a pair or none: leaving out one alone makes a scenario that cannot be played."""

    def wrong(texts: Sequence[str]) -> list[bool]:
        return [("at = 4" in text.splitlines()) == ("at = 5" in text.splitlines()) and "at = 9" in text for text in texts]

    assert shrunk(scenario(*range(10)), wrong) == scenario(9)
