"""Appends by delta-rs beside appends by Spark: the same tables, in any mixture."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.fs
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, BinaryType, BooleanType, DataType, LongType, MapType, StructType, TimestampType

from pfspark import execute
from pfspark.edge.delta import native, opening, stored, writer
from pfspark.edge.delta.beside import WRITER_LOCK
from pfspark.edge.delta.ledger import LEDGER
from pfspark.edge.delta.tables import Tables
from pfspark.edge.world.carried import taken_in
from pfspark.errors import LakeError, OtherWriterError
from pfspark.lake import Lake
from pfspark.rows import rows_of, schema_of
from pfspark.tables import TABLES
from tests.edge.lakes import DAY, Copy

QUARTER = timedelta(minutes=15)
DAWN = datetime.fromisoformat(f"{DAY}06:00:00Z")
AT = datetime(2026, 1, 5, 12, 0, 0, 123456, tzinfo=UTC)
PLAIN: dict[type[DataType], Any] = {BooleanType: True, LongType: 2**62, TimestampType: AT, BinaryType: b"\x00\xff"}


def sample(kind: DataType) -> Any:
    """A value of that type, nested ones with all that may be in them."""
    if isinstance(kind, StructType):
        return {field.name: sample(field.dataType) for field in kind}
    if isinstance(kind, ArrayType):
        return [sample(kind.elementType)] * 2
    if isinstance(kind, MapType):
        return {"a": sample(kind.valueType), "ü": sample(kind.valueType)}
    return PLAIN.get(type(kind), "Grüße\n")


def rows(name: str) -> pa.Table:
    """Three rows of a table: full, all null but for what names it, and empty where a cell may be."""
    full = sample(schema_of(name))
    empty = {key: [] if isinstance(value, list) else {} if isinstance(value, dict) else value for key, value in full.items()}
    said = [full, {key: full[key] for key in TABLES[name].key}, empty]
    maps = [{key: list(cell.items()) if isinstance(cell, dict) else cell for key, cell in row.items()} for row in said]
    return rows_of(name, maps)


def said_by(tables: Tables, name: str) -> list[str]:
    frame = tables.stored(name).toArrow()
    return sorted(json.dumps(row, default=str, sort_keys=True) for row in frame.to_pylist())


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return Tables.create(spark, tmp_path_factory.mktemp("native") / "lake")


@pytest.mark.parametrize("name", sorted(TABLES.keys() - {LEDGER}))
def test_either_reads_what_the_other_wrote(tables: Tables, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In turns, and after Spark has joined the files of both: each reads twice what was written twice. To Spark rows go as many
    do: as few they go to every lake of these tests."""
    monkeypatch.setattr(execute, "LARGE", 3)
    written = rows(name)
    by_whom = []
    right = native.append
    monkeypatch.setattr(native, "append", lambda *given, **how: (by_whom.append(name), right(*given, **how)))
    tables.append(name, written)
    once = said_by(tables, name)
    assert len(once) == 3 and by_whom == [name]
    monkeypatch.setattr(native, "IS_HERE", False)
    tables.append(name, written)
    monkeypatch.setattr(native, "IS_HERE", True)
    assert said_by(tables, name) == sorted(2 * once) and by_whom == [name]
    if name in ("edits", "state"):
        tables.tidy(name)
        tables.append(name, written)
        assert said_by(tables, name) == sorted(3 * once)
        from deltalake import DeltaTable

        assert DeltaTable(Path(tables.where) / name).to_pyarrow_table().num_rows == 9


def test_no_file_that_arrow_reads_is_pythons(tables: Tables) -> None:
    """Its threads outlive what they read; one that hands a file back to a Python that ends aborts the process."""
    opened = native.dataset(Path(tables.where) / LEDGER)
    assert isinstance(opened, pyarrow.dataset.FileSystemDataset) and opened.to_table().num_rows > 0
    assert isinstance(opened.filesystem, pyarrow.fs.SubTreeFileSystem)
    assert isinstance(opened.filesystem.base_fs, pyarrow.fs.LocalFileSystem)


