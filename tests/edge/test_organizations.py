"""An organization in a file: planned, applied, and read back; without Java but where rounds are played."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import tomlkit
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from pfspark import cli
from pfspark.edge.plain import UNSHOWN
from pfspark.edge.plan import Plan
from pfspark.errors import RefusedError, ScenarioError, UsageError
from pfspark.lake import Lake
from tests.declared import assert_declared

START = "2026-01-05T00:00:00Z"
FILE = """
profile = "modern"
start = 2026-01-05T00:00:00Z
[policy]
interval = "10m"
backfill_timeouts = { local = ["1m", "2m", "3m"], remote = ["2m", "3m", "4m"] }
[stores.PFS1]
site = "Redmond"
[stores.PFS2]
site = "Redmond"
preferred = true
size_limit = "300KB"
[stores.PFS3]
site = "Paris"
version = "2003"
interval = "1h"
schedule = "Sat.22:00-Sun.6:00"
[[links]]
sites = ["Redmond", "Paris"]
cost = 3
delay = "5m"
[folders."/Sales/West"]
[folders."/Sales"]
replicas = ["PFS1", "PFS3"]
age_limit = "30d"
schedule = "every 2 hours"
[folders."/Kept"]
replicas = "PFS2"
age_limit = "none"
conflict = 2
deleted_item_retention = "7d"
size_limit = "1MB"
description = "what it is for"
priority = "urgent"
"""
PLAN = [
    ("add", "organization", "main", {"profile": "modern", "start": START}),
    ("add", "option", "backfill_timeouts_local", {"value": "1m 2m 3m"}),
    ("add", "option", "backfill_timeouts_remote", {"value": "2m 3m 4m"}),
    ("add", "option", "interval", {"value": "10m"}),
    ("add", "store", "PFS1", {"site": "Redmond", "version": "2007"}),
    ("add", "store", "PFS2", {"site": "Redmond", "version": "2007", "preferred": "true", "size_limit": "300KB"}),
    ("add", "store", "PFS3", {"site": "Paris", "version": "2003", "interval": "1h", "schedule": "Sat.22:00-Sun.6:00"}),
    ("add", "link", "Redmond → Paris", {"cost": "3", "delay": "5m"}),
    ("add", "link", "Paris → Redmond", {"cost": "3", "delay": "5m"}),
    ("add", "folder", "/Sales", {"replicas": "PFS1, PFS3", "age_limit": "30d", "schedule": "every 2 hours"}),
    ("add", "folder", "/Kept", {
        "replicas": "PFS2", "age_limit": "none", "conflict": "2", "deleted_item_retention": "7d",
        "description": "what it is for", "priority": "urgent", "size_limit": "1MB",
    }),
    ("add", "folder", "/Sales/West", {"replicas": "PFS1, PFS2, PFS3"}),
]  # fmt: skip


def no_java() -> SparkSession:
    raise AssertionError("this needs no Spark")


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with Lake.create((tmp_path / "lake").as_uri(), no_java) as made:
        yield made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "org.toml"
    path.write_text(FILE)
    return path


def told(plan: Plan) -> list[tuple[str, str, str, dict[str, str]]]:
    """The lines of a plan but those of what is the same: of a change what will be."""
    for line in plan.lines():
        assert_declared(line)
    return [(line["what"], line["of"], line["name"], line["after"]) for line in plan.lines() if line["what"] != "same"]


def test_a_file_makes_an_organization(lake: Lake, file: Path) -> None:
    assert told(lake.plan(file)) == PLAN
    assert lake.organizations == []  # a plan does nothing
    made = lake.apply(file)
    assert (told(made), made.org, made.store, made.unlinked) == (PLAN, "main", "PFS1", ())
    again = lake.plan(file, prune=True)
    assert (told(again), again.is_empty) == ([], True)
    assert lake.stores_by_name() == [("main", "PFS1"), ("main", "PFS2"), ("main", "PFS3")]


def test_what_is_read_back_changes_nothing(lake: Lake, file: Path, tmp_path: Path) -> None:
    lake.apply(file)
    said = lake.declared()
    assert said["stores"]["PFS3"] == {"site": "Paris", "version": "2003", "interval": "1h", "schedule": "Sat.22:00-Sun.6:00"}
    assert said["links"] == [{"sites": ["Paris", "Redmond"], "cost": 3, "delay": "5m"}]
    assert said["folders"]["/Sales"] == {"replicas": ["PFS1", "PFS3"], "age_limit": "30d", "schedule": "every 2 hours"}
    assert_declared(lake.declared_line())
    back = tmp_path / "back.toml"
    back.write_text(tomlkit.dumps(said))
    assert lake.plan(back, prune=True).is_empty
    other = lake.apply({**said, "name": "other"}, org="other")
    assert other.count("add") == len(PLAN)
    assert {**lake.declared(org="other"), "name": "main"} == said


def test_what_the_file_does_not_say_is_left_alone(lake: Lake, file: Path) -> None:
    lake.apply(file)
    stays = lake.plan({"stores": {"PFS1": {}}})
    assert stays.is_empty
    assert [line[:3] for line in told(stays)] == [
        *(("stays", "option", name) for name in ("backfill_timeouts_local", "backfill_timeouts_remote", "interval")),
        *(("stays", "store", name) for name in ("PFS2", "PFS3")),
        *(("stays", "link", way) for way in ("Paris → Redmond", "Redmond → Paris")),
        *(("stays", "folder", path) for path in ("/Kept", "/Sales", "/Sales/West")),
    ]
    assert {change.says for change in stays.changes if change.what == "stays"} == {
        "the file does not have it; --prune removes it"
    }


def test_single_changes(lake: Lake, file: Path) -> None:
    lake.apply(file)
    said = {
        "suspended": True,
        "policy": {"interval": "5m"},  # as the profile has it
        "stores": {"PFS3": {"schedule": "Always", "interval": "2h"}},
        "links": [{"from": "Paris", "to": "Redmond", "cost": 4}],
        "folders": {"/Sales": {"replicas": ["PFS1", "PFS2"], "age_limit": "none", "note": "n"}},
    }
    made = lake.apply(said)
    lines = {
        (line["of"], line["name"]): (line["what"], line["before"], line["after"])
        for line in made.lines() if line["what"] not in ("same", "stays")
    }  # fmt: skip
    assert lines == {
        ("organization", "main"): ("change", {}, {"suspended": "true"}),
        ("option", "interval"): ("remove", {"value": "10m"}, {}),
        ("store", "PFS3"): ("change", {"interval": "1h", "schedule": "Sat.22:00-Sun.6:00"}, {"interval": "2h"}),
        ("link", "Paris → Redmond"): ("change", {"cost": "3", "delay": "5m"}, {"cost": "4", "delay": "0m"}),
        ("folder", "/Sales"): (
            "change",
            {"replicas": "PFS1, PFS3", "age_limit": "30d"},
            {"replicas": "PFS1, PFS2, PFS3", "age_limit": "none", "note": "n"},
        ),
    }
    assert ("stays", "replica", "/Sales", {"replicas": "PFS3"}) in told(made)
    assert lake.plan(said).is_empty
    assert lake.declared()["folders"]["/Sales"]["schedule"] == "every 2 hours"


def test_pruned_is_what_the_file_does_not_have(lake: Lake, file: Path) -> None:
    lake.apply(file)
    said = {
        "stores": {"PFS1": {"site": "Redmond"}, "PFS2": {"site": "Lyon"}},
        "folders": {"/Kept": {"replicas": ["PFS1"]}},
    }
    pruned = lake.apply(said, prune=True)
    assert [line[:3] for line in told(pruned)] == [
        *(("remove", "option", name) for name in ("backfill_timeouts_local", "backfill_timeouts_remote", "interval")),
        ("change", "store", "PFS2"),
        ("remove", "store", "PFS3"),
        ("remove", "link", "Paris → Redmond"),
        ("remove", "link", "Redmond → Paris"),
        ("change", "folder", "/Kept"),
        ("remove", "folder", "/Sales"),
        ("remove", "folder", "/Sales/West"),
    ]
    assert pruned.unlinked == ("Lyon", "Redmond")
    back = lake.declared()
    assert (back["policy"], back["links"], [*back["folders"]]) == ({}, [], ["/Kept"])
    assert back["stores"] == {
        "PFS1": {"site": "Redmond", "version": "2007"},
        "PFS2": {"site": "Lyon", "version": "2007"},
        "PFS3": {"site": "Paris", "version": "2003", "interval": "1h", "schedule": "Sat.22:00-Sun.6:00", "retired": True},
    }
    assert back["folders"]["/Kept"]["replicas"] == ["PFS1"]
    assert back["folders"]["/Kept"]["conflict"] == 2  # what is set once can only be set otherwise
    assert lake.plan(said, prune=True).is_empty
    assert told(lake.plan({"stores": {"PFS3": {}}}))[0] == ("change", "store", "PFS3", {})  # named, so not retired


def test_a_list_goes_from_one_store_to_another_in_two_edits(lake: Lake, file: Path) -> None:
    """For it is never empty, and the one that leaves stays until others have what it has (R142)."""
    lake.apply(file)
    plan = lake.plan({"stores": {"PFS1": {"site": "Redmond"}}, "folders": {"/Kept": {"replicas": ["PFS1"]}}}, prune=True)
    kept = next(row for row in lake._tree_world()["edits"].to_pylist() if ("name", "Kept") in row["properties"])
    assert [(row["action"], row["properties"]) for row in plan.rows["edits"] if row["folder"] == f"@{kept['edit_id']}"] == [
        ("set_folder", [("replica:PFS1", "listed")]),
        ("set_folder", [("replica:PFS2", "removed")]),
    ]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"store": {}}, "what is declared: key 'store' is not known, .*; the nearest known is 'stores'"),
        ({"stores": {"P 1": {}}}, "stores.P 1: a store name has letters"),
        ({"stores": {"P1": {"sight": "X"}}}, "stores.P1: key 'sight' is not known"),
        ({"stores": {"P1": {"schedule": "Mon"}}}, "stores.P1: schedule: found 'Mon', expected"),
        ({"stores": {"P1": {"retired": "no"}}}, "stores.P1: retired: found 'no', expected true or false"),
        ({"links": [{"sites": ["default", "Y"]}], "stores": {"P1": {}}}, "links 1: sites: site 'default' is not known"),
        ({"folders": {"Sales": {}}}, 'folders."Sales": found'),
        ({"folders": {"/Sales": {"replicas": ["P2"]}}, "stores": {"P1": {}}}, "store 'P2' is not known, expected P1"),
        ({"folders": {"/Sales": {"age": "1d"}}}, "key 'age' is not known"),
        ({"policy": {"intervals": "5m"}}, "option 'intervals' is not known"),
        ({"profile": "moderne"}, "profile 'moderne' is not known"),
        ({"start": "soon"}, "start: found 'soon', expected a time"),
    ],
)
def test_what_cannot_be_read_is_refused(lake: Lake, said: dict[str, Any], message: str) -> None:
    with pytest.raises((ScenarioError, UsageError), match=message):
        lake.apply(said)
    assert lake.organizations == []


def test_what_a_store_would_refuse_is_refused_as_a_whole(lake: Lake, file: Path) -> None:
    lake.apply(file)
    with pytest.raises(UsageError, match=r"folders.\"/A/B\": folder '/A' is not known; declare it too"):
        lake.apply({"folders": {"/C": {}, "/A/B": {}}})
    with pytest.raises(UsageError, match="folder '/Sales' is not known; declare it too"):  # for it is to be removed
        lake.apply({"stores": {"PFS1": {}}, "folders": {"/Sales/West": {}}}, prune=True)
    with pytest.raises(RefusedError, match="PFS2 sees no folder before the next round; take PFS1"):
        lake.apply({"folders": {"/C": {}}}, store="PFS2")
    with pytest.raises(UsageError, match="the store 'PFS9' is not known; the nearest known is 'PFS"):
        lake.apply({"folders": {"/C": {}}}, store="PFS9")
    deep = "".join(f"/{level}" for level in range(1, 33))
    lake.apply({"folders": {deep[: deep.index(f"/{level}") + len(f"/{level}")]: {} for level in range(1, 33)}})
    assert lake.plan({"folders": {"/C": {}}}).count("add") == 1


def test_a_new_organization_needs_its_stores(lake: Lake) -> None:
    with pytest.raises(UsageError, match="who is to hold the folder '/F'"):
        lake.apply({"folders": {"/F": {}}})
    made = lake.apply({"profile": "modern"})  # without any store it can be made all the same
    assert (made.store, made.count("add")) == (None, 1)


def test_keys_that_say_how_a_scenario_is_played_are_left_out_and_told(lake: Lake) -> None:
    played = {"start": START, "end": "6h", "interval": "15m", "steps": [], "seed": 3}
    said = lake.apply({**played, "stores": {"P1": {}}, "folders": {"/F": {"holds": "P1:1-3"}}})
    assert said.left_out == ("end", "interval", "seed", "steps", "holds")
    assert lake.plan({"stores": {"P1": {}}, "folders": {"/F": {}}}, prune=True).is_empty


def test_another_profile_and_what_differs_from_it_are_said_together(lake: Lake) -> None:
    """An option that is said now is not held against the new profile as it was before."""
    store = {"stores": {"PFS1": {"site": "Redmond"}}}
    lake.apply({**store, "profile": "exchange_2003", "policy": {"startup_status": "all"}})
    lake.apply({"profile": "exchange_2007", "policy": {"startup_status": "off"}})
    assert lake.declared()["profile"] == "exchange_2007" and lake.declared()["policy"] == {}


def test_a_policy_that_cannot_be_read_is_said_anew(lake: Lake, file: Path) -> None:
    lake.apply(file)
    known = {**lake._directory("organizations")[("main",)], "options": '{"bogus": 1}'}
    lake._say("organizations", known)
    assert not lake.plan({"stores": {"PFS1": {}}}).is_empty
    lake.apply({"stores": {"PFS1": {}}})
    assert lake.declared()["policy"] == {}


# --- any two organizations ---

NAMES = ("P1", "P2", "P3")
SITES = ("X", "Y", "Z")
PATHS = ("/A", "/A/B", "/A/B/C", "/D")


@st.composite
def any_organization(draw: st.DrawFn) -> dict[str, Any]:
    """One whose first store is always there, so that it can say more."""
    stores = ["P1", *draw(st.lists(st.sampled_from(NAMES[1:]), unique=True))]
    said: dict[str, Any] = {
        "profile": draw(st.sampled_from(["exchange_2003", "exchange_2007", "modern"])),
        "start": draw(st.sampled_from([START, "2026-02-01T00:00:00Z"])),
        "suspended": draw(st.booleans()),
        "policy": draw(
            st.fixed_dictionaries(
                {},
                optional={
                    "interval": st.sampled_from(["5m", "15m", "1h"]),
                    "relay_status": st.booleans(),
                    "age_limit": st.sampled_from(["none", "30d"]),
                    "backfill_timeouts_local": st.just(["1m", "2m", "3m"]),
                },
            )
        ),
        "stores": {},
        "folders": {},
    }
    optional = {
        "version": st.sampled_from(["5.5", "2003", "2007"]),
        "preferred": st.booleans(),
        "interval": st.sampled_from(["15m", "2h"]),
        "size_limit": st.sampled_from(["1KB", "4MB"]),
        "schedule": st.sampled_from(["Always", "Never", "every 2 hours", "Sat.22:00-Sun.6:00"]),
    }
    for name in stores:
        said["stores"][name] = draw(st.fixed_dictionaries({"site": st.sampled_from(SITES)}, optional=optional))
    sites = sorted({each["site"] for each in said["stores"].values()})
    if len(sites) > 1:
        pair = st.permutations(sites).map(lambda found: found[:2])
        link = st.fixed_dictionaries(
            {"sites": pair, "cost": st.integers(0, 5)}, optional={"delay": st.sampled_from(["0m", "5m"])}
        )
        said["links"] = draw(st.lists(link, max_size=3))
    properties = {
        "age_limit": st.sampled_from(["none", "7d"]),
        "schedule": st.sampled_from(["Always", "Never", "Mon.8:00-Tue.9:15"]),
        "size_limit": st.sampled_from(["1KB", "4MB"]),
        "conflict": st.integers(0, 2),
        "note": st.text("aä\"\\'#\n", min_size=1, max_size=3).filter(str.strip),
    }
    replicas = st.lists(st.sampled_from(stores), min_size=1, unique=True)
    for path in PATHS:
        above = path.rpartition("/")[0]
        if (not above or above in said["folders"]) and draw(st.booleans()):
            said["folders"][path] = draw(st.fixed_dictionaries({}, optional={"replicas": replicas, **properties}))
    return said


def assert_is(lake: Lake, said: dict[str, Any]) -> None:
    """What is declared is so."""
    back = lake.declared()
    assert (back["profile"], bool(back.get("suspended"))) == (said["profile"], said["suspended"])
    for name, store in said["stores"].items():
        assert back["stores"][name].items() >= {k: v for k, v in store.items() if v not in (False, "Always")}.items()
    for path, folder in said["folders"].items():
        found = back["folders"][path]
        assert found.items() >= {key: value for key, value in folder.items() if key != "replicas"}.items()
        assert set(found["replicas"]) >= set(folder.get("replicas", ()))


@given(any_organization(), any_organization())
@settings(max_examples=20, deadline=None)
def test_of_any_two_organizations_the_later_is_as_it_says(one: dict[str, Any], other: dict[str, Any]) -> None:
    with TemporaryDirectory() as folder, Lake.create((Path(folder) / "lake").as_uri(), no_java) as lake:
        lake.apply(one)
        assert_is(lake, one)
        lake.apply(other)
        assert lake.plan(other).is_empty
        assert_is(lake, other)
        lake.apply(other, prune=True)
        assert lake.plan(other, prune=True).is_empty
        assert_is(lake, other)
        back = lake.declared()
        assert {name for name, store in back["stores"].items() if not store.get("retired")} == set(other["stores"])
        assert back["folders"].keys() == other["folders"].keys()
        for path, entry in other["folders"].items():
            assert set(back["folders"][path]["replicas"]) == set(entry.get("replicas", other["stores"]))
        assert lake.plan(tomlkit.parse(tomlkit.dumps(back)).unwrap(), prune=True).is_empty


# --- where rounds were played ---


class Among:
    """One organization of a lake that has several."""

    def __init__(self, lake: Lake, org: str) -> None:
        self._lake, self._org = lake, org

    def __getattr__(self, name: str) -> Any:
        return partial(getattr(self._lake, name), org=self._org)


def has_folders(pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> bool:
    """Else the first that is tried is the least there is."""
    return sum(bool(one["folders"] and other["folders"]) for one, other in pairs) > 3


@pytest.mark.lakes
@given(st.lists(st.tuples(any_organization(), any_organization()), min_size=12, max_size=12).filter(has_folders))
@settings(max_examples=1, phases=[Phase.generate], database=None)  # each plays for minutes
def test_of_any_two_organizations_the_later_is_what_is_played(
    spark: SparkSession, pairs: list[tuple[dict[str, Any], dict[str, Any]]]
) -> None:
    """A dozen pairs side by side. One is played before the other is applied, and that before the rest is removed: then lists
    are left, what is left is erased, and who holds nothing more is retired."""

    def for_each(what: Callable[[Any, dict[str, Any]], object]) -> None:
        for place, pair in enumerate(pairs):
            what(Among(lake, f"org {place}"), pair[1])

    def applied(at: str, *, prune: bool = False) -> Callable[[Any, dict[str, Any]], object]:
        return lambda there, said: there.apply(said, prune=prune, at=at)

    def is_so(there: Any, said: dict[str, Any]) -> None:
        assert there.plan(said).is_empty
        assert_is(there, said)

    def is_all(there: Any, said: dict[str, Any]) -> None:
        assert there.plan(said, prune=True).is_empty
        back = there.declared()
        assert {name for name, store in back["stores"].items() if not store.get("retired")} == set(said["stores"])
        lists = {path: set(folder["replicas"]) for path, folder in back["folders"].items()}
        assert lists == {path: set(folder.get("replicas", said["stores"])) for path, folder in said["folders"].items()}

    day = "2026-02-02T"
    with TemporaryDirectory() as folder, Lake.create(Path(folder) / "lake", spark) as lake:
        for place, (one, _) in enumerate(pairs):
            lake.apply(one, org=f"org {place}", at=f"{day}00:00:00Z")
        lake.run(until=f"{day}00:15:00Z")
        for place, (one, _) in enumerate(pairs):
            is_so(Among(lake, f"org {place}"), one)
        for_each(applied(f"{day}00:15:00Z"))
        for_each(is_so)
        lake.run(until=f"{day}00:30:00Z")
        for_each(is_so)
        for_each(applied(f"{day}00:30:00Z", prune=True))
        for_each(is_so)
        lake.run(until="2026-02-05T04:00:00Z")
        for_each(applied("2026-02-05T04:00:00Z", prune=True))
        for_each(is_all)
        lake.run(until="2026-02-08T04:00:00Z")
        for_each(is_all)
        assert not lake.unfit
        assert [line for line in lake.audit() if line.get("rows")] == []
        modern = {f"org {place}" for place, (_, other) in enumerate(pairs) if other["profile"] == "modern"}
        assert {line["org"] for line in lake.status_lines() if not line["equal"]} & modern == set()


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Lake]:
    """What FILE says, after its first rounds; then a store more, which has yet to take part."""
    with Lake.create(tmp_path_factory.mktemp("played") / "lake", spark) as lake:
        path = tmp_path_factory.mktemp("file") / "org.toml"
        path.write_text(FILE)
        lake.apply(path, at=START)
        lake.run(until="2026-01-05T00:40:00Z")
        lake.store("PFS9", "Redmond")
        yield lake


def test_a_played_organization_is_as_the_file_says(played: Lake, tmp_path: Path) -> None:
    path = tmp_path / "org.toml"
    path.write_text(FILE)
    plan = played.plan(path)
    assert plan.is_empty
    assert told(plan) == [("stays", "store", "PFS9", {"site": "Redmond", "version": "2007"})]
    assert {(row["path"], row["store"]) for row in played.folders().collect()} == {
        (path, store) for path in ("/Sales", "/Sales/West", "/Kept") for store in ("PFS1", "PFS2", "PFS3")
    }
    [line] = played.folder_lines("/Sales", store="PFS3")
    assert_declared(line)
    assert line["properties"] == {"age_limit": "30d", "schedule": "every 2 hours"}
    assert line["replicas"] == {"PFS1": "active", "PFS3": "active"}
    assert [*played.folder_lines(line["id"], store="PFS3")] == [line]
    with pytest.raises(UsageError, match="the folder '/Sale' is not known; the nearest known is '/Sales'"):
        list(played.folder_lines("/Sale"))


def test_what_whole_objects_were_merged_by_is_set_by_nobody(spark: SparkSession, tmp_path: Path) -> None:
    """Of an organization that merges whole objects, as Exchange did, it is shown, and planned, as it was said."""
    with Lake.create(tmp_path / "lake", spark) as lake:
        whole = FILE.replace("[policy]", '[policy]\nhierarchy_merge = "object"')
        lake.apply(tomlkit.parse(whole), at=START)
        lake.round(START)
        [line] = lake.folder_lines("/Kept", store="PFS1")
        assert not [name for name in line["properties"] if name.startswith("*")]
        assert lake.plan(tomlkit.parse(tomlkit.dumps(lake.declared())), prune=True).is_empty


def test_a_store_with_replicas_is_not_retired_yet(played: Lake) -> None:
    """Its content may be the only one: it leaves its lists first."""
    said = {"stores": {"PFS1": {"site": "Redmond"}, "PFS2": {"site": "Redmond"}}, "folders": {"/Sales": {}, "/Kept": {}}}
    plan = played.plan(said, prune=True)
    lines = {(change.of, change.name): change for change in plan.changes}
    assert lines["store", "PFS3"].what == "stays"
    assert "has 2 replicas and 0 edits waiting; `pfspark drain PFS3`" in str(lines["store", "PFS3"].says)
    assert lines["store", "PFS9"].what == "remove"
    assert lines["folder", "/Sales"].after == {"replicas": ["PFS1", "PFS2"]}


@pytest.mark.parametrize(
    "store, has", [("PFS3", "it has 2 replicas and 0 edits waiting; `pfspark drain PFS3` says"), ("PFS9", "")]
)
def test_a_file_that_retires_a_store_is_told_what_that_still_has(played: Lake, store: str, has: str) -> None:
    plan = played.plan({"stores": {store: {"site": "Redmond", "retired": True}}})
    [change] = (each for each in plan.changes if (each.of, each.name) == ("store", store))
    assert (change.what, change.after["retired"]) == ("change", True)
    assert (change.says or "").startswith(has) and bool(change.says) == bool(has)


def test_nothing_new_is_put_at_a_retired_store(played: Lake) -> None:
    """What is there already may be told as it is: that is what is shown of an organization with one."""
    said = {"stores": {"PFS3": {"site": "Paris", "retired": True}}}
    with pytest.raises(RefusedError, match="only PFS3 is to hold '/New', and it is retired: what is put there reaches nobody"):
        played.plan(said | {"folders": {"/New": {"replicas": ["PFS3"]}}})
    for path, what in (("/New", "add"), ("/Kept", "same")):
        plan = played.plan(said | {"folders": {path: {"replicas": ["PFS2", "PFS3"]}}})
        lines = [(change.of, change.what, change.says) for change in plan.changes if change.name == path]
        why = "it is retired: what is put there reaches nobody"
        assert lines == [("replica", "stays", why), ("folder", what, None)]
        assert all("replica:PFS3" not in dict(edit["properties"]) for edit in plan.rows["edits"])
    assert not played.plan(said | {"folders": {"/Sales": {"replicas": ["PFS1", "PFS3"]}}}).rows["edits"]


def test_what_others_have_done_unheard_is_neither_pruned_nor_made_anew(played: Lake, tmp_path: Path, spark: SparkSession) -> None:
    """PFS1, which edits, has not heard of it: while it waits at PFS3, and while the news is on its way."""
    with Lake.open(shutil.copytree(played.where, tmp_path / "lake"), spark) as lake:
        lake.folder_rename("PFS3", "/Kept", "Held", at="2026-01-05T00:41:00Z")
        lake.folder_move("PFS3", "/Sales/West", "/Kept", at="2026-01-05T00:40:00Z")
        for until in (None, "2026-01-05T00:50:00Z"):
            if until:
                lake.run(until)
            assert lake.declared(store="PFS1")["folders"].keys() == {"/Kept", "/Sales", "/Sales/West"}
            with pytest.raises(RefusedError, match=r"'/Held' \(PFS.:.\): another store has renamed or moved one so, of"):
                lake.plan({"folders": {"/Held": {}}}, store="PFS1")
            said = lake.declared(store="PFS1")
            said["folders"] = {"/Sales": {}, "/Sales/West": {}}
            pruned = lake.plan(said, store="PFS1", prune=True)
            kept = {change.name: (change.what, change.says) for change in pruned.changes if change.of == "folder"}["/Kept"]
            assert kept == ("stays", "another store has put a folder beneath it, of which PFS1 has not heard yet")
            assert not [edit for edit in pruned.rows["edits"] if edit["action"] == "delete_folder"]
        for path in ("/Held", "/Kept"):  # one folder, as some call it and others do
            seen = {(line["store"], line["path"]) for line in lake.lines("folders", folder=path)}
            assert seen == {("PFS1", "/Kept"), ("PFS2", "/Kept"), ("PFS3", "/Held")}
            assert [(line["store"], line["folder"]) for line in lake.lines("state", folder=path)] == [("PFS2", "/Kept")]
            assert [line["store"] for line in lake.lines("folders", folder=path, store="PFS1")] == ["PFS1"]
        lake.folder_create("PFS3", "/New", ["PFS3"], at="2026-01-05T00:51:00Z")
        with pytest.raises(RefusedError, match=r"'/New' \(@create_folder:.*another store has made one so"):
            lake.plan({"folders": {"/New": {}}}, store="PFS1")
        lake.folder_rename("PFS1", "/Sales", "Trade", at="2026-01-05T00:52:00Z")
        back = lake.plan({"folders": {"/Sales": {}}}, store="PFS1")  # what PFS3 sees is the past, and no news
        assert [change.what for change in back.changes if change.name == "/Sales"] == ["add"]


def test_of_two_who_apply_a_file_at_once_one_is_refused(played: Lake, tmp_path: Path, spark: SparkSession) -> None:
    """Else each folder were there twice, and none could be named by its path. What changes no folder goes on."""
    with Lake.open(shutil.copytree(played.where, tmp_path / "lake"), spark) as lake:
        said = ({}, {}, {"PFS9": {"site": "Rome"}})
        one, other, third = (lake.plan({"folders": {"/New": {}}, "stores": stores}) for stores in said)
        sets = lake.plan({"stores": {"PFS9": {"site": "Oslo"}}})
        lake.carry_out(one)
        with pytest.raises(RefusedError, match="the folders were changed by somebody else meanwhile"):
            lake.carry_out(other)
        with pytest.raises(RefusedError, match="the folders were changed by somebody else meanwhile"):
            lake.carry_out(third)
        lake.carry_out(sets)
        assert lake.declared()["stores"]["PFS9"]["site"] == "Oslo"
        assert len(lake.table("edits").where("edit_id like 'create_folder:%'").collect()) == 4
        lake.post("PFS1", "/Sales", b"one", at="2026-01-05T00:41:00Z")
        late = lake.plan({"folders": {"/Later": {}}})
        lake.post("PFS1", "/Sales", b"two", at="2026-01-05T00:42:00Z")  # what is no folder is in nobody's way
        lake.carry_out(late)
        assert "/Later" in lake.declared()["folders"]


@pytest.fixture
def promised(played: Lake, tmp_path: Path, spark: SparkSession) -> Iterator[Lake]:
    """By an edit that waits at PFS1 a folder is to come to PFS9; so does a post there."""
    with Lake.open(shutil.copytree(played.where, tmp_path / "lake"), spark) as lake:
        assert lake.needed("PFS9") is None
        lake.folder_create("PFS1", "/Ninth", ["PFS9"], at="2026-01-05T00:41:00Z")
        lake.post("PFS1", "/Sales", b"one", at="2026-01-05T00:41:00Z")
        yield lake


def test_a_store_to_which_a_folder_comes_is_not_retired_yet(promised: Lake) -> None:
    """But by who takes it off the list: PFS2 does not see that."""
    assert promised.needed("PFS9") == (
        "it has 0 replicas and 0 edits waiting, and is to hold 1 folder more; `pfspark drain PFS9` says how it is emptied"
    )
    file = {"stores": {each: {} for each in ("PFS1", "PFS2", "PFS3")}, "folders": {"/Sales": {}, "/Kept": {}}}
    plans = [promised.plan(file, store=editor, prune=True) for editor in ("PFS1", "PFS2")]
    seen, unseen = ({change.name: change for change in plan.changes if change.of == "store"}["PFS9"] for plan in plans)
    assert (seen.what, unseen.what) == ("remove", "stays")
    assert "is to hold 1 folder more" in str(unseen.says)


@pytest.mark.lakes
def test_what_stands_against_switching_a_store_off(played: Lake, promised: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    """What lists and edits put at it is to come; what waits there is lost; and a retired store is no other replica."""
    alone = played.drain("PFS9", until=timedelta(hours=1))
    assert (alone["empty"], alone["coming"], alone["waiting"], alone["lost_now"]) == (alone["at"], [], 0, [])
    promised.close()
    assert cli.run(("drain", "PFS9", "--until", "1h", "--lake", promised.where)) == 0
    said = capsys.readouterr().out
    assert "PFS9 has 0 replicas; it is to hold /Ninth, of which it has no replica yet; switched off now, lost would be" in said
    promised.store("PFS3", retired=True)
    first = promised.drain("PFS1", until=timedelta(hours=1))
    assert (first["needs_another"], first["waiting"], first["lost_now"]) == (["/Sales"], 2, [])
    promised.run("2026-01-05T00:50:00Z")
    first = promised.drain("PFS1", until=timedelta(hours=1))
    assert (first["needs_another"], first["waiting"]) == (["/Sales"], 0)
    assert {"folder": "/Sales", "numbers": "PFS1:1"} in first["lost_now"]  # PFS3 may have it by now, of which nobody hears
    ninth = promised.drain("PFS9", until=timedelta(hours=1))
    assert (ninth["replicas"], ninth["coming"], ninth["empty"]) == (0, ["/Ninth"], None)


def test_folders_are_edited_where_they_are_seen(played: Lake) -> None:
    with pytest.raises(RefusedError, match="PFS9 sees no folder before the next round; take PFS1"):
        played.plan({"folders": {"/Sales": {}}}, store="PFS9")
    first_named = played.plan({"stores": {"PFS9": {}, "PFS2": {}}, "folders": {"/New": {"replicas": ["PFS9"]}}})
    assert (first_named.store, [row["store"] for row in first_named.rows["edits"]]) == ("PFS2", ["PFS2"])


def test_who_does_not_see_the_folders_does_not_make_them_anew(played: Lake) -> None:
    """Where the file names no other store, and the tree is there."""
    said = {"stores": {"NEW": {"site": "Redmond"}}, "folders": {"/Sales": {"replicas": ["NEW"]}}}
    with pytest.raises(RefusedError, match="NEW sees no folder before the next round; take PFS1 or PFS2 or PFS3"):
        played.plan(said, prune=True)


def test_a_link_that_was_taken_away_is_none(played: Lake) -> None:
    before = {(row["from_site"], row["to_site"]) for row in played.links().collect()}
    assert before == {("Redmond", "Paris"), ("Paris", "Redmond")}
    played.unlink("Redmond", "Paris", both=False)
    assert [(row["from_site"], row["to_site"]) for row in played.links().collect()] == [("Paris", "Redmond")]
    with pytest.raises(UsageError, match="no link leads from 'Redmond' to 'Paris'; the nearest known is 'Paris Redmond'"):
        played.unlink("Redmond", "Paris", both=False)
    assert played.run(until="2026-01-05T01:00:00Z")
    assert not played.unfit
    played.link("Redmond", "Paris", 3, "5m", both=False)
    assert len(played.links().collect()) == 2


# --- the command line ---

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def pfspark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a verb in a folder with `org.toml`: code, output, what was said."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PFSPARK_LAKE", (tmp_path / "lake").as_uri())  # where Spark runs, it is asked what a bare path means
    monkeypatch.setattr("pfspark.cli.given.started", lambda where: no_java())
    Path("org.toml").write_text(FILE)

    def run(*words: str) -> tuple[int, str, str]:
        code = cli.run(words)
        return code, *capsys.readouterr()

    return run


def test_init_apply_and_show(pfspark: Run) -> None:
    code, out, said = pfspark("init", "--from", "org.toml")
    assert (code, out.count("\n+"), "main: 12 to add; folders at PFS1. done" in said) == (0, 12, True)
    code, shown, _ = pfspark("show", "--toml")
    assert code == 0
    Path("back.toml").write_text(shown)
    code, out, said = pfspark("apply", "back.toml", "--prune")
    assert (code, out, said) == (0, "", "main: 12 as they are. nothing to do\n")
    Path("org.toml").write_text(FILE.replace('"PFS2"', '"PFS1"').replace('version = "2003"\n', ""))
    code, out, said = pfspark("apply", "org.toml", "--prune", "--dry-run")
    assert [*map(str.split, out.strip().splitlines()[1:])] == [
        ["~", "store", "PFS3", "version", "2003", "→", "2007"],
        ["~", "folder", "/Kept", "replicas", "PFS2", "→", "PFS1"],
    ]
    assert said == "main: 2 to change, 10 as they are; folders at PFS1. nothing was done\n"
    code, out, _ = pfspark("apply", "org.toml", "--prune", "--json")
    lines = [*map(json.loads, out.splitlines())]
    assert [line["name"] for line in lines if line["what"] == "change"] == ["PFS3", "/Kept"]
    code, out, _ = pfspark("show", "--json")
    assert_declared(line := json.loads(out))
    assert line["folders"]["/Kept"]["replicas"] == "PFS1"
    code, _, said = pfspark("init", "--from", "org.toml")
    assert (code, "has an organization 'main' already; `pfspark apply`" in said) == (2, True)
    code, _, said = pfspark("init", "--from", "org.toml", "--profile", "modern")
    assert (code, "says profile, options and start" in said) == (2, True)


def test_a_file_that_can_be_read_once_is(lake: Lake, tmp_path: Path) -> None:
    """As what comes by a pipe: what was looked at is what is done."""
    lake.apply(tomlkit.parse(FILE))
    os.mkfifo(pipe := tmp_path / "pipe")
    with ThreadPoolExecutor(1) as other:
        written = other.submit(pipe.write_text, FILE)
        assert cli.run(["apply", str(pipe), "--prune", "--lake", lake.where]) == 0
        assert written.result()
    assert lake.stores_by_name() == [("main", "PFS1"), ("main", "PFS2"), ("main", "PFS3")]
    with pytest.raises(UsageError, match="no store, expected"):
        lake.plan({}, prune=True)


def test_what_no_rule_could_follow_is_not_said(lake: Lake) -> None:
    lake.apply(tomlkit.parse(FILE))
    before = lake.declared()
    with pytest.raises(UsageError, match="found '0:00:00', expected a duration longer than nothing"):
        lake.store("PFS1", interval=timedelta(0))
    with pytest.raises(UsageError, match=r"the link 'Paris to Redmond' has cost .*, expected a whole number"):
        lake.link("Paris", "Redmond", cost=2**63)
    with pytest.raises(UsageError, match="found the cost -1, expected a whole number from 0 on"):
        lake.link("Paris", "Redmond", cost=-1)
    assert lake.declared() == before
    lake.unlink("Paris", "Redmond")  # what is taken away has no cost
    assert lake.declared() != before


def test_what_somebody_else_has_said_meanwhile_stands(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two who change one entry at a time, the second is refused: its row was made of the one before."""
    lake.apply(tomlkit.parse(FILE))
    other = Lake.open(Path(lake.where).as_uri(), no_java)
    plan = lake.plan({"policy": {"conflict": 1}, "stores": {"PFS1": {"preferred": True}}})
    other.set_options({"conflict": 2})
    other.store("PFS1", interval="20m")
    before = other.declared()
    with pytest.raises(RefusedError, match="the organization 'main' was changed by somebody else meanwhile; look at it"):
        lake.carry_out(plan)
    append = lake._tables.append

    def said_first(*rows: Any, **words: Any) -> None:
        other.store("PFS1", schedule="never")
        append(*rows, **words)

    with (
        monkeypatch.context() as meanwhile,
        pytest.raises(RefusedError, match="the store 'PFS1' was changed by somebody else meanwhile"),
    ):
        meanwhile.setattr(lake._tables, "append", said_first)
        lake.store("PFS1", preferred=True)
    assert lake.declared()["stores"]["PFS1"] == {**before["stores"]["PFS1"], "schedule": "Never"}
    lake.store("PFS1", preferred=True)
    other.store("PFS2", preferred=True)  # of entries apart nobody is in the way of anybody
    lake.store("PFS3", preferred=True)
    assert all(said["preferred"] for said in lake.declared()["stores"].values())


