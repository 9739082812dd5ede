"""Where readers are sent: each case an organization, all cases in one job."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from pfspark.rows import arrow, local, schema_of, struct
from pfspark.rules.referral import DEAREST, refer
from pfspark.words import HIERARCHY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FOLDER = "PFS1:1"
LISTED, REMOVED, GONE = "listed", "removed", "gone"


@dataclass(frozen=True)
class Case:
    """An organization: stores with their sites, the cost between sites, what each viewer's list says, own standings."""

    sites: dict[str, str]
    lists: dict[str, dict[str, str]]
    costs: dict[tuple[str, str], int] = field(default_factory=dict)
    standing: dict[str, str] = field(default_factory=dict)
    retired: tuple[str, ...] = ()


def listed(*peers: str, **others: str) -> dict[str, str]:
    return {**dict.fromkeys(peers, LISTED), **others}


THREE = {"A": "Rome", "B": "Oslo", "C": "Lima"}

CASES = {
    "by cost": Case(THREE, {"A": listed("B", "C")}, {("Rome", "Oslo"): 5, ("Rome", "Lima"): 9}),
    "by cost, the other way": Case(THREE, {"A": listed("B", "C")}, {("Rome", "Oslo"): 9, ("Rome", "Lima"): 5}),
    "the way back does not count": Case(THREE, {"A": listed("B", "C")}, {("Oslo", "Rome"): 9, ("Rome", "Lima"): 5}),
    "by name": Case({**THREE, "D": "Lima"}, {"A": listed("D", "C", "B")}, {("Rome", "Oslo"): 5, ("Rome", "Lima"): 5}),
    "same site": Case({**THREE, "D": "Rome"}, {"A": listed("B", "D")}, {("Rome", "Oslo"): 0}),
    "without a link": Case(THREE, {"A": listed("B", "C")}, {("Rome", "Oslo"): 2}),
    "here": Case({**THREE, "0": "Rome"}, {"A": listed("0", "A", "B")}, standing={"A": "active"}),
    "leaving here": Case(THREE, {"A": listed("B", A=REMOVED)}, standing={"A": "delete pending"}),
    "leaving here, and put back": Case(THREE, {"A": listed("A", "B")}, standing={"A": "active"}),
    "going here": Case(THREE, {"A": listed("B", A=GONE)}, standing={"A": "delete now"}),
    "nothing here yet": Case(THREE, {"A": listed("B")}, standing={"A": "erased"}),
    "the nearest leaves": Case(THREE, {"A": listed("C", B=REMOVED)}, {("Rome", "Oslo"): 1, ("Rome", "Lima"): 99}),
    "the nearest is gone": Case(THREE, {"A": listed("C", B=GONE)}, {("Rome", "Oslo"): 1, ("Rome", "Lima"): 99}),
    "the nearest stays": Case(THREE, {"A": listed("B", "C")}, {("Rome", "Oslo"): 1, ("Rome", "Lima"): 99}),
    "only leavers": Case(THREE, {"A": listed(A=REMOVED, B=REMOVED, C=GONE)}, standing={"A": "delete pending"}),
    "too expensive": Case(THREE, {"A": listed("B", "C")}, {("Rome", "Oslo"): DEAREST + 1, ("Rome", "Lima"): -1}),
    "just affordable": Case(THREE, {"A": listed("B", "C")}, {("Rome", "Oslo"): DEAREST, ("Rome", "Lima"): 0}),
    "retired": Case(THREE, {"A": listed("B", "C")}, retired=("B",)),
    "of no directory": Case(THREE, {"A": listed("B", "Z")}),
    "two views": Case(
        {"A": "Rome", "B": "Rome", "C": "Oslo", "D": "Lima"},
        {"A": listed("C", "D"), "B": listed("D", C=REMOVED)},
        {("Rome", "Oslo"): 1, ("Rome", "Lima"): 9},
    ),
    "heard of by one": Case(THREE, {"A": listed("B", "C"), "C": {}}),
    "standing elsewhere": Case(THREE, {"A": listed("B")}, standing={"B": "delete pending"}),
}
"""Readers are at the stores whose views are told."""


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[tuple[str, str], list[tuple[str, int, bool]]]:
    """Who is named to each reader: peer, cost and whether it is one of the cheapest, in order, by case and store."""

    def frame(rows: list[dict[str, Any]], name: str) -> DataFrame:
        schema = struct(name) if " " in name else schema_of(name)
        return local(spark, arrow(schema, rows), schema)

    each = CASES.items()
    rows = refer(
        frame(
            [{"org": org, "store": store, "folder": FOLDER} for org, case in each for store in case.lists] * 2,
            "org string, store string, folder string",
        ),
        lists=frame(
            [
                {"org": org, "store": store, "folder": folder, "peer": peer, "listing": listing}
                for org, case in each
                for store, entries in case.lists.items()
                for peer, listing in entries.items()
                for folder in (FOLDER,)
            ]
            + [
                {"org": org, "store": store, "folder": HIERARCHY, "peer": peer, "listing": LISTED}
                for org, case in each
                for store in case.lists
                for peer in case.sites
            ],
            "lists",
        ),
        replicas=frame(
            [
                {"org": org, "store": store, "folder": FOLDER, "life": 1, "standing": standing}
                for org, case in each
                for store, standing in case.standing.items()
            ],
            "replicas",
        ),
        stores=frame(
            [
                {"org": org, "store": store, "site": site, "retired": store in case.retired}
                for org, case in each
                for store, site in case.sites.items()
            ],
            "stores",
        ),
        links=frame(
            [
                {"org": org, "from_site": one, "to_site": other, "cost": cost}
                for org, case in each
                for (one, other), cost in case.costs.items()
            ],
            "links",
        ),
    )
    named: dict[tuple[str, str], list[tuple[str, int, bool]]] = {}
    for row in sorted(rows.collect(), key=lambda row: row["nth"]):
        named.setdefault((row["org"], row["store"]), []).append((row["peer"], row["cost"], row["cheapest"]))
        assert (row["folder"], row["nth"]) == (FOLDER, len(named[row["org"], row["store"]]))
    return named


