"""Rules by Arrow: as Spark does it."""

from __future__ import annotations

import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import product
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.pandas.types import from_arrow_schema

from pfspark import ancestors, cnarrow, cntext, keyed, merging
from pfspark.ask import evidence
from pfspark.edge.world import views
from pfspark.frame import RULES
from pfspark.keys import BELIEF, HERE, MESSAGE, ORIGIN, ORIGIN_HERE, RANGE_HERE
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
    packing,
    places,
    receipt,
    removal,
    sending,
    sources,
    state,
    status,
    transport,
    violations,
)
from pfspark.tables import CLAIM, FRAMES, TABLES, VIEWS
from pfspark.twins import TWINS
from pfspark.words import HIERARCHY, PARENT, Action, Entry, Flag, Listing, MessageType, Reason, Standing, Why

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = (
    "org string, store string, folder string, at bigint, n bigint, goes boolean, reason string, action string, origin string, "
    "cn bigint, cn_min bigint, cn_max bigint, object string, item string, edit_id string, properties map<string,string>, "
    "type string, lost string, why string, property string, standing string, due timestamp, now timestamp, age_limit_s bigint, "
    "night boolean, asker string, size bigint, bytes bigint, interval_s bigint, schedule string, start timestamp, "
    "suspended boolean, backfill_local_s array<bigint>, backfill_remote_s array<bigint>, delete_pending_timeout_s bigint, "
    "maintenance_s bigint, status_after_s bigint, status_clock_s array<bigint>, batch int, peers array<string>, "
    "responders array<string>, flags array<string>, since timestamp, cut boolean, down boolean, sent timestamp, "
    "silent timestamp, stamped boolean, status_again_s array<bigint>, "
    "applied bigint, arriving bigint, void bigint, claimed bigint, open bigint, "
    "about string, entry string, life bigint, listing string, peer string, recipient string, message_id string, "
    "by_somebody boolean, above string, branch string, carries array<struct<origin:string,cn_min:bigint,cn_max:bigint>>, "
    f"sender string, status array<{CLAIM}>, asks array<struct<origin:string,cn_min:bigint,cn_max:bigint>>, near boolean, "
    "leaving boolean, heard timestamp, attempt bigint, asked timestamp, site string, relay_status boolean, relayed boolean, "
    "round bigint, restored bigint, decided bigint, place bigint, dead boolean, last bigint, rows bigint, numbers bigint, "
    "name string, hash string, nth int, upon array<struct<origin:string,cn:bigint>>, known_as string, label string, "
    "predecessors array<struct<origin:string,cn:bigint>>, within string, on boolean, "
    "leaver boolean, value string, removal_rule string, answer_when string"
)
SCHEMA = arrow_schema(struct(COLUMNS))
NUMBERS = range(1, 7)
MEASURES = (None, 0, 0, 1)
MOMENTS = [datetime(2026, 1, day, hour, 5, tzinfo=UTC) for day, hour in ((5, 1), (5, 12), (6, 23))]
MOMENTS.append(datetime(1969, 12, 31, 11, 59, 7, 5, tzinfo=UTC))  # before all that are counted from
RANGES = [{"origin": origin, "cn_min": number, "cn_max": number + more} for origin in "AB" for number, more in ((1, 2), (4, 0))]
CLAIMS = [{"about": about, "entry": Entry.APPLIED, **each} for about in ("A", "B~3") for each in RANGES]
CELLS: dict[str, Sequence[Any]] = {
    "store": "AB",
    "folder": ("F", "G", "@e", HIERARCHY),
    "at": range(2),
    "n": range(3),
    **dict.fromkeys(("goes", "night", "near", "leaving"), (None, True, False)),
    **dict.fromkeys(("relay_status", "relayed"), (True, False)),
    **dict.fromkeys(("heard", "asked", "due", "sent", "silent", "since"), (None, *MOMENTS)),
    **dict.fromkeys(("now", "start"), MOMENTS),
    **dict.fromkeys(("suspended", "stamped"), (True, False)),
    **dict.fromkeys(("cut", "down"), (True, False, False)),
    **dict.fromkeys(("name", "hash", "known_as"), (None, "x", "y")),
    "label": ("A", "A~2"),
    "nth": range(1, 5),
    **dict.fromkeys(("upon", "predecessors"), ([], [{"origin": "A", "cn": 1}])),
    "within": (None, "F", "H"),
    "on": (None, None, True, False),
    "leaver": (True, False),
    "value": (Listing.LISTED, Listing.REMOVED),
    "removal_rule": ("union_holds_all", "one_holds_all"),
    "answer_when": ("always", "missing"),
    "dead": (None, True, False),
    "last": (None, 0, 1),
    **dict.fromkeys(("rows", "numbers"), (2, 3, 4)),
    "asker": (None, "A", "C"),
    **dict.fromkeys(("size", "bytes"), range(4)),
    "interval_s": (None, 0, 900, 86400),
    "schedule": (None, "", "0-15,1920-2040", "1930-1935", "10065-10080", "2165-2170", "now"),
    **{f"backfill_{where}_s": [[some, 2 * some, 3 * some]] for where, some in (("local", 600), ("remote", 7200))},
    **dict.fromkeys(("delete_pending_timeout_s", "status_after_s"), (300, 100_000)),
    "maintenance_s": (7200, 46800),
    "status_clock_s": ([], [21600], [4200, 86000]),
    "batch": range(2),
    "peers": (["A"], ["A", "C"], ["B"]),
    "responders": ([], ["A"], ["A", "B"]),
    "flags": (None, [], [Flag.DELETE_PENDING], [Flag.ACKNOWLEDGE, Flag.DELETE_PENDING]),
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
    "property": ("name", "age_limit", "replica:A", "replica:B"),
    "standing": (Standing.ACTIVE, Standing.DELETE_PENDING, Standing.DELETE_NOW, Standing.ERASED),
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
ORGS, MOST = 800, 4
"""Organizations, each a case by itself, and the rows of each in a frame, at most."""
TAKES = {
    "addressing.requests": 1, "addressing.responses": 1, "addressing.written": 3, "agenda.decided": 3, "agenda.update": 4,
    "removal.acknowledgements": 4, "removal.unlisted": 3, "status.answer": 6, "status.behind": 3,
    "backfill.answer": 3, "backfill.asked_now": 1, "backfill.steps": 3, "backfill.unless_suspended": 3, "backfill.unserved": 3,
    "item_edits.as_changes": 1, "receipt.validate": 3,
    "sending.updates": 4, "sources.remember": 3, "transport.arrive": 4,
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
    "about": "about",
    "entry": Entry.APPLIED,
    "why": Why.ASK,
    "types": (MessageType.CONTENT, MessageType.HIERARCHY),
    "names": ("age_limit", "schedule"),
}
"""What else rules are given."""
ABOVE, BRANCH = (*HERE, "above"), (*HERE, "branch")
NARROWED: dict[str, Sequence[Sequence[str]]] = {
    "addressing.answers": [(*HERE, "peer", "flags"), (*HERE, "peer")],
    "addressing.changes": [FRAMES["packed"].names, (*HERE, "peer")],
    "addressing.requests": [FRAMES["asks"].names],
    "addressing.responses": [FRAMES["packed"].names],
    "addressing.unasked": [HERE, (*HERE, "peer")],
    "addressing.written": [FRAMES["drafts"].names] * 3,
    "agenda.update": [*[SCHEMA.names] * 3, FRAMES["entries"].names],
    "item_edits.as_changes": [FRAMES["written_items"].names],
    "item_edits.record_posts": [FRAMES["numbered_items"].names, SCHEMA.names],
    "removal.acknowledgements": [
        FRAMES["validated"].names,
        ("org", "removal_rule"),
        (*HERE, "standing", "at"),
        VIEWS["letters"].names,
    ],
    "state.current_only": [[name for name in SCHEMA.names if name != "life"], SCHEMA.names],
    "state.from_current_replicas": [FRAMES["validated"].names, (*HERE, "peer", "life")],
    "status.answer": [
        FRAMES["status_requests"].names,
        ("org", "answer_when"),
        SCHEMA.names,
        SCHEMA.names,
        RANGE_HERE,
        RANGE_HERE,
    ],
    "status.asked_for": [FRAMES["validated"].names, VIEWS["letters"].names],
    "status.behind": [RANGE_HERE, (*HERE, "peer"), SCHEMA.names],
    "violations.misnumbered": [FRAMES["issued"].names, (*ORIGIN, "last")],
    "receipt.validate": [FRAMES["delivered"].names, SCHEMA.names, SCHEMA.names],
    "backfill.answer": [SCHEMA.names, RANGE_HERE, RANGE_HERE],
    "backfill.due": [FRAMES["noted"].names, SCHEMA.names],
    "backfill.enter": [VIEWS["array"].names, SCHEMA.names],
    "backfill.retry": [FRAMES["chosen"].names, SCHEMA.names],
    "backfill.steps": [FRAMES["noted"].names, SCHEMA.names, SCHEMA.names],
    "backfill.unless_suspended": [FRAMES["chosen"].names, SCHEMA.names, SCHEMA.names],
    "sending.updates": [(*RANGE_HERE, "asker"), RANGE_HERE, (*ORIGIN_HERE, "cn"), SCHEMA.names],
    "transport.arrive": [VIEWS["mail"].names, SCHEMA.names, SCHEMA.names, VIEWS["conditions"].names],
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
    addressing, agenda, aging, ancestors, backfill, evidence, frames, hierarchy, intake, item_edits, merging, packing, sending,
    places, receipt, removal, sources, state, status, transport, views, violations,
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


def in_chunks(rows: pa.Table) -> pa.Table:
    """The same rows, lying here and there."""
    return pa.concat_tables(rows.slice(first, 37) for first in range(0, rows.num_rows, 37)) if rows.num_rows else rows


def rows_of(frame: DataFrame | pa.Table) -> Counter[Any]:
    table = frame if isinstance(frame, pa.Table) else frame.toArrow()
    return Counter(str([row[name] for name in sorted(row)]) for row in table.to_pylist())


def as_numbers(frame: Any) -> Any:
    """With how many are `near` and `leaving`, in place of whether one is."""
    if isinstance(frame, pa.Table):
        return keyed.with_columns(frame, **{name: frame[name].cast(pa.int64()) for name in COUNTED & {*frame.column_names}})
    return frame.withColumns({name: frame[name].cast("bigint") for name in COUNTED & {*frame.columns}})


def said(name: str, rule: Callable[..., Any], given: Sequence[Any]) -> Any:
    """What a rule, or its twin, says of as many of those frames as it takes."""
    some = given[: TAKES.get(name, 2)]
    columns = NARROWED.get(name, [SCHEMA.names] * len(some))
    tables = [each.select(list(names)) for each, names in zip(some, columns, strict=True)]
    parameters = RULES[name].signature.parameters.values()
    words = [each.name for each in parameters if each.kind == each.KEYWORD_ONLY or each.name in NAMED]
    tables = [as_numbers(each) for each in tables] if name in OF_COUNTS else tables
    named = {word: NAMED[word] if word in NAMED else tables.pop() for word in words}
    return rule(*tables, **named)


OF_COUNTS = {"backfill.asked_now", "backfill.due", "backfill.next_due", "backfill.retry", "backfill.steps"}
COUNTED = {"near", "leaving"}
BY_THEMSELVES = {
    "addressing.address", "addressing.delays", "addressing.inquiries", "addressing.requests", "agenda.due", "aging.at_night",
    "aging.limited", "aging.newly_limited", "backfill.note", "item_edits.number",
    "intake.receive", "item_edits.validate_places", "packing.pack", "removal.let_go", "sending.cycle", "sending.limits",
    "sources.choose", "sources.rank", "sources.responders", "status.begin", "status.inquire", "status.repeat",
}  # fmt: skip
"""Those that take frames of which a key has one row, or in which other things stand than in those here."""
BESIDE = sorted({*TWINS} - BY_THEMSELVES)


@pytest.mark.parametrize("name", BESIDE)
def test_twins_say_the_same(given_frames: list[tuple[pa.Table, DataFrame]], name: str) -> None:
    """As often, too: rows that stand twice stand twice after. Nothing comes of nothing."""
    assert {each.__name__ for each in DECLARED} < sys.modules.keys()
    here, there = ([frame[kind] for frame in given_frames] for kind in (0, 1))
    by_twin, by_rule = said(name, TWINS[name], here), said(name, RULES[name].body, there).toArrow()
    rows = rows_of(by_twin)
    assert rows == rows_of(by_rule)
    assert rows
    assert kinds(by_twin) == kinds(by_rule)
    assert rows_of(said(name, TWINS[name], list(map(in_chunks, here)))) == rows
    for none in (lambda table: table.slice(0, 0), lambda table: table.schema.empty_table()):
        nothing = said(name, TWINS[name], list(map(none, here)))
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


def test_holes_are_noted_alike(given_frames: list[tuple[pa.Table, DataFrame]], spark: SparkSession) -> None:
    """Of the pieces of a coverage, of which no two lie upon each other."""
    array = keyed.one_of_each(given_frames[3][0], ORIGIN_HERE)
    claims = given_frames[2][0].select([*RANGE_HERE, "claimed", "void"])
    leaving = keyed.with_columns(claims, near=claims["claimed"], leaving=claims["void"])
    missing = TWINS["backfill.missing"](TWINS["backfill.cover"](claims.slice(0, 40), claims.slice(0, 0), leaving, array))
    by = {
        "replicas": keyed.one_of_each(given_frames[0][0], HERE).select([*HERE, "standing"]),
        "clock": keyed.one_of_each(given_frames[1][0], ["org"]).select(["org", "now"]),
    }
    expect_alike("backfill.note", spark, missing, **by)


def test_numbers_are_asked_for_alike(given_frames: list[tuple[pa.Table, DataFrame]], spark: SparkSession) -> None:
    """Of one peer none is asked for twice; neighbours are asked for together."""
    rows = given_frames[0][0]
    low = keyed.with_columns(rows.select([*RANGE_HERE, "peer"]), cn_min=pa.repeat(1, rows.num_rows), cn_max=rows["n"])
    high = keyed.with_columns(low, cn_min=pc.add(rows["n"], rows["n"]), cn_max=pa.repeat(9, rows.num_rows))
    asks = pa.concat_tables([low, keyed.with_columns(high, cn_min=pc.add(high["cn_min"], 1))])
    asks = keyed.one_of_each(asks.filter(pc.less_equal(asks["cn_min"], asks["cn_max"])), [*ORIGIN_HERE, "peer", "cn_min"])
    whole = keyed.one_of_each(asks.sort_by("cn_max"), [*ORIGIN_HERE, "peer"])
    expect_alike("addressing.requests", spark, whole)


def test_status_is_asked_for_alike(given_frames: list[tuple[pa.Table, DataFrame]], spark: SparkSession) -> None:
    """Of those that are a leaver's or not."""
    rows = given_frames[0][0].select([*HERE, "peer", "leaving", "near", "goes"])
    rows = rows.filter(rows["leaving"].is_valid()).rename_columns([*HERE, "peer", "leaver", "must", "asks"])
    expect_alike("addressing.inquiries", spark, rows)


def test_places_are_validated_alike(given_frames: list[tuple[pa.Table, DataFrame]], spark: SparkSession) -> None:
    """As of their place among the edits of folders, if these make anything of it."""
    edits, known, standing, folders = (each[0] for each in given_frames[:4])
    as_of = keyed.with_columns(known.select(["org", "edit_id", "within", "on"]), since=known["claimed"].cast(pa.int32()))
    named = {"standing": standing.select([*HERE, "standing"]), "folders": folders.select([*HERE, "dead"])}
    expect_alike("item_edits.validate_places", spark, edits.select(list(FRAMES["edits"].names)), as_of=as_of, **named)


def test_items_are_numbered_alike(given_frames: list[tuple[pa.Table, DataFrame]], spark: SparkSession) -> None:
    """Those that are refused use none up; where nothing was numbered yet the first is 1."""
    edits = pa.concat_tables(each[0].select(list(FRAMES["validated_items"].names)) for each in given_frames)
    edits = keyed.with_columns(edits, nth=pa.array(range(edits.num_rows), pa.int32()))
    replicas, numbers = (keyed.one_of_each(each[0], HERE) for each in given_frames[:2])
    named = {"replicas": replicas.select([*HERE, "life"]), "numbers": numbers.select([*HERE, "label", "last"])}
    expect_alike("item_edits.number", spark, edits, **named)


def test_status_begins_to_be_asked_for_alike(given_frames: list[tuple[pa.Table, DataFrame]], spark: SparkSession) -> None:
    """Of two rules of one replica the wider counts."""
    steps, again, clock = (each[0] for each in given_frames[:3])
    draw = random.Random(7)
    kinds_of = ("three", "three_and_oldest", "all")
    rules = [pa.array([draw.choice(kinds_of) for _ in range(clock.num_rows)]) for _ in range(2)]
    clock = keyed.with_columns(clock.select(["org"]), responders_list_change=rules[0], responders_restore=rules[1])
    expect_alike("status.begin", spark, steps, again=again.select([*HERE, "since"]), clock=keyed.one_of_each(clock, ["org"]))


def test_inquiries_go_on_alike(given_frames: list[tuple[pa.Table, DataFrame]], spark: SparkSession) -> None:
    """Those that begin, and those that had begun: to who is silent, who has answered, and who is gone; a leaver's too."""
    tables = [each[0] for each in given_frames]
    mail = [keyed.with_columns(each.select(list(FRAMES["validated"].names)), at=each["now"]) for each in tables[:2]]
    answers = pa.concat_tables(keyed.with_columns(each.select(mail[0].column_names), at=each["now"]) for each in tables)
    says = pa.array([[Flag.DELETE_PENDING]] * answers.num_rows, answers.schema.field("flags").type)
    told = pa.concat_tables([mail[1], keyed.with_columns(answers, type=str(MessageType.STATUS), flags=says)])
    replicas = keyed.one_of_each(tables[2], HERE).select([*HERE, "standing", "now"]).rename_columns([*HERE, "standing", "at"])
    expect_alike(
        "status.inquire", spark,
        begin=keyed.distinct(tables[3], HERE), responders=keyed.distinct(tables[4], [*HERE, "peer"]),
        inquiring=keyed.one_of_each(tables[5], [*HERE, "peer"]), accepted=mail[0], current=told, replicas=replicas,
        lists=keyed.one_of_each(pa.concat_tables(tables), [*HERE, "peer"]).select([*HERE, "peer", "listing"]),
        stores=keyed.one_of_each(pa.concat_tables(tables), ["org", "store"]).select(["org", "store", "site"]),
        clock=keyed.one_of_each(tables[6], ["org"]),
    )  # fmt: skip


def test_status_is_repeated_alike(given_frames: list[tuple[pa.Table, DataFrame]], spark: SparkSession) -> None:
    """For the first time, after twice the time before, and no more once nobody lacks anything."""
    behind, noted, strokes, keys, changed, policies = (each[0] for each in given_frames[:6])
    repeating = policies.filter(pc.equal(pc.list_value_length(policies["status_again_s"]), 2))
    expect_alike(
        "status.repeat", spark, keyed.distinct(behind, HERE), keyed.one_of_each(noted, HERE),
        strokes=keyed.one_of_each(strokes, HERE), keys=keys, changed=changed,
        policies=keyed.one_of_each(repeating, ["org"]).select(["org", "now", "status_again_s"]),
    )  # fmt: skip


def test_sources_are_chosen_alike(given_frames: list[tuple[pa.Table, DataFrame]], spark: SparkSession) -> None:
    """Of several sources of one piece, or of parts of it; of pieces that were asked for before, or not."""
    due, one, other = (as_numbers(each[0]) for each in given_frames[:3])
    due = keyed.one_of_each(due.select([name for name in FRAMES["timed"].names if name in due.column_names]), ORIGIN_HERE)
    gives = pa.concat_tables([one, other, due.select(list(RANGE_HERE))], promote_options="default")
    gives = cnarrow.canonical(keyed.with_columns(gives, peer=pc.fill_null(gives["peer"], "C")), (*ORIGIN_HERE, "peer"))
    peers = keyed.distinct(gives, [*HERE, "peer"]).sort_by("peer")
    nth = {"A": 2, "B": 1, "C": 3}
    ranked = keyed.with_columns(peers, nth=pa.array([nth[peer] for peer in peers["peer"].to_pylist()], pa.int32()))
    expect_alike("sources.choose", spark, due, ranked=ranked, gives=gives)


ORDERS = (
    ["unavailable", "not_preferred", "since_2000 same_site longest_ago", "before_2000 same_site store", "affinity cost", "fewer"],
    ["cost", "older_version", "fewer", "store"],
    ["since_2000 affinity cost", "before_2000 affinity cost", "since_2000 no_affinity delay", "same_site fewer"],
    ["store"],
)
VERSIONS = (None, "", "2007", "2003", "6.0", "5.5.2653", "6.5 SP1", "v6", "123456789012", "4.0.9")
HOURS = [datetime(2026, 1, 5, hour, tzinfo=UTC) for hour in range(4)]


def sources_drawn(seed: int) -> dict[str, pa.Table]:
    """What the rules of sources are given, drawn at random: of an organization for each order of sources, and each way to treat
    who has less; in each seven stores and two folders, of which everybody may lack something and have something."""
    draw, rows = random.Random(seed), defaultdict(list)
    for nth, keys in enumerate([*ORDERS, *ORDERS]):
        org, stores = f"o{nth}", [f"P{place}" for place in range(6)] + ["é"]
        now, sites = HOURS[2], ("here", "there", "far", None)
        rows["clock"].append({"org": org, "now": now, "source_keys": keys, "full_match_first": nth < len(ORDERS)})
        for site, other in product(sites[:3], repeat=2):
            if draw.random() < 0.6:
                way = {"org": org, "from_site": site, "to_site": other}
                rows["links"].append({**way, "cost": draw.choice((None, 1, 1, 9)), "delay_s": draw.choice((None, 0, 60))})
        for store in stores:
            said = {"site": draw.choice(sites), "version": draw.choice(VERSIONS), "preferred": draw.choice((None, True, False))}
            rows["stores"].append({"org": org, "store": store, **said})
        for store, folder in product(stores, "FG"):
            here = {"org": org, "store": store, "folder": folder}
            rows["begin"].append({**here, "rule": draw.choice(("all", "three", "three_and_oldest"))})
            if lacks := draw.choice((None, "X:1-9", "X:2-4,6", "X:1,Y:1-3")):
                rows["missing"] += ranges(here, lacks)
            for peer in sorted({*stores, "not in the directory"} - {store}):
                if draw.random() < 0.7:
                    rows["gives"] += ranges({**here, "peer": peer}, draw.choice(("X:1-9", "X:1-9", "X:3-5", "X:4,8", "Y:1-2")))
                    rows["holders"].append({**here, "peer": peer})
                if draw.random() < 0.5:
                    placed = {"at": draw.choice((None, *MOMENTS))}
                    rows["tree"].append({**here, "property": f"replica:{peer}", "stamp": draw.choice((placed, placed, None))})
            rows["tree"].append({**here, "property": "name", "stamp": {"at": now}})
        for store, peer in product(stores, repeat=2):
            if draw.random() < 0.6:
                times = {name: draw.choice((None, *HOURS)) for name in ("asked", "silent", "sent")}
                rows["contacts"].append({"org": org, "store": store, "peer": peer, **times})
    kinds = OF_SOURCES.items()
    return {name: pa.Table.from_pylist(rows[name], schema=arrow_schema(struct(ddl))) for name, ddl in kinds}


OF_SOURCES = {
    "begin": "org string, store string, folder string, rule string",
    "missing": "org string, store string, folder string, origin string, cn_min bigint, cn_max bigint",
    "gives": "org string, store string, folder string, origin string, peer string, cn_min bigint, cn_max bigint",
    "holders": "org string, store string, folder string, peer string",
    "tree": "org string, store string, folder string, property string, stamp struct<at:timestamp>",
    "stores": "org string, store string, site string, version string, preferred boolean",
    "links": "org string, from_site string, to_site string, cost bigint, delay_s bigint",
    "contacts": "org string, store string, peer string, asked timestamp, silent timestamp, sent timestamp",
    "clock": "org string, now timestamp, source_keys array<string>, full_match_first boolean",
}


def ranges(key: dict[str, Any], said: str) -> list[dict[str, Any]]:
    return [
        {**key, "origin": origin, "cn_min": low, "cn_max": high}
        for origin, spans in cntext.parse(said).items()
        for low, high in spans
    ]


@pytest.mark.parametrize("seed", range(4))
def test_sources_stand_in_the_same_order(spark: SparkSession, seed: int) -> None:
    """By every condition and key, whether full matches come first or not; of equals the first by name. Who is not in the
    directory is no source."""
    given = sources_drawn(seed)
    about = {name: given[name] for name in ("gives", "stores", "links", "contacts", "clock")}
    expect_alike("sources.rank", spark, given["missing"], **about)
    more = {name: given[name] for name in ("holders", "missing", "tree")}
    expect_alike("sources.responders", spark, given["begin"], **about, **more)


TEXTS = {
    "schedule": (None, "", "0-15", "0-15,1920-2040", "0-15\n", "x", "0-15,"),
    "size_limit": (None, "", "0", "007", "12 ", "-1", "٣", str(2**62 - 1), str(2**62), str(2**64), "1" * 40, "1.5"),
    "age_limit": ("none", "0", "1", str(10**11), str(10**11 + 1)),
    "deleted_item_retention": ("0", "none", str(10**11)),
    "conflict": ("0", "2", "3"),
    "priority": ("normal", "low"),
    "deleted": ("true", None),
    "replica:PFS1": (Listing.LISTED, Listing.REMOVED, Listing.GONE, "x", None),
    "*": ("x", None),
    "name": ("Sales", "", None),
    PARENT: ("1-1", None),
    "note": ("kept\n", "", None),
}
"""What properties of folders are set to, rightly or not."""


def test_edits_are_received_alike(spark: SparkSession) -> None:
    """Those that are due, or of no time; said twice, or again; at stores that are down, or are none; by whatever text."""
    draw = random.Random(5)
    times = [datetime(2026, 1, 5, hour, tzinfo=UTC) for hour in range(4)]
    ages = (datetime(1, 1, 1, tzinfo=UTC), datetime(1899, 12, 31, tzinfo=UTC), datetime(1900, 1, 1, tzinfo=UTC))
    names = [f"e{nth}" for nth in range(40)] + [f"again:e{nth}:1" for nth in range(5)]

    def edit(nth: int) -> dict[str, Any]:
        said = [(name, draw.choice(texts)) for name, texts in TEXTS.items() if draw.random() < 0.12]
        if draw.random() < 0.5:
            said = [*{"name": "n", PARENT: "p", **dict(said)}.items()]
        one = draw.choice([*TEXTS])
        fine = {
            "store": "A", "item": None, "at": draw.choice(times), "action": Action.SET_FOLDER, "size": None,
            "properties": [(one, draw.choice(TEXTS[one]))],
        }  # fmt: skip
        any_one = {
            "org": f"o{nth % 12}", "store": draw.choice("ABCD"), "folder": draw.choice((None, "F", HIERARCHY)),
            "item": draw.choice((None, None, "x")), "edit_id": draw.choice(names), "at": draw.choice([None, *ages, *times * 3]),
            "place": draw.choice((None, 1, 2, 3)), "action": draw.choice([None, "x", *Action, *Action]),
            "name": draw.choice((None, "n")), "properties": None if draw.random() < 0.2 else draw.sample(said, len(said)),
            "size": draw.choice((None, 0, -1, 2**62 - 1, 2**62)), "hash": draw.choice((None, "h")),
        }  # fmt: skip
        return {**any_one, **fine, "edit_id": f"fine {nth}"} if nth % 2 else any_one  # but for what it sets

    one_each = {tuple(each[name] for name in ("org", "store", "at", "place", "edit_id")): each for each in map(edit, range(3000))}
    given = {
        "edits": [*one_each.values()],  # of two that are alike in these no order is said
        "taken": [{"org": f"o{nth}", "edit_id": name} for nth in range(12) for name in draw.sample(names, 3) * 2],
        "stores": [{"org": f"o{nth}", "store": store} for nth in range(12) for store in "ABC"],
        "replicas": [
            {"org": f"o{nth}", "store": store, "folder": folder, "at": draw.choice(times)}
            for nth in range(12) for store in "ABC" for folder in ("F", HIERARCHY)
        ],
        "conditions": [{"org": f"o{nth}", "store": "B", "down": nth % 2 == 0} for nth in range(12)],
        "clock": [{"org": f"o{nth}", "now": draw.choice(times)} for nth in range(11)],
    }  # fmt: skip
    ddl = {
        "edits": ", ".join(f"{each.name} {each.type}" for each in TABLES["edits"].columns if each.name in given["edits"][0]),
        "taken": "org string, edit_id string", "stores": "org string, store string",
        "replicas": "org string, store string, folder string, at timestamp",
        "conditions": "org string, store string, down boolean", "clock": "org string, now timestamp",
    }  # fmt: skip
    tables = {name: pa.Table.from_pylist(rows, arrow_schema(struct(ddl[name]))) for name, rows in given.items()}
    repeated = TWINS["intake.repeated"](tables["edits"])
    expect_alike("intake.receive", spark, tables.pop("edits"), repeated=repeated, **tables)


WRITTEN = (
    "none", "0", "1", "-1", "-0", "+7", "007", " 12", "12 \n", "\t5", "1 2", "+", "", "1.5", "1e3", "0x1", "1_000", "٣",
    "\u00a03", "\x7f4", "4\x7f",
    "3\u2003", str(2**62 - 1), str(2**62), str(2**63), str(2**64), "1" * 40, str(10**11), str(10**11 + 1),
)  # fmt: skip
"""Numbers as somebody may have written them into a tree, or what is none."""


def test_what_is_set_on_folders_counts_alike(spark: SparkSession) -> None:
    """Whatever text is in a tree; and how old items grow: by the folder's own limit, the policy's, or not at all."""
    draw, texts = random.Random(3), {**TEXTS, "size_limit": WRITTEN, "age_limit": WRITTEN}
    heres = [{"org": f"o{nth % 5}", "store": "AB"[nth % 2], "folder": f"F{nth}"} for nth in range(300)]
    heres += [{"org": f"o{nth}", "store": "A", "folder": HIERARCHY} for nth in range(5)]
    tree = [
        {**here, "property": name, "value": draw.choice(texts[name])}
        for here in heres
        for name in ("schedule", "size_limit", "priority", "age_limit")
        if draw.random() < 0.9
    ]
    properties = pa.Table.from_pylist(
        tree, arrow_schema(struct("org string, store string, folder string, property string, value string"))
    )
    expect_alike("sending.limits", spark, properties.filter(pc.field("property") != "age_limit"))
    replicas, due, newly, before = (
        pa.Table.from_pylist(
            [{**here, "standing": draw.choice([*Standing])} for here in heres if draw.random() < some],
            arrow_schema(struct("org string, store string, folder string, standing string")),
        )
        for some in (1, 0.3, 0.3, 0.8)
    )  # fmt: skip
    clock = pa.table({"org": ["o0", "o1", "o2", "o3"], "age_limit_s": pa.array([3600, None, 7, None], pa.int64()), "now": HOURS})
    clock = keyed.with_columns(clock, now=clock["now"].cast(keyed.MOMENT))
    policies = clock.filter(clock["age_limit_s"].is_valid())
    limits = properties.filter(pc.field("property") == "age_limit")
    expect_alike("aging.limited", spark, replicas, limits=limits, policies=policies)
    limited = TWINS["aging.limited"](replicas, limits=limits, policies=policies)
    expect_alike("aging.newly_limited", spark, limited, noted=due, before=before, tonight=clock.select(["org"]))
    expect_alike("aging.at_night", spark, limited, due=due, newly=newly.select(list(HERE)), clock=clock)
    expect_alike("removal.let_go", spark, before, due, replicas=replicas)


def test_mail_takes_as_long(spark: SparkSession) -> None:
    """Between sites that a link joins, one way; no time where it says none, or more than can be."""
    draw, sites = random.Random(4), ("here", "there", "far", None)
    stores = [{"org": f"o{org}", "store": f"P{nth}", "site": draw.choice(sites)} for org in range(6) for nth in range(5)]
    links = [
        {"org": f"o{org}", "from_site": one, "to_site": other, "delay_s": draw.choice((None, 0, 1, 60, 10**11, 10**11 + 1, -1))}
        for org in range(5) for one, other in product(sites[:3], repeat=2)
    ]  # fmt: skip
    given = [
        pa.Table.from_pylist(rows, arrow_schema(struct(OF_SOURCES[name]))).select([*rows[0]])
        for name, rows in (("stores", stores), ("links", links))
    ]
    by_rule = RULES["addressing.delays"].body(*(local(spark, each, from_arrow_schema(each.schema)) for each in given)).toArrow()
    by_twin = TWINS["addressing.delays"](*given)
    told = [{(row["org"], row["store"]): dict(row["delays"]) for row in each.to_pylist()} for each in (by_twin, by_rule)]
    assert told[0] == told[1] and len(told[0]) == by_twin.num_rows == by_rule.num_rows > 9
    assert {len(delays) for delays in told[0].values()} >= {1, 2, 4}
    assert kinds(by_twin) == kinds(by_rule)
    nothing = TWINS["addressing.delays"](*(each.slice(0, 0) for each in given))
    assert not nothing.num_rows and kinds(nothing) == kinds(by_rule)


def test_cycles_come_alike(given_frames: list[tuple[pa.Table, DataFrame]], spark: SparkSession) -> None:
    """Of stores with an interval of their own, or one that is none; of schedules that are open, closed, never open, or none."""
    waiting, agenda, replicas, stores, limits, clock = (each[0] for each in given_frames[:6])
    fit = keyed.with_columns(limits, schedule=pc.if_else(pc.equal(limits["schedule"], "now"), None, limits["schedule"]))
    given = {
        "agenda": agenda, "replicas": replicas, "stores": stores, "limits": fit,
        "clock": keyed.with_columns(clock, interval_s=pa.repeat(pa.scalar(1260, pa.int64()), clock.num_rows)),
    }  # fmt: skip
    expect_alike("sending.cycle", spark, waiting, **given)


def test_messages_are_addressed_alike(given_frames: list[tuple[pa.Table, DataFrame]], spark: SparkSession) -> None:
    """Of several of one folder and type each is told by what it carries, asks or says; late mail is late for each by itself."""
    drafts = {
        str([row[name] for name in (*HERE, "type", "peers", "carries", "asks", "flags")]): row
        for table, _ in given_frames
        for row in table.select(list(FRAMES["drafts"].names)).to_pylist()
        if row["flags"] is not None
    }
    lists = [each[0] for each in given_frames]
    pairs = [
        {"org": org, "store": store, "delays": delays}
        for org, store in {(row["org"], row["store"]) for row in lists[0].select(["org", "store"]).to_pylist()}
        for delays in (({"A": 5, "C": 100}, {"B": 7}, {})[len(org) % 3],)
    ]
    of = struct(FRAMES["drafts"].ddl)
    expect_alike(
        "addressing.address", spark, pa.Table.from_pylist([*drafts.values()], arrow_schema(of)),
        status=keyed.one_of_each(lists[1], HERE).select([*HERE, "status"]),
        limits=keyed.with_columns(keyed.one_of_each(lists[2], HERE).select(list(HERE)), priority="high"),
        replicas=keyed.one_of_each(lists[3], HERE).select([*HERE, "life"]),
        delays=pa.Table.from_pylist(pairs, arrow_schema(struct("org string, store string, delays map<string,bigint>"))),
        conditions=keyed.one_of_each(lists[4], ["org", "store"]).select(["org", "store", "cut"]),
        clock=keyed.one_of_each(lists[5], ["org"]).select(["org", "now"]),
    )  # fmt: skip


@pytest.mark.parametrize("largest", [9, 2**31, 2**60])
def test_updates_are_packed_alike(spark: SparkSession, largest: int) -> None:
    """Of queues of many lengths, of which some messages take all that fits, some so many updates, and some one that is too large;
    no sum of sizes is too large."""
    draw = random.Random(largest)
    updates, stores, limits = [], [], []
    sizes = (None, 0, 1, largest // 3, largest)
    for nth in range(150):
        here = {"org": f"o{nth % 5}", "store": f"S{nth}", "folder": draw.choice([HIERARCHY, "F"])}
        stores.append({**here, "size_limit": draw.choice([None, largest * 3])})
        limits += [{**here, "size_limit": draw.choice([0, largest // 2, largest * 2 - 1])}] * draw.randrange(2)
        for asker in (None, "A", "B")[: draw.randint(1, 3)]:
            for origin in ("S", "S~2", "S~10", "Ä", "T"):
                numbers = [*range(1, draw.choice([1, 3, 60])), *draw.sample(range(100, 200), draw.randrange(5))]
                updates += [
                    {
                        **here,
                        "asker": asker,
                        "origin": origin,
                        "cn": cn,
                        "bytes": draw.choice(sizes),
                    }
                    for cn in numbers
                ]
    draw.shuffle(updates)
    clock = [{"org": f"o{nth}", "size_limit": largest * 3 + 2, "folders_per_hierarchy_message": nth + 1} for nth in range(4)]
    said = {"updates": updates, "stores": stores, "limits": limits, "clock": clock}
    ddl = {
        "updates": FRAMES["updates"].ddl, "stores": "org string, store string, size_limit bigint",
        "limits": "org string, store string, folder string, size_limit bigint",
        "clock": "org string, size_limit bigint, folders_per_hierarchy_message bigint",
    }  # fmt: skip
    given = {name: pa.Table.from_pylist(rows, arrow_schema(struct(ddl[name]))) for name, rows in said.items()}
    expect_alike("packing.pack", spark, given.pop("updates"), **given)


def expect_alike(name: str, spark: SparkSession, *given: pa.Table, **named: pa.Table) -> None:
    """The twin says what the rule says of these; of nothing it says nothing."""

    def there(table: pa.Table) -> DataFrame:
        return local(spark, table, from_arrow_schema(table.schema))

    by_twin = TWINS[name](*given, **named)
    rule = RULES[name].body(*map(there, given), **{word: there(table) for word, table in named.items()})
    assert rows_of(by_twin.select(rule.columns)) == rows_of(rule)
    assert by_twin.num_rows
    assert kinds(by_twin.select(rule.columns)) == kinds(rule.toArrow())
    chunked = TWINS[name](*map(in_chunks, given), **{word: in_chunks(table) for word, table in named.items()})
    assert rows_of(chunked) == rows_of(by_twin)
    for none in (lambda table: table.slice(0, 0), lambda table: table.schema.empty_table()):
        nothing = TWINS[name](*map(none, given), **{word: none(table) for word, table in named.items()})
        assert not nothing.num_rows and kinds(nothing) == kinds(by_twin)


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def test_what_a_frame_lacks_is_null_in_the_union() -> None:
    """As in the rule (`allowMissingColumns`), in the columns of the first."""
    some = pa.table({"org": ["o"], "n": pa.array([1], pa.int64()), "at": pa.array([[1]], pa.list_(pa.int64()))})
    rest = pa.table({"n": pa.array([2], pa.int64()), "org": ["p"]})
    both = TWINS["frames.together"](some, rest)
    assert both.to_pylist() == [{"org": "o", "n": 1, "at": [1]}, {"org": "p", "n": 2, "at": None}]
    assert both.schema == some.schema
