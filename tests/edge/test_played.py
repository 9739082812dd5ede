"""A lake of what was played in memory says what the play said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pfspark.edge.config import conf_folder
from pfspark.edge.played import written
from pfspark.lake import Lake
from pfspark.sim.player import play
from pfspark.sim.scenario import parse

HELD_BACK = """
start = 2026-01-05T00:00:00Z
end = "1h30m"
interval = "15m"
profile = "modern"
[stores]
A = {}
B = {}
[folders]
"/Sales" = { replicas = ["A", "B"] }
[[steps]]
at = "15m"
suspend = true
[[steps]]
at = "15m"
post = { store = "A", folder = "/Sales" }
[[steps]]
at = "45m"
why = { store = "B", folder = "/Sales" }
[[steps]]
at = "1h"
resume = true
"""


@pytest.fixture(scope="module")
def held_back(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[list[dict[str, Any]], Lake]]:
    """The lines of a play in which content is held back for a while, and its lake."""
    place: Path = tmp_path_factory.mktemp("played") / "lake"
    scenarios = [parse(HELD_BACK, "held back", conf_folder())]
    with written(spark, str(place), scenarios) as record:
        lines = [*play(scenarios, spark, record)]
    with Lake.open(place, spark) as lake:
        yield lines, lake


def test_what_is_held_back_is_held_back_in_its_lake(held_back: tuple[list[dict[str, Any]], Lake]) -> None:
    lines, lake = held_back
    [said] = [line for line in lines if line["kind"] == "why"]
    [found] = lake.why_lines(folder="/Sales", store="B", as_of="2026-01-05T00:45:00Z")
    assert said["cause"] == found["cause"] == "suspended"
    assert (said["next"], found["next"]) == (None, None)
    assert lake.declared(as_of="2026-01-05T00:45:00Z")["suspended"] is True


def test_rounds_and_cycles_of_two_paces_go_on_at_both(spark: SparkSession, tmp_path: Path) -> None:
    """Rounds come by the file's interval, and stores send by the policy's, in the lake as in the play."""
    paces = HELD_BACK.split("[[steps]]")[0].replace('profile = "modern"', 'profile = "modern"\npolicy = { interval = "1h" }')
    scenarios = [parse(paces, "paces", conf_folder())]
    with written(spark, str(tmp_path / "lake"), scenarios) as record:
        [*_] = play(scenarios, spark, record)
    with Lake.open(tmp_path / "lake", spark) as lake:
        assert lake.declared()["policy"]["interval"] == "15m"
        assert {store["interval"] for store in lake.declared()["stores"].values()} == {"1h"}
        lake.post("A", "/Sales", b"mail", at="2026-01-05T01:35:00Z")
        lake.run("2026-01-05T02:15:00Z")
        [sent] = [line["at"] for line in lake.lines("messages") if line["type"] == "0x4"]
    assert sent == "2026-01-05T02:00:00Z"


def test_what_goes_on_goes_on_in_its_lake(held_back: tuple[list[dict[str, Any]], Lake]) -> None:
    lines, lake = held_back
    assert "suspended" not in lake.declared()
    [end] = [line for line in lines if line["kind"] == "end"]
    assert (end["converged"], lake.status()["missing"]) == (True, 0)
