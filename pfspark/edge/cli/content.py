"""`pfspark post`, `modify`, `delete`, `import`, `export`: items at a store."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from pfspark.edge.cli import given, screen
from pfspark.edge.cli.folders import PANEL
from pfspark.errors import UsageError

verbs = typer.Typer()

Text = Annotated[str | None, typer.Option(help="The body, as text.")]
File = Annotated[str | None, typer.Option(help="A file that is the body; - for standard input.")]
Item = Annotated[str, typer.Argument(help="Id of the item, such as PFS1:7.")]


@verbs.command(rich_help_panel=PANEL)
def post(
    folder: given.Folder,
    store: given.At,
    name: Annotated[str | None, typer.Option(help="Name of the item.")] = None,
    text: Text = None,
    file: File = None,
    lake: given.LakeName = None,
    org: given.Org = None,
    now: given.Now = None,
) -> None:
    """Post an item into a folder."""
    content, at = _body(text, file), given.moment(now)
    given.opened(lake).post(store, folder, content, name=name, org=org, now=at)


@verbs.command(rich_help_panel=PANEL)
def modify(
    folder: given.Folder, item: Item, store: given.At, text: Text = None, file: File = None,
    lake: given.LakeName = None, org: given.Org = None, now: given.Now = None,
) -> None:  # fmt: skip
    """Give an item another body."""
    content, at = _body(text, file), given.moment(now)
    given.opened(lake).modify(store, folder, item, content, org=org, now=at)


@verbs.command(rich_help_panel=PANEL)
def delete(
    folder: given.Folder, item: Item, store: given.At, lake: given.LakeName = None, org: given.Org = None,
    now: given.Now = None,
) -> None:  # fmt: skip
    """Delete an item."""
    at = given.moment(now)
    given.opened(lake).delete(store, folder, item, org=org, now=at)


@verbs.command("import", rich_help_panel=PANEL)
def import_mail(
    folder: given.Folder,
    paths: Annotated[
        list[str], typer.Argument(help="Files of mail, folders of .eml files, Maildirs.", metavar="PATH…")
    ],
    store: given.At,
    lake: given.LakeName = None,
    org: given.Org = None,
    now: given.Now = None,
    json: given.Json = False,
) -> None:
    """Import mail into a folder; the same file again adds nothing."""
    from pfspark.edge import mail

    at = given.moment(now)
    mail.find(paths)  # what is no mail is refused before Java starts
    with screen.progress("importing") as told:
        counts = given.opened(lake).import_mail(paths, store, folder, org=org, now=at, progress=told)
    screen.counts(counts, json=json)


@verbs.command("export", rich_help_panel=PANEL)
def export(
    folder: given.Folder,
    target: Annotated[str, typer.Argument(help="A new file; for .eml a new or empty folder.")],
    store: given.At,
    form: Annotated[str, typer.Option("--form", help="mbox or eml.")] = "mbox",
    lake: given.LakeName = None,
    org: given.Org = None,
    as_of: given.AsOf = None,
    json: given.Json = False,
) -> None:
    """Write the mail of a folder, as that store sees it, byte for byte."""
    if form not in ("mbox", "eml"):
        raise UsageError(f"found --form {form!r}, expected mbox or eml")
    when = given.round_or_moment(as_of)
    written = given.opened(lake).export_mail(store, folder, target, form, org=org, as_of=when)
    screen.counts({"mails": written, "target": os.path.abspath(target)}, json=json)


def _body(text: str | None, file: str | None) -> bytes:
    """The body that was named: one of the two; standard input where neither is and it is no terminal."""
    if text is not None and file is not None:
        raise UsageError("found --text and --file, expected one of them")
    if text is not None:
        return text.encode(errors="surrogateescape")
    if file is None and sys.stdin.isatty():
        raise UsageError("no body: say --text TEXT or --file FILE, or pipe it in")
    if file in (None, "-"):
        return sys.stdin.buffer.read()
    try:
        with open(str(file), "rb") as opened:
            return opened.read()
    except OSError as error:
        raise UsageError(f"{file!r} cannot be read: {error.strerror}") from None
