"""The scenarios that ship: what the engine says of them beside what the oracle says and beside what is written down."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pfspark.edge.config import conf_folder
from pfspark.sim.scenario import Scenario, read
from pfspark.units import show_duration
from tests.sim import oracle
from tests.sim.against import first_difference, written
from tests.sim.organizations import START, after
from tests.sim.test_why import FILES as EXPLAINED

Played = dict[str, list[dict[str, Any]]]
FILES = sorted((conf_folder() / "scenarios").glob("*.toml"))
GOLDEN = Path(__file__).parents[1] / "golden"


def organizations(config: pytest.Config) -> list[Scenario]:
    """What this module wants played."""
    return read(FILES, conf_folder())


def scenario(file: Path) -> Scenario:
    (found,) = read([file], conf_folder())
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_engine_says_what_the_oracle_says(played: Played, file: Path) -> None:
    organization = scenario(file)
    assert first_difference(played[organization.name], list(oracle.play(organization))) is None


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_line_is_of_the_contract(played: Played, file: Path) -> None:
    """In order of time, `end` last and only there, with the keys of its kind and no labels where names belong."""
    organization = scenario(file)
    lines = played[organization.name]
    moments = [datetime.fromisoformat(line["at"]) for line in lines]
    assert moments == sorted(moments)
    assert [line["kind"] == "end" for line in lines] == [False] * (len(lines) - 1) + [True]
    names = {store.name for store in organization.stores}
    for line in lines:
        assert KEYS[line["kind"]] <= line.keys()
        said = [line.get("from"), line.get("store"), *line.get("to", ()), *line.get("reported", ())]
        assert {name for name in said if name is not None} <= names


KEYS = {
    "message": {"org", "at", "kind", "type", "from", "to", "folder", "carries", "asks", "bytes"},
    "state": {
        "org", "at", "kind", "store", "folder", "applied", "empty", "sent", "reported", "missing", "lost", "life",
        "standing",
    },
    "item": {"org", "at", "kind", "store", "folder", "item", "name", "version", "deleted", "conflict", "losers"},
    "folder": {"org", "at", "kind", "store", "path", "id", "replicas"},
    "refused": {"org", "at", "kind", "store", "what", "step", "reason"},
    "why": {"org", "at", "kind", "store", "folder", "item", "here", "cause", "since", "says", "next", "because"},
    "end": {"org", "at", "kind", "rounds", "converged", "missing", "violations"},
}  # fmt: skip


# --- what the rules say of each file, written by hand -----------------------------------------------------------------


def message(at: str, kind: str, sender: str, to: str, folder: str, carries: str, asks: str, size: int) -> dict[str, Any]:
    return {
        "at": f"2026-01-{at}:00Z", "kind": "message", "type": kind, "from": sender, "to": to.split(), "folder": folder,
        "carries": carries, "asks": asks, "bytes": size,
    }  # fmt: skip


def refused(at: str, store: str, what: str, step: int | None, reason: str) -> dict[str, Any]:
    return {"at": f"2026-01-{at}:00Z", "kind": "refused", "store": store, "what": what, "step": step, "reason": reason}


PINS: dict[str, list[dict[str, Any]]] = {
    "conflict_of_two_stores": [  # the later modification wins (F31); the third is made upon both
        {
            "at": "2026-01-05T01:00:00Z",
            "kind": "item",
            "store": "PFS3",
            "folder": "/Plans",
            "item": "PFS3:1",
            "name": "budget",
            "version": "PFS2:1",
            "deleted": False,
            "conflict": True,
            "losers": ["PFS1:1"],
        },
        {
            "at": "2026-01-05T03:00:00Z",
            "kind": "item",
            "store": "PFS3",
            "folder": "/Plans",
            "item": "PFS3:1",
            "name": "budget",
            "version": "PFS1:2",
            "deleted": False,
            "conflict": False,
            "losers": [],
        },
    ],
    "cut_off_and_catch_up": [  # PFS1's status of 24 h 45 m tells PFS3 an hour-quarter later; remote: 12 h more
        message("06T00:45", "0x10", "PFS1", "PFS2 PFS3", "/Sales", "", "", 0),
        message("06T13:00", "0x8", "PFS3", "PFS1", "/Sales", "", "PFS1:12-16", 0),
        message("06T13:15", "0x80000004", "PFS1", "PFS3", "/Sales", "PFS1:12-16", "", 5120),
    ],
    "delete_against_modify": [
        {
            "at": "2026-01-05T01:00:00Z",
            "kind": "item",
            "store": "PFS2",
            "folder": "/Plans",
            "item": "PFS1:1",
            "name": "PFS1:1",
            "version": "PFS1:3",
            "deleted": False,
            "conflict": True,
            "losers": ["PFS2:1"],
        },
        refused("05T02:30", "PFS2", "edit", 6, "item_deleted"),
    ],
    "exchange_2000_sources": [message("05T06:45", "0x8", "ASKER", "FAR2000", "/Sales", "", "NEAR55:1-3", 0)],
    "folder_made_while_cut": [
        refused("05T02:15", "PFS3", "message", None, "unknown_folder"),
        message("05T09:15", "0x8", "PFS3", "PFS1", "1-1", "", "PFS1:2,PFS2:1", 0),  # heard at 3h15m
        message("05T09:45", "0x20", "PFS3", "PFS1 PFS2", "/Sales/Arctic", "", "", 0),  # R87
    ],
    "hole_and_backfill": [
        message("05T00:30", "0x4", "PFS1", "PFS2", "/Sales", "PFS1:6", "", 1024),
        message("05T06:45", "0x8", "PFS2", "PFS1", "/Sales", "", "PFS1:4-5", 0),
        message("05T07:00", "0x80000004", "PFS1", "PFS2", "/Sales", "PFS1:4-5", "", 40960),
    ],
    "large_batch": [
        message("05T00:00", "0x4", "PFS1", "PFS2", "/Six", "PFS1:1-6", "", 307200),
        message("05T00:00", "0x4", "PFS1", "PFS2", "/Seven", "PFS1:7", "", 51200),
        message("05T00:00", "0x4", "PFS1", "PFS2", "/Big", "PFS1:2", "", 1048576),
    ],
    "modern_hourly_status": [  # an hour after the change of 30m; here at 1h35m by a link of 5m; local none: 15m more
        message("05T01:30", "0x10", "PFS1", "PFS2 PFS3", "/Sales", "", "", 0),
        message("05T01:50", "0x8", "PFS3", "PFS1", "/Sales", "", "PFS1:3-5", 0),
        message("05T01:55", "0x80000004", "PFS1", "PFS3", "/Sales", "PFS1:3-5", "", 3072),
    ],
    "move_and_delete_folder": [
        message("05T00:30", "0x4", "PFS2", "PFS1", "/New/Plans", "PFS2:1", "", 1024),
        refused("05T01:30", "PFS1", "edit", 5, "folder_deleted"),
    ],
    "post_and_replicate": [
        message("05T00:00", "0x4", "PFS1", "PFS2 PFS3", "/Sales", "PFS1:1", "", 1024),
        message("05T00:30", "0x4", "PFS3", "PFS1 PFS2", "/Sales", "PFS3:1", "", 1024),  # posted at 20m
    ],
    "preferred_source": [message("05T06:45", "0x8", "PFS3", "PFS1", "/Sales", "", "PFS1:1-4", 0)],
    "relay_off": [message("05T13:15", "0x8", "PFS3", "PFS1", "/Sales", "", "PFS1:11-15,PFS2:21-28", 0)],
    "remote_timeouts": [
        message("05T13:00", "0x8", "PFS2", "PFS1", "/Sales", "", "PFS1:1-4", 0),
        message("06T13:00", "0x8", "PFS2", "PFS1", "/Sales", "", "PFS1:1-4", 0),
    ],
    "replica_added": [
        refused("05T00:00", "PFS2", "edit", 1, "no_replica_here"),
        message("05T00:00", "0x20", "PFS2", "PFS1", "/Sales", "", "", 0),
        message("05T06:30", "0x8", "PFS2", "PFS1", "/Sales", "", "PFS1:1-40", 0),  # status is there at 30m
    ],
    "replica_removed": [
        message("05T20:30", "0x20", "PFS1", "PFS2", "/Sales", "", "", 0),
        message("05T21:00", "0x8", "PFS2", "PFS1", "/Sales", "", "PFS1:6-8", 0),  # 5m after it heard at 20:45 (D6)
        message("05T21:15", "0x80000004", "PFS1", "PFS2", "/Sales", "PFS1:6-8", "", 3072),
        refused("05T23:00", "PFS2", "edit", 6, "last_replica"),
    ],
    "restored_store": [  # in its new life it numbers from 1 and gets back what it had said before
        message("05T05:00", "0x4", "PFS2", "PFS1", "/Sales", "PFS2~2:1", "", 1024),
        message("05T10:30", "0x8", "PFS2", "PFS1", "/Sales", "", "PFS1:1,PFS2:3-5", 0),
    ],
    "slow_store": [
        message("05T01:00", "0x4", "PFS2", "PFS1 PFS3", "/Sales", "PFS2:1", "", 1024),
        message("05T08:00", "0x4", "PFS3", "PFS1 PFS2", "/Sales", "PFS3:1", "", 1024),
    ],
    "status_after_a_day": [
        message("06T00:00", "0x10", "PFS1", "PFS2", "/Sales", "", "", 0),
        message("06T06:15", "0x8", "PFS2", "PFS1", "/Sales", "", "PFS1:1", 0),
    ],
    "store_is_down": [
        message("05T07:15", "0x8", "PFS2", "PFS1", "/Sales", "", "PFS1:1-3", 0),
        message("05T19:15", "0x8", "PFS2", "PFS3", "/Sales", "", "PFS1:1-3", 0),
    ],
    "suspended": [
        message("05T00:30", "0x2", "PFS2", "PFS1", "1-1", "PFS2:1", "", 76),
        message("05T01:15", "0x4", "PFS1", "PFS2", "/Deals", "PFS1:1-2", "", 2048),
    ],
    "two_sites_with_delay": [message("05T01:00", "0x4", "PFS3", "PFS1 PFS2", "/Sales", "PFS3:1", "", 1024)],
    "walk_through": [
        message("05T11:15", "0x8", "PFS3", "PFS1", "/Projects", "", "PFS1:12-16,PFS2:21-28", 0),
        message("05T11:30", "0x80000004", "PFS1", "PFS3", "/Projects", "PFS1:12-16,PFS2:21-28", "", 13312),
    ],
}

STORIES = {  # all messages of the types that are named, as `when type from>to folder what`
    "all_leave_at_once": """
        0m 0x4 PFS1>PFS2,PFS3 /Sales PFS1:1
        0m 0x4 PFS2>PFS1,PFS3 /Sales PFS2:1
        0m 0x4 PFS3>PFS1,PFS2 /Sales PFS3:1
        0m 0x2 PFS1>PFS2,PFS3 1-1 PFS1:2
        0m 0x2 PFS2>PFS1,PFS3 1-1 PFS2:1
        0m 0x2 PFS3>PFS1,PFS2 1-1 PFS3:1
        10m 0x2 PFS1>PFS2,PFS3 1-1 PFS1:3
        10m 0x2 PFS2>PFS1,PFS3 1-1 PFS2:2""",
    "answer_to_an_earlier_leave": """
        0m 0x20 PFS2>PFS1 /Sales
        1h30m 0x20 PFS2>PFS1 /Sales
        1h30m 0x20 PFS2>PFS1 1-1
        1h 0x10 PFS1>PFS2 /Sales
        2h30m 0x10 PFS1>PFS2 /Sales""",
    "asked_by_a_life_that_is_over": """
        0m 0x20 PFS2>PFS1 /Sales
        30m 0x20 PFS2>PFS1 /Sales
        30m 0x20 PFS2>PFS1 1-1
        45m 0x10 PFS1>PFS2 /Sales""",
    "asked_of_leavers_alone": """
        3h 0x8 PFS3>PFS1 /Sales PFS1:1
        3h15m 0x80000004 PFS1>PFS3 /Sales PFS1:1""",
    "back_again": """
        1h45m 0x8 PFS2>PFS1 /Sales PFS1:1-2
        3h45m 0x8 PFS2>PFS3 /Sales PFS1:1-2
        4h 0x80000004 PFS3>PFS2 /Sales PFS1:1-2
        7h15m 0x8 PFS2>PFS1 /Sales PFS3:2
        7h30m 0x80000004 PFS1>PFS2 /Sales PFS3:2""",
    "clock_put_back": """
        1h 0x4 PFS1>PFS2 /Sales PFS1:1
        2h 0x4 PFS1>PFS2 /Sales PFS1:2
        15h 0x8 PFS2>PFS1 /Sales PFS1:1
        15h15m 0x80000004 PFS1>PFS2 /Sales PFS1:1
        16h 0x4 PFS1>PFS2 /Sales PFS1:3""",
    "back_on_its_night": """
        30m 0x20 PFS2>PFS1 /Sales
        1h 0x10 PFS1>PFS2 /Sales
        2h 0x20 PFS2>PFS1 /Sales
        0m 0x2 PFS1>PFS2 1-1 PFS1:2
        1h30m 0x2 PFS2>PFS1 1-1 PFS2:1
        2h 0x2 PFS2>PFS1 1-1 PFS2:2""",
    "conflict_of_three_stores": """
        30m 0x4 PFS1>PFS2,PFS3 /Plans PFS1:2
        30m 0x4 PFS1>PFS2,PFS3 /Silent PFS1:2
        30m 0x4 PFS2>PFS1,PFS3 /Plans PFS2:1
        30m 0x4 PFS2>PFS1,PFS3 /Silent PFS2:1
        30m 0x4 PFS3>PFS1,PFS2 /Plans PFS3:1
        30m 0x4 PFS3>PFS1,PFS2 /Silent PFS3:1
        2h 0x4 PFS1>PFS2,PFS3 /Plans PFS1:3""",
    "deleted_as_it_is_asked": """
        0m 0x20 PFS2>PFS1 /Sales
        15m 0x2 PFS1>PFS2 1-1 PFS1:2
        0m 0x2 PFS2>PFS1 1-1 PFS2:1""",
    "deleted_folder_stays_deleted": """
        1h 0x2 PFS1>PFS2 1-1 PFS1:3
        3h15m 0x10 PFS1>PFS2 1-1
        4h 0x4 PFS2>PFS1 /Sales PFS2~2:1
        5h 0x2 PFS2>PFS1 1-1 PFS2~2:1
        9h30m 0x8 PFS2>PFS1 1-1 PFS1:3
        9h45m 0x80000002 PFS1>PFS2 1-1 PFS1:3""",
    "deleted_with_all_beneath": """
        1h 0x2 PFS1>PFS2 1-1 PFS1:6-8
        1h 0x4 PFS1>PFS2 /Kept PFS1:3
        1h 0x4 PFS1>PFS2 /Sales PFS1:1""",
    "design_conflict_lost_replica": """
        15m 0x2 PFS1>PFS2,PFS3,PFS4 1-1 PFS1:3
        15m 0x2 PFS2>PFS1,PFS3,PFS4 1-1 PFS2:1
        15m 0x2 PFS3>PFS1,PFS2,PFS4 1-1 PFS3:1""",
    "design_conflict_object": """
        30m 0x20 PFS4>PFS1,PFS2,PFS3 /Sales
        7h 0x8 PFS4>PFS1 /Sales PFS1:1-2
        7h15m 0x80000004 PFS1>PFS4 /Sales PFS1:1-2""",
    "design_conflict_property": """
        30m 0x20 PFS4>PFS1,PFS2,PFS3 /Archive/Deals
        7h 0x8 PFS4>PFS1 /Archive/Deals PFS1:1-2
        7h15m 0x80000004 PFS1>PFS4 /Archive/Deals PFS1:1-2""",
    "expired_before_it_was_told": """
        3h30m 0x20 PFS2>PFS1 /Sales
        4h 0x10 PFS1>PFS2 /Sales""",
    "expired_before_it_went": """
        1d2h30m 0x4 PFS1>PFS2 /News PFS1:2""",
    "expired_items": """
        1d2h15m 0x8 PFS2>PFS1 /News PFS1:1-2
        1d2h30m 0x10 PFS1>PFS2 /News""",
    "folder_made_as_a_replica_goes": """
        0m 0x2 PFS2>PFS1 1-1 PFS2:1
        30m 0x2 PFS2>PFS1 1-1 PFS2:2-3
        0m 0x20 PFS2>PFS1 /Sales
        15m 0x10 PFS1>PFS2 /Sales""",
    "folder_schedule_first": """
        15m 0x2 PFS1>PFS2 1-1 PFS1:4
        15m 0x4 PFS1>PFS2 /Open PFS1:1
        2h 0x4 PFS1>PFS2 /Nightly PFS1:1
        4h 0x2 PFS2>PFS1 1-1 PFS2:1
        4h15m 0x4 PFS1>PFS2 /Plain PFS1:1""",
    "gone_is_heard_first": """
        15m 0x20 PFS1>PFS2,PFS3 /New
        30m 0x20 PFS2>PFS1,PFS3 /New
        1h 0x20 PFS1>PFS2,PFS3 /New
        15m 0x2 PFS1>PFS2,PFS3 1-1 PFS1:1
        1h 0x2 PFS1>PFS2,PFS3 1-1 PFS1:2
        1h30m 0x2 PFS1>PFS2,PFS3 1-1 PFS1:3
        1h45m 0x20 PFS3>PFS2 /New
        7h45m 0x8 PFS3>PFS1 1-1 PFS1:1-2
        8h15m 0x8 PFS3>PFS2 /New PFS1:1""",
    "hours_hold_back_content_alone": """
        15m 0x2 PFS1>PFS2 1-1 PFS1:2
        30m 0x2 PFS2>PFS1 1-1 PFS2:1
        1h 0x2 PFS1>PFS2 1-1 PFS1:3
        1h 0x20 PFS1>PFS2 /Plans
        1h15m 0x20 PFS2>PFS1 /Plans
        7h15m 0x20 PFS2>PFS1 /Plans
        8h 0x4 PFS1>PFS2 /Sales PFS1:1""",
    "generations_2000": """
        1d18h20m 0x8 ASKER>FAR /Sales NEAR:1-5
        1d18h25m 0x80000004 FAR>ASKER /Sales NEAR:1-5
        2d20m 0x8 PREF>FAR /Sales NEAR:4-5
        2d25m 0x80000004 FAR>PREF /Sales NEAR:4-5""",
    "generations_2003": """
        1d12h15m 0x10 FAR>ASKER,NEAR,PREF /Sales
        1d12h15m 0x10 NEAR>ASKER,FAR,PREF /Sales
        1d12h15m 0x10 PREF>ASKER,FAR,NEAR /Sales
        1d18h20m 0x8 ASKER>NEAR /Sales NEAR:4-5
        1d18h20m 0x8 ASKER>PREF /Sales NEAR:1-3
        1d18h25m 0x80000004 NEAR>ASKER /Sales NEAR:4-5
        1d18h25m 0x80000004 PREF>ASKER /Sales NEAR:1-3
        2d20m 0x8 PREF>FAR /Sales NEAR:4-5
        2d25m 0x80000004 FAR>PREF /Sales NEAR:4-5""",
    "generations_2007": """
        1d1h5m 0x10 NEAR>ASKER,FAR,PREF /Sales
        1d1h5m 0x10 PREF>ASKER,FAR,NEAR /Sales
        1d1h20m 0x10 FAR>ASKER,NEAR,PREF /Sales
        1d7h10m 0x8 ASKER>NEAR /Sales NEAR:4-5
        1d7h10m 0x8 ASKER>PREF /Sales NEAR:1-3
        1d7h15m 0x80000004 NEAR>ASKER /Sales NEAR:4-5
        1d7h15m 0x80000004 PREF>ASKER /Sales NEAR:1-3
        1d13h10m 0x8 PREF>FAR /Sales NEAR:4-5
        1d13h15m 0x80000004 FAR>PREF /Sales NEAR:4-5""",
    "generations_modern": """
        2h15m 0x8 ASKER>NEAR /Sales NEAR:4-5
        2h15m 0x8 ASKER>PREF /Sales NEAR:1-3
        2h20m 0x80000004 NEAR>ASKER /Sales NEAR:4-5
        2h20m 0x80000004 PREF>ASKER /Sales NEAR:1-3
        2h25m 0x8 PREF>FAR /Sales NEAR:4-5
        2h30m 0x80000004 FAR>PREF /Sales NEAR:4-5""",
    "last_copy_is_kept": """
        23h30m 0x8 PFS2>PFS1 1-1 PFS1:2-3
        23h45m 0x8 PFS2>PFS1 1-1 PFS1:2-3
        1d20h45m 0x8 PFS2>PFS1 /Sales PFS1:6-8
        1d21h 0x8 PFS2>PFS1 /Sales PFS1:6-8
        1d21h 0x80000004 PFS1>PFS2 /Sales PFS1:6-8
        1d21h15m 0x80000004 PFS1>PFS2 /Sales PFS1:6-8""",
    "leaver_chooses_nobody": """
        0m 0x20 PFS1>PFS2,PFS3 /Old
        1h 0x20 PFS1>PFS2,PFS3,PFS4,PFS5 /New
        15m 0x10 PFS2>PFS1 /Old
        15m 0x10 PFS3>PFS1 /Old
        1h15m 0x10 PFS2>PFS1 /New
        1h15m 0x10 PFS3>PFS1 /New
        1h15m 0x10 PFS4>PFS1 /New""",
    "leaver_sends_all": """
        1h 0x4 PFS1>PFS2,PFS3 /Quiet PFS1:1-3
        1h 0x4 PFS1>PFS2,PFS3 /Sales PFS1:1-2
        1h 0x20 PFS1>PFS2,PFS3 /Quiet
        1h 0x20 PFS1>PFS2,PFS3 /Sales
        1h 0x2 PFS1>PFS2,PFS3 1-1 PFS1:3-4
        1h30m 0x2 PFS1>PFS2,PFS3 1-1 PFS1:5-6
        3h 0x4 PFS2>PFS3 /Sales PFS2:1""",
    "leaves_and_comes_back": """
        30m 0x10 PFS2>PFS1 /Plans
        30m 0x10 PFS2>PFS1 /Sales
        3h15m 0x10 PFS2>PFS1 /Sales
        4h 0x4 PFS1>PFS2 /Plans PFS1:4
        4h 0x4 PFS1>PFS2 /Sales PFS1~2:1
        9h30m 0x8 PFS1>PFS2 /Sales PFS1:1-3
        9h45m 0x80000004 PFS2>PFS1 /Sales PFS1:1-3""",
    "list_emptied_by_merging": """
        0m 0x2 PFS1>PFS2 1-1 PFS1:2
        0m 0x2 PFS2>PFS1 1-1 PFS2:1
        30m 0x2 PFS1>PFS2 1-1 PFS1:3
        45m 0x2 PFS1>PFS2 1-1 PFS1:4
        45m 0x2 PFS2>PFS1 1-1 PFS2:2
        2h 0x2 PFS1>PFS2 1-1 PFS1:5
        1h15m 0x8 PFS2>PFS1 /Sales PFS1:3
        1h30m 0x80000004 PFS1>PFS2 /Sales PFS1:3""",
    "listed_again_as_it_may_go": """
        0m 0x2 PFS2>PFS1 1-1 PFS2:1
        30m 0x2 PFS2>PFS1 1-1 PFS2:2
        0m 0x20 PFS2>PFS1 /Sales
        30m 0x20 PFS2>PFS1 /Sales""",
    "listed_and_removed_at_once": """
        1h 0x2 PFS1>PFS2 1-1 PFS1:3-4
        1h 0x2 PFS2>PFS1 1-1 PFS2:1-2
        1h30m 0x2 PFS2>PFS1 1-1 PFS2:3
        1h 0x4 PFS2>PFS1 /Sales PFS2:1
        1h 0x20 PFS1>PFS2 /Plans
        1h 0x20 PFS2>PFS1 /Sales
        1h15m 0x20 PFS1>PFS2 /Plans
        1h15m 0x20 PFS2>PFS1 /Sales""",
    "lossy_line": """
        2h30m 0x8 PFS3>PFS1 /Sales PFS1:3,PFS2:1
        2h45m 0x80000004 PFS1>PFS3 /Sales PFS1:3,PFS2:1
        3h30m 0x8 PFS3>PFS1 /Sales PFS1:3,PFS2:1
        3h45m 0x80000004 PFS1>PFS3 /Sales PFS1:3,PFS2:1""",
    "lost_for_ever": """
        15m 0x4 PFS1>PFS2 /Sales PFS1:1-3
        45m 0x4 PFS1>PFS2 /Sales PFS1:4
        2h15m 0x10 PFS2>PFS1 /Sales
        3h 0x4 PFS1>PFS2 /Sales PFS1~2:1
        8h30m 0x8 PFS1>PFS2 /Sales PFS1:4
        8h45m 0x80000004 PFS2>PFS1 /Sales PFS1:4""",
    "made_and_unmade_at_once": """
        15m 0x2 PFS1>PFS2 1-1 PFS1:1-2
        30m 0x2 PFS1>PFS2 1-1 PFS1:3
        30m 0x2 PFS2>PFS1 1-1 PFS2:1-2
        1h15m 0x2 PFS2>PFS1 1-1 PFS2:3-4""",
    "never_answered": """
        6h45m 0x8 PFS2>PFS1 /Sales PFS1:1
        18h45m 0x8 PFS2>PFS1 /Sales PFS1:1
        1d18h45m 0x8 PFS2>PFS1 /Sales PFS1:1
        2d18h45m 0x8 PFS2>PFS1 /Sales PFS1:1""",
    "night_missed_before_a_restore": """
        3h30m 0x20 PFS3>PFS1,PFS2 /Sales
        3h30m 0x20 PFS3>PFS1,PFS2 1-1
        4h 0x20 PFS2>PFS1,PFS3 /Sales
        4h 0x20 PFS2>PFS1,PFS3 1-1""",
    "old_when_it_arrives": """
        0m 0x4 PFS1>PFS2 /News PFS1:1
        15m 0x4 PFS1>PFS2 /News PFS1:2
        1d15m 0x10 PFS1>PFS2 /News""",
    "overruled_replica_leaves": """
        0m 0x2 PFS1>PFS2,PFS3 1-1 PFS1:2
        2h 0x2 PFS3>PFS1,PFS2 1-1 PFS3:1
        2h15m 0x2 PFS2>PFS1,PFS3 1-1 PFS2:1
        3h30m 0x2 PFS2>PFS1,PFS3 1-1 PFS2:2
        2h45m 0x8 PFS1>PFS2 /Sales PFS2:1
        8h30m 0x8 PFS3>PFS1 1-1 PFS1:2
        3h 0x80000004 PFS2>PFS1 /Sales PFS2:1""",
    "partial_sources_2000": """
        7h15m 0x8 ASKER>NEW /Sales NEW:2-4
        7h15m 0x8 ASKER>OLD /Sales NEW:1,OLD:1-2
        7h15m 0x8 NEW>OLD /Sales OLD:1-2
        7h15m 0x8 OLD>NEW /Sales NEW:2-4""",
    "partial_sources_2007": """
        7h15m 0x8 ASKER>NEW /Sales NEW:1-4
        7h15m 0x8 ASKER>OLD /Sales OLD:1-2
        7h15m 0x8 NEW>OLD /Sales OLD:1-2
        7h15m 0x8 OLD>NEW /Sales NEW:2-4""",
    "removed_once_more": """
        15m 0x2 PFS1>PFS2,PFS3 1-1 PFS1:2
        45m 0x2 PFS1>PFS2,PFS3 1-1 PFS1:3
        2h 0x2 PFS3>PFS1,PFS2 1-1 PFS3:1
        2h15m 0x2 PFS1>PFS2,PFS3 1-1 PFS1:4""",
    "request_at_a_closed_door": """
        1h15m 0x8 PFS2>PFS1 /Sales PFS1:1
        1h15m 0x8 PFS3>PFS1 /Sales PFS1:1
        2h 0x80000004 PFS1>PFS3 /Sales PFS1:1
        2h15m 0x8 PFS2>PFS1 /Sales PFS1:1
        2h30m 0x80000004 PFS1>PFS2 /Sales PFS1:1""",
    "request_waits_unread": """
        0m 0x4 PFS1>PFS2 /Sales PFS1:1
        1h 0x4 PFS1>PFS2 /Sales PFS1:2
        1h30m 0x4 PFS2>PFS1 /Sales PFS2:1
        2h 0x8 PFS2>PFS1 /Sales PFS1:1
        4h 0x80000004 PFS1>PFS2 /Sales PFS1:1
        4h30m 0x8 PFS1>PFS2 /Sales PFS2:1
        5h 0x80000004 PFS2>PFS1 /Sales PFS2:1""",
    "restored_after_it_expired": """
        2h 0x4 PFS1>PFS2 /News PFS1:1-3
        3h15m 0x20 PFS1>PFS2 /News
        3h15m 0x20 PFS1>PFS2 1-1
        3h30m 0x10 PFS2>PFS1 /News""",
    "size_limits": """
        0m 0x4 PFS1>PFS2 /Small PFS1:1
        0m 0x4 PFS1>PFS2 /Small PFS1:2-3
        0m 0x4 PFS1>PFS2 /Small PFS1:4
        0m 0x4 PFS1>PFS2 /Small PFS1:5
        0m 0x4 PFS1>PFS2 /Large PFS1:1-3
        0m 0x4 PFS1>PFS2 /Large PFS1:4-5
        1h 0x4 PFS1>PFS2 /Small PFS1:6-8""",
    "startup_all": """
        2h 0x20 PFS2>PFS1 /Known
        2h 0x20 PFS2>PFS1 /Unknown
        2h 0x20 PFS2>PFS1 1-1
        6h45m 0x8 PFS2>PFS1 /Known PFS1:1-2
        8h 0x20 PFS2>PFS1 1-1
        8h30m 0x8 PFS2>PFS1 /Unknown PFS1:1
        20h 0x20 PFS2>PFS1 1-1""",
    "startup_seeming_gaps": """
        2h 0x20 PFS2>PFS1 /Known
        2h 0x20 PFS2>PFS1 1-1
        2h15m 0x10 PFS1>PFS2 /Known
        6h45m 0x8 PFS2>PFS1 /Known PFS1:1-2
        8h 0x20 PFS2>PFS1 1-1
        20h 0x20 PFS2>PFS1 1-1
        1d12h15m 0x10 PFS1>PFS2 /Known
        1d12h15m 0x10 PFS1>PFS2 /Unknown
        1d12h15m 0x10 PFS2>PFS1 /Known
        1d18h30m 0x8 PFS2>PFS1 /Unknown PFS1:1""",
    "three_and_oldest": """
        3h15m 0x10 NEAR>NEW /Deals
        3h15m 0x10 OLD>NEW /Deals
        3h15m 0x10 REDMOND>NEW /Deals
        3h15m 0x10 ROME>NEW /Deals
        9h30m 0x8 NEW>NEAR /Deals OLD:1-3""",
    "too_deep": """
        30m 0x2 PFS1>PFS2 1-1 PFS1:34
        45m 0x2 PFS1>PFS2 1-1 PFS1:35-37
        2h15m 0x2 PFS2>PFS1 1-1 PFS2:1""",
    "two_leave_at_once": """
        30m 0x2 PFS3>PFS1,PFS2 1-1 PFS3:1-2
        45m 0x20 PFS1>PFS3 /Sales
        45m 0x20 PFS2>PFS3 /Sales
        1h 0x10 PFS3>PFS1 /Sales
        1h 0x10 PFS3>PFS2 /Sales
        1h15m 0x8 PFS3>PFS1 /Sales PFS1:3-4
        1h15m 0x8 PFS3>PFS2 /Sales PFS2:3
        1h30m 0x8 PFS1>PFS2 /Sales PFS2:3
        1h30m 0x8 PFS2>PFS1 /Sales PFS1:3-4
        1h30m 0x20 PFS1>PFS3 /Sales
        1h30m 0x20 PFS2>PFS3 /Sales
        1h45m 0x10 PFS3>PFS1 /Sales
        1h45m 0x10 PFS3>PFS2 /Sales
        2h 0x2 PFS1>PFS2,PFS3 1-1 PFS1:2
        2h 0x2 PFS2>PFS1,PFS3 1-1 PFS2:1""",
    "urgent_folder": """
        0m 0x4 PFS1>PFS2 /Sales PFS1:1
        30m 0x4 PFS1>PFS2 /Sales PFS1:2
        30m 0x4 PFS2>PFS1 /Sales PFS2:1""",
}


def three(text: str) -> dict[str, str]:
    return dict.fromkeys(("PFS1", "PFS2", "PFS3"), text)


def four(text: str) -> dict[str, str]:
    return {**three(text), "PFS4": text}


SEEN: dict[str, dict[str, dict[str, str]]] = {  # `when kind folder key` (-: all folders) -> what each store says
    "all_leave_at_once": {
        "0m state /Sales standing": three("delete pending"),
        "10m state /Sales standing": {"PFS1": "delete now", "PFS2": "delete now", "PFS3": "active"},
        "10m state /Sales life": {"PFS1": "1", "PFS2": "1", "PFS3": "1"},
        "2h15m state /Sales applied": {"PFS3": "PFS1:1,PFS2:1,PFS3:1"},
        "2h15m folder /Sales replicas": three("PFS3"),
    },
    "answer_to_an_earlier_leave": {
        "8h state /Sales standing": {"PFS1": "active", "PFS2": "delete now"},
        "8h state /Sales life": {"PFS1": "1", "PFS2": "2"},
    },
    "asked_of_leavers_alone": {"2h state /Sales missing": {"PFS1": "", "PFS3": "PFS1:1"}},
    "back_on_its_night": {
        "1h30m state /Sales standing": {"PFS1": "active", "PFS2": "delete now"},
        "2h state /Sales standing": {"PFS1": "active", "PFS2": "active"},
        "2h state /Sales life": {"PFS1": "1", "PFS2": "1"},
        "2h state /Sales applied": {"PFS1": "PFS1:1-2", "PFS2": "PFS1:1-2"},
        "2h folder /Sales replicas": {"PFS1": "PFS1", "PFS2": "PFS1, PFS2"},
        "4h state /Sales missing": {"PFS1": "", "PFS2": ""},
    },
    "clock_put_back": {
        "2h30m state /Sales missing": {"PFS1": "", "PFS2": "PFS1:1"},
        "15h30m state /Sales missing": {"PFS1": "", "PFS2": ""},
        "15h45m state /Sales applied": {"PFS1": "PFS1:1-3", "PFS2": "PFS1:1-2"},
        "17h item /Sales version": {"PFS1": "PFS1:2, PFS1:3", "PFS2": "PFS1:2, PFS1:3"},
    },
    "conflict_of_three_stores": {
        "45m item /Plans version": three("PFS2:1"),
        "45m item /Plans losers": three("PFS1:2, PFS3:1"),
        "45m item /Plans conflict": three("True"),
        "45m item /Silent version": three("PFS3:1"),
        "45m item /Silent conflict": three("False"),
        "2h15m item /Plans version": three("PFS1:3"),
        "2h15m item /Plans losers": three(""),
    },
    "deleted_as_it_is_asked": {"15m message - type": {"PFS1": "0x2"}, "1h folder - path": {}},
    "deleted_folder_stays_deleted": {
        "2h folder - path": {"PFS1": "/Plans", "PFS2": "/Plans"},
        "3h folder - path": {"PFS1": "/Plans", "PFS2": "/Plans, /Sales"},
        "4h15m refused - reason": {"PFS1": "folder_deleted"},
        "10h folder - path": {"PFS1": "/Plans", "PFS2": "/Plans"},
        "10h state 1-1 applied": {"PFS1": "PFS1:1-3,PFS2~2:1", "PFS2": "PFS1:1-3,PFS2~2:1"},
        "10h state /Sales applied": {},
    },
    "deleted_with_all_beneath": {
        "1h refused - reason": {"PFS1": ", ".join(["folder_deleted"] * 5)},
        "2h folder - path": {"PFS1": "/Kept, /Sales", "PFS2": "/Kept, /Sales"},
        "2h state /Kept applied": {"PFS1": "PFS1:1-3", "PFS2": "PFS1:1-3"},
    },
    "design_conflict_lost_replica": {
        "30m folder - path": four("/Archive, /Deals"),
        "30m folder /Deals replicas": four("PFS1, PFS2, PFS3"),
        "7h30m state /Deals applied": three("PFS1:1-2"),
    },
    "design_conflict_object": {
        "15m folder - path": {
            "PFS1": "/Archive, /Deals", "PFS2": "/Archive, /Archive/Sales", "PFS3": "/Archive, /Sales",
            "PFS4": "/Archive, /Sales",
        },
        "30m folder - path": four("/Archive, /Sales"),
        "30m folder /Sales replicas": four("PFS1, PFS2, PFS3, PFS4"),
    },
    "design_conflict_property": {
        "30m folder - path": four("/Archive, /Archive/Deals"),
        "30m folder /Archive/Deals replicas": four("PFS1, PFS2, PFS3, PFS4"),
    },
    "expired_before_it_was_told": {
        "4h30m state /Sales empty": {"PFS1": "PFS1:1-4", "PFS2": "PFS1:1-2"},
        "4h30m state /Sales applied": {"PFS1": "PFS1:1-4", "PFS2": "PFS1:1-2"},
    },
    "expired_before_it_went": {
        "1d2h15m refused - reason": {"PFS1": "unknown_item"},
        "1d3h state /News applied": {"PFS1": "PFS1:1-2", "PFS2": "PFS1:1-2"},
        "1d3h state /News empty": {"PFS1": "PFS1:1", "PFS2": "PFS1:1"},
        "1d3h item /News item": {"PFS1": "PFS1:2", "PFS2": "PFS1:2"},
    },
    "expired_items": {
        "1d1h45m state /News missing": {"PFS1": "", "PFS2": "PFS1:1-2"},
        "1d1h45m item /News item": {"PFS1": "PFS1:1, PFS1:2, PFS1:3", "PFS2": "PFS1:3"},
        "1d3h item /News item": {"PFS1": "PFS1:3", "PFS2": "PFS1:3"},
        "1d3h state /News applied": {"PFS1": "PFS1:1-3", "PFS2": "PFS1:1-3"},
        "1d3h state /News empty": {"PFS1": "PFS1:1-2", "PFS2": "PFS1:1-2"},
    },
    "folder_made_as_a_replica_goes": {
        "30m folder /Plans id": {"PFS2": "PFS2:2"},
        "30m folder /Sales replicas": {"PFS1": "PFS1, PFS2", "PFS2": "PFS1"},
        "30m state /Sales standing": {"PFS1": "active", "PFS2": "delete now"},
    },
    "folder_schedule_first": {
        "3h state /Plain applied": {"PFS1": "PFS1:1", "PFS2": ""},
        "4h30m state /Plain applied": {"PFS1": "PFS1:1", "PFS2": "PFS1:1"},
    },
    "gone_is_heard_first": {
        "1h45m folder /New replicas": three("PFS2, PFS3"),
        "1h45m state 1-1 applied": {"PFS1": "PFS1:1-3", "PFS2": "PFS1:1-3", "PFS3": "PFS1:3"},
        "1h45m state /New standing": {"PFS1": "delete now", "PFS2": "active", "PFS3": "active"},
        "2h15m state /New missing": {"PFS2": "", "PFS3": "PFS1:1"},
        "1d item /New item": {"PFS2": "PFS1:1", "PFS3": "PFS1:1"},
    },
    "hours_hold_back_content_alone": {
        "7h45m state /Sales applied": {"PFS1": "PFS1:1", "PFS2": "PFS2:1"},
        "7h45m state 1-1 applied": {"PFS1": "PFS1:1-3,PFS2:1", "PFS2": "PFS1:1-3,PFS2:1"},
        "8h30m state /Sales applied": {"PFS1": "PFS1:1", "PFS2": "PFS1:1,PFS2:1"},
    },
    "last_copy_is_kept": {
        "23h state /Sales standing": {"PFS1": "delete now", "PFS2": "active"},
        "23h state /Sales life": {"PFS1": "1", "PFS2": "2"},
        "1d3h state /Sales standing": {"PFS1": "delete now", "PFS2": "active"},
        "1d3h state /Sales applied": {"PFS1": "PFS1:1-8,PFS2:1-5", "PFS2": "PFS1:1-5,PFS2:1-5"},
        "2d state /Sales applied": {"PFS1": "PFS1:1-8,PFS2:1-5", "PFS2": "PFS1:1-8,PFS2:1-5"},
        "2d state /Sales standing": {"PFS1": "active", "PFS2": "active"},
    },
    "leaver_sends_all": {
        "1h30m state /Sales standing": {"PFS1": "delete now", "PFS2": "active", "PFS3": "active"},
        "1h30m state /Sales applied": {"PFS1": "PFS1:1-2", "PFS2": "PFS1:1-2,PFS2:1", "PFS3": "PFS1:1-2"},
    },
    "leaves_and_comes_back": {
        "45m state /Plans standing": {"PFS1": "delete now", "PFS2": "active"},
        "4h state /Plans life": {"PFS1": "1", "PFS2": "1"},
        "4h state /Plans applied": {"PFS1": "PFS1:1-4", "PFS2": "PFS1:1-3"},
        "4h state /Sales life": {"PFS1": "2", "PFS2": "1"},
        "4h state /Sales missing": {"PFS1": "PFS1:1-3", "PFS2": ""},
        "10h15m state /Sales applied": {"PFS1": "PFS1:1-3,PFS1~2:1", "PFS2": "PFS1:1-3,PFS1~2:1"},
    },
    "list_emptied_by_merging": {
        "30m refused - reason": {"PFS1": "last_replica"},
        "30m folder /Sales replicas": {"PFS1": "PFS1, PFS2", "PFS2": "PFS1, PFS2"},
        "30m state /Sales standing": {"PFS1": "active", "PFS2": "delete pending"},
        "30m state /Sales applied": {"PFS1": "PFS1:1-3,PFS2:1", "PFS2": "PFS1:1-2,PFS2:1"},
        "45m refused - reason": {"PFS1": "no_replica_here, not_listed"},
        "3h folder /Sales replicas": {"PFS1": "PFS2", "PFS2": "PFS2"},
        "3h state /Sales applied": {"PFS1": "PFS1:1-3,PFS2:1", "PFS2": "PFS1:1-3,PFS2:1"},
    },
    "listed_again_as_it_may_go": {
        "30m folder /Sales replicas": {"PFS1": "PFS1, PFS2", "PFS2": "PFS1, PFS2"},
        "30m state /Sales standing": {"PFS1": "active", "PFS2": "active"},
        "4h state /Sales life": {"PFS1": "1", "PFS2": "1"},
    },
    "listed_and_removed_at_once": {
        "1h state /Sales standing": {"PFS1": "active", "PFS2": "delete pending"},
        "6h state /Sales applied": {"PFS1": "PFS1:1-3,PFS2:1"},
        "6h state /Plans standing": {"PFS1": "active", "PFS2": "active"},
    },
    "lossy_line": {
        "1h45m state /Sales applied": {"PFS1": "PFS1:1-3,PFS2:1-4", "PFS2": "PFS1:1-3,PFS2:1-4", "PFS3": "PFS1:1-2"},
        "2h30m state /Sales missing": {"PFS1": "", "PFS2": "", "PFS3": "PFS1:3,PFS2:1"},
        "4h state /Sales missing": {"PFS1": "", "PFS2": "", "PFS3": ""},
    },
    "lost_for_ever": {
        "1h state /Sales missing": {"PFS1": "", "PFS2": "PFS1:1-3"},
        "2h15m state /Sales missing": {"PFS1": "", "PFS2": ""},
        "2h15m state /Sales lost": {"PFS1": "", "PFS2": "PFS1:1-3"},
        "9h state /Sales applied": {"PFS1": "PFS1:4,PFS1~2:1", "PFS2": "PFS1:4,PFS1~2:1"},
    },
    "made_and_unmade_at_once": {
        "15m refused - reason": {"PFS1": "folder_deleted, folder_deleted"},
        "15m folder - path": {},
        "30m refused - reason": {"PFS2": "unknown_folder, unknown_folder, unknown_folder"},
        "1h folder - path": {"PFS1": "/Plans, /Plans/June, /Sales", "PFS2": "/Plans, /Plans/June, /Sales"},
        "1h15m refused - reason": {},
        "1h30m refused - reason": {},
        "3h folder - path": {"PFS1": "/Plans, /Sales", "PFS2": "/Plans, /Sales"},
    },
    "never_answered": {"3d state /Sales missing": {"PFS1": "", "PFS2": "PFS1:1"}},
    "night_missed_before_a_restore": {
        "4h state /Sales empty": {"PFS1": "PFS1:1-2,PFS2:1", "PFS2": "PFS1:1-2,PFS2:1", "PFS3": ""},
    },
    "old_when_it_arrives": {
        "1d2h state /News empty": {"PFS1": "PFS1:1-2", "PFS2": "PFS1:1"},
        "1d2h item /News item": {},
        "1d2h15m item /News item": {"PFS2": "PFS1:2"},
        "1d2h15m state /News applied": {"PFS1": "PFS1:1-2", "PFS2": "PFS1:1-2"},
    },
    "overruled_replica_leaves": {
        "2h15m folder /Sales replicas": {"PFS1": "PFS1", "PFS2": "PFS1, PFS2", "PFS3": "PFS1"},
        "2h15m state /Sales standing": {"PFS1": "active", "PFS2": "delete pending"},
        "3h30m folder /Sales replicas": {"PFS1": "PFS1, PFS2", "PFS2": "PFS1", "PFS3": "PFS1, PFS2"},
        "3h30m state /Sales standing": {"PFS1": "active", "PFS2": "delete now"},
        "3h30m state /Sales applied": {"PFS1": "PFS1:1-2,PFS2:1", "PFS2": "PFS2:1"},
        "12h folder /Sales replicas": three("PFS1"),
    },
    "partial_sources_2007": {"1h15m state /Sales missing": {"ASKER": "NEW:1-4,OLD:1-2", "NEW": "OLD:1-2", "OLD": "NEW:2-4"}},
    "removed_once_more": {
        "2h15m folder /Sales replicas": {"PFS1": "PFS2", "PFS2": "PFS1, PFS2", "PFS3": "PFS1, PFS2"},
        "3h folder /Sales replicas": three("PFS2"),
    },
    "request_waits_unread": {
        "3h state /Sales missing": {"PFS1": "", "PFS2": "PFS1:1"},
        "5h state /Sales missing": {"PFS1": "PFS2:1", "PFS2": ""},
    },
    "restored_after_it_expired": {
        "3h45m state /News applied": {"PFS1": "PFS1:1-3", "PFS2": "PFS1:1-3"},
        "3h45m state /News empty": {"PFS1": "PFS1:1-3", "PFS2": "PFS1:1-3"},
        "3h45m state /News sent": {"PFS1": "PFS1:1-3", "PFS2": ""},
    },
    "size_limits": {
        "0m message /Small bytes": {"PFS1": "1024, 3072, 4096, 5120"},
        "0m message /Large bytes": {"PFS1": "6144, 7168"},
        "1h message /Small bytes": {"PFS1": "2048"},
    },
    "startup_seeming_gaps": {"10h state /Unknown applied": {"PFS1": "PFS1:1", "PFS2": ""}},
    "two_leave_at_once": {
        "30m refused - reason": {"PFS3": "last_replica"},
        "1h45m state /Sales standing": {"PFS1": "delete pending", "PFS2": "delete pending", "PFS3": "active"},
        "2h state /Sales standing": {"PFS1": "delete now", "PFS2": "delete now", "PFS3": "active"},
        "3h15m state /Sales applied": {"PFS3": "PFS1:1-4,PFS2:1-3,PFS3:1-2"},
        "3h15m folder /Sales replicas": three("PFS3"),
    },
    "urgent_folder": {
        "0m message /Sales priority": {"PFS1": "urgent"},
        "30m message /Sales priority": {"PFS1": "urgent", "PFS2": "urgent"},
        "1h item /Sales version": {"PFS1": "PFS2:1", "PFS2": "PFS2:1"},
        "1h item /Sales conflict": {"PFS1": "False", "PFS2": "False"},
        "1h item /Sales losers": {"PFS1": "PFS1:2", "PFS2": "PFS1:2"},
    },
    "too_deep": {
        "15m refused - reason": {"PFS1": "too_deep"},
        "45m refused - reason": {"PFS1": "too_deep"},
        "1h refused - reason": {"PFS2": "too_deep"},
        "2h state 1-1 applied": {"PFS1": "PFS1:1-37", "PFS2": "PFS1:1-37"},
        "3h folder - path": {"PFS1": "/A", "PFS2": "/A"},
    },
}  # fmt: skip
ENDS = {
    "asked_by_a_life_that_is_over": (False, 3),  # who learns of them asks hours later
    "expired_before_it_was_told": (False, 0),  # what PFS1 alone had, and has no more
    "leaver_chooses_nobody": (False, 1),
    "never_answered": (False, 1),
    "night_missed_before_a_restore": (False, 0),  # the readers of PFS3 see what has expired elsewhere
    "old_when_it_arrives": (False, 0),  # the readers of PFS2 see an item that has expired at PFS1
    "hours_hold_back_content_alone": (False, 0),  # what PFS2 posts stays there
    "slow_store": (False, 0),  # a folder of schedule Never keeps its post to itself
}
"""Converged, and how much is missing in the end, where it is not all and nothing."""
FAMILIES = {
    "design_conflict": ("object", "property"),
    "generations": ("2000", "2003", "2007", "modern"),
    "partial_sources": ("2000", "2007"),
    "startup": ("all", "seeming_gaps"),
}
"""Files that tell one story under several policies."""


def told(lines: list[dict[str, Any]], types: set[str]) -> list[str]:
    """Messages of those types as `2h 0x8 PFS3>PFS1 /Sales PFS1:12-16`."""
    return sorted(
        f"{after(x)} {x['type']} {x['from']}>{','.join(x['to'])} {x['folder']} {x['carries'] or x['asks']}".rstrip()
        for x in lines
        if x["kind"] == "message" and x["type"] in types
    )


def seen(lines: list[dict[str, Any]], what: str) -> dict[str, str]:
    """What the stores say at a time under a key of a kind of line, such as `45m state /Sales missing`."""
    at, kind, where, key = what.split()
    found: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        if (after(line), line["kind"]) == (at, kind) and where in ("-", line.get("folder", line.get("path"))):
            value = line[key]
            found[line.get("store", line.get("from"))] += value if isinstance(value, list | dict) else [str(value)]
    return {store: ", ".join(sorted(values)) for store, values in found.items()}


def test_every_file_is_pinned() -> None:
    assert PINS.keys() | STORIES.keys() | set(EXPLAINED) == {file.stem for file in FILES}
    assert len(FILES) >= 30


@pytest.mark.parametrize("stem", PINS)
def test_pins(played: Played, stem: str) -> None:
    """What the rules determine of each file."""
    organization = scenario(conf_folder() / "scenarios" / f"{stem}.toml")
    lines = [written(line) for line in played[organization.name]]
    absent = [pin for pin in PINS[stem] if written({"org": organization.name, **pin}) not in lines]
    assert not absent


@pytest.mark.parametrize("stem", STORIES)
def test_stories(played: Played, stem: str) -> None:
    """Who tells and asks whom, and when, and who does not; what each store holds and sees. The comment of the file says why."""
    lines = played[scenario(conf_folder() / "scenarios" / f"{stem}.toml").name]
    expected = sorted(line.strip() for line in STORIES[stem].strip().splitlines())
    assert told(lines, {line.split()[1] for line in expected}) == expected
    views = SEEN.get(stem, {})
    assert {what: seen(lines, what) for what in views} == views


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_nothing_is_missing_in_the_end(played: Played, file: Path) -> None:
    end = played[scenario(file).name][-1]
    converged, missing = ENDS.get(file.stem, (True, 0))
    assert (end["converged"], end["missing"], end["violations"]) == (converged, missing, 0)


@pytest.mark.parametrize("family", FAMILIES)
def test_files_of_a_family_differ_in_their_policy_alone(family: str) -> None:
    found = [scenario(conf_folder() / "scenarios" / f"{family}_{each}.toml") for each in FAMILIES[family]]
    first, *others = [replace(each, name="", profile="", policy=found[0].policy, file="") for each in found]
    assert all(other == first for other in others)


def test_generations_ask_different_sources_and_take_different_times(played: Played) -> None:
    """One organization, four profiles, one play: whom ASKER asks for what, and when all hold all."""
    found = {}
    for generation in FAMILIES["generations"]:
        lines = played[scenario(conf_folder() / "scenarios" / f"generations_{generation}.toml").name]
        requests = {x["to"][0]: x["asks"] for x in lines if x.get("type") == "0x8" and x["from"] == "ASKER"}
        last = max(datetime.fromisoformat(x["at"]) for x in lines if x.get("type") == "0x80000004")
        found[generation] = requests, show_duration(last + timedelta(minutes=5) - START)
    both = {"PREF": "NEAR:1-3", "NEAR": "NEAR:4-5"}
    assert found == {
        "2000": ({"FAR": "NEAR:1-5"}, "2d30m"),
        "2003": (both, "2d30m"),
        "2007": (both, "1d13h20m"),
        "modern": (both, "2h35m"),
    }


@pytest.mark.parametrize("golden", sorted(GOLDEN.glob("*.jsonl")), ids=lambda golden: golden.stem)
def test_golden(played: Played, golden: Path) -> None:
    """Whole outputs that were read beside the articles, line by line."""
    organization = scenario(conf_folder() / "scenarios" / f"{golden.stem}.toml")
    expected = [json.loads(line) for line in golden.read_text().splitlines()]
    assert first_difference(played[organization.name], expected) is None
