"""`pfspark round`, `run` and `wait`: time passes in a lake."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from pfspark.edge.cli import given, screen
from pfspark.edge.cli.answers import standing
from pfspark.errors import PfsparkError, UsageError
from pfspark.settings import parse_duration

if TYPE_CHECKING:
    from pfspark.edge.runner import Played
    from pfspark.lake import Lake

PANEL = "Rounds"

verbs = typer.Typer()


@verbs.command("round", rich_help_panel=PANEL)
def one_round(
    now: given.Now = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would do, and write nothing.")] = False,
    lake: given.LakeName = None,
    json: given.Json = False,
) -> None:
    """Play one round of every organization that has something to do."""
    at = given.moment(now)
    with given.opened(lake) as there:
        tell(there, there.round(at, dry_run), json=json)
        _tell_unfit(there)


@verbs.command(rich_help_panel=PANEL)
def run(
    until: Annotated[str | None, typer.Option(help="Rounds up to this time, at once.", metavar="TIME")] = None,
    until_quiet: Annotated[bool, typer.Option("--until-quiet", help="Until nothing is left to do, at once.")] = False,
    lake: given.LakeName = None,
    json: given.Json = False,
) -> None:
    """Play rounds one after another; with neither option as time goes by, until Ctrl-C."""
    if until is not None and until_quiet:
        raise UsageError("expected --until TIME or --until-quiet, found both")
    end = given.moment(until)
    with given.opened(lake) as there:
        count = there.run(end, until_quiet, lambda played: tell(there, played, json=json))
        screen.note(f"{screen.number(count, 'round')} played")
        _tell_unfit(there)


@verbs.command(rich_help_panel=PANEL)
def wait(at_most: Annotated[str, typer.Option(help="How long, by the clock.")] = "1h", lake: given.LakeName = None) -> None:
    """Wait until all edits are taken in and all replicas are equal, while another process plays the rounds."""
    seconds = parse_duration(at_most).total_seconds()
    began = time.monotonic()
    with given.opened(lake) as there:
        while not all(line["equal"] and not line["waiting"] for line in standing(there, None, None)):
            if time.monotonic() - began > seconds:
                raise PfsparkError(f"not equal after {at_most}; `pfspark status` and `pfspark gaps` show where it stands")
            time.sleep(1)


def _tell_unfit(there: Lake) -> None:
    for why in there.unfit.values():
        screen.note(why)


def tell(there: Lake, played: Played, *, json: bool) -> None:
    """Prints what was refused in a round, and its messages; a line about the round itself."""
    screen.lines(there.said(played), json=json, orgs=len(played.turns) > 1)
    turns = {org: now.strftime("%Y-%m-%dT%H:%M:%SZ") for org, now in sorted(played.turns.items())}
    if json:
        screen.json_line({"kind": "round", "round": played.round, "turns": turns, "counts": played.counts})
    elif not turns:
        screen.note("nothing to do")
    else:
        name = f"round {played.round}" if played.round else "a dry run"
        rows = ", ".join(f"{count} {table}" for table, count in played.counts.items()) or "nothing new"
        screen.note((f"{name} at {screen.clock(max(turns.values()))}: {rows}", "dim"))
