"""Frames of the rows that a test names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pyspark.sql.conversion import LocalDataToArrowConversion

from pfspark.rows import local, no_rows, struct

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.types import StructType


def frame_of(spark: SparkSession, rows: Iterable[object], columns: str | StructType) -> DataFrame:
    """Those rows (tuples, mappings or Rows) as a round is given its own: Spark knows that they are few.

    Of a list that `createDataFrame` takes it does not: each join of such frames is an exchange.
    """
    schema = struct(columns) if isinstance(columns, str) else columns
    told = list(rows)
    return local(spark, LocalDataToArrowConversion.convert(told, schema, False) if told else no_rows(schema), schema)


def by_org(made: DataFrame) -> Mapping[str, list[Row]]:
    """The rows of each organization; one that has none has an empty list.

    A job costs about the same for one case as for fifty, so the cases of a rule are organizations of one frame.
    """
    found: dict[str, list[Row]] = defaultdict(list)
    for row in made.collect():
        found[row["org"]].append(row)
    return found
