"""Tables in local folders, as delta-rs reads their logs; what was read of one is kept, and only what comes since is read.

A folder may be put in another's place at any time, and a log be cut off: a table is known again by the file of the last commit
that was read of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltalake import DeltaTable

KEPT = 64
"""Tables of which is kept what their logs said, so that only what came since is read: those of four lakes."""

Stamp = tuple[int, ...]
_known: dict[Path, tuple[Stamp | None, DeltaTable]] = {}
"""Tables as they were read last, each with the stamp of its last commit's file."""


class LeftToSparkError(Exception):
    """That a table asks more of who writes it than delta-rs does, as one that is clustered: nothing of it is written."""


@contextmanager
def opened(place: Path, version: int | None = None) -> Iterator[DeltaTable]:
    """A table, at that version or as it stands, of which the log is read; of one that was read here before only what came since.

    What is kept is lent to one at a time: who comes meanwhile reads the log anew.
    """
    from deltalake import DeltaTable  # when it is needed: who reads nothing does not wait for it

    stamped, kept = _known.pop(place, (None, None))
    if kept is not None and (stamped is None or stamped != stamp(place, kept.version())):
        kept = None
    if kept is not None and (version is None or version > kept.version()):
        try:
            kept.update_incremental()
        except Exception:  # it is read anew: who comes next says what is wrong, if that cannot be
            kept = None
    table = DeltaTable(place, version=version) if kept is None or version not in (None, kept.version()) else kept
    newest = kept or table
    read = newest.version()
    stamped = stamp(place, read)  # before anybody else may put another log there
    try:
        yield table  # where that fails, nothing is kept
    except LeftToSparkError:
        _keep(place, stamped, newest)
        raise
    _keep(place, stamped if newest.version() == read else stamp(place, newest.version()), newest)


def _keep(place: Path, stamped: Stamp | None, table: DeltaTable) -> None:
    _known[place] = stamped, table
    while len(_known) > KEPT:
        with suppress(KeyError, StopIteration, RuntimeError):  # another may be at it
            del _known[next(iter(_known))]


def stamp(place: Path, version: int) -> Stamp | None:
    """By what the file of a commit is known again: where another lies in its place, or none, the log is another's, or was cut
    off."""
    with suppress(OSError):
        found = os.stat(place / "_delta_log" / f"{version:020}.json")
        return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size
    return None


@contextmanager
def plain(place: Path, version: int | None = None) -> Iterator[DeltaTable]:
    """A table whose files hold its rows under the names of its columns, and nothing else. Raises LeftToSparkError where columns
    may have others names there, or rows not count: readers from version 2 of the protocol on look at that."""
    with opened(place, version) as table:
        if table.protocol().min_reader_version > 1:
            raise LeftToSparkError(place)
        yield table
