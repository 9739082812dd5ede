"""The tables of a lake on Delta: the one door through which they are read and written, and the ledger that makes rounds count.

Delta commits one table at a time, so the facts of a round count only once its row is in the ledger `rounds`: a fact is
valid if its round is in the ledger and its row there is not `opened`. A writer begins by taking a number with an `opened`
row; whatever another writer, killed or only slow, has left or may still leave under that number is void for ever.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from pyspark.sql import DataFrame

from pfspark.edge.delta import making, places
from pfspark.edge.delta.damage import REFUSALS, damage, is_missing, unread
from pfspark.edge.delta.ledger import BY_PEOPLE, FORMAT, LEDGER, AsOf, Row, looked_up, restored_of
from pfspark.edge.delta.snapshot import Snapshot, what_a_snapshot_needs
from pfspark.edge.delta.stored import Hook, Stored
from pfspark.edge.delta.writer import Writer
from pfspark.errors import LakeError, NoLakeError, NoPlaceError
from pfspark.rows import Session
from pfspark.tables import TABLES
from pfspark.words import LARGEST, Kind

FILES_STAY = timedelta(days=1)
"""So long after a round nobody has cleared away its files: Delta itself refuses less than what a table says
(`delta.deletedFileRetentionDuration`), which is thirty days unless somebody asked for less."""


class Tables(Stored):
    """The tables of one lake, of which the ledger says what counts."""

    @classmethod
    def create(cls, spark: Session, where: str | os.PathLike[str], *, history: timedelta = timedelta(days=30)) -> Tables:
        """A new lake, empty; `history`: how far back `as_of` reads.

        Raises LakeError where there is a lake already, or anything else.
        """
        tables = cls(spark, where)
        making.take_place(tables)
        with tables.threads() as threads:
            list(threads.map(lambda name: making.create(tables, name, history), TABLES))
        now = datetime.now(UTC)
        versions = tables.versions(name for name in TABLES if name != LEDGER)
        cursors = {"edits": versions["edits"]}
        with tables.writing() as writer:
            writer.record(
                Row(round=1, kind=Kind.CREATED, writer=writer.name, began=now, ended=now, versions=versions, cursors=cursors)
            )
        return tables

    @classmethod
    def open(cls, spark: Session, where: str | os.PathLike[str], hook: Hook = lambda point: None) -> Tables:
        """The lake that is there.

        Raises LakeError where there is none, or one of a newer pfspark.
        """
        tables = cls(spark, where, hook)
        tables.snapshot()
        return tables

    @staticmethod
    def expect(where: str | os.PathLike[str], *, whole: bool = True) -> None:
        """Raises LakeError where a folder of this machine is named in which no lake is, or, if it need not be `whole`, not even
        one of its tables: that is told before Spark starts."""
        folder = places.local_folder(where)
        if folder and not folder.exists():
            raise NoPlaceError(f"{folder} is not a lake: there is no such folder. Make one with `pfspark init`.")
        if folder and whole and not (folder / LEDGER / "_delta_log").is_dir():
            raise NoLakeError(f"{folder} is not a lake: it has no ledger. Make one with `pfspark init`.")
        if folder and not any((folder / name).is_dir() for name in TABLES):
            raise NoLakeError(f"{folder} is not a lake: it has none of its tables. Make one with `pfspark init`.")

    def snapshot(self, as_of: AsOf = None, org: str | None = None) -> Snapshot:
        """The lake after its last round; after the round of that number; or after the last round not after that time.

        A time is compared with that of the organization, if none is named with those of all, so a lake that is played in
        advance or afterwards is asked by the time that was played (`ledger.looked_up`).
        """
        if isinstance(as_of, datetime):
            as_of = as_of if as_of.tzinfo else as_of.replace(tzinfo=UTC)
        asked = min(as_of, LARGEST - 1) if isinstance(as_of, int) else as_of
        found = self._looked_up(asked, org) or self._ledger(asked, org)
        if found["last"] is None:
            raise NoLakeError(f"{self.where} is no lake yet: its making was cut short. Make it again with `pfspark init`.")
        if found["format"] > FORMAT:
            raise LakeError(
                f"{self.where} was made by a newer pfspark (format {found['format']}, this one knows {FORMAT}). Update pfspark."
            )
        if found["row"] is None and isinstance(as_of, datetime):
            raise LakeError(f"{self.where} had no round yet at {as_of:%Y-%m-%dT%H:%M:%SZ}.")
        if found["row"] is None or (isinstance(as_of, int) and not 1 <= as_of <= found["last"]):
            raise LakeError(f"{self.where} has no round {as_of}: its rounds are 1 to {found['last']}.")
        row = Row.read(found["row"])
        restores = {each["round"]: restored_of(each["restored"]) for each in found["restores"] if each["round"] <= row.round}
        people = {} if as_of is None else {name: row.versions[name] for name in BY_PEOPLE}
        # In a folder it takes no time to ask which version that is.
        follows = as_of is None and (self.folder is not None or datetime.now(UTC) - row.ended > FILES_STAY)
        return Snapshot(
            self, row, frozenset(found["void"]), restores, people, furthest=found["furthest"], follows_tidying=follows
        )

    def _looked_up(self, as_of: AsOf, org: str | None) -> dict[str, Any] | None:
        """What a snapshot needs of the ledger, without Spark; None where that cannot be."""
        if (ledger := self.ledger()) is None:
            return None
        found = looked_up(ledger.rows, as_of, org)
        if found["round"] is None:
            return {**found, "row": None}
        row = ledger.row(found["round"])
        return None if row is None else {**found, "row": row}

    def _ledger(self, as_of: AsOf, org: str | None) -> dict[str, Any]:
        """What a snapshot needs of the ledger, by Spark: see `looked_up`."""
        try:
            rows = self.stored(LEDGER)  # first: without a session there are no columns either
            [found] = what_a_snapshot_needs(rows, as_of, org).toArrow().to_pylist()
        except LakeError:
            raise
        except REFUSALS as error:
            if known := damage(error):
                raise known from error
            if self.folder is None and not is_missing(error):
                raise unread(self.where, LEDGER, error) from error
            raise NoLakeError(f"{self.where} is not a lake: it has no ledger. Make one with `pfspark init`.") from error
        return cast(dict[str, Any], found)

    def read(self, name: str, as_of: AsOf = None, org: str | None = None) -> DataFrame:
        """The valid rows of a table, now or `as_of` a round or a time, that of an organization or of all (`snapshot`)."""
        return self.snapshot(as_of, org).read(name)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Writer]:
        """The one who plays rounds here, for a while."""
        writer = Writer(self, self.snapshot)
        try:
            yield writer
        finally:
            writer.close()
