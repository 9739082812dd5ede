"""`pfspark doctor`: whether this machine has what pfspark needs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from pfspark.cli import given, screen

verbs = typer.Typer()


@verbs.command(rich_help_panel="This machine")
def doctor(
    lake: given.LakeName = None,
    prepare: Annotated[bool, typer.Option("--prepare", help="once: let Spark start sooner (200 MB)")] = False,
    json: given.Json = False,
) -> None:
    """Look at Python, Java, Spark, Delta's jars, and a lake if one is named."""
    from pfspark.cli import doctor

    faults = 0
    for check in doctor.checks(lake, prepare=prepare):
        faults += check.ok is False
        if json:
            screen.json_line({"kind": "doctor", **asdict(check)})
        else:
            mark = {True: ("ok  ", "green"), False: ("BAD ", "bold red"), None: ("--  ", "dim")}[check.ok]
            screen.say((mark[0], mark[1]), (f"{check.name:18}  ", "bold"), check.saw)
            if check.todo:
                screen.say(" " * 24, check.todo)
    raise typer.Exit(1 if faults else 0)
