"""Whether a store, as it was then, takes in what waits and what is said again: what it never heard of it refuses for ever."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from pfspark import cntext
from pfspark.ask import lines
from pfspark.ask.stores import Stores
from pfspark.errors import RefusedError
from pfspark.keyed import ByName, of_store, semi_join
from pfspark.printed import Line
from pfspark.references import resolved
from pfspark.words import HIERARCHY, HIERARCHY_ACTIONS, PARENT, Standing


def expect_replicas(org: str, store: str, lost: Iterable[Line], changes: pa.Table, then: ByName) -> None:
    """Raises RefusedError where a folder of which something is `lost` (`losses`, their `changes`) was there `then` without a
    replica of that store, which could take nothing in, and is not made again itself."""
    rows = of_store(then["replicas"], org, store).to_pylist()
    had = {HIERARCHY} | {row["folder"] for row in rows if row["standing"] == Standing.ACTIVE}
    of_tree = changes.filter(pc.equal(changes["folder"], HIERARCHY)).to_pylist()
    made = {row["object"] for row in of_tree if row["object"] == lines.number_of(row)}
    for line in lost:
        if line["id"] not in had | made:
            raise RefusedError(
                f"{store} had no replica of {line['folder']} then, so that {line['numbers']} cannot be taken in again; nothing "
                "was done. Export the folder first, or restore to a later moment"
            )


def expect_known(org: str, store: str, edits: Sequence[Line], changes: pa.Table, then: ByName) -> None:
    """Raises RefusedError where one of the `edits` that are said again is about a folder or an item that the store did not know
    `then`: its next round would refuse it for ever, before it hears of that by backfill."""
    for edit, what in _about_what_is_strange(org, store, edits, changes, then):
        raise RefusedError(
            f"{store} did not know {what} then, so that its {edit['action']} ({edit['edit_id']}) cannot be taken in "
            "again; nothing was done. Restore to a later moment, or without taking in again what is lost"
        )


def expect_taken_in(org: str, store: str, tables: ByName, then: ByName, now: datetime) -> None:
    """Raises RefusedError where an edit waits at the store, and is due `now`, that is about what it did not know `then`, or of
    which it had no replica: its next round would refuse it for ever."""
    changes = tables["changes"]
    due = of_store(tables["edits"], org, store).filter(pc.field("at") <= pa.scalar(now))
    if not due.num_rows:
        return
    waiting = resolved(due, changes).to_pylist()
    rows = of_store(then["replicas"], org, store).to_pylist()
    had = {row["folder"] for row in rows if row["standing"] == Standing.ACTIVE}
    of_items = [edit for edit in waiting if edit["action"] not in HIERARCHY_ACTIONS and edit["folder"]]
    without = ((edit, edit["folder"]) for edit in of_items if edit["folder"] not in had and not edit["folder"].startswith("@"))
    for edit, what in chain(_about_what_is_strange(org, store, waiting, changes, then), without):
        raise RefusedError(
            f"{edit['action']} ({edit['edit_id']}) waits at {store}, which had no {what} then and would refuse it; nothing "
            "was done. Play a round first, or restore to a later moment"
        )


def _about_what_is_strange(
    org: str, store: str, edits: Sequence[Line], changes: pa.Table, then: ByName
) -> Iterator[tuple[Line, str]]:
    """Those of the edits that are about a folder or an item that the store did not know `then`, each with that."""
    of_items = [(edit["folder"], edit["item"]) for edit in edits if edit["item"] and not edit["item"].startswith("@")]
    knew = _known_items(org, store, of_items, changes, then)
    known = Stores(then, org)
    for edit in edits:
        sets = dict(edit["properties"] or ())
        folders = [edit["folder"], sets.get(PARENT)] if edit["action"] in HIERARCHY_ACTIONS else []
        strange = [each for each in folders if each and not each.startswith("@") and each not in known.tree[store]]
        item = edit["item"]
        if item and not item.startswith("@") and (edit["folder"], item) not in knew:
            strange.append(item)
        if strange:
            yield edit, strange[0]


def _known_items(org: str, store: str, items: Sequence[tuple[str, str]], changes: pa.Table, then: ByName) -> set[tuple[str, str]]:
    """Those of the items, each with its folder, of which the store held a version."""
    folders, objects = ([each[place] for each in items] for place in (0, 1))
    keys = pa.table({"org": [org] * len(items), "folder": folders, "object": objects})
    known = Stores(then, org)
    held = {folder: known.content(store, folder) for folder in {*folders}}
    versions = semi_join(changes, keys, keys.column_names).select(["folder", "object", "origin", "cn"]).to_pylist()
    return {
        (row["folder"], row["object"])
        for row in versions
        if cntext.contains(held[row["folder"]], {row["origin"]: ((row["cn"], row["cn"]),)})
    }
