"""`pfspark.toml`: what a folder says for the commands that are given in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.edge.processes import NO_JAVA, environment, one_by_one, python

MAIN = "from pfspark.__main__ import main; main()"
FILE = 'lake = "here"\norg = "acme"\nstore = "PFS1"\nengine = "off"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pfspark.toml").write_text(FILE)
    return tmp_path


def said(folder: Path, *commands: tuple[str, dict[str, str]]) -> list[tuple[int, str, str]]:
    """What commands say that are given in a folder one by one, each with what the environment says, where no Java is."""
    return one_by_one([(words.split(), folder, more) for words, more in commands], environment(**NO_JAVA), MAIN)


def test_what_is_said_there_need_not_be_said_again(folder: Path) -> None:
    words = ("init", "store add PFS1 --site Redmond", "folder create /Sales", "store list --json")
    done = said(folder, *((each, {}) for each in words))
    assert [code for code, _, _ in done] == [0] * len(words), done
    assert (folder / "here" / "rounds").is_dir()
    _, listed, told = done[-1]
    assert told == ""
    assert [(line["org"], line["store"]) for line in map(json.loads, listed.splitlines())] == [("acme", "PFS1")]


def test_the_environment_stands_before_the_file_and_options_before_both(folder: Path) -> None:
    there, elsewhere = ({"PFSPARK_LAKE": name, "PFSPARK_ORG": name} for name in ("there", "elsewhere"))
    done = said(
        folder,
        ("init --lake there --org there", {}),
        ("init --lake elsewhere --org elsewhere", {}),
        ("store add E --site S", there),
        ("store add O --site S --lake elsewhere --org elsewhere", there),
        ("store list --json", there),
        ("store list --json", elsewhere),
    )
    assert [code for code, _, _ in done] == [0] * len(done), done
    assert not (folder / "here").exists()
    for store, (_, listed, told) in zip("EO", done[-2:], strict=True):
        assert ([json.loads(line)["store"] for line in listed.splitlines()], told) == ([store], "")


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


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str, str]]:
    """What each of them is told, in a folder of its own."""
    folders = [tmp_path_factory.mktemp("unfit") for _ in UNFIT]
    for folder, text in zip(folders, UNFIT, strict=True):
        (folder / "pfspark.toml").write_text(text)
    told = one_by_one([(["store", "list"], folder, {}) for folder in folders], environment(**NO_JAVA), MAIN)
    return dict(zip(UNFIT, told, strict=True))


@pytest.mark.parametrize("text", UNFIT, ids=range(len(UNFIT)))
def test_what_does_not_fit_is_told(refused: dict[str, tuple[int, str, str]], text: str) -> None:
    code, _, told = refused[text]
    assert code == 1
    assert told.startswith(f"pfspark: pfspark.toml{UNFIT[text]}")
    assert told.count("\n") == 1


def test_what_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "pfspark.toml").write_bytes(b"\xff\xfe\x00")
    done = python(MAIN, "--version", cwd=tmp_path, **NO_JAVA)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("pfspark: pfspark.toml: not TOML: ") and done.stderr.count("\n") == 1


def test_where_none_is_nothing_is_imported_for_it(tmp_path: Path) -> None:
    script = "import sys; from pfspark.__main__ import configure; configure(); print('pydantic' in sys.modules)"
    assert python(script, cwd=tmp_path, **NO_JAVA).stdout == "False\n"


def test_what_the_environment_says_without_words_it_does_not_say(folder: Path) -> None:
    """It is then as the file says."""
    unsaid: list[dict[str, str]] = [{"PFSPARK_ENGINE": "OFF"}, {"PFSPARK_ENGINE": ""}]
    done = said(folder, *(("--version", more) for more in unsaid), ("init", {"PFSPARK_LAKE": ""}))
    assert [code for code, _, _ in done] == [0, 0, 0], done
    assert (folder / "here" / "rounds").is_dir()


def test_whoever_says_what_does_not_fit_is_named(folder: Path) -> None:
    [(code, _, told)] = said(folder, ("store list", {"PFSPARK_ENGINE": "maybe"}))
    why = "found 'maybe', expected on or off; the nearest known is 'on'"
    assert (code, told) == (1, f"pfspark: PFSPARK_ENGINE: {why}\n")
