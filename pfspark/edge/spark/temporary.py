"""Temporary folders, each of one process; of one that was killed the next start sweeps it away."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

TEMPORARY, OWNED = "pfspark-", "owned"
"""How our temporary folders begin, and the file in each that its process keeps locked as long as it lives."""


_OURS: list[tuple[Path, int]] = []
"""The folders of this process, each with the lock that it holds there."""


def own_folder() -> Path:
    """A new temporary folder, gone when this process ends; of one that is killed, the next start sweeps it away."""
    place = Path(tempfile.mkdtemp(prefix=TEMPORARY))
    # The lock is not let go before the process ends, and is there before anybody can look for it.
    lock = os.open(place / "new", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.rename(place / "new", place / OWNED)
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    _OURS.append((place, lock))
    return place


def are_there() -> bool:
    """Whether the temporary folders of this process are still there: who tidies `/tmp` asks nobody."""
    with contextlib.suppress(OSError):
        return all(os.path.samestat(os.stat(place / OWNED), os.fstat(lock)) for place, lock in _OURS)
    return False


def is_in_ours(path: str) -> bool:
    """Whether a path, or the address of a file, lies in a temporary folder of this process."""
    there = Path(path.removeprefix("file:"))
    return any(place.resolve() in there.resolve().parents for place, _ in _OURS)


def sweep() -> None:
    """Removes the temporary folders of processes of this user that were killed: nobody holds their locks any more."""
    for place in Path(tempfile.gettempdir()).glob(f"{TEMPORARY}*"):
        # What is another's, gone meanwhile, or still owned stays.
        with contextlib.suppress(OSError), open(place / OWNED, "r+b") as lock:
            if os.fstat(lock.fileno()).st_uid == os.getuid():
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(place, ignore_errors=True)
