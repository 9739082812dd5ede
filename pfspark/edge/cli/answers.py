"""`pfspark state`, `gaps`, `items`, `referrals`, `log` and `status`: what a lake knows, now or as of an earlier round."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from pfspark import cntext
from pfspark.edge.cli import completion, given, live, screen
from pfspark.edge.cli.files import Format
from pfspark.errors import CnSetError, UsageError, ViolationError
from pfspark.units import parse_duration, parse_time
from pfspark.words import FIRST, Outcome

if TYPE_CHECKING:
    from pfspark.ask.events import Log
    from pfspark.lake import Lake

T = TypeVar("T")
Told = tuple[dict[str, Any], str]
"""An event, and the text of it."""
PANEL = "Answers"

verbs = typer.Typer()
log = typer.Typer(help="What happened, in order.")
verbs.add_typer(log, name="log", rich_help_panel=PANEL)

NONE = {
    "state": "no replicas yet", "folders": "no folders yet", "stores": "no stores yet", "items": "no items", "gaps": "no gaps",
    "messages": "no messages", "rounds": "no rounds", "edits": "no edits", "links": "no links", "options": "no organizations yet",
    "events": "no events",
}  # fmt: skip
"""What a person is told where an answer has no line."""

OfStore = Annotated[str | None, typer.Option("--store", help="Only this store.", autocompletion=completion.stores)]
OfFolder = Annotated[
    str | None, typer.Option("--folder", help="Only this folder, by its path.", autocompletion=completion.folders)
]
Since = Annotated[str | None, typer.Option(help="From that time on, or from so long before the last.", metavar="TIME|DURATION")]
Limit = Annotated[int | None, typer.Option(help="Only the last so many of each organization.", min=0)]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Print more as it comes, until Ctrl-C.")]


@verbs.command(rich_help_panel=PANEL)
def status(
    store: OfStore = None, folder: OfFolder = None,
    check: Annotated[bool, typer.Option("--check", help="Exit with 3 where something is late; for cron and monitors.")] = False,
    max_age: Annotated[str, typer.Option(help="How long something may be missing, wait or be due before it is late.")] = "0m",
    watch: Annotated[bool, typer.Option("--watch", help="Print it again whenever it changes, until Ctrl-C.")] = False,
    lake: given.LakeName = None, org: given.Org = None, as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print how organizations and their replicas stand: equal or not, missing since when, belief and truth apart."""
    when, age = given.round_or_moment(as_of), parse_duration(max_age)
    if watch and (check or as_of):
        raise UsageError("--watch goes on until Ctrl-C: say it without --check and --as-of")
    if check and (store or folder):
        raise UsageError("--check looks at whole organizations: say it without --store and --folder")
    with given.opened(lake) as there:
        there.expect(store, folder, when, org=org)
        for _ in live.changes(there.version, "waiting for a change") if watch else (0,):
            found = list(there.status_lines(when, org=org))
            screen.lines(found, json=json, none="no organizations yet")
            replicas = there.lines("replicas", when, org=org, store=store, folder=folder)
            screen.lines(replicas, json=json, orgs=len(found) > 1)
            for why in there.unfit.values():
                screen.note(why)
        late = there.overdue(age, as_of=when, org=org) if check else []
    if late:
        for each in late:
            screen.note((each, "yellow"))
        raise ViolationError(f"{screen.number(len(late), 'thing')} late, by more than {max_age}")


