"""What edits name by the edit that makes it, before that has an id."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pfspark.references import became, named_by, resolved, with_ids
from pfspark.rows import rows_of

AT = datetime(2026, 1, 5, tzinfo=UTC)
CHANGES = rows_of(
    "changes",
    [
        {"org": "o", "edit_id": "made", "folder": "1-1", "object": "P1:7", "at": AT},
        {"org": "o", "edit_id": "twice", "folder": "P1:7", "object": "P9:9", "at": AT},
        {"org": "o", "edit_id": "twice", "folder": "P1:7", "object": "P1:1", "at": AT + timedelta(days=9)},
        {"org": "p", "edit_id": "made", "folder": "1-1", "object": "P1:8", "at": AT},
        {"org": "o", "edit_id": None, "folder": "1-1", "object": "P1:5", "at": AT},
    ],
)
EDITS = rows_of(
    "edits",
    [
        {"org": "o", "edit_id": "a", "folder": "@made", "item": "@twice", "properties": [("parent", "@made")]},
        {"org": "p", "edit_id": "b", "folder": "@made", "item": "@twice", "properties": [("name", "@made"), ("parent", "@made")]},
        {"org": "o", "edit_id": "c", "folder": "@waits", "item": None, "properties": [("parent", "@waits"), ("name", "x")]},
        {"org": "o", "edit_id": "d", "folder": "made", "item": "P1:5", "properties": None},
        {"org": "o", "edit_id": "e", "folder": None, "item": None, "properties": [("parent", "")]},
    ],
)


def test_what_edits_name_is_resolved_where_it_was_taken_in() -> None:
    """In its organization, and as what it became last; names and what waits stay, and so does the order of the rows."""
    found = resolved(EDITS, CHANGES)
    assert found.schema == EDITS.schema
    assert found.drop_columns(["folder", "item", "properties"]) == EDITS.drop_columns(["folder", "item", "properties"])
    assert [(row["edit_id"], row["folder"], row["item"], row["properties"]) for row in found.to_pylist()] == [
        ("a", "P1:7", "P1:1", [("parent", "P1:7")]),
        ("b", "P1:8", "@twice", [("name", "@made"), ("parent", "P1:8")]),
        ("c", "@waits", None, [("parent", "@waits"), ("name", "x")]),
        ("d", "made", "P1:5", None),
        ("e", None, None, [("parent", "")]),
    ]
    assert with_ids({"edits": EDITS, "changes": CHANGES})["edits"] == found
    assert resolved(found, CHANGES) == found


def test_where_nothing_was_taken_in_edits_are_as_they_were() -> None:
    for edits, changes in ((EDITS, CHANGES.slice(0, 0)), (EDITS.slice(0, 0), CHANGES), (EDITS.slice(2), CHANGES)):
        assert resolved(edits, changes) == edits


def test_what_an_edit_became_is_told_once() -> None:
    named = named_by(EDITS)
    assert {tuple(row.values()) for row in named.to_pylist()} == {
        ("o", "made"), ("o", "twice"), ("p", "made"), ("p", "twice"), ("o", "waits"),
    }  # fmt: skip
    assert {tuple(row.values()) for row in became(CHANGES, named).to_pylist()} == {
        ("o", "made", "P1:7"), ("o", "twice", "P1:1"), ("p", "made", "P1:8"),
    }  # fmt: skip
