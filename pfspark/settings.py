"""Which options exist and what they mean; durations are timedelta, sizes are bytes.

The values of the profiles stand in `conf/*.toml` and nowhere else; an organization takes a profile and overrides
single options of it. Every text that does not fit is a UsageError which names the option, what was seen and what was
expected.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import time, timedelta
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_type_hints

from pfspark.errors import ProfileError, UsageError
from pfspark.units import nearest, parse_clock, parse_duration, parse_size, show_duration, show_size, unfit

NONE = ("none", "off")
MAIN = "main"
"""The organization of a lake that has only one."""
PROFILE = "exchange_2007"
"""Whose rules an organization follows unless that is said."""

_DOUBLING = re.compile(r"(\w+) doubling to (\w+)")


# --- options ----------------------------------------------------------------------------------------------------------


class Kind(NamedTuple):
    """How the value of an option is read from TOML or JSON, and written back."""

    read: Callable[[Any], Any]
    show: Callable[[Any], Any]


def _positive(text: object) -> timedelta:
    duration = parse_duration(text)
    if not duration:
        raise unfit(text, "a duration longer than nothing")
    return duration


def _bytes(text: object) -> int:
    size = parse_size(text)
    if not 1024 <= size <= 2_147_482_624:  # F83
        raise unfit(text, "a size from 1KB to 2097151KB")
    return size


def _timeouts(values: object) -> tuple[timedelta, ...]:
    if isinstance(values, str):
        values = values.split()
    if not isinstance(values, list | tuple) or len(values) != 3:
        raise unfit(values, 'three durations: first request, first retry, later retries, such as ["6h", "12h", "24h"]')
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
        raise unfit(text, "off, or the first and the longest wait: 1h doubling to 1d")
    first, longest = _positive(found[1]), _positive(found[2])
    if first > longest:
        raise unfit(text, "the shorter wait first")
    return first, longest


def _list(values: object) -> list[Any]:
    if not isinstance(values, list | tuple):
        raise unfit(values, "a list")
    return list(values)


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise unfit(value, "true or false")
    return value


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1000:  # F53
        raise unfit(value, "a number from 1 to 1000, or none")
    return value


def _one_of(*values: str | int) -> Kind:
    def read(value: object) -> str | int:
        for each in values:
            if value == each and type(value) is type(each):
                return each
        raise unfit(value, " or ".join(map(str, values)) + nearest(value, values))

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
    for name, value in single(options):
        if name not in OPTIONS:
            raise UsageError(f"option {name!r} is not known{nearest(name, [*OPTIONS, *GROUPS])}")
        try:
            values[name] = OPTIONS[name][0].read(value)
            if values[name] not in choices.get(name, (values[name],)):
                raise unfit(value, f"{' or '.join(map(str, choices[name]))} in this profile")
        except UsageError as error:
            raise UsageError(f"option {name}: {error}") from None
    return values


def text_of(value: Any) -> str:
    """The value of an option, as `differences` has it, as a text that is read back.

    >>> text_of(["6h", "12h", "24h"]), text_of(True)
    ('6h 12h 24h', 'true')
    """
    match value:
        case bool():
            return str(value).lower()
        case list():
            return " ".join(value)
    return str(value)


def single(options: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """Single options with their values; a group that is written as one is its options."""
    for name, value in options.items():
        if name not in GROUPS:
            yield name, value
        elif isinstance(value, Mapping):
            yield from ((f"{name}_{part}", each) for part, each in value.items())
        else:
            yield from ((each, value) for each in GROUPS[name])


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


def _seconds(duration: timedelta) -> int:
    return int(duration.total_seconds())


def _second_of_day(clock: time) -> int:
    return clock.hour * 3600 + clock.minute * 60 + clock.second
