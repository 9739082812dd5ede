"""The answers as lines: what a store holds, sees and misses, as JSON objects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pfspark import cntext
from pfspark.ask.stores import Stores, set_of
from pfspark.keyed import ByName
from pfspark.printed import Line
from pfspark.words import Entry, Flag, Listing, MessageType, Standing

TYPE_ORDER = {kind: place for place, kind in enumerate(("0x2", "0x4", "0x8", "0x80000002", "0x80000004", "0x10", "0x20"))}


def moment(at: datetime) -> str:
    """A time as lines write it: `2026-01-05T00:15:00Z`."""
    return at.replace(tzinfo=None).isoformat() + "Z"


def when(at: datetime | None) -> str | None:
    """A time as lines write it, where there is one."""
    return None if at is None else moment(at)


def words(name: str) -> str:
    """The name of a reason as words: `no replica here`."""
    return name.replace("_", " ")


def number_of(row: Mapping[str, Any]) -> str:
    """The number of a change as lines write it: `PFS1:7`."""
    return f"{row['origin']}:{row['cn']}"


@dataclass(frozen=True)
class Asked:
    """Which lines are asked for: those about one store, and about one folder; None: about any."""

    store: str | None = None
    folder: str | None = None
    """Its path or its id."""
    called: Collection[tuple[str, str, str]] = ()
    """What else those that tell of it may call that folder, its id or its path: org, store, name."""

    def about(self, line: Line) -> bool:
        """Whether a line is about them; of a message, a store is who sends or gets it."""
        if self.store not in (None, line.get("store"), line.get("from"), *line.get("to", ())):
            return False
        if self.folder is None or self.folder in (line.get("folder"), line.get("path"), line.get("id")):
            return True
        names = [line["id"]] if line.get("id") else [line.get("folder"), line.get("path")]
        viewer = str(line.get("org")), str(line.get("store") or line.get("from"))
        return any((*viewer, name) in self.called for name in names if name)

    def replicas(self, whole: Stores, org: str) -> tuple[Stores, list[tuple[str, str, Line]]]:
        """The replicas that are not erased of which lines are asked for, with how their folder is called; and those stores with
        what is known of these folders alone. No other folder is looked at."""
        if self == ALL:
            return whole, [(store, folder, whole.called(store, folder)) for store, folder in whole.present()]
        near = whole if self.folder is None else whole.near({self.folder, *(name for _, _, name in self.called)})
        named = ((store, folder, near.called(store, folder)) for store, folder in near.present())
        some = [each for each in named if self.about({"org": org, "store": each[0], **each[2]})]
        return whole.about(folder for _, folder, _ in some), some


ALL = Asked()


def state(whole: Stores, org: str, at: datetime, asked: Asked = ALL) -> Iterator[Line]:
    """One line for each replica that is not erased: its sets, what it believes of others, what it misses."""
    stores, replicas = asked.replicas(whole, org)
    for store, folder, called in replicas:
        replica = stores.replicas[store, folder]
        missing, lost = stores.missing(store, folder)
        yield {
            "org": org,
            "at": moment(at),
            "kind": "state",
            "store": store,
            **called,
            "applied": cntext.show(stores.held(store, folder)),
            "empty": cntext.show(stores.held(store, folder, Entry.EMPTY)),
            "sent": cntext.show(stores.held(store, folder, Entry.SENT)),
            "reported": {peer: cntext.show(stores.believed(store, folder, peer)) for peer in stores.peers(store, folder)},
            "missing": cntext.show(missing),
            "lost": cntext.show(lost),
            "life": replica["life"],
            "standing": replica["standing"],
        }


def folders(stores: Stores, org: str, at: datetime) -> Iterator[Line]:
    """One line for each folder that a store sees alive, with the replicas of its list and how they stand."""
    words = {Listing.LISTED: Standing.ACTIVE, Listing.REMOVED: Standing.DELETE_PENDING, Listing.GONE: Standing.ERASED}
    for store, folder in stores.alive():
        listed = stores.listings(store, folder)
        yield {
            "org": org,
            "at": moment(at),
            "kind": "folder",
            "store": store,
            "path": stores.path(store, folder),
            "id": folder,
            "replicas": {peer: str(words[listing]) for peer, listing in listed.items() if listing != Listing.GONE},
        }


def referrals(rows: Iterable[Mapping[str, Any]], stores: Stores, org: str, at: datetime) -> Iterator[Line]:
    """One line for each folder that a store sees alive: who may serve a reader there, in order, at which cost.

    Readers are spread over the first `cheapest` of them; where there is none, no replica is available. Rows as
    `rules.referral.refer` gives them.
    """
    named: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: int(row["nth"])):
        named[row["store"], row["folder"]].append(row)
    for store, folder in stores.alive():
        found = named[store, folder]
        yield {
            "org": org,
            "at": moment(at),
            "kind": "referral",
            "store": store,
            "folder": stores.path(store, folder),
            "id": folder,
            "stores": [row["peer"] for row in found],
            "costs": [row["cost"] for row in found],
            "cheapest": sum(row["cheapest"] for row in found),
        }


def messages(sent: pa.Table, views: Mapping[str, Stores]) -> Iterator[Line]:
    """One line for each message that a store sent, in order of sender, type, folder and what it carries."""
    lines = []
    for row in sent.to_pylist():
        if Flag.COPY in row["flags"]:
            continue
        named = views[row["org"]].called(row["store"], row["folder"])
        line = {
            "org": row["org"],
            "at": moment(row["at"]),
            "kind": "message",
            "type": row["type"],
            "from": row["store"],
            "to": [to["store"] for to in row["recipients"]],
            **named,
            "carries": cntext.show(set_of(row["carries"])),
            "asks": cntext.show(set_of(row["asks"])),
            "bytes": row["bytes"],
        }
        if row["priority"] not in (None, "normal"):
            line["priority"] = row["priority"]
        first = row["carries"][0]["cn_min"] if row["carries"] else 0
        lines.append(((row["org"], row["store"], TYPE_ORDER[MessageType(row["type"])], named["folder"], first, line["to"]), line))
    return (line for _, line in sorted(lines, key=lambda pair: pair[0]))


def last_writer_only(tables: ByName, defaults: Mapping[str, int]) -> set[tuple[str, str, str]]:
    """Folders of conflict method 1, by viewer: the last writer wins and no conflict is shown (F30, Q23).

    `defaults`: the method of each organization where a folder says none.
    """
    told = tables["tree"].filter(pc.field("property") == "conflict").to_pylist()
    said = {(row["org"], row["store"], row["folder"]): row["value"] for row in told}
    if "1" not in {*said.values(), *map(str, defaults.values())}:
        return set()
    seen = zip(*(tables["folders"][name].to_pylist() for name in ("org", "store", "folder")), strict=True)
    return {here for here in seen if said.get(here, str(defaults.get(here[0], 0))) == "1"}


def items(rows: Iterable[Mapping[str, Any]], views: Mapping[str, Stores], at: Mapping[str, datetime]) -> Iterator[Line]:
    """One line for each item as a store sees it; rows as `rules.items.readable` gives them."""
    lines = []
    for row in rows:
        named = views[row["org"]].called(row["store"], row["folder"])
        label, _, number = row["object"].rpartition(":")
        place = row["org"], row["store"], named["folder"], cntext.label_key(label), int(number)
        lines.append((place, item(row, row["store"], named, at[row["org"]])))
    return (line for _, line in sorted(lines, key=lambda pair: pair[0]))


def item(row: Mapping[str, Any], store: str, called: Line, at: datetime) -> Line:
    """The line of an item as that store sees it, in a folder that is so `called`."""
    return {
        "org": row["org"],
        "at": moment(at),
        "kind": "item",
        "store": store,
        **called,
        "item": row["object"],
        "name": row["name"],
        "version": row["version"],
        "deleted": row["deleted"],
        "conflict": row["conflict"],
        "losers": list(row["losers"]),
    }
