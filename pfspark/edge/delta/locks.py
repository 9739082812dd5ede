"""Locks of files in the folder of a lake: one writer at a time, and appends of people in turn."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import BinaryIO, cast

from pfspark.edge.delta.beside import WRITER_LOCK
from pfspark.errors import LakeError, NoLakeError

UNKNOWN = -1

HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)
"""What a lock says that another holds; all else says that there are no locks."""


def lock_file(path: Path) -> BinaryIO:
    """The file of a lock, made if need be; LakeError where it cannot be."""
    try:
        return cast(BinaryIO, open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o664), "r+b"))
    except OSError as error:
        if error.errno == errno.ENOENT:
            raise NoLakeError(f"{path.parent} is not a lake: there is no such folder. Make one with `pfspark init`.") from error
        raise LakeError(f"{path.parent} cannot be written: {error.strerror}. Reading it needs no permission to write.") from error


def lock(file: BinaryIO, folder: Path, how: int) -> None:
    """Raises BlockingIOError where another holds it."""
    try:
        fcntl.flock(file, how)
    except OSError as error:
        if error.errno in HELD:
            raise BlockingIOError from error
        file.close()
        raise LakeError(
            f"No file can be locked in {folder}: {error.strerror}. Without locks two who write at a time would spoil a lake "
            "there. Put it on a disk that has them, or into a catalog."
        ) from error


def unlock(file: BinaryIO) -> None:
    """Gives a lock back, also where a process that was forked meanwhile has the file open and lives on."""
    fcntl.flock(file, fcntl.LOCK_UN)


def left_at(folder: Path) -> int:
    """The version at which the last writer left the ledger of a lake; below all there are, where that is not known."""
    try:
        return read_left(folder.joinpath(WRITER_LOCK).read_bytes())
    except OSError:
        return UNKNOWN


def read_left(said: bytes) -> int:
    """The version at which the last writer left the ledger, as the file of the lock says it."""
    _, _, version = said[:200].partition(b"\n")
    return int(version) if version.strip().isdigit() else UNKNOWN
