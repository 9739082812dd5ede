"""An organization in a file: profile, policy, stores, links and folders, in the language of scenario files.

What a file does not say is left open: whoever applies it takes what is there already, else what a scenario file would mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pfspark.errors import ProfileError, ScenarioError, UsageError
from pfspark.files import language, values
from pfspark.files.parts import by_path, links_of, stores_of
from pfspark.files.properties import set_properties, slots

PLAYED = ("end", "interval", "seed", "faults", "steps")
"""Of scenario files what says how they are played; it says nothing of what an organization is."""
HOLDS = "holds"
"""So does that of a folder."""

Columns = Mapping[str, Any]


@dataclass(frozen=True)
class Folder:
    """What is said of a folder: its replicas (None: nothing), and what is set on it, as edits hold it."""

    replicas: tuple[str, ...] | None
    properties: Mapping[str, str]


@dataclass(frozen=True)
class Declared:
    """What a file says of an organization."""

    file: str
    name: str | None
    profile: str | None
    options: Mapping[str, Any]
    start: datetime | None
    suspended: bool | None
    stores: Mapping[str, Columns]
    """Of each store what is said, as columns of `stores`."""
    links: Mapping[tuple[str, str], Columns]
    """By the two sites, as columns of `links`."""
    folders: Mapping[str, Folder]
    """By path, each after the one above it."""
    left_out: tuple[str, ...]
    """Keys that say how a scenario is played."""


def read(document: Mapping[str, Any], file: str, stores: Mapping[str, str]) -> Declared:
    """What a document says; it may name stores that are there already, each with its site.

    Raises ScenarioError, in which `file` stands, for what cannot be read.
    """
    try:
        return _declared(document, file, stores)
    except (UsageError, ProfileError) as error:
        raise ScenarioError(f"{file}: {error}") from None


def _declared(document: Mapping[str, Any], file: str, stores: Mapping[str, str]) -> Declared:
    top = language.Organization.read(dict(document))
    told = {name: _columns(said) for name, said in stores_of(top.stores, language.DeclaredStore).items()}
    sites = {**stores, **{name: said["site"] for name, said in told.items() if "site" in said}}
    known = language.Known(stores=sorted({**stores, **told}))
    links = links_of(top.links, sorted(set(sites.values())))
    entries = by_path(top.folders)
    return Declared(
        file=file,
        name=top.name,
        profile=top.profile,
        options=top.policy,
        start=top.start,
        suspended=top.suspended,
        stores=told,
        links={(one.from_site, one.to_site): {"cost": one.cost, "delay_s": int(one.delay.total_seconds())} for one in links},
        folders={path: _folder(path, entries[path], known) for path in sorted(entries, key=_level)},
        left_out=tuple(
            [key for key in PLAYED if key in top.said()]
            + [HOLDS] * any(isinstance(x, dict) and HOLDS in x for x in entries.values())
        ),
    )


def _columns(said: dict[str, Any]) -> Columns:
    if "interval" in said:
        said["interval_s"] = int(said.pop("interval").total_seconds())
    return said | ({"schedule": slots(said["schedule"])} if "schedule" in said else {})


def _folder(path: str, entry: Any, known: language.Known) -> Folder:
    with values.within(f'folders."{path}"'):
        said = language.DeclaredFolder.read(entry, known)
        return Folder(said.replicas, set_properties(said.properties()))


def _level(path: str) -> int:
    return path.count("/")
