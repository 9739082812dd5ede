"""The shorthands of `pfspark whatif`: what each says in the language of scenario files, and what is said of mistakes."""

from __future__ import annotations

from typing import Any

import pytest

from pfspark.cli import foresight
from pfspark.errors import UsageError


def test_stores_go_and_come_back() -> None:
    assert list(foresight._away("down", "up", ["PFS1", "PFS2@1h..20h"])) == [
        {"at": "0m", "down": ["PFS1"]}, {"at": "1h", "down": ["PFS2"]}, {"at": "20h", "up": ["PFS2"]},
    ]  # fmt: skip
    for wrong in ("@1h..2h", "PFS1@1h", "PFS1@..2h", "PFS1@1h.."):
        with pytest.raises(UsageError, match=r"--cut: found .* expected STORE or STORE@FROM\.\.TO"):
            list(foresight._away("cut", "heal", [wrong]))
    for wrong in ("PFS1@3h..1h", "PFS1@2026-01-06..2026-01-05"):
        with pytest.raises(UsageError, match=r"--cut: found .*, whose end comes first"):
            list(foresight._away("cut", "heal", [wrong]))
    assert len(list(foresight._away("cut", "heal", ["PFS1@3h..2026-01-06"]))) == 2  # which of them is first is known later
    with pytest.raises(UsageError, match="found 'soon', expected a time"):
        list(foresight._away("cut", "heal", ["PFS1@soon..2h"]))


def test_lists_change_at_a_store_that_has_the_folder() -> None:
    """A folder's name may hold an equals sign; of one that nobody has, the new replica's own store is asked."""
    steps = foresight._listed("add_replica", ["/Sales=PFS3", "/a=b=PFS2"])
    assert list(foresight._by_whom(steps, {"/Sales": "PFS1"})) == [
        {"add_replica": {"folder": "/Sales", "replica": "PFS3", "store": "PFS1"}},
        {"add_replica": {"folder": "/a=b", "replica": "PFS2", "store": "PFS2"}},
    ]
    with pytest.raises(UsageError, match=r"--remove-replica: found '/Sales', expected FOLDER=STORE"):
        list(foresight._listed("remove_replica", ["/Sales"]))


SWEEPS: dict[str, tuple[list[str], str | None, list[tuple[str, dict[str, Any]]]]] = {
    "nothing": ([], None, [("", {})]),
    "a profile": ([], "modern", [("profile=modern", {})]),
    "values of one option": (
        ["relay_status=true,false"], None,
        [("relay_status=true", {"relay_status": True}), ("relay_status=false", {"relay_status": False})],
    ),
    "a first time-out": (
        ["backfill_timeouts.local=1h,6h"], None,
        [("backfill_timeouts_local=1h", {"backfill_timeouts_local": ["1h", "2h", "4h"]}),
         ("backfill_timeouts_local=6h", {"backfill_timeouts_local": ["6h", "12h", "1d"]})],
    ),
    "times of day in a list, and none": (
        ['status_clock=["00:15", "12:15"];none'], None,
        [('status_clock=["00:15", "12:15"]', {"status_clock": ["00:15", "12:15"]}),
         ("status_clock=none", {"status_clock": "none"})],
    ),
    "times of day": (
        ["status_clock=00:15,12:15;none"], None,
        [("status_clock=00:15,12:15", {"status_clock": "00:15,12:15"}), ("status_clock=none", {"status_clock": "none"})],
    ),
    "all with all": (
        ["interval=5m,15m", "conflict=0,1"], None,
        [(f"interval={interval} conflict={conflict}", {"interval": interval, "conflict": conflict})
         for interval in ("5m", "15m") for conflict in (0, 1)],
    ),
    "a list": (
        ['backfill_timeouts_local=["1h", "3h", "9h"]'], None,
        [('backfill_timeouts_local=["1h", "3h", "9h"]', {"backfill_timeouts_local": ["1h", "3h", "9h"]})],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SWEEPS)
def test_each_value_is_a_world_of_its_own(case: str) -> None:
    options, profile, worlds = SWEEPS[case]
    assert list(foresight._sweep(options, profile)) == worlds


def test_an_option_is_said_once() -> None:
    """Else a world would be called after a value that it does not have."""
    for name, other in (("interval=5m,15m", "interval=1h"), ("backfill_timeouts.local=1h", "backfill_timeouts_local=6h")):
        with pytest.raises(UsageError, match=r"twice, expected each once, all its values together: .*=VALUE,VALUE"):
            list(foresight._sweep([name, other], None))
    with pytest.raises(UsageError, match="status_clock=VALUE;VALUE"):
        list(foresight._sweep(["status_clock=00:15", "status_clock=none"], None))


def test_an_option_needs_a_value() -> None:
    with pytest.raises(UsageError, match="--option: found 'interval', expected NAME=VALUE"):
        list(foresight._sweep(["interval"], None))
