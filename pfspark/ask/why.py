"""Why a number is at a store, or is not: the first cause that applies, since when, and what happens next.

What decides is asked of the rules that decide it in a round: what is missing and when it is asked for (`backfill`), of whom
(`sources`), when an own change goes (`packing`), which version readers are shown (`items`). Nothing is decided here again.
"""

from __future__ import annotations

from functools import cache, reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.frame import rule, source
from pfspark.rules import addressing, backfill, items, packing, sources, state
from pfspark.rules.frames import once
from pfspark.words import HIERARCHY, LIVE, Cause, Entry, Listing, MessageType, Standing, Why

HERE = ("org", "store", "folder")
LINE = (*HERE, "origin")
RANGE = (*LINE, "cn_min", "cn_max")
SAID = (
    "cause", "since", "of", "attempt", "standing", "reason", "version", "message_id", "at",
    "next_at", "next_what", "next_of", "next_type",
)  # fmt: skip
"""What is said of a range; neighbours of which all of it is the same are one."""
TELLING = (Why.STATUS, Why.REPEAT, Why.SEND)
"""The entries of an agenda whose time brings others a letter with the store's status."""


@cache
def of_numbers() -> DataFrame:
    """What can be said of the numbers in `asked`, drawn of the views and facts that are given by name: see `Given`."""
    return _explained(source("asked"))


@cache
def of_folders() -> DataFrame:
    """What can be said of all numbers that the replicas in `pairs` lack."""
    own = state.own(source("state"), replicas=source("replicas"))
    applied = state.ranges_of(own, entry=Entry.APPLIED)
    return _explained(lacking(source("pairs"), applied=applied, array=source("array")))


def _explained(asked: DataFrame) -> DataFrame:
    """The chain of a round, from what stores hold to whom they ask, with nothing arriving; then what it says of `asked`."""
    clock, replicas, lists, stores = source("clock"), source("replicas"), source("lists"), source("stores")
    links, agenda, contacts, mail = source("links"), source("agenda"), source("contacts"), source("mail")
    none, log = source("none"), source("log")
    own = once(state.own(source("state"), replicas=replicas))
    applied, empty = (once(state.ranges_of(own, entry=entry)) for entry in (Entry.APPLIED, Entry.EMPTY))
    claims = state.claims(
        state.believed(source("state"), replicas=replicas), lists=lists, lives=source("lives"), stores=stores
    )
    coverage = backfill.cover(applied, none, state.layers_of_claims(claims), source("array"))
    missing = backfill.note(coverage, replicas=replicas, clock=clock)
    timed = backfill.due(missing, clock=clock)
    gives = sources.content(claims)
    ranked = sources.rank(
        timed, gives=gives, contacts=silent_by_then(contacts, timed=timed, clock=clock), stores=stores, links=links, clock=clock
    )
    chosen = sources.choose(timed, ranked=ranked, gives=gives)
    waiting = packing.waiting(applied, sent=state.ranges_of(own, entry=Entry.SENT), returned=none, replicas=replicas)
    cycle = packing.cycle(
        waiting, agenda=agenda, replicas=replicas, limits=packing.limits(source("tree")), stores=stores, clock=clock
    )
    shown = state.shown(applied, hidden=packing.unsent(waiting, replicas=replicas))
    scheduled = will_tell(
        shown, agenda=agenda, lists=lists, replicas=replicas, stores=stores, links=links,
        conditions=source("conditions"), clock=clock, grid=source("grid"),
    )  # fmt: skip
    settled = undisturbed(scheduled, agenda=agenda, mail=mail, replicas=replicas, clock=clock, grid=source("grid"))
    said = explain(
        asked,
        applied=applied, empty=empty, waiting=waiting, cycle=cycle, missing=missing, timed=timed, chosen=chosen,
        coming=coming(mail), telling=tell(telling(mail), settled), requests=source("requests"), refusals=source("refusals"),
        log=log, beliefs=state.believed(source("state"), replicas=replicas), contacts=contacts, replicas=replicas,
        conditions=source("conditions"), clock=clock, grid=source("grid"),
    )  # fmt: skip
    instead = shown_instead(asked, changes=source("changes"), applied=applied, empty=empty, log=log)
    return with_versions(said, instead=instead)


