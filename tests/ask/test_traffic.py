"""What was open between stores, as figures."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pfspark.ask import traffic
from pfspark.rows import arrow, local, rows_of, struct
from pfspark.tables import TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

START = datetime(2026, 1, 5, tzinfo=UTC)
KEY = "org string, store string, folder string"
RANGE = f"{KEY}, origin string, cn_min bigint, cn_max bigint, at timestamp"


def test_a_number_is_open_until_it_comes_or_its_replica_goes(spark: SparkSession) -> None:
    """P1 hears of four, gets one, and is taken off the list; of another folder, and after its return, it hears of more."""

    def frame(columns: str, *rows: tuple[Any, ...]) -> DataFrame:
        schema = struct(columns)
        named = [{**dict(zip(schema.names, row, strict=True)), "at": START + timedelta(minutes=row[-1])} for row in rows]
        return local(spark, arrow(schema, named), schema)

    here, there = ("o", "P1", "F"), ("o", "P1", "G")
    heard = frame(
        RANGE.replace("at ", "step string, at "),
        (*here, "P2", 1, 4, "heard", 10), (*there, "P2", 1, 3, "heard", 15), (*here, "P2", 7, 7, "asked", 16),
        (*here, "P2", 2, 3, "heard", 50),
    )  # fmt: skip
    state = frame(
        RANGE.replace("origin ", "entry string, about string, origin "), (*here, "applied", "P1", "P2", 1, 1, 20),
        (*here, "sent", "P1", "P2", 1, 4, 21), (*here, "applied", "P1~2", "P2", 2, 3, 60),
    )  # fmt: skip
    replicas = frame(
        f"{KEY}, standing string, at timestamp", (*here, "delete pending", 25), (*here, "delete now", 30), (*here, "erased", 40),
        (*here, "active", 45),
    )  # fmt: skip
    found = traffic.open_numbers(heard, state, replicas).collect()
    so_far = {(row["at"].astimezone(UTC) - START).seconds // 60: row["open"] for row in found}
    assert so_far == {10: 4, 15: 7, 20: 6, 30: 3, 50: 5, 60: 3}


def test_what_a_line_delivers_twice_was_sent_once(spark: SparkSession) -> None:
    def to(store: str) -> dict[str, Any]:
        return {"store": store, "due": START, "lost": None}

    sent = {"org": "o", "type": "0x4", "store": "P1", "folder": "F", "at": START, "bytes": 7}
    rows = [
        {**sent, "message_id": "m", "flags": [], "recipients": [to("P2"), to("P3")]},
        {**sent, "message_id": "m/copy", "flags": ["copy"], "recipients": [to("P2")]},
    ]
    schema = struct(TABLES["messages"].ddl)
    found = traffic.letters(local(spark, rows_of("messages", rows), schema)).toArrow().to_pylist()
    assert {(row["message_id"], row["peer"], row["bytes"]) for row in found} == {("m", "P2", 7), ("m", "P3", 7)}
