"""Frames that are drawn before they are made: what a rule declares, and a step of a round that has not run.

A rule is a function of frames. Called with DataFrames it is just that; called with what is drawn it draws one step more,
and asks Spark nothing:

    @rule("noted")
    def note(coverage: DataFrame, *, replicas: DataFrame, clock: DataFrame) -> DataFrame: ...

    noted = note(coverage, replicas=replicas, clock=clock)

Whoever draws writes as if the frames were there; `pfspark.execute` makes those that somebody needs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from pyspark.sql import DataFrame

P = ParamSpec("P")
T = TypeVar("T")

_PHASE: ContextVar[str] = ContextVar("_PHASE", default="")


@dataclass(frozen=True)
class Rule:
    """What a rule declares of what it gives.

    Attributes:
        name: where it stands, as in `backfill.note`.
        body: the function of DataFrames.
        signature: its parameters.
        gives: the frame of `tables.FRAMES`; empty: rows of the same columns as those of `like`.
        like: a parameter.
        drives: parameters, by default those without a keyword, and none where there are `needs`. Where none of these has a row
            the rule has none to give. They, and what it needs, are made first; all else that it is given only where there is
            something to say.
        needs: parameters. Where any of these has no row the rule has none to give.
        amends: a parameter: a view, which where the rule has nothing to say stays as it is.
        inline: a projection, or a join of few: unless it is wanted it is not made by itself, but fused into those who read it.
    """

    name: str
    body: Callable[..., DataFrame]
    signature: inspect.Signature
    gives: str
    like: str
    drives: tuple[str, ...]
    needs: tuple[str, ...]
    amends: str
    inline: bool


@dataclass(frozen=True, eq=False)
class Frame:
    """A step that has not run: a rule and what it is given, by parameter; or, without a rule, what is given to the whole."""

    name: str
    rule: Rule | None = None
    given: Mapping[str, object] = field(default_factory=dict)
    phase: str = field(default_factory=_PHASE.get)

    def of(self, names: Iterable[str]) -> tuple[Frame, ...]:
        """The frames given as those parameters."""
        return tuple(each for name in names if name in self.given for each in _frames(self.given[name]))

    @property
    def inputs(self) -> tuple[Frame, ...]:
        """All frames that it is given."""
        return self.of(self.given)

    def call(self, made: Callable[[Frame], Any], body: Callable[..., Any] | None = None) -> Any:
        """What the rule gives of its frames as they were `made`; or another `body` in its place."""
        assert self.rule is not None
        arguments = {name: _there(value, made) for name, value in self.given.items()}
        bound = inspect.BoundArguments(self.rule.signature, arguments)
        return (body or self.rule.body)(*bound.args, **bound.kwargs)


def _frames(value: object) -> tuple[Frame, ...]:
    if isinstance(value, Frame):
        return (value,)
    return tuple(each for each in value if isinstance(each, Frame)) if isinstance(value, tuple) else ()


def _there(value: object, made: Callable[[Frame], Any]) -> object:
    if isinstance(value, Frame):
        return made(value)
    return tuple(_there(each, made) for each in value) if isinstance(value, tuple) else value


RULES: dict[str, Rule] = {}
"""Every rule that declares what it gives, by its name."""


def rule(
    gives: str = "",
    *,
    like: str = "",
    drives: tuple[str, ...] = (),
    needs: tuple[str, ...] = (),
    amends: str = "",
    inline: bool = False,
) -> Callable[[Callable[P, DataFrame]], Callable[P, DataFrame]]:
    """Declares a rule: see `Rule` for each word."""

    def declare(body: Callable[P, DataFrame]) -> Callable[P, DataFrame]:
        signature = inspect.signature(body)
        subjects = [each.name for each in signature.parameters.values() if each.kind != inspect.Parameter.KEYWORD_ONLY]
        name = f"{body.__module__.rpartition('.')[2]}.{body.__name__}"
        declared = Rule(
            name, body, signature, gives, like or amends, drives or (() if needs else tuple(subjects)), needs, amends, inline
        )
        RULES[name] = declared

        @wraps(body)
        def call(*args: P.args, **kwargs: P.kwargs) -> DataFrame:
            given = signature.bind(*args, **kwargs).arguments
            if any(map(_frames, given.values())):
                return cast(DataFrame, Frame(gives or name, declared, given))
            return body(*args, **kwargs)

        return call

    return declare


def source(name: str) -> DataFrame:
    """A frame that is given to the whole, by its name."""
    return cast(DataFrame, Frame(name))


def phase(draw: Callable[P, T]) -> Callable[P, T]:
    """Marks a function that draws a part of the whole: its steps carry its name."""

    @wraps(draw)
    def marked(*args: P.args, **kwargs: P.kwargs) -> T:
        before = _PHASE.set(draw.__name__)
        try:
            return draw(*args, **kwargs)
        finally:
            _PHASE.reset(before)

    return marked


def drawn(frame: DataFrame) -> Frame:
    """What stands there until it is made."""
    assert isinstance(frame, Frame), f"found {type(frame).__name__}, expected a frame that is drawn"
    return frame
