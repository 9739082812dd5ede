"""The rules of the articles, one after the other, each told by small organizations on the engine.

A chapter is a handful of organizations and what the rules determine of them; all are played together, once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from pfspark import cntext
from pfspark.between import Between
from pfspark.edge.config import conf_folder
from pfspark.printed import Line
from pfspark.sim import invention
from pfspark.sim.scenario import Scenario, read
from tests.sim import oracle
from tests.sim.against import first_difference
from tests.sim.organizations import after, items, listing, messages, organization, post, refused, states
from tests.sim.planted import BUGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Played = dict[str, list[Line]]
Facts = dict[str, dict[str, list[dict[str, Any]]]]

SHIPPED = ("folder_made_while_cut", "restored_store", "status_after_a_day", "store_is_down", "walk_through")
WALK = "PFS1, PFS2 and PFS3, T0 to T6"
MADE_WHILE_CUT = "A folder PFS3 has not heard of"
RESTORED = "A store is restored"
A_DAY_LATER = "A day later the status tells"
IS_DOWN = "A source that is down is asked last"
INVENTED: dict[str, Scenario] = {}
TWO = ["P1", "P2"]
THREE = ["P1", "P2", "P3"]
STATE = "show", ["state"]


def organizations(config: pytest.Config) -> list[Scenario]:
    """What this module wants played."""
    return [*read([conf_folder() / "scenarios" / f"{name}.toml" for name in SHIPPED], conf_folder()), *INVENTED.values()]


def invent(name: str, stores: list[str] | dict[str, Any], steps: list[tuple[str, str, Any]], **more: Any) -> str:
    """An organization to be played; a list of stores is one site, and all of them hold `/F` unless told otherwise."""
    named = stores if isinstance(stores, dict) else dict.fromkeys(stores, "A")
    INVENTED[name] = organization(named, steps, name=name, **{"folders": {"/F": [*stores]}, **more})
    return name


def seen(lines: list[Line], at: str) -> dict[str, dict[str, dict[str, str]]]:
    """The tree as each store sees it at that time: path -> replicas."""
    found: dict[str, dict[str, dict[str, str]]] = defaultdict(dict)
    for line in lines:
        if line["kind"] == "folder" and after(line) == at:
            found[line["store"]][line["path"]] = line["replicas"]
    return dict(found)


def hours(lines: list[Line], first: str, *types: str) -> list[str]:
    """Messages from that one on."""
    said = messages(lines, *types)
    return said[said.index(first) :]


# --- who holds what ---------------------------------------------------------------------------------------------------

PLACES = invent(
    "places",
    THREE,
    [
        ("0m", "create_folder", {"store": "P1", "path": "/N", "replicas": ["P2"]}),
        ("0m", *post("P3")),
        ("15m", *post("P2", "/N")),
        ("30m", "rename_folder", {"store": "P3", "folder": "/F", "name": "G"}),
        ("1h", "show", ["state", "folders"]),
    ],
    folders={"/F": {"replicas": TWO, "holds": "P1:1-2"}},
    end="1h",
)


@pytest.mark.rule("R1", "R3", "R7")
def test_content_lies_where_the_lists_say_and_the_hierarchy_everywhere(played: Played) -> None:
    """P1 makes /N and gets no content of it; P3 holds none and may not post. Each table covers what its store holds."""
    lines = played[PLACES]
    table = {(x["store"], x["folder"]): (x["applied"], {*x["reported"]}) for x in lines if x["kind"] == "state"}
    assert table == {
        ("P1", "1-1"): ("P1:1-2,P3:1", {"P2", "P3"}),
        ("P2", "1-1"): ("P1:1-2,P3:1", {"P1", "P3"}),
        ("P3", "1-1"): ("P1:1-2,P3:1", {"P1", "P2"}),
        ("P1", "/G"): ("P1:1-2", {"P2"}),
        ("P2", "/G"): ("P1:1-2", {"P1"}),
        ("P2", "/N"): ("P2:1", set()),
    }
    assert refused(lines) == [("P3", "edit", 2, "no_replica_here")]


@pytest.mark.rule("R2", "R58")
def test_all_stores_see_the_whole_tree_and_its_lists(played: Played) -> None:
    lines = played[PLACES]
    tree = {"/G": {"P1": "active", "P2": "active"}, "/N": {"P2": "active"}}
    assert seen(lines, "1h") == dict.fromkeys(THREE, tree)
    assert messages(lines, "0x2") == ["0m 0x2 P1>P2,P3 P1:2", "30m 0x2 P3>P1,P2 P3:1"]


APART = invent(
    "apart",
    TWO,
    [
        ("15m", "suspend", True),
        ("15m", *post("P1")),
        ("15m", "rename_folder", {"store": "P1", "folder": "/F", "name": "G"}),
        ("45m", "resume", True),
    ],
    end="2h",
)


@pytest.mark.rule("R4", "R51")
def test_content_and_hierarchy_go_apart(played: Played) -> None:
    """Content is suspended: the hierarchy change of the same cycle goes without it."""
    assert messages(played[APART]) == ["15m 0x2 P1>P2 P1:2", "45m 0x4 P1>P2 P1:1"]


@pytest.mark.rule("R5")
def test_the_hierarchy_is_replicated_as_one_more_folder(played: Played) -> None:
    """A hole in the hierarchy is noted, asked for and filled like any other, under the name 1-1."""
    lines = played[MADE_WHILE_CUT]
    kinds = [x["type"] for x in lines if x["kind"] == "message" and x["folder"] == "1-1" and "PFS3" in (x["from"], *x["to"])]
    assert {"0x2", "0x8", "0x80000002"} <= set(kinds)
    assert not {"0x4", "0x80000004"} & set(kinds)
    holes = {after(x): x["missing"] for x in lines if x["kind"] == "state" and (x["store"], x["folder"]) == ("PFS3", "1-1")}
    assert next(iter(holes.values())) and not [*holes.values()][-1]


@pytest.mark.rule("R6")
def test_state_tables_differ_and_the_hierarchy_becomes_equal(played: Played) -> None:
    cut_off = states(played[WALK], "4h15m", "/Projects")
    told = {store: line["reported"].get("PFS2") for store, line in cut_off.items() if store != "PFS2"}
    assert told["PFS1"] != told["PFS3"]
    lines = played[MADE_WHILE_CUT]
    shown = dict.fromkeys(after(x) for x in lines if x["kind"] == "state")
    sets = [{x["applied"] for x in states(lines, at, "1-1").values()} for at in shown]
    assert len(sets[0]) > 1 and len(sets[-1]) == 1


@pytest.mark.rule("R8")
def test_nobody_believes_more_of_another_than_it_holds(played: Played) -> None:
    """Of every organization played, at every moment shown, in one life."""
    beliefs = 0
    for lines in played.values():
        tables: dict[tuple[str, str], dict[str, Line]] = defaultdict(dict)
        for line in lines:
            if line["kind"] == "state" and line["life"] == 1:
                tables[line["at"], line["folder"]][line["store"]] = line
        for table in tables.values():
            for store, line in table.items():
                for peer in line["reported"].keys() & table.keys():
                    known, held = cntext.parse(line["reported"][peer]), cntext.parse(table[peer]["applied"])
                    assert not cntext.subtract(known, held), (line["org"], line["at"], store, peer)
                    beliefs += bool(known)
    assert beliefs > 50


AGAIN = {
    again: invent(
        f"status again {again}",
        TWO,
        [("0m", "cut", ["P2"]), ("0m", *post("P1")), ("30h", "heal", ["P2"])],
        policy={"status_again": again},
        end="90h",
    )
    for again in ("off", "1h doubling to 1d")
}


@pytest.mark.rule("R9")
def test_a_store_knows_from_its_own_table_how_far_behind_others_are(played: Played) -> None:
    """What PFS3 lacks is what PFS1's table says; and a status is repeated as long as the table says that somebody lags."""
    mine = states(played[WALK], "5h15m", "/Projects")["PFS1"]
    behind = {
        peer: cntext.show(cntext.subtract(cntext.parse(mine["applied"]), cntext.parse(told)))
        for peer, told in mine["reported"].items()
    }
    assert behind == {"PFS2": "PFS1:17", "PFS3": "PFS1:12-17,PFS2:21-28"}
    told = {again: [x.split()[0] for x in messages(played[name], "0x10", sender="P1")] for again, name in AGAIN.items()}
    # P2 hears at 31 h and asks at 37 h; P1 knows of it when P2 says so a day later
    assert told == {"off": ["1d"], "1h doubling to 1d": ["1d", "1d1h", "1d3h", "1d7h", "1d15h", "2d7h"]}


