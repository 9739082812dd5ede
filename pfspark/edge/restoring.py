"""A store taken back to an earlier round: what that loses, and the rows that say what it knows from then on (R132, F8)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import pyarrow as pa

from pfspark import cntext
from pfspark.ask import lines
from pfspark.between import Between
from pfspark.keys import RANGE_HERE
from pfspark.rows import rows_of

Line = dict[str, Any]
Rows = Mapping[str, pa.Table]


def losses(org: str, store: str, now: Rows, then: Rows) -> Iterator[Line]:
    """One line for each folder of which `store` alone holds something that it did not hold `then`.

    What others hold, or what is on its way to others, comes back by backfill; `numbers` are lost for ever. Both arguments
    are tables of a world (`between.Between.tables`).
    """
    here, before = lines.Stores(now, org), lines.Stores(then, org)
    on_its_way = [row for row in now["mail"].to_pylist() if row["org"] == org and row["recipient"] != store and not row["lost"]]
    for at, folder in here.present():
        if at != store:
            continue
        gone = cntext.subtract(here.content(store, folder), before.content(store, folder))
        for other in here.stores:
            if other != store and (other, folder) in here.replicas:
                gone = cntext.subtract(gone, here.held(other, folder))
        for mail in on_its_way:
            if mail["folder"] == folder:
                gone = cntext.subtract(gone, lines.cnset(mail["carries"]))
        if gone:
            yield {
                "org": org, "kind": "loss", "store": store, "folder": here.path(store, folder), "id": folder,
                "numbers": cntext.show(gone), "changes": cntext.size(gone),
            }  # fmt: skip


def facts(world: Between, org: str, store: str, now: datetime) -> dict[str, pa.Table]:
    """All that a store knows, as new rows of the tables: those from before its restore count no more.

    A number asked for n times has n steps; the times between them add up to the time of the last (`world.open_array`). Whom it
    had asked last, and since when that store is silent, is a step of its own (`world.remembered`).
    """
    rows = {
        name: [row for row in world.tables[name].to_pylist() if (row["org"], row["store"]) == (org, store)]
        for name in ("state", "replicas", "agenda", "array", "contacts")
    }
    steps = [
        {"org": org, "store": store, "step": "named", "of": row["peer"], "due": row["silent"], "at": row["asked"]}
        for row in rows.pop("contacts") if row["asked"]
    ]  # fmt: skip
    for row in rows.pop("array"):
        here = {name: row[name] for name in RANGE_HERE}
        steps.append({**here, "step": "heard", "attempt": 0, "at": row["heard"]})
        for nth in range(1, row["attempt"] + 1):
            since = None if nth == 1 else row["asked"]
            steps.append({**here, "step": "asked", "attempt": nth, "since": since, "at": row["asked"]})
    dated = {name: [{**row, "at": now} for row in some] for name, some in rows.items()}
    return {name: rows_of(name, some, ("round",)) for name, some in {**dated, "backfill": steps}.items()}


def again(org: str, lost: Iterable[Line], changes: pa.Table, edits: pa.Table, now: datetime) -> list[Line]:
    """The edits of what a restore loses, to be taken in again in the new life, in their old order; rows of `edits`.

    An item that is lost as a whole is posted anew under another id, and its later versions follow it. Changes that a store
    made by itself have no edit and are left out: it makes them anew where they are due.
    """
    gone = {line["id"]: cntext.parse(line["numbers"]) for line in lost}
    rows = [
        row for row in changes.to_pylist()
        if row["org"] == org and row["edit_id"] and row["folder"] in gone
        and cntext.contains(gone[row["folder"]], {row["origin"]: ((row["cn"], row["cn"]),)})
    ]  # fmt: skip
    of = {row["edit_id"]: row for row in rows}
    born = {row["object"]: row["edit_id"] for row in rows if row["object"] == f"{row['origin']}:{row['cn']}"}

    def renamed(named: str | None) -> str | None:
        edit = named[1:] if named and named.startswith("@") else born.get(named or "")
        return f"@again:{edit}" if edit in of and edit in born.values() else named

    taken = [row for row in edits.to_pylist() if row["org"] == org and row["edit_id"] in of]
    found = []
    for place, row in enumerate(sorted(taken, key=lambda row: (row["at"], row["place"])), 1):
        sets = {name: renamed(value) if name == "parent" else value for name, value in row["properties"] or ()}
        found.append(
            {
                **row, "edit_id": f"again:{row['edit_id']}", "at": now, "place": place, "folder": renamed(row["folder"]),
                "item": renamed(row["item"]), "properties": sorted(sets.items()), "written": now,
            }
        )  # fmt: skip
    return found
