"""Real mail in and out: mbox files, .eml files and Maildirs become rows, and rows become such files again.

**The bytes are kept as they are.** An mbox is cut wherever a line begins with `From `, as Python's `mailbox` cuts it.
Of each piece

- `raw` is the mail: the bytes between, untouched. `>From ` stays quoted, for unquoting could not be undone exactly;
- `envelope` is what the mbox put around it: the `From ` line with its line end, then the blank line that separates the
  mail from the next, if there is one (an LF; also a CRLF where the `From ` line ends so).

So a mail has the same `raw` in an mbox as in an .eml file, and an export is, mail by mail, the `From ` line, `raw`, the
blank line: the same mbox byte for byte, whatever its line ends and its last line. A mail that was a file of its own has
no envelope (null); `write_mbox` makes one and quotes the mail as mboxrd does. Two things no mbox holds exactly, so they
survive only as .eml: such a mail with lines that begin with `From `, and a mail without a final newline, but the last.

**Whatever the bytes are, there is a row.** A mail that is beyond a cap or cannot be parsed is kept whole, with a reason
(`mime.Reason`) and what headers could be derived. Only what does not fit into a row, or cannot be read, has no bytes.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from functools import partial
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple
from urllib.parse import quote

from pfspark.edge.mime import KIB, MIB, Derived, Reason, derive
from pfspark.errors import MailError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

# A larger mail stays in its file: a row is held several times over on its way through Python, Arrow and Java, and with
# rows of 120 MiB a heap of 2 GiB was seen to be too small (two tasks writing Parquet; 64 MiB passed).
KEPT_BYTES = 64 * MIB
# A `From ` line that is longer is no envelope but part of the mail.
ENVELOPE_BYTES = 64 * KIB

BLOCK_BYTES = MIB
RANGE_BYTES = 8 * MIB
BATCH_BYTES = 128 * MIB
BATCH_ROWS = 1000

Path = str | os.PathLike[str]


class Kind(StrEnum):
    """What a file is: many mails, or one."""

    MBOX = "mbox"
    EML = "eml"


class Source(NamedTuple):
    """A file of mail: its absolute path, what it is, and its length in bytes when it was found."""

    path: str
    kind: Kind
    size: int


class Piece(NamedTuple):
    """One mail as its file has it: where it begins there, and its bytes; where `raw` is null, `reason` says why."""

    position: int
    envelope: bytes | None
    raw: bytes | None
    size: int | None
    reason: Reason | None = None


# Finding -------------------------------------------------------------------------------------------------------------

EXPECTED = "Expected an mbox (begins with 'From '), a mail (begins with headers), a folder of .eml files, or a Maildir."
HEADER_LINE = re.compile(rb"[!-9;-~]{1,200}:")
USUAL_HEADER = re.compile(rb"^(from|to|date|subject|received|return-path|message-id|mime-version):", re.I | re.M)
OTHER_FORMATS = {
    b"\x1f\x8b": " It is a gzip file: unpack it first.",
    b"PK\x03\x04": " It is a zip file: unpack it first.",
    b"!BDN": " It is an Outlook data file: export it as mbox or .eml first.",
    b"\xd0\xcf\x11\xe0": " It is an Outlook .msg or an old Office file: save the mail as .eml first.",
}


def find(paths: Iterable[Path]) -> list[Source]:
    """The files of mail that the paths name, in order; a path given twice counts once.

    A file is an mbox or one mail, by how it begins; one named .eml is one mail. A folder with `cur` or `new` in it is a
    Maildir (its subfolders are not entered); any other folder is taken for its .eml files, sorted by name. Links are
    not followed: a path that is one is refused, one inside a folder becomes a row with the reason `unreadable`.

    Raises UsageError for a path that leads nowhere, MailError where there is no mail to be seen.
    """
    named = [os.fspath(path) for path in paths]
    if not all(named):
        raise UsageError(f"Found an empty path. {EXPECTED}")
    unique = dict.fromkeys(map(os.path.abspath, named))
    return [source for path in unique for source in _look(path)]


def _look(path: str) -> list[Source]:
    try:
        found = os.lstat(path)
        if stat.S_ISDIR(found.st_mode):
            return _look_into(path)
        if stat.S_ISREG(found.st_mode):
            return [Source(path, _kind(path), found.st_size)]
    except OSError as error:
        raise UsageError(f"{path!r} cannot be read: {error.strerror}. {EXPECTED}") from error
    except ValueError as error:
        raise UsageError(f"{path!r} is no name of a file: {error}. {EXPECTED}") from error
    seen = "a link; links are not followed, name the file itself" if stat.S_ISLNK(found.st_mode) else "no plain file"
    raise MailError(f"{path!r} is {seen}. {EXPECTED}")


def _kind(path: str) -> Kind:
    """What a file is, by its first 4 KiB."""
    with _opened(path) as file:
        head = os.pread(file.fileno(), 4 * KIB, 0)
    named_eml = path.lower().endswith(".eml")
    if not named_eml and (not head or head.startswith(b"From ")):
        return Kind.MBOX
    if (HEADER_LINE.match(head) and USUAL_HEADER.search(head)) or (named_eml and b"\0" not in head):
        return Kind.EML
    hint = next((hint for magic, hint in OTHER_FORMATS.items() if head.startswith(magic)), "")
    raise MailError(f"{path!r} is no mail: it begins with {head[:24]!r}. {EXPECTED}{hint}")


def _look_into(folder: str) -> list[Source]:
    inside = _entries(folder)
    halves = [entry for entry in inside if entry.name in ("cur", "new") and entry.is_dir(follow_symlinks=False)]
    if halves:
        mails = [entry for half in halves for entry in _entries(half.path)]
    else:
        mails = [entry for entry in inside if entry.name.lower().endswith(".eml")]
        if not mails:
            raise MailError(f"{folder!r} is a folder of {len(inside)} entries, none of them *.eml. {EXPECTED}")
    mails.sort(key=lambda entry: os.fsencode(entry.name))
    return [Source(mail.path, Kind.EML, _size(mail)) for mail in mails]


def _size(mail: os.DirEntry[str]) -> int:
    """Bytes of a mail; none where another program has just moved it: then it becomes a row that cannot be read."""
    try:
        return mail.stat(follow_symlinks=False).st_size
    except OSError:
        return 0


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """What is in a folder, but for hidden files: desktops leave their own among the mails."""
    with os.scandir(folder) as entries:
        return [entry for entry in entries if not entry.name.startswith(".")]


def _opened(path: Path | bytes) -> BinaryIO:
    """The file, open for reading; OSError for a link, and for what is no plain file (a pipe might never end)."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "no plain file")
    return open(descriptor, "rb")


