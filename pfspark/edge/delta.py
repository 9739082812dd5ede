"""The tables of a lake on Delta: the ledger that makes rounds count, and the one door through which they are read.

Delta commits one table at a time, so the facts of a round count only once its row is in the ledger `rounds`: a fact is
valid if its round is in the ledger and its row there is not `opened`. A writer begins by taking a number with an `opened`
row; whatever another writer, killed or only slow, has left or may still leave under that number is void for ever.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import operator
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property, reduce
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import Row as SparkRow
from pyspark.sql import functions as F

from pfspark import execute, said
from pfspark.edge import bases, certificates, native, places
from pfspark.edge.crossing import handed
from pfspark.edge.damage import damage, damaged
from pfspark.edge.digests import numbered
from pfspark.edge.ledger import BY_PEOPLE, FACTS, FORMAT, LEDGER, LOOKED_AT, AsOf, Restored, Row, looked_up, restored_of
from pfspark.edge.locks import APPEND_LOCK, UNKNOWN, WRITER_LOCK, left_at, lock, lock_file
from pfspark.edge.session import files_are_local
from pfspark.edge.writer import Writer
from pfspark.errors import LakeError, NoLakeError, NoPlaceError
from pfspark.rows import Session, local, nothing, rows_of, schema_of
from pfspark.rules import intake
from pfspark.tables import TABLES
from pfspark.threads import callers_threads

if TYPE_CHECKING:
    import pyarrow.dataset as ds

CREATED = 0
"""The version of a table that nobody has written to."""
OF_A_FILE = 500_000
"""Rows of a table that is written anew that come into one file, and are written by one task."""
MANY_FILES = 200
"""So many small files are read in a quarter of a second."""
THREADS = 4
"""Commits wait for the disk more than they work."""

TIDIED = ("OPTIMIZE", "VACUUM START", "VACUUM END")
"""What Delta calls commits after which a table says the same as before."""

REFUSALS = (PySparkException, Py4JError)
"""What Spark raises where it cannot read or write; what its jobs meet comes as Java's own."""

Hook = Callable[[str], object]

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKSUM = re.compile(r"(\d{20})\.crc")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\..*parquet")
_FULL = re.compile(r"No space left on device|Disk quota exceeded")
_CAUSES = re.compile(rf"{_FULL.pattern}|Permission denied|Read-only file system|File too large")