@rule("ranges")
def lacking(pairs: DataFrame, *, applied: DataFrame, array: DataFrame) -> DataFrame:
    """The numbers of each folder that any store holds, or has heard of, and that the replica itself does not hold."""
    of_folder = ("org", "folder", "origin")
    told = applied.select(*RANGE).unionByName(array.select(*RANGE))
    numbers = cnset.canonical(told, of_folder)
    everything = numbers.join(pairs.select(*HERE), ["org", "folder"])
    return cnset.subtract(everything, applied, LINE)


@rule("contacts", drives=("contacts",))
def silent_by_then(contacts: DataFrame, *, timed: DataFrame, clock: DataFrame) -> DataFrame:
    """Contacts as they stand when the store asks next: who is not heard by then has become unavailable (R105)."""
    then = timed.groupBy("org", "store").agg(F.min("due").alias("then"))
    known = contacts.join(then, ["org", "store"], "left").join(clock.select("org", "now"), "org")
    silent = F.when(F.col("silent") <= F.coalesce("then", "now"), F.least("silent", "now")).otherwise(F.col("silent"))
    return known.withColumn("silent", silent).drop("then", "now")


@rule("tidings")
def coming(mail: DataFrame) -> DataFrame:
    """The numbers that mail under way carries, by who receives them; what will not arrive brings none."""
    under_way = mail.where("lost is null")
    return _tidings(under_way, F.inline("carries"))


@rule("tidings")
def telling(mail: DataFrame) -> DataFrame:
    """The numbers of which the status part of mail under way tells its recipient (R85)."""
    claims = F.filter("status", lambda each: each["entry"] == Entry.REPORTED)
    ranges = F.transform(claims, lambda each: F.struct(each["origin"], each["cn_min"], each["cn_max"]))
    return _tidings(mail.where("lost is null"), F.inline(ranges).alias("origin", "cn_min", "cn_max"))


def _tidings(mail: DataFrame, ranges: Column) -> DataFrame:
    rows = mail.select(
        "org", F.col("recipient").alias("store"), "folder", "due", F.col("store").alias("of"), "type", "message_id", "at", ranges
    )
    return rows.withColumn("reason", F.lit(None).cast("string")).select(*RANGE, "due", "of", "type", "message_id", "at", "reason")


@rule("tidings")
def will_tell(
    shown: DataFrame,
    *,
    agenda: DataFrame,
    lists: DataFrame,
    replicas: DataFrame,
    stores: DataFrame,
    links: DataFrame,
    conditions: DataFrame,
    clock: DataFrame,
    grid: DataFrame,
) -> DataFrame:
    """The numbers of which stores will tell the others when an entry of their agenda falls due: `due` is when that arrives.

    Source: R48, R136 (every letter has the sender's status).
    """
    silent = conditions.where("down or cut").select("org", "store")
    speaking = replicas.where(F.col("standing").isin(*LIVE)).select(*HERE)
    due = (
        agenda.where(F.col("why").isin(*TELLING)).select(*HERE, "why", "due")
        .join(speaking, list(HERE), "left_semi")
        .join(silent, ["org", "store"], "left_anti")
    )  # fmt: skip
    moments = clock.select("org", "now").join(grid, "org")
    at = due.join(moments, "org").withColumn("said", on_grid(F.col("due")))
    peers = lists.where((F.col("peer") != F.col("store")) & (F.col("listing") == Listing.LISTED)).select(*HERE, "peer")
    delays = addressing.delays(stores, links)
    delay = F.coalesce(F.try_element_at("delays", F.col("peer")), F.lit(0))
    letters = at.join(peers, list(HERE)).join(delays, ["org", "store"], "left")
    later = F.when(delay > 0, F.timestamp_add("SECOND", delay, F.col("said")))  # what is sent in a round arrives in a later one
    arriving = letters.withColumn("there", F.coalesce(later, F.timestamp_add("MICROSECOND", F.lit(1), F.col("said"))))
    content = F.when(F.col("folder") == HIERARCHY, MessageType.HIERARCHY).otherwise(MessageType.CONTENT)
    kind = F.when(F.col("why") == Why.SEND, content).otherwise(MessageType.STATUS)
    told = shown.join(arriving.select(*HERE, "peer", "there", "said", kind.alias("type")), list(HERE))
    nothing = {"message_id": F.lit(None).cast("string"), "reason": F.lit(None).cast("string")}
    return told.withColumns(nothing).select(
        "org", F.col("peer").alias("store"), "folder", "origin", "cn_min", "cn_max", F.col("there").alias("due"),
        F.col("store").alias("of"), "type", "message_id", F.col("said").alias("at"), "reason",
    )  # fmt: skip


