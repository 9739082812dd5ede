"""What files of organizations and of scenarios have in common: stores, links and folders, by their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import permutations
from typing import Any

from pfspark import cntext
from pfspark.errors import UsageError
from pfspark.files import language, values


@dataclass(frozen=True)
class Link:
    """Cost and delay from one site to another, one direction."""

    from_site: str
    to_site: str
    cost: int = 1
    delay: timedelta = timedelta(0)


def stores_of(table: Mapping[str, Any], entry: type[language.Store]) -> dict[str, dict[str, Any]]:
    """What a text says of each store, by its name."""
    told = {}
    for name, found in table.items():
        with values.within(f"stores.{name if name.isprintable() else repr(name)}"):
            if not cntext.is_store_name(name):
                raise UsageError("a store name has letters, digits and . _ - only, a letter or digit first, at most 64")
            told[name] = entry.read(found).said()
    return told


def links_of(entries: list[Any], sites: list[str]) -> tuple[Link, ...]:
    """The links of a text: one link for each direction; of two for one direction the later counts."""
    known = language.Known(sites=sites)
    links = {}
    for place, entry in enumerate(entries, 1):
        with values.within(f"links {place}"):
            said = language.Link.read(entry, known).said()
            match said.pop("sites", None), said.pop("from_site", None), said.pop("to_site", None):
                case (_, _, *_) as named, None, None:
                    pairs = list(permutations(named, 2))
                case None, str(one), str(other) if one != other:
                    pairs = [(one, other)]
                case _:
                    raise UsageError(
                        'expected sites = ["A", "B"] for both directions, or from = "A" and to = "B" for one; '
                        "two different sites, for inside a site cost and delay are 0"
                    )
            for pair in pairs:
                links[pair] = Link(*pair, **said)
    return tuple(links.values())


def by_path(table: Mapping[str, Any]) -> dict[str, Any]:
    """What a text says of each folder, by its path."""
    told: dict[str, Any] = {}
    for written, entry in table.items():
        with values.within(f'folders."{written}"'):
            if (path := values.path(written)) in told:
                raise UsageError(f"found a second entry of {path}, expected one")
            told[path] = entry
    return told
