"""A round: the one place where the rules meet.

`play` takes the world as it is and the organizations whose turn it is, and gives the new rows of every table, together
with the rows that change in the views the next round begins with. It reads and writes nothing. It goes as the articles
tell it: what arrives is let in and sifted, the replication state table learns, people's edits are taken in, holes are
noted and asked for, questions are answered, what waits is packed, and all letters leave together.

Rows of many stores stand in one frame: every join carries `org` and `store`, and only `arrive` moves a row from one store
to another. One rule looks over all stores, as the nightly maintenance may: `erase`, that no last copy goes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.rules import (
    addressing,
    agenda,
    aging,
    backfill,
    checks,
    hierarchy,
    intake,
    items,
    packing,
    receipt,
    removal,
    sources,
    state,
    status,
    transport,
)
from pfspark.words import CARRYING, Entry, Why

HERE = ("org", "store", "folder")
LINE = (*HERE, "origin")
RANGES = (*LINE, "cn_min", "cn_max")
PAIR = ("org", "store", "peer")


class Cut(Protocol):
    """Ends a plan: the rows that `build` gives, as a frame that is not computed again.

    Where every frame of `when` is known to have no rows, nothing is built, and the answer is `otherwise`, or no rows: a
    rule of which nothing is to be said costs nothing. Building always, and giving back what was built, is a correct cut.
    """

    def __call__(
        self,
        name: str,
        build: Callable[[], DataFrame],
        *,
        when: Sequence[DataFrame] | None = None,
        otherwise: DataFrame | None = None,
    ) -> DataFrame:
        """`name` stands for the columns: frames of one name have the same."""


@dataclass(frozen=True)
class World:
    """What a round is given: the directory, the edits to come, and every store's knowledge (`tables.EVERY`)."""

    stores: DataFrame
    links: DataFrame
    conditions: DataFrame
    faults: DataFrame
    edits: DataFrame
    taken: DataFrame
    changes: DataFrame
    mail: DataFrame
    tree: DataFrame
    folders: DataFrame
    lists: DataFrame
    replicas: DataFrame
    state: DataFrame
    array: DataFrame
    agenda: DataFrame
    contacts: DataFrame
    lives: DataFrame


@dataclass(frozen=True)
class Outcome:
    """What a round adds: new rows of tables, and rows that replace those of the same key in the views.

    `array` replaces whole folders (org, store, folder), `folders` and `lists` whole trees (org, store), `tree` folders.
    A round with `offences` may not count.
    """

    changes: DataFrame
    messages: DataFrame
    receipts: DataFrame
    state: DataFrame
    replicas: DataFrame
    backfill: DataFrame
    agenda: DataFrame
    tree: DataFrame
    folders: DataFrame
    lists: DataFrame
    array: DataFrame
    touched: DataFrame
    contacts: DataFrame
    lives: DataFrame
    offences: DataFrame


