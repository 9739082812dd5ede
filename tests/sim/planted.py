"""Small wrong versions of rules. Each is planted for organizations of its own, so that all are tried in the same rounds.

An organization named `a bug: world 3` is played by the wrong version, all others by the right one: what a rule says of
one organization depends on no other, so both versions are asked, and each organization gets its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce, wraps
from inspect import signature
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from pfspark.edge.spark import kept_plans
from pfspark.frame import Frame
from pfspark.rules import (
    addressing,
    agenda,
    aging,
    backfill,
    hierarchy,
    intake,
    item_edits,
    items,
    packing,
    receipt,
    removal,
    sending,
    sources,
    state,
    status,
    transport,
)  # fmt: skip
from pfspark.twins import TWINS
from pfspark.words import Standing

Rule = Callable[..., DataFrame]


@dataclass(frozen=True)
class Bug:
    """A wrong version of a rule: `wrong` makes it of the right one.

    `shows`: what must happen in a world for the bug to show, in the words of `test_campaign.happens`.
    """

    name: str
    where: ModuleType
    rule: str
    wrong: Callable[[Rule], Rule]
    shows: str = ""


def given(**changed: Callable[[DataFrame], DataFrame]) -> Callable[[Rule], Rule]:
    """The rule, but of other frames than it is given."""

    def wrong(right: Rule) -> Rule:
        assert changed.keys() <= signature(right).parameters.keys(), f"{right} is not given {', '.join(changed)}"

        def rule(*frames: DataFrame, **named: DataFrame) -> DataFrame:
            others = {name: changed[name](frame) for name, frame in named.items() if name in changed}
            return right(*frames, **named | others)

        return rule

    return wrong


def first(changed: Callable[[DataFrame], DataFrame]) -> Callable[[Rule], Rule]:
    """The rule, but of another first frame."""
    return lambda right: lambda frame, *frames, **named: right(changed(frame), *frames, **named)


def said(changed: Callable[[DataFrame], DataFrame]) -> Callable[[Rule], Rule]:
    """The rule, but what it says is changed."""
    return lambda right: lambda *frames, **named: changed(right(*frames, **named))


def none(frame: DataFrame) -> DataFrame:
    return frame.where("false")


def put(name: str, value: str) -> Callable[[DataFrame], DataFrame]:
    """That column is something else (SQL), of the type that it had."""
    return lambda frame: frame.withColumn(name, F.expr(value).cast(frame.schema[name].dataType))


def backwards(ranked: DataFrame) -> DataFrame:
    last = F.max("nth").over(Window.partitionBy("org", "store", "folder"))
    return ranked.withColumn("nth", (last - F.col("nth") + 1).cast("int"))


def heard_again(right: Rule) -> Rule:
    def note(missing: DataFrame, *, clock: DataFrame, **named: DataFrame) -> DataFrame:
        noted = right(missing, clock=clock, **named)
        return noted.join(clock.select("org", "now"), "org").withColumn("heard", F.col("now")).select(*noted.columns)

    return note


def at_once(right: Rule) -> Rule:
    def advance(acknowledgements: DataFrame, *, replicas: DataFrame, **named: DataFrame) -> DataFrame:
        leaving = put("standing", f"'{Standing.DELETE_NOW}'")(replicas.where(F.col("standing") == Standing.DELETE_PENDING))
        return leaving.select(right(acknowledgements, replicas=replicas, **named).columns)

    return advance


BUGS = (
    Bug("a number is given twice", item_edits, "number", given(numbers=put("last", "greatest(last - 1, 0)"))),
    Bug("a number is left out", item_edits, "number", given(numbers=put("last", "last + 1"))),
    Bug("readers write at a leaver", item_edits, "validate_places", given(standing=put("standing", "'active'"))),
    Bug("the last number waits", sending, "waiting", said(
        lambda rows: put("cn_max", "cn_max - 1")(rows).where("cn_min <= cn_max"))),
    Bug("sent goes one too far", state, "record", said(put("cn_max", "cn_max + int(entry = 'sent')"))),
    Bug("no message is full", packing, "pack", lambda right: lambda rows, *, stores, limits, clock: right(
        rows, stores=put("size_limit", "1 << 40")(stores), limits=put("size_limit", "null")(limits), clock=clock)),
    Bug("schedules are not kept", sending, "cycle", lambda right: lambda rows, *, stores, limits, **named: right(
        rows, stores=put("schedule", "null")(stores), limits=put("schedule", "null")(limits), **named)),
    Bug("changes go to leavers too", sending, "recipients", first(put("listing", "'listed'"))),
    Bug("mail is delivered to the cut", transport, "arrive", given(conditions=none)),
    Bug("everything is accepted", receipt, "validate", said(put("reason", "null"))),
    Bug("nothing is told by others", state, "learn", said(lambda rows: rows.where("not relayed"))),
    Bug("empty settles what others have", backfill, "settle_empty", first(put("claimed", "0")), shows="empty"),
    Bug("news begins the waiting anew", backfill, "note", heard_again),
    Bug("all sources are far", backfill, "due", first(put("near", "0")), shows="asks"),
    Bug("a retry counts from the first news", backfill, "due", first(put("asked", "null"))),
    Bug("suspension holds back nothing", sending, "cycle", given(clock=put("suspended", "false")), shows="suspend"),
    Bug("the last source comes first", sources, "rank", said(backwards)),
    Bug("one source is asked for all", sources, "choose", given(ranked=lambda ranked: ranked.where("nth = 1"))),
    Bug("nobody is unavailable", sources, "remember", said(put("silent", "null")), shows="another source"),
    Bug("who speaks stays unavailable", sources, "hear", given(delivered=none), shows="another source"),
    Bug("one origin is answered", backfill, "answer", first(put("asks", "slice(asks, 1, 1)"))),
    Bug("expired content goes out", sending, "updates", given(empty=none), shows="empty"),
    Bug("status is not answered", status, "answer", first(lambda asked: asked.where("leaver"))),
    Bug("status is not asked for", status, "begin", said(none)),
    Bug("status is not repeated", status, "repeat", said(none)),
    Bug("status is not told after a day", status, "fall_due", said(none)),
    Bug("a leaver goes unproven", removal, "advance", at_once, shows="state delete pending"),
    Bug("the night comes at once", agenda, "maintenance", said(put("due", "timestamp'2000-01-01'"))),
    Bug("reborn into the old life", hierarchy, "stand", said(put("life", "greatest(life - 1, 1)")), shows="return"),
    Bug("a list counts only in the end", hierarchy, "stand", given(entries=none), shows="off and on in a round"),
    Bug("folders merge by property", hierarchy, "merge", given(whole=none)),
    Bug("losers are dropped", items, "readable", said(put("losers", "array()")), shows="losers"),
    Bug("the oldest version wins", items, "readable", first(put("made_at", "timestamp_micros(-unix_micros(made_at))"))),
    Bug("items live twice as long", aging, "expire", given(night=put("limit_s", "limit_s * 2")), shows="empty"),
    Bug("requests name no numbers", addressing, "requests", first(put("cn_max", "cn_min"))),
    Bug("bodies of less than nothing are taken in", intake, "receive", said(
        put("reason", "if(size < 0, nullif(reason, 'bad_value'), reason)")), shows="less than nothing"),
)  # fmt: skip


@contextmanager
def planted(bugs: Iterable[Bug]) -> Iterator[None]:
    """While it lasts, organizations named after one of the bugs are played with it."""
    by_rule: dict[tuple[ModuleType, str], list[Bug]] = defaultdict(list)
    for bug in bugs:
        by_rule[bug.where, bug.rule].append(bug)
    bodies = {}
    call = Frame.call

    def with_bugs(frame: Frame, made: Callable[[Frame], Any], body: Callable[..., Any] | None = None) -> Any:
        assert frame.rule is not None
        return call(frame, made, body or bodies.get(frame.rule.name))

    with pytest.MonkeyPatch.context() as patched:
        for (module, rule), some in by_rule.items():
            right = getattr(module, rule)
            both = _with(right.__wrapped__, some)
            name = f"{module.__name__.rpartition('.')[2]}.{rule}"
            bodies[name] = both
            patched.setattr(module, rule, _undrawn(right, both))
            patched.delitem(TWINS, name, raising=False)  # it says what is right
        patched.setattr(Frame, "call", with_bugs)
        patched.setattr(kept_plans, "_PLANS", WeakKeyDictionary())  # plans of what is right, or of other bugs
        yield


def _undrawn(right: Rule, both: Rule) -> Rule:
    """The wrong version where it is asked; where a step is drawn that is still the rule's."""

    @wraps(right)
    def rule(*frames: Any, **named: Any) -> DataFrame:
        draws = any(isinstance(each, Frame) for each in (*frames, *named.values()))
        return right(*frames, **named) if draws else both(*frames, **named)

    return rule


def _with(right: Rule, bugs: list[Bug]) -> Rule:
    wrong = [(F.col("org").startswith(f"{bug.name}: "), bug.wrong(right)) for bug in bugs]
    spared = reduce(lambda all, one: all & ~one, (mine for mine, _ in wrong), F.lit(True))

    @wraps(right)
    def both(*frames: Any, **named: Any) -> DataFrame:
        answers = [rule(*frames, **named).where(mine) for mine, rule in wrong]
        return reduce(lambda all, one: all.unionByName(one), answers, right(*frames, **named).where(spared))

    return both
