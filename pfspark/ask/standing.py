"""How replicas stand: what is missing since when, what is really lacking, and what is believed of others, since when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Any

import pyarrow.compute as pc

from pfspark import cntext
from pfspark.ask import lines
from pfspark.ask.stores import Stores, equal
from pfspark.keyed import ByName
from pfspark.printed import Line
from pfspark.units import counted, show_span
from pfspark.words import Standing


def organization(
    stores: Stores,
    org: str,
    at: datetime,
    *,
    played: bool,
    suspended: bool,
    waiting: int,
    due: datetime | None,
    now: datetime | None,
) -> Line:
    """One line: whether its active replicas are equal, and what is still to come.

    `now`: the clock on the wall, where it counts by how much the organization's is ahead of it.
    """
    holes = [(missing, lost) for _, _, missing, lost in stores.holes()]
    return {
        "org": org, "at": lines.moment(at), "kind": "status", "replicas": stores.count(), "played": played,
        "suspended": suspended, "equal": played and equal(stores), "waiting": waiting,
        "missing": sum(cntext.size(missing) for missing, _ in holes),
        "lost": sum(cntext.size(lost) for _, lost in holes),
        "due": due and lines.moment(due), "ahead": show_span(at - now) if played and now and at > now else None,
    }  # fmt: skip


def in_words(line: Mapping[str, Any]) -> str:
    """A line of `organization` in words."""
    stands = ("equal" if line["equal"] else "not equal") if line["played"] else "not played yet"
    amounts = [f"{line[name]:,} {name}" for name in ("missing", "lost") if line[name]]
    held_back = ["content suspended"] if line["suspended"] else []
    edits = [f"{counted(line['waiting'], 'edit')} waiting"] if line["waiting"] else []
    return ", ".join([counted(line["replicas"], "replica"), stands, *held_back, *amounts, *edits]) + f", at {line['at']}"


def overdue(tables: ByName, stores: Stores, org: str, since: datetime) -> Iterator[str]:
    """What a replica misses since before that time, and edits that wait since then, a sentence each."""
    for store, folder, missing, _ in stores.holes():
        oldest = stores.since(store, folder, missing)
        if oldest and oldest < since:
            lacks = f"{cntext.size(missing):,} of {stores.path(store, folder)}"
            yield f"{org}: {store} lacks {lacks}, the oldest since {lines.moment(oldest)}"
    waiting = tables["edits"].filter((pc.field("org") == org) & (pc.field("at") < since))["at"]
    if len(waiting):
        oldest = pc.min(waiting).as_py()
        yield f"{org}: edits wait, {len(waiting):,} of them, the oldest since {oldest:%Y-%m-%dT%H:%M:%SZ}"


def replicas(tables: ByName, whole: Stores, org: str, at: datetime, asked: lines.Asked = lines.ALL) -> Iterator[Line]:
    """One line for each replica that is not erased.

    `missing` counts its backfill array, `since` says when the oldest number of it was heard of; `lacks` counts what
    others hold, in truth, and it does not: what it has not heard of yet included. For each peer, `believed` counts what
    this replica has and believes that the peer lacks, `truth` what the peer does lack of it, and `heard` is when any
    message came from there last (null: never): how old the belief is.
    """
    heard = {
        (row["store"], row["peer"]): row["heard"] for row in tables["contacts"].to_pylist() if row["org"] == org and row["heard"]
    }
    stores, some = asked.replicas(whole, org)
    content, applied = cache(stores.content), cache(stores.held)  # each is asked for by all others
    for store, folder, called in some:
        mine = content(store, folder)
        others = [
            (other, content(other, folder)) for other in stores.stores
            if other != store and stores.replicas.get((other, folder), {}).get("standing", Standing.ERASED) != Standing.ERASED
        ]  # fmt: skip
        lacking: cntext.CnSet = {}
        for _, held in others:
            lacking = cntext.union(lacking, cntext.subtract(held, applied(store, folder)))
        missing, lost = stores.missing(store, folder)
        since = stores.since(store, folder, cntext.union(missing, lost))
        peers = {
            other: {
                "believed": cntext.size(cntext.subtract(mine, stores.believed(store, folder, other))),
                "truth": cntext.size(cntext.subtract(mine, applied(other, folder))),
                "heard": lines.moment(heard[store, other]) if (store, other) in heard else None,
            }
            for other, _ in others
        }
        yield {
            "org": org, "at": lines.moment(at), "kind": "replica", "store": store, **called,
            "standing": stores.replicas[store, folder]["standing"], "holds": cntext.size(mine),
            "missing": cntext.size(missing), "lost": cntext.size(lost), "since": lines.when(since),
            "lacks": cntext.size(lacking), "peers": peers,
        }  # fmt: skip
