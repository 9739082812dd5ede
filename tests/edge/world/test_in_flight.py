"""What is under way, as the tables of a lake say it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pfspark.edge.world import views
from pfspark.rows import local, rows_of, schema_of
from pfspark.tables import EVERY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AT = datetime(2026, 1, 5, tzinfo=UTC)


def message(name: str, *recipients: str) -> dict[str, Any]:
    says = [{"about": "A", "entry": "reported", "origin": "A", "cn_min": 1, "cn_max": 9}]
    to = [{"store": store, "due": AT, "lost": None} for store in recipients]
    return {
        "org": "o",
        "message_id": name,
        "store": "A",
        "sender": "A",
        "folder": "1-1",
        "status": says,
        "recipients": to,
        "at": AT,
    }


def test_mail_has_a_row_for_each_recipient_and_letters_one_for_all(spark: SparkSession) -> None:
    """Of those that somebody has not received yet. No row of mail holds a list of all, or what is said to all: of n stores that
    would be n times as much."""
    messages = [message("both", "B", "C"), message("one", "B", "C"), message("none", "B")]
    had = [("one", "B"), ("none", "B"), ("both", "A")]
    receipts = [{"org": "o", "message_id": name, "store": store} for name, store in had]
    tables = {"messages": messages, "receipts": receipts}
    frames = {name: local(spark, rows_of(name, rows), schema_of(name)) for name, rows in tables.items()}
    mail = views.in_flight(frames["messages"], receipts=frames["receipts"])
    assert sorted(mail.columns) == sorted(column.name for column in EVERY["mail"].columns)
    rows = {(row["message_id"], row["recipient"], row["due"]) for row in mail.toArrow().to_pylist()}
    assert rows == {("both", "B", AT), ("both", "C", AT), ("one", "C", AT)}
    letters = views.still_to_be_read(frames["messages"], mail=mail).toArrow().to_pylist()
    assert sorted(row["message_id"] for row in letters) == ["both", "one"]
    assert letters[0]["status"] == messages[0]["status"]
