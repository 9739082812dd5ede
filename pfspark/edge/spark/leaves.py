"""Rows that are here, as leaves of plans in a Java of ours.

Few are a local relation: Spark sees that there are some, or none, and what it needs not plan it does not plan. But it looks at
every row of one whenever one of its rules looks at the plan, some hundred times a plan: of rounds of a thousand organizations
that was a quarter of what Java ran. So more of them are a table of Spark's own, which nobody opens before it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pyarrow as pa

from pfspark.rows import arrow_schema, in_parts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

SEEN = 500
"""Rows up to which they are a local relation."""
MUCH = 7 << 18
"""Bytes beyond which rows are handed over as Spark does it by itself: of 2 MB it makes no relation whose rows it knows
(`spark.sql.execution.arrow.localRelationThreshold`)."""


@dataclass(frozen=True)
class Lying:
    """Rows that lie in Java, their columns, and the size that Spark goes by where it does not see them; None: it sees them."""

    columns: Any
    rows: Any
    size: Any | None


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
        if spark.conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false") == "true":
            raise TypeError("found columns that Java reads by offsets of 64 bits, expected those of 32 that are sent here")
        no_rows = Lying(self.nothing, self.nothing, self._some(self.empty(self.nothing).computeStats()))
        self.leaf(no_rows)(no_rows.columns)  # a Java that has other leaves is seen here

    def lying(self, rows: pa.Table, schema: StructType) -> Lying:
        """Rows that are here, there."""
        # Java would read no further than to a chunk without rows.
        table = rows.cast(arrow_schema(schema)).combine_chunks()
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, table.schema) as writer:
            writer.write_table(table)
        batches = self._batches(self._channel(self._bytes(stream.getvalue().to_pybytes())))
        leaf = self.leaf_of(self._read(batches, schema.json(), self._session))
        return Lying(leaf.output(), leaf.data(), self._some(leaf.computeStats()) if are_unseen(rows) else None)

    def leaf(self, lying: Lying) -> Callable[[Any], Any]:
        """What makes leaves of those rows, each with columns of its own; Spark knows again that they are the same rows."""
        if lying.size is None:
            return lambda columns: self._seen(columns, lying.rows, False, self._none)
        rows = self._context.parallelize(lying.rows, self._session.leafNodeDefaultParallelism(), self._any)
        rest = rows, self._spread, self.nothing, False, self._none, self._session, lying.size, self._none
        return lambda columns: self._unseen(columns, *rest)

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


_JAVAS: WeakKeyDictionary[SparkSession, Java | None] = WeakKeyDictionary()


def are_unseen(rows: pa.Table) -> bool:
    """Whether they are handed over so that Spark does not see them, and knows how many they are."""
    return bool(rows.num_rows > SEEN and rows.nbytes <= MUCH)


def java_of(spark: SparkSession) -> Java | None:
    """What makes plans of that session; None where it has no Java of ours, or one that has other plans."""
    if getattr(spark, "_jvm", None) is None:
        return None
    from py4j.protocol import Py4JError

    if spark not in _JAVAS:
        try:
            _JAVAS[spark] = Java(spark)
        except (Py4JError, AttributeError, TypeError):
            _JAVAS[spark] = None
    return _JAVAS[spark]


def to_frame(spark: SparkSession, rows: pa.Table, schema: StructType) -> DataFrame | None:
    """Rows that are here as a frame of that schema; None where `java_of` is none."""
    if (java := java_of(spark)) is None:
        return None
    from py4j.protocol import Py4JError
    from pyspark.sql.classic.dataframe import DataFrame as Classic

    try:
        lying = java.lying(rows, schema)
        frame = Classic(java.frame(java.leaf(lying)(lying.columns)), spark)
    except (Py4JError, AttributeError, TypeError):
        return None
    return in_parts(frame, rows)
