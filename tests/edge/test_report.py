"""The page: its numbers are those of the tables, it is small, it works offline, and names that mean harm are words on it."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pfspark import cntext
from pfspark.edge import report
from pfspark.edge.delta import beside
from pfspark.edge.keeping import certificates
from pfspark.edge.plain import terminal
from pfspark.lake import Lake

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
HARM = '</script><img src=x onerror="document.title=1">\u202e{{ 7 * 7 }}'


@pytest.fixture(scope="module")
def figures(holed: Lake) -> report.Figures:
    return report.figures(holed.answers(), "main")


def embedded(page: str) -> dict[str, Any]:
    [text] = re.findall(r'<script type="application/json" id="figures">(.*?)</script>', page, re.DOTALL)
    return dict(json.loads(text))


def tile(page: str, name: str) -> str:
    [text] = re.findall(rf'<b[^>]* id="{name}">(.*?)</b>', page)
    return html.unescape(text)


def test_what_stands_on_the_page_is_what_the_tables_say(holed: Lake, tmp_path: Path) -> None:
    page = holed.report().html
    states = list(holed.lines("state"))
    missing = {(line["store"], line["folder"]): cntext.size(cntext.parse(line["missing"])) for line in states}
    assert sum(missing.values()) == 1
    assert [tile(page, name) for name in ("equal", "replicas", "missing", "lost")] == ["not equal", str(len(states)), "1", "0"]
    letters = [(row["at"], row["store"], to["store"]) for row in holed.messages().collect() for to in row["recipients"]]
    assert tile(page, "sent") == str(len(letters))
    said = embedded(page)
    assert sorted((each[0], each[1], each[2]) for each in said["letters"]) == sorted(
        (int(at.timestamp()), store, peer) for at, store, peer in letters
    )
    lost = {(row["store"], row["sender"], row["reason"]) for row in holed.table("receipts").where("outcome = 'lost'").collect()}
    assert {(each[2], each[1], each[5]) for each in said["letters"] if each[5]} == lost and lost
    assert [each[1] for each in said["open"]] == [1]  # the hole that stands
    assert tile(page, "waiting") == "0" and tile(page, "oldest") == "1m"
    of_links = re.findall(
        r'<td class="name">Redmond</td><td class="name">Redmond</td><td class="n">0</td><td class="n">(\d+)<', page
    )
    assert of_links == [str(len(letters))]
    [cause] = re.findall(r'<table id="causes">.*?<tbody>\s*<tr><td>(.*?)</td><td class="n">1</td>', page, re.DOTALL)
    assert cause == "waiting_to_ask"
    assert "PFS1 lacks PFS2:1" in page and str(holed.answers().snapshot.row.digest) in page


def test_a_file_is_written(holed_place: Path, run: Callable[..., str], tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    assert run("report", str(file), "--lake", str(holed_place), told="page.html: ") == ""
    assert tile(file.read_text(encoding="utf-8"), "missing") == "1"
    run("report", str(tmp_path), "--lake", str(holed_place), code=2, told="cannot be written")


def audited(page: str) -> str:
    [text] = re.findall(r'<p id="audit">(.*?)</p>', page, re.DOTALL)
    return " ".join(html.unescape(re.sub("<.*?>", "", text)).split())


def test_the_page_says_what_the_last_audit_found(holed: Lake, figures: report.Figures) -> None:
    """Of none, of one that found nothing, of one that found a change, of one of another lake, and of what is no certificate."""
    snapshot, place = holed.answers().snapshot, Path(holed.where)
    row, when = snapshot.row, datetime(2026, 1, 6, tzinfo=UTC)

    def said() -> str:
        return audited(report.drawn({**figures, "audit": report.audited(snapshot)}).html)

    def left(digest: str = row.digest, **checks: int | None) -> str:
        certificates.leave(place, {"round": row.round, "ledger": digest, "checks": {"I1": 0, **checks}}, when)
        return said()

    try:
        assert figures["audit"] is None and "None is known here" in said()
        assert left(I3=0) == f"All 2 promises were kept after round {row.round}, 2026-01-06T00:00:00Z."
        assert left(I3=2, bodies=None).startswith(
            f"After round {row.round}, 2026-01-06T00:00:00Z: I3 broken in 2 rows; bodies could not be looked at;"
        )
        assert left("0" * 64).startswith("It was of another ledger than this")
        (place / beside.CERTIFICATE).write_text('{"at": 1}')
        assert "None is known here" in said()
        assert [file.name for file in place.glob("_audit*")] == [beside.CERTIFICATE]
    finally:
        (place / beside.CERTIFICATE).unlink()


def test_a_folder_is_one_whatever_stores_call_it() -> None:
    """While a rename is under way it has the name that most of them know; another of that name is told apart by its id."""

    def state(store: str, path: str, applied: str) -> dict[str, Any]:
        return {"store": store, "folder": path, "applied": applied, "missing": "", "lost": "", "standing": "active"}

    by_folder = {
        "P1:1": {"P1": state("P1", "/B", "P1:1-2"), "P2": state("P2", "/A", "P1:1"), "P3": state("P3", "/B", "P1:1-2")},
        "P1:2": {"P3": state("P3", "/B", "P3:1") | {"id": "P1:2"}},
    }
    gap = {"folder": "/A", "store": "P2", "heard": "2026-01-05T00:00:00Z"}
    found = report._folders(by_folder, [gap], ["P1", "P2", "P3"], datetime(2026, 1, 5, 1, tzinfo=UTC))
    assert [(key, row["folder"], row["id"], row["equal"]) for key, row in found.items()] == [
        ("P1:1", "/B", "P1:1", False), ("P1:2", "/B", "P1:2", True),
    ]  # fmt: skip
    assert [cell and cell["age_s"] for cell in found["P1:1"]["cells"]] == [None, 3600, None]
    assert found["P1:2"]["cells"][:2] == [None, None]
    assert {(row["id"], row["origin"]) for row in report._sets(by_folder, found, ["P1", "P2", "P3"])} == {("P1:1", "P1")}


def test_as_of_an_earlier_round(holed: Lake) -> None:
    page = holed.report(as_of=5).html
    assert "as after round 5," in page and tile(page, "missing") == "0" and "Nothing is missing anywhere." in page


def test_nothing_is_fetched_from_elsewhere(figures: report.Figures) -> None:
    page = report.drawn(figures).html
    assert not re.search(r"(src|href|url)\s*[=(]", page)
    assert set(re.findall(r"https?://[^\"'\s]+", page)) == {"http://www.w3.org/2000/svg"}  # a name, no place
    shown = report.drawn(figures)._repr_html_()
    assert html.unescape(shown.partition('srcdoc="')[2].partition('" sandbox')[0]) == page


def test_names_that_mean_harm_are_words(figures: report.Figures) -> None:
    def named(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: named(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [named(each) for each in value]
        return value.replace("PFS1", HARM).replace("/Sales", f"/{HARM}") if isinstance(value, str) else value

    page = report.drawn(named({**figures, "org": HARM})).html
    assert "<img" not in page and page.count("</script>") == 2
    assert terminal(HARM) in embedded(page)["stores"] and terminal(HARM) in html.unescape(page) and "\u202e" not in page


def test_ten_thousand_replicas_are_a_small_page(figures: report.Figures) -> None:
    cell = {"standing": "active", "missing": 0, "lost": 0, "age_s": None}
    folders = [{"folder": f"/Departments/Number {each}", "id": None, "equal": True, "cells": [cell] * 4} for each in range(2_500)]
    page = report.drawn({**figures, "stores": ["PFS1", "PFS2", "PFS3", "PFS4"], "folders": folders}).html
    assert page.count("<td>✓</td>") == 10_000 and len(page.encode()) < 1_000_000


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
@pytest.mark.parametrize("change", [lambda figures: figures, lambda figures: {**figures, "org": HARM}], ids=["plain", "harm"])
def test_a_browser_draws_it(figures: report.Figures, tmp_path: Path, change: Callable[[Any], Any]) -> None:
    file = tmp_path / "page.html"
    file.write_text(report.drawn(change(figures)).html, encoding="utf-8")
    words = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", file.as_uri()]
    drawn = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True).stdout
    letters = drawn.partition('id="letters"')[2].partition("</svg>")[0]
    assert letters.count("<circle") == len(figures["letters"])
    assert letters.count("<title>") == len(figures["letters"]) + len(figures["stores"])  # of letters, and of lanes
    assert letters.count("×") == sum(1 for each in figures["letters"] if each[5])
    assert "<path" in drawn.partition('id="open"')[2].partition("</svg>")[0]
    assert "<title>1</title>" not in drawn and len(re.findall("<option", drawn)) == 2 + len(figures["stores"]) + 2
