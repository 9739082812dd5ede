"""The worked tables of the articles, cell by cell, and the vectors of timers and of packing, on the engine."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from pfspark.edge.config import conf_folder
from pfspark.printed import Line
from pfspark.sim.scenario import Scenario, parse
from pfspark.units import show_duration
from pfspark.words import MessageType
from tests.sim import oracle
from tests.sim.against import first_difference

Played = dict[str, list[Line]]
START = datetime.fromisoformat("2026-01-05T00:00:00+00:00")
CUT_OFF = "PFS1, PFS2 and PFS3"
WALKS = {  # name: relayed status, and whether PFS2 is the preferred source
    f"{CUT_OFF}: relay on": (True, False),
    f"{CUT_OFF}: relay off": (False, False),
    f"{CUT_OFF}: relay on, PFS2 preferred": (True, True),
    f"{CUT_OFF}: relay off, PFS2 preferred": (False, True),
}


def organizations(config: pytest.Config) -> list[Scenario]:
    """What this module wants played."""
    file = (conf_folder() / "scenarios" / "walk_through.toml").read_text()
    texts = {name: walk(file, name, *how) for name, how in WALKS.items()} | VECTORS
    return [parse(text, name, conf_folder()) for name, text in texts.items()]


def walk(text: str, name: str, relayed: bool, preferred: bool) -> str:
    """The file of the worked tables under another name, with other settings."""
    changes = {
        'name = "PFS1, PFS2 and PFS3, T0 to T6"': f'name = "{name}"',
        "[policy]": f"[policy]\nrelay_status = {str(relayed).lower()}",
        "[stores.PFS2]": f"[stores.PFS2]\npreferred = {str(preferred).lower()}",
    }
    for old, new in changes.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


# --- the grid ---------------------------------------------------------------------------------------------------------

# W, as computed by R48 and R72-R78; `a|b|c` is PFS1:1-a,PFS2:1-b,PFS3:1-c. At T1 and T3 the edit is made and not sent
# (C7). known(2,1) is what PFS2 has recorded about PFS1.
STEPS = {"T0": "0m", "T1": "15m", "T2": "1h15m", "T3": "1h30m", "T4": "2h15m", "T5": "4h15m", "T6": "5h15m"}
CELLS = """
applied(1) applied(2) applied(3)  sent(1) sent(2) sent(3)
known(2,1) known(3,1) known(1,2) known(3,2) known(1,3) known(2,3)
"""
GRID = """
T0 10|20|30 10|20|30 10|20|30     10 20 30  10|20|30 10|20|30  10|20|30 10|20|30  10|20|30 10|20|30
T1 11|20|30 10|20|30 10|20|30     10 20 30  10|20|30 10|20|30  10|20|30 10|20|30  10|20|30 10|20|30
T2 11|20|30 11|20|30 11|20|30     11 20 30  11|20|30 11|20|30  10|20|30 10|20|30  10|20|30 10|20|30
T3 11|20|30 11|20|30 11|20|31     11 20 30  11|20|30 11|20|30  10|20|30 10|20|30  10|20|30 10|20|30
T4 11|20|31 11|20|31 11|20|31     11 20 31  11|20|30 11|20|30  10|20|30 10|20|30  11|20|31 11|20|31
T5 16|28|31 16|28|31 11|20|31     16 28 31  16|20|31 11|20|30  16|28|31 10|20|30  11|20|31 11|20|31
T6 17|28|31 17|28|31 11,17|20|31  17 28 31  17|28|31 17|28|31  16|28|31 16|28|31  11|20|31 11|20|31
"""
RELAY_OFF = {("T6", "known(3,2)"): "10|20|30"}


def cells() -> list[tuple[str, str, str]]:
    found = []
    for row in filter(None, GRID.splitlines()):
        step, *values = row.split()
        found += [(step, cell, value) for cell, value in zip(CELLS.split(), values, strict=True)]
    return found


def in_full(value: str, cell: str) -> str:
    """`11,17|20|31` as a set; of `sent(2)` the one number is PFS2's."""
    if cell.startswith("sent"):
        return f"PFS{cell[-2]}:1-{value}"
    spans = [[f"1-{each}" if place == 0 else each for place, each in enumerate(part.split(","))] for part in value.split("|")]
    return ",".join(f"PFS{place}:{':'.join(some)}" for place, some in enumerate(spans, 1))


