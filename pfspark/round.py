"""A round: the one place where the rules meet.

`play` draws what becomes of the world as it is, for the organizations whose turn it is: the new rows of every table, and
the rows that change in the views the next round begins with. It reads and writes nothing, and asks Spark nothing: what it
gives is made by `execute`. It goes as the articles tell it: what arrives is accepted and sifted, the replication state table
learns, people's edits are taken in, holes are noted and asked for, questions are answered, what waits is packed, and all
messages leave together.

Rows of many stores stand in one frame: every join carries `org` and `store`, and only `arrive` moves a row from one store
to another. One rule looks over all stores, as the nightly maintenance may: `erase`, that no last copy goes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache, partial

from pyspark.sql import DataFrame

from pfspark.frame import phase, source
from pfspark.graph import picture as draw_picture
from pfspark.rules import (
    addressing,
    agenda,
    aging,
    backfill,
    folder_edits,
    hierarchy,
    intake,
    item_edits,
    items,
    packing,
    places,
    receipt,
    removal,
    sending,
    sources,
    state,
    status,
    transport,
    violations,
)
from pfspark.rules.frames import amend, append, dated, elsewhere, going, in_folders, in_ranges, keys_of, once, staying, together
from pfspark.tables import REPLACED
from pfspark.words import CARRYING, Entry, MessageType, Why
from pfspark.world import Results, Trees, World


def play(world: World, clock: DataFrame) -> Results:
    """One round: what becomes of `world`, which is every store's knowledge before it.

    `clock` has one row for each organization that plays: its time `now`, and its whole policy as columns
    (`tables.VIEWS["clock"]`). An organization without a row there gives no row anywhere.
    """
    due = calendar(world, clock)
    mail = arrive(world, clock)
    news = sift_hierarchy(world, mail, clock)
    inbox = accept(world, mail, news)
    standing = advance(world, news, inbox, clock)
    tree_edits = take_in_folders(world, news, standing, clock)
    steps = follow_lists(due, news, inbox, standing, tree_edits, clock)
    edits = take_in(world, news, inbox, standing, tree_edits, steps)
    dirty = look_at(due, news, inbox, edits)
    known = learn(world, inbox, standing, edits, dirty)
    gaps = note_and_ask(world, mail, known, edits, clock)
    cycle = keep_cycle(world, due, known, edits, dirty, clock)
    replies = answer(world, known, inbox, edits, cycle, clock)
    asked = inquire(world, mail, due, inbox, known, gaps, edits, dirty, clock)
    quiet = tell_unasked(due, known, edits, cycle, dirty, clock)
    packed = pack(world, known, edits, cycle, replies, clock)
    messages = address(world, known, gaps, edits, cycle, replies, asked, quiet, packed, clock)
    night = expire(world, due, known, edits, dirty, clock)
    entries = remind(world, known, gaps, edits, cycle, asked, quiet, night, dirty, clock)
    return Results(
        changes=edits.written,
        messages=messages,
        receipts=account_for(news, inbox, edits),
        state=record(known, edits, cycle, night, standing, clock),
        replicas=edits.steps,
        backfill=gaps.steps,
        agenda=entries,
        tree=edits.retold.tree,
        folders=edits.retold.folders,
        lists=edits.retold.lists,
        array=gaps.array,
        dirty=dirty,
        contacts=asked.contacts,
        lives=inbox.lives,
        violations=check(world, known, gaps, edits),
    )


@cache
def graph() -> Results:
    """The round, drawn once for all worlds: its inputs are the views of `World`, and `clock`, by name."""
    return play(World(**{each.name: source(each.name) for each in fields(World)}), source("clock"))


def picture() -> str:
    """The parts of a round and what follows from what, in the language of Mermaid."""
    outcome = graph()
    return draw_picture(getattr(outcome, each.name) for each in fields(Results))


@dataclass(frozen=True, kw_only=True)
class Due:
    """What is due now at stores that are up."""

    agenda: DataFrame
    """Their agenda, all of it."""
    entries: DataFrame
    """The entries whose time has come."""


@phase
def calendar(world: World, clock: DataFrame) -> Due:
    """Whoever is up looks into the agenda."""
    awake = agenda.awake(world.agenda, conditions=world.conditions)
    return Due(agenda=awake, entries=agenda.due(awake, clock=clock))


@dataclass(frozen=True, kw_only=True)
class Mail:
    """The mail of this round, and who was heard by it."""

    delivered: DataFrame
    """Messages that are due by now, a row for each recipient, those that were lost at its door too."""
    met: DataFrame
    """Contacts of those whom a recipient has heard now: rows that replace those of before."""
    contacts: DataFrame
    """Every store's contacts after this mail."""


