"""A past world of which no more is read than is asked about: the same is told of a folder as where all is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pfspark import cli
from pfspark.edge.config import conf_folder
from pfspark.edge.delta import native
from pfspark.edge.delta.snapshot import Snapshot
from pfspark.edge.world import past
from pfspark.edge.world.facts import views
from pfspark.edge.world.some_rows import EitherOf
from pfspark.errors import UsageError
from pfspark.lake import Lake
from pfspark.lake.known import Known
from pfspark.words import HIERARCHY

KINDS = ("state", "replicas", "items", "folders", "gaps", "referrals", "messages", "edits", "events")
WHOLE = Known._world
SMALL = {"SMALL_ROWS": -1}
"""That no table has few rows; and that none can be looked through here either."""
READ = {"here": SMALL, "by Spark": {**SMALL, "AT_HAND_ROWS": -1}}


@pytest.fixture(scope="module")
def moved(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """A lake of a folder that moves twice while its old parent is deleted, in thirteen rounds."""
    place = tmp_path_factory.mktemp("moved") / "lake"
    with redirect_stdout(StringIO()):
        assert cli.run(["play", str(conf_folder() / "scenarios" / "move_and_delete_folder.toml"), "--lake", str(place)]) == 0
    with Lake.open(place, spark) as lake:
        yield lake


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[set[str], dict[str, pa.Table]]]:
    """What was read of the tables: which rows of which alone, and the views that they gave."""
    told: list[tuple[set[str], dict[str, pa.Table]]] = []

    def reading(snapshot: Snapshot, names: Collection[str], only: Mapping[str, EitherOf]) -> dict[str, pa.Table]:
        found = views(snapshot, names, only)
        told.append(({*only}, found))
        return found

    monkeypatch.setattr(past, "views", reading)
    return told


def told_of(lake: Lake, folder: str, as_of: int) -> dict[str, Any]:
    """All that can be asked about a folder; where that is refused, how."""
    asked: dict[str, Callable[[], Any]] = {
        kind: lambda kind=kind: [*lake.lines(kind, as_of, folder=folder)]
        for kind in KINDS  # type: ignore[misc]
    }
    asked |= {"why": lambda: [*lake.why_lines(folder=folder, as_of=as_of)]}
    found = {}
    for name, ask in asked.items():
        try:
            found[name] = ask()
        except UsageError as error:
            found[name] = str(error)
    return found


@pytest.mark.lakes
@pytest.mark.parametrize("how", READ)
def test_the_same_is_told_as_of_all(moved: Lake, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """By any path or id: of a folder that is there, that was moved away, or deleted, and of none."""
    for name, most in READ[how].items():
        monkeypatch.setattr(native, name, most)
    ids = {line["path"]: line["id"] for line in moved.lines("folders", 4)}
    assert ids.keys() == {"/New", "/New/Plans", "/Old", "/Old/Plans"} and ids["/New/Plans"] == ids["/Old/Plans"]
    for as_of, folder in ((9, "/New/Plans"), (9, ids["/Old"]), (9, "/Nowhere"), (4, "/Old/Plans")):
        near = told_of(moved, folder, as_of)
        with monkeypatch.context() as patched:
            patched.setattr(Known, "_world", lambda self, as_of=None, org=None, **_: WHOLE(self, as_of, org))
            assert told_of(moved, folder, as_of) == near, (folder, as_of)


@pytest.mark.parametrize("how", [{}, *READ.values()], ids=["few", *READ])
def test_a_part_says_what_all_says_of_its_folders(
    undisturbed: Lake, monkeypatch: pytest.MonkeyPatch, how: Mapping[str, int]
) -> None:
    """And of the hierarchy; who heard of whom, and what people say, is said of all."""
    for name, most in how.items():
        monkeypatch.setattr(native, name, most)
    whole = past.Past(undisturbed._tables.snapshot(9))
    [sales, _] = sorted({*whole["tree"]["folder"].to_pylist()})
    near = whole.near("main", ["/Sales"])
    letters = {*near["mail"]["message_id"].to_pylist()}

    def is_near(name: str, row: Mapping[str, Any]) -> bool:
        if name == "changes" and row["folder"] == HIERARCHY:
            return bool(row["object"] == sales)
        if name == "letters":
            return row["message_id"] in letters
        return name in ("stores", "links", "edits", "contacts") or row["folder"] in (sales, HIERARCHY)

    for name in whole:
        rows = whole[name].to_pylist()
        assert counted(near[name].to_pylist()) == counted(row for row in rows if is_near(name, row)), name
    assert whole["mail"].num_rows and whole["array"].num_rows and near["changes"].num_rows < whole["changes"].num_rows


def counted(rows: Iterable[Mapping[str, Any]]) -> Counter[str]:
    return Counter(str(sorted(row.items())) for row in rows)


def test_of_other_folders_nothing_is_read(undisturbed: Lake, read: list[tuple[set[str], dict[str, pa.Table]]]) -> None:
    """Nor what nobody asks about: of the state of a folder, no change of an item."""
    with Lake.open(undisturbed.where, undisturbed._tables.spark) as lake:
        ids = {line["path"]: line["id"] for line in lake.lines("folders", 10)}
        read.clear()
        assert {line["store"] for line in lake.lines("state", 9, folder="/Sales")} == {"PFS1", "PFS2"}
    assert ids.keys() == {"/Sales", "/Sales/West"}
    [near] = [found for only, found in read if only and "tree" in found]
    assert {*near["tree"]["folder"].to_pylist()} == {ids["/Sales"]}
    assert {*near["state"]["folder"].to_pylist()} == {ids["/Sales"], HIERARCHY}
    assert not any("changes" in found for _, found in read)
