"""`pfspark apply`, `show`, `org`, `suspend` and `resume`: an organization as a file says it, and its options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pfspark.cli import given, screen
from pfspark.cli.answers import answer
from pfspark.edge.plain import spelled_out
from pfspark.errors import UsageError
from pfspark.words import Planned

if TYPE_CHECKING:
    from pfspark.edge.plan import Plan
    from pfspark.lake import Lake

PANEL = "An organization"

verbs = typer.Typer()
org_verbs = typer.Typer(help="Its options: what is in force, and how it is changed.")
verbs.add_typer(org_verbs, name="org", rich_help_panel=PANEL)

File = Annotated[str, typer.Argument(help="A file in the language of scenarios: profile, policy, stores, links, folders.")]
Editor = Annotated[
    str | None, typer.Option("--store", help="Where folders are made and changed; else the first that sees the tree.")
]


@verbs.command(rich_help_panel=PANEL)
def apply(
    file: File, store: Editor = None,
    prune: Annotated[bool, typer.Option("--prune", help="Remove what the file does not have.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan, and do nothing.")] = False,
    lake: given.LakeName = None, org: given.Org = None, now: given.Now = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Make an organization what a file says: print the plan, then do it; what is so already stays as it is."""
    from pfspark.files.documents import document

    at = given.moment(now)
    said, called = document(file)  # once, as a pipe has no more; and one that cannot be read is refused before a lake is opened
    with given.opened(lake, "planning") as there:
        planned = there.plan(said, called=called, store=store, prune=prune, org=org, at=at)
        carried_out(there, planned, json=json, dry_run=dry_run)


def carried_out(there: Lake, plan: Plan, *, json: bool, dry_run: bool = False) -> None:
    """Prints a plan, then does what it says."""
    told = (line for line in plan.lines() if json or line["what"] != Planned.SAME)
    screen.lines(told, json=json)
    if plan.left_out:
        screen.note(f"left out, as it says how a scenario is played: {', '.join(plan.left_out)}")
    counts = ", ".join(f"{plan.count(each)} {words}" for each, words in _COUNTED.items() if plan.count(each)) or "nothing said"
    at = f"; folders at {plan.store}" if plan.rows["edits"] else ""
    if plan.is_empty:
        done = "nothing to do"
    elif dry_run:
        done = "nothing was done"
    else:
        there.carry_out(plan)
        done = "done"
    screen.note(f"{plan.org}: {counts}{at}. ", (done, "green" if done == "done" else "dim"))
    warn_of_unlinked(plan.unlinked)


_COUNTED = {
    Planned.ADD: "to add", Planned.CHANGE: "to change", Planned.REMOVE: "to remove", Planned.STAYS: "left alone",
    Planned.SAME: "as they are",
}  # fmt: skip


def warn_of_unlinked(sites: tuple[str, ...]) -> None:
    """Says which sites no link names."""
    for site in sites:
        screen.note((f"no link names the site {site}: messages cost 1 and take no time; `pfspark link` says otherwise", "yellow"))


@verbs.command(rich_help_panel=PANEL)
def show(
    store: Annotated[str | None, typer.Option("--store", help="Whose folders; else of the first that sees the tree.")] = None,
    toml: Annotated[bool, typer.Option("--toml", help="As a file that `apply` reads, which is so unless --json is said.")] = True,
    lake: given.LakeName = None, org: given.Org = None, as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print an organization as a file that `apply` reads; to apply it changes nothing."""
    import tomlkit

    when = given.round_or_moment(as_of)
    with given.opened(lake) as there:
        if json:
            screen.json_line(there.declared_line(store=store, as_of=when, org=org))
        else:
            text = tomlkit.dumps(there.declared(store=store, as_of=when, org=org))
            for line in spelled_out(text).removesuffix("\n").split("\n"):
                screen.say(line)


@org_verbs.command("show")
@given.tabular
def show_options(lake: given.LakeName = None, org: given.Org = None, as_of: given.AsOf = None, json: given.Json = False) -> None:
    """Print the options in force, and which differ from the profile."""
    answer("options", None, None, lake, org, as_of, json)


@org_verbs.command("set")
def set_options(
    options: Annotated[list[str] | None, typer.Argument(help="Such as relay_status=false.", metavar="NAME=VALUE…")] = None,
    profile: Annotated[str | None, typer.Option(help="Whose rules it follows.")] = None,
    lake: given.LakeName = None, org: given.Org = None,
) -> None:  # fmt: skip
    """Change options of an organization, or its profile; what is not told stays."""
    told = given.options(options or [])
    if not told and profile is None:
        raise UsageError("expected NAME=VALUE, or --profile; `pfspark org show` prints every option")
    with given.opened(lake) as there:
        there.set_options(told, profile, org=org)


@verbs.command(rich_help_panel=PANEL)
def suspend(lake: given.LakeName = None, org: given.Org = None) -> None:
    """Suspend content replication of an organization; hierarchy goes on (F69)."""
    with given.opened(lake) as there:
        there.suspend(org)


@verbs.command(rich_help_panel=PANEL)
def resume(lake: given.LakeName = None, org: given.Org = None) -> None:
    """Resume content replication of an organization."""
    with given.opened(lake) as there:
        there.suspend(org, False)
