"""Content that is there already, posted again: a deleted folder recovered, a conflict settled; as rows of `edits`."""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from pfspark.ask import lines
from pfspark.errors import UsageError
from pfspark.words import NAME, PARENT, REPLICA, Action, Listing

Row = Mapping[str, Any]
ALL = "all"
"""Keeps every version of an item in conflict: the winner, and each loser as an item of its own."""


def recovered(items: Iterable[Row], *, org: str, store: str, name: str, parent: str, at: datetime) -> list[dict[str, Any]]:
    """The edits that copy items into a new folder of that name, with its only replica at `store`.

    A copy has ids of its own: messages about the deleted folder never apply to it (R141), and users, who go by name, find
    it where they look (R149). Its replica list begins anew (F59).
    """
    made = f"recover:{uuid.uuid4().hex}"
    first = time.time_ns()
    sets = {NAME: name, PARENT: parent, f"{REPLICA}{store}": str(Listing.LISTED)}
    folder = edit_row(org, store, Action.CREATE_FOLDER, None, made, at, first) | {"properties": sorted(sets.items())}
    return [folder] + [
        edit_row(org, store, Action.POST, f"@{made}", f"{made}:{nth}", at, first + nth) | _content(item)
        for nth, item in enumerate(items, 1)
    ]


def settlement(versions: Iterable[Row], keep: str, *, store: str, folder: str, item: str) -> str:
    """The id of the edit that settles a conflict between those versions so."""
    told = ",".join([keep, *sorted(map(lines.number_of, versions))])
    return f"resolve:{store}:{folder}:{item}:{hashlib.sha256(told.encode()).hexdigest()[:16]}"


def settled(
    versions: Sequence[Row], keep: str, edit: str, *, org: str, store: str, folder: str, item: str, at: datetime
) -> list[dict[str, Any]]:
    """The edits that settle a conflict, the first of the id `edit` (`settlement`): one version stands for all, or each for
    itself (`all`); the winner comes first.

    A modification is made upon all undominated versions, so it ends the conflict everywhere (F34).

    Raises UsageError where there is no conflict, or no such version.
    """
    known = {lines.number_of(each): each for each in versions}
    if len(versions) < 2:
        raise UsageError(f"{item} is in no conflict at {store}")
    if keep not in (*known, ALL):
        raise UsageError(f"{item} has no version {keep!r} in conflict; there are {', '.join(known)}, and `{ALL}`")
    first = time.time_ns()
    kept = versions[0] if keep == ALL else known[keep]
    stands = edit_row(org, store, Action.MODIFY, folder, edit, at, first) | _content(kept) | {"item": item, "name": None}
    if kept["action"] == Action.DELETE:
        stands = edit_row(org, store, Action.DELETE, folder, edit, at, first) | {"item": item}
    apart = [each for each in versions[1:] if keep == ALL and each["action"] != Action.DELETE]
    return [stands] + [
        edit_row(org, store, Action.POST, folder, f"{edit}:{nth}", at, first + nth) | _content(each)
        for nth, each in enumerate(apart, 1)
    ]


def edit_row(org: str, store: str, action: Action, folder: str | None, edit: str, at: datetime, place: int) -> dict[str, Any]:
    """A row of `edits` that sets nothing and has no content yet."""
    return {
        "org": org, "edit_id": edit, "store": store, "at": at, "place": place, "action": str(action), "folder": folder,
        "item": None, "name": None, "properties": [], "size": 0, "hash": None, "written": at,
    }  # fmt: skip


def _content(version: Row) -> dict[str, Any]:
    """What a version holds; without a name where it was named by its id, which as the name of a copy would be another's."""
    headers = sorted((each["name"], each["value"]) for each in version["properties"] or ())
    name = None if version["name"] == version["object"] else version["name"]
    return {"name": name, "properties": headers, "size": version["size"], "hash": version["hash"]}
