"""How a session materializes frames: which session a plan runs in, where rows are kept, how rows here become a frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pfspark.rows import local

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from pfspark.frame import Frame


@dataclass(frozen=True)
class OnExecutors:
    """A frame that was computed once, and whose rows stayed on the executors."""

    frame: DataFrame
    rows: int
    """How many they are."""
    collect: Callable[[], pa.Table]
    """Brings them to the driver."""


class Leaf(Protocol):
    """An input of a plan; its rows and columns where they are known on the driver."""

    rows: pa.Table | None
    schema: StructType | None

    def frame(self, spark: SparkSession) -> DataFrame:
        """The frame, in that session."""


@dataclass(frozen=True)
class Step:
    """A step of a round, with the frames that are fused into it."""

    frame: Frame
    shape: tuple[object, ...]
    """What it is made of: those frames, and the numbers of its leaves. Steps of the same shape differ in nothing but rows."""
    leaves: Sequence[Leaf]
    build: Callable[[SparkSession], DataFrame]
    """Builds its plan in that session, of the frames of its leaves."""


def keep_no_plan(_spark: SparkSession, _step: Step) -> None:
    """Each plan is built anew."""


@dataclass(frozen=True)
class Materializer:
    """What `execute` asks of the sessions that there are; the edge knows clusters and hands one in."""

    session_for: Callable[[SparkSession, int], SparkSession]
    """The session for a plan through which so many rows go: that one, or one beside it that is set to more."""
    keep: Callable[[DataFrame], OnExecutors | None]
    """Computes that frame once, and leaves its rows on the executors; None: this cluster keeps none there."""
    to_frame: Callable[[SparkSession, pa.Table, StructType], DataFrame] = local
    """Rows of the driver, as a frame of that schema."""
    from_kept_plan: Callable[[SparkSession, Step], DataFrame | None] = keep_no_plan
    """The frame of a step whose plan was kept from an earlier round; None: it has to be built."""


ALL_LOCAL = Materializer(lambda spark, _rows: spark, lambda _frame: None)
"""The session that is given, however many rows there are, and all rows on the driver."""
