"""Whether the world that rounds go on with is the one that the facts say, from the first on.

What a base left, and what came after it, decides nothing that the facts would not: this is what holds them side by side.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from pfspark import cnset
from pfspark.between import RANGE_KEY
from pfspark.edge.delta.digests import texts
from pfspark.keyed import ByName
from pfspark.keys import ORIGIN_HERE
from pfspark.rows import local

RANGES = {"state": RANGE_KEY, "array": (*ORIGIN_HERE, "heard", "attempt", "asked")}
"""Tables of ranges: of rows that are alike in these the numbers are one set, however it is cut."""
UNSAID = {"agenda": ("at", "round"), "mail": ("at", "round")}
"""Columns that nobody reads of the world between two rounds."""
BY_PEOPLE = ("edits",)
"""What waits to be taken in: both have it from its own table."""


def disagreements(spark: SparkSession, world: ByName, facts: ByName) -> list[dict[str, Any]]:
    """What only one of two worlds has: `table`, the `row`, and whether it is `kept` in the `world` that rounds go on with, or
    else said by the facts.

    Columns that one of them does not have are not looked at; nor is the order of rows, nor how often one stands there.
    """
    found = []
    for name in sorted({*world} & {*facts} - {*BY_PEOPLE}):
        both = {*world[name].column_names} & {*facts[name].column_names} - {*UNSAID.get(name, ())}
        columns = [column for column in world[name].column_names if column in both]
        here = world[name].select(columns)
        there = facts[name].select(columns).cast(here.schema)
        apart = _apart(here, there)
        if name in RANGES and any(rows.num_rows for rows in apart):
            apart = _apart(*(_whole(spark, rows, RANGES[name]) for rows in (here, there)))
        for rows, is_ours in zip(apart, (True, False), strict=True):
            found += [{"table": name, "row": row, "kept": is_ours} for row in rows.to_pylist()]
    return found


def _apart(here: pa.Table, there: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Of each the rows that the other does not have."""
    said, others = texts(here), texts(there)
    return (
        here.filter(pc.invert(pc.is_in(said, value_set=others))),
        there.filter(pc.invert(pc.is_in(others, value_set=said))),
    )


def _whole(spark: SparkSession, ranges: pa.Table, key: tuple[str, ...]) -> pa.Table:
    """Sets in one form, however their ranges were cut."""
    return cnset.canonical(local(spark, ranges, from_arrow_schema(ranges.schema)), key).toArrow()
