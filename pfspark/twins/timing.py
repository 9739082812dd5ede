"""Twins of the rules that say when something is sent, told, or looked at again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pfspark.keyed import MOMENT, alike, anti_join, beside, distinct, semi_join, with_columns
from pfspark.keys import AGENDA, HERE, STORE
from pfspark.schedules import THURSDAY, WEEK
from pfspark.twins.gaps import content_waits
from pfspark.words import HIERARCHY, LONGEST_S, SLOTS, Standing, Why

SECOND, MINUTE, DAY = 1_000_000, 60_000_000, 86_400_000_000


def _update(agenda: pa.Table, *, wanted: pa.Table, anew: pa.Table, clock: pa.Table) -> pa.Table:
    dropped = anti_join(semi_join(agenda, anew, [*HERE, "why"]), wanted, AGENDA)
    columns = [*AGENDA, "attempt", "since", "due"]
    stays = alike(_without_nulls(wanted.select(columns)), _without_nulls(agenda.select(columns)), columns)
    changed = wanted.select(columns).filter(pc.invert(stays))
    ended = with_columns(dropped.select(columns), due=pa.scalar(None, MOMENT))
    at = clock.select(["org", "now"]).rename_columns(["org", "at"])
    return beside(pa.concat_tables([changed, ended]), at, ["org"], inner=True)


def _without_nulls(entries: pa.Table) -> pa.Table:
    """Entries in which a moment that there is not is alike another: joins of Arrow, too, say that no null equals another."""
    never = -(2**63)
    return with_columns(entries, **{name: pc.fill_null(entries[name].cast(pa.int64()), never) for name in ("since", "due")})


def _decided(dirty: pa.Table, *, quiet: pa.Table, replicas: pa.Table) -> pa.Table:
    def all_of(keys: pa.Table, *whys: Why) -> pa.Table:
        return pa.concat_tables(with_columns(keys.select(list(HERE)), why=str(why)) for why in whys)

    over = semi_join(replicas.filter(pc.equal(replicas["standing"], str(Standing.ERASED))), dirty, HERE)
    recomputed = all_of(dirty, Why.SEND, Why.BACKFILL, Why.ERASE, Why.EXPIRE, Why.ASK, Why.NEWS)
    return pa.concat_tables([recomputed, all_of(quiet, Why.STATUS), all_of(over, *Why)])


def _maintenance(keys: pa.Table, *, clock: pa.Table) -> pa.Table:
    waiting = beside(distinct(keys, HERE), clock.select(["org", "now", "maintenance_s"]), ["org"], inner=True)
    now = _micros(waiting["now"])
    today = now // DAY * DAY + waiting["maintenance_s"].to_numpy() * SECOND
    return with_columns(waiting.select(list(HERE)), due=_moments(np.where(today > now, today, today + DAY)))


def _restart_clock(changed: pa.Table, *, clock: pa.Table) -> pa.Table:
    policy = clock.select(["org", "now", "status_after_s", "status_clock_s"])
    timed = beside(distinct(changed, HERE), policy, ["org"], inner=True)
    after = _micros(timed["now"]) + timed["status_after_s"].to_numpy() * SECOND
    strokes = timed["status_clock_s"].combine_chunks()
    of = pc.list_parent_indices(strokes).to_numpy()
    today = after[of] // DAY * DAY + pc.list_flatten(strokes).to_numpy() * SECOND
    first = np.full(timed.num_rows, np.iinfo(np.int64).max)
    np.minimum.at(first, of, np.where(today >= after[of], today, today + DAY))
    has_clock = np.bincount(of, minlength=timed.num_rows) > 0
    return with_columns(timed.select(list(HERE)), since=timed["now"], due=_moments(np.where(has_clock, first, after)))


def _cycle(
    waiting: pa.Table, *, agenda: pa.Table, replicas: pa.Table, stores: pa.Table, limits: pa.Table, clock: pa.Table
) -> pa.Table:
    since = agenda.filter(pc.equal(agenda["why"], str(Why.SEND))).select([*HERE, "since"])
    of_store = stores.select([*STORE, "interval_s", "schedule"]).rename_columns([*STORE, "interval_s", "of_store"])
    policy = clock.select(["org", "now", "start", "suspended", "interval_s"])
    here = beside(distinct(waiting, HERE), since, HERE)
    here = beside(here, replicas.select([*HERE, "standing"]), HERE)
    here = beside(here, of_store, STORE, inner=True)
    here = beside(here, limits.select([*HERE, "schedule"]).rename_columns([*HERE, "of_folder"]), HERE)
    here = beside(here, policy.rename_columns(["org", "now", "start", "suspended", "of_policy"]), ["org"], inner=True)
    leaving = pc.equal(here["standing"], str(Standing.DELETE_PENDING))
    is_fit = pc.match_substring_regex(here["of_store"], SLOTS)
    said = pc.coalesce(here["of_folder"], pc.if_else(is_fit, here["of_store"], None))
    waits_for_none = pc.fill_null(pc.or_kleene(leaving, pc.equal(here["folder"], HIERARCHY)), False)
    schedule = pc.if_else(waits_for_none, None, said)
    has_interval = pc.and_(pc.greater_equal(here["interval_s"], 1), pc.less_equal(here["interval_s"], LONGEST_S))
    interval = pc.if_else(pc.fill_null(has_interval, False), here["interval_s"], here["of_policy"])
    counted = pc.coalesce(here["since"], here["now"])
    due = _next_cycles(_micros(counted), _micros(here["start"]), interval.to_numpy() * SECOND, schedule)
    held = pc.and_kleene(content_waits(here), pc.invert(leaving))
    goes = pc.fill_null(pc.and_kleene(pc.invert(held), pc.less_equal(due, here["now"])), False)
    return with_columns(here.select(list(HERE)), since=counted, due=due, goes=goes)


def _next_cycles(since: Any, start: Any, every: Any, schedule: pa.ChunkedArray) -> pa.Array:
    """What `sending._next_cycle` says of each row; of moments as microseconds."""

    def at_cycle(micros: Any, start: Any, every: Any) -> Any:
        return start - (start - micros) // every * every

    first = at_cycle(since, start, every)
    slots = pc.split_pattern(schedule, ",").combine_chunks()
    of, slot = pc.list_parent_indices(slots).to_numpy(), pc.list_flatten(slots)
    said = pc.not_equal(slot, "")
    of, slot = of[said.to_numpy(zero_copy_only=False)], slot.filter(said)
    ends = pc.split_pattern(slot, "-")
    opens, closes = (pc.list_element(ends, nth).cast(pa.int64()).to_numpy() for nth in (0, 1))
    minute = (first // MINUTE + THURSDAY) % WEEK
    is_open = (opens <= minute[of]) & (minute[of] < closes)
    later = (first[of] // MINUTE + (opens - minute[of]) % WEEK) * MINUTE
    cycle = np.where(is_open, first[of], at_cycle(later, start[of], every[of]))
    misses = ~is_open & (cycle >= later + (closes - opens) * MINUTE)
    best = np.lexsort((cycle, misses, of))
    one, place = np.unique(of[best], return_index=True)
    due, is_never = first.copy(), schedule.is_valid().to_numpy()
    due[one], is_never[one] = cycle[best][place], False
    return pa.array(due, MOMENT, mask=is_never)


def _micros(moments: pa.ChunkedArray) -> Any:
    return moments.cast(pa.int64()).to_numpy()


def _moments(micros: Any) -> pa.Array:
    return pa.array(micros, pa.int64()).cast(MOMENT)


TIMING: dict[str, Callable[..., Any]] = {
    "agenda.decided": _decided,
    "agenda.maintenance": _maintenance,
    "agenda.update": _update,
    "sending.cycle": _cycle,
    "status.restart_clock": _restart_clock,
}
"""By the name of the rule."""
