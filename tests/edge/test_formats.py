"""Lakes that an earlier pfspark wrote: those of every format there has been are read, and played on."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pfspark.edge.delta import native
from pfspark.edge.delta.digests import digests_by_round
from pfspark.edge.delta.ledger import FORMAT
from pfspark.edge.delta.tables import Tables
from pfspark.lake import Lake
from pfspark.rows import rows_of
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


@pytest.mark.parametrize("is_native", [True, False])
def test_a_column_of_a_later_format_comes_with_the_next_row(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_native: bool
) -> None:
    """Null in the rows of before, whoever reads them; and each round has the digest that the ledger of before has."""
    shutil.unpack_archive(LAKES[2], tmp_path / "lake")
    tables, before = Tables.open(spark, tmp_path / "lake"), Tables.open(spark, tmp_path / "lake").version("receipts")
    told = {row.round: row.facts["receipts"] for row in tables.snapshot().rounds() if "receipts" in row.facts}
    monkeypatch.setattr(native, "IS_HERE", is_native)
    more = {"org": "main", "store": "PFS1", "message_id": "m", "outcome": "applied", "counts": {"carried": 2, "new": 1}}
    assert tables.stored("receipts").columns[-1] == "counts"
    tables.append("receipts", rows_of("receipts", [more, {**more, "store": "PFS2", "counts": None}]).drop(["round"]), 10)
    for native_reads in (True, False):
        monkeypatch.setattr(native, "IS_HERE", native_reads)
        rows = tables.stored("receipts").toArrow() if not native_reads else tables.arrow("receipts")
        assert rows is not None
        counts = Counter((row["round"] == 10, str(row["counts"])) for row in rows.to_pylist())
        assert counts == {(False, "None"): 14, (True, str(more["counts"])): 1, (True, "None"): 1}
        assert {number: found for number, found in digests_by_round("receipts", rows).items() if number < 10} == told
        assert tables.stored("receipts", before).columns[-1] == "counts"
