"""Status requests and status messages (R130-R139)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pfspark import cnset, sites
from pfspark.frame import rule
from pfspark.keys import HERE, MESSAGE, ORIGIN_HERE
from pfspark.timeouts import REPEATS, TIMEOUTS, timeout
from pfspark.words import LIVE, Entry, Flag, Listing, MessageType, Standing

ASKED = (*HERE, "peer")
"""Whose status is asked for by whom."""
FIRST, AGAIN, ANSWERED, OVER = "first", "again", "answered", "over"
"""What becomes of an inquiry: it begins; it goes again to who is silent; a leaver was answered, and waits; it ends."""


@rule("status_requests")
def asked_for(requests: DataFrame, *, letters: DataFrame) -> DataFrame:
    """Of status `requests` those that the recipient must answer if it can: it is named, or nobody is (R120, R135). Of what these
    `letters` say counts what askers say of themselves."""
    named = F.array_contains("responders", F.col("recipient")) | (F.size("responders") == 0)
    of_itself = F.filter("status", lambda claim: claim["about"] == F.col("sender"))
    return (
        requests.where(named)
        .join(letters, list(MESSAGE))
        .select(
            "org",
            F.col("recipient").alias("store"),
            "folder",
            F.col("store").alias("peer"),
            of_itself.alias("status"),
            F.array_contains("flags", str(Flag.DELETE_PENDING)).alias("leaver"),
        )
    )


@rule("answered")
def answer(
    requests: DataFrame,
    *,
    shown: DataFrame,
    applied: DataFrame,
    beliefs: DataFrame,
    replicas: DataFrame,
    clock: DataFrame,
) -> DataFrame:
    """Who is answered: org, store, folder, peer, `flags`; one row, and so one message, for each asker.

    A request is answered where the asker is known to lack something that is shown here, always where the asker wants to
    leave, and always under `answer_when = always`. To a leaver the answer says whether it acknowledges: this replica is
    active and holds all that the request showed.

    Source: R135, R138, R150, C4; F62 for the acknowledgement.
    """
    by_peer = (*ORIGIN_HERE, "peer")
    lacking = _lacking(shown, beliefs=beliefs, peers=requests.select(*ASKED).distinct())
    more = lacking.select(*ASKED, F.lit(True).alias("more")).distinct()
    asked = requests.select(*ASKED, F.inline("status"))
    held = applied.join(requests.select(*ASKED).distinct(), list(HERE))
    less = cnset.subtract(asked, held, by_peer).select(*ASKED, F.lit(True).alias("less")).distinct()
    active = replicas.where(F.col("standing") == Standing.ACTIVE).select(*HERE, F.lit(True).alias("active"))
    known = (
        requests.groupBy(*ASKED)
        .agg(F.max("leaver").alias("leaver"))
        .join(more, list(ASKED), "left")
        .join(less, list(ASKED), "left")
        .join(active, list(HERE), "left")
        .join(clock.select("org", "answer_when"), "org")
    )
    acknowledges = F.col("leaver") & F.col("active").isNotNull() & F.col("less").isNull()
    to_leaver = F.col("leaver") & F.col("active").isNotNull()
    flags = F.array_compact(F.array(F.when(to_leaver, str(Flag.DELETE_PENDING)), F.when(acknowledges, str(Flag.ACKNOWLEDGE))))
    answered = F.col("leaver") | F.col("more").isNotNull() | (F.col("answer_when") == "always")
    return known.where(answered).select(*ASKED, flags.alias("flags"))


@rule("beginning", drives=("steps", "again"))
def begin(steps: DataFrame, *, again: DataFrame, clock: DataFrame) -> DataFrame:
    """Replicas that ask for status now: org, store, folder, `rule`, who must answer.

    Those whose own entry in the list has changed (R87, R130), and those that were restored or started again, as entries of
    the agenda say (`again`; R132-R134). A store that starts for the first time has no `since`: it asks whom one asks
    whose list has changed (R131). Of two rules of one replica the wider counts.
    """
    asked_by = F.when(F.col("since").isNull(), F.col("responders_list_change")).otherwise(F.col("responders_restore"))
    changed = steps.where(F.col("standing").isin(*LIVE)).join(clock, "org")
    asked = (
        again.join(clock, "org")
        .select(*HERE, asked_by.alias("rule"))
        .unionByName(changed.select(*HERE, F.col("responders_list_change").alias("rule")))
    )
    width = F.array_position(F.array(*map(F.lit, ("three", "three_and_oldest", "all"))), F.col("rule"))
    return asked.groupBy(*HERE).agg(F.max_by("rule", width).alias("rule"))


@rule("beginning", inline=True)
def choosing(begin: DataFrame, *, replicas: DataFrame) -> DataFrame:
    """Of those that ask now, who chooses who must answer: all but leavers, who ask everybody who stays (D5)."""
    active = replicas.where(F.col("standing") == Standing.ACTIVE)
    return begin.join(active.select(*HERE), list(HERE), "left_semi")


@rule("holders", inline=True)
def holders(lists: DataFrame) -> DataFrame:
    """The other holders of each folder: those its list shows, and leavers not yet gone."""
    return lists.where((F.col("peer") != F.col("store")) & (F.col("listing") != Listing.GONE)).select(*HERE, "peer", "listing")


@rule("inquiries", drives=("begin", "inquiring"))
def inquire(
    *,
    begin: DataFrame,
    responders: DataFrame,
    inquiring: DataFrame,
    accepted: DataFrame,
    current: DataFrame,
    replicas: DataFrame,
    lists: DataFrame,
    stores: DataFrame,
    clock: DataFrame,
) -> DataFrame:
    """Whom status requests go to now, and when again.

    One row for each (org, store, folder, peer): `asks` (a request goes to it now), `must` (it must answer), `attempt`,
    `since`, `due` (when it is asked again unless it answers; null: never), `leaver`. Rows that do not ask change the agenda
    alone.

    A request at the beginning goes to all holders and names the `responders`. A peer has answered once any message of its about
    the folder was `accepted` since, even one of a bygone life; the silent are asked again at the backfill time-outs, three
    times. A leaver asks those who stay, without end: the silent at the time-outs, those who answered (by a message of their
    `current` life) and still lack something when the delete-pending wait is over.

    Source: R86, R87, R130-R134; A4, D5-D7.
    """
    stands = speakers(replicas).select(
        *HERE, (F.col("standing") == Standing.DELETE_PENDING).alias("leaver"), F.col("at").alias("began")
    )
    others = holders(lists).join(stands.drop("began"), list(HERE)).where((F.col("listing") == Listing.LISTED) | ~F.col("leaver"))
    first = _first(others, begin=begin, responders=responders)
    known = inquiring.select(*ASKED, "attempt", "due").join(first.select(*ASKED), list(ASKED), "left_anti")
    newcomers = _newcomers(others, begin=begin, known=known)
    followed = _followed(known, others=others, answers=_answers(accepted, current=current, stands=stands), clock=clock)
    return _asked_again(first.unionByName(newcomers).unionByName(followed), stores=stores, clock=clock)


def _first(others: DataFrame, *, begin: DataFrame, responders: DataFrame) -> DataFrame:
    """The request at the beginning goes to all others; those named must answer, and whoever a leaver asks."""
    named = responders.select(*ASKED, F.lit(True).alias("named"))
    asked = others.join(begin.select(*HERE), list(HERE), "left_semi").join(named, list(ASKED), "left")
    return _begun(asked, must=F.col("leaver") | F.coalesce("named", F.lit(False)))


def _newcomers(others: DataFrame, *, begin: DataFrame, known: DataFrame) -> DataFrame:
    """Those whom a leaver that asks already (`known`) has not asked yet."""
    leaving = others.where("leaver").join(begin.select(*HERE), list(HERE), "left_anti")
    asking = leaving.join(known.select(*HERE), list(HERE), "left_semi")
    return _begun(asking.join(known, list(ASKED), "left_anti"), must=F.lit(True))


def _begun(asked: DataFrame, *, must: Column) -> DataFrame:
    """Inquiries that begin now."""
    attempt = F.lit(0).cast("bigint").alias("attempt")
    return asked.select(
        *ASKED, "leaver", F.lit(True).alias("asks"), must.alias("must"), attempt, F.lit(FIRST).alias("kind")
    )  # fmt: skip


def _answers(accepted: DataFrame, *, current: DataFrame, stands: DataFrame) -> DataFrame:
    """Who was heard, and whether it `answers` a leaver: by a status that says so, sent since that has begun to leave."""
    to_leaver = F.array_contains("flags", str(Flag.DELETE_PENDING)) & (F.col("type") == MessageType.STATUS)
    told = _heard(current.where(to_leaver)).join(stands.select(*HERE, "began"), list(HERE)).where("said > began")
    heard = _heard(accepted).select(*ASKED, F.lit(False).alias("answers"))
    return (
        heard.unionByName(told.select(*ASKED, F.lit(True).alias("answers")))
        .groupBy(*ASKED)
        .agg(F.max("answers").alias("answers"))
    )


def _heard(messages: DataFrame) -> DataFrame:
    """Who told stores something, and when it was said."""
    return messages.select(
        "org", F.col("recipient").alias("store"), "folder", F.col("store").alias("peer"), F.col("at").alias("said")
    )


def _followed(known: DataFrame, *, others: DataFrame, answers: DataFrame, clock: DataFrame) -> DataFrame:
    """What becomes now of inquiries that had begun; those of which nothing does are left out."""
    there = known.join(others.drop("listing"), list(ASKED), "left").join(answers, list(ASKED), "left")
    timed = there.join(clock.select("org", "now"), "org")
    over = F.col("leaver").isNull() | (~F.col("leaver") & F.col("answers").isNotNull())
    answered = F.col("leaver") & F.coalesce("answers", F.lit(False))
    kind = F.when(over, OVER).when(answered, ANSWERED).when(F.col("due") <= F.col("now"), AGAIN)
    again = kind == AGAIN
    attempt = F.when(again, F.col("attempt") + 1).when(kind == ANSWERED, F.lit(-1)).otherwise(F.col("attempt"))
    return timed.select(
        *ASKED, F.coalesce("leaver", F.lit(False)).alias("leaver"), again.alias("asks"), again.alias("must"),
        attempt.cast("bigint").alias("attempt"), kind.alias("kind"),
    ).where("kind is not null")  # fmt: skip


def _asked_again(asking: DataFrame, *, stores: DataFrame, clock: DataFrame) -> DataFrame:
    """Inquiries, with the moment at which the silent are asked again (`due`): null where that is never."""
    timed = sites.between(asking.join(clock.select("org", "now", *TIMEOUTS), "org"), stores)
    silent = timeout(F.col("attempt"), near=sites.near())
    wait = F.when(F.col("kind") == ANSWERED, F.col("delete_pending_timeout_s")).otherwise(silent)
    insists = F.col("must") & (F.col("leaver") | (F.col("attempt") < REPEATS))
    follows = (F.col("kind") == ANSWERED) | ((F.col("kind") != OVER) & insists)
    due = F.when(follows, F.timestamp_add("SECOND", wait, F.col("now")))
    return timed.select(*ASKED, "asks", "must", "attempt", F.col("now").alias("since"), due.alias("due"), "leaver")


@rule("strokes")
def restart_clock(changed: DataFrame, *, clock: DataFrame) -> DataFrame:
    """When the next unasked status is due of folders in which a number came or was given now: org, store, folder, since, due.

    Each further change restarts the wait; where the policy has a clock, the status goes at its next stroke.

    Source: R136, R137; V31-V33, Q27.
    """
    policy = clock.select("org", "now", "status_after_s", "status_clock_s")
    timed = changed.select(*HERE).distinct().join(policy, "org")
    after = F.timestamp_add("SECOND", F.col("status_after_s"), F.col("now"))
    return timed.select(*HERE, F.col("now").alias("since"), _stroke(after).alias("due"))


def _stroke(moment: Column) -> Column:
    """The first stroke of the policy's clock not before that moment; the moment itself where there is no clock."""
    midnight = F.date_trunc("DAY", moment)

    def next_at(second: Column) -> Column:
        today = F.timestamp_add("SECOND", second, midnight)
        return F.when(today >= moment, today).otherwise(F.timestamp_add("DAY", F.lit(1), today))

    return F.when(F.size("status_clock_s") == 0, moment).otherwise(F.array_min(F.transform("status_clock_s", next_at)))


