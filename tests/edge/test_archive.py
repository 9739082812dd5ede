"""The classes that sessions load, kept for the next Java."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pfspark.edge import session

pytestmark = pytest.mark.lakes

CLI = "import sys; from pfspark.edge.cli import main; main()"
LOADED = """
from pfspark.edge.session import open_session
java = open_session()._jvm.java.lang.management.ManagementFactory
print([each for each in java.getRuntimeMXBean().getInputArguments() if "SharedArchiveFile" in each])
print(java.getClassLoadingMXBean().getTotalLoadedClassCount() > 5000)
"""


def run(script: str, jars: Path, *words: str) -> list[str]:
    env = {**os.environ, "PFSPARK_JARS": str(jars), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", script, *words], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stderr == ""
    return done.stdout.splitlines()


def doctor(jars: Path, *words: str) -> dict[str, Any]:
    told = [json.loads(line) for line in run(CLI, jars, "doctor", "--json", *words)]
    [check] = [each for each in told if each["name"] == "class archive"]
    return check


def test_it_is_made_once_and_begun_with(spark: SparkSession, tmp_path: Path) -> None:
    """In a folder with a blank in its name. `spark`: the jars are fetched by then."""
    jars = tmp_path / "some jars"
    jars.mkdir()
    for jar in session.jar_files():
        shutil.copy(jar, jars)
    before = doctor(jars)
    assert before["ok"] is None and "pfspark doctor --prepare" in before["saw"]
    assert run(LOADED, jars) == ["[]", "True"]
    made = doctor(jars, "--prepare")
    [kept] = jars.glob("classes-*.jsa")
    assert made["ok"] is True and made["saw"].startswith(f"{kept} made in ")
    assert doctor(jars) == {"name": "class archive", "ok": True, "saw": str(kept), "todo": ""}
    assert run(LOADED, jars) == [f"['-XX:SharedArchiveFile={kept}']", "True"]
    other = tmp_path / "other"
    other.write_bytes(b"nothing that Java knows")
    other.replace(kept)  # not written over: a Java that ends may still read it
    assert run(LOADED, jars) == [f"['-XX:SharedArchiveFile={kept}']", "True"]
