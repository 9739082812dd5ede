"""A lake after one of its rounds, to be asked: each answer as lines (JSON), by organization."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark.ask import events, lines, standing
from pfspark.edge.delta import Row, Snapshot
from pfspark.edge.world import HERE, as_frame
from pfspark.rules import items, referral, state
from pfspark.settings import Policy
from pfspark.words import HIERARCHY, PARENT, Why

Line = dict[str, Any]

STATE = (
    "org string, at string, store string, folder string, applied string, empty string, sent string, "
    "reported map<string,string>, missing string, lost string, life bigint, standing string"
)
GAPS = (
    "org string, at string, store string, folder string, origin string, cn_min bigint, cn_max bigint, heard string, "
    "attempt bigint, asked string, of string, due string"
)


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

    def gaps(self) -> Iterator[Line]:
        """Open ranges; of one that was asked for, of whom, and when it is asked for again unless it comes."""
        steps = self.snapshot.read("backfill").where("step = 'asked' and of is not null").toArrow().to_pylist()
        due = {
            (row["org"], row["store"], row["folder"]): row["due"]
            for row in self.world["agenda"].to_pylist()
            if row["why"] == Why.BACKFILL
        }
        array = self.world["array"].to_pylist()
        for row in sorted(array, key=lambda row: tuple(row[name] for name in (*HERE, "origin", "cn_min"))):
            if row["org"] not in self.views:
                continue
            here = tuple(row[name] for name in HERE)
            asked = max(
                (
                    step for step in steps
                    if tuple(step[name] for name in HERE) == here and step["origin"] == row["origin"]
                    and step["cn_min"] <= row["cn_min"] and row["cn_max"] <= step["cn_max"] and row["attempt"]
                ),
                key=lambda step: step["round"], default=None,
            )  # fmt: skip
            again = asked["due"] if asked else due.get(here)
            yield {
                "org": row["org"], "at": lines.moment(self.at[row["org"]]), "kind": "gap", "store": row["store"],
                **self.views[row["org"]].called(row["store"], row["folder"]), "origin": row["origin"],
                "cn_min": row["cn_min"], "cn_max": row["cn_max"], "heard": lines.moment(row["heard"]),
                "attempt": row["attempt"], "asked": lines.moment(row["asked"]) if row["asked"] else None,
                "of": asked and asked["of"], "due": lines.moment(again) if again else None,
            }  # fmt: skip

    def versions(self) -> DataFrame:
        """Each version of each item that readers at each store may see: what `rules.items.versions` says."""
        own = state.held(self.frame("state"), replicas=items.open_to_readers(self.frame("replicas")))
        return items.versions(items.seen(self.frame("changes"), applied=own))

    def items(self) -> Iterator[Line]:
        """Each item as each store sees it."""
        quiet = lines.last_writer_only(self.world, {org: policy.conflict for org, policy in self.policies.items()})
        rows = [
            {**row, "conflict": row["conflict"] and (row["org"], row["store"], row["folder"]) not in quiet}
            for row in items.readable(self.versions()).toArrow().to_pylist()
        ]
        for org in self.views:
            yield from lines.items([row for row in rows if row["org"] == org], self.views, self.at)

    def messages(self) -> Iterator[Line]:
        """All messages, by round."""
        sent = self.snapshot.read("messages").orderBy("round").toArrow()
        for org in self.views:
            own = _of(sent, org)
            for number in sorted(set(own["round"].to_pylist())):
                yield from lines.messages(own.filter(pc.equal(own["round"], number)), self.views)

    def logs(self) -> Iterator[events.Log]:
        """The replication events of each organization, as Exchange logs them."""
        parent = F.filter("properties", lambda each: each["name"] == PARENT).alias("properties")
        read = {
            "messages": self.snapshot.read("messages").drop("status"),
            "receipts": self.snapshot.read("receipts").where("message_id is not null"),
            "changes": self.snapshot.read("changes").withColumn("properties", parent),
            "replicas": self.snapshot.read("replicas"),
        }
        tables = {name: frame.toArrow() for name, frame in read.items()}
        for org, stores in self.views.items():
            own = {name: _of(table, org).to_pylist() for name, table in tables.items()}
            ids = events.replids(own["replicas"], own["changes"], own["messages"])
            yield events.Log(org, ids, events.events(**own, stores=stores))

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
        """The ledger."""
        for found in self.snapshot.read("rounds").orderBy("round").toArrow().to_pylist():
            row = Row.read(found)
            yield {
                "kind": "round", "round": row.round, "what": row.kind, "writer": row.writer,
                "turns": {org: lines.moment(now) for org, now in row.turns.items()},
                "began": lines.moment(row.began), "ended": lines.moment(row.ended), "counts": row.counts,
                "next_due": {org: lines.moment(due) for org, due in row.next_due.items()},
            }  # fmt: skip


def _of(table: pa.Table, org: str) -> pa.Table:
    return table.filter(pc.equal(table["org"], org))
