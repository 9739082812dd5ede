"""Threads that work in the name of who calls."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from pyspark import inheritable_thread_target
from pyspark.sql import SparkSession

from pfspark.rows import Session


def callers_threads(spark: Session, most: int) -> ThreadPoolExecutor:
    """So many at most, in which Spark works with the properties that it has here: job group, tags, pool. So who cancels a group,
    as a notebook does, cancels what they do too. Of a session that is yet to be started there are none."""
    found = SparkSession.getActiveSession() if callable(spark) else spark
    return ThreadPoolExecutor(most, initializer=inheritable_thread_target(found)(lambda: None) if found else None)
