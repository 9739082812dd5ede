"""Why a number is at a store, or is not: the first cause that applies, since when, and what happens next.

What decides is asked of the rules that decide it in a round: what is missing and when it is asked for (`backfill`), of whom
(`sources`), when an own change goes (`sending`), which version readers are shown (`items`). Nothing is decided here again.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.ask import evidence
from pfspark.frame import rule, source
from pfspark.keys import FOLDER, HERE, ORIGIN, ORIGIN_HERE, RANGE_HERE, STORE
from pfspark.rules import addressing, backfill, hierarchy, items, sending, sources, state, status
from pfspark.rules.frames import in_ranges, once, together
from pfspark.suspension import content_waits
from pfspark.tables import FRAMES
from pfspark.words import HIERARCHY, Cause, Entry, MessageType, Standing, Why

SAID = tuple(name for name in FRAMES["explained"].names if name not in RANGE_HERE)
"""What is said of a range; neighbours of which all of it is the same are one."""
CITED = ("nth", "due", "of", "type", "message_id", "at", "reason", "version")
"""What rows of `evidence` say, in the order in which the first of several is found."""
UNASKED = (Why.STATUS, Why.REPEAT)
TELLING = (*UNASKED, Why.SEND)
"""The entries of an agenda whose time brings others a letter with the store's status."""
RESTING = (*UNASKED, Why.EXPIRE, Why.ERASE)
"""The entries of an agenda that leave a folder's numbers as they are."""


@cache
def graph() -> DataFrame:
    """What can be said of the numbers in `asked`, and of all that the replicas in `pairs` lack.

    It is the chain of a round, from what stores hold to whom they ask, with nothing arriving.
    """
    clock, grid, replicas, lists = source("clock"), source("grid"), source("replicas"), source("lists")
    stores, links, agenda, contacts = source("stores"), source("links"), source("agenda"), source("contacts")
    conditions, mail, none = source("conditions"), source("mail"), source("none")
    log, requests, refusals = (once(source(fact)) for fact in ("log", "requests", "refusals"))
    own = once(state.own(source("state"), replicas=replicas))
    beliefs = once(state.believed(source("state"), replicas=replicas))
    applied, empty = (once(state.ranges_of(own, entry=entry)) for entry in (Entry.APPLIED, Entry.EMPTY))
    asked = once(together(source("asked"), lacking(source("pairs"), applied=applied, array=source("array"))))
    claims = state.claims(beliefs, holders=status.holders(lists), lives=source("lives"), stores=stores)
    coverage = backfill.cover(applied, none, state.layers_of_claims(claims), source("array"))
    missing = backfill.note(backfill.missing(coverage), replicas=replicas, clock=clock)
    timed = backfill.due(missing, clock=clock)
    gives = sources.content(claims)
    heard = silent_by_then(contacts, timed=timed, clock=clock)
    ranked = sources.rank(timed, gives=gives, contacts=heard, stores=stores, links=links, clock=clock)
    chosen = sources.choose(timed, ranked=ranked, gives=gives)
    waiting = sending.waiting(applied, sent=state.ranges_of(own, entry=Entry.SENT), returned=none, replicas=replicas)
    limits = sending.limits(hierarchy.properties(source("tree"), names=sending.LIMITS))
    cycle = sending.cycle(waiting, agenda=agenda, replicas=replicas, limits=limits, stores=stores, clock=clock)
    shown = state.shown(applied, hidden=sending.unsent(waiting, replicas=replicas))
    letters = write(agenda, lists=lists, replicas=replicas, stores=stores, links=links, conditions=conditions, grid=grid)
    resting = undisturbed(letters, agenda=agenda, mail=mail, replicas=replicas, grid=grid)
    changes = in_ranges(source("changes"), asked)
    of_items = evidence.of_items(source("changes"), asked=changes)
    versions = items.versions(evidence.held(asked, changes=of_items, applied=applied, empty=empty))
    gathered = once(together(
        evidence.came(log),
        evidence.given(asked, log=log, changes=changes),
        evidence.instead(versions, winners=items.readable(versions), log=log),
        evidence.coming(mail),
        evidence.requested(requests),
        evidence.asked_next(chosen),
        evidence.had(beliefs, contacts=contacts),
        evidence.refused(refusals),
        evidence.told(mail, letters=source("letters")),
        evidence.to_be_told(shown, letters=resting),
    ))  # fmt: skip
    causes = first_cause(
        asked,
        applied=applied, empty=empty, waiting=waiting, missing=missing, timed=timed, evidence=gathered, replicas=replicas,
        clock=clock,
    )  # fmt: skip
    return explain(causes, evidence=gathered, cycle=cycle, conditions=conditions, grid=grid)


