"""The command line: data on stdout, progress and refusals on stderr; many verbs start no Java."""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import os
import sys
import traceback
from collections.abc import Sequence
from functools import cache
from typing import Annotated

import typer

from pfspark.cli import ends, given
from pfspark.edge.config import installed_version
from pfspark.edge.plain import terminal

SUBJECTS = {
    "demo": ("demo",),
    "directory": ("init", "store", "link"),
    "organizations": ("apply", "show", "suspend", "resume", "org"),
    "folders": ("folder", "replica"),
    "content": ("post", "modify", "delete", "resolve", "import", "export"),
    "rounds": ("round", "run", "wait"),
    "playing": ("play",),
    "answers": ("status", "state", "items", "gaps", "referrals", "trace", "why", "metrics", "report", "diff"),
    "logs": ("log",),
    "foresight": ("whatif", "drain"),
    "keeping": ("restore", "audit", "maintain"),
    "rulebook": ("rules",),
    "reference": ("docs",),
    "sets": ("set",),
    "machine": ("doctor",),
    "engine": ("engine",),
}
"""Each module of verbs, in the order of the help, with the verbs it has: of a command only the one with its verb is imported."""


@cache
def app(verb: str | None = None) -> typer.Typer:
    """The command line: with the module of that verb alone, or, where none is named or has it, with all."""
    made = typer.Typer(
        name="pfspark", help="Exchange public folder replication on Delta tables.", add_completion=True,
        context_settings={"help_option_names": ["-h", "--help"]}, pretty_exceptions_enable=False,
    )  # fmt: skip
    made.callback()(_options)
    for subject in [name for name, verbs in SUBJECTS.items() if verb in verbs] or SUBJECTS:
        made.add_typer(_verbs(subject))
    return made


@cache
def _verbs(subject: str) -> typer.Typer:
    """The verbs of a module, with the options that many have."""
    verbs: typer.Typer = importlib.import_module(f"pfspark.cli.{subject}").verbs
    given.completed(verbs)
    return verbs


def _version(wanted: bool) -> None:
    if wanted:
        print(installed_version() or "not installed: a checkout")
        raise typer.Exit()


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
    """Runs one verb and gives its exit code: see `pfspark.errors`.

    Whatever goes wrong is one paragraph on stderr, never a trace; PFSPARK_DEBUG=1 shows it all the same.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a letter gets `?`
    logging.getLogger().addHandler(logging.NullHandler())  # else py4j tells a Ctrl-C in three traces
    try:
        verb = next((word for word in words if not word.startswith("-")), None)
        done = app(verb)(list(words) or ["--help"], prog_name="pfspark", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read has seen enough
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        return ends.CUT_SHORT
    except (KeyboardInterrupt, typer.Abort):
        done = ends.INTERRUPTED
    except SystemExit as end:
        done = ends.CUT_SHORT if isinstance(end.__context__, BrokenPipeError) else end.code  # as typer ends then
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
    with contextlib.suppress(OSError):  # nobody reads it; the code says it all the same
        print("pfspark: " + "\n  ".join(map(terminal, said.rstrip().split("\n"))), file=sys.stderr)
    return ends.exit_code(error)
