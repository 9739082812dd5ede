"""A process that ends at a commit, or is killed at any moment: whoever comes next goes on as if nothing had happened.

In turn with others who end, the first and the last commit of a round and one between, or one kill. All by `--lakes`, more kills
by `--kills`.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pfspark.edge.delta.ledger import FACTS
from pfspark.edge.world.facts import world
from pfspark.errors import RefusedError
from pfspark.lake import Lake
from tests.edge.lakes import DAY, Copy, Ended, Point, assert_same_world, broken, counted, ending_at, facts, ledger
from tests.edge.processes import kill, talking


@pytest.mark.in_turn("ended")
def test_wherever_a_writer_ends_the_next_one_goes_on(
    in_trouble: Copy, undisturbed: Lake, spark: SparkSession, request: pytest.FixtureRequest
) -> None:
    """Ended at commits of a round, one after the other on one lake; in the end all is as if nothing had happened."""
    points: list[Point] = []
    with Lake.open(in_trouble("whole"), spark, hook=counted(points.append)) as whole:
        made = whole.round(f"{DAY}00:20:00Z").counts
    assert set(made) == set(FACTS), "a table that is not written to has no commit to end at"
    wanted = [(name, 1) for name in FACTS] + [("rounds", 1), ("rounds", 2)]
    assert set(points) == {(f"{when} {name}", nth) for when in ("before", "after") for name, nth in wanted}
    first, *between, last_of_all = points
    if not request.config.getoption("--lakes"):
        between = [sorted(between)[request.config.getoption("--turn") % len(between)]]
    disturbed = Lake.open(in_trouble("disturbed"), spark)
    tables = disturbed._tables
    last = tables.snapshot().row.round
    for point in (first, *between, last_of_all):
        print(f"ended {point}")
        tables.hook = ending_at(point)
        with pytest.raises(Ended):
            disturbed.round(f"{DAY}00:20:00Z")
        row = tables.snapshot().row
        if point == last_of_all:
            assert (row.kind, row.round) == ("played", last + 2), point
        elif point == first:
            assert row.round == last, point
        else:
            assert (row.kind, row.round) == ("opened", last + 1), point
            assert tables.read("changes").count() == 4, point
        last = row.round
    late = {name for when, name in (point.split() for point, _ in between) if when == "after" and name in FACTS}
    assert all(tables.stored(name).count() > tables.read(name).count() for name in late)
    tables.hook = lambda point: None
    with disturbed:
        disturbed.run(until=f"{DAY}00:25:00Z")
    assert facts(disturbed) == facts(undisturbed, f"{DAY}00:25:00Z")
    assert broken(disturbed) == set()


@pytest.mark.lakes
def test_wherever_a_post_ends_it_can_be_repeated(in_trouble: Copy, spark: SparkSession) -> None:
    """Under the same name of the edit; it is taken in once."""
    lake = Lake.open(in_trouble("lake"), spark)
    points: list[Point] = []

    def post() -> str:
        return lake.post("PFS1", "/Sales", b"again", name="again", at=f"{DAY}00:20:00Z", edit_id="mine")

    lake._tables.hook = counted(points.append)
    post()
    assert points == [("before content", 1), ("after content", 1), ("before edits", 1), ("after edits", 1)]
    for point in points:
        lake._tables.hook = ending_at(point)
        with pytest.raises(Ended):
            post()
    lake._tables.hook = lambda point: None
    assert lake.table("edits").where("edit_id = 'mine'").count() == 2  # that of the point behind it all, and the first
    with lake:
        lake.run(until=f"{DAY}00:30:00Z")
    assert lake.table("changes").where("edit_id = 'mine'").count() == 1
    assert {line["store"] for line in lake.lines("items") if line["name"] == "again"} == {"PFS1", "PFS2"}
    assert broken(lake) == set()


MBOX = b"From a@example.com Mon Jan  5 08:00:00 2026\nSubject: one\n\nhello\n\n"


def declare(lake: Lake, _: Path) -> None:
    """A store more, which is to hold a folder that is there, one that is new, and one beneath that."""
    said = lake.declared()
    folders = {"/Sales": {"replicas": ["PFS1", "PFS3"]}, "/New": {"replicas": ["PFS1"]}, "/New/Deep": {"replicas": ["PFS3"]}}
    lake.apply(
        {**said, "stores": {**said["stores"], "PFS3": {"site": "Paris"}}, "folders": {**said["folders"], **folders}},
        store="PFS1",
        at=f"{DAY}00:40:00Z",
    )


def recover(lake: Lake, _: Path) -> None:
    with contextlib.suppress(RefusedError):  # its copy is there, and so is its name
        lake.folder_recover("PFS1", "/Old", at=f"{DAY}00:40:00Z")


def bring_in(lake: Lake, box: Path) -> None:
    lake.import_mail(box, "PFS1", "/Sales", at=f"{DAY}00:40:00Z")


def keep_up(lake: Lake, _: Path) -> None:
    lake.maintain(f"{DAY}00:40:00Z")


@pytest.fixture(scope="module")
def lived_in(begun: Path, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of which one folder was deleted, with its items, and in which a writer has ended; PFS2 has a post that waits."""
    place = Path(shutil.copytree(begun, tmp_path_factory.mktemp("lived in") / "lake"))
    with Lake.open(place, spark) as lake:
        lake.folder_create("PFS1", "/Old", ["PFS1", "PFS2"], at=f"{DAY}00:00:00Z")
        lake.run(f"{DAY}00:10:00Z")
        lake.post("PFS2", "/Old", b"old", name="old", at=f"{DAY}00:11:00Z")
        lake.run(f"{DAY}00:20:00Z")
        lake.folder_delete("PFS1", "/Old", at=f"{DAY}00:21:00Z")
        lake.run(f"{DAY}00:30:00Z")
        lake.post("PFS2", "/Sales", b"own", name="own", at=f"{DAY}00:31:00Z")
        lake._tables.hook = ending_at(("after state", 1))
        with pytest.raises(Ended):
            lake.round(f"{DAY}00:35:00Z")
    return place


