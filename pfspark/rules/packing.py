"""What is sent at a cycle, and how it is packed into messages (R43-R54)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.frame import rule
from pfspark.keys import HERE, NUMBER, OBJECT, ORIGIN, ORIGIN_HERE, STORE
from pfspark.words import HIERARCHY, LARGEST, LIVE, LONGEST_S, PRIORITIES, SLOTS, Action, Listing, Standing, Why

MESSAGE = (*HERE, "asker")
WEEK_MINUTES = 7 * 24 * 60
THURSDAY = 4 * 24 * 60
"""1970-01-01 was a Thursday; schedules count from Sunday 00:00 (F84)."""
UNLIMITED = 2**31 - 1
LIMITS = ("schedule", "size_limit", "priority")
"""The properties of a folder that its messages obey (F48)."""


@rule("ranges")
def waiting(held: DataFrame, *, sent: DataFrame, returned: DataFrame, replicas: DataFrame) -> DataFrame:
    """Of the numbers held those of a store's own lives that it has not sent yet, nor got back (`returned`), canonical.

    Replicas that are to be deleted now have nothing to send any more.

    Source: R46, R80: all that lies behind "last sent".
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
def superseded(revisions: DataFrame, *, ranges: DataFrame, changes: DataFrame, applied: DataFrame) -> DataFrame:
    """The numbers in `ranges` upon which a change was made that the sender holds too: org, store, folder, origin, cn."""
    later = revisions.select(*OBJECT, F.col("origin").alias("by"), F.col("cn").alias("by_cn"), "predecessors")
    revised = changes.select(*OBJECT, "origin", "cn").join(later.select(*OBJECT), list(OBJECT), "left_semi")
    candidates = cnset.within(revised, ranges, ORIGIN).select(*ORIGIN_HERE, "cn", "object").distinct().join(later, list(OBJECT))
    upon = F.exists("predecessors", lambda p: (p["origin"] == F.col("origin")) & (p["cn"] >= F.col("cn")))
    held = applied.select(*HERE, F.col("origin").alias("by"), F.col("cn_min").alias("_low"), F.col("cn_max").alias("_high"))
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


HALF = 31
"""Bits of the lower part of a total: sums of both parts are a bigint's however large what is added up is, and however often."""
STRETCH = 12
"""Bits of a place within its stretch. A queue is gathered by stretches of some thousand updates: what Spark gathers are
objects, and those of ten million updates are more than a Java of 2 GB holds; a stretch that is whole is packed."""
AT_ONCE = 64
"""Cuts that are gathered one by one, and groups of them, and groups of those."""


def _total(part: str, place: str) -> str:
    """A part of the bytes of the updates of a queue up to that place; 0 before the first."""
    stretch, within = f"get(stretches, shiftright({place} - 1, {STRETCH}))", f"({place} - 1) & {2**STRETCH - 1}"
    totals = {"low": f"get({stretch}.low, {within})", "high": f"coalesce({stretch}.alike, get({stretch}.high, {within}))"}
    return f"coalesce({totals[part]}, 0)"


def _fits(place: str) -> str:
    """Whether the updates up to that place fit into the message that has begun."""
    high, low = (f"{_total(part, place)} - begun.{part}" for part in ("high", "low"))
    return f"{place} <= updates and {high} <= shiftright(limit - ({low}), {HALF})"


POWERS = f"array({', '.join(str(2**bit) for bit in range(31))})"
FITTING = f"""
    transform(
        array(aggregate(
            {POWERS}, 0, (reach, power) -> if(reach = power div 2 and {_fits("begun.cut + power")}, power, reach)
        )),
        reach -> aggregate(
            filter(reverse({POWERS}), half -> half < reach),
            reach,
            (fitting, half) -> fitting + if({_fits("begun.cut + fitting + half")}, half, 0)
        )
    )[0]
"""
"""How many updates fit into the message that has begun. Totals rise along the queue, so it is found by doubling how far it
reaches, and then by halving: a look into the queue is what costs."""
FOLLOWING = f"""
    transform(
        array(named_struct('cut', cut, 'high', {_total("high", "cut")}, 'low', {_total("low", "cut")})),
        begun -> cast(begun.cut + greatest(1, least(most, {FITTING})) as int)
    )
"""
"""The cut after one: behind the updates that fit into the message that begins there. So a message costs little, however many
it takes."""
MESSAGES = f"""
    cast(least(
        floor((cast({_total("high", "updates")} as decimal(20)) * {2**HALF} + {_total("low", "updates")}) * 2
            / (cast(limit as decimal(20)) + 1)) + floor(updates / most) + 1,
        updates
    ) as int)
"""
"""As many messages as a queue may be: two after each other hold more than the limit, or the first of them `most` updates."""


