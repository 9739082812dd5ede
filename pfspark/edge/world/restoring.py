"""A store taken back to an earlier round: the rows that say what it knows from then on, and the edits that are said again (R132,
F8).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pfspark import cntext
from pfspark.ask import lines
from pfspark.between import Between
from pfspark.keyed import of_store, with_columns
from pfspark.printed import Line
from pfspark.rows import rows_of
from pfspark.words import HIERARCHY, PARENT, BackfillStep


def facts(world: Between, org: str, store: str, now: datetime) -> dict[str, pa.Table]:
    """All that a store knows, as new rows of the tables: those from before its restore count no more.

    A number asked for n times has n + 1 steps: that it was heard of, and each request; the times between them add up to the time
    of the last (`views.open_array`). Whom it had asked last, and since when that store is silent, is a step of its own
    (`views.remembered`).
    """
    own = {name: of_store(world.tables[name], org, store) for name in ("state", "replicas", "agenda", "array", "contacts")}
    contacts, array = own.pop("contacts"), own.pop("array")
    asked = contacts.filter(pc.is_valid(contacts["asked"])).rename_columns({"peer": "of", "silent": "due", "asked": "at"})
    counts = array["attempt"].to_numpy() + 1
    each = array.take(np.repeat(np.arange(array.num_rows), counts))
    nth = pa.array(np.arange(each.num_rows) - np.repeat(np.cumsum(counts) - counts, counts))
    heard = pc.equal(nth, 0)
    steps = with_columns(
        each, step=pc.if_else(heard, str(BackfillStep.HEARD), str(BackfillStep.ASKED)), attempt=nth,
        at=pc.if_else(heard, each["heard"], each["asked"]),
        since=pc.if_else(pc.greater(nth, 1), each["asked"], pa.scalar(None, each["asked"].type)),
    )  # fmt: skip
    dated = {name: [with_columns(some, at=now)] for name, some in own.items()}
    dated["backfill"] = [with_columns(asked, step=str(BackfillStep.NAMED)), steps]
    return {name: _shaped(name, some) for name, some in dated.items()}


def _shaped(name: str, rows: Iterable[pa.Table]) -> pa.Table:
    """The rows of all, in the columns of that table, as a round gives them; what is not said is null."""
    shape = rows_of(name, (), ("round",))
    said = [some.select([column for column in shape.column_names if column in some.column_names]) for some in rows]
    return pa.concat_tables([shape, *said], promote_options="default")


def again(store: str, lost: pa.Table, edits: pa.Table, names: Mapping[str, str], now: datetime) -> list[Line]:
    """The `edits` of changes that are `lost`, to be taken in again in the new life, in their old order; rows of `edits`, by these
    `names`. Whoever made them, they are made at that store: who had them first may have no replica any more.

    A folder or an item that is lost as a whole is made anew under another id, and its later versions follow it. Numbers are a
    folder's own, so an item may have the id of a folder, or of an item elsewhere. Of rows of one edit that which says what its
    change says is said again: the others were refused, as repeats.
    """
    rows = lost.select(["folder", "object", "origin", "cn", "edit_id", "action", "hash", "made_at"]).to_pylist()
    became = {row["edit_id"]: row for row in rows}
    lies = {row["edit_id"]: row["folder"] for row in rows}
    born = {(row["folder"], row["object"]): row["edit_id"] for row in rows if row["object"] == lines.number_of(row)}
    anew = {*born.values()}

    def renamed(named: str | None, among: str) -> str | None:
        """What an edit names: a folder, `among` those of the hierarchy, or an item, among those of a folder."""
        edit = named[1:] if named and named.startswith("@") else born.get((among, named or ""))
        return f"@{names[edit]}" if edit is not None and edit in anew else named

    def order(edit: Line) -> tuple[Any, ...]:
        change = became[edit["edit_id"]]
        of = (cntext.split_label(change["origin"])[0], change["action"], change["hash"])
        return (edit["store"], edit["action"], edit["hash"]) != of, edit["at"] or change["made_at"], edit["place"] or 0

    found: dict[str, Line] = {}
    for place, row in enumerate(sorted(edits.to_pylist(), key=order), 1):
        sets = {name: renamed(value, HIERARCHY) if name == PARENT else value for name, value in row["properties"] or ()}
        name = names[row["edit_id"]]
        found.setdefault(name, {
            **row, "store": store, "edit_id": name, "at": now, "place": place, "written": now,
            "folder": renamed(row["folder"], HIERARCHY), "item": renamed(row["item"], lies[row["edit_id"]]),
            "properties": sorted(sets.items()),
        })  # fmt: skip
    return [*found.values()]
