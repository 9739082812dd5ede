"""Options, their texts, and the profiles of `conf/`."""

from __future__ import annotations

import pickle
from datetime import time, timedelta
from pathlib import Path

import pytest

from pfspark import tables
from pfspark.errors import ProfileError, UsageError
from pfspark.settings import Policy, differences, load_profile, override, profile_names

CONF = Path(__file__).parents[1] / "conf"
HOUR = timedelta(hours=1)
PROFILES = ("exchange_2000", "exchange_2003", "exchange_2007", "modern")


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_profile("exchange_2007", CONF)


# --- profiles ---------------------------------------------------------------------------------------------------------


def test_the_profiles_are_those_of_the_design() -> None:
    assert tuple(profile_names(CONF)) == PROFILES


TABLE = {
    "source_order": ("six_groups", "five_keys", "five_keys", "five_keys"),
    "partial_sources": ("last_group_then_cover", "cover", "cover", "cover"),
    "preferred_source": (False, True, True, True),
    "backfill_timeouts_local": ((6 * HOUR, 12 * HOUR, 24 * HOUR),) * 3 + ((HOUR / 12, HOUR / 4, HOUR),),
    "backfill_timeouts_remote": ((12 * HOUR, 24 * HOUR, 48 * HOUR),) * 3 + ((HOUR / 4, HOUR, 4 * HOUR),),
    "delete_pending_timeout": (HOUR / 12,) * 4,
    "responders_list_change": ("three_and_oldest", "all", "all", "all"),
    "responders_restore": ("three_and_oldest", "three", "three", "all"),
    "answer_when": ("has_more", "has_more", "has_more", "always"),
    "status_after": (24 * HOUR, 24 * HOUR, 24 * HOUR, HOUR),
    "status_clock": ((time(0, 15), time(12, 15)),) * 2 + ((),) * 2,
    "status_again": (None, None, None, (HOUR, 24 * HOUR)),
    "startup_status": ("off",) * 4,
    "relay_status": (True,) * 4,
    "removal_rule": ("one_holds_all",) * 4,
    "hierarchy_merge": ("object", "object", "object", "property"),
    "folders_per_hierarchy_message": (20, None, None, None),
    "interval": (HOUR / 4, HOUR / 4, HOUR / 4, HOUR / 12),
    "size_limit": (307_200, 307_200, 307_200, 4_194_304),
    "maintenance_at": (time(2),) * 4,
}


@pytest.mark.parametrize("option", TABLE)
def test_the_values_are_those_of_the_design(option: str) -> None:
    assert tuple(getattr(load_profile(name, CONF), option) for name in PROFILES) == TABLE[option]


def test_source_orders_are_rows_of_data() -> None:
    assert load_profile("modern", CONF).source_keys == (
        "unavailable",
        "not_preferred",
        "cost",
        "older_version",
        "fewer",
        "store",
    )
    groups = load_profile("exchange_2000", CONF).source_keys
    assert groups[0] == "since_2000 same_site longest_ago"
    assert [row.split()[0] for row in groups] == ["since_2000"] * 3 + ["before_2000"] * 3 + ["store"]


def test_any_profile_may_take_any_source_order(policy: Policy) -> None:
    assert override(policy, {"source_order": "six_groups"}).source_keys == load_profile("exchange_2000", CONF).source_keys
    assert "not_preferred" not in override(policy, {"preferred_source": False}).source_keys


def test_every_profile_names_its_sources() -> None:
    for name in PROFILES:
        lines = (CONF / f"{name}.toml").read_text().splitlines()
        for number, line in enumerate(lines):
            if " = " in line and not line.endswith(" = ["):
                assert "#" in line or lines[number - 1].startswith("#"), f"{name}.toml:{number + 1} names no source"


@pytest.mark.parametrize("name", PROFILES)
def test_columns_are_those_of_the_clock(name: str) -> None:
    given_by_the_runner = {"org", "now", "start", "suspended"}
    columns = load_profile(name, CONF).columns()
    assert set(columns) <= set(tables.VIEWS["clock"].names) - given_by_the_runner
    assert columns["backfill_local_s"] == [21_600, 43_200, 86_400] or name == "modern"


def test_unknown_profile_names_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"'exchange_207' is not known.*the nearest known is 'exchange_2007'"):
        load_profile("exchange_207", CONF)


