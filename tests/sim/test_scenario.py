"""Scenario files: what they say, what a step resolves to, and how a mistake is told."""

from __future__ import annotations

import pickle
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pfspark import settings
from pfspark.errors import ScenarioError, UsageError
from pfspark.files.language import VERBS
from pfspark.files.parts import Link
from pfspark.files.properties import DEFAULT_SITE
from pfspark.sim.scenario import Folder, Scenario, Store, parse, read
from pfspark.sim.steps import Step, _Tree
from pfspark.units import CENTURY
from tests.sim.oracle import rounds

CONF = Path(__file__).parents[2] / "conf"
START = datetime(2026, 1, 5, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)

HEAD = """
name = "N"
profile = "exchange_2007"
start = 2026-01-05T00:00:00Z
end = "4h"
interval = "15m"
[stores.PFS1]
[stores.PFS2]
[folders."/Sales"]
replicas = ["PFS1", "PFS2"]
[folders."/Sales/North"]
replicas = ["PFS1"]
"""


def step(at: str, verb: str) -> str:
    return f'[[steps]]\nat = "{at}"\n{verb}\n'


def scenario(*steps: str, head: str = HEAD) -> Scenario:
    return parse(head + "".join(steps), "n.toml", CONF)


def args(*steps: str) -> list[dict[str, Any]]:
    """The arguments of the steps, by their place in the file."""
    return [dict(each.args) for each in sorted(scenario(*steps).steps, key=lambda each: each.number)]


def refused(*steps: str, head: str = HEAD) -> str:
    with pytest.raises(ScenarioError) as caught:
        scenario(*steps, head=head)
    assert str(caught.value).startswith("n.toml")
    return str(caught.value)


# --- a whole file -----------------------------------------------------------------------------------------------------

CONTRACT = """
name = "PFS3 is cut off and catches up"
profile = "exchange_2007"              # exchange_2000 | exchange_2003 | exchange_2007 | modern
start = 2026-01-05T00:00:00Z
end = "48h"                            # offset from start; the last round is the last one not after it
interval = "15m"

[policy]                               # overrides of single options of the profile
relay_status = true

[stores.PFS1]
site = "Redmond"                       # version = "2007", preferred = false, interval, size_limit = "300KB", schedule
[stores.PFS2]
site = "Redmond"
[stores.PFS3]
site = "Paris"

[[links]]
sites = ["Redmond", "Paris"]           # both directions; `from` and `to` for one direction
cost = 10
delay = "0m"

[folders."/Sales"]
replicas = ["PFS1", "PFS2", "PFS3"]    # schedule, size_limit, age_limit, conflict (0, 1, 2) may be set here
holds = "PFS1:1-10,PFS2:1-20,PFS3:1-30"

[[steps]]
at = "0m"
post = { store = "PFS1", folder = "/Sales" }               # count = 1, size = "1KB", item = "a name for later steps"
[[steps]]
at = "30m"
cut = ["PFS3"]                         # lost: what a cut store sends, and what would reach it while cut
[[steps]]
at = "45m"
post = { store = "PFS1", folder = "/Sales", count = 5 }
[[steps]]
at = "2h"
heal = ["PFS3"]
[[steps]]
at = "2h15m"
show = ["state"]                       # after that round
"""


def test_the_example_of_the_contract() -> None:
    found = scenario(head=CONTRACT)
    assert (found.name, found.profile, found.policy.profile, found.file) == (
        "PFS3 is cut off and catches up",
        "exchange_2007",
        "exchange_2007",
        "n.toml",
    )
    assert (found.start, found.end, found.interval) == (START, START + 48 * HOUR, 15 * MINUTE)
    assert found.policy.relay_status is True
    assert found.stores == (Store("PFS1", "Redmond"), Store("PFS2", "Redmond"), Store("PFS3", "Paris"))
    assert found.links == (Link("Redmond", "Paris", 10), Link("Paris", "Redmond", 10))
    assert found.folders == (
        Folder("/Sales", ("PFS1", "PFS2", "PFS3"), holds={"PFS1": ((1, 10),), "PFS2": ((1, 20),), "PFS3": ((1, 30),)}),
    )
    posted = {"store": "PFS1", "folder": "/Sales", "folder_ref": ("initial", 0), "size": 1024, "item": None}
    assert found.steps == (
        Step(1, START, "post", posted | {"count": 1}),
        Step(2, START + 30 * MINUTE, "cut", {"stores": ("PFS3",)}),
        Step(3, START + 45 * MINUTE, "post", posted | {"count": 5}),
        Step(4, START + 2 * HOUR, "heal", {"stores": ("PFS3",)}),
        Step(5, START + 2 * HOUR + 15 * MINUTE, "show", {"what": ("state",)}),
    )
    assert pickle.loads(pickle.dumps(found)) == found


def test_the_file_of_the_readme_can_be_read_and_its_table_has_every_verb() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    [example] = re.findall(r"^```toml\n(name = .+?)^```$", readme, re.MULTILINE | re.DOTALL)
    found = scenario(head=example)
    assert (found.name, len(found.stores), len(found.links), len(found.faults)) == ("Paris is slow, then off", 2, 2, 1)
    [table] = re.findall(r"^\| a step \|.+?\n\n", readme, re.MULTILINE | re.DOTALL)
    assert set(re.findall(r"`(\w+)`", table)) - {"true"} == set(VERBS)


def test_rounds_end_with_the_last_one_not_after_the_end() -> None:
    head = HEAD.replace('"4h"', '"1h10m"')
    assert [moment - START for moment in rounds(scenario(head=head))] == [15 * MINUTE * place for place in range(5)]
    assert list(rounds(scenario(head=HEAD.replace('"4h"', '"0m"')))) == [START]


def test_a_step_after_the_last_round_never_happens() -> None:
    steps = [f'[[steps]]\nat = "{at}"\ncut = ["PFS1"]\n' for at in ("1h", "1h10m", "1h15m", "1h16m")]
    assert [step.number for step in scenario(*steps, head=HEAD.replace('"4h"', '"1h20m"')).unplayed()] == [4]


