"""Taking in what people did at a store: the verdict on each edit, its change number, its place in the tree (R11-R33, R42).

Edits of a store are taken in the order of `place`. An edit that the rules refuse gets a reason and no number; numbers of
one replica life in one folder rise by one from edit to edit (R31).
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.tables import PREDECESSOR
from pfspark.words import (
    DELETED,
    HIERARCHY,
    HIERARCHY_ACTIONS,
    PARENT,
    REPLICA,
    ROOT,
    WHOLE,
    Action,
    Listing,
    Reason,
    Standing,
)

HERE = ("org", "store", "folder")
BEFORE = -(2**31)
"""The place of what a folder was before all edits of the round, and before what leavers say of themselves."""


def receive(edits: DataFrame, *, taken: DataFrame, stores: DataFrame, conditions: DataFrame, turns: DataFrame) -> DataFrame:
    """Edits to take in now, in order: `place` counts within (org, store), `reason` is set where one is refused at once.

    Edits at a store that is down wait. A store that does not exist, and an `edit_id` that was taken in before or stands
    earlier among these, are refused.

    Source: R42; `edit_id` makes a repeat harmless.
    """
    due = edits.join(turns.select("org", "now"), "org").where(F.col("at") <= F.col("now"))
    awake = due.join(conditions.where("down").select("org", "store"), ["org", "store"], "left_anti")
    known = stores.select("org", "store", F.lit(True).alias("known"))
    before = taken.select("org", "edit_id", F.lit(True).alias("before")).distinct()
    repeats = Window.partitionBy("org", "edit_id").orderBy("at", "place", "store")
    order = Window.partitionBy("org", "store").orderBy("at", "place", "edit_id")
    again = F.coalesce("before", F.lit(False)) | (F.row_number().over(repeats) > 1)
    reason = F.when(F.col("known").isNull(), Reason.UNKNOWN_STORE).when(again, Reason.ALREADY_TAKEN_IN)
    return (
        awake.join(known, ["org", "store"], "left")
        .join(before, ["org", "edit_id"], "left")
        .withColumn("reason", reason)
        .withColumn("nth", F.row_number().over(order))
        .withColumn("decided", F.lit(None).cast("timestamp"))
        .drop("known", "before")
    )


def of_folders(received: DataFrame) -> DataFrame:
    """The hierarchy edits that were not refused at once."""
    return received.where(F.col("reason").isNull() & F.col("action").isin(*HIERARCHY_ACTIONS))


def of_items(received: DataFrame) -> DataFrame:
    """The content edits that were not refused at once."""
    return received.where(F.col("reason").isNull() & ~F.col("action").isin(*HIERARCHY_ACTIONS))


def edited(changes: DataFrame, edits: DataFrame) -> DataFrame:
    """The changes of the items that are edited."""
    items = edits.select("org", "folder", F.col("item").alias("object"))
    return changes.join(items, ["org", "folder", "object"], "left_semi")


def last_numbers(replicas: DataFrame, *, applied: DataFrame) -> DataFrame:
    """The last change number given by each replica in its current life: org, store, folder, label, last (0: none yet)."""
    own = replicas.select(*HERE, cnset.label_of("store", "life").alias("label"))
    given = applied.select(*HERE, F.col("origin").alias("label"), "cn_max")
    return (
        own.join(given, [*HERE, "label"], "left").groupBy(*HERE, "label").agg(F.coalesce(F.max("cn_max"), F.lit(0)).alias("last"))
    )


def _named(column: str, names: DataFrame, rows: DataFrame) -> DataFrame:
    """Rows with `column` resolved where it is `@` and an edit whose change has a number by now."""
    known = names.select("org", F.concat(F.lit("@"), "edit_id").alias(column), F.col("object").alias("_object"))
    return rows.join(known, ["org", column], "left").withColumn(column, F.coalesce("_object", column)).drop("_object")


def aim(edits: DataFrame, *, names: DataFrame) -> DataFrame:
    """Hierarchy edits with the folder each is about in `target` (its own edit, where it creates one) and its `parent`."""
    own = F.when(F.col("action") == Action.CREATE_FOLDER, F.concat(F.lit("@"), "edit_id")).otherwise(F.col("folder"))
    aimed = edits.drop("reason").withColumn("target", own)
    return _named("parent", names, aimed.withColumn("parent", F.coalesce(F.col("properties")[PARENT], F.lit(ROOT))))


def judge_folders(edits: DataFrame, *, folders: DataFrame, lists: DataFrame) -> DataFrame:
    """Aimed edits, each with its `reason`: judged in order against the list as the edits before it leave it.

    Taking the last replica off a list is refused, and so is taking off a store that is not on it; so is what concerns a
    folder the store does not know or knows to be deleted.

    Source: R11-R19; Q26, R148.
    """
    made = edits.where(F.col("action") == Action.CREATE_FOLDER).select("org", "store", "target", F.col("nth").alias("made"))
    live = folders.select("org", "store", F.col("folder").alias("target"), "dead")
    listed = (
        lists.where(F.col("listing") == Listing.LISTED).groupBy(*HERE).agg(F.array_sort(F.collect_set("peer")).alias("listed"))
    )
    above = live.withColumnsRenamed({"target": "parent", "dead": "parent_dead"})
    above_made = made.withColumnsRenamed({"target": "parent", "made": "parent_made"})
    full = (
        edits.join(live, ["org", "store", "target"], "left")
        .join(listed.withColumnRenamed("folder", "target"), ["org", "store", "target"], "left")
        .join(above, ["org", "store", "parent"], "left")
        .join(above_made, ["org", "store", "parent"], "left")
    )
    parent_ok = (F.col("parent") == ROOT) | (F.col("parent_dead") == F.lit(False)) | (F.col("parent_made") < F.col("nth"))
    entries = F.map_filter("properties", lambda name, _: name.startswith(REPLICA))

    def peers(listing: Listing) -> Column:
        those = F.map_filter(entries, lambda _, value: value == listing)
        return F.transform(F.map_keys(those), lambda name: F.substring(name, len(REPLICA) + 1, 1000))

    edit = F.struct(
        "nth",
        "edit_id",
        "action",
        F.coalesce(parent_ok, F.lit(False)).alias("parent_ok"),
        peers(Listing.LISTED).alias("adds"),
        peers(Listing.REMOVED).alias("drops"),
    )
    missing = F.when(F.col("dead"), Reason.FOLDER_DELETED).when(F.col("dead").isNull(), Reason.UNKNOWN_FOLDER)
    of_folder = full.groupBy("org", "store", "target").agg(
        F.array_sort(F.collect_list(edit)).alias("edits"),
        F.max(missing).alias("missing"),
        F.coalesce(F.max("listed"), F.array().cast("array<string>")).alias("listed"),
    )

    def judge(so_far: Column, edit: Column) -> Column:
        after = F.array_except(F.array_union(so_far["listed"], edit["adds"]), edit["drops"])
        drops = F.size(edit["drops"]) > 0
        creates = edit["action"] == Action.CREATE_FOLDER
        reason = (
            F.when(~creates & so_far["missing"].isNotNull(), so_far["missing"])
            .when(~edit["parent_ok"], Reason.UNKNOWN_FOLDER)
            .when(drops & (F.size(F.array_intersect(so_far["listed"], edit["drops"])) == 0), Reason.NOT_LISTED)
            .when(drops & (F.size(after) == 0), Reason.LAST_REPLICA)
        )
        missing = F.when(edit["action"] == Action.DELETE_FOLDER, Reason.FOLDER_DELETED).when(~creates, so_far["missing"])
        taken = reason.isNull()
        return F.struct(
            F.when(taken, after).otherwise(so_far["listed"]).alias("listed"),
            F.when(taken, missing).otherwise(so_far["missing"]).cast("string").alias("missing"),
            F.concat(
                so_far["verdicts"],
                F.array(F.struct(edit["edit_id"].alias("edit_id"), reason.cast("string").alias("reason"))),
            ).alias("verdicts"),
        )

    nothing = F.array().cast("array<struct<edit_id:string,reason:string>>")
    start = F.struct(F.col("listed").alias("listed"), F.col("missing").cast("string").alias("missing"), nothing.alias("verdicts"))
    verdicts = of_folder.select("org", F.inline(F.aggregate("edits", start, judge)["verdicts"]))
    return edits.join(verdicts, ["org", "edit_id"])


def number_folders(judged: DataFrame, *, numbers: DataFrame) -> DataFrame:
    """The edits that are not refused, with `label` and `cn`: their number in folder 1-1, and the folder in `object`.

    A folder is its number, whatever its name: another one under the same name is another folder.

    Source: R31, R40, R41, R47, R141.
    """
    taken = judged.where("reason is null")
    last = numbers.where(F.col("folder") == HIERARCHY).select("org", "store", "label", "last")
    order = Window.partitionBy("org", "store").orderBy("nth")
    numbered = taken.join(last, ["org", "store"]).withColumn("cn", F.col("last") + F.row_number().over(order)).drop("last")
    named = F.concat_ws(":", "label", F.col("cn").cast("string"))
    made = numbered.where(F.col("action") == Action.CREATE_FOLDER).select("org", "edit_id", named.alias("object"))
    return _named("parent", made, _named("target", made, numbered)).withColumnRenamed("target", "object")


def write_folders(numbered: DataFrame, *, tree: DataFrame) -> DataFrame:
    """Numbered edits with `made_at` and `properties_all`: all of the folder's, each with the stamp of what set it (R27, F31).

    A stamp is never older than the newest the store holds of the folder, so that a clock that was put back loses nothing.
    What a store does by itself is stamped just after the decision it carries out (`decided`), and sets only its own entry.
    """
    held = tree.withColumnRenamed("folder", "object").join(
        numbered.select("org", "store", "object"), ["org", "store", "object"], "left_semi"
    )
    newest = held.groupBy("org", "store", "object").agg(F.max("stamp.at").alias("newest"))
    turn = Window.partitionBy("org", "store", "object").orderBy("nth")
    decided = F.timestamp_add("MICROSECOND", F.lit(1), F.col("decided"))
    first = F.coalesce(decided, F.greatest("now", F.timestamp_add("MICROSECOND", F.lit(1), F.col("newest"))))
    stamped = (
        numbered.join(newest, ["org", "store", "object"], "left")
        .withColumn("made_at", F.timestamp_add("MICROSECOND", F.row_number().over(turn) - 1, first))
        .withColumn("stamp", F.struct(F.col("made_at").alias("at"), F.col("label").alias("origin"), "cn"))
        .drop("newest")
    )
    deletion = F.create_map(F.lit(DELETED), F.lit("true"))
    placed = F.transform_values("properties", lambda name, value: F.when(name == PARENT, F.col("parent")).otherwise(value))
    sets = F.when(F.col("action") == Action.DELETE_FOLDER, deletion).otherwise(
        F.coalesce(placed, F.create_map().cast("map<string,string>"))
    )
    settings = stamped.select(
        "org", "store", "object", F.col("nth").alias("set"), "stamp", F.explode(sets).alias("name", "value")
    )
    before = held.where(F.col("property") != WHOLE).select(
        "org", "store", "object", F.lit(BEFORE).alias("set"), "stamp", F.col("property").alias("name"), "value"
    )
    latest = (
        stamped.select("org", "store", "object", "nth")
        .join(before.unionByName(settings), ["org", "store", "object"])
        .where("set <= nth")
        .groupBy("org", "store", "object", "nth", "name")
        .agg(F.max_by(F.struct("value", "stamp"), "set").alias("top"))
    )
    carried = latest.groupBy("org", "store", "object", "nth").agg(
        F.array_sort(F.collect_list(F.struct("name", "top.value", "top.stamp"))).alias("all")
    )
    return stamped.drop("properties", "stamp").join(
        carried.withColumnRenamed("all", "properties_all"), ["org", "store", "object", "nth"]
    )


def judge_items(
    edits: DataFrame, *, standing: DataFrame, folders: DataFrame, folder_edits: DataFrame, lineage: DataFrame
) -> DataFrame:
    """Content edits, each with its `reason`, and with what a change of its item is made `upon`.

    An edit is judged by the replica's standing as of its place: `standing` before this round's folder edits, then those
    that come before it. An item that the store does not see, or that it sees deleted, cannot be changed.

    Source: R22-R25; D2 (no client may use a replica that is delete pending).
    """
    placed = _judge_places(edits.drop("reason"), standing=standing, folders=folders, folder_edits=folder_edits)
    return _judge_items(placed, lineage=lineage)


def number_items(judged: DataFrame, *, replicas: DataFrame, numbers: DataFrame) -> DataFrame:
    """The edits that are not refused, with `label` and `cn`: their number in their folder.

    Source: R30-R33, R41, R47.
    """
    lives = replicas.select(*HERE, cnset.label_of("store", "life").alias("label"))
    taken = judged.where("reason is null").join(lives, list(HERE)).join(numbers.drop("label"), list(HERE), "left")
    order = Window.partitionBy(*HERE).orderBy("nth")
    return taken.withColumn("cn", F.coalesce("last", F.lit(0)) + F.row_number().over(order)).drop("last")


def write_items(numbered: DataFrame) -> DataFrame:
    """Numbered edits with their `object`, its `name`, and the `predecessors` of their change.

    A change is made upon all versions its store sees and upon those made before it in this round (F12).

    Source: R28, R32.
    """
    own = F.concat_ws(":", "label", F.col("cn").cast("string"))
    posts = numbered.where(F.col("action") == Action.POST).select("org", "edit_id", own.alias("object"))
    posted = _named("item", posts, numbered).withColumn("object", F.coalesce("item", own))
    previous = F.lag("cn").over(Window.partitionBy(*HERE, "object").orderBy("nth"))
    called = F.coalesce("name", "known_as", F.max("name").over(Window.partitionBy(*HERE, "object")), "object")
    chained = posted.withColumns({"previous": previous, "name": called})
    none = F.array().cast(f"array<{PREDECESSOR}>")
    last = F.when(F.col("previous").isNull(), none).otherwise(
        F.array(F.struct(F.col("label").alias("origin"), F.col("previous").alias("cn")))
    )
    others = F.filter(F.coalesce("upon", none), lambda one: F.col("previous").isNull() | (one["origin"] != F.col("label")))
    upon = F.array_sort(F.concat(others, last))
    return chained.withColumn("predecessors", upon).drop("upon", "known_as", "previous")


def refused(judged: DataFrame) -> DataFrame:
    """The edits that were refused; what a store says by itself (`decided`) and can say no more is nobody's edit."""
    return judged.where("reason is not null and decided is null")


