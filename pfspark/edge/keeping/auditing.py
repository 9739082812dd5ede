"""The promises, checked on what the tables say, and a certificate of what was looked at."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import TypeVar

import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pfspark.between import Between
from pfspark.edge.asked.answers import Answers
from pfspark.edge.asked.pages import EVERY_ROUND, paged
from pfspark.edge.delta.damage import REFUSALS, damage
from pfspark.edge.delta.digests import digest_of_pages, digests_by_round
from pfspark.edge.delta.ledger import FACTS, LEDGER, REWRITTEN, AsOf, Row
from pfspark.edge.delta.snapshot import Snapshot
from pfspark.edge.delta.stored import Stored
from pfspark.edge.delta.tables import Tables
from pfspark.edge.keeping.agreement import disagreements
from pfspark.edge.spark.crossing import BY_FILES
from pfspark.edge.world.directory import DIRECTORY
from pfspark.edge.world.facts import as_made, last_restores, undone
from pfspark.edge.world.views import begun, delivered, own_rows, unheard
from pfspark.errors import DamageError
from pfspark.execute import Made, execute
from pfspark.printed import Line
from pfspark.rules import checks, history
from pfspark.tables import TABLES
from pfspark.threads import callers_threads
from pfspark.words import Action, Entry, Kind

Check = tuple[str, str, Callable[[], DataFrame]]
"""A promise: its id, what it says, and what makes the frame of the rows that break it."""
T = TypeVar("T")
CONTENT = ("hash", "size", "at")
"""Of `content`, the digest is over the bodies' own: those are checked one by one."""
AS_NAMED = "sha2(body, 256) = hash AND octet_length(body) = size"
"""Bodies that are what their names say."""
OF_NO_ROWS = hashlib.sha256(b"[]").hexdigest()
"""The digest of a table without rows."""
CHAINED = "the ledger's rows follow one another, each with the digest of the one before"
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
    reading = Reading(tables)
    people = reading(lambda: tables.versions(DIRECTORY)) if as_of is None else None
    answers = reading(ask)
    snapshot = answers.snapshot if answers else reading(lambda: replace(tables.snapshot(as_of), as_found=as_of is None))
    if snapshot is None:
        yield from (reading.line(), _certificate(tables.where))
        return
    spark = tables.spark
    with callers_threads(spark, AT_ONCE) as looking:
        given = {name: as_made(name, answers.world[name]) for name in checks.LOOKED_AT} if answers else {}
        seen = checks.Seen.of(lambda name: given[name].frame(spark)) if answers else None
        promised = looking.submit(reading, partial(_promised, spark, given)) if answers else None
        links = looking.submit(reading, snapshot.broken_links)
        unlike = looking.submit(reading, lambda: unlike_their_digests(snapshot))
        found = [looking.submit(reading.counted, *check) for check in _checks(snapshot, answers, seen)]
        whole = looking.submit(reading, lambda: all_looked_over({name: snapshot.read(name) for name in TABLES}))
        # A table that cannot be read keeps the others from being looked at together.
        looked_at: Mapping[str, Line | None] = whole.result() or {
            name: reading(partial(_look_over, snapshot, name)) for name in TABLES
        }
    lines = [
        _line("ledger", CHAINED, links.result()),
        _found_line("facts", WRITTEN, unlike.result()),
        *(line.result() for line in found),
    ]
    if answers and people and not reading.damages and not unlike.result():
        lines += reading(partial(_held_beside, answers, world, people)) or []
    lines += (promised and promised.result()) or [_line(check.id, check.says, None) for check in checks.CHECKS]
    lines.insert(0, reading.line())  # last: looking at the world may have met damage too
    yield from lines
    yield _certificate(tables.where, snapshot.row, lines, looked_at)