# --- what makes an update ---------------------------------------------------------------------------------------------

FOLDER_EDITS: list[tuple[str, dict[str, Any]]] = [
    ("create_folder", {"path": "/N", "replicas": ["P1"]}),
    ("rename_folder", {"folder": "/N", "name": "M"}),
    ("add_replica", {"folder": "/M", "replica": "P2"}),
    ("move_folder", {"folder": "/M", "to": "/F"}),
    ("set_folder", {"folder": "/F/M", "permissions": "everybody"}),
    ("set_folder", {"folder": "/F/M", "description": "what it is for"}),
    ("set_folder", {"folder": "/F/M", "note": "ask Ann"}),
    ("set_folder", {"folder": "/F/M", "size_limit": "1MB"}),
    ("set_folder", {"folder": "/F/M", "age_limit": "90d"}),
    ("delete_folder", {"folder": "/F/M"}),
]
UPDATES = invent(
    "updates",
    THREE,
    [
        *((f"{15 * nth}m", verb, {"store": "P1", **args}) for nth, (verb, args) in enumerate(FOLDER_EDITS)),
        *((at, "show", ["folders"]) for at in ("15m", "30m", "45m", "1h", "2h15m", "2h30m")),
    ],
    folders={"/F": ["P1"]},
    end="150m",
)


@pytest.mark.rule("R11", "R12", "R13", "R14", "R15", "R16", "R17", "R18", "R19", "R40")
def test_every_change_of_a_folder_is_a_hierarchy_update(played: Played) -> None:
    lines = played[UPDATES]
    moments = ["0m", "15m", "30m", "45m", "1h", "1h15m", "1h30m", "1h45m", "2h", "2h15m"]
    assert messages(lines, "0x2") == [f"{at} 0x2 P1>P2,P3 P1:{cn}" for cn, at in enumerate(moments, 2)]
    assert messages(lines, "0x4") == []


@pytest.mark.rule("R11", "R12", "R13", "R14", "R15")
def test_what_was_changed_of_a_folder_is_seen_elsewhere(played: Played) -> None:
    """At P3, which holds none of it."""
    trees = {at: seen(played[UPDATES], at)["P3"] for at in ("15m", "30m", "45m", "1h", "2h15m", "2h30m")}
    one, two = {"P1": "active"}, {"P1": "active", "P2": "active"}
    top = {"/F": one}
    assert trees == {
        "15m": {**top, "/N": one},
        "30m": {**top, "/M": one},
        "45m": {**top, "/M": two},
        "1h": {**top, "/F/M": two},
        "2h15m": {**top, "/F/M": two},
        "2h30m": top,
    }


@pytest.mark.rule("R20", "R21")
def test_what_changes_in_the_directory_alone_is_no_update(spark: SparkSession) -> None:
    """Values of the directory, as addresses are: every one of every store is another; then one of a folder is."""
    edit = "set_folder", {"store": "P1", "folder": "/F", "description": "x"}
    scenario = organization(dict.fromkeys(TWO, "A"), [("15m", *edit)], folders={"/F": TWO})
    world = Between(spark, invention.begin(scenario))
    other = {"site": "B", "version": "2010", "preferred": True, "interval_s": 60, "size_limit": 1000, "schedule": ""}
    world.replace("stores", [{**row, **other} for row in world.tables["stores"].to_pylist()])

    def sent(now: datetime) -> list[str]:
        made = world.play({scenario.name: invention.turn(scenario, now, suspended=False)})
        return [f"{x['type']} {x['store']}" for x in made["messages"].to_pylist()]

    assert sent(scenario.start) == []
    world.append("edits", list(invention.edits(scenario, scenario.steps)))
    assert sent(scenario.steps[0].at) == ["0x2 P1"]


CONTENT = invent(
    "content",
    THREE,
    [
        ("0m", *post("P1", item="one")),
        ("15m", "modify", {"store": "P1", "folder": "/F", "item": "one"}),
        ("30m", "delete", {"store": "P1", "folder": "/F", "item": "one"}),
        ("45m", "down", ["P2"]),
        ("1h", "up", ["P2"]),
        ("1h", "suspend", True),
        ("1h15m", "resume", True),
    ],
    folders={"/F": TWO},
    end="2h",
)


