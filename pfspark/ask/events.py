"""What happened in a lake, as events of Exchange's log: from messages, receipts, changes and replicas.

Who sends a message logs it, and so does everybody who accepts it. What was lost on the way is in the sender's log alone; what
was refused was not processed and has no event either. A replica that is erased logs its removal, one that begins a new life
although it was not erased logs that.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pfspark import cntext
from pfspark.ask.eventlog import NEW_LIFE, REMOVED, Deleted, Event, Posted, Sent, event_of, one_line, write
from pfspark.ask.lines import number_of
from pfspark.ask.stores import Stores, set_of
from pfspark.words import HIERARCHY, PARENT, Action, Flag, MessageType, Outcome, Standing

Row = Mapping[str, Any]

FIRST_REPLID = 2
"""REPLID 1 names what no replica has made: `1-1` is the hierarchy (R5), and no folder of ours may be written like it."""
COUNTED = (MessageType.CONTENT, MessageType.CONTENT_RESPONSE)
SETS = (MessageType.HIERARCHY_RESPONSE, MessageType.CONTENT_RESPONSE, MessageType.BACKFILL_REQUEST)
"""Types whose events show a set; those of 0x2 and 0x4 show the least and the most of the numbers."""


@dataclass(frozen=True)
class Log:
    """The events of one organization, in order, and its table of REPLIDs by origin."""

    org: str
    replids: Mapping[str, int]
    events: Iterable[Event]

    def lines(self) -> Iterator[tuple[dict[str, Any], str]]:
        """Each event as a line, and as the text of Exchange."""
        for event in self.events:
            told = event.columns
            yield {"org": self.org, "at": told.pop("at"), "kind": "event", **told}, write(event, self.replids, self.org)


def replids(replicas: Iterable[Row], changes: Iterable[Row] = ()) -> dict[str, int]:
    """A REPLID for each origin of an organization, from 2 on, in the order in which the origins first appeared. `changes`: rows
    that tell numbers, such as pieces of messages, each with its `origin` and `round`.

    An origin appears with the life of a replica, or where a number of it is first told; several of one round go by label.
    So the table as of an earlier round is the beginning of the later one. One table serves all stores, which on real
    servers need not agree (F4).
    """
    first: dict[str, int] = {}

    def seen(label: str, round: int) -> None:
        first[label] = min(round, first.get(label, round))

    for row in replicas:
        seen(cntext.label(row["store"], row["life"]), row["round"])
    for row in changes:
        seen(row["origin"], row["round"])
    ordered = sorted(first, key=lambda label: (first[label], cntext.label_key(label)))
    return {label: number for number, label in enumerate(ordered, FIRST_REPLID)}


def events(
    messages: Iterable[Row],
    receipts: Iterable[Row],
    changes: Iterable[Row],
    replicas: Iterable[Row],
    stores: Stores,
    rounds: range | None = None,
) -> Iterator[Event]:
    """The events of one organization in order of time; of one moment by store, and what came in before what went out.

    `rounds`: only what happened in these; what came in then may have been sent earlier. The rows are those of the tables,
    `stores` tells the paths that each store sees. Of several numbers of one folder or item only the last version in the
    message is listed, the way one folder stands for two numbers in V38; versions of which none was made upon the other are
    all listed. Of a removal the text of the event does not tell the path that stands here.
    """
    sent = {row["message_id"]: row for row in messages}
    contents = _Contents(changes)
    found = [_outgoing(row, contents, stores) for row in sent.values() if Flag.COPY not in row["flags"] and _within(row, rounds)]
    for row in receipts:
        if row["message_id"] in sent and row["outcome"] != Outcome.LOST and row["reason"] is None:
            found.append(_incoming(row, sent[row["message_id"]], contents, stores))
    for row, number in _of_replicas(replicas):
        if not _within(row, rounds):
            continue
        path = stores.path(row["store"], row["folder"])
        found.append(Event(number, at=_utc(row["at"]), store=row["store"], id=row["folder"], folder=path))
    return iter(sorted(found, key=_place))


def _within(row: Row, rounds: range | None) -> bool:
    return rounds is None or row["round"] in rounds


def _of_replicas(steps: Iterable[Row]) -> Iterator[tuple[Row, int]]:
    """The steps of replicas that have an event: removed, or put into a new life while they were there."""
    before: dict[tuple[str, str], Row] = {}
    for row in sorted(steps, key=lambda row: (row["at"], row["life"])):
        last = before.get((row["store"], row["folder"]))
        before[row["store"], row["folder"]] = row
        if row["standing"] == Standing.ERASED:
            yield row, REMOVED
        elif last is not None and last["standing"] != Standing.ERASED and row["life"] > last["life"]:
            yield row, NEW_LIFE


def _place(event: Event) -> tuple[Any, ...]:
    return event.at, event.store, not event.incoming, event.event, event.message_id, event.id


def _outgoing(row: Row, contents: _Contents, stores: Stores) -> Event:
    told = _told(row, row["store"], stores)
    number = event_of(row["type"], incoming=False, hierarchy=row["folder"] == HIERARCHY)
    logs_database = row["type"] not in (MessageType.HIERARCHY_RESPONSE, MessageType.STATUS, MessageType.STATUS_REQUEST)
    return Event(
        number,
        at=_utc(row["at"]),
        store=row["store"],
        database=row["store"] if logs_database else "",
        server=row["recipients"][0]["store"] if row["type"] == MessageType.BACKFILL_REQUEST and row["recipients"] else "",
        **told,
        **contents.listed(row, row["store"], stores),
    )


def _incoming(receipt: Row, row: Row, contents: _Contents, stores: Stores) -> Event:
    """Of content that came in, logs list no items (V43)."""
    told = _told(row, receipt["store"], stores)
    number = event_of(row["type"], incoming=True, hierarchy=row["folder"] == HIERARCHY)
    listed = {} if row["type"] in COUNTED else contents.listed(row, receipt["store"], stores)
    return Event(number, at=_utc(receipt["at"]), store=receipt["store"], server=row["store"], **told, **listed)


def _told(row: Row, viewer: str, stores: Stores) -> dict[str, Any]:
    """What a message says of itself, in the words of who logs it."""
    numbers = set_of([*row["carries"], *row["asks"]])
    said: dict[str, Any] = {
        "type": row["type"],
        "message_id": row["message_id"],
        "folder": stores.path(viewer, row["folder"]),
        "id": row["folder"],
    }
    if row["type"] in SETS:
        said["cnset"] = cntext.show(numbers)
    elif numbers:
        labels = sorted(numbers, key=cntext.label_key)
        said["cn_min"] = f"{labels[0]}:{numbers[labels[0]][0][0]}"
        said["cn_max"] = f"{labels[-1]}:{numbers[labels[-1]][-1][1]}"
    return said


class _Contents:
    """The changes by number, to be found by the ranges that a message carries."""

    def __init__(self, changes: Iterable[Row]) -> None:
        self._of: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in changes:
            self._of[row["folder"], row["origin"]].append(row)
        for rows in self._of.values():
            rows.sort(key=lambda row: int(row["cn"]))

    def listed(self, message: Row, viewer: str, stores: Stores) -> dict[str, Any]:
        """The folders, items and deletions that an event lists, and how many they are."""
        if not message["carries"]:
            return {}
        carried = [row for piece in message["carries"] for row in self._in(message["folder"], piece)]
        if message["folder"] == HIERARCHY:
            last: dict[str, Row] = {}
            for row in sorted(carried, key=_stamp):
                last[row["object"]] = row
            rows = sorted(last.values(), key=_number)
            folders = tuple(_sent([row for row in rows if row["action"] != Action.DELETE_FOLDER], viewer, stores))
            return {"rfis": len(folders), "folders": folders, "deleted": _gone(rows)}
        upon: dict[tuple[str, str], int] = defaultdict(int)
        for row in carried:
            for before in row["predecessors"]:
                key = row["object"], before["origin"]
                upon[key] = max(upon[key], before["cn"])
        rows = sorted((row for row in carried if row["cn"] > upon[row["object"], row["origin"]]), key=_number)
        items = tuple(
            Posted(row["object"], number_of(row), one_line(row["name"] or ""), _utc(row["made_at"]))
            for row in rows
            if row["action"] != Action.DELETE
        )
        return {"message_ids": len(items), "items": items, "deleted": _gone(rows)}

    def _in(self, folder: str, piece: Row) -> list[Row]:
        rows = self._of[folder, piece["origin"]]
        low = bisect_left(rows, piece["cn_min"], key=lambda row: row["cn"])
        return rows[low : bisect_right(rows, piece["cn_max"], key=lambda row: row["cn"])]


def _sent(rows: Iterable[Row], viewer: str, stores: Stores) -> Iterator[Sent]:
    """Folders one after the other: the properties of each begin where those of the one before end."""
    offset = 0
    for row in rows:
        parent = next((each["value"] for each in row["properties"] if each["name"] == PARENT), None)
        yield Sent(row["object"], parent or HIERARCHY, offset, stores.path(viewer, row["object"]))
        offset += row["size"]


def _gone(rows: Iterable[Row]) -> tuple[Deleted, ...]:
    return tuple(Deleted(row["object"], number_of(row)) for row in rows if row["action"] in (Action.DELETE, Action.DELETE_FOLDER))


def _stamp(row: Row) -> tuple[Any, ...]:
    """A deletion is final; else the latest stamp stands (F31)."""
    return row["action"] == Action.DELETE_FOLDER, row["made_at"], _number(row)


def _number(row: Row) -> tuple[Any, ...]:
    return cntext.label_key(row["origin"]), row["cn"]


def _utc(at: datetime) -> datetime:
    return at if at.tzinfo else at.replace(tzinfo=UTC)
