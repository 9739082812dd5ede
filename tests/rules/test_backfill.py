"""The backfill array: what is noted, when it is asked for, and what others get who ask (R85-R96)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest

from pfspark.rules import backfill
from pfspark.tables import FRAMES
from pfspark.words import HIERARCHY
from tests.frames import by_org, frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
EARLIER = NOW - timedelta(hours=1)
RETRY = 60
"""Seconds until what is asked for now is asked for again."""
HERE = "org string, store string, folder string"
RANGES = f"{HERE}, origin string, cn_min bigint, cn_max bigint"
MEASURES = ("applied", "arriving", "claimed", "void", "near", "leaving", "open", "heard", "attempt", "asked")


def micros(at: datetime) -> int:
    return int(at.timestamp()) * 1_000_000


def coverage(spark: SparkSession, *pieces: dict[str, Any]) -> DataFrame:
    """Numbers 1, 2, … of PFS2 at PFS1, one a piece, with what covers each; of organization `o`, unless a piece says another."""
    rows = [
        {"org": "o", "store": "PFS1", "folder": "F", "origin": "PFS2", "cn_min": 2 * cn, "cn_max": 2 * cn}
        | dict.fromkeys(MEASURES, 0)
        | piece
        for cn, piece in enumerate(pieces, 1)
    ]
    return frame_of(spark, rows, FRAMES["coverage"].ddl)


ACTIVE, GOES_ON = MappingProxyType({"o": "active"}), MappingProxyType({"o": False})


def replicas(spark: SparkSession, standing: Mapping[str, str] = ACTIVE) -> DataFrame:
    """How PFS1 stands in each organization."""
    return frame_of(spark, [(org, "PFS1", "F", stands) for org, stands in standing.items()], f"{HERE}, standing string")


def clock(spark: SparkSession, suspended: Mapping[str, bool] = GOES_ON) -> DataFrame:
    """Requests after 10, 20 and 30 seconds in the own site, after 100, 200 and 300 elsewhere, after 5 of a leaver."""
    ddl = "org string, now timestamp, suspended boolean, backfill_local_s array<bigint>, backfill_remote_s array<bigint>"
    rows = [(org, NOW, waits, [10, 20, 30], [100, 200, 300], 5) for org, waits in suspended.items()]
    return frame_of(spark, rows, f"{ddl}, delete_pending_timeout_s bigint")


@pytest.mark.rule("R88", "R89", "R90")
def test_what_others_claim_and_is_not_held_is_noted(spark: SparkSession) -> None:
    """News is as old as now, and what is open keeps its age; it stays open when nobody claims it any more (Q10)."""
    pieces = [
        {"claimed": 1},
        {"claimed": 1, "applied": 1},
        {"claimed": 1, "arriving": 1},
        {"claimed": 2, "open": 1, "heard": micros(EARLIER), "attempt": 1, "asked": micros(EARLIER)},
        {"open": 1, "heard": micros(EARLIER)},
        {"claimed": 0, "void": 1},
        {},
        {"claimed": 1, "void": 1},  # one has settled it without content, another claims some
    ]
    noted = backfill.note(backfill.missing(coverage(spark, *pieces)), replicas=replicas(spark), clock=clock(spark)).collect()
    found = {row["cn_min"] // 2: (row["heard"], row["attempt"], row["asked"]) for row in noted}
    now, earlier = NOW.replace(tzinfo=None), EARLIER.replace(tzinfo=None)
    assert found == {1: (now, 0, None), 4: (earlier, 1, earlier), 5: (earlier, 0, None), 8: (now, 0, None)}


NOTES = {"active": 1, "delete pending": 1, "delete now": 0, "erased": 0}
"""How many numbers a replica that stands so notes, of one that others claim, and settles, of one without content."""


@pytest.fixture(scope="module")
def noted_and_settled(spark: SparkSession) -> tuple[Mapping[str, list[Row]], ...]:
    """What each does, in an organization that is called as its replica stands."""
    pieces = coverage(spark, *({"org": standing, **piece} for standing in NOTES for piece in ({"claimed": 1}, {"void": 1})))
    stand, now = replicas(spark, {standing: standing for standing in NOTES}), clock(spark, dict.fromkeys(NOTES, False))
    noted = backfill.note(backfill.missing(pieces), replicas=stand, clock=now)
    return by_org(noted), by_org(backfill.settle_empty(pieces, replicas=stand))


@pytest.mark.parametrize(("standing", "notes"), NOTES.items())
def test_who_is_about_to_go_misses_nothing(
    noted_and_settled: tuple[Mapping[str, list[Row]], ...], standing: str, notes: int
) -> None:
    """D8; and it settles nothing."""
    assert [len(rows[standing]) for rows in noted_and_settled] == [notes, notes]


def test_numbers_without_content_are_settled_where_nobody_claims_any(spark: SparkSession) -> None:
    pieces = [{"void": 1}, {"void": 1, "claimed": 1}, {"void": 1, "applied": 1}, {"void": 1, "arriving": 1}, {"claimed": 1}]
    settled = backfill.settle_empty(coverage(spark, *pieces), replicas=replicas(spark))
    assert [row["cn_min"] // 2 for row in settled.collect()] == [1]


WAITS: list[tuple[dict[str, int], int]] = [  # pieces, and how many seconds are waited
    ({"near": 1}, 10), ({"near": 0}, 100), ({"near": 1, "leaving": 1}, 5), ({"near": 0, "leaving": 1}, 5),
    ({"near": 1, "attempt": 1}, 20), ({"near": 1, "attempt": 2}, 30), ({"near": 1, "attempt": 7}, 30),
    ({"near": 0, "attempt": 1}, 200), ({"near": 0, "attempt": 2, "leaving": 1}, 300),
]  # fmt: skip


@pytest.fixture(scope="module")
def waiting(spark: SparkSession) -> Mapping[str, list[Row]]:
    """Those pieces with their moments, each in an organization of its own."""
    old = {"claimed": 1, "open": 1, "heard": micros(EARLIER)}
    pieces: list[dict[str, Any]] = [
        {"org": str(piece), **old, "asked" if piece.get("attempt") else "heard": micros(NOW), **piece} for piece, _ in WAITS
    ]
    orgs = [piece["org"] for piece in pieces]
    stand, now = replicas(spark, dict.fromkeys(orgs, "active")), clock(spark, dict.fromkeys(orgs, False))
    noted = backfill.note(backfill.missing(coverage(spark, *pieces)), replicas=stand, clock=now)
    return by_org(backfill.due(noted, clock=now))


@pytest.mark.rule("R91", "R92", "R93")
@pytest.mark.parametrize(("piece", "seconds"), WAITS, ids=str)
def test_how_long_is_waited(waiting: Mapping[str, list[Row]], piece: dict[str, int], seconds: int) -> None:
    """By the nearest that has it, and by how often it was asked for; a leaver is asked sooner, the first time."""
    [row] = waiting[str(piece)]
    assert row["due"] == (NOW + timedelta(seconds=seconds)).replace(tzinfo=None)


ASKS: dict[str, tuple[bool, int, int, bool]] = {
    # whether replication is suspended, how many of who has it leave, since how many seconds it is known; whether it is asked for
    "due": (False, 0, 10, True),
    "not due yet": (False, 0, 9, False),
    "suspended": (True, 0, 10, False),
    "suspended, of a leaver": (True, 1, 10, True),
}


@pytest.fixture(scope="module")
def asked_now(spark: SparkSession) -> Mapping[str, list[Row]]:
    """What is asked for in each case."""
    pieces = [
        {"org": case, "claimed": 1, "near": 1, "leaving": leaving, "open": 1, "heard": micros(NOW) - seconds * 1_000_000}
        for case, (_, leaving, seconds, _) in ASKS.items()
    ]
    now = clock(spark, {case: suspended for case, (suspended, *_) in ASKS.items()})
    active = replicas(spark, dict.fromkeys(ASKS, "active"))
    noted = backfill.note(backfill.missing(coverage(spark, *pieces)), replicas=active, clock=now)
    return by_org(backfill.asked_now(backfill.due(noted, clock=now)))


@pytest.mark.rule("R94")
@pytest.mark.parametrize("case", ASKS)
def test_what_is_due_is_asked_for(asked_now: Mapping[str, list[Row]], case: str) -> None:
    """To the second; of a suspended organization's content only what a leaver has (D7, F69)."""
    *_, asks = ASKS[case]
    assert bool(asked_now[case]) == asks


