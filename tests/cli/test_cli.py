"""The command line: what goes to stdout and to stderr, the exit codes, and what a user is told."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import cast

import pytest
import typer

from pfspark import cli, errors
from pfspark.cli import ends
from pfspark.cli.given import values
from pfspark.files.language import FolderProperties, Word
from pfspark.files.properties import TEXTS
from tests.edge.processes import NO_JAVA, PFSPARK, ROOT, environment, one_by_one

SCENARIOS = ROOT / "conf" / "scenarios"
SETS = ["set", "subtract", "PFS1:1-17,PFS2:1-28", "PFS1:1-11:17,PFS2:1-20"]

# --- whole processes ---


def pfspark(*words: str, typed: bytes = b"", **more: str) -> subprocess.CompletedProcess[bytes]:
    """One command; Java cannot be found unless a test says so: what needs none is shown to need none."""
    asked = [sys.executable, "-c", PFSPARK, *words]
    return subprocess.run(asked, input=typed, capture_output=True, env=NO_JAVA | more, timeout=60)


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (SETS, "PFS1:12-16,PFS2:21-28"),
        (["set", "union", "PFS1:1-10", "PFS1:11, 17"], "PFS1:1-11:17"),
        (["set", "intersect", "A:1-5,B:3", "A:4-9"], "A:4-5"),
        (["set", "contains", "A:1-5", "A:2-3"], "true"),
        (["set", "contains", "A:2-3", "A:1-5"], "false"),
        (["set", "subtract", "A:1-3", "A:1-5"], ""),
        (["set", "union", "", "B:1"], "B:1"),
        (["set", "subtract", "A:1-3", "A:2", "--json"], '{"kind": "set", "result": "A:1:3"}'),
    ],
)
def test_sets(words: list[str], answer: str) -> None:
    done = pfspark(*words)
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, answer + "\n", b"")


def test_sets_by_the_line() -> None:
    done = pfspark("set", "-", typed=b"union\tA:1\tA:2\nunion\tA:1\n\xff\t\t\ncontains\tA:1-9\tA:2\r\n")
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "A:1-2"
    assert lines[1] == "error: found 2 columns, expected verb<TAB>A<TAB>B"
    assert lines[2].startswith("error: found verb")
    assert lines[3] == "true"
    assert (done.returncode, done.stderr) == (1, b"")
    assert pfspark("set", "-", typed=b"union\tA:1\tA:2\n").returncode == 0
    done = pfspark("set", "-", "--json", typed=b"union\tA:1\tA:2\nunion\tA:1\n")
    good, bad = map(json.loads, done.stdout.splitlines())
    assert (good["result"], bad["error"], done.returncode) == ("A:1-2", "found 2 columns, expected verb<TAB>A<TAB>B", 1)


REFUSED: list[tuple[list[str], int, str]] = [
    (["set", "union", "A:1x", "B:2"], 1, "column 3: found '1x', expected a number or a range"),
    (["set", "unoin", "A:1", "B:2"], 2, "found verb 'unoin', expected union, subtract, intersect or contains"),
    (["set", "union", "A:1"], 2, "needs two sets, found one"),
    (["set", "-", "A:1"], 2, "takes its sets from standard input"),
    (["plya"], 2, "No such command 'plya'"),
    (["set", "--fast"], 2, "No such option: --fast"),
    (["play"], 2, "Missing argument"),
    (["play", "no such file.toml"], 2, "no such file.toml: cannot be read: No such file or directory"),
    (["state"], 2, "no lake is named: say --lake DIR, set PFSPARK_LAKE"),
    (["state", "--lake", "x", "--as-of", "yesterday"], 2, "found 'yesterday', expected a time such as"),
    (["round", "--lake", "x", "--now", "noon"], 2, "found 'noon', expected a time such as"),
    (["run", "--lake", "x", "--until-quiet", "--until", "2026-01-05"], 2, "expected --until TIME or --until-quiet"),
    (["init", "--lake", "x", "--option", "relay"], 2, "found 'relay', expected NAME=VALUE"),
    (["init", "--lake", "x", "--option", "interval=1h", "--option", "interval=2h"], 2, "found interval twice"),
    (["state", "--lake", "x" * 300], 2, "expected a path: a name in one has 255 bytes at most"),
    (["play", "x" * 300], 2, "expected a path: a name in one has 255 bytes at most"),
    (["init", "--lake", "x", "--option", "relay=true"], 2, "option 'relay' is not known; the nearest known is"),
    (["store", "add", "PFS1", "--site", "X", "--interval", "soon", "--lake", "x"], 2, "found 'soon', expected a duration"),
    (["post", "--folder", "/A", "--store", "P", "--text", "a", "--file", "b"], 2, "found --text and --file"),
    (["post", "--folder", "/A", "--store", "P", "--file", "no such file"], 2, "'no such file' cannot be read"),
    (["export", "out", "--folder", "/A", "--store", "P", "--form", "pst"], 2, "expected mbox or eml"),
    (
        ["import", "no such file", "--folder", "/A", "--store", "P", "--lake", "x"],
        2,
        "no such file' cannot be read",
    ),
    (["state", "--lake", "x", "--as-of", "9" * 5000], 2, "expected a time such as"),
    (["round", "--lake", "x", "--now", "0001-01-01T00:00:00+14:00"], 2, "expected a time such as"),
    (["round", "--lake", "x", "--now", "9999-12-31T23:59:59-12:00"], 2, "expected a time such as"),
    (["import", "", "--folder", "/A", "--store", "P", "--lake", "x"], 2, "Found an empty path."),
    (["play", "a\npfspark: all is well"], 2, "cannot be read"),
    (["play", str(ROOT / "README.md")], 1, "not TOML"),
    (["import", str(ROOT / "conf"), "--folder", "/A", "--store", "P", "--lake", "x"], 1, "none of them *.eml"),
    (["init", "--lake", "x", "--profile", "exchange_207"], 2, "profile 'exchange_207' is not known"),
    (["state", "--lake", "no such folder"], 2, "no such folder is not a lake: there is no such folder."),
    (["audit", "--lake", "no such folder"], 2, "no such folder is not a lake: there is no such folder."),
    (["audit", "--lake", "conf"], 1, "conf is not a lake: it has none of its tables."),
    (["run", "--lake", str(ROOT / "conf"), "--until-quiet"], 1, "conf is not a lake: it has no ledger."),
    (["folder"], 2, "Missing command"),
    (["play", str(SCENARIOS / "walk_through.toml")], 1, "No `java` in /there is no java/bin"),
]


@pytest.fixture(scope="module")
def refused() -> list[tuple[int, str, str]]:
    """What each of them is told, one by one, where no Java is."""
    return one_by_one([(words, ROOT, {}) for words, _, _ in REFUSED], NO_JAVA)


@pytest.mark.parametrize("nth", range(len(REFUSED)), ids=[" ".join(words)[:60] for words, _, _ in REFUSED])
def test_refusals(nth: int, refused: list[tuple[int, str, str]]) -> None:
    _, expected, told = REFUSED[nth]
    code, out, err = refused[nth]
    assert (code, out) == (expected, "")
    assert err.startswith("pfspark: ") and told in err
    assert "Traceback" not in err and "not foreseen" not in err
    assert "\npfspark: " not in err  # what a name brings along begins no line of its own


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("a=1", 1),
        ("a=15m", "15m"),
        ('a="15m"', "15m"),
        ("a=b=c", "b=c"),
        ("a='b' # c", "'b' # c"),
        ('a="b # c"', "b # c"),
        ("a=1\nb=2", "1\nb=2"),
        ("a=" + "9" * 5000, "9" * 5000),
        ("a=" + "[" * 5000, "[" * 5000),
    ],
)
def test_values_of_options(pair: str, value: object) -> None:
    """All that is said counts: as TOML has it, or as the text that it is."""
    assert values([pair]) == {"a": value}


@pytest.mark.parametrize(
    ("said", "text"),
    [("2026", "2026"), ("true", "true"), ("[1, 2]", "[1, 2]"), ("2026-01-05", "2026-01-05"), ('"2026"', "2026"), ("a b", "a b")],
)
def test_a_text_stays_as_it_was_said(said: str, text: str) -> None:
    """Whatever else TOML could read in it; other values are what they are."""
    assert values([f"note={said}", "conflict=2"], texts=TEXTS) == {"note": text, "conflict": 2}


def test_texts_are_what_may_be_any_text() -> None:
    words = {name for name, field in FolderProperties.model_fields.items() if field.annotation == Word | None}
    assert words == {*TEXTS}


def test_what_is_wrong_in_a_file_is_told_without_its_tricks(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text('start = 2026-01-05\nend = "1h"\n[stores.PFS1]\n["st\\u001b[2Jeps\\u202e"]\n')
    done = pfspark("play", str(file))
    assert (done.returncode, done.stdout) == (1, b"")
    told = done.stderr.decode()
    assert str(file) in told and "\x1b" not in told and "\u202e" not in told


def test_a_fault_of_ours_shows_its_trace_on_demand(tmp_path: Path) -> None:
    (tmp_path / "pyspark.py").write_text("raise ZeroDivisionError('a fault')")
    words = ["play", str(SCENARIOS / "walk_through.toml")]
    places = f"{tmp_path}{os.pathsep}{ROOT}"
    done = pfspark(*words, PYTHONPATH=places)
    assert done.returncode == 1
    assert done.stderr.decode() == (
        "pfspark: ZeroDivisionError: a fault\n  This was not foreseen. PFSPARK_DEBUG=1 shows where it happened.\n"
    )
    (tmp_path / "pyspark.py").write_text("raise ZeroDivisionError('a\\x1b[2J fault')")
    traced = pfspark(*words, PYTHONPATH=places, PFSPARK_DEBUG="1")
    assert traced.returncode == 1 and b"Traceback" in traced.stderr and b"\x1b" not in traced.stderr


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ('profile = "exchange_207"', "profile 'exchange_207' is not known"),
        ('profil = "modern"', "key 'profil' is not known"),
        ('[[steps]]\nat = "0m"\ncut = ["PFS9"]', "'PFS9' is not known"),
    ],
)
def test_what_is_wrong_in_a_file_is_refused(tmp_path: Path, wrong: str, told: str) -> None:
    """The same names in the words of a command are wrong usage."""
    text = 'start = 2026-01-05T00:00:00Z\nend = "1h"\n{}\n[stores.PFS1]\n{}\n'
    (tmp_path / "wrong.toml").write_text(text.format("", wrong) if "[[" in wrong else text.format(wrong, ""))
    done = pfspark("play", str(tmp_path / "wrong.toml"))
    assert (done.returncode, done.stdout) == (1, b"") and told in done.stderr.decode()


def test_the_readme_says_the_exit_codes_as_the_errors_do() -> None:
    said = re.findall(r"^- (\d+): ([a-z ]+)", str(errors.__doc__), re.MULTILINE)
    assert [code for code, _ in said] == ["0", "1", "2", "3", "4", "130", "141"]
    readme = " ".join((ROOT / "README.md").read_text().split())
    sentence = readme[readme.index("Exit codes: ") :]
    assert sentence.startswith(f"Exit codes: {', '.join(f'{code} {says}' for code, says in said[:2])}")
    assert all(f" {code} {says}" in sentence[:700] for code, says in said)
    children = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.PfsparkError)]
    others = {"0", str(ends.INTERRUPTED), str(ends.CUT_SHORT)}
    assert {str(each.exit_code) for each in children} | others == {code for code, _ in said}


def test_version_and_help() -> None:
    try:
        known = version("pfspark")
    except PackageNotFoundError:
        known = "not installed: a checkout"
    assert pfspark("--version").stdout.decode() == known + "\n"
    asked = pfspark("--help")
    assert asked.returncode == 0 and {b"play", b"set", b"doctor"} <= set(asked.stdout.split())
    assert pfspark().stdout == asked.stdout


@pytest.mark.parametrize("words", [["--help"], ["--version"], SETS, ["rules", "R95"], ["docs", "gap"]])
def test_what_needs_no_spark_loads_none(words: list[str]) -> None:
    """Loading Spark, pandas and Arrow takes longer than all that these verbs do."""
    asked = [sys.executable, "-X", "importtime", "-c", PFSPARK, *words]
    told = subprocess.run(asked, capture_output=True, env=NO_JAVA, timeout=60, text=True)
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in told.stderr.splitlines() if "|" in line}
    assert told.returncode == 0 and "pfspark" in loaded
    assert not loaded & {"pyspark", "pandas", "pyarrow"}


def test_who_reads_may_stop_reading() -> None:
    asked = [sys.executable, "-c", PFSPARK, "set", "-"]
    with subprocess.Popen(asked, stdin=-1, stdout=-1, stderr=-1, env=environment()) as running:
        assert running.stdin and running.stdout and running.stderr
        running.stdin.write(b"union\tA:1\tA:2\n")
        running.stdin.flush()
        assert running.stdout.readline() == b"A:1-2\n"  # each line is answered at once
        running.stdout.close()
        running.stdin.write(b"union\tA:1\tA:2\n")
        running.stdin.close()
        assert running.stderr.read() == b""
    assert running.returncode == 141


def test_interrupted() -> None:
    asked = [sys.executable, "-c", PFSPARK, "set", "-"]
    with subprocess.Popen(asked, stdin=-1, stdout=-1, stderr=-1, env=environment()) as running:
        assert running.stdin and running.stdout and running.stderr
        running.stdin.write(b"union\tA:1\tA:2\n")
        running.stdin.flush()
        running.stdout.readline()
        running.send_signal(signal.SIGINT)
        assert running.stderr.read() == b"pfspark: stopped\n"
    assert running.returncode == 130


# --- in this process, with the session that all tests share ---


@pytest.fixture(scope="module")
def two_rounds(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A scenario of two rounds, one of its names not to be trusted."""
    file = tmp_path_factory.mktemp("scenarios") / "two_rounds.toml"
    file.write_text("""
        name = "Two rounds"
        start = 2026-01-05T00:00:00Z
        end = "15m"
        [stores.PFS1]
        [stores.PFS2]
        [folders."/[red]Sales\\u202e"]
        holds = "PFS1:1-3"
        [[steps]]
        at = "0m"
        post = { store = "PFS1", folder = "/[red]Sales\\u202e", count = 2 }
        [[steps]]
        at = "0m"
        delete = { store = "PFS1", folder = "/[red]Sales\\u202e", item = "PFS1:77" }
        [[steps]]
        at = "15m"
        show = ["state", "items", "folders"]
    """)
    return str(file)