@rule("validated", inline=True)
def answerable(accepted: DataFrame, *, replicas: DataFrame) -> DataFrame:
    """Messages to replicas that still stand after the edits of their round: one whose folder is deleted answers nothing."""
    standing = speakers(replicas).select("org", F.col("store").alias("recipient"), "folder")
    return accepted.join(standing, ["org", "recipient", "folder"], "left_semi")


@rule(like="replicas", inline=True)
def speakers(replicas: DataFrame) -> DataFrame:
    """Replicas that tell their status: active ones, and leavers."""
    return replicas.where(F.col("standing").isin(*LIVE))


@rule("keys")
def fall_due(due: DataFrame, *, changed: DataFrame) -> DataFrame:
    """Folders whose unasked status is due now, by their entries of the agenda: org, store, folder. Where something has
    `changed` now, the wait begins anew.

    Source: R136, Q27.
    """
    quiet = due.select(*HERE).distinct()
    return quiet.join(changed.select(*HERE), list(HERE), "left_anti")


@rule("keys", inline=True)
def behind(shown: DataFrame, *, beliefs: DataFrame, peers: DataFrame) -> DataFrame:
    """Folders of which some listed peer is believed to lack what is shown here: org, store, folder."""
    return _lacking(shown, beliefs=beliefs, peers=peers).select(*HERE).distinct()