NEXT: dict[str, tuple[str, bool, list[int], int]] = {
    # the folder, whether replication is suspended, in how many seconds its pieces are due; in how many something is next
    "later": ("F", False, [20, 10], 10),
    "asked for": ("F", False, [0], RETRY),
    "asked for, and more later": ("F", False, [-5, 10], 10),
    "suspended": ("F", True, [-5], -5),
    "suspended, and due later": ("F", True, [10], 10),
    "suspended, of the hierarchy": (HIERARCHY, True, [-5], RETRY),
}


@pytest.fixture(scope="module")
def next_due(spark: SparkSession) -> Mapping[str, list[Row]]:
    """When something is next to be asked for; all that is due is asked for now, but content that is suspended."""

    def at(seconds: int) -> datetime:
        return NOW + timedelta(seconds=seconds)

    timed = [
        (case, "S", folder, at(due), NOW, suspended) for case, (folder, suspended, pieces, _) in NEXT.items() for due in pieces
    ]
    asks = [
        (case, "S", folder, at(RETRY))
        for case, (folder, suspended, pieces, _) in NEXT.items()
        if min(pieces) <= 0 and (not suspended or folder == HIERARCHY)
    ]
    ddl = f"{HERE}, due timestamp"
    frame = frame_of(spark, timed, f"{ddl}, now timestamp, suspended boolean")
    return by_org(backfill.next_due(frame, asks=frame_of(spark, asks, ddl)))


