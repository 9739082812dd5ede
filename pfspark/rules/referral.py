"""Where a store sends a reader who wants a folder (R10, R146)."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from pfspark import sites
from pfspark.keys import HERE
from pfspark.words import Listing, Standing

DEAREST = 500
"""A connection that costs more is too expensive for readers, and a negative cost says that there is none (F79)."""


def refer(readers: DataFrame, *, lists: DataFrame, replicas: DataFrame, stores: DataFrame, links: DataFrame) -> DataFrame:
    """The stores that may serve each reader, in the order they are tried: org, store, folder, `peer`, `cost`, `nth`, `cheapest`.

    A reader is a row of org, store (whom he asks) and folder. The answer is made of what that store itself sees: the replica
    list of its own tree, in which a replica taken off the list is delete pending, and the standing of its own replica. Its
    own readable replica comes first, at no cost; then the other listed replicas by cost, of one cost by the name of the store.
    `cheapest` marks the first and those that cost no more, over whom readers are spread evenly; one's own replica is shared
    with nobody. Inside a site the cost is 0, between two sites that of the direct link; without a link it is 1, as for
    backfill. A reader to whom nobody can be named has no row: no replica is available to him (1129).

    >>> here = {"org": "o", "store": "PFS3", "folder": "PFS1:1"}
    >>> sites = {"PFS1": "Redmond", "PFS2": "London", "PFS3": "Paris", "PFS4": "Paris"}
    >>> stores = frame("stores", *({"org": "o", "store": name, "site": site, "retired": False} for name, site in sites.items()))
    >>> costs = (("Redmond", 10), ("London", 5))
    >>> links = frame("links", *({"org": "o", "from_site": "Paris", "to_site": site, "cost": cost} for site, cost in costs))
    >>> seen = (("PFS1", "listed"), ("PFS2", "listed"), ("PFS4", "removed"))
    >>> lists = frame("lists", *({**here, "peer": peer, "listing": listing} for peer, listing in seen))
    >>> found = refer(frame("keys", here), lists=lists, replicas=frame("replicas"), stores=stores, links=links)
    >>> found.select("peer", "cost", "nth", "cheapest").orderBy("nth").show()
    +----+----+---+--------+
    |peer|cost|nth|cheapest|
    +----+----+---+--------+
    |PFS2|   5|  1|    true|
    |PFS1|  10|  2|   false|
    +----+----+---+--------+

    Source: R10 (the hierarchy refers clients), R146, D2, D4 (delete pending: no reader here, nobody referred to it); F78, F79.
    """
    here = replicas.where(F.col("standing") == Standing.ACTIVE).select(*HERE, F.col("store").alias("peer"))
    elsewhere = lists.where((F.col("peer") != F.col("store")) & (F.col("listing") == Listing.LISTED)).select(*HERE, "peer")
    asked = readers.select(*HERE).distinct().join(here.unionByName(elsewhere), list(HERE))
    ways = sites.between(asked, stores.where("not retired")).join(
        links.select("org", "from_site", "to_site", "cost"), ["org", "from_site", "to_site"], "left"
    )
    priced = ways.withColumn("cost", sites.cost().cast("bigint"))
    of_reader, order = Window.partitionBy(*HERE), (F.col("peer") != F.col("store"), F.col("cost"))
    return priced.where(F.col("cost").between(0, DEAREST)).select(
        *HERE,
        "peer",
        "cost",
        F.row_number().over(of_reader.orderBy(*order, "peer")).alias("nth"),
        (F.rank().over(of_reader.orderBy(*order)) == 1).alias("cheapest"),
    )
