"""Messages with sender, recipients and status, ready to leave (R48, R55-R58)."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.frame import rule
from pfspark.keys import HERE, STORE
from pfspark.tables import CLAIM, RANGE
from pfspark.words import HIERARCHY, LONGEST_S, Flag, MessageType, Reason


def drafts(rows: DataFrame, *, type: str | Column) -> DataFrame:
    """Rows of org, store, folder and `peers`, with any of the other parts of a message, as drafts of that type."""
    ranges = F.array().cast(f"array<{RANGE}>")
    texts = F.array().cast("array<string>")
    parts = {"carries": ranges, "asks": ranges, "responders": texts, "flags": texts, "bytes": F.lit(0).cast("bigint")}
    told = set(rows.columns)
    rest = [name if name in told else nothing.alias(name) for name, nothing in parts.items()]
    kind = type if isinstance(type, Column) else F.lit(str(type))
    return rows.select(*HERE, kind.alias("type"), "peers", *rest)


def to_all(rows: DataFrame, *, recipients: DataFrame) -> DataFrame:
    """Rows with `peers`: all other holders, as one message to them all (R55); rows without any are left out (R45)."""
    peers = recipients.groupBy(*HERE).agg(F.array_sort(F.collect_set("peer")).alias("peers"))
    return rows.join(peers, list(HERE))


@rule("drafts", inline=True)
def changes(packed: DataFrame, *, recipients: DataFrame) -> DataFrame:
    """Own changes to all other holders: 0x2 for the hierarchy, 0x4 for content (R58, R65, R66)."""
    own = to_all(packed.where("asker is null"), recipients=recipients)
    kind = F.when(F.col("folder") == HIERARCHY, MessageType.HIERARCHY).otherwise(MessageType.CONTENT)
    return drafts(own, type=kind)


@rule("drafts", inline=True)
def responses(packed: DataFrame) -> DataFrame:
    """What was asked for, to the asker alone: 0x80000002 and 0x80000004 (R68)."""
    asked = packed.where("asker is not null").withColumn("peers", F.array("asker"))
    kind = F.when(F.col("folder") == HIERARCHY, MessageType.HIERARCHY_RESPONSE).otherwise(MessageType.CONTENT_RESPONSE)
    return drafts(asked, type=kind)


@rule("drafts", inline=True)
def requests(asks: DataFrame) -> DataFrame:
    """Pieces that are asked for, to their sources, a message each: 0x8 (R67)."""
    pieces = cnset.join_up(asks, (*HERE, "origin", "peer"), ()).select(
        *HERE, "peer", F.struct("origin", "cn_min", "cn_max").alias("piece")
    )
    asked = pieces.groupBy(*HERE, "peer").agg(F.array_sort(F.collect_list("piece")).alias("asks"))
    return drafts(asked.withColumn("peers", F.array("peer")), type=MessageType.BACKFILL_REQUEST)


@rule("drafts", inline=True)
def answers(answered: DataFrame, unserved: DataFrame) -> DataFrame:
    """Status to those who asked for it, and to those who asked for what is not here: 0x10, to the asker alone (R135)."""
    told = answered.unionByName(unserved, allowMissingColumns=True)
    flags = F.coalesce("flags", F.array().cast("array<string>"))
    return drafts(told.withColumns({"peers": F.array("peer"), "flags": flags}), type=MessageType.STATUS)


@rule("drafts", inline=True)
def unasked(quiet: DataFrame, *, recipients: DataFrame) -> DataFrame:
    """The status of folders that have been quiet, to all other holders: 0x10 (R136)."""
    return drafts(to_all(quiet, recipients=recipients), type=MessageType.STATUS)


@rule("drafts", inline=True)
def inquiries(inquiries: DataFrame) -> DataFrame:
    """Status requests, one message a folder to every peer that is asked now: 0x20. `responders` are those who must answer (R120,
    R130); a leaver's is marked (F62). Inquiries that do not ask now go nowhere."""
    asked = (
        inquiries.where("asks")
        .groupBy(*HERE, "leaver")
        .agg(
            F.array_sort(F.collect_set("peer")).alias("peers"),
            F.array_sort(F.collect_set(F.when(F.col("must"), F.col("peer")))).alias("responders"),
        )
    )
    mark = F.when(F.col("leaver"), F.array(F.lit(str(Flag.DELETE_PENDING)))).otherwise(F.array().cast("array<string>"))
    return drafts(asked.withColumn("flags", mark), type=MessageType.STATUS_REQUEST)


