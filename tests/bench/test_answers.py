"""What answers cost, beside the rounds of the same lake. Nothing here is asserted about time.

pytest --bench -s tests/bench/test_answers.py
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

from pfspark.edge.played import written
from pfspark.lake import Lake
from pfspark.sim import invention
from tests.bench.test_bench import HELD, scenario

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = datetime(2026, 1, 5, tzinfo=UTC)
QUARTER, WEEK = timedelta(minutes=15), timedelta(days=7)
FOLDERS = 3_334
"""With three replicas each some 10,000."""
T = TypeVar("T")


def took(work: Callable[[], T]) -> tuple[float, T]:
    began = time.perf_counter()
    done = work()
    return time.perf_counter() - began, done


def lake_of(spark: SparkSession, place: Path, folders: int, holds: str = HELD) -> Lake:
    """A lake of the bench's organization as it begins: PFS1, PFS2 and PFS3 with replicas of every folder."""
    one = scenario(folders, holds=holds)
    with written(spark, str(place), [one]) as record:
        record.begin(invention.begin(one))
    return Lake.open(place, spark)


def busy_round(lake: Lake, nth: int) -> float:
    """Seconds of a round with twenty changes in ten folders, of which PFS3 hears nothing."""
    now = START + nth * QUARTER
    for place in range(20):
        lake.post("PFS1", f"/F{place % 10}", b"new", name=f"item {nth}.{place}", at=now)
    seconds, played = took(lambda: lake.round(now, cut=["PFS3"]))
    assert played.counts["changes"] == 20
    return seconds


@pytest.fixture(scope="module")
def large(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    with lake_of(spark, tmp_path_factory.mktemp("large") / "lake", FOLDERS) as lake:
        busy_round(lake, 0)  # warms
        yield lake


def told(what: str, seconds: float, beside: float, of: str) -> None:
    print(f"\n{what}: {seconds:.2f} s, {seconds / beside:.1f} times the {beside:.2f} s of {of}")


def test_why_and_report(large: Lake) -> None:
    """Of one number at one store, of every replica there is, and the page, beside a busy round."""
    beside = busy_round(large, 1)
    for what, ask in {
        "why, of one pair": lambda: list(large.why_lines("PFS1:11", folder="/F0", store="PFS3")),
        f"why, of {3 * FOLDERS:,} pairs": lambda: list(large.why_lines()),
        f"report of {3 * FOLDERS:,} replicas": lambda: large.report().html,
    }.items():
        ask()
        seconds, found = took(ask)
        assert found
        told(what, seconds, beside, "a round of twenty changes on that lake")


def test_a_week_foreseen(spark: SparkSession, tmp_path: Path) -> None:
    """`whatif` of a week with an outage, two worlds in the same rounds, beside playing that week once."""
    outage = {"steps": [{"at": "15m", "cut": ["PFS2"]}, {"at": "12h", "heal": ["PFS2"]}]}
    with lake_of(spark, tmp_path / "lake", 10) as lake:
        busy_round(lake, 0)
        foreseen, lines = took(lambda: list(lake.whatif_lines(outage, until=WEEK)))
        assert [line["world"] for line in lines] == ["as_is", "what_if"]
        week, rounds = took(lambda: lake.run(WEEK))
        told("whatif of a week, two worlds", foreseen, week, f"playing that week on the lake, {rounds} rounds")
