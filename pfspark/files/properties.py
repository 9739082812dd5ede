"""What may be set on folders and stores: as people write it, and as tables hold it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any

from pfspark.schedules import ALWAYS, Schedule, parse_schedule, parse_slots, show_schedule, spell_schedule
from pfspark.units import show_duration, show_size

DEFAULT_SITE = "default"
"""The site of a store of which none is said."""
NEW_STORE: Mapping[str, Any] = {"version": "2007", "preferred": False, "interval_s": None, "size_limit": None, "schedule": None}
"""What a store is, besides its site, unless that is said; None: as the policy says, and at all hours."""

TEXTS = ("description", "note", "permissions")
"""What is set on a folder for people to read, as they write it (R16, R17, R18)."""


def set_properties(values: Mapping[str, Any]) -> dict[str, str]:
    """Properties as a change holds them: schedules as slots, ages in seconds, the rest as text."""
    written = {}
    for name, value in values.items():
        if name == "schedule":
            written[name] = show_schedule(parse_schedule(value))
        elif hasattr(value, "total_seconds"):
            written[name] = str(int(value.total_seconds()))
        else:
            written[name] = "none" if value is None else str(value)
    return written


def spell_property(name: str, held: str) -> str | int:
    """A property of a folder, a store or a link as people write it; one that cannot be read stays as it is.

    >>> spell_property("age_limit", "2592000"), spell_property("schedule", "0-10080"), spell_property("conflict", "2")
    ('30d', 'Always', 2)
    """
    with suppress(ValueError, OverflowError):  # what somebody wrote into a table by hand
        match name:
            case "schedule":
                return spell_schedule(parse_slots(held))
            case "size_limit":
                return show_size(int(held))
            case "age_limit" | "deleted_item_retention" | "interval" | "delay":
                return "none" if held == "none" else show_duration(timedelta(seconds=int(held)))
            case "conflict":
                return int(held)
    return held


def slots(schedule: str | Schedule | None) -> str | None:
    """The schedule of a store as tables hold it: `opens-closes,...` in minutes of the week; null: always; empty: never."""
    parsed = parse_schedule(schedule) if isinstance(schedule, str) else schedule
    if parsed is None or parsed == ALWAYS:
        return None
    return show_schedule(parsed)
