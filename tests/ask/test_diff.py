"""What changed between two moments, as people see it."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from pfspark.ask import diff
from pfspark.rows import local, nothing, rows_of, schema_of
from pfspark.words import BY_ITSELF, WHOLE


def test_what_whole_objects_were_merged_by_is_no_change(spark: SparkSession) -> None:
    """Nobody has set it, though it stands in the tree: that a store said something by itself, and what it said."""
    said = {WHOLE: BY_ITSELF, f"{WHOLE}description": "before", "description": "after"}
    here = {"org": "o", "store": "A", "folder": "A:1"}
    tree = rows_of("tree", [{**here, "property": name, "value": value} for name, value in said.items()])
    before: dict[str, DataFrame] = {name: nothing(spark, name) for name in diff.VIEWS}
    after = before | {"tree": local(spark, tree, schema_of("tree"))}
    for changed, value in ((diff.changed(before, after), (None, "after")), (diff.changed(after, before), ("after", None))):
        assert [(row["what"], row["name"], row["before"], row["after"]) for row in changed.collect()] == [
            ("tree", "description", *value)
        ]
