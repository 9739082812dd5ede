"""What a session is set to, as it has few rows or many, and what it computes once."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

UNPAID = (
    "catalyst.optimizer.BooleanSimplification", "catalyst.optimizer.FoldablePropagation",
    "catalyst.optimizer.LikeSimplification", "catalyst.optimizer.NullDownPropagation", "catalyst.optimizer.NullPropagation",
    "catalyst.optimizer.OptimizeCsvJsonExprs", "catalyst.optimizer.OptimizeOneRowRelationSubquery",
    "catalyst.optimizer.PruneFilters", "catalyst.optimizer.ReorderAssociativeOperator",
    "catalyst.optimizer.ReplaceNullWithFalseInPredicate", "catalyst.optimizer.SimplifyBinaryComparison",
    "catalyst.optimizer.SimplifyConditionals", "delta.metric.OptimizeConditionalIncrementMetric",
)  # fmt: skip
"""Rules of Spark's optimizer that make expressions simpler, by their names below `org.apache.spark.sql`. In plans of few rows
they take longer than what they save: a tenth of all that Java does in a small round. Not those that carry filters and keys
towards the tables that are read, which may have many rows; nor `RemoveRedundantAliases`, without which statements of Delta's
may fail where no plan is compiled."""
FOR_LITTLE = {
    # Compiling a plan costs more than it saves on a thousand rows: a round takes a third less without.
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",  # it nearly doubles the jobs of a small round
    "spark.sql.leafNodeDefaultParallelism": "1",  # a second task costs more than it saves
    "spark.sql.optimizer.excludedRules": ",".join(f"org.apache.spark.sql.{rule}" for rule in UNPAID),
    "spark.sql.shuffle.partitions": "2",
}
CORES = str(os.cpu_count() or 2)
FOR_MUCH = {
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.leafNodeDefaultParallelism": CORES,
    "spark.sql.optimizer.excludedRules": "",
    "spark.sql.shuffle.partitions": CORES,
}
"""Spark's defaults for the same, and as many parts as there are cores."""
MANY = 30_000
"""Rows from which on the defaults are quicker. Where a whole round was set to them, one of 10,000 edits took 7.5 s without them
and 8.1 s with them, one of 30,000 7.2 and 5.9, one of 100,000 16 and 9.7; for a step by itself it was not measured."""


@contextlib.contextmanager
def computed_once(frame: DataFrame) -> Iterator[DataFrame]:
    """That frame, computed once while it is used; where nothing may be kept (serverless), at each use: the same rows."""
    from pyspark.errors import PySparkException

    try:
        kept = frame.persist()
    except PySparkException:
        yield frame
        return
    try:
        yield kept
    finally:
        kept.unpersist()


def for_rows(spark: SparkSession, rows: int) -> SparkSession:
    """The session for a plan through which so many rows go: from `MANY` on one beside that which was started for little data,
    that compiles its plans. Where the session is not one of these it stays the same.
    """
    return _for_much(spark) if rows >= MANY and hasattr(spark, "newSession") and _is_for_little(spark) else spark


def keep(frame: DataFrame) -> DataFrame | None:
    """That frame, computed, its rows left on the disks of the executors; one that is lost takes the round with it, which then
    does not count. None: nothing may be kept there (serverless), or it cannot be computed, as who asks for its rows will see.

    A million rows are read from memory no sooner; and two million end a Java of 2 GB there, which on disk they do not.
    """
    from pyspark import StorageLevel
    from pyspark.errors import PySparkException

    try:
        return frame.localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)
    except PySparkException:
        return None


@cache
def _for_much(spark: SparkSession) -> SparkSession:
    """Another session of the same Java."""
    session = spark.newSession()
    for name, value in FOR_MUCH.items():
        session.conf.set(name, value)
    return session


def tuning(spark: SparkSession) -> str:
    """For how much data a session is set, in words."""
    return f"set for rounds of few rows, from {MANY:,} on for many" if _is_for_little(spark) else "set as it was found"


def _is_for_little(spark: SparkSession) -> bool:
    from pyspark.errors import PySparkException

    with contextlib.suppress(PySparkException):  # not every session lets its settings be read
        return spark.conf.get("spark.sql.codegen.factoryMode", None) == FOR_LITTLE["spark.sql.codegen.factoryMode"]
    return False
