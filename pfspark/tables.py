"""Every table of a lake and every frame of a round, said once; the JSON lines that verbs print are in `printed.py`.

`TABLES` are stored as Delta tables; a fact carries the `round` that made it and the time `at` of that round.
`VIEWS` are what a round is given: derived from the tables once, then kept up by each round. What is left of them beside a lake
(`_base`) says nothing that the tables do not say. `FRAMES` are what the rules of a round give, and are never stored. All
else that speaks of columns and keys (schemas, DDL, empty frames, what `pfspark docs` prints) is made from these declarations.

Ranges are inclusive, `cn_min` to `cn_max`; `origin` and `about` are labels of replicas (`PFS1`, `PFS1~2`); times are UTC.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pfspark.keys import AGENDA, HERE, PAIR
from pfspark.words import PRIORITIES, Action, BackfillStep, Flag, Kind, Outcome, Standing, Why

RANGE = "struct<origin:string,cn_min:bigint,cn_max:bigint>"
STAMP = "struct<at:timestamp,origin:string,cn:bigint>"
PROPERTY = f"struct<name:string,value:string,stamp:{STAMP}>"
CLAIM = "struct<about:string,entry:string,origin:string,cn_min:bigint,cn_max:bigint>"
PREDECESSOR = "struct<origin:string,cn:bigint>"
RECIPIENT = "struct<store:string,due:timestamp,lost:string>"
BROUGHT = "struct<carried:bigint,new:bigint>"


@dataclass(frozen=True)
class Column:
    """One column: its name, its Spark type, and what it says."""

    name: str
    type: str
    says: str


@dataclass(frozen=True)
class Table:
    """A table, a view or a frame: what one row is, which columns name it, and who writes it, or what it is derived from."""

    name: str
    row: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    written_by: str = "round"
    derived_from: str = ""

    @property
    def ddl(self) -> str:
        """The columns as a schema text that Spark takes, nested fields included.

        >>> TABLES["rounds"].ddl.startswith("round bigint, kind string")
        True
        """
        return ", ".join(f"{column.name} {column.type}" for column in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The column names in order."""
        return tuple(column.name for column in self.columns)


def columns(text: str) -> tuple[Column, ...]:
    """Columns written a line each: `name | type | what it says`."""
    rows = (line.split(" | ", 2) for line in text.strip().splitlines())
    return tuple(Column(name.strip(), kind.strip(), says.strip()) for name, kind, says in rows)


def _one_of(words: Iterable[str]) -> str:
    return ", ".join(words)


def _by_name(tables: Iterable[Table]) -> dict[str, Table]:
    return {table.name: table for table in tables}


_FACT = """
round | bigint | the round that made this row; void unless the ledger has it
at | timestamp | the organization's time of that round
"""

