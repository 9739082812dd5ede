"""Digests of rows: what they tell apart, and what makes no difference."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pfspark.edge.delta.digests import digest, digests_by_round, texts
from pfspark.rows import local, rows_of, schema_of
from pfspark.tables import TABLES

pytestmark = pytest.mark.usefixtures("spark")

MONDAY = datetime(2026, 1, 5, microsecond=1, tzinfo=UTC)
STAMP = {"at": MONDAY, "origin": "PFS1", "cn": 1}
CHANGE: dict[str, Any] = {
    "org": "main", "folder": "1-1", "origin": "PFS1", "cn": 1, "object": "PFS1:1", "action": "create_folder", "size": 0,
    "properties": [{"name": "name", "value": "Sälés", "stamp": STAMP}, {"name": "note", "value": None, "stamp": None}],
    "predecessors": [], "at": MONDAY, "round": 3,
}  # fmt: skip


def of(*rows: dict[str, Any]) -> str:
    return digest("changes", rows_of("changes", rows))


def test_order_and_chunks_make_no_difference() -> None:
    other = {**CHANGE, "cn": 2, "properties": None}
    halves = pa.concat_tables([rows_of("changes", [CHANGE]), rows_of("changes", [other])])
    assert of(CHANGE, other) == of(other, CHANGE) == digest("changes", halves) == digest("changes", halves.slice(0, 2))
    assert digest("changes", halves.slice(1)) == of(other)


OTHERS: list[dict[str, Any]] = [{}, {"cn": 2, "properties": None}, {"hash": "a", "properties": [], "size": None}]


@pytest.mark.parametrize("ends", [(one, other) for one in OTHERS for other in OTHERS], ids=str)
def test_a_row_says_the_same_whatever_stands_beside_it(ends: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """Between rows that are alike, and between others."""
    first, last = ({**CHANGE, **each} for each in ends)
    for middle in ({**CHANGE, **each} for each in OTHERS):
        some = rows_of("changes", [first, middle, last]).combine_chunks()
        alone = [texts(rows_of("changes", [each]))[0].as_py() for each in (first, middle, last)]
        assert texts(some).to_pylist() == alone


@pytest.mark.parametrize(
    "other",
    [
        {"hash": "a"}, {"hash": ""}, {"size": None}, {"round": 4}, {"at": MONDAY.replace(microsecond=2)}, {"properties": []},
        {"predecessors": None}, {"properties": CHANGE["properties"][:1]}, {"properties": CHANGE["properties"][::-1]},
        {"origin": "PFS", "object": "1PFS1:1"}, {"name": "-"}, {"predecessors": [{"origin": None, "cn": None}]},
    ],
    ids=str,
)  # fmt: skip
def test_another_row_has_another_digest(other: dict[str, Any]) -> None:
    assert of({**CHANGE, **other}) != of(CHANGE)
    assert of(CHANGE, CHANGE) != of(CHANGE)


def test_what_a_later_format_adds_is_told_apart() -> None:
    row = {"org": "main", "store": "PFS1", "message_id": "m", "at": MONDAY, "round": 3}
    counts = [None, {"carried": 1, "new": 0}, {"carried": 1, "new": 1}, {"carried": None, "new": None}]
    assert len({digest("receipts", rows_of("receipts", [{**row, "counts": each}])) for each in counts}) == len(counts)


def test_each_round_has_its_own() -> None:
    rows = rows_of("changes", [CHANGE, {**CHANGE, "round": 4}, {**CHANGE, "round": 4, "cn": 2}])
    assert digests_by_round("changes", rows) == {3: of(CHANGE), 4: of({**CHANGE, "round": 4}, {**CHANGE, "round": 4, "cn": 2})}


@pytest.mark.parametrize("name", [name for name, table in TABLES.items() if "round" in table.names and name != "rounds"])
def test_a_row_that_went_through_spark_has_the_same(name: str, spark: SparkSession) -> None:
    """What is written is digested as it is given, and later as Spark gives it back."""
    full = {"changes": CHANGE, "messages": {"recipients": [{"store": "PFS1", "due": MONDAY}], "responders": ["é", None]}}
    rows = rows_of(name, [{"org": "main", "round": 1}, {"at": MONDAY, **full.get(name, {}), "round": 2}])
    back = local(spark, rows, schema_of(name)).repartition(2, "round").toArrow()
    assert digest(name, back) == digest(name, rows)
