"""Rounds on a lake: a world read from the tables is the one that was kept, and whoever ends where, nothing is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pfspark import cntext
from pfspark.edge.delta import FACTS, Tables
from pfspark.edge.world import world
from pfspark.errors import LakeError, OtherWriterError
from pfspark.lake import Lake

pytestmark = pytest.mark.lakes

DAY = "2026-01-05T"
MERGED = {
    "state": ("org", "store", "folder", "entry", "about", "origin", "relayed"),
    "array": ("org", "store", "folder", "origin", "heard", "attempt", "asked"),
}
"""Tables of ranges: rows of the same columns are one set, however it is cut."""


def rows(name: str, table: pa.Table) -> set[str] | dict[str, Any]:
    """What a table of a world says, whatever the order of its rows and the cuts of its ranges."""
    if name not in MERGED:
        left_out = {"round", "at"} if name in ("agenda", "mail") else {"round"}
        return {repr(sorted((key, value) for key, value in row.items() if key not in left_out)) for row in table.to_pylist()}
    sets: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for row in table.to_pylist():
        sets[repr([row[key] for key in MERGED[name]])].append((row["cn_min"], row["cn_max"]))
    return {key: cntext.canonical(ranges) for key, ranges in sets.items()}


def assert_same_world(kept: Mapping[str, pa.Table], read: Mapping[str, pa.Table]) -> None:
    for name, table in read.items():
        names = [column for column in table.column_names if column in kept[name].column_names]
        assert rows(name, table.select(names)) == rows(name, kept[name].select(names)), name


def facts(tables: Tables) -> dict[str, list[str]]:
    """All valid facts without their round numbers."""
    return {
        name: sorted(repr(sorted(row.items())) for row in tables.read(name).drop("round").toArrow().to_pylist())
        for name in FACTS
    }


@pytest.fixture(scope="module")
def begun(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with two stores and what was done there, before its first round; tests play on copies."""
    place = tmp_path_factory.mktemp("begun") / "lake"
    lake = Lake.create(place, spark)
    lake.organization(profile="modern", start=f"{DAY}00:00:00Z")
    lake.store("PFS1", "Redmond")
    lake.store("PFS2", "Redmond")
    lake.folder_create("PFS1", "/Sales", ["PFS1", "PFS2"], at=f"{DAY}00:00:00Z")
    lake.post("PFS1", "/Sales", b"first", name="first", at=f"{DAY}00:00:00Z")
    return place


@pytest.fixture
def copied(begun: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Makes copies of that lake."""

    def copy(name: str) -> Path:
        return Path(shutil.copytree(begun, tmp_path / name))

    return copy


def test_a_world_read_anew_is_the_world_that_was_kept(spark: SparkSession, tmp_path: Path) -> None:
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
        assert_same_world(lake._runner.kept().tables, world(lake._tables.snapshot()))
    assert set(seen_ever) == {*FACTS, "array"}
    assert all(seen_ever.values())
    steps = {row["step"] for row in lake.table("backfill").select("step").collect()}
    assert steps >= {"heard", "asked", "named"}
    refused = {(row["edit_id"], row["reason"]) for row in lake.table("receipts").where("outcome = 'refused'").collect()}
    assert ("the first", "already_taken_in") in refused
    lake.close()


class Ended(BaseException):
    """A process that ends, as far as one can end and still look."""


def ending_at(point: str, nth: int = 1) -> Callable[[str], None]:
    times = [0]

    def hook(here: str) -> None:
        times[0] += here == point
        if here == point and times[0] == nth:
            raise Ended

    return hook


POINTS = ("after rounds", "after changes", "after state", "before rounds 2", "after rounds 2")
"""Behind the `opened` row, between the facts, before and behind the row that makes them count."""


def test_wherever_a_writer_ends_the_next_one_goes_on(copied: Callable[[str], Path], spark: SparkSession) -> None:
    """Ended at one commit after the other, on one lake; in the end all is as if nothing had happened."""
    undisturbed, disturbed = (Lake.open(copied(name), spark) for name in ("undisturbed", "disturbed"))
    tables = disturbed._tables
    for nth, point in enumerate(POINTS, 1):
        tables.hook = ending_at(point.removesuffix(" 2"), 2 if point.endswith(" 2") else 1)
        with pytest.raises(Ended):
            disturbed.round(f"{DAY}00:00:00Z")
        row = tables.snapshot().row
        counts = point == "after rounds 2"
        assert (row.kind, row.round) == ("played" if counts else "opened", 1 + nth + counts), point
        assert tables.read("changes").count() == (2 if counts else 0), point
    assert tables.stored("changes").count() == 2 * (len(POINTS) - 1)
    tables.hook = lambda point: None
    for lake in (undisturbed, disturbed):
        lake.run(until=f"{DAY}00:05:00Z")
        lake.close()
    assert facts(tables) == facts(undisturbed._tables)


CHILD = """
import os, sys
from pfspark.lake import Lake
def hook(point):
    if point == sys.argv[2]:
        os._exit(7)
Lake.open(sys.argv[1], hook=hook).round(sys.argv[3])
"""


def test_a_process_that_ends_between_commits_leaves_a_good_lake(copied: Callable[[str], Path], spark: SparkSession) -> None:
    killed, whole = copied("killed"), copied("whole")
    now = f"{DAY}00:00:00Z"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    child = [sys.executable, "-c", CHILD, str(killed), "after changes", now]
    done = subprocess.run(child, env=env, capture_output=True, text=True)
    assert done.returncode == 7, done.stderr
    lakes = [Lake.open(place, spark) for place in (killed, whole)]
    assert lakes[0].table("changes").count() == 0
    for lake in lakes:
        lake.round(now)
        lake.close()
    assert facts(lakes[0]._tables) == facts(lakes[1]._tables)


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


def test_an_idle_round_writes_nothing(copied: Callable[[str], Path], spark: SparkSession) -> None:
    place = copied("lake")
    lake = Lake.open(place, spark)
    lake.run(until=f"{DAY}00:00:00Z")
    lake.close()
    before = sorted(str(file) for file in place.rglob("*"))
    again = Lake.open(place, spark)
    assert again.round("2026-01-04T00:00:00Z").turns == {}  # nobody has anything to do yet
    assert sorted(str(file) for file in place.rglob("*")) == before


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


@contextmanager
def small_disk(place: Path, size: int) -> Iterator[Path]:
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], capture_output=True)
    if mounted.returncode:
        pytest.skip("no permission to mount a small disk")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
