"""What pictures draw, and where they are shown."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from pfspark import cntext
from pfspark.edge.pictures import HELD, MISSING, picture, show, timeline

SENT, LOST, ASKED, ANSWERED, APPLIED = (
    {"at": f"2026-01-05T{at}:00Z", "store": store, "what": what, "says": f"{store} {what}", "message_id": letter}
    for at, store, what, letter in [
        ("09:00", "PFS1", "sent", "1"),
        ("09:15", "PFS2", "lost", "1"),
        ("16:15", "PFS2", "asked", "2"),
        ("16:30", "PFS1", "answered", "3"),
        ("16:30", "PFS2", "applied", None),
    ]
)


def test_a_row_without_a_bar_is_a_row_too() -> None:
    """The last one also: an axis that ranges by itself would end at the last bar."""
    drawn = picture({"PFS1": cntext.parse("PFS1:1-3"), "PFS2": {}})
    assert list(drawn.layout.yaxis.categoryarray) == ["PFS1", "PFS2"]
    assert drawn.layout.yaxis.range == (1.5, -0.5)


def test_between_two_numbers_is_none() -> None:
    few, many = picture({"PFS1": cntext.parse("PFS1:1-2")}), picture({"PFS1": cntext.parse("PFS1:1-200")})
    assert (few.layout.xaxis.dtick, many.layout.xaxis.dtick) == (1, None)


def test_holes_have_a_colour_of_their_own() -> None:
    drawn = picture({"PFS2": cntext.parse("PFS1:1-3:7")}, {"PFS2": cntext.parse("PFS1:4-6")})
    assert [(bar.hovertext, bar.marker.color) for bar in drawn.data] == [
        ("PFS1:1-3", HELD), ("PFS1:7", HELD), ("PFS1:4-6", MISSING),
    ]  # fmt: skip


def test_a_timeline_has_a_mark_for_each_moment_of_a_store_and_a_line_for_each_letter() -> None:
    arrived = {**ANSWERED, "store": "PFS2", "what": "arrived"}
    drawn = timeline([SENT, LOST, ASKED, ANSWERED, arrived, APPLIED])
    lines = [(list(each.y), each.line.color) for each in drawn.data if each.mode == "lines"]
    assert lines == [(["PFS1", "PFS2"], MISSING), (["PFS1", "PFS2"], HELD)]
    marks = [(each.y[0], each.text[0], each.marker.symbol) for each in drawn.data if each.mode != "lines"]
    assert marks == [
        ("PFS1", "sent", "circle"),
        ("PFS2", "lost", "x"),
        ("PFS2", "asked", "circle"),
        ("PFS1", "answered", "circle"),
        ("PFS2", "arrived<br>applied", "circle"),
    ]
    assert list(drawn.layout.yaxis.categoryarray) == ["PFS1", "PFS2"]


def test_pictures_are_shown_in_notebooks_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[int] = []
    figures = [SimpleNamespace(show=lambda: shown.append(1)), SimpleNamespace(show=lambda: shown.append(2))]
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    show(*figures)
    assert shown == []
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=object))
    show(*figures)
    assert shown == [1, 2]
