"""The steps of what is drawn, in order, and its picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame

from pfspark.frame import Frame, node


def steps(wanted: Iterable[DataFrame]) -> list[Frame]:
    """All frames that those are made of, each after what it is given."""
    order: dict[Frame, None] = {}
    waiting = [(node(each), False) for each in wanted]
    while waiting:
        frame, seen = waiting.pop()
        if seen:
            order[frame] = None
        elif frame not in order:
            waiting.append((frame, True))
            waiting += [(each, False) for each in frame.inputs if each not in order]
    return list(order)


def picture(wanted: Iterable[DataFrame]) -> str:
    """The parts of the whole and what follows from what, in the language of Mermaid: only the last way to each part."""
    follows: dict[str, set[str]] = {}
    for frame in steps(wanted):
        if frame.rule:
            before = {each.phase for each in frame.inputs if each.rule and each.phase != frame.phase}
            follows.setdefault(frame.phase, set()).update(before)
    lines = ["flowchart TD"]
    for part, before in follows.items():
        farther = set().union(*(_above(follows, each) for each in before))
        lines += [f"    {each} --> {part}" for each in follows if each in before - farther]
    return "\n".join(lines)


def _above(follows: Mapping[str, set[str]], phase: str) -> set[str]:
    """The parts from which that one follows, by way of however many."""
    return follows[phase].union(*(_above(follows, each) for each in follows[phase]))
