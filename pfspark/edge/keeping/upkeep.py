"""The upkeep of a lake: what may be written shorter, or left out, without changing any answer (F56, in its order).

Each table is rewritten by itself, and what is left says the same as before: so upkeep may end anywhere, and what was
answered as of an earlier round is answered from the versions of that round as before, as far as the history reaches.
What grows old at night, and which replica is erased, rounds decide (`rules.aging`, `rules.removal`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.between import RANGE_KEY
from pfspark.edge.asked.pages import paged
from pfspark.edge.delta.digests import digest_of_pages
from pfspark.edge.delta.ledger import FACTS
from pfspark.edge.delta.snapshot import Snapshot
from pfspark.edge.delta.stored import Stored
from pfspark.edge.world import bases_by_spark, scratch
from pfspark.edge.world.directory import newest
from pfspark.edge.world.facts import last_restores
from pfspark.edge.world.views import begun, open_array, own_rows, waiting
from pfspark.keyed import ByName, semi_join
from pfspark.keys import AGENDA, FOLDER, HERE, OBJECT
from pfspark.rules import items, state
from pfspark.settings import Policy
from pfspark.tables import TABLES
from pfspark.units import before
from pfspark.words import FIRST, LIVE, Outcome

OWN_RETENTION = "deleted_item_retention"
"""The property of a folder that says how long bodies of its deleted items stay (Q20)."""
ON_ITS_WAY = timedelta(days=1)
"""A body is written before its edit; one so young may belong to an edit still to come."""


def shortened(snapshot: Snapshot) -> Mapping[str, DataFrame]:
    """The tables of which a shorter form says the same: their rows from now on."""
    own = own_rows(snapshot.read, last_restores(snapshot))
    return {
        "state": merged_state(own["state"]),
        "agenda": newest(own["agenda"], AGENDA, "round").where("due is not null"),
        "backfill": needed_steps(snapshot, own),
    }


def merged_state(rows: DataFrame) -> DataFrame:
    """Ranges merged, sorted and disjoint; each keeps the highest round that it replaces."""
    latest = rows.groupBy(*RANGE_KEY).agg(F.max("round").alias("round"), F.max("at").alias("at"))
    return cnset.canonical(rows, RANGE_KEY).join(latest, list(RANGE_KEY)).select(*TABLES["state"].names)


def needed_steps(snapshot: Snapshot, own: Mapping[str, DataFrame]) -> DataFrame:
    """Steps of folders that still miss something, and those that say when a store last asked another (R105, R122)."""
    replicas, began = newest(own["replicas"], HERE, "round"), begun(own["replicas"])
    array = open_array(own["backfill"], table=own["state"], replicas=replicas, begun=began)
    missing = array.select(*HERE).distinct()
    told = snapshot.read("receipts").where(F.col("message_id").isNotNull() & (F.col("outcome") != Outcome.LOST))
    heard = told.groupBy("org", "store", cnset.store_of("sender").alias("of")).agg(F.max("round").alias("heard"))
    pair = ["org", "store", "of"]
    last = F.max("round").over(Window.partitionBy(*pair))
    asked = own["backfill"].where("of is not null").withColumn("last", last).join(heard, pair, "left")
    contacts = asked.where("round = last or round >= coalesce(heard, 0)").select(*TABLES["backfill"].names)
    return own["backfill"].join(missing, list(HERE), "left_semi").unionByName(contacts).distinct()


@dataclass(frozen=True)
class Retention:
    """Since when bodies stay of items that were changed, whatever became of them: of an organization, and of a folder for which
    that was said by itself (Q20)."""

    of_orgs: Mapping[str, datetime]
    of_folders: Mapping[tuple[str, str], datetime]

    @classmethod
    def of(cls, world: ByName, now: Mapping[str, datetime], policies: Mapping[str, Policy], unfit: Iterable[str]) -> Retention:
        """At those times, by the `policies`; where replicas of a folder see several values the longest counts. Of organizations
        that are `unfit`, and cannot say how long, all stays."""
        said = world["tree"].filter(pc.field("property") == OWN_RETENTION)
        own = {(row["org"], row["store"], row["folder"]): row["value"] for row in said.to_pylist()}
        live = world["replicas"].filter(pc.field("standing").isin([*map(str, LIVE)]))
        longest: dict[tuple[str, str], timedelta] = {}
        for row in semi_join(live, said, FOLDER).to_pylist():
            if row["org"] in policies:
                value, of = own.get((row["org"], row["store"], row["folder"])), (row["org"], row["folder"])
                kept = policies[row["org"]].deleted_item_retention if value is None else _seconds(value)
                longest[of] = max(kept, longest.get(of, kept))
        return cls(
            {org: before(now[org], policy.deleted_item_retention) for org, policy in policies.items()}
            | dict.fromkeys(unfit, FIRST),
            {(org, folder): before(now[org], kept) for (org, folder), kept in longest.items()},
        )


def _seconds(text: str) -> timedelta:
    """So many seconds; of a text that Spark took for a number once, and Python does not, as long as can be."""
    return timedelta(seconds=int(text)) if text.isascii() and text.isdigit() else timedelta.max


def unneeded_bodies(snapshot: Snapshot, retention: Retention) -> DataFrame:
    """Hashes of bodies that no replica shows, keeps for its conflict, or may still send.

    A body is needed by an edit that waits, by a version that some replica holds and that nothing it holds was made upon,
    and by every item that was changed after the moment in `retention`.
    """
    changes, spark = snapshot.read("changes"), snapshot.tables.spark
    of_org = spark.createDataFrame(sorted(retention.of_orgs.items()), "org string, since timestamp")
    rows = [(*of, since) for of, since in sorted(retention.of_folders.items())]
    of_folder = spark.createDataFrame(rows, "org string, folder string, own timestamp")
    timed = changes.join(of_org, "org").join(of_folder, list(FOLDER), "left")
    recent = timed.where("at >= coalesce(own, since)").select(*OBJECT).distinct()
    young = changes.join(recent, list(OBJECT), "left_semi")
    own = own_rows(snapshot.read, last_restores(snapshot))
    applied = state.contents_of(own["state"], replicas=newest(own["replicas"], HERE, "round"))
    shown = items.versions(items.seen(changes, applied=applied)).where("not dominated")
    edits = waiting(snapshot.read("edits"), receipts=snapshot.read("receipts"))
    in_need = [young.select("hash"), shown.select("hash"), edits.select("hash")]
    needed = in_need[0].unionByName(in_need[1]).unionByName(in_need[2]).where("hash is not null").distinct()
    return snapshot.read("content").select("hash").distinct().join(needed, "hash", "left_anti")


def keep_up(snapshot: Snapshot, retention: Retention, told: Callable[[str], object]) -> tuple[dict[str, int], dict[str, str]]:
    """Does it all; how many rows went from each table, and the digests of those it wrote anew.

    `told` is told what is being done.
    """
    tables, began = snapshot.tables, datetime.now(UTC)
    stood = {name: tables.count(name) for name in FACTS}
    _sweep(snapshot, told)
    facts = _rewrite(snapshot, told)
    told("bodies")
    bodies = _let_go_of_bodies(snapshot, retention, began)
    _tidy(tables, told)
    went = {name: rows - tables.count(name) for name, rows in stood.items()} | {"content": bodies}
    return {name: rows for name, rows in went.items() if rows}, facts


def _sweep(snapshot: Snapshot, told: Callable[[str], object]) -> None:
    """Deletes the rows whose numbers are void."""
    tables, void = snapshot.tables, sorted(snapshot.void)
    for name in FACTS if void else ():
        told(f"sweeping {name}")
        found = tables.arrow(name, keep=pc.field("round").isin(void), columns=["round"])
        left = void if found is None else found["round"].unique().to_pylist()
        if left:
            tables.delete(name, f"round IN ({', '.join(map(str, left))})")


def _rewrite(snapshot: Snapshot, told: Callable[[str], object]) -> dict[str, str]:
    """Writes tables shorter; the digests of what stands in them now."""
    facts = {}
    for name, rows in shortened(snapshot).items():
        told(f"rewriting {name}")
        snapshot.tables.rewrite(name, rows, snapshot.row.round)
        facts[name] = digest_of_pages(name, paged(replace(snapshot, as_found=True), name))
    return facts


def _let_go_of_bodies(snapshot: Snapshot, retention: Retention, now: datetime) -> int:
    """Deletes the bodies that nobody needs, but young ones; how many went."""
    tables = snapshot.tables
    with scratch.Scratch(tables) as beside:  # computed before anybody has to wait: none may be appended while rows go
        unneeded = unneeded_bodies(snapshot, retention)
        computed = beside.materializer.keep(unneeded)
        if computed is not None and not computed.rows:
            return 0
        old = f"content.at < TIMESTAMP '{(now - ON_ITS_WAY).isoformat()}'"
        return tables.delete_these("content", computed.frame if computed else unneeded, old)


def _tidy(tables: Stored, told: Callable[[str], object]) -> None:
    """Leaves every table in few files, without versions that are too old, and nothing beside them that nobody uses."""
    for name in TABLES:
        told(f"tidying {name}")
        tables.tidy(name)
    bases_by_spark.tidy(tables)
    scratch.sweep(tables)