def _lacking(shown: DataFrame, *, beliefs: DataFrame, peers: DataFrame) -> DataFrame:
    """What is shown here and each peer is not believed to hold."""
    told = beliefs.where(F.col("entry") == Entry.REPORTED).withColumn("peer", cnset.store_of("about"))
    return cnset.subtract(shown.join(peers, list(HERE)), told, (*ORIGIN_HERE, "peer"))


@rule("repeating")
def repeating(clock: DataFrame) -> DataFrame:
    """Organizations whose policy repeats status."""
    return clock.where("size(status_again_s) > 0").select("org", "now", "status_again_s")


@rule("repeats", drives=("behind", "noted"), needs=("keys", "policies"))
def repeat(
    behind: DataFrame, noted: DataFrame, *, strokes: DataFrame, keys: DataFrame, changed: DataFrame, policies: DataFrame
) -> DataFrame:
    """Status that is repeated while a replica is believed to lack something: org, store, folder, `goes`, attempt, since, due.

    `keys` are the folders looked at, `noted` and `strokes` their entries of the agenda, `policies` those of `repeating`. While
    the status after the last change is still to come, or when nobody lacks anything, there is no repeat (`due` is null). Else
    the first comes after the first wait, each further one after twice the wait before, up to the longest.
    """
    full = (
        keys.select(*HERE)
        .distinct()
        .join(policies, "org")
        .join(noted.select(*HERE, "attempt", "due"), list(HERE), "left")
        .join(strokes.select(*HERE, F.col("due").alias("status_due")), list(HERE), "left")
        .join(behind.withColumn("behind", F.lit(True)), list(HERE), "left")
        .join(changed.select(*HERE).distinct().withColumn("changed", F.lit(True)), list(HERE), "left")
    )
    status_to_come = F.col("changed").isNotNull() | F.coalesce(F.col("status_due") > F.col("now"), F.lit(False))
    off = status_to_come | F.col("behind").isNull()
    goes = ~off & F.coalesce(F.col("due") <= F.col("now"), F.lit(False))
    attempt = F.when(F.col("due").isNull(), F.lit(0)).when(goes, F.col("attempt") + 1).otherwise(F.col("attempt"))
    first, longest = F.element_at("status_again_s", 1), F.element_at("status_again_s", 2)
    doubled = F.pow(F.lit(2.0), F.least(attempt, F.lit(30)))
    wait = F.least((first * doubled).cast("bigint"), longest)
    next_due = F.when(goes | F.col("due").isNull(), F.timestamp_add("SECOND", wait, F.col("now"))).otherwise(F.col("due"))
    return full.select(
        *HERE,
        goes.alias("goes"),
        attempt.cast("bigint").alias("attempt"),
        F.col("now").alias("since"),
        F.when(~off, next_due).alias("due"),
        F.col("due").alias("before"),
    ).where("due is not null or before is not null")
