"""What is known of numbers that somebody asks about: rows of `evidence`, of a cause (`why.first_cause`), or, without one, of any.

Which version readers are shown, and what a store holds, is asked of the rules that decide it in a round (`items`, `state`).
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.frame import rule
from pfspark.keys import HERE, ITEM, MESSAGE, OBJECT, ORIGIN, ORIGIN_HERE, RANGE_HERE, STORE
from pfspark.rules import items, state
from pfspark.tables import FRAMES
from pfspark.words import HIERARCHY, Cause, Entry


def _evidence(rows: DataFrame, **said: Column) -> DataFrame:
    """Ranges with what is `said` of them; the other columns of `evidence` are null."""
    columns = [each for each in FRAMES["evidence"].columns if each.name not in RANGE_HERE]
    cells = [said.get(each.name, F.lit(None)).cast(each.type).alias(each.name) for each in columns]
    return rows.select(*RANGE_HERE, *cells)


@rule("evidence", inline=True)
def came(log: DataFrame) -> DataFrame:
    """When stores have taken numbers for their own, or settled them without content."""
    cause = F.when(F.col("entry") == Entry.APPLIED, Cause.HERE).otherwise(Cause.EXPIRED)
    return _evidence(log, cause=cause, at=F.col("at"))


@rule("evidence", inline=True)
def given(asked: DataFrame, *, log: DataFrame, changes: DataFrame) -> DataFrame:
    """When numbers were given by their origin, for every store that is asked about; of any cause. One that its origin knows
    no more, as it was restored since, was given when its change was written: `changes` are those asked about."""
    span = ("cn_min", "cn_max", "at")
    own = log.where((cnset.store_of("origin") == F.col("store")) & (F.col("entry") == Entry.APPLIED)).select(*ORIGIN, *span)
    forgotten = cnset.without(changes.select(*ORIGIN, "cn", "at"), own, ORIGIN).select(*ORIGIN, *cnset.alone(), "at")
    whoever = asked.select(*ORIGIN_HERE).distinct()
    return _evidence(own.unionByName(forgotten).join(whoever, list(ORIGIN)), at=F.col("at"))


@rule(like="changes", needs=("changes", "asked"))
def of_items(changes: DataFrame, *, asked: DataFrame) -> DataFrame:
    """All changes of the items that changes `asked` about are of."""
    return changes.join(asked.select(*OBJECT).distinct(), list(OBJECT), "left_semi")


@rule("versions_held", drives=("asked",), needs=("applied",))
def held(asked: DataFrame, *, changes: DataFrame, applied: DataFrame, empty: DataFrame) -> DataFrame:
    """The versions of those items (`of_items`) that the stores asked hold."""
    stores = asked.select(*HERE).distinct()
    contents = state.contents(applied.join(stores, list(HERE), "left_semi"), empty=empty)
    return items.seen(changes.where(F.col("folder") != HIERARCHY), applied=contents)


@rule("evidence")
def instead(versions: DataFrame, *, winners: DataFrame, log: DataFrame) -> DataFrame:
    """Numbers that are held, and that readers are not shown: which `version` superseded, beat or deleted them, and since when.

    Of several that were made upon a number the one that readers are shown comes first, then the first made.

    Source: F27, F28.
    """
    number = F.struct("origin", "cn")
    shown = winners.select(*ITEM, "deleted", number.alias("winner"))
    hidden = (
        versions.join(shown, list(ITEM))
        .where(F.col("deleted") | (number != F.col("winner")))
        .select(*ITEM, "origin", "cn", "dominated", "deleted", "winner")
    )
    later = versions.select(*ITEM, "made_at", number.alias("by"), F.inline("predecessors")).withColumnRenamed("cn", "high")
    order = F.struct(F.col("by") != F.col("winner"), "made_at", cnset.order_of("by.origin"), "by")
    upon = (
        hidden.join(later, [*ITEM, "origin"])
        .where("cn <= high")
        .groupBy(*HERE, "origin", "cn")
        .agg(F.min_by("by", order).alias("by"))
    )
    cause = F.when(F.col("deleted"), Cause.DELETED).when(F.col("dominated"), Cause.SUPERSEDED).otherwise(Cause.LOSER)
    instead = F.when(cause == Cause.SUPERSEDED, F.col("by")).otherwise(F.col("winner"))
    told = hidden.join(upon, [*HERE, "origin", "cn"], "left").select(
        *HERE, number.alias("number"), instead.alias("instead"), cause.alias("cause")
    )
    both = told.select(*HERE, "number", F.inline(F.array("number", "instead")))
    arrived = cnset.within(both, log.where(F.col("entry") == Entry.APPLIED).select(*RANGE_HERE, "at"), ORIGIN_HERE)
    dates = (
        arrived.groupBy(*HERE, "number", "origin", "cn").agg(F.min("at").alias("at"))
        .groupBy(*HERE, "number").agg(F.max("at").alias("at"))
    )  # fmt: skip
    dated = told.join(dates, [*HERE, "number"], "left")
    spans = dated.select(*HERE, "number.origin", *cnset.alone("number.cn"), "cause", "at", "instead")
    version = cnset.number_of("instead.origin", "instead.cn")
    return _evidence(spans, cause=F.col("cause"), at=F.col("at"), version=version)


@rule("evidence", inline=True)
def coming(mail: DataFrame) -> DataFrame:
    """The numbers that mail under way carries, by who receives them; what will not arrive brings none."""
    return _of_mail(mail, F.inline("carries"), Cause.ON_ITS_WAY)


@rule("evidence", inline=True)
def told(mail: DataFrame, *, letters: DataFrame) -> DataFrame:
    """The numbers of which the status part of mail under way tells its recipient (R85)."""
    claims = F.filter("status", lambda each: each["entry"] == Entry.REPORTED)
    ranges = F.transform(claims, lambda each: F.struct(each["origin"], each["cn_min"], each["cn_max"]))
    says = letters.select(*MESSAGE, F.array_distinct(ranges).alias("says"))  # about whomever they are said
    told = F.inline("says").alias("origin", "cn_min", "cn_max")
    return _of_mail(mail.join(says, list(MESSAGE)), told, Cause.NOT_HEARD, nth=F.lit(0))


def _of_mail(mail: DataFrame, ranges: Column, cause: Cause, **said: Column) -> DataFrame:
    read = ("due", "type", "message_id", "at")
    rows = mail.where("lost is null").select(
        "org", F.col("recipient").alias("store"), "folder", F.col("store").alias("of"), *read, ranges
    )
    return _evidence(rows, cause=F.lit(str(cause)), **{name: F.col(name) for name in ("of", *read)}, **said)


@rule("evidence", inline=True)
def to_be_told(shown: DataFrame, *, letters: DataFrame) -> DataFrame:
    """The numbers of which letters that stores will write tell their recipients; a letter whose time is known comes first."""
    read = letters.select(*HERE, "peer", "due", "type")
    rows = shown.join(read, list(HERE)).withColumnsRenamed({"store": "of", "peer": "store"})
    unknown = F.col("due").isNull().cast("int")
    return _evidence(rows, cause=F.lit(str(Cause.NOT_HEARD)), nth=unknown, due=F.col("due"), of=F.col("of"), type=F.col("type"))


@rule("evidence", inline=True)
def requested(requests: DataFrame) -> DataFrame:
    """Whom stores asked for numbers, the last first."""
    last = -F.unix_micros("at")
    return _evidence(requests, cause=F.lit(str(Cause.ASKED)), nth=last, of=F.col("of"), at=F.col("at"))


@rule("evidence", inline=True)
def asked_next(chosen: DataFrame) -> DataFrame:
    """Whom stores will ask for numbers; of any cause."""
    return _evidence(chosen, of=F.col("peer"))


@rule("evidence", inline=True)
def had(beliefs: DataFrame, *, contacts: DataFrame) -> DataFrame:
    """Who is believed to have numbers, and when that store was heard; the last first."""
    heard = contacts.select(*STORE, F.col("peer").alias("of"), "heard")
    holders = beliefs.where(F.col("entry") == Entry.REPORTED).withColumn("of", cnset.store_of("about"))
    rows = holders.join(heard, [*STORE, "of"], "left")
    last = -F.unix_micros("heard")
    return _evidence(rows, cause=F.lit(str(Cause.NOBODY_HAS_IT)), nth=last, of=F.col("of"), at=F.col("heard"))


@rule("evidence", inline=True)
def refused(refusals: DataFrame) -> DataFrame:
    """The messages with numbers that stores refused, the first first."""
    said = {name: F.col(name) for name in ("of", "reason", "message_id", "at")}
    return _evidence(refusals, cause=F.lit(str(Cause.REFUSED_HERE)), nth=F.unix_micros("at"), **said)
