"""One Spark session for the whole run, and how much is tried."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pfspark.edge.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


LONG = (
    "test_lake.py", "test_notebooks.py", "edge/test_cli_answers.py", "edge/test_cli_lakes.py",
    "edge/test_first_start.py", "edge/test_restoring.py", "edge/test_runner.py",
)  # fmt: skip
"""Each plays rounds on Delta."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("pfspark", "how much is tried")
    group.addoption("--campaign-orgs", type=int, default=0, help="organizations in a campaign (0: none)")
    group.addoption("--campaign-rounds", type=int, default=40, help="rounds of half an hour in a campaign (40)")
    group.addoption("--kills", type=int, default=5, help="times a writer is killed at a random moment (5)")
    group.addoption("--lakes", action="store_true", help="run what plays whole lakes too (long)")
    group.addoption("--bench", action="store_true", help="run tests/bench too: they measure, and take their time")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    here = Path(__file__).parent
    measures = collection_path == here / "bench"
    long = collection_path in {here / name for name in LONG}
    passed_over = (measures and not config.getoption("--bench")) or (long and not config.getoption("--lakes"))
    return True if passed_over else None


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = open_session()
    yield session
    session.stop()
