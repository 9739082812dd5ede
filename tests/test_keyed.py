"""Rows by key, picked and replaced by Arrow: as Spark does it."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pfspark.frame import RULES
from pfspark.keyed import TWINS, having, lacking
from pfspark.rules import intake, packing
from pfspark.rules.frames import amend
from pfspark.words import Action, Reason

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = "org string, store string, folder string, n bigint, goes boolean, reason string, action string"
KEYS = [(name, pa.string()) for name in ("org", "store", "folder")]
SCHEMA = pa.schema([*KEYS, ("n", pa.int64()), ("goes", pa.bool_()), ("reason", pa.string()), ("action", pa.string())])
ROW = st.tuples(
    st.just("o"),
    st.sampled_from("AB"),
    st.sampled_from("FG"),
    st.integers(0, 2),
    st.sampled_from([None, True, False]),
    st.sampled_from([None, Reason.BAD_VALUE]),
    st.sampled_from([None, Action.POST, Action.MODIFY, Action.DELETE, Action.CREATE_FOLDER]),
)
ROWS = st.lists(ROW, max_size=4)
TAKES = {
    "frames.going": 1, "frames.keys_of": 3, "frames.once": 1, "frames.staying": 1, "frames.together": 3,
    "intake.as_changes": 1, "intake.of_folders": 1, "intake.of_items": 1, "packing.revisions": 1,
}  # fmt: skip
"""How many frames a rule is given, where that is not two."""


def test_rows_are_picked_by_key_in_their_order() -> None:
    """Whatever other columns hold; what is null is like nothing."""
    table = pa.table({"org": ["o", "o", "p", "o", None], "folder": ["F", "G", "F", "F", "F"], "n": [[1], [2], [3], [], None]})
    keys = pa.table({"folder": ["F", "F", None], "org": ["o", "o", None]})
    assert having(table, keys, ("org", "folder"))["n"].to_pylist() == [[1], []]
    assert lacking(table, keys, ("org", "folder"))["n"].to_pylist() == [[2], [3], None]
    assert having(table, keys.slice(0, 0), ["org"]).num_rows == 0
    assert lacking(table, keys.slice(0, 0), ["org"]) is table
    assert having(table.slice(0, 2), keys, ["org"]).num_rows == 2


def rows_of(frame: DataFrame | pa.Table) -> Counter[Any]:
    table = frame if isinstance(frame, pa.Table) else frame.toArrow()
    return Counter(tuple(row[name] for name in sorted(row)) for row in table.to_pylist())


@pytest.mark.parametrize("name", sorted(TWINS))
@given(one=ROWS, other=ROWS, third=ROWS)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_twins_say_the_same(spark: SparkSession, name: str, one: Any, other: Any, third: Any) -> None:
    """As often, too: rows that stand twice stand twice after."""
    assert {amend.__module__, intake.__name__, packing.__name__} < sys.modules.keys()  # so that the rules are declared
    named = {"key": ("org", "store", "folder")} if name == "frames.amend" else {}
    given = [one, other, third][: TAKES.get(name, 2)]
    tables = [pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], schema=SCHEMA) for rows in given]
    frames = [spark.createDataFrame(rows, COLUMNS) for rows in given]
    assert rows_of(TWINS[name](*tables, **named)) == rows_of(RULES[name].body(*frames, **named))


def test_what_a_frame_lacks_is_null_in_the_union() -> None:
    """As in the rule (`allowMissingColumns`), in the columns of the first."""
    some = pa.table({"org": ["o"], "n": pa.array([1], pa.int64()), "at": pa.array([[1]], pa.list_(pa.int64()))})
    rest = pa.table({"n": pa.array([2], pa.int64()), "org": ["p"]})
    both = TWINS["frames.together"](some, rest)
    assert both.to_pylist() == [{"org": "o", "n": 1, "at": [1]}, {"org": "p", "n": 2, "at": None}]
    assert both.schema == some.schema
