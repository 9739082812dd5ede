"""Edits and rounds by Spark or by delta-rs in any mixture, each ended anywhere and said again: all is as by one undisturbed.

Long, and therefore by `--lakes` alone; `--seed` draws who writes, and where he ends.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pfspark.edge.delta import native
from pfspark.edge.delta.ledger import FACTS
from pfspark.lake import Lake
from pfspark.words import Reason
from tests.edge import mailbox as post
from tests.edge.lakes import DAY, Copy, Ended, broken, ending_at, facts

pytestmark = pytest.mark.lakes

Act = Callable[[Lake], object]
BY_PEOPLE = [f"{when} {name}" for when in ("before", "after") for name in ("content", "edits")]
BY_ROUNDS = [f"{when} {name}" for when in ("before", "after") for name in (*FACTS, "rounds")]
STORES = ("PFS1", "PFS2")
LETTERS, ROUNDS = 30, 4


def acts(letters: list[bytes], place: Path) -> Iterator[tuple[Act, list[str]]]:
    """What is done, one after the other, with the points at which whoever does it may end and say it again."""
    begin = datetime.fromisoformat(f"{DAY}00:00:00+00:00")
    for nth in range(len(letters) // LETTERS):
        at = begin + timedelta(minutes=15 * nth)
        box = place / f"{nth}.mbox"
        post.write_mbox(box, letters[LETTERS * nth : LETTERS * (nth + 1)])
        for store in STORES if nth > 1 else STORES[:1]:  # the other has not heard of the folder before
            named = f"{store} {nth}"
            yield partial(Lake.post, store=store, folder="/Sales", body=named, name=named, at=at, edit_id=named), BY_PEOPLE
            if nth:
                known = {"item": "first", "body": f"better {named}", "edit_id": f"modify {named}"}
                yield partial(Lake.modify, store=store, folder="/Sales", at=at, **known), BY_PEOPLE
        yield partial(Lake.import_mail, paths=box, store=STORES[nth % 2 if nth > 1 else 0], folder="/Sales", at=at), BY_PEOPLE
        if nth > 1:
            yield partial(Lake.delete, store="PFS1", folder="/Sales", item=f"PFS1 {nth - 2}", at=at), []
        yield partial(Lake.round, now=at), BY_ROUNDS
        if nth % 4 == 3:
            yield Lake.maintain, []
    yield partial(Lake.run, until=begin + timedelta(hours=4)), []


def told(lake: Lake) -> dict[str, list[str]]:
    """All facts, but for when somebody said something, and that it was said again."""
    by_chance = re.compile(r"(?<=delete:)[0-9a-f]{32}|\('place', \d+\), ")
    again = repr(("reason", str(Reason.ALREADY_TAKEN_IN)))
    found = facts(lake)
    return {name: sorted(by_chance.sub("", row) for row in some if again not in row) for name, some in found.items()}


def test_whoever_writes_and_wherever_he_ends(
    copied: Copy, spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(request.config.getoption("--seed"))
    letters = [post.in_mbox(letter.raw) for letter in post.letters(LETTERS * ROUNDS)]
    done = list(acts(letters, tmp_path))
    places = {name: copied(name) for name in ("undisturbed", "mixed")}

    monkeypatch.setattr(native, "IS_HERE", False)
    with Lake.open(places["undisturbed"], spark) as undisturbed:
        for act, _ in done:
            act(undisturbed)

    ended = 0
    for act, points in done:
        monkeypatch.setattr(native, "IS_HERE", chance.random() < 0.5)
        if points and chance.random() < 0.5:
            point = chance.choice(points), 1
            try:
                with Lake.open(places["mixed"], spark, hook=ending_at(point)) as lake:
                    act(lake)
            except Ended:
                ended += 1
                print(f"ended {point[0]}: {act}")
            monkeypatch.setattr(native, "IS_HERE", chance.random() < 0.5)
        with Lake.open(places["mixed"], spark) as lake:
            act(lake)
    assert ended, "nobody ended: another --seed"

    mixed = Lake.open(places["mixed"], spark)
    assert told(mixed) == told(undisturbed)
    assert broken(mixed) == set()
    for store in STORES:
        mixed.export_mail(store, "/Sales", tmp_path / store, "eml")
        out = {hashlib.sha256(file.read_bytes()).hexdigest() for file in (tmp_path / store).iterdir()}
        assert out >= {hashlib.sha256(raw).hexdigest() for raw in letters}