def test_what_is_shown_says_what_is_not_seen(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    """Signs without a width, those that turn letters round, those that break lines: else it would be another organization."""
    lake.apply(tomlkit.parse(FILE) | {"folders": {"/So\u00adft": {"description": "two\u2028lines \u200f\x85"}}})
    capsys.readouterr()
    assert cli.run(["show", "--lake", lake.where]) == 0
    shown = capsys.readouterr().out
    assert not UNSHOWN.search(shown.replace("\n", ""))
    assert tomlkit.parse(shown)["folders"]["/So\u00adft"]["description"] == "two\u2028lines \u200f\x85"
    assert lake.plan(tomlkit.parse(shown), prune=True).is_empty


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        (FILE.replace("sites", "cites"), 1, "org.toml: links 1: key 'cites' is not known"),
        ('profile = "modem"', 2, "the nearest known is 'modern'"),
        ("policy.intervall = '5m'", 2, "the nearest known is 'interval'"),
        ('stores.PFS1.site = "A"\n[folders."/Sales/West"]', 2, "/Sales"),
        ('stores.PFS1 = {site = "A", retired = true}\n[folders."/Sales"]\nreplicas = ["PFS1"]', 1, "it is retired"),
    ],
)
def test_a_bad_file_makes_no_lake(pfspark: Run, tmp_path: Path, text: str, code: int, says: str) -> None:
    Path("org.toml").write_text(text)
    found, _, said = pfspark("init", "--from", "org.toml")
    assert (found, says in said, (tmp_path / "lake").exists()) == (code, True, False), said


