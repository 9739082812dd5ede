"""The language of scenario files, table by table: what may be written, and what reads it.

Three kinds of file are written in it: a scenario, an organization (`pfspark apply`), and what is done to one that is there
(`pfspark whatif`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any

from pydantic import Field

from pfspark import cntext, settings
from pfspark.entries import Entry, reads, reads_by
from pfspark.files import values
from pfspark.units import parse_size, parse_time, parse_wait
from pfspark.words import FIRST

MOST_POSTED = 1_000_000
"""Items that a scenario may hold at its start and post, all together: each is a row in memory, and more would only fill it."""


@dataclass(frozen=True)
class Known:
    """Which names a table may use, and from when its offsets count."""

    stores: Sequence[str] = ()
    sites: Sequence[str] = ()
    start: datetime = FIRST


# --- values -----------------------------------------------------------------------------------------------------------

Word = Annotated[str, reads(values.word)]
Switch = bool
Span = Annotated[timedelta, reads(settings.span)]
Wait = Annotated[timedelta, reads(parse_wait)]
Offset = Annotated[timedelta, reads(values.offset)]
Size = Annotated[int, reads(parse_size)]
Share = Annotated[float, reads(values.share)]
Natural = Annotated[int, reads(values.number(0))]
Count = Annotated[int, reads(values.number(1, MOST_POSTED))]
Version = Annotated[str, reads(values.version)]
Schedule = Annotated[str, reads(values.schedule)]
Age = Annotated[timedelta | None, reads(settings.age)]
Priority = Annotated[str, reads(values.priority)]
Path = Annotated[str, reads(values.path)]
FolderWord = Annotated[str, reads(values.folder_word)]
FolderName = Annotated[str, reads(values.folder_name)]
FolderAsked = Annotated[str, reads(values.folder_or_hierarchy)]
Time = Annotated[datetime, reads(parse_time)]
Moment = Annotated[datetime, reads_by(lambda known: values.time_from(known.start))]
Set = Annotated[cntext.CnSet, reads_by(lambda known: values.cnset(known.stores))]
StoreName = Annotated[str, reads_by(lambda known: values.one_of("store", known.stores))]
StoreNames = Annotated[tuple[str, ...], reads_by(lambda known: values.many(values.one_of("store", known.stores)))]
SiteName = Annotated[str, reads_by(lambda known: values.one_of("site", known.sites))]
SiteNames = Annotated[tuple[str, ...], reads_by(lambda known: values.many(values.one_of("site", known.sites)))]
TableNames = Annotated[tuple[str, ...], reads(values.many(values.one_of("table", ["state", "items", "folders"])))]
Yes = Annotated[bool, reads(values.yes)]

# --- files ------------------------------------------------------------------------------------------------------------


class Scenario(Entry):
    """A scenario file."""

    name: Word | None = None
    profile: Word | None = None
    start: Time
    end: Any
    interval: Span | None = None
    seed: Natural = 0
    policy: dict[str, Any] = Field(default_factory=dict)
    stores: dict[str, Any]
    folders: dict[str, Any] = Field(default_factory=dict)
    links: list[Any] = Field(default_factory=list)
    faults: list[Any] = Field(default_factory=list)
    steps: list[Any] = Field(default_factory=list)


class Organization(Entry):
    """An organization in a file. What says how a scenario is played is looked over."""

    name: Word | None = None
    profile: Word | None = None
    start: Time | None = None
    suspended: Switch | None = None
    policy: dict[str, Any] = Field(default_factory=dict)
    stores: dict[str, Any] = Field(default_factory=dict)
    folders: dict[str, Any] = Field(default_factory=dict)
    links: list[Any] = Field(default_factory=list)
    end: Any = None
    interval: Any = None
    seed: Any = None
    faults: Any = None
    steps: Any = None


class Change(Entry):
    """What is done to an organization that is there."""

    profile: Word | None = None
    seed: Natural | None = None
    policy: dict[str, Any] = Field(default_factory=dict)
    links: list[Any] = Field(default_factory=list)
    faults: list[Any] = Field(default_factory=list)
    steps: list[Any] = Field(default_factory=list)


# --- the directory ----------------------------------------------------------------------------------------------------


class Store(Entry):
    """[stores.NAME] of a scenario."""

    site: Word | None = None
    version: Version | None = None
    preferred: Switch | None = None
    interval: Span | None = None
    size_limit: Size | None = None
    schedule: Schedule | None = None


class DeclaredStore(Store):
    """[stores.NAME] of an organization."""

    retired: Switch | None = None


class Link(Entry):
    """[[links]]: `sites` for both directions, or `from` and `to` for one."""

    sites: SiteNames | None = None
    from_site: SiteName | None = Field(None, alias="from")
    to_site: SiteName | None = Field(None, alias="to")
    cost: Natural | None = None
    delay: Wait | None = None


class Fault(Entry):
    """[[faults]]: what the way does to mail for a while."""

    sender: StoreName | None = Field(None, alias="from")
    recipient: StoreName | None = Field(None, alias="to")
    since: Moment | None = None
    until: Moment | None = None
    lost: Share | None = None
    twice: Share | None = None
    late: Wait | None = None


class Properties(Entry):
    """What a scenario may set on the folders that are there at its start."""

    schedule: Schedule | None = None
    size_limit: Size | None = None
    age_limit: Age = None
    conflict: settings.Conflict | None = None

    def properties(self) -> dict[str, Any]:
        """Those of them that are said; an age limit of None is one: items never expire."""
        return {name: value for name, value in self.said().items() if name in FolderProperties.model_fields}


class FolderProperties(Properties):
    """What may be set on a folder."""

    deleted_item_retention: Wait | None = None  # Q20
    description: Word | None = None  # R17
    note: Word | None = None  # R18
    permissions: Word | None = None  # R16
    priority: Priority | None = None  # F48


class Folder(Properties):
    """[folders."/PATH"] of a scenario."""

    replicas: StoreNames | None = None
    holds: Set | None = None


class DeclaredFolder(FolderProperties):
    """[folders."/PATH"] of an organization."""

    replicas: StoreNames | None = None
    holds: Any = None


# --- steps ------------------------------------------------------------------------------------------------------------


class Verb(Entry):
    """What is done in a step."""

    def args(self) -> dict[str, Any]:
        """Its arguments, as `steps.Step` has them."""
        return dict(self)


class AtStore(Verb):
    store: StoreName


class InFolder(AtStore):
    folder: FolderName


class Post(InFolder):
    item: Word | None = None
    count: Count = 1
    size: Size = 1024


class Modify(InFolder):
    item: Word
    size: Size = 1024


class Delete(InFolder):
    item: Word


class CreateFolder(FolderProperties, AtStore):
    path: Path
    replicas: StoreNames | None = None

    def args(self) -> dict[str, Any]:
        replicas = self.replicas or (self.store,)
        return {"store": self.store, "path": self.path, "replicas": replicas, "properties": self.properties()}


class RenameFolder(InFolder):
    name: FolderWord


class MoveFolder(InFolder):
    to: FolderName


class SetFolder(FolderProperties, InFolder):
    def args(self) -> dict[str, Any]:
        return {"store": self.store, "folder": self.folder, "properties": self.properties()}


class ListChange(InFolder):
    replica: StoreName


class Restore(AtStore):
    to: Moment


class Why(AtStore):
    folder: FolderAsked
    item: Word | None = None


class Step(Entry):
    """[[steps]]: when, and one verb."""

    at: Moment
    post: Post | None = None
    modify: Modify | None = None
    delete: Delete | None = None
    create_folder: CreateFolder | None = None
    rename_folder: RenameFolder | None = None
    move_folder: MoveFolder | None = None
    delete_folder: InFolder | None = None
    set_folder: SetFolder | None = None
    add_replica: ListChange | None = None
    remove_replica: ListChange | None = None
    cut: StoreNames | None = None
    heal: StoreNames | None = None
    down: StoreNames | None = None
    up: StoreNames | None = None
    restore: Restore | None = None
    suspend: Yes | None = None
    resume: Yes | None = None
    clock: Offset | None = None
    why: Why | None = None
    show: TableNames | None = None

    def done(self) -> dict[str, dict[str, Any]]:
        """The arguments of the verbs that are said."""
        said = {verb: value for verb, value in self.said().items() if verb != "at"}
        return {verb: value.args() if isinstance(value, Verb) else _named(verb, value) for verb, value in said.items()}


VERBS = tuple(name for name in Step.model_fields if name != "at")
_ARGUMENT = {**dict.fromkeys(("cut", "heal", "down", "up"), "stores"), "clock": "wrong", "show": "what"}
"""What a verb without a table is given."""


def _named(verb: str, value: Any) -> dict[str, Any]:
    return {_ARGUMENT[verb]: value} if verb in _ARGUMENT else {}
