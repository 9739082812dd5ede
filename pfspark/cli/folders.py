"""`pfspark folder` and `replica`: edits of the hierarchy, each made at a store."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pfspark.cli import given, rounds, screen
from pfspark.cli.answers import OfFolder, OfStore, answer
from pfspark.edge import live
from pfspark.errors import PfsparkError
from pfspark.files.properties import TEXTS
from pfspark.units import parse_duration

if TYPE_CHECKING:
    from pfspark.edge.runner import Played
    from pfspark.lake import Lake

PANEL = "Folders and their content"

verbs = typer.Typer()
folder = typer.Typer(help="Folders, as each store sees them.")
replica = typer.Typer(help="Which stores hold a folder.")
verbs.add_typer(folder, name="folder", rich_help_panel=PANEL)
verbs.add_typer(replica, name="replica", rich_help_panel=PANEL)

Replica = Annotated[str, typer.Argument(help="The store whose replica it is.")]
Properties = Annotated[
    list[str] | None,
    typer.Option("--set", help="Such as age_limit=30d; see `folder set`.", metavar="NAME=VALUE"),
]


@folder.command("create")
def create(
    path: Annotated[str, typer.Argument(help="Its path, such as /Launch.")],
    store: given.Store,
    replicas: Annotated[str | None, typer.Option(help="Stores that hold it, such as PFS1,PFS2; else --store.")] = None,
    properties: Properties = None,
    lake: given.LakeName = None,
    org: given.Org = None,
    now: given.Now = None,
    json: given.Json = False,
) -> None:
    """Create a folder."""
    sets, at = given.values(properties or [], texts=TEXTS), given.moment(now)
    holders = [name.strip() for name in (store if replicas is None else replicas).split(",")]
    with given.opened(lake) as there:
        edit = there.folder_create(store, path, holders, org=org, at=at, **sets)
    screen.edited(edit, json=json)


@folder.command("rename")
def rename(
    path: given.Path, name: Annotated[str, typer.Argument(help="Its new name.")], store: given.Store,
    lake: given.LakeName = None, org: given.Org = None, now: given.Now = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Give a folder another name."""
    at = given.moment(now)
    with given.opened(lake) as there:
        edit = there.folder_rename(store, path, name, org=org, at=at)
    screen.edited(edit, json=json)