@pytest.mark.rule("R22", "R24", "R58", "R66")
def test_every_change_of_an_item_is_a_content_update(played: Played) -> None:
    """It goes to the holders and to nobody else, and is none of the hierarchy."""
    assert messages(played[CONTENT]) == ["0m 0x4 P1>P2 P1:1", "15m 0x4 P1>P2 P1:2", "30m 0x4 P1>P2 P1:3"]


PREVIOUS = invent(
    "previous versions",
    TWO,
    [
        ("0m", "cut", ["P2"]),
        ("0m", "create_folder", {"store": "P1", "path": "/F/N", "replicas": TWO, "note": "x"}),
        ("0m", *post("P1", item="one")),
        ("30m", "heal", ["P2"]),
        ("30m", "rename_folder", {"store": "P1", "folder": "/F/N", "name": "M"}),
        ("30m", "modify", {"store": "P1", "folder": "/F", "item": "one", "size": 5000}),
        ("45m", "show", ["state", "folders", "items"]),
    ],
    end="45m",
)


@pytest.mark.rule("R26", "R27", "R28", "R29")
def test_an_update_is_whole_and_needs_no_previous_version(played: Played) -> None:
    """P2 never got the folder's creation nor the item's post; the rename and the modification bring all of both."""
    lines = played[PREVIOUS]
    tree, content = (states(lines, folder=folder)["P2"] for folder in ("1-1", "/F"))
    assert (tree["applied"], tree["missing"]) == ("P1:1:3", "P1:2")
    assert (content["applied"], content["missing"]) == ("P1:2", "P1:1")
    assert seen(lines, "45m")["P2"]["/F/M"] == {"P1": "active", "P2": "active"}
    assert items(lines)["P2", "one"] == ("P1:2", False, False, [])
    sent = {x["type"]: x["bytes"] for x in lines if x["kind"] == "message" and after(x) == "30m"}
    everything = '{"name":"M","note":"x","parent":"P1:1","replica:P1":"listed","replica:P2":"listed"}'
    assert (sent["0x2"], sent["0x4"]) == (len(everything), 5000)


# --- change numbers ---------------------------------------------------------------------------------------------------

NUMBERS = invent(
    "numbers",
    TWO,
    [
        ("0m", *post("P1", count=2)),
        ("0m", *post("P1", "/G")),
        ("0m", *post("P2")),
        ("15m", *post("P1")),
        ("30m", "rename_folder", {"store": "P1", "folder": "/G", "name": "H"}),
        ("45m", *STATE),
    ],
    folders={"/F": TWO, "/G": TWO},
    end="1h",
)


@pytest.mark.rule("R30", "R31", "R32", "R33", "R37", "R40", "R74")
def test_a_change_is_named_by_folder_store_and_number(played: Played) -> None:
    """One number in two folders, at two stores and of the hierarchy: four changes, each kept where it belongs."""
    lines = played[NUMBERS]
    assert [(x["folder"], x["from"], x["carries"]) for x in lines if x["kind"] == "message"] == [
        ("/F", "P1", "P1:1-2"),
        ("/G", "P1", "P1:1"),
        ("/F", "P2", "P2:1"),
        ("/F", "P1", "P1:3"),
        ("1-1", "P1", "P1:3"),
    ]
    held = {(x["store"], x["folder"]): x["applied"] for x in lines if x["kind"] == "state"}
    assert held == {
        (store, folder): numbers
        for store in TWO
        for folder, numbers in {"1-1": "P1:1-3", "/F": "P1:1-3,P2:1", "/H": "P1:1"}.items()
    }


@pytest.mark.rule("R31", "R32")
def test_numbers_rise_by_one_and_none_is_given_twice(facts: Facts) -> None:
    """Of every organization played by the right rules; a restored store begins a new life and its label tells it."""
    by_wrong_rules = tuple(f"{bug.name}: " for bug in BUGS)
    given: dict[tuple[str, str, str], list[tuple[Any, int]]] = defaultdict(list)
    for org, changes in facts["changes"].items():
        for row in changes if not org.startswith(by_wrong_rules) else ():
            given[org, row["folder"], row["origin"]].append((row["at"], row["cn"]))
    assert len(given) > 50
    for numbered in given.values():
        assert all(later - earlier == 1 for (_, earlier), (_, later) in pairwise(sorted(numbered)))
    assert {origin for org, _, origin in given if org == RESTORED} == {"PFS1", "PFS2", "PFS2~2"}


LATE = invent(
    "late",
    {"P1": "A", "P2": "B", "P3": "C"},
    [
        ("0m", *post("P1", item="one")),
        ("15m", *post("P2")),
        ("30m", *STATE),
        ("2h15m", "show", ["state", "items"]),
        ("3h", "show", ["state", "items"]),
    ],
    links=[{"from": "A", "to": "C", "delay": "3h"}],
    policy={"relay_status": False, "backfill_timeouts_remote": ["1h", "2h", "4h"]},
    end="4h",
)


@pytest.mark.rule("R34", "R35", "R77")
def test_a_second_delivery_is_thrown_away_but_for_its_status(played: Played, facts: Facts) -> None:
    """P3 gets P1's change from P2; what P1 itself had sent comes later, brings nothing, and tells what P1 holds."""
    lines = played[LATE]
    assert messages(lines, "0x8", "0x80000004") == ["1h30m 0x8 P3>P2 P1:1", "1h45m 0x80000004 P2>P3 P1:1"]
    before, then = (states(lines, at)["P3"] for at in ("2h15m", "3h"))
    assert before["applied"] == then["applied"] == "P1:1,P2:1"
    assert [x["version"] for x in lines if x["kind"] == "item" and x["store"] == "P3" and x["name"] == "one"] == ["P1:1"] * 2
    assert (before["reported"]["P1"], then["reported"]["P1"]) == ("", "P1:1")
    outcomes = [x["outcome"] for x in facts["receipts"][LATE] if x["store"] == "P3" and (x["sender"], x["type"]) == ("P1", "0x4")]
    assert outcomes == ["nothing_new"]


@pytest.mark.rule("R36", "R76", "R88", "R144")
def test_a_number_tells_that_it_is_new_and_what_is_missing(played: Played) -> None:
    """17 after 11: taken in, and what was overslept is noted."""
    here = states(played[WALK], "5h15m", "/Projects")["PFS3"]
    assert here["applied"] == "PFS1:1-11:17,PFS2:1-20,PFS3:1-31"
    assert here["missing"] == "PFS1:12-16,PFS2:21-28"
    assert states(played[WALK], "4h15m", "/Projects")["PFS3"]["missing"] == ""


