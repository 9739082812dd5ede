"""Laws of the round: what must not matter to what stores come to hold, see and say.

One organization is played in several ways at once, each under a name of its own; the ways differ in one thing, and
their lines must not. Its busiest round is then played again and again from the same rows.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import pfspark.execute
from pfspark.between import Between
from pfspark.edge.config import conf_folder
from pfspark.edge.spark.crossing import BY_FILES
from pfspark.execute import AT_ONCE, Execution, Made
from pfspark.frame import Frame
from pfspark.graph import steps
from pfspark.keyed import ByName
from pfspark.printed import Line
from pfspark.round import graph
from pfspark.rows import arrow, local, schema_of
from pfspark.sim.playing import Playing
from pfspark.sim.scenario import Scenario, parse
from pfspark.views import Concern
from pfspark.words import Entry
from pfspark.world import Results
from tests.sim.against import nameless

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

PLAIN, EVERY, ALL, TWICE, AGAIN = "plain", "every round", "all dirty", "twice", "again"
STORES = ("PFS1", "PFS2", "PFS3")
TEXT = """
name = "{name}"
profile = "modern"
start = 2026-01-05T20:00:00Z
end = "8h"
interval = "30m"
policy = {{ interval = "30m" }}
[stores]
PFS1 = {{ site = "Redmond" }}
PFS2 = {{ site = "Redmond", interval = "1h" }}
PFS3 = {{ site = "Paris", size_limit = "3KB" }}
[[links]]
sites = ["Redmond", "Paris"]
cost = 10
delay = "20m"
[folders."/A"]
replicas = ["PFS1", "PFS2", "PFS3"]
holds = "PFS1:1-5,PFS2:1-5,PFS3:1-5"
[folders."/B"]
replicas = ["PFS1", "PFS2"]
holds = "PFS1:1-3"
{steps}
"""
STEPS = [
    ("0m", "post", '{ store = "PFS1", folder = "/A", item = "plan" }'),
    ("30m", "post", '{ store = "PFS1", folder = "/A", count = 4 }'),
    ("30m", "rename_folder", '{ store = "PFS2", folder = "/B", name = "Bee" }'),
    ("31m", "cut", '["PFS3"]'),
    ("1h", "modify", '{ store = "PFS2", folder = "/A", item = "plan" }'),
    ("1h", "modify", '{ store = "PFS3", folder = "/A", item = "plan" }'),
    ("1h30m", "heal", '["PFS3"]'),
    ("1h30m", "post", '{ store = "PFS1", folder = "/A", count = 2 }'),
    ("1h30m", "post", '{ store = "PFS3", folder = "/A", count = 3 }'),
    ("1h30m", "post", '{ store = "PFS3", folder = "/B" }'),  # refused
    ("1h30m", "add_replica", '{ store = "PFS1", folder = "/B", replica = "PFS3" }'),
    ("1h30m", "show", '["state", "items", "folders"]'),
    ("2h", "delete", '{ store = "PFS1", folder = "/A", item = "PFS2:1" }'),
    ("2h", "post", '{ store = "PFS2", folder = "/B", count = 2 }'),
    ("3h", "remove_replica", '{ store = "PFS2", folder = "/A", replica = "PFS1" }'),
    ("4h", "show", '["state", "items", "folders"]'),
    ("7h30m", "show", '["state", "items", "folders"]'),
]
SHOWN_LAST = "2026-01-06T03:30:00Z"
BUSY = datetime.fromisoformat("2026-01-05T22:00:00+00:00")
"""A round with mail of all kinds, edits at several stores, holes and timers."""


def scenario(name: str) -> Scenario:
    steps = "\n".join(f'[[steps]]\nat = "{at}"\n{verb} = {value}' for at, verb, value in STEPS)
    return parse(TEXT.format(name=name, steps=steps), name, conf_folder())


@dataclass
class Run:
    """What was said, and the world and the turns of the busy round."""

    lines: dict[str, list[Line]] = field(default_factory=dict)
    world: dict[str, pa.Table] = field(default_factory=dict)
    turns: list[dict[str, Any]] = field(default_factory=list)
    made: dict[str, pa.Table] = field(default_factory=dict)
    rounds: Counter[str] = field(default_factory=Counter)


RUN = Run()


def organizations(config: pytest.Config) -> list[Scenario]:
    """What this module wants played: one organization under several names."""
    return [scenario(name) for name in (PLAIN, EVERY, ALL, TWICE, AGAIN)]


@contextmanager
def conditions(config: pytest.Config) -> Iterator[None]:
    """Makes every folder of one organization dirty, hands another its mail twice, a third again a round later, and plays every
    round of a fourth; looks at how they fare."""
    later: list[dict[str, Any]] = []
    played, next_round = Between.play, Playing.next_round

    def due(world: Between, org: str, turns: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
        mail = mine(world.tables["mail"], org).to_pylist()
        return [row for row in mail if row["due"] <= turns[org]["now"]]

    def play(world: Between, turns: Mapping[str, Mapping[str, Any]]) -> dict[str, pa.Table]:
        RUN.rounds.update(turns.keys())
        if ALL in turns:
            here = mine(world.tables["replicas"], ALL).to_pylist()
            world.append("agenda", [looked(row, turns[ALL]["now"]) for row in here])
        if TWICE in turns:
            world.append("mail", due(world, TWICE, turns))
        if AGAIN in turns:
            mail = due(world, AGAIN, turns)
            closed = {row["store"] for row in mine(world.tables["conditions"], AGAIN).to_pylist()}
            world.append("mail", later)
            later[:] = [row for row in mail if row["recipient"] not in closed]  # what was lost stays lost
        busy = PLAIN in turns and turns[PLAIN]["now"] == BUSY
        if busy:
            RUN.world = {name: mine(table) for name, table in world.tables.items()}
            RUN.turns = [{"org": PLAIN, **turns[PLAIN]}]
        made = played(world, turns)
        if busy:
            RUN.made = {name: mine(table) for name, table in made.items()}
        keep = [why != "look" for why in world.tables["agenda"]["why"].to_pylist()]
        world.replace("agenda", world.tables["agenda"].filter(pa.array(keep, pa.bool_())))
        return made

    def grid(one: Any, due: datetime | None) -> int | None:
        return next_round(one, one.scenario.start if one.scenario.name == EVERY else due)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Between, "play", play)
        patch.setattr(Playing, "next_round", grid)
        yield


@pytest.fixture
def run(played: dict[str, list[Line]]) -> Run:
    """What became of them."""
    RUN.lines = played
    return RUN


def looked(replica: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """An entry of the agenda that no rule minds: the folder is looked at, and that is all."""
    here = {name: replica[name] for name in ("org", "store", "folder")}
    return {**here, "why": "look", "peer": "", "attempt": 0, "since": None, "due": now}


def mine(table: pa.Table, org: str = PLAIN) -> pa.Table:
    return table.filter(pc.equal(table["org"], org))


# --- ways of playing --------------------------------------------------------------------------------------------------


def test_the_rounds_are_busy(run: Run) -> None:
    """The laws below say something only of an organization in which things happen."""
    said = run.lines[PLAIN]
    assert {"0x2", "0x4", "0x8", "0x80000004", "0x10", "0x20"} <= {line.get("type") for line in said}
    assert {"refused", "state", "item", "folder"} <= {line["kind"] for line in said}
    assert said[-1]["converged"]
    assert min(run.made[name].num_rows for name in ("changes", "messages", "receipts", "state", "backfill")) > 0
    assert len(set(run.world["mail"]["recipient"].to_pylist())) == len(STORES)


def test_skipping_idle_time_equals_playing_it(run: Run) -> None:
    assert run.rounds[EVERY] == 17 > run.rounds[PLAIN]
    assert nameless(run.lines[EVERY]) == nameless(run.lines[PLAIN])


def test_playing_all_folders_equals_playing_the_dirty(run: Run) -> None:
    assert nameless(run.lines[ALL]) == nameless(run.lines[PLAIN])


@pytest.mark.rule("R34")
def test_messages_that_come_twice_change_nothing(run: Run) -> None:
    """Every message two times in its round: it is not even answered twice (I7)."""
    assert nameless(run.lines[TWICE]) == nameless(run.lines[PLAIN])


def test_messages_that_come_again_change_nothing_in_the_end(run: Run) -> None:
    """Every message once more a round later, when it may be answered anew: all hold and see the same in the end (I7)."""
    assert last_shown(run.lines[AGAIN]) == last_shown(run.lines[PLAIN])


def last_shown(lines: Sequence[Line]) -> list[Line]:
    """Sets, items and folders as shown last, and the end; what is believed of others follows the mail, and is left out."""
    last = [line for line in nameless(lines, "state", "item", "folder", "end") if line["at"] >= SHOWN_LAST]
    return [{key: value for key, value in line.items() if key not in ("reported", "sent")} for line in last]


# --- the busy round again ---------------------------------------------------------------------------------------------

NOT_FACTS = ("dirty", "lives")  # the keys that were looked at, and a view that is handed on whole
DIRECTORY = ("stores", "links", "taken")


def again(spark: SparkSession, world: ByName, turns: Sequence[Mapping[str, Any]]) -> dict[str, pa.Table]:
    """What a round gives, played from those rows."""
    played = Between(spark)
    for name, table in world.items():
        played.replace(name, table)
    return played.play({row["org"]: {name: value for name, value in row.items() if name != "org"} for row in turns})


def whole(spark: SparkSession, run: Run, making: type[Execution]) -> Mapping[Frame, Made]:
    """Every step of the busy round, as it is made."""
    world = Between(spark)
    for name, table in run.world.items():
        world.replace(name, table)
    clock = arrow(schema_of("clock"), run.turns)
    given = world.given(clock, Concern.of(world.tables, clock))
    outcome = graph()
    wanted = steps(getattr(outcome, each.name) for each in fields(Results))
    with ThreadPoolExecutor(AT_ONCE) as threads:
        execution = making(spark, given, threads, BY_FILES)
        execution.make({str(nth): cast("DataFrame", each) for nth, each in enumerate(wanted)})
        return execution.made


def rows_of(table: pa.Table) -> Counter[str]:
    """Rows without the name of their organization; ranges in messages, whose order says nothing, in order."""
    return Counter(json.dumps(in_order({**row, "org": ""}), default=str, sort_keys=True) for row in table.to_pylist())


def in_order(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: sorted(value, key=lambda each: json.dumps(each, default=str)) if isinstance(value, list) else value
        for key, value in row.items()
    }


def differing(found: ByName, expected: ByName) -> dict[str, Any]:
    parted = {}
    for name in expected.keys() - set(NOT_FACTS):
        one, other = rows_of(found[name]), rows_of(expected[name])
        if one != other:
            parted[name] = {
                "too much": sorted((one - other).elements())[:3],
                "too little": sorted((other - one).elements())[:3],
            }
    return parted


@pytest.mark.in_turn("partitions")
@pytest.mark.parametrize("partitions", [1, 2, 8])
def test_order_and_partitions_do_not_matter(spark: SparkSession, run: Run, partitions: int) -> None:
    """Every frame, given or made, comes shuffled and in so many partitions, and nothing is skipped for being empty: so all rules
    are planned here, of which most were said by their twins when the round was played."""
    draw = random.Random(partitions)

    class Shaking(Execution):
        def has_nothing_to_say(self, frame: Frame) -> bool:
            return False

        def settle(self, frame: Frame, made: Made) -> None:
            if made.rows is not None:
                order = list(range(made.rows.num_rows))
                draw.shuffle(order)
                rows, schema = made.rows.take(pa.array(order, pa.int64())), made.frame(spark).schema
                made = Made(lambda spark: local(spark, rows, schema).repartition(partitions), schema=schema)
            super().settle(frame, made)

    made = whole(spark, run, Shaking)
    outcome = graph()
    rows = {each.name: rows_in(spark, made[cast(Frame, getattr(outcome, each.name))]) for each in fields(Results)}
    assert not differing(rows, run.made)


@pytest.mark.in_turn("executors")
def test_where_rows_lie_does_not_matter(spark: SparkSession, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every frame that has a row stays on the executors; but those that are known here without Spark."""
    stays = []

    class Watching(Execution):
        def settle(self, frame: Frame, made: Made) -> None:
            stays.append(made.collect is not None)
            super().settle(frame, made)

    monkeypatch.setattr(pfspark.execute, "LARGE", 1)
    made = whole(spark, run, Watching)
    outcome = graph()
    rows = {each.name: rows_in(spark, made[cast(Frame, getattr(outcome, each.name))]) for each in fields(Results)}
    assert not differing(rows, run.made)
    assert sum(stays) > 30


