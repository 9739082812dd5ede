"""Playing the rounds of a lake: its world read once and then kept, the new rows appended, the ledger row last.

A world read from the tables and one that was kept through any number of rounds are the same, so a process may end
between any two rounds, or within one, and another goes on.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from pfspark import cnset
from pfspark.edge.config import conf_folder
from pfspark.edge.delta import THREADS, Row, Snapshot, Tables, Writer
from pfspark.kept import Kept, due_moments, local, schema_of
from pfspark.rules import backfill, hierarchy, items, state
from pfspark.settings import Policy, load_profile, override
from pfspark.words import CARRYING, HIERARCHY, Entry, Outcome, Standing, Why

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = ("org", "store", "folder")
LINE = (*HERE, "origin")
RANGES = (*LINE, "cn_min", "cn_max")
PAIR = ("org", "store", "peer")
DIRECTORY = {"organizations": ("org",), "stores": ("org", "store"), "links": ("org", "from_site", "to_site")}
"""The tables that administrators write, with what names an entry; the latest row wins."""
WRITTEN = ("changes", "messages", "receipts", "state", "replicas", "backfill", "agenda")
"""The tables that rounds write."""
QUIET_WITHIN = timedelta(days=90)
"""How far `run` looks for quiet when no end is named: longer than any time-out, repeats included."""
LOOK_AGAIN = 2.0
"""Seconds between two looks at what people have done, when rounds are played as time goes by."""

Rows = Mapping[str, pa.Table]


# The world, from the tables ------------------------------------------------------------------------------------------


def newest(rows: DataFrame, key: Sequence[str], by: str) -> DataFrame:
    """The row with the highest `by` of each key."""
    return rows.groupBy(*key).agg(F.max_by(F.struct(*rows.columns), by).alias("row")).select("row.*")


def in_flight(messages: DataFrame, receipts: DataFrame) -> DataFrame:
    """The view `mail`: messages without a receipt of their recipient."""
    had = receipts.where("message_id is not null").select("org", "message_id", F.col("store").alias("recipient"))
    to = F.inline("recipients").alias("recipient", "due", "lost")
    return messages.select("*", to).join(had, ["org", "message_id", "recipient"], "left_anti")


def held(table: DataFrame, replicas: DataFrame) -> DataFrame:
    """The numbers whose changes each store has: applied and not empty, of its replicas in their current lives."""
    own = state.own(table, replicas=replicas)
    applied = own.where(F.col("entry") == Entry.APPLIED).select(*RANGES)
    return cnset.subtract(applied, own.where(F.col("entry") == Entry.EMPTY).select(*RANGES), LINE)


def open_array(steps: DataFrame, *, table: DataFrame, replicas: DataFrame, begun: DataFrame) -> DataFrame:
    """The view `array`: what a replica has heard of since it last became one, and is not applied.

    A number was heard of when its step says; each request counts one attempt, and the times between one request and the
    next add up to the time of the last. `begun` says in which round (`since_round`) each replica that misses
    anything at all began.
    """
    current = steps.join(begun, list(HERE)).where("round >= since_round")
    heard = current.where("step = 'heard'").select(*RANGES, F.lit(1).alias("open"), F.unix_micros("at").alias("heard"))
    asked = current.where("step = 'asked'").select(
        *RANGES,
        F.lit(1).alias("attempt"),
        (F.unix_micros("at") - F.coalesce(F.unix_micros("since"), F.lit(0))).alias("asked"),
    )
    applied = state.own(table, replicas=replicas).where(F.col("entry") == Entry.APPLIED)
    line = cnset.line(LINE, heard, asked, applied.select(*RANGES, F.lit(1).alias("applied")))
    pieces = cnset.join_up(line.where("open > 0 and applied = 0"), LINE, backfill.TIMES)
    return pieces.select(
        *RANGES,
        F.timestamp_micros("heard").alias("heard"),
        F.col("attempt").cast("bigint").alias("attempt"),
        F.when(F.col("attempt") > 0, F.timestamp_micros("asked")).alias("asked"),
    )


def begun(steps: DataFrame) -> DataFrame:
    """In which round (`since_round`) each replica last became one: when it was made, or put back after it was gone."""
    gone = F.col("standing").isin(Standing.DELETE_NOW, Standing.ERASED)
    last_gone = F.coalesce(F.max(F.when(gone, F.col("round"))).over(Window.partitionBy(*HERE)), F.lit(0))
    since = steps.withColumn("last_gone", last_gone).where("round > last_gone")
    return since.groupBy(*HERE).agg(F.min("round").alias("since_round"))


def remembered(receipts: DataFrame, steps: DataFrame) -> DataFrame:
    """The view `contacts`: when each store last heard of another, and when it last asked it (see `sources.remember`)."""
    peer = cnset.store_of("sender").alias("peer")
    got = receipts.where(F.col("message_id").isNotNull() & (F.col("outcome") != Outcome.LOST)).select(
        "org", "store", peer, "round", "at", F.when(F.col("type").isin(*CARRYING), F.col("round")).alias("carrying")
    )
    heard = got.groupBy(*PAIR).agg(
        F.max("round").alias("heard_round"),
        F.max_by("at", "round").alias("heard"),
        F.max_by(F.when(F.col("carrying").isNotNull(), F.col("at")), "carrying").alias("sent"),
    )
    asked = steps.where("step in ('asked', 'named')").withColumnRenamed("of", "peer")
    last = asked.groupBy(*PAIR).agg(F.max_by("at", "round").alias("asked"))
    silent = (
        asked.where("step = 'asked'")
        .join(heard.select(*PAIR, "heard_round"), list(PAIR), "left")
        .where("round >= coalesce(heard_round, 0)")
        .groupBy(*PAIR)
        .agg(F.min("due").alias("silent"))
    )
    known = heard.drop("heard_round").join(last, list(PAIR), "full").join(silent, list(PAIR), "left")
    return known.select(*PAIR, "heard", "sent", "asked", "silent")


def list_views(tree: DataFrame, stores: DataFrame) -> tuple[DataFrame, DataFrame]:
    """The views `folders` and `lists`; a store that sees no folder yet has the list of the hierarchy all the same."""
    folders = hierarchy.folders(tree)
    seen = hierarchy.lists(tree, folders=folders, stores=stores).where(F.col("folder") != HIERARCHY)
    return folders, seen.unionByName(hierarchy.everywhere(stores, stores))


def world(snapshot: Snapshot) -> dict[str, pa.Table]:
    """The world between two rounds, from the tables: see `kept.Kept`.

    Frames that others are made of are computed once, as Arrow tables; `edits` are those that wait, as far as the ledger
    has taken them in.
    """
    spark = snapshot.tables.spark
    read = {name: snapshot.read(name) for name in WRITTEN}
    directory = {name: newest(snapshot.read(name), key, "at") for name, key in DIRECTORY.items()}
    let_in = read["receipts"].where("message_id is not null and reason is null")
    delivered = let_in.select("org", "message_id", F.col("store").alias("recipient")).join(
        read["messages"].drop("store"), ["org", "message_id"]
    )
    taken_in = snapshot.tables._stored("edits", snapshot.row.cursors["edits"])
    first = {
        **{name: directory[name] for name in ("stores", "links")},
        "changes": read["changes"],
        "state": cnset.canonical(read["state"], (*HERE, "entry", "about", "origin", "relayed")),
        "replicas": newest(read["replicas"], HERE, "round"),
        "mail": in_flight(read["messages"], read["receipts"]),
        "agenda": newest(read["agenda"], (*HERE, "why", "peer"), "round").where("due is not null"),
        "contacts": remembered(read["receipts"], read["backfill"]),
        "lives": state.read_lives(delivered, lives=_nothing(spark, "lives")),
        "edits": taken_in.join(read["receipts"].select("org", "edit_id"), ["org", "edit_id"], "left_anti"),
    }
    views = _computed(first)
    stores, table, replicas = (_local(spark, name, views[name]) for name in ("stores", "state", "replicas"))
    own_tree = _local(spark, "changes", views["changes"]).where(F.col("folder") == HIERARCHY)
    views |= _computed(
        {
            "tree": hierarchy.merge(_nothing(spark, "tree"), items.seen(own_tree, applied=held(table, replicas))),
            "array": open_array(
                read["backfill"],
                table=table,
                replicas=replicas,
                begun=begun(read["replicas"]),
            ),
        }
    )
    folders, lists = list_views(_local(spark, "tree", views["tree"]), stores)
    return views | _computed({"folders": folders, "lists": lists})


def trees(snapshot: Snapshot) -> dict[str, pa.Table]:
    """As much of the world as the paths of folders need: `stores`, `tree`, `folders`, and the edits that wait."""
    here = F.col("folder") == HIERARCHY
    table, changes = snapshot.read("state").where(here), snapshot.read("changes").where(here)
    replicas = newest(snapshot.read("replicas").where(here), HERE, "round")
    spark, receipts = snapshot.tables.spark, snapshot.read("receipts").where("edit_id is not null")
    views = _computed(
        {
            "stores": newest(snapshot.read("stores"), DIRECTORY["stores"], "at"),
            "tree": hierarchy.merge(_nothing(spark, "tree"), items.seen(changes, applied=held(table, replicas))),
            "edits": snapshot.read("edits").join(receipts.select("org", "edit_id"), ["org", "edit_id"], "left_anti"),
        }
    )
    return views | _computed({"folders": hierarchy.folders(_local(spark, "tree", views["tree"]))})


def _computed(frames: Mapping[str, DataFrame]) -> dict[str, pa.Table]:
    with ThreadPoolExecutor(THREADS) as threads:
        return dict(zip(frames, threads.map(DataFrame.toArrow, frames.values()), strict=True))


def _local(spark: SparkSession, name: str, rows: pa.Table) -> DataFrame:
    left_out = [column for column in schema_of(name).names if column not in rows.column_names]
    schema = schema_of(name, left_out)
    return local(spark, rows.select(schema.names).cast(to_arrow_schema(schema, timezone="UTC")), schema)


def _nothing(spark: SparkSession, name: str) -> DataFrame:
    schema = schema_of(name)
    return local(spark, pa.Table.from_pylist([], schema=to_arrow_schema(schema, timezone="UTC")), schema)


# Playing -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Played:
    """What a round did: its number (None: it was idle, or a dry run), who played when, the new rows, the world after it."""

    round: int | None = None
    turns: Mapping[str, datetime] = field(default_factory=dict)
    made: Rows = field(default_factory=dict)
    world: Rows = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """How many rows came to each table."""
        return {name: self.made[name].num_rows for name in WRITTEN if name in self.made and self.made[name].num_rows}


class Runner:
    """Plays the rounds of one lake."""

    def __init__(self, tables: Tables) -> None:
        """Nothing is read or locked before there is something to play."""
        self._tables = tables
        self._writer: Writer | None = None
        self._kept: Kept | None = None
        self._number = 0
        """The round after which the world is as it is kept here."""
        self._cursor = 0
        self._directory: dict[str, int] = {}
        self._news = False
        """Whether the directory has changed since the last round."""
        self._policies: dict[str, tuple[Mapping[str, Any], Policy]] = {}
        self._last: dict[str, datetime] = {}
        self.cut: frozenset[str] = frozenset()
        """Stores that are cut off in the rounds to come: what they send, or would get, is lost."""

    def round(self, now: datetime | None = None, *, dry_run: bool = False) -> Played:
        """One round of the organizations that have something to do by `now` (None: by the clock on the wall).

        An idle round writes nothing. A dry run plays on the world as it is, writes nothing, and is forgotten.
        Raises OtherWriterError where another plays, LakeError where the round cannot be written; then it does not count.
        """
        at = now or datetime.now(UTC)
        if self._kept is None and self._idle(at):
            return Played()
        return self._play(lambda due: {org: at for org, moment in due.items() if moment <= at or self._news}, dry_run)

    def run(self, until: datetime | None = None, until_quiet: bool = False) -> Iterator[Played]:
        """Rounds one after another, each played when it is asked for.

        `until` a time, or `until_quiet` (nothing left to do but what the calendar repeats for ever): at once, each
        organization going from one due moment to the next on its grid, start + k x interval. With neither: as time goes
        by, until it is interrupted.
        """
        ends: dict[str, datetime] = {}
        while until or until_quiet:
            played = self._play(lambda due: self._on_grid(due, until, until_quiet, ends))
            if not played.turns:
                return
            yield played
        while True:
            played = self.round()
            if played.turns:
                yield played
            else:
                time.sleep(LOOK_AGAIN)

    @property
    def has_world(self) -> bool:
        """Whether the world is known here already."""
        return self._kept is not None

    def due(self) -> dict[str, datetime]:
        """When each organization has something to do; absent: never, as things are."""
        self._look()
        return self._moments()

    def kept(self) -> Kept:
        """The world as the last round left it, with what people did since."""
        self._look()
        assert self._kept is not None
        return self._kept

    def close(self) -> None:
        """Gives the lake back and forgets its world."""
        self._kept = None
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    # What there is to do

    def _idle(self, now: datetime) -> bool:
        """Whether nothing is due by the last row of the ledger, and nobody has done anything since."""
        row = self._tables.snapshot().row
        same = self._people() == {name: row.versions[name] for name in (*DIRECTORY, "edits")}
        return same and all(due > now for due in row.next_due.values())

    def _people(self) -> dict[str, int]:
        return self._tables.versions((*DIRECTORY, "edits"))

    def _moments(self) -> dict[str, datetime]:
        """When each organization has something to do; absent: never, as things are."""
        assert self._kept is not None
        due = due_moments(self._kept, down=set(), suspended={org for org, (row, _) in self._policies.items() if row["suspended"]})
        edits = self._kept.tables["edits"]
        for org, at in zip(edits["org"].to_pylist(), edits["at"].to_pylist(), strict=True):
            due[org] = min(at, due.get(org, at))
        if self._news:
            due |= {org: self._last.get(org, row["start"]) for org, (row, _) in self._policies.items()}
        return {org: moment for org, moment in due.items() if org in self._policies}

    def _on_grid(
        self, due: Mapping[str, datetime], until: datetime | None, until_quiet: bool, ends: dict[str, datetime]
    ) -> dict[str, datetime]:
        """Each organization's next cycle, not before it is due, and after its last."""
        turns = {}
        for org, moment in due.items():
            if until_quiet and self._quiet(org):
                continue
            row, policy = self._policies[org]
            start, every = row["start"], policy.interval
            now = start + math.ceil((moment - start) / every) * every
            if org in self._last and now <= self._last[org]:
                now = start + (math.floor((self._last[org] - start) / every) + 1) * every
            if now <= (until or ends.setdefault(org, now + QUIET_WITHIN)):
                turns[org] = now
        return turns

    def _quiet(self, org: str) -> bool:
        assert self._kept is not None
        rows = {name: self._kept.tables[name] for name in ("mail", "edits", "agenda")}
        own = {name: table.filter(pc.equal(table["org"], org)) for name, table in rows.items()}
        waiting = own["mail"].num_rows or own["edits"].num_rows or self._news
        return not waiting and set(own["agenda"]["why"].to_pylist()) <= {Why.EXPIRE}

    # The world

    def _look(self) -> None:
        """Reads the world if it is not known here, else what is new since."""
        if self._kept is not None and self._writer is None and self._tables.snapshot().row.round != self._number:
            self._kept = None
        if self._kept is None:
            self._begin(self._tables.snapshot())
        self._take_up()

    def _begin(self, snapshot: Snapshot) -> None:
        directory = self._tables.versions(DIRECTORY)
        kept = Kept(self._tables.spark)
        for name, rows in world(snapshot).items():
            kept.append(name, rows)
        turns = snapshot.read("rounds").select("round", F.inline("turns"))
        self._last = {row["org"]: row["now"] for row in newest(turns, ["org"], "round").toArrow().to_pylist()}
        self._number, self._cursor = snapshot.row.round, snapshot.row.cursors["edits"]
        self._news = any(directory[name] != snapshot.row.versions[name] for name in DIRECTORY)
        self._directory = directory
        self._read_policies()
        self._kept = kept

    def _read_policies(self) -> None:
        rows = newest(self._tables.snapshot().read("organizations"), ["org"], "at").toArrow().to_pylist()
        self._policies = {row["org"]: (row, policy_of(row)) for row in rows}

    def _take_up(self) -> None:
        """What people did since: entries of the directory, and edits."""
        people, kept = self._people(), self._kept
        assert kept is not None
        directory = {name: people[name] for name in DIRECTORY}
        if directory != self._directory:
            self._read_directory(kept)
            self._directory, self._news = directory, True
        if people["edits"] > self._cursor:
            fresh = self._tables.edits_between(self._cursor, people["edits"]).toArrow()
            self._cursor = people["edits"]
            self._receive(kept, fresh)

    def _read_directory(self, kept: Kept) -> None:
        snapshot, spark = self._tables.snapshot(), self._tables.spark
        self._read_policies()
        rows = _computed({name: newest(snapshot.read(name), DIRECTORY[name], "at") for name in ("stores", "links")})
        tree, stores = _local(spark, "tree", kept.tables["tree"]), _local(spark, "stores", rows["stores"])
        rows["lists"] = list_views(tree, stores)[1].toArrow()
        for name, table in rows.items():
            kept.reset(name, ())
            kept.append(name, table)

    def _receive(self, kept: Kept, fresh: pa.Table) -> None:
        """New edits wait to be taken in; `taken` names those of them that were taken in before, within `edit_memory`."""
        if not fresh.num_rows:
            return
        ids = self._tables.spark.createDataFrame(fresh.select(["org", "edit_id"]).combine_chunks())
        receipts = self._tables.snapshot().read("receipts").where("edit_id is not null")
        before = receipts.join(ids.distinct(), ["org", "edit_id"], "left_semi").select("org", "edit_id", "at")
        remembered = {
            (row["org"], row["edit_id"])
            for row in before.toArrow().to_pylist()
            if row["org"] in self._policies
            and row["at"] > self._last.get(row["org"], row["at"]) - self._policies[row["org"]][1].edit_memory
        }
        kept.append("edits", fresh)
        kept.add("taken", [{"org": org, "edit_id": edit} for org, edit in sorted(remembered)])

    # A round

    def _play(
        self,
        choose: Callable[[Mapping[str, datetime]], dict[str, datetime]],
        dry_run: bool = False,
    ) -> Played:
        began = datetime.now(UTC)
        if not dry_run and self._writer is None:
            self._writer = Writer(self._tables)
        try:
            self._look()
            turns = choose(self._moments())
            if turns and dry_run:
                return self._rehearse(turns)
            if turns and self._taken_over():
                turns = choose(self._moments())
            if turns:
                return self._commit(turns, began)
        except BaseException:
            self.close()  # what was written under this number is void; whoever goes on takes the next
            raise
        if self._writer is not None and self._writer.last is None:
            self.close()
        return Played()

    def _taken_over(self) -> bool:
        """Opens the ledger before the first round; whether others played meanwhile, so that the world was read anew."""
        assert self._writer is not None
        if self._writer.last is not None:
            return False
        snapshot = self._writer.open()
        behind = snapshot.row.round != self._number + 1
        if behind:
            self._begin(snapshot)
            self._take_up()
        self._number = snapshot.row.round
        return behind

    def _rehearse(self, turns: Mapping[str, datetime]) -> Played:
        assert self._kept is not None
        trial = Kept(self._tables.spark)
        for name, rows in self._kept.tables.items():
            trial.put(name, rows)
        return Played(None, turns, self._new_rows(trial, turns), trial.tables)

    def _commit(self, turns: Mapping[str, datetime], began: datetime) -> Played:
        assert self._kept is not None and self._writer is not None and self._writer.last is not None
        tables, before = self._tables, self._writer.last
        number = before.round + 1
        made = self._new_rows(self._kept, turns)
        self._last |= turns
        self._news = False
        played = Played(number, turns, made, dict(self._kept.tables))
        with ThreadPoolExecutor(THREADS) as threads:
            list(threads.map(lambda name: tables.append(name, made[name], number), played.counts))
        changing = played.counts if tables.folder is None else WRITTEN
        versions = {
            **before.versions,
            **tables.versions([*changing, "content"]),
            **self._directory,
            "edits": self._cursor,
        }
        self._writer.record(
            Row(
                number, "played", self._writer.name, turns, began, datetime.now(UTC), versions, {"edits": self._cursor},
                played.counts, self._moments(),
            )
        )  # fmt: skip
        self._number = number
        return played

    def _new_rows(self, kept: Kept, turns: Mapping[str, datetime]) -> dict[str, pa.Table]:
        """Plays the round on that world; the new rows of every table."""
        newcomers = _admit(kept, turns)
        cut = [{"org": org, "store": name, "cut": True, "down": False} for org in turns for name in sorted(self.cut)]
        kept.reset("conditions", cut)
        columns = {
            org: {
                "now": now,
                "start": self._policies[org][0]["start"],
                "suspended": bool(self._policies[org][0]["suspended"]),
                **self._policies[org][1].columns(),
            }
            for org, now in turns.items()
        }
        made = kept.play(columns)
        made["replicas"] = _with_rows(made["replicas"], newcomers)
        made["backfill"] = _with_rows(made["backfill"], _named(made, turns))
        _forget_repeats(kept)
        return made


