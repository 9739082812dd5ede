"""Tables beside those of a lake, in which many rows lie while a round is made: for lakes in a schema of a catalog, where a
compute refuses to keep a frame between jobs (serverless).

They hold nothing that the lake would miss: they go when the round is over, and those of a process that was killed go with upkeep.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING
from uuid import uuid4

from pyspark.errors import PySparkException

from pfspark.edge.delta.damage import REFUSALS
from pfspark.edge.delta.stored import Stored
from pfspark.edge.spark import crossing
from pfspark.materializer import OnExecutors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PREFIX = "pfspark_scratch_"


class Scratch:
    """The tables in which rows of one round lie, for as long as that round is made."""

    def __init__(self, tables: Stored) -> None:
        """`tables` are those of the lake."""
        self._tables = tables
        self._names: list[str] = []
        self.materializer = replace(crossing.BY_FILES, keep=self._keep)
        """How rounds of that lake are made."""

    def __enter__(self) -> Scratch:
        """A round begins."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        while self._names:
            _drop(self._tables, self._names.pop())

    def _keep(self, frame: DataFrame) -> OnExecutors | None:
        return crossing.keep(frame) or self._in_a_table(frame)

    def _in_a_table(self, frame: DataFrame) -> OnExecutors | None:
        """None: the lake lies in no schema, no table may be made there, or the frame cannot be computed, as who asks for its rows
        will see."""
        if not self._tables.in_schema:
            return None
        name = PREFIX + uuid4().hex
        self._names.append(name)
        with suppress(PySparkException):
            frame.write.format("delta").saveAsTable(self._tables.name(name))
            kept = frame.sparkSession.table(self._tables.name(name))
            return OnExecutors(kept, kept.count(), kept.toArrow)
        return None


def sweep(tables: Stored) -> None:
    """Removes what processes have left that were killed. Whoever still makes a round of that lake is overtaken by the caller."""
    if tables.in_schema:
        for name in tables.others(PREFIX):
            _drop(tables, name)


def _drop(tables: Stored, name: str) -> None:
    with suppress(*REFUSALS):
        tables.spark.sql(f"DROP TABLE IF EXISTS {tables.name(name)}")
