"""The world left beside the tables: it says what the facts say, counts after its own round alone, and needs no Java."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pfspark import mapped
from pfspark.ask import lines
from pfspark.between import Between
from pfspark.edge.delta import beside, native
from pfspark.edge.delta.ledger import Row
from pfspark.edge.delta.snapshot import Snapshot
from pfspark.edge.delta.tables import Tables
from pfspark.edge.keeping import auditing
from pfspark.edge.world import bases, carried
from pfspark.edge.world.facts import world_between
from pfspark.keyed import anti_join
from pfspark.lake import Lake
from pfspark.materializer import Materializer
from pfspark.tables import TABLES
from tests.edge.lakes import DAY, Copy, Ended, Point, assert_same_world, broken, counted, facts
from tests.edge.processes import NO_JAVA, PFSPARK, ROOT, environment, one_by_one, python

NOW = datetime.now(UTC)
ANY = {"kind": "played", "writer": "", "began": NOW, "ended": NOW, "versions": {}, "cursors": {}, "digest": "x"}
"""A row of the ledger, but its number."""
ASKED = ("state", "items", "replicas", "folders", "stores", "messages", "rounds")
"""What is told without Spark where a base is."""


def answers(lake: Lake) -> list[str]:
    return [json.dumps(line, default=str) for kind in ASKED for line in lake.lines(kind)]


def base_of(place: Path, row: Row) -> bases.Base:
    found = bases.find(place, row)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def left(troubled: Path, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake that was played on to where PFS2 has made a folder, and left."""
    where = Path(shutil.copytree(troubled, tmp_path_factory.mktemp("left") / "lake"))
    with Lake.open(where, spark) as lake:
        lake.run(until=f"{DAY}00:25:00Z")
    return where


@pytest.fixture
def place(left: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(left, tmp_path / "lake"))


@pytest.mark.in_turn("bases")
def test_a_base_says_what_the_facts_say(place: Path, spark: SparkSession) -> None:
    """After rounds, a restore, upkeep, what people did since, and rounds that were played upon it."""

    def held_beside_the_facts() -> None:
        snapshot = Tables.open(spark, place).snapshot()
        found = base_of(place, snapshot.row)
        assert_same_world(found.tables, {**world_between(snapshot).tables, "edits": found.tables["edits"]})

    held_beside_the_facts()
    with Lake.open(place, spark) as lake:
        lake.store("PFS3", "Paris")
        lake.post("PFS2", "/Sales", b"more", name="more", at=f"{DAY}00:40:00Z")
    held_beside_the_facts()
    with Lake.open(place, spark) as lake:
        lake.round(f"{DAY}00:45:00Z")
        lake.restore("PFS1", 9)
    held_beside_the_facts()
    with Lake.open(place, spark) as lake:
        lake.run(until=f"{DAY}01:15:00Z")
        lake.maintain()
    held_beside_the_facts()
    with Lake.open(place, spark) as based:
        said = answers(based)
    os.unlink(place / beside.BASE)
    assert answers(Lake.open(place, spark)) == said


@pytest.mark.lakes
def test_a_base_that_says_something_else_is_found_and_taken_away(place: Path, spark: SparkSession) -> None:
    """A belief that nobody has and a store less, by other hands, while the facts are whole."""
    row = Tables.open(spark, place).snapshot().row
    base = base_of(place, row)
    lake = Lake.open(place, spark)
    assert {line["id"]: line["rows"] for line in lake.audit() if line["kind"] == "check"}["base"] == 0
    state, stores = (base.tables[name] for name in ("state", "stores"))
    beyond = state.slice(0, 1).to_pylist()[0]
    beyond |= {"cn_min": beyond["cn_max"] + 5, "cn_max": beyond["cn_max"] + 9}
    forged = {
        **base.tables,
        "state": pa.concat_tables([state, pa.Table.from_pylist([beyond], state.schema)]),
        "stores": stores[1:],
    }
    bases.leave(place, bases.Base(forged, base.cursor, base.directory), row.round, row.digest)
    lake = Lake.open(place, spark)
    [found] = [line for line in lake.audit() if line.get("rows")]
    assert (found["id"], found["rows"]) == ("base", 2)
    assert json.loads(found["sample"])["table"] in ("state", "stores")
    [remedy] = lake.remedies()
    assert (remedy.what, remedy.target) == ("read anew", beside.BASE)
    lake.mend([remedy])
    assert bases.find(place, row) is None and broken(lake) == set() == {*lake.remedies()}


