"""Of whom what is missing was asked last, and when it is asked for next: the open array beside the requests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import SparkSession

from pfspark.ask.gaps import gaps
from pfspark.rows import local, rows_of, schema_of

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
HERE = {"org": "A", "store": "PFS3", "folder": "PFS1:1", "origin": "PFS1"}


def at(hours: int) -> datetime:
    return MONDAY + timedelta(hours=hours)


def missing(low: int, high: int, attempt: int = 0, asked: int | None = None, **other: Any) -> dict[str, Any]:
    when = None if asked is None else at(asked)
    return HERE | {"cn_min": low, "cn_max": high, "heard": at(0), "attempt": attempt, "asked": when} | other


def step(low: int, high: int, of: str | None, hours: int, attempt: int = 1, **other: Any) -> dict[str, Any]:
    said = {"cn_min": low, "cn_max": high, "step": "asked" if of else "heard", "of": of, "attempt": attempt}
    return HERE | said | {"at": at(hours), "due": at(hours + 6), "round": hours} | other


def found(spark: SparkSession, array: list[Any], steps: list[Any], timed: list[Any]) -> list[tuple[Any, ...]]:
    frames = {name: local(spark, rows_of(name, rows), schema_of(name)) for name, rows in (("array", array), ("backfill", steps))}
    due = local(spark, rows_of("array", timed), schema_of("array")).withColumnRenamed("heard", "due")
    rows = gaps(frames["array"], steps=frames["backfill"], timed=due).toArrow().to_pylist()
    rows.sort(key=lambda row: (row["store"], row["origin"], row["cn_min"]))
    said = [(row["cn_min"], row["cn_max"], row["attempt"], row["of"], row["due"]) for row in rows]
    return [(*said[:-1], said[-1] and (said[-1] - MONDAY) // timedelta(hours=1)) for said in said]


def test_each_range_says_whom_it_was_asked_of_last(spark: SparkSession) -> None:
    array = [
        missing(1, 9, 1, 2),  # one entry, asked of two
        missing(20, 22, 2, 8),  # the rest of a longer range, asked twice
        missing(30, 32),  # not asked yet: one is known to be near, one claimed by nobody
        missing(1, 4, 1, 2, origin="PFS2"),  # as if a restore had taken the request back
        missing(5, 6, store="PFS4"),  # that nobody claims
    ]
    steps = [
        step(1, 5, "PFS1", 2), step(6, 9, "PFS2", 2), step(1, 9, None, 0), step(20, 29, "PFS1", 2),
        step(20, 25, "PFS2", 8, 2), step(26, 29, "PFS1", 8, 2), step(2, 3, "PFS1", 2, origin="PFS2"),
        step(30, 30, "PFS1", 2, org="B"),
    ]  # fmt: skip
    timed = [
        missing(low, high, *asked, heard=at(due), **other)
        for low, high, asked, due, other in (
            (1, 9, (1, 2), 8, {}),
            (20, 22, (2, 8), 14, {}),
            (29, 30, (), 12, {}),
            (31, 31, (), 13, {}),
            (1, 4, (1, 2), 12, {"origin": "PFS2"}),
        )
    ]
    assert found(spark, array, steps, timed) == [
        (1, 5, 1, "PFS1", 8),
        (6, 9, 1, "PFS2", 8),
        (20, 22, 2, "PFS2", 14),
        (30, 30, 0, None, 12),
        (31, 31, 0, None, 13),
        (32, 32, 0, None, None),
        (1, 1, 1, None, 12),
        (2, 3, 1, "PFS1", 12),
        (4, 4, 1, None, 12),
        (5, 6, 0, None, None),
    ]


def test_a_long_history_costs_no_more_than_it_is_long(spark: SparkSession) -> None:
    """Two thousand ranges and as many requests: each with each would be four million."""
    array = [missing(10 * n, 10 * n + 4, 1, 2) for n in range(1, 2001)]
    steps = [step(10 * n, 10 * n + 4, f"PFS{n % 2 + 1}", 2) for n in range(1, 2001)]
    rows = found(spark, array, steps, [])
    assert [(row[0], row[3]) for row in rows] == [(10 * n, f"PFS{n % 2 + 1}") for n in range(1, 2001)]