@rule("drafts")
def written(*drafts: DataFrame) -> DataFrame:
    """All messages of a round, before they have a sender, status and recipients."""
    return reduce(DataFrame.unionByName, drafts)


@rule("senders", inline=True)
def senders(speaking: DataFrame, *, replicas: DataFrame) -> DataFrame:
    """Who speaks about which folder, with the label of its replica: org, store, folder, sender."""
    labels = replicas.select(*HERE, cnset.label_of("store", "life").alias("sender"))
    return speaking.join(labels, list(HERE))


@rule("messages", drives=("drafts", "status"))  # what drives is made first, so the status is made while changes are packed
def address(
    drafts: DataFrame,
    *,
    status: DataFrame,
    limits: DataFrame,
    replicas: DataFrame,
    delays: DataFrame,
    conditions: DataFrame,
    clock: DataFrame,
) -> DataFrame:
    """Drafts as rows of `messages`: sender's label, status, recipients with the moment of delivery, and an id.

    The id is made from time (microseconds since 1970, whatever the session's zone), sender, type, folder and order alone; the
    order of messages alike in these is that of whom they go to, then of the numbers that they carry. What a store that is cut
    off sends is lost on the way, for every recipient. A message is never split by topology: one row however many recipients
    (R55, R56).

    Source: R48, R55-R58.
    """
    carried = F.transform("carries", lambda each: F.struct(cnset.order_of(each["origin"]), each["cn_min"]))
    order = Window.partitionBy(*HERE, "type").orderBy("peers", carried, "asks", "flags")
    nth = F.row_number().over(order).cast("string")
    time = F.format_string("%018d", F.unix_micros("at"))
    cut_off = conditions.where("cut").select(*STORE, F.lit(str(Reason.CUT_OFF)).alias("lost"))

    def recipient(peer: Column) -> Column:
        delay = F.coalesce(F.try_element_at("delays", peer), F.lit(0))
        return F.struct(peer.alias("store"), F.timestamp_add("SECOND", delay, F.col("at")).alias("due"), "lost")

    return (
        senders(drafts, replicas=replicas)
        .join(clock.select("org", F.col("now").alias("at")), "org")
        .join(delays, list(STORE), "left")
        .join(cut_off, list(STORE), "left")
        .join(status, list(HERE), "left")
        .join(limits.select(*HERE, "priority"), list(HERE), "left")
        .select(
            "org",
            F.concat_ws("/", time, "sender", "type", "folder", nth).alias("message_id"),
            "type",
            "store",
            "sender",
            "folder",
            "carries",
            "asks",
            F.coalesce("status", F.array().cast(f"array<{CLAIM}>")).alias("status"),
            F.array_sort(F.transform("peers", recipient)).alias("recipients"),
            "responders",
            "flags",
            "bytes",
            F.coalesce("priority", F.lit("normal")).alias("priority"),
            "at",
        )
    )


@rule("delays", needs=("stores", "links"))
def delays(stores: DataFrame, links: DataFrame) -> DataFrame:
    """How long mail takes from each store to those at other sites, as a map: org, store, `delays` in seconds by recipient."""
    site = stores.select(*STORE, F.col("site").alias("from_site"))
    ways = links.select("org", "from_site", "to_site", "delay_s").where(
        F.col("delay_s").between(1, LONGEST_S) & (F.col("from_site") != F.col("to_site"))
    )
    there = stores.where("store is not null").select("org", F.col("store").alias("peer"), F.col("site").alias("to_site"))
    delays = F.map_from_entries(F.collect_list(F.struct("peer", "delay_s"))).alias("delays")
    return site.join(ways, ["org", "from_site"]).join(there, ["org", "to_site"]).groupBy(*STORE).agg(delays)