@rule("tidings")
def undisturbed(
    scheduled: DataFrame, *, agenda: DataFrame, mail: DataFrame, replicas: DataFrame, clock: DataFrame, grid: DataFrame
) -> DataFrame:
    """The same; `due` is null where the folder does not rest until then: mail under way about it, or an entry of an agenda
    that falls due first, may have it told earlier, or start the wait anew."""
    rests = (*TELLING[:2], Why.EXPIRE, Why.ERASE)
    speaking = replicas.where(F.col("standing").isin(*LIVE)).select(*HERE)
    entries = agenda.where(~F.col("why").isin(*rests)).join(speaking, list(HERE), "left_semi").select("org", "folder", "due")
    letters = mail.where("lost is null").select("org", "folder", "due")
    moments = clock.select("org", "now").join(grid, "org")
    events = entries.unionByName(letters).join(moments, "org").withColumn("stirs", on_grid(F.col("due")))
    first = events.groupBy("org", "folder").agg(F.min("stirs").alias("stirs"))
    rows = scheduled.join(first, ["org", "folder"], "left")
    rest = F.when(F.col("stirs").isNull() | (F.col("stirs") > F.col("at")), F.col("due"))
    unsaid = F.lit(None).cast("timestamp").alias("at")
    return rows.withColumn("due", rest).select(*RANGE, "due", "of", "type", "message_id", unsaid, "reason")


@rule("tidings", inline=True)
def tell(told: DataFrame, scheduled: DataFrame) -> DataFrame:
    """All by which stores will hear of numbers."""
    return told.unionByName(scheduled)


def on_grid(at: Column) -> Column:
    """The first round of the organization's grid that is not before that moment, and after `now`, its last.

    Of a row with `anchor` (any moment of the grid), `every_s` and `now`; null stays null.
    """
    every = F.col("every_s") * 1_000_000
    first = F.unix_micros("anchor")
    nth = F.ceil((F.unix_micros(at) - first) / every)
    after = F.floor((F.unix_micros("now") - first) / every) + 1
    return F.when(at.isNotNull(), F.timestamp_micros((first + F.greatest(nth, after) * every).cast("bigint")))


@rule("explained", drives=("asked",))
def explain(
    asked: DataFrame,
    *,
    applied: DataFrame,
    empty: DataFrame,
    waiting: DataFrame,
    cycle: DataFrame,
    missing: DataFrame,
    timed: DataFrame,
    chosen: DataFrame,
    coming: DataFrame,
    telling: DataFrame,
    requests: DataFrame,
    refusals: DataFrame,
    log: DataFrame,
    beliefs: DataFrame,
    contacts: DataFrame,
    replicas: DataFrame,
    conditions: DataFrame,
    clock: DataFrame,
    grid: DataFrame,
) -> DataFrame:
    """One row for each range of which one thing can be said: the first cause that applies, and what is known with it.

    Numbers that were never given are in no row.

    `since`: since when the cause stands, of what nobody has said anything about yet since the number was given. `of` is whom
    the cause names, `at` when what is cited was written.
    """
    keys = asked.select(*LINE).distinct()
    given = log.where((cnset.store_of("origin") == F.col("store")) & (F.col("entry") == Entry.APPLIED)).drop("store")
    made = given.join(keys, ["org", "folder", "origin"])
    unsent = waiting.withColumnRenamed("store", "by").join(keys, ["org", "folder", "origin"])
    leavers = replicas.where(F.col("standing") == Standing.DELETE_PENDING).select(
        "org", F.col("store").alias("by"), "folder", F.lit(1).alias("freely")
    )
    layers = {
        "asked": asked,
        "held": applied,
        "settled": empty,
        "unsent": unsent,
        "arrived": log,
        "made": made,
        "coming": coming,
        "told": telling,
        "refused": refusals,
        "requested": requests,
        "chosen": chosen,
        "anywhere": applied.drop("store").join(keys, ["org", "folder", "origin"]),
        "believed": beliefs.where(F.col("entry") == Entry.REPORTED),
    }
    counted = [rows.select(*RANGE, F.lit(1).alias(f"n_{name}")) for name, rows in layers.items()]
    of_leavers = unsent.join(leavers, ["org", "by", "folder"]).select(*RANGE, "freely")
    heard = F.unix_micros("heard").alias("heard")
    open_ = missing.select(*RANGE, F.lit(1).alias("n_open"), "claimed", "leaving", "attempt", heard)
    times = timed.select(*RANGE, F.unix_micros("due").alias("ask_at"))
    exists = "n_anywhere > 0 or n_made > 0 or n_open > 0 or n_believed > 0 or n_coming > 0"
    pieces = cnset.coverage(LINE, *counted, of_leavers, open_, times).where("n_asked > 0").where(exists)
    stands = replicas.select(*HERE, "standing", F.col("at").alias("stood"))
    policy = clock.select("org", "now", "suspended").join(grid, "org")
    known = pieces.join(stands, list(HERE), "left").join(policy, "org").withColumn("cause", _cause())
    return _with_what_happens_next(
        known.select(*RANGE, "cause", "standing", "stood", "attempt", "heard", "ask_at", "now", "every_s", "anchor"),
        cycle=cycle, chosen=chosen, coming=coming, telling=telling, requests=requests, refusals=refusals, log=log, made=made,
        beliefs=beliefs, contacts=contacts, conditions=conditions,
    )  # fmt: skip


