"""Lines as files for other programs: CSV, and Parquet with the types that `pfspark docs` says."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from pfspark.edge.plain import terminal
from pfspark.errors import UsageError
from pfspark.printed import LINES

FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""What spreadsheets take a cell for a formula by: subjects and names are data that somebody chose."""


class Format(StrEnum):
    """What an answer is printed as, in place of a table."""

    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


def write(found: Iterable[Mapping[str, Any]], form: Format, kind: str) -> bool:
    """Prints lines of one kind as a file, which has their columns also where there are none; whether there were any.

    CSV has a row of names, texts within, and JSON where a value is a list or a table; a text that a spreadsheet would take for a
    formula begins with `'`. Raises UsageError where Parquet would go to a terminal.
    """
    if form == Format.PARQUET and sys.stdout.isatty():
        raise UsageError("Parquet is no text for a terminal: send it to a file, > answer.parquet")
    rows = list(found)
    if form == Format.CSV:
        _csv(rows, kind)
    else:
        _parquet(rows, kind)
    return bool(rows)


def _csv(rows: list[Mapping[str, Any]], kind: str) -> None:
    written = csv.writer(sys.stdout, lineterminator="\n")
    names = [key.name.removesuffix("?") for key in LINES[kind].keys]
    written.writerow(names)
    for row in rows:
        cells = (_cell(row.get(name)) for name in names)
        written.writerow(terminal(cell) if isinstance(cell, str) and sys.stdout.isatty() else cell for cell in cells)
    sys.stdout.flush()


def _cell(value: object) -> object:
    match value:
        case bool():
            return str(value).lower()
        case list() | dict():
            return json.dumps(value)
        case str() if value.startswith(FORMULAS):
            return f"'{value}"
    return value


def _parquet(rows: list[Mapping[str, Any]], kind: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from pfspark.rows import of_lines, struct

    table = of_lines(kind, rows)
    for place, field in enumerate(struct(LINES[kind].ddl)):
        if field.dataType.typeName() == "timestamp":
            table = table.set_column(place, field.name, table[field.name].cast(pa.timestamp("us", "UTC")))
    pq.write_table(table, pa.PythonFile(sys.stdout.buffer, mode="w"))
    sys.stdout.buffer.flush()
