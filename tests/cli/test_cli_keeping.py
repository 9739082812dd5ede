"""What looks after a lake, by the command line: what a restore loses, what an audit saw, what upkeep took away."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.edge.lakes import DAY

pytestmark = pytest.mark.lakes


def test_keeping_for_programs(run: Callable[..., str], parted_place: Path, tmp_path: Path) -> None:
    """Every line has its kind, and is as it is declared (`run` looks)."""
    lake = shutil.copytree(parted_place, tmp_path / "lake")

    def said(*words: str, told: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in run(*words, "--lake", str(lake), "--json", told=told).splitlines()]

    words = ("restore", "--store", "PFS1", "--to", f"{DAY}00:30:00Z", "--now", f"{DAY}02:00:00Z", "--again")
    loss, restored = said(*words, told="will be taken in again")
    assert (loss["kind"], loss["numbers"]) == ("loss", "PFS1:2-3")
    assert (restored["kind"], restored["what"], restored["turns"]) == ("round", "restored", {"main": f"{DAY}02:00:00Z"})
    [kept] = said("maintain", "--now", f"{DAY}03:00:00Z", told="tidying")
    assert kept.pop("kind") == "maintain" and sum(kept.values()) > 0
    *checks, certificate = said("audit", told="round")
    assert {line["kind"] for line in checks} == {"check"} and certificate["kind"] == "certificate"
    assert [line["what"] for line in said("log", "rounds", told="")][-3:] == ["restored", "opened", "maintained"]
