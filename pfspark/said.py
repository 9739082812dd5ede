"""What people say, as Arrow tables: entries of the directory, edits, and whom the directory lists; read without Spark.

Each function says of tables what a rule says of frames; `tests/test_said.py` holds them side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from pfspark.keyed import one_of_each, together, with_columns
from pfspark.keys import STORE
from pfspark.words import FIRST, HIERARCHY, LAST, Listing


def legible(edits: pa.Table) -> pa.Table:
    """Edits as a round is given them: what `rules.intake.legible` says."""
    named = edits.filter(pc.and_(pc.is_valid(edits["org"]), pc.is_valid(edits["edit_id"])))
    return reduce(in_time, ["at", "written"], named)


def in_time(table: pa.Table, column: str) -> pa.Table:
    """That column where it is a moment between which times lie, else null: what `rules.intake.in_time` says."""
    at = table[column]
    micros = at.cast(pa.int64())
    first, last = (int(each.timestamp()) * 10**6 for each in (FIRST, LAST))
    lies = pc.and_(pc.greater_equal(micros, first), pc.less_equal(micros, last))
    return table.set_column(table.column_names.index(column), column, pc.if_else(lies, at, pa.scalar(None, at.type)))


def everywhere(stores: pa.Table) -> pa.Table:
    """The replica list of the hierarchy as each store sees it: what `rules.hierarchy.everywhere` says."""
    there = stores.filter(pc.equal(stores["retired"], False)).select(list(STORE))
    both = there.join(there.rename_columns({"store": "peer"}), keys="org", join_type="inner")
    return with_columns(both, folder=HIERARCHY, listing=str(Listing.LISTED))


def lists_anew(lists: pa.Table, stores: pa.Table) -> pa.Table:
    """The view `lists` when the stores of the directory are others: those of folders stay as they are."""
    return together(lists.filter(pc.not_equal(lists["folder"], HIERARCHY)), everywhere(stores))


def entries(rows: pa.Table, key: Sequence[str]) -> pa.Table:
    """The row with the latest `at` of each key that lies `in_time`, for one beyond it nobody could ever correct; of several of
    one moment that whose values come last, nulls after all. What lacks a part of its key is about nobody, and is no entry. A
    store of which nobody says that it is retired is not. What `edge.world.directory.entries` says.
    """
    dated = in_time(rows, "at")
    order = [(name, "ascending") for name in ("at", *rows.column_names)]
    told = dated.filter(reduce(pc.and_, [pc.is_valid(dated[name]) for name in ("at", *key)])).sort_by(order)
    latest = one_of_each(told, key, last=True)
    if "retired" in latest.column_names:
        latest = latest.set_column(latest.column_names.index("retired"), "retired", pc.fill_null(latest["retired"], False))
    return in_time(latest, "start") if "start" in latest.column_names else latest
