"""The tables of a lake as they are stored: where they lie, and how rows come into them and out.

Rows that are here go into a folder of this machine by delta-rs, all others by Spark; what either has written the other reads.
Which of them count is told by `tables`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pfspark import execute, said
from pfspark.edge.delta import log, native, opening, places, sql
from pfspark.edge.delta.beside import APPEND_LOCK
from pfspark.edge.delta.damage import (
    REFUSALS,
    RewrittenError,
    cause,
    damage,
    damaged,
    is_full,
    is_overtaken,
    unread,
    unwritten,
)
from pfspark.edge.delta.digests import numbered
from pfspark.edge.delta.ledger import FACTS, LEDGER, Ledger
from pfspark.edge.delta.locks import lock, lock_file, unlock
from pfspark.edge.spark.crossing import to_frame
from pfspark.edge.spark.files import files_are_local
from pfspark.edge.spark.fit import expect_arrow, fitted
from pfspark.edge.spark.quietly import quietly
from pfspark.errors import LakeError
from pfspark.rows import Session, columns_of, schema_of
from pfspark.rules import intake
from pfspark.tables import ADDED, TABLES
from pfspark.threads import callers_threads

APP = "pfspark"
"""Under whose name the numbers of rounds are taken in the logs of tables."""
OF_A_FILE = 500_000
"""Rows of a table that is written anew that come into one file, and are written by one task."""
MANY_FILES = 50
"""So many small files of the ledger are read in 50 ms; to join them, and as many of each other table, takes half a second."""
TRIES = 6
"""How often a change of a table is said while others append to it, before it is given up until the next time."""
THREADS = 4
"""Commits wait for the disk more than they work."""

TIDIED = ("OPTIMIZE", "REORG", "VACUUM START", "VACUUM END", "SET TBLPROPERTIES", "UNSET TBLPROPERTIES")
"""What Delta calls commits after which a table says the same as before."""
ADDING = {*TIDIED, "WRITE", "STREAMING UPDATE", "ADD COLUMNS", "CREATE TABLE"}
"""And those after which it says no less, and nothing twice; a write that replaces what was there is none of them."""

Hook = Callable[[str], object]


class Stored:
    """The tables of one lake, in a folder or in a schema of a catalog."""

    def __init__(self, spark: Session, where: str | os.PathLike[str], hook: Hook = lambda point: None) -> None:
        """`where`: a folder, or `catalog.schema`. `hook` is told each commit, `before changes`, `after changes`.

        A name of two parts is that of a schema if Spark knows such a catalog and no such folder is there. A path without a
        scheme is what Spark takes it for: where its default file system (`fs.defaultFS`) is another than this machine's,
        a local folder is named by `file:`. Where `spark` only says how to start a session, it is started here, unless the name
        can only mean a folder of this machine.

        Raises SparkStartError for an Arrow, or a session, that is not fit for lakes.
        """
        expect_arrow()
        self._spark = spark if callable(spark) else fitted(spark)
        self._read: tuple[tuple[int, opening.Stamp | None], Ledger] | None = None
        """The ledger as it was read last, with its version, and what is known of that."""
        self._starting = Lock()
        self.hook = hook
        named = os.fspath(where)
        local = places.surely_local(named) if callable(spark) else None
        local = local if local and native.reaches(local) else None
        self.folder, self._schema = (local, None) if local else places.placed(named, lambda: self.spark)
        self.where = str(self.folder or places.path_of(named))

    @property
    def spark(self) -> SparkSession:
        """The session, started when it is first needed."""
        with self._starting:
            if callable(self._spark):
                self._spark = fitted(self._spark())
            return self._spark

    @property
    def session(self) -> Session:
        """The session, or, where it was not needed yet, what starts it."""
        return (lambda: self.spark) if callable(self._spark) else self._spark

    @cached_property
    def _place(self) -> str:
        """The lake as Spark names it."""
        return f"file:{self.where}" if self.folder and not files_are_local(self.spark) else self.where

    @property
    def is_native(self) -> bool:
        """Whether what is small is read here, and rows that are here are written, without Spark."""
        return self.here(LEDGER) is not None

    def here(self, name: str) -> Path | None:
        """Where a table lies that is read and written here without Spark; None where none is."""
        return self.folder / name if self.folder is not None and native.reaches(self.folder) else None

    @property
    def in_schema(self) -> bool:
        """Whether the lake is a schema of a catalog."""
        return self._schema is not None

    def others(self, prefix: str) -> list[str]:
        """The tables of the schema whose names begin so; none where it cannot be asked."""
        assert self._schema is not None
        with contextlib.suppress(*REFUSALS):
            there = self.spark.sql(f"SHOW TABLES IN {sql.named(*self._schema)} LIKE {sql.literal(prefix + '*')}").collect()
            return sorted(row["tableName"] for row in there if row["tableName"].startswith(prefix))
        return []

    def create_schema(self) -> None:
        """The schema of the catalog, where it is not there and the lake is one."""
        if self._schema is not None:
            schema = sql.named(*self._schema)
            with contextlib.suppress(*REFUSALS), quietly():  # who may use a schema may not make any
                self.spark.sql(f"DESCRIBE SCHEMA {schema}")
                return
            try:
                self.spark.sql(f"CREATE SCHEMA IF NOT EXISTS {schema}")
            except REFUSALS as error:
                raise LakeError(f"the schema {self.where} cannot be made: {cause(error)}") from error

    def name(self, table: str) -> str:
        """The name of a table in SQL."""
        return sql.named(*self._schema, table) if self._schema else sql.named("delta", f"{self._place}/{table}")

    def version(self, table: str) -> int:
        """The newest version of a table.

        Raises DamageError where it has no log.
        """
        if self.folder is None:
            return int(self.spark.sql(f"DESCRIBE HISTORY {self.name(table)} LIMIT 1").collect()[0]["version"])
        newest = log.newest(self.folder / table)
        if newest is None:
            raise damaged(table, self.where, "_delta_log")
        return newest

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

    def expect_whole_ledger(self) -> None:
        """Raises LakeError where the log of the ledger has given numbers that none of its rows has: others have taken it back."""
        given = native.last_number(place, APP) if (place := self.here(LEDGER)) else 0
        if given and given > (last := self.last_round()):
            raise LakeError(
                f"The ledger of {self.where} ends with round {last}, though round {given} was written into it: other hands have "
                f"taken it back. Look for that in `DESCRIBE HISTORY {self.name(LEDGER)}`, and take it to the version before by "
                f"`RESTORE TABLE {self.name(LEDGER)} TO VERSION AS OF`; until then nothing is played."
            )

    def written_anew(self, name: str, since: int) -> bool:
        """Whether upkeep has written a table anew after that version."""
        return any((commit["operationParameters"] or {}).get("mode") == "Overwrite" for commit in self._commits(name, since))

    def _commits(self, name: str, since: int) -> Sequence[Mapping[str, Any]]:
        """The commits of a table after that version; where there is none, Delta is not asked."""
        newer = self.version(name) - since
        if newer <= 0:
            return []
        if (place := self.here(name)) and (found := native.commits(place, newer)) is not None:
            return found
        return [row.asDict() for row in self.spark.sql(f"DESCRIBE HISTORY {self.name(name)} LIMIT {newer}").collect()]

    def ledger(self) -> Ledger | None:
        """The ledger without Spark; None where that cannot be. What was read of it is not read again."""
        if (place := self.here(LEDGER)) is None or (version := log.newest(place)) is None:
            return None
        newest = version, opening.stamp(place, version)
        if self._read is None or self._read[0] != newest or not self._read[1].is_there:
            found = Ledger.read(place, version, self._read and self._read[1])
            if found is None:
                return None
            self._read = newest, found
        return self._read[1]

    def last_round(self) -> int:
        """The number of the newest row of the ledger, whatever that says."""
        ledger = self.ledger()
        numbers = self.stored(LEDGER).agg(F.max("round").alias("round")).toArrow() if ledger is None else ledger.rows
        return int(pc.max(numbers["round"]).as_py())

    def arrow(
        self,
        name: str,
        version: int | None = None,
        keep: pc.Expression | None = None,
        columns: Sequence[str] = (),
    ) -> pa.Table | None:
        """All rows of a table, void ones too, or those to `keep`, without Spark; None where that cannot be."""
        place = self.here(name)
        return None if place is None else native.read(place, columns_of(name, columns), version, keep)

    def edits_between(self, first: int, last: int) -> pa.Table:
        """The edits that came with the versions after `first` up to `last`, as rounds are given them (`intake.legible`).

        Raises RewrittenError where other hands have done more in between than to append and to tidy: of a table that was taken
        back Delta tells old rows as new ones. Raises what Spark does where the history reaches no longer back so far.
        """
        for commit in self._commits("edits", first):
            replaces = (commit["operationParameters"] or {}).get("mode") == "Overwrite"
            if commit["version"] <= last and (commit["operation"] not in ADDING or replaces):
                raise RewrittenError(f"version {commit['version']} of `edits` of {self.where} is of {commit['operation']}")
        if place := self.here("edits"):
            fresh = native.added(place, columns_of("edits"), first, last, said.legible)
            if fresh is not None:
                return fresh
        asked = self.spark.read.option("readChangeFeed", "true").option("startingVersion", str(first + 1))
        asked = asked.option("endingVersion", str(last))
        feed = asked.table(self.name("edits")) if self._schema else asked.format("delta").load(f"{self._place}/edits")
        return intake.legible(feed.where("_change_type = 'insert'").select(*TABLES["edits"].names)).toArrow()

    def append(
        self, name: str, rows: pa.Table | DataFrame, round: int | None = None, expect: Callable[[], None] = lambda: None
    ) -> None:
        """More rows of a table: facts of that `round`, or what people say, which any number of writers may append.

        Raises LakeError if they cannot be written, and whatever `expect` raises, in a folder asked while nobody else appends;
        then none of them is.
        """
        with self._appending(name), self._clearing(name):
            expect()
            if self.is_native and not isinstance(rows, DataFrame):
                with contextlib.suppress(opening.LeftToSparkError):
                    self.append_natively(name, self.fit(name, rows, round), round)
                    return
            said = {} if round is None else {"userMetadata": str(round)}
            self.save(name, self.frame_of(name, rows, round), "append", said)

    def rewrite(self, name: str, rows: DataFrame, round: int) -> None:
        """Other rows, no more than those, in place of the ones up to that `round`, of a table that rounds write; older versions
        stay as they are.

        Where another, of a later round, has rewritten the table meanwhile, nothing is done.
        """
        written_by = {"userMetadata": str(round), "txnAppId": APP, "txnVersion": str(round)}
        files = -(-self.count(name) // OF_A_FILE) or 1
        self.save(
            name,
            rows.select(*TABLES[name].names).coalesce(files),
            "overwrite",
            {"replaceWhere": f"round <= {round}", **written_by},
        )

    def replace(self, name: str, rows: DataFrame) -> None:
        """Other rows in place of all, of a table that is made where there is none: nothing that the ledger tells of.

        Raises LakeError if they cannot be written, as into a table of other columns.
        """
        self.save(name, rows, "overwrite", {})

    def take_back(self, name: str, version: int) -> None:
        """The rows of a table become again those of an earlier version; the versions between stay as they are."""
        try:
            self.spark.sql(f"RESTORE TABLE {self.name(name)} TO VERSION AS OF {version}")
        except REFUSALS as error:
            raise unwritten(self.where, name, error) from error

    def delete(self, name: str, condition: str) -> None:
        """Rows go from the newest version of a table; what stands in one comes into the condition by `among` alone."""
        with self._appending(name):
            self._changed(name, lambda: self.spark.sql(f"DELETE FROM {self.name(name)} WHERE {condition}"))

    def delete_these(self, name: str, keys: DataFrame, condition: str) -> int:
        """Rows go from the newest version of a table that have the columns of a row of `keys`, and of which the condition holds:
        however many keys there are, in one commit. How many went."""
        view = f"pfspark_{name}_that_go"
        same = " AND ".join(f"{name}.{column} = {view}.{column}" for column in keys.columns)
        merged = f"MERGE INTO {self.name(name)} AS {name} USING {view} ON {same} AND {condition} WHEN MATCHED THEN DELETE"
        with self._appending(name):
            keys.createOrReplaceTempView(view)
            try:
                return int(self._changed(name, lambda: keys.sparkSession.sql(merged).collect()[0]["num_deleted_rows"]))
            finally:
                keys.sparkSession.catalog.dropTempView(view)

    def tidy(self, name: str) -> None:
        """Small files of a table are joined; files that its history no longer reaches are removed."""
        with self._appending(name):
            if (place := self.here(name)) and native.is_at_hand(place) and native.tidy(place):
                return
            for statement in ("OPTIMIZE", "VACUUM"):
                self._changed(name, partial(self.spark.sql, f"{statement} {self.name(name)}"))

    def _changed(self, name: str, statement: Callable[[], Any]) -> Any:
        """What a statement gives that changes a table; said once more where somebody has appended meanwhile, as anybody may who
        posts.

        Raises LakeError where that fails, DamageError where a file is the cause.
        """
        for left in reversed(range(TRIES)):
            try:
                return statement()
            except REFUSALS as error:
                if not left or not is_overtaken(error):
                    raise damage(error) or unwritten(self.where, name, error) from error
        raise AssertionError("the last try gives or raises")

    def gather(self) -> None:
        """The small files of the tables that rounds write are joined, on this machine, where they are many; their rows and their
        history stay as they are.

        Each round adds a file to the ledger, which stands for all, and to most others one: what is looked up in 2,000 of them
        takes seconds.
        """
        if (place := self.here(LEDGER)) and native.files(place) > MANY_FILES:
            with self.threads() as threads:
                list(threads.map(lambda name: native.compact(place.parent / name), (LEDGER, *FACTS)))

    def count(self, name: str) -> int:
        """How many rows a table has, void ones too."""
        if (place := self.here(name)) and (known := native.count(place)) is not None:
            return known
        return self.stored(name).count()

    def frame_of(self, name: str, rows: pa.Table | DataFrame, round: int | None) -> DataFrame:
        """Rows in the columns of a table, as Spark has them; few in one part."""
        if isinstance(rows, DataFrame):
            frame = rows if round is None else rows.withColumn("round", F.lit(round).cast("bigint"))
            return frame.select(*TABLES[name].names)
        frame = to_frame(self.spark, self.fit(name, rows, round), schema_of(name))
        return frame.coalesce(1) if rows.num_rows < execute.LARGE else frame

    def fit(self, name: str, rows: pa.Table, round: int | None) -> pa.Table:
        """Rows in the columns of a table, as Arrow has them."""
        if round is not None:
            rows = numbered(rows, round)
        return rows.select(list(TABLES[name].names)).cast(columns_of(name))

    def append_natively(self, name: str, rows: pa.Table, round: int | None) -> None:
        """More rows of a table of this machine, without Spark. Raises LeftToSparkError where that cannot be."""
        assert self.folder is not None
        with self._committing(name):
            native.append(self.folder / name, rows, None if round is None else str(round))

    def append_once(self, name: str, rows: pa.Table, app: str, number: int) -> bool:
        """More rows of a table under a number that is taken once; whether nobody had. Raises as `append_natively`."""
        assert self.folder is not None
        with self._committing(name):
            return native.append_once(self.folder / name, rows, str(number), app, number)

    def save(self, name: str, frame: DataFrame, mode: str, options: Mapping[str, str]) -> None:
        """Rows of a table, written by Spark: in that `mode` of its, and with those options of Delta's."""
        with self._committing(name):
            writer = frame.write.format("delta").mode(mode).options(**options).option("mergeSchema", name in ADDED)
            if self._schema:
                writer.saveAsTable(self.name(name))
            else:
                writer.save(f"{self._place}/{name}")

    @contextlib.contextmanager
    def _committing(self, name: str) -> Iterator[None]:
        """A commit of a table: told before and after; what it fails by is said as LakeError."""
        self.hook(f"before {name}")
        try:
            yield
        except opening.LeftToSparkError:
            raise
        except Exception as error:
            raise unwritten(self.where, name, error) from error
        self.hook(f"after {name}")

    def stored(self, name: str, version: int | None = None) -> DataFrame:
        """All rows of a table, void ones too."""
        asked = f"SELECT * FROM {self.name(name)}" + ("" if version is None else f" VERSION AS OF {version}")
        try:
            with quietly():
                rows = self.spark.sql(asked)
        except REFUSALS as error:
            flaws = self.flaws(name)
            if flaws or (self.folder is not None and not isinstance(error, PySparkException)):
                raise damaged(name, self.where, flaws[0] if flaws else "_delta_log") from error
            if isinstance(error, PySparkException):
                raise
            raise damage(error) or unread(self.where, name, error) from error  # a store that cannot be reached, say
        later = [column for column in ADDED.get(name, ()) if column not in rows.columns]
        return rows.withColumns({column: F.lit(None).cast(schema_of(name)[column].dataType) for column in later})

    def flaws(self, name: str) -> list[str]:
        """Files of a table's log that are gone or torn, as far as its folder tells: see `log.flaws`."""
        return [] if self.folder is None else log.flaws(self.folder, name)

    @contextlib.contextmanager
    def _appending(self, name: str) -> Iterator[None]:
        """Who writes what people say takes turns in a local folder, where Delta itself may lose one of two at a time; facts have
        one writer already."""
        if self.folder is None or name in FACTS:
            yield
            return
        with lock_file(self.folder / APPEND_LOCK) as file:
            lock(file, self.folder, fcntl.LOCK_EX)
            try:
                yield
            finally:
                unlock(file)

    @contextlib.contextmanager
    def _clearing(self, name: str) -> Iterator[None]:
        """Where an append of what people say fails, its files go again: no commit names them. Nobody else may write to that table
        meanwhile."""
        if self.folder is None or name in FACTS or not (self.folder / name / "_delta_log").is_dir():
            yield
            return
        place, version = self.folder / name, self.version(name)
        before = log.names_in(place)
        try:
            yield
        except LakeError as error:
            if self.version(name) != version:  # committed, and failed afterwards
                raise
            left = [place / file for file in log.names_in(place) - before if (place / file).is_file()]
            size = sum(file.stat().st_size for file in left)
            for file in left:
                with contextlib.suppress(OSError):
                    os.truncate(file, 0)  # whoever failed may still have it open, and then it would keep its room
                file.unlink(missing_ok=True)
            if is_full(error):
                told = f"Its {size / 2**20:.1f} MB written so far are removed; free more than that where {self.where} is."
                raise LakeError(f"{error} {told}") from error
            raise