def test_everything_a_store_a_link_and_a_folder_may_say() -> None:
    found = scenario(
        head="""
start = 2026-01-05T01:00:00+01:00
end = 2026-01-06
[policy]
backfill_timeouts = { local = ["1h", "2h", "3h"] }
interval = "5m"
[stores.A]
site = "X"
version = 5.5
preferred = true
interval = "1h"
size_limit = "4MB"
schedule = "Sun.11:30 PM-Mon.1:30 AM"
[stores.B]
site = "Y"
version = "2000"
[stores."c.d_e-1"]
[[links]]
from = "X"
to = "Y"
cost = 3
delay = "20m"
[[links]]
from = "Y"
to = "X"
[[links]]
from = "X"
to = "Y"
cost = 4
[folders."/F/G"]
replicas = "A"
schedule = ["Mon.8:00-Mon.9:00", "Tue.8:00-Tue.9:00"]
size_limit = 2048
age_limit = "30d"
conflict = 2
holds = "A~2:1-3, 7"
[folders."/F/"]
age_limit = "none"
"""
    )
    assert (found.name, found.profile, found.interval) == ("n", "exchange_2007", 5 * MINUTE)
    assert (found.start, found.end) == (START, START + 24 * HOUR)
    assert found.policy.backfill_timeouts_local == (HOUR, 2 * HOUR, 3 * HOUR)
    assert found.stores == (
        Store("A", "X", "5.5", True, HOUR, 4 * 1024**2, "Sun.11:30 PM-Mon.1:30 AM"),
        Store("B", "Y", "2000"),
        Store("c.d_e-1", DEFAULT_SITE),
    )
    assert found.links == (Link("X", "Y", 4), Link("Y", "X", 1, timedelta(0)))
    said = {"schedule": "Mon.8:00-Mon.9:00,Tue.8:00-Tue.9:00", "size_limit": 2048, "age_limit": 720 * HOUR, "conflict": 2}
    assert found.folders == (
        Folder("/F/G", ("A",), said, {"A~2": ((1, 3), (7, 7))}),
        Folder("/F", ("A", "B", "c.d_e-1"), {"age_limit": None}),
    )


def test_of_several_faults_of_a_way_the_worst_counts_as_long_as_it_lasts() -> None:
    faults = """
[stores.PFS3]
[[faults]]
from = "PFS1"
until = "2h"
lost = 0.2
late = "1h"
[[faults]]
from = "PFS1"
to = "PFS2"
since = "1h"
lost = 1
twice = 0.5
"""
    found = scenario(faults, head="seed = 3" + HEAD)
    assert found.seed == 3 and scenario().seed == 0
    mild, both, alone = (0.2, 0.0, HOUR), (1.0, 0.5, HOUR), (1.0, 0.5, timedelta(0))
    assert found.ways(START) == {("PFS1", "PFS2"): mild, ("PFS1", "PFS3"): mild}
    assert found.ways(START + HOUR) == {("PFS1", "PFS2"): both, ("PFS1", "PFS3"): mild}
    assert found.ways(START + 2 * HOUR) == {("PFS1", "PFS2"): alone}
    assert found.ways(found.end) == {}


def test_a_fault_that_can_strike_nothing_is_known() -> None:
    """From a store to itself, at no time that is played, or of no harm."""
    faults = """
[[faults]]
from = "PFS1"
to = "PFS1"
lost = 1
[[faults]]
to = "PFS1"
lost = 1
[[faults]]
since = "9d"
until = "10d"
lost = 1
[[faults]]
from = "PFS1"
to = "PFS2"
[[faults]]
since = "9d"
lost = 1
"""
    assert scenario(faults).idle_faults() == [1, 3, 4, 5]


@pytest.mark.parametrize(
    ("said", "strikes"), [('since = "4h"', False), ('since = "4h"\nuntil = "5h"', True), ('since = "3h"', True)]
)
def test_a_fault_that_begins_at_the_end_strikes_if_it_lasts(said: str, strikes: bool) -> None:
    assert scenario(f"[[faults]]\n{said}\nlost = 1\n").idle_faults() == [1] * (not strikes)


def test_steps_are_taken_in_order_of_time_and_of_file() -> None:
    found = scenario(
        step("30m", 'cut = "PFS1"'),
        step("0m", "suspend = true"),
        step("30m", 'heal = ["PFS1"]'),
        step("15m", 'show = ["items", "folders", "items"]'),
        step("0m", "resume = true"),
    )
    assert [(each.number, each.verb) for each in found.steps] == [
        (2, "suspend"),
        (5, "resume"),
        (4, "show"),
        (1, "cut"),
        (3, "heal"),
    ]
    assert found.steps[2].args == {"what": ("items", "folders")}
    assert found.steps[0].args == {}


