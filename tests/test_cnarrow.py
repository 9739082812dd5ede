"""The algebra of sets in Arrow: beside that of frames, which the oracle holds."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from pfspark import cnarrow, cnset
from pfspark.rows import arrow_schema, local, struct

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEYS = ("org", "origin")
DDL = "org string, origin string, about string, cn_min bigint, cn_max bigint, a bigint, b int"
LAST = 2**63 - 1
"""The highest number that a column holds."""
CASES, MOST = 300, 6


@pytest.fixture(scope="module")
def layers(spark: SparkSession) -> list[tuple[pa.Table, DataFrame]]:
    """Ranges of many organizations, each a case by itself: apart, side by side, upon each other; with the highest number."""
    draw = random.Random(3)

    def row(org: int) -> dict[str, Any]:
        first = draw.choice([1, 2, 3, 5, 8, LAST - 3, LAST])
        last = min(first + draw.randrange(5), LAST)
        return {
            "org": None if org == 7 else f"o{org}", "origin": draw.choice(["A", "A~2", "B"]), "about": draw.choice("xy"),
            "cn_min": first, "cn_max": last, "a": draw.choice([None, 0, 1, -1, 4]), "b": draw.choice([0, 1]),
        }  # fmt: skip

    def drawn() -> pa.Table:
        rows = [row(org) for org in range(CASES) for _ in range(draw.randrange(MOST))]
        draw.shuffle(rows)
        return pa.Table.from_pylist(rows, arrow_schema(struct(DDL)))

    tables = [drawn() for _ in range(2)]
    return [(table, local(spark, table, struct(DDL))) for table in tables]


def counted(rows: pa.Table | DataFrame) -> Counter[str]:
    table = rows if isinstance(rows, pa.Table) else rows.toArrow()
    return Counter(map(str, table.to_pylist()))


@pytest.mark.parametrize(
    ("here", "there"),
    [
        (lambda one, other: cnarrow.canonical(one, KEYS), lambda one, other: cnset.canonical(one, KEYS)),
        (lambda one, other: cnarrow.subtract(one, other, KEYS), lambda one, other: cnset.subtract(one, other, KEYS)),
        (lambda one, other: cnarrow.intersect(one, other, KEYS), lambda one, other: cnset.intersect(one, other, KEYS)),
        (
            lambda one, other: cnarrow.coverage(KEYS, one.drop_columns(["about", "b"]), other.drop_columns(["about", "a"])),
            lambda one, other: cnset.coverage(KEYS, one.drop("about", "b"), other.drop("about", "a")),
        ),
        (lambda one, other: pieces_in_arrow(one), lambda one, other: pieces_in_spark(one)),
    ],
    ids=["canonical", "subtract", "intersect", "coverage", "join_up"],
)
def test_it_says_what_spark_does(
    layers: list[tuple[pa.Table, DataFrame]], here: Callable[..., pa.Table], there: Callable[..., DataFrame]
) -> None:
    """Of sets of many keys at once; a key that is null is one too. Of nothing comes nothing, in the same columns."""
    tables, frames = zip(*layers, strict=True)
    found, expected = here(*tables), there(*frames)
    assert counted(found) == counted(expected) > Counter()
    assert found.column_names == expected.columns
    nothing = here(*(each.slice(0, 0) for each in tables))
    assert nothing.num_rows == 0 and nothing.schema.equals(found.schema)


def pieces_in_arrow(ranges: pa.Table) -> pa.Table:
    return cnarrow.join_up(cnarrow.coverage(KEYS, ranges.drop_columns(["about", "b"])), KEYS, ["a"])


def pieces_in_spark(ranges: DataFrame) -> DataFrame:
    return cnset.join_up(cnset.coverage(KEYS, ranges.drop("about", "b")), KEYS, ["a"])


def test_far_is_no_longer_than_near() -> None:
    """No range becomes numbers."""
    told: Sequence[dict[str, Any]] = [{"org": "o", "origin": "A", "cn_min": 1, "cn_max": LAST}]
    held = [{"org": "o", "origin": "A", "cn_min": 2**40, "cn_max": 2**41}]
    found = cnarrow.subtract(pa.Table.from_pylist(list(told)), pa.Table.from_pylist(held), KEYS)
    assert [(row["cn_min"], row["cn_max"]) for row in found.to_pylist()] == [(1, 2**40 - 1), (2**41 + 1, LAST)]
