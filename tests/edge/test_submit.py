"""pfspark as a batch job of the spark-submit that pip installs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.edge.processes import PFSPARK, ROOT, SPARK_HOME, environment, spark_submit

pytestmark = pytest.mark.lakes

SCENARIO = ROOT / "conf" / "scenarios" / "post_and_replicate.toml"


def test_play_round_and_run_as_batch_jobs(spark: object, tmp_path: Path) -> None:
    """`spark`: the jars are fetched by then. A play into a lake, then a round and a run of that lake, each a job."""
    script = tmp_path / "submit.py"
    script.write_text(PFSPARK)
    env = environment(PYSPARK_PYTHON=sys.executable, SPARK_HOME=str(SPARK_HOME))
    lake = str(tmp_path / "lake")

    def job(*words: str) -> list[dict[str, object]]:
        done = subprocess.run(spark_submit(str(script), *words), env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    [end] = [line for line in job("play", str(SCENARIO), "--lake", lake, "--json") if line["kind"] == "end"]
    assert end["converged"] and end["missing"] == 0
    assert job("round", "--now", "2026-02-01", "--lake", lake, "--json")[-1]["kind"] == "round"
    assert {line["kind"] for line in job("run", "--until", "2026-02-03", "--lake", lake, "--json")} <= {"round", "message"}
