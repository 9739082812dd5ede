"""Durations, times and sizes, as people write them."""

from __future__ import annotations

import difflib
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfspark import units
from pfspark.errors import UsageError
from pfspark.units import parse_duration, parse_size, parse_time, show_duration, show_size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("15m", 900), ("6h", 21_600), ("2d", 172_800), ("1h30m", 5400), ("0m", 0), ("45s", 45), (" 1d1h1m1s ", 90_061)],
)
def test_durations(text: str, seconds: int) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("bad", ["", "m", "15", "15 m", "-15m", "1.5h", "30m1h", "1w", "15M", 15, None, "٣h"])
def test_bad_durations(bad: object) -> None:
    with pytest.raises(UsageError, match="expected a duration such as 15m, 6h, 2d or 1h30m") as caught:
        parse_duration(bad)
    assert repr(bad) in str(caught.value)


@given(st.integers(0, 10**8))
def test_durations_read_back(seconds: int) -> None:
    assert parse_duration(show_duration(timedelta(seconds=seconds))) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1KB", 1024),
        ("300KB", 307_200),
        ("300 kb", 307_200),
        ("4MB", 4_194_304),
        ("1GB", 2**30),
        ("512", 512),
        (0, 0),
        ("7B", 7),
    ],
)
def test_sizes(text: object, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("bad", ["", "KB", "1.5KB", "-1KB", "1TB", -1, True, 1.0, None])
def test_bad_sizes(bad: object) -> None:
    with pytest.raises(UsageError, match="expected a size such as 512, 1KB, 300KB or 4MB"):
        parse_size(bad)


@given(st.integers(0, 2**40))
def test_sizes_read_back(size: int) -> None:
    assert parse_size(show_size(size)) == size


@pytest.mark.parametrize(
    "bad", ["8999-12-31T12:00:00Z", "8999-12-30T23:00:00-05:00", "1900-01-01T00:00:00+05:00", "9999-12-31T23:59:59-23:59"]
)
def test_no_time_lies_beyond_those_that_there_are(bad: str) -> None:
    """By its moment, not by the year that its zone calls it."""
    with pytest.raises(UsageError, match="from 1900-01-01 to 8999-12-31"):
        parse_time(bad)


@given(st.text("abc1 ", min_size=1, max_size=9), st.lists(st.text("abc1 ", min_size=1, max_size=9), max_size=20))
def test_the_nearest_is_found_without_comparing_all(seen: str, known: list[str]) -> None:
    """The one that the standard library finds, of several as near the last."""
    close = difflib.get_close_matches(seen, known, 1, cutoff=0)
    assert units.nearest(seen, known) == (f"; the nearest known is {close[0]!r}" if close else "")


def test_examples_of_the_docstrings() -> None:
    import doctest

    assert doctest.testmod(units).failed == 0
