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
    ends,
    engine,
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

app = typer.Typer(
    name="pfspark", help="Exchange public folder replication on Delta tables.", add_completion=True,
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
    engine,
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
    __: Annotated[bool, typer.Option("--no-engine", help="Do it here, whatever engine is there (PFSPARK_ENGINE=off).")] = False,
) -> None:
    """Exchange public folder replication on Delta tables."""


def main() -> None:
    """Runs the verb of the command line, and ends the process with its exit code; returns where that is 0."""
    if code := run(sys.argv[1:]):
        sys.exit(code)


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
        done = ends.INTERRUPTED
    except SystemExit as end:
        done = end.code
    except Exception as error:
        if not ends.interrupted(error):
            return _refused(error)
        done = ends.INTERRUPTED
    if done == ends.INTERRUPTED:
        print("pfspark: stopped", file=sys.stderr)
    return done if isinstance(done, int) else 0


def _refused(error: Exception) -> int:
    """Says what went wrong; the exit code."""
    if os.environ.get("PFSPARK_DEBUG"):
        print(*map(terminal, "".join(traceback.format_exception(error)).split("\n")), sep="\n", file=sys.stderr)
    if known := ends.known(error):
        said = str(known)
    elif hasattr(error, "format_message"):
        context = getattr(error, "ctx", None)
        said = f"{error.format_message()}\nTry `{context.command_path if context else 'pfspark'} --help`."
    else:
        first = (str(error).splitlines() or [""])[0]
        said = f"{type(error).__name__}: {first}\nThis was not foreseen. PFSPARK_DEBUG=1 shows where it happened."
    # What a name brings along begins no line of its own: only the first begins like this.
    print("pfspark: " + "\n  ".join(map(terminal, said.rstrip().split("\n"))), file=sys.stderr)
    return ends.exit_code(error)
