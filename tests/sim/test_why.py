"""Why numbers are here or not, asked of invented organizations: what is said is so, and what is to come comes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from pfspark import cntext
from pfspark.ask import evidence, why
from pfspark.ask.stores import set_of
from pfspark.edge.config import conf_folder
from pfspark.printed import Line
from pfspark.sim import asked
from pfspark.sim.scenario import Scenario, parse
from pfspark.sim.steps import Step
from pfspark.words import HIERARCHY, Cause
from tests.sim import oracle
from tests.sim.planted import Bug, given, none, planted, put, said
from tests.sim.worlds import world

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Here = tuple[str, str, str]

STORY = 5 * 60
"""Minutes in which things happen, before it is asked what comes next."""
IN_BETWEEN = ("2h", "4h")
AFTERWARDS = ("5h30m", "9h")
END = "40h"


def asked_about(seed: int) -> Scenario:
    """An invented organization that is asked about every replica: while things happen, and afterwards."""
    text = world(seed, restores=seed % 3 == 0, minutes=STORY).splitlines()
    (place,) = (place for place, line in enumerate(text) if line.startswith("end = "))
    text[place] = f'end = "{END}"'
    shows = [f'[[steps]]\nat = "{at}"\nshow = ["state"]' for at in (*IN_BETWEEN, *AFTERWARDS)]
    scenario = parse("\n".join([*text, *shows]), f"world {seed}", conf_folder())
    stores = [store.name for store in scenario.stores]
    folders = [("initial", place) for place in range(len(scenario.folders))] + [("id", HIERARCHY)]
    steps = [step for step in scenario.steps if step.verb != "clock"]  # by a clock that is wrong rounds are not on the grid
    numbers = ",".join(f"{each}:1-99" for each in sorted(stores))
    moments = [step.at for step in scenario.steps if step.verb == "show"]
    for (turn, at), (nth, (store, ref)) in product(enumerate(moments), enumerate(product(stores, folders))):
        item = None if (turn + nth) % 2 else numbers  # all that it lacks, or numbers; each replica is asked both, in turn
        args = {"store": store, "folder": "", "folder_ref": ref, "item": item}
        steps.append(Step(len(steps) + 1, at, "why", args))
    in_time = tuple(replace(fault, late=timedelta(0)) for fault in scenario.faults)  # what is late is overtaken by other letters
    return replace(scenario, faults=in_time, steps=tuple(sorted(steps, key=lambda step: step.at)))


FILES = ("why_it_has_not_come", "why_another_is_shown", "why_it_waits_at_home", "why_it_does_not_come")
EXPECTED = """
00:15 PFS2 /Sales PFS1:1 not_sent       00:15 send      01:00 PFS1
01:00 PFS3 /Sales PFS1:1 on_its_way     01:00 arrive    01:15 PFS1
01:15 PFS3 /Sales PFS1:1 here           01:15
02:30 PFS2 /Sales PFS1:2 not_heard      01:30 hear      25:45 PFS1
03:15 PFS2 /Sales PFS1:2 waiting_to_ask 03:15 ask       04:15 PFS1
04:15 PFS2 /Sales PFS1:2 asked          04:15 ask_again 06:15 PFS1
06:15 PFS2 /Sales PFS1:2 asked          06:15 ask_again 10:15 PFS1
01:30 PFS1 /A     PFS2:1 here           01:15
01:30 PFS1 /A     PFS1:1 superseded     01:15
02:30 PFS1 /A     PFS1:2 loser          02:15
03:30 PFS2 /A     PFS1:1 deleted        03:15
03:30 PFS3 /A     PFS1:1 no_replica     00:00
30:00 PFS1 /Old   PFS1:1 expired        27:00
00:30 PFS2 /A     PFS1:1 suspended      00:15
01:15 PFS3 /A     stray  refused        01:00
02:30 PFS1 /A     late   not_taken_in   02:15 take_in   -     PFS2
03:00 PFS2 /B     PFS1:1 nobody_has_it  01:45
05:00 PFS3 /A     PFS2:1 no_replica     04:30
07:30 PFS3 /A     PFS2:1 refused_here   04:45
"""
"""What the files say, written from the articles: when it is asked, of what, the cause, since when, and what comes next."""
START = datetime(2026, 1, 5, tzinfo=UTC)


WRONG = {  # wrong versions of `why`, each with a file that must tell
    Bug("letters under way are overlooked", evidence, "coming", said(none)): "why_it_has_not_come",
    Bug("what has expired is here", why, "first_cause", given(empty=none)): "why_another_is_shown",
    Bug("what comes next comes a round later", why, "explain", said(put("next_at", "next_at + interval 15 minutes"))):
        "why_it_has_not_come",
    Bug("it has been so since now", why, "explain", said(put("since", "timestamp'2026-01-05T00:00:00Z'"))):
        "why_it_does_not_come",
    Bug("the asker itself is asked", why, "explain", said(put("next_of", "store"))): "why_it_has_not_come",
    Bug("losers are superseded", evidence, "instead", said(put("cause", "replace(cause, 'loser', 'superseded')"))):
        "why_another_is_shown",
}  # fmt: skip


AT_A_TIME = 2
"""Wrong versions that are planted in every run, in turn: each makes the plan of every answer longer."""


@cache
def sown(config: pytest.Config) -> dict[Bug, str]:
    """Those of this run: all where they are asked for."""
    bugs = list(WRONG.items())
    if "planted" in (config.getoption("-m") or ""):
        return dict(bugs)
    turn = config.getoption("--turn") * AT_A_TIME
    return dict(bugs[(turn + place) % len(bugs)] for place in range(AT_A_TIME))


def lost(ways: str, stores: str, asked_at: str) -> str:
    """PFS2 does not get PFS1:1, hears by PFS1:2 that it lacks it, and is asked about then."""
    return f"""
