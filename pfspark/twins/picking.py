"""Twins of rules that pick, project, count or join rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pfspark.keyed import (
    anti_join,
    beside,
    distinct,
    filtered,
    in_parts,
    inlined,
    placed,
    semi_join,
    together,
    which,
    with_columns,
)
from pfspark.keys import FOLDER, HERE, OBJECT, ORIGIN, ORIGIN_HERE, RANGE_HERE, STORE
from pfspark.references import became, named_by
from pfspark.words import CARRYING, HIERARCHY_ACTIONS, LIVE, Action, Listing, MessageType, Outcome, Reason, Standing, Why


def _amend(view: pa.Table, changed: pa.Table, *, key: Sequence[str]) -> pa.Table:
    return together(anti_join(view, changed, key), changed)


def _in_folders(rows: pa.Table, keys: pa.Table) -> pa.Table:
    return semi_join(rows, keys, HERE)


def _once(rows: pa.Table) -> pa.Table:
    return rows


def _union(*frames: pa.Table) -> pa.Table:
    return pa.concat_tables(frames, promote_options="permissive").select(frames[0].column_names).cast(frames[0].schema)


def _going(rows: pa.Table) -> pa.Table:
    return rows.filter(rows["goes"])


def _staying(rows: pa.Table) -> pa.Table:
    return rows.filter(pc.invert(rows["goes"]))


def _repeated(edits: pa.Table) -> pa.Table:
    return pa.concat_tables(_said_twice(names) for (names,) in in_parts(edits.select(["org", "edit_id"]), by="edit_id"))


def _said_twice(names: pa.Table) -> pa.Table:
    counted = names.group_by(names.column_names).aggregate([([], "count_all")])
    return counted.filter(pc.greater(counted["count_all"], 1)).select(names.column_names)


def _validate(delivered: pa.Table, *, replicas: pa.Table, folders: pa.Table) -> pa.Table:
    here = ["org", "recipient", "folder"]
    standing = replicas.select([*HERE, "standing"]).rename_columns([*here, "standing"])
    full = beside(delivered, standing, here)
    full = beside(full, folders.select([*HERE, "dead"]).rename_columns([*here, "dead"]), here)
    unless_known = pc.if_else(full["dead"].is_null(), str(Reason.UNKNOWN_FOLDER), str(Reason.NO_REPLICA_HERE))
    why = pc.if_else(pc.fill_null(full["dead"], False), str(Reason.FOLDER_DELETED), unless_known)
    receives = pc.is_in(full["standing"], pa.array(map(str, LIVE)))
    return with_columns(full, reason=pc.if_else(receives, None, why)).drop_columns(["standing", "dead"])


def _misnumbered(issued: pa.Table, *, last_given: pa.Table) -> pa.Table:
    known = beside(issued, last_given.select([*ORIGIN, "last"]), ORIGIN)
    last, first, numbers = pc.fill_null(known["last"], 0), known["cn_min"], known["numbers"]
    twice = pc.or_(pc.greater(known["rows"], numbers), pc.less_equal(first, last))
    too_few = pc.less(numbers, pc.add(pc.subtract(known["cn_max"], first), 1))
    left_out = pc.or_(pc.greater(first, pc.add(last, 1)), too_few)
    check = pc.if_else(twice, "I5", pc.if_else(left_out, "I6", None))
    return with_columns(known.select(list(RANGE_HERE)), check=check).filter(check.is_valid())


def _recipients(lists: pa.Table) -> pa.Table:
    others = lists.filter((pc.field("peer") != pc.field("store")) & (pc.field("listing") == str(Listing.LISTED)))
    return others.select([*HERE, "peer"])


def _holders(lists: pa.Table) -> pa.Table:
    others = lists.filter((pc.field("peer") != pc.field("store")) & (pc.field("listing") != str(Listing.GONE)))
    return others.select([*HERE, "peer", "listing"])


def _folders_of(accepted: pa.Table) -> pa.Table:
    return accepted.select(["org", "recipient", "folder"]).rename_columns(list(HERE))


def _unpack(delivered: pa.Table) -> pa.Table:
    received = delivered.select(["org", "recipient", "folder", "message_id"]).rename_columns([*HERE, "message_id"])
    return inlined(received, delivered["carries"], ("origin", "cn_min", "cn_max"))


def speakers(replicas: pa.Table) -> pa.Table:
    return replicas.filter(pc.is_in(replicas["standing"], pa.array(map(str, LIVE))))


def _of_people(issued: pa.Table) -> pa.Table:
    return issued.filter(issued["by_somebody"]).select(list(RANGE_HERE))


def _fall_due(due: pa.Table, *, changed: pa.Table) -> pa.Table:
    return anti_join(distinct(due, HERE), changed, HERE)


def _taken(numbered: pa.Table) -> pa.Table:
    return numbered.filter(pc.is_null(numbered["reason"]))


def _names(changes: pa.Table, *, edits: pa.Table) -> pa.Table:
    return became(changes, named_by(edits))


def _posted(edits: pa.Table) -> pa.Table:
    return edits.filter(pc.equal(edits["action"], str(Action.POST)))


def _changing(edits: pa.Table) -> pa.Table:
    return edits.filter(pc.not_equal(edits["action"], str(Action.POST)))


def _edited(changes: pa.Table, edits: pa.Table) -> pa.Table:
    items = edits.filter(pc.is_valid(edits["item"])).select([*FOLDER, "item"]).rename_columns(list(OBJECT))
    return semi_join(changes, items, OBJECT)


def _of_items_asked(changes: pa.Table, *, asked: pa.Table) -> pa.Table:
    return semi_join(changes, asked, OBJECT)


def _upon_others(changes: pa.Table) -> pa.Table:
    return changes.filter(pc.is_in(changes["action"], pa.array([str(Action.MODIFY), str(Action.DELETE)])))


def _revisions(changes: pa.Table, *, items: pa.Table) -> pa.Table:
    return _upon_others(semi_join(changes, items, OBJECT))


def _last_given(changes: pa.Table, *, issued: pa.Table) -> pa.Table:
    given = semi_join(changes.select([*ORIGIN, "cn"]), issued, ORIGIN)
    last = given.group_by(list(ORIGIN), use_threads=False).aggregate([("cn", "max")])
    return last.rename_columns([*ORIGIN, "last"])


def _issued(changes: pa.Table) -> pa.Table:
    counted = changes.select([*ORIGIN_HERE, "cn", "edit_id"]).group_by(list(ORIGIN_HERE), use_threads=False).aggregate(
        [("cn", "min"), ("cn", "max"), ("cn", "count"), ("cn", "count_distinct"), ("edit_id", "count")]
    )  # fmt: skip
    by_somebody = pc.greater(counted["edit_id_count"], 0)
    ranges = counted.drop_columns("edit_id_count").rename_columns([*RANGE_HERE, "rows", "numbers"])
    return ranges.append_column("by_somebody", by_somebody)


def _in_ranges(changes: pa.Table, ranges: pa.Table) -> pa.Table:
    """A number lies in a range where more ranges of its origin have begun by it than have ended before it. How many, is looked
    up among their sorted ends, those of each origin after those of the origin before."""
    if not ranges.num_rows:
        return changes.slice(0, 0)
    # Most often the newest numbers are asked for: by the first and the last of all the others are left out at once.
    least, most = pc.min(ranges["cn_min"]), pc.max(ranges["cn_max"])
    near = pc.and_(pc.greater_equal(changes["cn"], least), pc.less_equal(changes["cn"], most))
    found = semi_join(filtered(changes, near), ranges, ORIGIN)
    ranges = semi_join(ranges, found, ORIGIN)
    first, last, number = (column.to_numpy() for column in (ranges["cn_min"], ranges["cn_max"], found["cn"]))
    ends = np.unique(np.concatenate([first, last]))

    def along(rows: pa.Table, ranks: Any) -> Any:
        return which(rows, ranges, ORIGIN).to_numpy().astype(np.int64) * (len(ends) + 1) + ranks

    begins, stops = (np.sort(along(ranges, np.searchsorted(ends, each, "right"))) for each in (first, last))
    begun = np.searchsorted(begins, along(found, np.searchsorted(ends, number, "right")), "right")
    ended = np.searchsorted(stops, along(found, np.searchsorted(ends, number, "left")), "right")
    return found.filter(pa.array(begun > ended))


def _twice_as_far(ancestors: pa.Table) -> pa.Table:
    farther = ancestors.select([*HERE, "above"]).rename_columns([*STORE, "above", "farther"])
    joined = ancestors.join(farther, [*STORE, "above"], join_type="inner").select([*HERE, "farther"])
    return distinct(joined, joined.column_names).rename_columns([*HERE, "above"])


def _take_along(dead: pa.Table, *, above: pa.Table) -> pa.Table:
    there = dead.rename_columns([*STORE, "above"])
    return distinct(pa.concat_tables([dead, semi_join(above, there, [*STORE, "above"]).select(list(HERE))]), HERE)


def _with_those_beneath(branches: pa.Table, *, above: pa.Table) -> pa.Table:
    there = branches.select([*HERE, "branch"]).rename_columns([*STORE, "above", "branch"])
    beneath = anti_join(above, branches, HERE).join(there, [*STORE, "above"], join_type="inner")
    return together(branches, beneath)


def _of_viewers(tree: pa.Table, changed: pa.Table) -> pa.Table:
    return semi_join(tree, changed, STORE)


def _elsewhere(rows: pa.Table, keys: pa.Table) -> pa.Table:
    return anti_join(rows, keys, HERE)


def _of_kind(entries: pa.Table, *, why: Why) -> pa.Table:
    return entries.filter(pc.equal(entries["why"], str(why)))


def _entries(rows: pa.Table, why: Why) -> pa.Table:
    missing = {"peer": pa.scalar(""), "attempt": pa.scalar(0), "since": pa.scalar(None, rows.schema.field("due").type)}

    def column(name: str) -> pa.ChunkedArray:
        return rows[name] if name in rows.column_names else pa.chunked_array([pa.repeat(missing[name], rows.num_rows)])

    whys = pa.chunked_array([pa.repeat(str(why), rows.num_rows)])
    columns = {"why": whys} | {name: column(name) for name in missing}
    return pa.table({name: rows[name] for name in HERE} | columns | {"due": rows["due"]})


def _erased(replicas: pa.Table) -> pa.Table:
    return replicas.filter(pc.equal(replicas["standing"], str(Standing.ERASED)))


def _awake(agenda: pa.Table, *, conditions: pa.Table) -> pa.Table:
    return anti_join(agenda, conditions.filter(conditions["down"]), STORE)


def _to_erase(replicas: pa.Table) -> pa.Table:
    return replicas.filter(pc.equal(replicas["standing"], str(Standing.DELETE_NOW))).select(list(HERE))


def _due(agenda: pa.Table, *, clock: pa.Table) -> pa.Table:
    timed = placed(agenda.select(["org"])).join(clock.select(["org", "now"]), "org").sort_by("_place")
    return agenda.filter(pc.less_equal(agenda["due"], timed["now"]))


def _of_types(messages: pa.Table, *, types: Sequence[MessageType]) -> pa.Table:
    return messages.filter(pc.is_in(messages["type"], pa.array(map(str, types))))


def _of_hierarchy(delivered: pa.Table) -> pa.Table:
    received = delivered.filter(pc.is_null(delivered["lost"]))
    return _of_types(received, types=(MessageType.HIERARCHY, MessageType.HIERARCHY_RESPONSE))


def _accepted(validated: pa.Table) -> pa.Table:
    return validated.filter(pc.field("lost").is_null() & pc.field("reason").is_null())


def _properties(tree: pa.Table, *, names: Sequence[str]) -> pa.Table:
    return tree.filter(pc.is_in(tree["property"], pa.array(names)))


def _policies(clock: pa.Table) -> pa.Table:
    return clock.filter(pc.is_valid(clock["age_limit_s"])).select(["org", "age_limit_s"])


def _repeating(clock: pa.Table) -> pa.Table:
    return clock.filter(pc.greater(pc.list_value_length(clock["status_again_s"]), 0)).select(["org", "now", "status_again_s"])


def _tonight(clock: pa.Table) -> pa.Table:
    return clock.filter(clock["night"]).select(["org"])


NEW = (pc.field("applied") == 0) & (pc.field("arriving") == 0)
"""Pieces of the coverage that are not held, and do not come now."""
SETTLED = (pc.field("void") > 0) & (pc.field("claimed") <= 0)
"""Those that some replica has settled without content, and of which no other claims any."""


def _fresh(coverage: pa.Table) -> pa.Table:
    return coverage.filter((pc.field("applied") == 0) & (pc.field("arriving") > 0)).select(list(RANGE_HERE))


def _missing(coverage: pa.Table) -> pa.Table:
    return coverage.filter(NEW & ((pc.field("open") > 0) | (pc.field("claimed") > 0)) & ~SETTLED)


def _settle_empty(coverage: pa.Table, *, replicas: pa.Table) -> pa.Table:
    return semi_join(coverage.filter(NEW & SETTLED), speakers(replicas), HERE).select(list(RANGE_HERE))


def _of_folders(received: pa.Table) -> pa.Table:
    return received.filter(pc.and_(pc.is_null(received["reason"]), _on_the_tree(received)))


def _of_items(received: pa.Table) -> pa.Table:
    return received.filter(pc.and_(pc.is_null(received["reason"]), pc.invert(_on_the_tree(received))))


def _on_the_tree(edits: pa.Table) -> pa.ChunkedArray:
    of_folders = pc.is_in(edits["action"], pa.array(map(str, HIERARCHY_ACTIONS)))
    return pc.if_else(pc.is_valid(edits["action"]), of_folders, None)  # as in SQL


def _without_store(changes: pa.Table) -> pa.Table:
    return changes.drop_columns("store")


def _receipts_of_mail(validated: pa.Table, *, news: pa.Table) -> pa.Table:
    size = pc.add(pc.subtract(news["cn_max"], news["cn_min"]), 1)
    of_each = with_columns(news.select(["org", "store", "message_id"]), size=size)
    brought = of_each.group_by(["org", "store", "message_id"]).aggregate([("size", "sum")])
    brought = brought.rename_columns(["org", "recipient", "message_id", "new"])
    beside = placed(validated.select(["org", "recipient", "message_id"])).join(brought, ["org", "recipient", "message_id"])
    new = beside.sort_by("_place")["new"].combine_chunks()
    carries, is_carrying = validated["carries"].combine_chunks(), pc.is_in(validated["type"], pa.array(map(str, CARRYING)))
    ranges, carried = pc.list_flatten(carries), np.zeros(validated.num_rows, np.int64)
    sizes = pc.add(pc.subtract(pc.struct_field(ranges, "cn_max"), pc.struct_field(ranges, "cn_min")), 1)
    np.add.at(carried, pc.list_parent_indices(carries).to_numpy(), sizes.to_numpy())
    is_lost, is_refused = validated["lost"].is_valid(), pc.and_(validated["reason"].is_valid(), is_carrying)
    outcome = pc.if_else(new.is_valid(), str(Outcome.APPLIED), str(Outcome.NOTHING_NEW))
    outcome = pc.if_else(is_lost, str(Outcome.LOST), pc.if_else(is_refused, str(Outcome.REFUSED), outcome))
    none = pc.invert(is_carrying).combine_chunks()
    counts = pa.StructArray.from_arrays([pa.array(carried), pc.fill_null(new, 0)], ["carried", "new"], mask=none)
    nothing = {"edit_id": pa.nulls(validated.num_rows, pa.string()), "place": pa.nulls(validated.num_rows, pa.int64())}
    return pa.table(
        {
            **{name: validated[name] for name in ("org", "message_id", "type", "sender", "folder")}, **nothing,
            "store": validated["recipient"], "outcome": outcome, "reason": pc.coalesce(validated["lost"], validated["reason"]),
            "at": validated["now"], "counts": counts,
        }
    )  # fmt: skip


def _receipts_of_edits(edits: pa.Table, folder_edits: pa.Table, item_edits: pa.Table) -> pa.Table:
    columns = ["org", "store", "edit_id", "action", "folder", "reason", "place", "now"]
    at_once, by_somebody = edits.filter(edits["reason"].is_valid()), folder_edits.filter(folder_edits["decided"].is_null())
    verdicts = pa.concat_tables(each.select(columns) for each in (at_once, by_somebody, item_edits))
    outcome = pc.if_else(verdicts["reason"].is_null(), str(Outcome.APPLIED), str(Outcome.REFUSED))
    of_mail = dict.fromkeys(("message_id", "sender"), pa.nulls(verdicts.num_rows, pa.string()))
    counts = pa.nulls(verdicts.num_rows, pa.struct({"carried": pa.int64(), "new": pa.int64()}))
    told = verdicts.rename_columns({"action": "type", "now": "at"})
    return with_columns(told, **of_mail, outcome=outcome, counts=counts)


def _keys_of(*frames: pa.Table) -> pa.Table:
    keys = [pa.table({name: each[name] for name in HERE}) for each in frames]  # whether a column may be null is not said
    return distinct(pa.concat_tables(keys), HERE)


PICKING: dict[str, Callable[..., Any]] = {
    "agenda.awake": _awake,
    "agenda.due": _due,
    "agenda.entries": _entries,
    "agenda.erased": _erased,
    "agenda.of_kind": _of_kind,
    "agenda.to_erase": _to_erase,
    "aging.policies": _policies,
    "aging.tonight": _tonight,
    "ancestors.twice_as_far": _twice_as_far,
    "backfill.fresh": _fresh,
    "backfill.missing": _missing,
    "backfill.settle_empty": _settle_empty,
    "evidence.of_items": _of_items_asked,
    "frames.amend": _amend,
    "frames.append": together,
    "frames.elsewhere": _elsewhere,
    "frames.going": _going,
    "frames.in_folders": _in_folders,
    "frames.in_ranges": _in_ranges,
    "frames.keys_of": _keys_of,
    "frames.once": _once,
    "frames.staying": _staying,
    "frames.together": _union,
    "hierarchy.of_viewers": _of_viewers,
    "hierarchy.properties": _properties,
    "hierarchy.take_along": _take_along,
    "intake.as_changes": _without_store,
    "intake.issued": _issued,
    "intake.names": _names,
    "intake.of_folders": _of_folders,
    "intake.of_items": _of_items,
    "intake.of_people": _of_people,
    "intake.receipts": _receipts_of_edits,
    "intake.repeated": _repeated,
    "item_edits.changing": _changing,
    "item_edits.edited": _edited,
    "item_edits.posted": _posted,
    "item_edits.taken": _taken,
    "places.with_those_beneath": _with_those_beneath,
    "receipt.accepted": _accepted,
    "receipt.of_hierarchy": _of_hierarchy,
    "receipt.of_types": _of_types,
    "receipt.receipts": _receipts_of_mail,
    "receipt.recipients": _folders_of,
    "receipt.unpack": _unpack,
    "receipt.validate": _validate,
    "sending.recipients": _recipients,
    "sending.revisions": _revisions,
    "sending.upon_others": _upon_others,
    "state.gain": together,
    "state.with_news": together,
    "status.fall_due": _fall_due,
    "status.holders": _holders,
    "status.repeating": _repeating,
    "status.speakers": speakers,
    "violations.last_given": _last_given,
    "violations.misnumbered": _misnumbered,
}
"""By the name of the rule."""
