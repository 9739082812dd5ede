"""The world between two rounds: what a round gives is folded into it."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from pfspark import execute, restarts
from pfspark.between import FEW, RANGE_KEY, Between
from pfspark.cntext import canonical
from pfspark.keys import HERE
from pfspark.materializer import ALL_LOCAL, Materializer
from pfspark.rows import rows_of
from pfspark.sim.player import play
from pfspark.twins.picking import PICKING
from pfspark.twins.sets import SETS
from tests.sim.organizations import organization

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def believed(cn: int, **other: Any) -> dict[str, Any]:
    key = {"org": "main", "store": "PFS1", "folder": "PFS1:1", "entry": "reported", "about": "PFS2", "origin": "PFS2"}
    return {**key, "cn_min": cn, "cn_max": cn, "relayed": False, **other}


def folded(world: Between, rows: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    """The state after a round in which nothing else has changed."""
    names = {*world.tables, "messages", "receipts"} - {"taken"}
    made = {name: rows_of(name, rows if name == "state" else ()) for name in names}
    dirty = rows_of("lists", ({name: row[name] for name in HERE} for row in rows))
    world.fold({**made, "dirty": dirty}, world.tables["state"])
    return {tuple(row[name] for name in (*RANGE_KEY, "cn_min", "cn_max")) for row in world.tables["state"].to_pylist()}


def test_many_ranges_that_touch_become_one(spark: SparkSession) -> None:
    """Those alike in all else; as long as there are few, each stays as it came. No number is won or lost."""
    world = Between(spark)
    few = [believed(nth) for nth in range(1, 10)]
    assert len(folded(world, few)) == 9
    many = [believed(2 * nth + 10, relayed=nth > FEW // 2) for nth in range(FEW)]
    found = folded(world, [*many, believed(1, about="PFS3")])
    sets: dict[tuple[str, bool], list[tuple[int, int]]] = defaultdict(list)
    for *_, about, _, relayed, cn_min, cn_max in found:
        sets[about, relayed].append((cn_min, cn_max))
    direct = [(row["cn_min"], row["cn_max"]) for row in (*few, *many) if not row["relayed"]]
    assert sets.keys() == {("PFS2", False), ("PFS2", True), ("PFS3", False)}
    assert sorted(sets["PFS2", False]) == list(canonical(direct))
    assert (1, 10) in sets["PFS2", False]
    assert sets["PFS3", False] == [(1, 1)]


def test_each_step_is_made_in_the_session_that_suits_its_rows(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those through which the edits of a round go, and no others; all but what picks is planned here."""
    monkeypatch.setattr(execute, "TWINS", {**PICKING, **SETS})
    told = []

    def counting(session: SparkSession, rows: int) -> SparkSession:
        assert session is spark
        told.append(rows)
        return session

    posted = [("10m", "post", {"store": "PFS1", "folder": "/F", "count": 70})]
    story = organization({"PFS1": "A", "PFS2": "A"}, posted, folders={"/F": ["PFS1", "PFS2"]}, end="30m")
    [*_] = play([story], spark, materializer=Materializer(counting, ALL_LOCAL.keep))
    many = sum(rows >= 70 for rows in told)
    assert 0 < many <= 7 < len(told)


def test_each_replica_of_a_store_taken_back_begins_a_new_life() -> None:
    """One more than it ever had; what was made since is erased; nights that were had are not had again."""
    now, day = datetime(2026, 1, 6, 12, tzinfo=UTC), timedelta(days=1)

    def replica(folder: str, life: int, standing: str = "active", at: datetime = now - 9 * day) -> dict[str, Any]:
        return {"org": "o", "store": "A", "folder": folder, "life": life, "standing": standing, "at": at}

    def due(folder: str, why: str, at: datetime, **more: Any) -> dict[str, Any]:
        return {"org": "o", "store": "A", "folder": folder, "why": why, "peer": "", "due": at, "attempt": 0, **more}

    def held(folder: str, about: str) -> dict[str, Any]:
        return believed(1) | {"org": "o", "store": "A", "folder": folder, "about": about}

    world = Between(lambda: None, {
        "replicas": [replica("A:1", 4), replica("A:2", 1), replica("A:4", 1), replica("A:1", 7) | {"store": "B"}],
        "agenda": [due("A:1", "expire", now + day)],
    })  # fmt: skip
    then = Between(lambda: None, {
        "replicas": [replica("A:1", 2), replica("A:2", 1, "erased"), replica("A:3", 1)],
        "state": [held("A:1", "A~2"), held("A:1", "A"), held("A:3", "A"), held("A:5", "A")],
        "agenda": [due("A:1", "expire", now - 3 * day - day / 4), due("A:3", "erase", now + day), due("A:1", "inquire", now)],
    })  # fmt: skip
    restarts.restore(world, "o", "A", then.tables, now)
    rows = {name: table.to_pylist() for name, table in world.tables.items()}
    assert rows["replicas"] == [
        replica("A:1", 7) | {"store": "B"}, replica("A:1", 5, at=now), replica("A:2", 1, "erased", now),
        replica("A:3", 2, at=now), replica("A:4", 1, "erased", now),
    ]  # fmt: skip
    assert [(row["folder"], row["about"]) for row in rows["state"]] == [
        ("A:1", "A~5"), ("A:1", "A"), ("A:3", "A~2"), ("A:5", "A")
    ]  # fmt: skip
    asks = [due(folder, "ask", now, since=now) for folder in ("A:1", "A:3")]
    nights = [due("A:1", "expire", now + day * 3 / 4, since=None), due("A:3", "erase", now + day, since=None)]
    assert rows["agenda"] == [*nights, *asks]
