"""Who asks about one folder, or one store, has no other looked at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import pytest

from pfspark.ask import lines
from pfspark.ask.stores import Stores
from pfspark.edge.asked.answers import Answers
from pfspark.edge.config import conf_folder
from pfspark.edge.delta.snapshot import Snapshot
from pfspark.settings import load_profile
from tests.edge.asked.test_shown import NOW, change, replica, span, world

if TYPE_CHECKING:
    from pfspark.words import Entry

KINDS = {"state": Answers.state, "replicas": Answers.replicas, "items": Answers.items}


def seen() -> Answers:
    """Two stores with a folder each of three, of which PFS2 lacks the last number."""
    folders = ("F", "G", "H")
    changes = [
        {**change("o", "PFS1", cn, f"PFS1:{cn}", "post", f"{cn}"), "folder": folder} for folder in folders for cn in (1, 2)
    ]
    replicas = [replica("o", store, folder=folder) for store in ("PFS1", "PFS2") for folder in folders]
    ranges = [
        span("o", store, store, "applied", "PFS1", 1, last, folder)
        for store, last in (("PFS1", 2), ("PFS2", 1))
        for folder in folders
    ]
    tables = world(changes, replicas, ranges)
    stores = [{"org": "o", "store": store, "site": "here", "retired": False} for store in ("PFS1", "PFS2")]
    tables = {**tables, "stores": tables["stores"].from_pylist(stores, tables["stores"].schema)}
    return Answers(
        cast(Snapshot, None), tables, views={"o": Stores(tables, "o")}, at={"o": NOW}, played={"o": True},
        policies={"o": load_profile("modern", conf_folder())}, organizations={"o": {}}, next_due={},
    )  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("store", "folder"), [(None, "G"), ("PFS2", None), ("PFS2", "H"), (None, "none")])
def test_no_other_is_looked_at(kind: str, store: str | None, folder: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: set[str] = set()
    held = Stores.held

    def watched(self: Stores, of: str, about: str, *entry: Entry) -> Any:
        looked_at.add(about)
        return held(self, of, about, *entry)

    monkeypatch.setattr(Stores, "held", watched)
    asked = lines.Asked(store, folder)
    found: list[Any] = list(KINDS[kind](seen(), asked))
    assert looked_at <= ({folder} if folder else {"F", "G", "H"})
    everything: Iterator[Any] = KINDS[kind](seen())
    assert found == [*filter(asked.about, everything)]
    assert bool(found) == (folder != "none")
