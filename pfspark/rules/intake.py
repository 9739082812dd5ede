"""Taking in what people did at a store: what is due, what is refused at once, and what became of each edit (R20, R42).

Edits of a store are taken in one after another, by time; those of the tree are validated by `folder_edits`, those of items, which
may be made in a folder of the same round, by `item_edits` thereafter.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from pfspark import cnset, naming
from pfspark.frame import rule
from pfspark.keys import HERE, ORIGIN_HERE, RANGE_HERE, STORE
from pfspark.tables import BROUGHT
from pfspark.words import (
    DELETED,
    FIRST,
    HIERARCHY,
    HIERARCHY_ACTIONS,
    LARGEST,
    LAST,
    LONGEST_S,
    NAME,
    PARENT,
    PRIORITIES,
    REPLICA,
    SAID_AGAIN,
    SLOTS,
    WHOLE,
    Action,
    Listing,
    Outcome,
    Reason,
)

BITS = 64
"""Numbers that go into one integer, a bit for each."""


@rule("names", needs=("changes", "edits"))
def names(changes: DataFrame, *, edits: DataFrame) -> DataFrame:
    """The ids of what `edits` name by `@` and an edit, as their folder, its parent, or their item: org, edit_id, object.

    None is remembered for ever: one that was taken in once more is what it became last.
    """
    said = F.explode(F.array("folder", "item", F.col("properties")[PARENT]))
    named = edits.select("org", said.alias("_said")).where(F.startswith("_said", F.lit("@")))
    theirs = changes.join(named.selectExpr("org", "substring(_said, 2) as edit_id"), ["org", "edit_id"], "left_semi")
    return theirs.groupBy("org", "edit_id").agg(F.max_by("object", F.struct("at", "object")).alias("object"))


@rule("repeated")
def repeated(edits: DataFrame) -> DataFrame:
    """The names that more than one edit has: org, edit_id."""
    return edits.groupBy("org", "edit_id").agg(F.count(F.lit(1)).alias("edits")).where("edits > 1").select("org", "edit_id")


@rule("edits")
def receive(
    edits: DataFrame,
    *,
    repeated: DataFrame,
    taken: DataFrame,
    stores: DataFrame,
    replicas: DataFrame,
    conditions: DataFrame,
    clock: DataFrame,
) -> DataFrame:
    """Edits to take in now: `nth` counts those of a store (org, store) by time, of one time by `place`, then by id; `reason` is
    set where one is refused at once.

    Edits at a store that is down wait. A store that does not exist, an `edit_id` that was taken in before or stands
    earlier among these, and what no rule could follow (`_is_bad`), are refused; so is one that a restore wanted to have said
    again, where the replica has not begun a new life by then: that restore did not come about, and nothing is lost. An edit of a
    folder that says nothing of properties sets none.

    Source: R42; `edit_id` makes a repeat harmless.
    """
    due = edits.join(clock.select("org", "now"), "org").where(~_in_time(F.col("at")) | (F.col("at") <= F.col("now")))
    awake = due.join(conditions.where("down").select(*STORE), list(STORE), "left_anti")
    known = stores.select(*STORE, F.lit(True).alias("known"))
    before = taken.select("org", "edit_id", F.lit(True).alias("before")).distinct()
    order = Window.partitionBy(*STORE).orderBy("at", "place", "edit_id")
    undone = _undone(awake, replicas).withColumn("undone", F.lit(True))
    again = F.coalesce("before", F.lit(False)) | F.col("later") | F.col("undone").isNotNull()
    reason = (
        F.when(F.col("known").isNull(), Reason.UNKNOWN_STORE)
        .when(again, Reason.ALREADY_TAKEN_IN)
        .when(_is_bad(), Reason.BAD_VALUE)
    )
    return (
        _told_apart(awake, repeated)
        .join(known, list(STORE), "left")
        .join(before, ["org", "edit_id"], "left")
        .join(F.broadcast(undone), [*STORE, "edit_id", "at"], "left")
        .withColumn("reason", reason)
        .withColumn("nth", F.row_number().over(order))
        .withColumn("properties", F.when(_of_folder(), _properties()).otherwise(F.col("properties")))
        .withColumn("decided", F.lit(None).cast("timestamp"))
        .drop("known", "before", "later", "undone")
    )


def _undone(edits: DataFrame, replicas: DataFrame) -> DataFrame:
    """Edits that a restore wanted to have said again, and that did not come about: org, store, edit_id, at. They alone are held
    beside replicas: of a million edits most often none is."""
    about = F.when(_of_folder(), HIERARCHY).otherwise(F.col("folder")).alias("about")
    said_again = edits.where(F.col("edit_id").startswith(SAID_AGAIN)).select(*STORE, "edit_id", "at", about)
    lives = replicas.select(*STORE, F.col("folder").alias("about"), F.col("at").alias("since"))
    return said_again.join(lives, [*STORE, "about"]).where("since < at").select(*STORE, "edit_id", "at").distinct()


def _told_apart(edits: DataFrame, repeated: DataFrame) -> DataFrame:
    """Edits with `later`: whether one of the same name stands before. A million that are all unlike are not sorted to see it."""
    sets = F.array_sort(F.map_entries("properties"))
    says = ("action", "folder", "item", "name", "size", "hash", sets)  # of one that says two things the same one counts
    by_name = Window.partitionBy("org", "edit_id").orderBy("at", "place", "store", *says)
    alone, several = (edits.join(F.broadcast(repeated), ["org", "edit_id"], how) for how in ("left_anti", "left_semi"))
    ranked = several.withColumn("later", F.row_number().over(by_name) > 1)
    return alone.withColumn("later", F.lit(False)).unionByName(ranked)


@rule(drives=("names",), amends="received")
def resolve(received: DataFrame, *, names: DataFrame) -> DataFrame:
    """Edits with `folder` and `item` as ids, where they name an edit that was taken in before this round."""
    return naming.named("item", names, naming.named("folder", names, received))


def legible(edits: DataFrame) -> DataFrame:
    """Edits as a round is given them: of a row without an organization or an `edit_id` nobody can be told what became of it,
    so it is none; a moment outside all calendars is null, for Python has no word for it."""
    moments = {name: in_time(name) for name in edits.columns if name in ("at", "written")}
    return edits.where(F.col("org").isNotNull() & F.col("edit_id").isNotNull()).withColumns(moments)


def in_time(moment: str) -> Column:
    """That column where it is a moment between which times lie, else null."""
    return F.when(_in_time(F.col(moment)), F.col(moment))


def _in_time(at: Column) -> Column:
    """Whether it is a moment between which times lie; null is none."""
    return F.coalesce(F.unix_micros(at).between(*(int(each.timestamp()) * 10**6 for each in (FIRST, LAST))), F.lit(False))


def _is_bad() -> Column:
    """Whether an edit is such that a rule would stumble over it, or a reader would: `edits` is open to everybody.

    An unknown action; a time or a size that there is not; a post that says which item it will be; a folder without a name or
    place, or with a property whose text is not of its kind. What headers an item has nobody minds.
    """
    properties = _properties()
    fits = F.forall(F.map_entries(properties), lambda each: _fits(each["key"], each["value"]))
    creates = F.col("action") == Action.CREATE_FOLDER
    placed = F.try_element_at(properties, F.lit(NAME)).isNotNull() & F.try_element_at(properties, F.lit(PARENT)).isNotNull()
    good = (
        F.col("action").isin(*Action)
        & _in_time(F.col("at"))
        & F.coalesce(F.col("size").between(0, LARGEST - 1), F.lit(True))
        & ((F.col("action") != Action.POST) | F.col("item").isNull())
        & (~_of_folder() | fits)
        & (~creates | placed)
    )
    return ~F.coalesce(good, F.lit(False))


def _properties() -> Column:
    """What an edit sets; where it does not say, nothing."""
    return F.coalesce("properties", F.create_map().cast("map<string,string>"))


def _of_folder() -> Column:
    return F.col("action").isin(*HIERARCHY_ACTIONS)


def _fits(name: Column, value: Column) -> Column:
    """Whether a property of a folder may have that text; the list of replicas is changed by adding and removing alone."""

    def within(least: int, most: int) -> Column:
        return value.rlike(r"\A[0-9]+\z") & value.try_cast("bigint").between(least, most)  # Spark's casts trim, Python's do not

    kinds = {
        "schedule": value.rlike(SLOTS),
        "size_limit": within(0, LARGEST - 1),
        "age_limit": (value == "none") | within(1, LONGEST_S),
        "deleted_item_retention": within(0, LONGEST_S),
        "conflict": value.isin("0", "1", "2"),
        "priority": value.isin(*PRIORITIES),
        DELETED: F.lit(False),
    }
    kind = F.when(name.startswith(REPLICA), value.isin(Listing.LISTED, Listing.REMOVED)).when(name.startswith(WHOLE), False)
    for each, fits in kinds.items():
        kind = kind.when(name == each, fits)
    return F.coalesce(kind.otherwise(value.isNotNull()), F.lit(False))


@rule("edits", inline=True)
def of_folders(received: DataFrame) -> DataFrame:
    """The hierarchy edits that were not refused at once."""
    return received.where(F.col("reason").isNull() & F.col("action").isin(*HIERARCHY_ACTIONS))


@rule("edits", inline=True)
def of_items(received: DataFrame) -> DataFrame:
    """The content edits that were not refused at once."""
    return received.where(F.col("reason").isNull() & ~F.col("action").isin(*HIERARCHY_ACTIONS))


@rule("last_numbers", inline=True)
def last_numbers(replicas: DataFrame, *, applied: DataFrame) -> DataFrame:
    """The last change number given by each replica in its current life: org, store, folder, label, last (0: none yet)."""
    own = replicas.select(*HERE, cnset.label_of("store", "life").alias("label"))
    given = applied.select(*HERE, F.col("origin").alias("label"), "cn_max")
    return (
        own.join(given, [*HERE, "label"], "left").groupBy(*HERE, "label").agg(F.coalesce(F.max("cn_max"), F.lit(0)).alias("last"))
    )


@rule(like="validated", inline=True)
def refused(validated: DataFrame) -> DataFrame:
    """The edits that were refused; what a store says by itself (`decided`) and can say no more is nobody's edit."""
    return validated.where("reason is not null and decided is null")


