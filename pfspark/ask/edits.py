"""What people did at stores, and what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark.ask import lines
from pfspark.ask.stores import Stores
from pfspark.keyed import one_of_each
from pfspark.references import resolved
from pfspark.words import HIERARCHY, NAME, Outcome, Reason

COLUMNS = {
    "edits": ("org", "edit_id", "store", "at", "place", "action", "folder", "item", "name", "properties", "written"),
    "receipts": ("edit_id", "outcome", "reason", "round"),
    "changes": ("org", "edit_id", "folder", "object", "origin", "cn", "at"),
}
"""What has to be known of each of these tables."""
WAITING = "waiting"
PAGE = 10_000
"""Edits that are told at once."""
REPEATED = pc.coalesce(pc.field("reason") == str(Reason.ALREADY_TAKEN_IN), pc.scalar(False))
"""Receipts of edits that had been taken in already, and were said once more."""
REFUSED = pc.is_valid(pc.field("edit_id")) & (pc.field("outcome") == str(Outcome.REFUSED)) & ~REPEATED
"""Receipts of edits that were refused: see `refused`."""
_ORDER = ("at", "place", "edit_id")


def refused(receipts: DataFrame) -> DataFrame:
    """Receipts of edits that were refused: not of those that had been taken in already, and were said once more."""
    told = receipts.where(F.col("edit_id").isNotNull() & (F.col("outcome") == Outcome.REFUSED))
    return told.where(F.coalesce(F.col("reason") != Reason.ALREADY_TAKEN_IN, F.lit(True)))


def looked_up(edits: pa.Table, receipts: pa.Table, changes: pa.Table) -> pa.Table:
    """Each edit with what became of it, by its time: of one that was made twice only the first; times that no calendar has come
    last. A row has the columns of the edit, `outcome`, `reason` and `round` of its receipt, and those of its change as `its_…`.
    """
    made = edits.set_column(edits.column_names.index("place"), "place", pc.fill_null(edits["place"], 0))
    in_order = made.filter(pc.is_valid(made["store"])).sort_by([(name, "ascending") for name in _ORDER])
    rows = one_of_each(in_order, ["edit_id"])
    told = receipts.filter(~REPEATED)
    taken_in = changes.sort_by([(name, "ascending") for name in ("at", "origin", "cn")])
    found = {
        **{name: _of(told, rows["edit_id"])[name] for name in ("outcome", "reason", "round")},
        **{f"its_{name}": _of(taken_in, rows["edit_id"])[name] for name in ("folder", "object", "origin", "cn")},
    }
    rows = resolved(rows, changes)
    for name, column in found.items():
        rows = rows.append_column(name, column)
    return rows


def lines_of(edits: pa.Table, stores: Stores, *, newest_first: bool = False) -> Iterator[dict[str, Any]]:
    """One line for each edit (`looked_up`).

    `name` is that of an item, of a new folder its own; `item` and `folder` are what the edit became where it made them. Rows
    are Python's a page at a time: there may be as many as there are changes.
    """
    step = -1 if newest_first else 1
    for page in edits.to_batches(max_chunksize=PAGE)[::step]:
        yield from (_line(row, stores) for row in page.to_pylist()[::step])


def _line(row: dict[str, Any], stores: Stores) -> dict[str, Any]:
    makes_folder = row["its_folder"] == HIERARCHY
    folder = row["its_object"] if makes_folder else row["folder"]
    item = row["item"] or (None if makes_folder else row["its_object"])
    return {
        "org": row["org"], "at": lines.when(row["at"]), "kind": "edit", "edit": row["edit_id"], "store": row["store"],
        "action": row["action"], "folder": folder and stores.path(row["store"], folder), "item": item,
        "name": row["name"] or dict(row["properties"] or ()).get(NAME), "outcome": row["outcome"] or WAITING,
        "reason": row["reason"], "round": row["round"],
        "number": f"{row['its_origin']}:{row['its_cn']}" if row["its_origin"] else None,
    }  # fmt: skip


def _of(table: pa.Table, edits: pa.ChunkedArray) -> pa.Table:
    """For each edit the first row of a table that is about it, or nulls."""
    return table.take(pc.index_in(edits, value_set=table["edit_id"].combine_chunks()))