@pytest.mark.lakes
@pytest.mark.parametrize("verb", [declare, recover, bring_in, keep_up])
def test_wherever_a_verb_ends_it_can_be_repeated(
    lived_in: Path, spark: SparkSession, tmp_path: Path, verb: Callable[[Lake, Path], None]
) -> None:
    """What it says it says once, and all is as if it had not ended."""
    box, points = tmp_path / "box", list[Point]()
    box.write_bytes(MBOX)

    def at_the_end(place: Path) -> list[tuple[object, ...]]:
        with Lake.open(place, spark) as lake:
            verb(lake, box)
            lake.run(f"{DAY}03:00:00Z")
            assert broken(lake) == set() and lake.status()["converged"]
            assert_same_world(lake._runner.world().tables, world(lake._tables.snapshot()))
            items = [(line["store"], line["folder"], line["name"], line["deleted"]) for line in lake.lines("items")]
            return sorted([*items, *((line["store"], line["path"], *line["replicas"]) for line in lake.lines("folders"))])

    with Lake.open(shutil.copytree(lived_in, tmp_path / "counted"), spark, hook=counted(points.append)) as lake:
        verb(lake, box)
    whole = at_the_end(Path(shutil.copytree(lived_in, tmp_path / "whole")))
    assert len(points) >= 4
    for nth, point in enumerate(points):
        place = Path(shutil.copytree(lived_in, tmp_path / f"ended {nth}"))
        with Lake.open(place, spark, hook=ending_at(point)) as lake, pytest.raises(Ended):
            verb(lake, box)
        assert at_the_end(place) == whole, point


PLAYING = """
import sys
from pfspark.lake import Lake
lake = Lake.open(sys.argv[1])
print("begun", flush=True)
lake.run(sys.argv[2])
print("ended", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def playing(place: Path, until: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has begun to play, and will wait at the end; it and its Java are killed when they are left."""
    child = talking(PLAYING, str(place), until)
    try:
        assert child.stdout and child.stdout.readline() == "begun\n"
        yield child
    finally:
        kill(child)


@pytest.mark.in_turn("ended")
def test_killed_at_any_moment_it_goes_on(in_trouble: Copy, spark: SparkSession, request: pytest.FixtureRequest) -> None:
    """Driver and Java, by SIGKILL, as often as `--kills` says: each stage of 15 minutes is begun by one who is killed in it.

    The moments are spread over the time that a process needs that is left alone.
    """
    kills, seed = request.config.getoption("--kills"), request.config.getoption("--seed")
    chance = random.Random(seed)
    stages = [stage(nth) for nth in range(kills)]
    with Lake.open(in_trouble("killed"), spark) as lake:
        for nth, (begin, _) in enumerate(stages):
            lake.post("PFS1", "/Sales", b"posted %d" % nth, name=f"posted {nth}", at=begin)
            lake.modify("PFS1", "/Sales", "PFS1:1", b"one's %d" % nth, at=begin)
            lake.modify("PFS2", "/Sales", "PFS1:1", b"the other's %d" % nth, at=begin)
        killed = Path(lake.where)
    whole = Path(shutil.copytree(killed, killed.with_name("whole")))
    with playing(whole, stages[0][1]) as child:
        began = time.monotonic()
        assert child.stdout and child.stdout.readline() == "ended\n"
        span = time.monotonic() - began
    moments = [span * (nth + chance.random()) / kills for nth in range(kills)]
    chance.shuffle(moments)
    for (_, end), moment in zip(stages, moments, strict=True):
        with playing(killed, end):
            time.sleep(moment)
        lake = Lake.open(killed, spark)
        number, kind, _ = ledger(lake)[-1]
        print(f"--kills {kills} --seed {seed}: killed {moment:.2f} s of {span:.2f} s after it began, at {kind} {number}")
        assert broken(lake) == set()
        with lake:
            lake.run(end)
    lakes = [Lake.open(place, spark) for place in (killed, whole)]
    with lakes[1]:
        lakes[1].run(stages[-1][1])
    assert facts(lakes[0]) == facts(lakes[1])
    assert broken(lakes[0]) == set()


def stage(nth: int) -> tuple[str, str]:
    """When it begins and ends."""
    begin = datetime.fromisoformat(f"{DAY}00:20:00Z") + nth * timedelta(minutes=15)
    return begin.isoformat(), (begin + timedelta(minutes=10)).isoformat()
