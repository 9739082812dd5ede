"""Twins of the rules by which items that people post get their place, their number, and become changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pfspark.keyed import anti_join, beside, fields, labels, numbered, pairs_of, with_columns
from pfspark.keys import HERE
from pfspark.words import HIERARCHY, Reason, Standing

PREDECESSORS = pa.list_(pa.struct({"origin": pa.string(), "cn": pa.int64()}))


def _validate_places(edits: pa.Table, *, as_of: pa.Table, standing: pa.Table, folders: pa.Table) -> pa.Table:
    full = beside(edits.drop_columns("reason"), as_of, ["org", "edit_id"])
    full = with_columns(full, folder=pc.coalesce(full["within"], full["folder"])).drop_columns("within")
    full = beside(beside(full, standing.select([*HERE, "standing"]), HERE), folders.select([*HERE, "dead"]), HERE)
    gone, stays = pc.less(full["since"], full["nth"]), pc.equal(full["standing"], str(Standing.ACTIVE))
    reasons = [
        (pc.equal(full["folder"], HIERARCHY), Reason.UNKNOWN_FOLDER), (gone, Reason.FOLDER_DELETED), (full["on"], None),
        (full["on"].is_valid(), Reason.NO_REPLICA_HERE), (stays, None), (full["dead"], Reason.FOLDER_DELETED),
        (full["dead"].is_null(), Reason.UNKNOWN_FOLDER),
    ]  # fmt: skip
    reason: Any = str(Reason.NO_REPLICA_HERE)
    for holds, why in reversed(reasons):  # the first that holds says why
        reason = pc.if_else(pc.fill_null(holds, False), pa.scalar(why and str(why), pa.string()), reason)
    nothing = {"upon": pa.nulls(full.num_rows, PREDECESSORS), "known_as": pa.nulls(full.num_rows, pa.string())}
    return with_columns(full, reason=reason, **nothing).drop_columns(["standing", "dead", "on", "since"])


def _last_numbers(replicas: pa.Table, *, applied: pa.Table) -> pa.Table:
    own = with_columns(replicas.select(list(HERE)), label=labels(replicas["store"], replicas["life"]))
    given = beside(own, applied.select([*HERE, "origin", "cn_max"]).rename_columns([*HERE, "label", "cn_max"]), [*HERE, "label"])
    last = with_columns(given, last=pc.fill_null(given["cn_max"], 0)).group_by([*HERE, "label"], use_threads=False)
    return last.aggregate([("last", "max")]).rename_columns([*HERE, "label", "last"])


def _number(validated: pa.Table, *, replicas: pa.Table, numbers: pa.Table) -> pa.Table:
    called = with_columns(replicas.select(list(HERE)), label=labels(replicas["store"], replicas["life"]))
    here = beside(beside(validated, called, HERE), numbers.select([*HERE, "last"]), HERE)
    here = here.take(np.lexsort((here["nth"].to_numpy(), numbered(here, HERE)[0])))
    taken = here["reason"].is_null()
    folder, so_far = numbered(here, HERE)[0], np.cumsum(taken.to_numpy())
    begins = np.flatnonzero(np.diff(folder, prepend=-1))
    before = (so_far - taken.to_numpy())[begins]
    counted = so_far - np.repeat(before, np.diff(np.append(begins, len(folder))))
    cn = pc.add(pc.fill_null(here["last"], 0), pa.array(counted, pa.int64()))
    named = {"label": pc.if_else(taken, here["label"], None), "cn": pc.if_else(taken, cn, None)}
    return with_columns(here.drop_columns("last"), **named)


def _numbers(rows: pa.Table) -> pa.ChunkedArray:
    """Change numbers as they are written: `PFS1:7`."""
    return pc.binary_join_element_wise(rows["label"], rows["cn"].cast(pa.string()), ":")


def _record_posts(posts: pa.Table, *, changing: pa.Table) -> pa.Table:
    again = changing.filter(pc.starts_with(changing["item"], "@")).select(["org", "item"])
    named = with_columns(posts, _said=pc.binary_join_element_wise("@", posts["edit_id"], ""))
    alone = anti_join(named, again.rename_columns(["org", "_said"]), ["org", "_said"])
    number, none = _numbers(alone), pa.array([[]] * alone.num_rows, PREDECESSORS)
    first = with_columns(alone, object=number, name=pc.coalesce(alone["name"], number), predecessors=none)
    return first.drop_columns(["_said", "upon", "known_as"])


def _as_changes(written: pa.Table) -> pa.Table:
    as_it_is = ["org", "store", "folder", "cn", "object", "action", "name", "predecessors", "hash", "edit_id"]
    said = {"origin": written["label"], "made_at": written["at"], "at": written["now"]}
    sized = with_columns(written.select(as_it_is), **said, size=pc.fill_null(written["size"], 0))
    return with_columns(sized, properties=_headers(written))


def _headers(written: pa.Table) -> pa.ListArray:
    """What each change sets, in the order of the names, with the time and the number of the change."""
    pairs = pairs_of(written["properties"])
    of, pair = pc.list_parent_indices(pairs), pc.list_flatten(pairs)
    each = written.select(["at", "label", "cn"]).take(of).rename_columns(["at", "origin", "cn"])
    stamped = with_columns(each, stamp=fields(each, ("at", "origin", "cn")), of=of)
    named = with_columns(stamped, **{name: pc.struct_field(pair, nth) for nth, name in enumerate(("name", "value"))})
    headers = fields(named.sort_by([("of", "ascending"), ("name", "ascending")]), ("name", "value", "stamp"))
    ends = np.cumsum(np.append(0, pc.list_value_length(pairs).to_numpy()))
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), headers.combine_chunks())


POSTING: dict[str, Callable[..., Any]] = {
    "intake.last_numbers": _last_numbers,
    "item_edits.as_changes": _as_changes,
    "item_edits.number": _number,
    "item_edits.record_posts": _record_posts,
    "item_edits.validate_places": _validate_places,
}
"""By the name of the rule."""
