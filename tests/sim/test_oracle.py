"""The oracle against the articles' own examples, against the rule book's vectors, and against hundreds of worlds."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import permutations
from typing import Any

import pytest

from pfspark.edge.config import conf_folder
from pfspark.sim.scenario import Scenario, parse
from pfspark.units import show_duration
from pfspark.words import HIERARCHY
from tests.sim.oracle import Line, Standing, World, play, rounds
from tests.sim.organizations import after, items, listing, messages, organization, post, refused, states
from tests.sim.worlds import STORY, world

# --- the worked tables of the articles --------------------------------------------------------------------------------

TABLES = {  # applied(1), applied(2), applied(3), known(2,1), known(3,1), known(1,2), known(3,2), known(1,3), known(2,3)
    "T0": "10|20|30 " * 9,
    "T1": "11|20|30 " + "10|20|30 " * 8,
    "T2": "11|20|30 " * 5 + "10|20|30 " * 4,
    "T3": "11|20|30 11|20|30 11|20|31 11|20|30 11|20|30 " + "10|20|30 " * 4,
    "T4": "11|20|31 11|20|31 11|20|31 11|20|30 11|20|30 10|20|30 10|20|30 11|20|31 11|20|31",
    "T5": "16|28|31 16|28|31 11|20|31 16|20|31 11|20|30 16|28|31 10|20|30 11|20|31 11|20|31",
    "T6": "17|28|31 17|28|31 1-11:17|20|31 17|28|31 17|28|31 16|28|31 16|28|31 11|20|31 11|20|31",
}
SENT = {"T0": "10|20|30", "T1": "10|20|30", "T2": "11|20|30", "T3": "11|20|30", "T4": "11|20|31", "T5": "16|28|31"}
MOMENTS = {"0m": "T0", "15m": "T1", "1h15m": "T2", "1h30m": "T3", "2h15m": "T4", "3h30m": "T5", "4h15m": "T6"}


def cell(text: str) -> str:
    parts = (part if "-" in part else f"1-{part}" for part in text.split("|"))
    return ",".join(f"PFS{place}:{part}" for place, part in enumerate(parts, 1))


@pytest.fixture(scope="module", params=[True, False], ids=["relayed", "sender only"])
def worked(request: pytest.FixtureRequest) -> tuple[bool, list[Line]]:
    """The story of the tables: PFS1 and PFS3 send every hour, so that a change is seen before it is sent."""
    stores = {"PFS1": {"site": "R", "interval": "1h"}, "PFS2": "R", "PFS3": {"site": "P", "interval": "1h"}}
    steps = [
        ("15m", *post("PFS1")),
        ("1h30m", *post("PFS3")),
        ("2h30m", "cut", ["PFS3"]),
        ("2h30m", *post("PFS1", count=5)),
        ("3h15m", *post("PFS2", count=8)),
        ("3h45m", "heal", ["PFS3"]),
        ("3h45m", *post("PFS1")),
        *((moment, "show", ["state"]) for moment in MOMENTS),
    ]
    folder = {"replicas": ["PFS1", "PFS2", "PFS3"], "holds": "PFS1:1-10,PFS2:1-20,PFS3:1-30"}
    scenario = organization(stores, steps, folders={"/F": folder}, policy={"relay_status": request.param}, end="30h")
    return request.param, list(play(scenario))


@pytest.mark.parametrize("moment", MOMENTS)
def test_every_cell_of_the_worked_tables(worked: tuple[bool, list[Line]], moment: str) -> None:
    relayed, lines = worked
    table = states(lines, moment)
    told = TABLES[MOMENTS[moment]].split()
    if not relayed and MOMENTS[moment] == "T6":
        told[6] = "10|20|30"  # nobody told PFS3 of PFS2 (C3)
    known = [table[f"PFS{by}"]["reported"][f"PFS{of}"] for of, by in ("12", "13", "21", "23", "31", "32")]
    assert [*(table[f"PFS{n}"]["applied"] for n in (1, 2, 3)), *known] == [cell(each) for each in told]
    sent = SENT.get(MOMENTS[moment], "17|28|31").split("|")
    assert [table[f"PFS{n}"]["sent"] for n in (1, 2, 3)] == [f"PFS{n}:1-{sent[n - 1]}" for n in (1, 2, 3)]
    missing = "PFS1:12-16,PFS2:21-28" if MOMENTS[moment] == "T6" else ""
    assert [table[f"PFS{n}"]["missing"] for n in (1, 2, 3)] == ["", "", missing]


def test_the_missing_set_is_asked_for_and_comes(worked: tuple[bool, list[Line]]) -> None:
    _, lines = worked
    assert messages(lines, "0x8", "0x80000004") == [  # R95; 12 h after 4h15m, PFS1 is in another site
        "16h15m 0x8 PFS3>PFS1 PFS1:12-16,PFS2:21-28",
        "16h30m 0x80000004 PFS1>PFS3 PFS1:12-16,PFS2:21-28",
    ]
    assert lines[-1] == {
        "org": "test",
        "at": "2026-01-06T06:00:00Z",
        "kind": "end",
        "rounds": 121,
        "converged": True,
        "missing": 0,
        "violations": 0,
    }


# --- timers and counts ------------------------------------------------------------------------------------------------


def silent_source(site: str) -> list[Line]:
    """PFS1 hears at 45m of a number that PFS2 holds, and PFS2 never answers."""
    steps = [
        ("0m", "cut", ["PFS2"]),
        ("0m", *post("PFS2")),
        ("30m", "heal", ["PFS2"]),
        ("30m", *post("PFS2")),
        ("1h", "down", ["PFS2"]),
    ]
    stores = {"PFS1": "R", "PFS2": site}
    return list(play(organization(stores, steps, folders={"/F": ["PFS1", "PFS2"]}, end="190h")))


@pytest.mark.parametrize(
    ("site", "hours"),
    [("R", [6, 18, 42, 66, 90, 114, 138, 162, 186]), ("P", [12, 36, 84, 132, 180])],
    ids=["V28", "V29"],
)
def test_requests_to_a_source_that_never_answers(site: str, hours: list[int]) -> None:
    asked = [after(line) for line in silent_source(site) if line["kind"] == "message" and line["type"] == "0x8"]
    assert asked == [show_duration(timedelta(hours=hour, minutes=45)) for hour in hours]


@pytest.mark.parametrize(
    ("delay", "asked"),
    [("6h1m", []), ("6h2m", []), ("6h3m", ["6h2m 0x8 PFS1>PFS2 PFS3:1"])],
    ids=["V30, at 5:59", "at 6:00", "at 6:01"],
)
def test_a_number_that_arrives_in_time_is_not_asked_for(delay: str, asked: list[str]) -> None:
    """PFS1 hears of it at 2m from PFS2, which is near PFS3; the message itself takes longer."""
    stores = {name: {"site": name, "interval": "1m"} for name in ("PFS1", "PFS2", "PFS3")}
    links = [{"from": "PFS3", "to": "PFS1", "delay": delay}]
    six = ["6h", "12h", "24h"]
    scenario = organization(
        stores,
        [("0m", *post("PFS3")), ("1m", *post("PFS2"))],
        folders={"/F": ["PFS1", "PFS2", "PFS3"]},
        links=links,
        policy={"backfill_timeouts_remote": six},
        interval="1m",
        end="7h",
    )
    assert messages(list(play(scenario)), "0x8") == asked


@pytest.mark.parametrize(
    ("profile", "posts", "told"),
    [
        ("exchange_2003", ["14m"], ["1d15m"]),
        ("exchange_2003", ["16m"], ["1d12h15m"]),
        ("exchange_2007", ["0m", "23h"], ["1d23h"]),
        ("exchange_2007", ["0m"], ["1d"]),
    ],
    ids=["V31", "V32", "V33", "once"],
)
def test_the_unasked_status(profile: str, posts: list[str], told: list[str]) -> None:
    steps = [(moment, *post("PFS1")) for moment in posts]
    stores = {"PFS1": {"site": "R", "interval": "1m"}, "PFS2": "R"}
    scenario = organization(stores, steps, folders={"/F": ["PFS1", "PFS2"]}, profile=profile, interval="1m", end="80h")
    lines = list(play(scenario))
    assert messages(lines, "0x10", sender="PFS1") == [f"{moment} 0x10 PFS1>PFS2" for moment in told]


@pytest.mark.parametrize(
    ("sizes", "sent"),
    [
        ([51200] * 6, ["PFS1:1-6"]),
        ([51200] * 7, ["PFS1:1-6", "PFS1:7"]),
        ([51200, 1048576, 51200], ["PFS1:1", "PFS1:2", "PFS1:3"]),
        ([100, 200000, 200000, 100], ["PFS1:1-2", "PFS1:3-4"]),
    ],
)
def test_packing_under_the_size_limit_v34(sizes: list[int], sent: list[str]) -> None:
    steps = [("0m", *post("PFS1", size=size)) for size in sizes]
    lines = list(play(organization({"PFS1": "R", "PFS2": "R"}, steps, folders={"/F": ["PFS1", "PFS2"]}, end="1h")))
    assert [line.split()[-1] for line in messages(lines, "0x4")] == sent
    assert lines[-1]["converged"]


def test_one_message_for_each_folder_and_one_for_the_hierarchy_v35() -> None:
    both = ["PFS1", "PFS2"]
    steps = [
        ("0m", *post("PFS1", "/F", count=5)),
        ("0m", *post("PFS1", "/G", count=3)),
        ("0m", "rename_folder", {"store": "PFS1", "folder": "/H", "name": "H1"}),
        ("0m", "rename_folder", {"store": "PFS1", "folder": "/I", "name": "I1"}),
    ]
    scenario = organization({"PFS1": "R", "PFS2": "R"}, steps, folders={"/F": both, "/G": both, "/H": both, "/I": both}, end="1h")
    lines = list(play(scenario))
    assert messages(lines) == ["0m 0x2 PFS1>PFS2 PFS1:5-6", "0m 0x4 PFS1>PFS2 PFS1:1-5", "0m 0x4 PFS1>PFS2 PFS1:1-3"]
    body = '{"name":"H1","parent":"","replica:PFS1":"listed","replica:PFS2":"listed"}'
    assert [line["bytes"] for line in lines[:3]] == [2 * len(body), 5 * 1024, 3 * 1024]


def test_folders_in_one_hierarchy_message_before_2003() -> None:
    steps = [("0m", "create_folder", {"store": "PFS1", "path": f"/N{n}", "replicas": ["PFS1"]}) for n in range(25)]
    stores = {"PFS1": "R", "PFS2": "R"}
    lines = list(play(organization(stores, steps, profile="exchange_2000", end="30m")))
    assert messages(lines, "0x2") == ["0m 0x2 PFS1>PFS2 PFS1:1-20", "0m 0x2 PFS1>PFS2 PFS1:21-25"]


def test_a_lost_message_costs_more_than_itself_v36() -> None:
    names = [f"PFS{n:02}" for n in range(1, 21)]
    steps = [("0m", "cut", ["PFS01"]), ("0m", *post("PFS01")), ("1h", "heal", ["PFS01"])]
    lines = list(play(organization(dict.fromkeys(names, "R"), steps, folders={"/F": names}, end="32h")))
    assert [len(messages(lines, type)) for type in ("0x4", "0x8", "0x80000004")] == [1, 19, 19]
    assert messages(lines, "0x10", sender="PFS01") == ["1d 0x10 PFS01>" + ",".join(names[1:])]
    assert lines[-1]["converged"]


# --- adding and removing a replica ------------------------------------------------------------------------------------


def test_adding_a_replica_a1_to_a9() -> None:
    steps = [
        ("0m", *listing("add", "EX01", "EX01")),
        ("0m", "show", ["folders", "state"]),
        ("15m", "show", ["folders"]),
        ("30m", "show", ["state"]),
        ("6h45m", "show", ["state"]),
        ("7h", "show", ["state"]),
    ]
    folder = {"replicas": ["EX02"], "holds": "EX02:1-400"}
    lines = list(play(organization({"EX01": "R", "EX02": "R"}, steps, folders={"/F": folder}, end="8h")))
    lists = [(after(x), x["store"], x["replicas"]) for x in lines if x["kind"] == "folder"]
    one, both = {"EX02": "active"}, {"EX01": "active", "EX02": "active"}
    assert lists == [("0m", "EX01", both), ("0m", "EX02", one), ("15m", "EX01", both), ("15m", "EX02", both)]
    assert messages(lines) == [
        "0m 0x2 EX01>EX02 EX01:2",
        "0m 0x20 EX01>EX02",
        "15m 0x10 EX02>EX01",
        "6h30m 0x8 EX01>EX02 EX02:1-400",
        "6h45m 0x80000004 EX02>EX01 EX02:1-300",
        "6h45m 0x80000004 EX02>EX01 EX02:301-400",
    ]
    assert states(lines, "0m")["EX01"]["reported"] == {"EX02": ""}
    assert states(lines, "30m")["EX01"]["reported"] == {"EX02": "EX02:1-400"}
    assert states(lines, "30m")["EX01"]["missing"] == "EX02:1-400"
    assert states(lines, "7h")["EX01"]["applied"] == "EX02:1-400"


def test_a_retry_may_go_to_another_store_a10() -> None:
    """The first source is down by then: it is unavailable when the retry is due, and the next one is asked."""
    steps = [("0m", *listing("add", "EX01", "EX01")), ("11h", "down", ["EX02"])]
    folder = {"replicas": ["EX02", "EX03"], "holds": "EX02:1-9"}
    links = [{"sites": ["A", "B"], "cost": 1}, {"sites": ["A", "C"], "cost": 5}]
    stores = {"EX01": "A", "EX02": "B", "EX03": "C"}
    lines = list(play(organization(stores, steps, folders={"/F": folder}, links=links)))
    assert messages(lines, "0x8", "0x80000004") == [
        "12h30m 0x8 EX01>EX02 EX02:1-9",
        "1d12h30m 0x8 EX01>EX03 EX02:1-9",
        "1d12h45m 0x80000004 EX03>EX01 EX02:1-9",
    ]


def test_removing_a_replica_d1_to_d10() -> None:
    """EX02 lacks EX01:10, so the first answer is no proof: EX02 asks within five minutes, EX01 sends and asks again."""
    steps = [
        ("0m", "cut", ["EX02"]),
        ("0m", *post("EX01")),
        ("1h", "heal", ["EX02"]),
        ("1h", *listing("remove", "EX01", "EX01")),
        ("1h15m", *post("EX01")),
        ("1h15m", "show", ["folders", "state"]),
        ("2h15m", "show", ["folders", "state"]),
        ("2h30m", "show", ["folders"]),
        ("26h", "show", ["folders", "state"]),
    ]
    folder = {"replicas": ["EX01", "EX02"], "holds": "EX01:1-9,EX02:1-9"}
    lines = list(play(organization({"EX01": "R", "EX02": "R"}, steps, folders={"/F": folder}, end="26h")))
    assert messages([x for x in lines if after(x) != "0m"], folder="/F")[:6] == [
        "1h 0x20 EX01>EX02",
        "1h15m 0x10 EX02>EX01",
        "1h30m 0x8 EX02>EX01 EX01:10",
        "1h45m 0x80000004 EX01>EX02 EX01:10",
        "1h45m 0x20 EX01>EX02",
        "2h 0x10 EX02>EX01",
    ]
    assert messages(lines, "0x2") == ["1h 0x2 EX01>EX02 EX01:2", "2h15m 0x2 EX01>EX02 EX01:3"]
    assert refused(lines) == [("EX01", "edit", 5, "no_replica_here")]  # D2
    lists = {(after(x), x["store"]): x["replicas"] for x in lines if x["kind"] == "folder"}
    assert lists["1h15m", "EX02"] == {"EX01": "delete pending", "EX02": "active"}  # D4
    assert lists["2h15m", "EX02"] == {"EX01": "delete pending", "EX02": "active"}
    assert lists["2h15m", "EX01"] == lists["2h30m", "EX02"] == {"EX02": "active"}  # D9, D10
    standings = {moment: states(lines, moment)["EX01"]["standing"] for moment in ("1h15m", "2h15m")}
    assert standings == {"1h15m": "delete pending", "2h15m": "delete now"}  # D2, D8
    assert list(states(lines, "1d2h")) == ["EX02"]  # erased by maintenance
    assert states(lines, "1d2h")["EX02"]["applied"] == "EX01:1-10,EX02:1-9"


@pytest.mark.parametrize(("rule", "standing"), [("one_holds_all", "delete pending"), ("union_holds_all", "delete now")])
def test_what_proves_that_a_leaver_may_go_c5(rule: str, standing: str) -> None:
    """PFS1 holds one number that only PFS2 got and one that only PFS3 got, and nobody can be asked for them."""
    steps = [
        ("0m", "cut", ["PFS3"]),
        ("0m", *post("PFS1")),
        ("30m", "heal", ["PFS3"]),
        ("30m", "cut", ["PFS2"]),
        ("30m", *post("PFS1")),
        ("1h", "heal", ["PFS2"]),
        ("1h", "suspend", True),
        ("1h", *listing("remove", "PFS1", "PFS1")),
        ("1h45m", "show", ["state"]),
    ]
    stores = dict.fromkeys(["PFS1", "PFS2", "PFS3"], "R")
    policy = {"removal_rule": rule, "delete_pending_timeout": "5h"}
    lines = list(play(organization(stores, steps, folders={"/F": list(stores)}, policy=policy, end="2h")))
    assert states(lines)["PFS1"]["standing"] == standing


def test_a_leaver_that_reaches_nobody_stays_q25() -> None:
    steps = [
        ("0m", *listing("remove", "PFS1", "PFS1")),
        ("0m", "down", ["PFS2"]),
        ("100h", "show", ["state"]),
    ]
    stores = {"PFS1": "R", "PFS2": "R"}
    lines = list(play(organization(stores, steps, folders={"/F": ["PFS1", "PFS2"]}, end="100h")))
    assert states(lines)["PFS1"]["standing"] == "delete pending"
    asked = [line.split()[0] for line in messages(lines, "0x20")]
    assert asked == ["0m", "6h", "18h", "1d18h", "2d18h", "3d18h"]  # without end, at the time-outs


def test_back_on_the_list_before_and_after_erasure() -> None:
    """Taken back while it leaves, a replica goes on in the same life; after erasure it begins the next, and asks."""
    steps = [
        ("0m", *listing("remove", "PFS1", "PFS2")),
        ("45m", *listing("add", "PFS1", "PFS2")),
        ("3h", "show", ["state"]),
        ("3h", *listing("remove", "PFS1", "PFS2")),
        ("30h", *listing("add", "PFS1", "PFS2")),
        ("31h", *post("PFS2")),
        ("40h", "show", ["state"]),
    ]
    folder = {"replicas": ["PFS1", "PFS2"], "holds": "PFS1:1-3,PFS2:1-3"}
    lines = list(play(organization({"PFS1": "R", "PFS2": "R"}, steps, folders={"/F": folder})))
    early, late = (states(lines, moment)["PFS2"] for moment in ("3h", "1d16h"))
    assert (early["life"], early["standing"], early["applied"]) == (1, "active", "PFS1:1-3,PFS2:1-3")
    assert (late["life"], late["standing"], late["applied"]) == (2, "active", "PFS1:1-3,PFS2:1-3,PFS2~2:1")
    assert states(lines, "1d16h")["PFS1"]["reported"] == {"PFS2": "PFS2~2:1"}  # what it said of its first life is over
    assert lines[-1]["converged"]


def test_the_last_replica_and_a_list_that_merging_would_empty() -> None:
    """Each of two stores takes the other off: both edits are accepted, the later removal is not carried out."""
    steps = [
        ("0m", "cut", ["PFS1"]),
        ("0m", *listing("remove", "PFS1", "PFS2")),
        ("0m", *listing("remove", "PFS1", "PFS1")),
        ("15m", *listing("remove", "PFS2", "PFS1")),
        ("1h", "heal", ["PFS1"]),
        ("60h", "show", ["folders", "state"]),
    ]
    policy = {"hierarchy_merge": "property", "status_again": "1h doubling to 1d"}
    stores = {"PFS1": "R", "PFS2": "R"}
    folder = {"replicas": ["PFS1", "PFS2"], "holds": "PFS1:1-3,PFS2:1-3"}
    lines = list(play(organization(stores, steps, folders={"/F": folder}, policy=policy, end="60h")))
    assert refused(lines) == [("PFS1", "edit", 3, "last_replica")]
    assert [x["replicas"] for x in lines if x["kind"] == "folder"] == [{"PFS1": "active"}] * 2
    assert {name: line["applied"] for name, line in states(lines).items()} == {"PFS1": "PFS1:1-3,PFS2:1-3"}


def test_a_leaver_shows_and_sends_all_it_has_at_once() -> None:
    """The cycle that would carry P1:1 is hours away, yet P2 hears of it with the request, and asks in five minutes."""
    steps = [("5m", *post("P1")), ("15m", *listing("remove", "P2", "P1"))]
    stores = {"P1": {"site": "A", "interval": "6h"}, "P2": "A"}
    lines = list(play(organization(stores, steps, folders={"/F": ["P1", "P2"]}, end="6h")))
    assert messages(lines, "0x20", "0x8", "0x80000004") == [
        "30m 0x20 P1>P2",
        "1h 0x8 P2>P1 P1:1",
        "1h15m 0x80000004 P1>P2 P1:1",
        "1h15m 0x20 P1>P2",
    ]


def test_new_content_is_not_addressed_to_a_leaver() -> None:
    steps = [("0m", *listing("remove", "P1", "P2")), ("0m", *post("P1")), ("0m", *post("P3"))]
    lines = list(play(organization(dict.fromkeys(["P1", "P2", "P3"], "A"), steps, folders={"/F": ["P1", "P2", "P3"]})))
    assert messages(lines, "0x4") == ["0m 0x4 P1>P3 P1:1", "0m 0x4 P3>P1,P2 P3:1"]  # each by its own view


def test_a_leaver_acknowledges_nobody() -> None:
    """P2 wants to leave too, which P1 cannot know yet: P2's hierarchy message waits for its cycle."""
    steps = [
        ("0m", "down", ["P3"]),
        ("5m", *listing("remove", "P2", "P2")),
        ("15m", *listing("remove", "P1", "P1")),
        ("2h", "show", ["state"]),
    ]
    stores = {"P1": "A", "P2": {"site": "A", "interval": "6h"}, "P3": "A"}
    lines = list(play(organization(stores, steps, folders={"/F": ["P1", "P2", "P3"]}, end="2h")))
    assert "30m 0x10 P2>P1" in messages(lines)
    assert states(lines)["P1"]["standing"] == states(lines)["P2"]["standing"] == "delete pending"


