"""What an audit finds of damaged and forged tables, and what every other verb says of a damaged one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from pfspark.edge.delta import beside
from pfspark.edge.keeping.auditing import unlike_their_digests
from pfspark.lake import Lake
from tests.edge.lakes import DAY, Copy, broken


def a_data_file(place: Path, table: str) -> Path:
    return next((place / table).glob("part-*.parquet"))


def gone(file: Path) -> None:
    file.unlink()


def torn(file: Path) -> None:
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def torn_inside(file: Path) -> None:
    """Of all columns but the last, which is the round of a row where rounds write; how the file ends can be read."""
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    group = pq.read_metadata(file).row_group(0)
    first = min(group.column(0).data_page_offset, group.column(0).dictionary_page_offset or group.column(0).data_page_offset)
    last = next(group.column(nth) for nth in range(group.num_columns) if group.column(nth).path_in_schema == "round")
    end = min(last.data_page_offset, last.dictionary_page_offset or last.data_page_offset)
    with file.open("r+b") as there:
        there.seek(first)
        there.write(b"\xff" * (end - first))


DAMAGES: dict[str, tuple[Callable[[Path], Path], Callable[[Path], None]]] = {
    "a data file gone": (lambda place: a_data_file(place, "changes"), gone),
    "a data file torn": (lambda place: a_data_file(place, "messages"), torn),
    "a data file torn inside": (lambda place: a_data_file(place, "receipts"), torn_inside),
    "a log file gone": (lambda place: place / "edits" / "_delta_log" / f"{1:020}.json", gone),
    "a log file torn": (lambda place: place / "stores" / "_delta_log" / f"{1:020}.json", torn),
    "the log of the ledger": (lambda place: place / "rounds" / "_delta_log" / f"{1:020}.json", gone),
    "the last row of the ledger": (lambda place: max((place / "rounds" / "_delta_log").glob("*.json")), gone),
}


SEEN_IN_EVERY_RUN = ("a data file gone", "a data file torn inside", "the last row of the ledger")


@pytest.mark.parametrize(
    "damage", [pytest.param(each, marks=() if each in SEEN_IN_EVERY_RUN else pytest.mark.lakes) for each in DAMAGES]
)
def test_what_is_damaged_is_named(damage: str, played_once: Copy, run: Callable[..., str]) -> None:
    """By the audit, which goes on with all else; and where another verb meets it, in one sentence."""
    place = played_once("lake")
    which, how = DAMAGES[damage]
    file = which(place)
    how(file)
    table = file.relative_to(place).parts[0]
    said = run("audit", "--lake", str(place), "--json", code=3, told=file.name)
    lines = {line.get("id"): line for line in map(json.loads, said.splitlines())}
    assert lines["tables"]["rows"] == 1 and table in lines["tables"]["sample"]
    if table != "rounds":
        assert lines["bodies"]["rows"] == lines["ledger"]["rows"] == 0
    if damage == "the last row of the ledger":
        run("round", "--lake", str(place), "--now", f"{DAY}00:05:00Z", code=1, told=file.name)
    else:
        (place / beside.BASE).unlink(missing_ok=True)  # with it nobody need read the facts
        run("state", "--lake", str(place), code=1, told=f"`{table}` of {place} cannot be read: its file ")


FIRST_OF_ALL = -(2**63)
"""No round has a lower number: none does that a column may hold."""
FORGED = hashlib.sha256(b"forged").hexdigest()


@pytest.mark.parametrize(
    ("statements", "named"),
    [
        ([f"UPDATE {{changes}} SET hash = '{FORGED}', size = 6 WHERE name = 'first'",
          f"UPDATE {{content}} SET hash = '{FORGED}', body = X'{b'forged'.hex()}', size = 6"], {"facts", "edits"}),
        (["UPDATE {changes} SET name = 'other' WHERE name = 'first'"], {"facts", "edits"}),
        (["DELETE FROM {edits}"], {"edits"}),
        (["UPDATE {messages} SET priority = 'urgent'", "UPDATE {changes} SET size = 7, made_at = at WHERE name = 'first'"],
         {"facts", "edits", "sizes"}),
    ],
    ids=["a body and its change", "a name", "all edits", "a message and a size"],
)  # fmt: skip
@pytest.mark.lakes
def test_what_is_forged_is_found(statements: list[str], named: set[str], played_once: Copy, spark: SparkSession) -> None:
    lake = Lake.open(played_once("lake"), spark)
    for statement in statements:
        spark.sql(statement.format_map({name: lake._tables.name(name) for name in ("changes", "content", "edits", "messages")}))
    assert broken(lake) == named


@pytest.mark.parametrize("tended", [False, pytest.param(True, marks=pytest.mark.lakes)], ids=["played", "written anew"])
def test_rows_of_no_round_there_ever_was_are_found(tended: bool, played_once: Copy, spark: SparkSession) -> None:
    """Every world would hold them: they come before its first round."""
    with Lake.open(played_once("lake"), spark) as lake:
        if tended:
            lake.maintain(f"{DAY}00:00:00Z")
        number = max(line["round"] for line in lake.lines("rounds"))
        held = lake._tables.arrow("state")
        assert held is not None and held.num_rows
        lake._tables.append("state", held.slice(0, 1).drop_columns("round"), FIRST_OF_ALL)
        forged = next(line for line in lake.audit() if line.get("id") == "facts")
        named = {"table": "state", "round": number if tended else FIRST_OF_ALL}
        assert (forged["rows"], json.loads(forged["sample"])) == (1, named)


def test_rows_of_the_round_that_somebody_is_writing_are_no_forgery(played_once: Copy, spark: SparkSession) -> None:
    """Another plays while the audit looks: the row of the ledger comes last. Of a round after that one nobody writes yet."""
    with Lake.open(played_once("lake"), spark) as lake, Lake.open(lake.where, spark) as other:
        before = replace(lake._tables.snapshot(), as_found=True)
        lake.post("PFS1", "/Sales", b"second", at=f"{DAY}00:05:00Z")
        lake.round(f"{DAY}00:05:00Z")
        rows = lake._tables.arrow("messages")
        assert rows is not None and unlike_their_digests(before) == []
        for ahead, found in ((1, []), (2, [{"table": "messages", "round": lake._tables.snapshot().row.round + 2}])):
            number = lake._tables.snapshot().row.round + ahead
            other._tables.append("messages", rows.slice(0, 1).drop_columns("round"), number)
            assert unlike_their_digests(before) == found


@pytest.mark.lakes
def test_upkeep_seals_what_it_writes_anew(played_once: Copy, spark: SparkSession) -> None:
    """A row of the state that was altered afterwards is found in the round of that upkeep; what came later by itself."""
    with Lake.open(played_once("lake"), spark) as lake:
        lake.maintain(f"{DAY}00:00:00Z")
        lake.round(f"{DAY}00:05:00Z")
    assert broken(lake) == set()
    number = max(line["round"] for line in lake.lines("rounds") if line["what"] == "maintained")
    spark.sql(f"UPDATE {lake._tables.name('state')} SET at = at + INTERVAL 1 SECOND WHERE round < {number}")
    forged = next(line for line in lake.audit() if line.get("id") == "facts")
    assert (forged["rows"], json.loads(forged["sample"])) == (1, {"table": "state", "round": number})
