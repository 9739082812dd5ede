"""Edits that are made again: the same verdict of frames and of ids that are here."""

from __future__ import annotations

import random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pfspark.edge import repeats
from pfspark.errors import UsageError
from pfspark.rows import local, rows_of, schema_of

IDS = ("mail:@f:ab:1", "mail:@f:ab:2", "mine", "mine~x", "~2")
AGAIN = ("", "again:", "again:again:")
ANEW = ("", "~2", "~3", "~12")


def invented(seed: int) -> tuple[set[str], set[str]]:
    """The edits of an organization, and those of them (and others) that do not count."""
    of = random.Random(seed)
    some = of.sample(IDS, of.randint(1, len(IDS)))

    def edits(most: int) -> set[str]:
        return {of.choice(AGAIN) + of.choice(some) + of.choice(ANEW) for _ in range(of.randint(0, most))}

    made = edits(8)
    return made, edits(4) | set(of.sample(sorted(made), of.randint(0, len(made) // 2)))


@given(seeds=st.lists(st.integers(0, 2**32), min_size=300, max_size=300, unique=True))
@settings(max_examples=10, phases=[Phase.explicit, Phase.reuse, Phase.generate])  # a smaller number is no simpler case
def test_what_is_here_says_what_frames_say(spark: SparkSession, seeds: list[int]) -> None:
    """In many organizations at once."""
    cases = [invented(seed) for seed in seeds]
    edits = [{"org": str(nth), "edit_id": edit} for nth, (made, _) in enumerate(cases) for edit in made]
    refused = [{"org": str(nth), "edit_id": edit, "outcome": "refused"} for nth, (_, void) in enumerate(cases) for edit in void]
    frames = (local(spark, rows_of(name, rows), schema_of(name)) for name, rows in (("edits", edits), ("receipts", refused)))
    told, receipts = frames
    lost = told.select("org", "edit_id").limit(0)
    made = repeats.made(told, receipts=receipts, lost=lost)
    made = made.withColumn("next", repeats.next_id(F.col("first"), F.col("times")))
    by_frames = {(row["org"], row["first"]): tuple(row)[2:] for row in made.collect()}
    here = {
        (str(nth), first): (*stands, repeats.anew(first, stands.times))
        for nth, (ids, void) in enumerate(cases)
        for first, stands in repeats.made_here(ids, void=void).items()
    }
    assert {stands[0] for stands in here.values()} >= {1, 2, 3, 4} and {stands[1] for stands in here.values()} == {True, False}
    assert here == by_frames
    assert repeats.anew("never", 0) == "never"


@pytest.mark.parametrize(("named", "by"), [("order~2", "~2"), ("again:order", "again:"), ("again:again:a~2", "again:again:")])
def test_what_names_an_edit_made_again_is_no_id_of_people_s_own(named: str, by: str) -> None:
    with pytest.raises(UsageError, match=f"found the edit_id '{named}', expected one without '{by}'"):
        repeats.expect_first(named)
    repeats.expect_first("order~x:again:1")
