"""The algebra of ranges against sets of plain numbers: hundreds of drawn cases, each with its own key, in one job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from pfspark import cnset, cntext
from tests.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Span = tuple[int, int]
CASES = 300
TOP = 2**63 - 1
WIDE = 40  # numbers a drawn case reaches over
KEYS = ["case", "origin"]
DDL = "case bigint, origin string, cn_min bigint, cn_max bigint"


# --- cases ------------------------------------------------------------------------------------------------------------


@cache
def cases() -> list[tuple[list[Span], list[Span]]]:
    """Two heaps of ranges each: overlapping, touching, repeated, in any order, at either end of the line, or empty."""
    found: list[tuple[list[Span], list[Span]]] = []
    spans = st.lists(st.tuples(st.integers(1, WIDE), st.integers(0, 7)), max_size=7)

    @settings(max_examples=CASES, derandomize=True, database=None, deadline=None, phases=[Phase.generate])
    @given(spans, spans, st.sampled_from([0, 0, 2**31 - WIDE // 2, TOP - WIDE]))
    def draw(left: list[Span], right: list[Span], base: int) -> None:
        def heap(drawn: list[Span]) -> list[Span]:
            return [(base + low, min(base + low + more, base + WIDE)) for low, more in drawn]

        found.append((heap(left), heap(right)))

    draw()
    return found


def numbers(spans: Iterable[Span]) -> set[int]:
    return {number for low, high in spans for number in range(low, high + 1)}


def ranges(held: set[int]) -> list[Span]:
    """The canonical ranges of a set of numbers."""
    begins = sorted(number for number in held if number - 1 not in held)
    return list(zip(begins, sorted(number for number in held if number + 1 not in held), strict=True))


def frame(spark: SparkSession, heaps: Iterable[Sequence[Span]], origin: str = "PFS1") -> DataFrame:
    rows = [(case, origin, low, high) for case, heap in enumerate(heaps) for low, high in heap]
    return frame_of(spark, rows, DDL)


def heaps_of(rows: Iterable[Any]) -> dict[int, list[Span]]:
    found: dict[int, list[Span]] = defaultdict(list)
    for row in rows:
        found[row["case"]].append((row["cn_min"], row["cn_max"]))
    return {case: sorted(heap) for case, heap in found.items()}


def wrong(found: dict[int, Any], expected: dict[int, Any]) -> Iterator[str]:
    """The cases that came out wrong, the shortest first."""
    for case in sorted(found.keys() | expected.keys(), key=lambda case: len(str(cases()[case]))):
        if found.get(case) != expected.get(case):
            left, right = cases()[case]
            yield f"left {left}, right {right}: found {found.get(case)}, expected {expected.get(case)}"


# --- laws -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def computed(spark: SparkSession) -> dict[str, list[Any]]:
    """All operations over all cases, by name, from one job."""
    from pyspark.sql import functions as F

    left, right = (frame(spark, heaps) for heaps in zip(*cases(), strict=True))
    answers = {
        "canonical": cnset.canonical(left, KEYS),
        "union": cnset.union(left, right, KEYS),
        "subtract": cnset.subtract(left, right, KEYS),
        "intersect": cnset.intersect(left, right, KEYS),
        "contains": cnset.contains(left, right, ["case"], KEYS),
        "size": cnset.size(cnset.canonical(left, KEYS), ["case"]),
        "line": cnset.coverage(KEYS, left.withColumn("held", F.lit(1)), right.withColumn("told", F.lit(2))),
        "join_up": cnset.join_up(
            cnset.coverage(KEYS, left.withColumn("held", F.lit(1)), right.withColumn("told", F.lit(2))), KEYS, ["told"]
        ),
        "settle": cnset.settle(
            KEYS,
            (F.col("held") > 1) | (F.col("told") == 2),
            left.withColumn("held", F.lit(1)),
            right.withColumn("told", F.lit(2)),
        ),
        "within": cnset.within(left.select(*KEYS, F.col("cn_min").alias("cn")), cnset.canonical(right, KEYS), KEYS),
        "without": cnset.without(left.select(*KEYS, F.col("cn_min").alias("cn")), right, KEYS),
    }
    named = [each.withColumn("answer", F.lit(name)) for name, each in answers.items()]
    found: dict[str, list[Any]] = {name: [] for name in answers}
    for row in reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), named).collect():
        found[row["answer"]].append(row)
    return found


@pytest.mark.parametrize(
    ("answer", "law"),
    [
        ("canonical", lambda left, right: left),
        ("union", lambda left, right: left | right),
        ("subtract", lambda left, right: left - right),
        ("intersect", lambda left, right: left & right),
    ],
)
def test_ranges_hold_what_sets_hold_and_are_canonical(computed: dict[str, list[Any]], answer: str, law: Any) -> None:
    expected = {case: ranges(law(numbers(left), numbers(right))) for case, (left, right) in enumerate(cases())}
    assert len(expected) >= CASES
    assert not list(wrong(heaps_of(computed[answer]), {case: heap for case, heap in expected.items() if heap}))[:3]


def test_contains_answers_for_each_set_asked_about(computed: dict[str, list[Any]]) -> None:
    expected = {case: numbers(right) <= numbers(left) for case, (left, right) in enumerate(cases()) if right}
    assert set(expected.values()) == {True, False}
    assert not list(wrong({row["case"]: row["contained"] for row in computed["contains"]}, expected))[:3]


def test_size_counts_numbers(computed: dict[str, list[Any]]) -> None:
    expected = {case: len(numbers(left)) for case, (left, _) in enumerate(cases()) if left}
    assert not list(wrong({row["case"]: row["size"] for row in computed["size"]}, expected))[:3]


def test_line_is_cut_at_every_end_and_sums_what_covers_a_piece(computed: dict[str, list[Any]]) -> None:
    expected = {}
    for case, (left, right) in enumerate(cases()):
        ends = sorted({end for low, high in [*left, *right] for end in (low - 1, high)})
        pieces = []
        for before, last in pairwise(ends):
            held = sum(low <= last <= high for low, high in left)
            told = sum(2 for low, high in right if low <= last <= high)
            if held or told:
                pieces.append((before + 1, last, held, told))
        if pieces:
            expected[case] = pieces
    found: dict[int, list[Any]] = defaultdict(list)
    for row in computed["line"]:
        found[row["case"]].append((row["cn_min"], row["cn_max"], row["held"], row["told"]))
    assert not list(wrong({case: sorted(pieces) for case, pieces in found.items()}, expected))[:3]


def test_join_up_merges_neighbours_that_are_alike_and_no_others(computed: dict[str, list[Any]]) -> None:
    expected = {}
    for case, (left, right) in enumerate(cases()):
        told = {number: sum(2 for low, high in right if low <= number <= high) for number in numbers([*left, *right])}
        pieces = [
            (low, high, amount)
            for amount in set(told.values())
            for low, high in ranges({number for number in told if told[number] == amount})
        ]
        if pieces:
            expected[case] = sorted(pieces)
    found: dict[int, list[Any]] = defaultdict(list)
    for row in computed["join_up"]:
        found[row["case"]].append((row["cn_min"], row["cn_max"], row["told"]))
    assert not list(wrong({case: sorted(pieces) for case, pieces in found.items()}, expected))[:3]


def test_settle_keeps_the_numbers_of_which_the_condition_holds(computed: dict[str, list[Any]]) -> None:
    expected = {}
    for case, (left, right) in enumerate(cases()):
        kept = {
            number
            for number in numbers([*left, *right])
            if sum(low <= number <= high for low, high in left) > 1 or sum(low <= number <= high for low, high in right) == 1
        }
        if kept:
            expected[case] = ranges(kept)
    assert not list(wrong(heaps_of(computed["settle"]), expected))[:3]


@pytest.mark.parametrize("name", ["within", "without"])
def test_rows_whose_number_is_in_the_set_and_all_others(computed: dict[str, list[Any]], name: str) -> None:
    expected = {
        case: chosen
        for case, (left, right) in enumerate(cases())
        if (chosen := sorted(low for low, _ in left if (low in numbers(right)) is (name == "within")))
    }
    found: dict[int, list[int]] = defaultdict(list)
    for row in computed[name]:
        found[row["case"]].append(row["cn"])
    assert not list(wrong({case: sorted(rows) for case, rows in found.items()}, expected))[:3]


# --- vectors ----------------------------------------------------------------------------------------------------------

UUID = "u3E11FA47-71CA-11E1-9E33-C80AA9429562"  # labels begin with a store's name: V25-V27 write the uuid alone
VECTORS = [  # verb, one set, the other, what comes out
    ("union", "A:1-17", "A:14-21", "A:1-21"),  # merging vectors of gromox t_id1-t_id7
    ("union", "A:14-21", "A:1-17", "A:1-21"),
    ("union", "A:1-19", "A:20-29", "A:1-29"),
    ("union", "A:20-29", "A:1-19", "A:1-29"),
    ("union", "A:1-40", "A:15-19", "A:1-40"),
    ("union", "A:11-19:71-79", "A:41-49", "A:11-19:41-49:71-79"),
    ("union", "A:11-19:41-49:71-79", "A:20-40", "A:11-49:71-79"),
    ("union", "A:11-49:71-79", "A:50-70", "A:11-79"),
    ("subtract", "A:66589-66596", "A:66589", "A:66590-66596"),  # 0x1041D-24: its first, its last, then 20 and 21
    ("subtract", "A:66590-66596", "A:66596", "A:66590-66595"),
    ("subtract", "A:66590-66595", "A:66592:66593", "A:66590-66591:66594-66595"),
    ("subtract", f"{UUID}:21-57", f"{UUID}:21", f"{UUID}:22-57"),  # V26
    ("subtract", f"{UUID}:21-57", f"{UUID}:20-25", f"{UUID}:26-57"),
    ("subtract", f"{UUID}:21-57", f"{UUID}:23-24", f"{UUID}:21-22:25-57"),
    ("union", "A:1-11", "A:17", "A:1-11:17"),  # V27: {[1,12),[17,18)}
    ("subtract", "PFS1:1-17,PFS2:1-28", "PFS1:1-11:17,PFS2:1-20,PFS3:1-31", "PFS1:12-16,PFS2:21-28"),  # R95
    ("subtract", "A:1-3,B:5", "A:1-3,B:5", ""),
    ("intersect", "A:1-3,B:5", "B:1-4,C:5", ""),
    ("intersect", "A:1-20", "A:5:7-9:20-30", "A:5:7-9:20"),
    ("union", f"A:{TOP}", f"A:1:{TOP - 1}", f"A:1:{TOP - 1}-{TOP}"),  # the ends of the line
    ("subtract", f"A:1-{TOP}", f"A:2-{TOP - 1}", f"A:1:{TOP}"),
    ("intersect", f"A:1-{TOP}", f"A:{TOP}", f"A:{TOP}"),
    ("subtract", f"A:1-{10**15}", f"A:{10**14}", f"A:1-{10**14 - 1}:{10**14 + 1}-{10**15}"),  # never exploded
    ("subtract", "PFS1:1-3,PFS1~2:1-3", "PFS1:1-3", "PFS1~2:1-3"),  # lives are origins of their own
    ("union", "PFS10:1,PFS2:1", "PFS2~10:1,PFS2~9:1,a:1,Z:1", "PFS10:1,PFS2:1,PFS2~9:1,PFS2~10:1,Z:1,a:1"),
]


@pytest.fixture(scope="module")
def answered(spark: SparkSession) -> dict[int, str]:
    """What comes out of each vector, written as text; nothing for the empty set."""
    texts = frame_of(
        spark,
        [(place, verb, one, other) for place, (verb, one, other, _) in enumerate(VECTORS)],
        "case bigint, verb string, one string, other string",
    )
    answers = []
    for verb in ("union", "subtract", "intersect"):
        asked = texts.where(texts["verb"] == verb)
        one, other = (cnset.from_text(asked.select("case", text), text) for text in ("one", "other"))
        answers.append(cnset.to_text(getattr(cnset, verb)(one, other, KEYS), ["case"]))
    return {row["case"]: row["text"] for row in reduce(lambda a, b: a.unionByName(b), answers).collect()}


@pytest.mark.parametrize("place", range(len(VECTORS)), ids=[f"{v} {a} {b}"[:70] for v, a, b, _ in VECTORS])
def test_vectors(answered: dict[int, str], place: int) -> None:
    verb, one, other, expected = VECTORS[place]
    assert answered.get(place, "") == expected
    assert cntext.run_set(verb, one, other) == expected  # and so without Spark


def test_subsets(spark: SparkSession) -> None:
    """V25: 23 and 23-25 are within 21-57, 20-25 is not; the empty set asks nothing."""
    pairs = [
        (0, "A:21-57", "A:23"),
        (1, "A:21-57", "A:23-25"),
        (2, "A:21-57", "A:20-25"),
        (3, "B:1-99", "A:1"),
        (4, "A:1", ""),
    ]
    texts = frame_of(spark, pairs, "case bigint, outer string, inner string")
    outer, inner = (cnset.from_text(texts.select("case", text), text) for text in ("outer", "inner"))
    found = {row["case"]: row["contained"] for row in cnset.contains(outer, inner, ["case"], KEYS).collect()}
    assert found == {0: True, 1: True, 2: False, 3: False}


def test_the_whole_line_has_a_size(spark: SparkSession) -> None:
    whole = frame(spark, [[(1, TOP)], [(1, 10**15), (2 * 10**15, 2 * 10**15)]])
    assert {row["case"]: row["size"] for row in cnset.size(whole, ["case"]).collect()} == {0: TOP, 1: 10**15 + 1}


LABELS = ["PFS1", "PFS1~2", "PFS1~10", "PFS10", "PFS2", "a", "B", "a.b", "a-b", "a_b", "0"]


def test_text_goes_out_and_in_as_without_spark(spark: SparkSession) -> None:
    drawn: list[cntext.CnSet] = []

    @settings(max_examples=200, derandomize=True, database=None, deadline=None, phases=[Phase.generate])
    @given(st.dictionaries(st.sampled_from(LABELS), st.lists(st.tuples(st.integers(1, 50), st.integers(0, 9)), min_size=1)))
    def draw(found: dict[str, list[Span]]) -> None:
        spans = {name: cntext.canonical((low, low + more) for low, more in some) for name, some in found.items()}
        drawn.append(spans)

    draw()
    written = {case: text for case, one in enumerate(drawn) if (text := cntext.show(one))}
    assert len(written) > 150
    texts = frame_of(spark, list(written.items()), "case bigint, text string")
    read = cnset.from_text(texts, "text")
    back: dict[int, dict[str, list[Span]]] = defaultdict(lambda: defaultdict(list))
    for row in read.collect():
        back[row["case"]][row["origin"]].append((row["cn_min"], row["cn_max"]))
    assert {case: {name: tuple(sorted(some)) for name, some in sets.items()} for case, sets in back.items()} == {
        case: one for case, one in enumerate(drawn) if one
    }
    again = cnset.to_text(read.orderBy("cn_max"), ["case"])
    assert {row["case"]: row["text"] for row in again.collect()} == written


def test_labels_are_taken_apart_and_put_together_as_without_spark(spark: SparkSession) -> None:
    rows = frame_of(spark, [(label,) for label in LABELS], "label string").select(
        "label", cnset.store_of("label").alias("store"), cnset.life_of("label").alias("life")
    )
    together = rows.select("*", cnset.label_of("store", "life").alias("again"))
    found = {row["label"]: (row["store"], row["life"], row["again"]) for row in together.collect()}
    assert found == {label: (*cntext.split_label(label), label) for label in LABELS}
    assert [row["label"] for row in rows.orderBy(cnset.order_of("label")).collect()] == sorted(LABELS, key=cntext.label_key)
