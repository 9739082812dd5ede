"""One event of a log: its ids, what it says, and how a log spells folders."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from pfspark.words import HIERARCHY, MessageType

REMOVED = 3005
"""A replica was removed (Q188651)."""
NEW_LIFE = 3006
"""A replica begins a new life, after a restore or because it has forgotten what it gave (F8). Exchange logs no such event."""
OF_REPLICAS = {REMOVED: "was removed", NEW_LIFE: "begins a new life"}
"""What becomes of replicas, told without a message."""
OUTGOING = {
    MessageType.BACKFILL_REQUEST: 3016,
    MessageType.STATUS: 3017,
    MessageType.STATUS_REQUEST: 3017,
    MessageType.HIERARCHY: 3018,
    MessageType.HIERARCHY_RESPONSE: 3019,
    MessageType.CONTENT: 3020,
    MessageType.CONTENT_RESPONSE: 3021,
}
INCOMING = {
    MessageType.CONTENT: 3025,
    MessageType.BACKFILL_REQUEST: 3026,
    MessageType.STATUS: 3027,
    MessageType.STATUS_REQUEST: 3027,
    MessageType.HIERARCHY: 3028,
    MessageType.HIERARCHY_RESPONSE: 3029,
    MessageType.CONTENT_RESPONSE: 3031,
}
"""Ids of events by the type of the message. They moved between versions (F63): 3016, 3020, 3026, 3029 and 3031 are those of
2003 to 2010 (KB 10042), 3025 is that of 2000 (KB 821930; later 3030)."""
OF_HIERARCHY = {3016: 3014, 3026: 3024}
"""A backfill request for the hierarchy has an id of its own (KB 10042)."""
LAST_OUTGOING = 3021

TREE = "IPM_SUBTREE"
NOTHING = "{0}"
MDB = "MICROSOFT PUBLIC MDB"
ISSUED = "An outgoing replication message was issued."
PROCESSED = "An incoming replication message was processed."


@dataclass(frozen=True)
class Sent:
    """A folder in a hierarchy message: its id, its parent's, where its properties begin, and its path."""

    id: str
    parent: str
    offset: int
    path: str = ""


@dataclass(frozen=True)
class Posted:
    """An item in a content message: its id, the number of the version sent, its name, and when that was made."""

    id: str
    cn: str
    name: str = ""
    at: datetime | None = None


@dataclass(frozen=True)
class Deleted:
    """A deleted folder or item, and the number of its deletion (F16)."""

    id: str
    cn: str


@dataclass(frozen=True)
class Event:
    """One event of a store's log. What its text does not tell is empty, or None where it is a number or a time.

    Ids and numbers are written `PFS1:211`, sets `PFS1:1-11:17`, folders by their path; the hierarchy is `1-1`.
    """

    event: int
    type: str = ""
    at: datetime | None = None
    store: str = ""
    """Whose log it stands in."""
    message_id: str = ""
    folder: str = ""
    id: str = ""
    """The folder's id."""
    database: str = ""
    cn_min: str = ""
    cn_max: str = ""
    cnset: str = ""
    cnset_fai: str = ""
    """Numbers of forms and views; pfspark has none."""
    rfis: int | None = None
    """How many folders it says it has; a log may list fewer."""
    folders: tuple[Sent, ...] = ()
    message_ids: int | None = None
    """How many items it says it has."""
    items: tuple[Posted, ...] = ()
    deleted: tuple[Deleted, ...] = ()
    server: str = ""
    """Who sent it; of a backfill request that goes out, who is asked."""

    @property
    def incoming(self) -> bool:
        """Whether the log is that of the one who received it."""
        return self.event > LAST_OUTGOING

    @property
    def columns(self) -> dict[str, Any]:
        """The event as a row of plain values: times as text, folders, items and deletions as rows of their own."""
        return {name: _plain(value) for name, value in asdict(self).items()}


def event_of(type: str, *, incoming: bool, hierarchy: bool) -> int:
    """The id of the event for a message of that type; KeyError for a type that is none of R65-R71.

    >>> event_of("0x8", incoming=False, hierarchy=False), event_of("0x8", incoming=False, hierarchy=True)
    (3016, 3014)
    """
    usual = (INCOMING if incoming else OUTGOING)[MessageType(type)]
    return OF_HIERARCHY.get(usual, usual) if hierarchy else usual


def one_line(text: str) -> str:
    """A text without what would break the line it stands in."""
    return re.sub(r"[\x00-\x1f\x7f]+", " ", text)


_SWAP = str.maketrans("/\\", "\\/")


def shown(path: str) -> str:
    """A folder as a log spells it."""
    return TREE if path == HIERARCHY else (TREE if path.startswith("/") else "") + path.translate(_SWAP)


def path_of(shown: str) -> str:
    """The path that a log spells so."""
    if shown == TREE:
        return HIERARCHY
    return shown.removeprefix(TREE if shown.startswith(f"{TREE}\\") else "").translate(_SWAP)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value.replace(tzinfo=None).isoformat() + "Z" if isinstance(value, datetime) else value
