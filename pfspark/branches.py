"""Which folders of the trees a round may change, and which it reads for it: what edits and letters name, all that lies beneath
these, and all that lies above.

Trees are the view `folders`; a folder lies beneath another where any store sees it there.
"""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pfspark.keyed import anti_join, distinct, filtered, semi_join
from pfspark.keys import FOLDER, STORE
from pfspark.twins import TWINS
from pfspark.words import DELETED, HIERARCHY, PARENT, ROOT, Action

PLACED = (*FOLDER, "parent")
"""Where a folder lies, whoever sees it there."""


def edges(folders: pa.Table, orgs: pa.Table) -> pa.Table:
    """What lies beneath what in those organizations, whoever sees it there: org, folder, parent."""
    beneath_another = semi_join(folders, orgs, ["org"]).filter(pc.field("parent") != ROOT)
    return distinct(beneath_another, PLACED)


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
        next_to = semi_join(edges, level.rename_columns(["org", here]), ["org", here])
        level = anti_join(distinct(_as_folders(next_to, there), FOLDER), found, FOLDER)
        found = pa.concat_tables([found, level])
    return found


class Said(NamedTuple):
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
    """What letters of the hierarchy say, by the changes whose numbers they carry. What everybody to whom letters go sees there
    already does not move."""
    of_hierarchy = filtered(changes, pc.equal(changes["folder"], HIERARCHY))  # among millions a fifteenth of the work
    brought = TWINS["frames.in_ranges"](of_hierarchy, TWINS["receipt.unpack"](news))
    properties = brought["properties"].combine_chunks()
    of = brought.select(["org", "object"]).take(pc.list_parent_indices(properties)).rename_columns(list(FOLDER))
    names, values = (pc.struct_field(pc.list_flatten(properties), name) for name in ("name", "value"))
    placing = pc.equal(names, PARENT)
    said = of.filter(placing).append_column("parent", values.filter(placing))
    moved = anti_join(said, _seen_by_all(said, folders, distinct(news, ["org", "recipient"]).rename_columns(list(STORE))), PLACED)
    unplaced = anti_join(_as_folders(brought, "object"), said, FOLDER)
    moving = [_as_folders(moved, "folder"), of.filter(pc.equal(names, DELETED)), unplaced]
    return Said(_as_folders(brought, "object"), pa.concat_tables(moving), _as_folders(said, "parent"))


def _seen_by_all(said: pa.Table, folders: pa.Table, stores: pa.Table) -> pa.Table:
    """Where folders lie by what is said, if all of those stores of their organization see them there: org, folder, parent."""
    seen = semi_join(semi_join(folders, said, PLACED), stores, STORE).group_by(list(PLACED)).aggregate([("store", "count")])
    all_of = stores.group_by("org").aggregate([("store", "count")]).rename_columns(["org", "all"])
    return seen.join(all_of, "org", join_type="inner").filter(pc.field("store_count") == pc.field("all"))


def _as_folders(rows: pa.Table, column: str) -> pa.Table:
    return _of(rows["org"], rows[column])


def _of(orgs: pa.ChunkedArray, folders: pa.ChunkedArray) -> pa.Table:
    """Those folders; where none is named there is none."""
    return pa.table({"org": orgs, "folder": folders}).filter(pc.is_valid(folders))
