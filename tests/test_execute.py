"""Steps that are drawn are made once, when what they need is there, and only if somebody needs them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import pfspark.execute
from pfspark.edge.spark import files
from pfspark.edge.spark.crossing import BY_FILES
from pfspark.execute import AT_ONCE, Execution, Made, execute
from pfspark.frame import RULES, node, rule, source
from pfspark.materializer import ALL_LOCAL, Materializer, OnExecutors
from pfspark.rows import struct
from pfspark.rules.frames import append, going, once, together
from pfspark.tables import FRAMES, Column, Table

LATE = 30.0
"""Seconds after which a thread that waits in vain gives up, so that a fault is red and not for ever."""

N = "n of a test"
"""A frame of one column, n."""


@pytest.fixture(autouse=True)
def declared(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The frame `N`; and rules that tests declare are gone after them."""
    monkeypatch.setitem(FRAMES, N, Table(N, "a number", ("n",), (Column("n", "bigint", "the number"),)))
    rules = dict(RULES)
    yield
    RULES.clear()
    RULES.update(rules)


def numbers(spark: SparkSession, *given: int) -> Made:
    """A frame that is given, of known rows."""
    rows = pa.table({"n": pa.array(given, pa.int64())})
    return Made(lambda session: session.createDataFrame([(n,) for n in given], "n bigint"), rows)


def column(spark: SparkSession, wanted: DataFrame, **given: Made) -> list[int]:
    return sorted(execute(spark, {"wanted": wanted}, given)["wanted"]["n"].to_pylist())


def test_the_columns_of_what_is_given_are_known_without_a_frame(spark: SparkSession) -> None:
    """However many rows are given, they are handed to nobody who does not read them."""

    def handed(_spark: SparkSession) -> DataFrame:
        raise AssertionError("nobody asks for it")

    rows = pa.table({"n": pa.array([3], pa.int64())})
    made = execute(spark, {"once": once(source("given"))}, {"given": Made(handed, rows, schema=struct("n bigint"))})
    assert made["once"].to_pylist() == [{"n": 3}]


@rule(N)
def above(rows: DataFrame, *, least: int) -> DataFrame:
    return rows.where(F.col("n") > least)


@rule(N)
def both(rows: DataFrame, *, others: DataFrame) -> DataFrame:
    return rows.join(others, "n", "left_semi")


def test_a_rule_is_a_function_of_frames(spark: SparkSession) -> None:
    """Of DataFrames it gives one, of what is drawn it draws a step, and asks Spark nothing."""
    assert [row["n"] for row in above(spark.range(4).toDF("n"), least=1).orderBy("n").collect()] == [2, 3]
    drawn = above(source("given"), least=1)
    assert not isinstance(drawn, DataFrame)
    assert column(spark, drawn, given=numbers(spark, 0, 1, 2, 3)) == [2, 3]


@pytest.mark.parametrize("inline", [False, True])
def test_steps_that_need_not_wait_do_not(inline: bool, spark: SparkSession) -> None:
    """The first waits until the second is made: one after another they would wait for ever."""
    done = Event()

    @rule(N, inline=inline)
    def patient(rows: DataFrame) -> DataFrame:
        assert done.wait(LATE)
        return rows

    @rule(N, inline=inline)
    def prompt(rows: DataFrame) -> DataFrame:
        done.set()
        return rows

    given = source("given")
    made = execute(spark, {"first": patient(given), "second": prompt(given)}, {"given": numbers(spark, 7)})
    assert {name: rows["n"].to_pylist() for name, rows in made.items()} == {"first": [7], "second": [7]}


def test_many_that_wait_for_one_another_come_to_an_end(spark: SparkSession) -> None:
    @rule(N)
    def more(rows: DataFrame) -> DataFrame:
        return rows.select((F.col("n") + 1).alias("n"))

    frame = source("given")
    for _ in range(3 * AT_ONCE):
        frame = more(frame)
    assert column(spark, frame, given=numbers(spark, 0)) == [3 * AT_ONCE]