def test_erasure_is_put_off_for_the_last_copy() -> None:
    """P2 acknowledged that it holds all of P1, and was then restored to before it knew; back on the list, P1 gives it back."""
    steps = [
        ("30m", *post("P1")),
        ("3h", *listing("remove", "P1", "P1")),
        ("5h", "restore", {"store": "P2", "to": "15m"}),
        ("27h", "show", ["state"]),
        ("27h", *listing("add", "P2", "P1")),
        ("48h", "show", ["state"]),
    ]
    lines = list(play(organization({"P1": "A", "P2": "A"}, steps, folders={"/F": ["P1", "P2"]})))
    early, late = states(lines, "1d3h"), states(lines, "2d")
    assert (early["P1"]["standing"], early["P1"]["applied"], early["P2"]["applied"]) == ("delete now", "P1:1", "")
    assert (late["P1"]["standing"], late["P1"]["life"], late["P2"]["applied"]) == ("active", 1, "P1:1")


# --- conflicts --------------------------------------------------------------------------------------------------------


def edited(delays: tuple[str, ...], edits: str, policy: dict[str, Any]) -> list[Line]:
    """A, B and C edit one item before they hear of each other; their changes reach D after these delays."""
    stores = {name: name for name in "ABCD"}
    links = [{"from": name, "to": "D", "delay": delay} for name, delay in zip("ABC", delays, strict=True)]
    where = {"folder": "/F", "item": "one"}
    words = [edit.split() for edit in edits.split(", ")]
    steps = [("0m", *post("D", item="one")), *((at, verb, {"store": name, **where}) for at, verb, name in words)]
    scenario = organization(
        stores,
        [*steps, ("5h", "show", ["items"]), ("6h", "modify", {"store": "B", **where}), ("12h", "show", ["items"])],
        folders={"/F": [*stores]},
        links=links,
        policy=policy,
        end="12h",
    )
    return list(play(scenario))


