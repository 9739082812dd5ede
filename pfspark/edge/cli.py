"""The command line."""

from __future__ import annotations

import sys
from importlib.metadata import version


def main() -> None:
    """Only `--version` yet."""
    if sys.argv[1:] != ["--version"]:
        sys.exit("pfspark: only --version yet")
    print(version("pfspark"))
