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

Replicas = Annotated[list[str] | None, typer.Option("--replica", help="A store that gets a replica; may be repeated.")]
Properties = Annotated[
    list[str] | None, typer.Option("--set", help="A property, such as size_limit=1MB.", metavar="NAME=VALUE")
]
Replica = Annotated[str, typer.Argument(help="The store whose replica it is.")]


@folder.command("create")
def create(
    path: Annotated[str, typer.Argument(help="Its path, such as /Launch.")],
    store: given.At,
    replicas: Replicas = None,
    properties: Properties = None,
    lake: given.LakeName = None,
    org: given.Org = None,
    now: given.Now = None,
) -> None:
    """Create a folder; without --replica its store gets the only one."""
    sets, at = given.values(properties or []), given.moment(now)
    given.opened(lake).folder_create(store, path, replicas=replicas or [store], properties=sets, org=org, now=at)


@folder.command("rename")
def rename(
    path: given.Folder, name: str, store: given.At, lake: given.LakeName = None, org: given.Org = None,
    now: given.Now = None,
) -> None:  # fmt: skip
    """Give a folder another name."""
    at = given.moment(now)
    given.opened(lake).folder_rename(store, path, name, org=org, now=at)


@folder.command("move")
def move(
    path: given.Folder,
    to: Annotated[str, typer.Argument(help="Path of the new parent; / is the top.")],
    store: given.At,
    lake: given.LakeName = None,
    org: given.Org = None,
    now: given.Now = None,
) -> None:
    """Put a folder under another parent."""
    at = given.moment(now)
    given.opened(lake).folder_move(store, path, to, org=org, now=at)


@folder.command("delete")
def delete(
    path: given.Folder, store: given.At, lake: given.LakeName = None, org: given.Org = None, now: given.Now = None
) -> None:
    """Delete a folder and all under it."""
    at = given.moment(now)
    given.opened(lake).folder_delete(store, path, org=org, now=at)


@folder.command("set")
def set_properties(
    path: given.Folder,
    properties: Annotated[list[str], typer.Argument(help="Such as age_limit=30d.", metavar="NAME=VALUE…")],
    store: given.At,
    lake: given.LakeName = None,
    org: given.Org = None,
    now: given.Now = None,
) -> None:
    """Set properties of a folder."""
    sets, at = given.values(properties), given.moment(now)
    given.opened(lake).folder_set(store, path, sets, org=org, now=at)


@folder.command("list")
@replica.command("list")
def list_folders(
    lake: given.LakeName = None, org: given.Org = None, as_of: given.AsOf = None, json: given.Json = False
) -> None:
    """Print the folders that each store sees, with their replicas."""
    when = given.round_or_moment(as_of)
    screen.lines(given.opened(lake).lines("folders", as_of=when, org=org), json=json)


@replica.command("add")
def add(
    path: given.Folder, replica: Replica, store: given.At, lake: given.LakeName = None, org: given.Org = None,
    now: given.Now = None,
) -> None:  # fmt: skip
    """Give a store a replica of a folder."""
    at = given.moment(now)
    given.opened(lake).replica_add(store, path, replica, org=org, now=at)


@replica.command("remove")
def remove(
    path: given.Folder, replica: Replica, store: given.At, lake: given.LakeName = None, org: given.Org = None,
    now: given.Now = None,
) -> None:  # fmt: skip
    """Take a replica of a folder from a store; the last one stays."""
    at = given.moment(now)
    given.opened(lake).replica_remove(store, path, replica, org=org, now=at)
