"""Worlds side by side, before anything of them is played."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pyarrow as pa
from pyspark.sql import SparkSession

from pfspark.ask.stores import Stores
from pfspark.between import Between
from pfspark.edge.config import conf_folder
from pfspark.files.parts import Link
from pfspark.sim import invention, whatif
from pfspark.sim.scenario import parse

TWO_SITES = """
name = "here"
profile = "exchange_2007"
start = 2026-01-05T00:00:00Z
end = "1h"
[stores.PFS1]
site = "Redmond"
[stores.PFS2]
site = "Paris"
[[links]]
sites = ["Redmond", "Paris"]
cost = 1
delay = "5m"
"""


def no_spark() -> SparkSession:
    raise AssertionError("nothing is played yet")


def test_each_world_has_its_own_links() -> None:
    """What a variant says of links counts in its own world, and what it leaves unsaid is as it was."""
    here = parse(TWO_SITES, "here.toml", conf_folder())
    [there, back] = here.links
    slow = replace(here, links=(replace(there, cost=7, delay=timedelta(hours=2)), back, Link("Paris", "Rome", 3, timedelta(0))))
    others = Between(no_spark, {"links": [*invention.links(here), *invention.links(replace(slow, name="another's"))]})
    between = whatif._side_by_side(Between(no_spark), "here", others.tables, {"as it is": here, "slow": slow})
    found = [
        (row["org"], row["from_site"], row["to_site"], row["cost"], row["delay_s"]) for row in between.tables["links"].to_pylist()
    ]
    assert found == [
        ("as it is", "Redmond", "Paris", 1, 300), ("as it is", "Paris", "Redmond", 1, 300),
        ("slow", "Redmond", "Paris", 7, 7200), ("slow", "Paris", "Redmond", 1, 300), ("slow", "Paris", "Rome", 3, 0),
    ]  # fmt: skip


def test_what_a_line_delivers_twice_was_sent_once() -> None:
    messages = pa.table({"message_id": ["m", "m/copy"], "flags": pa.array([["is_empty"], ["is_empty", "copy"]])})
    assert whatif._sent(messages)["message_id"].to_pylist() == ["m"]


def test_a_retired_store_has_its_site_still() -> None:
    """What is sent to it goes by the link to that."""
    tables = {"stores": pa.table({"org": ["w"] * 2, "store": ["A", "B"], "site": ["Redmond", "Paris"], "retired": [False, True]})}
    recipients = pa.array([[{"store": "B"}, {"store": "C"}]], pa.list_(pa.struct([("store", pa.string())])))
    messages = pa.table({"store": ["A"], "recipients": recipients, "bytes": [7]})
    letters = whatif._letters(messages, Stores(tables, "w").sites)
    assert letters["link"].to_pylist() == ["Redmond > Paris", "Redmond > C"]
    assert letters.drop_columns("link").to_pylist() == [{"from": "A", "to": to, "bytes": 7} for to in "BC"]
