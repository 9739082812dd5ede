"""What happened, and what is late: the logs from a time on, the last of them, what comes next; a check for monitors."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from pfspark import cli
from pfspark.ask import edits
from pfspark.cli import answers as cli_answers
from pfspark.cli import ends, files, logs, playing, screen
from pfspark.edge import live
from pfspark.lake import Lake
from pfspark.printed import LINES
from pfspark.rows import rows_of
from pfspark.units import TICK
from tests.declared import assert_declared
from tests.edge.lakes import LAKES

AT = datetime(2026, 1, 5, tzinfo=UTC)


def edit(edit_id: str, **said: Any) -> dict[str, Any]:
    row = dict.fromkeys(edits.COLUMNS["edits"]) | {"org": "main", "store": "P1", "at": AT, "action": "post", "edit_id": edit_id}
    return row | {"properties": []} | said


def test_what_became_of_each_edit(monkeypatch: pytest.MonkeyPatch) -> None:
    """In pages of two; one that came again was refused as known, which says nothing of the first; one that was taken in once more
    is told as it was first, and what names it means what it became last."""
    done = [
        edit("late", at=AT + timedelta(hours=1), folder="@made", action="modify", item="@sent", place=2),
        edit("made", action="create_folder", properties=[("name", "Sales"), ("parent", "")]),
        edit("sent", folder="@made", name="first", place=1),
        edit("sent", folder="@made", name="again", place=3),
        edit("no", folder="P1:9", name="x", place=4),
        edit("never", at=None, folder="@unknown"),
    ]
    receipts = [
        {"edit_id": "sent", "outcome": "refused", "reason": "already_taken_in", "round": 5},
        {"edit_id": "made", "outcome": "applied", "reason": None, "round": 3},
        {"edit_id": "sent", "outcome": "applied", "reason": None, "round": 3},
        {"edit_id": "no", "outcome": "refused", "reason": "unknown_folder", "round": 4},
    ]
    main = {"org": "main", "at": AT}
    changes = [
        {**main, "edit_id": "made", "folder": "1-1", "object": "P1:7", "origin": "P1", "cn": 7},
        {**main, "edit_id": "sent", "folder": "P1:7", "object": "A1:9", "origin": "A1", "cn": 9, "at": AT + timedelta(days=9)},
        {**main, "edit_id": "sent", "folder": "P1:7", "object": "P1:1", "origin": "P1", "cn": 1},
    ]
    stores: Any = SimpleNamespace(path=lambda store, folder: {"P1:7": "/Sales"}.get(folder, f"/{folder}"))
    monkeypatch.setattr(edits, "PAGE", 2)
    tables = (done, receipts, changes)
    schemas = (rows_of(name, ()).select(edits.COLUMNS[name]).schema for name in edits.COLUMNS)
    given = [pa.Table.from_pylist(rows, schema=schema) for rows, schema in zip(tables, schemas, strict=True)]
    told = edits.looked_up(*given)
    found = list(edits.lines_of(told, stores))
    assert list(edits.lines_of(told, stores, newest_first=True)) == found[::-1]
    for line in found:
        assert_declared(line)
    assert [(line["edit"], line["folder"], line["item"], line["name"], line["outcome"], line["number"]) for line in found] == [
        ("made", "/Sales", None, "Sales", "applied", "P1:7"),
        ("sent", "/Sales", "P1:1", "first", "applied", "P1:1"),
        ("no", "/P1:9", None, "x", "refused", None),
        ("late", "/Sales", "A1:9", None, "waiting", None),
        ("never", "/@unknown", None, None, "waiting", None),
    ]
    assert [(line["reason"], line["round"]) for line in found] == [
        (None, 3),
        (None, 3),
        ("unknown_folder", 4),
        *[(None, None)] * 2,
    ]


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two stores and a folder; PFS1 was cut off while a mail came, and has just found that it lacks PFS2:1."""
    where = tmp_path_factory.mktemp("log") / "lake"
    shutil.unpack_archive(LAKES[max(LAKES)], where)
    with Lake.open(where, spark) as there:
        there.post("PFS1", "/Sales", b"waits", name="third", at="2026-01-05T00:31:00Z")
    return str(where)


