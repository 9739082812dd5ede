"""`pfspark log`: what happened in a lake, in order, and what happens next; or in a server's own log of events."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from pfspark import cntext
from pfspark.cli import given, screen
from pfspark.cli.answers import NONE, PANEL, OfFolder, OfStore
from pfspark.cli.files import Format
from pfspark.edge import live
from pfspark.errors import CnSetError, UsageError
from pfspark.units import before, parse_time
from pfspark.words import Outcome

if TYPE_CHECKING:
    from pfspark.ask.events import Log
    from pfspark.lake import Lake

T = TypeVar("T")
Told = tuple[dict[str, Any], str]
"""An event, and the text of it."""

verbs = typer.Typer()
log = typer.Typer(help="What happened, in order.")
verbs.add_typer(log, name="log", rich_help_panel=PANEL)

Since = Annotated[str | None, typer.Option(help="From that time on, or from so long before the last.", metavar="TIME|DURATION")]
Limit = Annotated[int | None, typer.Option(help="Only the last so many of each organization.", min=0)]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Print more as it comes, until Ctrl-C.")]


@log.command("messages")
@given.tabular
def log_messages(
    store: OfStore = None, folder: OfFolder = None, since: Since = None, limit: Limit = None, follow: Follow = False,
    lake: given.LakeName = None, org: given.Org = None, as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print the replication messages."""
    _log("messages", store, folder, since, limit, follow, lake, org, as_of, json)