def test_a_folder_that_is_called_like_the_hierarchy_needs_the_slash(lake: Lake) -> None:
    """The bare word is the hierarchy to all questions, and nobody posts there."""
    lake.apply({"name": "main", "stores": {"PFS1": {"site": "Redmond"}}, "folders": {"/1-1": {}, "/Sales": {}}})
    with pytest.raises(UsageError, match="the folder '1-1' is not known at PFS1"):
        lake.post("PFS1", "1-1", b"text")
    lake.post("PFS1", "/1-1", b"text")
    lake.post("PFS1", "Sales", b"text")


def test_what_no_file_can_say_is_refused_where_it_is_said(pfspark: Run, lake: Lake) -> None:
    """So what `show` prints can be applied."""
    for words, asked in (
        (("store", "add", "PFS1", "--site", "A", "--interval", "40000d"), "expected a century at most: 36500d"),
        (("store", "add", "PFS1", "--site", "A", "--interval", "0m"), "expected a duration longer than nothing"),
        (("link", "A", "B", "--delay", "999999d999999h"), "expected a century at most: 36500d"),
    ):
        code, _, said = pfspark(*words)
        assert (code, asked in said) == (2, True), said
    lake.apply({"name": "main"})
    for days in (-1, 0, 40_000):
        with pytest.raises(UsageError, match="expected a"):
            lake.store("PFS9", "Redmond", interval=timedelta(days=days))
    lake.store("PFS8", "Redmond", interval=timedelta(days=36_500))
    lake.store("PFS9", "Paris")
    for days in (-1, 40_000):
        with pytest.raises(UsageError, match="expected a"):
            lake.link("Redmond", "Paris", delay=timedelta(days=days))
    lake.link("Redmond", "Paris", delay=timedelta(days=36_500))
    assert lake.plan(lake.declared()).is_empty


