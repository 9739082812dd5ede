"""What a lake answers: as frames, with filters, and read by pages."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from pfspark import cnset, cntext
from pfspark.ask import lines
from pfspark.ask.candidates import deciding
from pfspark.ask.reasons import counted
from pfspark.edge.asked import explained, pages
from pfspark.edge.config import conf_folder
from pfspark.edge.played import written
from pfspark.errors import UsageError
from pfspark.lake import Lake
from pfspark.printed import LINES
from pfspark.sim.player import play
from pfspark.sim.scenario import read
from tests.declared import assert_declared


@pytest.fixture(scope="module")
def lake(holed: Lake) -> Lake:
    return holed


KINDS = {
    "state": "state", "replicas": "replica", "folders": "folder", "stores": "store", "gaps": "gap", "referrals": "referral",
    "events": "event",
}  # fmt: skip


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    return list(frame.toArrow().to_pylist())


def as_line(kind: str, row: dict[str, Any]) -> dict[str, Any]:
    """A row as the line says it: times as texts, maps as objects."""

    def plain(value: Any) -> Any:
        if isinstance(value, datetime):
            return lines.moment(value)
        if isinstance(value, list) and value and isinstance(value[0], tuple):
            return {name: plain(each) for name, each in value}
        if isinstance(value, dict):
            return {name: plain(each) for name, each in value.items()}
        return [plain(each) for each in value] if isinstance(value, list) else value

    return {"kind": kind, **{name: plain(value) for name, value in row.items()}}


def test_every_answer_is_a_frame_that_says_what_its_lines_say(lake: Lake) -> None:
    for name, kind in KINDS.items():
        said = [*lake.lines(name)]
        assert said, name
        for line in said:
            assert_declared(line)
        frame = getattr(lake, name)()
        shown = [as_line(kind, row) for row in rows(frame)]
        absent = {key.name[:-1]: None for key in LINES[kind].keys if key.name.endswith("?")}
        assert [{**line, "reported": line.get("reported") or []} for line in shown] == [
            {**absent, **line, "reported": line.get("reported") or []} for line in map(_without_empty_maps, said)
        ], name
        times = {field.name: field.dataType.simpleString() for field in frame.schema}
        assert times["at"] == "timestamp"
    [gap] = rows(lake.gaps())
    assert gap["heard"].astimezone(UTC) == gap["at"].astimezone(UTC) and gap["due"] > gap["heard"]


def test_why_something_is_not_here_is_said(lake: Lake) -> None:
    """Of what a replica lacks, of a number or a name wherever it is, of all that is missing; what is not there is refused."""
    [gap] = lake.lines("gaps")
    [line] = lake.why_lines(folder="/Sales", store="PFS1")
    assert_declared(line)
    assert (line["item"], line["here"], line["cause"]) == ("PFS2:1", False, "waiting_to_ask")
    assert line["since"] == gap["heard"] and line["next"] == {"at": gap["due"], "what": "ask", "of": "PFS2"}
    assert line["says"] == f"PFS1 lacks PFS2:1 and waits before it asks; it asks PFS2 at {gap['due']}."
    [because] = line["because"]
    [heard] = rows(lake.table("backfill").where("step = 'heard' and folder != '1-1'"))
    assert because == {
        "rule": "R91", "says": "PFS1 heard that others have it", "table": "backfill", "round": heard["round"], "at": gap["heard"],
    }  # fmt: skip
    assert [*lake.why_lines()] == [line]
    [cause] = counted(lake.why_lines())
    assert_declared(cause)
    assert (cause["cause"], cause["numbers"], cause["replicas"], cause["since"]) == ("waiting_to_ask", 1, 1, gap["heard"])
    everywhere = {(each["store"], each["item"]): each["cause"] for each in lake.why_lines("PFS2:1-2", folder="/Sales")}
    assert everywhere == {
        ("PFS1", "PFS2:1"): "waiting_to_ask", ("PFS1", "PFS2:2"): "here", ("PFS2", "PFS2:1"): "here", ("PFS2", "PFS2:2"): "here",
    }  # fmt: skip
    [row] = rows(lake.why("PFS2:1", folder="/Sales", store="PFS1"))
    assert row["next"]["at"].astimezone(UTC) == datetime.fromisoformat(gap["due"]) and row["because"][0]["rule"] == "R91"
    assert {each["here"] for each in lake.why_lines("PFS2:2", folder="/Sales", store="PFS2")} == {True}
    with pytest.raises(UsageError, match="has no item and no number 'PFS2:9'"):
        lake.why("PFS2:9", folder="/Sales")
    with pytest.raises(UsageError, match="expected its folder too"):
        lake.why("PFS2:1")


def test_a_gap_is_asked_for_when_why_says_so(lake: Lake) -> None:
    """Each by its own time, not by the first of its replica."""
    gaps = [*lake.lines("gaps")]
    assert gaps and all(gap["of"] is None for gap in gaps)
    for gap in gaps:
        numbers = f"{gap['origin']}:{gap['cn_min']}-{gap['cn_max']}"
        assert {line["next"]["at"] for line in lake.why_lines(numbers, folder=gap["folder"], store=gap["store"])} == {gap["due"]}


def test_what_waits_is_told_wherever_it_stands(holed_place: Path, spark: SparkSession) -> None:
    """What suspension holds back has no time; an edit of a folder that was not there yet; what a retired store lacks."""
    with Lake.open(holed_place, spark) as lake:
        [gap] = lake.lines("gaps")
        lake.suspend()
        [held_back] = lake.lines("gaps")
        assert {**held_back, "due": gap["due"]} == gap and held_back["due"] is None
        [line] = lake.why_lines(folder="/Sales")
        assert (line["cause"], line["next"]) == ("suspended", None)
        lake.suspend(suspended=False)
        assert [*lake.lines("gaps")] == [gap]

        lake.store("PFS3", "Redmond")
        lake.folder_create("PFS2", "/New", ["PFS2"], at="2026-01-05T01:00:00Z")
        lake.post("PFS2", "/New", b"later", name="later", at="2026-01-05T03:00:00Z")
        lake.round("2026-01-05T01:00:00Z")
        [waiting] = lake.why_lines(folder="/New")
        assert (waiting["cause"], waiting["item"], waiting["folder"]) == ("not_taken_in", "later", "/New")
        assert waiting in [*lake.why_lines()] and [*lake.why_lines("later", folder="/New", store="PFS2")] == [waiting]
        assert {line["store"] for line in lake.why_lines(folder="/Sales")} == {"PFS1"}
        causes = {line["store"]: line["cause"] for line in lake.why_lines("PFS2:1", folder="/Sales")}
        assert causes == {"PFS1": "asked", "PFS2": "here", "PFS3": "no_replica"}
        lake.store("PFS1", retired=True)
        assert {line["store"] for line in lake.why_lines(folder="/Sales")} == {"PFS1"}


@pytest.mark.lakes
def test_after_a_restore_the_request_that_counts_is_told(asking: Lake, tmp_path: Path, spark: SparkSession) -> None:
    """By why as by gaps, though a later one was made; after upkeep, that keeps what counts, when it was, but not of whom."""
    org = "The best source has gone silent"
    [first, *_] = [each for each in asking.trace_lines("BEST:1-9", folder="/Sales", org=org) if each["what"] == "asked"]
    with Lake.open(shutil.copytree(asking.where, tmp_path / "lake"), spark) as lake:
        lake.round("2026-01-05T02:45:00Z", cut=[first["store"]])  # the answer to the second request is lost
        [gap] = lake.lines("gaps", org=org, store=first["store"])
        assert (gap["attempt"], gap["of"]) == (2, "NEXT")
        lake.restore(first["store"], to=first["at"], now="2026-01-05T02:50:00Z", org=org)
        for upkeep in (False, True):
            if upkeep:
                lake.maintain()
            [gap] = lake.lines("gaps", org=org, store=first["store"])
            [line] = lake.why_lines(folder="/Sales", store=first["store"], org=org)
            assert (gap["attempt"], gap["asked"], gap["of"]) == (1, first["at"], None if upkeep else first["peer"])
            assert (line["cause"], line["since"], line["next"]["what"]) == ("asked", first["at"], "ask_again")
            assert f"asked {'somebody' if upkeep else first['peer']} for BEST:1, attempt 1" in line["says"]


def test_what_changed_between_two_moments_is_told(lake: Lake) -> None:
    """Both ways: what one direction calls new, the other calls gone; and all of it is what the answers of both moments say."""
    last = lake.rounds().agg({"round": "max"}).collect()[0][0]
    since = [*lake.diff_lines(1)]
    for line in since:
        assert_declared(line)
    assert {line["what"] for line in since} == {"tree", "list", "standing", "numbers", "holes"}
    [hole] = [line for line in since if line["what"] == "holes"]
    assert (hole["store"], hole["folder"], hole["before"], hole["after"]) == ("PFS1", "/Sales", None, "PFS2:1")
    held = {(line["store"], line["folder"]): line["after"] for line in since if line["what"] == "numbers"}
    assert held == {(line["store"], line["folder"]): line["applied"] for line in lake.lines("state")}
    back = [*lake.diff_lines(last, 1)]
    assert sorted((line["store"], line["what"], str(line["name"]), line["after"]) for line in back) == sorted(
        (line["store"], line["what"], str(line["name"]), line["before"]) for line in since
    )
    assert [*lake.diff_lines(last)] == [] and rows(lake.diff(last)) == []
    assert {line["store"] for line in lake.diff_lines(1, store="PFS2", folder="/Sales")} == {"PFS2"}
    assert [*lake.diff_lines(last, folder="/Sales")] == []
    with pytest.raises(UsageError, match=r"the folder '/Salse' is not known; the nearest known is '/Sales'"):
        [*lake.diff_lines(last, folder="/Salse")]
    with pytest.raises(UsageError, match=r"the store 'PFS9' is not known"):
        [*lake.diff_lines(last, store="PFS9")]


def _without_empty_maps(line: dict[str, Any]) -> dict[str, Any]:
    return {name: value if value != {} else [] for name, value in line.items()}


def test_how_something_came_is_told(lake: Lake) -> None:
    """PFS1 was cut off as PFS2:1 came, and hears of it with PFS2:2."""
    found = [*lake.trace_lines("PFS2:1", folder="/Sales")]
    assert [(each["at"][11:16], each["store"], each["what"], each["peer"], each["waited"]) for each in found] == [
        ("00:15", "PFS2", "numbered", None, None), ("00:15", "PFS2", "sent", "PFS1", 0), ("00:20", "PFS1", "lost", "PFS2", 300),
        ("00:30", "PFS1", "heard", "PFS2", 600),
    ]  # fmt: skip
    assert [each["by"] for each in found] == [None, "cycle", None, None]
    assert found[2]["reason"] == "cut_off" and found[2]["message_id"] == found[1]["message_id"]
    played = {row["turns"][0]["now"]: row["round"] for row in rows(lake.rounds(org="main"))}
    for each in found:
        assert_declared(each)
        assert each["round"] == played[datetime.fromisoformat(each["at"])]
    assert [row["what"] for row in rows(lake.trace("PFS2:1", folder="/Sales", store="PFS1"))] == ["sent", "lost", "heard"]
    assert [each["store"] for each in lake.trace_lines("PFS1:1", folder="1-1") if each["what"] == "applied"] == ["PFS2"]
    assert [*lake.trace_lines("PFS2:1", folder="/Sales", as_of=6)] == found[:2]
    with pytest.raises(UsageError, match="no item and no number 'PFS2:9'"):
        lake.trace("PFS2:9", folder="/Sales")
    with pytest.raises(UsageError, match="/Sale"):
        lake.trace("PFS2:1", folder="/Sale")


SILENT = """
name = "The best source has gone silent"
profile = "exchange_2007"
start = 2026-01-05T00:00:00Z
end = "2h30m"
interval = "15m"
[stores]
ASKER = { site = "Redmond" }
BEST = { site = "Redmond", preferred = true }
NEXT = { site = "Redmond" }
[folders]
"/Sales" = { replicas = ["ASKER", "BEST", "NEXT"] }
[[steps]]
at = "0m"
cut = ["ASKER"]
[[steps]]
at = "0m"
post = { store = "BEST", folder = "/Sales" }
[[steps]]
at = "30m"
heal = ["ASKER"]
[[steps]]
at = "30m"
post = { store = "NEXT", folder = "/Sales" }
[[steps]]
at = "45m"
down = ["BEST"]
"""
SOON = """
[policy]
backfill_timeouts = { local = ["30m", "1h", "1h"], remote = ["30m", "1h", "1h"] }
"""


@pytest.fixture(scope="module")
def asking(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """A lake of organizations whose stores ask: by the order of either generation, of several in parts, and first in vain."""
    place = tmp_path_factory.mktemp("asking")
    parts = (conf_folder() / "scenarios" / "partial_sources_2000.toml").read_text()
    (place / "parts.toml").write_text(re.sub('end = ".*"', 'end = "2h30m"', parts) + SOON)
    (place / "silent.toml").write_text(SILENT + SOON)
    scenarios = read([place / "parts.toml", place / "silent.toml"], conf_folder())
    with written(spark, str(place / "lake"), scenarios) as record:
        [*_] = play(scenarios, spark, record)
    with Lake.open(place / "lake", spark) as lake:
        yield lake


def test_who_is_asked_comes_first_of_those_who_could_be(asking: Lake) -> None:
    """The sources of each request stand in order, the lowest keys first; of one is asked what those before cannot give."""
    contested = set()
    asked = rows(asking.table("backfill").where("step = 'asked' and of is not null"))
    assert {row["org"] for row in asked} == {*asking.organizations}
    for org in asking.organizations:
        steps = [row for row in asked if row["org"] == org]
        wanted = cntext.show({row["origin"]: [(1, 9)] for row in steps})
        found = [line for line in asking.trace_lines(wanted, folder="/Sales", org=org) if line["what"] == "asked"]
        assert {(row["at"], row["store"], row["of"]) for row in steps} == {
            (datetime.fromisoformat(line["at"]), line["store"], line["peer"]) for line in found
        }
        for line in found:
            assert_declared(line)
            values = [[(each["value"] is None, each["value"]) for each in one["keys"]] for one in line["candidates"]]
            assert values == sorted(values)
            names = [one["store"] for one in line["candidates"]]
            earlier = line["candidates"][: names.index(line["peer"])]
            given = cntext.parse(line["candidates"][len(earlier)]["gives"])
            for one in earlier:
                given = cntext.subtract(given, cntext.parse(one["gives"]))
            assert cntext.show(given) == line["item"], line
            if key := deciding(line["peer"], line["candidates"]):
                contested.add((org, line["attempt"], line["peer"], key))
    silent = "The best source has gone silent"
    assert contested >= {(silent, 1, "BEST", "not_preferred"), (silent, 2, "NEXT", "unavailable")}, contested


def test_how_something_came_is_shown(run: Callable[..., str], holed_place: Path) -> None:
    of = ("--folder", "/Sales", "--lake", str(holed_place))
    shown = run("trace", "PFS2:2", *of)
    assert re.search(r"PFS1 has it after 5m; 5m of that until it gets it from PFS2 \(R59\)", shown)
    assert "gives it its number; sends it to PFS1" in shown
    assert "has it after 5m" in run("trace", "PFS2:2", "--store", "PFS1", *of)
    [*lines] = map(json.loads, run("trace", "PFS2:1", "--store", "PFS1", "--json", *of).splitlines())
    assert [line["what"] for line in lines] == ["sent", "lost", "heard"]
    run("trace", "PFS2:1", "--store", "PFS3", *of, code=2, told="the store 'PFS3' is not known")


def test_sets_are_ranges_that_the_algebra_takes(lake: Lake) -> None:
    """What others are known to have and I lack is what my array says."""
    found = lake.ranges()
    applied, reported = (found.where(f"entry = '{entry}'") for entry in ("applied", "reported"))
    holes = cnset.subtract(reported, applied, keys=["org", "store", "folder", "id", "origin"])
    missing = found.where("entry = 'missing'").select(holes.columns)
    assert rows(holes) == rows(missing)
    said = {(row["store"], row["origin"], row["cn_min"], row["cn_max"]) for row in rows(holes)}
    assert said == {("PFS1", "PFS2", 1, 1)}
    of_lines = {(line["store"], line["folder"]): line["applied"] for line in lake.lines("state")}
    texts = rows(cnset.to_text(applied, ["store", "folder"]))
    assert {(row["store"], row["folder"]): row["text"] for row in texts} == of_lines
    assert cntext.parse(of_lines["PFS2", "/Sales"])["PFS2"] == ((1, 2),)


def test_answers_are_filtered_by_store_folder_and_organization(lake: Lake) -> None:
    for name in ("state", "gaps", "folders", "stores", "events"):
        of_one = rows(getattr(lake, name)(store="PFS1", org="main"))
        assert {row["store"] for row in of_one} == {"PFS1"}, name
    assert {row["folder"] for row in rows(lake.state(folder="/Sales"))} == {"/Sales"}
    assert {row["path"] for row in rows(lake.folders(folder="/Sales", store="PFS2"))} == {"/Sales"}
    for kind in ("state", "messages", "folders", "events", "edits", "items"):
        about = [*lake.lines(kind, folder="/Sales")]
        for called in ("Sales", "/Sales/", "PFS1:1"):
            assert [*lake.lines(kind, folder=called)] == about != [], (kind, called)
    assert {line["type"] for line in lake.lines("messages", folder="1-1")} >= {"0x2"}
    of_hierarchy = rows(lake.messages(folder="1-1"))
    assert of_hierarchy and {row["folder"] for row in of_hierarchy} == {"1-1"} and [*lake.refer(folder="1-1")] == []
    for edit in (lambda: lake.post("PFS1", "1-1", b"x"), lambda: lake.folder_delete("PFS1", "1-1")):
        with pytest.raises(UsageError, match="the folder '1-1' is not known"):
            edit()
    everything = rows(lake.messages())
    of_sales = rows(lake.messages(folder="/Sales"))
    assert 0 < len(of_sales) < len(everything) and {row["folder"] for row in of_sales} == {"PFS1:1"}
    to_one = rows(lake.messages(store="PFS2"))
    assert to_one and all("PFS2" in (row["store"], *(to["store"] for to in row["recipients"])) for row in to_one)
    assert {row["kind"] for row in rows(lake.rounds(org="main"))} == {"played"}
    assert {row["at"].minute for row in rows(lake.state(as_of=4))} == {5}


@pytest.mark.lakes
def test_of_a_folder_or_a_store_the_same_is_told_as_of_all(undisturbed: Lake) -> None:
    """Where only what is about that is looked at; the hierarchy has no items, and sends no reader anywhere."""
    every, sent = rows(undisturbed.items()), [*undisturbed.refer()]
    ids = {line["folder"]: line["id"] for line in sent}
    assert sorted(ids) == ["/Sales", "/Sales/West"] and {row["path"] for row in every} == {"/Sales"}
    for store in (None, "PFS2"):
        for folder in ("/Sales", "/Sales/West", ids["/Sales"], "1-1"):
            asked = [row for row in every if store in (None, row["store"]) and folder in (row["path"], row["folder"])]
            assert sorted(map(str, rows(undisturbed.items(store, folder)))) == sorted(map(str, asked)), (folder, store)
            told = [line for line in sent if store in (None, line["store"]) and folder in (line["folder"], line["id"])]
            assert [*undisturbed.refer(store, folder)] == told, (folder, store)


@pytest.mark.parametrize("name", ["state", "messages"])
def test_what_is_not_known_is_refused(lake: Lake, name: str) -> None:
    for wrong in ({"store": "PFS9"}, {"folder": "/Sale"}, {"org": "man"}):
        with pytest.raises(UsageError, match=r"is not known.*; the nearest known is"):
            getattr(lake, name)(**wrong)


def test_whom_else_it_could_ask_is_told_of_the_first_and_the_last_requests() -> None:
    assert explained.some_of({9, 1, 5, 3, 7, 2, 8}) == {1, 2, 5, 7, 8, 9}
    assert explained.some_of({4, 2, 6}) == {2, 4, 6} and explained.some_of(()) == set()


def test_an_id_that_no_store_knows_is_refused(lake: Lake) -> None:
    """Of what is not there nothing is missing, and nobody should be told so."""
    asking = (
        lambda: lake.why_lines(folder="PFS9:99"),
        lambda: lake.messages(folder="@nobody"),
        lambda: [*lake.refer(folder="A:1")],
    )
    for asked in asking:
        with pytest.raises(UsageError, match=r"the folder '(PFS9:99|@nobody|A:1)' is not known"):
            asked()
    assert lake.messages(folder="PFS1:1").count() == lake.messages(folder="/Sales").count() > 0


@pytest.mark.lakes
def test_logs_are_read_by_pages(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a page holds, the same lines in the same order; no page but one of a single round is larger than told."""
    whole = {name: [*lake.lines(name)] for name in ("messages", "events", "rounds")}
    texts = [text for log in lake.event_logs() for _, text in log.lines()]
    assert len(whole["messages"]) > 4 and len(whole["events"]) > 4
    monkeypatch.setattr(pages, "PAGE", 2)
    parts = [*pages.pages(lake.messages())]
    assert len(parts) > 2 and parts[0].start == 0
    assert [page.start for page in parts[1:]] == [page.stop for page in parts[:-1]]
    for page in parts:
        held = [row["round"] for row in lake.messages().collect() if row["round"] in page]
        assert len(held) <= 2 or len(set(held)) == 1
    assert {name: [*lake.lines(name)] for name in whole} == whole
    assert [text for log in lake.event_logs() for _, text in log.lines()] == texts


def test_a_post_is_bytes_or_a_text(spark: SparkSession, holed_place: Path) -> None:
    with Lake.open(holed_place, spark) as there:
        there.post("PFS1", "/Sales", "Grüße", name="text")
        there.post("PFS1", "/Sales", bytearray(b"\xff"), name="bytes")
        for wrong in (7, None, ["a"]):
            with pytest.raises(UsageError, match=r"Lake\.post\(body=…\): found .+, expected bytes or a text"):
                there.post("PFS1", "/Sales", wrong)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="expected a text that UTF-8 can write"):
            there.modify("PFS1", "/Sales", "text", "half \ud83d")
        bodies = {bytes(row["body"]) for row in there.table("content").select("body").collect()}
        assert {"Grüße".encode(), b"\xff"} <= bodies
