"""Many rows go to the executors and come back by files: the same rows, gone when nobody reads them any more."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import pfspark.execute
from pfspark import mapped
from pfspark.edge.spark import crossing
from pfspark.execute import Made, execute
from pfspark.frame import source
from pfspark.rows import rows_of, schema_of
from pfspark.rules import frames
from pfspark.twins import TWINS

STAMP = {"at": datetime(1601, 1, 1, microsecond=1, tzinfo=UTC), "origin": "PFS1", "cn": 2**62}
CHANGES: list[dict[str, Any]] = [
    {
        "org": "main", "folder": "Sälés", "origin": f"PFS{n}", "cn": n, "object": None, "action": "post", "size": None,
        "properties": [{"name": "note", "value": None, "stamp": STAMP}] * n, "predecessors": None if n else [],
        "made_at": datetime(9999, 12, 31, tzinfo=UTC), "at": STAMP["at"], "round": 3,
    } for n in range(5)
]  # fmt: skip


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the files are, while they are; five rows are many."""
    monkeypatch.setattr(pfspark.execute, "LARGE", 5)
    monkeypatch.setattr(mapped, "HELD", 0)
    monkeypatch.setattr(crossing, "_place", lambda: tmp_path)
    yield tmp_path
    gc.collect()
    assert [*tmp_path.iterdir()] == []


def said(rows: pa.Table) -> list[dict[str, Any]]:
    return sorted(rows.to_pylist(), key=str)


def test_rows_are_the_same_there_and_back(spark: SparkSession, place: Path) -> None:
    """Of any type, null or not, at any time, and in the columns of the table."""
    rows = rows_of("changes", CHANGES)
    frame = crossing.to_frame(spark, rows, schema_of("changes"))
    assert len([*place.rglob("*.parquet")]) == 1
    assert said(frame.toArrow()) == said(rows)
    left = crossing.keep(frame.repartition(2))
    assert left is not None and left.rows == 5
    del frame
    assert said(left.frame.toArrow()) == said(rows)
    brought = left.collect()
    assert said(brought) == said(rows)
    assert brought.schema.equals(left.frame.toArrow().schema) and all(file for _, file in mapped.files_of(brought))


def test_files_go_with_the_steps_that_read_them(spark: SparkSession, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As soon as all rows that are wanted are here, whenever Python looks for circles."""
    for name in ("frames.once", "frames.together"):
        monkeypatch.delitem(TWINS, name)
    rows = rows_of("changes", CHANGES)
    schema = schema_of("changes")

    def given() -> dict[str, Made]:
        return {"changes": Made(lambda session: crossing.to_frame(session, rows, schema), rows, schema=schema)}

    gc.disable()
    try:
        made = frames.once(frames.together(frames.once(source("changes"))))
        assert said(execute(spark, {"made": made}, given(), crossing.BY_FILES)["made"]) == said(rows)
        assert [*place.iterdir()] == []
    finally:
        gc.enable()


def test_no_rows_are_none(spark: SparkSession, place: Path) -> None:
    left = crossing.keep(spark.range(3).where("id > 5"))
    assert left is not None and (left.rows, left.frame.count(), left.collect().num_rows) == (0, 0, 0)


def test_few_rows_go_without_a_file(spark: SparkSession, place: Path) -> None:
    rows = rows_of("changes", CHANGES[:4])
    assert said(crossing.to_frame(spark, rows, schema_of("changes")).toArrow()) == said(rows)
    assert [*place.iterdir()] == []


def test_what_cannot_be_computed_is_raised_and_leaves_nothing(spark: SparkSession, place: Path) -> None:
    with pytest.raises(Exception, match="it cannot be"):
        crossing.keep(spark.range(3).select(F.raise_error(F.lit("it cannot be")).cast("string").alias("n")))


def test_where_no_file_can_be_written_rows_go_as_they_are(
    spark: SparkSession, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_rows: pa.Table, where: Path, **_how: Any) -> None:
        where.write_bytes(b"PAR1")
        raise OSError(28, "No space left on device")

    rows = rows_of("changes", CHANGES)
    with monkeypatch.context() as patch:
        patch.setattr(pyarrow.parquet, "write_table", full)
        assert said(crossing.to_frame(spark, rows, schema_of("changes")).toArrow()) == said(rows)
    monkeypatch.setattr(crossing, "_place", lambda: place / "there is no such folder")
    assert said(crossing.to_frame(spark, rows, schema_of("changes")).toArrow()) == said(rows)
