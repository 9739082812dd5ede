"""From whom missing numbers are asked (R97-R119).

The generations differ by the rows of their source order alone. A row is conditions and a sort key: `cost` holds for
everybody, `since_2000 same_site longest_ago` for servers of 2000 and later in the same site. A source's sort keys are
the values of all rows in order, nothing where its conditions do not hold; nothing sorts last.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from pfspark import cnset, naming, sites
from pfspark.frame import rule
from pfspark.keys import HERE, ORIGIN_HERE, PAIR, RANGE_HERE
from pfspark.words import CARRYING, EXCHANGE_2000, MOST_RESPONDERS, REPLICA, SAYS_NOTHING, Entry


@rule("gives")
def content(claimed: DataFrame) -> DataFrame:
    """What each peer can give: its reported numbers but those it has settled without content; canonical per peer."""
    keys = (*ORIGIN_HERE, "peer")
    reported = claimed.where(F.col("entry") == Entry.REPORTED)
    return cnset.subtract(reported, claimed.where(F.col("entry") == Entry.EMPTY), keys)


@rule("ranked", needs=("missing", "gives"))
def rank(
    missing: DataFrame, *, gives: DataFrame, stores: DataFrame, links: DataFrame, contacts: DataFrame, clock: DataFrame
) -> DataFrame:
    """The sources of each (org, store, folder) in the order they are asked: `peer`, `nth` from 1.

    `missing` is all of the folder's array that somebody claims, due or not: a full match has all of that. `gives` is what each
    peer can give. A peer that can give nothing of it is no source.

    Source: R97-R105 (Exchange 2007, "Backfill Requests and Backfill Messages"); R107-R118 (KB 812857).
    """
    known = consider(missing, gives=gives, stores=stores, links=links, contacts=contacts, clock=clock)
    return known.select(*HERE, "peer", "nth")


def consider(
    missing: DataFrame, *, gives: DataFrame, stores: DataFrame, links: DataFrame, contacts: DataFrame, clock: DataFrame
) -> DataFrame:
    """The sources of each (org, store, folder) with what decides between them: `peer`, its place `nth`, how many of the
    missing numbers it can give (`amount`), the sort keys by name (`keys`) and what each is for this source (`values`, the
    lowest first; `SAYS_NOTHING` where the key says nothing of it).

    Under `full_match_first` the first one that has everything comes before all (`has_less`); if none has, those of the last
    group that has a candidate, then the others (`earlier_group`).
    """
    whole = cnset.size(missing, HERE).withColumnRenamed("size", "whole")
    candidates = _amounts(missing, gives).join(whole, list(HERE))
    known = _facts(candidates, stores=stores, links=links, contacts=contacts, clock=clock)
    groups = F.transform("source_keys", _opens_group)
    grouped = known.withColumn("group", F.coalesce(F.array_position(groups, True), F.lit(0)))
    has_less = F.col("full_match_first") & (F.col("amount") < F.col("whole"))
    earlier_group = has_less & (F.col("group") < F.max("group").over(Window.partitionBy(*HERE)))
    first = {"has_less": has_less.cast("bigint"), "earlier_group": earlier_group.cast("bigint")}
    decided = grouped.select(
        *HERE,
        "peer",
        "amount",
        F.concat(F.array(*map(F.lit, first)), "source_keys").alias("keys"),
        F.concat(F.array(*first.values()), F.transform("source_keys", _value)).alias("values"),
    )
    return decided.withColumn("nth", F.row_number().over(Window.partitionBy(*HERE).orderBy("values", "peer")))


def _amounts(missing: DataFrame, gives: DataFrame) -> DataFrame:
    """How many of the missing numbers each peer can give, if any: org, store, folder, peer, `amount`."""
    asked = missing.join(gives.select(*ORIGIN_HERE, "peer").distinct(), list(ORIGIN_HERE))
    return cnset.size(cnset.intersect(asked, gives, (*ORIGIN_HERE, "peer")), (*HERE, "peer")).withColumnRenamed("size", "amount")


def _facts(candidates: DataFrame, *, stores: DataFrame, links: DataFrame, contacts: DataFrame, clock: DataFrame) -> DataFrame:
    """Candidates with what conditions and sort keys speak of: `facts` by condition, `values` by key."""
    policy = clock.select("org", "now", "source_keys", "full_match_first")
    full = (
        sites.between(candidates, stores, "version", "preferred")
        .join(links.select("org", "from_site", "to_site", "cost", "delay_s"), ["org", "from_site", "to_site"], "left")
        .join(contacts.select(*PAIR, "asked", "silent"), list(PAIR), "left")
        .join(policy, "org")
    )
    version = F.coalesce(F.regexp_extract("version", r"^(\d{1,9}(\.\d{1,9})?)", 1).try_cast("double"), F.lit(0.0))
    facts = {
        "since_2000": version >= EXCHANGE_2000,
        "before_2000": version < EXCHANGE_2000,
        "same_site": sites.near(),
        "affinity": ~sites.near() & F.col("cost").isNotNull(),
        "no_affinity": ~sites.near() & F.col("cost").isNull(),
    }
    values = {
        "unavailable": F.coalesce(F.col("silent") <= F.col("now"), F.lit(False)).cast("bigint"),
        "not_preferred": (~F.coalesce("preferred", F.lit(False))).cast("bigint"),
        "cost": sites.cost(),
        "delay": F.when(sites.near(), 0).otherwise(F.coalesce("delay_s", F.lit(0))),
        "older_version": (-version * 1000).cast("bigint"),
        "fewer": -F.col("amount"),
        "longest_ago": F.coalesce(F.unix_micros("asked"), F.lit(0)),
        "store": F.lit(0),
    }
    return full.withColumns({"facts": _map(facts, "boolean"), "values": _map(values, "bigint")})


def _map(columns: dict[str, Column], kind: str) -> Column:
    return F.create_map(*[part for name, column in columns.items() for part in (F.lit(name), column.cast(kind))])


def _conditions_hold(row: Column) -> Column:
    """Whether all words of a row but the last, its key, hold."""
    words = F.split(row, " ")
    return F.forall(F.slice(words, 1, F.size(words) - 1), lambda condition: F.col("facts")[condition])


def _value(row: Column) -> Column:
    """What a row says of this source: its key's value; it `SAYS_NOTHING` unless its conditions hold."""
    key = F.element_at(F.split(row, " "), -1)
    return F.when(_conditions_hold(row), F.col("values")[key]).otherwise(F.lit(SAYS_NOTHING))


