"""Arguments of a wrong type, told in a sentence before anything is done with them."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cache, wraps
from inspect import Parameter, isfunction, signature
from os import PathLike
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from pfspark.errors import UsageError
from pfspark.units import shown

T = TypeVar("T", bound=type)
WORDS = {
    bool: "True or False", bytes: "bytes", datetime: "a datetime", int: "a whole number", str: "a text", timedelta: "a timedelta",
    type(None): "None",
}  # fmt: skip
ALSO = {bytes: (bytes, bytearray, memoryview)}
LONGEST = 60


def fitting(of: T) -> T:
    """That class; whoever calls a public method of an instance with an argument of a wrong type gets a UsageError that says so.

    What an annotation says beyond texts, numbers, times, and lists and tables of them is not looked at.
    """
    methods = {name: found for each in reversed(of.__mro__) for name, found in vars(each).items() if not name.startswith("_")}
    for name, found in methods.items():
        if isfunction(found):
            setattr(of, name, _checked(of, found))
    return of


def _checked(of: type, method: Callable[..., Any]) -> Callable[..., Any]:
    known = signature(method)

    @wraps(method)
    def checked(*args: Any, **named: Any) -> Any:
        with suppress(TypeError):  # what is left out, or not known, Python says itself
            for argument, value in known.bind(*args, **named).arguments.items():
                kind = known.parameters[argument]
                expected = _expected(method, argument)
                values = value if kind.kind == Parameter.VAR_POSITIONAL else (value,)
                if kind.kind != Parameter.VAR_KEYWORD and expected and not all(_is(each, expected) for each in values):
                    seen = next(each for each in values if not _is(each, expected))
                    called = f"{of.__name__}.{method.__name__}({argument}=…)"
                    raise UsageError(f"{called}: found {shown(seen, LONGEST)}, expected {_words(expected)}")
        return method(*args, **named)

    return checked


@cache
def _expected(method: Callable[..., Any], argument: str) -> Any:
    """The type that an annotation says; None: one that is not looked at, or imported for the checker alone."""
    said = {name: each for name, each in method.__annotations__.items() if name == argument}
    alone = types.SimpleNamespace(__annotations__=said)
    with suppress(KeyError, NameError):  # `self` has none
        return get_type_hints(alone, method.__globals__)[argument]
    return None


def _is(value: Any, expected: Any) -> bool:
    origin, inner = get_origin(expected), get_args(expected)
    if origin in (Union, types.UnionType):
        return any(_is(value, each) for each in inner)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping)
    if isinstance(origin, type) and issubclass(origin, PathLike):
        return isinstance(value, PathLike)
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    if expected in WORDS or expected is None:
        kinds = ALSO.get(expected, expected or type(None))
        return isinstance(value, kinds) and (expected is bool or not isinstance(value, bool))
    return True


def _words(expected: Any) -> str:
    origin, inner = get_origin(expected), get_args(expected)
    if origin in (Union, types.UnionType):
        *others, last = dict.fromkeys(map(_words, inner))
        return f"{', '.join(others)} or {last}" if others else last
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "a table of values by name"
    if isinstance(origin, type) and issubclass(origin, PathLike):
        return "a path"
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return f"a list, each {_words(inner[0])}"
    return WORDS.get(expected or type(None), "another type")