TABLES = _by_name(
    [
        Table(
            "organizations",
            "an organization and its policy; the latest row wins",
            ("org",),
            columns("""
org | string | the organization
profile | string | exchange_2000, exchange_2003, exchange_2007 or modern
options | string | options that differ from the profile, as JSON
start | timestamp | where the cycles are counted from
suspended | boolean | whether content replication is suspended for the whole organization (F69)
at | timestamp | when this was said
"""),
            "administrators",
        ),
        Table(
            "stores",
            "an entry of the directory: a store; the latest row wins",
            ("org", "store"),
            columns("""
org | string | the organization
store | string | the store
site | string | where it is; inside a site cost and delay are 0
version | string | version of the server, compared as a number
preferred | boolean | a preferred source of backfill (R99)
interval_s | bigint | seconds between two cycles; null: the policy's
size_limit | bigint | bytes that fit into one message; null: the policy's
schedule | string | when content may be sent; null: always
host | string | the lake that plays this store; null: this one
retired | boolean | no longer part of the organization
at | timestamp | when this was said
"""),
            "administrators",
        ),
        Table(
            "links",
            "cost and delay from one site to another; the latest row wins",
            ("org", "from_site", "to_site"),
            columns("""
org | string | the organization
from_site | string | the asker's, or the sender's, site
to_site | string | the other site
cost | bigint | cost of the connection; without a link 1, and no affinity; null with a null delay: no longer a link
delay_s | bigint | seconds a message takes
at | timestamp | when this was said
"""),
            "administrators",
        ),
        Table(
            "edits",
            "what somebody did at a store, as received; a repeated edit_id is harmless",
            ("org", "edit_id"),
            columns(f"""
org | string | the organization
edit_id | string | names the edit; taken in once
store | string | where it was done
at | timestamp | when it was done
place | bigint | order among the edits of one moment
action | string | {_one_of(Action)}
folder | string | id of the folder, or `@` and the edit that creates it; null when created
item | string | id of the item, or `@` and the edit that posts it; null when posted
name | string | name of an item that is posted
properties | map<string,string> | what is set: properties of a folder, headers of an item
size | bigint | bytes of the body
hash | string | SHA-256 of the body
written | timestamp | when the row was written
"""),
            "anybody, at any time",
        ),
        Table(
            "content",
            "a body, by its SHA-256; a repeat is harmless",
            ("hash",),
            columns("""
hash | string | SHA-256 of the body
body | binary | the raw bytes
envelope | binary | the mbox line before it, if it came from one
size | bigint | bytes of the body
at | timestamp | when it came
"""),
            "whoever writes the edit",
        ),
        Table(
            "changes",
            "a numbered change of an item, or of a folder when the folder is 1-1",
            ("org", "folder", "origin", "cn"),
            columns(f"""
org | string | the organization
folder | string | the folder whose number this is
origin | string | label of the replica that gave the number
cn | bigint | the change number, rising without gaps in one folder at one origin (R31)
object | string | the item or folder changed, named by the change that created it
action | string | {_one_of(Action)}
name | string | name of the item
properties | array<{PROPERTY}> | all properties (R27, R28), each with the stamp of the change that set it
predecessors | array<{PREDECESSOR}> | highest number per origin this change was made upon (F12)
size | bigint | bytes of the body; of a hierarchy change, of its properties
hash | string | SHA-256 of the body
made_at | timestamp | when the user made it; of a hierarchy change, its stamp
edit_id | string | the edit it came from; null when the store made it by itself
{_FACT.strip()}
"""),
        ),
        Table(
            "messages",
            "a replication message, whole",
            ("org", "message_id"),
            columns(f"""
org | string | the organization
message_id | string | derived from time, sender, type, folder and order
type | string | 0x2 0x4 0x8 0x10 0x20 0x80000002 0x80000004
store | string | the sender
sender | string | label of the sender's replica
folder | string | the one folder it is about (R52)
carries | array<{RANGE}> | numbers whose changes travel in it
asks | array<{RANGE}> | numbers it asks for
status | array<{CLAIM}> | what the sender holds, and what it believes of others (R48)
recipients | array<{RECIPIENT}> | to whom, when it is due there, and why it is lost on the way
responders | array<string> | who must answer a status request (R120)
flags | array<string> | {_one_of(Flag)} (F62)
bytes | bigint | sum of the bodies carried
priority | string | {", ".join(PRIORITIES)}: as set on the folder (F48)
{_FACT.strip()}
"""),
        ),
        Table(
            "receipts",
            "what became of a message at one recipient, or of an edit at its store",
            ("org", "store", "message_id", "edit_id"),
            columns(f"""
org | string | the organization
store | string | the recipient, or the store of the edit
message_id | string | the message, or null
edit_id | string | the edit, or null
type | string | type of the message, or action of the edit
sender | string | who sent it, or null
folder | string | the folder it was about
outcome | string | {_one_of(Outcome)}
reason | string | why it was refused or lost
place | bigint | the edit's place among those of its moment
{_FACT.strip()}
counts | {BROUGHT} | of a message with changes: numbers it carried, and those of them that were not held here
"""),
        ),
        Table(
            "state",
            "one range of a store's replication state table (R79-R81)",
            ("org", "store", "folder", "entry", "about", "origin", "cn_min"),
            columns(f"""
org | string | the organization
store | string | whose table it is
folder | string | the folder
entry | string | applied, empty (within applied: settled without content), sent, reported
about | string | label of the replica it speaks of; the store's own for applied and sent
origin | string | label of the replica that gave the numbers
cn_min | bigint | first number
cn_max | bigint | last number
relayed | boolean | heard from a third store (C3)
{_FACT.strip()}
"""),
        ),
        Table(
            "replicas",
            "a step in a replica's life",
            ("org", "store", "folder", "life", "standing"),
            columns(f"""
org | string | the organization
store | string | the store
folder | string | the folder
life | bigint | 1, 2, ...: a new one after erasure or restore (F8)
standing | string | {_one_of(Standing)}
{_FACT.strip()}
"""),
        ),
        Table(
            "backfill",
            "a step of an entry of the backfill array: heard of, or asked for",
            ("org", "store", "folder", "origin", "cn_min", "step", "attempt"),
            columns(f"""
org | string | the organization
store | string | who misses it
folder | string | the folder
origin | string | label of the replica that gave the numbers
cn_min | bigint | first number
cn_max | bigint | last number
step | string | heard, asked; named: `of` must answer a status request, and no number is meant (R126)
of | string | the store asked; null when heard
attempt | bigint | 0 when heard, 1 for the first request
since | timestamp | when it was asked for before; null the first time
due | timestamp | when it is asked for again, unless it comes
{_FACT.strip()}
"""),
        ),
        Table(
            "agenda",
            "when a (store, folder) must next be looked at, and why; the latest row wins",
            AGENDA,
            columns(f"""
org | string | the organization
store | string | the store
folder | string | the folder
why | string | {_one_of(Why)}
peer | string | the other store it is about; empty when none
attempt | bigint | how often it was done
since | timestamp | what the time is counted from
due | timestamp | the moment; null when it is settled
{_FACT.strip()}
"""),
        ),
        Table(
            "rounds",
            "the ledger: a round counts once its row is here",
            ("round",),
            columns(f"""
round | bigint | 1, 2, ... without gaps
kind | string | {_one_of(Kind)}
writer | string | who wrote it
turns | array<struct<org:string,now:timestamp>> | the organizations that played, each at its own time
began | timestamp | wall time
ended | timestamp | wall time
versions | map<string,bigint> | the version of every table that belongs to this round
cursors | map<string,bigint> | how far the edits have been taken in
counts | map<string,bigint> | rows written to each table
next_due | map<string,timestamp> | when each organization has something to do; absent when nothing
restored | array<struct<org:string,store:string,to:bigint>> | stores whose own rows this round took back to those of round `to`
digest | string | SHA-256 over this row and the digest before
format | bigint | version of these tables
facts | map<string,string> | SHA-256 over this round's rows in each table; of a table that upkeep wrote anew, over all rows
"""),
            "round, last",
        ),
    ]
)

