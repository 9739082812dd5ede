"""`pfspark round`, `run` and `wait`: time passes in a lake."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from pfspark.edge.cli import given, screen
from pfspark.errors import PfsparkError, UsageError
from pfspark.settings import parse_duration

PANEL = "Rounds"

verbs = typer.Typer()


@verbs.command("round", rich_help_panel=PANEL)
def one_round(
    now: given.Now = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would do, and write nothing.")] = False,
    lake: given.LakeName = None,
    json: given.Json = False,
) -> None:
    """Play one round of all organizations of the lake."""
    at = given.moment(now)
    screen.lines(given.opened(lake).round(now=at, dry_run=dry_run), json=json)


@verbs.command(rich_help_panel=PANEL)
def run(
    until: Annotated[str | None, typer.Option(help="Rounds up to this time.", metavar="TIME")] = None,
    until_quiet: Annotated[bool, typer.Option("--until-quiet", help="Rounds until nothing is due any more.")] = False,
    lake: given.LakeName = None,
    json: given.Json = False,
) -> None:
    """Play rounds one after another, in the organization's own time: it does not wait for the clock."""
    if (until is None) != until_quiet:
        raise UsageError("expected --until TIME or --until-quiet")
    end = given.moment(until)
    with screen.progress("rounds") as told:
        screen.lines(given.opened(lake).run(until=end, until_quiet=until_quiet, progress=told), json=json)


@verbs.command(rich_help_panel=PANEL)
def wait(
    lake: given.LakeName = None,
    org: given.Org = None,
    at_most: Annotated[str, typer.Option(help="How long, by the clock.")] = "1h",
) -> None:
    """Wait until all replicas are equal, while another process plays the rounds."""
    seconds = parse_duration(at_most).total_seconds()
    opened = given.opened(lake)
    began = time.monotonic()
    while not opened.status(org=org)["converged"]:
        if time.monotonic() - began > seconds:
            raise PfsparkError(f"after {at_most} the replicas still differ; `pfspark gaps` shows where")
        time.sleep(1)