def test_every_verb_has_typed_arguments() -> None:
    found = args(
        step("0m", 'post = { store = "PFS1", folder = "/Sales", count = 3, size = "50KB" }'),
        step("0m", 'post = { store = "PFS1", folder = "/Sales", item = "a" }'),
        step("1m", 'modify = { store = "PFS2", folder = "/Sales", item = "a", size = 7 }'),
        step("2m", 'delete = { store = "PFS2", folder = "/Sales", item = "PFS1:12" }'),
        step(
            "3m",
            'set_folder = { store = "PFS1", folder = "/Sales", age_limit = "30d", size_limit = "1MB", note = "x" }',
        ),
        step("3m", 'set_folder = { store = "PFS1", folder = "/Sales", age_limit = "none", schedule = "never" }'),
        step("4m", 'add_replica = { store = "PFS1", folder = "/Sales/North", replica = "PFS2" }'),
        step("5m", 'remove_replica = { store = "PFS1", folder = "PFS1:2", replica = "PFS1" }'),
        step("3h", 'restore = { store = "PFS2", to = "2h" }'),
        step("3h", 'down = ["PFS1", "PFS2"]'),
        step("3h30m", 'up = ["PFS1"]'),
        step("4h", 'clock = "1h30m"'),
        step("4h", 'clock = "-36h"'),
    )
    sales = {"store": "PFS1", "folder": "/Sales", "folder_ref": ("initial", 0)}
    assert found[0] == sales | {"count": 3, "size": 51_200, "item": None}
    assert found[1] == sales | {"count": 1, "size": 1024, "item": "a"}
    assert found[2] == sales | {"store": "PFS2", "item": "a", "item_ref": 2, "size": 7}
    assert found[3] == sales | {"store": "PFS2", "item": "PFS1:12", "item_ref": "PFS1:12"}
    assert found[4] == sales | {"properties": {"age_limit": 720 * HOUR, "size_limit": 1024**2, "note": "x"}}
    assert found[5] == sales | {"properties": {"age_limit": None, "schedule": "never"}}
    assert found[6] == {"store": "PFS1", "folder": "/Sales/North", "folder_ref": ("initial", 1), "replica": "PFS2"}
    assert found[7] == {"store": "PFS1", "folder": "PFS1:2", "folder_ref": ("initial", 1), "replica": "PFS1"}
    assert found[8] == {"store": "PFS2", "to": START + 2 * HOUR}
    assert found[9:11] == [{"stores": ("PFS1", "PFS2")}, {"stores": ("PFS1",)}]
    assert found[11:] == [{"wrong": 90 * MINUTE}, {"wrong": -36 * HOUR}]


# --- paths in time ----------------------------------------------------------------------------------------------------


def test_a_later_step_names_the_new_path() -> None:
    found = args(
        step("0m", 'create_folder = { store = "PFS1", path = "/New", replicas = ["PFS1", "PFS2"], conflict = 1 }'),
        step("1m", 'create_folder = { store = "PFS2", path = "/New/Sub" }'),
        step("2m", 'rename_folder = { store = "PFS1", folder = "/New", name = "Newer" }'),
        step("3m", 'post = { store = "PFS2", folder = "/Newer/Sub" }'),
        step("4m", 'move_folder = { store = "PFS1", folder = "/Newer/Sub", to = "/Sales/North" }'),
        step("5m", 'post = { store = "PFS2", folder = "/Sales/North/Sub" }'),
        step("6m", 'move_folder = { store = "PFS1", folder = "/Sales/North/Sub", to = "/" }'),
        step("7m", 'post = { store = "PFS2", folder = "/Sub/" }'),
    )
    assert found[0] == {
        "store": "PFS1",
        "path": "/New",
        "name": "New",
        "parent_ref": None,
        "replicas": ("PFS1", "PFS2"),
        "properties": {"conflict": 1},
    }
    assert found[1] == {
        "store": "PFS2",
        "path": "/New/Sub",
        "name": "Sub",
        "parent_ref": ("step", 1),
        "replicas": ("PFS2",),
        "properties": {},
    }
    assert found[2]["folder_ref"] == ("step", 1)
    assert found[4]["to_ref"] == ("initial", 1)
    assert found[6]["to_ref"] is None
    assert [found[place]["folder_ref"] for place in (3, 5, 7)] == [("step", 2)] * 3


def test_paths_follow_time_and_not_the_file() -> None:
    later, earlier = args(
        step("2m", 'post = { store = "PFS1", folder = "/New" }'),
        step("1m", 'create_folder = { store = "PFS1", path = "/New" }'),
    )
    assert later["folder_ref"] == ("step", 2)
    assert earlier["parent_ref"] is None
    assert "folder '/New' is not known at that time" in refused(
        step("1m", 'post = { store = "PFS1", folder = "/New" }'),
        step("2m", 'create_folder = { store = "PFS1", path = "/New" }'),
    )


def test_a_path_that_was_left_still_means_the_folder_until_another_takes_it() -> None:
    found = args(
        step("1m", 'rename_folder = { store = "PFS1", folder = "/Sales", name = "Deals" }'),
        step("2m", 'post = { store = "PFS2", folder = "/Sales" }'),  # PFS2 may not have heard of it
        step("2m", 'post = { store = "PFS2", folder = "/Sales/North" }'),
        step("3m", 'create_folder = { store = "PFS1", path = "/Sales" }'),
        step("4m", 'post = { store = "PFS2", folder = "/Sales" }'),
        step("4m", 'post = { store = "PFS2", folder = "/Deals/North" }'),
    )
    assert [found[place]["folder_ref"] for place in (1, 2, 4, 5)] == [
        ("initial", 0),
        ("initial", 1),
        ("step", 4),
        ("initial", 1),
    ]


def test_a_deleted_folder_is_left_to_the_rules() -> None:
    found = args(
        step("1m", 'delete_folder = { store = "PFS1", folder = "/Sales" }'),
        step("2m", 'post = { store = "PFS1", folder = "/Sales/North" }'),
        step("3m", 'create_folder = { store = "PFS1", path = "/Sales" }'),
        step("4m", 'post = { store = "PFS1", folder = "/Sales" }'),
        step("5m", 'create_folder = { store = "PFS1", path = "/Sales/North/Deep" }'),
    )
    assert found[1]["folder_ref"] == ("initial", 1)
    assert found[3]["folder_ref"] == ("step", 3)
    assert found[4]["parent_ref"] == ("initial", 1)


def test_what_is_made_beneath_a_folder_that_another_deletes_is_named_by_its_path() -> None:
    """Who has not heard of the deletion sees it there."""
    found = args(
        step("1m", 'delete_folder = { store = "PFS1", folder = "/Sales" }'),
        step("1m", 'create_folder = { store = "PFS2", path = "/Sales/New" }'),
        step("1m", 'post = { store = "PFS2", folder = "/Sales/New" }'),
    )
    assert found[2]["folder_ref"] == ("step", 2)


