"""Mail in and out: the bytes survive, the second import adds nothing, and nothing in a mail fails a job."""

from __future__ import annotations

import csv
import email
import errno
import hashlib
import mailbox
import os
import re
import resource
import stat
import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfspark.edge.mail import (
    Kind,
    Source,
    edit_id,
    edit_ids,
    files,
    find,
    processes,
    read,
    read_batches,
    read_here,
    split_mbox,
    write_eml,
    write_mbox,
)
from pfspark.edge.mail.rows import RANGE, as_arrow, parse, ranges_of
from pfspark.edge.mail.writing import as_in_mbox
from pfspark.errors import MailError, UsageError
from tests.edge import mailbox as post
from tests.edge.processes import environment

DEMO = Path(__file__).parents[3] / "conf" / "demo.mbox"
HEADERS = b"Subject: x\nFrom: jean@example.com\n\nx\n"

# --- splitting, against Python's own mailbox ---

SIGNS = [b"From ", b"From x", b"From", b">From ", b"\n", b"\r\n", b"\r", b"\n\n", b"\r\n\r\n", b"a", b"\xff", b" "]
MBOXES = st.lists(st.sampled_from(SIGNS), max_size=30).map(b"".join)


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    """A place for one file, used again and again."""
    return tmp_path_factory.mktemp("mail") / "any.mbox"


def joined(pieces) -> bytes:
    return b"".join(part for piece in pieces for part in as_in_mbox(piece.envelope, piece.raw))


def by_mailbox(path: Path) -> list[bytes]:
    box = mailbox.mbox(path, create=False)
    try:
        return [box.get_bytes(key) for key in box.iterkeys()]
    finally:
        box.close()


@given(content=MBOXES, block=st.integers(1, 20))
def test_the_pieces_of_any_file_are_the_file(file, content, block):
    file.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "BLOCK_BYTES", block)
        pieces = list(split_mbox(file))
    assert joined(pieces) == content
    assert [piece.position for piece in pieces] == sorted({piece.position for piece in pieces})
    for piece in pieces:
        assert content[piece.position :].startswith(as_in_mbox(piece.envelope, piece.raw)[0] + piece.raw)
        assert piece.size == len(piece.raw)


@given(content=MBOXES)
def test_mails_are_what_mailbox_finds(file, content):
    """But for the blank line before a next `From ` line that ends in CRLF: mailbox counts it to the mail."""
    file.write_bytes(content)
    mails = [piece for piece in split_mbox(file) if piece.envelope.startswith(b"From ")]
    assert [piece.raw + b"\r\n" * piece.envelope.endswith(b"\n\r\n") for piece in mails] == by_mailbox(file)


@given(content=MBOXES, step=st.integers(1, 40), block=st.integers(1, 20))
def test_ranges_that_touch_give_every_mail_once(file, content, step, block):
    file.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "BLOCK_BYTES", block)
        ends = [*range(0, len(content), step), len(content)]
        ranged = [piece for first, end in pairwise(ends) for piece in split_mbox(file, first, end)]
    assert ranged == list(split_mbox(file))


