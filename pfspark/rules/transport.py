"""Faults are injected into mail on its way, and what is due is delivered (R56, R57, R59, R64)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pfspark.frame import rule
from pfspark.keys import STORE
from pfspark.suspension import content_waits
from pfspark.words import Flag, MessageType, Reason, Standing

DRAWS = 2**32
"""A draw is one of so many, the first 32 bits of a hash."""


@rule("messages", drives=("faults",), amends="messages")
def inject_faults(messages: DataFrame, *, faults: DataFrame) -> DataFrame:
    """Messages as the way delivers them: some are lost for a recipient, some are late, and some come a second time.

    A copy is a row of its own, with the recipients that it goes to. The faults of a letter are drawn by a hash of the seed, its
    id and whom it goes to: of several about one folder and moment each has a draw of its own, and a scenario that is played
    again is the same story. Mail of ways that nothing is wrong with stays as it is.

    Source: R59 and R64 (mail may be lost, and nobody confirms a delivery).
    """
    troubles = F.struct("lost", "twice", "late_s", "seed")
    ways = faults.groupBy(*STORE).agg(F.map_from_entries(F.collect_list(F.struct("peer", troubles))).alias("ways"))
    # Inside the lambdas `message_id` would be the id of the copy; faults are drawn by that of the letter.
    met = messages.join(ways, list(STORE), "left").withColumn("letter", F.col("message_id"))

    def draw(recipient: Column, question: str) -> Column:
        asked = F.concat_ws("/", way(recipient)["seed"], "letter", recipient["store"], F.lit(question))
        return F.conv(F.substring(F.md5(asked), 1, 8), 16, 10).cast("bigint") / F.lit(DRAWS)

    def way(recipient: Column) -> Column:
        return F.try_element_at("ways", recipient["store"])

    def delivered(recipient: Column, question: str) -> Column:
        late = F.floor(draw(recipient, question) * (F.coalesce(way(recipient)["late_s"], F.lit(0)) + 1))
        gone = F.when(draw(recipient, "lost") < way(recipient)["lost"], str(Reason.UNREACHABLE))
        due = F.timestamp_add("SECOND", late, recipient["due"])
        return F.struct(recipient["store"].alias("store"), due.alias("due"), F.coalesce(recipient["lost"], gone).alias("lost"))

    again = F.filter("recipients", lambda to: draw(to, "twice") < way(to)["twice"])
    copies = met.withColumns(
        {
            "recipients": F.transform(again, lambda to: delivered(to, "late again")),
            "message_id": F.concat_ws("/", "message_id", F.lit(Flag.COPY)),
            "flags": F.concat("flags", F.array(F.lit(Flag.COPY))),
        }
    )
    first = met.withColumn("recipients", F.transform("recipients", lambda to: delivered(to, "late")))
    return first.unionByName(copies.where("size(recipients) > 0")).select(*messages.columns)


@rule("delivered")
def arrive(mail: DataFrame, *, conditions: DataFrame, replicas: DataFrame, clock: DataFrame) -> DataFrame:
    """Messages that are due by now, one row for each recipient, with the reason in `lost` where it does not get in.

    A store that is cut off or down keeps nothing that is delivered to it; what was lost on the way arrives as lost, so that
    every message sent is accounted for. A request for content waits at the door while content replication is suspended,
    as long as the store is up and in reach; a leaver answers it all the same (D7). Mail of organizations that do not play
    now stays where it is.

    Source: R59 (replication messages are mail), R64 (nobody confirms a delivery), F69 (suspend).
    """
    leavers = replicas.where(F.col("standing") == Standing.DELETE_PENDING).select(
        "org", F.col("store").alias("recipient"), "folder", F.lit(True).alias("leaves")
    )
    out = F.coalesce(F.col("down") | F.col("cut"), F.lit(False))
    waits = content_waits() & (F.col("type") == MessageType.BACKFILL_REQUEST) & F.col("leaves").isNull() & ~out
    at_the_door = (
        mail.join(clock.select("org", "now", "suspended"), "org")
        .where("due <= now")
        .join(leavers, ["org", "recipient", "folder"], "left")
        .join(conditions.withColumnRenamed("store", "recipient"), ["org", "recipient"], "left")
        .where(~waits)
    )
    why = F.coalesce("lost", F.when(F.col("down"), Reason.DOWN), F.when(F.col("cut"), Reason.CUT_OFF))
    return at_the_door.withColumn("lost", why).drop("cut", "down", "suspended", "due", "leaves")
