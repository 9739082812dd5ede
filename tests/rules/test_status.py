"""Status that is asked for, and told unasked (R130-R139)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from pfspark.rules import agenda, receipt, status
from pfspark.words import MessageType, Why
from tests.frames import by_org, frame_of

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
HERE = "org string, store string, folder string"
BELIEFS = f"{HERE}, entry string, about string, origin string, cn_min bigint, cn_max bigint"
RANGES = f"{HERE}, origin string, cn_min bigint, cn_max bigint"
CLAIMS = "array<struct<about:string,entry:string,origin:string,cn_min:bigint,cn_max:bigint>>"
REQUESTS = f"{HERE}, peer string, status {CLAIMS}, leaver boolean"


@dataclass(frozen=True)
class Asks:
    """PEER asks ME, which shows A:1-10."""

    believed: int
    """What PEER is known to hold."""
    shows: int = 10
    """What its request shows."""
    leaver: bool = False
    when: str = "has_more"
    standing: str = "active"


def answered(spark: SparkSession, requests: Iterable[Asks]) -> dict[Asks, list[str] | None]:
    """The flags by which each is answered, in an organization of its own; None: it is not."""
    orgs = {str(nth): asks for nth, asks in enumerate(requests)}
    shows = {org: [("PEER", "reported", "A", 1, asks.shows)] for org, asks in orgs.items()}
    asked = [(org, "ME", "F", "PEER", shows[org], asks.leaver) for org, asks in orgs.items()]
    beliefs = [(org, "ME", "F", "reported", "PEER", "A", 1, asks.believed) for org, asks in orgs.items()]
    held = frame_of(spark, [(org, "ME", "F", "A", 1, 10) for org in orgs], RANGES)
    stand = [(org, "ME", "F", asks.standing) for org, asks in orgs.items()]
    told = by_org(
        status.answer(
            frame_of(spark, asked, REQUESTS),
            shown=held,
            applied=held,
            beliefs=frame_of(spark, beliefs, BELIEFS),
            replicas=frame_of(spark, stand, f"{HERE}, standing string"),
            clock=frame_of(spark, [(org, asks.when) for org, asks in orgs.items()], "org string, answer_when string"),
        )
    )
    return {asks: [*told[org][0]["flags"]] if told[org] else None for org, asks in orgs.items()}


@pytest.mark.rule("R135", "R138")
def test_who_lacks_something_is_answered(spark: SparkSession) -> None:
    """Who lacks nothing is not, but where the policy answers always (C4)."""
    expected = {Asks(believed=9): [], Asks(believed=10): None, Asks(believed=10, when="always"): []}
    assert answered(spark, expected) == expected


def test_a_leaver_is_always_answered(spark: SparkSession) -> None:
    """Acknowledged by an active replica that holds all it showed, and by no other (F62)."""
    expected = {
        Asks(believed=10, leaver=True): ["delete_pending", "acknowledge"],
        Asks(believed=10, leaver=True, shows=11): ["delete_pending"],
        Asks(believed=10, leaver=True, standing="delete pending"): [],
    }
    assert answered(spark, expected) == expected


@pytest.mark.rule("R120")
def test_who_is_named_must_answer(spark: SparkSession) -> None:
    """Or everybody, where nobody is named; only questions are meant, and what askers say of themselves in this life."""
    rows = [
        ("o", "m", "ME", "F", "PEER", "PEER~2", "0x20", names, flags)
        for names, flags in ((["ME", "X"], []), (["X"], []), ([], ["delete_pending"]))
    ]
    rows.append(("o", "m", "ME", "F", "PEER", "PEER", "0x10", ["ME"], []))
    ddl = "org string, message_id string, recipient string, folder string, store string, sender string, type string"
    mail = frame_of(spark, rows, f"{ddl}, responders array<string>, flags array<string>")
    says = [(label, "reported", "A", 1, 9) for label in ("PEER", "PEER~2", "ME", "OTHER")]
    letters = frame_of(spark, [("o", "m", says)], f"org string, message_id string, status {CLAIMS}")
    found = status.asked_for(receipt.of_types(mail, types=(MessageType.STATUS_REQUEST,)), letters=letters).collect()
    assert sorted((row["peer"], [each["about"] for each in row["status"]], row["leaver"]) for row in found) == [
        ("PEER", ["PEER~2"], False), ("PEER", ["PEER~2"], True),
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


Wait = int | str | None
REPEATED: dict[str, tuple[int | None, int, bool, bool, Wait]] = {
    # attempt, due in so many seconds, whether somebody lacks something; whether it goes, and when it is due then
    "the first wait": (None, 0, True, False, 60),
    "it goes, and the next wait is twice as long": (0, 0, True, True, 120),
    "and twice as long again": (1, 0, True, True, 240),
    "the longest": (9, 0, True, True, 3_600),
    "not yet: stays as it is": (1, 30, True, False, None),
    "nobody lacks anything": (1, 0, False, False, "off"),
}
CHANGED, TO_COME = "something changes", "status is to come anyway"
"""Why none of them is repeated, though somebody lacks something."""


@pytest.fixture(scope="module")
def repeated(spark: SparkSession) -> Mapping[str, list[Row]]:
    """What becomes of each, and of each when nothing is repeated."""
    rows: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for case, (attempt, seconds, lacks, *_) in REPEATED.items():
        for why in ("", CHANGED, TO_COME):
            here = f"{case}{why}", "ME", "F"
            rows["keys"].append(here)
            rows["behind"] += [here] if lacks or why else []
            rows["noted"] += [] if attempt is None else [(*here, attempt, NOW + timedelta(seconds=seconds))]
            rows["strokes"] += [(*here, 0, NOW + timedelta(seconds=1))] if why == TO_COME else []
            rows["changed"] += [here] if why == CHANGED else []
            rows["policies"].append((here[0], NOW, [60, 3_600]))
    columns = dict.fromkeys(("noted", "strokes"), f"{HERE}, attempt bigint, due timestamp")
    columns["policies"] = "org string, now timestamp, status_again_s array<bigint>"
    return by_org(status.repeat(**{name: frame_of(spark, some, columns.get(name, HERE)) for name, some in rows.items()}))


@pytest.mark.parametrize("case", REPEATED)
def test_status_is_repeated_less_and_less_often(repeated: Mapping[str, list[Row]], case: str) -> None:
    _, seconds, _, goes, wait = REPEATED[case]
    [row] = repeated[case]
    assert row["goes"] == goes
    at = NOW + timedelta(seconds=seconds)
    after = None if wait == "off" else at if wait is None else NOW + timedelta(seconds=int(wait))
    assert row["due"] == (after and after.replace(tzinfo=None))
    assert all(row["due"] is None for why in (CHANGED, TO_COME) for row in repeated[f"{case}{why}"])