@pytest.mark.lakes
def test_what_people_do_meanwhile_is_no_disagreement(place: Path, spark: SparkSession) -> None:
    """A store that is added while the facts are looked at: the audit says nothing of a world that is newer than they were."""
    lake = Lake.open(place, spark)

    def world_after(round: int) -> Between | None:
        Lake.open(place, spark).store("PFS9", "Paris")
        return lake._runner.at_hand_after(round)

    *lines, _ = auditing.audit(lake._tables, lambda: lake.answers(as_found=True), world_after)
    assert "base" not in {line["id"] for line in lines}
    assert not any(line["rows"] for line in lines)
    checked = {line["id"]: line["rows"] for line in lake.audit() if line["kind"] == "check"}
    assert checked["base"] == 0 and not any(checked.values())  # both have read of it by now
    *past, _ = lake.audit(lake._tables.snapshot().row.round)
    assert "base" not in {line["id"] for line in past}  # then there was no such store
    assert not any(line["rows"] for line in past)


def test_a_base_counts_after_its_own_round_alone(place: Path, spark: SparkSession) -> None:
    row = Tables.open(spark, place).snapshot().row
    left = (place / beside.BASE).read_bytes()
    with Lake.open(place, spark) as lake:
        lake.post("PFS1", "/Sales", b"later", name="later", at=f"{DAY}00:50:00Z")
        lake.round(f"{DAY}00:55:00Z")
        later = answers(lake)
    now = Tables.open(spark, place).snapshot().row
    assert bases.find(place, now) and bases.find(place, row) is None
    (place / beside.BASE).write_bytes(left)  # of the round before, as when whoever played was killed
    assert bases.find(place, now) is None
    assert answers(Lake.open(place, spark)) == later


