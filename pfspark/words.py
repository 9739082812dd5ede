"""The vocabulary of the articles, spelled once.

Every word that stands in a table, a message or an answer is a member of one of these enumerations, so that a rule
never spells a word by itself.
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum

HIERARCHY = "1-1"
"""The folder whose items are the folders (R5): logs of Exchange call it 1-1."""

ROOT = ""
"""The parent of a folder that stands at the top of the tree."""


class MessageType(StrEnum):
    """Types of replication messages, as the articles log them (R65-R71)."""

    HIERARCHY = "0x2"
    CONTENT = "0x4"
    BACKFILL_REQUEST = "0x8"
    STATUS = "0x10"
    STATUS_REQUEST = "0x20"
    HIERARCHY_RESPONSE = "0x80000002"
    CONTENT_RESPONSE = "0x80000004"


CARRYING = (
    MessageType.HIERARCHY,
    MessageType.CONTENT,
    MessageType.HIERARCHY_RESPONSE,
    MessageType.CONTENT_RESPONSE,
)
"""The types that carry changes; the others speak about sets only."""


class Flag(StrEnum):
    """What a message is besides its type; the logs of Exchange do not show it (F62)."""

    DELETE_PENDING = "delete_pending"
    """On a status request: the asker is a replica that wants to leave. On a status: the answer to such a request."""
    ACKNOWLEDGE = "acknowledge"
    """On a status: an active replica of a current life says that it holds all the leaver showed."""
    COPY = "copy"
    """On any: nobody sent it, the way did; it is the same letter a second time."""


class Entry(StrEnum):
    """Kinds of rows of the replication state table (R79-R81, F60)."""

    APPLIED = "applied"
    EMPTY = "empty"
    SENT = "sent"
    REPORTED = "reported"


class BackfillStep(StrEnum):
    """Steps of an entry of the backfill array (R85-R94)."""

    HEARD = "heard"
    ASKED = "asked"
    NAMED = "named"
    """Of no number: a store must answer a status request (R126)."""


class Standing(StrEnum):
    """Steps in the life of a replica (D1-D10)."""

    ACTIVE = "active"
    DELETE_PENDING = "delete pending"
    DELETE_NOW = "delete now"
    ERASED = "erased"


LIVE = (Standing.ACTIVE, Standing.DELETE_PENDING)
"""A replica that stands so takes in, misses, asks, answers and tells; from delete now on it does nothing any more (D8)."""


class Listing(StrEnum):
    """Value of the property `replica:<store>` of a folder: the store's entry in the replica list."""

    LISTED = "listed"
    REMOVED = "removed"
    """Taken off the list; others record it as delete pending (D4)."""
    LEAVING = "leaving"
    """Removed, as the leaver says itself where a whole object did not know it; in a list it stands as `removed`."""
    GONE = "gone"
    """The leaver has said that it holds nothing any more (D9)."""


class Action(StrEnum):
    """What a change does to its object: an item, or a folder (R11-R25)."""

    POST = "post"
    MODIFY = "modify"
    DELETE = "delete"
    CREATE_FOLDER = "create_folder"
    SET_FOLDER = "set_folder"
    DELETE_FOLDER = "delete_folder"


HIERARCHY_ACTIONS = (Action.CREATE_FOLDER, Action.SET_FOLDER, Action.DELETE_FOLDER)


class Kind(StrEnum):
    """What a row of the ledger tells of."""

    CREATED = "created"
    OPENED = "opened"
    """A number that somebody took, and whose round does not count."""
    PLAYED = "played"
    RESTORED = "restored"
    MAINTAINED = "maintained"


class Outcome(StrEnum):
    """What became of a message at one recipient, or of an edit at its store."""

    APPLIED = "applied"
    NOTHING_NEW = "nothing_new"
    REFUSED = "refused"
    LOST = "lost"


class Reason(StrEnum):
    """Why something was refused or lost."""

    NO_REPLICA_HERE = "no_replica_here"
    UNKNOWN_FOLDER = "unknown_folder"
    FOLDER_DELETED = "folder_deleted"
    UNKNOWN_ITEM = "unknown_item"
    ITEM_DELETED = "item_deleted"
    LAST_REPLICA = "last_replica"
    NOT_LISTED = "not_listed"
    NOT_LEAVING = "not_leaving"
    """What a leaver would say of itself, of a replica that is on its list again; told to nobody."""
    ALREADY_TAKEN_IN = "already_taken_in"
    UNKNOWN_STORE = "unknown_store"
    CUT_OFF = "cut_off"
    DOWN = "down"
    UNREACHABLE = "lost_on_the_way"
    BAD_VALUE = "bad_value"
    """An edit that no rule could follow: a text where a number belongs, an unknown action, a time that no calendar has."""
    TOO_DEEP = "too_deep"
    """A folder would lie deeper than `LEVELS`, or what is beneath it would."""


