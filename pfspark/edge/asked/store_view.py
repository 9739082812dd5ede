"""What one store sees of its folders, once it has taken in the edits that wait there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pfspark import cntext, paths
from pfspark.keyed import ByName, of_store
from pfspark.words import HIERARCHY_ACTIONS, NAME, PARENT, REPLICA, ROOT, WHOLE, Action, Listing, Standing

Row = Mapping[str, Any]
ONE = "all"
"""The one who sees what all do."""


@dataclass
class Folder:
    """A folder as a store sees it, after the edits that wait there."""

    name: str
    parent: str
    dead: bool = False
    listed: set[str] = field(default_factory=set)
    is_open: bool = False
    """Whether this store takes content: its replica is active, or will be by an edit that waits."""
    properties: dict[str, str] = field(default_factory=dict)
    """What else is set on it."""


class View:
    """What one store sees: its folders by id (`@` and the edit, where one waits), with the edits that wait there."""

    def __init__(self, world: ByName, org: str, store: str) -> None:
        """`world`: where its lists and replicas are not told, nobody is listed, and nothing is open."""
        self.store = store
        told = (name for name in ("tree", "folders", "lists", "replicas", "edits") if name in world)
        own = defaultdict[str, list[dict[str, Any]]](list, {name: of_store(world[name], org, store).to_pylist() for name in told})
        sets: dict[str, dict[str, str]] = {}
        for row in own["tree"]:
            sets.setdefault(row["folder"], {})[row["property"]] = row["value"]
        self.folders = {
            row["folder"]: Folder(
                sets[row["folder"]].get(NAME, row["folder"]),
                sets[row["folder"]].get(PARENT, ROOT),
                row["dead"],
                properties=properties_of(sets[row["folder"]]),
            )
            for row in own["folders"]
        }
        self._there: dict[str, dict[str, dict[str, Folder]]] = {}
        """The folders beneath each, by name and id."""
        for each, seen in self.folders.items():
            self._put(each, seen)
        for row in own["lists"]:
            if row["listing"] == Listing.LISTED and row["folder"] in self.folders:
                self.folders[row["folder"]].listed.add(row["peer"])
        for row in own["replicas"]:
            if row["standing"] == Standing.ACTIVE and row["folder"] in self.folders:
                self.folders[row["folder"]].is_open = True
        legible = (row for row in own["edits"] if row["at"] is not None)  # else it will be refused
        for row in sorted(legible, key=lambda row: (row["at"], row["place"] or 0)):
            if row["action"] in HIERARCHY_ACTIONS:
                self.take_in(row)

    def paths(self) -> dict[str, list[str]]:
        """The folders that are not deleted, by path; of two of one path (R149) the one with the lower id comes first. One that
        cannot reach the root is shown beneath it, as lines show it."""
        seen: dict[str, list[str]] = {}
        for each in sorted(self.folders):
            above = self.upwards(each)
            if not any(self.folders[one].dead for one in above):
                names = [self.folders[one].name for one in above]
                path = paths.shown(names, reaches_root=self.folders[above[-1]].parent == ROOT)
                seen.setdefault(path, []).append(each)
        return seen

    def upwards(self, folder: str) -> list[str]:
        """That folder and those above it, as far as the store sees them: see `paths.upwards`."""
        return paths.upwards(folder, self.folders, lambda each: self.folders[each].parent)

    def beneath(self, folder: str) -> dict[str, int]:
        """That folder and all that lie beneath it, each with how many levels they go down to it."""
        found, waiting = {folder: 0}, [folder]
        while waiting:
            above = waiting.pop()
            lower = {each for named in self._there.get(above, {}).values() for each in named} - found.keys()
            found |= dict.fromkeys(lower, found[above] + 1)
            waiting += lower
        return found

    def named(self, parent: str, name: str) -> Mapping[str, Folder]:
        """The folders of that name beneath that one, dead or not, by id."""
        return self._there.get(parent, {}).get(name, {})

    def _put(self, folder: str, seen: Folder) -> None:
        self._there.setdefault(seen.parent, {}).setdefault(seen.name, {})[folder] = seen

    def take_in(self, row: Row) -> None:
        """What the store sees once it has taken in that edit of the hierarchy."""
        sets, target = dict(row["properties"] or ()), row["folder"]
        if row["action"] == Action.CREATE_FOLDER:
            target = f"@{row['edit_id']}"
            if target in self.folders:  # said twice: the first counts
                return
            self.folders[target] = Folder(sets.get(NAME, target), sets.get(PARENT, ROOT))
            self._put(target, self.folders[target])
        elif target not in self.folders:
            return
        if row["action"] == Action.DELETE_FOLDER:
            for each in self.beneath(target):
                self.folders[each].dead = True
            return
        seen = self.folders[target]
        del self._there[seen.parent][seen.name][target]
        seen.name, seen.parent = sets.get(NAME, seen.name), sets.get(PARENT, seen.parent)
        self._put(target, seen)
        seen.properties |= properties_of(sets)
        seen.listed = (seen.listed | entries(sets, Listing.LISTED)) - entries(sets, Listing.REMOVED) or seen.listed
        seen.is_open = self.store in seen.listed


def once_all_have_heard(world: ByName, org: str, stores: Sequence[str]) -> View:
    """What each of these stores sees of names and places once it has heard all that the others hold, and all have taken in the
    edits that wait: of each property the value of the latest stamp, among those of the object that wins where whole ones do, as
    `hierarchy.merge` has it."""
    theirs = (pc.field("org") == org) & pc.field("store").isin(pa.array(stores, pa.string()))
    placed = world["tree"].filter(theirs & pc.field("property").isin([NAME, PARENT, WHOLE])).to_pylist()
    objects = [row for row in placed if row["property"] == WHOLE]
    won = {row["folder"]: row["store"] for row in sorted(objects, key=lambda row: (row["value"] is None, _order(row["stamp"])))}
    latest: dict[tuple[str, str], dict[str, Any]] = {}
    for row in placed:
        if won.get(row["folder"], row["store"]) != row["store"]:
            continue
        known = latest.setdefault((row["folder"], row["property"]), row)
        if _order(row["stamp"]) > _order(known["stamp"]):
            latest[row["folder"], row["property"]] = row
    seen = world["folders"].filter(theirs).group_by("folder").aggregate([("dead", "max")]).rename_columns(["folder", "dead"])
    tables = {
        "tree": pa.Table.from_pylist([*latest.values()], world["tree"].schema),
        "folders": seen,
        "edits": world["edits"].filter(theirs),
    }
    return View({name: _of_one(rows, org) for name, rows in tables.items()}, org, ONE)


def _of_one(rows: pa.Table, org: str) -> pa.Table:
    """The same rows, as those of one store."""
    rest = rows.select([name for name in rows.column_names if name not in ("org", "store")])
    return rest.append_column("org", pa.repeat(org, len(rest))).append_column("store", pa.repeat(ONE, len(rest)))


def _order(stamp: Row) -> tuple[Any, ...]:
    return stamp["at"], cntext.label_key(stamp["origin"]), stamp["cn"]


def entries(sets: Mapping[str, str], listing: Listing) -> set[str]:
    """The stores of which an edit says that in the replica list."""
    return {name.removeprefix(REPLICA) for name, value in sets.items() if name.startswith(REPLICA) and value == listing}


def properties_of(sets: Mapping[str, str]) -> dict[str, str]:
    """What is set on a folder besides its name, parent and replicas; what whole objects were merged by is set by nobody."""
    return {name: value for name, value in sets.items() if name not in (NAME, PARENT) and not name.startswith((REPLICA, WHOLE))}