@rule("issued")
def issued(changes: DataFrame) -> DataFrame:
    """The numbers that new changes were given, one range for each (org, store, folder, origin): they rise without gaps.

    How many `numbers` there are among its `rows` is counted without a row for each: each is a bit of one in sixty-four.
    """
    bit = F.expr(f"shiftleft(1L, cast(pmod(cn, {BITS}) as int))")
    blocks = changes.groupBy(*ORIGIN_HERE, F.expr(f"cn div {BITS}").alias("_block")).agg(
        F.min("cn").alias("cn_min"), F.max("cn").alias("cn_max"), F.count(F.lit(1)).alias("rows"),
        F.bit_or(bit).alias("_numbers"), F.max(F.col("edit_id").isNotNull()).alias("by_somebody"),
    )  # fmt: skip
    return blocks.groupBy(*ORIGIN_HERE).agg(
        F.min("cn_min").alias("cn_min"), F.max("cn_max").alias("cn_max"), F.sum("rows").alias("rows"),
        F.sum(F.bit_count("_numbers").cast("bigint")).alias("numbers"), F.max("by_somebody").alias("by_somebody"),
    )  # fmt: skip


@rule("ranges", inline=True)
def of_people(issued: DataFrame) -> DataFrame:
    """The numbers of folders in which somebody's edit has made some, not the store by itself."""
    return issued.where("by_somebody").select(*RANGE_HERE)


@rule("changes", inline=True)
def as_changes(new_changes: DataFrame) -> DataFrame:
    """Rows of `changes`: whoever holds them, they are the same."""
    return new_changes.drop("store")


@rule("receipts", inline=True)
def receipts(edits: DataFrame, folder_edits: DataFrame, item_edits: DataFrame) -> DataFrame:
    """What became of each edit: rows of `receipts`. What a store says by itself is nobody's edit.

    Of `edits` those count that were refused at once; the verdict on others is among those of folders and of items.
    """
    at_once = edits.where("reason is not null")
    by_somebody = folder_edits.where("decided is null")
    verdicts = at_once.unionByName(by_somebody, allowMissingColumns=True).unionByName(item_edits, allowMissingColumns=True)
    return verdicts.select(
        "org",
        "store",
        F.lit(None).cast("string").alias("message_id"),
        "edit_id",
        F.col("action").alias("type"),
        F.lit(None).cast("string").alias("sender"),
        "folder",
        F.when(F.col("reason").isNull(), Outcome.APPLIED).otherwise(Outcome.REFUSED).alias("outcome"),
        "reason",
        "place",
        F.col("now").alias("at"),
        F.lit(None).cast(BROUGHT).alias("counts"),
    )
