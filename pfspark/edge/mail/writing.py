"""Mails written to files again: an mbox, or a file for each."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from urllib.parse import quote

from pfspark.edge.mail.files import ENVELOPE_BYTES, Path
from pfspark.errors import MailError

# For a mail that never was in an mbox; the time is fixed, so that the same mails give the same file.
ENVELOPE = b"From MAILER-DAEMON Thu Jan  1 00:00:00 1970\n"
ENVELOPE_FORM = re.compile(rb"(?:From [^\n]*\n?)?(?:\r?\n)?")
CUT = re.compile(rb"^From ", re.M)
TO_QUOTE = re.compile(rb"^(>*From )", re.M)
NAME_CHARS = 180
IN_WHICH = getattr(os, "O_PATH", os.O_RDONLY)
"""How a folder is opened in which a file gets a name: where the system knows that, it need not be readable."""

Item = tuple[str, bytes | None, bytes]
"""What is written of a mail: a name for its file, its envelope (null: none), its bytes."""


def write_mbox(items: Iterable[Item], target: Path) -> int:
    """Writes the mails, in order, as an mbox to a new file that only its owner may read; how many.

    The mails of an mbox, written in its order, give it back byte for byte. One without an envelope gets a fixed one, a
    final newline if it has none, and `>` before lines that begin with `From ` (or `>From `), as mboxrd says.

    Raises MailError if there is anything of that name already, or it cannot be written. The name leads to the whole file, or
    nowhere; of a process that was killed a hidden half may stay.
    """
    count, last = 0, b"\n"
    folder, name = os.path.split(os.fspath(target))
    with _opened(folder or os.curdir, IN_WHICH, told=target) as below, _new_file(name, below, told=target) as write:
        for _, envelope, raw in items:
            piece = b"".join(as_in_mbox(envelope, raw))
            write(piece if last == b"\n" else b"\n" + piece)
            count, last = count + 1, piece[-1:] or last
    return count


def write_eml(items: Iterable[Item], folder: Path) -> int:
    """Writes each mail as a file of its own, `<name>.eml`, into a new or empty folder; how many.

    Of a name all but letters, digits and `_ . - ~` is percent-encoded, a leading dot or dash too; a long one is cut and ends in
    its hash; one that was used before, in whatever case, gets `~2`, `~3`, …

    Raises MailError if the folder is a link or holds anything, or a file cannot be written; whole mails that were written stay.
    """
    count, used = 0, Counter[str]()
    folder = os.path.abspath(folder)  # with a slash at its end, a link would be followed
    with _told(folder):
        os.makedirs(folder, exist_ok=True)
    with _opened(folder, os.O_RDONLY | os.O_NOFOLLOW, told=folder) as below:
        with _told(folder):
            if os.listdir(below):
                raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY))
        for name, _, raw in items:
            with _new_file(f"{_unused(_file_name(name), used)}.eml", below, told=folder) as write:
                write(raw)
            count += 1
    return count


def as_in_mbox(envelope: bytes | None, raw: bytes) -> tuple[bytes, bytes, bytes]:
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


@contextmanager
def _opened(folder: Path, flags: int, *, told: Path) -> Iterator[int]:
    """A folder to which names of files are relative, so that nothing that happens to its path leads elsewhere."""
    with _told(told):
        opened = os.open(folder, os.O_DIRECTORY | os.O_CLOEXEC | flags)
    try:
        yield opened
    finally:
        os.close(opened)


@contextmanager
def _new_file(name: str, below: int, *, told: Path) -> Iterator[Callable[[bytes], None]]:
    """What writes into a new file of a folder, that has its name as soon as it is whole; MailError if there is anything of that
    name, be it a link, or it cannot be written. `told`: the target, as people know it."""
    half = f".{secrets.token_hex(8)}.half"
    with _told(told):
        _expect_nothing(name, below)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = open(os.open(half, flags, 0o600, dir_fd=below), "wb")  # noqa: SIM115

    def write(piece: bytes) -> None:
        with _told(told):
            file.write(piece)

    try:
        yield write
        with _told(told):
            file.close()
            _name(half, name, below)
    finally:
        with suppress(OSError):  # what it has written by then is not kept
            file.close()
        with suppress(OSError):  # it has its name
            os.unlink(half, dir_fd=below)


def _name(half: str, name: str, below: int) -> None:
    """Gives the file its name, if nothing has that by now; where a disk knows no second names, nothing had it a moment ago."""
    try:
        os.link(half, name, src_dir_fd=below, dst_dir_fd=below, follow_symlinks=False)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK):
            raise
        _expect_nothing(name, below)
        os.rename(half, name, src_dir_fd=below, dst_dir_fd=below)


def _expect_nothing(name: str, below: int) -> None:
    """Raises FileExistsError where there is anything of that name, as there is where a path ends with a slash."""
    with suppress(FileNotFoundError):
        os.stat(name or os.curdir, dir_fd=below, follow_symlinks=False)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


@contextmanager
def _told(target: Path) -> Iterator[None]:
    """What goes wrong within is the target's fault, and told so; where rows come from may fail otherwise."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise _unwritten(target, error) from error


def _unwritten(target: Path, error: OSError | ValueError) -> MailError:
    why = error.strerror if isinstance(error, OSError) and error.strerror else error
    return MailError(
        f"The export to {os.fspath(target)!r} failed: {why}. Expected the name of a new file (for "
        ".eml: of a new or empty folder, no link) where there is room and permission. Name another target."
    )