@pytest.mark.parametrize("delays", [*permutations(["0m", "1h", "2h"])])
@pytest.mark.parametrize(
    ("edits", "winner"),
    [
        ("28m modify A, 29m modify B, 30m modify C", ("C:1", False, True, ["A:1", "B:1"])),
        ("30m modify A, 29m modify B, 28m modify C", ("A:1", False, True, ["B:1", "C:1"])),
        ("30m modify A, 30m modify B, 30m modify C", ("C:1", False, True, ["A:1", "B:1"])),
        ("28m modify A, 29m delete B, 30m delete C", ("A:1", False, True, ["B:1", "C:1"])),
        ("30m delete A, 29m delete B", ("A:1", True, True, ["B:1"])),
        ("30m delete A", ("A:1", True, False, [])),
    ],
    ids=["latest", "latest is first", "tie", "modified and deleted", "deleted twice", "deleted"],
)
def test_a_conflict_ends_alike_whatever_the_order_of_arrival(
    delays: tuple[str, ...], edits: str, winner: tuple[str, bool, bool, list[str]]
) -> None:
    lines = edited(delays, edits, {})
    before = items([x for x in lines if x["kind"] == "item" and after(x) == "5h"])
    assert before == {(store, "one"): winner for store in "ABCD"}
    assert [reason for _, _, _, reason in refused(lines)] == ["item_deleted"] * winner[1]
    if not winner[1]:  # the next modification is made upon all versions, so it settles the conflict
        assert items(lines) == {(store, "one"): ("B:2", False, False, []) for store in "ABCD"}
    assert lines[-1]["converged"]


