"""How what is sent is packed into messages (R49-R54), of queues of any length, without a loop on the driver.

1. A queue becomes one row: running totals of its updates' bytes, gathered by `stretches`. Totals are split into a high and a low
   part, so that no sum overflows.
2. After a cut the next is found by doubling how far the message reaches, then by halving, over these totals (`FITTING`).
3. All cuts are gathered in groups, and these in groups (`_gathered`): an array to which one element is appended is copied.
4. The cuts, and where numbers cease to rise by one, give each message its ranges (`POINTS`).
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.frame import rule
from pfspark.keys import HERE, QUEUE, STORE
from pfspark.words import HIERARCHY, UNLIMITED

HALF = 31
"""Bits of the lower part of a total: sums of both parts are a bigint's, of as many updates of any size as a row can hold."""
STRETCH = 12
"""Bits of a place within its stretch. A queue is gathered by stretches of some thousand updates: what Spark gathers are
objects, and those of ten million updates are more than a Java of 2 GB holds; a stretch that is whole is one compact row."""
AT_ONCE = 64
"""As many cuts are gathered one by one to a group, and as many groups to a larger one; of those there are as many as it takes."""
LEVELS = 2
"""How often groups are gathered to larger ones."""


def _total(part: str, place: str) -> str:
    """A part of the bytes of the updates of a queue up to that place; 0 before the first."""
    stretch, within = f"get(stretches, shiftright({place} - 1, {STRETCH}))", f"({place} - 1) & {2**STRETCH - 1}"
    totals = {"low": f"get({stretch}.low, {within})", "high": f"coalesce({stretch}.alike, get({stretch}.high, {within}))"}
    return f"coalesce({totals[part]}, 0)"


def _fits(place: str) -> str:
    """Whether the updates up to that place fit into the message that has begun."""
    high, low = (f"{_total(part, place)} - begun.{part}" for part in ("high", "low"))
    return f"{place} <= updates and {high} <= shiftright(limit - ({low}), {HALF})"


POWERS = f"filter(array({', '.join(str(2**bit) for bit in range(31))}), power -> power <= least(updates, most))"
"""Powers of two, up to as many updates as a message of the queue can take."""
FITTING = f"""
    transform(
        array(aggregate(
            powers, 0, (reach, power) -> if(reach = power div 2 and {_fits("begun.cut + power")}, power, reach)
        )),
        reach -> aggregate(
            filter(reverse(powers), half -> half < reach),
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
"""The cut after one: after the updates that fit into the message that begins there. So a message costs little, however many
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

    What is gathered one by one is copied each time, so it is gathered in groups, and these in groups. A group begins with the
    cut that it comes after, which is left out.
    """
    if levels == 0:
        return f"if(cut < updates, {FOLLOWING}, array())"
    return f"slice({_gathered(f'sequence(1, least(messages, {AT_ONCE}))', levels)}, 2, {AT_ONCE**levels})"


def _gathered(times: str, levels: int) -> str:
    """A cut, and those after it: as many as one level less gives, once for each element of `times`, an SQL array."""
    return f"""
        flatten(aggregate({times}, array(array(cut)), (found, nth) ->
            concat(found, transform(slice(element_at(found, -1), -1, 1), cut -> {_following(levels - 1)}))
        ))
    """


CUTS = f"transform(array(0), cut -> {_gathered(f'sequence(1, messages, {AT_ONCE**LEVELS})', LEVELS + 1)})[0]"
"""After how many updates of the queue each message begins, and the last of them ends."""
POINTS = f"""
    concat(flatten(stretches.runs), zip_with(cuts, slice(cuts, 2, size(cuts)), (cut, following) -> named_struct(
        'place', cut + 1, 'origin', null, 'shift', null, 'bytes', if(following is null, null,
            ({_total("high", "following")} - {_total("high", "cut")}) * {2**HALF}
                + ({_total("low", "following")} - {_total("low", "cut")})
        )
    )))
