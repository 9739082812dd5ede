"""Twins of rules that reckon with sets of numbers, and of what stores tell each other of them (`cnarrow` has the algebra)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pfspark import cnarrow
from pfspark.keyed import (
    anti_join,
    beside,
    distinct,
    inlined,
    labels,
    one_of_each,
    placed,
    run_ends,
    semi_join,
    stores_of,
    with_columns,
)
from pfspark.keys import AGENDA, BELIEF, FOLDER, HERE, MESSAGE, ORIGIN_HERE, RANGE_HERE, SAID, STORE
from pfspark.words import HIERARCHY, LIVE, Entry, Listing, Standing

CLAIM = ("about", "entry", "origin", "cn_min", "cn_max")


def _own(rows: pa.Table, *, replicas: pa.Table) -> pa.Table:
    current = replicas.filter(pc.not_equal(replicas["standing"], str(Standing.ERASED)))
    keys = current.select(list(HERE)).append_column("about", labels(current["store"], current["life"]))
    return semi_join(rows, keys, keys.column_names)


def _ranges_of(own: pa.Table, *, entry: Entry) -> pa.Table:
    return own.filter(pc.equal(own["entry"], str(entry))).select(list(RANGE_HERE))


def _believed(rows: pa.Table, *, replicas: pa.Table) -> pa.Table:
    there = replicas.filter(pc.not_equal(replicas["standing"], str(Standing.ERASED)))
    others = rows.filter(pc.not_equal(stores_of(rows["about"]), rows["store"]))
    return semi_join(others, there, HERE).select([*HERE, "entry", "about", "origin", "cn_min", "cn_max"])


def _canonical(held: pa.Table) -> pa.Table:
    return cnarrow.canonical(held, ORIGIN_HERE)


def _without(applied: pa.Table, hidden: pa.Table) -> pa.Table:
    return cnarrow.subtract(applied, hidden, ORIGIN_HERE)


def _contents_of(table: pa.Table, *, replicas: pa.Table) -> pa.Table:
    mine = _own(table, replicas=replicas)
    return _without(_ranges_of(mine, entry=Entry.APPLIED), _ranges_of(mine, entry=Entry.EMPTY))


def _since_erased(rows: pa.Table, *, replicas: pa.Table) -> pa.Table:
    gone = replicas.filter(pc.equal(replicas["standing"], str(Standing.ERASED))).select([*HERE, "round"])
    last = gone.group_by(list(HERE), use_threads=False).aggregate([("round", "max")]).rename_columns([*HERE, "erased"])
    return _counting(rows, last, HERE, pc.field("erased").is_null() | (pc.field("round") > pc.field("erased")))


def _since_restored(rows: pa.Table, *, restored: pa.Table) -> pa.Table:
    counts = pc.field("restored").is_null() | (pc.field("round") >= pc.field("restored"))
    return _counting(rows, restored.select([*STORE, "restored"]), STORE, counts)


def _counting(rows: pa.Table, moments: pa.Table, on: Sequence[str], counts: pc.Expression) -> pa.Table:
    """The rows that count, each beside the moment that is told of its key; null where none is."""
    beside = placed(rows.select([*on, "round"])).join(moments, list(on)).filter(counts)
    return rows.take(beside.sort_by("_place")["_place"])


def _newest(rows: pa.Table, *, key: Sequence[str]) -> pa.Table:
    return one_of_each(rows.sort_by("round"), key, last=True)


def _standing(agenda: pa.Table) -> pa.Table:
    return _newest(agenda, key=AGENDA).filter(pc.field("due").is_valid())


def _sift_each(carried: pa.Table, *, applied: pa.Table) -> pa.Table:
    keys = (*ORIGIN_HERE, "message_id")
    held = applied.select(list(RANGE_HERE)).join(distinct(carried, keys), list(ORIGIN_HERE), join_type="inner")
    return cnarrow.subtract(carried, held, keys)


def _numbers(carried: pa.Table) -> pa.Table:
    return carried.select(list(RANGE_HERE))


def _of_their_own(ranges: pa.Table) -> pa.Table:
    return ranges.filter(pc.equal(stores_of(ranges["origin"]), ranges["store"]))


def _waiting(held: pa.Table, *, sent: pa.Table, returned: pa.Table, replicas: pa.Table) -> pa.Table:
    sends = replicas.filter(pc.is_in(replicas["standing"], pa.array(map(str, LIVE))))
    own = semi_join(_of_their_own(held), sends, HERE)
    return _without(own, pa.concat_tables([sent.select(list(RANGE_HERE)), returned.select(list(RANGE_HERE))]))


def _unsent(waiting: pa.Table, *, replicas: pa.Table) -> pa.Table:
    return anti_join(waiting, replicas.filter(pc.equal(replicas["standing"], str(Standing.DELETE_PENDING))), HERE)


def _hidden(waiting: pa.Table, *, staying: pa.Table, replicas: pa.Table) -> pa.Table:
    return semi_join(_unsent(waiting, replicas=replicas), staying, HERE)


def _content(claimed: pa.Table) -> pa.Table:
    reported, empty = (claimed.filter(pc.equal(claimed["entry"], str(each))) for each in (Entry.REPORTED, Entry.EMPTY))
    return cnarrow.subtract(reported, empty, (*ORIGIN_HERE, "peer"))


def _noted_though_held(array: pa.Table, *, applied: pa.Table) -> pa.Table:
    return with_columns(cnarrow.intersect(array, applied, ORIGIN_HERE), check="I8")


def _layers_of_claims(claimed: pa.Table) -> pa.Table:
    void = pc.equal(claimed["entry"], str(Entry.EMPTY))
    sign = pc.if_else(void, -1, 1)
    measures = {
        "claimed": sign,
        "void": void,
        "near": pc.if_else(pc.fill_null(claimed["near"], False), sign, 0),
        "leaving": pc.if_else(pc.fill_null(claimed["leaving"], False), sign, 0),
    }
    whole = {name: column.cast(pa.int32()) for name, column in measures.items()}
    return with_columns(claimed.select(list(RANGE_HERE)), **whole)


def _cover(held: pa.Table, carried: pa.Table, claims: pa.Table, array: pa.Table) -> pa.Table:
    return cnarrow.coverage(
        ORIGIN_HERE,
        with_columns(held.select(list(RANGE_HERE)), applied=1),
        with_columns(carried.select(list(RANGE_HERE)), arriving=1),
        claims,
        layer(array),
    )


def layer(array: pa.Table) -> pa.Table:
    """The open array as a layer of the coverage, its times as measures."""
    times = {name: array[name].cast(pa.int64()) for name in ("heard", "attempt", "asked")}
    return with_columns(array.select(list(RANGE_HERE)), open=1, **times)


def lives_of(labels: pa.ChunkedArray) -> pa.ChunkedArray:
    """The lives in which replicas are called so (`cntext.split_label`)."""
    lives = pc.replace_substring_regex(labels, "^[^~]*~?", "")
    return pc.if_else(pc.equal(lives, ""), "1", lives).cast(pa.int64())


def _current_only(rows: pa.Table, *, lives: pa.Table, about: str = "about") -> pa.Table:
    named = with_columns(rows.select(list(HERE)), peer=stores_of(rows[about]), life=lives_of(rows[about]))
    newest = lives.select([*HERE, "peer", "life"]).rename_columns([*HERE, "peer", "newest"])
    known = placed(named).join(newest, [*HERE, "peer"])
    current = known.filter(pc.greater_equal(known["life"], pc.fill_null(known["newest"], 1)))
    return rows.take(current.sort_by("_place")["_place"])


def _from_current_replicas(accepted: pa.Table, *, lives: pa.Table) -> pa.Table:
    heard = accepted.rename_columns({"store": "by", "recipient": "store"})
    return _current_only(heard, lives=lives, about="sender").rename_columns({"store": "recipient", "by": "store"})


def _said_in(letters: pa.Table) -> pa.Table:
    """What letters claim, a row each claim: org, message_id, and those of `CLAIM`."""
    return inlined(letters.select(list(MESSAGE)), letters["status"], CLAIM)


def _hear(accepted: pa.Table, *, letters: pa.Table, believed: pa.Table) -> pa.Table:
    says = _said_in(letters).join(distinct(accepted, [*MESSAGE, "folder", "sender"]), list(MESSAGE), join_type="inner")
    to = accepted.select([*MESSAGE, "recipient", "folder"]).rename_columns([*MESSAGE, "store", "folder"])
    may_be_new = distinct(to, HERE).join(distinct(says, SAID), list(FOLDER), join_type="inner")
    of_others = pc.not_equal(stores_of(may_be_new["about"]), may_be_new["store"])
    may_be_new = may_be_new.filter(of_others).select(["store", *SAID])
    known = believed.select([*BELIEF, "cn_min", "cn_max"]).rename_columns([*BELIEF, "first", "last"])
    beside = may_be_new.join(known, list(BELIEF), join_type="inner")
    within = beside.filter((pc.field("first") <= pc.field("cn_min")) & (pc.field("cn_max") <= pc.field("last")))
    new = anti_join(may_be_new, within, ["store", *SAID])
    told = semi_join(new.join(says, list(SAID), join_type="inner"), to, [*MESSAGE, "store"])
    return told.select([*BELIEF, "cn_min", "cn_max", "sender"])


def _learn(told: pa.Table, *, believed: pa.Table, lives: pa.Table) -> pa.Table:
    current = _current_only(told, lives=lives)
    direct = pc.equal(current["about"], current["sender"]).cast(pa.int64())
    heard = with_columns(current.select([*BELIEF, "cn_min", "cn_max"]), direct=direct, told=1)
    known = with_columns(believed.select([*BELIEF, "cn_min", "cn_max"]), known=1)
    news = cnarrow.coverage(BELIEF, heard, known).filter((pc.field("told") > 0) & (pc.field("known") == 0))
    return with_columns(news.select([*BELIEF, "cn_min", "cn_max"]), relayed=pc.equal(news["direct"], 0))


def _claims(beliefs: pa.Table, *, holders: pa.Table, lives: pa.Table, stores: pa.Table) -> pa.Table:
    mine = stores.select(["org", "store", "site"]).rename_columns(["org", "store", "from_site"])
    theirs = stores.select(["org", "store", "site"]).rename_columns(["org", "peer", "to_site"])
    pairs = holders.select([*HERE, "peer", "listing"]).join(mine, ["org", "store"], join_type="inner")
    pairs = pairs.join(theirs, ["org", "peer"], join_type="inner")
    near, leaving = pc.equal(pairs["from_site"], pairs["to_site"]), pc.equal(pairs["listing"], str(Listing.REMOVED))
    askable = with_columns(pairs.select([*HERE, "peer"]), near=near, leaving=leaving)
    current = _current_only(beliefs, lives=lives).select([*HERE, *CLAIM])
    claimed = with_columns(current, peer=stores_of(current["about"])).join(askable, [*HERE, "peer"], join_type="inner")
    return claimed.select([*ORIGIN_HERE, "peer", "about", "near", "leaving", "entry", "cn_min", "cn_max"])


def _read_lives(accepted: pa.Table, *, letters: pa.Table, lives: pa.Table) -> pa.Table:
    to = semi_join(accepted, letters, MESSAGE)
    here = to.select(["org", "recipient", "folder", "message_id"]).rename_columns([*HERE, "message_id"])

    def labelled() -> Iterator[pa.Table]:
        yield with_columns(here, label=to["sender"])
        for name in ("carries", "asks"):
            ranges = to[name].combine_chunks()
            origins = pc.struct_field(pc.list_flatten(ranges), "origin")
            yield with_columns(here.take(pc.list_parent_indices(ranges)), label=origins)
        said = _said_in(letters)
        for name in ("about", "origin"):
            later = distinct(said.filter(pc.match_substring(said[name], "~")), [*MESSAGE, name])
            yield here.join(later.rename_columns([*MESSAGE, "label"]), list(MESSAGE), join_type="inner")

    named = (each.select([*HERE, "label"]) for each in labelled())
    seen = pa.concat_tables(each.filter(pc.match_substring(each["label"], "~")) for each in named)
    later = with_columns(seen.select(list(HERE)), peer=stores_of(seen["label"]), life=lives_of(seen["label"]))
    known = pa.concat_tables([lives.select([*HERE, "peer", "life"]), later.filter(pc.greater(later["life"], 1))])
    highest = known.group_by([*HERE, "peer"], use_threads=False).aggregate([("life", "max")])
    return highest.rename_columns([*HERE, "peer", "life"])


def _forgotten(accepted: pa.Table, *, letters: pa.Table, applied: pa.Table, replicas: pa.Table) -> pa.Table:
    alive = replicas.filter(pc.is_in(replicas["standing"], pa.array(map(str, LIVE)))).select([*HERE, "life", "standing"])
    to = accepted.select([*MESSAGE, "recipient", "folder"]).rename_columns([*MESSAGE, "store", "folder"])
    current = to.join(with_columns(alive, label=labels(alive["store"], alive["life"])), list(HERE), join_type="inner")
    said = _said_in(letters).select([*MESSAGE, "origin", "cn_max"]).rename_columns([*MESSAGE, "label", "cn_max"])
    told, key = current.join(said, [*MESSAGE, "label"], join_type="inner"), [*HERE, "life", "standing", "label"]
    shown = told.group_by(key, use_threads=False).aggregate([("cn_max", "max")]).rename_columns([*key, "shown"])
    held = applied.group_by(list(ORIGIN_HERE), use_threads=False).aggregate([("cn_max", "max")])
    beside = shown.join(held.rename_columns([*HERE, "label", "held"]), [*HERE, "label"])
    forgot = beside.filter(pc.greater(beside["shown"], pc.fill_null(beside["held"], 0)))
    return with_columns(forgot.select(list(HERE)), life=pc.add(forgot["life"], 1), standing=forgot["standing"])


def _dated(moves: pa.Table, *, clock: pa.Table) -> pa.Table:
    at = clock.select(["org", "now"]).rename_columns(["org", "at"])
    return moves.join(at, "org", join_type="inner").select([*moves.column_names, "at"])


def senders(speaking: pa.Table, *, replicas: pa.Table) -> pa.Table:
    called = with_columns(replicas.select(list(HERE)), sender=labels(replicas["store"], replicas["life"]))
    return beside(speaking, called, HERE, inner=True)


def _tell(speaking: pa.Table, *, shown: pa.Table, empty: pa.Table, claims: pa.Table, clock: pa.Table) -> pa.Table:
    called = speaking.select([*HERE, "sender"]).rename_columns([*HERE, "about"])
    own = [
        with_columns(ranges.select(list(RANGE_HERE)), entry=str(entry)).join(called, list(HERE), join_type="inner")
        for entry, ranges in ((Entry.REPORTED, shown), (Entry.EMPTY, empty))
    ]
    relaying = semi_join(speaking.select(list(HERE)), clock.filter(clock["relay_status"]), ["org"])
    others = semi_join(claims, relaying, HERE)
    said = pa.concat_tables(each.select([*HERE, *CLAIM]) for each in (*own, others))
    said = said.sort_by([(name, "ascending") for name in (*HERE, *CLAIM)]).combine_chunks()
    ends = pa.array([0, *run_ends(pc.binary_join_element_wise(*(said[name] for name in HERE), "\0"))], pa.int32())
    claim = pa.StructArray.from_arrays([said[name].combine_chunks() for name in CLAIM], [*CLAIM])
    return with_columns(said.select(list(HERE)).take(ends[:-1]), status=pa.ListArray.from_arrays(ends, claim))


def _record(
    gained: pa.Table, sending: pa.Table, expired: pa.Table, beliefs: pa.Table, *, settled: pa.Table, returned: pa.Table,
    replicas: pa.Table, clock: pa.Table,
) -> pa.Table:  # fmt: skip
    said = {Entry.APPLIED: (gained,), Entry.EMPTY: (settled, expired), Entry.SENT: (sending, returned)}
    numbers = ((entry, each.select(list(RANGE_HERE))) for entry, some in said.items() for each in some)
    ranges = pa.concat_tables(with_columns(each, entry=str(entry)) for entry, each in numbers)
    called = with_columns(replicas.select(list(HERE)), about=labels(replicas["store"], replicas["life"]))
    own = with_columns(ranges.join(called, list(HERE), join_type="inner"), relayed=False)
    columns = [*HERE, "entry", "about", "origin", "cn_min", "cn_max", "relayed"]
    return _dated(pa.concat_tables([own.select(columns), beliefs.select(columns)]), clock=clock)


SETS: dict[str, Callable[..., Any]] = {
    "backfill.cover": _cover,
    "frames.dated": _dated,
    "merging._of_hierarchy": lambda changes: changes.filter(pc.equal(changes["folder"], HIERARCHY)),
    "addressing.senders": senders,
    "receipt.sift": lambda carried, *, applied: _without(carried, applied),
    "receipt.sift_each": _sift_each,
    "sending.hidden": _hidden,
    "sending.returned": _of_their_own,
    "sending.unsent": _unsent,
    "sending.waiting": _waiting,
    "sources.content": _content,
    "state.believed": _believed,
    "state.canonical": _canonical,
    "state.claims": _claims,
    "state.current_only": _current_only,
    "state.from_current_replicas": _from_current_replicas,
    "state.contents": lambda applied, *, empty: _without(applied, empty),
    "state.contents_of": _contents_of,
    "state.forgotten": _forgotten,
    "state.hear": _hear,
    "state.layers_of_claims": _layers_of_claims,
    "state.learn": _learn,
    "state.numbers": _numbers,
    "state.own": _own,
    "state.ranges_of": _ranges_of,
    "state.read_lives": _read_lives,
    "state.record": _record,
    "state.shown": lambda applied, *, hidden: _without(applied, hidden),
    "state.tell": _tell,
    "views._canonical": lambda rows: cnarrow.canonical(rows, (*BELIEF, "relayed")),
    "views._newest": _newest,
    "views._standing": _standing,
    "views.since_erased": _since_erased,
    "views.since_restored": _since_restored,
    "violations.noted_though_held": _noted_though_held,
}
"""By the name of the rule."""
