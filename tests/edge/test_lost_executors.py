"""An executor that is lost takes its round with it, as Java does that ends: the round fails and does not count, and is played
again as if nothing had happened.

Which frames lie on the executors by then is tried in turn: when few do, and one moment more. All by `--lakes`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

import pfspark.execute
from pfspark.edge.delta.ledger import FACTS
from pfspark.edge.spark import crossing
from pfspark.errors import LakeError
from pfspark.lake import Lake
from pfspark.rows import rows_of
from tests.edge.lakes import DAY, Copy, broken, facts, ledger

AT = f"{DAY}00:20:00Z"
MANY = 10
"""Rows from which on a frame stays there."""


class Executors:
    """What lies on them, as files, in the order in which it came; all that is there can be lost."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """From now on few rows are many."""
        self.lying: list[Path] = []
        self.lose_at = 0
        opened = crossing._opened

        def watched(spark: SparkSession, place: Path, schema: StructType) -> DataFrame:
            frame = opened(spark, place, schema)
            self.lying.append(place)
            if len(self.lying) == self.lose_at:
                for file in (each for place in self.lying for each in place.glob("*.parquet")):
                    file.unlink()
            return frame

        monkeypatch.setattr(pfspark.execute, "LARGE", MANY)
        monkeypatch.setattr(crossing, "_opened", watched)

    def during(self, play: Callable[[], object], lose_at: int = 0) -> int:
        """How many frames came to lie there meanwhile; all are lost as soon as so many do."""
        self.lying.clear()
        self.lose_at = lose_at
        play()
        return len(self.lying)


@pytest.mark.in_turn("ended")
def test_an_executor_that_is_lost_takes_its_round_with_it(
    played_once: Copy, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    place = played_once("disturbed")
    with Lake.open(place, spark) as lake:
        lake._tables.append("edits", rows_of("edits", posts()))
    undisturbed = shutil.copytree(place, place.with_name("undisturbed"))
    executors = Executors(monkeypatch)
    with Lake.open(undisturbed, spark) as whole:
        many = executors.during(lambda: whole.round(AT))
    assert many > 3, "rows lay on the executors"
    first, *others = range(1, many // 2 + 1)
    if not request.config.getoption("--lakes"):
        others = [others[request.config.getoption("--turn") % len(others)]] if others else []
    lake = Lake.open(place, spark)
    last, _, _ = ledger(lake)[-1]
    before = facts(lake)
    for nth, moment in enumerate((first, *others), 1):
        print(f"lost when {moment} of {many} frames lay there")
        with pytest.raises(LakeError, match=r"The round could not be made: .+ It does not count"):
            executors.during(lambda: lake.round(AT), moment)
        number, kind, _ = ledger(lake)[-1]
        assert (number, kind) == (last + nth, "opened"), "the round that was begun is none"
        assert facts(lake) == before
        assert {name: lake._tables.stored(name).where(f"round > {last}").count() for name in FACTS} == dict.fromkeys(FACTS, 0)
    with lake:
        executors.during(lambda: lake.round(AT))
    assert ledger(lake)[-1][1] == "played"
    assert facts(lake) == facts(whole) != before
    assert broken(lake) == set()


def posts() -> list[dict[str, Any]]:
    """Many items that somebody has posted."""
    at = datetime.fromisoformat(AT)
    said = {"org": "main", "store": "PFS1", "folder": "PFS1:1", "action": "post", "size": 4, "at": at, "written": at}
    return [{**said, "edit_id": f"post {place}", "place": place} for place in range(MANY + 2)]


ENDED = """
import logging
import sys
from pfspark.edge.session import open_session
from pfspark.errors import LakeError
from pfspark.execute import Execution
from pfspark.lake import Lake

logging.getLogger().addHandler(logging.NullHandler())  # as cli does: py4j logs a call that Java did not live to answer
spark, run, steps = open_session(), Execution.run, iter(range(30, -1, -1))

def ending(*args):
    if not next(steps, True):
        java = spark.sparkContext._gateway.proc
        java.kill()
        java.wait()
    return run(*args)

Execution.run = ending
with Lake.open(sys.argv[1], spark) as lake:
    try:
        lake.round(sys.argv[2])
    except LakeError as error:
        print(error)
"""


@pytest.mark.in_turn("ended")
def test_java_that_ends_takes_its_round_with_it(played_once: Copy, spark: SparkSession) -> None:
    """It is told in a line, as all else that hinders a round; the next process plays it."""
    place = played_once("ended")
    with Lake.open(place, spark) as lake:
        before = facts(lake)
    done = subprocess.run([sys.executable, "-c", ENDED, str(place), AT], capture_output=True, text=True)
    [line] = done.stdout.splitlines()
    assert line.startswith("The round could not be made: Java has ended (")
    assert "It does not count" in line
    assert (done.returncode, done.stderr) == (0, "")
    with Lake.open(place, spark) as lake:
        assert facts(lake) == before
        assert lake.round(AT).round
        assert not broken(lake)
