"""How a verb prints: JSON lines for programs; for people lines and tables (`looks`), in which texts from elsewhere are safe."""

from __future__ import annotations

import json as json_text
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from datetime import datetime, timedelta
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

from pfspark.cli import looks
from pfspark.cli.files import Format, write
from pfspark.edge import live
from pfspark.edge.plain import terminal
from pfspark.errors import UsageError
from pfspark.printed import Line
from pfspark.units import counted

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from pfspark.edge.runner import Played

FORMAT: ContextVar[Format | None] = ContextVar("FORMAT", default=None)
"""What lines are printed as, in place of tables."""

WIDE = 160  # columns of an output that is no terminal
READABLE = 100
BLOCK = 500  # rows under one head: of a table of thousands the first are there at once, and the head is never far
SHOWN = 10  # of a long list that is only a reminder


def console(file: Any = None) -> Console:
    """Where data goes, or `sys.stderr` for progress; texts are shown as they are, never read as markup."""
    from rich.console import Console

    file = file or sys.stdout
    width = None if file.isatty() or "COLUMNS" in os.environ else WIDE
    return Console(file=file, markup=False, highlight=False, emoji=False, width=width)


def text(*parts: looks.Part) -> Text:
    """One line of texts made safe, some of them in a style."""
    from rich.text import Text

    line = Text()
    for part in parts:
        line.append(*((terminal(part),) if isinstance(part, str) else (terminal(part[0]), part[1])))
    return line


def say(*parts: looks.Part) -> None:
    """Prints one line, at once."""
    _print(text(*parts), soft_wrap=True)


def paragraph(said: str) -> None:
    """Prints a text in lines of readable length."""
    _print(text(said), width=min(console().width, READABLE))


def note(*parts: looks.Part) -> None:
    """Says on stderr what is no data: what was done, what to do next."""
    with live.aside(stdout=False):
        console(sys.stderr).print(text(*parts), soft_wrap=True)


def show(thing: RenderableType) -> None:
    """Prints a table, a panel, an empty line."""
    _print(thing)


def _print(thing: RenderableType, **how: Any) -> None:
    with live.aside(stdout=True):
        console().print(thing, **how)
        sys.stdout.flush()


def json_line(line: Line) -> None:
    """Prints one JSON object, at once; it is plain ASCII, so nothing in it steers a terminal."""
    with live.aside(stdout=True):
        print(json_text.dumps(line), flush=True)


def table(columns: Sequence[str], rows: Iterable[Sequence[looks.Part]], title: str = "") -> None:
    """Prints rows under their columns; long cells are folded, never cut."""
    from rich import box
    from rich.table import Table

    head = any(columns)
    drawn = Table(
        title=text(title) if title else None, title_justify="left", box=box.SIMPLE_HEAD if head else None, show_header=head,
        pad_edge=False, padding=(0, 1),
    )  # fmt: skip
    for column in columns:
        drawn.add_column(column, overflow="fold")
    for row in rows:
        drawn.add_row(*map(text, row))
    show(drawn)


def lines(found: Iterable[Line], *, json: bool, orgs: bool = False, none: str = "", kind: str = "") -> None:
    """Prints lines of the contract as they come; tables of what belongs together.

    `orgs`: name each organization. `none`: what a person is told where there is no line at all. `kind`: of which kind they are,
    where they may be asked for as a file.
    """
    form = FORMAT.get()
    if json and form not in (None, Format.JSON):
        raise UsageError(f"found --json and --format {form}, expected one of them")
    if json or form == Format.JSON:
        for line in found:
            json_line(line)
        return
    if form:
        if not write(found, form, kind):
            note((none, "dim"))
        return
    named = None
    for (org, kind, at), group in groupby(found, _together):
        if orgs and org != named:
            named = org
            say()
            say((org or "", "bold"))
        if kind in looks.SAID:
            for line in group:
                say(*looks.SAID[kind](line))
        else:
            name, columns, row = looks.TABLES[kind]
            title = f"{name} at {looks.clock(at)}" if at else name
            while block := [*islice(group, BLOCK)]:
                table(columns, map(row, block), title)
                title = ""
        none = ""
    if none:
        note((none, "dim"))


def _together(line: Line) -> tuple[str | None, str, str | None]:
    """What is shown in one table: lines of a kind and a time; edits of all times, each has its own."""
    return line.get("org"), line["kind"], None if line["kind"] == "edit" else line.get("at")


