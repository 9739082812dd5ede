"""The examples in docstrings, run as written; those of modules that use Spark have `spark`, `F` and `frame` at hand."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import TimestampType

import pfspark.lake
from pfspark.rows import arrow, local, struct
from pfspark.tables import EVERY, FRAMES
from pfspark.units import parse_time

PACKAGE = Path(__file__).parents[1] / "pfspark"


def dotted(file: Path) -> str:
    return ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)


WITH_EXAMPLES = [file for file in sorted(PACKAGE.rglob("*.py")) if ">>>" in file.read_text()]


def frame_in(spark: SparkSession) -> Callable[..., DataFrame]:
    """What makes a table, a view or a frame of a round of some rows: what they do not say is null, times are UTC."""

    def frame(name: str, *rows: Mapping[str, Any]) -> DataFrame:
        schema = struct({**FRAMES, **EVERY}[name].ddl)
        times = {field.name for field in schema if isinstance(field.dataType, TimestampType)}
        said = [{key: parse_time(value) if key in times else value for key, value in row.items()} for row in rows]
        return local(spark, arrow(schema, said), schema)

    return frame


@pytest.mark.parametrize("file", WITH_EXAMPLES, ids=dotted)
def test_examples_run_as_written(file: Path, request: pytest.FixtureRequest) -> None:
    module = importlib.import_module(dotted(file))
    at_hand: dict[str, Any] = {}
    if "pyspark" in file.read_text():
        from pyspark.sql import functions

        spark = request.getfixturevalue("spark")
        at_hand = {"spark": spark, "F": functions, "frame": frame_in(spark)}
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    done = doctest.testmod(module, extraglobs=at_hand, optionflags=flags)
    assert done.attempted and not done.failed


@pytest.mark.lakes
@pytest.mark.parametrize(
    ("package", "told"),
    [
        (pfspark, ["PFS2 has PFS1:1.", "gives it its number", "with the steps"]),
        (pfspark.lake, ["PFS1:1"]),
    ],
    ids=["pfspark", "pfspark.lake"],
)
def test_what_help_teaches_runs_as_written(
    package: ModuleType, told: list[str], spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The indented lines of a package's docstring, one after another, on a lake in a place of its own."""
    taught = inspect.cleandoc(package.__doc__ or "").splitlines()
    script = "\n".join(line.removeprefix("    ") for line in taught if line.startswith("    "))
    assert script.count('"/data/lake"') == 1
    names: dict[str, Any] = {}
    exec(script.replace("/data/lake", str(tmp_path / "lake")), names)  # noqa: S102 our own words
    with names["lake"] as lake:
        assert {(line["store"], line["applied"]) for line in lake.lines("state", folder="/Sales")} == {
            ("PFS1", "PFS1:1"), ("PFS2", "PFS1:1"),
        }  # fmt: skip
    shown = capsys.readouterr().out
    assert len(re.findall(r"^\| *org\|", shown, re.MULTILINE)) == script.count(".show()")
    assert [words for words in told if words not in shown] == []