def test_a_long_mail_is_read_once_from_however_many_places(file, monkeypatch):
    """Who looks where no mail begins looks no further than his range."""
    file.write_bytes(b"From a\n" + bytes(100_000) + b"\nFrom b\nx\n")
    read, pread = [], os.pread

    def counted(number, size, at):
        read.append(size)
        return pread(number, size, at)

    monkeypatch.setattr(files, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(files.os, "pread", counted)
    ends = [*range(0, file.stat().st_size, 1000), file.stat().st_size]
    found = [piece.position for first, end in pairwise(ends) for piece in split_mbox(file, first, end)]
    assert found == [0, 100_008]
    assert sum(read) < 5 * 100_000


@given(content=MBOXES)
def test_written_again_it_is_the_same_file(file, content):
    file.write_bytes(content)
    again = file.with_name("again.mbox")
    again.unlink(missing_ok=True)
    count = write_mbox((("any", piece.envelope, piece.raw) for piece in split_mbox(file)), again)
    assert again.read_bytes() == content
    assert count == len(list(split_mbox(file)))


@pytest.mark.parametrize(
    ("content", "pieces"),
    [
        (b"From a\nX: 1\n\nx\n\nFrom b\nY: 2\n\n", [(b"From a\n\n", b"X: 1\n\nx\n"), (b"From b\n\n", b"Y: 2\n")]),
        (b"From a\r\nX: 1\r\n\r\nFrom b\r\n", [(b"From a\r\n\r\n", b"X: 1\r\n"), (b"From b\r\n", b"")]),
        (b"From a\r\nX: 1\r\n\r\n\nFrom b\n", [(b"From a\r\n\n", b"X: 1\r\n\r\n"), (b"From b\n", b"")]),
        (b"From a\nx\r\n\r\nFrom b\ny", [(b"From a\n", b"x\r\n\r\n"), (b"From b\n", b"y")]),
        (b"From a\nx\nFrom b\ny\n", [(b"From a\n", b"x\n"), (b"From b\n", b"y\n")]),
        (b"From a\n>From x\n>>From y\n From z\n", [(b"From a\n", b">From x\n>>From y\n From z\n")]),
        (b"From a\n\n\n\nFrom b", [(b"From a\n\n", b"\n\n"), (b"From b", b"")]),
        (b"\n\nFrom a\nx", [(b"\n", b"\n"), (b"From a\n", b"x")]),
        (b"", []),
    ],
)
def test_what_is_mail_and_what_is_envelope(file, content, pieces):
    file.write_bytes(content)
    assert [(piece.envelope, piece.raw) for piece in split_mbox(file)] == pieces


def test_what_is_no_plain_file_is_not_read():
    with pytest.raises(OSError, match="no plain file"):
        next(split_mbox("/dev/null"))


def test_a_from_line_without_end_is_mail_not_envelope(file):
    line = b"From " + b"x" * files.ENVELOPE_BYTES
    file.write_bytes(line + b"\n\n")
    assert [(piece.envelope, piece.raw) for piece in split_mbox(file)] == [(b"\n", line + b"\n")]


@pytest.mark.parametrize("longer", [0, 1])
def test_an_mbox_with_a_from_line_without_end_comes_out_as_it_came_in(tmp_path, longer):
    """It is part of the mail, yet an mbox that is written begins the mail with it, and quotes it no more than the others."""
    line = b"From " + b"x" * (files.ENVELOPE_BYTES - 5 + longer)
    box = b"From a\nSubject: a\n\n" + line + b"\nSubject: b\n\n>From quoted\n\nFrom c\nz\n"
    (tmp_path / "in").write_bytes(box)
    pieces = list(split_mbox(tmp_path / "in"))
    assert [piece.envelope for piece in pieces] == [b"From a\n\n", b"\n", b"From c\n"]
    write_mbox([("", piece.envelope, piece.raw) for piece in pieces], tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == box


@pytest.mark.parametrize(("name", "file"), [("-rf", "%2Drf.eml"), ("--", "%2D-.eml"), (".", "%2E.eml"), ("a-b", "a-b.eml")])
def test_no_file_is_hidden_or_looks_like_an_option(tmp_path, name, file):
    assert write_eml([(name, None, HEADERS)], tmp_path / "out") == 1
    assert [each.name for each in (tmp_path / "out").iterdir()] == [file]


def test_a_mail_too_large_for_a_row_is_told_and_the_next_is_found(file, monkeypatch):
    monkeypatch.setattr(files, "KEPT_BYTES", 100)
    file.write_bytes(b"From a\n" + b"x" * 200 + b"\nFrom b\nsmall\n")
    large, small = split_mbox(file)
    assert (large.raw, large.size, large.reason) == (None, 201, "too_large_to_keep")
    assert (small.raw, small.reason) == (b"small\n", None)


# --- finding ---


def test_sources_are_told_by_looking(tmp_path):
    post.write_mbox(tmp_path / "no-suffix", [HEADERS, HEADERS])
    (tmp_path / "empty").touch()
    (tmp_path / "one").write_bytes(HEADERS)
    (tmp_path / "text.EML").write_bytes(b"From here on there are no headers\n")
    (tmp_path / "empty.eml").touch()
    kinds = [(Path(source.path).name, source.kind) for source in find(sorted(tmp_path.iterdir()))]
    assert kinds == [
        ("empty", Kind.MBOX),
        ("empty.eml", Kind.EML),
        ("no-suffix", Kind.MBOX),
        ("one", Kind.EML),
        ("text.EML", Kind.EML),
    ]


def test_folders_give_their_mails_in_order(tmp_path):
    post.write_maildir(tmp_path / "Maildir", [HEADERS] * 7)
    (tmp_path / "Maildir" / "tmp" / "half").write_bytes(b"Subject: not yet")
    (tmp_path / "Maildir" / "cur" / ".hidden").touch()
    sources = find([tmp_path / "Maildir"])
    assert [Path(source.path).name.partition(".")[0] for source in sources] == [str(1767600000 + n) for n in range(7)]
    assert {Path(source.path).parent.name for source in sources} == {"cur", "new"}
    assert {(source.kind, source.size) for source in sources} == {(Kind.EML, len(HEADERS))}

    paths = post.write_folder(tmp_path / "folder", [HEADERS] * 60)
    (tmp_path / "folder" / "notes.txt").touch()
    assert [os.fsencode(source.path) for source in find([tmp_path / "folder"])] == sorted(paths)


def test_a_path_given_twice_counts_once(tmp_path, monkeypatch):
    (tmp_path / "a.eml").write_bytes(HEADERS)
    monkeypatch.chdir(tmp_path)
    assert find(["a.eml", tmp_path / "a.eml", "./a.eml"]) == [Source(str(tmp_path / "a.eml"), Kind.EML, len(HEADERS))]


def test_a_mail_that_its_folder_names_too_counts_once(tmp_path):
    """Which is what `mails mails/*.eml` says, in either order."""
    post.write_folder(folder := tmp_path / "mails", [HEADERS] * 3)
    files = [source.path for source in find([folder])]
    assert len(files) == 3
    assert [source.path for source in find([folder, files[1]])] == files
    assert [source.path for source in find([files[1], folder])] == [files[1], files[0], files[2]]


def test_of_a_mail_that_is_named_twice_the_first_name_counts(tmp_path):
    """One in a Maildir is a mail whatever it begins with; by itself this is an mbox."""
    (tmp_path / "cur").mkdir()
    (mail := tmp_path / "cur" / "1").write_bytes(b"From a@example.com\n" + HEADERS)
    assert [source.kind for source in find([tmp_path, mail])] == [Kind.EML]
    assert [source.kind for source in find([mail, tmp_path])] == [Kind.MBOX]


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", r"begins with b'\\x89PNG"),
        (b"\x1f\x8b\x08\0\0", "gzip file: unpack it first"),
        (b"!BDN\0\0", "Outlook data file: export it as mbox"),
        (b"name,amount\ntents,40\n", "begins with b'name,amount"),
        (b"http: is a scheme\n", "begins with b'http"),
        (b"\n\nFrom a\nSubject: x\n\n", r"begins with b'\\n\\nFrom a"),
        (b"\0" * 9000, "begins with"),
    ],
)
def test_what_is_no_mail_is_refused_with_what_was_seen(tmp_path, content, seen):
    (tmp_path / "it").write_bytes(content)
    with pytest.raises(MailError, match=seen) as refusal:
        find([tmp_path / "it"])
    assert "Expected an mbox" in str(refusal.value) and str(tmp_path / "it") in str(refusal.value)