def play(world: World, turns: DataFrame, cut: Cut) -> Outcome:
    """One round of the organizations in `turns`, each at its own time."""
    clock = turns.select("org", F.col("now").alias("at"))
    directory = {"stores": world.stores, "links": world.links}

    # A store that is down plays no part: what is due there waits.
    down = cut("down", lambda: world.conditions.where("down").select("org", "store"), when=[world.conditions])
    calendar = cut(
        "calendar",
        lambda: world.agenda.join(down, ["org", "store"], "left_anti"),
        when=[down],
        otherwise=world.agenda,
    )
    due = cut("due", lambda: agenda.due(calendar, turns=turns), when=[calendar])

    # Arrive: what is due by now reaches its recipient, or is lost at the door.
    reached = cut(
        "reached",
        lambda: transport.arrive(world.mail, conditions=world.conditions, replicas=world.replicas, turns=turns),
        when=[world.mail],
    )
    held = state.own(world.state, replicas=world.replicas)
    applied_by = held.where(F.col("entry") == Entry.APPLIED).select(*RANGES)
    empty_by = held.where(F.col("entry") == Entry.EMPTY).select(*RANGES)

    # Whoever is heard is available from now on.
    met = cut(
        "contacts",
        lambda: sources.hear(world.contacts, delivered=reached.where("lost is null"), carrying=CARRYING),
        when=[reached],
    )
    contacts = _take("contacts", world.contacts, met, cut, key=PAIR)

    # Sift the hierarchy first, and see the tree it gives.
    tree_mail = cut("tree mail", lambda: receipt.unpack(receipt.of_hierarchy(reached)), when=[reached])
    told = cut(
        "told",
        lambda: items.seen(world.changes, applied=receipt.sift(tree_mail, applied=applied_by)),
        when=[tree_mail],
    )
    was = Trees(world.tree, world.folders, world.lists)
    whole = hierarchy.merging_whole(turns)
    arrived, on_arrival = _see(was, told, whole=whole, stores=world.stores, cut=cut)
    first_steps = cut(
        "steps",
        lambda: hierarchy.stand(world.replicas, lists=on_arrival.lists, folders=on_arrival.folders).join(clock, "org"),
        when=[on_arrival.folders],
    )
    enrolled = _take("replicas", world.replicas, first_steps, cut)

    # Let content in, or refuse it, against that tree.
    judged = cut(
        "judged",
        lambda: receipt.judge(reached, replicas=enrolled, folders=arrived.folders),
        when=[reached],
    )
    let_in = cut("let in", lambda: judged.where("lost is null and reason is null"), when=[judged])
    lives = cut("lives", lambda: state.read_lives(let_in, lives=world.lives), when=[let_in], otherwise=world.lives)
    in_force = cut("let in", lambda: state.in_force(let_in, lives=lives), when=[lives], otherwise=let_in)
    carried = cut("carried", lambda: receipt.unpack(let_in.where(F.col("type").isin(*CARRYING))), when=[let_in])

    in_hand = applied_by.unionByName(carried.select(*RANGES))

    # Whoever learns that it gave numbers it does not know begins a new life, with all it holds.
    forgetful = cut(
        "steps",
        lambda: state.forgotten(let_in, applied=in_hand, replicas=enrolled).join(clock, "org"),
        when=[let_in],
    )
    carried_over = cut("carried over", lambda: state.carried_over(world.state, begun=forgetful), when=[forgetful])
    kept_table = cut(
        "state table",
        lambda: world.state.unionByName(carried_over),
        when=[carried_over],
        otherwise=world.state,
    )
    living = _take("replicas", enrolled, forgetful, cut)

    # Remove: leavers whose content is safe elsewhere go, and those whose night has come are erased.
    vouched = cut("vouched", lambda: removal.vouched(in_force, replicas=living, turns=turns), when=[let_in])
    tonight = cut("keys", lambda: removal.tonight(due), when=[due])
    erased = cut(
        "steps",
        lambda: removal.erase(living, tonight=tonight, applied=in_hand, empty=empty_by).join(clock, "org"),
        when=[tonight],
    )
    uncalled = cut(
        "keys",
        lambda: removal.uncalled(living, seen=on_arrival.folders, tree=arrived.tree),
        when=[on_arrival.folders],
    )
    called_again = cut(
        "keys",
        lambda: removal.called_again(living, lists=on_arrival.lists),
        when=[on_arrival.lists],
    )
    leaving = cut(
        "steps",
        lambda: (
            removal.advance(vouched, applied=in_hand, replicas=living, uncalled=uncalled).join(clock, "org").unionByName(erased)
        ),
        when=[vouched, erased],
    )
    standing = _take("replicas", living, leaving, cut)

    # Take in edits: folders first, then items against the tree and standing as of their place.
    names = world.changes.where("edit_id is not null").select("org", "edit_id", "object")
    edits = cut(
        "edits",
        lambda: intake.resolve_items(
            intake.receive(world.edits, taken=world.taken, stores=world.stores, conditions=world.conditions, turns=turns),
            names=names,
        ),
        when=[world.edits],
    )
    of_folders = cut("edits", lambda: intake.of_folders(edits), when=[edits])
    of_items = cut("edits", lambda: intake.of_items(edits), when=[edits])
    aimed = cut(
        "aimed",
        lambda: intake.aim(
            _stack(
                of_folders,
                removal.say_leaving(uncalled, tree=arrived.tree, turns=turns),
                removal.say_gone(leaving, called_again=called_again, tree=arrived.tree, turns=turns),
            ),
            names=names,
        ),
        when=[of_folders, uncalled, called_again, leaving],
    )
    deletions = cut("edits", lambda: intake.deletions(of_folders), when=[of_folders])
    placements = cut("edits", lambda: intake.placements(of_folders), when=[of_folders])
    reaching = cut("viewers", lambda: intake.reaching(aimed, folders=arrived.folders), when=[placements])
    followed = cut(
        "followed",
        lambda: intake.follow(aimed, folders=arrived.folders, reaching=reaching),
        when=[deletions, reaching],
    )
    doomed = cut("doomed", lambda: intake.doomed(followed), when=[followed])
    too_deep = cut("too deep", lambda: intake.too_deep(followed), when=[followed])
    judged_folders = cut(
        "judged folders",
        lambda: intake.judge_folders(
            aimed, folders=arrived.folders, lists=arrived.lists, tree=arrived.tree, doomed=doomed, too_deep=too_deep
        ),
        when=[aimed],
    )
    numbered_folders = cut(
        "numbered folders",
        lambda: intake.number_folders(judged_folders, numbers=intake.last_numbers(standing, applied=applied_by)),
        when=[judged_folders],
    )
    folder_edits = cut(
        "folder edits",
        lambda: _stack(intake.write_folders(numbered_folders, tree=arrived.tree), intake.refused(judged_folders)),
        when=[judged_folders],
    )
    folder_changes = cut("new changes", lambda: intake.as_folder_changes(folder_edits), when=[folder_edits])
    seen, by_edits = _see(arrived, folder_changes, whole=whole, stores=world.stores, cut=cut)
    last_steps = cut(
        "steps",
        lambda: hierarchy.stand(
            standing, lists=by_edits.lists, folders=by_edits.folders, entries=intake.entries(folder_edits)
        ).join(clock, "org"),
        when=[by_edits.folders],
    )
    replicas = _take("replicas", standing, last_steps, cut)
    let_go = cut("steps", lambda: removal.let_go(living, replicas=replicas), when=[leaving])
    speaking = _take("replicas", replicas, let_go, cut)
    lineage = cut(
        "lineage",
        lambda: items.lineage(
            items.versions(cnset.without(items.seen(intake.edited(world.changes, of_items), applied=in_hand), empty_by, LINE))
        ),
        when=[of_items],
    )
    judged_items = cut(
        "judged items",
        lambda: intake.judge_items(
            of_items, standing=standing, folders=arrived.folders, folder_edits=folder_edits, doomed=doomed, lineage=lineage
        ),
        when=[of_items],
    )
    numbered_items = cut(
        "numbered items",
        lambda: intake.number_items(judged_items, replicas=replicas, numbers=intake.last_numbers(replicas, applied=applied_by)),
        when=[judged_items],
    )
    item_edits = cut(
        "item edits",
        lambda: _stack(intake.write_items(numbered_items), intake.refused(judged_items)),
        when=[judged_items],
    )
    new_changes = cut(
        "new changes",
        lambda: folder_changes.unionByName(intake.as_item_changes(item_edits)),
        when=[item_edits],
        otherwise=folder_changes,
    )
    steps = reduce(lambda steps, later: _take("steps", steps, later, cut), (forgetful, leaving, last_steps), first_steps)

    # What must be looked at: folders with mail, edits, a changed list, or an entry of the agenda that is due.
    touched = cut(
        "touched",
        lambda: _distinct(
            HERE,
            let_in.select("org", F.col("recipient").alias("store"), "folder"),
            new_changes,
            on_arrival.lists,
            by_edits.lists,
            steps,
            due,
        ),
        when=[let_in, new_changes, on_arrival.lists, by_edits.lists, steps, due],
    )
    table = cut("table", lambda: kept_table.join(touched, list(HERE), "left_semi"), when=[touched])
    mine = cut("mine", lambda: state.own(table, replicas=replicas), when=[table])
    own, empty_before, sent_before = (
        mine.where(F.col("entry") == entry).select(*RANGES) for entry in (Entry.APPLIED, Entry.EMPTY, Entry.SENT)
    )
    beliefs = state.believed(table, replicas=replicas).drop("relayed")
    lists = cut("lists", lambda: seen.lists.join(touched, list(HERE), "left_semi"), when=[touched])
    recipients = packing.recipients(lists)

    # Learn what others hold, and draw the number line of every folder looked at.
    news = cut("news", lambda: state.learn(in_force, believed=beliefs, lives=lives), when=[let_in])
    believed = cut("believed", lambda: beliefs.unionByName(news.drop("relayed")), when=[table, news])
    current = state.current_only(believed, lives=lives)
    claims = cut(
        "claims",
        lambda: state.claims(believed, lists=lists, lives=lives, stores=world.stores),
        when=[believed],
    )
    line = cut(
        "line",
        lambda: cnset.line(
            LINE,
            own.withColumn("applied", F.lit(1)),
            carried.select(*RANGES, F.lit(1).alias("arriving")),
            state.layers_of_claims(claims),
            backfill.layer(world.array.join(touched, list(HERE), "left_semi")),
        ),
        when=[touched],
    )
    fresh = line.where("applied = 0 and arriving > 0").select(*RANGES)
    settled = cut("ranges", lambda: backfill.settle_empty(line, replicas=speaking).select(*RANGES), when=[claims])
    empty = empty_before.unionByName(settled)
    returned = packing.returned(_stack(fresh, settled))
    issued = packing.issued(new_changes)
    gained = cut("ranges", lambda: _stack(fresh, settled, issued), when=[carried, new_changes, claims])
    applied = cut(
        "ranges",
        lambda: cnset.canonical(own.unionByName(gained), LINE),
        when=[mine, gained],
    )

    # Note holes; ask for those whose time has come, each of its best source.
    noted = cut("noted", lambda: backfill.note(line, replicas=replicas, turns=turns), when=[line])
    timed = cut("timed", lambda: backfill.due(noted, turns=turns), when=[noted])
    asking = cut("timed", lambda: backfill.asked_now(timed), when=[timed])
    gives = cut("gives", lambda: sources.content(_of(claims, asking)), when=[asking])
    ranked = cut(
        "ranked",
        lambda: sources.rank(_of(timed, asking), gives=gives, contacts=contacts, turns=turns, **directory),
        when=[gives],
    )
    asks = cut(
        "asks",
        lambda: backfill.retry(
            backfill.let_out(sources.choose(asking, ranked=ranked, gives=gives), lists=lists, turns=turns), turns=turns
        ),
        when=[ranked],
    )
    array = cut("array", lambda: backfill.enter(noted, asks=asks), when=[noted])

    # What waits goes at its cycle; what does not go yet is not shown.
    waiting = cut(
        "ranges",
        lambda: packing.waiting(applied, sent=sent_before.unionByName(returned), replicas=replicas),
        when=[applied],
    )
    limits = cut("limits", lambda: packing.limits(_of(seen.tree, touched)), when=[touched])
    cycle = cut(
        "cycle",
        lambda: packing.cycle(waiting, agenda=calendar, replicas=replicas, limits=limits, stores=world.stores, turns=turns),
        when=[waiting],
    )
    sending = cut("ranges", lambda: _of(waiting, cycle.where("goes")), when=[cycle])
    hidden = cut("ranges", lambda: packing.hidden(waiting, cycle=cycle, replicas=replicas), when=[cycle])
    shown = cut("ranges", lambda: state.shown(applied, hidden=hidden), when=[hidden], otherwise=applied)
    shown_empty = cut("ranges", lambda: state.shown(empty, hidden=hidden), when=[hidden], otherwise=empty)

    told_before = cut(
        "ranges",
        lambda: state.shown(applied, hidden=packing.unsent(waiting, replicas=replicas)),
        when=[waiting],
        otherwise=applied,
    )

    # Answer requests for content and for status.
    questions = cut("let in", lambda: status.answerable(in_force, replicas=speaking), when=[last_steps], otherwise=in_force)
    content_requests = cut("let in", lambda: backfill.requests(questions), when=[let_in])
    answers = cut("answers", lambda: backfill.answer(content_requests, applied=applied, empty=empty), when=[content_requests])
    status_requests = cut("status requests", lambda: status.asked_for(questions), when=[let_in])
    answered = cut(
        "answered",
        lambda: status.answer(
            status_requests, shown=told_before, applied=applied, beliefs=current, replicas=replicas, turns=turns
        ),
        when=[status_requests],
    )
    unserved = cut(
        "unserved",
        lambda: backfill.unserved(content_requests, answers=answers, told=answered),
        when=[content_requests],
    )

    # Pack what goes, and what was asked for.
    packed = cut(
        "packed",
        lambda: packing.pack(
            packing.updates(
                _stack(answers, _of(sending, recipients)),
                changes=_stack(world.changes, new_changes.drop("store")),
                applied=applied,
                empty=empty,
            ),
            stores=world.stores,
            limits=limits,
            turns=turns,
        ),
        when=[answers, sending],
    )

    # Inquire after a change of the own entry, and tell unasked when a folder has been quiet.
    begin = cut("begin", lambda: status.begin(steps, due=due, turns=turns), when=[steps, due])
    responders = cut(
        "responders",
        lambda: sources.responders(
            status.choosing(begin, replicas=speaking),
            holders=status.holders(lists),
            contacts=contacts,
            tree=_of(seen.tree, begin),
            turns=turns,
            **directory,
        ),
        when=[begin],
    )
    asked = cut("contacts", lambda: sources.remember(contacts, asks=asks, responders=responders), when=[asks, responders])
    inquiring = cut("agenda", lambda: status.inquiring(calendar, touched=touched), when=[touched])
    inquiries = cut(
        "inquiries",
        lambda: status.inquire(
            begin=begin,
            responders=responders,
            inquiring=inquiring,
            delivered=in_force,
            replicas=speaking,
            lists=lists,
            stores=world.stores,
            turns=turns,
        ),
        when=[begin, inquiring],
    )
    changed = cut("keys", lambda: _distinct(HERE, fresh, issued), when=[gained])
    repeating = cut("repeating", lambda: status.repeating(turns), when=[touched])
    repeats = cut(
        "repeats",
        lambda: status.repeat(
            status.behind(_of(shown, status.speakers(replicas)), beliefs=current, peers=recipients),
            keys=touched,
            agenda=calendar,
            changed=changed,
            turns=repeating,
        ),
        when=[repeating],
    )
    taken_in = packing.issued(new_changes.where("edit_id is not null"))
    quiet = cut(
        "keys",
        lambda: status.fall_due(due, changed=_distinct(HERE, fresh, taken_in)),
        when=[due],
    )
    telling = cut(
        "keys",
        lambda: _distinct(
            HERE,
            _of(quiet, status.speakers(speaking)),
            repeats.where("goes"),
        ),
        when=[quiet, repeats],
    )

    # Address everything, with the sender's status in each.
    letters = cut(
        "letters",
        lambda: _stack(
            addressing.changes(packed, recipients=recipients),
            addressing.responses(packed),
            addressing.requests(asks),
            addressing.answers(answered, unserved),
            addressing.unasked(telling, recipients=status.holders(lists)),
            addressing.inquiries(inquiries),
        ),
        when=[packed, asks, answered, unserved, telling, inquiries],
    )
    sent = cut(
        "messages",
        lambda: addressing.address(
            letters,
            status=state.tell(
                addressing.senders(letters, replicas=replicas),
                shown=shown,
                empty=shown_empty,
                claims=claims,
                turns=turns,
            ),
            limits=limits,
            replicas=replicas,
            conditions=world.conditions,
            turns=turns,
            **directory,
        ),
        when=[letters],
    )
    messages = cut("messages", lambda: transport.befall(sent, faults=world.faults), when=[world.faults], otherwise=sent)

    # Grow old: items that the nightly maintenance finds past their limit.
    limited = cut(
        "limited",
        lambda: aging.limited(_of(replicas, touched), tree=_of(seen.tree, touched), turns=turns),
        when=[touched],
    )
    night_shift = cut("night shift", lambda: aging.at_night(limited, due=due, turns=turns), when=[due])
    readable = cut(
        "versions",
        lambda: items.versions(
            items.seen(
                _stack(world.changes, new_changes.drop("store")),
                applied=cnset.subtract(_of(applied, night_shift), empty, LINE),
            )
        ),
        when=[night_shift],
    )
    expired = cut(
        "ranges",
        lambda: aging.expire(readable, winners=items.readable(readable), night=night_shift),
        when=[readable],
    )

    # The agenda of every folder looked at.
    wanted = cut(
        "wanted",
        lambda: _stack(
            agenda.entries(cycle.where("not goes"), Why.SEND),
            agenda.entries(backfill.next_due(timed, asks=asks), Why.BACKFILL),
            agenda.entries(inquiries, Why.INQUIRE),
            agenda.entries(status.restart_clock(changed, turns=turns), Why.STATUS),
            agenda.entries(repeats, Why.REPEAT),
            agenda.entries(agenda.maintenance(agenda.to_erase(_of(replicas, touched)), turns=turns), Why.ERASE),
            agenda.entries(agenda.maintenance(limited, turns=turns), Why.EXPIRE),
        ),
        when=[touched],
    )
    entries = cut(
        "entries",
        lambda: agenda.update(
            world.agenda,
            wanted=wanted,
            anew=agenda.decided(touched, quiet=quiet, replicas=replicas),
        ).join(clock, "org"),
        when=[touched],
    )

    return Outcome(
        changes=new_changes.drop("store"),
        messages=messages,
        receipts=cut(
            "receipts",
            lambda: _stack(
                receipt.receipts(judged, news=receipt.sift(carried, applied=applied_by, keys=(*LINE, "message_id"))),
                intake.receipts(_stack(edits.where("reason is not null"), folder_edits.where("decided is null"), item_edits)),
            ),
            when=[judged, edits],
        ),
        state=cut(
            "state",
            lambda: _stack(
                state.record(
                    {
                        Entry.APPLIED: (gained,),
                        Entry.EMPTY: (settled, expired),
                        Entry.SENT: (sending, returned),
                    },
                    replicas=replicas,
                    turns=turns,
                ),
                news.join(clock, "org"),
                carried_over.join(clock, "org"),
            ),
            when=[gained, sending, news, expired, carried_over],
        ),
        replicas=steps,
        backfill=cut("backfill", lambda: backfill.steps(noted, asks=asks, turns=turns), when=[noted]),
        agenda=entries,
        tree=_take("tree", on_arrival.tree, by_edits.tree, cut),
        folders=_take("folders", on_arrival.folders, by_edits.folders, cut, key=("org", "store")),
        lists=_take("lists", on_arrival.lists, by_edits.lists, cut, key=("org", "store")),
        array=array,
        touched=touched,
        contacts=_take("contacts", met, asked, cut, key=PAIR),
        lives=lives,
        offences=cut(
            "offences",
            lambda: checks.of_round(new_changes, changes=world.changes, array=array, applied=applied),
            when=[new_changes, array],
        ),
    )


