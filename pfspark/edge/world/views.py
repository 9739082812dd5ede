"""The views of which the world of a lake is made, each by the rules that say it of the tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from pfspark import cnset, merging
from pfspark.between import RANGE_KEY
from pfspark.edge.world.directory import DIRECTORY, newest
from pfspark.frame import rule, source
from pfspark.keys import AGENDA, HERE, MESSAGE, ORIGIN_HERE, PAIR, RANGE_HERE, STORE
from pfspark.rules import backfill, hierarchy, intake, state
from pfspark.rules.frames import once
from pfspark.tables import EVERY
from pfspark.words import CARRYING, BackfillStep, Entry, Outcome, Standing

OWN = ("state", "replicas", "backfill", "agenda")
"""The tables of what stores know; what a restored store has written in them before counts no more."""


@rule("mail")
def in_flight(messages: DataFrame, *, receipts: DataFrame) -> DataFrame:
    """The view `mail`: messages without a receipt of their recipient. The row of each has no list of all."""
    had = receipts.where("message_id is not null").select("org", "message_id", F.col("store").alias("recipient"))
    to = F.inline("recipients").alias("recipient", "due", "lost")
    said = [column.name for column in EVERY["mail"].columns if column.name in messages.columns]
    return messages.select(*said, to).join(had, [*MESSAGE, "recipient"], "left_anti")


@rule("letters")
def still_to_be_read(messages: DataFrame, *, mail: DataFrame) -> DataFrame:
    """The view `letters`: what the messages say that somebody has not received yet."""
    return messages.join(mail, list(MESSAGE), "left_semi").select(*MESSAGE, "status")


@rule("array")
def open_array(steps: DataFrame, *, table: DataFrame, replicas: DataFrame, begun: DataFrame) -> DataFrame:
    """The view `array`: what a replica has heard of since it last became one, and is not applied.

    A number was heard of when its step says. Each request counts one attempt. When it was asked for last is the sum, over its
    requests, of the time since the request before. `begun` says in which round (`since_round`) each replica began.
    """
    current = steps.join(begun, list(HERE)).where("round >= since_round")
    heard = current.where(F.col("step") == BackfillStep.HEARD).select(
        *RANGE_HERE, F.lit(1).alias("open"), F.unix_micros("at").alias("heard")
    )
    asked = current.where(F.col("step") == BackfillStep.ASKED).select(
        *RANGE_HERE,
        F.lit(1).alias("attempt"),
        (F.unix_micros("at") - F.coalesce(F.unix_micros("since"), F.lit(0))).alias("asked"),
    )
    applied = state.own(table, replicas=replicas).where(F.col("entry") == Entry.APPLIED)
    coverage = cnset.coverage(ORIGIN_HERE, heard, asked, applied.select(*RANGE_HERE, F.lit(1).alias("applied")))
    pieces = cnset.join_up(coverage.where("open > 0 and applied = 0"), ORIGIN_HERE, backfill.TIMES)
    return pieces.select(
        *RANGE_HERE,
        F.timestamp_micros("heard").alias("heard"),
        F.col("attempt").cast("bigint").alias("attempt"),
        F.when(F.col("attempt") > 0, F.timestamp_micros("asked")).alias("asked"),
    )


@rule(like="steps", inline=True)
def begun(steps: DataFrame) -> DataFrame:
    """In which round (`since_round`) each replica last became one: when it was made, or put back after it was gone."""
    gone = F.col("standing").isin(Standing.DELETE_NOW, Standing.ERASED)
    last_gone = F.coalesce(F.max(F.when(gone, F.col("round"))).over(Window.partitionBy(*HERE)), F.lit(0))
    since = steps.withColumn("last_gone", last_gone).where("round > last_gone")
    return since.groupBy(*HERE).agg(F.min("round").alias("since_round"))


@rule("contacts")
def remembered(receipts: DataFrame, steps: DataFrame) -> DataFrame:
    """The view `contacts`: when each store last heard of another and last asked it; see `sources.hear`, `sources.remember`."""
    peer = cnset.store_of("sender").alias("peer")
    got = receipts.where(F.col("message_id").isNotNull() & (F.col("outcome") != Outcome.LOST)).select(
        *STORE, peer, "round", "at", F.when(F.col("type").isin(*CARRYING), F.col("round")).alias("carrying")
    )
    heard = got.groupBy(*PAIR).agg(
        F.max("round").alias("heard_round"),
        F.max_by("at", "round").alias("heard"),
        F.max_by(F.when(F.col("carrying").isNotNull(), F.col("at")), "carrying").alias("sent"),
    )
    of_others = F.col("step").isin(BackfillStep.ASKED, BackfillStep.NAMED) & F.col("of").isNotNull()
    asked = steps.where(of_others).withColumnRenamed("of", "peer")
    last = asked.groupBy(*PAIR).agg(F.max_by("at", "round").alias("asked"))
    silent = (
        asked.where("due is not null")
        .join(heard.select(*PAIR, "heard_round"), list(PAIR), "left")
        .where("round >= coalesce(heard_round, 0)")
        .groupBy(*PAIR)
        .agg(F.min("due").alias("silent"))
    )
    known = heard.drop("heard_round").join(last, list(PAIR), "full").join(silent, list(PAIR), "left")
    return known.select(*PAIR, "heard", "sent", "asked", "silent")


@rule(like="edits")
def waiting(edits: DataFrame, *, receipts: DataFrame) -> DataFrame:
    """Edits that have not been taken in."""
    taken = receipts.where("edit_id is not null").select("org", "edit_id")
    return intake.legible(edits).join(taken, ["org", "edit_id"], "left_anti")


@rule(like="messages", inline=True)
def delivered(receipts: DataFrame, *, messages: DataFrame) -> DataFrame:
    """The messages that were accepted, each with who received it, in which round."""
    accepted = receipts.where("message_id is not null and reason is null")
    recipients = accepted.select("org", "message_id", F.col("store").alias("recipient"), "round")
    return recipients.join(messages.drop("store", "round"), ["org", "message_id"])


@rule(drives=("undone",), amends="receipts", inline=True)
def unheard(receipts: DataFrame, *, undone: DataFrame) -> DataFrame:
    """Without the receipts of what restored stores had accepted between the moment they went back to and the restore."""
    had, gone = receipts.alias("had"), undone.alias("gone")
    theirs = (F.col("had.org") == F.col("gone.org")) & (F.col("had.store") == F.col("gone.store"))
    return had.join(gone, theirs & F.expr("had.round > gone.to and had.round < gone.restored"), "left_anti")


@rule(drives=("restored",), amends="rows", inline=True)
def since_restored(rows: DataFrame, *, restored: DataFrame) -> DataFrame:
    """Without the rows of stores from before their last restore, which wrote them anew as they were then."""
    return rows.join(restored, list(STORE), "left").where("restored is null or round >= restored").drop("restored", "to")


@rule(like="rows", inline=True)
def since_erased(rows: DataFrame, *, replicas: DataFrame) -> DataFrame:
    """Without the state of erased replicas: one that is made again begins with an empty table (R7)."""
    gone = replicas.where(F.col("standing") == Standing.ERASED).groupBy(*HERE).agg(F.max("round").alias("erased"))
    return rows.join(gone, list(HERE), "left").where("erased is null or round > erased").drop("erased")


@rule("state_rows")
def _canonical(rows: DataFrame) -> DataFrame:
    return cnset.canonical(rows, RANGE_KEY)


@rule(like="rows")
def _newest(rows: DataFrame, *, key: Sequence[str]) -> DataFrame:
    return newest(rows, key, "round")


@rule(like="agenda")
def _standing(agenda: DataFrame) -> DataFrame:
    return newest(agenda, AGENDA, "round").where("due is not null")


@rule("lists")
def lists_of(stores: DataFrame, *, tree: DataFrame, folders: DataFrame) -> DataFrame:
    """The view `lists`; a store that sees no folder yet has the list of the hierarchy all the same."""
    return hierarchy.lists(tree, folders=folders).unionByName(hierarchy.everywhere(stores))


def own_rows(read: Callable[[str], DataFrame], restored: DataFrame) -> dict[str, DataFrame]:
    """What stores know of themselves and of others, as far as it counts: `state`, `replicas`, `backfill`, `agenda`."""
    own = {name: since_restored(read(name), restored=restored) for name in OWN}
    return own | {"state": since_erased(own["state"], replicas=own["replicas"])}


@cache
def graph() -> dict[str, DataFrame]:
    """All views, drawn of the tables."""
    restored = source("restored")
    own = own_rows(source, restored)
    table, replicas = _canonical(own["state"]), _newest(own["replicas"], key=HERE)
    accepted = delivered(unheard(source("receipts"), undone=source("undone")), messages=source("messages"))
    trees = merging.trees(source("changes"), table=table, replicas=replicas, whole=source("whole"))
    mail = in_flight(source("messages"), receipts=source("receipts"))
    return {
        **{name: source(name) for name in DIRECTORY if name != "organizations"},
        "changes": once(source("changes")),
        "state": table,
        "replicas": replicas,
        "mail": mail,
        "letters": still_to_be_read(source("messages"), mail=mail),
        "agenda": _standing(own["agenda"]),
        "contacts": remembered(source("receipts"), own["backfill"]),
        "lives": state.read_lives(accepted, letters=source("messages"), lives=source("no lives")),
        "edits": waiting(source("edits"), receipts=source("receipts")),
        "tree": trees.tree,
        "array": open_array(own["backfill"], table=table, replicas=replicas, begun=begun(own["replicas"])),
        "folders": trees.folders,
        "lists": lists_of(source("stores"), tree=trees.tree, folders=trees.folders),
    }
