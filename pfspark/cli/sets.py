"""`pfspark set`: the algebra of change numbers on texts."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from pfspark import cntext
from pfspark.cli import given, screen
from pfspark.errors import UsageError

verbs = typer.Typer()

SET = "A set such as 'PFS1:1-11:17,PFS2:1-20'."


@verbs.command("set", rich_help_panel="Change numbers")
def sets(
    verb: Annotated[str, typer.Argument(help="union, subtract, intersect, contains, or - to read lines.")],
    a: Annotated[str | None, typer.Argument(help=SET)] = None,
    b: Annotated[str | None, typer.Argument(help=SET)] = None,
    json: given.Json = False,
) -> None:
    """Unite, subtract, intersect or compare two sets of change numbers.

    `contains A B` says whether B is within A. `pfspark set -` reads lines `verb<TAB>A<TAB>B` and prints one result a
    line, `error: …` for a bad one.
    """
    if verb == "-":
        if a is not None:
            raise UsageError(f"`pfspark set -` takes its sets from standard input, but found {a!r}")
        raise typer.Exit(_from_input(json))
    if a is None or b is None:
        raise UsageError(f"`pfspark set {verb}` needs two sets, found {'none' if a is None else 'one'}")
    _say(cntext.run_set(verb, a, b), json)


def _from_input(json: bool) -> int:
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # bad bytes make a bad line, not an end
    code = 0
    for result in cntext.run_lines(sys.stdin):
        _say(result, json)
        code |= result.startswith("error: ")
    return code


def _say(result: str, json: bool) -> None:
    """A set, `true` or `false`, or what was wrong with a line, under a name of its own."""
    if json:
        kind = "error" if result.startswith("error: ") else "result"
        screen.json_line({"kind": "set", kind: result.removeprefix("error: ")})
    else:
        print(result, flush=True)
