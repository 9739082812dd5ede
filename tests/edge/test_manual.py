"""The reference of the Python modules: every public word is on a page, and a page asks nobody for anything."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

import pfspark
from pfspark.edge import config, manual
from pfspark.lake import Lake

PACKAGE = Path(pfspark.__file__).parent
NOT_IMPORTED = {"__main__", "cli", "edge", "engine", "sim"}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache := tmp_path_factory.mktemp("cache")))
        first = manual.kept()
    assert (first.name, first.parents[3]) == ("pfspark.html", cache)
    return first.parent


def is_told_by_its_package(file: Path) -> bool:
    """A package that lists its names (`__all__`) has them on its own page."""
    package = file.parent / "__init__.py"
    return file != package and package.exists() and "\n__all__ = " in package.read_text()


def test_every_module_that_is_imported_has_a_page(pages: Path) -> None:
    modules = {
        file.relative_to(PACKAGE.parent).with_suffix("").as_posix().removesuffix("/__init__")
        for file in PACKAGE.rglob("*.py")
        if NOT_IMPORTED.isdisjoint(file.relative_to(PACKAGE).with_suffix("").parts) and not is_told_by_its_package(file)
    }
    written = {page.relative_to(pages).with_suffix("").as_posix() for page in pages.rglob("*.html")} - {"index"}
    assert written == modules


def test_a_lake_is_told_whole(pages: Path) -> None:
    """All that can be done with a lake is on one page, with the docstring's own words."""
    page = (pages / "pfspark" / "lake.html").read_text()
    for name in (name for name in dir(Lake) if not name.startswith("_")):
        assert re.search(rf'id="Lake.{name}"|#\w+\.{name}"', page), name


def test_pages_ask_nobody(pages: Path) -> None:
    for page in pages.rglob("*.html"):
        assert not re.search(r'<(script|img|iframe)[^>]+src="https?:|<link[^>]+href="https?:', page.read_text()), page


def test_nothing_is_written_over(run: Callable[..., str], tmp_path: Path) -> None:
    run("docs", "--python", str(tmp_path), code=2, told="is there already, expected a new folder")
    run("docs", "--python", str(tmp_path / "a"), "gap", code=2, told="found names or --json beside --python")
    run("docs", "--open", "--json", code=2, told="found names or --json beside --open")
    assert not [*tmp_path.iterdir()]


def test_pages_are_opened_and_kept(pages: Path, run: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the cache folder, as long as pfspark stays as it is; or where it is said."""
    opened: list[Path] = []
    monkeypatch.setattr(typer, "launch", lambda page: opened.append(Path(page)))
    monkeypatch.setenv("XDG_CACHE_HOME", str(pages.parents[2]))
    (pages / "mine").touch()
    run("docs", "--open", told=f"{pages / 'pfspark.html'}: begin there")
    assert (pages / "mine").exists()
    monkeypatch.setattr(manual, "MODULES", ("pfspark", r"!pfspark\."))
    run("docs", "--python", str(tmp_path / "new"), "--open", told="begin there")
    monkeypatch.setattr(config, "stamp", lambda: "another")
    monkeypatch.setenv("XDG_CACHE_HOME", str(shutil.copytree(pages.parents[2], tmp_path / "cache")))
    run("docs", "--open", told="begin there")
    kept = tmp_path / "cache" / "pfspark" / "reference"
    assert [place.name for place in kept.iterdir()] == ["another"]
    assert opened == [pages / "pfspark.html", tmp_path / "new" / "pfspark.html", kept / "another" / "pfspark.html"]
    assert all("<h1" in page.read_text() for page in opened)


def test_who_lacks_pdoc_is_told(run: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pdoc", None)
    run("docs", "--python", str(tmp_path / "a"), code=2, told="pip install 'pfspark[docs]'")
    assert not (tmp_path / "a").exists()