# Splitting -----------------------------------------------------------------------------------------------------------


def split_mbox(path: Path | bytes, first: int = 0, end: int | None = None) -> Iterator[Piece]:
    """The mails of an mbox that begin at byte `first` or later, but before `end`; one mail at a time in memory.

    Ranges that touch give each mail once, so a file may be read at many places at a time. What stands before the first
    `From ` line is a piece as well (without such a line in its envelope): the pieces are always the whole file.

    Raises OSError if the file cannot be read.
    """
    with _opened(path) as file:
        for start, stop in pairwise(_starts(file.fileno(), first)):
            if start == stop or (end is not None and start >= end):
                return
            yield _piece(file.fileno(), start, stop)


def _starts(file: int, first: int) -> Iterator[int]:
    """Where mails begin, from byte `first` on; at last the end of the file."""
    if first == 0:
        yield 0
    at, tail = max(first - 1, 0), b""
    while block := os.pread(file, BLOCK_BYTES, at):
        window = tail + block
        found = window.find(b"\nFrom ")
        while found >= 0:
            yield at - len(tail) + found + 1
            found = window.find(b"\nFrom ", found + 1)
        at, tail = at + len(block), window[-5:]
    yield at


def _piece(file: int, start: int, stop: int) -> Piece:
    kept = stop - start <= KEPT_BYTES
    piece = os.pread(file, stop - start if kept else ENVELOPE_BYTES, start)
    line, line_end, _ = piece[:ENVELOPE_BYTES].partition(b"\n")
    whole_line = line_end or len(piece) < ENVELOPE_BYTES
    opening = line + line_end if line.startswith(b"From ") and whole_line else b""
    if not kept:
        return Piece(start, opening, None, stop - start - len(opening), Reason.TOO_LARGE_TO_KEEP)
    rest = piece[len(opening) :]
    blanks = [b"\n", b"\r\n"] if opening.endswith(b"\r\n") else [b"\n"]
    closing = next((blank for blank in blanks if rest == blank or rest.endswith(b"\n" + blank)), b"")
    raw = rest.removesuffix(closing)
    return Piece(start, opening + closing, raw, len(raw))


