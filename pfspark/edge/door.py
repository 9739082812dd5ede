"""What a store would refuse of an edit, foreseen before anything of it is kept.

The rules validate every edit when it is taken in, against the tree and the standing as of its place (`rules.folder_edits`,
`rules.item_edits`), and say so in a receipt. Who makes an edit is told at once what the store sees already: its tree, its
lists, its own replicas, and the edits that wait there. A second folder of one path is refused here alone: the rules let it
be, as two stores may each make one, and both are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pfspark.edge.asked.around import Around
from pfspark.edge.asked.store_view import Folder, View, entries
from pfspark.errors import RefusedError
from pfspark.keyed import ByName
from pfspark.words import HIERARCHY_ACTIONS, LEVELS, NAME, PARENT, ROOT, Action, Listing

Row = Mapping[str, Any]


def check(world: ByName, row: Row, called: str, nearest: Callable[[], str]) -> None:
    """Lets an edit (a row of `edits`) pass, or raises RefusedError with what stands against it.

    `called`: the folder as whoever makes the edit named it; `nearest`: tells which store has a replica of it.
    """
    around = Around(world, row["org"], row["store"]).of_edit(row)
    validate(View(around, row["org"], row["store"]), row, called, nearest)


def validate(view: View, row: Row, called: str, nearest: Callable[[], str] = lambda: "") -> None:
    """Lets an edit at the store whose view that is pass, or raises RefusedError with what stands against it."""
    action, sets = row["action"], dict(row["properties"] or ())
    folder = view.folders.get(row["folder"]) if row["folder"] else None
    if row["folder"]:
        if folder is None:
            raise RefusedError(f"{view.store} knows no folder {called}")
        if folder.dead:
            raise RefusedError(f"{called} is deleted at {view.store}; `pfspark folder recover` copies a deleted folder")
    if action not in HIERARCHY_ACTIONS:
        if folder is not None and not folder.is_open:
            raise RefusedError(f"{view.store} has no replica of {called}{nearest()}")
        return
    if removed := entries(sets, Listing.REMOVED):
        _check_list(called, folder, removed, view.store)
    if action == Action.CREATE_FOLDER or NAME in sets or PARENT in sets:
        _check_place(view, row["folder"], folder, sets)


def _check_list(called: str, folder: Folder | None, removed: set[str], store: str) -> None:
    listed = folder.listed if folder else set()
    if not listed & removed:
        told = ", ".join(sorted(listed)) or "nobody"
        raise RefusedError(f"{', '.join(sorted(removed))} is not on the replica list of {called}: {store} sees {told} there")
    if not listed - removed:
        raise RefusedError(f"{', '.join(sorted(removed))} has the last replica of {called}, which stays; add another one first")


def _check_place(view: View, ref: str | None, folder: Folder | None, sets: Mapping[str, str]) -> None:
    name = sets.get(NAME, folder.name if folder else "")
    parent = sets.get(PARENT, folder.parent if folder else ROOT)
    above = view.upwards(parent)
    if parent != ROOT and (parent not in view.folders or any(view.folders[each].dead for each in above)):
        raise RefusedError(f"the folder above is deleted at {view.store}, or not known there")
    if ref in above:
        raise RefusedError(f"{name!r} cannot lie beneath itself")
    beside = [each for each, seen in view.named(parent, name).items() if each != ref and not seen.dead]
    if beside:
        raise RefusedError(f"{view.store} sees a folder {name!r} there already ({beside[0]}); take another name")
    deepest = len(above) + 1 + max(view.beneath(ref).values() if ref else [0])
    if deepest > LEVELS:
        raise RefusedError(f"{name!r} would reach down to level {deepest} of the tree; {LEVELS} is as deep as folders lie")
