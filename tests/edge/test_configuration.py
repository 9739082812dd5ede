"""`pfspark.toml`: what a folder says for the commands that are given in it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.edge.processes import NO_JAVA, python

MAIN = "from pfspark.edge.engine.client import main; main()"
FILE = 'lake = "here"\norg = "acme"\nstore = "PFS1"\nengine = "off"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pfspark.toml").write_text(FILE)
    return tmp_path


def said(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return python(MAIN, *words, cwd=folder, **NO_JAVA, **environment)


def lines(folder: Path, *words: str, **environment: str) -> list[dict[str, object]]:
    done = said(folder, *words, "--json", **environment)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_what_is_said_there_need_not_be_said_again(folder: Path) -> None:
    assert said(folder, "init").returncode == 0
    assert said(folder, "store", "add", "PFS1", "--site", "Redmond").returncode == 0
    assert said(folder, "folder", "create", "/Sales").returncode == 0
    assert (folder / "here" / "rounds").is_dir()
    assert [(line["org"], line["store"]) for line in lines(folder, "store", "list")] == [("acme", "PFS1")]


def test_the_environment_stands_before_the_file_and_options_before_both(folder: Path) -> None:
    for name in ("there", "elsewhere"):
        assert said(folder, "init", "--lake", name, "--org", name).returncode == 0
    assert said(folder, "store", "add", "E", "--site", "S", PFSPARK_LAKE="there", PFSPARK_ORG="there").returncode == 0
    asked = ("store", "add", "O", "--site", "S", "--lake", "elsewhere", "--org", "elsewhere")
    assert said(folder, *asked, PFSPARK_LAKE="there", PFSPARK_ORG="there").returncode == 0
    assert not (folder / "here").exists()
    for lake, store in (("there", "E"), ("elsewhere", "O")):
        assert [line["store"] for line in lines(folder, "store", "list", PFSPARK_LAKE=lake, PFSPARK_ORG=lake)] == [store]


UNFIT = {  # what stands behind the name of the file
    'lakee = "x"': ": key 'lakee' is not known, expected lake, org, store, engine; the nearest known is 'lake'",
    'jars = "/tmp/evil"': ": key 'jars' is not known, expected lake, org, store, engine",
    "lake = 7": ": lake: found 7, expected a text",
    'store = " "': ": store: found ' ', expected a text",
    'engine = "maybe"': ": engine: found 'maybe', expected on or off",
    'lake = "a\\u0000b"': r": lake: found 'a\x00b', expected a text",
    "lake = " + "[" * 5_000: ": cannot be read as TOML: ",
    "lake = " + "1" * 5_000: ": cannot be read as TOML: ",
    "a." * 20_000 + "a = 1": ":1: a key of more than 32 parts",
    "# " + "x" * 2**16: ": more than 64 KiB, expected a few lines",
    "lake = ": ":1: not TOML: ",
    "[lake]": ": lake: found {}, expected a text",
}


@pytest.mark.parametrize("text", UNFIT, ids=range(len(UNFIT)))
def test_what_does_not_fit_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "pfspark.toml").write_text(text)
    done = said(tmp_path, "store", "list")
    assert done.returncode == 1
    assert done.stderr.startswith(f"pfspark: pfspark.toml{UNFIT[text]}")
    assert done.stderr.count("\n") == 1


def test_what_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "pfspark.toml").write_bytes(b"\xff\xfe\x00")
    assert said(tmp_path, "--version").stderr.startswith("pfspark: pfspark.toml: not TOML: ")


def test_where_none_is_nothing_is_imported_for_it(tmp_path: Path) -> None:
    script = "import sys; from pfspark.edge.engine.client import configure; configure(); print('pydantic' in sys.modules)"
    assert python(script, cwd=tmp_path, **NO_JAVA).stdout == "False\n"


def test_what_the_environment_says_without_words_it_does_not_say(folder: Path) -> None:
    """It is then as the file says."""
    for name, value in (("PFSPARK_ENGINE", "OFF"), ("PFSPARK_ENGINE", "")):
        assert said(folder, "--version", **{name: value}).returncode == 0
    assert said(folder, "init", PFSPARK_LAKE="").returncode == 0 and (folder / "here" / "rounds").is_dir()


def test_whoever_says_what_does_not_fit_is_named(folder: Path) -> None:
    done = said(folder, "store", "list", PFSPARK_ENGINE="maybe")
    why = "found 'maybe', expected on or off; the nearest known is 'on'"
    assert (done.returncode, done.stderr) == (1, f"pfspark: PFSPARK_ENGINE: {why}\n")
