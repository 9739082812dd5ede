"""The answers as lines: what a store holds, sees and misses, as JSON objects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import pyarrow as pa

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


def state(stores: Stores, org: str, at: datetime) -> Iterator[Line]:
    """One line for each replica that is not erased: its sets, what it believes of others, what it misses."""
    for store, folder in stores.present():
        replica = stores.replicas[store, folder]
        missing, lost = stores.missing(store, folder)
        yield {
            "org": org,
            "at": moment(at),
            "kind": "state",
            "store": store,
            **stores.called(store, folder),
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
    told = [row for row in tables["tree"].to_pylist() if row["property"] == "conflict"]
    said = {(row["org"], row["store"], row["folder"]): row["value"] for row in told}
    seen = {(row["org"], row["store"], row["folder"]) for row in tables["folders"].to_pylist()}
    return {here for here in seen if said.get(here, str(defaults.get(here[0], 0))) == "1"}


def items(rows: Iterable[Mapping[str, Any]], views: Mapping[str, Stores], at: Mapping[str, datetime]) -> Iterator[Line]:
    """One line for each item as a store sees it; rows as `rules.items.readable` gives them."""
    lines = []
    for row in rows:
        named = views[row["org"]].called(row["store"], row["folder"])
        line = {
            "org": row["org"],
            "at": moment(at[row["org"]]),
            "kind": "item",
            "store": row["store"],
            **named,
            "item": row["object"],
            "name": row["name"],
            "version": row["version"],
            "deleted": row["deleted"],
            "conflict": row["conflict"],
            "losers": list(row["losers"]),
        }
        label, _, number = row["object"].rpartition(":")
        lines.append(((row["org"], row["store"], named["folder"], cntext.label_key(label), int(number)), line))
    return (line for _, line in sorted(lines, key=lambda pair: pair[0]))


def about(
    found: Iterable[Line], store: str | None, folder: str | None, called: Container[tuple[str, str, str]] = ()
) -> Iterator[Line]:
    """The lines about one store (of a message, who sends or gets it), or about one folder, by its path or id.

    `called`: what else those that tell of it may call that folder, its id or its path: org, store, name.
    """
    for line in found:
        stores = (line.get("store"), line.get("from"), *line.get("to", ()))
        if store in (None, *stores) and (folder is None or _is_about(line, folder, called)):
            yield line


def _is_about(line: Line, folder: str, called: Container[tuple[str, str, str]]) -> bool:
    if folder in (line.get("folder"), line.get("path"), line.get("id")):
        return True
    names = [line["id"]] if line.get("id") else [line.get("folder"), line.get("path")]
    viewer = str(line.get("org")), str(line.get("store") or line.get("from"))
    return any((*viewer, name) in called for name in names if name)
