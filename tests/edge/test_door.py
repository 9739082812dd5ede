"""What a store refuses is said before anything is kept; what did not count may be done again."""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pfspark import cli
from pfspark.ask.stores import Stores
from pfspark.edge import door
from pfspark.edge.asked.naming import seen_paths
from pfspark.edge.asked.store_view import View
from pfspark.edge.delta import native
from pfspark.edge.delta.snapshot import Snapshot
from pfspark.edge.runner import Runner
from pfspark.edge.world.facts import trees
from pfspark.edge.world.turns import clocks
from pfspark.errors import RefusedError, UsageError
from pfspark.lake import Lake, known
from pfspark.rows import rows_of
from pfspark.words import LEVELS, PARENT
from tests.edge import mailbox as post
from tests.edge.lakes import DAY, Copy

MBOX = b"From a@example.com Mon Jan  5 08:00:00 2026\nSubject: one\n\nhello\n\n"

# --- what one store sees, without a lake ---


def seen(*folders: dict[str, Any], edits: tuple[dict[str, Any], ...] = ()) -> dict[str, pa.Table]:
    """The world of one store P1: folders of id, name, parent, `listed`, and edits that wait there."""
    here = {"org": "main", "store": "P1"}
    rows: dict[str, list[dict[str, Any]]] = {"tree": [], "folders": [], "lists": [], "replicas": []}
    for one in folders:
        at = {**here, "folder": one["id"]}
        rows["tree"] += [{**at, "property": name, "value": one[name]} for name in ("name", "parent")]
        rows["folders"].append({**at, "parent": one["parent"], "dead": one.get("dead", False)})
        rows["lists"] += [{**at, "peer": peer, "listing": "listed"} for peer in one.get("listed", ["P1"])]
        if "P1" in one.get("listed", ["P1"]):
            rows["replicas"].append({**at, "life": 1, "standing": "active"})
    waiting = [{**here, "at": datetime(2026, 1, 5, tzinfo=UTC), "place": nth, **edit} for nth, edit in enumerate(edits)]
    return {name: rows_of(name, some) for name, some in {**rows, "edits": waiting}.items()}


def edit(action: str, folder: str | None = None, **sets: str) -> dict[str, Any]:
    properties = {name.replace("replica_", "replica:"): value for name, value in sets.items()}
    return {"org": "main", "store": "P1", "edit_id": uuid.uuid4().hex, "action": action, "folder": folder,
            "properties": [*properties.items()]}  # fmt: skip


SALES = {"id": "P1:1", "name": "Sales", "parent": ""}
WEST = {"id": "P1:2", "name": "West", "parent": "P1:1", "listed": ["P2"]}
GONE = {"id": "P1:3", "name": "Gone", "parent": "", "dead": True}


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (edit("post", "P1:1"), None),
        (edit("post", "P1:2"), "P1 has no replica of /F; the nearest is P2"),
        (edit("post", "P1:3"), "/F is deleted at P1"),
        (edit("post", "P9:9"), "P1 knows no folder /F"),
        (edit("create_folder", name="West", parent=""), None),
        (edit("create_folder", name="Gone", parent=""), None),  # the path of a deleted folder is free
        (edit("create_folder", name="Sales", parent=""), r"sees a folder 'Sales' there already \(P1:1\)"),
        (edit("create_folder", name="x", parent="P1:3"), "the folder above is deleted"),
        (edit("create_folder", name="x", parent="@nobody"), "the folder above is deleted at P1, or not known there"),
        (edit("set_folder", "P1:2", name="Sales"), None),  # beneath another folder
        (edit("set_folder", "P1:2", parent=""), None),
        (edit("set_folder", "P1:1", name="Sales"), None),  # it is called so itself
        (edit("set_folder", "P1:1", parent="P1:2"), "'Sales' cannot lie beneath itself"),
        (edit("set_folder", "P1:1", parent="P1:1"), "'Sales' cannot lie beneath itself"),
        (edit("set_folder", "P1:1", replica_P2="listed"), None),
        (edit("set_folder", "P1:1", replica_P2="removed"), "P2 is not on the replica list of /F: P1 sees P1 there"),
        (edit("set_folder", "P1:1", replica_P1="removed"), "P1 has the last replica of /F"),
        (edit("delete_folder", "P1:1"), None),
        (edit("delete_folder", "P1:3"), "/F is deleted at P1"),
    ],
)
def test_what_a_store_sees_decides(made: dict[str, Any], told: str | None) -> None:
    check(seen(SALES, WEST, GONE), made, told)


