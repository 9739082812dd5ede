"""What would be: a lake played on in memory says what comes to pass when it is played on in earnest."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from pfspark.edge.delta.ledger import FACTS, LEDGER
from pfspark.errors import ScenarioError, UsageError
from pfspark.lake import Lake
from pfspark.printed import LINES
from pfspark.sim import whatif
from pfspark.words import HIERARCHY
from tests.declared import assert_declared

SPAN = timedelta(hours=3)
SEEN = ("receipts", "replicas", "backfill", "messages")
BY_WHOM = ("org", "round", "edit_id", "place", "status")
"""Columns in which an edit that is only thought of differs from one that is made; the rest of a letter follows."""


@pytest.fixture
def foreseen(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[whatif.Foreseen]]:
    """What was played of worlds, as it is told."""
    made: list[whatif.Foreseen] = []

    class Kept(whatif.Foreseen):
        def __init__(self, *words: Any) -> None:
            super().__init__(*words)
            made.append(self)

    monkeypatch.setattr(whatif, "Foreseen", Kept)
    yield made


def said(rows: pa.Table) -> list[str]:
    """Rows in any order, by what they say."""
    return sorted(str(sorted((k, v) for k, v in row.items() if k not in BY_WHOM)) for row in rows.to_pylist())


def come_to_pass(lake: Lake, since: datetime) -> Mapping[str, list[str]]:
    tables = {name: lake.table(name).toArrow() for name in SEEN}
    begun = pc.and_(pc.equal(tables["replicas"]["store"], "PFS3"), pc.equal(tables["replicas"]["folder"], HIERARCHY))
    assert tables["replicas"].filter(begun)["standing"].to_pylist() == ["active"]  # a new store has it before anything is played
    tables["replicas"] = tables["replicas"].filter(pc.invert(begun))
    return {name: said(rows.filter(pc.greater(rows["at"], pa.scalar(since)))) for name, rows in tables.items()}


@pytest.mark.lakes
def test_what_is_foreseen_comes_to_pass(holed_place: Path, foreseen: list[whatif.Foreseen], spark: SparkSession) -> None:
    """As it is: line for line what the lake then does. With steps: what it does when they are done in earnest."""
    with Lake.open(holed_place, spark) as lake:  # of this no round has heard yet
        now = lake.answers().at["main"]
        lake.store("PFS3", "Paris")
        lake.post("PFS1", "/Sales", b"waits", name="waits", at=now + timedelta(minutes=10))
    twin = shutil.copytree(holed_place, holed_place.parent / "twin")
    steps = {
        "steps": [
            {"at": "30m", "post": {"store": "PFS2", "folder": "/Sales", "item": "later", "size": 5}},
            {"at": "30m", "create_folder": {"store": "PFS1", "path": "/New", "replicas": ["PFS1", "PFS2"]}},
        ]
    }
    with Lake.open(holed_place, spark) as lake:
        before = {name: lake._tables.version(name) for name in (*FACTS, LEDGER, "edits")}
        as_is, with_steps = lake.whatif_lines(steps, until=SPAN)
        assert {name: lake._tables.version(name) for name in before} == before
        [worlds] = foreseen
        assert as_is["at"] == line_of(now)
        assert as_is["world"] == "as_is" and as_is["difference"] is None and as_is["until"] == line_of(now + SPAN)
        lake.run(until=now + SPAN)
        real = come_to_pass(lake, now)
        for name in SEEN:
            assert said(worlds.rows(name, whatif.AS_IS)) == real[name], name
        assert real["messages"] and as_is["messages"] == len(real["messages"])
        assert as_is["converged"] and lake.status()["converged"]
        equal = datetime.fromisoformat(as_is["equal"])
        assert not any(line["lacks"] for line in lake.lines("replicas", equal))
        assert any(line["lacks"] for line in lake.lines("replicas", equal - timedelta(minutes=1)))
    with Lake.open(twin, spark) as lake:
        lake.post("PFS2", "/Sales", b"later", name="later", at=now + timedelta(minutes=30))
        lake.folder_create("PFS1", "/New", ["PFS1", "PFS2"], at=now + timedelta(minutes=30))
        lake.run(until=now + SPAN)
        real = come_to_pass(lake, now)
        for name in SEEN:
            assert said(worlds.rows(name, "with the steps")) == real[name], name
    first = with_steps["difference"]
    assert first["at"] == line_of(now + timedelta(minutes=30)) and (first["rule"], first["table"]) == ("R30", "receipts")
    assert with_steps["messages"] > as_is["messages"] and with_steps["bytes"] > as_is["bytes"]
    for line in (as_is, with_steps):
        assert_declared(line)
        assert sum(each["messages"] for each in line["types"].values()) == line["messages"]
        assert sum(each["letters"] for each in line["links"].values()) == line["letters"]
        assert sum(each["sent"] for each in line["stores"].values()) == line["letters"]


def line_of(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.lakes
def test_an_outage_and_an_option_are_foreseen_together(holed_place: Path, spark: SparkSession) -> None:
    """Variants are played in the same rounds; each says what differs first, and by which rule."""
    with Lake.open(holed_place, spark) as lake:
        variants: dict[str, Any] = {
            "cut": {"steps": [{"at": "0m", "cut": ["PFS2"]}]},
            "nothing": {"steps": []},
            "refused": {"steps": [{"at": "1m", "remove_replica": {"store": "PFS1", "folder": "/Sales", "replica": "PFS1"}},
                                  {"at": "90m", "post": {"store": "PFS1", "folder": "/Sales"}}]},
        }  # fmt: skip
        frame = lake.whatif(variants=variants, until=SPAN)
        assert [field.name for field in frame.schema] == [key.name.removesuffix("?") for key in LINES["whatif"].keys]
        rows = {row["variant"]: row for row in frame.toArrow().to_pylist()}
    assert list(rows) == [None, "cut", "nothing", "refused"]
    assert rows[None]["converged"] and rows[None]["missing"] == 0
    assert rows["nothing"]["difference"] is None and rows["nothing"]["messages"] == rows[None]["messages"]
    assert not rows["cut"]["converged"] and rows["cut"]["equal"] is None and rows["cut"]["missing"] == 1
    assert rows["cut"]["difference"]["rule"] == "R64" and "cut_off" in rows["cut"]["difference"]["says"]
    assert dict(rows["refused"]["refused"]) == {"no_replica_here": 1}


@pytest.mark.lakes
def test_other_time_outs_count_for_what_is_missing_already(holed_place: Path, spark: SparkSession) -> None:
    """PFS1 is to ask in five minutes. What differs first is what is done, not what is meant to be done after that."""
    with Lake.open(holed_place, spark) as lake:
        variants = {each: {"policy": {"backfill_timeouts_local": [each, "4h", "8h"]}} for each in ("5m", "15m", "2h")}
        rows = {row["variant"]: row for row in lake.whatif(variants=variants, until=timedelta(hours=5)).toArrow().to_pylist()}
    assert [rows[each]["equal"].strftime("%H:%M") for each in (None, *variants)] == ["00:45", "00:45", "00:55", "02:40"]
    assert rows["5m"]["difference"] is None
    assert rows["15m"]["difference"]["says"] == "no longer: PFS1 asks PFS2 for numbers of /Sales that it lacks"


@pytest.mark.lakes
def test_links_are_foreseen(holed_place: Path, spark: SparkSession) -> None:
    """What is posted at one site arrives at the other within the hour, and not in the world whose link takes two."""
    with Lake.open(holed_place, spark) as lake:
        for store, site in (("PFS1", "Redmond"), ("PFS2", "Paris")):
            lake.store(store, site)
        lake.link("Redmond", "Paris", cost=1, delay="5m")
        posting = {"at": "0m", "post": {"store": "PFS1", "folder": "/Sales"}}
        slow = {"sites": ["Redmond", "Paris"], "cost": 1, "delay": "2h"}
        variants = {"as now": {"steps": [posting]}, "slow": {"steps": [posting], "links": [slow]}}
        rows = {row["variant"]: row for row in lake.whatif(variants=variants, until=timedelta(hours=1)).toArrow().to_pylist()}
    assert rows["as now"]["converged"] and rows["as now"]["equal"] and not rows["slow"]["converged"]


def test_what_cannot_be_foreseen_is_refused(holed_place: Path, spark: SparkSession) -> None:
    with Lake.open(holed_place, spark) as lake:
        wrong: dict[str, Any] = {
            "folder '/Sale' is not known": {"at": "0m", "post": {"store": "PFS1", "folder": "/Sale"}},
            "store 'PFS9' is not known": {"at": "0m", "cut": ["PFS9"]},
            "leave this step out": {"at": "0m", "show": ["state"]},
            "item 'fourth' is not known": {"at": "0m", "delete": {"store": "PFS1", "folder": "/Sales", "item": "fourth"}},
            "found a time after the end": {"at": "90d", "cut": ["PFS1"]},
            "expected one of what is played": {"at": "1m", "restore": {"store": "PFS1", "to": "2026-01-01T00:00:00Z"}},
        }
        for text, step in wrong.items():
            with pytest.raises(ScenarioError, match=text):
                [*lake.whatif_lines({"steps": [step]}, until=SPAN)]
        for since in ("90d", "3h"):
            with pytest.raises(ScenarioError, match=r"faults 1: since: found a time after the end, .*; leave this fault out"):
                [*lake.whatif_lines({"faults": [{"since": since, "lost": 1}]}, until=SPAN)]
        with pytest.raises(ScenarioError, match="key 'stores' is not known"):
            [*lake.whatif_lines({"stores": {}}, until=SPAN)]
        with pytest.raises(UsageError, match="expected a time after the last round"):
            [*lake.whatif_lines(until="2026-01-01T00:00:00Z")]


@pytest.mark.lakes
def test_what_a_store_has_alone_is_told_before_it_goes(holed_place: Path, spark: SparkSession) -> None:
    """PFS2:1 is at PFS2 alone; if it leaves its list it waits until PFS1 has that, and is erased that night."""
    with Lake.open(holed_place, spark) as lake:
        line = lake.drain("PFS2", until=timedelta(days=2))
        assert_declared(line)
        assert line["lost_now"] == [{"folder": "/Sales", "numbers": "PFS2:1"}] and line["needs_another"] == []
        assert [each["folder"] for each in line["released"]] == ["/Sales"] and line["replicas"] == 1
        assert line["empty"] == line["released"][0]["at"]
        first = min(row["round"] for row in lake.rounds(org="main").collect())
        assert lake.drain("PFS2", until=timedelta(days=2), as_of=first)["lost_now"] == []  # it had posted nothing yet
        with pytest.raises(UsageError, match="the store 'PFS8' is not known"):
            lake.drain("PFS8")
