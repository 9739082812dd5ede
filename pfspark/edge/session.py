"""The Spark session: started tuned, quiet and on loopback, or taken as it is found.

On a cluster, under `spark-submit`, with Spark Connect or where a session is already active, nothing is set: that
session is taken if it knows Delta and tells times in UTC. Anywhere else one is started in this machine's Java.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pfspark.edge import lookups
from pfspark.edge.without_pandas import take_pandas_in
from pfspark.errors import SparkStartError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Each says that somebody else starts Spark: a Databricks cluster, spark-submit, the user of a Spark Connect server.
GIVEN = ("DATABRICKS_RUNTIME_VERSION", "PYSPARK_GATEWAY_PORT", "SPARK_REMOTE")

# Spark 4.2 starts its Java with `--add-modules=jdk.incubator.vector` and runs on Java 17 or newer.
OLDEST_JAVA = 17
VECTOR = "jdk.incubator.vector"
INSTALL_JAVA = f"Install a full OpenJDK {OLDEST_JAVA} or newer and put it on PATH, or name it by JAVA_HOME."
INSTALL_SPARK = "Install it with the extra `local`: pip install 'pfspark[local]'."

# Ivy gives up sooner on a place that refuses; this is for one that does not answer.
FETCH_SECONDS = 300

# What a session without Delta's jars or extension says to a statement of Delta's.
WITHOUT_DELTA = ("PARSE_SYNTAX_ERROR", "DELTA_CONFIGURE_SPARK_SESSION_WITH_EXTENSION_AND_CATALOG")

FOR_LITTLE = {
    # Compiling a plan costs more than it saves on a thousand rows: a round takes a third less without.
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",  # it nearly doubles the jobs of a small round
    "spark.sql.leafNodeDefaultParallelism": "1",  # a second task costs more than it saves
    "spark.sql.shuffle.partitions": "2",
}
CORES = str(os.cpu_count() or 2)
FOR_MUCH = {
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.leafNodeDefaultParallelism": CORES,
    "spark.sql.shuffle.partitions": CORES,
}
"""Spark's defaults for the same, and as many parts as there are cores."""
MANY = 30_000
"""Rows from which on the defaults are quicker. Where a whole round was set to them, one of 10,000 edits took 7.5 s without them
and 8.1 s with them, one of 30,000 7.2 and 5.9, one of 100,000 16 and 9.7; for a step by itself it was not measured."""

CHECKPOINTS = "org.apache.spark.sql.execution.streaming.checkpointing"
UTC_ZONES = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")


TEMPORARY, OWNED = "pfspark-", "owned"
"""How our temporary folders begin, and the file in each that its process keeps locked as long as it lives."""


class Java(NamedTuple):
    """A Java that Spark can run on."""

    path: Path
    release: int

    def __str__(self) -> str:
        return f"{self.release} ({self.path})"


def open_session(
    *,
    small: bool = True,
    lasting: bool = False,
    memory: str = "2g",
    app: str = "pfspark",
    archive_into: Path | None = None,
) -> SparkSession:
    """The session to work in: the one that is given here, else a new one.

    `small` tunes a new session for little data (some organizations, thousands of rows): few partitions, quick start,
    no adaptive planning. `lasting`: such a one that will work for minutes on end; its Java optimizes what it does often,
    so the first minute is slower, and all after the second quicker by a quarter. `memory` is the heap of a new session's
    Java, as Java writes it ("2g"). `archive_into`: the file into which that Java, when it ends, writes the classes it
    had loaded (`edge/archive.py`).

    Raises SparkStartError, which says what was seen and what to do.
    """
    take_pandas_in()
    if any(name in os.environ for name in GIVEN) or _session_is_active():
        return _given_session()
    spark_home()
    java = find_java()
    jars = delta_jars(java.path)
    sweep()
    place = own_folder()
    settings = _settings(place, jars, small=small, lasting=lasting, memory=memory, app=app)
    archive = class_archive(java)
    if archive_into or archive.is_file():
        classes = f"ArchiveClassesAtExit={archive_into}" if archive_into else f"SharedArchiveFile={archive}"
        settings["spark.driver.extraJavaOptions"] += f' "-XX:{classes}"'
    return _start(settings, place / "java.log")


@contextlib.contextmanager
def computed_once(frame: DataFrame) -> Iterator[DataFrame]:
    """That frame, computed once while it is used; where nothing may be kept (serverless), at each use: the same rows."""
    from pyspark.errors import PySparkException

    try:
        kept = frame.persist()
    except PySparkException:
        yield frame
        return
    try:
        yield kept
    finally:
        kept.unpersist()


def for_rows(spark: SparkSession, rows: int) -> SparkSession:
    """The session for a plan through which so many rows go: from `MANY` on one beside that which was started for little data,
    that compiles its plans. Where the session is not one of these it stays the same.
    """
    return _for_much(spark) if rows >= MANY and _is_for_little(spark) else spark


