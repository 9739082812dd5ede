"""A lake after one of its rounds, to be asked: each answer as lines (JSON), by organization."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark import cnset, said
from pfspark.ask import candidates, edits, events, gaps, hops, lines, reasons, standing, trace
from pfspark.ask.about import About, edit_rows, explain, log_of, refusals_of, requests_of
from pfspark.ask.eventlog import Event
from pfspark.edge import shown
from pfspark.edge.config import conf_folder
from pfspark.edge.delta import Snapshot
from pfspark.edge.ledger import Row
from pfspark.edge.pages import paged, pages, within
from pfspark.edge.world import as_frame, contacts_before_asking, own_rows, turn
from pfspark.keyed import distinct
from pfspark.keys import HERE
from pfspark.rows import arrow, local, rows_of, struct
from pfspark.rules import intake, items, referral, state
from pfspark.schedules import Grid
from pfspark.settings import OPTIONS, Policy, load_profile, text_of
from pfspark.words import HIERARCHY, PARENT, Hop, Listing

Line = dict[str, Any]
TICK = timedelta(microseconds=1)


@dataclass(frozen=True)
class Answers:
    """What can be asked of a lake: the tables after a round, the world they say, each organization's stores, time and policy."""

    snapshot: Snapshot
    world: Mapping[str, pa.Table]
    views: Mapping[str, lines.Stores]
    at: Mapping[str, datetime]
    """The time of each organization's last round; before the first, of its start."""
    played: Mapping[str, bool]
    """Whether each organization has had a round."""
    policies: Mapping[str, Policy]
    organizations: Mapping[str, Line]
    """Their rows of the directory."""

    def frame(self, name: str) -> DataFrame:
        """A table or view of the world as a frame."""
        return as_frame(self.snapshot.tables.spark, name, self.world[name])

    def state(self) -> Iterator[Line]:
        """Each replica: its sets, what it believes of others, what it misses."""
        for org, stores in self.views.items():
            yield from lines.state(stores, org, self.at[org])

    def replicas(self) -> Iterator[Line]:
        """Each replica: what it misses since when, belief and truth about others."""
        for org, stores in self.views.items():
            yield from standing.replicas(self.world, stores, org, self.at[org])

    def folders(self) -> Iterator[Line]:
        """Each folder as each store sees it."""
        for org, stores in self.views.items():
            yield from lines.folders(stores, org, self.at[org])

    def stores(self) -> Iterator[Line]:
        """The stores of the directory."""
        for row in sorted(self.world["stores"].to_pylist(), key=lambda row: (row["org"], row["store"])):
            if row["org"] in self.views:
                yield {**row, "kind": "store", "at": lines.moment(self.at[row["org"]])}

    def status(self, now: datetime | None) -> Iterator[Line]:
        """Each organization at a glance; `now`: the clock on the wall, where it counts by how much theirs is ahead."""
        waiting = Counter(self.world["edits"]["org"].to_pylist())
        for org, stores in self.views.items():
            yield standing.organization(
                stores, org, self.at[org], played=self.played[org], waiting=waiting[org],
                due=self.snapshot.row.next_due.get(org), now=now,
            )  # fmt: skip

    def overdue(self, age: timedelta, now: datetime | None) -> Iterator[str]:
        """What is missing, waits or is due for longer than that, a sentence each; `now` None: by each organization's clock."""
        for org, stores in self.views.items():
            by = now or self.at[org]
            yield from standing.overdue(self.world, stores, org, by - age)
            due = self.snapshot.row.next_due.get(org)
            if due and due < by - age:
                yield f"{org}: a round is due since {lines.moment(due)}"

    def edits(self) -> Iterator[Line]:
        """What was done at stores, and what became of it, in the order of its time."""
        for org, stores in self.views.items():
            told = [self._of(name, org) for name in ("edits", "receipts", "changes")]
            yield from edits.lines_of(*told, stores=stores)

    def _of(self, name: str, org: str) -> pa.Table:
        """The rows of an organization that are about edits."""
        found = self.snapshot.arrow(name, (pc.field("org") == org) & pc.field("edit_id").is_valid(), edits.COLUMNS[name])
        if found is None:
            rows = self.snapshot.read(name).where((F.col("org") == org) & F.col("edit_id").isNotNull())
            found = rows.select(*edits.COLUMNS[name]).toArrow()
        return said.legible(found) if name == "edits" else found

    def links(self) -> Iterator[Line]:
        """The links between sites."""
        rows = (row for row in self.world["links"].to_pylist() if row["org"] in self.views)
        for row in sorted(rows, key=lambda row: (row["org"], row["from_site"], row["to_site"])):
            yield {**row, "kind": "link", "at": lines.moment(self.at[row["org"]])}

    def options(self) -> Iterator[Line]:
        """The options in force, each beside its profile's."""
        for org, policy in self.policies.items():
            value, profile = policy.texts(), load_profile(policy.profile, conf_folder()).texts()
            for name, says in OPTIONS.items():
                yield {
                    "org": org, "at": lines.moment(self.at[org]), "kind": "option", "option": name,
                    "value": text_of(value[name]), "profile": text_of(profile[name]),
                    "differs": value[name] != profile[name], "says": says,
                }  # fmt: skip

    def gaps(self) -> Iterator[Line]:
        """Open ranges; of one that was asked for, of whom, and when it is asked for again unless it comes."""
        if not self.world["array"].num_rows:
            return
        found = gaps.gaps(self.frame("array"), steps=self.snapshot.read("backfill"), agenda=self.frame("agenda"))
        rows = found.where(F.col("org").isin(*self.views)).toArrow().to_pylist()
        for row in sorted(rows, key=lambda row: tuple(row[name] for name in (*HERE, "origin", "cn_min"))):
            yield {
                "org": row["org"], "at": lines.moment(self.at[row["org"]]), "kind": "gap", "store": row["store"],
                **self.views[row["org"]].called(row["store"], row["folder"]), "origin": row["origin"],
                "cn_min": row["cn_min"], "cn_max": row["cn_max"], "heard": lines.moment(row["heard"]),
                "attempt": row["attempt"], "asked": lines.when(row["asked"]), "of": row["of"], "due": lines.when(row["due"]),
            }  # fmt: skip

    def why(self, about: Iterable[About]) -> Iterator[Line]:
        """Why what is asked about is where it is, or is not."""
        asked = list(about)
        read = self.snapshot.read
        now = {org: self.at[org] if self.played[org] else self.at[org] - TICK for org in self.views}  # its first round is to come
        clock = ({"org": org, **turn(self.organizations[org], self.policies[org], at)} for org, at in now.items())
        grid = {org: Grid(self.organizations[org]["start"], self.policies[org].interval) for org in self.views}
        facts = {
            "log": lambda: log_of(own_rows(self.snapshot, read)["state"]),
            "requests": lambda: requests_of(read("backfill")),
            "refusals": lambda: refusals_of(read("receipts"), read("messages")),
        }
        world = {**self.world, "conditions": rows_of("conditions", ())}  # what was cut, was for a round
        rows = explain(self.snapshot.tables.spark, world, rows_of("clock", clock), grid, facts, asked)
        edits = list(self._edits(asked, now, grid))
        telling = reasons.Telling(self.views, self.at, self._rounds_at(reasons.moments(rows, edits)))
        return chain(telling.lines(rows), telling.of_edits(edits))

    def trace(self, asked: Iterable[Line], when_asking: Callable[[int], Mapping[str, pa.Table] | None]) -> Iterator[Line]:
        """What befell numbers (rows of `trace.RANGE`) on their way through one organization; `when_asking` says what its stores
        went by as they asked in a round, None where that is not told any more."""
        ranges = local(self.snapshot.tables.spark, arrow(struct(trace.RANGE_DDL), asked), struct(trace.RANGE_DDL))
        folders = ranges.select("org", "folder").distinct()
        facts = {name: self.snapshot.read(name) for name in trace.FACTS}
        about = {name: rows.join(folders, ["org", "folder"], "left_semi") for name, rows in facts.items() if name != "rounds"}
        rows = trace.hops(ranges, facts | about).toArrow().to_pylist()
        round_at = self._rounds_at((row["org"], row["at"]) for row in rows)
        asks = ((round_at.get((row["org"], row["at"])), row) for row in rows if row["what"] == Hop.ASKED)
        requests = [(number, row) for number, row in asks if number]
        worlds = {number: world for number in {number for number, _ in requests} if (world := when_asking(number))}
        considered = candidates.found(self.snapshot.tables.spark, requests, worlds)
        return hops.told(rows, self.views, round_at, considered, self._cycles())

    def _cycles(self) -> dict[tuple[str, str], timedelta]:
        """How often each store sends: as it says itself, else as the policy of its organization."""
        return {
            (row["org"], row["store"]): timedelta(seconds=row["interval_s"]) if row["interval_s"] else policy.interval
            for row in self.world["stores"].to_pylist() if (policy := self.policies.get(row["org"]))
        }  # fmt: skip

    def when_asking(self) -> Mapping[str, pa.Table]:
        """What the stores of the one organization that is asked about went by as they asked in this round: `candidates.VIEWS`."""
        [org] = self.views
        clock = [{"org": org, **turn(self.organizations[org], self.policies[org], self.at[org])}]
        tables = {**self.world, "clock": rows_of("clock", clock), "contacts": contacts_before_asking(self.snapshot)}
        return {name: tables[name].filter(pc.equal(tables[name]["org"], org)) for name in candidates.VIEWS}

    def _edits(self, asked: Iterable[About], now: Mapping[str, datetime], grid: Mapping[str, Grid]) -> Iterator[Line]:
        """The edits without a number that are asked about: those that wait, and of a name those that were refused."""
        waiting = defaultdict(list)
        for row in self.world["edits"].to_pylist():
            waiting[row["org"], row["folder"]].append(row)
        refused = self._refused({(each.org, each.folder, each.item) for each in asked if each.item and not each.numbers})
        for each in asked:
            found = waiting[each.org, each.folder]
            if each.item:
                found = [row for row in found if each.item in (row["name"], f"@{row['edit_id']}")]
            told = refused.get((each.org, each.folder, each.item), {})
            edits = {row["edit_id"]: row for row in (*found, *(row["edit"] for row in told.values()))}
            yield from edit_rows(edits.values(), told, now[each.org], grid[each.org], each.store, each.folder)

    def _refused(
        self, named: Iterable[tuple[str, str, str | None]]
    ) -> dict[tuple[str, str, str | None], dict[tuple[str, str], Line]]:
        """By organization, folder and name the edits so called that were refused: each with its reason, when, and the edit."""
        wanted = sorted(named, key=str)
        if not wanted:
            return {}
        called = self.snapshot.tables.spark.createDataFrame(wanted, "org string, folder string, called string")
        so_called = (F.col("name") == F.col("called")) | (F.concat(F.lit("@"), "edit_id") == F.col("called"))
        edits = intake.legible(self.snapshot.read("edits")).join(called, ["org", "folder"]).where(so_called)
        receipts = self.snapshot.read("receipts").where("edit_id is not null and reason is not null")
        told = receipts.select("org", "edit_id", "reason", F.col("at").alias("refused_at"))
        found: dict[tuple[str, str, str | None], dict[tuple[str, str], Line]] = defaultdict(dict)
        for row in edits.join(told, ["org", "edit_id"]).toArrow().to_pylist():
            receipt = {"reason": row["reason"], "at": row["refused_at"], "edit": row}
            found[row["org"], row["folder"], row["called"]][row["org"], row["edit_id"]] = receipt
        return found

    def _rounds_at(self, moments: Iterable[tuple[str, datetime]]) -> dict[tuple[str, datetime], int]:
        """Of those moments the round that an organization had then."""
        spark = self.snapshot.tables.spark
        wanted = spark.createDataFrame(sorted(set(moments)), "org string, now timestamp")
        turns = self.snapshot.read("rounds").where("kind = 'played'").select("round", F.inline("turns"))
        found = turns.join(wanted, ["org", "now"]).groupBy("org", "now").agg(F.min("round").alias("round"))
        return {(row["org"], row["now"]): row["round"] for row in found.toArrow().to_pylist()}

    def replicas_that_should(self) -> list[About]:
        """Every replica that stands, and every store that some store's list calls a replica."""
        present = {(org, *here) for org, stores in self.views.items() for here in stores.present()}
        lists = self.world["lists"]
        listed = distinct(lists.filter(pc.equal(lists["listing"], Listing.LISTED)), ["org", "peer", "folder"])
        named = {(row["org"], row["peer"], row["folder"]) for row in listed.to_pylist() if row["org"] in self.views}
        return [About(org, store, folder) for org, store, folder in sorted(present | named)]

    def versions(self) -> DataFrame:
        """Each version of each item that readers at each store may see: what `rules.items.versions` says."""
        own = state.held(self.frame("state"), replicas=items.open_to_readers(self.frame("replicas")))
        return items.versions(items.seen(self.frame("changes"), applied=own))

    def items(self) -> Iterator[Line]:
        """Each item as each store sees it."""
        quiet = lines.last_writer_only(self.world, {org: policy.conflict for org, policy in self.policies.items()})
        rows = [
            {**row, "conflict": row["conflict"] and (row["org"], row["store"], row["folder"]) not in quiet}
            for row in shown.everywhere(self.world, self.views)
        ]
        for org in self.views:
            yield from lines.items([row for row in rows if row["org"] == org], self.views, self.at)

    def messages(self) -> Iterator[Line]:
        """All messages, by round; read by pages, not all at once."""
        for org in self.views:
            for rows in paged(self.snapshot, "messages", org):
                for number in sorted(set(rows["round"].to_pylist())):
                    yield from lines.messages(rows.filter(pc.equal(rows["round"], number)), self.views)

    def logs(self) -> Iterator[events.Log]:
        """The replication events of each organization, as Exchange logs them; read by pages, not all at once."""
        return (self._log(org) for org in self.views)

    def _log(self, org: str) -> events.Log:
        read = [self.snapshot.read(name) for name in ("changes", "messages", "replicas")]
        changes, messages, replicas = (rows.where(F.col("org") == org) for rows in read)
        pieces = messages.select("round", F.inline(F.concat("carries", "asks"))).select("origin", "round")
        first = changes.select("origin", "round").union(pieces).groupBy("origin").agg(F.min("round").alias("round"))
        steps = replicas.toArrow().to_pylist()
        return events.Log(org, events.replids(steps, first.toArrow().to_pylist()), self._events(org, steps))

    def _events(self, org: str, steps: list[Line]) -> Iterator[Event]:
        """The events of an organization; `steps` are those of its replicas, which are few."""
        mine = F.col("org") == org
        parent = F.filter("properties", lambda each: each["name"] == PARENT).alias("properties")
        changes = self.snapshot.read("changes").where(mine).withColumn("properties", parent)
        messages = self.snapshot.read("messages").where(mine).drop("status")
        receipts = self.snapshot.read("receipts").where(mine & F.col("message_id").isNotNull())
        told = messages.select("round").unionAll(receipts.select("round"))
        told = told.unionAll(self.snapshot.read("replicas").where(mine).select("round"))
        for page in pages(told):
            received = receipts.where(within(page))
            named = received.select("message_id").union(messages.where(within(page)).select("message_id")).distinct()
            here = messages.join(named, "message_id", "left_semi")
            key = ["folder", "origin"]
            carried = cnset.canonical(here.select("folder", F.inline("carries")), key)
            read = {"messages": here, "receipts": received, "changes": cnset.within(changes, carried, key)}
            rows = {name: frame.toArrow().to_pylist() for name, frame in read.items()}
            yield from events.events(**rows, replicas=steps, stores=self.views[org], rounds=page)

    def events(self) -> Iterator[Line]:
        """The same events as lines."""
        return (line for log in self.logs() for line, _ in log.lines())

    def referrals(self) -> Iterator[Line]:
        """Each folder as each store sees it: to which stores it sends a reader, in order."""
        readers = self.frame("lists").where(F.col("folder") != HIERARCHY).select(*HERE)
        given = {name: self.frame(name) for name in ("lists", "replicas", "stores", "links")}
        rows = referral.refer(readers, **given).toArrow().to_pylist()
        for org, stores in self.views.items():
            yield from lines.referrals([row for row in rows if row["org"] == org], stores, org, self.at[org])

    def rounds(self) -> Iterator[Line]:
        """The ledger; read by pages, not all at once."""
        found = (page.sort_by("round").to_pylist() for page in paged(self.snapshot, "rounds"))
        for row in (Row.read(each) for rows in found for each in rows):
            yield {
                "kind": "round", "round": row.round, "what": row.kind, "writer": row.writer,
                "turns": {org: lines.moment(now) for org, now in row.turns.items()},
                "began": lines.moment(row.began), "ended": lines.moment(row.ended), "counts": row.counts,
                "next_due": {org: lines.moment(due) for org, due in row.next_due.items()},
            }  # fmt: skip
