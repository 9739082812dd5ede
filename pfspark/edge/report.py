"""A lake on one page that works offline, for people who rather look than read: what is where, what is missing, what went on."""

from __future__ import annotations

import html
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import functions as F

from pfspark import cntext
from pfspark.ask import lines, traffic
from pfspark.ask.reasons import counted
from pfspark.edge.asked import explained
from pfspark.edge.asked.answers import Answers
from pfspark.edge.delta.ledger import LEDGER
from pfspark.edge.delta.snapshot import Snapshot
from pfspark.edge.keeping import certificates
from pfspark.edge.plain import terminal
from pfspark.errors import UsageError
from pfspark.printed import Line
from pfspark.units import show_span
from pfspark.words import HIERARCHY, MessageType, Standing

Figures = dict[str, Any]
ByFolder = dict[str, dict[str, Line]]
"""The lines of replicas by the id of their folder, and by store."""
DRAWN_FOLDERS = 30
"""Of so many folders the sets are drawn: of those that lack most."""
DRAWN_LETTERS = 3_000
"""So many letters are drawn: the last ones."""
TOLD_CAUSES = 20
TYPES = list(MessageType)


@dataclass(frozen=True)
class Page:
    """A page, as HTML; a notebook shows it."""

    html: str

    def _repr_html_(self) -> str:
        frame = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{frame}" sandbox="allow-scripts" style="width: 100%; height: 48rem; border: 0"></iframe>'


def page(answers: Answers, org: str) -> Page:
    """The page of an organization."""
    return drawn(figures(answers, org))


