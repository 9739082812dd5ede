"""The promises that a round looks at itself, so that one that would break them does not count: numbers follow one another
(I5, I6), and nothing is noted as missing that is held (I8).

What is new is enough for them; of all tables, and all at once, `checks` holds them.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.frame import rule
from pfspark.keys import ORIGIN, ORIGIN_HERE, RANGE_HERE


@rule("last_given", needs=("changes", "issued"))
def last_given(changes: DataFrame, *, issued: DataFrame) -> DataFrame:
    """The last number that `changes` hold of each replica that has `issued` some."""
    return changes.join(issued, list(ORIGIN), "left_semi").groupBy(*ORIGIN).agg(F.max("cn").alias("last"))


@rule("violations")
def misnumbered(issued: DataFrame, *, last_given: DataFrame) -> DataFrame:
    """Numbers `issued` in a round that do not follow those given before, one by one: org, store, folder, origin, cn_min, cn_max,
    and the id of the `check` that they break (I5, I6)."""
    twice = (F.col("rows") > F.col("numbers")) | (F.col("cn_min") <= F.col("last"))
    left_out = (F.col("cn_min") > F.col("last") + 1) | (F.col("cn_max") - F.col("cn_min") + 1 > F.col("numbers"))
    why = F.when(twice, "I5").when(left_out, "I6")
    known = issued.join(last_given, list(ORIGIN), "left").fillna(0, ["last"])
    return known.withColumn("check", why).where("check is not null").select(*RANGE_HERE, "check")


@rule("violations")
def noted_though_held(array: DataFrame, *, applied: DataFrame) -> DataFrame:
    """Numbers in the array of a folder that it now holds (I8), in the same columns."""
    return cnset.intersect(array, applied, ORIGIN_HERE).select(*RANGE_HERE, F.lit("I8").alias("check"))
