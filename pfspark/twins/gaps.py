"""Twins of the rules by which holes are noted in the array, asked for and answered; and of what stores remember of each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pfspark import cnarrow
from pfspark.keyed import MOMENT, anti_join, beside, distinct, inlined, semi_join, with_columns
from pfspark.keys import HERE, ORIGIN_HERE, PAIR, RANGE_HERE
from pfspark.timeouts import TIMEOUTS
from pfspark.twins.picking import speakers
from pfspark.twins.sets import layer
from pfspark.words import CARRYING, HIERARCHY, BackfillStep, Listing

TIMES = ("heard", "attempt", "asked")


def micros(moments: pa.ChunkedArray) -> pa.ChunkedArray:
    return moments.cast(pa.int64())


def later(moments: pa.ChunkedArray, seconds: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.add(micros(moments), pc.multiply(seconds, 1_000_000)).cast(MOMENT)


def _sooner(one: pa.ChunkedArray, other: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.min_element_wise(micros(one), micros(other)).cast(MOMENT)


def _times(pieces: pa.Table) -> pa.Table:
    """Measures of a layer as times again."""
    asked = pc.if_else(pc.greater(pieces["attempt"], 0), pieces["asked"], None)
    return with_columns(pieces, asked=asked.cast(MOMENT))


def _note(missing: pa.Table, *, replicas: pa.Table, clock: pa.Table) -> pa.Table:
    aged = beside(semi_join(missing, speakers(replicas), HERE), clock.select(["org", "now"]), ["org"], inner=True)
    heard = pc.if_else(pc.greater(aged["open"], 0), aged["heard"], micros(aged["now"]))
    alike = ("open", *TIMES, "claimed", "near", "leaving")
    noted = _times(cnarrow.join_up(with_columns(aged, heard=heard), ORIGIN_HERE, alike))
    return with_columns(noted, heard=noted["heard"].cast(MOMENT))


def timeout(rows: pa.Table, attempt: pa.ChunkedArray, *, near: pa.ChunkedArray) -> pa.ChunkedArray:
    """What `timeouts.timeout` says: the element of the list that counts, the last of three for all later requests."""
    nth = np.clip(attempt.to_numpy(), 0, 2)
    waits = {}
    for name in ("backfill_local_s", "backfill_remote_s"):
        lists = rows[name].combine_chunks()
        waits[name] = lists.values.take(pa.array(lists.offsets.to_numpy()[:-1] + nth))
    return pc.if_else(pc.fill_null(near, False), waits["backfill_local_s"], waits["backfill_remote_s"])


def _wait_of(rows: pa.Table, attempt: pa.ChunkedArray) -> pa.ChunkedArray:
    regular = timeout(rows, attempt, near=pc.greater(rows["near"], 0))
    leaver_has_it = pc.and_(pc.equal(attempt, 0), pc.greater(rows["leaving"], 0))
    sooner = pc.min_element_wise(regular, rows["delete_pending_timeout_s"])
    return pc.if_else(pc.fill_null(leaver_has_it, False), sooner, regular)


def content_waits(rows: pa.Table) -> pa.ChunkedArray:
    return pc.and_kleene(rows["suspended"], pc.not_equal(rows["folder"], HIERARCHY))


def _due(array: pa.Table, *, clock: pa.Table) -> pa.Table:
    policy = clock.select(["org", "now", "suspended", *TIMEOUTS])
    timed = beside(array.filter(pc.greater(array["claimed"], 0)), policy, ["org"], inner=True)
    since = pc.coalesce(timed["asked"], timed["heard"])
    return with_columns(timed, due=later(since, _wait_of(timed, timed["attempt"]))).drop_columns(list(TIMEOUTS))


def _asked_now(due: pa.Table) -> pa.Table:
    held_back = pc.and_kleene(content_waits(due), pc.equal(due["leaving"], 0))
    return due.filter(pc.and_kleene(pc.less_equal(due["due"], due["now"]), pc.invert(held_back)))


def _choose(due: pa.Table, *, ranked: pa.Table, gives: pa.Table) -> pa.Table:
    of_peer, keys = [*HERE, "peer"], (*ORIGIN_HERE, "peer")
    sources = with_columns(ranked.select(of_peer), nth=ranked["nth"].cast(pa.int64()))  # as measures of a coverage are
    asked_of_each = beside(due.select(list(RANGE_HERE)), sources.select(of_peer), HERE, inner=True)
    given = beside(cnarrow.intersect(asked_of_each, gives, keys), sources, of_peer, inner=True)
    first = beside(_first_able(given), sources.rename_columns([*of_peer, "source"]), of_peer, inner=True)
    timed = with_columns(
        due.select([*RANGE_HERE, "near", "leaving"]), next_attempt=pc.add(due["attempt"], 1),
        asked=pc.fill_null(micros(due["asked"]), 0), now=micros(due["now"]),
    )  # fmt: skip
    split = cnarrow.coverage(ORIGIN_HERE, first.select([*RANGE_HERE, "source"]), timed)
    chosen = split.filter((pc.field("source") > 0) & (pc.field("next_attempt") > 0))
    named = beside(chosen, sources.rename_columns([*of_peer, "source"]), [*HERE, "source"], inner=True)
    attempt = pc.subtract(named["next_attempt"], 1)
    return _times(with_columns(named, attempt=attempt, now=named["now"].cast(MOMENT))).select(
        [*ORIGIN_HERE, "cn_min", "cn_max", "peer", "near", "leaving", "attempt", "asked", "now"]
    )


def _first_able(given: pa.Table) -> pa.Table:
    keys = (*ORIGIN_HERE, "peer")
    before = given.select([*RANGE_HERE, "nth"]).rename_columns([*RANGE_HERE, "before"])
    earlier = beside(before, distinct(given, [*keys, "nth"]), ORIGIN_HERE, inner=True)
    return cnarrow.subtract(given, earlier.filter(pc.less(earlier["before"], earlier["nth"])), keys)


def _unless_suspended(asks: pa.Table, *, lists: pa.Table, clock: pa.Table) -> pa.Table:
    leavers = lists.filter(pc.equal(lists["listing"], str(Listing.REMOVED))).select([*HERE, "peer"])
    chosen = beside(asks, with_columns(leavers, leaves=True), [*HERE, "peer"])
    timed = beside(chosen, clock.select(["org", "suspended"]), ["org"], inner=True)
    waits = pc.and_kleene(content_waits(timed), pc.is_null(timed["leaves"]))
    return timed.filter(pc.invert(waits)).drop_columns(["leaves", "suspended"])


def _retry(asks: pa.Table, *, clock: pa.Table) -> pa.Table:
    timed = beside(asks, clock.select(["org", *TIMEOUTS]), ["org"], inner=True)
    again = later(timed["now"], _wait_of(timed, pc.add(timed["attempt"], 1)))
    return with_columns(timed, due=again).drop_columns(list(TIMEOUTS))


def _enter(array: pa.Table, *, asks: pa.Table) -> pa.Table:
    asking = with_columns(asks.select(list(RANGE_HERE)), asking=1, now=micros(asks["now"]))
    after = cnarrow.coverage(ORIGIN_HERE, layer(semi_join(array, asks, HERE)), asking)
    asked = pc.if_else(pc.greater(after["asking"], 0), after["now"], after["asked"])
    attempt, heard = pc.add(after["attempt"], after["asking"]), after["heard"].cast(MOMENT)
    entered = _times(with_columns(after, heard=heard, attempt=attempt, asked=asked))
    columns = [*RANGE_HERE, *TIMES]
    return pa.concat_tables([anti_join(array, asks, HERE).select(columns), entered.select(columns)])


def _next_due(timed: pa.Table, *, asks: pa.Table) -> pa.Table:
    waits = timed.filter(pc.or_kleene(pc.greater(timed["due"], timed["now"]), content_waits(timed)))
    both = pa.concat_tables([waits.select([*HERE, "due"]), asks.select([*HERE, "due"])])
    return both.group_by(list(HERE), use_threads=False).aggregate([("due", "min")]).rename_columns([*HERE, "due"])


def _steps(noted: pa.Table, *, asks: pa.Table, clock: pa.Table) -> pa.Table:
    heard = beside(noted.filter(pc.equal(noted["open"], 0)), clock.select(["org", "now"]), ["org"], inner=True)
    never = pa.scalar(None, MOMENT)
    at_first = {"of": pa.scalar(None, pa.string()), "attempt": 0, "since": never, "due": never}
    again = {"of": asks["peer"], "attempt": pc.add(asks["attempt"], 1), "since": asks["asked"], "due": asks["due"]}
    steps = ((heard, BackfillStep.HEARD, at_first), (asks, BackfillStep.ASKED, again))
    return pa.concat_tables(
        with_columns(pieces.select(list(RANGE_HERE)), step=str(step), **said, at=pieces["now"]) for pieces, step, said in steps
    )


def _answer(requests: pa.Table, *, applied: pa.Table, empty: pa.Table) -> pa.Table:
    here = requests.select(["org", "recipient", "folder", "store"]).rename_columns([*HERE, "asker"])
    asked = inlined(here, requests["asks"], ("origin", "cn_min", "cn_max"))
    askers, keys = distinct(asked, [*ORIGIN_HERE, "asker"]), (*HERE, "asker", "origin")
    has, has_none = (beside(each.select(list(RANGE_HERE)), askers, ORIGIN_HERE, inner=True) for each in (applied, empty))
    return cnarrow.intersect(asked, cnarrow.subtract(has, has_none, keys), keys)


def _unserved(requests: pa.Table, *, answers: pa.Table, told: pa.Table) -> pa.Table:
    asker = [*HERE, "peer"]
    asked = requests.select(["org", "recipient", "folder", "store"]).rename_columns(asker)
    given = answers.select([*HERE, "asker"]).rename_columns(asker)
    return anti_join(distinct(asked, asker), pa.concat_tables([given, told.select(asker)]), asker)


def _hear(contacts: pa.Table, *, delivered: pa.Table) -> pa.Table:
    got = delivered.filter(delivered["lost"].is_null())
    heard = got.select(["org", "recipient", "store", "now"]).rename_columns([*PAIR, "heard"])
    carries = pc.is_in(got["type"], pa.array(map(str, CARRYING)))
    heard = with_columns(heard, new_sent=pc.if_else(carries, got["now"], None))
    news = heard.group_by(list(PAIR), use_threads=False).aggregate([("heard", "max"), ("new_sent", "max")])
    known = beside(news.rename_columns([*PAIR, "heard", "new_sent"]), contacts.select([*PAIR, "sent", "asked"]), PAIR)
    sent = pc.coalesce(known["new_sent"], known["sent"])
    return with_columns(known, sent=sent, silent=pa.scalar(None, MOMENT)).drop_columns("new_sent")


def _remember(contacts: pa.Table, *, asks: pa.Table, responders: pa.Table) -> pa.Table:
    asked = asks.select([*PAIR, "now", "due"])
    stamped = responders.filter(responders["stamped"]).select([*PAIR, "now"])
    both = pa.concat_tables([asked, with_columns(stamped, due=pa.scalar(None, MOMENT))])
    news = both.group_by(list(PAIR), use_threads=False).aggregate([("now", "max"), ("due", "min")])
    known = beside(news.rename_columns([*PAIR, "asked", "due"]), contacts.select([*PAIR, "heard", "sent", "silent"]), PAIR)
    return with_columns(known, silent=_sooner(known["silent"], known["due"])).drop_columns("due")


GAPS: dict[str, Callable[..., Any]] = {
    "backfill.answer": _answer,
    "backfill.asked_now": _asked_now,
    "backfill.due": _due,
    "backfill.enter": _enter,
    "backfill.next_due": _next_due,
    "backfill.note": _note,
    "backfill.retry": _retry,
    "backfill.steps": _steps,
    "backfill.unless_suspended": _unless_suspended,
    "backfill.unserved": _unserved,
    "sources.choose": _choose,
    "sources.hear": _hear,
    "sources.remember": _remember,
}
"""By the name of the rule."""
