"""How updates are packed into messages, as frames."""

from __future__ import annotations

import random
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest

from pfspark.rules import packing
from pfspark.words import HIERARCHY, LARGEST
from tests.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEY = "org string, store string, folder string"
SALES = "P1:1"


Update = tuple[str, int, int]
"""Origin, number, bytes."""
Packed = dict[tuple[str, str | None, int], tuple[list[tuple[str, int, int]], int]]
"""What messages carry, and their bytes, by organization, who asked, and place."""


@pytest.mark.rule("R49", "R50", "R53", "R54")
def test_a_message_takes_the_next_update_while_it_fits(spark: SparkSession) -> None:
    """Many queues at once, each beside the same done one update after another: of no bytes, of as many as the limit, of more
    than any limit; hierarchy also by the number of folders; what was asked for by itself."""
    draw = random.Random(34)
    queues = {nth: queue_of(draw) for nth in range(150)}
    limits = {nth: (draw.choice([0, 1, 10, 100, LARGEST - 1]), draw.choice([None, 1, 2, 3, 20])) for nth in queues}
    here = {nth: (f"o{nth}", "P1", SALES if nth % 3 else HIERARCHY) for nth in queues}
    expected = {
        (f"o{nth}", asker, batch): (ranges(message), sum(size for *_, size in message))
        for nth, queue in queues.items()
        for asker, some in queue.items()
        for batch, message in enumerate(one_by_one(some, limits[nth][0], None if nth % 3 else limits[nth][1]))
    }
    assert packed(spark, queues, here, limits) == expected
    assert len(expected) > 2 * len(queues)


LONG: dict[str, tuple[int, int | None, range, int]] = {
    # the limits of bytes and of updates, the places among which some are giants, and how many messages it takes more than
    "nearly each alone": (0, None, range(10_000), 8_000),
    "few together": (30, None, range(10_000), 64**2),
    "thousands together": (60_000, None, range(0), 1),
    "giants in one place": (2**40, None, range(5_000, 6_000), 30),
    "each alone": (LARGEST - 1, 1, range(10_000), 9_999),
    "twenty together": (60_000, 20, range(0), 499),
}


