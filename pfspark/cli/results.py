"""What a run leaves behind for whoever started it: a file that says what was played, and how it ended."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pfspark.cli import ends, screen
from pfspark.errors import UsageError

if TYPE_CHECKING:
    from pfspark.edge.runner import Played

Results = Annotated[
    Path | None,
    typer.Option("--results", envvar="PFSPARK_RESULTS", help="Leave a file that says what was played, and how it ended."),
]


class Tally:
    """What a run has played so far."""

    def __init__(self) -> None:
        self.rounds: list[dict[str, Any]] = []
        self.refused = 0
        self._last = time.monotonic()

    def add(self, played: Played, refused: int) -> None:
        """A round more; one that found nothing to do is none."""
        now, self._last = time.monotonic() - self._last, time.monotonic()
        self.refused += refused
        if played.turns:
            at = screen.moment(max(played.turns.values()))
            rows = sum(played.counts.values())
            self.rounds.append({"round": played.round, "at": at, "rows": rows, "took_ms": round(now * 1000)})


@contextmanager
def left_in(file: Path | None, lake: str | None) -> Iterator[Tally]:
    """Gathers what is played, and writes it to that file at the end, whatever the end is; it is never half there.

    Raises UsageError before anything is played where there is no such folder.
    """
    if file and not file.absolute().parent.is_dir():
        raise UsageError(f"{str(file)!r} cannot be written: there is no folder {str(file.absolute().parent)!r}")
    began, clock, tally = datetime.now(UTC), time.monotonic(), Tally()
    error: BaseException | None = None
    try:
        yield tally
    except BaseException as caught:
        error = caught
        raise
    finally:
        if file:
            _write(file, {
                "kind": "results", "lake": lake, "began": screen.moment(began), "ended": screen.moment(datetime.now(UTC)),
                "took_ms": round((time.monotonic() - clock) * 1000), "status": "error" if error else "success",
                "exit_code": ends.exit_code(error), "message": error and _said(error),
                "rounds": tally.rounds, "refused": tally.refused,
            })  # fmt: skip


def _said(error: BaseException) -> str:
    return str(ends.known(error) or error) or type(error).__name__


def _write(file: Path, said: dict[str, Any]) -> None:
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        beside.write_text(json.dumps(said, indent=2) + "\n", encoding="utf-8")
        os.replace(beside, file)
    except OSError as error:
        screen.note(f"{file} cannot be written: {error.strerror}")
