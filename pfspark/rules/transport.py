"""What reaches whom, and when (R56, R57, R59, R64)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark.words import HIERARCHY, MessageType, Reason


def arrive(mail: DataFrame, *, conditions: DataFrame, turns: DataFrame) -> DataFrame:
    """Messages that are due by now, one row for each recipient, with the reason in `lost` where it does not get in.

    A store that is cut off or down keeps nothing that reaches it; what was lost on the way arrives as lost, so that
    every message sent is accounted for. A request for content waits at the door while content replication is suspended
    and is answered afterwards. Mail of organizations that do not play now stays where it is.

    Source: R59 (replication messages are mail), R64 (nobody confirms a delivery), F69 (suspend).
    """
    waits = F.col("suspended") & (F.col("type") == MessageType.BACKFILL_REQUEST) & (F.col("folder") != HIERARCHY)
    due = mail.join(turns.select("org", "now", "suspended"), "org").where((F.col("due") <= F.col("now")) & ~waits)
    at_the_door = due.join(conditions.withColumnRenamed("store", "recipient"), ["org", "recipient"], "left")
    why = F.coalesce("lost", F.when(F.col("down"), Reason.DOWN), F.when(F.col("cut"), Reason.CUT_OFF))
    return at_the_door.withColumn("lost", why).drop("cut", "down", "suspended", "due")