def _following(levels: int) -> str:
    """As many of the cuts after one as there are, but at most `AT_ONCE` to the power of `levels`.

    What is gathered one by one is copied each time, so it is gathered in groups, and these in groups.
    """
    if levels == 0:
        return f"if(cut < updates, {FOLLOWING}, array())"
    return f"slice({_gathered(f'sequence(1, least(messages, {AT_ONCE}))', levels)}, 2, {AT_ONCE**levels})"


def _gathered(times: str, levels: int) -> str:
    """A cut, and those after it: so many times as many as one level less gives."""
    return f"""
        flatten(aggregate({times}, array(array(cut)), (found, nth) ->
            concat(found, transform(slice(element_at(found, -1), -1, 1), cut -> {_following(levels - 1)}))
        ))
    """


CUTS = f"transform(array(0), cut -> {_gathered(f'sequence(1, messages, {AT_ONCE**2})', 3)})[0]"
"""After how many updates of the queue each message begins, and the last of them ends."""
POINTS = f"""
    concat(
        flatten(stretches.runs),
        transform(
            zip_with(cuts, slice(cuts, 2, size(cuts)), (cut, following) -> named_struct('cut', cut, 'following', following)),
            span -> named_struct('place', span.cut + 1, 'origin', null, 'shift', null, 'bytes', if(
                span.following is null, null,
                ({_total("high", "span.following")} - {_total("high", "span.cut")}) * {2**HALF}
                    + ({_total("low", "span.following")} - {_total("low", "span.cut")})
            ))
        )
    )
"""
"""Where along a queue numbers cease to rise by one, and where a message of how many bytes begins, by the place of the update;
and the place behind the last."""


@rule("packed")
def pack(updates: DataFrame, *, stores: DataFrame, limits: DataFrame, clock: DataFrame) -> DataFrame:
    """Updates packed into messages: org, store, folder, asker, `batch`, `carries`, `bytes`.

    One row a message. Updates keep the order of origin and number; a message takes the next one while it fits under the
    size limit (the folder's, else the store's, else the policy's), and for the hierarchy under the number of folders; what
    is larger than the limit travels alone. Content of two folders, and hierarchy and content, are never together, for
    the folder is part of the key.

    Source: R49-R54, V34, V35, Q16, Q17; F46, F53.
    """
    queues = _queued(_limited(updates, stores=stores, limits=limits, clock=clock))
    cut = queues.withColumn("messages", F.expr(MESSAGES)).withColumn("cuts", F.expr(CUTS))
    points = cut.select(*MESSAGE, F.inline(F.expr(POINTS)))
    along = Window.partitionBy(*MESSAGE).orderBy("place")
    so_far = along.rangeBetween(Window.unboundedPreceding, Window.currentRow)  # RANGE: what begins at one place is one piece
    pieces = points.select(
        *MESSAGE, "place", (F.lead("place").over(along) - 1).alias("last"),
        (F.count("bytes").over(so_far) - 1).cast("int").alias("batch"),
        *(F.last(name, ignorenulls=True).over(so_far).alias(name) for name in ("bytes", "origin", "shift")),
    )  # fmt: skip
    cn_min, cn_max = (F.col(end) + F.col("shift") for end in ("place", "last"))
    piece = F.struct("place", "origin", cn_min.alias("cn_min"), cn_max.alias("cn_max"))
    messages = pieces.where(F.col("place") <= F.col("last")).groupBy(*MESSAGE, "batch", "bytes")
    parts = messages.agg(F.array_sort(F.collect_list(piece)).alias("parts"))
    carries = F.transform("parts", lambda each: F.struct(*(each[name].alias(name) for name in ("origin", "cn_min", "cn_max"))))
    return parts.select(*MESSAGE, "batch", carries.alias("carries"), "bytes")


