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
from pfspark.edge.spark.tuned import FOR_LITTLE
from pfspark.sim.player import play
from pfspark.sim.scenario import read
from tests.edge.processes import ROOT, SMALL, SPARK_HOME, environment, pfspark, python, spark_submit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
FOR_SMALL_LAKES = {
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "4",
}
"""What the README says of a server: by default a look into a table's log is fifty tasks, a VACUUM ten thousand."""
README = (ROOT / "README.md").read_text()
PATIENCE = 120
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"), reverse=True)
LONG = (
    "01_first_round",
    "03_three_generations",
    "04_adding_and_removing_replicas",
    "06_why_is_it_not_here",
    "07_what_if",
    "08_databricks",
)
"""By a server that has just been started they take minutes."""
SEEN: dict[str, tuple[str, object]] = {
    "01_first_round": ("sorted(set(sets.values()))", ["PFS1:1-25"]),
    "02_change_numbers": ("tables['T6'].loc['PFS2', 'PFS3']", "PFS1:1-16,PFS2:1-28,PFS3:1-31"),
    "03_three_generations": ("moments['equal'].to_dict()", {"2000": 2910, "2003": 2910, "2007": 2240, "modern": 155}),
    "04_adding_and_removing_replicas": ("sales.iloc[-1][['store', 'applied']].tolist()", ["PFS2", "PFS1:1-43"]),
    "05_restore": ("held_at_the_end", dict.fromkeys(("PFS1", "PFS2"), "PFS2:1-5:8,PFS2~2:1")),
    "06_why_is_it_not_here": ("list(story['cause'])", ["not_heard", "waiting_to_ask", "waiting_to_ask", "asked", "here"]),
    "07_what_if": ("list(worlds['variant'])", ["as it is", "one more mail", "and PFS1 down", "and asked sooner"]),
    "08_databricks": ("now", {"PFS1": 2, "PFS2": 2}),
}
"""What of each notebook is looked at, and what is seen there, by a server too."""
RUN = """
import json, runpy, sys
seen = runpy.run_path(sys.argv[1])
print(type(seen["spark"]).__module__)
print(json.dumps(eval(sys.argv[2], seen)))
"""


