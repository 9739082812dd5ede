"""What edits call that which they make: `@` and the edit, until it has a number."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def named(column: str, names: DataFrame, rows: DataFrame) -> DataFrame:
    """Rows with `column` resolved where it is `@` and an edit whose change has a number by now."""
    known = names.select("org", F.concat(F.lit("@"), "edit_id").alias(column), F.col("object").alias("_object"))
    return rows.join(known, ["org", column], "left").withColumn(column, F.coalesce("_object", column)).drop("_object")
