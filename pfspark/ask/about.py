"""What is asked about, and what is read for it: the views of a world and facts of the past, given to `why` as it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pfspark import cnset, cntext
from pfspark.ask import deletions, why
from pfspark.ask.gaps import asked_of
from pfspark.ask.stores import set_of
from pfspark.errors import CnSetError
from pfspark.execute import Made, execute
from pfspark.keyed import ByName, distinct, semi_join, together
from pfspark.keys import FOLDER, MESSAGE
from pfspark.materializer import Materializer
from pfspark.printed import Line
from pfspark.references import became, named
from pfspark.rows import arrow, local, schema_like, schema_of, struct
from pfspark.schedules import Grid
from pfspark.tables import FRAMES
from pfspark.words import Entry, Outcome

VIEWS = (
    "stores", "links", "lists", "replicas", "state", "array", "agenda", "contacts", "lives", "mail", "letters", "changes",
    "conditions", "tree",
)  # fmt: skip
OF_FOLDER = ("lists", "replicas", "state", "array", "agenda", "lives", "mail", "changes", "tree")
"""The views of which only the folders asked about are read."""
RANGE_DDL = FRAMES["ranges"].ddl
GIVEN = {
    "asked": RANGE_DDL,
    "pairs": FRAMES["keys"].ddl,
    "none": RANGE_DDL,
    "grid": "org string, now timestamp, anchor timestamp, every_s bigint",
}
"""What is asked about, ranges of numbers and replicas all that lacks at which; no ranges; and when organizations play."""
FACTS = {
    "log": f"{RANGE_DDL}, entry string, at timestamp",
    "requests": f"{RANGE_DDL}, of string, at timestamp",
    "refusals": f"{RANGE_DDL}, of string, reason string, message_id string, at timestamp",
}
"""What is read of the past: numbers that stores have written as their own, requests, and content that was refused."""


def _names(fact: str) -> list[str]:
    return struct(FACTS[fact]).names


def own(state: DataFrame) -> DataFrame:
    """Rows of `state` in which stores say what their own replicas have, with content or without."""
    return state.where((cnset.store_of("about") == F.col("store")) & F.col("entry").isin(Entry.APPLIED, Entry.EMPTY))


def log_of(state: DataFrame) -> DataFrame:
    """What stores wrote of their own replicas, as `log`."""
    return own(state).select(*_names("log"))


def requests_of(steps: DataFrame) -> DataFrame:
    """Rows of `backfill` by which numbers were asked for, as `requests`."""
    return asked_of(steps).select(*_names("requests"))


def refusals_of(receipts: DataFrame, messages: DataFrame) -> DataFrame:
    """Receipts by which messages were refused, with the numbers that these carried, as `refusals`."""
    refused = receipts.where((F.col("outcome") == Outcome.REFUSED) & F.col("message_id").isNotNull())
    sent = messages.select("org", "message_id", F.col("store").alias("of"), F.inline("carries"))
    rows = refused.select("org", "message_id", "store", "folder", "reason", "at").join(sent, ["org", "message_id"])
    return rows.select(*_names("refusals"))


def numbers_of(tables: ByName, org: str, folder: str, item: str) -> cntext.CnSet:
    """The numbers that an item's name, or a text of numbers, means in a folder: of a name all versions of all such items, also
    where it reads as numbers; of `@` and an edit those of the item that it is about."""
    numbers: cntext.CnSet = {}
    with suppress(CnSetError):
        numbers = cntext.parse(item)
    changes = tables["changes"]
    changes = changes.filter(pc.and_(pc.equal(changes["org"], org), pc.equal(changes["folder"], folder)))
    made = became(changes, named(pa.array([org]), pa.array([item])))["object"]
    objects = pa.chunked_array([*changes.filter(pc.equal(changes["name"], item))["object"].chunks, *made.chunks], pa.string())
    versions = changes.filter(pc.is_in(changes["object"], objects)).select(["origin", "cn"]).to_pylist()
    of_name = set_of({"origin": row["origin"], "cn_min": row["cn"], "cn_max": row["cn"]} for row in versions)
    return cntext.union(numbers, of_name)


def edit_rows(
    edits: Iterable[Line],
    refused: Mapping[tuple[str, str], Line],
    now: datetime,
    grid: Grid,
    store: str,
    folder: str,
    down: Collection[tuple[str, str]] = (),
) -> Iterator[Line]:
    """Edits without a number, as `Telling.of_edits` takes them: what a store that asks may know of each.

    `refused` are the receipts of those that were refused; the others wait, for the first round of their organization's grid
    that is not before them; at a store that is `down` for none that is known.
    """
    for row in edits:
        receipt, waits = refused.get((row["org"], row["edit_id"])), (row["org"], row["store"]) in down
        yield {
            **{name: row.get(name) for name in ("org", "edit_id", "store", "name", "at")},
            "asked_at": store,
            "folder": folder,
            "reason": receipt and receipt["reason"],
            "refused": receipt and receipt["at"],
            "next_at": None if receipt or waits else grid.next_round(row["at"] or now, now),
        }


@dataclass(frozen=True)
class About:
    """What is asked about: numbers of a folder at a store, as the text `item` means them; None: all that is not there."""

    org: str
    store: str
    folder: str
    item: str | None = None
    numbers: cntext.CnSet | None = None

    @classmethod
    def of(cls, tables: ByName, org: str, store: str, folder: str, item: str | None) -> About:
        """What those words mean in that world."""
        return cls(org, store, folder, item, None if item is None else numbers_of(tables, org, folder, item))

    @property
    def pair(self) -> Line:
        """As a row of `pairs`."""
        return {"org": self.org, "store": self.store, "folder": self.folder}

    def ranges(self) -> Iterator[Line]:
        """As rows of `asked`."""
        for origin, spans in (self.numbers or {}).items():
            for low, high in spans:
                yield {**self.pair, "origin": origin, "cn_min": low, "cn_max": high}


def explain(
    spark: SparkSession,
    tables: ByName,
    clock: pa.Table,
    grid: Mapping[str, Grid],
    facts: Mapping[str, Callable[[], DataFrame]],
    asked: Iterable[About],
    materializer: Materializer,
) -> list[Line]:
    """What can be said of what is asked about: rows of `explained`.

    `tables` are the views of a world, of which only the folders asked about are read; `facts` are those of `FACTS`; `clock` is
    the time and policy of each organization, `grid` when it plays. Numbers that a folder never had are in no row. What comes next
    where the folder's deletion comes first nobody can say: it has no time.
    """
    about = list(asked)
    turns = {row["org"]: (grid[row["org"]], row["now"]) for row in clock.select(["org", "now"]).to_pylist() if row["org"] in grid}
    rows = {
        "asked": (row for each in about for row in each.ranges()),
        "pairs": (each.pair for each in about if each.numbers is None),
        "none": (),
        "grid": ({"org": org, "now": now, **each.columns()} for org, (each, now) in turns.items()),
    }
    named = {name: arrow(struct(GIVEN[name]), some) for name, some in rows.items()}
    folders = distinct(together(*(named[name].select(list(FOLDER)) for name in ("asked", "pairs"))), FOLDER)

    def view(name: str) -> Made:
        table = semi_join(tables[name], folders, FOLDER) if name in OF_FOLDER else tables[name]
        if name == "letters":
            table = semi_join(table, semi_join(tables["mail"], folders, FOLDER), MESSAGE)
        return Made.of(table, schema_like(name, table), materializer)

    given = {name: Made.of(table, struct(GIVEN[name]), materializer) for name, table in named.items()}
    given |= {"clock": Made.of(clock, schema_of("clock"), materializer)} | {name: view(name) for name in VIEWS}
    given |= _facts_of(folders, facts, spark)
    said: list[Line] = execute(spark, {"said": why.graph()}, given, materializer)["said"].to_pylist()
    return deletions.forestall(said, tables, turns)


def _facts_of(folders: pa.Table, facts: Mapping[str, Callable[[], DataFrame]], spark: SparkSession) -> dict[str, Made]:
    """The facts of the folders that are asked about, by name."""
    there = local(spark, folders, struct("org string, folder string"))

    def fact(name: str) -> Made:
        return Made(lambda _spark: facts[name]().join(there, list(FOLDER), "left_semi"))

    return {name: fact(name) for name in FACTS}