class Tables:
    """The tables of one lake, in a folder or in a schema of a catalog."""

    def __init__(self, spark: Session, where: str | os.PathLike[str], hook: Hook = lambda point: None) -> None:
        """`where`: a folder, or `catalog.schema`. `hook` is told each commit, `before changes`, `after changes`.

        A name of two parts is that of a schema if Spark knows such a catalog and no such folder is there. A path without a
        scheme is what Spark takes it for: where its default file system (`fs.defaultFS`) is another than this machine's,
        a local folder is named by `file:`. A session that is still to be started is, unless nothing hints at anything but a
        folder of this machine.
        """
        self._spark = spark
        self._read: tuple[int, Ledger] | None = None
        """The ledger as it was read last, with its version."""
        self._starting = Lock()
        self.hook = hook
        named = os.fspath(where)
        path = places.path_of(named)
        self._schema: list[str] | None = None
        self.folder = places.surely_local(named) if callable(spark) and native.IS_HERE else None
        if self.folder is None:
            said_local = named.startswith("file:")
            if (
                not said_local
                and places.SCHEMA.fullmatch(path)
                and not Path(path).exists()
                and places.is_catalog(self.spark, path)
            ):
                self._schema = places.parts_of(path)
            elif said_local or (not places.REMOTE.match(path) and files_are_local(self.spark)):
                self.folder = Path(path).absolute()
        self.where = str(self.folder or path)

    @property
    def spark(self) -> SparkSession:
        """The session, started when it is first needed."""
        with self._starting:
            if callable(self._spark):
                self._spark = self._spark()
            return self._spark

    @cached_property
    def _place(self) -> str:
        """The lake as Spark names it."""
        return f"file:{self.where}" if self.folder and not files_are_local(self.spark) else self.where

    @property
    def is_native(self) -> bool:
        """Whether what is small is read here, and rows that are here are written, without Spark."""
        return self.folder is not None and native.IS_HERE

    @property
    def in_schema(self) -> bool:
        """Whether the lake is a schema of a catalog."""
        return self._schema is not None

    def others(self, prefix: str) -> list[str]:
        """The tables of the schema whose names begin so; none where it cannot be asked."""
        assert self._schema is not None
        with contextlib.suppress(*REFUSALS):
            there = self.spark.sql(f"SHOW TABLES IN {places.quoted(*self._schema)} LIKE {_quoted(prefix + '*')}").collect()
            return sorted(row["tableName"] for row in there if row["tableName"].startswith(prefix))
        return []

    @classmethod
    def create(cls, spark: Session, where: str | os.PathLike[str], *, history: timedelta = timedelta(days=30)) -> Tables:
        """A new lake, empty; `history`: how far back `as_of` reads.

        Raises LakeError where there is a lake already, or anything else.
        """
        tables = cls(spark, where)
        tables._refuse_taken_place()
        with tables.threads() as threads:
            list(threads.map(lambda name: tables._create(name, history), TABLES))
        now = datetime.now(UTC)
        versions = tables.versions(name for name in TABLES if name != LEDGER)
        cursors = {"edits": versions["edits"]}
        with tables.writing() as writer:
            writer.record(Row(1, "created", writer.name, {}, now, now, versions, cursors))
        return tables

    @classmethod
    def open(cls, spark: Session, where: str | os.PathLike[str], hook: Hook = lambda point: None) -> Tables:
        """The lake that is there.

        Raises LakeError where there is none, or one of a newer pfspark.
        """
        tables = cls(spark, where, hook)
        tables.snapshot()
        return tables

    @staticmethod
    def expect(where: str | os.PathLike[str], *, whole: bool = True) -> None:
        """Raises LakeError where a folder of this machine is named in which no lake is, or, if it need not be `whole`, not even
        one of its tables: that is told before Spark starts."""
        folder = places.local_folder(where)
        if folder and not folder.exists():
            raise NoPlaceError(f"{folder} is not a lake: there is no such folder. Make one with `pfspark init`.")
        if folder and whole and not (folder / LEDGER / "_delta_log").is_dir():
            raise NoLakeError(f"{folder} is not a lake: it has no ledger. Make one with `pfspark init`.")
        if folder and not any((folder / name).is_dir() for name in TABLES):
            raise NoLakeError(f"{folder} is not a lake: it has none of its tables. Make one with `pfspark init`.")

    def name(self, table: str) -> str:
        """The name of a table in SQL."""
        return places.quoted(*self._schema, table) if self._schema else places.quoted("delta", f"{self._place}/{table}")

    def version(self, table: str) -> int:
        """The newest version of a table."""
        if self.folder is None:
            return int(self.spark.sql(f"DESCRIBE HISTORY {self.name(table)} LIMIT 1").collect()[0]["version"])
        newest = self._newest(table)
        if newest is None:
            raise FileNotFoundError(self.folder / table / "_delta_log")
        return newest

    def _newest(self, table: str) -> int | None:
        """The newest version of a table in a local folder; None: it has no log there."""
        assert self.folder is not None
        with contextlib.suppress(FileNotFoundError):
            log = os.listdir(self.folder / table / "_delta_log")
            return max((int(found[1]) for found in map(_COMMIT.fullmatch, log) if found), default=None)
        return None

    def versions(self, names: Iterable[str]) -> dict[str, int]:
        """The newest version of each table."""
        wanted = list(names)
        with self.threads() as threads:
            return dict(zip(wanted, threads.map(self.version, wanted), strict=True))

    def threads(self) -> ThreadPoolExecutor:
        """Threads that read and write tables at once, in the name of who calls where Spark does it."""
        return ThreadPoolExecutor(THREADS) if self.is_native else callers_threads(self.spark, THREADS)

    def settled(self, name: str, version: int) -> int:
        """The newest version of a table that says the same as that one: those between were only tidied."""
        tidied = {commit["version"] for commit in self._commits(name, version) if commit["operation"] in TIDIED}
        while version + 1 in tidied:
            version += 1
        return version

    def written_anew(self, name: str, since: int) -> bool:
        """Whether upkeep has written a table anew after that version."""
        return any((commit["operationParameters"] or {}).get("mode") == "Overwrite" for commit in self._commits(name, since))

    def _commits(self, name: str, since: int) -> list[SparkRow]:
        """The commits of a table after that version; where there is none, Delta is not asked."""
        newer = self.version(name) - since
        return self.spark.sql(f"DESCRIBE HISTORY {self.name(name)} LIMIT {newer}").collect() if newer > 0 else []

    def snapshot(self, as_of: AsOf = None) -> Snapshot:
        """The lake after its last round; after the round of that number; or after the last round not after that time.

        A time is compared with the organizations' own, so a lake that is played in advance or afterwards is asked by the
        time that was played.
        """
        if isinstance(as_of, datetime):
            as_of = as_of if as_of.tzinfo else as_of.replace(tzinfo=UTC)
        found = self._looked_up(as_of) or self._ledger(as_of)
        if found["last"] is None:
            raise NoLakeError(f"{self.where} is no lake yet: its making was cut short. Make it again with `pfspark init`.")
        if found["format"] > FORMAT:
            raise LakeError(
                f"{self.where} was made by a newer pfspark (format {found['format']}, this one knows {FORMAT}). Update pfspark."
            )
        if found["row"] is None and isinstance(as_of, datetime):
            raise LakeError(f"{self.where} had no round yet at {as_of:%Y-%m-%dT%H:%M:%SZ}.")
        if found["row"] is None or (isinstance(as_of, int) and not 1 <= as_of <= found["last"]):
            raise LakeError(f"{self.where} has no round {as_of}: its rounds are 1 to {found['last']}.")
        row = Row.read(found["row"])
        restores = {each["round"]: restored_of(each["restored"]) for each in found["restores"] if each["round"] <= row.round}
        people = {} if as_of is None else {name: row.versions[name] for name in BY_PEOPLE}
        return Snapshot(self, row, frozenset(found["void"]), restores, people, furthest=found["furthest"])

    def ledger(self) -> Ledger | None:
        """The ledger without Spark; None where that cannot be. Of a version that was read it is as it was."""
        version = self._newest(LEDGER) if self.is_native else None
        if version is None or self.folder is None:
            return None
        if self._read is None or self._read[0] != version:
            opened = native.dataset(self.folder / LEDGER, version)
            rows = None if opened is None else native.rows(opened, columns_of(LEDGER, LOOKED_AT))
            if opened is None or rows is None:
                return None
            self._read = version, Ledger(rows, opened)
        return self._read[1]

    def _looked_up(self, as_of: AsOf) -> dict[str, Any] | None:
        """What a snapshot needs of the ledger, without Spark; None where that cannot be."""
        if (ledger := self.ledger()) is None:
            return None
        found = looked_up(ledger.rows, as_of)
        if found["round"] is None:
            return {**found, "row": None}
        row = ledger.row(found["round"])
        return None if row is None else {**found, "row": row}

    def _ledger(self, as_of: AsOf) -> dict[str, Any]:
        """What a snapshot needs of the ledger, by Spark: see `looked_up`."""
        try:
            rows = self.stored(LEDGER)  # first: without a session there are no columns either
            [found] = rows.agg(*_what_a_snapshot_needs(as_of)).toArrow().to_pylist()
        except LakeError:
            raise
        except REFUSALS as error:
            if known := damage(error):
                raise known from error
            raise NoLakeError(f"{self.where} is not a lake: it has no ledger. Make one with `pfspark init`.") from error
        return cast(dict[str, Any], found)

    def arrow(
        self,
        name: str,
        version: int | None = None,
        keep: pc.Expression | None = None,
        columns: Sequence[str] = (),
    ) -> pa.Table | None:
        """All rows of a table, void ones too, or those to `keep`, without Spark; None where that cannot be."""
        if self.folder is None or not native.IS_HERE:
            return None
        return native.read(self.folder / name, columns_of(name, columns), version, keep)

    def read(self, name: str, as_of: AsOf = None) -> DataFrame:
        """The valid rows of a table, now or `as_of` a round or a time."""
        return self.snapshot(as_of).read(name)

    def edits_between(self, first: int, last: int) -> pa.Table:
        """The edits that came with the versions after `first` up to `last`, as rounds are given them (`intake.legible`)."""
        if self.folder and native.IS_HERE:
            fresh = native.added(self.folder / "edits", columns_of("edits"), first, last, said.legible)
            if fresh is not None:
                return fresh
        asked = self.spark.read.option("readChangeFeed", "true").option("startingVersion", str(first + 1))
        asked = asked.option("endingVersion", str(last))
        feed = asked.table(self.name("edits")) if self._schema else asked.format("delta").load(f"{self._place}/edits")
        return intake.legible(feed.where("_change_type = 'insert'").select(*TABLES["edits"].names)).toArrow()

    def append(self, name: str, rows: pa.Table | DataFrame, round: int | None = None) -> None:
        """More rows of a table: facts of that `round`, or what people say, which any number of writers may append.

        Raises LakeError if they cannot be written; then none of them is.
        """
        with contextlib.nullcontext() if name in FACTS else self._appending_whole(name):
            if self.is_native and not isinstance(rows, DataFrame):
                self._append_natively(name, self._fit(name, rows, round), round)
            else:
                said = {} if round is None else {"userMetadata": str(round)}
                self._save(name, self._frame(name, rows, round), "append", said)

    def rewrite(self, name: str, rows: DataFrame, round: int) -> None:
        """Other rows, no more than those, in place of the ones up to that `round`, of a table that rounds write; older versions
        stay as they are.

        Where another, of a later round, has rewritten the table meanwhile, nothing is done.
        """
        options = {"replaceWhere": f"round <= {round}", "txnAppId": "pfspark", "txnVersion": str(round)}
        files = -(-self.count(name) // OF_A_FILE) or 1
        self._save(name, rows.select(*TABLES[name].names).coalesce(files), "overwrite", options)

    def replace(self, name: str, rows: DataFrame) -> None:
        """Other rows in place of all, of a table that is made where there is none: nothing that the ledger tells of.

        Raises LakeError if they cannot be written, as into a table of other columns.
        """
        self._save(name, rows, "overwrite", {})

    def take_back(self, name: str, version: int) -> None:
        """The rows of a table become again those of an earlier version; the versions between stay as they are."""
        self.spark.sql(f"RESTORE TABLE {self.name(name)} TO VERSION AS OF {version}")

    def delete(self, name: str, condition: str) -> None:
        """Rows go from the newest version of a table; what stands in one comes into the condition by `among` alone."""
        with contextlib.nullcontext() if name in FACTS else self._appending():
            self.spark.sql(f"DELETE FROM {self.name(name)} WHERE {condition}")

    def delete_these(self, name: str, keys: DataFrame, condition: str) -> None:
        """Rows go from the newest version of a table that have the columns of a row of `keys`, and of which the condition holds:
        however many keys there are, in one commit."""
        with contextlib.nullcontext() if name in FACTS else self._appending():
            view = f"pfspark_{name}_that_go"
            keys.createOrReplaceTempView(view)
            same = " AND ".join(f"{name}.{column} = {view}.{column}" for column in keys.columns)
            merged = f"MERGE INTO {self.name(name)} AS {name} USING {view} ON {same} AND {condition}"
            keys.sparkSession.sql(f"{merged} WHEN MATCHED THEN DELETE")
            keys.sparkSession.catalog.dropTempView(view)

    def tidy(self, name: str) -> None:
        """Small files of a table are joined; files that its history no longer reaches are removed."""
        with contextlib.nullcontext() if name in FACTS else self._appending():
            self.spark.sql(f"OPTIMIZE {self.name(name)}")
            self.spark.sql(f"VACUUM {self.name(name)}")

    def gather(self, name: str) -> None:
        """The files of a table of this machine are joined where they are many; its rows and its history stay as they are.

        Each round adds one to the ledger, and every command reads them all: 2,000 of them take two seconds and a half.
        """
        if self.is_native and self.folder is not None and native.files(self.folder / name) > MANY_FILES:
            native.compact(self.folder / name)

    def count(self, name: str) -> int:
        """How many rows a table has, void ones too."""
        return self.stored(name).count()

    @contextlib.contextmanager
    def writing(self) -> Iterator[Writer]:
        """The one who plays rounds here, for a while."""
        writer = Writer(self)
        try:
            yield writer
        finally:
            writer.close()

    def _frame(self, name: str, rows: pa.Table | DataFrame, round: int | None) -> DataFrame:
        if isinstance(rows, DataFrame):
            frame = rows if round is None else rows.withColumn("round", F.lit(round).cast("bigint"))
            return frame.select(*TABLES[name].names)
        frame = handed(self.spark, self._fit(name, rows, round), schema_of(name))
        return frame.coalesce(1) if rows.num_rows < execute.LARGE else frame

    def _fit(self, name: str, rows: pa.Table, round: int | None) -> pa.Table:
        """Rows in the columns of a table, as Arrow has them."""
        if round is not None:
            rows = numbered(rows, round)
        return rows.select(list(TABLES[name].names)).cast(columns_of(name))

    def _append_natively(self, name: str, rows: pa.Table, round: int | None) -> None:
        assert self.folder is not None
        self.hook(f"before {name}")
        try:
            native.append(self.folder / name, rows, None if round is None else str(round))
        except Exception as error:
            raise _unwritten(self.where, name, error) from error
        self.hook(f"after {name}")

    def _append_once(self, name: str, rows: pa.Table, app: str, number: int) -> bool:
        assert self.folder is not None
        self.hook(f"before {name}")
        try:
            done = native.append_once(self.folder / name, rows, str(number), app, number)
        except Exception as error:
            raise _unwritten(self.where, name, error) from error
        self.hook(f"after {name}")
        return done

    @contextlib.contextmanager
    def _appending_whole(self, name: str) -> Iterator[None]:
        """An append of people: in turns, and with nothing left where it fails."""
        with self._appending(), self._clearing(name):
            yield

    def _save(self, name: str, frame: DataFrame, mode: str, options: Mapping[str, str]) -> None:
        self.hook(f"before {name}")
        writer = frame.write.format("delta").mode(mode).options(**options)
        try:
            if self._schema:
                writer.saveAsTable(self.name(name))
            else:
                writer.save(f"{self._place}/{name}")
        except Exception as error:
            raise _unwritten(self.where, name, error) from error
        self.hook(f"after {name}")

    def stored(self, name: str, version: int | None = None) -> DataFrame:
        """All rows of a table, void ones too."""
        asked = f"SELECT * FROM {self.name(name)}" + ("" if version is None else f" VERSION AS OF {version}")
        try:
            rows = self.spark.sql(asked)
        except REFUSALS as error:
            flaws = self.flaws(name)
            if flaws or not isinstance(error, PySparkException):
                raise damaged(name, self.where, flaws[0] if flaws else "_delta_log") from error
            raise
        if name == LEDGER and "facts" not in rows.columns:  # of format 1
            return rows.withColumn("facts", F.lit(None).cast("map<string,string>"))
        return rows

    def flaws(self, name: str) -> list[str]:
        """Files of a table's log that are gone or torn, as far as its folder tells; a log that is gone whole, as a folder.

        Spark leaves a checksum beside each commit, and who plays rounds says how far he has written the ledger; so the last
        one cannot go unnoticed either.
        """
        if self.folder is None:
            return []
        place = self.folder / name / "_delta_log"
        try:
            log = os.listdir(place)
        except FileNotFoundError:
            log = []
        commits, checksums, checkpoints = (
            {int(found[1]) for found in map(kind.fullmatch, log) if found} for kind in (_COMMIT, _CHECKSUM, _CHECKPOINT)
        )
        if not commits | checkpoints:
            return ["_delta_log"] if checksums or self._data_files() else []
        begin = max(checkpoints) + 1 if checkpoints else 0
        left = left_at(self.folder) if name == LEDGER else UNKNOWN
        wanted = range(begin, max(commits | checksums | checkpoints | {left}) + 1)
        return [f"_delta_log/{version:020}.json" for version in wanted if not _whole(place / f"{version:020}.json")]

    def _data_files(self) -> list[Path]:
        """Files with rows, of any table."""
        return [file for name in TABLES for file in sorted((self.folder or Path()).glob(f"{name}/*.parquet"))]

    def _create(self, name: str, history: timedelta) -> None:
        table = TABLES[name]
        columns = ", ".join(f"`{each.name}` {each.type} COMMENT {_quoted(each.says)}" for each in table.columns)
        kept = f"interval {max(1, round(history.total_seconds() / 3600))} hours"
        properties = {
            "delta.checkpointInterval": "100",
            "delta.logRetentionDuration": kept,
            "delta.deletedFileRetentionDuration": kept,
            "delta.enableChangeDataFeed": str(name == "edits").lower(),
        }
        listed = ", ".join(f"{_quoted(key)} = {_quoted(value)}" for key, value in properties.items())
        try:
            if self.folder and native.IS_HERE and not (self.folder / name).exists():
                comments = {each.name: each.says for each in table.columns}
                native.create(self.folder / name, columns_of(name), comments, table.row, properties)
                return
            said = f"({columns}) USING DELTA COMMENT {_quoted(table.row)} TBLPROPERTIES ({listed})"
            with contextlib.suppress(PySparkException):  # there is one already
                self.spark.sql(f"CREATE TABLE {self.name(name)} {said}")
                return
            taken = self.stored(name)
            if tuple(taken.columns) != table.names or taken.limit(1).collect():
                raise LakeError(
                    f"{self.where} has a table `{name}` already, and it is not an empty one of a lake. Take another place."
                )
        except LakeError:
            raise
        except Exception as error:
            raise _unwritten(self.where, name, error) from error

    def _refuse_taken_place(self) -> None:
        if self.folder:
            self._clear_beginnings()
        if self._has_ledger():
            raise LakeError(f"{self.where} is a lake already. Use it, or take another place.")
        for file in self._data_files():
            if file.parent.name != LEDGER:  # a row that never came into an empty ledger is the beginning of a lake
                raise damaged(LEDGER, self.where, "_delta_log")
        if self._schema:
            self.spark.sql(f"CREATE SCHEMA IF NOT EXISTS {places.quoted(*self._schema)}")
        if self.folder:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                ours = {*TABLES, WRITER_LOCK, APPEND_LOCK, bases.NAME, bases.FILES, certificates.NAME}
                others = sorted(set(os.listdir(self.folder)) - ours)
            except OSError as error:
                raise LakeError(f"{self.where} cannot be the place of a lake: {error.strerror}.") from error
            if others:
                raise LakeError(f"{self.where} is not empty (it has {others[0]!r}). A lake needs a folder of its own.")

    def _has_ledger(self) -> bool:
        """Whether rounds are told of here."""
        if self.folder and not (self.folder / LEDGER).exists():
            return False
        rows = self.arrow(LEDGER)
        if rows is not None:
            return int(rows.num_rows) > 0
        with contextlib.suppress(PySparkException):
            return len(self.stored(LEDGER).limit(1).collect()) > 0
        return False

    def _clear_beginnings(self) -> None:
        """Folders of tables that a making cut short has left, and that hold nothing yet, not even a table."""
        assert self.folder is not None
        for name in TABLES:
            place = self.folder / name
            files = [file for file in place.rglob("*") if not file.is_dir()]
            if place.is_dir() and all(file.parent.name == "_delta_log" and _says_nothing(file) for file in files):
                shutil.rmtree(place)

    @contextlib.contextmanager
    def _appending(self) -> Iterator[None]:
        """Appends of people take turns in a local folder, where Delta itself may lose one of two at a time."""
        if self.folder is None:
            yield
            return
        with lock_file(self.folder / APPEND_LOCK) as file:
            lock(file, self.folder, fcntl.LOCK_EX)
            yield

    @contextlib.contextmanager
    def _clearing(self, name: str) -> Iterator[None]:
        """Where an append fails, its files go again: no commit names them. Nobody else may write to that table meanwhile."""
        if self.folder is None or not (self.folder / name / "_delta_log").is_dir():
            yield
            return
        place, version = self.folder / name, self.version(name)
        before = _names_in(place)
        try:
            yield
        except LakeError as error:
            if self.version(name) != version:  # committed, and failed afterwards
                raise
            left = [place / file for file in _names_in(place) - before if (place / file).is_file()]
            size = sum(file.stat().st_size for file in left)
            for file in left:
                with contextlib.suppress(OSError):
                    os.truncate(file, 0)  # whoever failed may still have it open, and then it would keep its room
                file.unlink(missing_ok=True)
            if _FULL.search(str(error)):
                told = f"Its {size / 2**20:.1f} MB written so far are removed; free more than that where {self.where} is."
                raise LakeError(f"{error} {told}") from error
            raise


@dataclass(frozen=True)
class Snapshot:
    """The lake after one of its rounds: facts are read at the versions that its row of the ledger names.

    So whoever reads while rounds are played, or tables tidied, reads one round and not parts of two.
    """

    tables: Tables
    row: Row
    void: frozenset[int]
    """Numbers in the ledger whose facts do not count."""
    restores: Mapping[int, tuple[Restored, ...]] = field(default_factory=dict)
    """The rounds in which stores were restored."""
    people: Mapping[str, int] = field(default_factory=dict)
    """The versions at which is read what people say; what is not named is read as it stands."""
    standing: bool = False
    """Whether facts too are read as they stand, with what other hands have written since."""
    furthest: datetime | None = None
    """The latest time to which any organization has ever been played; null: none was."""

    def arrow(self, name: str, keep: pc.Expression | None = None, columns: Sequence[str] = ()) -> pa.Table | None:
        """The valid rows of a table, all or those to `keep`, without Spark; None where that cannot be."""
        if self.untouched(name):
            return rows_of(name, ()).select(list(columns or TABLES[name].names))
        valid = [] if keep is None else [keep]
        if name in (*FACTS, LEDGER):
            valid.append(pc.field("round") <= self.row.round)
        if name in FACTS and self.void:
            valid.append(~pc.field("round").isin(sorted(self.void)))
        if name == LEDGER and {*columns} <= {*LOOKED_AT} and columns and (ledger := self.tables.ledger()) is not None:
            return ledger.rows.filter(reduce(operator.and_, valid)).select(list(columns))
        return self.tables.arrow(name, self.version(name), reduce(operator.and_, valid) if valid else None, columns)

    def _few(self, name: str) -> pa.Table | None:
        """The valid rows of a table of this machine that has few; None where it has many, or cannot be read so."""
        return self.arrow(name) if self._is_within(name, native.SMALL_ROWS, native.SMALL_SIZE) else None

    def is_at_hand(self, name: str) -> bool:
        """Whether some columns of a table fit into memory, and can be read without Spark."""
        return self._is_within(name, native.AT_HAND_ROWS, native.AT_HAND_SIZE)

    def _is_within(self, name: str, most: int, size: int) -> bool:
        folder = self.tables.folder
        return folder is not None and native.IS_HERE and native.is_within(folder / name, self.version(name), most, size)

    def version(self, name: str) -> int | None:
        """The version at which a table is read; None: as it stands."""
        pinned = self.people if name in BY_PEOPLE else {} if self.standing or name == LEDGER else self.row.versions
        return pinned.get(name)

    def untouched(self, name: str) -> bool:
        """Whether no round has written to that table."""
        return name in FACTS and not self.standing and self.row.versions[name] == CREATED

    def broken_links(self) -> int:
        """How many rows of the ledger do not follow from the row before: a number left out, another digest."""
        rows = [Row.read(row) for row in self.read(LEDGER).orderBy("round").toArrow().to_pylist()]
        before = [Row(0, "", "", {}, rows[0].began, rows[0].ended, {}, {}), *rows]
        return sum(
            row.round != last.round + 1 or row.sealed(last.digest).digest != row.digest
            for last, row in zip(before, rows, strict=False)
        )

    def read(self, name: str) -> DataFrame:
        """The valid rows of a table; the void ones are never read.

        Raises LakeError when the history no longer reaches back so far; where it ends while the rows are being read, Spark
        raises what `damage` reads.
        """
        if name not in TABLES:
            raise LakeError(f"there is no table {name!r}; there are {', '.join(TABLES)}")
        if self.untouched(name):
            return nothing(self.tables.spark, name)
        version = self.version(name)
        if (few := self._few(name)) is not None:
            return local(self.tables.spark, few, schema_of(name))
        try:
            rows = self.tables.stored(name, version)
        except PySparkException as error:
            if version is None and "NOT_FOUND" in (error.getCondition() or ""):
                raise damaged(name, self.tables.where, "_delta_log") from error
            raise LakeError(
                f"Round {self.row.round} of {self.tables.where} can no longer be read: the history of its table "
                f"`{name}` does not reach back so far."
            ) from error
        if name == LEDGER:
            return rows.where(f"round <= {self.row.round}")
        if name not in FACTS:
            return rows
        void = ", ".join(str(number) for number in sorted(self.void) if number <= self.row.round)
        return rows.where(f"round <= {self.row.round}" + (f" AND round NOT IN ({void})" if void else ""))


@dataclass(frozen=True)
class Ledger:
    """The ledger at a version: its rows in the columns of `LOOKED_AT`, and the whole of it, of which single rows are read."""

    rows: pa.Table
    whole: ds.Dataset
    _known: dict[int, dict[str, Any]] = field(default_factory=dict)

    def row(self, round: int) -> dict[str, Any] | None:
        """The row of a round, whole; None where it cannot be read."""
        if round not in self._known:
            found = native.rows(self.whole, columns_of(LEDGER), pc.field("round") == round)
            if found is None or not found.num_rows:
                return None
            [self._known[round]] = found.to_pylist()
        return self._known[round]


def _what_a_snapshot_needs(as_of: AsOf) -> list[Column]:
    """Of the ledger, as `looked_up` says it."""
    number = F.col("round")
    if isinstance(as_of, datetime):
        wanted = F.coalesce(F.array_max("turns.now"), "ended") <= F.lit(as_of)
    else:
        wanted = number <= as_of if as_of is not None else F.lit(True)
    opened = F.when(F.col("kind") == "opened", number)
    picked = F.max_by(F.struct(*TABLES[LEDGER].names), F.when(wanted, number))
    back = F.when(F.col("kind") == "restored", F.struct("round", "restored"))
    asked = [picked.alias("row"), F.collect_list(opened).alias("void"), F.max("round").alias("last")]
    asked += [F.collect_list(back).alias("restores"), F.max(F.array_max("turns.now")).alias("furthest")]
    return [*asked, F.max("format").alias("format")]


def columns_of(name: str, some: Sequence[str] = ()) -> pa.Schema:
    """The columns of a table, or some of them, as Arrow has them."""
    from pyspark.sql.pandas.types import to_arrow_schema

    schema = to_arrow_schema(schema_of(name), timezone="UTC")
    return pa.schema([schema.field(column) for column in some]) if some else schema


def _whole(commit: Path) -> bool:
    """Whether a commit is there, and each of its lines can be read."""
    try:
        return all(json.loads(line) for line in commit.read_bytes().splitlines()) and commit.stat().st_size > 0
    except (FileNotFoundError, ValueError):
        return False


def _says_nothing(file: Path) -> bool:
    """Whether a file of a log is no commit: half written under another name, a checksum, or empty."""
    return not file.is_symlink() and (file.suffix in (".tmp", ".crc") or file.stat().st_size == 0)


def _names_in(place: Path) -> set[str]:
    """What is in the folder of a table, and what commits that never were have left in its log."""
    return {*os.listdir(place), *(f"_delta_log/{name}" for name in os.listdir(place / "_delta_log") if ".tmp" in name)}


def _unwritten(where: str, name: str, error: Exception) -> LakeError:
    """What went wrong in a word, of the pages that Java says."""
    said = str(error)
    known = _CAUSES.search(said)
    first = known[0] if known else next((line.strip() for line in said.splitlines() if line.strip()), type(error).__name__)
    return LakeError(
        f"`{name}` of {where} could not be written: {first[:300]}. Nothing of it counts; set that right and do it again."
    )


def among(column: str, texts: Iterable[str]) -> str:
    """The condition that a column is one of these texts. They are written as bytes, so that nothing in them ends a quote."""
    written = [f"CAST(X'{text.encode().hex()}' AS STRING)" for text in texts]
    return f"{column} IN ({', '.join(written)})"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
