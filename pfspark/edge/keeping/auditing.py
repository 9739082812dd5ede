"""The promises, checked on what the tables say, and a certificate of what was looked at."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial, reduce
from typing import Any, TypeVar

import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pfspark.between import Between
from pfspark.edge.asked.answers import Answers
from pfspark.edge.asked.pages import EVERY_ROUND, paged
from pfspark.edge.delta.damage import damage
from pfspark.edge.delta.digests import digest_of_pages, digests_by_round
from pfspark.edge.delta.ledger import FACTS, LEDGER, AsOf
from pfspark.edge.delta.snapshot import Snapshot
from pfspark.edge.delta.tables import REFUSALS, Tables
from pfspark.edge.keeping.agreement import disagreements
from pfspark.edge.spark.crossing import suited
from pfspark.edge.world.directory import DIRECTORY
from pfspark.edge.world.facts import as_made, begun, delivered, own_rows
from pfspark.errors import DamageError
from pfspark.execute import Made, execute
from pfspark.rules import checks, history
from pfspark.tables import TABLES
from pfspark.threads import callers_threads
from pfspark.words import Action, Entry

Line = dict[str, Any]
Check = tuple[str, str, Callable[[], DataFrame]]
"""A promise: its id, what it says, and what makes the frame of the rows that break it."""
T = TypeVar("T")
CONTENT = ("hash", "size", "at")
"""Of `content`, the digest is over the bodies' own: those are checked one by one."""
OF_NO_ROWS = hashlib.sha256(b"[]").hexdigest()
"""The digest of a table without rows."""
WRITTEN = "the rows of every round are those of which the ledger has the digest"
AGREES = "the world that rounds go on with is the one that the facts say from the first on"
AT_ONCE = 4
"""Jobs side by side: each is small, and mostly waits for its plan."""


def audit(
    tables: Tables, ask: Callable[[], Answers], world: Callable[[int], Between | None], as_of: AsOf = None
) -> Iterator[Line]:
    """One line for each check: `id`, what it `says`, how many `rows` break it, one of them as a `sample`.

    First whether the tables can be read at all, the ledger, the bodies and what was written, then `rules.checks.CHECKS`.
    What needs a table that cannot be read is not looked at: its `rows` are null. Where the facts are those that were
    written, the `world` after that round is held beside them, if it is at hand without reading all of them; not of what
    is past. The last line is the certificate: the round, what became of each check, and of every table how many rows were
    looked at and their digest, which is the same whatever their order and however they lie in files.
    """
    damages = {(name, file) for name in TABLES for file in tables.flaws(name)}

    def guarded(work: Callable[[], T]) -> T | None:
        try:
            return work()
        except (DamageError, *REFUSALS) as error:
            known = damage(error)
            if known is None and not damages:
                raise
            if known:
                damages.add((known.table, known.file))
            return None

    def counted(id: str, says: str, rows: Callable[[], DataFrame]) -> Line:
        return guarded(lambda: _counted(id, says, rows())) or _line(id, says, None)

    people = None
    if as_of is None:
        with suppress(FileNotFoundError):  # where tables are gone, or never were, those who read them say so
            people = guarded(lambda: tables.versions(DIRECTORY))
    answers = guarded(ask)
    snapshot = answers.snapshot if answers else guarded(lambda: replace(tables.snapshot(as_of), standing=as_of is None))
    if snapshot is None:
        yield _damages_line(damages)
        yield {"kind": "certificate", "lake": tables.where, "round": None, "ledger": None, "checks": {}, "tables": {}}
        return
    with callers_threads(tables.spark, AT_ONCE) as looking:
        spark = tables.spark
        given = {name: as_made(name, answers.world[name]) for name in checks.LOOKED_AT} if answers else {}
        seen = checks.Seen.of(lambda name: given[name].frame(spark)) if answers else None
        promised = looking.submit(guarded, partial(_promised, spark, given)) if answers else None
        links = looking.submit(guarded, snapshot.broken_links)
        forged = looking.submit(guarded, lambda: unlike_their_digests(snapshot))
        others = [
            looking.submit(counted, id, says, rows)
            for id, says, rows in (
                ("bodies", "every body is what its name says: SHA-256 and size", lambda: altered(snapshot)),
                *(found_here_only(answers, seen) if answers and seen else ()),
                *written(snapshot),
            )
        ]
        whole = looking.submit(guarded, lambda: digests({name: snapshot.read(name) for name in TABLES}))
        looked_at: Mapping[str, Line | None] | None = whole.result()
        if looked_at is None:  # a table that cannot be read keeps the others from being looked at together
            looked_at = {name: guarded(partial(_digest_of, snapshot, name)) for name in TABLES}
    chained = "the ledger's rows follow one another, each with the digest of the one before"
    lines = [
        _line("ledger", chained, links.result()),
        _found_line("facts", WRITTEN, forged.result()),
        *(line.result() for line in others),
    ]
    if answers and people and not damages and not forged.result():
        lines += guarded(partial(_held_beside, answers, world, people)) or []
    lines += (promised and promised.result()) or [_line(check.id, check.says, None) for check in checks.CHECKS]
    broken = [_damages_line(damages), *lines]
    yield from broken
    yield {
        "kind": "certificate", "lake": snapshot.tables.where, "round": snapshot.row.round, "ledger": snapshot.row.digest,
        "checks": {line["id"]: _sum(each["rows"] for each in broken if each["id"] == line["id"]) for line in broken},
        "tables": looked_at,
    }  # fmt: skip


