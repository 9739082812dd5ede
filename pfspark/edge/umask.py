"""What the files of this process may be: its umask."""

from __future__ import annotations

import os


def current_umask() -> int:
    """The umask, which can be read by setting it alone; of threads that make files meanwhile they are nobody else's."""
    umask = os.umask(0o077)
    os.umask(umask)
    return umask
