"""Playing the rounds of a lake: its world read once and then carried on, the new rows appended, the ledger row last.

A world read from the tables and one that was carried through any number of rounds are the same, so a process may end
between any two rounds, or within one, and another goes on.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from pfspark.between import Between, due_moments
from pfspark.edge.delta import native
from pfspark.edge.delta.digests import digest, numbered
from pfspark.edge.delta.ledger import FACTS, Restored, Row
from pfspark.edge.delta.snapshot import CREATED, Snapshot
from pfspark.edge.delta.tables import REFUSALS, Tables
from pfspark.edge.delta.writer import Writer
from pfspark.edge.keeping import upkeep
from pfspark.edge.recording import Recording
from pfspark.edge.spark.crossing import handed
from pfspark.edge.world import bases, bases_by_spark, restoring
from pfspark.edge.world.bases import Base
from pfspark.edge.world.directory import DIRECTORY, directory, policies_of, turn
from pfspark.edge.world.facts import as_between, clocks, world_between
from pfspark.edge.world.scratch import Scratch
from pfspark.errors import LakeError, ViolationError
from pfspark.execute import Listener, to_nobody
from pfspark.keyed import distinct, having, lacking, with_columns
from pfspark.keys import PAIR, STORE
from pfspark.rows import struct
from pfspark.said import lists_anew
from pfspark.schedules import Grid
from pfspark.settings import Policy
from pfspark.words import FIRST, HIERARCHY, LAST, Standing, Why

QUIET_WITHIN = timedelta(days=90)
"""How far `run` looks for quiet when no end is named: longer than any time-out, repeats included."""
LEFT_EVERY = 20
"""Rounds after which a base is left in a folder, though more are to come: of who is killed no more are to be played again."""
AGAIN = 2 * LEFT_EVERY
"""Numbers of the ledger up to which they are: every second one may only have opened it."""
LOOK_AGAIN = 2.0
"""Seconds between two looks at what people have done, when rounds are played as time goes by."""

Rows = Mapping[str, pa.Table]
Found = tuple[Snapshot, Mapping[str, int]]
"""A lake after its last round, and at which versions is what people say."""
T = TypeVar("T")


@dataclass(frozen=True)
class Played:
    """What a round did: its number (None: it was idle, or a dry run), who played when, the new rows, the world after it."""

    round: int | None = None
    turns: Mapping[str, datetime] = field(default_factory=dict)
    made: Rows = field(default_factory=dict)
    world: Rows = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """How many rows came to each table."""
        return {name: self.made[name].num_rows for name in FACTS if name in self.made and self.made[name].num_rows}


class Runner:
    """Plays the rounds of one lake."""

    def __init__(self, tables: Tables) -> None:
        """Nothing is read or locked before there is something to play."""
        self._tables = tables
        self._scratch = Scratch(tables)
        self._writer: Writer | None = None
        self._world: Between | None = None
        self._number = 0
        """The round after which the world is as it is here."""
        self._digest = ""
        """The digest of that round's row."""
        self._left: tuple[int, int, dict[str, int]] | None = None
        """The round and what people had said when a base was left or found here."""
        self._since_left = 0
        """Rounds that were played since."""
        self._cursor = 0
        self._directory: dict[str, int] = {}
        self._news = False
        """Whether the directory has changed since the last round."""
        self._policies: dict[str, tuple[Mapping[str, Any], Policy]] = {}
        self.unfit: dict[str, str] = {}
        """Organizations that do not play, as their entries in the directory cannot be followed, each with what is wrong."""
        self._last: dict[str, datetime] = {}
        self.cut: frozenset[str] = frozenset()
        """Stores that are cut off in the rounds to come: what they send, or would get, is lost."""

    def round(self, now: datetime | None = None, *, dry_run: bool = False) -> Played:
        """One round of the organizations that have something to do by `now` (None: by the clock on the wall).

        An organization's time neither stands still nor goes back: one whose last round is not before `now` plays its next
        due moment instead, on its own grid; it is idle where only what the calendar repeats for ever is left.
        An idle round writes nothing. A dry run plays on the world as it is, writes nothing, and is forgotten.
        Raises OtherWriterError where another plays, LakeError where the round cannot be written; then it does not count.
        """
        return self._round(now or datetime.now(UTC), dry_run, ahead=True)

    def run(
        self,
        until: datetime | None = None,
        until_quiet: bool = False,
        *,
        by_now: bool = False,
        resting: Callable[[Mapping[str, datetime]], object] = lambda due: None,
    ) -> Iterator[Played]:
        """Rounds one after another, each played when it is asked for.

        `until` a time, or `until_quiet` (nothing left to do but what the calendar repeats for ever): at once, each
        organization going from one due moment to the next on its grid, start + k x interval. `by_now`: the same until
        what is due by the clock on the wall is done; what falls due since the last cycle is done in a round of now.
        With none of them: as time goes by, until it is interrupted; `resting` is told when who has something to do next.
        """
        ends: dict[str, datetime] = {}
        now = datetime.now(UTC) if by_now else None
        while until or until_quiet or now:
            played = self._play(lambda due: self._on_grid(due, until, until_quiet, now, ends))
            if not played.turns:
                return
            yield played
        told: Mapping[str, datetime] | None = None
        while True:
            played = self._round(datetime.now(UTC))
            if played.turns:
                yield played
                continue
            due = self.due()
            if due != told:
                told = due
                resting(due)
            time.sleep(LOOK_AGAIN)

    def restore(self, org: str, store: str, to: int, then: Rows, now: datetime | None = None) -> Played:
        """Takes a store's own rows back to those of an earlier round; its replicas begin a new life and ask for status.

        `to` is the number of that round, `then` the world that it left. `now` is the organization's time, of the clock on the
        wall if none is given; never before its last round.
        """
        began = datetime.now(UTC)
        with self._writing() as writer:
            self._look()
            self._taken_over()
            assert self._world is not None and writer.last is not None
            at = now or began
            at = max(at, self._last.get(org, at))
            self._world.restore(org, store, then, at)
            made = restoring.facts(self._world, org, store, at)
            with Recording(self._tables, writer.last.round + 1) as recording:
                return self._record("restored", {org: at}, made, began, recording, (Restored(org, store, to),))

    def maintain(self, now: datetime | None, told: Callable[[str], object]) -> dict[str, int]:
        """Upkeep of the tables, in a round of its own; how many rows went from each. No answer changes.

        `now` says how old bodies of deleted items are: the clock on the wall if None, never before the last round.
        """
        moment = now or datetime.now(UTC)

        def keep_up() -> tuple[dict[str, int], dict[str, str]]:
            retention = {
                org: max(moment, self._last.get(org, row["start"])) - policy.deleted_item_retention
                for org, (row, policy) in self._policies.items()
            } | dict.fromkeys(self.unfit, FIRST)  # of who cannot say how long, all is kept
            return upkeep.keep_up(self._tables.snapshot(), retention, told)

        return self.tend(keep_up)

    def tend(self, work: Callable[[], tuple[T, Mapping[str, str]]]) -> T:
        """Work on the tables themselves, in a round of its own; what it gives, less the digests of tables it wrote anew.

        Who changes answers by it closes the runner.
        """
        began = datetime.now(UTC)
        with self._writing() as writer:
            self._look()
            self._taken_over()
            assert writer.last is not None
            done, facts = work()
            row, tables = writer.last, self._tables
            # What people have said since is news to the next round; that a table was tidied is none.
            settled = {name: tables.settled(name, row.versions[name]) for name in (*DIRECTORY, "edits")}
            self._directory = {name: tables.settled(name, version) for name, version in self._directory.items()}
            self._cursor = tables.settled("edits", self._cursor)
            versions = {**row.versions, **tables.versions((*FACTS, "content")), **settled}
            cursors, ended = {"edits": settled["edits"]}, datetime.now(UTC)
            self._number = row.round + 1
            maintained = Row(self._number, "maintained", writer.name, {}, began, ended, versions, cursors, {}, row.next_due)
            self._digest = writer.record(replace(maintained, facts=facts)).digest
            return done

    def at_hand(self) -> Between | None:
        """The world, if it is known without reading all facts."""
        if self._world is None:
            snapshot = self._tables.snapshot()
            if (base := self._base(snapshot)) is None:
                return None
            self._begin(snapshot, base, self._people())
        return self.world()

    def at_hand_after(self, round: int) -> Between | None:
        """The same, if that is the last round."""
        world = self.at_hand()
        return world if self._number == round else None

    def forget(self) -> None:
        """Takes away the base, and what is known here: the facts are read anew."""
        if self._tables.folder is not None:
            bases.drop(self._tables.folder)
        else:
            bases_by_spark.drop(self._tables)
        self.close()

    def leave(self) -> None:
        """Leaves the world as a base for whoever comes next; where that takes Spark, who has only read leaves none."""
        here, folder = (self._number, self._cursor, self._directory), self._tables.folder
        if self._world is None or self._left == here or (folder is None and self._writer is None):
            return
        self._world.reset("conditions", ())
        base = Base(self._world.tables, self._cursor, self._directory)
        if folder is not None:
            bases.leave(folder, base, self._number, self._digest)
        else:
            bases_by_spark.leave(self._tables, base, self._number, self._digest)
        self._left, self._since_left = here, 0

    def due(self) -> dict[str, datetime]:
        """When each organization has something to do; absent: never, as things are."""
        self._look()
        return self._moments()

    def world(self) -> Between:
        """The world as the last round left it, with what people did since."""
        self._look()
        assert self._world is not None
        return self._world

    def close(self) -> None:
        """Gives the lake back and forgets its world."""
        self._world = None
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    # What there is to do

    def _is_idle(self, snapshot: Snapshot, people: Mapping[str, int], now: datetime) -> bool:
        """Whether nothing is due by the last row of the ledger, nobody has done anything since, and no clock is ahead of now."""
        row = snapshot.row
        same = people == {name: row.versions[name] for name in (*DIRECTORY, "edits")}
        in_time = snapshot.furthest is None or snapshot.furthest < now
        return same and in_time and all(due > now for due in row.next_due.values())

    def _people(self) -> dict[str, int]:
        return self._tables.versions((*DIRECTORY, "edits"))

    def _moments(self) -> dict[str, datetime]:
        """When each organization has something to do; absent: never, as things are."""
        assert self._world is not None
        due = due_moments(self._world, suspended={org for org, (row, _) in self._policies.items() if row["suspended"]})
        edits = self._world.tables["edits"].group_by("org").aggregate([("at", "min"), ("at", "count"), ("edit_id", "count")])
        for row in edits.to_pylist():
            if row["org"] in self._policies:
                timeless = row["at_count"] < row["edit_id_count"]  # refused by the next round
                start = [self._last.get(row["org"], self._policies[row["org"]][0]["start"])] if timeless else []
                due[row["org"]] = min(at for at in (row["at_min"], due.get(row["org"]), *start) if at is not None)
        if self._news:
            due |= {org: self._last.get(org, row["start"]) for org, (row, _) in self._policies.items()}
        return {org: moment for org, moment in due.items() if org in self._policies}

    def _by(self, now: datetime, due: Mapping[str, datetime], ahead: bool) -> dict[str, datetime]:
        """Who plays when, of what is due by now; `ahead`: who is ahead of now already goes on to what is due next there."""
        turns = {}
        for org, moment in due.items():
            is_due = moment <= now or self._news
            if org not in self._last or self._last[org] < now:
                if is_due:
                    turns[org] = now
            elif is_due or (ahead and not self._quiet(org)):
                turns[org] = self._cycle(org, moment)
        return {org: at for org, at in turns.items() if at <= LAST}

    def _on_grid(
        self,
        due: Mapping[str, datetime],
        until: datetime | None,
        until_quiet: bool,
        now: datetime | None,
        ends: dict[str, datetime],
    ) -> dict[str, datetime]:
        """Each organization's next cycle, not before it is due, and after its last; with `now` what is due is not later."""
        turns = {}
        for org, moment in due.items():
            if until_quiet and self._quiet(org):
                continue
            at, last = self._cycle(org, moment), self._last.get(org)
            if now:  # who is ahead of now has one cycle to do what is due: by its own clock all that is, is due at once
                ahead = last is not None and last >= now
                end = ends.setdefault(org, self._cycle(org, now) if ahead else now)
                at = now if moment <= now < at and not ahead else at
            else:  # what lies ahead of every clock is waited for, not gone to
                clock = max(datetime.now(UTC), last or self._policies[org][0]["start"])
                end = until or ends.setdefault(org, min(at, clock) + QUIET_WITHIN)
            if at <= min(end, LAST):
                turns[org] = at
        return turns

    def _cycle(self, org: str, moment: datetime) -> datetime:
        """The organization's first cycle that is not before that moment, and after its last round."""
        row, policy = self._policies[org]
        return Grid(row["start"], policy.interval).next_round(moment, self._last.get(org))

    def _quiet(self, org: str) -> bool:
        assert self._world is not None
        rows = {name: self._world.tables[name] for name in ("mail", "edits", "agenda")}
        own = {name: table.filter(pc.equal(table["org"], org)) for name, table in rows.items()}
        waiting = own["mail"].num_rows or own["edits"].num_rows or self._news
        return not waiting and set(own["agenda"]["why"].to_pylist()) <= {Why.EXPIRE}

    # The world

    def _look(self, found: Found | None = None) -> None:
        """Reads the world if it is not known here, else what is new since; `found`: how the lake was a moment ago."""
        if self._world is not None and self._writer is None and self._tables.snapshot().row.round != self._number:
            self._world = None
        snapshot, people = found or (None, self._people())
        if self._world is None:
            self._begin_anew(snapshot or self._tables.snapshot(), people)
        self._take_up(people)

    def _begin_anew(self, snapshot: Snapshot, people: Mapping[str, int]) -> None:
        """The world after that round: of the base left after it, or one left before and the rounds since, else of the facts."""
        base = self._base(snapshot)
        if base or not self._played_again(snapshot):
            self._begin(snapshot, base, people)

    def _played_again(self, snapshot: Snapshot) -> bool:
        """Plays again what was played since a base was left; whether there is such a base, and all gave what the ledger says.

        Where the facts are few, or the rounds are many, the facts are read sooner; and where a store was taken back since, or
        tables were tidied, which the world knows by other versions after that.
        """
        tables, ledger, last = self._tables, self._tables.ledger(), snapshot.row
        if ledger is None or tables.folder is None or all(snapshot.is_at_hand(name) for name in FACTS):
            return False
        numbers = range(max(last.round - AGAIN, 1), last.round)
        rows = {number: Row.read(row) for number in numbers if (row := ledger.row(number))} | {last.round: last}
        if (found := bases.left(tables.folder, lambda round: rows[round].digest if round in rows else None)) is None:
            return False
        round, base = found
        since = [rows[number] for number in range(round + 1, last.round + 1) if number in rows]
        if len(since) < last.round - round or not {row.kind for row in since} <= {"opened", "played"}:
            return False
        self._begin(tables.snapshot(round), base, {**base.directory, "edits": base.cursor})
        with suppress(LakeError, ViolationError, *REFUSALS):
            return all(self._gives_the_same(row) for row in since)
        return False

    def _gives_the_same(self, row: Row) -> bool:
        """Plays the round of that row again; whether it gives what the row says."""
        assert self._world is not None
        if row.kind == "played":
            people = {name: row.versions[name] for name in DIRECTORY} | dict(row.cursors)
            self._follow(people, lambda: replace(self._tables.snapshot(row.round - 1), people=people))
            again = Played(row.round, row.turns, self._new_rows(self._world, row.turns, to_nobody))
            self._last |= row.turns
            self._news = False
            told = {name: digest(name, numbered(again.made[name], row.round)) for name in again.counts}
            if again.counts != row.counts or told != row.facts:
                return False
        self._number, self._digest = row.round, row.digest
        return True

    def _begin(self, snapshot: Snapshot, base: Base | None, people: Mapping[str, int]) -> None:
        """The world after that round: that base, which was left after it, or what the facts say; `people`: what they had said."""
        snapshot = replace(snapshot, people=people)
        self._last = clocks(snapshot)
        self._number, self._digest = snapshot.row.round, snapshot.row.digest
        self._policies, self.unfit = policies_of(**directory(snapshot))
        if base:
            self._cursor, self._directory = base.cursor, dict(base.directory)
            self._world = as_between(self._tables, base.tables, self._scratch.suited)
            self._left = self._number, self._cursor, self._directory
        else:
            self._cursor, self._directory = people["edits"], {name: people[name] for name in DIRECTORY}
            self._world = world_between(snapshot, self._scratch.suited)
            self._repeat(self._world, snapshot)
        self._news = any(version != snapshot.row.versions[name] for name, version in self._directory.items())

    def _base(self, snapshot: Snapshot) -> Base | None:
        """The base that was left after that round; before the first it is empty."""
        if self._tables.folder is None:
            return bases_by_spark.find(self._tables, snapshot.row)
        if not self._tables.is_native:
            return None
        if all(snapshot.untouched(name) for name in FACTS):
            return Base({}, CREATED, {name: CREATED for name in DIRECTORY})
        return bases.find(self._tables.folder, snapshot.row)

    def _repeat(self, world: Between, snapshot: Snapshot) -> None:
        """Edits since the snapshot's round that were taken in before: these too wait, to be refused.

        They are told from others by the versions that brought them. Where the history of the table reaches no longer back
        so far, they stay without an answer; none is taken in again.
        """
        since = snapshot.row.cursors["edits"]
        if since == self._cursor:
            return
        try:
            fresh = self._tables.edits_between(since, self._cursor)
        except REFUSALS:
            return
        self._receive(world, fresh, snapshot, repeats=True)

    def _take_up(self, people: Mapping[str, int]) -> None:
        """What people did since, up to those versions."""
        try:
            self._follow(people, self._tables.snapshot)
        except REFUSALS:  # the history reaches no longer back so far
            self._begin(self._tables.snapshot(), None, people)

    def _follow(self, people: Mapping[str, int], lake: Callable[[], Snapshot]) -> None:
        """What people did up to those versions: entries of the directory, and edits. `lake`: how it stands then."""
        assert self._world is not None
        directory = {name: people[name] for name in DIRECTORY}
        if directory != self._directory:
            self._read_directory(self._world, lake())
            self._directory, self._news = directory, True
        if people["edits"] > self._cursor:
            fresh = self._tables.edits_between(self._cursor, people["edits"])
            self._cursor = people["edits"]
            self._receive(self._world, fresh, lake())

    def _read_directory(self, world: Between, snapshot: Snapshot) -> None:
        known = directory(snapshot)
        self._policies, self.unfit = policies_of(**known)
        world.put_rows("lists", lists_anew(world.tables["lists"], known["stores"]))
        for name in ("stores", "links"):
            world.put_rows(name, known[name])

    def _receive(self, world: Between, fresh: pa.Table, snapshot: Snapshot, repeats: bool = False) -> None:
        """New edits wait to be taken in; `taken` names those of them that were taken in before, within `edit_memory`.

        `repeats`: only those that were ever taken in before, for the others wait already.
        """
        if not fresh.num_rows:
            return
        known = self._taken_in(fresh, snapshot)
        if repeats:
            fresh = having(fresh, known, ("org", "edit_id"))
        memories = {org: policy.edit_memory for org, (_, policy) in self._policies.items()}
        never, ever = (each.replace(tzinfo=UTC) for each in (datetime.max, datetime.min))
        since = {
            org: self._last[org] - memory if org in self._last else ever if memory else never for org, memory in memories.items()
        }
        mine = known.filter(pc.is_in(known["org"], pa.array(since, pa.string())))
        remembered = distinct(mine.filter(pc.greater(mine["at"], of_orgs(mine, since))), ["org", "edit_id"])
        world.append("edits", fresh)
        world.append("taken", remembered.sort_by([("org", "ascending"), ("edit_id", "ascending")]))

    def _taken_in(self, edits: pa.Table, snapshot: Snapshot) -> pa.Table:
        """The receipts of those edits: org, edit_id, at."""
        said = ["org", "edit_id", "at"]
        few = edits.num_rows <= native.FEW
        if few or snapshot.is_at_hand("receipts"):
            edit = pc.field("edit_id")
            found = snapshot.arrow("receipts", edit.isin(edits["edit_id"].unique()) if few else edit.is_valid(), said)
            if found is not None:
                return having(found, edits, ("org", "edit_id"))
        asked = handed(self._tables.spark, edits.select(["org", "edit_id"]), struct("org string, edit_id string"))
        receipts = snapshot.read("receipts").where("edit_id is not null")
        return receipts.join(asked.distinct(), ["org", "edit_id"], "left_semi").select(*said).toArrow()

    # A round

    def _round(self, at: datetime, dry_run: bool = False, *, ahead: bool = False) -> Played:
        found = None
        if self._world is None:
            found = self._tables.snapshot(), self._people()
            if self._is_idle(*found, at):
                return Played()
        return self._play(lambda due: self._by(at, due, ahead), dry_run, found)

    @contextmanager
    def _writing(self) -> Iterator[Writer]:
        """The writer of this lake, kept for the rounds to come, but given up where something fails."""
        if self._writer is None:
            self._writer = Writer(self._tables)
        try:
            yield self._writer
        except BaseException:
            self.close()  # what was written under this number is void; whoever goes on takes the next
            raise

    def _play(
        self,
        choose: Callable[[Mapping[str, datetime]], dict[str, datetime]],
        dry_run: bool = False,
        found: Found | None = None,
    ) -> Played:
        began = datetime.now(UTC)
        with nullcontext() if dry_run else self._writing(), self._scratch:
            self._look(found)
            turns = choose(self._moments())
            if turns and dry_run:
                return self._rehearse(turns)
            if turns and self._taken_over():
                turns = choose(self._moments())
            if turns:
                return self._commit(turns, began)
        if self._writer is not None and self._writer.last is None:
            self.close()
        return Played()

    def _taken_over(self) -> bool:
        """Opens the ledger before the first round; whether others played meanwhile, so that the world was read anew."""
        assert self._writer is not None
        if self._writer.last is not None:
            return False
        snapshot = self._writer.open()
        behind = snapshot.row.round != self._number + 1
        if behind:
            people = self._people()
            self._begin_anew(snapshot, people)
            self._take_up(people)
        self._number, self._digest = snapshot.row.round, snapshot.row.digest
        return behind

    def _rehearse(self, turns: Mapping[str, datetime]) -> Played:
        assert self._world is not None
        trial = Between(lambda: self._tables.spark, suited=self._scratch.suited)
        for name, rows in self._world.tables.items():
            trial.put(name, rows)
        return Played(None, turns, self._new_rows(trial, turns, to_nobody, self.cut), trial.tables)

    def _commit(self, turns: Mapping[str, datetime], began: datetime) -> Played:
        assert self._world is not None and self._writer is not None and self._writer.last is not None
        with Recording(self._tables, self._writer.last.round + 1) as recording:
            made = self._new_rows(self._world, turns, recording.begin, self.cut)
            self._news = False
            played = self._record("played", turns, made, began, recording)
        self._since_left += 1
        if self._since_left >= LEFT_EVERY and self._tables.folder is not None:
            self.leave()
        return played

    def _record(
        self,
        kind: str,
        turns: Mapping[str, datetime],
        made: Rows,
        began: datetime,
        recording: Recording,
        restored: tuple[Restored, ...] = (),
    ) -> Played:
        """The facts, each table by itself, then the row of the ledger that makes them count."""
        assert self._world is not None and self._writer is not None and self._writer.last is not None
        tables, before = self._tables, self._writer.last
        number = before.round + 1
        self._last |= turns
        played = Played(number, turns, made, dict(self._world.tables))
        facts = recording.append({name: made[name] for name in played.counts})
        changing = played.counts if tables.folder is None else FACTS
        versions = {
            **before.versions,
            **tables.versions([*changing, "content"]),
            **self._directory,
            "edits": self._cursor,
        }
        row = Row(
            number, kind, self._writer.name, turns, began, datetime.now(UTC), versions, {"edits": self._cursor},
            played.counts, self._moments(), restored, facts=facts,
        )  # fmt: skip
        self._number, self._digest = number, self._writer.record(row).digest
        return played

    def _new_rows(
        self, world: Between, turns: Mapping[str, datetime], told: Listener, cut_off: Iterable[str] = ()
    ) -> dict[str, pa.Table]:
        """Plays the round on that world; the new rows of every table. `told` is told of most of them before."""
        newcomers = admit(world, turns)
        cut = [{"org": org, "store": name, "cut": True, "down": False} for org in turns for name in sorted(cut_off)]
        world.reset("conditions", cut)
        try:
            made = world.play({org: turn(*self._policies[org], now) for org, now in turns.items()}, told)
        except (*REFUSALS, OSError) as error:  # an executor is lost, or what lay there, or there is no room
            raise _unmade(error) from error
        if made["violations"].num_rows:
            raise _violated(made["violations"])
        made["replicas"] = with_rows(made["replicas"], newcomers)
        made["backfill"] = with_rows(made["backfill"], named(made, turns))
        _forget_repeats(world)
        return made


