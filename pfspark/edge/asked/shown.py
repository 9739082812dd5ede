"""Which version of an item a store shows: what `rules.items` says of frames, said once more of a world whose tables are here.

So who names an item starts no Spark. `tests/edge/asked/test_shown.py` holds each answer beside what the rules say.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import reduce
from operator import and_
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pfspark import cntext
from pfspark.ask import lines
from pfspark.ask.stores import Stores
from pfspark.edge.asked.naming import place_of
from pfspark.keyed import ByName, parted, run_ends, with_columns
from pfspark.keys import NUMBER
from pfspark.words import HIERARCHY, Action, Standing

Row = dict[str, Any]
TOLD = [*NUMBER, "object", "action", "name", "predecessors", "made_at"]
"""What a change says of which version is shown, and by which name."""
PAGE = 20_000
"""Changes that become dicts at once, and the others of the last item."""


def items(world: ByName, org: str, store: str, folder: str, item: str | None = None) -> list[Row]:
    """Each item as readers at a store see it, by its id; `item`: only what has that id, or that name in one of its versions."""
    changes = _of(world["changes"].select(TOLD), org=org, folder=folder)
    if item is not None:
        called = changes.filter((pc.field("object") == item) | (pc.field("name") == item))
        changes = changes.filter(pc.field("object").isin(called["object"].unique()))
    seen = map(_read, _undominated(changes.to_pylist(), _held_at(world, org, store, folder)))
    return sorted(seen, key=lambda row: place_of(row["object"]))


def in_conflict(world: ByName, org: str, store: str, folder: str, item: str) -> list[Row]:
    """The versions of an item between which a store has to choose, as rows of `changes`, the one that it shows first."""
    changes = _of(world["changes"], org=org, folder=folder, object=item).to_pylist()
    return next(_undominated(changes, _held_at(world, org, store, folder)), [])


def in_folders(world: ByName, org: str, stores: Stores, folders: Collection[str]) -> Iterator[Row]:
    """Each item of those folders as readers at each store see it, with its `store`."""
    changes = by_folder(world, org, folders)
    for store, folder in stores.replicas:
        if folder in changes:
            yield from (dict(row, store=store) for row in in_order(changes[folder], stores, store, folder))


def by_folder(world: ByName, org: str, folders: Collection[str]) -> dict[str, pa.Table]:
    """The changes of each of those folders that has any, one item after another (`place_of`)."""
    asked = (pc.field("org") == org) & pc.field("folder").isin(pa.array(folders, pa.string()))
    told = world["changes"].select(TOLD).filter(asked)
    named = pc.extract_regex(told["object"], r"(?P<label>.*):(?P<number>[0-9]+)\z").combine_chunks()
    labels, numbers = named.field("label"), named.field("number").cast(pa.int64())
    in_turn = pa.array(sorted(labels.unique().to_pylist(), key=cntext.label_key), pa.string())
    placed = with_columns(told, _label=pc.index_in(labels, in_turn), _number=numbers)
    placed = placed.sort_by([(name, "ascending") for name in ("folder", "_label", "_number")])
    return parted(placed.select(TOLD), by="folder")


def in_order(changes: pa.Table, stores: Stores, store: str, folder: str) -> Iterator[Row]:
    """Each item of a folder as readers at a store see it, of those `changes` (`by_folder`), one after another: of a million there
    is never more than a page here."""
    held, start = _held(stores, store, folder), 0
    ends = run_ends(changes["object"])
    while start < changes.num_rows and held:
        end = int(ends[min(int(np.searchsorted(ends, start + PAGE)), len(ends) - 1)])
        yield from map(_read, _undominated(changes.slice(start, end - start).to_pylist(), held))
        start = end


def _held_at(world: ByName, org: str, store: str, folder: str) -> cntext.CnSet:
    own = {name: _of(world[name], org=org, store=store, folder=folder) for name in ("replicas", "state")}
    return _held(Stores({**own, "stores": _of(world["stores"], org=org)}, org), store, folder)


def _held(stores: Stores, store: str, folder: str) -> cntext.CnSet:
    """The numbers of the changes that readers at a store may see: of a replica that is active, and not of the hierarchy."""
    replica = stores.replicas.get((store, folder))
    is_open = replica is not None and replica["standing"] == Standing.ACTIVE and folder != HIERARCHY
    return stores.content(store, folder) if is_open else {}


def _undominated(changes: Iterable[Row], held: cntext.CnSet) -> Iterator[list[Row]]:
    """Of each item the versions that are held, less those upon which another one that is held was made; the winner first."""
    seen = defaultdict(list)
    for row in changes:
        ranges = held.get(row["origin"], ())
        place = bisect_right(ranges, (row["cn"], cntext.MAX_CN))
        if place and row["cn"] <= ranges[place - 1][1]:
            seen[row["object"]].append(row)
    for versions in seen.values():
        upon: dict[str, int] = {}
        for before in (each for row in versions for each in row["predecessors"] or ()):
            upon[before["origin"]] = max(before["cn"], upon.get(before["origin"], 0))
        left = [row for row in versions if row["cn"] > upon.get(row["origin"], 0)]
        if left:
            yield sorted(left, key=_rank, reverse=True)


def _rank(version: Row) -> tuple[bool, bool, Any, tuple[bytes, int], int]:
    """The order of `rules.items.winners_first`, the winner highest; a time that nobody knows is the lowest, as Spark has it."""
    stays, made_at = version["action"] != Action.DELETE, version["made_at"]
    return stays, made_at is not None, made_at, cntext.label_key(version["origin"]), version["cn"]


def _read(versions: list[Row]) -> Row:
    """An item of which these versions are left, the winner first: the columns of `rules.items.readable`."""
    winner, *others = versions
    losers = sorted(others, key=lambda row: (cntext.label_key(row["origin"]), row["cn"]))
    return {
        **winner, "version": lines.number_of(winner), "deleted": winner["action"] == Action.DELETE, "conflict": bool(losers),
        "losers": [lines.number_of(row) for row in losers],
    }  # fmt: skip


def _of(table: pa.Table, **values: str) -> pa.Table:
    """The rows that have these values."""
    return table.filter(reduce(and_, (pc.field(name) == value for name, value in values.items())))