def _whole(path: bytes) -> Piece:
    """The mail that is a file of its own."""
    with _opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > KEPT_BYTES:
            return Piece(0, None, None, size, Reason.TOO_LARGE_TO_KEEP)
        raw = os.pread(file.fileno(), size, 0)
    return Piece(0, None, raw, len(raw))


# Reading on the executors --------------------------------------------------------------------------------------------


class _Range(NamedTuple):
    """What a task reads at a time: the mails that begin in these bytes of source number `no`."""

    no: int
    path: bytes
    kind: str
    first: int
    end: int


def read(spark: SparkSession, sources: Iterable[Source], *, batch_bytes: int = RANGE_BYTES) -> DataFrame:
    r"""One row a mail, named by `no` and position; parsed on the executors, which must see the files.

    no          which of the sources it is in, from 0
    source      the path of the file; bytes that are no UTF-8 shown as \xff
    position    where in that file the mail begins, in bytes
    raw         the mail's bytes; null if they do not fit into a row or cannot be read
    envelope    what the mbox has around them; null for a mail that is a file of its own
    sha256      of raw, in hexadecimal digits
    size        bytes of raw; null if it cannot be read
    subject, sender, sent_at, message_id, in_reply_to    as `mime.derive` says
    reason      null, or why the mail could not be parsed (`mime.Reason`)
    occurrence  1, 2, …: which one this is among the mails with these same bytes in all the sources

    One job runs here, to find repeated mails; the parsing happens when the frame is used, each time anew. An mbox is
    read in ranges, and rows travel in batches, of about `batch_bytes`. No mail, however odd, makes a job fail; but
    Parquet gathers a hundred rows before it looks at their size, so much large mail is written by `read_batches`.
    """
    ranges = _ranges(sources, batch_bytes)
    return _mails(spark, ranges, _repeats(spark, ranges), batch_bytes)


def read_batches(
    spark: SparkSession,
    sources: Iterable[Source],
    *,
    batch_bytes: int = BATCH_BYTES,
    progress: Callable[[int, int], object] = lambda done_bytes, total_bytes: None,
) -> Iterator[DataFrame]:
    """The frame of `read` in several, each of some `batch_bytes` of the sources: memory stays flat, progress is seen.

    `progress(done_bytes, total_bytes)` is told each time the caller is through with a frame and asks for the next.
    """
    range_bytes = min(batch_bytes, RANGE_BYTES)
    ranges = _ranges(sources, range_bytes)
    repeats = _repeats(spark, ranges)
    done, total = 0, _length(ranges)
    for batch in _filled(ranges, batch_bytes):
        yield _mails(spark, batch, repeats, range_bytes)
        done += _length(batch)
        progress(done, total)


def edit_id(folder: Column | str, sha256: Column | str, occurrence: Column | str) -> Column:
    """The name of the edit that posts a mail into a folder, `mail:<folder>:<sha256>:<occurrence>`; null without bytes.

    It depends on nothing but the folder, the bytes, and how often they occurred before. So importing a file again adds
    nothing, and one that has grown adds what is new; the same mail twice in one import is two items.
    """
    from pyspark.sql import functions as F

    return F.concat(F.lit("mail:"), folder, F.lit(":"), sha256, F.lit(":"), occurrence)


def _ranges(sources: Iterable[Source], most: int) -> list[_Range]:
    ranges = []
    for no, (path, kind, size) in enumerate(sources):
        cuts = [*range(0, size, most), size] if kind == Kind.MBOX else [0, size]
        ranges += [_Range(no, os.fsencode(path), str(kind), first, end) for first, end in pairwise(cuts)]
    return ranges


def _length(ranges: Iterable[_Range]) -> int:
    return sum(each.end - each.first for each in ranges)


def _filled(ranges: Iterable[_Range], least: int) -> Iterator[list[_Range]]:
    """The ranges in groups that reach `least` bytes; the last one may not."""
    group: list[_Range] = []
    size = 0
    for each in ranges:
        group.append(each)
        size += each.end - each.first
        if size >= least:
            yield group
            group, size = [], 0
    if group:
        yield group


def _mails(spark: SparkSession, ranges: list[_Range], repeats: pa.Table, batch_bytes: int) -> DataFrame:
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.types import from_arrow_schema

    columns = from_arrow_schema(_mail_schema())
    mails = _frame(spark, ranges).mapInArrow(partial(_parse, batch_bytes=batch_bytes), columns)
    if repeats.num_rows:
        again = F.broadcast(spark.createDataFrame(repeats))  # broadcast, else the bodies would be shuffled
        mails = mails.join(again, ["no", "position"], "left")
    else:
        mails = mails.withColumn("occurrence", F.lit(None).cast("bigint"))
    return mails.select(*columns.names, F.coalesce("occurrence", F.lit(1).cast("bigint")).alias("occurrence"))


