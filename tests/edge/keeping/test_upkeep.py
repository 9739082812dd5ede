"""Upkeep beside those who read and write: nothing is lost to it, however long nobody plays."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pfspark.edge.delta import tables as delta
from pfspark.edge.delta.tables import Tables
from pfspark.edge.runner import Runner
from pfspark.lake import Lake
from tests.edge.lakes import DAY, Copy, Ended, broken, ending_at, facts


def without_history(spark: SparkSession, lake: Lake, table: str) -> None:
    """Files that only older versions of a table need are removed at once."""
    name = lake._tables.name(table)
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.deletedFileRetentionDuration' = '0 hours')")
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    try:
        spark.sql(f"OPTIMIZE {name}")
        spark.sql(f"VACUUM {name} RETAIN 0 HOURS")
    finally:
        spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")


def tidy(lake: Lake, *names: str) -> None:
    """A round of upkeep of these tables."""
    lake._runner.tend(lambda _: ([lake._tables.tidy(name) for name in names], {}))


def edits_that_wait(place: Path, spark: SparkSession) -> set[str]:
    return set(Runner(Tables.open(spark, place)).world().tables["edits"]["edit_id"].to_pylist())


def test_edits_wait_longer_than_the_history_reaches(copied: Copy, spark: SparkSession) -> None:
    """Nobody plays for so long that the files of the last round are gone, and those that brought the edits."""
    place = copied("lake")
    lake = Lake.open(place, spark)
    waiting = edits_that_wait(place, spark)
    world = lake._runner.world
    assert set(world().tables["edits"]["edit_id"].to_pylist()) == waiting
    lake.post("PFS1", "/Sales", b"late", name="late", at=f"{DAY}00:00:00Z", edit_id="late")
    without_history(spark, lake, "edits")
    assert edits_that_wait(place, spark) == waiting | {"late"}
    assert set(world().tables["edits"]["edit_id"].to_pylist()) == waiting | {"late"}  # of one who has been there all the time


@pytest.mark.lakes
def test_upkeep_is_no_news(copied: Copy, spark: SparkSession) -> None:
    """What people said before it still is, and that a table was tidied is recorded."""
    with Lake.open(copied("lake"), spark) as lake:
        tables = lake._tables
        before = tables.snapshot().row.versions
        lake.round(f"{DAY}00:00:00Z")
        lake.store("PFS3", "Redmond")
        stood = tables.versions(("edits", "links", "organizations"))
        tidy(lake, "edits", "links", "organizations", "stores")
        after = tables.snapshot().row
        assert after.kind == "maintained"
        for name in stood:
            assert after.versions[name] == tables.version(name), name
        assert tables.version("edits") > stood["edits"], "its files were joined"
        assert after.cursors["edits"] == after.versions["edits"]
        assert after.versions["stores"] == before["stores"] + 2 < tables.version("stores")  # the third was said since
        assert "PFS3" in lake.round(f"{DAY}00:05:00Z").made["replicas"]["store"].to_pylist()
        minutes = (f"{DAY}00:{minute:02}:00Z" for minute in range(6, 60))
        while lake.round(next(minutes)).turns:
            pass  # the newcomer learns of its folders
        tidy(lake, "edits", "stores")
        versions = tables.snapshot().row.versions
        assert lake._runner._people() == {name: versions[name] for name in lake._runner._people()}
        lake._runner.world()  # looks
        assert not lake._runner._known.news
        assert lake.round(next(minutes)).turns == {}


@pytest.mark.in_turn("ended")
def test_what_an_upkeep_left_that_ended_half_way_is_taken_back(copied: Copy, spark: SparkSession) -> None:
    """It has written a table anew, and no row of the ledger says so: whoever plays next takes that back, and nothing is amiss."""
    with Lake.open(copied("lake"), spark) as lake:
        lake.round(f"{DAY}00:00:00Z")
        before = facts(lake)
        lake._tables.hook = ending_at(("before agenda", 1))
        with pytest.raises(Ended):
            lake.maintain(f"{DAY}00:05:00Z")
        lake._tables.hook = lambda point: None
        counted = lake._tables.snapshot().row.versions["state"]
        assert lake._tables.written_anew("state", counted)
        assert broken(lake) == set()  # who looks now finds what the ledger tells of
        lake.round(f"{DAY}00:05:00Z")
        assert not lake._tables.written_anew("state", lake._tables.snapshot().row.versions["state"])
        assert {name: set(rows) <= set(facts(lake)[name]) for name, rows in before.items()} == dict.fromkeys(before, True)
        assert broken(lake) == set()


def test_who_reads_beside_upkeep_reads_one_round(copied: Copy, spark: SparkSession) -> None:
    """Upkeep lifts rows to the highest round that they replace; one who began to read before it misses none of them."""
    with Lake.open(copied("lake"), spark) as lake:
        lake.round(f"{DAY}00:00:00Z")
        tables, before = lake._tables, lake._tables.snapshot()
        held = sorted(map(str, before.read("state").collect()))
        lifted = before.read("state").withColumn("round", F.lit(before.row.round + 1).cast("bigint"))
        tables.rewrite("state", lifted, before.row.round + 1)
        assert held and sorted(map(str, before.read("state").collect())) == held
        assert sorted(map(str, tables.snapshot().read("state").collect())) == held  # before its row is in the ledger


def test_much_is_written_and_deleted_at_once(copied: Copy, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table written anew comes into one file unless it is large; however many bodies go, they go in one commit."""
    with Lake.open(copied("lake"), spark) as lake:
        lake.round(f"{DAY}00:00:00Z")
        tables, round = lake._tables, lake._tables.snapshot().row.round
        held = sorted(map(str, tables.stored("state").collect()))
        for rows, files in ((len(held), 1), (len(held) // 2, 2)):
            monkeypatch.setattr(delta, "OF_A_FILE", rows)
            tables.rewrite("state", tables.stored("state").repartition(4), round + files)  # each as if of a later round
            assert len(tables.stored("state").inputFiles()) == files
            assert sorted(map(str, tables.stored("state").collect())) == held
        before, bodies = tables.version("content"), tables.count("content")
        hashes = tables.stored("content").select("hash").distinct()
        tables.delete_these("content", hashes, "content.at < TIMESTAMP '2000-01-01'")  # all are younger
        assert tables.count("content") == bodies > 0
        tables.delete_these("content", hashes, "content.size > 0")
        assert (tables.count("content"), tables.version("content")) == (0, before + 1)
