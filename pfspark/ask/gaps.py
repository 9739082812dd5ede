"""What is missing, of whom it was asked, and when it will be: the open array beside the requests, along the numbers."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.keys import HERE, ORIGIN_HERE, RANGE_HERE
from pfspark.rules import backfill, state, status
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
    claims = state.claims(beliefs, holders=status.holders(view("lists")), lives=view("lives"), stores=view("stores"))
    coverage = backfill.cover(applied, applied.where("false"), state.layers_of_claims(claims), view("array"))
    due = backfill.due(backfill.note(backfill.missing(coverage), replicas=replicas, clock=clock), clock=clock)
    return due.withColumn("due", F.when(~backfill.held_back(), F.col("due")))


def asked_of(steps: DataFrame) -> DataFrame:
    """Rows of `backfill` by which numbers were asked for, of somebody."""
    return steps.where((F.col("step") == BackfillStep.ASKED) & F.col("of").isNotNull())


def gaps(array: DataFrame, *, steps: DataFrame, timed: DataFrame) -> DataFrame:
    """One row for each open range: the columns of `array`, `of` (who was asked for it last, null where nobody was) and `due`.

    `due` is when the store asks, first or again (`timed`); null where nobody is known to have it, and while it is held back by
    suspension. A range that was asked of two stores at once, a part of each, is a row for each part.
    """
    along = [*ORIGIN_HERE, "asked"]
    requests = asked_of(steps).withColumn("asked", F.col("at"))
    # A number for each store that was asked: requests of one moment never overlap, so along the numbers it is a measure.
    numbers = Window.partitionBy(*HERE).orderBy("of")
    peers = requests.select(*HERE, "of").distinct().withColumn("peer", F.row_number().over(numbers))
    pieces = cnset.coverage(
        along,
        array.select(*along, *ENDS, F.lit(1).alias("open"), F.unix_micros("heard").alias("heard"), "attempt"),
        requests.join(peers, [*HERE, "of"]).select(*along, *ENDS, "peer"),
        timed.select(*along, *ENDS, F.unix_micros("due").alias("due")),
    ).where("open > 0")
    alike = cnset.join_up(pieces, along, ["heard", "attempt", "peer", "due"])
    return alike.join(peers, [*HERE, "peer"], "left").select(
        *RANGE_HERE,
        F.timestamp_micros("heard").alias("heard"),
        F.col("attempt").cast("bigint").alias("attempt"),
        "asked",
        "of",
        F.when(F.col("due") != 0, F.timestamp_micros("due")).alias("due"),
    )