def _repeats(spark: SparkSession, ranges: list[_Range]) -> pa.Table:
    """The mails whose bytes occurred before: no, position, occurrence (2, 3, …). Runs one job.

    Reading all once more for its hashes is cheaper than shuffling the bodies, and few mails are repeated.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    hashes = _frame(spark, ranges).mapInArrow(_hash, "no bigint, position bigint, sha256 binary")
    same_bytes = Window.partitionBy("sha256").orderBy("no", "position")
    numbered = hashes.select("no", "position", F.row_number().over(same_bytes).cast("bigint").alias("occurrence"))
    return numbered.where("occurrence > 1").toArrow()


def _frame(spark: SparkSession, ranges: list[_Range]) -> DataFrame:
    import pyarrow as pa

    types = [pa.int64(), pa.binary(), pa.string(), pa.int64(), pa.int64()]
    return spark.createDataFrame(_rows(ranges, pa.schema(list(zip(_Range._fields, types, strict=True))), pa.Table))


def _mail_schema() -> pa.Schema:
    import pyarrow as pa

    return pa.schema(
        [
            ("no", pa.int64()),
            ("source", pa.string()),
            ("position", pa.int64()),
            ("raw", pa.binary()),
            ("envelope", pa.binary()),
            ("sha256", pa.string()),
            ("size", pa.int64()),
            ("subject", pa.string()),
            ("sender", pa.string()),
            ("sent_at", pa.timestamp("us", tz="UTC")),
            ("message_id", pa.string()),
            ("in_reply_to", pa.string()),
            ("reason", pa.string()),
        ]
    )


def _rows(rows: Iterable[tuple[object, ...]], schema: pa.Schema, shape: Any) -> Any:
    """Rows as an Arrow table or record batch."""
    return shape.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema=schema)


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[_Range, Piece]]:
    """The mails of the ranges; a file that cannot be read is one row that says so."""
    for batch in batches:
        for each in (_Range(**row) for row in batch.to_pylist()):
            try:
                pieces = split_mbox(each.path, each.first, each.end) if each.kind == Kind.MBOX else [_whole(each.path)]
                for piece in pieces:
                    yield each, piece
            except OSError:
                yield each, Piece(each.first, None, None, None, Reason.UNREADABLE)


def _hash(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    schema = pa.schema([("no", pa.int64()), ("position", pa.int64()), ("sha256", pa.binary())])
    hashes = (
        (each.no, piece.position, hashlib.sha256(piece.raw).digest()) for each, piece in _pieces(batches) if piece.raw is not None
    )
    while chunk := list(islice(hashes, BATCH_ROWS)):
        yield _rows(chunk, schema, pa.RecordBatch)


def _parse(batches: Iterable[pa.RecordBatch], batch_bytes: int) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    schema = _mail_schema()
    rows: list[tuple[object, ...]] = []
    held = 0
    for each, (position, envelope, raw, size, reason) in _pieces(batches):
        source = each.path.decode("utf-8", "backslashreplace")
        sha256 = None if raw is None else hashlib.sha256(raw).hexdigest()
        derived = Derived(reason=reason) if raw is None else derive(raw)
        rows.append((each.no, source, position, raw, envelope, sha256, size, *derived))
        held += len(raw or b"")
        if held >= batch_bytes or len(rows) >= BATCH_ROWS:
            yield _rows(rows, schema, pa.RecordBatch)
            rows, held = [], 0
    yield _rows(rows, schema, pa.RecordBatch)


# Writing -------------------------------------------------------------------------------------------------------------

# For a mail that never was in an mbox; the time is fixed, so that the same mails give the same file.
ENVELOPE = b"From MAILER-DAEMON Thu Jan  1 00:00:00 1970\n"
ENVELOPE_FORM = re.compile(rb"(?:From [^\n]*\n?)?(?:\r?\n)?")
CUT = re.compile(rb"^From ", re.M)
TO_QUOTE = re.compile(rb"^(>*From )", re.M)
NAME_CHARS = 180

Item = tuple[str, bytes | None, bytes]
"""What is written of a mail: a name for its file, its envelope (null: none), its bytes."""


def write_mbox(items: Iterable[Item], target: Path) -> int:
    """Writes the mails, in order, as an mbox to a new file that only its owner may read; how many.

    The mails of an mbox, written in its order, give it back byte for byte. One without an envelope gets a fixed one, a
    final newline if it has none, and `>` before lines that begin with `From ` (or `>From `), as mboxrd says.

    Raises MailError if there is anything of that name already, or it cannot be written; no half of a file stays.
    """
    count, last = 0, b"\n"
    try:
        with _created(target) as file:
            try:
                for _, envelope, raw in items:
                    piece = b"".join(_as_in_mbox(envelope, raw))
                    file.write(piece if last == b"\n" else b"\n" + piece)
                    count, last = count + 1, piece[-1:] or last
                file.flush()
            except BaseException:
                os.unlink(target)
                raise
    except (OSError, ValueError) as error:
        raise _unwritten(target, error) from error
    return count


def write_eml(items: Iterable[Item], folder: Path) -> int:
    """Writes each mail as a file of its own, `<name>.eml`, into a new or empty folder; how many.

    Of a name all but letters, digits and `_ . - ~` is percent-encoded, a leading dot or dash too; a long one is cut and ends in
    its hash; one that was used before, in whatever case, gets `~2`, `~3`, …

    Raises MailError if the folder is a link or holds anything, or a file cannot be written; what was written stays.
    """
    count, used = 0, Counter[str]()
    folder = os.path.abspath(folder)  # with a slash at its end, a link would be followed
    try:
        os.makedirs(folder, exist_ok=True)
        # Names are taken relative to the folder that was opened, so nothing that happens to its path leads elsewhere.
        below = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if os.listdir(below):
                raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY))
            for name, _, raw in items:
                with _created(f"{_unused(_file_name(name), used)}.eml", below) as file:
                    file.write(raw)
                count += 1
        finally:
            os.close(below)
    except (OSError, ValueError) as error:
        raise _unwritten(folder, error) from error
    return count


def _as_in_mbox(envelope: bytes | None, raw: bytes) -> tuple[bytes, bytes, bytes]:
    """Opening, mail and closing. What no mbox can have had, an envelope that is none or a mail that it would cut in two,
    is written like a mail without an envelope."""
    if envelope is None or not ENVELOPE_FORM.fullmatch(envelope) or CUT.search(raw, int(_begins_endlessly(envelope, raw))):
        return ENVELOPE, TO_QUOTE.sub(rb">\1", raw) + (b"" if raw.endswith(b"\n") else b"\n"), b"\n"
    opening = (envelope.find(b"\n") + 1 or len(envelope)) if envelope.startswith(b"From ") else 0
    return envelope[:opening], raw, envelope[opening:]


def _begins_endlessly(envelope: bytes, raw: bytes) -> bool:
    """Whether the mail begins with a `From ` line that was too long to be an envelope, which the mbox began it with."""
    first = raw[:ENVELOPE_BYTES]
    endless = first.startswith(b"From ") and len(first) == ENVELOPE_BYTES and b"\n" not in first
    return endless and not envelope.startswith(b"From ")


def _file_name(name: str) -> str:
    safe = quote(name, safe="", errors="surrogatepass") or "mail"
    if safe.startswith((".", "-")):  # hidden, or taken by a shell's command for an option
        safe = f"%{ord(safe[0]):02X}{safe[1:]}"
    return safe if len(safe) <= NAME_CHARS else f"{safe[:NAME_CHARS]}~{hashlib.sha256(safe.encode()).hexdigest()[:16]}"


def _unused(name: str, used: Counter[str]) -> str:
    """The name, or the first of `name~2`, `name~3`, … that no other name took; in lower case, as some disks compare."""
    free = name
    while used[free.lower()]:
        used[name.lower()] += 1
        free = f"{name}~{used[name.lower()]}"
    used[free.lower()] = 1
    return free


def _created(path: Path, below: int | None = None) -> BinaryIO:
    """A new file, open for writing; OSError if there is anything of that name, be it a link."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return open(os.open(path, flags, 0o600, dir_fd=below), "wb")


def _unwritten(target: Path, error: OSError | ValueError) -> MailError:
    why = error.strerror if isinstance(error, OSError) and error.strerror else error
    return MailError(
        f"The export to {os.fspath(target)!r} failed: {why}. Expected the name of a new file (for "
        ".eml: of a new or empty folder, no link) where there is room and permission. Name another target."
    )
