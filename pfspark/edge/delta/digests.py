"""Digests of rows: what a round wrote, said so that it can be told later whether the tables still say it.

The rows count, and neither their order nor how they lie in files. They are made of Arrow columns at once, not row by row.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pfspark.rows import arrow_schema, schema_of
from pfspark.tables import ADDED

ROWS = 1 << 14
"""Rows of which there are texts at a time."""
PARTS = 16
"""Digests are sorted in so many parts, by how they begin: never all at once."""
DIGEST = pa.binary(hashlib.sha256().digest_size)


def numbered(rows: pa.Table, round: int) -> pa.Table:
    """Rows of a table that rounds write, with the number of theirs."""
    return rows.append_column("round", pa.repeat(pa.scalar(round, pa.int64()), rows.num_rows))


def digest(name: str, rows: pa.Table) -> str:
    """SHA-256 over the rows of a table of `tables.TABLES`."""
    return digest_of_pages(name, [rows])


def digest_of_pages(name: str, pages: Iterable[pa.Table]) -> str:
    """SHA-256 over the rows of a table that is read page by page."""
    return _over(some for page in pages for some in _row_digests(name, page))


def digests_by_round(name: str, rows: pa.Table) -> dict[int, str]:
    """SHA-256 over the rows of each round of a table."""
    found = defaultdict(list)
    digests = (row for some in _row_digests(name, rows) for row in some.to_pylist())
    for number, row in zip(rows["round"].to_pylist(), digests, strict=True):
        found[number].append(row)
    return {number: _over([pa.array(some, DIGEST)]) for number, some in found.items()}


def _over(rows: Iterable[pa.Array]) -> str:
    over = hashlib.sha256()
    for digests in _in_order(rows):
        order = pc.sort_indices(digests)
        for first in range(0, len(order), ROWS):
            over.update(digests.take(order.slice(first, ROWS)).buffers()[1])
    return over.hexdigest()


def _in_order(rows: Iterable[pa.Array]) -> Iterator[pa.Array]:
    """Those digests, in parts each of which comes before the next: many are never put in order all at once."""
    parts = defaultdict(list)
    for some in rows:
        firsts = np.frombuffer(some.buffers()[1], np.uint8)[:: DIGEST.byte_width] // (256 // PARTS)
        for part in np.unique(firsts):
            parts[part].append(some.filter(pa.array(firsts == part)))
    for part in sorted(parts):
        yield pa.concat_arrays(parts.pop(part))


def _row_digests(name: str, rows: pa.Table) -> Iterator[pa.Array]:
    """Of each batch the digests of its rows: of as many rows as a million there is no list."""
    schema, added = schema_of(name), ADDED.get(name, ())
    columns = arrow_schema(schema)
    for batch in rows.select(schema.names).to_batches(ROWS):
        typed = batch.cast(columns)
        later = (_text_of_added(column, typed[column]) for column in added)
        said = pc.binary_join_element_wise(_texts(typed.drop_columns(added)), *later, "").to_pylist()
        yield pa.array([hashlib.sha256(text.encode()).digest() for text in said], DIGEST)


def texts(rows: pa.Table) -> pa.ChunkedArray:
    """Each row as a text, and no other row as the same."""
    return pa.chunked_array(map(_texts, rows.to_batches()), pa.string())


def _texts(batch: pa.RecordBatch) -> pa.Array:
    return pc.binary_join_element_wise(*map(_text, batch.columns), "")


def _text_of_added(name: str, column: pa.Array) -> pa.Array:
    """Each value of a column that a later format has added; a null says nothing, so rows of before keep the digest they had."""
    return pc.if_else(column.is_valid(), pc.binary_join_element_wise(name, _text(column), ""), "")


def _is_one(column: pa.Array) -> bool:
    """Whether it is seen at once that all values are the same, as in half the columns of many rows: one text says them all."""
    if column.null_count or pa.types.is_struct(column.type):
        return bool(column.null_count == len(column))
    if pa.types.is_list(column.type):
        return not len(column.flatten())
    return bool(column[0].equals(column[-1]) and pc.all(pc.equal(column, column[0])).as_py())


def _text(column: pa.Array) -> pa.Array:
    """Each value as a text which tells where it ends, so that no two rows have the same; of a null, `-`."""
    if len(column) > 1 and _is_one(column):
        return pa.repeat(_text(column.slice(0, 1))[0], len(column))
    if pa.types.is_list(column.type):
        lengths = pc.fill_null(pc.list_value_length(column), 0)
        ends = pc.cumulative_sum(lengths).cast(pa.int32())
        parts = pa.ListArray.from_arrays(pa.concat_arrays([pa.array([0], pa.int32()), ends]), _text(column.flatten()))
        said = pc.binary_join(parts, "")
    elif pa.types.is_struct(column.type):
        said = pc.binary_join_element_wise(*(_text(pc.struct_field(column, [nth])) for nth in range(column.type.num_fields)), "")
    elif pa.types.is_timestamp(column.type):
        said = column.cast(pa.int64()).cast(pa.string())
    else:
        said = column.cast(pa.string())
    size = pc.binary_length(said).cast(pa.string())
    return pc.if_else(column.is_valid(), pc.binary_join_element_wise(size, said, ":"), "-")
