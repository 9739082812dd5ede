"""Every JSON line that a verb prints, said once.

Keys may be added to a line, never removed or renamed. What speaks of them elsewhere (the frames of answers, CSV files, what
`pfspark docs` prints) is made from these declarations.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pfspark.tables import TABLES, Column, columns

Line = dict[str, Any]
"""One JSON line, before it is written as text: its `kind`, and the keys that are declared of it."""


@dataclass(frozen=True)
class KindOfLine:
    """A kind of JSON line: what one line is, which verbs print it, and its keys beside `kind`.

    Types are Spark's, and two of texts: `time` (`2026-01-05T00:15:00Z`) and `set` (`PFS1:1-11:17,PFS2:1-20`). A type with
    `?` may be null, a key with `?` absent.
    """

    kind: str
    line: str
    verbs: tuple[str, ...]
    keys: tuple[Column, ...]

    @property
    def ddl(self) -> str:
        """The keys as columns of a frame: times are timestamps, sets are texts (`cnset.from_text` gives their ranges).

        >>> LINES["loss"].ddl
        'org string, store string, folder string, id string, numbers string, changes bigint'
        """
        types = ((key.name, re.sub(r"\bset\b", "string", re.sub(r"\btime\b", "timestamp", key.type))) for key in self.keys)
        return ", ".join(f"{name} {type}".replace("?", "") for name, type in types)


_OF = """
org | string | the organization
at | time | the organization's time
"""
_HERE = f"""
{_OF.strip()}
store | string | the store
folder | string | path of the folder as that store sees it, its id where it does not; 1-1 is the hierarchy
"""


def _line(kind: str, line: str, verbs: str, keys: str) -> KindOfLine:
    return KindOfLine(kind, line, tuple(verbs.split(", ")), columns(keys))


LINES = {
    each.kind: each
    for each in [
        _line(
            "message", "a replication message as it is sent", "play, round, run, demo, log messages", f"""
{_OF.strip()}
type | string | 0x2 0x4 0x8 0x10 0x20 0x80000002 0x80000004
from | string | the sender
to | array<string> | the stores it is addressed to
folder | string | path of the folder as the sender sees it; 1-1 is the hierarchy
id? | string | the folder's id, where the store sees two of that path
carries | set | numbers whose changes travel in it
asks | set | numbers it asks for
bytes | bigint | sum of the bodies carried; of a hierarchy change, the length of its properties
priority? | string | not urgent or urgent; absent: normal
"""),
        _line(
            "refused", "an edit that its store refused, or a message that its recipient did", "play, round, run, demo", f"""
{_OF.strip()}
store | string | who refused
what | string | edit or message
step? | bigint? | in a play: the step of the file that made the edit
edit? | string? | in a lake: the edit
reason | string | why
type? | string? | of a message its type; of an edit what it does, in a play the verb of its step
folder? | string? | path or id of the folder
item? | string? | of an edit: the item, by its name or its id
"""),
        _line(
            "state", "a replica that is not erased: its sets, what it believes of others, what it misses",
            "state, play, demo", f"""
{_HERE.strip()}
id? | string | the folder's id, where the store sees two of that path
applied | set | the numbers it has
empty | set | of these, those that were settled without content
sent | set | those that it has sent
reported | map<string,set> | what it believes that each other replica has, by store
missing | set | numbers in its backfill array that somebody claims to have
lost | set | numbers in its backfill array that nobody claims any more
life | bigint | which life of the replica
standing | string | active, delete pending, delete now
"""),
        _line(
            "item", "an item as readers at a store see it", "items, play", f"""
{_HERE.strip()}
id? | string | the folder's id, where the store sees two of that path
item | string | its id: the number that created it
name | string? | its name
version | string | the number of the version that stands
deleted | boolean | whether that is a deletion
conflict | boolean | whether versions stand beside it that none was made upon
losers | array<string> | those versions
"""),
        _line(
            "folder", "a folder as a store sees it", "folder list, folder show, replica list, play", f"""
{_OF.strip()}
store | string | who sees it
path | string | its path
id | string | its id: the number that created it
replicas | map<string,string> | how each replica stands, by store
properties? | map<string,string> | what else is set on it, as people write it; `folder show` alone
"""),
        _line(
            "end", "the end of a play, an organization's last line", "play", f"""
{_OF.strip()}
rounds | bigint | how many rounds its time had, idle ones too
converged | boolean | whether all active replicas hold the same, and all stores see the same hierarchy
missing | bigint | numbers in open arrays
violations | bigint | rows that break a promise
broken? | map<string,bigint> | which promises, and by how many rows; absent: none
"""),
        _line(
            "results", "what a run played and how it ended: the one object in the file of --results", "round, run", """