class Cause(StrEnum):
    """What can be said of a number at a store: it is here, or why it is not. The first that applies, in this order."""

    HERE = "here"
    SUPERSEDED = "superseded"
    """Readers are shown another version of the item."""
    DELETED = "deleted"
    EXPIRED = "expired"
    """Settled without content."""
    LOSER = "loser"
    """Kept, and it has lost a conflict."""
    NOT_TAKEN_IN = "not_taken_in"
    """The edit waits for a round."""
    REFUSED = "refused"
    """The edit was."""
    NO_REPLICA = "no_replica"
    SUSPENDED = "suspended"
    """The organization's switch holds it back."""
    NOT_SENT = "not_sent"
    ON_ITS_WAY = "on_its_way"
    ASKED = "asked"
    WAITING_TO_ASK = "waiting_to_ask"
    NOBODY_HAS_IT = "nobody_has_it"
    REFUSED_HERE = "refused_here"
    """A message brought it, and the store refused that."""
    NOT_HEARD = "not_heard"


class Planned(StrEnum):
    """What applying a file does to what an organization has."""

    ADD = "add"
    CHANGE = "change"
    REMOVE = "remove"
    STAYS = "stays"
    """The file does not have it, and it is left alone: removing must be asked for, or cannot be done yet."""
    SAME = "same"


class Hop(StrEnum):
    """What happens to a number on its way through an organization; in the order of a round, what comes in first."""

    FORGOTTEN = "forgotten"
    """The store was restored to a moment at which it did not have it."""
    NUMBERED = "numbered"
    LOST = "lost"
    REFUSED = "refused"
    ARRIVED = "arrived"
    APPLIED = "applied"
    SUPERSEDED = "superseded"
    """The store holds a version that was made upon it."""
    SETTLED = "settled"
    """Written down as had, without content: it has expired."""
    HEARD = "heard"
    """A store noticed that it lacks it."""
    SENT = "sent"
    ASKED = "asked"
    ANSWERED = "answered"


class Why(StrEnum):
    """Why a (store, folder) must be looked at again: the reasons of the agenda."""

    SEND = "send"
    """Numbers of its own wait for the next cycle (R43)."""
    BACKFILL = "backfill"
    """A missing piece falls due (R91)."""
    INQUIRE = "inquire"
    """A status request has not been answered by `peer` (R130)."""
    ASK = "ask"
    """Status is to be asked for: the store was restored or started again (R132-R134), or started at all (no `since`; R131)."""
    STATUS = "status"
    """The unasked status after the last change (R136)."""
    REPEAT = "repeat"
    """A status is due again while some replica is believed to lack what is held here."""
    EXPIRE = "expire"
    """Items may have passed their age limit by the next maintenance (F56-F58)."""
    ERASE = "erase"
    """A replica waits for the next maintenance (D8)."""
    NEWS = "news"
    """What administrators say of the organization is other than it was: a policy, a store, a link."""


LEVELS = 32
"""How deep an edit may place a folder: deeper than any client shows."""
FIRST, LAST = datetime(1900, 1, 1, tzinfo=UTC), datetime(8999, 12, 31, tzinfo=UTC)
"""Between which times lie: any of them, in any zone and a round later, is one that Python knows."""
LARGEST = 2**62
"""No number of bytes is so large: what is larger fits into no column, or not twice."""
UNLIMITED = 2**31 - 1
"""No message takes so many updates."""
LONGEST_S = 10**11
"""No length of time has so many seconds: more than a text of `units.parse_duration` can say, and far from what overflows."""
SLOTS = r"\A(\d{1,5}-\d{1,5}(,\d{1,5}-\d{1,5})*)?\z"
"""A schedule as tables hold it: `opens-closes,...` in minutes of the week; Never is the empty text. Written for Java, and for
Arrow."""
DELETED = "deleted"
NAME = "name"
PARENT = "parent"
REPLICA = "replica:"
"""Properties of a folder that the rules themselves read; the replica list is one property per store, which this begins."""
PRIORITIES = ("not urgent", "normal", "urgent")
"""Of replication messages, set per folder for the transport; normal unless said (F48)."""
SAID_AGAIN = "again:"
"""How the name of an edit begins that a restore has said again (`repeats.names_again`)."""
WHOLE = "*"
"""In a tree where whole objects win: no property, but the stamp of the object that won; before the name of a property, what
a store said of it by itself while an object says something later."""
BY_ITSELF = "by itself"
"""The value of `WHOLE` where nobody decided the object that won, as nothing else is held of its folder."""
MOST_RESPONDERS = 3
"""Up to three servers are placed in a responder list (R121)."""
EXCHANGE_2000 = 6.0
"""The version from which on a server counts as one of 2000 or later (R111)."""
SAYS_NOTHING = 2**62
"""What a sort key has that says nothing of a source: it sorts after all that one can say."""
