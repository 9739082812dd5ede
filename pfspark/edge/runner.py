"""Playing the rounds of a lake: its world carried on from one to the next, the new rows appended, the ledger row last."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import pyarrow as pa

from pfspark import restarts, said
from pfspark.between import Between
from pfspark.edge import repeats
from pfspark.edge.delta.damage import REFUSALS
from pfspark.edge.delta.ledger import FACTS, Restored, Row, counts_of
from pfspark.edge.delta.snapshot import Snapshot
from pfspark.edge.delta.tables import Tables
from pfspark.edge.delta.writer import Writer
from pfspark.edge.keeping import upkeep
from pfspark.edge.recording import Recording
from pfspark.edge.spark.fit import expect_fit
from pfspark.edge.world import acceptable, bases, bases_by_spark, carried, losing, restoring
from pfspark.edge.world.carried import Carried, base_after, known_after
from pfspark.edge.world.directory import DIRECTORY
from pfspark.edge.world.facts import as_between
from pfspark.edge.world.scratch import Scratch
from pfspark.keyed import ByName
from pfspark.printed import Line
from pfspark.rows import rows_of
from pfspark.tables import TABLES
from pfspark.words import LAST, Kind

QUIET_WITHIN = timedelta(days=90)
"""How far `run` looks for quiet when no end is named: longer than any time-out, repeats included."""
LOOK_AGAIN = 2.0
"""Seconds between two looks at what people have done, when rounds are played as time goes by."""
LOOKED_AT_EVERY = 100
"""Rounds after which is looked at which version of a catalog's tables each says what it does."""

Found = tuple[Snapshot, Mapping[str, int]]
"""A lake after its last round, and at which versions is what people say."""
Choice = Callable[[Carried], dict[str, datetime]]
"""Who plays when, of who has something to do."""
T = TypeVar("T")


@dataclass(frozen=True)
class Played:
    """What a round did: its number (None: it was idle, or a dry run), who played when, the new rows, the world after it."""

    round: int | None = None
    turns: Mapping[str, datetime] = field(default_factory=dict)
    made: ByName = field(default_factory=dict)
    world: ByName = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """How many rows came to each table."""
        return counts_of(self.made)


