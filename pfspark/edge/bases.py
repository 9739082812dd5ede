"""The world after a round, left beside the tables of a local lake: who comes next need not read the facts from the first on.

A base says nothing that the facts do not say, and decides nothing: it counts only as long as the ledger's last row is the one
after which it was left, and only for the pfspark that left it. Without it, or where it cannot be read, the facts are.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa

if TYPE_CHECKING:
    from pfspark.edge.delta import Row

NAME = "_base.zip"
FORMAT = 1
"""The version of what stands in it."""
ABOUT = "base.json"
SUFFIX = ".arrow"


@dataclass(frozen=True)
class Base:
    """The tables of a world (`kept.Kept`), with what people had said by then: versions of `edits` and of the directory."""

    tables: Mapping[str, pa.Table]
    cursor: int
    directory: Mapping[str, int]


def leave(folder: Path, base: Base, round: int, digest: str) -> None:
    """Puts a base in the place of the one that is there; where nothing can be written there is none.

    `round` and `digest` are those of the ledger's last row.
    """
    about = {**_stamp(round, digest), "cursor": base.cursor, "directory": dict(base.directory)}
    new = folder / f"{NAME}.{uuid4().hex}.tmp"
    try:
        with zipfile.ZipFile(new, "w") as file:
            file.writestr(ABOUT, json.dumps(about))
            for name, table in base.tables.items():
                sink = pa.BufferOutputStream()
                with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
                    stream.write_table(table)
                file.writestr(name + SUFFIX, sink.getvalue())
        os.replace(new, folder / NAME)
    except OSError:  # reading needs no permission to write
        with suppress(OSError):
            new.unlink()


def find(folder: Path, row: Row) -> Base | None:
    """The base that was left after that row of the ledger, if one was."""
    with suppress(OSError, ValueError, KeyError, zipfile.BadZipFile), zipfile.ZipFile(folder / NAME) as file:
        about = json.loads(file.read(ABOUT))
        if {name: about[name] for name in about if name not in ("cursor", "directory")} != _stamp(row.round, row.digest):
            return None
        names = (name for name in file.namelist() if name.endswith(SUFFIX))
        tables = {name.removesuffix(SUFFIX): pa.ipc.open_stream(file.read(name)).read_all() for name in names}
        return Base(tables, about["cursor"], about["directory"])
    return None


def _stamp(round: int, digest: str) -> dict[str, object]:
    return {"format": FORMAT, "pfspark": version("pfspark"), "round": round, "digest": digest}