COPY = invent(
    "a copy under the old name",
    {"P1": "A", "P2": "B"},
    [
        ("0m", *post("P2")),  # there at 1h
        ("15m", "rename_folder", {"store": "P1", "folder": "/F", "name": "Old"}),
        ("1h15m", *post("P1", "/Old")),
        ("2h", "create_folder", {"store": "P1", "path": "/F", "replicas": TWO}),
        ("2h", *post("P1", count=3)),
        ("2h30m", *STATE),
        ("3h", *post("P2", "/Old")),  # there at 4h
        ("3h15m", "delete_folder", {"store": "P1", "folder": "/Old"}),
        ("4h", *post("P2")),
        ("5h", *STATE),
    ],
    links=[{"from": "B", "to": "A", "delay": "1h"}],
    folders={"/F": {"replicas": TWO, "holds": "P1:1-3"}},
    end="5h",
)


@pytest.mark.rule("R41", "R141")
def test_numbers_belong_to_the_folder_and_not_to_its_name(played: Played) -> None:
    """Renamed, a folder goes on with its numbers, also with those under way; another one of its old name has its own."""
    lines = played[COPY]
    for store in TWO:
        assert states(lines, "2h30m", "/Old")[store]["applied"] == "P1:1-4,P2:1"
        assert states(lines, "2h30m")[store]["applied"] == "P1:1-3"


@pytest.mark.rule("R140", "R141", "R149")
def test_a_copy_serves_under_the_old_name_and_late_mail_of_the_deleted_one_does_not_touch_it(played: Played) -> None:
    lines = played[COPY]
    assert refused(lines) == [("P1", "message", None, "folder_deleted")]
    last = {(x["store"], x["folder"]): x["applied"] for x in lines if x["kind"] == "state" and after(x) == "5h"}
    assert last.keys() == {(store, folder) for store in TWO for folder in ("1-1", "/F")}
    assert {last[store, "/F"] for store in TWO} == {"P1:1-3,P2:1"}


# --- the sending cycle ------------------------------------------------------------------------------------------------

CYCLE = invent(
    "cycle",
    {"P1": {"site": "A", "interval": "1h"}, "P2": "A", "P3": "A"},
    [
        ("5m", *post("P1")),
        ("15m", *STATE),
        ("20m", *post("P1", "/G")),
        ("20m", *post("P1", "/H")),
        ("20m", *post("P1")),
        ("30m", *listing("add", "P1", "P3")),
        ("1h10m", *post("P1")),
        ("2h10m", *listing("remove", "P1", "P2")),
        ("2h10m", *post("P1")),
    ],
    folders={"/F": TWO, "/G": ["P1"], "/H": ["P1", "P3"]},
    end="3h",
)


@pytest.mark.rule("R42", "R47")
def test_a_change_is_numbered_and_kept_before_it_is_sent(played: Played) -> None:
    here = states(played[CYCLE], "15m")
    assert (here["P1"]["applied"], here["P1"]["sent"], here["P2"]["applied"]) == ("P1:1", "", "")
    assert messages(played[CYCLE], "0x4", folder="/F")[0].startswith("1h ")


@pytest.mark.rule("R43", "R44", "R45", "R46", "R57", "R79", "R147")
def test_what_waits_goes_at_the_cycle_to_the_list_of_that_moment(played: Played) -> None:
    """All together; what went before does not go again; nothing goes of a folder without another replica."""
    sent = [x for x in played[CYCLE] if x["kind"] == "message" and x["type"] in ("0x2", "0x4") and x["from"] == "P1"]
    assert [(after(x), x["folder"], x["to"], x["carries"]) for x in sent] == [
        ("1h", "1-1", ["P2", "P3"], "P1:4"),
        ("1h", "/F", ["P2", "P3"], "P1:1-2"),
        ("1h", "/H", ["P3"], "P1:1"),
        ("2h", "/F", ["P2", "P3"], "P1:3"),
        ("3h", "1-1", ["P2", "P3"], "P1:5"),
        ("3h", "/F", ["P3"], "P1:4"),
    ]


SIX = invent(
    "six",
    {f"P{place}": f"S{place}" for place in range(1, 7)},
    [("0m", *post("P1")), ("15m", *STATE), ("1h", *STATE)],
    links=[{"from": "S1", "to": "S3", "delay": "1h"}],
    end="1h",
)


@pytest.mark.rule("R55", "R56", "R59")
def test_one_message_for_five_recipients_is_routed_to_each(played: Played) -> None:
    lines = played[SIX]
    assert messages(lines) == ["0m 0x4 P1>P2,P3,P4,P5,P6 P1:1"]
    late, there = ({store for store, x in states(lines, at).items() if not x["applied"]} for at in ("15m", "1h"))
    assert (late, there) == ({"P3"}, set())


TELLING = ("updates", MADE_WHILE_CUT, RESTORED, "each lacks something", "a leaver with content", "cut, then told")


@pytest.mark.rule("R48", "R69", "R106")
def test_every_message_tells_what_its_sender_holds(facts: Facts) -> None:
    """Its status about its sender is what the sender has taken in, received or made by then; here all goes at once."""
    told = Counter[str]()
    for org in TELLING:
        for message in facts["messages"][org]:
            status = [x for x in message["status"] if x["about"] == message["sender"] and x["entry"] == "reported"]
            reported = {(x["origin"], cn) for x in status for cn in range(x["cn_min"], x["cn_max"] + 1)}
            made = {(message["sender"], x["cn"]) for x in own_changes(facts, org, message)}
            assert made <= reported, (org, message["message_id"])
            assert {(x["origin"], cn) for x in message["carries"] for cn in range(x["cn_min"], x["cn_max"] + 1)} <= reported
            told[message["type"]] += bool(reported)
    assert told.keys() == {"0x2", "0x4", "0x8", "0x10", "0x20", "0x80000002", "0x80000004"}
    assert min(told.values()) > 0


def own_changes(facts: Facts, org: str, message: dict[str, Any]) -> list[dict[str, Any]]:
    """What the sender of a message had made of that folder by then, in its current life."""
    return [
        x
        for x in facts["changes"][org]
        if (x["folder"], x["origin"]) == (message["folder"], message["sender"]) and x["at"] <= message["at"]
    ]


# --- types of messages ------------------------------------------------------------------------------------------------