@pytest.fixture(scope="module")
def server(spark: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with Delta; `spark`: the jars are fetched by then."""
    port = free_port()
    settings = {
        **SMALL, **FOR_LITTLE,
        **FOR_SMALL_LAKES,
        "spark.buffer.pageSize": "256k",  # a page is emptied for each sort and join of a few rows: of 32 MB by default
        "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.bindAddress": "127.0.0.1",
    }  # fmt: skip
    asked = spark_submit("--class", SERVER, "spark-internal", settings=settings)
    env = environment(SPARK_HOME=str(SPARK_HOME))
    place = tmp_path_factory.mktemp("server")
    with (place / "server.log").open("w") as log:
        running = subprocess.Popen(asked, env=env, cwd=place, stdout=log, stderr=log)
        try:
            _await(port, running)
            yield f"sc://127.0.0.1:{port}"
        finally:
            running.terminate()
            running.wait()


@pytest.fixture(scope="module")
def service(spark: SparkSession) -> Iterator[str]:
    """The address of what such a server consists of, in the Java that all tests share: no other has to start."""
    port = free_port()
    context, java = spark._jsc.sc(), spark._jvm
    given = {"spark.connect.grpc.binding.address": "127.0.0.1", "spark.connect.grpc.binding.port": str(port)}
    for name, value in given.items():
        context.conf().set(name, value)
    there = java.org.apache.spark.sql.connect.service.SparkConnectService
    there.start(context)
    try:
        yield f"sc://127.0.0.1:{port}"
    finally:
        there.stop(java.scala.Option.empty(), java.scala.Option.empty())
        for name in given:
            context.conf().remove(name)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _await(port: int, server: subprocess.Popen[bytes]) -> None:
    for _ in range(PATIENCE):
        with socket.socket() as knock:
            if knock.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert server.poll() is None, "the server ended before it listened"
        time.sleep(1)
    pytest.fail(f"no server after {PATIENCE} seconds")


@pytest.mark.parametrize("name", FOR_SMALL_LAKES)
def test_a_server_is_set_as_the_readme_says_and_a_session_of_our_own_is(spark: SparkSession, name: str) -> None:
    assert f"`{name}={FOR_SMALL_LAKES[name]}`" in README
    assert spark.conf.get(name) == FOR_SMALL_LAKES[name]


@pytest.mark.lakes
def test_a_story_played_into_a_lake_by_a_server_is_the_same(server: str, spark: SparkSession, tmp_path: Path) -> None:
    """Line for line what a session of our own gives; the tables are read back by it too."""
    lake, story = str(tmp_path / "lake"), tmp_path / "story.toml"
    story.write_text(STORY)

    def said(*words: str) -> list[dict[str, object]]:
        return [json.loads(line) for line in pfspark(*words, "--json", SPARK_REMOTE=server)]

    assert said("play", str(story), "--lake", lake) == list(play(read([story], conf_folder()), spark))
    held = {(row["store"], row["applied"]) for row in said("state", "--lake", lake) if row["folder"] == "/Sales"}
    assert held == {("PFS1", "PFS1:1-5"), ("PFS2", "PFS1:1-5")}


def through_the_door(place: Path) -> str:
    """What a program prints that makes a lake, cuts a store off, and asks what it lacks, why, and whether all is well."""
    return f"""
from pathlib import Path
from pfspark import Lake
place, day = Path({str(place)!r}), "2026-01-05T"
with Lake.create(place / "lake") as lake:
    lake.organization(profile="modern", start=day + "00:00:00Z")
    lake.store("PFS1", "Redmond"), lake.store("PFS2", "Paris"), lake.link("Redmond", "Paris", delay="5m")
    lake.folder_create("PFS1", "/Sales", ["PFS1", "PFS2"], at=day + "00:00:00Z")
    lake.run(day + "00:30:00Z")
    print(lake.import_mail(place / "in.mbox", "PFS1", "/Sales", at=day + "00:31:00Z"))
    lake.round(day + "00:45:00Z", cut=["PFS2"])
    print(lake.import_mail(place / "in.mbox", "PFS1", "/Sales", at=day + "00:46:00Z"))
    lake.post("PFS1", "/Sales", b"after", name="after", at=day + "00:50:00Z")
    lake.run(day + "01:06:00Z")
    print([(line["store"], line["missing"], line["since"]) for line in lake.lines("gaps")])
    print([(line["store"], line["item"], line["cause"]) for line in lake.why_lines()])
    lake.modify("PFS1", "/Sales", "after", b"later", at=day + "01:07:00Z")
    lake.run(day + "01:45:00Z")
    print(sorted((row["name"], row["deleted"]) for row in lake.items("PFS2", "/Sales").collect()))
    print(sorted((row["store"], row["applied"]) for row in lake.state().where("folder = '/Sales'").collect()))
    print(lake.export_mail("PFS2", "/Sales", place / "out", "eml"), lake.gaps().count())
    print(lake.maintain(), [line["id"] for line in lake.audit() if line.get("rows")])
"""


@pytest.mark.lakes
def test_a_lake_is_the_same_by_a_server(server: str, tmp_path: Path) -> None:
    """What a program prints that makes one, plays rounds there, and asks."""
    printed = []
    for name, given in (("classic", {}), ("server", {"SPARK_REMOTE": server})):
        place = tmp_path / name
        place.mkdir()
        (place / "in.mbox").write_bytes(b"From a@example.com Mon Jan  5 08:00:00 2026\nSubject: one\n\nhello\n\n")
        done = python(through_the_door(place), **given)
        assert (done.returncode, done.stderr) == (0, "")
        printed.append(done.stdout.splitlines())
    assert printed[0] == printed[1]
    assert len(printed[0]) == 8 and printed[0][4] == "[('after', False), ('one', False)]"


@pytest.mark.parametrize(
    "notebook",
    [
        pytest.param(file, id=file.stem, marks=pytest.mark.lakes if file.stem in LONG else pytest.mark.in_turn("notebooks"))
        for file in NOTEBOOKS
    ],
)
def test_a_notebook_runs_by_a_server(notebook: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """From the last one on: test_notebooks.py mostly plays another that day, by a session of its own."""
    server = request.getfixturevalue("server" if notebook.stem in LONG else "service")
    asked, expected = SEEN[notebook.stem]
    done = python(RUN, str(notebook), asked, cwd=tmp_path, SPARK_REMOTE=server)
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    kind, seen = done.stdout.splitlines()[-2:]
    assert (kind, json.loads(seen)) == ("pyspark.sql.connect.session", expected)
