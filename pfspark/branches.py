"""Which folders of the trees a round may change, and which it reads for it: what edits and letters name, all that lies beneath
these, and all that lies above.

Trees are the view `folders`; a folder lies beneath another where any store sees it there.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from pfspark.keyed import distinct, having, lacking, placed
from pfspark.keys import FOLDER
from pfspark.words import HIERARCHY, PARENT, ROOT

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


def _as_folders(rows: pa.Table, column: str) -> pa.Table:
    return rows.select(["org", column]).rename_columns(list(FOLDER))


def of_edits(edits: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The folders that edits of the hierarchy are about, and those beneath which they place one, as they name them."""
    parents = pc.map_lookup(edits["properties"], PARENT, "first")
    return _as_folders(edits, "folder"), pa.table({"org": edits["org"], "folder": parents})


def of_letters(news: pa.Table, changes: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The folders that the changes are about which letters of the hierarchy bring, and those beneath which they place one.

    Of each origin all numbers count from the least to the most that come: a folder more is read, and nothing changes.
    """
    carried = news["carries"].combine_chunks()
    ranges = pa.Table.from_struct_array(pc.list_flatten(carried))
    ranges = ranges.append_column("org", news["org"].take(pc.list_parent_indices(carried)))
    spans = ranges.group_by(list(ORIGIN_OF)).aggregate([("cn_min", "min"), ("cn_max", "max")])
    known = changes.filter(pc.field("folder") == HIERARCHY)
    numbered = placed(known.select([*ORIGIN_OF, "cn"])).join(spans, list(ORIGIN_OF), join_type="inner")
    come = numbered.filter((pc.field("cn") >= pc.field("cn_min_min")) & (pc.field("cn") <= pc.field("cn_max_max")))
    brought = known.take(come["_place"])
    said = brought["properties"].combine_chunks()
    names, values = (pc.struct_field(pc.list_flatten(said), name) for name in ("name", "value"))
    places = pc.equal(names, PARENT)
    orgs = brought["org"].take(pc.list_parent_indices(said).filter(places))
    return _as_folders(brought, "object"), pa.table({"org": orgs, "folder": values.filter(places)})