@phase
def arrive(world: World, clock: DataFrame) -> Mail:
    """What is due by now is delivered, or lost at the door; whoever is heard is available from now on."""
    delivered = transport.arrive(world.mail, conditions=world.conditions, replicas=world.replicas, clock=clock)
    met = sources.hear(world.contacts, delivered=delivered)
    return Mail(delivered=delivered, met=met, contacts=_amend("contacts", world.contacts, met))


@dataclass(frozen=True, kw_only=True)
class News:
    """The hierarchy after this round's mail; and what stores held before it."""

    trees: Trees
    """What every store sees of the tree, after the mail."""
    changed: Trees
    """Of the trees the folders that the mail has changed."""
    applied: DataFrame
    """The numbers that stores held before the mail, of all folders."""
    empty: DataFrame
    """Of `applied` the numbers without content."""
    steps: DataFrame
    """Steps of replicas that the new lists cause."""
    replicas: DataFrame
    """All replicas, after `steps`."""


@phase
def sift_hierarchy(world: World, mail: Mail, clock: DataFrame) -> News:
    """The hierarchy first: what mail brings of it, and the tree that it gives."""
    own = state.own(world.state, replicas=world.replicas)
    applied = state.ranges_of(own, entry=Entry.APPLIED)
    carried = receipt.unpack(receipt.of_hierarchy(mail.delivered))
    sifted = once(receipt.sift(carried, applied=applied))
    versions = once(items.seen(in_ranges(world.changes, sifted), applied=sifted))
    trees, changed = _see(world.trees, versions, clock)
    steps = dated(hierarchy.stand(world.replicas, lists=changed.lists, folders=changed.folders), clock=clock)
    replicas = _amend("replicas", world.replicas, steps)
    empty = state.ranges_of(own, entry=Entry.EMPTY)
    return News(trees=trees, changed=changed, applied=applied, empty=empty, steps=steps, replicas=replicas)


@dataclass(frozen=True, kw_only=True)
class Inbox:
    """The mail of this round, after the verdict on it."""

    validated: DataFrame
    """All messages, with the reason where one is refused."""
    accepted: DataFrame
    """The messages that are not refused."""
    current: DataFrame
    """The accepted messages of replicas in the newest life their recipient knows."""
    lives: DataFrame
    """The newest life that each store has read of each peer's replica."""
    carried: DataFrame
    """The numbers that accepted messages bring."""
    in_hand: DataFrame
    """The numbers held before (`News.applied`), and those carried."""


@phase
def accept(world: World, mail: Mail, news: News) -> Inbox:
    """Content is accepted, or refused, against that tree."""
    validated = receipt.validate(mail.delivered, replicas=news.replicas, folders=news.trees.folders)
    accepted = receipt.accepted(validated)
    lives = state.read_lives(accepted, letters=world.letters, lives=world.lives)
    carried = receipt.unpack(receipt.of_types(accepted, types=CARRYING))
    in_hand = together(news.applied, state.numbers(carried))
    current = state.from_current_replicas(accepted, lives=lives)
    return Inbox(validated=validated, accepted=accepted, current=current, lives=lives, carried=carried, in_hand=in_hand)


@dataclass(frozen=True, kw_only=True)
class Standings:
    """How replicas stand before people's edits."""

    before_leaving: DataFrame
    """All replicas, before leavers whose content is safe go; new lives have begun."""
    replicas: DataFrame
    """All replicas, after these leavers have gone."""
    begun: DataFrame
    """Steps of replicas that begin new lives."""
    leaving: DataFrame
    """Steps of leavers."""
    carried_over: DataFrame
    """Rows of the state table that new lives take over from the lives before."""
    table: DataFrame
    """The state table with `carried_over`."""
    unlisted: DataFrame
    """Leavers whose list does not say that they leave: they say it anew."""
    called_again: DataFrame
    """Replicas that have gone, and that their list calls leavers again."""


