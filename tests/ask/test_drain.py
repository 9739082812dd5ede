"""What is still to come to a store, by lists and by edits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from pfspark.ask.drain import coming
from pfspark.rows import rows_of

ORG, NOW = {"org": "o"}, datetime(2026, 1, 5, tzinfo=UTC)


def world(**more: list[dict[str, Any]]) -> dict[str, Any]:
    """A and B, and C which is retired; A sees B on the list of A:1."""
    rows: dict[str, list[dict[str, Any]]] = {
        "stores": [{"store": "A"}, {"store": "B"}, {"store": "C", "retired": True}],
        "folders": [{"store": store, "folder": "A:1", "parent": "", "dead": False} for store in "ABC"],
        "lists": [{"store": "A", "folder": "A:1", "peer": "B", "listing": "listed"}],
        "replicas": [{"store": "A", "folder": "A:1", "standing": "active"}],
        "edits": [],
    } | more
    return {name: rows_of(name, [ORG | row for row in some]) for name, some in rows.items()}


def listed(store: str, peer: str, listing: str = "listed") -> dict[str, Any]:
    return {"store": store, "folder": "A:1", "peer": peer, "listing": listing}


def test_a_list_is_a_promise() -> None:
    assert coming(world(), "o") == {"B": {"A:1": "A"}}
    assert coming(world(), "p") == {}


def test_what_is_there_does_not_come() -> None:
    here = [{"store": "B", "folder": "A:1", "standing": "delete_pending"}]
    assert coming(world(replicas=here), "o") == {}
    assert coming(world(replicas=[{**here[0], "standing": "erased"}]), "o") == {"B": {"A:1": "A"}}


def test_who_is_to_leave_has_heard_that_itself() -> None:
    """A has not heard of it; what B says of others is no word about itself."""
    assert coming(world(lists=[listed("A", "B"), listed("B", "B", "removed")]), "o") == {}
    assert coming(world(lists=[listed("A", "B"), listed("B", "A", "removed")]), "o") == {"B": {"A:1": "A"}}


def test_no_list_counts_of_a_dead_folder_of_the_retired_or_of_the_hierarchy() -> None:
    dead = [{"store": "A", "folder": "A:1", "parent": "", "dead": True}]
    assert coming(world(folders=dead), "o") == {}
    assert coming(world(lists=[listed("C", "B")]), "o") == {}
    assert coming(world(lists=[{**listed("A", "B"), "folder": "1-1"}]), "o") == {}


def test_an_edit_that_waits_is_one_too() -> None:
    """Of a folder that is there, and of one that it makes; a removal is none, nor is what has a replica already."""
    edit = {
        "store": "A",
        "edit_id": "e",
        "at": NOW,
        "action": "set_folder",
        "folder": "A:1",
        "properties": [("replica:B", "listed")],
    }
    assert coming(world(lists=[], edits=[edit]), "o") == {"B": {"A:1": "A"}}
    assert coming(world(lists=[], edits=[{**edit, "folder": None, "action": "create_folder"}]), "o") == {"B": {"@e": "A"}}
    assert coming(world(lists=[], edits=[{**edit, "properties": [("replica:B", "removed"), ("replica:A", "listed")]}]), "o") == {}


def test_of_edits_the_last_word_counts() -> None:
    """It comes after the list too; of a folder that is deleted nothing comes, and a retired store tells nobody."""
    made = {"store": "A", "edit_id": "e", "at": NOW, "action": "create_folder", "properties": [("replica:B", "listed")]}
    then = {"store": "A", "edit_id": "f", "at": NOW + timedelta(minutes=1), "action": "set_folder", "folder": "@e"}
    removed = {**then, "properties": [("replica:B", "removed")]}
    assert coming(world(lists=[], edits=[removed, made]), "o") == {}
    assert coming(world(lists=[], edits=[made, {**removed, "at": NOW - timedelta(minutes=1)}]), "o") == {"B": {"@e": "A"}}
    assert coming(world(lists=[], edits=[made, {**then, "action": "delete_folder"}]), "o") == {}
    assert coming(world(edits=[{**removed, "folder": "A:1"}]), "o") == {}
    assert coming(world(edits=[{**then, "folder": "A:1", "action": "delete_folder"}]), "o") == {}
    assert coming(world(lists=[], edits=[{**made, "store": "C"}]), "o") == {}
    unplaced, placed = {**removed, "at": NOW, "place": None, "edit_id": "a"}, {**made, "place": 5}
    assert coming(world(lists=[], edits=[placed, {**unplaced, "folder": "@e"}]), "o") == {"B": {"@e": "A"}}


def test_who_has_left_comes_back_by_an_edit_that_waits() -> None:
    """It is newer than what the store has heard of itself."""
    gone = [listed("A", "B", "gone"), listed("B", "B", "gone")]
    back: dict[str, Any] = {"store": "A", "edit_id": "e", "at": NOW, "action": "set_folder", "folder": "A:1"}
    back["properties"] = [("replica:B", "listed")]
    assert coming(world(lists=gone), "o") == {}
    assert coming(world(lists=gone, edits=[back]), "o") == {"B": {"A:1": "A"}}
