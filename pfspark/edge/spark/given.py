"""Whether somebody else starts Spark here: a Databricks cluster, spark-submit, the user of a Spark Connect server."""

from __future__ import annotations

import os

GIVEN = ("DATABRICKS_RUNTIME_VERSION", "PYSPARK_GATEWAY_PORT", "SPARK_REMOTE")
"""Each says so by being set, to whatever it be: as Spark takes it."""


def given_by() -> str | None:
    """The variable that says so; None: nobody else starts one."""
    return next((name for name in GIVEN if name in os.environ), None)
