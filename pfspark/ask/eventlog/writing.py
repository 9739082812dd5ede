"""Events as text, in the order and spelling of Exchange (V38-V44)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from pfspark import cntext
from pfspark.ask.eventlog.event import ISSUED, MDB, NOTHING, OF_REPLICAS, PROCESSED, Event, one_line, shown
from pfspark.words import HIERARCHY, MessageType


def write(event: Event, replids: Mapping[str, int], org: str = "") -> str:
    """The event as the event viewer copies it: what is known of the header, then the description.

    `replids` gives each origin its REPLID; a KeyError names one that it lacks.
    """
    category = "Incoming Messages" if event.incoming else "DS Updates" if event.event in OF_REPLICAS else "Outgoing Messages"
    head = [
        "Event Type: Information",
        "Event Source: MSExchangeIS Public Store",
        f"Event Category: Replication {category}",
        f"Event ID: {event.event}",
        *([f"Date: {_date(event.at)}", f"Time: {_time(event.at)}"] if event.at else []),
        *([f"Computer: {event.store}"] if event.store else []),
        "Description:",
    ]
    return "\n".join([*head, *_description(event, _Writer(replids, org))])


def describe(event: Event, replids: Mapping[str, int], org: str = "") -> str:
    """The description alone, in the order and spelling of Exchange (V38-V44).

    >>> print(describe(Event(3017, "0x10", message_id="1-61ADB", id="1-1", folder="1-1"), {}))
    Outgoing message type 0x10
    Message ID: 1-61ADB
    Folders: (1-1) IPM_SUBTREE
    """
    return "\n".join(_description(event, _Writer(replids, org)))


@dataclass(frozen=True)
class _Writer:
    """Ids and sets in hex."""

    replids: Mapping[str, int]
    org: str

    def id(self, ref: str) -> str:
        if ref == HIERARCHY:
            return HIERARCHY
        label, _, number = ref.rpartition(":")
        return f"{self.replids[label]:X}-{int(number):X}"

    def cnset(self, text: str) -> str:
        pairs = [
            f"{self.replids[label]:X}-{low:X},{self.replids[label]:X}-{high:X}"
            for label, ranges in cntext.parse(text).items()
            for low, high in ranges
        ]
        return " ".join(pairs) or NOTHING

    def server(self, store: str) -> str:
        return f"Server: /O={one_line(self.org)}/CN=CONFIGURATION/CN=SERVERS/CN={store}/CN={MDB}"


def _description(event: Event, hex: _Writer) -> Iterator[str]:
    if event.event in OF_REPLICAS:
        yield f"A replica of public folder ({hex.id(event.id)}) {OF_REPLICAS[event.event]}."
        return
    speaks = event.type in (MessageType.BACKFILL_REQUEST, MessageType.STATUS, MessageType.STATUS_REQUEST)
    if speaks and not event.incoming:
        yield f"Outgoing message type {event.type}"
    else:
        yield PROCESSED if event.incoming else ISSUED
        yield f"Type: {event.type}"
    if event.message_id:
        yield f"Message ID: {event.message_id}"
    yield from _PARTS[MessageType(event.type)](event, hex)
    if event.server and event.incoming:
        yield hex.server(event.server)


def _status(event: Event, hex: _Writer) -> Iterator[str]:
    yield _folder("Folder(s)" if event.incoming else "Folders", event, hex)


def _request(event: Event, hex: _Writer) -> Iterator[str]:
    yield _folder("Folder", event, hex)
    if event.database:
        yield f'Database "{event.database}".'
    yield f"CNSET: {hex.cnset(event.cnset)}"
    yield f"CNSET(FAI): {hex.cnset(event.cnset_fai)}"
    if event.server and not event.incoming:
        yield f"Server: {event.server}"


def _hierarchy(event: Event, hex: _Writer) -> Iterator[str]:
    if event.database:
        yield f'Database "{event.database}"'
    yield from _least_and_most(event, hex)
    yield f"RFIs: {event.rfis or 0}"
    for nth, sent in enumerate(event.folders, 1):
        yield f"{nth}) FID: {hex.id(sent.id)}, PFID: {hex.id(sent.parent)}, Offset: {sent.offset}"
        if sent.path:
            yield f"        {shown(sent.path)}"
    if event.deleted or event.incoming:
        yield f"IDCN deleted: {_deletions(event, hex)}"


def _hierarchy_response(event: Event, hex: _Writer) -> Iterator[str]:
    yield f"CNSET: {hex.cnset(event.cnset)}, CNSET(FAI): {hex.cnset(event.cnset_fai)}"
    yield f"RFIs: {event.rfis or 0}"
    for nth, sent in enumerate(event.folders, 1):
        yield f"{nth}: {hex.id(sent.id)},{hex.id(sent.parent)},{sent.offset}"
        if sent.path:
            yield shown(sent.path)
    yield f"IDCN Deleted: {_deletions(event, hex)}"


def _content(event: Event, hex: _Writer) -> Iterator[str]:
    yield _folder("Folder", event, hex)
    if event.database:
        yield f'Database "{event.database}"'
    if event.type == MessageType.CONTENT:
        yield from _least_and_most(event, hex)
    else:
        yield f"CNSET: {hex.cnset(event.cnset)}"
        yield f"CNSET (FAI): {hex.cnset(event.cnset_fai)}"
    if event.message_ids is not None:
        yield f"Message IDs: {event.message_ids}"
    for nth, item in enumerate(event.items, 1):
        yield f"{nth}: {hex.id(item.id)}, {hex.id(item.cn)}"
        if item.at:
            yield f"--- : {item.name} : {_date(item.at)} {_time(item.at)}"
    if event.deleted:
        yield f"IDCN deleted: {_deletions(event, hex)}"


_PARTS = {
    MessageType.HIERARCHY: _hierarchy,
    MessageType.HIERARCHY_RESPONSE: _hierarchy_response,
    MessageType.CONTENT: _content,
    MessageType.CONTENT_RESPONSE: _content,
    MessageType.BACKFILL_REQUEST: _request,
    MessageType.STATUS: _status,
    MessageType.STATUS_REQUEST: _status,
}
"""What follows the message's id, by its type."""


def _folder(name: str, event: Event, hex: _Writer) -> str:
    return f"{name}: ({hex.id(event.id)}) {shown(event.folder)}" if event.id else f"{name}: {shown(event.folder)}"


def _least_and_most(event: Event, hex: _Writer) -> Iterator[str]:
    ends = [f"CN {end}: {hex.id(cn)}" for end, cn in (("min", event.cn_min), ("max", event.cn_max)) if cn]
    yield from ends if event.incoming else (", ".join(ends),) if ends else ()


def _deletions(event: Event, hex: _Writer) -> str:
    return " ".join(f"{hex.id(each.id)},{hex.id(each.cn)}" for each in event.deleted) or NOTHING


def _date(at: datetime) -> str:
    return f"{at.month}/{at.day}/{at.year}"


def _time(at: datetime) -> str:
    """Twelve hours, as the event viewer of those days wrote it; a fraction of a second only where there is one."""
    fraction = f".{at.microsecond:06}" if at.microsecond else ""
    return f"{at.hour % 12 or 12}:{at.minute:02}:{at.second:02}{fraction} {'PM' if at.hour >= 12 else 'AM'}"
