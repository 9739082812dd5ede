"""Folders and their replicas."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark import cntext
from pfspark.ask import lines
from pfspark.ask.stores import Stores
from pfspark.edge import copying
from pfspark.edge.asked import naming
from pfspark.edge.spark.crossing import to_frame
from pfspark.errors import LakeError, RefusedError, UsageError
from pfspark.files.properties import set_properties
from pfspark.files.values import folder_word
from pfspark.keyed import semi_join
from pfspark.keys import FOLDER, NUMBER
from pfspark.lake.edits import Edits
from pfspark.lake.known import When, round_or_time
from pfspark.rows import rows_of, struct
from pfspark.rules import items, state
from pfspark.units import nearest
from pfspark.words import HIERARCHY, NAME, PARENT, REPLICA, ROOT, Action, Listing


class Folders(Edits):
    """The folders of a lake."""

    def folder_create(
        self,
        store: str,
        path: str,
        replicas: Sequence[str] | None = None,
        *,
        org: str | None = None,
        at: When = None,
        **props: Any,
    ) -> str:
        """Creates a folder at a store, with replicas at these stores (none named: there); gives the edit's id.

        `props`: schedule, size_limit, age_limit, conflict, priority, deleted_item_retention, description, note, permissions.
        """
        above, _, name = path.rstrip("/").rpartition("/")
        stores = list(replicas or [store])
        org = self._org(org, store, *stores)
        self._expect_in_use(org, *stores)
        parent = self._folder(org, store, above) if above else ROOT
        listed = {f"{REPLICA}{each}": str(Listing.LISTED) for each in stores}
        sets = {NAME: folder_word(name), PARENT: parent, **listed, **_properties(props)}
        return self._edit(org, store, Action.CREATE_FOLDER, None, sets, at)

    def folder_rename(self, store: str, folder: str, name: str, *, org: str | None = None, at: When = None) -> str:
        """Gives a folder another name."""
        return self._edit(org, store, Action.SET_FOLDER, folder, {NAME: folder_word(name)}, at)

    def folder_move(self, store: str, folder: str, to: str, *, org: str | None = None, at: When = None) -> str:
        """Puts a folder under another, or at the top (`to` = "/")."""
        parent = self._folder(self._org(org, store), store, to) if to.strip("/") else ROOT
        return self._edit(org, store, Action.SET_FOLDER, folder, {PARENT: parent}, at)

    def folder_delete(self, store: str, folder: str, *, org: str | None = None, at: When = None) -> str:
        """Deletes a folder, everywhere and for ever."""
        return self._edit(org, store, Action.DELETE_FOLDER, folder, {}, at)

    def folder_recover(
        self,
        store: str,
        folder: str,
        name: str | None = None,
        as_of: When = None,
        *,
        org: str | None = None,
        at: When = None,
    ) -> str:
        """Copies a deleted folder, with the items that a reader of any store saw, into a new one; gives the id of its edit.

        `folder`: its id, or the path it had. `as_of`: the round to copy from; if none is told the last before the deletion, with
        what was taken in later, at stores that had not heard of it.
        `name`: of the copy, which lies at the top; `… recovered` unless told. The copy has one replica, at `store`. Each version
        of an item in conflict is an item of its own there, as in `resolve` with `all`.

        Source: R141, R149; F59.
        """
        org = self._org(org, store)
        target, earlier = self._deleted(org, folder) if as_of is None else (folder, round_or_time(as_of))
        copied, path = self._seen_by_any(org, target, earlier, later=as_of is None)
        rows = copying.recovered(
            sorted(copied, key=lambda row: (naming.place_of(row["object"]), naming.place_of(lines.number_of(row)))),
            org=org, store=store, name=folder_word(name or f"{path.rpartition('/')[2]} recovered"), parent=ROOT,
            at=self._at(at) or datetime.now(UTC),
        )  # fmt: skip
        self._check(rows[0], "")
        needed = {row["hash"] for row in rows if row["hash"]}
        then, now = self._tables.read("content", earlier, org), self._tables.read("content")
        asked = to_frame(self._tables.spark, pa.table({"hash": pa.array(needed, pa.string())}), struct("hash string"))
        bodies = then.unionByName(now).join(asked, "hash", "left_semi").dropDuplicates(["hash"])
        if gone := needed - {*bodies.select("hash").toArrow()["hash"].to_pylist()}:
            lacking = [row["name"] or row["edit_id"] for row in rows if row["hash"] in gone]
            raise LakeError(
                f"upkeep has let go of the bodies of {len(lacking)} of the items of {folder}, such as {lacking[0]!r}; "
                "nothing was recovered. Name an earlier round by as_of, or a store that kept them"
            )
        # Written anew although some may be there: upkeep leaves young bodies alone, and this one's edit is still to come.
        self._tables.append("content", bodies.withColumn("at", F.lit(datetime.now(UTC))))
        self._tables.append("edits", rows_of("edits", rows))
        return str(rows[0]["edit_id"])

    def _seen_by_any(self, org: str, folder: str, as_of: When, *, later: bool) -> tuple[list[dict[str, Any]], str]:
        """The items of a folder as one reader would see them who saw what the readers of all its replicas do, and its path.
        `later`: with what was numbered there since. Of an item in conflict all versions, unless the last writer wins there."""
        seen = self.answers(as_of, org, near=[folder])
        named = sorted(naming.folders_named(seen.world, org, None, folder))
        mine = pa.table({"org": [org] * len(named), "folder": named})
        views = {name: semi_join(seen.world[name], mine, FOLDER) for name in ("state", "replicas", "changes")}
        own = state.contents_of(self._frame_of("state", views), replicas=items.open_to_readers(self._frame_of("replicas", views)))
        held = items.seen(self._frame_of("changes", views), applied=own).drop("store")
        if later:
            here = (F.col("org") == org) & F.col("folder").isin(named)
            since = self._tables.read("changes").where(here & (F.col("round") > seen.snapshot.row.round))
            held = held.unionByName(since.select(*held.columns))
        one = held.dropDuplicates(list(NUMBER)).withColumn("store", F.lit(""))
        versions = items.versions(one)
        is_quiet = not seen.quiet().isdisjoint((org, viewer, each) for viewer in seen.views[org].members for each in named)
        shown = items.readable(versions) if is_quiet else versions.where("not dominated")  # else a loser went in silence (F29)
        found = shown.where(F.col("action") != Action.DELETE)
        stores = seen.views[org]
        paths = sorted(stores.path(*each) for each in stores.present() if each[1] in named)
        return found.toArrow().to_pylist(), next((path for path in paths if path.startswith("/")), folder)

    def _deleted(self, org: str, folder: str) -> tuple[str, int]:
        """The id of a deleted folder, named by it or by the path it had, and the last round before it was deleted."""
        of_tree = self._tables.read("changes").where((F.col("org") == org) & (F.col("folder") == HIERARCHY))
        gone = of_tree.where(F.col("action") == Action.DELETE_FOLDER)
        rows = gone.groupBy("object").agg(F.min("round").alias("round")).orderBy(F.desc("round")).collect()
        for row in rows:
            if folder == row["object"]:
                return str(row["object"]), row["round"] - 1
        said = of_tree.select("object", F.inline("properties")).where(F.col("name") == NAME).select("object", "value").distinct()
        called = said.where(F.col("value") == _last(folder)).toArrow()["object"].to_pylist()
        if not cntext.is_number(folder) and self._living(org, called) == {*called}:  # no history needs to be read
            raise self._no_deleted(org, folder, said, ": none was called so")
        for row in rows:  # what lay beneath was deleted with it
            world = self._world(row["round"] - 1, org, near=[folder])
            known = Stores(world, org)
            for viewer in naming.stores_of(world, org):
                for each in [folder] if cntext.is_number(folder) else naming.of_path(world, org, viewer, folder):
                    if row["object"] in known.above(viewer, each):
                        return each, row["round"] - 1
        raise self._no_deleted(org, folder, said)

    def _living(self, org: str, folders: Sequence[str]) -> set[str]:
        """Those of the folders that some store sees."""
        seen = self._world(None, org)["folders"]
        alive = (pc.field("org") == org) & ~pc.field("dead") & pc.field("folder").isin(pa.array(folders, pa.string()))
        return {*seen.filter(alive)["folder"].to_pylist()}

    def _no_deleted(self, org: str, folder: str, said: DataFrame, why: str = "") -> UsageError:
        """What is said where no deleted folder was called so; `said`: what folders were ever called."""
        names = said.toArrow().to_pylist()
        alive = self._living(org, [row["object"] for row in names])
        called = {row["value"]: row["object"] for row in names if row["object"] not in alive}
        close = difflib.get_close_matches(_last(folder), called, 1)
        hint = "".join(f"; one called {each!r} is {called[each]}" for each in close)
        return UsageError(
            f"no deleted folder had the path or id {folder!r}{why}{hint}; `pfspark log edits` shows what was deleted"
        )

    def folder_set(self, store: str, folder: str, *, org: str | None = None, at: When = None, **props: Any) -> str:
        """Sets properties of a folder, as `folder_create` names them (R16-R19)."""
        return self._edit(org, store, Action.SET_FOLDER, folder, _properties(props), at)

    def replica_add(self, store: str, folder: str, replica: str, *, org: str | None = None, at: When = None) -> str:
        """Puts a store on the replica list of a folder, as said at `store`."""
        self._expect_in_use(self._org(org, replica), replica)
        return self._edit(org, store, Action.SET_FOLDER, folder, {f"{REPLICA}{replica}": str(Listing.LISTED)}, at)

    def replica_move(
        self,
        store: str,
        folder: str,
        source: str,
        target: str,
        wait: Callable[[str], object],
        *,
        org: str | None = None,
        at: When = None,
    ) -> str:
        """Moves a replica: adds the new one, waits for hierarchy and content, then removes the old one (R142).

        Gives the id of the last edit. `wait` is called, with what is waited for, until all stores list the new replica and
        it holds all that the old one does; it lets time pass, or plays a round. Raises RefusedError where `source` is on no
        list to be moved from, or where what is added is refused when it is taken in.
        """
        org = self._org(org, store, source, target)
        if source == target:
            raise UsageError(f"{source} is where the replica comes from and where it goes; name two stores")
        named = self._folder(org, store, folder)
        here = (pc.field("org") == org) & (pc.field("store") == store) & (pc.field("folder") == named)
        listed = self._tree_world()["lists"].filter(here & (pc.field("listing") == str(Listing.LISTED)))
        holders = sorted(listed["peer"].to_pylist())
        if source not in holders:
            raise RefusedError(
                f"{source} is not on the replica list of {folder!r}: {store} sees {', '.join(holders) or 'nobody'} there"
            )
        added = self.replica_add(store, folder, target, org=org, at=at)

        def open_points() -> Iterator[str]:
            known = Stores(self._world(), org)
            unaware = [each for each in known.members if target not in known.listed(each, named)]
            if unaware:
                yield f"the list to reach {', '.join(unaware)}"
            lacking = cntext.subtract(known.held(source, named), known.held(target, named))
            if lacking or (target, named) not in known.replicas:
                yield f"{target} to get {cntext.show(lacking) or 'its replica'}"

        while awaited := list(open_points()):
            wait("; ".join(awaited))
            self.accepted(added, org=org)
        return self.replica_remove(store, named, source, org=org, at=at)

    def replica_remove(self, store: str, folder: str, replica: str, *, org: str | None = None, at: When = None) -> str:
        """Takes a store off the replica list of a folder, as said at `store`."""
        self._org(org, replica)
        return self._edit(org, store, Action.SET_FOLDER, folder, {f"{REPLICA}{replica}": str(Listing.REMOVED)}, at)


def _last(path: str) -> str:
    """The name of the folder that a path leads to."""
    return path.strip("/").rpartition("/")[2]


def _properties(props: Mapping[str, Any]) -> dict[str, str]:
    """Properties of a folder as an edit holds them."""
    if not props:
        return {}
    from pfspark.files.language import FolderProperties

    for name in props:
        if name not in FolderProperties.model_fields:
            raise UsageError(f"a folder has no {name!r}{nearest(name, FolderProperties.model_fields)}")
    said = FolderProperties.read({name: value for name, value in props.items() if value is not None})
    return set_properties(said.properties())
