"""What a restore of a store loses for ever: what it alone holds, and did not hold then."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from pfspark import cntext
from pfspark.ask.stores import Stores, set_of
from pfspark.errors import RefusedError
from pfspark.keyed import ByName
from pfspark.printed import Line
from pfspark.words import LIVE, Standing


def losses(org: str, store: str, now: ByName, then: ByName) -> Iterator[Line]:
    """One line for each folder of which `store` alone holds something that it did not hold `then`.

    What replicas elsewhere hold that still speak, or what is on its way to them, comes back by backfill; `numbers` are lost for
    ever. Both arguments are tables of a world (`between.Between.tables`).
    """
    here, before = Stores(now, org), Stores(then, org)
    speaking = {key for key, replica in here.replicas.items() if key[0] != store and replica["standing"] in LIVE}
    on_its_way = defaultdict(list)
    for row in _mail(org, store, now):
        if (row["recipient"], row["folder"]) in speaking:
            on_its_way[row["folder"]].append(row["carries"])
    for at, folder in here.present():
        if at != store:
            continue
        gone = cntext.subtract(here.content(store, folder), before.content(store, folder))
        for other in here.stores:
            if (other, folder) in speaking:
                gone = cntext.subtract(gone, here.held(other, folder))
        for carried in on_its_way[folder] if gone else ():
            gone = cntext.subtract(gone, set_of(carried))
        if gone:
            yield {
                "org": org, "kind": "loss", "store": store, "folder": here.path(store, folder), "id": folder,
                "numbers": cntext.show(gone), "changes": cntext.size(gone),
            }  # fmt: skip


def _mail(org: str, store: str, tables: ByName) -> list[Line]:
    """What is on its way to other stores and arrives: `recipient`, `due`, `folder`, `carries`."""
    others = (pc.field("org") == org) & (pc.field("recipient") != store) & pc.field("lost").is_null()
    columns = ["recipient", "due", "folder", "carries"]
    rows: list[Line] = tables["mail"].select(["org", "lost", *columns]).filter(others).select(columns).to_pylist()
    return rows


def lost_changes(org: str, lost: Iterable[Line], changes: pa.Table) -> pa.Table:
    """The changes that are `lost` (`losses`), as people made them. Those that a store made by itself have no edit and are left
    out: it makes them anew where they are due."""
    gone = {line["id"]: cntext.parse(line["numbers"]) for line in lost}
    origins = pa.array({*chain(*gone.values())}, pa.string())
    there = (pc.field("org") == org) & pc.field("folder").isin(pa.array(gone, pa.string())) & pc.field("origin").isin(origins)
    made = changes.filter(there & pc.field("edit_id").is_valid())
    numbers = zip(*(made[name].to_pylist() for name in ("folder", "origin", "cn")), strict=True)
    return made.filter(pa.array((cntext.contains(gone[at], {by: ((cn, cn),)}) for at, by, cn in numbers), pa.bool_()))


def expect_no_more(lost: Iterable[Line], agreed: Iterable[Line]) -> None:
    """Raises RefusedError where more is `lost` by now than was `agreed` (`losses`): a store goes on while people are asked."""
    known = {line["id"]: cntext.parse(line["numbers"]) for line in agreed}
    for line in lost:
        more = cntext.subtract(cntext.parse(line["numbers"]), known.get(line["id"], {}))
        if more:
            raise RefusedError(
                f"{line['store']} has {cntext.show(more)} of {line['folder']} since it was said what would be lost; "
                "nothing was done. Look at it again"
            )


def expect_arrived(org: str, store: str, lost: Iterable[Line], tables: ByName) -> None:
    """Raises RefusedError where some of what is `lost` (`losses`) is on its way to a store that has no replica of the folder by
    now: if it has one when that comes, and the same is said again, people have it twice."""
    here = Stores(tables, org)
    numbers = {line["id"]: cntext.parse(line["numbers"]) for line in lost}
    for row in _mail(org, store, tables):
        replica = here.replicas.get((row["recipient"], row["folder"]))
        if replica is not None and replica["standing"] != Standing.ERASED:
            continue
        if coming := cntext.intersect(numbers.get(row["folder"], {}), set_of(row["carries"])):
            raise RefusedError(
                f"{cntext.show(coming)} of {here.path(store, row['folder'])} is on its way to {row['recipient']}, which has no "
                f"replica of it yet and may have one when it comes ({row['due']:%Y-%m-%dT%H:%M:%SZ}); nothing was done. Play a "
                "round after that first, or restore without taking in again what is lost"
            )