def unlike_their_digests(snapshot: Snapshot) -> list[Line]:
    """Rounds whose rows are not those of which the ledger has the digest, each with the table: rows changed, gone or added.

    Of a table that upkeep wrote anew, those are all rows up to then. A round of which the ledger knows nothing was in it
    once: only the one after the last may have been begun by somebody who never ended it.
    """
    rows = snapshot.rounds()
    broken = []
    for name in FACTS:
        anew = max((row.round for row in rows if row.kind == "maintained" and name in row.facts), default=0)
        found: dict[int, str] = {}
        for page in paged(snapshot, name, some=range(anew + 1, EVERY_ROUND.stop) if anew else EVERY_ROUND):
            found |= digests_by_round(name, page)
        if anew:
            found[anew] = digest_of_pages(name, paged(snapshot, name, some=range(EVERY_ROUND.start, anew + 1)))
        told = {row.round: row.facts.get(name) for row in rows if row.round >= max(anew, 1) and row.kind != "opened"}
        unknown = {row.round for row in rows if row.format == 1}
        differ = {number for number in {*told, *found} - unknown if found.get(number) != told.get(number)}
        broken += [{"table": name, "round": number} for number in sorted(differ)]
        if snapshot.standing:
            broken += [{"table": name, "round": number} for number in _later(snapshot.tables, name, rows[-1].round + 1)]
    return broken


def _later(tables: Tables, name: str, round: int) -> list[int]:
    """Rounds after that one of which a table has rows."""
    found = tables.arrow(name, keep=pc.field("round") > round, columns=["round"])
    if found is None:
        found = tables.stored(name).where(F.col("round") > round).select("round").distinct().toArrow()
    return sorted(set(found["round"].to_pylist()))


def _held_beside(answers: Answers, world: Callable[[int], Between | None], people: Mapping[str, int]) -> list[Line]:
    """A line on the world at hand, if there is one and nobody has written to the directory since it had those versions."""
    tables, found = answers.snapshot.tables, world(answers.snapshot.row.round)
    if found is None or tables.versions(people) != people:
        return []
    return [_found_line("base", AGREES, disagreements(tables.spark, found.tables, answers.world))]


def _promised(spark: SparkSession, given: Mapping[str, Made]) -> list[Line]:
    """One line for each of `rules.checks.CHECKS`, all looked at in one job."""
    broken = defaultdict(list)
    for row in execute(spark, {"broken": checks.drawn()}, given, suited)["broken"].to_pylist():
        broken[int(row["check"])].append(row)
    rows = {place: (sum(row["rows"] for row in some), min(row["sample"] for row in some)) for place, some in broken.items()}
    return [_line(check.id, check.says, *rows.get(place, (0, None))) for place, check in enumerate(checks.CHECKS)]


def altered(snapshot: Snapshot) -> DataFrame:
    """Bodies whose SHA-256 or size is not the one they are kept under (X10)."""
    wrong = (F.sha2("body", 256) != F.col("hash")) | (F.octet_length("body") != F.col("size"))
    return snapshot.read("content").where(wrong).select("hash", "size", "at")


def found_here_only(answers: Answers, seen: checks.Seen) -> Iterator[Check]:
    """Promises that a play is not held to: a restore may break I10, and I2 and I18 need policies and bodies.

    Each with its id, what it says, and the rows that break it.
    """
    yield "I2", "where nothing is left to do, replicas are equal", lambda: unequal_at_rest(answers, seen)
    yield "I10", "nobody who is about to be erased holds the last copy", lambda: checks.last_copy(seen)
    yield "I18", "every version that is shown, or lost a conflict, has its body", lambda: bodiless(answers)


