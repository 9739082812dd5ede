"""A warm engine: a process of the user's own with Spark started, in which commands that need Spark are done at once.

It listens on a socket of this machine, in a folder that nobody else may enter, and takes commands of its own user alone, one
at a time: the words, the folder, the environment and the three open files of who asks. What a command prints and how it
ends is as if it had been done by itself. It ends after some idle minutes, or as soon as it is of another pfspark than who asks.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pfspark.edge.umask import current_umask

SWITCH = "PFSPARK_ENGINE"
"""`off`: never; `on`: one is started wherever none is; else only from a terminal, and one that is there is always taken."""
IDLE_S = 15 * 60
INTERRUPTED = 130
"""The exit code of a command that a Ctrl-C has ended, as shells say it: 128 + SIGINT."""
LONGEST_PATH = 107 - len("/0123456789abcdef.sock")
"""Bytes: so many the kernel takes of the path of a socket."""
OURS = (
    "AWS_", "AZURE_", "CLASSPATH", "GCS_", "GOOGLE_", "HADOOP_", "HOME", "JAVA_", "JDK_", "KRB5", "LANG", "LC_",
    "LD_LIBRARY_PATH", "PFSPARK_IVY", "PFSPARK_JARS", "PYSPARK_", "PYTHON", "SPARK_", "TMPDIR", "TZ", "XDG_", "_JAVA_OPTIONS",
    "http_proxy", "https_proxy", "no_proxy",
)  # fmt: skip
"""What of an environment a Java and a Python are started with, and cannot take up afterwards: as whom they come to a store of
objects too."""


def named_folder() -> Path:
    """Where engines of this user would listen."""
    run = os.environ.get("XDG_RUNTIME_DIR")
    return Path(run) / "pfspark" if run and os.path.isdir(run) else Path(tempfile.gettempdir()) / f"pfspark-of-{os.getuid()}"


def folder() -> Path | None:
    """Where engines of this user listen, made if it is not there; None: it cannot be made, its path is longer than
    `LONGEST_PATH`, or somebody else might enter it."""
    place = named_folder()
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        seen = place.lstat()
    except OSError:
        return None
    if len(os.fsencode(place)) > LONGEST_PATH:
        return None
    is_ours = stat.S_ISDIR(seen.st_mode) and seen.st_uid == os.getuid() and not stat.S_IMODE(seen.st_mode) & 0o077
    return place if is_ours else None


def name(environment: Mapping[str, str]) -> str:
    """What the engine of this Python in that environment, and with this umask, is called."""
    started_with = sorted((key, value) for key, value in environment.items() if key.startswith(OURS))
    return hashlib.sha256(json.dumps([sys.executable, started_with, current_umask()]).encode()).hexdigest()[:16]
