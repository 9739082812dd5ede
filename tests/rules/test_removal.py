"""Leaving a list without losing content: who may go, who says so, who is erased (D1-D10)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from pfspark.rules import removal
from tests.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
EARLIER = NOW - timedelta(hours=1)
HERE = "org string, store string, folder string"
RANGES = f"{HERE}, origin string, cn_min bigint, cn_max bigint"
STATUS = "array<struct<about:string,entry:string,origin:string,cn_min:bigint,cn_max:bigint>>"
MESSAGES = (
    "org string, message_id string, recipient string, folder string, type string, flags array<string>, sender string, "
    f"status {STATUS}, at timestamp"
)
ACKNOWLEDGES = ["delete_pending", "acknowledge"]


def replicas(spark: SparkSession, **standing: str) -> DataFrame:
    rows = [("o", store, "F", 1, how.replace("_", " "), EARLIER) for store, how in standing.items()]
    return frame_of(spark, rows, f"{HERE}, life bigint, standing string, at timestamp")


def numbers(spark: SparkSession, **held: tuple[int, int]) -> DataFrame:
    """Numbers of A that stores hold, from and to."""
    return frame_of(spark, [("o", store, "F", "A", *span) for store, span in held.items()], RANGES)


def keys(spark: SparkSession, *stores: str) -> DataFrame:
    return frame_of(spark, [("o", store, "F") for store in stores], HERE)


def gone(spark: SparkSession, rule: str, *answers: tuple[str, int, int, list[str], datetime], unlisted: bool = False) -> bool:
    """Whether the leaver LEAVES, which holds A:1-10, may go after these answers: sender, what it shows, flags, when."""
    rows = [
        ("o", f"m{nth}", "LEAVES", "F", "0x10", flags, sender, [(sender, "reported", "A", first, last)], at)
        for nth, (sender, first, last, flags, at) in enumerate(answers)
    ]
    clock = frame_of(spark, [("o", rule)], "org string, removal_rule string")
    stand = replicas(spark, LEAVES="delete_pending", STAYS="active")
    told = removal.acknowledgements(frame_of(spark, rows, MESSAGES), replicas=stand, clock=clock)
    called = keys(spark, *(["LEAVES"] if unlisted else []))
    steps = removal.advance(told, applied=numbers(spark, LEAVES=(1, 10)), replicas=stand, unlisted=called).collect()
    assert {(row["store"], row["standing"]) for row in steps} <= {("LEAVES", "delete now")}
    return bool(steps)


ONE, UNION = "one_holds_all", "union_holds_all"
LATER = EARLIER + timedelta(microseconds=1)


@pytest.mark.rule("R139")
@pytest.mark.parametrize(
    ("rule", "answers", "goes"),
    [
        (ONE, [("B", 1, 10, ACKNOWLEDGES, LATER)], True),
        (ONE, [("B", 1, 9, ACKNOWLEDGES, LATER)], False),  # it says so, and does not show all
        (ONE, [("B", 1, 10, ["delete_pending"], LATER)], False),  # it does not acknowledge
        (ONE, [("B", 1, 10, ["acknowledge"], LATER)], False),  # to somebody else's question
        (ONE, [("B", 1, 10, ACKNOWLEDGES, EARLIER)], False),  # not later than the leave
        (ONE, [("B", 1, 5, ACKNOWLEDGES, LATER), ("C", 6, 10, ACKNOWLEDGES, LATER)], False),
        (UNION, [("B", 1, 5, ["delete_pending"], LATER), ("C", 6, 10, ["delete_pending"], LATER)], True),
        (UNION, [("B", 1, 5, ["delete_pending"], LATER), ("C", 7, 10, ["delete_pending"], LATER)], False),
    ],
)
def test_a_leaver_goes_when_its_content_is_safe(
    spark: SparkSession, rule: str, answers: list[tuple[str, int, int, list[str], datetime]], goes: bool
) -> None:
    """Where one that stays holds all of it, or all that answer between them, as the policy says (C5)."""
    assert gone(spark, rule, *answers) == goes


def test_who_is_not_called_removed_says_so_first(spark: SparkSession) -> None:
    assert not gone(spark, ONE, ("B", 1, 10, ACKNOWLEDGES, LATER), unlisted=True)


@pytest.mark.parametrize(
    ("held", "erased"),
    [
        ({"OVER": (1, 5), "STAYS": (1, 9)}, True),
        ({"OVER": (1, 5), "STAYS": (2, 9)}, False),  # nobody else has A:1
        ({"OVER": (1, 5), "ALSO_OVER": (1, 5)}, False),  # who goes too does not count
        ({"STAYS": (1, 9)}, True),
    ],
)
def test_the_last_copy_is_not_erased(spark: SparkSession, held: dict[str, tuple[int, int]], erased: bool) -> None:
    """D8; what was settled without content nobody needs."""
    stand = replicas(spark, OVER="delete_now", STAYS="active", ALSO_OVER="delete_now")
    given: dict[str, Any] = {"tonight": keys(spark, "OVER", "STAYS"), "applied": numbers(spark, **held)}
    steps = removal.erase(stand, **given, empty=numbers(spark, OVER=(99, 99))).collect()
    assert [(row["store"], row["standing"]) for row in steps] == [("OVER", "erased")] * erased
    settled = removal.erase(stand, **given, empty=numbers(spark, OVER=(1, 1)))
    assert settled.count() == (erased or held.get("STAYS") == (2, 9))


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