def check(world: dict[str, pa.Table], made: dict[str, Any], told: str | None) -> None:
    def asked() -> None:
        door.check(world, made, "/F", lambda: "; the nearest is P2")

    if told is None:
        asked()
    else:
        with pytest.raises(RefusedError, match=told):
            asked()


def test_edits_that_wait_count() -> None:
    made = edit("create_folder", name="New", parent="", replica_P1="listed")
    new = f"@{made['edit_id']}"
    check(seen(SALES, edits=(made,)), edit("post", new), None)
    check(seen(SALES, edits=(made,)), edit("create_folder", name="New", parent=""), "sees a folder 'New' there already")
    elsewhere = edit("create_folder", name="New", parent="", replica_P2="listed")
    check(seen(SALES, edits=(elsewhere,)), edit("post", f"@{elsewhere['edit_id']}"), "P1 has no replica of /F")
    moved = edit("set_folder", "P1:1", name="Trade")
    check(seen(SALES, edits=(moved,)), edit("create_folder", name="Sales", parent=""), None)
    check(seen(SALES, edits=(moved,)), edit("create_folder", name="Trade", parent=""), "sees a folder 'Trade' there already")
    swapped = (edit("set_folder", "P1:1", replica_P2="listed"), edit("set_folder", "P1:1", replica_P1="removed"))
    check(seen(SALES, edits=swapped[:1]), edit("set_folder", "P1:1", replica_P1="removed"), None)
    check(seen(SALES, edits=swapped), edit("post", "P1:1"), "P1 has no replica of /F")
    check(seen(SALES, edits=swapped), edit("set_folder", "P1:1", replica_P2="removed"), "P2 has the last replica")
    dropped = edit("delete_folder", "P1:1")
    check(seen(SALES, WEST, edits=(dropped,)), edit("post", "P1:2"), "/F is deleted at P1")


def test_folders_that_were_moved_into_each_other_lie_at_the_top() -> None:
    """Two stores did that at a time; what is seen of them in lines is seen of them in files."""
    ring = ({"id": "P1:4", "name": "a", "parent": "P1:5"}, {"id": "P1:5", "name": "b", "parent": "P1:4"})
    lost = {"id": "P1:6", "name": "c", "parent": "P2:9"}
    world = seen(SALES, WEST, *ring, lost)
    paths = View(world, "main", "P1").paths()
    assert paths == {"/Sales": ["P1:1"], "/Sales/West": ["P1:2"], "/a": ["P1:4"], "/b": ["P1:5"], "/c": ["P1:6"]}
    stores = Stores(world, "main")
    assert [stores.path("P1", folder) for [folder] in paths.values()] == [*paths]


def test_a_folder_is_named_by_the_path_that_it_has_and_by_that_which_it_will_have() -> None:
    """While a rename waits; what is beneath it too. Where another has that path now, that one is meant."""
    moved = edit("set_folder", "P1:1", name="Trade")
    made = edit("create_folder", name="New", parent="P1:1")
    paths = seen_paths(seen(SALES, WEST, GONE, edits=(moved, made)), "main", "P1")
    new = f"@{made['edit_id']}"
    assert paths == {
        "/Sales": ["P1:1"], "/Sales/West": ["P1:2"], "/Trade": ["P1:1"], "/Trade/West": ["P1:2"], "/Trade/New": [new],
    }  # fmt: skip
    there = {"id": "P1:4", "name": "Trade", "parent": ""}
    assert seen_paths(seen(SALES, there, edits=(moved,)), "main", "P1") == {"/Sales": ["P1:1"], "/Trade": ["P1:4"]}
    twice = [{"id": f"P1:{number}", "name": "Two", "parent": ""} for number in (10, 9)]
    assert seen_paths(seen(*twice), "main", "P1") == {"/Two": ["P1:9", "P1:10"]}


