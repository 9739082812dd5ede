"""`pfspark docs`: every JSON line (`pfspark.printed`) and every table (`pfspark.tables`); and the Python modules, as pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from pfspark.cli import given, screen
from pfspark.edge import live, manual
from pfspark.errors import UsageError
from pfspark.printed import LINES
from pfspark.tables import TABLES, Column
from pfspark.units import nearest

verbs = typer.Typer()


@verbs.command(rich_help_panel="Explain")
def docs(
    wanted: Annotated[list[str] | None, typer.Argument(help="These tables or kinds of lines alone.", metavar="[NAME]…")] = None,
    json: given.Json = False,
    pages: Annotated[
        Path | None,
        typer.Option("--python", help="Write the reference of the Python modules into this new folder.", metavar="DIR"),
    ] = None,
    look: Annotated[
        bool, typer.Option("--open", help="Open that reference in a browser; without `--python` it is kept in the cache folder.")
    ] = False,
) -> None:
    """Print the reference of all JSON lines and tables, in Markdown: what a line or row is, its keys or columns, their types.

    `time` is a text such as 2026-01-05T00:15:00Z, `set` one such as PFS1:1-11:17,PFS2:1-20. A type with ? may be null,
    a key with ? absent. Keys and columns may be added, never removed or renamed. With `--python` or `--open` it is that of the
    Python modules: pages, made of their docstrings.
    """
    if pages or look:
        if wanted or json:
            option = "--python" if pages else "--open"
            raise UsageError(f"found names or --json beside {option}, expected one or the other: pages have all modules")
        with live.doing("writing pages"):
            first = manual.write(pages) if pages else manual.kept()
        screen.note(f"{first}: begin there")
        if look:
            typer.launch(str(first))
        return
    for declared in _chosen(wanted or []):
        if json:
            screen.json_line({"kind": "declared", **declared})
        else:
            for text in _told(declared):
                screen.say(text)


def _declared() -> Iterator[dict[str, Any]]:
    for line in LINES.values():
        yield _row("line", line.kind, line.line, [], list(line.verbs), line.keys)
    for table in TABLES.values():
        yield _row("table", table.name, table.row, list(table.key), [table.written_by], table.columns)


def _row(
    what: str, name: str, says: str, key: list[str], written_by: list[str], columns: tuple[Column, ...]
) -> dict[str, Any]:  # fmt: skip
    said = [asdict(column) for column in columns]
    return {"name": name, "is": what, "says": says, "key": key, "written_by": written_by, "columns": said}


def _chosen(wanted: list[str]) -> list[dict[str, Any]]:
    """The declarations of those names, in the order of all; all if none is named."""
    known = [*_declared()]
    names = [each["name"] for each in known]
    for name in wanted:
        if name not in names:
            raise UsageError(f"no table and no line is called {name!r}{nearest(name, names)}")
    return [each for each in known if not wanted or each["name"] in wanted]


def _told(declared: dict[str, Any]) -> Iterator[str]:
    a_line = declared["is"] == "line"
    yield f"## {'JSON line' if a_line else 'Table'} `{declared['name']}`"
    yield ""
    says = f"{declared['says'][0].upper()}{declared['says'][1:]}."
    if a_line:
        yield f"{says} Printed by {', '.join(f'`{verb}`' for verb in declared['written_by'])}."
    else:
        yield f"{says} Key: {', '.join(declared['key'])}. Written by: {', '.join(declared['written_by'])}."
    yield ""
    yield f"| {'key' if a_line else 'column'} | type | says |"
    yield "|---|---|---|"
    yield from (f"| `{column['name']}` | `{column['type']}` | {column['says']} |" for column in declared["columns"])
    yield ""
