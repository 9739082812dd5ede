"""What stores know, and how they show it."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from pfspark import cntext
from pfspark.ask.stores import ByOrg, Stores, converged, equal, unlike
from pfspark.cntext import label
from pfspark.rows import rows_of
from pfspark.tables import EVERY

ORG = "main"


def seen(**parents: str) -> Stores:
    """What PFS1 sees: folders, each named by its id, and under which other each stands (none: at the top)."""
    tree = [
        {"org": ORG, "store": "PFS1", "folder": folder, "property": name, "value": value}
        for folder, parent in parents.items() for name, value in (("name", folder), ("parent", parent))
    ]  # fmt: skip
    tables = {name: rows_of(name, ()) for name in EVERY}
    return Stores(tables | {"tree": rows_of("tree", tree)}, ORG)


@pytest.mark.usefixtures("spark")  # which knows how columns are written
@pytest.mark.parametrize(
    ("parents", "paths"),
    [
        ({"A": "", "B": "A", "C": "B"}, ["/A", "/A/B", "/A/B/C"]),
        ({"A": "B", "B": "A", "C": "B"}, ["/A", "/B", "/C"]),  # moved into each other at two stores
        ({"A": "A"}, ["/A"]),
        ({"B": "A", "C": "B"}, ["/B", "/C"]),  # nobody has told of A yet
    ],
)
def test_a_folder_that_cannot_reach_the_root_is_shown_beneath_it(parents: dict[str, str], paths: list[str]) -> None:
    assert [seen(**parents).path("PFS1", folder) for folder in parents] == paths


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("retired", [False, True])
def test_who_is_retired_is_no_part_of_the_hierarchy(retired: bool) -> None:
    """He is told of no folder any more, and nobody waits for him; what he holds of a folder he holds."""
    tree = [
        {"org": ORG, "store": store, "folder": folder, "property": "name", "value": folder}
        for store, folder in (("PFS1", "A"), ("PFS1", "B"), ("PFS2", "A"))
    ]
    replicas = [
        {"org": ORG, "store": store, "folder": folder, "life": 1, "standing": "active"}
        for store, folder in (("PFS1", "1-1"), ("PFS2", "1-1"), ("PFS2", "A"))
    ]
    stores = [{"org": ORG, "store": "PFS1", "retired": False}, {"org": ORG, "store": "PFS2", "retired": retired}]
    said = {"tree": tree, "replicas": replicas, "stores": stores}
    found = Stores({name: rows_of(name, said.get(name, ())) for name in EVERY}, ORG)
    assert converged(found) == retired
    assert {*found.present()} == {("PFS1", "1-1"), ("PFS2", "A"), *([] if retired else [("PFS2", "1-1")])}


def test_rows_are_parted_by_organization() -> None:
    """However many there are, in whatever order and pieces they come."""
    orgs = [f"org {int((place * 7919 % 5_000 / 5_000) ** 2 * 300)}" for place in range(5_000)]
    table = pa.table({"org": orgs, "place": range(len(orgs)), "nested": [{"n": place} for place in range(len(orgs))]})
    parted = ByOrg({"pieces": pa.concat_tables([table.slice(first, 777) for first in range(0, len(orgs), 777)])})
    for org in set(orgs):
        expected = [place for place, each in enumerate(orgs) if each == org]
        assert sorted(row["place"] for row in parted.rows("pieces", org)) == expected
        assert all(row["nested"] == {"n": row["place"]} for row in parted.rows("pieces", org))
    assert parted.rows("pieces", "nobody") == []
    assert ByOrg({"none": table.slice(0, 0)}).rows("none", "org 0") == []


def test_what_is_alike_is_told_as_if_all_were_looked_at() -> None:
    """Of replicas that say the same in the same ranges none becomes rows; what is said of them is what their sets say."""
    drawn = random.Random(5)
    said, stores, folders = [0, 0], ("PFS1", "PFS2", "PFS3"), ("1-1", "PFS1:1", "PFS1:2")
    for _ in range(100):
        there = [(store, folder) for store in stores for folder in folders if drawn.random() < 0.8]
        replicas = [
            {"org": ORG, "store": store, "folder": folder, "life": drawn.choice([1, 2]), "standing": "active"}
            for store, folder in there
        ]
        pieces = drawn.choice([[(1, 3)], [(1, 1), (2, 3)], [(1, 2)]])
        state = [
            {"org": ORG, "store": row["store"], "folder": row["folder"], "entry": entry, "about": about, "origin": "PFS1",
             "cn_min": first, "cn_max": last, "relayed": False}
            for row in replicas for entry in ("applied", "empty") for about in (label(row["store"], row["life"]), "PFS9")
            for first, last in (pieces if drawn.random() < 0.9 else [(1, 3)])
        ]  # fmt: skip
        rows = {
            "replicas": replicas,
            "state": state,
            "stores": [{"org": ORG, "store": name, "retired": False} for name in stores],
        }
        found = Stores({name: rows_of(name, rows.get(name, ())) for name in EVERY}, ORG)
        held = {folder: {cntext.show(found.held(*here)) for here in there if here[1] == folder} for folder in folders}
        alike = all(len(each) <= 1 for each in held.values())
        assert converged(found) == equal(found) == alike
        shown = {folder: {cntext.show(found.content(*here)) for here in there if here[1] == folder} for folder in folders}
        assert unlike(found) == {folder for folder, each in shown.items() if len(each) > 1}
        said[alike] += 1
    assert min(said) > 10
