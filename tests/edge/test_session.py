"""The session as a user meets it: tuned, quiet, and refused in words where it cannot start."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pfspark.cli import ends
from pfspark.edge import session
from pfspark.edge.spark import installed, temporary, tuned
from pfspark.errors import SparkStartError
from pfspark.lake import Lake
from pfspark.rows import IN_ONE_PART, local, struct
from tests.edge.processes import DELTA, environment, kill, python, talking, with_delta


def java_that(says: str, folder: Path) -> Path:
    """A Java home whose `java` does nothing but run a line of shell."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\n{says}\n")
    java.chmod(0o755)
    return folder


@pytest.fixture
def folder_of_jars(spark: SparkSession) -> Path:
    """Delta's two jars, present because a session has been opened."""
    return installed.jar_files()[0].parent


def test_a_session_is_tuned_and_keeps_to_itself(spark: SparkSession) -> None:
    expected = {
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.cache.maxEntries": "5000",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
    }
    assert {name: spark.conf.get(name) for name in expected} == expected


def test_nobody_from_elsewhere_can_connect(spark: SparkSession) -> None:
    """Every socket on which Java listens is on loopback; none is that of Spark's UI."""
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    java = Path("/proc") / str(gateway.proc.pid)
    own = {os.readlink(each) for each in (java / "fd").iterdir() if each.is_symlink()}
    rows = [line.split() for name in ("tcp", "tcp6") for line in (java / "net" / name).read_text().splitlines()[1:]]
    listening = {row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in own}
    assert listening
    loopback = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
    assert {address.split(":")[0] for address in listening} <= loopback
    assert not {int(address.split(":")[1], 16) for address in listening} & set(range(4040, 4056))


def test_merge_and_time_travel_work_on_a_delta_table(spark: SparkSession, tmp_path: Path) -> None:
    table = f"delta.`{tmp_path}`"
    spark.range(3).write.format("delta").save(str(tmp_path))
    spark.sql(
        f"MERGE INTO {table} AS old USING (SELECT id FROM range(2, 5)) AS new ON old.id = new.id "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *"
    )
    now = spark.sql(f"SELECT id FROM {table} ORDER BY id").collect()
    before = spark.sql(f"SELECT id FROM {table} VERSION AS OF 0 ORDER BY id").collect()
    assert [row.id for row in now] == [0, 1, 3, 4]
    assert [row.id for row in before] == [0, 1, 2]


def test_columns_are_asked_for_once(spark: SparkSession) -> None:
    """The column of a name and a list of such are values; what is made of them is made anew."""
    assert F.col("id")._jc is F.col("id")._jc is not F.col("Id")._jc
    frame = spark.range(2).select("id", (F.col("id") + 1).alias("next"))
    assert frame._jcols("id", "next") is frame._jcols(["id", "next"]) is not frame._jcols("next", "id")
    assert frame._jcols("id") is not frame._jseq(["id"])
    assert (F.col("id") + 1)._jc is not (F.col("id") + 1)._jc
    assert [tuple(row) for row in frame.select("next", "id").orderBy("id").collect()] == [(1, 0), (2, 1)]
    assert [tuple(row) for row in frame.join(frame, ["id"]).select("id").orderBy("id").collect()] == [(0,), (1,)]


@pytest.mark.parametrize(("rows", "exchanges"), [(0, 0), (1, 0), (IN_ONE_PART, 0), (IN_ONE_PART + 1, 1)])
def test_what_groups_few_rows_needs_no_stage_before(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], rows: int, exchanges: int
) -> None:
    table = pa.table({"id": pa.array(range(rows), pa.int64())})
    grouped = local(spark, table, struct("id bigint")).groupBy("id").count()
    grouped.explain()
    assert capsys.readouterr().out.count("Exchange") == exchanges
    assert grouped.count() == rows


