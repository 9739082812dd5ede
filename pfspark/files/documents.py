"""Files in the language of scenarios: found, and read as TOML."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, AnyStr

from pfspark.errors import ScenarioError, UsageError

Document = str | os.PathLike[str] | Mapping[str, Any]
"""A file in the language of scenarios, or what one says."""
LONGEST_FILE = 16 * 2**20
"""Bytes of a file: a hundred times those of a scenario with a thousand steps."""
MOST_DOTS = 32
"""Parts of a dotted key. The key that goes deepest here has four; what a reader of TOML takes for one grows with their square."""
_PART = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+"""
_DOTTED = re.compile(rf"""(?<![\w."'\\-])(?:{_PART}){{{MOST_DOTS}}}""")


def document(of: Document, called: str = "what is declared") -> tuple[Mapping[str, Any], str]:
    """What a file says, or what one would; with what stands in errors about it."""
    if isinstance(of, Mapping):
        return of, called
    path = Path(of)
    return toml(text_of(path), str(path)), str(path)


def text_of(path: Path) -> str:
    """The text of a file. Raises UsageError for one that cannot be read, ScenarioError for one that is no text."""
    try:
        with path.open("rb") as opened:
            return _short(opened.read(LONGEST_FILE + 1), str(path)).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: cannot be read as text: {error}. Expected UTF-8: save it so") from None
    except (OSError, ValueError) as error:  # a name may hold what no path can
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{path}: cannot be read: {reason}. Expected a TOML file, or a folder of scenario files") from None


def _short(text: AnyStr, file: str) -> AnyStr:
    """That text, unless it is too long to be looked at."""
    if len(text) > LONGEST_FILE:
        raise ScenarioError(f"{file}: more than {LONGEST_FILE // 2**20} MiB, expected a scenario; split it into several files")
    return text


def toml(text: str, file: str) -> dict[str, Any]:
    """What a text says as TOML; one that is none is a ScenarioError."""
    if dotted := _DOTTED.search(_short(text, file)):
        place = f"{file}:{text.count(chr(10), 0, dotted.start()) + 1}"
        raise ScenarioError(f"{place}: a key of more than {MOST_DOTS} parts, expected at most four, as in policy.x.y")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = found[1] if found else len(text.splitlines())
        raise ScenarioError(f"{file}:{line}: not TOML: {error}") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, lists in lists in lists
        raise ScenarioError(f"{file}: cannot be read as TOML: {error}") from None
