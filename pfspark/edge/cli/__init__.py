"""The command line: data on stdout, progress and refusals on stderr; `--help`, `--version` and `set` start no Java."""

from __future__ import annotations

import io
import logging
import os
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from pfspark.edge.cli import (
    answers,
    content,
    demo,
    directory,
    folders,
    foresight,
    given,
    keeping,
    machine,
    organizations,
    playing,
    reference,
    rounds,
    rulebook,
    sets,
)
from pfspark.edge.plain import terminal
from pfspark.errors import PfsparkError

INTERRUPTED = 130  # 128 + SIGINT, as shells say it

app = typer.Typer(
    name="pfspark", help="Exchange public folder replication on Delta tables.", add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]}, pretty_exceptions_enable=False,
)  # fmt: skip
for subject in (
    demo,
    directory,
    organizations,
    folders,
    content,
    rounds,
    playing,
    answers,
    foresight,
    keeping,
    rulebook,
    reference,
    sets,
    machine,
):
    app.add_typer(subject.verbs)
given.completed(app)


def _version(wanted: bool) -> None:
    if wanted:
        try:
            print(version("pfspark"))
        except PackageNotFoundError:
            print("not installed: a checkout")
        raise typer.Exit()


@app.callback()
def _options(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")] = False,
) -> None:
    """Exchange public folder replication on Delta tables."""


def main() -> None:
    """Runs the verb of the command line, and ends the process with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(words: Sequence[str]) -> int:
    """Runs one verb and gives its exit code: 0 done, 1 refused, 2 wrong usage, 3 a violation, 4 another writer.

    Whatever goes wrong is one paragraph on stderr, never a trace; PFSPARK_DEBUG=1 shows it all the same.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a letter gets `?`
    logging.getLogger().addHandler(logging.NullHandler())  # else py4j tells a Ctrl-C in three traces
    try:
        done = app(list(words) or ["--help"], prog_name="pfspark", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (KeyboardInterrupt, typer.Abort):
        done = INTERRUPTED
    except SystemExit as end:
        done = end.code
    except Exception as error:
        if not _interrupted(error):
            return _refused(error)
        done = INTERRUPTED
    if done == INTERRUPTED:
        print("pfspark: stopped", file=sys.stderr)
    return done if isinstance(done, int) else 0


def _interrupted(error: BaseException | None) -> bool:
    """Whether a Ctrl-C came first; py4j, interrupted in a call, goes on to fail in ways of its own."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _damage(error: Exception) -> PfsparkError | None:
    """What Spark has met in the files of a lake, if it is that."""
    if not type(error).__module__.startswith(("py4j", "pyspark")):
        return None
    from pfspark.edge.delta import damage

    return damage(error)


def _refused(error: Exception) -> int:
    """Says what went wrong; the exit code."""
    if os.environ.get("PFSPARK_DEBUG"):
        print(*map(terminal, "".join(traceback.format_exception(error)).split("\n")), sep="\n", file=sys.stderr)
    known = error if isinstance(error, PfsparkError) else _damage(error)
    if known:
        said, code = str(known), known.exit_code
    elif hasattr(error, "format_message"):  # typer's own: the words of the command do not fit
        context = getattr(error, "ctx", None)
        said = f"{error.format_message()}\nTry `{context.command_path if context else 'pfspark'} --help`."
        code = 2
    else:
        first = (str(error).splitlines() or [""])[0]
        said = f"{type(error).__name__}: {first}\nThis was not foreseen. PFSPARK_DEBUG=1 shows where it happened."
        code = 1
    # What a name brings along begins no line of its own: only the first begins like this.
    print("pfspark: " + "\n  ".join(map(terminal, said.rstrip().split("\n"))), file=sys.stderr)
    return code