ADDED = {"rounds": ("facts",), "receipts": ("counts",)}
"""Columns that came with a later format (2, 3; `ledger.FORMAT`): tables made before get them with the next row that is written,
and in rows of before they are null."""

VIEWS = _by_name(
    [
        Table(
            "clock",
            "an organization that plays this round: its time and its policy",
            ("org",),
            columns("""
org | string | the organization
now | timestamp | its time
start | timestamp | where its cycles are counted from
suspended | boolean | content replication is suspended (F69)
night | boolean | whether it is the first round not before a nightly maintenance (F56)
interval_s | bigint | seconds between two cycles of a store
size_limit | bigint | bytes that fit into one message (R53)
folders_per_hierarchy_message | bigint | null: only the size counts (F53)
relay_status | boolean | whether status tells of others too (C3)
hierarchy_merge | string | object or property
source_keys | array<string> | sort keys of backfill sources in order (R98-R102, R108-R113)
full_match_first | boolean | whether one source with everything beats the order (R114-R118)
backfill_local_s | array<bigint> | first request, first retry, later retries (R91)
backfill_remote_s | array<bigint> | the same where no store of the same site has it
delete_pending_timeout_s | bigint | first request when a leaver has it (D6)
answer_when | string | has_more or always (C4)
responders_list_change | string | all, three_and_oldest or three (R120, R130)
responders_restore | string | the same, after a restore or at start-up (R132)
status_after_s | bigint | seconds from the last change to the unasked status (R136)
status_clock_s | array<bigint> | seconds of the day at which it may go; empty: any (R137)
status_again_s | array<bigint> | first and longest wait between repeats; empty: off
removal_rule | string | one_holds_all or union_holds_all (C5)
maintenance_s | bigint | second of the day of the nightly maintenance (F56)
age_limit_s | bigint | seconds after which items expire where the folder sets no limit; null: never (F57)
"""),
            "runner",
        ),
        Table(
            "conditions",
            "what is wrong with a store just now; no row: nothing",
            ("org", "store"),
            columns("""
org | string | the organization
store | string | the store
cut | boolean | what it sends and what would reach it is lost
down | boolean | it plays no part, and what reaches it is lost
"""),
            "runner",
        ),
        Table(
            "faults",
            "what the way from one store to another does to mail that leaves just now; no row: nothing",
            ("org", "store", "peer"),
            columns("""
org | string | the organization
store | string | the sender
peer | string | the recipient
lost | double | the share of letters that never arrives
twice | double | the share that arrives twice
late_s | bigint | by how many seconds a letter may be late
seed | bigint | by which the faults of each letter are drawn
"""),
            "runner",
        ),
        Table(
            "mail",
            "a message in flight to one recipient",
            ("org", "message_id", "recipient"),
            columns(f"""
org | string | the organization
message_id | string | the message
recipient | string | the store it is for
due | timestamp | when it is there
lost | string | why it will not arrive, or null
type | string | as in messages
store | string | the sender
sender | string | label of the sender's replica
folder | string | the folder
carries | array<{RANGE}> | as in messages
asks | array<{RANGE}> | as in messages
responders | array<string> | as in messages
flags | array<string> | as in messages
at | timestamp | when it was sent
"""),
            derived_from="messages - receipts",
        ),
        Table(
            "letters",
            "what a message in flight says, once for all whom it goes to: of n stores each tells all others of all others",
            ("org", "message_id"),
            columns(f"""
org | string | the organization
message_id | string | the message
status | array<{CLAIM}> | as in messages
"""),
            derived_from="messages - receipts",
        ),
        Table(
            "tree",
            "one property of one folder as one store sees it: the value with the highest stamp it holds",
            ("org", "store", "folder", "property"),
            columns(f"""
org | string | the organization
store | string | who sees it
folder | string | the folder
property | string | name, parent, ...; where whole objects win also *, which one did, and *replica:<store>, what it overrules
value | string | its value
stamp | {STAMP} | the change that set it
"""),
            derived_from="changes of 1-1 that the store holds",
        ),
        Table(
            "folders",
            "a folder as one store sees it",
            ("org", "store", "folder"),
            columns("""
org | string | the organization
store | string | who sees it
folder | string | the folder
parent | string | its parent; empty at the top
dead | boolean | deleted, or under a deleted one (R140)
"""),
            derived_from="tree",
        ),
        Table(
            "lists",
            "an entry of a folder's replica list as one store sees it",
            ("org", "store", "folder", "peer"),
            columns("""
org | string | the organization
store | string | who sees it
folder | string | the folder
peer | string | the store listed
listing | string | listed, removed, gone
"""),
            derived_from="tree",
        ),
        Table(
            "lives",
            "the newest life above the first that a store has read of a peer's replica",
            ("org", "store", "folder", "peer"),
            columns("""
org | string | the organization
store | string | who has read it
folder | string | the folder
peer | string | whose replica
life | bigint | 2, 3, ...
"""),
            derived_from="labels in messages",
        ),
        Table(
            "array",
            "an open piece of the backfill array",
            ("org", "store", "folder", "origin", "cn_min"),
            columns("""
org | string | the organization
store | string | who misses it
folder | string | the folder
origin | string | label of the replica that gave the numbers
cn_min | bigint | first number
cn_max | bigint | last number
heard | timestamp | when it was first heard of
attempt | bigint | how often it was asked for
asked | timestamp | when it was last asked for; null: never
"""),
            derived_from="backfill - applied",
        ),
        Table(
            "contacts",
            "what one store remembers of its dealings with another",
            ("org", "store", "peer"),
            columns("""
org | string | the organization
store | string | who remembers
peer | string | the other store
heard | timestamp | last message of any kind from it
sent | timestamp | last message with changes from it: known to be active (R123)
asked | timestamp | when it was last backfilled from (R108)
silent | timestamp | when it becomes unavailable unless it is heard (R105)
"""),
            derived_from="receipts, backfill",
        ),
    ]
)

