"""What went between stores, and what was open meanwhile: the history of a lake as figures."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from pfspark import cnset, cntext
from pfspark.ask.about import own
from pfspark.keys import HERE, ORIGIN_HERE, RANGE_HERE, STORE
from pfspark.words import BackfillStep, Entry, Flag, Outcome, Standing


def open_numbers(steps: DataFrame, state: DataFrame, replicas: DataFrame) -> DataFrame:
    """One row for each moment at which it changed: org, at, and how many numbers stores had heard of and not got yet.

    `steps` are rows of `backfill`, `state` and `replicas` those of their tables: a number opens when it is heard of, and closes
    when the store writes that it has it (R88, R90), or waits for nothing any more, as its replica goes.
    """
    heard = cnset.canonical(steps.where(F.col("step") == BackfillStep.HEARD).select(*RANGE_HERE, "at"), [*ORIGIN_HERE, "at"])
    had = own(state).where(F.col("entry") == Entry.APPLIED).select(*RANGE_HERE, "at")
    over = replicas.where(F.col("standing").isin(Standing.DELETE_NOW, Standing.ERASED)).select(*HERE, "at")
    every = heard.select(*ORIGIN_HERE).distinct().selectExpr("*", "1L AS cn_min", f"{cntext.MAX_CN}L AS cn_max")
    closed_with = every.join(over, list(HERE)).select(*RANGE_HERE, "at")
    ends = (
        had.unionByName(closed_with).unionByName(heard).withColumnRenamed("at", "ends")
    )  # what is heard of anew was open before, and is again
    cut = cnset.meet(heard, ends, ORIGIN_HERE).where("at < ends")
    key = [*ORIGIN_HERE, "at", "ends"]
    later = cut.select(*key).distinct()
    before = cut.withColumnRenamed("ends", "earlier").join(later, [*ORIGIN_HERE, "at"]).where("earlier < ends")
    first = cnset.subtract(cut, before.select(*key, "cn_min", "cn_max"), key)  # a number closes once
    size = F.col("cn_max") - F.col("cn_min") + 1
    opened = heard.select("org", "at", size.alias("by"))
    closed = first.select("org", F.col("ends").alias("at"), (-size).alias("by"))
    changed = opened.unionByName(closed).groupBy("org", "at").agg(F.sum("by").alias("by")).where("by != 0")
    so_far = Window.partitionBy("org").orderBy("at")
    return changed.select("org", "at", F.sum("by").over(so_far).alias("open"))


def letters(messages: DataFrame) -> DataFrame:
    """One row for each message and recipient: org, message_id, type, store, peer, folder, at, bytes; what a line delivered twice
    was sent once."""
    sent = messages.where(~F.array_contains("flags", Flag.COPY))
    to = sent.withColumn("to", F.explode("recipients")).withColumn("peer", F.col("to.store"))
    return to.select("org", "message_id", "type", "store", "peer", "folder", "at", "bytes")


def with_losses(sent: DataFrame, receipts: DataFrame) -> DataFrame:
    """Letters with why they were lost, if they were: on the way, or as they came (`lost`)."""
    gone = receipts.where(F.col("outcome") == Outcome.LOST)
    not_there = gone.select("org", "message_id", F.col("store").alias("peer"), F.col("reason").alias("lost"))
    return sent.join(not_there, ["org", "message_id", "peer"], "left")


def by_link(sent: DataFrame, *, stores: DataFrame, links: DataFrame) -> DataFrame:
    """One row for each pair of sites between which letters went: from_site, to_site, cost (null: no link is known; inside a
    site 0), how many letters, and the bytes that they carried."""
    sites = stores.select(*STORE, "site")
    of = sent.join(sites.withColumnRenamed("site", "from_site"), list(STORE))
    both = of.join(sites.withColumnsRenamed({"store": "peer", "site": "to_site"}), ["org", "peer"])
    found = both.groupBy("org", "from_site", "to_site").agg(F.count("*").alias("letters"), F.sum("bytes").alias("bytes"))
    costs = links.select("org", "from_site", "to_site", "cost")
    known = found.join(costs, ["org", "from_site", "to_site"], "left")
    return known.withColumn("cost", F.when(F.col("from_site") == F.col("to_site"), 0).otherwise(F.col("cost")))
