"""Processes beside this one: a Python, the command line, and the spark-submit that pip installs."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pyspark

from pfspark.edge.spark.installed import jar_files

ROOT = Path(__file__).parents[2]
PFSPARK = "from pfspark.cli import main; main()"
SPARK_HOME = Path(pyspark.__file__).parent
NO_JAVA = {"PATH": os.environ["PATH"], "JAVA_HOME": "/there is no java", "PYTHONPATH": str(ROOT)}
"""What needs no Java is shown to need none."""
DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
}
"""What pfspark asks of a session that somebody else starts."""
SMALL = DELTA | {"spark.sql.shuffle.partitions": "2", "spark.ui.enabled": "false"}


def environment(**more: str) -> dict[str, str]:
    """That of this process, with all it can import, and without the way to its own Java; what is imported stays compiled, as
    it does where pip has installed it."""
    known = {name: word for name, word in os.environ.items() if name not in ("PYSPARK_GATEWAY_PORT", "PYTHONDONTWRITEBYTECODE")}
    return known | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | more


def python(script: str, *words: str, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    """A Python of its own, at its end: what a user's program would print."""
    asked = [sys.executable, "-c", script, *words]
    return subprocess.run(asked, cwd=cwd, env=environment(**more), capture_output=True, text=True)


ONE_BY_ONE = """
import contextlib, io, json, os, sys

script, commands = json.load(sys.stdin)
told, known = [], {**os.environ}
for words, place, more in commands:
    os.environ.clear()
    os.environ.update(known, **more)
    os.chdir(place)
    sys.argv[1:], code = words, 0
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            exec(script, {})
        except SystemExit as end:
            code = end.code or 0
    told.append([code, *(each.buffer.getvalue().decode() for each in (out, err))])
print(json.dumps(told))
"""
Command = tuple[Sequence[str], Path, Mapping[str, str]]
"""Its words, the folder in which it is given, and what its environment says beside that of the process."""


def one_by_one(commands: Iterable[Command], env: Mapping[str, str], script: str = PFSPARK) -> list[tuple[int, str, str]]:
    """Commands in one process, which imports once: the exit code of each, its stdout and its stderr."""
    given = json.dumps([script, [(words, str(place), more) for words, place, more in commands]])
    asked = [sys.executable, "-c", ONE_BY_ONE]
    done = subprocess.run(asked, input=given, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return [(code, out, err) for code, out, err in json.loads(done.stdout)]


def pfspark(*words: str, **more: str) -> list[str]:
    """The lines of a command that is expected to do as it is told."""
    done = python(PFSPARK, *words, **more)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def talking(script: str, *words: str) -> subprocess.Popen[str]:
    """A Python of its own, the leader of a process group, to be talked to by lines; what it says of errors is seen here."""
    pipe, asked = subprocess.PIPE, [sys.executable, "-c", script, *words]
    return subprocess.Popen(asked, env=environment(), stdin=pipe, stdout=pipe, text=True, start_new_session=True)


def kill(child: subprocess.Popen[str]) -> None:
    """With all of its group, Java too; it is over when nobody is left in it."""
    with child:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
    latest = time.monotonic() + 60
    with contextlib.suppress(ProcessLookupError):
        while time.monotonic() < latest:
            os.killpg(child.pid, 0)
            time.sleep(0.01)
        raise AssertionError(f"somebody of the group {child.pid} is still there")


def with_delta(settings: Mapping[str, str]) -> list[str]:
    """The words by which one who starts a session gives it Delta's jars and settings."""
    jars = ["--jars", ",".join(map(str, jar_files()))]
    return jars + [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]


def spark_submit(*words: str, settings: Mapping[str, str] = SMALL) -> list[str]:
    """The command that starts something with Delta."""
    return [str(SPARK_HOME / "bin" / "spark-submit"), *with_delta(settings), *words]
