"""Trees of folders followed upwards by doubling the step: the folder above, then two, four, eight above.

Whoever follows a tree draws as many steps as it may be deep; where nobody has an ancestor so far above there are no rows, and
what would follow is not made.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark.frame import rule
from pfspark.keys import HERE
from pfspark.words import ROOT


def parents(folders: DataFrame) -> DataFrame:
    """The folders beneath another: `above`, that one."""
    return folders.where(F.col("parent") != ROOT).select(*HERE, F.col("parent").alias("above"))


@rule("ancestors")
def twice_as_far(ancestors: DataFrame) -> DataFrame:
    """The ancestors twice as far `above`; folders that have none so far above are left out."""
    farther = ancestors.select("org", "store", F.col("folder").alias("above"), F.col("above").alias("farther"))
    joined = ancestors.join(farther, ["org", "store", "above"])
    return joined.select(*HERE, F.col("farther").alias("above")).distinct()
