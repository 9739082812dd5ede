"""What a terminal shows at once, while what draws it better (`edge/live.py`) is still to be imported."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def briefly(what: str) -> Iterator[None]:
    """Shows a few plain words on stderr until that is over, then nothing in their place. Where nobody looks: nothing."""
    if not sys.stderr.isatty():
        yield
        return
    print(what, end="\r", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        print(" " * len(what), end="\r", file=sys.stderr, flush=True)
