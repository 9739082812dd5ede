"""What people do: edits that wait to be taken in, refused at once where the store itself would refuse them."""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import reduce
from operator import and_

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pfspark.ask.edits import REFUSED, refused
from pfspark.edge import door, repeats
from pfspark.edge.asked import shown
from pfspark.edge.delta.snapshot import Snapshot
from pfspark.edge.world import carried
from pfspark.errors import RefusedError
from pfspark.lake.known import When
from pfspark.lake.questions import Questions
from pfspark.printed import Line
from pfspark.references import EDIT, became
from pfspark.rows import rows_of
from pfspark.units import nearest
from pfspark.words import HIERARCHY, PARENT, Action


class Edits(Questions):
    """A lake in which edits are made."""

    def accepted(self, *edits: str, org: str | None = None) -> None:
        """Raises RefusedError where one of these edits was refused when it was taken in; one that waits is not."""
        these = (F.col("org") == self._org(org)) & F.col("edit_id").isin(*edits)
        for row in refused(self._tables.read("receipts").where(these)).limit(1).collect():
            raise RefusedError(f"{row['store']} refused the edit {row['edit_id']} ({row['type']}): {row['reason']}")

    def _edit(
        self,
        org: str | None,
        store: str,
        action: Action,
        folder: str | None,
        sets: Mapping[str, str],
        at: When,
        *,
        body: bytes | None = None,
        name: str | None = None,
        item: str | None = None,
        edit_id: str | None = None,
    ) -> str:
        org = self._org(org, store)
        if edit_id:
            repeats.expect_first(edit_id)
        target = None if folder is None else self._folder(org, store, folder)
        named = item and self._item(org, store, str(target), item, called=folder or "")
        written = datetime.now(UTC)
        changes = action not in (Action.POST, Action.CREATE_FOLDER)
        digest = None if body is None else hashlib.sha256(body).hexdigest()
        row = {
            "org": org, "edit_id": edit_id or f"{action}:{uuid.uuid4().hex}", "store": store,
            "at": self._at(at) or self._clock(org, store, target, named, sets.get(PARENT), changes=changes),
            "place": time.time_ns(),
            "action": str(action), "folder": target, "item": named, "name": name,
            "properties": list(sets.items()), "size": len(body or b""), "hash": digest, "written": written,
        }  # fmt: skip
        self._check(row, folder or "")
        if edit_id:
            row["edit_id"] = self._id_of(org, edit_id)
        edit = rows_of("edits", [row])
        if body is not None:  # before the edit: an edit whose body is not there would be a promise
            self._tables.append("content", rows_of("content", [{"hash": digest, "body": body, "size": len(body), "at": written}]))
        self._tables.append("edits", edit)
        return str(row["edit_id"])

    def _check(self, row: Line, called: str) -> None:
        """Raises RefusedError where the store would refuse an edit by what it sees now (`door`)."""
        org, store, folder = str(row["org"]), str(row["store"]), row["folder"]
        self._expect_in_use(org, store)

        def nearest_store() -> str:
            if folder.startswith("@"):
                return "; say --replicas where it is created"
            [named] = [line["stores"] for line in self.refer(store, folder, org=org)] or [[]]
            return f"; the nearest store that has one is {named[0]}" if named else "; no store has one as it sees the list"

        door.check(self._tree_world(), row, called, nearest_store)

    def _id_of(self, org: str, edit_id: str) -> str:
        """That id, unless the edit of that id was refused or is lost: then one that is new (`repeats`)."""
        times, counts = self._made_here(org, edit_id).get(edit_id, repeats.NEVER)
        return edit_id if counts else repeats.anew(edit_id, times)

    def _made_here(self, org: str, part: str) -> dict[str, repeats.Made]:
        """How edits stand whose ids have that `part`, by the id of their first making; without Spark where that can be."""
        snapshot = self._tables.snapshot()
        these = (pc.field("org") == org) & pc.match_substring(pc.field("edit_id"), part)
        edits = snapshot.arrow("edits", these, ["edit_id"])
        if edits is not None and not edits.num_rows:
            return {}
        void = None if _restored(snapshot, org) else snapshot.arrow("receipts", these & REFUSED, ["edit_id"])
        if edits is None or void is None:
            made = self._made(org, lambda edit: edit.contains(part)).toArrow().to_pylist()
            return {row["first"]: repeats.Made(row["times"], row["counts"]) for row in made}
        return repeats.made_here(edits["edit_id"].to_pylist(), void={*void["edit_id"].to_pylist()})

    def _made(self, org: str, these: Callable[[Column], Column]) -> DataFrame:
        """How edits of an organization stand by the id of their first making, `these` by their `edit_id`; see `repeats.made`."""
        snapshot = self._tables.snapshot()
        told = {name: snapshot.read(name) for name in ("edits", "receipts", "changes")}
        mine = (F.col("org") == org) & these(F.col("edit_id"))
        edits, receipts, changes = (rows.where(mine) for rows in told.values())
        lost = changes.limit(0)
        if _restored(snapshot, org):
            world = self._world()
            retired = [store for (of, store), said in self._directory("stores").items() if of == org and said["retired"]]
            table, replicas, mail = (self._frame_of(name, world) for name in ("state", "replicas", "mail"))
            # What a retired store knows of the hierarchy nobody asks it for: as `losing.losses` has it.
            replicas = replicas.where((F.col("folder") != HIERARCHY) | ~F.col("store").isin(retired))
            lost = repeats.lost(changes, table=table, replicas=replicas, mail=mail)
        return repeats.made(edits, receipts=receipts, lost=lost)

    def _creation_of(self, org: str, folder: str) -> str:
        """A name for a folder that it has from the edit that makes it on: that edit, as it was made first where a restore took
        it in again; else its id."""
        made = self._told_by_changes("edit_id", org=org, folder=HIERARCHY, object=folder, action=str(Action.CREATE_FOLDER))
        found = [edit for edit in made if edit]
        return f"@{repeats.taken_in_first(found[0])}" if found else folder

    def _told_by_changes(self, column: str, **values: str) -> list[str | None]:
        """What changes that have these values say in a column; without Spark where that can be."""
        snapshot = self._tables.snapshot()
        found = snapshot.arrow("changes", reduce(and_, (pc.field(name) == value for name, value in values.items())), [column])
        if found is None:
            asked = reduce(and_, (F.col(name) == value for name, value in values.items()))
            found = snapshot.read("changes").where(asked).select(column).toArrow()
        said: list[str | None] = found[column].to_pylist()
        return said

    def _item(self, org: str, store: str, folder: str, item: str, *, called: str) -> str:
        """The id of an item that a store sees, by it or by its name; of one whose post waits, `@` and the edit.

        Raises RefusedError where it is not there, or deleted, or the store has no replica of the folder, `called` so.
        """
        here = (pc.field("org") == org) & (pc.field("store") == store) & (pc.field("folder") == folder)
        edits = self._tree_world()["edits"].select(["org", "store", "folder", "edit_id", "action", "item", "name"])
        edits = edits.filter(here).to_pylist()
        posts = {f"@{row['edit_id']}": row["name"] for row in edits if row["action"] == Action.POST}
        deleted = {row["item"] for row in edits if row["action"] == Action.DELETE}

        def there(meant: str | None) -> tuple[dict[str, str | None], set[str]]:
            """The names of items by their ids, of all or of those that may be `meant`; and which of them are gone."""
            seen = [] if folder.startswith("@") else shown.items(self._world(), org, store, folder, meant)
            dead = {row["object"] for row in seen if row["deleted"]}
            return {row["object"]: row["name"] for row in seen} | posts, deleted | dead

        if item.startswith("@") and item not in posts:
            edit = pa.table({"org": [org], "edit_id": [item[1:]]})
            changes = carried.naming(edit, self._tables.snapshot(), "changes", [*EDIT, "object", "at"])
            item = next(iter(became(changes, edit)["object"].to_pylist()), item)
        names, gone = there(item)
        if item in gone and item in names:
            raise RefusedError(f"the item {item} is deleted at {store}, and can no longer be changed")
        named = [item] if item in names else [ref for ref, name in names.items() if name == item and ref not in gone]
        if len(named) > 1:
            raise RefusedError(f"{len(named)} items are called {item!r}: name one by its id ({_some(named)})")
        if not named:
            self._check({"org": org, "store": store, "folder": folder, "action": Action.MODIFY, "properties": None}, called)
            names, gone = there(None)
            known = [name for ref, name in names.items() if name and ref not in gone]
            raise RefusedError(f"the item {item!r} is not known in that folder at {store}{nearest(item, known)}")
        return named[0]


def _some(names: Sequence[str]) -> str:
    return ", ".join([*names[:3], *["…"] * (len(names) > 3)])


def _restored(snapshot: Snapshot, org: str) -> bool:
    """Whether a store of that organization was ever restored: only then may something be lost that was taken in."""
    return any(each.org == org for some in snapshot.restores.values() for each in some)
