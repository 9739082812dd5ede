"""Status that is asked for, and told unasked (R130-R139)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

import pytest

from pfspark.rules import agenda, receipt, status
from pfspark.words import MessageType, Why
from tests.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
HERE = "org string, store string, folder string"
BELIEFS = f"{HERE}, entry string, about string, origin string, cn_min bigint, cn_max bigint"
RANGES = f"{HERE}, origin string, cn_min bigint, cn_max bigint"
CLAIMS = "array<struct<about:string,entry:string,origin:string,cn_min:bigint,cn_max:bigint>>"
REQUESTS = f"{HERE}, peer string, peer_label string, status {CLAIMS}, leaver boolean"


def numbers(spark: SparkSession, first: int, last: int) -> DataFrame:
    return frame_of(spark, [("o", "ME", "F", "A", first, last)], RANGES)


def answered(
    spark: SparkSession,
    *,
    believed: int,
    shown: int = 10,
    asked: int = 10,
    leaver: bool = False,
    when: str = "has_more",
    standing: str = "active",
) -> list[str] | None:
    """The flags by which ME, which shows A:1-`shown`, answers PEER; None: it does not. `believed`: what PEER is known to
    hold; `asked`: what its request shows."""
    request = ("o", "ME", "F", "PEER", "PEER", [("PEER", "reported", "A", 1, asked)], leaver)
    beliefs = [("o", "ME", "F", "reported", "PEER", "A", 1, believed)]
    rows = status.answer(
        frame_of(spark, [request], REQUESTS),
        shown=numbers(spark, 1, shown), applied=numbers(spark, 1, shown),
        beliefs=frame_of(spark, beliefs, BELIEFS),
        replicas=frame_of(spark, [("o", "ME", "F", standing)], f"{HERE}, standing string"),
        clock=frame_of(spark, [("o", when)], "org string, answer_when string"),
    ).collect()  # fmt: skip
    return list(rows[0]["flags"]) if rows else None


@pytest.mark.rule("R135", "R138")
def test_who_lacks_something_is_answered(spark: SparkSession) -> None:
    """Who lacks nothing is not, but where the policy answers always (C4)."""
    assert answered(spark, believed=9) == []
    assert answered(spark, believed=10) is None
    assert answered(spark, believed=10, when="always") == []


def test_a_leaver_is_always_answered(spark: SparkSession) -> None:
    """Acknowledged by an active replica that holds all it showed, and by no other (F62)."""
    assert answered(spark, believed=10, leaver=True) == ["delete_pending", "acknowledge"]
    assert answered(spark, believed=10, leaver=True, asked=11) == ["delete_pending"]
    assert answered(spark, believed=10, leaver=True, standing="delete pending") == []


@pytest.mark.rule("R120")
def test_who_is_named_must_answer(spark: SparkSession) -> None:
    """Or everybody, where nobody is named; only questions are meant."""
    rows = [
        ("o", "ME", "F", "PEER", "PEER~2", "0x20", names, [], flags)
        for names, flags in ((["ME", "X"], []), (["X"], []), ([], ["delete_pending"]))
    ]
    rows.append(("o", "ME", "F", "PEER", "PEER", "0x10", ["ME"], [], []))
    ddl = "org string, recipient string, folder string, store string, sender string, type string, responders array<string>"
    mail = frame_of(spark, rows, f"{ddl}, status {CLAIMS}, flags array<string>")
    found = status.asked_for(receipt.of_types(mail, types=(MessageType.STATUS_REQUEST,))).collect()
    assert sorted((row["peer"], row["peer_label"], row["leaver"]) for row in found) == [
        ("PEER", "PEER~2", False), ("PEER", "PEER~2", True),
    ]  # fmt: skip


@pytest.mark.rule("R131", "R132")
def test_who_starts_for_the_first_time_asks_all(spark: SparkSession) -> None:
    """Who was restored asks as many as the policy has it then."""
    rows = [("o", "NEW", "1-1", None), ("o", "OLD", "1-1", NOW), ("o", "OLD", "F", NOW)]
    again = frame_of(spark, rows, f"{HERE}, since timestamp")
    steps = frame_of(spark, [("o", "MOVED", "F", "active"), ("o", "LEFT", "F", "erased")], f"{HERE}, standing string")
    clock = frame_of(spark, [("o", "all", "three")], "org string, responders_list_change string, responders_restore string")
    found = status.begin(steps, again=again, clock=clock).collect()
    assert sorted((row["store"], row["folder"], row["rule"]) for row in found) == [
        ("MOVED", "F", "all"), ("NEW", "1-1", "all"), ("OLD", "1-1", "three"), ("OLD", "F", "three"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("by_list", "by_restore", "rule"),
    [
        ("three", "three_and_oldest", "three_and_oldest"),
        ("three_and_oldest", "three", "three_and_oldest"),
        ("all", "three", "all"),
    ],
)
def test_of_two_reasons_to_ask_the_wider_counts(spark: SparkSession, by_list: str, by_restore: str, rule: str) -> None:
    """A store that is restored in the round in which it is put back on the list."""
    again = frame_of(spark, [("o", "ME", "F", NOW)], f"{HERE}, since timestamp")
    steps = frame_of(spark, [("o", "ME", "F", "active")], f"{HERE}, standing string")
    clock = frame_of(spark, [("o", by_list, by_restore)], "org string, responders_list_change string, responders_restore string")
    assert [row["rule"] for row in status.begin(steps, again=again, clock=clock).collect()] == [rule]


@pytest.mark.rule("R136", "R137")
@pytest.mark.parametrize(
    ("clock", "due"),
    [([], "2026-01-06T12:00"), ([0], "2026-01-07T00:00"), ([43_200], "2026-01-06T12:00"), ([3_600, 64_800], "2026-01-06T18:00")],
)
def test_a_quiet_folder_tells_after_a_day(spark: SparkSession, clock: list[int], due: str) -> None:
    """At the next stroke of the policy's clock, where it has one."""
    policy = frame_of(
        spark, [("o", NOW, 86_400, clock)], "org string, now timestamp, status_after_s bigint, status_clock_s array<bigint>"
    )
    changed = frame_of(spark, [("o", "ME", "F")] * 2, HERE)
    [row] = status.restart_clock(changed, clock=policy).collect()
    assert row["due"] == datetime.fromisoformat(due)