def test_a_binary_named_eml_is_refused(tmp_path):
    (tmp_path / "it.eml").write_bytes(b"MZ\x90\0\x03")
    with pytest.raises(MailError, match="no mail"):
        find([tmp_path / "it.eml"])


def test_paths_that_lead_nowhere_or_elsewhere_are_refused(tmp_path):
    (tmp_path / "a.eml").write_bytes(HEADERS)
    (tmp_path / "link.eml").symlink_to("a.eml")
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe.eml")
    for name, kind, seen in [
        ("nothing", UsageError, "No such file"),
        ("link.eml", MailError, "a link; links are not followed"),
        ("empty", MailError, "folder of 0 entries, none of them"),
        ("pipe.eml", MailError, "no plain file"),
        ("a.eml/b", UsageError, "Not a directory"),
    ]:
        with pytest.raises(kind, match=seen):
            find([tmp_path / name])


# --- reading, all sorts of letters in all sorts of files ---


@pytest.fixture(scope="module")
def letters() -> list[post.Letter]:
    return list(post.letters(3000))


@pytest.fixture(scope="module")
def box(tmp_path_factory, letters) -> Path:
    path = tmp_path_factory.mktemp("mbox") / "all.mbox"
    post.write_mbox(path, [post.in_mbox(letter.raw) for letter in letters])
    return path


