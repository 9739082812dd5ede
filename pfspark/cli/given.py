"""Options that many verbs have, and how their texts are read."""

from __future__ import annotations

import functools
import inspect
import re
import tomllib
from collections.abc import Callable, Collection, Iterable
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from pfspark.cli import completion, screen
from pfspark.cli.files import Format
from pfspark.edge import live
from pfspark.errors import UsageError
from pfspark.units import confirmed, parse_duration, parse_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from pfspark.lake import Lake

Ahead = Annotated[bool, typer.Option("--ahead", help="The time is meant, though more than a day ahead of the clock.")]
MEANT = ContextVar("MEANT", default=False)
"""Whether times far ahead of the clock were said to be meant."""
Form = Annotated[Format | None, typer.Option("--format", help="As JSON lines, CSV, or Parquet, in place of a table.")]
Verb = TypeVar("Verb", bound=Callable[..., object])
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
LakeName = Annotated[
    str | None, typer.Option("--lake", envvar="PFSPARK_LAKE", help="A folder, or CATALOG.SCHEMA.", metavar="DIR")
]
Org = Annotated[
    str | None, typer.Option("--org", envvar="PFSPARK_ORG", help="The organization; needed where a lake has several.")
]
AsOf = Annotated[
    str | None,
    typer.Option("--as-of", help="As it was after that round, or then by the organization's clock.", metavar="ROUND|TIME"),
]
Now = Annotated[str | None, typer.Option("--now", help="The time; the clock's unless told.", metavar="TIME")]
Store = Annotated[
    str,
    typer.Option("--store", envvar="PFSPARK_STORE", help="The store where it is done.", autocompletion=completion.stores),
]
Folder = Annotated[str, typer.Option("--folder", help="Path of the folder, or its id.", autocompletion=completion.folders)]
Path = Annotated[str, typer.Argument(help="Path of the folder, or its id.", autocompletion=completion.folders)]


def tabular(verb: Verb) -> Verb:
    """Marks a verb that prints lines of one kind: it gets the option `--format`."""
    verb.tabular = True  # type: ignore[attr-defined]
    return verb


def completed(app: typer.Typer) -> None:
    """Gives verbs the options that go by what they take: `--ahead` where the time is told as `now` (one far ahead of the
    clock is meant), `--format` where they are `tabular`."""
    for group in app.registered_groups:
        completed(group.typer_instance or typer.Typer())
    for verb in app.registered_commands:
        if verb.callback and "now" in inspect.signature(verb.callback).parameters:
            verb.callback = _with(verb.callback, "ahead", Ahead, False, MEANT)
        elif verb.callback and hasattr(verb.callback, "tabular"):
            verb.callback = _with(verb.callback, "form", Form, None, screen.FORMAT)


def _with(verb: Callable[..., object], name: str, kind: Any, default: Any, told_by: ContextVar[Any]) -> Callable[..., object]:
    """That verb with one option more, which whoever is called by it reads from a variable."""

    @functools.wraps(verb)
    def told(*words: Any, **given: Any) -> object:
        before = told_by.set(given.pop(name, default))
        try:
            return verb(*words, **given)
        finally:
            told_by.reset(before)

    own = inspect.signature(verb, eval_str=True)
    option = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
    told.__signature__ = own.replace(parameters=[*own.parameters.values(), option])  # type: ignore[attr-defined]
    told.__annotations__ = {**get_type_hints(verb, include_extras=True), name: kind}
    return told


@contextmanager
def opened(lake: str | None, what: str = "reading", *, examine: bool = False) -> Iterator[Lake]:
    """The lake that is named, to do `what` with it; none is a UsageError before Java starts. `examine`: whatever is wrong."""
    where = named(lake)
    with live.doing(what):
        from pfspark.lake import Lake

        start = functools.partial(started, where)
        with Lake.examine(where, start) if examine else Lake.open(where, start, ahead=MEANT.get()) as there:
            yield there


def started(where: str) -> SparkSession:
    """A session for that lake, for what needs one: that takes a while, and is said."""
    with live.doing("starting Spark"):
        from pfspark.edge.delta import waiting
        from pfspark.edge.session import open_session

        return open_session(lasting=waiting.much(where))


def named(lake: str | None) -> str:
    """The name of the lake, if one is named."""
    if not lake:
        raise UsageError(
            "no lake is named: say --lake DIR, set PFSPARK_LAKE, or name it in pfspark.toml. `pfspark init` makes a new one"
        )
    return lake


def moment(text: str | None) -> datetime | None:
    """The time that an edit or a round is of; one more than a day ahead of the clock is a UsageError unless it is meant."""
    at = when(text)
    return at and confirmed(at, ahead=MEANT.get())


def when(text: str | None) -> datetime | None:
    """A time in UTC; without a zone it is UTC."""
    return None if text is None else parse_time(text)


def round_or_moment(text: str | None) -> int | datetime | None:
    """A round by its number, or the last one not after a time."""
    return int(text) if text is not None and re.fullmatch("[0-9]{1,18}", text) else when(text)


def since(text: str | None) -> datetime | timedelta | None:
    """A time, or a length of time before the last that happened."""
    return None if text is None else time_or_span(text)


def time_or_span(text: str) -> datetime | timedelta:
    """A time, in UTC without a zone, or a length of time."""
    with suppress(UsageError):
        return parse_duration(text)
    try:
        return parse_time(text)
    except UsageError as error:
        raise UsageError(f"{error}, or a duration such as 2h") from None


def values(pairs: Iterable[str], *, texts: Collection[str] = ()) -> dict[str, Any]:
    """`NAME=VALUE` as TOML reads the value; what TOML cannot read is text, and so is whatever is said of `texts`.

    >>> values(["relay_status=false", "interval=15m"])
    {'relay_status': False, 'interval': '15m'}
    >>> values(["description=2026", 'note="of 2026"'], texts=["description", "note"])
    {'description': '2026', 'note': 'of 2026'}
    """
    read = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (name and equals):
            raise UsageError(f"found {pair!r}, expected NAME=VALUE")
        if name in read:
            raise UsageError(f"found {name} twice, expected each once")
        said = _value(value)
        read[name] = value if name in texts and not isinstance(said, str) else said
    return read


def options(pairs: Iterable[str]) -> dict[str, Any]:
    """Options of a policy, read like `values`; one of a group also as `group.option`.

    >>> options(["backfill_timeouts.local=[6h]"])
    {'backfill_timeouts_local': '[6h]'}
    """
    return values(f"{name.replace('.', '_')}{equals}{value}" for name, equals, value in (pair.partition("=") for pair in pairs))


def _value(text: str) -> Any:
    try:
        read = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):  # no TOML, or a number of thousands of digits, or lists in lists in lists
        return text
    all_of_it = read.keys() == {"value"} and ("#" not in text or text.rstrip()[-1] in "\"'")
    return read["value"] if all_of_it else text
