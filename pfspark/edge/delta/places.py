"""Where a lake is: a folder of this machine, a path of another file system, or a schema of a catalog."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pfspark.edge.delta import sql
from pfspark.edge.spark.files import files_are_local
from pfspark.edge.spark.given import GIVEN
from pfspark.edge.spark.quietly import quietly
from pfspark.edge.spark.temporary import is_in_ours
from pfspark.errors import LakeError

REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
PART = re.compile(r"`((?:[^`]|``)+)`|([^./\\:`]+)")
SCHEMA = re.compile(rf"(?:{PART.pattern})(?:\.(?:{PART.pattern}))+")
"""A catalog, and the schema in it: two names, or more where schemas lie in each other. Who likes may quote them as SQL does."""
SPARKS_OWN = "spark_catalog"
"""The catalog that every session has."""


def path_of(named: str) -> str:
    """A path without `file:`, and without what stands at its end for nothing."""
    return re.sub(r"^file:(//(?=/))?", "", named).rstrip("/") or "/"


def parts_of(schema: str) -> list[str]:
    """The names that a schema's name is made of.

    >>> parts_of("main.`my.lake`")
    ['main', 'my.lake']
    """
    return [quoted.replace("``", "`") or plain for quoted, plain in PART.findall(schema)]


def local_folder(where: str | os.PathLike[str]) -> Path | None:
    """The folder of this machine that is named, as far as can be said without Spark: not where a schema, or another file
    system, may be meant."""
    named = os.fspath(where)
    path = path_of(named)
    configured = {"HADOOP_CONF_DIR", "DATABRICKS_RUNTIME_VERSION"} & os.environ.keys()
    if named.startswith("file:") or (Path(path).exists() and not configured):
        return Path(path).absolute()
    other = REMOTE.match(path) or SCHEMA.fullmatch(path) or configured
    session = SparkSession.getActiveSession()
    return None if other or (session and not files_are_local(session)) else Path(path).absolute()


def surely_local(named: str) -> Path | None:
    """The folder of this machine that is named, where nothing hints at another file system that Spark might take it for."""
    hints = {*GIVEN, "HADOOP_CONF_DIR", "SPARK_CONF_DIR"} & os.environ.keys()
    defaults = Path(os.environ.get("SPARK_HOME", "/nowhere")) / "conf" / "spark-defaults.conf"
    path = path_of(named)
    hinted = hints or defaults.exists() or REMOTE.match(path) or (SCHEMA.fullmatch(path) and not Path(path).exists())
    return Path(path).absolute() if named.startswith("file:") or not (hinted or SparkSession.getActiveSession()) else None


def placed(named: str, session: Callable[[], SparkSession]) -> tuple[Path | None, list[str] | None]:
    """The folder of this machine that is named, or the parts of the schema; neither: a path of another file system.

    The session is asked where the name may be either.
    """
    path = path_of(named)
    if named.startswith("file:"):
        return Path(path).absolute(), None
    if SCHEMA.fullmatch(path) and not Path(path).exists() and is_catalog(session(), path):
        return None, parts_of(path)
    is_local = not REMOTE.match(path) and files_are_local(session())
    return (Path(path).absolute() if is_local else None), None


def is_catalog(spark: SparkSession, schema: str) -> bool:
    """Whether the first part of that name is a catalog of the session."""
    name = parts_of(schema)[0]
    if name.casefold() in {catalog.name.casefold() for catalog in spark.catalog.listCatalogs()}:
        return True
    with contextlib.suppress(PySparkException):  # not every session lets its settings be read
        return spark.conf.get(f"spark.sql.catalog.{name}", None) is not None  # one that nobody has used yet is not listed
    return False


def expect_lasting(named: str, session: Callable[[], SparkSession]) -> None:
    """Raises LakeError where a schema is named whose tables would lie in a temporary folder of this process: they end with it,
    whatever its catalog remembers."""
    path = path_of(named)
    if Path(path).exists() or not SCHEMA.fullmatch(path) or parts_of(path)[0].casefold() != SPARKS_OWN:
        return
    spark = session()
    place = spark.conf.get("spark.sql.warehouse.dir") or ""
    with contextlib.suppress(PySparkException), quietly():  # it is to be made
        described = spark.sql(f"DESCRIBE SCHEMA {sql.named(*parts_of(path))}").collect()
        place = {row["info_name"]: row["info_value"] for row in described}.get("Location", place)
    if is_in_ours(place):
        raise LakeError(
            f"{path} would lie in a temporary folder of the Spark that this command has started, and be gone with it. Name a "
            "folder; a lake in a catalog needs a Spark that somebody else starts (SPARK_REMOTE, spark-submit, Databricks)."
        )