@log.command("edits")
@given.tabular
def log_edits(
    refused: Annotated[bool, typer.Option("--refused", help="Only those that were refused.")] = False,
    store: OfStore = None, folder: OfFolder = None, since: Since = None, limit: Limit = None, follow: Follow = False,
    lake: given.LakeName = None, org: given.Org = None, as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print what was done at stores, and what became of it: waiting, applied under which number, or refused and why."""

    outcome = Outcome.REFUSED if refused else None
    _log("edits", store, folder, since, limit, follow, lake, org, as_of, json, outcome)


@log.command("events")
def log_events(
    store: OfStore = None, folder: OfFolder = None, since: Since = None, limit: Limit = None, follow: Follow = False,
    read: Annotated[str | None, typer.Option(help="A server's own log, in place of the lake's.", metavar="FILE")] = None,
    replid: Annotated[list[str] | None, typer.Option(help="An origin of that log.", metavar="HEX=ORIGIN")] = None,
    lake: given.LakeName = None, org: given.Org = None, as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print the replication events, as Exchange logs them; of a lake, or of a log to be laid beside it."""
    if bool(read) != bool(replid):
        raise UsageError("--read FILE needs the table of REPLIDs of that server, --replid 1=PFS1 for each, and only it does")
    when, begin, said = given.round_or_moment(as_of), given.since(since), set[str]()

    def told(logs: Iterable[Log]) -> Iterator[Told]:
        return _told(logs, store, folder, said=None if json else said)

    if read:
        if follow or as_of:
            raise UsageError("--read takes a server's own log: say it without --follow and --as-of, which are a lake's")
        _events(tail(told([_server_log(read, replid or [])]), begin, limit, at=_when_told), json=json)
        return
    _expect_no_end(follow, as_of)
    with given.opened(lake) as there:
        there.expect(store, folder, when, org=org)
        none = NONE["events"]

        def look() -> Iterator[Told]:
            return told(there.event_logs(when, org=org))

        for found in _looks(there, look, begin, limit, follow, at=_when_told, of=lambda event: event[0]["org"]):
            _events(found, json=json, none=none)
            none = ""


@log.command("rounds")
@given.tabular
def log_rounds(
    since: Since = None, limit: Limit = None, follow: Follow = False,
    lake: given.LakeName = None, org: given.Org = None, as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print the ledger: the rounds, when they were played, and what they wrote; of an organization those that it played.

    --since goes by when they were written, by the clock on the wall.
    """
    _log("rounds", None, None, since, limit, follow, lake, org, as_of, json)


def _log(
    kind: str, store: str | None, folder: str | None, since: str | None, limit: int | None, follow: bool, lake: str | None,
    org: str | None, as_of: str | None, json: bool, outcome: Outcome | None = None,
) -> None:  # fmt: skip
    """Prints what happened, from a time on, or the last of it; and what happens next, until Ctrl-C. Of edits, those of one
    outcome."""
    when, begin = given.round_or_moment(as_of), given.since(since)
    _expect_no_end(follow, as_of)
    with given.opened(lake) as there:
        several = org is None and kind != "rounds" and len(there.organizations) > 1
        none = NONE[kind]

        def look() -> Iterable[dict[str, Any]]:
            if kind == "edits" and limit is not None and since is None and not follow:  # no more than these is looked at
                return there.last_edits(limit, when, org=org, store=store, folder=folder, outcome=outcome)
            found = there.lines(kind, when, org=org, store=store, folder=folder)
            return found if outcome is None else (line for line in found if line["outcome"] == outcome)

        for found in _looks(there, look, begin, limit, follow, at=_at, of=lambda line: line.get("org")):
            screen.lines(found, json=json, orgs=several, none=none, kind=kind.removesuffix("s"))
            none = ""


def _expect_no_end(follow: bool, as_of: str | None) -> None:
    if follow and as_of:
        raise UsageError("--follow goes on until Ctrl-C: say it without --as-of")
    if follow and screen.FORMAT.get() not in (None, Format.JSON):
        raise UsageError("a file has an end: say --follow with --format json, or without")


def _looks(
    there: Lake, look: Callable[[], Iterable[T]], since: datetime | timedelta | None, limit: int | None, follow: bool, *,
    at: Callable[[T], datetime | None], of: Callable[[T], str | None] = lambda found: None,
) -> Iterator[Iterable[T]]:  # fmt: skip
    """What a look at the lake finds, the last of each organization; where it is followed also what is new whenever something was
    played, said or done. `of` says to which organization it belongs; those of one follow each other."""

    def last(found: Iterable[T], since: datetime | timedelta | None, limit: int | None) -> Iterable[T]:
        return chain.from_iterable(tail(some, since, limit, at=at) for _, some in groupby(found, of))

    if not follow:
        yield last(look(), since, limit)
        return
    seen: set[str] = set()
    for _ in live.changes(there.version, "waiting for more"):
        fresh = [each for each in look() if str(each) not in seen]
        seen.update(map(str, fresh))
        yield last(fresh, since, limit)
        since = limit = None  # of what was there; all that comes is told


def tail(
    found: Iterable[T], since: datetime | timedelta | None, limit: int | None, *, at: Callable[[T], datetime | None]
) -> Iterable[T]:
    """What is from a time on, or from so long before the last; of that the last so many.

    `at` says when each was; what was at no known time is from no time on.
    """
    if isinstance(since, timedelta):
        found = list(found)
        last = max(filter(None, map(at, found)), default=None)
        since = last and before(last, since)
    if since is not None:
        begin = since
        found = (each for each in found if (when := at(each)) and when >= begin)
    return found if limit is None else deque(found, maxlen=min(limit, sys.maxsize))


def _at(line: Mapping[str, Any]) -> datetime | None:
    """When it happened: of a round when it ended by the clock on the wall."""
    told = line["at"] if "at" in line else line["ended"]
    return told and parse_time(told)


def _told(logs: Iterable[Log], store: str | None, folder: str | None, *, said: set[str] | None) -> Iterator[Told]:
    """Each event about a store or folder, with its text. Before those of an organization its table of REPLIDs, by which texts
    are read, is said, unless it was; None: nobody reads them."""
    from pfspark.ask.lines import Asked
    from pfspark.edge.asked.naming import as_lines_name

    asked = Asked(store, None if folder is None else as_lines_name(folder))
    for each in logs:
        table = ", ".join(f"{number:X} {origin}" for origin, number in each.replids.items())
        note = f"REPLIDs{f' of {each.org}' if each.org else ''}: {table}"
        if said is not None and note not in said:
            said.add(note)
            screen.note(note)
        yield from ((line, text) for line, text in each.lines() if asked.about(line))


def _when_told(told: Told) -> datetime | None:
    return _at(told[0])


def _events(found: Iterable[Told], *, json: bool, none: str = NONE["events"]) -> None:
    """Prints events; `none`: what a person is told where there is none."""
    for line, text in found:
        none = ""
        if json:
            screen.json_line(line)
        else:
            for part in (*text.split("\n"), ""):
                screen.say(part)
    if none and not json:
        screen.note((none, "dim"))


def _server_log(file: str, table: Iterable[str]) -> Log:
    """A log that a server wrote, in UTF-8 or UTF-16; its stores are named by the table alone."""
    from pfspark.ask.eventlog import read
    from pfspark.ask.events import Log

    pairs = [each.strip().partition("=") for each in table]
    try:
        replids = {origin: int(number, 16) for number, _, origin in pairs}
        cntext.show(dict.fromkeys(replids, ()))
    except (ValueError, CnSetError):
        raise UsageError(f"found {' '.join(table)!r}, expected HEX=ORIGIN for each, such as 12=PFS1") from None
    if not len(pairs) == len(replids) == len({*replids.values()}):
        raise UsageError(f"found {' '.join(table)!r}, expected one origin for each REPLID, and one REPLID for each origin")
    try:
        raw = Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"{file!r} cannot be read: {error.strerror}") from None
    text = raw.decode("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig", "replace")
    origins: dict[str | int, str] = {number: origin for origin, number in replids.items()}
    return Log("", replids, read(text, origins))
