"""The cuts of a round in a small world: its frames become local relations, made side by side.

The frames of a round wait for each other only where one is made of another. So what `round.play` is given, and what it
gets from a cut, may still be in the making: it writes down its plans at once, and threads work them off.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pfspark.rows import ddl, local, no_rows, struct

AT_ONCE = 8
"""Cuts in the making: more than there are cores, as most of them wait for others."""


def frames() -> dict[str, str]:
    """The frames that a round cuts, by name, with their columns."""
    columns: dict[str, str] = json.loads((Path(__file__).parent / "frames.json").read_text())
    return columns


@dataclass(frozen=True)
class Made:
    """A frame, and its rows where they are known."""

    frame: DataFrame
    rows: pa.Table | None = None


class Later:
    """A frame that may still be in the making.

    What is made of it is such a frame too; who needs it itself, waits:

        later.select("org").distinct()   # at once
        later.join(other, "org")         # at once, whatever `other` is
        later.columns                    # waits
    """

    def __init__(self, made: Callable[[], Made]) -> None:
        self.made = made

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What it stands for: Spark Connect joins nothing but frames of its own kind, and asks."""
        return type(self.made().frame)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("columns", "schema", "sparkSession", "toArrow"):
            return getattr(self.made().frame, name)

        def derive(*args: Any, **options: Any) -> Later:
            return Later(_once(lambda: Made(getattr(self.made().frame, name)(*args, **options))))

        return derive


def _once(make: Callable[[], Made]) -> Callable[[], Made]:
    """Whoever needs it first makes it; others wait for him."""
    lock, found = Lock(), list[Made]()

    def made() -> Made:
        with lock:
            if not found:
                found.append(make())
        return found[0]

    return made


class Cuts:
    """The cuts of one round: see `round.Cut`.

    What frames look like is written down in `frames.json`, so that none need be built only to say that it is empty.
    """

    def __init__(self, spark: SparkSession, columns: dict[str, str]) -> None:
        """`columns`: of frames by their names; those of every frame that is built are entered."""
        self._spark = spark
        self._columns = columns
        self._threads = ThreadPoolExecutor(AT_ONCE)
        self._faults: dict[int, TracebackType | None] = {}

    def __enter__(self) -> Cuts:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._threads.shutdown(cancel_futures=True)

    def __call__(
        self,
        name: str,
        build: Callable[[], DataFrame],
        *,
        when: Sequence[DataFrame] | None = None,
        otherwise: DataFrame | None = None,
    ) -> DataFrame:
        """See `round.Cut`. A cut waits only for earlier ones, which are worked off before it: none waits for ever."""
        making = self._threads.submit(self._make, name, build, when, otherwise)
        return cast(DataFrame, Later(lambda: self._wait(making)))

    def plan(self, build: Callable[[], DataFrame]) -> DataFrame:
        """A frame that is built when it is needed, and not cut."""
        return cast(DataFrame, Later(_once(lambda: Made(build()))))

    def know(self, frame: DataFrame, rows: pa.Table) -> DataFrame:
        """That frame, of which the rows are known."""
        return cast(DataFrame, Later(lambda: Made(frame, rows)))

    def rows(self, frame: DataFrame) -> pa.Table:
        """The rows of a frame, known or not."""
        made = _made(frame)
        return made.frame.toArrow() if made.rows is None else made.rows

    def _wait(self, making: Future[Made]) -> Made:
        error = making.exception()
        if error is not None:  # told as it was first, not by way of everybody who waited for it
            raise error.with_traceback(self._faults.setdefault(id(error), error.__traceback__))
        return making.result()

    def _make(
        self,
        name: str,
        build: Callable[[], DataFrame],
        when: Sequence[DataFrame] | None,
        otherwise: DataFrame | None,
    ) -> Made:
        nothing = when is not None and all(_is_empty(frame) for frame in when)
        if nothing and otherwise is not None:
            return _made(otherwise)
        if nothing and name in self._columns:
            schema = struct(self._columns[name])
            return Made(local(self._spark, no_rows(schema), schema), no_rows(schema))
        frame = build()
        rows, schema = frame.toArrow(), frame.schema
        self._columns[name] = ddl(schema)
        return Made(local(self._spark, rows, schema), rows)


def _made(frame: DataFrame) -> Made:
    return frame.made() if isinstance(frame, Later) else Made(frame)


def _is_empty(frame: DataFrame) -> bool:
    rows = _made(frame).rows
    return rows is not None and rows.num_rows == 0
