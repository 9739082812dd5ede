"""Tables in local folders without Spark: by delta-rs, where it is installed (the extra `local`).

What either writes the other reads; who writes holds the locks that `delta` takes, so the two never meet in a commit.
Whatever this cannot read Spark is asked for, which says what is wrong: reading is a shortcut, and no verdict.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from pfspark import mapped
from pfspark.edge.delta.opening import LeftToSparkError, opened, plain
from pfspark.keyed import filtered

if TYPE_CHECKING:
    import pyarrow.dataset as ds
    from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties

T = TypeVar("T")

FEW = 20_000
"""Up to so many names a table is searched for them without Spark."""
SMALL_ROWS, SMALL_SIZE = 2_000, 2**17
"""Up to so many rows, and bytes of files, a table is read without Spark, which needs a second to list it, and stands in plans."""
AT_HAND_ROWS, AT_HAND_SIZE = 2_000_000, 2**28
"""Up to so many, whoever looks for more than a few names among them reads some columns of all: they fit into memory."""
IS_HERE = find_spec("deltalake") is not None
MANY = 100_000
"""Rows of a file from which on its columns are read by several threads."""
FILES, THREADS = 16, min(os.cpu_count() or 2, 8)
"""From so many files on they are read by so many threads."""
JOINED = 2**22
"""Bytes of a file that is joined with no others any more: what rounds add is written some few times in all, and not each time."""
CHECKPOINT_EVERY = 10
"""Commits, where a table does not say it otherwise: as Delta does."""
BY_FEATURES = 7
"""The version of the protocol from which on a table names what it asks of who writes it."""
WRITTEN = {"appendOnly", "invariants", "changeDataFeed", "columnMapping", "deletionVectors", "timestampNtz"}
"""What delta-rs writes as Spark does, of that."""
_OTHERWISE = re.compile(r"%[0-9A-Fa-f]{2}|[\\\[\]|^#?\x00-\x1f\x7f]")
"""What delta-rs takes for something else in a path: it would read from one place and delete in another, or panic."""
_RETENTION = re.compile(r"interval \d+ (?:hour|day|week)s?")
"""How long files are kept, as far as delta-rs understands it: all else it takes for a week, and says nothing."""

_COMMIT = {"version", "operation", "operationParameters"}
"""What is asked of a commit; one that Spark is asked about does not say all of it here."""


def reaches(folder: Path) -> bool:
    """Whether tables of that folder are read and written by delta-rs: it is installed, and takes the path for what it is."""
    return IS_HERE and not any(map(_OTHERWISE.search, (str(folder.absolute()), os.path.realpath(folder))))


def append(place: Path, rows: pa.Table, said: str | None) -> None:
    """More rows of a table that is there, in one commit; `said` is its `userMetadata`. What the rows or the table have in columns
    of their own is null in the other.

    Raises LeftToSparkError, or whatever delta-rs does: the caller knows the lake, and what to say of it.
    """
    from deltalake import CommitProperties

    with _to_write(place) as table:
        _append(table, rows, CommitProperties(custom_metadata={"userMetadata": said} if said else None))


def append_once(place: Path, rows: pa.Table, said: str, app: str, number: int) -> bool:
    """More rows of a table, as `append` has it, under a number of an application (Spark's `txnAppId` and `txnVersion`), unless
    that is taken, or is taken while they are written; whether they are there now.

    Raises as `append` does.
    """
    from deltalake import CommitProperties, Transaction

    told = CommitProperties(custom_metadata={"userMetadata": said}, app_transactions=[Transaction(app, number)])
    try:
        with _to_write(place) as table:
            if (table.transaction_version(app) or 0) < number:
                _append(table, rows, told)
                return True
    except Exception:
        with opened(place) as table:
            if (table.transaction_version(app) or 0) < number:
                raise
    return False


def _append(table: DeltaTable, rows: pa.Table, told: CommitProperties) -> None:
    from deltalake import write_deltalake

    mode, more = _schema_mode(table, rows), _nothing_more()
    write_deltalake(table, rows, mode="append", schema_mode=mode, commit_properties=told, post_commithook_properties=more)
    _after_commit(table)


def last_number(place: Path, app: str) -> int:
    """The last number of `app` that the log of a table knows; 0 where it knows none, or cannot be read."""
    with suppress(Exception), opened(place) as table:
        return table.transaction_version(app) or 0
    return 0


@contextmanager
def _to_write(place: Path) -> Iterator[DeltaTable]:
    with opened(place) as table:
        _expect_known(table, place)
        yield table


def _expect_known(table: DeltaTable, place: Path) -> None:
    """Raises LeftToSparkError where a table asks more of who writes it than delta-rs knows."""
    protocol = table.protocol()
    if protocol.min_writer_version >= BY_FEATURES and not {*(protocol.writer_features or ())} <= WRITTEN:
        raise LeftToSparkError(place)


def _schema_mode(table: DeltaTable, rows: pa.Table) -> Literal["merge"] | None:
    """How rows come into a table of other columns than theirs. Of one whose columns are mapped to names of their own delta-rs
    takes rows of the same columns alone."""
    return None if {field.name for field in table.schema().fields} == {*rows.column_names} else "merge"


def read(place: Path, schema: pa.Schema, version: int | None = None, keep: pc.Expression | None = None) -> pa.Table | None:
    """Rows of a table, all or those to `keep`, in the columns of that schema; a column it does not have is null.

    None where they cannot be read.
    """
    if keep is None:
        with suppress(Exception), plain(place, version) as table:
            known = any(field.name in schema.names for field in table.schema().fields)
            return _read(lambda path: in_file(path, schema), _paths(place, table), schema) if known else None
        return None
    found = dataset(place, version)
    return None if found is None else rows(found, schema, keep)


def paths(place: Path, version: int | None = None) -> list[Path] | None:
    """The files in which the rows of a table lie; None where that cannot be said."""
    with suppress(Exception), plain(place, version) as table:
        return _paths(place, table)
    return None


def _paths(place: Path, table: DeltaTable) -> list[Path]:
    return [place / name for name in pa.table(table.get_add_actions(flatten=True))["path"].to_pylist()]


def dataset(place: Path, version: int | None = None) -> ds.Dataset | None:
    """A table, of which nothing but its log is read yet; None where it cannot be."""
    import pyarrow.fs as fs

    with suppress(Exception), plain(place, version) as table:
        # Files opened by delta-rs are Python's: Arrow's threads that let go of one while a process ends abort it.
        return table.to_pyarrow_dataset(filesystem=fs.SubTreeFileSystem(str(place), fs.LocalFileSystem()))
    return None


def rows(found: ds.Dataset, schema: pa.Schema, keep: pc.Expression | None = None) -> pa.Table | None:
    """Its rows, as `read` gives them: of the files that may have some, by what the log says of them.

    Without the scanner of datasets, and of small files without Arrow's threads. It hands every piece to a pool of them, and where
    glibc may lose a wake-up (before 2.41, its bug 25847) it has waited for ever, with a task queued and eight threads idle. Many
    files are read by threads of Python's, which wait by other means.
    """
    with suppress(Exception):
        asked = pa.schema([field for field in found.schema if field.name in schema.names or _is_in(field.name, keep)])
        fragments = [*found.get_fragments(filter=keep)]

        def read_one(fragment: ds.ParquetFileFragment) -> pa.Table:
            return _fit(_kept(in_file(fragment.filesystem.base_path + fragment.path, asked), keep), schema)

        return _read(read_one, fragments, schema) if asked.names else None
    return None


def _read(one: Callable[[T], pa.Table], files: Sequence[T], schema: pa.Schema) -> pa.Table:
    """What is read of each of those files, together."""
    if len(files) < FILES:
        return pa.concat_tables([schema.empty_table(), *map(one, files)])
    with ThreadPoolExecutor(THREADS) as threads:
        return pa.concat_tables([schema.empty_table(), *threads.map(one, files)])


def _kept(rows: pa.Table, keep: pc.Expression | None) -> pa.Table:
    """`Table.filter`, but in this thread."""
    if keep is None:
        return rows
    import pyarrow.acero as acero

    given, filtering = acero.TableSourceNodeOptions(rows), acero.FilterNodeOptions(keep)
    steps = [acero.Declaration("table_source", given), acero.Declaration("filter", filtering)]
    return acero.Declaration.from_sequence(steps).to_table(use_threads=False)


def _is_in(name: str, keep: pc.Expression | None) -> bool:
    """Whether that may be a column by which rows are kept; one too many costs no more than its reading."""
    return keep is not None and re.search(rf"\b{name}\b", str(keep)) is not None


def in_file(path: Path | str, schema: pa.Schema) -> pa.Table:
    """The rows of a file, in those columns; one that it does not have is null.

    Raises what Arrow does where it cannot be read.
    """
    import pyarrow.fs as fs
    import pyarrow.parquet as pq

    # Spark's times reach farther than nanoseconds do, as which Arrow reads what Spark writes by default.
    with (
        fs.LocalFileSystem().open_input_file(str(path)) as source,
        pq.ParquetFile(source, coerce_int96_timestamp_unit="us", pre_buffer=False) as file,
    ):
        there = [name for name in schema.names if name in file.schema_arrow.names]
        return _fit(file.read(there, use_threads=file.metadata.num_rows > MANY), schema)


def is_within(place: Path, version: int | None, most: int, size: int) -> bool:
    """Whether a table has no more rows, and no more bytes of files, than that; False too where that cannot be said."""
    measured = measure(place, version)
    return measured is not None and measured[0] <= most and measured[1] <= size


def is_at_hand(place: Path, version: int | None = None) -> bool:
    """Whether some columns of a table fit into memory, and all of it is soon written anew."""
    return is_within(place, version, AT_HAND_ROWS, AT_HAND_SIZE)


def measure(place: Path, version: int | None) -> tuple[int, int] | None:
    """The rows of a table, and the bytes of its files, as its log says; None where that cannot be said."""
    with suppress(Exception), opened(place, version) as table:
        files = pa.table(table.get_add_actions(flatten=True))
        rows, size = (pc.sum(files[column]).as_py() or 0 for column in ("num_records", "size_bytes"))
        return rows, size
    return None


def files(place: Path) -> int:
    """How many files a table has; none where that cannot be said."""
    with suppress(Exception), opened(place) as table:
        return len(table.file_uris())
    return 0


def compact(place: Path) -> None:
    """Joins the small files of a table. Where that cannot be, they stay as they are."""
    with suppress(Exception), plain(place) as table:
        _expect_known(table, place)
        table.optimize.compact(target_size=JOINED, post_commithook_properties=_nothing_more())
        _after_commit(table)


def tidy(place: Path) -> bool:
    """Joins the small files of a table, and removes those that its history no longer reaches, as OPTIMIZE and VACUUM do; whether
    that could be done. Spark needs two seconds for each, however small the table is.

    A table with features that came later (`_plain`) is Spark's, and so is one whose files are kept for a time that is said in
    other words (`_RETENTION`).
    """
    with suppress(Exception), plain(place) as table:
        if not _is_understood(table, "delta.deletedFileRetentionDuration"):
            return False
        table.optimize.compact(post_commithook_properties=_nothing_more())
        _after_commit(table)
        if table.vacuum(full=True):
            _vacuum(place)
        return True
    return False


def _nothing_more() -> PostCommitHookProperties:
    """With a commit nothing more is done: where a checkpoint cannot be written, it would be told as one that failed."""
    from deltalake import PostCommitHookProperties

    return PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)


def _after_commit(table: DeltaTable) -> None:
    """A checkpoint where the table, as the commit left it, says that one is due; and the log is cut off where the history ends,
    as far as what is said of that is understood. Where that cannot be done, the commit stands."""
    with suppress(Exception):
        every = int(table.metadata().configuration.get("delta.checkpointInterval", CHECKPOINT_EVERY))
        if table.version() % every == 0:
            table.create_checkpoint()
            if _is_understood(table, "delta.logRetentionDuration"):
                table.cleanup_metadata()


def _is_understood(table: DeltaTable, kept: str) -> bool:
    """Whether delta-rs reads that property of a table as Spark does: a time that something is kept."""
    said = table.metadata().configuration.get(kept)
    return said is None or _RETENTION.fullmatch(said) is not None


def _vacuum(place: Path) -> None:
    """Removes files that the history no longer reaches, and Spark's checksums of them, which delta-rs does not look at.

    A file that was removed, restored and removed again is kept by when it was removed last only where the log up to then has come
    into a checkpoint.
    """
    with opened(place) as table:
        table.create_checkpoint()
    with opened(place) as table:
        for file in table.vacuum(dry_run=False, full=True, post_commithook_properties=_nothing_more()):
            gone = place / file
            (gone.parent / f".{gone.name}.crc").unlink(missing_ok=True)


def count(place: Path) -> int | None:
    """How many rows a table has, as its log says; None where that cannot be said, as its files have rows that do not count."""
    with suppress(Exception), plain(place) as table:
        counted = pa.table(table.get_add_actions(flatten=True))["num_records"]
        return None if counted.null_count else pc.sum(counted, min_count=0).as_py()
    return None


def commits(place: Path, newest: int) -> list[dict[str, Any]] | None:
    """So many newest commits of a table: `version`, `operation` and `operationParameters`; None where they cannot be read."""
    with suppress(Exception), opened(place) as table:
        found = table.history(newest)
        return found if len(found) == newest and all(commit.keys() >= _COMMIT for commit in found) else None
    return None


def added(place: Path, schema: pa.Schema, first: int, last: int, as_said: Callable[[pa.Table], pa.Table]) -> pa.Table | None:
    """The rows that came with the versions after `first` up to `last`, each some of them `as_said`, piece by piece as they are
    read; None where they cannot be."""

    def pieces(feed: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        for batch in feed:
            rows = pa.Table.from_batches([batch])
            inserted = pc.equal(rows["_change_type"].cast(pa.string()), "insert")
            yield from as_said(filtered(_fit(rows, schema), inserted)).to_batches()

    with suppress(Exception), opened(place) as table:
        feed = table.load_cdf(starting_version=first + 1, ending_version=last)
        return mapped.gathered(pieces(pa.RecordBatchReader.from_stream(feed)), schema)
    return None


def create(place: Path, schema: pa.Schema, comments: Mapping[str, str], says: str, properties: Mapping[str, str]) -> None:
    """A new table, empty; `says` what a row is, `comments` what each column is.

    Raises whatever delta-rs does.
    """
    from deltalake import DeltaTable, Schema

    described = pa.schema([field.with_metadata({"comment": comments[field.name]}) for field in schema])
    DeltaTable.create(place, Schema.from_arrow(described), description=says, configuration=dict(properties))


def _fit(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    columns: Sequence[pa.ChunkedArray] = [
        rows[field.name].cast(field.type) if field.name in rows.column_names else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)
