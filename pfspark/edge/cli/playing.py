"""`pfspark play`: scenario files, played together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from pfspark.edge.cli import given, screen
from pfspark.errors import ViolationError

verbs = typer.Typer()


@verbs.command(rich_help_panel="Foresee")
def play(
    files: Annotated[list[str], typer.Argument(help="Scenario files, or folders of them.", metavar="FILE…")],
    json: given.Json = False,
) -> None:
    """Play scenarios: invented organizations, each in a file, and what is done to them when."""
    from pfspark.edge.config import conf_folder
    from pfspark.sim import scenario

    scenarios = scenario.read(files, conf_folder())  # a bad file is refused before Java starts

    from pfspark.edge.session import open_session
    from pfspark.sim.player import play

    violations = 0

    def counted() -> Iterator[dict[str, Any]]:
        nonlocal violations
        for line in play(scenarios, open_session()):
            violations += line.get("violations", 0)
            yield line

    screen.lines(counted(), json=json, orgs=len(scenarios) > 1)
    if violations:
        raise ViolationError(f"{violations} rows break a promise; the `end` lines say in which organization")
