"""The world of a lake between two rounds, read from its tables: from the facts of the first on, and what people say (`views`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from pfspark import merging
from pfspark.between import Between
from pfspark.edge.delta.damage import REFUSALS, damage
from pfspark.edge.delta.ledger import FACTS
from pfspark.edge.delta.snapshot import Snapshot
from pfspark.edge.delta.stored import Stored
from pfspark.edge.spark.crossing import BY_FILES
from pfspark.edge.world.directory import DIRECTORY, directory, merging_whole
from pfspark.edge.world.some_rows import EitherOf, in_arrow, in_spark
from pfspark.edge.world.views import graph, remembered, since_restored
from pfspark.execute import Made, execute
from pfspark.graph import steps
from pfspark.keyed import ByName
from pfspark.materializer import Materializer
from pfspark.rows import arrow, arrow_schema, local, rows_of, schema_like, struct
from pfspark.tables import FRAMES
from pfspark.words import HIERARCHY

OF_ALL: Mapping[str, EitherOf] = {}
BY_TWINS = ("changes", "state", "replicas", "agenda")
"""Of which the views are made in Arrow, where their rows are here."""
TREE: EitherOf = ({"folder": {HIERARCHY}},)
"""What is of the hierarchy."""
OF_TREES: Mapping[str, EitherOf] = {"state": TREE}
"""The own state of which trees are drawn."""
RESTORES = struct("org string, store string, restored bigint, to bigint")
"""Restores of stores: in which round, and to after which."""


def last_restores(snapshot: Snapshot) -> DataFrame:
    """When each store that was restored was restored last: `RESTORES`."""
    return local(snapshot.tables.spark, _last_restores(snapshot), RESTORES)


def undone(snapshot: Snapshot) -> DataFrame:
    """What restores took back of what their stores had heard: `RESTORES`."""
    return local(snapshot.tables.spark, _undone(snapshot), RESTORES)


def _last_restores(snapshot: Snapshot) -> pa.Table:
    return arrow(RESTORES, (some[-1] for some in _restores(snapshot).values()))


def _undone(snapshot: Snapshot) -> pa.Table:
    """The restores of each store that no later one has undone: one to a moment before an earlier restore undoes that too."""

    def counting(some: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        before = snapshot.row.round
        for each in reversed(some):
            if each["restored"] <= before:
                yield each
                before = each["to"]

    return arrow(RESTORES, (each for some in _restores(snapshot).values() for each in counting(some)))


def _restores(snapshot: Snapshot) -> Mapping[tuple[str, str], list[dict[str, Any]]]:
    """The restores of each store, in their order."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for number, some in sorted(snapshot.restores.items()):
        for each in some:
            found[each.org, each.store].append({"org": each.org, "store": each.store, "restored": number, "to": each.to})
    return found


def contacts_before_asking(snapshot: Snapshot) -> pa.Table:
    """The view `contacts` as it stood when the snapshot's round asked: with what had come in, without what that round asked."""
    steps = since_restored(snapshot.read("backfill"), restored=last_restores(snapshot))
    return remembered(snapshot.read("receipts"), steps.where(F.col("round") < snapshot.row.round)).toArrow()


def world(snapshot: Snapshot) -> dict[str, pa.Table]:
    """The world between two rounds, from the tables: see `between.Between`.

    `edits` are those without a receipt.
    """
    return views(snapshot)


def trees(snapshot: Snapshot) -> dict[str, pa.Table]:
    """As much of the world as paths need, and the verdict on an edit: `stores`, `tree`, `folders`, `lists`, `replicas`, and
    the edits that wait."""
    return views(snapshot, ("stores", "edits", "tree", "folders", "lists", "replicas"), OF_TREES)


def views(snapshot: Snapshot, names: Iterable[str] = (), only: Mapping[str, EitherOf] = OF_ALL) -> dict[str, pa.Table]:
    """Those views of what the tables say, or all; of a table that stands in `only`, of these rows alone.

    Raises DamageError where a file of theirs is gone.
    """
    wanted = {name: view for name, view in graph().items() if not names or name in names}
    asked = {step.name for step in steps(wanted.values()) if step.rule is None}
    known = directory(snapshot, [name for name in DIRECTORY if name in asked or name == "organizations"])
    given = {
        **{name: as_made(name, known[name]) for name in DIRECTORY if name in asked},
        **{name: _facts(snapshot, name, only.get(name)) for name in (*FACTS, "edits") if name in asked},
        "restored": Made.of(_last_restores(snapshot), RESTORES, BY_FILES),
        "undone": Made.of(_undone(snapshot), RESTORES, BY_FILES),
        "whole": Made.of(merging_whole(known["organizations"]), struct(FRAMES["orgs"].ddl), BY_FILES),
        merging.OF_NONE: as_made("tree", rows_of("tree", ())),
        "no lives": as_made("lives", rows_of("lives", ())),
    }
    try:
        return execute(snapshot.tables.spark, wanted, given, BY_FILES)
    except REFUSALS as error:
        if told := damage(error):
            raise told from error
        raise


def _facts(snapshot: Snapshot, name: str, only: EitherOf | None) -> Made:
    """The valid rows of a table, all or some only: where they are few, or no more than can be looked through, they are here."""
    if (few := snapshot.few(name)) is not None:
        return as_made(name, few if only is None else few.filter(in_arrow(only)))
    is_here = (only is not None or name in BY_TWINS) and snapshot.is_at_hand(name)
    if is_here and (found := snapshot.arrow(name, only and in_arrow(only))) is not None:
        return as_made(name, found)
    return Made(lambda _spark: snapshot.read(name) if only is None else snapshot.read(name).where(in_spark(only)))


def world_between(snapshot: Snapshot, materializer: Materializer = BY_FILES) -> Between:
    """That world, to be played on."""
    return as_between(snapshot.tables, world(snapshot), materializer)


def as_between(tables: Stored, views: ByName, materializer: Materializer = BY_FILES) -> Between:
    """Those views of a lake as a world; what is not given is empty. `materializer` says how its rounds are made."""
    made = Between(tables.session, materializer=materializer)
    for name, rows in views.items():
        made.append(name, rows)
    return made


def as_frame(spark: SparkSession, name: str, rows: pa.Table) -> DataFrame:
    """Rows of a table or view as a frame; columns that they do not have are left out."""
    return local(spark, *_fitted(name, rows))


def as_made(name: str, rows: pa.Table) -> Made:
    """Rows of a table or view as a step is given them; columns that they do not have are left out."""
    return Made.of(*_fitted(name, rows), BY_FILES)


def _fitted(name: str, rows: pa.Table) -> tuple[pa.Table, StructType]:
    schema = schema_like(name, rows)
    return rows.select(schema.names).cast(arrow_schema(schema)), schema
