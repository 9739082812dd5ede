"""Mail on a disk: what files hold it, and where each mail begins and ends."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import pairwise
from typing import BinaryIO, NamedTuple

from pfspark.edge.mail.mime import KIB, MIB, Reason
from pfspark.errors import MailError, UsageError

# A larger mail stays in its file: a row is held several times over on its way through Python, Arrow and Java, and with
# rows of 120 MiB a heap of 2 GiB was seen to be too small (two tasks writing Parquet; 64 MiB passed).
KEPT_BYTES = 64 * MIB
# A `From ` line that is longer is no envelope but part of the mail.
ENVELOPE_BYTES = 64 * KIB

BLOCK_BYTES = MIB

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
    """The files of mail that the paths name, in order; one that is named twice, also by the folder that it is in, is what
    the first name makes of it.

    A file is an mbox or one mail, by how it begins; one named .eml is one mail. A folder with `cur` or `new` in it is a
    Maildir (its subfolders are not entered); any other folder is taken for its .eml files, sorted by name. Links are
    not followed: a path that is one is refused, one inside a folder becomes a row with the reason `unreadable`.

    Raises UsageError for a path that leads nowhere, MailError where there is no mail to be seen.
    """
    named = [os.fspath(path) for path in paths]
    if not all(named):
        raise UsageError(f"Found an empty path. {EXPECTED}")
    unique = dict.fromkeys(map(os.path.abspath, named))
    found: dict[str, Source] = {}
    for path in unique:
        for source in _look(path):
            found.setdefault(source.path, source)
    return [*found.values()]


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


def split_mbox(path: Path | bytes, first: int = 0, end: int | None = None, size: int = 0) -> Iterator[Piece]:
    """The mails of an mbox that begin at byte `first` or later, but before `end`; one mail at a time in memory.

    Ranges that touch give each mail once, so a file may be read at many places at a time. What stands before the first
    `From ` line is a piece as well (without such a line in its envelope): the pieces are always the whole file.

    Raises OSError if the file cannot be read, or has become shorter than `size`, its bytes as it was found: mails of it would be
    left out without a word, and one be cut.
    """
    with _opened(path) as file:
        if os.fstat(file.fileno()).st_size < size:
            raise OSError(errno.EIO, "shorter than it was")
        for start, stop in pairwise(_starts(file.fileno(), first, end)):
            if start == stop or (end is not None and start >= end):
                return
            yield _piece(file.fileno(), start, stop)


def _starts(file: int, first: int, end: int | None) -> Iterator[int]:
    """Where mails begin, from byte `first` on; at last the end of the file. None where none begins before `end`: a long mail that
    is looked at from many places would be read to its end from each."""
    is_any = first == 0
    if is_any:
        yield 0
    at, tail = max(first - 1, 0), b""
    while block := os.pread(file, BLOCK_BYTES, at):
        window = tail + block
        found = window.find(b"\nFrom ")
        while found >= 0:
            is_any = True
            yield at - len(tail) + found + 1
            found = window.find(b"\nFrom ", found + 1)
        at, tail = at + len(block), window[-5:]
        if not is_any and end is not None and at - len(tail) >= end:
            return
    yield at


def _piece(file: int, start: int, stop: int) -> Piece:
    kept = stop - start <= KEPT_BYTES
    piece = _read(file, stop - start if kept else min(ENVELOPE_BYTES, stop - start), start)
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


def whole(path: bytes) -> Piece:
    """The mail that is a file of its own."""
    with _opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > KEPT_BYTES:
            return Piece(0, None, None, size, Reason.TOO_LARGE_TO_KEEP)
        raw = _read(file.fileno(), size, 0)
    return Piece(0, None, raw, len(raw))


def _read(file: int, size: int, at: int) -> bytes:
    """So many bytes from there; OSError where there are fewer, as of a file that is shortened meanwhile."""
    read = os.pread(file, size, at)
    if len(read) < size:
        raise OSError(errno.EIO, "shorter than it was")
    return read
