"""The replication state table: what a store knows of itself and believes of others (R75-R84)."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark import cnset, sites
from pfspark.frame import rule
from pfspark.keys import BELIEF, FOLDER, HERE, MESSAGE, ORIGIN_HERE, RANGE_HERE, SAID
from pfspark.words import LIVE, Entry, Listing, Standing


@rule("told")
def hear(accepted: DataFrame, *, letters: DataFrame, believed: DataFrame) -> DataFrame:
    """What the `letters` of messages accepted tell their recipients of others: one row a claim and who tells it, but for claims
    that lie within a range which the recipient believes already.

    Of n stores each tells all others of all others. What somebody does not believe yet is found among what is said and who hears
    it, which is n², before it is asked who said it to whom.

    >>> mail = frame("delivered", *({"org": "o", "folder": "1-1", "message_id": "m", "sender": "PFS1", "recipient": to}
    ...                             for to in ("PFS2", "PFS3")))
    >>> claim = {"about": "PFS1", "entry": "reported", "origin": "PFS1", "cn_min": 1, "cn_max": 6}
    >>> letters = frame("letters", {"org": "o", "message_id": "m", "status": [claim]})
    >>> believed = frame("beliefs", *({**claim, "org": "o", "folder": "1-1", "store": store, "cn_max": last}
    ...                               for store, last in {"PFS2": 9, "PFS3": 4}.items()))
    >>> hear(mail, letters=letters, believed=believed).select("store", "about", "cn_min", "cn_max", "sender").show()
    +-----+-----+------+------+------+
    |store|about|cn_min|cn_max|sender|
    +-----+-----+------+------+------+
    | PFS3| PFS1|     1|     6|  PFS1|
    +-----+-----+------+------+------+

    Source: R48, R83.
    """
    written = accepted.select(*FOLDER, "message_id", "sender").distinct()
    says = written.join(letters, list(MESSAGE)).select(*FOLDER, "message_id", "sender", F.inline("status"))
    hearers = accepted.select("org", F.col("recipient").alias("store"), "folder").distinct()
    may_be_new = hearers.join(says.select(*SAID).distinct(), list(FOLDER)).where(cnset.store_of("about") != F.col("store"))
    known = believed.select(*BELIEF, F.col("cn_min").alias("first"), F.col("cn_max").alias("last"))
    within = may_be_new.join(known, list(BELIEF)).where("first <= cn_min and cn_max <= last").select("store", *SAID)
    new = may_be_new.join(within, ["store", *SAID], "left_anti")
    to = accepted.select(*MESSAGE, F.col("recipient").alias("store"))
    return new.join(says, list(SAID)).join(to, [*MESSAGE, "store"], "left_semi").select(*BELIEF, "cn_min", "cn_max", "sender")


@rule("state_rows")
def learn(told: DataFrame, *, believed: DataFrame, lives: DataFrame) -> DataFrame:
    """Beliefs that are new with what stores were `told`: rows of `state`, `relayed` where a third store told them.

    A belief about oneself is none. Of a replica in an older life than is known nothing is believed (Q12). A range that
    is believed already yields no row, however often it is told. PFS3 believes of PFS1 that it holds `PFS1:1-4`; a status of
    PFS1 says `PFS1:1-6`: one row, `PFS1:5-6` reported about PFS1, not relayed.

    Source: R48, R75, R77, R83, R106, R145; C3 for relayed news.
    """
    current = current_only(told, lives=lives)
    heard = current.select(
        *BELIEF,
        "cn_min",
        "cn_max",
        (F.col("about") == F.col("sender")).cast("int").alias("direct"),
        F.lit(1).alias("told"),
    )
    known = believed.select(*BELIEF, "cn_min", "cn_max", F.lit(1).alias("known"))
    news = cnset.coverage(BELIEF, heard, known).where("told > 0 and known = 0")
    return news.select(*BELIEF, "cn_min", "cn_max", (F.col("direct") == 0).alias("relayed"))


@rule("moves", inline=True)
def forgotten(accepted: DataFrame, *, letters: DataFrame, applied: DataFrame, replicas: DataFrame) -> DataFrame:
    """Replicas that have forgotten what they gave: rows of `replicas`, as they stand, in a new life.

    Somebody's status shows numbers under the label of a replica's current life that are higher than any it holds of its own:
    its tables were restored without its knowing. A number must not be given twice, so it begins a new life (F8).
    """
    label = cnset.label_of("store", "life")
    alive = replicas.where(F.col("standing").isin(*LIVE))
    to = accepted.select(*MESSAGE, F.col("recipient").alias("store"), "folder")
    current = to.join(alive.select(*HERE, "life", "standing", label.alias("label")), list(HERE))
    numbers = letters.select(*MESSAGE, F.inline("status")).select(*MESSAGE, F.col("origin").alias("label"), "cn_max")
    told = current.join(numbers, [*MESSAGE, "label"])
    shown = told.groupBy(*HERE, "life", "standing", "label").agg(F.max("cn_max").alias("shown"))
    held = applied.groupBy(*HERE, F.col("origin").alias("label")).agg(F.max("cn_max").alias("held"))
    forgot = shown.join(held, [*HERE, "label"], "left").where("shown > coalesce(held, 0)")
    return forgot.select(*HERE, (F.col("life") + 1).alias("life"), "standing")


@rule("state_rows", needs=("begun",))
def carried_over(rows: DataFrame, *, begun: DataFrame) -> DataFrame:
    """What replicas held in the life before the one just `begun`, as rows of `state` about the new one."""
    before = begun.select(
        *HERE, cnset.label_of("store", F.col("life") - 1).alias("about"), cnset.label_of("store", "life").alias("now_about")
    )
    own = rows.join(before, [*HERE, "about"])
    return own.select(*HERE, "entry", F.col("now_about").alias("about"), "origin", "cn_min", "cn_max", "relayed")


@rule("lives", amends="lives")
def read_lives(accepted: DataFrame, *, letters: DataFrame, lives: DataFrame) -> DataFrame:
    """The highest life above the first that each store has read of each peer's replica: org, store, folder, peer, life.

    A label tells the life wherever it stands: as sender, as the one a status is about, as origin of a number carried or asked
    for.

    Source: Q12, F8.
    """
    said = F.filter(F.array_distinct(F.concat("status.about", "status.origin")), lambda label: cnset.life_of(label) > 1)
    told = accepted.join(letters.select(*MESSAGE, said.alias("said")), list(MESSAGE))
    labels = F.flatten(F.array(F.array("sender"), "said", "carries.origin", "asks.origin"))
    read = told.select("org", F.col("recipient").alias("store"), "folder", F.explode(F.array_distinct(labels)).alias("label"))
    later = read.where(cnset.life_of("label") > 1).select(
        *HERE, cnset.store_of("label").alias("peer"), cnset.life_of("label").alias("life")
    )
    return lives.unionByName(later).groupBy(*HERE, "peer").agg(F.max("life").alias("life"))


@rule(like="rows", inline=True)
def current_only(rows: DataFrame, *, lives: DataFrame, about: str = "about") -> DataFrame:
    """Rows about replicas in the newest life their store knows; those about older lives are left out."""
    peer = rows.withColumn("_peer", cnset.store_of(about)).withColumn("_life", cnset.life_of(about))
    newest = lives.select(*HERE, F.col("peer").alias("_peer"), F.col("life").alias("_newest"))
    return peer.join(newest, [*HERE, "_peer"], "left").where("_life >= coalesce(_newest, 1)").drop("_peer", "_life", "_newest")


@rule(needs=("accepted", "lives"), amends="accepted")
def from_current_replicas(accepted: DataFrame, *, lives: DataFrame) -> DataFrame:
    """Messages of replicas in the newest life their recipient knows: what an older one asked or acknowledged counts no more.

    Source: Q12, F8.
    """
    heard = accepted.withColumnsRenamed({"store": "by", "recipient": "store"})
    return current_only(heard, lives=lives, about="sender").withColumnsRenamed({"store": "recipient", "by": "store"})


@rule("claims")
def claims(beliefs: DataFrame, *, holders: DataFrame, lives: DataFrame, stores: DataFrame) -> DataFrame:
    """What others are believed to hold, for those a store may ask: `holders`, the listed replicas, and leavers that still hold.

    One row a range, with `peer`, its label (`about`), whether it is in the store's own site (`near`), whether it is
    `leaving`, and `entry`. Replicas that are gone, and lives that are over, claim nothing.

    >>> here = {"org": "o", "store": "PFS1", "folder": "PFS1:1"}
    >>> sites = {"PFS1": "Redmond", "PFS2": "Redmond", "PFS3": "Paris"}
    >>> stores = frame("stores", *({"org": "o", "store": store, "site": site} for store, site in sites.items()))
    >>> told = {**here, "entry": "reported", "origin": "PFS2", "cn_min": 1, "cn_max": 9}
    >>> beliefs = frame("beliefs", *({**told, "about": peer} for peer in ("PFS2", "PFS3", "PFS4")))
    >>> holders = frame("holders", {**here, "peer": "PFS2", "listing": "listed"}, {**here, "peer": "PFS3", "listing": "removed"})
    >>> found = claims(beliefs, holders=holders, lives=frame("lives"), stores=stores)
    >>> found.select("peer", "near", "leaving", "cn_min", "cn_max").orderBy("peer").show()
    +----+-----+-------+------+------+
    |peer| near|leaving|cn_min|cn_max|
    +----+-----+-------+------+------+
    |PFS2| true|  false|     1|     9|
    |PFS3|false|   true|     1|     9|
    +----+-----+-------+------+------+

    Source: R9, R88, R97.
    """
    askable = sites.between(holders, stores).select(
        *HERE, "peer", sites.near().alias("near"), (F.col("listing") == Listing.REMOVED).alias("leaving")
    )
    current = current_only(beliefs, lives=lives).withColumn("peer", cnset.store_of("about"))
    return current.join(askable, [*HERE, "peer"]).select(
        *HERE, "origin", "peer", "about", "near", "leaving", "entry", "cn_min", "cn_max"
    )


@rule("claim_layer", inline=True)
def layers_of_claims(claimed: DataFrame) -> DataFrame:
    """Claims as a layer of the coverage: how many claim content, how many say there is none, near, and leaving.

    A replica's report holds what it has settled without content too; there it claims nothing, so the two cancel out.
    """
    void = F.col("entry") == Entry.EMPTY
    sign = F.when(void, -1).otherwise(1)
    return claimed.select(
        *RANGE_HERE,
        sign.alias("claimed"),
        void.cast("int").alias("void"),
        F.when(F.col("near"), sign).otherwise(0).alias("near"),
        F.when(F.col("leaving"), sign).otherwise(0).alias("leaving"),
    )


@rule(drives=("hidden",), amends="applied")
def shown(applied: DataFrame, *, hidden: DataFrame) -> DataFrame:
    """What stores show of themselves: applied minus their own numbers not sent yet (F60)."""
    return cnset.subtract(applied, hidden, ORIGIN_HERE)


@rule("statuses")
def tell(speaking: DataFrame, *, shown: DataFrame, empty: DataFrame, claims: DataFrame, clock: DataFrame) -> DataFrame:
    """The status part of a message: one row for each (org, store, folder) in `speaking`, `status` an array of claims.

    It says what the sender holds, and, under `relay_status`, what it believes of the other holders.

    Source: R7, R48; C3, F61 for relaying.
    """
    claim = F.struct("about", "entry", "origin", "cn_min", "cn_max")
    own_label = speaking.select(*HERE, F.col("sender").alias("about"))
    own = shown.select(*HERE, F.lit(str(Entry.REPORTED)).alias("entry"), "origin", "cn_min", "cn_max").unionByName(
        empty.select(*HERE, F.lit(str(Entry.EMPTY)).alias("entry"), "origin", "cn_min", "cn_max")
    )
    relaying = speaking.select(*HERE).join(clock.where("relay_status").select("org"), "org", "left_semi")
    others = claims.join(relaying, list(HERE), "left_semi").select(*HERE, "about", "entry", "origin", "cn_min", "cn_max")
    said = own.join(own_label, list(HERE)).unionByName(others)
    return said.groupBy(*HERE).agg(F.array_sort(F.collect_list(claim)).alias("status"))


@rule(like="rows", inline=True)
def own(rows: DataFrame, *, replicas: DataFrame) -> DataFrame:
    """The rows in which a store speaks of its own replica in its current life; nothing of erased replicas and old lives."""
    current = replicas.where(F.col("standing") != Standing.ERASED).select(*HERE, cnset.label_of("store", "life").alias("about"))
    return rows.join(current, [*HERE, "about"], "left_semi")


@rule("ranges", inline=True)
def contents_of(table: DataFrame, *, replicas: DataFrame) -> DataFrame:
    """The numbers whose changes each store has, by the rows of its state table: of its replicas in their current lives."""
    mine = own(table, replicas=replicas)
    return contents(ranges_of(mine, entry=Entry.APPLIED), empty=ranges_of(mine, entry=Entry.EMPTY))


@rule("beliefs", inline=True)
def believed(rows: DataFrame, *, replicas: DataFrame) -> DataFrame:
    """The rows in which a store speaks of others, for folders of which it has a replica (R7)."""
    has = replicas.where(F.col("standing") != Standing.ERASED).select(*HERE)
    others = rows.where(cnset.store_of("about") != F.col("store"))
    return others.join(has, list(HERE), "left_semi").select(*BELIEF, "cn_min", "cn_max")


@rule("beliefs")
def with_news(beliefs: DataFrame, news: DataFrame) -> DataFrame:
    """What stores believe after this round's messages."""
    return beliefs.unionByName(news.select(*beliefs.columns))


