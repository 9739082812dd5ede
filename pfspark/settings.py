"""Which options exist and what they mean; durations are timedelta, sizes are bytes.

The values of the profiles stand in `conf/*.toml` and nowhere else; an organization takes a profile and overrides
single options of it. Every text that does not fit is a UsageError which names the option, what was seen and what was
expected.

>>> show_duration(parse_duration("1h30m")), parse_size("300KB")
('1h30m', 307200)
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_type_hints

from pfspark.errors import ProfileError, UsageError
from pfspark.words import FIRST, LAST

UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
SIZES = {"": 1, "B": 1, "KB": 1024, "MB": 1024**2, "GB": 1024**3}
NONE = ("none", "off")
NOW = "now"
"""The clock on the wall, in place of a time."""
AHEAD = timedelta(days=1)
"""How far ahead of the clock on the wall a time may be without being confirmed: further than clocks go wrong."""

_DURATION = re.compile(r"(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,8})m)?(?:(\d{1,9})s)?", re.ASCII)
_SIZE = re.compile(r"(\d{1,15})\s*([KMG]?B)?", re.ASCII)
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)
_DOUBLING = re.compile(r"(\w+) doubling to (\w+)")


# --- texts ------------------------------------------------------------------------------------------------------------


def parse_duration(text: object) -> timedelta:
    """A length of time: `15m`, `6h`, `2d`, `1h30m`, `0m`.

    >>> parse_duration("1h30m")
    datetime.timedelta(seconds=5400)
    """
    found = _DURATION.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None or not any(found.groups()):
        raise _unfit(text, "a duration such as 15m, 6h, 2d or 1h30m")
    return timedelta(seconds=sum(int(count or 0) * unit for count, unit in zip(found.groups(), UNITS.values(), strict=True)))


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
        raise _unfit(value, "a time such as 2026-01-05T00:00:00Z")
    if not FIRST.year <= read.year <= LAST.year:
        raise _unfit(str(value), f"a time such as 2026-01-05T00:00:00Z, of the years {FIRST.year} to {LAST.year}")
    return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)


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
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 2**62:
        raise _unfit(text, "a size such as 512, 1KB, 300KB or 4MB")
    return size


def show_size(size: int) -> str:
    """The text of a number of bytes, in the largest unit that divides it.

    >>> show_size(307_200)
    '300KB'
    """
    unit = next(unit for unit in ("GB", "MB", "KB", "B") if size % SIZES[unit] == 0)
    return f"{size // SIZES[unit]}{unit}" if size else "0KB"


def parse_clock(text: object) -> time:
    """A time of day in UTC: `02:00`."""
    if isinstance(text, time):
        return text.replace(tzinfo=None)
    found = _CLOCK.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        raise _unfit(text, "a time of day (UTC) such as 02:00")
    return time(int(found[1]), int(found[2]))


# --- schedules --------------------------------------------------------------------------------------------------------

Schedule = tuple[tuple[int, int], ...]
"""Minutes of the week, counted from Sunday 00:00 UTC, in which content may be sent: from (inclusive) to (exclusive),
ascending, disjoint, neighbours joined."""

WEEK = 7 * 24 * 60
SLOT = 15  # minutes: schedule grids have slots of a quarter of an hour (F42, F84)
ALWAYS: Schedule = ((0, WEEK),)
NEVER: Schedule = ()
DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")

_EVERY = re.compile(r"every\s+(?:(\d{1,5})\s*)?(m|min|minutes?|h|hours?|d|days?)", re.ASCII)
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
        raise _unfit(text, _SCHEDULE)
    word = text.strip().lower()
    if word in ("always", "never"):
        return ALWAYS if word == "always" else NEVER
    if every := _EVERY.fullmatch(word):
        step = int(every[1] or 1) * UNITS[every[2][0]] // 60
        if not 0 < step <= WEEK:
            raise _unfit(text, "an interval from 1 minute to 7 days")
        return _joined((start, min(start + SLOT, WEEK)) for start in range(0, WEEK, step))
    return _joined(slot for span in word.split(",") for slot in _span(text, span))


def show_schedule(schedule: Schedule) -> str:
    """The slots as the tables keep them, `opens-closes` in minutes of the week; never is the empty text.

    >>> show_schedule(parse_schedule("Mon.8:00-Mon.10:00, 0.0:00-0.0:15"))
    '0-15,1920-2040'
    """
    return ",".join(f"{start}-{end}" for start, end in schedule)


def open_at(schedule: Schedule, moment: datetime) -> bool:
    """Whether content may be sent at that moment (UTC).

    >>> open_at(parse_schedule("Mon.8:00-Mon.9:00"), datetime(2026, 1, 5, 8, 59))  # a Monday
    True
    """
    minute = _minute_of_week(moment)
    return any(start <= minute < end for start, end in schedule)


def next_open(schedule: Schedule, moment: datetime) -> datetime | None:
    """The first moment, that one included, at which content may be sent; None: never."""
    if not schedule or open_at(schedule, moment):
        return moment if schedule else None
    wait = min((start - _minute_of_week(moment)) % WEEK for start, _ in schedule)
    return moment.replace(second=0, microsecond=0) + timedelta(minutes=wait)


def _minute_of_week(moment: datetime) -> int:
    return moment.isoweekday() % 7 * 1440 + moment.hour * 60 + moment.minute


def _span(text: str, span: str) -> Iterable[tuple[int, int]]:
    found = _SPAN.fullmatch(span)
    if found is None:
        raise _unfit(text, _SCHEDULE)
    start, end = _moment(text, *found.groups()[:4]), _moment(text, *found.groups()[4:])
    if start == end:
        raise _unfit(text, "spans of at least 15 minutes (minutes round down to 00, 15, 30 or 45)")
    return [(start, end)] if start < end else [(start, WEEK), (0, end)]


def _moment(text: str, day: str, hour: str, minute: str, half: str | None) -> int:
    names = [number for number, name in enumerate(DAYS) if day in (str(number), name[:3], name)]
    hours = range(1, 13) if half else range(24)
    if not names or int(hour) not in hours or int(minute) > 59:
        raise _unfit(text, _SCHEDULE)
    of_day = int(hour) % 12 + 12 * (half == "pm") if half else int(hour)
    return names[0] * 1440 + of_day * 60 + int(minute) // SLOT * SLOT


def _joined(slots: Iterable[tuple[int, int]]) -> Schedule:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(slot for slot in slots if slot[0] < slot[1]):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((start, end))
    return tuple(joined)


# --- options ----------------------------------------------------------------------------------------------------------


class Kind(NamedTuple):
    """How the value of an option is read from TOML or JSON, and written back."""

    read: Callable[[Any], Any]
    show: Callable[[Any], Any]


def _positive(text: object) -> timedelta:
    duration = parse_duration(text)
    if not duration:
        raise _unfit(text, "a duration longer than nothing")
    return duration


def _bytes(text: object) -> int:
    size = parse_size(text)
    if not 1024 <= size <= 2_147_482_624:  # F83
        raise _unfit(text, "a size from 1KB to 2097151KB")
    return size


def _timeouts(values: object) -> tuple[timedelta, ...]:
    if isinstance(values, str):
        values = values.split()
    if not isinstance(values, list | tuple) or len(values) != 3:
        raise _unfit(values, 'three durations: first request, first retry, later retries, such as ["6h", "12h", "24h"]')
    return tuple(_positive(value) for value in values)


def _clocks(values: object) -> tuple[time, ...]:
    if values in NONE:
        return ()
    return tuple(sorted(parse_clock(each) for each in (values.split(",") if isinstance(values, str) else _list(values))))


def _again(text: object) -> tuple[timedelta, timedelta] | None:
    if text in NONE:
        return None
    found = _DOUBLING.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise _unfit(text, "off, or the first and the longest wait: 1h doubling to 1d")
    first, longest = _positive(found[1]), _positive(found[2])
    if first > longest:
        raise _unfit(text, "the shorter wait first")
    return first, longest


def _list(values: object) -> list[Any]:
    if not isinstance(values, list | tuple):
        raise _unfit(values, "a list")
    return list(values)


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise _unfit(value, "true or false")
    return value


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1000:  # F53
        raise _unfit(value, "a number from 1 to 1000, or none")
    return value


def _one_of(*values: str | int) -> Kind:
    def read(value: object) -> str | int:
        for each in values:
            if value == each and type(value) is type(each):
                return each
        raise _unfit(value, " or ".join(map(str, values)) + nearest(value, values))

    return Kind(read, lambda value: value)


def _optional(kind: Kind) -> Kind:
    return Kind(
        lambda value: None if value in NONE else kind.read(value),
        lambda value: "none" if value is None else kind.show(value),
    )


DURATION = Kind(_positive, show_duration)
WAIT = Kind(parse_duration, show_duration)
TIMEOUTS = Kind(_timeouts, lambda value: [show_duration(each) for each in value])
SIZE = Kind(_bytes, show_size)
SWITCH = Kind(_switch, lambda value: value)
COUNT = Kind(_count, lambda value: value)
CLOCK = Kind(parse_clock, lambda value: f"{value:%H:%M}")
CLOCKS = Kind(_clocks, lambda value: ",".join(f"{each:%H:%M}" for each in value) or "none")
AGAIN = Kind(_again, lambda value: f"{show_duration(value[0])} doubling to {show_duration(value[1])}" if value else "off")
RESPONDERS = _one_of("all", "three", "three_and_oldest")
CONFLICT = _one_of(0, 1, 2)  # F30


@dataclass(frozen=True)
class Policy:
    """Every option of an organization. The names are those of the profile files and of `[policy]` in a scenario."""

    profile: str
    """The profile that the values come from."""
    source_order: Annotated[str, _one_of("five_keys", "six_groups"), "how sources of backfill are ranked (C1)"]
    partial_sources: Annotated[
        str, _one_of("cover", "last_group_then_cover"), "what is asked of a source that has only a part (C2)"
    ]
    preferred_source: Annotated[bool, SWITCH, "whether a store may be a preferred source (R99)"]
    backfill_timeouts_local: Annotated[
        tuple[timedelta, timedelta, timedelta],
        TIMEOUTS,
        "first request, first retry, later retries, where a store of the same site has it (R91)",
    ]
    backfill_timeouts_remote: Annotated[
        tuple[timedelta, timedelta, timedelta], TIMEOUTS, "the same where only other sites have it (R91)"
    ]
    delete_pending_timeout: Annotated[timedelta, WAIT, "first request when a leaver has it (D6)"]
    responders_list_change: Annotated[str, RESPONDERS, "who must answer on a list change or first start (R130, R131)"]
    responders_restore: Annotated[str, RESPONDERS, "the same, after a restore or at start-up (R132-R134)"]
    answer_when: Annotated[str, _one_of("has_more", "always"), "which status requests are answered (R135, C4)"]
    status_after: Annotated[timedelta, DURATION, "from the last change to the unasked status (R136)"]
    status_clock: Annotated[tuple[time, ...], CLOCKS, "times of day at which it may go; none: any (R137, C9)"]
    status_again: Annotated[
        tuple[timedelta, timedelta] | None,
        AGAIN,
        "first and longest wait between repeats while a replica is believed to lack what is held here",
    ]
    startup_status: Annotated[str, _one_of("off", "seeming_gaps", "all"), "status requests at restart (R133, R134)"]
    relay_status: Annotated[bool, SWITCH, "whether status tells of others too (C3)"]
    removal_rule: Annotated[str, _one_of("one_holds_all", "union_holds_all"), "when a leaver may go (C5)"]
    hierarchy_merge: Annotated[str, _one_of("object", "property"), "what the highest stamp wins: folder or property"]
    folders_per_hierarchy_message: Annotated[int | None, _optional(COUNT), "none: only the size counts (F53)"]
    interval: Annotated[timedelta, DURATION, "between two cycles of a store (R43, F42)"]
    size_limit: Annotated[int, SIZE, "bytes that fit into one message (R53, F46)"]
    conflict: Annotated[int, CONFLICT, "0 keep losers and tell, 1 last writer, 2 keep and be silent (F30)"]
    age_limit: Annotated[timedelta | None, _optional(DURATION), "age at which items expire, unless the folder says (F58)"]
    deleted_item_retention: Annotated[timedelta, WAIT, "how long bodies of deleted items are kept (Q20)"]
    edit_memory: Annotated[timedelta, DURATION, "how long a repeated edit is recognized"]
    maintenance_at: Annotated[time, CLOCK, "time of day of the nightly maintenance, UTC (F56)"]
    source_orders: Mapping[str, tuple[str, ...]] = field(repr=False, compare=False)
    """The rows of every source order."""
    choices: Mapping[str, tuple[Any, ...]] = field(repr=False, compare=False)
    """Options of which this generation knows only some values."""

    @property
    def source_keys(self) -> tuple[str, ...]:
        """The rows of the source order, first one first (R98-R102, R108-R113).

        A row is conditions and a sort key, such as `since_2000 same_site longest_ago`: sources that meet all
        conditions come first, among them by the key ascending; those that do not are left to the next row. A row of
        one word is a key for everybody.
        """
        rows = self.source_orders[self.source_order]
        return rows if self.preferred_source else tuple(row for row in rows if row != "not_preferred")

    def columns(self) -> dict[str, Any]:
        """The policy as columns of `turns`: durations in seconds, times in seconds of the day."""
        return {
            "interval_s": _seconds(self.interval),
            "size_limit": self.size_limit,
            "folders_per_hierarchy_message": self.folders_per_hierarchy_message,
            "relay_status": self.relay_status,
            "hierarchy_merge": self.hierarchy_merge,
            "source_keys": list(self.source_keys),
            "full_match_first": self.partial_sources == "last_group_then_cover",
            "backfill_local_s": [_seconds(each) for each in self.backfill_timeouts_local],
            "backfill_remote_s": [_seconds(each) for each in self.backfill_timeouts_remote],
            "delete_pending_timeout_s": _seconds(self.delete_pending_timeout),
            "answer_when": self.answer_when,
            "responders_list_change": self.responders_list_change,
            "responders_restore": self.responders_restore,
            "status_after_s": _seconds(self.status_after),
            "status_clock_s": [_second_of_day(each) for each in self.status_clock],
            "status_again_s": [_seconds(each) for each in self.status_again or ()],
            "removal_rule": self.removal_rule,
            "maintenance_s": _second_of_day(self.maintenance_at),
            "age_limit_s": self.age_limit and _seconds(self.age_limit),
        }


OPTIONS: dict[str, tuple[Kind, str]] = {
    name: hint.__metadata__ for name, hint in get_type_hints(Policy, include_extras=True).items() if hasattr(hint, "__metadata__")
}
"""Every option by its name: how it is read and shown, and what it says."""

GROUPS = {group: tuple(name for name in OPTIONS if name.startswith(f"{group}_")) for group in ("backfill_timeouts", "responders")}
"""Options that may be written as one: `backfill_timeouts = { local = […], remote = […] }`, `responders = "all"`."""


def override(policy: Policy, options: Mapping[str, Any]) -> Policy:
    """That policy with single options replaced; an unknown name or a value that does not fit is a UsageError.

    >>> override(policy, {"backfill_timeouts": {"local": ["5m", "15m", "1h"]}})  # doctest: +SKIP
    """
    return replace(policy, **_values(options, policy.choices))


def differences(policy: Policy, profile: Policy) -> dict[str, Any]:
    """The options in which a policy differs from its profile, in the form that `override` takes and JSON can hold."""
    return {
        name: kind.show(getattr(policy, name))
        for name, (kind, _) in OPTIONS.items()
        if getattr(policy, name) != getattr(profile, name)
    }


def _values(options: Mapping[str, Any], choices: Mapping[str, tuple[Any, ...]]) -> dict[str, Any]:
    values = {}
    for name, value in _flat(options):
        if name not in OPTIONS:
            raise UsageError(f"option {name!r} is not known{nearest(name, [*OPTIONS, *GROUPS])}")
        try:
            values[name] = OPTIONS[name][0].read(value)
            if values[name] not in choices.get(name, (values[name],)):
                raise _unfit(value, f"{' or '.join(map(str, choices[name]))} in this profile")
        except UsageError as error:
            raise UsageError(f"option {name}: {error}") from None
    return values


def _flat(options: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    for name, value in options.items():
        if name not in GROUPS:
            yield name, value
        elif isinstance(value, Mapping):
            yield from ((f"{name}_{part}", each) for part, each in value.items())
        else:
            yield from ((each, value) for each in GROUPS[name])


# --- rounds -----------------------------------------------------------------------------------------------------------

BEYOND = datetime.max.replace(tzinfo=UTC)
"""In place of a round that would lie behind the last moment there is."""


@dataclass(frozen=True)
class Grid:
    """When an organization plays its rounds: `anchor`, its start or any of these moments, and so long apart."""

    anchor: datetime
    every: timedelta

    def next_round(self, at: datetime, after: datetime | None) -> datetime:
        """The first round that is not before that moment, and after the last; without a last one not before the anchor.

        >>> quarters = Grid(parse_time("2026-01-05T00:00Z"), timedelta(minutes=15))
        >>> quarters.next_round(parse_time("2026-01-05T00:20Z"), None).minute
        30
        """
        nth = max(-((self.anchor - at) // self.every), 0 if after is None else (after - self.anchor) // self.every + 1)
        return self.anchor + nth * self.every if nth <= (LAST - self.anchor) // self.every else BEYOND

    def columns(self) -> dict[str, Any]:
        """As columns of a frame, the time between in seconds."""
        return {"anchor": self.anchor, "every_s": _seconds(self.every)}


# --- profiles ---------------------------------------------------------------------------------------------------------

CONDITIONS = ("since_2000", "before_2000", "same_site", "affinity", "no_affinity")
KEYS = ("unavailable", "not_preferred", "cost", "delay", "older_version", "fewer", "longest_ago", "store")


def profile_names(folder: Path) -> list[str]:
    """The profiles of a conf folder, one file each."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def load_profile(name: str, folder: Path) -> Policy:
    """The policy of `folder/name.toml`, which must set every option.

    A source order is defined by one profile file and may be used by all. Raises UsageError for a name that is not known,
    ProfileError for anything wrong in a file.
    """
    names = profile_names(folder)
    if name not in names:
        raise UsageError(
            f"profile {name!r} is not known, expected {', '.join(names) or f'one in {folder}'}{nearest(name, names)}"
        )
    files = {each: _toml(folder / f"{each}.toml") for each in names}
    orders = {
        order: _rows(rows, f"{each}.toml: source order {order}")
        for each, table in files.items()
        for order, rows in table.pop("source_orders", {}).items()
    }
    choices = {option: tuple(_list(values)) for option, values in files[name].pop("choices", {}).items()}
    try:
        values = _values(files[name], choices)
    except UsageError as error:
        raise ProfileError(f"{name}.toml: {error}") from None
    if missing := [option for option in OPTIONS if option not in values]:
        raise ProfileError(f"{name}.toml: option {missing[0]!r} is missing; a profile sets every option")
    if values["source_order"] not in orders:
        raise ProfileError(f"{name}.toml: source order {values['source_order']} is defined in no profile of {folder}")
    return Policy(profile=name, **values, source_orders=orders, choices=choices)


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ProfileError(f"{path.name} is not TOML: {error}") from None


def _rows(rows: object, where: str) -> tuple[str, ...]:
    for row in _list(rows):
        *conditions, key = row.split()
        for word, known in [*((each, CONDITIONS) for each in conditions), (key, KEYS)]:
            if word not in known:
                raise ProfileError(f"{where}: found {word!r}, expected {', '.join(known)}{nearest(word, known)}")
    return tuple(_list(rows))


# --- mistakes ---------------------------------------------------------------------------------------------------------


def nearest(seen: object, known: Iterable[object]) -> str:
    """`; the nearest known is 'x'`, or nothing when nothing is known.

    >>> nearest("relay", ["relay_status", "interval"])
    "; the nearest known is 'relay_status'"
    """
    close = difflib.get_close_matches(str(seen), [str(each) for each in known], 1, cutoff=0)
    return f"; the nearest known is {close[0]!r}" if close else ""


def _unfit(seen: object, expected: str) -> UsageError:
    return UsageError(f"found {seen!r}, expected {expected}")


def _seconds(duration: timedelta) -> int:
    return int(duration.total_seconds())


def _second_of_day(clock: time) -> int:
    return clock.hour * 3600 + clock.minute * 60 + clock.second