def _opens_group(row: Column) -> Column:
    """Whether a row that has conditions applies to this source."""
    return row.contains(" ") & _conditions_hold(row)


@rule("chosen", needs=("ranked",), inline=True)
def choose(due: DataFrame, *, ranked: DataFrame, gives: DataFrame) -> DataFrame:
    """Each due piece with the first source that can give it: org, store, folder, origin, range, `peer`, attempt, asked, now.

    What an earlier source can give is not asked of a later one; a piece that is split over two sources yields a row each.

    >>> here = {"org": "o", "store": "PFS1", "folder": "PFS1:1"}
    >>> numbers = {**here, "origin": "PFS1"}
    >>> piece = frame("timed", {**numbers, "cn_min": 4, "cn_max": 9, "near": 1, "leaving": 0, "attempt": 0})
    >>> ranked = frame("ranked", {**here, "peer": "PFS2", "nth": 1}, {**here, "peer": "PFS3", "nth": 2})
    >>> spans = (("PFS2", 4, 6), ("PFS3", 5, 9))
    >>> gives = frame("gives", *({**numbers, "peer": peer, "cn_min": low, "cn_max": high} for peer, low, high in spans))
    >>> choose(piece, ranked=ranked, gives=gives).select("peer", "cn_min", "cn_max").orderBy("peer").show()
    +----+------+------+
    |peer|cn_min|cn_max|
    +----+------+------+
    |PFS2|     4|     6|
    |PFS3|     7|     9|
    +----+------+------+

    Source: R103, R104, R118, R151.
    """
    pieces = due.select(*RANGE_HERE)
    given = cnset.intersect(pieces.join(ranked.select(*HERE, "peer"), list(HERE)), gives, (*ORIGIN_HERE, "peer"))
    asking = _first_able(given.join(ranked, [*HERE, "peer"])).join(ranked, [*HERE, "peer"])
    sources = asking.select(*RANGE_HERE, F.col("nth").alias("source"))
    # In a coverage 0 says that there is no piece here, so attempts are counted from 1 in it.
    timed = due.select(
        *RANGE_HERE,
        "near",
        "leaving",
        (F.col("attempt") + 1).alias("next_attempt"),
        F.coalesce(F.unix_micros("asked"), F.lit(0)).alias("asked"),
        F.unix_micros("now").alias("now"),
    )
    split = cnset.coverage(ORIGIN_HERE, sources, timed).where("source > 0 and next_attempt > 0")
    return split.join(ranked.withColumnRenamed("nth", "source"), [*HERE, "source"]).select(
        *ORIGIN_HERE,
        "cn_min",
        "cn_max",
        "peer",
        "near",
        "leaving",
        (F.col("next_attempt") - 1).alias("attempt"),
        F.when(F.col("next_attempt") > 1, F.timestamp_micros("asked")).alias("asked"),
        F.timestamp_micros("now").alias("now"),
    )


def _first_able(given: DataFrame) -> DataFrame:
    """What each source can give, of which no earlier one can: org, store, folder, origin, range, peer."""
    keys = (*ORIGIN_HERE, "peer")
    earlier = given.withColumnsRenamed({"nth": "before", "peer": "first"}).join(
        given.select(*keys, "nth").distinct(), list(ORIGIN_HERE)
    )
    return cnset.subtract(given, earlier.where("before < nth").select(*keys, "cn_min", "cn_max"), keys)


