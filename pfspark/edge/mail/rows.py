"""Mails as rows: files are read in ranges, and parsed batch by batch, wherever that is done."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from typing import NamedTuple

import pyarrow as pa

from pfspark.edge.mail.files import Kind, Piece, Source, split_mbox, whole
from pfspark.edge.mail.mime import MIB, Derived, Reason, derive

RANGE_BYTES = 8 * MIB
BATCH_BYTES = 128 * MIB
BATCH_ROWS = 1000

MAIL = pa.schema(
    [
        ("no", pa.int64()),
        ("source", pa.string()),
        ("position", pa.int64()),
        ("raw", pa.binary()),
        ("envelope", pa.binary()),
        ("sha256", pa.string()),
        ("size", pa.int64()),
        ("subject", pa.string()),
        ("sender", pa.string()),
        ("sent_at", pa.timestamp("us", tz="UTC")),
        ("message_id", pa.string()),
        ("in_reply_to", pa.string()),
        ("reason", pa.string()),
    ]
)
HASH = pa.schema([("no", pa.int64()), ("position", pa.int64()), ("sha256", pa.binary())])
RANGE = pa.schema([
    ("no", pa.int64()), ("path", pa.binary()), ("kind", pa.string()), ("first", pa.int64()), ("end", pa.int64()),
    ("size", pa.int64()),
])  # fmt: skip


class Range(NamedTuple):
    """What is read at a time: the mails that begin in these bytes of source number `no`, that was found with `size` bytes."""

    no: int
    path: bytes
    kind: str
    first: int
    end: int
    size: int


def ranges_of(sources: Iterable[Source], most: int) -> list[Range]:
    """The sources in ranges of at most so many bytes; a mail that is a file of its own is one, whatever its length."""
    ranges = []
    for no, (path, kind, size) in enumerate(sources):
        cuts = [*range(0, size, most), size] if kind == Kind.MBOX else [0, size]
        ranges += [Range(no, os.fsencode(path), str(kind), first, end, size) for first, end in pairwise(cuts)]
    return ranges


def length(ranges: Iterable[Range]) -> int:
    """Bytes of the ranges."""
    return sum(each.end - each.first for each in ranges)


def filled(ranges: Iterable[Range], least: int) -> Iterator[list[Range]]:
    """The ranges in groups that reach `least` bytes; the last one may not."""
    group: list[Range] = []
    size = 0
    for each in ranges:
        group.append(each)
        size += each.end - each.first
        if size >= least:
            yield group
            group, size = [], 0
    if group:
        yield group


def as_arrow(rows: Iterable[tuple[object, ...]], schema: pa.Schema) -> pa.RecordBatch:
    """Rows as an Arrow batch of that schema."""
    return pa.RecordBatch.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema=schema)


def parse(batches: Iterable[pa.RecordBatch], batch_bytes: int) -> Iterator[pa.RecordBatch]:
    """The mails (`MAIL`) of batches of ranges, in batches of some `batch_bytes`; the last may be without a row."""
    rows: list[tuple[object, ...]] = []
    held = 0
    for each, (position, envelope, raw, size, reason) in _pieces(batches):
        source = each.path.decode("utf-8", "backslashreplace")
        sha256 = None if raw is None else hashlib.sha256(raw).hexdigest()
        derived = Derived(reason=reason) if raw is None else derive(raw)
        rows.append((each.no, source, position, raw, envelope, sha256, size, *derived))
        held += len(raw or b"")
        if held >= batch_bytes or len(rows) >= BATCH_ROWS:
            yield as_arrow(rows, MAIL)
            rows, held = [], 0
    yield as_arrow(rows, MAIL)


def hashes(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Where each mail of the ranges begins, and the hash of its bytes (`HASH`); those without bytes are left out."""
    found = (
        (each.no, piece.position, hashlib.sha256(piece.raw).digest()) for each, piece in _pieces(batches) if piece.raw is not None
    )
    while chunk := list(islice(found, BATCH_ROWS)):
        yield as_arrow(chunk, HASH)


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Range, Piece]]:
    """The mails of the ranges; a file that cannot be read is one row that says so."""
    for batch in batches:
        for each in (Range(**row) for row in batch.to_pylist()):
            try:
                is_mbox = each.kind == Kind.MBOX
                pieces = split_mbox(each.path, each.first, each.end, each.size) if is_mbox else [whole(each.path)]
                for piece in pieces:
                    yield each, piece
            except OSError:
                yield each, Piece(each.first, None, None, None, Reason.UNREADABLE)
