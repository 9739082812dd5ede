"""Which folders of the trees a round may change, and which it reads for it: what edits and letters name, all that lies beneath
these, and all that lies above.

Trees are the view `folders`; a folder lies beneath another where any store sees it there.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from pfspark.keyed import distinct, having, lacking, placed
from pfspark.keys import FOLDER, HERE, STORE
from pfspark.words import DELETED, HIERARCHY, PARENT, ROOT, Action

ORIGIN_OF = ("org", "origin")
"""Who gave the numbers of an organization's hierarchy."""


def edges(folders: pa.Table, orgs: pa.Table) -> pa.Table:
    """What lies beneath what in those organizations, whoever sees it there: org, folder, parent."""
    beneath_another = having(folders, orgs, ["org"]).filter(pc.field("parent") != ROOT)
    return distinct(beneath_another, [*FOLDER, "parent"])


def beneath(edges: pa.Table, folders: pa.Table) -> pa.Table:
    """Those folders (org, folder), and all that lies beneath them."""
    return _followed(edges, folders, "parent", "folder")


def above(edges: pa.Table, folders: pa.Table) -> pa.Table:
    """Those folders (org, folder), and all that they lie beneath."""
    return _followed(edges, folders, "folder", "parent")


def _followed(edges: pa.Table, folders: pa.Table, here: str, there: str) -> pa.Table:
    """Level by level, and each folder once: merging may have put two folders beneath each other."""
    found = level = distinct(folders, FOLDER)
    while level.num_rows:
        next_to = having(edges, level.rename_columns(["org", here]), ["org", here])
        level = lacking(distinct(_as_folders(next_to, there), FOLDER), found, FOLDER)
        found = pa.concat_tables([found, level])
    return found


@dataclass(frozen=True)
class Said:
    """Folders (org, folder) of which something is said: all of them; those that may come to lie elsewhere, or die, and with them
    what lies beneath; and those beneath which one is placed."""

    all: pa.Table
    moving: pa.Table
    parents: pa.Table


def of_edits(edits: pa.Table) -> Said:
    """What edits of the hierarchy say, of folders as they name them."""
    parents = pc.map_lookup(edits["properties"], PARENT, "first")
    moves = pc.or_(pc.is_valid(parents), pc.equal(edits["action"], str(Action.DELETE_FOLDER)))
    return Said(_as_folders(edits, "folder"), _as_folders(edits.filter(moves), "folder"), _of(edits["org"], parents))


def of_letters(news: pa.Table, changes: pa.Table, folders: pa.Table) -> Said:
    """What letters of the hierarchy say, by the changes whose numbers they carry. What everybody to whom they go sees there
    already does not move.

    Of each origin all numbers count from the least to the most that come: a folder more is read, and nothing changes.
    """
    brought = _brought(news, changes)
    properties = brought["properties"].combine_chunks()
    of = brought.select(["org", "object"]).take(pc.list_parent_indices(properties)).rename_columns(list(FOLDER))
    names, values = (pc.struct_field(pc.list_flatten(properties), name) for name in ("name", "value"))
    placing = pc.equal(names, PARENT)
    said = of.filter(placing).append_column("parent", values.filter(placing))
    to = distinct(news, ["org", "recipient"]).rename_columns(list(STORE))
    seen = having(folders, said, FOLDER)
    moved = lacking(said.join(to, "org", join_type="inner"), seen, [*HERE, "parent"])
    unplaced = lacking(_as_folders(brought, "object"), said, FOLDER)
    moving = [_as_folders(moved, "folder"), of.filter(pc.equal(names, DELETED)), unplaced]
    return Said(_as_folders(brought, "object"), pa.concat_tables(moving), _as_folders(said, "parent"))


def _brought(news: pa.Table, changes: pa.Table) -> pa.Table:
    carried = news["carries"].combine_chunks()
    ranges = pa.Table.from_struct_array(pc.list_flatten(carried))
    ranges = ranges.append_column("org", news["org"].take(pc.list_parent_indices(carried)))
    spans = ranges.group_by(list(ORIGIN_OF)).aggregate([("cn_min", "min"), ("cn_max", "max")])
    known = changes.filter(pc.field("folder") == HIERARCHY)
    numbered = placed(known.select([*ORIGIN_OF, "cn"])).join(spans, list(ORIGIN_OF), join_type="inner")
    come = numbered.filter((pc.field("cn") >= pc.field("cn_min_min")) & (pc.field("cn") <= pc.field("cn_max_max")))
    return known.take(come["_place"])


def _as_folders(rows: pa.Table, column: str) -> pa.Table:
    return _of(rows["org"], rows[column])


def _of(orgs: pa.ChunkedArray, folders: pa.ChunkedArray) -> pa.Table:
    """Those folders; where none is named there is none."""
    return pa.table({"org": orgs, "folder": folders}).filter(pc.is_valid(folders))
