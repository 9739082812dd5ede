"""What a session has to be for lakes, whoever started it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from pfspark.errors import SparkStartError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

UTC_ZONES = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")
OLD_VERSIONS = {"spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration": "false"}
"""A version older than a table's history is read while its files are there. The ledger pins versions: of a table that was written
last a month ago that is the one before what a round left that never counted, and else no world could be read any more."""


def fitted(spark: SparkSession) -> SparkSession:
    """That session; from now on it reads whatever versions of tables are there.

    Raises SparkStartError where its days do not begin in UTC: nights and cycles would be others, and so would digests.
    """
    from pyspark.errors import PySparkException

    zone = spark.conf.get("spark.sql.session.timeZone")
    if zone not in UTC_ZONES:
        raise SparkStartError(
            f"The session found here tells times in {zone}, and days here begin in UTC. "
            "Say spark.conf.set('spark.sql.session.timeZone', 'UTC') first."
        )
    for name, value in OLD_VERSIONS.items():
        with suppress(PySparkException):  # where a cluster lets nothing be set, it stays as it is
            spark.conf.set(name, value)
    return spark