def state(lines: list[Line], at: str, store: str) -> Line:
    (found,) = (
        line
        for line in lines
        if line["kind"] == "state" and after(line) == at and line["store"] == store and line["folder"] != "1-1"
    )
    return found


def after(line: Line) -> str:
    return show_duration(datetime.fromisoformat(line["at"]) - START)


@pytest.mark.rule("R48", "R64", "R75", "R78", "R80", "R81", "R83", "R145")
@pytest.mark.parametrize("name", WALKS)
@pytest.mark.parametrize(("step", "cell", "value"), cells())
def test_grid(played: Played, name: str, step: str, cell: str, value: str) -> None:
    relayed, _ = WALKS[name]
    expected = in_full(value if relayed else RELAY_OFF.get((step, cell), value), cell)
    what, _, stores = cell.removesuffix(")").partition("(")
    line = state(played[name], STEPS[step], f"PFS{stores[0]}")
    assert (line["reported"][f"PFS{stores[-1]}"] if what == "known" else line[what]) == expected


HOLES = "PFS1:12-16,PFS2:21-28"


@pytest.mark.rule("R91", "R94", "R95", "R96", "R103")
@pytest.mark.parametrize("name", WALKS)
def test_holes_are_seen_asked_for_and_filled(played: Played, name: str) -> None:
    """R95, C3: without relaying PFS3 knows one source; with it two, alike but for name and preference."""
    relayed, preferred = WALKS[name]
    lines = played[name]
    assert {store: state(lines, "5h15m", store)["missing"] for store in ("PFS1", "PFS2", "PFS3")} == {
        "PFS1": "", "PFS2": "", "PFS3": HOLES
    }  # fmt: skip
    source = "PFS2" if relayed and preferred else "PFS1"
    assert messages(lines, "0x8", "0x80000004") == [
        f"11h15m 0x8 PFS3>{source} {HOLES}",  # six hours after 17 came (R91)
        f"11h30m 0x80000004 {source}>PFS3 {HOLES}",
    ]
    everything = "PFS1:1-17,PFS2:1-28,PFS3:1-31"
    for store in ("PFS1", "PFS2", "PFS3"):
        assert state(lines, "11h45m", store)["applied"] == everything
        assert state(lines, "11h45m", store)["missing"] == ""
    assert lines[-1] | {"converged": True, "missing": 0, "violations": 0, "rounds": 49} == lines[-1]


def messages(lines: list[Line], *types: str, sender: str | None = None, folder: str | None = None) -> list[str]:
    """Messages as `12h 0x8 PFS3>PFS1 PFS1:12-16`: when, type, from and to, and what is carried or asked for."""
    return [
        f"{after(line)} {line['type']} {line['from']}>{','.join(line['to'])} {line['carries'] or line['asks']}".rstrip()
        for line in lines
        if line["kind"] == "message"
        and line["type"] in types
        and sender in (None, line["from"])
        and folder in (None, line["folder"])
    ]


# --- vectors ----------------------------------------------------------------------------------------------------------


def step(at: str, verb: str, value: str) -> str:
    return f'[[steps]]\nat = "{at}"\n{verb} = {value}\n'


def post(at: str, store: str, folder: str = "/F", **extra: object) -> str:
    more = "".join(f", {key} = {value}" for key, value in extra.items())
    return step(at, "post", f'{{ store = "{store}", folder = "{folder}"{more} }}')


def file(name: str, *steps: str, sites: str = "S S", end: str, folders: str = "/F", **more: str) -> str:
    """A scenario: PFS1, PFS2, ... at those sites, each with a replica of every folder."""
    stores = [f"PFS{place}" for place in range(1, len(sites.split()) + 1)]
    head = [
        f'name = "{name}"',
        f'profile = "{more.get("profile", "exchange_2007")}"',
        "start = 2026-01-05T00:00:00Z",
        f'end = "{end}"',
        f'interval = "{more.get("interval", "15m")}"',
        more.get("policy", ""),
        *(f'[stores.{store}]\nsite = "{site}"' for store, site in zip(stores, sites.split(), strict=True)),
        more.get("links", ""),
        *(f'[folders."{folder}"]\nreplicas = {stores}'.replace("'", '"') for folder in folders.split()),
    ]
    return "\n".join([*head, *steps])