class Runner:
    """Plays the rounds of one lake."""

    def __init__(self, tables: Tables) -> None:
        """Nothing is read or locked before there is something to play."""
        self._tables = tables
        self._scratch = Scratch(tables)
        self._writer: Writer | None = None
        self._known: Carried | None = None
        """The world, if it is known."""
        self.unfit: Mapping[str, str] = {}
        """Organizations that do not play, as their entries in the directory cannot be followed, each with what is wrong."""
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
        if until or until_quiet or now:
            while (played := self._play(lambda known: turns_on_grid(known, until, until_quiet, now, ends))).turns:
                yield played
            return
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

    def restore(
        self,
        org: str,
        store: str,
        to: int,
        then: ByName,
        now: datetime | None = None,
        *,
        again: bool = False,
        agreed: Iterable[Line] | None = None,
    ) -> Played:
        """Takes a store's own rows back to those of an earlier round; its replicas begin a new life and ask for status.

        `to` is the number of that round, `then` the world that it left. `now` is the organization's time, of the clock on the
        wall if none is given; never before its last round. The edits of what is lost are said `again` before the restore
        counts: who is ended between the two has lost nothing, and restores once more (an edit said twice is taken in once).
        `agreed`: the losses that are; raises RefusedError where there are more by now (None: whatever they are), unless they are
        said `again`.
        """
        began = datetime.now(UTC)
        with self._writing() as writer:
            known = self._taken_over(self._look(), writer)
            assert writer.last is not None
            at = now or began
            at = max(at, known.last.get(org, at))
            losses = losing.losses(org, store, known.world.tables, then)
            if agreed is not None and not again:
                losing.expect_no_more(losses, agreed)
            acceptable.expect_taken_in(org, store, known.world.tables, then, at)
            if again and (taken := list(losses)):
                losing.expect_arrived(org, store, taken, known.world.tables)
                lost = losing.lost_changes(org, taken, known.world.tables["changes"])
                acceptable.expect_replicas(org, store, taken, lost, then)
                edits = self._said_again(org, store, lost, at)
                acceptable.expect_known(org, store, edits, known.world.tables["changes"], then)
                self._tables.append("edits", rows_of("edits", edits))
            restarts.restore(known.world, org, store, then, at)
            made = restoring.facts(known.world, org, store, at)
            with Recording(self._tables, writer.last.round + 1) as recording:
                return self._record(known, writer, Kind.RESTORED, {org: at}, made, began, recording, (Restored(org, store, to),))

    def _said_again(self, org: str, store: str, lost: pa.Table, at: datetime) -> list[Line]:
        """The edits of changes that are `lost`, as they are said again at that store."""
        snapshot = self._tables.snapshot()

        def taken_in(names: set[str]) -> set[str]:
            asked = pa.table({"org": [org] * len(names), "edit_id": sorted(names)})
            return {*carried.taken_in(asked, snapshot)["edit_id"].to_pylist()}

        names = repeats.names_again(lost["edit_id"].to_pylist(), taken_in)
        edits = said.legible(carried.naming(lost, snapshot, "edits", TABLES["edits"].names))
        return restoring.again(store, lost, edits, names, at)

    def maintain(self, now: datetime | None, told: Callable[[str], object]) -> dict[str, int]:
        """Upkeep of the tables, in a round of its own; how many rows went from each. No answer changes.

        `now` says how old bodies of deleted items are: the clock on the wall if None, never before the last round.
        """
        moment = now or datetime.now(UTC)

        def keep_up(known: Carried) -> tuple[dict[str, int], dict[str, str]]:
            times = {org: max(moment, known.last.get(org, row["start"])) for org, (row, _) in known.policies.items()}
            policies = {org: policy for org, (_, policy) in known.policies.items()}
            retention = upkeep.Retention.of(known.world.tables, times, policies, known.unfit)
            return upkeep.keep_up(self._tables.snapshot(), retention, told)

        return self.tend(keep_up)

    def tend(self, work: Callable[[Carried], tuple[T, Mapping[str, str]]]) -> T:
        """Work on the tables themselves, in a round of its own. It gives what is returned, and the digests of what it
        wrote anew, which the ledger keeps.

        Where the work changes answers, the caller closes the runner afterwards.
        """
        began = datetime.now(UTC)
        with self._writing() as writer:
            known = self._taken_over(self._look(), writer)
            assert writer.last is not None
            done, facts = work(known)
            row, tables = writer.last, self._tables
            # What people have said since is news to the next round; that a table was tidied is none.
            settled = {name: tables.settled(name, row.versions[name]) for name in (*DIRECTORY, "edits")}
            known.directory = {name: tables.settled(name, version) for name, version in known.directory.items()}
            known.cursor = tables.settled("edits", known.cursor)
            versions = {**row.versions, **tables.versions((*FACTS, "content")), **settled}
            cursors, ended = {"edits": settled["edits"]}, datetime.now(UTC)
            known.number = row.round + 1
            maintained = Row(
                round=known.number, kind=Kind.MAINTAINED, writer=writer.name, began=began, ended=ended,
                versions=versions, cursors=cursors, next_due=row.next_due,
            )  # fmt: skip
            known.digest = writer.record(replace(maintained, facts=facts)).digest
            return done

    def at_hand(self) -> Between | None:
        """The world, if it is known without reading all facts."""
        if self._known is None:
            snapshot = self._tables.snapshot()
            if (base := base_after(self._tables, snapshot)) is None:
                return None
            self._known = Carried(self._tables, snapshot, base, self._people(), self._scratch.materializer)
        return self.world()

    def at_hand_after(self, round: int) -> Between | None:
        """The world, if it is known without reading all facts, and that is the last round."""
        world = self.at_hand()
        return world if self._known is not None and self._known.number == round else None

    def forget(self) -> None:
        """Takes away the base, and what is known here: the facts are read anew."""
        if self._tables.folder is not None:
            bases.drop(self._tables.folder)
        else:
            bases_by_spark.drop(self._tables)
        self.close()

    def leave(self) -> None:
        """Leaves the world as a base for whoever comes next; where that takes Spark, who has only read leaves none."""
        if self._known is not None and (self._tables.folder is not None or self._writer is not None):
            self._known.leave()

    def due(self) -> dict[str, datetime]:
        """When each organization has something to do; absent: never, as things are."""
        return self._look().moments()

    def world(self) -> Between:
        """The world as the last round left it, with what people did since."""
        return self._look().world

    def close(self) -> None:
        """Gives the lake back and forgets its world."""
        self._known = None
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
        edits = self._tables.version("edits")  # first: the stores that they name are there by then
        return {**self._tables.versions(DIRECTORY), "edits": edits}

    # The world

    def _look(self, found: Found | None = None) -> Carried:
        """Reads the world if it is not known here, else what is new since; `found`: how the lake was a moment ago."""
        others_may_play = self._writer is None or self._writer.last is None
        known = self._known
        if known is not None and others_may_play:
            row = self._tables.snapshot().row
            known = known if (row.round, row.digest) == (known.number, known.digest) else None
        if known is not None:
            return self._taken_up(known, self._people())
        snapshot, people = found or (self._tables.snapshot(), self._people())  # in this order: nothing said is passed over
        self._known = known_after(self._tables, snapshot, people, self._scratch.materializer)
        return self._taken_up(self._known, people)

    def _taken_up(self, known: Carried, people: Mapping[str, int]) -> Carried:
        """That world with what people did since, up to those versions."""
        try:
            known.follow(people, lambda: replace(self._tables.snapshot(), people=people))
        except REFUSALS:  # the history reaches no longer back so far
            self._known = None
            known = Carried(self._tables, self._tables.snapshot(), None, self._people(), self._scratch.materializer)
        except BaseException:  # half of what they did is no world to go on with
            self._known = None
            raise
        self._known, self.unfit = known, known.unfit
        return known

    # A round

    def _round(self, at: datetime, dry_run: bool = False, *, ahead: bool = False) -> Played:
        found = None
        if self._known is None:
            found = self._tables.snapshot(), self._people()
            if self._is_idle(*found, at):
                return Played()
        play = self._rehearse if dry_run else self._play
        return play(lambda known: turns_by(known, at, ahead), found)

    @contextmanager
    def _writing(self) -> Iterator[Writer]:
        """The writer of this lake, kept for the rounds to come, but given up where something fails."""
        if self._writer is None:
            self._writer = Writer(self._tables, self._tables.snapshot)
        try:
            self._writer.expect_its_lake()
            yield self._writer
        except BaseException:
            self.close()  # what was written under this number is void; whoever goes on takes the next
            raise

    def _play(self, choose: Choice, found: Found | None = None) -> Played:
        """A round of those whom the choice says, if it says any; `found`: how the lake was a moment ago."""
        began = datetime.now(UTC)
        with self._scratch:
            known = self._look(found) if self._writer is None else None
            if known and not choose(known):  # nobody plays: nothing is locked, and what is known is kept
                return Played()
            with self._writing() as writer:
                known = self._taken_over(known or self._look(), writer)
                turns = choose(known)
                return self._commit(known, writer, turns, began) if turns else Played()

    def _rehearse(self, choose: Choice, found: Found | None = None) -> Played:
        """What such a round would be, played on a copy of the world; nothing is written."""
        with self._scratch:
            known = self._look(found)
            turns = choose(known)
            if not turns:
                return Played()
            self._expect_fit()
            trial = as_between(self._tables, known.world.tables, self._scratch.materializer)
            return Played(None, turns, known.play(turns, cut_off=self.cut, on=trial), trial.tables)

    def _taken_over(self, known: Carried, writer: Writer) -> Carried:
        """Opens the ledger before the first round; the world as it stands then: where others played meanwhile it is read anew."""
        if writer.last is not None:
            return known
        snapshot = writer.open()
        if snapshot.row.sealed(known.digest) != snapshot.row:
            people = self._people()
            known = self._taken_up(known_after(self._tables, snapshot, people, self._scratch.materializer), people)
        known.number, known.digest = snapshot.row.round, snapshot.row.digest
        return known

    def _commit(self, known: Carried, writer: Writer, turns: Mapping[str, datetime], began: datetime) -> Played:
        assert writer.last is not None
        self._expect_fit()
        self._tables.gather()
        with Recording(self._tables, writer.last.round + 1) as recording:
            made = known.play(turns, recording.begin, self.cut)
            played = self._record(known, writer, Kind.PLAYED, turns, made, began, recording)
        known.since_left += 1
        if known.since_left >= carried.LEFT_EVERY and self._tables.folder is not None:
            known.leave()
        return played

    def _expect_fit(self) -> None:
        """A session that is started later is looked at then."""
        if not callable(spark := self._tables.session):
            expect_fit(spark)

    def _record(
        self,
        known: Carried,
        writer: Writer,
        kind: str,
        turns: Mapping[str, datetime],
        made: ByName,
        began: datetime,
        recording: Recording,
        restored: tuple[Restored, ...] = (),
    ) -> Played:
        """The facts, each table by itself, then the row of the ledger that makes them count."""
        assert writer.last is not None
        tables, before = self._tables, writer.last
        number = before.round + 1
        known.last |= turns
        played = Played(number, turns, made, dict(known.world.tables))
        facts = recording.append({name: made[name] for name in played.counts})
        # A catalog is asked of each table by itself; now and then of all, for what others tidy goes from beneath old versions.
        changing = FACTS if tables.folder is not None or number % LOOKED_AT_EVERY == 0 else played.counts
        people = {**known.directory, "edits": known.cursor}
        versions = {**before.versions, **tables.versions([*changing, "content"]), **people}
        row = Row(
            round=number, kind=kind, writer=writer.name, turns=turns, began=began, ended=datetime.now(UTC), versions=versions,
            cursors={"edits": known.cursor}, counts=played.counts, next_due=known.moments(), restored=restored, facts=facts,
        )  # fmt: skip
        known.number, known.digest = number, writer.record(row).digest
        return played


