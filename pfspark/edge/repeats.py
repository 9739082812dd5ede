"""Edits that are made again: which of them count already, and under which id one that did not count is made anew.

An `edit_id` makes a repeat harmless: it is taken in once. One that was refused, or whose change a restore has lost, is
not taken in; made again it gets an id of its own, `<id>~<times>`, so that what became of the first stays on record.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.ask.edits import refused
from pfspark.errors import UsageError
from pfspark.keys import FOLDER, HERE, ORIGIN
from pfspark.rules import state
from pfspark.words import LIVE, SAID_AGAIN, Entry, Standing

TAKEN_IN_AGAIN, MADE_ANEW = f"^({SAID_AGAIN})+", "~[0-9]+$"


def first_id(edit_id: str | Column) -> Column:
    """The id under which an edit was made first, of one that was made anew, or taken in `again:` by a restore."""
    return F.regexp_replace(F.regexp_replace(edit_id, TAKEN_IN_AGAIN, ""), MADE_ANEW, "")


def next_id(first: Column, times: Column) -> Column:
    """The id under which an edit is made that was made so many times before (null: never)."""
    return F.when(times > 0, F.concat_ws("~", first, (times + 1).cast("string"))).otherwise(first)


def made(edits: DataFrame, *, receipts: DataFrame, lost: DataFrame) -> DataFrame:
    """How edits stand by the id of their first making: `first`, how many `times` they were made, whether one `counts`.

    An edit counts that waits, or was taken in and is not `lost` (org, edit_id); not one that was refused.
    """
    void = (
        refused(receipts)
        .select("org", "edit_id")
        .unionByName(lost.select("org", "edit_id"))
        .distinct()
        .withColumn("void", F.lit(True))
    )
    return (
        edits.select("org", "edit_id")
        .distinct()
        .join(void, ["org", "edit_id"], "left")
        .groupBy("org", first_id("edit_id").alias("first"))
        .agg(F.count(F.lit(1)).alias("times"), F.max(F.col("void").isNull()).alias("counts"))
    )


class Made(NamedTuple):
    """How often an edit was made, and whether one of these counts."""

    times: int
    counts: bool


NEVER = Made(0, False)


def expect_first(edit_id: str) -> None:
    """Raises UsageError for an id that people cannot give: so are named edits that are made again."""
    if first := re.search(f"{TAKEN_IN_AGAIN}|{MADE_ANEW}", edit_id):
        raise UsageError(f"found the edit_id {edit_id!r}, expected one without {first[0]!r}: that names an edit made again")


def taken_in_first(edit_id: str) -> str:
    """The id under which an edit was taken in before a restore lost its change and had it taken in `again:`."""
    return re.sub(TAKEN_IN_AGAIN, "", edit_id)


def names_again(edits: Iterable[str], taken: Callable[[set[str]], set[str]]) -> dict[str, str]:
    """What those edits are called as they are said again: `again:` before the id under which an edit was taken in first, and one
    more as long as an edit of that name was taken in (`taken` gives those of some names that were). Edits that differ in
    `again:` alone get the same name: what was lost, said again, and lost once more is said again once."""
    roots = {each: taken_in_first(each) for each in edits}
    names = {root: f"{SAID_AGAIN}{root}" for root in roots.values()}
    tried = {*names}
    while tried:
        gone = taken({names[root] for root in tried})
        tried = {root for root in tried if names[root] in gone}
        names |= {root: f"{SAID_AGAIN}{names[root]}" for root in tried}
    return {each: names[root] for each, root in roots.items()}


def made_here(edits: Iterable[str], *, void: Collection[str]) -> dict[str, Made]:
    """What `made` says, by the id of the first making, of edits of one organization whose ids are here; `void` do not count."""
    stand: dict[str, Made] = {}
    for edit in set(edits):
        first = re.sub(MADE_ANEW, "", taken_in_first(edit))
        times, counts = stand.get(first, NEVER)
        stand[first] = Made(times + 1, counts or edit not in void)
    return stand


def anew(first: str, times: int) -> str:
    """What `next_id` says."""
    return f"{first}~{times + 1}" if times else first


def lost(changes: DataFrame, *, table: DataFrame, replicas: DataFrame, mail: DataFrame) -> DataFrame:
    """The changes that no replica has that speaks, and that are on their way to none: after a restore they are lost for ever.

    What has expired such a replica has had, and it is not lost; what is held by one that is to be deleted now goes with it
    (`losing.losses` says so beforehand), and so does mail to that. A replica that is not there yet may stand by the time mail
    comes to it. `table`: what stores say of themselves, as rows of `state`.
    """
    speaking = replicas.where(F.col("standing").isin(*LIVE))
    going = replicas.where(F.col("standing") == Standing.DELETE_NOW).select(*HERE)
    applied = state.ranges_of(state.own(table, replicas=speaking), entry=Entry.APPLIED)
    coming = mail.where("lost is null").withColumnRenamed("recipient", "store").join(going, list(HERE), "left_anti")
    carried = coming.select(*FOLDER, F.inline("carries"))
    known = applied.select(*ORIGIN, "cn_min", "cn_max").unionByName(carried.select(*ORIGIN, "cn_min", "cn_max"))
    return cnset.without(changes, known, ORIGIN)
