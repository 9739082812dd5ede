"""The log of a table in a local folder, as its files tell it."""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path

from pfspark.edge.delta.ledger import LEDGER
from pfspark.edge.delta.locks import UNKNOWN, left_at
from pfspark.tables import TABLES

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKSUM = re.compile(r"(\d{20})\.crc")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\..*parquet")


def newest(table: Path) -> int | None:
    """The newest version of the table in that folder; None: it has no log there."""
    with contextlib.suppress(FileNotFoundError):
        return max((int(found[1]) for found in map(_COMMIT.fullmatch, os.listdir(table / "_delta_log")) if found), default=None)
    return None


def flaws(lake: Path, name: str) -> list[str]:
    """Files of a table's log that are gone or torn, as far as the lake's folder tells; a log that is gone whole, as a folder.

    Spark leaves a checksum beside each commit, and who plays rounds says how far he has written the ledger; so the last
    one cannot go unnoticed either.
    """
    place = lake / name / "_delta_log"
    try:
        log = os.listdir(place)
    except FileNotFoundError:
        log = []
    commits, checksums, checkpoints = (
        {int(found[1]) for found in map(kind.fullmatch, log) if found} for kind in (_COMMIT, _CHECKSUM, _CHECKPOINT)
    )
    if not commits | checkpoints:
        return ["_delta_log"] if checksums or files_with_rows(lake) else []
    begin = max(checkpoints) + 1 if checkpoints else 0
    left = left_at(lake) if name == LEDGER else UNKNOWN
    wanted = range(begin, max(commits | checksums | checkpoints | {left}) + 1)
    return [f"_delta_log/{version:020}.json" for version in wanted if not _is_whole(place / f"{version:020}.json")]


def files_with_rows(lake: Path) -> list[Path]:
    """Files with rows, of any of its tables."""
    return [file for name in TABLES for file in sorted(lake.glob(f"{name}/*.parquet"))]


def says_nothing(file: Path) -> bool:
    """Whether a file of a log is no commit: half written under another name, a checksum, or empty."""
    return not file.is_symlink() and (file.suffix in (".tmp", ".crc") or file.stat().st_size == 0)


def names_in(table: Path) -> set[str]:
    """What is in the folder of a table, and what commits that never were have left in its log."""
    return {*os.listdir(table), *(f"_delta_log/{name}" for name in os.listdir(table / "_delta_log") if ".tmp" in name)}


def _is_whole(commit: Path) -> bool:
    """Whether a commit is there, and each of its lines can be read."""
    try:
        return all(json.loads(line) for line in commit.read_bytes().splitlines()) and commit.stat().st_size > 0
    except (FileNotFoundError, ValueError):
        return False
