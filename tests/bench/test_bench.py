"""What rounds cost, beside the bare Delta appends of the rows they wrote. Nothing here is asserted about time.

pytest --bench -s tests/bench
"""

from __future__ import annotations

import re
import resource
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pfspark import cnset
from pfspark.between import Between
from pfspark.edge.config import conf_folder
from pfspark.edge.spark import kept_plans
from pfspark.edge.spark.crossing import BY_FILES
from pfspark.keyed import ByName
from pfspark.rows import local
from pfspark.sim import invention
from pfspark.sim.scenario import Scenario, parse
from pfspark.words import HIERARCHY
from tests.edge.processes import talking

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Made = dict[str, pa.Table]
FACTS = ("changes", "messages", "receipts", "state", "replicas", "backfill", "agenda")
QUARTER = timedelta(minutes=15)
HELD = "PFS1:1-10,PFS2:1-20,PFS3:1-30"


def scenario(folders: int, steps: int = 0, name: str = "bench", count: int = 1, holds: str = HELD) -> Scenario:
    """Three stores with replicas of every folder, which hold so much; posts by turns at stores and in folders."""
    stores = ["PFS1", "PFS2", "PFS3"]
    lines = [
        f'name = "{name}"',
        'profile = "exchange_2007"',
        "start = 2026-01-05T00:00:00Z",
        'end = "1000h"',
        'interval = "15m"',
    ]
    lines += [f'[stores.{store}]\nsite = "Redmond"' for store in stores]
    lines += [f'[folders."/F{place}"]\nreplicas = ["PFS1", "PFS2", "PFS3"]\nholds = "{holds}"' for place in range(folders)]
    lines += [
        f'[[steps]]\nat = "0m"\npost = {{ store = "{stores[place % 3]}", folder = "/F{place % folders}", count = {count} }}'
        for place in range(steps)
    ]
    return parse("\n".join(lines), name, conf_folder())


class Played:
    """Organizations played by hand, round after round."""

    def __init__(self, spark: SparkSession, *scenarios: Scenario) -> None:
        rows: dict[str, list[Any]] = {}
        for each in scenarios:
            for name, some in invention.begin(each).items():
                rows.setdefault(name, []).extend(some)
        self.world = Between(spark, rows, BY_FILES)
        self.scenarios = scenarios
        self.now = scenarios[0].start

    def round(self, edits: bool = False) -> tuple[float, Made]:
        """The next round: seconds, and what it made."""
        if edits:
            self.world.append("edits", [row for each in self.scenarios for row in invention.edits(each, each.steps)])
        turns = {each.name: invention.turn(each, self.now, suspended=False) for each in self.scenarios}
        self.now += QUARTER
        began = time.perf_counter()
        made = self.world.play(turns)
        return time.perf_counter() - began, made

    def warm(self) -> Played:
        self.round()
        return self


def appends(spark: SparkSession, made: ByName, lake: Path) -> float:
    """Seconds that bare appends of those rows to Delta tables take, the tables being there already."""
    frames = {}
    for name in FACTS:
        if made[name].num_rows:
            frame = local(spark, made[name], of(made[name]))
            frame.limit(0).write.format("delta").mode("append").save(str(lake / name))
            frames[name] = frame
    began = time.perf_counter()
    for name, frame in frames.items():
        frame.write.format("delta").mode("append").save(str(lake / name))
    return time.perf_counter() - began


def of(table: pa.Table) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(table.schema)


def rows(made: ByName) -> int:
    return sum(made[name].num_rows for name in FACTS)


def told(what: str, seconds: float, beside: float | None = None, more: str = "") -> None:
    ratio = f", {seconds / beside:.1f} times the {beside:.2f} s of bare appends" if beside else ""
    print(f"\n{what}: {seconds:.2f} s{ratio}{more}")


