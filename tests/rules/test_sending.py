"""When what waits goes, as frames."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from pfspark.rules import sending
from pfspark.words import HIERARCHY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = datetime.fromisoformat("2026-01-05T00:00:00+00:00")  # a Monday
NOW = START + timedelta(minutes=15)
KEY = "org string, store string, folder string"
NEVER, CLOSED, OPEN = "", "1920-1980", "1440-1500"  # hours of Monday: none, eight to nine, from midnight on
SALES = "P1:1"


@pytest.mark.rule("R4")
@pytest.mark.parametrize(("of_store", "goes"), [(NEVER, False), (CLOSED, False), (OPEN, True), (None, True)])
def test_no_schedule_holds_back_the_hierarchy(spark: SparkSession, of_store: str | None, goes: bool) -> None:
    """Never and closed hours hold back content alike, and the hierarchy neither of them (F44, F45)."""
    here = [("o", "P1", folder) for folder in (HIERARCHY, SALES)]
    timed = sending.cycle(
        spark.createDataFrame([(*each, "P1", 1, 1) for each in here], f"{KEY}, origin string, cn_min bigint, cn_max bigint"),
        agenda=spark.createDataFrame([], f"{KEY}, why string, since timestamp"),
        replicas=spark.createDataFrame([(*each, "active") for each in here], f"{KEY}, standing string"),
        stores=spark.createDataFrame(
            [("o", "P1", None, of_store)], "org string, store string, interval_s bigint, schedule string"
        ),
        limits=spark.createDataFrame([], f"{KEY}, schedule string, size_limit bigint, priority string"),
        clock=spark.createDataFrame(
            [("o", NOW, START, False, 900)], "org string, now timestamp, start timestamp, suspended boolean, interval_s bigint"
        ),
    )
    assert {row["folder"]: row["goes"] for row in timed.collect()} == {HIERARCHY: True, SALES: goes}


@pytest.mark.rule("R46")
def test_what_was_made_upon_others_is_looked_for_among_the_items_that_go(spark: SparkSession) -> None:
    """Modifications and deletions, of the item of that folder; a post is made upon nothing."""
    made = [(SALES, "x", "post", 1), (SALES, "x", "modify", 2), (SALES, "y", "delete", 3), (SALES, "z", "modify", 4),
            ("P1:2", "x", "modify", 5)]  # fmt: skip
    rows = [("o", *each) for each in made]
    changes = spark.createDataFrame(rows, "org string, folder string, object string, action string, cn bigint")
    revisions = sending.revisions(changes, items=changes.where("cn in (1, 3)"))
    assert sorted(row["cn"] for row in revisions.collect()) == [2, 3]
