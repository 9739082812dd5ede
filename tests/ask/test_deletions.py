"""Deletions of folders of which stores are to hear: who, of what, when, and what they come before."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest

from pfspark.ask import deletions
from pfspark.keyed import ByName
from pfspark.rows import arrow, rows_of, struct
from pfspark.schedules import Grid
from pfspark.tables import FRAMES

NOW = datetime(2026, 1, 5, tzinfo=UTC)
HOUR = timedelta(hours=1)
BENEATH = {"F": "", "F/G": "F", "F/G/H": "F/G", "E": ""}
"""Folders, each with the one above it."""


def letter(recipient: str, hours: int, *cns: int, **more: Any) -> dict[str, Any]:
    carries = [{"origin": "A", "cn_min": cn, "cn_max": cn} for cn in cns]
    said = {"org": "main", "message_id": f"{cns}", "recipient": recipient, "due": NOW + hours * HOUR}
    return {**said, "type": "0x2", "store": "A", "folder": "1-1", "carries": carries, "lost": None, **more}


def change(cn: int, action: str, about: str, **more: Any) -> dict[str, Any]:
    return {"org": "main", "folder": "1-1", "origin": "A", "cn": cn, "object": about, "action": action, "properties": []} | more


def world(
    *letters: dict[str, Any],
    sent: int = 5,
    goes: int | None = None,
    edits: Iterable[dict[str, Any]] = (),
    down: Iterable[str] = (),
) -> ByName:
    """F, with G and H beneath it, and E beside it; A:4 deletes F, A:5 G, and A:3 of another organization E. A has sent as many
    numbers, and sends the others so many hours from now."""
    folders = [
        {"org": "main", "store": "A", "folder": folder, "parent": parent, "dead": False} for folder, parent in BENEATH.items()
    ]
    changes = [
        change(3, "set_folder", "E"), change(4, "delete_folder", "F"), change(5, "delete_folder", "F/G"),
        change(4, "delete", "F", folder="F"), change(3, "delete_folder", "E", org="other"),
    ]  # fmt: skip
    tree = {"org": "main", "store": "A", "folder": "1-1"}
    state = [
        {**tree, "about": "A", "origin": "A", "entry": entry, "cn_min": 1, "cn_max": last, "since": NOW, "via": None}
        for entry, last in (("applied", 5), ("sent", sent))
        if last
    ] + [{**tree, "store": "B", "about": "A", "origin": "A", "entry": "sent", "cn_min": 1, "cn_max": 5}]  # B has it that it had
    rows = {
        "mail": letters,
        "folders": folders,
        "changes": changes,
        "state": state,
        "replicas": [{**tree, "life": 1, "standing": "active"}],
        "agenda": [{**tree, "why": why, "due": NOW + (goes or 0) * HOUR} for why in ("send", "status") if goes is not None],
        "edits": edits,
        "conditions": [{"org": "main", "store": store, "down": True, "cut": False} for store in down],
    }
    return {name: rows_of(name, some) for name, some in rows.items()}


def edit(store: str, action: str, folder: str, minutes: int) -> dict[str, Any]:
    done = {"action": action, "folder": folder, "at": NOW + minutes * HOUR / 60}
    return {"org": "main", "store": store, "edit_id": f"{minutes}", "properties": {}, **done}


def to_be_heard(
    tables: ByName, stores: str = "BCDE", folders: Iterable[str] = BENEATH, by: str = "messages"
) -> dict[tuple[str, str, str], datetime]:
    """When those stores may hear first, of those folders: of all, unless told; the table by which it is known is always the same.
    Rounds are played by the quarter of an hour."""
    here = [{"org": "main", "store": store, "folder": folder} for store, folder in product(stores, folders)]
    turns = {"main": (Grid(NOW, HOUR / 4), NOW)}
    coming = deletions.to_be_heard(arrow(struct(FRAMES["keys"].ddl), here), tables, turns)
    assert {table for _, table in coming.values()} <= {by}
    return {key: at for key, (at, _) in coming.items()}


@pytest.mark.usefixtures("spark")  # which knows how columns are written
def test_a_letter_brings_the_deletion_of_a_folder_and_of_all_beneath_it() -> None:
    """To its own recipient, by the first that is there; what is no deletion, is lost, or is of content brings none."""
    found = to_be_heard(world(
        letter("B", 3, 3, 4), letter("B", 2, 5), letter("C", 5, 3), letter("C", 7, 4, lost="cut off"),
        letter("C", 8, 4, type="0x4", folder="F"), letter("D", 4, 5, type="0x80000002"), letter("E", 9, 3, 4),
    ))  # fmt: skip
    assert found == {
        ("main", "B", "F"): NOW + 3 * HOUR, ("main", "B", "F/G"): NOW + 2 * HOUR, ("main", "B", "F/G/H"): NOW + 2 * HOUR,
        ("main", "D", "F/G"): NOW + 4 * HOUR, ("main", "D", "F/G/H"): NOW + 4 * HOUR,
        ("main", "E", "F"): NOW + 9 * HOUR, ("main", "E", "F/G"): NOW + 9 * HOUR, ("main", "E", "F/G/H"): NOW + 9 * HOUR,
    }  # fmt: skip
    assert to_be_heard(world()) == {} == to_be_heard(world(letter("B", 3, 3)))


@pytest.mark.usefixtures("spark")
def test_it_is_looked_for_where_somebody_asks() -> None:
    """Of a folder that is asked about the deletion of one above counts, and that of one beneath does not."""
    letters = world(letter("B", 3, 4), letter("C", 2, 5))
    assert to_be_heard(letters, "B", ["F/G"]) == {("main", "B", "F/G"): NOW + 3 * HOUR}
    assert to_be_heard(letters, "C", ["F"]) == to_be_heard(letters, "D") == to_be_heard(letters, "BC", ["E"]) == {}


@pytest.mark.usefixtures("spark")
def test_what_is_not_sent_yet_is_heard_after_the_cycle_at_which_it_goes() -> None:
    """At the store that did it, then; elsewhere by the round after. What is sent, or of another's numbers, is told by letters."""
    after, late = timedelta(microseconds=1), NOW + 2 * HOUR
    told = to_be_heard(world(sent=4, goes=2), "AB", by="changes")
    assert told == {("main", store, folder): late + (store != "A") * after for store in "AB" for folder in ("F/G", "F/G/H")}
    soon = NOW + HOUR / 4  # it could not go yet, and goes as soon as it can
    at_a = {("main", "A", "F"): soon}
    assert to_be_heard(world(sent=3, goes=0), "B", ["F", "E"], "changes") == at_a | {("main", "B", "F"): soon + after}
    assert to_be_heard(world(letter("B", 1, 5), sent=5, goes=2), "B", ["F/G"]) == {("main", "B", "F/G"): NOW + HOUR}
    assert to_be_heard(world(sent=5, goes=2)) == {} == to_be_heard(world(sent=4, goes=2, down="A"))


