"""What a session, whoever started it, and the Arrow beside it have to be for lakes."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pyarrow as pa

from pfspark.errors import SparkStartError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXPECTED = {
    "spark.sql.session.timeZone": (("UTC", "Etc/UTC", "GMT", "Z", "+00:00"), "days begin in UTC here"),
    "spark.sql.timestampType": (("TIMESTAMP_LTZ",), "times are instants here"),
    "spark.sql.execution.arrow.useLargeVarTypes": (("false",), "rows are handed over with offsets of 32 bits here"),
}
"""What a session has to be set to, by name: values that will do, the first of them what it should be, and why."""
OLDEST_ARROW = 24
"""Before, `coalesce`, `and_kleene` and `if_else` give zeros and nulls of columns that lie in unequal chunks, without a word."""
OLD_VERSIONS = {"spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration": "false"}
"""A version older than a table's history is read while its files are there. The ledger pins versions: of a table that was written
last a month ago that is the one before what a round left that never counted, and else no world could be read any more."""


def expect_arrow() -> None:
    """Raises SparkStartError where Arrow would give wrong values: a cluster may have brought it."""
    if int(pa.__version__.partition(".")[0]) < OLDEST_ARROW:
        raise SparkStartError(
            f"pyarrow {pa.__version__} is installed here, expected {OLDEST_ARROW} or newer: older ones give wrong values. "
            f"Say pip install 'pyarrow>={OLDEST_ARROW}' first."
        )


def expect_fit(spark: SparkSession) -> None:
    """Raises SparkStartError where the session is set to something by which rounds would come out otherwise, or not at all:
    somebody may have set it, to look at something, since the session was fit for a lake.

    Days begin in UTC: nights and cycles would be others, and so would digests. Times are instants. And Java reads columns by the
    offsets that it is sent; by others it reads elsewhere, and ends.
    """
    from pyspark.errors import PySparkException

    for name, (fit, meant) in EXPECTED.items():
        found = None
        with suppress(PySparkException):  # not every session knows each of them, or lets it be read
            found = spark.conf.get(name, None)
        if found is not None and found not in fit:
            raise SparkStartError(
                f"The session found here has {name} set to {found}, expected {fit[0]}: {meant}. "
                f"Say spark.conf.set({name!r}, {fit[0]!r}) first."
            )


def fitted(spark: SparkSession) -> SparkSession:
    """That session; from now on it reads whatever versions of tables are there. Raises SparkStartError as `expect_fit` does."""
    from pyspark.errors import PySparkException

    expect_fit(spark)
    for name, value in OLD_VERSIONS.items():
        with suppress(PySparkException):  # where a cluster lets nothing be set, it stays as it is
            spark.conf.set(name, value)
    return spark
