"""The verbs over a lake, and the demo: each opens the lake anew, as a command does."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pfspark import cli

pytestmark = pytest.mark.lakes

SCENARIOS = Path(__file__).parents[2] / "conf" / "scenarios"


def answers(run: Callable[..., str], *words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run(*words, "--json").splitlines()]


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The first five minutes of the README, with PFS2 cut off from the last mail: a hole is seen and filled later."""
    where = tmp_path_factory.mktemp("lakes") / "lake"
    mbox = where.parent / "mail.mbox"
    mbox.write_bytes(b"From a@b Mon Jan  5 07:42:11 2026\nSubject: one\n\nHello\n\n" * 2)
    for words in (
        "init --profile modern --option relay_status=false --start 2026-01-05",
        "store add PFS1 --site Redmond",
        "store add PFS2 --site Paris --version 2003 --schedule Sun.8:00-Sun.9:00",
        "store set PFS2 --preferred",
        "link Redmond Paris --cost 10",
        "folder create /Sales --store PFS1 --replicas PFS1,PFS2 --now 2026-01-05T08:00 --set size_limit=1MB",
        f"import {mbox} --store PFS1 --folder /Sales --now 2026-01-05T08:01",
        "post --store PFS1 --folder /Sales --name hello --text Hello --now 2026-01-05T08:02",
        "run --until 2026-01-05T08:30",
    ):
        assert cli.run([*words.split(), "--lake", str(where)]) == 0, words
    return str(where)


def test_state(run: Callable[..., str], lake: str) -> None:
    held = {line["store"]: line["applied"] for line in answers(run, "state", "--lake", lake, "--folder", "/Sales")}
    assert held == {"PFS1": "PFS1:1-3", "PFS2": "PFS1:1-3"}
    shown = run("state", "--lake", lake, "--store", "PFS2")
    assert "PFS2    /Sales   PFS1:1-3" in shown and "PFS1    /Sales" not in shown


def test_the_past(run: Callable[..., str], lake: str) -> None:
    rounds = answers(run, "log", "rounds", "--lake", lake)
    assert [line["what"] for line in rounds[:3]] == ["created", "opened", "played"]
    assert [line for line in answers(run, "state", "--lake", lake, "--as-of", "2") if line["folder"] == "/Sales"] == []
    first = next(line["turns"]["main"] for line in rounds if "changes" in line["counts"])
    assert {line["store"] for line in answers(run, "folder", "list", "--lake", lake, "--as-of", first)} == {"PFS1"}
    assert {line["store"] for line in answers(run, "folder", "list", "--lake", lake)} == {"PFS1", "PFS2"}
    run("state", "--lake", lake, "--as-of", "999", code=1, told="has no round 999")


def test_items_messages_and_stores(run: Callable[..., str], lake: str) -> None:
    items = answers(run, "items", "--lake", lake, "--store", "PFS2")
    assert [(line["item"], line["name"]) for line in items] == [("PFS1:1", "one"), ("PFS1:2", "one"), ("PFS1:3", "hello")]
    messages = answers(run, "log", "messages", "--lake", lake, "--folder", "/Sales")
    assert [line["carries"] for line in messages if line["type"] == "0x4"] == ["PFS1:1-3"]
    stores = answers(run, "store", "list", "--lake", lake)
    assert [(line["store"], line["version"], line["preferred"]) for line in stores] == [
        ("PFS1", "2007", False),
        ("PFS2", "2003", True),  # what `store set` does not tell stays
    ]
    assert stores[1]["schedule"] == "480-540"


def test_what_is_asked_for_by_mistake_is_told(run: Callable[..., str], lake: str) -> None:
    """A year too early, an item of another name."""
    at_sales = ("--lake", lake, "--folder", "/Sales", "--store", "PFS1")
    old = "before the last round: it is as old from the first, and changes made since then win over it"
    run("delete", "hallo", *at_sales, "--now", "2025-01-05T07:30", code=1, told=old)
    run(
        "why",
        "hallo",
        *at_sales,
        code=2,
        told="no item and no number 'hallo'; the nearest known is 'hello'; see `pfspark items",
    )
    assert {line["store"] for line in answers(run, "folder", "list", "--store", "PFS2", "--lake", lake)} == {"PFS2"}


