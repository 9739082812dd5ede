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
    """The claimed pieces of the open array, each with when it is `due` to be asked for, as `backfill.due` has it in a round; null
    as long as it is held back (`backfill.held_back`). `view` gives those of `VIEWS`."""
    replicas = view("replicas")
    applied = state.ranges_of(state.own(view("state"), replicas=replicas), entry=Entry.APPLIED)
    beliefs = state.believed(view("state"), replicas=replicas)
    claims = state.claims(beliefs, lists=view("lists"), lives=view("lives"), stores=view("stores"))
    coverage = backfill.cover(applied, applied.where("false"), state.layers_of_claims(claims), view("array"))
    due = backfill.due(backfill.note(backfill.missing(coverage), replicas=replicas, clock=clock), clock=clock)
    return due.withColumn("due", F.when(~backfill.held_back(), F.col("due")))


def asked_of(steps: DataFrame) -> DataFrame:
    """Rows of `backfill` by which numbers were asked for, of somebody."""
    return steps.where((F.col("step") == BackfillStep.ASKED) & F.col("of").isNotNull())


def gaps(array: DataFrame, *, steps: DataFrame, timed: DataFrame) -> DataFrame:
    """One row for each open range: the columns of `array`, `of` (who was asked for it last, null where nobody was) and `due`.

    `due` is when the store asks, first or again (`timed`); null where nobody is known to have it, and while it is held back by
    suspension. A range that was asked of two stores at once is a row for each.
    """
    along = [*ORIGIN_HERE, "asked"]
    named = asked_of(steps).withColumn("asked", F.col("at"))
    asked = named.select(*along, *ENDS, "of")
    layers = [array.select(*along, *ENDS, F.lit(1).alias("open")), asked.select(*along, *ENDS, F.lit(1).alias("told"))]
    pieces = cnset.coverage(along, *layers).where("open > 0").select(*along, *ENDS, F.lit(True).alias("piece"))
    entries = array.select(*along, "cn_min", F.struct("heard", "attempt").alias("entry"))
    requests = asked.select(*along, "cn_min", F.struct("cn_max", "of").alias("request"))
    # Ranges of one moment never overlap, so what began last before a piece is what it lies in, if it reaches so far.
    marked = pieces.unionByName(entries, allowMissingColumns=True).unionByName(requests, allowMissingColumns=True)
    before = Window.partitionBy(*along).orderBy("cn_min", F.col("piece").asc_nulls_first())
    found = marked.withColumns({name: F.last(name, True).over(before) for name in ("entry", "request")})
    within = F.when(F.col("request.cn_max") >= F.col("cn_max"), F.col("request"))
    rows = found.where("piece").select(*along, *ENDS, "entry.*", within.alias("request"))
    told = rows.select(*along, *ENDS, "heard", "attempt", F.coalesce("request.of", F.lit("")).alias("of"))
    return _timed(cnset.join_up(told, along, ["heard", "attempt", "of"]), timed).select(
        *RANGE_HERE, "heard", "attempt", "asked", F.when(F.col("of") != "", F.col("of")).alias("of"), "due"
    )


def _timed(open_ranges: DataFrame, timed: DataFrame) -> DataFrame:
    """Ranges with when they are `due`, in pieces that are due at one time; those that were asked of several each by itself."""
    whose = [*ORIGIN_HERE, "of"]
    micros = {name: F.unix_micros(name).alias(name) for name in ("heard", "asked", "due")}
    due = timed.join(open_ranges.select(*whose).distinct(), list(ORIGIN_HERE)).select(*whose, *ENDS, micros["due"])
    pieces = cnset.coverage(
        whose, open_ranges.select(*whose, *ENDS, "attempt", micros["heard"], micros["asked"], F.lit(1).alias("open")), due
    ).where("open > 0")
    alike = cnset.join_up(pieces, whose, ["attempt", *micros])
    times = {name: F.when(F.col(name) != 0, F.timestamp_micros(name)) for name in micros}
    return alike.withColumns({**times, "attempt": F.col("attempt").cast("bigint")})