def test_a_session_for_little_has_one_for_much_beside_it(spark: SparkSession) -> None:
    """Always the same, and itself as it was; one that somebody has set otherwise is taken as it is."""

    def seen(one: SparkSession) -> dict[str, str | None]:
        return {name: one.conf.get(name) for name in tuned.FOR_MUCH}

    assert tuned.for_rows(spark, tuned.MANY - 1) is spark
    much = tuned.for_rows(spark, tuned.MANY)
    assert (seen(spark), seen(much)) == (tuned.FOR_LITTLE, tuned.FOR_MUCH)
    assert much.conf.get("spark.sql.session.timeZone") == "UTC"
    assert tuned.for_rows(spark, 2 * tuned.MANY) is much
    try:
        spark.conf.set("spark.sql.codegen.factoryMode", "CODEGEN_ONLY")
        assert tuned.for_rows(spark, tuned.MANY) is spark
    finally:
        spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")


def test_rules_that_are_left_out_are_there(spark: SparkSession) -> None:
    """Of a name that no rule has, nothing is heard."""
    assert spark._jvm is not None
    for rule in tuned.UNPAID:
        spark._jvm.java.lang.Class.forName(f"org.apache.spark.sql.{rule}$")  # raises where there is none
    plan = spark.range(3).where("id > 1 and true")._jdf.queryExecution().optimizedPlan().toString()
    assert " AND true" in plan, "they are left out"


def test_statements_of_delta_do_what_they_say_without_them(spark: SparkSession, tmp_path: Path) -> None:
    """With deletion vectors, which are made by plans of objects."""
    table = f"delta.`{tmp_path / 'table'}`"

    def rows() -> list[tuple[int, str]]:
        return sorted((row["id"], row["said"]) for row in spark.table(table).collect())

    numbers = spark.range(8).selectExpr("id", "'old' AS said").coalesce(1)
    numbers.write.format("delta").option("delta.enableDeletionVectors", "true").save(str(tmp_path / "table"))
    spark.sql(f"DELETE FROM {table} WHERE id % 4 = 0")
    spark.sql(f"UPDATE {table} SET said = 'new' WHERE id IN (1, 2)")
    spark.sql(
        f"MERGE INTO {table} AS ours USING (SELECT id FROM RANGE(5, 10)) AS theirs ON ours.id = theirs.id "
        "WHEN MATCHED AND theirs.id > 6 THEN UPDATE SET said = 'met' WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED THEN INSERT (id, said) VALUES (theirs.id, 'theirs')"
    )
    expected = [(1, "new"), (2, "new"), (3, "old"), (7, "met"), (8, "theirs"), (9, "theirs")]
    assert rows() == expected
    for tidying in ("OPTIMIZE {} ZORDER BY (id)", "REORG TABLE {} APPLY (PURGE)", "VACUUM {}"):
        spark.sql(tidying.format(table))
        assert rows() == expected
    spark.sql(f"RESTORE TABLE {table} TO VERSION AS OF 1")
    assert rows() == [(each, "old") for each in (1, 2, 3, 5, 6, 7)]


def test_an_open_session_is_taken_again(spark: SparkSession) -> None:
    assert session.open_session(small=False, memory="1g", app="another") is spark
    assert spark.conf.get("spark.app.name") == "pfspark"


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("spark.sql.session.timeZone", "Europe/Paris"),
        ("spark.sql.timestampType", "TIMESTAMP_NTZ"),
        ("spark.sql.execution.arrow.useLargeVarTypes", "true"),
    ],
)
def test_a_session_is_fit_whenever_it_is_used(spark: SparkSession, tmp_path: Path, name: str, other: str) -> None:
    """Nights, digests, columns of tables and Java's reading go by what it is set to: as it is given, and in every round."""
    before = spark.conf.get(name)
    with Lake.create(tmp_path / "lake", spark) as lake:
        lake.organization(profile="modern", start="2026-01-05T00:00:00Z")
        lake.store("PFS1", "X")
        spark.conf.set(name, other)
        try:
            for use in (session.open_session, lambda: Lake.create(tmp_path / "other", spark), lambda: lake.run(until_quiet=True)):
                with pytest.raises(SparkStartError, match=f"has {name} set to {other}, expected {before}: "):
                    use()
            assert {each.name for each in tmp_path.iterdir()} == {"lake"}
        finally:
            spark.conf.set(name, before)
        lake.run(until_quiet=True)
        assert lake.status()["round"] is not None