def entries(folder_edits: DataFrame) -> DataFrame:
    """A store's own entry of a folder's replica list after each of its edits: org, store, folder, nth, entry.

    `entry` is a word of `Listing`, empty where the store was never listed, or `deleted` where the edit deletes the folder.
    """
    own = F.expr(f"try_element_at(filter(properties_all, p -> p.name = concat('{REPLICA}', store)), 1).value")
    deletes = F.col("action") == Action.DELETE_FOLDER
    entry = F.when(deletes, DELETED).otherwise(F.coalesce(own, F.lit("")))
    return folder_edits.where("reason is null").select(
        "org", "store", F.col("object").alias("folder"), "nth", entry.alias("entry")
    )


def _judge_places(edits: DataFrame, *, standing: DataFrame, folders: DataFrame, folder_edits: DataFrame) -> DataFrame:
    """Edits with a `reason` where the store has no active replica of the folder at that place."""
    accepted = folder_edits.where("reason is null")
    made = accepted.where(F.col("action") == Action.CREATE_FOLDER).select("org", "edit_id", "object")
    resolved = _named("folder", made, edits)
    as_of = (
        resolved.select(*HERE, "nth", "edit_id")
        .join(entries(folder_edits).withColumnRenamed("nth", "set"), list(HERE))
        .where("set < nth")
        .groupBy("org", "edit_id")
        .agg(F.max_by("entry", "set").alias("entry"))
    )
    full = (
        resolved.join(as_of, ["org", "edit_id"], "left")
        .join(standing.select(*HERE, "standing"), list(HERE), "left")
        .join(folders.select(*HERE, "dead"), list(HERE), "left")
    )
    active = F.col("standing") == Standing.ACTIVE
    reason = (
        F.when(F.col("entry") == DELETED, Reason.FOLDER_DELETED)
        .when(F.col("entry") == Listing.LISTED, F.lit(None))
        .when(F.col("entry").isNotNull(), Reason.NO_REPLICA_HERE)
        .when(F.coalesce(active, F.lit(False)), F.lit(None))
        .when(F.col("dead"), Reason.FOLDER_DELETED)
        .when(F.col("dead").isNull(), Reason.UNKNOWN_FOLDER)
        .otherwise(Reason.NO_REPLICA_HERE)
    )
    return full.withColumn("reason", reason).drop("standing", "dead", "entry")


