"""Rows of Arrow tables picked by their keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

ByName = Mapping[str, pa.Table]
"""Tables by their names: the views of a world, or the facts that a round made."""
Whole = npt.NDArray[np.int64]
MOMENT = pa.timestamp("us", "UTC")
"""What columns of times hold."""
FEWER = 4
"""Where there is at most one key to so many rows, rows are picked column by column before they are joined with the keys."""
MOST = 1 << 17
"""Keys that are looked up at once; the names of ten million edits would take 1.7 GB of Arrow's memory. Of a table of no more rows
it matters little which column is looked at first."""
PLACES = 16
"""From so many places of a table a hundredth of the rows are looked at, to tell which column of the keys leaves out most."""
PARTS = 16
"""Parts in which more keys than that are looked up; each of them goes through all rows. A power of two."""


def semi_join(table: pa.Table, keys: pa.Table, on: Sequence[str]) -> pa.Table:
    """Rows of `table` whose columns `on` equal those of some row of `keys`, in their order. Nulls never match."""
    if not table.num_rows or not keys.num_rows:
        return table.slice(0, 0)
    return filtered(table, _alike(table, keys, on))


def anti_join(table: pa.Table, keys: pa.Table, on: Sequence[str]) -> pa.Table:
    """Rows of `table` that match no row of `keys`, in their order; those with nulls in `on` are among them."""
    if not table.num_rows or not keys.num_rows:
        return table
    return filtered(table, pc.invert(_alike(table, keys, on)))


def of_store(table: pa.Table, org: str, store: str) -> pa.Table:
    """Rows of `table` that are of that store."""
    return table.filter(pc.and_(pc.equal(table["store"], store), pc.equal(table["org"], org)))


def of_folders(table: pa.Table, folders: Iterable[str]) -> pa.Table:
    """Rows of `table` that are of those folders, whoever's they are."""
    return filtered(table, pc.is_in(table["folder"], pa.array(folders, pa.string())))


def filtered(table: pa.Table, stays: pa.ChunkedArray) -> pa.Table:
    """Batch by batch, so that of a large table nothing is copied but those of which some rows stay and others go."""
    batches, place, of_each = [], 0, stays.combine_chunks()
    for batch in table.to_batches():
        staying = of_each.slice(place, batch.num_rows)
        place += batch.num_rows
        if staying.true_count:
            batches.append(batch if staying.true_count == batch.num_rows else batch.filter(staying))
    return pa.Table.from_batches(batches, table.schema)


def alike(table: pa.Table, keys: pa.Table, on: Sequence[str]) -> pa.ChunkedArray:
    """Of each row, whether some row of `keys` has the same values in the columns `on`; nulls never match."""
    return _alike(table, keys, on) if keys.num_rows else pa.chunked_array([np.zeros(table.num_rows, bool)])


def _alike(table: pa.Table, keys: pa.Table, on: Sequence[str]) -> pa.ChunkedArray:
    """Of each row, whether some row of `keys` has the same values in the columns `on`.

    Joins of Arrow would do it, in threads of their own and in twice the memory. Where keys are few, rows with a value that no key
    has are left out before; the column that leaves out most comes first, so that the others are looked up in what it leaves.
    """
    if len(on) == 1:
        return _stands_in(table[on[0]], keys[on[0]])
    left, places = table.select(list(on)), None
    if keys.num_rows * FEWER <= table.num_rows:
        for name in _by_what_is_left(left, keys, on):
            stands = _stands_in(left[name], keys[name])
            found = pc.indices_nonzero(stands)
            left, places = filtered(left, stands), found if places is None else places.take(found)
    numbered = placed(left) if places is None else left.append_column("_place", places)
    alike = np.zeros(table.num_rows, bool)
    for some, of in in_parts(numbered, keys.select(list(on)), by=on[-1]):
        alike[filtered(some, which(some, of, on).is_valid())["_place"].to_numpy()] = True
    return pa.chunked_array([alike])


def which(rows: pa.Table, keys: pa.Table, on: Sequence[str]) -> pa.ChunkedArray:
    """Of each row which of the different `keys` it has, as a number; null where it has none of them, or a null."""
    code, theirs = (pc.index_in(each[on[0]], value_set=pc.unique(keys[on[0]]), skip_nulls=True) for each in (rows, keys))
    for name in on[1:]:
        values = pc.unique(keys[name])
        pairs = [
            pc.add(pc.multiply(of.cast(pa.int64()), len(values)), pc.index_in(each[name], value_set=values, skip_nulls=True))
            for of, each in ((code, rows), (theirs, keys))
        ]
        known = pc.unique(pairs[1])
        code, theirs = (pc.index_in(each, value_set=known, skip_nulls=True) for each in pairs)
    return code


