"""The promises, each as the frame of rows that break it; an empty frame means that it holds.

They look at all stores at once, as no store can: they are for whoever watches over the organization. What a round looks at
itself stands in `violations`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache, reduce

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.frame import rule, source
from pfspark.keys import FOLDER, HERE, NUMBER, ORIGIN, ORIGIN_HERE, RANGE_HERE, STORE
from pfspark.words import HIERARCHY, Action, Entry, Listing, Standing, Why


@dataclass(frozen=True)
class Seen:
    """What is looked at: the tables as they stand between two rounds."""

    stores: DataFrame
    changes: DataFrame
    replicas: DataFrame
    state: DataFrame
    array: DataFrame
    folders: DataFrame
    lists: DataFrame
    lives: DataFrame

    @classmethod
    def of(cls, frame: Callable[[str], DataFrame]) -> Seen:
        """Of each table or view by its name."""
        return cls(**{each.name: frame(each.name) for each in fields(cls)})


LOOKED_AT = tuple(each.name for each in fields(Seen))
"""The tables and views of a world that promises are about."""


@dataclass(frozen=True)
class Check:
    """A promise: its id, what it says, and the rows that break it."""

    id: str
    says: str
    broken_by: Callable[[Seen], DataFrame]


def _labels(replicas: DataFrame) -> DataFrame:
    holds = replicas.where(F.col("standing") != Standing.ERASED)
    return holds.select(*HERE, "standing", cnset.label_of("store", "life").alias("about"))


def _applied(seen: Seen) -> DataFrame:
    """What replicas hold in their current lives."""
    own = seen.state.where(F.col("entry") == Entry.APPLIED)
    return own.join(_labels(seen.replicas), [*HERE, "about"], "left_semi")


def _dead(seen: Seen) -> DataFrame:
    """Folders of which some store knows that they were deleted."""
    return seen.folders.where("dead").select(*FOLDER).distinct()


def given_twice(seen: Seen) -> DataFrame:
    """Numbers given to more than one change (I5, R31, R32)."""
    numbered = seen.changes.groupBy(*NUMBER).agg(F.count(F.lit(1)).alias("changes"))
    return numbered.where("changes > 1")


def left_out(seen: Seen) -> DataFrame:
    """Changes whose number does not follow the one before, of the same folder and origin (I6, R31).

    What a scenario's stores hold at its start was given by no edit, and may have gaps.
    """
    before = F.lag("cn", 1, 0).over(Window.partitionBy(*ORIGIN).orderBy("cn"))
    followed = seen.changes.select(*NUMBER, "edit_id", before.alias("before"))
    return followed.where("edit_id is not null and cn > before + 1")


def falsely_believed(seen: Seen) -> DataFrame:
    """Ranges that a store believes of a replica in its current life, and which that replica does not hold (I4, R8)."""
    who = (*FOLDER, "about", "origin")
    current = _labels(seen.replicas).select(*FOLDER, "about")
    believed = seen.state.where(F.col("entry") == Entry.REPORTED).join(current, [*FOLDER, "about"], "left_semi")
    return cnset.subtract(believed, _applied(seen), who)


def never_given(seen: Seen) -> DataFrame:
    """Ranges that a replica holds and that no replica ever gave a change (I4): it would never miss what comes under them."""
    numbers = seen.changes.select(*ORIGIN, *cnset.alone())
    return cnset.subtract(_applied(seen), numbers, ORIGIN)


def noted_though_held(seen: Seen) -> DataFrame:
    """Ranges that stand in a backfill array although they are held (I8, R90)."""
    return cnset.intersect(seen.array, _applied(seen), ORIGIN_HERE)


def neither_held_nor_noted(seen: Seen) -> DataFrame:
    """Ranges that an active replica believes others to have, and neither holds nor has noted (I8, R88)."""
    active = seen.replicas.where(F.col("standing") == Standing.ACTIVE).select(*HERE)
    askable = seen.lists.where((F.col("peer") != F.col("store")) & (F.col("listing") != Listing.GONE)).select(*HERE, "peer")
    told = seen.state.withColumn("peer", cnset.store_of("about")).join(askable, [*HERE, "peer"], "left_semi")
    current = told.join(seen.lives, [*HERE, "peer"], "left").where(cnset.life_of("about") >= F.coalesce("life", F.lit(1)))
    reported, void = (current.where(F.col("entry") == entry) for entry in (Entry.REPORTED, Entry.EMPTY))
    claimed = cnset.subtract(reported, void, (*ORIGIN_HERE, "about")).join(active, list(HERE), "left_semi")
    return cnset.subtract(claimed, _applied(seen).select(*RANGE_HERE).unionByName(seen.array.select(*RANGE_HERE)), ORIGIN_HERE)


def arrays_of_the_erased(seen: Seen) -> DataFrame:
    """Ranges in a backfill array whose replica is no more: nobody would ever ask for them (I9, R92)."""
    return seen.array.join(_labels(seen.replicas), list(HERE), "left_anti")


def resurrected(seen: Seen) -> DataFrame:
    """Folders that a store sees alive although it holds the change that deleted them (I14, R140)."""
    deleted = seen.changes.where((F.col("folder") == HIERARCHY) & (F.col("action") == Action.DELETE_FOLDER))
    known = cnset.within(deleted, _applied(seen).select(*RANGE_HERE), ORIGIN)
    alive = seen.folders.where("not dead").select(*HERE)
    return known.select(*STORE, F.col("object").alias("folder")).join(alive, list(HERE), "left_semi")


def strangers(seen: Seen) -> DataFrame:
    """Rows of an organization about stores that it does not have (I15)."""
    keyed = [frame.select(*STORE) for frame in (seen.state, seen.replicas, seen.array, seen.folders, seen.lists)]
    return reduce(DataFrame.unionByName, keyed).join(seen.stores, list(STORE), "left_anti")


def held_by_nobody(seen: Seen) -> DataFrame:
    """Numbers of living folders that no replica holds, given by replicas in their current lives (I1).

    What a replica gave in an earlier life and nobody holds is what its restore has lost, and told.
    """
    alive = seen.changes.where(F.col("folder") != HIERARCHY).join(_dead(seen), list(FOLDER), "left_anti")
    givers = _labels(seen.replicas).select(*FOLDER, F.col("about").alias("origin"))
    given = alive.join(givers, list(ORIGIN), "left_semi").select(*ORIGIN, *cnset.alone())
    return cnset.subtract(given, _applied(seen), ORIGIN)


def held_by_leavers_alone(seen: Seen) -> DataFrame:
    """Ranges held only by replicas that are about to be erased (I10, D7).

    A store that is restored after it has acknowledged a leaver may make it so, and nothing else.
    """
    staying = seen.replicas.where(F.col("standing") != Standing.DELETE_NOW)
    going = seen.replicas.where(F.col("standing") == Standing.DELETE_NOW)
    safe = _applied(seen).join(staying, list(HERE), "left_semi")
    alone = cnset.subtract(_applied(seen).join(going, list(HERE), "left_semi"), safe, ORIGIN)
    return alone.join(_dead(seen), list(FOLDER), "left_anti")


def unequal(seen: Seen, *, mail: DataFrame, agenda: DataFrame, repeating: DataFrame) -> DataFrame:
    """Ranges that active replicas of a folder lack although nothing is left to do there that would bring them (I2).

    Of the organizations in `repeating` (org): there a store goes on telling its status while it believes that somebody
    lacks something. With the one status after a day of the articles what was lost may lie unnoticed. Nobody brings the
    hierarchy to a store that is retired.
    """
    to_do = agenda.where(~F.col("why").isin(Why.EXPIRE, Why.ERASE))
    busy = [frame.select(*FOLDER) for frame in (mail, to_do, seen.array)]
    active = seen.replicas.where(F.col("standing") == Standing.ACTIVE).join(repeating, "org", "left_semi")
    left = seen.stores.where("retired").select(*STORE, F.lit(HIERARCHY).alias("folder"))
    at_rest = active.join(left, list(HERE), "left_anti")
    quiet = at_rest.join(reduce(DataFrame.unionByName, busy), list(FOLDER), "left_anti").select(*HERE)
    held = _applied(seen).join(quiet, list(HERE), "left_semi")
    somewhere = held.select(*FOLDER, "origin", "cn_min", "cn_max").join(quiet, list(FOLDER))
    return cnset.subtract(somewhere, held, ORIGIN_HERE).join(_dead(seen), list(FOLDER), "left_anti")


CHECKS = (
    Check("I1", "no acknowledged change of a living folder is held by nobody", held_by_nobody),
    Check("I4", "nobody is believed to hold what it does not hold", falsely_believed),
    Check("I4", "nobody holds a number that was never given", never_given),
    Check("I5", "no change number was given twice", given_twice),
    Check("I6", "no change number was left out", left_out),
    Check("I8", "nothing is missed that is held", noted_though_held),
    Check("I8", "what others are believed to have is held or noted", neither_held_nor_noted),
    Check("I9", "no backfill array outlives its replica", arrays_of_the_erased),
    Check("I14", "nobody sees a folder alive of which he knows that it was deleted", resurrected),
    Check("I15", "no organization knows a store of another", strangers),
)


@rule("broken")
def broken(*, seen: tuple[DataFrame, ...]) -> DataFrame:
    """How many rows break each promise, and one of them: org, `check` (its place in `CHECKS`, as a text), rows, sample. `seen`:
    the frames of `Seen`, in their order."""
    found = [check.broken_by(Seen(*seen)).withColumn("check", F.lit(str(place))) for place, check in enumerate(CHECKS)]
    told = [frame.select("org", "check", F.to_json(F.struct(*frame.columns)).alias("row")) for frame in found]
    counted = reduce(lambda all, one: all.unionByName(one), told).groupBy("org", "check")
    return counted.agg(F.count(F.lit(1)).alias("rows"), F.min("row").alias("sample"))


@cache
def graph() -> DataFrame:
    """What breaks promises, drawn of the tables and views of a world: whoever looks more than once has the plan from then on."""
    return broken(seen=tuple(map(source, LOOKED_AT)))
