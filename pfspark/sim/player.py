"""Playing scenarios: all organizations of the given files together, in the same rounds.

Each organization goes to its own next moment: its next step, or what its agenda or the mail says; rounds in which nothing
can happen are skipped, which changes nothing but the time it takes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pfspark import cntext, restarts
from pfspark.ask import lines
from pfspark.ask.stores import ByOrg, Stores, converged, unlike
from pfspark.between import Between, due_moments
from pfspark.execute import execute
from pfspark.frame import source
from pfspark.keyed import ByName
from pfspark.materializer import ALL_LOCAL, Materializer
from pfspark.printed import Line
from pfspark.rows import rows_of
from pfspark.rules import checks, items, state
from pfspark.sim import invention
from pfspark.sim.asked import Past
from pfspark.sim.playing import Playing
from pfspark.sim.scenario import Scenario
from pfspark.sim.steps import Step
from pfspark.words import Outcome


class Record(Protocol):
    """Who keeps what is played."""

    def begin(self, rows: Mapping[str, Sequence[invention.Row]]) -> None:
        """The world before the first step."""

    def round(
        self,
        turns: Mapping[str, datetime],
        edits: Sequence[invention.Row],
        made: ByName,
        due: Mapping[str, datetime],
        suspended: Collection[str],
    ) -> None:
        """A round: who played when, the edits it was given, its new rows, when each organization plays next, and whose content
        replication is suspended."""

    def restored(self, org: str, store: str, to: datetime, now: datetime, world: Between) -> None:
        """A store was taken back to the round not after `to`; the world as it is since."""


def play(
    scenarios: Sequence[Scenario], spark: SparkSession, record: Record | None = None, materializer: Materializer = ALL_LOCAL
) -> Iterator[Line]:
    """The lines of all scenarios, each organization's in order of time, its `end` line last."""
    rows: dict[str, list[Any]] = defaultdict(list)
    for scenario in scenarios:
        for name, some in invention.begin(scenario).items():
            rows[name] += some
    world = Between(spark, rows, materializer)
    if record:
        record.begin(rows)
    yield from play_on(world, {scenario.name: Playing(scenario) for scenario in scenarios}, record)


def play_on(world: Between, playing: Mapping[str, Playing], record: Record | None = None) -> Iterator[Line]:
    """Plays on organizations that are there: in the world that is given, by name."""
    past = Past(world, [one.scenario for one in playing.values()])
    for played in rounds(world, playing, past, record):
        yield from _told(world, playing, past, played)
    yield from ends(world, playing)


@dataclass(frozen=True)
class Played:
    """A round: the rows of `clock` by organization, without their names, and the new rows of every table."""

    clock: Mapping[str, Mapping[str, Any]]
    made: ByName

    @property
    def turns(self) -> dict[str, datetime]:
        """Who played, and when."""
        return {org: columns["now"] for org, columns in self.clock.items()}


def rounds(world: Between, playing: Mapping[str, Playing], past: Past, record: Record | None = None) -> Iterator[Played]:
    """The rounds alone, each played when it is asked for: nothing is told of them."""
    for one in playing.values():
        one.remember(world.tables)
    while places := _next_rounds(world, playing):
        yield _round(world, playing, places, past, record)


def ends(world: Between, playing: Mapping[str, Playing]) -> Iterator[Line]:
    """The `end` line of each organization, as it stands."""
    broken = _violations(world, playing)
    parted = ByOrg(dict(world.tables))
    views = {org: Stores(parted, org) for org in playing}
    seen = _items(world, playing, [org for org, stores in views.items() if unlike(stores)])
    for org, one in playing.items():
        yield _end(one, views[org], seen.get(org, []), one.violations + Counter(broken.get(org, {})))


def _due(world: Between, playing: Mapping[str, Playing]) -> dict[str, datetime]:
    return due_moments(world, suspended=_suspended(playing))


def _suspended(playing: Mapping[str, Playing]) -> set[str]:
    return {org for org, one in playing.items() if one.suspended}


def _next_rounds(world: Between, playing: Mapping[str, Playing]) -> dict[str, int]:
    due = _due(world, playing)
    places = {org: one.next_round(due.get(org)) for org, one in playing.items()}
    return {org: place for org, place in places.items() if place is not None}


def _round(
    world: Between, playing: Mapping[str, Playing], places: Mapping[str, int], past: Past, record: Record | None
) -> Played:
    edits: list[Any] = []
    for org, place in places.items():
        steps = playing[org].take_steps(place)
        edits += invention.edits(playing[org].scenario, steps)
        _restart(world, playing[org], steps, past, record)
    turns = {org: playing[org].now for org in places}
    if edits:
        world.append("edits", edits)
    world.replace(
        "conditions",
        [
            {"org": org, "store": store, "cut": store in one.cut, "down": store in one.down}
            for org, one in playing.items()
            for store in sorted(one.cut | one.down)
        ],
    )
    world.replace("faults", [row for org in turns for row in invention.faults(playing[org].scenario, playing[org].time)])
    clock = {org: playing[org].turn() for org in turns}
    made = world.play(clock)
    past.remember(made, edits, turns, places)
    for row in made["violations"].to_pylist():
        playing[row["org"]].violations[row["check"]] += 1
    for org in turns:
        playing[org].remember(world.tables)
    if record:
        record.round(turns, edits, made, _due(world, playing), _suspended(playing))
    return Played(clock, made)


