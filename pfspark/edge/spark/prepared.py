"""Steps that are made round after round, of other rows each time: their plans are analyzed once.

Of a small step half of the time goes into saying it to Java, call by call, and into analyzing each of these. What comes of that
is the same whatever rows there are, so it is kept: the analyzed plan, in which the next time only the local relations are others.
Spark optimizes, plans and runs it as any. Of a step that is made once no more is kept than what it was; and where there is no
Java to keep plans of, as by Spark Connect, nothing is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

import pyarrow as pa

from pfspark import execute
from pfspark.rows import IN_ONE_PART

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pfspark.frame import Frame
    from pfspark.suited import Leaf, Step

MUCH = 1 << 20
"""Bytes of rows beyond which nothing is prepared: 2 MB are no local relation any more
(`spark.sql.execution.arrow.localRelationThreshold`)."""
Shape = tuple[object, ...]


class Plan:
    """An analyzed plan in which leaves stand for rows: its nodes, each behind its children, which it has by their places; of a
    leaf the columns, and the number of its rows."""

    def __init__(self, spark: SparkSession, once: Once) -> None:
        """The plan of a step that Spark has analyzed once."""
        self._java = Java(spark)
        self._kind, self._schema = once.kind, None
        self._nodes: list[tuple[Any, tuple[int, ...], int | None]] = []
        numbers = self._java.by_identity()
        for number, leaf in enumerate(once.leaves):
            numbers.put(self._java.relation_of(leaf).data(), number)
        self._add(once.said.queryExecution().analyzed(), numbers)
        # The nodes that are kept hold no rows: those of this time were held as long as they.
        empty = self._made([self._java.nothing] * len(once.leaves))
        self._nodes = [
            (node if number is not None else without, places, number)
            for (node, places, number), without in zip(self._nodes, empty, strict=True)
        ]

    def _add(self, node: Any, numbers: Any) -> int:
        children = node.children()
        places = tuple(self._add(children.apply(nth), numbers) for nth in range(children.size()))
        number = None
        if not places and (number := numbers.get(node.data())) is None:
            raise ValueError(f"found {node.toString()}, expected what was given: its rows would be those of this time for ever")
        self._nodes.append((node if number is None else node.output(), places, number))
        return len(self._nodes) - 1

    def _made(self, rows: Sequence[Any]) -> list[Any]:
        """The nodes, of those rows."""
        made: list[Any] = []
        for node, places, number in self._nodes:
            if number is not None:
                made.append(self._java.relation(node, rows[number], False, self._java.none))
            else:
                made.append(node.withNewChildren(self._java.nodes([made[place] for place in places])))
        return made

    def of(self, spark: SparkSession, leaves: Sequence[Leaf]) -> DataFrame:
        """The frame of the plan, of the rows that there are now."""
        plan = self._made([_rows_in_java(self._java, spark, leaf) for leaf in leaves])[-1]
        plan.setAnalyzed()  # as were the nodes that it is made of
        frame = self._kind(self._java.frame(spark._jsparkSession, plan), spark)
        self._schema = frame._schema = self._schema or frame.schema
        return cast("DataFrame", frame)


class Java:
    """What of Spark in Java makes and holds plans."""

    def __init__(self, spark: SparkSession) -> None:
        jvm = spark._jvm
        assert jvm is not None
        sql = jvm.org.apache.spark.sql
        self.relation = sql.catalyst.plans.logical.LocalRelation
        self.frame = sql.classic.Dataset.ofRows
        self.by_identity = jvm.java.util.IdentityHashMap
        self.none = jvm.scala.Option.empty()
        self.nothing = jvm.org.apache.spark.api.python.PythonUtils.toSeq([])
        self._bytes = jvm.java.io.ByteArrayInputStream
        self._channel = jvm.java.nio.channels.Channels.newChannel
        self._batches = getattr(getattr(sql.execution.arrow, "ArrowConverters$"), "MODULE$").getBatchesFromStream
        self._local = sql.api.python.PythonSQLUtils.toDataFrame

    def nodes(self, some: Sequence[Any]) -> Any:
        """Those nodes as a sequence of Scala's."""
        found = self.nothing
        for node in reversed(some):
            found = found.prepended(node)
        return found

    def rows(self, spark: SparkSession, leaf: Leaf) -> Any:
        """The rows of a leaf, as a local relation has them."""
        from pyspark.sql.pandas.types import to_arrow_schema

        assert leaf.rows is not None and leaf.schema is not None
        if not leaf.rows.num_rows:
            return self.nothing
        # Java would read no further than to a chunk without rows.
        table = leaf.rows.cast(to_arrow_schema(leaf.schema, timezone="UTC")).combine_chunks()
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, table.schema) as writer:
            writer.write_table(table)
        batches = self._batches(self._channel(self._bytes(stream.getvalue().to_pybytes())))
        return self._local(batches, leaf.schema.json(), spark._jsparkSession).queryExecution().analyzed().data()

    def relation_of(self, frame: Any) -> Any:
        """The local relation that a frame of Java's is, in however many parts."""
        plan = frame.queryExecution().analyzed()
        while plan.children().nonEmpty():
            plan = plan.children().head()
        return plan


