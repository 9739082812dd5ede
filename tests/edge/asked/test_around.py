"""What few folders tell of an edit or a path, beside what all do."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from pfspark.edge import door
from pfspark.edge.asked import naming
from pfspark.edge.asked.around import Around
from pfspark.edge.asked.store_view import View
from pfspark.errors import RefusedError
from pfspark.rows import rows_of
from pfspark.words import HIERARCHY_ACTIONS, Action

HERE = {"org": "main", "store": "P1"}
NAMES = ("a", "b", "c", "a/b")
MADE = {**HERE, "edit_id": "first", "action": "create_folder", "folder": None, "properties": [("name", "a")]}
ACTIONS = ("post", *map(str, HIERARCHY_ACTIONS))


def some_world(drawn: random.Random) -> dict[str, pa.Table]:
    """Folders of few names beneath each other, some in rings, some beneath what nobody knows, and edits that wait."""
    ids = [f"P1:{number}" for number in range(1, drawn.randint(1, 8))]
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in ("tree", "folders", "lists", "replicas", "edits")}
    for folder in ids:
        at = {**HERE, "folder": folder}
        sets = {"name": drawn.choice(NAMES), "parent": drawn.choice(["", "", *ids, "P9:9"]), "note": "n"}
        left_out = drawn.choice(["name", "parent", *["nothing"] * 8])
        rows["tree"] += [{**at, "property": name, "value": value} for name, value in sets.items() if name != left_out]
        rows["folders"].append({**at, "parent": sets["parent"], "dead": drawn.random() < 0.1})
        rows["lists"] += [{**at, "peer": peer, "listing": drawn.choice(["listed", "removed"])} for peer in ("P1", "P2")]
        rows["replicas"].append({**at, "life": 1, "standing": drawn.choice(["active", "erased"])})
    for number in range(drawn.randint(0, 4)):
        rows["edits"].append({**some_edit(drawn, [*ids, *(f"@e{each}" for each in range(4))]), "edit_id": f"e{number}"})
    elsewhere = {name: [{**row, "store": "P2", "dead": True, "value": "a"} for row in some] for name, some in rows.items()}
    return {name: rows_of(name, [*elsewhere[name], *some]) for name, some in rows.items()}


def some_edit(drawn: random.Random, folders: list[str]) -> dict[str, Any]:
    action = drawn.choice(ACTIONS)
    said = {"name": drawn.choice(NAMES), "parent": drawn.choice(["", *folders]), "replica:P1": "removed", "replica:P2": "listed"}
    sets = {name: value for name, value in said.items() if drawn.random() < 0.4 or (action == "create_folder" and name == "name")}
    at = None if drawn.random() < 0.1 else datetime(2026, 1, 5, drawn.randint(0, 2), tzinfo=UTC)
    return {
        **HERE, "edit_id": "new", "at": at, "place": drawn.choice([None, 1, 2]), "action": action,
        "folder": None if action == Action.CREATE_FOLDER else drawn.choice(folders), "properties": [*sets.items()],
    }  # fmt: skip


def told(judge: Callable[[], object]) -> str:
    try:
        judge()
    except RefusedError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("seed", range(2))
def test_few_folders_tell_what_all_do(seed: int) -> None:
    drawn = random.Random(seed)
    refused, found = 0, 0
    for _ in range(100):
        world = some_world(drawn)
        made = some_edit(drawn, [*world["folders"]["folder"].unique().to_pylist(), "@e0", "@e1"])
        before = told(lambda: door.validate(View(world, "main", "P1"), made, "/F"))  # noqa: B023
        assert told(lambda: door.check(world, made, "/F", lambda: "")) == before  # noqa: B023
        paths = naming.seen_paths(world, "main", "P1")
        for path in {*paths, "/a", "/b/a", "/a/b/c", "/c/c", "/d", "/"}:
            few = naming.seen_paths(Around(world, "main", "P1").of_path(path), "main", "P1")
            assert few.get(path, []) == paths.get(path, [])
        refused, found = refused + bool(before), found + sum(map(len, paths.values()))
    assert refused > 30 and found > 200


@pytest.mark.parametrize("seed", range(2))
def test_what_lies_beneath_a_folder_is_what_lies_beneath_it_step_by_step(seed: int) -> None:
    """After edits that make, move, rename and delete, in rings too; so are the folders of a name."""
    drawn = random.Random(seed)
    moved = 0
    for _ in range(100):
        view = View(some_world(drawn), "main", "P1")
        for nth in range(5):
            view.take_in({**some_edit(drawn, [*view.folders]), "edit_id": f"more {nth // 2}"} if view.folders else MADE)
        lines = {each: view.upwards(each) for each in view.folders}
        for each, seen in view.folders.items():
            assert view.beneath(each) == {one: line.index(each) for one, line in lines.items() if each in line}
            alike = {one for one, other in view.folders.items() if (other.parent, other.name) == (seen.parent, seen.name)}
            assert view.named(seen.parent, seen.name).keys() == alike
        moved += any(len(line) > 2 for line in lines.values())
    assert moved > 30


def test_of_many_folders_few_are_looked_at() -> None:
    many = range(1, 10_001)
    tree = [
        {**HERE, "folder": f"P1:{number}", "property": name, "value": value}
        for number in many for name, value in (("name", f"of {number}"), ("parent", f"P1:{number // 10}" if number > 9 else ""))
    ]  # fmt: skip
    world = {
        name: rows_of(name, [{**HERE, "folder": f"P1:{number}", "dead": False} for number in many])
        for name in ("folders", "lists", "replicas")
    }
    world |= {"tree": rows_of("tree", tree), "edits": rows_of("edits", ())}
    around = Around(world, "main", "P1")
    assert naming.folder_named(world, "main", "P1", "/of 1/of 12/of 123/of 1234") == "P1:1234"
    edits = [
        ({"action": "post", "folder": "P1:1234", "properties": []}, 4),
        ({"action": "create_folder", "folder": None, "properties": [("name", "of 1235"), ("parent", "P1:123")]}, 4),
        ({"action": "set_folder", "folder": "P1:1234", "properties": [("name", "of 1235")]}, 5),
        ({"action": "set_folder", "folder": "P1:123", "properties": [("parent", "P1:5")]}, 14),  # with all beneath it
    ]  # fmt: skip
    seen = [around.of_path("/of 1/of 12/of 123/of 1234"), *(around.of_edit(edit) for edit, _ in edits)]
    assert [each["folders"].num_rows for each in seen] == [4, *(count for _, count in edits)]