@pytest.mark.parametrize("words", [["init"], ["init", "--from", "org.toml"]])
def test_a_name_that_cannot_be_written_makes_no_lake(pfspark: Run, tmp_path: Path, words: list[str]) -> None:
    """Bytes of a command line that are no UTF-8 come as halves of letters."""
    code, _, said = pfspark(*words, "--org", "\udcff")
    assert (code, "expected a text that UTF-8 can write" in said, (tmp_path / "lake").exists()) == (2, True, False), said


def test_an_empty_name_is_no_name(pfspark: Run, tmp_path: Path) -> None:
    """Of an organization, a profile or a replica: as a script says it whose variable is empty, it is not the usual one."""
    for words in (["init"], ["init", "--from", "org.toml"]):
        assert pfspark(*words, "--org", " ") == (2, "", "pfspark: organization: found ' ', expected a text\n")
    code, _, said = pfspark("init", "--profile", "")
    assert (code, "profile '' is not known" in said, (tmp_path / "lake").exists()) == (2, True, False)
    code, out, _ = pfspark("init", "--from", "org.toml", "--json")
    assert (code, {json.loads(line)["what"] for line in out.splitlines()}) == (0, {"add"})
    assert pfspark("apply", "org.toml", "--org", "") == (2, "", "pfspark: organization: found '', expected a text\n")
    code, _, said = pfspark("folder", "create", "/New", "--store", "PFS1", "--replicas", "")
    assert (code, "the store '' is not known in 'main'" in said) == (2, True)
    code, _, said = pfspark("org", "set", "--profile", "")
    assert (code, "profile '' is not known" in said) == (2, True)
    pfspark("init", "--org", "other")  # of several one must be named, but where it is
    code, _, said = pfspark("apply", "org.toml", "--org", "other", "--dry-run")
    assert (code, "other: 11 to add" in said) == (0, True)


