"""`pfspark rules`: the rules of the articles, where they are obeyed, and which tests hold them."""

from __future__ import annotations

import json as json_text
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from pfspark.cli import given, looks, screen
from pfspark.errors import UsageError
from pfspark.units import counted

verbs = typer.Typer()


@verbs.command(rich_help_panel="Explain")
def rules(
    wanted: Annotated[list[str] | None, typer.Argument(help="Show these alone, with their tests.", metavar="[RULE]…")] = None,
    untested: Annotated[bool, typer.Option("--untested", help="Only those that no test holds, and why.")] = False,
    json: given.Json = False,
) -> None:
    """Show the rules of the articles: what each says, where it is obeyed, and which tests hold it.

    Places are modules of pfspark and profiles of conf; the tests are those of a checkout.
    """
    shown = [row for row in _chosen(wanted or []) if not (untested and row["tests"])]
    if json:
        for row in shown:
            screen.json_line({"kind": "rule", **row})
    elif wanted:
        for row in shown:
            _tell(row)
    else:
        screen.table(("rule", "says", "where", "tests"), map(_cells, shown))


OF_OTHERS = "no rule of the articles; `why` cites it"


def _book() -> Iterator[dict[str, Any]]:
    from pfspark.edge.config import conf_folder

    with (conf_folder() / "rules.jsonl").open(encoding="utf-8") as lines:
        yield from map(json_text.loads, lines)


def _chosen(wanted: list[str]) -> list[dict[str, Any]]:
    """The rules of those names, in their order; all if none is named."""
    book = {row["rule"]: row for row in _book()}
    names = [name.upper() for name in wanted]
    named = {**book, **_cited()} if {*names} - {*book} else book
    for name in names:
        if name not in named:
            first, *_, last = book
            raise UsageError(f"rule {name!r} is not known, expected one from {first} to {last}")
    return [named[name] for name in names or book]


def _cited() -> dict[str, dict[str, Any]]:
    """What `why` cites beside the rules of the articles."""
    from pfspark.ask.reasons import CITED

    return {name: {"rule": name, "says": says, "where": [], "tests": [], "untestable": OF_OTHERS} for name, says in CITED.items()}


def _tell(row: dict[str, Any]) -> None:
    """One rule in full, each place and each test on a line of its own."""
    screen.say((row["rule"], "bold"), f"  {row['says']}")
    for place in row["where"]:
        screen.say("  obeyed in  ", place)
    for test in row["tests"]:
        screen.say("  held by    ", test)
    if row["untestable"]:
        screen.say("  no test:   ", (row["untestable"], "dim"))


def _cells(row: dict[str, Any]) -> tuple[looks.Part, ...]:
    held = counted(len(row["tests"]), "test")
    return row["rule"], row["says"], ", ".join(row["where"]), (row["untestable"], "dim") if row["untestable"] else held