def _cause() -> Column:
    """The first cause that applies to a piece."""
    has_replica = F.coalesce(F.col("standing") == Standing.ACTIVE, F.lit(False))
    goes_on = (F.col("n_coming") > 0) | (F.col("freely") > 0) | ((F.col("n_open") > 0) & (F.col("leaving") > 0))
    held_back = F.col("suspended") & (F.col("folder") != HIERARCHY) & ~goes_on
    open_ = F.col("n_open") > 0
    return (
        F.when((F.col("n_held") > 0) & (F.col("n_settled") > 0), Cause.EXPIRED)
        .when(F.col("n_held") > 0, Cause.HERE)
        .when(~has_replica, Cause.NO_REPLICA)
        .when(held_back, Cause.SUSPENDED)
        .when(F.col("n_unsent") > 0, Cause.NOT_SENT)
        .when(F.col("n_coming") > 0, Cause.ON_ITS_WAY)
        .when(open_ & (F.col("claimed") > 0) & (F.col("attempt") > 0), Cause.ASKED)
        .when(open_ & (F.col("claimed") > 0), Cause.WAITING_TO_ASK)
        .when(open_, Cause.NOBODY_HAS_IT)
        .when(F.col("n_refused") > 0, Cause.REFUSED_HERE)
        .otherwise(Cause.NOT_HEARD)
    )