@phase
def advance(world: World, news: News, inbox: Inbox, clock: DataFrame) -> Standings:
    """Replicas begin new lives, where numbers that they gave come back to them unknown; leavers whose content is safe
    elsewhere go."""
    forgotten = state.forgotten(inbox.accepted, letters=world.letters, applied=inbox.in_hand, replicas=news.replicas)
    begun = dated(forgotten, clock=clock)
    carried_over = state.carried_over(world.state, begun=begun)
    before_leaving = _amend("replicas", news.replicas, begun)
    told = receipt.of_types(inbox.current, types=(MessageType.STATUS,))
    acknowledged = removal.acknowledgements(told, letters=world.letters, replicas=before_leaving, clock=clock)
    unlisted = removal.unlisted(before_leaving, seen=news.changed.folders, tree=news.trees.tree)
    released = removal.advance(acknowledged, applied=inbox.in_hand, replicas=before_leaving, unlisted=unlisted)
    leaving = dated(released, clock=clock)
    return Standings(
        before_leaving=before_leaving,
        replicas=_amend("replicas", before_leaving, leaving),
        begun=begun,
        leaving=leaving,
        carried_over=carried_over,
        table=append(world.state, carried_over),
        unlisted=unlisted,
        called_again=removal.called_again(before_leaving, lists=news.changed.lists),
    )


@dataclass(frozen=True, kw_only=True)
class TreeEdits:
    """People's edits, those of the hierarchy carried out."""

    resolved: DataFrame
    """All edits of this round, with what they name."""
    verdicts: DataFrame
    """Edits of the hierarchy, numbered, or with the reason where one is refused."""
    entries: DataFrame
    """What edits of the hierarchy set in replica lists, by their places."""
    deleted: DataFrame
    """Folders that deletions take along, with the places of these."""
    changes: DataFrame
    """The changes that edits of the hierarchy become."""
    trees: Trees
    """What every store sees of the tree, after these changes."""
    changed: Trees
    """Of the trees the folders that these changes have changed."""