@pytest.mark.rule("R65", "R66", "R67", "R68", "R69", "R70")
def test_what_each_type_is_about_and_carries(played: Played) -> None:
    """Over all organizations of this module: hierarchy or content, what it carries, and what it asks for."""
    about = defaultdict(set)
    for org in [MADE_WHILE_CUT, RESTORED, A_DAY_LATER, IS_DOWN, WALK, *INVENTED]:
        for x in played[org]:
            if x["kind"] == "message":
                about[x["type"]].add((x["folder"] == "1-1", bool(x["carries"]), bool(x["asks"])))
    assert about == {
        "0x2": {(True, True, False)},
        "0x4": {(False, True, False)},
        "0x8": {(True, False, True), (False, False, True)},
        "0x80000002": {(True, True, False)},
        "0x80000004": {(False, True, False)},
        "0x10": {(True, False, False), (False, False, False)},
        "0x20": {(True, False, False), (False, False, False)},
    }


@pytest.mark.rule("R67", "R68", "R71")
def test_requests_and_responses_of_both_kinds(played: Played) -> None:
    """Responses go to the asker alone with what was asked; the other types speak about content and hierarchy alike."""
    answered = {"0x80000002": 0, "0x80000004": 0}
    for org in (MADE_WHILE_CUT, RESTORED, A_DAY_LATER, WALK):
        asked = [x for x in played[org] if x.get("type") == "0x8"]
        for x in (x for x in played[org] if x.get("type") in answered):
            answered[x["type"]] += 1
            assert [x["carries"]] == [y["asks"] for y in asked if [y["from"]] == x["to"] and y["folder"] == x["folder"]][-1:]
    assert min(answered.values()) > 0
    kinds = {(x["type"], x["folder"] == "1-1") for lines in played.values() for x in lines if x["kind"] == "message"}
    assert kinds >= {(kind, hierarchy) for kind in ("0x8", "0x10", "0x20") for hierarchy in (True, False)}


# --- receiving, and the state table -----------------------------------------------------------------------------------

PROJECTS = invent(
    "projects",
    ["A", "B"],
    [("0m", *post("A")), ("30m", *post("B")), ("25h", *STATE)],
    folders={"/F": {"replicas": ["A", "B"], "holds": "A:1-99,B:1-49"}},
    end="40h",
)


@pytest.mark.rule("R72", "R75", "R80", "R81", "R82")
def test_the_projects_example(played: Played) -> None:
    """Both have issued, sent and received; each knows its own last sent and what the other has applied."""
    table = states(played[PROJECTS])
    assert {store: (x["sent"], x["reported"]) for store, x in table.items()} == {
        "A": ("A:1-100", {"B": "A:1-100,B:1-50"}),
        "B": ("B:1-50", {"A": "A:1-100,B:1-50"}),
    }


RESURRECTED = invent(
    "deleted before the restore",
    TWO,
    [
        ("1h", "delete_folder", {"store": "P1", "folder": "/G"}),
        ("2h", "show", ["folders"]),
        ("2h15m", "restore", {"store": "P2", "to": "30m"}),
        ("2h15m", "show", ["folders"]),
        ("12h", "show", ["folders"]),
    ],
    folders={"/F": {"replicas": TWO, "holds": "P1:1"}, "/G": TWO},
    end="12h",
)


@pytest.mark.rule("R84", "R132")
def test_an_old_store_does_not_bring_deleted_folders_back(played: Played) -> None:
    """Restored, P2 sees the folder again, asks for status of the hierarchy and of what it holds, and learns better."""
    lines = played[RESURRECTED]
    trees = {at: {store: [*tree] for store, tree in seen(lines, at).items()} for at in ("2h", "2h15m", "12h")}
    assert trees == {
        "2h": {"P1": ["/F"], "P2": ["/F"]},
        "2h15m": {"P1": ["/F"], "P2": ["/F", "/G"]},
        "12h": {"P1": ["/F"], "P2": ["/F"]},
    }
    asked = {x["folder"] for x in lines if x.get("type") == "0x20" and after(x) == "2h15m"}
    assert asked == {"1-1", "/F", "/G"}


# --- backfill: when ---------------------------------------------------------------------------------------------------

EACH = invent(
    "each lacks something",
    TWO,
    [
        ("0m", "cut", TWO),
        ("0m", *post("P1")),
        ("0m", *post("P2")),
        ("0m", "rename_folder", {"store": "P1", "folder": "/F", "name": "G"}),
        ("30m", "heal", TWO),
        ("30m", *post("P1", "/G")),
        ("30m", "rename_folder", {"store": "P1", "folder": "/G", "name": "H"}),
        ("45m", *STATE),
        ("7h", *STATE),
    ],
    end="14h",
)
LEAVER = invent(
    "a leaver with content",
    TWO,
    [
        ("0m", "cut", ["P1"]),
        ("0m", *post("P1")),
        ("1h", "heal", ["P1"]),
        ("1h", *listing("remove", "P1", "P1")),
        ("1h15m", *STATE),
    ],
    end="2h",
)


@pytest.mark.rule("R76", "R85", "R106")
@pytest.mark.parametrize(
    ("type", "org", "at", "store", "folder", "missing"),
    [
        ("0x2", EACH, "45m", "P2", "1-1", "P1:2"),
        ("0x4", EACH, "45m", "P2", "/H", "P1:1"),
        ("0x8", EACH, "7h", "P1", "/H", "P2:1"),
        ("0x10", A_DAY_LATER, "1d30m", "PFS2", "/Sales", "PFS1:1"),
        ("0x20", LEAVER, "1h15m", "P2", "/F", "P1:1"),
    ],
)
def test_a_status_in_any_message_shows_what_is_missing(
    played: Played, type: str, org: str, at: str, store: str, folder: str, missing: str
) -> None:
    """The last message that came of that folder is of that type, and the hole is noted."""
    last = [x for x in played[org] if x["kind"] == "message" and store in x["to"] and x["folder"] == folder]
    assert [x["type"] for x in last if x["at"] < states(played[org], at, folder)[store]["at"]][-1] == type
    assert states(played[org], at, folder)[store]["missing"] == missing


PLACED = invent(
    "placed by another",
    TWO,
    [("0m", *listing("add", "P1", "P2")), ("45m", *STATE), ("7h15m", *STATE)],
    folders={"/F": {"replicas": ["P1"], "holds": "P1:1-4"}},
    end="8h",
)


