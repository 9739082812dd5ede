"""How much waits in a lake is known before Spark is started, and for much of it another Java is."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import pfspark.lake
from pfspark.edge.delta import waiting
from pfspark.edge.delta.tables import Tables
from pfspark.lake import Lake
from pfspark.rows import rows_of

START = datetime(2026, 1, 5, tzinfo=UTC)


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lake of which a round has taken in two edits, and in which three more wait."""
    monkeypatch.setattr(waiting, "MUCH", 3)
    with Lake.create(tmp_path / "lake", spark) as lake:
        lake.organization(profile="modern", start=START)
        lake.store("PFS1", site="Redmond")
        say(lake._tables, "one", "two")
        assert not waiting.much(tmp_path / "lake")
        lake.round(now=START)
        say(lake._tables, "three", "four")
        assert not waiting.much(tmp_path / "lake")
        say(lake._tables, "five")
    return tmp_path / "lake"


def say(tables: Tables, *edits: str) -> None:
    rows = [{"org": "main", "edit_id": each, "store": "PFS1", "at": START, "action": "post", "written": START} for each in edits]
    tables.append("edits", rows_of("edits", rows))


def test_what_a_round_has_taken_in_does_not_wait(lake: Path) -> None:
    assert waiting.much(lake)
    assert waiting.much(str(lake)) and waiting.much(lake.as_uri())


def test_who_opens_a_lake_gets_the_java_for_it(lake: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def opened(**how: Any) -> SparkSession:
        asked.append(how)
        return spark

    monkeypatch.setattr(pfspark.lake, "open_session", opened)
    with Lake.open(lake) as there:
        there.round(now=START.replace(hour=1))
    with Lake.open(lake):
        pass
    assert asked == [{"lasting": True}, {"lasting": False}]


@pytest.mark.parametrize("where", ["nowhere", "s3://bucket/lake", "main.mail"])
def test_of_what_is_no_folder_with_a_lake_it_cannot_be_said(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert not waiting.much(where)
    assert not waiting.much(tmp_path)
