"""Steps that are made again and again: of a plan that is kept they give what they give when they are said anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import pfspark.execute
import pfspark.rows
from pfspark.edge.spark import kept_plans, leaves
from pfspark.edge.spark.crossing import BY_FILES, to_frame
from pfspark.execute import Made, execute
from pfspark.frame import RULES, rule, source
from pfspark.rows import arrow, local, rows_of, schema_of, struct
from pfspark.tables import FRAMES, Column, Table
from tests.edge.spark.test_crossing import CHANGES, said

N = "n of a test"
"""A frame of one column, n."""
NUMBERS = struct("n bigint")


@pytest.fixture(autouse=True)
def declared(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The frame `N`; rules that tests declare are gone after them, and so are plans."""
    monkeypatch.setitem(FRAMES, N, Table(N, "a number", ("n",), (Column("n", "bigint", "the number"),)))
    monkeypatch.setattr(kept_plans, "_PLANS", WeakKeyDictionary())
    rules = dict(RULES)
    yield
    RULES.clear()
    RULES.update(rules)


@rule(N, inline=True)
def above(rows: DataFrame, *, least: int) -> DataFrame:
    return rows.where(F.col("n") > least)


@rule(N, drives=("rows", "others"))
def both(rows: DataFrame, *, others: DataFrame) -> DataFrame:
    return rows.join(others, "n", "left_semi").groupBy("n").agg(F.count(F.lit(1)).alias("_")).select("n")


@rule(like="rows")
def in_order(rows: DataFrame) -> DataFrame:
    return rows.orderBy("cn")


def numbers(*given: int) -> Made:
    """Rows that are here, each in a chunk of its own, between chunks without any."""
    rows = pa.chunked_array([chunk for each in given for chunk in ([], [each])], pa.int64())
    table = pa.table({"n": rows})
    return Made(lambda spark: to_frame(spark, table, NUMBERS), table, schema=NUMBERS)


SEEN_OR_NOT = pytest.mark.parametrize("seen", [500, 0])
"""Rows up to which Spark sees them: all of these, or none."""


def made(spark: SparkSession, wanted: DataFrame, **given: Made) -> list[int]:
    return sorted(execute(spark, {"wanted": wanted}, given, BY_FILES)["wanted"]["n"].to_pylist())


def kept(spark: SparkSession) -> list[str]:
    """What is kept of each step and shape."""
    steps: Mapping[Any, Mapping[Any, Any]] = kept_plans._PLANS.get(spark, {})
    return sorted(type(plan).__name__ for plans in steps.values() for plan in plans.values())


@SEEN_OR_NOT
def test_a_step_is_prepared_when_it_is_made_again(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, seen: int) -> None:
    """With what is fused into it, of few rows, of a chunk each; where nothing is fused into it, for there is nothing, it has
    another shape."""
    monkeypatch.setattr(leaves, "SEEN", seen)
    wanted = both(above(source("given"), least=1), others=above(source("others"), least=2))
    cases: list[tuple[tuple[int, ...], tuple[int, ...], list[int]]] = [
        ((1, 2, 3, 3), (2, 3), [3]), ((5,), (), []), ((), (3, 4), []), ((3, 4, 5, 6), (3, 4, 6, 7), [3, 4, 6]), ((9,), (9,), [9]),
    ]  # fmt: skip
    found = []
    for given, others, expected in cases:
        assert made(spark, wanted, given=numbers(*given), others=numbers(*others)) == expected
        found.append(kept(spark))
    assert found == [["Once"], ["Once"] * 2, ["Once"] * 3, ["Once", "Once", "Plan"], ["Once", "Once", "Plan"]]


@SEEN_OR_NOT
def test_one_frame_given_twice_is_another_shape(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, seen: int) -> None:
    """Which of them a leaf stands for is told by the rows themselves, not by what they say."""
    monkeypatch.setattr(leaves, "SEEN", seen)
    wanted = both(source("given"), others=source("others"))
    for _ in range(3):
        one = numbers(1, 2)
        assert made(spark, wanted, given=one, others=one) == [1, 2]
        assert made(spark, wanted, given=numbers(1, 2, 3), others=numbers(1, 2)) == [1, 2]
        assert made(spark, wanted, given=numbers(), others=numbers()) == []
    assert kept(spark) == ["Plan", "Plan"]


