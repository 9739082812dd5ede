"""What a shell offers for a word that is begun: stores and folders of the lake that is named, as far as no Spark is needed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pfspark.lake import Lake


def stores(context: typer.Context) -> list[str]:
    """The stores of the lake."""
    found: list[str] = []
    with suppress(Exception), _lake(context) as lake:  # a word that cannot be completed is none to complain of
        found = sorted({store for _, store in lake.stores_by_name()})
    return found


def folders(context: typer.Context) -> list[str]:
    """The paths of folders that any store of the lake sees, or the one that is named."""
    found: list[str] = []
    with suppress(Exception), _lake(context) as lake:
        found = sorted({str(line["folder"]) for line in lake.lines("folders", store=context.params.get("store"))})
    return found


@contextmanager
def _lake(context: typer.Context) -> Iterator[Lake]:
    from pfspark.lake import Lake

    with Lake.open(context.params.get("lake") or os.environ["PFSPARK_LAKE"], _no_spark) as lake:
        yield lake


def _no_spark() -> SparkSession:
    raise LookupError("who waits for a word does not wait for Spark")
