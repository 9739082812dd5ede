"""What is sent at a cycle, and when it goes, as frames."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from pfspark.rules import sending
from pfspark.words import HIERARCHY, Standing, Why
from tests.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

START = datetime.fromisoformat("2026-01-05T00:00:00+00:00")  # a Monday
NOW = START + timedelta(minutes=15)
NEVER, CLOSED, OPEN = "", "1920-1980", "1440-1500"  # hours of Monday: none, eight to nine, from midnight on
SALES = "P1:1"
KEY = "org string, store string, folder string"
RANGES = f"{KEY}, origin string, cn_min bigint, cn_max bigint"
REPLICAS = f"{KEY}, standing string"
LISTS = f"{KEY}, peer string, listing string"
CHANGES = (
    "org string, folder string, object string, origin string, cn bigint, action string, size bigint, "
    "predecessors array<struct<origin:string, cn:bigint>>"
)
ACTIVE, PENDING, TO_GO = Standing.ACTIVE.value, Standing.DELETE_PENDING.value, Standing.DELETE_NOW.value
SEND, ASK = Why.SEND.value, Why.ASK.value


def ranges(spark: SparkSession, *rows: tuple[str, str, str, int, int]) -> DataFrame:
    """Of one organization: store, folder, origin, first and last number."""
    return frame_of(spark, [("o", *each) for each in rows], RANGES)


def replicas(spark: SparkSession, **standings: str) -> DataFrame:
    """Of Sales, by store."""
    return frame_of(spark, [("o", store, SALES, standing) for store, standing in standings.items()], REPLICAS)


def sets(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row[name] for name in ("store", "folder", "origin", "cn_min", "cn_max")) for row in frame.collect())


@pytest.mark.rule("R46", "R80")
def test_what_waits_are_numbers_of_ones_own_that_did_not_go_yet(spark: SparkSession) -> None:
    """Of all its lives; neither those that came back after a restore, nor those of others."""
    held = ranges(
        spark,
        ("P1", SALES, "P1", 1, 9), ("P1", SALES, "P1~2", 1, 4), ("P1", SALES, "P10", 1, 3), ("P1", SALES, "P2", 1, 5),
        ("P1", HIERARCHY, "P1", 1, 2), ("P2", SALES, "P1", 1, 9), ("P2", SALES, "P2", 1, 5), ("P3", SALES, "P3", 1, 1),
    )  # fmt: skip
    hierarchy = frame_of(spark, [("o", "P1", HIERARCHY, ACTIVE)], REPLICAS)
    found = sending.waiting(
        held,
        sent=ranges(spark, ("P1", SALES, "P1", 1, 2), ("P1", SALES, "P1", 6, 6), ("P2", SALES, "P1", 1, 9)),
        returned=ranges(spark, ("P1", SALES, "P1", 3, 3), ("P1", SALES, "P1~2", 2, 3)),
        replicas=replicas(spark, P1=ACTIVE, P2=PENDING, P3=TO_GO).unionByName(hierarchy),
    )
    assert sets(found) == [
        ("P1", HIERARCHY, "P1", 1, 2),
        ("P1", SALES, "P1", 4, 5), ("P1", SALES, "P1", 7, 9), ("P1", SALES, "P1~2", 1, 1), ("P1", SALES, "P1~2", 4, 4),
        ("P2", SALES, "P2", 1, 5),
    ]  # fmt: skip


@dataclass(frozen=True)
class Case:
    """What waits at 00:15, by cycles of a quarter of an hour: in Sales, and in the hierarchy beside it."""

    standing: str = ACTIVE
    since: datetime | None = None
    """When it was taken in."""
    every: int | None = None
    """Seconds between the store's own cycles."""
    store: str | None = None
    """Its schedule, and below that of the folder."""
    folder: str | None = None
    suspended: bool = False


def cycles(spark: SparkSession, *cases: Case) -> list[dict[str, tuple[timedelta | None, bool]]]:
    """When it is due, counted from the start, and whether it goes; each case is an organization of its own."""
    each = {f"o{nth}": case for nth, case in enumerate(cases)}
    here = {(org, "P1", folder): case for org, case in each.items() for folder in (HIERARCHY, SALES)}
    timed = sending.cycle(
        frame_of(spark, [(*at, "P1", *cns) for at in here for cns in ((1, 1), (3, 4))], RANGES),
        agenda=frame_of(
            spark,
            [(*at, *entry) for at, case in here.items() for entry in ((SEND, case.since), (ASK, START)) if entry[1]],
            f"{KEY}, why string, since timestamp",
        ),
        replicas=frame_of(spark, [(*at, case.standing) for at, case in here.items()], REPLICAS),
        stores=frame_of(
            spark,
            [(org, "P1", case.every, case.store) for org, case in each.items()],
            "org string, store string, interval_s bigint, schedule string",
        ),
        limits=frame_of(
            spark, [(*at, case.folder) for at, case in here.items() if case.folder is not None], f"{KEY}, schedule string"
        ),
        clock=frame_of(
            spark,
            [(org, NOW, START, case.suspended, 900) for org, case in each.items()],
            "org string, now timestamp, start timestamp, suspended boolean, interval_s bigint",
        ),
    )
    rows = {(row["org"], row["folder"]): row for row in timed.collect()}
    assert len(rows) == timed.count() == len(here), "one of each folder, however many ranges wait"
    assert all(rows[org, folder]["since"] == (case.since or NOW).replace(tzinfo=None) for (org, _, folder), case in here.items())
    start = START.replace(tzinfo=None)
    return [
        {
            folder: (rows[org, folder]["due"] and rows[org, folder]["due"] - start, rows[org, folder]["goes"])
            for folder in (HIERARCHY, SALES)
        }
        for org in each
    ]


