"""Of whom stores could have asked what they asked for, in their order, and by which sort keys that was decided (R97-R119)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pfspark import cnset, cntext
from pfspark.ask import lines
from pfspark.ask.stores import set_of
from pfspark.keyed import ByName, of_folders
from pfspark.keys import HERE, ORIGIN_HERE
from pfspark.printed import Line
from pfspark.rows import arrow, local, schema_like, struct
from pfspark.rules import sources, state, status
from pfspark.rules.frames import in_folders
from pfspark.tables import FRAMES
from pfspark.words import SAYS_NOTHING

Request = tuple[int, str, str]
"""Round, store and folder."""
VIEWS = ("state", "replicas", "array", "lists", "lives", "stores", "links", "contacts", "clock")
"""What is read of the world after a round that asked; but `contacts` as they stood before it did."""
ASKED = FRAMES["ranges"].ddl


def candidates(asked: DataFrame, world: Mapping[str, DataFrame]) -> DataFrame:
    """One row for each source of each (org, store, folder) that asked: what `sources.consider` says of it, and `gives`, what of
    the ranges in `asked` it can give.
    """
    beliefs = state.believed(world["state"], replicas=world["replicas"])
    claims = state.claims(beliefs, holders=status.holders(world["lists"]), lives=world["lives"], stores=world["stores"])
    gives = sources.content(in_folders(claims, asked))
    known = {name: world[name] for name in ("stores", "links", "contacts", "clock")}
    considered = sources.consider(in_folders(world["array"], asked), gives=gives, **known)
    of_it = cnset.canonical(cnset.meet(gives, asked, ORIGIN_HERE), (*ORIGIN_HERE, "peer"))
    span = F.struct("origin", "cn_min", "cn_max")
    given = of_it.groupBy(*HERE, "peer").agg(F.array_sort(F.collect_list(span)).alias("gives"))
    return considered.join(given, [*HERE, "peer"], "left")


def found(spark: SparkSession, asked: Iterable[tuple[int, Line]], worlds: Mapping[int, ByName]) -> dict[Request, list[Line]]:
    """Of each request its candidates in order, all in one job: `asked` are ranges with the round in which they were asked for,
    `worlds` the tables of `VIEWS` of each such round, of one organization.
    """
    ranges = arrow(struct(ASKED), [{**row, "org": str(number)} for number, row in asked if number in worlds])
    if not ranges.num_rows:
        return {}
    told: dict[Request, list[Line]] = {}
    folders = ranges["folder"].unique().to_pylist()
    world = {name: _side_by_side(spark, name, worlds, folders) for name in VIEWS}
    rows = candidates(local(spark, ranges, struct(ASKED)).distinct(), world).toArrow().to_pylist()
    for row in sorted(rows, key=lambda row: row["nth"]):
        told.setdefault((int(row["org"]), row["store"], row["folder"]), []).append(row)
    return told


def line(row: Line, span: Line) -> Line:
    """A candidate as a line says it, with what it can give of that range."""
    met = ({**one, "cn_min": max(one["cn_min"], span["cn_min"]), "cn_max": min(one["cn_max"], span["cn_max"])}
           for one in row["gives"] or () if one["origin"] == span["origin"])  # fmt: skip
    return {
        "store": row["peer"],
        "gives": cntext.show(set_of([one for one in met if one["cn_min"] <= one["cn_max"]])),
        "amount": row["amount"],
        "keys": [
            {"key": key, "value": None if value == SAYS_NOTHING else value}
            for key, value in zip(row["keys"], row["values"], strict=True)
        ],
    }


def deciding(asked_of: str, considered: Sequence[Line]) -> str | None:
    """The sort key by which a source comes before the next that can give any of it (candidates of a line); None: by its name,
    or there is no other."""
    able = [each for each in considered if each["gives"]]
    place = next((nth for nth, each in enumerate(able) if each["store"] == asked_of), len(able))
    pairs = zip(able[place]["keys"], able[place + 1]["keys"], strict=True) if place + 1 < len(able) else ()
    return next((mine["key"] for mine, other in pairs if mine != other), None)


def spelled(key: str, value: int | None) -> str:
    """What a sort key is for a source, as people say it."""
    match key.rpartition(" ")[2], value:
        case _, None:
            return "-"
        case "longest_ago", 0:
            return "never"
        case "longest_ago", micros:
            return lines.moment(datetime.fromtimestamp(micros / 1e6, UTC))
        case "older_version", thousandths:
            return f"{-thousandths / 1000:g}"
        case "fewer", amount:
            return str(-amount)
        case "unavailable" | "not_preferred" | "has_less" | "earlier_group", holds:
            return "yes" if holds else "no"
    return str(value)


def _side_by_side(spark: SparkSession, name: str, worlds: Mapping[int, ByName], folders: Collection[str]) -> DataFrame:
    """A view of each round, of those folders alone, as that of an organization by the name of the round: rules never look beyond
    one."""
    tables = [_named(tables[name], str(number), folders) for number, tables in sorted(worlds.items())]
    return local(spark, pa.concat_tables(tables), schema_like(name, tables[0]))


def _named(rows: pa.Table, org: str, folders: Collection[str]) -> pa.Table:
    about = of_folders(rows, folders) if "folder" in rows.column_names else rows
    return about.set_column(rows.column_names.index("org"), rows.schema.field("org"), pa.repeat(pa.scalar(org), about.num_rows))
