"""What pfspark needs of the machine it runs on, looked at piece by piece."""

from __future__ import annotations

import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pfspark.cli import archive
from pfspark.edge import session
from pfspark.edge.spark import installed, temporary, tuned
from pfspark.edge.spark.given import given_by
from pfspark.errors import LakeError, PfsparkError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Check:
    """One thing looked at: fine, not fine (then `todo` says what helps), or with no verdict (`ok` is None)."""

    name: str
    ok: bool | None
    saw: str
    todo: str = ""


def checks(lake: str | None = None, *, prepare: bool = False) -> Iterator[Check]:
    """Every check in the order in which trouble shows, each made when it is asked for; the session stays open.

    `prepare`: the archive of classes, with which sessions start sooner, is made anew.
    """
    yield Check("Python", True, f"{platform.python_version()} ({sys.executable})")
    given = given_by()
    if given:
        yield Check("Spark", None, f"given here ({given} is set): pfspark starts none")
    else:
        yield _look("Spark", _spark)
        yield _look("Java", lambda: str(installed.find_java()))
        yield _jars()
        yield _maven_folder()
        yield _look("class archive", _make_archive) if prepare else _archive()

    opened: list[SparkSession] = []
    yield _look("session", lambda: _open(opened))
    if not opened:
        yield Check("Delta", None, "not tried, there is no session")
    elif given:
        yield Check("Delta", None, "not tried with a table: where one may be written here is not known")
    else:
        yield _look("Delta", lambda: _write_and_read(opened[0]))
    if lake and opened:
        yield _look("lake", lambda: _open_lake(opened[0], lake))


def _look(name: str, seen: Callable[[], str]) -> Check:
    """The check that passes unless `seen` raises; an error's first sentence says what was seen, the rest what to do."""
    try:
        return Check(name, True, seen())
    except PfsparkError as error:
        saw, _, todo = str(error).partition(". ")
        return Check(name, False, saw, todo)
    except Exception as error:  # whatever Spark, Java or the disk may raise: a doctor tells it and goes on
        says = str(error).splitlines() or ["it does not say why"]
        return Check(name, False, f"{type(error).__name__}: {says[0]}", "See the message.")


def _spark() -> str:
    versions = f"pyspark {installed.installed('pyspark')}, delta-spark {installed.installed('delta-spark')}"
    return f"{versions} ({installed.spark_home()})"


def _jars() -> Check:
    try:
        jars = installed.jar_files()
    except PfsparkError as error:
        return Check("Delta's jars", None, str(error))
    absent = [jar.name for jar in jars if not jar.is_file()]
    if absent:
        return Check("Delta's jars", None, f"not in {jars[0].parent}: {', '.join(absent)}; a session fetches them")
    return Check("Delta's jars", True, str(jars[0].parent))


def _archive() -> Check:
    try:
        kept = installed.class_archive(installed.find_java())
    except PfsparkError as error:
        return Check("class archive", None, str(error))
    if not kept.is_file():
        return Check("class archive", None, "none yet: `pfspark doctor --prepare` makes one, and Spark starts sooner")
    return Check("class archive", True, str(kept))


def _make_archive() -> str:
    began = time.monotonic()
    kept = archive.make()
    return f"{kept} made in {time.monotonic() - began:.0f} s, {kept.stat().st_size >> 20} MB"


def _maven_folder() -> Check:
    """Poms without jars: pfspark does not look there, but `spark-submit --packages` does, and fails by them."""
    delta = Path.home() / ".m2" / "repository" / "io" / "delta"
    bare = [pom for pom in sorted(delta.glob("*/*/*.pom")) if not pom.with_suffix(".jar").is_file()]
    if bare:
        todo = "pfspark does not mind; should `spark-submit --packages` report failed downloads, remove that folder."
        return Check("local Maven folder", None, f"a pom without its jar: {bare[0].parent}", todo)
    return Check("local Maven folder", True, "no pom of Delta's without its jar")


def _open(opened: list[SparkSession]) -> str:
    began = time.monotonic()
    opened.append(session.open_session())
    return f"Spark {opened[0].version} after {time.monotonic() - began:.1f} s, {tuned.tuning(opened[0])}"


def _write_and_read(spark: SparkSession) -> str:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=temporary.own_folder()) as folder:
        spark.range(3).write.format("delta").save(folder)
        read = [row.id for row in spark.read.format("delta").load(folder).orderBy("id").collect()]
    if read != [0, 1, 2]:
        raise LakeError(f"A table written as 0, 1, 2 was read back as {read}. Do not trust this machine with a lake.")
    return f"a table written and read in {time.monotonic() - began:.1f} s"


def _open_lake(spark: SparkSession, lake: str) -> str:
    from pfspark.edge.delta.tables import Tables

    return f"{lake}, last round {Tables.open(spark, lake).snapshot().row.round}"
