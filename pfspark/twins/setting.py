"""Twins of the rules by which counts what is set on a folder, or by the policy: for its messages, and how old its items grow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pfspark.keyed import anti_join, beside, distinct, semi_join, with_columns
from pfspark.keys import HERE
from pfspark.twins.picking import speakers
from pfspark.words import HIERARCHY, LARGEST, LONGEST_S, PRIORITIES, SLOTS

_NUMBER = r"\A[\x00-\x20\x7f]*(?:\+?0*(?P<number>[0-9]{1,19})|-0+)[\x00-\x20\x7f]*\z"
"""What Spark casts to a whole number that is not below 0, as far as it may be one that fits into 64 bits."""


def _limits(properties: pa.Table) -> pa.Table:
    said = distinct(properties, HERE)
    for name in ("schedule", "size_limit", "priority"):
        own = properties.filter(pc.equal(properties["property"], name)).select([*HERE, "value"])
        said = beside(said, own.rename_columns([*HERE, name]), HERE)
    schedule, priority = said["schedule"], said["priority"]
    schedule = pc.if_else(pc.match_substring_regex(schedule, SLOTS), schedule, None)
    priority = pc.if_else(pc.is_in(priority, pa.array(PRIORITIES)), priority, None)
    return with_columns(said, schedule=schedule, size_limit=_within(said["size_limit"], 0, LARGEST - 1), priority=priority)


def _within(texts: pa.ChunkedArray, least: int, most: int) -> pa.ChunkedArray:
    """The numbers that texts say; null where one says none, or one that is not within these."""
    numbers = numbers_of(texts, _NUMBER)
    return pc.if_else(are_within(numbers, least, most), numbers, None).cast(pa.int64())


def numbers_of(texts: pa.Array | pa.ChunkedArray, written: str) -> Any:
    """The numbers that texts say, as they may be `written`: a pattern with the group `number`, of 19 digits at most. Null where
    one says none."""
    digits = pc.struct_field(pc.extract_regex(texts, written), "number")
    return pc.if_else(pc.equal(digits, ""), "0", digits).cast(pa.uint64())


def are_within(numbers: pa.Array | pa.ChunkedArray, least: int, most: int) -> Any:
    """Whether each of them, none below 0, is one of these."""
    low, high = (pa.scalar(each, pa.uint64()) for each in (least, most))
    return pc.and_(pc.greater_equal(numbers, low), pc.less_equal(numbers, high))


def _limited(replicas: pa.Table, *, limits: pa.Table, policies: pa.Table) -> pa.Table:
    alive = speakers(replicas).filter(pc.field("folder") != HIERARCHY).select(list(HERE))
    known = beside(alive, limits.select([*HERE, "value"]), HERE)
    known = beside(known, policies.select(["org", "age_limit_s"]), ["org"])
    of_policy = pc.if_else(pc.fill_null(pc.not_equal(known["value"], "none"), True), known["age_limit_s"], None)
    limit = pc.coalesce(_within(known["value"], 1, LONGEST_S), of_policy)
    return with_columns(known.select(list(HERE)), limit_s=limit).filter(limit.is_valid())


def _newly_limited(limited: pa.Table, *, noted: pa.Table, before: pa.Table, tonight: pa.Table) -> pa.Table:
    new = semi_join(semi_join(limited, tonight, ["org"]), speakers(before), HERE)
    return anti_join(new, noted, HERE).select(list(HERE))


def _at_night(limited: pa.Table, *, due: pa.Table, newly: pa.Table, clock: pa.Table) -> pa.Table:
    tended = pa.concat_tables([due.select(list(HERE)), newly.select(list(HERE))])
    return beside(semi_join(limited, tended, HERE), clock.select(["org", "now"]), ["org"], inner=True)


SETTING: dict[str, Callable[..., Any]] = {
    "aging.at_night": _at_night,
    "aging.limited": _limited,
    "aging.newly_limited": _newly_limited,
    "sending.limits": _limits,
}
"""By the name of the rule."""
