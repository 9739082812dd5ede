"""The world of a lake as rounds go on with it: known after one of them, and carried on with what people do and rounds make.

A world that is read from the tables and one that was carried through any number of rounds are the same, so a process may end
between any two rounds, or within one, and another goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc

from pfspark.between import Between, due_moments
from pfspark.edge.delta import native
from pfspark.edge.delta.damage import REFUSALS
from pfspark.edge.delta.digests import digest, numbered
from pfspark.edge.delta.ledger import FACTS, Row, counts_of
from pfspark.edge.delta.snapshot import CREATED, Snapshot
from pfspark.edge.delta.tables import Tables
from pfspark.edge.spark.crossing import to_frame
from pfspark.edge.world import bases, bases_by_spark
from pfspark.edge.world.bases import Base
from pfspark.edge.world.directory import DIRECTORY, directory, policies_of, told_anew, turn
from pfspark.edge.world.facts import as_between, world_between
from pfspark.edge.world.rounds import new_rows
from pfspark.edge.world.turns import clocks, told_since
from pfspark.errors import LakeError, ViolationError
from pfspark.execute import Listener, to_nobody
from pfspark.keyed import distinct, of_orgs, semi_join
from pfspark.materializer import Materializer
from pfspark.rows import struct
from pfspark.said import lists_anew
from pfspark.schedules import Grid
from pfspark.words import Kind, Why

LEFT_EVERY = 20
"""Rounds after which a base is left in a folder, though more are to come: if the process is killed, no more are played again."""
AGAIN = 2 * LEFT_EVERY
"""Rows of the ledger among which so many rounds are: every second row may only have opened a number."""


class Carried:
    """The world after one of a lake's rounds, and what people did since."""

    def __init__(
        self, tables: Tables, snapshot: Snapshot, base: Base | None, people: Mapping[str, int], materializer: Materializer
    ) -> None:
        """Of that base, which was left after the snapshot's round, or of what the facts say; `people`: the versions at which is
        what people had said. `materializer` says how its rounds are made."""
        snapshot = replace(snapshot, people=people)
        self._tables = tables
        self.number, self.digest = snapshot.row.round, snapshot.row.digest
        """The round, and the digest of its row."""
        self.last = clocks(snapshot)
        """The time of each organization's last round."""
        self._entries = directory(snapshot)
        self.policies, self.unfit = policies_of(**self._entries)
        """Each organization's entry and policy; and what is wrong with those that do not play."""
        self.left: tuple[int, int, dict[str, int]] | None = None
        """Where it was (`here`) when a base was left or found."""
        self.since_left = 0
        """Rounds that were played since."""
        if base:
            self.cursor, self.directory = base.cursor, dict(base.directory)
            self.world = as_between(tables, base.tables, materializer)
            self.left = self.here
        else:
            self.cursor, self.directory = people["edits"], {name: people[name] for name in DIRECTORY}
            self.world = world_between(snapshot, materializer)
            self._repeat(snapshot)
        self.news: dict[str, set[str]] = {}
        """The organizations of which the directory says something else than when they were played last, each with its stores
        that were retired then."""
        self._hear(told_since(snapshot, self.policies, self._entries))

    @property
    def here(self) -> tuple[int, int, dict[str, int]]:
        """The round, and what people had said by then."""
        return self.number, self.cursor, dict(self.directory)

    def leave(self) -> None:
        """Leaves itself as a base for whoever comes next."""
        if self.left == self.here:
            return
        base = Base(self.world.tables, self.cursor, self.directory)
        if self._tables.folder is not None:
            bases.leave(self._tables.folder, base, self.number, self.digest)
        else:
            bases_by_spark.leave(self._tables, base, self.number, self.digest)
        self.left, self.since_left = self.here, 0

    # What there is to do

    def moments(self) -> dict[str, datetime]:
        """When each organization has something to do; absent: never, as things are."""
        due = due_moments(self.world, suspended={org for org, (row, _) in self.policies.items() if row["suspended"]})
        edits = self.world.tables["edits"].group_by("org").aggregate([("at", "min"), ("at", "count"), ("edit_id", "count")])
        for row in edits.to_pylist():
            if row["org"] in self.policies:
                timeless = row["at_count"] < row["edit_id_count"]  # refused by the next round
                start = [self.last.get(row["org"], self.policies[row["org"]].row["start"])] if timeless else []
                due[row["org"]] = min(at for at in (row["at_min"], due.get(row["org"]), *start) if at is not None)
        due |= {org: self.last.get(org, row["start"]) for org, (row, _) in self.policies.items() if org in self.news}
        return {org: moment for org, moment in due.items() if org in self.policies}

    def cycle(self, org: str, moment: datetime) -> datetime:
        """The organization's first cycle that is not before that moment, and after its last round."""
        row, policy = self.policies[org]
        return Grid(row["start"], policy.interval).next_round(moment, self.last.get(org))

    def is_quiet(self, org: str) -> bool:
        """Whether nothing is left for the organization to do but what the calendar repeats for ever."""
        rows = {name: self.world.tables[name] for name in ("mail", "edits", "agenda")}
        own = {name: table.filter(pc.equal(table["org"], org)) for name, table in rows.items()}
        waiting = own["mail"].num_rows or own["edits"].num_rows or org in self.news
        return not waiting and set(own["agenda"]["why"].to_pylist()) <= {Why.EXPIRE}

    # A round

    def play(
        self, turns: Mapping[str, datetime], told: Listener = to_nobody, cut_off: Iterable[str] = (), on: Between | None = None
    ) -> dict[str, pa.Table]:
        """Plays a round, on this world or a copy of it; its new rows (`rounds.new_rows`)."""
        clock = {org: turn(*self.policies[org], now, self.last.get(org)) for org, now in turns.items()}
        news = {org: stores for org, stores in self.news.items() if org in turns}
        made = new_rows(on or self.world, clock, news, told, cut_off)
        if on is None:
            self.news = {org: stores for org, stores in self.news.items() if org not in turns}
        return made

    def gives_the_same(self, row: Row) -> bool:
        """Plays the round of that row of the ledger, the next one, again; whether it gives what the row says."""
        if row.kind == Kind.PLAYED:
            people = {name: row.versions[name] for name in DIRECTORY} | dict(row.cursors)
            self.follow(people, lambda: replace(self._tables.snapshot(row.round - 1), people=people))
            made = self.play(row.turns)
            self.last |= row.turns
            counts = counts_of(made)
            told = {name: digest(name, numbered(made[name], row.round)) for name in counts}
            if counts != row.counts or told != row.facts:
                return False
        self.number, self.digest = row.round, row.digest
        return True

    # What people did

    def follow(self, people: Mapping[str, int], lake: Callable[[], Snapshot]) -> None:
        """Takes up what people did up to those versions: entries of the directory, and edits. `lake`: how it stands then.

        Raises what Spark does where the history of a table no longer reaches back so far.
        """
        entries = {name: people[name] for name in DIRECTORY}
        if entries != self.directory:
            before = self._entries
            self._read_directory(lake())
            self.directory = entries
            self._hear(told_anew(before, self._entries))
        if people["edits"] > self.cursor:
            fresh = self._tables.edits_between(self.cursor, people["edits"])
            self.cursor = people["edits"]
            self._receive(fresh, lake())

    def _read_directory(self, snapshot: Snapshot) -> None:
        self._entries = known = directory(snapshot)
        self.policies, self.unfit = policies_of(**known)
        self.world.replace("lists", lists_anew(self.world.tables["lists"], known["stores"]))
        for name in ("stores", "links"):
            self.world.replace(name, known[name])

    def _hear(self, told: Mapping[str, Iterable[str]]) -> None:
        for org, stores in told.items():
            self.news.setdefault(org, set()).update(stores)

    def _repeat(self, snapshot: Snapshot) -> None:
        """Edits since the snapshot's round that were taken in before: these too wait, to be refused.

        They are told from others by the versions that brought them. Where the history of the table reaches no longer back
        so far, they stay without an answer; none is taken in again.
        """
        since = snapshot.row.cursors["edits"]
        if since == self.cursor:
            return
        try:
            fresh = self._tables.edits_between(since, self.cursor)
        except REFUSALS:
            return
        self._receive(fresh, snapshot, repeats=True)

    def _receive(self, fresh: pa.Table, snapshot: Snapshot, repeats: bool = False) -> None:
        """New edits wait to be taken in; `taken` names those of them that were taken in before, within `edit_memory`.

        `repeats`: only those that were ever taken in before, for the others wait already.
        """
        if not fresh.num_rows:
            return
        known = taken_in(fresh, snapshot)
        if repeats:
            fresh = semi_join(fresh, known, ("org", "edit_id"))
        memories = {org: policy.edit_memory for org, (_, policy) in self.policies.items()}
        never, ever = (each.replace(tzinfo=UTC) for each in (datetime.max, datetime.min))
        since = {
            org: self.last[org] - memory if org in self.last else ever if memory else never for org, memory in memories.items()
        }
        mine = known.filter(pc.is_in(known["org"], pa.array(since, pa.string())))
        remembered = distinct(mine.filter(pc.greater(mine["at"], of_orgs(mine, since))), ["org", "edit_id"])
        self.world.append("edits", fresh)
        self.world.append("taken", remembered.sort_by([("org", "ascending"), ("edit_id", "ascending")]))


