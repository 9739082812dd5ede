"""The twin of the rule by which the edits of people are received, and those refused that no other rule could follow."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pfspark.keyed import MOMENT, alike, anti_join, beside, nth_of, numbered, pairs_of, placed, semi_join, with_columns
from pfspark.keys import STORE
from pfspark.twins.setting import are_within, numbers_of
from pfspark.words import (
    DELETED,
    FIRST,
    HIERARCHY,
    HIERARCHY_ACTIONS,
    LARGEST,
    LAST,
    LONGEST_S,
    NAME,
    PARENT,
    PRIORITIES,
    REPLICA,
    SAID_AGAIN,
    SLOTS,
    WHOLE,
    Action,
    Listing,
    Reason,
)  # fmt: skip

EDIT = ("org", "edit_id")
SAYS = ("at", "place", "store", "action", "folder", "item", "name", "size", "hash")
"""By what edits of one name are put in order, before the properties that they set."""


def _receive(
    edits: pa.Table, *, repeated: pa.Table, taken: pa.Table, stores: pa.Table, replicas: pa.Table, conditions: pa.Table,
    clock: pa.Table,
) -> pa.Table:  # fmt: skip
    timed = beside(edits, clock.select(["org", "now"]), ["org"], inner=True)
    is_due = pc.or_kleene(pc.invert(_in_time(timed["at"])), pc.less_equal(timed["at"], timed["now"]))
    awake = anti_join(timed.filter(is_due), conditions.filter(conditions["down"]), STORE)
    awake = _told_apart(awake, repeated)
    reason = pc.if_else(_is_bad(awake), pa.scalar(str(Reason.BAD_VALUE)), pa.scalar(None, pa.string()))
    for refused, why in (
        (pc.or_(pc.or_(awake["later"], alike(awake, taken, EDIT)), _is_undone(awake, replicas)), Reason.ALREADY_TAKEN_IN),
        (pc.invert(alike(awake, stores, STORE)), Reason.UNKNOWN_STORE),
    ):
        reason = pc.if_else(refused, str(why), reason)
    sets = with_columns(awake, properties=_or_nothing(awake["properties"], _of_folder(awake)))
    never = pa.scalar(None, MOMENT)
    return with_columns(sets, reason=reason, nth=_nth(awake), decided=never).drop_columns("later")


def _in_time(at: pa.ChunkedArray) -> pa.ChunkedArray:
    lies = pc.and_(*(pc.less_equal(*pair) for pair in ((pa.scalar(FIRST, at.type), at), (at, pa.scalar(LAST, at.type)))))
    return pc.fill_null(lies, False)


def _nth(edits: pa.Table) -> pa.Array:
    """Which one of those of its store an edit is, by time, then by place, then by id; without a time it comes first."""
    store, _ = numbered(edits, STORE)
    at, place = (pc.fill_null(edits[name].cast(pa.int64()), -(2**63)).to_numpy() for name in ("at", "place"))
    names = pc.rank(edits["edit_id"], tiebreaker="dense").to_numpy()
    along = np.lexsort((names, place, at, store))
    nth = np.empty(len(along), np.int32)
    nth[along] = nth_of(store[along]) + 1
    return pa.array(nth)


def _told_apart(edits: pa.Table, repeated: pa.Table) -> pa.Table:
    """Edits with `later`: whether one of the same name stands before. Those of a name that stands twice are few."""
    several = semi_join(placed(edits), repeated, EDIT)
    later = np.zeros(edits.num_rows, bool)
    rows = sorted(several.to_pylist(), key=lambda row: ([row[name] for name in EDIT], *_said(row)))
    for _, some in groupby(rows, key=lambda row: [row[name] for name in EDIT]):
        _, *others = some
        later[[row["_place"] for row in others]] = True
    return with_columns(edits, later=pa.array(later))


def _said(row: dict[str, Any]) -> tuple[Any, ...]:
    """What an edit says, to be put in order: nothing comes first."""
    sets = None if row["properties"] is None else sorted(((name, _or_first(value)) for name, value in row["properties"]))
    return (*(_or_first(row[name]) for name in SAYS), _or_first(sets))


def _or_first(value: Any) -> tuple[Any, ...]:
    return () if value is None else (value,)


def _is_undone(edits: pa.Table, replicas: pa.Table) -> pa.ChunkedArray:
    about = pc.if_else(_of_folder(edits), HIERARCHY, edits["folder"])
    again = placed(with_columns(edits.select([*STORE, "edit_id", "at"]), about=about))
    again = again.filter(pc.starts_with(again["edit_id"], SAID_AGAIN))
    lives = replicas.select([*STORE, "folder", "at"]).rename_columns([*STORE, "about", "since"])
    beside_lives = beside(again, lives, [*STORE, "about"], inner=True)
    undone = beside_lives.filter(pc.less(beside_lives["since"], beside_lives["at"]))
    return alike(edits, undone, [*STORE, "edit_id", "at"])


def _of_folder(edits: pa.Table) -> pa.ChunkedArray:
    return pc.is_in(edits["action"], pa.array(map(str, HIERARCHY_ACTIONS)))


def _or_nothing(properties: pa.ChunkedArray, where: pa.ChunkedArray) -> pa.ChunkedArray:
    """Those maps; empty ones where there are none, of such rows."""
    lacks = pc.and_(properties.is_null(), where).to_numpy()
    if not lacks.any():
        return properties
    both = pa.chunked_array([*properties.chunks, pa.array([[]], properties.type)])
    return both.take(pa.array(np.where(lacks, len(properties), np.arange(len(properties)))))


def _is_bad(edits: pa.Table) -> pa.Array:
    pairs = pairs_of(edits["properties"])
    of, pair = pc.list_parent_indices(pairs).to_numpy(), pc.list_flatten(pairs)
    name, value = (pc.struct_field(pair, part) for part in ("key", "value"))
    says_amiss, names, places = (np.zeros(edits.num_rows, bool) for _ in range(3))
    says_amiss[of[~_fit(name, value).to_numpy(zero_copy_only=False)]] = True
    for found, key in ((names, NAME), (places, PARENT)):
        found[of[pc.and_(pc.equal(name, key), value.is_valid()).to_numpy(zero_copy_only=False)]] = True
    of_folder, creates, posts = (
        each.to_numpy()
        for each in (_of_folder(edits), *(_is(edits["action"], which) for which in (Action.CREATE_FOLDER, Action.POST)))
    )
    sized = pc.fill_null(pc.and_(pc.greater_equal(edits["size"], 0), pc.less(edits["size"], LARGEST)), True)
    known = pc.is_in(edits["action"], pa.array(map(str, Action)))
    good = known.to_numpy() & _in_time(edits["at"]).to_numpy() & sized.to_numpy()
    good &= ~posts | edits["item"].is_null().to_numpy()
    good &= ~of_folder | ~says_amiss
    good &= ~creates | (names & places)
    return pa.array(~good)


def _is(column: pa.ChunkedArray, value: str) -> pa.ChunkedArray:
    return pc.fill_null(pc.equal(column, str(value)), False)


def _fit(name: pa.Array, value: pa.Array) -> pa.Array:
    """Whether a property of a folder may have that text, of each pair."""
    number = numbers_of(value, r"\A0*(?P<number>[0-9]{1,19})\z")  # the most that fit into 64 bits; the largest is less
    kinds = {
        DELETED: pa.scalar(False),
        "priority": pc.is_in(value, pa.array(map(str, PRIORITIES))),
        "conflict": pc.is_in(value, pa.array(["0", "1", "2"])),
        "deleted_item_retention": are_within(number, 0, LONGEST_S),
        "age_limit": pc.or_kleene(pc.equal(value, "none"), are_within(number, 1, LONGEST_S)),
        "size_limit": are_within(number, 0, LARGEST - 1),
        "schedule": pc.match_substring_regex(value, SLOTS),
    }
    fits = value.is_valid()
    for each, fit in kinds.items():
        fits = pc.if_else(pc.equal(name, each), pc.fill_null(fit, False), fits)
    fits = pc.if_else(pc.starts_with(name, WHOLE), False, fits)
    listed = pc.is_in(value, pa.array([str(Listing.LISTED), str(Listing.REMOVED)]))
    return pc.if_else(pc.starts_with(name, REPLICA), listed, fits)


RECEIVING: dict[str, Callable[..., Any]] = {"intake.receive": _receive}
"""By the name of the rule."""
