"""The examples in docstrings, run as written; those of modules that use Spark have `spark` and `F` at hand."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).parents[1] / "pfspark"


def dotted(file: Path) -> str:
    return ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)


WITH_EXAMPLES = [file for file in sorted(PACKAGE.rglob("*.py")) if ">>>" in file.read_text()]


@pytest.mark.parametrize("file", WITH_EXAMPLES, ids=dotted)
def test_examples_run_as_written(file: Path, request: pytest.FixtureRequest) -> None:
    module = importlib.import_module(dotted(file))
    at_hand: dict[str, Any] = {}
    if "pyspark" in file.read_text():
        from pyspark.sql import functions

        at_hand = {"spark": request.getfixturevalue("spark"), "F": functions}
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    done = doctest.testmod(module, extraglobs=at_hand, optionflags=flags)
    assert done.attempted and not done.failed