def test_play_for_programs(run: Callable[..., str], two_rounds: str) -> None:
    lines = [json.loads(line) for line in run("play", two_rounds, "--json").splitlines()]
    assert {line["kind"] for line in lines} == {"message", "refused", "state", "item", "folder", "end"}
    assert [line["carries"] for line in lines if line["kind"] == "message"] == ["PFS1:4-5"]
    assert {line["folder"] for line in lines if line["kind"] == "item"} == {"/[red]Sales\u202e"}
    assert lines[-1] == {
        "org": "Two rounds", "at": "2026-01-05T00:15:00Z", "kind": "end", "rounds": 2, "converged": True, "missing": 0,
        "violations": 0,
    }  # fmt: skip


def test_play_for_people(run: Callable[..., str], two_rounds: str) -> None:
    lines = [" ".join(line.split()) for line in run("play", two_rounds).splitlines()]
    assert lines[0] == "2026-01-05 00:00 PFS1 refused the edit (step 2: delete PFS1:77 in /[red]Sales): unknown_item"
    assert lines[1] == "2026-01-05 00:00 PFS1 → PFS2 0x4 content /[red]Sales carries PFS1:4-5 (2,048 bytes)"
    assert lines.count("state at 2026-01-05 00:15") == 1  # one table for all stores
    assert "PFS2 /[red]Sales PFS1:1-5 active" in lines
    assert "PFS2 /[red]Sales PFS1:4 PFS1:4 PFS1:4" in lines  # an item, without a name of its own
    assert "PFS2 /[red]Sales PFS1:1 PFS1, PFS2" in lines  # the folder, its id, its replicas
    assert lines[-1] == "2026-01-05 00:15 end after 2 rounds: converged, 0 missing"