def test_a_tree_is_as_deep_as_it_can_be_followed() -> None:
    levels = range(1, LEVELS + 1)
    line = [{"id": f"P1:{level}", "name": str(level), "parent": f"P1:{level - 1}" if level > 1 else ""} for level in levels]
    above, lowest = f"P1:{LEVELS - 1}", f"P1:{LEVELS}"
    check(seen(*line[:-1]), edit("create_folder", name="x", parent=above), None)
    check(seen(*line), edit("create_folder", name="x", parent=lowest), f"level {LEVELS + 1} of the tree; {LEVELS} is as deep")
    two = [{"id": "P2:1", "name": "a", "parent": ""}, {"id": "P2:2", "name": "b", "parent": "P2:1"}]
    check(seen(*line[:-1], *two), edit("set_folder", "P2:1", **{PARENT: f"P1:{LEVELS - 2}"}), None)
    check(seen(*line[:-1], *two), edit("set_folder", "P2:1", **{PARENT: above}), f"level {LEVELS + 1} of the tree")


# --- on a lake ---


def outside(lake: Lake, store: str, folder: str, edit_id: str) -> None:
    """A post of somebody who asks nobody: a row of `edits`."""
    now = datetime(2026, 1, 5, tzinfo=UTC)
    row = {"org": "main", "edit_id": edit_id, "store": store, "at": now, "place": 1, "action": "post", "folder": folder,
           "name": "one", "size": 0, "written": now}  # fmt: skip
    lake._tables.append("edits", rows_of("edits", [row]))


def nothing_is_kept(frame: object) -> object:
    raise PySparkException("[NOT_SUPPORTED_WITH_SERVERLESS] PERSIST TABLE is not supported on serverless compute.")


@pytest.mark.in_turn("executors")
@pytest.mark.parametrize("is_here", [True, False], ids=["this machine", "executors"])
def test_what_was_refused_is_imported_where_it_can_be(
    copied: Copy, spark: SparkSession, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_here: bool
) -> None:
    """Known is what was taken in and not refused; a store without a replica keeps nothing of an import."""
    monkeypatch.setattr(native, "IS_HERE", is_here)
    (tmp_path / "b.mbox").write_bytes(MBOX)
    with Lake.open(place := copied("lake"), spark) as lake:
        lake.folder_create("PFS1", "/F", at=f"{DAY}00:00:00Z")
        lake.run(f"{DAY}00:10:00Z")
        before = lake.table("edits").count(), lake.table("content").count()
        with pytest.raises(RefusedError, match="PFS2 has no replica of /F; the nearest store that has one is PFS1"):
            lake.modify("PFS2", "/F", "anything", b"else")
        with pytest.raises(RefusedError, match="PFS2 has no replica of /F; the nearest store that has one is PFS1"):
            lake.import_mail(tmp_path / "b.mbox", "PFS2", "/F")
        with pytest.raises(RefusedError, match="PFS2 has no replica of /F"):
            lake.post("PFS2", "/F", b"lost")
        assert (lake.table("edits").count(), lake.table("content").count()) == before
        named = lake._creation_of("main", lake._folder("main", "PFS1", "/F"))
        body = b"Subject: one\n\nhello\n"
        mail = f"mail:{named}:{hashlib.sha256(body).hexdigest()}:1"
        outside(lake, "PFS2", lake._folder("main", "PFS1", "/F"), mail)
        refused = [line for line in lake.said(lake.round(f"{DAY}00:15:00Z")) if line["kind"] == "refused"]
        assert [(line["edit"], line["reason"], line["type"], line["folder"], line["item"]) for line in refused] == [
            (mail, "no_replica_here", "post", "/F", "one")
        ]
        [told] = map(json.loads, run("log", "edits", "--refused", "--json", "--lake", str(place)).splitlines())
        assert (told["edit"], told["store"], told["outcome"], told["reason"]) == (mail, "PFS2", "refused", "no_replica_here")
        assert (told["folder"], told["name"], told["number"]) == ("/F", "one", None)
        at = f"{DAY}00:15:00Z"
        assert lake.import_mail(tmp_path / "b.mbox", "PFS1", "/F", at=at) == {"posted": 1, "known": 0, "unkept": 0}
        with monkeypatch.context() as serverless:  # where frames cannot be kept between jobs
            serverless.setattr(type(lake.table("edits")), "persist", nothing_is_kept)
            assert lake.import_mail(tmp_path / "b.mbox", "PFS1", "/F", at=at) == {"posted": 0, "known": 1, "unkept": 0}
        lake.run(f"{DAY}00:20:00Z")
        assert lake.export_mail("PFS1", "/F", tmp_path / "out.mbox") == 1
        assert (tmp_path / "out.mbox").read_bytes() == MBOX
        assert lake.import_mail(tmp_path / "b.mbox", "PFS1", "/F") == {"posted": 0, "known": 1, "unkept": 0}


