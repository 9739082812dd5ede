"""The rule book: every rule of the articles is obeyed somewhere, and a test fails when it is not.

`conf/rules.jsonl` ships with the package. What it says of a rule, and why a rule cannot be tested, is written by hand;
where a rule is obeyed and which tests hold it is read from the sources, and `python -m tests.test_rulebook` writes it anew.
"""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BOOK = ROOT / "conf" / "rules.jsonl"
RULES = [f"R{number}" for number in range(1, 153)]
RENEW = "python -m tests.test_rulebook writes conf/rules.jsonl anew"
CITED = re.compile(r"\bR(\d{1,3})(?:[-–]R?(\d{1,3}))?\b")
OF_THE_ORACLE = ROOT / "tests" / "sim" / "test_oracle.py"
"""The oracle is what the engine is compared with: what is tested of it holds no rule."""


def book() -> list[dict[str, Any]]:
    return [json.loads(line) for line in BOOK.read_text().splitlines()]


def cited(text: str) -> Iterator[str]:
    """The rules a text names, those within a range too."""
    for first, last in CITED.findall(text):
        yield from (f"R{number}" for number in range(int(first), int(last or first) + 1))


def places() -> dict[str, list[str]]:
    """Where docstrings, comments and values cite each rule: functions, or a module where none of its functions does."""
    found: dict[str, set[str]] = defaultdict(set)
    for file in sorted((ROOT / "pfspark").rglob("*.py")):
        name = file.relative_to(ROOT / "pfspark").as_posix()
        within = {line: f"{name}:{function}" for function, lines in functions(ast.parse(file.read_text())) for line in lines}
        for number, line in enumerate(file.read_text().splitlines(), 1):
            for rule in cited(line):
                found[rule].add(within.get(number, name))
    for profile in sorted((ROOT / "conf").glob("*.toml")):
        for rule in cited(profile.read_text()):
            found[rule].add(f"conf/{profile.name}")
    return {rule: sorted(narrowest(cites), key=functions_first) for rule, cites in found.items()}


def narrowest(cites: set[str]) -> set[str]:
    """Without the modules of which a function is named too."""
    return cites - {at.partition(":")[0] for at in cites if ":" in at}


def functions_first(at: str) -> tuple[bool, bool, str]:
    """Rules first, then other functions, then modules and profiles."""
    return not at.startswith("rules/"), ":" not in at, at


def functions(tree: ast.Module) -> Iterator[tuple[str, range]]:
    """Functions and methods of a module by name, each with its lines."""
    for node in tree.body:
        methods = node.body if isinstance(node, ast.ClassDef) else [node]
        for each in methods:
            if isinstance(each, ast.FunctionDef):
                name = f"{node.name}.{each.name}" if isinstance(node, ast.ClassDef) else each.name
                yield name, range(each.lineno, (each.end_lineno or each.lineno) + 1)


def markers() -> dict[str, list[str]]:
    """The tests that carry `@pytest.mark.rule(...)`, by rule."""
    found: dict[str, list[str]] = defaultdict(list)
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef):
                for rule in marked(node):
                    found[rule].append(f"{file.relative_to(ROOT).as_posix()}::{node.name}")
    return found


def marked(test: ast.FunctionDef) -> Iterator[str]:
    for mark in test.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.rule":
            yield from (ast.literal_eval(rule) for rule in mark.args)


def written_anew() -> list[dict[str, Any]]:
    """The book with its places and tests as the sources have them now."""
    where, held = places(), markers()
    return [
        {**row, "where": where.get(row["rule"], []), "tests": sorted(held.get(row["rule"], [])), "untestable": row["untestable"]}
        for row in book()
    ]


def test_the_book_has_every_rule_once_and_in_order() -> None:
    assert [row["rule"] for row in book()] == RULES
    assert all(row.keys() == {"rule", "says", "where", "tests", "untestable"} and row["says"] for row in book())


def test_every_rule_is_obeyed_somewhere_and_held_by_a_test() -> None:
    """Or it says why nothing can be obeyed, or tested."""
    held, where = markers(), places()
    reasons = {row["rule"]: row["untestable"] for row in book()}
    assert held.keys() | where.keys() <= set(RULES)
    untested = [rule for rule in RULES if not (held.get(rule) or reasons[rule])]
    assert not untested, f"{untested}: mark a test that fails without the rule, as @pytest.mark.rule({untested[0]!r})"
    nowhere = [rule for rule in RULES if not (where.get(rule) or reasons[rule])]
    assert not nowhere, f"{nowhere}: cite it in the docstring of what obeys it"
    both = [rule for rule in RULES if held.get(rule) and reasons[rule]]
    assert not both, f"{both}: there is a test, so it is testable: take the reason out of conf/rules.jsonl"


def test_no_test_of_the_oracle_holds_a_rule() -> None:
    assert "mark.rule" not in OF_THE_ORACLE.read_text(), "mark a test of the engine: the oracle is what it is compared with"


def test_the_book_is_what_sources_and_markers_say() -> None:
    stale = [row["rule"] for row, anew in zip(book(), written_anew(), strict=True) if row != anew]
    assert not stale, f"{stale}: {RENEW}"


if __name__ == "__main__":
    BOOK.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in written_anew()))
