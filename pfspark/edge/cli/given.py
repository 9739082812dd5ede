"""Options that many verbs have, and how their texts are read."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pfspark.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pfspark.lake import Lake

Json = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
LakeName = Annotated[
    str | None, typer.Option("--lake", envvar="PFSPARK_LAKE", help="A folder, or CATALOG.SCHEMA.", metavar="DIR")
]
Org = Annotated[str | None, typer.Option("--org", help="The organization; needed where a lake has several.")]
AsOf = Annotated[str | None, typer.Option("--as-of", help="As it was after that round.", metavar="ROUND|TIME")]
Now = Annotated[str | None, typer.Option("--now", help="The time; the clock's unless told.", metavar="TIME")]
Store = Annotated[str, typer.Option("--store", help="The store where it is done.")]
Folder = Annotated[str, typer.Option("--folder", help="Path of the folder, or its id.")]
Path = Annotated[str, typer.Argument(help="Path of the folder, or its id.")]


@contextmanager
def opened(lake: str | None, examine: bool = False) -> Iterator[Lake]:
    """The lake that is named; none is a UsageError before Java starts. `examine`: whatever is wrong with it."""
    where = named(lake)
    from pfspark.lake import Lake

    with Lake.examine(where) if examine else Lake.open(where) as there:
        yield there


def named(lake: str | None) -> str:
    """The name of the lake, if one is named."""
    if not lake:
        raise UsageError("no lake is named: say --lake DIR, or set PFSPARK_LAKE. `pfspark init` makes a new one")
    return lake


def moment(text: str | None) -> datetime | None:
    """A time in UTC; without a zone it is UTC."""
    if text is None:
        return None
    try:
        read = datetime.fromisoformat(text)
        return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageError(f"found {text!r}, expected a time such as 2026-01-05T00:15:00Z") from None


def round_or_moment(text: str | None) -> int | datetime | None:
    """A round by its number, or the last one not after a time."""
    return int(text) if text is not None and re.fullmatch("[0-9]{1,18}", text) else moment(text)


def values(pairs: Iterable[str]) -> dict[str, Any]:
    """`NAME=VALUE` as TOML reads the value; what TOML cannot read is text.

    >>> values(["relay_status=false", "interval=15m"])
    {'relay_status': False, 'interval': '15m'}
    """
    read = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (name and equals):
            raise UsageError(f"found {pair!r}, expected NAME=VALUE")
        read[name] = _value(value)
    return read


def _value(text: str) -> Any:
    try:
        read = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):  # no TOML, or a number of thousands of digits, or lists in lists in lists
        return text
    all_of_it = read.keys() == {"value"} and ("#" not in text or text.rstrip()[-1] in "\"'")
    return read["value"] if all_of_it else text
