"""The tree of folders as each store sees it, and what it says about replicas (R2, R5, R6).

A hierarchy change carries all properties of its folder, each with the stamp of the change that set it (R27). A store's
tree keeps, for every property, the value with the highest stamp among the changes that store holds. Under
`hierarchy_merge = object` only the properties of the last whole object that somebody decided stand (F31). A deletion is final,
and what stores say of themselves counts whichever object wins; a folder of which nothing is held but what a store said by itself
is seen as that change says.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from pfspark import ancestors, cnset, naming
from pfspark.frame import rule
from pfspark.keys import HERE, STORE
from pfspark.words import BY_ITSELF, DELETED, HIERARCHY, PARENT, REPLICA, WHOLE, Action, Listing, Standing


@rule(like="tree", inline=True)
def properties(tree: DataFrame, *, names: tuple[str, ...]) -> DataFrame:
    """What the tree says of folders under those names."""
    return tree.where(F.col("property").isin(*names))


@rule("tree", drives=("learned",))
def merge(tree: DataFrame, learned: DataFrame, *, whole: DataFrame) -> DataFrame:
    """The folders that `learned` changes (hierarchy changes, each with the `store` that holds it), as they are now seen.

    Rows of `tree` for changed folders only. Order and repetition of changes do not matter: the highest stamp wins
    whatever comes first; in the organizations of `whole` that of the whole object, of those that somebody decided before those
    that stores made by themselves.

    Source: R26, R27, F31.
    """
    by_itself = F.col("edit_id").isNull() & (F.col("action") == Action.SET_FOLDER)
    stamp = F.struct(F.col("made_at").alias("at"), "origin", "cn")
    told = learned.select(
        "org",
        "store",
        F.col("object").alias("folder"),
        stamp.alias("stamp"),
        F.struct((~by_itself).alias("by_somebody"), _order(stamp)).alias("of"),
        "properties",
    )
    carried = told.select(*HERE, "of", F.inline("properties")).withColumnRenamed("name", "property")
    said = F.when(~F.col("of.by_somebody"), BY_ITSELF).alias("value")
    objects = told.join(whole, "org", "left_semi").select(*HERE, "of", F.lit(WHOLE).alias("property"), said, "stamp")
    return _winning(tree, carried.unionByName(objects), whole=whole)


def _order(stamp: Column) -> Column:
    """What stamps are compared by: the time, then the label as labels are sorted, then the number."""
    by = F.struct(stamp["at"].alias("at"), cnset.order_of(stamp["origin"]).alias("origin"), stamp["cn"].alias("cn"))
    return by.alias("order")


def _winning(tree: DataFrame, news: DataFrame, *, whole: DataFrame) -> DataFrame:
    """The rows of `tree` of the folders in `news`, after these.

    Merged by property, of each property the value with the highest stamp stands. Merged by object (organizations in `whole`), the
    properties of the object that wins stand: what somebody decided comes before what a store says by itself, then the highest
    stamp; but a deletion, and what a store has said of itself, stand whatever wins. One of these that an object's later value
    overrules is kept beside it, as the property `*` and its name (`WHOLE`): another object may win, and then it stands again
    (F31).
    """
    known = _held(tree, news).unionByName(news).join(whole.select("org", F.lit(True).alias("wholly")), "org", "left")
    value = F.struct(_order(F.col("stamp")), "value", "stamp")
    stands = F.max(value).alias("highest")
    kept_beside = F.max(F.when(F.col("wholly") & F.col("stays"), value)).alias("overruled")
    latest = _counted(known).groupBy(*HERE, "property").agg(stands, kept_beside)
    beside = F.struct(F.concat(F.lit(WHOLE), "property").alias("property"), "overruled.value", "overruled.stamp")
    overruled = F.when(F.col("overruled") < F.col("highest"), beside)
    return latest.select(
        *HERE, F.inline(F.array_compact(F.array(F.struct("property", "highest.value", "highest.stamp"), overruled)))
    )


def _held(tree: DataFrame, news: DataFrame) -> DataFrame:
    """The properties that stand of the folders in `news`, those kept beside under their own names; each with `of`, the object
    that has won so far, as objects are compared."""
    is_object = F.col("property") == WHOLE
    is_beside = F.col("property").startswith(WHOLE) & ~is_object
    won = F.struct(F.col("value").isNull().alias("by_somebody"), _order(F.col("stamp")))
    own_name = F.when(is_beside, F.expr(f"substring(property, {len(WHOLE) + 1})")).otherwise(F.col("property"))
    return (
        tree.join(news.select(*HERE), list(HERE), "left_semi")
        .withColumn("of", F.max(F.when(is_object, won)).over(Window.partitionBy(*HERE)))
        .withColumn("property", own_name)
    )


def _counted(known: DataFrame) -> DataFrame:
    """The properties that may stand: all, or those of the object that wins, and what stands whatever wins (`stays`)."""
    said_of_itself = F.col("property").startswith(REPLICA) & F.col("value").isin(Listing.LEAVING, Listing.GONE)
    stays = said_of_itself | (F.col("property") == DELETED)
    wins = F.max(F.when(~F.coalesce(stays, F.lit(False)), F.col("of"))).over(Window.partitionBy(*HERE))
    return known.withColumns({"stays": stays, "wins": wins}).where("wholly is null or stays or of <=> wins")


@rule("orgs", inline=True)
def merging_whole(clock: DataFrame) -> DataFrame:
    """The organizations in which the whole object of the highest stamp wins: org."""
    return clock.where("hierarchy_merge = 'object'").select("org")


@rule("tree", drives=("changed",))
def of_viewers(tree: DataFrame, changed: DataFrame) -> DataFrame:
    """The whole trees of the stores of which `changed` has a row."""
    return tree.join(changed.select(*STORE), list(STORE), "left_semi")


def folders(tree: DataFrame) -> DataFrame:
    """One row a folder as a store sees it: parent, and whether it is `dead`: deleted, or under a deleted one (R140).

    Of one that only merging has put deeper than twice `LEVELS` an ancestor more distant than that does not tell: it lives on
    where that one was deleted, alike at all stores, and harms nobody but itself.
    """
    placed = place(tree)
    dead = deleted(placed)
    above = beneath(placed, dead=dead)
    for _ in range(ancestors.doublings(ancestors.REACH)):
        dead, above = take_along(dead, above=above), ancestors.twice_as_far(above)
    return bury(placed, dead=dead)


@rule("folders")
def place(tree: DataFrame) -> DataFrame:
    """One row a folder as a store sees it: its parent, and whether itself was deleted."""
    return tree.groupBy(*HERE).agg(
        F.max(F.when(F.col("property") == PARENT, F.col("value"))).alias("parent"),
        F.coalesce(F.max(F.col("property") == DELETED), F.lit(False)).alias("dead"),
    )


@rule("keys")
def deleted(placed: DataFrame) -> DataFrame:
    """The folders that were deleted themselves."""
    return placed.where("dead").select(*HERE)


@rule("ancestors", drives=("dead",))
def beneath(placed: DataFrame, *, dead: DataFrame) -> DataFrame:
    """Of the stores that see a dead folder, those beneath another: `above`, their parent."""
    mourning = placed.join(dead.select(*STORE), list(STORE), "left_semi")
    return ancestors.parents(mourning)


@rule(amends="dead", drives=("above",))
def take_along(dead: DataFrame, *, above: DataFrame) -> DataFrame:
    """The dead folders, and those whose ancestor `above` is one of them."""
    there = dead.select(*STORE, F.col("folder").alias("above"))
    return dead.unionByName(above.join(there, [*STORE, "above"], "left_semi").select(*HERE)).distinct()


@rule(amends="placed", drives=("dead",))
def bury(placed: DataFrame, *, dead: DataFrame) -> DataFrame:
    """The folders, with those that are dead told so."""
    told = dead.withColumn("buried", F.lit(True))
    return placed.join(told, list(HERE), "left").select(*HERE, "parent", F.col("buried").isNotNull().alias("dead"))


@rule("folders")
def changed(folders: DataFrame, *, before: DataFrame, retold: DataFrame) -> DataFrame:
    """Of these folders those of which a property was `retold`, and those that are not what they were `before`: what lies beneath
    a folder dies with it, though nobody told of it."""
    told = folders.join(retold.select(*HERE), list(HERE), "left_semi")
    return folders.subtract(before).unionByName(told).distinct()


@rule("lists")
def lists(tree: DataFrame, *, folders: DataFrame) -> DataFrame:
    """The replica lists: one row for each viewer, folder and peer with the peer's `listing`; none of dead folders.

    A list that merging would leave empty keeps the replica whose removal has the highest stamp: the last copy stays. That of
    the hierarchy itself is not said in the tree: see `everywhere`.

    >>> here = {"org": "o", "store": "PFS1", "folder": "PFS1:1"}
    >>> said = {"replica:PFS1": "listed", "replica:PFS2": "removed"}
    >>> tree = frame("tree", *({**here, "property": name, "value": value} for name, value in said.items()))
    >>> lists(tree, folders=frame("folders", {**here, "dead": False})).select("peer", "listing").orderBy("peer").show()
    +----+-------+
    |peer|listing|
    +----+-------+
    |PFS1| listed|
    |PFS2|removed|
    +----+-------+

    Source: R14, R58; D2, D4, D10.
    """
    entries = tree.where(F.col("property").startswith(REPLICA) & F.col("value").isin(*Listing)).select(
        *HERE,
        naming.peer_of(F.col("property")).alias("peer"),
        F.when(F.col("value") == Listing.LEAVING, Listing.REMOVED).otherwise(F.col("value")).alias("listing"),
        "stamp",
    )
    living = entries.join(folders.where("not dead").select(*HERE), list(HERE), "left_semi")
    of_folder = Window.partitionBy(*HERE)
    latest = of_folder.orderBy((F.col("listing") == Listing.REMOVED).desc(), _order(F.col("stamp")).desc(), "peer")
    listed = F.sum((F.col("listing") == Listing.LISTED).cast("int")).over(of_folder)
    keeps = (listed == 0) & (F.row_number().over(latest) == 1)
    return living.withColumn("keeps", keeps).select(
        *HERE, "peer", F.when(F.col("keeps"), Listing.LISTED).otherwise(F.col("listing")).alias("listing")
    )


def everywhere(stores: DataFrame) -> DataFrame:
    """The replica list of the hierarchy as each of the stores sees it: every store that is not retired (R2, R3)."""
    there = stores.where("not retired").select(*STORE)
    peers = there.withColumnRenamed("store", "peer")
    return there.join(peers, "org").select(
        *STORE, F.lit(HIERARCHY).alias("folder"), "peer", F.lit(str(Listing.LISTED)).alias("listing")
    )


@rule("moves", drives=("folders",), inline=True)
def stand(replicas: DataFrame, *, lists: DataFrame, folders: DataFrame, entries: DataFrame | None = None) -> DataFrame:
    """Steps that replicas take because the list their store sees has changed: org, store, folder, life, standing.

    Not listed yet, or erased, and listed: active in a new life. Active and no longer listed: delete pending. Leaving and
    listed again: active in the same life. Folder dead: erased at once, without keeping content. All others: no row.

    Edits count one after the other, however many of them a round takes in. `entries` tells whether the store was on the
    list meanwhile: whoever was put on the list and off it again is delete pending, in a new life where there was none; whoever
    was off it and is on it again is active in the same life, and asks for status as after every change of the list.

    Source: R3, R87, R139, D2, R140; F8 for the new life.
    """
    own = lists.where(F.col("peer") == F.col("store")).select(*HERE, "listing")
    now = (
        folders.select(*HERE, "dead")
        .join(own, list(HERE), "left")
        .join(replicas.select(*HERE, "life", "standing"), list(HERE), "left")
    )
    came = returned = F.lit(False)
    if entries is not None:
        now = now.join(_meanwhile(entries), list(HERE), "left")
        came, returned = (F.coalesce(name, F.lit(False)) for name in ("came", "returned"))
    listed = F.coalesce(F.col("listing") == Listing.LISTED, F.lit(False))
    active = F.coalesce(F.col("standing") == Standing.ACTIVE, F.lit(False))
    gone = F.col("standing").isNull() | (F.col("standing") == Standing.ERASED)
    after = (
        F.when(F.col("dead"), F.when(~gone | came, Standing.ERASED))
        .when(listed & (~active | returned), Standing.ACTIVE)
        .when(~listed & (active | came), Standing.DELETE_PENDING)
    )
    life = F.when(gone, F.coalesce("life", F.lit(0)) + 1).otherwise(F.col("life"))
    return now.select(*HERE, life.cast("bigint").alias("life"), after.alias("standing")).where("standing is not null")


def _meanwhile(entries: DataFrame) -> DataFrame:
    """Whether a store was on a list after one of its edits, and whether it was so after it had not been."""
    on = F.col("on")
    returned = F.min(F.when(~on, F.col("nth"))) < F.max(F.when(on, F.col("nth")))
    return entries.groupBy(*HERE).agg(F.max(on).alias("came"), returned.alias("returned"))
