"""The Spark session: started tuned, quiet and on loopback, or taken as it is found.

On a cluster, under `spark-submit`, with Spark Connect or where a session is already active, that session is taken if it
knows Delta and tells times in UTC; nothing is set but that old versions of tables may be read. Anywhere else one is started
in this machine's Java.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pfspark.edge.interrupts import interrupted_after
from pfspark.edge.spark import lookups
from pfspark.edge.spark.fit import OLD_VERSIONS, expect_arrow, fitted
from pfspark.edge.spark.given import given_by
from pfspark.edge.spark.installed import class_archive, delta_jars, find_java, installed, last_lines, spark_home
from pfspark.edge.spark.quietly import LOGGERS, quietly
from pfspark.edge.spark.temporary import are_there, own_folder, sweep
from pfspark.edge.spark.tuned import FOR_LITTLE
from pfspark.edge.spark.without_pandas import take_pandas_in
from pfspark.edge.umask import current_umask
from pfspark.errors import SparkStartError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What a session without Delta's jars or extension says to a statement of Delta's.
WITHOUT_DELTA = ("PARSE_SYNTAX_ERROR", "DELTA_CONFIGURE_SPARK_SESSION_WITH_EXTENSION_AND_CATALOG")

CHECKPOINTS = "org.apache.spark.sql.execution.streaming.checkpointing"
MEMORY = "2g"
"""The heap of the Java of a session of our own."""
LATE = 20
OPTIMIZED_LATE = " ".join(
    f"-XX:Tier4{of}Threshold={LATE * calls}"
    for of, calls in {"Invocation": 5000, "MinInvocation": 600, "Compile": 15000, "BackEdge": 40000}.items()
)
"""How often Java does something before it optimizes that, `LATE` times as often as by default. Of a round of a million edits
optimizing took a third of all that two cores did, of many small rounds a quarter; now half of that and less, and what is done
most is optimized all the same: such a round takes a tenth less. From a hundred times on it takes longer.
"""
JUST_KILLED_S = 0.5
"""How long the system may take to say that a process has ended of which another is told already."""
CALL_SITE = ("callSite.short", "callSite.long")
"""Where in a program something was said to Spark, for pages that nobody opens here: not told, it looks through the whole stack
for each of the some dozen RDDs of a plan, a twentieth of what Java does in a small round."""


def open_session(
    *,
    small: bool = True,
    lasting: bool = False,
    memory: str | None = None,
    app: str = "pfspark",
    archive_into: Path | None = None,
) -> SparkSession:
    """The session to work in: the one that is given here, else a new one.

    `small` tunes a new session for little data (some organizations, thousands of rows): few partitions, quick start,
    no adaptive planning. `lasting`: such a one that will work for minutes on end; its Java optimizes what it does often,
    so the first minute is slower, and all after the second quicker by a quarter. `memory` is the heap of a new session's
    Java, as Java writes it ("2g"); unless it is said `PFSPARK_MEMORY`, else `MEMORY`. `archive_into`: the file into which that
    Java, when it ends, writes the classes it had loaded (`cli/archive.py`).

    Raises SparkStartError, which says what was seen and what to do.
    """
    expect_arrow()
    take_pandas_in()
    if is_given():
        return _given_session()
    spark_home()
    java = find_java()
    jars = delta_jars(java.path)
    sweep()
    place = own_folder()
    settings = _settings(place, jars, small=small, lasting=lasting, memory=_heap(memory), app=app)
    archive = class_archive(java)
    if archive_into or archive.is_file():
        classes = f"ArchiveClassesAtExit={archive_into}" if archive_into else f"SharedArchiveFile={archive}"
        settings["spark.driver.extraJavaOptions"] += f' "-XX:{classes}"'
    return _start(settings, place / "java.log")


def _heap(said: str | None) -> str:
    """The heap that is asked for. Raises SparkStartError for what Java does not know as one."""
    heap = said or os.environ.get("PFSPARK_MEMORY") or MEMORY
    if not re.fullmatch(r"[1-9][0-9]{0,9}[kmgt]", heap, re.IGNORECASE):
        raise SparkStartError(f"found a heap of {heap!r}, expected one as Java writes it, such as 4g (PFSPARK_MEMORY)")
    return heap


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
    """Whether the Java of a session that was started here still runs, and has its files."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    return gateway is not None and gateway.proc.poll() is None and are_there()


