"""`pfspark round`, `run` and `wait`: time passes in a lake."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pfspark.cli import given, looks, screen
from pfspark.cli.results import Results, left_in
from pfspark.edge import live
from pfspark.errors import PfsparkError, UsageError
from pfspark.units import NOW, counted, parse_duration, show_span

if TYPE_CHECKING:
    from pfspark.edge.runner import Played
    from pfspark.lake import Lake

PANEL = "Rounds"

verbs = typer.Typer()


@verbs.command("round", rich_help_panel=PANEL)
def one_round(
    now: given.Now = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would do, and write nothing.")] = False,
    left: Results = None,
    lake: given.LakeName = None,
    json: given.Json = False,
) -> None:
    """Play one round of every organization that has something to do; one that is ahead of the clock plays on from there."""
    with ExitStack() as ends:
        ledger = ends.enter_context(left_in(left, lake))  # first: a time that cannot be read is an end too
        at = given.moment(now)
        there = ends.enter_context(given.opened(lake, "playing"))
        played = there.round(at, dry_run)
        told = tell(there, played, json=json)
        ledger.add(played, len(told))
        screen.refusals(told)
        _say_ahead(there)
        _tell_unfit(there)


@verbs.command(rich_help_panel=PANEL)
def run(
    until: Annotated[
        str | None,
        typer.Option(
            help="At once: rounds up to this time, for so long after the last round, or `now`: until what is due is done.",
            metavar="TIME|DURATION|now",
        ),
    ] = None,
    until_quiet: Annotated[
        bool, typer.Option("--until-quiet", help="At once, in time to come if need be, until nothing is left to do.")
    ] = False,
    metrics_port: Annotated[
        int | None,
        typer.Option("--metrics-port", help="Serve what `metrics` prints on this port, to this machine alone.", min=1, max=65535),
    ] = None,
    left: Results = None,
    lake: given.LakeName = None,
    json: given.Json = False,
) -> None:
    """Play rounds one after another; with neither option as time goes by, until Ctrl-C."""
    refused: list[dict[str, Any]] = []
    begun: datetime | None = None
    with ExitStack() as ends:
        ledger = ends.enter_context(left_in(left, lake))  # first: words that cannot be followed are an end too
        if until is not None and until_quiet:
            raise UsageError("expected --until TIME or --until-quiet, found both")
        end = until if until is None or until == NOW else given.time_or_span(until)
        serving = _serving(metrics_port)
        there = ends.enter_context(given.opened(lake, "playing"))
        serving(there)

        def told(played: Played) -> None:
            nonlocal begun
            of_this_round = tell(there, played, json=json)
            refused.extend(of_this_round)
            ledger.add(played, len(of_this_round))
            serving(there)
            at = max(played.turns.values())
            begun = begun or at
            if isinstance(end, datetime | timedelta):
                live.told(at - begun, end if isinstance(end, timedelta) else end - begun)

        if end is None and not until_quiet:
            _say_ahead(there)  # it ends by Ctrl-C alone
        count = there.run(end, until_quiet, told, resting=_say_next)
        screen.note(f"{counted(count, 'round')} played")
        screen.refusals(refused)
        _say_ahead(there)
        _tell_unfit(there)


@verbs.command(rich_help_panel=PANEL)
def wait(at_most: Annotated[str, typer.Option(help="How long, by the clock.")] = "1h", lake: given.LakeName = None) -> None:
    """Wait until all edits are taken in and all replicas are equal, while another process plays the rounds."""
    seconds = parse_duration(at_most).total_seconds()
    began = time.monotonic()
    with given.opened(lake, "waiting") as there:
        while not all(line["equal"] and not line["waiting"] for line in there.status_lines()) or there.unfit:
            if time.monotonic() - began > seconds:
                raise PfsparkError(f"not equal after {at_most}; `pfspark status` and `pfspark gaps` show where it stands")
            time.sleep(1)


def _serving(port: int | None) -> Callable[[Lake], object]:
    """Who tells a monitor how a lake stands, if one asks at a port."""
    if port is None:
        return lambda there: None
    from pfspark.edge.metrics import Metrics

    metrics = Metrics()
    metrics.serve(port)
    return lambda there: metrics.tell(there.answers())


def _tell_unfit(there: Lake) -> None:
    for why in there.unfit.values():
        screen.note(why)


def tell(there: Lake, played: Played, *, json: bool) -> list[dict[str, Any]]:
    """Prints what was refused in a round, and its messages; a line about the round itself. Gives the refused edits."""
    said = list(there.said(played))
    screen.lines(said, json=json, orgs=len(played.turns) > 1)
    if json:
        screen.round_line("played" if played.round else "dry run" if played.turns else "idle", played)
    else:
        note(played)
    return refused_edits(said)


def refused_edits(said: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of what a round said, the edits that it refused."""
    return [line for line in said if line["kind"] == "refused" and line["what"] == "edit"]


def note(played: Played) -> None:
    """Says on stderr which round was played, when, and how many rows it wrote."""
    if not played.turns:
        screen.note("nothing to do")
    else:
        name = f"round {played.round}" if played.round else "a dry run"
        rows = ", ".join(f"{count} {table}" for table, count in played.counts.items()) or "nothing new"
        screen.note((f"{name} at {looks.clock(screen.moment(max(played.turns.values())))}: {rows}", "dim"))


def _say_next(due: Mapping[str, datetime]) -> None:
    """What a run that waits says: when something is due next."""
    if due:
        org, at = min(due.items(), key=lambda pair: pair[1])
        screen.note((f"next: {at:%Y-%m-%d %H:%M:%S} ({org})", "dim"))
    else:
        screen.note(("nothing is due; waiting for edits", "dim"))


def _say_ahead(there: Lake) -> None:
    for org, lead in there.ahead().items():
        screen.note(
            f"{org}'s clock is {show_span(lead)} ahead of the clock on the wall: what is done before then is due at its "
            "next cycle there. `pfspark round` plays that one; `run --until now` keeps to the clock"
        )
