"""A round through which many rows go is one of few: the session is another, and the rows are the same."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from pfspark.edge.spark import tuned
from pfspark.words import MessageType
from tests.bench.test_bench import Made, Played, scenario

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EDITS: list[dict[str, Any]] = [
    {"edit_id": "named", "action": "post", "name": "a letter", "size": 200_000},
    {"edit_id": "changed", "action": "post", "size": 200_000},
    {"edit_id": "alone", "action": "post", "size": 200_000},
    {"edit_id": "change", "action": "modify", "item": "@changed", "name": "called later", "size": 5},
    {"edit_id": "again", "action": "modify", "item": "@changed", "size": 400_000},
    {"edit_id": "gone", "action": "delete", "item": "@named"},
    {"edit_id": "too late", "action": "modify", "item": "@named", "size": 7},
    {"edit_id": "of nothing", "action": "modify", "item": "@never", "size": 7},
    {"edit_id": "alone", "action": "post", "name": "a repeat", "size": 1},
]


def rounds(spark: SparkSession) -> list[Made]:
    """Three rounds of those edits at one of three stores."""
    one = scenario(1)
    played = Played(spark, one)
    [folder] = {row["folder"] for row in played.world.tables["replicas"].to_pylist()} - {"1-1"}
    here = {"org": one.name, "store": "PFS1", "folder": folder, "at": one.start}
    played.world.append("edits", [{**here, **row, "place": place} for place, row in enumerate(EDITS)])
    return [played.round()[1] for _ in range(3)]


def told(made: Made) -> dict[str, Counter[str]]:
    return {name: Counter(map(repr, table.to_pylist())) for name, table in made.items()}


@pytest.mark.in_turn("executors")
def test_many_rows_and_few_say_the_same(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Posts, changes of them in the same round, deletions, refusals, and messages that hold no more than their limit."""
    few = rounds(spark)
    monkeypatch.setattr(tuned, "MANY", 1)
    many = rounds(spark)
    assert list(map(told, many)) == list(map(told, few))
    first = few[0]
    written = {row["edit_id"]: row for row in first["changes"].to_pylist()}
    assert {name: row["name"] for name, row in written.items() if name not in ("alone", "gone")} == {
        "named": "a letter", "changed": "called later", "change": "called later", "again": "called later",
    }  # fmt: skip
    assert written["alone"]["name"] == written["alone"]["object"]
    assert written["again"]["predecessors"] == [{"origin": "PFS1", "cn": written["change"]["cn"]}]
    assert written["alone"]["predecessors"] == written["named"]["predecessors"] == []
    refused = {(row["edit_id"], row["reason"]) for row in first["receipts"].to_pylist() if row["reason"]}
    assert refused == {("too late", "item_deleted"), ("of nothing", "unknown_item"), ("alone", "already_taken_in")}
    letters = [row["carries"] for row in first["messages"].to_pylist() if row["type"] == MessageType.CONTENT]
    assert len(letters) > 1  # what is larger than the limit travels alone
    assert sum(span["cn_max"] - span["cn_min"] + 1 for carries in letters for span in carries) == 6
