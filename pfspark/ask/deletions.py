"""Deletions of folders that are on their way to stores: whoever hears first that a folder is gone does nothing more in it."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from pfspark import branches
from pfspark.keyed import ByName, distinct
from pfspark.keys import FOLDER
from pfspark.printed import Line
from pfspark.twins import TWINS
from pfspark.views import OF_HIERARCHY
from pfspark.words import HIERARCHY, Action

Coming = dict[tuple[str, str, str], datetime]
"""When the first letter is there that brings a store the deletion of a folder: by organization, store and folder."""


def on_their_way(tables: ByName) -> Coming:
    """Of the folders that letters under way delete, and of all that any store sees beneath them: with its parent a folder dies
    (R140). What will not arrive brings none.

    `tables`: `mail`, `changes` and `folders` of a world.
    """
    mail, changes = tables["mail"], tables["changes"]
    news = mail.filter(pc.and_(pc.is_in(mail["type"], pa.array(OF_HIERARCHY)), pc.is_null(mail["lost"])))
    deleting = pc.and_(pc.equal(changes["folder"], HIERARCHY), pc.equal(changes["action"], str(Action.DELETE_FOLDER)))
    deletions = _brought(news, changes.filter(deleting))
    coming: Coming = {}
    if not deletions.num_rows:
        return coming
    edges = branches.edges(tables["folders"], distinct(news, ["org"]))
    messages: dict[tuple[str, str], list[str]] = {}
    for nth, letter in enumerate(news.select(["org", "message_id", "recipient", "due"]).to_pylist()):
        message = letter["org"], letter["message_id"]
        if message not in messages:  # it goes to many
            deleted = _brought(news.slice(nth, 1), deletions).select(["org", "object"]).rename_columns(list(FOLDER))
            messages[message] = branches.beneath(edges, deleted)["folder"].to_pylist()
        for folder in messages[message]:
            here = letter["org"], letter["recipient"], folder
            coming[here] = min(letter["due"], coming.get(here, letter["due"]))
    return coming


def _brought(letters: pa.Table, changes: pa.Table) -> pa.Table:
    """Those of the changes that letters carry."""
    if not letters.num_rows or not changes.num_rows:
        return changes.slice(0, 0)
    return TWINS["frames.in_ranges"](changes, TWINS["receipt.unpack"](letters))


def come_first(row: Line, coming: Coming) -> bool:
    """Whether one is there, at the store that does what a row of `explained` says comes next, by the time that it does."""
    store = row["next_of"] if row["next_what"] == "send" else row["store"]
    there = coming.get((row["org"], store, row["folder"]))
    return there is not None and row["next_at"] is not None and there <= row["next_at"]