_SAID = {
    column.name: column
    for column in columns(f"""
org | string | the organization
store | string | the store
folder | string | the folder
origin | string | label of the replica that gave the numbers
cn | bigint | the change number
last | bigint | the last number given; 0: none yet
cn_min | bigint | first number
cn_max | bigint | last number
peer | string | the other store
recipient | string | who receives the message
sender | string | label of the sender's replica
about | string | label of the replica it is about
label | string | label of the replica that gives the number
entry | string | applied, empty, reported or sent, as in state
relayed | boolean | heard from a third store (C3)
life | bigint | 1, 2, ...: a new one after erasure or restore (F8)
standing | string | {_one_of(Standing)}
now | timestamp | the organization's time
at | timestamp | the organization's time of the round; of an edit or a message, when it was made
nth | int | place among the edits of a store in this round
place | bigint | place among the edits of a moment
decided | timestamp | of what a store says by itself: what it follows from; null: somebody's edit
action | string | {_one_of(Action)}
edit_id | string | the edit
item | string | the item that the edit is about
object | string | the item, or the folder of the hierarchy
target | string | the folder that the edit is about; one that is made in this round: @ and its edit
parent | string | the folder above; empty at the top
above | string | a folder above it, in the tree of that store
branch | string | the nearest folder above it, or itself, that is followed edit by edit
name | string | how people call it
properties | map<string,string> | what the edit sets
properties_all | array<{PROPERTY}> | all properties of the folder after the edit
size | bigint | bytes of the body
hash | string | SHA-256 of the body
made_at | timestamp | when it was modified
predecessors | array<{PREDECESSOR}> | the highest numbers, per origin, of what it was made upon (F12)
upon | array<{PREDECESSOR}> | the highest numbers, per origin, that a change made now is made upon
known_as | string | the name of the item so far
deleted | boolean | whether readers see it deleted
dominated | boolean | whether the store holds a version that was made upon this one (F27)
version | string | the number, written PFS2:21
losers | array<string> | other versions that nothing was made upon
conflict | boolean | whether there are losers
on | boolean | whether the store is on the folder's replica list after the edit
reason | string | why it was refused; null: it was not
listing | string | listed, removed, gone
deleted_with | array<struct<folder:string,since:int>> | folders that deletions take along, each with the place of the deletion
too_deep | array<int> | places of edits that would place a folder too deep
message_id | string | the message
type | string | kind of message or edit
lost | string | why it did not arrive, or null
carries | array<{RANGE}> | the numbers that the message carries
asks | array<{RANGE}> | the numbers that the message asks for
status | array<{CLAIM}> | what the sender says of itself, and of others
responders | array<string> | who must answer; nobody: all
flags | array<string> | marks of the message (F62)
bytes | bigint | how large it is
recipients | array<{RECIPIENT}> | to whom it goes, and when it is there
peers | array<string> | to whom it goes
within | string | the folder, as it is called by then
delays | map<string,bigint> | seconds that mail takes to each store where it takes any
priority | string | {", ".join(PRIORITIES)} (F48)
outcome | string | {_one_of(Outcome)}
counts | {BROUGHT} | of a message with changes: numbers it carried, and those of them that were not held
asker | string | who has asked for it; null: nobody, it goes to all
batch | int | which message of several, from 0
applied | bigint | how many ranges of what is held cover it
arriving | bigint | how many ranges of what has just come cover it
claimed | bigint | how many replicas claim content
void | bigint | how many replicas have settled it without content
near | bigint | how many of those that claim it are in the same site
leaving | bigint | how many of those that claim it are leaving
open | bigint | 1: it is in the array
heard | timestamp | when it was first heard of; of a peer, when it was last heard
attempt | bigint | how often it was asked for
asked | timestamp | when it was last asked for, or the peer was; null: never
suspended | boolean | content replication is suspended (F69)
due | timestamp | when its time comes; null: never, as things are
since | timestamp | what the time is counted from
goes | boolean | whether it goes now
before | timestamp | when it was due so far
why | string | why the folder must be looked at
step | string | {_one_of(BackfillStep)}
of | string | the store asked
rule | string | who must answer: all, three or three_and_oldest
must | boolean | whether it must answer
leaver | boolean | whether it wants to leave
stamped | boolean | whether it goes to the end of the queue (R122)
said | timestamp | when the answer was sent
proof | string | answers that count together
began | timestamp | when the leaver became one
schedule | string | when content may be sent
size_limit | bigint | bytes that fit into one message
limit_s | bigint | seconds after which items expire
status_again_s | array<bigint> | first and longest wait between repeats
age_limit_s | bigint | seconds after which items expire where the folder sets no limit
rows | bigint | how many there are
numbers | bigint | how many numbers they have
by_somebody | boolean | whether an edit has made one of them, and not the store by itself
check | string | the promise that is broken
sample | string | one of the rows that break it, as JSON
cause | string | what can be said of the numbers (`words.Cause`)
next_at | timestamp | the round in which something happens to them next; null: none, as things are
next_what | string | what happens then
next_of | string | who does it, or of whom it is asked
next_type | string | the type of the message by which it happens
""")
}
"""What a column says in every frame of a round that does not say its own of it."""


