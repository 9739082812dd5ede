"""`pfspark state`, `gaps`, `items`, `log` and `status`: what a lake knows, now or as of an earlier round."""

from __future__ import annotations

from typing import Annotated

import typer

from pfspark.edge.cli import given, screen

PANEL = "Answers"

verbs = typer.Typer()
log = typer.Typer(help="What happened, in order.")
verbs.add_typer(log, name="log", rich_help_panel=PANEL)

OfStore = Annotated[str | None, typer.Option("--store", help="Only this store.")]
OfFolder = Annotated[str | None, typer.Option("--folder", help="Only this folder: path or id.")]


@verbs.command(rich_help_panel=PANEL)
def state(
    store: OfStore = None, folder: OfFolder = None, lake: given.LakeName = None, org: given.Org = None,
    as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print what each replica holds, has sent, and lacks."""
    when = given.round_or_moment(as_of)
    found = given.opened(lake).lines("state", as_of=when, org=org)
    screen.lines(screen.about(found, store, folder), json=json)


@verbs.command(rich_help_panel=PANEL)
def items(
    store: OfStore = None, folder: OfFolder = None, lake: given.LakeName = None, org: given.Org = None,
    as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print the items that each store shows its readers."""
    when = given.round_or_moment(as_of)
    found = given.opened(lake).lines("items", as_of=when, org=org)
    screen.lines(screen.about(found, store, folder), json=json)


@verbs.command(rich_help_panel=PANEL)
def gaps(
    store: OfStore = None, folder: OfFolder = None, lake: given.LakeName = None, org: given.Org = None,
    as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print what is missing where: since when, who was asked, and when it is asked for next."""
    when = given.round_or_moment(as_of)
    found = given.opened(lake).lines("gaps", as_of=when, org=org)
    screen.lines(screen.about(found, store, folder), json=json)


@log.command("messages")
def log_messages(
    store: OfStore = None, folder: OfFolder = None, lake: given.LakeName = None, org: given.Org = None,
    as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print the replication messages."""
    when = given.round_or_moment(as_of)
    found = given.opened(lake).lines("messages", as_of=when, org=org)
    screen.lines(screen.about(found, store, folder), json=json)


@log.command("rounds")
def log_rounds(lake: given.LakeName = None, as_of: given.AsOf = None, json: given.Json = False) -> None:
    """Print the ledger: the rounds, when they were played and what they wrote."""
    when = given.round_or_moment(as_of)
    screen.frame(given.opened(lake).table("rounds", as_of=when), json=json)
