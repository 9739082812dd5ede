"""Tables that people write, as models: of what fits values are made; of what does not, one sentence tells.

>>> class Store(Entry):
...     site: str
...     preferred: bool = False
>>> Store.read({"site": "Paris"})
Store(site='Paris', preferred=False)
>>> Store.read({"siet": "Paris"})
Traceback (most recent call last):
pfspark.errors.UsageError: key 'siet' is not known, expected site, preferred; the nearest known is 'site'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from pfspark.errors import UsageError
from pfspark.units import nearest, shown, unknown

Reader = Callable[[Any], Any]
"""What makes a value of what TOML or JSON gave; what does not fit is a UsageError that says what was seen and expected."""

_UNFIT = "unfit"
_QUOTED = re.compile("'([^']*)'")
"""A word of those that pydantic says it expected."""
_FIRST = ("model_type", "invalid_key", "extra_forbidden", "missing")
"""Mistakes that are told before others: who wrote a key wrong has not said its value either."""
_EXPECTED = {
    "bool_type": "true or false",
    "dict_type": "a table",
    "list_type": "a list of tables, each under a heading in double brackets",
    "string_type": "a text",
    "string_unicode": "a text that UTF-8 can write",
}


class Entry(BaseModel):
    """A table: its keys are the fields of the model, and no others."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    @classmethod
    def read(cls, found: object, known: object = None) -> Self:
        """What a table says; `known` is handed to the readers that need it, see `reads_by`.

        Raises UsageError for the first mistake.
        """
        try:
            return cls.model_validate(found, context=known)
        except ValidationError as error:
            raise UsageError(explained(error)) from None

    @classmethod
    def known_keys(cls) -> list[str]:
        """Its keys, as they are written."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    def said(self) -> dict[str, Any]:
        """What the table itself says, by field."""
        return {name: value for name, value in self if name in self.model_fields_set}

    @model_validator(mode="wrap")
    @classmethod
    def _explained(cls, found: object, read: ModelWrapValidatorHandler[Self]) -> Self:
        for key in cls.known_keys():
            if isinstance(found, Mapping) and key in found and found[key] is None:
                raise _unfit(f"{key}: found None, expected a value, or no such key")
        try:
            return read(found)
        except ValidationError as error:
            raise _unfit(cls._explain(min(error.errors(), key=_rank))) from None

    @classmethod
    def _explain(cls, mistake: ErrorDetails) -> str:
        """The sentence about a mistake, after the keys that lead to it."""
        place, found, keys = [str(each) for each in mistake["loc"]], mistake["input"], cls.known_keys()
        match mistake["type"]:
            case "model_type":
                said = f"found {shown(found)}, expected a table with {', '.join(keys)}"
            case "extra_forbidden" | "invalid_key":
                key = place.pop()
                said = str(unknown("key", key, keys, expected=", ".join(keys)))
            case "missing":
                said = f"key {place.pop()!r} is missing"
            case "literal_error":
                known = _QUOTED.findall(mistake["ctx"]["expected"])
                said = f"found {shown(found)}, expected {' or '.join(known)}{nearest(found, known)}"
            case str(kind) if kind == _UNFIT:
                said = mistake["ctx"]["said"]
            case other:
                said = f"found {shown(found)}, expected {_EXPECTED[other]}"
        return ": ".join([*place, said])


def explained(error: ValidationError) -> str:
    """What was told of the first mistake in an entry."""
    [mistake] = error.errors()
    return str(mistake["ctx"]["said"])


def reads(reader: Reader) -> PlainValidator:
    """The annotation of a field whose values a reader takes."""
    return reads_by(lambda _known: reader)


def reads_by(reader_for: Callable[[Any], Reader]) -> PlainValidator:
    """A reader that depends on what is known, for a field."""

    def read(value: object, given: ValidationInfo) -> Any:
        try:
            return reader_for(given.context)(value)
        except UsageError as error:
            raise _unfit(str(error)) from None

    return PlainValidator(read)


def _rank(mistake: ErrorDetails) -> int:
    kind = mistake["type"]
    return _FIRST.index(kind) if kind in _FIRST else len(_FIRST)


def _unfit(said: str) -> PydanticCustomError:
    # pydantic drops a text that is no UTF-8, as names may be that were bytes of a command line.
    return PydanticCustomError(_UNFIT, "{said}", {"said": said.encode(errors="backslashreplace").decode()})
