"""Scenario files: an invented organization, and what is done to it when.

A file is read, checked and resolved before anything is played: every store, folder and item that a step names is known
at that step's time, or the file is refused with the file, the key and the nearest known name. Whether an edit is
allowed is not decided here but by the rules, when it is played.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

from pfspark import cntext
from pfspark.errors import ProfileError, ScenarioError, UsageError
from pfspark.files import language, values
from pfspark.files.documents import text_of, toml
from pfspark.files.parts import Link, by_path, links_of, stores_of
from pfspark.files.properties import DEFAULT_SITE
from pfspark.settings import PROFILE, Policy, load_profile, override
from pfspark.sim import steps
from pfspark.sim.steps import Step
from pfspark.units import unfit


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
    properties: Mapping[str, Any] = field(default_factory=dict)
    """What is set on it; an age limit of None is said too: its items never expire, whatever the policy says."""
    holds: cntext.CnSet = field(default_factory=dict)


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
    edits: str = "step"
    """What the ids of its edits begin with."""

    def ways(self, now: datetime) -> dict[tuple[str, str], tuple[float, float, timedelta]]:
        """What the ways do to mail that leaves now: lost, twice and late by sender and recipient; of several the most."""
        found: dict[tuple[str, str], tuple[float, float, timedelta]] = {}
        for fault in (each for each in self.faults if each.since <= now < each.until):
            for way in permutations((store.name for store in self.stores), 2):
                if fault.sender in (None, way[0]) and fault.recipient in (None, way[1]):
                    lost, twice, late = found.get(way, (0.0, 0.0, timedelta(0)))
                    found[way] = max(lost, fault.lost), max(twice, fault.twice), max(late, fault.late)
        return found

    def unplayed(self) -> list[Step]:
        """Steps after the last round: none sees them."""
        last = self.start + (self.end - self.start) // self.interval * self.interval
        return [step for step in self.steps if step.at > last]

    def idle_faults(self) -> list[int]:
        """The numbers of faults that can do nothing to any mail, counted from 1."""

        def strikes(fault: Fault) -> bool:
            others = {store.name for store in self.stores} - {fault.sender, fault.recipient}
            apart = fault.sender != fault.recipient if fault.sender and fault.recipient else bool(others)
            is_played = self.start < fault.until and fault.since < fault.until and fault.since <= self.end
            return apart and is_played and any((fault.lost, fault.twice, fault.late))

        return [number for number, fault in enumerate(self.faults, 1) if not strikes(fault)]


def read(paths: Iterable[Path | str], conf_folder: Path) -> list[Scenario]:
    """The scenarios of those files, and of all `*.toml` in those folders; names are unique among them.

    Raises UsageError for a file that cannot be read, ScenarioError for one that cannot be played.
    """
    scenarios: dict[str, Scenario] = {}
    for path in (file for each in paths for file in _files(Path(each))):
        text = text_of(path)
        scenario = parse(text, str(path), conf_folder)
        if scenario.name in scenarios:
            other = scenarios[scenario.name].file
            raise ScenarioError(f"{path}: name: {scenario.name!r} is the name of {other} too; names must be unique")
        scenarios[scenario.name] = scenario
    return list(scenarios.values())


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    if files := sorted(path.glob("*.toml")):
        return files
    raise ScenarioError(f"{path}: no scenario files (*.toml) in this folder")


def parse(text: str, file: str, conf_folder: Path) -> Scenario:
    """The scenario of one text; `file` stands in its errors. A text that cannot be played is a ScenarioError."""
    document = toml(text, file)
    try:
        return _scenario(document, file, conf_folder)
    except (UsageError, ProfileError) as error:
        raise ScenarioError(f"{file}: {error}") from None


# --- the file ---------------------------------------------------------------------------------------------------------


def _scenario(document: dict[str, Any], file: str, conf_folder: Path) -> Scenario:
    """Reads from the top: what is named below must have been declared above it."""
    said = language.Scenario.read(document)
    start = said.start
    with values.within("end"):
        end = values.time_from(start)(said.end)
        if end < start:
            raise unfit(said.end, f"a time not before the start, {start:%Y-%m-%dT%H:%M:%SZ}")
    with values.within("profile"):
        policy = profile_named(said.profile or PROFILE, conf_folder)
    with values.within("policy"):
        policy = override(policy, said.policy)
    stores = _stores(said.stores)
    names = [store.name for store in stores]
    folders = _folders(said.folders, names)
    todo = steps.read(said.steps, names, start)
    held = sum(cntext.size(each.holds) for each in folders)
    posted: int = sum(step.args["count"] for step in todo if step.verb == "post")
    if held + posted > language.MOST_POSTED:
        raise UsageError(
            f"found {held:,} items held and {posted:,} posted, expected at most {language.MOST_POSTED:,} in all; "
            "a story of fewer tells the same"
        )
    return Scenario(
        name=said.name or Path(file).stem,
        profile=policy.profile,
        policy=policy,
        start=start,
        end=end,
        interval=said.interval or policy.interval,
        stores=stores,
        links=links_of(said.links, sorted({store.site for store in stores})),
        folders=folders,
        steps=steps.resolved(
            todo,
            {each.path: ("initial", place) for place, each in enumerate(folders)},
            start,
            ids={f"{names[0]}:{place}": ("initial", place - 1) for place, _ in enumerate(folders, 1)},
            stores=names,
        ),
        file=file,
        faults=faults_of(said.faults, names, start, end),
        seed=said.seed,
    )


profile_named = cache(load_profile)


def _stores(table: Mapping[str, Any]) -> tuple[Store, ...]:
    if not table:
        raise UsageError("stores: none, expected at least one [stores.NAME]")
    return tuple(Store(name, **{"site": DEFAULT_SITE} | said) for name, said in stores_of(table, language.Store).items())


def faults_of(entries: list[Any], stores: list[str], start: datetime, end: datetime) -> tuple[Fault, ...]:
    """The faults of a text; those without an end last until that of the scenario, and never strike if they begin later."""
    known = language.Known(stores=stores, start=start)
    faults = []
    for place, entry in enumerate(entries, 1):
        with values.within(f"faults {place}"):
            said = language.Fault.read(entry, known).said()
            fault = Fault(**{"sender": None, "recipient": None, "since": start, "until": end} | said)
            if "until" in said and fault.until <= fault.since:
                raise UsageError(f"until {fault.until:%Y-%m-%dT%H:%M:%SZ} is not after since {fault.since:%Y-%m-%dT%H:%M:%SZ}")
            faults.append(fault)
    return tuple(faults)


def _folders(table: Mapping[str, Any], stores: list[str]) -> tuple[Folder, ...]:
    known = language.Known(stores=stores)
    folders: dict[str, Folder] = {}
    for path, entry in by_path(table).items():
        with values.within(f'folders."{path}"'):
            said = language.Folder.read(entry, known)
            folders[path] = Folder(path, said.replicas or tuple(stores), said.properties(), said.holds or {})
    for path in folders:
        values.expect_parent(path, folders)
    return tuple(folders.values())
