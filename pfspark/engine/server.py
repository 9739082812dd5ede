"""The engine: Spark is started once, then commands are done as they come, each with the streams of who asks."""

from __future__ import annotations

import contextlib
import contextvars
import gc
import os
import queue
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import TextIO

from pfspark import engine
from pfspark.edge.config import stamp
from pfspark.edge.session import java_lives, stop_java
from pfspark.engine.client import writes
from pfspark.engine.wire import STREAMS, Line, Message

ASKING_S, TURN_S = 2.0, 2.0
"""How long who connects may take to say what is wanted; and, when it is his turn, that he is still there."""


@dataclass
class Job:
    """A command that waits, or is being done."""

    line: Line
    asked: Message
    streams: list[int]
    gone: threading.Event = field(default_factory=threading.Event)
    ready: threading.Event = field(default_factory=threading.Event)
    interrupted: threading.Event = field(default_factory=threading.Event)


class Engine:
    """One engine; commands are done by the thread that made it, which must be the main one.

    It listens at the socket `there`. `command` does the words of a command, and gives its exit code; by the lock of the open file
    `lock`, if there is one, others wait until it listens.
    """

    def __init__(self, there: Path, command: Callable[[Sequence[str]], int], lock: int | None = None) -> None:
        self.there, self._lock = there, lock
        self._command = command
        self.since = datetime.now(UTC)
        self.stamp = stamp()
        self.done = 0
        self.last = time.monotonic()
        self._jobs: queue.Queue[Job | None] = queue.Queue()
        self._at_hand: Job | None = None
        """Whose turn it is; he may not have come to it yet."""
        self._current: Job | None = None
        """What is being done, and may be interrupted."""
        self._turn = threading.Lock()
        self._ending = False

    def serve(self) -> None:
        """Does commands until nobody has asked for a while, or it is told to end."""
        signal.signal(signal.SIGINT, self._interrupted)
        with self._listening() as listener:
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
            while not self._ending:
                try:
                    job = self._jobs.get(timeout=max(0.1, self.last + engine.IDLE_S - time.monotonic()))
                except queue.Empty:
                    if time.monotonic() - self.last >= engine.IDLE_S:
                        return
                    continue
                if job is None or not java_lives():
                    return  # who waits yet does his command by himself
                self._do(job)
                if not java_lives():
                    return
                self.last = time.monotonic()

    @contextlib.contextmanager
    def _listening(self) -> Iterator[socket.socket]:
        with socket.socket(socket.AF_UNIX) as listener:
            with contextlib.suppress(FileNotFoundError):
                self.there.unlink()  # of one that was killed: only one is started at a time
            listener.bind(str(self.there))
            os.chmod(self.there, 0o600)
            mine = self.there.stat().st_ino
            listener.listen(64)
            if self._lock is not None:
                os.close(self._lock)
            try:
                yield listener
            finally:
                with contextlib.suppress(FileNotFoundError):
                    if self.there.stat().st_ino == mine:
                        self.there.unlink()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:  # it is closed
                return
            threading.Thread(target=self._hear, args=(Line(connection),), daemon=True).start()

    def _hear(self, line: Line) -> None:
        """Whoever connects: answered at once, whatever is being done; of another user: not at all."""
        line.connection.settimeout(ASKING_S)
        streams: list[int] = []
        try:
            if not line.is_of_this_user():
                return
            asked, streams = line.hear_with_files()
            match (asked or {}).get("ask"):
                case "status":
                    line.say(self._status())
                case "stop":
                    line.say(self._status())
                    self._ending = True
                    self._jobs.put(None)
                case "run" if asked and len(streams) == STREAMS and not self._ending:
                    line.say({"heard": True})
                    job, streams = Job(line, asked, streams), []
                    self._jobs.put(job)
                    self._watch(job)
        except OSError:
            return
        finally:
            for file in streams:
                os.close(file)
            line.connection.close()

    def _status(self) -> Message:
        at_hand = self._at_hand
        return {
            "stamp": self.stamp, "pid": os.getpid(), "since": self.since.isoformat(), "done": self.done,
            "idle_s": 0 if at_hand else int(time.monotonic() - self.last),
            "doing": at_hand.asked["words"][0] if at_hand else None,
        }  # fmt: skip

    def _watch(self, job: Job) -> None:
        """What who asked says meanwhile: that he goes on, that it be interrupted; or that he has gone."""
        job.line.connection.settimeout(None)
        while (said := job.line.hear()) is not None:
            if said.get("go"):
                job.ready.set()
            if said.get("interrupt"):
                self._interrupt(job)
        job.gone.set()
        self._interrupt(job)

    def _interrupt(self, job: Job) -> None:
        with self._turn:
            job.interrupted.set()
            if self._current is job:
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def _interrupted(self, _: int, __: FrameType | None) -> None:
        """What Java is at ends before the command does: it would go on, and write into a lake that is let go. Of a command that
        writes Java ends itself, as it does where that is done by itself; this engine ends with it."""
        if (job := self._current) is not None:
            stop_java(at_once=writes(job.asked["words"]))
            raise KeyboardInterrupt

    def _do(self, job: Job) -> None:
        self._at_hand = job
        try:
            with contextlib.suppress(OSError):
                job.line.say({"turn": True})
                if job.ready.wait(TURN_S) and not job.gone.is_set():
                    job.line.say({"begun": True})
                    code = self._run(job)
                    self.done += 1
                    job.line.say({"code": code})
        finally:
            self._at_hand = None
            for file in job.streams:
                os.close(file)
            with contextlib.suppress(OSError):
                job.line.connection.shutdown(socket.SHUT_RDWR)  # wakes who watches

    def _run(self, job: Job) -> int:
        code = engine.INTERRUPTED
        try:
            with as_asked(job):
                with self._turn:
                    if job.interrupted.is_set():  # before it was begun
                        return code
                    self._current = job
                try:
                    code = contextvars.copy_context().run(self._command, job.asked["words"])
                finally:
                    self._current = None  # at once: a Ctrl-C that comes while this waits would end the engine
        except KeyboardInterrupt:
            self._current = None
        except OSError:  # the folder is gone, or nobody reads what is said of an error
            code = 1
        gc.collect()
        return code


@contextlib.contextmanager
def as_asked(job: Job) -> Iterator[None]:
    """The streams, the folder, the environment and the umask of who asks; afterwards what was before."""
    kept = [os.dup(number) for number in range(STREAMS)]
    before, umask, environment = os.getcwd(), os.umask(job.asked["umask"]), dict(os.environ)
    streams = sys.stdin, sys.stdout, sys.stderr
    try:
        for number, file in enumerate(job.streams):
            os.dup2(file, number)
        sys.stdin, sys.stdout, sys.stderr = (_opened(number, *text) for number, text in enumerate(job.asked["text"]))
        os.environ.clear()
        os.environ.update(job.asked["env"])
        os.chdir(job.asked["cwd"])
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        sys.stdin, sys.stdout, sys.stderr = streams
        for number, file in enumerate(kept):
            os.dup2(file, number)
            os.close(file)
        os.environ.clear()
        os.environ.update(environment)
        os.umask(umask)
        os.chdir(before)


def _opened(number: int, encoding: str, errors: str) -> TextIO:
    """One of the streams, as who asks would read or write it."""
    buffering = 1 if number == STREAMS - 1 or (number and os.isatty(number)) else -1
    return open(number, "w" if number else "r", buffering=buffering, encoding=encoding, errors=errors, closefd=False)