def test_nothing_is_heard_of_spark(tmp_path: Path) -> None:
    """Start, write, read, a Python worker, failing jobs, a stop, a second start, a Java that is killed: only the program's own
    words. What Java writes is as the umask says, and a Java that has ended is known to have."""
    script = """
import logging, os
os.umask(0o027)
logging.getLogger().addHandler(logging.NullHandler())  # as cli does: py4j logs a call that Java did not live to answer
from pfspark.cli import ends
from pfspark.edge.session import java_has_ended, open_session
from pyspark.errors import PySparkException
from pyspark.sql.functions import col
spark = open_session(memory="1g", app="quiet")
spark.range(3).write.format("delta").save("table")
print(spark.read.format("delta").load("table").mapInArrow(lambda batches: batches, "id long").count())
for failing in (spark.sql("SELECT cast('x' AS int)"), spark.range(1).select(col("id") / 0)):
    try:
        failing.collect()
    except PySparkException as error:
        print(error.getCondition())
print(spark.conf.get("spark.driver.memory"), spark.conf.get("spark.app.name"))
spark.range(1).write.format("delta").saveAsTable("named")
spark.stop()
table = open_session().read.format("delta").load("table")
print(table.count(), java_has_ended())
spark.sparkContext._gateway.proc.kill()
try:
    table.count()
except Exception as error:
    print(java_has_ended(), ends.known(error))
"""
    done = python(script, cwd=tmp_path)
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.split("\n") == [
        "3", "CAST_INVALID_INPUT", "DIVIDE_BY_ZERO", "1g quiet", "3 False", f"True {ends.JAVA_HAS_ENDED}", "",
    ]  # fmt: skip
    assert os.listdir(tmp_path) == ["table"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.rglob("*") if file.is_file()} == {0o640}


def test_a_java_that_has_no_memory_left_ends(tmp_path: Path) -> None:
    """Else the job whose result finds no room waits for ever. How much it has is said in the environment."""
    script = """
import logging
logging.getLogger().addHandler(logging.NullHandler())
from pfspark.cli import ends
from pfspark.edge.session import open_session
spark = open_session()
print(spark.conf.get("spark.driver.memory"))
try:
    spark._jvm.java.util.ArrayList(500_000_000)  # in any of its threads: as the result of a task in the one that takes it
except Exception as error:
    print(ends.known(error))
"""
    done = python(script, cwd=tmp_path, PFSPARK_MEMORY="700m")
    assert (done.stdout.splitlines(), done.stderr) == (["700m", ends.JAVA_HAS_ENDED], "")
    with pytest.raises(SparkStartError, match=r"found a heap of '4 GB', expected one as Java writes it, such as 4g"):
        session._heap("4 GB")


def test_where_spark_is_given_nothing_is_set(tmp_path: Path, folder_of_jars: Path) -> None:
    """A session that somebody else's settings make: refused where its parser knows no Delta, and else taken untouched."""
    script = """
import sys
from pyspark.sql import SparkSession
from pfspark.edge.session import open_session
from pfspark.errors import SparkStartError
try:
    open_session(app="ignored")
except SparkStartError as error:
    print(f"refused: {error}")
there = SparkSession.getActiveSession()
said = there._jvm.java.lang.System.setProperty
there.stop()
for pair in sys.argv[1:]:
    said(*pair.split("="))
spark = open_session(app="ignored")
print(spark.conf.get("spark.app.name"), spark.conf.get("spark.sql.shuffle.partitions"), spark.conf.get("spark.master"))
"""
    theirs = "--master local[1] --name theirs --conf spark.ui.enabled=false --conf spark.sql.session.timeZone=UTC"
    given = {"DATABRICKS_RUNTIME_VERSION": "18.0", "SPARK_LOCAL_IP": "127.0.0.1"}
    later = [f"{name}={value}" for name, value in DELTA.items()]
    submitted = f"{theirs} {' '.join(with_delta({}))} pyspark-shell"
    done = python(script, *later, cwd=tmp_path, **given, PYSPARK_SUBMIT_ARGS=submitted)
    assert done.returncode == 0, done.stderr
    refused, taken = done.stdout.splitlines()
    assert refused.startswith("refused: The session found here does not know Delta (PARSE_SYNTAX_ERROR).")
    assert taken == "theirs 200 local[1]"


