"""Twins of the rules by which status is asked for, told, and repeated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pfspark import cnarrow
from pfspark.keyed import MOMENT, anti_join, beside, distinct, inlined, one_of_each, semi_join, stores_of, with_columns
from pfspark.keys import HERE, MESSAGE, ORIGIN_HERE, RANGE_HERE
from pfspark.timeouts import REPEATS, TIMEOUTS
from pfspark.twins.gaps import later, timeout
from pfspark.twins.picking import speakers
from pfspark.twins.sets import CLAIM
from pfspark.words import Entry, Flag, Listing, MessageType, Standing

ASKED = (*HERE, "peer")
OF_MAIL = ["org", "recipient", "folder"]
FIRST, AGAIN, ANSWERED, OVER = "first", "again", "answered", "over"
WIDER = pa.array(["three", "three_and_oldest", "all"])


def has(lists: pa.ChunkedArray, value: Any) -> pa.Array:
    """Of each list, whether that value is in it: one for all, or of each its own. Null where there is no list."""
    of, stands = pc.list_parent_indices(lists), np.zeros(len(lists), bool)
    found = pc.equal(pc.list_flatten(lists), value.take(of) if isinstance(value, pa.ChunkedArray) else str(value))
    stands[of.filter(found).to_numpy()] = True
    return pa.array(stands, mask=lists.is_null().to_numpy())


def _answerable(accepted: pa.Table, *, replicas: pa.Table) -> pa.Table:
    return semi_join(accepted, speakers(replicas).select(list(HERE)).rename_columns(OF_MAIL), OF_MAIL)


def _asked_for(requests: pa.Table, *, letters: pa.Table) -> pa.Table:
    to_all = pc.equal(pc.list_value_length(requests["responders"]), 0)
    named = requests.filter(pc.or_kleene(has(requests["responders"], requests["recipient"]), pc.fill_null(to_all, False)))
    told = beside(named, letters.select([*MESSAGE, "status"]), MESSAGE, inner=True)
    of, claims = pc.list_parent_indices(told["status"]), pc.list_flatten(told["status"]).combine_chunks()
    of_itself = pc.equal(pc.struct_field(claims, "about"), told["sender"].take(of))
    many = np.bincount(of.filter(of_itself).to_numpy(), minlength=told.num_rows)
    ends = pa.array(np.cumsum(np.append(0, many)), pa.int32())
    asked = told.select([*OF_MAIL, "store"]).rename_columns([*ASKED])
    status = pa.ListArray.from_arrays(ends, claims.filter(of_itself.combine_chunks()))
    return with_columns(asked, status=status, leaver=has(told["flags"], Flag.DELETE_PENDING))


def _lacking(shown: pa.Table, *, beliefs: pa.Table, peers: pa.Table) -> pa.Table:
    reported = beliefs.filter(pc.equal(beliefs["entry"], str(Entry.REPORTED)))
    theirs = with_columns(reported.select(list(RANGE_HERE)), peer=stores_of(reported["about"]))
    shown_to_each = beside(shown.select(list(RANGE_HERE)), peers.select(list(ASKED)), HERE, inner=True)
    return cnarrow.subtract(shown_to_each, theirs, (*ORIGIN_HERE, "peer"))


def _behind(shown: pa.Table, *, beliefs: pa.Table, peers: pa.Table) -> pa.Table:
    return distinct(_lacking(shown, beliefs=beliefs, peers=peers), HERE)


def _answer(
    requests: pa.Table, *, shown: pa.Table, applied: pa.Table, beliefs: pa.Table, replicas: pa.Table, clock: pa.Table
) -> pa.Table:
    askers, by_peer = distinct(requests, ASKED), (*ORIGIN_HERE, "peer")
    lacking = _lacking(shown, beliefs=beliefs, peers=askers)
    asked = inlined(requests.select(list(ASKED)), requests["status"], CLAIM)
    held = beside(applied.select(list(RANGE_HERE)), askers, HERE, inner=True)
    less = cnarrow.subtract(asked, held, by_peer)
    active = replicas.filter(pc.equal(replicas["standing"], str(Standing.ACTIVE))).select(list(HERE))
    known = requests.select([*ASKED, "leaver"]).group_by(list(ASKED), use_threads=False).aggregate([("leaver", "max")])
    known = known.rename_columns([*ASKED, "leaver"])
    for name, keys in (("more", distinct(lacking, ASKED)), ("less", distinct(less, ASKED)), ("active", active)):
        known = beside(known, with_columns(keys, **{name: True}), keys.column_names)
    known = beside(known, clock.select(["org", "answer_when"]), ["org"], inner=True)
    is_active, always = known["active"].is_valid(), pc.equal(known["answer_when"], "always")
    to_leaver = pc.and_(known["leaver"], is_active)
    says = pc.add(to_leaver.cast(pa.int8()), pc.and_(to_leaver, known["less"].is_null()).cast(pa.int8()))
    flags = pa.array([[], [Flag.DELETE_PENDING], [Flag.DELETE_PENDING, Flag.ACKNOWLEDGE]], pa.list_(pa.string()))
    answered = pc.or_(pc.or_(known["leaver"], known["more"].is_valid()), always)
    return with_columns(known.select(list(ASKED)), flags=flags.take(says)).filter(answered)


def _begin(steps: pa.Table, *, again: pa.Table, clock: pa.Table) -> pa.Table:
    rules = clock.select(["org", "responders_list_change", "responders_restore"])
    started = beside(again.select([*HERE, "since"]), rules, ["org"], inner=True)
    asked_by = pc.if_else(started["since"].is_null(), started["responders_list_change"], started["responders_restore"])
    changed = beside(speakers(steps).select(list(HERE)), rules, ["org"], inner=True)
    begun = ((started, asked_by), (changed, changed["responders_list_change"]))
    asked = pa.concat_tables(with_columns(rows.select(list(HERE)), rule=rule) for rows, rule in begun)
    width = pc.index_in(asked["rule"], WIDER)
    return one_of_each(with_columns(asked, width=width).sort_by("width"), HERE, last=True).drop_columns("width")


def _choosing(begin: pa.Table, *, replicas: pa.Table) -> pa.Table:
    return semi_join(begin, replicas.filter(pc.equal(replicas["standing"], str(Standing.ACTIVE))), HERE)


def _inquire(
    *, begin: pa.Table, responders: pa.Table, inquiring: pa.Table, accepted: pa.Table, current: pa.Table, replicas: pa.Table,
    lists: pa.Table, stores: pa.Table, clock: pa.Table,
) -> pa.Table:  # fmt: skip
    live = speakers(replicas)
    leaver = pc.equal(live["standing"], str(Standing.DELETE_PENDING))
    stands = with_columns(live.select(list(HERE)), leaver=leaver, began=live["at"])
    held = lists.filter(
        pc.and_(pc.not_equal(lists["peer"], lists["store"]), pc.not_equal(lists["listing"], str(Listing.GONE)))
    ).select([*ASKED, "listing"])
    others = beside(held, stands.drop_columns("began"), HERE, inner=True)
    others = others.filter(pc.or_(pc.equal(others["listing"], str(Listing.LISTED)), pc.invert(others["leaver"])))
    first = beside(semi_join(others, begin, HERE), with_columns(responders.select(list(ASKED)), named=True), ASKED)
    first = _begun(first, must=pc.or_(first["leaver"], first["named"].is_valid()))
    known = anti_join(inquiring.select([*ASKED, "attempt", "due"]), first, ASKED)
    asking = semi_join(anti_join(others.filter(others["leaver"]), begin, HERE), known, HERE)
    newcomers = _begun(anti_join(asking, known, ASKED), must=True)
    followed = _followed(known, others=others, answers=_answers(accepted, current=current, stands=stands), clock=clock)
    return _asked_again(pa.concat_tables([first, newcomers, followed.select(first.column_names)]), stores=stores, clock=clock)


def _begun(asked: pa.Table, *, must: Any) -> pa.Table:
    return with_columns(asked.select([*ASKED, "leaver"]), asks=True, must=must, attempt=0, kind=FIRST)


def _answers(accepted: pa.Table, *, current: pa.Table, stands: pa.Table) -> pa.Table:
    of_status = pc.equal(current["type"], str(MessageType.STATUS))
    to_leaver = current.filter(pc.and_(has(current["flags"], Flag.DELETE_PENDING), of_status))
    told = beside(_heard(to_leaver), stands.select([*HERE, "began"]), HERE, inner=True)
    told = distinct(told.filter(pc.greater(told["said"], told["began"])), ASKED)
    either = distinct(pa.concat_tables([_heard(accepted).select(list(ASKED)), told]), ASKED)
    known = beside(either, with_columns(told, answers=True), ASKED)
    return with_columns(known, answers=pc.fill_null(known["answers"], False))


def _heard(messages: pa.Table) -> pa.Table:
    return messages.select([*OF_MAIL, "store", "at"]).rename_columns([*ASKED, "said"])


def _followed(known: pa.Table, *, others: pa.Table, answers: pa.Table, clock: pa.Table) -> pa.Table:
    there = beside(beside(known, others.drop_columns("listing"), ASKED), answers, ASKED)
    timed = beside(there, clock.select(["org", "now"]), ["org"], inner=True)
    leaver, answers = timed["leaver"], timed["answers"]
    stays = pc.fill_null(leaver, False)
    over = pc.or_(leaver.is_null(), pc.and_(pc.invert(stays), answers.is_valid()))
    answered = pc.and_(stays, pc.fill_null(answers, False))
    again = pc.fill_null(pc.less_equal(timed["due"], timed["now"]), False)
    kind = pc.if_else(over, OVER, pc.if_else(answered, ANSWERED, pc.if_else(again, AGAIN, None)))
    asks = pc.fill_null(pc.equal(kind, AGAIN), False)
    is_answered = pc.fill_null(pc.equal(kind, ANSWERED), False)
    attempt = pc.if_else(asks, pc.add(timed["attempt"], 1), pc.if_else(is_answered, -1, timed["attempt"]))
    said = {"leaver": stays, "asks": asks, "must": asks, "attempt": attempt, "kind": kind}
    return with_columns(timed.select(list(ASKED)), **said).filter(kind.is_valid())


def _asked_again(asking: pa.Table, *, stores: pa.Table, clock: pa.Table) -> pa.Table:
    sites = stores.select(["org", "store", "site"])
    timed = beside(asking, clock.select(["org", "now", *TIMEOUTS]), ["org"], inner=True)
    timed = beside(timed, sites.rename_columns(["org", "store", "from_site"]), ["org", "store"], inner=True)
    timed = beside(timed, sites.rename_columns(["org", "peer", "to_site"]), ["org", "peer"], inner=True)
    answered, over = pc.equal(timed["kind"], ANSWERED), pc.equal(timed["kind"], OVER)
    silent = timeout(timed, timed["attempt"], near=pc.equal(timed["from_site"], timed["to_site"]))
    wait = pc.if_else(answered, timed["delete_pending_timeout_s"], silent)
    insists = pc.and_(timed["must"], pc.or_(timed["leaver"], pc.less(timed["attempt"], REPEATS)))
    follows = pc.or_(answered, pc.and_(pc.invert(over), insists))
    due = pc.if_else(follows, later(timed["now"], wait), pa.scalar(None, MOMENT))
    return with_columns(timed.select([*ASKED, "asks", "must", "attempt", "leaver"]), since=timed["now"], due=due)


def _repeat(
    behind: pa.Table, noted: pa.Table, *, strokes: pa.Table, keys: pa.Table, changed: pa.Table, policies: pa.Table
) -> pa.Table:
    full = beside(distinct(keys, HERE), policies.select(["org", "now", "status_again_s"]), ["org"], inner=True)
    full = beside(full, noted.select([*HERE, "attempt", "due"]), HERE)
    full = beside(full, strokes.select([*HERE, "due"]).rename_columns([*HERE, "status_due"]), HERE)
    full = beside(full, with_columns(behind.select(list(HERE)), behind=True), HERE)
    full = beside(full, with_columns(distinct(changed, HERE), changed=True), HERE)
    now, due, before = full["now"], full["due"], full["attempt"]
    to_come = pc.or_(full["changed"].is_valid(), pc.fill_null(pc.greater(full["status_due"], now), False))
    off = pc.or_(to_come, full["behind"].is_null())
    goes = pc.and_(pc.invert(off), pc.fill_null(pc.less_equal(due, now), False))
    attempt = pc.if_else(due.is_null(), 0, pc.if_else(goes, pc.add(before, 1), before))
    waits = full["status_again_s"].combine_chunks()
    first, longest = (waits.values.take(pa.array(waits.offsets.to_numpy()[:-1] + nth)).to_numpy() for nth in (0, 1))
    doubled = first * 2.0 ** np.minimum(pc.fill_null(attempt, 0).to_numpy(), 30)
    wait = pa.chunked_array([pa.array(np.minimum(doubled, longest).astype(np.int64))])
    follows = pc.if_else(pc.or_(goes, due.is_null()), later(now, wait), due)
    due_next = pc.if_else(off, pa.scalar(None, MOMENT), follows)
    said = {"goes": goes, "attempt": attempt, "since": now, "due": due_next, "before": due}
    return with_columns(full.select(list(HERE)), **said).filter(pc.or_(due_next.is_valid(), due.is_valid()))


STATUS: dict[str, Callable[..., Any]] = {
    "status.answer": _answer,
    "status.answerable": _answerable,
    "status.asked_for": _asked_for,
    "status.begin": _begin,
    "status.behind": _behind,
    "status.choosing": _choosing,
    "status.inquire": _inquire,
    "status.repeat": _repeat,
}
"""By the name of the rule."""
