"""Rules by Arrow: as Spark does it."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.pandas.types import from_arrow_schema

from pfspark import ancestors, keyed, merging
from pfspark.ask import evidence
from pfspark.edge.world import views
from pfspark.frame import RULES
from pfspark.keys import BELIEF, HERE, MESSAGE, RANGE_HERE
from pfspark.rows import arrow_schema, local, struct
from pfspark.rules import (
    addressing,
    agenda,
    aging,
    backfill,
    frames,
    hierarchy,
    intake,
    item_edits,
    places,
    receipt,
    sending,
    sources,
    state,
    status,
    violations,
)
from pfspark.tables import CLAIM
from pfspark.twins import TWINS
from pfspark.words import HIERARCHY, PARENT, Action, Entry, Listing, MessageType, Reason, Standing, Why

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = (
    "org string, store string, folder string, at bigint, n bigint, goes boolean, reason string, action string, origin string, "
    "cn bigint, cn_min bigint, cn_max bigint, object string, item string, edit_id string, properties map<string,string>, "
    "type string, lost string, why string, property string, standing string, due bigint, now bigint, age_limit_s bigint, "
    "night boolean, status_again_s array<bigint>, applied bigint, arriving bigint, void bigint, claimed bigint, open bigint, "
    "about string, entry string, life bigint, listing string, peer string, recipient string, message_id string, "
    "by_somebody boolean, above string, branch string, carries array<struct<origin:string,cn_min:bigint,cn_max:bigint>>, "
    f"sender string, status array<{CLAIM}>, asks array<struct<origin:string,cn_min:bigint,cn_max:bigint>>, near boolean, "
    "leaving boolean, heard timestamp, attempt bigint, asked timestamp, site string, relay_status boolean, relayed boolean, "
    "round bigint, restored bigint, decided bigint, place bigint"
)
SCHEMA = arrow_schema(struct(COLUMNS))
NUMBERS = range(1, 7)
MEASURES = (None, 0, 0, 1)
RANGES = [{"origin": origin, "cn_min": number, "cn_max": number + more} for origin in "AB" for number, more in ((1, 2), (4, 0))]
CLAIMS = [{"about": about, "entry": Entry.APPLIED, **each} for about in ("A", "B~3") for each in RANGES]
CELLS: dict[str, Sequence[Any]] = {
    "store": "AB",
    "folder": ("F", "G", "@e", HIERARCHY),
    "at": range(2),
    "n": range(3),
    **dict.fromkeys(("goes", "night", "near", "leaving"), (None, True, False)),
    **dict.fromkeys(("relay_status", "relayed"), (True, False)),
    **dict.fromkeys(("heard", "asked"), (None, *(datetime(2026, 1, day, tzinfo=UTC) for day in (5, 6)))),
    **dict.fromkeys(("attempt", "restored"), range(3)),
    "site": (None, "Paris", "Redmond"),
    "reason": (None, Reason.BAD_VALUE),
    "action": (None, Action.POST, Action.MODIFY, Action.DELETE, Action.CREATE_FOLDER),
    "origin": "AB",
    "cn": NUMBERS,
    "cn_min": range(1, 5),
    "cn_max": range(4, 7),
    "object": "xy",
    "item": (None, "x", "y", "@d", "d"),
    "edit_id": (None, "d", "e", "f"),
    "properties": (None, {}, {PARENT: "@f"}, {"name": "@d", PARENT: "f"}),
    "type": (MessageType.HIERARCHY, MessageType.CONTENT, MessageType.STATUS),
    "lost": (None, Reason.DOWN),
    "why": (Why.SEND, Why.ASK),
    "property": ("name", "age_limit"),
    "standing": (Standing.ACTIVE, Standing.DELETE_PENDING, Standing.DELETE_NOW, Standing.ERASED),
    "due": MEASURES,
    "now": MEASURES,
    "age_limit_s": MEASURES,
    "status_again_s": (None, [], [60, 3600]),
    "about": ("A", "A~2", "B", "B~3"),
    "entry": (Entry.APPLIED, Entry.EMPTY, Entry.REPORTED),
    "life": range(1, 4),
    "listing": (Listing.LISTED, Listing.REMOVED, Listing.GONE),
    "peer": "AB",
    "recipient": "AB",
    "message_id": "m",
    "by_somebody": (True, False),
    "above": (None, "F", "G", "H"),
    "branch": "FH",
    **{name: [RANGES[:end] for end in range(len(RANGES) + 1)] for name in ("carries", "asks")},
    "sender": ("A", "A~2", "B"),
    "status": [CLAIMS[first:] for first in range(len(CLAIMS) + 1)],
    **dict.fromkeys(("applied", "arriving", "void", "claimed", "open", "decided", "place"), MEASURES),
}
"""What stands in each column."""
ORGS, MOST = 400, 4
"""Organizations, each a case by itself, and the rows of each in a frame, at most."""
TAKES = {
    "agenda.entries": 1, "agenda.erased": 1, "agenda.of_kind": 1, "agenda.to_erase": 1, "aging.policies": 1,
    "aging.tonight": 1,
    "ancestors.twice_as_far": 1,
    "backfill.fresh": 1, "backfill.missing": 1, "frames.going": 1, "frames.keys_of": 3, "frames.once": 1, "frames.staying": 1,
    "frames.together": 3, "hierarchy.properties": 1, "intake.as_changes": 1, "intake.issued": 1, "intake.of_folders": 1,
    "intake.of_items": 1, "intake.of_people": 1, "intake.receipts": 3,
    "intake.repeated": 1, "item_edits.changing": 1, "item_edits.posted": 1,
    "item_edits.taken": 1, "sending.recipients": 1, "sending.upon_others": 1, "receipt.accepted": 1,
    "receipt.of_hierarchy": 1, "receipt.of_types": 1, "receipt.recipients": 1, "receipt.unpack": 1, "state.gain": 3,
    "state.hear": 3, "backfill.cover": 4, "sources.content": 1, "sending.hidden": 3, "sending.returned": 1, "sending.waiting": 4,
    "state.canonical": 1, "state.claims": 4, "state.forgotten": 4, "state.layers_of_claims": 1, "state.learn": 3,
    "merging._of_hierarchy": 1, "views._canonical": 1, "views._newest": 1, "views._standing": 1,
    "state.numbers": 1, "state.read_lives": 3, "state.record": 8, "state.tell": 5,
    "state.ranges_of": 1, "status.holders": 1, "status.repeating": 1, "status.speakers": 1,
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
ABOVE, BRANCH = (*HERE, "above"), (*HERE, "branch")
NARROWED: dict[str, Sequence[Sequence[str]]] = {
    "ancestors.twice_as_far": [ABOVE],
    "hierarchy.take_along": [HERE, ABOVE],
    "places.with_those_beneath": [BRANCH, ABOVE],
    "state.gain": [RANGE_HERE] * 3,
    "state.hear": [SCHEMA.names, (*BELIEF, "cn_min", "cn_max"), (*MESSAGE, "status")],
    "addressing.senders": [HERE, SCHEMA.names],
    "backfill.cover": [SCHEMA.names, SCHEMA.names, (*RANGE_HERE, "claimed", "void"), SCHEMA.names],
    "frames.dated": [(*HERE, "life", "standing"), ("org", "now")],
    "receipt.receipts": [SCHEMA.names, (*RANGE_HERE, "message_id")],
    "receipt.sift_each": [SCHEMA.names, RANGE_HERE],
    "views.since_restored": [[name for name in SCHEMA.names if name != "restored"], ("org", "store", "restored")],
    "state.claims": [(*BELIEF, "cn_min", "cn_max"), ("org", "store", "site"), SCHEMA.names, SCHEMA.names],
    "state.read_lives": [SCHEMA.names, (*HERE, "peer", "life"), SCHEMA.names],
    "state.record": [
        *[SCHEMA.names] * 3,
        (*BELIEF, "cn_min", "cn_max", "relayed"),
        ("org", "now"),
        (*HERE, "life"),
        *[SCHEMA.names] * 2,
    ],
}
"""The columns of the frames of a rule that takes them as they are."""
DECLARED = (
    addressing, agenda, aging, ancestors, backfill, evidence, frames, hierarchy, intake, item_edits, merging, sending, places,
    receipt, sources, state, status, views, violations,
)  # fmt: skip
"""Where the rules stand."""


@pytest.fixture(scope="module")
def given_frames(spark: SparkSession) -> list[tuple[pa.Table, DataFrame]]:
    """Frames of all columns, as Arrow has them and as Spark does."""
    draw = random.Random(1)
    orgs = [f"o{nth}" for nth in range(ORGS)]
    tables = [
        table_of(
            [
                {"org": org, **{name: draw.choice(cells) for name, cells in CELLS.items()}, "round": nth}
                for org in orgs
                for nth in range(draw.randint(0, MOST))
            ]
        )
        for _ in range(max(TAKES.values()))
    ]
    return [(table, local(spark, table, struct(COLUMNS))) for table in tables]


def kinds(rows: pa.Table) -> dict[str, str]:
    """What stands in each column, as Spark calls it."""
    return {field.name: field.dataType.simpleString() for field in from_arrow_schema(rows.schema)}


def rows_of(frame: DataFrame | pa.Table) -> Counter[Any]:
    table = frame if isinstance(frame, pa.Table) else frame.toArrow()
    return Counter(str([row[name] for name in sorted(row)]) for row in table.to_pylist())


def said(name: str, rule: Callable[..., Any], given: Sequence[Any]) -> Any:
    """What a rule, or its twin, says of as many of those frames as it takes."""
    some = given[: TAKES.get(name, 2)]
    columns = NARROWED.get(name, [SCHEMA.names] * len(some))
    tables = [each.select(list(names)) for each, names in zip(some, columns, strict=True)]
    parameters = RULES[name].signature.parameters.values()
    words = [each.name for each in parameters if each.kind == each.KEYWORD_ONLY or each.name in NAMED]
    named = {word: NAMED[word] if word in NAMED else tables.pop() for word in words}
    return rule(*tables, **named)


TIMED = {"agenda.entries"}
"""Rules that give times as times, where here they are numbers."""
BESIDE = sorted({*TWINS} - {"agenda.due"})  # of a clock, an organization has one row


@pytest.mark.parametrize("name", BESIDE)
def test_twins_say_the_same(given_frames: list[tuple[pa.Table, DataFrame]], name: str) -> None:
    """As often, too: rows that stand twice stand twice after. Nothing comes of nothing."""
    assert {each.__name__ for each in DECLARED} < sys.modules.keys()
    here, there = ([frame[kind] for frame in given_frames] for kind in (0, 1))
    by_twin, by_rule = said(name, TWINS[name], here), said(name, RULES[name].body, there).toArrow()
    rows = rows_of(by_twin)
    assert rows == rows_of(by_rule)
    assert rows
    assert kinds(by_twin) == kinds(by_rule) or name in TIMED
    nothing = said(name, TWINS[name], [each.slice(0, 0) for each in here])
    assert not nothing.num_rows and kinds(nothing) == kinds(by_twin)


def test_many_names_are_told_apart_as_few_are(
    given_frames: list[tuple[pa.Table, DataFrame]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By their last letters first; some have none, and some are null."""
    names = [*given_frames[0][0].select(["org", "edit_id"]).to_pylist(), *({"org": "o1", "edit_id": ""} for _ in range(2))]
    edits = pa.Table.from_pylist(names)
    few = TWINS["intake.repeated"](edits)
    monkeypatch.setattr(keyed, "MOST", 10)
    assert rows_of(TWINS["intake.repeated"](edits)) == rows_of(few) > Counter()
    ends = {row["edit_id"] for row in few.to_pylist()}
    assert ends == {"", "d", "e", "f", None}


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
