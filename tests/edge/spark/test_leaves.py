"""Rows as leaves of plans: few are seen by Spark, more are not; it reads the same, and knows how many they are."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from pfspark.edge.spark import crossing, leaves
from pfspark.rows import arrow, local, rows_of, schema_of, struct
from tests.edge.spark.test_crossing import CHANGES, said

NUMBERS = struct("n bigint, t string")


def numbers(count: int) -> pa.Table:
    return arrow(NUMBERS, [{"n": n, "t": str(n)} for n in range(count)])


def leaf(frame: DataFrame) -> Any:
    return leaves.Java.leaf_of(frame._jdf)


@pytest.mark.parametrize("seen", [9, 2])
def test_they_are_as_they_were(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, seen: int) -> None:
    """Of any type, null or not, at any time; in however many chunks, some without rows."""
    monkeypatch.setattr(leaves, "SEEN", seen)
    rows = rows_of("changes", CHANGES)
    cut = pa.concat_tables([rows.slice(0, 0), rows.slice(0, 3), rows.slice(3, 0), rows.slice(3)])
    frame = leaves.to_frame(spark, cut, schema_of("changes"))
    assert frame is not None and frame.schema == schema_of("changes")
    assert said(frame.toArrow()) == said(rows)
    assert said(frame.where("cn > 2").select("cn", "size").toArrow()) == said(rows.slice(3).select(["cn", "size"]))


@pytest.mark.parametrize(
    ("rows", "kind"), [(1, "LocalRelation"), (500, "LocalRelation"), (501, "LogicalRDD"), (20_000, "LogicalRDD")]
)
def test_few_are_seen(spark: SparkSession, rows: int, kind: str) -> None:
    """So of those that are not, no rule of Spark's optimizer looks at every row."""
    frame = crossing.to_frame(spark, numbers(rows), NUMBERS)
    assert leaf(frame).nodeName() == kind
    assert sorted(frame.toArrow()["n"].to_pylist()) == [*range(rows)]


def test_much_is_handed_over_as_spark_does_it(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """So are many, where no file can be."""
    size = numbers(600).nbytes
    for much, many, own in ((size, 601, True), (size - 1, 601, False), (size, 600, False)):
        monkeypatch.setattr(leaves, "MUCH", much)
        monkeypatch.setattr(crossing.execute, "LARGE", many)
        monkeypatch.setattr(crossing.files, "executors_are_here", lambda _spark: False)
        frame = crossing.to_frame(spark, numbers(600), NUMBERS)
        assert leaf(frame).nodeName() == ("LogicalRDD" if own else "LocalRelation")
        assert frame.count() == 600


def test_spark_knows_how_many_they_are(spark: SparkSession) -> None:
    """As of a local relation: so it hands the smaller side of a join to all parts of the other."""
    rows = numbers(600)
    frame = crossing.to_frame(spark, rows, NUMBERS)
    seen = local(spark, rows, NUMBERS)
    assert leaf(frame).stats().toString() == leaf(seen).stats().toString()
    joined = seen.join(frame, "n")
    assert "BroadcastHashJoin" in joined._jdf.queryExecution().executedPlan().toString()
    assert joined.count() == 600


@pytest.mark.parametrize("what", ["__init__", "lying", "leaf"])
def test_a_java_that_has_other_plans_is_handed_local_relations(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    def other(*_: Any) -> Any:
        raise Py4JError("org.apache.spark.sql.classic.Dataset does not exist in the JVM")

    monkeypatch.setattr(leaves, "_JAVAS", WeakKeyDictionary())
    monkeypatch.setattr(leaves.Java, what, other)
    frame = crossing.to_frame(spark, numbers(501), NUMBERS)
    assert leaf(frame).nodeName() == "LocalRelation" and frame.count() == 501


def test_a_java_that_reads_larger_offsets_is_handed_local_relations(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaves, "_JAVAS", WeakKeyDictionary())
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    try:
        frame = crossing.to_frame(spark, numbers(501), NUMBERS)
        assert leaf(frame).nodeName() == "LocalRelation" and frame.count() == 501
    finally:
        spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")
