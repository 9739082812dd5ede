"""Rows of Arrow tables by key."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pfspark import keyed
from pfspark.keyed import anti_join, in_parts, semi_join


@pytest.mark.parametrize("most", [0, 10**9])
def test_rows_are_picked_by_key_in_their_order(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Whatever other columns hold, and in however many parts; what is null is like nothing."""
    monkeypatch.setattr(keyed, "MOST", most)
    table = pa.table({"org": ["o", "o", "p", "o", None], "folder": ["F", "G", "F", "F", "F"], "n": [[1], [2], [3], [], None]})
    keys = pa.table({"folder": ["F", "F", None], "org": ["o", "o", None]})
    assert semi_join(table, keys, ("org", "folder"))["n"].to_pylist() == [[1], []]
    assert anti_join(table, keys, ("org", "folder"))["n"].to_pylist() == [[2], [3], None]
    assert semi_join(table, keys.slice(0, 0), ["org"]).num_rows == 0
    assert anti_join(table, keys.slice(0, 0), ["org"]) is table
    assert semi_join(table.slice(0, 2), keys, ["org"]).num_rows == 2


@pytest.mark.parametrize("most", [0, 10**9])
@pytest.mark.parametrize("fewer", [1, 10**9])
def test_few_keys_pick_what_many_pick(monkeypatch: pytest.MonkeyPatch, fewer: int, most: int) -> None:
    """A row each of whose columns stands in some key need not be that of one key; in whatever order columns are looked at."""
    monkeypatch.setattr(keyed, "FEWER", fewer)
    monkeypatch.setattr(keyed, "MOST", most)
    table = pa.table({"org": ["o", "o", "p", "p"] * 3, "folder": ["F", "G", "F", "G"] * 3, "n": range(12)})
    keys = pa.table({"org": ["o", "p"], "folder": ["F", "G"]})
    assert semi_join(table, keys, ("org", "folder"))["n"].to_pylist() == [0, 3, 4, 7, 8, 11]
    assert anti_join(table, keys, ("org", "folder"))["n"].to_pylist() == [1, 2, 5, 6, 9, 10]


def test_the_column_that_leaves_fewest_rows_is_looked_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyed, "MOST", 0)
    table = pa.table(
        {"org": ["o"] * 64, "folder": [f"F{n % 8}" for n in range(64)], "origin": [f"P{n // 16}" for n in range(64)]}
    )
    keys = table.slice(8, 1)
    assert keyed._by_what_is_left(table, keys, ("org", "folder", "origin")) == ["origin", "folder", "org"]
    assert semi_join(table, keys, ("org", "folder", "origin"))["folder"].to_pylist() == ["F0", "F0"]


def test_many_keys_pick_what_few_pick(monkeypatch: pytest.MonkeyPatch) -> None:
    """In parts, by the last letter of what is looked up, if it is a text."""
    names = ["", "a", "b", "ba", "ab", None, "ç", "bç"]
    table = pa.table({"n": range(16), "org": ["o", "p"] * 8, "name": names * 2})
    keys = pa.table({"org": ["o", "p", "o", "p", "p"], "name": ["", "a", "ab", "bç", None]})
    numbers = pa.table({"org": ["o", "p"], "n": [2, 3]})
    few = [
        semi_join(table, keys, ("org", "name")),
        anti_join(table, keys, ("org", "name")),
        semi_join(table, numbers, ("org", "n")),
    ]
    assert [some["n"].to_pylist() for some in few[::2]] == [[0, 1, 4, 7, 8, 9, 12, 15], [2, 3]]
    monkeypatch.setattr(keyed, "MOST", 1)
    assert [semi_join(table, keys, ("org", "name")), anti_join(table, keys, ("org", "name"))] == few[:2]
    assert semi_join(table, numbers, ("org", "n")) == few[2]


def test_parts_are_few_whatever_the_alphabet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each goes through all rows, and texts may end in any of thousands of letters; alike ones stay together."""
    monkeypatch.setattr(keyed, "MOST", 1)
    names = pa.table({"name": [f"a{chr(0x4E00 + nth)}" for nth in range(500)] * 2 + ["", None]})
    parts = [part["name"].to_pylist() for (part,) in in_parts(names, by="name")]
    assert len(parts) == keyed.PARTS
    assert sorted(str(name) for part in parts for name in part) == sorted(map(str, names["name"].to_pylist()))
    assert sum(len(set(part)) for part in parts) == 502
