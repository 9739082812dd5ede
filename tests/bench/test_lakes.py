"""What a lake in a folder costs: a process of its own, many rounds, a long ledger, and rounds beside the bare appends of their
rows. Nothing here is asserted about time.

pytest --bench -s tests/bench/test_lakes.py
"""

from __future__ import annotations

import shutil
import statistics
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from pfspark.edge.delta.tables import Tables
from pfspark.edge.world import bases
from pfspark.lake import Lake
from pfspark.rows import rows_of
from tests.bench.test_answers import QUARTER, START, lake_of, took
from tests.bench.test_bench import told
from tests.bench.test_verbs import MAIN
from tests.bench.test_verbs import took as took_by_itself
from tests.edge.lakes import DAY, LAKES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TIMES = 3
"""Of which the median is told."""
LARGE = 10_000
"""Folders of three replicas each."""
ROUNDS = 300
"""Of a lake that has been played on for long."""
LEDGERS = (20, 2_000)


def post(tables: Tables, now: datetime, count: int = 20, nth: int = 0) -> None:
    """By turns at the three stores and in ten folders, in one go."""
    common = {"org": "bench", "action": "post", "size": 3, "at": now, "written": now}
    rows = (
        {
            **common,
            "store": f"PFS{place % 3 + 1}",
            "folder": f"PFS1:{place % 10 + 1}",
            "edit_id": f"{now} {place}",
            "place": place,
        }
        for place in range(nth, nth + count)
    )
    tables.append("edits", rows_of("edits", rows))


def by_itself(lake: Path, *words: str) -> float:
    """Seconds of a command from the start of its process to the end."""
    return took_by_itself([sys.executable, "-c", MAIN, *words], lake.parent, PFSPARK_LAKE=str(lake), PFSPARK_ENGINE="off")


def compared(what: str, seconds: float, beside: float, of: str) -> None:
    print(f"\n{what}: {seconds:.2f} s, {seconds / beside:.2f} times the {beside:.2f} s {of}", flush=True)


def test_a_process_of_its_own_on_a_large_lake(spark: SparkSession, tmp_path: Path) -> None:
    """`pfspark round` of twenty changes: upon the world that whoever played before has left there, and from the facts alone."""
    small: dict[str, float] = {}
    for folders in (10, LARGE):
        place, now = tmp_path / f"of {folders}", START
        with lake_of(spark, place, folders, "PFS1:1") as lake:
            post(lake._tables, now)
            lake.round(now)
        tables = Tables.open(spark, place)
        for what in ("upon what was left there", "from the facts"):
            seconds = []
            for _ in range(TIMES):
                now += QUARTER
                post(tables, now)
                if what == "from the facts":
                    bases.drop(place)
                seconds.append(by_itself(place, "round", "--now", now.isoformat()))
                assert tables.snapshot().row.counts["changes"] == 20
            median = statistics.median(seconds)
            small.setdefault(what, median)
            compared(f"`pfspark round` {what}, {3 * folders:,} replicas", median, small[what], "of 30")


def test_many_rounds(spark: SparkSession, tmp_path: Path) -> None:
    """Each of one post, all by one process; and what it costs to come to such a lake."""
    place, young = tmp_path / "lake", tmp_path / "young"
    seconds = []

    def play(lake: Lake, rounds: int) -> None:
        for nth in range(len(seconds), len(seconds) + rounds):
            post(lake._tables, START + nth * QUARTER, 1, nth)
            spent, played = took(lambda: lake.round(START + nth * QUARTER))  # noqa: B023
            assert played.counts["changes"] == 1
            seconds.append(spent)

    with lake_of(spark, place, 10) as lake:
        play(lake, 10)
    shutil.copytree(place, young)
    with Lake.open(place, spark) as lake:
        play(lake, ROUNDS - 10)
    first, last = (statistics.median(seconds[end - 5 : end]) for end in (10, ROUNDS))
    compared(f"round {ROUNDS:,} of one post each", last, first, "of round 10")
    for what, how in {"upon what was left there": False, "from the facts": True}.items():
        opened = {where: statistics.median(opening(spark, where, how) for _ in range(TIMES)) for where in (young, place)}
        compared(f"opening the lake {what}, after round {ROUNDS:,}", opened[place], opened[young], "after round 10")
    asked = {where: statistics.median(by_itself(where, "state") for _ in range(TIMES)) for where in (young, place)}
    compared(f"`pfspark state` by itself, after round {ROUNDS:,}", asked[place], asked[young], "after round 10")