class Reading:
    """Looks at tables of which some may be damaged, and remembers which those are."""

    def __init__(self, tables: Tables) -> None:
        self.damages = {(name, file) for name in TABLES for file in tables.flaws(name)}
        """Tables that cannot be read, each with the file that keeps one from it."""

    def __call__(self, work: Callable[[], T]) -> T | None:
        """What that work gives; None where a table that it needs cannot be read. Raises what has another cause."""
        try:
            return work()
        except (DamageError, *REFUSALS) as error:
            known = damage(error)
            if known is None and not self.damages:
                raise
            if known:
                self.damages.add((known.table, known.file))
            return None

    def counted(self, id: str, says: str, rows: Callable[[], DataFrame]) -> Line:
        """The line of a check: how many rows break it, null where they cannot be looked at."""
        return self(lambda: _counted(id, says, rows())) or _line(id, says, None)

    def line(self) -> Line:
        """The line on the damages found so far."""
        named = [json.dumps({"table": table, "file": file}) for table, file in sorted(self.damages)]
        return _line("tables", "every table can be read, whole, as its log says", len(named), min(named, default=None))


def _checks(snapshot: Snapshot, answers: Answers | None, seen: checks.Seen | None) -> Iterator[Check]:
    """What is looked at of the tables, and of the world if it could be read."""
    yield "bodies", "every body is what its name says: SHA-256 and size", lambda: altered(snapshot)
    if answers and seen:
        yield from found_here_only(answers, seen)
    yield from written(snapshot)


def _certificate(
    where: str, row: Row | None = None, lines: Iterable[Line] = (), looked_at: Mapping[str, Line | None] | None = None
) -> Line:
    """What was looked at, of a lake after a round, and what became of it; of one whose ledger cannot be read, nothing."""
    broken: dict[str, list[int | None]] = defaultdict(list)
    for line in lines:
        broken[line["id"]].append(line["rows"])
    return {
        "kind": "certificate", "lake": where, "round": row and row.round, "ledger": row and row.digest,
        "checks": {id: None if None in rows else sum(each or 0 for each in rows) for id, rows in broken.items()},
        "tables": looked_at or {},
    }  # fmt: skip


def unlike_their_digests(snapshot: Snapshot) -> list[Line]:
    """Rounds whose rows are not those of which the ledger has the digest, each with the table: rows changed, gone or added.

    Of a table that upkeep wrote anew, those are all rows up to then. A round of which the ledger knows nothing was in it
    once: only the one after the last may have been begun by somebody who never ended it.
    """
    rows, broken = snapshot.rounds(), []
    for name in FACTS:
        differ = _unlike(snapshot, name, rows)
        anew = name in REWRITTEN and snapshot.as_found
        if differ and anew and snapshot.tables.written_anew(name, snapshot.row.versions[name]):
            # An upkeep goes on beside, or ended half way: the ledger speaks of the table as it was before.
            differ = _unlike(replace(snapshot, as_found=False), name, rows)
        broken += [{"table": name, "round": number} for number in sorted(differ)]
        if snapshot.as_found:
            broken += [{"table": name, "round": number} for number in later_rounds(snapshot.tables, name, rows[-1].round + 1)]
    return broken


def _unlike(snapshot: Snapshot, name: str, rows: Sequence[Row]) -> set[int]:
    """The rounds of which a table has other rows than those of which these rows of the ledger have the digest."""
    anew = max((row.round for row in rows if row.kind == Kind.MAINTAINED and name in row.facts), default=0)
    found: dict[int, str] = {}
    for page in paged(snapshot, name, some=range(anew + 1, EVERY_ROUND.stop) if anew else EVERY_ROUND):
        found |= digests_by_round(name, page)
    if anew:
        found[anew] = digest_of_pages(name, paged(snapshot, name, some=range(EVERY_ROUND.start, anew + 1)))
    told = {row.round: row.facts.get(name) for row in rows if row.round >= max(anew, 1) and row.kind != Kind.OPENED}
    unknown = {row.round for row in rows if row.format == 1}
    return {number for number in {*told, *found} - unknown if found.get(number) != told.get(number)}


def later_rounds(tables: Stored, name: str, round: int) -> list[int]:
    """Rounds after that one of which a table has rows, and the ledger cannot know: others may have played meanwhile, and be about
    to write the next one."""
    found = tables.arrow(name, keep=pc.field("round") > round, columns=["round"])
    if found is None:
        found = tables.stored(name).where(F.col("round") > round).select("round").distinct().toArrow()
    numbers = sorted(set(found["round"].to_pylist()))
    next_one = tables.last_round() + 1 if numbers else round  # the ledger is read after the table
    return [number for number in numbers if number > next_one]