profile = "modern"
start = 2026-01-05T00:00:00Z
end = "3h"
interval = "15m"
{ways}
faults = [{{ to = "PFS2", since = "30m", until = "80m", lost = 1 }}]
[stores]
{stores}
[folders]
"/Sales" = {{ replicas = ["PFS1", "PFS2"] }}
[[steps]]
at = "30m"
post = {{ store = "PFS1", folder = "/Sales", item = "lost" }}
[[steps]]
at = "90m"
post = {{ store = "PFS1", folder = "/Sales", item = "heard" }}
[[steps]]
at = "{asked_at}"
why = {{ store = "PFS2", folder = "/Sales" }}
"""


ALIVE = lost(
    'links = [{ sites = ["Redmond", "Paris"], cost = 5, delay = "1h" }]',
    'PFS1 = { site = "Redmond" }\nPFS2 = { site = "Paris" }',
    asked_at="2h30m",
)
"""It is to ask fifteen minutes later."""
UNTOLD = lost(
    'policy = { backfill_timeouts = { local = ["1h", "2h", "4h"], remote = ["1h", "2h", "4h"] } }',
    'PFS1 = { interval = "30m" }\nPFS2 = {}',
    asked_at="1h45m",
)
"""It is to ask an hour later."""
DELETED = """
[[steps]]
at = "1h45m"
delete_folder = { store = "PFS1", folder = "/Sales" }
"""
"""Of which PFS2 hears at 2:45, where the way takes an hour; and which goes at 2:00, where PFS1 sends every half hour."""
FATES = {
    "folder lives": ALIVE,
    "folder is deleted": ALIVE + DELETED,
    "folder lives on": UNTOLD,
    "folder is deleted, and nobody told": UNTOLD + DELETED,
}


def file(name: str) -> Scenario:
    return parse((conf_folder() / "scenarios" / f"{name}.toml").read_text(), name, conf_folder())


def inventions(config: pytest.Config) -> list[Scenario]:
    """The invented organizations that are asked."""
    first, count = config.getoption("--seed"), config.getoption("--why-orgs")
    return [replace(asked_about(seed), name=f"asked world {seed}") for seed in range(first, first + count)]


def organizations(config: pytest.Config) -> list[Scenario]:
    """What this module wants played: the files, some of them with a wrong `why`, and what is invented."""
    wrong = [replace(file(name), name=f"{bug.name}: {name}") for bug, name in sown(config).items()]
    fates = [parse(text, name, conf_folder()) for name, text in FATES.items()]
    return [*map(file, FILES), *wrong, *fates, *inventions(config)]


ANSWERS: list[tuple[datetime, Line]] = []
"""What was answered in the one play, each with the time of its organization."""


@contextmanager
def conditions(config: pytest.Config) -> Iterator[None]:
    """The wrong versions are planted while they are played, and what is answered is kept as it was."""
    real = asked.explain

    def explain(spark: SparkSession, tables: Any, clock: Any, *args: Any) -> list[Line]:
        rows = real(spark, tables, clock, *args)
        now = {row["org"]: row["now"] for row in clock.to_pylist()}
        ANSWERS.extend((now[row["org"]], row) for row in rows)
        return rows

    with planted(sown(config)), pytest.MonkeyPatch.context() as patch:
        patch.setattr(asked, "explain", explain)
        yield


def hours(at: str | None) -> str:
    """A moment of a line as hours and minutes since the start."""
    if at is None:
        return "-"
    minutes = int((datetime.fromisoformat(at) - START).total_seconds()) // 60
    return f"{minutes // 60:02}:{minutes % 60:02}"


def words(lines: Iterable[Line]) -> list[list[str]]:
    """What `why` says, in the words of `EXPECTED`."""
    told = []
    for line in (each for each in lines if each["kind"] == "why"):
        said = [hours(line["at"]), line["store"], line["folder"], line["item"], line["cause"], hours(line["since"])]
        after = line["next"]
        told.append(said + ([after["what"], hours(after["at"]), after["of"]] if after else []))
    return sorted([each for each in said if each] for said in told)


def test_every_cause_is_told(played: Mapping[str, list[Line]]) -> None:
    lines = [line for name in FILES for line in played[file(name).name] if line["kind"] == "why"]
    for line in lines:
        assert line["here"] == (line["cause"] in ("here", "superseded", "deleted", "expired", "loser"))
        assert line["item"] in line["says"] or line["cause"] in ("refused", "not_taken_in", "no_replica")
        assert line["because"] and all(each["rule"] and each["says"] and each["table"] for each in line["because"])
    assert words(lines) == sorted(line.split() for line in EXPECTED.strip().splitlines())
    assert {line["cause"] for line in lines} == set(Cause)


@pytest.mark.parametrize(("fate", "at"), list(zip(FATES, ("02:45", None, "02:45", None), strict=True)))
def test_what_a_deletion_comes_before_nobody_can_say(played: Mapping[str, list[Line]], fate: str, at: str | None) -> None:
    """By a letter that is under way already, or is to be written; where there is none it is said, and comes true."""
    [line] = [line for line in played[fate] if line["kind"] == "why"]
    assert (line["item"], line["cause"]) == ("PFS1:1", "waiting_to_ask")
    assert line["next"] == {"at": at and f"2026-01-05T{at}:00Z", "what": "ask", "of": "PFS1"}
    asked = [line["at"] for line in played[fate] if line["kind"] == "message" and line["asks"] and line["folder"] == "/Sales"]
    assert asked == ([line["next"]["at"]] if at else [])
    assert [each["rule"] for each in line["because"]] == ["R91"] + ["R140"] * (at is None)
    assert ("PFS2 may hear before that the folder is deleted" in line["says"]) == (at is None)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each wrong version of this run is a test."""
    if "bug" in metafunc.fixturenames:
        metafunc.parametrize("bug", sown(metafunc.config), ids=lambda bug: bug.name)