def test_what_lies_in_a_ring_lies_beneath_the_root() -> None:
    """As `show` prints it: the folders of the ring, and what lay beneath them; where they lay they are known still."""
    found = args(
        step("1m", 'create_folder = { store = "PFS1", path = "/Other" }'),
        step("2m", 'move_folder = { store = "PFS1", folder = "/Sales", to = "/Other" }'),
        step("2m", 'move_folder = { store = "PFS2", folder = "/Other", to = "/Sales" }'),
        step("3m", 'post = { store = "PFS1", folder = "/Sales" }'),
        step("3m", 'post = { store = "PFS1", folder = "/North" }'),
        step("3m", 'post = { store = "PFS1", folder = "/Sales/North" }'),
        step("4m", 'move_folder = { store = "PFS1", folder = "/Sales", to = "/" }'),
        step("5m", 'post = { store = "PFS1", folder = "/Sales/Other" }'),
    )
    assert [found[place]["folder_ref"] for place in (3, 4, 5, 7)] == [
        ("initial", 0), ("initial", 1), ("initial", 1), ("step", 1),
    ]  # fmt: skip


def test_a_folder_of_the_start_is_the_same_by_its_path_and_by_its_id() -> None:
    """The first store has given the hierarchy's numbers in the order of the file."""
    found = args(
        step("1m", 'post = { store = "PFS1", folder = "/Sales", item = "n" }'),
        step("2m", 'modify = { store = "PFS2", folder = "PFS1:1", item = "n" }'),
        step("3m", 'rename_folder = { store = "PFS1", folder = "PFS1:1", name = "Trade" }'),
        step("4m", 'move_folder = { store = "PFS1", folder = "/Trade/North", to = "/" }'),
        step("5m", 'move_folder = { store = "PFS1", folder = "PFS1:1", to = "PFS1:2" }'),
        step("6m", 'post = { store = "PFS1", folder = "/North/Trade" }'),
        step("6m", 'post = { store = "PFS1", folder = "PFS1:3" }'),
    )
    assert [found[place]["folder_ref"] for place in (1, 3, 5, 6)] == [
        ("initial", 0), ("initial", 1), ("initial", 0), ("id", "PFS1:3"),
    ]  # fmt: skip
    assert (found[1]["item_ref"], found[4]["to_ref"]) == (1, ("initial", 1))
    twice = refused(
        step("1m", 'post = { store = "PFS1", folder = "/Sales", item = "n" }'),
        step("2m", 'post = { store = "PFS1", folder = "PFS1:1", item = "n" }'),
    )
    assert "item 'n' is posted by step 1 already" in twice


def test_why_is_asked_of_the_hierarchy_too_and_of_an_item_by_any_name() -> None:
    """A name that reads as numbers of some store is the item's, where one has it."""
    found = args(
        step("1m", 'post = { store = "PFS1", folder = "/Sales", item = "X:1,A:2" }'),
        step("2m", 'why = { store = "PFS2", folder = "1-1", item = "PFS1:1" }'),
        step("2m", 'why = { store = "PFS2", folder = "/Sales", item = "X:1,A:2" }'),
    )
    assert (found[1]["folder_ref"], found[2]["item"]) == (("id", "1-1"), "X:1,A:2")
    assert "store 'A' is not known" in refused(step("2m", 'why = { store = "PFS2", folder = "/Sales", item = "X:1,A:2" }'))
    assert "found '1-1', expected a path" in refused(step("2m", 'post = { store = "PFS2", folder = "1-1" }'))


def test_a_folder_may_be_called_by_blanks() -> None:
    head = HEAD.replace('"/Sales/North"', '"/ "')
    assert scenario(step("1m", 'post = { store = "PFS1", folder = "/ " }'), head=head).folders[1].path == "/ "
    assert "expected a path" in refused(step("1m", 'create_folder = { store = "PFS1", path = "//" }'))
    assert "found '', expected a text" in refused(step("1m", 'rename_folder = { store = "PFS1", folder = "/Sales", name = "" }'))


def test_a_moment_may_be_written_without_hyphens() -> None:
    told = scenario(
        step("20260105T010000Z", 'post = { store = "PFS1", folder = "/Sales" }'), head=HEAD.replace("4h", "20260106T000000Z")
    )
    assert (told.end - START, told.steps[0].at - START) == (timedelta(days=1), HOUR)
    assert scenario(head=HEAD.replace("4h", "20260107")).end == START + timedelta(days=2)


@pytest.mark.parametrize("name", ["NOBODY~1:7", "PFS1~99999999999:7", "PFS1:9999999999999999999"])
def test_what_no_store_could_have_given_is_no_id(name: str) -> None:
    told = refused(step("1m", f'post = {{ store = "PFS1", folder = "{name}" }}'))
    assert f"found '{name}', expected a path such as /Sales" in told


def test_an_interval_is_no_longer_than_a_century() -> None:
    assert settings.span("36500d") == CENTURY
    with pytest.raises(UsageError, match="found '36501d', expected a century at most: 36500d"):
        settings.span("36501d")


@pytest.mark.parametrize(
    "said", ['interval = "36501d"', 'status_after = "999999d"', 'backfill_timeouts = { local = ["6h", "12h", "36501d"] }']
)
def test_no_option_waits_longer_than_a_century(said: str) -> None:
    """What comes of it lies in a year that there is: else the rounds of all organizations of a lake ended with it."""
    assert "expected a century at most: 36500d" in refused(head=HEAD.replace("[stores.PFS1]", f"[policy]\n{said}\n[stores.PFS1]"))


def test_of_two_folders_at_one_path_a_store_means_its_own() -> None:
    found = args(
        step("1m", 'create_folder = { store = "PFS1", path = "/New" }'),
        step("1m", 'create_folder = { store = "PFS2", path = "/New" }'),
        step("2m", 'post = { store = "PFS1", folder = "/New" }'),
        step("2m", 'post = { store = "PFS2", folder = "/New" }'),
    )
    assert [each["folder_ref"] for each in found[2:]] == [("step", 1), ("step", 2)]