@pytest.mark.rule("R87", "R130", "R135")
def test_a_replica_placed_here_asks_notes_and_fills_itself(played: Played) -> None:
    lines = played[PLACED]
    assert messages(lines) == [
        "0m 0x2 P1>P2 P1:2",
        "15m 0x20 P2>P1",
        "30m 0x10 P1>P2",
        "6h45m 0x8 P2>P1 P1:1-4",
        "7h 0x80000004 P1>P2 P1:1-4",
    ]
    assert [(x["reported"], x["missing"]) for x in [states(lines, "45m")["P2"]]] == [({"P1": "P1:1-4"}, "P1:1-4")]
    assert (states(lines, "7h15m")["P2"]["applied"], states(lines, "7h15m")["P2"]["missing"]) == ("P1:1-4", "")


UNION = invent(
    "nobody has all",
    THREE,
    [
        ("0m", "cut", THREE),
        ("0m", *post("P1", count=2)),
        ("0m", *post("P2", count=3)),
        ("30m", "heal", THREE),
        ("30m", *post("P1")),
        ("30m", *post("P2")),
        ("45m", *STATE),
        ("7h30m", *STATE),
    ],
    policy={"relay_status": False},
    end="8h",
)


@pytest.mark.rule("R88", "R89", "R94", "R104", "R118", "R151")
def test_what_is_missing_is_the_union_of_reports_and_is_asked_of_several(played: Played) -> None:
    """P1 and P2 each have something that the other lacks; P3 lacks both, and one lapse of the time-out asks both."""
    lines = played[UNION]
    assert {store: x["missing"] for store, x in states(lines, "45m").items()} == {
        "P1": "P2:1-3", "P2": "P1:1-2", "P3": "P1:1-2,P2:1-3"
    }  # fmt: skip
    assert messages(lines, "0x8", sender="P3") == ["6h45m 0x8 P3>P1 P1:1-2", "6h45m 0x8 P3>P2 P2:1-3"]
    assert {x["missing"] for x in states(lines, "7h30m").values()} == {""}
    assert lines[-1]["converged"]


MORE = invent(
    "cut, then told",
    TWO,
    [
        ("0m", "cut", ["P2"]),
        ("0m", *post("P1")),
        ("30m", "heal", ["P2"]),
        ("30m", *post("P2")),
        ("45m", *STATE),
        ("25h", *STATE),
        ("60h", *STATE),
    ],
    end="60h",
)


@pytest.mark.rule("R89", "R138")
def test_who_has_more_or_as_much_asks_for_nothing(played: Played) -> None:
    """P2's message shows less than P1 has: P1 notes nothing. A day later P1's status shows more, and P2 alone asks."""
    lines = played[MORE]
    assert (states(lines, "45m")["P1"]["reported"], states(lines, "45m")["P1"]["missing"]) == ({"P2": "P2:1"}, "")
    assert {store: x["missing"] for store, x in states(lines, "1d1h").items()} == {"P1": "", "P2": "P1:1"}
    assert [x.split()[2:] for x in messages(lines, "0x8")] == [["P2>P1", "P1:1"]]
    equal = messages(lines, "0x10")
    assert equal[-1].endswith("P2>P1") and messages(lines)[-1] == equal[-1]  # both hold the same, and say so, and that is all
    assert {x["missing"] for x in states(lines, "2d12h").values()} == {""}


STRUCK = invent(
    "struck from the array",
    {"P1": "A", "P2": "B", "P3": "C"},
    [("0m", *post("P1")), ("15m", *post("P2")), ("30m", *STATE), ("3h", *STATE)],
    links=[{"from": "A", "to": "C", "delay": "3h"}],
    end="20h",
)


@pytest.mark.rule("R90", "R93")
def test_what_comes_while_it_is_waited_for_is_struck(played: Played) -> None:
    lines = played[STRUCK]
    assert [states(lines, at)["P3"]["missing"] for at in ("30m", "3h")] == ["P1:1", ""]
    assert messages(lines, "0x8") == []


# --- backfill: from whom ----------------------------------------------------------------------------------------------


@pytest.mark.rule("R98", "R105")
def test_who_does_not_answer_is_asked_last(played: Played) -> None:
    """PFS1 comes first by name; silent until the retry, it goes to the end, and PFS3 is asked."""
    assert messages(played[IS_DOWN], "0x8", "0x80000004")[:3] == [
        "7h15m 0x8 PFS2>PFS1 PFS1:1-3",
        "19h15m 0x8 PFS2>PFS3 PFS1:1-3",
        "19h30m 0x80000004 PFS3>PFS2 PFS1:1-3",
    ]


OLD_AND_NEW = {
    profile: invent(
        f"near and old, far and new, {profile}",
        {"FAR": {"site": "B", "version": "2000"}, "NEAR": {"site": "A", "version": "5.5"}, "NEW": "A"},
        [("0m", *listing("add", "NEW", "NEW"))],
        folders={"/F": {"replicas": ["FAR", "NEAR"], "holds": "FAR:1-4"}},
        links=[{"sites": ["A", "B"], "cost": 4}],
        profile=profile,
        end="8h",
    )
    for profile in ("exchange_2000", "exchange_2007")
}


@pytest.mark.rule("R114", "R119", "R129")
def test_a_far_new_store_against_a_near_old_one(played: Played) -> None:
    """Both have everything and answer with status: Exchange 2000 leaves the site for the newer one, 2007 stays."""
    for profile, source in (("exchange_2000", "FAR"), ("exchange_2007", "NEAR")):
        lines = played[OLD_AND_NEW[profile]]
        assert {x.split()[2] for x in messages(lines, "0x10", folder="/F")} == {"FAR>NEW", "NEAR>NEW"}
        assert messages(lines, "0x8", "0x80000004") == [
            f"6h30m 0x8 NEW>{source} FAR:1-4",
            f"6h45m 0x80000004 {source}>NEW FAR:1-4",
        ]


# --- status requests and status ---------------------------------------------------------------------------------------

FIVE = invent(
    "five holders",
    {"P5": "E", "P4": "A", "P3": "B", "P2": "C", "NEW": "A"},
    [("0m", *listing("add", "NEW", "NEW"))],
    folders={"/F": {"replicas": ["P5", "P4", "P3", "P2"], "holds": "P5:1-4"}},
    links=[{"from": "A", "to": site, "cost": cost} for site, cost in (("B", 2), ("C", 3), ("E", 4))],
    profile="exchange_2000",
    end="1h",
)
QUEUE = invent(
    "the queue of the own site",
    ["P1", "P2", "P3", "P4", "P5", "NEW"],
    [("0m", *listing("add", "NEW", "NEW")), ("15m", *listing("add", "NEW", "NEW", "/G"))],
    folders={path: {"replicas": ["P1", "P2", "P3", "P4", "P5"], "holds": "P1:1"} for path in ("/F", "/G")},
    profile="exchange_2000",
    end="1h",
)
ALL = invent(
    "everybody must answer",
    ["P1", "P2", "P3", "P4", "P5", "NEW"],
    [("0m", "down", ["P5"]), ("0m", *post("P1")), ("1h", "up", ["P5"]), ("1h", *listing("add", "NEW", "NEW"))],
    folders={"/F": ["P1", "P2", "P3", "P4", "P5"]},
    end="2h",
)


