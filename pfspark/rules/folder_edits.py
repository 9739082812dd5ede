"""Edits of the tree: the verdict on each, its change number, its place (R11-R19, R40, R42).

Edits of a store are taken in the order of `nth`. What a store says by itself (`decided`) is validated and numbered as they are.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from pfspark import cnset, naming
from pfspark.frame import rule
from pfspark.keys import STORE
from pfspark.tables import PREDECESSOR
from pfspark.words import (
    DELETED,
    HIERARCHY,
    PARENT,
    REPLICA,
    ROOT,
    WHOLE,
    Action,
    Listing,
    Reason,
)

VERDICTS = "array<struct<nth:int,reason:string,on:boolean>>"
BEFORE = -(2**31)
"""The place of what a folder was before all edits of the round, and before what leavers say of themselves."""


@rule("resolved_folders")
def resolve(edits: DataFrame, *, names: DataFrame) -> DataFrame:
    """Hierarchy edits with the folder each is about in `target` (its own edit, where it creates one) and its `parent`."""
    own = F.when(F.col("action") == Action.CREATE_FOLDER, F.concat(F.lit("@"), "edit_id")).otherwise(F.col("folder"))
    resolved = edits.drop("reason").withColumn("target", own)
    return naming.named("parent", names, resolved.withColumn("parent", F.coalesce(F.col("properties")[PARENT], F.lit(ROOT))))


@rule("validated_folders")
def validate(
    edits: DataFrame, *, folders: DataFrame, lists: DataFrame, tree: DataFrame, deleted: DataFrame, too_deep: DataFrame
) -> DataFrame:
    """Resolved edits, each with its `reason`, and whether its store is `on` the folder's list after it: validated in order
    against the list as the edits before it leave it.

    Taking the last replica off a list is refused, and so is taking off a store that is not on it; so is what concerns a
    folder the store does not know or knows to be deleted, or would place one there, or too deep. A list that keeps a replica
    because merging left it empty does so until another is put on it. What a leaver says by itself it does not say once it was
    put on the list again, though it be taken off once more: it has all to prove anew.

    Source: R11-R19; Q26, R148.
    """
    placed = _beneath(edits, folders=folders, deleted=deleted, too_deep=too_deep)
    known = _as_known(placed, folders=folders, lists=lists, tree=tree, deleted=deleted)
    none = F.array().cast("array<string>")
    in_order = known.groupBy(*STORE, "target").agg(
        F.array_sort(F.collect_list(_edit())).alias("edits"),
        F.max(_missing()).alias("missing"),
        F.coalesce(F.max("listed"), none).alias("listed"),
        F.coalesce(F.max("kept"), none).alias("kept"),
    )
    start = F.struct("listed", F.col("missing").cast("string").alias("missing"), F.array().cast(VERDICTS).alias("verdicts"))
    verdicts = in_order.select(*STORE, F.inline(F.aggregate("edits", start, _with_verdict)["verdicts"]))
    return edits.join(verdicts, [*STORE, "nth"])


def _as_known(edits: DataFrame, *, folders: DataFrame, lists: DataFrame, tree: DataFrame, deleted: DataFrame) -> DataFrame:
    """Edits, with what their store knows of the folder: whether it is `dead`, `since` which edit it is deleted, the peers that
    its list has (`listed`), and those that it keeps where it has none (`kept`)."""
    folder = [*STORE, "target"]
    live = folders.select(*STORE, F.col("folder").alias("target"), "dead")
    ending = deleted.withColumnRenamed("folder", "target")
    entry = F.col("property").startswith(REPLICA) & (F.col("value") == Listing.LISTED)
    listed = _lists(tree.where(entry), naming.peer_of(F.col("property")), "listed")
    kept = _lists(lists.where(F.col("listing") == Listing.LISTED), F.col("peer"), "kept")
    known = edits.join(live, folder, "left").join(ending, folder, "left")
    return known.join(listed, folder, "left").join(kept, folder, "left")


def _missing() -> Column:
    """Why a folder cannot be spoken of, unless an edit creates it."""
    return F.when(F.col("dead"), Reason.FOLDER_DELETED).when(F.col("dead").isNull(), Reason.UNKNOWN_FOLDER)


def _edit() -> Column:
    """An edit as it is validated, `nth` first: they are sorted by that."""
    entries = F.map_filter("properties", lambda name, _: name.startswith(REPLICA))

    def peers(listing: Listing) -> Column:
        return F.transform(F.map_keys(F.map_filter(entries, lambda _, value: value == listing)), naming.peer_of)

    return F.struct(
        "nth",
        "action",
        F.when(F.col("since") < F.col("nth"), Reason.FOLDER_DELETED).otherwise(F.col("nowhere")).alias("nowhere"),
        F.col("decided").isNotNull().alias("by_itself"),
        peers(Listing.LISTED).alias("adds"),
        peers(Listing.REMOVED).alias("drops"),
    )


def _with_verdict(so_far: Column, edit: Column) -> Column:
    """One edit more: the list that it leaves, whether the folder is still missing, and the verdicts."""
    before = _standing(so_far["listed"])
    after = F.array_except(F.array_union(so_far["listed"], edit["adds"]), edit["drops"])
    drops = F.size(edit["drops"]) > 0
    creates = edit["action"] == Action.CREATE_FOLDER
    returned = F.exists(so_far["verdicts"], lambda verdict: verdict["on"])
    reason = (
        F.when(~creates & so_far["missing"].isNotNull(), so_far["missing"])
        .when(edit["nowhere"].isNotNull(), edit["nowhere"])
        .when(drops & (F.size(F.array_intersect(before, edit["drops"])) == 0), Reason.NOT_LISTED)
        .when(drops & (F.size(after) == 0), Reason.LAST_REPLICA)
        .when(edit["by_itself"] & (F.array_contains(before, F.col("store")) | returned), Reason.NOT_LEAVING)
    )
    taken = reason.isNull()
    listed = F.when(taken, after).otherwise(so_far["listed"])
    verdict = F.struct(
        edit["nth"].cast("int").alias("nth"),
        reason.cast("string").alias("reason"),
        F.array_contains(_standing(listed), F.col("store")).alias("on"),
    )
    return F.struct(
        listed.alias("listed"),
        F.when(~(taken & creates), so_far["missing"]).cast("string").alias("missing"),
        F.concat(so_far["verdicts"], F.array(verdict)).alias("verdicts"),
    )


def _standing(listed: Column) -> Column:
    """A list, or the one that is kept where nobody is on it."""
    return F.when(F.size(listed) > 0, listed).otherwise(F.col("kept"))


def _beneath(edits: DataFrame, *, folders: DataFrame, deleted: DataFrame, too_deep: DataFrame) -> DataFrame:
    """Resolved edits with `nowhere`: the reason where their `parent` is no folder, or a deleted one, at their place, or lies so
    deep that nothing may lie there.

    A folder made earlier in the round will do, unless it was refused for a place of its own.
    """
    above = [*STORE, "parent"]
    known = folders.select(*STORE, F.col("folder").alias("parent"), F.col("dead").alias("parent_dead"))
    ending = deleted.select(*STORE, F.col("folder").alias("parent"), F.col("since").alias("parent_since"))
    creations = edits.where(F.col("action") == Action.CREATE_FOLDER)
    made = creations.select(*STORE, F.col("target").alias("parent"), F.col("nth").alias("made"))
    there = (F.col("parent") == ROOT) | F.col("parent_dead").isNotNull() | (F.col("made") < F.col("nth"))
    nowhere = F.when(F.col("parent_dead") | (F.col("parent_since") < F.col("nth")), Reason.FOLDER_DELETED).when(
        ~F.coalesce(there, F.lit(False)), Reason.UNKNOWN_FOLDER
    )
    placed = (
        edits.join(known, above, "left")
        .join(ending, above, "left")
        .join(made, above, "left")
        .join(too_deep.withColumn("deep", F.lit(Reason.TOO_DEEP)), [*STORE, "nth"], "left")
        .withColumn("nowhere", F.coalesce(nowhere, "deep"))
        .drop("parent_dead", "parent_since", "made", "deep")
    )

    orphaned = _orphaned(placed).withColumn("orphaned", F.lit(Reason.UNKNOWN_FOLDER))
    return placed.join(orphaned, above, "left").withColumn("nowhere", F.coalesce("nowhere", "orphaned")).drop("orphaned")


def _orphaned(placed: DataFrame) -> DataFrame:
    """Folders that this round's edits name as a `parent`, and that are not made: their creation is refused for its place, or that
    of a folder above it is. Resolved edits with `nowhere` -> org, store, parent."""

    def refuse(so_far: Column, creation: Column) -> Column:
        refused = creation["nowhere"].isNotNull() | F.array_contains(so_far, creation["parent"])
        return F.when(refused, F.array_append(so_far, creation["target"])).otherwise(so_far)

    in_doubt = (
        placed.where(F.col("action") == Action.CREATE_FOLDER)
        .where(F.col("nowhere").isNotNull() | F.col("parent").startswith("@"))
        .groupBy(*STORE)
        .agg(F.array_sort(F.collect_list(F.struct("nth", "target", "parent", "nowhere"))).alias("creations"))
    )
    not_made = F.aggregate("creations", F.array().cast("array<string>"), refuse)
    return in_doubt.select(*STORE, F.explode(not_made).alias("parent"))


def _lists(rows: DataFrame, peer: Column, name: str) -> DataFrame:
    """The peers in `rows` as one array a folder: org, store, target, `name`."""
    return rows.groupBy(*STORE, F.col("folder").alias("target")).agg(F.array_sort(F.collect_set(peer)).alias(name))


@rule("numbered_folders")
def number(validated: DataFrame, *, numbers: DataFrame) -> DataFrame:
    """The edits that are not refused, with `label` and `cn`: their number in folder 1-1, and the folder in `object`.

    A folder is its number, whatever its name: another one under the same name is another folder.

    Source: R31, R40, R41, R47, R141.
    """
    taken = validated.where("reason is null")
    last = numbers.where(F.col("folder") == HIERARCHY).select(*STORE, "label", "last")
    order = Window.partitionBy(*STORE).orderBy("nth")
    numbered = taken.join(last, list(STORE)).withColumn("cn", F.col("last") + F.row_number().over(order)).drop("last")
    named = cnset.number_of("label", "cn").alias("object")
    made = numbered.where(F.col("action") == Action.CREATE_FOLDER).select("org", "edit_id", named)
    return naming.named("parent", made, naming.named("target", made, numbered)).withColumnRenamed("target", "object")


@rule("written_folders", inline=True)
def record(numbered: DataFrame, *, tree: DataFrame) -> DataFrame:
    """Numbered edits with `made_at` and `properties_all`: all of the folder's, each with the stamp of what set it (R27, F31).

    A stamp is never older than the newest the store holds of the folder, so that a clock that was put back loses nothing.
    What a store does by itself is stamped just after the decision it carries out (`decided`), and sets only its own entry.
    """
    held = tree.withColumnRenamed("folder", "object").join(numbered.select(*STORE, "object"), [*STORE, "object"], "left_semi")
    newest = held.groupBy(*STORE, "object").agg(F.max("stamp.at").alias("newest"))
    turn = Window.partitionBy(*STORE, "object", F.col("decided").isNull()).orderBy("nth")
    decided = F.timestamp_add("MICROSECOND", F.lit(1), F.col("decided"))
    first = F.coalesce(decided, F.greatest("now", F.timestamp_add("MICROSECOND", F.lit(1), F.col("newest"))))
    stamped = (
        numbered.join(newest, [*STORE, "object"], "left")
        .withColumn("made_at", F.timestamp_add("MICROSECOND", F.row_number().over(turn) - 1, first))
        .withColumn("stamp", F.struct(F.col("made_at").alias("at"), F.col("label").alias("origin"), "cn"))
        .drop("newest")
    )
    deletion = F.create_map(F.lit(DELETED), F.lit("true"))
    placed = F.transform_values("properties", lambda name, value: F.when(name == PARENT, F.col("parent")).otherwise(value))
    sets = F.when(F.col("action") == Action.DELETE_FOLDER, deletion).otherwise(
        F.coalesce(placed, F.create_map().cast("map<string,string>"))
    )
    settings = stamped.select(*STORE, "object", F.col("nth").alias("set"), "stamp", F.explode(sets).alias("name", "value"))
    before = held.where(~F.col("property").startswith(WHOLE)).select(
        *STORE, "object", F.lit(BEFORE).alias("set"), "stamp", F.col("property").alias("name"), "value"
    )
    latest = (
        stamped.select(*STORE, "object", "nth")
        .join(before.unionByName(settings), [*STORE, "object"])
        .where("set <= nth")
        .groupBy(*STORE, "object", "nth", "name")
        .agg(F.max_by(F.struct("value", "stamp"), "set").alias("top"))
    )
    carried = latest.groupBy(*STORE, "object", "nth").agg(
        F.array_sort(F.collect_list(F.struct("name", "top.value", "top.stamp"))).alias("all")
    )
    return stamped.drop("properties", "stamp").join(carried.withColumnRenamed("all", "properties_all"), [*STORE, "object", "nth"])


@rule("new_changes")
def as_changes(taken: DataFrame) -> DataFrame:
    """Rows of `changes` for folder edits that were taken in, with the `store` they came from."""
    accepted = taken.where("reason is null")
    text = F.to_json(F.map_from_entries(F.transform("properties_all", lambda p: F.struct(p["name"], p["value"]))))
    return accepted.select(
        "org",
        F.lit(HIERARCHY).alias("folder"),
        F.col("label").alias("origin"),
        "cn",
        "object",
        "action",
        F.lit(None).cast("string").alias("name"),
        F.col("properties_all").alias("properties"),
        F.array().cast(f"array<{PREDECESSOR}>").alias("predecessors"),
        F.octet_length(text).cast("bigint").alias("size"),
        F.lit(None).cast("string").alias("hash"),
        "made_at",
        F.when(F.col("decided").isNull(), F.col("edit_id")).alias("edit_id"),
        F.col("now").alias("at"),
        "store",
    )


@rule("folder_edits")
def verdicts(written: DataFrame, refused: DataFrame) -> DataFrame:
    """The edits of the hierarchy of a round: those that were taken in, as they are written, and those that were not."""
    return written.unionByName(refused, allowMissingColumns=True)


@rule("keys_on", inline=True)
def entries(folder_edits: DataFrame) -> DataFrame:
    """Whether a store is `on` a folder's replica list after each of its edits: org, store, folder, nth, on."""
    return folder_edits.where("reason is null").select(*STORE, F.col("object").alias("folder"), "nth", "on")
