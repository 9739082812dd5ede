"""What the doctor says of a machine that is well, and of each thing that is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pfspark.cli import doctor
from pfspark.cli.doctor import Check
from pfspark.edge.spark import installed, tuned


def by_name(lake: str | None = None) -> dict[str, Check]:
    return {check.name: check for check in doctor.checks(lake)}


def test_a_machine_that_is_well(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PFSPARK_JARS", str(installed.jar_files()[0].parent))
    monkeypatch.setenv("HOME", str(tmp_path))  # whatever the local Maven folder of this machine holds
    seen = list(doctor.checks())
    assert [check.name for check in seen] == [
        "Python", "Spark", "Java", "Delta's jars", "local Maven folder", "class archive", "session", "Delta",
    ]  # fmt: skip
    assert [check for check in seen if check.name != "class archive" and (not check.ok or check.todo)] == []
    assert seen[1].saw.startswith("pyspark 4.2.0, delta-spark 4.4.0")


def test_for_how_much_a_session_is_set_is_told(spark: SparkSession) -> None:
    """One of our own for little, and one that is set otherwise as it was found."""
    assert tuned.tuning(spark) == "set for rounds of few rows, from 30,000 on for many"
    assert tuned.tuning(tuned.for_rows(spark, tuned.MANY)) == "set as it was found"


def test_a_lake_is_known_by_its_rounds(begun: Path, spark: SparkSession, tmp_path: Path) -> None:
    assert by_name(str(begun))["lake"] == Check("lake", True, f"{begun}, last round 1")
    elsewhere = by_name(str(begun / "rounds"))["lake"]
    assert elsewhere.ok is False
    assert elsewhere.saw.endswith("rounds is not a lake: it has no ledger")
    assert elsewhere.todo == "Make one with `pfspark init`."
    assert by_name("spark_catalog.no_schema")["lake"].saw == "spark_catalog.no_schema is not a lake: it has no ledger"


def test_poms_without_jars_are_seen(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pom = tmp_path / ".m2/repository/io/delta/delta-storage/4.4.0/delta-storage-4.4.0.pom"
    pom.parent.mkdir(parents=True)
    pom.touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    assert by_name()["local Maven folder"].saw == f"a pom without its jar: {pom.parent}"
    pom.with_suffix(".jar").touch()
    assert by_name()["local Maven folder"].ok is True


def test_absent_jars_are_no_fault(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PFSPARK_JARS", str(tmp_path))
    seen = by_name()["Delta's jars"]
    assert seen.ok is None
    assert "delta-storage-4.4.0.jar" in seen.saw


def test_what_ails_java_is_told_and_the_rest_is_still_looked_at(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    seen = by_name()
    assert seen["Java"].ok is False
    assert seen["Java"].saw == f"No `java` in {tmp_path}/bin (JAVA_HOME), and Spark runs on Java"
    assert seen["Java"].todo.startswith("Install a full OpenJDK 17 or newer")
    assert seen["Delta"].ok is True


def test_without_a_session_the_rest_is_not_tried(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        seen = by_name("anywhere")
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert seen["session"].ok is False
    assert seen["Delta"] == Check("Delta", None, "not tried, there is no session")
    assert "lake" not in seen


def test_a_given_spark_is_not_examined(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "18.0")
    seen = by_name()
    assert list(seen) == ["Python", "Spark", "session", "Delta"]
    assert (seen["Spark"].ok, seen["session"].ok, seen["Delta"].ok) == (None, True, None)


def test_an_error_that_says_nothing_is_told_by_its_name() -> None:
    def silent() -> str:
        raise TimeoutError

    assert doctor._look("Spark", silent) == Check("Spark", False, "TimeoutError: it does not say why", "See the message.")
