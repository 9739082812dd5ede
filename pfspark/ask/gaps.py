"""What is missing, of whom it was asked, and when it will be: the open array beside the requests, along the numbers."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.keys import ORIGIN_HERE, RANGE_HERE
from pfspark.rules import backfill, state
from pfspark.words import BackfillStep, Entry

ENDS = ("cn_min", "cn_max")
VIEWS = ("array", "state", "replicas", "lists", "lives", "stores")
"""What says when something is asked for."""


def timed(view: Callable[[str], DataFrame], *, clock: DataFrame) -> DataFrame:
    """The claimed pieces of the open array, each with when it is `due` to be asked for, as `backfill.due` has it in a round;
    `view` gives those of `VIEWS`."""
    replicas = view("replicas")
    applied = state.ranges_of(state.own(view("state"), replicas=replicas), entry=Entry.APPLIED)
    beliefs = state.believed(view("state"), replicas=replicas)
    claims = state.claims(beliefs, lists=view("lists"), lives=view("lives"), stores=view("stores"))
    coverage = backfill.cover(applied, applied.where("false"), state.layers_of_claims(claims), view("array"))
    return backfill.due(backfill.note(backfill.missing(coverage), replicas=replicas, clock=clock), clock=clock)


def gaps(array: DataFrame, *, steps: DataFrame, timed: DataFrame) -> DataFrame:
    """One row for each open range: the columns of `array`, `of` (who was asked for it last) and `due` (when it is asked again).

    A range that was asked of two stores at once is a row for each. Where nobody was asked yet, `of` is null and `due` is when
    the store asks first (`timed`); null where nobody is known to have it.
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
    joined = cnset.join_up(told, along, ["heard", "attempt", "of", "again"]).withColumnRenamed("again", "due")
    of_some = joined.where("of is not null")
    return of_some.unionByName(_first_asked(joined.where("of is null"), timed)).select(
        *RANGE_HERE, "heard", "attempt", "asked", "of", "due"
    )


def _first_asked(waiting: DataFrame, timed: DataFrame) -> DataFrame:
    """Ranges that nobody was asked for, in pieces that are due at one time."""
    micros = {name: F.unix_micros(name).alias(name) for name in ("heard", "asked", "due")}
    pieces = cnset.coverage(
        ORIGIN_HERE,
        waiting.select(*RANGE_HERE, "attempt", micros["heard"], micros["asked"], F.lit(1).alias("open")),
        timed.select(*RANGE_HERE, micros["due"]),
    ).where("open > 0")
    alike = cnset.join_up(pieces, ORIGIN_HERE, ["attempt", *micros])
    times = {name: F.when(F.col(name) != 0, F.timestamp_micros(name)) for name in micros}
    return alike.withColumns({**times, "attempt": F.col("attempt").cast("bigint"), "of": F.lit(None).cast("string")})
