"""What a round does with any frame: rows of some folders, replaced rows, rows together."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pfspark.rules.frames import amend, append, dated, going, in_folders, in_ranges, keys_of, once, staying, together
from tests.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
HERE = ("org", "store", "folder")


def rows(spark: SparkSession, *said: str) -> DataFrame:
    """Rows of organization o, written `store folder value`."""
    return frame_of(spark, [("o", *each.split()) for each in said], "org string, store string, folder string, value string")


def told(frame: DataFrame) -> list[str]:
    return sorted(" ".join(str(row[name]) for name in frame.columns if name != "org") for row in frame.collect())


def test_the_rows_of_a_key_are_replaced_all(spark: SparkSession) -> None:
    view = rows(spark, "A F 1", "A F 2", "A G 3", "B F 4")
    changed = rows(spark, "A F 5", "C F 6")
    assert told(amend(view, changed, key=HERE)) == ["A F 5", "A G 3", "B F 4", "C F 6"]
    assert told(amend(view, changed, key=("org", "store"))) == ["A F 5", "B F 4", "C F 6"]
    assert told(amend(view, changed.limit(0), key=HERE)) == told(view)
    assert told(append(view, changed)) == sorted([*told(view), *told(changed)])


def test_folders_are_told_apart_by_store_and_organization(spark: SparkSession) -> None:
    keys = rows(spark, "A F -", "A F -", "B G -")
    some = rows(spark, "A F 1", "A G 2", "B F 3", "B G 4", "B G 5")
    assert told(in_folders(some, keys)) == told(once(in_folders(some, keys))) == ["A F 1", "B G 4", "B G 5"]
    elsewhere = keys.selectExpr("'another' as org", "store", "folder")
    assert told(in_folders(some, elsewhere)) == []
    assert told(keys_of(some, keys)) == ["A F", "A G", "B F", "B G"]


def test_a_change_lies_in_a_range_of_its_own_folder_and_origin(spark: SparkSession) -> None:
    """The first number and the last do, whichever store has the range; who has two of them has the change once."""
    made = [("o", "F", origin, cn) for origin in "AB" for cn in range(1, 8)] + [("o", "G", "A", 3), ("p", "F", "A", 3)]
    changes = frame_of(spark, made, "org string, folder string, origin string, cn bigint")
    ends = [("o", "S", "F", "A", 2, 4), ("o", "T", "F", "A", 4, 5), ("o", "S", "F", "B", 7, 9)]
    ranges = frame_of(spark, ends, "org string, store string, folder string, origin string, cn_min bigint, cn_max bigint")
    found = sorted((row["org"], row["folder"], row["origin"], row["cn"]) for row in in_ranges(changes, ranges).collect())
    assert found == [("o", "F", "A", cn) for cn in (2, 3, 4, 5)] + [("o", "F", "B", 7)]


def test_what_a_frame_does_not_have_is_null(spark: SparkSession) -> None:
    assert told(together(rows(spark, "A F 1"), rows(spark, "B F 2").drop("value"))) == ["A F 1", "B F None"]


def test_steps_are_dated_by_their_organization(spark: SparkSession) -> None:
    clock = frame_of(spark, [("o", NOW)], "org string, now timestamp")
    elsewhere = rows(spark, "B F active").selectExpr("'another' as org", "store", "folder", "value")
    steps = rows(spark, "A F active").unionByName(elsewhere)
    assert [(row["store"], row["at"]) for row in dated(steps, clock=clock).collect()] == [("A", NOW.replace(tzinfo=None))]


def test_what_does_not_go_waits(spark: SparkSession) -> None:
    cycle = rows(spark, "A F true", "A G false").selectExpr("org", "store", "folder", "cast(value as boolean) as goes")
    assert told(going(cycle)) == ["A F True"]
    assert told(staying(cycle)) == ["A G False"]
