"""Campaigns: many invented organizations, each of its own seed, played in the same rounds, beside the oracle.

    pytest -m campaign --campaign-orgs 100 --campaign-rounds 64 --seed 101
    pytest -m planted                               # the whole table of planted bugs, and what caught each

Some of the planted bugs are tried in every run, in turn.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from functools import cache, partial
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from pfspark import mapped
from pfspark.between import Between
from pfspark.edge.config import conf_folder
from pfspark.edge.delta import beside
from pfspark.edge.spark.crossing import BY_FILES
from pfspark.edge.world import bases
from pfspark.errors import ScenarioError
from pfspark.keyed import ByName
from pfspark.printed import Line
from pfspark.sim import player
from pfspark.sim.scenario import Scenario, parse
from pfspark.sim.steps import Step
from pfspark.units import parse_duration, show_duration
from pfspark.words import HIERARCHY
from tests.one_play import FACTS
from tests.sim import oracle
from tests.sim.against import by_org, first_difference
from tests.sim.planted import BUGS, Bug, planted
from tests.sim.shrink import shrunk
from tests.sim.sightings import sightings, told
from tests.sim.worlds import STORY, world

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


GRID = parse_duration("30m")  # what worlds are played by
EQUAL_IN = timedelta(minutes=STORY) + timedelta(hours=36 + 2 * (36 + 48)) + 2 * GRID
"""From the start: what happens, the time that a clock stands still, and twice the longest wait for a status that nobody asks
for (a day after the last update, at a stroke of the clock: R136, R137) and the second wait of a remote backfill. Who hears of
numbers from one alone that had to ask for them itself waits as long again as that one did."""
POISON: tuple[tuple[str, dict[str, Any]], ...] = (
    *(("post", {"count": 2, "size": size, "item": None}) for size in (-1, 2**62)),
    ("post", {"count": 1, "size": 1, "item": None, "folder_ref": ("id", HIERARCHY)}),
    ("modify", {"item": "P1:1", "item_ref": "P1:1", "size": -5}),
    *(("set_folder", {"properties": {"size_limit": limit}}) for limit in (-1, 10**30)),
    *(("set_folder", {"properties": {"age_limit": timedelta(days=age)}}) for age in (0, -1)),
    ("set_folder", {"properties": {"conflict": 7}}),
    ("set_folder", {"properties": {"priority": "at once"}}),
    ("set_folder", {"properties": {"deleted": "true"}}),
    ("create_folder", {
        "path": "/X", "name": "X", "parent_ref": None, "replicas": ("P1",), "properties": {"size_limit": -1},
    }),
)  # fmt: skip
SHOWN = ("3h", "7h", "11h", "15h", "16h", "19h", "23h")
WORLDS_OF_A_BUG = 6
"""Organizations that are played with each planted bug."""
AT_A_TIME = 3
"""Bugs that are planted in every run."""
TOGETHER = 12
"""Bugs that are planted in one play: each wrong version of a rule is a plan more in every round."""
HELD, IN_A_BATCH = 20_000, 500
"""Bytes of a table that are held in memory while worlds are played, and rows of a batch in a file."""
IN_FILES: list[int] = []
"""How many rows were put into a file, each time."""
FOUND_AGAIN: list[int] = []
"""In how many files beside it a base lay that was left and found again, each time."""


@cache
def text_of(seed: int, rounds: int) -> str:
    """One world, shown several times on the way; every third is also restored now and then.

    Its story takes the first half, so that a short campaign sees as much happen as a long one.
    """
    minutes = min(STORY, rounds * GRID // timedelta(minutes=1) // 2)
    end = show_duration((rounds - 1) * GRID)
    lines = world(seed, restores=seed % 3 == 0, minutes=minutes).splitlines()
    (place,) = (place for place, line in enumerate(lines) if line.startswith("end = "))
    lines[place] = f'end = "{end}"'
    shows = [f'[[steps]]\nat = "{at}"\nshow = ["state", "items", "folders"]' for at in (*SHOWN, end)]
    return "\n".join([*lines, *shows])


def organization(seed: int, rounds: int) -> Scenario:
    return poisoned(parse(text_of(seed, rounds), f"world {seed}", conf_folder()))


def poisoned(scenario: Scenario) -> Scenario:
    """In every other world, edits that no file may say and no rule could follow, as anybody may write them (X11)."""
    draw = random.Random(f"{scenario.seed} poison")
    steps = list(scenario.steps)
    last = max(step.number for step in steps)
    for nth in range(1, draw.choice([0, 1, 3, 5]) + 1):
        who = {"store": draw.choice(scenario.stores).name, "folder": "", "folder_ref": ("initial", 0)}
        verb, args = draw.choice(POISON)
        at = scenario.start + timedelta(minutes=draw.randrange(0, 240, 10))
        steps.append(Step(last + nth, at, verb, who | args))
    return replace(scenario, steps=tuple(sorted(steps, key=lambda step: step.at)))


FOUND = (1177, 2248, 2293, 2700, 2919, 3408, 3920, 4208, 9236, 40827, 56184, 71214, 81078, 202941)
"""Seeds by which something was found: a leaver that says so itself and is the last of its list, a replica back on its list in
the round of its night (two), a request that waits while content is suspended, whom a restored store had asked, who has most of
what is missing (two), a leaver that is let go, put back and taken off in one round, a folder of which nothing is held but that a
leaver is gone, who is asked and heard by a message of its bygone life, who hears of numbers from one that had to ask for them, a
leaver that is proven while it has still to say that it leaves, one that is restored while its store is down, a version that
goes to others when what was made upon it has been settled without content.
They are played always."""


def seeds(config: pytest.Config) -> list[int]:
    first = config.getoption("--seed")
    asked = range(first, first + config.getoption("--campaign-orgs"))
    return [*asked, *(seed for seed in FOUND if seed not in asked and len(asked) > 1)]


@cache
def expected(seed: int, rounds: int) -> list[Line]:
    """What the oracle says of a world."""
    return list(oracle.play(organization(seed, rounds)))


def difference(lines: list[Line], seed: int, rounds: int) -> str | None:
    """Where the engine and the oracle first part, if they do, whatever the engine calls the organization."""
    return first_difference([{**line, "org": f"world {seed}"} for line in lines], expected(seed, rounds))


def part(texts: Sequence[str], spark: SparkSession) -> list[bool]:
    """Of which of these scenarios engine and oracle say different things; what cannot be played says nothing."""
    playable = {}
    for place, text in enumerate(texts):
        with suppress(ScenarioError):
            playable[place] = replace(poisoned(parse(text, f"try {place}", conf_folder())), name=f"try {place}")
    said = by_org(player.play(list(playable.values()), spark, materializer=BY_FILES))
    return [
        place in playable and first_difference(said[f"try {place}"], list(oracle.play(playable[place]))) is not None
        for place in range(len(texts))
    ]


@cache
def sown(config: pytest.Config) -> list[Bug]:
    """The bugs that are tried in this run: all where they are asked for, else some, in turn."""
    if "planted" in (config.getoption("-m") or ""):
        return list(BUGS)
    turn = config.getoption("--turn") * AT_A_TIME
    return [BUGS[(turn + place) % len(BUGS)] for place in range(AT_A_TIME)]


@cache
def happens(seed: int, rounds: int) -> set[str]:
    """What happens in a world: by the oracle, and by its steps."""
    steps = {step for step in ("suspend", "restore") if f"{step} = " in text_of(seed, rounds)}
    scenario = organization(seed, rounds)
    seen = told(expected(seed, rounds)) | steps
    seen |= {"return"} if "new life" in seen and "restore" not in steps else set()
    seen |= {"less than nothing"} if any(step.args.get("size", 0) < 0 for step in scenario.steps) else set()
    own: dict[Any, set[str]] = defaultdict(set)
    for step in scenario.steps:
        if step.verb.endswith("_replica") and step.args["store"] == step.args["replica"]:
            own[step.args["store"], step.args["folder"], -((scenario.start - step.at) // GRID)].add(step.verb)
    return seen | ({"off and on in a round"} if any(len(verbs) > 1 for verbs in own.values()) else set())


def worlds_of(bug: Bug, config: pytest.Config) -> list[int]:
    """The seeds of the worlds that are played with a bug: those in which what it gets wrong happens, and most else too."""
    rounds = config.getoption("--campaign-rounds")

    def shows(seed: int) -> tuple[bool, int, int]:
        seen = happens(seed, rounds)
        return bug.shows in seen, len(seen), len(expected(seed, rounds))

    return sorted(seeds(config), key=shows, reverse=True)[:WORLDS_OF_A_BUG]


def infested(bugs: Sequence[Bug], config: pytest.Config) -> list[Scenario]:
    """Worlds to be played with these bugs, each with one of them."""
    rounds = config.getoption("--campaign-rounds")
    return [
        replace(organization(seed, rounds), name=f"{bug.name}: world {seed}") for bug in bugs for seed in worlds_of(bug, config)
    ]


def organizations(config: pytest.Config) -> list[Scenario]:
    """What this module wants played: all worlds, and those of the first planted bugs."""
    rounds = config.getoption("--campaign-rounds")
    return [organization(seed, rounds) for seed in seeds(config)] + infested(sown(config)[:TOGETHER], config)


@contextmanager
def conditions(config: pytest.Config) -> Iterator[None]:
    """The first bugs are planted while they are played; and of the tables of all worlds those lie in files that are larger than
    `HELD`, as if memory held no more. Every second round they are left as a base, and what is found there is played on.
    Beside it all the oracle says who is late."""
    late(config)
    with planted(sown(config)[:TOGETHER]), pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as place:
        patch.setattr(Between, "play", leaving(Between.play, Path(place)))
        patch.setattr(mapped, "HELD", HELD)
        patch.setattr(bases, "SMALL", HELD)
        patch.setattr(mapped, "BATCH", IN_A_BATCH)
        patch.setattr(mapped, "read", counting(mapped.read))
        yield


def leaving(play: Callable[..., ByName], place: Path) -> Callable[..., ByName]:
    """The same; after every second round the world is what was left of it in that place, and found there."""
    rounds = count(1)

    def left(world: Between, *args: Any) -> ByName:
        made = play(world, *args)
        number = next(rounds)
        if number % 2 == 0:
            bases.leave(place, bases.Base(world.tables, 0, {}), number, "left")
            found = bases.left(place, {number: "left"}.get)
            assert found is not None
            for name, rows in found[1].tables.items():
                world.replace(name, rows)
            FOUND_AGAIN.append(len(list(place.glob(f"{beside.BASE_FILES}/*"))))
        return made

    return left


def counting(read: Callable[..., pa.Table]) -> Callable[..., pa.Table]:
    """The same; the rows that lie in files are counted."""

    def counted(*args: Any) -> pa.Table:
        table = read(*args)
        IN_FILES.append(table.num_rows)
        return table

    return counted


@pytest.fixture(scope="module")
def campaign(request: pytest.FixtureRequest, spark: SparkSession, played: Mapping[str, list[Line]]) -> Mapping[str, list[Line]]:
    """What the engine says of all worlds, those of this run's planted bugs among them. Further bugs are played after the
    first, a few at a time, as every wrong version of a rule is a plan more in every round."""
    said = dict(played)
    bugs = sown(request.config)
    for first in range(TOGETHER, len(bugs), TOGETHER):
        some = bugs[first : first + TOGETHER]
        with planted(some):
            said |= by_org(player.play(infested(some, request.config), spark, materializer=BY_FILES))
    return said


@pytest.mark.campaign
def test_engine_says_what_the_oracle_says(
    pytestconfig: pytest.Config, campaign: Mapping[str, list[Line]], spark: SparkSession, tmp_path: Path
) -> None:
    """Of the worlds that part the first is written down as a scenario file, shrunk where asked for, with the command."""
    rounds = pytestconfig.getoption("--campaign-rounds")
    parted = {
        seed: found for seed in seeds(pytestconfig) if (found := difference(campaign[f"world {seed}"], seed, rounds)) is not None
    }
    for seed in list(parted)[:1]:
        file = tmp_path / f"world_{seed}.toml"
        text = text_of(seed, rounds)
        file.write_text(shrunk(text, partial(part, spark=spark)) if pytestconfig.getoption("--shrink") else text)
        again = f"python -m pytest -m campaign --seed {seed} --campaign-orgs 1 --campaign-rounds {rounds} --shrink"
        pytest.fail(f"{len(parted)} part: {sorted(parted)}\nworld {seed}, {parted[seed]}\n{again}\npfspark play {file} --json")


@pytest.mark.campaign
def test_worlds_lay_in_files(campaign: Mapping[str, list[Line]]) -> None:
    """So whatever a campaign says it says of tables that are read from there."""
    assert len(IN_FILES) > 10 and max(IN_FILES) > IN_A_BATCH
    assert len(FOUND_AGAIN) > 5 and max(FOUND_AGAIN) > 0


@pytest.mark.campaign
def test_no_promise_is_broken(pytestconfig: pytest.Config, campaign: Mapping[str, list[Line]]) -> None:
    broken = {f"world {seed}": campaign[f"world {seed}"][-1] for seed in seeds(pytestconfig)}
    assert not {name: end["broken"] for name, end in broken.items() if end["violations"]}


@pytest.mark.campaign
def test_everything_is_seen_sometimes(
    pytestconfig: pytest.Config,
    campaign: Mapping[str, list[Line]],
    facts: Mapping[str, Mapping[str, list[Line]]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What no world of a campaign meets is not tried by it."""
    seen: Counter[str] = Counter()
    for name in (f"world {seed}" for seed in seeds(pytestconfig)):
        rows = {table: facts[table][name] for table in FACTS}
        seen.update({what: count > 0 for what, count in sightings(rows, campaign[name]).items()})
    with capsys.disabled():
        print(f"\nseen in so many of {len(seeds(pytestconfig))} worlds")
        print("".join(f"{what:50} {count}\n" for what, count in seen.items()))
    assert not [what for what, count in seen.items() if not count]


