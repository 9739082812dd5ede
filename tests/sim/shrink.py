"""The fewest steps and faults of a scenario with which it still goes wrong: what is left over when chance has found a fault."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

PART = re.compile(r"\n(?=\[\[(?:faults|steps)\]\]\n)")
Wrong = Callable[[Sequence[str]], Sequence[bool]]
"""Says of several scenarios, all tried together, which go wrong."""


def shrunk(text: str, wrong: Wrong) -> str:
    """That scenario file with as few steps and faults as `wrong` leaves it: ever smaller parts are left out while it still is.

    >>> print(shrunk('name = "x"\\n[[steps]]\\na = 1\\n[[steps]]\\nb = 1', lambda texts: ["b" in text for text in texts]))
    name = "x"
    [[steps]]
    b = 1
    """
    head, *steps = PART.split(text.rstrip())
    parts = 2
    while steps:
        size = math.ceil(len(steps) / parts)
        without = [steps[:first] + steps[first + size :] for first in range(0, len(steps), size)]
        tried = wrong(["\n".join([head, *few]) for few in without])
        smaller = next((few for few, is_wrong in zip(without, tried, strict=True) if is_wrong), None)
        if smaller is not None:
            steps, parts = smaller, max(2, parts - 1)
        elif size == 1:
            break
        else:
            parts = min(len(steps), 2 * parts)
    return "\n".join([head, *steps]) + "\n"
