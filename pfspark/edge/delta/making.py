"""A new lake: its tables, empty, where nothing else is."""

from __future__ import annotations

import contextlib
import os
import shutil
from datetime import timedelta
from pathlib import Path

from pyspark.errors import PySparkException

from pfspark.edge.delta import beside, log, native, sql
from pfspark.edge.delta.damage import damaged, unwritten
from pfspark.edge.delta.ledger import LEDGER
from pfspark.edge.delta.stored import Stored
from pfspark.edge.spark.quietly import quietly
from pfspark.errors import LakeError
from pfspark.rows import columns_of
from pfspark.tables import TABLES


def create(tables: Stored, name: str, history: timedelta) -> None:
    """A table, empty; `history`: how far back it can be read. One of that kind that is there and empty is taken.

    Raises LakeError where there is another, or it cannot be written.
    """
    table = TABLES[name]
    columns = ", ".join(f"`{each.name}` {each.type} COMMENT {sql.literal(each.says)}" for each in table.columns)
    kept = f"interval {max(1, round(history.total_seconds() / 3600))} hours"
    properties = {
        "delta.checkpointInterval": "100",
        "delta.logRetentionDuration": kept,
        "delta.deletedFileRetentionDuration": kept,
        "delta.enableChangeDataFeed": str(name == "edits").lower(),
    }
    listed = ", ".join(f"{sql.literal(key)} = {sql.literal(value)}" for key, value in properties.items())
    try:
        if (place := tables.here(name)) and not place.exists():
            comments = {each.name: each.says for each in table.columns}
            native.create(place, columns_of(name), comments, table.row, properties)
        else:
            said = f"({columns}) USING DELTA COMMENT {sql.literal(table.row)} TBLPROPERTIES ({listed})"
            _create_by_spark(tables, name, said)
    except LakeError:
        raise
    except Exception as error:
        raise unwritten(tables.where, name, error) from error


def _create_by_spark(tables: Stored, name: str, said: str) -> None:
    try:
        with quietly():
            tables.spark.sql(f"CREATE TABLE {tables.name(name)} {said}")
    except PySparkException as error:
        _expect_empty(tables, name, error)


def _expect_empty(tables: Stored, name: str, refused: PySparkException) -> None:
    """Raises LakeError unless a table of that name is there, and is an empty one of a lake; where none is, what refused says."""
    try:
        taken = tables.stored(name)
    except PySparkException:
        raise unwritten(tables.where, name, refused) from refused
    if tuple(taken.columns) != TABLES[name].names or taken.limit(1).collect():
        raise LakeError(f"{tables.where} has a table `{name}` already, and it is not an empty one of a lake. Take another place.")


def take_place(tables: Stored) -> None:
    """Makes the folder, or the schema. Raises LakeError where there is a lake already, or anything else."""
    if tables.folder:
        _clear_beginnings(tables.folder)
    if _has_ledger(tables):
        raise LakeError(f"{tables.where} is a lake already. Use it, or take another place.")
    for file in log.files_with_rows(tables.folder) if tables.folder else ():
        if file.parent.name != LEDGER:  # a row that never came into an empty ledger is the beginning of a lake
            raise damaged(LEDGER, tables.where, "_delta_log")
    tables.create_schema()
    if tables.folder:
        try:
            tables.folder.mkdir(parents=True, exist_ok=True)
            others = sorted({*os.listdir(tables.folder)} - {*TABLES} - beside.NAMES)
        except OSError as error:
            raise LakeError(f"{tables.where} cannot be the place of a lake: {error.strerror}.") from error
        if others:
            raise LakeError(f"{tables.where} is not empty (it has {others[0]!r}). A lake needs a folder of its own.")


def _has_ledger(tables: Stored) -> bool:
    """Whether rounds are told of here."""
    if tables.folder and not (tables.folder / LEDGER).exists():
        return False
    rows = tables.arrow(LEDGER)
    if rows is not None:
        return int(rows.num_rows) > 0
    with contextlib.suppress(PySparkException):
        return len(tables.stored(LEDGER).limit(1).collect()) > 0
    return False


def _clear_beginnings(folder: Path) -> None:
    """Folders of tables that a making cut short has left, and that hold nothing yet, not even a table."""
    for name in TABLES:
        place = folder / name
        files = [file for file in place.rglob("*") if not file.is_dir()]
        if place.is_dir() and all(file.parent.name == "_delta_log" and log.says_nothing(file) for file in files):
            shutil.rmtree(place)
