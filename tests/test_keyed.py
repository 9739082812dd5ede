"""Rows by key, picked and replaced by Arrow: as Spark does it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql.pandas.types import to_arrow_schema

from pfspark import keyed
from pfspark.frame import RULES
from pfspark.keyed import TWINS, having, lacking
from pfspark.keys import HERE
from pfspark.rows import struct
from pfspark.rules import checks, frames, intake, item_edits, packing
from pfspark.words import PARENT, Action, Reason

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = (
    "org string, store string, folder string, n bigint, goes boolean, reason string, action string, origin string, cn bigint, "
    "cn_min bigint, cn_max bigint, object string, item string, edit_id string, properties map<string,string>"
)
SCHEMA = to_arrow_schema(struct(COLUMNS))
NUMBER = st.integers(1, 6)
ROW = st.fixed_dictionaries(
    {
        "org": st.just("o"),
        "store": st.sampled_from("AB"),
        "folder": st.sampled_from(["F", "G", "@e"]),
        "n": st.integers(0, 2),
        "goes": st.sampled_from([None, True, False]),
        "reason": st.sampled_from([None, Reason.BAD_VALUE]),
        "action": st.sampled_from([None, Action.POST, Action.MODIFY, Action.DELETE, Action.CREATE_FOLDER]),
        "origin": st.sampled_from("AB"),
        "cn": NUMBER,
        "cn_min": NUMBER,
        "cn_max": NUMBER,
        "object": st.sampled_from("xy"),
        "item": st.sampled_from([None, "x", "y", "@d", "d"]),
        "edit_id": st.sampled_from([None, "d", "e", "f"]),
        "properties": st.sampled_from([None, {}, {PARENT: "@f"}, {"name": "@d", PARENT: "f"}]),
    }
)
ROWS = st.lists(ROW, max_size=4)
TAKES = {
    "frames.going": 1, "frames.keys_of": 3, "frames.once": 1, "frames.staying": 1, "frames.together": 3,
    "intake.as_changes": 1, "intake.of_folders": 1, "intake.of_items": 1, "intake.repeated": 1,
    "item_edits.changing": 1, "item_edits.posted": 1,
}  # fmt: skip
"""How many frames a rule is given, where that is not two."""
DECLARED = (frames, intake, packing, item_edits, checks)
"""Where the rules stand."""


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
    return Counter(str([row[name] for name in sorted(row)]) for row in table.to_pylist())


@pytest.mark.parametrize("name", sorted(TWINS))
@given(one=ROWS, other=ROWS, third=ROWS)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_twins_say_the_same(spark: SparkSession, name: str, one: Any, other: Any, third: Any) -> None:
    """As often, too: rows that stand twice stand twice after."""
    assert {each.__name__ for each in DECLARED} < sys.modules.keys()

    def said(rule: Callable[..., Any], tables: list[Any]) -> Counter[Any]:
        words = [each.name for each in RULES[name].signature.parameters.values() if each.kind == each.KEYWORD_ONLY]
        named = {word: HERE if word == "key" else tables.pop() for word in words}
        return rows_of(rule(*tables, **named))

    given = [one, other, third][: TAKES.get(name, 2)]
    made = [spark.createDataFrame(rows, COLUMNS) for rows in given]
    assert said(TWINS[name], list(map(table_of, given))) == said(RULES[name].body, made)


@given(
    numbers=st.lists(st.integers(1, 40), min_size=1), ends=st.lists(st.tuples(st.integers(1, 40), st.integers(0, 6)), max_size=9)
)
def test_numbers_are_picked_by_ranges_that_overlap(numbers: list[int], ends: list[tuple[int, int]]) -> None:
    """On each line by itself, with its first and its last number."""
    lines = [{"org": "o", "folder": "F", "origin": origin} for origin in "AB"]
    changes = [{**line, "cn": cn} for cn in numbers for line in lines]
    ranges = [{**lines[0], "cn_min": least, "cn_max": least + more} for least, more in ends]
    ranges += [{**lines[1], "cn_min": 41 - each["cn_max"], "cn_max": 41 - each["cn_min"]} for each in ranges]
    picked = TWINS["frames.in_ranges"](table_of(changes), table_of(ranges)).to_pylist()
    expected = [
        each for each in changes
        if any(some["origin"] == each["origin"] and some["cn_min"] <= each["cn"] <= some["cn_max"] for some in ranges)
    ]  # fmt: skip
    assert [(row["origin"], row["cn"]) for row in picked] == [(row["origin"], row["cn"]) for row in expected]


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@pytest.mark.parametrize("fewer", [1, 10**9])
def test_few_keys_pick_what_many_pick(monkeypatch: pytest.MonkeyPatch, fewer: int) -> None:
    """A row each of whose columns stands in some key need not be that of one key."""
    monkeypatch.setattr(keyed, "FEWER", fewer)
    table = pa.table({"org": ["o", "o", "p", "p"] * 3, "folder": ["F", "G", "F", "G"] * 3, "n": range(12)})
    keys = pa.table({"org": ["o", "p"], "folder": ["F", "G"]})
    assert having(table, keys, ("org", "folder"))["n"].to_pylist() == [0, 3, 4, 7, 8, 11]
    assert lacking(table, keys, ("org", "folder"))["n"].to_pylist() == [1, 2, 5, 6, 9, 10]


def test_what_a_frame_lacks_is_null_in_the_union() -> None:
    """As in the rule (`allowMissingColumns`), in the columns of the first."""
    some = pa.table({"org": ["o"], "n": pa.array([1], pa.int64()), "at": pa.array([[1]], pa.list_(pa.int64()))})
    rest = pa.table({"n": pa.array([2], pa.int64()), "org": ["p"]})
    both = TWINS["frames.together"](some, rest)
    assert both.to_pylist() == [{"org": "o", "n": 1, "at": [1]}, {"org": "p", "n": 2, "at": None}]
    assert both.schema == some.schema