def test_the_doctor(run: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    checks = {line["name"]: line for line in map(json.loads, run("doctor", "--json").splitlines())}
    assert checks["Delta"]["ok"] is True
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    shown = run("doctor", code=1)
    assert "BAD Java" in shown and "Install a full OpenJDK" in shown


def test_a_ctrl_c_is_seen_behind_what_it_caused() -> None:
    try:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise ConnectionError("gateway") from None
    except ConnectionError as error:
        assert ends.interrupted(error)
    assert not ends.interrupted(ConnectionError("gateway"))


@pytest.fixture(scope="module")
def with_folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with two stores and two folders, made without Java."""
    lake = tmp_path_factory.mktemp("completed") / "lake"
    words = (
        "init", "store add PFS1 --site Redmond", "store add PFS2 --site Redmond", "folder create /Sales --store PFS1",
        "folder create /West --store PFS1",
    )  # fmt: skip
    done = one_by_one([(each.split(), lake.parent, {}) for each in words], NO_JAVA | {"PFSPARK_LAKE": str(lake)})
    assert [code for code, _, _ in done] == [0] * len(words), done
    return lake


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("pfspark wh", ["why", "whatif"]),
        ("pfspark folder cr", ["create"]),
        ("pfspark why --fol", ["--folder"]),
        ("pfspark post --store P", ["PFS1", "PFS2"]),
        ("pfspark items --store X", []),
        ("pfspark post --lake /nowhere --store P", []),
    ],
)
def test_a_shell_is_offered_words_and_stores_without_java(words: str, offered: list[str], with_folders: Path) -> None:
    asked = {"_PFSPARK_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    done = pfspark(PFSPARK_LAKE=str(with_folders), **asked)
    assert (done.returncode, done.stdout.decode().split(), done.stderr) == (0, offered, b"")


def test_each_module_of_verbs_has_those_that_it_is_said_to_have() -> None:
    """A command imports the module that is said to have its verb, and no other."""
    for subject, verbs in cli.SUBJECTS.items():
        assert {*commands(verbs[-1])} == {*verbs}, subject
    everything = [verb for verbs in cli.SUBJECTS.values() for verb in verbs]
    assert sorted(commands(None)) == sorted(commands("pots")) == sorted(everything)


def commands(verb: str | None) -> list[str]:
    return [*cast(typer.core.TyperGroup, typer.main.get_command(cli.app(verb))).commands]


def test_a_wrong_verb_is_told_the_right_one() -> None:
    told = pfspark("pots")
    assert told.returncode == 2 and b"Did you mean 'post'" in told.stderr


def test_where_spark_is_not_installed_it_is_said_what_brings_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lacking(_where: str) -> None:
        raise ModuleNotFoundError("No module named 'py4j'", name="py4j")

    monkeypatch.setattr("pfspark.cli.given.named", lacking)
    assert cli.run(["status"]) != 0
    assert capsys.readouterr().err.split("\n")[0] == (
        "pfspark: Spark is not installed here: Python finds no `py4j`. `pip install 'pfspark[local]'` brings it."
    )