def known_after(tables: Tables, snapshot: Snapshot, people: Mapping[str, int], materializer: Materializer) -> Carried:
    """The world after that round: of the base left after it, or one left before and the rounds since, else of the facts."""
    base = base_after(tables, snapshot)
    again = None if base else _played_again(tables, snapshot, materializer)
    return again or Carried(tables, snapshot, base, people, materializer)


def taken_in(edits: pa.Table, snapshot: Snapshot) -> pa.Table:
    """The receipts of those edits: org, edit_id, at."""
    return naming(edits, snapshot, "receipts", ("org", "edit_id", "at"))


def naming(edits: pa.Table, snapshot: Snapshot, name: str, columns: Sequence[str]) -> pa.Table:
    """The rows of that table that name one of those edits (org, edit_id), in those columns: few are asked for by their names."""
    few = edits.num_rows <= native.FEW
    if few or snapshot.is_at_hand(name):
        edit = pc.field("edit_id")
        found = snapshot.arrow(name, edit.isin(edits["edit_id"].unique()) if few else edit.is_valid(), columns)
        if found is not None:
            return semi_join(found, edits, ("org", "edit_id"))
    asked = to_frame(snapshot.tables.spark, edits.select(["org", "edit_id"]), struct("org string, edit_id string"))
    rows = snapshot.read(name).where("edit_id is not null")
    return rows.join(asked.distinct(), ["org", "edit_id"], "left_semi").select(*columns).toArrow()


