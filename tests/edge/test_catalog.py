"""A lake in a schema of a catalog: what is said and done there is what is said and done in a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from pyspark.errors import PySparkException

from pfspark import cli
from pfspark.between import Between
from pfspark.edge.delta import making, places, sql
from pfspark.edge.delta import tables as delta_tables
from pfspark.edge.delta.ledger import FACTS, Row
from pfspark.edge.delta.snapshot import Snapshot
from pfspark.edge.delta.tables import Tables
from pfspark.edge.keeping.agreement import disagreements
from pfspark.edge.world import bases_by_spark, carried, scratch
from pfspark.edge.world.facts import world
from pfspark.errors import DamageError, LakeError
from pfspark.lake import Lake
from pfspark.materializer import Materializer
from pfspark.rows import rows_of
from pfspark.words import Kind
from tests.edge import mailbox
from tests.edge.lakes import without_history

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "spark_catalog.`order`"
"""A name that SQL reads as another word."""
MONDAY = "2026-01-05T0"
START = datetime(2026, 1, 5, tzinfo=UTC)
MINUTES = count(35, 5)
"""When the next round is played."""
STORY = f"""
init --profile modern --start {MONDAY}0:00:00Z
store add PFS1 --site Redmond
store add PFS2 --site Paris
link Redmond Paris --delay 7m
folder create /Sales --store PFS1 --replicas PFS1,PFS2 --now {MONDAY}0:00:00Z
import IN --store PFS1 --folder /Sales --now {MONDAY}0:01:00Z
run --until {MONDAY}0:30:00Z
post --store PFS1 --folder /Sales --name after --text hello --now {MONDAY}0:31:00Z
round --now {MONDAY}0:35:00Z
gaps --json
why --all --json
modify after --text better --store PFS1 --folder /Sales --now {MONDAY}0:36:00Z
run --until {MONDAY}1:00:00Z
state --json
state --json --as-of 5
items --store PFS2 --folder /Sales
diff 5 --json
show
maintain
audit --json
export OUT --store PFS2 --folder /Sales
"""


@pytest.fixture
def schema(spark: SparkSession) -> Iterator[str]:
    spark.sql(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
    yield SCHEMA
    spark.sql(f"DROP SCHEMA {SCHEMA} CASCADE")


@pytest.mark.lakes
def test_what_is_said_and_done_in_a_catalog_is_as_in_a_folder(
    schema: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def said_by(where: str, out: str, words: list[str]) -> str:
        assert cli.run([*words, "--lake", where]) == 0, words
        said = capsys.readouterr().out.replace(where, "the lake").replace(out, "OUT")
        return re.sub(r"\b([0-9a-f]{32}|[0-9a-f]{64})\b", "…", said)  # what is drawn, or hangs on it

    letters = [each.raw for each in mailbox.letters(3)]
    mailbox.write_mbox(tmp_path / "in.mbox", letters)
    said = {}
    for where in (schema, str(tmp_path / "lake")):
        out = tmp_path / f"{len(said)}.mbox"
        words = {"IN": str(tmp_path / "in.mbox"), "OUT": str(out)}
        asked = [[words.get(word, word) for word in line.split()] for line in STORY.strip().splitlines()]
        said[where] = [said_by(where, str(out), line) for line in asked]
        said[where].append(out.read_text())
    for line, *both in zip([*STORY.strip().splitlines(), "the mails"], *said.values(), strict=True):
        assert both[0] == both[1], line


@pytest.mark.parametrize(
    ("named", "parts", "quoted"),
    [
        ("main.replication", ["main", "replication"], "`main`.`replication`"),
        ("main.eu.my-lake", ["main", "eu", "my-lake"], "`main`.`eu`.`my-lake`"),
        ("main.`my.lake`", ["main", "my.lake"], "`main`.`my.lake`"),
        ("`ma``in`.x", ["ma`in", "x"], "`ma``in`.`x`"),
    ],
)
def test_a_schema_is_named_as_sql_names_it(named: str, parts: list[str], quoted: str) -> None:
    assert places.SCHEMA.fullmatch(named)
    assert places.parts_of(named) == parts
    assert sql.named(*parts) == quoted


@pytest.mark.parametrize("named", ["lake", "./a.b", "a/b.c", "s3://a.b", "main.", "`main`", "a.`b"])
def test_what_is_no_name_of_a_schema(named: str) -> None:
    assert not places.SCHEMA.fullmatch(named)


# --- what is left for whoever comes next ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def played(spark: SparkSession) -> Iterator[str]:
    """A lake in a schema, in which a replica lacks what is on its way."""
    where = "spark_catalog.left_behind"
    with Lake.create(where, spark) as lake:
        lake.organization(profile="modern", start=START)
        for store in ("PFS1", "PFS2"):
            lake.store(store, site="Redmond")
        lake.folder_create("PFS1", "/Sales", replicas=["PFS1", "PFS2"], at=START)
        lake.round(now=START)
        lake.post("PFS1", "/Sales", name="one", body=b"text", at=START + timedelta(minutes=31))
    yield where
    spark.sql(f"DROP SCHEMA {where} CASCADE")


@pytest.fixture
def left(played: str, spark: SparkSession) -> str:
    """The same lake, left by who has played a round in it; where the world lies there already, none is played."""
    if not is_at_hand(played, spark):
        with Lake.open(played, spark) as lake:
            play_on(lake)
    return played


def play_on(lake: Lake) -> None:
    """A round in which there is something to do."""
    at = START + timedelta(minutes=next(MINUTES))
    lake.post("PFS1", "/Sales", name="one more", body=b"text", at=at)
    assert lake.round(now=at).round is not None


def is_at_hand(where: str, spark: SparkSession) -> bool:
    return Lake.open(where, spark)._runner.at_hand() is not None


@pytest.mark.in_turn("catalogs")
def test_who_comes_next_goes_on_from_the_base(left: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is what the facts say from the first on; so is what is played from it, and left again."""

    def read(_snapshot: Snapshot, _materializer: Materializer) -> Between:
        raise AssertionError("the facts are read")

    with monkeypatch.context() as patch:
        patch.setattr(carried, "world_between", read)
        with Lake.open(left, spark) as lake:
            there = lake._runner.world().tables
            assert there["changes"].num_rows and there["state"].num_rows
            assert not disagreements(spark, there, world(lake._tables.snapshot()))
            play_on(lake)
        with Lake.open(left, spark) as lake:
            assert not disagreements(spark, lake._runner.world().tables, world(lake._tables.snapshot()))


