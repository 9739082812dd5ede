"""Organizations as a file says them, and read back as one."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pfspark.ask import drain
from pfspark.ask.lines import moment
from pfspark.edge import plan
from pfspark.edge.asked import naming
from pfspark.edge.asked.store_view import View, once_all_have_heard, properties_of
from pfspark.edge.config import conf_folder
from pfspark.edge.plan import Organization, Plan
from pfspark.errors import RefusedError, UsageError
from pfspark.files import values
from pfspark.files.documents import Document, document
from pfspark.keyed import ByName
from pfspark.lake.directory import Directory
from pfspark.lake.folders import Folders
from pfspark.lake.known import When
from pfspark.printed import Line
from pfspark.rows import rows_of
from pfspark.settings import MAIN, differences, differences_text, load_profile, override, single
from pfspark.units import counted, unknown
from pfspark.words import HIERARCHY, HIERARCHY_ACTIONS, Standing

SEEN = ("tree", "folders", "edits")
"""What tells the paths of folders."""


class Organizations(Directory, Folders):
    """A lake whose organizations are said in files."""

    def apply(
        self, said: Document, *, store: str | None = None, prune: bool = False, org: str | None = None, at: When = None
    ) -> Plan:
        """Makes an organization what a file says, or what such a file would; gives the plan that was carried out.

        Takes what `plan` takes, and raises what it raises.
        """
        made = self.plan(said, store=store, prune=prune, org=org, at=at)
        self.carry_out(made)
        return made

    def plan(
        self,
        said: Document,
        *,
        called: str = "what is declared",
        store: str | None = None,
        prune: bool = False,
        org: str | None = None,
        at: When = None,
    ) -> Plan:
        """What has to be done so that an organization is what a file says, profile, policy, stores, links and folders.

        `store`: where folders are made and changed; unless told the first of the file that sees the tree. `prune`: what the file
        does not have is removed. An organization that is not known is to be made: `org`, else the `name` in the file, else
        the only one there is. `called`: what stands in errors about what is said, where that is no file.

        Raises ScenarioError for a file that cannot be read, UsageError for one without stores where that would remove all,
        RefusedError for what the store would refuse.
        """
        from pfspark.files import declared

        told, file = document(said, called)
        if org is None:
            name = told.get("name") or (MAIN if not self.organizations else self._org(None))
        else:
            name = values.organization(org)
        known = self._stores(name)
        stores = {} if prune else {each: row["site"] for each, row in known.items() if not row["retired"]}
        meant = declared.read(told, file, stores)
        if prune and not meant.stores:
            raise UsageError(f"{file}: no store, expected [stores.NAME]: to prune would take away every one that there is")
        going, gone = ({each for each, row in some.items() if row.get("retired")} for some in (meant.stores, known))
        editor = _editor(self._tree_world(), name, store, [*(each for each in meant.stores if each not in going | gone), *stores])
        versions = self._edited()
        made = plan.plan(
            meant,
            self._as_it_stands(name, editor, prune=prune),
            prune=prune,
            at=self._at(at) or datetime.now(UTC),
            place=time.time_ns(),
        )
        return replace(made, made_of=versions)

    def _edited(self) -> tuple[int, ...]:
        """What is another after each round, and whenever somebody has edited something."""
        return tuple(self._tables.version(name) for name in ("rounds", "edits"))

    def carry_out(self, made: Plan) -> None:
        """Does what a plan says.

        Raises RefusedError where somebody has made, renamed, moved or deleted folders at its store meanwhile, so that what it
        makes might be there twice; or has said otherwise of what it changes in the directory.
        """

        def expect_no_other() -> None:
            if made.made_of == self._edited():
                return
            world = self._tree_world()
            if {*View({name: world[name] for name in SEEN}, made.org, made.store or "").paths()} != {*made.paths}:
                raise RefusedError("the folders were changed by somebody else meanwhile; look at them, and apply again")

        if made.rows["edits"]:
            expect_no_other()  # before anything is said; and once more while nobody else says anything
        for table, rows in made.rows.items():  # edits come last: the directory has their stores by then
            if rows and table == "edits":
                self._tables.append(table, rows_of(table, rows), expect=expect_no_other)
            elif rows:
                self._say(table, *rows)

    def declared(self, *, store: str | None = None, as_of: When = None, org: str | None = None) -> dict[str, Any]:
        """An organization as a file says it; to apply that changes nothing. `store`: whose folders, as `plan` chooses it.

        Raises RefusedError where that store sees two folders of one path, of which a file can say but one.
        """
        return self._shown(store, as_of, org)[1]

    def declared_line(self, *, store: str | None = None, as_of: When = None, org: str | None = None) -> Line:
        """What `declared` gives as a JSON line, each value as a text."""
        at, said, editor = self._shown(store, as_of, org)
        told = {name: {each: plan.spelled(row) for each, row in said[name].items()} for name in ("stores", "folders")}
        return {
            "org": said["name"], "at": moment(at), "kind": "organization", "store": editor, "profile": said["profile"],
            "start": moment(said["start"]), "suspended": bool(said.get("suspended")), "options": plan.spelled(said["policy"]),
            **told, "links": [plan.spelled(each) for each in said["links"]],
        }  # fmt: skip

    def set_options(
        self, options: Mapping[str, Any] | None = None, profile: str | None = None, *, org: str | None = None
    ) -> None:
        """Changes options of an organization, or its profile; what is not told stays."""
        known = self._organization(org)
        own: dict[str, Any] = json.loads(known["options"] or "{}")  # as they were said: one that no rule follows may be said anew
        said = dict(single(own)) | dict(single(options or {}))
        profiled = load_profile(known["profile"] if profile is None else profile, conf_folder())
        options_text = differences_text(override(profiled, said), profiled)
        self._say("organizations", {**known, "profile": profiled.profile, "options": options_text})

    def needed(self, store: str, *, org: str | None = None) -> str | None:
        """Why a store should not be retired yet: what it has, in words; None: it has nothing."""
        name, world = self._org(org, store), self._tree_world()
        return _needed(world, name, drain.coming(world, name)).get(store)

    def unlinked(self, *, org: str | None = None) -> tuple[str, ...]:
        """The sites that no link names although there are others: messages to them are free, and at once."""
        name = self._org(org)
        return plan.unlinked(self._stores(name).values(), self._links(name))

    def folder_lines(
        self, folder: str, *, store: str | None = None, as_of: When = None, org: str | None = None
    ) -> Iterator[Line]:
        """A folder as each store sees it that does, or one: its replicas, and what is set on it."""
        seen = self.answers(as_of, org)
        found = filter(self._asked(seen, store, folder).about, seen.folders())
        for line in self._known(found, store, as_of, org, folder):
            sets = properties_of(seen.views[line["org"]].tree[line["store"]][line["id"]])
            yield {**line, "properties": plan.spelled(plan.spell_properties(sets))}

    def _shown(self, store: str | None, as_of: When, org: str | None) -> tuple[datetime, dict[str, Any], str | None]:
        """An organization's time, what a file says of it, and whose folders those are."""
        org = self._org(org, store)
        seen = self.answers(as_of, org)
        if org not in seen.policies:
            raise UsageError(f"the organization {org!r} was not there yet, or does not play: `pfspark status` says why")
        row, policy = seen.organizations[org], seen.policies[org]
        stores, links = (
            {tuple(each[key] for key in keys): each for each in seen.world[name].to_pylist() if each["org"] == org}
            for name, keys in (("stores", ("store",)), ("links", ("from_site", "to_site")))
        )
        names = [name for (name,), each in sorted(stores.items()) if not each["retired"]]
        sites = {each["site"] for each in stores.values()}  # a link from where no store is any more leads nowhere
        editor = _editor(seen.world, org, store, names)
        view = View(seen.world, org, editor or "")
        said = {
            "name": org,
            "profile": row["profile"],
            "start": row["start"].astimezone(UTC),
            **({"suspended": True} if row["suspended"] else {}),
            "policy": differences(policy, load_profile(row["profile"], conf_folder())),
            "stores": {name: plan.spell_store(each) for (name,), each in sorted(stores.items())},
            "links": plan.spell_links({pair: row for pair, row in links.items() if {*pair} <= sites}),
            "folders": {
                path: plan.spell_folder(view.folders[plan.only(view, path, refs)]) for path, refs in sorted(view.paths().items())
            },
        }
        return seen.at[org], said, editor

    def _as_it_stands(self, org: str, editor: str | None, *, prune: bool) -> Organization:
        world = self._tree_world()
        view = View(world, org, editor or "")
        coming = {store: {*folders} for store, folders in drain.coming(world, org).items()}
        if prune:  # which takes a store off the lists on which the editor sees it, too
            seen = view.folders
            unseen = {
                store: {each for each in folders if each not in seen or store not in seen[each].listed}
                for store, folders in coming.items()
            }
            coming = {store: folders for store, folders in unseen.items() if folders}
        return Organization(
            name=org,
            entry=self._directory("organizations").get((org,)),
            stores=self._stores(org),
            links=self._links(org),
            view=view,
            needed=_needed(world, org, coming),
            to_come=partial(once_all_have_heard, world, org, naming.stores_of(world, org)),
        )

    def _stores(self, org: str) -> dict[str, Line]:
        """The stores of an organization, retired ones too, by name."""
        return {store: row for (of, store), row in sorted(self._directory("stores").items()) if of == org}