@pytest.mark.planted
def test_a_wrong_why_is_caught(played: Mapping[str, list[Line]], bug: Bug) -> None:
    right, wrong = (words(played[name]) for name in (file(WRONG[bug]).name, f"{bug.name}: {WRONG[bug]}"))
    assert len(right) == len(wrong) and right != wrong


class Facts:
    """What rounds have written of an organization."""

    def __init__(self, written: Mapping[str, Mapping[str, Sequence[Line]]], org: str) -> None:
        self.sent: dict[Here, list[tuple[datetime, cntext.CnSet]]] = defaultdict(list)
        self.applied: dict[Here, list[tuple[datetime, cntext.CnSet]]] = defaultdict(list)
        self.asked: dict[Here, list[tuple[datetime, cntext.CnSet]]] = defaultdict(list)
        self.asked_of: dict[tuple[Here, str], list[tuple[datetime, cntext.CnSet]]] = defaultdict(list)
        self.heard: dict[Here, list[tuple[datetime, cntext.CnSet]]] = defaultdict(list)
        for row in written["messages"][org]:
            if row["type"] in ("0x2", "0x4"):
                self.sent[here(row)].append((row["at"], set_of(row["carries"])))
        for row in written["state"][org]:
            if row["entry"] == "applied" and cntext.split_label(row["about"])[0] == row["store"]:
                self.applied[here(row)].append((row["at"], set_of([row])))
        for row in written["backfill"][org]:
            if row["step"] == "asked":
                self.asked[here(row)].append((row["at"], set_of([row])))
                self.asked_of[here(row), row["of"]].append((row["at"], set_of([row])))
            elif row["step"] == "heard":
                self.heard[here(row)].append((row["at"], set_of([row])))


