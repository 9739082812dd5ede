"""Invented organizations, written short, and what was said of them, read short."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from pfspark.edge.config import conf_folder
from pfspark.printed import Line
from pfspark.sim.scenario import Scenario, parse
from pfspark.units import show_duration

START = datetime.fromisoformat("2026-01-05T00:00:00+00:00")  # a Monday


def organization(
    stores: dict[str, Any],
    steps: list[tuple[str, str, Any]],
    *,
    name: str = "test",
    folders: dict[str, Any] | None = None,
    links: list[dict[str, Any]] | None = None,
    policy: dict[str, Any] | None = None,
    profile: str = "exchange_2007",
    end: str = "48h",
    interval: str = "15m",
) -> Scenario:
    """A scenario; a store may be given as its site alone, a folder as its replicas alone."""
    full = {
        "name": name,
        "profile": profile,
        "start": f"{START:%Y-%m-%dT%H:%M:%SZ}",
        "end": end,
        "interval": interval,
        "policy": policy or {},
        "stores": {name: {"site": each} if isinstance(each, str) else each for name, each in stores.items()},
        "links": links or [],
        "folders": {path: {"replicas": f} if isinstance(f, list) else f for path, f in (folders or {}).items()},
        "steps": [{"at": at, verb: value} for at, verb, value in steps],
    }
    text = "\n".join(f"{key} = {_inline(value)}" for key, value in full.items())
    return parse(text, f"{name}.toml", conf_folder())


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_inline(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return json.dumps(value)


def post(store: str, folder: str = "/F", **more: Any) -> tuple[str, dict[str, Any]]:
    return "post", {"store": store, "folder": folder, **more}


def listing(verb: str, store: str, replica: str, folder: str = "/F") -> tuple[str, dict[str, Any]]:
    return f"{verb}_replica", {"store": store, "folder": folder, "replica": replica}


def messages(lines: list[Line], *types: str, sender: str | None = None, folder: str | None = None) -> list[str]:
    """Messages as `12h 0x8 PFS3>PFS1 PFS1:12-16`: when, type, from and to, and what is carried or asked for."""
    return [
        f"{after(line)} {line['type']} {line['from']}>{','.join(line['to'])} {line['carries'] or line['asks']}".rstrip()
        for line in lines
        if line["kind"] == "message"
        and (not types or line["type"] in types)
        and sender in (None, line["from"])
        and folder in (None, line["folder"])
    ]


def after(line: Line) -> str:
    return show_duration(datetime.fromisoformat(line["at"]) - START)


def states(lines: list[Line], at: str | None = None, folder: str = "/F") -> dict[str, Line]:
    """The state lines of a folder by store; of the last time they were shown, or of that time."""
    shown = [line for line in lines if line["kind"] == "state" and line["folder"] == folder]
    return {line["store"]: line for line in shown if at in (None, after(line))}


def items(lines: list[Line]) -> dict[tuple[str, str], tuple[str, bool, bool, list[str]]]:
    """(store, name) -> version, deleted, conflict, losers; the last time each was shown."""
    return {
        (line["store"], line["name"]): (line["version"], line["deleted"], line["conflict"], line["losers"])
        for line in lines
        if line["kind"] == "item"
    }


def refused(lines: list[Line]) -> list[tuple[str, str, int | None, str]]:
    return [(x["store"], x["what"], x["step"], x["reason"]) for x in lines if x["kind"] == "refused"]
