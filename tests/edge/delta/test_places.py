"""Where a lake may lie, how its making is taken up again, and what a write that fails leaves behind."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pfspark.cli import given
from pfspark.edge import session
from pfspark.edge.delta import making, places
from pfspark.edge.delta.beside import APPEND_LOCK, WRITER_LOCK
from pfspark.edge.delta.tables import Tables
from pfspark.edge.delta.writer import Writer
from pfspark.errors import DamageError, LakeError, NoLakeError, OtherWriterError
from pfspark.lake import Lake
from pfspark.rows import rows_of
from tests.edge.lakes import small_disk


def empty_log(place: Path, spark: SparkSession) -> None:
    (place / "agenda" / "_delta_log").mkdir(parents=True)


def half_a_commit(place: Path, spark: SparkSession) -> None:
    empty_log(place, spark)
    log = place / "agenda" / "_delta_log"
    (log / f".{0:020}.json.4f1d.tmp").write_text('{"commitInfo"')
    (log / f"..{0:020}.json.4f1d.tmp.crc").write_bytes(b"crc")
    (log / f"{0:020}.json").touch()


def some_tables(place: Path, spark: SparkSession) -> None:
    half_a_commit(place, spark)
    unfinished = Tables(spark, place)
    for name in ("rounds", "changes"):
        making.create(unfinished, name, timedelta(days=30))
    (place / "rounds" / "part-00000-4f1d.snappy.parquet").write_bytes(b"a row that never came")


@pytest.mark.parametrize("begun", [empty_log, half_a_commit, some_tables])
def test_a_making_that_was_cut_short_is_made_whole(
    begun: Callable[[Path, SparkSession], None], spark: SparkSession, tmp_path: Path, run: Callable[..., str]
) -> None:
    place = tmp_path / "lake"
    begun(place, spark)
    run("init", "--lake", str(place), told="has the organization main")
    assert Tables.open(spark, place).snapshot().row.round == 1


def test_a_lake_whose_first_organization_is_missing_gets_it(
    spark: SparkSession, copied: Callable[[str], Path], run: Callable[..., str]
) -> None:
    place = copied("lake")
    shutil.rmtree(place / "organizations")
    making.create(Tables(spark, place), "organizations", timedelta(days=30))
    run("init", "--lake", str(place), told="has the organization main")
    run("init", "--lake", str(place), code=2, told="has an organization 'main' already")


def test_what_holds_rows_is_no_beginning(spark: SparkSession, copied: Callable[[str], Path], run: Callable[..., str]) -> None:
    """A lake that has lost its ledger is damaged: nothing of it is touched."""
    place = copied("lake")
    shutil.rmtree(place / "rounds" / "_delta_log")
    before = sorted(place.rglob("*"))
    run("init", "--lake", str(place), code=1, told="`rounds` of ")
    with pytest.raises(DamageError, match="_delta_log is gone or torn"):
        Tables.open(spark, place)
    assert sorted(place.rglob("*")) == before


def test_a_folder_may_be_named_like_a_schema(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Tables(spark, "mail.lake").folder == tmp_path / "mail.lake"
    for name in ("spark_catalog.lake", "Spark_Catalog.lake"):  # Spark knows it in any case
        assert Tables(spark, name).folder is None


def test_no_lake_is_made_that_ends_with_the_command(
    spark: SparkSession, tmp_path: Path, run: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no session is given, the catalog's tables would lie in the temporary folder of the one that a command starts."""
    monkeypatch.setattr(session, "is_given", lambda: False)
    monkeypatch.setattr(given, "started", lambda where: spark)
    run("init", "--lake", "spark_catalog.brief", code=1, told="would lie in a temporary folder")
    assert "brief" not in [each.name for each in spark.catalog.listDatabases()]
    spark.sql(f"CREATE SCHEMA spark_catalog.lasting LOCATION '{tmp_path}/lasting.db'")
    try:
        places.expect_lasting("spark_catalog.lasting", lambda: spark)
    finally:
        spark.sql("DROP SCHEMA spark_catalog.lasting CASCADE")


