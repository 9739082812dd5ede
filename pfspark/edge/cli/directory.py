"""`pfspark init`, `store` and `link`: the lake, its organizations, and the directory of their stores and sites."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pfspark.edge.cli import given, screen
from pfspark.settings import parse_duration, parse_size

PANEL = "An organization"

verbs = typer.Typer()
store = typer.Typer(help="The directory of stores.")
verbs.add_typer(store, name="store", rich_help_panel=PANEL)

Site = Annotated[str | None, typer.Option(help="Where it is; inside a site cost and delay are 0.")]
Version = Annotated[str | None, typer.Option(help="Version of the server, such as 2007.")]
Preferred = Annotated[bool | None, typer.Option("--preferred/--not-preferred", help="A preferred source of backfill.")]
Interval = Annotated[str | None, typer.Option(help="Between two cycles, such as 15m.")]
SizeLimit = Annotated[str | None, typer.Option(help="What fits into one message, such as 300KB.")]
Schedule = Annotated[str | None, typer.Option(help="When content may be sent, such as Always or Sat.22:00-Sun.6:00.")]


@verbs.command(rich_help_panel=PANEL)
def init(
    lake: given.LakeName = None,
    org: Annotated[str, typer.Option("--org", help="Name of the organization.")] = "default",
    profile: Annotated[str, typer.Option(help="Whose rules it follows.")] = "exchange_2007",
    option: Annotated[list[str] | None, typer.Option(help="An option that differs.", metavar="NAME=VALUE")] = None,
    start: Annotated[str | None, typer.Option(help="Where its cycles are counted from.", metavar="TIME")] = None,
) -> None:
    """Make a lake with an organization, or a further organization in a lake."""
    options, begins = given.values(option or []), given.moment(start)
    where = given.named(lake)
    from pfspark.lake import Lake

    made = Lake.create(where)
    made.organization(org, profile, options, begins)
    screen.note(f"{made.where}: organization {org}. Next: pfspark store add NAME --site SITE --lake {made.where}")


@store.command("add")
def add_store(
    name: str, site: Site = None, version: Version = None, preferred: Preferred = None, interval: Interval = None,
    size_limit: SizeLimit = None, schedule: Schedule = None, lake: given.LakeName = None, org: given.Org = None,
) -> None:  # fmt: skip
    """Add a store."""
    words = _entry(site, version, preferred, interval, size_limit, schedule)
    given.opened(lake).store(name, org=org, **words)


@store.command("set")
def set_store(
    name: str, site: Site = None, version: Version = None, preferred: Preferred = None, interval: Interval = None,
    size_limit: SizeLimit = None, schedule: Schedule = None, lake: given.LakeName = None, org: given.Org = None,
) -> None:  # fmt: skip
    """Change what is told of a store; what is not told stays."""
    words = _entry(site, version, preferred, interval, size_limit, schedule)
    given.opened(lake).store(name, org=org, change=True, **words)


@store.command("list")
def list_stores(
    lake: given.LakeName = None, org: given.Org = None, as_of: given.AsOf = None, json: given.Json = False
) -> None:
    """Print the stores."""
    when = given.round_or_moment(as_of)
    screen.frame(given.opened(lake).table("stores", as_of=when, org=org), json=json)


@verbs.command(rich_help_panel=PANEL)
def link(
    one: Annotated[str, typer.Argument(help="A site.")],
    other: Annotated[str, typer.Argument(help="Another site.")],
    cost: Annotated[int, typer.Option(help="Cost of the connection.", min=0)] = 1,
    delay: Annotated[str, typer.Option(help="How long a message takes.")] = "0m",
    one_way: Annotated[bool, typer.Option("--one-way", help="Only from the first site to the other.")] = False,
    lake: given.LakeName = None,
    org: given.Org = None,
) -> None:
    """Say what a message between two sites costs, and how long it takes."""
    takes = parse_duration(delay)
    given.opened(lake).link(one, other, cost=cost, delay=takes, both=not one_way, org=org)


def _entry(
    site: str | None, version: str | None, preferred: bool | None, interval: str | None, size_limit: str | None,
    schedule: str | None,
) -> dict[str, Any]:  # fmt: skip
    """What is told of a store, read before Java starts."""
    told = {
        "site": site, "version": version, "preferred": preferred, "interval": interval and parse_duration(interval),
        "size_limit": size_limit and parse_size(size_limit), "schedule": schedule,
    }  # fmt: skip
    return {name: value for name, value in told.items() if value is not None}