def memory() -> int:
    """Megabytes this process holds at most (Java has its own)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def memory_of_java(spark: SparkSession) -> int:
    """Megabytes that Java holds now."""
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    [resident] = re.findall(r"^VmRSS:\s*(\d+) kB$", Path(f"/proc/{gateway.proc.pid}/status").read_text(), re.MULTILINE)
    return int(resident) // 1024


def test_idle_round(spark: SparkSession) -> None:
    played = Played(spark, scenario(10)).warm()
    took = []
    for _ in range(3):
        seconds, made = played.round()
        took.append(seconds)
        assert rows(made) == 0
    told("idle round", min(took))


def test_small_busy_round(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three stores, ten folders, twenty changes made and taken in; and the round in which they arrive. As steps are said to Spark
    the first time, and once their plans are kept."""
    Played(spark, scenario(10, 20)).round(edits=True)  # warms
    for kept in (False, True):
        monkeypatch.setattr(kept_plans, "_PLANS", WeakKeyDictionary())
        for _ in range(3 if kept else 1):
            played = Played(spark, scenario(10, 20))
            found = {what: played.round(edits=what == "sending") for what in ("sending", "receiving")}
        for what, (seconds, made) in found.items():
            assert made["changes" if what == "sending" else "receipts"].num_rows >= 20
            beside = appends(spark, made, tmp_path / what)
            told(f"small busy round, {what} ({rows(made)} rows){', of plans that are kept' * kept}", seconds, beside)


def test_hundred_rounds(spark: SparkSession) -> None:
    """Every round has its twenty changes; does the hundredth cost more than the tenth?"""
    played = Played(spark, scenario(10, 20))
    took, held = [], []
    for number in range(100):
        began = invention.edits(played.scenarios[0], played.scenarios[0].steps)
        played.world.append("edits", [{**row, "edit_id": f"{row['edit_id']} {number}", "at": played.now} for row in began])
        seconds, made = played.round()
        assert made["changes"].num_rows >= 20
        took.append(seconds)
        held.append(memory())
    tenth, last = (sorted(took[place - 5 : place])[2] for place in (10, 100))
    told("round 10", tenth)
    told("round 100", last, None, f", {last / tenth:.2f} times round 10; memory {held[9]} then {held[99]} MB")


def among(spark: SparkSession, what: str, more: Sequence[int], crowd: Callable[[Between, int], int]) -> None:
    """Tells of the same twenty changes, sent and received in ten folders, alone and in a crowd of so many copies; `crowd` makes
    it, and says how large it is."""
    Played(spark, scenario(10, 20)).round(edits=True)  # warms
    alone: list[float] = []
    for copies in (0, *more):
        played = Played(spark, scenario(10, 20)).warm()
        size = crowd(played.world, copies)
        took = []
        for edits in (True, False):
            seconds, made = played.round(edits=edits)
            assert made["changes" if edits else "receipts"].num_rows >= 20
            took.append(seconds)
        alone = alone or took
        times = " and ".join(f"{one / other:.2f}" for one, other in zip(took, alone, strict=True))
        rest = f"; receiving {took[1]:.2f} s: {times} times alone; {memory()} MB at most, Java {memory_of_java(spark)} MB"
        told(f"among {size:,} {what}, sending", took[0], None, rest)


def ballast(world: Between, copies: int) -> int:
    """So many copies of every folder with its replicas, lists and sets, under numbers of their own, in which nothing happens;
    gives how many replicas there are."""
    for name in ("tree", "folders", "lists", "replicas", "state"):
        held = world.tables[name]
        one = held.filter(pc.not_equal(held["folder"], HIERARCHY))
        many = pa.concat_tables([one] * copies or [one.slice(0, 0)]).combine_chunks()
        place = pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), many.num_rows), start=-1)
        copy = pc.cast(pc.divide(place, max(one.num_rows, 1)), pa.string())
        folder = pc.binary_join_element_wise(many["folder"], copy, "0000")
        world.replace(name, pa.concat_tables([held, many.set_column(many.column_names.index("folder"), "folder", folder)]))
    return int(world.tables["replicas"].num_rows)


def test_folders_in_which_nothing_happens(spark: SparkSession) -> None:
    """Beside those of the changes, of three replicas each."""
    among(spark, "replicas", (1_000, 3_000, 10_000), ballast)


