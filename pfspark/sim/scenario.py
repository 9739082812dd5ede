"""Scenario files: an invented organization, and what is done to it when.

A file is read, checked and resolved before anything is played: every store, folder and item that a step names is known
at that step's time, or the file is refused with the file, the key and the nearest known name. Whether an edit is
allowed is not judged here but by the rules, when it is played.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any, AnyStr

from pfspark import cntext
from pfspark.errors import CnSetError, ProfileError, ScenarioError, UsageError
from pfspark.settings import (
    Policy,
    load_profile,
    nearest,
    override,
    parse_duration,
    parse_schedule,
    parse_size,
    parse_time,
    show_duration,
)
from pfspark.words import LARGEST, LAST, LEVELS, PRIORITIES

FolderRef = tuple[str, int | str]
"""`("initial", index)` of the file's folders, `("step", number)` of the step that creates it, or `("id", "PFS1:7")`."""


@dataclass(frozen=True)
class Store:
    """An entry of the directory; what is None is as the policy says."""

    name: str
    site: str
    version: str = "2007"
    preferred: bool = False
    interval: timedelta | None = None
    size_limit: int | None = None
    schedule: str | None = None


@dataclass(frozen=True)
class Link:
    """Cost and delay from one site to another, one direction."""

    from_site: str
    to_site: str
    cost: int = 1
    delay: timedelta = timedelta(0)


@dataclass(frozen=True)
class Fault:
    """What the way does to mail between two stores for a while; None: any store.

    `lost` and `twice` are the share of letters that never arrive and that arrive twice, `late` is by how much a letter may
    be later than its link says. Which letters it strikes is drawn by the `seed` of the scenario: see `transport.inject_faults`.
    """

    sender: str | None
    recipient: str | None
    since: datetime
    until: datetime
    lost: float = 0.0
    twice: float = 0.0
    late: timedelta = timedelta(0)


@dataclass(frozen=True)
class Folder:
    """A folder that all stores know at the start; `holds`: every replica has it, has sent it, and knows it."""

    path: str
    replicas: tuple[str, ...]
    schedule: str | None = None
    size_limit: int | None = None
    age_limit: timedelta | None = None
    conflict: int | None = None
    holds: cntext.CnSet = field(default_factory=dict)


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


@dataclass(frozen=True)
class Scenario:
    """One file: an organization, its first state, and its steps in order of time (file order at one time)."""

    name: str
    profile: str
    policy: Policy
    start: datetime
    end: datetime
    interval: timedelta
    stores: tuple[Store, ...]
    links: tuple[Link, ...]
    folders: tuple[Folder, ...]
    steps: tuple[Step, ...]
    file: str
    faults: tuple[Fault, ...] = ()
    seed: int = 0

    def ways(self, now: datetime) -> dict[tuple[str, str], tuple[float, float, timedelta]]:
        """What the ways do to mail that leaves now: lost, twice and late by sender and recipient; of several the most."""
        found: dict[tuple[str, str], tuple[float, float, timedelta]] = {}
        for fault in (each for each in self.faults if each.since <= now < each.until):
            for way in permutations((store.name for store in self.stores), 2):
                if fault.sender in (None, way[0]) and fault.recipient in (None, way[1]):
                    lost, twice, late = found.get(way, (0.0, 0.0, timedelta(0)))
                    found[way] = max(lost, fault.lost), max(twice, fault.twice), max(late, fault.late)
        return found

    def rounds(self) -> Iterator[datetime]:
        """The moments of the rounds: start + k × interval, the last one not after the end."""
        moment = self.start
        while moment <= self.end:
            yield moment
            moment += self.interval

    def unplayed(self) -> list[Step]:
        """Steps after the last round: none sees them."""
        last = self.start + (self.end - self.start) // self.interval * self.interval
        return [step for step in self.steps if step.at > last]


