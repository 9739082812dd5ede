"""The world of a lake between two rounds, read from its tables: from the facts of the first on, and what people say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from pfspark import cnset, merging
from pfspark.between import RANGE_KEY, Between
from pfspark.edge.delta.ledger import FACTS, LEDGER, Row, last_rounds, last_turns
from pfspark.edge.delta.snapshot import Snapshot
from pfspark.edge.delta.tables import REFUSALS, Tables
from pfspark.edge.spark.crossing import suited
from pfspark.edge.world.directory import DIRECTORY, directory, merging_whole, newest, told_anew
from pfspark.errors import LakeError
from pfspark.execute import Made, execute
from pfspark.frame import rule, source
from pfspark.graph import steps
from pfspark.keyed import ByName
from pfspark.keys import AGENDA, HERE, ORIGIN_HERE, PAIR, RANGE_HERE, STORE
from pfspark.rows import arrow, local, rows_of, schema_of, struct
from pfspark.rules import backfill, hierarchy, intake, state
from pfspark.rules.frames import once
from pfspark.suited import Suited
from pfspark.tables import FRAMES
from pfspark.words import CARRYING, HIERARCHY, BackfillStep, Entry, Kind, Outcome, Standing

OWN = ("state", "replicas", "backfill", "agenda")
"""The tables of what stores know; what a restored store has written in them before counts no more."""
RESTORES = struct("org string, store string, restored bigint, to bigint")
"""Restores of stores: in which round, and to after which."""


@rule("mail")
def in_flight(messages: DataFrame, *, receipts: DataFrame) -> DataFrame:
    """The view `mail`: messages without a receipt of their recipient."""
    had = receipts.where("message_id is not null").select("org", "message_id", F.col("store").alias("recipient"))
    to = F.inline("recipients").alias("recipient", "due", "lost")
    return messages.select("*", to).join(had, ["org", "message_id", "recipient"], "left_anti")


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
def _lists_of(stores: DataFrame, *, tree: DataFrame, folders: DataFrame) -> DataFrame:
    return lists_of(tree, folders=folders, stores=stores)


def lists_of(tree: DataFrame, *, folders: DataFrame, stores: DataFrame) -> DataFrame:
    """The view `lists`; a store that sees no folder yet has the list of the hierarchy all the same."""
    return hierarchy.lists(tree, folders=folders).unionByName(hierarchy.everywhere(stores))


def own_rows(read: Callable[[str], DataFrame], restored: DataFrame) -> dict[str, DataFrame]:
    """What stores know of themselves and of others, as far as it counts: `state`, `replicas`, `backfill`, `agenda`."""
    own = {name: since_restored(read(name), restored=restored) for name in OWN}
    return own | {"state": since_erased(own["state"], replicas=own["replicas"])}


def last_restores(snapshot: Snapshot) -> DataFrame:
    """When each store that was restored was restored last: `RESTORES`."""
    return local(snapshot.tables.spark, _last_restores(snapshot), RESTORES)


def undone(snapshot: Snapshot) -> DataFrame:
    """What restores took back of what their stores had heard: `RESTORES`."""
    return local(snapshot.tables.spark, _undone(snapshot), RESTORES)


def _last_restores(snapshot: Snapshot) -> pa.Table:
    return arrow(RESTORES, (some[-1] for some in _restores(snapshot).values()))


def _undone(snapshot: Snapshot) -> pa.Table:
    """The restores of each store that no later one has undone: one to a moment before an earlier restore undoes that too."""

    def counting(some: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        before = snapshot.row.round
        for each in reversed(some):
            if each["restored"] <= before:
                yield each
                before = each["to"]

    return arrow(RESTORES, (each for some in _restores(snapshot).values() for each in counting(some)))


def _restores(snapshot: Snapshot) -> Mapping[tuple[str, str], list[dict[str, Any]]]:
    """The restores of each store, in their order."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for number, some in sorted(snapshot.restores.items()):
        for each in some:
            found[each.org, each.store].append({"org": each.org, "store": each.store, "restored": number, "to": each.to})
    return found


def contacts_before_asking(snapshot: Snapshot) -> pa.Table:
    """The view `contacts` as it stood when the snapshot's round asked: with what had come in, without what that round asked."""
    steps = since_restored(snapshot.read("backfill"), restored=last_restores(snapshot))
    return remembered(snapshot.read("receipts"), steps.where(F.col("round") < snapshot.row.round)).toArrow()


def clocks(snapshot: Snapshot) -> dict[str, datetime]:
    """The time of each organization's last round, by the ledger alone; absent: it had none yet."""
    if (ledger := snapshot.arrow("rounds", columns=["round", "turns"])) is not None:
        return last_turns(ledger)
    turns = newest(snapshot.read("rounds").select("round", F.inline("turns")), ["org"], "round")
    return {row["org"]: row["now"] for row in turns.toArrow().to_pylist()}


def played_last(snapshot: Snapshot, orgs: Iterable[str]) -> dict[str, Row]:
    """The row of the last round that each of those organizations played, restores left out; absent: there was none yet."""
    if snapshot.row.kind == Kind.PLAYED and {*orgs} <= snapshot.row.turns.keys():
        return dict.fromkeys(orgs, snapshot.row)
    if (ledger := snapshot.arrow(LEDGER, pc.field("kind") == Kind.PLAYED, ["round", "turns", "kind"])) is not None:
        last = last_rounds(ledger)
    else:
        turns = snapshot.read(LEDGER).where(F.col("kind") == Kind.PLAYED).select("round", F.inline("turns"))
        last = {row["org"]: row["round"] for row in newest(turns, ["org"], "round").toArrow().to_pylist()}
    wanted = sorted({last[org] for org in orgs if org in last})
    found = snapshot.arrow(LEDGER, pc.field("round").isin(wanted))
    whole = snapshot.read(LEDGER).where(F.col("round").isin(wanted)).toArrow() if found is None else found
    rows = {row["round"]: Row.read(row) for row in whole.to_pylist()}
    return {org: rows[last[org]] for org in orgs if org in last}


