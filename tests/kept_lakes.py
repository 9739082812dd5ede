"""Lakes that many tests share, each made once and copied for who plays on; and how a verb is run on them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pfspark import cli
from pfspark.lake import Lake
from tests.declared import assert_declared
from tests.edge.lakes import DAY, LAKES, Copy, played_on, two_stores


@pytest.fixture
def run(spark: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Runs a verb and gives what it printed; its exit code and what it said on stderr are told beforehand.

    Whatever JSON it printed is as it is declared.
    """

    monkeypatch.delenv("COLUMNS", raising=False)  # as wide as where it is no terminal, whoever started the tests

    def run(*words: str, code: int = 0, told: str = "") -> str:
        assert cli.run(words) == code
        captured = capsys.readouterr()
        assert told in captured.err and (told or captured.err == "")
        if "--json" in words:
            for line in captured.out.splitlines():
                assert_declared(json.loads(line))
        return captured.out

    return run


@pytest.fixture(scope="session")
def begun(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with two stores and what was done there, before its first round; tests play on copies."""
    place = tmp_path_factory.mktemp("begun") / "lake"
    two_stores(Lake.create(place, spark))
    return place


@pytest.fixture
def copied(begun: Path, tmp_path: Path) -> Copy:
    """Makes copies of that lake."""
    return lambda name: Path(shutil.copytree(begun, tmp_path / name))


@pytest.fixture(scope="session")
def one_round(begun: Path, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That lake after its first round: a folder and an item in it."""
    place = tmp_path_factory.mktemp("one round") / "lake"
    return played_on(begun, place, spark, lambda lake: lake.round(f"{DAY}00:00:00Z"))


@pytest.fixture
def played_once(one_round: Path, tmp_path: Path) -> Copy:
    """Makes copies of that lake."""
    return lambda name: Path(shutil.copytree(one_round, tmp_path / name))


@pytest.fixture(scope="session")
def at_rest(one_round: Path, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That lake when nothing is due any more."""
    place = tmp_path_factory.mktemp("at rest") / "lake"
    return played_on(one_round, place, spark, lambda lake: lake.run(until_quiet=True))


@pytest.fixture
def resting(at_rest: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(at_rest, tmp_path / "lake"))


@pytest.fixture(scope="session")
def parted_place(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake: PFS1 has posted a first item that all have, then, cut off, an item and its next version, which nobody has."""
    place = tmp_path_factory.mktemp("begun") / "lake"
    with Lake.create(place, spark) as made:
        two_stores(made)
        made.run(f"{DAY}00:30:00Z")
        made.post("PFS1", "/Sales", b"mine", name="mine", at=f"{DAY}01:00:00Z")
        made.post("PFS2", "/Sales", b"yours", name="yours", at=f"{DAY}01:00:00Z")
        made.round(f"{DAY}01:00:00Z", cut=["PFS1"])
        made.modify("PFS1", "/Sales", "mine", b"mine, better", at=f"{DAY}01:05:00Z")
        made.round(f"{DAY}01:05:00Z", cut=["PFS1"])
    return place


@pytest.fixture
def lake(parted_place: Path, spark: SparkSession, tmp_path: Path) -> Iterator[Lake]:
    """A copy of that lake (`parted_place`)."""
    with Lake.open(shutil.copytree(parted_place, tmp_path / "lake"), spark) as copied:
        yield copied


@pytest.fixture
def holed_place(tmp_path: Path) -> Path:
    """A lake whose PFS1 has just found that it lacks PFS2:1 (`LAKES`)."""
    shutil.unpack_archive(LAKES[1], tmp_path / "lake")
    return tmp_path / "lake"


@pytest.fixture(scope="session")
def holed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """That lake, which is asked and stays as it is."""
    place = tmp_path_factory.mktemp("holed") / "lake"
    shutil.unpack_archive(LAKES[1], place)
    with Lake.open(place, spark) as lake:
        yield lake


@pytest.fixture(scope="session")
def troubled(begun: Path, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake whose next round, at 00:20, writes to every table: PFS2 hears of an item that it has missed, and makes a folder."""
    place = Path(shutil.copytree(begun, tmp_path_factory.mktemp("troubled") / "lake"))
    with Lake.open(place, spark) as lake:
        lake.run(f"{DAY}00:05:00Z")
        lake.post("PFS1", "/Sales", b"missed", name="missed", at=f"{DAY}00:10:00Z")
        lake.round(f"{DAY}00:10:00Z")
        lake.post("PFS1", "/Sales", b"heard", name="heard", at=f"{DAY}00:15:00Z")
        lake.round(f"{DAY}00:15:00Z", cut=["PFS2"])
        lake.post("PFS2", "/Sales", b"own", name="own", at=f"{DAY}00:20:00Z")
        lake.folder_create("PFS2", "/Sales/West", ["PFS1", "PFS2"], at=f"{DAY}00:20:00Z")
    return place


@pytest.fixture(scope="session")
def undisturbed(troubled: Path, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """That lake played on with nothing in its way, to be asked as of any of its rounds."""
    with Lake.open(shutil.copytree(troubled, tmp_path_factory.mktemp("undisturbed") / "lake"), spark) as lake:
        lake.run(until=f"{DAY}00:45:00Z")
    return lake


@pytest.fixture
def in_trouble(troubled: Path, tmp_path: Path) -> Copy:
    """Makes copies of that lake."""
    return lambda name: Path(shutil.copytree(troubled, tmp_path / name))
