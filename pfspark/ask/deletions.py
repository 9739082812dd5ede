"""Deletions of folders that are on their way to stores: whoever hears first that a folder is gone does nothing more in it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from pfspark import branches
from pfspark.keyed import ByName, distinct, filtered, semi_join
from pfspark.keys import FOLDER
from pfspark.printed import Line
from pfspark.rows import arrow, struct
from pfspark.tables import FRAMES
from pfspark.twins import TWINS
from pfspark.views import OF_HIERARCHY
from pfspark.words import HIERARCHY, Action

Coming = dict[tuple[str, str, str], datetime]
"""When the first letter is there that brings a store the deletion of a folder: by organization, store and folder."""


def forestall(rows: Sequence[Line], tables: ByName) -> list[Line]:
    """Those rows of `explained`: what comes next has no time where a deletion is there first, at the store that would do it."""
    acting = (_acting(row) for row in rows if row["next_at"])
    here = arrow(struct(FRAMES["keys"].ddl), ({"org": org, "store": store, "folder": folder} for org, store, folder in acting))
    coming = on_their_way(here, tables)
    return [row | {"next_at": None} if comes_first(row, coming) else row for row in rows]


def on_their_way(here: pa.Table, tables: ByName) -> Coming:
    """To those stores, of those folders (rows of `keys`): a letter deletes one, or one that any store sees above it, for with its
    parent a folder dies (R140). What will not arrive brings none.

    `tables`: `mail`, `changes` and `folders` of a world.
    """
    mail, changes = tables["mail"], tables["changes"]
    under_way = pc.and_(pc.is_in(mail["type"], pa.array(OF_HIERARCHY)), pc.is_null(mail["lost"]))
    news = semi_join(filtered(mail, under_way), here.rename_columns(["org", "recipient", "folder"]), ["org", "recipient"])
    coming: Coming = {}
    if not news.num_rows:
        return coming
    deleting = pc.and_(pc.equal(changes["folder"], HIERARCHY), pc.equal(changes["action"], str(Action.DELETE_FOLDER)))
    brought = _brought(news, filtered(changes, deleting))
    edges = branches.edges(tables["folders"], distinct(brought, ["org"]))
    fatal = branches.above(edges, here.select(list(FOLDER))).rename_columns(["org", "object"])
    deletions = semi_join(brought, fatal, ["org", "object"])
    if not deletions.num_rows:
        return coming
    messages: dict[tuple[str, str], list[str]] = {}
    for nth, letter in enumerate(news.select(["org", "message_id", "recipient", "due"]).to_pylist()):
        message = letter["org"], letter["message_id"]
        if message not in messages:  # it goes to many
            deleted = _brought(news.slice(nth, 1), deletions).select(["org", "object"]).rename_columns(list(FOLDER))
            messages[message] = semi_join(branches.beneath(edges, deleted), here, FOLDER)["folder"].to_pylist()
        for folder in messages[message]:
            key = letter["org"], letter["recipient"], folder
            coming[key] = min(letter["due"], coming.get(key, letter["due"]))
    return coming


def _brought(letters: pa.Table, changes: pa.Table) -> pa.Table:
    """Those of the changes that letters carry."""
    return TWINS["frames.in_ranges"](changes, TWINS["receipt.unpack"](letters)) if changes.num_rows else changes


def comes_first(row: Line, coming: Coming) -> bool:
    """Whether one is there by the time that a row of `explained` says."""
    there = coming.get(_acting(row))
    return there is not None and row["next_at"] is not None and there <= row["next_at"]


def _acting(row: Line) -> tuple[str, str, str]:
    """Where something comes next: at the store that lacks something, or at the origin that is to send it."""
    return row["org"], row["next_of"] if row["next_what"] == "send" else row["store"], row["folder"]