def computed(frame: DataFrame) -> DataFrame | None:
    """That frame, its rows computed and left on the disks of the executors; one that is lost takes the round with it, which then
    does not count. None: nothing may be kept there (serverless), or it cannot be computed, as who asks for its rows will see.

    A million rows are read from memory no sooner; and two million end a Java of 2 GB there, which on disk they do not.
    """
    from pyspark import StorageLevel
    from pyspark.errors import PySparkException

    try:
        return frame.localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)
    except PySparkException:
        return None


@cache
def _for_much(spark: SparkSession) -> SparkSession:
    """Another session of the same Java."""
    session = spark.newSession()
    for name, value in FOR_MUCH.items():
        session.conf.set(name, value)
    return session


def tuning(spark: SparkSession) -> str:
    """For how much data a session is set, in words."""
    return f"set for rounds of few rows, from {MANY:,} on for many" if _is_for_little(spark) else "set as it was found"


def _is_for_little(spark: SparkSession) -> bool:
    from pyspark.errors import PySparkException

    with contextlib.suppress(PySparkException):  # not every session lets its settings be read
        return spark.conf.get("spark.sql.codegen.factoryMode", None) == FOR_LITTLE["spark.sql.codegen.factoryMode"]
    return False


def files_are_local(spark: SparkSession) -> bool:
    """Whether Spark takes a path without a scheme for one of this machine (`fs.defaultFS`).

    Where only Java could say it and cannot be asked, as through Spark Connect, it is taken for local, but on Databricks.
    """
    from pyspark.errors import PySparkException

    found = None
    with contextlib.suppress(PySparkException):  # not every session lets its settings be read
        found = spark.conf.get("spark.hadoop.fs.defaultFS", None)
    if found is None and (java := getattr(spark, "_jsc", None)) is not None:
        found = java.hadoopConfiguration().get("fs.defaultFS")
    if found is None and "DATABRICKS_RUNTIME_VERSION" in os.environ:
        found = "dbfs:/"
    return (found or "file:").startswith("file:")


def executors_are_here(spark: SparkSession) -> bool:
    """Whether the executors are threads of a Java of this machine, and read its files."""
    if getattr(spark, "_jsc", None) is None:  # through Spark Connect
        return False
    return re.fullmatch(r"local(\[.*\])?", spark.sparkContext.master or "") is not None


