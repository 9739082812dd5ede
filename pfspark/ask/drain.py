"""What stands against switching a store off: what it alone has, and what is still to come to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.keyed import lacking
from pfspark.keys import ORIGIN
from pfspark.rules import state
from pfspark.words import HIERARCHY, HIERARCHY_ACTIONS, REPLICA, Listing, Standing


def alone(table: DataFrame, *, replicas: DataFrame, store: str, members: Collection[str]) -> DataFrame:
    """The numbers whose changes that store has, and no other of the `members`: org, folder, origin, range.

    `table` and `replicas` are views of a world. What is on its way to others counts as not there.
    """
    held = state.contents_of(table, replicas=replicas)
    mine, others = held.where(F.col("store") == store), held.where((F.col("store") != store) & F.col("store").isin(*members))
    return cnset.subtract(mine, others, ORIGIN)


def coming(world: Mapping[str, pa.Table], org: str) -> dict[str, dict[str, str]]:
    """The folders that each store is to hold and has no replica of yet, each with a store that says so: by the list that it
    sees, or by an edit that waits there (`@` and the edit where that makes the folder)."""
    of_org, place = pc.field("org") == org, ["store", "folder"]
    rows = {name: world[name].filter(of_org) for name in ("stores", "lists", "folders", "replicas", "edits")}
    here = rows["replicas"].filter(pc.field("standing") != str(Standing.ERASED)).select(place)
    lists = rows["lists"].filter(pc.field("folder") != HIERARCHY)
    alive = lacking(lists, rows["folders"].filter(pc.field("dead")), place)
    listed = lacking(alive, rows["stores"].filter(pc.field("retired")), ["store"]).filter(_says(Listing.LISTED))
    of_itself = lists.filter(pc.field("store") == pc.field("peer"))  # it has heard itself that it is to leave
    named = listed.select(["peer", "folder", "store"]).rename_columns([*place, "viewer"])
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for row in lacking(lacking(named, here, place), of_itself.filter(~_says(Listing.LISTED)), place).to_pylist():
        found[row["store"]].setdefault(row["folder"], row["viewer"])
    held = {(row["store"], row["folder"]) for row in here.to_pylist()} if rows["edits"].num_rows else set()
    for edit in rows["edits"].filter(pc.field("action").isin([*HIERARCHY_ACTIONS])).to_pylist():
        folder = edit["folder"] or f"@{edit['edit_id']}"
        for name, value in edit["properties"] or ():
            store = name.removeprefix(REPLICA)
            if name.startswith(REPLICA) and value == Listing.LISTED and (store, folder) not in held:
                found[store].setdefault(folder, edit["store"])
    return dict(found)


def _says(listing: Listing) -> pc.Expression:
    return pc.field("listing") == str(listing)
