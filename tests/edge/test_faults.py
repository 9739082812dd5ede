"""Faults on real lakes: whoever contends, sleeps, tidies or alters there, nothing is lost and nothing counts twice."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pfspark.edge.delta import writer
from pfspark.edge.world.facts import world
from pfspark.errors import LakeError, OtherWriterError
from pfspark.lake import Lake
from pfspark.tables import TABLES
from tests.edge.lakes import DAY, Copy, Point, assert_same_world, broken, facts, ledger, once_at, played_on, read_only
from tests.edge.processes import kill, talking

pytestmark = pytest.mark.lakes

ANSWERS = ("state", "gaps", "items", "folders", "messages", "replicas")


def answers(lake: Lake, as_of: int | str | None = None) -> dict[str, list[dict[str, Any]]]:
    """What is answered, and cannot tell in which round it came about."""
    return {kind: [{**line, "round": None} for line in lake.lines(kind, as_of)] for kind in ANSWERS}


# Others who write (X13, X14) -------------------------------------------------------------------------------------------


CONTENDING = """
import sys, time
from pfspark.errors import OtherWriterError
from pfspark.lake import Lake
where, me = sys.argv[1:]

def tell(*words):
    print(*words, flush=True)
    assert sys.stdin.readline()

def first_commit(point):
    lake._tables.hook = lambda point: None
    tell("plays")

lake = Lake.open(where, hook=first_commit)
lake.status()
tell("ready")
try:
    lake.run(until_quiet=True)
except OtherWriterError as error:
    tell("refused", error.exit_code)
lake._tables.hook = lambda point: None
lake.close()
refused = 0
for nth in range(2):
    lake.post("PFS1", "/Sales", f"{me} {nth}".encode(), name=f"{me} {nth}", at="2026-01-05T00:20:00Z", edit_id=f"{me} {nth}")
    waits = True
    while waits:
        try:
            lake.run(until_quiet=True)
            waits = False
        except OtherWriterError:
            refused += 1
            time.sleep(0.2)
    lake.close()
