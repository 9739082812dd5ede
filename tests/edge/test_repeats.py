"""Edits that are made again: the same verdict of frames and of ids that are here."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pfspark.edge import repeats
from pfspark.errors import UsageError
from pfspark.rows import local, rows_of, schema_of

IDS = st.sampled_from(["mail:@f:ab:1", "mail:@f:ab:2", "mine", "mine~x", "~2"])
AGAIN = st.sampled_from(["", "again:", "again:again:"])
ANEW = st.sampled_from(["", "~2", "~3", "~12"])
EDITS = st.builds("{}{}{}".format, AGAIN, IDS, ANEW)


@given(cases=st.lists(st.tuples(st.sets(EDITS, max_size=8), st.sets(EDITS, max_size=4)), min_size=30, max_size=30))
def test_what_is_here_says_what_frames_say(spark: SparkSession, cases: list[tuple[set[str], set[str]]]) -> None:
    """Thirty organizations at once: edits, and those of them (and others) that do not count."""
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
    assert here == by_frames
    assert repeats.anew("never", 0) == "never"


@pytest.mark.parametrize(("named", "by"), [("order~2", "~2"), ("again:order", "again:"), ("again:again:a~2", "again:again:")])
def test_what_names_an_edit_made_again_is_no_id_of_people_s_own(named: str, by: str) -> None:
    with pytest.raises(UsageError, match=f"found the edit_id '{named}', expected one without '{by}'"):
        repeats.expect_first(named)
    repeats.expect_first("order~x:again:1")
