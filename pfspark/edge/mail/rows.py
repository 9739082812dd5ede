"""Mails as rows: read and parsed on the executors, batch by batch."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from pfspark.edge.mail.files import Kind, Piece, Source, split_mbox, whole
from pfspark.edge.mime import MIB, Derived, Reason, derive

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

RANGE_BYTES = 8 * MIB
BATCH_BYTES = 128 * MIB
BATCH_ROWS = 1000


class _Range(NamedTuple):
    """What a task reads at a time: the mails that begin in these bytes of source number `no`."""

    no: int
    path: bytes
    kind: str
    first: int
    end: int


def read(spark: SparkSession, sources: Iterable[Source], *, batch_bytes: int = RANGE_BYTES) -> DataFrame:
    r"""One row a mail, named by `no` and position; parsed on the executors, which must see the files.

    no          which of the sources it is in, from 0
    source      the path of the file; bytes that are no UTF-8 shown as \xff
    position    where in that file the mail begins, in bytes
    raw         the mail's bytes; null if they do not fit into a row or cannot be read
    envelope    what the mbox has around them; null for a mail that is a file of its own
    sha256      of raw, in hexadecimal digits
    size        bytes of raw; null if it cannot be read
    subject, sender, sent_at, message_id, in_reply_to    as `mime.derive` says
    reason      null, or why the mail could not be parsed (`mime.Reason`)
    occurrence  1, 2, …: which one this is among the mails with these same bytes in all the sources

    One job runs here, to find repeated mails; the parsing happens when the frame is used, each time anew. An mbox is
    read in ranges, and rows travel in batches, of about `batch_bytes`. No mail, however odd, makes a job fail; but
    Parquet gathers a hundred rows before it looks at their size, so much large mail is written by `read_batches`.
    """
    ranges = _ranges(sources, batch_bytes)
    return _mails(spark, ranges, _repeats(spark, ranges), batch_bytes)


def read_batches(
    spark: SparkSession,
    sources: Iterable[Source],
    *,
    batch_bytes: int = BATCH_BYTES,
    progress: Callable[[int, int], object] = lambda done_bytes, total_bytes: None,
) -> Iterator[DataFrame]:
    """The frame of `read` in several, each of some `batch_bytes` of the sources: memory stays flat, progress is seen.

    `progress(done_bytes, total_bytes)` is told each time the caller is through with a frame and asks for the next.
    """
    range_bytes = min(batch_bytes, RANGE_BYTES)
    ranges = _ranges(sources, range_bytes)
    repeats = _repeats(spark, ranges)
    done, total = 0, _length(ranges)
    for batch in _filled(ranges, batch_bytes):
        yield _mails(spark, batch, repeats, range_bytes)
        done += _length(batch)
        progress(done, total)


def edit_id(folder: Column | str, sha256: Column | str, occurrence: Column | str) -> Column:
    """The name of the edit that posts a mail into a folder, `mail:<folder>:<sha256>:<occurrence>`; null without bytes.

    It depends on nothing but the folder, the bytes, and how often they occurred before. So importing a file again adds
    nothing, and one that has grown adds what is new; the same mail twice in one import is two items.
    """
    from pyspark.sql import functions as F

    return F.concat(F.lit("mail:"), folder, F.lit(":"), sha256, F.lit(":"), occurrence)


def _ranges(sources: Iterable[Source], most: int) -> list[_Range]:
    ranges = []
    for no, (path, kind, size) in enumerate(sources):
        cuts = [*range(0, size, most), size] if kind == Kind.MBOX else [0, size]
        ranges += [_Range(no, os.fsencode(path), str(kind), first, end) for first, end in pairwise(cuts)]
    return ranges


def _length(ranges: Iterable[_Range]) -> int:
    return sum(each.end - each.first for each in ranges)


def _filled(ranges: Iterable[_Range], least: int) -> Iterator[list[_Range]]:
    """The ranges in groups that reach `least` bytes; the last one may not."""
    group: list[_Range] = []
    size = 0
    for each in ranges:
        group.append(each)
        size += each.end - each.first
        if size >= least:
            yield group
            group, size = [], 0
    if group:
        yield group


def _mails(spark: SparkSession, ranges: list[_Range], repeats: pa.Table, batch_bytes: int) -> DataFrame:
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.types import from_arrow_schema

    columns = from_arrow_schema(_mail_schema())
    mails = _frame(spark, ranges).mapInArrow(partial(_parse, batch_bytes=batch_bytes), columns)
    if repeats.num_rows:
        again = F.broadcast(spark.createDataFrame(repeats))  # broadcast, else the bodies would be shuffled
        mails = mails.join(again, ["no", "position"], "left")
    else:
        mails = mails.withColumn("occurrence", F.lit(None).cast("bigint"))
    return mails.select(*columns.names, F.coalesce("occurrence", F.lit(1).cast("bigint")).alias("occurrence"))


def _repeats(spark: SparkSession, ranges: list[_Range]) -> pa.Table:
    """The mails whose bytes occurred before: no, position, occurrence (2, 3, …). Runs one job.

    Reading all once more for its hashes is cheaper than shuffling the bodies, and few mails are repeated.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    hashes = _frame(spark, ranges).mapInArrow(_hash, "no bigint, position bigint, sha256 binary")
    same_bytes = Window.partitionBy("sha256").orderBy("no", "position")
    numbered = hashes.select("no", "position", F.row_number().over(same_bytes).cast("bigint").alias("occurrence"))
    return numbered.where("occurrence > 1").toArrow()