def rows(frame, *columns: str) -> list[tuple]:
    return [tuple(row) for row in frame.select(*columns).toLocalIterator()]


@pytest.fixture(scope="module", params=["executors", "this machine"])
def batches(spark, request):
    """Mails in batches, as frames: read on the executors, or by processes of this machine."""

    def here(sources, **how):
        for table in read_here(sources, **how):
            yield spark.createDataFrame(table)

    return here if request.param == "this machine" else lambda sources, **how: read_batches(spark, sources, **how)


@pytest.fixture(scope="module")
def every(batches):
    """All mails at once, as a frame."""

    def read_all(sources):
        [frame] = batches(sources)
        return frame

    return read_all


DERIVED = ("subject", "sent_at", "message_id", "in_reply_to", "reason")


def told(letter: post.Letter) -> tuple:
    sent_at = letter.sent_at and letter.sent_at.replace(tzinfo=None)
    return (letter.subject, sent_at, letter.message_id, letter.in_reply_to, letter.reason)


def by_sort(letters, found) -> dict[str, list]:
    """Where a letter and its row differ, with the sort of the letter."""
    pairs = zip(letters, found, strict=True)
    return {letter.sort: [told(letter), row] for letter, row in pairs if told(letter) != row}


@pytest.fixture(scope="module")
def in_box(every, box) -> list:
    """The rows of that mbox, in order."""
    return every(find([box])).orderBy("position").collect()


def test_every_letter_of_an_mbox_is_a_row_with_its_bytes(in_box, box, letters):
    raws = [post.in_mbox(letter.raw) for letter in letters]
    assert [(row.raw, row.size) for row in in_box] == [(raw, len(raw)) for raw in raws]
    assert [row.sha256 for row in in_box] == [hashlib.sha256(raw).hexdigest() for raw in raws]
    assert by_sort(letters, [tuple(row[name] for name in DERIVED) for row in in_box]) == {}
    assert {row.source for row in in_box} == {str(box)}


def test_an_mbox_comes_out_as_it_went_in(in_box, box, tmp_path):
    written = write_mbox((("any", row.envelope, row.raw) for row in in_box), tmp_path / "out.mbox")
    assert written == 3000
    assert (tmp_path / "out.mbox").read_bytes() == box.read_bytes()


@pytest.mark.parametrize("shape", ["folder", "Maildir"])
def test_mails_that_are_files_come_in_and_out_as_they_are(every, tmp_path, letters, shape):
    write = post.write_folder if shape == "folder" else post.write_maildir
    write(tmp_path / "in", [letter.raw for letter in letters])
    sources = find([tmp_path / "in"])
    frame = every(sources).cache()
    found = {source: row for source, *row in rows(frame, "source", "position", "envelope", "raw", *DERIVED)}
    shown = [os.fsencode(source.path).decode("utf-8", "backslashreplace") for source in sources]
    assert [found[source][:3] for source in shown] == [[0, None, letter.raw] for letter in letters]
    assert by_sort(letters, [tuple(found[source][3:]) for source in shown]) == {}

    written = write_eml(((row.source, None, row.raw) for row in frame.toLocalIterator()), tmp_path / "out")
    out = sorted((tmp_path / "out").iterdir())
    assert written == len(out) == len(letters)
    assert Counter(path.read_bytes() for path in out) == Counter(letter.raw for letter in letters)
    frame.unpersist()


