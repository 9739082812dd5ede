"""What the tests of the command line share."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from pfspark.edge import cli


@pytest.fixture
def run(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs a verb and gives what it printed; its exit code and what it said on stderr are told beforehand."""

    def run(*words: str, code: int = 0, told: str = "") -> str:
        assert cli.run(words) == code
        captured = capsys.readouterr()
        assert told in captured.err and (told or captured.err == "")
        return captured.out

    return run
