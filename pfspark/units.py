"""What people write: durations, times, sizes; every text that does not fit is a UsageError which says what was seen and expected.

>>> show_duration(parse_duration("1h30m")), parse_size("300KB")
('1h30m', 307200)
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta

from pfspark.errors import UsageError
from pfspark.words import FIRST, LARGEST, LAST

UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
SIZES = {"": 1, "B": 1, "KB": 1024, "MB": 1024**2, "GB": 1024**3}
TICK = timedelta(microseconds=1)
"""The least by which two times differ, as Spark tells them."""
NOW = "now"
"""The clock on the wall, in place of a time."""
CENTURY = timedelta(days=36_500)
"""The longest wait, and by how much a clock may be wrong at most: what comes of it lies in a year that there is."""
AHEAD = timedelta(days=1)
"""How far ahead of the clock on the wall a time may be without being confirmed: further than clocks go wrong."""
SHOWN = 300
"""Characters of what was seen that stand in a sentence about it: names have 255 at most."""

_DURATION = re.compile(r"(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,8})m)?(?:(\d{1,9})s)?", re.ASCII)
_SIZE = re.compile(r"(\d{1,15})\s*([KMG]?B)?", re.ASCII)
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)


def parse_duration(text: object) -> timedelta:
    """A length of time: `15m`, `6h`, `2d`, `1h30m`, `0m`.

    >>> parse_duration("1h30m")
    datetime.timedelta(seconds=5400)
    """
    found = _DURATION.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None or not any(found.groups()):
        raise unfit(text, "a duration such as 15m, 6h, 2d or 1h30m")
    return timedelta(seconds=sum(int(count or 0) * unit for count, unit in zip(found.groups(), UNITS.values(), strict=True)))


def parse_wait(value: object) -> timedelta:
    """How long something takes, or is waited for, which is a century at most; in Python it may be a timedelta too.

    >>> parse_wait("36500d") == CENTURY
    True
    """
    wait = value if isinstance(value, timedelta) else parse_duration(value)
    if not timedelta(0) <= wait <= CENTURY:
        raise unfit(str(value), f"a century at most: {CENTURY.days}d" if wait > CENTURY else "a duration from 0m on")
    return wait


def before(moment: datetime, span: timedelta) -> datetime:
    """So long before that moment, or the first there is.

    >>> before(datetime(2026, 1, 5, tzinfo=UTC), timedelta.max) == FIRST
    True
    """
    return moment - min(span, moment - FIRST)


def show_duration(duration: timedelta) -> str:
    """The shortest text of a length of time, in whole seconds.

    >>> show_duration(timedelta(hours=48))
    '2d'
    """
    left = int(duration.total_seconds())
    text = ""
    for unit, seconds in UNITS.items():
        count, left = divmod(left, seconds)
        text += f"{count}{unit}" if count else ""
    return text or "0m"


def show_span(time: timedelta) -> str:
    """A length of time for people: to the minute, and at least one.

    >>> show_span(timedelta(hours=2, seconds=12))
    '2h'
    """
    minute = timedelta(minutes=1)
    return show_duration(max(time // minute, 1) * minute)


def parse_time(value: object) -> datetime:
    """A moment in UTC: a date and time, or ISO 8601 text; without a zone it is UTC.

    >>> parse_time("2026-01-05T01:15+01:00")
    datetime.datetime(2026, 1, 5, 0, 15, tzinfo=datetime.timezone.utc)
    """
    try:
        read = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        read = None
    if isinstance(read, date) and not isinstance(read, datetime):
        read = datetime(read.year, read.month, read.day)
    if not isinstance(read, datetime):
        raise unfit(value, "a time such as 2026-01-05T00:00:00Z")
    if FIRST.year <= read.year <= LAST.year:  # of none beyond a zone takes Python to where there are no years
        at = read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
        if FIRST <= at <= LAST:
            return at
    raise unfit(str(value), f"a time such as 2026-01-05T00:00:00Z, from {FIRST:%Y-%m-%d} to {LAST:%Y-%m-%d}")


def confirmed(at: datetime, *, ahead: bool) -> datetime:
    """That time; a UsageError if it is more than a day ahead of the clock on the wall, and that is not said to be meant.

    An organization's clock never goes back: after one round far ahead, what is done today waits for its next cycle there.
    """
    lead = at - datetime.now(UTC)
    if lead > AHEAD and not ahead:
        raise UsageError(f"{at:%Y-%m-%dT%H:%M:%SZ} is {lead.days}d ahead of the clock; if it is meant, say --ahead")
    return at


def parse_size(text: object) -> int:
    """A number of bytes: `300KB` is 307,200; a bare number is bytes.

    >>> parse_size("4MB")
    4194304
    """
    found = _SIZE.fullmatch(text.strip().upper()) if isinstance(text, str) else None
    size = int(found[1]) * SIZES[found[2] or ""] if found else text
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < LARGEST:
        raise unfit(text, "a size such as 512, 1KB, 300KB or 4MB")
    return size


def show_size(size: int) -> str:
    """The text of a number of bytes, in the largest unit that divides it.

    >>> show_size(307_200)
    '300KB'
    """
    unit = next(unit for unit in ("GB", "MB", "KB", "B") if size % SIZES[unit] == 0)
    return f"{size // SIZES[unit]}{unit}" if size else "0KB"


def counted(count: int, what: str) -> str:
    """So many of them.

    >>> counted(1, "round"), counted(1200, "round")
    ('1 round', '1,200 rounds')
    """
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def parse_clock(text: object) -> time:
    """A time of day in UTC: `02:00`."""
    if isinstance(text, time) and not (text.second or text.microsecond):
        return text.replace(tzinfo=None)
    found = _CLOCK.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        raise unfit(str(text) if isinstance(text, time) else text, "a time of day (UTC) such as 02:00")
    return time(int(found[1]), int(found[2]))


def nearest(seen: object, known: Iterable[object]) -> str:
    """`; the nearest known is 'x'`, or nothing when nothing is known.

    >>> nearest("relay", ["relay_status", "interval"])
    "; the nearest known is 'relay_status'"
    """
    letters = difflib.SequenceMatcher(b=str(seen)[:SHOWN])
    best, most = "", -1.0
    for each in map(str, known):
        letters.set_seq1(each)
        if letters.real_quick_ratio() >= most and letters.quick_ratio() >= most:  # of many names few are compared in full
            most, best = max((most, best), (letters.ratio(), each))
    return f"; the nearest known is {best!r}" if best else ""


def unfit(seen: object, expected: str) -> UsageError:
    """What is said of a value that is no such thing; a time as a file has it."""
    return UsageError(f"found {seen if isinstance(seen, date | time) else shown(seen)}, expected {expected}")


def shown(seen: object, most: int = SHOWN) -> str:
    """What was seen, as it stands in a sentence: of one that is long the beginning, else nobody finds what was expected.

    >>> shown("x" * 1000) == "'" + "x" * (SHOWN - 1) + "…"
    True
    """
    text = repr(seen[: most + 1] if isinstance(seen, str) else seen)
    return text if len(text) <= most else f"{text[:most]}…"


def unknown(what: str, seen: object, known: Iterable[object], where: str = "", *, expected: str = "") -> UsageError:
    """What is said of a name that is none of those known, with the nearest of them.

    >>> str(unknown("the store", "PFS", ["PFS1"], " in 'main'"))
    "the store 'PFS' is not known in 'main'; the nearest known is 'PFS1'"
    """
    told = f", expected {expected}" if expected else ""
    return UsageError(f"{what} {shown(seen)} is not known{where}{told}{nearest(seen, known)}")
