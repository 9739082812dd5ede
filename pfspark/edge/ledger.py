"""The ledger `rounds`: a row for each number that a writer took, sealed by a digest over all rows before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pfspark.rules.history import NEVER_REWRITTEN
from pfspark.tables import TABLES

FORMAT = 2
"""The version of these tables; a lake of a higher one was made by a newer pfspark. Format 1 knew no digests of facts."""
LEDGER = "rounds"

FACTS = tuple(name for name, table in TABLES.items() if "round" in table.names and name != LEDGER)
"""The tables that rounds write; all others are written by people, at any time."""
BY_PEOPLE = tuple(name for name in TABLES if name not in (*FACTS, LEDGER))

REWRITTEN = tuple(name for name in FACTS if name not in NEVER_REWRITTEN)
"""Those that upkeep writes anew, shorter."""

MAPS = ("versions", "cursors", "counts", "next_due", "facts")
"""The columns of the ledger that are maps."""

AsOf = int | datetime | None


@dataclass(frozen=True)
class Restored:
    """A store whose own rows (state, replicas, backfill, agenda) were taken back to those of round `to`."""

    org: str
    store: str
    to: int


@dataclass(frozen=True)
class Row:
    """A row of the ledger (`tables.TABLES["rounds"]`)."""

    round: int
    kind: str
    writer: str
    turns: Mapping[str, datetime]
    began: datetime
    ended: datetime
    versions: Mapping[str, int]
    cursors: Mapping[str, int]
    counts: Mapping[str, int] = field(default_factory=dict)
    next_due: Mapping[str, datetime] = field(default_factory=dict)
    restored: tuple[Restored, ...] = ()
    digest: str = ""
    format: int = FORMAT
    facts: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Row:
        """From a row as Arrow gives it."""
        maps = {name: dict(row[name] or ()) for name in MAPS}
        turns = {turn["org"]: turn["now"] for turn in row["turns"] or ()}
        return cls(**{**row, **maps, "turns": turns, "restored": restored_of(row["restored"])})

    def written(self) -> dict[str, Any]:
        """As Arrow takes it."""
        maps = {name: sorted(getattr(self, name).items()) for name in MAPS}
        turns = [{"org": org, "now": now} for org, now in sorted(self.turns.items())]
        restored = [asdict(each) for each in self.restored]
        return {**{each.name: getattr(self, each.name) for each in fields(self)}, **maps, "turns": turns, "restored": restored}

    def sealed(self, before: str) -> Row:
        """The same row with its digest: over the row, and over the digest of the row before."""
        said = {**asdict(self), "digest": before}
        if not self.facts:
            del said["facts"]  # as in rows of format 1
        text = json.dumps(said, sort_keys=True, default=lambda each: each.isoformat())
        return replace(self, digest=hashlib.sha256(text.encode()).hexdigest())


def looked_up(ledger: pa.Table, as_of: AsOf) -> dict[str, Any]:
    """What a snapshot needs of the ledger: the `row` as of then, the `last` round, those that are `void`, the `restores`, the
    `furthest` that anybody has played, the highest `format`."""
    rows = ledger.select(["round", "kind", "turns", "ended", "format"]).to_pylist()
    latest = [max((turn["now"] for turn in row["turns"] or ()), default=None) for row in rows]

    def is_wanted(row: Mapping[str, Any], played: datetime | None) -> bool:
        if isinstance(as_of, datetime):
            return (played or row["ended"]) <= as_of
        return as_of is None or row["round"] <= as_of

    wanted = {row["round"]: place for place, row in enumerate(rows) if is_wanted(row, latest[place])}
    picked = ledger.slice(wanted[max(wanted)], 1).to_pylist()[0] if wanted else None
    back = ledger.filter(pc.equal(ledger["kind"], "restored")).select(["round", "restored"])
    return {
        "row": picked, "last": max((row["round"] for row in rows), default=None), "restores": back.to_pylist(),
        "void": [row["round"] for row in rows if row["kind"] == "opened"], "furthest": max(filter(None, latest), default=None),
        "format": max((row["format"] for row in rows), default=None),
    }  # fmt: skip


def restored_of(rows: Iterable[Mapping[str, Any]] | None) -> tuple[Restored, ...]:
    """What a row of the ledger says of stores that were taken back."""
    return tuple(Restored(**row) for row in rows or ())