def test_a_living_folder_at_a_path_goes_before_a_deleted_one() -> None:
    found = args(
        step("1m", 'create_folder = { store = "PFS2", path = "/New" }'),
        step("2m", 'delete_folder = { store = "PFS2", folder = "/New" }'),
        step("3m", 'create_folder = { store = "PFS1", path = "/New" }'),
        step("4m", 'post = { store = "PFS2", folder = "/New" }'),
    )
    assert found[3]["folder_ref"] == ("step", 3)


def test_a_move_into_itself_is_left_to_the_rules() -> None:
    found = args(
        step("1m", 'move_folder = { store = "PFS1", folder = "/Sales", to = "/Sales/North" }'),
        step("2m", 'post = { store = "PFS1", folder = "/Sales/North" }'),
    )
    assert found[0]["to_ref"] == ("initial", 1)
    assert found[1]["folder_ref"] == ("initial", 1)


def test_item_names_belong_to_their_folder() -> None:
    found = args(
        step("0m", 'post = { store = "PFS1", folder = "/Sales", item = "a" }'),
        step("0m", 'post = { store = "PFS1", folder = "/Sales/North", item = "a" }'),
        step("1m", 'rename_folder = { store = "PFS1", folder = "/Sales/North", name = "South" }'),
        step("2m", 'modify = { store = "PFS1", folder = "/Sales/South", item = "a" }'),
        step("3m", 'delete = { store = "PFS1", folder = "/Sales", item = "a" }'),
        step("4m", 'delete = { store = "PFS1", folder = "/Sales", item = "a" }'),  # refused when it is played
    )
    assert [each["item_ref"] for each in found[3:]] == [2, 1, 1]
    assert found[3]["size"] == 1024


def test_a_name_that_reads_like_numbers_is_a_name() -> None:
    """Of a store that is none; where numbers are asked for, they are numbers."""
    found = args(
        step("0m", 'post = { store = "PFS1", folder = "/Sales", item = "Notes:1-2" }'),
        step("1m", 'modify = { store = "PFS1", folder = "/Sales", item = "Notes:1-2" }'),
        step("2m", 'delete = { store = "PFS1", folder = "/Sales", item = "PFS2:9" }'),
    )
    assert [each["item_ref"] for each in found[1:]] == [1, "PFS2:9"]


# --- mistakes ---------------------------------------------------------------------------------------------------------

POST = 'post = { store = "PFS1", folder = "/Sales"'

MISTAKES_IN_STEPS = r"""
psot = { store = "PFS1" }
    step 1: key 'psot' is not known, expected at, post,
psot = { store = "PFS1" }
    the nearest known is 'post'
post = { stroe = "PFS1", folder = "/Sales" }
    step 1: post: key 'stroe' is not known, expected store, folder, item, count, size; the nearest known is 'store'
post = { store = "PSF1", folder = "/Sales" }
    step 1: post: store: store 'PSF1' is not known, expected PFS1, PFS2; the nearest known is 'PFS
post = { folder = "/Sales" }
    step 1: post: key 'store' is missing
post = 3
    step 1: post: found 3, expected a table with store, folder, item, count, size
post = { store = "PFS1", folder = "/Sale" }
    step 1 (at 1h): post: folder: folder '/Sale' is not known at that time, expected /Sales, /Sales/North; the nearest
post = { store = "PFS1", folder = "/" }
    folder: found '/', expected a folder
post = { store = "PFS1", folder = "Sales" }
    folder: found 'Sales', expected a path such as /Sales
post = { store = "PFS1", folder = "/Sales", count = 0 }
    count: found 0, expected a whole number from 1 to 1,000,000
post = { store = "PFS1", folder = "/Sales", count = 1000001 }
    count: found 1000001, expected a whole number from 1 to 1,000,000
restore = { store = "PFS1", to = "-1h" }
    to: found '-1h', expected a time such as 2026-01-05T00:00:00Z, or an offset from the start such as 15m or 6h
post = { store = "PFS1", folder = "/Sales", size = "1XB" }
    size: found '1XB', expected a size
post = { store = "PFS1", folder = "/Sales", count = 2, item = "a" }
    item: found a name for 2 items
post = { store = "PFS1", folder = "/Sales", item = "PFS1:3" }
    item: found 'PFS1:3', which reads as the id of an item
delete = { store = "PFS1", folder = "/Sales" }
    delete: key 'item' is missing
modify = { store = "PFS1", folder = "/Sales", item = "x" }
    item: item 'x' is not known in /Sales at that time, expected none or an id
create_folder = { store = "PFS1", path = "/Slaes/x" }
    path: folder '/Slaes' is not known at that time, expected /Sales, /Sales/North; the nearest known is '/Sales'
create_folder = { store = "PFS1", path = "/" }
    path: found '/', expected a path
create_folder = { store = "PFS1", path = "/A", replicas = [] }
    replicas: found an empty list
create_folder = { store = "PFS1", path = "/A", replicas = ["PFS9"] }
    replicas: store 'PFS9' is not known
rename_folder = { store = "PFS1", folder = "/Sales", name = "a/b" }
    name: found 'a/b', expected a folder name
rename_folder = { store = "PFS1", folder = "/Sales", name = "a\u0007" }
    expected a folder name: no / and no control characters
move_folder = { store = "PFS1", folder = "/Sales", to = "/Nwo" }
    to: folder '/Nwo' is not known
set_folder = { store = "PFS1", folder = "/Sales" }
    set_folder: found no property, expected at least one of schedule
set_folder = { store = "PFS1", folder = "/Sales", conflict = 3 }
    conflict: found 3, expected 0, 1 or 2
set_folder = { store = "PFS1", folder = "/Sales", schedule = "Monday" }
    schedule: found 'Monday', expected Always
cut = ["PFS3"]
    cut: store 'PFS3' is not known
cut = []
    cut: found an empty list, expected at least one
show = ["staet"]
    show: table 'staet' is not known, expected state, items, folders; the nearest known is 'state'
suspend = false
    suspend: found False, expected true
clock = "soon"
    clock: found 'soon', expected a duration such as 15m
clock = "- "
    clock: found ' ', expected a duration
clock = -36
    clock: found -36, expected a duration
restore = { store = "PFS1", to = "2h" }
    restore: to: found a time after this step
restore = { store = "PFS1", to = 2026-01-04T00:00:00Z }
    restore: to: found a time before the start
post = { store = "PFS1", folder = "ZZZ:1" }
    post: folder: store 'ZZZ' is not known
move_folder = { store = "PFS1", folder = "/Sales", to = "ZZZ:1" }
    move_folder: to: store 'ZZZ' is not known
modify = { store = "PFS1", folder = "/Sales", item = "ZZZ~2:1" }
    modify: item: store 'ZZZ' is not known
why = { store = "PFS1", folder = "/Sales", item = "PFS1:1,ZZZ:1-9" }
    why: item: store 'ZZZ' is not known
restore = { store = "PFS1" }
    restore: key 'to' is missing
suspend = true; resume = true
    step 1: found suspend and resume, expected at and one verb
"""

