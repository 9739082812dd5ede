"""Values of scenario files: each reader takes what TOML gave and says what was seen and expected where it does not fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from pfspark import cntext
from pfspark.errors import CnSetError, UsageError
from pfspark.schedules import parse_schedule
from pfspark.units import CENTURY, nearest, parse_duration, parse_time, shown, unfit, unknown
from pfspark.words import HIERARCHY, LARGEST, LAST, LEVELS, PRIORITIES

LEFT = 2**32
"""So many numbers are left for what is done after the start, more than any story takes: after the last comes none."""
LEFT_LIVES = 2**20
"""And so many lives, of which each restore begins one."""


@contextmanager
def within(place: str) -> Iterator[None]:
    """Puts the place in front of what is said about a mistake."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{place}: {error}") from None


def word(value: object) -> str:
    if isinstance(value, str) and not value.strip():
        raise unfit(value, "a text")
    return _letters(value)


def _letters(value: object) -> str:
    """A text, which may be blank."""
    if not isinstance(value, str) or not value:
        raise unfit(value, "a text")
    try:
        value.encode()
    except UnicodeEncodeError:  # bytes of a command line come as halves of letters
        raise unfit(value, "a text that UTF-8 can write") from None
    return value


def organization(name: str) -> str:
    """The name of an organization."""
    with within("organization"):
        return word(name)


def number(least: int, most: int = LARGEST - 1) -> Callable[[object], int]:
    range = f"from {least} on, at most {most:,}" if most == LARGEST - 1 else f"from {least} to {most:,}"

    def read_number(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise unfit(value, f"a whole number {range}")
        return value

    return read_number


def share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise unfit(value, "a share from 0 to 1, such as 0.2")
    return float(value)


def offset(value: object) -> timedelta:
    """By how much a clock is wrong: ahead, or behind with a minus."""
    is_behind = isinstance(value, str) and value.startswith("-")
    wrong_by = parse_duration(str(value)[1:] if is_behind else value)
    if wrong_by > CENTURY:
        raise unfit(value, f"a clock that is wrong by {CENTURY.days}d at most")
    return -wrong_by if is_behind else wrong_by


_BASIC_TIME = re.compile(r"[0-9]{8}(T.*)?", re.ASCII)
"""A moment in ISO 8601 without hyphens, which is no duration."""


def time_from(start: datetime) -> Callable[[object], datetime]:
    """An offset from the start, or a moment."""

    def read_time(value: object) -> datetime:
        if isinstance(value, str) and "-" not in value and not _BASIC_TIME.fullmatch(value):
            offset = parse_duration(value)
            if offset > LAST - start:
                raise unfit(value, f"an offset that ends before the year {LAST.year + 1}")
            return start + offset
        try:
            return parse_time(value)
        except UsageError as error:
            raise UsageError(f"{error}, or an offset from the start such as 15m or 6h") from None

    return read_time


def one_of(what: str, known: Sequence[str]) -> Callable[[object], str]:
    def read_name(value: object) -> str:
        if value not in known:
            raise unknown(what, value, known, expected=", ".join(known))
        return str(value)

    return read_name


def many(one: Callable[[Any], str]) -> Callable[[object], tuple[str, ...]]:
    """Several, each once, in the order written; one alone may stand without brackets."""

    def read_list(value: object) -> tuple[str, ...]:
        listed = value if isinstance(value, list) else [value]
        if not listed:
            raise UsageError("found an empty list, expected at least one")
        return tuple(dict.fromkeys(one(each) for each in listed))

    return read_list


def version(value: object) -> str:
    text = str(value)
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
        raise unfit(value, "a version such as 5.5, 2000, 2003 or 2007")
    return text


def schedule(value: Any) -> str:
    parse_schedule(value)
    return value if isinstance(value, str) else ",".join(value)


def yes(value: object) -> bool:
    if value is not True:
        raise unfit(value, "true")
    return True


def priority(value: object) -> str:
    if value not in PRIORITIES:
        raise unfit(value, f"one of {', '.join(PRIORITIES)}")
    return str(value)


def cnset(stores: Sequence[str]) -> Callable[[object], cntext.CnSet]:
    def read_cnset(value: object) -> cntext.CnSet:
        if not isinstance(value, str):
            raise unfit(value, "a set such as PFS1:1-10,PFS2:1-20")
        try:
            cnset = cntext.parse(value)
        except CnSetError as error:
            raise UsageError(str(error)) from None
        for origin, ranges in cnset.items():
            store, life = cntext.split_label(origin)
            one_of("store", stores)(store)
            if ranges[-1][1] > cntext.MAX_CN - LEFT or life > cntext.MAX_LIFE - LEFT_LIVES:
                bounds = f"numbers up to {cntext.MAX_CN - LEFT:,} and lives up to {cntext.MAX_LIFE - LEFT_LIVES:,}"
                raise UsageError(f"found {shown(value)}, after which too few are left that {store} could give; expected {bounds}")
        return cnset

    return read_cnset


def folder_word(value: object) -> str:
    name = _letters(value)
    if "/" in name or len(name) > 255 or any(ord(char) < 32 or 127 <= ord(char) < 160 for char in name):
        raise unfit(value, "a folder name: no / and no control characters, at most 255 characters")
    return name


def path(value: object) -> str:
    """A path from the root, without a slash at its end."""
    path = word(value)
    parts = path.rstrip("/").split("/")
    if parts[0] or len(parts) < 2:
        raise unfit(value, "a path such as /Sales or /Sales/North")
    if len(parts) - 1 > LEVELS:
        raise UsageError(f"found a path of {len(parts) - 1} folders, expected at most {LEVELS}, one beneath the other")
    return "/".join(["", *map(folder_word, parts[1:])])


def expect_parent(path: str, folders: Collection[str]) -> None:
    """Raises UsageError unless the folder above it is among those."""
    above = path.rpartition("/")[0]
    if above and above not in folders:
        near = nearest(above, [each for each in folders if each != path])
        raise UsageError(f'folders."{path}": folder {above!r} is not known; declare it too{near}')


def folder_or_hierarchy(value: object) -> str:
    """A path, an id, or the hierarchy."""
    return HIERARCHY if value == HIERARCHY else folder_name(value)


def folder_name(value: object) -> str:
    """A path, the root, or an id."""
    name = word(value)
    return "/" if name.strip("/") == "" else name if cntext.is_number(name) else path(name)