def turns_by(known: Carried, now: datetime, ahead: bool) -> dict[str, datetime]:
    """Who plays when, of what is due by now; `ahead`: who is ahead of now already goes on to what is due next there."""
    turns = {}
    for org, moment in known.moments().items():
        is_due = moment <= now or org in known.news
        if org not in known.last or known.last[org] < now:
            if is_due:
                turns[org] = now
        elif is_due or (ahead and not known.is_quiet(org)):
            turns[org] = known.cycle(org, moment)
    return {org: at for org, at in turns.items() if at <= LAST}


def turns_on_grid(
    known: Carried, until: datetime | None, until_quiet: bool, now: datetime | None, ends: dict[str, datetime]
) -> dict[str, datetime]:
    """Each organization's next cycle, not before it is due, and after its last; with `now` what is due is not later."""
    turns = {}
    for org, moment in known.moments().items():
        if until_quiet and known.is_quiet(org):
            continue
        at, last = known.cycle(org, moment), known.last.get(org)
        if now:  # who is ahead of now has one cycle to do what is due: by its own clock all that is, is due at once
            ahead = last is not None and last >= now
            end = ends.setdefault(org, known.cycle(org, now) if ahead else now)
            at = now if moment <= now < at and not ahead else at
        else:  # what lies ahead of every clock is waited for, not gone to
            clock = max(datetime.now(UTC), last or known.policies[org].row["start"])
            end = until or ends.setdefault(org, min(at, clock) + QUIET_WITHIN)
        if at <= min(end, LAST):
            turns[org] = at
    return turns
