"""The first state of an invented organization, and its steps as edits: rows of `tables.EVERY`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from pfspark import cntext
from pfspark.files.properties import set_properties, slots
from pfspark.schedules import is_night
from pfspark.sim.scenario import Folder, Scenario, Store
from pfspark.sim.steps import FolderRef, Step
from pfspark.words import HIERARCHY, NAME, PARENT, REPLICA, ROOT, WHOLE, Action, Entry, Listing, Standing, Why

Row = dict[str, Any]

ITEM_SIZE = 1024
"""`holds` means items of 1KB."""

EDITS = {
    "post": Action.POST,
    "modify": Action.MODIFY,
    "delete": Action.DELETE,
    "create_folder": Action.CREATE_FOLDER,
    "rename_folder": Action.SET_FOLDER,
    "move_folder": Action.SET_FOLDER,
    "delete_folder": Action.DELETE_FOLDER,
    "set_folder": Action.SET_FOLDER,
    "add_replica": Action.SET_FOLDER,
    "remove_replica": Action.SET_FOLDER,
}
"""Step verbs that are edits, each with what it does to its object."""


def begin(scenario: Scenario) -> dict[str, list[Row]]:
    """The world before the first step: every store knows all folders and lists, every replica holds what it `holds`."""
    rows: dict[str, list[Row]] = defaultdict(list)
    names = [store.name for store in scenario.stores]
    rows["stores"] = [_store(scenario, store) for store in scenario.stores]
    rows["links"] = links(scenario)
    rows["replicas"] = [_replica(scenario, name, HIERARCHY, 1) for name in names]
    numbers: cntext.CnSet = {names[0]: ((1, len(scenario.folders)),)} if scenario.folders else {}
    rows["state"] += _known_to_all(scenario, HIERARCHY, {name: 1 for name in names}, numbers)
    ids = {folder.path: f"{names[0]}:{place}" for place, folder in enumerate(scenario.folders, 1)}
    creations = [_creation(scenario, folder, place, ids) for place, folder in enumerate(scenario.folders, 1)]
    rows["changes"] = [*creations]
    for folder in scenario.folders:
        for name, some in _contents(scenario, folder, ids[folder.path]):
            rows[name] += some
    for viewer in names:
        for name, some in _view(scenario, viewer, creations):
            rows[name] += some
    return rows


def _store(scenario: Scenario, store: Store) -> Row:
    return {
        "org": scenario.name,
        "store": store.name,
        "site": store.site,
        "version": store.version,
        "preferred": store.preferred,
        "interval_s": store.interval and int(store.interval.total_seconds()),
        "size_limit": store.size_limit,
        "schedule": slots(store.schedule),
        "retired": False,
    }


def links(scenario: Scenario) -> list[Row]:
    """The links between the sites of an organization."""
    return [
        {
            "org": scenario.name,
            "from_site": link.from_site,
            "to_site": link.to_site,
            "cost": link.cost,
            "delay_s": int(link.delay.total_seconds()),
        }
        for link in scenario.links
    ]


def _contents(scenario: Scenario, folder: Folder, id: str) -> Iterator[tuple[str, Iterable[Row]]]:
    """What the replicas of a folder hold, and know of each other: rows by view."""
    known = [cntext.split_label(label) for label in folder.holds]
    lives = {store: max([1, *(life for name, life in known if name == store)]) for store in folder.replicas}
    yield "replicas", [_replica(scenario, store, id, life) for store, life in lives.items()]
    yield "state", _known_to_all(scenario, id, lives, folder.holds)
    yield "changes", _items(scenario, id, folder.holds)
    if folder.properties.get("age_limit", scenario.policy.age_limit):
        yield "agenda", [_nightly(scenario, store, id) for store in folder.replicas]


def _view(scenario: Scenario, viewer: str, creations: list[Row]) -> Iterator[tuple[str, Iterable[Row]]]:
    """How a store sees the tree, and every replica list: rows by view."""
    for change in creations:
        here = {"org": scenario.name, "store": viewer, "folder": change["object"]}
        properties = {each["name"]: each["value"] for each in change["properties"]}
        lists = {name.removeprefix(REPLICA): value for name, value in properties.items() if name.startswith(REPLICA)}
        said = [*change["properties"]]
        if scenario.policy.hierarchy_merge == "object":  # `hierarchy.merge` says which object won
            stamp = {"at": change["made_at"], "origin": change["origin"], "cn": change["cn"]}
            said.append({"name": WHOLE, "value": None, "stamp": stamp})
        yield "tree", [{**here, "property": p["name"], "value": p["value"], "stamp": p["stamp"]} for p in said]
        yield "folders", [{**here, "parent": properties[PARENT], "dead": False}]
        yield "lists", [{**here, "peer": peer, "listing": listing} for peer, listing in lists.items()]
    of_hierarchy = {"org": scenario.name, "store": viewer, "folder": HIERARCHY, "listing": str(Listing.LISTED)}
    yield "lists", [{**of_hierarchy, "peer": store.name} for store in scenario.stores]


def _replica(scenario: Scenario, store: str, folder: str, life: int) -> Row:
    return {
        "org": scenario.name,
        "store": store,
        "folder": folder,
        "life": life,
        "standing": str(Standing.ACTIVE),
        "at": scenario.start,
    }


def _nightly(scenario: Scenario, store: str, folder: str) -> Row:
    """The first nightly maintenance of a folder whose items grow old."""
    tonight = datetime.combine(scenario.start.date(), scenario.policy.maintenance_at, scenario.start.tzinfo)
    due = tonight if tonight >= scenario.start else tonight + timedelta(days=1)
    return {
        "org": scenario.name,
        "store": store,
        "folder": folder,
        "why": str(Why.EXPIRE),
        "peer": "",
        "attempt": 0,
        "due": due,
    }


def _known_to_all(scenario: Scenario, folder: str, lives: dict[str, int], numbers: cntext.CnSet) -> Iterator[Row]:
    """Rows of `state` of a folder that every replica holds, has sent what is its own of it, and knows it of everybody."""

    def rows(store: str, entry: Entry, about: str, ranges: cntext.CnSet) -> Iterator[Row]:
        label = cntext.label(about, lives[about])
        for origin, spans in ranges.items():
            for low, high in spans:
                yield {
                    "org": scenario.name,
                    "store": store,
                    "folder": folder,
                    "entry": str(entry),
                    "about": label,
                    "origin": origin,
                    "cn_min": low,
                    "cn_max": high,
                    "relayed": False,
                }

    for store in lives:
        own = {label: spans for label, spans in numbers.items() if cntext.split_label(label)[0] == store}
        yield from rows(store, Entry.APPLIED, store, numbers)
        yield from rows(store, Entry.SENT, store, own)
        for peer in lives:
            if peer != store:
                yield from rows(store, Entry.REPORTED, peer, numbers)


def _creation(scenario: Scenario, folder: Folder, place: int, ids: dict[str, str]) -> Row:
    parent, _, name = folder.path.rpartition("/")
    origin = scenario.stores[0].name
    stamp = {"at": scenario.start, "origin": origin, "cn": place}
    listed = {f"{REPLICA}{store}": str(Listing.LISTED) for store in folder.replicas}
    properties = {NAME: name, PARENT: ids.get(parent, ROOT), **listed, **set_properties(folder.properties)}
    return {
        "org": scenario.name,
        "folder": HIERARCHY,
        "origin": origin,
        "cn": place,
        "object": ids[folder.path],
        "action": str(Action.CREATE_FOLDER),
        "properties": [{"name": key, "value": value, "stamp": stamp} for key, value in sorted(properties.items())],
        "predecessors": [],
        "size": 0,
        "made_at": scenario.start,
        "at": scenario.start,
    }


def _items(scenario: Scenario, folder: str, holds: cntext.CnSet) -> Iterator[Row]:
    for origin, spans in holds.items():
        for low, high in spans:
            for cn in range(low, high + 1):
                item = f"{origin}:{cn}"
                yield {
                    "org": scenario.name,
                    "folder": folder,
                    "origin": origin,
                    "cn": cn,
                    "object": item,
                    "action": str(Action.POST),
                    "name": item,
                    "properties": [],
                    "predecessors": [],
                    "size": ITEM_SIZE,
                    "made_at": scenario.start,
                    "at": scenario.start,
                }


def edits(scenario: Scenario, steps: Iterable[Step]) -> Iterator[Row]:
    """The edits that steps are, in order; a step that is none yields no row. `place` begins with the step's number."""
    for step in steps:
        if step.verb in EDITS:
            yield from _edit(scenario, step)


