"""Steps that are made round after round, of other rows each time: their plans are analyzed once.

Of a small step half of the time goes into saying it to Java, call by call, and into analyzing each of these. What comes of that
is the same whatever rows there are, so it is kept: the analyzed plan, in which the next time only the leaves are others.
Spark optimizes, plans and runs it as any. Of a step that is made once no more is kept than what it was; and where there is no
Java to keep plans of, as by Spark Connect, nothing is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from pfspark import execute
from pfspark.edge.spark.leaves import MUCH, Java, Lying, java_of
from pfspark.rows import are_one_part

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pfspark.frame import Frame
    from pfspark.materializer import Leaf, Step

Shape = tuple[object, ...]


class Plan:
    """An analyzed plan in which leaves stand for rows: its nodes, each after its children, which it has by their places; of a
    leaf the columns, and the number of its rows."""

    def __init__(self, java: Java, once: Once) -> None:
        """The plan of a step that Spark has analyzed once."""
        self._java = java
        self._kind, self._schema = once.kind, None
        self._nodes: list[tuple[Any, tuple[int, ...], int | None]] = []
        numbers = self._java.by_identity()
        for number, leaf in enumerate(once.leaves):
            numbers.put(self._java.leaf_of(leaf).productElement(1), number)
        self._add(once.built.queryExecution().analyzed(), numbers)
        # The nodes that are kept hold no rows: those of this time were held as long as they.
        empty = self._made([self._java.empty] * len(once.leaves))
        self._nodes = [
            (node if number is not None else without, places, number)
            for (node, places, number), without in zip(self._nodes, empty, strict=True)
        ]

    def _add(self, node: Any, numbers: Any) -> int:
        children = node.children()
        places = tuple(self._add(children.apply(nth), numbers) for nth in range(children.size()))
        number = None
        if not places and (number := numbers.get(node.productElement(1))) is None:
            raise ValueError(f"found {node.toString()}, expected what was given: its rows would be those of this time for ever")
        self._nodes.append((node if number is None else node.output(), places, number))
        return len(self._nodes) - 1

    def _made(self, leaves: Sequence[Callable[[Any], Any]]) -> list[Any]:
        """The nodes; what makes the leaves is given their columns."""
        made: list[Any] = []
        for node, places, number in self._nodes:
            if number is not None:
                made.append(leaves[number](node))
            else:
                made.append(node.withNewChildren(self._java.nodes([made[place] for place in places])))
        return made

    def of(self, spark: SparkSession, leaves: Sequence[Leaf]) -> DataFrame:
        """The frame of the plan, of the rows that there are now."""
        plan = self._made([_made_leaf(self._java, leaf) for leaf in leaves])[-1]
        plan.setAnalyzed()  # as were the nodes that it is made of
        frame = self._kind(self._java.frame(plan), spark)
        self._schema = frame._schema = self._schema or frame.schema
        return cast("DataFrame", frame)


@dataclass(frozen=True)
class Once:
    """A step that was made once: the frame that was built, and its leaves, as Java has them; and what kind of frame it is."""

    built: Any
    leaves: Sequence[Any]
    kind: Callable[[Any, SparkSession], Any]


class Never:
    """A step whose plan cannot be had."""


_PLANS: WeakKeyDictionary[SparkSession, WeakKeyDictionary[Frame, dict[Shape, Once | Plan | Never]]] = WeakKeyDictionary()
"""By session, by step, by the shape of what it is made of and the columns of that."""
_ROWS: WeakKeyDictionary[Leaf, Lying] = WeakKeyDictionary()
"""Rows that are in Java already: most leaves are read by more than one step."""
_LOCK = Lock()


def from_kept_plan(spark: SparkSession, step: Step) -> DataFrame | None:
    """The frame of a step, of the plan as it was analyzed before; None where not all its rows are here, and few, or there is no
    Java of ours."""
    if not all(map(_is_small, step.leaves)) or (java := java_of(spark)) is None:
        return None
    with _LOCK:
        plans = _PLANS.setdefault(spark, WeakKeyDictionary()).setdefault(step.frame, {})
    shape = (step.shape, *((leaf.schema, are_one_part(leaf.rows)) for leaf in step.leaves))
    known = plans.get(shape)
    if known is None:
        built = step.build(spark)
        plans[shape] = Once(built._jdf, [leaf.frame(spark)._jdf for leaf in step.leaves], type(built))
        return built
    again = None if isinstance(known, Never) else _again(java, spark, step, known)
    plans[shape], frame = again or (Never(), None)
    return frame


def _again(java: Java, spark: SparkSession, step: Step, known: Once | Plan) -> tuple[Plan, DataFrame] | None:
    """The plan that is kept, and the frame of it; None in a Java that has other plans."""
    from py4j.protocol import Py4JError

    try:
        plan = Plan(java, known) if isinstance(known, Once) else known
        return plan, plan.of(spark, step.leaves)
    except (Py4JError, AttributeError, TypeError, ValueError):
        return None


def _is_small(leaf: Leaf) -> bool:
    """Whether its rows are handed over as `leaves` has them."""
    if leaf.rows is None or leaf.schema is None:
        return False
    return bool(leaf.rows.num_rows < execute.LARGE and leaf.rows.nbytes <= MUCH)


def _made_leaf(java: Java, leaf: Leaf) -> Callable[[Any], Any]:
    """What makes leaves of its rows, which are in Java already where another step has read them."""
    assert leaf.rows is not None and leaf.schema is not None
    if not leaf.rows.num_rows:
        return java.empty
    if leaf not in _ROWS:
        _ROWS[leaf] = java.lying(leaf.rows, leaf.schema)
    return java.leaf(_ROWS[leaf])
