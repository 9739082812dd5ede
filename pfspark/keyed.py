"""Rows of Arrow tables picked and replaced by their keys: what `rules.frames` says, of tables that are small enough to be here.

`TWINS` are those rules once more; `tests/test_keyed.py` holds each beside its twin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pfspark.keys import HERE
from pfspark.words import HIERARCHY_ACTIONS, Action


def having(table: pa.Table, keys: pa.Table, on: Sequence[str]) -> pa.Table:
    """The rows whose columns `on` are those of a row of `keys`, in their order. Nothing is alike that is null."""
    return _joined(table, keys, on, "left semi")


def lacking(table: pa.Table, keys: pa.Table, on: Sequence[str]) -> pa.Table:
    """The other rows, in their order."""
    return _joined(table, keys, on, "left anti")


def _joined(table: pa.Table, keys: pa.Table, on: Sequence[str], how: str) -> pa.Table:
    """Joins of Arrow take no nested columns and keep no order, so the keys alone are joined, with the place of each row."""
    if not table.num_rows or not keys.num_rows:
        return table if how == "left anti" else table.slice(0, 0)
    place = pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), table.num_rows), start=-1)
    placed = table.select(list(on)).append_column("_place", place)
    places = placed.join(keys.select(list(on)), keys=list(on), join_type=how)["_place"]
    return table if len(places) == table.num_rows else table.take(pc.take(places, pc.sort_indices(places)))


def distinct(table: pa.Table, on: Sequence[str]) -> pa.Table:
    """The keys of a table, each once."""
    return table.select(list(on)).group_by(list(on), use_threads=False).aggregate([])


def together(*tables: pa.Table) -> pa.Table:
    """The rows of all, in the columns of the first."""
    return pa.concat_tables([each.select(tables[0].column_names).cast(tables[0].schema) for each in tables])


def _amend(view: pa.Table, changed: pa.Table, *, key: Sequence[str]) -> pa.Table:
    return together(lacking(view, changed, key), changed)


def _in_folders(rows: pa.Table, keys: pa.Table) -> pa.Table:
    return having(rows, keys, HERE)


def _once(rows: pa.Table) -> pa.Table:
    return rows


def _union(*frames: pa.Table) -> pa.Table:
    return pa.concat_tables(frames, promote_options="permissive").select(frames[0].column_names).cast(frames[0].schema)


def _going(rows: pa.Table) -> pa.Table:
    return rows.filter(rows["goes"])


def _staying(rows: pa.Table) -> pa.Table:
    return rows.filter(pc.invert(rows["goes"]))


def _revisions(changes: pa.Table) -> pa.Table:
    return changes.filter(pc.is_in(changes["action"], pa.array([str(Action.MODIFY), str(Action.DELETE)])))


def _of_folders(received: pa.Table) -> pa.Table:
    return received.filter(pc.and_(pc.is_null(received["reason"]), _on_the_tree(received)))


def _of_items(received: pa.Table) -> pa.Table:
    return received.filter(pc.and_(pc.is_null(received["reason"]), pc.invert(_on_the_tree(received))))


def _on_the_tree(edits: pa.Table) -> pa.ChunkedArray:
    of_folders = pc.is_in(edits["action"], pa.array(map(str, HIERARCHY_ACTIONS)))
    return pc.if_else(pc.is_valid(edits["action"]), of_folders, None)  # as in SQL


def _without_store(changes: pa.Table) -> pa.Table:
    return changes.drop_columns("store")


def _keys_of(*frames: pa.Table) -> pa.Table:
    keys = [pa.table({name: each[name] for name in HERE}) for each in frames]  # whether a column may be null is not said
    return distinct(pa.concat_tables(keys), HERE)


TWINS: dict[str, Callable[..., Any]] = {
    "frames.amend": _amend, "frames.append": together, "frames.in_folders": _in_folders, "frames.keys_of": _keys_of,
    "frames.once": _once, "frames.together": _union, "frames.going": _going, "frames.staying": _staying,
    "intake.of_folders": _of_folders, "intake.of_items": _of_items, "intake.as_changes": _without_store,
    "packing.revisions": _revisions,
}  # fmt: skip
"""Rules that ask for nothing but rows of a frame that are there, by name."""
