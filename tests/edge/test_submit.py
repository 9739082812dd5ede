"""pfspark as a batch job of the spark-submit that pip installs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from pfspark.edge.session import jar_files

pytestmark = pytest.mark.lakes

SUBMIT = "from pfspark.edge.cli import main\nmain()\n"
SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}
SCENARIO = Path(__file__).parents[2] / "conf" / "scenarios" / "post_and_replicate.toml"


def test_play_round_and_run_as_batch_jobs(spark: object, tmp_path: Path) -> None:
    """`spark`: the jars are fetched by then. A play into a lake, then a round and a run of that lake, each a job."""
    script = tmp_path / "submit.py"
    script.write_text(SUBMIT)
    submit = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--jars", ",".join(map(str, jar_files()))]
    for name, value in SETTINGS.items():
        submit += ["--conf", f"{name}={value}"]
    env = {
        **{key: value for key, value in os.environ.items() if key != "PYSPARK_GATEWAY_PORT"},
        "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
    }  # fmt: skip
    lake = str(tmp_path / "lake")

    def job(*words: str) -> list[dict[str, object]]:
        done = subprocess.run([*submit, str(script), *words], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    [end] = [line for line in job("play", str(SCENARIO), "--lake", lake, "--json") if line["kind"] == "end"]
    assert end["converged"] and end["missing"] == 0
    assert job("round", "--now", "2026-02-01", "--lake", lake, "--json")[-1]["kind"] == "round"
    assert {line["kind"] for line in job("run", "--until", "2026-02-03", "--lake", lake, "--json")} <= {"round", "message"}
