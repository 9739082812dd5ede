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


def test_lost_is_what_no_replica_has_that_speaks(spark: SparkSession) -> None:
    """Not what has expired where it was had, nor mail to one that may stand by then; but what is had alone by one that goes, by a
    life that is over, by mail to one that goes."""
    key = {"org": "o", "folder": "F"}
    states = [
        key | {"store": store, "about": about, "entry": entry, "origin": "P1", "cn_min": low, "cn_max": high}
        for store, about, entry, low, high in (
            ("P1", "P1~2", "applied", 1, 2), ("P1", "P1~2", "empty", 2, 2), ("P1", "P1", "applied", 1, 9),
            ("P2", "P2", "applied", 3, 3), ("P3", "P3", "applied", 4, 4), ("P2", "P1", "applied", 5, 5),
        )
    ]  # fmt: skip
    standings = (("P1", 2, "active"), ("P2", 1, "delete pending"), ("P3", 1, "delete now"), ("P4", 1, "erased"))
    replicas = [key | {"store": store, "life": life, "standing": standing} for store, life, standing in standings]
    mail = [
        key | {"recipient": to, "lost": lost, "carries": [{"origin": "P1", "cn_min": cn, "cn_max": cn}]}
        for to, lost, cn in (("P2", None, 6), ("P2", "down", 7), ("P3", None, 8), ("P4", None, 9))
    ]
    numbers = [key | {"origin": "P1", "cn": cn, "edit_id": f"e{cn}"} for cn in range(1, 10)]
    given = {
        name: local(spark, rows_of(name, rows), schema_of(name))
        for name, rows in (("changes", numbers), ("state", states), ("replicas", replicas), ("mail", mail))
    }
    lost = repeats.lost(given["changes"], table=given["state"], replicas=given["replicas"], mail=given["mail"])
    assert sorted(row["cn"] for row in lost.collect()) == [4, 5, 7, 8]
