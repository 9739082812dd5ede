"""The one who plays rounds on a lake: takes numbers, and makes rounds count."""

from __future__ import annotations

import fcntl
import os
import socket
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, BinaryIO

from pfspark.edge.delta.beside import WRITER_LOCK
from pfspark.edge.delta.damage import damaged
from pfspark.edge.delta.ledger import LEDGER, REWRITTEN, Row
from pfspark.edge.delta.locks import lock, lock_file, read_left, unlock
from pfspark.edge.delta.opening import LeftToSparkError
from pfspark.edge.delta.stored import APP, Stored
from pfspark.errors import LakeError, OtherWriterError
from pfspark.rows import rows_of
from pfspark.words import Kind

if TYPE_CHECKING:
    import pyarrow as pa

    from pfspark.edge.delta.snapshot import Snapshot


class Writer:
    """The one who plays rounds on a lake."""

    def __init__(self, tables: Stored, look: Callable[[], Snapshot]) -> None:
        """`look` gives the lake as it stands. Raises OtherWriterError at once if there is another in this local folder."""
        self._tables, self._look = tables, look
        self._lock: BinaryIO | None = None
        self.name = f"{socket.gethostname()[:40]}:{os.getpid()}:{uuid.uuid4().hex[:12]}"
        self.last: Row | None = None
        """The last row of the ledger; None: not known."""
        if tables.folder is not None:
            self._lock = lock_file(tables.folder / WRITER_LOCK)
            try:
                lock(self._lock, tables.folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                holder = self._lock.read(200).decode("utf-8", "replace").partition("\n")[0] or "not known"
                self._lock.close()
                raise OtherWriterError(
                    f"Another writer plays rounds in {tables.where} (host, process: {holder}). "
                    "Wait until it is through, or end it; reading and posting go on meanwhile."
                ) from error
            self.expect_its_lake()
            self._tell(read_left(self._lock.read(200)))

    def expect_its_lake(self) -> None:
        """Raises OtherWriterError where another file lies in the place of the one that is locked: what was written now might be
        another lake's, and somebody else may play in it."""
        folder = self._tables.folder
        if self._lock is None or folder is None:
            return
        with suppress(OSError):
            if os.path.samestat(os.fstat(self._lock.fileno()), os.stat(folder / WRITER_LOCK)):
                return
        raise OtherWriterError(
            f"{folder}: the file that this writer has locked is not there any more: the lake was moved away, another was put in "
            "its place, or the file was removed. Nothing was written. Begin again."
        )

    def open(self) -> Snapshot:
        """Takes the next number with an `opened` row, so that what others left under it is void; the lake as it stands.

        A table that an upkeep wrote anew which never counted is taken back: of what it wrote the ledger has no digest.
        """
        found = self._look()
        before = found.row
        if flaws := self._tables.flaws(LEDGER):  # else the numbers that are gone would be given again
            raise damaged(LEDGER, self._tables.where, flaws[0])
        self._tables.expect_whole_ledger()
        self.last = before
        now = datetime.now(UTC)
        row = Row(
            round=before.round + 1, kind=Kind.OPENED, writer=self.name, began=now, ended=now,
            versions=before.versions, cursors=before.cursors, next_due=before.next_due,
        )  # fmt: skip
        opened = self.record(row)
        for name in REWRITTEN:
            if self._tables.written_anew(name, before.versions[name]):
                self._tables.take_back(name, before.versions[name])
        return replace(found, row=opened, void=found.void | {opened.round})

    def record(self, row: Row) -> Row:
        """Appends a row to the ledger: from now on its round counts.

        Raises OtherWriterError when another writer has taken that number.
        """
        tables, last = self._tables, self.last
        self.expect_its_lake()
        sealed = row.sealed(last.digest if last else "")
        told = rows_of(LEDGER, [sealed.written()])
        self.last = None
        if not (tables.is_native and self._record_natively(row, tables.fit(LEDGER, told, None))):
            self._record_by_spark(row.round, told)
        self.last = sealed
        return sealed

    def _record_natively(self, row: Row, told: pa.Table) -> bool:
        """Appends a row to the ledger without Spark; whether that can be."""
        tables = self._tables
        try:
            if row.kind == Kind.CREATED:  # nobody else can know of it yet
                tables.append_natively(LEDGER, told, row.round)
                return True
            taken = tables.append_once(LEDGER, told, APP, row.round)
        except LeftToSparkError:
            return False
        if not taken:
            raise self._taken_over(row.round)
        self._tell(tables.version(LEDGER))
        return True

    def _record_by_spark(self, round: int, told: pa.Table) -> None:
        tables = self._tables
        # A number that is committed already is skipped in silence, also by one who slept meanwhile: hence the reading back.
        options = {"userMetadata": str(round), "txnAppId": APP, "txnVersion": str(round)}
        try:
            tables.save(LEDGER, tables.frame_of(LEDGER, told, None), "append", options)
        except LakeError as error:
            if "Concurrent" in str(error.__cause__):
                raise self._taken_over(round) from error
            raise
        rows = tables.stored(LEDGER).where(f"round = {round}").select("writer").collect()
        if [each["writer"] for each in rows] != [self.name]:
            raise self._taken_over(round)

    def _tell(self, left: int) -> None:
        """Says in the file of the lock who holds it, and at which version the ledger was left."""
        with suppress(OSError):  # what is in the ledger stands, though there be no room to say so
            if self._lock is not None:
                self._lock.seek(0)
                self._lock.truncate()
                self._lock.write(f"{self.name.rsplit(':', 1)[0]}\n{left}\n".encode())
                self._lock.flush()

    def _taken_over(self, round: int) -> OtherWriterError:
        return OtherWriterError(
            f"Another writer has taken round {round} of {self._tables.where}; what this one has written under that number "
            "does not count. Begin again."
        )

    def close(self) -> None:
        """Lets another writer in."""
        self.last = None
        held, self._lock = self._lock, None
        if held is not None:
            with suppress(OSError), held:
                unlock(held)
