"""Schemas as text: read without a session as Spark reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import types as T

from pfspark import ddl
from pfspark.printed import LINES
from pfspark.tables import EVERY, FRAMES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXTS = [
    "a string", "`a b` string, c boolean", " a  map<string , array<int>> ", "a struct<b:struct<c:timestamp,d:double>,e:binary>",
    "timestamp timestamp, map map<string,struct<array:array<bigint>>>",
]  # fmt: skip


def test_texts_are_read_as_spark_reads_them(spark: SparkSession) -> None:
    declared = [each.ddl for tables in (EVERY, FRAMES, LINES) for each in tables.values()]
    assert len(declared) > 50
    for text in [*declared, *TEXTS]:
        assert ddl.parse(text) == T.StructType.fromDDL(text), text


def test_columns_say_what_they_are_in_words() -> None:
    """No place is left in them for what was to be said there."""
    tables = [*EVERY.values(), *FRAMES.values()]
    said = {f"{table.name}.{column.name}": column.says for table in tables for column in table.columns}
    assert "create_folder" in said["edits.action"]
    assert not {name for name, text in said.items() if "{" in text or not text}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a", "found the type 'nothing', expected array, map, struct or one of string"),
        ("a text", "found the type 'text', expected array, map, struct or one of string"),
        ("a string b string", "found 'b', expected , or no more"),
        ("a array<string", "found 'no more', expected >"),
        ("a map<string>", "found '>', expected ,"),
        ("a struct<b string>", "found 'string', expected :"),
        ("a string; drop", "found '; drop' in 'a string; drop', expected a name"),
    ],
)
def test_what_is_no_schema_is_told(text: str, said: str) -> None:
    with pytest.raises(ValueError, match="expected") as told:
        ddl.parse(text)
    assert str(told.value).startswith(said)
