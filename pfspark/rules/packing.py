"""What is sent at a cycle, and how it is packed into messages (R43-R54)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.frame import rule
from pfspark.keys import HERE, LINE, ORIGIN
from pfspark.words import HIERARCHY, LARGEST, LIVE, LONGEST_S, PRIORITIES, SLOTS, Action, Listing, Standing, Why

MESSAGE = (*HERE, "asker")
WEEK_MINUTES = 7 * 24 * 60
THURSDAY = 4 * 24 * 60
"""1970-01-01 was a Thursday; schedules count from Sunday 00:00 (F84)."""
UNLIMITED = 2**31 - 1


@rule("ranges")
def waiting(applied: DataFrame, *, sent: DataFrame, returned: DataFrame, replicas: DataFrame) -> DataFrame:
    """Numbers of a store's own lives that it has not sent yet, nor got back from others (`returned`), canonical.

    Replicas that are to be deleted now have nothing to send any more.

    Source: R46, R80: all that lies behind "last sent".
    """
    sends = replicas.where(F.col("standing").isin(*LIVE)).select(*HERE)
    own = applied.where(cnset.store_of("origin") == F.col("store")).join(sends, list(HERE), "left_semi")
    return cnset.subtract(own, sent.unionByName(returned), LINE)


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

    Source: R4, R43; F42-F44, Q21; F69, Q22; D7.
    """
    since = agenda.where(F.col("why") == Why.SEND).select(*HERE, "since")
    here = (
        waiting.select(*HERE)
        .distinct()
        .join(since, list(HERE), "left")
        .join(replicas.select(*HERE, "standing"), list(HERE), "left")
        .join(stores.select("org", "store", "interval_s", F.col("schedule").alias("of_store")), ["org", "store"])
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
    held = F.col("suspended") & ~hierarchy & ~leaving
    goes = ~held & (F.col("due") <= F.col("now"))
    return timed.select(*HERE, "since", "due", F.coalesce(goes, F.lit(False)).alias("goes"))


def _next_cycle(since: Column, start: Column, interval_s: Column, schedule: Column) -> Column:
    """The cycle after `since` if the schedule (`opens-closes,...` in minutes of the week) is open then, else after it opens."""

    def at_cycle(micros: Column) -> Column:
        first = F.unix_micros(start)
        every = interval_s * 1_000_000
        return first + F.ceil((micros - first) / every).cast("bigint") * every

    first = at_cycle(F.unix_micros(since))
    minute = F.pmod(F.floor(first / 60_000_000).cast("bigint") + THURSDAY, F.lit(WEEK_MINUTES))

    def opening(slot: Column) -> Column:
        opens, closes = (F.element_at(F.split(slot, "-"), part).cast("bigint") for part in (1, 2))
        wait = F.pmod(opens - minute, F.lit(WEEK_MINUTES))
        later = F.floor(first / 60_000_000).cast("bigint") * 60_000_000 + wait * 60_000_000
        return F.when((opens <= minute) & (minute < closes), first).otherwise(at_cycle(later))

    slots = F.filter(F.split(schedule, ","), lambda slot: slot != "")
    return F.timestamp_micros(F.when(schedule.isNull(), first).otherwise(F.array_min(F.transform(slots, opening))))


@rule("ranges", needs=("cycle",))
def sending(waiting: DataFrame, *, cycle: DataFrame) -> DataFrame:
    """Of the numbers that wait those whose cycle goes now."""
    return waiting.join(cycle.where("goes").select(*HERE), list(HERE), "left_semi")


@rule("limits")
def limits(tree: DataFrame) -> DataFrame:
    """What administrators set on a folder for its messages, as a store sees it: `schedule`, `size_limit`, `priority` (F48).

    A text that is not of its kind is as if nothing was set: what is in the tree already must not stop anybody.
    """

    def value(name: str) -> Column:
        return F.max(F.when(F.col("property") == name, F.col("value")))

    own = tree.where(F.col("property").isin("schedule", "size_limit", "priority"))
    said = own.groupBy(*HERE).agg(
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


@rule("updates", inline=True)
def updates(ranges: DataFrame, *, changes: DataFrame, applied: DataFrame, empty: DataFrame) -> DataFrame:
    """The changes in `ranges` as they travel: one row a change with `bytes`, the body it takes along.

    A deletion has no body, and a version that the sender knows to be superseded travels without its own: the row still
    goes, so that no lineage is lost (Q14). What has expired at the sender before it went (`empty`) has no row.

    Source: R26-R29, R46; F56.
    """
    named = cnset.within(changes.select("org", "folder", "origin", "cn", "object", "action", "size"), ranges, ORIGIN)
    rows = cnset.without(named, empty, LINE)
    later = changes.where(F.col("action").isin(Action.MODIFY, Action.DELETE)).select(
        "org", "folder", "object", F.col("origin").alias("by"), F.col("cn").alias("by_cn"), "predecessors"
    )
    held = applied.select(*HERE, F.col("origin").alias("by"), F.col("cn_min").alias("_low"), F.col("cn_max").alias("_high"))
    candidates = rows.select(*LINE, "cn", "object").distinct().join(later, ["org", "folder", "object"])
    upon = F.exists("predecessors", lambda p: (p["origin"] == F.col("origin")) & (p["cn"] >= F.col("cn")))
    superseded = (
        candidates.where(upon)
        .join(held, [*HERE, "by"])
        .where("by_cn between _low and _high")
        .select(*LINE, "cn", F.lit(True).alias("superseded"))
        .distinct()
    )
    bodyless = (F.col("action") == Action.DELETE) | F.coalesce("superseded", F.lit(False))
    full = rows.join(superseded, [*LINE, "cn"], "left")
    return full.select(*HERE, "asker", "origin", "cn", F.when(bodyless, 0).otherwise(F.col("size")).alias("bytes"))


@rule("packed")
def pack(updates: DataFrame, *, stores: DataFrame, limits: DataFrame, clock: DataFrame) -> DataFrame:
    """Updates packed into messages: org, store, folder, asker, `batch`, `carries`, `bytes`.

    One row a message. Updates keep the order of origin and number; a message takes the next one while it fits under the
    size limit (the folder's, else the store's, else the policy's), and for the hierarchy under the number of folders; what
    is larger than the limit travels alone. Content of two folders, and hierarchy and content, are never together, for
    the folder is part of the key.

    Source: R49-R54, V34, V35, Q16, Q17; F46, F53.
    """
    sized = (
        updates.join(clock.select("org", F.col("size_limit").alias("of_policy"), "folders_per_hierarchy_message"), "org")
        .join(stores.select("org", "store", F.col("size_limit").alias("of_store")), ["org", "store"])
        .join(limits.select(*HERE, F.col("size_limit").alias("of_folder")), list(HERE), "left")
        .withColumn("limit", F.coalesce("of_folder", "of_store", "of_policy"))
        .withColumn(
            "most",
            F.when(F.col("folder") == HIERARCHY, F.coalesce("folders_per_hierarchy_message", F.lit(UNLIMITED))).otherwise(
                UNLIMITED
            ),
        )
    )
    update = F.struct(cnset.order_of("origin").alias("order"), "cn", "origin", "bytes")
    queues = sized.groupBy(*MESSAGE, "limit", "most").agg(F.sort_array(F.collect_list(update)).alias("queue"))
    cuts = queues.withColumn("cuts", _cuts(F.col("queue"), F.col("limit"), F.col("most")))
    batches = cuts.select(*MESSAGE, F.posexplode(_loads(F.col("queue"), F.col("cuts"))).alias("batch", "load"))
    loaded = batches.select(*MESSAGE, "batch", F.inline("load"))
    return _as_ranges(loaded)


def _cuts(queue: Column, limit: Column, most: Column) -> Column:
    """Where each message begins in the queue, from 0: a next-fit fold that keeps nothing but the places of the cuts."""

    def fit(so_far: Column, size: Column) -> Column:
        opens = (so_far["count"] == 0) | (so_far["used"] + size > limit) | (so_far["count"] >= most)
        here = so_far["index"]
        one = F.lit(1).cast("bigint")
        return F.when(opens, state(here + 1, size, one, F.concat(so_far["cuts"], F.array(here)))).otherwise(
            state(here + 1, so_far["used"] + size, so_far["count"] + 1, so_far["cuts"])
        )

    def state(index: Column, used: Column, count: Column, cuts: Column) -> Column:
        return F.struct(index.alias("index"), used.alias("used"), count.alias("count"), cuts.alias("cuts"))

    zero = F.lit(0).cast("bigint")
    start = state(zero, zero, zero, F.array().cast("array<bigint>"))
    return F.aggregate(queue["bytes"], start, fit)["cuts"]


def _loads(queue: Column, cuts: Column) -> Column:
    """The queue in pieces, one a message. Each is cut out once: a queue beside every message of its own costs their product."""
    spans = F.arrays_zip(cuts.alias("first"), F.slice(cuts, F.lit(2), F.size(cuts)).alias("next"))

    def load(span: Column) -> Column:
        length = F.coalesce(span["next"], F.size(queue).cast("bigint")) - span["first"]
        return F.slice(queue, (span["first"] + 1).cast("int"), length.cast("int"))

    return F.transform(spans, load)


def _as_ranges(loaded: DataFrame) -> DataFrame:
    """Loaded updates as one row a message: `carries` in ranges, `bytes` summed."""
    batch = (*MESSAGE, "batch")
    along = Window.partitionBy(*batch, "origin").orderBy("cn")
    runs = loaded.withColumn("run", F.col("cn") - F.row_number().over(along))
    ranges = runs.groupBy(*batch, "order", "origin", "run").agg(
        F.min("cn").alias("cn_min"), F.max("cn").alias("cn_max"), F.sum("bytes").alias("bytes")
    )
    carried = F.array_sort(F.collect_list(F.struct("order", "cn_min", "origin", "cn_max")))
    messages = ranges.groupBy(*batch).agg(carried.alias("carried"), F.sum("bytes").alias("bytes"))
    carries = F.transform(
        "carried",
        lambda r: F.struct(r["origin"].alias("origin"), r["cn_min"].alias("cn_min"), r["cn_max"].alias("cn_max")),
    )
    return messages.select(*batch, carries.alias("carries"), "bytes")


@rule("ranges", inline=True)
def issued(changes: DataFrame) -> DataFrame:
    """The numbers that new changes were given, one range for each (org, store, folder, origin): they rise without gaps."""
    ends = (F.min("cn").alias("cn_min"), F.max("cn").alias("cn_max"))
    return changes.groupBy(*LINE).agg(*ends).select(*LINE, "cn_min", "cn_max")


@rule("ranges", inline=True)
def returned(gained: DataFrame) -> DataFrame:
    """Numbers of a store's own that come back to it after a restore, by a message or settled without content: others have
    them, so they count as sent."""
    return gained.where(cnset.store_of("origin") == F.col("store"))


@rule("ranges")
def hidden(waiting: DataFrame, *, cycle: DataFrame, replicas: DataFrame) -> DataFrame:
    """Numbers that wait and are not shown yet (F60); a leaver shows all it has (D7)."""
    leavers = replicas.where(F.col("standing") == Standing.DELETE_PENDING).select(*HERE)
    stay = cycle.where("not goes").select(*HERE).join(leavers, list(HERE), "left_anti")
    return waiting.join(stay, list(HERE), "left_semi")


@rule("ranges", inline=True)
def unsent(waiting: DataFrame, *, replicas: DataFrame) -> DataFrame:
    """Numbers that others have not been shown before this round's cycle (F60); a leaver shows all it has (D7)."""
    leavers = replicas.where(F.col("standing") == Standing.DELETE_PENDING).select(*HERE)
    return waiting.join(leavers, list(HERE), "left_anti")


@rule("recipients", inline=True)
def recipients(lists: DataFrame) -> DataFrame:
    """To whom a store's own changes go: the others its view of the list shows (R44, R58, R147)."""
    return lists.where((F.col("peer") != F.col("store")) & (F.col("listing") == Listing.LISTED)).select(*HERE, "peer")
