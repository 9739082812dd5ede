"""Where folders lie by the edits of a round, one after the other: what deletions take along, and what would lie too deep
(R12, R140).

Of a large tree few folders are named by edits. Which of them each folder lies beneath is found by joins, of all at once; edit
by edit only these are followed, and with each goes what lies beneath it.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pfspark import ancestors
from pfspark.frame import rule
from pfspark.keys import HERE, STORE
from pfspark.words import LEVELS, PARENT, ROOT, Action


@rule("resolved_folders")
def placements(edits: DataFrame) -> DataFrame:
    """Those of hierarchy edits that create a folder, or move one."""
    return edits.where((F.col("action") == Action.CREATE_FOLDER) | F.col("properties")[PARENT].isNotNull())


@rule("resolved_folders")
def deletions(edits: DataFrame) -> DataFrame:
    """Those of hierarchy edits that delete a folder."""
    return edits.where(F.col("action") == Action.DELETE_FOLDER)


def reaching(edits: DataFrame, *, folders: DataFrame) -> DataFrame:
    """The stores (org, store) in whose tree some folder might come to lie deeper than `LEVELS` by its resolved edits, which place
    one: all that these put anywhere is there at once, beside where it was. Ancestors are followed by doubling the step."""
    above = placed_beneath(edits, folders=folders)
    for _ in range(ancestors.doublings(LEVELS)):
        above = ancestors.twice_as_far(above)
    return with_ancestors(above)


@rule("ancestors")
def placed_beneath(edits: DataFrame, *, folders: DataFrame) -> DataFrame:
    """The living folders of stores whose resolved edits place one, and those that are placed, where they are beneath another."""
    there = placements(edits)
    living = folders.where("not dead").join(there.select(*STORE), list(STORE), "left_semi")
    placed = there.select(*STORE, F.col("target").alias("folder"), "parent")
    return ancestors.parents(living.select(*HERE, "parent").unionByName(placed))


@rule("stores")
def with_ancestors(above: DataFrame) -> DataFrame:
    """The stores that see a folder that has an ancestor so far `above`."""
    return above.select(*STORE).distinct()


def branches(edits: DataFrame, *, deleting: DataFrame, folders: DataFrame, reaching: DataFrame) -> DataFrame:
    """The living folders of stores that delete folders, or are `reaching` too deep, each with its `branch`: the nearest folder
    above, or itself, that must be followed edit by edit. What lies beneath none of these has no row."""
    found = begin_branches(edits, deleting=deleting, folders=folders, reaching=reaching)
    above = in_their_trees(found, folders=folders)
    for _ in range(ancestors.doublings(ancestors.REACH)):
        found, above = with_those_beneath(found, above=above), ancestors.twice_as_far(above)
    return found


@rule("branches", drives=("deleting", "reaching"))
def begin_branches(edits: DataFrame, *, deleting: DataFrame, folders: DataFrame, reaching: DataFrame) -> DataFrame:
    """The living folders that must be followed edit by edit, each the beginning of a branch: those that edits delete, place, or
    place others beneath; of stores that are `reaching` too deep all, for what lies beneath a folder counts."""
    living = folders.where("not dead").select(*HERE)
    said = placements(edits).join(deleting.select(*STORE), list(STORE), "left_semi").unionByName(deleting)
    named = said.select(*STORE, F.explode(F.array("target", "parent")).alias("folder"))
    those = living.join(named, list(HERE), "left_semi").unionByName(living.join(reaching, list(STORE), "left_semi"))
    return those.distinct().withColumn("branch", F.col("folder"))


@rule("ancestors")
def in_their_trees(branches: DataFrame, *, folders: DataFrame) -> DataFrame:
    """The living folders beneath another in trees in which branches begin: `above`, their parent."""
    return ancestors.parents(folders.where("not dead").join(branches.select(*STORE), list(STORE), "left_semi"))


@rule(amends="branches", drives=("above",))
def with_those_beneath(branches: DataFrame, *, above: DataFrame) -> DataFrame:
    """With the folders that have none nearer, and whose ancestor `above` lies in a branch, or begins one."""
    nearer = above.join(branches.select(*HERE), list(HERE), "left_anti")
    there = branches.select(*STORE, F.col("folder").alias("above"), "branch")
    return branches.unionByName(nearer.join(there, [*STORE, "above"]).select(*HERE, "branch"))


@rule("followed", drives=("deleting", "reaching"))
def follow(edits: DataFrame, *, deleting: DataFrame, folders: DataFrame, reaching: DataFrame, branches: DataFrame) -> DataFrame:
    """What becomes of the trees of stores that delete folders (`deleting` are those of the edits), and of those that are
    `reaching` too deep, edit by edit: org, store, the folders `deleted_with` others that begin a branch, each with `since`, and
    the places of edits that are `too_deep`.

    A deletion takes all that is beneath its folder at its place: what was moved or made there before it too, and not what
    was moved away. An edit that would place a folder so that it, or a living one beneath it, lies deeper than `LEVELS`
    changes nothing. A folder made in this round is named `@` and its edit.

    What only merging brings, as when two stores move folders and neither knows of the other, is followed twice as deep
    (`ancestors.REACH`); what lies deeper still the deletion of so distant an ancestor leaves alone, and it harms nobody else.

    Source: R12, R140.
    """
    stores = deleting.select(*STORE).unionByName(reaching.select(*STORE)).distinct()
    places = F.struct(F.col("folder"), F.col("parent"))
    trees = _of_branches(branches, folders=folders).groupBy(*STORE).agg(F.collect_list(places).alias("tree"))
    edit = F.struct("nth", "action", "target", "parent")
    in_order = (
        placements(edits)
        .unionByName(deleting.where(F.col("properties")[PARENT].isNull()))
        .join(stores, list(STORE), "left_semi")
        .groupBy(*STORE)
        .agg(F.array_sort(F.collect_list(edit)).alias("edits"))
    )
    known = in_order.join(trees, list(STORE), "left")
    known = known.withColumn("tree", F.coalesce("tree", _none("struct<folder:string,parent:string>")))
    start = F.struct(
        "tree",
        _none("string").alias("gone"),
        _none("struct<folder:string,since:int>").alias("deleted"),
        _none("int").alias("too_deep"),
    )
    after = known.withColumn("after", F.aggregate("edits", start, _take))
    return after.select(*STORE, F.col("after.deleted").alias("deleted_with"), "after.too_deep")


def _none(kind: str) -> Column:
    return F.array().cast(f"array<{kind}>")


def _steps() -> Column:
    """Numbers to count along a branch: none is longer than there are folders."""
    return F.sequence(F.lit(1), F.least(F.lit(ancestors.REACH), F.size("tree") + F.size("edits")))


def _beneath(tree: Column, folder: Column) -> Column:
    """A folder, and all that is beneath it."""

    def lower(those: Column, _: Column) -> Column:
        return F.array_union(those, F.filter(tree, lambda each: F.array_contains(those, each["parent"]))["folder"])

    return F.aggregate(_steps(), F.array(folder), lower)


def _height(tree: Column, folder: Column) -> Column:
    """How many levels a folder has, itself the first."""

    def lower(so_far: Column, _: Column) -> Column:
        below = F.filter(tree, lambda each: F.array_contains(so_far["row"], each["parent"]))["folder"]
        row = F.array_except(below, so_far["all"])
        levels = so_far["levels"] + F.when(F.size(row) > 0, 1).otherwise(0)
        return F.struct(F.array_union(so_far["all"], row).alias("all"), row.alias("row"), levels.alias("levels"))

    start = F.struct(F.array(folder).alias("all"), F.array(folder).alias("row"), F.lit(1).alias("levels"))
    return F.aggregate(_steps(), start, lower)["levels"]


def _level(tree: Column, folder: Column) -> Column:
    """How deep a folder lies: 1 at the top."""

    def higher(line: Column, _: Column) -> Column:
        above = F.filter(tree, lambda each: each["folder"] == F.element_at(line, -1))["parent"]
        return F.array_union(line, F.filter(above, lambda one: F.exists(tree, lambda each: each["folder"] == one)))

    return F.size(F.aggregate(_steps(), F.array(folder), higher))


def _take(so_far: Column, edit: Column) -> Column:
    """One edit more: the tree that it leaves, what is gone, what deletions took along, and the edits that reach too deep."""
    gone = so_far["gone"]
    alive = F.filter(so_far["tree"], lambda each: ~F.array_contains(gone, each["folder"]))

    def living(folder: Column) -> Column:
        return F.exists(alive, lambda each: each["folder"] == folder)

    creates, deletes = (edit["action"] == action for action in (Action.CREATE_FOLDER, Action.DELETE_FOLDER))
    follows = (creates | living(edit["target"])) & (deletes | (edit["parent"] == ROOT) | living(edit["parent"]))
    above = F.when(edit["parent"] == ROOT, 0).otherwise(_level(alive, edit["parent"]))
    deep = follows & ~deletes & (above + _height(alive, edit["target"]) > LEVELS)
    taken = follows & ~deep
    elsewhere = F.filter(so_far["tree"], lambda each: each["folder"] != edit["target"])
    placed = F.concat(elsewhere, F.array(F.struct(edit["target"].alias("folder"), edit["parent"].alias("parent"))))
    along = F.array_except(_beneath(so_far["tree"], edit["target"]), gone)
    since = F.transform(along, lambda folder: F.struct(folder.alias("folder"), edit["nth"].alias("since")))
    refused = F.array_append(so_far["too_deep"], edit["nth"])
    return F.struct(
        F.when(taken & ~deletes, placed).otherwise(so_far["tree"]).alias("tree"),
        F.when(taken & deletes, F.array_union(gone, along)).otherwise(gone).alias("gone"),
        F.when(taken & deletes, F.concat(so_far["deleted"], since)).otherwise(so_far["deleted"]).alias("deleted"),
        F.when(deep, refused).otherwise(so_far["too_deep"]).alias("too_deep"),
    )


def _of_branches(branches: DataFrame, *, folders: DataFrame) -> DataFrame:
    """The folders that begin a branch, each beneath the nearest other that does, where there is one."""
    begin = branches.where("folder = branch").select(*HERE)
    above = branches.select(*STORE, F.col("folder").alias("parent"), "branch")
    placed = folders.join(begin, list(HERE), "left_semi").join(above, [*STORE, "parent"], "left")
    return placed.select(*HERE, F.coalesce("branch", "parent").alias("parent"))


@rule("deleted_with_parent")
def deleted_with_parent(followed: DataFrame, *, branches: DataFrame) -> DataFrame:
    """The folders that deletions take along: org, store, folder, `since`, the place of the deletion."""
    begin = followed.select(*STORE, F.inline("deleted_with"))
    beneath = branches.where("folder != branch").join(begin.withColumnRenamed("folder", "branch"), [*STORE, "branch"])
    return begin.unionByName(beneath.select(*HERE, "since"))


@rule("too_deep")
def too_deep(followed: DataFrame) -> DataFrame:
    """The edits that would place a folder too deep: org, store, nth."""
    return followed.select(*STORE, F.explode("too_deep").alias("nth"))
