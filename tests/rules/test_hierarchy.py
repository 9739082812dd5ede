"""The tree as changes make it, in whatever order they come."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise, permutations
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.types import StringType, StructField, StructType

from pfspark.execute import Made, execute
from pfspark.frame import source
from pfspark.rows import schema_of
from pfspark.rules import hierarchy
from pfspark.words import BY_ITSELF, WHOLE
from tests.frames import by_org, frame_of

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

ENTRY = "replica:PFS2"
CHANGES = {1: {ENTRY: (1, "removed")}, 2: {ENTRY: (2, "gone")}, 5: {ENTRY: (5, "listed")}, 6: {ENTRY: (1, "removed")}}
"""Number -> entries, each with the number of what set it. The second is said by PFS2 itself; the last knows of neither the
second nor the third."""


def stamp(number: int) -> dict[str, object]:
    return {"at": datetime(2026, 1, 5, tzinfo=UTC) + timedelta(hours=number), "origin": "PFS1", "cn": number}


def change(number: int, store: str, org: str = "o") -> dict[str, object]:
    said = {"name": (1, "Sales"), **CHANGES[number]}
    return {
        "org": org, "store": store, "object": "PFS1:1", "origin": "PFS1", "cn": number, "action": "set_folder",
        "made_at": stamp(number)["at"], "edit_id": None if number == 2 else str(number),
        "properties": [{"name": name, "value": value, "stamp": stamp(by)} for name, (by, value) in said.items()],
    }  # fmt: skip


ORDERS = {f"PFS{place}": order for place, order in enumerate(permutations(CHANGES), 3)}
"""Those numbers in all orders, each of which a store of its own hears them in."""


@pytest.fixture(scope="module")
def trees(spark: SparkSession) -> Mapping[str, list[Row]]:
    """What all stores see in the end, in an organization that merges whole objects, and in one that merges single properties."""
    schema = StructType([*schema_of("changes"), StructField("store", StringType())])
    whole = frame_of(spark, [("object",)], "org string")
    tree = frame_of(spark, [], schema_of("tree"))
    for turn in range(len(CHANGES)):
        rows = [change(order[turn], store, merge) for merge in ("object", "property") for store, order in ORDERS.items()]
        learned = frame_of(spark, [tuple(row.get(name) for name in schema.names) for row in rows], schema)
        made = hierarchy.merge(tree, learned, whole=whole)
        tree = frame_of(spark, made.collect(), made.schema)
    return by_org(tree)


@pytest.mark.parametrize(("merge", "entry"), [("object", "gone"), ("property", "listed")])
@pytest.mark.rule("R27")
def test_whatever_comes_first_the_tree_is_the_same(trees: Mapping[str, list[Row]], merge: str, entry: str) -> None:
    """A store for each order. Of whole objects the last overrules what it does not know, but not what a replica said of
    itself; of single properties the last said stands."""
    entries = [row for row in trees[merge] if row["property"] == ENTRY]
    assert {row["store"]: row["value"] for row in entries} == dict.fromkeys(ORDERS, entry)
    seen = {
        store: {(row["property"], row["value"], row["stamp"]) for row in trees[merge] if row["store"] == store}
        for store in ORDERS
    }
    assert len(set(map(frozenset, seen.values()))) == 1


@pytest.mark.rule("R26")
def test_what_a_store_says_by_itself_is_seen_where_nothing_else_is_held(spark: SparkSession) -> None:
    """The whole object that it carries; of one that somebody decided, though earlier, only what the store said stays beside."""
    schema = StructType([*schema_of("changes"), StructField("store", StringType())])
    whole = frame_of(spark, [("o",)], "org string")
    tree, seen = frame_of(spark, [], schema_of("tree")), []
    for number in (2, 1):
        learned = frame_of(spark, [tuple(change(number, "PFS3").get(name) for name in schema.names)], schema)
        made = hierarchy.merge(tree, learned, whole=whole)
        tree = frame_of(spark, made.collect(), made.schema)
        seen.append({row["property"]: (row["value"], row["stamp"]["cn"]) for row in tree.collect()})
    gone = {ENTRY: ("gone", 2)}
    assert seen == [
        {"name": ("Sales", 1), **gone, WHOLE: (BY_ITSELF, 2)},
        {"name": ("Sales", 1), **gone, WHOLE: (None, 1)},
    ]


@pytest.mark.rule("R27")
def test_a_folder_may_be_called_as_what_stores_say_of_themselves(spark: SparkSession) -> None:
    """Its name is overruled by a later whole object that knows nothing of it, like any."""
    schema = StructType([*schema_of("changes"), StructField("store", StringType())])
    named = [{"name": "name", "value": "gone", "stamp": stamp(1)}]
    rows = [{**change(1, "PFS3"), "properties": named}, change(5, "PFS3")]
    learned = frame_of(spark, [tuple(row.get(name) for name in schema.names) for row in rows], schema)
    tree = frame_of(spark, [], schema_of("tree"))
    made = hierarchy.merge(tree, learned, whole=frame_of(spark, [("o",)], "org string")).collect()
    assert {row["property"]: row["value"] for row in made} == {"name": "Sales", ENTRY: "listed", WHOLE: None}


@pytest.mark.rule("R140")
def test_a_deletion_takes_along_all_that_merging_puts_beneath_it(spark: SparkSession) -> None:
    """Twice as many levels as edits may make, in a row: the lowest is dead too, and what lies beside lives."""
    line = [(str(level), "parent", str(level - 1) if level > 1 else "") for level in range(1, 65)]
    rows = [*line, ("1", "deleted", "true"), ("beside", "parent", "")]
    tree = frame_of(spark, [("o", "P1", *row, (stamp(1)["at"], "P1", 1)) for row in rows], schema_of("tree"))
    given = {"tree": Made(lambda _: tree, tree.toArrow(), schema=tree.schema)}
    found = execute(spark, {"folders": hierarchy.folders(source("tree"))}, given)["folders"].to_pylist()
    assert {row["folder"] for row in found if row["dead"]} == {str(level) for level in range(1, 65)}
    assert [row["folder"] for row in found if not row["dead"]] == ["beside"]


@pytest.mark.rule("R140")
def test_what_changed_of_a_tree_is_what_was_told_and_what_became_of_it(spark: SparkSession) -> None:
    """A folder that was told of, though it is as it was; one that died with another; one that is new. Not what stays as it was,
    be it placed nowhere, nor what another store sees."""
    schema = schema_of("folders")
    stays = [("o", "P1", "stays", "", False), ("o", "P1", "nowhere", None, False), ("o", "P2", "told", "", False)]
    told = ("o", "P1", "told", "", False)
    before = frame_of(spark, [*stays, told, ("o", "P1", "dies", "told", False)], schema)
    after = [told, ("o", "P1", "dies", "told", True), ("o", "P1", "new", "", False)]
    drawn = frame_of(spark, [*stays, *after], schema)
    retold = frame_of(spark, [("o", "P1", "told")] * 2 + [("o", "P1", "new")], "org string, store string, folder string")
    found = hierarchy.changed(drawn, before=before, retold=retold).collect()
    assert sorted(map(tuple, found)) == sorted(after)


@pytest.mark.parametrize("whole", [["o"], []], ids=["object", "property"])
@pytest.mark.rule("R27")
def test_of_one_moment_the_later_label_wins(spark: SparkSession, whole: list[str]) -> None:
    """As labels are sorted everywhere: by the store, then by the life as a number; not as texts."""
    ascending = ["PFS1", "PFS1~2", "PFS1~10", "PFS1-a", "PFS10", "PFS2"]
    schema = StructType([*schema_of("changes"), StructField("store", StringType())])
    rows = []
    for store, (earlier, later) in enumerate(pairwise(ascending)):
        for origin in (earlier, later):
            of = {**stamp(1), "origin": origin}
            said = {"properties": [{"name": "name", "value": origin, "stamp": of}], "origin": origin, "edit_id": origin}
            rows.append({**change(1, str(store)), **said})
    learned = frame_of(spark, [tuple(row.get(name) for name in schema.names) for row in rows], schema)
    of_whole = frame_of(spark, [(org,) for org in whole], "org string")
    made = hierarchy.merge(frame_of(spark, [], schema_of("tree")), learned, whole=of_whole).collect()
    named = {row["store"]: row["value"] for row in made if row["property"] == "name"}
    assert named == {str(store): later for store, later in enumerate(ascending[1:])}
