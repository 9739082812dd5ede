"""The log of events and the referrals of a lake, asked by the command line; a replica is removed in it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pfspark import cli
from pfspark.cli import ends
from pfspark.edge import live
from pfspark.lake import Lake

pytestmark = pytest.mark.lakes

SCENARIO = Path(__file__).parents[2] / "conf" / "scenarios" / "replica_removed.toml"
REPLIDS = ("--replid", "2=PFS1", "--replid", "3=PFS2")


def answers(run: Callable[..., str], *words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run(*words, "--json").splitlines()]


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    where = tmp_path_factory.mktemp("lakes") / "lake"
    assert cli.run(["play", str(SCENARIO), "--lake", str(where)]) == 0
    return str(where)


def test_a_removal_in_the_log(run: Callable[..., str], lake: str) -> None:
    """D1-D10 as two servers log them; what was lost on the way is in no other log."""
    found = answers(run, "log", "events", "--lake", lake)
    assert [(line["at"][11:16], line["store"], line["event"], line["type"]) for line in found] == [
        ("20:00", "PFS1", 3020, "0x4"),
        ("20:30", "PFS1", 3017, "0x20"),
        ("20:30", "PFS1", 3018, "0x2"),
        ("20:45", "PFS2", 3027, "0x20"),
        ("20:45", "PFS2", 3028, "0x2"),
        ("20:45", "PFS2", 3017, "0x10"),
        ("21:00", "PFS1", 3027, "0x10"),
        ("21:00", "PFS2", 3016, "0x8"),
        ("21:15", "PFS1", 3026, "0x8"),
        ("21:15", "PFS1", 3017, "0x20"),
        ("21:15", "PFS1", 3021, "0x80000004"),
        ("21:30", "PFS2", 3027, "0x20"),
        ("21:30", "PFS2", 3031, "0x80000004"),
        ("21:30", "PFS2", 3017, "0x10"),
        ("21:45", "PFS1", 3027, "0x10"),
        ("21:45", "PFS1", 3018, "0x2"),
        ("22:00", "PFS2", 3028, "0x2"),
        ("02:00", "PFS1", 3005, ""),
    ]


def test_the_log_as_text_is_read_back(run: Callable[..., str], lake: str, spark: SparkSession, tmp_path: Path) -> None:
    with Lake.open(lake, spark) as there:
        lines = list(there.lines("events"))
        assert [(line["store"], line["stores"]) for line in there.lines("referrals")] == [("PFS1", ["PFS2"]), ("PFS2", ["PFS2"])]
    text = run("log", "events", "--lake", lake, told="2 PFS1, 3 PFS2")
    assert '\nFolder: (2-1) IPM_SUBTREE\\Sales\nDatabase "PFS1"\nCNSET: 2-6,2-8\nCNSET (FAI): {0}\nMessage IDs: 3\n' in text
    for encoding in ("utf-8", "utf-16"):
        (tmp_path / "log").write_text(text, encoding, newline="\r\n")
        again = answers(run, "log", "events", "--read", str(tmp_path / "log"), *REPLIDS)
        assert again[:-1] == [{**line, "org": ""} for line in lines[:-1]]
        assert again[-1] == {**lines[-1], "org": "", "folder": ""}  # 3005 does not tell the path
    assert run("log", "events", "--read", str(tmp_path / "log"), *REPLIDS, told="2 PFS1") == text.replace(lines[0]["org"], "")


def test_parts_of_the_log(run: Callable[..., str], lake: str) -> None:
    of_tree = answers(run, "log", "events", "--lake", lake, "--store", "PFS2", "--folder", "1-1")
    assert [line["event"] for line in of_tree] == [3028, 3028]
    early = answers(run, "log", "events", "--lake", lake, "--as-of", "2026-01-05T20:30")
    assert [line["event"] for line in early] == [3020, 3017, 3018]
    run("log", "events", "--lake", lake, "--replid", "2=PFS1", code=2, told="--read FILE needs the table")
    run("log", "events", "--read", "no such file", "--replid", "2=PFS1", code=2, told="'no such file' cannot be read")
    run("log", "events", "--read", str(SCENARIO), "--replid", "PFS1", code=2, told="expected HEX=ORIGIN")


def test_events_are_printed_as_they_come(
    lake: str, spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that rounds have brought, whatever part of the log was asked for first; the table of REPLIDs stands once."""
    here = shutil.copytree(lake, tmp_path / "lake")
    looks: list[int] = []
    events: list[dict[str, Any]] = []

    def sleep(seconds: float) -> None:
        looks.append(len(looks))
        if len(looks) == 2:
            with Lake.open(here, spark) as other:
                events.extend(other.lines("events"))
                at = other.answers().at[events[0]["org"]]
                other.folder_create("PFS2", "/New", ["PFS1", "PFS2"], at=at)
                other.run(until=at + timedelta(minutes=30))
                events[:] = [*events[-1:], *list(other.lines("events"))[len(events) :]]
        if len(looks) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(live, "time", SimpleNamespace(sleep=sleep))
    assert cli.run(["log", "events", "--follow", "--limit", "1", "--lake", str(here)]) == ends.INTERRUPTED
    told = capsys.readouterr()
    assert told.err.count("REPLIDs") == 1
    numbers = [int(number) for number in re.findall("^Event ID: ([0-9]+)$", told.out, re.MULTILINE)]
    assert numbers == [line["event"] for line in events]
    assert numbers[0] == 3005 and {3017, 3018, 3028} <= {*numbers[1:]}


@pytest.mark.rule("R10", "R146")
def test_readers_are_sent_by_what_each_store_sees(run: Callable[..., str], lake: str) -> None:
    """While only PFS1 knows that its replica leaves, PFS2 would still send readers there; nobody is served at PFS1."""

    def named(as_of: str, *words: str) -> dict[str, list[str]]:
        lines = answers(run, "referrals", "--lake", lake, "--as-of", as_of, *words)
        assert {line["folder"] for line in lines} == {"/Sales"}
        return {line["store"]: line["stores"] for line in lines}

    assert named("2026-01-05T20:15") == {"PFS1": ["PFS1", "PFS2"], "PFS2": ["PFS2", "PFS1"]}
    assert named("2026-01-05T20:30", "--site", "Redmond") == {"PFS1": ["PFS2"], "PFS2": ["PFS2", "PFS1"]}
    assert named("2026-01-05T20:45", "--store", "PFS2", "--folder", "/Sales") == {"PFS2": ["PFS2"]}
    run("referrals", "--lake", lake, "--folder", "/Sale", code=2, told="the nearest known is '/Sales'")
    run("referrals", "--lake", lake, "--site", "Redmon", code=2, told="the nearest known is 'Redmond'")
    shown = run("referrals", "--lake", lake, "--as-of", "2026-01-05T20:30", "--store", "PFS2")
    assert "PFS2        /Sales   PFS2 (0)         PFS1 (0)" in shown