def test_ranges_and_batches_change_nothing(every, batches, spark, tmp_path):
    raws = [post.in_mbox(letter.raw) for letter in post.letters(400) if len(letter.raw) < 10_000]
    post.write_mbox(tmp_path / "box", raws)
    post.write_maildir(tmp_path / "Maildir", raws[:50])
    sources = find([tmp_path / "box", tmp_path / "Maildir"])
    columns = ("source", "position", "raw", "envelope", "sha256", "size", "sender", *DERIVED, "occurrence")
    whole = rows(every(sources), *columns)
    assert len(whole) == len(raws) + 50
    assert Counter(rows(read(spark, sources, batch_bytes=77), *columns)) == Counter(whole)

    said: list[tuple[int, int]] = []
    frames = []
    for frame in batches(sources, batch_bytes=50_000, progress=lambda *done: said.append(done)):
        assert len(said) == len(frames)
        frames.append(rows(frame, *columns))
    total = sum(source.size for source in sources)
    assert len(frames) > 2
    assert [row for rows_ in frames for row in rows_] == whole
    assert said == sorted(said) and said[-1] == (total, total) and {of for _, of in said} == {total}


def test_a_second_import_adds_nothing_and_a_repeated_mail_is_two_items(batches, tmp_path):
    once, twice, new = HEADERS, b"Subject: twice\n\nx\n", b"Subject: new\n\nx\n"
    post.write_mbox(tmp_path / "box", [once, twice, twice], seed=1)

    def ids(*paths: Path, folder: str = "PFS1:7", batch_bytes: int = 2**20) -> list[str]:
        from pyspark.sql import functions as F

        frames = batches(find(paths), batch_bytes=batch_bytes)
        return [row[0] for frame in frames for row in rows(frame, edit_id(F.lit(folder), "sha256", "occurrence"))]

    first = ids(tmp_path / "box")
    assert len(set(first)) == 3
    assert first[1].endswith(":1") and first[2] == first[1].removesuffix("1") + "2"
    assert ids(tmp_path / "box", batch_bytes=60) == first

    os.rename(tmp_path / "box", tmp_path / "moved")
    with (tmp_path / "moved").open("ab") as file:
        file.write(b"From x\n" + new + b"\nFrom x\n" + once + b"\n")
    assert ids(tmp_path / "moved")[:3] == first
    assert len(set(ids(tmp_path / "moved")) - set(first)) == 2
    assert not set(ids(tmp_path / "moved", folder="PFS1:8")) & set(first)

    post.write_maildir(tmp_path / "Maildir", [twice, once, twice])
    assert set(ids(tmp_path / "Maildir")) == set(first)


def test_files_that_cannot_be_read_are_rows_that_say_so(every, tmp_path):
    folder = tmp_path / "in"
    post.write_folder(folder, [HEADERS])
    (tmp_path / "secret").write_bytes(b"Subject: secret\n\n")
    (folder / "link.eml").symlink_to(tmp_path / "secret")
    os.mkfifo(folder / "pipe.eml")
    (folder / "gone.eml").write_bytes(HEADERS)
    post.write_mbox(tmp_path / "gone.mbox", [HEADERS])
    sources = find([folder, tmp_path / "gone.mbox"])
    (folder / "gone.eml").unlink()
    (tmp_path / "gone.mbox").unlink()
    found = {Path(source).name: row for source, *row in rows(every(sources), "source", "raw", "size", "reason")}
    assert found == {
        "00000-rf.eml": [HEADERS, len(HEADERS), None],
        **{name: [None, None, "unreadable"] for name in ("link.eml", "pipe.eml", "gone.eml", "gone.mbox")},
    }


def test_no_source_is_no_row(spark, tmp_path):
    (tmp_path / "empty").touch()
    assert read(spark, []).columns == read(spark, find([tmp_path / "empty"])).columns
    assert read(spark, []).count() == read(spark, find([tmp_path / "empty"])).count() == 0
    assert list(read_batches(spark, [])) == list(read_here([])) == []


@pytest.fixture(scope="module")
def there(spark, box):
    """What executors read of that mbox, in order, and the edits that would post it."""
    from pyspark.sql import functions as F

    frame = read(spark, find([box]))
    posting = edit_id(F.lit("PFS1:7"), "sha256", "occurrence").alias("posting")
    found = frame.select("*", posting).orderBy("position").toArrow()
    return found.select(frame.columns), found["posting"].to_pylist()


