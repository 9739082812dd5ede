"""Where the values of the profiles are found."""

from __future__ import annotations

from pathlib import Path


def conf_folder() -> Path:
    """The folder of profiles, scenarios and demo mail: inside the package when installed, beside it in a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "conf"
    return installed if installed.is_dir() else package.parent / "conf"