lake | string? | the lake, as it was named
began | time | when the run began, by the clock on the wall
ended | time | and ended
took_ms | bigint | how long it took, in milliseconds
status | string | success or error
exit_code | bigint | as the verb ended
message | string? | what went wrong
rounds | array<struct<round:bigint?,at:time,rows:bigint,took_ms:bigint>> | of each round its number (null: a dry run), the time \
that it was of, how many rows it wrote, how long it took
refused | bigint | how many edits were refused
"""),
        _line(
            "scenario", "a scenario at hand", "play", """
name | string | by which it is played
called | string | its organization
profile | string | whose rules it follows
lasts | string | how long it takes there
says | string | what it tells
file | string | where it stands
"""),
        _line(
            "plan", "what applying a file does, or would do, to a part of an organization", "apply, init", """
org | string | the organization
what | string | add, change, remove, stays (the file does not have it) or same
of | string | organization, option, store, link, folder or replica
name | string | which one; of replicas the path of their folder
before | map<string,string> | what differs, as people write it; of what stays or is removed all
after | map<string,string> | what it will be
says | string? | why it stays; of a store that is retired, what it still has
"""),
        _line(
            "organization", "an organization as a file says it", "show", f"""
{_OF.strip()}
store | string? | whose folders; null: there is no store
profile | string | exchange_2000, exchange_2003, exchange_2007 or modern
start | time | where its cycles are counted from
suspended | boolean | whether content replication is suspended
options | map<string,string> | options that differ from the profile
stores | map<string,map<string,string>> | what is said of each store
links | array<map<string,string>> | links between sites; sites: both directions
folders | map<string,map<string,string>> | by path what is set on each folder, its replicas too
"""),
        _line(
            "option", "an option in force", "org show", f"""
{_OF.strip()}
option | string | its name
value | string | as it is
profile | string | as the profile has it
differs | boolean | whether it was said otherwise
says | string | what it is about
"""),
        _line(
            "link", "a link from one site to another", "link list", f"""
{_OF.strip()}
from_site | string | the asker's, or the sender's, site
to_site | string | the other site
cost | bigint | cost of the connection
delay_s | bigint | seconds a message takes
"""),
        _line(
            "gap", "a range in a backfill array", "gaps, demo", f"""
{_HERE.strip()}
id? | string | the folder's id, where the store sees two of that path
origin | string | label of the replica that gave the numbers
cn_min | bigint | first number
cn_max | bigint | last number
heard | time | when the store first heard of them
attempt | bigint | how often it has asked for them
asked | time? | when it asked last; null: not yet
of | string? | whom
due | time? | when it asks (again) unless they come; null: nobody has them, or suspension holds it back
"""),
        _line(
            "why", "numbers of which one thing can be said: that they are at a store, or why they are not", "why, play", f"""
{_HERE.strip()}
id? | string | the folder's id, where the store sees two of that path
item | string | the numbers, as a set; of an edit that has none yet its name, or `@` and the edit
here | boolean | whether the store has them
cause | string | the first that applies, of those in the README
since | time? | since when that is so; null: the tables do not say
says | string | the same as a sentence
next | struct<at:time?,what:string,of:string?>? | what happens to them next if nobody does anything else and \
no mail is lost: in which round (null: nobody can say), what (take_in, send, arrive, ask, ask_again, hear), by whom or of \
whom; null: nothing
because | array<struct<rule:string,says:string,table:string,round:bigint?,at:time?>> | which rules decided, by which rows
"""),
        _line(
            "hop", "what happened to numbers on their way through an organization", "trace", f"""
{_HERE.strip()}
id? | string | the folder's id, where the store sees two of that path
item | string | the numbers, as a set
round | bigint? | the round in which it happened; null: a restore, or the ledger does not tell it any more
what | string | numbered, sent, arrived, lost, refused, heard, asked, answered, applied, settled, superseded, forgotten
peer | string? | the other store: of what is sent or answered the recipient, of what arrives, is lost or refused the sender, of \
what is heard who told it, of what is asked for who was asked
says | string | what the store does, as words
rule | string | the rule by which it happens
message_id | string? | the message
type | string? | its type
by | string? | of what is sent: why then. `cycle`: the store's own; `schedule`: it waited for the folder's or the store's to \
open; `late`: the store was down, or its content suspended; null: the tables do not say, or somebody had asked for it
until | time? | when the letter is there; of a request, when the store asks again unless it comes
attempt | bigint? | of a request: which it is, 1 for the first; null: upkeep has let go of it
reason | string? | why it was lost or refused; the version that was made upon it
waited | bigint? | seconds since what happened there last, or since the number was given; null: neither is known
candidates | array<struct<store:string,gives:string,amount:bigint,keys:array<struct<key:string,value:bigint?>>>>? | of a \
request: of whom it could be asked, in that order; what of the numbers each can give, how many of all that are missing, and the \
sort keys that decide, the lowest first (null: the key says nothing of it, and goes last); null: upkeep has let go of it
"""),
        _line(
            "cause", "why replicas lack what they lack: a cause, counted", "why", f"""
{_OF.strip()}
cause | string | as in `why`
numbers | bigint | how many numbers, or edits, it holds
replicas | bigint | at how many replicas
since | time? | the oldest
store | string | where that is
folder | string | path of the folder as that store sees it
id? | string | the folder's id, where the store sees two of that path
item | string | what it is
says | string | why
next | struct<at:time?,what:string,of:string?>? | what happens to it next; null: nothing
"""),
        _line(
            "whatif", "how an organization comes out that is played on: as it is, or with steps", "whatif", f"""
{_OF.strip()}
world | string | as_is or what_if
variant | string? | the name of the world, of what is done in it; null: as it is
until | time | how far it was played
rounds | bigint | how many rounds it took
converged | boolean | whether all replicas are equal in the end
equal | time? | since when they are; null: they are not
missing | bigint | numbers in open arrays in the end
most | bigint | the most there were after a round
most_at | time? | and when
messages | bigint | how many were sent
letters | bigint | and to how many recipients, each counted for itself
bytes | bigint | what these carry together
types | map<string,struct<messages:bigint,bytes:bigint>> | the messages by type
links | map<string,struct<letters:bigint,bytes:bigint>> | the letters by the sites they go between, as `Redmond > Paris`
lost | array<struct<store:string,folder:string,numbers:string>> | what is missing in the end and claimed by nobody any more
refused | map<string,bigint> | refused edits by reason
released | array<struct<store:string,folder:string,at:time>> | replicas that were erased
stores | map<string,struct<sent:bigint,received:bigint,bytes:bigint,missing:bigint>> | by store: letters, bytes sent, \
missing in the end
difference | struct<at:time,store:string,says:string,rule:string,table:string>? | what differs first from the world as it is; \
null: nothing
"""),
        _line(
            "diff", "what changed between two moments", "diff", f"""
{_HERE.strip()}
id? | string | the folder's id, where two have that path: the store sees both, or one was deleted and the other made since
what | string | tree (a property of the folder), list (a replica), standing (of the store's own), numbers (held), holes (missing)
name | string? | the property, or the replica
before | string? | what it was; of numbers and holes: those that are not there any more
after | string? | what it is; of numbers and holes: those that are new
"""),
        _line(
            "drain", "what must happen before a store can be switched off", "drain", f"""
{_OF.strip()}
store | string | the store
until | time | how far it was played
replicas | bigint | how many it has, but the hierarchy
empty | time? | when the last of them is erased if all leave their lists now; null: not by then, or more are coming
released | array<struct<folder:string,at:time>> | those that are erased by then
needs_another | array<string> | folders of whose list it is the only replica in use: these need another first
coming | array<string> | folders that it is to hold by what others see or have said, and has no replica of yet
waiting | bigint | edits that wait there, which nobody else has
lost_now | array<struct<folder:string,numbers:string>> | what nobody else has: without it that would be lost
"""),
        _line(
            "status", "an organization at a glance", "status", f"""
{_OF.strip()}
replicas | bigint | how many there are
played | boolean | whether it has had a round; before, what was said and done there waits
suspended | boolean | whether replication of content is suspended for the whole organization
equal | boolean | whether the active ones of each folder hold the same
waiting | bigint | edits that no round has taken in
missing | bigint | numbers in open arrays that somebody claims to have
lost | bigint | and those that nobody claims any more
due | time? | when there is something to do; null: never, as things are
ahead | string? | by how much its clock is ahead of the clock on the wall; null: it is not
"""),
        _line(
            "replica", "how a replica stands: belief and truth", "status", f"""
{_HERE.strip()}
id? | string | the folder's id, where the store sees two of that path
standing | string | active, delete pending, delete now
holds | bigint | how many changes it has
missing | bigint | numbers in its backfill array that somebody claims to have
lost | bigint | and those that nobody claims any more
since | time? | when it heard of the oldest of them
lacks | bigint | what others have in truth, and it does not
peers | map<string,struct<believed:bigint,truth:bigint,heard:time?>> | by store: what it believes that the other lacks, \
what that lacks in truth, and when it heard of it last
"""),
        _line(
            "referral", "where a store sends a reader of a folder", "referrals", f"""
{_HERE.strip()}
id | string | the folder's id
stores | array<string> | to whom, in order
costs | array<bigint> | and at which cost
cheapest | bigint | how many of the first share the readers
"""),
        _line(
            "event", "a replication event of a store's log, as Exchange logs it", "log events", """
org | string | the organization; empty in a server's own log
at | time? | when
event | bigint | 3005, 3014, 3016 ... 3031; 3006 is ours
type | string | of the message; empty where the event is about none
store | string | whose log it is
message_id | string | the message
folder | string | path of the folder
id | string | its id
database | string | the store, where Exchange names it
cn_min | string | the least number carried
cn_max | string | the most
cnset | set | of requests and responses: the set
cnset_fai | set | numbers of forms and views; pfspark has none
rfis | bigint? | how many folders it says it lists
folders | array<struct<id:string,parent:string,offset:bigint,path:string>> | these, each with its parent
message_ids | bigint? | how many items it says it lists
items | array<struct<id:string,cn:string,name:string,at:time?>> | these, each with the number of the version sent
deleted | array<struct<id:string,cn:string>> | folders or items that are deleted, each with the number of that
server | string | who sent it; of a request that goes out, who is asked
"""),
        _line(
            "store", "an entry of the directory", "store list", f"""
{_OF.strip()}
store | string | the store
site | string | where it is
version | string | version of its server
preferred | boolean | a preferred source of backfill
interval_s | bigint? | seconds between two cycles; null: the policy's
size_limit | bigint? | bytes that fit into one message; null: the policy's
schedule | string? | when content may be sent, in minutes of the week; null: always
host | string? | the lake that plays this store; null: this one
retired | boolean | no longer part of the organization
"""),
        _line(
            "round", "a round: of the ledger, or as it is played", "log rounds, round, run, restore", """
round | bigint? | its number; null: nothing was written
what | string | created, opened, played, restored, maintained; dry run, and idle when there was nothing to do
writer? | string | in the ledger: who wrote it
turns | map<string,time> | who played, each at its own time
began? | time | in the ledger: when it began, by the clock on the wall
ended? | time | and when it ended
counts | map<string,bigint> | how many rows came to each table
next_due? | map<string,time> | in the ledger: when each organization has something to do
"""),
        _line(
            "edit", "an edit that was written down, which the next round takes in or refuses; in the log what became of it",
            "log edits, post, modify, delete, resolve, folder create, folder rename, folder move, folder delete, folder set, "
            "folder recover, replica add, replica move, replica remove",
            """
edit | string | its id; `@` and it name what it makes until that has a number
org? | string | the organization; this and what follows in the log alone
at? | time? | when it was done; null: at no time that a calendar has
store? | string | where
action? | string | post, modify, delete, create_folder, set_folder or delete_folder
folder? | string? | path of the folder as that store sees it; null: it is not there yet
item? | string? | the item's id
name? | string? | its name; of a folder the one that it was given
outcome? | string | waiting, applied or refused
reason? | string? | why it was refused
round? | bigint? | in which round that was
number? | string? | the number of the change that it became
"""),
        _line(
            "import", "what became of the mails of an import", "import, demo", """
posted | bigint | posted now
known | bigint | imported before: they add nothing
unkept | bigint | too large, or unreadable: left out, and named on stderr
"""),
        _line(
            "export", "what was exported", "export", """
mails | bigint | how many
target | string | the file or folder
"""),
        _line(
            "loss", "what a restore loses for ever in a folder: nobody else holds it", "restore", """
org | string | the organization
store | string | the store that is restored
folder | string | path of the folder
id | string | its id
numbers | set | the numbers
changes | bigint | how many
"""),
        _line(
            "metric", "what a monitor wants to know: a gauge and its value", "metrics", """
name | string | the gauge, such as pfspark_missing_numbers
org | string? | the organization; null: of the whole lake
store | string? | the store; null: of all
value | double | its value
"""),
        _line(
            "check", "a promise, and how many rows break it", "audit", """
id | string | its name
says | string | what is promised
rows | bigint? | how many rows break it; null: not looked at, as a table cannot be read
sample | string? | one of them, as JSON
"""),
        _line(
            "engine", "the process that keeps Spark started between commands", "engine status, engine start, engine stop", """
running | boolean | whether one is there
pid | bigint? | its process
since | string? | since when it is there
done | bigint? | how many commands it has done
idle_s | bigint? | for how many seconds nobody has asked for anything
doing | string? | the verb it is doing; null: it waits
"""),
        _line(
            "certificate", "what an audit has seen: its last line", "audit", """
lake | string | the lake
round | bigint? | its last round; null: the ledger cannot be read
ledger | string? | the digest of that round's row, which covers all rows before
checks | map<string,bigint?> | how many rows break each promise; null: not looked at
tables | map<string,struct<rows:bigint,digest:string?>?> | of each table its rows, and a SHA-256 over them; null: it \
cannot be read
"""),
        _line(
            "remedy", "what would mend a broken promise", "audit", """
what | string | take back, set aside, read anew, new life
target | string | which table, body, base or store
says | string | why
command | string | a command that does it
org | string? | the organization of a store
"""),
        _line(
            "maintain", "how many rows went from each table; a table that lost none is absent", "maintain",
            "\n".join(f"{name}? | bigint | rows that went from `{name}`" for name in TABLES),
        ),
        _line(
            "doctor", "something that pfspark needs of this machine", "doctor", """
name | string | what
ok | boolean? | whether it is as it should be; null: no verdict
saw | string | what was seen
todo | string | what helps; empty: nothing needs to be done
"""),
        _line(
            "rule", "a rule of the articles", "rules", """
rule | string | R1 ... R152
says | string | what it says
where | array<string> | where it is obeyed: modules of pfspark, profiles of conf
tests | array<string> | which tests of a checkout hold it
untestable | string? | why nothing obeys it, or no test holds it
"""),
        _line(
            "set", "a result of the algebra", "set", """
result? | string | a set, `true` or `false`
error? | string | what is wrong with a line of the input
"""),
        _line(
            "declared", "a table, or a kind of JSON line", "docs", """
name | string | its name
is | string | table or line
says | string | what one row or line is
key | array<string> | of a table: the columns that name a row
written_by | array<string> | of a table: who writes it; of a line: the verbs that print it
columns | array<struct<name:string,type:string,says:string>> | its columns, or its keys beside `kind`
"""),
    ]
}  # fmt: skip
