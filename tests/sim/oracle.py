"""The rules again, in plain Python sets: what the Spark engine must say, cell by cell.

Written from the articles, the rule book and the contracts, and knows nothing of the engine. A set of change numbers is
a frozenset of `(origin label, cn)`; a round is a method per step; every store acts only on what it holds itself and on
the messages that reached it. Clarity over speed: an organization of a few stores and some thousand numbers.

    lines = play(scenario)

Readings, where the texts are silent:

- Reaching: a store is cut or down for a message in the round that would receive it, and for one it sends in the round
  that sends it. A number is due at a slot of its store's cycle, whatever round looks at it first; schedule, list and
  suspension are decided in that round.
- Holders of a folder are its list and the leavers not yet gone. 0x4 and delete-pending requests go to the list, 0x10
  unasked and 0x20 to all holders (the responders are named inside); a repeated request goes to the silent only.
- A leaver that has its proof in a round asks for nothing more in that round. Any replica that was active when it
  answered can prove; numbers that are settled without content in that round need no proof. An answer proves in the
  round in which it is heard: between them, several hold all by what they answer in one, and who may not go then asks anew.
- Folders choose side by side: who was asked last is what was known before the round, in all of them.
- Of a holder of whom nothing is believed a message relays nothing, not even its life.
- Under a schedule of Never a number waits for no slot; once there are slots, it counts as taken in then.
- One 0x10 answers a store about a folder in a round, however often it asked. Who has no live replica answers nothing.
- A message about a folder without a live replica here is a `refused` line if it carries content; else it passes.
- Missing numbers that every holder who has them holds empty are settled at once, without a request.
- A leaver having a piece shortens only its first wait (5 minutes from when it was heard of).
- A source becomes unavailable when the first retry time-out of anything asked of it, in any folder, has passed since
  it was last heard.
- Full match, and amount, are of the whole open array; only the pieces that are due are asked for.
- A delete-pending request repeats: to the silent at the backfill time-outs, to who answered but lacks something
  `delete_pending_timeout` after that answer (D7 back to D5); of who is off the list it asks nothing, of who is on it
  again it asks anew. A replica that is itself leaving answers it plainly.
- Back on the list before erasure: active in the same life, and it asks for status. Delete now accepts nothing and
  answers nothing.
- A deleted folder's replicas are erased at once: nothing of them is preserved.
- Erasure looks whether active and delete-pending replicas elsewhere hold what is not empty here.
- `gone` beats whatever the object says of that replica before its stamp, whichever change it is read in. Where nothing
  but automatic changes is held of a folder, the newest of them is its object. A list without
  anyone keeps, among the removed before the gone, the one with the highest stamp.
- A delete-pending replica that its list does not call removed (the whole object overruled it, or it was restored from
  before it was gone) says so itself by an automatic change, before the edits of its round: else nobody would take it
  for a holder.
- Suspension does not hold back what a delete-pending replica sends, nor what is asked of a leaver: of one that was so
  when the round began, as requests wait at the door. It holds back what a leaver asks of who stays. What waits at the
  door of a store that is cut or down is lost.
- What seems to lack something at a start is what did so before the mail of that round.
- A leaver that starts again asks those who stay again, where its policy asks at a start. While it waits to be erased, the
  unasked status that falls due, and the repeats, are not told, and not made up for.
- A repeat of status goes to all holders; it is armed whenever a listed replica is believed to lack what is shown here
  and no timer runs.
- An item expires whole, by the time of its winner; deletions never do. Maintenance ends a round; one missed by a store
  that is down is made up when it is up, of folders that had a limit by then; a limit that comes in the round of the night
  counts. The first night of a replica is the next after it begins.
- Conflict: more than one undominated version, deletions included; under conflict method 1 the flag is off, the losers
  are listed all the same.
- Text of properties: sizes in bytes, durations as `2d`, `none`, `deleted` = `true`; the root is the empty parent.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from pfspark import cntext
from pfspark.cntext import label
from pfspark.errors import UsageError
from pfspark.schedules import Schedule, parse_schedule, show_schedule
from pfspark.sim.scenario import Scenario
from pfspark.sim.steps import Step
from pfspark.units import parse_duration, show_duration
from pfspark.words import (
    CARRYING,
    DELETED,
    HIERARCHY,
    LARGEST,
    LEVELS,
    LIVE,
    LONGEST_S,
    NAME,
    PARENT,
    PRIORITIES,
    REPLICA,
    ROOT,
    Action,
    Flag,
    Listing,
    MessageType,
    Reason,
    Standing,
)

Line = dict[str, Any]
Number = tuple[str, int]
Numbers = frozenset[Number]
Claims = dict[str, tuple[Numbers, Numbers]]  # label -> what it holds, and what of that is empty
Stamp = tuple[datetime, tuple[bytes, int], int]
Properties = dict[str, tuple[str, Stamp]]

NONE: Numbers = frozenset()
TICK = timedelta(microseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ORDER = tuple(MessageType(code) for code in ("0x2", "0x4", "0x8", "0x80000002", "0x80000004", "0x10", "0x20"))
REPEATS = 3  # of an ordinary status request (design: status requests)
label_key, split_label = cache(cntext.label_key), cache(cntext.split_label)


def play(scenario: Scenario) -> Iterator[Line]:
    """The JSON lines of one organization, in order of time."""
    world = World(scenario)
    steps = list(scenario.steps)
    for time in rounds(scenario):
        due = [step for step in steps if step.at <= time]
        del steps[: len(due)]
        yield from world.round(time, due)
    yield world.end()


def rounds(scenario: Scenario) -> Iterator[datetime]:
    """The moments of the rounds: start + k × interval, the last one not after the end."""
    moment = scenario.start
    while moment <= scenario.end:
        yield moment
        moment += scenario.interval


# --- what is held -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Change:
    """A numbered change of an item, or of a folder (R26-R32)."""

    folder: str
    number: Number
    object: str
    action: Action
    made_at: datetime
    size: int = 0
    predecessors: Mapping[str, int] = field(default_factory=dict)
    properties: Properties = field(default_factory=dict)
    automatic: bool = False

    @property
    def stamp(self) -> Stamp:
        return self.made_at, label_key(self.number[0]), self.number[1]

    def covers(self, other: Change) -> bool:
        """Whether this change was made upon the other, or upon what covers it (F27)."""
        return self.predecessors.get(other.number[0], 0) >= other.number[1]


@dataclass(eq=False)
class Message:
    """A replication message; every one carries the sender's state (R48)."""

    type: MessageType
    folder: str
    to: tuple[str, ...]
    carries: Numbers = NONE
    asks: Numbers = NONE
    responders: tuple[str, ...] = ()
    flags: frozenset[Flag] = frozenset()
    bytes: int = 0
    nth: int = 0  # among those of one sender, moment, folder and type
    sender: str = ""
    label: str = ""
    at: datetime = datetime.min
    status: Claims = field(default_factory=dict)


@dataclass
class Entry:
    """A missing number in the backfill array: since when, and when and how often asked for."""

    heard: datetime
    attempt: int = 0
    asked: datetime | None = None


@dataclass
class Inquiry:
    """A status request that waits for one responder."""

    asked: datetime
    times: int = 1
    answered: datetime | None = None


@dataclass
class Contact:
    """What one store remembers of another; times of what it heard survive a restore, those of what it asked do not."""

    heard: datetime | None = None
    active: bool = False  # has sent changes (R123)
    asked: datetime | None = None  # last backfilled from (R108)
    asked_before: datetime | None = None  # the same, before this round: folders choose side by side
    since: datetime | None = None  # first request that has met silence
    silent: datetime | None = None  # when that silence makes it unavailable (R105)

    @property
    def waits(self) -> bool:
        return self.since is not None and (self.heard is None or self.heard <= self.since)


