"""What a verb costs from prompt to prompt: by itself, by a warm engine, and beside other tools of the trade.

pytest --bench -s tests/bench/test_verbs.py

`git` and `dbt` (with dbt-duckdb) are measured where they are on PATH.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from tests.edge.lakes import DAY, LAKES
from tests.edge.processes import ROOT, environment

MAIN = "from pfspark.__main__ import main; main()"
TIMES = 5
AT = ("--store", "PFS1", "--folder", "/Sales", "--now", f"{DAY}02:00:00Z")
WITHOUT_SPARK = {
    "round, nothing due": ("round", "--now", f"{DAY}02:00:00Z"),
    "init": ("init", "--org", "another {}"),
    "store add": ("store", "add", "S{}", "--site", "Paris"),
    "link": ("link", "Redmond", "Paris", "--cost", "{}"),
    "folder create": ("folder", "create", "/F{}", "--store", "PFS1", "--now", f"{DAY}02:00:00Z"),
    "post": ("post", *AT, "--text", "hello {}"),
    "import": ("import", str(ROOT / "conf" / "demo.mbox"), *AT),
    "modify": ("modify", "PFS1:1", *AT, "--text", "better {}"),
    "store list": ("store", "list"),
    "state": ("state",),
    "items": ("items",),
    "status": ("status",),
    "log rounds": ("log", "rounds"),
    "log messages": ("log", "messages"),
    "gaps, none": ("gaps",),
}
WITH_SPARK = {
    "why --all": ("why", "--all"),
    "state --as-of": ("state", "--as-of", "5"),
    "items --as-of": ("items", "--as-of", "5"),
    "diff": ("diff", "5"),
    "log events": ("log", "events"),
    "trace": ("trace", "PFS1:1", "--folder", "/Sales"),
    "export": ("export", "--store", "PFS1", "--folder", "/Sales", "{}.mbox"),
    "maintain": ("maintain",),
    "audit": ("audit",),
}
"""`{}` is another number each time."""


def took(words: list[str], cwd: Path, **more: str) -> float:
    began = time.perf_counter()
    done = subprocess.run(words, cwd=cwd, env=environment(**more), capture_output=True, text=True)
    seconds = time.perf_counter() - began
    assert done.returncode == 0, (words, done.stderr)
    return seconds


def median(do: Callable[[int], float]) -> float:
    """Of five, after one that fills the caches of the machine."""
    do(0)
    return statistics.median(do(nth) for nth in range(1, TIMES + 1))


def verb(words: tuple[str, ...], lake: Path, numbers: Iterator[int], **more: str) -> float:
    def once(_: int) -> float:
        number = next(numbers)
        said = [word.format(number) for word in words]
        if said[0] == "init":
            said[-1] = f"another{number}"
        return took([sys.executable, "-c", MAIN, *said], lake.parent, PFSPARK_LAKE=str(lake), PFSPARK_ORG="main", **more)

    return median(once)


def busy_round(lake: Path, numbers: Iterator[int], **more: str) -> float:
    """A round, each of something that was posted just before."""

    def once(_: int) -> float:
        at = datetime.fromisoformat(f"{DAY}02:00:00Z") + timedelta(hours=next(numbers))
        here = [sys.executable, "-c", MAIN]
        said = {"PFSPARK_LAKE": str(lake), "PFSPARK_ORG": "main", **more}
        took([*here, "post", *AT[:-1], at.isoformat(), "--text", "hello"], lake.parent, **said)
        return took([*here, "round", "--now", at.isoformat()], lake.parent, **said)

    return median(once)


@contextmanager
def engine(place: Path) -> Iterator[dict[str, str]]:
    """A warm engine of its own, with the environment that leads to it."""
    place.mkdir()
    there = {"PFSPARK_ENGINE": "on", "XDG_RUNTIME_DIR": str(place)}
    try:
        yield there
    finally:
        took([sys.executable, "-c", MAIN, "engine", "stop"], place, **there)


def test_verbs(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    shutil.unpack_archive(LAKES[2], lake)
    took([sys.executable, "-c", MAIN, "run", "--until-quiet"], tmp_path, PFSPARK_LAKE=str(lake))
    numbers = iter(range(10_000))
    print("\n| verb | by itself | by a warm engine |\n|---|---|---|")
    for name, words in WITHOUT_SPARK.items():
        print(f"| `{name}` | {verb(words, lake, numbers, PFSPARK_ENGINE='off'):.2f} s | |", flush=True)
    asked = {name: partial(verb, words) for name, words in WITH_SPARK.items()} | {"round": busy_round}
    alone = {name: do(lake, numbers, PFSPARK_ENGINE="off") for name, do in asked.items()}
    with engine(tmp_path / "engine") as there:
        for do in asked.values():  # Java's own warming
            do(lake, numbers, **there)
        for name, do in asked.items():
            print(f"| `{name}` | {alone[name]:.1f} s | {do(lake, numbers, **there):.2f} s |", flush=True)


def test_git_commit(tmp_path: Path) -> None:
    if not shutil.which("git"):
        pytest.skip("git is not on PATH")
    quiet = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
    took([*quiet, "init", "-q"], tmp_path)

    def once(nth: int) -> float:
        (tmp_path / "file").write_text(str(nth))
        return took([*quiet, "commit", "-q", "-a", "-m", str(nth)], tmp_path)

    (tmp_path / "file").write_text("first")
    took([*quiet, "add", "file"], tmp_path)
    print(f"\n| `git commit` | {median(once):.3f} s | |")


PROFILES = "bench:\n  target: dev\n  outputs:\n    dev: {type: duckdb, path: bench.duckdb}\n"


def test_dbt_run(tmp_path: Path) -> None:
    """One model of one row."""
    if not shutil.which("dbt"):
        pytest.skip("dbt is not on PATH (pip install dbt-duckdb)")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "one.sql").write_text("select 1 as one")
    (tmp_path / "dbt_project.yml").write_text("name: bench\nversion: '1.0'\nprofile: bench\n")
    (tmp_path / "profiles.yml").write_text(PROFILES)
    once = median(lambda _: took(["dbt", "run", "--profiles-dir", "."], tmp_path, PATH=os.environ["PATH"]))
    print(f"\n| `dbt run`, one model on DuckDB | {once:.2f} s | |")
