"""Each promise holds of a whole world, and of one with a single fault the promise that it breaks is named, and no other."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pfspark.rows import local, rows_of, schema_of
from pfspark.rules import checks
from tests.frames import frame_of

World = dict[str, list[dict[str, Any]]]
Fault = Callable[[World], object]


def whole(org: str) -> World:
    """A and B hold all of the folder A:1, and know it of each other; A gave it three numbers, and B two."""
    both = [(store, peer) for store, peer in (("A", "B"), ("B", "A"))]
    here = {"org": org, "folder": "A:1"}
    world: World = {each.name: [] for each in fields(checks.Seen)}
    world["stores"] = [{"org": org, "store": store} for store in "AB"]
    world["folders"] = [{**here, "store": store, "parent": "", "dead": False} for store in "AB"]
    world["changes"] = [change(org, "1-1", "A", 1, action="create_folder", object="A:1")]
    world["changes"] += [change(org, "A:1", origin, cn) for origin, last in (("A", 3), ("B", 2)) for cn in range(1, last + 1)]
    for store, peer in both:
        for folder in ("1-1", "A:1"):
            key = {"org": org, "store": store, "folder": folder}
            world["replicas"].append({**key, "life": 1, "standing": "active"})
            world["lists"] += [{**key, "peer": each, "listing": "listed"} for each in "AB"]
            numbers = [("A", 3), ("B", 2)] if folder == "A:1" else [("A", 1)]
            for entry, about in (("applied", store), ("reported", peer)):
                ranges = [{"origin": origin, "cn_min": 1, "cn_max": last} for origin, last in numbers]
                world["state"] += [{**key, "entry": entry, "about": about, **each} for each in ranges]
    return world


def change(org: str, folder: str, origin: str, cn: int, **more: Any) -> dict[str, Any]:
    row = {"org": org, "folder": folder, "origin": origin, "cn": cn, "object": f"{origin}:{cn}", "action": "post"}
    return {**row, "edit_id": f"{folder} {origin} {cn}", **more}


def last_of_a(world: World, *who: tuple[str, str]) -> None:
    """Those entries (store, about) of A:1 lack A's last number."""
    for row in world["state"]:
        if (row["folder"], row["origin"]) == ("A:1", "A") and (row["store"], row["about"]) in who:
            row["cn_max"] = 2


def noted(world: World, store: str, cn: int) -> None:
    org = world["stores"][0]["org"]
    world["array"].append({"org": org, "store": store, "folder": "A:1", "origin": "A", "cn_min": cn, "cn_max": cn})


def held_by_nobody(world: World) -> None:
    last_of_a(world, ("A", "A"), ("A", "B"), ("B", "A"), ("B", "B"))


def believed_without_ground(world: World) -> None:
    last_of_a(world, ("B", "B"))
    noted(world, "B", 3)


def believed_and_not_noted(world: World) -> None:
    last_of_a(world, ("B", "B"), ("A", "B"))


def given_twice(world: World) -> None:
    world["changes"].append({**world["changes"][-1], "object": "another"})


def left_out(world: World) -> None:
    next(row for row in world["changes"] if (row["folder"], row["origin"], row["cn"]) == ("A:1", "A", 3))["cn"] = 4
    for row in list(world["state"]):
        if (row["folder"], row["origin"]) == ("A:1", "A"):
            row["cn_max"] = 2
            world["state"].append({**row, "cn_min": 4, "cn_max": 4})


def held_before_it_was_given(world: World) -> None:
    row = next(row for row in world["state"] if (row["store"], row["about"], row["folder"]) == ("B", "B", "A:1"))
    row["cn_max"] = 9


def noted_by_the_erased(world: World) -> None:
    for row in world["replicas"]:
        row["standing"] = "erased" if (row["store"], row["folder"]) == ("B", "A:1") else row["standing"]
    noted(world, "B", 3)


def seen_after_deletion(world: World) -> None:
    org = world["stores"][0]["org"]
    world["changes"].append(change(org, "1-1", "A", 2, action="delete_folder", object="A:1"))
    for row in world["state"]:
        row["cn_max"] = 2 if row["folder"] == "1-1" else row["cn_max"]


def held_and_not_there(world: World) -> None:
    world["changes"] = [row for row in world["changes"] if (row["folder"], row["origin"], row["cn"]) != ("A:1", "A", 3)]


def a_stranger(world: World) -> None:
    world["replicas"].append({**world["replicas"][0], "store": "C"})


def nothing(world: World) -> None:
    pass


def gaps_from_the_start(world: World) -> None:
    """What a scenario's stores hold at its start no edit has given."""
    left_out(world)
    for row in world["changes"]:
        row["edit_id"] = None


def life_that_is_over(world: World) -> None:
    """B has read that A lives again; what it believed of the old life it need not miss."""
    believed_and_not_noted(world)
    world["lives"].append({"org": world["stores"][0]["org"], "store": "B", "folder": "A:1", "peer": "A", "life": 2})


