"""Lakes that an earlier pfspark wrote: those of every format there has been are read, and played on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pfspark.edge.delta.ledger import FORMAT
from pfspark.lake import Lake
from pfspark.tables import TABLES
from tests.edge.lakes import DAY, LAKES, broken

MAIL = (
    b"From a@example.com Mon Jan  5 08:00:00 2026\n"
    b"From: a@example.com\nSubject: one\nDate: Mon, 5 Jan 2026 09:00:00 +0100\n\nhello\n\n"
)


def test_a_lake_of_every_format_is_kept() -> None:
    """Who changes a table gives the lake another format, and keeps one of it here."""
    assert sorted(LAKES) == list(range(1, FORMAT + 1))


@pytest.mark.in_turn
@pytest.mark.parametrize("format", LAKES)
def test_what_was_begun_by_an_earlier_version_is_finished(spark: SparkSession, tmp_path: Path, format: int) -> None:
    shutil.unpack_archive(LAKES[format], tmp_path / "lake")
    with Lake.open(tmp_path / "lake", spark) as lake:
        if format == FORMAT:
            assert {name: tuple(lake.table(name).columns) for name in TABLES} == {
                name: table.names for name, table in TABLES.items()
            }
        gap = {"store": "PFS1", "folder": "/Sales", "origin": "PFS2", "cn_min": 1, "cn_max": 1, "asked": None}
        [seen] = lake.lines("gaps")
        assert gap.items() <= seen.items()
        assert lake.state(as_of=4).count() > 0
        lake.run(until=f"{DAY}00:45:00Z")
        assert broken(lake) == set()
        held = {line["store"]: line["applied"] for line in lake.lines("state") if line["folder"] == "/Sales"}
        assert held == dict.fromkeys(("PFS1", "PFS2"), "PFS1:1,PFS2:1-2")
        assert lake.export_mail("PFS1", "/Sales", tmp_path / "eml", form="eml") == 3
    assert (tmp_path / "eml" / "one.eml").read_bytes() == MAIL.partition(b"\n")[2][:-1]