def _told(world: Between, playing: Mapping[str, Playing], past: Past, played: Played) -> Iterator[Line]:
    """What is said of a round, and asked for after it."""
    made, turns = played.made, played.turns
    parted = ByOrg(dict(world.tables))
    views = {org: Stores(parted, org) for org in _speaking(made, playing, turns)}
    yield from _refusals(made["receipts"])
    yield from lines.messages(made["messages"], views)
    yield from _shows(world, playing, turns, views)
    if asked := {org: playing[org].whys for org in turns if playing[org].whys}:
        now = rows_of("clock", ({"org": org, **columns} for org, columns in played.clock.items()))
        yield from past.why(asked, now, views, turns)


def _restart(world: Between, one: Playing, steps: Sequence[Step], past: Past, record: Record | None) -> None:
    """Stores that come back: restored to earlier rows, or started again where the policy then asks for status."""
    org = one.scenario.name
    for step in steps:
        if step.verb == "restore":
            then, tables = one.back_at(step.args["to"])
            restarts.restore(world, org, step.args["store"], tables, one.now)
            past.restored(org, step.args["store"], one.now)
            if record:
                record.restored(org, step.args["store"], then, one.now, world)
    switch = one.scenario.policy.startup_status
    if one.started and switch != "off":
        restarts.ask(world, org, sorted(one.started), one.now, seeming_gaps=switch == "seeming_gaps")


def _speaking(made: ByName, playing: Mapping[str, Playing], turns: Mapping[str, datetime]) -> set[str]:
    return set(made["messages"]["org"].to_pylist()) | {org for org in turns if playing[org].shows or playing[org].whys}


def _refusals(receipts: pa.Table) -> Iterator[Line]:
    refused = [row for row in receipts.to_pylist() if row["outcome"] == Outcome.REFUSED]
    for row in sorted(refused, key=lambda row: (row["org"], row["place"] or 0, row["store"], row["message_id"] or "")):
        edit = row["edit_id"] is not None
        yield {
            "org": row["org"],
            "at": lines.moment(row["at"]),
            "kind": "refused",
            "store": row["store"],
            "what": "edit" if edit else "message",
            "step": invention.step_of(row["place"]) if edit else None,
            "reason": row["reason"],
        }


def _shows(
    world: Between, playing: Mapping[str, Playing], turns: Mapping[str, datetime], views: Mapping[str, Stores]
) -> Iterator[Line]:
    showing = {org: playing[org].shows for org in turns if playing[org].shows}
    seen = _items(world, playing, [org for org, shows in showing.items() if "items" in shows])
    for org, shows in showing.items():
        for show in shows:
            match show:
                case "state":
                    yield from lines.state(views[org], org, turns[org])
                case "folders":
                    yield from lines.folders(views[org], org, turns[org])
                case "items":
                    yield from lines.items(seen[org], views, turns)


def _items(world: Between, playing: Mapping[str, Playing], orgs: Sequence[str]) -> dict[str, list[Any]]:
    """Items as readers see them, by organization."""
    found: dict[str, list[Any]] = defaultdict(list)
    if orgs:
        given = world.of(orgs, "changes", "state", "replicas")
        rows = execute(world.spark, {"items": _readable()}, given, world.materializer)["items"].to_pylist()
        defaults = {org: playing[org].scenario.policy.conflict for org in orgs}
        quiet = lines.last_writer_only(world.tables, defaults)
        for row in rows:
            settled = (row["org"], row["store"], row["folder"]) in quiet
            found[row["org"]].append({**row, "conflict": row["conflict"] and not settled})
    return found


@cache
def _readable() -> DataFrame:
    """Items as readers see them, drawn."""
    shown = state.contents_of(source("state"), replicas=items.open_to_readers(source("replicas")))
    return items.readable(items.versions(items.seen(source("changes"), applied=shown)))


def _violations(world: Between, playing: Iterable[str]) -> dict[str, dict[str, int]]:
    """How many rows break each promise that is broken, by organization."""
    given = world.of(playing, *checks.LOOKED_AT)
    broken: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in execute(world.spark, {"broken": checks.graph()}, given, world.materializer)["broken"].to_pylist():
        broken[row["org"]][checks.CHECKS[int(row["check"])].id] += row["rows"]
    return broken


def _end(one: Playing, stores: Stores, seen: Sequence[Mapping[str, Any]], broken: Mapping[str, int]) -> Line:
    scenario = one.scenario
    missing = sum(cntext.size(claimed) for _, _, claimed, _ in stores.holes())
    end = {
        "org": scenario.name,
        "at": lines.moment(one.at_end()),
        "kind": "end",
        "rounds": (scenario.end - scenario.start) // scenario.interval + 1,
        "converged": converged(stores, seen),
        "missing": missing,
        "violations": sum(broken.values()),
    }
    return end | ({"broken": dict(sorted(broken.items()))} if broken else {})
