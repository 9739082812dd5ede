"""What a terminal shows while something takes long: on stderr alone, and nowhere else anything at all."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

PROGRAM = """
import time
from datetime import timedelta
from pfspark.cli import screen
from pfspark.edge import live

with live.doing("starting"):
    time.sleep(0.3)
    with live.doing("playing"):
        screen.json_line({"kind": "first"})
        live.told(timedelta(hours=1), timedelta(hours=4))
        time.sleep(0.3)
        screen.note("a note")
        screen.say("second")
    time.sleep(0.3)
screen.say("third")
"""
STEERING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
DATA = ['{"kind": "first"}', "second", "third"]


def run(*, out: bool, err: bool) -> tuple[list[str], str]:
    """What a program prints on stdout, and on stderr, of which each is a terminal or not; of terminals what is drawn."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        stdout=theirs if out else subprocess.PIPE, stderr=theirs if err else subprocess.PIPE,
    ) as process:  # fmt: skip
        os.close(theirs)
        drawn = b""
        while some := _read(ours):
            drawn += some
        said, noted = process.communicate()
    assert process.returncode == 0
    shown = STEERING.sub("", drawn.decode())
    written = [line.strip() for line in re.split(r"[\r\n]+", shown if out else said.decode()) if line.strip()]
    stdout = [line for line in written if line in DATA] if out and err else written  # one terminal shows both
    return stdout, shown if err else noted.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # nobody writes any more
        return b""


def test_a_terminal_sees_what_is_done_and_how_far_it_is() -> None:
    stdout, stderr = run(out=False, err=True)
    assert stdout == DATA
    first, then, again = (stderr.index(word) for word in ("starting", "playing", "a note"))
    assert first < then < again < stderr.rindex("starting")
    assert re.search("playing ━{9,10}[╸╺]━{28,}", stderr)  # a quarter of it
    assert stderr.startswith(f"starting\r{' ' * len('starting')}\r")  # in plain words, until it can be drawn
    assert re.match(r"\W*starting ━", stderr.split("\r")[2])
    assert not any(line in stderr for line in DATA)


def test_on_one_terminal_data_stands_on_lines_of_its_own() -> None:
    stdout, stderr = run(out=True, err=True)
    assert stdout == DATA and "playing" in stderr


def test_where_nobody_looks_nothing_is_shown() -> None:
    for out in (False, True):
        stdout, stderr = run(out=out, err=False)
        assert stdout == DATA and stderr == "a note\n"
