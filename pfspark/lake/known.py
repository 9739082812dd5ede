"""What a lake knows of itself: its directory, its world, and what stands in it under a name."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from datetime import UTC, datetime
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from pfspark.edge.asked import naming
from pfspark.edge.delta.damage import REFUSALS
from pfspark.edge.delta.snapshot import Snapshot
from pfspark.edge.delta.tables import Tables
from pfspark.edge.runner import Runner
from pfspark.edge.world import carried
from pfspark.edge.world.directory import DIRECTORY, faults, latest
from pfspark.edge.world.facts import as_between, as_frame, trees
from pfspark.edge.world.past import Past
from pfspark.errors import RefusedError, UsageError
from pfspark.keyed import ByName, anti_join, of_store, together
from pfspark.printed import Line
from pfspark.references import EDIT, named_by, resolved, with_ids
from pfspark.rows import rows_of
from pfspark.units import AHEAD, TICK, confirmed, nearest, parse_time, unknown
from pfspark.words import HIERARCHY, LAST, REPLICA, Action

if TYPE_CHECKING:
    from pfspark.edge.delta.ledger import AsOf


When = datetime | str | int | None


class Known:
    """A lake that is open: what all that can be done with it needs."""

    def __init__(self, tables: Tables, *, ahead: bool = False) -> None:
        """`ahead`: whether times more than a day ahead of the clock on the wall are meant (`units.confirmed`)."""
        self._tables = tables
        self._ahead = ahead
        self._runner = Runner(tables)
        self._past: dict[tuple[str, ...], Past] = {}
        """Of the round that was asked about last: all of it, and what is near the names that were asked last."""
        self._trees: tuple[tuple[int, ...], int, ByName] | None = None
        self._entries: dict[str, tuple[int, dict[tuple[str, ...], Line]]] = {}

    def close(self) -> None:
        """Lets another writer in, and leaves what is known for whoever comes next; this lake may be used on."""
        self._runner.leave()
        self._runner.close()

    @property
    def where(self) -> str:
        """The folder, or the schema."""
        return self._tables.where

    @property
    def organizations(self) -> list[str]:
        """The names of the organizations."""
        return sorted(name for (name,) in self._directory("organizations"))

    def version(self) -> tuple[int, ...]:
        """What is another after each round, and whenever somebody has said or done something."""
        return tuple(self._tables.version(name) for name in ("rounds", "edits", *DIRECTORY))

    def stores_by_name(self) -> list[tuple[str, str]]:
        """The stores of the directory, each with its organization before it."""
        return sorted((str(org), str(store)) for org, store in self._directory("stores"))

    def _world(
        self, as_of: When = None, org: str | None = None, *, near: Collection[str] = (), store: str | None = None
    ) -> ByName:
        """The world, now or as it was after a round; with edits that wait as they are read by whoever asks: see `with_ids`.

        `near`: of a past one these folders are enough, as that store, or any, calls them, by path or id.
        """
        if as_of is None:
            return with_ids(self._runner.world().tables)
        snapshot = self._tables.snapshot(round_or_time(as_of), org)
        if (whole := self._past.get(())) is None or whole.round != snapshot.row.round:
            self._past = {(): (whole := Past(snapshot))}
        if not near or HIERARCHY in near or (org := org or self._only_organization()) is None:
            return whole
        key = org, store or "", *sorted(near)
        if key not in self._past:
            found = whole.near(org, near)
            # Who names what is not there is told what is.
            self._past = {(): whole, key: found if any(naming.is_named(found, org, store, each) for each in near) else whole}
        return self._past[key]

    def _only_organization(self) -> str | None:
        names = self.organizations
        return names[0] if len(names) == 1 else None

    def _tree_world(self) -> ByName:
        """As much of the world as the paths of folders need."""
        if (world := self._runner.at_hand()) is not None:
            return with_ids(world.tables)
        snapshot, edits = self._tables.snapshot(), self._tables.version("edits")
        at = snapshot.row.round, *(self._tables.version(name) for name in DIRECTORY)
        if self._trees is None or self._trees[:2] != (at, edits):
            known = self._with_edits_since(snapshot, at, edits) or as_between(self._tables, trees(snapshot)).tables
            if (named := named_by(known["edits"])).num_rows:
                changes = carried.naming(named, snapshot, "changes", [*EDIT, "object", "at"])
                known = {**known, "edits": resolved(known["edits"], changes)}
            self._trees = at, edits, known
        return self._trees[2]

    def _with_edits_since(self, snapshot: Snapshot, at: tuple[int, ...], edits: int) -> ByName | None:
        """What was read of the trees at that time, with the edits since: who edits much between two rounds reads it once. None
        where nothing was read then, or the history of the edits does not reach back so far."""
        if self._trees is None or self._trees[0] != at:
            return None
        _, before, known = self._trees
        with suppress(*REFUSALS):
            fresh = self._tables.edits_between(before, edits)
            waiting = anti_join(fresh, carried.taken_in(fresh, snapshot), EDIT)
            return {**known, "edits": together(known["edits"], waiting)}
        return None

    def _clock(
        self,
        org: str,
        store: str,
        folder: str | None,
        item: str | None = None,
        parent: str | None = None,
        *,
        changes: bool = False,
    ) -> datetime:
        """The clock on the wall, but after the edits that wait at that store and make what a new one is about (its folder, the
        one above, or its item: `@` and the edit), or put the store on that folder's list. Where the clock has been put back
        meanwhile, or they were dated ahead, the new one would be taken in before them, and refused.

        One that `changes` its item, or without one its folder, comes after those too that have done so by the clock: where that
        has been put back, what was said first would count in place of what was said last. One far ahead is not waited for.
        """
        about = [each for each in (folder, item, parent) if each]
        waiting = of_store(self._tree_world()["edits"], org, store)
        makes = pc.is_in(waiting["edit_id"], pa.array([each[1:] for each in about if each.startswith("@")], pa.string()))
        lists = pc.is_valid(pc.map_lookup(waiting["properties"].combine_chunks(), f"{REPLICA}{store}", "first"))
        opens = pc.and_(lists, pc.is_in(waiting["folder"], pa.array(about, pa.string())))
        now, earlier = datetime.now(UTC), pc.or_kleene(makes, opens)
        if changes:
            of_folder = pc.and_(pc.is_null(waiting["item"]), pc.not_equal(waiting["action"], str(Action.POST)))
            same = of_folder if item is None else pc.equal(waiting["item"], item)
            said = pc.less_equal(waiting["at"].cast(pa.int64()), pc.divide(waiting["place"], 1000))  # then, by the clock
            near = pc.less_equal(waiting["at"], pa.scalar(min(now + AHEAD, LAST), waiting["at"].type))
            earlier = pc.or_kleene(earlier, reduce(pc.and_kleene, [pc.equal(waiting["folder"], folder), same, said, near]))
        last = pc.max(waiting["at"].filter(earlier)).as_py()
        return now if last is None or last + TICK > LAST else max(now, last + TICK)

    def _directory(self, name: str, snapshot: Snapshot | None = None) -> dict[tuple[str, ...], Line]:
        """The latest row of each entry of a table of the directory, by its key."""
        version = snapshot.people[name] if snapshot and name in snapshot.people else self._tables.version(name)
        if name not in self._entries or self._entries[name][0] != version:
            rows = latest(snapshot or self._tables.snapshot(), [name])[name].to_pylist()
            self._entries[name] = version, {tuple(row[key] for key in DIRECTORY[name]): row for row in rows}
        return self._entries[name][1]

    def _organization(self, org: str | None) -> Line:
        """The organization of that name, or the only one."""
        orgs = self._directory("organizations")
        names = sorted(name for (name,) in orgs)
        if not orgs:
            raise UsageError(f"{self.where} has no organization yet; make one with Lake.organization()")
        if org is None and len(orgs) > 1:
            raise UsageError(f"{self.where} has several organizations, so name one: {', '.join(names)}")
        if org is not None and org not in names:
            raise unknown("the organization", org, names)
        return orgs[org or names[0],]

    def _org(self, org: str | None, *stores: str | None) -> str:
        """The name of the organization, in which these stores are; None: no store is named."""
        name = str(self._organization(org)["org"])
        known = [store for of, store in self._directory("stores") if of == name]
        for store in stores:
            if store is not None and store not in known:
                hint = nearest(store, known) or "; there is none yet, add one with Lake.store()"
                raise UsageError(f"the store {store!r} is not known in {name!r}{hint}")
        return name

    def _say(self, name: str, *rows: Line) -> None:
        """Rows of the directory; each is the latest of its key whatever the clock did meanwhile.

        Raises UsageError, before any is written, for a store or a link that no rule could follow; RefusedError where a row that
        was made of an entry (it has its `at`) is another's of late: what that one said would be undone in silence.
        """
        for row in rows:
            if name == "stores" or (name == "links" and row["cost"] is not None):  # one that is taken away says nothing
                for why in faults(name, row):
                    raise UsageError(why)
        known, now = self._directory(name), datetime.now(UTC)
        before = [known.get(tuple(row[key] for key in DIRECTORY[name])) for row in rows]
        at = (max(now, each["at"] + TICK) if each else now for each in before)
        said = rows_of(name, [{**row, "at": when} for row, when in zip(rows, at, strict=True)])

        def expect_no_other() -> None:
            there = self._directory(name)
            for row in rows:
                key = tuple(row[column] for column in DIRECTORY[name])
                if "at" in row and row["at"] != there[key]["at"]:
                    what = f"the {name.removesuffix('s')} {' to '.join(key[1:] or key)!r}"
                    raise RefusedError(f"{what} was changed by somebody else meanwhile; look at it, and say it again")

        self._tables.append(name, said, expect=expect_no_other)
        version, entries = self._entries[name]
        if self._tables.version(name) == version + 1:  # nobody else has said anything meanwhile
            told = {tuple(row[key] for key in DIRECTORY[name]): row for row in said.to_pylist()}
            self._entries[name] = version + 1, {**entries, **told}

    def _expect_in_use(self, org: str, *stores: str) -> None:
        """Raises RefusedError where one of them is retired."""
        for store in stores:
            if self._directory("stores")[org, store]["retired"]:
                back = f"`pfspark store set {store} --not-retired`"
                raise RefusedError(f"{store} is retired: nothing more is done there; take another, or {back}")

    def _at(self, said: When) -> datetime | None:
        """A time that somebody says; one far ahead must be meant."""
        at = time_of(said)
        return at and confirmed(at, ahead=self._ahead)

    def _folder(self, org: str, store: str, folder: str) -> str:
        """The id of a folder that a store sees by that path (R149); of one whose creation waits, `@` and the edit."""
        [found] = naming.folders_named(self._tree_world(), org, store, folder)
        return found

    def _frame_of(self, name: str, world: ByName) -> DataFrame:
        return as_frame(self._tables.spark, name, world[name])


def time_of(said: When) -> datetime | None:
    return None if said is None else parse_time(said if isinstance(said, datetime) else str(said))


def round_or_time(said: When) -> AsOf:
    """A round by its number, or a time."""
    if isinstance(said, int) or (isinstance(said, str) and said.isascii() and said.isdigit()):
        return int(said)
    return time_of(said)