def own_folder() -> Path:
    """A new temporary folder, gone when this process ends; of one that is killed, the next start sweeps it away."""
    place = Path(tempfile.mkdtemp(prefix=TEMPORARY))
    # The lock is not let go before the process ends, and is there before anybody can look for it.
    lock = os.open(place / "new", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.rename(place / "new", place / OWNED)
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place


def sweep() -> None:
    """Removes the temporary folders of processes of this user that were killed: nobody holds their locks any more."""
    for place in Path(tempfile.gettempdir()).glob(f"{TEMPORARY}*"):
        # What is another's, gone meanwhile, or still owned stays.
        with contextlib.suppress(OSError), open(place / OWNED, "r+b") as lock:
            if os.fstat(lock.fileno()).st_uid == os.getuid():
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(place, ignore_errors=True)


def end(spark: SparkSession) -> None:
    """Ends a session of our own, and waits until its Java has ended too."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    spark.stop()
    assert gateway is not None
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()


def java_lives() -> bool:
    """Whether the Java of a session that was started here still runs."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    return gateway is not None and gateway.proc.poll() is None


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
        seen = f"Java {release[1]}" if release else f"a Java older than 9, or none ({_last_lines(listed.stderr, 1)})"
        raise SparkStartError(f"{java} is {seen}; Spark needs {OLDEST_JAVA} or newer. {INSTALL_JAVA}")
    if not re.search(rf"^{re.escape(VECTOR)}@", listed.stdout, re.MULTILINE):
        raise SparkStartError(f"{java} lacks the module {VECTOR}, which Spark asks for. {INSTALL_JAVA}")
    return Java(Path(java), int(release[1]))


def jar_files() -> list[Path]:
    """Where Delta's two jars are kept, there or not: in PFSPARK_JARS, else in the user's cache folder."""
    spark, delta = installed("pyspark"), installed("delta-spark")
    folder = Path(os.environ.get("PFSPARK_JARS") or cache_folder() / f"jars-{delta}").absolute()
    built_for = ".".join(spark.split(".")[:2])
    return [folder / f"delta-spark_{built_for}_2.13-{delta}.jar", folder / f"delta-storage-{delta}.jar"]


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


def _session_is_active() -> bool:
    installed("pyspark")
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    # A session is active per thread; the context shows one that another thread started.
    return SparkSession.getActiveSession() is not None or SparkContext._active_spark_context is not None


def _given_session() -> SparkSession:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    zone = spark.conf.get("spark.sql.session.timeZone")
    if zone not in UTC_ZONES:
        raise SparkStartError(
            f"The session found here tells times in {zone}, and days here begin in UTC. "
            "Say spark.conf.set('spark.sql.session.timeZone', 'UTC') first."
        )
    try:
        spark.sql("OPTIMIZE delta.`/there is no such table`")  # a statement that only Delta knows, and always refuses
    except PySparkException as error:
        if error.getCondition() in WITHOUT_DELTA:
            raise SparkStartError(
                f"The session found here does not know Delta ({error.getCondition()}). Start it with Delta's jars, "
                "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension and "
                "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog, "
                "or stop it and let pfspark start its own."
            ) from error
    return spark


def _settings(place: Path, jars: list[Path], *, small: bool, lasting: bool, memory: str, app: str) -> dict[str, str]:
    """The settings of a session of our own, each measured on small organizations; its files go below `place`."""
    quiet = (Path(__file__).parent / "log4j2.properties").as_uri()
    # Of the many alike classes that Spark writes for its plans, the default room holds too few.
    java_options = f"-Dlog4j2.configurationFile={quiet} -Duser.timezone=UTC -XX:ReservedCodeCacheSize=512m"
    settings = {
        "spark.app.name": app,
        "spark.databricks.delta.snapshotPartitions": "1",  # a snapshot is rebuilt after each append
        # The defaults start a process for each file of a commit to ask whether it is a link, sixteen an append. Those
        # for local files do not; that no two commit at a time, which neither sees to, `Tables` and `Writer` do for a lake.
        "spark.delta.logStore.file.impl": "io.delta.storage.LocalLogStore",
        "spark.hadoop.spark.sql.streaming.checkpointFileManagerClass": f"{CHECKPOINTS}.FileSystemBasedCheckpointFileManager",
        "spark.driver.bindAddress": "127.0.0.1",
        # Not as `spark.jars`, for these are loaded by a loader of Spark's own, and Java archives no classes of others'.
        "spark.driver.extraClassPath": os.pathsep.join(map(str, jars)),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": memory,
        "spark.local.dir": str(place),
        "spark.master": "local[*]",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.codegen.cache.maxEntries": "5000",  # 100 entries, the default, thrash within one round
        # A larger table is handed over once, not written into every plan that reads it, nor sent row by row to every task.
        "spark.sql.execution.arrow.localRelationThreshold": "2m",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ui.explainMode": "simple",  # of every plan a text is made for a page that nobody opens here
        "spark.sql.warehouse.dir": (place / "warehouse").as_uri(),
        # Else every column expression asks Java several times where in Python it was written: three quarters of a round.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if small:
        # Half the time to start and to read first; collecting on both cores takes a quarter of what one takes.
        java_options += " -XX:+UseParallelGC" + (" -XX:TieredStopAtLevel=1" if not lasting else "")
        settings |= {
            # Every join and sort of a few rows takes a page, of 32 MB by default, and empties it first.
            "spark.buffer.pageSize": "256k",
            "spark.broadcast.blockSize": "64k",
            "spark.default.parallelism": "2",
            **FOR_LITTLE,
            "spark.sql.sources.parallelPartitionDiscovery.parallelism": "4",
        }
    return settings | {"spark.driver.extraJavaOptions": java_options}


def _start(settings: dict[str, str], log: Path) -> SparkSession:
    """A new session; what its Java says goes into `log`, and a failure shows the end of it."""
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.logger import PySparkLogger
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # else workers are whatever `python3` is, without our packages
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True  # they print each error before it is raised
    conf = SparkConf().setAll(list(settings.items()))
    try:
        with log.open("a") as said:
            gateway = SparkContext._gateway or launch_gateway(conf, {"stdout": said, "stderr": said})
        lookups.remember()
        SparkContext(conf=conf, gateway=gateway)
        return SparkSession.builder.getOrCreate()
    except (PySparkException, Py4JError) as error:
        last_words = _last_lines(log.read_text() or str(error))
        raise SparkStartError(f"Spark did not start. Its last words:\n{last_words}") from error


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
                raise OSError(_last_lines(done.stdout + done.stderr))
            os.replace(Path(place) / jar.name, jar)  # whole or not at all, whoever else fetches it now
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SparkStartError(
            f"{jar.name} could not be fetched. Behind a mirror, name an Ivy settings file by PFSPARK_IVY_SETTINGS; "
            f"offline, put the file into {jar.parent} (another folder: PFSPARK_JARS). What was said:\n{error}"
        ) from error


def _last_lines(said: str, count: int = 8) -> str:
    """The end of what a Java process said, without the frames of its traces."""
    lines = [line.strip() for line in said.splitlines() if line.strip(" .:") and not line.lstrip().startswith("at ")]
    return "\n".join(lines[-count:])