# What is asked about, and when things happen


@rule("ranges")
def lacking(pairs: DataFrame, *, applied: DataFrame, array: DataFrame) -> DataFrame:
    """The numbers of each folder that any store holds, or has heard of, and that the replica itself does not hold."""
    heard_of = applied.select(*RANGE_HERE).unionByName(array.select(*RANGE_HERE))
    everything = cnset.canonical(heard_of, ORIGIN).join(pairs.select(*HERE), list(FOLDER))
    return cnset.subtract(everything, applied, ORIGIN_HERE)


@rule("contacts", drives=("contacts",))
def silent_by_then(contacts: DataFrame, *, timed: DataFrame, clock: DataFrame) -> DataFrame:
    """Contacts as they stand when the store asks next: who is not heard by then has become unavailable (R105)."""
    then = timed.groupBy(*STORE).agg(F.min("due").alias("then"))
    known = contacts.join(then, list(STORE), "left").join(clock.select("org", "now"), "org")
    silent = F.when(F.col("silent") <= F.coalesce("then", "now"), F.least("silent", "now")).otherwise(F.col("silent"))
    return known.withColumn("silent", silent).drop("then", "now")


def on_grid(at: Column) -> Column:
    """The first round of the organization's grid that is not before that moment, and after `now`, its last.

    Of a row of `grid`: `schedules.Grid.next_round` for columns; null stays null.
    """
    every = F.col("every_s") * 1_000_000
    first = F.unix_micros("anchor")
    nth = F.ceil((F.unix_micros(at) - first) / every)
    after = F.floor((F.unix_micros("now") - first) / every) + 1
    return F.when(at.isNotNull(), F.timestamp_micros((first + F.greatest(nth, after) * every).cast("bigint")))


@rule("letters_due")
def write(
    agenda: DataFrame,
    *,
    lists: DataFrame,
    replicas: DataFrame,
    stores: DataFrame,
    links: DataFrame,
    conditions: DataFrame,
    grid: DataFrame,
) -> DataFrame:
    """The letters with their status that stores write when an entry of their agenda falls due, one row a recipient: `at` is
    when they are written, `due` when they arrive.

    Source: R48, R136 (every letter has the sender's status).
    """
    silent = conditions.where("down or cut").select(*STORE)
    due = (
        agenda.where(F.col("why").isin(*TELLING)).select(*HERE, "why", "due")
        .join(status.speakers(replicas).select(*HERE), list(HERE), "left_semi")
        .join(silent, list(STORE), "left_anti")
    )  # fmt: skip
    written = due.join(grid, "org").withColumn("at", on_grid(F.col("due")))
    letters = written.join(sending.recipients(lists), list(HERE)).join(addressing.delays(stores, links), list(STORE), "left")
    delay = F.coalesce(F.try_element_at("delays", F.col("peer")), F.lit(0))
    later = F.when(delay > 0, F.timestamp_add("SECOND", delay, F.col("at")))  # what is sent in a round arrives in a later one
    arrives = F.coalesce(later, F.timestamp_add("MICROSECOND", F.lit(1), F.col("at")))
    content = F.when(F.col("folder") == HIERARCHY, MessageType.HIERARCHY).otherwise(MessageType.CONTENT)
    kind = F.when(F.col("why") == Why.SEND, content).otherwise(MessageType.STATUS)
    return letters.select(*HERE, "peer", "at", arrives.alias("due"), kind.alias("type"))


@rule("letters_due")
def undisturbed(letters: DataFrame, *, agenda: DataFrame, mail: DataFrame, replicas: DataFrame, grid: DataFrame) -> DataFrame:
    """Letters that come unasked.

    `due` is null where the folder does not rest until then: mail under way about it, or an entry of an agenda that falls due
    first, may have it told earlier, or start the wait anew.
    """
    speaking = status.speakers(replicas).select(*HERE)
    stirring = agenda.where(~F.col("why").isin(*RESTING)).join(speaking, list(HERE), "left_semi")
    events = stirring.select(*FOLDER, "due").unionByName(mail.where("lost is null").select(*FOLDER, "due"))
    first = events.join(grid, "org").groupBy(*FOLDER).agg(F.min(on_grid(F.col("due"))).alias("stirs"))
    rests = F.col("stirs").isNull() | (F.col("stirs") > F.col("at"))
    return letters.join(first, list(FOLDER), "left").withColumn("due", F.when(rests, F.col("due"))).drop("stirs")


# What follows


