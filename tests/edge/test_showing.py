"""How a lake shows itself in a shell and in a notebook, and what it says of arguments of a wrong type."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pfspark.errors import UsageError
from pfspark.lake import Lake, portrait

LINE = {
    "org": "ma<in>\x1b[1m", "at": "2026-01-05T08:00:00Z", "replicas": 6, "played": True, "suspended": False, "equal": False,
    "missing": 1_200, "lost": 0, "waiting": 1, "due": None,
}  # fmt: skip


def test_it_says_how_its_organizations_stand() -> None:
    said = portrait.words("/data/lake", 12, [LINE, {**LINE, "org": "b", "equal": True, "missing": 0, "waiting": 0, "lost": 2}])
    assert said.splitlines() == [
        "Lake('/data/lake') after round 12",
        "  ma<in>[1m: 6 replicas, not equal, 1,200 missing, 1 edit waiting, at 2026-01-05T08:00:00Z",
        "  b: 6 replicas, equal, 2 lost, at 2026-01-05T08:00:00Z",
    ]
    assert portrait.words("x", 1, []).splitlines()[1] == "  no organization yet"
    assert "6 replicas, not equal, content suspended, 1,200" in portrait.words("x", 1, [{**LINE, "suspended": True}])
    assert "not played yet" in portrait.words("x", 1, [{**LINE, "played": False}])


def test_names_that_mean_harm_are_words_in_a_notebook() -> None:
    drawn = portrait.table("<b>", 12, [LINE])
    assert "ma&lt;in&gt;[1m</td>" in drawn and "<b>&lt;b&gt;</b>" in drawn and "\x1b" not in drawn
    assert "<td" in portrait.table("x", 1, []) and "no organization yet" in portrait.table("x", 1, [])


def test_a_lake_shows_what_is_at_hand(spark: SparkSession, holed_place: Path, tmp_path: Path) -> None:
    """Nothing is read for a shell that was not known; a lake that cannot be read is named all the same."""
    with Lake.open(holed_place.as_uri(), spark) as lake:
        before = repr(lake)
        stands = list(lake.status_lines())
        assert before in (f"Lake({str(holed_place)!r})", repr(lake))
        assert repr(lake).splitlines()[1].startswith(f"  main: {stands[0]['replicas']} replicas, not equal, 1 missing, at ")
        assert "<td" in lake._repr_html_() and "main" in lake._repr_html_()
        for file in (holed_place / "rounds" / "_delta_log").iterdir():
            file.unlink()
        assert repr(Lake.examine(holed_place.as_uri(), spark)) == f"Lake({str(holed_place)!r})"


@pytest.mark.parametrize(
    ("method", "arguments", "said"),
    [
        ("store", {"name": 5, "site": "x"}, "Lake.store(name=…): found 5, expected a text"),
        ("folder_create", {"store": "PFS1", "path": "/x", "replicas": "PFS1"},
         "Lake.folder_create(replicas=…): found 'PFS1', expected a list, each a text or None"),
        ("post", {"store": "PFS1", "folder": "/Sales", "body": b"", "at": True},
         "Lake.post(at=…): found True, expected a datetime, a text, a whole number or None"),
        ("post", {"store": "PFS1", "folder": "/Sales", "body": b"", "properties": ["x"]},
         "Lake.post(properties=…): found ['x'], expected a table of values by name or None"),
        ("run", {"until": 3.5}, "Lake.run(until=…): found 3.5, expected a datetime, a text, a whole number, None or a timedelta"),
        ("overdue", {"age": "6h"}, "Lake.overdue(age=…): found '6h', expected a timedelta"),
        ("suspend", {"suspended": "no"}, "Lake.suspend(suspended=…): found 'no', expected True or False"),
    ],
)  # fmt: skip
def test_a_wrong_type_gets_a_sentence(holed: Lake, method: str, arguments: dict[str, Any], said: str) -> None:
    version = holed.version()
    with pytest.raises(UsageError) as raised:
        getattr(holed, method)(**arguments)
    assert str(raised.value) == said and holed.version() == version


def test_what_fits_is_done_and_what_python_says_itself_it_says(holed: Lake) -> None:
    assert holed.overdue(timedelta(days=9), as_of=9) == []
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'folder'"):
        holed.delete("PFS1", item="x")  # type: ignore[call-arg]
    assert Lake.post.__doc__ and Lake.post.__doc__.startswith("Posts an item")
