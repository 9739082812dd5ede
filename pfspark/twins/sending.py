"""Twins of the rules by which what goes is packed, addressed and delivered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pfspark import cnarrow
from pfspark.cntext import label_key
from pfspark.keyed import (
    MOMENT,
    Whole,
    beside,
    distinct,
    fields,
    gathered,
    inlined,
    nth_of,
    numbered,
    pairs_of,
    stores_of,
    with_columns,
)
from pfspark.keys import HERE, NUMBER, ORIGIN, ORIGIN_HERE, QUEUE, STORE
from pfspark.twins.gaps import content_waits
from pfspark.twins.sets import lives_of, senders
from pfspark.words import HIERARCHY, LONGEST_S, UNLIMITED, Action, Flag, MessageType, Reason, Standing

RANGE = ("origin", "cn_min", "cn_max")
TEXTS = pa.list_(pa.string())
RANGES = pa.list_(pa.struct({"origin": pa.string(), "cn_min": pa.int64(), "cn_max": pa.int64()}))
LISTS = {"carries": RANGES, "asks": RANGES, "responders": TEXTS, "flags": TEXTS}
"""The parts of a message that are lists."""


def _updates(ranges: pa.Table, *, changes: pa.Table, superseded: pa.Table, empty: pa.Table) -> pa.Table:
    named = cnarrow.within(changes.select([*NUMBER, "action", "size"]), ranges, ORIGIN)
    rows = cnarrow.without(named, empty, ORIGIN_HERE)
    full = beside(rows, with_columns(superseded.select([*ORIGIN_HERE, "cn"]), superseded=True), [*ORIGIN_HERE, "cn"])
    bodyless = pc.or_kleene(pc.equal(full["action"], str(Action.DELETE)), pc.fill_null(full["superseded"], False))
    sizes = pc.if_else(pc.fill_null(bodyless, False), 0, full["size"])
    return with_columns(full.select([*HERE, "asker", "origin", "cn"]), bytes=sizes)


def _pack(updates: pa.Table, *, stores: pa.Table, limits: pa.Table, clock: pa.Table) -> pa.Table:
    """Along all queues, one after another, it is reckoned how far bytes have come; so the end of the message that begins at some
    place is looked up there, for one message of each queue at a time."""
    limited = _limited(updates, stores=stores, limits=limits, clock=clock)
    order = [(name, "ascending") for name in (*QUEUE, "of", "life", "cn")]
    queued = with_columns(limited, of=stores_of(limited["origin"]), life=lives_of(limited["origin"])).sort_by(order)
    queue, _ = numbered(queued, QUEUE)
    begins = np.diff(queue, prepend=-1) != 0
    starts = np.flatnonzero(begins)
    sizes = queued["bytes"].to_numpy()
    total = np.cumsum(sizes if sizes.sum(dtype=float) < 2**62 else sizes.astype(object))
    cuts = np.zeros(len(sizes), bool)
    ends = np.append(starts[1:], len(sizes))[: len(starts)]
    limit, most = queued["limit"].to_numpy(), queued["most"].to_numpy()
    while len(starts):
        cuts[starts] = True
        fits = np.searchsorted(total, total[starts] - sizes[starts] + limit[starts], "right") - starts
        starts = starts + np.maximum(np.minimum(fits, most[starts]), 1)
        starts, ends = starts[starts < ends], ends[starts < ends]
    return _messages(queued, cuts, begins, total)


def _messages(queued: pa.Table, cuts: Any, begins: Any, total: Any) -> pa.Table:
    """Updates in their order, of which some begin a message, and some of these a queue, as the messages."""
    place = np.flatnonzero(cuts)
    message = np.cumsum(cuts) - 1
    batch = nth_of(np.cumsum(begins)[place])
    sent = np.append(total[place[1:] - 1], total[-1:])
    sizes = np.diff(sent, prepend=0).astype(np.int64)
    numbers, origin = queued["cn"].to_numpy(), numbered(queued, ["origin"])[0]
    pieces = cuts.copy()
    pieces[1:] |= (np.diff(origin) != 0) | (np.diff(numbers) != 1)
    first = np.flatnonzero(pieces)
    last = np.append(first[1:], len(pieces))[: len(first)] - 1
    ends = {"cn_min": pa.array(numbers[first]), "cn_max": pa.array(numbers[last])}
    ranges = with_columns(queued.select(["origin"]).take(first), **ends, message=pa.array(message[first]))
    carries = gathered(ranges, ["message"], carries=fields(ranges, RANGE))["carries"]
    messages = queued.select(list(QUEUE)).take(place)
    return with_columns(messages, batch=pa.array(batch, pa.int32()), carries=carries, bytes=pa.array(sizes))


def _limited(updates: pa.Table, *, stores: pa.Table, limits: pa.Table, clock: pa.Table) -> pa.Table:
    policy = clock.select(["org", "size_limit", "folders_per_hierarchy_message"])
    policy = policy.rename_columns(["org", "of_policy", "folders_per_hierarchy_message"])
    of_store = stores.select([*STORE, "size_limit"]).rename_columns([*STORE, "of_store"])
    of_folder = limits.select([*HERE, "size_limit"]).rename_columns([*HERE, "of_folder"])
    here = beside(updates, of_store, STORE, inner=True)
    here = beside(beside(here, policy, ["org"], inner=True), of_folder, HERE)
    folders = pc.if_else(pc.equal(here["folder"], HIERARCHY), here["folders_per_hierarchy_message"], None)
    return with_columns(
        here.select([*QUEUE, "origin", "cn"]), bytes=pc.fill_null(here["bytes"], 0),
        limit=pc.coalesce(here["of_folder"], here["of_store"], here["of_policy"]), most=pc.fill_null(folders, UNLIMITED),
    )  # fmt: skip


def _drafts(rows: pa.Table, *, type: Any) -> pa.Table:
    nothing = {name: _empty(kind, rows.num_rows) for name, kind in LISTS.items()}
    said = {name: rows[name] for name in (*LISTS, "bytes") if name in rows.column_names}
    return with_columns(rows.select(list(HERE)), type=type, peers=rows["peers"], **{"bytes": 0} | nothing | said)


def _empty(kind: pa.ListType, many: int) -> pa.ListArray:
    """As many lists without anything."""
    return pa.ListArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), many + 1), pa.array([], kind.value_type))


def _or_empty(lists: pa.ChunkedArray) -> pa.ListArray:
    """Lists, empty ones where there are none."""
    ends = np.cumsum(np.append(0, pc.fill_null(pc.list_value_length(lists), 0).to_numpy()))
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pc.list_flatten(lists).combine_chunks())


def _sets(rows: pa.Table, by: tuple[str, ...], **names: str) -> pa.Table:
    """One row for each key, with the values of a column, each once and in their order, as a list of that name."""
    [(name, column)] = names.items()
    one = distinct(rows, [*by, column]).sort_by([(each, "ascending") for each in (*by, column)])
    return gathered(one, by, **{name: one[column]})


def _to_all(rows: pa.Table, *, recipients: pa.Table) -> pa.Table:
    return beside(rows, _sets(recipients, HERE, peers="peer"), HERE, inner=True)


def _each_alone(column: pa.ChunkedArray) -> pa.Array:
    """Each value as a list of one."""
    return pa.ListArray.from_arrays(pa.array(range(len(column) + 1), pa.int32()), column.combine_chunks())


def _kinds(rows: pa.Table, of_hierarchy: MessageType, of_content: MessageType) -> pa.ChunkedArray:
    return pc.if_else(pc.equal(rows["folder"], HIERARCHY), str(of_hierarchy), str(of_content))


def _changes(packed: pa.Table, *, recipients: pa.Table) -> pa.Table:
    own = _to_all(packed.filter(packed["asker"].is_null()), recipients=recipients)
    return _drafts(own, type=_kinds(own, MessageType.HIERARCHY, MessageType.CONTENT))


def _responses(packed: pa.Table) -> pa.Table:
    asked = packed.filter(packed["asker"].is_valid())
    kinds = _kinds(asked, MessageType.HIERARCHY_RESPONSE, MessageType.CONTENT_RESPONSE)
    return _drafts(with_columns(asked, peers=_each_alone(asked["asker"])), type=kinds)


def _requests(asks: pa.Table) -> pa.Table:
    pieces = cnarrow.join_up(asks, (*HERE, "origin", "peer"))
    pieces = pieces.sort_by([(name, "ascending") for name in (*HERE, "peer", *RANGE)])
    asked = gathered(pieces, (*HERE, "peer"), asks=fields(pieces, RANGE))
    return _drafts(with_columns(asked, peers=_each_alone(asked["peer"])), type=str(MessageType.BACKFILL_REQUEST))


def _answers(answered: pa.Table, unserved: pa.Table) -> pa.Table:
    asker = [*HERE, "peer"]
    told = pa.concat_tables([answered.select([*asker, "flags"]), unserved.select(asker)], promote_options="default")
    said = {"peers": _each_alone(told["peer"]), "flags": _or_empty(told["flags"])}
    return _drafts(with_columns(told, **said), type=str(MessageType.STATUS))


def _unasked(quiet: pa.Table, *, recipients: pa.Table) -> pa.Table:
    return _drafts(_to_all(quiet, recipients=recipients), type=str(MessageType.STATUS))


def _inquiries(inquiries: pa.Table) -> pa.Table:
    by = (*HERE, "leaver")
    now = inquiries.filter(inquiries["asks"])
    asked = beside(_sets(now, by, peers="peer"), _sets(now.filter(now["must"]), by, responders="peer"), by)
    marks = pa.array([[], [str(Flag.DELETE_PENDING)]], TEXTS).take(pc.fill_null(asked["leaver"], False).cast(pa.int64()))
    return _drafts(
        with_columns(asked, responders=_or_empty(asked["responders"]), flags=marks),
        type=str(MessageType.STATUS_REQUEST),
    )


def _written(*drafts: pa.Table) -> pa.Table:
    return pa.concat_tables(each.select(drafts[0].column_names) for each in drafts)


def _address(
    drafts: pa.Table, *, status: pa.Table, limits: pa.Table, replicas: pa.Table, delays: pa.Table, conditions: pa.Table,
    clock: pa.Table,
) -> pa.Table:  # fmt: skip
    at = clock.select(["org", "now"]).rename_columns(["org", "at"])
    cut_off = with_columns(conditions.filter(conditions["cut"]).select(list(STORE)), lost=str(Reason.CUT_OFF))
    sent = beside(senders(drafts, replicas=replicas), at, ["org"], inner=True)
    sent = beside(beside(beside(sent, cut_off, STORE), status, HERE), limits.select([*HERE, "priority"]), HERE)
    time = _padded(sent["at"].cast(pa.int64()))
    nth = pa.array(_nth(sent)).cast(pa.string())
    named = pc.binary_join_element_wise(time, sent["sender"], sent["type"], sent["folder"], nth, "/")
    return with_columns(
        sent, message_id=named, status=_or_empty(sent["status"]),
        recipients=_recipients(sent, delays), priority=pc.fill_null(sent["priority"], "normal"),
    )  # fmt: skip


def _padded(micros: pa.ChunkedArray) -> pa.ChunkedArray:
    """As numbers of 18 letters, the sign among them."""
    digits = pc.utf8_lpad(pc.abs(micros).cast(pa.string()), 18, "0")
    return pc.if_else(pc.less(micros, 0), pc.utf8_replace_slice(digits, 0, 1, "-"), digits)


def _nth(sent: pa.Table) -> Whole:
    """Which one a message is among those of its sender, folder and type. Most are the only one: few are put in order."""
    alike, _ = numbered(sent, [*HERE, "type"])
    nth = np.ones(sent.num_rows, np.int64)
    [several] = np.nonzero((np.bincount(alike, minlength=1) > 1)[alike])
    if len(several):
        some = sent.take(several)
        order = some.select(["peers", "carries", "asks", "flags"]).to_pylist()
        keys = sorted(zip(alike[several].tolist(), map(_order, order), several.tolist(), strict=True))
        of, places = (np.array([each[part] for each in keys]) for part in (0, 2))
        nth[places] = nth_of(of) + 1
    return nth


def _order(message: dict[str, Any]) -> tuple[Any, ...]:
    carried = [(label_key(each["origin"]), each["cn_min"]) for each in message["carries"]]
    return message["peers"], carried, [tuple(each.values()) for each in message["asks"]], message["flags"]


def _recipients(sent: pa.Table, delays: pa.Table) -> pa.ListArray:
    """To whom each message goes, and when it gets there."""
    peers = sent["peers"].combine_chunks()
    each = sent.select([*STORE, "at", "lost"]).take(pc.list_parent_indices(peers))
    each = with_columns(each, of=pc.list_parent_indices(peers), peer=pc.list_flatten(peers))
    each = beside(each, _by_recipient(delays), [*STORE, "peer"]).sort_by([("of", "ascending"), ("peer", "ascending")])
    late = pc.multiply(pc.fill_null(each["delay_s"], 0), 1_000_000)
    due = pc.add(each["at"].cast(pa.int64()), late).cast(MOMENT)
    recipients = fields(with_columns(each.select(["lost"]), store=each["peer"], due=due), ("store", "due", "lost"))
    many = np.cumsum(np.append(0, pc.list_value_length(peers).to_numpy()))
    return pa.ListArray.from_arrays(pa.array(many, pa.int32()), recipients.combine_chunks())


def _delays(stores: pa.Table, links: pa.Table) -> pa.Table:
    takes_time = (pc.field("delay_s") >= 1) & (pc.field("delay_s") <= LONGEST_S) & (pc.field("from_site") != pc.field("to_site"))
    ways = links.filter(takes_time).select(["org", "from_site", "to_site", "delay_s"])
    mine = stores.select([*STORE, "site"]).rename_columns([*STORE, "from_site"])
    there = stores.select(["org", "store", "site"]).filter(stores["store"].is_valid())
    pairs = beside(mine, ways, ["org", "from_site"], inner=True)
    pairs = beside(pairs, there.rename_columns(["org", "peer", "to_site"]), ["org", "to_site"], inner=True)
    lists = gathered(pairs, STORE, peers=pairs["peer"], delays=pairs["delay_s"])
    peers, delays = lists["peers"].combine_chunks(), lists["delays"].combine_chunks()
    return with_columns(lists.select(list(STORE)), delays=pa.MapArray.from_arrays(peers.offsets, peers.values, delays.values))


def _by_recipient(delays: pa.Table) -> pa.Table:
    """How long mail takes from one store to another: org, store, peer, delay_s."""
    return inlined(delays.select(list(STORE)), pairs_of(delays["delays"]), {"key": "peer", "value": "delay_s"})


def _arrive(mail: pa.Table, *, conditions: pa.Table, replicas: pa.Table, clock: pa.Table) -> pa.Table:
    here = ["org", "recipient", "folder"]
    leavers = replicas.filter(pc.equal(replicas["standing"], str(Standing.DELETE_PENDING))).select(list(HERE))
    timed = beside(mail, clock.select(["org", "now", "suspended"]), ["org"], inner=True)
    timed = timed.filter(pc.less_equal(timed["due"], timed["now"]))
    timed = beside(timed, with_columns(leavers.rename_columns(here), leaves=True), here)
    timed = beside(
        timed, conditions.select([*STORE, "cut", "down"]).rename_columns(["org", "recipient", "cut", "down"]), here[:2]
    )
    out = pc.fill_null(pc.or_kleene(timed["down"], timed["cut"]), False)
    asks = pc.equal(timed["type"], str(MessageType.BACKFILL_REQUEST))
    waits = pc.and_(pc.and_(content_waits(timed), asks), pc.and_(timed["leaves"].is_null(), pc.invert(out)))
    cut_off = pc.if_else(pc.fill_null(timed["cut"], False), str(Reason.CUT_OFF), None)
    why = pc.coalesce(timed["lost"], pc.if_else(pc.fill_null(timed["down"], False), str(Reason.DOWN), cut_off))
    got = with_columns(timed, lost=why).filter(pc.invert(waits))
    return got.drop_columns(["cut", "down", "suspended", "due", "leaves"])


SENDING: dict[str, Callable[..., Any]] = {
    "addressing.address": _address,
    "addressing.answers": _answers,
    "addressing.changes": _changes,
    "addressing.delays": _delays,
    "addressing.inquiries": _inquiries,
    "addressing.requests": _requests,
    "addressing.responses": _responses,
    "addressing.unasked": _unasked,
    "addressing.written": _written,
    "packing.pack": _pack,
    "sending.updates": _updates,
    "transport.arrive": _arrive,
}
"""By the name of the rule."""
