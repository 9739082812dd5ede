"""How steps are made through which many rows go, as it suits the session that there is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Suited:
    """What is done where rows are many."""

    session: Callable[[SparkSession, int], SparkSession]
    """The session for a plan through which so many rows go: that one, or one beside it that is set to more."""
    computed: Callable[[DataFrame], DataFrame | None]
    """That frame, its rows computed once and left on the executors; None: this cluster keeps none there."""


as_it_is = Suited(lambda spark, _rows: spark, lambda _frame: None)
"""That session, for however many rows, and all of them come here."""
