"""The reference of the Python modules, as pages made of their docstrings."""

from __future__ import annotations

import os
import shutil
import warnings
from pathlib import Path

from pfspark.edge import config
from pfspark.errors import UsageError

MODULES = ("pfspark", "!pfspark.cli", "!pfspark.edge", "!pfspark.engine", "!pfspark.sim", "!pfspark.__main__")
"""What is documented: what a notebook imports, and the rules; not how lakes, commands and scenario files are kept and read."""
FIRST = "pfspark.html"


def write(folder: Path) -> Path:
    """Writes the pages into a new folder; the first of them.

    Raises UsageError for a folder that is there already or cannot be made, and where pdoc is not installed.
    """
    try:
        import pdoc
        import pdoc.render
    except ImportError:
        raise UsageError("pdoc writes the pages, and is not installed here: pip install 'pfspark[docs]'") from None
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise UsageError(f"{str(folder)!r} is there already, expected a new folder: nothing is written over") from None
    except OSError as error:
        raise UsageError(f"{str(folder)!r} cannot be made: {error.strerror}") from None
    pdoc.render.configure(
        docformat="markdown", show_source=False, footer_text=f"pfspark {config.installed_version() or '(a checkout)'}"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that modules import for the eyes of mypy alone
        pdoc.pdoc(*MODULES, output_directory=folder)
    return folder / FIRST


def kept() -> Path:
    """The first of the pages of this very pfspark in the user's cache folder, written if they are not there.

    Those of any other, such as a checkout before it was edited, make room for them.
    """
    from pfspark.edge.spark.installed import cache_folder

    place = cache_folder() / "reference" / config.stamp()
    if not (place / FIRST).is_file():
        half = place.with_suffix(f".{os.getpid()}")
        write(half)
        for old in place.parent.iterdir():
            if old != half:
                shutil.rmtree(old, ignore_errors=True)
        half.rename(place)
    return place / FIRST