@pytest.mark.campaign
def test_all_are_equal_in_time(pytestconfig: pytest.Config) -> None:
    """A week and two rounds after the healing, by the time-outs of the articles, and where a clock stands still so much later.

    By the oracle, which is what the engine is compared with; by the engine too where `--campaign-rounds` reaches so far.
    """
    found = {seed: lines for seed, told in late(pytestconfig).items() if (lines := told.result())}
    assert not found


@cache
def late(config: pytest.Config) -> dict[int, Future[list[Line]]]:
    """Of each world who is late, once it is known: a process of its own plays these weeks, as Spark leaves the cores idle."""
    pool = ProcessPoolExecutor(1, get_context("spawn"))
    told = {seed: pool.submit(last_of_the_late, seed) for seed in seeds(config)}
    pool.shutdown(wait=False)
    return told


def last_of_the_late(seed: int) -> list[Line]:
    """The last states of a world in which somebody lacks something, or two hold different things, at `EQUAL_IN`."""
    rounds = EQUAL_IN // GRID + 1
    if closed_last(organization(seed, rounds)):
        return []
    lines = [line for line in expected(seed, rounds) if line["kind"] == "state"]
    at_last = [line for line in lines if line["at"] == lines[-1]["at"] and line["standing"] == "active"]
    sets = {(line["folder"], line["applied"]) for line in at_last}
    equal = len(sets) == len({folder for folder, _ in sets}) and not any(line["missing"] for line in at_last)
    return [] if equal else at_last


