"""What the engine says beside what the oracle says: the lines of one organization, and where they first part."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, zip_longest

from pfspark.printed import Line

PHASE = {"refused": 0, "message": 1, "end": 3}  # of a round; what is shown comes between
LATER = ("~", 0)


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
    """Where the two first part: the moment, and the lines that only one of them says; None if they agree.

    Lines of one moment are a multiset: first the refused, then the messages, then what is shown, then the end.
    """
    told, expected = _chapters(engine), _chapters(oracle)
    for (here, said), (there, due) in zip_longest(told, expected, fillvalue=(LATER, Counter[str]())):
        if here != there:  # one of them says nothing here
            said, due = (said, Counter[str]()) if here < there else (Counter[str](), due)
        if said != due:
            return "\n".join([f"{min(here, there)[0]}:", *_only(said - due, "engine"), *_only(due - said, "oracle")])
    return None


def _chapters(lines: Iterable[Line]) -> Iterator[tuple[tuple[str, int], Counter[str]]]:
    """The lines of a moment and kind, counted; how often an edit is refused the contract leaves open, and why a number is
    where it is the second implementation does not say."""
    told = (line for line in lines if line["kind"] != "why")
    for key, some in groupby(told, key=lambda line: (line["at"], PHASE.get(line["kind"], 2))):
        yield key, Counter({text: 1 if key[1] == 0 else count for text, count in Counter(map(written, some)).items()})


def _only(lines: Counter[str], who: str) -> list[str]:
    return [f"only the {who}: {text}" for text in sorted(lines.elements())]
