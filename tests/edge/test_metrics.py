"""Metrics: what a monitor is told is what the lake answers; read by a client library of the trade."""

from __future__ import annotations

import json
import re
import shutil
import socket
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from prometheus_client.parser import text_string_to_metric_families

from pfspark import cntext
from pfspark.edge.metrics import GAUGES, Metrics, _old, samples
from pfspark.errors import UsageError
from pfspark.lake import Lake
from tests.declared import assert_declared

ROOT = Path(__file__).parents[2]
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


@pytest.fixture(scope="module")
def lake(holed: Lake) -> Lake:
    return holed


def read(text: str) -> Samples:
    samples = (sample for family in text_string_to_metric_families(text) for sample in family.samples)
    return {(sample.name, tuple(sorted(sample.labels.items()))): sample.value for sample in samples}


def test_what_a_monitor_reads_is_what_the_lake_answers(lake: Lake) -> None:
    metrics = Metrics()
    metrics.tell(lake.answers())
    told = read(metrics.text())
    of = (("org", "main"),)
    [gap] = lake.lines("gaps")
    states = [*lake.lines("state")]
    for store in ("PFS1", "PFS2"):
        missing = sum(cntext.size(cntext.parse(line["missing"])) for line in states if line["store"] == store)
        assert told["pfspark_missing_numbers", (*of, ("store", store))] == missing == (store == "PFS1")
        assert told["pfspark_lost_numbers", (*of, ("store", store))] == 0
    assert told["pfspark_replicas", of] == len(states)
    assert gap["heard"] == gap["at"] and told["pfspark_oldest_hole_seconds", of] == 0
    status = lake.status()
    assert told["pfspark_mail_in_flight", of] == status["in_flight"] and told["pfspark_edits_waiting", of] == status["edits"]
    assert told["pfspark_rounds", ()] == status["round"]
    assert told["pfspark_due_seconds", of] > told["pfspark_clock_seconds", of]
    assert {name.removeprefix("pfspark_") for name, _ in told} == set(GAUGES)


@pytest.mark.lakes
def test_a_hole_grows_old_and_is_gone(lake: Lake) -> None:
    """As of a later round the same gauges say what is so then, and nothing of what was."""
    metrics = Metrics()
    metrics.tell(lake.answers())
    before = read(metrics.text())
    with Lake.open(shutil.copytree(lake.where, Path(lake.where).parent / "later"), lake.table("rounds").sparkSession) as later:
        later.run(until_quiet=True)
        metrics.tell(later.answers())
    after = read(metrics.text())
    key = ("pfspark_missing_numbers", (("org", "main"), ("store", "PFS1")))
    assert (before[key], after[key]) == (1, 0)
    assert after["pfspark_rounds", ()] > before["pfspark_rounds", ()]


def test_as_lines_they_are_the_same(lake: Lake) -> None:
    told = Metrics()
    told.tell(lake.answers())
    lines = [*samples(lake.answers())]
    for line in lines:
        assert_declared(line)
    named = {(line["name"], tuple((key, line[key]) for key in ("org", "store") if line[key])): line["value"] for line in lines}
    assert named == read(told.text())


def test_metrics_are_served_to_this_machine(lake: Lake) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    metrics = Metrics()
    metrics.tell(lake.answers())
    metrics.serve(port)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        assert read(answer.read().decode()) == read(metrics.text())
    with pytest.raises(UsageError, match=f"the port {port} cannot be served"):
        metrics.serve(port)


@pytest.mark.parametrize("file", ["alerts.yml", "grafana.json"])
def test_alerts_and_boards_name_what_is_told(file: str) -> None:
    text = (ROOT / "conf" / file).read_text()
    assert {name for name in re.findall(r"pfspark_(\w+)", text)} <= set(GAUGES)
    if file.endswith(".json"):
        assert len(json.loads(text)["panels"]) == 4


def test_a_belief_is_old_of_who_was_never_heard_too() -> None:
    """Since it was asked, however often it is asked again; of another organization none is counted."""
    at = datetime(2026, 1, 10, tzinfo=UTC)
    young, old = at - timedelta(hours=23), at - timedelta(hours=25)
    rows = [
        ("o", young, old, old), ("o", old, young, None),
        ("o", None, old, young), ("o", None, young, old), ("o", None, young, young), ("o", None, None, None),
        ("p", old, old, None),
    ]  # fmt: skip
    schema = pa.schema([("org", pa.string()), *((name, pa.timestamp("us", "UTC")) for name in ("heard", "asked", "silent"))])
    contacts = pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
    assert [_old(contacts, org, at) for org in ("o", "p", "q")] == [3, 1, 0]
