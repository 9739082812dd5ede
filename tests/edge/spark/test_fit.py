"""What a session, and the Arrow beside it, have to be."""

from __future__ import annotations

import tomllib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pfspark.edge.delta.tables import Tables
from pfspark.edge.session import open_session
from pfspark.edge.spark.fit import OLDEST_ARROW, expect_arrow
from pfspark.errors import SparkStartError
from pfspark.lake import Lake
from tests.edge.processes import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("version", ["19.0.1", "23.0.0"])
def test_an_arrow_that_gives_wrong_values_is_refused(
    spark: SparkSession, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever something begins: with a session, or with a lake, though that one asks for none."""
    expect_arrow()
    monkeypatch.setattr(pa, "__version__", version)
    place = tmp_path / "lake"
    opened = [partial(Tables, session, place) for session in (spark, lambda: spark)]
    for begin in (open_session, partial(Lake.create, place), *opened):
        with pytest.raises(SparkStartError, match=rf"pyarrow {version} is installed here, expected 24 or newer.*pyarrow>=24"):
            begin()
    assert not place.exists()


def test_what_pip_brings_gives_none() -> None:
    said = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert f"pyarrow>={OLDEST_ARROW}" in said


def test_of_columns_in_unequal_chunks_values_are_right() -> None:
    """What an older Arrow gets wrong: the null of the second chunk is a zero there, or none."""
    one = pa.chunked_array([pa.array([True, None]), pa.array([None, True])])
    other = pa.chunked_array([pa.array([True]), pa.array([False, None, None])])
    texts = pa.chunked_array([pa.array(["a"]), pa.array(["b", "c", "d"])])
    assert pc.coalesce(one, other).to_pylist() == [True, False, None, True]
    assert pc.and_kleene(one, other).to_pylist() == [True, False, None, None]
    assert pc.if_else(one, texts, pa.scalar(None, pa.string())).to_pylist() == ["a", None, None, "d"]
    assert pc.if_else(pc.is_valid(one), texts, None).to_pylist() == ["a", None, None, "d"]
