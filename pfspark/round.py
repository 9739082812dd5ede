"""A round: the one place where the rules meet.

`play` takes the world as it is and the organizations whose turn it is, and gives the new rows of every table, together
with the rows that change in the views the next round begins with. It reads and writes nothing. It goes as the articles
tell it: what arrives is let in and sifted, the replication state table learns, people's edits are taken in, holes are
noted and asked for, questions are answered, what waits is packed, and all letters leave together.

Rows of many stores stand in one frame: every join carries `org` and `store`, and only `arrive` moves a row from one store
to another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.rules import (
    addressing,
    agenda,
    backfill,
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
from pfspark.words import CARRYING, HIERARCHY, Entry, Flag, MessageType, Standing, Why

HERE = ("org", "store", "folder")
LINE = (*HERE, "origin")
RANGES = (*LINE, "cn_min", "cn_max")

Cut = Callable[[str, DataFrame], DataFrame]
"""Ends a plan: the same rows as a frame that is not computed again. The identity is a correct cut."""


@dataclass(frozen=True)
class World:
    """What a round is given: the directory, the edits to come, and every store's knowledge (`tables.EVERY`)."""

    stores: DataFrame
    links: DataFrame
    conditions: DataFrame
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


def play(world: World, turns: DataFrame, cut: Cut) -> Outcome:
    """One round of the organizations in `turns`, each at its own time."""
    clock = turns.select("org", F.col("now").alias("at"))
    names = world.changes.where("edit_id is not null").select("org", "edit_id", "object")
    directory = {"stores": world.stores, "links": world.links}

    # Arrive: what is due by now reaches its recipient, or is lost at the door.
    reached = cut("arrivals", transport.arrive(world.mail, conditions=world.conditions, turns=turns))
    delivered = reached.where("lost is null")

    # Sift the hierarchy first, and see the tree it gives.
    held = state.own(world.state, replicas=world.replicas)
    hierarchy_held = held.where((F.col("entry") == Entry.APPLIED) & (F.col("folder") == HIERARCHY))
    hierarchy_mail = receipt.unpack(delivered.where((F.col("folder") == HIERARCHY) & F.col("type").isin(*CARRYING)))
    told = cut("told", items.seen(world.changes, applied=receipt.sift(hierarchy_mail, applied=hierarchy_held)))
    was = Trees(world.tree, world.folders, world.lists)
    arrived, on_arrival = _see(was, told, stores=world.stores, cut=cut)
    first_steps = cut(
        "steps", hierarchy.stand(world.replicas, lists=on_arrival.lists, folders=on_arrival.folders).join(clock, "org")
    )
    replicas = hierarchy.amend(world.replicas, first_steps, key=HERE)

    # Let content in, or refuse it, against that tree. Leavers whose content is safe elsewhere are gone.
    judged = cut("judged", receipt.judge(reached, replicas=replicas, folders=arrived.folders))
    let_in = judged.where("lost is null and reason is null")
    carried = receipt.unpack(let_in.where(F.col("type").isin(*CARRYING)))
    in_hand = state.own(world.state, replicas=replicas).where(F.col("entry") == Entry.APPLIED).select(*RANGES)
    leaving = removal.advance(let_in, applied=in_hand.unionByName(carried.select(*RANGES)), replicas=replicas)
    erased = removal.erase(replicas, agenda=world.agenda, turns=turns)
    leaving = cut("leaving", leaving.unionByName(erased).join(clock, "org"))
    replicas = hierarchy.amend(replicas, leaving, key=HERE)

    # Take in edits: folders first, then items against the tree and standing as of their place.
    numbers = intake.last_numbers(replicas, applied=in_hand)
    received = intake.receive(
        world.edits, taken=world.taken, stores=world.stores, conditions=world.conditions, turns=turns
    )
    edits = cut("edits", intake.resolve_items(received, names=names))
    gone = removal.say_gone(leaving, tree=arrived.tree, turns=turns)
    folder_edits = cut(
        "folder edits",
        intake.take_in_folders(
            edits.unionByName(gone, allowMissingColumns=True),
            tree=arrived.tree,
            folders=arrived.folders,
            lists=arrived.lists,
            names=names,
            numbers=numbers,
            turns=turns,
        ),
    )
    folder_changes = intake.as_folder_changes(folder_edits)
    seen, by_edits = _see(arrived, folder_changes, stores=world.stores, cut=cut)
    standing = replicas
    last_steps = cut(
        "last steps", hierarchy.stand(replicas, lists=by_edits.lists, folders=by_edits.folders).join(clock, "org")
    )
    replicas = hierarchy.amend(replicas, last_steps, key=HERE)
    edited = items.seen(
        world.changes.join(
            edits.select("org", "folder", F.col("item").alias("object")).distinct(),
            ["org", "folder", "object"],
            "left_semi",
        ),
        applied=in_hand,
    )
    item_edits = cut(
        "item edits",
        intake.take_in_items(
            edits,
            replicas=replicas,
            standing=standing,
            folders=arrived.folders,
            folder_edits=folder_edits,
            lineage=items.lineage(items.versions(edited)),
            numbers=intake.last_numbers(replicas, applied=in_hand),
        ),
    )
    new_changes = folder_changes.unionByName(intake.as_item_changes(item_edits))
    changes = world.changes.unionByName(new_changes.drop("store"))

    # What must be looked at: folders with mail, edits, changes of their list, or an entry of the agenda that is due.
    steps = hierarchy.amend(hierarchy.amend(first_steps, leaving, key=HERE), last_steps, key=HERE)
    due_agenda = world.agenda.join(clock, "org").where("due <= at")
    touched = cut(
        "touched",
        _distinct(
            HERE,
            let_in.select("org", F.col("recipient").alias("store"), "folder"),
            new_changes,
            on_arrival.lists,
            by_edits.lists,
            due_agenda,
            steps,
        ),
    )
    table = cut("table", world.state.join(touched, list(HERE), "left_semi"))
    mine = state.own(table, replicas=replicas)
    beliefs = state.believed(table, replicas=replicas)
    lives = cut("lives", state.read_lives(let_in, lives=world.lives))
    lists = cut("replica lists", seen.lists.join(touched, list(HERE), "left_semi"))

    # Learn what others hold, and draw the number line of every folder looked at.
    news = cut("news", state.learn(let_in, believed=beliefs, lives=lives))
    believed = beliefs.select(*news.columns).unionByName(news)
    claims = cut("claims", state.claims(believed, lists=lists, lives=lives, stores=world.stores))
    line = cut(
        "line",
        cnset.line(
            LINE,
            mine.where(F.col("entry") == Entry.APPLIED).select(*RANGES, F.lit(1).alias("applied")),
            carried.select(*RANGES, F.lit(1).alias("arriving")),
            state.layers_of_claims(claims),
            backfill.layer(world.array.join(touched, list(HERE), "left_semi")),
        ),
    )
    fresh = line.where("applied = 0 and arriving > 0").select(*RANGES)
    settled = backfill.settle_empty(line).select(*RANGES)
    issued = new_changes.groupBy(*LINE).agg(F.min("cn").alias("cn_min"), F.max("cn").alias("cn_max")).select(*RANGES)
    gained = cut("gained", fresh.unionByName(settled).unionByName(issued))
    applied = cut(
        "applied",
        cnset.canonical(mine.where(F.col("entry") == Entry.APPLIED).select(*RANGES).unionByName(gained), LINE),
    )
    empty = mine.where(F.col("entry") == Entry.EMPTY).select(*RANGES).unionByName(settled)

    # Note holes; ask for those whose time has come, each of its best source.
    noted = cut("array", backfill.note(line, turns=turns))
    due = backfill.due(noted, turns=turns)
    asking = cut("due", backfill.asked_now(due))
    open_there = noted.where("claimed > 0").join(asking.select(*HERE).distinct(), list(HERE), "left_semi")
    gives = cut("gives", sources.content(claims.join(asking.select(*HERE).distinct(), list(HERE), "left_semi")))
    ranked = cut("sources", sources.rank(open_there, gives=gives, contacts=world.contacts, turns=turns, **directory))
    asks = cut("asks", backfill.retry(sources.choose(asking, ranked=ranked, gives=gives), turns=turns))
    array = backfill.enter(noted, asks=asks)

    # What waits goes at its cycle; what does not go yet is not shown.
    sent = mine.where(F.col("entry") == Entry.SENT).select(*RANGES).unionByName(fresh)
    waiting = cut("waiting", packing.waiting(applied, sent=sent, replicas=replicas))
    limits = packing.limits(seen.tree.join(touched, list(HERE), "left_semi"))
    cycle = cut(
        "cycle",
        packing.cycle(waiting, agenda=world.agenda, replicas=replicas, limits=limits, stores=world.stores, turns=turns),
    )
    sending = waiting.join(cycle.where("goes").select(*HERE), list(HERE), "left_semi")
    leavers = replicas.where(F.col("standing") == Standing.DELETE_PENDING)
    hidden = waiting.join(cycle.where("not goes").select(*HERE), list(HERE), "left_semi").join(
        leavers, list(HERE), "left_anti"
    )
    shown = cut("shown", state.shown(applied, hidden=hidden))
    recipients = packing.recipients(lists)

    # Answer requests for content and for status.
    answers = cut("answers", backfill.answer(let_in, shown=shown))
    load = packing.updates(
        _stack(answers, sending.join(recipients, list(HERE), "left_semi")), changes=changes, applied=applied
    )
    packed = cut("packed", packing.pack(load, stores=world.stores, limits=limits, turns=turns))
    requests = status.asked_for(let_in)
    answered = status.answer(requests, shown=shown, applied=applied, beliefs=believed, replicas=replicas, turns=turns)
    nothing_to_give = _askers(let_in).join(
        answers.select(*HERE, F.col("asker").alias("peer")).distinct(), [*HERE, "peer"], "left_anti"
    )
    silent_otherwise = nothing_to_give.join(answered.select(*HERE, "peer"), [*HERE, "peer"], "left_anti")

    # Inquire, and tell unasked: status requests after a change of the own entry, status when the folder has been quiet.
    inquiries = cut(
        "inquiries",
        status.inquire(
            steps=steps,
            agenda=world.agenda.join(touched, list(HERE), "left_semi"),
            heard=status.heard(let_in),
            replicas=replicas,
            lists=lists,
            stores=world.stores,
            turns=turns,
        ),
    )
    quiet = cut("quiet", status.fall_due(world.agenda, replicas=replicas, turns=turns))
    changed = fresh.unionByName(issued).select(*HERE).distinct()

    # Address everything, with the sender's status in each.
    one = F.array("peer").alias("peers")
    own_changes = packed.where("asker is null")
    responses = packed.where("asker is not null").withColumn("peers", F.array("asker"))
    in_hierarchy = F.col("folder") == HIERARCHY
    asking_for = asks.groupBy(*HERE, "peer").agg(
        F.array_sort(F.collect_list(F.struct("origin", "cn_min", "cn_max"))).alias("asks")
    )
    inquired = inquiries.where("asks").groupBy(*HERE, "leaver").agg(F.array_sort(F.collect_set("peer")).alias("peers"))
    leaver = F.when(F.col("leaver"), F.array(F.lit(str(Flag.DELETE_PENDING)))).otherwise(
        F.array().cast("array<string>")
    )
    letters = _stack(
        addressing.letters(
            addressing.to_all(own_changes.where(in_hierarchy), recipients=recipients), type=MessageType.HIERARCHY
        ),
        addressing.letters(
            addressing.to_all(own_changes.where(~in_hierarchy), recipients=recipients), type=MessageType.CONTENT
        ),
        addressing.letters(asking_for.select(*HERE, one, "asks"), type=MessageType.BACKFILL_REQUEST),
        addressing.letters(responses.where(in_hierarchy), type=MessageType.HIERARCHY_RESPONSE),
        addressing.letters(responses.where(~in_hierarchy), type=MessageType.CONTENT_RESPONSE),
        addressing.letters(answered.select(*HERE, one, "flags"), type=MessageType.STATUS),
        addressing.letters(silent_otherwise.select(*HERE, one), type=MessageType.STATUS),
        addressing.letters(addressing.to_all(quiet, recipients=recipients), type=MessageType.STATUS),
        addressing.letters(
            inquired.select(*HERE, "peers", F.col("peers").alias("responders"), leaver.alias("flags")),
            type=MessageType.STATUS_REQUEST,
        ),
    )
    outgoing = cut("letters", letters)
    speaking = (
        outgoing.select(*HERE)
        .distinct()
        .join(replicas.select(*HERE, cnset.label_of("store", "life").alias("sender")), list(HERE))
    )
    said = state.tell(
        speaking, shown=shown, empty=empty, beliefs=state.current_only(believed, lives=lives), turns=turns
    )
    messages = cut(
        "messages",
        addressing.address(
            outgoing, status=said, replicas=replicas, conditions=world.conditions, turns=turns, **directory
        ),
    )

    # The agenda of every folder looked at.
    undue = due.where("due > now").unionByName(asks.select(*asks.columns), allowMissingColumns=True)
    behind = status.behind(shown, beliefs=believed, peers=recipients)
    looked_at = touched.join(turns.select("org"), "org", "left_semi")
    wanted = _stack(
        agenda.entries(cycle.where("not goes"), Why.SEND),
        agenda.entries(backfill.next_due(undue), Why.BACKFILL),
        agenda.entries(inquiries, Why.INQUIRE),
        agenda.entries(status.restart_clock(changed, turns=turns), Why.STATUS),
        agenda.entries(
            status.repeat(behind, keys=looked_at, agenda=world.agenda, changed=changed, turns=turns), Why.REPEAT
        ),
        agenda.entries(agenda.maintenance(replicas, turns=turns), Why.ERASE),
    )
    decided = _decided(touched, quiet, replicas)
    entries = agenda.update(world.agenda, wanted=wanted, anew=decided).join(clock, "org")

    per_message = receipt.sift(carried, applied=in_hand, keys=(*LINE, "message_id"))
    verdicts = _stack(edits.where("reason is not null"), folder_edits.where("decided is null"), item_edits)
    return Outcome(
        changes=new_changes.drop("store"),
        messages=messages,
        receipts=receipt.receipts(judged, news=per_message).unionByName(intake.receipts(verdicts)),
        state=_stack(
            state.record(gained, Entry.APPLIED, replicas=replicas, turns=turns),
            state.record(settled, Entry.EMPTY, replicas=replicas, turns=turns),
            state.record(
                sending.unionByName(fresh.where(cnset.store_of("origin") == F.col("store"))),
                Entry.SENT,
                replicas=replicas,
                turns=turns,
            ),
            news.join(clock, "org"),
        ),
        replicas=steps,
        backfill=backfill.steps(noted, asks=asks, turns=turns),
        agenda=entries,
        tree=hierarchy.amend(on_arrival.tree, by_edits.tree, key=HERE),
        folders=hierarchy.amend(on_arrival.folders, by_edits.folders, key=("org", "store")),
        lists=hierarchy.amend(on_arrival.lists, by_edits.lists, key=("org", "store")),
        array=array,
        touched=touched,
        contacts=sources.remember(world.contacts, delivered=delivered, asks=asks, carrying=CARRYING),
        lives=lives,
    )


