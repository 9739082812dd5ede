"""Items of a folder as a reader at one store sees them, and how conflicts are decided (F26-F32).

Every change of an item carries the highest numbers, per origin, of the versions it was made upon, the full merged list
(F12). A version is dominated when another one of the same item was made upon it; those that are not are the winners.
More than one winner is a conflict, decided by a total order that every store shares, so the order of arrival does not
matter.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.frame import rule
from pfspark.keys import ITEM, ORIGIN, ORIGIN_HERE, RANGE_HERE
from pfspark.words import HIERARCHY, Action, Standing


@rule(like="replicas", inline=True)
def open_to_readers(replicas: DataFrame) -> DataFrame:
    """The replicas that a reader may use: the active ones, without the hierarchy (R146)."""
    return replicas.where((F.col("standing") == Standing.ACTIVE) & (F.col("folder") != HIERARCHY))


@rule("versions_held", drives=("applied",), inline=True)
def seen(changes: DataFrame, *, applied: DataFrame) -> DataFrame:
    """The versions that each store holds, with `store`: changes, of items or folders, whose number is in its applied set."""
    return cnset.within(changes, applied.select(*RANGE_HERE), ORIGIN)


@rule("versions")
def versions(seen: DataFrame) -> DataFrame:
    """The versions that stores hold, with `dominated`: whether the store holds a version that was made upon this one (F27)."""
    upon = seen.select(*ITEM, F.inline("predecessors")).groupBy(*ITEM, "origin").agg(F.max("cn").alias("upon"))
    return (
        seen.join(upon, [*ITEM, "origin"], "left")
        .withColumn("dominated", F.coalesce(F.col("upon") >= F.col("cn"), F.lit(False)))
        .drop("upon")
    )


def winners_first() -> list[Column]:
    """The order of winners, first wins: what is not a deletion, then latest modified, larger label, larger number.

    A total order, unlike that of F31; a modification made without knowing of a deletion is not lost to it.
    """
    return [
        (F.col("action") == Action.DELETE).asc(),
        F.col("made_at").desc(),
        cnset.order_of("origin").desc(),
        F.col("cn").desc(),
    ]


@rule("readable", inline=True)
def readable(versions: DataFrame) -> DataFrame:
    """One row an item as each store sees it: the winning version's columns, `deleted`, `conflict`, and its `losers`.

    `losers` are the other undominated versions, written `PFS2:21`, in the order of their numbers; dominated versions are
    the item's past and are not listed.

    >>> item = {"org": "o", "store": "PFS1", "folder": "PFS1:1", "object": "PFS1:1", "action": "modify", "dominated": False}
    >>> said = (("PFS1", 2, "2026-01-05T12:00Z"), ("PFS2", 5, "2026-01-05T12:01Z"))
    >>> versions = frame("versions", *({**item, "origin": origin, "cn": cn, "made_at": at} for origin, cn, at in said))
    >>> readable(versions).select("object", "version", "losers", "conflict", "deleted").show()
    +------+-------+--------+--------+-------+
    |object|version|  losers|conflict|deleted|
    +------+-------+--------+--------+-------+
    |PFS1:1| PFS2:5|[PFS1:2]|    true|  false|
    +------+-------+--------+--------+-------+

    Source: F28-F32; nothing is silently dropped.
    """
    version = cnset.number_of("origin", "cn").alias("version")
    among = Window.partitionBy(*ITEM).orderBy(*winners_first())
    ranked = versions.where("not dominated").select("*", F.row_number().over(among).alias("rank"), version)
    numbered = F.struct(cnset.order_of("origin").alias("order"), "cn", "version")
    losers = ranked.groupBy(*ITEM).agg(F.array_sort(F.collect_list(F.when(F.col("rank") > 1, numbered))).alias("lost"))
    return (
        ranked.where("rank = 1")
        .join(losers, list(ITEM))
        .withColumn("losers", F.col("lost.version"))
        .withColumn("conflict", F.size("losers") > 0)
        .withColumn("deleted", F.col("action") == Action.DELETE)
        .drop("lost", "rank", "dominated")
    )


@rule("lineage")
def lineage(versions: DataFrame) -> DataFrame:
    """What a change made now would be made upon: one row an item, `upon` per origin, whether all winners are `deleted`, and
    the name it is `known_as`.

    Source: F12 (the merged predecessor list); a modification upon all undominated versions settles a conflict.
    """
    own = versions.select(*ITEM, "origin", "cn")
    before = versions.select(*ITEM, F.inline("predecessors"))
    highest = own.unionByName(before).groupBy(*ITEM, "origin").agg(F.max("cn").alias("cn"))
    upon = highest.groupBy(*ITEM).agg(F.array_sort(F.collect_list(F.struct("origin", "cn"))).alias("upon"))
    winners = (
        versions.where("not dominated")
        .groupBy(*ITEM)
        .agg(F.min(F.col("action") == Action.DELETE).alias("deleted"), F.max("name").alias("known_as"))
    )
    return upon.join(winners, list(ITEM))


def made_upon(edited: DataFrame, *, applied: DataFrame, empty: DataFrame) -> DataFrame:
    """The `lineage` of items that are edited, as each store holds them; `empty` are numbers settled without content."""
    return lineage(versions(with_content(edited, applied=applied, empty=empty)))


@rule("versions_held")
def with_content(changes: DataFrame, *, applied: DataFrame, empty: DataFrame) -> DataFrame:
    """The versions that each store holds and has not settled without content."""
    return cnset.without(seen(changes, applied=applied), empty, ORIGIN_HERE)
