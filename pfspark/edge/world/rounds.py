"""A round of a lake's world: who joins before it, what it makes, and what is said where it cannot be made."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError, Py4JNetworkError

from pfspark import restarts
from pfspark.between import Between
from pfspark.edge.delta.damage import REFUSALS
from pfspark.errors import LakeError, ViolationError
from pfspark.execute import Listener, to_nobody
from pfspark.keyed import ByName, anti_join, of_orgs, semi_join, together, with_columns
from pfspark.keys import PAIR, STORE
from pfspark.words import HIERARCHY, BackfillStep, Standing, Why


def new_rows(
    world: Between,
    clock: Mapping[str, Mapping[str, Any]],
    news: Mapping[str, Iterable[str]],
    told: Listener = to_nobody,
    cut_off: Iterable[str] = (),
) -> dict[str, pa.Table]:
    """Plays a round on that world; the new rows of every table. `clock`: the row of each organization that plays; `news`: those
    of them of which the directory says something new (`admit`); `told` is told of most of the rows before; `cut_off`: the stores
    whose mail is lost.

    Raises LakeError where it cannot be made, ViolationError where it breaks a promise; the world is then of no use.
    """
    turns: dict[str, datetime] = {org: columns["now"] for org, columns in clock.items()}
    newcomers = admit(world, turns, news)
    cut = [{"org": org, "store": name, "cut": True, "down": False} for org in turns for name in sorted(cut_off)]
    world.replace("conditions", cut)
    try:
        made = world.play(clock, told)
    except (*REFUSALS, OSError, BrokenExecutor) as error:  # an executor is lost, or what lay there, or Java; or there is no room
        raise _unmade(error) from error
    if made["violations"].num_rows:
        raise _violated(made["violations"])
    made["replicas"] = with_rows(made["replicas"], newcomers)
    made["backfill"] = with_rows(made["backfill"], named(made, turns))
    world.replace("conditions", ())  # who was cut off was so in this round
    _forget_repeats(world)
    return made


def admit(world: Between, turns: Mapping[str, datetime], news: Mapping[str, Iterable[str]]) -> pa.Table:
    """The replicas of the hierarchy that new stores get; one that joins others asks them for status (R86, R131), and so does one
    that comes back: `news` names the stores of each organization that were retired until now.

    All replicas of these organizations are looked at (`restarts.look_anew`).
    """
    hierarchies = world.tables["replicas"].filter(pc.equal(world.tables["replicas"]["folder"], HIERARCHY))
    stores = world.tables["stores"]
    playing = stores.filter(pc.and_(pc.is_in(stores["org"], pa.array(turns, pa.string())), pc.invert(stores["retired"])))
    there = with_columns(playing.select(list(STORE)), folder=HIERARCHY)
    new = anti_join(there, hierarchies, STORE)
    joining = new.filter(pc.is_in(new["org"], hierarchies["org"].combine_chunks()))
    told = [{"org": org, "store": store} for org, those in news.items() for store in those]
    returned = semi_join(
        semi_join(there, hierarchies, STORE), pa.Table.from_pylist(told, there.select(list(STORE)).schema), STORE
    )
    if news:  # else all replicas are gone through for nothing
        restarts.look_anew(world, {org: turns[org] for org in news})
    begun = with_columns(new, life=1, standing=str(Standing.ACTIVE), at=of_orgs(new, turns))
    world.append("replicas", begun)
    asking = together(joining, returned)
    world.append("agenda", restarts.entries(asking, Why.ASK, due=of_orgs(asking, turns)))
    return begun


def named(made: ByName, turns: Mapping[str, datetime]) -> pa.Table:
    """Rows of `backfill` for those who were named to answer a status request, and so count as asked last (R126)."""
    contacts, asked = made["contacts"], made["backfill"].select(["org", "store", "of"])
    now = contacts.filter(pc.equal(contacts["asked"], of_orgs(contacts, turns)))
    others = anti_join(now.select([*PAIR, "asked"]), asked.rename_columns(PAIR), PAIR)
    return with_columns(others, step=str(BackfillStep.NAMED)).rename_columns({"peer": "of", "asked": "at"})


def with_rows(table: pa.Table, rows: pa.Table) -> pa.Table:
    """With those rows, which need not have all columns."""
    some = rows.select([name for name in table.column_names if name in rows.column_names])
    return pa.concat_tables([table, some], promote_options="default") if rows.num_rows else table


def _forget_repeats(world: Between) -> None:
    """Edits that were taken in before and are not due yet need not wait to be refused."""
    if world.tables["taken"].num_rows:
        world.replace("edits", anti_join(world.tables["edits"], world.tables["taken"], ("org", "edit_id")))
        world.replace("taken", ())


def _unmade(error: BaseException) -> LakeError:
    """Of the pages that Java prints, the line that says what went wrong."""
    text = _text(error)
    said = re.search(r"\[[A-Z][A-Z0-9_.]+\].*", text) or re.search(r"(?m)^(?!An error occurred)[:\s]*(\S.*)", text)
    told = said[said.lastindex or 0][:300].rstrip(". ") if said else type(error).__name__
    return LakeError(f"The round could not be made: {told}. It does not count, and the lake is as it was before; play it again.")


def _text(error: BaseException) -> str:
    """What it says. Where Java has ended nobody says why: most often it had too little memory."""
    with suppress(Py4JError, OSError):  # what went wrong in Java is asked of it only now
        if not isinstance(error, (Py4JNetworkError, ConnectionError, BrokenExecutor)):
            return str(error)
    return f"Java has ended ({type(error).__name__}), perhaps for want of memory: PFSPARK_MEMORY=4g gives it more"


def _violated(violations: pa.Table) -> ViolationError:
    [first] = violations.slice(0, 1).to_pylist()
    return ViolationError(
        f"The round breaks {first['check']} ({violations.num_rows} rows), such as {first['origin']}:{first['cn_min']}-"
        f"{first['cn_max']} in {first['folder']} at {first['store']} of {first['org']!r}. It does not count, and the lake is "
        "as it was before; `pfspark rules` and `audit` say more."
    )
