"""The promises about what was written down: every round, message and receipt that counts, from the first on.

Like `checks` they are for whoever watches over the organization, and each is the frame of rows that break it.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.keys import NUMBER, ORIGIN_HERE
from pfspark.words import CARRYING, HIERARCHY, MessageType

NEVER_REWRITTEN = ("changes", "messages", "receipts", "replicas")
"""The tables that keep each row as its round wrote it; upkeep writes the others shorter."""


def not_kept(delivered: DataFrame, *, held: DataFrame) -> DataFrame:
    """Ranges that a replica was sent, accepted, and does not hold (I3, R75).

    `delivered`: messages with their `recipient`, accepted by a replica that has been there ever since; `held`: what
    replicas have applied in their current lives.
    """
    here = delivered.select("org", F.col("recipient").alias("store"), "folder", F.inline("carries"))
    return cnset.subtract(here, held, ORIGIN_HERE)


def mixed_subjects(messages: DataFrame) -> DataFrame:
    """Messages that carry changes of folders as content, or of items as hierarchy (I12, R48, R49)."""
    of_hierarchy = F.col("type").isin(MessageType.HIERARCHY, MessageType.HIERARCHY_RESPONSE)
    carrying = messages.where(F.col("type").isin(*CARRYING))
    return carrying.where(of_hierarchy != (F.col("folder") == HIERARCHY)).select("org", "message_id", "type", "folder")


def unaccounted(messages: DataFrame, *, receipts: DataFrame) -> DataFrame:
    """Messages received where they were not sent, or sent or received twice: org, message_id, store, `sent`, `received` (I13).

    A message without a receipt is on its way.
    """
    key = ["org", "message_id", "store"]
    sent = messages.select("org", "message_id", F.explode("recipients.store").alias("store")).groupBy(*key)
    received = receipts.where("message_id is not null").groupBy(*key)
    times = F.count(F.lit(1))
    both = sent.agg(times.alias("sent")).join(received.agg(times.alias("received")), key, "full").fillna(0)
    return both.where("sent != 1 or received > 1")


def unlike_their_edits(changes: DataFrame, *, edits: DataFrame) -> DataFrame:
    """Changes of which no edit of that name says the same: another action, size or hash, or another name of the item (R28)."""
    said = edits.select(
        "org", "edit_id", "action", F.col("name").alias("called"), F.coalesce("size", F.lit(0)).alias("bytes"),
        F.coalesce("hash", F.lit("")).alias("of"),
    )  # fmt: skip
    of_folder = F.col("folder") == HIERARCHY
    same = (F.col("bytes") == F.col("size")) & (F.col("of") == F.coalesce("hash", F.lit("")))
    same &= F.col("called").isNull() | F.col("called").eqNullSafe(F.col("name"))
    told = changes.where("edit_id is not null").select(*NUMBER, "edit_id", "action", "name", "size", "hash")
    agreed = told.join(said, ["org", "edit_id", "action"]).where(of_folder | same)
    return told.join(agreed.select(*NUMBER), list(NUMBER), "left_anti")


def missized(changes: DataFrame, *, content: DataFrame) -> DataFrame:
    """Changes that say another size than their body has."""
    bodies = content.select("hash", F.col("size").alias("bytes")).distinct()
    told = changes.where("hash is not null").select(*NUMBER, "hash", "size")
    return told.join(bodies, "hash").where("size != bytes")


def miscounted(rounds: DataFrame, **tables: DataFrame) -> DataFrame:
    """Rounds with more or fewer rows in a table than their row of the ledger says: round, table, rows, counted (I17).

    `tables` are those of `NEVER_REWRITTEN`, by name.
    """
    written = [
        rows.groupBy("round").agg(F.count(F.lit(1)).alias("rows")).withColumn("table", F.lit(name))
        for name, rows in tables.items()
    ]
    there = reduce(DataFrame.unionByName, written)
    told = rounds.select("round", F.explode("counts").alias("table", "counted")).where(F.col("table").isin(*tables))
    both = told.join(there, ["round", "table"], "full").fillna(0, ["rows", "counted"])
    return both.where("rows != counted").select("round", "table", "rows", "counted")
