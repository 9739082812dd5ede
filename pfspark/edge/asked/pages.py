"""Reading long tables by pages of rounds, never all at once."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pfspark.edge.delta.snapshot import Snapshot

PAGE = 10_000
"""Rows that are read at once."""
EVERY_ROUND = range(-sys.maxsize - 1, sys.maxsize)
"""Those too that no round has: a row of one was written by other hands."""


def pages(rows: DataFrame) -> Iterator[range]:
    """Rounds one after the other, of about `PAGE` of these rows each; a round is never cut."""
    return _pages(rows.groupBy("round").count().toArrow())


def within(page: range) -> Column:
    """The rows of a page."""
    return F.col("round").between(page.start, page.stop - 1)


def paged(snapshot: Snapshot, name: str, org: str | None = None, some: range = EVERY_ROUND) -> Iterator[pa.Table]:
    """All valid rows of a table, or those of an organization or of `some` rounds, page by page; those of a round are together."""
    mine = _of(some) if org is None else _of(some) & (pc.field("org") == org)
    rounds = snapshot.arrow(name, mine, ["round"])
    if rounds is None:
        rows = _by_spark(snapshot, name, org, some)
        yield from (rows.where(within(page)).toArrow() for page in pages(rows))
        return
    counted = rounds.group_by("round").aggregate([([], "count_all")]).rename_columns({"count_all": "count"})
    for page in _pages(counted):
        rows_here = snapshot.arrow(name, mine & _of(page))
        yield _by_spark(snapshot, name, org, page).toArrow() if rows_here is None else rows_here


def _by_spark(snapshot: Snapshot, name: str, org: str | None, some: range) -> DataFrame:
    theirs = F.lit(True) if org is None else F.col("org") == org
    return snapshot.read(name).where(within(some) & theirs)


def _of(rounds: range) -> pc.Expression:
    return (pc.field("round") >= rounds.start) & (pc.field("round") < rounds.stop)


def _pages(counted: pa.Table) -> Iterator[range]:
    in_order = counted.sort_by("round")
    numbers, held = in_order["round"].to_pylist(), 0
    first = last = min(0, *numbers[:1]) if numbers else 0
    for number, count in zip(numbers, in_order["count"].to_pylist(), strict=True):
        if held and held + count > PAGE:
            yield range(first, last + 1)
            first, held = last + 1, 0
        last, held = number, held + count
    if held:
        yield range(first, last + 1)
