"""What a store has that nobody else has: what would be lost if it were switched off."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.keys import ORIGIN
from pfspark.rules import state


def alone(table: DataFrame, *, replicas: DataFrame, store: str) -> DataFrame:
    """The numbers whose changes that store has, and no other: org, folder, origin, range.

    `table` and `replicas` are views of a world. What is on its way to others counts as not there.
    """
    held = state.contents_of(table, replicas=replicas)
    mine, others = held.where(F.col("store") == store), held.where(F.col("store") != store)
    return cnset.subtract(mine, others, ORIGIN)
