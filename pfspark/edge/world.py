"""The world of a lake between two rounds, read from its tables.

A world that is read and one that was kept through any number of rounds are the same, so a process may end between any
two rounds, or within one, and another goes on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from pfspark import cnset
from pfspark.cuts import Cuts
from pfspark.edge.config import conf_folder
from pfspark.edge.delta import FACTS, Snapshot
from pfspark.kept import Kept
from pfspark.rows import ddl, local, nothing, rows_of, schema_of
from pfspark.rules import backfill, hierarchy, items, state
from pfspark.settings import Policy, load_profile, override
from pfspark.tables import EVERY
from pfspark.words import CARRYING, HIERARCHY, Entry, Outcome, Standing

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = ("org", "store", "folder")
LINE = (*HERE, "origin")
RANGES = (*LINE, "cn_min", "cn_max")
PAIR = ("org", "store", "peer")
DIRECTORY = {"organizations": ("org",), "stores": ("org", "store"), "links": ("org", "from_site", "to_site")}
"""The tables that administrators write, with what names an entry; the latest row wins."""


def newest(rows: DataFrame, key: Sequence[str], by: str) -> DataFrame:
    """The row with the highest `by` of each key."""
    return rows.groupBy(*key).agg(F.max_by(F.struct(*rows.columns), by).alias("row")).select("row.*")


def in_flight(messages: DataFrame, receipts: DataFrame) -> DataFrame:
    """The view `mail`: messages without a receipt of their recipient."""
    had = receipts.where("message_id is not null").select("org", "message_id", F.col("store").alias("recipient"))
    to = F.inline("recipients").alias("recipient", "due", "lost")
    return messages.select("*", to).join(had, ["org", "message_id", "recipient"], "left_anti")


def open_array(steps: DataFrame, *, table: DataFrame, replicas: DataFrame, begun: DataFrame) -> DataFrame:
    """The view `array`: what a replica has heard of since it last became one, and is not applied.

    A number was heard of when its step says; each request counts one attempt, and the times between one request and the
    next add up to the time of the last. `begun` says in which round (`since_round`) each replica that misses
    anything at all began.
    """
    current = steps.join(begun, list(HERE)).where("round >= since_round")
    heard = current.where("step = 'heard'").select(*RANGES, F.lit(1).alias("open"), F.unix_micros("at").alias("heard"))
    asked = current.where("step = 'asked'").select(
        *RANGES,
        F.lit(1).alias("attempt"),
        (F.unix_micros("at") - F.coalesce(F.unix_micros("since"), F.lit(0))).alias("asked"),
    )
    applied = state.own(table, replicas=replicas).where(F.col("entry") == Entry.APPLIED)
    line = cnset.line(LINE, heard, asked, applied.select(*RANGES, F.lit(1).alias("applied")))
    pieces = cnset.join_up(line.where("open > 0 and applied = 0"), LINE, backfill.TIMES)
    return pieces.select(
        *RANGES,
        F.timestamp_micros("heard").alias("heard"),
        F.col("attempt").cast("bigint").alias("attempt"),
        F.when(F.col("attempt") > 0, F.timestamp_micros("asked")).alias("asked"),
    )


def begun(steps: DataFrame) -> DataFrame:
    """In which round (`since_round`) each replica last became one: when it was made, or put back after it was gone."""
    gone = F.col("standing").isin(Standing.DELETE_NOW, Standing.ERASED)
    last_gone = F.coalesce(F.max(F.when(gone, F.col("round"))).over(Window.partitionBy(*HERE)), F.lit(0))
    since = steps.withColumn("last_gone", last_gone).where("round > last_gone")
    return since.groupBy(*HERE).agg(F.min("round").alias("since_round"))


def remembered(receipts: DataFrame, steps: DataFrame) -> DataFrame:
    """The view `contacts`: when each store last heard of another and last asked it; see `sources.hear`, `sources.remember`."""
    peer = cnset.store_of("sender").alias("peer")
    got = receipts.where(F.col("message_id").isNotNull() & (F.col("outcome") != Outcome.LOST)).select(
        "org", "store", peer, "round", "at", F.when(F.col("type").isin(*CARRYING), F.col("round")).alias("carrying")
    )
    heard = got.groupBy(*PAIR).agg(
        F.max("round").alias("heard_round"),
        F.max_by("at", "round").alias("heard"),
        F.max_by(F.when(F.col("carrying").isNotNull(), F.col("at")), "carrying").alias("sent"),
    )
    asked = steps.where("step in ('asked', 'named') and of is not null").withColumnRenamed("of", "peer")
    last = asked.groupBy(*PAIR).agg(F.max_by("at", "round").alias("asked"))
    silent = (
        asked.where("step = 'asked'")
        .join(heard.select(*PAIR, "heard_round"), list(PAIR), "left")
        .where("round >= coalesce(heard_round, 0)")
        .groupBy(*PAIR)
        .agg(F.min("due").alias("silent"))
    )
    known = heard.drop("heard_round").join(last, list(PAIR), "full").join(silent, list(PAIR), "left")
    return known.select(*PAIR, "heard", "sent", "asked", "silent")


def own_rows(snapshot: Snapshot, read: Callable[[str], DataFrame]) -> dict[str, DataFrame]:
    """What stores know of themselves and of others, as far as it counts: `state`, `replicas`, `backfill`, `agenda`.

    Without the rows of stores from before their last restore, which wrote them anew as they were then; and without the
    state of erased replicas: one that is made again begins with an empty table (R7).
    """
    last = _last_restores(snapshot)

    def since_restored(rows: DataFrame) -> DataFrame:
        if last is None:
            return rows
        return rows.join(last, ["org", "store"], "left").where("restored is null or round >= restored").drop("restored", "to")

    own = {name: since_restored(read(name)) for name in ("state", "replicas", "backfill", "agenda")}
    gone = own["replicas"].where(F.col("standing") == Standing.ERASED).groupBy(*HERE).agg(F.max("round").alias("erased"))
    state_since = own["state"].join(gone, list(HERE), "left").where("erased is null or round > erased").drop("erased")
    return own | {"state": state_since}


def waiting(edits: DataFrame, receipts: DataFrame) -> DataFrame:
    """Edits that have not been taken in."""
    return edits.join(receipts.where("edit_id is not null").select("org", "edit_id"), ["org", "edit_id"], "left_anti")


def unheard(receipts: DataFrame, snapshot: Snapshot) -> DataFrame:
    """Without the receipts of what a restored store had let in since the moment it went back to."""
    last = _last_restores(snapshot)
    if last is None:
        return receipts
    gone = "restored is not null and round > to and round < restored"
    return receipts.join(last, ["org", "store"], "left").where(f"not ({gone})").drop("restored", "to")


def _last_restores(snapshot: Snapshot) -> DataFrame | None:
    last = {(each.org, each.store): (number, each.to) for number, some in sorted(snapshot.restores.items()) for each in some}
    rows = [(*key, *rounds) for key, rounds in last.items()]
    return snapshot.tables.spark.createDataFrame(rows, "org string, store string, restored bigint, to bigint") if rows else None


def lists_of(tree: DataFrame, *, folders: DataFrame, stores: DataFrame) -> DataFrame:
    """The view `lists`; a store that sees no folder yet has the list of the hierarchy all the same."""
    seen = hierarchy.lists(tree, folders=folders, stores=stores).where(F.col("folder") != HIERARCHY)
    return seen.unionByName(hierarchy.everywhere(stores, stores))


def world(snapshot: Snapshot) -> dict[str, pa.Table]:
    """The world between two rounds, from the tables: see `kept.Kept`.

    `edits` are those without a receipt.
    """
    spark = snapshot.tables.spark
    with Cuts(spark, _columns()) as cut:
        read = {name: _reading(snapshot, name, cut) for name in FACTS}
        own = own_rows(snapshot, read.__getitem__)
        views = directory(snapshot, cut)
        views |= {
            "changes": cut("changes", lambda: read["changes"], when=[read["changes"]]),
            "state": cut(
                "state",
                lambda: cnset.canonical(own["state"], (*HERE, "entry", "about", "origin", "relayed")),
                when=[read["state"]],
            ),
            "replicas": cut("replicas", lambda: newest(own["replicas"], HERE, "round"), when=[read["replicas"]]),
            "mail": cut("mail", lambda: in_flight(read["messages"], read["receipts"]), when=[read["messages"]]),
            "agenda": cut(
                "agenda",
                lambda: newest(own["agenda"], (*HERE, "why", "peer"), "round").where("due is not null"),
                when=[read["agenda"]],
            ),
            "contacts": cut(
                "contacts",
                lambda: remembered(read["receipts"], read["backfill"]),
                when=[read["receipts"], read["backfill"]],
            ),
            "lives": cut(
                "lives",
                lambda: state.read_lives(delivered(snapshot, read.__getitem__), lives=nothing(spark, "lives")),
                when=[read["receipts"]],
            ),
            "edits": cut("edits", lambda: waiting(snapshot.read("edits"), read["receipts"])),
        }
        views["tree"] = cut(
            "tree",
            lambda: _tree(snapshot, views, state.held(views["state"], replicas=views["replicas"]), cut),
            when=[read["changes"]],
        )
        views["array"] = cut(
            "array",
            lambda: open_array(own["backfill"], table=views["state"], replicas=views["replicas"], begun=begun(own["replicas"])),
            when=[read["backfill"]],
        )
        views["folders"] = cut("folders", lambda: hierarchy.folders(views["tree"]), when=[views["tree"]])
        views["lists"] = cut(
            "lists", lambda: lists_of(views["tree"], folders=views["folders"], stores=views["stores"]), when=[views["stores"]]
        )
        return {name: cut.rows(frame) for name, frame in views.items() if name != "organizations"}


def _columns() -> dict[str, str]:
    return {name: ddl(schema_of(name)) for name in EVERY}


def _reading(snapshot: Snapshot, name: str, cut: Cuts) -> DataFrame:
    """A table, of which it is known whether nobody has written to it."""
    if snapshot.untouched(name):
        return cut.know(nothing(snapshot.tables.spark, name), rows_of(name, ()))
    return cut.plan(lambda: snapshot.read(name))


def directory(snapshot: Snapshot, cut: Cuts, names: Iterable[str] = DIRECTORY) -> dict[str, DataFrame]:
    """The entries of the directory, each table by its name."""
    return {name: cut(name, partial(_entries, snapshot, name)) for name in names}


def _entries(snapshot: Snapshot, name: str) -> DataFrame:
    return newest(snapshot.read(name), DIRECTORY[name], "at")


def delivered(snapshot: Snapshot, read: Callable[[str], DataFrame]) -> DataFrame:
    """The messages that were let in, each with who received it, in which round."""
    let_in = unheard(read("receipts").where("message_id is not null and reason is null"), snapshot)
    recipients = let_in.select("org", "message_id", F.col("store").alias("recipient"), "round")
    return recipients.join(read("messages").drop("store", "round"), ["org", "message_id"])


def _tree(snapshot: Snapshot, views: Mapping[str, DataFrame], applied: DataFrame, cut: Cuts) -> DataFrame:
    """The view `tree`, of all that stores hold of the hierarchy."""
    spark = snapshot.tables.spark
    whole = merging_whole(spark, cut.rows(views["organizations"]))
    told = items.seen(views["changes"].where(F.col("folder") == HIERARCHY), applied=applied)
    return hierarchy.merge(nothing(spark, "tree"), told, whole=whole)


def kept_world(snapshot: Snapshot) -> Kept:
    """That world, to be played on."""
    return as_kept(snapshot.tables.spark, world(snapshot))


def as_kept(spark: SparkSession, views: Mapping[str, pa.Table]) -> Kept:
    """Those views as a world; what is not given is empty."""
    made = Kept(spark)
    for name, rows in views.items():
        made.append(name, rows)
    return made


def trees(snapshot: Snapshot) -> dict[str, pa.Table]:
    """As much of the world as paths need, and the verdict on an edit: `stores`, `tree`, `folders`, `lists`, `replicas`, and
    the edits that wait."""
    with Cuts(snapshot.tables.spark, _columns()) as cut:
        read = {name: _reading(snapshot, name, cut) for name in FACTS}
        own = own_rows(snapshot, read.__getitem__)
        views = directory(snapshot, cut, ("organizations", "stores")) | {"changes": read["changes"]}
        replicas = cut("replicas", lambda: newest(own["replicas"], HERE, "round"), when=[read["replicas"]])
        of_hierarchy = own["state"].where(F.col("folder") == HIERARCHY)
        tree = cut(
            "tree",
            lambda: _tree(snapshot, views, state.held(of_hierarchy, replicas=replicas), cut),
            when=[read["changes"]],
        )
        folders = cut("folders", lambda: hierarchy.folders(tree), when=[tree])
        asked = {
            "stores": views["stores"],
            "edits": cut("edits", lambda: waiting(snapshot.read("edits"), read["receipts"])),
            "tree": tree,
            "folders": folders,
            "lists": cut("lists", lambda: lists_of(tree, folders=folders, stores=views["stores"]), when=[tree]),
            "replicas": replicas,
        }
        return {name: cut.rows(frame) for name, frame in asked.items()}


def merging_whole(spark: SparkSession, organizations: pa.Table) -> DataFrame:
    """The organizations in which the whole object of the highest stamp wins: org."""
    named = [(row["org"],) for row in organizations.to_pylist() if policy_of(row).hierarchy_merge == "object"]
    return spark.createDataFrame(named, "org string")


def policy_of(row: Mapping[str, Any]) -> Policy:
    """The policy that a row of `organizations` says."""
    return override(load_profile(row["profile"], conf_folder()), json.loads(row["options"] or "{}"))


def as_frame(spark: SparkSession, name: str, rows: pa.Table) -> DataFrame:
    """Rows of a table or view as a frame; columns that they do not have are left out."""
    left_out = [column for column in schema_of(name).names if column not in rows.column_names]
    schema = schema_of(name, left_out)
    return local(spark, rows.select(schema.names).cast(to_arrow_schema(schema, timezone="UTC")), schema)
