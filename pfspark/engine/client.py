"""Handing a command to the engine, where it needs Spark and one is there, or may be started."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import TextIO

from pfspark import engine
from pfspark.edge.briefly import briefly
from pfspark.edge.config import stamp
from pfspark.edge.interrupts import interrupted_after
from pfspark.edge.spark.given import given_by
from pfspark.edge.umask import current_umask
from pfspark.engine.wire import Line, Message

NEED_SPARK = frozenset({
    "audit", "diff", "drain", "export", "gaps", "maintain", "metrics", "referrals", "report", "restore", "round", "trace",
    "whatif", "why",
})  # fmt: skip
"""The verbs that mostly need Spark."""
WRITE = frozenset({"maintain", "restore", "round", "run", "--repair"})
"""The words of those among them that write tables by Spark."""
OF_THE_PAST = frozenset({"folder", "items", "log", "show", "state", "status", "store"})
"""Those that need it to say what was."""
ENDLESS = frozenset({"--follow", "-f", "--watch", "--metrics-port"})
STARTING_S, ANSWER_S, TURN_S = 180.0, 2.0, 10.0
"""How long an engine may take to start; to answer at all; to be through with others: then a command is done by itself."""
STARTING = "starting Spark"
TOLD = ("pid", "since", "done", "idle_s", "doing")
"""What an engine says of itself."""
KILLED = "pfspark: the engine has ended in the middle of this; `log edits` and `log rounds` say what was done. Say it again."


def handed_over(words: Sequence[str]) -> int | None:
    """The exit code of a command that an engine has done; None: nobody has done anything."""
    switch = os.environ.get(engine.SWITCH, "").lower()
    if switch == "off" or not needs_spark(words) or given_by():
        return None
    place = engine.folder()
    if place is None:
        return None
    may_start = switch == "on" or sys.stderr.isatty()
    line, started = connected(place, may_start=may_start)
    if line is None:
        return None
    code = _done(line, words)
    if started and code is not None and sys.stderr.isatty():
        print(
            f"(left running: an engine, so that the next command need not start Spark; it ends after {engine.IDLE_S // 60} "
            "idle minutes, or by `pfspark engine stop`)", file=sys.stderr,
        )  # fmt: skip
    return code


def needs_spark(words: Sequence[str]) -> bool:
    """Whether a command is one that mostly needs Spark, and ends by itself."""
    if not words or words[0].startswith("-") or not ENDLESS.isdisjoint(words) or {"-h", "--help"} & {*words}:
        return False
    as_of = any(word.split("=")[0] == "--as-of" for word in words)
    ends = any(word.split("=")[0] in ("--until", "--until-quiet") for word in words)
    return (
        words[0] in NEED_SPARK
        or (words[0] in OF_THE_PAST and as_of)
        or (words[0] == "run" and ends)
        or tuple(words[:2]) == ("log", "events")
    )


def writes(words: Sequence[str]) -> bool:
    """Whether a command that needs Spark writes tables by it."""
    return not WRITE.isdisjoint(words)


def connected(place: Path, *, may_start: bool) -> tuple[Line | None, bool]:
    """The engine of this pfspark, started where that is allowed; and whether it was. One of another pfspark is ended first. Where
    its folder cannot be written, none is started."""
    named = engine.name(os.environ)
    socket_there = place / f"{named}.sock"
    if (line := _fit(socket_there)) is not None or not may_start:
        return line, False
    try:
        lock = open(place / f"{named}.lock", "w")  # noqa: SIM115
    except OSError:
        return None, False
    with lock:
        if not _is_its_turn(lock):
            return None, False
        if (line := _fit(socket_there)) is not None:
            return line, False
        return _started(socket_there, lock), True


def _is_its_turn(lock: TextIO) -> bool:
    """Of several at once one starts an engine, and the others wait until it listens, whatever became of who started it."""
    if _is_locked(lock):
        return True
    from pfspark.edge import live

    latest = time.monotonic() + STARTING_S
    with live.doing(STARTING):
        while time.monotonic() < latest:
            if _is_locked(lock):
                return True
            time.sleep(0.05)
    return False


def _is_locked(lock: TextIO) -> bool:
    """Whether it is ours now."""
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _fit(there: Path) -> Line | None:
    """The engine that listens there, if it is of this pfspark and answers."""
    said = status(there)
    if said is None:
        return None
    if said.get("stamp") == stamp():
        return _reached(there)
    stop(there)
    return None


def stop(there: Path) -> Message | None:
    """Ends the engine that listens there as soon as it is through; what it says of itself, None: there is none."""
    return _asked(there, "stop")


def status(there: Path) -> Message | None:
    """What the engine that listens there says of itself; None: there is none, or it does not answer."""
    return _asked(there, "status")


def _asked(there: Path, what: str) -> Message | None:
    line = _reached(there)
    if line is None:
        return None
    with contextlib.closing(line.connection):
        return _answer(line, {"ask": what})


def wait_for(process: int) -> None:
    """Until that process has ended, though nobody may take note of its end (as in a container that has no init)."""
    with contextlib.suppress(ProcessLookupError):
        while not _is_zombie(process):
            os.kill(process, 0)
            time.sleep(0.05)


def _is_zombie(process: int) -> bool:
    with contextlib.suppress(OSError, IndexError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return False


def _reached(there: Path) -> Line | None:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(ANSWER_S)
    try:
        connection.connect(str(there))
    except OSError:
        connection.close()
        return None
    line = Line(connection)
    if not line.is_of_this_user():
        connection.close()
        return None
    return line


def _answer(line: Line, message: Message) -> Message | None:
    with contextlib.suppress(OSError):
        line.say(message)
        return line.hear()
    return None


def _started(there: Path, lock: TextIO) -> Line | None:
    """A new engine, which holds the lock too until it listens; None: it could not be started, and who does the command by itself
    will be told why.

    Who is reached there meanwhile may be another, that does not answer, or ends when it is through.
    """
    script = f"import sys; sys.path[:] = {sys.path!r}; from pfspark.__main__ import serve; serve()"
    child = line = None
    try:
        with briefly(STARTING), interrupted_after():
            child = subprocess.Popen(
                [sys.executable, "-c", script, str(there), str(lock.fileno())], cwd="/", start_new_session=True,
                pass_fds=[lock.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        from pfspark.edge import live

        with live.doing(STARTING):
            line = _listening(child, there)
    finally:
        if child and line is None:
            child.kill()  # else it would listen there one day, beside the next one
    return line


def _listening(child: subprocess.Popen[bytes], there: Path) -> Line | None:
    """That new engine, as soon as it listens there; None: it does not."""
    latest = time.monotonic() + STARTING_S
    while time.monotonic() < latest and child.poll() is None:
        if (line := _reached(there)) is not None:
            if line.process() == child.pid:
                return line
            line.connection.close()
        time.sleep(0.05)
    return None


def _done(line: Line, words: Sequence[str]) -> int | None:
    """The exit code of a command that the engine does; None: it does not come to it in time."""
    connection = line.connection
    sys.stdout.flush()
    sys.stderr.flush()
    with contextlib.closing(connection):
        try:  # a folder that is gone, and a stream that is closed, are told by who does it by himself
            asked = {
                "ask": "run", "words": list(words), "cwd": os.getcwd(), "env": dict(os.environ), "umask": current_umask(),
                "text": [[stream.encoding, stream.errors] for stream in (sys.stdin, sys.stdout, sys.stderr)],
            }  # fmt: skip
            line.say(asked, [0, 1, 2])
            if line.hear() is None:  # it has heard
                return None
            connection.settimeout(TURN_S)
            if line.hear() is None:  # it is our turn
                return None
        except OSError:
            return None
        connection.settimeout(None)
        with _interrupts_go_to(line):  # before it begins: from then on what is stopped is there
            with contextlib.suppress(OSError):  # it went meanwhile, as is heard next
                line.say({"go": True})
            if line.hear() is None:  # it did not wait for us
                return None
            said = line.hear()
    if said is None:
        print(KILLED, file=sys.stderr)
        return 1
    return int(said["code"])


@contextlib.contextmanager
def _interrupts_go_to(line: Line) -> Iterator[None]:
    """A Ctrl-C is the engine's; a second one ends the command here."""

    def once(_: int, __: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with contextlib.suppress(OSError):
            line.say({"interrupt": True})

    before = signal.signal(signal.SIGINT, once)
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(engine.INTERRUPTED)
    finally:
        signal.signal(signal.SIGINT, before)
