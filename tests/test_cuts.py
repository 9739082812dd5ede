"""Frames made side by side: waiting where one is made of another, and nowhere else."""

from __future__ import annotations

from threading import Event

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pfspark.cuts import AT_ONCE, Cuts, frames
from pfspark.rows import no_rows, struct

LATE = 30.0
"""Seconds after which a thread that waits in vain gives up, so that a fault is red and not for ever."""


def numbers(spark: SparkSession, count: int) -> DataFrame:
    return spark.range(count).select(F.col("id").alias("n"))


def column(cuts: Cuts, frame: DataFrame) -> list[int]:
    return sorted(cuts.rows(frame)["n"].to_pylist())


def test_what_is_made_of_a_frame_may_be_written_before_it_is_made(spark: SparkSession) -> None:
    go = Event()

    def slow() -> DataFrame:
        assert go.wait(LATE)
        return numbers(spark, 4)

    with Cuts(spark, {}) as cuts:
        first = cuts("first", slow)
        high = first.where("n > 1")
        joined = cuts("joined", lambda: numbers(spark, 3).join(high, "n"))
        go.set()
        assert column(cuts, joined) == [2]
        assert column(cuts, high) == [2, 3]


def test_a_frame_in_the_making_passes_for_one(spark: SparkSession) -> None:
    """Spark Connect asks whether it is given a frame of its own kind, and joins no other."""
    with Cuts(spark, {}) as cuts:
        later = cuts("later", lambda: numbers(spark, 4))
        assert isinstance(later, DataFrame) and isinstance(later, type(numbers(spark, 1)))
        assert not isinstance(later.where("n > 1"), str)


def test_cuts_that_need_not_wait_do_not(spark: SparkSession) -> None:
    """The first waits until the second is done: one after another they would wait for ever."""
    done = Event()

    def patient() -> DataFrame:
        assert done.wait(LATE)
        return numbers(spark, 1)

    with Cuts(spark, {}) as cuts:
        first = cuts("first", patient)
        second = cuts("second", lambda: numbers(spark, 2))
        assert column(cuts, second) == [0, 1]
        done.set()
        assert column(cuts, first) == [0]


def test_many_that_wait_for_one_another_come_to_an_end(spark: SparkSession) -> None:
    with Cuts(spark, {}) as cuts:
        frame = cuts("n", lambda: numbers(spark, 1))
        for _ in range(3 * AT_ONCE):
            frame = cuts("n", lambda before=frame: before.select((F.col("n") + 1).alias("n")))
        assert column(cuts, frame) == [3 * AT_ONCE]


def test_a_frame_is_made_once_however_many_need_it(spark: SparkSession) -> None:
    built = []

    def build() -> DataFrame:
        built.append(1)
        return numbers(spark, 2)

    with Cuts(spark, {}) as cuts:
        frame = cuts("n", build)
        more = [cuts("n", lambda: frame.where("n = 1")) for _ in range(3)]
        assert [column(cuts, each) for each in more] == [[1], [1], [1]]
    assert built == [1]


def test_a_fault_reaches_everybody_who_needs_the_frame(spark: SparkSession) -> None:
    def faulty() -> DataFrame:
        raise ValueError("no such thing")

    with Cuts(spark, {}) as cuts:
        frame = cuts("n", faulty)
        after = cuts("n", lambda: numbers(spark, 1).join(frame, "n"))
        with pytest.raises(ValueError, match="no such thing"):
            cuts.rows(after)
        with pytest.raises(ValueError, match="no such thing"):
            cuts.rows(frame)
        assert column(cuts, cuts("n", lambda: numbers(spark, 1))) == [0]


def test_a_fault_is_told_as_it_was_first(spark: SparkSession) -> None:
    """However many cuts have waited for one another, its trace is that of the cut that failed."""

    def faulty() -> DataFrame:
        raise ValueError("no such thing")

    with Cuts(spark, {}) as cuts:
        frame = cuts("n", faulty)
        for _ in range(30):
            frame = cuts("n", lambda before=frame: before.where("n > 0"))
        with pytest.raises(ValueError, match="no such thing") as told:
            cuts.rows(frame)
    names = [each.name for each in told.traceback]
    assert "faulty" in names and len(names) < 15


def test_where_there_is_nothing_to_say_nothing_is_built(spark: SparkSession) -> None:
    def never() -> DataFrame:
        raise AssertionError("built")

    schema = struct("n bigint")
    with Cuts(spark, {"n": "n bigint"}) as cuts:
        empty = cuts.know(numbers(spark, 0), no_rows(schema))
        full = cuts.know(numbers(spark, 1), pa.table({"n": [0]}))
        assert cuts.rows(cuts("n", never, when=[empty, empty])).num_rows == 0
        assert column(cuts, cuts("n", never, when=[empty], otherwise=full)) == [0]
        assert column(cuts, cuts("n", lambda: numbers(spark, 2), when=[empty, full])) == [0, 1]
        assert column(cuts, cuts("n", lambda: numbers(spark, 2), when=[empty.where("n > 5")])) == [0, 1]  # nobody knows


def test_what_looks_like_nothing_known_is_built_and_remembered(spark: SparkSession) -> None:
    columns: dict[str, str] = {}
    with Cuts(spark, columns) as cuts:
        empty = cuts.know(numbers(spark, 0), no_rows(struct("n bigint")))
        cuts.rows(cuts("unheard of", lambda: numbers(spark, 0), when=[empty]))
    assert columns == {"unheard of": "`n` bigint"}
    assert "unheard of" not in frames()