@folder.command("move")
def move(
    path: given.Path, to: Annotated[str, typer.Argument(help="Path of the new parent; / is the top.")],
    store: given.Store, lake: given.LakeName = None, org: given.Org = None, now: given.Now = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Put a folder under another parent."""
    at = given.moment(now)
    with given.opened(lake) as there:
        edit = there.folder_move(store, path, to, org=org, at=at)
    screen.edited(edit, json=json)


@folder.command("delete")
def delete(
    path: given.Path,
    store: given.Store,
    lake: given.LakeName = None,
    org: given.Org = None,
    now: given.Now = None,
    json: given.Json = False,
) -> None:
    """Delete a folder and all under it, everywhere and for ever."""
    at = given.moment(now)
    with given.opened(lake) as there:
        edit = there.folder_delete(store, path, org=org, at=at)
    screen.edited(edit, json=json)


@folder.command("set")
def set_properties(
    path: given.Path,
    properties: Annotated[list[str], typer.Argument(help="Such as age_limit=30d.", metavar="NAME=VALUE…")],
    store: given.Store, lake: given.LakeName = None, org: given.Org = None, now: given.Now = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Set properties of a folder: schedule, size_limit, age_limit, conflict, priority, deleted_item_retention,
    description, note, permissions."""
    sets, at = given.values(properties, texts=TEXTS), given.moment(now)
    with given.opened(lake) as there:
        edit = there.folder_set(store, path, org=org, at=at, **sets)
    screen.edited(edit, json=json)


@folder.command("recover")
def recover(
    path: Annotated[str, typer.Argument(help="The path it had, or its id.")],
    store: given.Store,
    name: Annotated[str | None, typer.Option("--name", help="Name of the copy.")] = None,
    lake: given.LakeName = None, org: given.Org = None, as_of: given.AsOf = None, now: given.Now = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Copy a deleted folder and its items into a new one at a store."""
    when, at = given.round_or_moment(as_of), given.moment(now)
    with given.opened(lake) as there:
        edit = there.folder_recover(store, path, name, when, org=org, at=at)
    screen.edited(edit, json=json)


@folder.command("show")
@given.tabular
def show(
    path: given.Path,
    store: Annotated[str | None, typer.Option("--store", help="Only as this store sees it.")] = None,
    lake: given.LakeName = None, org: given.Org = None, as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print a folder as each store sees it: its replicas, and what is set on it."""
    when = given.round_or_moment(as_of)
    with given.opened(lake) as there:
        several = org is None and len(there.organizations) > 1
        found = there.folder_lines(path, store=store, as_of=when, org=org)
        nobody = f"{store} does not see it" if store else "no store sees it yet: its edit waits for a round"
        screen.lines(found, json=json, orgs=several, none=nobody, kind="folder")


@folder.command("list")
@replica.command("list")
@given.tabular
def list_folders(
    store: OfStore = None, folder: OfFolder = None, lake: given.LakeName = None, org: given.Org = None,
    as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print the folders that each store sees, with their replicas."""
    answer("folders", store, folder, lake, org, as_of, json)


@replica.command("add")
def add(
    path: given.Path, replica: Replica, store: given.Store, lake: given.LakeName = None, org: given.Org = None,
    now: given.Now = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Give a store a replica of a folder."""
    at = given.moment(now)
    with given.opened(lake) as there:
        edit = there.replica_add(store, path, replica, org=org, at=at)
    screen.edited(edit, json=json)


@replica.command("move")
def move_replica(
    path: given.Path,
    source: Annotated[str, typer.Option("--from", help="The store that gives its replica up.")],
    target: Annotated[str, typer.Option("--to", help="The store that gets one.")],
    store: given.Store,
    at_once: Annotated[bool, typer.Option("--play", help="Play the rounds it takes, at once.")] = False,
    at_most: Annotated[str, typer.Option(help="How long to wait for others to play them, by the clock.")] = "1h",
    lake: given.LakeName = None, org: given.Org = None, now: given.Now = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Add a replica, wait for hierarchy and content, then remove the old one.

    Somebody else plays the rounds meanwhile (`pfspark run` in another terminal), or this verb does, with --play.
    """
    at, end = given.moment(now), time.monotonic() + parse_duration(at_most).total_seconds()

    def wait(awaited: str) -> None:
        if time.monotonic() > end:
            raise PfsparkError(f"after {at_most} still waiting for {awaited}; {source} keeps its replica. Say it again later")
        screen.note((f"waiting for {awaited}", "dim"))
        time.sleep(live.PAUSE)

    with given.opened(lake) as there:

        def play(awaited: str = "") -> int:
            if awaited:
                screen.note((f"playing for {awaited}", "dim"))
            refused: list[dict[str, Any]] = []
            count = there.run(until_quiet=True, progress=lambda played: refused.extend(_played(there, played)))
            screen.refusals(refused)
            return count

        def play_on(awaited: str) -> None:
            if not play(awaited):
                raise PfsparkError(f"all is quiet, and still there is {awaited}; {source} keeps its replica. See `pfspark gaps`")

        edit = there.replica_move(store, path, source, target, play_on if at_once else wait, org=org, at=at)
        if at_once:
            play()
            there.accepted(edit, org=org)
    screen.edited(edit, json=json)


def _played(there: Lake, played: Played) -> list[dict[str, Any]]:
    rounds.note(played)
    return rounds.refused_edits(there.said(played))


@replica.command("remove")
def remove(
    path: given.Path, replica: Replica, store: given.Store, lake: given.LakeName = None, org: given.Org = None,
    now: given.Now = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Take a replica of a folder from a store; the last one stays."""
    at = given.moment(now)
    with given.opened(lake) as there:
        edit = there.replica_remove(store, path, replica, org=org, at=at)
    screen.edited(edit, json=json)