def drawn(found: Mapping[str, Any]) -> Page:
    """The page on which those figures stand: nothing on it is fetched from elsewhere, and no text of a lake is code there.

    Raises UsageError where jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError:
        raise UsageError("jinja2 writes the page, and is not installed here: pip install 'pfspark[report]'") from None
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    return Page(templates.get_template("report.html").render(_plain(found)))


def _plain(value: Any) -> Any:
    """Texts without what steers a terminal or turns the order of characters, however deep they stand in lists and dicts."""
    if isinstance(value, str):
        return terminal(value)
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def figures(answers: Answers, org: str) -> Figures:
    """What stands on the page, by name: plain values that JSON can say."""
    at, row, stores = answers.at[org], answers.snapshot.row, answers.views[org]
    by_folder: ByFolder = defaultdict(dict)
    for (store, folder), line in zip(stores.present(), lines.state(stores, org, at), strict=True):
        by_folder[folder][store] = line
    gaps = [line for line in answers.gaps() if line["org"] == org]
    by_id = _folders(by_folder, gaps, stores.stores, at)
    folders = list(by_id.values())
    cells = [cell for folder in folders for cell in folder["cells"] if cell]
    why = explained.why(answers, (each for each in explained.replicas_that_should(answers) if each.org == org))
    since = (stores.since(store, folder, claimed) for store, folder, claimed, _ in stores.holes())
    ages = [at - each for each in since if each]
    return {
        "org": org, "at": lines.moment(at), "span": [int(each.timestamp()) for each in (answers.organizations[org]["start"], at)],
        "round": row.round, "digest": row.digest, "stores": stores.stores,
        "folders": folders, "replicas": len(cells), "equal": answers.played[org] and all(each["equal"] for each in folders),
        "missing": sum(cell["missing"] for cell in cells), "lost": sum(cell["lost"] for cell in cells),
        "oldest": show_span(max(ages)) if ages else None,
        "waiting": answers.world["edits"]["org"].to_pylist().count(org),
        "audit": audited(answers.snapshot), "sets": list(_sets(by_folder, by_id, stores.stores)),
        "causes": list(counted(why))[:TOLD_CAUSES],
        **_history(answers, org),
    }  # fmt: skip


def audited(snapshot: Snapshot) -> Line | None:
    """What the last audit found, as far as this lake knows of one: when, after which round, and the promises that were broken or
    could not be looked at."""
    left = certificates.find(snapshot.tables.folder) if snapshot.tables.folder else None
    if left is None:
        return None
    rows = snapshot.tables.stored(LEDGER).where(F.col("round") == left["round"]).select("digest").toArrow().to_pylist()
    return {
        "at": lines.moment(datetime.fromisoformat(left["at"])), "round": left["round"], "checks": len(left["checks"]),
        "broken": {id: rows for id, rows in left["checks"].items() if rows},
        "unread": [id for id, rows in left["checks"].items() if rows is None],
        "is_of_this_ledger": [row["digest"] for row in rows] == [left.get("ledger")],
    }  # fmt: skip


def _folders(by_folder: ByFolder, gaps: Iterable[Line], stores: Sequence[str], at: datetime) -> dict[str, Line]:
    """Each folder by its id, with a cell for each store, null where it has no replica; what lacks most first, then by path.

    A folder has the path by which most stores see it, and its id where another has that path too.
    """
    since: dict[tuple[str, str | None, str], str] = {}
    for line in gaps:
        replica = line["folder"], line.get("id"), line["store"]
        since[replica] = min(line["heard"], since.get(replica, line["heard"]))
    paths = {folder: _path(by_store.values()) for folder, by_store in by_folder.items()}
    shared = Counter(paths.values())
    rows = {}
    for folder, by_store in by_folder.items():
        cells = []
        for store in stores:
            here = by_store.get(store)
            heard = since.get((here["folder"], here.get("id"), store)) if here else None
            cells.append(
                here
                and {
                    "standing": here["standing"], "missing": _count(here["missing"]), "lost": _count(here["lost"]),
                    "age_s": int((at - datetime.fromisoformat(heard)).total_seconds()) if heard else None,
                }
            )  # fmt: skip
        active = {line["applied"] for line in by_store.values() if line["standing"] == Standing.ACTIVE}
        path = paths[folder]
        id_ = folder if shared[path] > 1 else None
        rows[folder] = {"folder": path, "id": id_, "equal": len(active) <= 1, "cells": cells}
    return dict(sorted(rows.items(), key=lambda each: _worst_first(each[1])))


def _path(some: Iterable[Line]) -> str:
    """The path by which most of these replicas see their folder; of several the first."""
    counted_paths: Counter[str] = Counter(line["folder"] for line in some)
    return min(counted_paths, key=lambda path: (-counted_paths[path], path))


def _worst_first(row: Line) -> tuple[Any, ...]:
    lacks = sum(cell["missing"] + cell["lost"] for cell in row["cells"] if cell)
    return -lacks, row["equal"], row["folder"] == HIERARCHY, row["folder"], row["id"] or ""


def _sets(by_folder: ByFolder, folders: Mapping[str, Line], stores: Sequence[str]) -> Iterator[Line]:
    """The sets of those folders that are not equal, by origin: of each store the ranges held, and those that are missing."""
    unlike = [(folder, row) for folder, row in folders.items() if not row["equal"]]
    for folder, row in unlike[:DRAWN_FOLDERS]:
        some = by_folder[folder].items()
        sets = {store: (cntext.parse(line["applied"]), _either(line["missing"], line["lost"])) for store, line in some}
        origins = sorted({origin for pair in sets.values() for one in pair for origin in one}, key=cntext.label_key)
        for origin in origins:
            spans = [span for pair in sets.values() for one in pair for span in one.get(origin, ())]
            yield {
                "folder": row["folder"], "id": row["id"], "origin": origin, "first": min(low for low, _ in spans),
                "last": max(high for _, high in spans),
                "stores": [
                    {"store": store, "held": sets[store][0].get(origin, ()), "missing": sets[store][1].get(origin, ())}
                    for store in stores if store in sets
                ],
            }  # fmt: skip


def _history(answers: Answers, org: str) -> Figures:
    """What went on: open numbers over time, the last letters, and how many went over which link."""
    mine = F.col("org") == org
    messages, receipts = (answers.snapshot.read(name).where(mine) for name in ("messages", "receipts"))
    sent = traffic.letters(messages)
    given = {name: answers.frame(name).where(mine) for name in ("stores", "links")}
    steps, state = (answers.snapshot.read(name).where(mine) for name in ("backfill", "state"))
    replicas = answers.snapshot.read("replicas").where(mine)
    opened = traffic.open_numbers(steps, state, replicas).orderBy("at").toArrow().to_pylist()
    links = traffic.by_link(sent, **given).orderBy("from_site", "to_site").toArrow().to_pylist()
    last = traffic.with_losses(sent.orderBy(F.desc("at"), "message_id", "peer").limit(DRAWN_LETTERS), receipts)
    stores = answers.views[org]
    return {
        "open": [[int(row["at"].timestamp()), row["open"]] for row in opened],
        "links": [{name: row[name] for name in ("from_site", "to_site", "cost", "letters", "bytes")} for row in links],
        "letters": [
            [
                int(row["at"].timestamp()), row["store"], row["peer"], TYPES.index(row["type"]),
                stores.path(row["store"], row["folder"]), row["lost"],
            ]
            for row in last.orderBy("at", F.desc("message_id"), F.desc("peer")).toArrow().to_pylist()
        ],
        "sent": sum(row["letters"] for row in links), "types": [str(kind) for kind in TYPES],
    }  # fmt: skip


def _either(one: str, other: str) -> cntext.CnSet:
    return cntext.union(cntext.parse(one), cntext.parse(other))


def _count(text: str) -> int:
    return cntext.size(cntext.parse(text))
