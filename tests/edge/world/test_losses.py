"""What a restore of a store loses, and how that is said again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from pfspark import restarts
from pfspark.edge import repeats
from pfspark.edge.world import acceptable, losing, restoring
from pfspark.errors import RefusedError
from pfspark.rows import rows_of
from pfspark.words import HIERARCHY

NOW = datetime(2026, 1, 5, tzinfo=UTC)
TABLES = ("tree", "folders", "lists", "replicas", "state", "array", "lives", "mail", "stores")


def world(**rows: list[dict[str, Any]]) -> dict[str, pa.Table]:
    """Tables of a world, of an organization `o` in which two stores have a folder."""
    there = {"stores": [{"store": store, "site": "X", "retired": False} for store in ("P1", "P2")], **rows}
    return {name: rows_of(name, [{"org": "o", **row} for row in there.get(name, ())]) for name in TABLES}


def replica(store: str, standing: str = "active", folder: str = "P1:1") -> dict[str, Any]:
    return {"store": store, "folder": folder, "life": 1, "standing": standing, "at": NOW}


def holds(store: str, last: int) -> dict[str, Any]:
    said = {"entry": "applied", "about": store, "origin": "P1", "cn_min": 1, "cn_max": last, "relayed": False}
    return {"store": store, "folder": "P1:1", **said}


@pytest.mark.parametrize(
    ("standing", "lost"), [("active", "P1:5"), ("delete pending", "P1:5"), ("delete now", "P1:3-5"), ("erased", "P1:3-5")]
)
def test_what_is_held_where_nobody_is_asked_is_lost(standing: str, lost: str) -> None:
    """P1 had two, and has five; P2 has four of them, and does not speak any more where it waits to be erased."""
    now = world(replicas=[replica("P1"), replica("P2", standing)], state=[holds("P1", 5), holds("P2", 4)])
    then = world(replicas=[replica("P1")], state=[holds("P1", 2)])
    assert [line["numbers"] for line in losing.losses("o", "P1", now, then)] == [lost]


@pytest.mark.parametrize(("standing", "lost"), [("active", ["P1:3-4"]), ("erased", ["P1:3-5"])])
def test_mail_to_who_takes_nothing_in_saves_nothing(standing: str, lost: list[str]) -> None:
    carried = [{"origin": "P1", "cn_min": 5, "cn_max": 5}]
    mail = [{"recipient": "P2", "store": "P1", "folder": "P1:1", "message_id": "m", "carries": carried}]
    now = world(replicas=[replica("P1"), replica("P2", standing)], state=[holds("P1", 5)], mail=mail)
    then = world(replicas=[replica("P1")], state=[holds("P1", 2)])
    assert [line["numbers"] for line in losing.losses("o", "P1", now, then)] == lost


def test_an_edit_that_was_said_again_is_said_once_more_by_another_name() -> None:
    """As long as that name was not taken in it stays the same, so that a restore that ended half way is said again harmlessly;
    what is lost twice, as both are there, has one name."""
    taken = {"again:x", "again:again:x", "again:y"}
    asked = repeats.names_again(["x", "y", "again:y", "z"], lambda names: names & taken)
    assert asked == {"x": "again:again:again:x", "y": "again:again:y", "again:y": "again:again:y", "z": "again:z"}
    assert repeats.names_again(["x"], lambda names: set()) == {"x": "again:x"}


def test_what_others_made_is_said_again_at_the_store_that_has_it() -> None:
    """P2 posted it, whose replica is erased since; a change of it that was lost follows, and what is lost twice is said once."""
    made = {"folder": "P1:1", "object": "P2:1", "origin": "P2", "made_at": NOW}
    lost = rows_of("changes", [
        {**made, "cn": 1, "edit_id": "x", "action": "post"}, {**made, "cn": 2, "edit_id": "m", "action": "modify"},
        {**made, "object": "P1~2:1", "origin": "P1~2", "cn": 1, "edit_id": "again:x", "action": "post"},
    ])  # fmt: skip
    said = {"org": "o", "store": "P2", "at": NOW, "folder": "P1:1"}
    edits = rows_of("edits", [
        {**said, "edit_id": "x", "place": 1, "action": "post"},
        {**said, "edit_id": "m", "place": 2, "action": "modify", "item": "P2:1"},
        {**said, "edit_id": "again:x", "store": "P1", "place": 3, "action": "post"},
    ])  # fmt: skip
    names = {"x": "again:again:x", "again:x": "again:again:x", "m": "again:m"}
    found = restoring.again("P1", lost, edits, names, NOW)
    assert [(row["store"], row["edit_id"], row["item"]) for row in found] == [
        ("P1", "again:again:x", None), ("P1", "again:m", "@again:again:x"),
    ]  # fmt: skip


def test_what_was_taken_in_is_said_again_and_no_repeat_of_it() -> None:
    """Repeats that were refused: of an earlier time with another body, of another store, without a time; and an edit of which no
    time and no place are known, which comes where its change was made."""
    made = {"folder": "P1:1", "origin": "P1", "action": "post"}
    lost = rows_of("changes", [
        {**made, "cn": 1, "object": "P1:1", "edit_id": "x", "hash": "one", "made_at": NOW},
        {**made, "cn": 2, "object": "P1:2", "edit_id": "y", "hash": "two", "made_at": NOW - timedelta(hours=1)},
    ])  # fmt: skip
    said = {"org": "o", "store": "P1", "folder": "P1:1", "action": "post"}
    edits = rows_of("edits", [
        {**said, "edit_id": "x", "at": NOW - timedelta(hours=2), "place": 1, "hash": "other"},
        {**said, "edit_id": "x", "at": NOW - timedelta(hours=2), "place": 1, "hash": "one", "store": "P2"},
        {**said, "edit_id": "x", "at": None, "hash": "other"},
        {**said, "edit_id": "x", "at": NOW, "place": 1, "hash": "one"},
        {**said, "edit_id": "y", "at": None, "hash": "two"},
    ])  # fmt: skip
    found = restoring.again("P1", lost, edits, {"x": "again:x", "y": "again:y"}, NOW)
    assert [(row["edit_id"], row["hash"]) for row in found] == [("again:y", "two"), ("again:x", "one")]


def test_where_nothing_could_be_taken_in_nothing_is_done() -> None:
    """The replica did not exist then, and its folder is known elsewhere; one that is made again will be there."""
    line = {"id": "P1:2", "folder": "/Box", "numbers": "P1:1-3"}
    none = rows_of("changes", [])
    then = world(replicas=[replica("P1"), replica("P1", folder=HIERARCHY), replica("P1", "delete now", "P1:2")])
    with pytest.raises(RefusedError, match="P1 had no replica of /Box then, so that P1:1-3 cannot be taken in again"):
        acceptable.expect_replicas("o", "P1", [line], none, then)
    renamed = {"folder": HIERARCHY, "object": "P1:2", "origin": "P1", "cn": 7}
    with pytest.raises(RefusedError):
        acceptable.expect_replicas("o", "P1", [line], rows_of("changes", [renamed]), then)
    acceptable.expect_replicas("o", "P1", [line], rows_of("changes", [{**renamed, "cn": 2}]), then)
    acceptable.expect_replicas("o", "P1", [{**line, "id": "P1:1"}, {**line, "id": HIERARCHY}], none, then)


def test_whom_a_store_met_since_and_never_heard_it_has_not_met() -> None:
    """As the facts say it: of a contact of nothing there is no row."""
    peer = {"org": "o", "store": "P1", "peer": "P2", "sent": None}
    met = {**peer, "heard": None, "asked": NOW, "silent": None}
    assert restarts._heard_since([met], []) == []
    heard = {**met, "heard": NOW}
    assert restarts._heard_since([heard], []) == [{**heard, "asked": None}]
    assert restarts._heard_since([met], [met]) == [met]


def test_what_the_store_did_not_know_then_is_not_said_again() -> None:
    """Its next round would refuse it for ever. What is made again itself (`@`), and what it knew, is."""
    mine = {"org": "o", "store": "P1", "folder": "P2:1"}
    held = {**mine, "about": "P1", "entry": "applied", "origin": "P2", "cn_min": 1, "cn_max": 3}
    then = {
        "stores": rows_of("stores", [{"org": "o", "store": "P1"}]),
        "replicas": rows_of("replicas", [{**mine, "standing": "active", "life": 1}]),
        "tree": rows_of("tree", [{**mine, "property": "name", "value": "F"}]),
        "state": rows_of("state", [held]),
    }
    change = {"org": "o", "folder": "P2:1", "origin": "P2", "object": "P2:3", "action": "post"}
    changes = rows_of("changes", [{**change, "cn": 3}, {**change, "cn": 4, "object": "P2:4"}])

    def say(action: str, folder: str | None, item: str | None = None, **sets: str) -> None:
        edit = {"edit_id": "again:e", "action": action, "folder": folder, "item": item, "properties": sorted(sets.items())}
        acceptable.expect_known("o", "P1", [edit], changes, then)

    for known in (
        ("modify", "P2:1", "P2:3"), ("delete", "P2:1", "@again:x"), ("post", "@again:y"), ("set_folder", "P2:1"),
        ("delete_folder", "@again:y"), ("create_folder", None),
    ):  # fmt: skip
        say(*known)
    say("create_folder", None, parent="P2:1", name="N")
    say("create_folder", None, parent="", name="N")
    for strange in (("modify", "P2:1", "P2:4"), ("delete", "P2:1", "P2:9"), ("set_folder", "P2:7")):
        with pytest.raises(RefusedError, match=r"P1 did not know P2:[479] then, so that its .* cannot be taken in again"):
            say(*strange)
    with pytest.raises(RefusedError, match="P1 did not know P2:7 then"):
        say("create_folder", None, parent="P2:7")
