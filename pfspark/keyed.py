"""Rows of Arrow tables picked and replaced by their keys: what `rules.frames` says, of tables that are small enough to be here.

`TWINS` are those rules once more; `tests/test_keyed.py` holds each beside its twin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pfspark.keys import HERE, OBJECT, ORIGIN
from pfspark.words import HIERARCHY_ACTIONS, PARENT, Action

FEWER = 4
"""Rows among which there is at most one key in so many are looked through for the parts of keys, before keys are joined."""


def having(table: pa.Table, keys: pa.Table, on: Sequence[str]) -> pa.Table:
    """The rows whose columns `on` are those of a row of `keys`, in their order. Nothing is alike that is null."""
    if not table.num_rows or not keys.num_rows:
        return table.slice(0, 0)
    return _filtered(table, _alike(table, keys, on))


def lacking(table: pa.Table, keys: pa.Table, on: Sequence[str]) -> pa.Table:
    """The other rows, in their order."""
    if not table.num_rows or not keys.num_rows:
        return table
    return _filtered(table, pc.invert(_alike(table, keys, on)))


def _filtered(table: pa.Table, stays: pa.ChunkedArray) -> pa.Table:
    """Batch by batch, so that of a large table nothing is copied but those of which some rows stay and others go."""
    batches, place, of_each = [], 0, stays.combine_chunks()
    for batch in table.to_batches():
        staying = of_each.slice(place, batch.num_rows)
        place += batch.num_rows
        if staying.true_count:
            batches.append(batch if staying.true_count == batch.num_rows else batch.filter(staying))
    return pa.Table.from_batches(batches, table.schema)


def _alike(table: pa.Table, keys: pa.Table, on: Sequence[str]) -> pa.ChunkedArray:
    """Whether each row is one whose columns `on` are those of a row of `keys`.

    Joins of Arrow take no nested columns and keep no order, so the keys alone are joined, with the place of each row. Where
    keys are few, only rows are joined each of whose columns stands in some key, for to see that is a tenth of the work.
    """
    if len(on) == 1:
        return _stands_in(table[on[0]], keys[on[0]])
    placed = rows = _placed(table.select(list(on)))
    if keys.num_rows * FEWER <= table.num_rows:
        placed = placed.filter(reduce(pc.and_, (_stands_in(placed[name], keys[name]) for name in on)))
    return _stands_in(rows["_place"], placed.join(keys.select(list(on)), keys=list(on), join_type="left semi")["_place"])


def _stands_in(column: pa.ChunkedArray, some: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.is_in(column, value_set=pc.unique(some).cast(column.type), skip_nulls=True)


def _placed(table: pa.Table) -> pa.Table:
    """With the place of each row, from 0."""
    return table.append_column("_place", pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), table.num_rows), start=-1))


def distinct(table: pa.Table, on: Sequence[str]) -> pa.Table:
    """The keys of a table, each once."""
    return table.select(list(on)).group_by(list(on), use_threads=False).aggregate([])


def named(orgs: pa.ChunkedArray, said: pa.ChunkedArray) -> pa.Table:
    """The edits that are named there, each as `@` and its id (`naming.named`): org, edit_id."""
    naming = pa.table({"org": orgs, "edit_id": said}).filter(pc.starts_with(said, "@"))
    return naming.set_column(1, "edit_id", pc.utf8_slice_codeunits(naming["edit_id"], 1))


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


def _repeated(edits: pa.Table) -> pa.Table:
    counted = edits.select(["org", "edit_id"]).group_by(["org", "edit_id"]).aggregate([([], "count_all")])
    return counted.filter(pc.greater(counted["count_all"], 1)).select(["org", "edit_id"])


def _names(changes: pa.Table, *, edits: pa.Table) -> pa.Table:
    said = (edits["folder"], edits["item"], pc.map_lookup(edits["properties"], PARENT, "first"))
    theirs = pa.concat_tables(named(edits["org"], each) for each in said)
    return having(changes, theirs, ("org", "edit_id")).select(["org", "edit_id", "object"])


def _posted(edits: pa.Table) -> pa.Table:
    return edits.filter(pc.equal(edits["action"], str(Action.POST)))


def _changing(edits: pa.Table) -> pa.Table:
    return edits.filter(pc.not_equal(edits["action"], str(Action.POST)))


def _edited(changes: pa.Table, edits: pa.Table) -> pa.Table:
    items = edits.filter(pc.is_valid(edits["item"])).select(["org", "folder", "item"]).rename_columns(list(OBJECT))
    return having(changes, items, OBJECT)


def _revisions(changes: pa.Table, *, items: pa.Table) -> pa.Table:
    theirs = having(changes, items, OBJECT)
    return theirs.filter(pc.is_in(theirs["action"], pa.array([str(Action.MODIFY), str(Action.DELETE)])))


def _last_given(changes: pa.Table, *, issued: pa.Table) -> pa.Table:
    given = having(changes.select([*ORIGIN, "cn"]), issued, ORIGIN)
    last = given.group_by(list(ORIGIN), use_threads=False).aggregate([("cn", "max")])
    return last.rename_columns([*ORIGIN, "last"])


def _in_ranges(changes: pa.Table, ranges: pa.Table) -> pa.Table:
    """A number lies in a range where more ranges of its line have begun by it than have ended before it. How many, is looked up
    among their sorted ends, those of each line behind those of the line before."""
    found = having(changes, ranges, ORIGIN)
    ranges = having(ranges, found, ORIGIN)
    lines = _placed(distinct(ranges, ORIGIN)).rename_columns([*ORIGIN, "line"])
    first, last, number = (column.to_numpy() for column in (ranges["cn_min"], ranges["cn_max"], found["cn"]))
    ends = np.unique(np.concatenate([first, last]))

    def along(rows: pa.Table, ranks: Any) -> Any:
        of_line = _placed(rows.select(list(ORIGIN))).join(lines, keys=list(ORIGIN)).sort_by("_place")["line"].to_numpy()
        return of_line * (len(ends) + 1) + ranks

    begins, stops = (np.sort(along(ranges, np.searchsorted(ends, each, "right"))) for each in (first, last))
    begun = np.searchsorted(begins, along(found, np.searchsorted(ends, number, "right")), "right")
    ended = np.searchsorted(stops, along(found, np.searchsorted(ends, number, "left")), "right")
    return found.filter(pa.array(begun > ended))


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
    "frames.amend": _amend, "frames.append": together, "frames.in_folders": _in_folders, "frames.in_ranges": _in_ranges,
    "frames.keys_of": _keys_of, "frames.once": _once, "frames.together": _union, "frames.going": _going,
    "frames.staying": _staying, "intake.names": _names, "intake.repeated": _repeated, "intake.of_folders": _of_folders,
    "intake.of_items": _of_items, "intake.as_changes": _without_store, "item_edits.changing": _changing,
    "item_edits.edited": _edited, "item_edits.posted": _posted, "packing.revisions": _revisions,
    "checks.last_given": _last_given,
}  # fmt: skip
"""Rules that ask for nothing but rows of a frame that are there, by name."""