Found = dict[tuple[str, str], list[tuple[str, int, bool]]]


@pytest.mark.rule("R10")
@pytest.mark.parametrize(
    ("case", "named"),
    [
        ("by cost", [("B", 5, True), ("C", 9, False)]),
        ("by cost, the other way", [("C", 5, True), ("B", 9, False)]),
        ("the way back does not count", [("B", 1, True), ("C", 5, False)]),
        ("by name", [("B", 5, True), ("C", 5, True), ("D", 5, True)]),
        ("same site", [("B", 0, True), ("D", 0, True)]),
        ("without a link", [("C", 1, True), ("B", 2, False)]),
        ("here", [("A", 0, True), ("0", 0, False), ("B", 1, False)]),
        ("leaving here, and put back", [("A", 0, True), ("B", 1, False)]),
        ("nothing here yet", [("B", 1, True)]),
        ("retired", [("C", 1, True)]),
        ("of no directory", [("B", 1, True)]),
        ("standing elsewhere", [("B", 1, True)]),  # A has not heard of it
    ],
)
def test_readers_are_sent_to_replicas_by_cost(found: Found, case: str, named: list[Any]) -> None:
    assert found[case, "A"] == named


@pytest.mark.rule("R146")
@pytest.mark.parametrize(
    ("case", "named"),
    [
        ("the nearest stays", [("B", 1, True), ("C", 99, False)]),
        ("the nearest leaves", [("C", 99, True)]),
        ("the nearest is gone", [("C", 99, True)]),
        ("leaving here", [("B", 1, True)]),
        ("going here", [("B", 1, True)]),
    ],
)
def test_nobody_is_sent_to_a_replica_that_leaves(found: Found, case: str, named: list[Any]) -> None:
    assert found[case, "A"] == named


@pytest.mark.rule("R10")
@pytest.mark.rule("R146")
def test_two_stores_that_see_two_lists_refer_differently(found: Found) -> None:
    assert found["two views", "A"] == [("C", 1, True), ("D", 9, False)]
    assert found["two views", "B"] == [("D", 9, True)]
    assert [peer for peer, _, _ in found["heard of by one", "A"]] == ["B", "C"]
    assert ("heard of by one", "C") not in found


def test_a_reader_whom_nobody_can_serve_has_no_row(found: Found) -> None:
    assert ("only leavers", "A") not in found
    assert ("too expensive", "A") not in found
    assert found["just affordable", "A"] == [("C", 0, True), ("B", DEAREST, False)]


def test_only_those_who_ask_are_answered(found: Found) -> None:
    assert {key for key in found if key[0] == "by cost"} == {("by cost", "A")}