def _edit(scenario: Scenario, step: Step) -> Iterator[Row]:
    args = step.args
    row: Row = {
        "org": scenario.name,
        "edit_id": edit_id(scenario, step.number),
        "store": args["store"],
        "at": step.at,
        "place": step.number,
        "action": str(EDITS[step.verb]),
        "folder": folder_of(scenario, args.get("folder_ref")),
        "properties": _sets(scenario, step),
    }
    match step.verb:
        case "post":
            for nth in range(1, args["count"] + 1):
                yield {
                    **row,
                    "edit_id": edit_id(scenario, step.number, nth),
                    "place": place(step.number, nth),
                    "name": args["item"],
                    "size": args["size"],
                }
        case "modify" | "delete":
            item = args["item_ref"]
            named = f"@{edit_id(scenario, item)}" if isinstance(item, int) else item
            yield {**row, "place": place(step.number), "item": named, "size": args.get("size", 0)}
        case _:
            yield {**row, "place": place(step.number)}


def edit_id(scenario: Scenario, step: int, nth: int = 1) -> str:
    """The edit a step makes; of a step that posts several items, the nth."""
    return f"{scenario.edits} {step}" if nth == 1 else f"{scenario.edits} {step}.{nth}"


PLACES = 2**40
"""More than any step can post items."""