def test_a_change_of_the_tree(spark: SparkSession) -> None:
    """A property of a folder, and its name: where it is set and where it comes, in ten folders and among others."""
    alone: list[float] = []
    for copies in (0, 100, 1_000, 10_000):
        played = Played(spark, scenario(10)).warm()
        size = ballast(played.world, copies)
        [folder, *_] = pc.unique(played.world.tables["folders"]["folder"]).to_pylist()
        took = []
        for nth, said in enumerate([{"description": "warm"}, {"description": "of old"}, {"name": "New"}]):
            who = {
                "org": "bench",
                "edit_id": f"said {nth}",
                "store": "PFS1",
                "at": played.now,
                "written": played.now,
                "place": nth,
            }
            played.world.append("edits", [{**who, "action": "set_folder", "folder": folder, "properties": said}])
            for _ in range(2):
                seconds, made = played.round()
                assert made["tree"].num_rows
                took.append(seconds)
        alone = alone or took
        times = ", ".join(f"{one / other:.2f}" for one, other in zip(took[2:], alone[2:], strict=True))
        seconds = " and ".join(f"{each:.1f}" for each in took[2:])
        print(f"\na property and a name, each set and received, among {size:,} replicas: {seconds} s: {times} times alone")


def test_a_folder_is_deleted_with_all_beneath(spark: SparkSession) -> None:
    """Ten folders lie beneath each; the deletion of the top, where it is made and where it comes."""
    for count in (100, 1_000, 10_000):
        played = Played(spark, scenario(count))
        tables = played.world.tables
        ids = sorted(pc.unique(tables["folders"]["folder"]).to_pylist(), key=lambda each: int(each.split(":")[1]))
        above = {each: ids[(nth - 1) // 10] if nth else "" for nth, each in enumerate(ids)}
        for name, column in (("folders", "parent"), ("tree", "value")):
            rows = tables[name].to_pylist()
            placed = [{**row, column: above[row["folder"]]} if row.get("property", "parent") == "parent" else row for row in rows]
            played.world.replace(name, placed)
        played.warm()
        who = {"org": "bench", "edit_id": "gone", "store": "PFS1", "at": played.now, "written": played.now, "place": 1}
        played.world.append("edits", [{**who, "action": "delete_folder", "folder": ids[0], "properties": {}}])
        (made, gone), (come, _) = played.round(), played.round()
        assert gone["folders"].num_rows == count
        print(f"\na folder with {count - 1:,} beneath is deleted: {made:.1f} s, and {come:.1f} s where that comes")


HOLDS = {"PFS1": 10, "PFS2": 20, "PFS3": 30}
"""How many items of each origin every folder holds at the start of `scenario`."""


def deepen(world: Between, copies: int) -> int:
    """So many copies of every item of content, under numbers that follow its own, held by whoever holds it; gives how many
    changes there are."""

    def step(origins: pa.ChunkedArray) -> pa.ChunkedArray:
        return pc.take(pa.array(HOLDS.values()), pc.index_in(origins, value_set=pa.array(HOLDS)))

    held, ranges = world.tables["changes"], world.tables["state"]
    one = held.filter(pc.not_equal(held["folder"], HIERARCHY))
    many = pa.concat_tables([one] * copies or [one.slice(0, 0)]).combine_chunks()
    place = pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), many.num_rows), start=-1)
    cn = pc.add(many["cn"], pc.multiply(pc.add(pc.divide(place, one.num_rows), 1), step(many["origin"])))
    numbered = pc.binary_join_element_wise(many["origin"], pc.cast(cn, pa.string()), ":")
    for name, column in (("cn", cn), ("object", numbered)):
        many = many.set_column(many.column_names.index(name), name, column)
    world.append("changes", many)
    last = pc.add(ranges["cn_max"], pc.multiply(step(ranges["origin"]), copies))
    far = pc.if_else(pc.not_equal(ranges["folder"], HIERARCHY), last, ranges["cn_max"])
    world.replace("state", ranges.set_column(ranges.column_names.index("cn_max"), "cn_max", far))
    return int(world.tables["changes"].num_rows)


def test_items_that_are_there_already(spark: SparkSession) -> None:
    """In the folders of the changes, beside sixty each."""
    among(spark, "items", (200, 1_000, 4_000), deepen)


def test_thousand_organizations(spark: SparkSession) -> None:
    """Each as often as it takes to warm; the last time counts."""
    took = {}
    for many in (1, 1000) * 4:
        played = Played(spark, *[scenario(2, 4, f"org {place}") for place in range(many)])
        took[many], made = played.round(edits=True)
        assert made["changes"].num_rows == 4 * many
    told("one organization", took[1])
    told("1,000 organizations", took[1000], None, f", {took[1000] / took[1]:.1f} times one")


