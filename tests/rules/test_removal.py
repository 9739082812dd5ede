"""Leaving a list without losing content: who may go, who says so, who is erased (D1-D10)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from pfspark.rules import removal
from tests.frames import by_org, frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
EARLIER = NOW - timedelta(hours=1)
HERE = "org string, store string, folder string"
RANGES = f"{HERE}, origin string, cn_min bigint, cn_max bigint"
STATUS = "array<struct<about:string,entry:string,origin:string,cn_min:bigint,cn_max:bigint>>"
MESSAGES = (
    "org string, message_id string, recipient string, folder string, type string, flags array<string>, sender string, "
    "at timestamp"
)
ACKNOWLEDGES = ["delete_pending", "acknowledge"]
Held = dict[str, tuple[int, int]]
"""Numbers of A by the store that holds them, from and to."""


def replicas(spark: SparkSession, orgs: Iterable[str] = ("o",), /, **standing: str) -> DataFrame:
    rows = [(org, store, "F", 1, how.replace("_", " "), EARLIER) for org in orgs for store, how in standing.items()]
    return frame_of(spark, rows, f"{HERE}, life bigint, standing string, at timestamp")


def numbers(spark: SparkSession, held: Mapping[str, Held]) -> DataFrame:
    """What stores hold, by organization."""
    rows = [(org, store, "F", "A", *span) for org, stores in held.items() for store, span in stores.items()]
    return frame_of(spark, rows, RANGES)


def keys(spark: SparkSession, orgs: Iterable[str], *stores: str) -> DataFrame:
    return frame_of(spark, [(org, store, "F") for org in orgs for store in stores], HERE)


ONE, UNION = "one_holds_all", "union_holds_all"
LATER = EARLIER + timedelta(microseconds=1)
ANSWERED: dict[str, tuple[str, list[tuple[str, int, int, list[str], datetime]], bool]] = {
    # the rule; of answers the sender, what it shows, flags, and when; whether the leaver may go
    "one has all": (ONE, [("B", 1, 10, ACKNOWLEDGES, LATER)], True),
    "it says so, and does not show all": (ONE, [("B", 1, 9, ACKNOWLEDGES, LATER)], False),
    "it does not acknowledge": (ONE, [("B", 1, 10, ["delete_pending"], LATER)], False),
    "to somebody else's question": (ONE, [("B", 1, 10, ["acknowledge"], LATER)], False),
    "not later than the leave": (ONE, [("B", 1, 10, ACKNOWLEDGES, EARLIER)], False),
    "none has all": (ONE, [("B", 1, 5, ACKNOWLEDGES, LATER), ("C", 6, 10, ACKNOWLEDGES, LATER)], False),
    "all have all": (UNION, [("B", 1, 5, ["delete_pending"], LATER), ("C", 6, 10, ["delete_pending"], LATER)], True),
    "all have not all": (UNION, [("B", 1, 5, ["delete_pending"], LATER), ("C", 7, 10, ["delete_pending"], LATER)], False),
}
UNLISTED = {"not called removed": (ONE, [("B", 1, 10, ACKNOWLEDGES, LATER)])}


@pytest.fixture(scope="module")
def goes(spark: SparkSession) -> dict[str, bool]:
    """Whether the leaver LEAVES, which holds A:1-10, may go in each case."""
    cases = {case: (rule, answers) for case, (rule, answers, _) in ANSWERED.items()} | UNLISTED
    rows = [
        (org, f"m{nth}", "LEAVES", "F", "0x10", flags, sender, at)
        for org, (_, answers) in cases.items()
        for nth, (sender, _, _, flags, at) in enumerate(answers)
    ]
    says = [
        (org, f"m{nth}", [(sender, "reported", "A", first, last)])
        for org, (_, answers) in cases.items()
        for nth, (sender, first, last, *_) in enumerate(answers)
    ]
    clock = frame_of(spark, [(org, rule) for org, (rule, _) in cases.items()], "org string, removal_rule string")
    stand = replicas(spark, cases, LEAVES="delete_pending", STAYS="active")
    letters = frame_of(spark, says, f"org string, message_id string, status {STATUS}")
    told = removal.acknowledgements(frame_of(spark, rows, MESSAGES), letters=letters, replicas=stand, clock=clock)
    held = numbers(spark, {org: {"LEAVES": (1, 10)} for org in cases})
    steps = removal.advance(told, applied=held, replicas=stand, unlisted=keys(spark, UNLISTED, "LEAVES")).collect()
    assert {(row["store"], row["standing"]) for row in steps} <= {("LEAVES", "delete now")}
    return {case: case in {row["org"] for row in steps} for case in cases}


@pytest.mark.rule("R139")
@pytest.mark.parametrize("case", ANSWERED)
def test_a_leaver_goes_when_its_content_is_safe(goes: dict[str, bool], case: str) -> None:
    """Where one that stays holds all of it, or all that answer between them, as the policy says (C5)."""
    *_, expected = ANSWERED[case]
    assert goes[case] == expected


def test_who_is_not_called_removed_says_so_first(goes: dict[str, bool]) -> None:
    assert not goes["not called removed"]


OVER: dict[str, tuple[Held, bool]] = {  # who holds what, and whether OVER is erased
    "who stays has it": ({"OVER": (1, 5), "STAYS": (1, 9)}, True),
    "nobody else has A:1": ({"OVER": (1, 5), "STAYS": (2, 9)}, False),
    "who goes too does not count": ({"OVER": (1, 5), "ALSO_OVER": (1, 5)}, False),
    "it has nothing": ({"STAYS": (1, 9)}, True),
}
OF_ANOTHER, OF_A1 = "", ", A:1 without content"


@pytest.fixture(scope="module")
def erased(spark: SparkSession) -> Mapping[str, list[Row]]:
    """Who is erased in each case, where OVER has settled A:99 without content, and where it has settled A:1."""
    orgs = {f"{case}{settled}": held for case, (held, _) in OVER.items() for settled in (OF_ANOTHER, OF_A1)}
    empty = {org: {"OVER": (1, 1) if org.endswith(OF_A1) else (99, 99)} for org in orgs}
    return by_org(
        removal.erase(
            replicas(spark, orgs, OVER="delete_now", STAYS="active", ALSO_OVER="delete_now"),
            tonight=keys(spark, orgs, "OVER", "STAYS"),
            applied=numbers(spark, orgs),
            empty=numbers(spark, empty),
        )
    )


@pytest.mark.parametrize("case", OVER)
def test_the_last_copy_is_not_erased(erased: Mapping[str, list[Row]], case: str) -> None:
    """D8; what was settled without content nobody needs."""
    held, expected = OVER[case]
    assert [(row["store"], row["standing"]) for row in erased[case + OF_ANOTHER]] == [("OVER", "erased")] * expected
    assert len(erased[case + OF_A1]) == (expected or held.get("STAYS") == (2, 9))


def test_who_goes_speaks_once_more(spark: SparkSession) -> None:
    """As it stood before; not who was put back on the list in the same round, nor who is erased."""
    before = replicas(spark, GOES="delete_pending", BACK="delete_pending", STAYS="active")
    leaving = replicas(spark, GOES="delete_now", BACK="delete_now")
    after = replicas(spark, GOES="delete_now", BACK="active", STAYS="active")
    found = removal.let_go(before, leaving, replicas=after).collect()
    assert [(row["store"], row["standing"]) for row in found] == [("GOES", "delete pending")]


def test_who_has_gone_and_is_called_removed_says_so_again(spark: SparkSession) -> None:
    lists = frame_of(
        spark,
        [("o", store, "F", store, how) for store, how in {"A": "removed", "B": "removed", "C": "gone", "D": "removed"}.items()],
        f"{HERE}, peer string, listing string",
    )
    stand = replicas(spark, A="erased", B="delete_pending", C="erased", D="delete_now")
    assert {row["store"] for row in removal.called_again(stand, lists=lists).collect()} == {"A", "D"}