def long_queue(case: str) -> list[Update]:
    limit, _, giants, _ = LONG[case]
    draw = random.Random(limit)
    numbers = sorted(draw.sample(range(1, 30_000), 10_000))
    queue = [(f"P{1 + place // 7_000}", cn, draw.choice([1, 5, 9, 10, 11, 25])) for place, cn in enumerate(numbers)]
    for place in draw.sample(giants, len(giants) // 33):
        queue[place] = (*queue[place][:2], draw.choice([0, LARGEST - 1]))
    return queue


@pytest.fixture(scope="module")
def long_ones(spark: SparkSession) -> Packed:
    """All of them, each in an organization that is called by it."""
    queues, here, limits = {}, {}, {}
    for nth, (case, (limit, most, *_)) in enumerate(LONG.items()):
        queues[nth] = {None: long_queue(case)}
        here[nth] = case, "P1", SALES if most is None else HIERARCHY
        limits[nth] = limit, most
    return packed(spark, queues, here, limits)


@pytest.mark.rule("R49", "R53", "R54")
@pytest.mark.parametrize("case", LONG)
def test_a_long_queue_is_packed_as_a_short_one(long_ones: Packed, case: str) -> None:
    """Of more updates than are kept together, in more messages than are gathered at once, or in few that are longer than what
    is kept together; with gaps of numbers; and with sizes that no part of a total could hold, everywhere or in one place."""
    limit, most, _, messages = LONG[case]
    expected = {
        (case, None, batch): (ranges(message), sum(size for *_, size in message))
        for batch, message in enumerate(one_by_one(long_queue(case), limit, most))
    }
    assert len(expected) > messages
    assert {key: message for key, message in long_ones.items() if key[0] == case} == expected


def test_an_update_of_unknown_size_counts_as_none_and_goes(spark: SparkSession) -> None:
    """First, and where it is the last that the message takes."""
    queue: list[Any] = [("P1", 1, None), ("P1", 2, 5), ("P1", 3, 5), ("P1", 4, None), ("P1", 5, 5)]
    expected = {("o", None, 0): ([("P1", 1, 4)], 10), ("o", None, 1): ([("P1", 5, 5)], 5)}
    assert packed(spark, {0: {None: queue}}, {0: ("o", "P1", SALES)}, {0: (10, None)}) == expected


@pytest.mark.rule("R50")
def test_the_limit_is_the_folders_else_the_stores_else_the_policys(spark: SparkSession) -> None:
    """Whichever is larger; a limit of no bytes is one, by which each update goes alone. What is set at another store, or on
    another folder, is none here."""
    queue = [("P1", cn, 10) for cn in (1, 2, 3, 4)]
    cases: dict[tuple[int, int | None, int | None], int] = {
        (40, None, None): 1, (10, None, None): 4, (10, 20, None): 2, (40, 20, None): 2, (40, 0, None): 4,
        (10, None, 30): 2, (40, 10, 20): 2, (10, 40, 20): 2, (20, 10, 40): 1, (40, 40, 0): 4, (0, 10, 40): 1,
    }  # fmt: skip
    here = {nth: (f"o{nth}", "P1", SALES) for nth in range(len(cases))}
    of_stores = {nth: store for nth, (_, store, _) in enumerate(cases)}
    of_folders = {nth: folder for nth, (*_, folder) in enumerate(cases)}
    of_policy = {nth: (policy, None) for nth, (policy, *_) in enumerate(cases)}
    found = packed(spark, {nth: {None: queue} for nth in here}, here, of_policy, of_stores, of_folders)
    assert [sum(org == f"o{nth}" for org, *_ in found) for nth in here] == [*cases.values()]


def packed(
    spark: SparkSession,
    queues: dict[int, dict[str | None, list[Update]]],
    here: dict[int, tuple[str, str, str]],
    limits: dict[int, tuple[int, int | None]],
    of_stores: Mapping[int, int | None] = MappingProxyType({}),
    of_folders: Mapping[int, int | None] = MappingProxyType({}),
) -> Packed:
    rows = [(*here[nth], asker, *each) for nth, queue in queues.items() for asker, some in queue.items() for each in some]
    made = packing.pack(
        frame_of(spark, rows, f"{KEY}, asker string, origin string, cn bigint, bytes bigint"),
        stores=frame_of(
            spark,
            [row for nth, (org, store, _) in here.items() for row in ((org, store, of_stores.get(nth)), (org, "P7", 15))],
            "org string, store string, size_limit bigint",
        ),
        limits=frame_of(
            spark,
            [
                row
                for nth, (org, store, folder) in here.items()
                for row in ((org, store, folder, of_folders.get(nth)), (org, "P7", folder, 15), (org, store, "P7:1", 15))
            ],
            f"{KEY}, size_limit bigint",
        ),
        clock=frame_of(
            spark,
            [(here[nth][0], *each) for nth, each in limits.items()],
            "org string, size_limit bigint, folders_per_hierarchy_message bigint",
        ),
    )
    rows = made.collect()
    found = {(row["org"], row["asker"], row["batch"]): (row["carries"], row["bytes"]) for row in rows}
    assert len(found) == len(rows)
    return found


def queue_of(draw: random.Random) -> dict[str | None, list[Update]]:
    """Updates of a folder, those for all and those for who has asked, in order: stores by name, then lives, then numbers."""
    queue: dict[str | None, list[Update]] = {}
    for asker in draw.sample([None, "P8", "P9"], draw.randint(1, 2)):
        queue[asker] = []
        for origin in sorted(draw.sample(["P1", "P1~2", "P1~10", "P2"], draw.randint(1, 3)), key=life_of):
            numbers = sorted(draw.sample(range(1, 40), draw.choice([1, 2, 9, 30])))
            queue[asker] += [(origin, cn, draw.choice([0, 0, 1, 5, 9, 10, 11, 60, 100, 101, 2**55])) for cn in numbers]
    return queue


def life_of(origin: str) -> tuple[str, int]:
    store, _, life = origin.partition("~")
    return store, int(life or 1)


def one_by_one(updates: list[Update], limit: int, most: int | None) -> list[list[Update]]:
    """Messages, each filled while the next update fits."""
    messages: list[list[Update]] = []
    filled = 0
    for each in updates:
        if not messages or filled + each[2] > limit or len(messages[-1]) == most:
            messages.append([])
            filled = 0
        messages[-1].append(each)
        filled += each[2]
    return messages


def ranges(message: list[Update]) -> list[tuple[str, int, int]]:
    """The numbers of a message in ranges."""
    found: list[tuple[str, int, int]] = []
    for origin, cn, _ in message:
        if found and found[-1][0] == origin and found[-1][2] + 1 == cn:
            found[-1] = origin, found[-1][1], cn
        else:
            found.append((origin, cn, cn))
    return found
