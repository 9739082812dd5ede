"""Mails as Arrow tables: parsed by processes of this machine, and Spark is not asked."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import IO

import pyarrow as pa

from pfspark.edge.mail.files import Source
from pfspark.edge.mail.mime import MIB
from pfspark.edge.mail.rows import BATCH_BYTES, MAIL, RANGE, RANGE_BYTES, Range, as_arrow, filled, length, parse, ranges_of
from pfspark.errors import MailError

GROUP_BYTES = MIB
"""A process parses so much at a time; the others wait no longer than that for their turn to hand over theirs."""
ALONE = 4
"""Up to so many groups are parsed by this process: another takes as long to start."""


def read_here(
    sources: Iterable[Source],
    *,
    batch_bytes: int = BATCH_BYTES,
    progress: Callable[[int, int], object] = lambda done_bytes, total_bytes: None,
) -> Iterator[pa.Table]:
    """The rows of `executors.read`, in the order of the sources, in tables of some `batch_bytes` of them.

    `progress(done_bytes, total_bytes)` is told as each table fills, and when the caller is through with it.

    Raises MailError if a process ends before it is through.
    """
    group_bytes = min(batch_bytes, GROUP_BYTES)
    groups = list(filled(ranges_of(sources, group_bytes), group_bytes))
    done, total = 0, sum(map(length, groups))
    occurred = Counter[str]()
    held: list[pa.RecordBatch] = []
    held_bytes = 0
    with closing(_parsed(groups)) as parsed:
        for group, batches in zip(groups, parsed, strict=True):
            held += [_numbered(batch, occurred) for batch in batches]
            held_bytes += length(group)
            if held_bytes >= batch_bytes or group is groups[-1]:
                yield pa.Table.from_batches(held, NUMBERED)
                held, held_bytes = [], 0
            done += length(group)
            progress(done, total)


NUMBERED = MAIL.append(pa.field("occurrence", pa.int64()))


def _numbered(mails: pa.RecordBatch, occurred: Counter[str]) -> pa.RecordBatch:
    """Mails with their `occurrence`, those before counted in `occurred`; one without bytes is its own first."""
    occurrences = []
    for sha256 in mails["sha256"].to_pylist():
        if sha256 is not None:
            occurred[sha256] += 1
        occurrences.append(1 if sha256 is None else occurred[sha256])
    return pa.RecordBatch.from_arrays([*mails.columns, pa.array(occurrences, pa.int64())], schema=NUMBERED)


def _parsed(groups: Sequence[list[Range]]) -> Generator[list[pa.RecordBatch]]:
    """The mails of each group, in order."""
    if len(groups) <= ALONE:
        for group in groups:
            yield list(parse([as_arrow(group, RANGE)], RANGE_BYTES))
        return
    count = min(len(os.sched_getaffinity(0)), len(groups))
    with ExitStack() as stack:
        workers = [stack.enter_context(_worker(groups[first::count])) for first in range(count)]
        for no in range(len(groups)):
            yield list(workers[no % count])


class _Worker(Iterator[pa.RecordBatch]):
    """A process that parses: iterated over, it gives the mails of its next group."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._reader: pa.RecordBatchStreamReader | None = None

    def ask(self, groups: Sequence[list[Range]]) -> None:
        try:
            with _given(self._process.stdin) as asked, pa.ipc.new_stream(asked, RANGE) as stream:
                for group in groups:
                    stream.write_batch(as_arrow(group, RANGE))
        except OSError as error:
            raise self._ended() from error

    def __next__(self) -> pa.RecordBatch:
        try:
            self._reader = self._reader or pa.ipc.open_stream(_given(self._process.stdout))
            batch = self._reader.read_next_batch()
        except (StopIteration, OSError, pa.ArrowInvalid) as error:
            raise self._ended() from error
        if not batch.num_rows:
            raise StopIteration
        return batch

    def _ended(self) -> MailError:
        self._process.kill()
        said = _given(self._process.stderr).read().decode("utf-8", "replace").strip().rpartition("\n")[2]
        return MailError(
            f"a process that parses mail has ended before it was through (exit code {self._process.wait()}; "
            f"{said or 'no word'}). What is imported stays; import the same again, and the rest is added."
        )


@contextmanager
def _worker(groups: Sequence[list[Range]]) -> Iterator[_Worker]:
    """A process of its own program, not a copy of this one: whoever calls this need not guard his main module."""
    script = f"import sys; sys.path[:] = {sys.path!r}; from pfspark.edge.mail.processes import work; work()"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", script], stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            worker = _Worker(process)
            worker.ask(groups)
            yield worker
        finally:
            process.kill()


def _given(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def work() -> None:
    """Parses the groups of ranges that stand on stdin, an Arrow batch each; after the mails of each comes an empty batch."""
    # All is read before anything is written: else both could wait for the other to read.
    groups = list(pa.ipc.open_stream(sys.stdin.buffer))
    with pa.ipc.new_stream(sys.stdout.buffer, MAIL) as stream:
        for group in groups:
            for mails in parse([group], RANGE_BYTES):
                if mails.num_rows:
                    stream.write_batch(mails)
            stream.write_batch(as_arrow([], MAIL))
            sys.stdout.buffer.flush()
