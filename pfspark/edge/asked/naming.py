"""Folders and items as people name them: by a path that a store sees, by an id, or by the edit that makes them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial

import pyarrow.compute as pc

from pfspark import cntext
from pfspark.edge.asked.around import Around
from pfspark.edge.asked.store_view import View
from pfspark.errors import RefusedError, UsageError
from pfspark.keyed import ByName, of_store
from pfspark.units import unknown
from pfspark.words import HIERARCHY, NAME


def stores_of(world: ByName, org: str) -> list[str]:
    """The stores of an organization, by name, but those that are retired: what these saw last is no name of anything."""
    here = (pc.field("org") == org) & ~pc.coalesce(pc.field("retired"), pc.scalar(False))
    stores: list[str] = world["stores"].filter(here)["store"].to_pylist()
    return sorted(stores)


def seen_paths(world: ByName, org: str, store: str) -> dict[str, list[str]]:
    """The folders that a store sees, and those that edits there are about to make (`@` and the edit), by path (R149).

    Where an edit that waits renames or moves a folder, the path that it will have names it too, unless another has that now.
    Folders of one path, which only stores that had not heard of each other make, are in the order of their ids.
    """
    own = {name: of_store(world[name], org, store) for name in ("tree", "folders", "edits")}
    now = View({name: own[name] for name in ("tree", "folders")}, org, store)
    seen = {path: sorted(folders, key=place_of) for path, folders in now.paths().items()}
    if own["edits"].num_rows:
        for path, folders in View(own, org, store).paths().items():
            seen.setdefault(path, folders)
    return seen


def folder_named(world: ByName, org: str, store: str, folder: str) -> str | None:
    """The folder that has that id, or that a store sees by that path; one that is named like an id, or like the hierarchy, needs
    the slash.

    Raises RefusedError where a store sees two of that path: they are told apart by their ids.
    """
    if folder == HIERARCHY:
        return None
    if folder.startswith("@") or cntext.is_number(folder):
        return folder
    named = of_path(world, org, store, folder)
    if len(named) > 1:
        raise RefusedError(f"{store} sees {len(named)} folders called {folder!r}; name one by its id: {' or '.join(named)}")
    return named[0] if named else None


def of_path(world: ByName, org: str, store: str, folder: str) -> Sequence[str]:
    """The folders that a store sees by that path, of which there may be two; nothing but what lies around it is looked at."""
    path = "/" + folder.strip("/")
    return seen_paths(Around(world, org, store).of_path(path), org, store).get(path, ())


def folders_named(world: ByName, org: str, store: str | None, folder: str) -> set[str]:
    """The folders that a store, or any store, sees by that path or id.

    Raises UsageError where there is none.
    """
    viewers = [store] if store is not None else stores_of(world, org)
    named = {each for viewer in viewers if (each := folder_named(world, org, viewer, folder)) is not None}
    if not named or not any(map(partial(_is_there, world, org), named)):
        paths = sorted({path for viewer in viewers for path in seen_paths(world, org, viewer)})
        raise unknown_folder(world, [org], folder, paths, "" if store is None else f" at {store}")
    return named


def is_named(world: ByName, org: str, store: str | None, folder: str) -> bool:
    """Whether a store, or any store, sees one folder by that path, or there is one of that id."""
    try:
        return bool(folders_named(world, org, store, folder))
    except (RefusedError, UsageError):
        return False


def unknown_folder(world: ByName, orgs: Sequence[str], folder: str, known: Sequence[str], where: str = "") -> UsageError:
    """What is said of a folder that is not seen: the nearest path that is, and what became of those so called: the paths that
    they have now, or the ids by which deleted ones are asked about still."""
    told = [each for org in orgs for each in _once_so_called(world, org, folder)]
    return unknown("the folder", folder, known, where + (f"; one so called is {' or '.join(told)}" if told else ""))


def _once_so_called(world: ByName, org: str, folder: str) -> list[str]:
    """The folders that ever had that name, wherever they lay: the paths of those that somebody sees, the ids of others."""
    of_tree = world["changes"].filter((pc.field("org") == org) & (pc.field("folder") == HIERARCHY))
    name = folder.strip("/").rpartition("/")[2]
    properties = of_tree["properties"].combine_chunks()
    each = pc.list_flatten(properties)
    calls = pc.and_(pc.equal(pc.struct_field(each, "name"), NAME), pc.equal(pc.struct_field(each, "value"), name))
    named = {*of_tree["object"].take(pc.list_parent_indices(properties).filter(calls)).to_pylist()}
    seen: dict[str, set[str]] = defaultdict(set)
    for store in stores_of(world, org) if named else ():
        for path, ids in seen_paths(world, org, store).items():
            for each in ids:
                seen[each].add(path)

    def became(each: str) -> str:
        if each not in seen:
            return f"deleted, and asked about as {each}"
        return "seen by others" if as_lines_name(folder) in seen[each] else f"{' or '.join(sorted(seen[each]))} now"

    return [became(each) for each in sorted(named, key=place_of)]


def folders_asked(world: ByName, org: str, store: str | None, folder: str) -> set[str]:
    """The folders of which a question is: those that are so named, and the hierarchy, which nobody edits or reads as a folder."""
    return {HIERARCHY} if folder == HIERARCHY else folders_named(world, org, store, folder)


def _is_there(world: ByName, org: str, folder: str) -> bool:
    """Whether a folder of that id stands in some store's tree, or waits to be made."""
    name, called, column = ("edits", folder[1:], "edit_id") if folder.startswith("@") else ("tree", folder, "folder")
    return bool(world[name].filter((pc.field("org") == org) & (pc.field(column) == called)).num_rows)


def as_lines_name(folder: str) -> str:
    """A folder as lines have it, where somebody leaves slashes out or says one more: a path, an id, or the hierarchy."""
    return folder if folder == HIERARCHY or folder.startswith("@") or cntext.is_number(folder) else "/" + folder.strip("/")


def place_of(item: str) -> tuple[tuple[bytes, int], int]:
    """Where an item stands among others: by the label of its origin, then by its number."""
    label, _, number = item.rpartition(":")
    return cntext.label_key(label), int(number)
