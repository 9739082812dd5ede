"""The promises, checked on what the tables say, and a certificate of what was looked at."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark.edge.answers import Answers
from pfspark.edge.delta import LEDGER, Snapshot
from pfspark.edge.world import begun, delivered, own_rows
from pfspark.rules import checks, history
from pfspark.tables import TABLES
from pfspark.words import Action, Entry

Line = dict[str, Any]
CONTENT = ("hash", "size", "at")
"""Of `content`, the digest is over the bodies' own: those are checked one by one."""
AT_ONCE = 4
"""Jobs side by side: each is small, and mostly waits for its plan."""


def audit(answers: Answers) -> Iterator[Line]:
    """One line for each check: `id`, what it `says`, how many `rows` break it, one of them as a `sample`.

    First of the ledger, the bodies and what was written, then `rules.checks.CHECKS`. The last line is the certificate: the
    round, what became of each check, and of every table how many rows were looked at and their digest, which is the same
    whatever their order and however they lie in files.
    """
    snapshot, seen = answers.snapshot, checks.Seen.of(answers.frame)
    with ThreadPoolExecutor(AT_ONCE) as looking:
        promised = looking.submit(_promised, seen)
        links = looking.submit(snapshot.broken_links)
        others = [
            looking.submit(_counted, id, says, rows)
            for id, says, rows in (
                ("bodies", "every body is what its name says: SHA-256 and size", altered(snapshot)),
                *found_here_only(answers, seen),
                *written(snapshot),
            )
        ]
        tables = {name: looking.submit(digest, name, snapshot.read(name)) for name in TABLES}
    chained = "the ledger's rows follow one another, each with the digest of the one before"
    broken = [_line("ledger", chained, links.result()), *(line.result() for line in others), *promised.result()]
    yield from broken
    yield {
        "kind": "certificate", "lake": snapshot.tables.where, "round": snapshot.row.round, "ledger": snapshot.row.digest,
        "checks": {line["id"]: sum(each["rows"] for each in broken if each["id"] == line["id"]) for line in broken},
        "tables": {name: table.result() for name, table in tables.items()},
    }  # fmt: skip


def _promised(seen: checks.Seen) -> list[Line]:
    """One line for each of `rules.checks.CHECKS`, all looked at in one job."""
    found = checks.violations(seen).groupBy("check").agg(F.sum("rows").alias("rows"), F.min("sample").alias("sample")).collect()
    rows = {row["check"]: (row["rows"], row["sample"]) for row in found}
    return [_line(check.id, check.says, *rows.get(place, (0, None))) for place, check in enumerate(checks.CHECKS)]


def altered(snapshot: Snapshot) -> DataFrame:
    """Bodies whose SHA-256 or size is not the one they are kept under (X10)."""
    wrong = (F.sha2("body", 256) != F.col("hash")) | (F.octet_length("body") != F.col("size"))
    return snapshot.read("content").where(wrong).select("hash", "size", "at")


def found_here_only(answers: Answers, seen: checks.Seen) -> Iterator[tuple[str, str, DataFrame]]:
    """Promises that a play is not held to: a restore may break I10, and I2 and I18 need policies and bodies.

    Each with its id, what it says, and the rows that break it.
    """
    yield "I2", "where nothing is left to do, replicas are equal", unequal_at_rest(answers, seen)
    yield "I10", "nobody who is about to be erased holds the last copy", checks.last_copy(seen)
    yield "I18", "every version that is shown, or lost a conflict, has its body", bodiless(answers)


def written(snapshot: Snapshot) -> Iterator[tuple[str, str, DataFrame]]:
    """The promises about what was written down (`rules.history`), in the same way."""
    messages, receipts = snapshot.read("messages"), snapshot.read("receipts")
    yield "I3", "what a replica has let in it holds", forgotten(snapshot)
    yield "I12", "no message carries folders as content, or items as hierarchy", history.one_subject(messages)
    yield "I13", "a message is received where it was sent, once", history.accounted_for(messages, receipts=receipts)
    tables = {name: snapshot.read(name) for name in history.NEVER_REWRITTEN}
    yield "I17", "every round has the rows that the ledger counts", history.counted(snapshot.read(LEDGER), **tables)


def unequal_at_rest(answers: Answers, seen: checks.Seen) -> DataFrame:
    """What replicas lack that nobody will bring them; see `rules.checks.unequal`."""
    orgs = [(org,) for org, policy in answers.policies.items() if policy.status_again]
    repeating = answers.snapshot.tables.spark.createDataFrame(orgs, "org string")
    return checks.unequal(seen, mail=answers.frame("mail"), agenda=answers.frame("agenda"), repeating=repeating)


def forgotten(snapshot: Snapshot) -> DataFrame:
    """What replicas have let in since they began, and do not hold; see `rules.history.kept`."""
    since = begun(snapshot.read("replicas")).withColumnRenamed("store", "recipient")
    let_in = delivered(snapshot, snapshot.read).join(since, ["org", "recipient", "folder"]).where("round >= since_round")
    applied = own_rows(snapshot, snapshot.read)["state"].where(F.col("entry") == Entry.APPLIED)
    return history.kept(let_in, held=applied)


def bodiless(answers: Answers) -> DataFrame:
    """Versions that stores show or keep as losers of a conflict, whose body is in no row of `content` (I18)."""
    shown = answers.versions().where("not dominated and hash is not null").where(F.col("action") != Action.DELETE)
    return shown.join(answers.snapshot.read("content").select("hash"), "hash", "left_anti").select(
        "org", "store", "folder", "object", "origin", "cn", "hash"
    )


def digest(name: str, rows: DataFrame) -> Line:
    """How many rows of a table there are, and a SHA-256 over those of each."""
    said = F.to_json(F.struct(*(CONTENT if name == "content" else TABLES[name].names)))
    hashed = rows.select(F.sha2(said, 256).alias("row")).withColumn("begins", F.substring("row", 1, 3))
    joined = F.sha2(F.concat_ws("", F.array_sort(F.collect_list("row"))), 256)
    parts = hashed.groupBy("begins").agg(joined.alias("part"), F.count(F.lit(1)).alias("rows"))
    in_order = F.array_sort(F.collect_list(F.struct("begins", "part")))
    [found] = parts.agg(F.sum("rows").alias("rows"), F.sha2(F.to_json(in_order), 256).alias("digest")).collect()
    return {"rows": found["rows"] or 0, "digest": found["digest"]}


def _counted(id: str, says: str, rows: DataFrame) -> Line:
    sample = F.min(F.to_json(F.struct(*rows.columns)))
    [found] = rows.agg(F.count(F.lit(1)).alias("rows"), sample.alias("sample")).collect()
    return _line(id, says, found["rows"], found["sample"])


def _line(id: str, says: str, rows: int, sample: str | None = None) -> Line:
    return {"kind": "check", "id": id, "says": says, "rows": rows, "sample": sample}
