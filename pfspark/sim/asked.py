"""Steps of a scenario that ask `why`: what was played is remembered as a lake would have it, and asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from pfspark.ask import reasons
from pfspark.ask.about import About, edit_rows, explain, log_of, refusals_of, requests_of
from pfspark.ask.stores import Stores
from pfspark.between import Between
from pfspark.keyed import ByName, anti_join, semi_join
from pfspark.keys import STORE
from pfspark.printed import Line
from pfspark.references import became
from pfspark.rows import local, rows_of, schema_of
from pfspark.schedules import Grid
from pfspark.sim import invention
from pfspark.sim.scenario import Scenario
from pfspark.sim.steps import Step

Here = tuple[str, int]
TABLES = ("state", "backfill", "receipts", "messages")
"""The tables of which rows of the past are asked for."""


class Past:
    """The rows of past rounds, of organizations of which somebody will ask why."""

    def __init__(self, world: Between, scenarios: Sequence[Scenario]) -> None:
        """What replicas hold at the start of an organization was written then."""
        self._scenarios = {each.name: each for each in scenarios if any(step.verb == "why" for step in each.steps)}
        orgs = {name: each.start for name, each in self._scenarios.items()}
        self._world = world
        self._orgs = pa.array(sorted(orgs), pa.string())
        self._tables: dict[str, list[pa.Table]] = {name: [] for name in TABLES}
        self._edits: dict[tuple[str, str], Line] = {}
        self._rounds: dict[tuple[str, datetime], int] = {}
        if orgs:
            begun = [{**row, "at": orgs[row["org"]]} for row in world.tables["state"].to_pylist() if row["org"] in orgs]
            self._tables["state"].append(rows_of("state", begun, ("round",)))

    def remember(self, made: ByName, edits: Sequence[Line], turns: Mapping[str, datetime], places: Mapping[str, int]) -> None:
        """A round: its rows, the edits that it was given, and which round it was for each organization, from 1."""
        if self._scenarios:
            for name, tables in self._tables.items():
                own = made[name].filter(pc.is_in(made[name]["org"], self._orgs))
                shape = rows_of(name, (), ("round",)).schema
                tables.append(own.select(shape.names).cast(shape))
            self._edits |= {(row["org"], row["edit_id"]): row for row in edits if row["org"] in self._scenarios}
            self._rounds |= {(org, now): places[org] + 1 for org, now in turns.items() if org in self._scenarios}

    def restored(self, org: str, store: str, now: datetime) -> None:
        """A store has lost what it wrote; what it still has it wrote anew."""
        if org in self._scenarios:
            mine = pa.table({"org": [org], "store": [store]})
            others = [anti_join(table, mine, STORE) for table in self._tables["state"]]
            own = semi_join(self._world.tables["state"], mine, STORE).to_pylist()
            self._tables["state"] = [*others, rows_of("state", ({**row, "at": now} for row in own), ("round",))]

    def _frame(self, name: str) -> DataFrame:
        schema = schema_of(name, ("round",))
        return local(self._world.spark, pa.concat_tables([*self._tables[name], rows_of(name, (), ("round",))]), schema)

    def why(
        self, asked: Mapping[str, Sequence[Step]], clock: pa.Table, views: Mapping[str, Stores], at: Mapping[str, datetime]
    ) -> Iterator[Line]:
        """The lines of the steps that ask now, by organization."""
        facts = {
            "log": lambda: log_of(self._frame("state")),
            "requests": lambda: requests_of(self._frame("backfill")),
            "refusals": lambda: refusals_of(self._frame("receipts"), self._frame("messages")),
        }
        tables = {
            name: table.filter(pc.is_in(table["org"], pa.array(asked, pa.string()))) for name, table in self._world.tables.items()
        }
        became_ids = became(tables["changes"], tables["changes"]).to_pylist()
        made = {(row["org"], f"@{row['edit_id']}"): row["object"] for row in became_ids}
        about = {(org, step.number): self._about(org, step, tables, made) for org, steps in asked.items() for step in steps}
        grid = {org: Grid(now, self._scenarios[org].interval) for org, now in at.items() if org in asked}
        rows: dict[Here, list[Line]] = defaultdict(list)
        for some in _apart(about):
            here = {(about[each].org, about[each].store, about[each].folder): each for each in some}
            for row in explain(
                self._world.spark, tables, clock, grid, facts, map(about.__getitem__, some), self._world.materializer
            ):
                rows[here[row["org"], row["store"], row["folder"]]].append(row)
        telling = reasons.Telling(views, at, self._rounds)
        edits = self._edits_without_numbers(tables, made)
        for each, one in about.items():
            yield from telling.lines(rows[each])
            yield from telling.of_edits(edits(one, at[one.org], grid[one.org]))

    def _about(self, org: str, step: Step, tables: ByName, made: Mapping[tuple[str, str], str]) -> About:
        """What a step asks about."""
        named = str(invention.folder_of(self._scenarios[org], step.args["folder_ref"]))
        return About.of(tables, org, step.args["store"], made.get((org, named), named), step.args["item"])

    def _edits_without_numbers(
        self, tables: ByName, made: Mapping[tuple[str, str], str]
    ) -> Callable[[About, datetime, Grid], Iterator[Line]]:
        """What tells the edits without a number that are asked about."""
        waiting = {(row["org"], row["edit_id"]) for row in tables["edits"].to_pylist()}
        down = {(row["org"], row["store"]) for row in tables["conditions"].to_pylist() if row["down"]}
        receipts = pa.concat_tables([table.filter(pc.is_valid(table["edit_id"])) for table in self._tables["receipts"]])
        refused = {(row["org"], row["edit_id"]): row for row in receipts.to_pylist() if row["reason"]}

        def concerns(about: About, edit: tuple[str, str], row: Line) -> bool:
            if made.get((about.org, row["folder"]), row["folder"]) != about.folder or row["org"] != about.org:
                return False
            if about.item is None:
                return edit in waiting
            return row.get("name") == about.item and (edit in waiting or edit in refused)

        def rows(about: About, now: datetime, grid: Grid) -> Iterator[Line]:
            edits = [row for edit, row in self._edits.items() if concerns(about, edit, row)]
            return edit_rows(edits, refused, now, grid, about.store, about.folder, down)

        return rows


def _apart(about: Mapping[Here, About]) -> Iterator[list[Here]]:
    """What is asked, in as few parts as let no two steps of one ask about the same replica."""
    parts: list[dict[tuple[str, str, str], Here]] = []
    for each, one in about.items():
        here = one.org, one.store, one.folder
        free = next((part for part in parts if here not in part), None)
        if free is None:
            parts.append(free := {})
        free[here] = each
    return (list(part.values()) for part in parts)
