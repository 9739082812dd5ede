"""Which options exist and what they mean; durations are timedelta, sizes are bytes.

The values of the profiles stand in `conf/*.toml` and nowhere else; an organization takes a profile and overrides
single options of it. Every text that does not fit is a UsageError which names the option, what was seen and what was
expected.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from datetime import time, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer

from pfspark.entries import Entry, reads
from pfspark.errors import ProfileError, UsageError
from pfspark.units import nearest, parse_clock, parse_size, parse_wait, show_duration, show_size, unfit, unknown

NONE = ("none", "off")
MAIN = "main"
"""The organization of a lake that has only one."""
PROFILE = "exchange_2007"
"""Whose rules an organization follows unless that is said."""

_DOUBLING = re.compile(r"(\w+) doubling to (\w+)")


# --- options ----------------------------------------------------------------------------------------------------------


def span(text: object) -> timedelta:
    duration = parse_wait(text)
    if not duration:
        raise unfit(str(text), "a duration longer than nothing")
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
    return tuple(span(value) for value in values)


def _clocks(values: object) -> tuple[time, ...]:
    if values in NONE:
        return ()
    return tuple(sorted({parse_clock(each) for each in (values.split(",") if isinstance(values, str) else _list(values))}))


def _again(text: object) -> tuple[timedelta, timedelta] | None:
    if text in NONE:
        return None
    found = _DOUBLING.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise unfit(text, "off, or the first and the longest wait: 1h doubling to 1d")
    first, longest = span(found[1]), span(found[2])
    if first > longest:
        raise unfit(text, "the shorter wait first")
    return first, longest


def _list(values: object) -> list[Any]:
    if not isinstance(values, list | tuple):
        raise unfit(values, "a list")
    return list(values)


def _count(value: object) -> int | None:
    if value in NONE:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1000:  # F53
        raise unfit(value, "a number from 1 to 1000, or none")
    return value


def _conflict(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value not in (0, 1, 2):  # F30
        raise unfit(value, "0, 1 or 2")
    return value


def age(text: object) -> timedelta | None:
    return None if text in NONE else span(text)


def _text(show: Callable[[Any], Any]) -> PlainSerializer:
    """How a value is written back."""
    return PlainSerializer(show)


Duration = Annotated[timedelta, reads(span), _text(show_duration)]
Wait = Annotated[timedelta, reads(parse_wait), _text(show_duration)]
Age = Annotated[timedelta | None, reads(age), _text(lambda limit: show_duration(limit) if limit else "none")]
Timeouts = Annotated[
    tuple[timedelta, timedelta, timedelta], reads(_timeouts), _text(lambda value: [show_duration(each) for each in value])
]
Size = Annotated[int, reads(_bytes), _text(show_size)]
Count = Annotated[int | None, reads(_count), _text(lambda count: "none" if count is None else count)]
Clock = Annotated[time, reads(parse_clock), _text(lambda clock: f"{clock:%H:%M}")]
Clocks = Annotated[tuple[time, ...], reads(_clocks), _text(lambda clocks: ",".join(f"{each:%H:%M}" for each in clocks) or "none")]
Again = Annotated[
    tuple[timedelta, timedelta] | None,
    reads(_again),
    _text(lambda waits: f"{show_duration(waits[0])} doubling to {show_duration(waits[1])}" if waits else "off"),
]
Conflict = Annotated[int, reads(_conflict)]
Responders = Literal["all", "three", "three_and_oldest"]


class Options(Entry):
    """Every option of an organization. The names are those of the profile files and of `[policy]` in a scenario."""

    source_order: Literal["five_keys", "six_groups"] = Field(description="how sources of backfill are ranked (C1)")
    partial_sources: Literal["cover", "last_group_then_cover"] = Field(
        description="what is asked of a source that has only a part (C2)"
    )
    preferred_source: bool = Field(description="whether a store may be a preferred source (R99)")
    backfill_timeouts_local: Timeouts = Field(
        description="first request, first retry, later retries, where a store of the same site has it (R91)"
    )
    backfill_timeouts_remote: Timeouts = Field(description="the same where only other sites have it (R91)")
    delete_pending_timeout: Wait = Field(description="first request when a leaver has it (D6)")
    responders_list_change: Responders = Field(description="who must answer on a list change or first start (R130, R131)")
    responders_restore: Responders = Field(description="the same, after a restore or at start-up (R132-R134)")
    answer_when: Literal["has_more", "always"] = Field(description="which status requests are answered (R135, C4)")
    status_after: Duration = Field(description="from the last change to the unasked status (R136)")
    status_clock: Clocks = Field(description="times of day at which it may go; none: any (R137, C9)")
    status_again: Again = Field(
        description="first and longest wait between repeats while a replica is believed to lack what is held here"
    )
    startup_status: Literal["off", "seeming_gaps", "all"] = Field(description="status requests at restart (R133, R134)")
    relay_status: bool = Field(description="whether status tells of others too (C3)")
    removal_rule: Literal["one_holds_all", "union_holds_all"] = Field(description="when a leaver may go (C5)")
    hierarchy_merge: Literal["object", "property"] = Field(description="what the highest stamp wins: folder or property")
    folders_per_hierarchy_message: Count = Field(description="none: only the size counts (F53)")
    interval: Duration = Field(description="between two cycles of a store (R43, F42)")
    size_limit: Size = Field(description="bytes that fit into one message (R53, F46)")
    conflict: Conflict = Field(description="0 keep losers and tell, 1 last writer, 2 keep and be silent (F30)")
    age_limit: Age = Field(description="age at which items expire, unless the folder says (F58)")
    deleted_item_retention: Wait = Field(description="how long bodies of deleted items are kept (Q20)")
    edit_memory: Duration = Field(description="how long a repeated edit is recognized")
    maintenance_at: Clock = Field(description="time of day of the nightly maintenance, UTC (F56)")


class Policy(Options):
    """What an organization follows: the options of its profile, some of them overridden."""

    profile: str
    """The profile that the values come from."""
    source_orders: Mapping[str, tuple[str, ...]] = Field(repr=False)
    """The rows of every source order."""
    choices: Mapping[str, tuple[Any, ...]] = Field(repr=False)
    """Options of which this generation knows only some values."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def texts(self) -> dict[str, Any]:
        """The options in the form that `override` takes and JSON can hold."""
        return self.model_dump(include=set(OPTIONS))

    def _values(self) -> tuple[Any, ...]:
        return self.profile, *(getattr(self, name) for name in OPTIONS)

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
        """The policy as columns of `clock`: durations in seconds, times in seconds of the day."""
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