def place(step: int, nth: int = 0) -> int:
    """The place of an edit among those of its moment."""
    return step * PLACES + nth


def step_of(place: int) -> int:
    """The number of the step that an edit's place belongs to."""
    return place // PLACES


def folder_of(scenario: Scenario, ref: FolderRef | None) -> str | None:
    """The id of a folder that a step names; of one that a step makes, `@` and the edit that does."""
    match ref:
        case ("initial", int(index)):
            return f"{scenario.stores[0].name}:{index + 1}"
        case ("step", int(number)):
            return f"@{edit_id(scenario, number)}"
        case ("id", text):
            return str(text)
    return None


def _sets(scenario: Scenario, step: Step) -> dict[str, str]:
    args = step.args
    match step.verb:
        case "create_folder":
            listed = {f"{REPLICA}{store}": str(Listing.LISTED) for store in args["replicas"]}
            parent = folder_of(scenario, args["parent_ref"]) or ROOT
            return {NAME: args["name"], PARENT: parent, **listed, **set_properties(args["properties"])}
        case "rename_folder":
            return {NAME: args["name"]}
        case "move_folder":
            return {PARENT: folder_of(scenario, args["to_ref"]) or ROOT}
        case "set_folder":
            return set_properties(args["properties"])
        case "add_replica":
            return {f"{REPLICA}{args['replica']}": str(Listing.LISTED)}
        case "remove_replica":
            return {f"{REPLICA}{args['replica']}": str(Listing.REMOVED)}
    return {}


def faults(scenario: Scenario, now: datetime) -> Iterator[Row]:
    """The scenario's rows of `faults` at that time."""
    for (store, peer), (lost, twice, late) in scenario.ways(now).items():
        late_s = int(late.total_seconds())
        yield {
            "org": scenario.name,
            "store": store,
            "peer": peer,
            "lost": lost,
            "twice": twice,
            "late_s": late_s,
            "seed": scenario.seed,
        }


def turn(scenario: Scenario, now: datetime, *, suspended: bool, before: datetime | None = None) -> Row:
    """The scenario's row of `clock` at that time; `before`: what the clock said in the round before, played or not."""
    since = now - scenario.interval if before is None else before
    night = is_night(scenario.policy.maintenance_at, max(scenario.start, since), now)
    return {"now": now, "start": scenario.start, "suspended": suspended, "night": night, **scenario.policy.columns()}
