"""`pfspark init`, `store` and `link`: the lake, its organizations, and the directory of their stores and sites."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from pfspark.cli import given, screen
from pfspark.cli.answers import answer
from pfspark.cli.organizations import carried_out, warn_of_unlinked
from pfspark.edge import live
from pfspark.errors import NoLakeError, UsageError
from pfspark.schedules import parse_schedule
from pfspark.settings import MAIN, PROFILE, span
from pfspark.units import parse_size, parse_wait, unknown
from pfspark.words import LARGEST

if TYPE_CHECKING:
    from pfspark.lake import Lake

PANEL = "An organization"

verbs = typer.Typer()
store = typer.Typer(help="The directory of stores.")
verbs.add_typer(store, name="store", rich_help_panel=PANEL)


class Links(TyperGroup):
    """Links are set where no other verb is named: `pfspark link Redmond Paris`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The words of a link, with the verb that they mean before them."""
        verbs = {*self.commands, *ctx.help_option_names}
        return super().parse_args(ctx, args if not args or args[0] in verbs else ["set", *args])


links = typer.Typer(cls=Links, help="What a message between two sites costs; `link SITE SITE` sets a link.")
verbs.add_typer(links, name="link", rich_help_panel=PANEL)

Name = Annotated[str, typer.Argument(help="Letters, digits, . _ -")]
Site = Annotated[str, typer.Option(help="Where it is; inside a site cost and delay are 0.")]
Version = Annotated[str | None, typer.Option(help="Version of the server, such as 2007.")]
Preferred = Annotated[bool | None, typer.Option("--preferred/--not-preferred", help="A preferred source of backfill.")]
Interval = Annotated[str | None, typer.Option(help="Between two cycles, such as 15m.")]
SizeLimit = Annotated[str | None, typer.Option(help="What fits into one message, such as 300KB.")]
Schedule = Annotated[str | None, typer.Option(help="When content may be sent, such as Always or Sat.22:00-Sun.6:00.")]
Retired = Annotated[bool | None, typer.Option("--retired/--not-retired", help="No longer part of the organization.")]


@verbs.command(rich_help_panel=PANEL)
def init(
    lake: given.LakeName = None,
    org: Annotated[str | None, typer.Option("--org", envvar="PFSPARK_ORG", help="Name of the organization; else `main`.")] = None,
    profile: Annotated[str | None, typer.Option(help="Whose rules it follows; else exchange_2007.")] = None,
    option: Annotated[list[str] | None, typer.Option(help="An option that differs.", metavar="NAME=VALUE")] = None,
    start: Annotated[str | None, typer.Option(help="Where its cycles are counted from.", metavar="TIME")] = None,
    file: Annotated[str | None, typer.Option("--from", help="A file that says all of it, as `apply` reads it.")] = None,
    json: given.Json = False,
) -> None:
    """Make a lake with an organization, or one more organization in a lake."""
    from pfspark.edge.config import conf_folder
    from pfspark.files import values
    from pfspark.settings import load_profile, override

    options, begins, where = given.options(option or []), given.when(start), given.named(lake)
    if file:
        if profile or option or start:
            raise UsageError(f"{file} says profile, options and start; leave --profile, --option and --start out")
        _init_from(file, where, org, json=json)
        return
    org = MAIN if org is None else values.organization(org)  # refused before anything is made
    profile = PROFILE if profile is None else profile
    override(load_profile(profile, conf_folder()), options)

    with live.doing("making the lake"), _opened_or_made(where) as made:
        _expect_new(made, org)
        made.organization(org, profile, options, begins)
        screen.note(f"{made.where} has the organization {org}. Next: pfspark store add NAME --site SITE")


def _init_from(file: str, where: str, org: str | None, *, json: bool) -> None:
    from pfspark.edge.plan import expect_makeable
    from pfspark.files import declared, values
    from pfspark.files.documents import document

    said, called = document(file)
    own = declared.read(said, called, {})
    name = (own.name or MAIN) if org is None else values.organization(org)
    expect_makeable(own, name)  # refused before anything is made
    with live.doing("making the lake"), _opened_or_made(where) as made:
        _expect_new(made, name)
        carried_out(made, made.plan(said, called=called, org=name), json=json)


def _expect_new(made: Lake, org: str) -> None:
    if org in made.organizations:
        raise UsageError(f"{made.where} has an organization {org!r} already; `pfspark apply` makes it what a file says")


def _opened_or_made(where: str) -> Lake:
    from pfspark.edge import session
    from pfspark.edge.delta import places
    from pfspark.lake import Lake

    is_given, start = session.is_given(), partial(given.started, where)
    try:
        return Lake.open(where, start)
    except NoLakeError:
        if not is_given:
            places.expect_lasting(where, start)
        return Lake.create(where, start)


@store.command("add")
def add_store(
    name: Name, site: Site, version: Version = None, preferred: Preferred = None, interval: Interval = None,
    size_limit: SizeLimit = None, schedule: Schedule = None, lake: given.LakeName = None, org: given.Org = None,
) -> None:  # fmt: skip
    """Add a store; it takes part from the next round on."""
    told = _told(version, preferred, interval, size_limit, schedule)
    with given.opened(lake) as there:
        if name in _known(there, org):
            raise UsageError(f"the store {name!r} is there already; `pfspark store set` changes what is said of it")
        there.store(name, site, org=org, **told)
        warn_of_unlinked(there.unlinked(org=org))


@store.command("set")
def set_store(
    name: Name, site: Annotated[str | None, typer.Option(help="Where it is.")] = None, version: Version = None,
    preferred: Preferred = None, interval: Interval = None, size_limit: SizeLimit = None, schedule: Schedule = None,
    retired: Retired = None, lake: given.LakeName = None, org: given.Org = None,
) -> None:  # fmt: skip
    """Change what is said of a store; what is not told stays."""
    told = _told(version, preferred, interval, size_limit, schedule)
    with given.opened(lake) as there:
        stores = _known(there, org)
        if name not in stores:
            raise unknown("the store", name, stores)
        there.store(name, site, org=org, retired=retired, **told)
        if retired and (has := there.needed(name, org=org)):
            screen.note((f"{name} is retired although {has}", "yellow"))


@store.command("list")
@given.tabular
def list_stores(lake: given.LakeName = None, org: given.Org = None, as_of: given.AsOf = None, json: given.Json = False) -> None:
    """Print the stores."""
    answer("stores", None, None, lake, org, as_of, json)


@links.command("set")
def set_link(
    one: Annotated[str, typer.Argument(help="A site.")],
    other: Annotated[str, typer.Argument(help="Another site.")],
    cost: Annotated[int, typer.Option(help="Cost of the connection.", min=0, max=LARGEST - 1)] = 1,
    delay: Annotated[str, typer.Option(help="How long a message takes.")] = "0m",
    one_way: Annotated[bool, typer.Option("--one-way", help="Only from the first site to the other.")] = False,
    lake: given.LakeName = None,
    org: given.Org = None,
) -> None:
    """Say what a message between two sites costs, and how long it takes."""
    takes = parse_wait(delay)
    with given.opened(lake) as there:
        there.link(one, other, cost, takes, org=org, both=not one_way)


@links.command("remove")
def remove_link(
    one: Annotated[str, typer.Argument(help="A site.")],
    other: Annotated[str, typer.Argument(help="Another site.")],
    one_way: Annotated[bool, typer.Option("--one-way", help="Only from the first site to the other.")] = False,
    lake: given.LakeName = None,
    org: given.Org = None,
) -> None:
    """Take a link away: messages cost 1 again, and take no time."""
    with given.opened(lake) as there:
        there.unlink(one, other, org=org, both=not one_way)


@links.command("list")
@given.tabular
def list_links(lake: given.LakeName = None, org: given.Org = None, as_of: given.AsOf = None, json: given.Json = False) -> None:
    """Print the links between sites."""
    answer("links", None, None, lake, org, as_of, json)


def _told(
    version: str | None, preferred: bool | None, interval: str | None, size_limit: str | None, schedule: str | None
) -> dict[str, Any]:
    """What is said of a store; what cannot be read is refused before Java starts."""
    if schedule is not None:
        parse_schedule(schedule)
    return {
        "version": version,
        "preferred": preferred,
        "interval": None if interval is None else span(interval),
        "size_limit": None if size_limit is None else parse_size(size_limit),
        "schedule": schedule,
    }


def _known(there: Lake, org: str | None) -> list[str]:
    return sorted({store for of, store in there.stores_by_name() if org in (None, of)})
