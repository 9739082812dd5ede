"""`pfspark rules`: the rule book for people and for programs, without Java."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from pfspark.ask import reasons
from tests.declared import assert_declared
from tests.edge.processes import NO_JAVA, PFSPARK, ROOT

BOOK = [json.loads(line) for line in (ROOT / "conf" / "rules.jsonl").read_text().splitlines()]


def rules(*words: str, code: int = 0) -> str:
    """What it prints, or says when it refuses; there is no Java."""
    asked = [sys.executable, "-c", PFSPARK, "rules", *words]
    done = subprocess.run(asked, capture_output=True, text=True, env=NO_JAVA | {"COLUMNS": "160"}, timeout=60)
    assert done.returncode == code
    return done.stderr if code else done.stdout


def test_for_programs_it_is_the_book() -> None:
    lines = [json.loads(line) for line in rules("--json").splitlines()]
    assert lines == [{"kind": "rule", **row} for row in BOOK]
    assert [json.loads(line)["rule"] for line in rules("r96", "R95", "--json").splitlines()] == ["R96", "R95"]
    untested = [json.loads(line) for line in rules("--untested", "--json").splitlines()]
    assert untested == [line for line in lines if not line["tests"]]
    for line in lines:
        assert_declared(line)


def test_for_people_it_is_a_table() -> None:
    lines = rules().splitlines()
    assert ["rule", "says", "where", "tests"] in [line.split() for line in lines]
    assert re.findall(r"^ ?(R\d+) ", "\n".join(lines), re.MULTILINE) == [row["rule"] for row in BOOK]


def test_rules_that_are_named_are_told_in_full() -> None:
    told = rules("R95", "R39").splitlines()
    worked, likened = BOOK[94], BOOK[38]
    assert told == [
        f"R95  {worked['says']}",
        *(f"  obeyed in  {place}" for place in worked["where"]),
        *(f"  held by    {test}" for test in worked["tests"]),
        f"R39  {likened['says']}",
        f"  no test:   {likened['untestable']}",
    ]
    assert len(told) > 4


def test_whatever_why_cites_is_told() -> None:
    cited = {told.rule for told in reasons.TOLD.values()} | {"R91", "Q10", "R85"}
    lines = [json.loads(line) for line in rules(*sorted(cited), "--json").splitlines()]
    assert {line["rule"] for line in lines if line["says"]} == cited
    assert reasons.CITED.keys() == cited - {row["rule"] for row in BOOK}


@pytest.mark.parametrize("name", ["R153", "R0", "95", "F1"])
def test_what_is_no_rule_is_refused(name: str) -> None:
    assert rules(name, code=2) == f"pfspark: rule {name!r} is not known, expected one from R1 to R152\n"
