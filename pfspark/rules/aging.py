"""Growing old: items that pass the age limit of their folder (F56-F58, Q19)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.frame import rule
from pfspark.keys import HERE, ITEM
from pfspark.words import HIERARCHY, LIVE, LONGEST_S, Action

OWN_LIMIT = "age_limit"
"""The property of a folder that says how old its items grow (F57)."""


@rule("aging")
def policies(clock: DataFrame) -> DataFrame:
    """The organizations in which all items grow old: org, `age_limit_s`."""
    return clock.where("age_limit_s is not null").select("org", "age_limit_s")


@rule("limited", drives=("limits", "policies"), needs=("replicas",))
def limited(replicas: DataFrame, *, limits: DataFrame, policies: DataFrame) -> DataFrame:
    """Replicas whose items grow old: org, store, folder, `limit_s`; the folder's own of the `limits` in the tree before the
    policy's (F57).

    A limit that is no length of time is as if the folder had none of its own.
    """
    said = limits.select(*HERE, F.col("value").alias("said"))
    alive = replicas.where(F.col("standing").isin(*LIVE) & (F.col("folder") != HIERARCHY))
    known = alive.select(*HERE).join(said, list(HERE), "left").join(policies, "org", "left")
    own = F.col("said").try_cast("bigint")
    limit = F.when(own.between(1, LONGEST_S), own).when(F.coalesce(F.col("said") != "none", F.lit(True)), F.col("age_limit_s"))
    return known.select(*HERE, limit.alias("limit_s")).where("limit_s is not null")


@rule("orgs", inline=True)
def tonight(clock: DataFrame) -> DataFrame:
    """The organizations whose nightly maintenance is that of this round: org."""
    return clock.where("night").select("org")


@rule("keys", needs=("limited", "tonight"))
def newly_limited(limited: DataFrame, *, noted: DataFrame, before: DataFrame, tonight: DataFrame) -> DataFrame:
    """The folders whose items grow old only since this round, where the organization has its night now: these are looked at
    tonight, as what is set by then counts. Of all others the next night is `noted`; who was no replica `before` waits for it."""
    there = before.where(F.col("standing").isin(*LIVE)).select(*HERE)
    new = limited.join(tonight, "org", "left_semi").join(there, list(HERE), "left_semi")
    return new.join(noted.select(*HERE), list(HERE), "left_anti").select(*HERE)


@rule("night_shift", drives=("due", "newly"), needs=("limited",))
def at_night(limited: DataFrame, *, due: DataFrame, newly: DataFrame, clock: DataFrame) -> DataFrame:
    """Those of the limited folders that this round's maintenance looks at, with `now`: whose night is `due`, and new ones.

    Source: F56.
    """
    tended = due.select(*HERE).unionByName(newly).distinct()
    return limited.join(tended, list(HERE)).join(clock.select("org", "now"), "org")


@rule("ranges")
def expire(versions: DataFrame, *, winners: DataFrame, night: DataFrame) -> DataFrame:
    """Numbers settled without content from now on: all versions of items whose winner is older than the limit.

    An item expires whole, by the last modification of the version a reader sees; deletions never do. The numbers stay in
    the applied set, so that nobody backfills them (Q19).

    Source: F56, F58.
    """
    old = winners.join(night, list(HERE)).where(
        (F.col("action") != Action.DELETE) & (F.timestamp_add("SECOND", F.col("limit_s"), F.col("made_at")) <= F.col("now"))
    )
    gone = versions.join(old.select(*ITEM), list(ITEM), "left_semi").where(F.col("action") != Action.DELETE)
    return gone.select(*HERE, "origin", *cnset.alone())
