"""Deletions of folders of which stores are to hear: whoever hears first that a folder is gone does nothing more in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from pfspark import branches
from pfspark.keyed import ByName, anti_join, distinct, filtered, semi_join, stores_of, with_columns
from pfspark.keys import FOLDER, NUMBER, STORE
from pfspark.printed import Line
from pfspark.references import resolved
from pfspark.rows import arrow, arrow_schema, struct
from pfspark.schedules import Grid
from pfspark.tables import FRAMES
from pfspark.twins import TWINS
from pfspark.units import TICK
from pfspark.views import OF_HIERARCHY
from pfspark.words import HIERARCHY, Action, Entry, Why

Coming = dict[tuple[str, str, str], tuple[datetime, str]]
"""When stores may first hear of the deletion of a folder, and the table that says so: by organization, store and folder."""
Turns = Mapping[str, tuple[Grid, datetime]]
"""When each organization plays its rounds, and the time of its last."""
Heard = tuple[str, pa.Table, str, Mapping[str, datetime]]
"""An organization, folders of it that are deleted (org, folder), the table that says so, and when stores may first hear of it."""
PENDING = struct("org string, store string, folder string, due timestamp, said_in string")
"""Deletions of which the store where they were done has told nobody: `due`, when it would at the earliest."""


def forestall(rows: Sequence[Line], tables: ByName, turns: Turns) -> list[Line]:
    """Those rows of `explained`: what comes next has no time where the store that would do it may hear of a deletion first;
    which does is `hearer`, and `heard_by` the table that says so."""
    acting = (_acting(row) for row in rows if row["next_at"])
    here = arrow(struct(FRAMES["keys"].ddl), ({"org": org, "store": store, "folder": folder} for org, store, folder in acting))
    coming = to_be_heard(here, tables, turns) if here.num_rows else {}
    return [row | outrun(row, coming) for row in rows]


def to_be_heard(here: pa.Table, tables: ByName, turns: Turns) -> Coming:
    """When those stores may hear of the deletion of those folders (rows of `keys`), or of one that any store sees above, for with
    its parent a folder dies (R140).

    A letter under way tells of it, unless it will not arrive. What a store has not told yet, or is to take in first, is known
    there at the next round at which it may go, and elsewhere after that; a store that is down tells nobody.

    `tables`: `mail`, `changes`, `folders`, `state`, `replicas`, `agenda`, `edits` and `conditions` of a world.
    """
    changes, mail = tables["changes"], tables["mail"]
    deleting = pc.and_(pc.equal(changes["folder"], HIERARCHY), pc.equal(changes["action"], str(Action.DELETE_FOLDER)))
    done = filtered(changes, deleting)
    under_way = pc.and_(pc.is_in(mail["type"], pa.array(OF_HIERARCHY)), pc.is_null(mail["lost"]))
    news = semi_join(filtered(mail, under_way), here.rename_columns(["org", "recipient", "folder"]), ["org", "recipient"])
    brought, pending = _brought(news, done), _pending(done, tables)
    deleted = pa.concat_tables([_deleted(brought), pending.select(list(FOLDER))])
    if not deleted.num_rows:
        return {}
    edges = branches.edges(tables["folders"], distinct(deleted, ["org"]))
    fatal = branches.above(edges, here.select(list(FOLDER)))
    brought = semi_join(brought, fatal.rename_columns(["org", "object"]), ["org", "object"])
    told = chain(_by_letters(news, brought), _by_stores(semi_join(pending, fatal, FOLDER), here, turns))
    coming: Coming = {}
    for org, folders, table, hearing in told:
        for folder in semi_join(branches.beneath(edges, folders), here, FOLDER)["folder"].to_pylist():
            for store, at in hearing.items():
                coming[org, store, folder] = min((at, table), coming.get((org, store, folder), (at, table)))
    return coming


def _by_letters(news: pa.Table, brought: pa.Table) -> Iterator[Heard]:
    """What each message tells of those changes, to whom, and when it is there."""
    if not brought.num_rows:
        return
    letters: dict[tuple[str, str], dict[str, datetime]] = defaultdict(dict)  # a message goes to many
    copies: dict[tuple[str, str], pa.Table] = {}
    for nth, letter in enumerate(news.select(["org", "message_id", "recipient", "due"]).to_pylist()):
        message = letter["org"], letter["message_id"]
        letters[message][letter["recipient"]] = letter["due"]
        copies[message] = news.slice(nth, 1)
    for message, hearing in letters.items():
        yield message[0], _deleted(_brought(copies[message], brought)), "messages", hearing


def _by_stores(pending: pa.Table, here: pa.Table, turns: Turns) -> Iterator[Heard]:
    """What stores have not told yet: there it is known at the round at which it would go, elsewhere after it."""
    told: dict[tuple[str, str, str, datetime], list[Line]] = defaultdict(list)
    for row in pending.to_pylist():
        grid, now = turns[row["org"]]
        told[row["org"], row["store"], row["said_in"], grid.next_round(row["due"] or now, now)].append(row)
    for (org, store, table, goes), rows in told.items():
        others = here.filter(pc.equal(here["org"], org))["store"].unique().to_pylist()
        yield org, arrow(struct("org string, folder string"), rows), table, {**dict.fromkeys(others, goes + TICK), store: goes}


def _pending(done: pa.Table, tables: ByName) -> pa.Table:
    """The deletions that a store which is not down has not told yet, or is to take in: rows of `PENDING`."""
    edits, conditions = tables["edits"], tables["conditions"]
    waiting = resolved(edits.filter(pc.equal(edits["action"], str(Action.DELETE_FOLDER))), tables["changes"])
    to_take_in = waiting.select([*STORE, "folder", "at"]).rename_columns({"at": "due"})
    found = pa.concat_tables([_as_pending(to_take_in, "edits"), _as_pending(_unsent(done, tables), "changes")])
    return anti_join(found, conditions.filter(conditions["down"]), STORE)


def _as_pending(rows: pa.Table, table: str) -> pa.Table:
    """Rows of that table, as rows of `PENDING`."""
    return with_columns(rows, said_in=table).select(PENDING.names).cast(arrow_schema(PENDING))


def _unsent(done: pa.Table, tables: ByName) -> pa.Table:
    """Those of the deletions done that have not been sent, each `due` when the agenda says: org, store, folder, due."""
    state, replicas, agenda = (
        filtered(rows, pc.equal(rows["folder"], HIERARCHY)) for rows in map(tables.__getitem__, ("state", "replicas", "agenda"))
    )
    own = TWINS["state.own"](state, replicas=replicas)
    given = filtered(own, pc.equal(own["store"], stores_of(own["origin"])))  # by the store itself
    held, sent = (
        TWINS["frames.in_ranges"](done, TWINS["state.ranges_of"](given, entry=entry)) for entry in (Entry.APPLIED, Entry.SENT)
    )
    unsent = anti_join(held, sent, NUMBER)
    rows = pa.table({"org": unsent["org"], "store": stores_of(unsent["origin"]), "folder": unsent["object"]})
    goes = TWINS["agenda.of_kind"](agenda, why=Why.SEND).select([*STORE, "due"])
    return rows.join(goes, list(STORE))


def _deleted(changes: pa.Table) -> pa.Table:
    """The folders that those changes are about: org, folder."""
    return changes.select(["org", "object"]).rename_columns(list(FOLDER))


def _brought(letters: pa.Table, changes: pa.Table) -> pa.Table:
    """Those of the changes that letters carry."""
    return TWINS["frames.in_ranges"](changes, TWINS["receipt.unpack"](letters)) if changes.num_rows else changes


def outrun(row: Line, coming: Coming) -> Line:
    """What a row of `explained` says otherwise where one is there by the time that it says: nothing, if none is."""
    there = coming.get(_acting(row))
    if there is None or row["next_at"] is None or there[0] > row["next_at"]:
        return {}
    return {"next_at": None, "hearer": _acting(row)[1], "heard_by": there[1]}


def _acting(row: Line) -> tuple[str, str, str]:
    """Where something comes next: at the store that lacks something, or at the origin that is to send it."""
    return row["org"], row["next_of"] if row["next_what"] == "send" else row["store"], row["folder"]