def _editor(world: ByName, org: str, store: str | None, names: Sequence[str]) -> str | None:
    """The store at which folders are made and changed, of those names: that one, or the first that sees the tree.

    Before the first round that is who is to make folders; None: there is no store. Raises UsageError for one that is not
    among them, RefusedError for one that does not see the tree yet, and would make anew what is there.
    """
    if store is not None and store not in names:
        raise unknown("the store", store, names)
    part = set(_stores_in(world["replicas"], org, pc.field("folder") == HIERARCHY))
    makers = set(_stores_in(world["edits"], org, pc.field("action").isin([*HIERARCHY_ACTIONS])))
    seeing = [name for name in names if name in (part or makers)]
    chosen = store or next(iter(seeing or names), None)
    if chosen is not None and (part or makers) and chosen not in (part or makers):
        raise RefusedError(f"{chosen} sees no folder before the next round; take {' or '.join(seeing or sorted(part or makers))}")
    return chosen


def _needed(world: ByName, org: str, coming: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Of each store that has something, or that folders are `coming` to: what, in words."""
    content = (pc.field("folder") != HIERARCHY) & (pc.field("standing") != Standing.ERASED)
    held = Counter(_stores_in(world["replicas"], org, content))
    waiting = Counter(_stores_in(world["edits"], org))
    return {
        each: f"it has {counted(held[each], 'replica')} and {counted(waiting[each], 'edit')} waiting"
        + (f", and is to hold {counted(len(coming[each]), 'folder')} more" if each in coming else "")
        + f"; `pfspark drain {each}` says how it is emptied"
        for each in sorted({*held, *waiting, *coming})
    }


def _stores_in(table: pa.Table, org: str, these: pc.Expression | None = None) -> list[str]:
    """The store of each row of an organization, of all or of `these`."""
    mine = pc.field("org") == org
    stores: list[str] = table.filter(mine if these is None else mine & these)["store"].to_pylist()
    return stores
