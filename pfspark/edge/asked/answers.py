"""A lake after one of its rounds, to be asked: each answer as lines (JSON), by organization."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby, islice

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark import said
from pfspark.ask import edits, gaps, lines, standing
from pfspark.ask.stores import Stores
from pfspark.edge.asked import naming, shown
from pfspark.edge.asked.pages import paged
from pfspark.edge.config import conf_folder
from pfspark.edge.delta.ledger import Row
from pfspark.edge.delta.snapshot import Snapshot
from pfspark.edge.world.directory import turn
from pfspark.edge.world.facts import as_frame
from pfspark.keyed import ByName, distinct, of_folders, semi_join
from pfspark.keys import HERE
from pfspark.printed import Line
from pfspark.rows import local, rows_of, schema_of
from pfspark.rules import items, referral, state
from pfspark.schedules import Grid
from pfspark.settings import OPTIONS, Policy, load_profile, text_of
from pfspark.units import before
from pfspark.words import HIERARCHY


@dataclass(frozen=True)
class Answers:
    """What can be asked of a lake: the tables after a round, the world they say, each organization's stores, time and policy."""

    snapshot: Snapshot
    world: ByName
    views: Mapping[str, Stores]
    at: Mapping[str, datetime]
    """The time of each organization's last round; before the first, of its start."""
    played: Mapping[str, bool]
    """Whether each organization has had a round."""
    policies: Mapping[str, Policy]
    organizations: Mapping[str, Line]
    """Their rows of the directory."""
    next_due: Mapping[str, datetime]
    """When each organization has something to do, as a round left it, or now also by what was said and done since."""

    def frame(self, name: str) -> DataFrame:
        """A table or view of the world as a frame."""
        return as_frame(self.snapshot.tables.spark, name, self.world[name])

    def state(self, asked: lines.Asked = lines.ALL) -> Iterator[Line]:
        """Each replica: its sets, what it believes of others, what it misses."""
        for org, stores in self.views.items():
            yield from lines.state(stores, org, self.at[org], asked)

    def replicas(self, asked: lines.Asked = lines.ALL) -> Iterator[Line]:
        """Each replica: what it misses since when, belief and truth about others."""
        for org, stores in self.views.items():
            yield from standing.replicas(self.world, stores, org, self.at[org], asked)

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
        counted = self.world["edits"]["org"].value_counts().to_pylist()
        waiting = Counter({each["values"]: each["counts"] for each in counted})
        for org, stores in self.views.items():
            yield standing.organization(
                stores, org, self.at[org], played=self.played[org], suspended=bool(self.organizations[org]["suspended"]),
                waiting=waiting[org], due=self._next(org), now=now,
            )  # fmt: skip

    def due(self, org: str) -> datetime | None:
        """When there is something to do next, be it to take in what was done at stores; None: never."""
        done = pc.min(self.world["edits"].filter(pc.field("org") == org)["at"]).as_py()
        return min((at for at in (self.next_due.get(org), done) if at), default=None)

    def _next(self, org: str) -> datetime | None:
        """When the next round is played; None: nothing is due. What arrived at once was too late for the last."""
        due = self.due(org)
        if due is None or due > self.at[org] or not self.played[org] or org not in self.policies:
            return due
        return self.grid(org).next_round(due, self.at[org])

    def grid(self, org: str) -> Grid:
        """When an organization plays its rounds."""
        return Grid(self.organizations[org]["start"], self.policies[org].interval)

    def overdue(self, age: timedelta, now: datetime | None) -> Iterator[str]:
        """What is missing, waits or is due for longer than that, a sentence each; `now` None: by each organization's clock."""
        for org, stores in self.views.items():
            by = now or self.at[org]
            long_ago = before(by, age)
            yield from standing.overdue(self.world, stores, org, long_ago)
            due = self.due(org)
            if due and due < long_ago:
                yield f"{org}: a round is due since {lines.moment(due)}"

    def edits(self) -> Iterator[Line]:
        """What was done at stores, and what became of it, in the order of its time."""
        for org, stores in self.views.items():
            yield from edits.lines_of(self._edits(org), stores)

    def last_edits(self, some: Callable[[Line], bool], most: int) -> Iterator[Line]:
        """The last `some` of each organization, at `most` so many; none before them is looked at."""
        for org, stores in self.views.items():
            newest_first = filter(some, edits.lines_of(self._edits(org), stores, newest_first=True))
            yield from reversed([*islice(newest_first, most)])

    def _edits(self, org: str) -> pa.Table:
        return edits.looked_up(*(self._of(name, org) for name in ("edits", "receipts", "changes")))

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

    def clock(self, at: Mapping[str, datetime]) -> pa.Table:
        """The view `clock`, of a round of each organization at that time."""
        told = ({"org": org, **turn(self.organizations[org], policy, at[org])} for org, policy in self.policies.items())
        return rows_of("clock", told)

    def gaps(self) -> Iterator[Line]:
        """Open ranges; of one that was asked for, of whom, and when it is asked for again unless it comes."""
        if not self.world["array"].num_rows:
            return
        spark, here = self.snapshot.tables.spark, distinct(self.world["array"], HERE)
        about = {name: self.world[name] if name == "stores" else semi_join(self.world[name], here, HERE) for name in gaps.VIEWS}
        views = {name: as_frame(spark, name, rows) for name, rows in about.items()}  # of replicas that lack something alone
        timed = gaps.timed(views.__getitem__, clock=local(spark, self.clock(self.at), schema_of("clock")))
        found = gaps.gaps(self.frame("array"), steps=self.snapshot.read("backfill"), timed=timed)
        rows = found.where(F.col("org").isin(*self.views)).toArrow().to_pylist()
        for row in sorted(rows, key=lambda row: tuple(row[name] for name in (*HERE, "origin", "cn_min"))):
            yield {
                "org": row["org"], "at": lines.moment(self.at[row["org"]]), "kind": "gap", "store": row["store"],
                **self.views[row["org"]].called(row["store"], row["folder"]), "origin": row["origin"],
                "cn_min": row["cn_min"], "cn_max": row["cn_max"], "heard": lines.moment(row["heard"]),
                "attempt": row["attempt"], "asked": lines.when(row["asked"]), "of": row["of"], "due": lines.when(row["due"]),
            }  # fmt: skip

    def versions(self) -> DataFrame:
        """Each version of each item that readers at each store may see: what `rules.items.versions` says."""
        own = state.contents_of(self.frame("state"), replicas=items.open_to_readers(self.frame("replicas")))
        return items.versions(items.seen(self.frame("changes"), applied=own))

    def quiet(self) -> set[tuple[str, str, str]]:
        """Folders, by viewer, that show no conflict."""
        return lines.last_writer_only(self.world, {org: policy.conflict for org, policy in self.policies.items()})

    def items(self, asked: lines.Asked = lines.ALL) -> Iterator[Line]:
        """Each item as each store sees it, told as it is read: of a large folder they are never all here."""
        quiet = self.quiet()
        for org, whole in self.views.items():
            stores, replicas = asked.replicas(whole, org)
            changes = shown.by_folder(self.world, org, {folder for _, folder, _ in replicas})
            with_items = [each for each in replicas if each[1] in changes]
            for _, of_one_path in groupby(sorted(with_items, key=_by_path), key=_by_path):
                told = [
                    self._items(shown.in_order(changes[each[1]], stores, *each[:2]), org, *each, quiet) for each in of_one_path
                ]
                yield from heapq.merge(*told, key=lambda line: naming.place_of(line["item"]))

    def _items(
        self, rows: Iterable[Line], org: str, store: str, folder: str, called: Line, quiet: Container[tuple[str, str, str]]
    ) -> Iterator[Line]:
        """The items of one replica, those of a `quiet` folder without their conflicts."""
        shows = (org, store, folder) not in quiet
        for row in rows:
            yield lines.item({**row, "conflict": row["conflict"] and shows}, store, called, self.at[org])

    def messages(self) -> Iterator[Line]:
        """All messages, by round; read by pages, not all at once."""
        for org in self.views:
            for rows in paged(self.snapshot, "messages", org):
                for number in sorted(set(rows["round"].to_pylist())):
                    yield from lines.messages(rows.filter(pc.equal(rows["round"], number)), self.views)

    def referrals(self, folders: Collection[str] | None = None) -> Iterator[Line]:
        """Each folder as each store sees it, or of those `folders` (ids) each: to which stores it sends a reader, in order."""
        world, views = self.world, self.views
        if folders is not None:
            world = {**world, **{name: of_folders(world[name], folders) for name in ("lists", "replicas")}}
            views = {org: stores.near(folders) for org, stores in views.items()}
        spark = self.snapshot.tables.spark
        given = {name: as_frame(spark, name, world[name]) for name in ("lists", "replicas", "stores", "links")}
        readers = given["lists"].where(F.col("folder") != HIERARCHY).select(*HERE)
        rows = referral.refer(readers, **given).toArrow().to_pylist()
        for org, stores in views.items():
            asking = [row for row in rows if row["org"] == org and row["store"] in stores.members]
            told = lines.referrals(asking, stores, org, self.at[org])
            yield from (line for line in told if folders is None or line["id"] in folders)

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


def _by_path(replica: tuple[str, str, Line]) -> tuple[str, str]:
    store, _, called = replica
    return store, called["folder"]