def _judge_items(edits: DataFrame, *, lineage: DataFrame) -> DataFrame:
    """Edits with a `reason` where the item is not there to be changed, and `upon` where it is."""
    seen = lineage.withColumnRenamed("object", "item")
    posts = edits.where((F.col("action") == Action.POST) & F.col("reason").isNull()).select(
        *HERE, F.concat(F.lit("@"), "edit_id").alias("item"), F.col("nth").alias("posted")
    )
    full = edits.join(seen, [*HERE, "item"], "left").join(posts, [*HERE, "item"], "left")
    there = F.col("deleted").isNotNull() | F.coalesce(F.col("posted") < F.col("nth"), F.lit(False))
    earlier = Window.partitionBy(*HERE, "item").orderBy("nth").rowsBetween(Window.unboundedPreceding, -1)
    deletes = (F.col("action") == Action.DELETE) & F.col("reason").isNull() & there
    gone = F.coalesce("deleted", F.lit(False)) | F.coalesce(F.max(deletes).over(earlier), F.lit(False))
    reason = F.coalesce(
        "reason",
        F.when(F.col("action") != Action.POST, F.when(~there, Reason.UNKNOWN_ITEM).when(gone, Reason.ITEM_DELETED)),
    )
    return full.withColumn("reason", reason).drop("deleted", "posted")