@pytest.mark.in_turn("catalogs")
def test_what_does_not_count(left: str, spark: SparkSession) -> None:
    """Where nobody can read it, another pfspark has left it, or another round came after it, the facts are read; who only reads
    leaves none in its place."""
    base = f"{left}.base"
    [[version]] = spark.sql(f"DESCRIBE HISTORY {base} LIMIT 1").select("version").collect()
    for name, rows in (("state", "X'00'"), ("base.json", "encode(replace(decode(rows, 'utf-8'), 'format', 'other'), 'utf-8')")):
        assert is_at_hand(left, spark)
        spark.sql(f"UPDATE {base} SET rows = {rows} WHERE name = '{name}'")
        assert not is_at_hand(left, spark), name
        spark.sql(f"RESTORE TABLE {base} TO VERSION AS OF {version}")
    assert is_at_hand(left, spark)
    lake = Lake.open(left, spark)
    play_on(lake)
    lake._runner.close()  # as if it had been killed
    with Lake.open(left, spark) as lake:
        assert lake._runner.at_hand() is None
        assert not disagreements(spark, lake._runner.world().tables, world(lake._tables.snapshot()))
    assert not is_at_hand(left, spark)


@pytest.mark.in_turn("catalogs")
def test_what_others_have_cleared_away_is_read_where_it_is(
    left: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long after the last round its files may be gone, though nothing was played: their rows are in others."""
    with Lake.open(left, spark) as lake:
        play_on(lake)
        told = {name: lake.table(name).count() for name in FACTS}
    bases_by_spark.drop(Tables.open(spark, left))
    for name in FACTS:
        without_history(spark, lake, name)
    with Lake.open(left, spark) as lake, pytest.raises(DamageError, match=r"its file .*\.parquet is gone"):
        [*lake.lines("state")]
    monkeypatch.setattr(delta_tables, "FILES_STAY", timedelta(0))
    with Lake.open(left, spark) as lake:
        assert {name: lake.table(name).count() for name in FACTS} == told
        play_on(lake)
    monkeypatch.undo()
    with Lake.open(left, spark) as lake:
        assert [*lake.lines("state")]


def test_upkeep_removes_those_that_are_old(left: str, spark: SparkSession) -> None:
    """Each that is left stands in the place of the one before, whose files stay as long as its history is kept."""
    tables = Tables.open(spark, left)
    spark.sql(f"UPDATE {left}.base SET digest = digest")  # the same in another file
    place = Path(urlsplit(spark.sql(f"DESCRIBE DETAIL {left}.base").head()["location"]).path)
    files = {*place.glob("*.parquet")}
    young, old = (copy_of(max(files), name, age) for name, age in (("young", timedelta(0)), ("old", timedelta(days=365))))
    before = tables.version(bases_by_spark.NAME)
    bases_by_spark.tidy(tables)
    assert len(files) > 1 and {*place.glob("*.parquet")} == {*files, young}, f"{old.name} went, and nothing else"
    done = spark.sql(f"DESCRIBE HISTORY {left}.base").where(f"version > {before}").select("operation").collect()
    assert {each["operation"] for each in done} >= {"VACUUM START", "VACUUM END"}
    assert is_at_hand(left, spark)
    spark.sql(f"DROP TABLE {left}.base")
    bases_by_spark.tidy(tables)


def copy_of(file: Path, name: str, age: timedelta) -> Path:
    """Rows that no version of the table has any more, so old."""
    copy = file.with_name(f"{name}.parquet")
    copy.write_bytes(file.read_bytes())
    written = (datetime.now(UTC) - age).timestamp()
    os.utime(copy, (written, written))
    return copy


def test_what_the_killed_have_left_goes_with_upkeep(played: str, begun: Path, spark: SparkSession) -> None:
    """A schema may hold more than the lake: what has another name stays."""
    for name in (f"{scratch.PREFIX}of_one_who_was_killed", "pfsparkxscratchxtheirs"):
        spark.sql(f"CREATE TABLE {played}.{name} USING delta AS SELECT 1 AS n")
    tables = Tables.open(spark, played)
    scratch.sweep(tables)
    assert tables.others("pfspark") == ["pfsparkxscratchxtheirs"]
    scratch.sweep(Tables.open(spark, begun))  # a folder has none


@pytest.mark.in_turn("catalogs")
def test_a_table_of_that_name_that_others_have_stays(left: str, spark: SparkSession) -> None:
    """A schema may hold more than the lake."""
    base = f"{left}.base"
    spark.sql(f"DROP TABLE IF EXISTS {base}")
    spark.sql(f"CREATE TABLE {base} USING delta AS SELECT 'theirs' AS name, 7 AS digest")
    with Lake.open(left, spark) as lake:
        play_on(lake)
    assert not is_at_hand(left, spark)
    tables = Tables.open(spark, left)
    bases_by_spark.tidy(tables)
    bases_by_spark.drop(tables)
    assert [tuple(row) for row in spark.table(base).collect()] == [("theirs", 7)]
    assert tables.version(bases_by_spark.NAME) == 0
    spark.sql(f"DROP TABLE {base}")


def test_what_a_catalog_refuses_is_told_by_its_cause(spark: SparkSession, tmp_path: Path) -> None:
    """Not by what is not there in consequence."""
    with pytest.raises(LakeError, match=r"the schema spark_catalog\.a\.b cannot be made: .*REQUIRES_SINGLE_PART_NAMESPACE"):
        Lake.create("spark_catalog.a.b", spark)
    spark.sql(f"CREATE SCHEMA spark_catalog.taken LOCATION '{tmp_path}'")
    try:
        (tmp_path / "stores").mkdir()
        (tmp_path / "stores" / "theirs").write_text("x")
        with pytest.raises(LakeError, match=r"`stores` of spark_catalog\.taken could not be written: .*not empty"):
            making.create(Tables(spark, "spark_catalog.taken"), "stores", timedelta(days=30))
    finally:
        spark.sql("DROP SCHEMA spark_catalog.taken CASCADE")


def test_a_table_of_the_past_that_cannot_be_read_is_told_by_its_cause(schema: str, spark: SparkSession) -> None:
    """A version that its history does not have any more, what cannot be read as of a version, and what is not there."""
    spark.sql(f"CREATE SCHEMA {schema}")
    tables = Tables(spark, schema)
    making.create(tables, "stores", timedelta(days=30))
    row = Row(round=3, kind=Kind.PLAYED, writer="w", began=START, ended=START, versions={}, cursors={})
    then = Snapshot(tables, row, frozenset(), people={"stores": 7})
    with pytest.raises(LakeError, match=r"Round 3 of .* can no longer be read: the history of its table `stores` does not"):
        then.read("stores")
    name = tables.name("stores")
    spark.sql(f"DROP TABLE {name}")
    spark.sql(f"CREATE TABLE {name} USING parquet AS SELECT 'PFS1' AS store")
    with pytest.raises(LakeError, match=r"`stores` of .* cannot be read: .*TIME_TRAVEL.*\. Set that right and ask again"):
        then.read("stores")
    spark.sql(f"DROP TABLE {name}")
    with pytest.raises(DamageError, match=r"`stores` of .* cannot be read: its file _delta_log is gone or torn"):
        then.read("stores")


def test_upkeep_goes_on_where_somebody_posts_meanwhile(schema: str, spark: SparkSession) -> None:
    """Delta lets who deletes be overtaken by who appends; and nothing that was posted goes."""
    spark.sql(f"CREATE SCHEMA {schema}")
    tables = Tables(spark, schema)
    making.create(tables, "content", timedelta(days=30))
    body = {"body": b"x", "size": 1, "at": START - timedelta(days=30)}
    tables.append("content", rows_of("content", [{"hash": "old", **body}]))
    said, posted = tables._changed, []

    def overtaken(name: str, statement: Callable[[], Any]) -> Any:
        def at_once() -> Any:
            if len(posted) < 2:
                posted.append(f"new {len(posted)}")
                tables.append("content", rows_of("content", [{"hash": posted[-1], **body}]))
                raise PySparkException("[DELTA_CONCURRENT_APPEND] Files were added by a concurrent update.")
            return statement()

        return said(name, at_once)

    tables._changed = overtaken  # type: ignore[method-assign]
    assert tables.delete_these("content", spark.createDataFrame([("old",)], "hash string"), f"content.at < '{START}'") == 1
    assert sorted(row["hash"] for row in tables.stored("content").collect()) == posted == ["new 0", "new 1"]


def test_where_nobody_may_make_a_table_none_is_left(
    schema: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """And nothing is said of it: reading takes longer, and that is all."""
    saved = Tables.save

    def refused(tables: Tables, name: str, *rest: Any) -> None:
        if name == bases_by_spark.NAME:
            raise LakeError("PERMISSION_DENIED: User does not have CREATE TABLE on Schema")
        saved(tables, name, *rest)

    monkeypatch.setattr(Tables, "save", refused)
    with Lake.create(schema, spark) as lake:
        lake.organization(profile="modern", start=START)
        lake.store("PFS1", site="Redmond")
        lake.round(now=START)
    with Lake.open(schema, spark) as lake:
        assert lake._runner.at_hand() is None and lake._runner.world().tables["replicas"].num_rows == 1
    assert capfd.readouterr().err == ""