@dataclass(frozen=True)
class Trees:
    """What stores see of the tree: properties, folders, replica lists."""

    tree: DataFrame
    folders: DataFrame
    lists: DataFrame


def _see(trees: Trees, learned: DataFrame, *, stores: DataFrame, cut: Cut) -> tuple[Trees, Trees]:
    """The trees after hierarchy changes, and what changed of them: folders of `tree`, all of a store's `folders` and `lists`."""
    retold = cut("tree", hierarchy.merge(trees.tree, learned))
    tree = hierarchy.amend(trees.tree, retold, key=HERE)
    viewers = retold.select("org", "store").distinct()
    own = tree.join(viewers, ["org", "store"], "left_semi")
    folders = cut("folders", hierarchy.folders(own))
    lists = cut("lists", hierarchy.lists(own, folders=folders, stores=stores))
    changed = Trees(retold, folders, lists)
    whole = ("org", "store")
    seen = Trees(
        tree, hierarchy.amend(trees.folders, folders, key=whole), hierarchy.amend(trees.lists, lists, key=whole)
    )
    return seen, changed


def _stack(*frames: DataFrame) -> DataFrame:
    return reduce(lambda above, below: above.unionByName(below, allowMissingColumns=True), frames)


def _distinct(key: Sequence[str], *frames: DataFrame) -> DataFrame:
    return reduce(DataFrame.unionByName, [frame.select(*key) for frame in frames]).distinct()


def _decided(touched: DataFrame, quiet: DataFrame, replicas: DataFrame) -> DataFrame:
    """The entries of the agenda that a round decides as a whole: what it recomputes, what just happened, what is over."""

    def all_of(keys: DataFrame, *whys: Why) -> DataFrame:
        return keys.select(*HERE, F.explode(F.array(*[F.lit(str(why)) for why in whys])).alias("why"))

    over = replicas.where(F.col("standing") == Standing.ERASED)
    return _stack(all_of(touched, Why.SEND, Why.BACKFILL, Why.ERASE), all_of(quiet, Why.STATUS), all_of(over, *Why))


def _askers(delivered: DataFrame) -> DataFrame:
    """Who asked for missing changes: org, store, folder, peer."""
    asked = delivered.where(F.col("type") == MessageType.BACKFILL_REQUEST)
    return asked.select("org", F.col("recipient").alias("store"), "folder", F.col("store").alias("peer")).distinct()
