"""How numbers came through an organization, hop by hop: given, sent, arrived or lost, heard of, asked for, answered, applied.

Read from the facts alone: what rounds have written is what is told. One job for any number of questions. What happened in a
round has its time, so `at` says which round that was. Upkeep folds rows of `state` together and lets go of steps of `backfill`
(`edge/keeping/upkeep.py`): what is before the last one has letters as they were, and is dated by the last of what was folded.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.ask.about import own
from pfspark.ask.gaps import asked_of
from pfspark.keys import FOLDER, HERE, MESSAGE, OBJECT, ORIGIN, ORIGIN_HERE, STORE
from pfspark.words import BackfillStep, Entry, Flag, Hop, MessageType, Outcome, Why

FACTS = ("changes", "messages", "receipts", "backfill", "agenda", "state", "rounds")
"""The tables that are read."""
RANGE = (*ORIGIN, "cn_min", "cn_max")
RANGE_DDL = "org string, folder string, origin string, cn_min bigint, cn_max bigint"
"""What is asked about."""
HOP = {
    **dict.fromkeys(ORIGIN, "string"), **dict.fromkeys(("cn_min", "cn_max"), "bigint"), "at": "timestamp", "store": "string",
    "what": "string", "peer": "string", "message_id": "string", "type": "string", "until": "timestamp", "attempt": "bigint",
    "reason": "string", "since": "timestamp", "due": "timestamp", "round": "bigint",
}  # fmt: skip
"""The columns of a hop."""
ANSWERS = (MessageType.HIERARCHY_RESPONSE, MessageType.CONTENT_RESPONSE)


def hops(asked: DataFrame, facts: Mapping[str, DataFrame]) -> DataFrame:
    """One row for each thing that happened to numbers that are asked about (rows of `RANGE`): the columns of `HOP`.

    `what` is a `words.Hop`, `store` where it happened, `peer` the other one: of what is sent the recipient, of what arrives
    the sender, of what is heard who told it, of what is asked for who was asked. `until`: when the letter is there, or when
    the store asks again; `reason`: why it was lost or refused, or the version made upon it; `since`, `due`: of what was sent,
    since when something of that folder waited for the store's cycle, and when that was, if it waited at all; `round`: of what was
    sent, and of a restore, which is not played and may have the time of what was.
    Numbers to which nothing happened have no row, nor have the parts of a letter that nobody asks about.
    """
    numbers = cnset.canonical(asked, ORIGIN)
    restored = facts["rounds"].where("kind = 'restored'")
    restores = restored.select(F.col("round").alias("restored"), F.inline("restored"), "turns")
    messages, receipts = facts["messages"], facts["receipts"]
    steps, state = (_said_in_rounds(facts[name], restores) for name in ("backfill", "state"))
    had = own(state)
    parts = (
        numbered(numbers, facts["changes"]),
        sent(numbers, messages, steps, facts["agenda"]),
        came(numbers, messages, receipts),
        heard(numbers, steps, messages, receipts),
        taken(numbers, had),
        superseded(numbers, facts["changes"], had),
        forgotten(numbers, facts["state"], restores),
    )
    return reduce(lambda some, more: some.unionByName(more), parts)


def numbered(numbers: DataFrame, changes: DataFrame) -> DataFrame:
    """The numbers as they were given, together where that was in one round (R31, R42)."""
    rows = cnset.within(changes, numbers, ORIGIN).select(*ORIGIN, *cnset.alone(), "at")
    return _hop(cnset.join_up(rows, ORIGIN, ["at"]), Hop.NUMBERED, store=cnset.store_of("origin"))


def sent(numbers: DataFrame, messages: DataFrame, steps: DataFrame, agenda: DataFrame) -> DataFrame:
    """Letters that carry them or ask for them, a row for each recipient (R43, R46, R94, R129); of a request its attempt too, of
    what was sent by itself since when it waited, and for which cycle."""
    letters = messages.withColumn("to", F.explode("recipients")).where(~F.array_contains("flags", Flag.COPY))
    to = (F.col("to.store").alias("peer"), F.col("to.due").alias("until"))
    rows = _of_letters(numbers, letters, "at", "store", "type", "round", *to)
    what = F.when(F.col("type").isin(*ANSWERS), Hop.ANSWERED).otherwise(Hop.SENT)
    is_request = F.col("type") == MessageType.BACKFILL_REQUEST
    asked = asked_of(steps).select(
        *ORIGIN_HERE, "at", F.col("of").alias("peer"), "attempt", F.col("due").alias("again"),
        F.col("cn_min").alias("low"), F.col("cn_max").alias("high"),
    )  # fmt: skip
    requests = rows.where(is_request).join(asked, [*ORIGIN, "store", "at", "peer"], "left")
    ends = {"cn_min": F.greatest("cn_min", "low"), "cn_max": F.least("cn_max", "high")}  # both pass over what is null
    met = requests.where("low is null or (low <= cn_max and cn_min <= high)")
    pieces = met.withColumns({**ends, "until": F.coalesce("again", "until")})
    told = cnset.join_up(pieces, (*ORIGIN, "store", "at", "peer", "message_id"), ["attempt", "until", "type"])
    gone = rows.where(~is_request)
    here = list(HERE)
    entries = agenda.where(F.col("why") == Why.SEND).select(*here, "since", "due", F.col("round").alias("noted"))
    noted = gone.select(*here, "round").distinct().join(entries, here).where("noted < round")
    waited = noted.groupBy(*here, "round").agg(F.max_by(F.struct("since", "due"), "noted").alias("entry"))
    timed = gone.join(waited.select(*here, "round", "entry.*").where("due is not null"), [*here, "round"], "left")
    return _hop(timed, what).unionByName(_hop(told, Hop.ASKED))


def came(numbers: DataFrame, messages: DataFrame, receipts: DataFrame) -> DataFrame:
    """What became of those letters at those for whom they were (R59, R73, R74)."""
    letters = _of_letters(numbers, messages, "type", F.col("store").alias("peer"))
    became = receipts.where("message_id is not null").select(*MESSAGE, "at", "store", "outcome", "reason")
    what = (
        F.when(F.col("outcome") == Outcome.LOST, Hop.LOST).when(F.col("reason").isNotNull(), Hop.REFUSED).otherwise(Hop.ARRIVED)
    )
    return _hop(letters.join(became, list(MESSAGE)), what)


def heard(numbers: DataFrame, steps: DataFrame, messages: DataFrame, receipts: DataFrame) -> DataFrame:
    """When a store noticed that it lacks them (R76), by the first letter of that round that claims any of them."""
    noticed = _among(numbers, steps.where(F.col("step") == BackfillStep.HEARD), "at", "store")
    claims = messages.select(*MESSAGE, "type", F.col("store").alias("peer"), F.inline("status"))
    claims = claims.where(F.col("entry") == Entry.REPORTED).withColumnsRenamed({"cn_min": "low", "cn_max": "high"})
    read = receipts.where(F.col("outcome").isin(Outcome.APPLIED, Outcome.NOTHING_NEW)).where(
        "message_id is not null and reason is null"
    )
    piece = [*RANGE, "at", "store"]
    then = noticed.join(read.select(*MESSAGE, "store", "folder", "at"), [*HERE, "at"])  # few letters, each of many claims
    telling = then.join(claims, [*MESSAGE, "origin"]).where("low <= cn_max and cn_min <= high")
    first = telling.groupBy(*piece).agg(F.min(F.struct("message_id", "peer", "type")).alias("first")).select(*piece, "first.*")
    return _hop(noticed.join(first, piece, "left"), Hop.HEARD)


def taken(numbers: DataFrame, had: DataFrame) -> DataFrame:
    """When stores wrote down that they have them (R75), or have settled them without content (F56); not what a replica gave
    itself, but what it gave in another life."""
    others = had.where((F.col("about") != F.col("origin")) | (F.col("entry") == Entry.EMPTY))
    rows = _among(numbers, others, "at", "store", "entry")
    settled, applied = (rows.where(F.col("entry") == entry) for entry in (Entry.EMPTY, Entry.APPLIED))
    with_content = cnset.subtract(applied, settled, [*ORIGIN, "store", "at"])
    return _hop(settled, Hop.SETTLED).unionByName(_hop(with_content, Hop.APPLIED))


def superseded(numbers: DataFrame, changes: DataFrame, had: DataFrame) -> DataFrame:
    """When stores first held a version that was made upon them (F27): `reason` is its number."""
    item = list(OBJECT)
    before = cnset.within(changes, numbers, ORIGIN).select(*item, "origin", "cn")
    later = changes.select(*item, F.col("origin").alias("by"), F.col("cn").alias("by_cn"), F.inline("predecessors"))
    upon = later.withColumnRenamed("cn", "high").join(before, [*item, "origin"]).where("cn <= high")
    held = had.where(F.col("entry") == Entry.APPLIED).withColumnRenamed("origin", "by")
    there = upon.join(held.select(*FOLDER, "by", "store", "at", "cn_min", "cn_max"), [*FOLDER, "by"])
    version = cnset.number_of("by", "by_cn").alias("reason")
    first = F.min(F.struct("at", version)).alias("first")
    found = there.where("by_cn between cn_min and cn_max").groupBy(*ORIGIN, "cn", "store").agg(first)
    return _hop(found.select(*ORIGIN, *cnset.alone(), "store", "first.*"), Hop.SUPERSEDED)


def forgotten(numbers: DataFrame, state: DataFrame, restores: DataFrame) -> DataFrame:
    """When stores were taken back to a moment at which they did not have them yet (F8)."""
    in_order = Window.partitionBy(*STORE).orderBy("restored")
    back = restores.select(*STORE, "to", "restored", F.inline("turns").alias("of", "now")).where("of = org").drop("of")
    back = back.withColumn("since", F.coalesce(F.lag("restored").over(in_order), F.lit(0)))
    rows = _among(numbers, own(state).where(F.col("entry") == Entry.APPLIED), "store", "round").join(back, list(STORE))
    had = rows.where("round > to and round >= since and round < restored")
    lost = cnset.subtract(had, rows.where("round = restored"), [*ORIGIN, "store", "restored", "now"])
    return _hop(lost.withColumns({"at": F.col("now"), "round": F.col("restored")}), Hop.FORGOTTEN)


def _said_in_rounds(rows: DataFrame, restores: DataFrame) -> DataFrame:
    """Without what restores wrote anew, which was so before."""
    return rows.join(restores.select(F.col("restored").alias("round")).distinct(), "round", "left_anti")


def _of_letters(numbers: DataFrame, letters: DataFrame, *columns: str | Column) -> DataFrame:
    """The parts of the numbers that letters carry or ask for."""
    pieces = letters.select("folder", *MESSAGE, *columns, F.inline(F.concat("carries", "asks")))
    return _among(numbers, pieces, *(name for name in pieces.columns if name not in RANGE))


def _among(numbers: DataFrame, rows: DataFrame, *columns: str | Column) -> DataFrame:
    """The parts of the rows' ranges that are among the numbers, with those columns."""
    return cnset.meet(rows.select(*RANGE, *columns), numbers, ORIGIN)


def _hop(rows: DataFrame, what: str | Column, *, store: Column | None = None) -> DataFrame:
    """Rows as hops; what they do not say is null."""
    made = rows.withColumn("what", what if isinstance(what, Column) else F.lit(what))
    made = made if store is None else made.withColumn("store", store)
    columns = ((F.col(name) if name in made.columns else F.lit(None)).cast(type).alias(name) for name, type in HOP.items())
    return made.select(*columns)
