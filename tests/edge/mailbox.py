"""A seeded generator of mail as it comes from outside, most of it wrong in some way, and the files it comes in."""

from __future__ import annotations

import base64
import os
import random
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import ANY

START = datetime(2026, 1, 5, tzinfo=UTC)
LINE = b"From jean@example.com Mon Jan  5 09:00:00 2026"


class Letter(NamedTuple):
    """A mail, what sort it is, and what must be derived from it: None where nothing can, ANY where nobody can say."""

    sort: str
    raw: bytes
    subject: Any
    sent_at: datetime | None = None
    message_id: str | None = None
    in_reply_to: str | None = None
    reason: str | None = None


def letters(count: int, seed: int = 5) -> Iterator[Letter]:
    """So many mails, each of a sort drawn at random; if there are enough, every sort is among them."""
    draw = random.Random(seed)
    for number in range(count):
        sort = SORTS[number] if number < len(SORTS) else draw.choice(LIGHT)
        yield sort(number, draw)


def _letter(
    sort: str,
    number: int,
    *,
    subject: bytes | None = None,
    shown: Any = None,
    more: bytes = b"",
    body: bytes = b"Bonjour,\nall is well.\n",
    end: bytes = b"\n",
    reason: str | None = None,
) -> Letter:
    """A letter with the usual headers around an unusual thing."""
    time = START + timedelta(minutes=7 * number)
    title = b"Letter %d" % number if subject is None else subject
    lines = [
        b"From: Jean <jean@example.com>",
        b"Subject: " + title,
        b"Date: " + time.strftime("%a, %d %b %Y %H:%M:%S +0000").encode(),
        b"Message-ID: <%d@example.com>" % number,
        b"In-Reply-To: <%d@example.com>" % (number // 2),
    ]
    raw = end.join(lines) + end + more + end + body.replace(b"\n", end)
    told = title.decode() if shown is None else shown
    return Letter(sort, raw, told, time, f"<{number}@example.com>", f"<{number // 2}@example.com>", reason)


def _prose(draw: random.Random, lines: int) -> bytes:
    words = ["sale", "Paris", "from", "From", "été", "launch", "=20", "--", "tent"]
    return "".join(" ".join(draw.choices(words, k=draw.randrange(12))) + "\n" for _ in range(lines)).encode()


def _parts(depth: int, width: int, draw: random.Random) -> bytes:
    """A part with its headers: a multipart, a forwarded mail or a leaf; boundaries may repeat in sisters only."""
    if depth == 0:
        return b"Content-Type: text/plain\n\n" + _prose(draw, 2)
    if draw.random() < 0.3:
        return b"Content-Type: message/rfc822\n\nSubject: inner\n" + _parts(depth - 1, width, draw)
    between = b"=_%d.%d" % (depth, draw.randrange(10))
    inside = b"".join(b"--%s\n%s\n" % (between, _parts(depth - 1, width, draw)) for _ in range(width))
    head = b'Content-Type: multipart/mixed;\n\tboundary="%s"\n\npreamble\n' % between
    return head + inside + b"--%s--\nepilogue\n" % between


def _nested(depth: int) -> bytes:
    head = b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n"
    return b"".join(head % (level, level) for level in range(depth)) + b"\ninnermost\n"


def plain(number: int, draw: random.Random) -> Letter:
    return _letter("plain", number, body=_prose(draw, draw.randrange(30)))


def crlf(number: int, draw: random.Random) -> Letter:
    return _letter("crlf", number, body=_prose(draw, 5), end=b"\r\n")


def old_mac(number: int, draw: random.Random) -> Letter:
    return _letter("old_mac", number, body=b"short\n", end=b"\r")


def folded(number: int, draw: random.Random) -> Letter:
    return _letter("folded", number, subject=b"a long\n subject\n\tin three", shown="a long subject in three")


def encoded(number: int, draw: random.Random) -> Letter:
    shown = f"Début n° {number} — 発売"
    words = base64.b64encode(shown.encode())
    half = len(words) // 8 * 4
    split = b"=?UTF-8?B?%s?=\n =?utf-8?b?%s?=" % (words[:half], words[half:])
    latin = b"=?iso-8859-1?Q?D=E9but_?=%d" % number
    japanese = b"=?iso-2022-jp?b?%s?=" % base64.b64encode("発売".encode("iso-2022-jp"))
    subject, shown = draw.choice([(split, shown), (latin, f"Début {number}"), (japanese, "発売")])
    return _letter("encoded", number, subject=subject, shown=shown)


def nonsense(number: int, draw: random.Random) -> Letter:
    """Encoded words that are none, or in no charset."""
    subject, shown = draw.choice([
        (b"=?utf-8?b?abc?=", "i\ufffd"),
        (b"=?utf-8?b?a?=", "=?utf-8?b?a?="),
        (b"=?x-unknown?q?caf=C3=A9?=", "café"),
        (b"=?zip?b?eJwDAAAAAAE=?=", "x\ufffd\x03\0\0\0\0\x01"),
        (b"=?utf-16-be?q?=D8=00?=", "\ufffd"),
        (b"=?idna?q?=ff?=", "\ufffd"),
        (b"=?utf-8?q?no end", "=?utf-8?q?no end"),
        (b"=?us-ascii?q?=00=1b[2J?=", "\0\x1b[2J"),
    ])  # fmt: skip
    return _letter("nonsense", number, subject=subject, shown=shown)


def eight_bit(number: int, draw: random.Random) -> Letter:
    codec = draw.choice(["utf-8", "cp1252"])
    return _letter("eight_bit", number, subject="réunion à 9 h".encode(codec), shown="réunion à 9 h")


def hostile(number: int, draw: random.Random) -> Letter:
    """Names that want to be formulas, paths, commands, or to be read from the right."""
    name = draw.choice(["=cmd|'/c calc'!A1", "../../etc/passwd", "'; DROP TABLE x; --", "\u202etxt.exe", "<script>"])
    more = b'Content-Type: text/plain; name="%s"\nContent-Disposition: attachment\n' % name.encode()
    return _letter("hostile", number, subject=name.encode(), more=more)


def endless(number: int, draw: random.Random) -> Letter:
    return _letter("endless", number, subject=b"=?a?q?" * 16_000, shown=ANY)


def trap_message_id(number: int, draw: random.Random) -> Letter:
    raw = b"Message-ID: <[..@example.com]>\nIn-Reply-To: <[\nSubject: trap\n\n"
    return Letter("trap_message_id", raw, "trap", None, "<[..@example.com]>", "<[")


def trap_to(number: int, draw: random.Random) -> Letter:
    return _letter("trap_to", number, more=b"To: (c):\nCc: =?utf-8?q?\nReply-To: <<<>>\n")


def wrong_date(number: int, draw: random.Random) -> Letter:
    date = draw.choice([
        b"yesterday", b"", b"Mon, 32 Jan 2026 09:00:00 +0000", b"Mon, 5 Jan 99999999999999999999 9:00 +0000",
        b"5 Jan 2026 10:00:00 +999999", b"1 Jan 1000 00:00:00 +1400", b"31 Dec 9999 23:59:59 -1200", b"\xff\xfe",
        b"Mon, 5 Jan 2026 99999999999999999999:00:00 +0000", b"1 Jan 1300 00:00:00 +0000",
    ])  # fmt: skip
    return Letter("wrong_date", b"Subject: when\nDate: %s\n\nx\n" % date, "when")


def repeated_headers(number: int, draw: random.Random) -> Letter:
    more = b"Subject: second\nDate: Tue, 6 Jan 2026 00:00:00 +0000\nMessage-ID: <second@example.com>\n"
    return _letter("repeated_headers", number, more=more)


def same_message_id(number: int, draw: random.Random) -> Letter:
    raw = b"Message-ID: <same@example.com>\nSubject: copy %d\n\n" % number
    return Letter("same_message_id", raw, f"copy {number}", None, "<same@example.com>")


def same_bytes(number: int, draw: random.Random) -> Letter:
    return Letter("same_bytes", b"Subject: twice\nMessage-ID: <twice@example.com>\n\nthe very same\n", "twice", None,
                  "<twice@example.com>")  # fmt: skip


def from_lines(number: int, draw: random.Random) -> Letter:
    body = b"x\n\n>From the start\n>>From a to b\nFrom here on\n From there\nFrom\nFROM x\n\nFrom you"
    return _letter("from_lines", number, body=body + b"\n" * draw.randrange(3))


def blank_ends(number: int, draw: random.Random) -> Letter:
    return _letter("blank_ends", number, body=b"\n" * draw.randrange(6) + b"\r\n" * draw.randrange(3))


def mixed_ends(number: int, draw: random.Random) -> Letter:
    body = b"".join(b"line" + draw.choice([b"\n", b"\r\n", b"\r", b"\n\n", b"\r\n\r\n"]) for _ in range(9))
    return _letter("mixed_ends", number, body=body)


def nul_bytes(number: int, draw: random.Random) -> Letter:
    return _letter("nul_bytes", number, subject=b"a\0b", body=bytes(draw.randrange(3) for _ in range(90)) + b"\n")


def garbage(number: int, draw: random.Random) -> Letter:
    raw = b"\x89PNG\r\n\x1a\n" + draw.randbytes(draw.randrange(2000)).replace(b"From ", b"")
    return Letter("garbage", raw, None, reason="no_headers")


def empty(number: int, draw: random.Random) -> Letter:
    return Letter("empty", b"", None, reason="no_headers")


def body_only(number: int, draw: random.Random) -> Letter:
    raw = draw.choice([b"\nSubject: too late\n", b"no header here\n\nSubject: no\n", b"\n", b": nameless\n\n"])
    return Letter("body_only", raw, None, reason="no_headers")


def headers_only(number: int, draw: random.Random) -> Letter:
    whole = _letter("headers_only", number, body=b"")
    return whole._replace(raw=whole.raw.rstrip(b"\n"))


def multipart(number: int, draw: random.Random) -> Letter:
    return Letter("multipart", b"Subject: parts\n" + _parts(3, 3, draw), "parts")


def broken_multipart(number: int, draw: random.Random) -> Letter:
    head = b"Content-Type: multipart/mixed; boundary"
    body = draw.choice([b"", b"--b", b"--b--\n--b\n", b"--b\n" * 9, b"--c\n\nx\n", b"--b\n%s=b\n\n--b\n" % head])
    more = head + draw.choice([b"", b"=b", b'="b', b"=", b"*0=b", b"=\xff\0"]) + b"\n"
    return _letter("broken_multipart", number, more=more, body=body + b"\n")


def bounces(number: int, draw: random.Random) -> Letter:
    more = b"Content-Type: message/delivery-status\n"
    return _letter("bounces", number, more=more, body=b"Status: 5.0.0\n\n" * 3)


def long_line(number: int, draw: random.Random) -> Letter:
    return _letter("long_line", number, body=b"x" * 300_000 + b"\n")


def many_parts(number: int, draw: random.Random) -> Letter:
    more = b"Content-Type: multipart/mixed; boundary=b\n"
    return _letter("many_parts", number, more=more, body=b"--b\n\nx\n" * 50_000 + b"--b--\n", reason="too_many_parts")


def many_parts_allowed(number: int, draw: random.Random) -> Letter:
    more = b"Content-Type: multipart/mixed; boundary=b\n"
    return _letter("many_parts_allowed", number, more=more, body=b"--b\n\nx\n" * 999 + b"--b--\n")


def deep(number: int, draw: random.Random) -> Letter:
    return Letter("deep", b"Subject: deep\n" + _nested(5000), "deep", reason="too_deep")


def deep_allowed(number: int, draw: random.Random) -> Letter:
    return Letter("deep_allowed", b"Subject: not so deep\n" + _nested(99), "not so deep")


def forwarded_deep(number: int, draw: random.Random) -> Letter:
    raw = b"Subject: Fwd\n" + b"Content-Type: message/rfc822\n\n" * 5000 + b"Subject: first\n\n"
    return Letter("forwarded_deep", raw, "Fwd", reason="too_deep")


def long_headers(number: int, draw: random.Random) -> Letter:
    more = b"".join(b"X-%d: %s\n" % (line, b"y" * 60) for line in range(2000))
    return _letter("long_headers", number, more=more, reason="headers_too_long")


def long_header(number: int, draw: random.Random) -> Letter:
    return Letter("long_header", b"Subject: " + b"z" * 200_000 + b"\n\n", "z" * 4096, reason="headers_too_long")


def long_headers_inside(number: int, draw: random.Random) -> Letter:
    more = b"Content-Type: multipart/mixed; boundary=b\n"
    body = b"--b\nContent-Type: multipart/mixed; " + b'boundary="' * 30_000 + b"\n\n--b--\n"
    return _letter("long_headers_inside", number, more=more, body=body, reason="headers_too_long")


def large(number: int, draw: random.Random) -> Letter:
    return _letter("large", number, body=(b"%076d\n" % number) * 360_000, reason="too_large")


SORTS: list[Callable[[int, random.Random], Letter]] = [
    plain, crlf, old_mac, folded, encoded, nonsense, eight_bit, hostile, endless, trap_message_id, trap_to, wrong_date,
    repeated_headers, same_message_id, same_bytes, from_lines, blank_ends, mixed_ends, nul_bytes, garbage, empty,
    body_only, headers_only, multipart, broken_multipart, bounces, long_line, many_parts, many_parts_allowed, deep,
    deep_allowed, forwarded_deep, long_headers, long_header, long_headers_inside, large,
]  # fmt: skip
HEAVY = {endless, long_line, many_parts, deep, forwarded_deep, long_headers, long_header, long_headers_inside, large}
LIGHT = [sort for sort in SORTS if sort not in HEAVY]


def in_mbox(raw: bytes) -> bytes:
    """The mail as an mbox can hold it: `From ` quoted once, a newline at the end. This is what an import must find."""
    quoted = (b"\n" + raw).replace(b"\nFrom ", b"\n>From ")[1:]
    return quoted if quoted.endswith(b"\n") or not quoted else quoted + b"\n"


def write_mbox(path: Path, raws: Iterable[bytes], seed: int = 5) -> None:
    """An mbox as many programs together would have left it: LF and CRLF, with blank lines between mails or without.

    A mail that ends in a blank line always gets another, as it could not be told from the separator.
    """
    draw = random.Random(seed)
    with path.open("wb") as file:
        for raw in raws:
            end = draw.choice([b"\n", b"\r\n"])
            ends_blank = (b"\n" + raw).endswith((b"\n\n", b"\n" + end))
            file.write(LINE + end + raw + (end if ends_blank or draw.random() < 0.8 else b""))


FILE_NAMES = [
    b"-rf",
    b"=1+1",
    b" ",
    b"\xff\xfe",
    "発売".encode(),
    b"a\nb",
    b"'; --",
    b"%2F",
    b"x" * 200,
    b"\xe2\x80\xaeeml",
]


def write_folder(folder: Path, raws: Iterable[bytes]) -> list[bytes]:
    """Each mail as an .eml file, some with names nobody would choose; the paths."""
    folder.mkdir()
    paths = []
    for number, raw in enumerate(raws):
        name = b"%05d%s.eml" % (number, FILE_NAMES[number % 50] if number % 50 < len(FILE_NAMES) else b"")
        paths.append(os.path.join(os.fsencode(folder), name))
        with open(paths[-1], "wb") as file:
            file.write(raw)
    return paths


def write_maildir(folder: Path, raws: Iterable[bytes]) -> None:
    """A Maildir: what was read in `cur` with its flags, the rest in `new`; the order of arrival is in the names."""
    for part in ("cur", "new", "tmp"):
        (folder / part).mkdir(parents=True)
    for number, raw in enumerate(raws):
        name = f"{1767600000 + number}.M{number}P1.host"
        (folder / ("cur" if number % 3 else "new") / (f"{name}:2,RS" if number % 3 else name)).write_bytes(raw)