def test_options_links_and_the_switch(pfspark: Run) -> None:
    pfspark("init", "--from", "org.toml")
    code, out, _ = pfspark("org", "set", "interval=5m", "relay_status=true")
    assert (code, out) == (0, "")
    code, out, _ = pfspark("org", "show", "--json")
    lines = {line["option"]: line for line in map(json.loads, out.splitlines())}
    for line in lines.values():
        assert_declared(line)
    assert [name for name, line in lines.items() if line["differs"]] == ["backfill_timeouts_local", "backfill_timeouts_remote"]
    assert (lines["backfill_timeouts_local"]["value"], lines["interval"]["value"]) == ("1m 2m 3m", "5m")
    code, _, said = pfspark("org", "set")
    assert (code, "expected NAME=VALUE, or --profile" in said) == (2, True)
    assert pfspark("org", "set", "backfill_timeouts.local=1m 2m 3m")[0] == 0  # as a file says it, and `whatif`
    code, _, said = pfspark("org", "set", "intervall=5m")
    assert (code, "the nearest known is 'interval'" in said) == (2, True)
    assert pfspark("org", "set", "--profile", "exchange_2003")[0] == 0
    assert "suspended" not in pfspark("show")[1]
    assert [pfspark(verb)[0] for verb in ("suspend", "suspend")] == [0, 0]
    assert "suspended = true" in pfspark("show")[1] and "replication of content is suspended" in pfspark("status")[1]
    assert pfspark("resume")[0] == 0
    assert "suspended" not in pfspark("status")[1]
    assert 'profile = "exchange_2003"\n' in (shown := pfspark("show")[1])
    assert "suspended" not in shown
    assert pfspark("link", "--cost", "7", "Paris", "Redmond", "--one-way")[0] == 0
    lines = [json.loads(line) for line in pfspark("link", "list", "--json")[1].splitlines()]
    assert [(line["from_site"], line["cost"], line["delay_s"]) for line in lines] == [("Paris", 7, 0), ("Redmond", 3, 300)]
    assert pfspark("link", "remove", "Paris", "Redmond")[0] == 0
    assert pfspark("link", "list")[2] == "no links\n"
    code, _, said = pfspark("store", "add", "PFS4", "--site", "Oslo")
    assert [line.split(":")[0] for line in said.splitlines()] == [
        f"no link names the site {site}" for site in ("Oslo", "Paris", "Redmond")
    ]
    code, _, said = pfspark("folder", "show", "/Sales")
    assert (code, said) == (0, "no store sees it yet: its edit waits for a round\n")
