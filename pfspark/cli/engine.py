"""`pfspark engine`: the process that keeps Spark started between commands (`pfspark.engine`)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from pfspark import engine as warm
from pfspark.cli import given, screen
from pfspark.edge import live
from pfspark.engine import client
from pfspark.engine.wire import Message
from pfspark.errors import LakeError
from pfspark.units import counted

verbs = typer.Typer()
engine = typer.Typer(help="The process that keeps Spark started between commands.")
verbs.add_typer(engine, name="engine", rich_help_panel="This machine")


@engine.command()
def status(json: given.Json = False) -> None:
    """Say whether one is there, since when, and what it does."""
    _say(client.status(_socket()), json=json)


@engine.command()
def start(json: given.Json = False) -> None:
    """Start one, unless it is there."""
    place = _folder()
    line, _ = client.connected(place, may_start=True)
    if line is None:
        raise LakeError("no engine could be started; `pfspark doctor` says what is missing")
    line.connection.close()
    _say(client.status(_socket()), json=json)


@engine.command()
def stop(
    json: given.Json = False,
    wait: Annotated[bool, typer.Option("--wait", help="Until it has ended: what it is doing is done first.")] = False,
) -> None:
    """End the one that is there, as soon as it is through with what it does: until then it is running."""
    said = client.stop(_socket())
    if said and wait:
        with live.doing("waiting for the engine"):
            client.wait_for(said["pid"])
    if said and not json:
        screen.say("the engine has ended" if wait else "the engine ends as soon as it is through")
    else:
        _say(said if said and said["doing"] and not wait else None, json=json)


def _socket() -> Path:
    return _folder() / f"{warm.name(os.environ)}.sock"


def _folder() -> Path:
    place = warm.folder()
    if place is None:
        raise LakeError(
            f"no engine can listen in {warm.named_folder()}: its path may have {warm.LONGEST_PATH} bytes, and nobody else may "
            "enter it; set XDG_RUNTIME_DIR to such a folder"
        )
    return place


def _say(said: Message | None, *, json: bool) -> None:
    found = said or {}
    line = {"kind": "engine", "running": said is not None, **{name: found.get(name) for name in client.TOLD}}
    if json:
        screen.json_line(line)
    elif said is None:
        screen.say("no engine is running")
    else:
        doing = f"does `{found['doing']}`" if found["doing"] else f"idle for {found['idle_s']} s"
        done = counted(found["done"], "command")
        screen.say(f"an engine is running (process {found['pid']}) since {found['since']}: {done} done, {doing}")
