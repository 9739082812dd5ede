"""How lines look to people, each kind as a line or as rows of a table; `screen` prints them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta

from pfspark.printed import Line
from pfspark.units import counted, show_duration
from pfspark.words import Planned, Standing

Part = str | tuple[str, str]
"""A text, or a text and its style."""
MESSAGES = {
    "0x2": "hierarchy", "0x4": "content", "0x8": "backfill request", "0x10": "status", "0x20": "status request",
    "0x80000002": "hierarchy response", "0x80000004": "content response",
}  # fmt: skip
"""What the types of messages are called (R65-R71)."""


MOST_NAMED = 8
"""Stores that a line names; of more it names the first, and counts the others: `--json` names all."""


def named(stores: Iterable[str]) -> str:
    """Those stores, each with what is said of it; of many the first."""
    some = [*stores]
    if len(some) <= MOST_NAMED:
        return ", ".join(some)
    return f"{', '.join(some[: MOST_NAMED - 1])} and {len(some) - MOST_NAMED + 1:,} others"


def clock(at: str) -> str:
    """A moment for people: whole seconds, and only where there are some."""
    return at.split(".")[0].replace("T", " ").removesuffix("Z").removesuffix(":00")


def _message(line: Line) -> Iterable[Part]:
    yield clock(line["at"]), "dim"
    yield f"  {line['from']} → {named(line['to']) or 'nobody'}  "
    yield f"{line['type']} {MESSAGES[line['type']]}", "cyan"
    yield f"  {_folder_of(line)}"
    if line["carries"]:
        yield f"  carries {line['carries']}"
    if line["asks"]:
        yield f"  asks for {line['asks']}"
    if line["bytes"]:
        yield f"  ({line['bytes']:,} bytes)", "dim"


def refused(line: Line) -> Iterable[Part]:
    """An edit that its store refused, or a message that its recipient did."""
    yield clock(line["at"]), "dim"
    of = " ".join(str(line[name]) for name in ("type", "item") if line.get(name))
    about = " in ".join(part for part in (of, line.get("folder")) if part)
    step = f"step {line['step']}" if line.get("step") else line.get("edit") or ""
    which = ": ".join(part for part in (step, about) if part)
    yield f"  {line['store']} refused the {line['what']}{f' ({which})' if which else ''}: {line['reason']}", "yellow"


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
    if lost:
        yield f"; switched off now, lost would be {', '.join(lost)}, but for what is on its way to others by now", "red"
    else:
        yield "; switched off now, lost would be nothing", "green"


SAID: Mapping[str, Callable[[Line], Iterable[Part]]] = {
    "message": _message, "refused": refused, "end": _end, "status": _status, "drain": _drain,
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
    said = filter(None, (named(replicas), _said(line.get("properties", {}))))
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
    whom = line["of"] or "somebody"  # upkeep forgets it where a restore has brought the request back
    asked = f"{whom} at {clock(line['asked'])}" if line["asked"] else "nobody yet"
    return line["store"], _folder_of(line), (numbers, "yellow"), clock(line["heard"]), asked, clock(line["due"] or "")


def _referral(line: Line) -> Sequence[Part]:
    each = [f"{store} ({cost})" for store, cost in zip(line["stores"], line["costs"], strict=True)]
    first, others = named(each[: line["cheapest"]]), named(each[line["cheapest"] :])
    return line["store"], line["folder"], first or ("nobody", "yellow"), others


def at_rest(line: Line) -> bool:
    """Whether a replica is active, and neither it nor another lacks anything of the two, in truth."""
    behind = any(each["truth"] for each in line["peers"].values())
    return line["standing"] == Standing.ACTIVE and not (line["missing"] or line["lost"] or line["lacks"] or behind)


def _replica(line: Line) -> Sequence[Part]:
    behind = (
        f"{peer} {each['truth']}" + (f" (believed {each['believed']})" if each["believed"] != each["truth"] else "")
        for peer, each in line["peers"].items() if each["truth"] or each["believed"]
    )  # fmt: skip
    missing = (f"{line['missing']:,}", "yellow" if line["missing"] else "")
    return (
        line["store"], _folder_of(line), line["standing"], f"{line['holds']:,}", missing, clock(line["since"] or ""),
        f"{line['lacks']:,}", named(behind),
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

FIGURES: Sequence[tuple[str, Callable[[Line], str]]] = (
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

TABLES: Mapping[str, tuple[str, Sequence[str], Callable[[Line], Sequence[Part]]]] = {
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
