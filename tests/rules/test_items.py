"""Versions, winners, losers: what readers see of an item, and what a change of it is made upon (F12, F26-F32)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from pfspark.rules import items
from tests.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
RANGES = "org string, store string, folder string, origin string, cn_min bigint, cn_max bigint"
CHANGES = (
    "org string, folder string, origin string, cn bigint, object string, action string, name string, "
    "predecessors array<struct<origin:string,cn:bigint>>, made_at timestamp"
)
Made = tuple[str, int, str, list[tuple[str, int]], int]
"""Origin, number, action, made upon, and how many minutes later."""


def changes(spark: SparkSession, *made: Made) -> DataFrame:
    """Changes of the item A:1 in folder F."""
    rows = [
        ("o", "F", origin, cn, "A:1", action, f"{origin}{cn}", upon, NOW + timedelta(minutes=later))
        for origin, cn, action, upon, later in made
    ]
    return frame_of(spark, rows, CHANGES)


def held(spark: SparkSession, **origins: int) -> DataFrame:
    """What store S holds: the numbers of each origin up to that."""
    return frame_of(spark, [("o", "S", "F", origin, 1, last) for origin, last in origins.items()], RANGES)


def read(spark: SparkSession, made: list[Made], **origins: int) -> dict[str, Any]:
    seen = items.seen(changes(spark, *made), applied=held(spark, **origins))
    [row] = items.readable(items.versions(seen)).collect()
    return {name: row[name] for name in ("version", "losers", "conflict", "deleted")}


FIRST: Made = ("A", 1, "post", [], 0)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ([FIRST], ("A:1", [], False)),
        ([FIRST, ("B", 1, "modify", [("A", 1)], 1)], ("B:1", [], False)),  # made upon the first: it is its past
        ([FIRST, ("B", 1, "modify", [("A", 1)], 1), ("C", 1, "modify", [("A", 1)], 2)], ("C:1", ["B:1"], False)),
        ([FIRST, ("B", 1, "modify", [("A", 1)], 2), ("C", 1, "modify", [("A", 1)], 1)], ("B:1", ["C:1"], False)),
        ([FIRST, ("B", 1, "modify", [("A", 1)], 1), ("C", 1, "modify", [("A", 1)], 1)], ("C:1", ["B:1"], False)),  # larger label
        ([FIRST, ("B", 1, "modify", [("A", 1)], 1), ("C", 1, "delete", [("A", 1)], 9)], ("B:1", ["C:1"], False)),
        ([FIRST, ("B", 1, "delete", [("A", 1)], 1)], ("B:1", [], True)),
        ([FIRST, ("B", 1, "modify", [("A", 1)], 1), ("C", 1, "modify", [("A", 1)], 1),
          ("C", 2, "modify", [("A", 1), ("B", 1), ("C", 1)], 2)], ("C:2", [], False)),  # settles the conflict
    ],
)  # fmt: skip
def test_the_winner_is_the_same_whatever_came_first(spark: SparkSession, made: list[Made], expected: tuple[Any, ...]) -> None:
    for order in (made, made[::-1]):
        found = read(spark, order, A=9, B=9, C=9)
        assert (found["version"], found["losers"], found["deleted"]) == expected
        assert found["conflict"] == bool(expected[1])


def test_a_store_sees_what_it_holds(spark: SparkSession) -> None:
    """Of a version that it lacks nothing shows, not even that one of its own was made upon it."""
    made: list[Made] = [FIRST, ("B", 1, "modify", [("A", 1)], 1), ("B", 2, "modify", [("A", 1), ("B", 1)], 2)]
    assert read(spark, made, A=1)["version"] == "A:1"
    assert read(spark, made, A=1, B=1)["version"] == "B:1"
    assert items.seen(changes(spark, *made), applied=held(spark, C=5)).count() == 0


def test_a_change_is_made_upon_all_that_is_held(spark: SparkSession) -> None:
    """The highest number of each origin, of versions and of what they were made upon; not what was settled without content."""
    made: list[Made] = [FIRST, ("B", 1, "modify", [("A", 1), ("Z", 4)], 1), ("C", 3, "modify", [("A", 1)], 1)]
    none = held(spark).limit(0)
    [row] = items.made_upon(changes(spark, *made), applied=held(spark, A=1, B=1, C=3), empty=none).collect()
    assert [tuple(each) for each in row["upon"]] == [("A", 1), ("B", 1), ("C", 3), ("Z", 4)] and not row["deleted"]
    empty = frame_of(spark, [("o", "S", "F", "C", 3, 3)], RANGES)
    [row] = items.made_upon(changes(spark, *made), applied=held(spark, A=1, B=1, C=3), empty=empty).collect()
    assert [each["origin"] for each in row["upon"]] == ["A", "B", "Z"]
    gone: list[Made] = [FIRST, ("B", 1, "delete", [("A", 1)], 1)]
    [row] = items.made_upon(changes(spark, *gone), applied=held(spark, A=1, B=1), empty=none).collect()
    assert row["deleted"]


def test_readers_use_active_replicas_of_content(spark: SparkSession) -> None:
    rows = [("F", "active"), ("F", "delete pending"), ("F", "delete now"), ("F", "erased"), ("1-1", "active")]
    replicas = frame_of(spark, rows, "folder string, standing string")
    assert [tuple(row) for row in items.open_to_readers(replicas).collect()] == [("F", "active")]
