"""Trees of folders followed upwards by doubling the step: the folder above, then two, four, eight above.

Whoever follows a tree draws as many steps as it may be deep; where nobody has an ancestor so far above there are no rows, and
what would follow is not made.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark.frame import rule
from pfspark.keys import HERE, STORE
from pfspark.words import LEVELS, ROOT

REACH = 2 * LEVELS
"""How many levels of a tree are followed: twice as many as edits may make, for merging moves that two stores made apart may put
one tree beneath another."""


def doublings(levels: int) -> int:
    """How often the step is doubled until the folder so many levels above is found.

    >>> doublings(32)
    5
    """
    return (levels - 1).bit_length()


def parents(folders: DataFrame) -> DataFrame:
    """The folders beneath another: `above`, that one."""
    return folders.where(F.col("parent") != ROOT).select(*HERE, F.col("parent").alias("above"))


@rule("ancestors")
def twice_as_far(ancestors: DataFrame) -> DataFrame:
    """The ancestors twice as far `above`; folders that have none so far above are left out."""
    farther = ancestors.select(*STORE, F.col("folder").alias("above"), F.col("above").alias("farther"))
    joined = ancestors.join(farther, [*STORE, "above"])
    return joined.select(*HERE, F.col("farther").alias("above")).distinct()
