"""Rows that are here, as leaves of plans in a Java of ours.

Few are a local relation: Spark sees that there are some, or none, and what it needs not plan it does not plan. But it looks at
every row of one whenever one of its rules looks at the plan, some hundred times a plan: of rounds of a thousand organizations
that was a quarter of all that two cores did. So more of them are a table of Spark's own, which nobody opens before it is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pyarrow as pa

from pfspark.rows import IN_ONE_PART

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

SEEN, SEEN_BYTES = 500, 1 << 20
"""Rows up to which they are a local relation, and bytes: of 2 MB Spark makes none
(`spark.sql.execution.arrow.localRelationThreshold`)."""


@dataclass(frozen=True)
class Lying:
    """Rows in Java: their columns; a sequence of them, or a table of Spark's own; and what Spark is to take for their size where
    it does not see them."""

    columns: Any
    rows: Any
    is_sequence: bool
    statistics: Any | None


class Java:
    """What of Spark in Java makes and holds plans."""

    def __init__(self, spark: SparkSession) -> None:
        jvm = spark._jvm
        assert jvm is not None
        sql = jvm.org.apache.spark.sql
        plans = sql.catalyst.plans.logical
        self.by_identity = jvm.java.util.IdentityHashMap
        self.nothing = jvm.org.apache.spark.api.python.PythonUtils.toSeq([])
        self._none, self._some = jvm.scala.Option.empty(), jvm.scala.Some
        self._seen, self._unseen = plans.LocalRelation, sql.execution.LogicalRDD
        self._spread = sql.catalyst.plans.physical.UnknownPartitioning(0)
        self._frame = sql.classic.Dataset.ofRows
        self._session = spark._jsparkSession
        self._context = self._session.sparkContext()
        self._any = getattr(getattr(jvm.scala.reflect, "ClassTag$"), "MODULE$").AnyRef()
        self._bytes = jvm.java.io.ByteArrayInputStream
        self._channel = jvm.java.nio.channels.Channels.newChannel
        self._batches = getattr(getattr(sql.execution.arrow, "ArrowConverters$"), "MODULE$").getBatchesFromStream
        self._read = sql.api.python.PythonSQLUtils.toDataFrame

    def lying(self, rows: pa.Table, schema: StructType) -> Lying:
        """Rows that are here, there."""
        from pyspark.sql.pandas.types import to_arrow_schema

        # Java would read no further than to a chunk without rows.
        table = rows.cast(to_arrow_schema(schema, timezone="UTC")).combine_chunks()
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, table.schema) as writer:
            writer.write_table(table)
        batches = self._batches(self._channel(self._bytes(stream.getvalue().to_pybytes())))
        leaf = self.leaf_of(self._read(batches, schema.json(), self._session))
        is_sequence = leaf.nodeName() == "LocalRelation"
        if is_sequence and are_seen(rows):
            return Lying(leaf.output(), leaf.data(), is_sequence, None)
        return Lying(leaf.output(), leaf.productElement(1), is_sequence, self._some(leaf.computeStats()))

    def leaf(self, lying: Lying, columns: Any) -> Any:
        """Those rows as a leaf with those columns."""
        if lying.statistics is None:
            return self._seen(columns, lying.rows, False, self._none)
        rows = lying.rows
        if lying.is_sequence:
            rows = self._context.parallelize(rows, self._session.leafNodeDefaultParallelism(), self._any)
        rest = self._spread, self.nothing, False, self._none, self._session, lying.statistics, self._none
        return self._unseen(columns, rows, *rest)

    def empty(self, columns: Any) -> Any:
        """A leaf with those columns, without rows."""
        return self._seen(columns, self.nothing, False, self._none)

    def nodes(self, some: Sequence[Any]) -> Any:
        """Those nodes as a sequence of Scala's."""
        found = self.nothing
        for node in reversed(some):
            found = found.prepended(node)
        return found

    def frame(self, plan: Any) -> Any:
        """The frame of a plan, as Java has it."""
        return self._frame(self._session, plan)

    @staticmethod
    def leaf_of(frame: Any) -> Any:
        """The leaf that a frame of Java's is, in however many parts."""
        plan = frame.queryExecution().analyzed()
        while plan.children().nonEmpty():
            plan = plan.children().head()
        return plan


_JAVAS: WeakKeyDictionary[SparkSession, Java] = WeakKeyDictionary()


def are_seen(rows: pa.Table) -> bool:
    """Whether these are a local relation."""
    return bool(rows.num_rows <= SEEN and rows.nbytes <= SEEN_BYTES)


def java_of(spark: SparkSession) -> Java:
    """What makes plans of that session.

    Raises Py4JError, AttributeError or TypeError in a Java that has others.
    """
    if spark not in _JAVAS:
        _JAVAS[spark] = Java(spark)
    return _JAVAS[spark]


def handed(spark: SparkSession, rows: pa.Table, schema: StructType) -> DataFrame | None:
    """Rows that are here as a frame of that schema; None where there is no Java of ours, or one that has other plans."""
    from py4j.protocol import Py4JError
    from pyspark.sql.classic.dataframe import DataFrame as Classic

    if getattr(spark, "_jvm", None) is None:
        return None
    try:
        java = java_of(spark)
        lying = java.lying(rows, schema)
        frame = Classic(java.frame(java.leaf(lying, lying.columns)), spark)
    except (Py4JError, AttributeError, TypeError):
        return None
    return frame.coalesce(1) if rows.num_rows <= IN_ONE_PART else frame
