"""Mails as frames: read and parsed on the executors, which must see the files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from pfspark.edge.mail.files import Source
from pfspark.edge.mail.rows import (
    BATCH_BYTES,
    MAIL,
    RANGE,
    RANGE_BYTES,
    Range,
    as_arrow,
    filled,
    hashes,
    length,
    parse,
    ranges_of,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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
    ranges = ranges_of(sources, batch_bytes)
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
    ranges = ranges_of(sources, range_bytes)
    repeats = _repeats(spark, ranges)
    done, total = 0, length(ranges)
    for batch in filled(ranges, batch_bytes):
        yield _mails(spark, batch, repeats, range_bytes)
        done += length(batch)
        progress(done, total)


def _mails(spark: SparkSession, ranges: list[Range], repeats: pa.Table, batch_bytes: int) -> DataFrame:
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.types import from_arrow_schema

    columns = from_arrow_schema(MAIL)
    mails = _frame(spark, ranges).mapInArrow(partial(parse, batch_bytes=batch_bytes), columns)
    if repeats.num_rows:
        again = F.broadcast(spark.createDataFrame(repeats))  # broadcast, else the bodies would be shuffled
        mails = mails.join(again, ["no", "position"], "left")
    else:
        mails = mails.withColumn("occurrence", F.lit(None).cast("bigint"))
    return mails.select(*columns.names, F.coalesce("occurrence", F.lit(1).cast("bigint")).alias("occurrence"))


def _repeats(spark: SparkSession, ranges: list[Range]) -> pa.Table:
    """The mails whose bytes occurred before: no, position, occurrence (2, 3, …). Runs one job.

    Reading all once more for its hashes is cheaper than shuffling the bodies, and few mails are repeated.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    hashed = _frame(spark, ranges).mapInArrow(hashes, "no bigint, position bigint, sha256 binary")
    same_bytes = Window.partitionBy("sha256").orderBy("no", "position")
    numbered = hashed.select("no", "position", F.row_number().over(same_bytes).cast("bigint").alias("occurrence"))
    return numbered.where("occurrence > 1").toArrow()


def _frame(spark: SparkSession, ranges: list[Range]) -> DataFrame:
    return spark.createDataFrame(pa.Table.from_batches([as_arrow(ranges, RANGE)]))