def closed_last(scenario: Scenario) -> bool:
    """Whether somebody closes a folder by a clock that is ahead of the healing, at which all folders are opened: a store that is
    down takes in both by what the clock said, and what it holds of the folder rightly stays there."""
    wrong, healing = timedelta(0), scenario.start + timedelta(minutes=STORY)
    for step in scenario.steps:
        if step.verb == "clock":
            wrong = step.args["wrong"]
        hours = step.args["properties"].get("schedule", "always") if step.verb == "set_folder" else "always"
        if hours != "always" and step.at + wrong > healing:
            return True
    return False


def test_every_bug_can_be_planted(spark: SparkSession) -> None:
    """Its rule exists, and is given the frames that it changes."""
    with planted(BUGS):
        pass


@pytest.mark.campaign
@pytest.mark.planted
def test_planted_bugs_are_caught(
    pytestconfig: pytest.Config, campaign: Mapping[str, list[Line]], capsys: pytest.CaptureFixture[str]
) -> None:
    """A bug that nothing catches is a hole in the campaign. The table says how many of its worlds the oracle and each
    check found out; a world in which the right rules part from the oracle too proves nothing."""
    rounds = pytestconfig.getoption("--campaign-rounds")
    sound = cache(lambda seed: difference(campaign[f"world {seed}"], seed, rounds) is None)
    caught: dict[str, dict[str, int]] = {bug.name: defaultdict(int) for bug in sown(pytestconfig)}
    for bug in sown(pytestconfig):
        by = caught[bug.name]
        for seed in filter(sound, worlds_of(bug, pytestconfig)):
            lines = campaign[f"{bug.name}: world {seed}"]
            by["oracle"] += difference(lines, seed, rounds) is not None
            for check in lines[-1].get("broken", ()):
                by[check] += 1
    with capsys.disabled():
        print(f"\n{'planted bug':40} caught in so many of {WORLDS_OF_A_BUG} worlds by")
        for name, by in caught.items():
            print(f"{name:40} {', '.join(f'{check} {count}' for check, count in by.items() if count) or 'nobody'}")
    assert not [name for name, by in caught.items() if not any(by.values())]