@pytest.mark.rule("R94")
@pytest.mark.parametrize("case", NEXT)
def test_a_piece_that_is_asked_for_is_due_again_when_it_is_asked_for_again(next_due: Mapping[str, list[Row]], case: str) -> None:
    """Content that is suspended stays due and is asked for when it may be; the hierarchy is never held back (F69)."""
    [row] = next_due[case]
    assert row["due"] == (NOW + timedelta(seconds=NEXT[case][-1])).replace(tzinfo=None)


@pytest.mark.rule("R67", "R68", "R96", "R129")
def test_an_answer_is_all_of_it_that_is_there(spark: SparkSession) -> None:
    """To each who asks his own; of what was settled without content there is nothing to give (Q13)."""
    ask = "struct<origin:string,cn_min:bigint,cn_max:bigint>"
    asked = [("o", "PFS1", "F", "PFS2", [("A", 1, 10)]), ("o", "PFS1", "F", "PFS3", [("A", 8, 20), ("B", 1, 1)]),
             ("o", "PFS1", "F", "PFS4", [("B", 1, 9)])]  # fmt: skip
    requests = frame_of(spark, asked, f"org string, recipient string, folder string, store string, asks array<{ask}>")
    applied = frame_of(spark, [("o", "PFS1", "F", "A", 1, 4), ("o", "PFS1", "F", "A", 7, 30)], RANGES)
    empty = frame_of(spark, [("o", "PFS1", "F", "A", 8, 8)], RANGES)
    answers = backfill.answer(requests, applied=applied, empty=empty)
    found = sorted((row["asker"], row["origin"], row["cn_min"], row["cn_max"]) for row in answers.collect())
    assert found == [("PFS2", "A", 1, 4), ("PFS2", "A", 7, 7), ("PFS2", "A", 9, 10), ("PFS3", "A", 9, 20)]
    told = frame_of(spark, [], f"{HERE}, peer string")
    assert [row["peer"] for row in backfill.unserved(requests, answers=answers, told=told).collect()] == ["PFS4"]