def test_a_step_is_made_once_however_many_read_it(spark: SparkSession) -> None:
    built = []

    @rule(N)
    def counted(rows: DataFrame) -> DataFrame:
        built.append(1)
        return rows

    frame = counted(source("given"))
    wanted = {str(least): above(frame, least=least) for least in range(3)}
    made = execute(spark, wanted, {"given": numbers(spark, 1, 2)})
    assert {name: sorted(rows["n"].to_pylist()) for name, rows in made.items()} == {"0": [1, 2], "1": [2], "2": []}
    assert built == [1]


def test_a_projection_is_made_in_those_who_read_it(spark: SparkSession) -> None:
    """It is no step of its own: its plan becomes part of theirs, and its rows are not known."""

    @rule(N, inline=True)
    def doubled(rows: DataFrame) -> DataFrame:
        return rows.select((F.col("n") * 2).alias("n"))

    frame = doubled(source("given"))
    assert column(spark, above(frame, least=3), given=numbers(spark, 1, 2)) == [4]
    assert column(spark, frame, given=numbers(spark, 1, 2)) == [2, 4]


def test_a_step_is_made_in_the_session_that_suits_what_it_reads(spark: SparkSession) -> None:
    """However many projections lie between; what comes of many and is few is read by the next in the first again."""
    wide = spark.newSession()
    seen = []

    @rule(N)
    def looking(rows: DataFrame) -> DataFrame:
        seen.append(rows.sparkSession is wide)
        return rows.where("n = 1")

    @rule(N, inline=True)
    def as_they_are(rows: DataFrame) -> DataFrame:
        return rows

    given = {"many": numbers(spark, 1, 2, 3), "few": numbers(spark, 1, 2)}
    frames = {"many": as_they_are(as_they_are(source("many"))), "few": source("few")}
    frames["last"] = looking(looking(frames["many"]))
    frames["alone"] = looking(frames["few"])
    made = execute(spark, frames, given, Materializer(lambda session, rows: wide if rows >= 3 else session, ALL_LOCAL.keep))
    assert {name: rows["n"].to_pylist() for name, rows in made.items()} == {
        "many": [1, 2, 3], "few": [1, 2], "last": [1], "alone": [1],
    }  # fmt: skip
    assert sorted(seen) == [False, False, True]


# --- what is large ----------------------------------------------------------------------------------------------------


@rule(N)
def more(rows: DataFrame) -> DataFrame:
    return rows.select(F.explode(F.array("n", F.col("n") + 10)).alias("n"))


def made(
    spark: SparkSession, wanted: Mapping[str, DataFrame], *given: int, by: Materializer = BY_FILES
) -> tuple[dict[str, list[int]], Execution]:
    """The numbers of what is wanted, of the numbers `given`, and who made them."""
    with ThreadPoolExecutor(AT_ONCE) as threads:
        execution = Execution(spark, {"given": numbers(spark, *given)}, threads, by)
        return {name: sorted(rows["n"].to_pylist()) for name, rows in execution.make(wanted).items()}, execution


