"""What a verb prints: JSON lines for programs; for people lines and tables, in which texts from elsewhere are safe."""

from __future__ import annotations

import json as json_text
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from pfspark.edge.plain import terminal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from rich.console import Console, RenderableType
    from rich.text import Text

Line = Mapping[str, Any]
Part = str | tuple[str, str]
"""A text, or a text and its style."""

WIDE = 140  # columns of an output that is no terminal
READABLE = 100

MESSAGES = {
    "0x2": "hierarchy", "0x4": "content", "0x8": "backfill request", "0x10": "status", "0x20": "status request",
    "0x80000002": "hierarchy response", "0x80000004": "content response",
}  # fmt: skip
"""What the types of messages are called (R65-R71)."""


def console(file: Any = None) -> Console:
    """Where data goes, or `sys.stderr` for progress; texts are shown as they are, never read as markup."""
    from rich.console import Console

    file = file or sys.stdout
    width = None if file.isatty() or "COLUMNS" in os.environ else WIDE
    return Console(file=file, markup=False, highlight=False, emoji=False, width=width)


def text(*parts: Part) -> Text:
    """One line of texts made safe, some of them in a style."""
    from rich.text import Text

    line = Text()
    for part in parts:
        line.append(*((terminal(part),) if isinstance(part, str) else (terminal(part[0]), part[1])))
    return line


def say(*parts: Part) -> None:
    """Prints one line, at once."""
    console().print(text(*parts), soft_wrap=True)
    sys.stdout.flush()


def paragraph(said: str) -> None:
    """Prints a text in lines of readable length."""
    console().print(text(said), width=min(console().width, READABLE))
    sys.stdout.flush()


def note(*parts: Part) -> None:
    """Says on stderr what is no data: what was done, what to do next."""
    console(sys.stderr).print(text(*parts), soft_wrap=True)


def show(thing: RenderableType) -> None:
    """Prints a table, a panel, an empty line."""
    console().print(thing)
    sys.stdout.flush()


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int | None], None]]:
    """Gives a function that is told how much is done, of how much if that is known; a terminal on stderr shows it."""
    from rich.progress import Progress

    drawn = Progress(console=console(sys.stderr), transient=True, disable=not sys.stderr.isatty())
    with drawn:
        task = drawn.add_task(what, total=None)

        def told(done: int, total: int | None = None) -> None:
            drawn.update(task, completed=done, total=total)

        yield told


def json_line(line: Line) -> None:
    """Prints one JSON object, at once; it is plain ASCII, so nothing in it steers a terminal."""
    print(json_text.dumps(line), flush=True)


