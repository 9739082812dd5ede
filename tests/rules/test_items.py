"""Versions, winners, losers: what readers see of an item, and what a change of it is made upon (F12, F26-F32)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from pfspark.rules import items
from tests.frames import by_org, frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
RANGES = "org string, store string, folder string, origin string, cn_min bigint, cn_max bigint"
CHANGES = (
    "org string, folder string, origin string, cn bigint, object string, action string, name string, "
    "predecessors array<struct<origin:string,cn:bigint>>, made_at timestamp"
)
Made = tuple[str, int, str, list[tuple[str, int]], int]
"""Origin, number, action, made upon, and how many minutes later."""


def changes(spark: SparkSession, made: Mapping[str, list[Made]]) -> DataFrame:
    """Changes of the item A:1 in folder F, by organization."""
    rows = [
        (org, "F", origin, cn, "A:1", action, f"{origin}{cn}", upon, NOW + timedelta(minutes=later))
        for org, some in made.items()
        for origin, cn, action, upon, later in some
    ]
    return frame_of(spark, rows, CHANGES)


def held(spark: SparkSession, origins: Mapping[str, Mapping[str, int]]) -> DataFrame:
    """What store S holds in each organization: the numbers of each origin up to that."""
    rows = [(org, "S", "F", origin, 1, last) for org, some in origins.items() for origin, last in some.items()]
    return frame_of(spark, rows, RANGES)


FIRST: Made = ("A", 1, "post", [], 0)
WON: dict[str, tuple[list[Made], tuple[str, list[str], bool]]] = {
    # what is made; what a reader sees, who lost, whether it is deleted
    "a post": ([FIRST], ("A:1", [], False)),
    "made upon the first: it is its past": ([FIRST, ("B", 1, "modify", [("A", 1)], 1)], ("B:1", [], False)),
    "the later": (
        [FIRST, ("B", 1, "modify", [("A", 1)], 1), ("C", 1, "modify", [("A", 1)], 2)], ("C:1", ["B:1"], False),
    ),
    "the later, of the smaller label": (
        [FIRST, ("B", 1, "modify", [("A", 1)], 2), ("C", 1, "modify", [("A", 1)], 1)], ("B:1", ["C:1"], False),
    ),
    "of one moment the larger label": (
        [FIRST, ("B", 1, "modify", [("A", 1)], 1), ("C", 1, "modify", [("A", 1)], 1)], ("C:1", ["B:1"], False),
    ),
    "no deletion, though it is later": (
        [FIRST, ("B", 1, "modify", [("A", 1)], 1), ("C", 1, "delete", [("A", 1)], 9)], ("B:1", ["C:1"], False),
    ),
    "a deletion alone": ([FIRST, ("B", 1, "delete", [("A", 1)], 1)], ("B:1", [], True)),
    "who settles the conflict": (
        [FIRST, ("B", 1, "modify", [("A", 1)], 1), ("C", 1, "modify", [("A", 1)], 1),
         ("C", 2, "modify", [("A", 1), ("B", 1), ("C", 1)], 2)],
        ("C:2", [], False),
    ),
}  # fmt: skip
BACKWARDS = ", backwards"
UPON: list[Made] = [FIRST, ("B", 1, "modify", [("A", 1)], 1), ("B", 2, "modify", [("A", 1), ("B", 1)], 2)]
HELD = {"the first": {"A": 1}, "the second too": {"A": 1, "B": 1}, "none of them": {"C": 5}}
"""Of each organization in which that is made, what its store holds."""


@pytest.fixture(scope="module")
def readable(spark: SparkSession) -> Mapping[str, list[Row]]:
    """What a reader sees."""
    made = {f"{case}{way}": some[::-1] if way else some for case, (some, _) in WON.items() for way in ("", BACKWARDS)}
    origins = {case: {"A": 9, "B": 9, "C": 9} for case in made} | HELD
    seen = items.seen(changes(spark, made | dict.fromkeys(HELD, UPON)), applied=held(spark, origins))
    return by_org(items.readable(items.versions(seen)))


@pytest.mark.parametrize("case", WON)
def test_the_winner_is_the_same_whatever_came_first(readable: Mapping[str, list[Row]], case: str) -> None:
    _, expected = WON[case]
    for way in ("", BACKWARDS):
        [found] = readable[f"{case}{way}"]
        assert (found["version"], found["losers"], found["deleted"]) == expected
        assert found["conflict"] == bool(expected[1])


def test_a_store_sees_what_it_holds(readable: Mapping[str, list[Row]]) -> None:
    """Of a version that it lacks nothing shows, not even that one of its own was made upon it."""
    assert {case: [row["version"] for row in readable[case]] for case in HELD} == {
        "the first": ["A:1"], "the second too": ["B:1"], "none of them": [],
    }  # fmt: skip


def test_a_change_is_made_upon_all_that_is_held(spark: SparkSession) -> None:
    """The highest number of each origin, of versions and of what they were made upon; not what was settled without content."""
    some: list[Made] = [FIRST, ("B", 1, "modify", [("A", 1), ("Z", 4)], 1), ("C", 3, "modify", [("A", 1)], 1)]
    gone: list[Made] = [FIRST, ("B", 1, "delete", [("A", 1)], 1)]
    made = {"all": some, "of C without content": some, "deleted": gone}
    upon = items.made_upon(
        changes(spark, made),
        applied=held(spark, {case: {"A": 1, "B": 1, "C": 3} for case in made}),
        empty=frame_of(spark, [("of C without content", "S", "F", "C", 3, 3)], RANGES),
    )
    found = {row["org"]: ([tuple(each) for each in row["upon"]], row["deleted"]) for row in upon.collect()}
    assert found == {
        "all": ([("A", 1), ("B", 1), ("C", 3), ("Z", 4)], False),
        "of C without content": ([("A", 1), ("B", 1), ("Z", 4)], False),
        "deleted": ([("A", 1), ("B", 1)], True),
    }


def test_readers_use_active_replicas_of_content(spark: SparkSession) -> None:
    rows = [("F", "active"), ("F", "delete pending"), ("F", "delete now"), ("F", "erased"), ("1-1", "active")]
    replicas = frame_of(spark, rows, "folder string, standing string")
    assert [tuple(row) for row in items.open_to_readers(replicas).collect()] == [("F", "active")]
