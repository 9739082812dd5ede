"""A store taken back to an earlier round: what that loses, and the rows that say what it knows from then on (R132, F8)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pfspark import cntext
from pfspark.ask import lines
from pfspark.ask.stores import Stores, set_of
from pfspark.between import Between
from pfspark.errors import RefusedError
from pfspark.keyed import ByName, of_store, semi_join, with_columns
from pfspark.printed import Line
from pfspark.references import resolved
from pfspark.rows import rows_of
from pfspark.words import HIERARCHY, HIERARCHY_ACTIONS, LIVE, PARENT, BackfillStep, Standing


def losses(org: str, store: str, now: ByName, then: ByName) -> Iterator[Line]:
    """One line for each folder of which `store` alone holds something that it did not hold `then`.

    What replicas elsewhere hold that still speak, or what is on its way to them, comes back by backfill; `numbers` are lost for
    ever. Both arguments are tables of a world (`between.Between.tables`).
    """
    here, before = Stores(now, org), Stores(then, org)
    speaking = {key for key, replica in here.replicas.items() if key[0] != store and replica["standing"] in LIVE}
    on_its_way = defaultdict(list)
    for row in _mail(org, store, now):
        if (row["recipient"], row["folder"]) in speaking:
            on_its_way[row["folder"]].append(row["carries"])
    for at, folder in here.present():
        if at != store:
            continue
        gone = cntext.subtract(here.content(store, folder), before.content(store, folder))
        for other in here.stores:
            if (other, folder) in speaking:
                gone = cntext.subtract(gone, here.held(other, folder))
        for carried in on_its_way[folder] if gone else ():
            gone = cntext.subtract(gone, set_of(carried))
        if gone:
            yield {
                "org": org, "kind": "loss", "store": store, "folder": here.path(store, folder), "id": folder,
                "numbers": cntext.show(gone), "changes": cntext.size(gone),
            }  # fmt: skip


def _mail(org: str, store: str, tables: ByName) -> list[Line]:
    """What is on its way to other stores and arrives: `recipient`, `due`, `folder`, `carries`."""
    others = (pc.field("org") == org) & (pc.field("recipient") != store) & pc.field("lost").is_null()
    columns = ["recipient", "due", "folder", "carries"]
    rows: list[Line] = tables["mail"].select(["org", "lost", *columns]).filter(others).select(columns).to_pylist()
    return rows


def expect_arrived(org: str, store: str, lost: Iterable[Line], tables: ByName) -> None:
    """Raises RefusedError where some of what is `lost` (`losses`) is on its way to a store that has no replica of the folder by
    now: if it has one when that comes, and the same is said again, people have it twice."""
    here = Stores(tables, org)
    numbers = {line["id"]: cntext.parse(line["numbers"]) for line in lost}
    for row in _mail(org, store, tables):
        replica = here.replicas.get((row["recipient"], row["folder"]))
        if replica is not None and replica["standing"] != Standing.ERASED:
            continue
        if coming := cntext.intersect(numbers.get(row["folder"], {}), set_of(row["carries"])):
            raise RefusedError(
                f"{cntext.show(coming)} of {here.path(store, row['folder'])} is on its way to {row['recipient']}, which has no "
                f"replica of it yet and may have one when it comes ({row['due']:%Y-%m-%dT%H:%M:%SZ}); nothing was done. Play a "
                "round after that first, or restore without taking in again what is lost"
            )


def expect_no_more(lost: Iterable[Line], agreed: Iterable[Line]) -> None:
    """Raises RefusedError where more is `lost` by now than was `agreed` (`losses`): a store goes on while people are asked."""
    known = {line["id"]: cntext.parse(line["numbers"]) for line in agreed}
    for line in lost:
        more = cntext.subtract(cntext.parse(line["numbers"]), known.get(line["id"], {}))
        if more:
            raise RefusedError(
                f"{line['store']} has {cntext.show(more)} of {line['folder']} since it was said what would be lost; "
                "nothing was done. Look at it again"
            )


def facts(world: Between, org: str, store: str, now: datetime) -> dict[str, pa.Table]:
    """All that a store knows, as new rows of the tables: those from before its restore count no more.

    A number asked for n times has n + 1 steps: that it was heard of, and each request; the times between them add up to the time
    of the last (`views.open_array`). Whom it had asked last, and since when that store is silent, is a step of its own
    (`views.remembered`).
    """
    own = {name: of_store(world.tables[name], org, store) for name in ("state", "replicas", "agenda", "array", "contacts")}
    contacts, array = own.pop("contacts"), own.pop("array")
    asked = contacts.filter(pc.is_valid(contacts["asked"])).rename_columns({"peer": "of", "silent": "due", "asked": "at"})
    counts = array["attempt"].to_numpy() + 1
    each = array.take(np.repeat(np.arange(array.num_rows), counts))
    nth = pa.array(np.arange(each.num_rows) - np.repeat(np.cumsum(counts) - counts, counts))
    heard = pc.equal(nth, 0)
    steps = with_columns(
        each, step=pc.if_else(heard, str(BackfillStep.HEARD), str(BackfillStep.ASKED)), attempt=nth,
        at=pc.if_else(heard, each["heard"], each["asked"]),
        since=pc.if_else(pc.greater(nth, 1), each["asked"], pa.scalar(None, each["asked"].type)),
    )  # fmt: skip
    dated = {name: [with_columns(some, at=now)] for name, some in own.items()}
    dated["backfill"] = [with_columns(asked, step=str(BackfillStep.NAMED)), steps]
    return {name: _shaped(name, some) for name, some in dated.items()}


def _shaped(name: str, rows: Iterable[pa.Table]) -> pa.Table:
    """The rows of all, in the columns of that table, as a round gives them; what is not said is null."""
    shape = rows_of(name, (), ("round",))
    said = [some.select([column for column in shape.column_names if column in some.column_names]) for some in rows]
    return pa.concat_tables([shape, *said], promote_options="default")


def lost_changes(org: str, lost: Iterable[Line], changes: pa.Table) -> pa.Table:
    """The changes that are `lost` (`losses`), as people made them. Those that a store made by itself have no edit and are left
    out: it makes them anew where they are due."""
    gone = {line["id"]: cntext.parse(line["numbers"]) for line in lost}
    origins = pa.array({*chain(*gone.values())}, pa.string())
    there = (pc.field("org") == org) & pc.field("folder").isin(pa.array(gone, pa.string())) & pc.field("origin").isin(origins)
    made = changes.filter(there & pc.field("edit_id").is_valid())
    numbers = zip(*(made[name].to_pylist() for name in ("folder", "origin", "cn")), strict=True)
    return made.filter(pa.array((cntext.contains(gone[at], {by: ((cn, cn),)}) for at, by, cn in numbers), pa.bool_()))


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


def again(store: str, lost: pa.Table, edits: pa.Table, names: Mapping[str, str], now: datetime) -> list[Line]:
    """The `edits` of changes that are `lost`, to be taken in again in the new life, in their old order; rows of `edits`, by these
    `names`. Whoever made them, they are made at that store: who had them first may have no replica any more.

    A folder or an item that is lost as a whole is made anew under another id, and its later versions follow it. Numbers are a
    folder's own, so an item may have the id of a folder, or of an item elsewhere. Of rows of one edit that which says what its
    change says is said again: the others were refused, as repeats.
    """
    rows = lost.select(["folder", "object", "origin", "cn", "edit_id", "action", "hash", "made_at"]).to_pylist()
    became = {row["edit_id"]: row for row in rows}
    lies = {row["edit_id"]: row["folder"] for row in rows}
    born = {(row["folder"], row["object"]): row["edit_id"] for row in rows if row["object"] == lines.number_of(row)}
    anew = {*born.values()}

    def renamed(named: str | None, among: str) -> str | None:
        """What an edit names: a folder, `among` those of the hierarchy, or an item, among those of a folder."""
        edit = named[1:] if named and named.startswith("@") else born.get((among, named or ""))
        return f"@{names[edit]}" if edit is not None and edit in anew else named

    def order(edit: Line) -> tuple[Any, ...]:
        change = became[edit["edit_id"]]
        of = (cntext.split_label(change["origin"])[0], change["action"], change["hash"])
        return (edit["store"], edit["action"], edit["hash"]) != of, edit["at"] or change["made_at"], edit["place"] or 0

    found: dict[str, Line] = {}
    for place, row in enumerate(sorted(edits.to_pylist(), key=order), 1):
        sets = {name: renamed(value, HIERARCHY) if name == PARENT else value for name, value in row["properties"] or ()}
        name = names[row["edit_id"]]
        found.setdefault(name, {
            **row, "store": store, "edit_id": name, "at": now, "place": place, "written": now,
            "folder": renamed(row["folder"], HIERARCHY), "item": renamed(row["item"], lies[row["edit_id"]]),
            "properties": sorted(sets.items()),
        })  # fmt: skip
    return [*found.values()]
