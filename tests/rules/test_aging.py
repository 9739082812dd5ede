"""Which items grow old, when, and what of them is settled without content (F56-F58)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from chispa import assert_df_equality

from pfspark.rules import aging, hierarchy
from pfspark.words import LONGEST_S
from tests.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOW = datetime(2026, 1, 5, 2, tzinfo=UTC)
DAY = 86_400
LIMITED = "org string, store string, folder string, limit_s bigint"


def limited(
    spark: SparkSession, said: str | None, policy: int | None, standing: str = "active", folder: str = "A:1"
) -> DataFrame:
    replicas = frame_of(spark, [("o", "A", folder, standing)], "org string, store string, folder string, standing string")
    told = [] if said is None else [("o", "A", folder, "age_limit", said)]
    tree = frame_of(
        spark, [*told, ("o", "A", folder, "name", "7")], "org string, store string, folder string, property string, value string"
    )
    clock = frame_of(spark, [("o", policy)], "org string, age_limit_s bigint")
    limits = hierarchy.properties(tree, names=(aging.OWN_LIMIT,))
    return aging.limited(replicas, limits=limits, policies=aging.policies(clock))


@pytest.mark.parametrize(
    ("said", "policy", "limit"),
    [
        (None, None, None),
        (None, 30 * DAY, 30 * DAY),
        (str(DAY), 30 * DAY, DAY),  # the folder's own before the policy's
        (str(60 * DAY), 30 * DAY, 60 * DAY),
        (str(DAY), None, DAY),
        ("none", 30 * DAY, None),
        *((bad, 30 * DAY, 30 * DAY) for bad in ("soon", "0", "-1", str(LONGEST_S + 1), "9" * 40, "")),
    ],
)
def test_the_folder_s_own_limit_comes_first(spark: SparkSession, said: str | None, policy: int | None, limit: int | None) -> None:
    expected = [] if limit is None else [("o", "A", "A:1", limit)]
    assert_df_equality(limited(spark, said, policy), frame_of(spark, expected, LIMITED), ignore_nullable=True)


@pytest.mark.parametrize(
    ("standing", "folder", "grows"),
    [("active", "A:1", True), ("delete pending", "A:1", True), ("delete now", "A:1", False), ("erased", "A:1", False),
     ("active", "1-1", False)],
)  # fmt: skip
def test_who_lives_grows_old(spark: SparkSession, standing: str, folder: str, grows: bool) -> None:
    assert limited(spark, None, DAY, standing, folder).count() == grows


@pytest.mark.parametrize("night", [True, False])
def test_a_limit_that_comes_by_the_night_counts_that_night(spark: SparkSession, night: bool) -> None:
    """Of folders that had none before; one that had waits for its own night, and one without a limit has none, nor one of which
    the replica has only begun."""
    here = "org string, store string, folder string"
    rows = [("o", "A", folder, DAY) for folder in ("new", "noted", "due", "begun", "reborn")]
    limited = frame_of(spark, rows, f"{here}, limit_s bigint")
    noted = frame_of(spark, [("o", "A", folder) for folder in ("noted", "due", "unlimited")], here)
    stood = {"new": "delete pending", "noted": "active", "due": "active", "unlimited": "active", "reborn": "erased"}
    before = frame_of(spark, [("o", "A", *each) for each in stood.items()], f"{here}, standing string")
    clock = frame_of(spark, [("o", NOW, night)], "org string, now timestamp, night boolean")
    newly = aging.newly_limited(limited, noted=noted, before=before, tonight=aging.tonight(clock))
    due = noted.where("folder = 'due'")
    looked_at = aging.at_night(limited, due=due, newly=newly, clock=clock).collect()
    assert sorted((row["folder"], row["now"].replace(tzinfo=UTC), row["limit_s"]) for row in looked_at) == [
        (folder, NOW, DAY) for folder in (["due", "new"] if night else ["due"])
    ]


def test_items_expire_whole_by_what_a_reader_sees(spark: SparkSession) -> None:
    """The limit is reached to the microsecond; one modified since, one deleted, and another folder's stay."""
    here = "org string, store string, folder string"
    night = frame_of(spark, [("o", "A", "A:1", DAY, NOW)], f"{here}, limit_s bigint, now timestamp")
    old, young = NOW - timedelta(days=1), NOW - timedelta(days=1) + timedelta(microseconds=1)
    versions = [  # object, origin, cn, action, made at
        ("A:1", "old", "A", 1, "post", old), ("A:1", "old", "B", 7, "modify", old - timedelta(days=5)),
        ("A:1", "young", "A", 2, "post", young),
        ("A:1", "modified", "A", 3, "post", old), ("A:1", "modified", "A", 4, "modify", NOW),
        ("A:1", "deleted", "A", 5, "post", old), ("A:1", "deleted", "A", 6, "delete", old),
        ("A:9", "elsewhere", "A", 8, "post", old),
    ]  # fmt: skip
    columns = f"{here}, object string, origin string, cn bigint, action string, made_at timestamp"
    seen = frame_of(spark, [("o", "A", *row) for row in versions], columns)
    winners = seen.where("origin = 'A' and cn in (1, 2, 4, 6, 8)")
    expected = [("o", "A", "A:1", "A", 1, 1), ("o", "A", "A:1", "B", 7, 7)]
    assert_df_equality(
        aging.expire(seen, winners=winners, night=night),
        frame_of(spark, expected, f"{here}, origin string, cn_min bigint, cn_max bigint"),
        ignore_row_order=True,
        ignore_nullable=True,
    )