def test_a_path_of_another_file_system_is_not_the_folder_that_is_here_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
    assert places.local_folder(tmp_path) is None
    assert places.local_folder(f"file:{tmp_path}") == tmp_path
    monkeypatch.delenv("HADOOP_CONF_DIR")
    assert places.local_folder(tmp_path) == tmp_path


def test_where_the_file_system_cannot_be_reached_nothing_is_torn(spark: SparkSession) -> None:
    """Nor is there no lake, and none is made."""
    for use in (Lake.open, Lake.create):
        with pytest.raises(LakeError, match=r"cannot be read: .*nosuchfs.*\. Set that right and ask again") as told:
            use("nosuchfs://bucket/lake", spark)
        assert not isinstance(told.value, DamageError | NoLakeError)


def test_one_name_is_one_place_for_python_and_for_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Also where paths without a scheme are those of another file system."""
    for name in (f"file:{tmp_path}/a", f"file://{tmp_path}/a/", f"{tmp_path}/a"):
        assert Tables(spark, name).folder == tmp_path / "a"
    hadoop = spark._jsc.hadoopConfiguration()
    before = hadoop.get("fs.defaultFS")
    hadoop.set("fs.defaultFS", "hdfs://nowhere.invalid:8020")
    try:
        assert Tables(spark, f"{tmp_path}/a").folder is None
        local = Tables(spark, f"file:{tmp_path}/a")
        making.create(local, "agenda", timedelta(days=30))
        assert local.stored("agenda").count() == 0
    finally:
        hadoop.set("fs.defaultFS", before)
    assert (tmp_path / "a" / "agenda" / "_delta_log" / f"{0:020}.json").is_file()
    assert local.version("agenda") == 0


@pytest.mark.parametrize(
    ("number", "error", "told"),
    [
        (errno.EWOULDBLOCK, OtherWriterError, "Another writer plays rounds"),
        (errno.EACCES, OtherWriterError, "Another writer plays rounds"),
        (errno.ENOLCK, LakeError, "No file can be locked in .*: No locks available"),
        (errno.EOPNOTSUPP, LakeError, "No file can be locked in .*: Operation not supported"),
    ],
    ids=["EWOULDBLOCK", "EACCES", "ENOLCK", "EOPNOTSUPP"],
)
def test_a_disk_without_locks_is_told_from_another_writer(
    number: int, error: type[LakeError], told: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(file: object, how: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(error, match=told):
        Writer(tables := Tables(spark, tmp_path), tables.snapshot)
    assert {file.name for file in tmp_path.iterdir()} <= {WRITER_LOCK, APPEND_LOCK}


def test_an_append_that_fails_leaves_nothing_behind(copied: Callable[[str], Path], spark: SparkSession, tmp_path: Path) -> None:
    """Many bodies on a disk that is too small for them: what had been written is gone again."""
    begun = copied("begun")
    size = sum(file.stat().st_blocks * 512 for file in begun.rglob("*") if file.is_file())
    with small_disk(tmp_path / "disk", size + 6 * 2**20) as disk:
        lake = Lake.open(shutil.copytree(begun, disk / "lake"), spark)
        left = os.statvfs(disk).f_bavail
        before = sorted((disk / "lake").rglob("*"))
        bodies = ({"hash": str(nth), "body": os.urandom(2**20), "size": 2**20} for nth in range(16))
        parts = lake._tables.frame_of("content", rows_of("content", bodies), None).repartition(4)
        with pytest.raises(LakeError, match=r"No space left on device.*MB written so far are removed; free more than that"):
            lake._tables.append("content", parts)
        assert sorted((disk / "lake").rglob("*")) in (before, [*before[:1], disk / "lake" / APPEND_LOCK, *before[1:]])
        assert os.statvfs(disk).f_bavail >= left - 2
        lake.post("PFS1", "/Sales", b"small", name="small")
