"""Why numbers are here or not: the rules by which it is found out."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from pfspark.ask import evidence, why
from pfspark.rows import arrow, local, struct
from pfspark.rules import items
from pfspark.schedules import Grid
from pfspark.tables import FRAMES
from pfspark.words import Cause
from tests.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

START = datetime(2026, 1, 5, tzinfo=UTC)
HERE = {"org": "o", "store": "P1", "folder": "F"}


def frame(spark: SparkSession, name: str, rows: list[dict[str, Any]], columns: str = "") -> DataFrame:
    """Rows of a frame of the round, or of those columns."""
    schema = struct(columns or FRAMES[name].ddl)
    return local(spark, arrow(schema, rows), schema)


def minutes(count: int) -> datetime:
    return START + timedelta(minutes=count)


def test_a_version_is_superseded_by_one_that_was_made_upon_it(spark: SparkSession) -> None:
    """P1 posts, and modifies twice; P2, which has the first version alone, modifies too, and wins. What came last at P1 lost to
    that; the version before was superseded by it, and the first by the winner."""
    upon = {1: [], 2: [{"origin": "P1", "cn": 1}], 3: [{"origin": "P1", "cn": 2}]}
    own = {"object": "P1:1", "name": "n", "action": "modify", "dominated": False}
    winner = {"origin": "P2", "cn": 1, "made_at": minutes(9), "predecessors": [{"origin": "P1", "cn": 1}]}
    before = [
        {"origin": "P1", "cn": cn, "made_at": minutes(cn), "dominated": cn < 3, "predecessors": upon[cn]} for cn in (1, 2, 3)
    ]
    rows = [{**HERE, **own, **each} for each in (*before, winner)]
    versions = frame(spark, "versions", rows)
    log = [
        {**HERE, "entry": "applied", "origin": origin, "cn_min": cn, "cn_max": cn, "at": minutes(at)}
        for origin, cn, at in (("P1", 1, 15), ("P1", 2, 15), ("P1", 3, 30), ("P2", 1, 45))
    ]
    held = frame(spark, "", log, "org string, store string, folder string, entry string, origin string, cn_min bigint, "
                 "cn_max bigint, at timestamp")  # fmt: skip
    found = evidence.instead(versions, winners=items.readable(versions), log=held).collect()
    assert {row["cn_min"]: (row["cause"], row["version"], row["at"].astimezone(UTC)) for row in found} == {
        1: (Cause.SUPERSEDED, "P2:1", minutes(45)),
        2: (Cause.SUPERSEDED, "P1:3", minutes(30)),
        3: (Cause.LOSER, "P2:1", minutes(45)),
    }


def test_a_number_was_given_though_a_restore_has_lost_it(spark: SparkSession) -> None:
    """Its change says when; of what its origin knows still it is not looked at."""
    asked = [{**HERE, "origin": "P1", "cn_min": 2, "cn_max": 4}]
    log = [{**HERE, "entry": "applied", "origin": "P1", "cn_min": 1, "cn_max": 2, "at": minutes(1)}]
    changes = [{"org": "o", "folder": "F", "origin": "P1", "cn": cn, "at": minutes(cn)} for cn in (2, 3)]
    key = "org string, folder string, origin string"
    found = evidence.given(
        frame(spark, "", asked, f"store string, {key}, cn_min bigint, cn_max bigint"),
        log=frame(spark, "", log, f"store string, entry string, {key}, cn_min bigint, cn_max bigint, at timestamp"),
        changes=frame(spark, "", changes, f"{key}, cn bigint, at timestamp"),
    ).collect()
    assert {(row["cn_min"], row["cn_max"]): row["at"].astimezone(UTC) for row in found} == {
        (1, 2): minutes(1), (3, 3): minutes(3)
    }  # fmt: skip


def test_the_next_round_of_a_grid_is_the_same_in_columns(spark: SparkSession) -> None:
    """`on_grid` says of frames what `Grid.next_round` says: to the microsecond, before the anchor and long after it."""
    microsecond, draw = timedelta(microseconds=1), random.Random(7)
    rows = []
    for every in (60, 900, 3600 * 24 * 7):
        grid = Grid(START, timedelta(seconds=every))
        for nth in (-3, -1, 0, 1, 2, 1000):
            for aside in (-microsecond, timedelta(0), microsecond, grid.every * draw.random()):
                at, now = (
                    START + nth * grid.every + aside,
                    START + draw.randrange(-2, 9) * grid.every + draw.choice([0, 1]) * aside,
                )
                rows.append((at, now, START, every, grid.next_round(at, now)))
    found = frame_of(spark, rows, "at timestamp, now timestamp, anchor timestamp, every_s bigint, expected timestamp")
    assert found.where(why.on_grid(F.col("at")) != F.col("expected")).collect() == []
    assert found.withColumn("at", F.lit(None).cast("timestamp")).where(why.on_grid(F.col("at")).isNotNull()).count() == 0