@pytest.mark.usefixtures("spark")
def test_what_waits_to_be_taken_in_is_heard_after_the_round_that_does() -> None:
    """The round after it was done; what makes no folder go, or waits at a store that is down, is not."""
    waits = [edit("A", "set_folder", "E", 20), edit("A", "delete_folder", "F/G", 20), edit("D", "delete_folder", "F", -20)]
    told = to_be_heard(world(edits=waits), "AD", ["E", "F", "F/G"], "edits")
    after = timedelta(microseconds=1)
    of_d = {("main", "A", folder): NOW + HOUR / 4 + after for folder in ("F", "F/G")}
    assert told == of_d | {("main", "D", folder): NOW + HOUR / 4 for folder in ("F", "F/G")}
    alone = to_be_heard(world(edits=waits, down="D"), "AD", ["E", "F", "F/G"], "edits")
    assert alone == {("main", "A", "F/G"): NOW + HOUR / 2, ("main", "D", "F/G"): NOW + HOUR / 2 + after}


@pytest.mark.parametrize(
    ("hours", "what", "of", "first"),
    [
        (3, "ask", "A", True),
        (2, "ask", "A", False),
        (4, "arrive", "A", True),
        (4, "send", "A", False),
        (4, "send", "B", True),
        (None, "ask", "A", False),
    ],
)
def test_it_comes_first_where_it_is_there_by_then(hours: int | None, what: str, of: str, first: bool) -> None:
    """At the store that acts: who lacks something, or its origin that is to send it."""
    coming = {("main", "B", "F"): (NOW + 3 * HOUR, "edits")}
    store = "C" if what == "send" else "B"
    row = {"org": "main", "store": store, "folder": "F", "next_what": what, "next_of": of}
    otherwise = {"next_at": None, "hearer": "B", "heard_by": "edits"} if first else {}
    assert deletions.outrun({**row, "next_at": None if hours is None else NOW + hours * HOUR}, coming) == otherwise
    assert deletions.outrun({**row, "folder": "E", "next_at": NOW + 9 * HOUR}, coming) == {}
