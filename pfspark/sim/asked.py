"""Steps of a scenario that ask `why`: what was played is remembered as a lake would have it, and asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from pfspark.ask import lines, reasons
from pfspark.ask.reasons import About
from pfspark.kept import Kept
from pfspark.rows import local, rows_of, schema_of
from pfspark.sim import invention
from pfspark.sim.scenario import Scenario, Step

Line = dict[str, Any]
Here = tuple[str, int]
TABLES = ("state", "backfill", "receipts", "messages")
"""The tables of which rows of the past are asked for."""


class Past:
    """The rows of past rounds, of organizations of which somebody will ask why."""

    def __init__(self, kept: Kept, scenarios: Sequence[Scenario]) -> None:
        """What replicas hold at the start of an organization was written then."""
        self._scenarios = {each.name: each for each in scenarios if any(step.verb == "why" for step in each.steps)}
        orgs = {name: each.start for name, each in self._scenarios.items()}
        self._kept = kept
        self._orgs = pa.table({"org": pa.array(sorted(orgs), pa.string())})
        self._tables: dict[str, list[pa.Table]] = {name: [] for name in TABLES}
        self._edits: dict[tuple[str, str], Line] = {}
        self._rounds: dict[tuple[str, datetime], int] = {}
        if orgs:
            begun = [{**row, "at": orgs[row["org"]]} for row in kept.tables["state"].to_pylist() if row["org"] in orgs]
            self._tables["state"].append(rows_of("state", begun, ("round",)))

    def remember(
        self, made: Mapping[str, pa.Table], edits: Sequence[Line], turns: Mapping[str, datetime], places: Mapping[str, int]
    ) -> None:
        """A round: its rows, the edits that it was given, and which round it was for each organization, from 1."""
        if self._orgs.num_rows:
            orgs = set(self._orgs["org"].to_pylist())
            for name, tables in self._tables.items():
                own = made[name].filter(pc.is_in(made[name]["org"], self._orgs["org"].combine_chunks()))
                shape = rows_of(name, (), ("round",)).schema
                tables.append(own.select(shape.names).cast(shape))
            self._edits |= {(row["org"], row["edit_id"]): row for row in edits if row["org"] in orgs}
            self._rounds |= {(org, now): places[org] + 1 for org, now in turns.items()}

    def restored(self, org: str, store: str, then: datetime, now: datetime) -> None:
        """A store has lost what it wrote since `then`; what it still has it wrote anew."""
        state = [row for table in self._tables["state"] for row in table.to_pylist()]
        mine = [row for row in state if row["org"] == org and row["store"] == store]
        written = {id(row) for row in mine}
        rows = [row for row in state if id(row) not in written] + [
            {**row, "at": now} for row in self._kept.tables["state"].to_pylist() if (row["org"], row["store"]) == (org, store)
        ]
        self._tables["state"] = [rows_of("state", rows, ("round",))]

    def _frame(self, name: str) -> DataFrame:
        schema = schema_of(name, ("round",))
        return local(self._kept.spark, pa.concat_tables([*self._tables[name], rows_of(name, (), ("round",))]), schema)

    def why(
        self, asked: Mapping[str, Sequence[Step]], clock: pa.Table, views: Mapping[str, lines.Stores], at: Mapping[str, datetime]
    ) -> Iterator[Line]:
        """The lines of the steps that ask now, by organization."""
        tables = self._kept.tables
        facts = {
            "log": lambda: reasons.log_of(self._frame("state")),
            "requests": lambda: reasons.requests_of(self._frame("backfill")),
            "refusals": lambda: reasons.refusals_of(self._frame("receipts"), self._frame("messages")),
        }
        made = {(row["org"], f"@{row['edit_id']}"): f"{row['origin']}:{row['cn']}" for row in tables["changes"].to_pylist()}
        about = {(org, step.number): self._about(org, step, made) for org, steps in asked.items() for step in steps}
        grid = {org: reasons.Grid(now, self._scenarios[org].interval) for org, now in at.items() if org in self._scenarios}
        rows: dict[Here, list[Line]] = {}
        for some in _apart(about):
            pairs = [about[each].pair for each in some if about[each].numbers is None]
            ranges = [row for each in some for row in about[each].ranges()]
            found = reasons.explain(self._kept.spark, tables, clock, grid, facts, pairs=pairs, asked=ranges)
            here = {(about[each].org, about[each].store, about[each].folder): each for each in some}
            for row in found:
                rows.setdefault(here[row["org"], row["store"], row["folder"]], []).append(row)
        telling = reasons.Telling(views, at, self._rounds)
        for org, steps in asked.items():
            for step in steps:
                yield from telling.lines(rows.get((org, step.number), ()))
                yield from telling.of_edits(self._edits_about(about[org, step.number], made, at[org], grid[org]))

    def _about(self, org: str, step: Step, made: Mapping[tuple[str, str], str]) -> About:
        """What a step asks about."""
        named = str(invention.folder_of(self._scenarios[org], step.args["folder_ref"]))
        return About.of(self._kept.tables, org, step.args["store"], made.get((org, named), named), step.args["item"])

    def _edits_about(
        self, about: About, made: Mapping[tuple[str, str], str], now: datetime, grid: reasons.Grid
    ) -> Iterator[Line]:
        """The edits without a number that a step asks about."""
        org, folder, item = about.org, about.folder, about.item
        waiting = {row["edit_id"] for row in self._kept.tables["edits"].to_pylist() if row["org"] == org}
        down = {(row["org"], row["store"]) for row in self._kept.tables["conditions"].to_pylist() if row["down"]}
        refused = {
            (row["org"], row["edit_id"]): row
            for table in self._tables["receipts"] for row in table.to_pylist() if row["edit_id"] and row["reason"]
        }  # fmt: skip
        edits = [
            row for (of, edit), row in self._edits.items()
            if of == org and made.get((org, row["folder"]), row["folder"]) == folder
            and (edit in waiting if item is None else row.get("name") == item and (edit in waiting or (org, edit) in refused))
        ]  # fmt: skip
        return reasons.edit_rows(edits, refused, now, grid, about.store, folder, down)


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
