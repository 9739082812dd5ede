"""References: `@` and the edit that makes a folder or an item, which stand for it before it has an id; in tables that are here.

What `naming` and `rules.intake.names` say of frames.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pfspark.keyed import ByName, placed, semi_join
from pfspark.words import PARENT

EDIT = ("org", "edit_id")


def named(orgs: pa.ChunkedArray, said: pa.ChunkedArray) -> pa.Table:
    """The edits that are named there, each as `@` and its id: org, edit_id."""
    naming = pa.table({"org": orgs, "edit_id": said}).filter(pc.starts_with(said, "@"))
    return naming.set_column(1, "edit_id", pc.utf8_slice_codeunits(naming["edit_id"], 1))


def named_by(edits: pa.Table) -> pa.Table:
    """The edits that edits name, as their folder, its parent, or their item: org, edit_id."""
    return pa.concat_tables(named(edits["org"], said) for said in (edits["folder"], edits["item"], _parents(edits)))


def became(changes: pa.Table, edits: pa.Table) -> pa.Table:
    """What those edits (org, edit_id) made: org, edit_id, object. None is remembered for ever: one that was taken in once more is
    what it became last; one that waits, or was refused, has no row."""
    taken = semi_join(changes.select([*EDIT, "object", "at"]), edits, EDIT)
    in_time = taken.sort_by([("at", "ascending"), ("object", "ascending")])
    last = in_time.group_by(list(EDIT), use_threads=False).aggregate([("object", "last")])
    return last.rename_columns({"object_last": "object"}).select([*EDIT, "object"])


def with_ids(world: ByName) -> ByName:
    """That world, the edits that wait in it `resolved`."""
    return {**world, "edits": resolved(world["edits"], world["changes"])}


def resolved(edits: pa.Table, changes: pa.Table) -> pa.Table:
    """Edits with the ids of what they name by edits that made it since; what is to be made yet they name as they did."""
    known = became(changes, named_by(edits))
    if not known.num_rows:
        return edits
    for name in ("folder", "item"):
        edits = edits.set_column(edits.column_names.index(name), name, _ids(edits["org"], edits[name], known))
    parents = _parents(edits)
    ids = _ids(edits["org"], parents, known)
    places = np.flatnonzero(pc.fill_null(pc.not_equal(ids, parents), False).to_numpy())
    if not len(places):
        return edits
    sets = [
        [(name, parent if name == PARENT else value) for name, value in said]
        for said, parent in zip(edits["properties"].take(places).to_pylist(), ids.take(places).to_pylist(), strict=True)
    ]
    column = edits.schema.get_field_index("properties")
    both = pa.chunked_array([*edits["properties"].chunks, pa.array(sets, edits.schema.field(column).type)])
    order = np.arange(edits.num_rows)
    order[places] = edits.num_rows + np.arange(len(places))
    return edits.set_column(column, "properties", both.take(pa.array(order)))


def _parents(edits: pa.Table) -> pa.ChunkedArray:
    return pa.chunked_array([pc.map_lookup(edits["properties"].combine_chunks(), PARENT, "first")])


def _ids(orgs: pa.ChunkedArray, said: pa.ChunkedArray, known: pa.Table) -> pa.ChunkedArray:
    """What is said there, or the id that it stands for."""
    refs = known.select(["org", "object"]).append_column("said", pc.binary_join_element_wise("@", known["edit_id"], ""))
    rows = placed(pa.table({"org": orgs, "said": said.cast(pa.string())}))
    return pc.coalesce(rows.join(refs, ["org", "said"]).sort_by("_place")["object"], said)
