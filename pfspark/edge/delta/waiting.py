"""How much waits in a lake, before anybody starts Spark: as the logs of its tables say it."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NoReturn

from pfspark.edge.delta import native, places
from pfspark.errors import LakeError

MUCH = 400_000
"""Edits from which on a Java that optimizes what it does often ends their round sooner than one that starts sooner: of 100,000 a
process took 11.3 and 10.6 s, of 300,000 15.8 and 15.8 s, of a million 30 and 41 s."""


def much(where: str | os.PathLike[str]) -> bool:
    """Whether so many edits came to a lake since its last round; false too where that cannot be said without Spark."""
    from pfspark.edge.delta.tables import Tables

    folder = places.local_folder(where)
    if folder is None or not native.reaches(folder):
        return False
    with suppress(LakeError):
        there = native.measure(folder / "edits", None)
        if there is None or there[0] < MUCH:
            return False
        cursor = Tables(_nobody, f"file:{folder}").snapshot().row.cursors["edits"]
        taken = native.measure(folder / "edits", cursor)
        return taken is not None and there[0] - taken[0] >= MUCH
    return False


def _nobody() -> NoReturn:
    raise LakeError("no session is started to see what waits")
