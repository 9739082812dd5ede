"""What comes with pfspark, and which one this is."""

from __future__ import annotations

from pathlib import Path


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
