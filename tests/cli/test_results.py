"""What a run leaves behind: a file that says what was played, and how it ended."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pfspark import cli
from pfspark.lake import Lake
from tests.declared import assert_declared
from tests.edge.lakes import LAKES


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.unpack_archive(LAKES[max(LAKES)], tmp_path / "lake")
    monkeypatch.setenv("PFSPARK_LAKE", str(tmp_path / "lake"))
    return tmp_path


def test_what_was_played_and_how_it_ended(place: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    file = place / "run_results.json"
    assert cli.run(["run", "--until", "2026-01-05T00:40:00Z", "--results", str(file)]) == 0
    assert_declared(said := json.loads(file.read_text()))
    assert (said["status"], said["exit_code"], said["message"], said["refused"]) == ("success", 0, None, 0)
    assert said["lake"] == str(place / "lake")
    with Lake.open(place / "lake", spark) as lake:
        ledger = {line["round"]: line for line in lake.lines("rounds")}
    last = said["rounds"][-1]
    assert (last["round"], last["at"]) == (max(ledger), ledger[max(ledger)]["turns"]["main"])
    assert last["rows"] == sum(ledger[last["round"]]["counts"].values())
    assert 0 < sum(each["took_ms"] for each in said["rounds"]) <= said["took_ms"]
    assert [path.name for path in place.iterdir() if path.name != "lake"] == ["run_results.json"]


def test_a_run_that_is_refused_says_so(
    place: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = place / "run_results.json"
    monkeypatch.setenv("PFSPARK_RESULTS", str(file))
    with Lake.open(place / "lake", spark) as other:
        other.round("2026-01-05T00:35:00Z")
        assert cli.run(["round", "--now", "2026-01-05T00:40:00Z"]) == 4
    assert_declared(said := json.loads(file.read_text()))
    assert (said["status"], said["exit_code"], said["rounds"]) == ("error", 4, [])
    assert said["message"] in capsys.readouterr().err.replace("\n", " ")
    assert cli.run(["run", "--until", "now", "--lake", str(place / "none")]) == 2
    for words in (["round", "--now", "nonsense"], ["run", "--until", "nonsense"], ["run", "--until", "now", "--until-quiet"]):
        file.write_text('{"status": "success"}')  # of the day before
        assert cli.run(words) == 2
        assert json.loads(file.read_text())["exit_code"] == 2
    file.unlink()
    assert cli.run(["round", "--results", str(place / "no" / "such.json")]) == 2
    assert "there is no folder" in capsys.readouterr().err