def rows_in(spark: SparkSession, made: Made) -> pa.Table:
    return made.frame(spark).toArrow() if made.rows is None else made.rows


def test_rules_give_what_they_declare(spark: SparkSession, run: Run) -> None:
    """Columns as declared. Without a row in what drives a rule, or in something that it needs, it has none to give, whatever
    else it is told; a view that it amends stays as it is (it is not built then, so nobody would see it)."""
    made = whole(spark, run, Execution)
    execution = Execution(spark, {}, cast(ThreadPoolExecutor, None))
    faults = []
    for frame in {each.rule.name: each for each in made if each.rule}.values():
        rule = frame.rule
        assert rule is not None
        like = frame.of([rule.like])
        expected = made[like[0]].frame(spark).schema if like and not rule.gives else execution.schema(frame)
        for empty in (rule.drives, *((name,) for name in rule.needs)):
            if not empty:
                continue
            without = set(frame.of(empty))
            inputs = {each: made[each].frame(spark) for each in frame.inputs}
            told = {each: there.where("false") if each in without else there for each, there in inputs.items()}
            given = frame.call(told.__getitem__)
            stays = [told[each] for each in frame.of([rule.amends])]
            if columns(given.schema) != columns(expected):
                faults.append((rule.name, columns(given.schema) ^ columns(expected)))
            if rows_of(given.toArrow()) != (rows_of(stays[0].toArrow()) if stays else Counter()):
                faults.append((rule.name, empty))
    assert not faults


