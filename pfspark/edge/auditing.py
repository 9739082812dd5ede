"""The promises, checked on what the tables say, and a certificate of what was looked at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark.edge.answers import Answers
from pfspark.edge.delta import Snapshot
from pfspark.rules import checks
from pfspark.tables import TABLES

Line = dict[str, Any]
CONTENT = ("hash", "size", "at")
"""Of `content`, the digest is over the bodies' own: those are checked one by one."""


def audit(answers: Answers) -> Iterator[Line]:
    """One line for each check: `id`, what it `says`, how many `rows` break it, one of them as a `sample`.

    First of the ledger and the bodies, then `rules.checks.CHECKS`. The last line is the certificate: the round, what
    became of each check, and of every table how many rows were looked at and their digest, which is the same whatever
    their order and however they lie in files.
    """
    snapshot = answers.snapshot
    broken = [
        _line("ledger", "the ledger's rows follow one another, each with the digest of the one before", snapshot.broken_links()),
        _counted("bodies", "every body is what its name says: SHA-256 and size", altered(snapshot)),
        _counted("content", "every item that is shown has its body", bodiless(answers)),
    ]
    seen = checks.Seen.of(answers.frame)
    found = checks.violations(seen).groupBy("check").agg(F.sum("rows").alias("rows"), F.min("sample").alias("sample")).collect()
    rows = {row["check"]: (row["rows"], row["sample"]) for row in found}
    broken += [_line(check.id, check.says, *rows.get(place, (0, None))) for place, check in enumerate(checks.CHECKS)]
    yield from broken
    yield {
        "kind": "certificate", "lake": snapshot.tables.where, "round": snapshot.row.round, "ledger": snapshot.row.digest,
        "checks": {line["id"]: sum(each["rows"] for each in broken if each["id"] == line["id"]) for line in broken},
        "tables": {name: digest(snapshot, name) for name in TABLES},
    }  # fmt: skip


def altered(snapshot: Snapshot) -> DataFrame:
    """Bodies whose SHA-256 or size is not the one they are kept under (X10)."""
    wrong = (F.sha2("body", 256) != F.col("hash")) | (F.octet_length("body") != F.col("size"))
    return snapshot.read("content").where(wrong).select("hash", "size", "at")


def bodiless(answers: Answers) -> DataFrame:
    """Items as stores show them, conflict losers left aside, whose body is in no row of `content` (I18)."""
    shown = answers.readable().where("not deleted and hash is not null")
    return shown.join(answers.snapshot.read("content").select("hash"), "hash", "left_anti").select(
        "org", "store", "folder", "object", "version", "hash"
    )


def digest(snapshot: Snapshot, name: str) -> Line:
    """How many valid rows a table has, and a SHA-256 over those of its rows."""
    rows = snapshot.read(name)
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
