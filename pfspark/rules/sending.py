"""What is sent at a cycle, and when it goes (R43-R48)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.frame import rule
from pfspark.keys import HERE, NUMBER, OBJECT, ORIGIN, ORIGIN_HERE, STORE
from pfspark.schedules import THURSDAY, WEEK
from pfspark.suspension import content_waits
from pfspark.words import HIERARCHY, LARGEST, LIVE, LONGEST_S, PRIORITIES, SLOTS, Action, Listing, Standing, Why

LIMITS = ("schedule", "size_limit", "priority")
"""The properties of a folder that its messages obey (F48)."""


@rule("ranges")
def waiting(held: DataFrame, *, sent: DataFrame, returned: DataFrame, replicas: DataFrame) -> DataFrame:
    """Of the numbers held those of a store's own lives that it has not sent yet, nor got back (`returned`), canonical.

    Replicas that are to be deleted now have nothing to send any more.

    >>> here = {"org": "o", "store": "PFS1", "folder": "PFS1:1"}
    >>> held, sent = (frame("ranges", {**here, "origin": "PFS1", "cn_min": 1, "cn_max": last}) for last in (8, 6))
    >>> active = frame("replicas", {**here, "life": 1, "standing": "active"})
    >>> waiting(held, sent=sent, returned=frame("ranges"), replicas=active).select("origin", "cn_min", "cn_max").show()
    +------+------+------+
    |origin|cn_min|cn_max|
    +------+------+------+
    |  PFS1|     7|     8|
    +------+------+------+

    Source: R46, R80: all numbers after "last sent".
    """
    sends = replicas.where(F.col("standing").isin(*LIVE)).select(*HERE)
    own = held.where(cnset.store_of("origin") == F.col("store")).join(sends, list(HERE), "left_semi")
    return cnset.subtract(own, sent.unionByName(returned), ORIGIN_HERE)


@rule("cycle")
def cycle(
    waiting: DataFrame,
    *,
    agenda: DataFrame,
    replicas: DataFrame,
    stores: DataFrame,
    limits: DataFrame,
    clock: DataFrame,
) -> DataFrame:
    """When what waits may go: org, store, folder, `since`, `due` (null: never, as things are), and `goes` (now).

    The cycle of a store with interval I runs at its organization's start + k × I; numbers go at the first cycle, not
    before they were taken in, once the schedule is open: the folder's own, else the store's. Where no cycle meets the
    open time, the first after it serves, or they would wait for ever. The hierarchy waits for no schedule, be it Never or
    hours that are closed. What a leaver still has to send waits for no schedule and no suspension.

    >>> here = {"org": "o", "store": "PFS1", "folder": "PFS1:1"}
    >>> waits = frame("ranges", {**here, "origin": "PFS1", "cn_min": 7, "cn_max": 8})
    >>> views = {name: frame(name) for name in ("agenda", "replicas", "limits")}
    >>> stores = frame("stores", {"org": "o", "store": "PFS1", "interval_s": 900})
    >>> clock = frame("clock", {"org": "o", "now": "2026-01-05T12:05Z", "start": "2026-01-05T00:00Z", "suspended": False})
    >>> cycle(waits, stores=stores, clock=clock, **views).select("since", "due", "goes").show()
    +-------------------+-------------------+-----+
    |              since|                due| goes|
    +-------------------+-------------------+-----+
    |2026-01-05 12:05:00|2026-01-05 12:15:00|false|
    +-------------------+-------------------+-----+

    Source: R4, R43; F42-F44, Q21; F69, Q22; D7.
    """
    since = agenda.where(F.col("why") == Why.SEND).select(*HERE, "since")
    here = (
        waiting.select(*HERE)
        .distinct()
        .join(since, list(HERE), "left")
        .join(replicas.select(*HERE, "standing"), list(HERE), "left")
        .join(stores.select(*STORE, "interval_s", F.col("schedule").alias("of_store")), list(STORE))
        .join(limits.select(*HERE, F.col("schedule").alias("of_folder")), list(HERE), "left")
        .join(clock.select("org", "now", "start", "suspended", F.col("interval_s").alias("of_policy")), "org")
    )
    leaving = F.col("standing") == Standing.DELETE_PENDING
    hierarchy = F.col("folder") == HIERARCHY
    said = F.coalesce("of_folder", F.when(F.col("of_store").rlike(SLOTS), F.col("of_store")))
    schedule = F.when(leaving | hierarchy, F.lit(None)).otherwise(said)
    counted = F.coalesce("since", "now")
    interval = F.when(F.col("interval_s").between(1, LONGEST_S), F.col("interval_s"))
    timed = here.withColumns(
        {
            "since": counted,
            "due": _next_cycle(counted, F.col("start"), F.coalesce(interval, "of_policy"), schedule),
        }
    )
    held = content_waits() & ~leaving
    goes = ~held & (F.col("due") <= F.col("now"))
    return timed.select(*HERE, "since", "due", F.coalesce(goes, F.lit(False)).alias("goes"))


def _next_cycle(since: Column, start: Column, interval_s: Column, schedule: Column) -> Column:
    """The cycle after `since` if the schedule (`opens-closes,...` in minutes of the week) is open then, else the first after it
    opens at which it still is; if there is none, the first after it opens."""

    def at_cycle(micros: Column) -> Column:
        first = F.unix_micros(start)
        every = interval_s * 1_000_000
        return first + F.ceil((micros - first) / every).cast("bigint") * every

    first = at_cycle(F.unix_micros(since))
    minute = F.pmod(F.floor(first / 60_000_000).cast("bigint") + THURSDAY, F.lit(WEEK))

    def opening(slot: Column) -> Column:
        opens, closes = (F.element_at(F.split(slot, "-"), part).cast("bigint") for part in (1, 2))
        is_open = (opens <= minute) & (minute < closes)
        wait = F.pmod(opens - minute, F.lit(WEEK))
        later = F.floor(first / 60_000_000).cast("bigint") * 60_000_000 + wait * 60_000_000
        cycle = F.when(is_open, first).otherwise(at_cycle(later))
        misses = ~is_open & (cycle >= later + (closes - opens) * 60_000_000)
        return F.struct(misses.alias("misses"), cycle.alias("cycle"))

    slots = F.filter(F.split(schedule, ","), lambda slot: slot != "")
    return F.timestamp_micros(F.when(schedule.isNull(), first).otherwise(F.array_min(F.transform(slots, opening))["cycle"]))


@rule("limits")
def limits(properties: DataFrame) -> DataFrame:
    """What administrators set on a folder for its messages, as a store sees it: of rows of the tree under the names of `LIMITS`
    one for each folder (F48).

    A text that is not of its kind is as if nothing was set: what is in the tree already must not stop anybody.
    """

    def value(name: str) -> Column:
        return F.max(F.when(F.col("property") == name, F.col("value")))

    said = properties.groupBy(*HERE).agg(
        value("schedule").alias("schedule"),
        value("size_limit").try_cast("bigint").alias("size_limit"),
        value("priority").alias("priority"),
    )
    kinds = {
        "schedule": F.col("schedule").rlike(SLOTS),
        "size_limit": F.col("size_limit").between(0, LARGEST - 1),
        "priority": F.col("priority").isin(*PRIORITIES),
    }
    return said.select(*HERE, *(F.when(fits, F.col(name)).alias(name) for name, fits in kinds.items()))


@rule(like="changes", inline=True)
def upon_others(changes: DataFrame) -> DataFrame:
    """The changes that are made upon others: modifications and deletions."""
    return changes.where(F.col("action").isin(Action.MODIFY, Action.DELETE))


@rule(like="changes", needs=("changes", "items"))
def revisions(changes: DataFrame, *, items: DataFrame) -> DataFrame:
    """The changes that are made upon others, of the `items` (org, folder, object) named."""
    return upon_others(changes).join(items.select(*OBJECT), list(OBJECT), "left_semi")


@rule("superseded", needs=("revisions", "ranges"))
def superseded(revisions: DataFrame, *, ranges: DataFrame, changes: DataFrame, contents: DataFrame) -> DataFrame:
    """The numbers in `ranges` upon which a change was made whose content the sender holds too: org, store, folder, origin, cn.

    One that it has settled without content it does not know: its readers, and whoever gets the version before, are shown that.
    """
    later = revisions.select(*OBJECT, F.col("origin").alias("by"), F.col("cn").alias("by_cn"), "predecessors")
    revised = changes.select(*OBJECT, "origin", "cn").join(later.select(*OBJECT), list(OBJECT), "left_semi")
    candidates = cnset.within(revised, ranges, ORIGIN).select(*ORIGIN_HERE, "cn", "object").distinct().join(later, list(OBJECT))
    upon = F.exists("predecessors", lambda p: (p["origin"] == F.col("origin")) & (p["cn"] >= F.col("cn")))
    held = contents.select(*HERE, F.col("origin").alias("by"), F.col("cn_min").alias("_low"), F.col("cn_max").alias("_high"))
    known = candidates.where(upon).join(held, [*HERE, "by"]).where("by_cn between _low and _high")
    return known.select(*ORIGIN_HERE, "cn").distinct()


@rule("updates", inline=True)
def updates(ranges: DataFrame, *, changes: DataFrame, superseded: DataFrame, empty: DataFrame) -> DataFrame:
    """The changes in `ranges` as they travel: one row a change with `bytes`, the body it takes along.

    A deletion has no body, and a version that the sender knows to be superseded travels without its own: the row still
    goes, so that no lineage is lost (Q14). What has expired at the sender before it went (`empty`) has no row.

    Source: R26-R29, R46; F56.
    """
    named = cnset.within(changes.select(*NUMBER, "action", "size"), ranges, ORIGIN)
    rows = cnset.without(named, empty, ORIGIN_HERE)
    bodyless = (F.col("action") == Action.DELETE) | F.coalesce("superseded", F.lit(False))
    full = rows.join(superseded.withColumn("superseded", F.lit(True)), [*ORIGIN_HERE, "cn"], "left")
    return full.select(*HERE, "asker", "origin", "cn", F.when(bodyless, 0).otherwise(F.col("size")).alias("bytes"))


@rule("ranges", inline=True)
def returned(gained: DataFrame) -> DataFrame:
    """Numbers of a store's own that come back to it after a restore, by a message or settled without content: others have
    them, so they count as sent."""
    return gained.where(cnset.store_of("origin") == F.col("store"))


@rule("ranges", needs=("waiting", "staying"))
def hidden(waiting: DataFrame, *, staying: DataFrame, replicas: DataFrame) -> DataFrame:
    """Numbers that wait, do not go yet, and are not shown (F60); a leaver shows all it has (D7)."""
    return unsent(waiting, replicas=replicas).join(staying.select(*HERE), list(HERE), "left_semi")


@rule("ranges", inline=True)
def unsent(waiting: DataFrame, *, replicas: DataFrame) -> DataFrame:
    """Numbers that others have not been shown before this round's cycle (F60); a leaver shows all it has (D7)."""
    leavers = replicas.where(F.col("standing") == Standing.DELETE_PENDING).select(*HERE)
    return waiting.join(leavers, list(HERE), "left_anti")


@rule("recipients", inline=True)
def recipients(lists: DataFrame) -> DataFrame:
    """To whom a store's own changes go: the others its view of the list shows (R44, R58, R147)."""
    return lists.where((F.col("peer") != F.col("store")) & (F.col("listing") == Listing.LISTED)).select(*HERE, "peer")
