"""Why numbers are here or not: the rules by which it is found out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pfspark.ask import evidence
from pfspark.rows import arrow, local, struct
from pfspark.rules import items
from pfspark.tables import FRAMES
from pfspark.words import Cause

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
    """Its change says when; of what its origin knows still, and of what nobody asks about, it is not looked at."""
    asked = [{**HERE, "origin": "P1", "cn_min": 2, "cn_max": 4}]
    log = [{**HERE, "entry": "applied", "origin": "P1", "cn_min": 1, "cn_max": 2, "at": minutes(1)}]
    changes = [{"org": "o", "folder": "F", "origin": "P1", "cn": cn, "at": minutes(cn)} for cn in (1, 2, 3, 9)]
    key = "org string, folder string, origin string"
    found = evidence.given(
        frame(spark, "", asked, f"store string, {key}, cn_min bigint, cn_max bigint"),
        log=frame(spark, "", log, f"store string, entry string, {key}, cn_min bigint, cn_max bigint, at timestamp"),
        changes=frame(spark, "", changes, f"{key}, cn bigint, at timestamp"),
    ).collect()
    assert {(row["cn_min"], row["cn_max"]): row["at"].astimezone(UTC) for row in found} == {
        (1, 2): minutes(1), (3, 3): minutes(3)
    }  # fmt: skip
