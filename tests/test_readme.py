"""What the README shows: its commands are words that pfspark takes, what it shows is what is printed."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer
from pyspark.sql import SparkSession

from pfspark import cli
from pfspark.cli.given import values
from pfspark.edge.config import conf_folder
from pfspark.round import picture
from pfspark.settings import OPTIONS, load_profile, override

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
FENCED = re.compile(
    r"(?:^<!-- (?P<mark>[a-z ]+): (?P<says>[^\n]+?) -->\n)?^```(?P<kind>\w+)\n(?P<text>.+?)\n```$", re.MULTILINE | re.DOTALL
)
MARKS = {"command", "not run"}
"""`command`: `.ci/run` takes it; `not run`: the reason why no test here does."""


class Block(NamedTuple):
    """A fenced block of the README: its kind, its text, and whether tests leave it out, by a mark that stands before it."""

    kind: str
    text: str
    mark: str
    says: str


def blocks() -> list[Block]:
    found = FENCED.finditer(README)
    return [Block(each["kind"], each["text"], each["mark"] or "", each["says"] or "") for each in found]


def commands(text: str) -> Iterator[list[str]]:
    """The words of each command of pfspark in a block, without the prompt, comments and what is joined to it."""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars=";&")
        words.commenters = "#"
        words.whitespace_split = True
        command: list[str] = []
        for word in [*words, ";"]:
            if word in (";", "&&"):
                if command[:1] == ["pfspark"]:
                    yield command[1:]
                command = []
            else:
                command.append(word)


SHELL = [block for block in blocks() if block.kind in ("bash", "console")]
COMMANDS = [words for block in SHELL if block.mark != "command" for words in commands(block.text)]


def test_marks_give_their_reasons() -> None:
    marked = [block for block in blocks() if block.mark]
    assert {block.mark for block in marked} <= MARKS
    assert all(len(block.says) > 30 for block in marked if block.mark == "not run")
    assert README.count("<!-- ") == len(marked), "a mark stands right before a block"


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_commands_are_words_that_pfspark_takes(words: list[str]) -> None:
    """Those that are not run too: their verbs and options are read as the command line reads them, and nothing is done."""
    command: Any = typer.main.get_command(cli.app())
    context, rest = None, words
    while hasattr(command, "commands"):
        context = command.make_context("pfspark", list(rest), parent=context, resilient_parsing=False)
        rest = [*context._protected_args, *context.args]
        _, command, rest = command.resolve_command(context, rest)
    command.make_context(words[0], list(rest), parent=context)


def test_commands_without_a_lake_print_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    shown = [block for block in SHELL if block.kind == "console" and not block.mark]
    assert shown
    for block in shown:
        first, *rest = block.text.splitlines()
        [words] = commands(first)
        assert cli.run(words) == 0
        assert capsys.readouterr().out.splitlines() == rest


def test_lines_that_are_shown_are_printed() -> None:
    """Each is a line, or a part of one, of the play that is named last before it; `test_golden` plays that."""
    played = conf_folder() / "scenarios"
    for block in (block for block in blocks() if block.kind == "json"):
        named = re.findall(r"conf/scenarios/(\w+)\.toml", README[: README.index(block.text)])[-1]
        assert (played / f"{named}.toml").is_file()
        lines = [json.loads(line) for line in (ROOT / "tests" / "golden" / f"{named}.jsonl").read_text().splitlines()]
        shown = json.loads(block.text)
        assert any(all(line.get(name) == value for name, value in shown.items()) for line in lines), shown


def test_the_options_are_written_as_they_are_given() -> None:
    """Every option, by the name and the values that `--option` takes; each value is that of its profile."""
    table = README[README.index("## The options") : README.index("## The promises")]
    rows = re.findall(r"^\| `(\w+)` \|" + r" (.*?) \|" * 4 + r" ?(.*?) ?\|$", table, re.MULTILINE)
    assert [name for name, *_ in rows] == [*OPTIONS]
    profiles = [load_profile(name, conf_folder()) for name in ("exchange_2000", "exchange_2003", "exchange_2007", "modern")]
    for name, *cells, others in rows:
        for profile, cell in zip(profiles, cells, strict=True):
            assert override(profile, values([f"{name}={cell}"])) == profile, (name, cell)
        for other in filter(None, re.sub(r"\(.*\)", "", others).strip().split(", ")):
            assert override(profiles[0], values([f"{name}={other}"])) != profiles[0]


def test_the_rules_are_counted() -> None:
    book = [json.loads(line) for line in (conf_folder() / "rules.jsonl").read_text().splitlines()]
    untested = [row for row in book if not row["tests"]]
    told = " ".join(README.split())
    assert f"`pfspark rules` lists all {len(book)} rules" in told and f"of the {len(untested)} that no test holds" in told
    assert all(row["untestable"] for row in untested)


MAIL = b"".join(b"From a@b Mon Jan  5 07:42:11 2026\nSubject: mail %d\n\nHello\n\n" % number for number in range(3))
LOG = "Event ID: 3017\nDescription:\nOutgoing message type 0x10\nMessage ID: 1-61ADB\nFolders: (1-1) IPM_SUBTREE\n"


@pytest.mark.lakes
def test_a_lake_of_ones_own(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commands of that section one after another, in a folder with the files that they name."""
    section = re.split(r"^## ", README[README.index("## A lake of your own") :], flags=re.MULTILINE)[1]
    of_section = [block for block in SHELL if block.text in section and not block.mark]
    assert len(of_section) == 2
    (tmp_path / "mail.mbox").write_bytes(MAIL)
    (tmp_path / "server.log").write_text(LOG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PFSPARK_LAKE", "./mylake")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    opened: list[str] = []
    monkeypatch.setattr(typer, "launch", opened.append)  # what opens pages here, if anything does
    assert "export PFSPARK_LAKE=./mylake" in of_section[0].text
    said: dict[str, str] = {}
    for block in of_section:
        for words in commands(block.text):
            assert cli.run(words) == 0, (words, capsys.readouterr().err)
            said[" ".join(words)] = capsys.readouterr().out
    assert [Path(page).name for page in opened] == ["pfspark.html"]
    assert (tmp_path / "out.mbox").read_bytes().count(b"\nSubject: mail ") == 3
    assert said["status"].count("main: 4 replicas, equal") == 1
    assert said["gaps"].split() == []
    assert said["items --store PFS2 --folder /Sales"].count("mail ") == 3
    assert json.loads(said["log events --read server.log --replid 1=PFS1 --replid 5=PFS2 --json"])["event"] == 3017


@pytest.mark.parametrize("file", ["README.md", "notebooks/01_first_round.py"])
def test_the_picture_of_a_round_is_the_one_that_the_code_draws(file: str) -> None:
    text = (ROOT / file).read_text().replace("# MAGIC ", "")
    [drawn] = re.findall(r"^```mermaid\n(.+?)\n```$", text, re.MULTILINE | re.DOTALL)
    assert drawn == picture()
