"""What lies beneath folders, and above: beside a reader who follows the tree folder by folder."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from pfspark import branches

NAMES = st.sampled_from("abcdefgh")
EDGES = st.sets(st.tuples(st.sampled_from("op"), NAMES, NAMES), max_size=16)
"""Organization, folder, parent: of each folder any number of parents, as many stores see it; in a ring too."""


def table(names: Collection[str], rows: Collection[tuple[str, ...]]) -> pa.Table:
    return pa.table([pa.array(column, pa.string()) for column in [*zip(*rows, strict=True)] or [()] * len(names)], names=[*names])


def followed(steps: Mapping[tuple[str, str], set[str]], start: set[tuple[str, str]]) -> set[tuple[str, str]]:
    found, waiting = set(start), list(start)
    while waiting:
        org, here = waiting.pop()
        more = {(org, there) for there in steps.get((org, here), ())} - found
        found |= more
        waiting += more
    return found


@given(edges=EDGES, start=st.sets(st.tuples(st.sampled_from("op"), NAMES), max_size=3))
@settings(deadline=None)
def test_branches_are_followed_to_their_ends(edges: set[tuple[str, str, str]], start: set[tuple[str, str]]) -> None:
    """Of both organizations apart; each folder once; those themselves too, be they in no tree."""
    tree, folders = table(("org", "folder", "parent"), edges), table(("org", "folder"), start)
    down: dict[tuple[str, str], set[str]] = {}
    up: dict[tuple[str, str], set[str]] = {}
    for org, folder, parent in edges:
        down.setdefault((org, parent), set()).add(folder)
        up.setdefault((org, folder), set()).add(parent)
    for follow, steps in ((branches.beneath, down), (branches.above, up)):
        rows = follow(tree, folders)
        found = list(zip(rows["org"].to_pylist(), rows["folder"].to_pylist(), strict=True))
        assert set(found) == followed(steps, start) and len(found) == len(set(found))


def test_edges_are_what_any_store_sees_in_those_organizations() -> None:
    """Nothing lies beneath the top, and what is placed nowhere lies nowhere."""
    seen = [("o", "P1", "b", "a"), ("o", "P2", "b", "a"), ("o", "P2", "b", "c"), ("o", "P1", "a", ""), ("p", "P1", "b", "a")]
    rows = table(("org", "store", "folder", "parent"), [*seen, ("o", "P1", "d", None)])  # type: ignore[list-item]
    assert sorted(branches.edges(rows, table(("org",), [("o",)])).to_pylist(), key=str) == [
        {"org": "o", "folder": "b", "parent": "a"},
        {"org": "o", "folder": "b", "parent": "c"},
    ]