MISTAKES_IN_THE_FILE = r"""
name = "N" ⇒ nmae = "N"
    n.toml: key 'nmae' is not known, expected name, profile
name = "N" ⇒ name = 3
    n.toml: name: found 3, expected a text
name = "N" ⇒ name = "N
    n.toml:2: not TOML: Illegal character
exchange_2007 ⇒ exchange_2010
    n.toml: profile: profile 'exchange_2010' is not known, expected exchange_2000, exchange_2003, exchange_2007, modern
start = 2026-01-05T00:00:00Z ⇒
    n.toml: key 'start' is missing
2026-01-05T00:00:00Z ⇒ "5 January"
    start: found '5 January', expected a time such as 2026
"4h" ⇒ 2026-01-04T00:00:00Z
    found 2026-01-04 00:00:00+00:00, expected a time not before the start, 2026-01-05T00:00:00Z
"4h" ⇒ 30
    n.toml: end: found 30, expected a time such as 2026-01-05T00:00:00Z, or an offset from the start such as 15m
"4h" ⇒ "4"
    n.toml: end: found '4', expected a duration
end = "4h" ⇒
    n.toml: key 'end' is missing
"15m" ⇒ "0m"
    interval: found '0m', expected a duration longer than nothing
[stores.PFS1] ⇒ [policy]; relay = true; [stores.PFS1]
    n.toml: policy: option 'relay' is not known; the nearest known is 'relay_status'
[stores.PFS1] ⇒ [policy]; interval = 15; [stores.PFS1]
    n.toml: policy: option interval: found 15, expected a duration
[stores.PFS1] ⇒ [stores.PFS1]; sitr = "X"
    n.toml: stores.PFS1: key 'sitr' is not known, expected site, version, preferred, interval, size_limit, schedule; the
[stores.PFS1] ⇒ [stores.PFS1]; version = "old"
    stores.PFS1: version: found 'old', expected a version
[stores.PFS1] ⇒ [stores.PFS1]; schedule = "now"
    stores.PFS1: schedule: found 'now', expected Always
[stores.PFS1] ⇒ [stores.PFS1]; preferred = 1
    stores.PFS1: preferred: found 1, expected true or false
[stores.PFS1] ⇒ [stores."PFS~1"]
    stores.PFS~1: a store name has letters
[stores.PFS1] ⇒ [stores.PFS1]; [stores.PFS1]
    n.toml:8: not TOML: Cannot declare
"PFS2"] ⇒ "PFS3"]
    folders."/Sales": replicas: store 'PFS3' is not known
["PFS1"] ⇒ []
    folders."/Sales/North": replicas: found an empty list
["PFS1"] ⇒ ["PFS1"]; holds = "PFS1:1-x"
    folders."/Sales/North": holds: not a set of change numbers: column 6
["PFS1"] ⇒ ["PFS1"]; holds = "PFS3:1"
    folders."/Sales/North": holds: store 'PFS3' is not known
["PFS1"] ⇒ ["PFS1"]; holds = "PFS1:9223372036854775807"
    holds: found 'PFS1:9223372036854775807', after which too few are left that PFS1 could give; expected numbers up to 9,223,372,0
["PFS1"] ⇒ ["PFS1"]; holds = "PFS1:9223372036854775805"
    after which too few are left that PFS1 could give
["PFS1"] ⇒ ["PFS1"]; holds = "PFS1~2147483647:1"
    after which too few are left that PFS1 could give
["PFS1"] ⇒ ["PFS1"]; holds = ["PFS1:1"]
    holds: found ['PFS1:1'], expected a set such as
["PFS1"] ⇒ ["PFS1"]; conflict = 5
    conflict: found 5, expected 0, 1 or 2
["PFS1"] ⇒ ["PFS1"]; replica = ["PFS1"]
    key 'replica' is not known
"/Sales/North" ⇒ "/Sale/North"
    folder '/Sale' is not known; declare it too; the nearest known is '/Sales'
"/Sales/North" ⇒ "Sales/North"
    found 'Sales/North', expected a path
"/Sales/North" ⇒ "/Sales//North"
    found '', expected a text
"/Sales/North" ⇒ "/Sales/"
    folders."/Sales/": found a second entry of /Sales, expected one
[stores.PFS2] ⇒ [stores.PFS2]; site = "X"; [[links]]; sites = ["X", "Y"]
    links 1: sites: site 'Y' is not known, expected X, default
[stores.PFS2] ⇒ [stores.PFS2]; site = "X"; [[links]]; sites = ["X", "X"]
    links 1: expected sites = ["A", "B"] for both directions
[stores.PFS2] ⇒ [stores.PFS2]; [[faults]]; from = "PFS7"
    n.toml: faults 1: from: store 'PFS7' is not known, expected PFS1, PFS2
[stores.PFS2] ⇒ [stores.PFS2]; [[faults]]; lost = 20
    faults 1: lost: found 20, expected a share from 0 to 1, such as 0.2
[stores.PFS2] ⇒ [stores.PFS2]; [[faults]]; twice = true
    faults 1: twice: found True, expected a share
[stores.PFS2] ⇒ [stores.PFS2]; [[faults]]; late = 5
    faults 1: late: found 5, expected a duration
[stores.PFS2] ⇒ [stores.PFS2]; [[faults]]; since = "2h"; until = "1h"
    faults 1: until 2026-01-05T01:00:00Z is not after since 2026-01-05T02:00:00Z
[stores.PFS2] ⇒ [stores.PFS2]; [[faults]]; loses = 0.1
    faults 1: key 'loses' is not known, expected from, to, since, until, lost, twice, late
name = "N" ⇒ name = "N"; seed = -1
    seed: found -1, expected a whole number from 0 on
[stores.PFS2] ⇒ [stores.PFS2]; site = "X"; [[links]]; from = "X"
    links 1: expected sites = ["A", "B"] for both directions
[stores.PFS2] ⇒ [stores.PFS2]; site = "X"; [[links]]; sites = ["X", "default"]; cost = -1
    links 1: cost: found -1, expected a whole number from 0 on
[stores.PFS2] ⇒ [stores.PFS2]; [links]; cost = 1
    links: found {'cost': 1}, expected a list of tables
"""


