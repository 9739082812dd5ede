"""Rounds on a lake: a world read from the tables is the one that was carried on, and whoever ends where, nothing is lost."""

from __future__ import annotations

import os
import shutil
from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pfspark.edge import runner
from pfspark.edge.delta import native
from pfspark.edge.delta.ledger import FACTS
from pfspark.edge.delta.snapshot import Snapshot
from pfspark.edge.world import carried
from pfspark.edge.world.carried import Carried, known_after
from pfspark.edge.world.facts import world
from pfspark.edge.world.turns import clocks
from pfspark.errors import LakeError, OtherWriterError
from pfspark.lake import Lake
from tests.edge.lakes import DAY, assert_same_world, small_disk, two_stores

READ_ANEW = ("00:10", "00:30", "00:50")
"""After which rounds the world is read, where not after all."""


def test_a_world_read_anew_is_the_world_that_was_carried_on(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Through mail, backfill, conflicts, folders, leavers, a store that joins, and repeated edits."""
    lake = Lake.create(tmp_path / "lake", spark)
    soon = ["5m", "5m", "5m"]
    options = {"backfill_timeouts": {"local": soon, "remote": soon}}
    lake.organization(profile="modern", options=options, start=f"{DAY}00:00:00Z")
    lake.organization("old", profile="exchange_2000", start=f"{DAY}00:00:00Z")
    for org in ("main", "old"):
        for name, site in (("PFS1", "Redmond"), ("PFS2", "Redmond"), ("PFS3", "Paris")):
            lake.store(name, site, org=org)
        lake.folder_create("PFS1", "/Sales", ["PFS1", "PFS2", "PFS3"], org=org, at=f"{DAY}00:00:00Z")
        lake.post("PFS1", "/Sales", b"one", name="one", org=org, at=f"{DAY}00:00:00Z", edit_id="the first")
    main = {"org": "main"}

    def hole() -> None:
        for nth in range(3):
            lake.post("PFS2", "/Sales", b"x" * nth, **main, at=f"{DAY}00:10:00Z")

    def seen() -> None:
        lake.post("PFS2", "/Sales", b"after", **main, at=f"{DAY}00:20:00Z")
        lake.post("PFS1", "/Sales", b"one", **main, at=f"{DAY}00:20:00Z", edit_id="the first")
        lake.post("PFS1", "/Sales", b"later", **main, at=f"{DAY}09:00:00Z", edit_id="the last")

    def conflict() -> None:
        lake.modify("PFS1", "/Sales", "one", b"mine", **main, at=f"{DAY}00:25:00Z")
        lake.modify("PFS2", "/Sales", "one", b"ours", **main, at=f"{DAY}00:26:00Z")

    def leaver() -> None:
        lake.replica_remove("PFS1", "/Sales", "PFS3", **main, at=f"{DAY}00:30:00Z")
        lake.folder_create("PFS2", "/Sales/West", ["PFS2", "PFS1"], **main, at=f"{DAY}00:30:00Z", age_limit="1h")
        lake.folder_rename("PFS1", "/Sales", "Trade", **main, at=f"{DAY}00:30:00Z")

    def newcomer() -> None:
        lake.store("PFS4", "Paris", org="main")
        lake.replica_add("PFS1", "/Trade", "PFS4", **main, at=f"{DAY}00:40:00Z")

    script: dict[str, tuple[Callable[[], object], list[str]]] = {
        "00:00": (lambda: None, []), "00:05": (lambda: None, []), "00:10": (hole, ["PFS3"]), "00:20": (seen, []),
        "00:30": (conflict, []), "00:35": (leaver, []), "00:40": (newcomer, []), "00:45": (lambda: None, []),
        "00:50": (lambda: None, []),
    }  # fmt: skip
    seen_ever: dict[str, int] = defaultdict(int)
    for clock, (do, cut) in script.items():
        do()
        played = lake.round(f"{DAY}{clock}:00Z", cut=cut)
        assert played.round, clock
        for name, count in played.counts.items():
            seen_ever[name] += count
        seen_ever["array"] += played.world["array"].num_rows
        if clock in READ_ANEW or request.config.getoption("--lakes"):
            assert_same_world(lake._runner.world().tables, world(lake._tables.snapshot()))
    assert set(seen_ever) == {*FACTS, "array"}
    assert all(seen_ever.values())
    steps = {row["step"] for row in lake.table("backfill").select("step").collect()}
    assert steps >= {"heard", "asked", "named"}
    refused = {(row["edit_id"], row["reason"]) for row in lake.table("receipts").where("outcome = 'refused'").collect()}
    assert ("the first", "already_taken_in") in refused
    lake.accepted("the first", **main)  # what is said again is there: nobody calls that refused
    told = lake.why_lines("@the first", folder="/Trade", store="PFS1", **main)
    assert {line["cause"] for line in told if "PFS1:1" in line["item"]} == {"superseded"}
    lake.close()


@pytest.mark.parametrize("reopened", [False, True])
def test_news_of_an_organization_waits_until_it_plays(spark: SparkSession, tmp_path: Path, reopened: bool) -> None:
    """Others play before it, a store of theirs is restored, the process ends: what the directory says of it is still news."""
    place = tmp_path / "lake"
    lake = Lake.create(place, spark)

    def opened() -> Lake:
        if not reopened:
            return lake
        lake.close()
        return Lake.open(place, spark)

    def admitted(org: str) -> set[str]:
        return {line["store"] for line in lake.lines("replicas", org=org) if line["folder"] == "1-1"}

    for org, start in (("first", "00"), ("second", "06")):
        lake.organization(org, "modern", start=f"{DAY}{start}:00:00Z")
        lake.store("S1", "X", org=org)
        lake.run(until_quiet=True)
    assert lake.answers().at["second"].hour == 6
    lake.store("S2", "X", org="second")
    lake.organization("third", "modern", start=f"{DAY}08:00:00Z")
    lake.store("S1", "X", org="third")
    lake.folder_create("S1", "/F", ["S1"], org="first", at=f"{DAY}01:00:00Z")
    lake = opened()
    lake.run(f"{DAY}02:00:00Z")
    lake = opened()
    lake.restore("S1", lake.status()["round"], org="first", now=f"{DAY}03:00:00Z")
    lake = opened()
    assert (admitted("second"), admitted("third")) == ({"S1"}, set())
    due = lake._runner.due()
    assert {org: due[org].hour for org in ("second", "third")} == {"second": 6, "third": 8}
    lake.run(f"{DAY}12:00:00Z")
    assert (admitted("second"), admitted("third")) == ({"S1", "S2"}, {"S1"})
    lake = opened()
    assert lake._runner._look().news == {} and lake.run(f"{DAY}12:00:00Z") == 0
    lake.close()


def test_two_rounds_of_one_moment_are_two(copied: Callable[[str], Path], spark: SparkSession) -> None:
    """Time does not stand still: what the second sends has names of its own, and is received."""
    place, at = copied("lake"), f"{DAY}00:05:00Z"
    for body in (b"second", b"third"):
        with Lake.open(place, spark) as lake:
            lake.round(f"{DAY}00:00:00Z")
            lake.post("PFS1", "/Sales", body, at=at)
            lake.round(at)
    with Lake.open(place, spark) as lake:
        lake.run(f"{DAY}00:30:00Z")
        held = {line["store"]: line["applied"] for line in lake.lines("state") if line["folder"] == "/Sales"}
        assert held == {"PFS1": "PFS1:1-3", "PFS2": "PFS1:1-3"}
        times = [turn["now"] for row in lake.rounds().orderBy("round").collect() for turn in row["turns"]]
    assert times == sorted(set(times))


def test_an_idle_round_writes_nothing(resting: Path, spark: SparkSession) -> None:
    with Lake.open(resting, spark) as lake:
        [last] = clocks(lake._tables.snapshot()).values()
    before = sorted(str(file) for file in resting.rglob("*"))
    for now in (last + timedelta(seconds=1), last - timedelta(days=1)):  # nobody has anything to do, by either clock
        with Lake.open(resting, spark) as again:
            assert again.round(now).turns == {}
    assert sorted(str(file) for file in resting.rglob("*")) == before


def test_who_waits_as_time_goes_by_locks_nothing_and_reads_the_world_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often it looks; so another may play meanwhile."""
    place = tmp_path / "lake"
    with Lake.create(place, spark) as before:
        before.organization("first", "modern", start=f"{DAY}00:00:00Z")
        before.round()
    looked, read, resting = [], [], []

    def look_again(_: float) -> None:
        looked.append(lake._runner._writer)
        if len(looked) == 5:
            raise KeyboardInterrupt

    def counted(*given: Any) -> Carried:
        read.append(given)
        return known_after(*given)

    with Lake.open(place, spark) as lake:
        monkeypatch.setattr(runner, "known_after", counted)
        monkeypatch.setattr(runner.time, "sleep", look_again)
        with pytest.raises(KeyboardInterrupt):
            next(lake._runner.run(resting=resting.append))
    assert looked == [None] * 5
    assert len(read) == len(resting) == 1


def test_who_knows_the_world_looks_whether_others_played_since(resting: Path, spark: SparkSession) -> None:
    with Lake.open(resting, spark) as one, Lake.open(resting, spark) as other:
        assert one.run(until_quiet=True) == 0
        one.close()
        assert [*one.lines("state")]  # knows it
        other.post("PFS1", "/Sales", b"news", at=f"{DAY}03:00:00Z")
        played = other.round(f"{DAY}03:00:00Z").round
        assert played is not None
        other.close()
        assert one.run(until_quiet=True) > 0, f"mail of round {played} is under way"


@pytest.mark.parametrize("first", ["asks", "plays"])
def test_who_knows_the_world_sees_that_another_history_lies_there(
    copied: Callable[[str], Path], spark: SparkSession, first: str
) -> None:
    """Of as many rounds, as where a copy of the lake was played on and put in its place: neither is the world that was known, nor
    is that left for others."""

    def played(name: str) -> Path:
        place = copied(name)
        with Lake.open(place, spark) as lake:
            lake.round(f"{DAY}00:00:00Z")
            lake.post("PFS1", "/Sales", name, name=name, at=f"{DAY}00:05:00Z")
            lake.round(f"{DAY}00:05:00Z")
        return place

    def names(lake: Lake) -> list[str]:
        return sorted(line["name"] for line in lake.lines("items", store="PFS1"))

    place, other = played("mine"), played("others")
    with Lake.open(place, spark) as lake:
        assert names(lake) == ["first", "mine"]
        shutil.rmtree(place)
        other.rename(place)
        if first == "asks":
            assert names(lake) == ["first", "others"]
        assert lake.round(f"{DAY}00:10:00Z").round
        assert names(lake) == ["first", "others"]
    with Lake.open(place, spark) as lake:
        assert names(lake) == ["first", "others"]
        assert [line for line in lake.audit() if line["kind"] == "check" and line["rows"]] == []


def test_who_knows_the_ledger_sees_that_a_file_of_it_is_gone(resting: Path, spark: SparkSession) -> None:
    with Lake.open(resting, spark) as lake:
        assert list(lake.lines("state"))
        lake.post("PFS1", "/Sales", b"new", at=lake.answers().at["main"] + timedelta(minutes=5))
        (native.paths(resting / "rounds") or [])[0].unlink()
        for told in (lambda: lake.round(dry_run=True), lambda: [*lake.lines("rounds")]):
            with pytest.raises(LakeError, match="cannot be read: its file"):
                told()


def test_a_dry_run_tells_and_writes_nothing(copied: Callable[[str], Path], spark: SparkSession) -> None:
    place = copied("lake")
    before = sorted(str(file) for file in place.rglob("*"))
    lake = Lake.open(place, spark)
    dry = lake.round(f"{DAY}00:00:00Z", dry_run=True)
    assert dry.round is None
    assert dry.counts["changes"] == 2
    assert [line["type"] for line in lake.said(dry)] == ["0x2", "0x4", "0x20"]
    assert sorted(str(file) for file in place.rglob("*")) == before
    wet = lake.round(f"{DAY}00:00:00Z")
    assert wet.round == 3
    assert wet.counts == dry.counts
    with pytest.raises(OtherWriterError, match="Another writer"):
        Lake.open(place, spark).round(f"{DAY}00:05:00Z")
    lake.close()


def test_what_could_not_be_taken_up_is_taken_up_the_next_time(
    copied: Callable[[str], Path], spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A world that was half carried on is none to go on with: edits that it had not taken would be passed by for ever."""

    def refused(_edits: pa.Table, _snapshot: Snapshot) -> pa.Table:
        raise LakeError("receipts cannot be read")

    with Lake.open(copied("lake"), spark) as lake:
        lake.run(f"{DAY}00:10:00Z")
        lake._runner.due()
        lake.post("PFS1", "/Sales", b"late", name="late", at=f"{DAY}00:12:00Z")
        with monkeypatch.context() as patch, pytest.raises(LakeError, match="cannot be read"):
            patch.setattr(carried, "taken_in", refused)
            lake._runner.due()
        assert lake.round(f"{DAY}00:15:00Z").made["changes"]["name"].to_pylist() == ["late"]


def test_a_writer_writes_into_no_other_lake_that_lies_in_the_place_of_its_own(
    copied: Callable[[str], Path], spark: SparkSession
) -> None:
    """Its lake was moved away, and a backup put there: its rows would be among another's rounds, and its number leave a gap."""
    place, backup = copied("lake"), copied("backup")
    with Lake.open(place, spark) as lake:
        lake.round(f"{DAY}00:00:00Z")
        place.rename(place.with_name("old"))
        backup.rename(place)
        before = sorted(str(file) for file in place.rglob("*"))
        with pytest.raises(OtherWriterError, match=r"is not there any more.* Nothing was written"):
            lake.round(f"{DAY}00:05:00Z")
        assert sorted(str(file) for file in place.rglob("*")) == before
    with Lake.open(place, spark) as lake:
        assert lake.round(f"{DAY}00:00:00Z").counts["changes"] == 2


def test_a_room_that_is_full_is_told_and_nothing_is_lost(begun: Path, spark: SparkSession, tmp_path: Path) -> None:
    """On a disk of its own, with room for little more than the lake."""
    size = sum(file.stat().st_blocks * 512 for file in begun.rglob("*") if file.is_file())
    with small_disk(tmp_path / "disk", size + 2 * 1024 * 1024) as disk:
        lake = Lake.open(shutil.copytree(begun, disk / "lake"), spark)
        ballast = disk / "ballast"
        left = os.statvfs(disk)
        ballast.write_bytes(b"x" * (left.f_bavail * left.f_bsize - 48 * 1024))
        with pytest.raises(LakeError, match="No space left on device"):
            lake.round(f"{DAY}00:00:00Z")
        assert lake.table("changes").count() == 0
        ballast.unlink()
        assert lake.round(f"{DAY}00:00:00Z").counts["changes"] == 2
        lake.close()


def test_trees_are_drawn_anew_where_they_are_merged_otherwise_from_now_on(spark: SparkSession, tmp_path: Path) -> None:
    """Two stores change one folder, neither knowing of the other's change: both stand by property, the later by object."""
    with Lake.create(tmp_path / "lake", spark) as lake:
        lake.organization(profile="modern", start=f"{DAY}00:00:00Z")
        lake.organization("other", profile="modern", start=f"{DAY}00:00:00Z")
        for org in ("main", "other"):
            for name in ("PFS1", "PFS2"):
                lake.store(name, "Redmond", org=org)
            lake.folder_create("PFS1", "/Sales", ["PFS1", "PFS2"], org=org, at=f"{DAY}00:00:00Z")
        lake.round(f"{DAY}00:00:00Z")
        lake.round(f"{DAY}00:15:00Z")
        for org in ("main", "other"):
            lake.folder_set("PFS1", "/Sales", age_limit="1h", org=org, at=f"{DAY}00:20:00Z")
            lake.folder_rename("PFS2", "/Sales", "Trade", org=org, at=f"{DAY}00:21:00Z")
        for moment in ("00:30", "00:45"):
            lake.round(f"{DAY}{moment}:00Z")
        both, later = {"age_limit": "3600", "name": "Trade"}, {"name": "Trade"}
        assert [named(lake, org) for org in ("main", "other")] == [{"PFS1": both, "PFS2": both}] * 2
        for merge, stands, moment in (("object", later, "01:00"), ("property", both, "01:15")):
            lake.organization(profile="modern", options={"hierarchy_merge": merge}, start=f"{DAY}00:00:00Z")
            assert lake.round(f"{DAY}{moment}:00Z").round
            assert named(lake, "main") == {"PFS1": stands, "PFS2": stands}
            assert named(lake, "other") == {"PFS1": both, "PFS2": both}
            assert_same_world(lake._runner.world().tables, world(lake._tables.snapshot()))


@pytest.mark.in_turn("ordained")
@pytest.mark.parametrize("reopened", [False, True])
def test_what_is_ordained_later_reaches_what_lies_quiet(spark: SparkSession, tmp_path: Path, reopened: bool) -> None:
    """Items begin to grow old where nothing happens any more (F58), and a store that comes back asks what was done meanwhile
    (R131); who reads the world anew then knows the same."""
    place = tmp_path / "lake"
    lake = Lake.create(place, spark)
    two_stores(lake)
    lake.store("PFS3", "Redmond")
    lake.run(until_quiet=True)

    def agenda() -> set[str]:
        return {*lake._runner.world().tables["agenda"]["why"].to_pylist()}

    assert agenda() == set()
    lake.store("PFS3", retired=True)
    lake.folder_create("PFS1", "/Trade", ["PFS1"], at=f"{DAY}06:00:00Z")
    lake.run(until_quiet=True)
    assert {line["store"] for line in lake.lines("folders") if line["path"] == "/Trade"} == {"PFS1", "PFS2"}
    if reopened:
        lake.close()
        lake = Lake.open(place, spark)
    lake.store("PFS3", retired=False)
    lake.organization(profile="modern", options={"age_limit": "2d"}, start=f"{DAY}00:00:00Z")
    assert lake.run(until_quiet=True) < 20
    assert agenda() == {"expire"}
    assert {line["store"] for line in lake.lines("folders") if line["path"] == "/Trade"} == {"PFS1", "PFS2", "PFS3"}
    assert_same_world(lake._runner.world().tables, world(lake._tables.snapshot()))
    assert [row["name"] for row in lake.items("PFS1").collect()] == ["first"]
    lake.run("2026-01-09T12:00:00Z")
    assert lake.items().count() == 0
    lake.close()


def named(lake: Lake, org: str) -> dict[str, dict[str, str]]:
    """What each store sees of the only folder's name and age limit, in the world that is carried on."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for row in lake._runner.world().tables["tree"].to_pylist():
        if row["org"] == org and row["property"] in ("age_limit", "name"):
            found[row["store"]][row["property"]] = row["value"]
    return dict(found)
