"""Mail on its way, as frames: faults are injected where a way is bad, and nowhere else."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from pfspark.rules import transport
from pfspark.tables import CLAIM, RANGE, RECIPIENT
from tests.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

START = datetime(2026, 1, 5)
LETTERS = 400
COLUMNS = (
    f"org string, message_id string, type string, store string, folder string, carries array<{RANGE}>, status array<{CLAIM}>, "
    f"recipients array<{RECIPIENT}>, flags array<string>, at timestamp"
)
FAULTS = "org string, store string, peer string, lost double, twice double, late_s bigint, seed bigint"
BAD, SLOW, FINE = "BAD", "SLOW", "FINE"


def sent(spark: SparkSession) -> DataFrame:
    """A letter an hour from A to three stores; its last one was lost before it left."""
    rows = []
    for nth in range(LETTERS):
        at = START + timedelta(hours=nth)
        lost = "cut_off" if nth == LETTERS - 1 else None
        to = [(store, at + timedelta(minutes=20), lost) for store in sorted((BAD, SLOW, FINE))]
        rows.append(("o", f"letter {nth}", "0x4", "A", "P1:1", [("A", nth + 1, nth + 1)], [], to, ["acknowledge"], at))
    return frame_of(spark, rows, COLUMNS)


def test_letters_alike_in_all_but_their_order_are_struck_each_by_itself(spark: SparkSession) -> None:
    """Three of one sender, moment, folder and type: now this one is lost, now that one, and the middle one alone too."""
    rows = [
        ("o", f"{nth // 3}/{nth % 3 + 1}", "0x4", "A", "P1:1", [("A", nth + 1, nth + 1)], [], [(BAD, START, None)], [], START)
        for nth in range(LETTERS // 4 * 3)
    ]
    faults = frame_of(spark, [("o", "A", BAD, 0.3, 0.0, 0, 7)], FAULTS)
    fated = transport.inject_faults(frame_of(spark, rows, COLUMNS), faults=faults).collect()
    lost = {row["message_id"]: row["recipients"][0]["lost"] is not None for row in fated}
    seen = {tuple(lost[f"{moment}/{nth}"] for nth in (1, 2, 3)) for moment in range(LETTERS // 4)}
    assert len(seen) == 8 and (False, True, False) in seen


def delivered(messages: DataFrame) -> dict[str, dict[tuple[int, bool], Any]]:
    """By recipient: of each letter, and whether it is the copy, how many seconds late it is, and why it is lost."""
    found: dict[str, dict[tuple[int, bool], Any]] = defaultdict(dict)
    for row in messages.toArrow().to_pylist():
        nth, copy = row["carries"][0]["cn_min"] - 1, "copy" in row["flags"]
        assert row["message_id"] == f"letter {nth}" + "/copy" * copy
        assert row["flags"] == ["acknowledge"] + ["copy"] * copy
        due = START + timedelta(hours=nth, minutes=20)
        for to in row["recipients"]:
            assert (nth, copy) not in found[to["store"]]
            late = to["due"].replace(tzinfo=None) - due
            found[to["store"]][nth, copy] = int(late.total_seconds()), to["lost"]
    return found


@pytest.mark.rule("R59", "R64")
def test_faults_of_mail_are_drawn_for_each_letter_and_recipient(spark: SparkSession) -> None:
    faults = [("o", "A", BAD, 0.3, 0.5, 0, 7), ("o", "A", SLOW, 0.0, 1.0, 7200, 7), ("p", "A", FINE, 1.0, 1.0, 9, 7)]
    messages = sent(spark)
    fated = transport.inject_faults(messages, faults=frame_of(spark, faults, FAULTS))
    assert fated.dtypes == messages.dtypes
    said = delivered(fated)
    assert said[FINE] == delivered(messages)[FINE]  # of another organization nothing is said here
    first = {nth: told for (nth, copy), told in said[BAD].items() if not copy}
    again = {nth: told for (nth, copy), told in said[BAD].items() if copy}
    assert len(first) == LETTERS and first[LETTERS - 1] == (0, "cut_off")
    assert {late for late, _ in first.values()} == {0}
    assert 80 < sum(lost == "lost_on_the_way" for _, lost in first.values()) < 160  # 120 are expected
    assert 150 < len(again) < 250
    assert all(again[nth] == first[nth] for nth in again)  # what is lost is lost with its copy
    slow = said[SLOW]
    assert len(slow) == 2 * LETTERS and {lost for _, lost in slow.values()} == {None, "cut_off"}
    lates = [late for late, _ in slow.values()]
    assert 0 <= min(lates) < 200 and 7000 < max(lates) <= 7200 and len(set(lates)) > 700
    assert sum(slow[nth, True][0] < slow[nth, False][0] for nth in range(LETTERS)) > 100  # copies overtake
    later = sum(slow[nth, False][0] > 3600 + slow[nth + 1, False][0] for nth in range(LETTERS - 1))
    assert later > 20  # and younger letters do


@pytest.mark.rule("R59")
def test_it_is_drawn_by_what_a_letter_is_and_by_the_seed(spark: SparkSession) -> None:
    """The formula in full, for one letter: a story told again is the same, whoever tells it."""
    asked = f"7/letter 3/{SLOW}/late"
    late = int(int(hashlib.md5(asked.encode()).hexdigest()[:8], 16) / 2**32 * 7201)

    def lates(seed: int, messages: DataFrame) -> list[Any]:
        faults = frame_of(spark, [("o", "A", SLOW, 0.0, 0.0, 7200, seed)], FAULTS)
        return [told for _, told in sorted(delivered(transport.inject_faults(messages, faults=faults))[SLOW].items())]

    told = lates(7, sent(spark))
    assert told[3] == (late, None)
    assert lates(7, sent(spark).repartition(8)) == told != lates(8, sent(spark))
