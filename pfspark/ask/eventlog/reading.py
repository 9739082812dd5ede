"""Events read back from the text of a log, however it was copied."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from pfspark import cntext
from pfspark.ask.eventlog.event import ISSUED, NOTHING, OF_REPLICAS, Deleted, Event, Posted, Sent, event_of, path_of
from pfspark.errors import CnSetError, EventLogError
from pfspark.words import HIERARCHY, MessageType

_REF = r"([0-9A-Fa-f]+-[0-9A-Fa-f]+)"
_MOMENT = r"\d{1,2}/\d{1,2}/\d{4}\s+\d{1,2}:\d{2}:\d{2}(?:\.\d{1,6})?(?:\s*[AP]M)?"
_OPENING = re.compile(
    rf"(?P<issued>{re.escape(ISSUED)})|(?P<processed>An incoming replication message was (?:processed|issued)\.)"
    rf"|Outgoing message type (?P<type>0x[0-9A-Fa-f]+)"
    rf"|A replica of public folder \({_REF}\) (?P<became>{'|'.join(OF_REPLICAS.values())})\."
)
_HEAD = re.compile(
    r"(Log Name|Event Type|Event Source|Event Category|Event ID|Src|Source|Task Category|Category|Level|Keywords|Date|Time"
    r"|User|Computer|Description|Type(?=:\s*(?:Info|Warn|Err|Succ|Fail)))\s*:\s*(.*)"
)
_CNSET = re.compile(r"CNSET\s*(\(FAI\))?\s*:\s*(.*?)\s*(?:,\s*(?=CNSET)|$)")
_NAMED = re.compile(rf"\d+\)\s*FID:\s*{_REF},\s*PFID:\s*{_REF},\s*Offset:\s*(\d+)")
_SHORT = re.compile(rf"\d+:\s*{_REF},\s*{_REF},\s*(\d+)\s*")
_ITEM = re.compile(rf"\d+:\s*{_REF},\s*{_REF}\s*")
_OF_ITEM = re.compile(rf"(.*) : ({_MOMENT})")
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
    folders: list[Sent] = field(default_factory=list)
    items: list[Posted] = field(default_factory=list)
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
        said = replace(self.said, folders=tuple(self.folders), items=tuple(self.items))
        if said.type in (MessageType.HIERARCHY, MessageType.HIERARCHY_RESPONSE):
            said = replace(said, id=HIERARCHY, folder=HIERARCHY)
        moment = f"{self.head.get('Date', '')} {self.head.get('Time', '')}".strip()
        if said.event not in OF_REPLICAS and said.type not in {*MessageType}:
            raise ValueError(f"found a message of type {said.type or 'nothing'}, expected one of {', '.join(MessageType)}")
        number = _count(self.head.get("Event ID", "")) or said.event
        number = number or event_of(said.type, incoming=self.incoming, hierarchy=said.id == HIERARCHY)
        at = _read_moment(moment) if "/" in moment and ":" in moment else None
        return replace(said, event=number, at=at, store=self.head.get("Computer", ""))

    def _open(self, line: str) -> None:
        found = _OPENING.match(line)
        if found is None:
            return
        self.opened, self.incoming = True, bool(found["processed"])
        if found["type"]:
            self._tell(type=found["type"].lower())
        elif found[4]:
            self._tell(event=next(id for id, became in OF_REPLICAS.items() if became == found["became"]), id=self._id(found[4]))

    def _tell(self, **said: Any) -> None:
        self.said = replace(self.said, **said)

    def _type(self, line: str, value: str, after: list[str]) -> None:
        self._tell(type=value.lower())

    def _message_id(self, line: str, value: str, after: list[str]) -> None:
        self._tell(message_id=value)

    def _message_ids(self, line: str, value: str, after: list[str]) -> None:
        self._tell(message_ids=_count(value))

    def _rfis(self, line: str, value: str, after: list[str]) -> None:
        self._tell(rfis=_count(value))

    def _database(self, line: str, value: str, after: list[str]) -> None:
        name, _, rest = line.partition('"')[2].rpartition('"')
        self._tell(database=name)
        self._numbers(rest, "", after)

    def _folder(self, line: str, value: str, after: list[str]) -> None:
        if found := _FOLDER.match(line):
            self._tell(id=self._id(found[1]), folder=path_of(found[2]))
        else:
            self._tell(folder=path_of(value))

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
            path = path_of(below) if _PATH.match(below) else ""
            self.folders.append(Sent(self._id(found[1]), self._id(found[2]), int(found[3]), path))
        elif found := _ITEM.fullmatch(line):
            item = Posted(self._id(found[1]), self._id(found[2], number=True))
            if named := _OF_ITEM.fullmatch(below.partition(" : ")[2].rstrip()):
                item = replace(item, name=named[1], at=_read_moment(named[2]))
            self.items.append(item)

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
    found = re.fullmatch(f"({_MOMENT})", text.strip())
    if found is None:
        raise ValueError(f"found {text!r}, expected a time such as 5/19/2010 4:16:12 PM")
    day, clock, *half = found[1].split()
    if not half and clock[-1] == "M":
        clock, half = clock[:-2], [clock[-2:]]
    month, date, year = map(int, day.split("/"))
    hour, minute, second = clock.split(":")
    whole, _, fraction = second.partition(".")
    try:
        if half and int(hour) > {"AM": 12, "PM": 23}[half[0]]:  # some write 14:16 PM
            raise ValueError(f"hour {hour} {half[0]}")
        hours = int(hour) % 12 + 12 * (half == ["PM"]) if half else int(hour)
        return datetime(year, month, date, hours, int(minute), int(whole), int(fraction.ljust(6, "0") or 0), UTC)
    except ValueError as error:
        raise ValueError(f"found {text!r}, expected month/day/year and a time of day that there are: {error}") from None


def _count(text: str) -> int | None:
    if text and not (text.isascii() and text.isdigit() and len(text) < 19):
        raise ValueError(f"found {text!r}, expected a number or nothing")
    return int(text) if text else None
