"""The replication events of an application log: as Exchange writes them, and read back from its text.

Numbers and ids stand as REPLID-COUNTER in hex (F96); which origin a REPLID stands for is told by a table, which on a
real server is private to it (F4). A folder `/Sales/A\\B` is written `IPM_SUBTREE\\Sales\\A/B`: Exchange parts names by the
sign that our names may contain, and the other way round. Times are taken to be UTC.

No Spark here: a server's own log is read without Java.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from pfspark import cntext
from pfspark.errors import CnSetError, EventLogError
from pfspark.words import HIERARCHY, MessageType

REMOVED = 3005
"""A replica was removed (Q188651)."""
NEW_LIFE = 3006
"""A replica begins a new life, after a restore or because it has forgotten what it gave (F8). Exchange logs no such event."""
FATES = {REMOVED: "was removed", NEW_LIFE: "begins a new life"}
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


# --- writing ----------------------------------------------------------------------------------------------------------


def write(event: Event, replids: Mapping[str, int], org: str = "") -> str:
    """The event as the event viewer copies it: what is known of the header, then the description.

    `replids` gives each origin its REPLID; a KeyError names one that it lacks.
    """
    category = "Incoming Messages" if event.incoming else "DS Updates" if event.event in FATES else "Outgoing Messages"
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
    if event.event in FATES:
        yield f"A replica of public folder ({hex.id(event.id)}) {FATES[event.event]}."
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
            yield f"        {_shown(sent.path)}"
    if event.deleted or event.incoming:
        yield f"IDCN deleted: {_deletions(event, hex)}"


def _hierarchy_response(event: Event, hex: _Writer) -> Iterator[str]:
    yield f"CNSET: {hex.cnset(event.cnset)}, CNSET(FAI): {hex.cnset(event.cnset_fai)}"
    yield f"RFIs: {event.rfis or 0}"
    for nth, sent in enumerate(event.folders, 1):
        yield f"{nth}: {hex.id(sent.id)},{hex.id(sent.parent)},{sent.offset}"
        if sent.path:
            yield _shown(sent.path)
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
    return f"{name}: ({hex.id(event.id)}) {_shown(event.folder)}" if event.id else f"{name}: {_shown(event.folder)}"


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


_SWAP = str.maketrans("/\\", "\\/")


def _shown(path: str) -> str:
    return TREE if path == HIERARCHY else (TREE if path.startswith("/") else "") + path.translate(_SWAP)


def _path(shown: str) -> str:
    if shown == TREE:
        return HIERARCHY
    return shown.removeprefix(TREE if shown.startswith(f"{TREE}\\") else "").translate(_SWAP)


def one_line(text: str) -> str:
    """A text without what would break the line it stands in."""
    return re.sub(r"[\x00-\x1f\x7f]+", " ", text)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value.replace(tzinfo=None).isoformat() + "Z" if isinstance(value, datetime) else value


# --- reading ----------------------------------------------------------------------------------------------------------

_REF = r"([0-9A-Fa-f]+-[0-9A-Fa-f]+)"
_MOMENT = r"\d{1,2}/\d{1,2}/\d{4}\s+\d{1,2}:\d{2}:\d{2}(?:\.\d{1,6})?\s*(?:[AP]M)?"
_OPENING = re.compile(
    rf"(?P<issued>{re.escape(ISSUED)})|(?P<processed>An incoming replication message was (?:processed|issued)\.)"
    rf"|Outgoing message type (?P<type>0x[0-9A-Fa-f]+)"
    rf"|A replica of public folder \({_REF}\) (?P<fate>{'|'.join(FATES.values())})\."
)
_HEAD = re.compile(
    r"(Log Name|Event Type|Event Source|Event Category|Event ID|Src|Source|Task Category|Category|Level|Keywords|Date|Time"
    r"|User|Computer|Description|Type(?=:\s*(?:Info|Warn|Err|Succ|Fail)))\s*:\s*(.*)"
)
_CNSET = re.compile(r"CNSET\s*(\(FAI\))?\s*:\s*(.*?)\s*(?:,\s*(?=CNSET)|$)")
_NAMED = re.compile(rf"\d+\)\s*FID:\s*{_REF},\s*PFID:\s*{_REF},\s*Offset:\s*(\d+)")
_SHORT = re.compile(rf"\d+:\s*{_REF},\s*{_REF},\s*(\d+)\s*")
_ITEM = re.compile(rf"\d+:\s*{_REF},\s*{_REF}\s*")
_OF_ITEM = re.compile(rf"(.*) : ({_MOMENT})\s*")
_FOLDER = re.compile(rf"Folder(?:s|\(s\))?:\s*\({_REF}\)\s*(.*)")
_PATH = re.compile(r"(?:NON_)?IPM_SUBTREE")
_SERVER = re.compile(r".*/CN=([^/]+)/CN\s*=\s*MICROSOFT\s*PUBLIC\s*MDB")


def read(text: str, origins: Mapping[str | int, str]) -> Iterator[Event]:
    """The replication events in a log, in its order; events of other kinds, and lines that tell no field, are passed over.

    `origins` tells which origin a REPLID stands for (keys are numbers, or hex as logged). An event without a header has
    the id that its type has today. A value that cannot be read, and a REPLID that `origins` lacks, is an EventLogError
    with the number of the line.

    >>> [event] = read("Outgoing message type 0x20\\nFolders: (2-1A) IPM_SUBTREE\\\\Sales", {2: "PFS1"})
    >>> event.event, event.type, event.id, event.folder
    (3017, '0x20', 'PFS1:26', '/Sales')
    """
    table: dict[str | int, str] = {key if isinstance(key, int) else int(key, 16): label for key, label in origins.items()}
    for label in table.values():
        cntext.split_label(label)
    for block in _blocks(text):
        draft = _Draft(table)
        for number, line, after in block:
            try:
                draft.take(line, after)
            except (CnSetError, ValueError) as error:
                raise EventLogError(f"line {number} of the log: {str(error).splitlines()[0]}") from error
        if draft.opened:
            try:
                yield draft.event()
            except ValueError as error:
                raise EventLogError(f"line {block[0][0]} of the log: {error}") from error


def _blocks(text: str) -> Iterator[list[tuple[int, str, list[str]]]]:
    """The lines of each event with their numbers, and the lines after each."""
    every = (line.removesuffix("\r").lstrip() for line in text.removeprefix("\ufeff").split("\n"))
    lines = [(number, line) for number, line in enumerate(every, 1) if line]
    block: list[tuple[int, str, list[str]]] = []
    described = False
    for place, (number, line) in enumerate(lines, 1):
        heads = bool(_HEAD.match(line))
        if described and (heads or _OPENING.match(line)):
            yield block
            block, described = [], False
        described |= not heads or bool(_OPENING.search(line))
        block.append((number, line, [below for _, below in lines[place : place + 4]]))
    yield block


@dataclass
class _Draft:
    """An event while its lines are read."""

    origins: Mapping[str | int, str]
    opened: bool = False
    incoming: bool = False
    head: dict[str, str] = field(default_factory=dict)
    said: Event = Event(0)

    def take(self, line: str, after: list[str]) -> None:
        """One line; `after`: those that follow it."""
        if not self.opened and (found := _HEAD.match(line)):
            self.head[found[1]] = found[2].rstrip()
            line = found[2] if found[1] == "Description" else ""
        if not self.opened:
            self._open(line)
            return
        name = re.split('[:"]', line, maxsplit=1)[0].rstrip().upper()
        reads = getattr(self, _FIELDS.get(name, "_listed"))
        reads(line, line.partition(":")[2].strip(), after)

    def event(self) -> Event:
        """What was read."""
        said = self.said
        if said.type in (MessageType.HIERARCHY, MessageType.HIERARCHY_RESPONSE):
            said = replace(said, id=HIERARCHY, folder=HIERARCHY)
        moment = f"{self.head.get('Date', '')} {self.head.get('Time', '')}".strip()
        if said.event not in FATES and said.type not in _PARTS:
            raise ValueError(f"found a message of type {said.type or 'nothing'}, expected one of {', '.join(_PARTS)}")
        number = self.head.get("Event ID") or said.event
        number = number or event_of(said.type, incoming=self.incoming, hierarchy=said.id == HIERARCHY)
        at = _read_moment(moment) if "/" in moment and ":" in moment else None
        return replace(said, event=int(number), at=at, store=self.head.get("Computer", ""))

    def _open(self, line: str) -> None:
        found = _OPENING.match(line)
        if found is None:
            return
        self.opened, self.incoming = True, bool(found["processed"])
        if found["type"]:
            self._tell(type=found["type"].lower())
        elif found[4]:
            self._tell(event=next(id for id, fate in FATES.items() if fate == found["fate"]), id=self._id(found[4]))

    def _tell(self, **said: Any) -> None:
        self.said = replace(self.said, **said)

    def _type(self, line: str, value: str, after: list[str]) -> None:
        self._tell(type=value.lower())

    def _message_id(self, line: str, value: str, after: list[str]) -> None:
        self._tell(message_id=value)

    def _message_ids(self, line: str, value: str, after: list[str]) -> None:
        self._tell(message_ids=int(value) if value else None)

    def _rfis(self, line: str, value: str, after: list[str]) -> None:
        self._tell(rfis=int(value) if value else None)

    def _database(self, line: str, value: str, after: list[str]) -> None:
        name, _, rest = line.partition('"')[2].rpartition('"')
        self._tell(database=name)
        self._numbers(rest, "", after)

    def _folder(self, line: str, value: str, after: list[str]) -> None:
        if found := _FOLDER.match(line):
            self._tell(id=self._id(found[1]), folder=_path(found[2]))
        else:
            self._tell(folder=_path(value))

    def _numbers(self, line: str, value: str, after: list[str]) -> None:
        for end in ("min", "max"):
            if found := re.search(rf"CN {end}:\s*([^\s,]*)", line):
                self._tell(**{f"cn_{end}": self._id(found[1], number=True)})

    def _cnset(self, line: str, value: str, after: list[str]) -> None:
        for forms, ranges in _CNSET.findall(" ".join(line.split())):
            self._tell(**{"cnset_fai" if forms else "cnset": cntext.show(cntext.parse_log(ranges, self.origins))})

    def _deleted(self, line: str, value: str, after: list[str]) -> None:
        gone = []
        for pair in [] if value == NOTHING else value.split():
            id, comma, cn = pair.partition(",")
            if not comma:
                raise ValueError(f"found {pair!r}, expected an id and a number such as 5-2B19,5-38B6, or {NOTHING}")
            gone.append(Deleted(self._id(id), self._id(cn, number=True)))
        self._tell(deleted=tuple(gone))

    def _server(self, line: str, value: str, after: list[str]) -> None:
        """A distinguished name may go on in the lines below, up to the end that such names have."""
        longer = [value + "".join(after[:more]) for more in range(len(after) + 1)] if value[:1] in ("", "/") else []
        names = (_SERVER.fullmatch(each.rstrip()) for each in longer)
        self._tell(server=next((found[1] for found in names if found), value))

    def _listed(self, line: str, value: str, after: list[str]) -> None:
        """A line of the list of folders or of items, with the path or the name below it; any other line tells nothing."""
        below = after[0] if after else ""
        if found := _NAMED.match(line) or _SHORT.fullmatch(line):
            path = _path(below) if _PATH.match(below) else ""
            sent = Sent(self._id(found[1]), self._id(found[2]), int(found[3]), path)
            self._tell(folders=(*self.said.folders, sent))
        elif found := _ITEM.fullmatch(line):
            item = Posted(self._id(found[1]), self._id(found[2], number=True))
            if named := _OF_ITEM.fullmatch(below.partition(" : ")[2]):
                item = replace(item, name=named[1], at=_read_moment(named[2]))
            self._tell(items=(*self.said.items, item))

    def _id(self, text: str, number: bool = False) -> str:
        """An id, or the number of a change, as `PFS1:211`; the id 1-1 is that of the hierarchy (R5)."""
        if not re.fullmatch(_REF, text):
            raise ValueError(f"found {text!r}, expected a REPLID and a number in hex such as 5-2B19")
        if text == HIERARCHY and not number:
            return HIERARCHY
        replid, counter = (int(digits, 16) for digits in text.split("-"))
        if replid not in self.origins:
            known = ", ".join(f"{each:X}" for each in sorted(map(int, self.origins))) or "none"
            raise ValueError(f"found REPLID {replid:X} in {text!r}, expected one of the table of origins, which has {known}")
        if not 1 <= counter <= cntext.MAX_CN:
            raise ValueError(f"found {text!r}, expected a number from 1 to 2^63-1")
        return f"{self.origins[replid]}:{counter}"


_FIELDS = {
    "TYPE": "_type",
    "MESSAGE ID": "_message_id",
    "MESSAGE IDS": "_message_ids",
    "RFIS": "_rfis",
    "DATABASE": "_database",
    "FOLDER": "_folder",
    "FOLDERS": "_folder",
    "FOLDER(S)": "_folder",
    "CN MIN": "_numbers",
    "CN MAX": "_numbers",
    "CNSET": "_cnset",
    "CNSET(FAI)": "_cnset",
    "CNSET (FAI)": "_cnset",
    "IDCN DELETED": "_deleted",
    "SERVER": "_server",
}
"""How a line is read, by the name it begins with; the articles spell some of them in two ways."""


def _read_moment(text: str) -> datetime:
    found = re.fullmatch(rf"\s*({_MOMENT})\s*", text)
    if found is None:
        raise ValueError(f"found {text!r}, expected a time such as 5/19/2010 4:16:12 PM")
    day, clock, *half = found[1].split()
    if not half and clock[-1] == "M":
        clock, half = clock[:-2], [clock[-2:]]
    month, date, year = map(int, day.split("/"))
    hour, minute, second = clock.split(":")
    whole, _, fraction = second.partition(".")
    hours = int(hour) % 12 + 12 * (half == ["PM"]) if half else int(hour)
    return datetime(year, month, date, hours, int(minute), int(whole), int(fraction.ljust(6, "0") or 0), UTC)