def whatif(found: Sequence[Line], *, json: bool) -> None:
    """Prints worlds side by side, each in a column; then what differs first, and what is told of links and stores."""
    if json:
        lines(found, json=True)
        return
    names = [line["variant"] or "as it is" for line in found]
    table(["", *names], [[name, *map(told, found)] for name, told in looks.FIGURES], f"until {looks.clock(found[0]['until'])}")
    for name in ("link", "type", "store"):
        keys = sorted({key for line in found for key in line[f"{name}s"]})
        if keys:
            table([f"by {name}", *names], [[key, *(_amount(line[f"{name}s"].get(key)) for line in found)] for key in keys])
    for name, line in zip(names, found, strict=True):
        if first := line["difference"]:
            say((name, "bold"), f": first {looks.clock(first['at'])}: {first['says']} ({first['rule']})")
        elif line["variant"]:
            say((name, "bold"), ": nothing differs")
        for lost in line["lost"]:
            say((name, "bold"), f": lost for ever at {lost['store']} in {lost['folder']}: {lost['numbers']}")


def timeline(whole: Sequence[Line], store: str | None, *, json: bool) -> None:
    """Prints what happened to numbers, a column for each store; of numbers alike also after how long stores had them.

    `store`: only what it took part in.
    """
    from pfspark.ask.hops import took_part, waits

    found = [line for line in whole if took_part(line, store)]
    if not found:
        note((f"{store} took no part in that", "dim"))
    elif json:
        lines(found, json=True)
    else:
        _timeline(found, [each for each in waits(whole) if store in (None, each[0])])


def _timeline(found: Sequence[Line], had: Sequence[tuple[str, int, Line]]) -> None:
    from pfspark.units import show_span

    stores = sorted({line["store"] for line in found})
    several = len({line["item"] for line in found}) > 1
    rows = []
    for at, some in groupby(found, lambda line: line["at"]):
        cells: dict[str, list[str]] = {store: [] for store in stores}
        for line in some:
            cells[line["store"]].append(f"{line['item']}: {line['says']}" if several else line["says"])
        rows.append([looks.clock(at), *("; ".join(cells[store]) for store in stores)])
    table(["", *stores], rows, f"{found[0]['item']} of {found[0]['folder']}" if not several else found[0]["folder"])
    _candidates(found)
    for store, took, longest in () if several else had:
        after, wait = (show_span(timedelta(seconds=seconds)) for seconds in (took, longest["waited"] or 0))
        say((store, "bold"), f" has it after {after}; {wait} of that until it {longest['says']} ({longest['rule']})")


def _candidates(found: Sequence[Line]) -> None:
    """Prints of whom each request could be made, where there was a choice, with the sort keys in which they differ."""
    from pfspark.ask.candidates import deciding, spelled

    chosen: dict[tuple[str, ...], tuple[Line, list[str]]] = {}
    for line in found:
        if len(line["candidates"] or ()) > 1:
            chosen.setdefault((line["at"], line["store"], line["item"]), (line, []))[1].append(line["peer"])
    for line, peers in chosen.values():
        considered = line["candidates"]
        by_key = list(zip(*(each["keys"] for each in considered), strict=True))
        differing = [keys for keys in by_key if len({one["value"] for one in keys}) > 1]
        rows = [
            [(each["store"], "bold" if each["store"] in peers else ""), each["gives"],
             *(spelled(keys[place]["key"], keys[place]["value"]) for keys in differing)]
            for place, each in enumerate(considered)
        ]  # fmt: skip
        by = deciding(peers[0], considered)
        title = f"{line['store']} at {looks.clock(line['at'])} asks {' and '.join(peers)} for {line['item']}" + (
            f", by {by}" if by else ""
        )
        table(["could ask", "gives", *(keys[0]["key"] for keys in differing)], rows, title)


def _amount(found: Mapping[str, int] | None) -> str:
    """Numbers with what they count, but those that are 0."""
    counted = {name: amount for name, amount in (found or {}).items() if amount}
    return ", ".join(f"{amount:,} {name.removesuffix('s') if amount == 1 else name}" for name, amount in counted.items())


def counts(kind: str, found: Mapping[str, Any], *, json: bool) -> None:
    """Prints what was done, in numbers."""
    if json:
        json_line({"kind": kind, **found})
    else:
        say(", ".join(f"{name}: {value}" for name, value in found.items()))


def edited(edit: str, *, json: bool) -> None:
    """Prints the id of an edit, by which what it makes can be named (`@id`) until it has a number."""
    if json:
        json_line({"kind": "edit", "edit": edit})
    else:
        say("edit ", (edit, "dim"))


def refusals(refused: Sequence[Line]) -> None:
    """Says at the end, on stderr, which edits were refused."""
    if refused:
        note((f"{counted(len(refused), 'edit')} refused:", "yellow"))
    for line in refused[:SHOWN]:
        note("  ", *looks.refused(line))
    if len(refused) > SHOWN:
        note(f"  and {counted(len(refused) - SHOWN, 'other')}")


def round_line(what: str, played: Played) -> None:
    """Prints a round as it was played, as a JSON object."""
    turns = {org: moment(now) for org, now in sorted(played.turns.items())}
    json_line({"kind": "round", "round": played.round, "what": what, "turns": turns, "counts": played.counts})


def moment(at: datetime) -> str:
    """A time as lines write it."""
    from pfspark.ask import lines  # a verb that tells no time does not wait for it

    return lines.moment(at)
