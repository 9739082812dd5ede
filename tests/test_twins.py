"""Rules by Arrow: as Spark does it."""

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

from pfspark.frame import RULES
from pfspark.keys import HERE, LINE
from pfspark.rows import struct
from pfspark.rules import (
    agenda,
    aging,
    backfill,
    checks,
    frames,
    hierarchy,
    intake,
    item_edits,
    packing,
    receipt,
    state,
    status,
)
from pfspark.twins import TWINS
from pfspark.words import PARENT, Action, Entry, Listing, MessageType, Reason, Standing, Why

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = (
    "org string, store string, folder string, n bigint, goes boolean, reason string, action string, origin string, cn bigint, "
    "cn_min bigint, cn_max bigint, object string, item string, edit_id string, properties map<string,string>, type string, "
    "lost string, why string, property string, standing string, due bigint, now bigint, age_limit_s bigint, "
    "status_again_s array<bigint>, applied bigint, arriving bigint, void bigint, claimed bigint, open bigint, "
    "about string, entry string, life bigint, listing string, peer string, recipient string, message_id string, "
    "by_somebody boolean, carries array<struct<origin:string,cn_min:bigint,cn_max:bigint>>"
)
SCHEMA = to_arrow_schema(struct(COLUMNS))
NUMBER = st.integers(1, 6)
MEASURE = st.sampled_from([None, 0, 1])
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
        "type": st.sampled_from([MessageType.HIERARCHY, MessageType.CONTENT, MessageType.STATUS]),
        "lost": st.sampled_from([None, Reason.DOWN]),
        "why": st.sampled_from([Why.SEND, Why.ASK]),
        "property": st.sampled_from(["name", "age_limit"]),
        "standing": st.sampled_from([Standing.ACTIVE, Standing.DELETE_PENDING, Standing.ERASED]),
        "due": MEASURE,
        "now": MEASURE,
        "age_limit_s": MEASURE,
        "status_again_s": st.sampled_from([None, [], [60, 3600]]),
        "about": st.sampled_from(["A", "A~2", "B", "B~3"]),
        "entry": st.sampled_from([Entry.APPLIED, Entry.EMPTY]),
        "life": st.integers(1, 3),
        "listing": st.sampled_from([Listing.LISTED, Listing.REMOVED, Listing.GONE]),
        "peer": st.sampled_from("AB"),
        "recipient": st.sampled_from("AB"),
        "message_id": st.just("m"),
        "by_somebody": st.booleans(),
        "carries": st.lists(
            st.fixed_dictionaries({"origin": st.sampled_from("AB"), "cn_min": NUMBER, "cn_max": NUMBER}), max_size=2
        ),
        **dict.fromkeys(("applied", "arriving", "void", "claimed", "open"), MEASURE),
    }
)
ROWS = st.lists(ROW, max_size=4)
TAKES = {
    "agenda.entries": 1, "agenda.erased": 1, "agenda.of_kind": 1, "agenda.to_erase": 1, "aging.policies": 1,
    "backfill.fresh": 1, "backfill.missing": 1, "frames.going": 1, "frames.keys_of": 3, "frames.once": 1, "frames.staying": 1,
    "frames.together": 3, "hierarchy.properties": 1, "intake.as_changes": 1, "intake.issued": 1, "intake.of_folders": 1,
    "intake.of_items": 1, "intake.of_people": 1, "intake.repeated": 1, "item_edits.changing": 1, "item_edits.posted": 1,
    "item_edits.taken": 1, "packing.recipients": 1, "receipt.accepted": 1, "receipt.of_hierarchy": 1, "receipt.of_types": 1,
    "receipt.recipients": 1, "receipt.unpack": 1, "state.gain": 3, "state.ranges_of": 1, "status.holders": 1,
    "status.repeating": 1, "status.speakers": 1,
}  # fmt: skip
"""How many frames a rule is given, where that is not two."""
NAMED = {
    "key": HERE,
    "entry": Entry.APPLIED,
    "why": Why.ASK,
    "types": (MessageType.CONTENT, MessageType.HIERARCHY),
    "names": ("age_limit", "schedule"),
}
"""What else rules are given."""
ONE_LINE = {"state.gain": (*LINE, "cn_min", "cn_max")}
"""The columns of the frames of a rule whose twin takes those of the first."""
DECLARED = (agenda, aging, backfill, checks, frames, hierarchy, intake, item_edits, packing, receipt, state, status)
"""Where the rules stand."""


def rows_of(frame: DataFrame | pa.Table) -> Counter[Any]:
    table = frame if isinstance(frame, pa.Table) else frame.toArrow()
    return Counter(str([row[name] for name in sorted(row)]) for row in table.to_pylist())


@pytest.mark.parametrize("name", sorted({*TWINS} - {"agenda.due"}))  # of a clock, an organization has one row
@given(one=ROWS, other=ROWS, third=ROWS)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_twins_say_the_same(spark: SparkSession, name: str, one: Any, other: Any, third: Any) -> None:
    """As often, too: rows that stand twice stand twice after."""
    assert {each.__name__ for each in DECLARED} < sys.modules.keys()

    def said(rule: Callable[..., Any], tables: list[Any]) -> Counter[Any]:
        parameters = RULES[name].signature.parameters.values()
        words = [each.name for each in parameters if each.kind == each.KEYWORD_ONLY or each.name in NAMED]
        named = {word: NAMED[word] if word in NAMED else tables.pop() for word in words}
        return rows_of(rule(*tables, **named))

    given = [one, other, third][: TAKES.get(name, 2)]
    columns = list(ONE_LINE.get(name, SCHEMA.names))
    made = [spark.createDataFrame(rows, COLUMNS).select(columns) for rows in given]
    assert said(TWINS[name], [table_of(rows).select(columns) for rows in given]) == said(RULES[name].body, made)


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


def test_entries_fall_due_alike(spark: SparkSession) -> None:
    """By the time of their organization; one that does not play has no time."""
    agenda = [{"org": org, "store": "A", "due": at} for org in "opq" for at in (None, 3, 4, 5)]
    clock = [{"org": "p", "now": 3}, {"org": "o", "now": 4}, {"org": "r", "now": 9}]
    entries, times = (pa.Table.from_pylist(rows) for rows in (agenda, clock))
    due = TWINS["agenda.due"](entries, clock=times)
    assert sorted((row["org"], row["due"]) for row in due.to_pylist()) == [("o", 3), ("o", 4), ("p", 3)]
    assert rows_of(due) == rows_of(RULES["agenda.due"].body(spark.createDataFrame(entries), clock=spark.createDataFrame(times)))


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def test_what_a_frame_lacks_is_null_in_the_union() -> None:
    """As in the rule (`allowMissingColumns`), in the columns of the first."""
    some = pa.table({"org": ["o"], "n": pa.array([1], pa.int64()), "at": pa.array([[1]], pa.list_(pa.int64()))})
    rest = pa.table({"n": pa.array([2], pa.int64()), "org": ["p"]})
    both = TWINS["frames.together"](some, rest)
    assert both.to_pylist() == [{"org": "o", "n": 1, "at": [1]}, {"org": "p", "n": 2, "at": None}]
    assert both.schema == some.schema