@dataclass(frozen=True)
class Trees:
    """What stores see of the tree: properties, folders, replica lists."""

    tree: DataFrame
    folders: DataFrame
    lists: DataFrame


def _see(trees: Trees, learned: DataFrame, *, whole: DataFrame, stores: DataFrame, cut: Cut) -> tuple[Trees, Trees]:
    """The trees after hierarchy changes, and what changed of them: folders of `tree`, a store's whole `folders`, `lists`."""
    retold = cut("tree", lambda: hierarchy.merge(trees.tree, learned, whole=whole), when=[learned])
    tree = _take("tree", trees.tree, retold, cut)
    own = cut("tree", lambda: hierarchy.of_viewers(tree, retold), when=[retold])
    folders = cut("folders", lambda: hierarchy.folders(own), when=[own])
    lists = cut("lists", lambda: hierarchy.lists(own, folders=folders, stores=stores), when=[own])
    seen = Trees(
        tree,
        _take("folders", trees.folders, folders, cut, key=("org", "store")),
        _take("lists", trees.lists, lists, cut, key=("org", "store")),
    )
    return seen, Trees(retold, folders, lists)


def _take(name: str, view: DataFrame, changed: DataFrame, cut: Cut, key: Sequence[str] = HERE) -> DataFrame:
    """A view with the rows of every key that changed replaced."""
    return cut(f"view of {name}", lambda: hierarchy.amend(view, changed, key=key), when=[changed], otherwise=view)


def _of(rows: DataFrame, keys: DataFrame) -> DataFrame:
    """The rows of those folders (org, store, folder)."""
    return rows.join(keys.select(*HERE), list(HERE), "left_semi")


def _stack(*frames: DataFrame) -> DataFrame:
    return reduce(lambda above, below: above.unionByName(below, allowMissingColumns=True), frames)


def _distinct(key: Sequence[str], *frames: DataFrame) -> DataFrame:
    return _stack(*(frame.select(*key) for frame in frames)).distinct()