"""
"""Where along a queue numbers cease to rise by one, and where a message of how many bytes begins, by the place of the update;
and the place after the last."""


@rule("packed")
def pack(updates: DataFrame, *, stores: DataFrame, limits: DataFrame, clock: DataFrame) -> DataFrame:
    """Updates packed into messages: org, store, folder, asker, `batch`, `carries`, `bytes`.

    One row a message. Updates keep the order of origin and number; a message takes the next one while it fits under the
    size limit (the folder's, else the store's, else the policy's), and for the hierarchy under the number of folders; what
    is larger than the limit travels alone. Content of two folders, and hierarchy and content, are never together, for
    the folder is part of the key.

    >>> here = {"org": "o", "store": "PFS1", "folder": "PFS1:1"}
    >>> updates = frame("updates", *({**here, "origin": "PFS1", "cn": cn, "bytes": 40} for cn in (1, 2, 3)))
    >>> limits = {"limits": frame("limits", {**here, "size_limit": 100}), "clock": frame("clock", {"org": "o"})}
    >>> stores = frame("stores", {"org": "o", "store": "PFS1"})
    >>> pack(updates, stores=stores, **limits).select("batch", "carries", "bytes").orderBy("batch").show()
    +-----+--------------+-----+
    |batch|       carries|bytes|
    +-----+--------------+-----+
    |    0|[{PFS1, 1, 2}]|   80|
    |    1|[{PFS1, 3, 3}]|   40|
    +-----+--------------+-----+

    Source: R49-R54, V34, V35, Q16, Q17; F46, F53.
    """
    queues = _queued(_limited(updates, stores=stores, limits=limits, clock=clock))
    measured = queues.withColumns({"messages": F.expr(MESSAGES), "powers": F.expr(POWERS)})
    cut = measured.withColumn("cuts", F.expr(CUTS))
    points = cut.select(*QUEUE, F.inline(F.expr(POINTS)))
    along = Window.partitionBy(*QUEUE).orderBy("place")
    so_far = along.rangeBetween(Window.unboundedPreceding, Window.currentRow)  # RANGE: what begins at one place is one piece
    pieces = points.select(
        *QUEUE, "place", (F.lead("place").over(along) - 1).alias("last"),
        (F.count("bytes").over(so_far) - 1).cast("int").alias("batch"),
        *(F.last(name, ignorenulls=True).over(so_far).alias(name) for name in ("bytes", "origin", "shift")),
    )  # fmt: skip
    cn_min, cn_max = (F.col(end) + F.col("shift") for end in ("place", "last"))
    piece = F.struct("place", "origin", cn_min.alias("cn_min"), cn_max.alias("cn_max"))
    messages = pieces.where(F.col("place") <= F.col("last")).groupBy(*QUEUE, "batch", "bytes")
    parts = messages.agg(F.array_sort(F.collect_list(piece)).alias("parts"))
    carries = F.transform("parts", lambda each: F.struct(*(each[name].alias(name) for name in ("origin", "cn_min", "cn_max"))))
    return parts.select(*QUEUE, "batch", carries.alias("carries"), "bytes")


def _queued(limited: DataFrame) -> DataFrame:
    """One row a queue: `limit`, `most`, how many `updates` it is, and in their order its `stretches`: totals, and where runs
    of numbers begin."""
    along = Window.partitionBy(*QUEUE).orderBy("order", "cn")  # `order` is a column, so that all windows share one sort
    so_far = along.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    high, low = F.shiftright("bytes", HALF), F.col("bytes").bitwiseAND(2**HALF - 1)
    goes_on = (F.lag("origin").over(along) == F.col("origin")) & (F.lag("cn").over(along) + 1 == F.col("cn"))
    placed = limited.withColumn("order", cnset.order_of("origin")).select(
        *QUEUE, "limit", "most", "origin", "cn", F.row_number().over(along).alias("place"),
        F.sum(high).over(so_far).alias("high"), F.sum(low).over(so_far).alias("low"),
        F.coalesce(goes_on, F.lit(False)).alias("goes_on"),
    )  # fmt: skip
    stretch = F.shiftright(F.col("place") - 1, STRETCH)
    run = F.struct("place", "origin", (F.col("cn") - F.col("place")).alias("shift"), F.lit(None).cast("bigint").alias("bytes"))
    alike = F.min("high") == F.max("high")  # unless an update of 2 GB or more lies in it, but first
    # No sum falls along a queue, so in their order the sums are in that of the updates; numbers lie closer than structs.
    stretches = placed.groupBy(*QUEUE, "limit", "most", stretch.alias("stretch")).agg(
        F.when(alike, F.max("high")).alias("alike"),
        F.when(~alike, F.sort_array(F.collect_list("high"))).alias("high"),
        F.sort_array(F.collect_list("low")).alias("low"),
        F.sort_array(F.collect_list(F.when(~F.col("goes_on"), run))).alias("runs"),
        F.count("*").cast("int").alias("updates"),
    )
    return stretches.groupBy(*QUEUE, "limit", "most").agg(
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
    return here.withColumns(
        {"bytes": F.coalesce("bytes", F.lit(0)), "limit": limit, "most": F.coalesce(folders, F.lit(UNLIMITED))}
    )
