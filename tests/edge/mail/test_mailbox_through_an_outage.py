"""Some thousand mails of every sort go in, pass an outage to four stores in two sites, and come out as they were."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pfspark.lake import Lake
from tests.edge import mailbox as post

pytestmark = pytest.mark.lakes

DAY = "2026-01-05T"
STORES = {"PFS1": "Redmond", "PFS2": "Redmond", "PFS3": "Paris", "PFS4": "Paris"}
COUNT = 2_000


def digests(bodies: list[bytes]) -> Counter[str]:
    return Counter(hashlib.sha256(body).hexdigest() for body in bodies)


def test_a_mailbox_through_an_outage(spark: SparkSession, tmp_path: Path) -> None:
    raws = [letter.raw for letter in post.letters(COUNT)]
    halves = {"PFS1": raws[: COUNT // 2], "PFS3": raws[COUNT // 2 :]}
    notes = {store: f"after the outage, {store}".encode() for store in STORES}
    soon = ["10m", "10m", "10m"]
    seen: Counter[str] = Counter()
    with Lake.create(tmp_path / "lake", spark) as lake:
        options = {"backfill_timeouts": {"local": soon, "remote": soon}}
        lake.organization(profile="modern", options=options, start=f"{DAY}00:00:00Z")
        for name, site in STORES.items():
            lake.store(name, site)
        lake.link("Redmond", "Paris", cost=10, delay="5m")
        lake.folder_create("PFS1", "/Mail", list(STORES), at=f"{DAY}00:00:00Z")
        lake.run(f"{DAY}00:30:00Z")
        for store, some in halves.items():
            folder = tmp_path / store
            folder.mkdir()
            for number, raw in enumerate(some):
                (folder / f"{number:05}.eml").write_bytes(raw)
            counts = lake.import_mail(folder, store, "/Mail", at=f"{DAY}00:31:00Z")
            fresh = (digests(some) - seen).total()  # as often as a mail is there already, byte for byte, it adds nothing
            assert counts == {"posted": fresh, "known": len(some) - fresh, "unkept": 0}
            seen |= digests(some)
        # Paris is cut off while both halves are sent: nobody there gets Redmond's, nobody in Redmond gets PFS3's.
        lake.run(f"{DAY}00:45:00Z", cut=["PFS3", "PFS4"])
        holds = {row["store"]: row["applied"] for row in lake.state().where("folder = '/Mail'").collect()}
        assert holds["PFS1"] == holds["PFS2"] != holds["PFS3"] and holds["PFS4"] == ""
        for store, note in notes.items():
            lake.post(store, "/Mail", note, at=f"{DAY}01:00:00Z")
        lake.run(f"{DAY}06:00:00Z")
        assert lake.gaps().count() == 0
        for store in STORES:
            lake.export_mail(store, "/Mail", tmp_path / f"{store}-out", "eml")
    expected = seen + digests([*notes.values()])
    for store in STORES:
        assert digests([file.read_bytes() for file in (tmp_path / f"{store}-out").iterdir()]) == expected, store
