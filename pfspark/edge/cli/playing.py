"""`pfspark play`: scenario files, played together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from typing import Annotated, Any

import typer

from pfspark.edge.cli import given, live, screen
from pfspark.errors import ViolationError
from pfspark.units import parse_time

verbs = typer.Typer()


@verbs.command(rich_help_panel="Foresee")
def play(
    files: Annotated[list[str], typer.Argument(help="Scenario files, or folders of them.", metavar="FILE…")],
    json: given.Json = False,
    lake: Annotated[str | None, typer.Option("--lake", help="A new lake to play in; else in memory.", metavar="DIR")] = None,
) -> None:
    """Play scenarios: invented organizations, each in a file, and what is done to them when."""
    from pfspark.edge.config import conf_folder
    from pfspark.sim import scenario

    scenarios = scenario.read(files, conf_folder())  # a bad file is refused before Java starts
    for each in scenarios:
        for step in each.unplayed():
            screen.note(f"{each.file}: step {step.number} comes after the last round, and never happens")

    with live.doing("starting Spark"):
        from pfspark.edge.played import written
        from pfspark.edge.session import open_session
        from pfspark.sim.player import play

    reached = {each.name: each.start for each in scenarios}
    spans = sum((each.end - each.start for each in scenarios), timedelta(0))
    violations, done, steps = 0, timedelta(0), {(each.name, step.number): step for each in scenarios for step in each.steps}

    def counted(found: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        nonlocal violations, done
        for line in found:
            violations += line.get("violations", 0)
            now = parse_time(line["at"])
            done += now - reached[line["org"]]
            reached[line["org"]] = now
            live.told(done, spans)
            step = steps.get((line["org"], line.get("step") or 0))
            yield {**line, **step.about()} if step else line

    with live.doing("starting Spark"):
        spark = open_session()
    with live.doing("playing"), written(spark, lake, scenarios) if lake else nullcontext() as record:
        screen.lines(counted(play(scenarios, spark, record)), json=json, orgs=len(scenarios) > 1)
    if violations:
        raise ViolationError(f"{screen.number(violations, 'row')} against a promise; the `end` lines say where")