def _frame(spark: SparkSession, ranges: list[_Range]) -> DataFrame:
    import pyarrow as pa

    types = [pa.int64(), pa.binary(), pa.string(), pa.int64(), pa.int64()]
    return spark.createDataFrame(_rows(ranges, pa.schema(list(zip(_Range._fields, types, strict=True))), pa.Table))


def _mail_schema() -> pa.Schema:
    import pyarrow as pa

    return pa.schema(
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


def _rows(rows: Iterable[tuple[object, ...]], schema: pa.Schema, shape: Any) -> Any:
    """Rows as an Arrow table or record batch."""
    return shape.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema=schema)


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[_Range, Piece]]:
    """The mails of the ranges; a file that cannot be read is one row that says so."""
    for batch in batches:
        for each in (_Range(**row) for row in batch.to_pylist()):
            try:
                pieces = split_mbox(each.path, each.first, each.end) if each.kind == Kind.MBOX else [whole(each.path)]
                for piece in pieces:
                    yield each, piece
            except OSError:
                yield each, Piece(each.first, None, None, None, Reason.UNREADABLE)


def _hash(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    schema = pa.schema([("no", pa.int64()), ("position", pa.int64()), ("sha256", pa.binary())])
    hashes = (
        (each.no, piece.position, hashlib.sha256(piece.raw).digest()) for each, piece in _pieces(batches) if piece.raw is not None
    )
    while chunk := list(islice(hashes, BATCH_ROWS)):
        yield _rows(chunk, schema, pa.RecordBatch)


def _parse(batches: Iterable[pa.RecordBatch], batch_bytes: int) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    schema = _mail_schema()
    rows: list[tuple[object, ...]] = []
    held = 0
    for each, (position, envelope, raw, size, reason) in _pieces(batches):
        source = each.path.decode("utf-8", "backslashreplace")
        sha256 = None if raw is None else hashlib.sha256(raw).hexdigest()
        derived = Derived(reason=reason) if raw is None else derive(raw)
        rows.append((each.no, source, position, raw, envelope, sha256, size, *derived))
        held += len(raw or b"")
        if held >= batch_bytes or len(rows) >= BATCH_ROWS:
            yield _rows(rows, schema, pa.RecordBatch)
            rows, held = [], 0
    yield _rows(rows, schema, pa.RecordBatch)
