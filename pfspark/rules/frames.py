"""What a round does with any frame: rows of some folders, rows that are replaced, rows of several frames together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pfspark.frame import rule
from pfspark.keys import HERE, ORIGIN


@rule(drives=("changed",), amends="view")
def amend(view: DataFrame, changed: DataFrame, *, key: Sequence[str]) -> DataFrame:
    """A view in which the rows of every `key` in `changed` are replaced by those of `changed`."""
    return view.join(changed.select(*key), list(key), "left_anti").unionByName(changed)


@rule(drives=("more",), amends="view", inline=True)
def append(view: DataFrame, more: DataFrame) -> DataFrame:
    """A view with more rows."""
    return view.unionByName(more)


@rule(like="rows", needs=("rows", "keys"), inline=True)
def in_folders(rows: DataFrame, keys: DataFrame) -> DataFrame:
    """The rows of those folders (org, store, folder)."""
    return rows.join(keys.select(*HERE), list(HERE), "left_semi")


@rule(drives=("keys",), amends="rows")
def elsewhere(rows: DataFrame, keys: DataFrame) -> DataFrame:
    """The rows of other folders (org, store, folder)."""
    return rows.join(keys.select(*HERE), list(HERE), "left_anti")


@rule(like="changes", needs=("changes", "ranges"))
def in_ranges(changes: DataFrame, ranges: DataFrame) -> DataFrame:
    """The changes whose numbers lie in a range of their folder and origin, whoever's ranges they are; each once."""
    inside = ranges.select(*(F.col(name).alias(f"_{name}") for name in (*ORIGIN, "cn_min", "cn_max")))
    alike = reduce(Column.__and__, (F.col(name) == F.col(f"_{name}") for name in ORIGIN))
    return changes.join(inside, alike & F.col("cn").between(F.col("_cn_min"), F.col("_cn_max")), "left_semi")


@rule(like="rows")
def once(rows: DataFrame) -> DataFrame:
    """Those rows, made once for all who read them: of what is `inline` each reader makes its own."""
    return rows


@rule(like="frames", inline=True)
def together(*frames: DataFrame) -> DataFrame:
    """The rows of all; where a frame has not all columns of the others they are null."""
    return reduce(lambda above, below: above.unionByName(below, allowMissingColumns=True), frames)


@rule("keys")
def keys_of(*frames: DataFrame) -> DataFrame:
    """The folders (org, store, folder) that have a row in any, each once."""
    return together(*(frame.select(*HERE) for frame in frames)).distinct()


@rule("steps")
def dated(moves: DataFrame, *, clock: DataFrame) -> DataFrame:
    """Steps of replicas with the moment `at` which they are taken: the organization's time."""
    return moves.join(clock.select("org", F.col("now").alias("at")), "org")


@rule(like="rows", inline=True)
def going(rows: DataFrame) -> DataFrame:
    """Of rows with `goes` those that go now."""
    return rows.where("goes")


@rule(like="rows", inline=True)
def staying(rows: DataFrame) -> DataFrame:
    """Of rows with `goes` those that wait."""
    return rows.where("not goes")
