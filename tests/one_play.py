"""One play for all: a round costs about the same for one organization as for fifty, so they are played together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from pfspark.edge.spark.crossing import BY_FILES
from pfspark.keyed import ByName
from pfspark.sim import player
from tests.sim.against import by_org

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pfspark.between import Between

Row = dict[str, Any]
FACTS = ("changes", "messages", "receipts", "replicas", "backfill", "state")


class Facts:
    """The rows that rounds made, by table and organization: what lines leave out."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))

    def begin(self, rows: Mapping[str, Sequence[Row]]) -> None:
        """See `player.Record`."""

    def restored(self, org: str, store: str, to: datetime, now: datetime, world: Between) -> None:
        """See `player.Record`."""

    def round(
        self,
        turns: Mapping[str, datetime],
        edits: Sequence[Row],
        made: ByName,
        *_: Any,
    ) -> None:
        """See `player.Record`."""
        for name in FACTS:
            for row in made[name].to_pylist():
                self.rows[name][row["org"]].append(row)


@pytest.fixture(scope="session")
def performance(request: pytest.FixtureRequest, spark: SparkSession) -> tuple[dict[str, list[Row]], Facts]:
    """What the engine says, and does, of each organization that a module of this run names in its `organizations(config)`.

    What a module wants to hold meanwhile it says in `conditions(config)`.
    """
    modules = {item.module for item in request.session.items if isinstance(item, pytest.Function)}
    asked = [module.organizations for module in modules if hasattr(module, "organizations")]
    scenarios = {scenario.name: scenario for each in asked for scenario in each(request.config)}
    facts = Facts()
    with ExitStack() as meanwhile:
        for module in modules:
            if hasattr(module, "conditions"):
                meanwhile.enter_context(module.conditions(request.config))
        return by_org(player.play([scenarios[name] for name in sorted(scenarios)], spark, facts, BY_FILES)), facts


@pytest.fixture(scope="session")
def played(performance: tuple[dict[str, list[Row]], Facts]) -> dict[str, list[Row]]:
    """The lines of each organization."""
    return performance[0]


@pytest.fixture(scope="session")
def facts(performance: tuple[dict[str, list[Row]], Facts]) -> dict[str, dict[str, list[Row]]]:
    """The rows of `FACTS`, by table and organization."""
    return performance[1].rows
