"""A lake in a schema of a catalog: what is said and done there is what is said and done in a folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pfspark.edge import cli, places
from tests.edge import mailbox

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "spark_catalog.`order`"
"""A name that SQL reads as another word."""
MONDAY = "2026-01-05T0"
STORY = f"""
init --profile modern --start {MONDAY}0:00:00Z
store add PFS1 --site Redmond
store add PFS2 --site Paris
link Redmond Paris --delay 7m
folder create /Sales --store PFS1 --replicas PFS1,PFS2 --now {MONDAY}0:00:00Z
import IN --store PFS1 --folder /Sales --now {MONDAY}0:01:00Z
run --until {MONDAY}0:30:00Z
post --store PFS1 --folder /Sales --name after --text hello --now {MONDAY}0:31:00Z
round --now {MONDAY}0:35:00Z
gaps --json
why --all --json
modify after --text better --store PFS1 --folder /Sales --now {MONDAY}0:36:00Z
run --until {MONDAY}1:00:00Z
state --json
state --json --as-of 5
items --store PFS2 --folder /Sales
diff 5 --json
show
maintain
audit --json
export OUT --store PFS2 --folder /Sales
"""


@pytest.fixture
def schema(spark: SparkSession) -> Iterator[str]:
    spark.sql(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
    yield SCHEMA
    spark.sql(f"DROP SCHEMA {SCHEMA} CASCADE")


@pytest.mark.lakes
def test_what_is_said_and_done_in_a_catalog_is_as_in_a_folder(
    schema: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def said_by(where: str, out: str, words: list[str]) -> str:
        assert cli.run([*words, "--lake", where]) == 0, words
        said = capsys.readouterr().out.replace(where, "the lake").replace(out, "OUT")
        return re.sub(r"\b([0-9a-f]{32}|[0-9a-f]{64})\b", "…", said)  # what is drawn, or hangs on it

    letters = [each.raw for each in mailbox.letters(3)]
    mailbox.write_mbox(tmp_path / "in.mbox", letters)
    said = {}
    for where in (schema, str(tmp_path / "lake")):
        out = tmp_path / f"{len(said)}.mbox"
        words = {"IN": str(tmp_path / "in.mbox"), "OUT": str(out)}
        asked = [[words.get(word, word) for word in line.split()] for line in STORY.strip().splitlines()]
        said[where] = [said_by(where, str(out), line) for line in asked]
        said[where].append(out.read_text())
    for line, *both in zip([*STORY.strip().splitlines(), "the mails"], *said.values(), strict=True):
        assert both[0] == both[1], line


@pytest.mark.parametrize(
    ("named", "parts", "quoted"),
    [
        ("main.replication", ["main", "replication"], "`main`.`replication`"),
        ("main.eu.my-lake", ["main", "eu", "my-lake"], "`main`.`eu`.`my-lake`"),
        ("main.`my.lake`", ["main", "my.lake"], "`main`.`my.lake`"),
        ("`ma``in`.x", ["ma`in", "x"], "`ma``in`.`x`"),
    ],
)
def test_a_schema_is_named_as_sql_names_it(named: str, parts: list[str], quoted: str) -> None:
    assert places.SCHEMA.fullmatch(named)
    assert places.parts_of(named) == parts
    assert places.quoted(*parts) == quoted


@pytest.mark.parametrize("named", ["lake", "./a.b", "a/b.c", "s3://a.b", "main.", "`main`", "a.`b"])
def test_what_is_no_name_of_a_schema(named: str) -> None:
    assert not places.SCHEMA.fullmatch(named)