def here(row: Mapping[str, Any]) -> Here:
    return row["org"], row["store"], row["folder"]


def within(found: Sequence[tuple[datetime, cntext.CnSet]], since: datetime, until: datetime) -> cntext.CnSet:
    """What was written after the one moment and up to the other."""
    whole: cntext.CnSet = {}
    for at, numbers in found:
        if since < at <= until:
            whole = cntext.union(whole, numbers)
    return whole


def came_true(row: Line, now: datetime, facts: Facts) -> str | None:
    """What is wrong with what a row says of the future."""
    numbers = set_of([row])
    at, before, there = row["next_at"], row["next_at"] - timedelta(microseconds=1), here(row)

    def meets(found: Sequence[tuple[datetime, cntext.CnSet]], since: datetime, until: datetime) -> cntext.CnSet:
        return cntext.intersect(within(found, since, until), numbers)

    def then(found: Sequence[tuple[datetime, cntext.CnSet]]) -> str | None:
        if meets(found, now, before):
            return "too late"
        return None if meets(found, before, at) == numbers else "it did not"

    match row["next_what"]:
        case "send":
            return then(facts.sent[row["org"], row["next_of"], row["folder"]])
        case "arrive":
            return then(facts.applied[there])
        case "ask":
            return then(facts.asked[there]) or (
                None if meets(facts.asked_of[there, row["next_of"]], before, at) == numbers else "of another"
            )
        case "ask_again":
            if meets(facts.asked[there], now, before):
                return "too late"
            came = meets(facts.applied[there], now, at)
            return None if cntext.union(came, meets(facts.asked[there], before, at)) == numbers else "it did not"
        case "hear":
            heard = facts.heard[there] + facts.applied[there]
            return then(heard)
    return f"unknown: {row['next_what']}"


def test_what_is_to_come_comes(
    pytestconfig: pytest.Config, played: Mapping[str, list[Line]], facts: Mapping[str, Mapping[str, list[Line]]]
) -> None:
    """Played on without faults and edits, what an answer says of the future happens in that round, and not before."""
    counts: Counter[tuple[str, str]] = Counter()
    wrong: list[tuple[str, Line]] = []
    for one in inventions(pytestconfig):
        written, after = Facts(facts, one.name), one.start + timedelta(minutes=STORY)
        for now, row in ANSWERS:
            if row["org"] == one.name and now > after and row["next_at"] and row["next_at"] <= one.end:
                found = came_true(row, now, written)
                counts[row["next_what"], found or "true"] += 1
                if found:
                    wrong.append((found, {**row, "now": now}))
    for each in wrong:
        print(each[0], {name: str(value) for name, value in each[1].items() if value is not None and name != "standing"})
    print(counts)
    assert counts and not [each for each in wrong if each[0] != "of another"]


def test_who_has_what_is_what_the_oracle_says(pytestconfig: pytest.Config, played: Mapping[str, list[Line]]) -> None:
    """A number is here where the second implementation has it applied, and nowhere else."""
    scenarios = inventions(pytestconfig)
    said = [line for one in scenarios for line in played[one.name] if line["kind"] == "why"]
    truth = {
        (line["org"], line["at"], line["store"], line["folder"]): cntext.parse(line["applied"])
        for one in scenarios for line in oracle.play(one) if line["kind"] == "state"
    }  # fmt: skip
    print(Counter(line["cause"] for line in said))
    held: dict[Any, cntext.CnSet] = defaultdict(dict)
    lacked: dict[Any, cntext.CnSet] = defaultdict(dict)
    for line in said:
        if line["cause"] not in (Cause.NOT_TAKEN_IN, Cause.REFUSED):
            key = line["org"], line["at"], line["store"], line["folder"]
            side = held if line["here"] else lacked
            side[key] = cntext.union(side[key], cntext.parse(line["item"]))
    assert held and lacked
    for key, numbers in held.items():
        assert not cntext.subtract(numbers, truth[key]), key
    for key, numbers in lacked.items():
        assert not cntext.intersect(numbers, truth.get(key, {})), key