def _frame(name: str, row: str, names: str, own: str = "") -> Table:
    """A frame of a round, of the columns that are named; `own`: those that say something else there than elsewhere."""
    said = {**_SAID, **{column.name: column for column in columns(own) if own}}
    return Table(name, row, (), tuple(said[each] for each in names.split()), "rules")


_KEYS = "org store folder"
_RANGES = f"{_KEYS} origin cn_min cn_max"
_STATE = f"{_KEYS} entry about origin cn_min cn_max relayed"
_MESSAGE = "org recipient store folder message_id lost type sender carries asks responders flags at now"
_EDIT = "org store folder item edit_id at place action name properties size hash now nth decided"
_PLACED = f"{_EDIT} parent target"
_NUMBERED_FOLDER = f"{_EDIT} parent object reason on label cn"
_VERSION = "org folder origin cn object action name properties predecessors size hash made_at edit_id at"
_OF_VERSION = f"properties | array<{PROPERTY}> | all properties, each with the stamp of the change that set it (R27, R28)"
_SINCE = "since | int | place of the deletion among the edits of its store"
_PIECE = f"{_RANGES} open heard attempt asked claimed near leaving"
_ENTRY = f"{_KEYS} why peer attempt since due"
_RECEIPT = "org store message_id edit_id type sender folder outcome reason place at counts"

