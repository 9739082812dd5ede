"""Letters with sender, recipients and status, ready to leave (R48, R55-R58)."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.tables import CLAIM, RANGE
from pfspark.words import Reason

HERE = ("org", "store", "folder")
LETTER = (*HERE, "type", "peers", "carries", "asks", "responders", "flags", "bytes")


def letters(rows: DataFrame, *, type: str) -> DataFrame:
    """Rows of org, store, folder and `peers`, with any of the other parts of a letter, as letters of that type."""
    ranges = F.array().cast(f"array<{RANGE}>")
    texts = F.array().cast("array<string>")
    parts = {"carries": ranges, "asks": ranges, "responders": texts, "flags": texts, "bytes": F.lit(0).cast("bigint")}
    missing = {name: nothing for name, nothing in parts.items() if name not in rows.columns}
    return rows.withColumns({**missing, "type": F.lit(str(type))}).select(*LETTER)


def to_all(rows: DataFrame, *, recipients: DataFrame) -> DataFrame:
    """Rows with `peers`: all other holders, as one message to them all (R55); rows without any are left out."""
    peers = recipients.groupBy(*HERE).agg(F.array_sort(F.collect_set("peer")).alias("peers"))
    return rows.join(peers, list(HERE))


def address(
    letters: DataFrame,
    *,
    status: DataFrame,
    replicas: DataFrame,
    stores: DataFrame,
    links: DataFrame,
    conditions: DataFrame,
    turns: DataFrame,
) -> DataFrame:
    """Letters as rows of `messages`: sender's label, status, recipients with the moment of delivery, and an id.

    The id is made from time, sender, type, folder and order alone. What a store that is cut off sends is lost on the way,
    for every recipient. A letter is never split by topology: one row however many recipients (R55, R56).

    Source: R48, R55-R58.
    """
    labels = replicas.select(*HERE, cnset.label_of("store", "life").alias("sender"))
    order = Window.partitionBy(*HERE, "type").orderBy("peers", "carries", "asks", "flags")
    named = (
        letters.join(labels, list(HERE))
        .join(turns.select("org", F.col("now").alias("at")), "org")
        .withColumn("nth", F.row_number().over(order))
        .withColumn(
            "message_id",
            F.concat_ws(
                "/",
                F.date_format("at", "yyyyMMdd'T'HHmmss.SSSSSS"),
                "sender",
                "type",
                "folder",
                F.col("nth").cast("string"),
            ),
        )
    )
    site = stores.select("org", "store", "site")
    routes = (
        named.select("org", "store", "message_id", "at", F.explode("peers").alias("peer"))
        .join(site.withColumnRenamed("site", "from_site"), ["org", "store"])
        .join(site.withColumnsRenamed({"store": "peer", "site": "to_site"}), ["org", "peer"], "left")
        .join(links.select("org", "from_site", "to_site", "delay_s"), ["org", "from_site", "to_site"], "left")
        .join(
            conditions.where("cut").select("org", "store", F.lit(str(Reason.CUT_OFF)).alias("lost")),
            ["org", "store"],
            "left",
        )
    )
    delay = F.when(F.col("from_site") == F.col("to_site"), 0).otherwise(F.coalesce("delay_s", F.lit(0)))
    recipient = F.struct(
        F.col("peer").alias("store"), F.timestamp_add("SECOND", delay, F.col("at")).alias("due"), "lost"
    )
    addressed = routes.groupBy("org", "message_id").agg(F.array_sort(F.collect_list(recipient)).alias("recipients"))
    said = F.coalesce("status", F.array().cast(f"array<{CLAIM}>")).alias("status")
    return (
        named.join(addressed, ["org", "message_id"])
        .join(status, list(HERE), "left")
        .select(
            "org",
            "message_id",
            "type",
            "store",
            "sender",
            "folder",
            "carries",
            "asks",
            said,
            "recipients",
            "responders",
            "flags",
            "bytes",
            "at",
        )
    )