def java_has_ended() -> bool:
    """Whether there was a Java that was started here, and it runs no more; one that was just killed is waited for."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is None or not hasattr(gateway, "proc"):
        return False
    with suppress(subprocess.TimeoutExpired):
        gateway.proc.wait(JUST_KILLED_S)
        return True
    return False


def stop_java(*, at_once: bool) -> None:
    """Ends what the Java of our session is at: its jobs; or `at_once` itself, where it must not go on with what it does beside
    them, as a commit."""
    from pyspark import SparkContext

    gateway, context = SparkContext._gateway, SparkContext._active_spark_context
    if at_once and gateway is not None:
        gateway.proc.kill()
        gateway.proc.wait()
    elif context is not None:
        with suppress(Exception):  # it may be at anything, and who is interrupted is told that alone
            context.cancelAllJobs()


def is_given() -> bool:
    """Whether the session to work in is there already, or is one that somebody else starts."""
    return given_by() is not None or _session_is_active()


def _session_is_active() -> bool:
    installed("pyspark")
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    # A session is active per thread; the context shows one that another thread started.
    return SparkSession.getActiveSession() is not None or SparkContext._active_spark_context is not None


def _given_session() -> SparkSession:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    spark = fitted(SparkSession.builder.getOrCreate())
    try:
        with quietly():
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
    # Where the result of a task finds no room, its job waits for ever: who has no memory left ends.
    java_options = (
        f"-Dlog4j2.configurationFile={quiet} -Duser.timezone=UTC -XX:ReservedCodeCacheSize=512m -XX:+ExitOnOutOfMemoryError "
        f"{OPTIMIZED_LATE}"
    )
    settings = {
        "spark.app.name": app,
        "spark.databricks.delta.snapshotPartitions": "1",  # a snapshot is rebuilt after each append
        **OLD_VERSIONS,
        # The defaults start a process for each file of a commit to ask whether it is a link, sixteen an append. Those
        # for local files do not; that no two commit at a time, which neither sees to, `Tables` and `Writer` do for a lake.
        "spark.delta.logStore.file.impl": "io.delta.storage.LocalLogStore",
        "spark.hadoop.spark.sql.streaming.checkpointFileManagerClass": f"{CHECKPOINTS}.FileSystemBasedCheckpointFileManager",
        "spark.driver.bindAddress": "127.0.0.1",
        # Not as `spark.jars`, for these are loaded by a loader of Spark's own, and Java archives no classes of others'.
        "spark.driver.extraClassPath": os.pathsep.join(map(str, jars)),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": memory,
        "spark.hadoop.fs.permissions.umask-mode": f"{current_umask():03o}",  # else Hadoop's own, whatever this process has
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
    for name in LOGGERS:
        PySparkLogger.getLogger(name).disabled = True
    conf = SparkConf().setAll(list(settings.items()))
    try:
        # Java ends with who began it only once it listens to that; before, one whose beginner is interrupted finds nobody to tell
        # where it listens, and stays for ever.
        with log.open("a") as said, interrupted_after():
            gateway = SparkContext._gateway or launch_gateway(conf, {"stdout": said, "stderr": said})
        lookups.remember()
        context = SparkContext(conf=conf, gateway=gateway)
        # Where Java is killed, who waits for it is told; that its connection has ended is no news to anybody.
        context._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
        for form in CALL_SITE:
            context.setLocalProperty(form, settings["spark.app.name"])
        return SparkSession.builder.getOrCreate()
    except (PySparkException, Py4JError) as error:
        last_words = last_lines(log.read_text() or str(error))
        raise SparkStartError(f"Spark did not start. Its last words:\n{last_words}") from error
