"""Sets of change numbers as frames of ranges, and what can be computed with them in one sweep.

A set of change numbers (CNSet, R37) is a frame of key columns and inclusive ranges `cn_min`, `cn_max`; one frame holds
the sets of any number of keys. All operations walk the number line of each key once, in order: no range is ever
exploded into numbers, no two ranges are compared pairwise, so a set costs what its ranges cost, however far they reach
(F95 has the same algebra on one set at a time).

The text form of a set (`PFS1:1-11:17,PFS2:1-20`) lives in `pfspark.cntext`; `from_text` and `to_text` carry it in and
out of frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

KEYS = ("origin",)
"""What names a set when nothing else is said: the origin of its numbers."""

_RANGE = ("cn_min", "cn_max")
_POINT = "cn"


def _stack(frames: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda above, below: above.unionByName(below, allowMissingColumns=True), frames)


def _sweep(keys: Sequence[str], layers: Sequence[DataFrame]) -> tuple[DataFrame, list[str]]:
    """The points where something begins or ends, each with the sum of every measure just after it.

    A range covers the numbers after `cn_min - 1` up to `cn_max`: so no point lies beyond 2^63 - 1.
    """
    ranges = _stack(layers)
    measures = [name for name in ranges.columns if name not in (*keys, *_RANGE)]
    amounts = [F.coalesce(F.col(name), F.lit(0)).cast("bigint").alias(name) for name in measures]
    begins = F.struct((F.col("cn_min") - 1).alias(_POINT), *amounts)
    ends = F.struct(
        F.col("cn_max").alias(_POINT), *[(-amount).alias(name) for name, amount in zip(measures, amounts, strict=True)]
    )
    # RANGE, not ROWS: all that happens at one point settles together.
    up_to_here = Window.partitionBy(*keys).orderBy(_POINT).rangeBetween(Window.unboundedPreceding, Window.currentRow)
    points = ranges.select(*keys, F.inline(F.array(begins, ends)))
    return points.select(*keys, _POINT, *[F.sum(name).over(up_to_here).alias(name) for name in measures]), measures


def _between(points: DataFrame, keys: Sequence[str], keep: Column, *measures: str) -> DataFrame:
    """The pieces of the line, from each point where `keep` holds to the next one."""
    along = Window.partitionBy(*keys).orderBy(_POINT)
    pieces = points.select("*", F.lead(_POINT).over(along).alias("cn_max")).where(keep & (F.col("cn_max") > F.col(_POINT)))
    return pieces.select(*keys, (F.col(_POINT) + 1).alias("cn_min"), "cn_max", *measures)


def coverage(keys: Sequence[str], *layers: DataFrame) -> DataFrame:
    """The number line of each key, cut wherever a range of any layer begins or ends.

    A layer is a frame of keys, `cn_min`, `cn_max` and any number of whole-number measures. One row of the result is one
    piece of the line: keys, `cn_min`, `cn_max`, and every measure summed over the ranges that cover the piece. Pieces
    that no range covers are left out; neighbours are not merged.

    >>> held = spark.createDataFrame([("PFS1", 1, 11, 1)], "origin string, cn_min bigint, cn_max bigint, held bigint")
    >>> told = spark.createDataFrame([("PFS1", 1, 17, 1)], "origin string, cn_min bigint, cn_max bigint, told bigint")
    >>> coverage(["origin"], held, told).select("cn_min", "cn_max", "held", "told").orderBy("cn_min").collect()
    [Row(cn_min=1, cn_max=11, held=1, told=1), Row(cn_min=12, cn_max=17, held=0, told=1)]
    """
    points, measures = _sweep(keys, layers)
    covered = reduce(lambda any_so_far, name: any_so_far | (F.col(name) != 0), measures, F.lit(False))
    return _between(points, keys, covered, *measures)


def join_up(pieces: DataFrame, keys: Sequence[str], alike: Sequence[str]) -> DataFrame:
    """Neighbouring pieces of a line merged where they are alike in the columns `alike`; pieces must be disjoint.

    >>> ddl = "origin string, cn_min bigint, cn_max bigint, heard bigint"
    >>> pieces = spark.createDataFrame([("PFS1", 12, 13, 5), ("PFS1", 14, 16, 5), ("PFS1", 17, 17, 9)], ddl)
    >>> join_up(pieces, ["origin"], ["heard"]).select("cn_min", "cn_max").orderBy("cn_min").collect()
    [Row(cn_min=12, cn_max=16), Row(cn_min=17, cn_max=17)]
    """
    along = Window.partitionBy(*keys).orderBy("cn_min")
    same = [F.col(name).eqNullSafe(F.lag(name).over(along)) for name in alike]
    goes_on = reduce(lambda left, right: left & right, same, F.col("cn_min") == F.lag("cn_max").over(along) + 1)
    islands = pieces.withColumn("_begins", F.when(goes_on, 0).otherwise(1)).withColumn("_island", F.sum("_begins").over(along))
    ends = (F.min("cn_min").alias("cn_min"), F.max("cn_max").alias("cn_max"))
    return islands.groupBy(*keys, *alike, "_island").agg(*ends).select(*keys, *_RANGE, *alike)


def settle(keys: Sequence[str], keep: Column, *layers: DataFrame) -> DataFrame:
    """The canonical ranges of the numbers where `keep` holds of the summed measures: sorted, disjoint, merged.

    >>> told = spark.createDataFrame([("PFS1", 1, 4, 1), ("PFS1", 5, 9, 1)],
    ...                              "origin string, cn_min bigint, cn_max bigint, told bigint")
    >>> settle(["origin"], F.col("told") > 0, told).collect()
    [Row(origin='PFS1', cn_min=1, cn_max=9)]
    """
    points, _ = _sweep(keys, layers)
    along = Window.partitionBy(*keys).orderBy(_POINT)
    before = F.lag(keep, 1, False).over(along)
    turns = points.select(*keys, _POINT, keep.alias("kept"), before.alias("before")).where("kept != before")
    return _between(turns, keys, F.col("kept"))


def _settle_two(left: DataFrame, right: DataFrame, keys: Sequence[str], keep: Column) -> DataFrame:
    """`settle` of two sets: `a` counts the ranges of the left one, `b` those of the right."""
    return settle(keys, keep, _layer(left, keys, a=1, b=0).unionAll(_layer(right, keys, a=0, b=1)))


def _layer(ranges: DataFrame, keys: Sequence[str], **measures: int) -> DataFrame:
    return ranges.select(*keys, *_RANGE, *[F.lit(amount).alias(name) for name, amount in measures.items()])


def canonical(ranges: DataFrame, keys: Sequence[str] = KEYS) -> DataFrame:
    """Sets in their shortest form: each number covered once, neighbours merged (F21)."""
    return settle(keys, F.col("a") > 0, _layer(ranges, keys, a=1))


def union(left: DataFrame, right: DataFrame, keys: Sequence[str] = KEYS) -> DataFrame:
    """Numbers in either set, canonical."""
    return _settle_two(left, right, keys, (F.col("a") > 0) | (F.col("b") > 0))


def subtract(left: DataFrame, right: DataFrame, keys: Sequence[str] = KEYS) -> DataFrame:
    """Numbers of `left` that are not in `right`, canonical: the holes, when `right` is what is held (R88).

    >>> ddl = "origin string, cn_min bigint, cn_max bigint"
    >>> reported = spark.createDataFrame([("PFS1", 1, 17), ("PFS2", 1, 28)], ddl)
    >>> applied = spark.createDataFrame([("PFS1", 1, 11), ("PFS1", 17, 17), ("PFS2", 1, 20)], ddl)
    >>> subtract(reported, applied).orderBy("origin").collect()
    [Row(origin='PFS1', cn_min=12, cn_max=16), Row(origin='PFS2', cn_min=21, cn_max=28)]
    """
    return _settle_two(left, right, keys, (F.col("a") > 0) & (F.col("b") == 0))


def intersect(left: DataFrame, right: DataFrame, keys: Sequence[str] = KEYS) -> DataFrame:
    """Numbers in both sets, canonical."""
    return _settle_two(left, right, keys, (F.col("a") > 0) & (F.col("b") > 0))


def size(ranges: DataFrame, by: Sequence[str]) -> DataFrame:
    """How many numbers the ranges of each `by` cover, as `size`; ranges must be canonical, absent keys yield no row."""
    return ranges.groupBy(*by).agg(F.sum(F.col("cn_max") - F.col("cn_min") + 1).alias("size"))


def contains(outer: DataFrame, inner: DataFrame, by: Sequence[str], keys: Sequence[str] = KEYS) -> DataFrame:
    """For each `by` of `inner`: `contained`, whether all its numbers are in `outer` (GTID_SUBSET, V25).

    A key of which `inner` has no range yields no row: the empty set is within every set.
    """
    outside = subtract(inner, outer, keys).select(*by).distinct().withColumn("contained", F.lit(False))
    asked = inner.select(*by).distinct()
    return asked.join(outside, list(by), "left").withColumn("contained", F.coalesce("contained", F.lit(True)))


def within(rows: DataFrame, ranges: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The rows whose `cn` lies in a range of the same key, with all their columns and those of the range but its ends."""
    inside = ranges.withColumnsRenamed({"cn_min": "_min", "cn_max": "_max"})
    return rows.join(inside, list(keys)).where("cn between _min and _max").drop("_min", "_max")


