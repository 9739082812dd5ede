"""Twins of the rules by which sources are put in order, and those are named who must answer a status request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pfspark import cnarrow
from pfspark.keyed import MOMENT, Whole, beside, distinct, nth_of, numbered, with_columns
from pfspark.keys import HERE, ORIGIN_HERE, PAIR, RANGE_HERE
from pfspark.twins.gaps import micros
from pfspark.words import EXCHANGE_2000, MOST_RESPONDERS, REPLICA, SAYS_NOTHING

Truths = npt.NDArray[np.bool_]
BEFORE_ALL = np.iinfo(np.int64).min
"""Where a copy stands of which nobody knows the age."""


class _Known(NamedTuple):
    """Candidates, and what conditions and sort keys say of each."""

    rows: pa.Table
    facts: Mapping[str, Truths]
    values: Mapping[str, Whole]


def _sizes(ranges: pa.Table, by: list[str], size: str) -> pa.Table:
    numbers = pc.add(pc.subtract(ranges["cn_max"], ranges["cn_min"]), 1)
    counted = with_columns(ranges.select(by), **{size: numbers}).group_by(by, use_threads=False).aggregate([(size, "sum")])
    return counted.rename_columns([*by, size])


def _amounts(missing: pa.Table, gives: pa.Table) -> pa.Table:
    peers = distinct(gives, [*ORIGIN_HERE, "peer"])
    asked = beside(missing.select(list(RANGE_HERE)), peers, ORIGIN_HERE, inner=True)
    return _sizes(cnarrow.intersect(asked, gives, (*ORIGIN_HERE, "peer")), [*HERE, "peer"], "amount")


def _facts(candidates: pa.Table, *, stores: pa.Table, links: pa.Table, contacts: pa.Table, clock: pa.Table) -> _Known:
    mine = stores.select(["org", "store", "site"]).rename_columns(["org", "store", "from_site"])
    theirs = stores.select(["org", "store", "site", "version", "preferred"])
    theirs = theirs.rename_columns(["org", "peer", "to_site", "version", "preferred"])
    full = beside(beside(candidates, mine, ["org", "store"], inner=True), theirs, ["org", "peer"], inner=True)
    ways = ["org", "from_site", "to_site"]
    full = beside(full, links.select([*ways, "cost", "delay_s"]), ways)
    full = beside(full, contacts.select([*PAIR, "asked", "silent"]), PAIR)
    full = beside(full, clock.select(["org", "now", "source_keys", "full_match_first"]), ["org"], inner=True)
    number = pc.struct_field(pc.extract_regex(full["version"], r"^(?P<number>\d{1,9}(?:\.\d{1,9})?)"), "number")
    version = pc.fill_null(number.cast(pa.float64()), 0.0).to_numpy()
    near, linked = pc.equal(full["from_site"], full["to_site"]), pc.is_valid(full["cost"])
    facts = {
        "since_2000": version >= EXCHANGE_2000,
        "before_2000": version < EXCHANGE_2000,
        "same_site": _true(near),
        "affinity": _true(pc.and_kleene(pc.invert(near), linked)),
        "no_affinity": _true(pc.and_kleene(pc.invert(near), pc.invert(linked))),
    }
    values = {
        "unavailable": _true(pc.less_equal(full["silent"], full["now"])).astype(np.int64),
        "not_preferred": (~_true(full["preferred"])).astype(np.int64),
        "cost": np.where(facts["same_site"], 0, _or(full["cost"], 1)),
        "delay": np.where(facts["same_site"], 0, _or(full["delay_s"], 0)),
        "older_version": (-version * 1000).astype(np.int64),
        "fewer": -_or(full["amount"], 0),
        "longest_ago": _or(micros(full["asked"]), 0),
        "store": np.zeros(full.num_rows, np.int64),
    }
    return _Known(full, facts, values)


def _true(column: pa.ChunkedArray) -> Truths:
    """Of each row whether it holds; null does not."""
    found: Truths = pc.fill_null(column, False).to_numpy()
    return found


def _or(column: pa.ChunkedArray, missing: int) -> Whole:
    return cnarrow.whole(pc.fill_null(column, missing))


def _sort_keys(known: _Known) -> tuple[Whole, Whole]:
    """What the rows of the source order say of each candidate, a column for each; and the first row with conditions, all of which
    hold, from 1, or 0."""
    lists = known.rows["source_keys"].combine_chunks()
    of, texts = pc.list_parent_indices(lists).to_numpy(), pc.list_flatten(lists)
    place = nth_of(of)
    said = np.zeros((known.rows.num_rows, place.max(initial=0) + 1), np.int64)
    opens = np.zeros(said.shape, bool)
    for text in pc.unique(texts).to_pylist():
        *conditions, key = text.split(" ")
        holds = np.ones(known.rows.num_rows, bool)
        for condition in conditions:
            holds &= known.facts[condition]
        here = pc.equal(texts, text).to_numpy(zero_copy_only=False)
        row, column = of[here], place[here]
        said[row, column] = np.where(holds, known.values[key], SAYS_NOTHING)[row]
        opens[row, column] = holds[row] & bool(conditions)
    return said, np.where(opens.any(axis=1), opens.argmax(axis=1) + 1, 0)


def _place(folder: Whole, peers: pa.ChunkedArray, *keys: Whole) -> Whole:
    """Of each row its place among those of its folder, from 1: by the keys, the first one first, then by the name of the peer."""
    names = pc.rank(peers.combine_chunks(), tiebreaker="dense").to_numpy()
    order = np.lexsort((names, *reversed(keys), folder))
    places = np.empty(len(order), np.int64)
    places[order] = nth_of(folder[order]) + 1
    return places


def _rank(
    missing: pa.Table, *, gives: pa.Table, stores: pa.Table, links: pa.Table, contacts: pa.Table, clock: pa.Table
) -> pa.Table:
    whole = _sizes(missing, [*HERE], "whole")
    candidates = beside(_amounts(missing, gives), whole, HERE, inner=True)
    known = _facts(candidates, stores=stores, links=links, contacts=contacts, clock=clock)
    said, group = _sort_keys(known)
    folder, first_of = numbered(known.rows, HERE)
    latest = np.zeros(len(first_of), np.int64)
    np.maximum.at(latest, folder, group)
    has_less = _true(pc.and_(known.rows["full_match_first"], pc.less(known.rows["amount"], known.rows["whole"])))
    earlier_group = has_less & (group < latest[folder])
    nth = _place(folder, known.rows["peer"], has_less.astype(np.int64), earlier_group.astype(np.int64), *said.T)
    return with_columns(known.rows.select([*HERE, "peer"]), nth=pa.array(nth, pa.int32()))


def _responders(
    begin: pa.Table,
    *,
    holders: pa.Table,
    missing: pa.Table,
    gives: pa.Table,
    stores: pa.Table,
    links: pa.Table,
    contacts: pa.Table,
    tree: pa.Table,
    clock: pa.Table,
) -> pa.Table:
    asked = beside(begin.select([*HERE, "rule"]), holders.select([*HERE, "peer"]), HERE, inner=True)
    asked = beside(asked, _amounts(missing, gives), [*HERE, "peer"])
    active = with_columns(contacts.select(list(PAIR)), active=contacts["sent"].is_valid())
    entries = tree.filter(pc.starts_with(tree["property"], REPLICA))
    peer, placed = pc.utf8_slice_codeunits(entries["property"], len(REPLICA)), _moment(entries["stamp"])
    copies = with_columns(entries.select(list(HERE)), peer=peer, placed=placed)
    asked = beside(beside(asked, active, PAIR), copies, [*HERE, "peer"])
    known = _facts(asked, stores=stores, links=links, contacts=contacts, clock=clock)
    by_source, by_step, by_age = _places(known)
    rows, three = known.rows, by_step <= MOST_RESPONDERS
    rule = rows["rule"]
    oldest = _true(pc.equal(rule, "three_and_oldest"))
    named = _true(pc.equal(rule, "all")) | (_true(pc.equal(rule, "three")) & (by_source <= MOST_RESPONDERS))
    named |= oldest & (three | (by_age == 1))
    near = pc.equal(rows["from_site"], rows["to_site"])
    stamped = pc.and_kleene(pc.and_kleene(pa.array(oldest), near), pa.array(three))
    return with_columns(rows.select([*HERE, "peer"]), stamped=stamped, now=rows["now"]).filter(pa.array(named))


def _moment(stamps: pa.ChunkedArray) -> pa.ChunkedArray:
    """When what is stamped so was said."""
    some = stamps.combine_chunks()
    return pc.if_else(some.is_valid(), pc.struct_field(some, "at"), pa.scalar(None, MOMENT))


def _places(known: _Known) -> tuple[Whole, Whole, Whole]:
    """The places of holders: in the order of sources, by the six steps of Exchange 2000, and by the age of the copy."""
    folder, _ = numbered(known.rows, HERE)
    near, linked, active = known.facts["same_site"], known.facts["affinity"], _true(known.rows["active"])
    group = np.select([near, linked & active, linked], [1, 2, 4], 5)
    key = np.select([near, linked], [known.values["longest_ago"], known.values["cost"]], known.values["delay"])
    age = cnarrow.whole(pc.fill_null(micros(known.rows["placed"]), BEFORE_ALL))
    said, _ = _sort_keys(known)
    by_keys: tuple[tuple[Whole, ...], ...] = (tuple(said.T), (group, key), (age,))
    by_source, by_step, by_age = (_place(folder, known.rows["peer"], *keys) for keys in by_keys)
    return by_source, by_step, by_age


RANKING: dict[str, Callable[..., Any]] = {
    "sources.rank": _rank,
    "sources.responders": _responders,
}
"""By the name of the rule."""
