"""Playing rounds one after another: the world between two rounds, held here as Arrow tables, the large ones in files.

A round is handed the rows that it concerns (`views`): few in memory, where their exact size keeps plans short, many as a
file where executors can read it. What it gives is folded into the world by key. A lake's world is read once and then held
in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from pfspark import cnarrow, mapped
from pfspark.execute import Listener, Made, execute, to_nobody
from pfspark.keyed import MOST, ByName, anti_join, semi_join, together, with_columns
from pfspark.keys import HERE, MESSAGE, STORE
from pfspark.materializer import ALL_LOCAL, Materializer
from pfspark.rows import Session, arrow, rows_of, schema_of, struct
from pfspark.tables import REPLACED, REPLACED_IN
from pfspark.views import Concern
from pfspark.words import HIERARCHY, MessageType, Standing, Why
from pfspark.world import Results, World

RANGE_KEY = (*HERE, "entry", "about", "origin", "relayed")
"""Ranges of the replication state table that are alike in these say the same of their numbers."""
FEW = 200
"""Below so many rows of `state` the ranges of a folder are not joined: to read them costs nothing that can be measured."""
READING = 4
"""Tables that are read at once."""
_NOT_NEEDED = {
    "stores": ("at",),
    "links": ("at",),
    "edits": ("written",),
    "changes": ("round",),
    "replicas": ("round",),
    "state": ("round", "at"),
    "agenda": ("round", "at"),
}
"""Columns of the tables that a world does not need between rounds."""


class Between:
    """The world between two rounds."""

    def __init__(
        self,
        spark: Session,
        rows: Mapping[str, Iterable[Mapping[str, Any]]] | None = None,
        materializer: Materializer = ALL_LOCAL,
    ) -> None:
        """A world of the given rows by table or view; what is not given is empty.

        `materializer` says how a step of a round is made.
        """
        self._spark = spark
        self.materializer = materializer
        self._schemas = {
            field.name: schema_of(field.name, _NOT_NEEDED.get(field.name, ())) for field in fields(World) if field.name != "taken"
        }
        self._schemas["taken"] = struct("org string, edit_id string")
        self.tables: dict[str, pa.Table] = {}
        self._joined = arrow(struct("org string, store string, folder string, before bigint"), ())
        """How many rows of `state` a folder of a store had when they were joined last."""
        self._merges: dict[str, str] = {}
        """How the trees of organizations are known to be merged."""
        for name, schema in self._schemas.items():
            self.tables[name] = arrow(schema, (rows or {}).get(name, ()))

    @property
    def spark(self) -> SparkSession:
        """The session in which it is played, started when it is first needed."""
        if callable(self._spark):
            self._spark = self._spark()
        return self._spark

    @property
    def _session(self) -> Session:
        """The session, or what starts it."""
        return (lambda: self.spark) if callable(self._spark) else self._spark

    def replace(self, name: str, rows: pa.Table | Iterable[Mapping[str, Any]]) -> None:
        """A table of the world becomes these rows; columns that the world does not need are left out."""
        self.tables[name] = mapped.settled(self._fit(name, rows))

    def append(self, name: str, rows: pa.Table | Iterable[Mapping[str, Any]]) -> None:
        """More rows of a table of the world; columns that the world does not need are left out."""
        more = self._fit(name, rows)
        if more.num_rows:
            self.replace(name, pa.concat_tables([self.tables[name], more]))

    def _fit(self, name: str, rows: pa.Table | Iterable[Mapping[str, Any]]) -> pa.Table:
        schema = self.tables[name].schema
        if not isinstance(rows, pa.Table):
            return pa.Table.from_pylist(list(rows), schema=schema)
        return rows if rows.schema.equals(schema) else rows.select(schema.names).cast(schema)

    def play(self, turns: Mapping[str, Mapping[str, Any]], told: Listener = to_nobody) -> dict[str, pa.Table]:
        """One round of the organizations named: their columns of `clock` by name. Gives the new rows of every table.

        `told` is told of the rows of each as soon as they are here; where the round must be made once more, again.
        """
        clock = rows_of("clock", ({"org": org, **columns} for org, columns in sorted(turns.items())))
        self._merge_as(clock)
        concern = Concern.of(self.tables, clock)
        given = self.given(clock, concern)
        made = self._make(given, told)
        if (unforeseen := concern.unforeseen(made["tree"], self.tables["tree"])).num_rows:
            given = self.given(clock, concern.and_all_of(unforeseen))
            made = self._make(given, told)
        self.fold(made, given["state"].on_driver)
        return made

    def _merge_as(self, clock: pa.Table) -> None:
        """Draws the trees anew of organizations that merge the hierarchy otherwise from now on (F31)."""
        says = dict(zip(clock["org"].to_pylist(), clock["hierarchy_merge"].to_pylist(), strict=True))
        if not says.items() <= self._merges.items():
            from pfspark import merging

            if (others := merging.merged_otherwise(self.tables["tree"], clock)).num_rows:
                self._draw_anew(others)
            self._merges |= says

    def merge_anew(self, org: str) -> None:
        """An organization's trees may have been merged otherwise than it last said: the next round looks."""
        self._merges.pop(org, None)

    def _draw_anew(self, clock: pa.Table) -> None:
        from pfspark import merging

        orgs = clock.select(["org"])
        none = {merging.OF_NONE: Made.of(rows_of("tree", ()), schema_of("tree"), self.materializer)}
        given = self.of(orgs["org"].to_pylist(), "changes", "state", "replicas") | {"clock": self._clock(clock)} | none
        for name, rows in execute(self._session, merging.anew(), given, self.materializer).items():
            # The list of the hierarchy stays: it is the directory's.
            of_directory = semi_join(self.tables[name], orgs, ["org"]).filter(pc.field("folder") == HIERARCHY)
            self.replace(name, together(anti_join(self.tables[name], orgs, ["org"]), of_directory))
            self.append(name, rows)

    def _clock(self, rows: pa.Table) -> Made:
        return Made.of(rows, schema_of("clock"), self.materializer)

    def _make(self, given: Mapping[str, Made], told: Listener) -> dict[str, pa.Table]:
        from pfspark.round import graph  # who only reads a world does not wait for all the rules

        outcome = graph()
        wanted = {each.name: getattr(outcome, each.name) for each in fields(Results)}
        return execute(self._session, wanted, given, self.materializer, told)

    def given(self, clock: pa.Table, concern: Concern) -> dict[str, Made]:
        """What a round is given, by name; several large tables are read at once, for Arrow looks through them on its own."""
        views = [self.tables[name] for name in self._schemas]
        with ThreadPoolExecutor(READING) as threads:
            reading = threads.map if any(view.num_rows > MOST for view in views) else map
            rows = [*reading(concern.read, self._schemas, views)]
        read = zip(self._schemas.items(), rows, strict=True)
        return {name: Made.of(some, schema, self.materializer) for (name, schema), some in read} | {"clock": self._clock(clock)}

    def of(self, orgs: Iterable[str], *names: str) -> dict[str, Made]:
        """The rows of those organizations in the tables that are named, as `execute` is given them."""
        theirs = pa.array(sorted(orgs), pa.string())
        rows = {name: self.tables[name].filter(pc.is_in(self.tables[name]["org"], theirs)) for name in names}
        return {name: Made.of(some, self._schemas[name], self.materializer) for name, some in rows.items()}

    def fold(self, made: ByName, state: pa.Table) -> None:
        """The world after a round that was given those rows of `state`."""
        for name in ("changes", "state"):
            self.append(name, made[name])
        self._join_ranges(made["dirty"], together(state, made["state"]))
        for name, key in REPLACED.items():
            self.replace(name, anti_join(self.tables[name], made[REPLACED_IN.get(name, name)], key))
            self.append(name, made[name])
        erased = made["replicas"].filter(pc.equal(made["replicas"]["standing"], str(Standing.ERASED)))
        if erased.num_rows:  # a replica that is made again begins with an empty table (R7)
            self.replace("state", anti_join(self.tables["state"], erased, HERE))
        self.replace("agenda", self.tables["agenda"].filter(pc.is_valid(self.tables["agenda"]["due"])))
        self._deliver(made["messages"], made["receipts"])

    def _join_ranges(self, dirty: pa.Table, known: pa.Table) -> None:
        """One range for those that touch, in the folders that were looked at: each round adds what it learns.

        Not before a folder has twice as many rows, of those that the round has known, as after the last time: so it costs next to
        nothing a round, and what lies elsewhere is not looked through.
        """
        held = semi_join(known, dirty, HERE)
        counted = held.group_by(list(HERE)).aggregate([("origin", "count")])
        many = counted.filter(pc.greater_equal(counted["origin_count"], FEW)).join(self._joined, list(HERE))
        least = pc.add(pc.multiply(pc.fill_null(many["before"], 0), 2), FEW)
        keys = many.filter(pc.greater_equal(many["origin_count"], least)).select(list(HERE))
        if not keys.num_rows:
            return
        rows = semi_join(self.tables["state"], keys, HERE)
        joined = cnarrow.canonical(rows, RANGE_KEY)
        self.replace("state", anti_join(self.tables["state"], keys, HERE))
        self.append("state", joined)
        after = joined.group_by(list(HERE)).aggregate([("origin", "count")]).rename_columns({"origin_count": "before"})
        self._joined = together(anti_join(self._joined, after, HERE), after)

    def _deliver(self, messages: pa.Table, receipts: pa.Table) -> None:
        received = receipts.select(["org", "message_id", "store"]).rename_columns(["org", "message_id", "recipient"])
        self.replace("mail", anti_join(self.tables["mail"], received, received.column_names))
        self.replace("edits", anti_join(self.tables["edits"], receipts, ["org", "edit_id"]))
        sent = pc.list_parent_indices(messages["recipients"].combine_chunks())
        each_to = pc.list_flatten(messages["recipients"].combine_chunks())
        to = {mail: pc.struct_field(each_to, name) for mail, name in (("recipient", "store"), ("due", "due"), ("lost", "lost"))}
        self.append("mail", with_columns(messages.drop_columns(["recipients", "status"]).take(sent), **to))
        self.append("letters", messages)
        self.replace("letters", semi_join(self.tables["letters"], self.tables["mail"], MESSAGE))