@pytest.mark.parametrize("alone", [0, 10**6], ids=["by processes", "alone"])
def test_mails_are_the_same_read_here_and_on_the_executors(there, box, monkeypatch, alone):
    """In the same order, by one process or several, to the last column; and the same edits would post them."""
    monkeypatch.setattr(processes, "ALONE", alone)
    [here] = read_here(find([box]))
    mails, edits = there
    assert here.column_names == mails.column_names
    assert here.to_pylist() == mails.to_pylist()
    assert edit_ids("PFS1:7", here) == edits


def test_a_process_that_ends_too_early_is_told(box, monkeypatch):
    monkeypatch.setattr(processes, "ALONE", 0)
    begun: list[subprocess.Popen[bytes]] = []

    class Popen(subprocess.Popen):
        def __init__(self, *words, **how):
            super().__init__(*words, **how)
            begun.append(self)

    monkeypatch.setattr(processes.subprocess, "Popen", Popen)
    mails = read_here(find([box]), batch_bytes=50_000)
    next(mails)
    begun[-1].kill()
    with pytest.raises(MailError, match=r"ended before it was through \(exit code -9; no word\)\. What is imported stays"):
        list(mails)
    assert all(process.poll() is not None for process in begun)


# --- writing ---


@given(names=st.lists(st.text(st.characters(exclude_categories=()), max_size=300), max_size=8))
def test_no_name_leads_out_of_the_folder_or_over_another(tmp_path_factory, names):
    above = tmp_path_factory.mktemp("above")
    names = [
        *names,
        "..",
        ".",
        "../x",
        "/etc/passwd",
        "a\0b",
        "CON",
        "same",
        "SAME",
        "same~2",
        "same",
        "",
        "\ud800",
        "\udcff",
    ]
    assert write_eml(((name, None, b"%d" % number) for number, name in enumerate(names)), above / "out") == len(names)
    assert os.listdir(above) == ["out"]
    out = list((above / "out").iterdir())
    assert sorted(int(path.read_bytes()) for path in out) == list(range(len(names)))
    assert len({path.name.lower() for path in out}) == len(names)
    for path in out:
        assert path.name.isascii() and path.name.endswith(".eml") and not path.name.startswith(".")
        assert path.resolve().parent == (above / "out").resolve()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_names_stay_readable(tmp_path):
    write_eml([("PFS1:11", None, b""), ("Début.v2", None, b""), ("PFS1:11", None, b"")], tmp_path / "out")
    assert sorted(os.listdir(tmp_path / "out")) == ["D%C3%A9but.v2.eml", "PFS1%3A11.eml", "PFS1%3A11~2.eml"]


def test_a_mail_that_another_program_moves_meanwhile_is_a_row_that_cannot_be_read(tmp_path, monkeypatch):
    post.write_maildir(tmp_path / "Maildir", [HEADERS] * 2)
    entries = files._entries

    def moved(folder):
        found = sorted(entries(folder), key=lambda entry: entry.name)
        if found and os.path.basename(folder) in ("cur", "new"):
            os.unlink(found[0].path)
        return found

    monkeypatch.setattr(files, "_entries", moved)
    assert {source.size for source in find([tmp_path / "Maildir"])} == {0}


@pytest.mark.parametrize(("name", "seen"), [("", "empty path"), ("a\0b", "no name of a file")])
def test_what_names_no_file(name, seen):
    with pytest.raises(UsageError, match=seen):
        find([name])


