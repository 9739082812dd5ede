"""A lake of invented organizations: what `pfspark play --lake` writes, round for round."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pfspark.between import Between
from pfspark.edge.config import conf_folder
from pfspark.edge.delta.digests import digest, numbered
from pfspark.edge.delta.ledger import LEDGER, Restored, Row, counts_of
from pfspark.edge.delta.tables import Tables
from pfspark.edge.delta.writer import Writer
from pfspark.edge.world import restoring
from pfspark.edge.world.rounds import named, with_rows
from pfspark.keyed import ByName
from pfspark.rows import rows_of
from pfspark.settings import differences, load_profile
from pfspark.sim.scenario import Scenario
from pfspark.tables import TABLES
from pfspark.units import TICK
from pfspark.words import Kind

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Written:
    """Keeps what is played in a lake (`sim.player.Record`), so that it can be asked, and played on, like any other."""

    def __init__(self, tables: Tables, writer: Writer, scenarios: Sequence[Scenario]) -> None:
        """`tables`: a new lake, of which `writer` has just taken the next number."""
        self._tables = tables
        self._writer = writer
        self._scenarios = {scenario.name: scenario for scenario in scenarios}
        self._entries = {scenario.name: _organization(scenario) for scenario in scenarios}
        self._began = datetime.now(UTC)
        self._rounds: list[tuple[int, Mapping[str, datetime]]] = []

    def begin(self, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """The directory, and the changes, replicas and states that the stores have at the start."""
        self._tables.append("organizations", rows_of("organizations", self._entries.values()))
        dated = {name: [{"at": self._scenarios[row["org"]].start, **row} for row in some] for name, some in rows.items()}
        directory = {"stores": [self._with_cycle(row) for row in dated["stores"]], "links": dated.get("links", ())}
        for name, entries in directory.items():
            self._tables.append(name, rows_of(name, entries))
        facts = ("changes", "state", "replicas")
        self._write({name: rows_of(name, dated.get(name, ()), ("round",)) for name in facts}, {}, {})

    def round(
        self,
        turns: Mapping[str, datetime],
        edits: Sequence[Mapping[str, Any]],
        made: ByName,
        due: Mapping[str, datetime],
        suspended: Collection[str],
    ) -> None:
        """A round; its edits before its facts, and what is said of organizations too, as when people make them."""
        self._say(turns, suspended)
        if edits:
            self._tables.append("edits", rows_of("edits", edits))
        self._write({**made, "backfill": with_rows(made["backfill"], named(made, turns))}, turns, due)

    def restored(self, org: str, store: str, to: datetime, now: datetime, world: Between) -> None:
        """A store taken back: what it knows, written anew; see `restoring`."""
        number = max(number for number, turns in self._rounds if not turns or turns.get(org, now) <= to)
        taken_back = (Restored(org, store, number),)
        self._write(restoring.facts(world, org, store, now), {org: now}, {}, taken_back)

    def _with_cycle(self, store: Mapping[str, Any]) -> Mapping[str, Any]:
        """A store whose cycle is the policy's says so itself where rounds come more or less often: what a lake says of an
        organization's interval is said of its rounds too."""
        scenario = self._scenarios[store["org"]]
        if store["interval_s"] or scenario.policy.interval == scenario.interval:
            return store
        return {**store, "interval_s": int(scenario.policy.interval.total_seconds())}

    def _say(self, turns: Mapping[str, datetime], suspended: Collection[str]) -> None:
        """What the directory has of those that are suspended from now on, or are not any more."""
        changed = []
        for org, now in turns.items():
            entry = self._entries[org]
            if entry["suspended"] != (org in suspended):
                self._entries[org] = {**entry, "suspended": org in suspended, "at": max(now, entry["at"] + TICK)}
                changed.append(self._entries[org])
        if changed:
            self._tables.append("organizations", rows_of("organizations", changed))

    def _write(
        self,
        made: ByName,
        turns: Mapping[str, datetime],
        due: Mapping[str, datetime],
        restored: tuple[Restored, ...] = (),
    ) -> None:
        assert self._writer.last is not None
        number = self._writer.last.round + 1
        self._rounds.append((number, turns))
        counts = counts_of(made)
        for name in counts:
            self._tables.append(name, made[name], number)
        facts = {name: digest(name, numbered(made[name], number)) for name in counts}
        versions = self._tables.versions(name for name in TABLES if name != LEDGER)
        cursors, ended = {"edits": versions["edits"]}, datetime.now(UTC)
        kind = Kind.RESTORED if restored else Kind.PLAYED if turns else Kind.CREATED
        row = Row(
            round=number, kind=kind, writer=self._writer.name, turns=turns, began=self._began, ended=ended,
            versions=versions, cursors=cursors, counts=counts, next_due=due, restored=restored, facts=facts,
        )  # fmt: skip
        self._writer.record(row)
        self._began = ended


@contextmanager
def written(spark: SparkSession, where: str, scenarios: Sequence[Scenario]) -> Iterator[Written]:
    """A new lake, for what is going to be played."""
    tables = Tables.create(spark, where)
    with tables.writing() as writer:
        writer.open()
        yield Written(tables, writer, scenarios)


def _organization(scenario: Scenario) -> dict[str, Any]:
    policy = scenario.policy.model_copy(update={"interval": scenario.interval})
    options = differences(policy, load_profile(scenario.profile, conf_folder()))
    return {
        "org": scenario.name, "profile": scenario.profile, "options": json.dumps(options, sort_keys=True),
        "start": scenario.start, "suspended": False, "at": scenario.start,
    }  # fmt: skip