def _unmade(error: BaseException) -> LakeError:
    """What went wrong in a line, of the pages that Java says."""
    said = re.search(r"\[[A-Z][A-Z0-9_.]+\].*", str(error)) or re.search(r"(?m)^(?!An error occurred)[:\s]*(\S.*)", str(error))
    told = said[said.lastindex or 0][:300].rstrip(". ") if said else type(error).__name__
    return LakeError(f"The round could not be made: {told}. It does not count, and the lake is as it was before; play it again.")


def _violated(violations: pa.Table) -> ViolationError:
    [first] = violations.slice(0, 1).to_pylist()
    return ViolationError(
        f"The round breaks {first['check']} ({violations.num_rows} rows), such as {first['origin']}:{first['cn_min']}-"
        f"{first['cn_max']} in {first['folder']} at {first['store']} of {first['org']!r}. It does not count, and the lake is "
        "as it was before; `pfspark rules` and `audit` say more."
    )


def admit(world: Between, turns: Mapping[str, datetime]) -> pa.Table:
    """The replicas of the hierarchy that new stores get; one that joins others asks them for status (R86, R131)."""
    hierarchies = world.tables["replicas"].filter(pc.equal(world.tables["replicas"]["folder"], HIERARCHY))
    stores = world.tables["stores"]
    playing = pc.and_(pc.is_in(stores["org"], pa.array(turns, pa.string())), pc.invert(pc.fill_null(stores["retired"], False)))
    new = lacking(stores.filter(playing).select(["org", "store"]), hierarchies, STORE)
    new = with_columns(new, folder=HIERARCHY, now=of_orgs(new, turns))
    asking = new.filter(pc.is_in(new["org"], hierarchies["org"].combine_chunks()))
    begun = with_columns(new, life=1, standing=str(Standing.ACTIVE), at=new["now"])
    world.append("replicas", begun)
    nobody = pa.nulls(asking.num_rows, pa.timestamp("us", "UTC"))
    world.append("agenda", with_columns(asking, why=str(Why.ASK), peer="", attempt=0, since=nobody, due=asking["now"]))
    return begun


