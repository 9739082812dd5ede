"""The steps of scenario files: what is done at one time, and what the paths and names in it mean then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from pfspark import cntext, paths
from pfspark.errors import CnSetError, UsageError
from pfspark.files import language, values
from pfspark.units import show_duration, unfit, unknown

FolderRef = tuple[str, int | str]
"""`("initial", index)` of the file's folders, `("step", number)` of the step that creates it, or `("id", "PFS1:7")`."""


@dataclass(frozen=True)
class Step:
    """What is done at one time; `number` is its place in the file, from 1.

    `args` are typed (sizes in bytes, durations, times) and resolved, so that nobody else looks at paths:

    | verb | args |
    |---|---|
    | post | store, folder, folder_ref, count, size, item (None: no name) |
    | modify, delete | store, folder, folder_ref, item, item_ref (number of the post, or an id), modify also size |
    | create_folder | store, path, name, parent_ref (None: the root), replicas, properties |
    | rename_folder, delete_folder | store, folder, folder_ref, rename_folder also name |
    | move_folder | store, folder, folder_ref, to, to_ref (None: the root) |
    | set_folder | store, folder, folder_ref, properties |
    | add_replica, remove_replica | store, folder, folder_ref, replica |
    | cut, heal, down, up | stores |
    | restore | store, to |
    | suspend, resume | |
    | clock | wrong |
    | show | what |
    | why | store, folder, folder_ref, item (a name or numbers; None: all that the replica lacks) |
    """

    number: int
    at: datetime
    verb: str
    args: Mapping[str, Any]

    def about(self) -> dict[str, str | None]:
        """What a refusal says of it: the verb as `type`, and the `folder` and the `item` as the file names them."""
        return {"type": self.verb, "folder": self.args.get("folder", self.args.get("path")), "item": self.args.get("item")}


def read(entries: list[Any], stores: list[str], start: datetime) -> list[Step]:
    """The steps in file order, their values read but not resolved."""
    known = language.Known(stores=stores, start=start)
    steps = []
    for number, entry in enumerate(entries, 1):
        with values.within(f"step {number}"):
            said = language.Step.read(entry, known)
            done = said.done()
            if len(done) != 1:
                verbs = ", ".join(language.VERBS)
                raise UsageError(f"found {' and '.join(done) or 'nothing to do'}, expected at and one verb: {verbs}")
            if said.at < start:
                with values.within("at"):
                    raise unfit(entry["at"], "a time not before the start")
            [(verb, args)] = done.items()
            steps.append(Step(number, said.at, verb, args))
    return steps


class _Tree:
    """Which folder a path means at a time (R149), as the steps so far have it if every edit is allowed.

    Stores may disagree about the tree, so a path that a folder has left or lost still means that folder while no other
    has it; of two folders at one path a store means the one it made itself, else the younger.
    """

    def __init__(self, folders: Mapping[str, FolderRef], ids: Mapping[str, FolderRef]) -> None:
        """With the folders that are there at first, by path, and by id."""
        self.ids = ids
        self.places: dict[FolderRef, tuple[FolderRef | None, str]] = {}
        self.makers: dict[FolderRef, str] = {}
        self.deleted: set[FolderRef] = set()
        self.current: dict[str, list[FolderRef]] = {}
        self.past: dict[str, FolderRef] = {}
        for path, ref in folders.items():
            parent, _, name = path.rpartition("/")
            self.places[ref] = folders.get(parent), name
        self._redraw()

    def find(self, path: str, store: str) -> FolderRef:
        here = self.current.get(path, [])
        mine = [ref for ref in here if self.makers.get(ref) == store]
        if here or path in self.past:
            return (mine or here or [self.past[path]])[-1]
        known = sorted(self.current)
        listed = ", ".join(known[:8]) + (f" and {len(known) - 8} more" if len(known) > 8 else "")
        raise unknown("folder", path, known, " at that time", expected=listed or "none yet")

    def put(self, ref: FolderRef, parent: FolderRef | None, name: str, store: str) -> None:
        self.makers[ref] = store
        self.places[ref] = parent, name
        self._draw(ref)  # nothing lies beneath it yet: all else stays where it is
        if (path := self._path(ref)) is not None:  # where it lies beneath a folder that somebody else deletes
            self.past[path] = ref

    def rename(self, ref: FolderRef, name: str) -> None:
        if ref in self.places:
            self.places[ref] = self.places[ref][0], name
            self._redraw()

    def move(self, ref: FolderRef, parent: FolderRef | None) -> None:
        if ref in self.places:
            self.places[ref] = parent, self.places[ref][1]
            self._redraw()

    def delete(self, ref: FolderRef) -> None:
        self.deleted.add(ref)
        self._redraw()

    def _upwards(self, ref: FolderRef) -> list[FolderRef]:
        return paths.upwards(ref, self.places, lambda each: self.places[each][0])

    def _path(self, ref: FolderRef) -> str | None:
        """As stores show it."""
        line = self._upwards(ref)
        top = self.places[line[-1]][0] if line else ref
        if top is not None and top not in self.places:
            return None
        return paths.shown([self.places[each][1] for each in line], reaches_root=top is None)

    def _redraw(self) -> None:
        self.past |= {path: refs[-1] for path, refs in self.current.items()}
        self.current = {}
        for ref in self.places:
            self._draw(ref)

    def _draw(self, ref: FolderRef) -> None:
        if self.deleted.isdisjoint(self._upwards(ref)) and (path := self._path(ref)) is not None:
            self.current.setdefault(path, []).append(ref)