@phase
def take_in_folders(world: World, news: News, standing: Standings, clock: DataFrame) -> TreeEdits:
    """What people did to the hierarchy, and what leavers say of themselves."""
    names = intake.names(world.changes, edits=world.edits)
    received = intake.receive(
        world.edits,
        repeated=intake.repeated(world.edits), taken=world.taken, stores=world.stores, replicas=world.replicas,
        conditions=world.conditions, clock=clock,
    )  # fmt: skip
    resolved = intake.resolve(received, names=names)
    edits = together(intake.of_folders(resolved), *_say_by_themselves(news, standing, clock))
    verdicts, deleted = _validate_folders(edits, names, news, standing)
    changes = folder_edits.as_changes(verdicts)
    trees, changed = _see(news.trees, changes, clock)
    entries = folder_edits.entries(verdicts)
    return TreeEdits(
        resolved=resolved, verdicts=verdicts, entries=entries, deleted=deleted, changes=changes, trees=trees, changed=changed
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Steps:
    """How replicas stand after people's edits."""

    replicas: DataFrame
    """All replicas, after the last step of the round."""
    with_departing: DataFrame
    """`replicas`, with those that were let go in this round as they stood before: they answer and tell once more."""
    taken: DataFrame
    """All steps of the round."""


@phase
def follow_lists(due: Due, news: News, inbox: Inbox, standing: Standings, tree_edits: TreeEdits, clock: DataFrame) -> Steps:
    """Replicas follow their lists; whoever is still to be deleted after that, and whose night has come, is erased."""
    moves = hierarchy.stand(
        standing.replicas, lists=tree_edits.changed.lists, folders=tree_edits.changed.folders, entries=tree_edits.entries
    )
    last = dated(moves, clock=clock)
    stood = _amend("replicas", standing.replicas, last)
    tonight = agenda.of_kind(due.entries, why=Why.ERASE)
    erased = dated(removal.erase(stood, tonight=tonight, applied=inbox.in_hand, empty=news.empty), clock=clock)
    replicas = _amend("replicas", stood, erased)
    let_go = removal.let_go(standing.before_leaving, standing.leaving, replicas=replicas)
    taken = _amend("replicas", news.steps, standing.begun, standing.leaving, last, erased)
    return Steps(replicas=replicas, with_departing=_amend("replicas", replicas, let_go), taken=taken)


@dataclass(frozen=True, kw_only=True)
class Edits:
    """All that people did, and how the hierarchy and the replicas stand after it."""

    received: DataFrame
    """All edits of this round, with what they name."""
    of_folders: DataFrame
    """Edits of the hierarchy, numbered, or with the reason where one is refused."""
    of_items: DataFrame
    """Edits of items, numbered, or with the reason where one is refused."""
    issued: DataFrame
    """The numbers that replicas have given in this round."""
    written: DataFrame
    """The changes of these numbers."""
    trees: Trees
    """What every store sees of the tree, after all edits."""
    changed: Trees
    """Of the trees the folders that edits have changed."""
    retold: Trees
    """Of the trees the folders that this round has changed, by mail or by edits."""
    replicas: DataFrame
    """All replicas, after the last step of the round."""
    with_departing: DataFrame
    """See `Steps.with_departing`."""
    steps: DataFrame
    """All steps of the round."""


@phase
def take_in(world: World, news: News, inbox: Inbox, standing: Standings, tree_edits: TreeEdits, steps: Steps) -> Edits:
    """All that people did: to items against the tree and the standing as of their place among the edits."""
    edits = intake.of_items(tree_edits.resolved)
    of_items, item_changes = _take_in_items(edits, world, news, inbox, standing, tree_edits, steps)
    changes = append(tree_edits.changes, item_changes)
    retold = _amend("tree", news.changed.tree, tree_edits.changed.tree)
    return Edits(
        received=tree_edits.resolved, of_folders=tree_edits.verdicts, of_items=of_items,
        issued=intake.issued(changes), written=intake.as_changes(changes),
        trees=tree_edits.trees, changed=tree_edits.changed, retold=_both(news.changed, tree_edits.changed, retold),
        replicas=steps.replicas, with_departing=steps.with_departing, steps=steps.taken,
    )  # fmt: skip


def _say_by_themselves(news: News, standing: Standings, clock: DataFrame) -> tuple[DataFrame, DataFrame]:
    """What leavers say of themselves: that they leave, where their list does not know it, and that they are gone."""
    tree = news.trees.tree
    return (
        removal.say_leaving(standing.unlisted, tree=tree, clock=clock),
        removal.say_gone(standing.leaving, called_again=standing.called_again, tree=tree, clock=clock),
    )


def _validate_folders(edits: DataFrame, names: DataFrame, news: News, standing: Standings) -> tuple[DataFrame, DataFrame]:
    """Edits of the hierarchy with their verdicts, and the folders that deletions take along."""
    tree, folders, lists = news.trees.tree, news.trees.folders, news.trees.lists
    resolved = folder_edits.resolve(edits, names=names)
    deleting, reaching = places.deletions(resolved), places.reaching(places.placements(resolved), folders=folders)
    branches = places.branches(resolved, deleting=deleting, folders=folders, reaching=reaching)
    followed = places.follow(resolved, deleting=deleting, folders=folders, reaching=reaching, branches=branches)
    deleted, too_deep = places.deleted_with_parent(followed, branches=branches), places.too_deep(followed)
    validated = folder_edits.validate(resolved, folders=folders, lists=lists, tree=tree, deleted=deleted, too_deep=too_deep)
    last = intake.last_numbers(standing.replicas, applied=news.applied)
    written = folder_edits.record(folder_edits.number(validated, numbers=last), tree=tree)
    return folder_edits.verdicts(written, intake.refused(validated)), deleted


def _take_in_items(
    edits: DataFrame,
    world: World,
    news: News,
    inbox: Inbox,
    standing: Standings,
    tree_edits: TreeEdits,
    steps: Steps,
) -> tuple[DataFrame, DataFrame]:
    """Edits of items with their verdicts, and the changes that they make."""
    as_of = item_edits.as_of(edits, folder_edits=tree_edits.verdicts, entries=tree_edits.entries, deleted=tree_edits.deleted)
    place = partial(item_edits.validate_places, as_of=as_of, standing=standing.replicas, folders=news.trees.folders)
    changing = item_edits.changing(edits)
    lineage = items.made_upon(item_edits.edited(world.changes, changing), applied=inbox.in_hand, empty=news.empty)
    posted = place(item_edits.posted(edits))
    validated = together(posted, item_edits.validate(place(changing), posted=posted, lineage=lineage))
    last = intake.last_numbers(steps.replicas, applied=news.applied)
    numbered = item_edits.number(validated, replicas=steps.replicas, numbers=last)
    taken = item_edits.taken(numbered)
    posts, changes = item_edits.posted(taken), item_edits.changing(taken)
    written = together(item_edits.record_posts(posts, changing=changes), item_edits.record_changes(changes, posts=posts))
    return numbered, item_edits.as_changes(written)


@phase
def look_at(due: Due, news: News, inbox: Inbox, edits: Edits) -> DataFrame:
    """The folders that this round works on, one row each (org, store, folder): those with accepted mail, new numbers, a changed
    list, a step of the replica, or an entry of the agenda that is due. All others stay as they are."""
    return keys_of(
        receipt.recipients(inbox.accepted), edits.issued, news.changed.lists, edits.changed.lists, edits.steps, due.entries
    )


@dataclass(frozen=True, kw_only=True)
class Known:
    """What stores know of the folders looked at."""

    lists: DataFrame
    """The replica lists of these folders."""
    heard: DataFrame
    """Beliefs that are new with this round's mail."""
    current: DataFrame
    """What stores believe of others in the newest lives that they know."""
    claims: DataFrame
    """Those beliefs that say that a number is somewhere, or is settled without content."""
    coverage: DataFrame
    """The numbers of each folder in pieces, each with what covers it."""
    fresh: DataFrame
    """Numbers that came, and were not held."""
    settled: DataFrame
    """Numbers that came from nobody, and that others have settled without content."""
    returned: DataFrame
    """Own numbers that came back: they count as sent."""
    gained: DataFrame
    """`fresh`, `settled`, and the numbers given here."""
    held: DataFrame
    """All that is held now, the numbers gained among them."""
    applied: DataFrame
    """`held` as canonical ranges."""
    empty: DataFrame
    """Of `applied` the numbers without content."""
    sent: DataFrame
    """The numbers that stores have sent."""
    changed: DataFrame
    """Folders in which numbers came or were given."""


@phase
def learn(world: World, inbox: Inbox, standing: Standings, edits: Edits, dirty: DataFrame) -> Known:
    """What others hold is learned, and the numbers of each folder are laid beside what covers them."""
    table = once(in_folders(standing.table, dirty))
    own = once(state.own(table, replicas=edits.replicas))
    before = state.ranges_of(own, entry=Entry.APPLIED)
    beliefs = state.believed(table, replicas=edits.replicas)
    told = state.hear(inbox.current, letters=world.letters, believed=beliefs)
    heard = state.learn(told, believed=beliefs, lives=inbox.lives)
    believed = state.with_news(beliefs, heard)
    lists = once(in_folders(edits.trees.lists, dirty))
    claims = state.claims(believed, holders=status.holders(lists), lives=inbox.lives, stores=world.stores)
    array = in_folders(world.array, dirty)
    coverage = backfill.cover(before, inbox.carried, state.layers_of_claims(claims), array)
    fresh = backfill.fresh(coverage)
    settled = backfill.settle_empty(coverage, replicas=edits.with_departing)
    gained = state.gain(fresh, settled, edits.issued)
    held = together(before, gained)
    return Known(
        lists=lists,
        heard=heard,
        current=state.current_only(believed, lives=inbox.lives),
        claims=claims,
        coverage=coverage,
        fresh=fresh,
        settled=settled,
        returned=sending.returned(together(fresh, settled)),
        gained=gained,
        held=held,
        applied=state.canonical(held),
        empty=together(state.ranges_of(own, entry=Entry.EMPTY), settled),
        sent=state.ranges_of(own, entry=Entry.SENT),
        changed=keys_of(fresh, edits.issued),
    )


@dataclass(frozen=True, kw_only=True)
class Gaps:
    """What is missing, and what is done about it."""

    timed: DataFrame
    """The pieces of the backfill array that others claim, with the moment at which each is asked for."""
    asks: DataFrame
    """The pieces that are asked for now, and of whom."""
    array: DataFrame
    """The backfill array after that."""
    steps: DataFrame
    """What was noted in the array, and asked for: rows of `backfill`."""


@phase
def note_and_ask(world: World, mail: Mail, known: Known, edits: Edits, clock: DataFrame) -> Gaps:
    """Holes are noted; those whose time has come are asked for, each of its best source."""
    noted = backfill.note(backfill.missing(known.coverage), replicas=edits.replicas, clock=clock)
    timed = backfill.due(noted, clock=clock)
    asking = backfill.asked_now(timed)
    gives = sources.content(in_folders(known.claims, asking))
    ranked = sources.rank(
        in_folders(timed, asking), gives=gives, contacts=mail.contacts, stores=world.stores, links=world.links, clock=clock
    )
    chosen = sources.choose(asking, ranked=ranked, gives=gives)
    asks = backfill.retry(backfill.unless_suspended(chosen, lists=known.lists, clock=clock), clock=clock)
    steps = backfill.steps(noted, asks=asks, clock=clock)
    return Gaps(timed=timed, asks=asks, array=backfill.enter(noted, asks=asks), steps=steps)


@dataclass(frozen=True, kw_only=True)
class Cycle:
    """What is sent at this cycle, and what stores show of themselves meanwhile."""

    folders: DataFrame
    """Folders of which something waits, with when it goes."""
    sending: DataFrame
    """The numbers that go now."""
    shown: DataFrame
    """What a status tells as held: `Known.applied` without what waits on."""
    shown_empty: DataFrame
    """What a status tells as settled without content: `Known.empty` without what waits on."""
    shown_before: DataFrame
    """What a status told before this cycle: `Known.applied` without all that waits."""
    limits: DataFrame
    """Schedule, size limit and priority of folders that set them."""


@phase
def keep_cycle(world: World, due: Due, known: Known, edits: Edits, dirty: DataFrame, clock: DataFrame) -> Cycle:
    """What waits goes at its cycle; what does not go yet is not shown."""
    waiting = sending.waiting(known.held, sent=known.sent, returned=known.returned, replicas=edits.replicas)
    limits = sending.limits(hierarchy.properties(in_folders(edits.trees.tree, dirty), names=sending.LIMITS))
    folders = sending.cycle(
        waiting, agenda=due.agenda, replicas=edits.replicas, limits=limits, stores=world.stores, clock=clock
    )  # fmt: skip
    hidden = sending.hidden(waiting, staying=staying(folders), replicas=edits.replicas)
    unsent = sending.unsent(waiting, replicas=edits.replicas)
    return Cycle(
        folders=folders,
        sending=in_folders(waiting, going(folders)),
        shown=state.shown(known.applied, hidden=hidden),
        shown_empty=state.shown(known.empty, hidden=hidden),
        shown_before=state.shown(known.applied, hidden=unsent),
        limits=limits,
    )


@dataclass(frozen=True, kw_only=True)
class Replies:
    """What requests are answered with."""

    content: DataFrame
    """Numbers that were asked for, each with its asker."""
    status: DataFrame
    """Askers who are answered by status."""
    unserved: DataFrame
    """Askers of numbers that are not here: they get status in their place."""


@phase
def answer(world: World, known: Known, inbox: Inbox, edits: Edits, cycle: Cycle, clock: DataFrame) -> Replies:
    """Requests for content and for status are answered."""
    requests, questions = (
        status.answerable(receipt.of_types(inbox.current, types=(of_what,)), replicas=edits.with_departing)
        for of_what in (MessageType.BACKFILL_REQUEST, MessageType.STATUS_REQUEST)
    )
    content = backfill.answer(requests, applied=known.applied, empty=known.empty)
    told = status.answer(
        status.asked_for(questions, letters=world.letters),
        shown=cycle.shown_before, applied=known.applied, beliefs=known.current, replicas=edits.replicas, clock=clock,
    )  # fmt: skip
    unserved = backfill.unserved(requests, answers=content, told=told)
    return Replies(content=content, status=told, unserved=unserved)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Who is asked for status."""

    inquiries: DataFrame
    """Whom status requests go to, and when the next do."""
    contacts: DataFrame
    """Contacts that change: of those who were heard, and of those who were asked."""


@phase
def inquire(
    world: World,
    mail: Mail,
    due: Due,
    inbox: Inbox,
    known: Known,
    gaps: Gaps,
    edits: Edits,
    dirty: DataFrame,
    clock: DataFrame,
) -> Asked:
    """Status is asked for after a change of the own entry in a list, and again of those who stay silent."""
    begin = status.begin(edits.steps, again=agenda.of_kind(due.entries, why=Why.ASK), clock=clock)
    inquiring = in_folders(agenda.of_kind(due.agenda, why=Why.INQUIRE), dirty)
    responders = sources.responders(
        status.choosing(begin, replicas=edits.with_departing),
        holders=status.holders(known.lists), missing=in_folders(gaps.timed, begin),
        gives=sources.content(in_folders(known.claims, begin)), contacts=mail.contacts, tree=in_folders(edits.trees.tree, begin),
        stores=world.stores, links=world.links, clock=clock,
    )  # fmt: skip
    inquiries = status.inquire(
        begin=begin, responders=responders, inquiring=inquiring, accepted=inbox.accepted, current=inbox.current,
        replicas=edits.with_departing, lists=known.lists, stores=world.stores, clock=clock,
    )  # fmt: skip
    remembered = sources.remember(mail.contacts, asks=gaps.asks, responders=responders)
    return Asked(inquiries=inquiries, contacts=_amend("contacts", mail.met, remembered))


@dataclass(frozen=True, kw_only=True)
class Quiet:
    """Who tells status unasked."""

    folders: DataFrame
    """Folders that have been quiet for long enough."""
    repeats: DataFrame
    """Folders whose status is repeated, and when next."""
    telling: DataFrame
    """Folders whose status is told now, for either reason."""


@phase
def tell_unasked(due: Due, known: Known, edits: Edits, cycle: Cycle, dirty: DataFrame, clock: DataFrame) -> Quiet:
    """Status is told unasked when a folder has been quiet, and repeated while somebody lacks something."""
    unchanged = in_folders(elsewhere(dirty, known.changed), status.speakers(edits.replicas))
    behind = status.behind(
        in_folders(cycle.shown, unchanged), beliefs=known.current, peers=sending.recipients(known.lists)
    )  # fmt: skip
    noted, strokes = (in_folders(agenda.of_kind(due.agenda, why=why), dirty) for why in (Why.REPEAT, Why.STATUS))
    repeats = status.repeat(
        behind, noted, strokes=strokes, keys=dirty, changed=known.changed, policies=status.repeating(clock)
    )  # fmt: skip
    made = intake.of_people(edits.issued)
    quiet = status.fall_due(agenda.of_kind(due.entries, why=Why.STATUS), changed=together(known.fresh, made))
    speaking = in_folders(quiet, status.speakers(edits.with_departing))
    return Quiet(folders=quiet, repeats=repeats, telling=keys_of(speaking, going(repeats)))


@dataclass(frozen=True, kw_only=True)
class Packed:
    """What goes with content."""

    going: DataFrame
    """The numbers that go, each with its asker (null: to all holders)."""
    messages: DataFrame
    """They, packed under the size limit."""


@phase
def pack(world: World, known: Known, edits: Edits, cycle: Cycle, replies: Replies, clock: DataFrame) -> Packed:
    """What waits and goes at this cycle, and what was asked for, is packed."""
    going_now = once(together(replies.content, in_folders(cycle.sending, sending.recipients(known.lists))))
    changes = _changes(world, edits, going_now)
    revisions = together(
        sending.revisions(world.changes, items=changes), sending.revisions(sending.upon_others(edits.written), items=changes)
    )
    contents = state.contents(in_folders(known.applied, going_now), empty=known.empty)
    superseded = sending.superseded(revisions, ranges=going_now, changes=changes, contents=contents)
    updates = sending.updates(going_now, changes=changes, superseded=superseded, empty=known.empty)
    return Packed(going=going_now, messages=packing.pack(updates, stores=world.stores, limits=cycle.limits, clock=clock))


@phase
def address(
    world: World,
    known: Known,
    gaps: Gaps,
    edits: Edits,
    cycle: Cycle,
    replies: Replies,
    asked: Asked,
    quiet: Quiet,
    packed: Packed,
    clock: DataFrame,
) -> DataFrame:
    """Everything is addressed, with the sender's status in each message, and sent."""
    drafts = addressing.written(
        addressing.changes(packed.messages, recipients=sending.recipients(known.lists)),
        addressing.responses(packed.messages),
        addressing.requests(gaps.asks),
        addressing.answers(replies.status, replies.unserved),
        addressing.unasked(quiet.telling, recipients=status.holders(known.lists)),
        addressing.inquiries(asked.inquiries),
    )
    speaking = keys_of(packed.going, gaps.asks, replies.status, replies.unserved, quiet.telling, asked.inquiries)
    senders = addressing.senders(speaking, replicas=edits.replicas)
    says = state.tell(senders, shown=cycle.shown, empty=cycle.shown_empty, claims=known.claims, clock=clock)
    messages = addressing.address(
        drafts,
        status=says, limits=cycle.limits, replicas=edits.replicas, delays=addressing.delays(world.stores, world.links),
        conditions=world.conditions, clock=clock,
    )  # fmt: skip
    return transport.inject_faults(messages, faults=world.faults)


@dataclass(frozen=True, kw_only=True)
class Night:
    """What the nightly maintenance does."""

    limited: DataFrame
    """Replicas whose items grow old."""
    expired: DataFrame
    """The numbers that this night settles without content."""


@phase
def expire(world: World, due: Due, known: Known, edits: Edits, dirty: DataFrame, clock: DataFrame) -> Night:
    """Items that the nightly maintenance finds past their limit expire."""
    tree, replicas = in_folders(edits.trees.tree, dirty), in_folders(edits.replicas, dirty)
    limits = hierarchy.properties(tree, names=(aging.OWN_LIMIT,))
    limited = aging.limited(replicas, limits=limits, policies=aging.policies(clock))
    noted, due_now = (agenda.of_kind(entries, why=Why.EXPIRE) for entries in (due.agenda, due.entries))
    newly = aging.newly_limited(limited, noted=noted, before=in_folders(world.replicas, dirty), tonight=aging.tonight(clock))
    night = aging.at_night(limited, due=due_now, newly=newly, clock=clock)
    held = once(state.contents(in_folders(known.applied, night), empty=known.empty))
    changes = _changes(world, edits, held)
    versions = items.versions(items.seen(changes, applied=held))
    return Night(limited=limited, expired=aging.expire(versions, winners=items.readable(versions), night=night))


@phase
def remind(
    world: World,
    known: Known,
    gaps: Gaps,
    edits: Edits,
    cycle: Cycle,
    asked: Asked,
    quiet: Quiet,
    night: Night,
    dirty: DataFrame,
    clock: DataFrame,
) -> DataFrame:
    """The agenda of every folder looked at."""
    replicas = in_folders(edits.replicas, dirty)
    to_erase = agenda.to_erase(replicas)
    entries = together(
        agenda.entries(staying(cycle.folders), Why.SEND),
        agenda.entries(backfill.next_due(gaps.timed, asks=gaps.asks), Why.BACKFILL),
        agenda.entries(asked.inquiries, Why.INQUIRE),
        agenda.entries(status.restart_clock(known.changed, clock=clock), Why.STATUS),
        agenda.entries(quiet.repeats, Why.REPEAT),
        agenda.entries(agenda.maintenance(to_erase, clock=clock), Why.ERASE),
        agenda.entries(agenda.maintenance(night.limited, clock=clock), Why.EXPIRE),
    )
    wanted = elsewhere(entries, agenda.erased(replicas))
    anew = agenda.decided(dirty, quiet=quiet.folders, replicas=edits.replicas)
    return agenda.update(world.agenda, wanted=wanted, anew=anew, clock=clock)


@phase
def account_for(news: News, inbox: Inbox, edits: Edits) -> DataFrame:
    """What became of every message, and of every edit."""
    brought = receipt.sift_each(inbox.carried, applied=news.applied)
    of_edits = intake.receipts(edits.received, edits.of_folders, edits.of_items)
    return together(receipt.receipts(inbox.validated, news=brought), of_edits)


@phase
def record(known: Known, edits: Edits, cycle: Cycle, night: Night, standing: Standings, clock: DataFrame) -> DataFrame:
    """What stores have learned of themselves and of others."""
    return state.record(
        known.gained, cycle.sending, night.expired, together(known.heard, standing.carried_over),
        settled=known.settled, returned=known.returned, replicas=edits.replicas, clock=clock,
    )  # fmt: skip


@phase
def check(world: World, known: Known, gaps: Gaps, edits: Edits) -> DataFrame:
    """What may not become of a round."""
    before = violations.last_given(world.changes, issued=edits.issued)
    misnumbered = violations.misnumbered(edits.issued, last_given=before)
    return together(misnumbered, violations.noted_though_held(gaps.array, applied=known.applied))


def _see(trees: Trees, versions: DataFrame, clock: DataFrame) -> tuple[Trees, Trees]:
    """The trees after hierarchy changes, and what changed of them."""
    retold = hierarchy.merge(trees.tree, versions, whole=hierarchy.merging_whole(clock))
    tree = _amend("tree", trees.tree, retold)
    seen = hierarchy.folders(hierarchy.of_viewers(tree, retold))
    folders = hierarchy.changed(seen, before=trees.folders, retold=retold)
    changed = Trees(retold, folders, hierarchy.lists(in_folders(tree, folders), folders=folders))
    return _both(trees, changed, tree), changed


def _both(first: Trees, then: Trees, tree: DataFrame) -> Trees:
    """Trees, and what changed of them thereafter, of which the `tree` is known: a folder that changed and has no list now has
    none."""
    lists = append(elsewhere(first.lists, then.folders), then.lists)
    return Trees(tree, _amend("folders", first.folders, then.folders), lists)


def _changes(world: World, edits: Edits, ranges: DataFrame) -> DataFrame:
    """The changes of those numbers, and all that this round makes."""
    return together(in_ranges(world.changes, ranges), edits.written)


def _amend(name: str, view: DataFrame, *changed: DataFrame) -> DataFrame:
    """A view with the rows of every key that changed replaced, by what changed last."""
    for rows in changed:
        view = amend(view, rows, key=REPLACED[name])
    return view