@pytest.mark.in_turn("executors")
@pytest.mark.parametrize("is_here", [True, False], ids=["this machine", "executors"])
def test_a_mail_that_comes_once_more_brings_its_body(
    copied: Copy, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_here: bool
) -> None:
    """Upkeep may have let go of that of the first, whose item was deleted; equal bytes that are new together are kept once."""
    monkeypatch.setattr(native, "IS_HERE", is_here)
    box, sha256 = tmp_path / "b.mbox", hashlib.sha256(b"Subject: one\n\nhello\n").hexdigest()
    with Lake.open(copied("lake"), spark) as lake:
        for times, posted in ((1, 1), (2, 1), (4, 2)):
            box.write_bytes(MBOX * times)
            counts = lake.import_mail(box, "PFS1", "/Sales", at=f"{DAY}00:15:00Z")
            assert counts == {"posted": posted, "known": times - posted, "unkept": 0}
            assert lake.table("content").where(f"hash = '{sha256}'").count() == 1
            lake._tables.delete("content", f"hash = '{sha256}'")


@pytest.mark.in_turn("executors")
def test_every_letter_is_posted_alike_from_this_machine_and_from_the_executors(
    copied: Copy, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bodies and edits, of letters of every sort, some twice; only the times when they were made differ."""
    raws = [post.in_mbox(letter.raw) for letter in post.letters(120)]
    post.write_mbox(tmp_path / "box", raws + raws[:7])
    said = []
    for is_here in (True, False):
        monkeypatch.setattr(native, "IS_HERE", is_here)
        with Lake.open(copied(f"lake{is_here}"), spark) as lake:
            before = lake.table("edits").count()
            counts = lake.import_mail(tmp_path / "box", "PFS1", "/Sales", at=f"{DAY}00:15:00Z")
            assert counts == {"posted": 127, "known": 0, "unkept": 0}
            assert lake.import_mail(tmp_path / "box", "PFS1", "/Sales") == {"posted": 0, "known": 127, "unkept": 0}
            edits = lake.table("edits").orderBy("place").toArrow().to_pylist()[before:]
            first = edits[0]["place"]
            content = lake.table("content").drop("at").orderBy("hash").toArrow().to_pylist()
            said.append(([{**edit, "written": None, "place": edit["place"] - first} for edit in edits], content))
    assert said[0] == said[1]
    assert len({edit["edit_id"] for edit in said[0][0]}) == 127


@pytest.mark.lakes
def test_what_a_restore_lost_is_imported_again(copied: Copy, spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "b.mbox").write_bytes(MBOX)
    with Lake.open(copied("lake"), spark) as lake:
        lake.run(f"{DAY}00:10:00Z")
        number = lake._tables.snapshot().row.round
        at = f"{DAY}00:15:00Z"
        lake.import_mail(tmp_path / "b.mbox", "PFS1", "/Sales", at=at)
        first = lake.post("PFS1", "/Sales", b"mine", at=at, edit_id="mine")
        lake.round(at, cut=["PFS1"])
        assert lake.import_mail(tmp_path / "b.mbox", "PFS1", "/Sales")["known"] == 1
        assert [line["changes"] for line in lake.losses("PFS1", number)] == [2]
        lake.restore("PFS1", number, now=f"{DAY}00:20:00Z")
        at = f"{DAY}00:25:00Z"
        assert lake.import_mail(tmp_path / "b.mbox", "PFS1", "/Sales", at=at) == {"posted": 1, "known": 0, "unkept": 0}
        assert (first, lake.post("PFS1", "/Sales", b"mine", at=at, edit_id="mine")) == ("mine", "mine~2")
        lake.run(f"{DAY}02:00:00Z")
        assert lake.import_mail(tmp_path / "b.mbox", "PFS1", "/Sales")["known"] == 1
        assert lake.post("PFS1", "/Sales", b"mine", at=at, edit_id="mine") == "mine"  # a repeat, and harmless
        assert {row["name"] for row in lake.items("PFS2").collect()} == {"first", "one", None} - {None} | {
            row["name"] for row in lake.items("PFS1").collect()
        }
        assert lake.items("PFS2", "/Sales").where("name = 'one'").count() == 1


@pytest.mark.lakes
def test_two_of_one_path_are_told_apart(copied: Copy, spark: SparkSession, run: Any, tmp_path: Path) -> None:
    """One store refuses a second folder of a path; two that had not heard of each other bring both, shown with their ids."""
    place = copied("lake")
    with Lake.open(place, spark) as lake:
        lake.round(f"{DAY}00:00:00Z")
        lake.run(f"{DAY}00:10:00Z")
        at = f"{DAY}00:10:00Z"
        with pytest.raises(RefusedError, match="PFS1 sees a folder 'Sales' there already"):
            lake.folder_create("PFS1", "/Sales", at=at)
        for store in ("PFS1", "PFS2"):
            lake.folder_create(store, "/New", ["PFS1", "PFS2"], at=at)
        lake.run(f"{DAY}00:40:00Z")
        ids = sorted(line["id"] for line in lake.lines("folders") if line["path"] == "/New" and line["store"] == "PFS1")
        assert len(ids) == 2
        for verb in (lambda: lake.folder_delete("PFS1", "/New"), lambda: lake.post("PFS1", "/New", b"x"),
                     lambda: lake.items("PFS1", "/New")):  # fmt: skip
            with pytest.raises(RefusedError, match=f"PFS1 sees 2 folders called '/New'; name one by its id: {' or '.join(ids)}"):
                verb()
        lake.post("PFS1", ids[1], b"x", name="x", at=f"{DAY}00:40:00Z")
        lake.run(f"{DAY}00:50:00Z")
        assert [(line["equal"], line["waiting"]) for line in lake.status_lines()] == [(True, 0)]  # each is, though they differ
        lake.post("PFS2", ids[0], b"12:30", name="12:30", at=f"{DAY}00:55:00Z")
        [waiting] = lake.status_lines()
        assert (waiting["waiting"], waiting["due"]) == (1, f"{DAY}00:55:00Z")
        lake.run(f"{DAY}01:10:00Z")
        assert [line["item"] for line in lake.why_lines("12:30", folder=ids[0], store="PFS1")] == ["PFS2:1"]  # reads as a number
        lake.delete("PFS2", ids[0], "12:30", at=f"{DAY}01:10:00Z")
        lake.run(f"{DAY}01:30:00Z")
        told = [(line["folder"], line.get("id")) for line in lake.lines("state") if line["store"] == "PFS2"]
        assert sorted(told, key=str) == sorted([("1-1", None), ("/Sales", None), ("/New", ids[0]), ("/New", ids[1])], key=str)
        there = (line for line in lake.lines("items") if line["store"] == "PFS2" and not line["deleted"])
        assert [(line["name"], line.get("id")) for line in there] == [("x", ids[1]), ("first", None)]
    shown = run("state", "--lake", str(place), "--store", "PFS2")
    assert f"/New ({ids[0]})" in shown and f"/New ({ids[1]})" in shown
    of_two = f"PFS2 sees 2 folders called '/New': {' and '.join(ids)}; rename all but one first"
    run("show", "--lake", str(place), "--store", "PFS2", code=1, told=of_two)  # a file would have but one of them
    run("folder", "rename", ids[1], "Other", "--lake", str(place), "--store", "PFS2", "--now", f"{DAY}01:30:00Z")
    run("run", "--lake", str(place), "--until", f"{DAY}02:00:00Z", told="rounds played")
    made = run("show", "--lake", str(place), "--store", "PFS2")
    assert '"/New"' in made and '"/Other"' in made


def test_what_waits_is_seen_by_the_names_that_it_has_by_then(copied: Copy, spark: SparkSession) -> None:
    """A folder was made in a round; edits that name it by the edit that made it wait on, for theirs."""
    with Lake.open(copied("lake"), spark) as lake:
        lake.folder_create("PFS1", "/New", ["PFS1"], at=f"{DAY}00:00:00Z")
        lake.folder_rename("PFS1", "/New", "Newer", at=f"{DAY}01:00:00Z")
        lake.post("PFS1", "/Newer", b"first", name="a", at=f"{DAY}01:00:00Z")
        lake.round(f"{DAY}00:00:00Z")
        with pytest.raises(RefusedError, match="sees a folder 'Newer' there already"):
            lake.folder_create("PFS1", "/Newer", ["PFS1"], at=f"{DAY}00:30:00Z")
        lake.modify("PFS1", "/Newer", "a", b"second", at=f"{DAY}01:01:00Z")
        lake.run(f"{DAY}01:10:00Z")
        assert {line["name"] for line in lake.lines("items", folder="/Newer")} == {"a"}
        sizes = lake.table("changes").where("name = 'a'").orderBy("cn").select("size").collect()
        assert [row["size"] for row in sizes] == [len(b"first"), len(b"second")]
        assert not lake.table("receipts").where("outcome = 'refused'").count()


@pytest.mark.lakes
def test_a_replica_moves_from_where_it_is(copied: Copy, spark: SparkSession, run: Any) -> None:
    with Lake.open(copied("lake"), spark) as lake:
        lake.store("PFS3", "Redmond")
        lake.run(f"{DAY}00:10:00Z")
        before = lake.table("edits").count()
        with pytest.raises(UsageError, match="PFS1 is where the replica comes from and where it goes"):
            lake.replica_move("PFS1", "/Sales", "PFS1", "PFS1", print)
        with pytest.raises(RefusedError, match="PFS3 is not on the replica list of '/Sales': PFS1 sees PFS1, PFS2 there"):
            lake.replica_move("PFS1", "/Sales", "PFS3", "PFS2", print)
        assert lake.table("edits").count() == before
        where = lake.where
    shown = run("replica", "move", "/Sales", "--from", "PFS1", "--to", "PFS3", "--store", "PFS2", "--play", "--lake", where,
                "--now", f"{DAY}00:12", told="playing for the list to reach")  # fmt: skip
    assert shown.startswith("edit ")
    with Lake.open(where, spark) as lake:
        held = {line["store"]: line["standing"] for line in lake.lines("state") if line["folder"] == "/Sales"}
        assert held["PFS3"] == held["PFS2"] == "active" and held.get("PFS1") != "active"


# --- time ---


def test_a_time_far_ahead_must_be_meant(begun: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    there = f"{datetime.now(UTC) + timedelta(days=40):%Y-%m-%dT%H:%M}"
    words = ("post", "--store", "PFS1", "--folder", "/Sales", "--text", "x", "--lake", str(begun))
    assert cli.run([*words, "--now", there]) == 2
    assert "39d ahead of the clock; if it is meant, say --ahead" in capsys.readouterr().err
    assert cli.run([*words, "--now", "9999-12-31", "--ahead"]) == 2
    assert "from 1900-01-01 to 8999-12-31" in capsys.readouterr().err
    with Lake.open(begun, spark) as lake:
        with pytest.raises(UsageError, match="39d ahead of the clock"):
            lake.round(there)
        assert lake.table("edits").count() == 2


@pytest.mark.lakes
def test_a_clock_that_was_put_back_puts_nothing_before_what_it_follows(
    copied: Copy, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was accepted is taken in: a folder, what is posted there, what becomes of it; and it waits for nothing far ahead."""

    class Clock(datetime):
        hour_of = iter((14, 13, 13, 13, 13))

        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime(2026, 1, 5, next(cls.hour_of), tzinfo=tz)

    with Lake.open(copied("lake"), spark) as lake:
        lake.round(f"{DAY}12:00:00Z")
        monkeypatch.setattr(known, "datetime", Clock)
        lake.folder_create("PFS1", "/New", ["PFS1"])
        lake.post("PFS1", "/New", b"one", name="one")
        lake.modify("PFS1", "/New", "one", b"two")
        lake.folder_create("PFS1", "/New/Child", ["PFS1"])
        lake.folder_set("PFS1", "/Sales", note="later", at=f"{DAY}15:00:00Z")
        lake.post("PFS1", "/Sales", b"now, whatever is said of the folder later")
        made = lake.round(f"{DAY}14:00:01Z").made
        done = sorted(row["type"] for row in made["receipts"].to_pylist() if row["edit_id"])
        assert done == ["create_folder", "create_folder", "modify", "post", "post"]
        assert set(made["receipts"]["reason"].to_pylist()) == {None}


@pytest.mark.lakes
def test_an_edit_far_ahead_waits_and_stops_nobody(copied: Copy, spark: SparkSession) -> None:
    """It takes nobody's clock along; one that somebody wrote for no time there is is refused."""
    with Lake.open(copied("lake"), spark, ahead=True) as lake:
        lake.post("PFS1", "/Sales", b"later", at="8999-12-30")
        late = datetime(9999, 12, 31, 23, 59, tzinfo=UTC)
        lake._tables.append("edits", rows_of("edits", [{"org": "main", "edit_id": "last", "store": "PFS1", "at": late, "place": 1,
                            "action": "post", "folder": "@nothing", "size": 0, "written": late}]))  # fmt: skip
        lake.run(until_quiet=True)
        assert lake.status()["edits"] == 1
        refused = lake.table("receipts").where("outcome = 'refused'").collect()
        assert [(row["edit_id"], row["reason"]) for row in refused] == [("last", "bad_value")]
        assert max(clocks(lake._tables.snapshot()).values()) < datetime.now(UTC) + timedelta(days=91)
        lake.post("PFS1", "/Sales", b"there", at="8999-12-01")
        lake.round("8999-12-01")  # meant, and near enough from there
        assert lake.run(until_quiet=True) > 0
        assert lake.status()["edits"] == 0


@pytest.mark.lakes
def test_who_is_ahead_of_the_clock_plays_its_next_cycle(copied: Copy, spark: SparkSession, run: Any) -> None:
    place, now = copied("lake"), datetime.now(UTC)
    with Lake.open(place, spark, ahead=True) as lake:
        lake.organization(profile="modern", start=now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=1))
        far = now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=30)
        lake.round(far)
        lake.post("PFS1", "/Sales", b"today", name="today")
        assert lake.ahead()["main"] > timedelta(hours=28)
        assert lake.run("now") == 1  # what is due by now, and no more
        assert clocks(lake._tables.snapshot()) == {"main": far + timedelta(minutes=5)}
        assert lake.status()["edits"] == 0
        assert [line["name"] for line in lake.lines("items") if line["store"] == "PFS2"] == ["first"]
        played = lake.round()  # the next cycle there, on its own grid
        assert played.turns == {"main": far + timedelta(minutes=10)}
    run("round", "--lake", str(place), told="main's clock is 1d")
    assert "its clock is 1d" in run("status", "--lake", str(place))


