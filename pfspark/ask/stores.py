"""What the stores of an organization know between two rounds: what each sees, holds, believes of others, and misses.

Who others are, and what is missing, is decided as `rules.status.holders` and `rules.backfill` do of frames.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pfspark import cntext, paths
from pfspark.keyed import ByName, labels, of_folders, parted, semi_join
from pfspark.printed import Line
from pfspark.words import HIERARCHY, NAME, PARENT, ROOT, Entry, Listing, Standing

Ranges = Iterable[Mapping[str, Any]]


def set_of(ranges: Ranges) -> cntext.CnSet:
    """Rows with origin, cn_min and cn_max as a set."""
    spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for row in ranges:
        spans[row["origin"]].append((row["cn_min"], row["cn_max"]))
    return {label: cntext.canonical(ranges) for label, ranges in spans.items()}


class ByOrg:
    """The tables of a world, parted by organization once for all who ask; each is read when it is first asked for, so of a world
    that is played on (`between.Between.tables`) a copy is handed in."""

    def __init__(self, tables: ByName) -> None:
        self._tables = tables
        self._parts: dict[str, dict[str, pa.Table]] = {}

    def part(self, name: str, org: str) -> pa.Table:
        """The rows of a table about an organization."""
        if name not in self._parts:
            self._parts[name] = parted(self._tables[name].sort_by("org").combine_chunks(), by="org")
        return self._parts[name].get(org, self._tables[name].slice(0, 0))

    def rows(self, name: str, org: str) -> list[Any]:
        """The rows of a view that are of an organization, each a dict."""
        rows: list[Any] = self.part(name, org).to_pylist()
        return rows


class _Few(ByOrg):
    """Tables of a world by organization, of a few folders alone."""

    def __init__(self, whole: ByOrg, folders: Iterable[str]) -> None:
        self._whole, self._folders = whole, [*folders]

    def part(self, name: str, org: str) -> pa.Table:
        rows = self._whole.part(name, org)
        return of_folders(rows, self._folders) if "folder" in rows.column_names else rows


class Stores:
    """What the stores of one organization know, by store and folder; each table is read when it is first asked for."""

    def __init__(self, tables: ByName | ByOrg, org: str) -> None:
        self._tables = tables if isinstance(tables, ByOrg) else ByOrg(tables)
        self._org = org
        self._shared: dict[str, set[str]] = {}

    def about(self, folders: Iterable[str]) -> Stores:
        """The same of these folders alone: of a large organization few rows become dicts."""
        return Stores(_Few(self._tables, {*folders}), self._org)

    def _part(self, name: str) -> pa.Table:
        return self._tables.part(name, self._org)

    def _rows(self, name: str) -> list[Any]:
        return self._tables.rows(name, self._org)

    @cached_property
    def stores(self) -> list[str]:
        """The names of the stores."""
        return sorted(row["store"] for row in self._rows("stores"))

    @cached_property
    def sites(self) -> dict[str, str]:
        """The site of each store, of one that is retired too."""
        return {row["store"]: row["site"] for row in self._rows("stores")}

    @cached_property
    def members(self) -> list[str]:
        """The names of those that are not retired: only they have a part in the hierarchy."""
        return sorted(row["store"] for row in self._rows("stores") if not row["retired"])

    @cached_property
    def replicas(self) -> dict[tuple[str, str], Any]:
        """The replicas, by store and folder; what a retired store had of the hierarchy is none any more."""
        retired = {*self.stores} - {*self.members}
        found = {(row["store"], row["folder"]): row for row in self._rows("replicas")}
        return {here: row for here, row in found.items() if here[1] != HIERARCHY or here[0] not in retired}

    @cached_property
    def tree(self) -> dict[str, dict[str, dict[str, str]]]:
        """The properties of each folder, by the store that sees them."""
        tree: dict[str, dict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
        columns = (self._part("tree")[name].to_pylist() for name in ("store", "folder", "property", "value"))
        for store, folder, name, value in zip(*columns, strict=True):
            tree[store][folder][name] = value
        return tree

    def see_one_tree(self) -> bool:
        """Whether all members see the same folders, and the same is set on each."""
        seen = self._part("tree")
        seen = seen.filter(pc.is_in(seen["store"], pa.array(self.members, pa.string())))
        by_whom = seen.group_by(["folder", "property", "value"]).aggregate([([], "count_all")])["count_all"]
        return pc.all(pc.equal(by_whom, len(self.members))).as_py() is not False

    def unlike(self, *entries: Entry) -> set[str]:
        """Folders of which an active replica says something of itself in such an entry that another does not say in the same
        ranges; of all others they say the same."""
        replicas = self._part("replicas")
        part = pc.or_(
            pc.not_equal(replicas["folder"], HIERARCHY), pc.is_in(replicas["store"], pa.array(self.members, pa.string()))
        )
        active = replicas.filter(pc.and_(part, pc.equal(replicas["standing"], str(Standing.ACTIVE))))
        state = self._part("state").select(["store", "folder", "about", "entry", "origin", "cn_min", "cn_max"])
        keys = active.select(["store", "folder"]).append_column("about", labels(active["store"], active["life"]))
        own = semi_join(state.filter(pc.is_in(state["entry"], pa.array(map(str, entries)))), keys, keys.column_names)
        told = own.group_by(["folder", "entry", "origin", "cn_min", "cn_max"]).aggregate([("store", "count_distinct")])
        all_of = active.group_by("folder").aggregate([("store", "count")])
        both = told.join(all_of, "folder")
        return {*both.filter(pc.not_equal(both["store_count_distinct"], both["store_count"]))["folder"].unique().to_pylist()}

    @cached_property
    def _state(self) -> dict[tuple[str, str], dict[tuple[str, str], list[Any]]]:
        """What each replica says, by the entry and the store that it is about: among hundreds of stores few rows are of one."""
        found: dict[tuple[str, str], dict[tuple[str, str], list[Any]]] = defaultdict(lambda: defaultdict(list))
        for row in self._rows("state"):
            found[row["store"], row["folder"]][row["entry"], row["about"].partition("~")[0]].append(row)
        return found

    @cached_property
    def _array(self) -> dict[tuple[str, str], list[Any]]:
        found: dict[tuple[str, str], list[Any]] = defaultdict(list)
        for row in self._rows("array"):
            found[row["store"], row["folder"]].append(row)
        return found

    @cached_property
    def _lists(self) -> dict[tuple[str, str], dict[str, str]]:
        found: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        for row in self._rows("lists"):
            found[row["store"], row["folder"]][row["peer"]] = row["listing"]
        return found

    @cached_property
    def _lives(self) -> dict[tuple[str, str, str], int]:
        return {(row["store"], row["folder"], row["peer"]): row["life"] for row in self._rows("lives")}

    def called(self, store: str, folder: str) -> Line:
        """A folder as lines name it: the key `folder` with its path; with `id`, where that store sees two of that path."""
        path = self.path(store, folder)
        return {"folder": path, "id": folder} if path in self._of_two(store) else {"folder": path}

    def _of_two(self, store: str) -> set[str]:
        """The paths that more than one living folder has in the eyes of a store; who is alone with its name is with its path,
        unless names have slashes."""
        if store not in self._shared:
            tree = self.tree[store]
            named = {folder: tree[folder].get(NAME, folder) for folder in tree if self._lists.get((store, folder))}
            share, have_slashes = Counter(named.values()), any("/" in name for name in named.values())
            seen = Counter(self.path(store, folder) for folder, name in named.items() if have_slashes or share[name] > 1)
            self._shared[store] = {path for path, count in seen.items() if count > 1}
        return self._shared[store]

    def near(self, named: Iterable[str]) -> Stores:
        """The same of the folders alone which any store might call so, by path or id, dead ones too, and of those above them: of
        the last name of a path (which may have slashes), or without one."""
        return self.about(self.around(named))

    def around(self, named: Iterable[str]) -> set[str]:
        """The folders of which `near` tells, by id; nothing but the tree is looked at."""
        ends = {"/".join(steps[first:]) for steps in (name.split("/") for name in named) for first in range(len(steps))}
        found, further = set[str](), ends | self._told(NAME, "value", ends, "folder")
        while further:
            found |= further
            further = self._told(PARENT, "folder", further, "value") - found
        return found

    def _told(self, name: str, column: str, values: Collection[str], asked: str) -> set[str]:
        """Of the rows of the tree about a property that have one of those values in a column, the values in another."""
        tree = self._part("tree")
        is_so = pc.and_(pc.equal(tree["property"], name), pc.is_in(tree[column], pa.array(values, pa.string())))
        return {*tree.filter(is_so)[asked].drop_null().unique().to_pylist()}

    def path(self, store: str, folder: str) -> str:
        """The path of a folder as that store sees it, its id where it does not; one that cannot reach the root is shown beneath
        it."""
        line = self.above(store, folder)
        if not line:  # so is the hierarchy itself
            return folder
        names = [self.tree[store][each].get(NAME, each) for each in line]
        return paths.shown(names, reaches_root=self.tree[store][line[-1]].get(PARENT, ROOT) == ROOT)

    def above(self, store: str, folder: str) -> list[str]:
        """That folder and those above it, as far as the store sees them: see `paths.upwards`."""
        seen = self.tree[store]
        return paths.upwards(folder, seen, lambda each: seen[each].get(PARENT, ROOT))

    def held(self, store: str, folder: str, entry: Entry = Entry.APPLIED) -> cntext.CnSet:
        """What a store says of its own replica: `applied`, `empty` or `sent`."""
        replica = self.replicas.get((store, folder))
        label = replica and cntext.label(store, replica["life"])
        return set_of(row for row in self._state[store, folder].get((entry, store), ()) if row["about"] == label)

    def content(self, store: str, folder: str) -> cntext.CnSet:
        """The numbers whose changes a store has: applied and not empty; none without a replica."""
        return cntext.subtract(self.held(store, folder), self.held(store, folder, Entry.EMPTY))

    def believed(self, store: str, folder: str, peer: str, entry: Entry = Entry.REPORTED) -> cntext.CnSet:
        """What a store has recorded about a peer's replica, in the newest life it knows of it."""
        newest = self._lives.get((store, folder, peer), 1)
        rows = self._state[store, folder].get((entry, peer), ())
        return set_of(row for row in rows if cntext.split_label(row["about"])[1] >= newest)

    def listed(self, store: str, folder: str) -> list[str]:
        """The replica list of a folder as that store sees it."""
        return sorted(peer for peer, listing in self._lists[store, folder].items() if listing == Listing.LISTED)

    def alive(self) -> list[tuple[str, str]]:
        """The folders that each store sees alive, by store and path; a retired one sees none any more."""
        seen = [(store, folder) for store in self.members for folder in self.tree[store] if self._lists.get((store, folder))]
        return sorted(seen, key=lambda here: (here[0], self.path(*here), here[1]))

    def listings(self, store: str, folder: str) -> dict[str, Listing]:
        """How each replica of a folder stands in the list as that store sees it, erased ones too."""
        return {peer: Listing(listing) for peer, listing in sorted(self._lists[store, folder].items())}

    def peers(self, store: str, folder: str) -> list[str]:
        """Whom a store may ask about a folder: the other replicas of its list, and leavers that still hold."""
        listed = self._lists[store, folder]
        return sorted(peer for peer, listing in listed.items() if peer != store and listing != Listing.GONE)

    def missing(self, store: str, folder: str) -> tuple[cntext.CnSet, cntext.CnSet]:
        """The open array, and what is lost: heard of, not held, and claimed by nobody any more."""
        heard = set_of(self._array[store, folder])
        if not heard:
            return {}, {}
        claimed: cntext.CnSet = {}
        for peer in self.peers(store, folder):
            gives = cntext.subtract(self.believed(store, folder, peer), self.believed(store, folder, peer, Entry.EMPTY))
            claimed = cntext.union(claimed, gives)
        return cntext.intersect(heard, claimed), cntext.subtract(heard, claimed)

    def since(self, store: str, folder: str, some: cntext.CnSet) -> datetime | None:
        """When a store first heard of the oldest of those numbers, of what it lacks; None: of none."""
        met = (
            row["heard"] for row in self._array[store, folder] if cntext.meets(some, row["origin"], row["cn_min"], row["cn_max"])
        )
        return min(met, default=None)

    def holes(self) -> Iterator[tuple[str, str, cntext.CnSet, cntext.CnSet]]:
        """The replicas that have heard of what they lack, in the order of `present`, each with what `missing` says; no others
        are looked at."""
        few = self.about(self._part("array")["folder"].unique().to_pylist())
        for store, folder in self._in_order(key for key, rows in few._array.items() if rows and few._stands(key)):
            yield store, folder, *few.missing(store, folder)

    def present(self) -> list[tuple[str, str]]:
        """Stores and folders with a replica that is not erased, by store and path."""
        return self._in_order(filter(self._stands, self.replicas))

    def count(self) -> int:
        """How many replicas are not erased."""
        return sum(map(self._stands, self.replicas))

    def _stands(self, here: tuple[str, str]) -> bool:
        return here in self.replicas and self.replicas[here]["standing"] != Standing.ERASED

    def _in_order(self, here: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        return sorted(here, key=lambda key: (key[0].encode(), self.path(*key).encode(), key[1]))


def unlike(stores: Stores) -> set[str]:
    """The folders of which active replicas hold different content: their readers may see different winners of one set."""
    few = stores.about(stores.unlike(Entry.APPLIED, Entry.EMPTY))
    content = defaultdict(set)
    for store, folder in _active(few):
        content[folder].add(cntext.show(few.content(store, folder)))
    return {folder for folder, held in content.items() if len(held) > 1}


def equal(stores: Stores) -> bool:
    """Whether the active replicas of each folder hold the same set."""
    few, held = stores.about(stores.unlike(Entry.APPLIED)), defaultdict(set)
    for here in _active(few):
        held[here[1]].add(cntext.show(few.held(*here)))
    return all(len(each) == 1 for each in held.values())


def converged(stores: Stores, items: Iterable[Mapping[str, Any]] = ()) -> bool:
    """Whether every active replica of every folder holds the same set and winners, and all members see the same hierarchy (I2).

    Of content that is alike the winners are too, by a total order that all stores share. Of folders where it is `unlike`, one
    having expired what another still shows, `items` are needed: what readers see, as `rules.items.readable` gives it.
    """
    winners = defaultdict(set)
    for row in items:
        winners[row["store"], row["folder"]].add((row["object"], row["version"]))
    unlike = stores.unlike(Entry.APPLIED)
    few, held = stores.about(unlike), defaultdict(set)
    for here in _active(stores if winners else few):
        held[here[1]].add((cntext.show(few.held(*here)) if here[1] in unlike else "", frozenset(winners[here])))
    return all(len(each) == 1 for each in held.values()) and stores.see_one_tree()


def _active(stores: Stores) -> list[tuple[str, str]]:
    return [here for here, replica in stores.replicas.items() if replica["standing"] == Standing.ACTIVE]
