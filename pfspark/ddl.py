"""Schemas as text, read without a session: `org string, seen array<struct<store:string,at:timestamp>>`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pyspark.sql import types as T

PLAIN: dict[str, type[T.DataType]] = {
    "string": T.StringType, "bigint": T.LongType, "int": T.IntegerType, "boolean": T.BooleanType, "double": T.DoubleType,
    "timestamp": T.TimestampType, "binary": T.BinaryType,
}  # fmt: skip
"""The types that tables and frames are made of."""
_WORD = re.compile(r"\s*(?:`(?P<quoted>[^`]+)`|(?P<word>\w+)|(?P<sign>[<>:,]))\s*")


def parse(text: str) -> T.StructType:
    """The columns that a text names, each with its type; all may be null.

    Raises ValueError for what is no such text.

    >>> parse("org string, spans array<struct<low:bigint,high:bigint>>").simpleString()
    'struct<org:string,spans:array<struct<low:bigint,high:bigint>>>'
    """
    return _fields(_words(text), between="", end="")


def _words(text: str) -> Iterator[str]:
    place = 0
    while place < len(text):
        found = _WORD.match(text, place)
        if found is None:
            raise ValueError(f"found {text[place : place + 20]!r} in {text!r}, expected a name, a type or one of < > : ,")
        yield found["quoted"] or found["word"] or found["sign"]
        place = found.end()


def _fields(words: Iterator[str], between: str, end: str) -> T.StructType:
    """Names and types, with `between` in the middle of each, up to the sign at their end."""
    fields = []
    for name in words:
        if between:
            _expect(words, between)
        fields.append(T.StructField(name, _type(words)))
        if _expect(words, ",", end) == end:
            break
    return T.StructType(fields)


def _type(words: Iterator[str]) -> T.DataType:
    word = next(words, "nothing")
    if word in PLAIN:
        return PLAIN[word]()
    if word not in ("array", "map", "struct"):
        raise ValueError(f"found the type {word!r}, expected array, map, struct or one of {', '.join(PLAIN)}")
    _expect(words, "<")
    if word == "struct":
        return _fields(words, between=":", end=">")
    inner = _type(words)
    if word == "array":
        _expect(words, ">")
        return T.ArrayType(inner)
    _expect(words, ",")
    value = _type(words)
    _expect(words, ">")
    return T.MapType(inner, value)


def _expect(words: Iterator[str], *signs: str) -> str:
    word = next(words, "")
    if word not in signs:
        raise ValueError(f"found {word or 'no more'!r}, expected {' or '.join(sign or 'no more' for sign in signs)}")
    return word