def read(paths: Iterable[Path | str], conf_folder: Path) -> list[Scenario]:
    """The scenarios of those files, and of all `*.toml` in those folders; names are unique among them.

    Raises UsageError for a file that cannot be read, ScenarioError for one that cannot be played.
    """
    scenarios: dict[str, Scenario] = {}
    for path in (file for each in paths for file in _files(Path(each))):
        try:
            with path.open("rb") as opened:
                text = _short(opened.read(LONGEST_FILE + 1), str(path)).decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            raise ScenarioError(f"{path}: cannot be read as text: {error}") from None
        except (OSError, ValueError) as error:  # a name may hold what no path can
            reason = error.strerror if isinstance(error, OSError) else error
            raise UsageError(f"{path}: cannot be read: {reason}. Expected a scenario file, or a folder of them") from None
        scenario = parse(text, str(path), conf_folder)
        if scenario.name in scenarios:
            other = scenarios[scenario.name].file
            raise ScenarioError(f"{path}: name: {scenario.name!r} is the name of {other} too; names must be unique")
        scenarios[scenario.name] = scenario
    return list(scenarios.values())


def _short(text: AnyStr, file: str) -> AnyStr:
    """That text, unless it is too long to be looked at."""
    if len(text) > LONGEST_FILE:
        raise ScenarioError(f"{file}: more than {LONGEST_FILE // 2**20} MiB, expected a scenario; split it into several files")
    return text


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    if files := sorted(path.glob("*.toml")):
        return files
    raise ScenarioError(f"{path}: no scenario files (*.toml) in this folder")


def parse(text: str, file: str, conf_folder: Path) -> Scenario:
    """The scenario of one text; `file` stands in its errors. A text that cannot be played is a ScenarioError."""
    if dotted := _DOTTED.search(_short(text, file)):
        place = f"{file}:{text.count(chr(10), 0, dotted.start()) + 1}"
        raise ScenarioError(f"{place}: a key of more than {MOST_DOTS} parts, expected at most four, as in policy.x.y")
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = found[1] if found else len(text.splitlines())
        raise ScenarioError(f"{file}:{line}: not TOML: {error}") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, lists in lists in lists
        raise ScenarioError(f"{file}: cannot be read as TOML: {error}") from None
    try:
        return _scenario(document, file, conf_folder)
    except (UsageError, ProfileError) as error:
        raise ScenarioError(f"{file}: {error}") from None


# --- the file ---------------------------------------------------------------------------------------------------------

