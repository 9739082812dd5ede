"""What the engine says beside what the oracle says: the lines of one organization, and where they first part."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

Line = dict[str, Any]


def by_org(lines: Iterable[Line]) -> dict[str, list[Line]]:
    """The lines of each organization, in their order."""
    found: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        found[line["org"]].append(line)
    return found


def written(line: Line) -> str:
    return json.dumps(line, ensure_ascii=False)


def nameless(lines: Iterable[Line], *kinds: str) -> list[Line]:
    """The lines (of those kinds) without the name of their organization."""
    return [{**line, "org": ""} for line in lines if not kinds or line["kind"] in kinds]


def first_difference(engine: Sequence[Line], oracle: Sequence[Line]) -> str | None:
    """Where the two first part: the moment and kind, and the lines that only one of them says; None if they agree.

    Lines of one moment and kind are a multiset; moments, and kinds within a moment, must come in the same order.
    """
    told, expected = list(_chapters(engine)), list(_chapters(oracle))
    for (here, said), (there, due) in zip(told, expected, strict=False):
        if here != there:
            only = (
                [f"only the engine: {text}" for text in said]
                if here < there
                else [f"only the oracle: {text}" for text in due]
            )
            return "\n".join([f"{min(here, there)}:", *only])
        if said != due:
            return "\n".join([f"{here}:", *_only(said - due, "engine"), *_only(due - said, "oracle")])
    longer, who = (told, "engine") if len(told) > len(expected) else (expected, "oracle")
    rest = longer[min(len(told), len(expected)) :]
    return None if not rest else "\n".join([f"{rest[0][0]}:", *_only(rest[0][1], who)])


def _chapters(lines: Iterable[Line]) -> Iterator[tuple[tuple[str, str], Counter[str]]]:
    for key, some in groupby(lines, key=lambda line: (line["at"], line["kind"])):
        yield key, Counter(map(written, some))


def _only(lines: Counter[str], who: str) -> list[str]:
    return [f"only the {who}: {text}" for text in sorted(lines.elements())]
