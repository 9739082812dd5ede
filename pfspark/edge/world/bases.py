"""The world after a round, left beside the tables of a lake: who comes next need not read the facts from the first on.

Here it lies in the folder of a local lake; where there is none, in a table (`bases_by_spark`).

A base says nothing that the facts do not say, and decides nothing: it counts only as long as the ledger's last row is the one
after which it was left, and only for the pfspark that left it. One that was left some rounds before is played on to the last
(`carried.known_after`), if those rounds then give what the ledger says they gave. Without it, or where it cannot be read, the
facts are.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa

from pfspark import mapped
from pfspark.edge.config import installed_version
from pfspark.edge.delta.beside import BASE, BASE_FILES
from pfspark.keyed import ByName
from pfspark.mapped import Mapped
from pfspark.tables import EVERY

if TYPE_CHECKING:
    from pfspark.edge.delta.ledger import Row

FORMAT = 3
"""The version of what stands in it; another one whenever the same facts say another world."""
SMALL = 1 << 20
"""Bytes of the rows of a table that are not put into a file."""
ABOUT = "base.json"
SUFFIX = ".arrow"
UNREADABLE = (OSError, ValueError, KeyError, AttributeError, EOFError, RuntimeError, zipfile.BadZipFile, pa.ArrowException)
"""What is raised where a file is no base."""


@dataclass(frozen=True)
class Base:
    """The tables of a world (`between.Between`), with what people had said by then: versions of `edits` and of the directory."""

    tables: ByName
    cursor: int
    directory: Mapping[str, int]


def leave(folder: Path, base: Base, round: int, digest: str) -> None:
    """Puts a base in the place of the one that is there, unless that is of a later round; where nothing can be written there is
    none.

    `round` and `digest` are those of the ledger's last row.
    """
    if (there := _about(folder)) and (there["round"] > round or _goes_further(there, digest, base)):
        return
    new, made = folder / f"{BASE}.{uuid4().hex}.tmp", list[Path]()
    try:
        for begun in folder.glob(f"{BASE}.*.tmp"):  # by who was killed; who is at it still leaves none
            begun.unlink(missing_ok=True)
        parted = {name: _in_files(folder / BASE_FILES, name, table, made) for name, table in base.tables.items()}
        files = {name: names for name, (names, _) in parted.items() if names}
        with zipfile.ZipFile(new, "w") as file:
            about = {**stamp(round, digest), "cursor": base.cursor, "directory": dict(base.directory), "files": files}
            file.writestr(ABOUT, json.dumps(about))
            for name, (_, table) in parted.items():
                file.writestr(name + SUFFIX, in_a_stream(table))
        os.replace(new, folder / BASE)
        needed = {folder / BASE_FILES / each for names in files.values() for each in names}
        for old in {*folder.glob(f"{BASE_FILES}/*{SUFFIX}")} - needed:
            old.unlink(missing_ok=True)
    except OSError:  # reading needs no permission to write; and where there is no room, none is taken
        for begun in (new, *made):
            with suppress(OSError):
                begun.unlink()


def _goes_further(there: Mapping[str, Any], digest: str, base: Base) -> bool:
    """Whether a base of the same round holds more of what people said."""
    further = there["cursor"] > base.cursor or any(there["directory"].get(name, -1) > at for name, at in base.directory.items())
    return bool(there["digest"] == digest and further)


def in_a_stream(table: pa.Table) -> bytes:
    """The rows of a table as Arrow sends them."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def _in_files(folder: Path, name: str, table: pa.Table, made: list[Path]) -> tuple[list[str], pa.Table]:
    """The files in which rows of a table lie, and the rest of it, where that is small; a larger one is put into a file, which
    comes to those that are `made`.

    A file stays as long as all its rows do, and there is no larger rest to go with: so there are few, however much is added.
    """
    pieces = mapped.files_of(table)
    rows: Counter[Mapped | None] = Counter()
    for batch, file in pieces:
        rows[file] += batch.num_rows
    stay = [file for file, found in rows.items() if file and file.rows == found and _is_in(folder, file)]
    rest = [batch for batch, file in pieces if file not in stay]
    if mapped.size(rest) <= SMALL:
        return [Path(file.name).name for file in stay], pa.Table.from_batches(rest, table.schema)
    goes = table.num_rows - sum(file.rows for file in stay)
    for file in sorted(stay, key=lambda each: each.rows):
        if file.rows <= goes:
            goes += file.rows
            stay.remove(file)
    new = f"{name}-{uuid4().hex}{SUFFIX}"
    folder.mkdir(exist_ok=True)
    made.append(folder / new)
    with open(folder / new, "xb") as opened:
        mapped.write([batch for batch, file in pieces if file not in stay], table.schema, opened)
    return [*(Path(file.name).name for file in stay), new], table.slice(0, 0)


def _is_in(folder: Path, file: Mapped) -> bool:
    """Whether it still lies there: who plays elsewhere at the same time may have left a later base."""
    return Path(file.name).parent == folder and Path(file.name).exists()


def find(folder: Path, row: Row) -> Base | None:
    """The base that was left after that row of the ledger, if one was."""
    found = left(folder, {row.round: row.digest}.get)
    return found and found[1]


def left(folder: Path, digest_of: Callable[[int], str | None]) -> tuple[int, Base] | None:
    """The base that is there, and after which round it was left; None unless the ledger's row of that round has this digest."""
    # Of one file, opened once: another may be left in its place at any moment.
    with suppress(*UNREADABLE), zipfile.ZipFile(folder / BASE) as file:
        about = _said_in(file)
        if any(about.get(name) != value for name, value in stamp(about["round"], digest_of(about["round"])).items()):
            return None
        names = (name for name in file.namelist() if name.endswith(SUFFIX))
        tables = {name.removesuffix(SUFFIX): pa.ipc.open_stream(file.read(name)).read_all() for name in names}
        for name, files in about["files"].items():
            tables[name] = pa.concat_tables([*(_read(folder / BASE_FILES / each) for each in files), tables[name]])
        return about["round"], Base(tables, about["cursor"], about["directory"])
    return None


def drop(folder: Path) -> None:
    """Takes away the base that is there, if one is."""
    for file in (folder / BASE, *folder.glob(f"{BASE_FILES}/*{SUFFIX}")):
        file.unlink(missing_ok=True)


def _read(path: Path) -> pa.Table:
    with open(path, "rb") as file:
        return mapped.read(file, str(path))


def _about(folder: Path) -> dict[str, Any]:
    """What is said of the base that is there; nothing: there is none."""
    with suppress(*UNREADABLE), zipfile.ZipFile(folder / BASE) as file:
        return _said_in(file)
    return {}


def _said_in(file: zipfile.ZipFile) -> dict[str, Any]:
    """What a base says of itself. Raises ValueError, or KeyError, where it is none."""
    about: dict[str, Any] = json.loads(file.read(ABOUT))
    if not isinstance(about["round"], int) or not {"cursor", "directory", "files", "digest"} <= about.keys():
        raise ValueError("no base")
    return about


def stamp(round: int, digest: str | None) -> dict[str, Any]:
    """By what it is known whether a base counts."""
    columns = hashlib.sha256("\n".join(EVERY[name].ddl for name in sorted(EVERY)).encode()).hexdigest()
    return {"format": FORMAT, "pfspark": installed_version() or "", "columns": columns, "round": round, "digest": digest}