Answers = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def answers(lake: str, capsys: pytest.CaptureFixture[str]) -> Answers:
    def run(*words: str) -> list[dict[str, Any]]:
        assert cli.run([*words, "--lake", lake, "--json"]) == 0
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return run


def test_the_log_of_edits(answers: Answers) -> None:
    lines = answers("log", "edits")
    assert [(line["store"], line["action"], line["name"], line["outcome"], line["number"]) for line in lines] == [
        ("PFS1", "create_folder", "Sales", "applied", "PFS1:1"),
        ("PFS1", "post", "first", "applied", "PFS1:1"),
        ("PFS2", "post", "one", "applied", "PFS2:1"),
        ("PFS2", "post", "second", "applied", "PFS2:2"),
        ("PFS1", "post", "third", "waiting", None),
    ]
    assert {line["folder"] for line in lines} == {"/Sales"}
    assert answers("log", "edits", "--refused") == []
    assert answers("log", "edits", "--store", "PFS2") == lines[2:4]


def test_of_the_last_edits_none_before_them_is_looked_at(answers: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    lines, looked_at = answers("log", "edits"), []
    line_of = edits._line
    monkeypatch.setattr(edits, "_line", lambda row, stores: (looked_at.append(row["name"]), line_of(row, stores))[1])
    assert answers("log", "edits", "--limit", "2") == lines[-2:] and looked_at == ["third", "second"]
    assert answers("log", "edits", "--limit", "1", "--store", "PFS2") == lines[3:4]
    assert answers("log", "edits", "--limit", "9", "--folder", "/Sales") == lines
    assert answers("log", "edits", "--limit", "0") == answers("log", "edits", "--limit", "3", "--refused") == []


def test_of_many_replicas_a_person_is_told_those_not_at_rest(
    lake: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(*words: str) -> tuple[list[list[str]], str]:
        assert cli.run(["status", *words, "--lake", lake]) == 0
        said = capsys.readouterr()
        return [line.split()[:2] for line in said.out.splitlines() if line.startswith(" PFS")], said.err

    every = [["PFS1", "/Sales"], ["PFS1", "1-1"], ["PFS2", "/Sales"], ["PFS2", "1-1"]]
    assert told() == (every, "")
    monkeypatch.setattr(cli_answers, "MANY", 3)
    assert told() == (every[::2], "and 2 other replicas at rest, which --store, --folder or --json tell of\n")
    assert told("--store", "PFS1") == (every[:2], "")


def test_a_long_table_is_printed_in_blocks(
    lake: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each under the same head, for nobody waits for the last row to see the first."""
    monkeypatch.setattr(screen, "BLOCK", 3)
    assert cli.run(["state", "--lake", lake]) == 0
    out = capsys.readouterr().out
    assert (out.count("state at "), out.count(" store "), out.count("\n PFS")) == (1, 2, 4)


def test_parts_of_the_logs(answers: Answers) -> None:
    every = answers("log", "messages")
    assert answers("log", "messages", "--limit", "2") == every[-2:]
    assert answers("log", "messages", "--limit", "0") == []
    times = [line["at"] for line in every]
    late = [line for line in every if line["at"] >= "2026-01-05T00:15:00Z"]
    assert (len(late), times == sorted(times)) == (2, True)
    assert answers("log", "messages", "--since", "2026-01-05T00:15") == late
    assert answers("log", "messages", "--since", "10m") == late  # before the last one
    assert answers("log", "messages", "--since", "1h", "--limit", "1") == every[-1:]
    rounds = answers("log", "rounds")
    assert answers("log", "rounds", "--since", rounds[-2]["ended"]) == rounds[-2:]
    assert answers("log", "rounds", "--limit", "1") == rounds[-1:]
    played = [line for line in rounds if line["turns"]]
    assert answers("log", "rounds", "--org", "main") == played != rounds
    events = answers("log", "events")
    assert [line["event"] for line in events[-3:]] == [3020, 3020, 3025]
    assert [line["at"][11:16] for line in events[-3:]] == ["00:15", "00:25", "00:30"]
    assert answers("log", "events", "--since", "2026-01-05T00:20") == events[-2:]
    assert answers("log", "events", "--since", "20m", "--limit", "1") == events[-1:]


def test_what_was_at_no_time_is_from_no_time_on() -> None:
    """Such an edit may stand in a lake, and such an event in a server's log."""

    def parts(since: datetime | timedelta | None, limit: int | None, *times: datetime | None) -> list[int]:
        return [place for place, _ in logs.tail(enumerate(times), since, limit, at=lambda each: each[1])]

    later = AT + timedelta(hours=2)
    assert parts(None, None, AT, None, later) == parts(None, 10**20, AT, None, later) == [0, 1, 2]
    assert parts(AT, None, AT, None, later) == [0, 2]
    assert parts(timedelta(hours=1), None, AT, None, later) == [2]
    assert parts(timedelta(hours=2), 1, AT, None, later) == [2]
    assert parts(timedelta(hours=1), None, None) == [0]  # nobody knows which was the last
    assert parts(timedelta(hours=1), None) == []


def test_each_organization_tells_its_own_last() -> None:
    """One may be years behind another."""
    told = [("first", AT + timedelta(days=day)) for day in (0, 1)] + [
        ("second", AT.replace(year=1999) + timedelta(days=day)) for day in (0, 1)
    ]

    def last(since: datetime | timedelta | None, limit: int | None, follow: bool) -> list[tuple[str, datetime]]:
        looks = logs._looks(one, lambda: told, since, limit, follow, at=lambda each: each[1], of=lambda each: each[0])
        return list(next(looks))

    one: Any = SimpleNamespace(version=lambda: 1)
    for follow in (False, True):
        assert last(None, None, follow) == told and last(AT, None, follow) == told[:2]
        assert last(None, 1, follow) == last(timedelta(hours=2), None, follow) == [told[1], told[3]]


def test_parts_of_a_servers_log(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """No lake is opened for it."""
    (tmp_path / "log").write_text("".join(
        f"Event ID: 3017\nDate: 1/{day}/2026\nTime: 09:00:00 AM\nComputer: PFS1\nDescription:\n"
        f"An outgoing replication message was issued.\nType: 0x20\nMessage ID: 1-{day}\nFolders: (1-1) IPM_SUBTREE\n\n"
        for day in (5, 6, 7)
    ))  # fmt: skip

    def days(*words: str) -> list[str]:
        assert cli.run(["log", "events", "--read", str(tmp_path / "log"), "--replid", "1=PFS1", "--json", *words]) == 0
        return [json.loads(line)["at"][:10] for line in capsys.readouterr().out.splitlines()]

    assert days() == ["2026-01-05", "2026-01-06", "2026-01-07"]
    assert days("--since", "1d") == days("--since", "2026-01-06") == days("--limit", "2") == ["2026-01-06", "2026-01-07"]
    assert days("--org", "main") == days()  # as the file of the folder may say it for every command
    refused = {
        ("--follow",): "say it without",
        ("--as-of", "3"): "say it without",
        ("--replid", "1=PFS2"): "one origin for each REPLID",
        ("--replid", "2=PFS1"): "one origin for each REPLID",
    }
    for words, told in refused.items():
        assert cli.run(["log", "events", "--read", "log", "--replid", "1=PFS1", *words]) == 2
        assert told in capsys.readouterr().err


def test_words_that_do_not_go_together(lake: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in {
        ("log", "rounds", "--follow", "--as-of", "3"): "--follow goes on until Ctrl-C",
        ("log", "events", "--follow", "--as-of", "3"): "--follow goes on until Ctrl-C",
        ("status", "--watch", "--check"): "--watch goes on until Ctrl-C",
        ("log", "rounds", "--follow", "--format", "csv"): "a file has an end",
        ("log", "rounds", "--since", "soon"): "found 'soon', expected a time",
        ("run", "--until", "5x"): "found '5x', expected a time such as 2026-01-05T00:00:00Z, or a duration such as 2h",
        ("drain", "PFS1", "--until", "5x"): "or a duration such as 2h",
        ("status", "--check", "--max-age", "old"): "found 'old', expected a duration",
        ("status", "--max-age", "1h"): "--max-age says what is late for --check",
        ("why", "", "--all"): "found '' and --all, expected one of them",
        ("why", "", "--folder", "/Sales", "--store", "PFS1"): "has no item and no number ''",
        ("state", "--json", "--format", "csv"): "found --json and --format csv, expected one of them",
        ("play", "--list"): "say it without files and --lake",
    }.items():
        assert cli.run([*words, "--lake", lake]) == 2
        assert said in capsys.readouterr().err


@pytest.mark.parametrize("named", ["store", "folder", "organization"])
def test_an_empty_name_is_nobodys(lake: str, capsys: pytest.CaptureFixture[str], named: str) -> None:
    """As a script says it whose variable is empty: it is not told that nothing is missing."""
    option = {"organization": "--org"}.get(named, f"--{named}")
    verbs = ["state", "gaps", "items", "referrals", "why --all", "diff 1 2", "log messages", "log edits", "log events", "status"]
    for verb in verbs:
        assert cli.run([*verb.split(), option, "", "--lake", lake]) == 2, verb
        out, err = capsys.readouterr()
        assert out == "" and f"the {named} '' is not known" in err, verb


def test_what_is_late(lake: str, capsys: pytest.CaptureFixture[str], spark: SparkSession) -> None:
    """By the clock on the wall long ago; after an earlier round by the organization's own."""
    code = cli.run(["status", "--check", "--max-age", "6h", "--lake", lake])
    assert (code, capsys.readouterr().err.splitlines()) == (3, [
        "main: PFS1 lacks 1 of /Sales, the oldest since 2026-01-05T00:30:00Z",
        "main: edits wait, 1 of them, the oldest since 2026-01-05T00:31:00Z",
        "main: a round is due since 2026-01-05T00:31:00Z",
        "pfspark: 3 things late, by more than 6h",
    ])  # fmt: skip
    with Lake.open(lake, spark) as there:
        last = there.answers().snapshot.row.round
        assert there.overdue(timedelta(hours=6), as_of=last) == []
        assert there.overdue(timedelta(0), as_of=last) == []
        there.store("PFS3", "Redmond", interval=timedelta(seconds=1))
        known = there._stores("main")["PFS3"]
        said = {**known, "interval_s": 0, "at": known["at"] + TICK}
        there._tables.append("stores", rows_of("stores", [said]))  # by somebody's own hand
        assert "the store 'PFS3' has interval_s 0" in there.overdue(timedelta(hours=6))[0]
        there.store("PFS3", interval=timedelta(hours=1), retired=True)
    assert cli.run(["status", "--check", "--as-of", str(last), "--lake", lake]) == 0


def test_what_comes_is_printed_as_it_comes(
    lake: str, spark: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what is new; a look at which nothing has changed prints nothing."""
    looks: list[int] = []

    def sleep(seconds: float) -> None:
        looks.append(len(looks))
        if len(looks) == 2:
            with Lake.open(lake, spark) as other:
                for name in ("fourth", "fifth"):
                    other.post("PFS1", "/Sales", b"new", name=name, at="2026-01-05T00:32:00Z")
        if len(looks) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(live, "time", SimpleNamespace(sleep=sleep))  # its own alone: others sleep in threads of theirs
    assert cli.run(["log", "edits", "--follow", "--limit", "1", "--json", "--lake", lake]) == ends.INTERRUPTED
    assert [json.loads(line)["name"] for line in capsys.readouterr().out.splitlines()] == ["third", "fourth", "fifth"]
    looks.clear()
    assert cli.run(["status", "--watch", "--json", "--lake", lake]) == ends.INTERRUPTED
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["waiting"] for line in lines if line["kind"] == "status"] == [3, 5]


def test_a_file_stands_before_a_scenario_of_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hole_and_backfill").touch()
    assert playing._named("hole_and_backfill") == "hole_and_backfill"


def test_scenarios_at_hand(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["play", "--list", "--json"]) == 0
    lines = {line["name"]: line for line in map(json.loads, capsys.readouterr().out.splitlines())}
    for line in lines.values():
        assert_declared(line)
    hole = lines["hole_and_backfill"]
    assert (hole["profile"], hole["lasts"]) == ("exchange_2007", "10h")
    assert hole["says"].startswith("One message is lost; the next one shows the hole, and six hours later PFS2 asks for exactly")
    assert Path(hole["file"]).name == "hole_and_backfill.toml"
    assert playing._named("hole_and_backfill") == hole["file"] and Path(hole["file"]).is_file()
    assert cli.run(["play", "hole_and_backfil"]) == 2
    assert "no scenario at hand is called so; the nearest known is 'hole_and_backfill'" in capsys.readouterr().err
    assert cli.run(["play"]) == 2
    assert cli.run(["play", "no/such.toml"]) == 2


def test_answers_as_files(lake: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Each has the values of the JSON lines; times are times in Parquet."""
    lines = answers_of(capfdbinary, "state", "--json", "--lake", lake)
    told = [json.loads(line) for line in lines.splitlines()]
    assert answers_of(capfdbinary, "state", "--format", "json", "--lake", lake) == lines
    rows = [*csv.DictReader(io.StringIO(answers_of(capfdbinary, "state", "--format", "csv", "--lake", lake).decode()))]
    assert [(row["store"], row["folder"], row["applied"], int(row["life"])) for row in rows] == [
        (line["store"], line["folder"], line["applied"], line["life"]) for line in told
    ]
    assert [json.loads(row["reported"]) for row in rows] == [line["reported"] for line in told]
    table = pq.read_table(pa.BufferReader(answers_of(capfdbinary, "state", "--format", "parquet", "--lake", lake)))
    assert table["at"].type == pa.timestamp("us", "UTC")
    assert table["at"].to_pylist()[0] == AT + timedelta(minutes=30)
    assert [dict(cell) for cell in table["reported"].to_pylist()] == [line["reported"] for line in told]


def test_a_file_without_rows_has_its_columns(lake: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """What reads one every night reads the one of the night in which nothing is missing."""
    nothing = ("log", "edits", "--refused", "--lake", lake, "--format")
    table = pq.read_table(pa.BufferReader(answers_of(capfdbinary, *nothing, "parquet")))
    names = [key.name.removesuffix("?") for key in LINES["edit"].keys]
    assert (table.num_rows, table.column_names) == (0, names)
    assert table["at"].type == pa.timestamp("us", "UTC")
    assert answers_of(capfdbinary, *nothing, "csv").decode() == ",".join(names) + "\n"
    none = answers_of(capfdbinary, "why", "--all", "--lake", lake, "--format", "parquet")
    assert pq.read_table(pa.BufferReader(none)).column_names == [key.name.removesuffix("?") for key in LINES["cause"].keys]


def answers_of(capture: pytest.CaptureFixture[bytes], *words: str) -> bytes:
    assert cli.run(words) == 0
    return capture.readouterr().out


def test_no_cell_of_a_csv_file_is_a_formula(capsys: pytest.CaptureFixture[str]) -> None:
    """Names and subjects are data that somebody chose; a number below zero stays one."""
    names = ['=HYPERLINK("http://x","y")', "+1", "-1", "@a", "\tb", "plain", ""]
    files.write([{"kind": "link", "from_site": name, "cost": -1} for name in names], files.Format.CSV, "link")
    rows = [*csv.DictReader(io.StringIO(capsys.readouterr().out, newline=""))]
    assert [row["from_site"] for row in rows] == [f"'{name}" for name in names[:5]] + names[5:]
    assert {row["cost"] for row in rows} == {"-1"}