def table(columns: Sequence[str], rows: Iterable[Sequence[Part]], title: str = "") -> None:
    """Prints rows under their columns; long cells are folded, never cut."""
    from rich import box
    from rich.table import Table

    drawn = Table(title=text(title) if title else None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        drawn.add_column(column, overflow="fold")
    for row in rows:
        drawn.add_row(*map(text, row))
    show(drawn)


def lines(found: Iterable[Line], *, json: bool, orgs: bool = False) -> None:
    """Prints lines of the contract as they come; tables of what belongs together. `orgs`: name each organization."""
    if json:
        for line in found:
            json_line(line)
        return
    named = None
    for (org, kind, at), group in groupby(found, lambda line: (line["org"], line["kind"], line.get("at"))):
        if orgs and org != named:
            named = org
            say()
            say((org, "bold"))
        match kind:
            case "state":
                _state(at, group)
            case "item":
                _items(at, group)
            case "folder":
                _folders(at, group)
            case _:
                for line in group:
                    say(*_SAID[kind](line))


def counts(found: Mapping[str, Any], *, json: bool) -> None:
    """Prints what was done, in numbers."""
    if json:
        json_line(found)
    else:
        say(", ".join(f"{name.replace('_', ' ')}: {value}" for name, value in found.items()))


def about(found: Iterable[Line], store: str | None, folder: str | None) -> Iterator[Line]:
    """The lines about one store, or one folder, by path or id."""
    for line in found:
        stores = (line.get("store"), line.get("from"), *line.get("to", ()))
        if store in (None, *stores) and folder in (None, line.get("folder"), line.get("path"), line.get("id")):
            yield line


def frame(found: DataFrame, *, json: bool, columns: Sequence[str] = ()) -> None:
    """Prints the rows of a table of the lake, all of its columns or some."""
    rows = [{name: _plain(row[name]) for name in columns or row} for row in found.toArrow().to_pylist()]
    if json:
        for row in rows:
            json_line(row)
    else:
        table(columns or found.columns, [[_written(cell) for cell in row.values()] for row in rows])


def _plain(value: Any) -> Any:
    """A value of a row as JSON can hold it."""
    match value:
        case datetime():
            return value.strftime("%Y-%m-%dT%H:%M:%SZ")
        case bytes():
            return value.hex()
        case tuple() | list():
            return [_plain(each) for each in value]
        case dict():
            return {key: _plain(each) for key, each in value.items()}
    return value


def _written(value: Any) -> str:
    """A plain value as a cell."""
    return "" if value is None else value if isinstance(value, str) else json_text.dumps(value)


def clock(at: str) -> str:
    """A moment for people: seconds only where there are some."""
    return at.replace("T", " ").removesuffix("Z").removesuffix(":00")


def number(count: int, what: str) -> str:
    """`1 round`, `2 rounds`."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _message(line: Line) -> Iterable[Part]:
    yield clock(line["at"]), "dim"
    yield f"  {line['from']} → {', '.join(line['to']) or 'nobody'}  "
    yield f"{line['type']} {MESSAGES[line['type']]}", "cyan"
    yield f"  {line['folder']}"
    if line["carries"]:
        yield f"  carries {line['carries']}"
    if line["asks"]:
        yield f"  asks for {line['asks']}"
    if line["bytes"]:
        yield f"  ({line['bytes']:,} bytes)", "dim"


def _refused(line: Line) -> Iterable[Part]:
    yield clock(line["at"]), "dim"
    step = f" of step {line['step']}" if line.get("step") else ""
    yield f"  {line['store']} refused the {line['what']}{step}: {line['reason']}", "yellow"


def _end(line: Line) -> Iterable[Part]:
    yield clock(line["at"]), "dim"
    yield f"  end after {number(line['rounds'], 'round')}: "
    yield ("converged", "green") if line["converged"] else ("not converged", "yellow")
    yield f", {line['missing']:,} missing"
    if line["violations"]:
        yield f", {number(line['violations'], 'violation')}", "bold red"


_SAID = {"message": _message, "refused": _refused, "end": _end}


def _state(at: str, group: Iterable[Line]) -> None:
    columns = ("store", "folder", "applied", "not sent", "missing", "lost", "standing")
    rows = []
    for line in group:
        life = f" (life {line['life']})" if line["life"] > 1 else ""
        rows.append((
            line["store"], line["folder"], line["applied"], _unsent(line), (line["missing"], "yellow"),
            (line["lost"], "red"), line["standing"] + life,
        ))  # fmt: skip
    table(columns, rows, f"state at {clock(at)}")


def _unsent(line: Line) -> str:
    """Numbers of its own that a store has not sent yet."""
    from pfspark import cntext

    label = cntext.label(line["store"], line["life"])
    own = {label: cntext.parse(line["applied"]).get(label, ())}
    return cntext.show(cntext.subtract(own, cntext.parse(line["sent"])))


def _items(at: str, group: Iterable[Line]) -> None:
    rows = [
        (
            line["store"], line["folder"], line["item"], line["name"] or "", line["version"],
            "deleted" if line["deleted"] else f"conflict with {', '.join(line['losers'])}" if line["conflict"] else "",
        )
        for line in group
    ]  # fmt: skip
    table(("store", "folder", "item", "name", "version", ""), rows, f"items at {clock(at)}")


def _folders(at: str, group: Iterable[Line]) -> None:
    rows = [
        (line["store"], line["path"], line["id"], ", ".join(_replica(*each) for each in line["replicas"].items()))
        for line in group
    ]
    table(("seen by", "folder", "id", "replicas"), rows, f"folders at {clock(at)}")


def _replica(store: str, standing: str) -> str:
    return store if standing == "active" else f"{store} ({standing})"
