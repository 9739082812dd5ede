"""What the tests of real lakes share: what a lake says, and how one ends or is hindered."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pfspark import cntext
from pfspark.edge.delta.ledger import FACTS
from pfspark.keyed import ByName
from pfspark.lake import Lake

Copy = Callable[[str], Path]
"""Makes a copy of a lake, by its name."""

LAKES = {int(file.stem.rpartition("_")[2]): file for file in (Path(__file__).parents[1] / "golden").glob("lake_of_format_*.zip")}
"""Of each format there has been: two stores and a folder; PFS1 was cut off while a mail came, and has just found that it
lacks PFS2:1 (X18)."""

DAY = "2026-01-05T"
MERGED = {
    "state": ("org", "store", "folder", "entry", "about", "origin", "relayed"),
    "array": ("org", "store", "folder", "origin", "heard", "attempt", "asked"),
}
"""Tables of ranges: rows of the same columns are one set, however it is cut."""


def two_stores(lake: Lake, item: str = "first") -> None:
    """PFS1 and PFS2 in one site, a folder of both, and an item posted there; no round is played yet."""
    lake.organization(profile="modern", start=f"{DAY}00:00:00Z")
    lake.store("PFS1", "Redmond")
    lake.store("PFS2", "Redmond")
    lake.folder_create("PFS1", "/Sales", ["PFS1", "PFS2"], at=f"{DAY}00:00:00Z")
    lake.post("PFS1", "/Sales", b"first", name=item, at=f"{DAY}00:00:00Z")


def played_on(lake: Path, place: Path, spark: SparkSession, play: Callable[[Lake], object]) -> Path:
    """A copy of a lake at that place, in which that was played."""
    with Lake.open(shutil.copytree(lake, place), spark) as copied:
        play(copied)
    return place


def without_history(spark: SparkSession, lake: Lake, table: str) -> None:
    """Files that only older versions of a table need are removed at once."""
    name = lake._tables.name(table)
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.deletedFileRetentionDuration' = '0 hours')")
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    try:
        spark.sql(f"OPTIMIZE {name}")
        spark.sql(f"VACUUM {name} RETAIN 0 HOURS")
    finally:
        spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")


def rows(name: str, table: pa.Table) -> set[str] | dict[str, Any]:
    """What a table of a world says, whatever the order of its rows and the cuts of its ranges."""
    if name not in MERGED:
        left_out = {"round", "at"} if name in ("agenda", "mail") else {"round"}
        return {repr(sorted((key, value) for key, value in row.items() if key not in left_out)) for row in table.to_pylist()}
    return merged(table.to_pylist(), MERGED[name])


def merged(ranges: Iterable[Mapping[str, Any]], key: Sequence[str]) -> dict[str, Any]:
    """The set of numbers of each key, whatever the order of its ranges and how they are cut."""
    sets: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for row in ranges:
        sets[repr([row[name] for name in key])].append((row["cn_min"], row["cn_max"]))
    return {name: cntext.canonical(spans) for name, spans in sorted(sets.items())}


def assert_same_world(left: ByName, read: ByName) -> None:
    for name, table in read.items():
        names = [column for column in table.column_names if column in left[name].column_names]
        assert rows(name, table.select(names)) == rows(name, left[name].select(names)), name


def facts(lake: Lake, as_of: str | None = None) -> dict[str, list[str]]:
    """All valid facts without their round numbers; what a message claims is a set, which may be cut elsewhere."""
    found = {name: lake.table(name, as_of).drop("round").toArrow().to_pylist() for name in FACTS}
    for row in found["messages"]:
        row["status"] = merged(row["status"], ("about", "entry", "origin"))
    return {name: sorted(repr(sorted(row.items())) for row in some) for name, some in found.items()}


def ledger(lake: Lake) -> list[tuple[int, str, str]]:
    """The ledger's rows in order: number, kind and writer."""
    found = lake.rounds().select("round", "kind", "writer").collect()
    return sorted((row["round"], row["kind"], row["writer"]) for row in found)


def broken(lake: Lake) -> set[str]:
    """The checks of an audit that found something; for its certificate, every table is read whole."""
    return {line["id"] for line in lake.audit() if line.get("rows")}


class Ended(BaseException):
    """A process that ends, as far as one can end and still look."""


Point = tuple[str, int]
"""A point of a round, such as `after rounds`, and the how manieth time it is come by."""


def counted(do: Callable[[Point], object]) -> Callable[[str], None]:
    """A hook that is told each point with its count."""
    times: Counter[str] = Counter()

    def hook(here: str) -> None:
        times[here] += 1
        do((here, times[here]))

    return hook


def ending_at(point: Point) -> Callable[[str], None]:
    """Ends there; what other threads had not begun to commit by then is not begun any more."""
    ended = []

    def end(here: Point) -> None:
        if here == point or (ended and here[0].startswith("before")):
            ended.append(here)
            raise Ended

    return counted(end)


def once_at(point: Point, do: Callable[[], object]) -> Callable[[str], None]:
    """Does something there, and goes on."""
    return counted(lambda here: do() if here == point else None)


@contextmanager
def small_disk(place: Path, size: int) -> Iterator[Path]:
    """A disk of its own with room for so many bytes."""
    place.mkdir()
    with _mounted(["-t", "tmpfs", "-o", f"size={size}", "tmpfs"], place):
        yield place


@contextmanager
def read_only(place: Path) -> Iterator[None]:
    """A folder that can be read and not be written for a while, even by root."""
    with _mounted(["--bind", str(place)], place):
        subprocess.run(["mount", "-o", "remount,ro,bind", str(place)], check=True)
        yield


@contextmanager
def _mounted(what: list[str], place: Path) -> Iterator[None]:
    if subprocess.run(["mount", *what, str(place)], capture_output=True).returncode:
        pytest.skip("no permission to mount")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
