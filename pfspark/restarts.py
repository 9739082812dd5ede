"""Stores that start again, are restored from a backup, or play on by other rules: what becomes of what they know, and what they
ask and look at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pfspark.between import Between
from pfspark.keyed import ByName, anti_join, labels, of_orgs, of_store, with_columns
from pfspark.keys import HERE, STORE
from pfspark.said import lists_anew
from pfspark.words import HIERARCHY, LIVE, Standing, Why

NIGHTLY = (Why.ERASE, Why.EXPIRE)
"""What the nightly maintenance does."""


def ask(world: Between, org: str, stores: Iterable[str], now: datetime, *, seeming_gaps: bool) -> None:
    """Stores that start again ask for status: of the hierarchy, and of all folders or those that seem to lack something.

    Source: R133, R134.
    """
    for store in stores:
        asking = of_store(world.tables["replicas"], org, store)
        if seeming_gaps:
            gaps = pa.concat_arrays(
                [of_store(world.tables["array"], org, store)["folder"].combine_chunks(), pa.array([HIERARCHY])]
            )
            asking = asking.filter(pc.is_in(asking["folder"], gaps))
        world.append("agenda", _asks(asking, now))


def look_anew(world: Between, turns: Mapping[str, datetime]) -> None:
    """In these organizations every replica is looked at, each at its time: what administrators say there is other than it was.

    Where nothing happens something may grow old from now on (F58), be asked for sooner, or told again, of which nothing is in
    the agenda.
    """
    there = pc.is_in(world.tables["replicas"]["org"], pa.array(turns, pa.string()))
    standing = pc.not_equal(world.tables["replicas"]["standing"], str(Standing.ERASED))
    looking = world.tables["replicas"].filter(pc.and_(there, standing))
    world.append("agenda", entries(looking, Why.NEWS, due=of_orgs(looking, turns)))


def entries(keys: pa.Table, why: Why, *, due: Any, since: Any = None) -> pa.Table:
    """Entries of the agenda for these folders of stores (org, store, folder): of nobody, and tried for the first time."""
    since = pa.nulls(keys.num_rows, pa.timestamp("us", "UTC")) if since is None else since
    return with_columns(keys.select(list(HERE)), why=str(why), peer="", attempt=0, since=since, due=due)


def restore(world: Between, org: str, store: str, then: ByName, now: datetime) -> None:
    """That store's own rows as they were `then`, each of its replicas in a new life that asks for status (R132, F8).

    A life is one more than the replica ever had: a number given since is never given again. What others said since is
    gone with the rows, and whom it asked since; when it heard whom is not. A replica that did not exist then is erased, and
    its lives are remembered; that of the hierarchy begins empty, as a store has one while it is there at all (R131).
    Maintenance of this night that the store has not done yet it still does.
    """
    replicas, state = _in_new_lives(org, store, then, world.tables, now)
    agenda = _to_be_done(of_store(then["agenda"], org, store), of_store(world.tables["agenda"], org, store), now)
    contacts = _heard_since(*(of_store(tables["contacts"], org, store).to_pylist() for tables in (world.tables, then)))
    rows = {"replicas": [replicas], "state": [state], "agenda": [agenda, _asks(replicas, now)]}
    rows["contacts"] = [pa.Table.from_pylist(contacts, schema=world.tables["contacts"].schema)]
    keys = pa.table({"org": [org], "store": [store]})
    for name in ("replicas", "state", "agenda", "array", "tree", "folders", "lists", "lives", "contacts"):
        world.replace(name, anti_join(world.tables[name], keys, STORE))
        for some in rows.get(name) or [of_store(then[name], org, store)]:
            world.append(name, some)
    world.merge_anew(org)
    world.replace("lists", lists_anew(world.tables["lists"], world.tables["stores"]))  # who is in the directory is so now


def _in_new_lives(org: str, store: str, then: ByName, now_there: ByName, now: datetime) -> tuple[pa.Table, pa.Table]:
    """A store's replicas as they were then, in new lives, those made since erased, but for the hierarchy; and its state, in which
    they speak as such."""
    before, mine = (of_store(tables["replicas"], org, store) for tables in (then, now_there))
    same = pc.index_in(before["folder"], mine["folder"].combine_chunks())
    lived = pc.max_element_wise(before["life"], pc.take(mine["life"], same))
    lives = pc.add(lived, pc.not_equal(before["standing"], str(Standing.ERASED)).cast(pa.int64()))
    made_since = mine.filter(pc.invert(pc.is_in(mine["folder"], before["folder"].combine_chunks())))
    is_tree = pc.equal(made_since["folder"], HIERARCHY)
    replicas = pa.concat_tables([
        with_columns(before, life=lives, at=now).select(mine.column_names),
        with_columns(
            made_since, life=pc.add(made_since["life"], is_tree.cast(pa.int64())), at=now,
            standing=pc.if_else(is_tree, str(Standing.ACTIVE), str(Standing.ERASED)),
        ).select(mine.column_names),
    ])  # fmt: skip
    state = of_store(then["state"], org, store)
    here = pc.index_in(state["folder"], before["folder"].combine_chunks())
    own = pc.fill_null(pc.equal(state["about"], pc.take(labels(store, before["life"]), here)), False)
    return replicas, with_columns(state, about=pc.if_else(own, pc.take(labels(store, lives), here), state["about"]))


def _to_be_done(then: pa.Table, now_there: pa.Table, now: datetime) -> pa.Table:
    """A store's agenda as it was then, but whom it asks for status; maintenance comes in the nights to come, and tonight if it
    is due."""
    agenda = then.filter(~pc.field("why").isin([str(Why.INQUIRE), str(Why.ASK)]))
    tonight = now_there.filter(pc.field("why").isin([*map(str, NIGHTLY)]))
    if pc.any(pc.less_equal(tonight["due"], pa.scalar(now, tonight["due"].type))).as_py():
        return agenda
    nightly = pc.is_in(agenda["why"], pa.array(map(str, NIGHTLY)))
    return with_columns(agenda, due=pc.if_else(nightly, _next_nights(agenda["due"], now), agenda["due"]))


def _asks(replicas: pa.Table, now: datetime) -> pa.Table:
    """Entries of the agenda by which replicas that hold content ask for status now."""
    live = replicas.filter(pc.is_in(replicas["standing"], pa.array(map(str, LIVE))))
    return entries(live, Why.ASK, due=now, since=now)


def _heard_since(now: Iterable[dict[str, Any]], then: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a store remembers of others after a restore: what it heard until now, and what it had asked by then; who was heard
    meanwhile is not silent."""
    before = {row["peer"]: row for row in then}
    unknown = dict.fromkeys(("heard", "asked", "silent"))
    found = []
    for row in now:
        known = before.get(row["peer"], unknown)
        silent = known["silent"] if known["heard"] == row["heard"] else None
        if row["heard"] is None and known["asked"] is None:  # as if it had never met it
            continue
        found.append({**row, "asked": known["asked"], "silent": silent})
    return found


def _next_nights(due: pa.ChunkedArray, now: datetime) -> pa.ChunkedArray:
    """Each nightly moment of an earlier time, or the first of the nights after it that is not before `now`."""
    day = timedelta(days=1) // timedelta(microseconds=1)
    micros = due.cast(pa.int64())
    late = pc.subtract(pa.scalar(now, due.type).cast(pa.int64()), micros)
    nights = pc.divide(pc.add(pc.max_element_wise(late, 0), day - 1), day)
    return pc.add(micros, pc.multiply(nights, day)).cast(due.type)