print("refused", refused, flush=True)
"""


def test_of_many_writers_one_plays_at_a_time(
    in_trouble: Copy, spark: SparkSession, request: pytest.FixtureRequest, run: Callable[..., str]
) -> None:
    """Processes started together, as many as `--writers` says; then all of them post, and try until they are admitted."""
    place = in_trouble("lake")
    names = [f"writer {nth}" for nth in range(request.config.getoption("--writers"))]
    children = [talking(CONTENDING, str(place), name) for name in names]
    try:
        assert {heard(child) for child in children} == {"ready"}
        go_on(children)
        # One waits within its first commit until all have been heard: the others are refused at once, or never.
        assert Counter(heard(child) for child in children) == {"plays": 1, "refused 4": len(children) - 1}
        run("round", "--lake", str(place), "--now", f"{DAY}00:20:00Z", code=4, told="Another writer plays rounds in")
        go_on(children)
        print([heard(child) for child in children])
        assert {child.wait() for child in children} == {0}
    finally:
        for child in children:
            kill(child)
    with Lake.open(place, spark) as lake:
        lake.run(until_quiet=True)
    assert broken(lake) == set()
    rows = ledger(lake)
    assert [number for number, _, _ in rows] == list(range(1, len(rows) + 1))
    playing = ""
    for number, kind, by in rows:
        playing = by if kind in ("created", "opened") else playing
        assert by == playing, number  # whoever has opened the ledger plays until another opens it
    posted = {f"{name} {nth}" for name in names for nth in range(2)}
    for table in ("edits", "changes", "receipts"):
        found = Counter(row["edit_id"] for row in lake.table(table).where("edit_id like 'writer%'").collect())
        assert found == dict.fromkeys(posted, 1), table
    for store in ("PFS1", "PFS2"):
        assert {row["name"] for row in lake.items(store, "/Sales").collect()} == {"first", "missed", "heard", "own", *posted}


def heard(child: subprocess.Popen[str]) -> str:
    """The next line that it says."""
    assert child.stdout
    return child.stdout.readline().strip()


def go_on(children: list[subprocess.Popen[str]]) -> None:
    for child in children:
        assert child.stdin
        child.stdin.write("\n")
        child.stdin.flush()


def overtaking(other: Lake, at: str) -> Callable[[], None]:
    """Another plays a round although one is at it, as on a disk that knows no locks."""

    def overtake() -> None:
        with pytest.MonkeyPatch.context() as patch, other:
            patch.setattr(writer, "lock", lambda *_: None)
            assert other.round(at).round

    return overtake


@pytest.mark.parametrize(
    "point",
    [("before rounds", 1), ("before changes", 1), ("before rounds", 2)],
    ids=["before its number", "between its facts", "before they count"],
)
def test_a_writer_that_slept_counts_for_nothing(point: Point, in_trouble: Copy, undisturbed: Lake, spark: SparkSession) -> None:
    """Before it took a number, between its facts, before the row that would make them count; it may begin again."""
    place = in_trouble("lake")
    slow, other = Lake.open(place, spark), Lake.open(place, spark)
    slow._tables.hook = once_at(point, overtaking(other, f"{DAY}00:20:00Z"))
    with pytest.raises(OtherWriterError, match=r"has taken round \d+") as refused:
        slow.round(f"{DAY}00:20:00Z")
    assert refused.value.exit_code == 4
    assert facts(slow) == facts(undisturbed, f"{DAY}00:20:00Z")
    with slow:
        slow.run(until=f"{DAY}00:25:00Z")
    assert facts(slow) == facts(undisturbed, f"{DAY}00:25:00Z")
    numbers = [number for number, _, _ in ledger(slow)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert broken(slow) == set()


def test_upkeep_that_slept_takes_no_facts_of_others_away(in_trouble: Copy, undisturbed: Lake, spark: SparkSession) -> None:
    """What was written while it slept stays, also in the tables that it rewrites."""
    place = in_trouble("lake")
    slow, other = Lake.open(place, spark), Lake.open(place, spark)
    slow._tables.hook = once_at(("before state", 1), overtaking(other, f"{DAY}00:20:00Z"))
    with slow, pytest.raises(OtherWriterError, match=r"has taken round \d+"):
        slow.maintain(f"{DAY}00:20:00Z")
    assert answers(slow) == answers(undisturbed, f"{DAY}00:20:00Z")
    with slow:
        slow.run(until=f"{DAY}00:45:00Z")
    assert_same_world(world(undisturbed._tables.snapshot()), world(slow._tables.snapshot()))
    assert broken(slow) == set()


# Those who tidy and look back (X15) ------------------------------------------------------------------------------------


def test_tidying_and_looking_back_change_nothing(in_trouble: Copy, undisturbed: Lake, spark: SparkSession) -> None:
    """OPTIMIZE, VACUUM and time travel between rounds and within one, upkeep between two: the same answers, the same end."""
    place = in_trouble("lake")
    tidied, reader = Lake.open(place, spark), Lake.open(place, spark)
    past: dict[int, dict[str, list[dict[str, Any]]]] = {}

    def tidy(*names: str) -> None:
        for name in names:
            reader._tables.tidy(name)

    def upkeep() -> None:
        tidied.maintain(f"{DAY}00:20:00Z")

    def look_back() -> None:
        assert past and all(answers(reader, number) == said for number, said in past.items())

    script: dict[str, tuple[Callable[[], None], Callable[[], None]]] = {
        "00:20": (lambda: tidy(*TABLES), lambda: tidy("edits", "changes")),
        "00:25": (upkeep, lambda: tidy("rounds", "state")),
        "00:30": (look_back, look_back),
    }
    for clock, (between, within) in script.items():
        between()
        tidied._tables.hook = once_at(("before rounds", 1), within)
        tidied.round(f"{DAY}{clock}:00Z")
        tidied._tables.hook = lambda point: None
        past[ledger(tidied)[-1][0]] = answers(tidied)
        assert answers(tidied) == answers(undisturbed, f"{DAY}{clock}:00Z"), clock
    with tidied:
        tidied.run(until=f"{DAY}00:45:00Z")
    assert_same_world(world(undisturbed._tables.snapshot()), world(tidied._tables.snapshot()))
    look_back()
    assert broken(tidied) == set()


# What is altered (X10) -------------------------------------------------------------------------------------------------


ITEMS_OF_PFS1_AT_PFS2 = "store = 'PFS2' AND folder != '1-1' AND entry = 'applied' AND origin = 'PFS1'"


@pytest.fixture(scope="module")
def quiet(troubled: Path, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That lake, after all have all."""
    place = tmp_path_factory.mktemp("quiet") / "lake"
    return played_on(troubled, place, spark, lambda lake: lake.run(until_quiet=True))


