"""pandas left out until somebody needs it: Arrow imports it as it makes its first array, and a short command makes many and
no frame of pandas. It was more than a quarter of the processor time of a verb that asks no Java.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType


class _Hidden(MetaPathFinder):
    """Finds no pandas, whatever is installed."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(name=fullname)


def leave_pandas_out() -> None:
    """Arrow finds no pandas, and does without from now on. Where it has found it already, nothing changes."""
    hidden = _Hidden()
    sys.meta_path.insert(0, hidden)
    try:
        import pyarrow as pa

        pa.array([0])
    finally:
        sys.meta_path.remove(hidden)


def take_pandas_in() -> None:
    """Arrow looks again: whoever makes frames by Spark may hand it columns of pandas."""
    import pyarrow as pa

    pa.table({}).to_pandas()
