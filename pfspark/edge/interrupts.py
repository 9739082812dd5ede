"""When a Ctrl-C comes."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupted_after() -> Iterator[None]:
    """A Ctrl-C meanwhile comes at the end: who starts a process knows it by then, and can see to it that it ends."""
    if threading.current_thread() is not threading.main_thread():  # no other is interrupted
        yield
        return
    came: list[int] = []
    as_before = signal.signal(signal.SIGINT, lambda *_: came.append(1)) or signal.SIG_DFL
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, as_before)
    if came:
        signal.raise_signal(signal.SIGINT)
