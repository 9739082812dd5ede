"""Threads that work in the name of who calls."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from pyspark import inheritable_thread_target
from pyspark.sql import SparkSession


def callers_threads(spark: SparkSession, most: int) -> ThreadPoolExecutor:
    """So many at most, in which Spark works with the properties that it has here: job group, tags, pool. So who cancels a group,
    as a notebook does, cancels what they do too."""
    return ThreadPoolExecutor(most, initializer=inheritable_thread_target(spark)(lambda: None))
