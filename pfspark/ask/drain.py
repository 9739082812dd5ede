"""What stands against switching a store off: what it alone has, and what is still to come to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.keyed import ByName, anti_join
from pfspark.keys import ORIGIN
from pfspark.rules import state
from pfspark.words import HIERARCHY, HIERARCHY_ACTIONS, REPLICA, Action, Listing, Standing


def alone(table: DataFrame, *, replicas: DataFrame, store: str, members: Collection[str]) -> DataFrame:
    """The numbers whose changes that store has, and no other of the `members`: org, folder, origin, range.

    `table` and `replicas` are views of a world. What is on its way to others counts as not there.
    """
    held = state.contents_of(table, replicas=replicas)
    mine, others = held.where(F.col("store") == store), held.where((F.col("store") != store) & F.col("store").isin(*members))
    return cnset.subtract(mine, others, ORIGIN)


def coming(world: ByName, org: str) -> dict[str, dict[str, str]]:
    """The folders that each store is to hold and has no replica of yet, each with a store that says so: by the list that it
    sees, and the edits that wait there (`@` and the edit where that makes the folder). One beneath a folder whose deletion waits
    is told too."""
    of_org, place = pc.field("org") == org, ["store", "folder"]
    rows = {name: world[name].filter(of_org) for name in ("stores", "lists", "folders", "replicas", "edits")}
    retired = rows["stores"].filter(pc.field("retired"))
    here = rows["replicas"].filter(pc.field("standing") != str(Standing.ERASED)).select(place)
    lists = rows["lists"].filter(pc.field("folder") != HIERARCHY)
    alive = anti_join(lists, rows["folders"].filter(pc.field("dead")), place)
    listed = anti_join(alive, retired, ["store"]).filter(_says(Listing.LISTED))
    of_itself = lists.filter((pc.field("store") == pc.field("peer")) & ~_says(Listing.LISTED))  # it has heard that itself
    named = listed.select(["peer", "folder", "store"]).rename_columns([*place, "viewer"])
    promised = anti_join(anti_join(named, here, place), of_itself, place).to_pylist()
    said = {(row["viewer"], row["folder"], row["store"]): True for row in promised}
    waiting = anti_join(rows["edits"], retired, ["store"]).filter(pc.field("action").isin([*HIERARCHY_ACTIONS]))
    legible = waiting.filter(pc.is_valid(waiting["at"])).to_pylist()
    for edit in sorted(legible, key=lambda edit: (edit["at"], edit["place"] or 0, edit["edit_id"])):
        viewer, folder = edit["store"], edit["folder"] or f"@{edit['edit_id']}"
        if edit["action"] == Action.DELETE_FOLDER:
            said |= {key: False for key in said if key[:2] == (viewer, folder)}
        for name, value in edit["properties"] or ():
            if name.startswith(REPLICA):
                said[viewer, folder, name.removeprefix(REPLICA)] = value == Listing.LISTED
    known = {(row["store"], row["folder"]) for row in here.to_pylist()} if said else set()
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for viewer, folder, store in sorted(key for key, stands in said.items() if stands):
        if (store, folder) not in known:
            found[store].setdefault(folder, viewer)
    return dict(found)


def _says(listing: Listing) -> pc.Expression:
    return pc.field("listing") == str(listing)
