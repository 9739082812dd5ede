"""`pfspark whatif` and `drain`: what a change or an outage would do to a lake, played in memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from pfspark.cli import given, screen
from pfspark.edge import live
from pfspark.errors import ScenarioError, UsageError
from pfspark.units import parse_duration, show_duration

PANEL = "Answers"
WORDS = "what is to be done"
CLOCK = "status_clock"
"""The option whose value has commas of its own, between times of day: its values are told apart by semicolons."""
OPTION = f"Another option; of several values each, told apart by commas (of {CLOCK} by semicolons)."
TIMEOUT_OPTIONS = ("backfill_timeouts_local", "backfill_timeouts_remote")
"""Options of three durations, each twice the one before where one alone is said (as R91 has them)."""

verbs = typer.Typer()


@verbs.command(rich_help_panel=PANEL)
def whatif(
    steps: Annotated[Path | None, typer.Argument(help="A file of steps, faults, links, and a policy, as of a scenario.")] = None,
    until: Annotated[
        str, typer.Option("--until", help="How far it is played: a time, or so long after the last round.", metavar="TIME|SPAN")
    ] = "1d",
    cut: Annotated[list[str] | None, typer.Option("--cut", help="Cut a store off.", metavar="STORE[@FROM..TO]")] = None,
    down: Annotated[list[str] | None, typer.Option("--down", help="Take a store down.", metavar="STORE[@FROM..TO]")] = None,
    add_replica: Annotated[
        list[str] | None, typer.Option("--add-replica", help="Put a store on a folder's list.", metavar="FOLDER=STORE")
    ] = None,
    remove_replica: Annotated[
        list[str] | None, typer.Option("--remove-replica", help="Take a store off a folder's list.", metavar="FOLDER=STORE")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", help=OPTION, metavar="NAME=VALUE,...")
    ] = None,
    profile: Annotated[str | None, typer.Option("--profile", help="Another profile.")] = None,
    interval: Annotated[str | None, typer.Option("--interval", help="Another time between rounds.")] = None,
    lake: given.LakeName = None, org: given.Org = None, as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Play an organization on in memory, as it is and as it would be, and print how both come out."""
    when, end = given.round_or_moment(as_of), given.time_or_span(until)
    cut, down, add_replica, remove_replica, option = (each or [] for each in (cut, down, add_replica, remove_replica, option))
    done = [*_away("cut", "heal", cut), *_away("down", "up", down)]
    lists = [*_listed("add_replica", add_replica), *_listed("remove_replica", remove_replica)]
    replicas = [args for step in lists for args in step.values()]
    stores = [*(text.partition("@")[0] for text in (*cut, *down)), *(each["replica"] for each in replicas)]
    options = [*option, *([f"interval={interval}"] if interval is not None else [])]
    with given.opened(lake, "playing") as there:
        from pfspark.files.documents import text_of, toml
        from pfspark.sim.ground import expect_change

        said = toml(text_of(steps), str(steps)) if steps else {}
        expect_change(said, str(steps))
        for store in stores:
            there.expect(store, None, when, org=org)
        for each in [] if steps else replicas:  # steps may make the folder
            there.expect(None, each["folder"], when, org=org)
        known = there.listers(org, when) if lists else {}
        todo = [*said.get("steps", []), *done, *({**each, "at": "0m"} for each in _by_whom(lists, known))]
        whole = {**said, **({"steps": todo} if todo else {}), **({"profile": profile} if profile is not None else {})}
        variants = _variants(whole, options, profile) if whole or options else {}
        file = None if steps is None else str(steps)
        with _in_words(file):
            lines = there.whatif_lines(
                variants=variants, until=end, as_of=when, org=org, called=file or WORDS, progress=live.told
            )  # fmt: skip
            found = [*lines]
        screen.whatif(found, json=json)