def minutes(count: float) -> timedelta:
    return timedelta(minutes=count)


@pytest.mark.rule("R4")
def test_no_schedule_holds_back_the_hierarchy(spark: SparkSession) -> None:
    """Never and closed hours hold back content alike, and the hierarchy neither of them (F44, F45); what is no schedule
    holds back nothing."""
    expected = {NEVER: False, CLOSED: False, OPEN: True, None: True, "ten": True}
    found = cycles(spark, *(Case(store=schedule) for schedule in expected))
    assert [case[HIERARCHY][1] for case in found] == [True] * 5
    assert [case[SALES][1] for case in found] == [*expected.values()]


@pytest.mark.rule("R4", "R43")
def test_numbers_go_at_the_first_cycle_not_before_they_were_taken_in(spark: SparkSession) -> None:
    """By the interval of the store, or that of the policy where it has none that is one; where nobody wrote down since when
    they wait, they wait from now on."""
    instant = timedelta(microseconds=1)
    due = {
        Case(since=START): 0,
        Case(since=START + instant): 15,
        Case(since=NOW - instant): 15,
        Case(since=NOW): 15,
        Case(since=NOW + instant): 30,
        Case(): 15,
        Case(since=START + minutes(1), every=240): 4,
        Case(since=NOW, every=240): 16,
        Case(since=NOW, every=0): 15,
        Case(since=NOW, every=10**11 + 1): 15,
        Case(since=START - minutes(20)): -15,
    }
    assert cycles(spark, *due) == [dict.fromkeys((HIERARCHY, SALES), (minutes(at), at <= 15)) for at in due.values()]


@pytest.mark.rule("R43")
def test_content_goes_at_the_first_cycle_when_the_schedule_is_open(spark: SparkSession) -> None:
    """The folder's own schedule, else the store's; never is never (F42, F43, Q21; F69, Q22)."""
    week = 7 * 24 * 60
    due = {
        Case(store=CLOSED): 8 * 60,
        Case(store=CLOSED, folder=OPEN): 15,
        Case(store=OPEN, folder=CLOSED): 8 * 60,
        Case(store=OPEN, folder=NEVER): None,
        Case(folder="1455-1456"): 15,
        Case(folder="1454-1455"): week + 15,  # it was open until now, and its cycle is the first behind it
        Case(folder="1456-1457"): 30,  # no cycle meets that minute: the first behind it serves
        Case(folder="1456-1457,1500-1560"): 60,  # unless it is open at another
        Case(folder="1456-1457,1500-1501"): 60,
        Case(folder="1502-1503,1456-1457"): 30,
        Case(folder="0-1,1930-1940,1500-1510"): 60,
        Case(folder="1440-1441"): week,
    }
    expected = [(None, False) if at is None else (minutes(at), at <= 15) for at in due.values()]
    assert cycles(spark, *due) == [{HIERARCHY: (minutes(15), True), SALES: each} for each in expected]


@pytest.mark.rule("R43")
def test_who_leaves_waits_for_no_schedule_and_no_suspension(spark: SparkSession) -> None:
    """Of all others content is held where replication is suspended, not the hierarchy (D7)."""
    goes = {
        Case(PENDING, folder=NEVER): True,
        Case(PENDING, folder=CLOSED): True,
        Case(PENDING, suspended=True): True,
        Case(ACTIVE, suspended=True): False,
    }
    assert cycles(spark, *goes) == [{HIERARCHY: (minutes(15), True), SALES: (minutes(15), content)} for content in goes.values()]


@pytest.mark.rule("R46")
def test_what_was_made_upon_others_is_looked_for_among_the_items_that_go(spark: SparkSession) -> None:
    """Modifications and deletions, of the item of that folder; a post is made upon nothing."""
    made = [(SALES, "x", "post", 1), (SALES, "x", "modify", 2), (SALES, "y", "delete", 3), (SALES, "z", "modify", 4),
            ("P1:2", "x", "modify", 5)]  # fmt: skip
    rows = [("o", *each) for each in made]
    changes = frame_of(spark, rows, "org string, folder string, object string, action string, cn bigint")
    revisions = sending.revisions(changes, items=changes.where("cn in (1, 3)"))
    assert sorted(row["cn"] for row in revisions.collect()) == [2, 3]
    assert sorted(row["cn"] for row in sending.upon_others(changes).collect()) == [2, 3, 4, 5]


