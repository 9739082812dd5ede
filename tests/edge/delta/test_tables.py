"""The ledger on real Delta tables: what counts, what is void, who may write, what can be read of the past."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pfspark.edge.delta import making, snapshot, sql
from pfspark.edge.delta import tables as delta
from pfspark.edge.delta.damage import RewrittenError
from pfspark.edge.delta.ledger import FACTS, AsOf, Row, looked_up
from pfspark.edge.delta.snapshot import what_a_snapshot_needs
from pfspark.edge.delta.tables import Tables
from pfspark.edge.delta.writer import Writer
from pfspark.errors import DamageError, LakeError, OtherWriterError
from pfspark.rows import rows_of
from pfspark.tables import TABLES

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)


def step(store: str) -> pa.Table:
    """A row of `replicas`, for want of a smaller fact."""
    row = {"org": "main", "store": store, "folder": "1-1", "life": 1, "standing": "active", "at": MONDAY}
    return rows_of("replicas", [row], ["round"])


def edit(name: str) -> pa.Table:
    row = {"org": "main", "edit_id": name, "store": "PFS1", "at": MONDAY, "place": 1, "action": "post"}
    return rows_of("edits", [row])


def stores(tables: Tables, as_of: AsOf = None) -> set[str]:
    return {row["store"] for row in tables.read("replicas", as_of).collect()}


def play(writer: Writer, tables: Tables, store: str, now: datetime) -> Row:
    """A round that makes one fact."""
    assert writer.last
    number = writer.last.round + 1
    tables.append("replicas", step(store), number)
    versions = {**writer.last.versions, **tables.versions(name for name in TABLES if name != "rounds")}
    row = Row(
        round=number, kind="played", writer=writer.name, turns={"main": now}, began=now, ended=now,
        versions=versions, cursors={"edits": versions["edits"]},
    )  # fmt: skip
    return writer.record(row)


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """Rounds 1 created, 2 opened, 3 played (PFS1), 4 opened, 5 played (PFS3); PFS2 was written by one who was killed."""
    tables = Tables.create(spark, tmp_path_factory.mktemp("lakes") / "lake", history=timedelta(days=2))
    with tables.writing() as writer:
        writer.open()
        play(writer, tables, "PFS1", MONDAY)
        tables.append("replicas", step("PFS2"), 4)
    tables.append("edits", edit("a"))
    with tables.writing() as writer:
        writer.open()
        play(writer, tables, "PFS3", MONDAY + timedelta(hours=1))
    return tables


@pytest.mark.parametrize("listed", [0, snapshot.LISTED])
def test_however_many_numbers_are_void_their_facts_do_not_count(
    lake: Tables, monkeypatch: pytest.MonkeyPatch, listed: int
) -> None:
    monkeypatch.setattr(snapshot, "LISTED", listed)
    stored = lake.stored("replicas")
    assert {row["store"] for row in stored.collect()} == {"PFS1", "PFS2", "PFS3"}
    valid = lake.snapshot()._valid(stored)
    assert sorted(row["store"] for row in valid.collect()) == ["PFS1", "PFS3"] and valid.columns == stored.columns


def test_a_new_lake_has_every_table_as_declared(lake: Tables, spark: SparkSession) -> None:
    for name, table in TABLES.items():
        assert tuple(lake.read(name).columns) == table.names
    properties = {row["key"]: row["value"] for row in spark.sql(f"SHOW TBLPROPERTIES {lake.name('changes')}").collect()}
    assert properties["delta.logRetentionDuration"] == "interval 48 hours"
    assert properties["delta.deletedFileRetentionDuration"] == "interval 48 hours"
    assert properties["delta.checkpointInterval"] == "100"
    assert {"changes", "messages", "receipts", "state", "replicas", "backfill", "agenda"} == set(FACTS)


def test_the_ledger_has_a_row_for_every_number(lake: Tables) -> None:
    rows = [(row["round"], row["kind"]) for row in lake.read("rounds").orderBy("round").collect()]
    assert rows == [(1, "created"), (2, "opened"), (3, "played"), (4, "opened"), (5, "played")]


def test_a_fact_of_a_killed_writer_is_never_read(lake: Tables) -> None:
    written = {row["store"] for row in lake.stored("replicas").collect()}
    assert written == {"PFS1", "PFS2", "PFS3"}
    assert stores(lake) == {"PFS1", "PFS3"}


def test_a_fact_does_not_count_before_its_ledger_row(lake: Tables, spark: SparkSession) -> None:
    again = Tables.open(spark, lake.where)
    lake.append("replicas", step("PFS9"), 6)
    assert stores(again) == {"PFS1", "PFS3"}


@pytest.mark.parametrize(
    ("as_of", "seen"),
    [
        (1, set()),
        (2, set()),
        (3, {"PFS1"}),
        (4, {"PFS1"}),
        (5, {"PFS1", "PFS3"}),
        (MONDAY, {"PFS1"}),
        (MONDAY + timedelta(minutes=59), {"PFS1"}),
        (MONDAY + timedelta(hours=2), {"PFS1", "PFS3"}),
    ],
)
def test_the_past_is_read_by_round_or_by_time(lake: Tables, as_of: AsOf, seen: set[str]) -> None:
    assert stores(lake, as_of) == seen


def test_what_people_said_later_is_not_in_the_past(lake: Tables) -> None:
    assert [row["edit_id"] for row in lake.read("edits", 5).collect()] == ["a"]
    assert lake.read("edits", 3).collect() == []


@pytest.mark.parametrize(
    ("as_of", "told"),
    [(0, "are 1 to 5"), (7, "are 1 to 5"), (MONDAY - timedelta(days=1), "no round yet at 2026-01-04T00:00:00Z")],
)
def test_a_round_that_never_was_is_refused(lake: Tables, as_of: AsOf, told: str) -> None:
    with pytest.raises(LakeError, match=told):
        lake.read("replicas", as_of)


FAR = datetime(2999, 1, 1, tzinfo=UTC)
"""Long after the clock on the wall, by which rounds that play nobody end."""


@pytest.fixture(scope="module")
def ahead(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """One organization is far ahead of the wall, another behind it: by turns, each time opened anew, and tended in between."""
    tables = Tables.create(spark, tmp_path_factory.mktemp("lakes") / "lake")
    plays = [(3, "main", 0), (5, "main", 1), (7, "old", 0), (9, None, 0), (11, "main", 1), (13, "main", 2), (15, "old", 1)]
    for number, org, hours in plays:
        with tables.writing() as writer:
            row, wall = writer.open().row, datetime.now(UTC)
            turns = {org: (FAR if org == "main" else MONDAY) + timedelta(hours=hours)} if org else {}
            kind = "restored" if number == 11 else "played" if org else "maintained"
            writer.record(replace(row, round=number, kind=kind, turns=turns, began=wall, ended=wall))
    return tables


@pytest.mark.parametrize(
    ("org", "as_of", "round"),
    [
        ("main", FAR - timedelta(hours=1), 2),  # made and opened, not played
        ("main", FAR, 4),  # not one that was opened since, by the wall long before
        ("main", FAR + timedelta(minutes=59), 4),
        ("main", FAR + timedelta(hours=1), 12),  # restored at the time to which it was played
        ("main", FAR + timedelta(hours=2), 15),
        ("old", MONDAY - timedelta(hours=1), None),
        ("old", MONDAY, 7),  # neither what was tended since, nor what others played
        ("old", MONDAY + timedelta(minutes=59), 7),
        ("old", MONDAY + timedelta(hours=1), 15),
        ("old", FAR, 15),
        (None, MONDAY, None),  # at the first round somebody was beyond that
        (None, FAR, 4),
        (None, FAR + timedelta(hours=1), 12),
        (None, FAR + timedelta(hours=2), 15),
    ],
)
def test_a_time_is_that_of_the_organization(ahead: Tables, org: str | None, as_of: datetime, round: int | None) -> None:
    """Whatever the wall says, and others are at; by Spark as without it."""
    ledger = ahead.stored("rounds")
    [by_spark] = what_a_snapshot_needs(ledger, as_of, org).toArrow().to_pylist()
    assert looked_up(ledger.toArrow(), as_of, org)["round"] == round
    assert (by_spark["row"] or {"round": None})["round"] == round


def test_every_row_is_chained_to_the_one_before(lake: Tables) -> None:
    rows = [Row.read(row) for row in lake.read("rounds").orderBy("round").toArrow().to_pylist()]
    before = ""
    for row in rows:
        assert row.sealed(before) == row
        assert row.sealed(before + "x").digest != row.digest
        before = row.digest


def test_commits_say_their_round(lake: Tables, spark: SparkSession) -> None:
    said = [row["userMetadata"] for row in spark.sql(f"DESCRIBE HISTORY {lake.name('rounds')}").collect()]
    assert said == ["5", "4", "3", "2", "1", None]


def test_edits_are_found_by_the_version_that_brought_them(lake: Tables) -> None:
    first = lake.version("edits")
    lake.append("edits", edit("b"))
    lake.append("edits", edit("c"))
    found = [row["edit_id"] for row in lake.edits_between(first, lake.version("edits")).sort_by("edit_id").to_pylist()]
    assert found == ["b", "c"]
    assert [row["edit_id"] for row in lake.edits_between(first + 1, first + 2).to_pylist()] == ["c"]


def test_of_edits_that_others_took_back_none_is_told_as_new(lake: Tables, spark: SparkSession) -> None:
    """Delta tells the rows of files that come back as inserted: who asks what is new reads the table instead."""
    lake.append("edits", edit("b"))
    first = lake.version("edits")
    lake.append("edits", edit("c"))
    spark.sql(f"OPTIMIZE {lake.name('edits')}")
    lake.append("edits", edit("d"))
    assert {row["edit_id"] for row in lake.edits_between(first, lake.version("edits")).to_pylist()} == {"c", "d"}
    spark.sql(f"RESTORE TABLE {lake.name('edits')} TO VERSION AS OF {first + 1}")
    with pytest.raises(RewrittenError, match=r"`edits` of .* is of RESTORE"):
        lake.edits_between(first, lake.version("edits"))
    last = lake.version("edits")
    lake.append("edits", edit("e"))
    assert [row["edit_id"] for row in lake.edits_between(last, lake.version("edits")).to_pylist()] == ["e"]


def test_of_a_ledger_that_others_took_back_no_number_is_given(spark: SparkSession, tmp_path: Path) -> None:
    """That is no other writer. Put forward again, it goes on with the next."""
    tables = Tables.create(spark, tmp_path / "lake")
    for _ in range(3):
        with tables.writing() as writer:
            last = writer.open().row.round
    stood = tables.version("rounds")
    spark.sql(f"RESTORE TABLE {tables.name('rounds')} TO VERSION AS OF {stood - 2}")
    assert tables.snapshot().row.round == last - 2
    with tables.writing() as writer, pytest.raises(LakeError, match=f"ends with round {last - 2}, though round {last} was"):
        writer.open()
    spark.sql(f"RESTORE TABLE {tables.name('rounds')} TO VERSION AS OF {stood}")
    with tables.writing() as writer:
        assert writer.open().row.round == last + 1


def test_a_second_writer_is_turned_away_at_once(lake: Tables, spark: SparkSession) -> None:
    with lake.writing() as first:
        with (
            pytest.raises(OtherWriterError, match=first.name.rsplit(":", 1)[0]) as error,
            Tables.open(spark, lake.where).writing(),
        ):
            pass
        assert error.value.exit_code == 4
        lake.append("edits", edit("meanwhile"))  # whoever posts is not kept waiting
    with Tables.open(spark, lake.where).writing() as second:
        assert second.last is None


def test_a_lock_is_given_back_though_a_forked_process_has_its_file(lake: Tables, spark: SparkSession) -> None:
    with lake.writing() as first:
        assert first._lock is not None
        forked = os.dup(first._lock.fileno())  # what a child has, and keeps
    with Tables.open(spark, lake.where).writing():
        os.close(forked)


def test_a_table_without_a_log_is_told(lake: Tables, spark: SparkSession, tmp_path: Path) -> None:
    place = shutil.copytree(lake.where, tmp_path / "lake")
    shutil.rmtree(place / "links" / "_delta_log")
    with pytest.raises(DamageError, match=r"`links` of .* cannot be read: its file _delta_log is gone or torn"):
        Tables.open(spark, place).versions(["links"])


def test_in_a_catalog_the_one_who_was_overtaken_stops(spark: SparkSession) -> None:
    """No lock there: the number tells. One who sleeps while another opens can record no round any more."""
    spark.sql("DROP SCHEMA IF EXISTS spark_catalog.a_lake CASCADE")
    tables = Tables.create(spark, "spark_catalog.a_lake")
    slow = Writer(tables, tables.snapshot)
    slow.open()
    tables.append("replicas", step("PFS1"), 3)
    with tables.writing() as other:
        other.open()
        assert slow.last
        with pytest.raises(OtherWriterError, match="has taken round 3"):
            slow.record(replace(slow.last, round=3, kind="played", writer=slow.name, began=MONDAY, ended=MONDAY))
        play(other, tables, "PFS2", MONDAY)
    assert stores(Tables.open(spark, "spark_catalog.a_lake")) == {"PFS2"}
    assert [row["kind"] for row in tables.read("rounds").orderBy("round").collect()] == ["created", "opened", "opened", "played"]


def test_no_lake_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "absent", "spark_catalog.no_such_schema"):
        with pytest.raises(LakeError, match="is not a lake"):
            Tables.open(spark, place)
    Tables.expect("spark_catalog.no_such_schema")  # Spark alone can tell
    for place, code in ((tmp_path, 1), (tmp_path / "absent", 2)):
        with pytest.raises(LakeError, match="is not a lake") as refusal:
            Tables.expect(place)
        assert refusal.value.exit_code == code


def test_a_place_that_is_taken_is_refused(lake: Tables, spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(LakeError, match="is a lake already"):
        Tables.create(spark, lake.where)
    (tmp_path / "thesis.doc").write_text("mine")
    with pytest.raises(LakeError, match=r"not empty .it has 'thesis.doc'"):
        Tables.create(spark, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.doc"]


def test_a_lake_of_a_newer_pfspark_is_refused(lake: Tables, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta, "FORMAT", 0)
    with pytest.raises(LakeError, match=r"newer pfspark .format 3, this one knows 0"):
        Tables.open(spark, lake.where)


def test_a_making_that_was_cut_short_is_told_and_can_be_made_again(spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "lake"
    unfinished = Tables(spark, place)
    for name in ("rounds", "changes"):
        making.create(unfinished, name, timedelta(days=30))
    with pytest.raises(LakeError, match="cut short"):
        Tables.open(spark, place)
    assert Tables.create(spark, place).snapshot().row.round == 1


def test_a_value_in_a_condition_is_only_a_value(lake: Tables) -> None:
    """What stands in a table may be anybody's; also where rows are to go."""
    odd = "x') OR ('1'='1"
    bodies = [{"hash": hash, "body": b"", "size": 0, "at": MONDAY} for hash in (odd, "a", "b")]
    lake.append("content", rows_of("content", bodies))
    lake.delete("content", sql.among("hash", [odd, "a"]))
    assert {row["hash"] for row in lake.stored("content").collect()} == {"b"}


def test_a_name_with_odd_characters_is_only_a_name(spark: SparkSession, tmp_path: Path) -> None:
    unfinished = Tables(spark, tmp_path / "it's `odd`; DROP")
    making.create(unfinished, "agenda", timedelta(days=30))
    assert unfinished.stored("agenda").count() == 0
    log = tmp_path / "it's `odd`; DROP" / "agenda" / "_delta_log" / "00000000000000000000.json"
    assert json.loads(log.read_text().splitlines()[0])
