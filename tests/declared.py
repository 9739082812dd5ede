"""JSON lines held beside their declaration (`printed.LINES`): what verbs print is what `pfspark docs` says they print."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pfspark import cntext
from pfspark.printed import LINES

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z")
PLAIN: Mapping[str, Any] = {"string": str, "bigint": int, "double": (int, float), "boolean": bool}


def assert_declared(line: Mapping[str, Any]) -> None:
    """It has the keys of its kind, each with a value of its type."""
    assert "kind" in line, f"{line}: a line without a kind"
    assert line["kind"] in LINES, f"{line['kind']}: declare the line in pfspark/printed.py"
    assert not (faults := [*_faults(line)]), f"{faults} in {line}: pfspark/tables.py says otherwise"


def _faults(line: Mapping[str, Any]) -> Iterator[str]:
    declared = {key.name.removesuffix("?"): key for key in LINES[line["kind"]].keys}
    yield from (f"{name} is not declared" for name in line.keys() - declared.keys() - {"kind"})
    for name, key in declared.items():
        if name not in line:
            if not key.name.endswith("?"):
                yield f"{name} is absent"
        elif not _is(line[name], key.type):
            yield f"{name}: {line[name]!r} is no {key.type}"


def _is(value: Any, type: str) -> bool:
    if type.endswith("?"):
        return value is None or _is(value, type[:-1])
    outer, _, inner = type.partition("<")
    inner = inner.removesuffix(">")
    match outer:
        case "array":
            return isinstance(value, list) and all(_is(each, inner) for each in value)
        case "map":
            return isinstance(value, dict) and all(_is(each, inner.partition(",")[2]) for each in value.values())
        case "struct":
            fields = dict(field.split(":", 1) for field in re.split(r",(?![^<]*>)", inner))  # not at those of a nested type
            return isinstance(value, dict) and value.keys() == fields.keys() and all(_is(value[k], fields[k]) for k in fields)
        case "time":
            return isinstance(value, str) and bool(MOMENT.fullmatch(value))
        case "set":
            return isinstance(value, str) and cntext.show(cntext.parse(value)) == value
    return isinstance(value, PLAIN[outer]) and (outer == "boolean" or not isinstance(value, bool))
