"""Leaving a replica list without losing content (D1-D10)."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.words import REPLICA, Action, Entry, Flag, Listing, MessageType, Standing, Why

HERE = ("org", "store", "folder")
LINE = (*HERE, "origin")


def vouched(delivered: DataFrame, *, replicas: DataFrame) -> DataFrame:
    """Acknowledgements that count: sent to a leaver after it became delete pending (D6, F62)."""
    leaving = replicas.where(F.col("standing") == Standing.DELETE_PENDING)
    said = delivered.where((F.col("type") == MessageType.STATUS) & F.array_contains("flags", str(Flag.ACKNOWLEDGE)))
    told = said.select(
        "org", F.col("recipient").alias("store"), "folder", "message_id", "sender", "status", F.col("at").alias("said")
    )
    return told.join(leaving.select(*HERE, F.col("at").alias("began")), list(HERE)).where("said > began")


def advance(vouched: DataFrame, *, applied: DataFrame, replicas: DataFrame) -> DataFrame:
    """Replicas that may go now: rows of `replicas`, delete pending no longer but delete now.

    The leaver compares its own set of this round with what each acknowledgement shows: direct, from an active replica that
    holds all. One such is enough.

    Source: D7, D8; F62, C5.
    """
    shown = vouched.select(*HERE, "message_id", "sender", F.inline("status")).where(
        (F.col("about") == F.col("sender")) & (F.col("entry") == Entry.REPORTED)
    )
    keys = (*LINE, "message_id")
    own = applied.join(vouched.select(*HERE, "message_id"), list(HERE))
    lacking = cnset.subtract(own, shown, keys).select(*HERE, "message_id").distinct()
    enough = vouched.join(lacking, [*HERE, "message_id"], "left_anti").select(*HERE).distinct()
    return replicas.join(enough, list(HERE), "left_semi").select(*HERE, "life", F.lit(str(Standing.DELETE_NOW)).alias("standing"))


def say_gone(steps: DataFrame, *, tree: DataFrame, turns: DataFrame) -> DataFrame:
    """The edits by which leavers tell that they are gone (D9), in the form of `intake.receive`, before all others.

    Each sets only the leaver's own entry and is stamped just after the removal it carries out (`decided`), so that whoever
    puts the replica back on the list later is not overruled.
    """
    own = tree.where(F.col("property") == F.concat(F.lit(REPLICA), "store")).select(*HERE, F.col("stamp.at").alias("decided"))
    leaving = steps.where(F.col("standing") == Standing.DELETE_NOW).join(turns.select("org", "now"), "org").join(own, list(HERE))
    order = Window.partitionBy("org", "store").orderBy(F.col("folder").desc())
    return leaving.select(
        "org",
        "store",
        F.concat_ws("/", F.lit("gone"), "store", "folder").alias("edit_id"),
        F.col("now").alias("at"),
        F.lit(0).cast("bigint").alias("place"),
        F.lit(str(Action.SET_FOLDER)).alias("action"),
        "folder",
        F.create_map(F.concat(F.lit(REPLICA), "store"), F.lit(str(Listing.GONE))).alias("properties"),
        "now",
        (-F.row_number().over(order)).alias("nth"),
        "decided",
    )


def night(replicas: DataFrame, *, agenda: DataFrame, turns: DataFrame) -> DataFrame:
    """Replicas to be deleted now whose night has come (D8): rows of `replicas`, erased."""
    night = agenda.where(F.col("why") == Why.ERASE).join(turns.select("org", "now"), "org").where("due <= now").select(*HERE)
    gone = replicas.where(F.col("standing") == Standing.DELETE_NOW).join(night, list(HERE), "left_semi")
    return gone.select(*HERE, "life", F.lit(str(Standing.ERASED)).alias("standing"))