@pytest.mark.parametrize(
    ("table", "alter", "where", "named"),
    [
        ("content", "UPDATE {} SET body = X'00'", "body = X'6F776E'", {"bodies"}),
        ("content", "DELETE FROM {}", "body = X'6F776E'", {"I18"}),
        ("rounds", "UPDATE {} SET writer = 'somebody'", "round = 4", {"ledger"}),
        ("rounds", "DELETE FROM {}", "round = 4", {"ledger", "facts", "I17"}),
        ("changes", "INSERT INTO {0} SELECT * FROM {0}", "name = 'own'", {"facts", "I5", "I17"}),
        ("changes", "DELETE FROM {}", "name = 'missed'", {"facts", "I4", "I6", "I17"}),
        ("state", "DELETE FROM {}", ITEMS_OF_PFS1_AT_PFS2, {"facts", "I3", "I4", "I8"}),
        ("state", "UPDATE {} SET cn_max = 99", ITEMS_OF_PFS1_AT_PFS2, {"facts", "I2", "I4"}),
    ],
    ids=["body", "no body", "ledger", "no ledger row", "change twice", "no change", "no state", "more state"],
)
def test_what_was_altered_is_named(
    table: str, alter: str, where: str, named: set[str], quiet: Path, spark: SparkSession, tmp_path: Path
) -> None:
    """By the check that it breaks, and by no other; no other table is said to have parted."""
    lake = Lake.open(shutil.copytree(quiet, tmp_path / "lake"), spark)
    before = list(lake.audit())[-1]["tables"]
    spark.sql(f"{alter.format(lake._tables.name(table))} WHERE {where}")
    *found, certificate = Lake.open(lake.where, spark).audit()
    assert {line["id"] for line in found if line["rows"]} == named
    assert {name for name, said in certificate["tables"].items() if said != before[name]} <= {table}


# A place that cannot be written (X12) and one of another version (X18) ---------------------------------------------------


@pytest.mark.parametrize(("part", "rounds"), [("", 0), ("changes", 1)], ids=["the lake", "a table"])
def test_a_lake_that_cannot_be_written_is_told_and_can_be_read(
    part: str, rounds: int, in_trouble: Copy, undisturbed: Lake, spark: SparkSession
) -> None:
    """Nothing is lost, and when it can be written again it goes on."""
    lake = Lake.open(in_trouble("lake"), spark)
    before = len(ledger(lake))
    with read_only(Path(lake.where, part)):
        with pytest.raises(LakeError, match=r"(could not|cannot) be written: Read-only file system"):
            lake.round(f"{DAY}00:20:00Z")
        if not part:
            with pytest.raises(LakeError, match="cannot be written: Read-only file system"):
                lake.post("PFS1", "/Sales", b"lost?", name="lost?", at=f"{DAY}00:20:00Z")
        assert len(ledger(lake)) == before + rounds
        assert broken(lake) == set()
    with lake:
        lake.round(f"{DAY}00:20:00Z")
    assert facts(lake) == facts(undisturbed, f"{DAY}00:20:00Z")


def test_a_lake_of_a_higher_format_is_refused(in_trouble: Copy, spark: SparkSession) -> None:
    place = in_trouble("lake")
    spark.sql(f"UPDATE delta.`{place}/rounds` SET format = 3 WHERE round = 3")
    with pytest.raises(LakeError, match=r"made by a newer pfspark .format 3, this one knows 2.. Update pfspark"):
        Lake.open(place, spark)