PLANTED: dict[Fault, str | None] = {
    nothing: None,
    gaps_from_the_start: None,
    life_that_is_over: None,
    held_by_nobody: "held_by_nobody",
    believed_without_ground: "falsely_believed",
    held_and_not_there: "never_given",
    held_before_it_was_given: "never_given",
    given_twice: "given_twice",
    left_out: "left_out",
    lambda world: noted(world, "B", 2): "noted_though_held",
    believed_and_not_noted: "neither_held_nor_noted",
    noted_by_the_erased: "arrays_of_the_erased",
    seen_after_deletion: "resurrected",
    a_stranger: "strangers",
}


@pytest.fixture(scope="module")
def broken(spark: SparkSession) -> dict[str, list[str]]:
    """The checks that are broken, by organization: one for each fault, all looked at together."""
    rows: World = {each.name: [] for each in fields(checks.Seen)}
    for place, fault in enumerate(PLANTED):
        world = whole(f"{place}")
        fault(world)
        for name, some in world.items():
            rows[name] += some
    frames = {name: local(spark, rows_of(name, some), schema_of(name)) for name, some in rows.items()}
    found: dict[str, list[str]] = {}
    for row in checks.broken(seen=tuple(frames[name] for name in checks.LOOKED_AT)).collect():
        assert row["sample"] and row["rows"] >= 1
        found.setdefault(row["org"], []).append(checks.CHECKS[int(row["check"])].broken_by.__name__)
    return found


@pytest.mark.parametrize(("place", "check"), list(enumerate(PLANTED.values())))
def test_a_fault_is_named(broken: dict[str, list[str]], place: int, check: str | None) -> None:
    assert broken.get(f"{place}", []) == ([check] if check else [])


def test_every_check_has_its_fault() -> None:
    assert {check.broken_by.__name__ for check in checks.CHECKS} == {check for check in PLANTED.values() if check}


@dataclass
class Rest:
    """A world that B's last number of A:1 has not reached, or that A is about to leave, and what its stores have to do.

    Where B is `retired`, or is not, it has not heard of the folder.
    """

    lacking: bool = True
    leaving: bool = False
    deleted: bool = False
    to_do: str | None = None
    repeating: bool = True
    retired: bool | None = None
    unequal: int = 0
    last_copies: int = 0

    def rows(self, org: str) -> World:
        world = whole(org)
        if self.lacking:
            last_of_a(world, ("B", "B"), ("A", "B"), ("B", "A"))
        for row in world["replicas"]:
            if self.leaving and (row["store"], row["folder"]) == ("A", "A:1"):
                row["standing"] = "delete now"
        for row in world["folders"]:
            row["dead"] = self.deleted and row["store"] == "B"
        if self.retired is not None:
            world["stores"][1]["retired"] = self.retired
            world["state"] = [row for row in world["state"] if (row["store"], row["folder"]) != ("B", "1-1")]
        due = {"org": org, "store": "B", "folder": "A:1", "peer": "", "why": self.to_do}
        on_its_way, to_do = self.to_do == "mail", self.to_do in ("repeat", "expire")
        return {**world, "agenda": [due] * to_do, "mail": [due] * on_its_way}


RESTS = {
    "all are equal": Rest(lacking=False),
    "one lacks a number and nobody will tell": Rest(unequal=1),
    "the articles do not tell again": Rest(repeating=False),
    "somebody will tell": Rest(to_do="repeat"),
    "it is on its way": Rest(to_do="mail"),
    "only the night comes": Rest(to_do="expire", unequal=1),
    "nobody tells of a folder": Rest(lacking=False, retired=False, unequal=1),
    "who is retired is told of none": Rest(lacking=False, retired=True),
    "the folder is deleted": Rest(deleted=True),
    "the last copy goes": Rest(leaving=True, last_copies=1),
    "the last copy of a deleted folder goes": Rest(leaving=True, deleted=True),
    "a copy stays": Rest(lacking=False, leaving=True),
}


@pytest.fixture(scope="module")
def at_rest(spark: SparkSession) -> dict[str, tuple[int, int]]:
    """How many ranges replicas lack at rest, and how many only a leaver holds, by organization."""
    rows: World = defaultdict(list)
    for name, rest in RESTS.items():
        for table, some in rest.rows(name).items():
            rows[table] += some
    frames = {name: local(spark, rows_of(name, some), schema_of(name)) for name, some in rows.items()}
    seen = checks.Seen.of(frames.__getitem__)
    repeating = frame_of(spark, [(name,) for name, rest in RESTS.items() if rest.repeating], "org string")
    unequal = checks.unequal(seen, mail=frames["mail"], agenda=frames["agenda"], repeating=repeating)
    found = [Counter(row["org"] for row in rows.collect()) for rows in (unequal, checks.held_by_leavers_alone(seen))]
    return {name: (found[0][name], found[1][name]) for name in RESTS}


@pytest.mark.parametrize("name", RESTS)
def test_what_must_hold_at_rest(at_rest: dict[str, tuple[int, int]], name: str) -> None:
    assert at_rest[name] == (RESTS[name].unequal, RESTS[name].last_copies)
