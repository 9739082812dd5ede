"""`pfspark post`, `modify`, `delete`, `import`, `export`: items at a store."""

from __future__ import annotations

import os
import sys
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from pfspark.cli import given, screen
from pfspark.cli.folders import PANEL
from pfspark.edge import live
from pfspark.errors import UsageError
from pfspark.units import show_span

if TYPE_CHECKING:
    from pfspark.lake import Lake

verbs = typer.Typer()

Text = Annotated[str | None, typer.Option(help="The body, as text.")]
File = Annotated[str | None, typer.Option(help="A file that is the body; - for standard input.")]
OLD = timedelta(days=1)
"""What is dated so long before the last round was not done just now: as long ahead of the clock it would have to be meant."""
NAMED = 100
"""Of so many items that are not written it is told why."""
Item = Annotated[str, typer.Argument(help="Id of the item, such as PFS1:7, or its name.")]


@verbs.command(rich_help_panel=PANEL)
def post(
    store: given.Store, folder: given.Folder,
    name: Annotated[str | None, typer.Option(help="Name of the item.")] = None,
    text: Text = None, file: File = None, lake: given.LakeName = None, org: given.Org = None, now: given.Now = None,
    json: given.Json = False,
) -> None:  # fmt: skip
    """Post an item: --text, a --file, or what is piped in."""
    body, at = _body(text, file), given.moment(now)
    with given.opened(lake) as there:
        _say_if_old(there, at, store, org)
        edit = there.post(store, folder, body, name, org=org, at=at)
    screen.edited(edit, json=json)


@verbs.command(rich_help_panel=PANEL)
def modify(
    item: Item, store: given.Store, folder: given.Folder, text: Text = None, file: File = None,
    lake: given.LakeName = None, org: given.Org = None, now: given.Now = None,
    json: given.Json = False,
) -> None:  # fmt: skip
    """Give an item another body."""
    body, at = _body(text, file), given.moment(now)
    with given.opened(lake) as there:
        _say_if_old(there, at, store, org)
        edit = there.modify(store, folder, item, body, org=org, at=at)
    screen.edited(edit, json=json)


@verbs.command(rich_help_panel=PANEL)
def delete(
    item: Item, store: given.Store, folder: given.Folder, lake: given.LakeName = None, org: given.Org = None,
    now: given.Now = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Delete an item."""
    at = given.moment(now)
    with given.opened(lake) as there:
        _say_if_old(there, at, store, org)
        edit = there.delete(store, folder, item, org=org, at=at)
    screen.edited(edit, json=json)


@verbs.command(rich_help_panel=PANEL)
def resolve(
    item: Item, store: given.Store, folder: given.Folder,
    keep: Annotated[str, typer.Option(help="The version that stands, such as PFS2:4; all: each as an item of its own.")],
    lake: given.LakeName = None, org: given.Org = None, now: given.Now = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Settle a conflict: keep one version, or all; `pfspark items` shows what is in conflict."""
    at = given.moment(now)
    with given.opened(lake) as there:
        edits = there.resolve(store, folder, item, keep, org=org, at=at)
    for edit in edits:
        screen.edited(edit, json=json)


@verbs.command("import", rich_help_panel=PANEL)
def import_mail(
    paths: Annotated[list[str], typer.Argument(help="Files of mail, folders of .eml files, Maildirs.", metavar="PATH…")],
    store: given.Store, folder: given.Folder, lake: given.LakeName = None, org: given.Org = None,
    now: given.Now = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Post the mails of files into a folder; what was imported before adds nothing. Ends with 1 if some could not be kept."""
    from pfspark.edge import mail

    at = given.moment(now)
    mail.find(paths)  # what is no mail is refused before a lake is looked for
    with given.opened(lake, "importing") as there:
        _say_if_old(there, at, store, org)
        left_out: list[tuple[str, str]] = []
        counts = there.import_mail(
            paths, store, folder, live.told, org=org, at=at, left_out=lambda *which: left_out.append(which)
        )
    for file, reason in left_out:
        screen.note(f"not kept: {file} ({reason})")
    screen.counts("import", counts, json=json)
    if counts["unkept"]:
        raise typer.Exit(1)


@verbs.command("export", rich_help_panel=PANEL)
def export(
    target: Annotated[str, typer.Argument(help="A new file; for .eml a new or empty folder.")],
    store: given.Store, folder: given.Folder, form: Annotated[str, typer.Option(help="mbox or eml.")] = "mbox",
    lake: given.LakeName = None, org: given.Org = None, as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Write the mails of a folder, as that store holds them, byte for byte; what is not written is told."""
    if form not in ("mbox", "eml"):
        raise UsageError(f"found --form {form!r}, expected mbox or eml")
    when = given.round_or_moment(as_of)
    with given.opened(lake, "exporting") as there:
        left_out: list[tuple[str, str]] = []
        written = there.export_mail(
            store, folder, target, form, org=org, as_of=when, left_out=lambda *which: left_out.append(which)
        )
    for item, reason in left_out[:NAMED]:
        screen.note(f"not written: {item} ({reason})")
    if len(left_out) > NAMED:
        screen.note(f"not written: {len(left_out) - NAMED:,} more")
    screen.counts("export", {"mails": written, "target": os.path.abspath(target)}, json=json)


def _say_if_old(there: Lake, at: datetime | None, store: str, org: str | None) -> None:
    """A year that is mistyped is no less likely to be too early than too late; but people also say what was done long ago."""
    if at is not None and (behind := there.behind(at, store, org=org)) > OLD:
        screen.note(
            f"this is dated {show_span(behind)} before the last round: it is as old from the first, and changes made since then "
            "win over it"
        )


def _body(text: str | None, file: str | None) -> bytes:
    """The body that was named; standard input where none is and it is no terminal."""
    if text is not None and file is not None:
        raise UsageError("found --text and --file, expected one of them")
    if text is not None:
        return text.encode(errors="surrogateescape")
    if file is None and sys.stdin.isatty():
        raise UsageError("no body: say --text TEXT or --file FILE, or pipe it in")
    if file is None or file == "-":
        return sys.stdin.buffer.read()
    try:
        with open(file, "rb") as opened:
            return opened.read()
    except OSError as error:
        raise UsageError(f"{file!r} cannot be read: {error.strerror}") from None
