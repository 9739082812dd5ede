"""What there is for a session: one that is given, or a Java, Spark, and Delta's jars, fetched when they are first needed."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from pfspark.errors import SparkStartError

# Spark 4.2 starts its Java with `--add-modules=jdk.incubator.vector` and runs on Java 17 or newer.
OLDEST_JAVA = 17
VECTOR = "jdk.incubator.vector"
INSTALL_JAVA = f"Install a full OpenJDK {OLDEST_JAVA} or newer and put it on PATH, or name it by JAVA_HOME."
INSTALL_SPARK = "Install it with the extra `local`: pip install 'pfspark[local]'."

# Ivy gives up sooner on a place that refuses; this is for one that does not answer.
FETCH_SECONDS = 300


class Java(NamedTuple):
    """A Java that Spark can run on."""

    path: Path
    release: int

    def __str__(self) -> str:
        return f"{self.release} ({self.path})"


def find_java() -> Java:
    """The Java that Spark will run, checked beforehand: Spark's own failure would show no more than an exit code."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None)
    if java is None:
        place = f"{home}/bin (JAVA_HOME)" if home else "PATH"
        raise SparkStartError(f"No `java` in {place}, and Spark runs on Java. {INSTALL_JAVA}")
    listed = subprocess.run([java, "--list-modules"], capture_output=True, text=True)
    release = re.search(r"^java\.base@(\d+)", listed.stdout, re.MULTILINE)
    if release is None or int(release[1]) < OLDEST_JAVA:
        seen = (
            f"Java {release[1]}" if release else f"a Java older than 9, or none ({last_lines(listed.stdout + listed.stderr, 1)})"
        )
        raise SparkStartError(f"{java} is {seen}; Spark needs {OLDEST_JAVA} or newer. {INSTALL_JAVA}")
    if not re.search(rf"^{re.escape(VECTOR)}@", listed.stdout, re.MULTILINE):
        raise SparkStartError(f"{java} lacks the module {VECTOR}, which Spark asks for. {INSTALL_JAVA}")
    return Java(Path(java), int(release[1]))


def jar_files() -> list[Path]:
    """Where Delta's two jars are kept, there or not: in PFSPARK_JARS, else in the user's cache folder."""
    spark, delta = installed("pyspark"), installed("delta-spark")
    folder = Path(os.environ.get("PFSPARK_JARS") or cache_folder() / f"jars-{delta}").absolute()
    # From 4.1 on the name says for which Spark it was built.
    built_for = "" if delta.startswith("4.0.") else "_" + ".".join(spark.split(".")[:2])
    return [folder / f"delta-spark{built_for}_2.13-{delta}.jar", folder / f"delta-storage-{delta}.jar"]


def cache_folder() -> Path:
    """Where pfspark keeps for this user what it can make or fetch again, there or not."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "pfspark"


def delta_jars(java: Path) -> list[Path]:
    """Delta's two jars, fetched when they are first needed; after that no session asks the network.

    Ivy, which Spark ships, fetches them one by one and without what their poms ask for beside them: that is either in
    Spark or not used. It asks its own default places, or those of the Ivy settings file PFSPARK_IVY_SETTINGS.
    """
    jars = jar_files()
    for jar in jars:
        if not jar.is_file():
            _fetch(jar, java)
    return jars


def class_archive(java: Java) -> Path:
    """Where the classes that sessions load are kept for that Java and the Spark here, there or not: beside Delta's jars."""
    told = f"{java.path.resolve()} {spark_home().resolve()}"
    return jar_files()[0].parent / f"classes-{hashlib.sha256(told.encode()).hexdigest()[:12]}.jsa"


def installed(package: str) -> str:
    """The version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        raise SparkStartError(f"The Python package {package} is not installed here. {INSTALL_SPARK}") from None


def spark_home() -> Path:
    """The folder of the Spark that will be started: SPARK_HOME if set, else the one inside the package pyspark."""
    import pyspark

    home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    if not any(home.glob(f"jars/spark-core_*-{pyspark.__version__}.jar")):
        raise SparkStartError(
            f"SPARK_HOME={home} is not a Spark {pyspark.__version__}, which the package pyspark here needs. "
            "Unset SPARK_HOME, or install the pyspark of that Spark."
        )
    return home


def _fetch(jar: Path, java: Path) -> None:
    module, revision = jar.stem.rsplit("-", 1)
    ivy = next(spark_home().glob("jars/ivy-*.jar"))
    mirror = os.environ.get("PFSPARK_IVY_SETTINGS")
    try:
        jar.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=jar.parent) as place:
            asked = [str(java), "-cp", str(ivy), "org.apache.ivy.Main", "-warn"]
            asked += ["-settings", mirror] if mirror else []
            asked += ["-cache", place, "-confs", "default", "-types", "jar", "-notransitive"]
            asked += ["-dependency", "io.delta", module, revision, "-retrieve", f"{place}/[artifact]-[revision].[ext]"]
            done = subprocess.run(asked, capture_output=True, text=True, timeout=FETCH_SECONDS)
            if done.returncode:
                raise OSError(last_lines(done.stdout + done.stderr))
            os.replace(Path(place) / jar.name, jar)  # whole or not at all, whoever else fetches it now
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SparkStartError(
            f"{jar.name} could not be fetched. Behind a mirror, name an Ivy settings file by PFSPARK_IVY_SETTINGS; "
            f"offline, put the file into {jar.parent} (another folder: PFSPARK_JARS). What was said:\n{error}"
        ) from error


def last_lines(said: str, count: int = 8) -> str:
    """The end of what a Java process said, without the frames of its traces."""
    lines = [line.strip() for line in said.splitlines() if line.strip(" .:") and not line.lstrip().startswith("at ")]
    return "\n".join(lines[-count:])