def pairs(text: str) -> list[tuple[str, str]]:
    lines = [line.strip() for line in text.strip().splitlines()]
    return list(zip(lines[::2], lines[1::2], strict=True))


@pytest.mark.parametrize(("verb", "message"), pairs(MISTAKES_IN_STEPS))
def test_mistakes_in_steps(verb: str, message: str) -> None:
    assert message in refused(step("1h", verb.replace("; ", "\n")))


@pytest.mark.parametrize("value", ["1" * 5000, "[" * 5000])
def test_what_the_reader_of_toml_cannot_take(value: str) -> None:
    assert "n.toml: cannot be read as TOML" in refused(f"at = {value}")


@pytest.mark.parametrize(("change", "message"), pairs(MISTAKES_IN_THE_FILE))
def test_mistakes_in_the_file(change: str, message: str) -> None:
    old, new = (each.strip() for each in change.split("⇒"))
    assert old in HEAD
    assert message in refused(head=HEAD.replace(old, new.replace("; ", "\n")))


def test_mistakes_that_need_several_steps() -> None:
    named = POST + ', item = "ab" }'
    modify = 'modify = { store = "PFS1", folder = "/Sales", item = "%s" }'
    assert "step 2 (at 1m): post: item: item 'ab' is posted by step 1" in refused(step("0m", named), step("1m", named))
    assert "step 2 (at 1m): modify: item: item 'ac' is not known in /Sales at that time, expected ab or an id" in refused(
        step("0m", named), step("1m", modify % "ac")
    )
    assert "step 2 (at 0m): modify: item: item 'ab' is not known" in refused(step("1m", named), step("0m", modify % "ab"))


def test_mistakes_about_the_time_of_a_step() -> None:
    assert "step 1: key 'at' is missing" in refused("[[steps]]\nsuspend = true")
    assert "step 1: found nothing to do, expected at and one verb: post, modify" in refused(step("0m", ""))
    assert "step 1: at: found 'soon', expected a duration" in refused(step("soon", "suspend = true"))
    early = "2026-01-04T23:59:59Z"
    assert f"step 1: at: found '{early}', expected a time not before the start" in refused(step(early, "suspend = true"))


def test_a_name_may_have_255_characters() -> None:
    rename = 'rename_folder = {{ store = "PFS1", folder = "/Sales", name = "{}" }}'
    assert args(step("0m", rename.format("x" * 255)))[0]["name"] == "x" * 255
    assert "at most 255" in refused(step("0m", rename.format("x" * 256)))


def test_names_are_data() -> None:
    """Blanks at their ends belong to them, and what cannot be shown in one line is refused."""
    head = HEAD + '[folders."/Sales "]\n[folders."/\u00a0x"]\n'
    assert [folder.path for folder in scenario(head=head).folders[2:]] == ["/Sales ", "/\u00a0x"]
    post = 'post = {{ store = "PFS1", folder = "/Sales", item = {} }}'
    assert [step["item"] for step in args(step("0m", post.format('"a"')), step("0m", post.format('" a"')))] == ["a", " a"]
    for odd in ("\\u0000", "\\u001b[2J", "\\u009b2J", "a/b", "a\\nb"):
        rename = f'rename_folder = {{ store = "PFS1", folder = "/Sales", name = "{odd}" }}'
        assert "expected a folder name: no / and no control characters" in refused(step("0m", rename))
    assert "\n" not in refused(head='start = 2026-01-05\nend = "1h"\n[stores."x\\nall is well"]')


@pytest.mark.parametrize(
    ("found", "seen"),
    [
        ('start = "0001-01-01T00:00:00+14:00"', "start: found '0001-01-01T00:00:00+14:00', expected a time such as"),
        ('start = "9999-12-31T23:59:59-12:00"', "start: found '9999-12-31T23:59:59-12:00', expected a time such as"),
        ('end = "9999-12-31T00:00:00Z"', "end: found '9999-12-31T00:00:00Z', expected a time such as"),
        (f"seed = {10**30}", f"seed: found {10**30}, expected a whole number from 0 on"),
        ("policy = { conflict = 1.0 }", "found 1.0"),
        ('policy = { size_limit = "999999999999999GB" }', "found '999999999999999GB', expected a size such as"),
    ],
)
def test_what_is_beyond_all_bounds(found: str, seen: str) -> None:
    given = {"start": "start = 8000-01-01", "end": 'end = "1h"', **{found.partition(" ")[0]: found}}
    assert seen in refused(head="\n".join([*given.values(), "[stores.PFS1]"]))


