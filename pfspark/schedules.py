"""When content may be sent, and when rounds are played."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any

from pfspark.units import UNITS, unfit
from pfspark.words import LAST

Schedule = tuple[tuple[int, int], ...]
"""Minutes of the week, counted from Sunday 00:00 UTC, in which content may be sent: from (inclusive) to (exclusive),
ascending, disjoint, neighbours joined."""

WEEK = 7 * 24 * 60
THURSDAY = 4 * 24 * 60
"""1970-01-01 was a Thursday; schedules count from Sunday 00:00 (F84)."""
SLOT = 15  # minutes: schedule grids have slots of a quarter of an hour (F42, F84)
ALWAYS: Schedule = ((0, WEEK),)
NEVER: Schedule = ()
DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")

_EVERY = re.compile(r"every\s+(?:(\d{1,5})\s*)?(m|min|minutes?|h|hours?|d|days?)", re.ASCII)
_EVERY_UNIT = {"day": 1440, "hour": 60, "minute": 1}  # in minutes
_MOMENT = r"\s*([a-z]+|[0-6])\s*\.\s*(\d{1,2}):(\d{2})\s*(am|pm)?\s*"
_SPAN = re.compile(f"{_MOMENT}-{_MOMENT}", re.ASCII)
_SCHEDULE = (
    "Always, Never, every 2 hours, or Day.Hour:Minute-Day.Hour:Minute such as Sun.11:30 PM-Mon.1:30 AM "
    "or 6.22:00-6.22:15 (days by name or 0 = Sunday … 6, times UTC), several parted by commas"
)


def parse_schedule(text: object) -> Schedule:
    """When content may be sent (F42, F43, F84).

    `every n minutes` opens a slot of 15 minutes at each n-th minute of the week. Minutes of the weekly form round down
    to a quarter of an hour; a span shorter than 15 minutes is refused; one that passes Saturday midnight goes on.

    >>> parse_schedule("Sat.11:30 PM-Sun.1:30 AM")
    ((0, 90), (10050, 10080))
    """
    if isinstance(text, list | tuple) and text and all(isinstance(each, str) for each in text):
        text = ",".join(text)
    if not isinstance(text, str):
        raise unfit(text, _SCHEDULE)
    word = text.strip().lower()
    if word in ("always", "never"):
        return ALWAYS if word == "always" else NEVER
    if every := _EVERY.fullmatch(word):
        step = int(every[1] or 1) * UNITS[every[2][0]] // 60
        if not 0 < step <= WEEK:
            raise unfit(text, "an interval from 1 minute to 7 days")
        return joined((start, min(start + SLOT, WEEK)) for start in range(0, WEEK, step))
    return joined(slot for span in word.split(",") for slot in _span(text, span))


def show_schedule(schedule: Schedule) -> str:
    """The slots as the tables keep them, `opens-closes` in minutes of the week; never is the empty text.

    >>> show_schedule(parse_schedule("Mon.8:00-Mon.10:00, 0.0:00-0.0:15"))
    '0-15,1920-2040'
    """
    return ",".join(f"{start}-{end}" for start, end in schedule)


def parse_slots(text: str) -> Schedule:
    """The slots that a table keeps, see `show_schedule`."""
    return tuple((int(start), int(end)) for start, end in (slot.split("-") for slot in text.split(",") if slot))


def spell_schedule(schedule: Schedule) -> str:
    """The text of a schedule as people write it; `parse_schedule` reads it back.

    >>> spell_schedule(((0, 90), (10050, 10080))), spell_schedule(parse_schedule("every 120 minutes"))
    ('Sat.23:30-Sun.1:30', 'every 2 hours')
    """
    if schedule in (ALWAYS, NEVER):
        return "Always" if schedule else "Never"
    step = schedule[1][0] if len(schedule) > 1 else WEEK
    if schedule == parse_schedule(f"every {step} minutes"):
        unit, name = next((unit, name) for name, unit in _EVERY_UNIT.items() if step % unit == 0)
        return f"every {step // unit} {name}{'s' * (step > unit)}"
    spans = list(schedule)
    if (spans[0][0], spans[-1][1]) == (0, WEEK):  # one span that passes Saturday midnight
        spans = [*spans[1:-1], (spans[-1][0], spans[0][1])]
    return ",".join(f"{_spell_moment(start)}-{_spell_moment(end)}" for start, end in spans)


def _spell_moment(minute: int) -> str:
    hours, minutes = divmod(minute, 60)
    return f"{DAYS[hours // 24 % 7][:3].title()}.{hours % 24}:{minutes:02}"


def _span(text: str, span: str) -> Iterable[tuple[int, int]]:
    found = _SPAN.fullmatch(span)
    if found is None:
        raise unfit(text, _SCHEDULE)
    start, end = _moment(text, *found.groups()[:4]), _moment(text, *found.groups()[4:])
    if start == end:
        raise unfit(text, "spans of at least 15 minutes (minutes round down to 00, 15, 30 or 45)")
    return [(start, end)] if start < end else [(start, WEEK), (0, end)]


def _moment(text: str, day: str, hour: str, minute: str, half: str | None) -> int:
    names = [number for number, name in enumerate(DAYS) if day in (str(number), name[:3], name)]
    hours = range(1, 13) if half else range(24)
    if not names or int(hour) not in hours or int(minute) > 59:
        raise unfit(text, _SCHEDULE)
    of_day = int(hour) % 12 + 12 * (half == "pm") if half else int(hour)
    return names[0] * 1440 + of_day * 60 + int(minute) // SLOT * SLOT


def is_night(maintenance_at: time, since: datetime, now: datetime) -> bool:
    """Whether the nightly maintenance is that of a round at `now`, if the round before was at `since` (F56)."""
    tonight = datetime.combine(now.date(), maintenance_at, now.tzinfo)
    return since < (tonight if tonight <= now else tonight - timedelta(days=1))


def joined(slots: Iterable[tuple[int, int]]) -> Schedule:
    """Spans in any order as a schedule; those that are empty or turned round are left out."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(slot for slot in slots if slot[0] < slot[1]):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return tuple(found)


BEYOND = datetime.max.replace(tzinfo=UTC)
"""In place of a round that would lie after the last moment there is."""


@dataclass(frozen=True)
class Grid:
    """When an organization plays its rounds: `anchor`, its start or any of these moments, and so long apart."""

    anchor: datetime
    every: timedelta

    def next_round(self, at: datetime, after: datetime | None) -> datetime:
        """The first round that is not before that moment, and after the last; without a last one not before the anchor.

        >>> from pfspark.units import parse_time
        >>> quarters = Grid(parse_time("2026-01-05T00:00Z"), timedelta(minutes=15))
        >>> quarters.next_round(parse_time("2026-01-05T00:20Z"), None).minute
        30
        """
        nth = max(-((self.anchor - at) // self.every), 0 if after is None else (after - self.anchor) // self.every + 1)
        return self.anchor + nth * self.every if nth <= (LAST - self.anchor) // self.every else BEYOND

    def columns(self) -> dict[str, Any]:
        """As columns of a frame, the time between in seconds."""
        return {"anchor": self.anchor, "every_s": int(self.every.total_seconds())}
