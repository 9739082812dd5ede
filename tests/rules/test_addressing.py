"""Letters and their ids, as frames."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from pfspark.rules import addressing
from pfspark.tables import CLAIM, RANGE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEY = "org string, store string, folder string"
LETTERS = f"""{KEY}, type string, peers array<string>, carries array<{RANGE}>, asks array<{RANGE}>, responders array<string>,
flags array<string>, bytes bigint"""


@pytest.mark.rule("R48")
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_an_id_tells_time_and_order_whatever_the_zone(spark: SparkSession, zone: str) -> None:
    """A moment that New York has twice; what a label's life is goes before its text, as in messages."""
    now = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
    here = ("o", "P1", "P1:1")
    batches = [[("P1~2", 1, 2)], [("P1", 8, 9), ("P1~2", 3, 3)], [("P1", 1, 7)], [("P10", 1, 1)]]
    letters = [(*here, "0x4", ["P2"], carries, [], [], [], 0) for carries in batches]
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        rows = addressing.address(
            spark.createDataFrame(letters, LETTERS),
            status=spark.createDataFrame([], f"{KEY}, status array<{CLAIM}>"),
            limits=spark.createDataFrame([], f"{KEY}, priority string"),
            replicas=spark.createDataFrame([(*here, 2)], f"{KEY}, life bigint"),
            delays=spark.createDataFrame([], "org string, store string, delays map<string,bigint>"),
            conditions=spark.createDataFrame([], "org string, store string, cut boolean"),
            clock=spark.createDataFrame([("o", now)], "org string, now timestamp"),
        ).collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    found = {row["message_id"]: (row["carries"][0]["origin"], row["carries"][0]["cn_min"]) for row in rows}
    begins = "001793511000000000/P1~2/0x4/P1:1"
    assert found == {f"{begins}/1": ("P1", 1), f"{begins}/2": ("P1", 8), f"{begins}/3": ("P1~2", 1), f"{begins}/4": ("P10", 1)}