def told_since(snapshot: Snapshot, orgs: Iterable[str], entries: ByName) -> dict[str, set[str]]:
    """Of these organizations those that were not played yet, and those of which the directory, by its `entries`, says something
    else than when they were played last, each with its stores that were retired then; of what is too long ago, all."""
    played = played_last(snapshot, orgs)
    found: dict[str, set[str]] = {org: set() for org in orgs if org not in played}
    for versions in {tuple(row.versions[name] for name in DIRECTORY) for row in played.values()}:
        then = dict(zip(DIRECTORY, versions, strict=True))
        by_then = {org for org, row in played.items() if then.items() <= row.versions.items()}
        if then.items() <= snapshot.people.items():
            continue
        try:
            before = directory(replace(snapshot, people={**snapshot.people, **then}))
        except (LakeError, *REFUSALS):
            found |= {org: set() for org in by_then}
        else:
            found |= {org: stores for org, stores in told_anew(before, entries).items() if org in by_then}
    return found


def world(snapshot: Snapshot) -> dict[str, pa.Table]:
    """The world between two rounds, from the tables: see `between.Between`.

    `edits` are those without a receipt.
    """
    return {name: rows for name, rows in _views(snapshot).items() if name != "organizations"}


def trees(snapshot: Snapshot) -> dict[str, pa.Table]:
    """As much of the world as paths need, and the verdict on an edit: `stores`, `tree`, `folders`, `lists`, `replicas`, and
    the edits that wait."""
    return _views(snapshot, ("stores", "edits", "tree", "folders", "lists", "replicas"), folder=HIERARCHY)


def _views(snapshot: Snapshot, names: Iterable[str] = (), folder: str | None = None) -> dict[str, pa.Table]:
    """Those views of what the tables say, or all; of the own state of one folder alone if it is named."""
    wanted = {name: view for name, view in _drawn().items() if not names or name in names}
    asked = {step.name for step in steps(wanted.values()) if step.rule is None}
    known = directory(snapshot, [name for name in DIRECTORY if name in asked or name == "organizations"])
    given = {
        **{name: as_made(name, rows) for name, rows in known.items()},
        **{name: _facts(snapshot, name, folder if name == "state" else None) for name in (*FACTS, "edits") if name in asked},
        "restored": Made.of(_last_restores(snapshot), RESTORES, suited),
        "undone": Made.of(_undone(snapshot), RESTORES, suited),
        "whole": Made.of(merging_whole(known["organizations"]), struct(FRAMES["orgs"].ddl), suited),
        merging.OF_NONE: as_made("tree", rows_of("tree", ())),
        "no lives": as_made("lives", rows_of("lives", ())),
    }
    return execute(snapshot.tables.spark, wanted, given, suited)


def _facts(snapshot: Snapshot, name: str, folder: str | None) -> Made:
    """The valid rows of a table, or of one folder in it: where they are few they are here."""
    few = snapshot.few(name)
    if few is not None:
        return as_made(name, few.filter(pc.field("folder") == folder) if folder else few)
    return Made(lambda _spark: snapshot.read(name).where(F.col("folder") == folder) if folder else snapshot.read(name))


@cache
def _drawn() -> dict[str, DataFrame]:
    """All views, drawn of the tables."""
    restored = source("restored")
    own = own_rows(source, restored)
    table, replicas = _canonical(own["state"]), _newest(own["replicas"], key=HERE)
    accepted = delivered(unheard(source("receipts"), undone=source("undone")), messages=source("messages"))
    trees = merging.trees(source("changes"), table=table, replicas=replicas, whole=source("whole"))
    return {
        **{name: source(name) for name in DIRECTORY},
        "changes": once(source("changes")),
        "state": table,
        "replicas": replicas,
        "mail": in_flight(source("messages"), receipts=source("receipts")),
        "agenda": _standing(own["agenda"]),
        "contacts": remembered(source("receipts"), own["backfill"]),
        "lives": state.read_lives(accepted, lives=source("no lives")),
        "edits": waiting(source("edits"), receipts=source("receipts")),
        "tree": trees.tree,
        "array": open_array(own["backfill"], table=table, replicas=replicas, begun=begun(own["replicas"])),
        "folders": trees.folders,
        "lists": _lists_of(source("stores"), tree=trees.tree, folders=trees.folders),
    }


def world_between(snapshot: Snapshot, suited: Suited = suited) -> Between:
    """That world, to be played on."""
    return as_between(snapshot.tables, world(snapshot), suited)


def as_between(tables: Tables, views: ByName, suited: Suited = suited) -> Between:
    """Those views of a lake as a world; what is not given is empty. `suited` says how its rounds are made."""
    made = Between(lambda: tables.spark, suited=suited)
    for name, rows in views.items():
        made.append(name, rows)
    return made


def as_frame(spark: SparkSession, name: str, rows: pa.Table) -> DataFrame:
    """Rows of a table or view as a frame; columns that they do not have are left out."""
    return local(spark, *_fitted(name, rows))


def as_made(name: str, rows: pa.Table) -> Made:
    """Rows of a table or view as a step is given them; columns that they do not have are left out."""
    return Made.of(*_fitted(name, rows), suited)


def _fitted(name: str, rows: pa.Table) -> tuple[pa.Table, StructType]:
    left_out = [column for column in schema_of(name).names if column not in rows.column_names]
    schema = schema_of(name, left_out)
    return rows.select(schema.names).cast(to_arrow_schema(schema, timezone="UTC")), schema