def opening(spark: SparkSession, place: Path, anew: bool) -> float:
    """Seconds until a lake that is opened in this process tells the state of its stores; it leaves its world there again."""
    if anew:
        bases.drop(place)
    with Lake.open(place, spark) as lake:
        seconds, lines = took(lambda: list(lake.lines("state")))
        assert lines
    return seconds


def test_a_long_ledger(spark: SparkSession, tmp_path: Path) -> None:
    """Commands that need no Spark, on a lake of two stores of which most rounds brought nothing."""
    commands: Mapping[str, tuple[str, ...]] = {
        "round, nothing due": ("round", "--now", "{}"),
        "post": ("post", "--store", "PFS1", "--folder", "/Sales", "--text", "hello", "--now", "{}"),
        "state": ("state",),
    }
    short: dict[str, float] = {}
    shutil.unpack_archive(LAKES[2], tmp_path / "quiet")
    with Lake.open(tmp_path / "quiet", spark) as lake:
        lake.run(until_quiet=True)
    for rows in LEDGERS:
        place = Path(shutil.copytree(tmp_path / "quiet", tmp_path / f"of {rows}"))
        last = lengthened(spark, place, rows)
        with Lake.open(place, spark) as lake:
            assert list(lake.lines("state"))
        for name, words in commands.items():
            said = [word.format((last + timedelta(seconds=1)).isoformat()) for word in words]
            by_itself(place, *said)
            median = statistics.median(by_itself(place, *said) for _ in range(TIMES))
            short.setdefault(name, median)
            compared(f"`{name}` with {rows:,} rows in the ledger", median, short[name], f"with {LEDGERS[0]}")


def lengthened(spark: SparkSession, place: Path, rows: int) -> datetime:
    """Gives the ledger so many rows, by rounds that bring nothing; when the last of them was played."""
    tables = Tables.open(spark, place)
    with tables.writing() as writer:
        writer.open()
        assert writer.last is not None
        row, [org] = writer.last, Lake.open(place, spark).answers().at
        now = datetime.fromisoformat(f"{DAY}00:00:00Z") + timedelta(days=90)
        while row.round < rows:
            now += QUARTER
            row = writer.record(
                replace(row, round=row.round + 1, kind="played", turns={org: now}, next_due={}, counts={}, facts={}, restored=())
            )
    return now


def test_small_busy_round_on_a_lake(spark: SparkSession, tmp_path: Path) -> None:
    """Twenty changes in ten folders of three replicas, sent and received, beside appends of the same rows to other tables."""
    beside = Tables.create(spark, tmp_path / "beside")
    seconds: dict[str, list[float]] = {"sending": [], "receiving": []}
    bare: dict[str, list[float]] = {"sending": [], "receiving": []}
    with lake_of(spark, tmp_path / "lake", 10) as lake:
        now = START
        for nth in range(TIMES + 4):
            post(lake._tables, now)
            for what, brings in (("sending", "changes"), ("receiving", "receipts")):
                spent, played = took(lambda: lake.round(now))  # noqa: B023
                assert played.counts[brings] >= 20
                appended, _ = took(lambda: [beside.append(name, played.made[name], nth) for name in played.counts])  # noqa: B023
                seconds[what].append(spent)
                bare[what].append(appended)
                now += QUARTER
    for what in seconds:
        warm, appends = (statistics.median(each[what][2:]) for each in (seconds, bare))
        told(f"small busy round on a lake, {what}", warm, appends)
