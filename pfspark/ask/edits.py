"""What people did at stores, and what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from pfspark.ask import lines
from pfspark.words import HIERARCHY, NAME

COLUMNS = {
    "edits": ("org", "edit_id", "store", "at", "place", "action", "folder", "item", "name", "properties", "written"),
    "receipts": ("edit_id", "outcome", "reason", "round"),
    "changes": ("edit_id", "folder", "object", "origin", "cn"),
}
"""What has to be known of each of these tables."""
WAITING = "waiting"


def lines_of(edits: pa.Table, receipts: pa.Table, changes: pa.Table, *, stores: lines.Stores) -> Iterator[dict[str, Any]]:
    """One line for each edit, by its time: of one that was made twice only the first; times that no calendar has come last.

    `name` is that of an item, of a new folder its own; `item` and `folder` are what the edit became where it made them.
    """
    told = {row["edit_id"]: row for row in receipts.to_pylist()}
    became = {row["edit_id"]: row for row in changes.to_pylist()}
    seen: set[str] = set()
    rows = sorted(edits.to_pylist(), key=lambda row: (row["at"] is None, row["at"], row["place"] or 0, row["edit_id"]))
    for row in rows:
        if row["edit_id"] in seen or row["store"] is None:
            continue
        seen.add(row["edit_id"])
        receipt, change = told.get(row["edit_id"], {}), became.get(row["edit_id"], {})
        folder = _made(row["folder"], became)
        if change.get("folder") == HIERARCHY:
            folder = change["object"]
        yield {
            "org": row["org"], "at": lines.when(row["at"]), "kind": "edit", "edit": row["edit_id"], "store": row["store"],
            "action": row["action"], "folder": stores.path(row["store"], folder) if folder else None,
            "item": _made(row["item"], became) or (change.get("object") if change.get("folder") != HIERARCHY else None),
            "name": row["name"] or dict(row["properties"] or ()).get(NAME),
            "outcome": receipt.get("outcome", WAITING), "reason": receipt.get("reason"), "round": receipt.get("round"),
            "number": f"{change['origin']}:{change['cn']}" if change else None,
        }  # fmt: skip


def _made(ref: str | None, became: dict[str, Any]) -> str | None:
    """The id that a reference means: of `@` and an edit what that has made, if it has."""
    return str(became[ref[1:]]["object"]) if ref and ref.startswith("@") and ref[1:] in became else ref