# --- overrides --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"relay_status": False}, {"relay_status": False}),
        ({"interval": "1h"}, {"interval": HOUR}),
        ({"size_limit": 2048}, {"size_limit": 2048}),
        (
            {"backfill_timeouts": {"local": ["1m", "2m", "3m"]}},
            {"backfill_timeouts_local": (HOUR / 60, HOUR / 30, HOUR / 20)},
        ),
        ({"backfill_timeouts_remote": "1h 2h 3h"}, {"backfill_timeouts_remote": (HOUR, 2 * HOUR, 3 * HOUR)}),
        ({"responders": "three"}, {"responders_list_change": "three", "responders_restore": "three"}),
        ({"responders": {"restore": "all"}}, {"responders_restore": "all"}),
        ({"responders_restore": "all", "responders": "three"}, {"responders_list_change": "three", "responders_restore": "all"}),
        ({"responders": "three", "responders_restore": "all"}, {"responders_list_change": "three", "responders_restore": "all"}),
        ({"status_clock": "12:15,00:15"}, {"status_clock": (time(0, 15), time(12, 15))}),
        ({"status_clock": []}, {"status_clock": ()}),
        ({"status_again": "30m doubling to 4h"}, {"status_again": (HOUR / 2, 4 * HOUR)}),
        ({"folders_per_hierarchy_message": 5}, {"folders_per_hierarchy_message": 5}),
        ({"age_limit": "30d"}, {"age_limit": 720 * HOUR}),
        ({"age_limit": "none"}, {"age_limit": None}),
        ({"maintenance_at": time(3, 30)}, {"maintenance_at": time(3, 30)}),
        ({"conflict": 1}, {"conflict": 1}),
        ({"removal_rule": "union_holds_all"}, {"removal_rule": "union_holds_all"}),
    ],
)
def test_overrides(policy: Policy, options: dict[str, object], expected: dict[str, object]) -> None:
    changed = override(policy, options)
    assert changed == policy.model_copy(update=expected)
    assert override(policy, differences(changed, policy)) == changed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"relay_statsu": False}, "option 'relay_statsu' is not known; the nearest known is 'relay_status'"),
        ({"relay_status": "yes"}, "option relay_status: found 'yes', expected true or false"),
        (
            {"source_order": "five_key"},
            "found 'five_key', expected five_keys or six_groups; the nearest known is 'five_keys'",
        ),
        ({"interval": "0m"}, "option interval: found '0m', expected a duration longer than nothing"),
        ({"interval": "15"}, "option interval: found '15', expected a duration"),
        ({"size_limit": "1"}, "option size_limit: found '1', expected a size from 1KB"),
        ({"backfill_timeouts": {"local": ["6h"]}}, "backfill_timeouts_local: found ['6h'], expected three"),
        ({"backfill_timeouts": {"locale": ["6h"]}}, "the nearest known is 'backfill_timeouts_local'"),
        ({"status_again": "1d doubling to 1h"}, "expected the shorter wait first"),
        ({"folders_per_hierarchy_message": 0}, "expected a number from 1 to 1000, or none"),
        ({"startup_status": "all"}, "option startup_status: found 'all', expected off in this profile"),
        ({"maintenance_at": "25:00"}, "expected a time of day"),
        ({"maintenance_at": time(2, 0, 30)}, "found '02:00:30', expected a time of day"),  # of which the directory has no word
        ({"conflict": True}, "option conflict: found True, expected 0, 1 or 2"),
        ({"source_orders": {}}, "option 'source_orders' is not known; the nearest known is 'source_order'"),
    ],
)
def test_bad_overrides(policy: Policy, options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        override(policy, options)
    assert message in str(caught.value)


def test_start_up_switches_belong_to_2000_and_2003() -> None:
    assert override(load_profile("exchange_2003", CONF), {"startup_status": "all"}).startup_status == "all"


@pytest.mark.parametrize("other", PROFILES)
def test_differences_turn_one_profile_into_another(policy: Policy, other: str) -> None:
    target = load_profile(other, CONF).model_copy(update={"profile": policy.profile})
    assert override(policy, differences(target, policy)) == target


def test_a_policy_can_be_a_key_and_travel(policy: Policy) -> None:
    assert pickle.loads(pickle.dumps(policy)) == policy
    assert len({policy, load_profile("exchange_2007", CONF)}) == 1


# --- profile files of one's own ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('removal_rule = "one_holds_all"', "", "mine.toml: option 'removal_rule' is missing"),
        (
            '"one_holds_all"',
            '"one"',
            "mine.toml: option removal_rule: found 'one', expected one_holds_all or union_holds_all",
        ),
        (
            '"older_version"',
            '"older_versoin"',
            "found 'older_versoin', expected unavailable, .*; the nearest known is 'older_version'",
        ),
        (
            'source_order = "five_keys"',
            'source_order = "six_groups"',
            "source order six_groups is defined in no profile",
        ),
        ("relay_status = true", "relay_status = yes", "mine.toml is not TOML: .*line "),
    ],
)
def test_mistakes_in_a_profile_file(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = (CONF / "exchange_2007.toml").read_text()
    assert old in text
    (tmp_path / "mine.toml").write_text(text.replace(old, new))
    with pytest.raises(ProfileError, match=message):
        load_profile("mine", tmp_path)