def test_what_java_says_when_it_does_not_start_is_told(tmp_path: Path) -> None:
    script = """
from pfspark.edge.session import open_session
from pfspark.errors import SparkStartError
try:
    open_session(memory="9999999t")
except SparkStartError as error:
    print(error)
"""
    done = python(script, cwd=tmp_path)
    assert done.stdout.startswith("Spark did not start. Its last words:\n")
    assert "Could not reserve enough space" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        ("echo java.base@11.0.2; echo jdk.incubator.vector@11.0.2", "is Java 11; Spark needs 17 or newer"),
        ("echo 'Unrecognized option: --list-modules' >&2; exit 1", "older than 9, or none (Unrecognized option"),
        ("echo 'Properties init: no working directory.'; exit 1", "older than 9, or none (Properties init: no working directory"),
        ("echo java.base@21.0.1; echo java.sql@21.0.1", "lacks the module jdk.incubator.vector"),
    ],
)
def test_a_java_that_does_not_fit_is_refused(says: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_that(says, tmp_path)))
    with pytest.raises(SparkStartError) as refusal:
        installed.find_java()
    assert expected in str(refusal.value)
    assert str(refusal.value).endswith("or name it by JAVA_HOME.")


def test_a_java_that_fits_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = java_that("echo java.base@21.0.1; echo jdk.incubator.vector@21.0.1", tmp_path)
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert installed.find_java() == (home / "bin" / "java", 21)


def test_no_java_at_all_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SparkStartError, match=r"No `java` in .*bin \(JAVA_HOME\)"):
        installed.find_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SparkStartError, match="No `java` in PATH"):
        installed.find_java()


def test_another_spark_home_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.12-3.5.1.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with pytest.raises(SparkStartError, match=r"is not a Spark .* Unset SPARK_HOME"):
        installed.spark_home()


def mirror_of(folder: Path, settings: Path) -> None:
    """An Ivy settings file that knows one place, a folder."""
    pattern = f"{folder}/[artifact]-[revision].[ext]"
    settings.write_text(
        f'<ivysettings><settings defaultResolver="here"/><resolvers><filesystem name="here">'
        f'<artifact pattern="{pattern}"/></filesystem></resolvers></ivysettings>'
    )


