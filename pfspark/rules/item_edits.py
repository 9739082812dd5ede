"""Edits of items: the verdict on each, its change number, and what its change is made upon (R22-R33).

Numbers of one replica life in one folder rise by one from edit to edit (R31).
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from pfspark import cnset, naming
from pfspark.frame import rule
from pfspark.keys import FOLDER, HERE, OBJECT
from pfspark.tables import PREDECESSOR
from pfspark.words import HIERARCHY, Action, Reason, Standing


@rule(like="changes", needs=("changes", "edits"))
def edited(changes: DataFrame, edits: DataFrame) -> DataFrame:
    """The changes of the items that are edited."""
    items = edits.select(*FOLDER, F.col("item").alias("object"))
    return changes.join(items, list(OBJECT), "left_semi")


@rule(like="edits", inline=True)
def posted(edits: DataFrame) -> DataFrame:
    """Those that make an item."""
    return edits.where(F.col("action") == Action.POST)


@rule(like="edits", inline=True)
def changing(edits: DataFrame) -> DataFrame:
    """Those that change an item which must be there."""
    return edits.where(F.col("action") != Action.POST)


@rule("as_of", drives=("folder_edits",), needs=("edits",))
def as_of(edits: DataFrame, *, folder_edits: DataFrame, entries: DataFrame, deleted: DataFrame) -> DataFrame:
    """What this round's edits of folders make of the places of content edits: org, edit_id, the folder it is in (`within`), the
    place of the deletion that takes that along (`since`), and whether the store is `on` its list by then. An edit of whose place
    they make nothing has no row."""
    accepted = folder_edits.where("reason is null")
    made = accepted.where(F.col("action") == Action.CREATE_FOLDER).select("org", "edit_id", "object")
    called = edits.select(*HERE, "nth", "edit_id", F.col("folder").alias("called"))
    placed = called.join(deleted.select(*HERE, "since"), list(HERE), "left")
    resolved = naming.named("folder", made, placed)
    last = (
        resolved.join(entries.withColumnRenamed("nth", "set"), list(HERE))
        .where("set < nth")
        .groupBy("org", "edit_id")
        .agg(F.max_by("on", "set").alias("on"))
    )
    known = resolved.join(last, ["org", "edit_id"], "left").withColumnRenamed("folder", "within")
    changed = known.where("within != called or since is not null or on is not null")
    return changed.select("org", "edit_id", "within", "since", "on")


@rule("validated_items", inline=True)
def validate_places(edits: DataFrame, *, as_of: DataFrame, standing: DataFrame, folders: DataFrame) -> DataFrame:
    """Content edits, with a `reason` where the store has no active replica of the folder at that place; made `upon` nothing.

    An edit is validated against the replica's standing as of its place: `standing` before this round's folder edits, then those
    that come before it (`as_of`), deletions of folders above among them.

    Source: R22-R25; D2 (no client may use a replica that is delete pending).
    """
    full = (
        edits.drop("reason")
        .join(as_of, ["org", "edit_id"], "left")
        .withColumn("folder", F.coalesce("within", "folder"))
        .drop("within")
        .join(standing.select(*HERE, "standing"), list(HERE), "left")
        .join(folders.select(*HERE, "dead"), list(HERE), "left")
    )
    active = F.col("standing") == Standing.ACTIVE
    reason = (
        F.when(F.col("folder") == HIERARCHY, Reason.UNKNOWN_FOLDER)  # the tree is a folder of folders: no item lies there
        .when(F.col("since") < F.col("nth"), Reason.FOLDER_DELETED)
        .when(F.col("on"), F.lit(None))
        .when(F.col("on").isNotNull(), Reason.NO_REPLICA_HERE)
        .when(F.coalesce(active, F.lit(False)), F.lit(None))
        .when(F.col("dead"), Reason.FOLDER_DELETED)
        .when(F.col("dead").isNull(), Reason.UNKNOWN_FOLDER)
        .otherwise(Reason.NO_REPLICA_HERE)
    )
    upon_nothing = {"upon": F.lit(None).cast(f"array<{PREDECESSOR}>"), "known_as": F.lit(None).cast("string")}
    return full.withColumns({"reason": reason, **upon_nothing}).drop("standing", "dead", "on", "since")


@rule("validated_items", inline=True)
def validate(changing: DataFrame, *, posted: DataFrame, lineage: DataFrame) -> DataFrame:
    """Changes of items, with a `reason` where the item is not there to be changed, and what they are made `upon` where it is.

    An item is there that the store sees (`lineage`), or that was posted before in this round (`posted`); one that it sees
    deleted cannot be changed.

    Source: R22-R25.
    """
    asked = F.broadcast(_of_posts(changing).select(*HERE, "item").distinct())
    made = posted.where("reason is null").select(
        *HERE, F.concat(F.lit("@"), "edit_id").alias("item"), F.col("nth").alias("posted")
    )
    posts = made.join(asked, [*HERE, "item"], "left_semi")
    seen = lineage.withColumnRenamed("object", "item")
    full = changing.drop("upon", "known_as").join(seen, [*HERE, "item"], "left").join(posts, [*HERE, "item"], "left")
    there = F.col("deleted").isNotNull() | F.coalesce(F.col("posted") < F.col("nth"), F.lit(False))
    earlier = Window.partitionBy(*HERE, "item").orderBy("nth").rowsBetween(Window.unboundedPreceding, -1)
    deletes = (F.col("action") == Action.DELETE) & F.col("reason").isNull() & there
    gone = F.coalesce("deleted", F.lit(False)) | F.coalesce(F.max(deletes).over(earlier), F.lit(False))
    reason = F.coalesce("reason", F.when(~there, Reason.UNKNOWN_ITEM).when(gone, Reason.ITEM_DELETED))
    return full.withColumn("reason", reason).drop("deleted", "posted")


@rule("numbered_items")
def number(validated: DataFrame, *, replicas: DataFrame, numbers: DataFrame) -> DataFrame:
    """The edits with `label` and `cn`, their number in their folder; those that are refused have none, and use none up.

    >>> here = {"org": "o", "store": "PFS1", "folder": "PFS1:1"}
    >>> said = (("a", None), ("b", "unknown_item"), ("c", None))
    >>> edits = ({**here, "edit_id": edit, "nth": nth, "reason": reason} for nth, (edit, reason) in enumerate(said))
    >>> replicas, last = frame("replicas", {**here, "life": 2}), frame("last_numbers", {**here, "last": 6})
    >>> found = number(frame("validated_items", *edits), replicas=replicas, numbers=last)
    >>> found.select("edit_id", "label", "cn").orderBy("edit_id").show()
    +-------+------+----+
    |edit_id| label|  cn|
    +-------+------+----+
    |      a|PFS1~2|   7|
    |      b|  NULL|NULL|
    |      c|PFS1~2|   8|
    +-------+------+----+

    Source: R30-R33, R41, R47.
    """
    lives = replicas.select(*HERE, cnset.label_of("store", "life").alias("_label"))
    here = validated.join(lives, list(HERE), "left").join(numbers.drop("label"), list(HERE), "left")
    taken = F.col("reason").isNull()
    so_far = Window.partitionBy(*HERE).orderBy("nth").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    cn = F.coalesce("last", F.lit(0)) + F.count(F.when(taken, F.lit(1))).over(so_far)
    return here.withColumns({"label": F.when(taken, F.col("_label")), "cn": F.when(taken, cn)}).drop("_label", "last")


@rule(like="numbered", inline=True)
def taken(numbered: DataFrame) -> DataFrame:
    """The edits that are not refused: they have a number."""
    return numbered.where("reason is null")


@rule("written_items", inline=True)
def record_posts(posts: DataFrame, *, changing: DataFrame) -> DataFrame:
    """Posts of which nothing is changed in the same round, with their `object`, its `name`, and no `predecessors` (R32)."""
    alone = posts.join(*_named_by(changing), "left_anti").withColumn("object", cnset.number_of("label", "cn"))
    first = alone.withColumns({"name": F.coalesce("name", "object"), "predecessors": _no_predecessors()})
    return first.drop("upon", "known_as")


@rule("written_items", inline=True)
def record_changes(changing: DataFrame, *, posts: DataFrame) -> DataFrame:
    """Changes of items, and the posts of this round that they change, with `object`, `name` and `predecessors`.

    A change is made upon all versions its store sees and upon those made before it in this round (F12).

    Source: R28, R32.
    """
    # An item is the number under which it was posted.
    edited = posts.join(*_named_by(changing), "left_semi").withColumn("object", cnset.number_of("label", "cn"))
    resolved = naming.named("item", edited.select("org", "edit_id", "object"), changing).withColumn("object", F.col("item"))
    return _upon_each_other(resolved.unionByName(edited)).drop("upon", "known_as")


def _of_posts(changing: DataFrame) -> DataFrame:
    """The changes of what is posted in the same round, which they call `@` and the edit."""
    return changing.where(F.startswith("item", F.lit("@")))


def _named_by(changing: DataFrame) -> tuple[DataFrame, Column]:
    """What posts are joined with to find those that changes name: handed to every partition, so that a million posts are not
    sorted to learn that nobody changes them yet."""
    again = _of_posts(changing).select(F.col("org").alias("_org"), F.col("item").alias("_again")).distinct()
    return F.broadcast(again), (F.col("org") == F.col("_org")) & (F.concat(F.lit("@"), "edit_id") == F.col("_again"))


def _upon_each_other(changes: DataFrame) -> DataFrame:
    """Changes with `predecessors`: what the store saw of the item, and the change made before it in this round."""
    of_item = Window.partitionBy(*HERE, "object")
    previous = F.lag("cn").over(of_item.orderBy("nth"))
    called = F.coalesce("name", "known_as", F.max("name").over(of_item), "object")
    chained = changes.withColumns({"previous": previous, "name": called})
    last = F.when(F.col("previous").isNull(), _no_predecessors()).otherwise(
        F.array(F.struct(F.col("label").alias("origin"), F.col("previous").alias("cn")))
    )
    others = F.filter(
        F.coalesce("upon", _no_predecessors()), lambda one: F.col("previous").isNull() | (one["origin"] != F.col("label"))
    )
    return chained.withColumn("predecessors", F.array_sort(F.concat(others, last))).drop("previous")


def _no_predecessors() -> Column:
    return F.array().cast(f"array<{PREDECESSOR}>")


@rule("new_changes", inline=True)
def as_changes(written: DataFrame) -> DataFrame:
    """Rows of `changes` for content edits that were taken in, with the `store` they came from.

    The moment an item was modified is the moment of the edit, not that of the round (F31).
    """
    stamp = F.struct(F.col("at").alias("at"), F.col("label").alias("origin"), "cn")
    headers = F.transform(
        F.map_entries(F.coalesce("properties", F.create_map().cast("map<string,string>"))),
        lambda e: F.struct(e["key"].alias("name"), e["value"].alias("value"), stamp.alias("stamp")),
    )
    return written.select(
        "org",
        "folder",
        F.col("label").alias("origin"),
        "cn",
        "object",
        "action",
        "name",
        F.array_sort(headers).alias("properties"),  # the order in which an edit says them says nothing
        "predecessors",
        F.coalesce("size", F.lit(0)).alias("size"),
        "hash",
        F.col("at").alias("made_at"),
        "edit_id",
        F.col("now").alias("at"),
        "store",
    )
