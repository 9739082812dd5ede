"""Deletions of folders that are on their way: to whom, of what, and what they come before."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest

from pfspark.ask import deletions
from pfspark.keyed import ByName
from pfspark.rows import arrow, rows_of, struct
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


def world(*letters: dict[str, Any]) -> ByName:
    """F, with G and H beneath it, and E beside it; A:4 deletes F, A:5 G, and A:3 of another organization E."""
    folders = [
        {"org": "main", "store": "A", "folder": folder, "parent": parent, "dead": False} for folder, parent in BENEATH.items()
    ]
    changes = [
        change(3, "set_folder", "E"), change(4, "delete_folder", "F"), change(5, "delete_folder", "F/G"),
        change(4, "delete", "F", folder="F"), change(3, "delete_folder", "E", org="other"),
    ]  # fmt: skip
    return {"mail": rows_of("mail", letters), "folders": rows_of("folders", folders), "changes": rows_of("changes", changes)}


def on_their_way(tables: ByName, stores: str = "BCDE", folders: Iterable[str] = BENEATH) -> deletions.Coming:
    """To those stores, of those folders: of all, unless told."""
    here = [{"org": "main", "store": store, "folder": folder} for store, folder in product(stores, folders)]
    return deletions.on_their_way(arrow(struct(FRAMES["keys"].ddl), here), tables)


@pytest.mark.usefixtures("spark")  # which knows how columns are written
def test_a_letter_brings_the_deletion_of_a_folder_and_of_all_beneath_it() -> None:
    """To its own recipient, by the first that is there; what is no deletion, is lost, or is of content brings none."""
    found = on_their_way(world(
        letter("B", 3, 3, 4), letter("B", 2, 5), letter("C", 5, 3), letter("C", 7, 4, lost="cut off"),
        letter("C", 8, 4, type="0x4", folder="F"), letter("D", 4, 5, type="0x80000002"), letter("E", 9, 3, 4),
    ))  # fmt: skip
    assert found == {
        ("main", "B", "F"): NOW + 3 * HOUR, ("main", "B", "F/G"): NOW + 2 * HOUR, ("main", "B", "F/G/H"): NOW + 2 * HOUR,
        ("main", "D", "F/G"): NOW + 4 * HOUR, ("main", "D", "F/G/H"): NOW + 4 * HOUR,
        ("main", "E", "F"): NOW + 9 * HOUR, ("main", "E", "F/G"): NOW + 9 * HOUR, ("main", "E", "F/G/H"): NOW + 9 * HOUR,
    }  # fmt: skip
    assert on_their_way(world()) == {} == on_their_way(world(letter("B", 3, 3)))


@pytest.mark.usefixtures("spark")
def test_it_is_looked_for_where_somebody_asks() -> None:
    """Of a folder that is asked about the deletion of one above counts, and that of one beneath does not."""
    letters = world(letter("B", 3, 4), letter("C", 2, 5))
    assert on_their_way(letters, "B", ["F/G"]) == {("main", "B", "F/G"): NOW + 3 * HOUR}
    assert on_their_way(letters, "C", ["F"]) == on_their_way(letters, "D") == on_their_way(letters, "BC", ["E"]) == {}


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
    coming = {("main", "B", "F"): NOW + 3 * HOUR}
    store = "C" if what == "send" else "B"
    row = {"org": "main", "store": store, "folder": "F", "next_what": what, "next_of": of}
    assert deletions.comes_first({**row, "next_at": None if hours is None else NOW + hours * HOUR}, coming) == first
    assert not deletions.comes_first({**row, "folder": "E", "next_at": NOW + 9 * HOUR}, coming)