def named(made: Rows, turns: Mapping[str, datetime]) -> pa.Table:
    """Rows of `backfill` for those who were named to answer a status request, and so count as asked last (R126)."""
    contacts, asked = made["contacts"], made["backfill"].select(["org", "store", "of"])
    now = contacts.filter(pc.equal(contacts["asked"], of_orgs(contacts, turns)))
    others = lacking(now.select([*PAIR, "asked"]), asked.rename_columns(PAIR), PAIR)
    return with_columns(others, step="named").rename_columns({"peer": "of", "asked": "at"})


def of_orgs(rows: pa.Table, moments: Mapping[str, datetime]) -> pa.ChunkedArray:
    """The moment of the organization of each row; null where there is none."""
    orgs, times = pa.array(moments, pa.string()), pa.array(moments.values(), pa.timestamp("us", "UTC"))
    return pc.take(times, pc.index_in(rows["org"], orgs))


def _forget_repeats(world: Between) -> None:
    """Edits that were taken in before and are not due yet need not wait to be refused."""
    if world.tables["taken"].num_rows:
        world.put("edits", lacking(world.tables["edits"], world.tables["taken"], ("org", "edit_id")))
        world.reset("taken", ())


def with_rows(table: pa.Table, rows: pa.Table) -> pa.Table:
    """With those rows, which need not have all columns."""
    some = rows.select([name for name in table.column_names if name in rows.column_names])
    return pa.concat_tables([table, some], promote_options="default") if rows.num_rows else table
