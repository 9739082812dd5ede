"""An archive of the classes that a session loads: with it, Java starts and takes up work sooner.

Every Java reads, checks and links anew each class that Spark comes to use. It can write down what it had loaded when it
ends, and let others begin with that (class data sharing). `pfspark doctor --prepare` makes such an archive once, and every
session of the same Java and the same jars begins with it from then on. One that does not fit Java passes over by itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from pfspark.edge import session
from pfspark.edge.spark import installed, temporary
from pfspark.errors import SparkStartError

LOAD = "import sys; from pathlib import Path; from pfspark.cli import archive; archive.load(Path(sys.argv[1]))"
PATIENCE_SECONDS = 900


def make() -> Path:
    """Makes the archive in a process of its own, whole or not at all; where it is.

    Raises SparkStartError with the last words of that process where it does not come to be.
    """
    kept = installed.class_archive(installed.find_java())
    with tempfile.TemporaryDirectory(dir=kept.parent) as place:
        made = Path(place) / kept.name
        path = os.pathsep.join(filter(None, sys.path))
        asked = [sys.executable, "-c", LOAD, str(made)]
        try:
            done = subprocess.run(
                asked, capture_output=True, text=True, timeout=PATIENCE_SECONDS, env={**os.environ, "PYTHONPATH": path}
            )
        except subprocess.TimeoutExpired as error:
            raise SparkStartError(f"No archive of classes after {PATIENCE_SECONDS} s. Sessions start without one.") from error
        if not made.is_file():
            raise SparkStartError(f"Java wrote no archive of classes. Sessions start without one. {done.stderr.strip()[-500:]}")
        os.replace(made, kept)
    return kept


def load(into: Path) -> None:
    """Does in a new session what sessions do, and waits until its Java has ended and has written what it had loaded."""
    from pfspark.lake import Lake

    spark = session.open_session(archive_into=into)
    with tempfile.TemporaryDirectory(dir=temporary.own_folder()) as folder, Lake.create(f"{folder}/lake", spark) as lake:
        lake.organization(profile="modern", start="2026-01-05")
        for store in ("PFS1", "PFS2"):
            lake.store(store, "Redmond")
        lake.folder_create("PFS1", "/Folder", ["PFS1", "PFS2"], at="2026-01-05")
        lake.post("PFS1", "/Folder", b"Hello", name="first", at="2026-01-05")
        lake.run(until="2026-01-05T01:00:00Z")
        lake.state().collect()
        lake.items().collect()
    session.end(spark)
