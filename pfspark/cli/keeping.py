"""`pfspark restore`, `audit` and `maintain`: a store taken back to an earlier round; the tables checked, and tidied."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from pfspark.cli import given, screen
from pfspark.edge import live
from pfspark.errors import PfsparkError, UsageError, ViolationError
from pfspark.printed import Line
from pfspark.units import counted

PANEL = "Keeping"

verbs = typer.Typer()


@verbs.command(rich_help_panel=PANEL)
def restore(
    store: Annotated[str, typer.Option("--store", help="The store that is taken back.")],
    to: Annotated[str, typer.Option("--to", help="The round, or the last one not after that time.", metavar="ROUND|TIME")],
    again: Annotated[bool, typer.Option("--again", help="Take in again what would be lost, under new numbers.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    lake: given.LakeName = None,
    org: given.Org = None,
    now: given.Now = None,
    json: given.Json = False,
) -> None:
    """Take a store back to what it knew after an earlier round, in a new life; first says what that loses for ever."""
    when, at = given.round_or_moment(to), given.moment(now)
    with given.opened(lake, "restoring") as there:
        lost = there.losses(store, when, org=org)
        screen.lines(lost, json=json)
        count = sum(line["changes"] for line in lost)
        told = f"{counted(count, 'change')} of {store} that nobody else holds"
        if lost and not (again or yes) and not _agreed(f"{told} would be lost for ever. Go on?"):
            raise PfsparkError(f"{told} would be lost; nothing was done. Say --again to take them in again, else --yes")
        played = there.restore(store, when, org=org, now=at, again=again, agreed=lost)
        if json:
            screen.round_line("restored", played)
        what = "will be taken in again" if again else "are lost"
        screen.note(f"round {played.round}: {store} is as after {to}, in a new life" + (f"; {told} {what}" if lost else ""))


@verbs.command(rich_help_panel=PANEL)
def audit(
    lake: given.LakeName = None,
    as_of: given.AsOf = None,
    plan: Annotated[bool, typer.Option("--repair-plan", help="Say what would mend what is broken.")] = False,
    repair: Annotated[bool, typer.Option("--repair", help="Mend it, and check again.")] = False,
    json: given.Json = False,
) -> None:
    """Check the promises on what the tables say; exit code 3 where one is broken."""
    when = given.round_or_moment(as_of)
    if when is not None and (plan or repair):
        raise UsageError("what is past cannot be mended: say either --as-of, or --repair-plan or --repair")
    with given.opened(lake, "checking the promises", examine=True) as there:
        *found, certificate = there.audit(when)
        _say_audit(found, certificate, json=json)
        broken = [line for line in found if line["rows"]]
        whole = all(line["rows"] is not None for line in found)
        remedies = there.remedies() if broken and whole and (plan or repair) else []
        screen.lines([remedy.line() for remedy in remedies], json=json)
        if broken and (plan or repair) and not remedies:
            screen.note("nothing here mends that")
        if repair and remedies:
            there.mend(remedies)
            *found, certificate = there.audit()
            _say_audit(found, certificate, json=json)
            broken = [line for line in found if line["rows"]]
    if broken:
        told = "; ".join(_broken(line) for line in broken)
        rest = "" if repair else "Nothing was changed; "
        raise ViolationError(f"broken: {told}. {rest}`pfspark log rounds` shows who wrote what")


@verbs.command(rich_help_panel=PANEL)
def maintain(lake: given.LakeName = None, now: given.Now = None, json: given.Json = False) -> None:
    """Tidy the tables: what is void or no longer needed goes; no answer changes. Once a night is enough."""
    at = given.moment(now)
    with given.opened(lake, "tidying") as there:
        screen.counts("maintain", there.maintain(at, lambda doing: screen.note((doing, "dim"))), json=json)


def _say_audit(found: Sequence[Line], certificate: Line, *, json: bool) -> None:
    screen.lines([*found, certificate] if json else found, json=json)
    rows = sum(table["rows"] for table in certificate["tables"].values() if table)
    if certificate["round"] is None:
        screen.note("without its ledger no row counts, so nothing else was looked at")
        return
    screen.note((f"round {certificate['round']}, {counted(rows, 'row')}; --json says their digests", "dim"))


def _broken(line: Line) -> str:
    told = f"{line['id']}, {counted(line['rows'], 'row')}"
    return f"{told} such as {line['sample']}" if line["sample"] else told


def _agreed(question: str) -> bool:
    with live.aside(stdout=False):
        return sys.stdin.isatty() and sys.stderr.isatty() and typer.confirm(question, err=True)
