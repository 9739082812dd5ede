"""Which trees were merged otherwise than their organization says now."""

from __future__ import annotations

import pyarrow as pa

from pfspark.merging import merged_otherwise
from pfspark.words import NAME, WHOLE


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