def test_conflict_method_one_keeps_the_losers_without_a_flag_q23() -> None:
    lines = edited(("0m", "0m", "0m"), "28m modify A, 29m modify B, 30m modify C", {"conflict": 1})
    shown = items([x for x in lines if x["kind"] == "item" and after(x) == "5h"])
    assert shown["D", "one"] == ("C:1", False, False, ["A:1", "B:1"])


# --- the tree ---------------------------------------------------------------------------------------------------------


def merged(merge: str, *edits: tuple[str, dict[str, Any]]) -> list[Line]:
    """Edits at stores of their own in one round: none knows of the other; the larger origin has the higher stamp."""
    steps = [("0m", verb, value) for verb, value in edits]
    stores = dict.fromkeys(["PFS1", "PFS2", "PFS3"], "R")
    folders = {path: ["PFS1"] for path in ("/F", "/G", "/G/H")}
    scenario = organization(
        stores, [*steps, ("2h", "show", ["folders"])], folders=folders, policy={"hierarchy_merge": merge}, end="2h"
    )
    return list(play(scenario))


def paths(lines: list[Line]) -> dict[str, str]:
    seen = defaultdict(set)
    for line in lines:
        if line["kind"] == "folder":
            seen[line["id"]].add(line["path"])
    return {folder: "".join(where) if len(where) == 1 else str(where) for folder, where in seen.items()}


@pytest.mark.parametrize(("merge", "path"), [("property", "/G/R"), ("object", "/G/F")])
def test_a_rename_and_a_move_made_apart(merge: str, path: str) -> None:
    lines = merged(
        merge,
        ("rename_folder", {"store": "PFS1", "folder": "/F", "name": "R"}),
        ("move_folder", {"store": "PFS2", "folder": "PFS1:1", "to": "/G"}),
    )
    assert paths(lines)["PFS1:1"] == path
    assert lines[-1]["converged"]


@pytest.mark.parametrize("merge", ["property", "object"])
def test_deletion_of_a_folder_is_final_and_takes_what_is_below(merge: str) -> None:
    lines = merged(
        merge,
        ("delete_folder", {"store": "PFS1", "folder": "/G"}),
        ("rename_folder", {"store": "PFS2", "folder": "PFS1:2", "name": "R"}),
    )
    assert paths(lines) == {"PFS1:1": "/F"}
    assert lines[-1]["converged"]


def test_folders_that_cannot_reach_the_root_are_shown_beneath_it() -> None:
    lines = merged(
        "property",
        ("move_folder", {"store": "PFS1", "folder": "/F", "to": "/G"}),
        ("move_folder", {"store": "PFS2", "folder": "PFS1:2", "to": "PFS1:1"}),
    )
    assert paths(lines) == {"PFS1:1": "/F", "PFS1:2": "/G", "PFS1:3": "/H"}


def test_a_created_folder_and_its_first_item() -> None:
    """The folder's number is its id; content that comes before the hierarchy is refused and left to backfill."""
    steps = [
        ("0m", "create_folder", {"store": "PFS2", "path": "/N", "replicas": ["PFS2", "PFS1"]}),
        ("0m", *post("PFS2", "/N", item="first")),
        ("0m", *post("PFS3", "/N")),
        ("15m", "cut", ["PFS1"]),
        ("30m", "heal", ["PFS1"]),
        ("30m", *post("PFS2", "/N")),
        ("40h", "show", ["items", "state"]),
    ]
    stores = dict.fromkeys(["PFS1", "PFS2", "PFS3"], "R")
    policy = {"status_again": "1h doubling to 1d"}
    lines = list(play(organization(stores, steps, policy=policy, end="40h")))
    assert messages(lines, "0x2", "0x4")[:2] == ["0m 0x2 PFS2>PFS1,PFS3 PFS2:1", "0m 0x4 PFS2>PFS1 PFS2:1"]
    assert refused(lines) == [("PFS3", "edit", 3, "unknown_folder"), ("PFS1", "message", None, "unknown_folder")]
    assert items(lines)["PFS1", "first"] == ("PFS2:1", False, False, [])
    assert states(lines, folder="/N")["PFS1"]["applied"] == "PFS2:1-2"