def test_mail_goes_out_as_it_came_in(run: Callable[..., str], lake: str, tmp_path: Path) -> None:
    mbox = Path(lake).parent / "mail.mbox"
    words = ("import", str(mbox), "--lake", lake, "--store", "PFS1", "--folder", "/Sales")
    assert answers(run, *words) == [{"kind": "import", "posted": 0, "known": 2, "unkept": 0}]
    run("export", str(tmp_path / "out"), "--lake", lake, "--store", "PFS2", "--folder", "/Sales", "--form", "eml")
    assert (tmp_path / "out" / "hello.eml").read_bytes() == b"Hello"
    assert (tmp_path / "out" / "one~2.eml").read_bytes() == b"Subject: one\n\nHello\n"


def test_a_dry_run_changes_nothing(run: Callable[..., str], lake: str) -> None:
    before = run("log", "rounds", "--lake", lake, "--json")
    lines = [*map(json.loads, run("round", "--dry-run", "--now", "2026-02-01", "--lake", lake, "--json").splitlines())]
    assert lines[-1] | {"counts": {}} == {
        "kind": "round", "round": None, "what": "dry run", "turns": {"main": "2026-02-01T00:00:00Z"}, "counts": {},
    }  # fmt: skip
    [idle] = answers(run, "round", "--now", "2026-01-05T08:31", "--lake", lake)
    assert idle == {"kind": "round", "round": None, "what": "idle", "turns": {}, "counts": {}}
    assert run("log", "rounds", "--lake", lake, "--json") == before


def test_how_it_stands(run: Callable[..., str], lake: str) -> None:
    line, *replicas = answers(run, "status", "--lake", lake)
    assert [(each["store"], each["folder"], each["holds"], each["lacks"]) for each in replicas if each["folder"] != "1-1"] == [
        ("PFS1", "/Sales", 3, 0),
        ("PFS2", "/Sales", 3, 0),
    ]
    assert (line["equal"], line["waiting"], line["missing"], line["lost"]) == (True, 0, 0, 0)
    run("wait", "--lake", lake, "--at-most", "0m")
    assert answers(run, "gaps", "--lake", lake) == []


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ("post --store PFS9 --folder /Sales --text x", 2, "'PFS9' is not known"),
        ("post --store PFS1 --folder /Sale --text x", 2, "the nearest known is '/Sales'"),
        ("state --org nobody", 2, "'nobody' is not known"),
        ("items --store PFS7", 2, "'PFS7' is not known"),
        ("gaps --folder /Sale", 2, "the nearest known is '/Sales'"),
        ("state --as-of 2020-01-01", 1, "had no round yet at 2020-01-01T00:00:00Z"),
        ("store add PFS1 --site X", 2, "'PFS1' is there already"),
        ("store set PFS3 --site X", 2, "the nearest known is"),
        ("init", 2, "has an organization 'main' already"),
        ("folder set /Sales colour=red --store PFS1", 2, "a folder has no 'colour'"),
        ("whatif --cut PFS9", 2, "the store 'PFS9' is not known"),
        ("whatif --down PFS9@1h..2h", 2, "the nearest known is"),
        ("whatif --add-replica /Sales=PFS9", 2, "the store 'PFS9' is not known"),
        ("whatif --remove-replica /Sale=PFS1", 2, "the nearest known is '/Sales'"),
        ("whatif --profile=", 2, "pfspark: profile: found ''"),
        ("whatif --profile moderm", 2, "the nearest known is 'modern'"),
        ("whatif --interval=", 2, "pfspark: policy: option interval: found ''"),
    ],
)
def test_what_a_lake_refuses(run: Callable[..., str], lake: str, words: str, code: int, told: str) -> None:
    assert run(*words.split(), "--lake", lake, code=code, told=told) == ""


def test_no_lake(run: Callable[..., str], tmp_path: Path) -> None:
    run("state", "--lake", str(tmp_path), code=1, told="is not a lake")