@SEEN_OR_NOT
def test_a_plan_that_is_kept_holds_no_rows(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, seen: int) -> None:
    monkeypatch.setattr(leaves, "SEEN", seen)
    wanted = both(source("given"), others=source("others"))
    for _ in range(2):
        made(spark, wanted, given=numbers(1, 2), others=numbers(2))
    [plans] = kept_plans._PLANS[spark].values()
    [plan] = plans.values()
    assert isinstance(plan, kept_plans.Plan)
    found = plan._nodes[-1][0].collectLeaves()
    assert found.size() == 2 and all(found.apply(nth).data().isEmpty() for nth in range(2))


def test_rows_of_any_type_are_as_they_are(spark: SparkSession) -> None:
    """Null or not, at any time, whatever stood there when the plan was made."""
    wanted = in_order(source("given"))
    for some in (CHANGES[:1], CHANGES, CHANGES[3:], []):
        rows = rows_of("changes", some)
        given = Made(lambda spark: local(spark, rows, schema_of("changes")), rows, schema=schema_of("changes"))  # noqa: B023
        assert said(execute(spark, {"wanted": wanted}, {"given": given}, BY_FILES)["wanted"]) == said(rows)
    assert kept(spark) == ["Plan"]


def test_what_goes_by_files_is_not_prepared_for(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pfspark.execute, "LARGE", 3)
    wanted = both(source("given"), others=source("others"))
    for _ in range(3):
        assert made(spark, wanted, given=numbers(1, 2, 3), others=numbers(2, 3)) == [2, 3]
    assert kept(spark) == []


def test_rows_in_several_parts_are_another_shape(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its plan does not say that they are in one."""
    monkeypatch.setattr(pfspark.rows, "IN_ONE_PART", 2)
    wanted = both(source("given"), others=source("others"))
    for some in ((1, 2), (1, 2, 3), (2, 3), (4, 2, 3), (2, 5)):
        assert made(spark, wanted, given=numbers(*some), others=numbers(2)) == [2]
    assert kept(spark) == ["Plan", "Plan"]


@pytest.mark.parametrize(
    ("who", "what", "known"),
    [(leaves.Java, "__init__", []), (leaves.Java, "lying", ["Never"]), (kept_plans.Plan, "_made", ["Never"])],
)
def test_a_java_that_has_other_plans_is_told_each_step_anew(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, who: type, what: str, known: list[str]
) -> None:
    """Whenever that is seen."""

    def other(*_: Any) -> Any:
        raise Py4JError("org.apache.spark.sql.classic.Dataset does not exist in the JVM")

    monkeypatch.setattr(leaves, "_JAVAS", WeakKeyDictionary())
    monkeypatch.setattr(who, what, other)
    wanted = both(source("given"), others=source("others"))
    for last in (3, 4, 5):
        assert made(spark, wanted, given=numbers(1, 2, last), others=numbers(2, last)) == [2, last]
    assert kept(spark) == known


@rule(N)
def with_one_more(rows: DataFrame) -> DataFrame:
    return rows.union(local(rows.sparkSession, pa.table({"n": pa.array([9], pa.int64())}), NUMBERS))


def test_a_plan_with_rows_of_its_own_is_not_kept(spark: SparkSession) -> None:
    """They might be others the next time, and nobody would see it."""
    wanted = with_one_more(source("given"))
    for last in (3, 4, 5):
        assert made(spark, wanted, given=numbers(1, last)) == [1, last, 9]
    assert kept(spark) == ["Never"]


def test_columns_of_other_types_are_another_shape(spark: SparkSession) -> None:
    wanted = in_order(source("given"))
    for kind, some in (("bigint", [1]), ("string", ["x"]), ("bigint", [2]), ("string", ["y"])):
        schema = struct(f"cn {kind}")
        rows = arrow(schema, [{"cn": each} for each in some])
        given = Made(lambda spark: local(spark, rows, schema), rows, schema=schema)  # noqa: B023
        assert execute(spark, {"wanted": wanted}, {"given": given}, BY_FILES)["wanted"]["cn"].to_pylist() == some
    assert kept(spark) == ["Plan", "Plan"]
