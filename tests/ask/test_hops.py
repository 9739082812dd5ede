"""Hops as lines: how long each took, and after how long who had it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pfspark.ask import hops
from pfspark.ask.stores import Stores
from pfspark.rows import rows_of
from pfspark.tables import VIEWS
from pfspark.words import Hop, MessageType

pytestmark = pytest.mark.usefixtures("spark")  # which reads the types of columns
START = datetime(2026, 1, 5, tzinfo=UTC)


def hop(
    minute: int, store: str, what: Hop, cn: int = 1, peer: str | None = None, kind: MessageType | None = None
) -> dict[str, Any]:
    return {
        "org": "main", "folder": "PFS1:1", "origin": "PFS1", "cn_min": cn, "cn_max": cn, "store": store, "what": what,
        "at": START + timedelta(minutes=minute), "peer": peer, "type": kind, "message_id": None, "until": None, "attempt": None,
        "reason": "lost_on_the_way" if what == Hop.LOST else None, "since": None, "due": None, "round": None,
    }  # fmt: skip


def told(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    nothing = {name: rows_of(name, ()) for name in VIEWS} | {name: rows_of(name, ()) for name in ("state", "replicas", "stores")}
    return list(
        hops.told(rows, {"main": Stores(nothing, "main")}, {("main", START): 7}, {}, {("main", "PFS1"): timedelta(minutes=15)})
    )


WAY = (
    hop(0, "PFS1", Hop.NUMBERED),
    hop(5, "PFS2", Hop.LOST, peer="PFS1", kind=MessageType.CONTENT),
    hop(30, "PFS2", Hop.HEARD, peer="PFS1"),
    hop(60, "PFS2", Hop.ASKED, peer="PFS1"),
    hop(65, "PFS1", Hop.ARRIVED, peer="PFS2", kind=MessageType.BACKFILL_REQUEST),
    hop(65, "PFS1", Hop.ANSWERED, peer="PFS2"),
    hop(70, "PFS2", Hop.ARRIVED, peer="PFS1", kind=MessageType.CONTENT_RESPONSE),
    hop(70, "PFS2", Hop.APPLIED),
)


def test_each_hop_says_how_long_nothing_had_happened_there() -> None:
    lines = told(*reversed(WAY), hop(20, "PFS1", Hop.NUMBERED, cn=5), hop(25, "PFS2", Hop.ARRIVED, cn=5, peer="PFS1"))
    first, fifth = ([line for line in lines if line["item"] == f"PFS1:{cn}"] for cn in (1, 5))
    assert [line["what"] for line in first] == [row["what"] for row in WAY]
    assert [line["waited"] and line["waited"] // 60 for line in first] == [None, 5, 25, 30, 65, 0, 10, 0]
    assert [line["waited"] for line in fifth] == [None, 300]  # since it was given, whatever happened to other numbers
    assert [line["round"] for line in lines][:2] == [7, None]
    assert [line["says"] for line in first][3:6] == ["asks PFS1 for it", "is asked for it by PFS2", "answers PFS2 with it"]


def test_a_restore_comes_where_its_round_does() -> None:
    """It is not played, and may have the time of the round before it, or of the one after."""
    here = hop(0, "PFS2", Hop.APPLIED)
    for round, order in ((9, ["applied", "forgotten"]), (6, ["forgotten", "applied"])):
        lines = told(here, hop(0, "PFS2", Hop.FORGOTTEN) | {"round": round})
        assert [line["what"] for line in lines] == order
        assert {line["what"]: line["round"] for line in lines} == {"applied": 7, "forgotten": round}


def test_who_had_it_when_and_what_took_longest() -> None:
    [(store, took, longest)] = hops.waits(told(*WAY))
    assert (store, took // 60, longest["what"], longest["waited"] // 60) == ("PFS2", 70, "asked", 30)
    assert list(hops.waits(told(*WAY[1:]))) == []  # nobody knows when it was given


@pytest.mark.parametrize(
    ("waited", "minute", "by"),
    [
        (None, 0, "cycle"), (None, 15, None), ((1, 15), 15, "cycle"), ((1, 15), 29, "cycle"),
        ((1, 15), 30, "late"), ((1, 45), 45, "schedule"), ((1, 45), 60, "late"),
    ],
)  # fmt: skip
def test_what_is_sent_says_why_then(waited: tuple[int, int] | None, minute: int, by: str | None) -> None:
    """At the first cycle after it was taken in, when a schedule opened, or later than it was due."""
    since, due = (START + timedelta(minutes=each) for each in waited) if waited else (None, None)
    letter = hop(minute, "PFS1", Hop.SENT, peer="PFS2", kind=MessageType.CONTENT) | {"since": since, "due": due}
    [_, sent] = told(hop(0, "PFS1", Hop.NUMBERED), letter)
    assert sent["by"] == by
    assert {"schedule": "as its schedule opens", "late": "later than its cycle"}.get(by or "", "PFS2") in sent["says"]
    [_, asked] = told(hop(0, "PFS1", Hop.NUMBERED), {**letter, "what": Hop.ANSWERED})
    assert asked["by"] is None
