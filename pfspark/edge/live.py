"""What a terminal shows on stderr while a verb takes its time: what it does, since when, and how far it is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from pfspark.edge.briefly import briefly
from pfspark.edge.plain import terminal

if TYPE_CHECKING:
    from rich.progress import Progress

_shown: Progress | None = None


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Shows what is being done until that is over; within another such, in its place. Where nobody looks: nothing."""
    global _shown
    if not sys.stderr.isatty():
        yield
    elif _shown is not None:
        before = _shown.tasks[0].description
        _say(what)
        try:
            yield
        finally:
            _say(before)
    else:
        with _drawn(what) as _shown:
            try:
                yield
            finally:
                _shown = None


PAUSE = 2.0
"""Seconds between two looks at what another process has played."""


def changes(version: Callable[[], object], what: str) -> Iterator[None]:
    """Now, and whenever that is another than before; `what` is shown meanwhile. It ends by Ctrl-C alone."""
    before = None
    while True:
        if (now := version()) != before:
            before = now
            yield
        with doing(what):
            time.sleep(PAUSE)


def told(done: float | timedelta, total: float | timedelta | None) -> None:
    """How much of it is done, and of how much, if that is known: numbers, or lengths of the time that is played."""
    if _shown is not None:
        _shown.update(_shown.tasks[0].id, completed=_amount(done), total=None if total is None else _amount(total))


@contextmanager
def aside(*, stdout: bool) -> Iterator[None]:
    """Something is printed meanwhile: on a terminal what is shown makes room for it."""
    if _shown is None or (stdout and not sys.stdout.isatty()):
        yield
        return
    drawn = _shown
    drawn.stop()
    try:
        yield
    finally:
        drawn.start()


def _amount(done: float | timedelta) -> float:
    return done.total_seconds() if isinstance(done, timedelta) else done


def _say(what: str) -> None:
    assert _shown is not None
    _shown.remove_task(_shown.tasks[0].id)
    _shown.add_task(terminal(what), total=None)


def _drawn(what: str) -> Progress:
    with briefly(terminal(what)):
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    # What is printed meanwhile goes where it belongs, not into what is drawn (`aside`).
    own = Console(file=sys.stderr, markup=False, highlight=False, emoji=False)
    drawn = Progress(*columns, console=own, transient=True, redirect_stdout=False, redirect_stderr=False)
    drawn.add_task(terminal(what), total=None)
    return drawn