@pytest.mark.rule("R120", "R121", "R122", "R123", "R128", "R129")
def test_exchange_2000_names_who_must_answer(played: Played, facts: Facts) -> None:
    """One of the own site, then by cost; the oldest copy, here P2's by name, is on the list already. P5 stays silent."""
    (request,) = (x for x in facts["messages"][FIVE] if x["type"] == "0x20")
    assert [to["store"] for to in request["recipients"]] == ["P2", "P3", "P4", "P5"]
    assert sorted(request["responders"]) == ["P2", "P3", "P4"]
    assert [x.split()[2] for x in messages(played[FIVE], "0x10")] == ["P2>NEW", "P3>NEW", "P4>NEW"]


@pytest.mark.rule("R122", "R128")
def test_who_was_named_goes_to_the_back_of_the_queue(played: Played) -> None:
    """P1 is named again, for its copy is the oldest."""
    answers = {path: [x.split()[2][:2] for x in messages(played[QUEUE], "0x10", folder=path)] for path in ("/F", "/G")}
    assert answers == {"/F": ["P1", "P2", "P3"], "/G": ["P1", "P4", "P5"]}


@pytest.mark.rule("R130", "R135")
def test_on_a_changed_list_every_holder_must_answer_if_it_has_more(played: Played, facts: Facts) -> None:
    """P5 was down and holds nothing: it is named like the others, and has nothing to say."""
    (request,) = (x for x in facts["messages"][ALL] if x["type"] == "0x20")
    assert sorted(request["responders"]) == ["P1", "P2", "P3", "P4", "P5"]
    assert messages(played[ALL], "0x10", folder="/F") == [f"1h15m 0x10 {store}>NEW" for store in ("P1", "P2", "P3", "P4")]


RESTORE = invent(
    "restored among many",
    ["P1", "P2", "P3", "P4", "P5"],
    [("1h", *post("P2")), ("2h", "restore", {"store": "P1", "to": "0m"})],
    folders={"/F": {"replicas": ["P1", "P2", "P3", "P4", "P5"], "holds": "P1:1"}},
    end="3h",
)


@pytest.mark.rule("R132", "R135")
def test_a_restored_store_asks_of_everything_it_holds(played: Played, facts: Facts) -> None:
    """Three must answer, and do where they hold more: of the hierarchy nobody does."""
    asked = {x["folder"]: sorted(x["responders"]) for x in facts["messages"][RESTORE] if x["type"] == "0x20"}
    assert asked == {"1-1": ["P2", "P3", "P4"], "P1:1": ["P2", "P3", "P4"]}
    assert [(x["folder"], x["from"], x["to"]) for x in played[RESTORE] if x.get("type") == "0x10"] == [
        ("/F", store, ["P1"]) for store in ("P2", "P3", "P4")
    ]


STARTED = {
    switch: invent(
        f"started with {switch}",
        ["P1", "P2", "P3", "P4", "P5"],
        [
            ("0m", "cut", ["P1"]),
            ("0m", *post("P2")),
            ("30m", "heal", ["P1"]),
            ("30m", *post("P2")),
            ("1h", "down", ["P1"]),
            ("2h", "up", ["P1"]),
        ],
        folders={path: ["P1", "P2", "P3", "P4", "P5"] for path in ("/F", "/G")},
        profile="exchange_2003",
        policy={"startup_status": switch},
        end="3h",
    )
    for switch in ("off", "seeming_gaps", "all")
}


@pytest.mark.rule("R133", "R134")
@pytest.mark.parametrize(
    ("switch", "folders"), [("off", []), ("seeming_gaps", ["1-1", "P2:1"]), ("all", ["1-1", "P2:1", "P2:2"])]
)
def test_a_started_store_asks_as_its_switches_say(facts: Facts, switch: str, folders: list[str]) -> None:
    """P1 lacks something of /F and nothing of /G; three of four must answer."""
    asked = {x["folder"]: x["responders"] for x in facts["messages"][STARTED[switch]] if x["type"] == "0x20"}
    assert sorted(asked) == [folder.replace("P2", "P1") for folder in folders]
    assert {len(responders) for responders in asked.values()} <= {3}


QUIET = invent(
    "quiet",
    THREE,
    [("0m", *post("P1")), ("23h", *post("P2"))],
    end="60h",
)


@pytest.mark.rule("R136")
def test_a_day_after_the_last_change_all_holders_are_told(played: Played) -> None:
    """Made or received, each further change restarts the day."""
    assert messages(played[QUIET], "0x10") == [
        "1d23h 0x10 P2>P1,P3",
        "1d23h15m 0x10 P1>P2,P3",
        "1d23h15m 0x10 P3>P1,P2",
    ]


ANEW = invent("a change when the day is over", TWO, [("0m", *post("P1")), ("1d", *post("P1"))], end="1d12h")


@pytest.mark.rule("R136")
def test_a_change_in_the_round_in_which_the_day_is_over_begins_another(played: Played) -> None:
    """At P1, which makes it, and a round later at P2, which receives it."""
    assert messages(played[ANEW], "0x4") == ["0m 0x4 P1>P2 P1:1", "1d 0x4 P1>P2 P1:2"]
    assert messages(played[ANEW], "0x10") == []


TELLS_AND_GOES = invent(
    "a leaver tells before it goes",
    TWO,
    [("15m", *post("P1")), ("45m", *listing("remove", "P1", "P2")), ("1h45m", *STATE)],
    policy={"status_after": "1h"},
    end="2h",
)


@pytest.mark.rule("R136")
def test_a_leaver_whose_status_is_due_when_its_proof_comes_tells_it_once_more(played: Played) -> None:
    """Status is told before replicas are let go."""
    assert states(played[TELLS_AND_GOES])["P2"]["standing"] == "delete now"
    assert messages(played[TELLS_AND_GOES], "0x10", sender="P2", folder="/F") == ["1h30m 0x10 P2>P1"]


