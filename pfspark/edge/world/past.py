"""The world of a lake as it was after one of its rounds, of which no more is read than is asked about."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from pfspark.ask.stores import Stores
from pfspark.edge.delta.snapshot import Snapshot
from pfspark.edge.world.carried import naming
from pfspark.edge.world.facts import OF_ALL, TREE, as_between, views
from pfspark.edge.world.some_rows import EitherOf, in_arrow, in_spark
from pfspark.edge.world.views import graph
from pfspark.references import EDIT, named_by, resolved
from pfspark.words import HIERARCHY, HIERARCHY_ACTIONS, NAME, PARENT

TOGETHER = (("state", "replicas", "tree", "folders", "lists", "array"), ("mail", "letters"))
"""Views that are made of each other: who reads one reads the others at once."""
OF_FOLDERS = ("state", "replicas", "agenda", "messages")
"""Facts of which those about other folders say nothing of a folder. Whom a store heard of last, and asked last, it knows of all
its folders together (`views.remembered`): receipts and the steps of backfill are read of all."""


class Past(Mapping[str, pa.Table]):
    """The tables of a world (`between.Between.tables`), each read when it is first asked for; edits that wait are `resolved`."""

    def __init__(
        self, snapshot: Snapshot, only: Mapping[str, EitherOf] = OF_ALL, known: Mapping[str, pa.Table] | None = None
    ) -> None:
        """`only`: rows of facts, where not all are read. `known`: tables that were read already."""
        self._snapshot, self._only = snapshot, only
        self._empty = as_between(snapshot.tables, {}).tables
        self._known = dict(known or {})

    @property
    def round(self) -> int:
        """After which round it is."""
        return self._snapshot.row.round

    def __getitem__(self, name: str) -> pa.Table:
        if name not in self._known:
            self._known |= self._read(name)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._empty)

    def __len__(self) -> int:
        return len(self._empty)

    def near(self, org: str, names: Collection[str]) -> Past:
        """The same of the folders alone which any store of an organization might call so, and of those above them
        (`Stores.near`); of changes of the hierarchy, those of these folders."""
        found = Stores({"tree": self._said}, org).around(names)
        here = {"org": {org}, "folder": found | {HIERARCHY}}
        changes = {**here, "folder": found}, {**here, "folder": {HIERARCHY}, "object": found}
        shared = {name: self[name] for name in ("stores", "links", "edits")}
        return Past(self._snapshot, {**dict.fromkeys(OF_FOLDERS, (here,)), "changes": changes}, shared)

    def _read(self, name: str) -> Mapping[str, pa.Table]:
        if name not in graph():  # what a round alone has
            return {name: self._empty[name]}
        found = views(self._snapshot, next((some for some in TOGETHER if name in some), (name,)), self._only)
        read = as_between(self._snapshot.tables, found).tables
        if name == "edits" and (named := named_by(read[name])).num_rows:
            read[name] = resolved(read[name], naming(named, self._snapshot, "changes", [*EDIT, "object", "at"]))
        return {each: read[each] for each in found}

    @cached_property
    def _said(self) -> pa.Table:
        """All that changes of the hierarchy ever said of folders, and what edits that wait say of their names and places, as rows
        of `tree`: org, folder, property, value."""
        changes = self._changes_of_the_tree()
        properties = changes["properties"].combine_chunks()
        of = changes.select(["org", "object"]).take(pc.list_parent_indices(properties))
        name, value = (pc.struct_field(pc.list_flatten(properties), part) for part in ("name", "value"))
        said = [_rows(of["org"], of["object"], name, value)]
        edits = self["edits"].filter(pc.field("action").isin(pa.array(map(str, HIERARCHY_ACTIONS))))
        folders = pc.coalesce(edits["folder"], pc.binary_join_element_wise("@", edits["edit_id"], ""))
        for part in (NAME, PARENT):
            value = pc.map_lookup(edits["properties"].combine_chunks(), part, "first")
            said.append(_rows(edits["org"], folders, pa.repeat(part, edits.num_rows), value))
        return pa.concat_tables(said)

    def _changes_of_the_tree(self) -> pa.Table:
        columns = ["org", "object", "properties"]
        at_hand = self._snapshot.is_at_hand("changes")
        if at_hand and (found := self._snapshot.arrow("changes", in_arrow(TREE), columns)) is not None:
            return found
        return self._snapshot.read("changes").where(in_spark(TREE)).select(*columns).toArrow()


def _rows(*columns: pa.Array | pa.ChunkedArray) -> pa.Table:
    return pa.table(dict(zip(("org", "folder", "property", "value"), columns, strict=True)))
