"""The directory of a lake: organizations, stores and links as administrators say them, and the policies by which they play."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from pfspark import cntext, said
from pfspark.edge.config import conf_folder
from pfspark.edge.delta.snapshot import Snapshot
from pfspark.errors import UsageError
from pfspark.execute import Made, execute
from pfspark.frame import source
from pfspark.keyed import ByName
from pfspark.keys import STORE
from pfspark.rules import intake
from pfspark.rules.frames import once
from pfspark.schedules import is_night
from pfspark.settings import Policy, load_profile, override
from pfspark.words import FIRST, LARGEST, LAST, LONGEST_S, SLOTS

DIRECTORY = {"organizations": ("org",), "stores": STORE, "links": ("org", "from_site", "to_site")}
"""The tables that administrators write, with what names an entry; the latest row wins."""


def directory(snapshot: Snapshot, names: Iterable[str] = DIRECTORY) -> dict[str, pa.Table]:
    """The entries of the directory, each table by its name: the latest row of each; links that were taken away are none."""
    there = pc.field("cost").is_valid() | pc.field("delay_s").is_valid()
    return {name: rows.filter(there) if name == "links" else rows for name, rows in latest(snapshot, names).items()}


def latest(snapshot: Snapshot, names: Iterable[str]) -> dict[str, pa.Table]:
    """The latest row of each entry of the directory, each table by its name (`said.entries`); a start outside all calendars is
    none, for Python has no word for it."""
    known = {name: said.entries(rows, DIRECTORY[name]) for name in names if (rows := snapshot.arrow(name)) is not None}
    given = {name: Made(partial(_entries, snapshot=snapshot, name=name)) for name in names if name not in known}
    asked = execute(snapshot.tables.spark, {name: once(source(name)) for name in given}, given) if given else {}
    return known | asked


def _entries(_spark: SparkSession, snapshot: Snapshot, name: str) -> DataFrame:
    return entries(snapshot.read(name), DIRECTORY[name])


def entries(rows: DataFrame, key: Sequence[str]) -> DataFrame:
    """What `said.entries` says, by Spark."""
    told = rows.withColumn("at", intake.in_time("at")).dropna(subset=["at", *key])
    values = [each for name in told.columns for each in (F.col(name).isNull(), F.col(name))]
    latest = newest(told, key, F.struct("at", *values))
    if "retired" in latest.columns:
        latest = latest.withColumn("retired", F.coalesce("retired", F.lit(False)))
    return latest.withColumn("start", intake.in_time("start")) if "start" in latest.columns else latest


def told_anew(before: ByName, now: ByName) -> dict[str, set[str]]:
    """The organizations of which an entry is another than before, or is there or gone since; each with its stores that were
    retired, and are no more."""
    changed = {dict(row)["org"] for name in DIRECTORY for row in {*_hashable(before[name])} ^ {*_hashable(now[name])}}
    back = _retired(before["stores"]) - _retired(now["stores"])
    return {org: {store for of, store in back if of == org} for org in changed}


def _retired(stores: pa.Table) -> set[tuple[str, str]]:
    return {(row["org"], row["store"]) for row in stores.filter(stores["retired"]).to_pylist()}


def _hashable(rows: pa.Table) -> Iterator[tuple[tuple[str, Any], ...]]:
    return (tuple(row.items()) for row in rows.to_pylist())


def newest(rows: DataFrame, key: Sequence[str], by: str | Column) -> DataFrame:
    """The row with the highest `by` of each key."""
    return rows.groupBy(*key).agg(F.max_by(F.struct(*rows.columns), by).alias("row")).select("row.*")


def merging_whole(organizations: pa.Table) -> pa.Table:
    """The organizations in which the whole object of the highest stamp wins: org; of those whose policy cannot be read none."""
    named = []
    for row in organizations.to_pylist():
        with suppress(UsageError):
            if policy_of(row).hierarchy_merge == "object":
                named.append(row["org"])
    return pa.table({"org": pa.array(named, pa.string())})


def policy_of(row: Mapping[str, Any]) -> Policy:
    """The policy that a row of `organizations` says.

    Raises UsageError where it says none, or no start.
    """
    try:
        if row["start"] is None:
            raise UsageError(f"its start is no time, expected one from {FIRST:%Y} to {LAST:%Y}")
        options = json.loads(row["options"] or "{}")
        if not isinstance(options, dict):
            raise UsageError(f"options {row['options'][:80]!r} are no table of options by name")
        return override(load_profile(row["profile"] or "", conf_folder()), options)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _unfit(row, f"options {row['options'][:80]!r} are not JSON: {error}") from None
    except UsageError as error:
        raise _unfit(row, str(error)) from None


def _unfit(row: Mapping[str, Any], why: str, verb: str = "organization") -> UsageError:
    return UsageError(f"the organization {row['org']!r} does not play: {why}. Say it anew, by Lake.{verb}()")


class Governed(NamedTuple):
    """An organization's entry in the directory, and the policy that it says."""

    row: Mapping[str, Any]
    policy: Policy


