"""Leaving a replica list without losing content, the last step of a move to another store (D1-D10, R142)."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.frame import rule
from pfspark.keys import FOLDER, HERE, MESSAGE, ORIGIN_HERE, STORE
from pfspark.words import LIVE, REPLICA, Action, Entry, Flag, Listing, Standing

BEFORE_ALL, AFTER_ALL = -(2**30), 2**30
"""Places among the edits of a round, which count from 1."""


@rule("acknowledgements")
def acknowledgements(messages: DataFrame, *, letters: DataFrame, replicas: DataFrame, clock: DataFrame) -> DataFrame:
    """Answers that may release a leaver: of status `messages` those sent to it by active replicas after it became delete
    pending (D6, F62).

    Answers of one `proof` count together: under `one_holds_all` each acknowledgement is a proof by itself, under
    `union_holds_all` all answers of a round are one (C5).
    """
    leaving = replicas.where(F.col("standing") == Standing.DELETE_PENDING)
    said = messages.where(F.array_contains("flags", str(Flag.DELETE_PENDING)))
    together = F.col("removal_rule") == "union_holds_all"
    told = (
        said.join(clock.select("org", "removal_rule"), "org")
        .join(letters, list(MESSAGE))
        .where(together | F.array_contains("flags", str(Flag.ACKNOWLEDGE)))
        .select(
            "org", F.col("recipient").alias("store"), "folder", "sender", "status", F.col("at").alias("said"),
            F.when(together, "").otherwise(F.col("message_id")).alias("proof"),
        )
    )  # fmt: skip
    return told.join(leaving.select(*HERE, F.col("at").alias("began")), list(HERE)).where("said > began")


@rule("moves", inline=True)
def advance(acknowledgements: DataFrame, *, applied: DataFrame, replicas: DataFrame, unlisted: DataFrame) -> DataFrame:
    """Replicas that may go now: rows of `replicas`, delete pending no longer but delete now.

    The leaver compares its own set of this round with what each proof shows: direct, from active replicas that between them
    hold all. One proof is enough. A leaver not yet called removed (`unlisted`) first says so, and stays.

    Source: D7, D8; F62, C5.
    """
    shown = acknowledgements.select(*HERE, "proof", "sender", F.inline("status")).where(
        (F.col("about") == F.col("sender")) & (F.col("entry") == Entry.REPORTED)
    )
    keys = (*ORIGIN_HERE, "proof")
    own = applied.join(acknowledgements.select(*HERE, "proof").distinct(), list(HERE))
    lacking = cnset.subtract(own, shown, keys)
    enough = acknowledgements.join(lacking, [*HERE, "proof"], "left_anti")
    may_go = replicas.join(enough, list(HERE), "left_semi").join(unlisted, list(HERE), "left_anti")
    return may_go.select(*HERE, "life", F.lit(str(Standing.DELETE_NOW)).alias("standing"))


@rule("steps", drives=("leaving",))
def let_go(before: DataFrame, leaving: DataFrame, *, replicas: DataFrame) -> DataFrame:
    """Leavers that this round lets go (by their steps in `leaving`), as they stood `before`: they learn, ask and tell in it once
    more, and then are gone."""
    gone = replicas.where(F.col("standing") == Standing.DELETE_NOW).join(leaving, list(HERE), "left_semi")
    return before.where(F.col("standing") == Standing.DELETE_PENDING).join(gone, list(HERE), "left_semi")


@rule("keys", drives=("seen",))
def unlisted(replicas: DataFrame, *, seen: DataFrame, tree: DataFrame) -> DataFrame:
    """Leavers that their list does not call removed, of the folders `seen` anew: org, store, folder.

    A whole object that knew nothing of the replica has overruled what listed it, or what removed it. Nobody would take such
    a leaver for a holder, and what it alone holds would be asked of nobody.

    Source: D3, D6; F31 for the whole object.
    """
    removed = F.col("value").isin(Listing.REMOVED, Listing.LEAVING)
    own = tree.where((F.col("property") == F.concat(F.lit(REPLICA), "store")) & removed)
    leaving = replicas.where(F.col("standing") == Standing.DELETE_PENDING).select(*HERE)
    return leaving.join(seen.select(*HERE), list(HERE), "left_semi").join(own, list(HERE), "left_anti")


@rule("keys", drives=("lists",))
def called_again(replicas: DataFrame, *, lists: DataFrame) -> DataFrame:
    """Replicas that are gone and that `lists`, seen anew, call removed once more: org, store, folder.

    Whoever took them off did not know yet that they had gone. They would be taken for leavers, and asked for ever for what
    they hold no more.

    Source: D9, D10.
    """
    called = lists.where((F.col("peer") == F.col("store")) & (F.col("listing") == Listing.REMOVED))
    gone = replicas.where(~F.col("standing").isin(*LIVE)).select(*HERE)
    return gone.join(called.select(*HERE), list(HERE), "left_semi")


@rule("said_by_itself", inline=True)
def say_leaving(unlisted: DataFrame, *, tree: DataFrame, clock: DataFrame) -> DataFrame:
    """The edits by which leavers that are `unlisted` say themselves that they leave, one each. They come before all others of the
    round, stamped just after the newest property that they hold of the folder; of a folder of which they hold none there is no
    edit (D3, F31)."""
    newest = tree.groupBy(*HERE).agg(F.max("stamp.at").alias("decided"))
    return _say(Listing.LEAVING, unlisted.join(newest, list(HERE)), clock, after=BEFORE_ALL)


@rule("said_by_itself", drives=("steps", "called_again"), inline=True)
def say_gone(steps: DataFrame, *, called_again: DataFrame, tree: DataFrame, clock: DataFrame) -> DataFrame:
    """The edits by which leavers tell that they are gone (D9), after all others, stamped just after the removal that they carry
    out, so that whoever puts the replica back on the list later is not overruled. Those `called_again` say so again."""
    own = tree.where(F.col("property") == F.concat(F.lit(REPLICA), "store")).select(*HERE, F.col("stamp.at").alias("decided"))
    gone = steps.where(F.col("standing") == Standing.DELETE_NOW).select(*HERE).unionByName(called_again)
    return _say(Listing.GONE, gone.join(own, list(HERE)), clock, after=AFTER_ALL)


def _say(listing: Listing, leaving: DataFrame, clock: DataFrame, *, after: int) -> DataFrame:
    """What leavers say of themselves, as edits in the form of `intake.receive`, at the places `after` that one; each sets only
    the leaver's own entry, and is stamped just after what it follows from (`decided`)."""
    order = Window.partitionBy(*STORE).orderBy("folder")
    return leaving.join(clock.select("org", "now"), "org").select(
        "org",
        "store",
        F.concat_ws("/", F.lit(str(listing)), "store", "folder").alias("edit_id"),
        F.col("now").alias("at"),
        F.lit(0).cast("bigint").alias("place"),
        F.lit(str(Action.SET_FOLDER)).alias("action"),
        "folder",
        F.create_map(F.concat(F.lit(REPLICA), "store"), F.lit(str(listing))).alias("properties"),
        "now",
        (after + F.row_number().over(order)).alias("nth"),
        "decided",
    )


@rule("moves", needs=("tonight",), inline=True)
def erase(replicas: DataFrame, *, tonight: DataFrame, applied: DataFrame, empty: DataFrame) -> DataFrame:
    """Replicas to be deleted now whose night has come (D8), by the entries of `tonight`: rows of `replicas`, erased.

    Whoever maintains looks once more, over all stores as no store can: a replica waits for another night while it holds
    what nobody holds who stays, as when a store was restored after it had acknowledged. `applied` and `empty` are ranges of all.
    """
    over = replicas.where(F.col("standing") == Standing.DELETE_NOW).join(tonight, list(HERE), "left_semi")
    staying = replicas.where(F.col("standing").isin(*LIVE)).select(*HERE)
    elsewhere = applied.join(staying, list(HERE), "left_semi").drop("store").join(over.select(*HERE), list(FOLDER))
    safe = elsewhere.unionByName(empty.join(over, list(HERE), "left_semi").select(*elsewhere.columns))
    last = cnset.subtract(applied.join(over, list(HERE), "left_semi"), safe, ORIGIN_HERE)
    gone = over.join(last, list(HERE), "left_anti")
    return gone.select(*HERE, "life", F.lit(str(Standing.ERASED)).alias("standing"))