FRAMES = _by_name(
    [
        # any part of a round
        _frame("keys", "a folder at a store", _KEYS),
        _frame("keys_due", "a folder at a store, and when its time comes", f"{_KEYS} due"),
        _frame("strokes", "a folder that tells its status unasked, and when", f"{_KEYS} since due"),
        _frame("keys_on", "whether a store is on a folder's list after an edit", f"{_KEYS} nth on"),
        _frame("stores", "a store", "org store"),
        _frame("orgs", "an organization", "org"),
        _frame("ranges", "numbers of a folder at a store", _RANGES),
        # what is due, and what has come
        _frame("due", "an entry of the agenda whose time has come", _ENTRY),
        _frame("delivered", "a message delivered to a recipient, or lost at its door", _MESSAGE),
        _frame("carried", "numbers that a message brings", f"{_KEYS} origin message_id cn_min cn_max"),
        _frame("validated", "a message that has come, with the reason where it is refused", f"{_MESSAGE} reason"),
        # the hierarchy
        _frame("versions_held", "a version of an item or folder that a store holds", f"{_VERSION} store", _OF_VERSION),
        _frame("moves", "a step that a replica takes now", f"{_KEYS} life standing"),
        _frame("steps", "a step that a replica takes, and when", f"{_KEYS} life standing at"),
        _frame("acknowledgements", "an answer that may release a leaver", f"{_KEYS} sender status said proof began"),
        # edits
        _frame("names", "the change that an edit became", "org edit_id object"),
        _frame("repeated", "a name that more than one edit has", "org edit_id"),
        _frame("edits", "an edit to be taken in, with the reason where it is refused at once", f"{_EDIT} reason"),
        _frame(
            "said_by_itself",
            "an edit by which a leaver speaks of itself",
            "org store edit_id at place action folder properties now nth decided",
        ),
        _frame("resolved_folders", "an edit of the hierarchy with the folder it is about", _PLACED),
        _frame("ancestors", "a folder, and the one that is 2^k levels above it, k times `twice_as_far`", f"{_KEYS} above"),
        _frame("branches", "a folder, and the one it goes with where edits move or delete that", f"{_KEYS} branch"),
        _frame("followed", "what becomes of a store's tree by its edits", "org store deleted_with too_deep"),
        _frame("deleted_with_parent", "a folder that a deletion takes along", f"{_KEYS} since", _SINCE),
        _frame("too_deep", "an edit that would place a folder too deep", "org store nth"),
        _frame("validated_folders", "an edit of the hierarchy and its verdict", f"{_PLACED} reason on"),
        _frame("numbered_folders", "an edit of the hierarchy that is taken in, with its number", _NUMBERED_FOLDER),
        _frame(
            "written_folders",
            "an edit of the hierarchy that is taken in, with all that its change will say",
            f"{_NUMBERED_FOLDER} made_at properties_all".replace(" properties ", " "),
        ),
        _frame(
            "folder_edits", "an edit of the hierarchy, taken in or refused", f"{_NUMBERED_FOLDER} made_at properties_all target"
        ),
        _frame("last_numbers", "the last number that a replica has given", f"{_KEYS} label last"),
        _frame("lineage", "what a change of an item would be made upon", f"{_KEYS} object upon deleted known_as"),
        _frame("as_of", "what edits of folders make of the place of an edit", "org edit_id within since on", _SINCE),
        _frame("validated_items", "an edit of an item and its verdict", f"{_EDIT} reason upon known_as"),
        _frame(
            "numbered_items", "an edit of an item, taken in with its number or refused", f"{_EDIT} reason upon known_as label cn"
        ),
        _frame(
            "written_items",
            "an edit of an item that is taken in, with all that its change will say",
            f"{_EDIT} reason label cn object predecessors",
        ),
        _frame("new_changes", "a change made in this round, with the store", f"{_VERSION} store", _OF_VERSION),
        _frame("superseded", "a number upon which its sender knows a later change", f"{_KEYS} origin cn"),
        _frame("issued", "the numbers that a replica has given in this round", f"{_RANGES} rows numbers by_somebody"),
        _frame("last_given", "the last number of an origin that a change has", "org folder origin last"),
        _frame("changes", "a change", _VERSION, _OF_VERSION),
        # what stores know
        _frame("state_rows", "a row of the replication state table", _STATE),
        _frame("told", "what a store is told of another, and who says it", f"{_KEYS} entry about origin cn_min cn_max sender"),
        _frame("beliefs", "what a store believes of another", f"{_KEYS} entry about origin cn_min cn_max"),
        _frame(
            "claims",
            "what a store that may be asked is believed to hold",
            f"{_KEYS} origin peer about near leaving entry cn_min cn_max",
            """
near | boolean | whether it is in the store's own site
leaving | boolean | whether it is off the list, and still holds
""",
        ),
        _frame(
            "claim_layer",
            "a claim, as it is added up in the coverage",
            f"{_RANGES} claimed void near leaving",
            """
claimed | int | 1: it claims content; -1: it has settled it without
void | int | 1: it has settled it without content
near | int | 1: it claims content, and is in the same site
leaving | int | 1: it claims content, and is leaving
""",
        ),
        _frame(
            "coverage",
            "a piece of the numbers of a folder, with what covers it",
            f"{_RANGES} applied arriving claimed void near leaving open heard attempt asked",
            """
heard | bigint | when it was first heard of, in microseconds since 1970; 0: it is not in the array
attempt | bigint | how often it was asked for; 0 too where it is not in the array
asked | bigint | when it was last asked for, in microseconds since 1970; 0: never
""",
        ),
        # backfill
        _frame("noted", "a piece of the backfill array", _PIECE),
        _frame("timed", "a piece of the array that others claim, and when it is asked for", f"{_PIECE} now suspended due"),
        _frame("gives", "numbers that a peer can give, canonical per peer", f"{_KEYS} origin peer cn_min cn_max"),
        _frame(
            "ranked", "a source, and its place in the order", f"{_KEYS} peer nth", "nth | int | place among the sources, from 1"
        ),
        _frame("chosen", "a piece and whom it is asked of", f"{_KEYS} peer origin cn_min cn_max near leaving attempt asked now"),
        _frame("asks", "a piece that is asked for now", f"{_KEYS} peer origin cn_min cn_max near leaving attempt asked now due"),
        _frame("backfill", "a step of an entry of the backfill array", f"{_RANGES} step of attempt since due at"),
        _frame("answers", "numbers that go to who has asked for them", f"{_KEYS} asker origin cn_min cn_max"),
        _frame("unserved", "an asker to whom nothing can be given", f"{_KEYS} peer"),
        # sending, packing
        _frame("cycle", "a folder with something to send, and when it goes", f"{_KEYS} since due goes"),
        _frame("limits", "what is set on a folder for its messages", f"{_KEYS} schedule size_limit priority"),
        _frame("updates", "a change as it travels", f"{_KEYS} asker origin cn bytes"),
        _frame("packed", "the content of a message", f"{_KEYS} asker batch carries bytes"),
        _frame("recipients", "to whom a store's own changes go", f"{_KEYS} peer"),
        _frame("holders", "another holder of a folder", f"{_KEYS} peer listing"),
        # status
        _frame("status_requests", "a status request to be answered", f"{_KEYS} peer status leaver"),
        _frame("answered", "an asker who is answered by status", f"{_KEYS} peer flags"),
        _frame("beginning", "a replica that asks for status now", f"{_KEYS} rule"),
        _frame("responders", "who must answer a status request", f"{_KEYS} peer stamped now"),
        _frame(
            "inquiries",
            "whom a status request goes to, and when again",
            f"{_KEYS} peer asks must attempt since due leaver",
            "asks | boolean | whether a request goes to it now",
        ),
        _frame("repeating", "an organization whose policy repeats status", "org now status_again_s"),
        _frame("repeats", "status that is repeated, and when", f"{_KEYS} goes attempt since due before"),
        # messages
        _frame(
            "drafts",
            "a message before it has a sender, status and recipients",
            f"{_KEYS} type peers carries asks responders flags bytes",
        ),
        _frame("delays", "a store from which mail takes time", "org store delays"),
        _frame("senders", "who speaks about a folder", f"{_KEYS} sender"),
        _frame("statuses", "the status part of a message", f"{_KEYS} status"),
        _frame(
            "messages",
            "a message",
            f"{_KEYS} message_id type sender carries asks status responders flags at recipients bytes priority",
        ),
        # growing old, the agenda, what is written
        _frame("aging", "an organization in which all items grow old", "org age_limit_s"),
        _frame("limited", "a replica whose items grow old", f"{_KEYS} limit_s"),
        _frame("night_shift", "a replica whose items the nightly maintenance looks at now", f"{_KEYS} limit_s now"),
        _frame(
            "versions", "a version that a store holds, and whether it is dominated", f"{_VERSION} store dominated", _OF_VERSION
        ),
        _frame(
            "readable", "an item as readers at a store see it", f"{_VERSION} store version losers conflict deleted", _OF_VERSION
        ),
        _frame("entries", "an entry of the agenda", _ENTRY),
        _frame("decided", "entries of the agenda that the round decides as a whole", f"{_KEYS} why"),
        _frame("agenda", "an entry of the agenda as it changes", f"{_ENTRY} at"),
        _frame("receipts", "what became of a message or an edit", _RECEIPT),
        _frame("state", "a row of the replication state table, and when", f"{_STATE} at"),
        _frame("violations", "numbers by which a round breaks a promise", f"{_RANGES} check"),
        # looked at by who watches over the organization
        _frame("broken", "how many rows of an organization break a promise, by its place among them", "org check rows sample"),
        # why a number is here, or is not
        _frame(
            "letters_due",
            "a letter with its status that a store will write, when, and when it arrives",
            f"{_KEYS} peer at due type",
        ),
        _frame(
            "evidence",
            "what is known of numbers; without a cause: of any",
            f"{_RANGES} cause nth due of type message_id at reason version",
            "nth | bigint | of evidence for one cause the lowest counts",
        ),
        _frame("causes", "numbers of one cause", f"{_RANGES} cause since standing attempt due"),
        _frame(
            "explained",
            "numbers of which one thing can be said",
            f"{_RANGES} cause since of attempt standing reason version message_id at next_at next_what next_of next_type",
        ),
    ]
)
"""What the rules of a round give, by name; `frame.rule` says which."""

REPLACED = {
    "tree": HERE,
    "folders": HERE,
    "lists": HERE,
    "replicas": HERE,
    "array": HERE,
    "agenda": AGENDA,
    "contacts": PAIR,
    "lives": (*HERE, "peer"),
}
"""The key by which what a round gives replaces rows of a view: all rows of that key that were there before."""
REPLACED_IN = {"lists": "folders", "array": "dirty"}
"""Views in which nothing may be left under a key: what names the folders that are replaced there. A folder of `folders` loses its
rows of `lists`, one of `dirty` those of `array`, though the round gives none in their place."""

EVERY = {**TABLES, **VIEWS}
"""Tables and views by name; not the frames."""
