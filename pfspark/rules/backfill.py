"""The backfill array: what is missing, when it is asked for, and what others ask of me (R85-R96)."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.frame import rule
from pfspark.keys import HERE, ORIGIN_HERE, RANGE_HERE
from pfspark.suspension import content_waits
from pfspark.timeouts import TIMEOUTS, timeout
from pfspark.words import LIVE, BackfillStep, Listing

TIMES = ("heard", "attempt", "asked")


@rule("coverage")
def cover(held: DataFrame, carried: DataFrame, claims: DataFrame, array: DataFrame) -> DataFrame:
    """The numbers of each folder, with what covers them: what is `held`, what has just come, what others claim (a layer, see
    `state.layers_of_claims`), and the open array. One row a piece; see `cnset.coverage`."""
    applied = held.select(*RANGE_HERE, F.lit(1).alias("applied"))
    arriving = carried.select(*RANGE_HERE, F.lit(1).alias("arriving"))
    return cnset.coverage(ORIGIN_HERE, applied, arriving, claims, layer(array))


@rule("ranges", inline=True)
def fresh(coverage: DataFrame) -> DataFrame:
    """The numbers that have just come and were not held."""
    return coverage.where("applied = 0 and arriving > 0").select(*RANGE_HERE)


def layer(array: DataFrame) -> DataFrame:
    """The open array as a layer of the coverage; its times become measures, since no two pieces overlap."""
    return array.select(
        *RANGE_HERE,
        F.lit(1).alias("open"),
        F.unix_micros("heard").alias("heard"),
        F.col("attempt"),
        F.coalesce(F.unix_micros("asked"), F.lit(0)).alias("asked"),
    )


def _times(pieces: DataFrame) -> DataFrame:
    """Measures of a layer as times again."""
    return pieces.withColumns(
        {
            "heard": F.timestamp_micros("heard"),
            "asked": F.when(F.col("attempt") > 0, F.timestamp_micros("asked")),
        }
    )


@rule("ranges")
def settle_empty(coverage: DataFrame, *, replicas: DataFrame) -> DataFrame:
    """Numbers that some replica has settled without content and of which no other claims any: settled here too (Q13).

    A replica that is to be deleted now misses nothing, and settles nothing (D8).
    """
    settled = coverage.where("applied = 0 and arriving = 0 and void > 0 and claimed <= 0")
    return settled.join(_live(replicas), list(HERE), "left_semi").select(*RANGE_HERE)


def _live(replicas: DataFrame) -> DataFrame:
    """Replicas that miss what they do not hold."""
    return replicas.where(F.col("standing").isin(*LIVE)).select(*HERE)


@rule(like="coverage", inline=True)
def missing(coverage: DataFrame) -> DataFrame:
    """The numbers not held that stand in the array or that others claim; one that some replica has settled without content
    counts only while another claims it."""
    settled = (F.col("void") > 0) & (F.col("claimed") <= 0)
    return coverage.where("applied = 0 and arriving = 0 and (open > 0 or claimed > 0)").where(~settled)


@rule("noted")
def note(missing: DataFrame, *, replicas: DataFrame, clock: DataFrame) -> DataFrame:
    """The open array as it now stands: numbers heard of and not held.

    One row a piece of the coverage, with `claimed`, `near` and `leaving` (how many replicas claim content, how many of them
    in the same site, how many are leaving). A number in the array keeps its age; one that others claim and that is new
    to the array was heard of now. A number that nobody claims any more stays open: it is `lost` until somebody does.
    A replica that is to be deleted now, or is erased, misses nothing (D8).

    >>> here = {"org": "o", "store": "PFS1", "folder": "PFS1:1"}
    >>> missing = frame("coverage", {**here, "origin": "PFS2", "cn_min": 4, "cn_max": 5, "open": 0, "claimed": 1, "attempt": 0})
    >>> active = frame("replicas", {**here, "standing": "active"})
    >>> clock = frame("clock", {"org": "o", "now": "2026-01-05T12:00Z"})
    >>> note(missing, replicas=active, clock=clock).select("origin", "cn_min", "cn_max", "heard", "attempt", "claimed").show()
    +------+------+------+-------------------+-------+-------+
    |origin|cn_min|cn_max|              heard|attempt|claimed|
    +------+------+------+-------------------+-------+-------+
    |  PFS2|     4|     5|2026-01-05 12:00:00|      0|      1|
    +------+------+------+-------------------+-------+-------+

    Source: R76, R85, R88-R90, R144 (Exchange 2007, "Backfill Requests and Backfill Messages"); Q10.
    """
    missed = missing.join(_live(replicas), list(HERE), "left_semi")
    now = F.unix_micros("now")
    aged = missed.join(clock.select("org", "now"), "org").withColumn(
        "heard", F.when(F.col("open") > 0, F.col("heard")).otherwise(now)
    )
    alike = ("open", *TIMES, "claimed", "near", "leaving")
    return _times(cnset.join_up(aged, ORIGIN_HERE, alike))


def wait_of(attempt: Column) -> Column:
    """How long to wait after request number `attempt` (0: after hearing of it), in seconds (R91, R92, D6); of the columns `near`,
    `leaving` and those of `TIMEOUTS`."""
    regular = timeout(attempt, near=F.col("near") > 0)
    leaver_has_it = (attempt == 0) & (F.col("leaving") > 0)
    return F.when(leaver_has_it, F.least(regular, F.col("delete_pending_timeout_s"))).otherwise(regular)


@rule("timed")
def due(array: DataFrame, *, clock: DataFrame) -> DataFrame:
    """The claimed pieces of the array with the moment each is `due`, and `now`.

    A piece is local if any replica of the same site is believed to have it, decided anew each time; a retry counts from
    the request before (V28, V29). Pieces that nobody claims are not due: there is nobody to ask.

    >>> heard = {"org": "o", "cn_min": 4, "cn_max": 5, "claimed": 1, "leaving": 0, "attempt": 0, "heard": "2026-01-05T12:00Z"}
    >>> waits = {"backfill_local_s": [21600, 43200, 86400], "backfill_remote_s": [43200, 86400, 172800]}
    >>> array = frame("noted", {**heard, "near": 1}, {**heard, "near": 0})
    >>> due(array, clock=frame("clock", {"org": "o", **waits})).select("near", "attempt", "due").show()
    +----+-------+-------------------+
    |near|attempt|                due|
    +----+-------+-------------------+
    |   1|      0|2026-01-05 18:00:00|
    |   0|      0|2026-01-06 00:00:00|
    +----+-------+-------------------+

    Source: R91-R93.
    """
    since = F.coalesce("asked", "heard")
    timed = array.where("claimed > 0").join(clock.select("org", "now", "suspended", *TIMEOUTS), "org")
    return timed.withColumn("due", F.timestamp_add("SECOND", wait_of(F.col("attempt")), since)).drop(*TIMEOUTS)


@rule("timed")
def asked_now(due: DataFrame) -> DataFrame:
    """The pieces whose time has come (R94), but those that are `held_back`."""
    return due.where((F.col("due") <= F.col("now")) & ~held_back())


def held_back() -> Column:
    """Whether a piece is not asked for, whatever its time: content waits while replication is suspended (F69), but of a leaver
    (D7)."""
    return content_waits() & (F.col("leaving") == 0)


@rule("chosen", inline=True)
def unless_suspended(asks: DataFrame, *, lists: DataFrame, clock: DataFrame) -> DataFrame:
    """The pieces that may be asked for of whom they were chosen for: while replication is suspended, of leavers alone (D7)."""
    leavers = lists.where(F.col("listing") == Listing.REMOVED).select(*HERE, "peer", F.lit(True).alias("leaves"))
    chosen = asks.join(leavers, [*HERE, "peer"], "left").join(clock.select("org", "suspended"), "org")
    waits = content_waits() & F.col("leaves").isNull()
    return chosen.where(~waits).drop("leaves", "suspended")


@rule("array", drives=("array", "asks"))
def enter(array: DataFrame, *, asks: DataFrame) -> DataFrame:
    """The array after asking: pieces asked for count one attempt more, from now on."""
    dirty = array.join(asks.select(*HERE), list(HERE), "left_semi")
    asking = asks.select(*RANGE_HERE, F.lit(1).alias("asking"), F.unix_micros("now").alias("now"))
    after = cnset.coverage(ORIGIN_HERE, layer(dirty), asking).select(
        *RANGE_HERE,
        "heard",
        (F.col("attempt") + F.col("asking")).alias("attempt"),
        F.when(F.col("asking") > 0, F.col("now")).otherwise(F.col("asked")).alias("asked"),
    )
    rest = array.join(asks.select(*HERE), list(HERE), "left_anti")
    return rest.select(*RANGE_HERE, *TIMES).unionByName(_times(after))


@rule("answers")
def answer(requests: DataFrame, *, applied: DataFrame, empty: DataFrame) -> DataFrame:
    """What requests ask for and this store can give: canonical ranges for each (org, store, folder, asker, origin).

    Of numbers settled without content there is nothing to give; the status of any message tells so (Q13). What a store
    does not show of itself yet is given all the same: who asks for it has heard of it before a restore.

    >>> asked = {"org": "o", "recipient": "PFS1", "folder": "PFS1:1", "store": "PFS3"}
    >>> requests = frame("delivered", {**asked, "asks": [{"origin": "PFS2", "cn_min": 3, "cn_max": 9}]})
    >>> here = {"org": "o", "store": "PFS1", "folder": "PFS1:1"}
    >>> held, empty = (frame("ranges", {**here, "origin": "PFS2", "cn_min": low, "cn_max": 7}) for low in (1, 6))
    >>> answer(requests, applied=held, empty=empty).select("store", "asker", "origin", "cn_min", "cn_max").show()
    +-----+-----+------+------+------+
    |store|asker|origin|cn_min|cn_max|
    +-----+-----+------+------+------+
    | PFS1| PFS3|  PFS2|     3|     5|
    +-----+-----+------+------+------+

    Source: R67, R68, R96, R129: whoever is asked answers with all it has of what was asked.
    """
    asked = requests.select("org", F.col("recipient").alias("store"), "folder", F.col("store").alias("asker"), F.inline("asks"))
    askers = asked.select(*ORIGIN_HERE, "asker").distinct()
    keys = (*HERE, "asker", "origin")
    held = cnset.subtract(applied.join(askers, list(ORIGIN_HERE)), empty.join(askers, list(ORIGIN_HERE)), keys)
    return cnset.intersect(asked, held, keys)


@rule("backfill", drives=("noted", "asks"))
def steps(noted: DataFrame, *, asks: DataFrame, clock: DataFrame) -> DataFrame:
    """Rows of `backfill`: numbers `heard` of now (of the array `noted`, those that were not in it), and those `asked` for now
    with the moment they are asked for again."""
    heard = noted.where("open = 0").join(clock.select("org", "now"), "org")
    never = F.lit(None).cast("timestamp")
    at_first = {"of": F.lit(None).cast("string"), "attempt": F.lit(0).cast("bigint"), "since": never, "due": never}
    again = {"of": F.col("peer"), "attempt": F.col("attempt") + 1, "since": F.col("asked"), "due": F.col("due")}
    return _steps(heard, BackfillStep.HEARD, at_first).unionByName(_steps(asks, BackfillStep.ASKED, again))


def _steps(pieces: DataFrame, step: BackfillStep, said: Mapping[str, Column]) -> DataFrame:
    """A step that those numbers take now, and what is said of it."""
    columns = {"step": F.lit(str(step)), **said, "at": F.col("now")}
    return pieces.select(*RANGE_HERE, *(each.alias(name) for name, each in columns.items()))


@rule("unserved")
def unserved(requests: DataFrame, *, answers: DataFrame, told: DataFrame) -> DataFrame:
    """Askers to whom nothing can be given: org, store, folder, peer. They are answered with status, if not `told` anyway."""
    asker = [*HERE, "peer"]
    asked = requests.select("org", F.col("recipient").alias("store"), "folder", F.col("store").alias("peer")).distinct()
    served = answers.select(*HERE, F.col("asker").alias("peer")).unionByName(told.select(*asker))
    return asked.join(served, asker, "left_anti")


@rule("keys_due", drives=("timed", "asks"), inline=True)
def next_due(timed: DataFrame, *, asks: DataFrame) -> DataFrame:
    """When each (org, store, folder) next has a piece to ask for; pieces asked for now wait for their retry.

    Of content that is suspended a piece may be due and not asked for (F69): it stays due. The hierarchy is never held back.
    """
    waiting = timed.where((F.col("due") > F.col("now")) | content_waits()).select(*HERE, "due")
    return waiting.unionByName(asks.select(*HERE, "due")).groupBy(*HERE).agg(F.min("due").alias("due"))


@rule("asks")
def retry(asks: DataFrame, *, clock: DataFrame) -> DataFrame:
    """Pieces being asked for, with the moment they are asked for again unless they come: counted from now (V28, V29)."""
    timed = asks.join(clock.select("org", *TIMEOUTS), "org")
    again = F.timestamp_add("SECOND", wait_of(F.col("attempt") + 1), F.col("now"))
    return timed.withColumn("due", again).drop(*TIMEOUTS)