@pytest.mark.rule("R46")
def test_a_version_is_superseded_where_one_is_held_that_was_made_upon_it(spark: SparkSession) -> None:
    """Or upon a later one of its store: of the same item, in what goes, at the store that sends; not by what it only knows of."""
    upon: dict[tuple[str, str, int], list[tuple[str, int]]] = {
        ("x", "P1", 1): [], ("x", "P1", 2): [("P1", 1)], ("x", "P2", 7): [("P1", 2)], ("x", "P2", 8): [("P1", 9)],
        ("y", "P1", 3): [], ("y", "P2", 9): [("P1", 3)],
        ("z", "P1", 4): [], ("z", "P1", 5): [("P2", 1)],
    }  # fmt: skip
    rows = [("o", SALES, item, origin, cn, "modify" if of else "post", 5, of) for (item, origin, cn), of in upon.items()]
    changes = frame_of(spark, rows, CHANGES)
    found = sending.superseded(
        sending.upon_others(changes),
        ranges=ranges(spark, ("P1", SALES, "P1", 1, 5), ("P2", SALES, "P1", 2, 2)).selectExpr("*", "null asker"),
        changes=changes,
        contents=ranges(spark, ("P1", SALES, "P1", 1, 5), ("P1", SALES, "P2", 7, 7), ("P2", SALES, "P1", 1, 5)),
    )
    assert sorted((row["store"], row["origin"], row["cn"]) for row in found.collect()) == [("P1", "P1", 1), ("P1", "P1", 2)]


@pytest.mark.rule("R26", "R46")
def test_an_update_takes_its_body_along_unless_it_has_none_to_show(spark: SparkSession) -> None:
    """A deletion goes without, and what its sender knows to be superseded, which goes with it from another. What has expired at
    the sender does not go, nor what is not in the ranges."""
    made = [(1, "post", 10), (2, "modify", 20), (3, "delete", 30), (4, "post", 40), (5, "post", 0), (6, "post", 60)]
    rows = [("o", SALES, f"i{cn}", "P1", cn, action, size, []) for cn, action, size in made]
    gone = ranges(spark, ("P1", SALES, "P1", 4, 4), ("P2", SALES, "P1", 2, 2))
    travel = ranges(spark, ("P1", SALES, "P1", 1, 5), ("P2", SALES, "P1", 1, 2)).selectExpr(
        "*", "CASE store WHEN 'P2' THEN 'P3' END asker"
    )
    found = sending.updates(
        travel,
        changes=frame_of(spark, rows, CHANGES),
        superseded=frame_of(spark, [("o", "P2", SALES, "P1", 1)], f"{KEY}, origin string, cn bigint"),
        empty=gone,
    )
    assert sorted((row["store"], row["asker"], row["cn"], row["bytes"]) for row in found.collect()) == [
        ("P1", None, 1, 10), ("P1", None, 2, 20), ("P1", None, 3, 0), ("P1", None, 5, 0), ("P2", "P3", 1, 0),
    ]  # fmt: skip


def test_only_ones_own_numbers_come_back(spark: SparkSession) -> None:
    """Of any life of that store."""
    gained = ranges(
        spark, ("P1", SALES, "P1", 1, 3), ("P1", SALES, "P1~2", 1, 1), ("P1", SALES, "P2", 1, 9), ("P2", SALES, "P1", 1, 3)
    )
    assert sets(sending.returned(gained)) == [("P1", SALES, "P1", 1, 3), ("P1", SALES, "P1~2", 1, 1)]


def test_what_waits_is_not_shown_but_by_who_leaves(spark: SparkSession) -> None:
    """What goes now is shown from now on, so it is hidden no more; before the cycle it was shown to nobody (F60, D7)."""
    waiting = ranges(spark, *((store, SALES, store, 1, 2) for store in ("P1", "P2", "P3")))
    standings = replicas(spark, P1=ACTIVE, P2=ACTIVE, P3=PENDING)
    staying = ranges(spark, ("P1", SALES, "P1", 1, 2), ("P3", SALES, "P3", 1, 2)).select("org", "store", "folder")
    assert sets(sending.hidden(waiting, staying=staying, replicas=standings)) == [("P1", SALES, "P1", 1, 2)]
    assert sets(sending.unsent(waiting, replicas=standings)) == [("P1", SALES, "P1", 1, 2), ("P2", SALES, "P2", 1, 2)]


@pytest.mark.rule("R44", "R58")
def test_changes_go_to_the_others_on_the_list(spark: SparkSession) -> None:
    """Not to oneself, nor to who was taken off it, as far as the sender sees."""
    rows = [("o", "P1", SALES, peer, listing) for peer, listing in (("P1", "listed"), ("P2", "listed"), ("P3", "removed"))]
    rows += [("o", "P3", SALES, "P1", "listed"), ("o", "P3", SALES, "P3", "removed")]
    found = sending.recipients(frame_of(spark, rows, LISTS)).collect()
    assert sorted((row["store"], row["peer"]) for row in found) == [("P1", "P2"), ("P3", "P1")]