def test_where_something_changes_the_wait_begins_anew(spark: SparkSession) -> None:
    entries = [("o", "ME", folder, why) for folder, why in (("F", "status"), ("G", "status"), ("H", "send"))]
    due = agenda.of_kind(frame_of(spark, entries, f"{HERE}, why string"), why=Why.STATUS)
    changed = frame_of(spark, [("o", "ME", "G"), ("o", "YOU", "F")], HERE)
    assert [row["folder"] for row in status.fall_due(due, changed=changed).collect()] == ["F"]


@pytest.mark.parametrize(
    ("attempt", "due", "behind", "goes", "wait"),
    [
        (None, None, True, False, 60),  # the first wait
        (0, 0, True, True, 120),  # it goes, and the next wait is twice as long
        (1, 0, True, True, 240),
        (9, 0, True, True, 3_600),  # the longest
        (1, 30, True, False, None),  # not yet: stays as it is
        (1, 0, False, False, "off"),  # nobody lacks anything
    ],
)
def test_status_is_repeated_less_and_less_often(
    spark: SparkSession, attempt: int | None, due: int | None, behind: bool, goes: bool, wait: int | str | None
) -> None:
    """`due`: in seconds from now."""
    entry = "org string, store string, folder string, attempt bigint, due timestamp"
    at = NOW + timedelta(seconds=due or 0)
    entries = frame_of(spark, [] if attempt is None else [("o", "ME", "F", attempt, at)], entry)
    keys, none = frame_of(spark, [("o", "ME", "F")], HERE), frame_of(spark, [], HERE)
    policies = frame_of(spark, [("o", NOW, [60, 3_600])], "org string, now timestamp, status_again_s array<bigint>")
    repeat = partial(status.repeat, strokes=entries.limit(0), keys=keys, policies=policies)
    [row] = repeat(keys if behind else none, entries, changed=none).collect()
    assert row["goes"] == goes
    after = None if wait == "off" else at if wait is None else NOW + timedelta(seconds=int(wait))
    assert row["due"] == (after and after.replace(tzinfo=None))
    to_come = frame_of(spark, [("o", "ME", "F", 0, NOW + timedelta(seconds=1))], entry)
    for off in (repeat(keys, entries, changed=keys), repeat(keys, entries, changed=none, strokes=to_come)):
        assert off.where("due is not null").count() == 0