def test_what_is_refused() -> None:
    steps = [
        ("0m", *post("PFS1", item="one")),
        ("0m", *post("PFS3")),
        ("0m", "modify", {"store": "PFS2", "folder": "/F", "item": "one"}),
        ("0m", "delete", {"store": "PFS1", "folder": "/F", "item": "one"}),
        ("0m", "modify", {"store": "PFS1", "folder": "/F", "item": "one"}),
        ("0m", *listing("remove", "PFS1", "PFS3")),
        ("0m", *post("PFS1", "PFS1:9")),
        ("0m", "delete_folder", {"store": "PFS1", "folder": "/F"}),
        ("0m", *post("PFS1", "PFS1:1")),
        ("0m", "set_folder", {"store": "PFS1", "folder": "PFS1:1", "description": "x"}),
    ]
    stores = dict.fromkeys(["PFS1", "PFS2", "PFS3"], "R")
    lines = list(play(organization(stores, steps, folders={"/F": ["PFS1", "PFS2"]}, end="1h")))
    assert [(step, reason) for _, _, step, reason in refused(lines)] == [
        (5, "item_deleted"),
        (6, "not_listed"),
        (7, "unknown_folder"),
        (9, "folder_deleted"),
        (10, "folder_deleted"),
        (3, "unknown_item"),
        (2, "no_replica_here"),
    ]


# --- sources ----------------------------------------------------------------------------------------------------------


def first_request(profile: str, stores: dict[str, Any], folder: dict[str, Any], **more: Any) -> list[str]:
    """What a new replica at NEW asks for first."""
    steps = [("0m", *listing("add", "NEW", "NEW")), *more.pop("steps", [])]
    scenario = organization({**stores, "NEW": "A"}, steps, folders={"/F": folder}, profile=profile, **more)
    lines = messages(list(play(scenario)), "0x8")
    return [line.split(" ", 2)[2] for line in lines if line.split()[0] == lines[0].split()[0]]


@pytest.mark.parametrize(("profile", "source"), [("exchange_2000", "FAR"), ("exchange_2007", "NEAR")])
def test_a_near_old_store_against_a_far_new_one_c1(profile: str, source: str) -> None:
    stores = {"FAR": {"site": "B", "version": "2000"}, "NEAR": {"site": "A", "version": "5.5"}}
    folder = {"replicas": ["FAR", "NEAR"], "holds": "FAR:1-4"}
    asked = first_request(profile, stores, folder, links=[{"sites": ["A", "B"], "cost": 4}])
    assert asked == [f"NEW>{source} FAR:1-4"]


@pytest.mark.parametrize(
    ("change", "source"),
    [
        ({}, "P2"),  # cheaper
        ({"P1": {"preferred": True}}, "P1"),
        ({"P2": {"site": "C"}}, "P3"),  # as dear, newer
        ({"P2": {"site": "C"}, "P3": {"version": "2003"}}, "P1"),  # alike in all but the name
    ],
)
def test_the_five_keys(change: dict[str, dict[str, Any]], source: str) -> None:
    stores: dict[str, dict[str, Any]] = {
        "P1": {"site": "C", "version": "2003"},
        "P2": {"site": "B", "version": "2003"},
        "P3": {"site": "C", "version": "2007"},
    }
    stores |= {name: stores[name] | values for name, values in change.items()}
    links = [{"sites": ["A", "B"], "cost": 2}, {"sites": ["A", "C"], "cost": 3}]
    links = [link for link in links if any(store["site"] == link["sites"][1] for store in stores.values())]
    asked = first_request("exchange_2007", stores, {"replicas": [*stores], "holds": "P1:1-4"}, links=links)
    assert asked == [f"NEW>{source} P1:1-4"]


def test_who_can_give_more_of_all_that_is_missing_is_asked_first() -> None:
    """P2 alone has what it posted while it was cut off; P1 would come first by name."""
    steps = [
        ("0m", "cut", ["P2"]),
        ("0m", *post("P2", count=3)),
        ("15m", "heal", ["P2"]),
        ("1h", *listing("add", "NEW", "NEW")),
    ]
    folder = {"replicas": ["P1", "P2"], "holds": "P1:1"}
    policy = {"relay_status": False, "backfill_timeouts_local": ["3h", "6h", "12h"]}
    lines = list(play(organization(dict.fromkeys(["P1", "P2", "NEW"], "A"), steps, folders={"/F": folder}, policy=policy)))
    assert messages(lines, "0x8", sender="NEW") == ["4h30m 0x8 NEW>P2 P1:1,P2:1-3"]


def test_any_message_makes_a_source_available_again() -> None:
    """P2 is the cheaper source; it falls silent, P3 is asked; P2 is heard, and asked again for what is missing next."""
    steps = [
        ("0m", *listing("add", "NEW", "NEW")),
        ("1h20m", "down", ["P2"]),
        ("5h", "up", ["P2"]),
        ("5h", *post("P2")),
        ("6h", "cut", ["NEW"]),
        ("6h", *post("P3")),
        ("6h30m", "heal", ["NEW"]),
        ("7h", *post("P2")),
    ]
    links = [{"sites": ["A", "B"], "cost": 1}, {"sites": ["A", "C"], "cost": 5}]
    folder = {"replicas": ["P2", "P3"], "holds": "P2:1-3"}
    policy = {"backfill_timeouts_remote": ["1h", "2h", "24h"]}
    stores = {"P2": "B", "P3": "C", "NEW": "A"}
    lines = list(play(organization(stores, steps, folders={"/F": folder}, links=links, policy=policy, end="9h")))
    assert messages(lines, "0x8") == [
        "1h30m 0x8 NEW>P2 P2:1-3",
        "3h30m 0x8 NEW>P3 P2:1-3",
        "8h15m 0x8 NEW>P2 P3:1",
    ]


def test_a_restored_store_remembers_whom_it_has_heard() -> None:
    """P2 answered after the moment that NEW goes back to: NEW asks again, and P2 is not taken for unavailable."""
    steps = [("0m", *listing("add", "NEW", "NEW")), ("5h", "restore", {"store": "NEW", "to": "1h30m"})]
    links = [{"sites": ["A", "B"], "cost": 1}, {"sites": ["A", "C"], "cost": 5}]
    folder = {"replicas": ["P2", "P3"], "holds": "P2:1-3"}
    policy = {"backfill_timeouts_remote": ["1h", "2h", "24h"]}
    stores = {"P2": "B", "P3": "C", "NEW": "A"}
    lines = list(play(organization(stores, steps, folders={"/F": folder}, links=links, policy=policy, end="9h")))
    assert messages(lines, "0x8") == ["1h30m 0x8 NEW>P2 P2:1-3", "5h 0x8 NEW>P2 P2:1-3"]


