"""The answers of `why` as lines: one sentence for a person, the rules that decided, and the rows they were read from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pfspark import cntext
from pfspark.ask import lines
from pfspark.ask.stores import Stores, set_of
from pfspark.printed import Line
from pfspark.words import DELETED, FIRST, Cause, Reason, Standing

HERE = (Cause.HERE, Cause.SUPERSEDED, Cause.DELETED, Cause.EXPIRED, Cause.LOSER)
"""The causes that say that a number is here."""
ORDER = {cause: place for place, cause in enumerate(Cause)}


def moments(rows: Iterable[Line], edits: Iterable[Line]) -> Iterator[tuple[str, datetime]]:
    """The moments of which answers cite rows, by organization."""
    for row in rows:
        yield from ((row["org"], row[name]) for name in ("since", "at") if row[name])
    yield from ((row["org"], row["refused"]) for row in edits if row["refused"])


@dataclass(frozen=True)
class Telling:
    """What is needed to tell people: names of folders, the time of each organization, the round of a moment."""

    views: Mapping[str, Stores]
    at: Mapping[str, datetime]
    round_at: Mapping[tuple[str, datetime], int]

    def lines(self, rows: Iterable[Line]) -> Iterator[Line]:
        """One line for each row of `explained`, by organization, store, folder, cause and number."""
        for row in sorted(rows, key=_order):
            org, stores = row["org"], self.views[row["org"]]
            item = cntext.show(set_of([row]))
            sees = stores.tree[row["store"]].get(row["folder"], ())
            teller = _Teller(row, item, is_retired=row["store"] not in stores.members, is_deleted=DELETED in sees)
            yield {
                "org": org, "at": lines.moment(self.at[org]), "kind": "why", "store": row["store"],
                **stores.called(row["store"], row["folder"]), "item": item, "here": row["cause"] in HERE,
                "cause": row["cause"], "since": lines.when(row["since"]), "says": teller.says(), "next": teller.next(),
                "because": [
                    {"rule": rule, "says": says, "table": table, "round": self.round_at.get((org, at)) if at else None,
                     "at": lines.when(at)}
                    for rule, says, table, at in teller.because()
                ],
            }  # fmt: skip

    def of_edits(self, edits: Iterable[Line]) -> Iterator[Line]:
        """One line for each edit that has no number: it waits for a round, or was refused (`reason`)."""
        for row in sorted(edits, key=_by_age):
            org, stores = row["org"], self.views[row["org"]]
            refused, item = row.get("reason"), row["name"] or f"@{row['edit_id']}"
            since = row["refused"] if refused else row["at"]
            next_: Line | None = None if refused else {"at": lines.when(row["next_at"]), "what": "take_in", "of": row["store"]}
            says = (
                f"{row['store']} refused the edit {row['edit_id']}: {lines.words(refused)}." if refused
                else f"The edit {row['edit_id']} at {row['store']} waits for a round to take it in."
            )  # fmt: skip
            table, rule = "receipts" if refused else "edits", "R1" if refused == Reason.NO_REPLICA_HERE else "R30"
            yield {
                "org": org, "at": lines.moment(self.at[org]), "kind": "why", "store": row["asked_at"],
                **stores.called(row["asked_at"], row["folder"]), "item": item, "here": False,
                "cause": str(Cause.REFUSED if refused else Cause.NOT_TAKEN_IN), "since": lines.when(since), "says": says,
                "next": next_,
                "because": [
                    {"rule": rule, "says": says, "table": table, "round": self.round_at.get((org, since)) if refused else None,
                     "at": lines.when(since)}
                ],
            }  # fmt: skip


def counted(found: Iterable[Line]) -> Iterator[Line]:
    """One line for each cause that stands anywhere in an organization: by organization, the oldest first."""
    by_cause: dict[tuple[str, str], list[Line]] = defaultdict(list)
    for line in found:
        by_cause[line["org"], line["cause"]].append(line)
    causes = []
    for (org, cause), some in by_cause.items():
        oldest = min(some, key=lambda line: (line["since"] or "", line["store"], line["folder"], line["item"]))
        where: Line = {name: oldest[name] for name in ("folder", "id") if name in oldest}
        causes.append(
            {
                "org": org, "at": oldest["at"], "kind": "cause", "cause": cause, "numbers": sum(map(_count, some)),
                "replicas": len({(line["store"], line["folder"], line.get("id")) for line in some}), "since": oldest["since"],
                "store": oldest["store"], **where,
                "item": oldest["item"], "says": oldest["says"], "next": oldest["next"],
            }
        )  # fmt: skip
    return iter(sorted(causes, key=lambda line: (line["org"], line["since"] or "", ORDER[Cause(line["cause"])])))


def _count(line: Line) -> int:
    return 1 if line["cause"] in (Cause.NOT_TAKEN_IN, Cause.REFUSED) else cntext.size(cntext.parse(line["item"]))


def _order(row: Line) -> tuple[Any, ...]:
    return row["org"], row["store"], row["folder"], ORDER[Cause(row["cause"])], cntext.label_key(row["origin"]), row["cn_min"]


def _by_age(edit: Line) -> tuple[Any, ...]:
    """Edits of a store by when they were made, those last of which that cannot be read."""
    return edit["org"], edit["asked_at"], edit["at"] is None, edit["at"] or FIRST, edit["edit_id"]


class _Teller:
    """One row of `explained`, in words."""

    def __init__(self, row: Line, item: str, *, is_retired: bool, is_deleted: bool) -> None:
        self.row = row
        self.item = item
        self.is_retired = is_retired
        self.is_deleted = is_deleted
        """Whether the store has heard that the folder was deleted."""
        self.store, self.of = row["store"], row["of"]
        self.hearer = row.get("hearer")
        """The store that may hear first that the folder is deleted, if one would have done something else next."""
        self.origin = cntext.split_label(row["origin"])[0]
        self.is_own = self.origin == self.store

    def next(self) -> Line | None:
        """What happens next: at null where it depends on what nobody can foresee."""
        row = self.row
        if row["next_what"] is None:
            return None
        return {"at": lines.when(row["next_at"]), "what": row["next_what"], "of": row["next_of"]}

    def says(self) -> str:
        """One sentence; another where the store lacks it and is retired."""
        said = TOLD[Cause(self.row["cause"])].says(self)
        if self.is_retired and self.row["cause"] not in HERE:
            return f"{said} {self.store} is retired; `pfspark store set {self.store} --not-retired` takes it back."
        return said

    def because(self) -> Iterator[tuple[str, str, str, datetime | None]]:
        """The rules that decided: id, what was found, in which table, and when that was written."""
        cause, row = Cause(self.row["cause"]), self.row
        told = TOLD[cause]
        yield told.rule, told.found(self), told.table, row["since"]
        if cause == Cause.ASKED:
            yield "R91", f"{self.store} asks again when the wait after attempt {row['attempt']} is over", "agenda", row["since"]
        if cause == Cause.NOBODY_HAS_IT and self.of:
            yield "Q10", f"{self.of} was the last to claim it", "state", row["at"]
        if self.hearer:
            yield "R140", f"the folder was deleted, or one above it: {self.hearer} is to hear of that", row["heard_by"], None
        if cause == Cause.NOT_HEARD and row["next_of"]:
            says = f"{row['next_of']} has it, and its next letter to {self.store} says so"
            yield "R85", says, "messages" if row["message_id"] else "agenda", row["at"]

    def then(self) -> str:
        """The end of a sentence: when something happens, if that is known."""
        at, of = self.row["next_at"], self.row["next_of"]
        if at is None:
            return (
                f"; {self.hearer} may hear before that the folder is deleted"
                if self.hearer
                else "; nobody can say when that ends"
            )
        words = {
            "send": "it goes", "arrive": "it arrives", "ask": f"it asks {of}", "ask_again": f"unless it comes it asks {of}",
            "hear": f"{of} tells it by a letter of type {self.row['next_type']}",
        }  # fmt: skip
        return f"; {words[self.row['next_what']]} at {lines.moment(at)}"

    def absence(self) -> str:
        """How a store stands that has no replica."""
        match self.row["standing"]:
            case Standing.DELETE_NOW if self.is_deleted:
                return "is to erase its replica tonight: the folder was deleted"
            case _ if self.is_deleted:
                return "has no replica any more: the folder was deleted"
            case Standing.DELETE_PENDING:
                return "is leaving the folder's replica list, and waits until others hold all that it has"
            case Standing.DELETE_NOW:
                return "has left the folder's replica list, and is to erase its replica tonight"
            case Standing.ERASED:
                return "is gone from the folder's replica list"
        return "has no replica of the folder, as it sees the list"


@dataclass(frozen=True)
class Told:
    """How a cause is told: the sentence, the rule that decided, what was found, and in which table."""

    says: Callable[[_Teller], str]
    rule: str
    found: Callable[[_Teller], str]
    table: str


TOLD: Mapping[Cause, Told] = {
    Cause.HERE: Told(
        lambda one: f"{one.store} has {one.item}.",
        "R75", lambda one: f"{one.store} says that it has {one.item}", "state",
    ),
    Cause.SUPERSEDED: Told(
        lambda one: f"{one.store} has {one.item}, and does not show it: {one.row['version']} was made upon it.",
        "F27", lambda one: f"{one.row['version']} was made upon {one.item}", "changes",
    ),
    Cause.DELETED: Told(
        lambda one: f"{one.store} has {one.item}; {one.row['version']} deletes the item.",
        "F28", lambda one: f"{one.row['version']} is a deletion", "changes",
    ),
    Cause.EXPIRED: Told(
        lambda one: f"{one.store} has settled {one.item} without content: it has expired.",
        "F56", lambda one: f"{one.store} says that it has {one.item} without content", "state",
    ),
    Cause.LOSER: Told(
        lambda one: f"{one.store} has {one.item}, which lost a conflict to {one.row['version']}; both are kept.",
        "F31", lambda one: f"{one.row['version']} comes before {one.item} in the order of winners", "changes",
    ),
    Cause.NO_REPLICA: Told(
        lambda one: f"{one.store} {one.absence()}.",
        "R1", lambda one: f"{one.store} {one.absence()}", "replicas",
    ),
    Cause.SUSPENDED: Told(
        lambda one: f"Content replication is suspended, which holds {one.item} back from {one.store}.",
        "F69", lambda one: "content waits while replication is suspended", "organizations",
    ),
    Cause.NOT_SENT: Told(
        lambda one: f"{one.of} has not sent {one.item} to anybody yet{one.then()}.",
        "R46", lambda one: f"{one.item} comes after what {one.of} sent last", "state",
    ),
    Cause.ON_ITS_WAY: Told(
        lambda one: f"A message from {one.of} is under way to {one.store} with {one.item}{one.then()}.",
        "R59", lambda one: f"{one.of} sent {one.row['message_id']}", "messages",
    ),
    Cause.ASKED: Told(
        lambda one: f"{one.store} asked {one.of or 'somebody'} for {one.item}, attempt {one.row['attempt']}{one.then()}.",
        "R94", lambda one: f"{one.store} sent a request", "backfill",
    ),
    Cause.WAITING_TO_ASK: Told(
        lambda one: f"{one.store} lacks {one.item} and waits before it asks{one.then()}.",
        "R91", lambda one: f"{one.store} heard that others have it", "backfill",
    ),
    Cause.NOBODY_HAS_IT: Told(
        lambda one: f"{one.store} has heard of {one.item}, and nobody whom it may ask claims to have it any more.",
        "R88", lambda one: f"{one.store} heard that others have it", "backfill",
    ),
    Cause.REFUSED_HERE: Told(
        lambda one: (
            f"{one.store} refused {one.item}, which {one.of} sent: {lines.words(one.row['reason'] or Reason.NO_REPLICA_HERE)}."
        ),
        "R74", lambda one: f"{one.store} refused {one.row['message_id']}", "receipts",
    ),
    Cause.NOT_HEARD: Told(
        lambda one: (
            f"{one.store} gave {one.item} in an earlier life of its replica, and has not heard of it since{one.then()}."
            if one.is_own
            else f"{one.store} does not know that {one.item} exists{one.then()}."
        ),
        "R85",
        lambda one: f"{one.origin} gave the number; no message told {one.store} of it{' since' * one.is_own}",
        "changes",
    ),
}  # fmt: skip
CITED: Mapping[str, str] = {
    "F27": "One version includes another if for each origin it names a number that is as high.",
    "F28": "A version that strictly includes another stands in its place; if neither includes the other, they are in conflict.",
    "F31": "Of versions in conflict the one modified last wins, of one time that of the larger origin; the others are kept.",
    "F56": "Each night items that are older than their folder's age limit expire: their numbers are settled without content.",
    "F69": "Suspending replication holds content back in the whole organization, and never the hierarchy.",
    "Q10": "A number that is missing keeps its place and its time in the array, whatever is heard of others later.",
}
"""What is cited beside the rules of the articles: facts about Exchange, and how an open question is read."""
