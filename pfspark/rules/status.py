"""Status requests and status messages (R130-R139)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.words import Entry, Flag, Listing, MessageType, Standing, Why

HERE = ("org", "store", "folder")
LINE = (*HERE, "origin")
REPEATS = 3
"""How often a status request is repeated to those who stay silent; of a leaver's there is no end."""
DAY = 86_400


def asked_for(delivered: DataFrame) -> DataFrame:
    """Status requests that the recipient must answer if it can: it is named, or nobody is (R120, R135)."""
    named = F.array_contains("responders", F.col("recipient")) | (F.size("responders") == 0)
    return delivered.where((F.col("type") == MessageType.STATUS_REQUEST) & named).select(
        "org",
        F.col("recipient").alias("store"),
        "folder",
        F.col("store").alias("peer"),
        F.col("sender").alias("peer_label"),
        "status",
        F.array_contains("flags", str(Flag.DELETE_PENDING)).alias("leaver"),
    )


def answer(
    requests: DataFrame,
    *,
    shown: DataFrame,
    applied: DataFrame,
    beliefs: DataFrame,
    replicas: DataFrame,
    turns: DataFrame,
) -> DataFrame:
    """Who is answered: org, store, folder, peer, `flags`; one row, and so one message, for each asker.

    A request is answered where the asker is known to lack something that is shown here, always where the asker wants to
    leave, and always under `answer_when = always`. To a leaver the answer says whether it acknowledges: this replica is
    active and holds all that the request showed.

    Source: R135, R138, C4; F62 for the acknowledgement.
    """
    asker = ("org", "store", "folder", "peer")
    told = beliefs.where(F.col("entry") == Entry.REPORTED).withColumn("peer", cnset.store_of("about"))
    line = (*LINE, "peer")
    mine = shown.join(requests.select(*asker).distinct(), list(HERE))
    more = cnset.subtract(mine, told, line).select(*asker, F.lit(True).alias("more")).distinct()
    asked = requests.select(*asker, "peer_label", F.inline("status")).where("about = peer_label")
    held = applied.join(requests.select(*asker).distinct(), list(HERE))
    less = cnset.subtract(asked, held, line).select(*asker, F.lit(True).alias("less")).distinct()
    active = replicas.where(F.col("standing") == Standing.ACTIVE).select(*HERE, F.lit(True).alias("active"))
    known = (
        requests.groupBy(*asker)
        .agg(F.max("leaver").alias("leaver"))
        .join(more, list(asker), "left")
        .join(less, list(asker), "left")
        .join(active, list(HERE), "left")
        .join(turns.select("org", "answer_when"), "org")
    )
    vouches = F.col("leaver") & F.col("active").isNotNull() & F.col("less").isNull()
    flags = F.array_compact(
        F.array(F.when(F.col("leaver"), str(Flag.DELETE_PENDING)), F.when(vouches, str(Flag.ACKNOWLEDGE)))
    )
    answered = F.col("leaver") | F.col("more").isNotNull() | (F.col("answer_when") == "always")
    return known.where(answered).select(*asker, flags.alias("flags"))


def heard(delivered: DataFrame) -> DataFrame:
    """Whom each store has heard about each folder, by any message: org, store, folder, peer."""
    return delivered.select("org", F.col("recipient").alias("store"), "folder", F.col("store").alias("peer")).distinct()


def inquiring(agenda: DataFrame, *, touched: DataFrame) -> DataFrame:
    """Entries of the agenda about status requests, in the folders looked at."""
    return agenda.where(F.col("why") == Why.INQUIRE).join(touched, list(HERE), "left_semi")


def inquire(
    *,
    steps: DataFrame,
    agenda: DataFrame,
    heard: DataFrame,
    replicas: DataFrame,
    lists: DataFrame,
    stores: DataFrame,
    turns: DataFrame,
) -> DataFrame:
    """Whom status requests go to now, and when again: org, store, folder, peer, `asks`, attempt, since, due, `leaver`.

    A store whose own entry in a replica list has changed (`steps`) asks every other holder. Answered is who sent any
    message about the folder since; the silent are asked again at the backfill time-outs, three times. A leaver goes on
    asking without end. `due` is null where nothing is to follow; rows with `asks` false only settle the agenda.

    Source: R86, R87, R130; A4, D5.
    """
    pair = (*HERE, "peer")
    others = lists.where((F.col("peer") != F.col("store")) & (F.col("listing") == Listing.LISTED)).select(*pair)
    stands = replicas.select(*HERE, "standing")
    begin = steps.where(F.col("standing").isin(Standing.ACTIVE, Standing.DELETE_PENDING)).select(*HERE)
    first = others.join(begin, list(HERE), "left_semi").withColumn("attempt", F.lit(0).cast("bigint"))
    open_ = agenda.join(begin, list(HERE), "left_anti")
    policy = turns.select("org", "now", "backfill_local_s", "backfill_remote_s")
    site = stores.select("org", "store", "site")
    status = (
        open_.select(*pair, "attempt", "due")
        .join(others.withColumn("listed", F.lit(True)), list(pair), "left")
        .join(heard.withColumn("heard", F.lit(True)), list(pair), "left")
        .join(stands, list(HERE), "left")
        .join(policy.select("org", "now"), "org")
    )
    leaver = F.coalesce(F.col("standing") == Standing.DELETE_PENDING, F.lit(False))
    over = (
        F.col("listed").isNull()
        | (~leaver & F.col("heard").isNotNull())
        | ~F.coalesce(F.col("standing").isin(Standing.ACTIVE, Standing.DELETE_PENDING), F.lit(False))
    )
    settled = status.where(over).select(*pair, F.lit(False).alias("asks"), "attempt")
    again = status.where(~over & (F.col("due") <= F.col("now"))).select(
        *pair, F.lit(True).alias("asks"), (F.col("attempt") + 1).alias("attempt")
    )
    rows = first.select(*pair, F.lit(True).alias("asks"), "attempt").unionByName(again).unionByName(settled)
    timed = (
        rows.join(stands, list(HERE), "left")
        .join(policy, "org")
        .join(site.withColumnRenamed("site", "from_site"), ["org", "store"])
        .join(site.withColumnsRenamed({"store": "peer", "site": "to_site"}), ["org", "peer"])
    )
    nth = F.least(F.col("attempt") + 1, F.lit(3)).cast("int")
    wait = F.when(F.col("from_site") == F.col("to_site"), F.element_at("backfill_local_s", nth)).otherwise(
        F.element_at("backfill_remote_s", nth)
    )
    goes_on = F.col("asks") & (leaver | (F.col("attempt") < REPEATS))
    return timed.select(
        *pair,
        "asks",
        "attempt",
        F.col("now").alias("since"),
        F.when(goes_on, F.timestamp_add("SECOND", wait, F.col("now"))).alias("due"),
        leaver.alias("leaver"),
    )


