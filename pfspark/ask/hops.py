"""The hops of `trace` as lines, in order, each with how long it took."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from pfspark import cntext
from pfspark.ask import candidates, lines
from pfspark.ask.candidates import Request
from pfspark.ask.stores import Stores, set_of
from pfspark.printed import Line
from pfspark.words import Hop, MessageType

Span = tuple[str, int, int]
ORDER = {hop: place for place, hop in enumerate(Hop)}
GIVES = (Hop.NUMBERED, Hop.SENT, Hop.ANSWERED)
"""What stores do that have it."""


def told(
    rows: Iterable[Line],
    views: Mapping[str, Stores],
    round_at: Mapping[tuple[str, datetime], int],
    considered: Mapping[Request, Sequence[Line]],
    cycles: Mapping[tuple[str, str], timedelta],
) -> Iterator[Line]:
    """One line for each row of `trace.hops`, in order of time; of one round what came in before what went out.

    `considered`: of each request the candidates, in their order; `cycles`: how often each store of an organization sends.
    """
    before: dict[tuple[str, ...], list[tuple[Span, datetime]]] = defaultdict(list)
    numbered = [{**row, "round": row["round"] or round_at.get((row["org"], row["at"]))} for row in rows]
    for row in sorted(numbered, key=_place):
        org, line, span = row["org"], (row["org"], row["folder"]), (row["origin"], row["cn_min"], row["cn_max"])
        here = (*line, row["store"])
        since = next((at for key in (here, line) for other, at in reversed(before[key]) if _meet(other, span)), None)
        before[here].append((span, row["at"]))
        if row["what"] == Hop.NUMBERED:
            before[line].append((span, row["at"]))
        by = _sent_by(row, since, cycles.get((org, row["store"])))
        among = considered.get((row["round"] or 0, row["store"], row["folder"]))
        yield {
            "org": org, "at": lines.moment(row["at"]), "kind": "hop", "round": row["round"],
            "store": row["store"], **views[org].called(row["store"], row["folder"]), "item": cntext.show(set_of([row])),
            "what": row["what"], "peer": row["peer"], "says": _SAYS[Hop(row["what"])]({**row, "by": by}),
            "rule": _RULES[Hop(row["what"])], "by": by,
            "message_id": row["message_id"], "type": row["type"], "until": lines.when(row["until"]), "attempt": row["attempt"],
            "reason": row["reason"], "waited": since and int((row["at"] - since).total_seconds()),
            "candidates": [candidates.line(each, row) for each in among] if row["what"] == Hop.ASKED and among else None,
        }  # fmt: skip


def took_part(line: Line, store: str | None) -> bool:
    """Whether a store took part in that hop; None: whoever did."""
    return store in (None, line["store"], line["peer"])


def waits(found: Iterable[Line]) -> Iterator[tuple[str, int, Line]]:
    """Of each store that came to have what is traced: the store, after how many seconds, and the hop that took it longest.

    `found` are lines of `told` about one range of numbers.
    """
    begun: str | None = None
    longest: dict[str, Line] = {}
    for line in found:
        begun = begun or (line["at"] if line["what"] == Hop.NUMBERED else None)
        store, is_source = line["store"], line["what"] in GIVES or (line["what"] == Hop.ARRIVED and _asks_for_it(line))
        if begun is None or is_source:
            continue
        if (line["waited"] or 0) >= (longest.get(store, line)["waited"] or 0):
            longest[store] = line
        if line["what"] == Hop.APPLIED:
            took = datetime.fromisoformat(line["at"]) - datetime.fromisoformat(begun)
            yield store, int(took.total_seconds()), longest[store]


def _place(row: Line) -> tuple[Any, ...]:
    number = cntext.label_key(row["origin"]), row["cn_min"]
    of_round = row["org"], row["at"], row["round"] or 0, ORDER[Hop(row["what"])]
    return *of_round, row["store"], number, row["peer"] or "", row["message_id"] or ""


def _sent_by(row: Line, since: datetime | None, cycle: timedelta | None) -> str | None:
    """By what a letter that nobody asked for went then (R43, F42-F44): the store's cycle, its schedule, or late, as the store was
    down or suspended; None: the tables do not say, or it is no such letter."""
    if row["what"] != Hop.SENT or cycle is None:
        return None
    if row["due"] is None:
        return "cycle" if since == row["at"] else None
    if row["at"] - row["due"] >= cycle:
        return "late"
    return "cycle" if row["due"] - row["since"] < cycle else "schedule"


def _meet(one: Span, other: Span) -> bool:
    return one[0] == other[0] and one[1] <= other[2] and other[1] <= one[2]


def _asks_for_it(row: Mapping[str, Any]) -> bool:
    return bool(row["type"] == MessageType.BACKFILL_REQUEST)


def _letter(row: Line) -> str:
    return "the request of" if _asks_for_it(row) else "it from"


def _asks(row: Line) -> str:
    return f"asks {row['peer']} for it" + (f", attempt {row['attempt']}" if row["attempt"] else "")


_WHY_THEN = {None: "", "cycle": "", "schedule": " as its schedule opens", "late": ", later than its cycle"}
_SAYS: Mapping[Hop, Callable[[Line], str]] = {
    Hop.NUMBERED: lambda row: "gives it its number",
    Hop.SENT: lambda row: f"sends it to {row['peer']}" + _WHY_THEN[row["by"]],
    Hop.ARRIVED: lambda row: f"is asked for it by {row['peer']}" if _asks_for_it(row) else f"gets it from {row['peer']}",
    Hop.LOST: lambda row: f"does not get {_letter(row)} {row['peer']}: {lines.words(row['reason'])}",
    Hop.REFUSED: lambda row: f"refuses {_letter(row)} {row['peer']}: {lines.words(row['reason'])}",
    Hop.HEARD: lambda row: f"hears from {row['peer']} that it lacks it" if row["peer"] else "finds that it lacks it",
    Hop.ASKED: _asks,
    Hop.ANSWERED: lambda row: f"answers {row['peer']} with it",
    Hop.APPLIED: lambda row: "has it",
    Hop.SETTLED: lambda row: "settles it without content",
    Hop.SUPERSEDED: lambda row: f"has {row['reason']}, made upon it",
    Hop.FORGOTTEN: lambda row: "is restored to a moment before it had it",
}
_RULES: Mapping[Hop, str] = {
    Hop.NUMBERED: "R31", Hop.SENT: "R46", Hop.ARRIVED: "R59", Hop.LOST: "R64", Hop.REFUSED: "R74", Hop.HEARD: "R76",
    Hop.ASKED: "R94", Hop.ANSWERED: "R129", Hop.APPLIED: "R75", Hop.SETTLED: "F56", Hop.SUPERSEDED: "F27", Hop.FORGOTTEN: "F8",
}  # fmt: skip
"""The rule by which it happens."""