def due_moments(world: Between, *, suspended: set[str]) -> dict[str, datetime]:
    """The earliest moment at which each organization has something to do: mail that arrives, an entry that falls due.

    What is due at a store that is down waits, and so does what a suspended organization holds back; neither calls for a
    round. Requests do not wait at the door of a store that is down or cut off: there they are lost.
    """
    mail, agenda, conditions = (world.tables[name] for name in ("mail", "agenda", "conditions"))
    down = conditions.filter(conditions["down"])
    out = conditions.filter(pc.or_(conditions["down"], conditions["cut"])).rename_columns({"store": "recipient"})

    def held_back(rows: pa.Table, column: str, *kinds: str) -> pa.Array:
        of_content = pc.and_(pc.is_in(rows[column], pa.array(kinds)), pc.not_equal(rows["folder"], HIERARCHY))
        return pc.and_(of_content, pc.is_in(rows["org"], pa.array(sorted(suspended), pa.string())))

    at_the_door = held_back(mail, "type", str(MessageType.BACKFILL_REQUEST))
    arriving = [mail.filter(pc.invert(at_the_door)), semi_join(mail.filter(at_the_door), out, ("org", "recipient"))]
    awake = anti_join(agenda, down, STORE)
    falling_due = awake.filter(pc.invert(held_back(awake, "why", str(Why.BACKFILL), str(Why.SEND))))
    moments = pa.concat_tables([each.select(["org", "due"]) for each in (*arriving, falling_due)])
    earliest = moments.group_by("org").aggregate([("due", "min")])
    return dict(zip(earliest["org"].to_pylist(), earliest["due_min"].to_pylist(), strict=True))