@pytest.mark.lakes
def test_what_is_due_by_now_is_done_now(copied: Copy, spark: SparkSession) -> None:
    with Lake.open(copied("lake"), spark) as lake:
        lake.run("now")
        assert not lake.ahead() and lake.status()["edits"] == 0
        lake.post("PFS1", "/Sales", b"just now", name="just now")
        assert lake.run("now") == 1
        assert lake.status()["edits"] == 0 and not lake.ahead()
        assert lake.run("now") == 0


def test_an_organization_that_was_not_played_yet_is_shown_as_such(begun: Path, spark: SparkSession, run: Any) -> None:
    with Lake.open(begun, spark) as lake:
        status = lake.status()
        assert (status["converged"], status["edits"]) == (False, 2)
    assert "main: 0 replicas, not played yet; 2 edits waiting" in run("status", "--lake", str(begun))
    run("wait", "--lake", str(begun), "--at-most", "0m", code=1, told="not equal after 0m")


def test_who_edits_much_reads_the_trees_once(resting: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no base is at hand: what is done since comes to what was read, an edit that was taken in before does not; what
    administrators say meanwhile is read anew."""
    read: list[Snapshot] = []
    monkeypatch.setattr(known, "trees", lambda snapshot: read.append(snapshot) or trees(snapshot))
    monkeypatch.setattr(Runner, "at_hand", lambda _: None)
    with Lake.open(resting, spark) as lake:
        lake.folder_create("PFS1", "/New", ["PFS1"])
        lake.folder_create("PFS1", "/New/Child", ["PFS1"])
        lake.folder_rename("PFS1", "/New", "Newer")
        lake.post("PFS1", "/Newer/Child", b"there", name="there")
        lake.modify("PFS1", "/Newer/Child", "there", b"better")
        [made] = [row for row in lake.table("edits").toArrow().to_pylist() if ("name", "Sales") in (row["properties"] or ())]
        lake._tables.append("edits", rows_of("edits", [{**made, "properties": [("name", "Again"), ("parent", "")]}]))
        with pytest.raises(RefusedError, match="a folder 'Newer' there already"):
            lake.folder_create("PFS1", "/Newer", ["PFS1"])
        with pytest.raises(UsageError, match="'/Again' is not known"):
            lake.post("PFS1", "/Again", b"nowhere")
        assert len(read) == 1
        lake.store("PFS3", "Lyon")
        lake.replica_add("PFS1", "/Newer/Child", "PFS3")
        assert len(read) == 2


def test_what_was_said_last_counts_though_the_clock_was_put_back(
    resting: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an item and of a folder; what somebody dates ahead, and what a clock said that was days ahead, is not waited for."""
    ahead = timedelta(hours=1)

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime.now(tz) + ahead

    with Lake.open(resting, spark, ahead=True) as lake:
        monkeypatch.setattr(known, "datetime", Clock)
        monkeypatch.setattr(time, "time_ns", lambda: int(Clock.now(UTC).timestamp() * 1e9) + 10_000_000)
        lake.modify("PFS1", "/Sales", "first", b"AA")
        lake.folder_set("PFS1", "/Sales", description="one")
        ahead = timedelta(0)
        lake.modify("PFS1", "/Sales", "first", b"BBBB")
        lake.folder_set("PFS1", "/Sales", description="two")
        lake.post("PFS1", "/Sales", b"at once", name="other")
        now = datetime.now(UTC)
        lake.folder_set("PFS1", "/Sales", note="later", at=now + timedelta(hours=5))
        ahead = timedelta(days=3)
        lake.folder_set("PFS1", "/Sales", description="far")
        ahead = timedelta(0)
        lake.folder_set("PFS1", "/Sales", description="three")
        waiting = lake.table("edits").where(F.col("at") > F.lit(now - timedelta(hours=1))).toArrow().to_pylist()
        dates = [row["at"] - now for row in sorted(waiting, key=lambda row: row["written"])]
        hours = [round(each / timedelta(hours=1)) for each in dates]
        assert hours == [1, 1, 1, 1, 0, 5, 72, 1]
        lake.round(now + timedelta(hours=2))
        [item] = lake.items("PFS1", "/Sales").where("name = 'first'").collect()
        assert item["size"] == 4 and not item["conflict"]
        tree = lake._world()["tree"].filter((pc.field("store") == "PFS1") & (pc.field("property") == "description"))
        assert tree["value"].to_pylist() == ["three"]
