"""Deep trees, changed at many places at once: the engine, which reads the branches that may change, says what the oracle says,
which looks at everything."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
import pytest

from pfspark import views
from pfspark.between import Between
from pfspark.edge.config import conf_folder
from pfspark.sim.scenario import Scenario, parse, read
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
AGAIN: set[str] = set()
"""Where something was not foreseen: organizations for which a round was played again."""
BLIND = "An answer to a leaver is not foreseen"
"""The organization of which it is not known that an answer makes a leaver speak."""
OVERLOOKED: list[int] = []
"""How many such answers each round had there."""


@cache
def scenario(seed: int) -> Scenario:
    return parse(tree(seed), f"tree {seed}", conf_folder())


@cache
def blind() -> Scenario:
    """As much of a leaver's way as it takes until it is answered."""
    [whole] = read([conf_folder() / "scenarios" / "replica_removed.toml"], conf_folder())
    return replace(whole, name=BLIND, end=whole.start + timedelta(hours=1, minutes=45))


def organizations(config: pytest.Config) -> list[Scenario]:
    """What this module wants played."""
    return [*map(scenario, SEEDS), blind()]


@contextmanager
def conditions(config: pytest.Config) -> Iterator[None]:
    """It is counted what rounds read of trees; in one organization something is overlooked that changes one."""
    given, answers_to_leavers = Between.given, views.answers_to_leavers

    def counting(self: Between, clock: pa.Table, concern: Concern) -> dict[str, Made]:
        if concern.whole.num_rows:
            AGAIN.update(concern.whole["org"].to_pylist())
        elif concern.trees.num_rows:
            READ.append((concern.read("tree", self.tables["tree"]).num_rows, self.tables["tree"].num_rows))
        return given(self, clock, concern)

    def overlooking(mail: pa.Table) -> pa.Table:
        found = answers_to_leavers(mail)
        seen = found.filter(pc.field("org") != BLIND)
        OVERLOOKED.append(found.num_rows - seen.num_rows)
        return seen

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Between, "given", counting)
        patch.setattr(views, "answers_to_leavers", overlooking)
        yield


@pytest.mark.parametrize("seed", SEEDS)
def test_of_trees_the_engine_says_what_the_oracle_says(played: Mapping[str, list[dict[str, Any]]], seed: int) -> None:
    assert first_difference(played[f"tree {seed}"], list(oracle.play(scenario(seed)))) is None


def test_trees_are_read_as_far_as_they_may_change(played: Mapping[str, list[dict[str, Any]]]) -> None:
    """All that changed was foreseen, in all organizations that are played but one, and it was less than all there is."""
    assert played and READ and {BLIND} >= AGAIN
    assert sum(some for some, _ in READ) < sum(there for _, there in READ)


def test_where_a_tree_changes_unforeseen_it_is_read_whole(played: Mapping[str, list[dict[str, Any]]]) -> None:
    """The round is played again, and says the same as if it had been known."""
    assert first_difference(played[BLIND], list(oracle.play(blind()))) is None
    assert any(OVERLOOKED) and BLIND in AGAIN
