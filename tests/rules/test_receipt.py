"""Receiving, as frames: what is new of what a message carries, and whether it is accepted at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pfspark import cntext
from pfspark.rules import receipt
from tests.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HELD = {"PFS3": "PFS1:1-11:17,PFS2:1-20", "PFS4": ""}
RANGES = "org string, store string, folder string, origin string, cn_min bigint, cn_max bigint"


def ranges(spark: SparkSession, sets: dict[str, str], folder: str = "/F", message: str = "") -> DataFrame:
    rows = [
        ("o", store, folder, origin, low, high, message)
        for store, text in sets.items()
        for origin, spans in cntext.parse(text).items()
        for low, high in spans
    ]
    return frame_of(spark, rows, f"{RANGES}, message_id string")


@pytest.mark.rule("R34", "R36", "R73", "R74")
def test_only_numbers_not_held_of_that_folder_by_that_store_are_kept(spark: SparkSession) -> None:
    """The same numbers by two messages, to a store that holds some and to one that holds none, and in another folder."""
    held = ranges(spark, HELD).drop("message_id")
    brought = "PFS1:10-13:17,PFS2:20-21"
    mail = [(store, folder, message) for store in HELD for folder in ("/F", "/G") for message in ("from PFS1", "from PFS2")]
    carried = [ranges(spark, {store: brought}, folder, message) for store, folder, message in mail]
    frame = carried[0]
    for each in carried[1:]:
        frame = frame.unionByName(each)
    found: dict[tuple[str, str], cntext.CnSet] = {}
    for row in receipt.sift(frame, applied=held).collect():
        key = row["store"], row["folder"]
        found[key] = cntext.union(found.get(key, {}), {row["origin"]: ((row["cn_min"], row["cn_max"]),)})
    assert {key: cntext.show(numbers) for key, numbers in found.items()} == {
        ("PFS3", "/F"): "PFS1:12-13,PFS2:21",
        ("PFS3", "/G"): brought,
        ("PFS4", "/F"): brought,
        ("PFS4", "/G"): brought,
    }


@pytest.mark.rule("R1")
def test_content_is_accepted_where_a_replica_stands(spark: SparkSession) -> None:
    """By the standing of the recipient's replica, and by what it knows of the folder where it has none."""
    expected = {
        "active": None, "delete pending": None, "delete now": "no_replica_here", "erased": "no_replica_here",
        "none": "no_replica_here", "none, folder deleted": "folder_deleted", "none, folder unknown": "unknown_folder",
    }  # fmt: skip
    mail = frame_of(spark, [("o", name, "/F") for name in expected], "org string, recipient string, folder string")
    stands = [("o", name, "/F", name) for name in expected if not name.startswith("none")]
    knows = [("o", name, "/F", name.endswith("deleted")) for name in expected if not name.endswith("unknown")]
    validated = receipt.validate(
        mail,
        replicas=frame_of(spark, stands, "org string, store string, folder string, standing string"),
        folders=frame_of(spark, knows, "org string, store string, folder string, dead boolean"),
    )
    assert {row["recipient"]: row["reason"] for row in validated.collect()} == expected