def test_what_is_there_is_never_written_over(tmp_path):
    (tmp_path / "there").write_bytes(b"precious")
    (tmp_path / "link").symlink_to(tmp_path / "not yet")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine.txt").write_bytes(b"precious")
    (tmp_path / "empty").mkdir()
    (tmp_path / "to empty").symlink_to("empty")
    before = sorted(tmp_path.rglob("*"))
    for write, name, seen in [
        (write_mbox, "there", "File exists"),
        (write_mbox, "link", "File exists"),
        (write_mbox, "empty", "File exists"),
        (write_mbox, "no/such", "No such file"),
        (write_eml, "there", "File exists"),
        (write_eml, "folder", "not empty"),
        (write_eml, "to empty", "Not a directory"),
        (write_eml, "to empty/", "Not a directory"),
        (write_eml, "to empty/.", "Not a directory"),
        (write_eml, "no\0name", "null byte"),
        (write_mbox, "no\0name", "null byte"),
    ]:
        with pytest.raises(MailError, match=seen) as refusal:
            write([("a", None, HEADERS)], f"{tmp_path}/{name}")
        assert repr(f"{tmp_path}/{name}".rstrip("/."))[:-1] in str(refusal.value) and "Name another target" in str(refusal.value)
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "there").read_bytes() == (tmp_path / "folder" / "mine.txt").read_bytes() == b"precious"


@pytest.mark.parametrize(
    ("envelope", "raw"),
    [
        (b"From x\n\nFrom evil@example.com\nSubject: forged\n\nforged\n", HEADERS),
        (b"From x\n\n", b"Subject: y\n\nhi\nFrom now on\n"),
        (b"", b"From now on\n"),
    ],
)
def test_what_says_that_it_came_from_an_mbox_cannot_become_two_mails(tmp_path, envelope, raw):
    write_mbox([("a", envelope, raw), ("b", None, HEADERS)], tmp_path / "out")
    first, second = split_mbox(tmp_path / "out")
    assert (first.raw.replace(b">From", b"From"), second.raw) == (raw, HEADERS)