@rule("ranges", inline=True)
def numbers(carried: DataFrame) -> DataFrame:
    """The numbers that messages bring, whichever brings them."""
    return carried.select(*RANGE_HERE)


@rule("ranges", inline=True)
def ranges_of(own: DataFrame, *, entry: Entry) -> DataFrame:
    """Of what stores say of themselves the numbers under one entry."""
    return own.where(F.col("entry") == entry).select(*RANGE_HERE)


@rule("ranges")
def gain(fresh: DataFrame, settled: DataFrame, issued: DataFrame) -> DataFrame:
    """What is new of what is held: numbers that came, that were settled without content, and that were given here."""
    return fresh.unionByName(settled).unionByName(issued.select(*RANGE_HERE))


@rule("ranges")
def canonical(held: DataFrame) -> DataFrame:
    """The numbers that stores hold, canonical (R75)."""
    return cnset.canonical(held, ORIGIN_HERE)


@rule("ranges", inline=True)
def contents(applied: DataFrame, *, empty: DataFrame) -> DataFrame:
    """The numbers that are held with content: less those settled without."""
    return cnset.subtract(applied, empty, ORIGIN_HERE)


@rule("state")
def record(
    gained: DataFrame,
    sending: DataFrame,
    expired: DataFrame,
    beliefs: DataFrame,
    *,
    settled: DataFrame,
    returned: DataFrame,
    replicas: DataFrame,
    clock: DataFrame,
) -> DataFrame:
    """What stores have learned in this round, as rows of `state`.

    Of their own replicas: numbers `gained`, of which some are `settled` without content and some `returned` to who gave them,
    numbers that are sent now, and those that have `expired`. Of others: new `beliefs`, which are such rows already.
    """
    said = {Entry.APPLIED: (gained,), Entry.EMPTY: (settled, expired), Entry.SENT: (sending, returned)}
    ranges = [
        some.select(*HERE, F.lit(str(entry)).alias("entry"), "origin", "cn_min", "cn_max")
        for entry, frames in said.items()
        for some in frames
    ]
    labels = replicas.select(*HERE, cnset.label_of("store", "life").alias("about"))
    own = reduce(lambda above, below: above.unionByName(below), ranges).join(labels, list(HERE))
    rows = own.withColumn("relayed", F.lit(False)).unionByName(beliefs)
    return rows.join(clock.select("org", F.col("now").alias("at")), "org")
