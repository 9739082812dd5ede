"""What a round reads of the world: the folders that it concerns, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from pfspark.between import Between
from pfspark.rows import rows_of
from pfspark.views import Concern, due

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
LATER = NOW + timedelta(microseconds=1)
FOLDERS = {"A:1": "", "A:2": "A:1", "A:3": "A:2", "A:4": ""}
"""Each with its parent."""
VIEWS = ("tree", "folders", "lists", "replicas", "state", "array", "agenda", "lives")


def clock(*orgs: str) -> pa.Table:
    return rows_of("clock", ({"org": org, "now": NOW} for org in orgs))


def test_what_is_due_is_due_to_the_microsecond(spark: SparkSession) -> None:
    rows = pa.table({"org": ["o", "o", "p", "o"], "due": pa.array([NOW, LATER, NOW, None], pa.timestamp("us", "UTC"))})
    assert due(rows, clock("o"))["due"].to_pylist() == [NOW, None]
    assert due(rows, clock()).num_rows == 0


def between(spark: SparkSession, **more: list[dict[str, Any]]) -> Between:
    """One replica of each folder at A, in two organizations; a state of each; and what is due."""
    here = [{"org": org, "store": "A", "folder": folder} for org in ("o", "p") for folder in FOLDERS]
    rows: dict[str, list[dict[str, Any]]] = {name: here for name in VIEWS}
    trees = [{**row, "parent": FOLDERS[row["folder"]], "dead": False} for row in here]
    return Between(spark, rows | {"folders": trees, "agenda": [], "changes": CHANGES} | more)


def read_of(world: Between, name: str, *orgs: str) -> set[tuple[str, str]]:
    concern = Concern.of(world.tables, clock(*orgs))
    rows = concern.read(name, world.tables[name])
    return set(zip(rows["org"].to_pylist(), rows["folder"].to_pylist(), strict=True))


ENTRY = {"org": "o", "store": "A", "folder": "A:1", "why": "send", "peer": ""}
LETTER = {"org": "o", "message_id": "m", "recipient": "A", "folder": "A:2", "type": "0x4", "flags": [], "due": NOW}
NEWS = {**LETTER, "type": "0x2", "folder": "1-1"}
EDIT = {"org": "o", "edit_id": "e", "store": "A", "folder": "A:3", "action": "post", "at": NOW}
OF_FOLDER = {**EDIT, "folder": "A:2", "action": "set_folder"}


def change(cn: int, folder: str, **said: str) -> dict[str, Any]:
    """A change of the hierarchy, as A numbered it."""
    named = {"org": "o", "folder": "1-1", "origin": "A", "cn": cn, "object": folder, "action": "set_folder", "edit_id": f"e{cn}"}
    return {**named, "properties": [{"name": name, "value": value} for name, value in said.items()]}


def news(cn: int) -> dict[str, Any]:
    """A letter that brings that number."""
    return {**NEWS, "carries": [{"origin": "A", "cn_min": cn, "cn_max": cn}]}


CHANGES = [
    change(2, "A:2", name="B", parent="A:1"), change(3, "A:3", name="C", parent="A:4"), change(4, "A:4", parent=""),
    change(5, "B:1", parent="A:2"), change(6, "A:2"), change(7, "A:2", parent="A:1", deleted="true"),
]  # fmt: skip
ABOVE_AND_BENEATH = {("o", folder) for folder in ("A:1", "A:2", "A:3")}
CASES: dict[str, tuple[dict[str, list[dict[str, Any]]], set[tuple[str, str]]]] = {
    "nothing": ({}, set()),
    "an entry": ({"agenda": [{**ENTRY, "due": NOW}]}, {("o", "A:1")}),
    "an entry of later": ({"agenda": [{**ENTRY, "due": LATER}]}, set()),
    "an entry of who does not play": ({"agenda": [{**ENTRY, "org": "p", "due": NOW}]}, set()),
    "a letter": ({"mail": [LETTER]}, {("o", "A:2")}),
    "a letter under way": ({"mail": [{**LETTER, "due": LATER}]}, set()),
    "news of a folder": ({"mail": [news(2)]}, {("o", "A:1"), ("o", "A:2")}),
    "news of a folder that somebody does not know": ({"mail": [{**news(2), "recipient": "B"}]}, ABOVE_AND_BENEATH),
    "news of a folder that does not say where it lies": ({"mail": [news(6)]}, ABOVE_AND_BENEATH),
    "news of a folder that is deleted": ({"mail": [news(7)]}, ABOVE_AND_BENEATH),
    "news of a new folder": ({"mail": [news(5)]}, {("o", "A:1"), ("o", "A:2")}),
    "news of a folder that is moved": ({"mail": [news(3)]}, {*ABOVE_AND_BENEATH, ("o", "A:4")}),
    "news that nobody has": ({"mail": [news(9)]}, set()),
    "news that carries nothing": ({"mail": [{**NEWS, "carries": []}]}, set()),
    "a letter, and news": ({"mail": [LETTER, {**news(4), "message_id": "n"}]}, {("o", "A:1"), ("o", "A:2"), ("o", "A:4")}),
    "an answer to a leaver": ({"mail": [{**LETTER, "type": "0x10", "flags": ["delete_pending"]}]}, {("o", "A:1"), ("o", "A:2")}),
    "an edit": ({"edits": [EDIT]}, {("o", "A:3")}),
    "an edit of no time": ({"edits": [{**EDIT, "at": None}]}, {("o", "A:3")}),
    "an edit of later": ({"edits": [{**EDIT, "at": LATER}]}, set()),
    "an edit of a folder": ({"edits": [OF_FOLDER]}, {("o", "A:1"), ("o", "A:2")}),
    "an edit that deletes one": ({"edits": [{**OF_FOLDER, "action": "delete_folder"}]}, ABOVE_AND_BENEATH),
    "an edit that moves one": (
        {"edits": [{**OF_FOLDER, "folder": "A:4", "properties": {"parent": "A:1"}}]},
        {
            ("o", "A:4"),
            ("o", "A:1"),
        },
    ),
    "an edit that creates one": (
        {"edits": [{**OF_FOLDER, "folder": None, "properties": {"parent": "A:2"}}]},
        {
            ("o", "A:1"),
            ("o", "A:2"),
        },
    ),
    "an edit beneath what an edit made": (
        {"edits": [{**OF_FOLDER, "folder": "@e4", "properties": {"parent": "@e2"}}]},
        {
            ("o", "A:1"),
            ("o", "A:2"),
            ("o", "A:4"),
        },
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_round_reads_what_it_concerns(spark: SparkSession, case: str) -> None:
    """Of every view alike; and what it leaves is the rest. Of all changes its steps pick what they need."""
    given, expected = CASES[case]
    world = between(spark, **given)
    concern = Concern.of(world.tables, clock("o"))
    for name in VIEWS:
        if name != "agenda":
            assert read_of(world, name, "o") == expected, name
            assert concern.read(name, world.tables[name]).num_rows == len(expected), name  # each once
    assert concern.read("changes", world.tables["changes"]) is world.tables["changes"]
    waiting = concern.read("mail", world.tables["mail"])
    assert waiting.num_rows == (0 if case == "a letter under way" else len(given.get("mail", ())))


def test_edits_that_name_an_edit_find_what_it_became(spark: SparkSession) -> None:
    """A folder that was made by an edit is concerned under its number."""
    made = {"org": "o", "folder": "1-1", "object": "A:4", "edit_id": "made", "action": "create_folder"}
    other = {**made, "edit_id": "another", "object": "A:3"}
    posted = {"org": "o", "folder": "A:4", "object": "A:9", "edit_id": "posted", "action": "post"}
    world = between(
        spark, changes=[made, other, posted], edits=[{**EDIT, "folder": "@made", "item": "@posted", "action": "modify"}]
    )
    assert read_of(world, "replicas", "o") == {("o", "A:4")}