def test_edits_come_by_the_feed_whoever_wrote_them(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tables.version("edits")
    one = {"org": "o", "edit_id": "one", "store": "A", "at": AT, "action": "post", "properties": [("a", "b")]}
    tables.append("edits", rows_of("edits", [one]))
    monkeypatch.setattr(native, "IS_HERE", False)
    tables.append("edits", rows_of("edits", [{**one, "edit_id": "two"}]))
    fresh = tables.edits_between(before, tables.version("edits")).to_pylist()
    assert {row["edit_id"]: row["properties"] for row in fresh} == {"one": [("a", "b")], "two": [("a", "b")]}


def test_a_round_is_told_of_its_facts(tables: Tables) -> None:
    tables.append("state", rows_of("state", [{"org": "o", "store": "A", "folder": "A:1"}], ["round"]), 7)
    [last] = tables.spark.sql(f"DESCRIBE HISTORY {tables.name('state')} LIMIT 1").collect()
    assert last["userMetadata"] == "7"
    assert tables.stored("state").where("round = 7").count() == 1


def test_a_column_that_somebody_has_added_is_null(spark: SparkSession, tmp_path: Path) -> None:
    """Who keeps notes beside the rows of a lake keeps nobody from writing more of them."""
    tables = Tables.create(spark, tmp_path / "lake")
    for name in ("stores", "state"):
        note = deltalake.Field("note", deltalake.schema.PrimitiveType("string"))
        deltalake.DeltaTable(tmp_path / "lake" / name).alter.add_columns([note])
        tables.append(name, rows(name))
        found = tables.arrow(name)
        assert found is not None and found.equals(tables.fit(name, rows(name), None))
        assert tables.stored(name).toArrow()["note"].to_pylist() == [None] * 3


def test_a_number_is_taken_in_a_ledger_whose_columns_have_other_names_in_files(spark: SparkSession, tmp_path: Path) -> None:
    tables = Tables.create(spark, tmp_path / "lake")
    spark.sql(f"ALTER TABLE {tables.name(LEDGER)} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    with tables.writing() as writer:
        assert writer.open().row.round == 2
    assert tables.snapshot().row.round == 2


@pytest.mark.parametrize(
    "asks",
    ["CLUSTER BY (org)", "SET TBLPROPERTIES ('delta.enableRowTracking' = 'true', 'delta.enableInCommitTimestamps' = 'true')"],
)
def test_what_asks_more_of_who_writes_is_left_to_spark(spark: SparkSession, tmp_path: Path, asks: str) -> None:
    tables = Tables.create(spark, tmp_path / "lake")
    for name in ("edits", "state", LEDGER):
        spark.sql(f"ALTER TABLE {tables.name(name)} {asks.replace('(org)', '(round)' if name == LEDGER else '(org)')}")
    for name in ("edits", "state"):
        tables.append(name, rows(name))
        assert said_by(tables, name) == sorted(json.dumps(row, default=str, sort_keys=True) for row in rows(name).to_pylist())
    with tables.writing() as writer:
        assert [writer.open().row.round, tables.snapshot().row.round] == [2, 2]


def test_what_cannot_be_written_is_told_as_ever(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: Any, **how: Any) -> None:
        raise OSError("Generic LocalFileSystem error: No space left on device (os error 28)")

    monkeypatch.setattr(native, "append", full)
    with pytest.raises(LakeError, match=r"`state` of .* could not be written: No space left on device"):
        tables.append("state", rows_of("state", [], ["round"]), 8)


def test_a_small_table_stands_in_the_plan_and_says_what_spark_reads(holed: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each table as of an earlier round; what came later, and what is void, is left out by either."""
    snapshot = holed.answers(5).snapshot
    frames: dict[str, list[DataFrame]] = {}
    for small in (2_000, -1):
        monkeypatch.setattr(native, "SMALL_ROWS", small)
        for name in TABLES:
            frames.setdefault(name, []).append(snapshot.read(name))
    for name, (few, many) in frames.items():
        assert few.schema.simpleString() == many.schema.simpleString(), name
        told = [sorted(repr(row) for row in frame.toArrow().to_pylist()) for frame in (few, many)]
        assert told[0] == told[1], name
        if not snapshot.untouched(name):
            plans = [frame._jdf.queryExecution().toString() for frame in (few, many)]
            assert "LocalRelation" in plans[0] and "parquet" in plans[1].lower(), name


@pytest.mark.parametrize(
    ("few", "at_hand"), [(native.FEW, 0), (0, native.AT_HAND_ROWS), (0, 0)], ids=["by name", "among all", "by Spark"]
)
def test_edits_that_were_taken_in_before_are_found(
    holed_place: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, few: int, at_hand: int
) -> None:
    """However many are asked about, and however many there are; nobody else's, and none that was never seen."""
    monkeypatch.setattr(native, "FEW", few)
    monkeypatch.setattr(native, "AT_HAND_ROWS", at_hand)
    tables = Tables.open(spark, holed_place)
    receipts = tables.snapshot().read("receipts").where("edit_id is not null").select("org", "edit_id", "at").toArrow()
    asked = receipts.slice(1).select(["org", "edit_id"])
    strangers = pa.table({"org": ["main", "another"], "edit_id": ["never seen", receipts["edit_id"][0].as_py()]})
    found = taken_in(pa.concat_tables([asked, strangers.cast(asked.schema)]), tables.snapshot())
    assert receipts.num_rows > 2
    by_edit = sorted(map(repr, found.to_pylist()))
    assert by_edit == sorted(map(repr, receipts.slice(1).to_pylist()))


def test_the_files_of_a_long_ledger_are_joined_by_who_plays_next(
    holed_place: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows stay, and its history; the chain is whole, and a round is taken once."""

    def told() -> list[dict[str, Any]]:
        with Lake.open(holed_place, spark) as lake:
            return list(lake.lines("rounds"))

    before, there = told(), native.files(holed_place / LEDGER)
    assert there > 3
    monkeypatch.setattr(stored, "MANY_FILES", there + 1)
    with Lake.open(holed_place, spark) as lake:
        lake.round(lake.answers().at["main"] + timedelta(minutes=15))
    after = native.files(holed_place / LEDGER)
    assert after > there
    with Lake.open(holed_place, spark) as lake:
        lake.round(lake.answers().at["main"] + timedelta(minutes=15))
        assert [line["id"] for line in lake.audit() if line.get("rows")] == []
    assert native.files(holed_place / LEDGER) < after
    assert told()[: len(before)] == before
    assert Tables.open(spark, holed_place).snapshot(before[-1]["round"]).row.round == before[-1]["round"]


def test_who_plays_for_long_joins_the_files_of_the_tables(
    copied: Copy, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time they are many, and not what people write; answers are the same as where none are joined, now and as of before."""
    files: list[int] = []

    def played(name: str, most: int) -> tuple[Path, list[str]]:
        monkeypatch.setattr(stored, "MANY_FILES", most)
        place = copied(name)
        with Lake.open(place, spark) as lake:
            for quarter in range(12):
                at = DAWN + quarter * QUARTER
                lake.post("PFS1", "/Sales", f"note {quarter}", at=at, edit_id=f"note {quarter}")
                lake.round(at)
                files.append(native.files(place / LEDGER))
            *promises, certificate = lake.audit()
            assert certificate["kind"] == "certificate" and {*certificate["checks"].values()} == {0}
            lines = [lake.lines("messages"), lake.lines("messages", as_of=7), lake.lines("edits"), promises]
            return place, [json.dumps(line, sort_keys=True) for each in lines for line in each]

    place, lines = played("joined", 6)
    assert max(files) == 7 and sum(after < before for before, after in pairwise(files)) == 2
    beside, others = played("as they were", 100)
    assert lines == others and max(files) > 12
    for name in ("receipts", "messages", "state"):
        assert 1 <= native.files(place / name) < 8 < native.files(beside / name)
    assert native.files(place / "edits") == native.files(beside / "edits") > 12
    assert Tables.open(spark, place).snapshot().broken_links() == 0


def test_a_number_is_taken_once_whoever_takes_it(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is there already, one that Spark has written, and one that another takes meanwhile: their rows do not come in."""
    assert tables.folder is not None
    place, some = tables.folder / LEDGER, rows(LEDGER).slice(0, 1)

    def by_spark(number: int) -> None:
        options = {"txnAppId": "test", "txnVersion": str(number)}
        tables.save(LEDGER, tables.frame_of(LEDGER, some, None), "append", options)

    def by_here(number: int) -> bool:
        return native.append_once(place, tables.fit(LEDGER, some, None), str(number), "test", number)

    before = tables.count(LEDGER)
    assert by_here(1) and not by_here(1) and by_here(2)
    by_spark(2)
    assert tables.count(LEDGER) == before + 2
    by_spark(3)
    assert not by_here(3) and tables.count(LEDGER) == before + 3

    def while_another_does(*given: Any, **more: Any) -> None:
        monkeypatch.undo()
        assert by_here(4)
        deltalake.write_deltalake(*given, **more)

    monkeypatch.setattr(deltalake, "write_deltalake", while_another_does)
    assert not by_here(4) and tables.count(LEDGER) == before + 4
    assert by_here(5)


def test_a_writer_whose_lock_was_taken_away_stops(
    holed_place: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file of the lock was removed by hand: two hold it, which is seen; and the number is one's alone."""
    tables = Tables.open(spark, holed_place)
    with tables.writing() as one:
        one.open()
        (holed_place / WRITER_LOCK).unlink()
        with tables.writing() as other:
            other.open()
            assert one.last is not None
            with pytest.raises(OtherWriterError, match="the file that this writer has locked is not there any more"):
                one.record(replace(one.last, round=one.last.round + 1))
            monkeypatch.setattr(writer.Writer, "expect_its_lake", lambda _: None)
            with pytest.raises(OtherWriterError, match=r"Another writer has taken round \d+"):
                one.record(replace(one.last, round=one.last.round + 1))
        last = tables.snapshot().row
    assert (last.writer, last.kind) == (other.name, "opened")


def file_of(place: Path, name: str, age: timedelta) -> Path:
    """A file of rows that no commit names, so old."""
    file = place / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(next(place.glob("*.parquet")).read_bytes())
    written = (datetime.now(UTC) - age).timestamp()
    os.utime(file, (written, written))
    return file


def test_a_small_table_is_tidied_without_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Its rows, its feed and its history stay, and what somebody is writing now; what was left long ago goes."""

    def no_session() -> SparkSession:
        raise AssertionError("Spark was asked")

    place = tmp_path / "lake" / "edits"
    Tables.create(spark, tmp_path / "lake")
    tables = Tables.open(no_session, f"file:{tmp_path}/lake")
    for nth in range(3):
        tables.append("edits", rows_of("edits", [{"org": "o", "edit_id": str(nth), "store": "A", "action": "post", "at": AT}]))
    last = tables.version("edits")
    young, old = (file_of(place, f"part-{days}.parquet", timedelta(days=days)) for days in (1, 90))
    kept = [file_of(place, "_beside/part.parquet", timedelta(days=90)), *place.glob("_delta_log/*.json")]
    files = native.files(place)
    tables.tidy("edits")
    assert (files, native.files(place)) == (3, 1)
    assert not old.exists() and young.exists() and all(file.exists() for file in kept)
    assert tables.settled("edits", last) == tables.version("edits") > last
    assert not tables.written_anew("edits", last)
    for version, rows in ((last - 1, 2), (last, 3), (None, 3)):
        found = tables.arrow("edits", version)
        assert found is not None and sorted(found["edit_id"].to_pylist()) == [str(nth) for nth in range(rows)]
    tables.append("edits", rows_of("edits", [{"org": "o", "edit_id": "3", "store": "A", "action": "post", "at": AT}]))
    assert tables.edits_between(last, tables.version("edits"))["edit_id"].to_pylist() == ["3"]
    assert tables.count("edits") == Tables.open(spark, tmp_path / "lake").stored("edits").count() == 4


def test_a_table_whose_files_have_rows_that_do_not_count_is_sparks(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where deletion vectors are: its files tell more rows than it has, and beside them lie some that are needed."""
    tables = Tables.create(spark, tmp_path / "lake")
    name, place = tables.name("state"), tmp_path / "lake" / "state"
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    written = rows_of("state", [{"org": "o", "store": store, "folder": "A:1", "round": 1} for store in "ABC"])
    tables.save("state", tables.frame_of("state", written, None), "append", {})
    tables.delete("state", "store = 'B'")
    assert [*place.glob("deletion_vector*")]
    assert native.count(place) is None and not native.tidy(place)
    assert tables.count("state") == 2
    tables.tidy("state")
    assert sorted(row["store"] for row in tables.stored("state").collect()) == ["A", "C"]


def test_where_not_every_file_says_how_many_rows_it_has_nobody_does(spark: SparkSession, tmp_path: Path) -> None:
    tables = Tables.create(spark, tmp_path / "lake")
    row = rows_of("state", [{"org": "o", "store": "A", "folder": "A:1"}], ["round"])
    tables.append("state", row, 1)
    spark.conf.set("spark.databricks.delta.stats.collect", "false")
    try:
        tables.save("state", tables.frame_of("state", row, 2), "append", {})
    finally:
        spark.conf.unset("spark.databricks.delta.stats.collect")
    assert native.count(tmp_path / "lake" / "state") is None and tables.count("state") == 2


def added_and_removed(place: Path, *days: int) -> Path:
    """A file of a table that was removed so many days ago, and restored between one time and the next."""
    native.append(place, pa.table({"a": [1]}), None)
    [said] = [json.loads(line)["add"] for line in log_of(place, 1).read_text().splitlines() if "add" in line.split('"')[1]]
    for nth, ago in enumerate(days):
        moment = int((datetime.now(UTC) - timedelta(days=ago)).timestamp() * 1000)
        gone = {"path": said["path"], "deletionTimestamp": moment, "dataChange": True}
        log_of(place, 2 + 2 * nth).write_text(json.dumps({"remove": gone}))
        if nth < len(days) - 1:
            log_of(place, 3 + 2 * nth).write_text(json.dumps({"add": said}))
    file = place / said["path"]
    long_ago = (datetime.now(UTC) - timedelta(days=90)).timestamp()
    os.utime(file, (long_ago, long_ago))
    file.with_name(f".{file.name}.crc").touch()
    return file


def log_of(place: Path, version: int) -> Path:
    return place / "_delta_log" / f"{version:020}.json"


@pytest.mark.parametrize(
    ("kept", "days", "stays"),
    [
        ("interval 720 hours", (31,), False),
        ("interval 720 hours", (29,), True),
        ("interval 720 hours", (40, 1), True),
        ("interval 720 hours", (40, 35), False),
        ("365 days", (20,), True),
        ("interval 30 days 12 hours", (40,), True),
    ],
    ids=["removed long ago", "removed lately", "restored", "restored long ago", "kept as Spark says it", "kept for two units"],
)
def test_a_file_stays_as_long_as_the_history_promises(kept: str, days: tuple[int, ...], stays: bool, tmp_path: Path) -> None:
    """Counted from when it was removed last. Its checksum goes with it; what delta-rs does not understand is left to Spark."""
    place = tmp_path / "table"
    properties = {"delta.deletedFileRetentionDuration": kept}
    native.create(place, pa.schema([pa.field("a", pa.int64())]), {"a": "a number"}, "a row", properties)
    file = added_and_removed(place, *days)
    assert native.tidy(place) == (kept == "interval 720 hours")
    assert file.exists() == file.with_name(f".{file.name}.crc").exists() == stays


@pytest.mark.parametrize("name", ["C#", "what?", "my%20lake", "br[1]", "a|b", "a^b", r"a\b"])
def test_a_path_that_delta_rs_takes_for_another_is_sparks(name: str, tmp_path: Path) -> None:
    assert not native.reaches(tmp_path / name / "lake") and native.reaches(tmp_path / "ü 100% (1)" / "lake")
    (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to(tmp_path / name)
    assert not native.reaches(tmp_path / "link" / "lake")  # delta-rs goes where it leads


@pytest.mark.lakes
def test_a_lake_may_lie_where_delta_rs_would_look_elsewhere(spark: SparkSession, tmp_path: Path) -> None:
    with Lake.create(tmp_path / "C# [1] 50%25?", spark) as lake:
        lake.organization("o", start="2026-01-05T00:00:00Z")
        lake.store("A", "s", org="o")
        lake.round("2026-01-05T00:00:00Z")
        lake.maintain("2026-01-05T00:00:00Z")
        assert not lake._tables.is_native and lake._tables.snapshot().row.kind == "maintained"
        assert [line for line in lake.audit() if line["kind"] == "check" and line["rows"]] == []


def test_times_that_nanoseconds_do_not_reach_are_read(spark: SparkSession, tmp_path: Path) -> None:
    tables = Tables.create(spark, tmp_path / "lake")
    late = datetime(8000, 1, 1, tzinfo=UTC)
    row = rows_of("state", [{"org": "o", "store": "A", "folder": "A:1", "at": late}], ["round"])
    tables.save("state", tables.frame_of("state", row, 1), "append", {})
    found = tables.arrow("state")
    assert found is not None and found["at"].to_pylist() == [late]


def test_a_table_whose_columns_have_other_names_in_files_is_sparks(spark: SparkSession, tmp_path: Path) -> None:
    tables = Tables.create(spark, tmp_path / "lake")
    row = rows_of("state", [{"org": "o", "store": "A", "folder": "A:1"}], ["round"])
    tables.append("state", row, 1)
    told = "'delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5', 'delta.columnMapping.mode' = 'name'"
    spark.sql(f"ALTER TABLE {tables.name('state')} SET TBLPROPERTIES ({told})")
    assert tables.arrow("state") is None and tables.stored("state").count() == 1


def test_a_commit_stands_though_no_checkpoint_can_be_written(tmp_path: Path) -> None:
    """Else whoever is told that nothing counts says it again."""
    place = tmp_path / "table"
    properties = {"delta.checkpointInterval": "1"}
    native.create(place, pa.schema([pa.field("a", pa.int64())]), {"a": "a number"}, "a row", properties)
    native.append(place, pa.table({"a": [1]}), None)
    assert len([*place.glob("_delta_log/*.checkpoint.parquet")]) == 1
    (place / "_delta_log" / f"{2:020}.checkpoint.parquet").mkdir()
    native.append(place, pa.table({"a": [2]}), None)
    assert native.append_once(place, pa.table({"a": [3]}), "3", "app", 3)
    assert not native.append_once(place, pa.table({"a": [3]}), "3", "app", 3)
    assert sorted(deltalake.DeltaTable(place).to_pyarrow_table()["a"].to_pylist()) == [1, 2, 3]


THREADS = """
import os, sys
import pyarrow as pa
import pyarrow.compute as pc
from pathlib import Path
from pfspark.edge.delta import native

schema, place = pa.schema([("n", pa.int64())]), Path(sys.argv[1])
native.create(place, schema, {"n": "a number"}, "a number", {})
for n in range(3):
    native.append(place, pa.table({"n": [n]}, schema), None)
opened = native.dataset(place)
before = len(os.listdir("/proc/self/task"))
rows = native.rows(opened, schema)
few = native.rows(opened, schema, pc.field("n") > 1)
print(sorted(rows["n"].to_pylist()), few["n"].to_pylist(), len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted where Linux tells of them")
def test_small_files_are_read_by_the_thread_that_asks(tmp_path: Path) -> None:
    """A pool of Arrow's threads that misses a wake-up, as glibc before 2.41 lets it, leaves who asks waiting for ever."""
    said = subprocess.run([sys.executable, "-c", THREADS, str(tmp_path / "t")], capture_output=True, text=True, check=True)
    assert said.stdout == "[0, 1, 2] [2] 0\n"


@pytest.mark.parametrize("by_spark", [False, True])
def test_rows_are_kept_by_columns_that_are_not_asked_for(tables: Tables, by_spark: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """And by one that older files do not have: there it is null."""
    monkeypatch.setattr(native, "IS_HERE", not by_spark)
    rounds = [{"org": "o", "edit_id": name, "outcome": "refused", "at": AT, "reason": name[-1]} for name in ("ax", "by")]
    tables.append("receipts", rows_of("receipts", rounds, ("round",)), 5 + by_spark)
    monkeypatch.setattr(native, "IS_HERE", True)
    keep = (pc.field("round") == 5 + by_spark) & (pc.field("reason") == "y") & (pc.field("at") >= pa.scalar(AT))
    found = tables.arrow("receipts", keep=keep, columns=["edit_id"])
    assert found is not None and found.to_pylist() == [{"edit_id": "by"}]
    place = tables.here("receipts")
    assert place is not None
    opened, told = native.dataset(place), pa.schema([("edit_id", pa.string()), ("never", pa.int64())])
    assert opened is not None
    later = opened.replace_schema(opened.schema.append(pa.field("later", pa.int64())))
    unsaid = native.rows(later, told, keep & pc.field("later").is_null())
    assert unsaid is not None and unsaid.to_pylist() == [{"edit_id": "by", "never": None}]


def test_many_files_are_read_as_few_are(tmp_path: Path) -> None:
    """By several threads, each in its place; and of columns that a table does not have nothing can be said."""
    schema, place = pa.schema([("n", pa.int64())]), tmp_path / "t"
    native.create(place, schema, {"n": "a number"}, "a number", {})
    for n in range(native.FILES + 1):
        native.append(place, pa.table({"n": [n]}, schema), None)
    found = native.read(place, schema, keep=pc.field("n") >= 3)
    assert found is not None and sorted(found["n"].to_pylist()) == [*range(3, native.FILES + 1)]
    assert native.read(place, pa.schema([("other", pa.int64())])) is None


NUMBERS = pa.schema([("n", pa.int64())])


def numbers(place: Path, count: int) -> Path:
    """A table of so many numbers, each in a file of its own."""
    native.create(place, NUMBERS, {"n": "a number"}, "a number", {})
    for n in range(count):
        native.append(place, pa.table({"n": [n]}, NUMBERS), None)
    return place


def read_in(place: Path, version: int | None = None) -> list[int] | None:
    found = native.read(place, NUMBERS, version)
    return None if found is None else sorted(found["n"].to_pylist())


def test_of_a_table_that_was_read_only_what_came_since_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever wrote it, here or elsewhere; an earlier version is what it was, before and after."""
    place = numbers(tmp_path / "t", 2)
    opened = deltalake.DeltaTable
    anew: list[int | None] = []
    monkeypatch.setattr(deltalake, "DeltaTable", lambda at, version=None: anew.append(version) or opened(at, version=version))
    assert read_in(place) == [0, 1] and anew == []
    deltalake.write_deltalake(str(place), pa.table({"n": [2]}, NUMBERS), mode="append")
    anew.clear()
    assert read_in(place) == [0, 1, 2] and native.files(place) == 3 and anew == []
    assert read_in(place, 2) == [0, 1] and read_in(place, 3) == [0, 1, 2] and read_in(place, 1) == [0]
    assert read_in(place) == [0, 1, 2] and anew == [2, 1]
    assert read_in(place, 9) is None and read_in(place) == [0, 1, 2]


def test_a_table_that_was_put_in_the_place_of_another_is_read_anew(tmp_path: Path) -> None:
    """One that is made there again, and one that is taken back to what it was by copying its folder."""
    place = numbers(tmp_path / "t", 3)
    before = shutil.copytree(place, tmp_path / "before")
    native.append(place, pa.table({"n": [3]}, NUMBERS), None)
    assert read_in(place) == [0, 1, 2, 3]
    shutil.rmtree(place)
    shutil.copytree(before, place)
    assert read_in(place) == [0, 1, 2]
    native.append(place, pa.table({"n": [7]}, NUMBERS), None)
    assert read_in(place) == [0, 1, 2, 7]
    shutil.rmtree(place)
    assert read_in(place) is None
    numbers(place, 5)
    assert read_in(place) == [0, 1, 2, 3, 4]
    (place / "_delta_log" / f"{5:020}.json").unlink()
    assert read_in(place) == [0, 1, 2, 3]


def test_a_log_that_is_exchanged_while_it_is_read_is_not_taken_for_what_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, other = numbers(tmp_path / "t", 2), tmp_path / "other"
    native.create(other, NUMBERS, {"n": "a number"}, "a number", {})
    for n in (11, 12):
        native.append(other, pa.table({"n": [n]}, NUMBERS), None)
    for file in other.glob("*.parquet"):
        shutil.copy(file, place)
    read = native.in_file

    def exchange(path: Path | str, schema: pa.Schema) -> pa.Table:
        shutil.rmtree(place / "_delta_log", ignore_errors=True)
        shutil.copytree(other / "_delta_log", place / "_delta_log")
        return read(path, schema)

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(native, "in_file", exchange)
        assert read_in(place) == [0, 1]
    assert read_in(place) == [11, 12]
    native.append(place, pa.table({"n": [13]}, NUMBERS), None)
    assert read_in(place) == [11, 12, 13]


def test_of_many_tables_the_logs_of_some_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "KEPT", 2)
    places = [numbers(tmp_path / str(count), count) for count in range(4)]
    assert [read_in(place) for place in places] == [[*range(count)] for count in range(4)]
    assert len(opening._known) == 2 and places[3] in opening._known


def test_threads_read_a_table_while_others_write_it(tmp_path: Path) -> None:
    """Each a version of it, whole: no number without those before it."""
    place = numbers(tmp_path / "t", 1)

    def read_all(_: int) -> list[list[int] | None]:
        return [read_in(place) for _ in range(20)]

    with ThreadPoolExecutor(4) as threads:
        reading = [threads.submit(read_all, reader) for reader in range(3)]
        for n in range(1, 20):
            native.append(place, pa.table({"n": [n]}, NUMBERS), None)
        seen = [found for each in reading for found in each.result()]
    assert all(found is not None and found == [*range(len(found))] and found for found in seen)
    assert read_in(place) == [*range(20)]
