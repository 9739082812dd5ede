"""What went between stores, and what was open meanwhile: the history of a lake as figures."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.words import Entry, Outcome

LINE = ("org", "store", "folder", "origin")


def open_numbers(steps: DataFrame, state: DataFrame) -> DataFrame:
    """One row for each moment at which it changed: org, at, and how many numbers stores had heard of and not got yet.

    `steps` are rows of `backfill`, `state` those of `state`: a number opens when it is heard of, and closes when the store
    writes that it has it (R88, R90).
    """
    heard = cnset.canonical(steps.where("step = 'heard'").select(*LINE, "cn_min", "cn_max", "at"), [*LINE, "at"])
    own = state.where((F.col("entry") == Entry.APPLIED) & (cnset.store_of("about") == F.col("store")))
    ends = own.select(*LINE, "cn_min", "cn_max", "at").unionByName(heard)  # what is heard of anew was open before, and is again
    named = ends.withColumnsRenamed({"cn_min": "low", "cn_max": "high", "at": "ends"})
    met = heard.join(named, list(LINE)).where("cn_min <= high and low <= cn_max and at < ends")
    cut = met.select(*LINE, "at", "ends", F.greatest("cn_min", "low").alias("cn_min"), F.least("cn_max", "high").alias("cn_max"))
    key = [*LINE, "at", "ends"]
    later = cut.select(*key).distinct()
    before = cut.withColumnRenamed("ends", "earlier").join(later, [*LINE, "at"]).where("earlier < ends")
    first = cnset.subtract(cut, before.select(*key, "cn_min", "cn_max"), key)  # a number closes once
    size = F.col("cn_max") - F.col("cn_min") + 1
    opened = heard.select("org", "at", size.alias("by"))
    closed = first.select("org", F.col("ends").alias("at"), (-size).alias("by"))
    changed = opened.unionByName(closed).groupBy("org", "at").agg(F.sum("by").alias("by")).where("by != 0")
    so_far = Window.partitionBy("org").orderBy("at")
    return changed.select("org", "at", F.sum("by").over(so_far).alias("open"))


def letters(messages: DataFrame, receipts: DataFrame) -> DataFrame:
    """One row for each message and recipient: org, message_id, type, store, peer, folder, at, bytes, and why it was lost, if
    it was: on the way, or as it came."""
    gone = receipts.where(F.col("outcome") == Outcome.LOST)
    not_there = gone.select("org", "message_id", F.col("store").alias("peer"), F.col("reason").alias("lost"))
    to = messages.withColumn("to", F.explode("recipients")).withColumn("peer", F.col("to.store"))
    read = ("org", "message_id", "type", "store", "peer", "folder", "at", "bytes")
    return to.select(*read).join(not_there, ["org", "message_id", "peer"], "left")


def by_link(sent: DataFrame, *, stores: DataFrame, links: DataFrame) -> DataFrame:
    """One row for each pair of sites between which letters went: from_site, to_site, cost (null: no link is known; inside a
    site 0), how many letters, and the bytes that they carried."""
    sites = stores.select("org", "store", "site")
    of = sent.join(sites.withColumnRenamed("site", "from_site"), ["org", "store"])
    both = of.join(sites.withColumnsRenamed({"store": "peer", "site": "to_site"}), ["org", "peer"])
    found = both.groupBy("org", "from_site", "to_site").agg(F.count("*").alias("letters"), F.sum("bytes").alias("bytes"))
    costs = links.select("org", "from_site", "to_site", "cost")
    known = found.join(costs, ["org", "from_site", "to_site"], "left")
    return known.withColumn("cost", F.when(F.col("from_site") == F.col("to_site"), 0).otherwise(F.col("cost")))
