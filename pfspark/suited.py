"""How steps with many rows are made, as it suits the session that there is."""

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
class Left:
    """A frame that was computed once, and whose rows stayed on the executors."""

    frame: DataFrame
    rows: int
    """How many they are."""
    brought: Callable[[], pa.Table]
    """Brings them here."""


class Leaf(Protocol):
    """What is there, of which a step is made; its rows and columns where they are known here."""

    rows: pa.Table | None
    schema: StructType | None

    def frame(self, spark: SparkSession) -> DataFrame:
        """The frame, in that session."""


@dataclass(frozen=True)
class Step:
    """A step of a round, with the frames that are fused into it."""

    frame: Frame
    shape: tuple[object, ...]
    """What it is made of: those frames, and the numbers of its leaves. Where it has the same shape again only rows differ."""
    leaves: Sequence[Leaf]
    said: Callable[[SparkSession], DataFrame]
    """Says it to that session, of the frames of its leaves."""


def unprepared(_spark: SparkSession, _step: Step) -> None:
    """Each step is said anew."""


@dataclass(frozen=True)
class Suited:
    """What is done where rows are many."""

    session: Callable[[SparkSession, int], SparkSession]
    """The session for a plan through which so many rows go: that one, or one beside it that is set to more."""
    computed: Callable[[DataFrame], Left | None]
    """That frame, its rows computed once and left on the executors; None: this cluster keeps none there."""
    handed: Callable[[SparkSession, pa.Table, StructType], DataFrame] = local
    """Rows that are here, as a frame of that schema."""
    prepared: Callable[[SparkSession, Step], DataFrame | None] = unprepared
    """The frame of a step that is made round after round, where its plan is kept."""


as_it_is = Suited(lambda spark, _rows: spark, lambda _frame: None)
"""That session, for however many rows, and all of them come here, or go in as they are."""