@dataclass(frozen=True)
class Once:
    """A step that was made once: what was said to Spark, and of which leaves, as Java has them; and what kind of frame it is."""

    said: Any
    leaves: Sequence[Any]
    kind: Callable[[Any, SparkSession], Any]


class Never:
    """A step whose plan cannot be had."""


_PLANS: WeakKeyDictionary[SparkSession, WeakKeyDictionary[Frame, dict[Shape, Once | Plan | Never]]] = WeakKeyDictionary()
"""By session, by step, by the shape of what it is made of and the columns of that."""
_ROWS: WeakKeyDictionary[Leaf, Any] = WeakKeyDictionary()
"""Rows that are in Java already: most leaves are read by more than one step."""
_LOCK = Lock()


def prepared(spark: SparkSession, step: Step) -> DataFrame | None:
    """The frame of a step, of the plan as it was analyzed before; None where not all its rows are here, and few, or there is no
    Java of ours."""
    if getattr(spark, "_jvm", None) is None or not all(map(_is_small, step.leaves)):
        return None
    with _LOCK:
        plans = _PLANS.setdefault(spark, WeakKeyDictionary()).setdefault(step.frame, {})
    shape = (step.shape, *(leaf.schema for leaf in step.leaves))
    known = plans.get(shape)
    if known is None:
        said = step.said(spark)
        plans[shape] = Once(said._jdf, [leaf.frame(spark)._jdf for leaf in step.leaves], type(said))
        return said
    again = None if isinstance(known, Never) else _again(spark, step, known)
    plans[shape], frame = again or (Never(), None)
    return frame


def _again(spark: SparkSession, step: Step, known: Once | Plan) -> tuple[Plan, DataFrame] | None:
    """The plan that is kept, and the frame of it; None in a Java that has other plans."""
    from py4j.protocol import Py4JError

    try:
        plan = Plan(spark, known) if isinstance(known, Once) else known
        return plan, plan.of(spark, step.leaves)
    except (Py4JError, AttributeError, TypeError, ValueError):
        return None


def _is_small(leaf: Leaf) -> bool:
    """Whether it is a local relation in one part (`rows.local`), not a file (`crossing.handed`)."""
    if leaf.rows is None or leaf.schema is None:
        return False
    return bool(leaf.rows.num_rows <= min(IN_ONE_PART, execute.LARGE - 1) and leaf.rows.nbytes <= MUCH)


def _rows_in_java(java: Java, spark: SparkSession, leaf: Leaf) -> Any:
    if leaf not in _ROWS:
        _ROWS[leaf] = java.rows(spark, leaf)
    return _ROWS[leaf]
