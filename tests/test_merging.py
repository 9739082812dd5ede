"""Which trees were merged otherwise than their organization says now, and trees drawn anew of all changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from pfspark.between import Between
from pfspark.edge.config import conf_folder
from pfspark.merging import merged_otherwise
from pfspark.rows import rows_of
from pfspark.sim import invention
from pfspark.sim.scenario import parse
from pfspark.words import NAME, WHOLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TREES = """
profile = "exchange_2007"
start = 2026-01-05T00:00:00Z
end = "1h"
[policy]
hierarchy_merge = "{merge}"
[stores.PFS1]
site = "Redmond"
[stores.PFS2]
site = "Paris"
[folders."/Sales"]
[folders."/Sales/2025"]
replicas = ["PFS2"]
age_limit = "7d"
"""


def test_a_tree_of_whole_objects_knows_which_won() -> None:
    """Of each store: one may have been put back to what it was. Who sees no folder was merged as anybody says."""
    trees = {"a": {"PFS1": [NAME], "PFS2": [NAME]}, "b": {"PFS1": [NAME, WHOLE]}, "c": {"PFS1": [NAME, WHOLE], "PFS2": [NAME]}}
    rows = [(org, store, name) for org, stores in trees.items() for store, names in stores.items() for name in names]
    tree = pa.table([*map(pa.array, zip(*rows, strict=True))], names=["org", "store", "property"])

    def found(merge: str) -> set[str]:
        clock = pa.table({"org": [*"abcd"], "hierarchy_merge": [merge] * 4})
        others = merged_otherwise(tree, clock)
        assert others["hierarchy_merge"].to_pylist() == [merge] * others.num_rows
        return set(others["org"].to_pylist())

    assert found("object") == {"a", "c"}
    assert found("property") == {"b", "c"}


@pytest.mark.parametrize("merge", ["object", "property"])
def test_an_invented_tree_is_what_its_changes_say(spark: SparkSession, merge: str) -> None:
    """So a play need not draw it anew before its first round."""
    scenario = parse(TREES.format(merge=merge), "trees", conf_folder())
    world = Between(spark, invention.begin(scenario))
    clock = rows_of("clock", [{"org": scenario.name, **invention.turn(scenario, scenario.start, suspended=False)}])
    assert not merged_otherwise(world.tables["tree"], clock).num_rows

    def seen() -> dict[str, list[Any]]:
        return {name: sorted(map(repr, world.tables[name].to_pylist())) for name in ("tree", "folders", "lists")}

    invented = seen()
    world._draw_anew(clock)
    assert seen() == invented
    assert sum(WHOLE in row for row in invented["tree"]) == 4 * (merge == "object")