def test_the_demo(run: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lake").mkdir()
    shown = run("demo", "--lake", str(tmp_path / "lake"), told="starting Spark")
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert lines.count("/Launch is equal everywhere") == 1 and lines.count("/Launch is not equal") == 2
    assert any("PFS3 → PFS2 0x8 backfill request /Launch asks for PFS2:1-9" in line for line in lines)
    [gap] = [line for line in lines if "nobody yet" in line]
    assert gap == "PFS3 /Launch PFS2:1-9 2026-01-06 00:00 nobody yet 2026-01-06 12:00"
    readme = (SCENARIOS.parents[1] / "README.md").read_text()
    told = readme[readme.index("4. The line is back") :].partition("\n```")[0]
    told_lines, said = ([line.rstrip() for line in text.splitlines() if line.strip()] for text in (told, shown))
    first = said.index(told_lines[0])
    assert told_lines == said[first : first + len(told_lines)]
    past = lines[lines.index("6. The past can still be asked") :]
    assert "PFS3 Paris PFS1:1-14 14 mails" in past  # as of the round before
    to_try = [shlex.split(line) for line in lines if line.startswith("pfspark ")][-3:]
    monkeypatch.chdir(tmp_path)
    assert all(run(*words[1:]) for words in to_try)
    assert (tmp_path / "lake-2" / "rounds").is_dir()  # the name was taken
    assert (tmp_path / "paris.mbox").read_bytes().count(b"\nMessage-ID:") == 24


def test_the_demo_for_programs(run: Callable[..., str], tmp_path: Path) -> None:
    """Bare lines: messages, what was imported, who holds what, the hole."""
    lines = [
        json.loads(line) for line in run("demo", "--json", "--lake", str(tmp_path / "lake"), told="starting Spark").splitlines()
    ]
    assert [line["posted"] for line in lines if "posted" in line] == [14, 9, 1]
    assert {line["kind"] for line in lines} == {"import", "message", "state", "gap"}
    assert [line["missing"] for line in lines if line["kind"] == "state" and line["store"] == "PFS3"] == ["", "", "", ""]
    *_, past = lines
    assert (past["store"], past["applied"], past["at"]) == ("PFS3", "PFS1:1-14", "2026-01-05T23:45:00Z")


def test_play_into_a_lake(run: Callable[..., str], tmp_path: Path) -> None:
    """What a scenario shows at its end is what the lake says afterwards; the play goes on from there."""
    where = str(tmp_path / "lake")
    file = tmp_path / "into_a_lake.toml"
    file.write_text((SCENARIOS / "hole_and_backfill.toml").read_text().replace('end = "10h"', 'end = "45m"'))
    said = run("play", str(file), "--lake", where, "--json", told="step 6 comes after the last round, and never happens")
    lines = [json.loads(line) for line in said.splitlines()]
    shown = [line for line in lines if line["kind"] == "state"]
    assert [line["missing"] for line in shown].count("PFS1:4-5") == 1
    assert answers(run, "state", "--lake", where) == shown
    assert [line["carries"] for line in answers(run, "log", "messages", "--lake", where)] == ["PFS1:4-5", "PFS1:6"]
    [gap] = answers(run, "gaps", "--lake", where)
    assert (gap["store"], gap["cn_min"], gap["cn_max"], gap["due"]) == ("PFS2", 4, 5, "2026-01-05T06:45:00Z")
    went_on = [*map(json.loads, run("run", "--until", "2026-01-05T08:00", "--lake", where, "--json", told="played").splitlines())]
    assert [line["type"] for line in went_on if line["kind"] == "message"] == ["0x8", "0x80000004"]
    run("play", str(file), "--lake", where, code=1, told="is a lake already")
    words = ("export", str(tmp_path / "out"), "--store", "PFS1", "--folder", "/Sales", "--lake", where)
    run(*words, told="not written: PFS1:1 (it has no body)")  # items of a scenario have sizes alone
    assert (tmp_path / "out").read_bytes() == b""


def test_a_restore_is_played_into_a_lake_too(run: Callable[..., str], tmp_path: Path) -> None:
    """What the store forgot is void from then on, and the world read from the tables is the one that was played."""
    where, file = str(tmp_path / "lake"), tmp_path / "restored.toml"
    text = (SCENARIOS / "restored_store.toml").read_text()
    file.write_text(text.replace('end = "14h"', 'end = "5h"').replace('at = "13h"', 'at = "5h"'))
    lines = [json.loads(line) for line in run("play", str(file), "--lake", where, "--json").splitlines()]
    at = max(line["at"] for line in lines if line["kind"] == "state")
    shown = [line for line in lines if line["kind"] == "state" and line["at"] == at]
    assert {line["store"]: line["life"] for line in shown} == {"PFS1": 1, "PFS2": 2}
    assert answers(run, "state", "--lake", where) == shown
    assert "restored" in {line["what"] for line in answers(run, "log", "rounds", "--lake", where)}