def policy_of(row: Mapping[str, Any]) -> Policy:
    """The policy that a row of `organizations` says."""
    return override(load_profile(row["profile"], conf_folder()), json.loads(row["options"] or "{}"))


def _admit(kept: Kept, turns: Mapping[str, datetime]) -> list[dict[str, Any]]:
    """The replicas of the hierarchy that new stores get; one that joins others asks them for status (R87, R131)."""
    known = set(zip(*(kept.tables["replicas"][name].to_pylist() for name in ("org", "store")), strict=True))
    new = [
        {"org": row["org"], "store": row["store"], "folder": HIERARCHY}
        for row in kept.tables["stores"].to_pylist()
        if row["org"] in turns and not row["retired"] and (row["org"], row["store"]) not in known
    ]
    settled = {org for org, _ in known}
    asking = [row for row in new if row["org"] in settled]
    begun = [{**row, "life": 1, "standing": str(Standing.ACTIVE), "at": turns[row["org"]]} for row in new]
    kept.add("replicas", begun)
    kept.add("agenda", [{**row, "why": str(Why.ASK), "peer": "", "attempt": 0, "due": turns[row["org"]]} for row in asking])
    return begun


def _named(made: Rows, turns: Mapping[str, datetime]) -> list[dict[str, Any]]:
    """Rows of `backfill` for those who were named to answer a status request, and so count as asked last (R126)."""
    asked = {(row["org"], row["store"], row["of"]) for row in made["backfill"].to_pylist()}
    return [
        {"org": row["org"], "store": row["store"], "step": "named", "of": row["peer"], "at": row["asked"]}
        for row in made["contacts"].to_pylist()
        if row["asked"] == turns[row["org"]] and tuple(row[name] for name in PAIR) not in asked
    ]


def _forget_repeats(kept: Kept) -> None:
    """Edits that were taken in before and are not due yet need not wait to be refused."""
    taken = kept.tables["taken"]
    if taken.num_rows:
        names = set(zip(taken["org"].to_pylist(), taken["edit_id"].to_pylist(), strict=True))
        edits = kept.tables["edits"]
        stay = [key not in names for key in zip(edits["org"].to_pylist(), edits["edit_id"].to_pylist(), strict=True)]
        kept.put("edits", edits.filter(pa.array(stay, pa.bool_())))
        kept.reset("taken", ())


def _with_rows(table: pa.Table, rows: list[dict[str, Any]]) -> pa.Table:
    return pa.concat_tables([table, pa.Table.from_pylist(rows, schema=table.schema)]) if rows else table
