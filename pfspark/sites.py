"""Where stores lie: in a site, and two sites may have a link."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pfspark.keys import STORE


def between(pairs: DataFrame, stores: DataFrame, *of_peer: str) -> DataFrame:
    """Pairs (org, store, peer) with the sites of both, `from_site` and `to_site`, and what else the directory says `of_peer`. A
    pair of which it does not have both has no row."""
    mine = stores.select(*STORE, F.col("site").alias("from_site"))
    theirs = stores.select("org", F.col("store").alias("peer"), F.col("site").alias("to_site"), *of_peer)
    return pairs.join(mine, list(STORE)).join(theirs, ["org", "peer"])


def near() -> Column:
    """Whether both of a pair lie in one site."""
    return F.col("from_site") == F.col("to_site")


def cost() -> Column:
    """What the way costs, of a pair with the `cost` of the link between its sites: nothing inside a site, 1 where there is no
    link."""
    return F.when(near(), 0).otherwise(F.coalesce("cost", F.lit(1)))
