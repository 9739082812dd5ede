"""What a shell offers for a word that is begun: stores and folders of the lake that is named, as far as no Spark is needed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import typer

from pfspark.errors import PfsparkError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pfspark.lake import Lake


class NoSparkError(Exception):
    """Whoever waits for a word does not wait for Spark."""


NO_ANSWER = (NoSparkError, PfsparkError, OSError)
"""What says that a word cannot be completed; that is nothing to complain of."""


def stores(context: typer.Context) -> list[str]:
    """The stores of the lake."""
    found: list[str] = []
    with suppress(*NO_ANSWER), _lake(context) as lake:
        found = sorted({store for _, store in lake.stores_by_name()})
    return found


def folders(context: typer.Context) -> list[str]:
    """The paths of folders that any store of the lake sees, or the one that is named."""
    found: list[str] = []
    with suppress(*NO_ANSWER), _lake(context) as lake:
        found = sorted({str(line["path"]) for line in lake.lines("folders", store=context.params.get("store"))})
    return found


@contextmanager
def _lake(context: typer.Context) -> Iterator[Lake]:
    from pfspark.lake import Lake

    where = context.params.get("lake") or os.environ.get("PFSPARK_LAKE")
    if not where:
        raise UsageError("no lake is named")
    with Lake.open(where, _no_spark) as lake:
        yield lake


def _no_spark() -> SparkSession:
    raise NoSparkError