@pytest.mark.parametrize(
    ("profile", "asked"),
    [
        ("exchange_2007", ["NEW>P1 P1:1-2", "NEW>P2 P2:1-3"]),
        ("exchange_2000", ["NEW>P1 P1:1-2", "NEW>P2 P2:1-3"]),
    ],
)
def test_when_nobody_has_all_several_are_asked(profile: str, asked: list[str]) -> None:
    """Both replicas post while they do not hear each other, and nobody tells of others (R104, R118)."""
    steps = [
        ("0m", "cut", ["P1", "P2"]),
        ("0m", *post("P1", count=2)),
        ("0m", *post("P2", count=3)),
        ("15m", "heal", ["P1", "P2"]),
        ("1h", *listing("add", "NEW", "NEW")),
    ]
    policy = {"relay_status": False, "backfill_timeouts_local": ["3h", "6h", "12h"]}
    stores = {"P1": "A", "P2": "A", "NEW": "A"}
    scenario = organization(stores, steps, folders={"/F": ["P1", "P2"]}, profile=profile, policy=policy)
    assert [x.split(" ", 2)[2] for x in messages(list(play(scenario)), "0x8", sender="NEW")][:2] == asked


def test_the_responders_of_exchange_2000_r120_to_r128() -> None:
    """Same site first, then by cost; the oldest copy is added. Only those named answer."""
    stores = {"P1": "D", "P2": "C", "P3": "B", "P4": "A", "NEW": "A"}
    links = [{"from": "A", "to": site, "cost": cost} for site, cost in (("B", 2), ("C", 3), ("D", 4))]
    folder = {"replicas": ["P1", "P2", "P3", "P4"], "holds": "P1:1-4"}
    scenario = organization(
        stores,
        [("0m", *listing("add", "NEW", "NEW"))],
        folders={"/F": folder},
        links=links,
        profile="exchange_2000",
        end="1h",
    )
    lines = list(play(scenario))
    assert messages(lines, "0x20") == ["0m 0x20 NEW>P1,P2,P3,P4"]
    assert [line.split()[2] for line in messages(lines, "0x10")] == ["P1>NEW", "P2>NEW", "P3>NEW", "P4>NEW"]
    stores["P5"] = "E"
    folder["replicas"] = ["P5", "P4", "P3", "P2"]
    scenario = organization(
        stores,
        [("0m", *listing("add", "NEW", "NEW"))],
        folders={"/F": folder},
        links=links,
        profile="exchange_2000",
        end="1h",
    )
    assert [x.split()[2] for x in messages(list(play(scenario)), "0x10")] == ["P2>NEW", "P3>NEW", "P4>NEW"]


def test_a_chosen_responder_goes_to_the_back_of_the_queue_r122() -> None:
    names = ["P1", "P2", "P3", "P4", "P5"]
    steps = [("0m", *listing("add", "NEW", "NEW", "/F")), ("15m", *listing("add", "NEW", "NEW", "/G"))]
    folders = {path: {"replicas": names, "holds": "P1:1"} for path in ("/F", "/G")}
    stores = dict.fromkeys([*names, "NEW"], "A")
    lines = list(play(organization(stores, steps, folders=folders, profile="exchange_2000", end="1h")))
    answers = {path: [x.split()[2][:2] for x in messages(lines, "0x10", folder=path)] for path in folders}
    assert answers == {"/F": ["P1", "P2", "P3"], "/G": ["P1", "P4", "P5"]}


# --- status -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("when", "answers"), [("has_more", 1), ("always", 2)])
def test_who_answers_a_status_request_r135(when: str, answers: int) -> None:
    """P2 holds nothing that the new replica lacks: it stays silent, and is asked again; P1 answers at once."""
    steps = [("0m", "down", ["P2"]), ("0m", *post("P1")), ("1h", "up", ["P2"]), ("1h", *listing("add", "NEW", "NEW"))]
    scenario = organization(
        {"P1": "A", "P2": "A", "NEW": "A"}, steps, folders={"/F": ["P1", "P2"]}, policy={"answer_when": when}, end="90h"
    )
    lines = list(play(scenario))
    first = [x for x in messages(lines, "0x10", folder="/F") if x.startswith("1h15m")]
    assert len(first) == answers
    again = ["7h 0x20 NEW>P2", "19h 0x20 NEW>P2"] if when == "has_more" else []  # its own status comes after a day
    assert messages(lines, "0x20", sender="NEW") == ["1h 0x20 NEW>P1,P2", *again]


def test_a_silent_responder_is_asked_three_times_more() -> None:
    steps = [("0m", "down", ["P2"]), ("0m", *listing("add", "NEW", "NEW"))]
    stores = {"P1": "A", "P2": "A", "NEW": "A"}
    folder = {"replicas": ["P1", "P2"], "holds": "P1:1"}
    lines = list(play(organization(stores, steps, folders={"/F": folder}, end="200h")))
    assert messages(lines, "0x20") == [
        "0m 0x20 NEW>P1,P2",
        "6h 0x20 NEW>P2",
        "18h 0x20 NEW>P2",
        "1d18h 0x20 NEW>P2",
    ]


@pytest.mark.parametrize(("again", "learned"), [("off", False), ("1h doubling to 1d", True)])
def test_status_again_ends_a_long_silence(again: str, learned: bool) -> None:
    """Cut for longer than the one status of the articles, a store need never notice; repeats reach it."""
    steps = [("0m", "cut", ["P2"]), ("0m", *post("P1")), ("30h", "heal", ["P2"])]
    stores = {"P1": "A", "P2": "A"}
    scenario = organization(stores, steps, folders={"/F": ["P1", "P2"]}, policy={"status_again": again}, end="90h")
    lines = list(play(scenario))
    assert lines[-1]["converged"] == learned
    told = [line.split()[0] for line in messages(lines, "0x10", sender="P1")]
    # P2 hears at 31 h and asks at 37 h; P1 knows of it when P2 says so a day later
    assert told == (["1d", "1d1h", "1d3h", "1d7h", "1d15h", "2d7h"] if learned else ["1d"])


@pytest.mark.parametrize(("switch", "asked"), [("off", []), ("seeming_gaps", ["1-1"]), ("all", ["1-1", "/F"])])
def test_what_a_restarted_store_asks_r133_r134(switch: str, asked: list[str]) -> None:
    steps = [("0m", "down", ["P2"]), ("1h", "up", ["P2"])]
    scenario = organization(
        {"P1": "A", "P2": "A"},
        steps,
        folders={"/F": ["P1", "P2"]},
        profile="exchange_2003",
        policy={"startup_status": switch},
        end="2h",
    )
    requests = [x["folder"] for x in play(scenario) if x["kind"] == "message" and x["type"] == "0x20"]
    assert sorted(requests) == sorted(asked)


def test_what_is_shown_does_not_include_what_was_not_sent_f60() -> None:
    steps = [("5m", *post("P1")), ("15m", *listing("add", "NEW", "NEW")), ("45m", "show", ["state"])]
    stores = {"P1": {"site": "A", "interval": "1h"}, "NEW": "A"}
    scenario = organization(stores, steps, folders={"/F": {"replicas": ["P1"], "holds": "P1:1-2"}}, end="1h")
    shown = states(list(play(scenario)))
    assert (shown["P1"]["applied"], shown["P1"]["sent"]) == ("P1:1-3", "P1:1-2")
    assert (shown["NEW"]["reported"], shown["NEW"]["missing"]) == ({"P1": "P1:1-2"}, "P1:1-2")