@dataclass
class Replica:
    """A store's copy of a folder, its row of the state table, its array and its timers (R7, R79-R84).

    What older lives of others reported is kept and never looked at.
    """

    label: str
    standing: Standing = Standing.ACTIVE
    before: Standing = Standing.ERASED  # as it stood when the round began
    issued: int = 0
    applied: Numbers = NONE
    empty: Numbers = NONE
    sent: Numbers = NONE
    taken: dict[Number, datetime] = field(default_factory=dict)
    reported: Claims = field(default_factory=dict)
    lives: dict[str, int] = field(default_factory=dict)
    array: dict[Number, Entry] = field(default_factory=dict)
    asking: str = ""  # responders option of a status request that must go
    inquiries: dict[str, Inquiry] = field(default_factory=dict)
    leaving_since: datetime | None = None
    answers: dict[str, tuple[str, Numbers, datetime]] = field(default_factory=dict)
    status_due: datetime | None = None
    proven: bool = False  # a leaver's content is safe elsewhere
    called: datetime | None = None
    gone_since: datetime | None = None
    repeat_due: datetime | None = None
    repeat_wait: timedelta = timedelta(0)
    limited: bool = False  # whether its items grew old when the store played last

    @property
    def life(self) -> int:
        return split_label(self.label)[1]

    @property
    def live(self) -> bool:
        return self.standing in LIVE

    def own(self, numbers: Numbers) -> Numbers:
        """Those that this store's replica issued, in whatever life."""
        store = split_label(self.label)[0]
        return frozenset(number for number in numbers if split_label(number[0])[0] == store)

    @property
    def unsent(self) -> Numbers:
        """Own numbers that no message has carried yet (R80)."""
        return self.own(self.applied - self.sent)

    @property
    def shown(self) -> Numbers:
        """What the replica shows of itself (F60); a leaver shows all."""
        return self.applied - self.unsent if self.standing == Standing.ACTIVE else self.applied

    def give_up(self) -> None:
        """Delete now (D8): it waits for the maintenance and asks for nothing."""
        self.standing = Standing.DELETE_NOW
        self.array, self.inquiries, self.repeat_due = {}, {}, None

    def current(self, name: str) -> str:
        """The label of another store's replica in the latest life known here."""
        return label(name, self.lives.get(name, 1))

    def belief(self, name: str) -> tuple[Numbers, Numbers]:
        return self.reported.get(self.current(name), (NONE, NONE))

    def can_give(self, name: str) -> Numbers:
        held, empty = self.belief(name)
        return held - empty


@dataclass(frozen=True)
class Seen:
    """A folder as one store sees it."""

    properties: Properties
    listing: dict[str, Listing]
    path: str
    deleted: bool

    def text(self, name: str) -> str | None:
        return self.properties[name][0] if name in self.properties else None


@dataclass
class Server:
    """A store: its replicas, the tree it sees, and what it remembers."""

    name: str
    replicas: dict[str, Replica] = field(default_factory=dict)
    contacts: dict[str, Contact] = field(default_factory=lambda: defaultdict(Contact))
    tree: dict[str, Seen] = field(default_factory=dict)
    edits: list[Step] = field(default_factory=list)
    mail: list[Message] = field(default_factory=list)
    drafts: list[Message] = field(default_factory=list)
    maintained: datetime = datetime.min
    cut: bool = False
    down: bool = False
    started: bool = False

    def live(self) -> list[tuple[str, Replica]]:
        return [(folder, replica) for folder, replica in self.replicas.items() if replica.live]

    def rows(self) -> tuple[Any, ...]:
        """What a restore takes back."""
        return deepcopy((self.replicas, self.contacts))


class Refused(Exception):
    """An edit that the rules refuse."""


# --- the organization -------------------------------------------------------------------------------------------------


