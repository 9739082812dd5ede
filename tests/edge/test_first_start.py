"""A store that joins an organization: what it asks first, what it learns, and how it is filled."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pfspark.lake import Lake

pytestmark = pytest.mark.lakes

DAY = "2026-01-05T"


@pytest.mark.rule("R86", "R131", "R139")
def test_a_new_store_learns_of_the_hierarchy_then_of_its_replicas_then_fills_them(spark: SparkSession, tmp_path: Path) -> None:
    """PFS3 starts when PFS1 has just placed a replica there, and the message that says so is lost."""
    lake = Lake.create(tmp_path / "lake", spark)
    hourly = ["1h", "1h", "1h"]
    options = {"backfill_timeouts": {"local": hourly, "remote": hourly}}
    lake.organization(profile="exchange_2007", options=options, start=f"{DAY}00:00:00Z")
    lake.store("PFS1", "Redmond")
    lake.store("PFS2", "Redmond")
    lake.folder_create("PFS1", "/Sales", ["PFS1", "PFS2"], at=f"{DAY}00:00:00Z")
    lake.post("PFS1", "/Sales", b"one", at=f"{DAY}00:00:00Z")
    lake.run(until=f"{DAY}00:15:00Z")
    lake.post("PFS2", "/Sales", b"two", at=f"{DAY}00:30:00Z")
    lake.run(until=f"{DAY}00:30:00Z")
    lake.store("PFS3", "Redmond")
    lake.replica_add("PFS1", "/Sales", "PFS3", at=f"{DAY}00:45:00Z")
    lake.round(f"{DAY}00:45:00Z", cut=["PFS1"])
    lake.run(until=f"{DAY}05:00:00Z")
    lake.close()

    said = [
        (line["type"], line["folder"], line["from"], line["to"])
        for line in lake.lines("messages")
        if line["at"] >= f"{DAY}00:45" and "PFS3" in (line["from"], *line["to"]) and line["type"] not in ("0x2", "0x4")
    ]
    others = ["PFS1", "PFS2"]
    assert said == [
        ("0x20", "1-1", "PFS3", others),
        *(("0x10", "1-1", other, ["PFS3"]) for other in others),
        ("0x8", "1-1", "PFS3", ["PFS1"]),
        ("0x80000002", "1-1", "PFS1", ["PFS3"]),
        ("0x20", "/Sales", "PFS3", others),
        *(("0x10", "/Sales", other, ["PFS3"]) for other in others),
        ("0x8", "/Sales", "PFS3", ["PFS1"]),
        ("0x80000004", "/Sales", "PFS1", ["PFS3"]),
    ]
    asked = lake.table("messages").where("type = '0x20' and store = 'PFS3'").select("responders").collect()
    assert [sorted(row["responders"]) for row in asked] == [others] * 2
    held = {line["folder"]: line["applied"] for line in lake.lines("state") if line["store"] == "PFS3"}
    assert held == {"1-1": "PFS1:1-2", "/Sales": "PFS1:1,PFS2:1"}