@rule("causes", drives=("asked",))
def first_cause(
    asked: DataFrame,
    *,
    applied: DataFrame,
    empty: DataFrame,
    waiting: DataFrame,
    missing: DataFrame,
    timed: DataFrame,
    evidence: DataFrame,
    replicas: DataFrame,
    clock: DataFrame,
) -> DataFrame:
    """The numbers asked about, in pieces of one cause each: the first that applies. Numbers that were never given are in none.

    `since` is known here of causes that are no event; `due` is when the numbers are asked for.
    """
    keys = asked.select(*ORIGIN_HERE).distinct()
    leaves = replicas.where(F.col("standing") == Standing.DELETE_PENDING)
    freely = leaves.select("org", F.col("store").alias("by"), "folder", F.lit(1).alias("freely"))
    unsent = waiting.withColumnRenamed("store", "by").join(keys, list(ORIGIN)).join(freely, ["org", "by", "folder"], "left")
    anywhere = applied.drop("store").join(keys, list(ORIGIN))
    counted = {"asked": asked, "held": applied, "settled": empty, "unsent": unsent, "anywhere": anywhere, "open": missing}
    times = F.unix_micros("due").alias("due")
    pieces = cnset.coverage(
        ORIGIN_HERE,
        *(rows.select(*RANGE_HERE, F.lit(1).alias(f"n_{name}")) for name, rows in counted.items()),
        unsent.select(*RANGE_HERE, "freely"),
        missing.select(
            *RANGE_HERE, "claimed", "leaving", "attempt", *(F.unix_micros(time).alias(time) for time in ("heard", "asked"))
        ),
        timed.select(*RANGE_HERE, times),
        evidence.select(*RANGE_HERE, *_marks()),
    ).where("n_asked > 0")
    exist = pieces.where("n_anywhere > 0 or is_given > 0 or n_open > 0 or is_nobody_has_it > 0 or is_on_its_way > 0")
    stands = replicas.select(*HERE, "standing", F.col("at").alias("stood"))
    known = exist.join(stands, list(HERE), "left").join(clock.select("org", "suspended"), "org").withColumn("cause", _cause())
    in_array = F.col("cause").isin(Cause.WAITING_TO_ASK, Cause.NOBODY_HAS_IT)
    is_asked = F.col("cause") == Cause.ASKED
    since = (
        F.when(F.col("cause") == Cause.NO_REPLICA, F.col("stood")).when(in_array, F.timestamp_micros("heard"))
        .when(is_asked, F.timestamp_micros("asked"))
    )  # fmt: skip
    attempt = F.when(is_asked, F.col("attempt"))
    return known.select(
        *RANGE_HERE, "cause", since.alias("since"), "standing", attempt.alias("attempt"), F.timestamp_micros("due").alias("due")
    )


BY_EVIDENCE = (
    Cause.SUPERSEDED, Cause.DELETED, Cause.LOSER, Cause.ON_ITS_WAY, Cause.NOBODY_HAS_IT, Cause.REFUSED_HERE,
)  # fmt: skip
"""The causes that are found by rows of `evidence`; of all others these say only more."""


def _marks() -> list[Column]:
    """Rows of `evidence` as a layer of the coverage: of which cause they are, and whether they say when a number was given."""
    given = F.col("cause").isNull() & F.col("at").isNotNull()
    marks = {f"is_{cause}": F.col("cause") == cause for cause in BY_EVIDENCE} | {"is_given": given}
    return [mark.cast("int").alias(name) for name, mark in marks.items()]


def _cause() -> Column:
    """The first cause that applies to a piece."""
    has_replica = F.coalesce(F.col("standing") == Standing.ACTIVE, F.lit(False))
    goes_on = (F.col("is_on_its_way") > 0) | (F.col("freely") > 0) | ((F.col("n_open") > 0) & (F.col("leaving") > 0))
    held_back = content_waits() & ~goes_on
    held, open_ = F.col("n_held") > 0, F.col("n_open") > 0
    return (
        F.when(held & (F.col("n_settled") > 0), Cause.EXPIRED)
        .when(F.col("is_superseded") > 0, Cause.SUPERSEDED)
        .when(F.col("is_deleted") > 0, Cause.DELETED)
        .when(F.col("is_loser") > 0, Cause.LOSER)
        .when(held, Cause.HERE)
        .when(~has_replica, Cause.NO_REPLICA)
        .when(held_back, Cause.SUSPENDED)
        .when(F.col("n_unsent") > 0, Cause.NOT_SENT)
        .when(F.col("is_on_its_way") > 0, Cause.ON_ITS_WAY)
        .when(open_ & (F.col("claimed") > 0) & (F.col("attempt") > 0), Cause.ASKED)
        .when(open_ & (F.col("claimed") > 0), Cause.WAITING_TO_ASK)
        .when(open_, Cause.NOBODY_HAS_IT)
        .when(F.col("is_refused_here") > 0, Cause.REFUSED_HERE)
        .otherwise(Cause.NOT_HEARD)
    )


