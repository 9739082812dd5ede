"""`pfspark status`, `state`, `items`, `gaps`, `referrals`, `why`, `trace`, `diff`, `report` and `metrics`: what a lake knows, now
or as of an earlier round."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from pfspark.cli import completion, given, screen
from pfspark.cli.looks import at_rest
from pfspark.edge import live
from pfspark.errors import UsageError, ViolationError
from pfspark.printed import Line
from pfspark.units import counted, parse_duration

PANEL = "Answers"

verbs = typer.Typer()

NONE = {
    "state": "no replicas yet", "folders": "no folders yet", "stores": "no stores yet", "items": "no items", "gaps": "no gaps",
    "messages": "no messages", "rounds": "no rounds", "edits": "no edits", "links": "no links", "options": "no organizations yet",
    "events": "no events",
}  # fmt: skip
"""What a person is told where an answer has no line."""

MANY = 1_000
"""Replicas of which nobody reads all."""

OfStore = Annotated[str | None, typer.Option("--store", help="Only this store.", autocompletion=completion.stores)]
OfFolder = Annotated[
    str | None, typer.Option("--folder", help="Only this folder, by its path or id.", autocompletion=completion.folders)
]


@verbs.command(rich_help_panel=PANEL)
def status(
    store: OfStore = None, folder: OfFolder = None,
    check: Annotated[bool, typer.Option("--check", help="Exit with 3 where something is late; for cron and monitors.")] = False,
    max_age: Annotated[
        str | None, typer.Option(help="How long something may be missing, wait or be due before it is late.", show_default="0m")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Print it again whenever it changes, until Ctrl-C.")] = False,
    lake: given.LakeName = None, org: given.Org = None, as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print how organizations and their replicas stand: equal or not, missing since when, belief and truth apart."""
    when, age = given.round_or_moment(as_of), parse_duration(max_age or "0m")
    if max_age is not None and not check:
        raise UsageError("--max-age says what is late for --check: say both")
    if watch and (check or as_of):
        raise UsageError("--watch goes on until Ctrl-C: say it without --check and --as-of")
    if check and (store or folder):
        raise UsageError("--check looks at whole organizations: say it without --store and --folder")
    with given.opened(lake) as there:
        there.expect(store, folder, when, org=org)
        for _ in live.changes(there.version, "waiting for a change") if watch else (0,):
            found = list(there.status_lines(when, org=org))
            screen.lines(found, json=json, none="no organizations yet")
            replicas: Iterable[Line] = there.lines("replicas", when, org=org, store=store, folder=folder)
            of_all = sum(line["replicas"] for line in found)
            if of_all <= MANY or json or store or folder:
                screen.lines(replicas, json=json, orgs=len(found) > 1)
            else:
                some = [line for line in replicas if not at_rest(line)]
                screen.lines(some, json=False, orgs=len(found) > 1)
                others = counted(of_all - len(some), "other replica")
                screen.note((f"and {others} at rest, which --store, --folder or --json tell of", "dim"))
            for why in there.unfit.values():
                screen.note(why)
        late = there.overdue(age, as_of=when, org=org) if check else []
    if late:
        for each in late:
            screen.note((each, "yellow"))
        raise ViolationError(f"{counted(len(late), 'thing')} late, by more than {max_age or '0m'}")


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
    item: Annotated[str | None, typer.Argument(help="A name, a number (PFS1:7), a set of them, or @ and an edit.")] = None,
    store: OfStore = None, folder: OfFolder = None,
    all_: Annotated[bool, typer.Option("--all", help="Every cause that stands anywhere, counted, the oldest first.")] = False,
    lake: given.LakeName = None, org: given.Org = None, as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print why something is not here, since when, and what happens next; without an item of all that is not."""
    from pfspark.ask.reasons import counted

    when = given.round_or_moment(as_of)
    if all_ and item is not None:
        raise UsageError(f"found {item!r} and --all, expected one of them")
    if not (all_ or folder or store):
        raise UsageError("expected --folder and --store, or --all for everything that stands anywhere")
    with given.opened(lake) as there:
        several = org is None and len(there.organizations) > 1
        found = there.why_lines(item, folder=folder, store=store, as_of=when, org=org)
        kind, told = ("cause", counted(found)) if all_ else ("why", found)
        screen.lines(told, json=json, orgs=several, none="nothing is missing", kind=kind)


@verbs.command(rich_help_panel=PANEL)
def trace(
    item: Annotated[str, typer.Argument(help="A name, a number (PFS1:7), a set of them, or @ and an edit.")],
    folder: Annotated[str, typer.Option("--folder", help="Its folder, by its path or id.")],
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
    store: OfStore = None, folder: OfFolder = None, lake: given.LakeName = None, org: given.Org = None,
    as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print what changed between two moments: trees, lists, standings, numbers held, holes opened and closed."""
    if after is not None and as_of is not None:
        raise UsageError(f"found {after!r} and --as-of {as_of!r}, expected the later moment once")
    moments = given.round_or_moment(before), given.round_or_moment(as_of if after is None else after)
    with given.opened(lake) as there:
        several = org is None and len(there.organizations) > 1
        found = there.diff_lines(*moments, store=store, folder=folder, org=org)
        screen.lines(found, json=json, orgs=several, none="nothing changed", kind="diff")


@verbs.command(rich_help_panel=PANEL)
def metrics(
    lake: given.LakeName = None, org: given.Org = None, as_of: given.AsOf = None, json: given.Json = False
) -> None:  # fmt: skip
    """Print what a monitor wants to know, as Prometheus reads it: missing and lost numbers, the age of the oldest hole, mail."""
    from pfspark.edge.metrics import Metrics, samples

    when, told = given.round_or_moment(as_of), None if json else Metrics()
    with given.opened(lake) as there:
        answers = there.answers(when, org)
        if told is None:
            screen.lines(samples(answers), json=True)
        else:
            told.tell(answers)
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
    screen.lines(found, json=json, orgs=len({line["org"] for line in found}) > 1, none=_none("folders", store), kind="referral")


def answer(
    kind: str, store: str | None, folder: str | None, lake: str | None, org: str | None, as_of: str | None, json: bool
) -> None:
    """Prints an answer: the lines of a kind, about one store or folder, or all; each organization by its name."""
    when = given.round_or_moment(as_of)
    with given.opened(lake) as there:
        several = org is None and kind != "rounds" and len(there.organizations) > 1
        found = there.lines(kind, when, org=org, store=store, folder=folder)
        screen.lines(found, json=json, orgs=several, none=_none(kind, store), kind=kind.removesuffix("s"))


def _none(kind: str, store: str | None) -> str:
    """What a person is told where an answer has no line; one store may have had some, and be retired."""
    return NONE[kind] if store is None else f"{NONE[kind].removesuffix(' yet')} at {store}"