def in_parts(*tables: pa.Table, by: str) -> Iterator[tuple[pa.Table, ...]]:
    """Those tables, each split into as many parts, by the last letters of the texts in that column: texts that are equal stand in
    the same part. A row whose text ends with a letter that ends no text of the last table is left out. Where that table is
    small, or the column holds no texts, there is but one part."""
    last = tables[-1]
    if last.num_rows <= MOST or not pa.types.is_string(last.schema.field(by).type):
        yield tables
        return
    letters = pc.unique(_last_letters(last[by]))  # of some alphabets thousands
    places = [pc.index_in(_last_letters(each[by]), value_set=letters) for each in tables]
    parts = [pc.bit_wise_and(place, PARTS - 1) for place in places]
    for part in range(min(PARTS, len(letters))):
        yield tuple(filtered(each, pc.equal(of, part)) for each, of in zip(tables, parts, strict=True))


def _last_letters(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """The last letter of each, for names that are drawn or counted differ in it; of a text that has none, or is null, none."""
    return pc.fill_null(pc.utf8_slice_codeunits(texts, -1), "")


def _by_what_is_left(table: pa.Table, keys: pa.Table, on: Sequence[str]) -> list[str]:
    """Those columns, first the one that leaves fewest rows, of some from everywhere in the table; of few rows as they are."""
    if table.num_rows <= MOST:
        return list(on)
    places = range(0, table.num_rows, max(table.num_rows // PLACES, 1))
    some = pa.concat_tables([table.slice(place, table.num_rows // PLACES // 100 + 1) for place in places])
    left = {name: pc.sum(_stands_in(some[name], keys[name])).as_py() or 0 for name in on}
    return sorted(on, key=left.__getitem__)


def _stands_in(column: pa.ChunkedArray, some: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.is_in(column, value_set=pc.unique(some).cast(column.type), skip_nulls=True)


def run_ends(column: pa.ChunkedArray) -> npt.NDArray[np.integer[Any]]:
    """Of a column in which equal values stand together, the place after the last of each."""
    ends: npt.NDArray[np.integer[Any]] = pc.run_end_encode(column.combine_chunks()).run_ends.to_numpy()
    return ends if len(column) else ends[:0]


def parted(table: pa.Table, by: str) -> dict[Any, pa.Table]:
    """The rows of each value of a column in which equal ones stand together."""
    ends = run_ends(table[by]).tolist()
    values = table[by].take(pa.array([end - 1 for end in ends], pa.int64())).to_pylist()
    return {value: table.slice(start, end - start) for value, (start, end) in zip(values, pairwise([0, *ends]), strict=True)}


def placed(table: pa.Table) -> pa.Table:
    """With the place of each row, from 0."""
    return table.append_column("_place", pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), table.num_rows), start=-1))


def one_of_each(table: pa.Table, key: Sequence[str], *, last: bool = False) -> pa.Table:
    """Of the rows of each key the first, or the last, in the order of the rows."""
    which = "max" if last else "min"
    places = placed(table.select(list(key))).group_by(list(key), use_threads=False).aggregate([("_place", which)])
    found = places[f"_place_{which}"]
    return table.take(pc.take(found, pc.sort_indices(found)))


def distinct(table: pa.Table, on: Sequence[str]) -> pa.Table:
    """The keys of a table, each once."""
    return table.select(list(on)).group_by(list(on), use_threads=False).aggregate([])


def together(*tables: pa.Table) -> pa.Table:
    """The rows of all, in the columns of the first."""
    return pa.concat_tables([each.select(tables[0].column_names).cast(tables[0].schema) for each in tables])


def with_columns(table: pa.Table, **columns: Any) -> pa.Table:
    """With those columns, each a value for every row or one for all."""
    for name, value in columns.items():
        if not isinstance(value, (pa.Array, pa.ChunkedArray)):
            kind = MOMENT if isinstance(value, datetime) else None
            value = pa.repeat(value if isinstance(value, pa.Scalar) else pa.scalar(value, kind), table.num_rows)
        place = table.schema.get_field_index(name)
        table = table.append_column(name, value) if place < 0 else table.set_column(place, name, value)
    return table


def beside(rows: pa.Table, others: pa.Table, on: Sequence[str], *, inner: bool = False) -> pa.Table:
    """Rows with the columns of those `others` whose columns `on` are equal, a row for each, in their order; without any they have
    nulls there, or, `inner`, no row. Joins of Arrow take no nested columns, so only places are joined."""
    theirs = placed(others.select(list(on))).rename_columns([*on, "_there"])
    pairs = placed(rows.select(list(on))).join(theirs, list(on), join_type="inner" if inner else "left outer")
    pairs = pairs.sort_by([("_place", "ascending"), ("_there", "ascending")])
    found, there = rows.take(pairs["_place"]), others.drop_columns(list(on)).take(pairs["_there"])
    return with_columns(found, **{name: there[name] for name in there.column_names})


def numbered(rows: pa.Table, keys: Sequence[str]) -> tuple[Whole, Whole]:
    """Of each row which key it has, as a number, nulls being alike; and the first row of each key."""
    key, first_of = np.zeros(rows.num_rows, np.int64), np.zeros(min(rows.num_rows, 1), np.int64)
    for name in keys:
        column = rows[name].combine_chunks().dictionary_encode("encode")
        codes: Any = key * max(len(column.dictionary), 1) + column.indices.to_numpy()
        _, first_of, key = np.unique(codes, return_index=True, return_inverse=True)
    return key, first_of


def gathered(rows: pa.Table, by: Sequence[str], **lists: pa.ChunkedArray) -> pa.Table:
    """One row for each key, with what its rows have in those columns as lists; equal keys stand together."""
    key, _ = numbered(rows, by)
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    ends = pa.array([*starts, rows.num_rows], pa.int32())
    arrays = {name: pa.ListArray.from_arrays(ends, column.combine_chunks()) for name, column in lists.items()}
    return with_columns(rows.select(list(by)).take(pa.array(starts)), **arrays)


def inlined(rows: pa.Table, lists: pa.ChunkedArray | pa.ListArray, names: Mapping[str, str] | Sequence[str]) -> pa.Table:
    """One row for each struct in the list of a row, with those of its fields, and the name that each gets, beside the row."""
    some = lists if isinstance(lists, pa.ListArray) else lists.combine_chunks()
    each, structs = rows.take(pc.list_parent_indices(some)), pc.list_flatten(some)
    called = names if isinstance(names, Mapping) else {name: name for name in names}
    return with_columns(each, **{column: pc.struct_field(structs, field) for field, column in called.items()})


def nth_of(keys: npt.NDArray[Any]) -> Whole:
    """Of each row its place among those of its key, from 0; equal keys stand together."""
    begins = np.flatnonzero(np.diff(keys, prepend=-1))
    nth: Whole = np.arange(len(keys)) - np.repeat(begins, np.diff(np.append(begins, len(keys))))
    return nth


def fields(rows: pa.Table, names: Sequence[str]) -> pa.ChunkedArray:
    """Those columns as one of structs."""
    columns = [rows[name].combine_chunks() for name in names]
    return pa.chunked_array([pa.StructArray.from_arrays(columns, list(names))])


def pairs_of(maps: pa.ChunkedArray) -> pa.ListArray:
    """Maps as lists of pairs, `key` and `value`; of null an empty one. What Arrow does with lists, it does not do with maps."""
    some = maps.combine_chunks()
    return pa.ListArray.from_arrays(some.offsets, pa.StructArray.from_arrays([some.keys, some.items], ["key", "value"]))


def of_orgs(rows: pa.Table, moments: Mapping[str, datetime]) -> pa.ChunkedArray:
    """The moment of the organization of each row; null where there is none."""
    orgs, times = pa.array(moments, pa.string()), pa.array(moments.values(), MOMENT)
    return pc.take(times, pc.index_in(rows["org"], orgs))


def stores_of(labels: pa.ChunkedArray) -> pa.ChunkedArray:
    """The stores whose replicas are called so (`cntext.split_label`)."""
    return pc.replace_substring_regex(labels, "~.*", "")


def labels(store: str | pa.ChunkedArray, lives: pa.ChunkedArray) -> pa.ChunkedArray:
    """The names of replicas in these lives (`cntext.label`), all of a store or each of its own."""
    return pc.if_else(pc.equal(lives, 1), store, pc.binary_join_element_wise(store, lives.cast(pa.string()), "~"))