@verbs.command(rich_help_panel=PANEL)
def drain(
    store: Annotated[str, typer.Argument(help="The store.")],
    until: Annotated[
        str, typer.Option("--until", help="How far it is played: a time, or so long after the last round.", metavar="TIME|SPAN")
    ] = "7d",
    lake: given.LakeName = None, org: given.Org = None, as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print what must happen before a store can be switched off, and what would be lost now; nothing is done."""
    when, end = given.round_or_moment(as_of), given.time_or_span(until)
    with given.opened(lake, "playing") as there:
        screen.lines([there.drain(store, until=end, as_of=when, org=org, progress=live.told)], json=json)


@contextmanager
def _in_words(file: str | None) -> Iterator[None]:
    """What cannot be played is wrong usage where the words of the command alone say it, and no file."""
    try:
        yield
    except ScenarioError as error:
        if file:
            raise
        raise UsageError(str(error).removeprefix(f"{WORDS}: ")) from None


def _away(verb: str, back: str, texts: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Steps by which stores go, and come back."""
    for text in texts:
        store, at, span = text.partition("@")
        since, dots, until = span.partition("..")
        if not store or (at and not (since and dots and until)):
            raise UsageError(f"--{verb}: found {text!r}, expected STORE or STORE@FROM..TO, such as PFS2@0m..2h")
        if until and _is_before(until, since):
            raise UsageError(f"--{verb}: found {text!r}, whose end comes first; expected STORE@FROM..TO, such as PFS2@0m..2h")
        yield {"at": since or "0m", verb: [store]}
        if until:
            yield {"at": until, back: [store]}


def _is_before(text: str, other: str) -> bool:
    """Whether a time is before another, or a span the shorter; which of a time and a span comes first is not known here."""
    one, two = given.time_or_span(text), given.time_or_span(other)
    if isinstance(one, timedelta):
        return isinstance(two, timedelta) and one < two
    return isinstance(two, datetime) and one < two


def _listed(verb: str, texts: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Steps by which lists change; by whom is not said yet."""
    for text in texts:
        folder, equals, store = text.rpartition("=")
        if not (folder and equals and store):
            raise UsageError(f"--{verb.replace('_', '-')}: found {text!r}, expected FOLDER=STORE, such as /Sales=PFS2")
        yield {verb: {"folder": folder, "replica": store}}


def _by_whom(steps: Iterable[dict[str, Any]], listers: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Steps by which lists change, each by a store that has a replica of the folder."""
    from pfspark.edge.asked.naming import as_lines_name

    for step in steps:
        for verb, args in step.items():
            yield {verb: {**args, "store": listers.get(as_lines_name(args["folder"]), args["replica"])}}


def _variants(said: dict[str, Any], options: Iterable[str], profile: str | None) -> dict[str, dict[str, Any]]:
    """What is asked about: what a file and words say, with each choice of the options, by what it is called."""
    from pfspark.lake.foresight import WITH_STEPS
    from pfspark.settings import single

    policy = dict(single(said.get("policy", {})))
    return {
        name or WITH_STEPS: {**said, "policy": {**policy, **dict(single(chosen))}} for name, chosen in _sweep(options, profile)
    }


def _sweep(options: Iterable[str], profile: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """The options of each world, by what it is called: all values of each, with all of each other."""
    axes: dict[str, list[tuple[str, str, Any]]] = {}
    for pair in options:
        name, equals, text = pair.partition("=")
        if not (name and equals):
            raise UsageError(f"--option: found {pair!r}, expected NAME=VALUE")
        name = name.replace(".", "_")
        mark = ";" if name == CLOCK else ","
        if name in axes:
            together = f"{name}=VALUE{mark}VALUE"
            raise UsageError(f"--option: found {name} twice, expected each once, all its values together: {together}")
        is_one = mark == "," and re.match(r"\s*[\[\"'{]", text)
        values = [text] if is_one else text.split(mark)
        axes[name] = [(f"{name}={value}", name, _value(name, value)) for value in values]
    for chosen in product(*axes.values()):
        called = [text for text, _, _ in chosen] + ([f"profile={profile}"] if profile is not None else [])
        yield " ".join(called), {name: value for _, name, value in chosen}


def _value(name: str, text: str) -> Any:
    if name in TIMEOUT_OPTIONS and " " not in text and not text.startswith("["):
        first = parse_duration(text)
        return [show_duration(first * times) for times in (1, 2, 4)]
    return given.values([f"{name}={text}"])[name]
