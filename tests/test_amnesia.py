"""A store whose tables were taken back behind its back notices it from a peer's status, and begins a new life (F8)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from pfspark import cntext
from pfspark.ask.stores import Stores, converged
from pfspark.between import Between
from pfspark.edge.config import conf_folder
from pfspark.sim import invention
from pfspark.sim.scenario import parse

TEXT = """
name = "forgetful"
profile = "modern"
start = 2026-01-05T00:00:00Z
end = "8h"
interval = "5m"
[stores]
PFS1 = { site = "Redmond" }
PFS2 = { site = "Redmond" }
[folders."/Sales"]
replicas = ["PFS1", "PFS2"]
holds = "PFS1:1-5,PFS2:1-2"
[[steps]]
at = "0m"
post = { store = "PFS2", folder = "/Sales" }
[[steps]]
at = "0m"
post = { store = "PFS1", folder = "/Sales" }
"""


def rounds(world: Between, scenario: Any, numbers: range) -> Iterator[Stores]:
    for number in numbers:
        world.play({"forgetful": invention.turn(scenario, scenario.start + number * timedelta(minutes=5), suspended=False)})
        yield Stores(dict(world.tables), "forgetful")


@pytest.mark.rule("R31")
def test_a_store_that_forgot_its_numbers_begins_a_new_life(spark: SparkSession) -> None:
    scenario = parse(TEXT, "forgetful.toml", conf_folder())
    world = Between(spark, invention.begin(scenario))
    state, here = world.tables["state"], "PFS1:1"
    forgot = pc.and_(
        pc.and_(pc.equal(state["store"], "PFS1"), pc.equal(state["folder"], here)),
        pc.and_(pc.equal(state["about"], "PFS1"), pc.equal(state["origin"], "PFS1")),
    )
    world.replace("state", state.filter(pc.invert(forgot)))
    known = [{**row, "cn_max": 3} for row in state.filter(forgot).to_pylist()]
    world.append("state", known)  # 4 and 5 are forgotten, also that they were sent
    by_peer, own = invention.edits(scenario, scenario.steps)

    world.append("edits", [by_peer])
    before, after = rounds(world, scenario, range(2))
    assert (before.replicas["PFS1", here]["life"], cntext.show(before.held("PFS1", here))) == (1, "PFS1:1-3,PFS2:1-2")
    # PFS2's message told of PFS1:5: a new life, with all that is held.
    assert (after.replicas["PFS1", here]["life"], cntext.show(after.held("PFS1", here))) == (2, "PFS1:1-3,PFS2:1-3")
    assert after.replicas["PFS2", here]["life"] == 1

    world.append("edits", [own])
    *_, last = rounds(world, scenario, range(2, 8))
    for store in ("PFS1", "PFS2"):  # what was forgotten came back, and what was posted has a number of the new life
        assert cntext.show(last.held(store, here)) == "PFS1:1-5,PFS1~2:1,PFS2:1-3", store
    assert converged(last)
