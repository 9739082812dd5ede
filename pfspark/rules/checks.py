"""The promises, each as the frame of rows that break it; an empty frame means that it holds.

They look at all stores at once, as no store can: they are for whoever watches over the organization, never for the rules.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.words import HIERARCHY, Entry, Standing

HERE = ("org", "store", "folder")
LINE = (*HERE, "origin")


@dataclass(frozen=True)
class Seen:
    """What is looked at: the tables as they stand between two rounds."""

    changes: DataFrame
    replicas: DataFrame
    state: DataFrame
    array: DataFrame
    folders: DataFrame


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


def one_number_one_change(seen: Seen) -> DataFrame:
    """Numbers given to more than one change (I5, R31, R32)."""
    numbered = seen.changes.groupBy("org", "folder", "origin", "cn").agg(F.count(F.lit(1)).alias("changes"))
    return numbered.where("changes > 1")


def honest_table(seen: Seen) -> DataFrame:
    """Ranges that a store believes of a replica in its current life, and which that replica does not hold (I4, R8)."""
    who = ("org", "folder", "about", "origin")
    current = _labels(seen.replicas).select("org", "folder", "about")
    believed = seen.state.where(F.col("entry") == Entry.REPORTED).join(current, ["org", "folder", "about"], "left_semi")
    return cnset.subtract(believed, _applied(seen), who)


def lean_array(seen: Seen) -> DataFrame:
    """Ranges that stand in a backfill array although they are held (I8, R90)."""
    return cnset.intersect(seen.array, _applied(seen), LINE)


def held_somewhere(seen: Seen) -> DataFrame:
    """Numbers of living folders that no replica holds, given by replicas in their current lives (I1).

    What a replica gave in an earlier life and nobody holds is what its restore has lost, and told.
    """
    dead = seen.folders.where("dead").select("org", "folder").distinct()
    alive = seen.changes.where(F.col("folder") != HIERARCHY).join(dead, ["org", "folder"], "left_anti")
    givers = _labels(seen.replicas).select("org", "folder", F.col("about").alias("origin"))
    given = alive.join(givers, ["org", "folder", "origin"], "left_semi").select(
        "org", "folder", "origin", F.col("cn").alias("cn_min"), F.col("cn").alias("cn_max")
    )
    return cnset.subtract(given, _applied(seen), ("org", "folder", "origin"))


CHECKS = (
    Check("I1", "no acknowledged change of a living folder is held by nobody", held_somewhere),
    Check("I4", "nobody is believed to hold what it does not hold", honest_table),
    Check("I5", "no change number was given twice", one_number_one_change),
    Check("I8", "nothing is missed that is held", lean_array),
)


def violations(seen: Seen) -> DataFrame:
    """How many rows break each promise: org, check, rows; promises that hold yield none."""
    broken = [
        check.broken_by(seen).groupBy("org").agg(F.count(F.lit(1)).alias("rows")).withColumn("check", F.lit(check.id))
        for check in CHECKS
    ]
    counted = broken[0]
    for frame in broken[1:]:
        counted = counted.unionByName(frame)
    return counted.select("org", "check", "rows")