@pytest.fixture(params=["files", "checkpoints"])
def stays(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the plan says of a frame that stays on the executors: on those of this machine in files, on others as it can be."""
    monkeypatch.setattr(pfspark.execute, "LARGE", 3)
    if request.param == "files":
        return "FileScan parquet"
    monkeypatch.setattr(files, "executors_are_here", lambda spark: False)
    return "ExistingRDD"


def test_what_is_large_stays_on_the_executors(spark: SparkSession, stays: str) -> None:
    """Whoever reads it reads it there, what is wanted of it comes here beside; what is few is here, though it comes of many."""
    many = more(source("given"))
    few = above(many, least=12)
    last = both(many, others=few)
    said, execution = made(spark, {"many": many, "last": last}, 1, 2, 3)
    assert said == {"many": [1, 2, 3, 11, 12, 13], "last": [13]}
    assert (execution.made[node(many)].rows, execution.made[node(many)].largest) == (None, 6)
    assert stays in plan(execution.made[node(many)].frame(spark))
    assert execution.made[node(few)].rows == pa.table({"n": pa.array([13], pa.int64())})


def plan(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().toString())


def test_what_is_driven_by_few_is_here_however_large_what_it_reads_is(spark: SparkSession, stays: str) -> None:
    """Nobody asks first how many rows it has."""

    @rule(N, drives=("few",))
    def picked(many: DataFrame, *, few: DataFrame) -> DataFrame:
        return many.join(few, "n")

    asked: list[str] = []

    def computed(frame: DataFrame) -> OnExecutors | None:
        asked.append("asked")
        return BY_FILES.keep(frame)

    many = more(source("given"))
    frame = picked(many, few=above(many, least=12))
    said, execution = made(spark, {"last": above(frame, least=0)}, 1, 2, 3, by=Materializer(BY_FILES.session_for, computed))
    assert said == {"last": [13]}
    assert stays in plan(execution.made[node(many)].frame(spark))
    assert "LocalRelation" in plan(execution.made[node(frame)].frame(spark))
    assert len(asked) == 2  # the many, and the few among them


def test_where_many_rows_lie_is_told(spark: SparkSession, stays: str) -> None:
    """Whoever reads them besides; of few that are made of many none lie anywhere but here."""
    told: dict[str, tuple[int, bool]] = {}

    def tell(name: str, rows: pa.Table, frame: DataFrame | None) -> None:
        told[name] = rows.num_rows, frame is not None and stays in plan(frame)
        assert frame is None or frame.toArrow().sort_by("n") == rows.sort_by("n")

    many = more(source("given"))
    wanted = {"all": many, "few": above(source("given"), least=2), "above": above(many, least=2)}
    execute(spark, wanted, {"given": numbers(spark, 1, 2, 3)}, BY_FILES, tell)
    assert told == {"all": (6, True), "few": (1, False), "above": (4, True)}


def test_where_nothing_may_be_kept_all_comes_here(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster without executors of one's own refuses a checkpoint: the rows are the same."""

    def refused(_frame: DataFrame, *_args: Any, **_named: Any) -> DataFrame:
        raise AnalysisException("[NOT_SUPPORTED_WITH_SERVERLESS] PERSIST TABLE is not supported on serverless compute.")

    monkeypatch.setattr(pfspark.execute, "LARGE", 3)
    monkeypatch.setattr(files, "executors_are_here", lambda spark: False)
    monkeypatch.setattr(type(spark.range(1)), "localCheckpoint", refused)
    many = more(source("given"))
    said, execution = made(spark, {"last": above(many, least=3)}, 1, 2, 3)
    assert said == {"last": [11, 12, 13]}
    assert "LocalRelation" in plan(execution.made[node(many)].frame(spark))


@pytest.mark.parametrize(("goes", "expected"), [(False, []), (True, [1, 2, 3])])
def test_what_is_picked_from_many_is_asked_whether_it_is_any(
    goes: bool, expected: list[int], spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of few rows it is known, as they are picked here; a step that hangs upon none of many is not built either."""
    going_or_not = Table("of a test", "a number", ("n",), (Column("n", "bigint", "it"), Column("goes", "boolean", "whether")))
    monkeypatch.setitem(FRAMES, going_or_not.name, going_or_not)
    monkeypatch.setattr(pfspark.execute, "LARGE", 3)
    built = []

    @rule(going_or_not.name)
    def decided(rows: DataFrame) -> DataFrame:
        return rows.withColumn("goes", F.lit(goes))

    @rule(N)
    def hanging(rows: DataFrame) -> DataFrame:
        built.append(goes)
        return rows.select("n")

    frame = above(hanging(going(decided(source("given")))), least=0)
    assert made(spark, {"last": frame}, 1, 2, 3)[0] == {"last": expected}
    assert built == [True] * goes


def test_what_is_put_together_of_many_is_not_asked(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several, or to a view: one of them will have rows. Whoever reads it says the same where none has."""
    monkeypatch.setattr(pfspark.execute, "LARGE", 3)
    monkeypatch.setattr(pfspark.execute.Execution, "_has_rows", never)
    many, none = more(source("given")), above(more(source("given")), least=99)
    for frame, expected in (
        (together(many, none), [1, 2, 3, 11, 12, 13]), (together(none, none), []),
        (append(none, many), [1, 2, 3, 11, 12, 13]), (append(many, none), [1, 2, 3, 11, 12, 13]),
    ):  # fmt: skip
        assert made(spark, {"last": above(frame, least=0)}, 1, 2, 3)[0] == {"last": expected}


def test_who_waits_for_all_is_told_of_each(spark: SparkSession) -> None:
    """As soon as its rows are here: the first waits until somebody is told of the second."""
    told = []
    done = Event()

    @rule(N)
    def patient(rows: DataFrame) -> DataFrame:
        assert done.wait(LATE)
        return rows

    def tell(name: str, rows: pa.Table, _frame: DataFrame | None) -> None:
        told.append((name, rows["n"].to_pylist()))
        done.set()

    wanted = {"first": patient(source("given")), "second": above(source("given"), least=1)}
    execute(spark, wanted, {"given": numbers(spark, 1, 2)}, told=tell)
    assert told == [("second", [2]), ("first", [1, 2])]


def never(*frames: Any, **named: Any) -> DataFrame:
    raise AssertionError("built")


def test_what_is_driven_by_nothing_is_not_built(spark: SparkSession) -> None:
    """Nor is what it would be told besides; as long as one of those that drive it has a row it is."""

    @rule(N)
    def unasked(rows: DataFrame) -> DataFrame:
        return never()

    @rule(N)
    def either(one: DataFrame, other: DataFrame, *, told: DataFrame) -> DataFrame:
        return one.unionByName(other).unionByName(told)

    none, some = numbers(spark), numbers(spark, 1)
    told = unasked(source("some"))
    assert column(spark, either(source("none"), source("none"), told=told), none=none, some=some) == []
    assert column(spark, either(source("none"), source("some"), told=source("some")), none=none, some=some) == [1, 1]
    hidden = above(source("some"), least=0)
    assert column(spark, either(hidden, source("none"), told=source("none")), none=none, some=some) == [1]


def test_what_needs_something_that_is_empty_is_not_built(spark: SparkSession) -> None:
    @rule(N, needs=("one", "other"))
    def joined(one: DataFrame, other: DataFrame) -> DataFrame:
        return never()

    none, some = numbers(spark), numbers(spark, 1)
    assert column(spark, joined(source("some"), source("none")), none=none, some=some) == []
    assert column(spark, joined(source("none"), source("some")), none=none, some=some) == []


def test_a_view_that_nothing_amends_stays_as_it_is(spark: SparkSession) -> None:
    @rule(drives=("changed",), amends="view")
    def amended(view: DataFrame, *, changed: DataFrame) -> DataFrame:
        return view.unionByName(changed)

    drawn = amended(above(source("view"), least=1), changed=source("changed"))
    assert column(spark, drawn, view=numbers(spark, 1, 2), changed=numbers(spark)) == [2]
    assert column(spark, drawn, view=numbers(spark, 1, 2), changed=numbers(spark, 9)) == [2, 9]


def test_the_first_error_is_told_as_it_was(spark: SparkSession) -> None:
    """However many steps wait for one another, its trace is that of the step that failed."""

    @rule(N)
    def faulty(rows: DataFrame) -> DataFrame:
        raise ValueError("no such thing")

    frame = faulty(source("given"))
    for _ in range(30):
        frame = above(frame, least=0)
    with pytest.raises(ValueError, match="no such thing") as told:
        column(spark, frame, given=numbers(spark, 1))
    names = [each.name for each in told.traceback]
    assert "faulty" in names and len(names) < 15


def test_steps_run_with_the_properties_of_who_calls(spark: SparkSession) -> None:
    """So that a job of theirs goes by its group, and whoever cancels it ends them."""
    seen = []

    @rule(N)
    def looking(rows: DataFrame) -> DataFrame:
        seen.append(spark.sparkContext.getLocalProperty("spark.jobGroup.id"))
        return rows

    spark.sparkContext.setJobGroup("round of a test", "a round")
    try:
        assert column(spark, looking(source("given")), given=numbers(spark, 1)) == [1]
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert seen == ["round of a test"]