def _with_what_happens_next(
    pieces: DataFrame,
    *,
    cycle: DataFrame,
    chosen: DataFrame,
    coming: DataFrame,
    telling: DataFrame,
    requests: DataFrame,
    refusals: DataFrame,
    log: DataFrame,
    made: DataFrame,
    beliefs: DataFrame,
    contacts: DataFrame,
    conditions: DataFrame,
) -> DataFrame:
    """Each piece with what its cause names."""
    tidings = ("due", "of", "type", "message_id", "at", "reason")
    when = {name: pieces.where(F.col("cause") == cause) for name, cause in (
        ("coming", Cause.ON_ITS_WAY), ("telling", Cause.NOT_HEARD), ("refusal", Cause.REFUSED_HERE),
        ("request", Cause.ASKED), ("had", Cause.NOBODY_HAS_IT),
    )}  # fmt: skip
    own = log.where(F.col("entry") == Entry.APPLIED)
    settled = log.where(F.col("entry") == Entry.EMPTY)
    heard = contacts.select("org", "store", F.col("peer").alias("of"), F.col("heard").alias("at"))
    had = beliefs.where(F.col("entry") == Entry.REPORTED).withColumn("of", cnset.store_of("about"))
    holders = had.join(heard, ["org", "store", "of"], "left").withColumn("late", -F.unix_micros("at"))
    here = pieces.where(F.col("cause") == Cause.HERE)
    gone = pieces.where(F.col("cause") == Cause.EXPIRED)
    not_here = pieces.where(~F.col("cause").isin(Cause.HERE, Cause.EXPIRED))
    found = {
        "came": _first(here, own, "at").unionByName(_first(gone, settled, "at")),
        "made": _first(not_here, made, "at"),
        "coming": _first(when["coming"], coming, *tidings),
        "telling": _first(when["telling"], telling.withColumn("unknown", F.col("due").isNull()), "unknown", *tidings),
        "refusal": _first(when["refusal"], refusals, "at", "of", "reason", "message_id"),
        "request": _first(when["request"], requests.withColumn("late", -F.unix_micros("at")), "late", "at", "of"),
        "had": _first(when["had"], holders, "late", "of", "at"),
        "source": _first(pieces.where(F.col("cause").isin(Cause.ASKED, Cause.WAITING_TO_ASK)), chosen, "peer"),
    }
    full = pieces
    for name, rows in found.items():
        full = full.join(rows.withColumnRenamed("found", name), list(RANGE), "left")
    out = conditions.select("org", "store", F.col("down").alias("down"), (F.col("down") | F.col("cut")).alias("out"))
    of_origin = conditions.select("org", F.col("store").alias("by"), F.col("down").alias("origin_down"))
    goes = cycle.select("org", F.col("store").alias("by"), "folder", F.col("due").alias("goes_at"))
    full = (
        full.withColumn("by", cnset.store_of("origin"))
        .join(goes, ["org", "by", "folder"], "left")
        .join(of_origin, ["org", "by"], "left")
        .join(out, ["org", "store"], "left")
    )
    by_cause = {
        Cause.NOT_SENT: (F.when(~F.coalesce("origin_down", F.lit(False)), F.col("goes_at")), "send", F.col("by"), None),
        Cause.ON_ITS_WAY: (_unless("out", "coming.due"), "arrive", F.col("coming.of"), F.col("coming.type")),
        Cause.ASKED: (_unless("down", F.timestamp_micros("ask_at")), "ask_again", F.col("source.peer"), None),
        Cause.WAITING_TO_ASK: (_unless("down", F.timestamp_micros("ask_at")), "ask", F.col("source.peer"), None),
        Cause.NOT_HEARD: (_unless("out", "telling.due"), "hear", F.col("telling.of"), F.col("telling.type")),
    }
    since = _by_cause(
        {
            Cause.HERE: "came.at", Cause.EXPIRED: "came.at", Cause.NO_REPLICA: "stood", Cause.ON_ITS_WAY: "coming.at",
            Cause.ASKED: "request.at", Cause.WAITING_TO_ASK: F.timestamp_micros("heard"),
            Cause.NOBODY_HAS_IT: F.timestamp_micros("heard"), Cause.REFUSED_HERE: "refusal.at",
        }
    )  # fmt: skip
    of = _by_cause(
        {
            Cause.NOT_SENT: "by", Cause.SUSPENDED: "by", Cause.ON_ITS_WAY: "coming.of", Cause.ASKED: "request.of",
            Cause.WAITING_TO_ASK: "source.peer", Cause.NOBODY_HAS_IT: "had.of", Cause.REFUSED_HERE: "refusal.of",
            Cause.NOT_HEARD: "by",
        }
    )  # fmt: skip
    cited = _by_cause({Cause.NOBODY_HAS_IT: "had.at", Cause.NOT_HEARD: "telling.at"})
    said = full.select(
        *RANGE,
        "cause",
        F.coalesce(since, "made.at").alias("since"),
        of.alias("of"),
        F.when(F.col("cause") == Cause.ASKED, F.col("attempt")).alias("attempt"),
        "standing",
        F.col("refusal.reason").alias("reason"),
        F.lit(None).cast("string").alias("version"),
        F.coalesce("coming.message_id", "refusal.message_id", "telling.message_id").alias("message_id"),
        cited.alias("at"),
        on_grid(_by_cause({cause: at for cause, (at, _, _, _) in by_cause.items()})).alias("next_at"),
        _by_cause({cause: F.lit(what) for cause, (_, what, _, _) in by_cause.items()}).alias("next_what"),
        _by_cause({cause: who for cause, (_, _, who, _) in by_cause.items()}).alias("next_of"),
        _by_cause({cause: kind for cause, (_, _, _, kind) in by_cause.items() if kind is not None}).alias("next_type"),
    )
    return cnset.join_up(said, LINE, SAID)


def _first(pieces: DataFrame, rows: DataFrame, *columns: str) -> DataFrame:
    """Of the rows whose range a piece lies in the first by those columns, as `found`."""
    within = rows.select(*LINE, F.col("cn_min").alias("_from"), F.col("cn_max").alias("_to"), F.struct(*columns).alias("row"))
    met = pieces.select(*RANGE).join(within, list(LINE)).where("_from <= cn_min and cn_max <= _to")
    return met.groupBy(*RANGE).agg(F.min("row").alias("found"))