@rule("responders")
def responders(
    begin: DataFrame,
    *,
    holders: DataFrame,
    missing: DataFrame,
    gives: DataFrame,
    stores: DataFrame,
    links: DataFrame,
    contacts: DataFrame,
    tree: DataFrame,
    clock: DataFrame,
) -> DataFrame:
    """Who must answer a status request that begins now: org, store, folder, peer, and whether its time is `stamped`.

    By the `rule` of each row of `begin`: all holders; the first three in the order of sources, in which counts what each is
    known to have of what is `missing` (R102), though who has nothing of it is not left out; or the list of Exchange 2000:
    three by its six steps, those of the own site stamped so that they go to the end of the queue, and the holder of the
    oldest copy besides.

    Source: R120-R128, R130-R134; Q4, Q5.
    """
    asked = begin.join(holders, list(HERE)).join(_amounts(missing, gives), [*HERE, "peer"], "left").fillna(0, "amount")
    known = _facts(asked, stores=stores, links=links, contacts=contacts, clock=clock)
    active = contacts.select(*PAIR, F.col("sent").isNotNull().alias("active"))
    placed = tree.where(F.col("property").startswith(REPLICA)).select(
        *HERE, naming.peer_of(F.col("property")).alias("peer"), F.col("stamp.at").alias("placed")
    )
    ranked = _ranked(known.join(active, list(PAIR), "left").join(placed, [*HERE, "peer"], "left"))
    named = (
        (F.col("rule") == "all")
        | ((F.col("rule") == "three") & (F.col("by_source") <= MOST_RESPONDERS))
        | ((F.col("rule") == "three_and_oldest") & ((F.col("by_step") <= MOST_RESPONDERS) | (F.col("by_age") == 1)))
    )
    stamped = (F.col("rule") == "three_and_oldest") & F.col("facts")["same_site"] & (F.col("by_step") <= MOST_RESPONDERS)
    return ranked.where(named).select(*HERE, "peer", stamped.alias("stamped"), "now")


def _ranked(known: DataFrame) -> DataFrame:
    """Holders with their places: in the order of sources, by the six steps of Exchange 2000 (R122-R127), and by the age of the
    copy."""
    near, linked = F.col("facts")["same_site"], F.col("facts")["affinity"]
    group = F.when(near, 1).when(linked & F.coalesce("active", F.lit(False)), 2).when(linked, 4).otherwise(5)
    key = F.when(near, F.col("values")["longest_ago"]).when(linked, F.col("values")["cost"]).otherwise(F.col("values")["delay"])
    of_folder = Window.partitionBy(*HERE)
    return known.withColumns(
        {
            "by_source": F.row_number().over(of_folder.orderBy(F.transform("source_keys", _value), "peer")),
            "by_step": F.row_number().over(of_folder.orderBy(group, key, "peer")),
            "by_age": F.row_number().over(of_folder.orderBy(F.col("placed").asc_nulls_first(), "peer")),
        }
    )


@rule("contacts", drives=("delivered",))
def hear(contacts: DataFrame, *, delivered: DataFrame) -> DataFrame:
    """What stores remember of those they hear in this round: rows of `contacts`.

    Whoever is heard, by any message, is available again, also for what is asked in this very round.

    Source: R98, R105 (Q9); R123 for `sent`.
    """
    sent = F.when(F.col("type").isin(*CARRYING), F.col("now"))
    news = (
        delivered.where("lost is null")
        .groupBy("org", F.col("recipient").alias("store"), F.col("store").alias("peer"))
        .agg(F.max("now").alias("new_heard"), F.max(sent).alias("new_sent"))
    )
    return news.join(contacts, list(PAIR), "left").select(
        *PAIR,
        F.col("new_heard").alias("heard"),
        F.coalesce("new_sent", "sent").alias("sent"),
        "asked",
        F.lit(None).cast("timestamp").alias("silent"),
    )


@rule("contacts", drives=("asks", "responders"))
def remember(contacts: DataFrame, *, asks: DataFrame, responders: DataFrame) -> DataFrame:
    """What stores remember of those they ask in this round: rows of `contacts`.

    Whoever is asked becomes unavailable when the retry falls due, unless it is heard before.

    Source: R105 (Q9); R108, R122.
    """
    asked = asks.select(*PAIR, F.col("now").alias("new_asked"), F.col("due").alias("new_silent"))
    stamped = responders.where("stamped").select(*PAIR, F.col("now").alias("new_asked"))
    news = (
        asked.unionByName(stamped, allowMissingColumns=True)
        .groupBy(*PAIR)
        .agg(F.max("new_asked").alias("new_asked"), F.min("new_silent").alias("new_silent"))
    )
    return news.join(contacts, list(PAIR), "left").select(
        *PAIR,
        "heard",
        "sent",
        F.col("new_asked").alias("asked"),
        F.least("silent", "new_silent").alias("silent"),
    )
