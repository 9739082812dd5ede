"""Two worlds beside each other: what only one of them says is told, and how it lies in tables is not."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pfspark.between import Between
from pfspark.edge.keeping.agreement import disagreements

HELD = {"org": "main", "store": "A", "folder": "A:1", "entry": "applied", "about": "A", "origin": "A:1", "relayed": False}
FACTS: dict[str, list[dict[str, Any]]] = {
    "state": [HELD | {"cn_min": 1, "cn_max": 9}, HELD | {"cn_min": 20, "cn_max": 29}],
    "lives": [{"org": "main", "store": "A", "folder": "A:1", "peer": "B", "life": 2}],
    "contacts": [{"org": "main", "store": "A", "peer": peer, "heard": None, "sent": None, "asked": None, "silent": None}
                 for peer in ("B", "C")],
}  # fmt: skip


def world(spark: SparkSession, **changed: list[dict[str, Any]]) -> dict[str, pa.Table]:
    return {name: rows for name, rows in Between(spark, FACTS | changed).tables.items() if name in FACTS}


def test_order_cuts_and_repeats_say_nothing(spark: SparkSession) -> None:
    cut = [HELD | {"cn_min": low, "cn_max": high} for low, high in ((20, 22), (1, 4), (5, 9), (23, 29), (21, 24))]
    lives, contacts = FACTS["lives"] * 2, FACTS["contacts"][::-1]
    ours = world(spark, state=cut, lives=lives, contacts=contacts)
    assert disagreements(spark, ours, world(spark)) == disagreements(spark, world(spark), ours) == []


@pytest.mark.parametrize("name", FACTS)
def test_a_row_more_and_a_row_less_are_told(name: str, spark: SparkSession) -> None:
    """Each by the one that has it."""
    *_, last = FACTS[name]
    less = world(spark, **{name: FACTS[name][:-1]})
    for ours, facts, is_ours in ((world(spark), less, True), (less, world(spark), False)):
        [found] = disagreements(spark, ours, facts)
        assert (found["table"], found["kept"]) == (name, is_ours)
        assert {column: found["row"][column] for column in last} == last


def test_a_number_less_is_told_of_both(spark: SparkSession) -> None:
    """As the range that each has there."""
    ours = world(spark, state=[HELD | {"cn_min": 1, "cn_max": 9}, HELD | {"cn_min": 20, "cn_max": 28}])
    found = {(row["kept"], row["row"]["cn_min"], row["row"]["cn_max"]) for row in disagreements(spark, ours, world(spark))}
    assert found == {(True, 20, 28), (False, 20, 29)}
