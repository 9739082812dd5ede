"""Making what was drawn: each step once, as soon as what it is given is there, and only those that somebody needs.

A step whose driving frames have no rows is not made at all, nor are the frames that it alone would have read. A rule with a
twin in Arrow is made by that where all its rows are here, and not too many; an `inline` one within the plans of those who read
it; any other is a plan of Spark's, which may be kept for the next time that it is made. What that gives is collected, and
handed to its readers: most frames of a round are small, and of known size plans stay short. Where a frame that drives the step
has `LARGE` rows or more, and what it gives has too, that stays on the executors, and is collected beside the steps that read
it, if its rows are wanted here.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from threading import Lock
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from pfspark.frame import Frame, node
from pfspark.materializer import ALL_LOCAL, Materializer, OnExecutors, Step
from pfspark.rows import Session, arrow_schema, no_rows, struct
from pfspark.tables import FRAMES, VIEWS
from pfspark.threads import callers_threads
from pfspark.twins import OF_ANY_SIZE, TWINS
from pfspark.twins.picking import PICKING

AT_ONCE = 8
"""Steps in the making: more than there are cores, as most of the time of a small one is planning."""
LARGE = 100_000
"""Rows from which on what a step gives stays on the executors, if a frame that drives it has as many: to bring a million here
and hand them back takes two seconds a step.
"""

MOST_BY_TWINS = 1_000_000
"""Rows up to which twins sort and join: so many edits take 2 GB of Python, and 1 GB where Spark makes of them what it keeps on
disks, though that takes half as long again. Ten million would not fit.
"""

Listener = Callable[[str, pa.Table, DataFrame | None], object]
"""Who is told of each wanted frame: its name and its rows, as soon as these are here, and the frame itself where its rows lie on
the executors too.
"""


class Made:
    """A frame that can be had in any session, and its rows where they are on the driver.

    Most are read as rows alone, so the frame of a session is made for who asks for it first.

    Attributes:
        rows: they, on the driver; None: they are on the executors, or not computed.
        schema: the columns; None: those that the frame has.
        largest: rows of the largest table that is read to make it, as far as they are known.
        collect: brings rows here that stayed on the executors; None: none did.
        fused: the step, where it is not computed by itself but within those that read it.
    """

    def __init__(
        self,
        frame: Callable[[SparkSession], DataFrame],
        rows: pa.Table | None = None,
        largest: int = 0,
        schema: StructType | None = None,
        collect: Callable[[], pa.Table] | None = None,
        fused: Frame | None = None,
    ) -> None:
        self.rows = rows
        self.schema = schema
        self.largest = largest if rows is None else rows.num_rows
        self.collect = collect
        self.fused = fused
        self._make = frame
        self._frames: dict[SparkSession, DataFrame] = {}
        self._lock = Lock()

    @classmethod
    def of(cls, rows: pa.Table, schema: StructType, materializer: Materializer) -> Made:
        """Rows of the driver."""
        return cls(lambda spark: materializer.to_frame(spark, rows, schema), rows, schema=schema)

    @classmethod
    def on_executors(cls, kept: OnExecutors, schema: StructType) -> Made:
        """Rows that stay on the executors."""
        return cls(lambda _spark: kept.frame, largest=kept.rows, schema=schema, collect=kept.collect)

    def frame(self, spark: SparkSession) -> DataFrame:
        """The frame, in that session."""
        with self._lock:
            if spark not in self._frames:
                self._frames[spark] = self._make(spark)
            return self._frames[spark]

    @property
    def on_driver(self) -> pa.Table:
        """The rows of one that has them on the driver."""
        assert self.rows is not None
        return self.rows

    @property
    def is_empty(self) -> bool:
        """Whether it is known to have no rows."""
        return self.rows is not None and self.rows.num_rows == 0


def to_nobody(_name: str, _rows: pa.Table, _frame: DataFrame | None) -> None:
    """Nobody is told: who calls takes all rows in the end."""


def execute(
    spark: Session,
    wanted: Mapping[str, DataFrame],
    given: Mapping[str, Made],
    materializer: Materializer = ALL_LOCAL,
    told: Listener = to_nobody,
) -> dict[str, pa.Table]:
    """The rows of what is drawn in `wanted`, of what is `given` by name; each step in the session that suits its rows.

    `spark` may say how to start a session: where no step needs one, none is started.
    The first error that a step raises is raised here as it was. Steps run with the properties of who calls: its job group and
    its tags. `told` is called here, between steps, so it does not take long.
    """
    with callers_threads(spark, AT_ONCE) as pool:
        execution = Execution(spark, given, pool, materializer, told)
        try:
            return execution.make(wanted)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            execution.made.clear()  # what stayed on the executors goes now: else when Python next collects reference cycles


class Execution:
    """What is made, in the making, and waited for; one thread looks after it, others make the steps."""

    def __init__(
        self,
        spark: Session,
        given: Mapping[str, Made],
        pool: ThreadPoolExecutor,
        materializer: Materializer = ALL_LOCAL,
        told: Listener = to_nobody,
    ) -> None:
        self._spark, self._materializer, self._told = spark, materializer, told
        self._starting = Lock()
        self._given = given
        self._pool = pool
        self.made: dict[Frame, Made] = {}
        self._wanted: dict[Frame, list[str]] = {}
        """By which names a frame is wanted."""
        self._rows: dict[str, pa.Table] = {}
        self._lacking: dict[Frame, int] = {}
        """How many of the frames that a step waits for are not there yet."""
        self._readers: dict[Frame, list[Frame]] = defaultdict(list)
        self._ready: deque[Frame] = deque()
        self._running: dict[Future[Any], Callable[[Any], None]] = {}
        """What is in the making, and what is done with it."""

    def make(self, wanted: Mapping[str, DataFrame]) -> dict[str, pa.Table]:
        """The rows of those; made is what they need."""
        for name, each in wanted.items():
            self._wanted.setdefault(node(each), []).append(name)
        for frame in self._wanted:
            self._want(frame)
        while self._ready or self._running:
            while self._ready:
                self._go_on(self._ready.popleft())
            done, _ = wait(self._running, return_when=FIRST_COMPLETED)
            for future in done:
                self._running.pop(future)(future.result())
        return {name: self._rows[name] for name in wanted}

    def _run(self, work: Callable[[], Any], then: Callable[[Any], None]) -> None:
        self._running[self._pool.submit(work)] = then

    def _want(self, frame: Frame) -> None:
        if frame not in self._lacking:
            self._await(frame, () if frame.rule is None else frame.of((*frame.rule.drives, *frame.rule.needs)))

    def _await(self, frame: Frame, inputs: tuple[Frame, ...]) -> None:
        """The step goes on when those are there."""
        lacking = {each for each in inputs if each not in self.made}
        self._lacking[frame] = len(lacking)
        for each in lacking:
            self._readers[each].append(frame)
            self._want(each)
        if not lacking:
            self._ready.append(frame)

    def _go_on(self, frame: Frame) -> None:
        if frame.rule is None:
            self.settle(frame, self._given[frame.name])
        elif self.has_nothing_to_say(frame):
            [*stays] = frame.of([frame.rule.amends])
            if not stays:
                self.settle(frame, self._nothing(frame))
            elif stays[0] in self.made:
                self.settle(frame, self.made[stays[0]])
            else:
                self._await(frame, (stays[0],))
        elif all(each in self.made for each in frame.inputs):
            self._run(partial(self.run, frame), partial(self.settle, frame))
        else:
            self._await(frame, frame.inputs)

    def has_nothing_to_say(self, frame: Frame) -> bool:
        """Whether what drives the step, or something that it needs, is known to have no rows."""
        assert frame.rule is not None
        drives, needs = (
            [self.made[each].is_empty for each in frame.of(names)] for names in (frame.rule.drives, frame.rule.needs)
        )
        return bool(drives and all(drives)) or any(needs)

    def settle(self, frame: Frame, made: Made) -> None:
        """The step is there: who waited for it goes on."""
        self.made[frame] = made
        for reader in self._readers.pop(frame, ()):
            self._lacking[reader] -= 1
            if not self._lacking[reader]:
                self._ready.append(reader)
        if frame in self._wanted:
            if made.rows is not None:
                self._hand_over(frame, made.rows)
            else:
                self._run(lambda: self.rows(made).select(self.schema(frame).names), partial(self._hand_over, frame))

    def _hand_over(self, frame: Frame, rows: pa.Table) -> None:
        """The rows of what is wanted are here."""
        made = self.made[frame]
        lying = None if made.collect is None else self._frame(made)
        for name in self._wanted[frame]:
            self._rows[name] = rows
            self._told(name, rows, lying)

    def run(self, frame: Frame) -> Made:
        """Makes the step, of frames that are there."""
        assert frame.rule is not None
        rows = {each: self.made[each].rows for each in frame.inputs}
        if frame.rule.name in TWINS and None not in rows.values() and self._suits_a_twin(frame):
            schema = self.schema(frame)
            return self._local(frame.call(rows.__getitem__, TWINS[frame.rule.name]).select(schema.names), schema)
        is_large = self._largest(frame.of(frame.rule.drives or frame.rule.needs)) >= LARGE
        built = self._fused(frame)
        if frame.rule.inline and frame not in self._wanted:
            is_empty = is_large and self._may_pick_none(frame) and not self._has_rows(built)
            return self._nothing(frame) if is_empty else built
        schema = self.schema(frame)
        if is_large and (kept := self._on_executors(built, schema)):
            return kept
        return self._local(_plain(self.rows(built), schema), schema)

    def _suits_a_twin(self, frame: Frame) -> bool:
        """Whether there is room here for what a twin makes of those rows."""
        assert frame.rule is not None
        return frame.rule.name in OF_ANY_SIZE or self._largest(frame.inputs) <= MOST_BY_TWINS

    def _fused(self, frame: Frame) -> Made:
        """The step as a plan that nobody has computed."""
        largest = self._largest(frame.inputs)
        return Made(lambda spark: frame.call(lambda each: self.made[each].frame(spark)), largest=largest, fused=frame)

    def _largest(self, frames: Iterable[Frame]) -> int:
        """The rows of the largest table of which those are made."""
        return max((self.made[each].largest for each in frames), default=0)

    def _may_pick_none(self, frame: Frame) -> bool:
        """Whether a fused step of many rows may give none, so that others that hang upon it need not be made; of few rows its
        twin tells. Not so of a view that is amended, nor of several frames together: one of them will have some."""
        assert frame.rule is not None
        return frame.rule.name in PICKING and not frame.rule.amends and len(frame.of(frame.rule.drives)) <= 1

    def _has_rows(self, built: Made) -> bool:
        return not self._frame(built).isEmpty()

    def _on_executors(self, built: Made, schema: StructType) -> Made | None:
        """What is built, its rows computed: large, they stay there. None: this cluster keeps none."""
        frame = self._frame(built).select(*schema.names)
        if (kept := self._materializer.keep(frame)) is None:
            return None
        return self._local(_plain(kept.collect(), schema), schema) if kept.rows < LARGE else Made.on_executors(kept, schema)

    def rows(self, made: Made) -> pa.Table:
        """The rows of what is made."""
        if made.rows is not None:
            return made.rows
        if made.collect is not None:
            return made.collect()
        return self._frame(made).toArrow()

    def _frame(self, made: Made) -> DataFrame:
        session = self._materializer.session_for(self._session(), made.largest)
        again = None if made.fused is None else self._materializer.from_kept_plan(session, self._step(made, made.fused))
        return made.frame(session) if again is None else again

    def _session(self) -> SparkSession:
        """The session, started by the first step that needs one: rounds of few rows may be made by twins alone."""
        with self._starting:
            if callable(self._spark):
                self._spark = self._spark()
            return self._spark

    def _step(self, made: Made, frame: Frame) -> Step:
        """That step, and what is fused into it."""
        leaves: dict[Made, int] = {}
        shape = self._shape(frame, leaves)
        return Step(frame, shape, [*leaves], made.frame)

    def _shape(self, frame: Frame, leaves: dict[Made, int]) -> tuple[object, ...]:
        """What the step is made of; its leaves get their numbers."""
        parts: list[object] = []
        for made in map(self.made.__getitem__, frame.inputs):
            fused = made.fused
            parts.append(leaves.setdefault(made, len(leaves)) if fused is None else (fused, *self._shape(fused, leaves)))
        return tuple(parts)

    def _nothing(self, frame: Frame) -> Made:
        schema = self.schema(frame)
        return self._local(no_rows(schema), schema)

    def _local(self, rows: pa.Table, schema: StructType) -> Made:
        return Made.of(rows, schema, self._materializer)

    def schema(self, frame: Frame) -> StructType:
        """The columns of what it gives, declared or those of what it is like."""
        while frame.rule is not None and not frame.rule.gives:
            frame = frame.of([frame.rule.like])[0]
        if frame.rule is None:
            given = self._given[frame.name]
            return given.schema or self._frame(given).schema
        return struct((VIEWS.get(frame.rule.gives) or FRAMES[frame.rule.gives]).ddl)


def _plain(rows: pa.Table, schema: StructType) -> pa.Table:
    """Those columns as they are declared: of what is in a list, Spark knows at times that it is never null, and rows of two kinds
    of list are not put together."""
    return rows.select(schema.names).cast(arrow_schema(schema))