def base_after(tables: Tables, snapshot: Snapshot) -> Base | None:
    """The base that was left after that round, or after the last one before that counts; before the first it is empty."""
    if tables.folder is None:
        return bases_by_spark.find(tables, snapshot.row)
    if not tables.is_native:
        return None
    if all(snapshot.untouched(name) for name in FACTS):
        return Base({}, CREATED, {name: CREATED for name in DIRECTORY})
    counts = snapshot.row.round
    while counts in snapshot.void:  # whoever was ended in a round leaves its number, and no fact
        counts -= 1
    return bases.find(tables.folder, snapshot.row if counts == snapshot.row.round else tables.snapshot(counts).row)


def _played_again(tables: Tables, snapshot: Snapshot, materializer: Materializer) -> Carried | None:
    """Of the last base that was left before, with the rounds since played again; None where there is none, or one of them does
    not give what the ledger says.

    Where the facts are few, or the rounds are many, the facts are read sooner; and where a store was taken back since, or
    tables were tidied, which the world knows by other versions after that.
    """
    ledger, last = tables.ledger(), snapshot.row
    if ledger is None or tables.folder is None or all(snapshot.is_at_hand(name) for name in FACTS):
        return None

    def digest_of(round: int) -> str | None:
        row = ledger.row(round) if last.round - AGAIN <= round <= last.round else None
        return None if row is None else str(row["digest"])

    if (found := bases.left(tables.folder, digest_of)) is None:
        return None
    round, base = found
    since = [Row.read(row) for number in range(round + 1, last.round + 1) if (row := ledger.row(number))]
    if len(since) < last.round - round or not {row.kind for row in since} <= {Kind.OPENED, Kind.PLAYED}:
        return None
    with suppress(LakeError, ViolationError, *REFUSALS):  # as where the history no longer reaches back to that base
        known = Carried(tables, tables.snapshot(round), base, {**base.directory, "edits": base.cursor}, materializer)
        if all(known.gives_the_same(row) for row in since):
            known.since_left = sum(row.kind == Kind.PLAYED for row in since)
            return known
    return None
