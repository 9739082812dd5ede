"""Which items grow old, when, and what of them is settled without content (F56-F58)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from chispa import assert_df_equality

from pfspark.rules import aging, hierarchy
from pfspark.words import LONGEST_S
from tests.frames import by_org, frame_of

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

NOW = datetime(2026, 1, 5, 2, tzinfo=UTC)
DAY = 86_400
BAD = ("soon", "0", "-1", str(LONGEST_S + 1), "9" * 40, "")
LIMITS: dict[str, tuple[str | None, int | None, int | None]] = {  # what the folder says, what the policy says; the limit
    "neither": (None, None, None),
    "the policy's": (None, 30 * DAY, 30 * DAY),
    "the folder's own before the policy's": (str(DAY), 30 * DAY, DAY),
    "though it is longer": (str(60 * DAY), 30 * DAY, 60 * DAY),
    "the folder's": (str(DAY), None, DAY),
    "none": ("none", 30 * DAY, None),
    **{f"no limit: {bad}": (bad, 30 * DAY, 30 * DAY) for bad in BAD},
}
GROWS = {("active", "A:1"): True, ("delete pending", "A:1"): True, ("delete now", "A:1"): False, ("erased", "A:1"): False,
         ("active", "1-1"): False}  # fmt: skip
"""Whether a replica's items grow old: by how it stands, and by the folder."""


@pytest.fixture(scope="module")
def limited(spark: SparkSession) -> Mapping[str, list[Row]]:
    """The replicas whose items grow old, in each of those cases; those of `GROWS` by the policy."""
    replicas = [(case, "A", "A:1", "active") for case in LIMITS]
    replicas += [(f"{standing} {folder}", "A", folder, standing) for standing, folder in GROWS]
    told = [(case, "A", "A:1", "age_limit", said) for case, (said, *_) in LIMITS.items() if said is not None]
    told += [(org, "A", folder, "name", "7") for org, _, folder, _ in replicas]
    policies = [(case, policy) for case, (_, policy, _) in LIMITS.items()]
    policies += [(f"{standing} {folder}", DAY) for standing, folder in GROWS]
    here = "org string, store string, folder string"
    tree = frame_of(spark, told, f"{here}, property string, value string")
    return by_org(
        aging.limited(
            frame_of(spark, replicas, f"{here}, standing string"),
            limits=hierarchy.properties(tree, names=(aging.OWN_LIMIT,)),
            policies=aging.policies(frame_of(spark, policies, "org string, age_limit_s bigint")),
        )
    )


@pytest.mark.parametrize("case", LIMITS)
def test_the_folder_s_own_limit_comes_first(limited: Mapping[str, list[Row]], case: str) -> None:
    *_, limit = LIMITS[case]
    assert [row.asDict() for row in limited[case]] == (
        [] if limit is None else [{"org": case, "store": "A", "folder": "A:1", "limit_s": limit}]
    )


@pytest.mark.parametrize(("standing", "folder"), GROWS)
def test_who_lives_grows_old(limited: Mapping[str, list[Row]], standing: str, folder: str) -> None:
    assert len(limited[f"{standing} {folder}"]) == GROWS[standing, folder]


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
