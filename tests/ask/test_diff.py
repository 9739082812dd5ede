"""What changed between two moments, as people see it."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from pfspark.ask import diff
from pfspark.ask.stores import Stores
from pfspark.rows import local, nothing, rows_of, schema_of
from pfspark.tables import EVERY
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


@pytest.mark.usefixtures("spark")  # which knows how columns are written
def test_two_folders_of_one_path_are_told_apart() -> None:
    """One was deleted, and another made in its place; who had one alone has its path, and one is called as it is now."""

    def seen(*folders: tuple[str, str, str]) -> dict[str, Stores]:
        tree = [
            {"org": "main", "store": store, "folder": folder, "property": key, "value": value}
            for store, folder, name in folders
            for key, value in (("name", name), ("parent", ""))
        ]
        return {"main": Stores({name: rows_of(name, tree if name == "tree" else ()) for name in EVERY}, "main")}

    then = seen(("A", "A:1", "F"), ("A", "A:2", "G"), ("B", "A:1", "F"))
    now = seen(("A", "A:1", "F"), ("A", "A:2", "H"), ("A", "A:3", "F"), ("B", "A:3", "F"))
    asked = [("main", "A", "A:1"), ("main", "A", "A:2"), ("main", "A", "A:3"), ("main", "B", "A:3")]
    assert diff.called(asked, (now, then)) == {
        ("main", "A", "A:1"): {"folder": "/F", "id": "A:1"},
        ("main", "A", "A:2"): {"folder": "/H"},
        ("main", "A", "A:3"): {"folder": "/F", "id": "A:3"},
        ("main", "B", "A:3"): {"folder": "/F"},
    }
    assert diff.called([("main", "B", "A:1")], (now, then)) == {("main", "B", "A:1"): {"folder": "/F"}}
    assert diff.called(asked[:2], (then, now))["main", "A", "A:2"] == {"folder": "/G"}