@rule("explained")
def explain(causes: DataFrame, *, evidence: DataFrame, cycle: DataFrame, conditions: DataFrame, grid: DataFrame) -> DataFrame:
    """One row for each range of which one thing can be said: its cause, and what is known with it.

    `since`: since when the cause stands, of what nobody has said anything about yet since the number was given. `of` is whom
    the cause names, `at` when what is cited was written.
    """
    found = _first(causes, evidence)
    goes = cycle.select("org", F.col("store").alias("by"), "folder", F.col("due").alias("goes_at"))
    of_origin = conditions.select("org", F.col("store").alias("by"), F.col("down").alias("origin_down"))
    out = conditions.select(*STORE, "down", (F.col("down") | F.col("cut")).alias("out"))
    known = (
        causes.withColumnsRenamed({"since": "stands_since", "due": "asks_at"})
        .withColumn("by", cnset.store_of("origin"))
        .join(found, list(RANGE_HERE), "left")
        .join(goes, ["org", "by", "folder"], "left")
        .join(of_origin, ["org", "by"], "left")
        .join(out, list(STORE), "left")
        .join(grid, "org")
    )
    by, cited_at = F.col("by"), F.when(F.col("cause") != Cause.NOT_HEARD, F.col("cited.at"))
    of = {Cause.NOT_SENT: by, Cause.SUSPENDED: by, Cause.NOT_HEARD: by, Cause.WAITING_TO_ASK: F.col("source")}
    said = {
        "since": F.coalesce("stands_since", cited_at, "given"),
        "of": _by_cause(of, F.col("cited.of")),
        "reason": F.col("cited.reason"),
        "version": F.col("cited.version"),
        "message_id": F.col("cited.message_id"),
        "at": _by_cause({Cause.NOBODY_HAS_IT: F.col("cited.at"), Cause.NOT_HEARD: F.col("cited.at")}),
        **_next(),
    }
    return cnset.join_up(known.withColumns(said).select(*RANGE_HERE, *SAID), ORIGIN_HERE, SAID)


def _next() -> dict[str, Column]:
    """What happens next to numbers that are not there: when, what, who does it or is asked, and by which type of message. Who is
    down does nothing, and to who is down or cut off nothing comes."""
    ask = F.when(~F.coalesce("down", F.lit(False)), F.col("asks_at"))
    come = F.when(~F.coalesce("out", F.lit(False)), F.col("cited.due"))
    go = F.when(~F.coalesce("origin_down", F.lit(False)), F.col("goes_at"))
    by, asked, cited = F.col("by"), F.col("source"), F.col("cited.of")
    follows = {
        Cause.NOT_SENT: ("send", go, by),
        Cause.ON_ITS_WAY: ("arrive", come, cited),
        Cause.ASKED: ("ask_again", ask, asked),
        Cause.WAITING_TO_ASK: ("ask", ask, asked),
        Cause.NOT_HEARD: ("hear", come, cited),
    }
    return {
        "next_at": on_grid(_by_cause({cause: at for cause, (_, at, _) in follows.items()})),
        "next_what": _by_cause({cause: F.lit(what) for cause, (what, _, _) in follows.items()}),
        "next_of": _by_cause({cause: of for cause, (_, _, of) in follows.items()}),
        "next_type": F.col("cited.type"),
    }


def _first(causes: DataFrame, evidence: DataFrame) -> DataFrame:
    """What is known of each piece: what its cause cites, when its numbers were `given`, and the `source` that will be asked.

    Of requests that is cited of which the array tells: a restore takes others back.
    """
    of_any = F.col("of_cause").isNull()
    known = cnset.within(
        causes.select(*RANGE_HERE, "cause", "since", F.col("cn_min").alias("cn")),
        evidence.withColumnRenamed("cause", "of_cause"),
        ORIGIN_HERE,
    )
    counts = (F.col("cause") != Cause.ASKED) | (F.col("at") == F.col("since"))
    return known.groupBy(*RANGE_HERE).agg(
        F.min(F.when((F.col("of_cause") == F.col("cause")) & counts, F.struct(*CITED))).alias("cited"),
        F.min(F.when(of_any, F.col("at"))).alias("given"),
        F.min(F.when(of_any, F.col("of"))).alias("source"),
    )


def _by_cause(values: Mapping[Cause, Column], otherwise: Column | None = None) -> Column:
    cases = [F.when(F.col("cause") == cause, value) for cause, value in values.items()]
    return F.coalesce(*cases, *([] if otherwise is None else [F.when(~F.col("cause").isin(*values), otherwise)]))