def restart_clock(changed: DataFrame, *, turns: DataFrame) -> DataFrame:
    """When the unasked status of folders in which something was made or received now is due: org, store, folder, since, due.

    Each further change restarts the wait; where the policy has a clock, the status goes at its next stroke.

    Source: R136, R137; V31-V33, Q27.
    """
    policy = turns.select("org", "now", "status_after_s", "status_clock_s")
    timed = changed.select(*HERE).distinct().join(policy, "org")
    after = F.unix_micros("now") + F.col("status_after_s") * 1_000_000
    return timed.select(*HERE, F.col("now").alias("since"), F.timestamp_micros(_stroke(after)).alias("due"))


def _stroke(micros: Column) -> Column:
    """The first stroke of the policy's clock not before that moment; the moment itself where there is no clock."""
    day = DAY * 1_000_000
    midnight = micros - F.pmod(micros, F.lit(day))

    def next_at(second: Column) -> Column:
        today = midnight + second * 1_000_000
        return F.when(today >= micros, today).otherwise(today + day)

    return F.when(F.size("status_clock_s") == 0, micros).otherwise(F.array_min(F.transform("status_clock_s", next_at)))


def fall_due(agenda: DataFrame, *, replicas: DataFrame, turns: DataFrame) -> DataFrame:
    """Folders whose unasked status goes to all other holders now: org, store, folder (R136)."""
    holds = replicas.where(F.col("standing").isin(Standing.ACTIVE, Standing.DELETE_PENDING)).select(*HERE)
    timed = agenda.where(F.col("why").isin(Why.STATUS, Why.REPEAT)).join(turns.select("org", "now"), "org")
    return timed.where(F.col("due") <= F.col("now")).select(*HERE).distinct().join(holds, list(HERE), "left_semi")


def behind(shown: DataFrame, *, beliefs: DataFrame, peers: DataFrame) -> DataFrame:
    """Folders of which some listed peer is believed to lack what is shown here: org, store, folder."""
    line = (*LINE, "peer")
    told = beliefs.where(F.col("entry") == Entry.REPORTED).withColumn("peer", cnset.store_of("about"))
    return cnset.subtract(shown.join(peers, list(HERE)), told, line).select(*HERE).distinct()


def repeating(turns: DataFrame) -> DataFrame:
    """Organizations whose policy repeats status."""
    return turns.where("size(status_again_s) > 0").select("org", "now", "status_again_s")


def repeat(behind: DataFrame, *, keys: DataFrame, agenda: DataFrame, changed: DataFrame, turns: DataFrame) -> DataFrame:
    """When status is repeated while a replica is believed to lack something: org, store, folder, attempt, since, due.

    `keys` are the folders looked at. The first repeat comes after the first wait, each further one after twice the wait
    before, up to the longest; a change begins anew. Nobody behind any more: settled, `due` is null.
    `turns` are those of `repeating`.
    """
    policy = turns.select("org", "now", "status_again_s")
    pending = agenda.where(F.col("why") == Why.REPEAT).select(*HERE, "attempt", "due")
    full = (
        keys.select(*HERE)
        .distinct()
        .join(policy, "org")
        .join(pending, list(HERE), "left")
        .join(behind.withColumn("behind", F.lit(True)), list(HERE), "left")
        .join(changed.select(*HERE).distinct().withColumn("changed", F.lit(True)), list(HERE), "left")
    )
    anew = F.col("due").isNull() | F.col("changed").isNotNull()
    went = ~anew & (F.col("due") <= F.col("now"))
    attempt = F.when(anew, F.lit(0)).when(went, F.col("attempt") + 1).otherwise(F.col("attempt")).cast("bigint")
    first, longest = F.element_at("status_again_s", 1), F.element_at("status_again_s", 2)
    wait = F.least((first * F.pow(F.lit(2.0), F.least(attempt, F.lit(30)))).cast("bigint"), longest)
    due = F.when(anew | went, F.timestamp_add("SECOND", wait, F.col("now"))).otherwise(F.col("due"))
    rows = full.select(
        *HERE,
        attempt.alias("attempt"),
        F.col("now").alias("since"),
        F.when(F.col("behind").isNotNull(), due).alias("due"),
        F.col("due").alias("before"),
    )
    return rows.where("due is not null or before is not null").drop("before")