def written(snapshot: Snapshot) -> Iterator[Check]:
    """The promises about what was written down (`rules.history`), in the same way."""
    read = snapshot.read
    yield "I3", "what a replica has accepted it holds", lambda: forgotten(snapshot)
    yield (
        "I12", "no message carries folders as content, or items as hierarchy", lambda: history.one_subject(read("messages")),
    )  # fmt: skip
    yield (
        "I13", "a message is received where it was sent, once",
        lambda: history.accounted_for(read("messages"), receipts=read("receipts")),
    )  # fmt: skip
    yield (
        "I17", "every round has the rows that the ledger counts",
        lambda: history.counted(read(LEDGER), **{name: read(name) for name in history.NEVER_REWRITTEN}),
    )  # fmt: skip
    yield (
        "edits", "every change says what its edit said: name, size, hash",
        lambda: history.unlike_their_edits(read("changes"), edits=read("edits")),
    )  # fmt: skip
    yield (
        "sizes", "every change says how large its body is",
        lambda: history.missized(read("changes"), content=read("content")),
    )  # fmt: skip


def unequal_at_rest(answers: Answers, seen: checks.Seen) -> DataFrame:
    """What replicas lack that nobody will bring them; see `rules.checks.unequal`."""
    orgs = [(org,) for org, policy in answers.policies.items() if policy.status_again]
    repeating = answers.snapshot.tables.spark.createDataFrame(orgs, "org string")
    return checks.unequal(seen, mail=answers.frame("mail"), agenda=answers.frame("agenda"), repeating=repeating)


def forgotten(snapshot: Snapshot) -> DataFrame:
    """What replicas have accepted since they began, and do not hold; see `rules.history.kept`."""
    since = begun(snapshot.read("replicas")).withColumnRenamed("store", "recipient")
    accepted = delivered(snapshot, snapshot.read).join(since, ["org", "recipient", "folder"]).where("round >= since_round")
    applied = own_rows(snapshot, snapshot.read)["state"].where(F.col("entry") == Entry.APPLIED)
    return history.kept(accepted, held=applied)


def bodiless(answers: Answers) -> DataFrame:
    """Versions that stores show or keep as losers of a conflict, whose body is in no row of `content` (I18)."""
    shown = answers.versions().where("not dominated and hash is not null").where(F.col("action") != Action.DELETE)
    return shown.join(answers.snapshot.read("content").select("hash"), "hash", "left_anti").select(
        "org", "store", "folder", "object", "origin", "cn", "hash"
    )


def digest(name: str, rows: DataFrame) -> Line:
    """How many rows of a table there are, and a SHA-256 over those of each."""
    return digests({name: rows})[name]


def _digest_of(snapshot: Snapshot, name: str) -> Line:
    return digest(name, snapshot.read(name))


def digests(tables: Mapping[str, DataFrame]) -> dict[str, Line]:
    """The same of each of these tables, by its name, in one job."""
    hashed = reduce(DataFrame.unionByName, (_hashed(name, rows) for name, rows in tables.items()))
    joined = F.sha2(F.concat_ws("", F.array_sort(F.collect_list("row"))), 256)
    parts = hashed.groupBy("table", F.substring("row", 1, 3).alias("begins")).agg(
        joined.alias("part"), F.count(F.lit(1)).alias("rows")
    )
    in_order = F.array_sort(F.collect_list(F.struct("begins", "part")))
    said = parts.groupBy("table").agg(F.sum("rows").alias("rows"), F.sha2(F.to_json(in_order), 256).alias("digest"))
    found = {row["table"]: {"rows": row["rows"], "digest": row["digest"]} for row in said.collect()}
    return {name: found.get(name, {"rows": 0, "digest": OF_NO_ROWS}) for name in tables}


def _hashed(name: str, rows: DataFrame) -> DataFrame:
    said = F.to_json(F.struct(*(CONTENT if name == "content" else TABLES[name].names)))
    return rows.select(F.lit(name).alias("table"), F.sha2(said, 256).alias("row"))


def _counted(id: str, says: str, rows: DataFrame) -> Line:
    sample = F.min(F.to_json(F.struct(*rows.columns)))
    [found] = rows.agg(F.count(F.lit(1)).alias("rows"), sample.alias("sample")).collect()
    return _line(id, says, found["rows"], found["sample"])


def _damages_line(damages: set[tuple[str, str]]) -> Line:
    named = [json.dumps({"table": table, "file": file}) for table, file in sorted(damages)]
    return _line("tables", "every table can be read, whole, as its log says", len(named), min(named, default=None))


def _found_line(id: str, says: str, found: list[Line] | None) -> Line:
    return _line(id, says, None if found is None else len(found), json.dumps(found[0], default=str) if found else None)


def _sum(rows: Iterable[int | None]) -> int | None:
    known = list(rows)
    return None if None in known else sum(each or 0 for each in known)


def _line(id: str, says: str, rows: int | None, sample: str | None = None) -> Line:
    return {"kind": "check", "id": id, "says": says, "rows": rows, "sample": sample}
