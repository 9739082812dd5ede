"""Rows of Arrow tables by key."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pfspark import keyed
from pfspark.keyed import having, lacking


def test_rows_are_picked_by_key_in_their_order() -> None:
    """Whatever other columns hold; what is null is like nothing."""
    table = pa.table({"org": ["o", "o", "p", "o", None], "folder": ["F", "G", "F", "F", "F"], "n": [[1], [2], [3], [], None]})
    keys = pa.table({"folder": ["F", "F", None], "org": ["o", "o", None]})
    assert having(table, keys, ("org", "folder"))["n"].to_pylist() == [[1], []]
    assert lacking(table, keys, ("org", "folder"))["n"].to_pylist() == [[2], [3], None]
    assert having(table, keys.slice(0, 0), ["org"]).num_rows == 0
    assert lacking(table, keys.slice(0, 0), ["org"]) is table
    assert having(table.slice(0, 2), keys, ["org"]).num_rows == 2


@pytest.mark.parametrize("fewer", [1, 10**9])
def test_few_keys_pick_what_many_pick(monkeypatch: pytest.MonkeyPatch, fewer: int) -> None:
    """A row each of whose columns stands in some key need not be that of one key."""
    monkeypatch.setattr(keyed, "FEWER", fewer)
    table = pa.table({"org": ["o", "o", "p", "p"] * 3, "folder": ["F", "G", "F", "G"] * 3, "n": range(12)})
    keys = pa.table({"org": ["o", "p"], "folder": ["F", "G"]})
    assert having(table, keys, ("org", "folder"))["n"].to_pylist() == [0, 3, 4, 7, 8, 11]
    assert lacking(table, keys, ("org", "folder"))["n"].to_pylist() == [1, 2, 5, 6, 9, 10]
