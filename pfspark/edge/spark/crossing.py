"""How large frames go to the executors and come from there: by files, where the executors are of this machine.

Handed over in memory they would all lie in Java at once, and in Python once more. A file is written and read piece by piece,
and of a frame that is read from files no step is given more than the columns that it names.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import finalize

import pyarrow as pa

from pfspark import execute, mapped
from pfspark.edge.spark import files, leaves, temporary, tuned
from pfspark.edge.spark.kept_plans import from_kept_plan
from pfspark.materializer import Materializer, OnExecutors
from pfspark.rows import arrow_schema, local

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

GROUP = 1 << 16
"""Rows that are written together, and read by one core."""
BLOCK = 16 << 20
"""Bytes of rows that are written together, in files that Spark writes."""


def to_frame(spark: SparkSession, rows: pa.Table, schema: StructType) -> DataFrame:
    """Rows that are here, as a frame of that schema; of those that are not many, or where no file can be read there, as leaves of
    a plan."""
    if rows.num_rows >= execute.LARGE and files.executors_are_here(spark):
        import pyarrow.parquet as pq

        with suppress(OSError):
            with _new_place() as place:
                pq.write_table(rows, place / "rows.parquet", row_group_size=GROUP)
            return _opened(spark, place, schema)
    if rows.num_rows < execute.LARGE and leaves.are_unseen(rows) and (frame := leaves.to_frame(spark, rows, schema)) is not None:
        return frame
    return local(spark, rows, schema)


def keep(frame: DataFrame) -> OnExecutors | None:
    """Computes that frame once and leaves its rows there; None where nothing may be kept (serverless)."""
    if files.executors_are_here(frame.sparkSession):
        return _in_files(frame)
    kept = tuned.keep(frame)
    return None if kept is None else OnExecutors(kept, kept.count(), kept.toArrow)


def _in_files(frame: DataFrame) -> OnExecutors:
    import pyarrow.dataset as ds

    with _new_place() as place:
        frame.write.mode("append").option("parquet.block.size", BLOCK).parquet(f"file:{place}")
    written = ds.dataset(place, format=ds.ParquetFileFormat(coerce_int96_timestamp_unit="us"))
    opened = _opened(frame.sparkSession, place, frame.schema)
    return OnExecutors(opened, written.count_rows(), partial(_rows, written, opened))


def _rows(written: pa.dataset.Dataset, opened: DataFrame) -> pa.Table:
    """The rows of those files, which stay as long as the frame that reads them."""
    schema = arrow_schema(opened.schema)

    def pieces() -> Iterator[pa.RecordBatch]:
        for batch in written.to_batches(columns=schema.names):
            yield from pa.Table.from_batches([batch]).cast(schema).to_batches()

    return mapped.gathered(pieces(), schema)


def _opened(spark: SparkSession, place: Path, schema: StructType) -> DataFrame:
    """The frame of the files in that place, which goes with it."""
    frame = spark.read.schema(schema).parquet(f"file:{place}")
    finalize(frame, shutil.rmtree, place, ignore_errors=True)
    return frame


@contextmanager
def _new_place() -> Iterator[Path]:
    """A folder for files that are written now; where they cannot be, none is left."""
    place = Path(tempfile.mkdtemp(dir=_place()))
    try:
        yield place
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise


@cache
def _place() -> Path:
    return temporary.own_folder()


BY_FILES = Materializer(tuned.for_rows, keep, to_frame, from_kept_plan)
"""How a lake's rounds are made."""
