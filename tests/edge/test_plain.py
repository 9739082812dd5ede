"""Text from elsewhere, shown: nothing in it steers the terminal or turns the line."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfspark.edge.plain import terminal

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