OPTIONS = {name: str(field.description) for name, field in Options.model_fields.items()}
"""Every option by its name, and what it says."""

GROUPS = {group: tuple(name for name in OPTIONS if name.startswith(f"{group}_")) for group in ("backfill_timeouts", "responders")}
"""Options that may be written as one: `backfill_timeouts = { local = […], remote = […] }`, `responders = "all"`."""


def override(policy: Policy, options: Mapping[str, Any]) -> Policy:
    """That policy with single options replaced; an unknown name or a value that does not fit is a UsageError.

    >>> override(load_profile("exchange_2007", Path("conf")), {"responders": "all"}).responders_restore
    'all'
    """
    return _policy({**dict(policy), **policy.texts()}, options)


def differences(policy: Policy, profile: Policy) -> dict[str, Any]:
    """The options in which a policy differs from its profile, in the form that `override` takes and JSON can hold."""
    return {name: text for name, text in policy.texts().items() if getattr(policy, name) != getattr(profile, name)}


def differences_text(policy: Policy, profile: Policy) -> str:
    """What `differences` gives, as the column `options` of the directory keeps it."""
    return json.dumps(differences(policy, profile), sort_keys=True)


def _policy(known: Mapping[str, Any], options: Mapping[str, Any]) -> Policy:
    """What is known of a policy, and options over that."""
    told = dict(single(options))
    for name in told:
        if name not in OPTIONS:
            raise unknown("option", name, [*OPTIONS, *GROUPS])
    try:
        policy = Policy.read({**known, **told})
    except UsageError as error:
        raise UsageError(f"option {error}") from None
    for name, value in told.items():
        allowed = policy.choices.get(name)
        if allowed and getattr(policy, name) not in allowed:
            raise UsageError(f"option {name}: {unfit(value, ' or '.join(map(str, allowed)) + ' in this profile')}")
    return policy


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
    """Single options with their values; a group that is written as one is its options. What is said of one of them alone counts
    more, wherever it stands.

    >>> dict(single({"responders_restore": "three", "responders": "all"}))
    {'responders_list_change': 'all', 'responders_restore': 'three'}
    """
    of_groups = [name for name in options if name in GROUPS]
    for group in of_groups:
        said = options[group]
        parts = {f"{group}_{part}": each for part, each in said.items()} if isinstance(said, Mapping) else None
        yield from (dict.fromkeys(GROUPS[group], said) if parts is None else parts).items()
    yield from ((name, value) for name, value in options.items() if name not in of_groups)


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
        raise unknown("profile", name, names, expected=", ".join(names) or f"one in {folder}")
    files = {each: _toml(folder / f"{each}.toml") for each in names}
    orders = {
        order: _rows(rows, f"{each}.toml: source order {order}")
        for each, table in files.items()
        for order, rows in table.pop("source_orders", {}).items()
    }
    choices = {option: tuple(_list(values)) for option, values in files[name].pop("choices", {}).items()}
    options = dict(single(files[name]))
    if missing := [option for option in OPTIONS if option not in options]:
        raise ProfileError(f"{name}.toml: option {missing[0]!r} is missing; a profile sets every option")
    try:
        policy = _policy({"profile": name, "source_orders": orders, "choices": choices}, options)
    except UsageError as error:
        raise ProfileError(f"{name}.toml: {error}") from None
    if policy.source_order not in orders:
        raise ProfileError(f"{name}.toml: source order {policy.source_order} is defined in no profile of {folder}")
    return policy


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