def resolve_items(received: DataFrame, *, names: DataFrame) -> DataFrame:
    """Edits with `folder` and `item` as ids, where they name an edit that was taken in before this round."""
    return _named("item", names, _named("folder", names, received))


def as_folder_changes(taken: DataFrame) -> DataFrame:
    """Rows of `changes` for folder edits that were taken in, with the `store` and `nth` they came from."""
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


def as_item_changes(taken: DataFrame) -> DataFrame:
    """Rows of `changes` for content edits that were taken in, with the `store` they came from.

    The moment an item was modified is the moment of the edit, not that of the round (F31).
    """
    accepted = taken.where("reason is null")
    stamp = F.struct(F.col("at").alias("at"), F.col("label").alias("origin"), "cn")
    headers = F.transform(
        F.map_entries(F.coalesce("properties", F.create_map().cast("map<string,string>"))),
        lambda e: F.struct(e["key"].alias("name"), e["value"].alias("value"), stamp.alias("stamp")),
    )
    return accepted.select(
        "org",
        "folder",
        F.col("label").alias("origin"),
        "cn",
        "object",
        "action",
        "name",
        headers.alias("properties"),
        "predecessors",
        F.coalesce("size", F.lit(0)).alias("size"),
        "hash",
        F.col("at").alias("made_at"),
        "edit_id",
        F.col("now").alias("at"),
        "store",
    )


def receipts(verdicts: DataFrame) -> DataFrame:
    """What became of each edit: rows of `receipts`."""
    return verdicts.select(
        "org",
        "store",
        F.lit(None).cast("string").alias("message_id"),
        "edit_id",
        F.col("action").alias("type"),
        F.lit(None).cast("string").alias("sender"),
        "folder",
        F.when(F.col("reason").isNull(), "applied").otherwise("refused").alias("outcome"),
        "reason",
        "place",
        F.col("now").alias("at"),
    )
