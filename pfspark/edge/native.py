"""Small appends to tables in local folders without Spark: by delta-rs, where it is installed (the extra `local`).

What either writes the other reads; who writes holds the locks that `delta` takes, so the two never meet in a commit.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa

FEW = 20_000
"""Rows up to which an append goes by here: above, the executors write side by side."""
IS_HERE = find_spec("deltalake") is not None


def append(place: Path, rows: pa.Table, said: str | None) -> None:
    """More rows of a table that is there, in one commit; `said` is its `userMetadata`.

    Raises whatever delta-rs does: the caller knows the lake, and what to say of it.
    """
    from deltalake import CommitProperties, DeltaTable, write_deltalake

    told = CommitProperties(custom_metadata={"userMetadata": said} if said else None)
    write_deltalake(DeltaTable(place), rows, mode="append", commit_properties=told)
