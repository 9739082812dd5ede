"""Rows as Arrow tables and as local relations, by the schemas of `tables.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from inspect import signature
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from pfspark.ddl import parse
from pfspark.errors import UsageError
from pfspark.printed import LINES
from pfspark.tables import EVERY

Session = SparkSession | Callable[[], SparkSession]
"""A session, or what starts one when it is first needed."""

IN_ONE_PART = 10_000
"""Rows up to which a relation is declared to be one partition: grouping, joining and sorting it then need no exchange. A round of
forty organizations takes 363 stages so, and 468 without."""


arrow_schema: Callable[[StructType], pa.Schema] = (
    partial(to_arrow_schema, timezone="UTC") if "timezone" in signature(to_arrow_schema).parameters else to_arrow_schema
)
"""The columns of a schema as Arrow has them, times in UTC: from Spark 4.2 on it asks in which zone, before it was that."""


def schema_of(name: str, leave_out: Sequence[str] = ()) -> StructType:
    """The Spark schema of a table or view of `tables.EVERY`."""
    columns = [f"{column.name} {column.type}" for column in EVERY[name].columns if column.name not in leave_out]
    return struct(", ".join(columns))


def schema_like(name: str, rows: pa.Table) -> StructType:
    """The Spark schema of a table or view, as far as those rows have its columns."""
    return schema_of(name, [column.name for column in EVERY[name].columns if column.name not in rows.column_names])


@cache
def struct(ddl: str) -> StructType:
    """The Spark schema that a text says."""
    return parse(ddl)


def columns_of(name: str, some: Sequence[str] = ()) -> pa.Schema:
    """The columns of a table, or some of them, as Arrow has them."""
    schema = arrow_schema(schema_of(name))
    return pa.schema([schema.field(column) for column in some]) if some else schema


def ddl(schema: StructType) -> str:
    """The columns of a frame as `struct` reads them; whether they may be null is not said."""
    return ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in schema)


def arrow(schema: StructType, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Rows as an Arrow table of that schema; a column that a row does not have is null there."""
    return pa.Table.from_pylist(list(rows), schema=arrow_schema(schema))


def rows_of(name: str, rows: Iterable[Mapping[str, Any]], leave_out: Sequence[str] = ()) -> pa.Table:
    """Rows of a table or view of `tables.EVERY` as an Arrow table.

    Raises UsageError for a text that no table can hold: bytes of a command line that are no UTF-8 come as halves of letters.
    """
    try:
        return arrow(schema_of(name, leave_out), rows)
    except UnicodeEncodeError as error:
        raise UsageError(f"found {error.object!r}, expected a text that UTF-8 can write") from None


def of_lines(kind: str, lines: Iterable[Mapping[str, Any]]) -> pa.Table:
    """JSON lines of a kind as an Arrow table (`printed.LINES`), their times still texts; a key that is absent is null."""
    texts = struct(LINES[kind].ddl.replace("timestamp", "string"))
    said = ({name: list(cell.items()) if isinstance(cell, dict) else cell for name, cell in line.items()} for line in lines)
    return arrow(texts, said)


@cache
def no_rows(schema: StructType) -> pa.Table:
    """An Arrow table of that schema without rows."""
    shape = arrow_schema(schema)
    return pa.table([pa.array([], field.type) for field in shape], schema=shape)


def local(spark: SparkSession, table: pa.Table, schema: StructType) -> DataFrame:
    """A local relation of those rows."""
    # Spark refuses columns without a chunk, which is what filtering everything away leaves.
    frame = spark.createDataFrame(table.combine_chunks() if table.num_rows else no_rows(schema), schema)
    return in_parts(frame, table)


def are_one_part(table: pa.Table) -> bool:
    """Whether a frame of those rows says that it is one part."""
    return bool(table.num_rows <= IN_ONE_PART)


def in_parts(frame: DataFrame, table: pa.Table) -> DataFrame:
    """The frame of those rows, which says so where it is one part."""
    return frame.coalesce(1) if are_one_part(table) else frame


def nothing(spark: SparkSession, name: str) -> DataFrame:
    """A table or view without rows, which costs no reading."""
    return local(spark, rows_of(name, ()), schema_of(name))
