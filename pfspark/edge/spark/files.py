"""Whose files a session reads: those of this machine, or others."""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def files_are_local(spark: SparkSession) -> bool:
    """Whether Spark takes a path without a scheme for one of this machine (`fs.defaultFS`).

    Where only Java could say it and cannot be asked, as through Spark Connect, it is taken for local, but on Databricks.
    """
    from pyspark.errors import PySparkException

    found = None
    with contextlib.suppress(PySparkException):  # not every session lets its settings be read
        found = spark.conf.get("spark.hadoop.fs.defaultFS", None)
    if found is None and (java := getattr(spark, "_jsc", None)) is not None:
        found = java.hadoopConfiguration().get("fs.defaultFS")
    if found is None and "DATABRICKS_RUNTIME_VERSION" in os.environ:
        found = "dbfs:/"
    return (found or "file:").startswith("file:")


def executors_are_here(spark: SparkSession) -> bool:
    """Whether the executors are threads of a Java of this machine, and read its files."""
    if getattr(spark, "_jsc", None) is None:  # through Spark Connect
        return False
    return re.fullmatch(r"local(\[.*\])?", spark.sparkContext.master or "") is not None