DEFAULT_SITE = "default"
MOST_POSTED = 1_000_000
"""Items that a scenario may hold at its start and post, all together: each is a row in memory, and more would only fill it."""
LONGEST_FILE = 16 * 2**20
"""Bytes of a file: a hundred times those of a scenario with a thousand steps."""
MOST_DOTS = 32
"""Parts of a dotted key. The key that goes deepest here has four; what a reader of TOML takes for one grows with their square."""
_PART = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+"""
_DOTTED = re.compile(rf"""(?<![\w."'-])(?:{_PART}){{{MOST_DOTS}}}""")


def _scenario(document: dict[str, Any], file: str, conf_folder: Path) -> Scenario:
    """Reads from the top: what is named below must have been declared above it."""
    tables = {
        **dict.fromkeys(("policy", "stores", "folders"), _any_table),
        **dict.fromkeys(("links", "faults", "steps"), _tables),
    }
    top = _fields(
        document,
        {"name": _word, "profile": _word, "start": parse_time, "end": _any, "interval": _span, "seed": _number(0), **tables},
        required=("start", "end", "stores"),
    )
    start: datetime = top["start"]
    with _within("end"):
        end = _time_from(start)(top["end"])
        if end < start:
            raise UsageError(f"found {top['end']!r}, expected a time not before the start, {start:%Y-%m-%dT%H:%M:%SZ}")
    with _within("profile"):
        policy = _profile(top.get("profile", "exchange_2007"), conf_folder)
    with _within("policy"):
        policy = override(policy, top.get("policy", {}))
    stores = _stores(top["stores"])
    names = [store.name for store in stores]
    folders = _folders(top.get("folders", {}), names)
    steps = _steps(top.get("steps", []), names, start)
    held = sum(cntext.size(each.holds) for each in folders)
    posted: int = sum(step.args["count"] for step in steps if step.verb == "post")
    if held + posted > MOST_POSTED:
        raise UsageError(
            f"found {held:,} items held and {posted:,} posted, expected at most {MOST_POSTED:,} in all; "
            "a story of fewer tells the same"
        )
    return Scenario(
        name=top.get("name", Path(file).stem),
        profile=policy.profile,
        policy=policy,
        start=start,
        end=end,
        interval=top.get("interval", policy.interval),
        stores=stores,
        links=_links(top.get("links", []), sorted({store.site for store in stores})),
        folders=folders,
        steps=_resolved(steps, folders, start),
        file=file,
        faults=_faults(top.get("faults", []), names, start, end),
        seed=top.get("seed", 0),
    )


_profile = cache(load_profile)


def _stores(table: Mapping[str, Any]) -> tuple[Store, ...]:
    if not table:
        raise UsageError("stores: none, expected at least one [stores.NAME]")
    readers = {
        "site": _word,
        "version": _version,
        "preferred": _switch,
        "interval": _span,
        "size_limit": parse_size,
        "schedule": _schedule,
    }
    stores = []
    for name, entry in table.items():
        with _within(f"stores.{name if name.isprintable() else repr(name)}"):
            if not cntext.is_store_name(name):
                raise UsageError("a store name has letters, digits and . _ - only, a letter or digit first, at most 64")
            stores.append(Store(name, **{"site": DEFAULT_SITE} | _fields(entry, readers)))
    return tuple(stores)


def _links(entries: list[Any], sites: list[str]) -> tuple[Link, ...]:
    """One link for each direction; of two for one direction the later counts."""
    site = _one_of("site", sites)
    readers = {"sites": _many(site), "from": site, "to": site, "cost": _number(0), "delay": parse_duration}
    links = {}
    for place, entry in enumerate(entries, 1):
        with _within(f"links {place}"):
            values = _fields(entry, readers)
            match values.pop("sites", None), values.pop("from", None), values.pop("to", None):
                case (_, _, *_) as named, None, None:
                    pairs = list(permutations(named, 2))
                case None, str(one), str(other) if one != other:
                    pairs = [(one, other)]
                case _:
                    raise UsageError(
                        'expected sites = ["A", "B"] for both directions, or from = "A" and to = "B" for one; '
                        "two different sites, for inside a site cost and delay are 0"
                    )
            for pair in pairs:
                links[pair] = Link(*pair, **values)
    return tuple(links.values())


def _faults(entries: list[Any], stores: list[str], start: datetime, end: datetime) -> tuple[Fault, ...]:
    store, at = _one_of("store", stores), _time_from(start)
    readers = {"from": store, "to": store, "since": at, "until": at, "lost": _share, "twice": _share, "late": parse_duration}
    faults = []
    for place, entry in enumerate(entries, 1):
        with _within(f"faults {place}"):
            values = {"from": None, "to": None, "since": start, "until": end} | _fields(entry, readers)
            sender, recipient, since, until = (values.pop(name) for name in ("from", "to", "since", "until"))
            if until <= since:
                raise UsageError(f"until {until:%Y-%m-%dT%H:%M:%SZ} is not after since {since:%Y-%m-%dT%H:%M:%SZ}")
            faults.append(Fault(sender, recipient, since, until, **values))
    return tuple(faults)


def _folders(table: Mapping[str, Any], stores: list[str]) -> tuple[Folder, ...]:
    readers = {"replicas": _many(_one_of("store", stores)), "holds": _cnset(stores), **_PROPERTIES}
    folders: dict[str, Folder] = {}
    for written, entry in table.items():
        with _within(f'folders."{written}"'):
            path = _path(written)
            if path in folders:
                raise UsageError("is declared twice")
            folders[path] = Folder(path, **{"replicas": tuple(stores)} | _fields(entry, readers))
    for path in folders:
        parent = path.rpartition("/")[0]
        if parent and parent not in folders:
            raise UsageError(f'folders."{path}": folder {parent!r} is not known; declare it too{nearest(parent, folders)}')
    return tuple(folders.values())


def _steps(entries: list[Any], stores: list[str], start: datetime) -> list[Step]:
    """The steps in file order, their values read but not resolved."""
    verbs = _verbs(stores, start)
    at = _time_from(start)
    steps = []
    for number, entry in enumerate(entries, 1):
        with _within(f"step {number}"):
            _fields(entry, {"at": _any, **dict.fromkeys(verbs, _any)}, required=("at",))
            done = [verb for verb in entry if verb != "at"]
            if len(done) != 1:
                raise UsageError(f"found {' and '.join(done) or 'nothing to do'}, expected at and one verb: {', '.join(verbs)}")
            with _within("at"):
                moment = at(entry["at"])
                if moment < start:
                    raise UsageError(f"found {entry['at']!r}, expected a time not before the start")
            with _within(done[0]):
                steps.append(Step(number, moment, done[0], verbs[done[0]](entry[done[0]])))
    return steps


def _verbs(stores: list[str], start: datetime) -> dict[str, Callable[[Any], dict[str, Any]]]:
    store = _one_of("store", stores)
    who = {"store": store}
    where = {**who, "folder": _folder_name}
    what = {**where, "item": _word}
    replica = {**where, "replica": store}
    isolate = _listed("stores", _many(store))
    return {
        "post": _args({**what, "count": _number(1, MOST_POSTED), "size": parse_size}, need=where, count=1, size=1024, item=None),
        "modify": _args({**what, "size": parse_size}, need=what, size=1024),
        "delete": _args(what, need=what),
        "create_folder": _args(
            {**who, "path": _path, "replicas": _many(store), **FOLDER_PROPERTIES}, need={**who, "path": _path}
        ),
        "rename_folder": _args({**where, "name": _folder_word}, need={**where, "name": _folder_word}),
        "move_folder": _args({**where, "to": _folder_name}, need={**where, "to": _folder_name}),
        "delete_folder": _args(where, need=where),
        "set_folder": _args({**where, **FOLDER_PROPERTIES}, need=where),
        "add_replica": _args(replica, need=replica),
        "remove_replica": _args(replica, need=replica),
        "cut": isolate,
        "heal": isolate,
        "down": isolate,
        "up": isolate,
        "restore": _args({**who, "to": _time_from(start)}, need={**who, "to": _time_from(start)}),
        "suspend": _true,
        "resume": _true,
        "clock": _listed("wrong", _offset),
        "why": _args({**where, "item": _word}, need=where, item=None),
        "show": _listed("what", _many(_one_of("table", ["state", "items", "folders"]))),
    }


def _args(readers: Mapping[str, Any], *, need: Iterable[str], **defaults: Any) -> Callable[[Any], dict[str, Any]]:
    return lambda value: defaults | _fields(value, readers, required=tuple(need))


def _listed(name: str, reader: Callable[[Any], Any]) -> Callable[[Any], dict[str, Any]]:
    return lambda value: {name: reader(value)}


def _true(value: object) -> dict[str, Any]:
    if value is not True:
        raise UsageError(f"found {value!r}, expected true")
    return {}


# --- resolving --------------------------------------------------------------------------------------------------------


class _Tree:
    """Which folder a path means at a time (R149), as the steps so far have it if every edit is allowed.

    Stores may disagree about the tree, so a path that a folder has left or lost still means that folder while no other
    has it; of two folders at one path a store means the one it made itself, else the younger.
    """

    def __init__(self, folders: Iterable[Folder]) -> None:
        self.places: dict[FolderRef, tuple[FolderRef | None, str]] = {}
        self.makers: dict[FolderRef, str] = {}
        self.deleted: set[FolderRef] = set()
        self.current: dict[str, list[FolderRef]] = {}
        self.past: dict[str, FolderRef] = {}
        index: dict[str, FolderRef] = {folder.path: ("initial", place) for place, folder in enumerate(folders)}
        for path, ref in index.items():
            parent, _, name = path.rpartition("/")
            self.places[ref] = index.get(parent), name
        self._redraw()

    def find(self, path: str, store: str) -> FolderRef:
        here = self.current.get(path, [])
        mine = [ref for ref in here if self.makers.get(ref) == store]
        if here or path in self.past:
            return (mine or here or [self.past[path]])[-1]
        known = sorted(self.current)
        listed = ", ".join(known[:8]) + (f" and {len(known) - 8} more" if len(known) > 8 else "")
        raise UsageError(f"folder {path!r} is not known at that time, expected {listed or 'none yet'}{nearest(path, known)}")

    def put(self, ref: FolderRef, parent: FolderRef | None, name: str, store: str) -> None:
        self.makers[ref] = store
        self.places[ref] = parent, name
        self._redraw()

    def rename(self, ref: FolderRef, name: str) -> None:
        if ref in self.places:
            self.places[ref] = self.places[ref][0], name
            self._redraw()

    def move(self, ref: FolderRef, parent: FolderRef | None) -> None:
        if ref in self.places and ref not in self._upwards(parent):
            self.places[ref] = parent, self.places[ref][1]
            self._redraw()

    def delete(self, ref: FolderRef) -> None:
        self.deleted.add(ref)
        self._redraw()

    def _upwards(self, ref: FolderRef | None) -> Iterator[FolderRef]:
        while ref is not None:
            yield ref
            ref = self.places.get(ref, (None, ""))[0]

    def _redraw(self) -> None:
        self.past |= {path: refs[-1] for path, refs in self.current.items()}
        self.current = {}
        for ref in self.places:
            line = list(self._upwards(ref))
            if self.deleted.isdisjoint(line) and all(each in self.places for each in line):
                path = "".join(f"/{self.places[each][1]}" for each in reversed(line))
                self.current.setdefault(path, []).append(ref)


def _resolved(steps: list[Step], folders: tuple[Folder, ...], start: datetime) -> tuple[Step, ...]:
    """The steps in order of time, with references in place of paths and item names."""
    tree = _Tree(folders)
    items: dict[FolderRef, dict[str, int]] = {}
    resolved = []
    for step in sorted(steps, key=lambda step: step.at):
        with _within(f"step {step.number} (at {show_duration(step.at - start)})"), _within(step.verb):
            args = dict(step.args)
            if "folder" in args:
                with _within("folder"):
                    args["folder_ref"] = _folder_ref(tree, args["folder"], args["store"])
            if step.verb == "post" and args["item"] is not None:
                with _within("item"):
                    _name_item(items.setdefault(args["folder_ref"], {}), args["item"], args["count"], step.number)
            elif step.verb == "why" and args["item"] is not None and not _numbers(args["item"]):
                with _within("item"):
                    _item_ref(items.get(args["folder_ref"], {}), args["item"], args["folder"])
            elif step.verb in ("modify", "delete"):
                with _within("item"):
                    args["item_ref"] = _item_ref(items.get(args["folder_ref"], {}), args["item"], args["folder"])
            _follow(tree, step, args)
        resolved.append(replace(step, args=args))
    return tuple(resolved)


def _follow(tree: _Tree, step: Step, args: dict[str, Any]) -> None:
    """Adds what is left to resolve of hierarchy steps, and takes the tree with them."""
    if step.verb in ("create_folder", "set_folder"):
        args["properties"] = {name: args.pop(name) for name in FOLDER_PROPERTIES if name in args}
    match step.verb:
        case "create_folder":
            parent, _, args["name"] = args["path"].rpartition("/")
            with _within("path"):
                args["parent_ref"] = tree.find(parent, args["store"]) if parent else None
            args.setdefault("replicas", (args["store"],))
            tree.put(("step", step.number), args["parent_ref"], args["name"], args["store"])
        case "set_folder" if not args["properties"]:
            raise UsageError(f"found no property, expected at least one of {', '.join(FOLDER_PROPERTIES)}")
        case "rename_folder":
            tree.rename(args["folder_ref"], args["name"])
        case "move_folder":
            with _within("to"):
                args["to_ref"] = None if args["to"] == "/" else _folder_ref(tree, args["to"], args["store"])
            tree.move(args["folder_ref"], args["to_ref"])
        case "delete_folder":
            tree.delete(args["folder_ref"])
        case "restore" if args["to"] > step.at:
            raise UsageError("to: found a time after this step, expected one not after it")


def _folder_ref(tree: _Tree, name: str, store: str) -> FolderRef:
    if name == "/":
        raise UsageError("found '/', expected a folder: the root is none")
    return tree.find(name, store) if name.startswith("/") else ("id", name)


def _name_item(items: dict[str, int], name: str, count: int, number: int) -> None:
    if name in items:
        raise UsageError(f"item {name!r} is posted by step {items[name]} already; names are unique in a folder")
    if _as_id(name):
        raise UsageError(f"found {name!r}, which reads as the id of an item; expected a name")
    if count > 1:
        raise UsageError(f"found a name for {count} items, expected count = 1 where an item is named")
    items[name] = number


def _numbers(text: str) -> bool:
    """Whether that is a set of change numbers."""
    with suppress(CnSetError):
        return bool(cntext.parse(text))
    return False


def _item_ref(items: Mapping[str, int], name: str, folder: str) -> int | str:
    if found := items.get(name) or _as_id(name):
        return found
    known = ", ".join(items) or "none"
    raise UsageError(f"item {name!r} is not known in {folder} at that time, expected {known} or an id{nearest(name, items)}")


# --- values -----------------------------------------------------------------------------------------------------------


@contextmanager
def _within(place: str) -> Iterator[None]:
    """Puts the place in front of what is said about a mistake."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{place}: {error}") from None


def _fields(table: object, readers: Mapping[str, Callable[[Any], Any]], *, required: tuple[str, ...] = ()) -> dict[str, Any]:
    """The values of a table by its keys, each read by its reader."""
    if not isinstance(table, dict):
        raise UsageError(f"found {table!r}, expected a table with {', '.join(readers)}")
    for key in table:
        if key not in readers:
            raise UsageError(f"key {key!r} is not known, expected {', '.join(readers)}{nearest(key, readers)}")
    for key in required:
        if key not in table:
            raise UsageError(f"key {key!r} is missing")
    values = {}
    for key, value in table.items():
        with _within(key):
            values[key] = readers[key](value)
    return values


def _any(value: Any) -> Any:
    return value


def _any_table(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"found {value!r}, expected a table")
    return value


def _tables(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise UsageError(f"found {value!r}, expected a list of tables, each under a heading in double brackets")
    return value


def _word(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"found {value!r}, expected a text")
    return value


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"found {value!r}, expected true or false")
    return value


def _number(least: int, most: int = LARGEST) -> Callable[[object], int]:
    range = f"from {least} on" if most == LARGEST else f"from {least} to {most:,}"

    def read_number(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise UsageError(f"found {value!r}, expected a whole number {range}")
        return value

    return read_number


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise UsageError(f"found {value!r}, expected a share from 0 to 1, such as 0.2")
    return float(value)


def _span(value: object) -> timedelta:
    duration = parse_duration(value)
    if not duration:
        raise UsageError(f"found {value!r}, expected a duration longer than nothing")
    return duration


def _offset(value: object) -> timedelta:
    """By how much a clock is wrong: ahead, or behind with a minus."""
    if isinstance(value, str) and value.startswith("-"):
        return -parse_duration(value[1:])
    return parse_duration(value)


def _time_from(start: datetime) -> Callable[[object], datetime]:
    """An offset from the start, or a moment."""

    def read_time(value: object) -> datetime:
        if isinstance(value, str) and "-" not in value:
            offset = parse_duration(value)
            if offset > LAST - start:
                raise UsageError(f"found {value!r}, expected an offset that ends before the year {LAST.year + 1}")
            return start + offset
        try:
            return parse_time(value)
        except UsageError as error:
            raise UsageError(f"{error}, or an offset from the start such as 15m or 6h") from None

    return read_time


def _one_of(what: str, known: list[str]) -> Callable[[object], str]:
    def read_name(value: object) -> str:
        if value not in known:
            raise UsageError(f"{what} {value!r} is not known, expected {', '.join(known)}{nearest(value, known)}")
        return str(value)

    return read_name


def _many(one: Callable[[Any], str]) -> Callable[[object], tuple[str, ...]]:
    """Several, each once, in the order written; one alone may stand without brackets."""

    def read_list(value: object) -> tuple[str, ...]:
        listed = value if isinstance(value, list) else [value]
        if not listed:
            raise UsageError("found an empty list, expected at least one")
        return tuple(dict.fromkeys(one(each) for each in listed))

    return read_list


def _version(value: object) -> str:
    text = str(value)
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
        raise UsageError(f"found {value!r}, expected a version such as 5.5, 2000, 2003 or 2007")
    return text


def _schedule(value: Any) -> str:
    parse_schedule(value)
    return value if isinstance(value, str) else ",".join(value)


def _age(value: object) -> timedelta | None:
    return None if value in ("none", "off") else _span(value)


def _conflict(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value not in (0, 1, 2):
        raise UsageError(f"found {value!r}, expected 0, 1 or 2")
    return value


def _priority(value: object) -> str:
    if value not in PRIORITIES:
        raise UsageError(f"found {value!r}, expected one of {', '.join(PRIORITIES)}")
    return str(value)


def _cnset(stores: list[str]) -> Callable[[object], cntext.CnSet]:
    def read_cnset(value: object) -> cntext.CnSet:
        if not isinstance(value, str):
            raise UsageError(f"found {value!r}, expected a set such as PFS1:1-10,PFS2:1-20")
        try:
            cnset = cntext.parse(value)
        except CnSetError as error:
            raise UsageError(str(error)) from None
        for origin in cnset:
            _one_of("store", stores)(cntext.split_label(origin)[0])
        return cnset

    return read_cnset


def _folder_word(value: object) -> str:
    name = _word(value)
    if "/" in name or len(name) > 255 or any(ord(char) < 32 or 127 <= ord(char) < 160 for char in name):
        raise UsageError(f"found {value!r}, expected a folder name: no / and no control characters, at most 255 characters")
    return name


def _path(value: object) -> str:
    """A path from the root, without a slash at its end."""
    path = _word(value)
    parts = path.rstrip("/").split("/")
    if parts[0] or len(parts) < 2:
        raise UsageError(f"found {value!r}, expected a path such as /Sales or /Sales/North")
    if len(parts) - 1 > LEVELS:
        raise UsageError(f"found a path of {len(parts) - 1} folders, expected at most {LEVELS}, one beneath the other")
    return "/".join(["", *map(_folder_word, parts[1:])])


def _folder_name(value: object) -> str:
    """A path, the root, or an id."""
    name = _word(value)
    return "/" if name.strip("/") == "" else _as_id(name) or _path(name)


def _as_id(name: str) -> str:
    """The id that a text is, such as PFS1:7; or nothing."""
    return name if _ID.fullmatch(name) else ""


_ID = re.compile(rf"{cntext.STORE_NAME}(~[1-9][0-9]*)?:[1-9][0-9]{{0,18}}")

_PROPERTIES: dict[str, Callable[[Any], Any]] = {
    "schedule": _schedule,
    "size_limit": parse_size,
    "age_limit": _age,
    "conflict": _conflict,
}
FOLDER_PROPERTIES = _PROPERTIES | {
    "deleted_item_retention": parse_duration,  # Q20
    "description": _word,  # R17
    "note": _word,  # R18
    "permissions": _word,  # R16
    "priority": _priority,  # F48
}
"""What may be set on a folder, with what reads it from a text or a TOML value."""
