"""Deep trees, changed at many places at once: the engine, which reads the branches that may change, says what the oracle says,
which looks at everything."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from pfspark.between import Between
from pfspark.edge.config import conf_folder
from pfspark.sim.scenario import Scenario, parse
from pfspark.views import Concern
from tests.sim import oracle
from tests.sim.against import first_difference

if TYPE_CHECKING:
    import pyarrow as pa

    from pfspark.execute import Made

SEEDS = range(20)
STORES = ("P1", "P2", "P3")
FOLDERS = ("/A", "/A/B", "/A/B/C", "/A/B/C/D", "/A/E", "/F", "/F/G", "/F/G/H", "/I", "/J", "/J/K")


def tree(seed: int) -> str:
    """The text of a scenario file: three stores, a tree of four levels, and people who move, rename, delete, list and post,
    more of them in each half hour than any store hears of from the others."""
    return "\n".join(_lines(random.Random(seed), seed))


def _lines(draw: random.Random, seed: int) -> Iterator[str]:
    yield f'name = "tree {seed}"\nprofile = "exchange_2007"\nstart = 2026-01-05T00:00:00Z\nend = "3h"\ninterval = "30m"'
    yield f'[policy]\nhierarchy_merge = "{draw.choice(["object", "property"])}"'
    for store in STORES:
        yield f'[stores.{store}]\nsite = "{draw.choice("RS")}"'
    for folder in FOLDERS:
        replicas = ", ".join(f'"{store}"' for store in draw.sample(STORES, draw.randint(1, 3)))
        yield f'[folders."{folder}"]\nreplicas = [{replicas}]'
    for place in range(30):
        yield f'[[steps]]\nat = "{draw.choice([0, 10, 30, 40, 60, 90])}m"'
        folder = draw.randrange(len(FOLDERS))
        who = f'store = "{draw.choice(STORES)}", folder = "P1:{folder + 1}"'
        match draw.choice(["move", "move", "move", "rename", "set", "delete", "create", "list", "list", "post", "post"]):
            case "move":
                yield f'move_folder = {{ {who}, to = "{draw.choice(["/", *(f"P1:{nth + 1}" for nth in range(len(FOLDERS)))])}" }}'
            case "rename":
                yield f'rename_folder = {{ {who}, name = "R{place}" }}'
            case "set":
                yield f'set_folder = {{ {who}, size_limit = "{draw.choice([4, 8])}KB" }}'
            case "delete":
                yield f"delete_folder = {{ {who} }}"
            case "create":
                store = draw.choice(STORES)
                yield f'create_folder = {{ store = "{store}", path = "/N{place}", replicas = ["{draw.choice(STORES)}"] }}'
            case "list":
                yield f'{draw.choice(["add", "remove"])}_replica = {{ {who}, replica = "{draw.choice(STORES)}" }}'
            case "post":
                yield f"post = {{ {who}, count = 2 }}"
    for at in ("40m", "90m", "3h"):
        yield f'[[steps]]\nat = "{at}"\nshow = ["state", "items", "folders"]'


READ: list[tuple[int, int]] = []
"""Rows of trees that each round of changed trees read, and how many there were."""
AGAIN: list[pa.Table] = []
"""What was not foreseen: trees for which a round was played again."""


@cache
def scenario(seed: int) -> Scenario:
    return parse(tree(seed), f"tree {seed}", conf_folder())


def organizations(config: pytest.Config) -> list[Scenario]:
    """What this module wants played."""
    return [scenario(seed) for seed in SEEDS]


@contextmanager
def conditions(config: pytest.Config) -> Iterator[None]:
    """It is counted what rounds read of trees."""
    given = Between.given

    def counting(self: Between, clock: pa.Table, concern: Concern) -> dict[str, Made]:
        if concern.whole.num_rows:
            AGAIN.append(concern.whole)
        elif concern.trees.num_rows:
            READ.append((concern.read("tree", self.tables["tree"]).num_rows, self.tables["tree"].num_rows))
        return given(self, clock, concern)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Between, "given", counting)
        yield


@pytest.mark.parametrize("seed", SEEDS)
def test_of_trees_the_engine_says_what_the_oracle_says(played: Mapping[str, list[dict[str, Any]]], seed: int) -> None:
    assert first_difference(played[f"tree {seed}"], list(oracle.play(scenario(seed)))) is None


def test_trees_are_read_as_far_as_they_may_change(played: Mapping[str, list[dict[str, Any]]]) -> None:
    """All that changed was foreseen, in all organizations that are played, and it was less than all there is."""
    assert played and READ and AGAIN == []
    assert sum(some for some, _ in READ) < sum(there for _, there in READ)
