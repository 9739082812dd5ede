"""How an organization stands: what is late there, and since when."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from pfspark.ask import standing
from pfspark.ask.stores import Stores
from pfspark.rows import rows_of
from pfspark.tables import VIEWS
from pfspark.words import NAME, PARENT, ROOT

pytestmark = pytest.mark.usefixtures("spark")  # which reads the types of columns


def test_what_nobody_has_any_more_is_not_late() -> None:
    """One number has been lost since the first of the month, another is missing since the twentieth."""
    here = {"org": "main", "store": "PFS2", "folder": "PFS1:1"}
    said: dict[str, list[dict[str, Any]]] = {
        "stores": [{"org": "main", "store": store, "site": "X"} for store in ("PFS1", "PFS2")],
        "replicas": [{**here, "store": store, "life": 1, "standing": "active"} for store in ("PFS1", "PFS2")],
        "lists": [{**here, "peer": peer, "listing": "listed"} for peer in ("PFS1", "PFS2")],
        "tree": [{**here, "property": name, "value": value} for name, value in ((NAME, "Sales"), (PARENT, ROOT))],
        "array": [
            {**here, "origin": "PFS1", "cn_min": cn, "cn_max": cn, "attempt": 1, "heard": datetime(2026, 1, day, tzinfo=UTC)}
            for cn, day in ((3, 1), (5, 20))
        ],
        "state": [{**here, "entry": "reported", "about": "PFS1", "origin": "PFS1", "cn_min": 5, "cn_max": 5, "relayed": False}],
    }
    names = {*VIEWS, "state", "replicas", "stores", "edits"}
    tables = {name: rows_of(name, said.get(name, ())) for name in names}
    stores = Stores(tables, "main")
    assert [(sets, lost) for _, _, sets, lost in stores.holes()] == [({"PFS1": ((5, 5),)}, {"PFS1": ((3, 3),)})]
    for day, late in ((15, []), (21, ["main: PFS2 lacks 1 of /Sales, the oldest since 2026-01-20T00:00:00Z"])):
        assert list(standing.overdue(tables, stores, "main", datetime(2026, 1, day, tzinfo=UTC))) == late