def columns(schema: StructType) -> set[tuple[str, str]]:
    """In whatever order, for frames are put together by name."""
    return {(each.name, each.dataType.simpleString()) for each in schema}


def test_no_step_is_made_twice() -> None:
    """Of the same frames a rule gives the same: what is computed by itself, and not within who reads it, is drawn once."""
    outcome = graph()
    number: dict[Frame, int] = {}
    drawn: dict[object, int] = {}

    def said(value: object) -> object:
        if isinstance(value, tuple):
            return tuple(map(said, value))
        return ("frame", number[value]) if isinstance(value, Frame) else value

    twice = []
    for frame in steps(getattr(outcome, each.name) for each in fields(Results)):
        what = (frame.rule or frame.name, tuple((name, said(value)) for name, value in frame.given.items()))
        if what in drawn and frame.rule and not frame.rule.inline:
            twice.append(f"{frame.phase}: {frame.rule.name}")
        number[frame] = drawn.setdefault(what, len(drawn))
    assert not twice


def test_drawing_a_round_asks_spark_nothing() -> None:
    """In a process that has no Spark."""
    script = "from pfspark.round import graph; from pyspark.sql import SparkSession as S; graph(); print(S.getActiveSession())"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "None\n"


def test_each_store_alone_with_its_inbox_gives_the_same(spark: SparkSession, run: Run) -> None:
    """Each store in a world of its own: its rows, its inbox, the changes it holds or is handed, and the directory."""
    alone = [alone_at(run.world, store) for store in STORES]
    world = {name: pa.concat_tables([each[name] for each in alone]) for name in run.world}
    turns = [{**run.turns[0], "org": f"{store} alone"} for store in STORES]
    found = again(spark, world, turns)
    assert {row for row in found["state"]["org"].to_pylist()} > {f"{STORES[0]} alone"}
    assert not differing(found, run.made)


def alone_at(world: ByName, store: str) -> dict[str, pa.Table]:
    found = {}
    held = numbers_at(world, store)
    for name, table in world.items():
        rows = table.to_pylist()
        if name == "mail":
            rows = [row for row in rows if row["recipient"] == store]
        elif name == "changes":
            rows = [row for row in rows if (row["folder"], row["origin"], row["cn"]) in held]
        elif name not in (*DIRECTORY, "letters"):
            rows = [row for row in rows if row["store"] == store]
        found[name] = pa.Table.from_pylist([{**row, "org": f"{store} alone"} for row in rows], schema=table.schema)
    return found


def numbers_at(world: ByName, store: str) -> set[tuple[str, str, int]]:
    """Folder, origin and number of what a store has, or is handed now."""
    held = [(row["folder"], row) for row in world["state"].to_pylist() if row["store"] == store and row["entry"] == Entry.APPLIED]
    handed = [(row["folder"], span) for row in world["mail"].to_pylist() if row["recipient"] == store for span in row["carries"]]
    return {(folder, span["origin"], cn) for folder, span in [*held, *handed] for cn in range(span["cn_min"], span["cn_max"] + 1)}
