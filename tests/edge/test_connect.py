"""pfspark as a client of a Spark Connect server, which has frames of its own kind."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pfspark.edge.config import conf_folder
from pfspark.sim.player import play
from pfspark.sim.scenario import read
from tests.edge.processes import SMALL, SPARK_HOME, environment, pfspark, spark_submit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.lakes

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
STORY = """
name = "A post reaches the other store"
profile = "exchange_2007"
start = 2026-01-05T00:00:00Z
end = "45m"

[stores.PFS1]
site = "Redmond"
[stores.PFS2]
site = "Redmond"

[folders."/Sales"]
replicas = ["PFS1", "PFS2"]
holds = "PFS1:1-3"

[[steps]]
at = "0m"
post = { store = "PFS1", folder = "/Sales", count = 2 }
[[steps]]
at = "45m"
show = ["state", "items"]
"""
PATIENCE = 120


@pytest.fixture
def server(spark: object, tmp_path: Path) -> Iterator[str]:
    """The address of a server with Delta; `spark`: the jars are fetched by then."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = SMALL | {
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.codegen.wholeStage": "false",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.bindAddress": "127.0.0.1",
    }
    asked = spark_submit("--class", SERVER, "spark-internal", settings=settings)
    env = environment(SPARK_HOME=str(SPARK_HOME))
    with (tmp_path / "server.log").open("w") as log:
        running = subprocess.Popen(asked, env=env, cwd=tmp_path, stdout=log, stderr=log)
        try:
            _await(port, running)
            yield f"sc://127.0.0.1:{port}"
        finally:
            running.terminate()
            running.wait()


def _await(port: int, server: subprocess.Popen[bytes]) -> None:
    for _ in range(PATIENCE):
        with socket.socket() as knock:
            if knock.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert server.poll() is None, "the server ended before it listened"
        time.sleep(1)
    pytest.fail(f"no server after {PATIENCE} seconds")


def test_a_story_played_into_a_lake_by_a_server_is_the_same(server: str, spark: SparkSession, tmp_path: Path) -> None:
    """Line for line what a session of our own gives; the tables are read back by it too."""
    lake, story = str(tmp_path / "lake"), tmp_path / "story.toml"
    story.write_text(STORY)

    def said(*words: str) -> list[dict[str, object]]:
        return [json.loads(line) for line in pfspark(*words, "--json", SPARK_REMOTE=server)]

    assert said("play", str(story), "--lake", lake) == list(play(read([story], conf_folder()), spark))
    held = {(row["store"], row["applied"]) for row in said("state", "--lake", lake) if row["folder"] == "/Sales"}
    assert held == {("PFS1", "PFS1:1-5"), ("PFS2", "PFS1:1-5")}
