"""Reading long tables by pages of rounds, never all at once."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

PAGE = 10_000
"""Rows that are read at once."""


def pages(rows: DataFrame) -> Iterator[range]:
    """Rounds one behind the other, of about `PAGE` of these rows each; a round is never cut."""
    counted = rows.groupBy("round").count().orderBy("round").toArrow()
    first = last = held = 0
    for number, count in zip(counted["round"].to_pylist(), counted["count"].to_pylist(), strict=True):
        if held and held + count > PAGE:
            yield range(first, last + 1)
            first, held = last + 1, 0
        last, held = number, held + count
    if held:
        yield range(first, last + 1)


def within(page: range) -> Column:
    """The rows of a page."""
    return F.col("round").between(page.start, page.stop - 1)


def by_pages(rows: DataFrame) -> Iterator[pa.Table]:
    """All the rows, page by page; those of a round are together."""
    return (rows.where(within(page)).toArrow() for page in pages(rows))
