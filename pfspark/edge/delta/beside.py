"""What lies beside the tables in the folder of a lake."""

from __future__ import annotations

WRITER_LOCK = "_writer.lock"
"""Who plays rounds (host, process); in the line below, the version at which the ledger was left."""
APPEND_LOCK = "_append.lock"
BASE = "_base.zip"
"""The world after a round."""
BASE_FILES = "_base"
"""The folder of the files in which tables of it lie that are large."""
CERTIFICATE = "_audit.json"
"""What the last audit found."""

NAMES = {WRITER_LOCK, APPEND_LOCK, BASE, BASE_FILES, CERTIFICATE}
"""All of it."""