def test_a_late_message_of_an_older_life_brings_content_and_no_news() -> None:
    """P1's message to P3 takes five hours; meanwhile P1 is restored, and P2 tells P3 of its new life."""
    steps = [
        ("0m", "down", ["P2", "P3"]),
        ("0m", *post("P4")),
        ("15m", *post("P1")),
        ("45m", "up", ["P2", "P3"]),
        ("1h", "restore", {"store": "P1", "to": "0m"}),
        ("1h15m", *post("P1")),
        ("1h30m", *post("P2")),
        ("5h15m", "show", ["state"]),
    ]
    stores = {name: name for name in ("P1", "P2", "P3", "P4")}
    links = [{"from": "P1", "to": "P3", "delay": "5h"}]
    scenario = organization(stores, steps, folders={"/F": [*stores]}, links=links, end="6h")
    here = states(list(play(scenario)))["P3"]
    # what P4 had it relayed: nobody else has told P3
    assert (here["applied"], here["missing"]) == ("P1:1,P2:1", "P1~2:1")
    assert here["reported"]["P4"] == ""


# --- schedules, suspension, restore, expiry ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("store", "folder", "sent"),
    [
        ({}, {}, ["15m 0x2", "15m 0x4"]),
        ({"interval": "1h"}, {}, ["1h 0x2", "1h 0x4"]),
        ({"interval": "100m"}, {}, ["1h45m 0x2", "1h45m 0x4"]),
        ({"schedule": "Mon.02:00-Mon.03:00"}, {}, ["15m 0x2", "2h 0x4"]),
        ({"schedule": "never"}, {}, ["15m 0x2"]),
        ({"schedule": "never"}, {"schedule": "always"}, ["15m 0x2", "15m 0x4"]),
        ({}, {"schedule": "never"}, ["15m 0x2"]),
    ],
)
def test_cycles_and_schedules(store: dict[str, str], folder: dict[str, str], sent: list[str]) -> None:
    steps = [("5m", *post("P1")), ("5m", "set_folder", {"store": "P1", "folder": "/F", "note": "x"})]
    folders = {"/F": {"replicas": ["P1", "P2"], **folder}}
    scenario = organization({"P1": {"site": "A", **store}, "P2": "A"}, steps, folders=folders, end="20h")
    assert [" ".join(x.split()[:2]) for x in messages(list(play(scenario)), "0x2", "0x4")] == sent


def test_on_delete_pending_the_schedule_counts_no_more() -> None:
    steps = [("0m", *post("P1")), ("1h", *listing("remove", "P2", "P1")), ("30h", "show", ["state"])]
    scenario = organization({"P1": {"site": "A", "schedule": "never"}, "P2": "A"}, steps, folders={"/F": ["P1", "P2"]}, end="30h")
    lines = list(play(scenario))
    assert messages(lines, "0x4") == ["1h15m 0x4 P1>P2 P1:1"]
    assert {name: line["applied"] for name, line in states(lines).items()} == {"P2": "P1:1"}


def test_suspension_holds_back_content_and_nothing_else() -> None:
    """P2 misses a number when content is suspended: it asks after the resumption; P1's new number waits too."""
    steps = [
        ("0m", "cut", ["P2"]),
        ("0m", *post("P1")),
        ("30m", "heal", ["P2"]),
        ("30m", *post("P1")),
        ("6h", "suspend", True),
        ("6h", *post("P1")),
        ("6h", "rename_folder", {"store": "P1", "folder": "/F", "name": "G"}),
        ("9h", "resume", True),
    ]
    lines = list(play(organization({"P1": "A", "P2": "A"}, steps, folders={"/F": ["P1", "P2"]}, end="10h")))
    assert [x for x in messages(lines) if "h" in x.split()[0]] == [
        "6h 0x2 P1>P2 P1:2",
        "9h 0x4 P1>P2 P1:3",
        "9h 0x8 P2>P1 P1:1",
        "9h15m 0x80000004 P1>P2 P1:1",
    ]


def test_a_request_met_while_suspended_is_answered_after() -> None:
    steps = [
        ("0m", "cut", ["P2"]),
        ("0m", *post("P1")),
        ("30m", "heal", ["P2"]),
        ("30m", *post("P1")),
        ("6h50m", "suspend", True),
        ("9h", "resume", True),
    ]
    lines = list(play(organization({"P1": "A", "P2": "A"}, steps, folders={"/F": ["P1", "P2"]}, end="10h")))
    assert messages(lines, "0x8", "0x80000004") == ["6h45m 0x8 P2>P1 P1:1", "9h 0x80000004 P1>P2 P1:1"]


def test_a_restored_store_begins_a_new_life_and_gets_its_own_numbers_back() -> None:
    """One change is held by nobody else and is lost; its number is not used again (F8)."""
    steps = [
        ("0m", *post("P1", count=2)),
        ("1h", *post("P1", count=2)),
        ("2h", "cut", ["P1"]),
        ("2h", *post("P1")),
        ("3h", "restore", {"store": "P1", "to": "30m"}),
        ("3h", "heal", ["P1"]),
        ("3h", "show", ["state"]),
        ("4h", *post("P1")),
        ("20h", "show", ["state"]),
    ]
    lines = list(play(organization({"P1": "A", "P2": "A"}, steps, folders={"/F": ["P1", "P2"]}, end="20h")))
    assert (states(lines, "3h")["P1"]["applied"], states(lines, "3h")["P1"]["life"]) == ("P1:1-2", 2)
    assert messages(lines, "0x20") == ["3h 0x20 P1>P2", "3h 0x20 P1>P2", "9h 0x20 P1>P2"]
    assert [x["folder"] for x in lines if x.get("type") == "0x20"] == ["/F", "1-1", "1-1"]  # nothing new there
    end = states(lines, "20h")
    assert end["P1"]["applied"] == end["P2"]["applied"] == "P1:1-4,P1~2:1"
    assert end["P1"]["sent"] == "P1:1-4,P1~2:1"
    assert end["P2"]["reported"] == {"P1": "P1:1-2,P1~2:1"}  # what P1 said at 4 h


def test_expiry_is_each_replica_s_own_and_stays_in_the_set_q19() -> None:
    """What expired everywhere reaches a new replica as a number without content, and it asks for nothing."""
    steps = [
        ("0m", *post("P1", item="old")),
        ("0m", *post("P1", item="deleted")),
        ("0m", "delete", {"store": "P1", "folder": "/F", "item": "deleted"}),
        ("20h", *post("P1", item="new")),
        ("27h", "show", ["state", "items"]),
        ("28h", *listing("add", "P3", "P3")),
        ("40h", "show", ["state", "items"]),
    ]
    folder = {"replicas": ["P1", "P2"], "age_limit": "1d"}
    lines = list(play(organization(dict.fromkeys(["P1", "P2", "P3"], "A"), steps, folders={"/F": folder})))
    early = states(lines, "1d3h")
    assert [(early[name]["applied"], early[name]["empty"]) for name in ("P1", "P2")] == [("P1:1-4", "P1:1")] * 2
    assert set(items(lines)) == {(store, name) for store in ("P1", "P2", "P3") for name in ("deleted", "new")}
    late = states(lines, "1d16h")["P3"]
    assert (late["applied"], late["empty"], late["missing"]) == ("P1:1-4", "P1:1", "")
    assert messages(lines, "0x8") == ["1d10h30m 0x8 P3>P1 P1:2-4"]