def resolved(
    steps: Iterable[Step],
    folders: Mapping[str, FolderRef],
    start: datetime,
    named: Mapping[FolderRef, Mapping[str, str]] | None = None,
    ids: Mapping[str, FolderRef] | None = None,
    stores: Sequence[str] | None = None,
) -> tuple[Step, ...]:
    """The steps in order of time, with references in place of paths and item names.

    `folders` are those that are there at first, by path, and `ids` those whose ids are known; `named` their items, the id of
    each by its name; `stores` all that can have given a number (None: nobody knows them all).
    """
    tree = _Tree(folders, ids or {})
    items: dict[FolderRef, dict[str, int | str]] = {ref: dict(known) for ref, known in (named or {}).items()}
    resolved = []
    for step in sorted(steps, key=lambda step: step.at):
        with values.within(f"step {step.number} (at {show_duration(step.at - start)})"), values.within(step.verb):
            args = dict(step.args)
            _expect_of_stores(args, ("folder", "to"), stores)
            if "folder" in args:
                with values.within("folder"):
                    args["folder_ref"] = _folder_ref(tree, args["folder"], args["store"])
            if step.verb == "post" and args["item"] is not None:
                with values.within("item"):
                    _name_item(items.setdefault(args["folder_ref"], {}), args["item"], args["count"], step.number)
            elif step.verb == "why" and args["item"] is not None:
                named_there = items.get(args["folder_ref"], {})
                if args["item"] not in named_there and _numbers(args["item"]):
                    _expect_of_stores(args, ("item",), stores)
                else:
                    with values.within("item"):
                        _item_ref(named_there, args["item"], args["folder"])
            elif step.verb in ("modify", "delete"):
                with values.within("item"):
                    args["item_ref"] = _item_ref(items.get(args["folder_ref"], {}), args["item"], args["folder"])
                if args["item_ref"] == args["item"]:
                    _expect_of_stores(args, ("item",), stores)
            if step.verb == "restore" and args["to"] < start:
                raise UsageError("to: found a time before the start, expected one not before it")
            _follow(tree, step, args)
        resolved.append(replace(step, args=args))
    return tuple(resolved)


def _follow(tree: _Tree, step: Step, args: dict[str, Any]) -> None:
    """Adds what is left to resolve of hierarchy steps, and takes the tree with them."""
    match step.verb:
        case "create_folder":
            parent, _, args["name"] = args["path"].rpartition("/")
            with values.within("path"):
                args["parent_ref"] = tree.find(parent, args["store"]) if parent else None
            tree.put(("step", step.number), args["parent_ref"], args["name"], args["store"])
        case "set_folder" if not args["properties"]:
            raise UsageError(f"found no property, expected at least one of {', '.join(language.FolderProperties.known_keys())}")
        case "rename_folder":
            tree.rename(args["folder_ref"], args["name"])
        case "move_folder":
            with values.within("to"):
                args["to_ref"] = None if args["to"] == "/" else _folder_ref(tree, args["to"], args["store"])
            tree.move(args["folder_ref"], args["to_ref"])
        case "delete_folder":
            tree.delete(args["folder_ref"])
        case "restore" if args["to"] > step.at:
            raise UsageError("to: found a time after this step, expected one not after it")


def _expect_of_stores(args: Mapping[str, Any], keys: Iterable[str], stores: Sequence[str] | None) -> None:
    """Raises UsageError for an id, or a set of numbers, of a store that is not there: it is in nobody's world."""
    for key in keys:
        said = args.get(key)
        if stores is not None and isinstance(said, str) and not said.startswith("/"):
            with values.within(key):
                for origin in _numbers(said):
                    values.one_of("store", stores)(cntext.split_label(origin)[0])


def _folder_ref(tree: _Tree, name: str, store: str) -> FolderRef:
    if name == "/":
        raise UsageError("found '/', expected a folder: the root is none")
    return tree.find(name, store) if name.startswith("/") else tree.ids.get(name, ("id", name))


def _name_item(items: dict[str, int | str], name: str, count: int, number: int) -> None:
    if name in items:
        by = f"posted by step {items[name]}" if isinstance(items[name], int) else f"there as {items[name]}"
        raise UsageError(f"item {name!r} is {by} already; names are unique in a folder")
    if cntext.is_number(name):
        raise UsageError(f"found {name!r}, which reads as the id of an item; expected a name")
    if count > 1:
        raise UsageError(f"found a name for {count} items, expected count = 1 where an item is named")
    items[name] = number


def _numbers(text: str) -> cntext.CnSet:
    """The change numbers that a text is; none where it is another."""
    with suppress(CnSetError):
        return cntext.parse(text)
    return {}


def _item_ref(items: Mapping[str, int | str], name: str, folder: str) -> int | str:
    if name in items or cntext.is_number(name):
        return items.get(name, name)
    known = ", ".join(items) or "none"
    raise unknown("item", name, items, f" in {folder} at that time", expected=f"{known} or an id")
