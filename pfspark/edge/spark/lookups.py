"""What Java is asked once, and not at each use.

A round builds some thousand column expressions. Each asks Java twice what a name of Spark's means before the one call that
matters; and each named column takes a call to make it, another for every list it is put into, and one to forget it again.
What cannot change while Java runs is remembered here, with the objects of that Java: a new Java has new ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Asked = Callable[..., object]

VALUES = {("z:org.apache.spark.sql.functions", "col"), ("z:org.apache.spark.api.python.PythonUtils", "toSeq")}
"""Functions whose answers are values: the column of a name, and a list as Scala takes it."""


def remember() -> None:
    """Lets the classes by which Python speaks to Java remember; said again, it changes nothing."""
    from py4j.java_gateway import JavaClass, JavaMember, JVMView

    for holder, name, remembering in (
        (JavaClass, "__getattr__", _names),
        (JVMView, "__getattr__", _names),
        (JavaMember, "__call__", _values),
    ):
        ask = getattr(holder, name)
        if not hasattr(ask, "asked"):
            answer = remembering(ask)
            answer.asked = ask  # type: ignore[attr-defined]
            setattr(holder, name, answer)


def _names(ask: Asked) -> Asked:
    """Classes and their members become attributes of whom they were asked of."""
    from py4j.java_gateway import JavaClass, JavaMember

    def answer(self: object, name: str) -> object:
        found = ask(self, name)
        if isinstance(found, JavaClass | JavaMember):
            self.__dict__[name] = found
        return found

    return answer


def _values(ask: Asked) -> Asked:
    """An answer is known by what it was made of: words, or such answers."""

    def answer(self: Any, *args: object) -> object:
        made_of = _made_of([self.name, *args]) if (self.target_id, self.name) in VALUES else None
        if made_of is None:
            return ask(self, *args)
        known = self.gateway_client.__dict__.setdefault("known_values", {})
        if made_of not in known:
            known[made_of] = ask(self, *args)
            known[made_of].__dict__["made_of"] = made_of
        return known[made_of]

    return answer


def _made_of(argument: object) -> object:
    """What tells a value from all others; None where it is not known to be one."""
    from py4j.java_gateway import JavaObject

    if isinstance(argument, list):
        parts = tuple(map(_made_of, argument))
        return None if None in parts else parts
    return argument.__dict__.get("made_of") if isinstance(argument, JavaObject) else argument