LOST = (  # PFS2 hears at 45m of what it lacks, of a store that then says no more
    step("0m", "cut", '["PFS2"]'),
    post("0m", "PFS1"),
    step("30m", "heal", '["PFS2"]'),
    post("30m", "PFS1"),
    step("45m", "down", '["PFS1"]'),
)
SLOW = '[[links]]\nfrom = "A"\nto = "C"\ncost = 1\ndelay = "{}"'
SIX_HOURS = '[policy]\nbackfill_timeouts = { local = ["6h", "12h", "24h"], remote = ["6h", "12h", "24h"] }'


def meanwhile(name: str, delay: str) -> str:
    """PFS3 hears from PFS2 at 16m what PFS1 sent at 0m, and what takes `delay` to come from there."""
    steps = (post("0m", "PFS1"), post("1m", "PFS2"))
    return file(name, *steps, sites="A B C", end="8h", interval="1m", policy=SIX_HOURS, links=SLOW.format(delay))


VECTORS = {
    "arrival comes first": file(
        "arrival comes first",
        post("0m", "PFS1", item='"plan"'),
        step("15m", "modify", '{ store = "PFS2", folder = "/F", item = "plan" }'),
        end="1h",
    ),
    "a clock ahead at the end": file(
        "a clock ahead at the end",
        step("30m", "clock", '"12h"'),
        post("40m", "PFS1"),
        step("45m", "why", '{ store = "PFS2", folder = "1-1", item = "PFS1:1" }'),
        end="2h",
    ),
    "V28": file("V28", *LOST, end="120h"),
    "V29": file("V29", *LOST, sites="S T", end="190h"),
    "V30": meanwhile("V30", "6h15m"),
    "V30 in time": meanwhile("V30 in time", "6h16m"),
    "V30 late": meanwhile("V30 late", "6h17m"),
    "V31": file("V31", post("14m", "PFS1"), end="40h", interval="1m", profile="exchange_2003"),
    "V32": file("V32", post("16m", "PFS1"), end="40h", interval="1m", profile="exchange_2003"),
    "V33": file("V33", post("0m", "PFS1"), post("23h", "PFS1"), end="60h"),
    "V34": file(
        "V34",
        post("0m", "PFS1", "/Six", count=6, size=51_200),
        post("0m", "PFS1", "/Seven", count=7, size=51_200),
        post("0m", "PFS1", "/Big", size=51_200),
        post("0m", "PFS1", "/Big", size=1_048_576),
        post("0m", "PFS1", "/Big", size=51_200),
        end="1h",
        folders="/Six /Seven /Big",
    ),
    "V35": file(
        "V35",
        post("0m", "PFS1", "/F", count=5),
        step("0m", "rename_folder", '{ store = "PFS1", folder = "/X", name = "X1" }'),
        post("0m", "PFS1", "/G", count=3),
        step("0m", "rename_folder", '{ store = "PFS1", folder = "/Y", name = "Y1" }'),
        end="1h",
        folders="/F /G /X /Y",
    ),
}


@pytest.mark.rule("R91", "R92", "R93")
@pytest.mark.parametrize(
    ("name", "hours"), [("V28", (6, 18, 42, 66, 90, 114)), ("V29", (12, 36, 84, 132, 180))], ids=["V28", "V29"]
)
def test_each_wait_counts_from_the_request_before(played: Played, name: str, hours: tuple[int, ...]) -> None:
    """V28, V29: noted at 45m, never answered; a store of the same site, and one of another."""
    heard = timedelta(minutes=45)
    expected = [f"{show_duration(heard + timedelta(hours=hour))} 0x8 PFS2>PFS1 PFS1:1" for hour in hours]
    assert messages(played[name], "0x8") == expected
    assert played[name][-1]["missing"] == 1
    after_going_down = [
        line for line in messages(played[name], *MessageType, sender="PFS1") if not line.startswith(("0m", "30m"))
    ]
    assert not after_going_down  # what falls due there waits


