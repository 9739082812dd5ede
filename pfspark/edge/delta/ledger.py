"""The ledger `rounds`: a row for each number that a writer took, sealed by a digest over all rows before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pfspark.edge.delta import native
from pfspark.keyed import ByName, filtered
from pfspark.rows import columns_of
from pfspark.rules.history import NEVER_REWRITTEN
from pfspark.tables import TABLES
from pfspark.words import Kind

FORMAT = 3
"""The version of these tables; a lake of a higher one was made by a newer pfspark. Format 1 knew no digests of facts, format 2
no counts of receipts (`tables.ADDED`)."""
LEDGER = "rounds"

FACTS = tuple(name for name, table in TABLES.items() if "round" in table.names and name != LEDGER)
"""The tables that rounds write; all others are written by people, at any time."""
BY_PEOPLE = tuple(name for name in TABLES if name not in (*FACTS, LEDGER))

REWRITTEN = tuple(name for name in FACTS if name not in NEVER_REWRITTEN)
"""Those that upkeep writes anew, shorter."""

MAPS = ("versions", "cursors", "counts", "next_due", "facts")
"""The columns of the ledger that are maps."""

AsOf = int | datetime | None


def counts_of(made: ByName) -> dict[str, int]:
    """How many rows a round made for each table of facts, as its row says it: those for which it made none are left out."""
    return {name: made[name].num_rows for name in FACTS if name in made and made[name].num_rows}


@dataclass(frozen=True)
class Restored:
    """A store whose own rows (state, replicas, backfill, agenda) were taken back to those of round `to`."""

    org: str
    store: str
    to: int


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of the ledger (`tables.TABLES["rounds"]`)."""

    round: int
    kind: str
    writer: str
    turns: Mapping[str, datetime] = field(default_factory=dict)
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


LOOKED_AT = ("round", "kind", "turns", "ended", "restored", "format")
"""The columns in which a row is looked up; the others are as long as there are tables, and one row of them is needed."""


def looked_up(ledger: pa.Table, as_of: AsOf, org: str | None = None) -> dict[str, Any]:
    """What a snapshot needs of the ledger: the `round` as of then, the `last` one, those that are `void`, the `restores`, the
    `furthest` that anybody has played, the highest `format`.

    A time is that of the organization, or of all of them: the round is the last before the first that went beyond it. One in
    which it did not play changes nothing of it, but what people say; it counts if it had ended by then on the wall.
    """
    turns = _turns(ledger)
    back = ledger.filter(pc.equal(ledger["kind"], Kind.RESTORED)).select(["round", "restored"])
    return {
        "round": _most(_until(ledger, turns, as_of, org)["round"]), "last": _most(ledger["round"]), "restores": back.to_pylist(),
        "void": ledger.filter(pc.equal(ledger["kind"], Kind.OPENED))["round"].to_pylist(), "furthest": _most(turns["now"]),
        "format": _most(ledger["format"]),
    }  # fmt: skip


def last_of_each(ledger: pa.Table, column: str) -> dict[str, Any]:
    """Of each organization's last round its time, `now`, or its number, `round`."""
    turns = _turns(ledger.sort_by("round")).group_by("org", use_threads=False).aggregate([(column, "last")])
    return dict(zip(turns["org"].to_pylist(), turns[f"{column}_last"].to_pylist(), strict=True))


def _until(ledger: pa.Table, turns: pa.Table, as_of: AsOf, org: str | None) -> pa.Table:
    """The rows up to a round, or to a time."""
    if as_of is None:
        return ledger
    if not isinstance(as_of, datetime):
        return ledger.filter(pc.less_equal(ledger["round"], as_of))
    own = turns if org is None else turns.filter(pc.equal(turns["org"], org))
    latest = own.group_by("round").aggregate([("now", "max")])
    played = latest["now_max"].take(pc.index_in(ledger["round"], latest["round"].combine_chunks()))
    by_then = ledger.filter(pc.less_equal(pc.coalesce(played, ledger["ended"]), as_of))
    beyond = pc.min(ledger["round"].filter(pc.greater(played, as_of)))
    return by_then.filter(pc.less(by_then["round"], beyond)) if beyond.is_valid else by_then


def _turns(ledger: pa.Table) -> pa.Table:
    """A row for each organization that a round played: the number of the round, `org`, `now`."""
    turns = ledger["turns"].combine_chunks()
    flat = turns.flatten()
    number = ledger["round"].take(pc.list_parent_indices(turns))
    return pa.table({"round": number, "org": pc.struct_field(flat, "org"), "now": pc.struct_field(flat, "now")})


def _most(numbers: pa.ChunkedArray) -> Any:
    return pc.max(numbers).as_py()


def restored_of(rows: Iterable[Mapping[str, Any]] | None) -> tuple[Restored, ...]:
    """What a row of the ledger says of stores that were taken back."""
    return tuple(Restored(**row) for row in rows or ())


@dataclass(frozen=True)
class Ledger:
    """The ledger at a version, in a folder of this machine: the rows of each of its files in the columns of `LOOKED_AT`. A single
    row is read whole."""

    files: Mapping[Path, pa.Table]

    @classmethod
    def read(cls, place: Path, version: int, before: Ledger | None) -> Ledger | None:
        """At that version; None where it cannot be read. Files that were there `before`, and still are, say what they said."""
        known, schema = before.files if before else {}, columns_of(LEDGER, LOOKED_AT)
        with suppress(Exception):
            if found := native.paths(place, version):
                return cls(
                    {path: known[path] if path in known and path.exists() else native.in_file(path, schema) for path in found}
                )
        return None

    @property
    def is_there(self) -> bool:
        """Whether each of its files still is."""
        return all(path.exists() for path in self.files)

    @cached_property
    def rows(self) -> pa.Table:
        """All of them."""
        return pa.concat_tables(self.files.values())

    def row(self, round: int) -> dict[str, Any] | None:
        """The row of a round, whole; None where it cannot be read."""
        for path, rows in self.files.items():
            if pc.index(rows["round"], round).as_py() >= 0:
                with suppress(Exception):
                    whole = native.in_file(path, columns_of(LEDGER))
                    found: list[dict[str, Any]] = filtered(whole, pc.equal(whole["round"], round)).to_pylist()
                    return found[0]
        return None
