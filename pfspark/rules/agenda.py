"""When a (store, folder) must be looked at again, and why.

A round looks at what has mail, edits or an entry here that is due; all else it may skip, and so may whole rounds be
skipped until the next entry falls due.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark.frame import rule
from pfspark.keys import AGENDA, HERE, STORE
from pfspark.words import Standing, Why


@rule(drives=("conditions",), amends="agenda")
def awake(agenda: DataFrame, *, conditions: DataFrame) -> DataFrame:
    """The entries of stores that are not down: one that is plays no part, and what is due there waits."""
    down = conditions.where("down").select(*STORE)
    return agenda.join(down, list(STORE), "left_anti")


@rule("due")
def due(agenda: DataFrame, *, clock: DataFrame) -> DataFrame:
    """The entries whose time has come; an organization that does not play now has none."""
    return agenda.join(clock.select("org", "now"), "org").where("due <= now").select(*agenda.columns)


@rule(like="entries", inline=True)
def of_kind(entries: DataFrame, *, why: Why) -> DataFrame:
    """The entries of one kind."""
    return entries.where(F.col("why") == why)


@rule("entries", drives=("rows",), inline=True)
def entries(rows: DataFrame, why: Why) -> DataFrame:
    """Rows of org, store, folder, `due`, with any of `peer`, `attempt`, `since`, as entries of that kind."""
    missing = {
        "peer": F.lit(""),
        "attempt": F.lit(0).cast("bigint"),
        "since": F.lit(None).cast("timestamp"),
    }
    told = set(rows.columns)
    rest = [name if name in told else value.alias(name) for name, value in missing.items()]
    return rows.select(*HERE, F.lit(str(why)).alias("why"), *rest, "due")


@rule(like="replicas", inline=True)
def erased(replicas: DataFrame) -> DataFrame:
    """Replicas that are no more: nothing is to be done for them."""
    return replicas.where(F.col("standing") == Standing.ERASED)


@rule("agenda", drives=("wanted", "anew"))
def update(agenda: DataFrame, *, wanted: DataFrame, anew: DataFrame, clock: DataFrame) -> DataFrame:
    """Rows of `agenda` that change it: `wanted`, and an end (`due` null) to entries of `anew` that are wanted no more.

    `anew` names the entries (org, store, folder, why) that this round decides as a whole; others stay unless wanted
    says otherwise. Entries that stay as they are yield no row.
    """
    dropped = (
        agenda.join(anew, [*HERE, "why"], "left_semi")
        .join(wanted.select(*AGENDA), list(AGENDA), "left_anti")
        .withColumn("due", F.lit(None).cast("timestamp"))
    )
    known = agenda.select(*AGENDA, "attempt", "since", "due")
    same = [F.col(f"a.{name}").eqNullSafe(F.col(f"b.{name}")) for name in known.columns]
    changed = wanted.alias("a").join(known.alias("b"), same, "left_anti")
    rows = changed.unionByName(dropped.select(*changed.columns))
    return rows.join(clock.select("org", F.col("now").alias("at")), "org")


@rule("decided", inline=True)
def decided(dirty: DataFrame, *, quiet: DataFrame, replicas: DataFrame) -> DataFrame:
    """The keys of entries that this round decides anew: of these `update` ends those that are not wanted again.

    Of every folder looked at those that are recomputed; the unasked status where it fell due (`quiet`); all of replicas that are
    erased. Inquiries and repeats are changed by their own rows alone."""

    def all_of(keys: DataFrame, *whys: Why) -> DataFrame:
        return keys.select(*HERE, F.explode(F.array(*[F.lit(str(why)) for why in whys])).alias("why"))

    over = replicas.where(F.col("standing") == Standing.ERASED).join(dirty, list(HERE), "left_semi")
    recomputed = all_of(dirty, Why.SEND, Why.BACKFILL, Why.ERASE, Why.EXPIRE, Why.ASK, Why.NEWS)
    return recomputed.unionByName(all_of(quiet, Why.STATUS)).unionByName(all_of(over, *Why))


@rule("keys", inline=True)
def to_erase(replicas: DataFrame) -> DataFrame:
    """Folders whose replica waits to be erased: delete now (D8)."""
    return replicas.where(F.col("standing") == Standing.DELETE_NOW).select(*HERE)


@rule("keys_due", inline=True)
def maintenance(keys: DataFrame, *, clock: DataFrame) -> DataFrame:
    """The folders with the moment of the next nightly maintenance in `due` (F56)."""
    policy = clock.select("org", "now", "maintenance_s")
    waiting = keys.select(*HERE).distinct().join(policy, "org")
    today = F.timestamp_add("SECOND", F.col("maintenance_s"), F.date_trunc("DAY", "now"))
    tomorrow = F.timestamp_add("DAY", F.lit(1), today)
    return waiting.select(*HERE, F.when(today > F.col("now"), today).otherwise(tomorrow).alias("due"))
