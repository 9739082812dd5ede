"""How steps with many rows are made, as it suits the session that there is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pfspark.rows import local

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


@dataclass(frozen=True)
class Left:
    """A frame that was computed once, and whose rows stayed on the executors."""

    frame: DataFrame
    rows: int
    """How many they are."""
    brought: Callable[[], pa.Table]
    """Brings them here."""


@dataclass(frozen=True)
class Suited:
    """What is done where rows are many."""

    session: Callable[[SparkSession, int], SparkSession]
    """The session for a plan through which so many rows go: that one, or one beside it that is set to more."""
    computed: Callable[[DataFrame], Left | None]
    """That frame, its rows computed once and left on the executors; None: this cluster keeps none there."""
    handed: Callable[[SparkSession, pa.Table, StructType], DataFrame] = local
    """Rows that are here, as a frame of that schema."""


as_it_is = Suited(lambda spark, _rows: spark, lambda _frame: None)
"""That session, for however many rows, and all of them come here, or go in as they are."""