ASKED_FOR_WHAT_IS_HIDDEN = invent(
    "asked for what it does not show",
    {"P1": "A", "P2": {"site": "A", "schedule": "Mon.02:00-Mon.02:15"}},
    [
        ("15m", *post("P2")),
        ("2h15m", *listing("add", "P1", "P1")),
        ("4h", "restore", {"store": "P2", "to": "1h"}),
        ("10h", *STATE),
    ],
    folders={"/F": ["P2"]},
    end="10h",
)


@pytest.mark.rule("R129")
def test_a_restored_store_gives_what_it_showed_before(played: Played) -> None:
    """P2 has the number not sent yet, as it was at 1h, and shows it to nobody; P1 has heard of it, and asks."""
    lines = played[ASKED_FOR_WHAT_IS_HIDDEN]
    assert messages(lines, "0x8", "0x80000004", folder="/F") == ["8h45m 0x8 P1>P2 P2:1", "9h 0x80000004 P2>P1 P2:1"]
    assert {store: line["applied"] for store, line in states(lines).items()} == {"P1": "P2:1", "P2": "P2:1"}


OWN_TREES = invent(
    "each its own tree",
    THREE,
    [
        ("0m", "cut", ["P2"]),
        ("0m", "rename_folder", {"store": "P1", "folder": "/F", "name": "G"}),
        ("1h", "heal", ["P2"]),
        ("1h", "restore", {"store": "P3", "to": "0m"}),
        ("1h30m", *STATE),
    ],
    policy={"answer_when": "always"},
    end="90m",
)


@pytest.mark.rule("R150")
def test_each_answers_with_the_hierarchy_as_it_knows_it(played: Played) -> None:
    assert states(played[OWN_TREES], folder="1-1")["P3"]["reported"] == {"P1": "P1:1-2", "P2": "P1:1"}


# --- deleting, removing, moving ---------------------------------------------------------------------------------------


def unique_content(name: str, verb: str, **args: str) -> str:
    """P1 has a post that nobody got, and then this is done there."""
    return invent(
        name,
        TWO,
        [
            ("0m", "cut", ["P1"]),
            ("0m", *post("P1")),
            ("30m", "heal", ["P1"]),
            ("30m", verb, {"store": "P1", "folder": "/F", **args}),
            ("30m", "show", ["folders"]),
            ("3h", "show", ["state", "folders"]),
        ],
        end="3h",
    )


KEPT = unique_content("a replica removed", "remove_replica", replica="P1")
DROPPED = unique_content("a folder deleted", "delete_folder")


@pytest.mark.rule("R140", "R148")
def test_removing_a_replica_keeps_content_and_deleting_the_folder_does_not(played: Played) -> None:
    kept, dropped = played[KEPT], played[DROPPED]
    assert states(kept)["P2"]["applied"] == "P1:1"
    assert seen(kept, "3h") == {store: {"/F": {"P2": "active"}} for store in TWO}
    assert [x["folder"] for x in dropped if x["kind"] == "state"] == ["1-1", "1-1"]
    assert seen(dropped, "30m") == {"P2": {"/F": {"P1": "active", "P2": "active"}}} and seen(dropped, "3h") == {}
    assert hours(dropped, "30m 0x2 P1>P2 P1:2") == ["30m 0x2 P1>P2 P1:2"]


MOVED = invent(
    "moved to another server",
    ["OLD", "NEW"],
    [
        ("0m", *listing("add", "OLD", "NEW")),
        ("8h", *STATE),
        ("8h", *listing("remove", "OLD", "OLD")),
        ("27h", "show", ["state", "folders"]),
    ],
    folders={"/F": {"replicas": ["OLD"], "holds": "OLD:1-9"}},
    end="27h",
)


@pytest.mark.rule("R142")
def test_a_folder_moves_by_adding_waiting_and_removing(played: Played) -> None:
    """The new server is filled before the old one leaves, and holds all when it is gone; the removal is a hierarchy change."""
    lines = played[MOVED]
    assert states(lines, "8h")["NEW"]["applied"] == "OLD:1-9"
    assert {store: x["applied"] for store, x in states(lines, "1d3h").items()} == {"NEW": "OLD:1-9"}
    assert seen(lines, "1d3h") == {store: {"/F": {"NEW": "active"}} for store in ("OLD", "NEW")}
    assert messages(lines, "0x2")[:2] == ["0m 0x2 OLD>NEW OLD:2", "8h 0x2 OLD>NEW OLD:3"]


PENDING = invent(
    "delete pending",
    THREE,
    [
        ("0m", *listing("remove", "P1", "P2")),
        ("0m", *post("P1")),
        ("0m", *post("P3")),
        ("15m", *post("P2")),
        ("15m", "show", ["state", "folders"]),
        ("30m", *post("P3")),
    ],
    end="1h",
)


@pytest.mark.rule("R147")
def test_who_has_heard_of_a_removal_sends_no_new_content_there(played: Played) -> None:
    """Each by its own view: P3 has not heard yet, and half an hour later it has."""
    assert messages(played[PENDING], "0x4") == ["0m 0x4 P1>P3 P1:1", "0m 0x4 P3>P1,P2 P3:1", "30m 0x4 P3>P1 P3:2"]


@pytest.mark.rule("R146")
def test_no_client_uses_a_copy_that_is_delete_pending(played: Played) -> None:
    """P2 refuses; P1 and P3 see that it leaves."""
    lines = played[PENDING]
    assert refused(lines) == [("P2", "edit", 4, "no_replica_here")]
    assert states(lines, "15m")["P2"]["standing"] == "delete pending"
    assert {tree["/F"]["P2"] for tree in seen(lines, "15m").values()} == {"delete pending"}


# --- what grows old ---------------------------------------------------------------------------------------------------

KEPT_FOR_EVER = invent(
    "kept for ever",
    ["P1"],
    [("0m", *post("P1", item="old")), ("0m", *post("P1", "/K", item="old")), ("30h", "show", ["items"])],
    folders={"/F": ["P1"], "/K": {"replicas": ["P1"], "age_limit": "none"}},
    policy={"age_limit": "1d"},
    end="30h",
)


def test_a_folder_that_is_there_at_the_start_may_be_kept_from_the_policy_s_age_limit(played: Played) -> None:
    """F58."""
    lines = played[KEPT_FOR_EVER]
    assert [line["folder"] for line in lines if line["kind"] == "item"] == ["/K"]
    assert first_difference(lines, list(oracle.play(INVENTED[KEPT_FOR_EVER]))) is None