class World:
    """One organization: a method for each step of a round."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.policy = scenario.policy
        self.now = self.time = scenario.start  # by the organization's clock, and as the scenario counts it
        self.wrong = timedelta(0)
        self.rounds = 0
        self.suspended = False
        self.directory = {store.name: store for store in scenario.stores}
        self.links = {(link.from_site, link.to_site): link for link in scenario.links}
        self.servers = {name: Server(name) for name in sorted(self.directory, key=str.encode)}
        self.changes: dict[tuple[str, Number], Change] = {}
        self.versions: dict[tuple[str, str], list[Change]] = defaultdict(list)
        self.trees: dict[Numbers, dict[str, Seen]] = {}
        self.names: dict[tuple[str, str], str] = {}
        self.made: dict[int, str] = {}  # step -> id of the folder or item it made
        self.highest: dict[tuple[str, str], int] = {}  # (store, folder) -> highest life ever
        self.automatic: set[Stamp] = set()
        self.flight: list[tuple[datetime, str, Message]] = []
        self.kept: dict[int, tuple[Any, ...]] = {}  # restore step -> the store's rows to go back to
        self.lines: list[Line] = []
        self._found()

    def _found(self) -> None:
        """The first state: everybody has everything, has sent it, and knows it of everybody."""
        first = self.scenario.stores[0].name
        ids = {folder.path: f"{first}:{place}" for place, folder in enumerate(self.scenario.folders, 1)}
        for place, folder in enumerate(self.scenario.folders, 1):
            parent, _, name = folder.path.rpartition("/")
            values = {NAME: name, PARENT: ids.get(parent, ROOT), **folder.properties}
            values |= {REPLICA + store: Listing.LISTED for store in folder.replicas}
            self._record_folder(ids[folder.path], (first, place), Action.CREATE_FOLDER, self.now, {}, values)
            for number in _flat(folder.holds):
                self._record(Change(ids[folder.path], number, _id(number), Action.POST, self.now, size=1024))
            self._place(ids[folder.path], folder.replicas, _flat(folder.holds))
        everywhere = tuple(self.servers)
        self._place(HIERARCHY, everywhere, frozenset((first, place) for place in range(1, len(ids) + 1)))
        for server in self.servers.values():
            server.tree = self.see(server)
            server.maintained = self._maintenance()
            self._note_limits(server)
        self.night = self._maintenance()
        self._keep()

    def _keep(self) -> None:
        for step in self.scenario.steps:
            if step.verb == "restore" and (self.rounds == 0 or step.args["to"] >= self.time):
                self.kept[step.number] = self.servers[step.args["store"]].rows()

    def _place(self, folder: str, stores: Iterable[str], held: Numbers) -> None:
        lives: dict[str, int] = {}
        for name, life in (split_label(origin) for origin, _ in held):
            lives[name] = max(life, lives.get(name, 1))
        for name in stores:
            replica = Replica(label(name, lives.get(name, 1)), applied=held, lives=dict(lives))
            replica.sent = replica.unsent
            replica.issued = max((cn for origin, cn in held if origin == replica.label), default=0)
            replica.reported = {replica.current(other): (held, NONE) for other in stores if other != name}
            self.servers[name].replicas[folder] = replica
            self.highest[name, folder] = replica.life

    def round(self, time: datetime, steps: list[Step]) -> list[Line]:
        """The round of that time, by a clock that may be wrong; the lines it prints."""
        self.time = time
        self.wrong = [self.wrong, *(step.args["wrong"] for step in steps if step.verb == "clock")][-1]
        self.now = max(time + self.wrong, self.now + TICK if self.rounds else self.now)  # put back, it stands almost still
        steps = [replace(step, at=step.at + self.wrong) for step in steps]
        self.ways = self.scenario.ways(self.time)
        self.rounds += 1
        self.lines = []
        shows = [what for step in steps for what in self.happen(step)]
        for contact in (contact for server in self.servers.values() for contact in server.contacts.values()):
            contact.asked_before = contact.asked
        for replica in (replica for server in self.servers.values() for replica in server.replicas.values()):
            replica.before = replica.standing
        self.arrive()
        playing = [server for server in self.servers.values() if not server.down]
        before_sending = (
            self.start,
            self.sift,
            self.learn,
            self.call,
            self.intake,
            self.hear,
            self.note,
            self.choose,
            self.answer,
            self.inquire,
        )
        for play_step in (*before_sending, self.remove, self.pack, self.repeat, self.dispatch, self.maintain):
            for server in playing:
                play_step(server)
        self.night = self._maintenance()
        self._keep()
        refused = sorted((line for line in self.lines if line["kind"] == "refused"), key=_refused_order)
        messages = [line for line in self.lines if line["kind"] == "message"]
        return refused + sorted(messages, key=_message_order) + self.show(shows)

    # --- what happens to the organization -----------------------------------------------------------------------------

    def happen(self, step: Step) -> tuple[str, ...]:
        """Faults and decisions of administrators before a round; edits wait at their store. What must be shown."""
        named = [self.servers[name] for name in step.args.get("stores", ())]
        match step.verb:
            case "cut" | "heal":
                for server in named:
                    server.cut = step.verb == "cut"
            case "down" | "up":
                for server in named:
                    server.started |= server.down and step.verb == "up"
                    server.down = step.verb == "down"
            case "suspend" | "resume":
                self.suspended = step.verb == "suspend"
            case "restore":
                self.restore(self.servers[step.args["store"]], self.kept[step.number])
            case "show":
                return tuple(step.args["what"])
            case "clock" | "why":
                pass
            case _:
                self.servers[step.args["store"]].edits.append(step)
        return ()

    def restore(self, server: Server, rows: tuple[Any, ...]) -> None:
        """The store's rows as they were; every replica begins a new life and asks for status (R132, F8)."""
        heard = server.contacts
        server.replicas, server.contacts = rows
        for name, contact in heard.items():
            server.contacts[name].heard, server.contacts[name].active = contact.heard, contact.active
        for folder, replica in server.replicas.items():
            if replica.standing != Standing.ERASED:
                self._new_life(server, folder, replica)
                replica.asking = self.policy.responders_restore
        server.tree = self.see(server)

    def _new_life(self, server: Server, folder: str, replica: Replica) -> None:
        self.highest[server.name, folder] = self.highest.get((server.name, folder), 0) + 1
        replica.label = label(server.name, self.highest[server.name, folder])
        replica.issued = 0
        leaving = replica.standing == Standing.DELETE_PENDING
        replica.leaving_since, replica.answers, replica.inquiries = self.now if leaving else None, {}, {}

    # --- the steps of a round -----------------------------------------------------------------------------------------

    def arrive(self) -> None:
        """Messages due now; what would reach a store that is cut or down is lost (R59, R64)."""
        due = [flight for flight in self.flight if flight[0] <= self.now]
        self.flight = [flight for flight in self.flight if flight[0] > self.now]
        for server in self.servers.values():
            server.mail = []
        for flight in due:
            _, recipient, message = flight
            server = self.servers[recipient]
            if server.down or server.cut:
                continue
            if self._waits(server, message):
                self.flight.append(flight)
            else:
                server.mail.append(message)
                contact = server.contacts[message.sender]
                contact.heard = self.now  # R105, Q9: any message makes it available again
                contact.active |= message.type in CARRYING

    def _waits(self, server: Server, message: Message) -> bool:
        """Whether a letter stays at the door, unread: a request for content while that is suspended, but to a leaver (F69)."""
        replica = server.replicas.get(message.folder)
        leaver = replica is not None and replica.before == Standing.DELETE_PENDING
        asks_content = message.type == MessageType.BACKFILL_REQUEST and message.folder != HIERARCHY
        return self.suspended and asks_content and not leaver

    def start(self, server: Server) -> None:
        """Who starts again asks for status, where its policy says so: by what it knew before its mail (R133, R134)."""
        if server.started and self.policy.startup_status != "off":
            for folder, replica in server.live():
                if folder == HIERARCHY or self.policy.startup_status == "all" or replica.array:
                    replica.asking = replica.asking or self.policy.responders_restore
        server.started = False

    def sift(self, server: Server) -> None:
        """Hierarchy first, then content against the tree it gives; what is held already is thrown away (R34, R73)."""
        for message in server.mail:
            if message.folder == HIERARCHY:
                self._apply(server, message)
        self.look(server)
        accepted = []
        for message in server.mail:
            why = self._closed(server, message.folder)
            if not why:
                accepted.append(message)
                if message.folder != HIERARCHY:
                    self._apply(server, message)
            elif message.type in CARRYING:
                self._refuse(server, "message", None, why)
        server.mail = accepted

    def _apply(self, server: Server, message: Message) -> None:
        replica = server.replicas[message.folder]
        fresh = message.carries - replica.applied
        replica.applied |= fresh
        replica.sent |= replica.own(message.carries)
        if fresh:
            self._changed(replica)

    def _closed(self, server: Server, folder: str) -> Reason | None:
        """Why nothing about that folder is accepted here; None when there is a live replica."""
        if folder == HIERARCHY:
            return None
        if folder not in server.tree:
            return Reason.UNKNOWN_FOLDER
        if server.tree[folder].deleted:
            return Reason.FOLDER_DELETED
        replica = server.replicas.get(folder)
        return None if replica and replica.live else Reason.NO_REPLICA_HERE

    def learn(self, server: Server) -> None:
        """What the messages say of their senders, and what those relay, is believed (R75-R78, Q11, Q12)."""
        for message in server.mail:
            lives = server.replicas[message.folder].lives
            numbers = [message.carries, message.asks, *(held for held, _ in message.status.values())]
            origins = {origin for each in numbers for origin, _ in each}
            for name, life in map(split_label, {message.label, *message.status, *origins}):
                lives[name] = max(life, lives.get(name, 1))
        for message in server.mail:
            replica = server.replicas[message.folder]
            if message.label == replica.current(message.sender):
                for about, (held, empty) in message.status.items():
                    if split_label(about)[0] != server.name:
                        before = replica.reported.get(about, (NONE, NONE))
                        replica.reported[about] = before[0] | held, before[1] | empty

    def call(self, server: Server) -> None:
        """Leavers that their list does not call removed, overruled by a whole object or restored, say so themselves. Whom that
        list then keeps, as it would be empty, stays."""
        for folder, replica in server.live():
            if replica.standing == Standing.DELETE_PENDING:
                value, _ = server.tree[folder].properties.get(REPLICA + server.name, ("", None))
                if value != Listing.REMOVED:
                    self._say_listing(server, folder, Listing.REMOVED, self._newest(server, folder))
                    replica.called = self.now
        self.look(server)

    def intake(self, server: Server) -> None:
        """Waiting edits in order of their dates, which a clock that was put back has turned round, each against the tree
        and standing of its place (R11-R30)."""
        for step in sorted(server.edits, key=lambda step: (step.at, step.number)):
            try:
                if not _sound(step):
                    raise Refused(Reason.BAD_VALUE)
                if step.verb in ("post", "modify", "delete"):
                    self._edit_item(server, step)
                else:
                    self._edit_folder(server, step)
                    self.look(server)
            except Refused as refusal:
                self._refuse(server, "edit", step.number, refusal.args[0])
        server.edits = []

    def _edit_item(self, server: Server, step: Step) -> None:
        folder = self._folder_id(step.args["folder_ref"])
        if folder == HIERARCHY:
            raise Refused(Reason.UNKNOWN_FOLDER)
        why = self._closed(server, folder)
        if why or server.replicas[folder].standing != Standing.ACTIVE:  # D2: clients are refused
            raise Refused(why or Reason.NO_REPLICA_HERE)
        replica = server.replicas[folder]
        if step.verb == "post":
            for place in range(1, step.args["count"] + 1):
                number = self._next(replica)
                self._take_in(replica, Change(folder, number, _id(number), Action.POST, step.at, step.args["size"]))
                self.made.setdefault(step.number, _id(number))
                if name := step.args["item"]:
                    self.names[folder, _id(number)] = f"{name} {place}" if place > 1 else name
            return
        ref = step.args["item_ref"]
        item = ref if isinstance(ref, str) else self.made.get(ref, "")
        heads = self.heads(replica, folder, item)
        if not heads:
            raise Refused(Reason.UNKNOWN_ITEM)
        if heads[0].action == Action.DELETE:
            raise Refused(Reason.ITEM_DELETED)
        upon: dict[str, int] = {}
        for head in heads:  # F12, F29: upon all undominated versions, so it settles a conflict
            for origin, cn in (*head.predecessors.items(), head.number):
                upon[origin] = max(cn, upon.get(origin, 0))
        size = step.args.get("size", 0)
        action = Action(step.verb)
        self._take_in(replica, Change(folder, self._next(replica), item, action, step.at, size, upon))

    def _edit_folder(self, server: Server, step: Step) -> None:
        replica = server.replicas[HIERARCHY]
        args = step.args
        if step.verb == "create_folder":
            parent = ROOT if args["parent_ref"] is None else self._known(server, args["parent_ref"])
            self._not_too_deep(server, parent, 1)
            number = self._next(replica)
            self.made[step.number] = folder = _id(number)
            values = {NAME: args["name"], PARENT: parent} | args["properties"]
            values |= {REPLICA + name: Listing.LISTED for name in args["replicas"]}
            self._record_folder(folder, number, Action.CREATE_FOLDER, self.now, {}, values)
            self._number_given(replica, number)
            return
        folder = self._known(server, args["folder_ref"])
        values = {}
        match step.verb:
            case "rename_folder":
                values = {NAME: args["name"]}
            case "move_folder":
                values = {PARENT: ROOT if args["to_ref"] is None else self._known(server, args["to_ref"])}
                self._not_too_deep(server, values[PARENT], self._height(server, folder))
            case "delete_folder":
                values = {DELETED: True}
            case "set_folder":
                values = args["properties"]
            case "add_replica":
                values = {REPLICA + args["replica"]: Listing.LISTED}
            case "remove_replica":
                listed = self.listed(server, folder)
                if args["replica"] not in listed:
                    raise Refused(Reason.NOT_LISTED)
                if len(listed) == 1:
                    raise Refused(Reason.LAST_REPLICA)  # Q26
                values = {REPLICA + args["replica"]: Listing.REMOVED}
        action = Action.DELETE_FOLDER if step.verb == "delete_folder" else Action.SET_FOLDER
        self._change_folder(server, folder, action, values)

    def _not_too_deep(self, server: Server, parent: str, levels: int) -> None:
        """What would lie beneath that folder, it or anything under it deeper than may be, is refused."""
        alive = {folder: seen.text(PARENT) or ROOT for folder, seen in server.tree.items() if not seen.deleted}
        line: list[str] = []
        while parent in alive and parent not in line:
            line.append(parent)
            parent = alive[parent]
        if len(line) + levels > LEVELS:
            raise Refused(Reason.TOO_DEEP)

    def _height(self, server: Server, folder: str) -> int:
        """How many levels a folder and the living beneath it take."""
        alive = {each: seen.text(PARENT) for each, seen in server.tree.items() if not seen.deleted}
        met, row, levels = {folder}, {folder}, 1
        while row := {each for each, parent in alive.items() if parent in row} - met:
            met |= row
            levels += 1
        return levels

    def _change_folder(
        self, server: Server, folder: str, action: Action, values: Mapping[str, Any], stamped: datetime | None = None
    ) -> None:
        """Numbers a change of a folder; one `stamped` by its decision is automatic (D9)."""
        replica = server.replicas[HIERARCHY]
        made_at = stamped or max(self.now, self._newest(server, folder) + TICK)
        number = self._next(replica)
        before = server.tree[folder].properties
        self._record_folder(folder, number, action, made_at, before, values, automatic=stamped is not None)
        self._number_given(replica, number)

    def _newest(self, server: Server, folder: str) -> datetime:
        """The newest stamp held of a folder's object."""
        held = self._held(server.replicas[HIERARCHY], HIERARCHY, folder)
        return max(stamp[0] for change in held for _, stamp in [("", change.stamp), *change.properties.values()])

    def note(self, server: Server) -> None:
        """Claimed but not held: into the array, where each number keeps the time it was first heard of (R76, R88)."""
        for folder, replica in server.live():
            missing = self.missing(server, folder)
            givable = NONE.union(*(replica.can_give(name) for name in self.others(server, folder)))
            settled = missing - givable
            replica.applied |= settled
            replica.empty |= settled
            replica.sent |= replica.own(settled)
            for number in missing - settled:
                replica.array.setdefault(number, Entry(self.now))
            for number in replica.array.keys() & replica.applied:
                del replica.array[number]  # R90

    def choose(self, server: Server) -> None:
        """Pieces whose time-out has ended are asked for, each from its best holder (R91-R118, R151)."""
        for folder, replica in server.live():
            if replica.proven:
                continue
            missing = self.missing(server, folder)
            gives = {name: replica.can_give(name) & missing for name in self.others(server, folder)}
            due = frozenset(number for number in missing if self._due(server, folder, number, gives) <= self.now)
            if not due:
                continue
            for source, asks in self._shares(server, missing, due, gives).items():
                leaver = folder != HIERARCHY and server.tree[folder].listing[source] == Listing.REMOVED
                if leaver or folder == HIERARCHY or not self.suspended:
                    self._ask(server, folder, source, asks, gives)

    def _due(self, server: Server, folder: str, number: Number, gives: Mapping[str, Numbers]) -> datetime:
        """When a number is asked for next: decided anew each round (Q7, Q8, Q10)."""
        replica = server.replicas[folder]
        entry = replica.array[number]
        holders = [name for name in gives if number in gives[name]]
        if entry.asked is None and not set(holders) <= set(self.listed(server, folder)):
            return entry.heard + self.policy.delete_pending_timeout  # D6
        local = any(self._same_site(server, name) for name in holders)
        return (entry.asked or entry.heard) + self._timeout(local, entry.attempt)

    def _timeout(self, local: bool, attempt: int) -> timedelta:
        timeouts = self.policy.backfill_timeouts_local if local else self.policy.backfill_timeouts_remote
        return timeouts[min(attempt, 2)]

    def _ask(self, server: Server, folder: str, source: str, asks: Numbers, gives: Mapping[str, Numbers]) -> None:
        replica = server.replicas[folder]
        for number in asks:
            entry = replica.array[number]
            entry.attempt, entry.asked = entry.attempt + 1, self.now
        contact = server.contacts[source]
        contact.asked = self.now
        again = min(self._due(server, folder, number, gives) for number in asks)
        if not contact.waits:
            contact.since, contact.silent = self.now, again
        contact.silent = min(contact.silent or again, again)
        server.drafts.append(Message(MessageType.BACKFILL_REQUEST, folder, (source,), asks=asks))

    def _shares(self, server: Server, missing: Numbers, due: Numbers, gives: Mapping[str, Numbers]) -> dict[str, Numbers]:
        """Who is asked for what: sources in order, each number to the first that can give it (R97-R118)."""
        ranked = sorted((name for name in gives if gives[name]), key=lambda name: self._rank(server, name, gives[name]))
        if self.policy.partial_sources == "last_group_then_cover":
            full = [name for name in ranked if gives[name] >= missing]
            last = max((self._group(server, name) for name in ranked), default=0)
            ranked = full[:1] or [name for name in ranked if self._group(server, name) == last] + ranked
        shares: dict[str, Numbers] = {}
        for name in ranked:
            if share := due & gives[name]:
                shares[name] = share
                due -= share
        return shares

    def _rank(self, server: Server, name: str, amount: Numbers) -> tuple[tuple[Any, ...], ...]:
        """Where a source stands: by the rows of the policy's source order, first one first."""
        rank: list[tuple[Any, ...]] = []
        for row in self.policy.source_keys:
            *conditions, key = row.split()
            meets = all(self._meets(server, name, condition) for condition in conditions)
            rank.append((0, self._key(server, name, key, amount)) if meets else (1,))
        return tuple(rank)

    def _group(self, server: Server, name: str) -> int:
        """The number of the first group of the source order that the store belongs to (R108-R113)."""
        for place, row in enumerate(self.policy.source_keys):
            conditions = row.split()[:-1]
            if conditions and all(self._meets(server, name, condition) for condition in conditions):
                return place
        return 0

    def _meets(self, server: Server, name: str, condition: str) -> bool:
        same, link = self._same_site(server, name), self._link(server, name)
        return {
            "since_2000": self._version(name) >= 2000,
            "before_2000": self._version(name) < 2000,
            "same_site": same,
            "affinity": not same and link is not None,
            "no_affinity": not same and link is None,
        }[condition]

    def _key(self, server: Server, name: str, key: str, amount: Numbers) -> Any:
        contact = server.contacts[name]
        link = self._link(server, name)
        away = not self._same_site(server, name)
        return {
            "unavailable": contact.waits and contact.silent is not None and contact.silent <= self.now,
            "not_preferred": not self.directory[name].preferred,
            "cost": (link.cost if link else 1) if away else 0,
            "delay": link.delay if link and away else timedelta(0),
            "older_version": -self._version(name),
            "fewer": -len(amount),
            "longest_ago": _since(contact.asked_before),
            "store": name.encode(),
        }[key]

    def answer(self, server: Server) -> None:
        """Requests of current lives: content for what is asked, status for who needs it (R135, R67-R70, Q13)."""
        here = [message for message in server.mail if server.replicas[message.folder].live]
        requests = [m for m in here if m.label == server.replicas[m.folder].current(m.sender)]
        asks: dict[tuple[str, str], Numbers] = {}
        for message in requests:
            if message.type == MessageType.BACKFILL_REQUEST:
                key = message.folder, message.label
                asks[key] = asks.get(key, NONE) | message.asks
        answers: dict[tuple[str, str], set[Flag]] = {}
        for (folder, asker), asked in asks.items():
            replica, (peer, _) = server.replicas.get(folder), split_label(asker)
            if replica is None or not replica.live or asker != replica.current(peer):
                continue
            if give := asked & (replica.applied - replica.empty):
                type = MessageType.HIERARCHY_RESPONSE if folder == HIERARCHY else MessageType.CONTENT_RESPONSE
                self._send_changes(server, folder, type, (peer,), give)
            else:
                answers.setdefault((folder, peer), set())
        for message in requests:
            if message.type == MessageType.STATUS_REQUEST and server.name in message.responders:
                replica = server.replicas[message.folder]
                leave = Flag.DELETE_PENDING in message.flags
                more = replica.shown - replica.belief(message.sender)[0]
                if more or leave or self.policy.answer_when == "always":
                    flags = answers.setdefault((message.folder, message.sender), set())
                    if leave and replica.standing == Standing.ACTIVE:
                        flags.add(Flag.DELETE_PENDING)
                        if message.status[message.label][0] <= replica.applied:
                            flags.add(Flag.ACKNOWLEDGE)  # F62
        for (folder, peer), flags in answers.items():
            server.drafts.append(Message(MessageType.STATUS, folder, (peer,), flags=frozenset(flags)))

    def inquire(self, server: Server) -> None:
        """Status requests, first and repeated, and status by the clock (R130-R137)."""
        for folder, replica in server.live():
            if replica.standing == Standing.DELETE_PENDING:
                self._inquire_leaving(server, folder, replica)
            else:
                self._inquire(server, folder, replica)
            self._tell_status(server, folder, replica)
        for replica in server.replicas.values():
            if replica.standing == Standing.DELETE_NOW and replica.status_due and replica.status_due <= self.now:
                replica.status_due = None  # nobody tells it, and it is not made up for

    def _inquire(self, server: Server, folder: str, replica: Replica) -> None:
        others = self.others(server, folder)
        if replica.asking:
            names = self._responders(server, folder, replica.asking)
            replica.inquiries = {name: Inquiry(self.now) for name in names}
            replica.asking = ""
            self._request_status(server, folder, others, names)
            return
        answered = {message.sender for message in server.mail if message.folder == folder}
        replica.inquiries = {
            name: inquiry for name, inquiry in replica.inquiries.items() if name in others and name not in answered
        }
        silent = [name for name in replica.inquiries if self._silent(server, replica.inquiries[name], name)]
        for name in silent:
            inquiry = replica.inquiries[name]
            replica.inquiries[name] = Inquiry(self.now, inquiry.times + 1)
            if inquiry.times == REPEATS:
                del replica.inquiries[name]
        self._request_status(server, folder, silent, silent)

    def _silent(self, server: Server, inquiry: Inquiry, name: str) -> bool:
        wait = self._timeout(self._same_site(server, name), inquiry.times - 1)
        return inquiry.asked + wait <= self.now

    def _inquire_leaving(self, server: Server, folder: str, replica: Replica) -> None:
        """D5-D7: the stores that stay are asked until one of them holds all."""
        if replica.asking:  # started again: what was answered meanwhile is lost
            replica.inquiries, replica.asking = {}, ""
        replica.leaving_since = replica.leaving_since or self.now
        staying = [name for name in self.listed(server, folder) if name != server.name]
        replica.inquiries = {name: inquiry for name, inquiry in replica.inquiries.items() if name in staying}
        again = {}
        for name in staying:
            inquiry = replica.inquiries.get(name)
            if inquiry is None:
                again[name] = Inquiry(self.now)
            elif inquiry.answered is None and self._silent(server, inquiry, name):
                again[name] = Inquiry(self.now, inquiry.times + 1)
            elif inquiry.answered and inquiry.answered + self.policy.delete_pending_timeout <= self.now:
                again[name] = Inquiry(self.now)
        replica.inquiries |= again
        self._request_status(server, folder, again, again, Flag.DELETE_PENDING)

    def hear(self, server: Server) -> None:
        """D7: what the stores that stay have answered to leavers."""
        for message in sorted(server.mail, key=lambda message: message.at):
            replica = server.replicas[message.folder]
            answers = message.type == MessageType.STATUS and Flag.DELETE_PENDING in message.flags
            inquiry = replica.inquiries.get(message.sender)
            current = message.label == replica.current(message.sender)
            if answers and current and replica.leaving_since and message.at > replica.leaving_since:
                replica.answers[message.sender] = message.label, message.status[message.label][0], self.now
                if inquiry:
                    inquiry.answered = self.now
        for _, replica in server.live():  # before numbers that nobody can give are settled: those need no proof
            replica.proven = replica.standing == Standing.DELETE_PENDING and self._proven(replica)

    def _proven(self, replica: Replica) -> bool:
        """Whether active replicas have answered that they hold all that is here; should one leave, it must prove all its own."""
        together = self.policy.removal_rule == "union_holds_all"
        held = [
            numbers
            for name, (about, numbers, heard) in replica.answers.items()
            if about == replica.current(name) and heard == self.now
        ]
        if together:
            held = [NONE.union(*held)] if held else []
        return any(replica.applied <= numbers for numbers in held)

    def _request_status(self, server: Server, folder: str, to: Iterable[str], responders: Iterable[str], *flags: Flag) -> None:
        if to := tuple(to):
            type = MessageType.STATUS_REQUEST
            message = Message(type, folder, to, responders=tuple(responders), flags=frozenset(flags))
            server.drafts.append(message)

    def _responders(self, server: Server, folder: str, rule: str) -> list[str]:
        """Who must answer: all holders, the three best sources, or the list of R120-R128."""
        peers = self.others(server, folder)
        replica = server.replicas[folder]
        missing = self.missing(server, folder)
        if rule == "three":
            return sorted(peers, key=lambda name: self._rank(server, name, replica.can_give(name) & missing))[:3]
        if rule == "all" or not peers:
            return peers
        near = [name for name in peers if self._same_site(server, name)]
        linked = [name for name in peers if self._meets(server, name, "affinity")]
        far = [name for name in peers if name not in near]
        near.sort(key=lambda name: (_since(server.contacts[name].asked_before), name.encode()))
        linked.sort(key=lambda name: (self._key(server, name, "cost", NONE), name.encode()))
        far.sort(key=lambda name: (self._key(server, name, "delay", NONE), name.encode()))
        active = [name for name in linked if server.contacts[name].active]
        chosen = list(dict.fromkeys([*near, *active, *linked, *far]))[:3]
        for name in chosen:
            if name in near:
                server.contacts[name].asked = self.now  # R122: to the back of the queue
        oldest = min(peers, key=lambda name: (self._listed_at(server, folder, name), name.encode()))
        return list(dict.fromkeys([*chosen, oldest]))

    def _listed_at(self, server: Server, folder: str, name: str) -> datetime:
        """When a replica was placed, as the list tells it (Q5)."""
        return self.scenario.start if folder == HIERARCHY else server.tree[folder].properties[REPLICA + name][1][0]

    def _tell_status(self, server: Server, folder: str, replica: Replica) -> None:
        """Unasked status after the last change, repeated while somebody is believed to lack something (R136)."""
        if replica.status_due and replica.status_due <= self.now:
            replica.status_due = None
            self._status_to_all(server, folder)

    def repeat(self, server: Server) -> None:
        """Status again while somebody is believed to lack what is shown, this round's sendings included."""
        for folder, replica in server.live() if self.policy.status_again else ():
            self._repeat(server, folder, replica)

    def _repeat(self, server: Server, folder: str, replica: Replica) -> None:
        assert self.policy.status_again
        first, longest = self.policy.status_again
        peers = [name for name in self.listed(server, folder) if name != server.name]
        lacking = any(replica.shown - replica.belief(name)[0] for name in peers)
        if replica.status_due or not lacking:
            replica.repeat_due = None
        elif replica.repeat_due is None:
            replica.repeat_due, replica.repeat_wait = self.now + first, first
        elif replica.repeat_due <= self.now:
            self._status_to_all(server, folder)
            replica.repeat_wait = min(2 * replica.repeat_wait, longest)
            replica.repeat_due = self.now + replica.repeat_wait

    def _status_to_all(self, server: Server, folder: str) -> None:
        if to := self.others(server, folder):
            server.drafts.append(Message(MessageType.STATUS, folder, tuple(to)))

    def remove(self, server: Server) -> None:
        """D7-D9: proof that all is held by who stays; then delete now, and the list says gone. Who is called removed once
        more by somebody who did not know says it once more."""
        for folder, seen in sorted(server.tree.items()):
            if (server.name, folder) not in self.highest or REPLICA + server.name not in seen.properties or seen.deleted:
                continue
            _, stamp = seen.properties[REPLICA + server.name]
            replica = server.replicas.get(folder)  # None: it was not there at the time to which the store was restored
            if replica is None or not replica.live:
                if seen.listing[server.name] == Listing.REMOVED:
                    self._say_listing(server, folder, Listing.GONE, stamp[0])
            elif replica.standing == Standing.DELETE_PENDING and replica.called != self.now and replica.proven:
                replica.give_up()
                replica.gone_since = self.now
                self._say_listing(server, folder, Listing.GONE, stamp[0])
        server.tree = self.see(server)

    def _say_listing(self, server: Server, folder: str, listing: Listing, decided: datetime) -> None:
        """An automatic change of the store's own entry, stamped just after the decision that it carries out (D9)."""
        values = {REPLICA + server.name: listing}
        self._change_folder(server, folder, Action.SET_FOLDER, values, stamped=decided + TICK)

    def pack(self, server: Server) -> None:
        """Own numbers that no message has carried, at the store's cycle (R43-R58)."""
        for folder, replica in server.live():
            go = replica.unsent  # a cycle that was missed is made up for by all that waits
            if not any(self._slot_passed(server, folder, number) for number in go) or self._held_back(folder, replica):
                continue
            peers = tuple(name for name in self.listed(server, folder) if name != server.name)
            if peers:  # R45
                type = MessageType.HIERARCHY if folder == HIERARCHY else MessageType.CONTENT
                self._send_changes(server, folder, type, peers, go - replica.empty)
            replica.sent |= go

    def _slot_passed(self, server: Server, folder: str, number: Number) -> bool:
        """Whether a slot of the cycle lies between the number's taking in and now, and the schedule allows it."""
        replica = server.replicas[folder]
        store = self.directory[server.name]
        interval = store.interval or self.policy.interval
        schedule = parse_schedule(store.schedule or "always")
        if folder == HIERARCHY:
            schedule = parse_schedule("always")  # F44, F45: no hours hold the hierarchy, Never neither
        elif own := server.tree[folder].text("schedule"):
            schedule = parse_schedule(own)
        if not schedule and replica.standing != Standing.DELETE_PENDING:
            replica.taken.pop(number, None)  # under Never it waits for no slot; once there are slots, it counts from then
            return False
        slots = -((self.scenario.start - replica.taken.setdefault(number, self.now)) // interval)  # rounded up
        slot = self.scenario.start + slots * interval
        while slot <= self.now:
            if replica.standing == Standing.DELETE_PENDING or _is_open(schedule, slot):
                return True
            slot += interval
        return False

    def _send_changes(self, server: Server, folder: str, type: MessageType, to: tuple[str, ...], numbers: Numbers) -> None:
        """Next-fit in the order of the numbers; an update larger than the limit travels alone (R49-R54, V34)."""
        limit = self.directory[server.name].size_limit or self.policy.size_limit
        if folder != HIERARCHY and (own := server.tree[folder].text("size_limit")):
            limit = int(own)
        most = self.policy.folders_per_hierarchy_message if folder == HIERARCHY else None
        batches: list[list[tuple[Change, int]]] = []
        for number in sorted(numbers, key=_in_order):
            change = self.changes[folder, number]
            size = self._size(server, change)
            batch = batches[-1] if batches else []
            folders = {each.object for each, _ in batch} | {change.object}
            if batch and sum(each for _, each in batch) + size <= limit and (most is None or len(folders) <= most):
                batch.append((change, size))
            else:
                batches.append([(change, size)])
        for batch in batches:
            carries = frozenset(change.number for change, _ in batch)
            server.drafts.append(Message(type, folder, to, carries, bytes=sum(size for _, size in batch)))

    def _size(self, server: Server, change: Change) -> int:
        """Bytes of the body that travels: none for deletions and superseded versions (Q14)."""
        if change.folder == HIERARCHY:
            return change.size
        held = self._held(server.replicas[change.folder], change.folder, change.object)
        return 0 if any(other.covers(change) for other in held) else change.size

    def dispatch(self, server: Server) -> None:
        """Every message tells what the sender holds at the end of its round; then all leave together (R48, R57)."""
        alike: Counter[tuple[str, MessageType]] = Counter()
        for message in sorted(server.drafts, key=_letter_order):
            replica = server.replicas[message.folder]
            message.sender, message.label, message.at = server.name, replica.label, self.now
            alike[message.folder, message.type] += 1
            message.nth = alike[message.folder, message.type]
            message.status = {replica.label: (replica.shown, replica.empty & replica.shown)}
            if self.policy.relay_status:
                for name in self.others(server, message.folder):
                    if any(replica.belief(name)):
                        message.status[replica.current(name)] = replica.belief(name)
            for name in message.to:
                if not server.cut:
                    link = self._link(server, name) if not self._same_site(server, name) else None
                    due = self.now + (link.delay if link else timedelta(0))
                    for late in self._copies(message, name):
                        self.flight.append((max(due + late, self.now + TICK), name, message))
            self.lines.append(
                self._line("message", type=str(message.type))
                | {"from": server.name, "to": sorted(message.to, key=str.encode)}
                | self._called(server, message.folder)
                | {"carries": _text(message.carries)}
                | {"asks": _text(message.asks), "bytes": message.bytes}
                | self._priority(server, message.folder)
            )
        server.drafts = []

    def _copies(self, message: Message, recipient: str) -> Iterator[timedelta]:
        """By how much each copy of it is late that is delivered; none where it is lost on the way (R59, R64)."""
        lost, twice, late = self.ways.get((message.sender, recipient), (0, 0, timedelta(0)))
        id = f"{(self.now - EPOCH) // TICK:018d}/{message.label}/{message.type}/{message.folder}/{message.nth}"
        said = f"{self.scenario.seed}/{id}/{recipient}/"

        def draw(question: str) -> float:
            return int(hashlib.md5((said + question).encode()).hexdigest()[:8], 16) / 2**32

        if draw("lost") >= lost:
            for question in ("late", "late again") if draw("twice") < twice else ("late",):
                yield timedelta(seconds=int(draw(question) * (int(late.total_seconds()) + 1)))

    def _priority(self, server: Server, folder: str) -> Line:
        """Told where the folder has another than the normal one (F48)."""
        said = server.tree[folder].text("priority") if folder in server.tree else None
        return {"priority": said} if said not in (None, "normal") else {}

    def maintain(self, server: Server) -> None:
        """The nightly maintenance: expiry, and erasure of what is delete now (F56, F58, D8)."""
        is_night = self.night < self._maintenance()
        in_time = {folder for folder, replica in server.replicas.items() if folder != HIERARCHY and (replica.limited or is_night)}
        self._note_limits(server)
        if server.maintained >= self._maintenance():
            return
        server.maintained = self._maintenance()
        for folder, replica in server.replicas.items():
            if replica.standing == Standing.DELETE_NOW and replica.gone_since != self.now:  # its night is the next
                others = [each.replicas[folder] for each in self.servers.values() if folder in each.replicas]
                elsewhere = NONE.union(*(other.applied for other in others if other.live))
                if server.tree[folder].deleted or replica.applied - replica.empty <= elsewhere:
                    server.replicas[folder] = Replica(replica.label, Standing.ERASED)
            elif replica.live and replica.before in LIVE and folder in in_time:  # the night of who begins now is the next, too
                replica.empty |= self._expired(server, folder, replica)

    def _note_limits(self, server: Server) -> None:
        for folder, replica in server.live():
            replica.limited = folder != HIERARCHY and self._age_limit(server, folder) is not None

    def _age_limit(self, server: Server, folder: str) -> timedelta | None:
        text = server.tree[folder].text("age_limit")
        return self.policy.age_limit if text is None else None if text == "none" else parse_duration(text)

    def _expired(self, server: Server, folder: str, replica: Replica) -> set[Number]:
        limit = self._age_limit(server, folder)
        expired: set[Number] = set()
        for item in self._items(replica, folder) if limit else ():
            winner = self.heads(replica, folder, item)[0]
            if winner.action != Action.DELETE and limit and winner.made_at + limit <= self.now:
                held = self._held(replica, folder, item)
                expired |= {change.number for change in held if change.action != Action.DELETE}
        return expired

    # --- the tree and the items, as one store sees them ---------------------------------------------------------------

    def see(self, server: Server) -> dict[str, Seen]:
        """The tree that the hierarchy changes held by the store give (R2, R5)."""
        numbers = server.replicas[HIERARCHY].applied
        if numbers not in self.trees:
            self.trees[numbers] = self._tree(numbers)
        return self.trees[numbers]

    def _tree(self, numbers: Numbers) -> dict[str, Seen]:
        held: dict[str, list[Change]] = defaultdict(list)
        for number in numbers:
            change = self.changes[HIERARCHY, number]
            held[change.object].append(change)
        merged = {folder: self._merged(changes) for folder, changes in held.items()}
        tree = {}
        for folder, properties in merged.items():
            line = [folder]
            while (above := merged[line[-1]][PARENT][0]) in merged and above not in line:
                line.append(above)
            names = [merged[each][NAME][0] for each in line]
            path = "/".join(["", *reversed(names)]) if above == ROOT else f"/{names[0]}"
            deleted = any(DELETED in merged[each] for each in line)
            tree[folder] = Seen(properties, _listing(properties), path, deleted)
        return tree

    def _merged(self, changes: list[Change]) -> Properties:
        """The winner of the whole object, or of each property; deletions, and what stores say of themselves, count beside it."""
        whole = changes
        if self.policy.hierarchy_merge == "object":
            decided = [change for change in changes if not change.automatic] or changes
            whole = [max(decided, key=lambda change: change.stamp)]
        merged: Properties = {}
        for change in changes:
            for name, (value, stamp) in change.properties.items():
                counts = stamp in self.automatic or name == DELETED or change in whole
                if counts and (name not in merged or stamp > merged[name][1]):
                    merged[name] = value, stamp
        return merged

    def look(self, server: Server) -> None:
        """The store looks at its tree, and its replicas take their standing from it (D2, R87, A1)."""
        server.tree = self.see(server)
        for folder, seen in server.tree.items():
            listed = seen.listing.get(server.name) == Listing.LISTED
            replica = server.replicas.get(folder)
            if seen.deleted:
                if replica and replica.standing != Standing.ERASED:
                    server.replicas[folder] = Replica(replica.label, Standing.ERASED)  # R140: nothing is preserved
            elif listed and (replica is None or replica.standing == Standing.ERASED):
                server.replicas[folder] = replica = Replica("", asking=self.policy.responders_list_change)
                self._new_life(server, folder, replica)
            elif replica and listed and replica.standing != Standing.ACTIVE:
                replica.standing = Standing.ACTIVE
                replica.asking = self.policy.responders_list_change
                replica.leaving_since, replica.answers, replica.inquiries = None, {}, {}
            elif replica and not listed and replica.standing == Standing.ACTIVE:
                replica.standing = Standing.DELETE_PENDING
                replica.inquiries = {}

    def listed(self, server: Server, folder: str) -> list[str]:
        """The replica list as the store sees it; of the hierarchy, every store."""
        if folder == HIERARCHY:
            return list(self.servers)
        listing = server.tree[folder].listing
        return [name for name in self.servers if listing.get(name) == Listing.LISTED]

    def others(self, server: Server, folder: str) -> list[str]:
        """The other holders: the list, and leavers not yet gone."""
        if folder == HIERARCHY:
            return [name for name in self.servers if name != server.name]
        listing = server.tree[folder].listing
        return [n for n in self.servers if n != server.name and listing.get(n) in (Listing.LISTED, Listing.REMOVED)]

    def missing(self, server: Server, folder: str) -> Numbers:
        """What current replicas in their current lives report, and a live one here lacks (R88)."""
        replica = server.replicas[folder]
        claimed = NONE.union(*(replica.belief(name)[0] for name in self.others(server, folder)))
        return claimed - replica.applied if replica.live else NONE

    def heads(self, replica: Replica, folder: str, item: str) -> list[Change]:
        """The undominated versions of an item, the winner first (F27-F31); none: the item is not seen here."""
        held = self._held(replica, folder, item)
        heads = [change for change in held if not any(other.covers(change) for other in held)]
        return sorted(heads, key=lambda change: (change.action != Action.DELETE, *change.stamp), reverse=True)

    def _held(self, replica: Replica, folder: str, item: str) -> list[Change]:
        versions = self.versions.get((folder, item), [])
        return [each for each in versions if each.number in replica.applied and each.number not in replica.empty]

    def _items(self, replica: Replica, folder: str) -> list[str]:
        items = {self.changes[folder, number].object for number in replica.applied - replica.empty}
        return sorted(items, key=_id_order)

    # --- small words --------------------------------------------------------------------------------------------------

    def _record(self, change: Change) -> None:
        self.changes[change.folder, change.number] = change
        self.versions[change.folder, change.object].append(change)

    def _record_folder(
        self,
        folder: str,
        number: Number,
        action: Action,
        made_at: datetime,
        before: Properties,
        values: Mapping[str, Any],
        automatic: bool = False,
    ) -> None:
        """A hierarchy change: all properties, each with the stamp of the change that set it (R27)."""
        stamp = made_at, label_key(number[0]), number[1]
        properties = before | {name: (_property(value), stamp) for name, value in values.items()}
        body = json.dumps(
            {name: _kept(name, value) for name, (value, _) in properties.items()},
            sort_keys=True,
            separators=(",", ":"),
            ensure_ascii=False,
        )
        size = len(body.encode())
        self.automatic |= {stamp} if automatic else set()
        self._record(Change(HIERARCHY, number, folder, action, made_at, size, {}, properties, automatic))

    def _next(self, replica: Replica) -> Number:
        replica.issued += 1
        return replica.label, replica.issued

    def _take_in(self, replica: Replica, change: Change) -> None:
        self._record(change)
        self._number_given(replica, change.number)

    def _number_given(self, replica: Replica, number: Number) -> None:
        replica.applied |= {number}
        replica.taken[number] = self.now
        self._changed(replica)

    def _changed(self, replica: Replica) -> None:
        """The clock of the unasked status starts again (R136, R137, Q27)."""
        due = self.now + self.policy.status_after
        if clock := self.policy.status_clock:
            days = [due, due + timedelta(days=1)]
            slots = [datetime.combine(day.date(), time, due.tzinfo) for day in days for time in clock]
            due = min(slot for slot in slots if slot >= due)
        replica.status_due = due

    def _held_back(self, folder: str, replica: Replica) -> bool:
        """Suspension holds back content, but not a removal's last (F69, Q22)."""
        return self.suspended and folder != HIERARCHY and replica.standing != Standing.DELETE_PENDING

    def _folder_id(self, ref: tuple[str, Any]) -> str:
        kind, what = ref
        if kind == "initial":
            return f"{self.scenario.stores[0].name}:{what + 1}"
        return self.made.get(what, "") if kind == "step" else str(what)

    def _known(self, server: Server, ref: tuple[str, Any]) -> str:
        folder = self._folder_id(ref)
        if folder not in server.tree:
            raise Refused(Reason.UNKNOWN_FOLDER)
        if server.tree[folder].deleted:
            raise Refused(Reason.FOLDER_DELETED)
        return folder

    def _same_site(self, server: Server, name: str) -> bool:
        return self.directory[server.name].site == self.directory[name].site

    def _link(self, server: Server, name: str) -> Any:
        return self.links.get((self.directory[server.name].site, self.directory[name].site))

    def _version(self, name: str) -> float:
        return float(self.directory[name].version)

    def _maintenance(self) -> datetime:
        """The last moment of maintenance not after now."""
        today = datetime.combine(self.now.date(), self.policy.maintenance_at, self.now.tzinfo)
        return today if today <= self.now else today - timedelta(days=1)

    def _path(self, server: Server, folder: str) -> str:
        return folder if folder == HIERARCHY else server.tree[folder].path

    def _called(self, server: Server, folder: str) -> dict[str, str]:
        """A folder as lines name it: by its path, and where that server sees two alive of that path by its id too."""
        path = self._path(server, folder)
        of_it = [seen for seen in server.tree.values() if not seen.deleted and seen.path == path]
        return {"folder": path} | ({"id": folder} if len(of_it) > 1 else {})

    # --- what is printed ----------------------------------------------------------------------------------------------

    def _line(self, kind: str, **values: Any) -> Line:
        return {"org": self.scenario.name, "at": _time(self.now), "kind": kind, **values}

    def _refuse(self, server: Server, what: str, step: int | None, reason: Reason) -> None:
        self.lines.append(self._line("refused", store=server.name, what=what, step=step, reason=str(reason)))

    def show(self, tables: list[str]) -> list[Line]:
        """The lines of `show`: state, items, folders; each by store, then by path."""
        showing = {"state": self._states, "items": self._item_lines, "folders": self._folder_lines}
        servers = self.servers.values()
        return [line for what in showing if what in tables for server in servers for line in showing[what](server)]

    def _by_path(self, server: Server, folders: Iterable[str]) -> list[str]:
        return sorted(folders, key=lambda folder: (self._path(server, folder).encode(), folder))

    def _states(self, server: Server) -> list[Line]:
        lines = []
        for folder in self._by_path(server, server.replicas):
            replica = server.replicas[folder]
            if replica.standing == Standing.ERASED:
                continue
            others = self.others(server, folder)
            missing = self.missing(server, folder)
            lines.append(
                self._line(
                    "state",
                    store=server.name,
                    **self._called(server, folder),
                    applied=_text(replica.applied),
                    empty=_text(replica.empty),
                    sent=_text(replica.sent),
                    reported={name: _text(replica.belief(name)[0]) for name in others},
                    missing=_text(missing),
                    lost=_text(replica.array.keys() - missing - replica.applied),
                    life=replica.life,
                    standing=str(replica.standing),
                )
            )
        return lines

    def _item_lines(self, server: Server) -> list[Line]:
        lines = []
        active = [f for f, r in server.replicas.items() if f != HIERARCHY and r.standing == Standing.ACTIVE]
        for folder in self._by_path(server, active):
            replica = server.replicas[folder]
            for item in self._items(replica, folder):
                winner, *losers = self.heads(replica, folder, item)
                silent = (server.tree[folder].text("conflict") or str(self.policy.conflict)) == "1"
                lines.append(
                    self._line(
                        "item",
                        store=server.name,
                        **self._called(server, folder),
                        item=item,
                        name=self.names.get((folder, item), item),
                        version=_id(winner.number),
                        deleted=winner.action == Action.DELETE,
                        conflict=bool(losers) and not silent,
                        losers=[_id(number) for number in sorted((each.number for each in losers), key=_in_order)],
                    )
                )
        return lines

    def _folder_lines(self, server: Server) -> list[Line]:
        words = {Listing.LISTED: str(Standing.ACTIVE), Listing.REMOVED: str(Standing.DELETE_PENDING)}
        return [
            self._line(
                "folder",
                store=server.name,
                path=seen.path,
                id=folder,
                replicas={name: words[seen.listing[name]] for name in self.servers if seen.listing.get(name) in words},
            )
            for folder in self._by_path(server, server.tree)
            if not (seen := server.tree[folder]).deleted
        ]

    def end(self) -> Line:
        """The last line: whether all are equal, and what is still missing."""
        missing = sum(len(self.missing(server, f)) for server in self.servers.values() for f, _ in server.live())
        said = {"converged": self.converged(), "missing": missing, "violations": self.violations()}
        return self._line("end", rounds=self.rounds, **said) | {"at": _time(max(self.scenario.end, self.now))}

    def converged(self) -> bool:
        """Whether all stores see one hierarchy, and all active replicas of a folder hold the same set and winners."""
        first, *rest = self.servers.values()
        if any(server.tree != first.tree for server in rest):
            return False
        views: dict[str, tuple[Any, ...]] = {}
        for server in self.servers.values():
            for folder, replica in server.replicas.items():
                if replica.standing == Standing.ACTIVE:
                    winners = {} if folder == HIERARCHY else self._winners(replica, folder)
                    if views.setdefault(folder, (replica.applied, winners)) != (replica.applied, winners):
                        return False
        return True

    def _winners(self, replica: Replica, folder: str) -> dict[str, Number]:
        return {item: self.heads(replica, folder, item)[0].number for item in self._items(replica, folder)}

    def violations(self) -> int:
        """How many beliefs about a current life exceed what it holds (R8)."""
        found = 0
        for server in self.servers.values():
            for folder, replica in server.live():
                for name in self.others(server, folder):
                    other = self.servers[name].replicas.get(folder)
                    if other and other.live and other.label == replica.current(name):
                        found += not replica.belief(name)[0] <= other.applied
        return found


# --- texts and orders -------------------------------------------------------------------------------------------------


def _flat(cnset: cntext.CnSet) -> Numbers:
    ranges = ((origin, low, high) for origin in cnset for low, high in cnset[origin])
    return frozenset((origin, cn) for origin, low, high in ranges for cn in range(low, high + 1))


def _text(numbers: Iterable[Number]) -> str:
    ranges: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for origin, cn in numbers:
        ranges[origin].append((cn, cn))
    return cntext.show(ranges)


def _id(number: Number) -> str:
    return f"{number[0]}:{number[1]}"


def _id_order(text: str) -> tuple[tuple[bytes, int], int]:
    origin, cn = text.rsplit(":", 1)
    return _in_order((origin, int(cn)))


def _in_order(number: Number) -> tuple[tuple[bytes, int], int]:
    return label_key(number[0]), number[1]


def _time(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def _since(moment: datetime | None) -> tuple[bool, datetime]:
    return moment is not None, moment or datetime.min


def _property(value: Any) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return str(value).lower()
        case timedelta():
            return show_duration(value)
    return str(value)


def _kept(name: str, text: str) -> str:
    """The text of a property as the tables keep it, for its length."""
    match name:
        case "schedule":
            return show_schedule(parse_schedule(text))
        case "age_limit" if text != "none":
            return str(int(parse_duration(text).total_seconds()))
    return text


def _sound(step: Step) -> bool:
    """Whether each value of an edit is of its kind: whoever writes edits without asking may write anything."""
    kinds: dict[str, Callable[[Any], bool]] = {
        "schedule": _is_schedule,
        "size_limit": lambda value: 0 <= value < LARGEST,
        "age_limit": lambda value: value is None or timedelta(0) < value <= timedelta(seconds=LONGEST_S),
        "deleted_item_retention": lambda value: timedelta(0) <= value <= timedelta(seconds=LONGEST_S),
        "conflict": lambda value: value in (0, 1, 2),
        "priority": lambda value: value in PRIORITIES,
        DELETED: lambda value: False,
    }
    said = step.args.get("properties", {})
    return 0 <= step.args.get("size", 0) < LARGEST and all(kinds[name](said[name]) for name in kinds.keys() & said.keys())


def _is_open(schedule: Schedule, moment: datetime) -> bool:
    """Whether content may go at that moment: a week begins on Sunday at midnight, a slot holds its first minute."""
    minute = moment.isoweekday() % 7 * 1440 + moment.hour * 60 + moment.minute
    return any(start <= minute < end for start, end in schedule)


def _is_schedule(text: str) -> bool:
    try:
        parse_schedule(text)
    except UsageError:
        return False
    return True


def _listing(properties: Properties) -> dict[str, Listing]:
    """The replica list; one that merging would leave empty keeps a replica (design: removal)."""
    entries = {name.removeprefix(REPLICA): each for name, each in properties.items() if name.startswith(REPLICA)}
    listing = {name: Listing(value) for name, (value, _) in entries.items()}
    if entries and Listing.LISTED not in listing.values():
        listing[max(entries, key=lambda name: (listing[name] != Listing.GONE, entries[name][1]))] = Listing.LISTED
    return listing


def _refused_order(line: Line) -> tuple[Any, ...]:
    return line["store"].encode(), line["what"], line["step"] or 0, line["reason"]


def _letter_order(message: Message) -> tuple[Any, ...]:
    """By whom they go to, then by the numbers that they carry; what a leaver is answered comes after what all are told."""
    flags = [flag for flag in (Flag.DELETE_PENDING, Flag.ACKNOWLEDGE) if flag in message.flags]
    return sorted(message.to, key=str.encode), sorted(map(_in_order, message.carries))[:1], flags


def _message_order(line: Line) -> tuple[Any, ...]:
    place = ORDER.index(MessageType(line["type"]))
    return line["from"].encode(), place, line["folder"].encode(), line["carries"], line["asks"], line["to"]
