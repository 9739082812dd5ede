"""What reaches whom, and when (R56, R57, R59, R64)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark.words import HIERARCHY, MessageType, Reason, Standing


def arrive(mail: DataFrame, *, conditions: DataFrame, replicas: DataFrame, turns: DataFrame) -> DataFrame:
    """Messages that are due by now, one row for each recipient, with the reason in `lost` where it does not get in.

    A store that is cut off or down keeps nothing that reaches it; what was lost on the way arrives as lost, so that
    every message sent is accounted for. A request for content waits at the door while content replication is suspended;
    a leaver answers it all the same (D7). Mail of organizations that do not play now stays where it is.

    Source: R59 (replication messages are mail), R64 (nobody confirms a delivery), F69 (suspend).
    """
    leavers = replicas.where(F.col("standing") == Standing.DELETE_PENDING).select(
        "org", F.col("store").alias("recipient"), "folder", F.lit(True).alias("leaves")
    )
    asks = (F.col("type") == MessageType.BACKFILL_REQUEST) & (F.col("folder") != HIERARCHY)
    waits = F.col("suspended") & asks & F.col("leaves").isNull()
    due = (
        mail.join(turns.select("org", "now", "suspended"), "org")
        .where("due <= now")
        .join(leavers, ["org", "recipient", "folder"], "left")
        .where(~waits)
    )
    at_the_door = due.join(conditions.withColumnRenamed("store", "recipient"), ["org", "recipient"], "left")
    why = F.coalesce("lost", F.when(F.col("down"), Reason.DOWN), F.when(F.col("cut"), Reason.CUT_OFF))
    return at_the_door.withColumn("lost", why).drop("cut", "down", "suspended", "due", "leaves")
