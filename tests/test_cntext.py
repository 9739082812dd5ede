"""Sets of change numbers as text: every operation against Python's own sets, every kind of mistake with its place."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfspark import cntext
from pfspark.cntext import (
    MAX_CN,
    CnSet,
    contains,
    intersect,
    label,
    label_key,
    parse,
    parse_log,
    run_lines,
    run_set,
    show,
    size,
    split_label,
    subtract,
    union,
)
from pfspark.errors import CnSetError, UsageError

LABELS = ["PFS1", "PFS1~2", "PFS1~10", "PFS2", "a.b_c-d", "7"]
RANGE = st.tuples(st.integers(1, 60), st.integers(0, 12)).map(lambda pair: (pair[0], pair[0] + pair[1]))
PIECES = st.lists(st.tuples(st.sampled_from(LABELS), RANGE), max_size=25)


def numbers(cnset: CnSet) -> set[tuple[str, int]]:
    return {(origin, cn) for origin, ranges in cnset.items() for low, high in ranges for cn in range(low, high + 1)}


def written(pieces: list[tuple[str, tuple[int, int]]]) -> str:
    return ",".join(f"{origin}:{low}-{high}" for origin, (low, high) in pieces)


def is_canonical(cnset: CnSet) -> bool:
    return list(cnset) == sorted(cnset, key=label_key) and all(
        ranges
        and all(1 <= low <= high for low, high in ranges)
        and all(left[1] + 1 < right[0] for left, right in pairwise(ranges))
        for ranges in cnset.values()
    )


# --- properties -------------------------------------------------------------------------------------------------------


@given(PIECES)
def test_parsing_keeps_every_number_and_adds_none(pieces: list[tuple[str, tuple[int, int]]]) -> None:
    cnset = parse(written(pieces))
    assert numbers(cnset) == {(origin, cn) for origin, (low, high) in pieces for cn in range(low, high + 1)}
    assert is_canonical(cnset)
    assert parse(show(cnset)) == cnset
    assert size(cnset) == len(numbers(cnset))


@given(PIECES, PIECES)
def test_algebra_is_that_of_python_sets(a: list[tuple[str, tuple[int, int]]], b: list[tuple[str, tuple[int, int]]]) -> None:
    one, other = parse(written(a)), parse(written(b))
    for ours, theirs in [
        (union(one, other), numbers(one) | numbers(other)),
        (subtract(one, other), numbers(one) - numbers(other)),
        (intersect(one, other), numbers(one) & numbers(other)),
    ]:
        assert numbers(ours) == theirs
        assert is_canonical(ours)
    assert contains(one, other) == (numbers(other) <= numbers(one))
    assert contains(union(one, other), other)


@given(PIECES, st.randoms())
def test_equal_sets_have_one_text(pieces: list[tuple[str, tuple[int, int]]], random: Random) -> None:
    shuffled = pieces * 2
    random.shuffle(shuffled)
    assert show(parse(written(shuffled))) == show(parse(written(pieces)))


@given(st.text(alphabet="PFS1~2:-,; \t09x", max_size=30))
def test_any_text_is_a_set_or_a_cnset_error(text: str) -> None:
    try:
        assert is_canonical(parse(text))
    except CnSetError as error:
        assert "column" in str(error)


# --- vectors ----------------------------------------------------------------------------------------------------------


@pytest.mark.rule("R32", "R38")
@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("PFS1:1-17,PFS1:14-21", "PFS1:1-21"),  # gromox t_id1, t_id2: either order
        ("PFS1:14-21,PFS1:1-17", "PFS1:1-21"),
        ("PFS1:1-19:20-29", "PFS1:1-29"),  # t_id3, t_id4: neighbours
        ("PFS1:20-29:1-19", "PFS1:1-29"),
        ("PFS1:1-40:15-19", "PFS1:1-40"),  # t_id5: inside
        ("PFS1:11-19:71-79:41-49", "PFS1:11-19:41-49:71-79"),  # t_id6
        ("PFS1:11-19:71-79:41-49:20-40", "PFS1:11-49:71-79"),
        ("PFS1:11-19:71-79:41-49:20-40:50-70", "PFS1:11-79"),  # t_id7
        ("PFS1:10-20:30-40", "PFS1:10-20:30-40"),  # V10: a set is never compacted over numbers it lacks
        ("PFS1:1-11, 17", "PFS1:1-11:17"),  # R38
        ("FID1-123:PFS1:1-11, 17", "PFS1:1-11:17"),  # F97
        ("FID1-123:PFS1:211", "PFS1:211"),  # R32
        ("FID1-123:PFS1~2:211", "PFS1~2:211"),
        ("FID1-1A:PFS1:12-16, FID1-1A:PFS2:21-28", "PFS1:12-16,PFS2:21-28"),
        ("PFS1:1-11,17; PFS2:1-20; PFS3:1-31", "PFS1:1-11:17,PFS2:1-20,PFS3:1-31"),  # R95
        ("FID1-123:5", "FID1-123:5"),  # a store may be called so
        ("1:1,2:2", "1:1,2:2"),
        ("PFS2:1,PFS1~10:1,PFS1~2:1,PFS1:1", "PFS1:1,PFS1~2:1,PFS1~10:1,PFS2:1"),
        ("b:1,B:1,a:1", "B:1,a:1,b:1"),  # by bytes
        (f"PFS1:{MAX_CN}", f"PFS1:{MAX_CN}"),
        (f"PFS1:1-{MAX_CN}", f"PFS1:1-{MAX_CN}"),
        (f"PFS1:{MAX_CN}:1-{MAX_CN - 1}", f"PFS1:1-{MAX_CN}"),
        ("\tPFS1 : 1 - 3 ,\n5 ", "PFS1:1-3:5"),
        ("", ""),
        ("  ", ""),
    ],
)
def test_text_forms(text: str, canonical: str) -> None:
    assert show(parse(text)) == canonical


def test_values_are_inclusive_ranges() -> None:
    assert parse("PFS1:1-11:17") == {"PFS1": ((1, 11), (17, 17))}  # V27, inclusive in place of half-open


@pytest.mark.parametrize(
    ("verb", "a", "b", "result"),
    [
        ("contains", "A:21-57", "A:23", "true"),  # V25
        ("contains", "A:21-57", "A:23-25", "true"),
        ("contains", "A:21-57", "A:20-25", "false"),
        ("contains", "A:21-57", "B:23", "false"),
        ("contains", "", "", "true"),
        ("contains", "", "A:1", "false"),
        ("subtract", "A:21-57", "A:21", "A:22-57"),  # V26
        ("subtract", "A:21-57", "A:20-25", "A:26-57"),
        ("subtract", "A:21-57", "A:23-24", "A:21-22:25-57"),
        ("subtract", "PFS1:1-17,PFS2:1-28", "PFS1:1-11:17,PFS2:1-20", "PFS1:12-16,PFS2:21-28"),  # R95
        ("subtract", "A:1-5", "A:1-5", ""),
        ("subtract", "A:29-36", "A:29:36", "A:30-35"),  # openchange removal, 0x1041D-24 as 29-36
        ("subtract", "A:30-35", "A:32:33", "A:30-31:34-35"),
        ("subtract", "PFS1~2:1-5", "PFS1:1-5", "PFS1~2:1-5"),  # another life is another origin
        ("union", "A:1-5", "A:6,B:1", "A:1-6,B:1"),
        ("intersect", "A:1-10,B:1", "A:5-20", "A:5-10"),
        ("intersect", f"A:1-{MAX_CN}", "A:3:5", "A:3:5"),
    ],
)
def test_set_verbs(verb: str, a: str, b: str, result: str) -> None:
    assert run_set(verb, a, b) == result


@pytest.mark.parametrize(
    ("text", "cnset"),
    [
        ("12-1B67,12-1B69", {"PFS1": ((0x1B67, 0x1B69),)}),
        ("12-1B67,12-1B67 12-1B69,12-1B69", {"PFS1": ((0x1B67, 0x1B67), (0x1B69, 0x1B69))}),  # V40
        ("6e-2F506,6E-2f506 1-1,1-1791E", {"PFS3": ((0x2F506, 0x2F506),), "PFS2~2": ((1, 0x1791E),)}),
        ("{0}", {}),
        ("  ", {}),
    ],
)
def test_exchange_log_form(text: str, cnset: CnSet) -> None:
    assert parse_log(text, {"12": "PFS1", 1: "PFS2~2", "6E": "PFS3"}) == cnset


# --- labels -----------------------------------------------------------------------------------------------------------


def test_labels() -> None:
    assert split_label("PFS1") == ("PFS1", 1)
    assert split_label("PFS1~2") == ("PFS1", 2)
    assert label("PFS1", 1) == "PFS1"
    assert label("PFS1", 12) == "PFS1~12"
    assert sorted(["PFS1~10", "PFS2", "PFS1", "PFS1~2", "PFS"], key=label_key) == [
        "PFS",
        "PFS1",
        "PFS1~2",
        "PFS1~10",
        "PFS2",
    ]


@pytest.mark.parametrize(
    "bad", ["", "PFS1~1", "PFS1~0", "PFS1~02", "PFS1~", "PFS1~x", "-PFS", "A" * 65, "PFS 1", "PFS1~2147483648"]
)
def test_bad_labels(bad: str) -> None:
    with pytest.raises(CnSetError, match="expected an origin"):
        split_label(bad)


# --- mistakes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "column", "found", "expected"),
    [
        ("PFS1:1-x", 6, "'1-x'", "a number or a range"),
        ("PFS1:1-3,PFS2:x", 15, "'x'", "a number or a range"),
        ("PFS1:1,  1-x", 10, "'1-x'", "a number or a range"),
        ("1-11", 1, "'1-11'", "an origin"),
        ("PFS1", 1, "'PFS1'", "an origin"),
        ("PFS1:1,PFS2", 8, "'PFS2'", "a number or a range"),
        ("PFS1:", 6, "nothing", "a number or a range"),
        ("PFS1:1,,PFS2:2", 8, "nothing", "a number or a range"),
        ("PFS1:1,", 8, "nothing", "a number or a range"),
        (",PFS1:1", 1, "nothing", "an origin"),
        (":1", 1, "nothing", "an origin"),
        ("PFS1:0", 6, "'0'", "numbers from 1 to 2^63-1"),
        ("PFS1:0-5", 6, "'0-5'", "numbers from 1 to 2^63-1"),
        ("PFS1:-5", 6, "'-5'", "a number or a range"),
        ("PFS1:5-3", 6, "'5-3'", "the lower number first, 3-5"),
        ("PFS1:9223372036854775808", 6, "'9223372036854775808'", "numbers from 1 to 2^63-1"),
        ("PFS1:" + "9" * 5000, 6, "'" + "9" * 30 + "…'", "numbers from 1 to 2^63-1"),
        ("PFS1~1:3", 1, "'PFS1~1'", "an origin"),
        ("PFS 1:3", 1, "'PFS 1'", "an origin"),
        ("é:3", 1, "'é'", "an origin"),
        ("PFS1:٣", 6, "'٣'", "a number or a range"),
        ("PFS1:1_0", 6, "'1_0'", "a number or a range"),
        ("FID1-1:A:1,FID1-2:B:2", 12, "'FID1-2'", "folder FID1-1 again"),
        ("PFS1:1\nPFS2:2", 6, r"'1\nPFS2'", "a number or a range"),
    ],
)
def test_mistakes_name_their_place(text: str, column: int, found: str, expected: str) -> None:
    with pytest.raises(CnSetError) as caught:
        parse(text)
    head, excerpt, caret = str(caught.value).splitlines()
    assert f"column {column}: found {found}, expected {expected}" in head
    assert len(excerpt) <= 70
    if column <= len(text):
        seen = text[column - 1]
        assert excerpt[caret.index("^")] == seen


def test_the_caret_finds_its_place_in_a_long_text() -> None:
    text = "PFS1:" + ":".join(str(cn) for cn in range(1, 2000, 2)) + ":oops:" + ":".join("7" * 50)
    with pytest.raises(CnSetError) as caught:
        parse(text)
    _, excerpt, caret = str(caught.value).splitlines()
    assert excerpt[caret.index("^") :].startswith("oops")
    assert excerpt.strip()[0] == "…" == excerpt[-1]


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("12-1B67", 1, "a pair of hex ids"),
        ("12-1B67,12-1B69 12-1G,12-1H", 17, "a pair of hex ids"),
        ("12-1B67,13-1B69", 9, "the same REPLID 12"),
        ("13-1B67,13-1B69", 1, "a REPLID of the table of origins, which has 12"),
        ("12-1B69,12-1B67", 1, "numbers from 1 to 2^63-1, the lower one first"),
        ("12-0,12-5", 1, "numbers from 1"),
        ("{0} 12-1,12-1", 1, "a pair of hex ids"),
    ],
)
def test_mistakes_in_the_log_form(text: str, column: int, expected: str) -> None:
    with pytest.raises(CnSetError, match="column") as caught:
        parse_log(text, {"12": "PFS1"})
    assert f"column {column}: " in str(caught.value)
    assert expected in str(caught.value)


def test_unknown_verb_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="did you mean 'union'") as caught:
        run_set("uniom", "A:1", "A:2")
    assert caught.value.exit_code == 2


def test_lines_answer_line_by_line_in_order() -> None:
    lines = [
        "union\tA:1\tA:2\n",
        "subtract\tA:1-3\t\r\n",
        "contains\tA:1\tA:2",
        "union\tA:x\tA:2\n",
        "union\tA:1\n",
        "\n",
        "union\t\t\n",
    ]
    results = list(run_lines(lines))
    assert results[:3] == ["A:1-2", "A:1-3", "false"]
    assert [result.startswith("error: ") for result in results] == [False, False, False, True, True, True, False]
    assert "column 3: found 'x'" in results[3]
    assert "found 2 columns, expected verb<TAB>A<TAB>B" in results[4]
    assert results[6] == ""
    assert all("\n" not in result for result in results)


# --- size -------------------------------------------------------------------------------------------------------------


def test_a_hundred_thousand_ranges() -> None:
    """A third of a second; a walk that is quadratic would take minutes."""
    text = "PFS1" + "".join(f":{3 * n}-{3 * n + 1}" for n in range(1, 100_001))
    cnset = parse(text)
    gone = subtract(cnset, {"PFS1": tuple((low + 1, high + 1) for low, high in cnset["PFS1"])})
    again = show(cnset)
    assert again == text
    assert size(gone) == 100_000


def test_examples_of_the_docstrings() -> None:
    import doctest

    assert doctest.testmod(cntext).failed == 0
