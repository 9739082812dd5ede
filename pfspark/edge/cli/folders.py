"""`pfspark folder` and `replica`: edits of the hierarchy, each made at a store."""

from __future__ import annotations

from typing import Annotated

import typer

from pfspark.edge.cli import given, screen

PANEL = "Folders and their content"

verbs = typer.Typer()
folder = typer.Typer(help="Folders, as each store sees them.")
replica = typer.Typer(help="Which stores hold a folder.")
verbs.add_typer(folder, name="folder", rich_help_panel=PANEL)
verbs.add_typer(replica, name="replica", rich_help_panel=PANEL)

Replica = Annotated[str, typer.Argument(help="The store whose replica it is.")]
Properties = Annotated[
    list[str] | None,
    typer.Option("--set", help="schedule, size_limit, age_limit or conflict.", metavar="NAME=VALUE"),
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
) -> None:
    """Create a folder."""
    sets, at = given.values(properties or []), given.moment(now)
    holders = [name.strip() for name in (replicas or store).split(",")]
    with given.opened(lake) as there:
        there.folder_create(store, path, holders, org=org, at=at, **sets)


@folder.command("rename")
def rename(
    path: given.Path, name: str, store: given.Store, lake: given.LakeName = None, org: given.Org = None,
    now: given.Now = None,
) -> None:  # fmt: skip
    """Give a folder another name."""
    at = given.moment(now)
    with given.opened(lake) as there:
        there.folder_rename(store, path, name, org=org, at=at)


@folder.command("move")
def move(
    path: given.Path, to: Annotated[str, typer.Argument(help="Path of the new parent; / is the top.")],
    store: given.Store, lake: given.LakeName = None, org: given.Org = None, now: given.Now = None,
) -> None:  # fmt: skip
    """Put a folder under another parent."""
    at = given.moment(now)
    with given.opened(lake) as there:
        there.folder_move(store, path, to, org=org, at=at)


@folder.command("delete")
def delete(
    path: given.Path, store: given.Store, lake: given.LakeName = None, org: given.Org = None, now: given.Now = None
) -> None:
    """Delete a folder and all under it, everywhere and for ever."""
    at = given.moment(now)
    with given.opened(lake) as there:
        there.folder_delete(store, path, org=org, at=at)


@folder.command("set")
def set_properties(
    path: given.Path,
    properties: Annotated[list[str], typer.Argument(help="Such as age_limit=30d.", metavar="NAME=VALUE…")],
    store: given.Store, lake: given.LakeName = None, org: given.Org = None, now: given.Now = None,
) -> None:  # fmt: skip
    """Set schedule, size_limit, age_limit or conflict of a folder."""
    sets, at = given.values(properties), given.moment(now)
    with given.opened(lake) as there:
        there.folder_set(store, path, org=org, at=at, **sets)


@folder.command("list")
@replica.command("list")
def list_folders(lake: given.LakeName = None, org: given.Org = None, as_of: given.AsOf = None, json: given.Json = False) -> None:
    """Print the folders that each store sees, with their replicas."""
    when = given.round_or_moment(as_of)
    with given.opened(lake) as there:
        screen.lines(there.lines("folders", when, org=org), json=json)


@replica.command("add")
def add(
    path: given.Path, replica: Replica, store: given.Store, lake: given.LakeName = None, org: given.Org = None,
    now: given.Now = None,
) -> None:  # fmt: skip
    """Give a store a replica of a folder."""
    at = given.moment(now)
    with given.opened(lake) as there:
        there.replica_add(store, path, replica, org=org, at=at)


@replica.command("remove")
def remove(
    path: given.Path, replica: Replica, store: given.Store, lake: given.LakeName = None, org: given.Org = None,
    now: given.Now = None,
) -> None:  # fmt: skip
    """Take a replica of a folder from a store; the last one stays."""
    at = given.moment(now)
    with given.opened(lake) as there:
        there.replica_remove(store, path, replica, org=org, at=at)