def meet(pieces: DataFrame, ranges: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The parts of pieces that lie in a range of the same key: a row for each range that a piece meets, with the columns of both.

    >>> ddl = "origin string, cn_min bigint, cn_max bigint"
    >>> sent = spark.createDataFrame([("PFS1", 1, 11), ("PFS1", 14, 20)], ddl)
    >>> asked = spark.createDataFrame([("PFS1", 10, 15)], ddl)
    >>> meet(sent, asked, ["origin"]).orderBy("cn_min").collect()
    [Row(origin='PFS1', cn_min=10, cn_max=11), Row(origin='PFS1', cn_min=14, cn_max=15)]
    """
    named = ranges.withColumnsRenamed({"cn_min": "_min", "cn_max": "_max"})
    both = pieces.join(named, list(keys)).where("cn_min <= _max and _min <= cn_max")
    return both.withColumns({"cn_min": F.greatest("cn_min", "_min"), "cn_max": F.least("cn_max", "_max")}).drop("_min", "_max")


def without(rows: DataFrame, ranges: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The rows whose `cn` lies in no range of the same key, with all their columns; the ranges may overlap."""
    inside = within(rows.select(*keys, "cn"), ranges.select(*keys, "cn_min", "cn_max"), keys)
    return rows.join(inside, [*keys, "cn"], "left_anti")


def from_text(sets: DataFrame, text: str) -> DataFrame:
    """The ranges written in column `text`, a row each with the other columns; the empty set yields no row.

    Takes the form `PFS1:1-11:17,PFS2:1-20` alone; text from people goes through `pfspark.cntext.parse`, which says where
    a mistake is.
    """
    others = [name for name in sets.columns if name != text]
    members = sets.where(F.col(text) != "").select(*others, F.explode(F.split(text, ",")).alias("_member"))
    parts = members.select(*others, F.split("_member", ":").alias("_parts"))
    spans = parts.select(
        *others,
        F.element_at("_parts", 1).alias("origin"),
        F.explode(F.expr("slice(_parts, 2, size(_parts))")).alias("_span"),
    )
    ends = F.split("_span", "-")
    return spans.select(
        *others,
        "origin",
        F.element_at(ends, 1).cast("bigint").alias("cn_min"),
        F.element_at(ends, -1).cast("bigint").alias("cn_max"),
    )


def store_of(label: str | Column) -> Column:
    """The store that a label names: `PFS1` of `PFS1~2`."""
    return F.element_at(F.split(_column(label), "~"), 1)


def life_of(label: str | Column) -> Column:
    """The life that a label names: 2 of `PFS1~2`, 1 of `PFS1`."""
    return F.coalesce(F.try_element_at(F.split(_column(label), "~"), F.lit(2)).cast("bigint"), F.lit(1))


def label_of(store: str | Column, life: str | Column) -> Column:
    """The label of a store's replica in one of its lives (F8)."""
    return F.when(_column(life) == 1, _column(store)).otherwise(F.concat_ws("~", _column(store), _column(life).cast("string")))


def number_of(label: str | Column, cn: str | Column) -> Column:
    """A change number as it is written: `PFS1:7`."""
    return F.concat_ws(":", _column(label), _column(cn).cast("string"))


def alone(number: str = "cn") -> tuple[Column, Column]:
    """A number as a range: cn_min, cn_max."""
    return F.col(number).alias("cn_min"), F.col(number).alias("cn_max")


def order_of(label: str | Column) -> Column:
    """What labels are sorted by: the store's name by bytes, then the life."""
    return F.struct(store_of(label).alias("store"), life_of(label).alias("life"))


def _column(name: str | Column) -> Column:
    return F.col(name) if isinstance(name, str) else name


def to_text(ranges: DataFrame, by: Sequence[str], text: str = "text") -> DataFrame:
    """One row for each `by` with its set written out in column `text`; ranges must be canonical.

    Origins ascend by store name and life, ranges by number. A key without ranges yields no row.
    """
    span = F.when(F.col("cn_min") == F.col("cn_max"), F.col("cn_min").cast("string")).otherwise(
        F.concat_ws("-", F.col("cn_min").cast("string"), F.col("cn_max").cast("string"))
    )
    spans = ranges.select(*by, "origin", F.struct("cn_min", span.alias("span")).alias("span"))
    members = spans.groupBy(*by, "origin").agg(F.array_sort(F.collect_list("span")).alias("spans"))
    written = members.select(
        *by,
        F.struct(order_of("origin").alias("order"), F.concat_ws(":", "origin", F.col("spans.span")).alias("member")).alias(
            "member"
        ),
    )
    return written.groupBy(*by).agg(F.concat_ws(",", F.expr("array_sort(collect_list(member)).member")).alias(text))
