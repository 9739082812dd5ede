"""`pfspark play`: scenario files, played together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any

import typer

from pfspark.cli import given, screen
from pfspark.edge import live
from pfspark.errors import UsageError, ViolationError
from pfspark.units import counted, nearest, parse_time, show_duration

verbs = typer.Typer()


@verbs.command(rich_help_panel="Foresee")
def play(
    files: Annotated[
        list[str] | None,
        typer.Argument(help="Scenario files, folders of them, or names from --list.", metavar="FILE|NAME…"),
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="Print the scenarios that are at hand.")] = False,
    json: given.Json = False,
    lake: Annotated[str | None, typer.Option("--lake", help="A new lake to play in; else in memory.", metavar="DIR")] = None,
) -> None:
    """Play scenarios: invented organizations, each in a file, and what is done to them when."""
    from pfspark.edge.config import conf_folder
    from pfspark.sim import scenario

    if listing:
        if files or lake:
            raise UsageError("--list prints what is at hand, and plays nothing: say it without files and --lake")
        screen.lines(_at_hand(), json=json)
        return
    if not files:
        raise UsageError("Missing argument: a scenario file, a folder of them, or a name that `pfspark play --list` prints")
    scenarios = scenario.read([_named(each) for each in files], conf_folder())  # a bad file is refused before Java starts
    for each in scenarios:
        for step in each.unplayed():
            screen.note(f"{each.file}: step {step.number} comes after the last round, and never happens")
        for number in each.idle_faults():
            screen.note(f"{each.file}: fault {number} never strikes: see its stores, its times, and what it does to mail")

    with live.doing("starting Spark"):
        from pfspark.edge.played import written
        from pfspark.edge.session import open_session
        from pfspark.edge.spark.crossing import BY_FILES
        from pfspark.sim.player import play

        spark = open_session()

    reached = {each.name: each.start for each in scenarios}
    spans = sum((each.end - each.start for each in scenarios), timedelta(0))
    violations, done, steps = 0, timedelta(0), {(each.name, step.number): step for each in scenarios for step in each.steps}

    def watched(found: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        nonlocal violations, done
        for line in found:
            violations += line.get("violations", 0)
            now = parse_time(line["at"])
            done += now - reached[line["org"]]
            reached[line["org"]] = now
            live.told(done, spans)
            step = steps.get((line["org"], line.get("step") or 0))
            yield {**line, **step.about()} if step else line

    with live.doing("playing"), written(spark, lake, scenarios) if lake else nullcontext() as record:
        screen.lines(watched(play(scenarios, spark, record, BY_FILES)), json=json, orgs=len(scenarios) > 1)
    if violations:
        raise ViolationError(f"{counted(violations, 'row')} against a promise; the `end` lines say where")


def _named(file: str) -> str:
    """The file that is named, or the scenario at hand of that name; names have small letters, digits and _ alone."""
    if not re.fullmatch("[a-z0-9_]+", file) or Path(file).exists():
        return file
    known = {path.stem: str(path) for path in _scenarios()}
    if file not in known:
        raise UsageError(f"{file}: cannot be read: it is no file, and no scenario at hand is called so{nearest(file, known)}")
    return known[file]


def _scenarios() -> list[Path]:
    from pfspark.edge.config import conf_folder

    return sorted((conf_folder() / "scenarios").glob("*.toml"))


def _at_hand() -> Iterator[dict[str, Any]]:
    """One line for each scenario at hand: what it tells is what stands at the head of its file."""
    from pfspark.edge.config import conf_folder
    from pfspark.sim import scenario

    for path in _scenarios():
        read = scenario.parse(text := path.read_text("utf-8"), str(path), conf_folder())
        head = takewhile(lambda line: line.startswith("#"), text.splitlines())
        yield {
            "kind": "scenario", "name": path.stem, "called": read.name, "profile": read.profile,
            "lasts": show_duration(read.end - read.start),
            "says": " ".join(" ".join(line.lstrip("#") for line in head).split()), "file": str(path),
        }  # fmt: skip
