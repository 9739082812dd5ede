"""Some rows of a table, said once for Arrow and for Spark: what is read of a large one where few are asked about."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import reduce
from operator import and_, or_

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F

EitherOf = tuple[Mapping[str, Collection[str]], ...]
"""The rows of which one of these is true: that each of its columns has one of those values."""


def in_arrow(either: EitherOf) -> pc.Expression:
    """What keeps those rows of an Arrow table.

    >>> rows = pa.table({"org": ["o", "o", "p"], "folder": ["A", "B", "A"]})
    >>> rows.filter(in_arrow(({"org": {"o"}, "folder": {"A"}}, {"org": {"p"}}))).to_pylist()
    [{'org': 'o', 'folder': 'A'}, {'org': 'p', 'folder': 'A'}]
    """
    return reduce(or_, (reduce(and_, (pc.field(name).isin(_of(values)) for name, values in row.items())) for row in either))


def in_spark(either: EitherOf) -> Column:
    """What keeps those rows of a frame."""
    return reduce(or_, (reduce(and_, (F.col(name).isin(sorted(values)) for name, values in row.items())) for row in either))


def _of(values: Collection[str]) -> pa.Array:
    return pa.array(sorted(values), pa.string())