@pytest.fixture(scope="module")
def unfinished(troubled: Path, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake whose last rounds were played by one who was killed, so that the base is that of the rounds before: since then came
    a store and an edit that had been taken in before."""
    where = Path(shutil.copytree(troubled, tmp_path_factory.mktemp("unfinished") / "lake"))
    lake = Lake.open(where, spark)
    lake.round(f"{DAY}00:20:00Z")
    lake.store("PFS3", "Paris")
    lake.post("PFS1", "/Sales", b"again", name="heard", at=f"{DAY}00:22:00Z")
    lake.run(until=f"{DAY}00:45:00Z")
    lake._runner.close()
    return where


@pytest.fixture
def killed(unfinished: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(unfinished, tmp_path / "lake"))


@pytest.fixture
def facts_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "AT_HAND_ROWS", 0)


@pytest.fixture
def from_the_facts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rounds after which the world was read from the facts."""
    read: list[int] = []

    def counting(snapshot: Snapshot, materializer: Materializer) -> Between:
        read.append(snapshot.row.round)
        return world_between(snapshot, materializer)

    monkeypatch.setattr(carried, "world_between", counting)
    return read


@pytest.mark.in_turn("bases")
@pytest.mark.usefixtures("facts_are_many")
def test_what_was_played_since_a_base_is_played_again(killed: Path, spark: SparkSession, from_the_facts: list[int]) -> None:
    """The world is what the facts say, and goes on as that does; nothing is written for it."""
    versions = {name: Tables.open(spark, killed).version(name) for name in TABLES}
    lake = Lake.open(killed, spark)
    again = dict(lake._runner.world().tables)
    assert not from_the_facts
    assert versions == {name: lake._tables.version(name) for name in TABLES}
    os.unlink(killed / beside.BASE)
    read = Lake.open(killed, spark)._runner.world().tables
    assert from_the_facts
    assert_same_world(again, read)
    with lake:
        lake.post("PFS2", "/Sales", b"more", name="more", at=f"{DAY}00:50:00Z")
        lake.run(until=f"{DAY}01:00:00Z")
        assert_same_world(lake._runner.world().tables, world_between(lake._tables.snapshot()).tables)
    assert not broken(lake)


ELSE = ("few facts", "cut off", "restored", "tidied", "many rounds", "other facts", "another base", "short log")


@pytest.mark.in_turn("killed")
@pytest.mark.parametrize("why", ELSE)
def test_else_the_facts_are_read(
    why: str, killed: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, from_the_facts: list[int]
) -> None:
    """Where that is quicker, or the rounds since cannot be played again as they were: a store was cut off, or taken back."""
    monkeypatch.setattr(native, "AT_HAND_ROWS", 1_000_000 if why == "few facts" else 0)
    lake = Lake.open(killed, spark)
    if why == "cut off":
        lake.post("PFS1", "/Sales", b"lost", name="lost", at=f"{DAY}00:50:00Z")
        lake.round(f"{DAY}00:50:00Z")
        lake.round(f"{DAY}00:55:00Z", cut=["PFS2"])
    elif why == "restored":
        lake.restore("PFS1", 9, now=f"{DAY}00:50:00Z")
    elif why == "tidied":
        lake.maintain(f"{DAY}00:50:00Z")
    elif why == "many rounds":
        monkeypatch.setattr(carried, "AGAIN", 2)
    elif why == "other facts":
        monkeypatch.setattr(carried, "digest", lambda name, rows: "another")
    elif why == "another base":
        monkeypatch.setattr(bases, "FORMAT", 0)
    elif why == "short log":  # the history of a table reaches no longer back to the base
        deltalake.DeltaTable(killed / "stores").create_checkpoint()
        for commit in sorted((killed / "stores" / "_delta_log").glob("*.json"))[:-1]:
            commit.unlink()
    lake._runner.close()
    from_the_facts.clear()
    lake = Lake.open(killed, spark)
    found = lake._runner.world().tables
    assert from_the_facts == [lake._tables.snapshot().row.round]
    assert_same_world(found, world_between(lake._tables.snapshot()).tables)


@pytest.mark.in_turn("bases")
def test_a_base_is_left_now_and_then(in_trouble: Copy, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """By who plays for long, and may be killed."""
    monkeypatch.setattr(carried, "LEFT_EVERY", 2)
    place = in_trouble("long")
    lake, left = Lake.open(place, spark), []
    for minutes in range(20, 40, 5):
        lake.post("PFS1", "/Sales", b"more", name=f"at {minutes}", at=f"{DAY}00:{minutes}:00Z")
        lake.round(f"{DAY}00:{minutes}:00Z")
        left.append(bases.find(place, lake._tables.snapshot().row) is not None)
    assert left == [False, True] * 2
    lake._runner.close()


HARMS = {"another pfspark": {"pfspark": "0"}, "another digest": {"digest": "0"}, "other columns": {"columns": "0"},
         "no number": {"round": "nine"}, "no cursor": {}, "no such file": {"files": {"changes": ["gone.arrow"]}}}  # fmt: skip


@pytest.mark.parametrize("harm", ["cut short", "nothing", "not a base", *HARMS])
def test_what_is_no_base_is_none(place: Path, spark: SparkSession, harm: str) -> None:
    row = Tables.open(spark, place).snapshot().row
    file = place / beside.BASE
    whole = file.read_bytes()
    if harm == "cut short":
        file.write_bytes(whole[: len(whole) // 2])
    elif harm == "nothing":
        file.write_bytes(b"")
    elif harm == "not a base":
        with zipfile.ZipFile(file, "w") as other:
            other.writestr("letter.txt", "hello")
    else:
        with zipfile.ZipFile(file) as old:
            parts = {name: old.read(name) for name in old.namelist()}
        about = json.loads(parts[bases.ABOUT]) | HARMS[harm]
        if harm == "no cursor":
            del about["cursor"]
        with zipfile.ZipFile(file, "w") as new:
            for name, part in (parts | {bases.ABOUT: json.dumps(about).encode()}).items():
                new.writestr(name, part)
    assert bases.find(place, row) is None


def test_where_nothing_can_be_written_no_base_is_left(tmp_path: Path) -> None:
    bases.leave(tmp_path / "nowhere", bases.Base({"mail": pa.table({"a": [1]})}, 0, {}), 1, "x")
    (tmp_path / beside.BASE).mkdir()
    bases.leave(tmp_path, bases.Base({"mail": pa.table({"a": [1]})}, 0, {}), 1, "x")
    assert os.listdir(tmp_path) == [beside.BASE]


def test_a_base_of_a_later_round_stays(tmp_path: Path) -> None:
    """Who asked for long leaves the world as it was when he began; what the killed have left of theirs is swept away."""
    (tmp_path / f"{beside.BASE}.1.tmp").write_bytes(b"half of")
    for number in (8, 9, 7):
        bases.leave(tmp_path, bases.Base({"mail": pa.table({"a": [number]})}, number, {"stores": number}), number, "x")
    assert os.listdir(tmp_path) == [beside.BASE]
    row = Row(round=9, **ANY)
    found = base_of(tmp_path, row)
    assert (found.cursor, found.directory, found.tables["mail"].to_pylist()) == (9, {"stores": 9}, [{"a": 9}])
    assert bases.find(tmp_path, replace(row, round=8)) is None


def test_a_base_that_holds_more_of_what_people_said_stays(tmp_path: Path) -> None:
    """Who reads leaves one too, of when he began; of another round's digest it is no matter how much it holds."""
    for cursor, stores, digest in ((6, 1, "x"), (5, 1, "x"), (6, 0, "x")):
        bases.leave(tmp_path, bases.Base({"mail": pa.table({"a": [cursor]})}, cursor, {"stores": stores}), 7, digest)
    row = Row(round=7, **ANY)
    assert (base_of(tmp_path, row).cursor, base_of(tmp_path, row).directory) == (6, {"stores": 1})
    bases.leave(tmp_path, bases.Base({"mail": pa.table({"a": [1]})}, 1, {"stores": 0}), 7, "y")
    assert base_of(tmp_path, replace(row, digest="y")).cursor == 1


def test_a_base_is_read_of_one_file(tmp_path: Path) -> None:
    """Another may be left while it is read: what is said of the one is not said of the other."""
    row = Row(round=7, **ANY)
    bases.leave(tmp_path, bases.Base({"mail": pa.table({"a": [5]})}, 5, {}), 7, "x")

    def looked_up(round: int) -> str:
        bases.leave(tmp_path, bases.Base({"mail": pa.table({"a": [6]})}, 6, {}), 7, "x")
        return row.digest

    found = bases.left(tmp_path, looked_up)
    assert found is not None and found[1].tables["mail"].to_pylist() == [{"a": found[1].cursor}]


def test_where_there_is_no_room_none_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_rows: object, _schema: object, file: Any) -> None:
        file.write(b"half of")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(mapped, "write", full)
    monkeypatch.setattr(bases, "SMALL", 0)
    bases.leave(tmp_path, bases.Base({"mail": pa.table({"a": [1]})}, 0, {}), 1, "x")
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == []


def numbers(first: int, last: int) -> pa.Table:
    """So many rows of the view `changes`, told apart by `n`; a row is some 30 bytes."""
    return pa.table({"org": ["main"] * (last - first), "n": range(first, last), "of": ["x" * 10] * (last - first)})


class Left:
    """A base that is left anew after each round, by one who has read the last."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.number = folder, 0
        self.row = Row(round=0, **ANY)

    def leave(self, table: pa.Table) -> pa.Table:
        """What the next one reads."""
        self.number += 1
        bases.leave(self.folder, bases.Base({"changes": table, "mail": numbers(0, 1)}, 0, {}), self.number, "x")
        found = base_of(self.folder, replace(self.row, round=self.number)).tables["changes"]
        assert sorted(found["n"].to_pylist()) == sorted(table["n"].to_pylist())
        return found

    @property
    def files(self) -> dict[str, int]:
        return {file.name: file.stat().st_ino for file in self.folder.glob(f"{beside.BASE_FILES}/*")}


@pytest.fixture
def in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Left:
    """Of a base whose tables lie in files from some hundred rows on."""
    monkeypatch.setattr(bases, "SMALL", 3000)
    monkeypatch.setattr(mapped, "BATCH", 50)
    return Left(tmp_path)


def test_a_large_table_lies_in_files_that_stay(in_files: Left) -> None:
    """Only what was added is written, with what is smaller; of a row that went its file is written anew."""
    large = in_files.leave(numbers(0, 1000))
    [first] = in_files.files.items()
    more = in_files.leave(pa.concat_tables([large, numbers(1000, 1010)]))
    assert dict([first]) == in_files.files
    much = in_files.leave(pa.concat_tables([more, numbers(1010, 1300)]))
    assert first in in_files.files.items() and len(in_files.files) == 2
    most = in_files.leave(pa.concat_tables([much, numbers(1300, 1700)]))  # more than the second file, and less than the first
    assert first in in_files.files.items() and len(in_files.files) == 2
    less = in_files.leave(anti_join(most, pa.table({"n": [3]}), ["n"]))
    assert first[0] not in in_files.files and len(in_files.files) == 1
    assert in_files.leave(less.slice(0, 5)).num_rows == 5 and not in_files.files


def test_a_base_lies_where_it_is_copied_to(in_files: Left, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Files of another place are none of this one."""
    elsewhere = Left(tmp_path_factory.mktemp("elsewhere"))
    large = in_files.leave(numbers(0, 1000))
    elsewhere.leave(large)
    shutil.rmtree(in_files.folder / beside.BASE_FILES)
    assert len(elsewhere.files) == 1 and elsewhere.leave(large).num_rows == 1000
    assert in_files.leave(large).num_rows == 1000 and len(in_files.files) == 1  # nor are those that are gone


@pytest.mark.parametrize("harm", ["gone", "cut short", "nothing", "not a table"])
def test_of_a_file_that_is_harmed_there_is_no_base(in_files: Left, harm: str) -> None:
    in_files.leave(numbers(0, 1000))
    [file] = in_files.folder.glob(f"{beside.BASE_FILES}/*")
    whole = file.read_bytes()
    file.unlink()
    if harm != "gone":
        file.write_bytes({"cut short": whole[: len(whole) // 2], "nothing": b"", "not a table": b"hello, world"}[harm])
    assert bases.find(in_files.folder, replace(in_files.row, round=1)) is None


def test_who_fails_leaves_none(place: Path, spark: SparkSession) -> None:
    os.unlink(place / beside.BASE)
    with pytest.raises(KeyError), Lake.open(place, spark) as lake:
        assert list(lake.lines("state"))
        raise KeyError
    assert not (place / beside.BASE).exists()
    with Lake.open(place, spark) as lake:  # who had to read the facts leaves one
        assert list(lake.lines("state"))
    assert bases.find(place, Tables.open(spark, place).snapshot().row)


def test_the_ledger_is_looked_up_alike(place: Path, spark: SparkSession) -> None:
    with Lake.open(place, spark) as lake:
        lake.restore("PFS1", 9)
    tables = Tables.open(spark, place)
    last = tables.snapshot().row.round
    moments: list[Any] = [None, 1, 3, last, last + 1, 0]
    moments += [Lake.open(place, spark).answers(number).at["main"] for number in (last, last - 3)]
    for moment, org in product(moments, (None, "main", "nobody")):
        one, other = tables._looked_up(moment, org), tables._ledger(moment, org)
        assert one is not None and one.pop("round") == (other["row"] or {}).get("round")
        back = sorted((row["round"], row["restored"]) for row in other["restores"])
        assert {**one, "void": sorted(one["void"])} == {**other, "void": sorted(other["void"]), "restores": one["restores"]}
        assert [(row["round"], row["restored"]) for row in one["restores"]] == back


def test_where_nothing_is_due_no_java_is_asked(resting: Path, spark: SparkSession) -> None:
    """Nor is anything written. A round that takes in what was posted asks none either; one that changes a folder does."""
    with Lake.open(resting, spark) as lake:
        now = (lake.answers().at["main"] + timedelta(seconds=1)).isoformat()
    before = sorted(file.name for file in (resting / "rounds" / "_delta_log").iterdir())
    played, ran = says_all(resting, ("round", "--now", now), ("run", "--until-quiet"))
    assert "nothing to do" in played
    assert "0 rounds played" in ran
    assert sorted(file.name for file in (resting / "rounds" / "_delta_log").iterdir()) == before
    post = ("post", "--store", "PFS1", "--folder", "/Sales", "--text", "due", "--now", now)
    _, took_in = says_all(resting, post, ("round", "--now", now))
    assert "1 changes" in took_in
    called = ("folder", "set", "/Sales", "note=new", "--store", "PFS1", "--now", now)
    _, refused = says_all(resting, called, (1, "round", "--now", now))
    assert "Java" in refused


def test_what_is_missing_is_asked_for_where_no_java_is(resting: Path, spark: SparkSession) -> None:
    """And a base counts though who came last was ended in a round. Mail takes time on this way."""
    with Lake.open(resting, spark) as lake:
        lake.store("PFS2", "Paris")
        lake.link("Redmond", "Paris", cost=3, delay="1m")
        begun = lake.answers().at["main"]
        lake.round(begun + timedelta(minutes=5))
        lake.post("PFS1", "/Sales", b"lost", name="lost", at=begun + timedelta(minutes=10))
        lake.round(begun + timedelta(minutes=10), cut=["PFS2"])
        lake.round(begun + timedelta(minutes=15), cut=["PFS2"])
    tables = Tables.open(spark, resting)
    with tables.writing() as writer:
        writer.open()
    post = ("post", "--store", "PFS1", "--folder", "/Sales", "--text", "2", "--now", (begun + timedelta(hours=1)).isoformat())
    until = ("run", "--until", (begun + timedelta(days=2)).isoformat())
    *_, ran, items = says_all(resting, post, until, ("items", "--store", "PFS2", "--folder", "/Sales", "--json"))
    assert "PFS2 → PFS1  0x8 backfill request" in ran and "PFS1 → PFS2  0x80000004" in ran
    assert "lost" in [line["name"] for line in read(items)]


def says_all(lake: Path, *commands: Sequence[str | int]) -> list[str]:
    """What commands print that are given one by one where no Java is; one that is refused begins with its exit code."""
    codes, words = zip(*((each[0], each[1:]) if isinstance(each[0], int) else (0, each) for each in commands), strict=True)
    told = one_by_one([(each, ROOT, {}) for each in words], environment(PFSPARK_LAKE=str(lake), **NO_JAVA))
    assert [code for code, _, _ in told] == [*codes], told
    return [out + err for _, out, err in told]


def read(said: str) -> list[dict[str, Any]]:
    """The lines of what a command prints for programs."""
    return [json.loads(line) for line in said.splitlines()]


@pytest.fixture(scope="module")
def without_java(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake that was made where no Java is."""
    place = tmp_path_factory.mktemp("made") / "lake"
    stores = (("PFS1", "Redmond"), ("PFS2", "Paris"), ("PFS3", "Paris"))
    says_all(
        place,
        ("init", "--profile", "modern"),
        *(("store", "add", name, "--site", site) for name, site in stores),
        ("store", "set", "PFS3", "--retired"),
        ("link", "Redmond", "Paris", "--cost", "3"),
        ("folder", "create", "/Sales", "--store", "PFS1", "--replicas", "PFS1,PFS2"),
        ("post", "--store", "PFS1", "--folder", "/Sales", "--name", "offer", "--text", "hello"),
    )
    return place


def test_a_lake_is_made_and_asked_where_no_java_is(without_java: Path) -> None:
    stores, status, rounds, unknown, again, round = says_all(
        without_java,
        ("store", "list", "--json"),
        ("status",),
        ("log", "rounds", "--json"),
        (2, "post", "--store", "PFS2", "--folder", "/Sales", "--text", "hello"),
        (2, "init"),
        (1, "round"),
    )
    assert [(row["store"], row["site"], row["retired"]) for row in read(stores)] == [
        ("PFS1", "Redmond", False), ("PFS2", "Paris", False), ("PFS3", "Paris", True),
    ]  # fmt: skip
    assert "2 edits waiting" in status
    [made] = read(rounds)
    assert (made["round"], made["what"]) == (1, "created")
    assert "the folder '/Sales' is not known at PFS2" in unknown
    assert "has an organization 'main' already" in again
    assert "Java" in round


IN_PYTHON = """
import sys
from pfspark import Lake
from pfspark.errors import SparkStartError

with Lake.create(sys.argv[1] + "/new") as lake:
    lake.organization(profile="modern")
    lake.store("PFS1", "Redmond")
    print(lake)
with Lake.open(sys.argv[1] + "/played") as lake:
    lake.post("PFS1", "/Sales", b"new", at=sys.argv[2])
    print(lake.round(sys.argv[2]).counts["changes"])
    try:
        lake.items("PFS1")
    except SparkStartError as error:
        print(str(error)[:9])
"""


def test_a_lake_is_opened_in_python_where_no_java_is(resting: Path, spark: SparkSession) -> None:
    """What needs Spark says so."""
    with Lake.open(resting, spark) as lake:
        now = (lake.answers().at["main"] + timedelta(minutes=5)).isoformat()
    played = resting.rename(resting.with_name("played"))
    done = python(IN_PYTHON, str(played.parent), now, **NO_JAVA)
    assert done.returncode == 0, done.stderr
    first, *rest = done.stdout.splitlines()
    assert first.endswith("new') after round 1") and rest[-2:] == ["1", "No `java`"]


def test_mail_is_imported_where_no_java_is(without_java: Path, tmp_path: Path) -> None:
    lake = Path(shutil.copytree(without_java, tmp_path / "lake"))
    words = ("import", str(ROOT / "conf" / "demo.mbox"), "--store", "PFS1", "--folder", "/Sales", "--json")
    *imported, status = says_all(lake, words, words, ("status",))
    assert [*map(json.loads, imported)] == [
        {"kind": "import", "posted": 24 - known, "known": known, "unkept": 0} for known in (0, 24)
    ]
    assert "26 edits waiting" in status


def test_what_is_done_after_an_import_stands_behind_it(without_java: Path, tmp_path: Path) -> None:
    """Of one moment too, however many files it was of: else a store would be told to delete what it does not have yet."""
    lake = Path(shutil.copytree(without_java, tmp_path / "lake"))
    files = [tmp_path / f"{nth}.eml" for nth in range(3)]
    for nth, file in enumerate(files):
        file.write_text(f"From: a@example.com\nSubject: mail {nth}\n\nhello\n")
    where = ("--store", "PFS1", "--folder", "/Sales", "--now", f"{DAY}08:00:00Z")
    post = ("post", *where, "--name", "later", "--text", "hello")
    *_, edits = says_all(lake, ("import", *map(str, files), *where), post, ("log", "edits", "--json"))
    names = [line["name"] for line in read(edits) if line["at"] == f"{DAY}08:00:00Z"]
    assert names == ["mail 0", "mail 1", "mail 2", "later"]


def test_what_was_made_without_java_is_played_and_asked_without(without_java: Path, spark: SparkSession, tmp_path: Path) -> None:
    """Delta's own tables, with what each is for; what is played there is told where no Java is."""
    place = Path(shutil.copytree(without_java, tmp_path / "lake"))
    detail = spark.sql(f"DESCRIBE DETAIL delta.`{place}/stores`").collect()[0]
    assert detail["description"] == "an entry of the directory: a store; the latest row wins"
    told = {row["col_name"]: row["comment"] for row in spark.sql(f"DESCRIBE delta.`{place}/stores`").collect()}
    assert told["site"] == "where it is; inside a site cost and delay are 0"
    with Lake.open(place, spark) as lake:
        lake.run(until_quiet=True)
        assert {line["rows"] for line in lake.audit() if line["kind"] == "check"} == {0}
    assert lake.items("PFS2", "/Sales").select("name").collect()[0]["name"] == "offer"
    begun = {"_PFSPARK_COMPLETE": "complete_bash", "COMP_WORDS": "pfspark items --folder /S", "COMP_CWORD": "3"}
    offered = python(PFSPARK, PFSPARK_LAKE=str(place), **NO_JAVA, **begun)
    assert (offered.returncode, offered.stdout, offered.stderr) == (0, "/Sales\n", "")
    state, messages, ran, posted = says_all(
        place,
        ("state", "--json"),
        ("log", "messages"),
        ("run", "--until", "now"),
        ("post", "--store", "PFS2", "--folder", "/Sales", "--text", "two"),
    )
    assert {(row["store"], row["folder"]): row["applied"] for row in read(state) if row["folder"] == "/Sales"} == {
        ("PFS1", "/Sales"): "PFS1:1", ("PFS2", "/Sales"): "PFS1:1",
    }  # fmt: skip
    assert "0x4 content" in messages
    assert "0 rounds played" in ran
    assert posted.startswith("edit post:")


def test_items_are_named_where_no_java_is(place: Path, spark: SparkSession) -> None:
    """By name, by id, by the edit that posted them; refused as ever; and a conflict is settled. Without a base Spark is asked."""
    with Lake.open(place, spark) as lake:
        for store, body in (("PFS1", b"mine"), ("PFS2", b"yours")):
            lake.modify(store, "/Sales", "first", body, at=f"{DAY}00:26:00Z")
        posted = lake.post("PFS1", "/Sales", b"posted", name="posted", at=f"{DAY}00:26:00Z")
        lake.run(until=f"{DAY}00:40:00Z")
    at = ("--store", "PFS1", "--folder", "/Sales", "--now", f"{DAY}00:41:00Z")
    items = ("items", "--store", "PFS1", "--folder", "/Sales", "--json")
    [shown] = says_all(place, items)
    seen = {line["name"]: line for line in read(shown)}
    first, heard, own, deleted = (seen[name] for name in ("first", "heard", "own", "posted"))
    assert first["conflict"] and len(first["losers"]) == 1 and not heard["conflict"]
    unknown, *_, gone, not_there, no_conflict, no_version, _, later = says_all(
        place,
        (1, "delete", "hear", *at),
        ("modify", "heard", *at, "--text", "by name"),
        ("modify", own["item"], *at, "--text", "by id"),
        ("delete", f"@{posted}", *at),
        (1, "modify", deleted["item"], "--text", "gone", *at),
        (1, "delete", "posted", *at),
        (2, "resolve", "heard", "--keep", "all", *at),
        (2, "resolve", "first", "--keep", "PFS9:9", *at),
        ("resolve", "first", *at, "--keep", first["losers"][0]),
        items,
    )
    assert "the item 'hear' is not known in that folder at PFS1; the nearest known is 'heard'" in unknown
    assert f"the item {deleted['item']} is deleted at PFS1, and can no longer be changed" in gone
    assert "the item 'posted' is not known" in not_there
    assert f"{heard['item']} is in no conflict at PFS1" in no_conflict
    there = f"{first['item']} has no version 'PFS9:9' in conflict; there are {first['version']}, {first['losers'][0]}, and `all`"
    assert there in no_version
    edits = Tables.open(spark, place).arrow("edits")
    changes = Tables.open(spark, place).arrow("changes")
    assert edits is not None and changes is not None
    kept = {f"{row['origin']}:{row['cn']}": row["hash"] for row in changes.to_pylist() if row["folder"] != "1-1"}
    bodies = [hashlib.sha256(text).hexdigest() for text in (b"by name", b"by id")]
    made = [row for row in edits.to_pylist() if lines.moment(row["at"]) == at[-1]]
    assert [(row["action"], row["item"], row["hash"]) for row in sorted(made, key=lambda row: row["place"])] == [
        ("modify", heard["item"], bodies[0]), ("modify", own["item"], bodies[1]), ("delete", deleted["item"], None),
        ("modify", first["item"], kept[first["losers"][0]]),
    ]  # fmt: skip
    assert later == shown  # what waits shows nobody anything yet
    os.unlink(place / beside.BASE)
    [asked] = says_all(place, (1, "delete", "heard", *at))
    assert "Java" in asked


class Leaving:
    """A process that leaves a base, and ends at a point of it: before or after any file is written, put in its place or taken
    away, and in the middle of a large one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.points: list[Point] = []
        self._end: Point | None = None
        self._come_by = counted(self._here)
        write, replace_, unlink, writestr = mapped.write, os.replace, Path.unlink, zipfile.ZipFile.writestr

        def written(batches: Any, schema: pa.Schema, file: Any) -> None:
            self._come_by("before a large table")
            whole = pa.BufferOutputStream()
            write(batches, schema, whole)
            bytes_ = whole.getvalue().to_pybytes()
            file.write(bytes_[: len(bytes_) // 2])
            file.flush()
            self._come_by("half of a large table")
            file.write(bytes_[len(bytes_) // 2 :])
            file.flush()
            self._come_by("after a large table")

        def around(name: str, do: Callable[..., Any]) -> Callable[..., Any]:
            def done(*args: Any, **named: Any) -> Any:
                self._come_by(f"before {name}")
                given = do(*args, **named)
                self._come_by(f"after {name}")
                return given

            return done

        monkeypatch.setattr(mapped, "write", written)
        monkeypatch.setattr(os, "replace", around("it takes its place", replace_))
        monkeypatch.setattr(Path, "unlink", around("a file goes", unlink))
        monkeypatch.setattr(zipfile.ZipFile, "writestr", around("a part", writestr))

    def _here(self, point: Point) -> None:
        self.points.append(point)
        if point == self._end:
            raise Ended

    def leave(self, lake: Lake, end: Point | None = None) -> list[Point]:
        """All points that it came by."""
        self.points, self._end, self._come_by = [], end, counted(self._here)
        lake._runner.leave()
        return self.points


@pytest.mark.in_turn("killed")
@pytest.mark.parametrize("since", ["a round", "a post"])
def test_wherever_one_ends_who_leaves_a_base_the_world_is_as_the_facts_say(
    place: Path, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, since: str
) -> None:
    """X6, X7: there is the new base, whole, or the one before as long as it counts, or none. Others play on at once: at the
    first point, the last and one between in every run, at each by `--lakes`."""
    monkeypatch.setattr(bases, "SMALL", 0)
    with Lake.open(place, spark) as lake:
        lake.round(f"{DAY}00:35:00Z")
        lake.post("PFS1", "/Sales", b"waits", name="waits", at=f"{DAY}00:40:00Z")
        assert list(lake.lines("state"))  # what is asked after the post knows of it, and so does what is left
    leaver = Lake.open(place, spark)
    leaver.post("PFS2", "/Sales", b"more", name="more", at=f"{DAY}00:40:00Z")
    if since == "a round":
        leaver.round(f"{DAY}00:45:00Z")
    assert list(leaver.lines("state"))
    saved = Path(shutil.copytree(place, tmp_path / "saved"))

    def played_on(point: str) -> dict[str, list[str]]:
        """What the facts say when others have played on, who leave a base, and nothing beside it."""
        where = Path(shutil.copytree(place, tmp_path / point))
        with Lake.open(where, spark) as lake:
            lake.run(f"{DAY}01:00:00Z")
        assert bases.find(where, Tables.open(spark, where).snapshot().row)
        with zipfile.ZipFile(where / beside.BASE) as file:
            names = {each for some in json.loads(file.read(bases.ABOUT))["files"].values() for each in some}
        assert {*os.listdir(where / beside.BASE_FILES)} == names and not [*where.glob("*.tmp")]
        return facts(lake)

    with monkeypatch.context() as patch:
        points = Leaving(patch).leave(leaver)
    bases.drop(place)
    expected = played_on("from the facts")
    ways = ("a large table", "it takes its place", "a file goes", "a part")
    reached = {f"{when} {what}" for when in ("before", "after") for what in ways} | {"half of a large table"}
    assert {name for name, _ in points} == reached
    between = points[1:-1]
    if not request.config.getoption("--lakes"):
        between = [between[request.config.getoption("--turn") % len(between)]]
    snapshot = Tables.open(spark, place).snapshot()
    world = world_between(snapshot).tables
    replaced = points.index(("after it takes its place", 1))
    for nth, point in enumerate(points):
        shutil.rmtree(place / beside.BASE_FILES)
        for file in place.glob(f"{beside.BASE}*"):
            file.unlink()
        shutil.copytree(saved / beside.BASE_FILES, place / beside.BASE_FILES)
        shutil.copy(saved / beside.BASE, place)
        leaver._runner._known.left = None
        with monkeypatch.context() as patch, pytest.raises(Ended):
            Leaving(patch).leave(leaver, point)
        found = bases.find(place, snapshot.row)
        assert (found is not None) == (since == "a post" or nth >= replaced), point
        if found is not None:
            assert_same_world(found.tables, {**world, "edits": found.tables["edits"]})
            assert found.tables["edits"].num_rows == (0 if since == "a round" else 2 if nth >= replaced else 1), point
        if point in (points[0], *between, points[-1]):
            assert played_on(" ".join(map(str, point))) == expected, point
    leaver._runner.close()