def test_the_jars_come_from_the_mirror_that_is_named(
    folder_of_jars: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror_of(folder_of_jars, tmp_path / "ivy.xml")
    monkeypatch.setenv("PFSPARK_IVY_SETTINGS", str(tmp_path / "ivy.xml"))
    monkeypatch.setenv("PFSPARK_JARS", str(tmp_path / "jars"))
    fetched = installed.delta_jars(installed.find_java().path)
    assert sorted(os.listdir(tmp_path / "jars")) == sorted(jar.name for jar in fetched)
    assert [jar.read_bytes() for jar in fetched] == [(folder_of_jars / jar.name).read_bytes() for jar in fetched]


def test_jars_that_are_there_are_not_fetched(folder_of_jars: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for jar in installed.jar_files():
        shutil.copy(jar, tmp_path)
    monkeypatch.setenv("PFSPARK_JARS", str(tmp_path))
    assert installed.delta_jars(Path("no java here")) == installed.jar_files()


@pytest.mark.parametrize(
    ("spark", "delta", "jar"),
    [
        ("4.2.0", "4.4.0", "delta-spark_4.2_2.13-4.4.0.jar"),
        ("4.1.0", "4.1.0", "delta-spark_4.1_2.13-4.1.0.jar"),
        ("4.0.1", "4.0.1", "delta-spark_2.13-4.0.1.jar"),
    ],
)
def test_the_jar_is_the_one_for_this_spark(spark: str, delta: str, jar: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed, "installed", {"pyspark": spark, "delta-spark": delta}.__getitem__)
    assert [each.name for each in installed.jar_files()] == [jar, f"delta-storage-{delta}.jar"]


def test_jars_that_cannot_be_had_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mirror_of(tmp_path / "empty", tmp_path / "ivy.xml")
    monkeypatch.setenv("PFSPARK_IVY_SETTINGS", str(tmp_path / "ivy.xml"))
    monkeypatch.setenv("PFSPARK_JARS", str(tmp_path / "jars"))
    with pytest.raises(SparkStartError) as refusal:
        installed.delta_jars(installed.find_java().path)
    assert "delta-spark_4.2_2.13-4.4.0.jar could not be fetched" in str(refusal.value)
    assert f"put the file into {tmp_path / 'jars'}" in str(refusal.value)
    assert "io.delta#delta-spark_4.2_2.13;4.4.0: not found" in str(refusal.value)
    assert os.listdir(tmp_path / "jars") == []


def test_a_package_that_is_absent_is_told() -> None:
    with pytest.raises(SparkStartError, match=r"no-such-package is not installed here\. .*'pfspark\[local\]'"):
        installed.installed("no-such-package")


OWNER = """
import sys
from pfspark.edge.spark import temporary
print(temporary.own_folder(), flush=True)
sys.stdin.readline()
"""


def test_what_a_killed_process_left_is_swept_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the next start; what is in use, and what nobody of us has made, stays."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    others = [tmp_path / "pfspark-of-somebody", tmp_path / "else"]
    for place in others:
        place.mkdir()
    children = [talking(OWNER), talking(OWNER)]
    killed, alive = (Path(child.stdout.readline().strip()) for child in children if child.stdout)
    assert killed.parent == alive.parent == tmp_path
    try:
        temporary.sweep()
        assert set(tmp_path.iterdir()) == {*others, killed, alive}
        kill(children[0])
        assert killed.is_dir()
        temporary.sweep()
        assert set(tmp_path.iterdir()) == {*others, alive}
        children[1].communicate("go\n", timeout=60)
        assert set(tmp_path.iterdir()) == set(others)  # who ends by himself takes his folder away
    finally:
        for child in children:
            kill(child)


def test_who_is_interrupted_while_java_starts_leaves_none(tmp_path: Path) -> None:
    """By a Ctrl-C as soon as Spark begins in it: Java had found nobody to tell where it listens, and stayed for ever."""
    began = [sys.executable, "-c", "from pfspark.edge.session import open_session; open_session()"]
    with subprocess.Popen(began, env=environment(TMPDIR=str(tmp_path)), stderr=subprocess.PIPE, text=True) as child:
        java = next(pid for _ in iter(int, 1) if (pid := _java_of(child.pid)))
        time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        assert child.stderr is not None and "KeyboardInterrupt" in child.stderr.read()
    ends = time.monotonic() + 20
    while Path(f"/proc/{java}").exists() and time.monotonic() < ends:
        time.sleep(0.1)
    left = Path(f"/proc/{java}").exists()
    if left:
        os.kill(java, signal.SIGKILL)
    assert not left


def _java_of(pid: int) -> int | None:
    """The Java that a process has begun, once it is no longer the script that begins it."""
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with contextlib.suppress(OSError):
            if b"SparkSubmit" in Path(f"/proc/{child}/cmdline").read_bytes():
                return int(child)
    return None


def test_who_tidies_temporary_files_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session whose folder is gone, or another's, can do nothing more."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(temporary, "_OURS", [])
    place = temporary.own_folder()
    assert temporary.are_there()
    shutil.rmtree(place)
    assert not temporary.are_there()
    place.mkdir()
    (place / temporary.OWNED).touch()
    assert not temporary.are_there()


def test_where_nothing_may_be_kept_rows_are_computed_at_each_use(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Serverless compute refuses to keep a frame."""
    frame = spark.range(3)
    with tuned.computed_once(frame) as kept:
        assert kept.is_cached and kept.count() == 3
    assert not frame.is_cached

    def refused(frame: object) -> object:
        raise PySparkException("[NOT_SUPPORTED_WITH_SERVERLESS] PERSIST TABLE is not supported on serverless compute.")

    monkeypatch.setattr(type(frame), "persist", refused)
    with tuned.computed_once(frame) as kept:
        assert kept is frame and kept.count() == 3