def _queued(limited: DataFrame) -> DataFrame:
    """One row a queue: `limit`, `most`, how many `updates` it is, and in their order its `stretches`: totals, and where runs
    of numbers begin."""
    along = Window.partitionBy(*MESSAGE).orderBy("order", "cn")  # by one column, so that all windows share one sort
    so_far = along.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    high, low = F.shiftright("bytes", HALF), F.col("bytes").bitwiseAND(2**HALF - 1)
    goes_on = (F.lag("origin").over(along) == F.col("origin")) & (F.lag("cn").over(along) + 1 == F.col("cn"))
    placed = limited.withColumn("order", cnset.order_of("origin")).select(
        *MESSAGE, "limit", "most", "origin", "cn", F.row_number().over(along).alias("place"),
        F.sum(high).over(so_far).alias("high"), F.sum(low).over(so_far).alias("low"),
        F.coalesce(goes_on, F.lit(False)).alias("goes_on"),
    )  # fmt: skip
    stretch = F.shiftright(F.col("place") - 1, STRETCH)
    run = F.struct("place", "origin", (F.col("cn") - F.col("place")).alias("shift"), F.lit(None).cast("bigint").alias("bytes"))
    alike = F.min("high") == F.max("high")  # but where an update has 2 GB or more
    # No sum falls along a queue, so in their order the sums are in that of the updates; numbers lie closer than structs.
    stretches = placed.groupBy(*MESSAGE, "limit", "most", stretch.alias("stretch")).agg(
        F.when(alike, F.max("high")).alias("alike"),
        F.when(~alike, F.sort_array(F.collect_list("high"))).alias("high"),
        F.sort_array(F.collect_list("low")).alias("low"),
        F.sort_array(F.collect_list(F.when(~F.col("goes_on"), run))).alias("runs"),
        F.count("*").cast("int").alias("updates"),
    )
    return stretches.groupBy(*MESSAGE, "limit", "most").agg(
        F.sort_array(F.collect_list(F.struct("stretch", "alike", "high", "low", "runs"))).alias("stretches"),
        F.sum("updates").cast("int").alias("updates"),
    )


def _limited(updates: DataFrame, *, stores: DataFrame, limits: DataFrame, clock: DataFrame) -> DataFrame:
    """Updates with the `limit` in bytes that a message of theirs has, and how many updates it takes at `most`.

    They have it before they are queued: a queue of a million updates is one row, and would be copied by every join.
    """
    of_store, of_policy = F.col("s.size_limit"), F.col("p.size_limit")
    general = stores.alias("s").join(clock.alias("p"), "org").select(
        *STORE, F.coalesce(of_store, of_policy).alias("general"), "folders_per_hierarchy_message"
    )  # fmt: skip
    own = limits.select(*HERE, F.col("size_limit").alias("of_folder"))
    here = updates.join(general, list(STORE)).join(own, list(HERE), "left")
    limit = F.coalesce("of_folder", "general")
    folders = F.when(F.col("folder") == HIERARCHY, F.col("folders_per_hierarchy_message"))
    return here.withColumns({"limit": limit, "most": F.coalesce(folders, F.lit(UNLIMITED))})


@rule("ranges", inline=True)
def returned(gained: DataFrame) -> DataFrame:
    """Numbers of a store's own that come back to it after a restore, by a message or settled without content: others have
    them, so they count as sent."""
    return gained.where(cnset.store_of("origin") == F.col("store"))


@rule("ranges", needs=("waiting", "staying"))
def hidden(waiting: DataFrame, *, staying: DataFrame, replicas: DataFrame) -> DataFrame:
    """Numbers that wait, do not go yet, and are not shown (F60); a leaver shows all it has (D7)."""
    leavers = replicas.where(F.col("standing") == Standing.DELETE_PENDING).select(*HERE)
    stay = staying.select(*HERE).join(leavers, list(HERE), "left_anti")
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
