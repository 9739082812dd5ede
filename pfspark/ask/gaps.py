"""What is missing, and of whom it was asked: the open array beside the requests, in one sweep along the numbers."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.keys import HERE, ORIGIN_HERE
from pfspark.words import BackfillStep, Why

ENDS = ("cn_min", "cn_max")


def gaps(array: DataFrame, *, steps: DataFrame, agenda: DataFrame) -> DataFrame:
    """One row for each open range: the columns of `array`, `of` (who was asked for it last) and `due` (when it is asked again).

    A range that was asked of two stores at once is a row for each. Where nobody was asked yet, `of` is null and `due` is when
    the store asks first; null where its agenda knows nothing of it.
    """
    along = [*ORIGIN_HERE, "asked"]
    named = steps.where((F.col("step") == BackfillStep.ASKED) & F.col("of").isNotNull()).withColumn("asked", F.col("at"))
    asked = named.select(*along, *ENDS, "of", "due")
    layers = [array.select(*along, *ENDS, F.lit(1).alias("open")), asked.select(*along, *ENDS, F.lit(1).alias("told"))]
    pieces = cnset.coverage(along, *layers).where("open > 0").select(*along, *ENDS, F.lit(True).alias("piece"))
    entries = array.select(*along, "cn_min", F.struct("heard", "attempt").alias("entry"))
    requests = asked.select(*along, "cn_min", F.struct("cn_max", "of", "due").alias("request"))
    # Ranges of one moment never overlap, so what began last before a piece is what it lies in, if it reaches so far.
    marked = pieces.unionByName(entries, allowMissingColumns=True).unionByName(requests, allowMissingColumns=True)
    before = Window.partitionBy(*along).orderBy("cn_min", F.col("piece").asc_nulls_first())
    found = marked.withColumns({name: F.last(name, True).over(before) for name in ("entry", "request")})
    within = F.when(F.col("request.cn_max") >= F.col("cn_max"), F.col("request"))
    rows = found.where("piece").select(*along, *ENDS, "entry.*", within.alias("request"))
    told = rows.select(*along, *ENDS, "heard", "attempt", "request.of", F.col("request.due").alias("again"))
    first = agenda.where(F.col("why") == Why.BACKFILL).groupBy(*HERE).agg(F.min("due").alias("first"))
    due = F.when(F.col("of").isNull(), F.col("first")).otherwise(F.col("again")).alias("due")
    joined = cnset.join_up(told, along, ["heard", "attempt", "of", "again"]).join(first, list(HERE), "left")
    return joined.select(*ORIGIN_HERE, *ENDS, "heard", "attempt", "asked", "of", due)
