"""Many invented organizations, each of its own seed, played together against the oracle."""

from __future__ import annotations

from typing import Any

import pytest

from pfspark.edge.config import conf_folder
from pfspark.settings import parse_duration, show_duration
from pfspark.sim import oracle
from pfspark.sim.scenario import Scenario, parse
from tests.sim.against import first_difference
from tests.sim.worlds import world

GRID = parse_duration("30m")  # what worlds are played by
SHOWN = ("3h", "7h", "11h", "15h", "16h", "19h", "23h")


def organizations(config: pytest.Config) -> list[Scenario]:
    """Worlds of the seeds 1, 2, ..., each cut to so many rounds and shown several times on the way."""
    last = (config.getoption("--campaign-rounds") - 1) * GRID
    return [organization(seed, show_duration(last)) for seed in range(1, config.getoption("--campaign-orgs") + 1)]


def organization(seed: int, end: str) -> Scenario:
    """One world; every third is also restored now and then."""
    lines = world(seed, restores=seed % 3 == 0).splitlines()
    (place,) = (place for place, line in enumerate(lines) if line.startswith("end = "))
    lines[place] = f'end = "{end}"'
    shows = [f'[[steps]]\nat = "{at}"\nshow = ["state", "items", "folders"]' for at in (*SHOWN, end)]
    return parse("\n".join([*lines, *shows]), f"world {seed}", conf_folder())


def test_engine_says_what_the_oracle_says(pytestconfig: pytest.Config, played: dict[str, list[dict[str, Any]]]) -> None:
    """A failure names the seeds, and of the first the moment and the lines in which they part."""
    if not pytestconfig.getoption("--campaign-orgs"):
        pytest.skip("campaigns run by option: --campaign-orgs 24")
    parted = {}
    for scenario in organizations(pytestconfig):
        difference = first_difference(played[scenario.name], list(oracle.play(scenario)))
        if difference is not None:
            parted[scenario.name] = difference
    first = next(iter(parted.items()), None)
    assert not parted, f"{len(parted)} part: {', '.join(parted)}\n{first and ': '.join(first)}"
