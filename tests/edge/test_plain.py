"""Text from elsewhere, shown: nothing in it steers the terminal, turns the line or computes in a spreadsheet."""

from __future__ import annotations

import csv
import io
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfspark.edge.plain import csv_cell, terminal

TURNS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
MARKS = {"\u200e", "\u200f", "\u061c"}


def test_of_all_characters_only_the_steering_ones_are_left_out():
    everything = map(chr, range(sys.maxunicode + 1))
    left_out = {sign for sign in everything if terminal(sign) != sign}
    steering = {
        sign
        for sign in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(sign) in {"Cc", "Cs", "Zl", "Zp"} or unicodedata.bidirectional(sign) in TURNS
    }
    assert steering | MARKS <= left_out
    assert {unicodedata.category(sign) for sign in left_out} <= {"Cc", "Cs", "Cf", "Zl", "Zp", "Cn"}
    assert not left_out & set("\u200c\u200d \u00a0éשع漢🎪")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "[31mred[0m"),
        ("\x1b]0;title\x07x", "]0;titlex"),
        ("\x9b2J", "2J"),
        ("a\r\n\tb\u2028c", "a b c"),
        ("exe.\u202egpj", "exe.gpj"),
        ("שלום, Zoé", "שלום, Zoé"),
        ("half \ud83d", "half "),
    ],
)
def test_terminal(text, shown):
    assert terminal(text) == shown


@given(st.text(st.characters(exclude_categories=())))
def test_what_is_shown_is_one_line_that_any_terminal_can_encode(text):
    assert len(terminal(text).splitlines()) <= 1
    assert terminal(text).encode("utf-8").decode("utf-8") == terminal(text)
    assert terminal(terminal(text)) == terminal(text)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "\r\n=1", "\u200e=1", "\0@", "＝1"])
def test_a_formula_becomes_text(text):
    assert csv_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "a=b", "1-1", "'=1", "Zoé", '"=1"', "a\n=1"])
def test_other_text_stays_as_it_is(text):
    assert csv_cell(text) == text


@given(st.text())
def test_no_cell_of_a_csv_file_begins_a_formula(text):
    out = io.StringIO(newline="")
    csv.writer(out).writerow([csv_cell(text)])
    (cell,) = next(csv.reader(io.StringIO(out.getvalue(), newline="")), [""])
    assert not cell.strip().startswith(("=", "+", "-", "@"))
    assert cell.removeprefix("'") == text.removeprefix("'")
