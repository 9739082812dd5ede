"""Which item a step of a foreseen world means."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from pfspark.lake import outlook
from pfspark.rows import rows_of

START = datetime(2026, 1, 5, tzinfo=UTC)


def world(*changes: tuple[int, str, str]) -> dict[str, pa.Table]:
    """Changes of A in A:1, each of the minute of its number, all of which A holds: number, action, item."""
    here = {"org": "o", "folder": "A:1", "origin": "A"}
    rows = [
        {**here, "cn": cn, "at": START + timedelta(minutes=cn), "made_at": START + timedelta(minutes=cn), "action": action,
         "object": item, "name": "weekly", "predecessors": [] if action == "post" else [{"origin": "A", "cn": cn - 1}]}
        for cn, action, item in changes
    ]  # fmt: skip
    mine = {"org": "o", "store": "A", "folder": "A:1"}
    held = {**mine, "about": "A", "entry": "applied", "origin": "A", "cn_min": 1, "cn_max": 99}
    tables: dict[str, list[dict[str, Any]]] = {
        "changes": rows, "stores": [{"org": "o", "store": "A"}], "state": [held],
        "replicas": [{**mine, "standing": "active", "life": 1}],
    }  # fmt: skip
    return {name: rows_of(name, some) for name, some in tables.items()}


@pytest.mark.parametrize(
    "changes, meant",
    [
        ([(1, "post", "A:1"), (2, "modify", "A:1")], "A:1"),
        ([(1, "post", "A:1"), (2, "delete", "A:1"), (3, "post", "A:3")], "A:3"),
        ([(1, "post", "A:1"), (3, "post", "A:3"), (4, "delete", "A:3")], "A:1"),  # whatever changed last
        ([(1, "post", "A:1"), (3, "post", "A:3")], None),  # which one must be told
        ([(1, "post", "A:1"), (2, "delete", "A:1")], "A:1"),  # so that its refusal is foreseen
        ([], None),
    ],
)
def test_a_name_means_what_readers_see(changes: Sequence[tuple[int, str, str]], meant: str | None) -> None:
    assert outlook._item(world(*changes), "o", [["A"], ["A"]], "A:1", "weekly") == meant
