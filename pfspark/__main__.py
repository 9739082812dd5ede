"""The command: handed to the engine where it needs Spark and one is there, or may be started; else done by itself."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from pfspark.edge.briefly import briefly
from pfspark.edge.config import CONFIGURATION
from pfspark.edge.spark.without_pandas import leave_pandas_out
from pfspark.engine import INTERRUPTED
from pfspark.engine.client import STARTING, handed_over, needs_spark


def main() -> None:
    """Does the words of the command line, and ends the process with their exit code; returns where that is 0.

    Who calls it and is no shell, as a job that runs a wheel, takes a SystemExit for a failure, whatever its code.
    """
    open_closed_streams()
    atexit.register(gc.freeze)  # a process that ends looks for no cycles: that was a tenth of a second of every command
    words = sys.argv[1:]
    try:
        configure()
        code = handed_over(words)
        if code is None:
            code = _by_itself(words)
    except KeyboardInterrupt:
        print("pfspark: stopped", file=sys.stderr)
        code = INTERRUPTED
    if code:
        sys.exit(code)


def serve() -> None:
    """Is an engine: starts Spark, then serves at the socket that is named; nothing is said to anybody."""
    from pfspark.edge.session import open_session
    from pfspark.engine.server import Engine

    there, lock = Path(sys.argv[1]), int(sys.argv[2])
    open_session()  # with the streams of nobody: Java keeps those it is started with
    from pfspark.cli import run

    Engine(there, run, lock).serve()


def open_closed_streams() -> None:
    """What a shell has closed (`2>&-`) leads nowhere: else the first file that is opened has its number, and is written into."""
    for number, (name, mode) in enumerate({"stdin": "r", "stdout": "w", "stderr": "w"}.items()):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115


def configure() -> None:
    """Takes up what the folder's file says; one that cannot be taken up ends the process. Where none is, nothing is imported."""
    if os.path.isfile(CONFIGURATION):
        from pfspark.edge.configuration import take_up
        from pfspark.edge.plain import terminal
        from pfspark.errors import PfsparkError

        try:
            take_up()
        except PfsparkError as error:
            print(f"pfspark: {terminal(str(error))}", file=sys.stderr)
            sys.exit(error.exit_code)


def _by_itself(words: Sequence[str]) -> int:
    """Does a command in this process."""
    asks_spark = needs_spark(words)
    if not asks_spark:
        leave_pandas_out()
    with briefly(STARTING) if asks_spark else contextlib.nullcontext():
        from pfspark.cli import run
    return run(words)


if __name__ == "__main__":
    main()
