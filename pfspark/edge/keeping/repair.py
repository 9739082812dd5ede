"""What mends a broken promise: a table taken back, a body set aside, a base taken away, a store that begins a new life.

A plan is made of what the tables say, and nothing is done before it is asked for. First comes what undoes the work of
other hands; only where there is none, stores that know too much or too little begin anew, and ask everybody.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.between import Between
from pfspark.edge.asked.answers import Answers
from pfspark.edge.delta import beside
from pfspark.edge.delta.damage import REFUSALS
from pfspark.edge.delta.ledger import FACTS, LEDGER
from pfspark.edge.delta.snapshot import Snapshot
from pfspark.edge.delta.sql import among
from pfspark.edge.delta.tables import Tables
from pfspark.edge.keeping.agreement import disagreements
from pfspark.edge.keeping.auditing import AS_NAMED, altered, forgotten, later_rounds, looked_over, unequal_at_rest
from pfspark.edge.spark.crossing import to_frame
from pfspark.edge.world import bases_by_spark
from pfspark.errors import LakeError
from pfspark.rows import struct
from pfspark.rules import checks
from pfspark.words import Action

TAKE_BACK, SET_ASIDE, READ_ANEW, NEW_LIFE = "take back", "set aside", "read anew", "new life"


@dataclass(frozen=True)
class Remedy:
    """One thing to do: `what`, to which table, body, base or store (`target`), why, and a command that does it."""

    what: str
    target: str
    says: str
    command: str
    org: str | None = None

    def line(self) -> dict[str, Any]:
        """As JSON."""
        return {"kind": "remedy", **asdict(self)}


def plan(answers: Answers, world: Callable[[int], Between | None]) -> list[Remedy]:
    """What would mend what is broken; empty where nothing is, or where nothing here can.

    `world`: the one that rounds go on with after a round, if it is at hand.

    Raises LakeError where others have taken the ledger back: by what it says then, the rounds since would be undone.
    """
    answers.snapshot.tables.expect_whole_ledger()
    return [*_other_hands(answers.snapshot)] or [*_another_world(answers, world)] or [*_new_lives(answers)]


def _other_hands(snapshot: Snapshot) -> Iterator[Remedy]:
    tables, last = snapshot.tables, snapshot.row
    as_played = replace(snapshot, as_found=False)
    for name in FACTS:
        version = last.versions[name]
        # What a killed writer has left makes a version too, but counts nowhere.
        if tables.version(name) == version:
            continue
        if looked_over(name, snapshot.read(name)) != looked_over(name, as_played.read(name)) or later_rounds(
            tables, name, last.round
        ):
            says = f"`{name}` was written to by other hands since round {last.round}: it goes back to version {version}"
            yield Remedy(TAKE_BACK, name, says, f"RESTORE TABLE {tables.name(name)} TO VERSION AS OF {version}")
    for row in altered(snapshot).select("hash").distinct().orderBy("hash").collect():
        says = "the body is not what its name says: it goes, and comes back from the history of its table if that has it whole"
        yield Remedy(SET_ASIDE, row["hash"], says, shlex.join(("pfspark", "audit", "--repair", "--lake", tables.where)))


def _another_world(answers: Answers, world: Callable[[int], Between | None]) -> Iterator[Remedy]:
    """Of a base that says what the facts do not."""
    tables, found = answers.snapshot.tables, world(answers.snapshot.row.round)
    if found and disagreements(tables.spark, found.tables, answers.world):
        says = "the base is not what the facts say: it goes, and they are read anew"
        name = beside.BASE if tables.folder else bases_by_spark.NAME
        yield Remedy(READ_ANEW, name, says, shlex.join(("pfspark", "audit", "--repair", "--lake", tables.where)))


def _new_lives(answers: Answers) -> Iterator[Remedy]:
    """Of every store that misses something nobody will bring it, or is believed to hold what it does not; but none of stores that
    are retired, nor in organizations that cannot play: there is nobody who could ask."""
    seen = checks.Seen.of(answers.frame)
    missing = checks.neither_held_nor_noted(seen), checks.noted_though_held(seen), checks.arrays_of_the_erased(seen)
    broken = checks.falsely_believed(seen), *missing
    stores = [_whose(rows) for rows in (*broken, forgotten(answers.snapshot), unequal_at_rest(answers, seen))]
    found = reduce(DataFrame.unionByName, stores)
    number, where = answers.snapshot.row.round, answers.snapshot.tables.where
    retired = {(row["org"], row["store"]) for row in answers.world["stores"].to_pylist() if row["retired"]}
    for row in found.distinct().orderBy("org", "store").collect():
        if row["org"] not in answers.policies or (row["org"], row["store"]) in retired:
            continue
        words = ("restore", "--store", row["store"], "--to", str(number), "--org", row["org"], "--yes", "--lake", where)
        says = f"{row['store']} begins a new life with what it holds, asks all others for status, and gets what it lacks"
        yield Remedy(NEW_LIFE, row["store"], says, shlex.join(("pfspark", *words)), row["org"])


def _whose(rows: DataFrame) -> DataFrame:
    """The stores of those rows; where they are about somebody, the one that is spoken of."""
    spoken_of = cnset.store_of("about") if "about" in rows.columns else F.col("store")
    return rows.select("org", spoken_of.alias("store"))


def undo(tables: Tables, remedies: Iterable[Remedy]) -> tuple[None, dict[str, str]]:
    """Takes tables back and sets bodies aside, no table is written anew; what they were before stays in their history."""
    snapshot, aside = tables.snapshot(), []
    for remedy in remedies:
        if remedy.what == TAKE_BACK:
            tables.take_back(remedy.target, snapshot.row.versions[remedy.target])
        if remedy.what == SET_ASIDE:
            aside.append(remedy.target)
    if aside:
        for bodies in _whole(snapshot, aside):  # first: whoever is stopped in between has them twice, and not never
            tables.append("content", bodies)
        tables.delete("content", f"{among('hash', aside)} AND NOT ({AS_NAMED})")
    return None, {}


def bring_back(then: Answers, now: Snapshot, store: str, at: datetime) -> None:
    """Bodies of what a store showed or kept `then`, and upkeep has let go of since, from the history of their table: the store is
    about to show it again. What the history reaches no longer is gone; an audit names it."""
    kept = then.versions().where((F.col("store") == store) & ~F.col("dominated") & (F.col("action") != Action.DELETE))
    gone = kept.select("hash").where("hash is not null").distinct().join(now.read("content"), "hash", "left_anti")
    if hashes := [row["hash"] for row in gone.collect()]:
        for bodies in _whole(now, hashes):
            now.tables.append("content", bodies.withColumn("at", F.lit(at)))


def _whole(snapshot: Snapshot, hashes: list[str]) -> list[DataFrame]:
    """Those bodies as the newest earlier round found them whole, as far as the history reaches."""
    found, missing = [], set(hashes)
    ledger = snapshot.read(LEDGER).select("versions").toArrow().to_pylist()
    for version in sorted({dict(row["versions"])["content"] for row in ledger}, reverse=True):
        if not missing:
            break
        try:
            asked = to_frame(snapshot.tables.spark, pa.table({"hash": pa.array(missing, pa.string())}), struct("hash string"))
            rows = snapshot.tables.stored("content", version).join(asked, "hash", "left_semi")
            good = rows.where(AS_NAMED).dropDuplicates(["hash"])
            here = {row["hash"] for row in good.select("hash").collect()}
        except (LakeError, *REFUSALS):
            break
        found += [good] if here else []
        missing -= here
    return found