def _held_beside(answers: Answers, world: Callable[[int], Between | None], people: Mapping[str, int]) -> list[Line]:
    """A line on the world at hand, if there is one and nobody has written to the directory since it had those versions."""
    tables, found = answers.snapshot.tables, world(answers.snapshot.row.round)
    if found is None or tables.versions(people) != people:
        return []
    return [_found_line("base", AGREES, disagreements(tables.spark, found.tables, answers.world))]


def _promised(spark: SparkSession, given: Mapping[str, Made]) -> list[Line]:
    """One line for each of `rules.checks.CHECKS`, all looked at in one job."""
    broken = defaultdict(list)
    for row in execute(spark, {"broken": checks.graph()}, given, BY_FILES)["broken"].to_pylist():
        broken[int(row["check"])].append(row)
    rows = {place: (sum(row["rows"] for row in some), min(row["sample"] for row in some)) for place, some in broken.items()}
    return [_line(check.id, check.says, *rows.get(place, (0, None))) for place, check in enumerate(checks.CHECKS)]


def altered(snapshot: Snapshot) -> DataFrame:
    """Bodies whose SHA-256 or size is not the one they are kept under (X10)."""
    return snapshot.read("content").where(f"NOT ({AS_NAMED})").select("hash", "size", "at")


def found_here_only(answers: Answers, seen: checks.Seen) -> Iterator[Check]:
    """Promises that a play is not held to: a restore may break I10, and I2 and I18 need policies and bodies.

    Each with its id, what it says, and the rows that break it.
    """
    yield "I2", "where nothing is left to do, replicas are equal", lambda: unequal_at_rest(answers, seen)
    yield "I10", "nobody who is about to be erased holds the last copy", lambda: checks.held_by_leavers_alone(seen)
    yield "I18", "every version that is shown, or lost a conflict, has its body", lambda: bodiless(answers)


def written(snapshot: Snapshot) -> Iterator[Check]:
    """The promises about what was written down (`rules.history`), in the same way."""
    read = snapshot.read
    yield "I3", "what a replica has accepted it holds", lambda: forgotten(snapshot)
    yield (
        "I12", "no message carries folders as content, or items as hierarchy", lambda: history.mixed_subjects(read("messages")),
    )  # fmt: skip
    yield (
        "I13", "a message is received where it was sent, once",
        lambda: history.unaccounted(read("messages"), receipts=read("receipts")),
    )  # fmt: skip
    yield (
        "I17", "every round has the rows that the ledger counts",
        lambda: history.miscounted(read(LEDGER), **{name: read(name) for name in history.NEVER_REWRITTEN}),
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
    """What replicas have accepted since they began, and do not hold; see `rules.history.not_kept`."""
    read, restored = snapshot.read, last_restores(snapshot)
    since = begun(read("replicas")).withColumnRenamed("store", "recipient")
    received = delivered(unheard(read("receipts"), undone=undone(snapshot)), messages=read("messages"))
    accepted = received.join(since, ["org", "recipient", "folder"]).where("round >= since_round")
    applied = own_rows(read, restored)["state"].where(F.col("entry") == Entry.APPLIED)
    return history.not_kept(accepted, held=applied)


def bodiless(answers: Answers) -> DataFrame:
    """Versions that stores show or keep as losers of a conflict, whose body is in no row of `content` (I18)."""
    shown = answers.versions().where("not dominated and hash is not null").where(F.col("action") != Action.DELETE)
    return shown.join(answers.snapshot.read("content").select("hash"), "hash", "left_anti").select(
        "org", "store", "folder", "object", "origin", "cn", "hash"
    )


def looked_over(name: str, rows: DataFrame) -> Line:
    """How many rows a table has, and a SHA-256 over those of each: the certificate's digest, which is not the ledger's."""
    return all_looked_over({name: rows})[name]


def _look_over(snapshot: Snapshot, name: str) -> Line:
    return looked_over(name, snapshot.read(name))


def all_looked_over(tables: Mapping[str, DataFrame]) -> dict[str, Line]:
    """The same of several, by the name of the table; in one job."""
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


def _found_line(id: str, says: str, found: list[Line] | None) -> Line:
    return _line(id, says, None if found is None else len(found), json.dumps(found[0], default=str) if found else None)


def _line(id: str, says: str, rows: int | None, sample: str | None = None) -> Line:
    return {"kind": "check", "id": id, "says": says, "rows": rows, "sample": sample}
