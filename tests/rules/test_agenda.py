"""When a folder is looked at again: what is due, what ends, when the night comes (F56)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from chispa import assert_df_equality

from pfspark.rules import agenda
from pfspark.rules.frames import elsewhere
from pfspark.words import Why
from tests.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
HERE = "org string, store string, folder string"
ENTRIES_NAMES = ("org", "store", "folder", "why", "peer", "attempt", "since", "due")
ENTRIES = f"{HERE}, why string, peer string, attempt bigint, since timestamp, due timestamp"


def entries(spark: SparkSession, *rows: tuple[Any, ...]) -> DataFrame:
    """Entries of store A in folder A:1 by why, peer, due, attempt."""
    full = [("o", "A", "A:1", why, peer, attempt, None, due) for why, peer, due, attempt in rows]
    return frame_of(spark, full, ENTRIES)


@pytest.mark.parametrize(("later", "is_due"), [(-1, True), (0, True), (1, False)])
def test_what_is_due_is_due_to_the_microsecond(spark: SparkSession, later: int, is_due: bool) -> None:
    rows = entries(spark, ("send", "", NOW + timedelta(microseconds=later), 0))
    clock = frame_of(spark, [("o", NOW)], "org string, now timestamp")
    nobody = frame_of(spark, [("another", NOW)], "org string, now timestamp")
    assert_df_equality(agenda.due(rows, clock=clock), rows if is_due else rows.limit(0), ignore_nullable=True)
    assert agenda.due(rows, clock=nobody).count() == 0


def test_what_changes_is_said_and_nothing_else(spark: SparkSession) -> None:
    """An entry that stays yields no row; one decided anew and not wanted ends; one not decided stays."""
    later = NOW + timedelta(hours=1)
    known = entries(spark, ("send", "", NOW, 0), ("backfill", "", NOW, 0), ("inquire", "B", NOW, 1), ("inquire", "C", NOW, 1))
    wanted = entries(spark, ("backfill", "", later, 0), ("inquire", "B", NOW, 1), ("status", "", later, 0))
    anew = frame_of(spark, [("o", "A", "A:1", why) for why in ("send", "backfill")], f"{HERE}, why string")
    clock = frame_of(spark, [("o", NOW)], "org string, now timestamp")
    changed = agenda.update(known, wanted=wanted.select(*known.columns), anew=anew, clock=clock)
    assert {row["at"] for row in changed.collect()} == {NOW.replace(tzinfo=None)}
    expected = entries(spark, ("send", "", None, 0), ("backfill", "", later, 0), ("status", "", later, 0))
    assert_df_equality(changed.drop("at"), expected, ignore_row_order=True, ignore_nullable=True)


@pytest.mark.parametrize(
    ("clock", "night"),
    [
        ("00:00", "2026-01-05T02:00"), ("01:59:59", "2026-01-05T02:00"), ("02:00", "2026-01-06T02:00"),
        ("12:00", "2026-01-06T02:00"),
    ],
)  # fmt: skip
def test_the_night_comes_once_a_day(spark: SparkSession, clock: str, night: str) -> None:
    """At two o'clock it is the next day's: this one's maintenance is this round's."""
    now = datetime.fromisoformat(f"2026-01-05T{clock}+00:00")
    clock = frame_of(spark, [("o", now, 7200)], "org string, now timestamp, maintenance_s bigint")
    keys = frame_of(spark, [("o", "A", "A:1")] * 2, HERE)
    expected = [("o", "A", "A:1", datetime.fromisoformat(f"{night}+00:00"))]
    assert_df_equality(
        agenda.maintenance(keys, clock=clock), frame_of(spark, expected, f"{HERE}, due timestamp"), ignore_nullable=True
    )


def test_an_erased_replica_has_nothing_to_do(spark: SparkSession) -> None:
    replicas = frame_of(
        spark,
        [("o", "A", "A:1", "erased"), ("o", "B", "A:1", "active"), ("o", "C", "A:1", "delete now")],
        f"{HERE}, standing string",
    )
    none = frame_of(spark, [], HERE)
    looked_at = frame_of(spark, [("o", "A", "A:1")], HERE)
    decided = agenda.decided(looked_at, quiet=none, replicas=replicas)
    assert {(row["store"], row["why"]) for row in decided.collect()} == {("A", str(why)) for why in Why}
    assert not agenda.decided(none, quiet=none, replicas=replicas).count()
    some = entries(spark, ("send", "", NOW, 0)).drop("store").crossJoin(replicas.select("store")).select(*ENTRIES_NAMES)
    assert {row["store"] for row in elsewhere(some, agenda.erased(replicas)).collect()} == {"B", "C"}
    assert [row["store"] for row in agenda.to_erase(replicas).collect()] == ["C"]


def test_what_is_due_at_a_store_that_is_down_waits(spark: SparkSession) -> None:
    """One that is cut off goes on by itself."""
    here = [("o", store, "A:1", "send", "", 0, None, NOW) for store in ("A", "B", "C")]
    conditions = frame_of(
        spark,
        [("o", "A", False, True), ("o", "B", True, False), ("another", "C", False, True)],
        "org string, store string, cut boolean, down boolean",
    )
    awake = agenda.awake(frame_of(spark, here, ENTRIES), conditions=conditions)
    assert {row["store"] for row in awake.collect()} == {"B", "C"}
