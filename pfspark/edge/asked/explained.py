"""Why what is asked about is where it is, or is not, and how it came there: of a lake after one of its rounds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from pfspark.ask import candidates, hops, reasons, trace
from pfspark.ask.about import About, edit_rows, explain, log_of, refusals_of, requests_of
from pfspark.ask.edits import refused as refused_edits
from pfspark.edge.asked.answers import Answers
from pfspark.edge.spark.crossing import BY_FILES
from pfspark.edge.world.facts import contacts_before_asking, last_restores
from pfspark.edge.world.views import own_rows
from pfspark.keyed import ByName, distinct, semi_join
from pfspark.keys import FOLDER, STORE
from pfspark.printed import Line
from pfspark.references import resolved
from pfspark.rows import arrow, local, rows_of, struct
from pfspark.rules import intake
from pfspark.schedules import Grid
from pfspark.units import TICK
from pfspark.words import Hop, Kind, Listing

FIRST_ROUNDS, LAST_ROUNDS = 2, 4
"""Of how many rounds in which it was asked for it is told whom else could have been asked: the first, and the last. What the
stores went by is read for each of them, which takes seconds."""


def replicas_that_should(seen: Answers) -> list[About]:
    """Every replica that stands, and every store that the list of some store that is not retired calls a replica."""
    present = {(org, *here) for org, stores in seen.views.items() for here in stores.present()}
    stores = seen.world["stores"]
    viewers = stores.filter(pc.and_(pc.invert(stores["retired"]), pc.is_in(stores["org"], pa.array(seen.views, pa.string()))))
    lists = semi_join(seen.world["lists"], viewers, STORE)
    listed = distinct(lists.filter(pc.equal(lists["listing"], Listing.LISTED)), ["org", "peer", "folder"])
    named = {(row["org"], row["peer"], row["folder"]) for row in listed.to_pylist()}
    return [About(org, store, folder) for org, store, folder in sorted(present | named)]


def why(seen: Answers, about: Iterable[About]) -> Iterator[Line]:
    """Why what is asked about is where it is, or is not."""
    asked = list(about)
    read = seen.snapshot.read
    now = {org: seen.at[org] if seen.played[org] else seen.at[org] - TICK for org in seen.views}  # its first round is to come
    grid = {org: seen.grid(org) for org in seen.views}
    facts = {
        "log": lambda: log_of(own_rows(read, last_restores(seen.snapshot))["state"]),
        "requests": lambda: requests_of(read("backfill")),
        "refusals": lambda: refusals_of(read("receipts"), read("messages")),
    }
    world = {**seen.world, "conditions": rows_of("conditions", ())}  # what was cut, was for a round
    rows = explain(seen.snapshot.tables.spark, world, seen.clock(now), grid, facts, asked, BY_FILES)
    edits = list(_edits(seen, asked, now, grid))
    telling = reasons.Telling(seen.views, seen.at, _rounds_at(seen, reasons.moments(rows, edits)))
    return chain(telling.lines(rows), telling.of_edits(edits))


def follow(seen: Answers, asked: Iterable[Line], when_asking: Callable[[int], ByName | None]) -> Iterator[Line]:
    """What happened to numbers (rows of `trace.RANGE`) on their way through one organization; `when_asking` says what its stores
    went by as they asked in a round, None where that is not told any more."""
    ranges = local(seen.snapshot.tables.spark, arrow(struct(trace.RANGE_DDL), asked), struct(trace.RANGE_DDL))
    folders = ranges.select(*FOLDER).distinct()
    facts = {name: seen.snapshot.read(name) for name in trace.FACTS}
    about = {name: rows.join(folders, list(FOLDER), "left_semi") for name, rows in facts.items() if name != "rounds"}
    rows = trace.hops(ranges, facts | about).toArrow().to_pylist()
    round_at = _rounds_at(seen, ((row["org"], row["at"]) for row in rows))
    asks = ((round_at.get((row["org"], row["at"])), row) for row in rows if row["what"] == Hop.ASKED)
    requests = [(number, row) for number, row in asks if number]
    worlds = {number: world for number in some_of({number for number, _ in requests}) if (world := when_asking(number))}
    considered = candidates.found(seen.snapshot.tables.spark, requests, worlds)
    return hops.told(rows, seen.views, round_at, considered, _cycles(seen))


def some_of(rounds: Iterable[int]) -> set[int]:
    """The first and the last of those rounds."""
    in_order = sorted(rounds)
    return {*in_order[:FIRST_ROUNDS], *in_order[-LAST_ROUNDS:]}


def _cycles(seen: Answers) -> dict[tuple[str, str], timedelta]:
    """How often each store sends: as it says itself, else as the policy of its organization."""
    return {
        (row["org"], row["store"]): timedelta(seconds=row["interval_s"]) if row["interval_s"] else policy.interval
        for row in seen.world["stores"].to_pylist() if (policy := seen.policies.get(row["org"]))
    }  # fmt: skip


def when_asking(seen: Answers) -> ByName:
    """What the stores of the one organization that is asked about went by as they asked in this round: `candidates.VIEWS`."""
    [org] = seen.views
    own = {"clock": seen.clock(seen.at), "contacts": contacts_before_asking(seen.snapshot)}
    return {name: (own[name] if name in own else seen.world[name]).filter(pc.field("org") == org) for name in candidates.VIEWS}


def _edits(seen: Answers, asked: Sequence[About], now: Mapping[str, datetime], grid: Mapping[str, Grid]) -> Iterator[Line]:
    """The edits without a number that are asked about: those that wait, and of a name those that were refused."""
    folders = pa.array({each.folder for each in asked}, pa.string())
    waiting = defaultdict(list)
    for row in seen.world["edits"].filter(pc.field("folder").isin(folders)).to_pylist():
        waiting[row["org"], row["folder"]].append(row)
    refused = _refused(seen, {(each.org, each.folder, each.item) for each in asked if each.item is not None and not each.numbers})
    for each in asked:
        found = waiting[each.org, each.folder]
        if each.item is not None:
            found = [row for row in found if each.item in (row["name"], f"@{row['edit_id']}")]
        told = refused.get((each.org, each.folder, each.item), {})
        edits = {row["edit_id"]: row for row in (*found, *(row["edit"] for row in told.values()))}
        yield from edit_rows(edits.values(), told, now[each.org], grid[each.org], each.store, each.folder)


def _refused(
    seen: Answers, named: Iterable[tuple[str, str, str | None]]
) -> dict[tuple[str, str, str | None], dict[tuple[str, str], Line]]:
    """By organization, folder and name the edits so called that were refused: each with its reason, when, and the edit."""
    wanted = {*named}
    if not wanted:
        return {}
    names = sorted({(org, called) for org, _, called in wanted}, key=str)
    called = seen.snapshot.tables.spark.createDataFrame(names, "org string, called string")
    so_called = (F.col("name") == F.col("called")) | (F.concat(F.lit("@"), "edit_id") == F.col("called"))
    edits = intake.legible(seen.snapshot.read("edits")).join(called, "org").where(so_called)
    told = refused_edits(seen.snapshot.read("receipts")).select("org", "edit_id", "reason", F.col("at").alias("refused_at"))
    found: dict[tuple[str, str, str | None], dict[tuple[str, str], Line]] = defaultdict(dict)
    for row in resolved(edits.join(told, ["org", "edit_id"]).toArrow(), seen.world["changes"]).to_pylist():
        if (where := (row["org"], row["folder"], row["called"])) in wanted:
            found[where][row["org"], row["edit_id"]] = {"reason": row["reason"], "at": row["refused_at"], "edit": row}
    return found


def _rounds_at(seen: Answers, moments: Iterable[tuple[str, datetime]]) -> dict[tuple[str, datetime], int]:
    """Of those moments the round that an organization had then."""
    spark = seen.snapshot.tables.spark
    wanted = spark.createDataFrame(sorted(set(moments)), "org string, now timestamp")
    turns = seen.snapshot.read("rounds").where(F.col("kind") == Kind.PLAYED).select("round", F.inline("turns"))
    found = turns.join(wanted, ["org", "now"]).groupBy("org", "now").agg(F.min("round").alias("round"))
    return {(row["org"], row["now"]): row["round"] for row in found.toArrow().to_pylist()}