def test_an_end_that_no_time_reaches() -> None:
    long = 'start = 8000-01-01\nend = "999999d"\n[stores.PFS1]'
    assert "end: found '999999d', expected an offset that ends before the year 9000" in refused(head=long)


def test_a_folder_knows_its_kinds_of_conflict() -> None:
    assert "conflict: found 1.0, expected 0, 1 or 2" in refused(head=HEAD + "conflict = 1.0")


def test_an_unfinished_file_names_its_last_line() -> None:
    assert refused(head='name = "N"\nstart = """\nend').startswith("n.toml:3: not TOML: ")


def test_no_stores() -> None:
    assert "stores: none, expected at least one" in refused(head='start = 2026-01-05\nend = "1h"\n[stores]')


# --- files ------------------------------------------------------------------------------------------------------------


def test_names_are_unique_among_the_files(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(HEAD)
    (tmp_path / "b.toml").write_text(HEAD)
    with pytest.raises(ScenarioError, match=r"b\.toml: name: 'N' is the name of .*a\.toml too"):
        read([tmp_path / "a.toml", tmp_path / "b.toml"], CONF)


def test_files_and_folders_are_read(tmp_path: Path) -> None:
    (tmp_path / "b.toml").write_bytes(b"\xef\xbb\xbf" + HEAD.replace('"N"', '"B"').encode())
    (tmp_path / "a.toml").write_text(HEAD.replace('name = "N"', ""))
    assert [each.name for each in read([str(tmp_path)], CONF)] == ["a", "B"]


@pytest.mark.parametrize("kind", ["absent", "empty", "binary"])
def test_files_that_cannot_be_read(tmp_path: Path, kind: str) -> None:
    path = {"absent": tmp_path / "x.toml", "empty": tmp_path, "binary": tmp_path / "y.txt"}[kind]
    (tmp_path / "y.txt").write_bytes(b"\xff\xfe\x00")
    told = {
        "absent": (UsageError, "x.toml: cannot be read: No such file or directory"),
        "empty": (ScenarioError, "no scenario files"),
        "binary": (ScenarioError, "cannot be read as text"),
    }
    error, says = told[kind]
    with pytest.raises(error, match=says):
        read([path], CONF)


SHIPPED = sorted((CONF / "scenarios").glob("*.toml"))


def test_the_shipped_scenarios_can_be_read_together() -> None:
    found = read([CONF / "scenarios"], CONF)
    assert len(found) == len(SHIPPED) >= 14
    assert {each.profile for each in found} >= {"exchange_2000", "exchange_2007", "modern"}
    for each in found:
        assert each.end - each.start <= 72 * HOUR, each.file
        assert len(each.stores) <= 6, each.file
        assert any(step.verb == "show" for step in each.steps), each.file
        assert all(step.at <= each.end for step in each.steps), each.file


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_scenario_says_first_what_it_shows(path: Path) -> None:
    comment = path.read_text().split("\n\n", 1)[0]
    assert all(line == "#" or line.startswith("# ") for line in comment.splitlines())
    assert comment.rstrip().endswith((".", ")."))


BEGINS = 'start = 2026-01-05T00:00:00Z\nend = "1h"\n[stores.P]\n[folders."/F"]\n'
POSTS = '[[steps]]\nat = "0m"\npost = { store = "P", folder = "/F", count = 1000000 }\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".".join("a" * 100_000) + " = 1", "f.toml:1: a key of more than 32 parts"),
        ("\n\n[" + ".".join(['"\\""'] * 33) + "]", "f.toml:3: a key of more than 32 parts"),
        ("#" * 2**24 + "\n", "f.toml: more than 16 MiB"),
        (BEGINS + 'holds = "P:1-9223372032559808511"', "found 9,223,372,032,559,808,511 items held and 0 posted"),
        (BEGINS + f'age_limit = "{"x" * 100_000}"', "x…, expected a duration"),
        (BEGINS + f"{'k' * 100_000} = 1", "k… is not known, expected schedule"),
        (BEGINS + POSTS * 2, "found 0 items held and 2,000,000 posted"),
        (BEGINS + 'holds = "P:1"\n' + POSTS, "found 1 items held and 1,000,000 posted"),
        (BEGINS + f'[folders."{"/a" * 33}"]', "found a path of 33 folders, expected at most 32"),
    ],
    ids=lambda each: each[:20],
)
def test_what_would_fill_the_memory_or_take_for_ever_is_refused_at_once(text: str, message: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        parse(text, "f.toml", CONF)
    assert message in str(refusal.value) and len(str(refusal.value)) < 1000


def test_a_folder_that_is_made_does_not_draw_the_tree_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each would draw all that there are: 4,000 had taken a minute, and 40,000 hours."""
    draw, drawn = _Tree._redraw, []
    monkeypatch.setattr(_Tree, "_redraw", lambda tree: (drawn.append(tree), draw(tree)))
    made = "".join(f'[[steps]]\nat = "1m"\ncreate_folder = {{ store = "P", path = "/{nth}" }}\n' for nth in range(4000))
    assert len(parse(BEGINS + made, "f.toml", CONF).steps) == 4000 and len(drawn) == 1  # of what is there at the start


def test_what_is_large_but_possible_is_read() -> None:
    """All that may be posted, a word of many dots, and a tree as deep as may be."""
    deep = "".join(f'[folders."{"/a" * level}"]\n' for level in range(2, 33))
    text = f'name = "{".".join("a" * 31)}"\n{BEGINS}[folders."/a"]\n{deep}{POSTS}'
    assert parse(text, "f.toml", CONF).steps[0].args["count"] == 1_000_000


def test_a_file_is_read_no_further_than_it_may_be_long() -> None:
    with pytest.raises(ScenarioError, match="/dev/zero: more than 16 MiB"):
        read(["/dev/zero"], CONF)
