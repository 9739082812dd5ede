"""One play for all: a round costs about the same for one organization as for fifty, so they are played together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pfspark.sim import player
from tests.sim.against import by_org

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def played(request: pytest.FixtureRequest, spark: SparkSession) -> dict[str, list[dict[str, Any]]]:
    """What the engine says of each organization that a module of this run names in its `organizations(config)`."""
    modules = {item.module for item in request.session.items if isinstance(item, pytest.Function)}
    asked = [module.organizations for module in modules if hasattr(module, "organizations")]
    scenarios = {scenario.name: scenario for each in asked for scenario in each(request.config)}
    return by_org(player.play([scenarios[name] for name in sorted(scenarios)], spark))
