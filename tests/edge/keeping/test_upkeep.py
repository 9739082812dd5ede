"""Upkeep beside those who read and write: nothing is lost to it, however long nobody plays."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pfspark.edge.config import conf_folder
from pfspark.edge.delta import stored
from pfspark.edge.delta.ledger import FACTS, LEDGER
from pfspark.edge.delta.tables import Tables
from pfspark.edge.keeping.upkeep import Retention
from pfspark.edge.runner import Runner
from pfspark.errors import LakeError
from pfspark.lake import Lake
from pfspark.rows import rows_of
from pfspark.settings import load_profile, override
from pfspark.words import FIRST
from tests.edge.lakes import DAY, Copy, Ended, broken, ending_at, facts, without_history


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
def test_what_others_have_joined_and_cleared_away_is_read_where_it_is(resting: Path, spark: SparkSession) -> None:
    """Of a lake at rest the files of its last round may be gone by then: their rows are in others."""
    with Lake.open(resting, spark) as lake:
        told = {name: lake.table(name).count() for name in FACTS}
        known = [*lake.lines("state")]
    with Lake.open(resting, spark) as lake:
        files = {*resting.glob("state/*.parquet")}
        for name in FACTS:
            without_history(spark, lake, name)
        assert files.isdisjoint(resting.glob("state/*.parquet"))
        lake._runner.forget()
    with Lake.open(resting, spark) as lake:
        assert {name: lake.table(name).count() for name in FACTS} == told
        assert [*lake.lines("state")] == known
        lake.post("PFS1", "/Sales", b"more", name="more")
        assert lake.run(until_quiet=True)
        assert lake.items().where("name = 'more'").count() == 2 and lake.status()["converged"]


@pytest.mark.lakes
def test_a_ledger_that_others_took_back_is_told(resting: Path, spark: SparkSession) -> None:
    """Else its numbers would be given again, of rounds that counted, and nothing of these is undone. Put forward, it goes on."""
    with Lake.open(resting, spark) as lake:
        ledger, last = lake._tables.name(LEDGER), lake._tables.version(LEDGER)
        spark.sql(f"RESTORE TABLE {ledger} TO VERSION AS OF {last - 2}")
    with Lake.open(resting, spark) as lake:
        lake.post("PFS1", "/Sales", b"more", name="more")
        for ask in (lambda: lake.run(until_quiet=True), lake.maintain, lake.remedies):
            with pytest.raises(LakeError, match=r"ends with round .* other hands have taken it back"):
                ask()
        spark.sql(f"RESTORE TABLE {ledger} TO VERSION AS OF {last}")
    with Lake.open(resting, spark) as lake:
        assert lake.remedies() == []
        assert lake.run(until_quiet=True) and lake.items().where("name = 'more'").count() == 2


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
def test_what_an_upkeep_left_that_ended_half_way_is_taken_back(played_once: Copy, spark: SparkSession) -> None:
    """It has written a table anew, and no row of the ledger says so: whoever plays next takes that back, and nothing is amiss."""
    with Lake.open(played_once("lake"), spark) as lake:
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


def test_what_lay_still_for_longer_than_its_history_is_read_and_taken_back(played_once: Copy, spark: SparkSession) -> None:
    """Of a table that nobody has written for a month the version that counts is older than its history, once there is a newer one
    that does not."""
    place = played_once("lake")
    then = (datetime.now(UTC) - timedelta(days=40)).timestamp()
    for file in (file for file in place.rglob("*") if file.is_file()):
        os.utime(file, (then, then))  # by which Delta tells how old a commit is
    with Lake.open(place, spark) as lake:
        before = facts(lake)
        lake._tables.hook = ending_at(("before agenda", 1))
        with pytest.raises(Ended):
            lake.maintain(f"{DAY}00:05:00Z")
    with Lake.open(place, spark) as lake:
        assert lake._tables.written_anew("state", lake._tables.snapshot().row.versions["state"])
        assert facts(lake) == before
        assert lake.round(f"{DAY}00:05:00Z").round
        assert not lake._tables.written_anew("state", lake._tables.snapshot().row.versions["state"])
        assert broken(lake) == set()


def test_who_reads_beside_upkeep_reads_one_round(played_once: Copy, spark: SparkSession) -> None:
    """Upkeep lifts rows to the highest round that they replace; one who began to read before it misses none of them."""
    with Lake.open(played_once("lake"), spark) as lake:
        tables, before = lake._tables, lake._tables.snapshot()
        held = sorted(map(str, before.read("state").collect()))
        lifted = before.read("state").withColumn("round", F.lit(before.row.round + 1).cast("bigint"))
        tables.rewrite("state", lifted, before.row.round + 1)
        assert held and sorted(map(str, before.read("state").collect())) == held
        assert sorted(map(str, tables.snapshot().read("state").collect())) == held  # before its row is in the ledger


def test_much_is_written_and_deleted_at_once(played_once: Copy, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table written anew comes into one file unless it is large; however many bodies go, they go in one commit."""
    with Lake.open(played_once("lake"), spark) as lake:
        tables, round = lake._tables, lake._tables.snapshot().row.round
        held = sorted(map(str, tables.stored("state").collect()))
        for rows, files in ((len(held), 1), (len(held) // 2, 2)):
            monkeypatch.setattr(stored, "OF_A_FILE", rows)
            tables.rewrite("state", tables.stored("state").repartition(4), round + files)  # each as if of a later round
            assert len(tables.stored("state").inputFiles()) == files
            assert sorted(map(str, tables.stored("state").collect())) == held
        before, bodies = tables.version("content"), tables.count("content")
        hashes = tables.stored("content").select("hash").distinct()
        assert tables.delete_these("content", hashes, "content.at < TIMESTAMP '2000-01-01'") == 0  # all are younger
        assert tables.count("content") == bodies > 0
        assert tables.delete_these("content", hashes, "content.size > 0") == bodies
        assert (tables.count("content"), tables.version("content")) == (0, before + 1)


def test_how_long_bodies_stay_a_folder_says_before_the_policy() -> None:
    """Of what its replicas see the longest, the policy's where one does not see it yet; what an erased one saw does not count."""
    modern = load_profile("modern", conf_folder())
    policies = {org: override(modern, {"deleted_item_retention": f"{days}d"}) for org, days in (("o", 14), ("other", 3))}
    now = dict.fromkeys(policies, datetime(2026, 1, 31, tzinfo=UTC))
    values = {("A", "P1"): 60, ("A", "P2"): 7, ("B", "P1"): 1, ("B", "P2"): 1, ("C", "P1"): 1, ("D", "P3"): 90}
    tree = [
        {"org": "o", "store": store, "folder": folder, "property": "deleted_item_retention", "value": str(days * 86400)}
        for (folder, store), days in values.items()
    ]
    tree.append({"org": "o", "store": "P1", "folder": "E", "property": "age_limit", "value": "60"})
    stands = {"P1": "active", "P2": "delete pending", "P3": "erased"}
    replicas = [
        {"org": "o", "store": store, "folder": folder, "standing": standing, "life": 1, "at": now["o"]}
        for folder in "ABCDE" for store, standing in stands.items()
    ]  # fmt: skip
    found = Retention.of({"tree": rows_of("tree", tree), "replicas": rows_of("replicas", replicas)}, now, policies, {"unfit"})
    assert found.of_orgs["unfit"] == FIRST
    assert {org: (at - found.of_orgs[org]).days for org, at in now.items()} == {"o": 14, "other": 3}
    kept = {folder: (now["o"] - since).days for (_, folder), since in found.of_folders.items()}
    assert kept == {"A": 60, "B": 1, "C": 14, "D": 14}


@pytest.mark.lakes
def test_bodies_of_deleted_items_stay_as_long_as_their_folder_says(spark: SparkSession, tmp_path: Path) -> None:
    with Lake.create(tmp_path / "lake", spark) as lake:
        lake.organization("main", profile="modern", start=f"{DAY}00:00:00Z")
        lake.store("PFS1", "A")
        for folder, props in (
            ("/Long", {"deleted_item_retention": "60d"}),
            ("/Short", {"deleted_item_retention": "1h"}),
            ("/As", {}),
        ):
            lake.folder_create("PFS1", folder, ["PFS1"], at=f"{DAY}00:00:00Z", **props)
            lake.post("PFS1", folder, folder.encode(), name="gone", at=f"{DAY}00:00:00Z")
        lake.run(until_quiet=True)
        for folder in ("/Long", "/Short", "/As"):
            lake.delete("PFS1", folder, "gone", at=f"{DAY}01:00:00Z")
        lake.run(f"{DAY}02:00:00Z")
        lake._tables.spark.sql(f"UPDATE delta.`{lake.where}/content` SET at = at - INTERVAL 2 DAYS")  # as if written long ago
        for now, left in ((f"{DAY}04:00:00Z", {"/Long", "/As"}), ("2026-02-01T00:00:00Z", {"/Long"})):
            lake.maintain(now)
            assert {bytes(row["body"]).decode() for row in lake.table("content").collect()} == left
