"""The classes that sessions load, kept for the next Java."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pfspark.edge.spark import installed
from tests.edge.processes import pfspark, python

pytestmark = pytest.mark.lakes

BEGUN_WITH = """
from pfspark.edge.session import open_session
java = open_session()._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean()
print([each for each in java.getInputArguments() if "SharedArchiveFile" in each])
"""


def begun_with(jars: Path) -> str:
    """What a session is told of archives, in the end without a word of its Java's."""
    done = python(BEGUN_WITH, PFSPARK_JARS=str(jars))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def doctor(jars: Path, *words: str) -> dict[str, Any]:
    told = [json.loads(line) for line in pfspark("doctor", "--json", *words, PFSPARK_JARS=str(jars))]
    [check] = [each for each in told if each["name"] == "class archive"]
    return check


def test_it_is_made_once_and_begun_with(spark: SparkSession, tmp_path: Path) -> None:
    """In a folder with a blank in its name. `spark`: the jars are fetched by then."""
    jars = tmp_path / "some jars"
    jars.mkdir()
    for jar in installed.jar_files():
        shutil.copy(jar, jars)
    before = doctor(jars)
    assert before["ok"] is None and "pfspark doctor --prepare" in before["saw"]
    assert begun_with(jars) == "[]\n"
    made = doctor(jars, "--prepare")
    [kept] = jars.glob("classes-*.jsa")
    assert made["ok"] is True and made["saw"].startswith(f"{kept} made in ")
    assert doctor(jars) == {"kind": "doctor", "name": "class archive", "ok": True, "saw": str(kept), "todo": ""}
    assert begun_with(jars) == f"['-XX:SharedArchiveFile={kept}']\n"
    other = tmp_path / "other"
    other.write_bytes(b"nothing that Java knows")
    other.replace(kept)  # not written over: a Java that ends may still read it
    assert begun_with(jars) == f"['-XX:SharedArchiveFile={kept}']\n"
