"""Where folders lie by the edits of a round: what deletions take along, and what would lie too deep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from pfspark.execute import Made, execute
from pfspark.frame import source
from pfspark.rows import arrow, local, rows_of, schema_of, struct
from pfspark.rules import places
from pfspark.tables import FRAMES
from pfspark.words import Action
from tests.frames import frame_of
from tests.rules.test_folder_edits import Said, drop, known, make, put, resolved

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = dict[str, Any]


def followed(asked: DataFrame, folders: DataFrame, reaching: DataFrame | None = None) -> dict[str, list[Row]]:
    """What deletions take along and what would lie too deep, of resolved edits, made step by step as in a round; `reaching` are
    stores that might, or those that do."""
    edits, trees = source("edits"), source("folders")
    deleting = places.deletions(edits)
    might = places.reaching(places.placements(edits), folders=trees) if reaching is None else source("reaching")
    branches = places.branches(edits, deleting=deleting, folders=trees, reaching=might)
    after = places.follow(edits, deleting=deleting, folders=trees, reaching=might, branches=branches)
    wanted = {"deleted": places.deleted_with_parent(after, branches=branches), "deep": places.too_deep(after), "reaching": might}
    frames = {"edits": asked, "folders": folders} | ({} if reaching is None else {"reaching": reaching})
    spark = asked.sparkSession
    given = {name: Made(lambda _, frame=frame: frame, frame.toArrow(), schema=frame.schema) for name, frame in frames.items()}
    return {name: rows.to_pylist() for name, rows in execute(spark, wanted, given).items()}


def test_edits_that_place_a_folder_and_that_delete_one(spark: SparkSession) -> None:
    said = resolved(spark, {"o": [make("@before"), put("A", description="x"), put("A", parent="@1"), drop("A")]})
    placed, deleted = ({row["nth"] for row in pick(said).collect()} for pick in (places.placements, places.deletions))
    assert (placed, deleted) == ({1, 3}, {4})


TAKEN: dict[str, tuple[list[Said], set[tuple[str, int]]]] = {  # edits, and which folders go with which of them
    "all beneath": ([drop("A")], {("A", 1), ("A1", 1), ("A2", 1)}),
    "not what is above": ([drop("A2")], {("A2", 1)}),
    "not beside": ([drop("B")], {("B", 1)}),
    "each once": ([drop("A1"), drop("A")], {("A1", 1), ("A2", 1), ("A", 2)}),
    "not again": ([drop("A"), drop("A1")], {("A", 1), ("A1", 1), ("A2", 1)}),
    "what was moved there": ([put("B", parent="A2"), drop("A1")], {("A1", 2), ("A2", 2), ("B", 2)}),
    "not what was moved away": ([put("A2", parent="B"), drop("A")], {("A", 2), ("A1", 2)}),
    "what was made there": ([make("A2"), make("@1"), drop("A2")], {("A2", 3), ("@1", 3), ("@2", 3)}),
    "not what is made later": ([drop("A"), make("A")], {("A", 1), ("A1", 1), ("A2", 1)}),
    "the dead are dead already": ([drop("DEAD")], set()),
    "nothing is deleted": ([put("A", parent="B")], set()),
}


@pytest.mark.rule("R12", "R140")
def test_a_deletion_takes_along_all_that_is_beneath(spark: SparkSession) -> None:
    """At its place among the edits; each case is an organization, and none takes anything from another."""
    asked = resolved(spark, {org: said for org, (said, _) in TAKEN.items()})
    folders = local(spark, rows_of("folders", known("folders", [*TAKEN])), schema_of("folders"))
    found: dict[str, set[tuple[str, int]]] = {org: set() for org in TAKEN}
    for row in followed(asked, folders)["deleted"]:
        assert (row["folder"], row["since"]) not in found[row["org"]], "once"
        found[row["org"]].add((row["folder"], row["since"]))
    assert found == {org: expected for org, (_, expected) in TAKEN.items()}


Moves = list[tuple[str, str, str]]
"""Edits in order: action, target, parent."""
DEEP = [("T", ""), *((f"T{level}", f"T{level - 1}" if level > 2 else "T") for level in range(2, 31))]
"""A tree of thirty levels."""
MOVES: dict[str, tuple[Moves, list[int]]] = {  # edits in order, and which of them go too deep
    "as deep as may be": ([("create_folder", "@a", "T30"), ("create_folder", "@b", "@a")], []),
    "one deeper": ([("create_folder", "@a", "T30"), ("create_folder", "@b", "@a"), ("create_folder", "@c", "@b")], [3]),
    "nothing beneath what was refused": (
        [*(("create_folder", f"@{name}", above) for name, above in (("a", "T30"), ("b", "@a"), ("c", "@b"), ("d", "@c")))],
        [3],
    ),
    "with what is beneath it": ([("create_folder", "@a", ""), ("create_folder", "@b", "@a"), ("set_folder", "T", "@b"),
                                 ("create_folder", "@c", "T30"), ("set_folder", "@a", "")], [4]),
    "room is made first": ([("set_folder", "T2", ""), ("create_folder", "@a", ""), ("create_folder", "@b", "@a"),
                            ("set_folder", "T2", "@b"), ("create_folder", "@c", "T30"), ("create_folder", "@d", "@c")], [6]),
    "the deleted count for nothing": ([("delete_folder", "T20", ""), ("create_folder", "@a", ""), ("create_folder", "@b", "@a"),
                                       ("create_folder", "@c", "@b"), ("set_folder", "T", "@c")], []),
    "beneath itself": ([("set_folder", "T", "T30")], [1]),
}  # fmt: skip


def moving(spark: SparkSession, cases: Mapping[str, Moves]) -> DataFrame:
    """Those edits, each case in an organization of its own, at P1."""
    schema = struct(FRAMES["resolved_folders"].ddl)
    rows = [
        {"org": org, "store": "P1", "nth": nth, "action": action, "target": target, "parent": parent}
        | {"properties": [("parent", parent)] if action != Action.DELETE_FOLDER else []}
        for org, moves in cases.items()
        for nth, (action, target, parent) in enumerate(moves, 1)
    ]
    return local(spark, arrow(schema, rows), schema)


def deep_trees(spark: SparkSession, orgs: Iterable[str]) -> DataFrame:
    return frame_of(spark, [(org, "P1", *each, False) for org in orgs for each in DEEP], schema_of("folders"))


def line(first: int, last: int, since: int) -> set[tuple[str, int]]:
    """The levels of the deep tree from one to another, gone since an edit."""
    return {(f"T{level}", since) for level in range(first, last + 1)}


BRANCHES: dict[str, tuple[Moves, set[tuple[str, int]]]] = {  # edits, and what goes with which of them
    "from there on": ([("delete_folder", "T5", "")], line(5, 30, 1)),
    "first what lies lower": ([("delete_folder", "T20", ""), ("delete_folder", "T5", "")], line(20, 30, 1) | line(5, 19, 2)),
    "what was moved away stays": ([("set_folder", "T10", ""), ("delete_folder", "T5", "")], line(5, 9, 2)),
    "and goes where it is moved to": (
        [("set_folder", "T10", ""), ("create_folder", "@a", "T20"), ("delete_folder", "T5", ""), ("delete_folder", "T15", "")],
        line(5, 9, 3) | line(15, 30, 4) | {("@a", 4)},
    ),
    "what is placed nowhere is where it was": (
        [("set_folder", "T10", "X"), ("delete_folder", "T5", ""), ("set_folder", "T20", "")], line(5, 30, 2),
    ),
}  # fmt: skip


@pytest.mark.rule("R12", "R140")
def test_with_what_is_followed_goes_all_that_lies_beneath(spark: SparkSession) -> None:
    """Few folders are followed edit by edit, and no edit names the others."""
    asked = moving(spark, {org: moves for org, (moves, _) in BRANCHES.items()})
    rows = followed(asked, deep_trees(spark, BRANCHES))
    assert not rows["reaching"]
    gone = {org: {(row["folder"], row["since"]) for row in rows["deleted"] if row["org"] == org} for org in BRANCHES}
    assert gone == {org: expected for org, (_, expected) in BRANCHES.items()}


@pytest.mark.rule("R140")
def test_no_edit_places_a_folder_deeper_than_a_tree_is_followed(spark: SparkSession) -> None:
    """Each edit is judged by the tree as those before it leave it."""
    asked = moving(spark, {org: moves for org, (moves, _) in MOVES.items()})
    folders = deep_trees(spark, MOVES)
    assert {row["org"] for row in followed(asked, folders)["reaching"]} == {*MOVES} - {"as deep as may be"}
    reaching = frame_of(spark, [(org, "P1") for org in MOVES], "org string, store string")
    deep: dict[str, list[int]] = {org: [] for org in MOVES}
    for row in followed(asked, folders, reaching)["deep"]:
        deep[row["org"]].append(row["nth"])
    assert deep == {org: refused for org, (_, refused) in MOVES.items()}
    shallow = folders.where("folder in ('T', 'T2', 'T3')")
    assert not followed(asked.where("target = '@a'"), shallow)["reaching"]
