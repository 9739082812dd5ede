"""The folders around a few of those that a store sees: they, and what lies above them.

What a path names, and what stands against an edit, is told by few folders; of a tree of a hundred thousand the others stay
columns of Arrow. Edits that wait are taken as done and as not done: whoever sees no more than these folders sees of the
few what he would see of them in all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pfspark.keyed import ByName, of_store
from pfspark.words import HIERARCHY_ACTIONS, NAME, PARENT, ROOT, Action


class Around:
    """The tree of a store, with the edits that wait there, as columns."""

    def __init__(self, world: ByName, org: str, store: str) -> None:
        self._world, self._org, self._store = world, org, store
        edits = self._own(world["edits"].filter(pc.is_in(world["edits"]["action"], _texts(HIERARCHY_ACTIONS))))
        edits = edits.filter(pc.is_valid(edits["at"]))  # else it will be refused
        made = pc.binary_join_element_wise("@", edits["edit_id"], "")
        target = pc.if_else(pc.equal(edits["action"], str(Action.CREATE_FOLDER)), made, edits["folder"])
        self._edits = edits.append_column("target", target)
        self._names, self._parents = self._said(NAME), self._said(PARENT)

    def _own(self, rows: pa.Table) -> pa.Table:
        return of_store(rows, self._org, self._store)

    def _said(self, name: str) -> pa.Table:
        """What is set as that property, or is about to be: folder, value."""
        tree = self._world["tree"].select(["org", "store", "folder", "property", "value"])
        seen = self._own(tree.filter(pc.equal(tree["property"], name))).select(["folder", "value"])
        values = pc.map_lookup(self._edits["properties"].combine_chunks(), name, "last")
        to_come = pa.table({"folder": self._edits["target"], "value": values}).drop_null()
        return pa.concat_tables([seen, to_come])

    def of_path(self, path: str) -> ByName:
        """As much of the world as tells which folders have that path."""
        steps, most = path.split("/")[1:], 1 + (pc.max(pc.count_substring(self._names["value"], "/")).as_py() or 0)
        places = range(len(steps))
        pieces = {"/".join(steps[first:last]) for first in places for last in range(first + 1, first + most + 1)}
        first = {"/".join(steps[: place + 1]) for place in places}  # also where a folder is shown that reaches no root
        named, lying = self._called(_texts(first & pieces)), self._called(_texts(pieces - first))
        beneath = self._beside(lying, pa.concat_arrays([named, lying]))
        return self._seen(pa.concat_arrays([named, beneath]), ("tree", "folders"))

    def of_edit(self, row: Mapping[str, Any]) -> ByName:
        """As much of the world as tells what stands against an edit (a row of `edits`)."""
        folder, sets = row["folder"], dict(row["properties"] or ())
        here = _texts([folder] if folder else [])
        above = _texts([sets[PARENT]] if PARENT in sets else [])
        if row["action"] != Action.CREATE_FOLDER and NAME not in sets and PARENT not in sets:
            return self._seen(here)
        called = _texts([sets.get(NAME, "")])
        if folder and NAME not in sets:
            called = pa.concat_arrays([here, self._next(here, "folder", "value", self._names)])
        parents = above if PARENT in sets else pa.concat_arrays([self._next(here, "folder", "value"), _texts([ROOT])])
        beside = self._beside(self._called(called), parents)
        return self._seen(pa.concat_arrays([above, beside, self._all(here, "value", "folder")]))

    def _seen(self, folders: pa.Array, names: Iterable[str] = ("tree", "folders", "lists", "replicas")) -> ByName:
        """Rows about those folders and all that lie above them, of these tables and of the edits."""
        reached = self._all(folders, "folder", "value")
        rows = {name: self._world[name] for name in names}
        seen = {name: self._own(each.filter(pc.is_in(each["folder"], reached))) for name, each in rows.items()}
        return seen | {"edits": self._edits.filter(pc.is_in(self._edits["target"], reached)).drop_columns("target")}

    def _called(self, names: pa.Array) -> pa.Array:
        """Folders that have one of these names, or will have it; one that nobody has named is called by its id."""
        return pa.concat_arrays([names, self._next(names, "value", "folder", self._names)])

    def _beside(self, folders: pa.Array, parents: pa.Array) -> pa.Array:
        """Those that lie beneath one of those parents, or will lie there; of which nobody has said so lie at the top."""
        told = self._parents.filter(pc.is_in(self._parents["folder"], folders))
        there = told.filter(pc.is_in(told["value"], parents))["folder"]
        at_the_top = pc.and_(pc.invert(pc.is_in(folders, told["folder"].combine_chunks())), pc.any(pc.equal(parents, ROOT)))
        return folders.filter(pc.or_(pc.is_in(folders, there.combine_chunks()), pc.fill_null(at_the_top, False)))

    def _all(self, folders: pa.Array, column: str, to: str) -> pa.Array:
        """Those folders, and all that lie beyond them: above, from `folder` to `value`, or beneath."""
        reached = new = folders
        while len(new):
            beyond = self._next(new, column, to)
            new = beyond.filter(pc.invert(pc.is_in(beyond, reached)))
            reached = pa.concat_arrays([reached, new])
        return reached

    def _next(self, some: pa.Array, column: str, to: str, rows: pa.Table | None = None) -> pa.Array:
        """What stands in one column of rows in which one of `some` stands in the other."""
        rows = self._parents if rows is None else rows
        return rows.filter(pc.is_in(rows[column], some))[to].combine_chunks().unique()


def _texts(some: Iterable[str]) -> pa.Array:
    return pa.array([*some], pa.string())