def policies_of(organizations: pa.Table, stores: pa.Table, links: pa.Table) -> tuple[dict[str, Governed], dict[str, str]]:
    """Each organization that plays; and of those whose entries in the directory cannot be followed, what is wrong.

    Anybody who may write the directory may write nonsense into it; it harms the organization that it is about, and no other.
    """
    policies: dict[str, Governed] = {}
    unfit: dict[Any, str] = {}
    for row in organizations.to_pylist():
        try:
            policies[row["org"]] = Governed(row, policy_of(row))
        except UsageError as error:
            unfit[row["org"]] = str(error)
    for name, of in (("stores", stores), ("links", links)):
        for row in of.to_pylist():
            for why in faults(name, row):
                unfit.setdefault(row["org"], str(_unfit(row, why, name.removesuffix("s"))))
    return {org: known for org, known in policies.items() if org not in unfit}, unfit


def turn(row: Mapping[str, Any], policy: Policy, now: datetime, last: datetime | None = None) -> dict[str, Any]:
    """An organization's row of `clock` at that time, but its name; `row` is that of the directory.

    `last`: when it played last. Rounds in which nothing is due are left out, and are as if they had been played.
    """
    night = is_night(policy.maintenance_at, max(row["start"], now - policy.interval, last or row["start"]), now)
    return {"now": now, "start": row["start"], "suspended": bool(row["suspended"]), "night": night, **policy.columns()}


def faults(name: str, row: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with a row of the directory that no rule could follow."""
    entry = " to ".join(str(row[key]) for key in DIRECTORY[name][1:])
    for column, expected in _FAULTS[name](row):
        yield f"the {name.removesuffix('s')} {entry!r} has {column} {row[column]!r}, expected {expected}"


def _faults_of_store(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The columns of a store that no rule could follow, each with what it should be."""
    if not cntext.is_store_name(row["store"]):
        yield "store", "letters, digits and . _ -, a letter or digit first, at most 64"
    if row["site"] is None:
        yield "site", "a text"
    if row["interval_s"] is not None and not 0 < row["interval_s"] <= LONGEST_S:
        yield "interval_s", f"seconds from 1 to {LONGEST_S}, or null"
    if row["size_limit"] is not None and not 0 <= row["size_limit"] < LARGEST:
        yield "size_limit", "bytes from 0 on, or null"
    if row["schedule"] is not None and not re.fullmatch(SLOTS.removeprefix(r"\A").removesuffix(r"\z"), row["schedule"]):
        yield "schedule", "opens-closes,... in minutes of the week, or null"


def _faults_of_link(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The columns of a link that no rule could follow, each with what it should be."""
    if row["cost"] is None or not -LARGEST < row["cost"] < LARGEST:
        yield "cost", "a whole number"
    if row["delay_s"] is None or not 0 <= row["delay_s"] <= LONGEST_S:
        yield "delay_s", f"seconds from 0 to {LONGEST_S}"


_FAULTS: Mapping[str, Callable[[Mapping[str, Any]], Iterator[tuple[str, str]]]] = {
    "stores": _faults_of_store,
    "links": _faults_of_link,
}