def test_what_expired_since_it_was_claimed_is_answered_with_status_q13() -> None:
    steps = [("0m", *post("P1")), ("20h", *listing("add", "NEW", "NEW")), ("27h", "show", ["state"])]
    folder = {"replicas": ["P1"], "age_limit": "1d"}
    lines = list(play(organization({"P1": "A", "NEW": "A"}, steps, folders={"/F": folder}, end="27h")))
    assert messages(lines, "0x8", "0x80000004") == ["1d2h30m 0x8 NEW>P1 P1:1"]
    assert messages(lines, "0x10", folder="/F")[-1] == "1d2h45m 0x10 P1>NEW"
    assert (states(lines)["NEW"]["applied"], states(lines)["NEW"]["empty"]) == ("P1:1", "P1:1")


def test_what_nobody_claims_any_more_is_lost() -> None:
    """P2 hears of P1:1, then P1 is restored to before it: nobody has it."""
    steps = [
        ("0m", "cut", ["P2"]),
        ("1h", *post("P1")),
        ("2h", "heal", ["P2"]),
        ("2h", *post("P1")),
        ("3h", "restore", {"store": "P1", "to": "30m"}),
        ("4h", "show", ["state"]),
    ]
    lines = list(play(organization({"P1": "A", "P2": "A"}, steps, folders={"/F": ["P1", "P2"]}, end="4h")))
    here = states(lines)["P2"]
    assert (here["applied"], here["missing"], here["lost"]) == ("P1:2", "", "P1:1")


def test_a_lone_replica_sends_nothing_and_counts_as_sent() -> None:
    steps = [("0m", *post("P1")), ("0m", "show", ["state"])]
    lines = list(play(organization({"P1": "A"}, steps, folders={"/F": ["P1"]})))
    assert states(lines)["P1"]["sent"] == "P1:1"
    assert messages(lines) == []


def test_superseded_versions_and_deletions_travel_without_a_body() -> None:
    where = {"store": "P1", "folder": "/F", "item": "one"}
    steps = [
        ("0m", *post("P1", item="one", size=1000)),
        ("0m", "modify", {**where, "size": 500}),
        ("15m", "delete", where),
    ]
    lines = list(play(organization({"P1": "A", "P2": "A"}, steps, folders={"/F": ["P1", "P2"]}, end="1h")))
    assert [(x["carries"], x["bytes"]) for x in lines if x["kind"] == "message"] == [("P1:1-2", 500), ("P1:3", 0)]


# --- hundreds of worlds -----------------------------------------------------------------------------------------------

WORLDS = 20
"""That are played on one day; others are on the next, and all by `--lakes`."""


class Rough(World):
    """A world whose mail is lost, doubled, late and shuffled while things happen; the stores play in another order."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        super().__init__(scenario)
        self.draw = random.Random(seed)
        self.loss, self.copies, self.late = (self.draw.choice([0, chance]) for chance in (0.3, 0.3, 0.3))
        self.servers = dict(self.draw.sample([*self.servers.items()], len(self.servers)))

    def arrive(self) -> None:
        if self.now < self.scenario.start + timedelta(minutes=STORY):
            self.flight = [each for flight in self.flight for each in self._carried(flight)]
        super().arrive()
        for server in self.servers.values():
            self.draw.shuffle(server.mail)

    def _carried(self, flight: tuple[datetime, str, Any]) -> Iterator[tuple[datetime, str, Any]]:
        due, to, message = flight
        if due > self.now:
            yield flight
        elif self.draw.random() >= self.loss:
            delays = [self.draw.randint(1, 9) if self.draw.random() < self.late else 0]
            delays += [self.draw.randint(1, 9)] if self.draw.random() < self.copies else []
            yield from ((self.now + delay * timedelta(minutes=30), to, message) for delay in delays)


Sets = dict[tuple[str, str], Any]  # (folder, label) -> numbers


def check_round(world: World, ever: Sets, held: Sets) -> None:
    """Sets grow within a life, numbers rise without gaps, and beliefs and arrays stay within what was ever held."""
    for server in world.servers.values():
        for folder, replica in server.replicas.items():
            if replica.standing != Standing.ERASED:
                key = folder, replica.label
                assert held.get(key, frozenset()) <= replica.applied, f"{key} lost numbers"
                held[key] = replica.applied
                ever[key] |= replica.applied
                own = {cn for origin, cn in replica.applied if origin == replica.label}
                assert own == set(range(1, replica.issued + 1)), f"{key} has gaps among its own numbers"
                assert replica.empty <= replica.applied and replica.sent <= replica.applied
    for server in world.servers.values():
        for folder, replica in server.live():
            for about, (numbers, empty) in replica.reported.items():
                assert empty <= numbers <= ever[folder, about], f"{server.name} believes too much of {about}"
    assert world.violations() == 0


def run(world: World) -> list[Line]:
    """Plays a world, checking after every round; its lines."""
    lines: list[Line] = []
    ever: Sets = defaultdict(set)
    held: Sets = {}
    check_round(world, ever, held)
    steps = list(world.scenario.steps)
    for now in rounds(world.scenario):
        due = [step for step in steps if step.at <= now]
        del steps[: len(due)]
        lines += world.round(now, due)
        check_round(world, ever, held)
    return [*lines, world.end()]


def check_end(world: World, end: Line, *, all_kept: bool) -> None:
    """Equal, nothing missing, nobody left half-way; every change is held by an active replica or its folder deleted."""
    assert (end["converged"], end["missing"], end["violations"]) == (True, 0, 0)
    server = next(iter(world.servers.values()))
    left = [r.standing for each in world.servers.values() for r in each.replicas.values()]
    assert Standing.DELETE_PENDING not in left
    for folder, number in world.changes if all_kept else ():
        assert folder == HIERARCHY or folder in server.tree
        if folder == HIERARCHY or not server.tree[folder].deleted:
            replicas = [each.replicas[folder] for each in world.servers.values() if folder in each.replicas]
            holders = [r for r in replicas if r.standing == Standing.ACTIVE and number in r.applied]
            assert holders, f"{number} of {folder} is lost"


@pytest.mark.in_turn("calm worlds")
@pytest.mark.parametrize("first", range(0, 80, WORLDS))
def test_worlds_converge_and_lose_nothing(first: int) -> None:
    for seed in range(first, first + WORLDS):
        plain = World(parse(world(seed), f"world {seed}", conf_folder()))
        check_end(plain, run(plain)[-1], all_kept=True)


@pytest.mark.in_turn("rough worlds")
@pytest.mark.parametrize("first", range(80, 160, WORLDS))
def test_worlds_with_rough_transport_converge_and_lose_nothing(first: int) -> None:
    for seed in range(first, first + WORLDS):
        rough = Rough(parse(world(seed), f"world {seed}", conf_folder()), seed)
        check_end(rough, run(rough)[-1], all_kept=True)


@pytest.mark.in_turn("restored worlds")
@pytest.mark.parametrize("first", range(160, 240, WORLDS))
def test_worlds_with_restores_converge(first: int) -> None:
    """What only the restored store held is gone with it; everything else is kept and becomes equal."""
    for seed in range(first, first + WORLDS):
        rough = Rough(parse(world(seed, restores=True), f"world {seed}", conf_folder()), seed)
        check_end(rough, run(rough)[-1], all_kept=False)


@pytest.mark.parametrize("seed", range(240, 250))
def test_no_order_of_stores_or_of_mail_matters(seed: int) -> None:
    scenario = parse(world(seed, restores=True), f"world {seed}", conf_folder())
    shuffled = Rough(scenario, seed)
    shuffled.loss = shuffled.copies = shuffled.late = 0
    assert sorted(map(json.dumps, run(shuffled))) == sorted(map(json.dumps, play(scenario)))
