"""What comes with pfspark, which one this is, and what the file of a folder is called."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

CONFIGURATION = "pfspark.toml"
"""The file of a folder, for commands that are given in it: see `edge/configuration.py`."""


def conf_folder() -> Path:
    """The folder of profiles, scenarios and demo mail: inside the package when installed, beside it in a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "conf"
    return installed if installed.is_dir() else package.parent / "conf"


def installed_version() -> str | None:
    """The version of pfspark that is installed; None: this is a checkout."""
    from importlib.metadata import PackageNotFoundError, version  # slow to import, and few commands ask

    try:
        return version("pfspark")
    except PackageNotFoundError:
        return None


def stamp() -> str:
    """What tells this pfspark from any other, a checkout that was edited meanwhile too."""
    package = Path(__file__).parents[1]
    edited = max(file.stat().st_mtime_ns for file in package.rglob("*.py"))
    said = json.dumps([installed_version() or "", sys.version, str(package), edited])
    return hashlib.sha256(said.encode()).hexdigest()[:16]
