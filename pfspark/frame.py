"""Deferred rules: a round is drawn as a graph before anything of it runs.

A rule is a function of frames. Called with DataFrames it runs at once; called with a `Frame`, a node of the graph, it adds a
node and asks Spark nothing:

    @rule("noted")
    def note(coverage: DataFrame, *, replicas: DataFrame, clock: DataFrame) -> DataFrame: ...

    noted = note(coverage, replicas=replicas, clock=clock)

Whoever draws writes as if the frames were there; `pfspark.execute` runs the nodes that somebody needs.
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
    """What a rule declares: what it gives, and which of its parameters decide whether it has to run at all.

    Parameters that `drives` or `needs` name are computed first; all others only if the rule is going to run.

    Attributes:
        name: module and function, as in `backfill.note`.
        body: the function of DataFrames.
        signature: its parameters.
        gives: the frame of `tables.FRAMES`, or the view, whose columns the result has.
        like: in place of `gives`, the parameter whose columns the result has.
        drives: parameters of which at least one must have a row; if all are empty the rule does not run and gives no rows.
            By default the positional ones, and none where there are `needs`.
        needs: parameters of which each must have a row; if any is empty the rule does not run and gives no rows.
        amends: a parameter that is given back as it is, in place of no rows, where the rule does not run.
        inline: not computed by itself, unless somebody wants its rows, but fused into the plans that read it: for projections
            and joins with few rows.
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
    """A node: a rule and its arguments by parameter; without a rule, an input of the graph by its name."""

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
    """An input of the graph, by its name."""
    return cast(DataFrame, Frame(name))


def phase(draw: Callable[P, T]) -> Callable[P, T]:
    """Marks a function that draws a part of the graph: its nodes carry its name."""

    @wraps(draw)
    def marked(*args: P.args, **kwargs: P.kwargs) -> T:
        before = _PHASE.set(draw.__name__)
        try:
            return draw(*args, **kwargs)
        finally:
            _PHASE.reset(before)

    return marked


def node(frame: DataFrame) -> Frame:
    """The node that a rule returned while a graph was drawn."""
    assert isinstance(frame, Frame), f"found {type(frame).__name__}, expected a node of a graph"
    return frame
