"""What a campaign must have seen, for what it never meets it does not try.

Each sighting says of one organization how often it happened, by the rows that its rounds wrote.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any

from pfspark import cntext
from pfspark.ask.stores import set_of
from pfspark.cntext import CnSet
from pfspark.printed import Line
from pfspark.words import CARRYING, Flag, MessageType, Outcome, Reason, Standing

Row = Mapping[str, Any]
Rows = Mapping[str, Iterable[Row]]

LONG = timedelta(hours=1)
"""Longer than a removal takes that nothing holds back: asked and answered, in two rounds of half an hour."""


def sightings(rows: Rows, lines: Iterable[Line]) -> dict[str, int]:
    """How often each was seen in an organization: by the rows of its facts, and by its lines."""
    return {name: see(rows) for name, see in SIGHTINGS.items()} | {
        "a conflict of three": sum(len(line.get("losers", ())) >= 2 for line in lines)
    }


def told(lines: Iterable[Line]) -> set[str]:
    """What happens in an organization, by its lines alone, whoever says them."""
    seen: set[str] = set()
    asked: dict[Any, list[tuple[Any, CnSet]]] = defaultdict(list)
    for line in lines:
        seen.add(" ".join(str(line[name]) for name in ("kind", "type", "standing", "what") if name in line))
        seen |= {name for name in ("asks", "empty", "losers", "lost") if line.get(name)}
        seen |= {"new life"} if line.get("life", 1) > 1 else set()
        if line["kind"] == "message" and line["type"] == MessageType.BACKFILL_REQUEST:
            before, asks = asked[line["from"], line["folder"]], cntext.parse(line["asks"])
            seen |= {"another source" for source, once in before if source != line["to"] and cntext.intersect(asks, once)}
            before.append((line["to"], asks))
    return seen


def _copies(rows: Rows) -> int:
    """Letters with changes that came to a store twice."""
    came = Counter(
        (row["message_id"].removesuffix(f"/{Flag.COPY}"), row["store"])
        for row in rows["receipts"]
        if row["type"] in CARRYING and row["outcome"] in (Outcome.APPLIED, Outcome.NOTHING_NEW)
    )
    return sum(times > 1 for times in came.values())


def _came_late(rows: Rows) -> int:
    """Holes that nobody was asked about, and that were filled all the same."""
    heard, asked, came = (defaultdict[tuple[str, str], CnSet](dict) for _ in range(3))
    noted = {"heard": heard, "asked": asked, "named": defaultdict[tuple[str, str], CnSet](dict)}
    for row in rows["backfill"]:
        here = row["store"], row["folder"]
        noted[row["step"]][here] = cntext.union(noted[row["step"]][here], set_of([row]))
    carried = {row["message_id"]: set_of(row["carries"]) for row in rows["messages"]}
    for row in rows["receipts"]:
        if row["outcome"] == Outcome.APPLIED:
            here = row["store"], row["folder"]
            came[here] = cntext.union(came[here], carried.get(row["message_id"], {}))
    return sum(bool(cntext.intersect(cntext.subtract(holes, asked[here]), came[here])) for here, holes in heard.items())


def _split(rows: Rows) -> int:
    """Moments at which pieces of one backfill array were asked of several stores."""
    sources = defaultdict(set)
    for row in rows["messages"]:
        if row["type"] == MessageType.BACKFILL_REQUEST and Flag.COPY not in row["flags"]:
            sources[row["store"], row["folder"], row["at"]] |= {to["store"] for to in row["recipients"]}
    return sum(len(some) > 1 for some in sources.values())


def _other_source(rows: Rows) -> int:
    """Pieces that were asked for again, of another store."""
    before: dict[Any, str] = {}
    found = 0
    for row in sorted((row for row in rows["backfill"] if row["step"] == "asked"), key=lambda row: row["at"]):
        piece = row["store"], row["folder"], row["origin"], row["cn_min"]
        found += before.get(piece, row["of"]) != row["of"]
        before[piece] = row["of"]
    return found


def _middle_lost(rows: Rows) -> int:
    """Messages of one sender, moment, folder and type, of which the way took one and let one before it and one after it
    through, to the same recipient."""
    series: dict[Any, dict[int, bool]] = defaultdict(dict)
    for row in rows["messages"]:
        if row["type"] == MessageType.CONTENT and Flag.COPY not in row["flags"]:
            *alike, nth = row["message_id"].split("/")
            for to in row["recipients"]:
                series[*alike, to["store"]][int(nth)] = to["lost"] == Reason.UNREACHABLE
    in_order = ([lost for _, lost in sorted(one.items())] for one in series.values())
    return sum((False, True, False) in zip(one, one[1:], one[2:], strict=False) for one in in_order)


def _unasked(rows: Rows) -> int:
    return sum(row["type"] == MessageType.STATUS and len(row["recipients"]) > 1 for row in rows["messages"])


def _held_back(rows: Rows) -> int:
    """Replicas that had to wait before they could go."""
    leaving = (row for row in rows["replicas"] if row["standing"] == Standing.DELETE_PENDING)
    began = {(row["store"], row["folder"], row["life"]): row["at"] for row in leaving}
    gone = (row for row in rows["replicas"] if row["standing"] in (Standing.DELETE_NOW, Standing.ERASED))
    return sum(row["at"] > began.get((row["store"], row["folder"], row["life"]), row["at"]) + LONG for row in gone)


SIGHTINGS: dict[str, Callable[[Rows], int]] = {
    "a message is lost on the way": lambda rows: sum(row["reason"] == Reason.UNREACHABLE for row in rows["receipts"]),
    "the middle one of three messages of one folder and moment is lost": _middle_lost,
    "a second delivery is thrown away": _copies,
    "an edit is refused": lambda rows: sum(
        row["edit_id"] is not None and row["outcome"] == Outcome.REFUSED for row in rows["receipts"]
    ),
    "a poison edit is refused": lambda rows: sum(row["reason"] == Reason.BAD_VALUE for row in rows["receipts"]),
    "a hole is filled before it is asked for": _came_late,
    "a request is split over two sources": _split,
    "another source is asked after one was silent": _other_source,
    "status is told unasked": _unasked,
    "a removal is held back": _held_back,
    "a clock is put back": lambda rows: sum(row["at"].microsecond > 0 for row in (*rows["messages"], *rows["receipts"])),
    "a replica begins a new life": lambda rows: sum(row["life"] > 1 for row in rows["replicas"]),
}
