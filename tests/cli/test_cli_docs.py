"""The reference: every JSON line and every table as declared, and every line that was ever printed as the reference says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import typer

from pfspark import cli
from pfspark.printed import LINES
from pfspark.tables import TABLES
from tests.declared import assert_declared

GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("*.jsonl"))


def reference(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert cli.run(["docs", *words]) == code
    said = capsys.readouterr()
    return said.err if code else said.out


def test_the_reference_has_every_line_and_table(capsys: pytest.CaptureFixture[str]) -> None:
    text = reference(capsys)
    assert re.findall(r"^## JSON line `(\w+)`$", text, re.MULTILINE) == [*LINES]
    assert re.findall(r"^## Table `(\w+)`$", text, re.MULTILINE) == [*TABLES]
    columns = [column for each in (*LINES.values(), *TABLES.values()) for column in getattr(each, "keys", None) or each.columns]
    rows = re.findall(r"^\| `([a-z_]+\??)` \| `(.+?)` \| (.+) \|$", text, re.MULTILINE)
    assert rows == [(column.name, column.type, column.says) for column in columns]


def test_the_reference_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [*map(json.loads, reference(capsys, "--json").splitlines())]
    for line in lines:
        assert_declared(line)
    assert [line["name"] for line in lines] == [*LINES, *TABLES]
    [of_line, of_table] = map(json.loads, reference(capsys, "state", "--json").splitlines())
    assert (of_line["is"], of_line["written_by"], of_table["is"]) == ("line", ["state", "play", "demo"], "table")
    assert of_line["columns"][0] == {"name": "org", "type": "string", "says": "the organization"}
    assert reference(capsys, "stat", code=2) == "pfspark: no table and no line is called 'stat'; the nearest known is 'state'\n"


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: str(file.stem))
def test_what_was_printed_once_is_as_declared(file: Path) -> None:
    """Keys may be added to the declaration, never removed or renamed: these files are older than it."""
    for line in file.read_text().splitlines():
        assert_declared(json.loads(line))


def commands(group: typer.core.TyperGroup, *above: str) -> dict[str, typer.core.TyperCommand]:
    found = {}
    for name, command in group.commands.items():
        named = (*above, name)
        found |= commands(command, *named) if hasattr(command, "commands") else {" ".join(named): command}
    return found


VERBS = commands(typer.main.get_command(cli.app()))
SILENT = {
    "store add", "store set", "link set", "link remove", "org set", "suspend", "resume", "wait", "report"
}  # fmt: skip
"""They print no lines: what they did is told on stderr, or can be asked; `report` writes a page."""


def test_every_verb_that_prints_declares_its_lines() -> None:
    printing = {verb for line in LINES.values() for verb in line.verbs}
    assert printing == VERBS.keys() - SILENT
    for name, command in VERBS.items():
        options = {option for each in command.params for option in each.opts}
        assert ("--json" in options) == (name not in SILENT), name


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_says_what_it_does(verb: str) -> None:
    """In a sentence; and so does each of its arguments and options."""
    said = VERBS[verb].help or ""
    assert re.match(r"[A-Z].{10,}?[.:]", said, re.DOTALL), verb
    silent = [each.name for each in VERBS[verb].params if not (getattr(each, "help", "") or each.name == "help")]
    assert not silent, f"{verb}: {silent}"


@pytest.mark.parametrize("said", [{}, {"edit": 1}, {"edit": "a", "x": 1}, {"edit": "a", "kind": "edits"}])
def test_what_is_not_declared_is_noticed(said: dict[str, object]) -> None:
    line = {"kind": "edit"} | said
    with pytest.raises(AssertionError, match=r"absent|declare|is no string"):
        assert_declared(line)
