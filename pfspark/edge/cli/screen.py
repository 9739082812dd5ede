"""What a verb prints: JSON lines for programs; for people lines and tables, in which texts from elsewhere are safe."""

from __future__ import annotations

import json as json_text
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from datetime import datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any

from pfspark.edge.cli import live
from pfspark.edge.cli.files import Format, write
from pfspark.edge.plain import terminal
from pfspark.errors import UsageError
from pfspark.printed import Line
from pfspark.units import counted, show_duration
from pfspark.words import Planned

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from pfspark.edge.runner import Played

FORMAT: ContextVar[Format | None] = ContextVar("FORMAT", default=None)
"""What lines are printed as, in place of tables."""
Part = str | tuple[str, str]
"""A text, or a text and its style."""

WIDE = 160  # columns of an output that is no terminal
READABLE = 100
SHOWN = 10  # of a long list that is only a reminder

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
    _print(text(*parts), soft_wrap=True)


def paragraph(said: str) -> None:
    """Prints a text in lines of readable length."""
    _print(text(said), width=min(console().width, READABLE))


def note(*parts: Part) -> None:
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


def table(columns: Sequence[str], rows: Iterable[Sequence[Part]], title: str = "") -> None:
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
        if kind in _SAID:
            for line in group:
                say(*_SAID[kind](line))
        else:
            name, columns, row = _TABLES[kind]
            table(columns, map(row, group), f"{name} at {clock(at)}" if at else name)
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
    table(["", *names], [[name, *map(told, found)] for name, told in _FIGURES], f"until {clock(found[0]['until'])}")
    for name in ("link", "type", "store"):
        keys = sorted({key for line in found for key in line[f"{name}s"]})
        if keys:
            table([f"by {name}", *names], [[key, *(_amount(line[f"{name}s"].get(key)) for line in found)] for key in keys])
    for name, line in zip(names, found, strict=True):
        if first := line["difference"]:
            say((name, "bold"), f": first {clock(first['at'])}: {first['says']} ({first['rule']})")
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
        rows.append([clock(at), *("; ".join(cells[store]) for store in stores)])
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
        title = f"{line['store']} at {clock(line['at'])} asks {' and '.join(peers)} for {line['item']}" + (
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
        note("  ", *_refused(line))
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


def clock(at: str) -> str:
    """A moment for people: whole seconds, and only where there are some."""
    return at.split(".")[0].replace("T", " ").removesuffix("Z").removesuffix(":00")


def _message(line: Line) -> Iterable[Part]:
    yield clock(line["at"]), "dim"
    yield f"  {line['from']} → {', '.join(line['to']) or 'nobody'}  "
    yield f"{line['type']} {MESSAGES[line['type']]}", "cyan"
    yield f"  {_folder_of(line)}"
    if line["carries"]:
        yield f"  carries {line['carries']}"
    if line["asks"]:
        yield f"  asks for {line['asks']}"
    if line["bytes"]:
        yield f"  ({line['bytes']:,} bytes)", "dim"


def _refused(line: Line) -> Iterable[Part]:
    yield clock(line["at"]), "dim"
    of = " ".join(str(line[name]) for name in ("type", "item") if line.get(name))
    about = " in ".join(part for part in (of, line.get("folder")) if part)
    step = f"step {line['step']}" if line.get("step") else line.get("edit") or ""
    named = ": ".join(part for part in (step, about) if part)
    yield f"  {line['store']} refused the {line['what']}{f' ({named})' if named else ''}: {line['reason']}", "yellow"


def _end(line: Line) -> Iterable[Part]:
    yield clock(line["at"]), "dim"
    yield f"  end after {counted(line['rounds'], 'round')}: "
    yield ("converged", "green") if line["converged"] else ("not converged", "yellow")
    yield f", {line['missing']:,} missing"
    if line["violations"]:
        yield f", {counted(line['violations'], 'violation')}", "bold red"


def _status(line: Line) -> Iterable[Part]:
    yield clock(line["at"]), "dim"
    yield f"  {line['org']}: {counted(line['replicas'], 'replica')}, "
    if line["played"]:
        yield ("equal", "green") if line["equal"] else ("not equal", "yellow")
    else:
        yield "not played yet", "yellow"
    if line["suspended"]:
        yield "; replication of content is suspended", "yellow"
    yield f"; {counted(line['waiting'], 'edit')} waiting, {line['missing']:,} missing, {line['lost']:,} lost"
    yield f"; next at {clock(line['due'])}" if line["due"] else "; nothing due"
    if line["ahead"]:
        yield f"; its clock is {line['ahead']} ahead of the wall's", "yellow"


def _drain(line: Line) -> Iterable[Part]:
    yield line["store"], "bold"
    lost = [f"{each['numbers']} of {each['folder']}" for each in line["lost_now"]]
    if line["waiting"]:
        lost.append(f"{counted(line['waiting'], 'edit')} waiting there")
    if not line["replicas"] and not line["coming"] and not lost:
        yield " has no replicas: it can be switched off", "green"
        return
    yield f" has {counted(line['replicas'], 'replica')}"
    if line["replicas"] and line["empty"]:
        yield f"; if they leave their lists now, the last is erased at {clock(line['empty'])}"
    elif line["replicas"]:
        yield f"; {len(line['released'])} of them would be erased by {clock(line['until'])}", "yellow"
    if line["needs_another"]:
        yield f"; another replica is needed first, as there is no other, of {', '.join(line['needs_another'])}", "yellow"
    if line["coming"]:
        yield f"; it is to hold {', '.join(line['coming'])}, of which it has no replica yet", "yellow"
    yield f"; switched off now, lost would be {', '.join(lost) or 'nothing'}", "red" if lost else "green"


_SAID: Mapping[str, Callable[[Line], Iterable[Part]]] = {
    "message": _message, "refused": _refused, "end": _end, "status": _status, "drain": _drain,
}  # fmt: skip
"""Kinds of lines that are shown as a line each."""


def _folder_of(line: Line) -> str:
    """The path of a folder, with its id where there are two of that path."""
    return f"{line['folder']} ({line['id']})" if "id" in line else str(line["folder"])


def _state(line: Line) -> Sequence[Part]:
    life = f" (life {line['life']})" if line["life"] > 1 else ""
    return (
        line["store"], _folder_of(line), line["applied"], _unsent(line), (line["missing"], "yellow"),
        (line["lost"], "red"), line["standing"] + life,
    )  # fmt: skip


def _unsent(line: Line) -> str:
    """Numbers of its own that a store has not sent yet."""
    from pfspark import cntext

    label = cntext.label(line["store"], line["life"])
    own = {label: cntext.parse(line["applied"]).get(label, ())}
    return cntext.show(cntext.subtract(own, cntext.parse(line["sent"])))


def _item(line: Line) -> Sequence[Part]:
    conflict = f"conflict with {', '.join(line['losers'])}" if line["conflict"] else ""
    remark = "deleted" if line["deleted"] else conflict
    return line["store"], _folder_of(line), line["item"], line["name"] or "", line["version"], remark


def _folder(line: Line) -> Sequence[Part]:
    replicas = (name if how == "active" else f"{name} ({how})" for name, how in line["replicas"].items())
    said = filter(None, (", ".join(replicas), _said(line.get("properties", {}))))
    return line["store"], line["path"], line["id"], "; ".join(said)


def _said(told: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in told.items())


def _plan(line: Line) -> Sequence[Part]:
    sign, style = _SIGNS[line["what"]]
    before, after = line["before"], line["after"]
    match line["what"]:
        case Planned.CHANGE:
            both = ((name, before.get(name, "as usual"), after.get(name, "as usual")) for name in {**before, **after})
            said = "; ".join(filter(None, (", ".join(f"{name} {was} → {is_now}" for name, was, is_now in both), line["says"])))
        case Planned.STAYS:
            said = ": ".join(filter(None, (_said(before) if line["of"] == "replica" else "", line["says"])))
        case _:
            said = _said(after or before)
    return (sign, style), line["of"], (line["name"], style), said


def _edit(line: Line) -> Sequence[Part]:
    style = {"waiting": "yellow", "refused": "red"}.get(line["outcome"], "")
    of = " ".join(filter(None, (line["item"], line["name"])))
    became = ": ".join(filter(None, (line["outcome"], line["reason"] or line["number"])))
    return clock(line["at"] or ""), line["store"], line["action"], line["folder"] or "", of, (became, style)


def _scenario(line: Line) -> Sequence[Part]:
    return (line["name"], "bold"), line["profile"], line["lasts"], line["says"].partition(". ")[0].removesuffix(".")


def _option(line: Line) -> Sequence[Part]:
    value = (line["value"], "bold" if line["differs"] else "")
    return line["option"], value, f"{line['profile']} in the profile" if line["differs"] else "", (line["says"], "dim")


def _link(line: Line) -> Sequence[Part]:
    delay = show_duration(timedelta(seconds=line["delay_s"]))
    return f"{line['from_site']} → {line['to_site']}", str(line["cost"]), delay


def _gap(line: Line) -> Sequence[Part]:
    low, high = line["cn_min"], line["cn_max"]
    numbers = f"{line['origin']}:{low}" + (f"-{high}" if high > low else "")
    asked = f"{line['of']} at {clock(line['asked'])}" if line["asked"] else "nobody yet"
    return line["store"], _folder_of(line), (numbers, "yellow"), clock(line["heard"]), asked, clock(line["due"] or "")


def _referral(line: Line) -> Sequence[Part]:
    named = [f"{store} ({cost})" for store, cost in zip(line["stores"], line["costs"], strict=True)]
    first, others = ", ".join(named[: line["cheapest"]]), ", ".join(named[line["cheapest"] :])
    return line["store"], line["folder"], first or ("nobody", "yellow"), others


def _replica(line: Line) -> Sequence[Part]:
    behind = (
        f"{peer} {each['truth']}" + (f" (believed {each['believed']})" if each["believed"] != each["truth"] else "")
        for peer, each in line["peers"].items() if each["truth"] or each["believed"]
    )  # fmt: skip
    missing = (f"{line['missing']:,}", "yellow" if line["missing"] else "")
    return (
        line["store"], _folder_of(line), line["standing"], f"{line['holds']:,}", missing, clock(line["since"] or ""),
        f"{line['lacks']:,}", ", ".join(behind),
    )  # fmt: skip


def _check(line: Line) -> Sequence[Part]:
    if line["rows"] is None:
        return line["id"], line["says"], ("not looked at", "bold red")
    return line["id"], line["says"], (f"{line['rows']:,}", "bold red" if line["rows"] else "green")


def _remedy(line: Line) -> Sequence[Part]:
    return (line["what"], "bold"), line["target"], line["says"], line["command"]


def _loss(line: Line) -> Sequence[Part]:
    return line["store"], line["folder"], (line["numbers"], "red"), str(line["changes"])


def _why(line: Line) -> Sequence[Part]:
    style = "green" if line["here"] else "yellow"
    rules = ", ".join(dict.fromkeys(each["rule"] for each in line["because"]))
    return line["store"], _folder_of(line), line["item"], (line["cause"], style), clock(line["since"] or ""), line["says"], rules


def _cause(line: Line) -> Sequence[Part]:
    numbers, replicas = f"{line['numbers']:,}", f"{line['replicas']:,}"
    return (line["cause"], "yellow"), numbers, replicas, clock(line["since"] or ""), _folder_of(line), line["says"]


def _diff(line: Line) -> Sequence[Part]:
    before, after = (line["before"] or "", "red"), (line["after"] or "", "green")
    return line["store"], _folder_of(line), " ".join(filter(None, (line["what"], line["name"]))), before, after


def _store(line: Line) -> Sequence[Part]:
    from pfspark.edge.plan import spell_store

    marks = [word for word in ("preferred", "retired") if line[word]]
    said = spell_store(line)
    own = (f"{name} {said[name]}" for name in ("interval", "size_limit", "schedule") if name in said)
    return line["store"], line["site"], line["version"], ", ".join(own), ", ".join(marks)


def _round(line: Line) -> Sequence[Part]:
    played = ", ".join(f"{org} {clock(now)}" for org, now in line["turns"].items())
    rows = ", ".join(f"{count} {name}" for name, count in line["counts"].items())
    return str(line["round"]), line["what"], played, clock(line["ended"]), rows


_SIGNS = {
    Planned.ADD: ("+", "green"), Planned.CHANGE: ("~", "yellow"), Planned.REMOVE: ("-", "red"), Planned.STAYS: ("·", "dim"),
    Planned.SAME: ("=", "dim"),
}  # fmt: skip
"""What a line of a plan begins with."""

_FIGURES: Sequence[tuple[str, Callable[[Line], str]]] = (
    ("all is equal", lambda line: clock(line["equal"]) if line["equal"] else "not by then"),
    ("missing in the end", lambda line: f"{line['missing']:,}"),
    ("most missing", lambda line: f"{line['most']:,} at {clock(line['most_at'])}" if line["most"] else "0"),
    ("lost for ever", lambda line: f"at {counted(len(line['lost']), 'replica')}" if line["lost"] else "nothing"),
    ("messages", lambda line: f"{line['messages']:,}, in {counted(line['letters'], 'letter')}"),
    ("bytes", lambda line: f"{line['bytes']:,}"),
    ("refused edits", lambda line: ", ".join(f"{count} {reason}" for reason, count in line["refused"].items()) or "none"),
    ("replicas released", lambda line: ", ".join(f"{each['folder']} at {each['store']}" for each in line["released"]) or "none"),
    ("rounds", lambda line: f"{line['rounds']:,}"),
)
"""What is told of each world, and how."""

_TABLES: Mapping[str, tuple[str, Sequence[str], Callable[[Line], Sequence[Part]]]] = {
    "state": ("state", ("store", "folder", "applied", "not sent", "missing", "lost", "standing"), _state),
    "item": ("items", ("store", "folder", "item", "name", "version", ""), _item),
    "folder": ("folders", ("seen by", "folder", "id", "replicas"), _folder),
    "scenario": ("scenarios, each to be played by its name", ("", "profile", "lasts", ""), _scenario),
    "edit": ("edits", ("at", "store", "", "folder", "of", "became"), _edit),
    "plan": ("plan", ("", "", "", ""), _plan),
    "option": ("options", ("option", "value", "", ""), _option),
    "link": ("links", ("from → to", "cost", "delay"), _link),
    "replica": ("replicas", ("store", "folder", "standing", "holds", "missing", "since", "lacks", "others behind"), _replica),
    "check": ("promises", ("", "promise", "rows against it"), _check),
    "remedy": ("what would mend it", ("", "of", "why", "by hand"), _remedy),
    "loss": ("nobody else holds", ("store", "folder", "numbers", "changes"), _loss),
    "gap": ("gaps", ("store", "folder", "missing", "since", "asked", "asks (again) at"), _gap),
    "why": ("why", ("store", "folder", "item", "cause", "since", "", "by"), _why),
    "cause": ("causes", ("cause", "numbers", "replicas", "the oldest", "in", ""), _cause),
    "diff": ("what changed", ("store", "folder", "", "before, or gone", "after, or new"), _diff),
    "referral": ("referrals", ("reader at", "folder", "sent to (cost)", "else to"), _referral),
    "store": ("stores", ("store", "site", "version", "its own", ""), _store),
    "round": ("rounds", ("round", "kind", "played", "written at", "rows"), _round),
}
"""Kinds of lines that are shown as rows of a table: its name, its columns, a row."""
