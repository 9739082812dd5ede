"""Names that stand for something else: `@` and the edit that makes it, until it has a number; `replica:` and a store."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pfspark.words import REPLICA


def named(column: str, names: DataFrame, rows: DataFrame) -> DataFrame:
    """Rows with `column` resolved where it is `@` and an edit whose change has a number by now."""
    known = names.select("org", F.concat(F.lit("@"), "edit_id").alias(column), F.col("object").alias("_object"))
    return rows.join(known, ["org", column], "left").withColumn(column, F.coalesce("_object", column)).drop("_object")


def peer_of(entry: Column) -> Column:
    """The store that an entry of a replica list is about, of its property: `replica:PFS1`."""
    return F.substr(entry, F.lit(len(REPLICA) + 1))
