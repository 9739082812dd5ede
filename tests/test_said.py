"""What people say, read by Arrow: as the rules read it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

from pfspark import said
from pfspark.edge.world.directory import entries
from pfspark.rules import hierarchy, intake
from tests.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STORES = "org string, store string, retired boolean, at timestamp, start timestamp"
MICROS = [None, 0, 10**15, 1_767_571_200_000_000, 253_402_300_799_000_000, 9 * 10**18, -(9 * 10**18)]
"""Moments of all kinds: none, 1970, 2001, 2026, the end of year 9999, and such as no calendar has."""
SAID = st.lists(
    st.tuples(
        st.sampled_from(["o", "p", None]), st.sampled_from("AB"), st.sampled_from([True, False, None]), st.sampled_from(MICROS),
        st.sampled_from(MICROS),
    ),
    max_size=6,
)  # fmt: skip


def rows_of(frame: DataFrame | pa.Table) -> Counter[Any]:
    """The rows, as often as they stand there; moments by microseconds, for Python has no word for some."""
    if isinstance(frame, pa.Table):
        moments = {name: frame[name].cast(pa.int64()) for name in frame.column_names if pa.types.is_timestamp(frame[name].type)}
        table = pa.table({name: moments.get(name, frame[name]) for name in frame.column_names})
    else:
        table = frame.toArrow()
        return rows_of(table)
    return Counter(tuple(row[name] for name in sorted(row)) for row in table.to_pylist())


def both(spark: SparkSession, rows: list[Any]) -> tuple[DataFrame, pa.Table]:
    """Those rows as a frame and as an Arrow table, their moments told by microseconds."""
    told = frame_of(spark, rows, STORES.replace("timestamp", "bigint"))
    moments = {name: F.timestamp_micros(name) for name in ("at", "start")}
    schema = pa.schema(
        [("org", pa.string()), ("store", pa.string()), ("retired", pa.bool_())]
        + [(name, pa.timestamp("us", tz="UTC")) for name in moments]
    )
    columns = zip(*rows, strict=True) if rows else [[]] * len(schema)
    return told.withColumns(moments), pa.table(
        [pa.array(each, field.type) for each, field in zip(columns, schema, strict=True)], schema=schema
    )


@given(rows=SAID)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_entries_of_the_directory_are_the_latest_that_were_said(spark: SparkSession, rows: list[Any]) -> None:
    """By whichever path they are read; what is said at a moment outside all calendars nobody could correct: it is not said."""
    frame, table = both(spark, rows)
    expected = entries(frame, ("org", "store"))
    assert rows_of(said.entries(table, ("org", "store"))) == rows_of(expected)
    backwards = table.take(pa.array(reversed(range(len(rows))), pa.int64()))
    assert rows_of(said.entries(backwards, ("org", "store"))) == rows_of(expected)
    assert {*said.entries(table, ("org", "store"))["retired"].to_pylist()} <= {True, False}
    stores = expected.where("org is not null")
    told = stores.select("org", "store", "retired").toArrow()
    assert rows_of(said.everywhere(told)) == rows_of(hierarchy.everywhere(stores))


@given(rows=SAID)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_edits_are_legible_alike(spark: SparkSession, rows: list[Any]) -> None:
    frame, table = both(spark, rows)
    renamed = {"store": "edit_id", "start": "written"}
    expected = rows_of(intake.legible(frame.withColumnsRenamed(renamed)))
    assert rows_of(said.legible(table.rename_columns(renamed))) == expected
    assert rows_of(said.legible(table.rename_columns({"org": "edit_id", "store": "org", "start": "written"}))) == rows_of(
        intake.legible(frame.withColumnsRenamed({"org": "edit_id", "store": "org", "start": "written"}))
    )
