"""What was written down is whole: each fault is named, and what is right beside it is not."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from pfspark.rows import local, rows_of, schema_of
from pfspark.rules import history

ORG = "main"


def table(spark: SparkSession, name: str, *rows: dict[str, Any]) -> DataFrame:
    return local(spark, rows_of(name, ({"org": ORG, **row} for row in rows)), schema_of(name))


def message(name: str, type: str, folder: str, *recipients: str, numbers: tuple[int, int] = (1, 3)) -> dict[str, Any]:
    return {
        "message_id": name, "type": type, "folder": folder, "recipients": [{"store": each} for each in recipients],
        "carries": [{"origin": "A", "cn_min": numbers[0], "cn_max": numbers[1]}],
    }  # fmt: skip


def receipt(name: str | None, store: str, **more: Any) -> dict[str, Any]:
    return {"message_id": name, "store": store, **more}


def test_what_was_accepted_is_held(spark: SparkSession) -> None:
    """B has forgotten a number of two messages, C holds all, and of D nothing came."""
    came = {"m1": ("B", (1, 3)), "m2": ("B", (4, 6)), "m3": ("C", (1, 6))}
    mail = ({**message(name, "0x4", "A:1", numbers=range), "recipient": to} for name, (to, range) in came.items())
    held = [("B", 1, 2), ("B", 4, 6), ("C", 1, 9)]
    state = ({"store": store, "folder": "A:1", "origin": "A", "cn_min": low, "cn_max": high} for store, low, high in held)
    lost = history.not_kept(table(spark, "mail", *mail), held=table(spark, "state", *state)).collect()
    assert [tuple(row) for row in lost] == [(ORG, "B", "A:1", "A", 3, 3)]


def test_folders_are_no_content_and_items_no_hierarchy(spark: SparkSession) -> None:
    sent = [message(f"{type} of {folder}", type, folder) for type in ("0x2", "0x4", "0x8", "0x10") for folder in ("1-1", "A:1")]
    sent += [message(f"{type} of 1-1", type, "1-1") for type in ("0x80000002", "0x80000004")]
    mixed = history.mixed_subjects(table(spark, "messages", *sent)).collect()
    assert {row["message_id"] for row in mixed} == {"0x2 of A:1", "0x4 of 1-1", "0x80000004 of 1-1"}


def test_a_message_is_received_where_it_was_sent_once(spark: SparkSession) -> None:
    """Of a message on its way there is no receipt; of an edit there is one without a message. Two may not have one name."""
    sent = table(
        spark, "messages", message("m1", "0x4", "A:1", "B", "C"), message("m2", "0x4", "A:1", "B"),
        message("m4", "0x4", "A:1", "B"), message("m4", "0x4", "A:1", "B", "C"),
    )  # fmt: skip
    got = table(
        spark, "receipts", receipt("m1", "B"), receipt("m1", "B"), receipt("m1", "C"), receipt("m2", "C"), receipt("m3", "B"),
        receipt(None, "A", edit_id="e"),
    )  # fmt: skip
    odd = history.unaccounted(sent, receipts=got).collect()
    assert {(row["message_id"], row["store"], row["sent"], row["received"]) for row in odd} == {
        ("m1", "B", 1, 2), ("m2", "C", 0, 1), ("m3", "B", 0, 1), ("m4", "B", 2, 0),
    }  # fmt: skip


def test_rounds_have_the_rows_that_the_ledger_counts(spark: SparkSession) -> None:
    """A row went from one round, came to another, and to one that has written none; `state` may be written shorter."""
    rounds = table_of_rounds(spark, {1: {}, 2: {"changes": 2, "state": 9}, 3: {"changes": 1, "replicas": 1}})
    changes = table(spark, "changes", *({"round": number} for number in (1, 2, 3, 3)))
    replicas = table(spark, "replicas", {"round": 3})
    wrong = history.miscounted(rounds, changes=changes, replicas=replicas).collect()
    assert {tuple(row) for row in wrong} == {(1, "changes", 1, 0), (2, "changes", 1, 2), (3, "changes", 2, 1)}


def table_of_rounds(spark: SparkSession, counts: dict[int, dict[str, int]]) -> DataFrame:
    rows = [{"round": number, "counts": list(some.items())} for number, some in counts.items()]
    return local(spark, rows_of("rounds", rows), schema_of("rounds"))


def test_a_change_says_what_its_edit_said(spark: SparkSession) -> None:
    """An edit that came twice under one name is told by whichever fits; of a folder only the edit must be there."""
    edits = [
        {"edit_id": "a", "action": "post", "name": "one", "size": 3, "hash": "x"},
        {"edit_id": "a", "action": "post", "name": "two", "size": 4, "hash": "y"},
        {"edit_id": "b", "action": "delete", "size": None},
        {"edit_id": "f", "action": "create_folder", "size": 0},
    ]
    first = {"folder": "A:1", "origin": "A", "edit_id": "a", "action": "post", "name": "two", "size": 4, "hash": "y"}
    changes = [
        {**first, "cn": 1}, {**first, "cn": 2, "name": "one"}, {**first, "cn": 3, "hash": "x"}, {**first, "cn": 4, "size": 3},
        {**first, "cn": 5, "edit_id": "c"}, {**first, "cn": 6, "edit_id": None}, {**first, "cn": 7, "action": "modify"},
        {**first, "cn": 8, "edit_id": "b", "action": "delete", "name": "known before", "size": 0, "hash": None},
        {"folder": "1-1", "origin": "A", "cn": 9, "edit_id": "f", "action": "create_folder", "size": 99},
        {"folder": "1-1", "origin": "A", "cn": 10, "edit_id": "g", "action": "create_folder", "size": 99},
    ]  # fmt: skip
    found = history.unlike_their_edits(table(spark, "changes", *changes), edits=table(spark, "edits", *edits)).collect()
    assert {row["cn"] for row in found} == {2, 3, 4, 5, 7, 10}


def test_a_change_says_how_large_its_body_is(spark: SparkSession) -> None:
    bodies = local(spark, rows_of("content", [{"hash": "x", "size": 3}, {"hash": "x", "size": 3}]), schema_of("content"))
    changes = ({"folder": "A:1", "origin": "A", "cn": cn, "size": size, "hash": "x"} for cn, size in ((1, 3), (2, 4)))
    assert [row["cn"] for row in history.missized(table(spark, "changes", *changes), content=bodies).collect()] == [2]