def test_half_an_mbox_does_not_stay(tmp_path):
    def items():
        yield "a", None, HEADERS
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_mbox(items(), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_takes_no_more_is_told_and_no_half_stays(tmp_path):
    """Of an mbox nothing; of files the mails that were whole."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(MailError, match="File too large"):
            write_mbox([("a", None, HEADERS)] * 1000, tmp_path / "out")
        with pytest.raises(MailError, match="File too large"):
            write_eml([("a", None, HEADERS), ("b", None, bytes(10_001))], tmp_path / "mails")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.name for path in tmp_path.rglob("*")] == ["mails", "a.eml"]


def test_a_killed_export_has_not_taken_the_name(tmp_path):
    """Whoever finds an mbox of that name finds all of it, and the next export needs no other."""
    endless = f"""
import itertools
from pfspark.edge.mail.writing import write_mbox
write_mbox(itertools.repeat(("a", None, bytes(100_000))), {str(tmp_path / "out")!r})
"""
    with subprocess.Popen([sys.executable, "-c", endless], env=environment()) as child:
        while not any(path.stat().st_size for path in tmp_path.iterdir()):
            assert child.poll() is None
            time.sleep(0.02)
        child.terminate()
    [half] = tmp_path.iterdir()
    assert half.name.startswith(".") and write_mbox([("a", None, HEADERS)], tmp_path / "out") == 1


def test_who_has_the_name_meanwhile_keeps_it(tmp_path, monkeypatch):
    """Also where a disk knows no second names for a file."""

    def items():
        (tmp_path / "out").write_text("mine")
        yield "a", None, HEADERS

    def knows_none(*_, **__):
        raise OSError(errno.EPERM, "Operation not permitted")

    for knows_links in (True, False):
        with pytest.raises(MailError, match="File exists"):
            write_mbox(items(), tmp_path / "out")
        (tmp_path / "out").unlink()
        if knows_links:
            monkeypatch.setattr(os, "link", knows_none)
    assert write_mbox([("a", None, HEADERS)], tmp_path / "out") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["out"] and (tmp_path / "out").read_bytes().endswith(HEADERS + b"\n")


def test_an_export_stays_in_the_folder_that_it_began_in(tmp_path):
    """Whatever becomes of its path meanwhile; and without a name it does not begin."""
    (tmp_path / "mails").mkdir()

    def items():
        (tmp_path / "mails").rename(tmp_path / "moved")
        yield "a", None, HEADERS

    assert write_mbox(items(), tmp_path / "mails" / "out") == 1
    assert [path.name for path in tmp_path.rglob("*")] == ["moved", "out"]

    def none_asked():
        raise AssertionError("nothing is read where nothing can be written")
        yield

    for target in ("", f"{tmp_path}/", f"{tmp_path}/new/", f"{tmp_path}/."):
        with pytest.raises(MailError):
            write_mbox(none_asked(), target)


def test_rows_that_do_not_come_are_no_fault_of_the_target(tmp_path):
    def items():
        yield "a", None, HEADERS
        raise ConnectionResetError("Java has ended")

    with pytest.raises(ConnectionResetError):
        write_mbox(items(), tmp_path / "out")
    with pytest.raises(ConnectionResetError):
        write_eml(items(), tmp_path / "mails")
    assert [path.name for path in tmp_path.rglob("*")] == ["mails", "a.eml"]


def test_an_mbox_that_becomes_shorter_is_not_taken_for_what_is_left(spark, file):
    """Its mails would be left out without a word; of one that grows those that were there are read."""
    file.write_bytes(b"From a\n" + HEADERS + b"\nFrom b\n" + HEADERS)
    found = find([file])
    with file.open("ab") as more:
        more.write(b"\nFrom c\n" + HEADERS)
    assert len(read(spark, found).collect()) == 2
    os.truncate(file, len(HEADERS))
    [row] = read(spark, found).collect()
    assert (row.raw, row.reason) == (None, "unreadable")
    many = ranges_of(found, 20)
    assert len(many) > 1  # also those that end before the file does now: their last mail may be cut
    said = pa.Table.from_batches(parse([as_arrow(many, RANGE)], 1000)).to_pylist()
    assert [(row["raw"], row["reason"]) for row in said] == [(None, "unreadable")] * len(many)


@given(raws=st.lists(MBOXES, min_size=1))
def test_mails_of_files_are_quoted_into_an_mbox_so_that_each_is_one_mail(file, raws):
    file.unlink(missing_ok=True)
    write_mbox((("any", None, raw) for raw in raws), file)
    found = [piece.raw for piece in split_mbox(file)]
    whole = [raw if raw.endswith(b"\n") else raw + b"\n" for raw in raws]
    unquoted = [b"\n".join(line[1:] if line.lstrip(b">").startswith(b"From ") else line for line in raw.split(b"\n"))
                for raw in found]  # fmt: skip
    assert unquoted == whole
    assert by_mailbox(file) == found


def test_a_mail_without_final_newline_stays_one_mail_when_another_follows(file):
    file.unlink(missing_ok=True)
    write_mbox([("a", b"From a\n", b"no end"), ("b", b"From b\n", b"y"), ("c", None, b"z")], file)
    assert [piece.raw for piece in split_mbox(file)] == [b"no end\n", b"y\n", b"z\n"]


# --- the mail of the demo ---


def test_the_mail_of_the_demo_reads_well(spark):
    found = read(spark, find([DEMO])).orderBy("position").collect()
    assert len(found) == 24
    assert {row.reason for row in found} == {None}
    assert all(1024 <= row.size <= 6 * 1024 for row in found)
    assert {row.sent_at.date().isoformat() for row in found} == {"2026-01-05"}
    assert [row.sent_at for row in found] == sorted(row.sent_at for row in found)
    assert all(re.fullmatch(r"[\w ]+ <[a-z.]+@example\.com>", row.sender) for row in found)
    ids = [row.message_id for row in found]
    answers = [row for row in found if row.in_reply_to]
    assert len(set(ids)) == 24 and len(answers) == 16
    assert all(row.in_reply_to in ids[: ids.index(row.message_id)] for row in answers)
    assert "Salon de la randonnée : notre stand, du 20 au 22 mars" in [row.subject for row in found]


def test_the_attachments_of_the_demo_open():
    mails = [email.message_from_bytes(piece.raw) for piece in split_mbox(DEMO)]
    attached = {part.get_filename(): part for mail in mails for part in mail.walk() if part.get_filename()}
    plan = attached["arrival-plan.csv"].get_payload(decode=True).decode()
    assert {len(line) for line in csv.reader(plan.splitlines())} == {6}
    assert attached["tern-icon.png"].get_payload(decode=True).startswith(b"\x89PNG")
    assert not {part.get_content_type() for mail in mails for part in mail.walk() if part.defects}
