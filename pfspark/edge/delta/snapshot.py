"""A lake after one of its rounds."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark.edge.delta import native
from pfspark.edge.delta.damage import REFUSALS, damage, damaged, is_missing, unread
from pfspark.edge.delta.ledger import BY_PEOPLE, FACTS, LEDGER, LOOKED_AT, AsOf, Restored, Row
from pfspark.edge.delta.stored import Stored
from pfspark.errors import LakeError
from pfspark.rows import local, nothing, rows_of, schema_of, struct
from pfspark.tables import TABLES
from pfspark.words import Kind

LISTED = 200
"""So many void numbers stand in a condition; more are joined. Whoever plays by one command every five minutes leaves 100,000 a
year, and Spark takes 18 s to read a condition of so many, and half a second to join them."""
CREATED = 0
"""The version of a table that nobody has written to."""


@dataclass(frozen=True)
class Snapshot:
    """The lake after one of its rounds: facts are read at the versions that its row of the ledger names.

    So whoever reads while rounds are played, or tables tidied, reads one round and not parts of two.
    """

    tables: Stored
    row: Row
    void: frozenset[int]
    """Numbers in the ledger whose facts do not count."""
    restores: Mapping[int, tuple[Restored, ...]] = field(default_factory=dict)
    """The rounds in which stores were restored."""
    people: Mapping[str, int] = field(default_factory=dict)
    """The versions at which is read what people say; what is not named is read as it stands."""
    as_found: bool = False
    """Whether facts too are read as they stand, with what other hands have written since."""
    furthest: datetime | None = None
    """The latest time to which any organization has ever been played; null: none was."""
    follows_tidying: bool = False
    """Whether facts are read at the newest version that says the same: where others join files, those before may be gone."""

    def arrow(self, name: str, keep: pc.Expression | None = None, columns: Sequence[str] = ()) -> pa.Table | None:
        """The valid rows of a table, all or those to `keep`, without Spark; None where that cannot be."""
        if self.untouched(name):
            return rows_of(name, ()).select(list(columns or TABLES[name].names))
        if self.tables.here(name) is None:  # before it is asked which version that would be
            return None
        valid = [] if keep is None else [keep]
        if name in (*FACTS, LEDGER):
            valid.append(pc.field("round") <= self.row.round)
        if name in FACTS and self.void:
            valid.append(~pc.field("round").isin(sorted(self.void)))
        if name == LEDGER and {*columns} <= {*LOOKED_AT} and columns and (ledger := self.tables.ledger()) is not None:
            return ledger.rows.filter(reduce(operator.and_, valid)).select(list(columns))
        return self.tables.arrow(name, self.version(name), reduce(operator.and_, valid) if valid else None, columns)

    def few(self, name: str) -> pa.Table | None:
        """The valid rows of a table of this machine that has few; None where it has many, or cannot be read so."""
        place = self.tables.here(name)
        is_small = place is not None and native.is_within(place, self.version(name), native.SMALL_ROWS, native.SMALL_SIZE)
        return self.arrow(name) if is_small else None

    def is_at_hand(self, name: str) -> bool:
        """Whether some columns of a table fit into memory, and can be read without Spark."""
        place = self.tables.here(name)
        return place is not None and native.is_at_hand(place, self.version(name))

    def version(self, name: str) -> int | None:
        """The version at which a table is read; None: as it stands."""
        pinned = self.people if name in BY_PEOPLE else {} if self.as_found or name == LEDGER else self.row.versions
        version = pinned.get(name)
        if version is not None and name in FACTS and self.follows_tidying:
            with suppress(LakeError, *REFUSALS):  # who reads it says what is wrong
                return self.tables.settled(name, version)
        return version

    def untouched(self, name: str) -> bool:
        """Whether no round has written to that table."""
        return name in FACTS and not self.as_found and self.row.versions[name] == CREATED

    def rounds(self) -> list[Row]:
        """The rows of the ledger up to this one, in their order. Raises LakeError where it cannot be read."""
        found = self.arrow(LEDGER)
        try:
            rows = self.read(LEDGER).toArrow() if found is None else found
        except REFUSALS as error:
            raise damage(error) or unread(self.tables.where, LEDGER, error) from error
        return [Row.read(row) for row in rows.sort_by("round").to_pylist()]

    def broken_links(self) -> int:
        """How many rows of the ledger do not follow from the row before: a number left out, another digest."""
        rows = self.rounds()
        before = [(0, ""), *((row.round, row.digest) for row in rows)]
        return sum(
            row.round != number + 1 or row.sealed(digest).digest != row.digest
            for (number, digest), row in zip(before, rows, strict=False)
        )

    def read(self, name: str) -> DataFrame:
        """The valid rows of a table; the void ones are never read.

        Raises LakeError when the history no longer reaches back so far; where it ends while the rows are being read, Spark
        raises what `damage` reads.
        """
        if name not in TABLES:
            raise LakeError(f"there is no table {name!r}; there are {', '.join(TABLES)}")
        if self.untouched(name):
            return nothing(self.tables.spark, name)
        version = self.version(name)
        if (few := self.few(name)) is not None:
            return local(self.tables.spark, few, schema_of(name))
        try:
            rows = self.tables.stored(name, version)
        except PySparkException as error:
            # Delta 4.0 has no condition for it.
            if "VERSION_NOT_FOUND" in (error.getCondition() or "") or "Cannot time travel" in str(error):
                raise LakeError(
                    f"Round {self.row.round} of {self.tables.where} can no longer be read: the history of its table "
                    f"`{name}` does not reach back so far."
                ) from error
            why = damaged(name, self.tables.where, "_delta_log") if is_missing(error) else unread(self.tables.where, name, error)
            raise why from error
        if name == LEDGER:
            return rows.where(f"round <= {self.row.round}")
        if name not in FACTS:
            return rows
        return self._valid(rows.where(f"round <= {self.row.round}"))

    def _valid(self, facts: DataFrame) -> DataFrame:
        """Those of facts that are not void."""
        void = sorted(number for number in self.void if number <= self.row.round)
        if len(void) > LISTED:
            numbers = local(self.tables.spark, pa.table({"round": pa.array(void, pa.int64())}), struct("round bigint"))
            return facts.join(F.broadcast(numbers), "round", "left_anti").select(*facts.columns)
        return facts.where(f"round NOT IN ({', '.join(map(str, void))})") if void else facts


def what_a_snapshot_needs(ledger: DataFrame, as_of: AsOf, org: str | None = None) -> DataFrame:
    """What `looked_up` says of the ledger, with the whole of the `row` as of then: one row."""
    number = F.col("round")
    if isinstance(as_of, datetime):
        own = F.filter("turns", lambda turn: turn["org"] == org) if org is not None else F.col("turns")
        played = F.array_max(F.transform(own, lambda turn: turn["now"]))
        beyond = ledger.agg(F.min(F.when(played > F.lit(as_of), number)).alias("beyond"))
        ledger = ledger.crossJoin(beyond)
        wanted = (F.coalesce(played, "ended") <= F.lit(as_of)) & (F.col("beyond").isNull() | (number < F.col("beyond")))
    else:
        wanted = number <= as_of if as_of is not None else F.lit(True)
    opened = F.when(F.col("kind") == Kind.OPENED, number)
    picked = F.max_by(F.struct(*TABLES[LEDGER].names), F.when(wanted, number))
    back = F.when(F.col("kind") == Kind.RESTORED, F.struct("round", "restored"))
    asked = [picked.alias("row"), F.collect_list(opened).alias("void"), F.max("round").alias("last")]
    asked += [F.collect_list(back).alias("restores"), F.max(F.array_max("turns.now")).alias("furthest")]
    return ledger.agg(*asked, F.max("format").alias("format"))
