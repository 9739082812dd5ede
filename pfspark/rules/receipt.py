"""Receiving a message: accepted or refused, new or held already (R72-R74)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.frame import rule
from pfspark.keys import ORIGIN_HERE
from pfspark.tables import BROUGHT
from pfspark.words import CARRYING, LIVE, MessageType, Outcome, Reason


@rule("carried")
def unpack(delivered: DataFrame) -> DataFrame:
    """The ranges that delivered messages carry (R72), one row for each: org, store (who receives), folder, message, range."""
    carried = delivered.select("org", F.col("recipient").alias("store"), "folder", "message_id", F.inline("carries"))
    return carried.select(*ORIGIN_HERE, "message_id", "cn_min", "cn_max")


@rule("delivered", inline=True)
def of_hierarchy(delivered: DataFrame) -> DataFrame:
    """The messages with hierarchy changes among those that were delivered and not lost."""
    carries = F.col("type").isin(MessageType.HIERARCHY, MessageType.HIERARCHY_RESPONSE)
    return delivered.where(carries & F.col("lost").isNull())


@rule("validated")
def validate(delivered: DataFrame, *, replicas: DataFrame, folders: DataFrame) -> DataFrame:
    """Delivered messages with a `reason` where the recipient has no use for them, null where it accepts them.

    A replica that is active or delete pending receives; one that is to be deleted now, or is none, does not. What is
    refused is left to backfill, should the recipient ever get a replica.

    >>> to = {"org": "o", "recipient": "PFS1"}
    >>> mail = frame("delivered", *({**to, "folder": folder} for folder in ("PFS1:1", "PFS1:2", "PFS1:3")))
    >>> here = {"org": "o", "store": "PFS1", "folder": "PFS1:1"}
    >>> known = frame("folders", {**here, "dead": False}, {**here, "folder": "PFS1:2", "dead": False})
    >>> active = frame("replicas", {**here, "standing": "active"})
    >>> validate(mail, replicas=active, folders=known).select("folder", "reason").orderBy("folder").show()
    +------+---------------+
    |folder|         reason|
    +------+---------------+
    |PFS1:1|           NULL|
    |PFS1:2|no_replica_here|
    |PFS1:3| unknown_folder|
    +------+---------------+

    Source: R1, R74; F52 holds such content for hours, which backfill makes needless.
    """
    standing = replicas.select("org", F.col("store").alias("recipient"), "folder", "standing")
    known = folders.select("org", F.col("store").alias("recipient"), "folder", "dead")
    receives = F.col("standing").isin(*LIVE)
    why = (
        F.when(F.coalesce(receives, F.lit(False)), F.lit(None))
        .when(F.col("dead"), Reason.FOLDER_DELETED)
        .when(F.col("dead").isNull(), Reason.UNKNOWN_FOLDER)
        .otherwise(Reason.NO_REPLICA_HERE)
    )
    here = ["org", "recipient", "folder"]
    return delivered.join(standing, here, "left").join(known, here, "left").withColumn("reason", why).drop("standing", "dead")


@rule("validated")
def accepted(validated: DataFrame) -> DataFrame:
    """The messages that were accepted: not lost at the door, and not refused."""
    return validated.where("lost is null and reason is null")


@rule(like="messages", inline=True)
def of_types(messages: DataFrame, *, types: tuple[MessageType, ...]) -> DataFrame:
    """The messages of those types."""
    return messages.where(F.col("type").isin(*types))


@rule("keys", inline=True)
def recipients(accepted: DataFrame) -> DataFrame:
    """The folders (org, store, folder) that messages have come to."""
    return accepted.select("org", F.col("recipient").alias("store"), "folder")


@rule("ranges", inline=True)
def sift(carried: DataFrame, *, applied: DataFrame) -> DataFrame:
    """Of the numbers carried, the canonical ranges that are not held yet; whoever brings the others, they are dropped.

    Source: R34-R36, R73 (Exchange 2007, "Basic Hierarchy and Content Replication Process", step 10).
    """
    return cnset.subtract(carried, applied, ORIGIN_HERE)


@rule("carried", inline=True)
def sift_each(carried: DataFrame, *, applied: DataFrame) -> DataFrame:
    """The numbers that each message brings and that were not held, whatever others bring."""
    keys = (*ORIGIN_HERE, "message_id")
    held = applied.join(carried.select(*keys).distinct(), list(ORIGIN_HERE))
    return cnset.subtract(carried, held, keys)


@rule("receipts", inline=True)
def receipts(validated: DataFrame, *, news: DataFrame) -> DataFrame:
    """What became of each message at each recipient, and how many of the numbers it carried were `news` (`sift_each`) there.

    A message that is lost or refused brings none; one that carries no changes has no counts.

    >>> here = {"org": "o", "folder": "PFS1:1", "message_id": "m1"}
    >>> carries = [{"origin": "PFS1", "cn_min": 1, "cn_max": 9}]
    >>> mail = {**here, "type": "0x4", "carries": carries}
    >>> validated = frame("validated", {**mail, "recipient": "PFS2"}, {**mail, "recipient": "PFS3"})
    >>> news = frame("carried", {**here, "store": "PFS3", "origin": "PFS1", "cn_min": 8, "cn_max": 9})
    >>> receipts(validated, news=news).select("store", "outcome", "counts").orderBy("store").show()
    +-----+-----------+------+
    |store|    outcome|counts|
    +-----+-----------+------+
    | PFS2|nothing_new|{9, 0}|
    | PFS3|    applied|{9, 2}|
    +-----+-----------+------+

    Source: R72-R74.
    """
    carries = F.col("type").isin(*CARRYING)
    message = ["org", "recipient", "message_id"]
    brought = cnset.size(news.withColumnRenamed("store", "recipient"), message).withColumnRenamed("size", "new")
    sizes = F.transform("carries", lambda each: each["cn_max"] - each["cn_min"] + 1)
    carried = F.aggregate(sizes, F.lit(0).cast("bigint"), lambda sum, size: sum + size)
    outcome = (
        F.when(F.col("lost").isNotNull(), Outcome.LOST)
        .when(F.col("reason").isNotNull() & carries, Outcome.REFUSED)
        .when(F.col("new").isNotNull(), Outcome.APPLIED)
        .otherwise(Outcome.NOTHING_NEW)
    )
    # Cast where it is used, for Arrow takes no null of a struct whose fields are never null.
    counts = F.struct(carried.alias("carried"), F.coalesce("new", F.lit(0)).alias("new"))
    return validated.join(brought, message, "left").select(
        "org",
        F.col("recipient").alias("store"),
        "message_id",
        F.lit(None).cast("string").alias("edit_id"),
        "type",
        "sender",
        "folder",
        outcome.alias("outcome"),
        F.coalesce("lost", "reason").alias("reason"),
        F.lit(None).cast("bigint").alias("place"),
        F.col("now").alias("at"),
        F.when(carries, counts).cast(BROUGHT).alias("counts"),
    )
