"""The answers as lines: what a store holds, sees and misses, as JSON objects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pfspark import cntext
from pfspark.ask.stores import Stores, set_of
from pfspark.keyed import ByName
from pfspark.printed import Line
from pfspark.words import Entry, Flag, Listing, MessageType, Standing

Keep = Callable[[Line], bool]
"""Whether a line that begins like that, with org, store and how its folder is called, is asked for: if not, it is not made."""

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


def everything(line: Line) -> bool:
    """That each line is asked for."""
    return True


def kept(stores: Stores, org: str, here: Iterable[tuple[str, str]], keep: Keep) -> tuple[Stores, list[tuple[str, str, Line]]]:
    """Those stores and folders of which lines are asked for, each with how the folder is called; and what is known of these
    folders alone."""
    named = ((store, folder, stores.called(store, folder)) for store, folder in here)
    asked = [each for each in named if keep({"org": org, "store": each[0], **each[2]})]
    return stores if keep is everything else stores.about(folder for _, folder, _ in asked), asked


def state(whole: Stores, org: str, at: datetime, keep: Keep = everything) -> Iterator[Line]:
    """One line for each replica that is not erased: its sets, what it believes of others, what it misses."""
    stores, asked = kept(whole, org, whole.present(), keep)
    for store, folder, called in asked:
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


def about(
    found: Iterable[Line], store: str | None, folder: str | None, called: Container[tuple[str, str, str]] = ()
) -> Iterator[Line]:
    """The lines about one store (of a message, who sends or gets it), or about one folder, by its path or id.

    `called`: what else those that tell of it may call that folder, its id or its path: org, store, name.
    """
    return (line for line in found if is_about(line, store, folder, called))


def is_about(line: Line, store: str | None, folder: str | None, called: Container[tuple[str, str, str]] = ()) -> bool:
    """Whether a line is one of those: see `about`."""
    if store not in (None, line.get("store"), line.get("from"), *line.get("to", ())):
        return False
    if folder is None or folder in (line.get("folder"), line.get("path"), line.get("id")):
        return True
    names = [line["id"]] if line.get("id") else [line.get("folder"), line.get("path")]
    viewer = str(line.get("org")), str(line.get("store") or line.get("from"))
    return any((*viewer, name) in called for name in names if name)
