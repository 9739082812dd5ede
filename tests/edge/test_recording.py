"""What a round writes: appended from where it lies, and its digests those of the rows that were made last."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import pfspark.execute
from pfspark.edge.delta import native
from pfspark.edge.delta.digests import digest
from pfspark.edge.delta.ledger import FACTS
from pfspark.edge.delta.tables import Tables
from pfspark.edge.recording import Recording
from pfspark.edge.spark import files
from pfspark.edge.world import scratch
from pfspark.lake import Lake
from pfspark.rows import rows_of
from tests.edge.lakes import broken

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
CHANGE: dict[str, Any] = {
    "org": "main", "folder": "1-1", "origin": "PFS1", "cn": 1, "object": "PFS1:1", "action": "post", "size": 0,
    "predecessors": [], "at": MONDAY,
}  # fmt: skip
MANY = 10
STORES = ["PFS1", "PFS2", "PFS3"]
SENT = 12
SCHEMA = "spark_catalog.recorded"


def changes(*numbers: int) -> pa.Table:
    return rows_of("changes", [{**CHANGE, "cn": cn} for cn in numbers]).drop_columns("round")


def test_the_rows_that_were_made_last_count(begun: Path, spark: SparkSession, tmp_path: Path) -> None:
    """A round that is made once more gives other rows, and some of a table may be added at the end."""
    tables = Tables.open(spark, shutil.copytree(begun, tmp_path / "lake"))
    first, last = changes(1), changes(2, 3)
    expected = digest("changes", rows_of("changes", [{**CHANGE, "cn": cn, "round": 3} for cn in (2, 3)]))
    with Recording(tables, 3) as recording:
        for rows in (first, last):
            recording.begin("changes", rows)
        assert recording.append({"changes": last}) == {"changes": expected}
    with Recording(tables, 4) as recording:
        recording.begin("changes", first)
        assert recording.append({"changes": last})["changes"] != expected  # of another round
    found = tables.arrow("changes")
    assert found is not None
    assert sorted(zip(*(found[name].to_pylist() for name in ("round", "cn")), strict=True)) == [(3, 2), (3, 3), (4, 2), (4, 3)]


def test_what_spark_appends_goes_by_the_name_of_who_calls(
    begun: Path, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So whoever cancels their jobs, as a notebook does, cancels the appends too."""
    monkeypatch.setattr(native, "IS_HERE", False)
    tables = Tables.open(spark, shutil.copytree(begun, tmp_path / "lake"))
    spark.sparkContext.setJobGroup("round of a test", "a round")
    try:
        with Recording(tables, 3) as recording:
            recording.append({"changes": changes(1)})
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert spark.sparkContext.statusTracker().getJobIdsForGroup("round of a test")


@pytest.fixture
def sales(spark: SparkSession) -> Iterator[str]:
    """A lake in `SCHEMA`, with three stores; no round is played yet. Gives the name of the edit that makes a folder."""
    spark.sql(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
    with Lake.create(SCHEMA, spark) as lake:
        lake.organization(profile="modern", start=MONDAY)
        for store in STORES:
            lake.store(store, site="Redmond")
        made = lake.folder_create("PFS1", "/Sales", replicas=STORES, at=MONDAY)
    yield made
    spark.sql(f"DROP SCHEMA {SCHEMA} CASCADE")


@pytest.mark.in_turn("catalogs")
def test_what_lies_on_the_executors_is_appended_from_there(
    sales: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In files, or, where executors may keep none, in tables beside those of the lake: of no table do many rows go back from
    here; what is written is what the ledger says; and nothing is left beside."""

    def refused(_frame: DataFrame, *_args: Any, **_named: Any) -> DataFrame:
        raise PySparkException("[NOT_SUPPORTED_WITH_SERVERLESS] PERSIST TABLE is not supported on serverless compute.")

    def as_on_serverless() -> None:
        monkeypatch.setattr(files, "executors_are_here", lambda spark: False)
        monkeypatch.setattr(type(spark.range(1)), "localCheckpoint", refused)

    ways = {"files": lambda: None, "tables": as_on_serverless}
    went: list[tuple[str, str, int]] = []
    beside: dict[str, set[str]] = {}
    frame_of = Tables.frame_of

    def watched(tables: Tables, name: str, rows: pa.Table | DataFrame, round: int | None) -> DataFrame:
        there = isinstance(rows, DataFrame)
        if name in FACTS:
            went.append((name, "there" if there else "here", rows.count() if there else rows.num_rows))
            beside[way].update(tables.others(scratch.PREFIX))
        return frame_of(tables, name, rows, round)

    monkeypatch.setattr(Tables, "frame_of", watched)
    monkeypatch.setattr(pfspark.execute, "LARGE", MANY)
    with Lake.open(SCHEMA, spark) as lake:
        for nth, (way, go) in enumerate(ways.items()):
            go()
            beside[way] = set()
            at = MONDAY + timedelta(minutes=1 + 5 * nth)
            lake._tables.append("edits", posts(sales, nth, at))
            assert lake.round(now=at).counts["changes"] >= SENT
            assert lake._tables.others(scratch.PREFIX) == []
        assert broken(lake) == set()
        held = {line["store"]: line["applied"] for line in lake.lines("state") if line["folder"] == "/Sales"}
    assert held == {"PFS1": f"PFS1:1-{2 * SENT}"}
    assert [rows for name, where, rows in went if (name, where) == ("changes", "there")] == [SENT + 1, SENT]
    assert [each for each in went if each[1] == "here" and each[2] >= MANY] == []
    assert [way for way, tables in beside.items() if tables] == ["tables"]


def posts(folder: str, nth: int, at: datetime) -> pa.Table:
    """So many items that somebody has posted."""
    said = {"org": "main", "store": "PFS1", "folder": f"@{folder}", "action": "post", "size": 4, "at": at, "written": at}
    return rows_of("edits", ({**said, "edit_id": f"{nth}.{place}", "place": place} for place in range(SENT)))
