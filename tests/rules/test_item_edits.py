"""Edits of items: who gets a number, and what a change says that it was made upon."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from pfspark.rules import item_edits
from pfspark.words import Reason
from tests.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

AT = datetime(2026, 1, 5, 12, tzinfo=UTC)
KEY = "org string, store string, folder string"
UPON = "array<struct<origin:string,cn:bigint>>"
EDITS = (
    f"{KEY}, nth int, edit_id string, action string, item string, name string, reason string, upon {UPON}, known_as string, "
    "at timestamp"
)


def validated(
    spark: SparkSession, *said: tuple[str, int, str, str | None, str | None, list[tuple[str, int]] | None]
) -> DataFrame:
    """Edits in the folder F of A or B: store, place, action, item, reason, and what they are made upon."""
    rows = [
        ("o", store, "F", nth, f"{store} {nth}", action, item, None, reason, upon, "known" if upon else None, AT)
        for store, nth, action, item, reason, upon in said
    ]
    return frame_of(spark, rows, EDITS)


def numbered(spark: SparkSession, edits: DataFrame) -> DataFrame:
    """A, in its second life, has given seven numbers; B none."""
    return item_edits.number(
        edits,
        replicas=frame_of(spark, [("o", "A", "F", 2), ("o", "B", "F", 1)], f"{KEY}, life int"),
        numbers=frame_of(spark, [("o", "A", "F", "A~2", 7), ("o", "B", "F", "B", 0)], f"{KEY}, label string, last bigint"),
    )


@pytest.mark.rule("R31", "R47")
def test_numbers_rise_by_one_and_the_refused_use_none_up(spark: SparkSession) -> None:
    """In the order of their places, in each folder of each store by itself; who is refused is told so, and has none."""
    no = Reason.UNKNOWN_ITEM
    edits = validated(
        spark,
        ("A", 3, "post", None, None, None), ("A", 1, "modify", "gone", no, None), ("A", 2, "post", None, None, None),
        ("A", 4, "delete", "gone", no, None), ("A", 5, "post", None, None, None), ("B", 1, "post", None, None, None),
        ("C", 1, "post", None, Reason.NO_REPLICA_HERE, None),
    )  # fmt: skip
    found = {(row["store"], row["nth"]): (row["cn"], row["reason"]) for row in numbered(spark, edits).collect()}
    assert found == {
        ("A", 1): (None, no), ("A", 2): (8, None), ("A", 3): (9, None), ("A", 4): (None, no), ("A", 5): (10, None),
        ("B", 1): (1, None), ("C", 1): (None, Reason.NO_REPLICA_HERE),
    }  # fmt: skip
    labels = {row["store"]: row["label"] for row in numbered(spark, edits).where("reason is null").collect()}
    assert labels.keys() == {"A", "B"} and labels["A"] != labels["B"]


@pytest.mark.rule("R32")
def test_a_change_is_made_upon_what_its_store_sees_and_upon_the_one_before(spark: SparkSession) -> None:
    """F12: all versions that the store sees, then of its own the last; a post upon nothing; of the refused there is no change."""
    seen = [("B", 4), ("C", 2)]
    edits = validated(
        spark,
        ("A", 1, "post", None, None, None), ("A", 2, "modify", "C:1", None, seen), ("A", 3, "modify", "C:1", None, seen),
        ("A", 4, "modify", "@A 1", None, None), ("A", 5, "modify", "gone", Reason.UNKNOWN_ITEM, None),
    )  # fmt: skip
    taken = item_edits.taken(numbered(spark, edits))
    posts, changing = item_edits.posted(taken), item_edits.changing(taken)
    recorded = item_edits.record_posts(posts, changing=changing), item_edits.record_changes(changing, posts=posts)
    written: dict[int, Any] = {row["nth"]: row for frame in recorded for row in frame.collect()}
    own = written[1]["label"]
    upon = {nth: [(one["origin"], one["cn"]) for one in row["predecessors"]] for nth, row in written.items()}
    assert upon == {1: [], 2: seen, 3: sorted([*seen, (own, 9)]), 4: [(own, 8)]}
    assert (written[4]["object"], written[2]["object"], written[2]["name"]) == (written[1]["object"], "C:1", "known")


def as_of_their_places(spark: SparkSession) -> DataFrame:
    """Edits at A and B, each named by store, folder and place, beside a round's edits of folders: A makes a folder by `new`, is
    taken off the list of F at the second place and put on it at the fourth, and G goes at the third."""
    where = [("A", "F", 1), ("A", "F", 3), ("A", "F", 5), ("B", "F", 5), ("A", "G", 2), ("A", "G", 4), ("A", "@new", 6),
             ("A", "@refused", 7), ("B", "N", 1), ("B", "D", 1), ("B", "U", 1), ("B", "1-1", 1)]  # fmt: skip
    edits = [("o", store, folder, nth, f"{store} {folder} {nth}", None) for store, folder, nth in where]
    made = [("o", "new", "create_folder", "A:9", None), ("o", "refused", "create_folder", None, Reason.BAD_VALUE)]
    as_of = item_edits.as_of(
        placed := frame_of(spark, edits, f"{KEY}, nth int, edit_id string, reason string"),
        folder_edits=frame_of(spark, made, "org string, edit_id string, action string, object string, reason string"),
        entries=frame_of(spark, [("o", "A", "F", 2, False), ("o", "A", "F", 4, True)], f"{KEY}, nth int, on boolean"),
        deleted=frame_of(spark, [("o", "A", "G", 3)], f"{KEY}, since int"),
    )
    stands = [("A", "F", "active"), ("A", "G", "active"), ("B", "F", "delete pending"), ("A", "A:9", "active")]
    known = [*((store, folder, False) for store, folder, _ in stands), ("B", "N", False), ("B", "D", True)]
    return item_edits.validate_places(
        placed,
        as_of=as_of,
        standing=frame_of(spark, [("o", *row) for row in stands], f"{KEY}, standing string"),
        folders=frame_of(spark, [("o", *row) for row in known], f"{KEY}, dead boolean"),
    )


@pytest.mark.rule("R22")
def test_an_edit_is_validated_by_the_place_where_it_stands(spark: SparkSession) -> None:
    """D2: by the replica as it was before the round, and by the edits of folders that come before it, not by those after it. A
    folder of this round is called by its edit."""
    validated = as_of_their_places(spark).collect()
    off = Reason.NO_REPLICA_HERE
    assert {row["edit_id"]: (row["folder"], row["reason"]) for row in validated} == {
        "A F 1": ("F", None), "A F 3": ("F", off), "A F 5": ("F", None), "B F 5": ("F", off),
        "A G 2": ("G", None), "A G 4": ("G", Reason.FOLDER_DELETED),
        "A @new 6": ("A:9", None), "A @refused 7": ("@refused", Reason.UNKNOWN_FOLDER),
        "B N 1": ("N", off), "B D 1": ("D", Reason.FOLDER_DELETED), "B U 1": ("U", Reason.UNKNOWN_FOLDER),
        "B 1-1 1": ("1-1", Reason.UNKNOWN_FOLDER),
    }  # fmt: skip
