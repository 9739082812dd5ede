"""Where folders lie, as somebody sees them: those above one, and its path."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import TypeVar

Folder = TypeVar("Folder")


def upwards(folder: Folder | None, seen: Container[object], parent_of: Callable[[Folder], Folder | None]) -> list[Folder]:
    """That folder and those above it, as far as they are `seen`; a ring, as two moves at once can make, ends where it closes.

    >>> parents = {"North": "Sales", "Sales": ""}
    >>> upwards("North", parents, parents.__getitem__)
    ['North', 'Sales']
    """
    line: list[Folder] = []
    while folder is not None and folder in seen and folder not in line:
        line.append(folder)
        folder = parent_of(folder)
    return line


def shown(names: Sequence[str], *, reaches_root: bool) -> str:
    """The path of a folder, of its name and those of the folders above it; one that cannot reach the root is shown beneath it.

    >>> shown(["North", "Sales"], reaches_root=True), shown(["North", "Sales"], reaches_root=False)
    ('/Sales/North', '/North')
    """
    return "/" + "/".join(reversed(names if reaches_root else names[:1]))
