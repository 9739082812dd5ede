"""When content may be sent: schedules as people write them, and as tables keep them."""

from __future__ import annotations

from datetime import datetime, time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfspark import schedules
from pfspark.errors import UsageError
from pfspark.schedules import (
    ALWAYS,
    NEVER,
    WEEK,
    Schedule,
    is_night,
    parse_schedule,
    parse_slots,
    show_schedule,
    spell_schedule,
)


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        ("Always", ALWAYS),
        ("never", NEVER),
        ("Sun.11:30 PM-Mon.1:30 AM", ((1410, 1530),)),  # F84
        ("6.22:00-6.22:15", ((10_080 - 120, 10_080 - 105),)),  # F84
        ("Saturday.23:30-Sunday.01:30", ((0, 90), (WEEK - 30, WEEK))),
        ("Mon.8:07-Mon.9:14", ((1920, 1980),)),  # minutes round down
        ("Mon.8:00-Mon.9:00,Mon.9:00-Mon.10:00", ((1920, 2040),)),
        ("Mon.12:00 AM-Mon.12:30 PM", ((1440, 2190),)),
        ("Mon.9:00-Mon.8:45", ((0, 1965), (1980, WEEK))),  # all the week but a quarter of an hour
        ("every 15m", ALWAYS),
        ("every 5 minutes", ALWAYS),
        ("Every hour", tuple((hour * 60, hour * 60 + 15) for hour in range(168))),
        ("every 7 days", ((0, 15),)),
    ],
)
def test_schedules(text: str, slots: Schedule) -> None:
    assert parse_schedule(text) == slots


def test_a_list_of_spans_is_one_schedule() -> None:
    assert parse_schedule(["Mon.8:00-Mon.9:00", "0.0:00-0.0:15"]) == ((0, 15), (1920, 1980))


@pytest.mark.parametrize(
    "bad",
    [
        *("", "sometimes", "Mon.8:00", "Mon.8:00-Mon.8:14", "Mon.25:00-Tue.1:00", "Mon.8:60-Tue.1:00"),
        *("Mon.0:00 AM-Tue.1:00", "7.1:00-0.1:00", "Mo.1:00-Mo.2:00", "Mon.8:00-Mon.9:00,"),
        *("every 0 minutes", "every 8 days", "every", 5, []),
    ],
)
def test_bad_schedules(bad: object) -> None:
    with pytest.raises(UsageError, match=r"found .*, expected"):
        parse_schedule(bad)


def test_schedules_as_the_tables_keep_them() -> None:
    texts = {"always": "0-10080", "never": "", "Sat.23:00-Sun.1:00": "0-60,10020-10080"}
    assert {text: show_schedule(parse_schedule(text)) for text in texts} == texts


@pytest.mark.parametrize(
    "text",
    [
        *("Always", "Never", "every 20 minutes", "every 1 hour", "every 2 hours", "every 4 days", "every 1000 minutes"),
        *("Mon.8:00-Mon.9:00", "Sat.23:30-Sun.1:30", "Sat.22:00-Sun.0:00", "Sun.0:00-Sun.0:30", "every 7 days"),
        "Mon.8:00-Mon.9:00,Tue.8:00-Tue.9:15",
    ],
)
def test_schedules_are_written_as_people_write_them(text: str) -> None:
    assert spell_schedule(parse_schedule(text)) == text


@given(st.lists(st.tuples(st.integers(0, 671), st.integers(1, 672)), max_size=6))
def test_what_is_written_of_a_schedule_reads_back(spans: list[tuple[int, int]]) -> None:
    ranges = [(start * 15, min((start + length) * 15, WEEK)) for start, length in spans]
    schedule = schedules.joined(ranges)
    assert parse_schedule(spell_schedule(schedule)) == schedule
    assert parse_slots(show_schedule(schedule)) == schedule


@given(st.integers(1, WEEK))
def test_an_interval_reads_back(step: int) -> None:
    schedule = parse_schedule(f"every {step} minutes")
    assert parse_schedule(spell_schedule(schedule)) == schedule


def test_examples_of_the_docstrings() -> None:
    import doctest

    assert doctest.testmod(schedules).failed == 0


@pytest.mark.parametrize(
    ("since", "now", "night"),
    [
        ("05T01:45", "05T02:00", True), ("05T02:00", "05T02:15", False), ("05T01:45", "05T01:59", False),
        ("05T00:00", "05T06:00", True), ("05T02:30", "06T01:30", False), ("04T02:00", "05T01:00", False),
        ("01T03:00", "05T01:00", True),
    ],
)  # fmt: skip
def test_the_night_is_that_of_the_first_round_not_before_it(since: str, now: str, night: bool) -> None:
    one, other = (datetime.fromisoformat(f"2026-01-{each}:00+00:00") for each in (since, now))
    assert is_night(time(2), one, other) is night
