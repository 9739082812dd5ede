"""Rows that lie in files, and not in memory: a world may be larger than that.

A file is written once, and mapped: the system reads of it what somebody looks at, and forgets that again where memory is short.
"""

from __future__ import annotations

import mmap
import tempfile
from bisect import bisect_right
from collections.abc import Iterable
from contextlib import suppress
from itertools import chain
from typing import BinaryIO, NamedTuple
from weakref import WeakKeyDictionary

import pyarrow as pa

HELD = 32 << 20
"""Bytes of a table's rows that are held in memory before they are put into a file."""
BATCH = 16_384
"""Rows of a batch in a file: where one of them is replaced, all are written anew."""
PIECES = 16
"""Pieces of a table in memory: each round that adds rows adds one, and many small ones are slow to pick from."""


class Mapped(NamedTuple):
    """A file that is mapped: where it lies in memory, and the rows that it has."""

    name: str
    start: int
    end: int
    rows: int


_MAPPED: WeakKeyDictionary[mmap.mmap, Mapped] = WeakKeyDictionary()
"""The files into which somebody looks."""


def settled(table: pa.Table) -> pa.Table:
    """Those rows, in as few pieces as they may be; first those that lie in a file already.

    The others are put in one piece where they are in many, and in a file where they are large. Where none can be written, as on a
    disk that is full, they stay in memory.
    """
    there: list[pa.RecordBatch] = []
    here: list[pa.RecordBatch] = []
    for batch, file in files_of(table):
        (there if file else here).append(batch)
    if size(here) > HELD:
        with suppress(OSError):
            there, here = [*there, *_in_a_file(here, table.schema).to_batches()], []
    if len(here) > PIECES:
        here = _one(here).to_batches()
    return pa.Table.from_batches(there + here, table.schema)


def files_of(table: pa.Table) -> list[tuple[pa.RecordBatch, Mapped | None]]:
    """The pieces of a table, each with the file in which it lies."""
    files = sorted(_MAPPED.values(), key=lambda file: file.start)
    starts = [file.start for file in files]

    def file_of(batch: pa.RecordBatch) -> Mapped | None:
        ends = batch.column(0).buffers()[1]
        before = bisect_right(starts, ends.address) if ends else 0
        return files[before - 1] if before and ends.address < files[before - 1].end else None

    return [(batch, file_of(batch)) for batch in table.to_batches()]


def size(batches: list[pa.RecordBatch]) -> int:
    """Their bytes."""
    return sum(batch.nbytes for batch in batches)


def gathered(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """The rows of pieces that come one by one: in memory where they are few, else in a file, into which they go as they come.

    Raises OSError where none can be written.
    """
    here: list[pa.RecordBatch] = []
    coming = iter(batches)
    for batch in coming:
        here.append(batch)
        if size(here) > HELD:
            return _in_a_file(chain(here, coming), schema)
    return pa.Table.from_batches(here, schema)


def write(batches: Iterable[pa.RecordBatch], schema: pa.Schema, file: BinaryIO) -> None:
    """Writes the pieces of a table as `read` finds it; small ones together, large ones in several."""
    small: list[pa.RecordBatch] = []
    with pa.ipc.new_file(file, schema) as stream:
        for batch in batches:
            if batch.num_rows >= BATCH:
                stream.write_table(pa.Table.from_batches([batch]), max_chunksize=BATCH)
                continue
            small.append(batch)
            if sum(each.num_rows for each in small) >= BATCH:
                stream.write_table(_one(small))
                small = []
        if small:
            stream.write_table(_one(small))


def read(file: BinaryIO, name: str = "") -> pa.Table:
    """The table in that file, of which nothing is read before somebody looks at it."""
    opened = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    whole = pa.py_buffer(opened)
    table = pa.ipc.open_file(whole).read_all()
    _MAPPED[opened] = Mapped(name, whole.address, whole.address + whole.size, table.num_rows)
    return table


def _one(batches: list[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches(batches).combine_chunks()


def _in_a_file(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """In a file without a name, that ends when nobody looks into it."""
    with tempfile.TemporaryFile() as file:
        write(batches, schema, file)
        file.flush()
        return read(file)