def _unless(condition: str, at: str | Column) -> Column:
    return F.when(~F.coalesce(condition, F.lit(False)), F.col(at) if isinstance(at, str) else at)


def _by_cause(values: dict[Cause, str | Column]) -> Column:
    def otherwise(rest: Column, each: tuple[Cause, str | Column]) -> Column:
        cause, value = each
        return F.when(F.col("cause") == cause, F.col(value) if isinstance(value, str) else value).otherwise(rest)

    return reduce(otherwise, values.items(), F.lit(None))


@rule("instead", drives=("asked",), needs=("applied",))
def shown_instead(asked: DataFrame, *, changes: DataFrame, applied: DataFrame, empty: DataFrame, log: DataFrame) -> DataFrame:
    """The numbers asked of that are held, and that readers are not shown: superseded, lost, or deleted, by which `version`.

    Source: F27, F28.
    """
    stores = asked.select(*HERE).distinct()
    contents = state.contents(applied.join(stores, list(HERE), "left_semi"), empty=empty)
    items_asked = cnset.within(changes, asked, ["org", "folder", "origin"]).select(*items.ITEM).distinct()
    of_items = changes.where(F.col("folder") != HIERARCHY).join(
        items_asked.select("org", "folder", "object").distinct(), ["org", "folder", "object"], "left_semi"
    )
    versions = items.versions(items.seen(of_items, applied=contents))
    winners = items.readable(versions).select(
        *items.ITEM, F.col("version").alias("winner"), "deleted", F.col("origin").alias("by"), F.col("cn").alias("by_cn")
    )
    cause = F.when(F.col("deleted"), Cause.DELETED).when(F.col("dominated"), Cause.SUPERSEDED).otherwise(Cause.LOSER)
    not_shown = versions.join(winners, list(items.ITEM)).where("deleted or origin != by or cn != by_cn")
    came = log.where(F.col("entry") == Entry.APPLIED).select(
        *HERE, F.col("origin").alias("of"), F.col("cn_min").alias("_from"), F.col("cn_max").alias("_to"), "at"
    )
    number = [*LINE, "cn"]
    rows = not_shown.select(*number, cause.alias("cause"), F.col("winner").alias("version"), "by", "by_cn")
    winner = F.struct(F.col("by").alias("origin"), F.col("by_cn").alias("cn"))
    both = F.inline(F.array(F.struct("origin", "cn"), winner)).alias("of", "nth")
    dates = (
        rows.select(*number, both).distinct()
        .join(came, [*HERE, "of"]).where("nth between _from and _to")
        .groupBy(*number, "of", "nth").agg(F.min("at").alias("at"))
        .groupBy(*number).agg(F.max("at").alias("since"))
    )  # fmt: skip
    return rows.join(dates, number, "left").select(*number, "cause", "version", "since")


@rule("explained", drives=("explained",))
def with_versions(explained: DataFrame, *, instead: DataFrame) -> DataFrame:
    """The same with what readers are shown in place of versions that are held."""
    numbers = instead.select(*LINE, F.col("cn").alias("cn_min"), F.col("cn").alias("cn_max"), F.lit(1).alias("n_instead"))
    held = explained.select(*RANGE, F.lit(1).alias("n_said"))
    pieces = cnset.coverage(LINE, held, numbers).where("n_said > 0").select(*RANGE)
    said = explained.select(*LINE, F.col("cn_min").alias("_from"), F.col("cn_max").alias("_to"), *SAID)
    cut = pieces.join(said, list(LINE)).where("_from <= cn_min and cn_max <= _to").drop("_from", "_to")
    other = instead.select(
        *LINE, F.col("cn").alias("cn_min"), F.struct("cause", "version", "since").alias("other")
    )
    full = cut.join(other, [*LINE, "cn_min"], "left")
    changed = F.col("other").isNotNull() & (F.col("cause") == Cause.HERE)
    columns = {name: F.when(changed, F.col(f"other.{name}")).otherwise(F.col(name)) for name in ("cause", "version", "since")}
    return cnset.join_up(full.withColumns(columns).select(*RANGE, *SAID), LINE, SAID)