def test_many_stores(spark: SparkSession) -> None:
    """A day after a folder was made each tells each of the hierarchy, and with it what it believes of all others: the rounds in
    which that goes and comes."""
    beside = 0.0
    for stores in (3, 30, 300, 1000):
        names = [f"S{nth:03}" for nth in range(stores)]
        lines = ['profile = "exchange_2007"', "start = 2026-01-05T00:00:00Z", 'end = "1000h"', "[stores]"]
        lines += [f'{name} = {{ site = "Redmond" }}' for name in names]
        lines += ["[folders]", f'"/F" = {{ replicas = ["{names[0]}", "{names[1]}"], holds = "{names[0]}:1-9" }}']
        lines += ["[[steps]]", 'at = "0m"', f'create_folder = {{ store = "{names[0]}", path = "/G", replicas = ["{names[1]}"] }}']
        played = Played(spark, parse("\n".join(lines), f"of {stores}", conf_folder()))
        for edits in (True, False):
            played.round(edits)
        played.now += timedelta(days=1)
        took, letters = 0.0, 0
        for _ in range(6):
            seconds, made = played.round()
            took += seconds
            letters += sum(map(len, made["messages"]["recipients"].to_pylist()))
        assert letters >= stores * (stores - 1) and not played.world.tables["mail"].num_rows
        beside = beside or took
        told(f"{stores} stores tell each other, {letters:,} letters", took, more=f", {took / beside:.1f} times as long as of 3")
    print(f"  python: {memory()} MB, java: {memory_of_java(spark)} MB")


def holes_of_a_million_pairs(spark: SparkSession, place: Path) -> None:
    """A hole for each (folder, origin), from parquet to parquet; one bigint key. The first time warms."""
    from pyspark.sql import functions as F

    pairs = spark.range(1_000_000).select(F.col("id").alias("pair"))
    heard, held = str(place / "heard"), str(place / "held")
    pairs.selectExpr("pair", "1L as cn_min", "20 + pair % 7 as cn_max").write.parquet(heard)
    pairs.selectExpr(
        "pair", "inline(array(named_struct('cn_min', 1L, 'cn_max', 11L), named_struct('cn_min', 17L, 'cn_max', 17L)))"
    ).write.parquet(held)
    for nth in range(2):
        began = time.perf_counter()
        spark.read.parquet(heard).write.parquet(str(place / f"copied {nth}"))
        bare = time.perf_counter() - began
        began = time.perf_counter()
        holes = cnset.subtract(spark.read.parquet(heard), spark.read.parquet(held), ["pair"])
        holes.write.parquet(str(place / f"holes {nth}"))
        seconds = time.perf_counter() - began
    assert spark.read.parquet(str(place / "holes 1")).count() == 2_000_000  # 12-16 and 18-...
    told("holes of 1,000,000 pairs", seconds, None, f", {seconds / bare:.1f} times the {bare:.2f} s of copying the sets")


FOR_MUCH_DATA = """
import sys
from pathlib import Path
from pfspark.edge.session import open_session
from tests.bench.test_bench import holes_of_a_million_pairs
holes_of_a_million_pairs(open_session(small=False), Path(sys.argv[1]))
"""


def test_holes_of_a_million_pairs(tmp_path: Path) -> None:
    """In a Java of its own, as it is started for much data."""
    child = talking(FOR_MUCH_DATA, str(tmp_path))
    said, _ = child.communicate()
    print(said)
    assert child.returncode == 0


def test_hundred_thousand_items(spark: SparkSession, tmp_path: Path) -> None:
    """100,000 items posted at one store, replicated to two others."""
    one = scenario(1, 1, count=100_000)
    played = Played(spark, one)
    sent, made = played.round(edits=True)
    assert made["changes"].num_rows == 100_000
    told("100,000 items posted", sent, appends(spark, made, tmp_path))
    received, made = played.round()
    told("100,000 items received at two stores", received, None, f", {rows(made)} rows")
    state = [row for row in played.world.tables["state"].to_pylist() if row["entry"] == "applied" and row["cn_max"] > 100_000]
    assert {row["store"] for row in state} == {"PFS1", "PFS2", "PFS3"}