@verbs.command(rich_help_panel=PANEL)
@given.tabular
def state(
    store: OfStore = None, folder: OfFolder = None, lake: given.LakeName = None, org: given.Org = None,
    as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print what each replica holds, has sent, and lacks."""
    answer("state", store, folder, lake, org, as_of, json)


@verbs.command(rich_help_panel=PANEL)
@given.tabular
def items(
    store: OfStore = None, folder: OfFolder = None, lake: given.LakeName = None, org: given.Org = None,
    as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print the items that each store shows its readers."""
    answer("items", store, folder, lake, org, as_of, json)


@verbs.command(rich_help_panel=PANEL)
@given.tabular
def gaps(
    store: OfStore = None, folder: OfFolder = None, lake: given.LakeName = None, org: given.Org = None,
    as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print what is missing where: since when, who is asked for it, and when."""
    answer("gaps", store, folder, lake, org, as_of, json)


@verbs.command(rich_help_panel=PANEL)
@given.tabular
def why(
    item: Annotated[str | None, typer.Argument(help="A name, a number such as PFS1:7, or a set of them.")] = None,
    store: OfStore = None, folder: OfFolder = None,
    all_: Annotated[bool, typer.Option("--all", help="Every cause that stands anywhere, counted, the oldest first.")] = False,
    lake: given.LakeName = None, org: given.Org = None, as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print why something is not here, since when, and what happens next; without an item of all that is not."""
    from pfspark.ask.reasons import counted

    when = given.round_or_moment(as_of)
    if all_ and item:
        raise UsageError(f"found {item!r} and --all, expected one of them")
    if not (all_ or folder or store):
        raise UsageError("expected --folder and --store, or --all for everything that stands anywhere")
    with given.opened(lake) as there:
        several = org is None and len(there.organizations) > 1
        found = there.why_lines(item, folder=folder, store=store, as_of=when, org=org)
        screen.lines(counted(found) if all_ else found, json=json, orgs=several, none="nothing is missing")


@verbs.command(rich_help_panel=PANEL)
def trace(
    item: Annotated[str, typer.Argument(help="A name, a number such as PFS1:7, or a set of them.")],
    folder: Annotated[str, typer.Option("--folder", help="Its folder, by its path.")],
    store: Annotated[str | None, typer.Option("--store", help="Only what this store took part in.")] = None,
    lake: given.LakeName = None, org: given.Org = None, as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print how something came through all stores: given its number, sent, lost or there, heard of, asked for, answered."""
    when = given.round_or_moment(as_of)
    with given.opened(lake) as there:
        there.expect(store, None, when, org=org)
        screen.timeline(list(there.trace_lines(item, folder=folder, as_of=when, org=org)), store, json=json)


@verbs.command(rich_help_panel=PANEL)
@given.tabular
def diff(
    before: Annotated[str, typer.Argument(help="A round, or a time.")],
    after: Annotated[str | None, typer.Argument(help="A later one; without it now.")] = None,
    store: OfStore = None, folder: OfFolder = None, lake: given.LakeName = None, org: given.Org = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print what changed between two moments: trees, lists, standings, numbers held, holes opened and closed."""
    moments = given.round_or_moment(before), given.round_or_moment(after)
    with given.opened(lake) as there:
        several = org is None and len(there.organizations) > 1
        found = there.diff_lines(*moments, store=store, folder=folder, org=org)
        screen.lines(found, json=json, orgs=several, none="nothing changed")


@verbs.command(rich_help_panel=PANEL)
def metrics(lake: given.LakeName = None, org: given.Org = None, as_of: given.AsOf = None) -> None:
    """Print what a monitor wants to know, as Prometheus reads it: missing and lost numbers, the age of the oldest hole, mail."""
    from pfspark.edge.metrics import Metrics

    when, told = given.round_or_moment(as_of), Metrics()
    with given.opened(lake) as there:
        told.tell(there.answers(when, org))
    print(told.text(), end="", flush=True)


@verbs.command(rich_help_panel=PANEL)
def report(
    file: Annotated[Path, typer.Argument(help="The page that is written, in HTML.")],
    lake: given.LakeName = None, org: given.Org = None, as_of: given.AsOf = None,
) -> None:  # fmt: skip
    """Write a page that works offline: who has what, what is missing and why, sets of numbers, letters, links."""
    when = given.round_or_moment(as_of)
    with given.opened(lake, "looking") as there:
        text = there.report(as_of=when, org=org).html
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{str(file)!r} cannot be written: {error.strerror}") from None
    screen.note(f"{file}: {len(text.encode()):,} bytes")


@verbs.command(rich_help_panel=PANEL)
@given.tabular
def referrals(
    store: OfStore = None, folder: OfFolder = None,
    site: Annotated[str | None, typer.Option("--site", help="Only the stores of this site.")] = None,
    lake: given.LakeName = None, org: given.Org = None, as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print where each store sends a reader who wants a folder."""
    when = given.round_or_moment(as_of)
    with given.opened(lake) as there:
        found = list(there.refer(store, folder, when, site=site, org=org))
    screen.lines(found, json=json, orgs=len({line["org"] for line in found}) > 1, none="no folders yet")


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

    def keep(line: dict[str, Any]) -> bool:
        return not refused or line["outcome"] == Outcome.REFUSED

    _log("edits", store, folder, since, limit, follow, lake, org, as_of, json, keep)


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
        if follow:
            raise UsageError("--follow prints what a lake plays next: say it without --read")
        _events(tail(told([_server_log(read, replid or [])]), begin, limit, at=_when_told), json=json)
        return
    _expect_no_end(follow, as_of)
    with given.opened(lake) as there:
        there.expect(store, folder, when, org=org)
        none = NONE["events"]
        for found in _looks(there, lambda: told(there.event_logs(when, org=org)), begin, limit, follow, at=_when_told):
            _events(found, json=json, none=none)
            none = ""


@log.command("rounds")
@given.tabular
def log_rounds(
    since: Since = None, limit: Limit = None, follow: Follow = False,
    lake: given.LakeName = None, org: given.Org = None, as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print the ledger: the rounds, when they were played, and what they wrote; of an organization those that it played."""
    _log("rounds", None, None, since, limit, follow, lake, org, as_of, json)


def _log(
    kind: str, store: str | None, folder: str | None, since: str | None, limit: int | None, follow: bool, lake: str | None,
    org: str | None, as_of: str | None, json: bool, keep: Callable[[dict[str, Any]], bool] = lambda line: True,
) -> None:  # fmt: skip
    """Prints what happened, from a time on, or the last of it; and what happens next, until Ctrl-C."""
    when, begin = given.round_or_moment(as_of), given.since(since)
    _expect_no_end(follow, as_of)
    with given.opened(lake) as there:
        several = org is None and kind != "rounds" and len(there.organizations) > 1
        none = NONE[kind]

        def look() -> Iterable[dict[str, Any]]:
            return filter(keep, there.lines(kind, when, org=org, store=store, folder=folder))

        for found in _looks(there, look, begin, limit, follow, at=_at, of=lambda line: line.get("org")):
            screen.lines(found, json=json, orgs=several, none=none)
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
    if not follow:
        yield chain.from_iterable(tail(found, since, limit, at=at) for _, found in groupby(look(), of))
        return
    seen: set[str] = set()
    for _ in live.changes(there.version, "waiting for more"):
        fresh = [each for each in look() if str(each) not in seen]
        seen.update(map(str, fresh))
        yield tail(fresh, since, limit, at=at)
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
        since = last and last - min(since, last - FIRST)
    if since is not None:
        begin = since
        found = (each for each in found if (when := at(each)) and when >= begin)
    return found if limit is None else deque(found, maxlen=limit)


def _at(line: Mapping[str, Any]) -> datetime | None:
    """When it happened: of a round when it ended by the clock on the wall."""
    told = line["at"] if "at" in line else line["ended"]
    return told and parse_time(told)


def answer(
    kind: str, store: str | None, folder: str | None, lake: str | None, org: str | None, as_of: str | None, json: bool
) -> None:
    """Prints an answer: the lines of a kind, about one store or folder, or all; each organization by its name."""
    when = given.round_or_moment(as_of)
    with given.opened(lake) as there:
        several = org is None and kind != "rounds" and len(there.organizations) > 1
        screen.lines(there.lines(kind, when, org=org, store=store, folder=folder), json=json, orgs=several, none=NONE[kind])


def _told(logs: Iterable[Log], store: str | None, folder: str | None, *, said: set[str] | None) -> Iterator[Told]:
    """Each event about a store or folder, with its text. Before those of an organization its table of REPLIDs, by which texts
    are read, is said, unless it was; None: nobody reads them."""
    from pfspark.ask.lines import about
    from pfspark.edge.asked.naming import as_lines_name

    named = None if folder is None else as_lines_name(folder)
    for each in logs:
        table = ", ".join(f"{number:X} {origin}" for origin, number in each.replids.items())
        note = f"REPLIDs{f' of {each.org}' if each.org else ''}: {table}"
        if said is not None and note not in said:
            said.add(note)
            screen.note(note)
        yield from ((line, text) for line, text in each.lines() if any(about([line], store, named)))


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

    pairs = [each.partition("=") for each in table]
    try:
        replids = {origin: int(number, 16) for number, _, origin in pairs}
        cntext.show(dict.fromkeys(replids, ()))
    except (ValueError, CnSetError):
        raise UsageError(f"found {' '.join(table)!r}, expected HEX=ORIGIN for each, such as 12=PFS1") from None
    try:
        raw = Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"{file!r} cannot be read: {error.strerror}") from None
    text = raw.decode("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig", "replace")
    origins: dict[str | int, str] = {number: origin for origin, number in replids.items()}
    return Log("", replids, read(text, origins))
