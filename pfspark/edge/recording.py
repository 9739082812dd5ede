"""What a round writes, from when the first of its rows are made until all of them are appended.

Nothing is appended before all is made: a round may be made once more, and then gives other rows.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from pfspark.edge.delta.digests import digest, numbered
from pfspark.edge.delta.ledger import FACTS
from pfspark.edge.delta.tables import Tables
from pfspark.keyed import ByName

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

AT_ONCE = 2
"""Digests that are made: Python has but one of them at work, Arrow the other."""


class _Begun(NamedTuple):
    rows: pa.Table
    frame: DataFrame | None
    digest: Future[str]


class Recording:
    """The facts of one round. The digest of a table is begun as soon as its rows are here: for a million it takes seconds, in
    which others are still made. Rows that lie on the executors are appended from there; where delta-rs writes (a lake in a
    local folder) all are appended from here.
    """

    def __init__(self, tables: Tables, round: int) -> None:
        """`round` is its number."""
        self._tables, self._round = tables, round
        self._threads = ThreadPoolExecutor(AT_ONCE)
        self._begun: dict[str, _Begun] = {}

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._begun.clear()  # what lies on the executors is not needed any more

    def begin(self, name: str, rows: pa.Table, frame: DataFrame | None = None) -> None:
        """Those rows are to be written into that table, as far as is known; the last that are named count. `frame`: where they
        lie on the executors. A table that rounds do not write has no digest.
        """
        if name in FACTS:
            left = None if self._tables.is_native else frame
            self._begun[name] = _Begun(rows, left, self._threads.submit(lambda: digest(name, numbered(rows, self._round))))

    def append(self, made: ByName) -> dict[str, str]:
        """Appends the rows of each table, each by itself. Gives their digests, begun now where it was not for just these.

        Raises LakeError if they cannot be written.
        """
        for name, rows in made.items():
            if name not in self._begun or self._begun[name].rows is not rows:
                self.begin(name, rows)
        with self._tables.threads() as threads:
            written = threads.map(self._append, made)
            digests = {name: self._begun[name].digest.result() for name in made}
            list(written)
        return digests

    def _append(self, name: str) -> None:
        rows, frame, _ = self._begun[name]
        self._tables.append(name, rows if frame is None else frame, self._round)