@pytest.mark.rule("R90", "R93")
@pytest.mark.parametrize(("name", "asked"), [("V30", []), ("V30 in time", []), ("V30 late", ["6h16m 0x8 PFS3>PFS1 PFS1:1"])])
def test_what_comes_within_the_first_wait_is_not_asked_for(played: Played, name: str, asked: list[str]) -> None:
    """V30: noted at 16m; it comes 5 h 59 min later, at the very moment, or a minute after the request."""
    assert messages(played[name], "0x8") == asked
    assert played[name][-1]["converged"]


@pytest.mark.rule("R137")
@pytest.mark.parametrize(("name", "at"), [("V31", "24h15m"), ("V32", "36h15m")])
def test_unasked_status_goes_by_the_clock(played: Played, name: str, at: str) -> None:
    """V31, V32: 2003 looks at 00:15 and 12:15 whether the last change is a day old."""
    told = messages(played[name], "0x10", sender="PFS1", folder="/F")
    assert told[:1] == [f"{show_duration(duration(at))} 0x10 PFS1>PFS2"]


def duration(text: str) -> timedelta:
    hours, minutes = text.removesuffix("m").split("h")
    return timedelta(hours=int(hours), minutes=int(minutes))


def test_what_arrives_in_a_round_can_be_modified_in_it(played: Played) -> None:
    """Mail is accepted before edits are taken in: what a store learns in a round it may act on in the same round."""
    lines = played["arrival comes first"]
    assert not [line for line in lines if line["kind"] == "refused"]
    assert messages(lines, "0x4") == ["0m 0x4 PFS1>PFS2 PFS1:1", "15m 0x4 PFS2>PFS1 PFS2:1"]


def test_the_last_line_is_the_latest_by_a_clock_that_is_ahead(played: Played) -> None:
    """The organization's clock dates all lines; and of the hierarchy it may be asked why, as of any folder."""
    lines = played["a clock ahead at the end"]
    said = [(line["kind"], after(line)) for line in lines if line["kind"] != "message"]
    assert said == [("why", "12h45m"), ("end", "14h")]
    [why] = [line for line in lines if line["kind"] == "why"]
    assert (why["folder"], why["item"], why["cause"]) == ("1-1", "PFS1:1", "here")
    assert first_difference(lines, list(oracle.play(parse(VECTORS["a clock ahead at the end"], "clock", conf_folder())))) is None


@pytest.mark.rule("R136")
def test_each_change_puts_the_unasked_status_off(played: Played) -> None:
    """V33: changes at 0 h and 23 h, one status at 47 h; PFS2 has received them a quarter of an hour later."""
    assert messages(played["V33"], "0x10", folder="/F") == [
        f"{show_duration(duration('47h0m'))} 0x10 PFS1>PFS2",
        f"{show_duration(duration('47h15m'))} 0x10 PFS2>PFS1",
    ]


@pytest.mark.rule("R50", "R53", "R54")
def test_changes_fill_messages_up_to_the_limit(played: Played) -> None:
    """V34: six changes of 50KB are a message, a seventh another; what is larger than one goes alone (R54, Q16)."""
    sent = [(line["folder"], line["carries"], line["bytes"]) for line in played["V34"] if line["kind"] == "message"]
    assert sent == [
        ("/Big", "PFS1:1", 51_200),
        ("/Big", "PFS1:2", 1_048_576),
        ("/Big", "PFS1:3", 51_200),
        ("/Seven", "PFS1:1-6", 307_200),
        ("/Seven", "PFS1:7", 51_200),
        ("/Six", "PFS1:1-6", 307_200),
    ]


@pytest.mark.rule("R37", "R40", "R49", "R50", "R51", "R52")
def test_folders_and_the_hierarchy_never_share_a_message(played: Played) -> None:
    """V35: five changes in F, three in G, two folders renamed: three messages of one cycle (R49-R52)."""
    sent = [(line["type"], line["folder"], line["carries"]) for line in played["V35"] if line["kind"] == "message"]
    assert sent == [("0x2", "1-1", "PFS1:5-6"), ("0x4", "/F", "PFS1:1-5"), ("0x4", "/G", "PFS1:1-3")]
