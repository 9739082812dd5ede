"""What one mail says of itself in its headers, and whether it is within bounds.

Only headers are parsed, at most 100 KiB of them, with the standard library; the parts of a mail are walked in one pass
that builds nothing. So the work is linear in the bytes, whatever they are, and whatever they are there is an answer.
"""

from __future__ import annotations

import re
import warnings
from datetime import UTC, datetime
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.parser import BytesHeaderParser
from email.policy import compat32  # policy.default fails on `Message-ID: <[..@example.com]>` and on `To: (c):`
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import NamedTuple

KIB, MIB = 2**10, 2**20

# The caps of the promises: what is beyond them is kept whole, with a reason, and not parsed further.
MAIL_BYTES = 25 * MIB
HEADER_BYTES = 100 * KIB
PARTS = 1000
LEVELS = 100

# Derived texts end here, so that decoding an encoded word that never ends stays cheap; the raw bytes have them whole.
TEXT_CHARS = 4096
# Nobody mailed earlier; later times do not fit the nanoseconds of pandas.
YEARS = range(1970, 2200)


class Reason(StrEnum):
    """Why a mail could not be parsed, or not wholly."""

    TOO_LARGE = "too_large"
    HEADERS_TOO_LONG = "headers_too_long"
    NO_HEADERS = "no_headers"
    TOO_MANY_PARTS = "too_many_parts"
    TOO_DEEP = "too_deep"
    UNPARSABLE = "unparsable"
    TOO_LARGE_TO_KEEP = "too_large_to_keep"
    """`raw` is null: more than KEPT_BYTES do not travel in one row."""
    UNREADABLE = "unreadable"
    """`raw` is null: a link, no plain file, gone meanwhile, or not ours to read."""


class Derived(NamedTuple):
    """What the headers of a mail say; null where a header is missing or says nothing that can be understood."""

    subject: str | None = None
    sender: str | None = None
    sent_at: datetime | None = None
    message_id: str | None = None
    in_reply_to: str | None = None
    reason: Reason | None = None


HEAD_END = re.compile(rb"\r\r\n?|^(?:\r?\n|\r|--)", re.M)  # an empty line, or a boundary that comes before one
CONTENT_TYPE = re.compile(rb"^content-type[ \t]*:[ \t\r\n]*([^\s;]*).*(?:\n[ \t].*)*", re.I | re.M)
ENCODED_WORD = re.compile(r"(=\?[^?]*\?[qQbB]\?.*?\?=)")
FOLD = re.compile(r"[\r\n]+[ \t]*")
MESSAGE_ID = re.compile(r"<[^<>\s]+>")


def derive(raw: bytes) -> Derived:
    """What the headers of one mail say, and why it could not be parsed, if so.

    Of repeated headers the first counts. Texts are unfolded, decoded (RFC 2047; stray 8-bit as UTF-8, else as Windows
    Latin) and cut at TEXT_CHARS; times are UTC. Never raises.

    >>> derive(b"Subject: =?utf-8?q?Lancement_=C3=A0_Paris?=\\r\\nMessage-ID: <1@example.com>\\r\\n\\r\\nBonjour")[:4]
    ('Lancement à Paris', None, None, '<1@example.com>')
    """
    try:
        return _derive(raw)
    except Exception:  # whatever a mail does to the parser, it is one mail that is set aside, not the job that fails
        return Derived(reason=Reason.UNPARSABLE)


def _derive(raw: bytes) -> Derived:
    end = HEAD_END.search(raw, 0, HEADER_BYTES)
    whole = end is not None or len(raw) <= HEADER_BYTES
    last_line = len(raw) if whole else raw.rfind(b"\n", 0, HEADER_BYTES) + 1 or HEADER_BYTES
    head = raw[: end.start() if end else last_line]
    headers: dict[str, str] = {}
    for name, value in BytesHeaderParser(policy=compat32).parsebytes(head).raw_items():
        headers.setdefault(name.lower(), value)
    if len(raw) > MAIL_BYTES:
        reason: Reason | None = Reason.TOO_LARGE
    elif not headers:
        reason = Reason.NO_HEADERS
    else:
        reason = _structure(raw) if whole else Reason.HEADERS_TOO_LONG
    return Derived(
        _text(headers.get("subject")),
        _text(headers.get("from")),
        _time(headers.get("date")),
        _id(headers.get("message-id")),
        _id(headers.get("in-reply-to")),
        reason,
    )


def _structure(raw: bytes) -> Reason | None:
    """Walks the parts of a mail in order, in time linear in its bytes, and says which cap it breaks first.

    Nothing is built: the standard parser needs seconds for 50,000 parts, and the square of the depth for nested ones.
    """
    # The open ones, outermost first: of a multipart the line between its parts, of a forwarded mail its place; each with
    # what its parts are that do not say it.
    containers: dict[bytes | int, bytes] = {}
    parts = at = 0
    while at >= 0:
        parts += 1
        if parts > PARTS:
            return Reason.TOO_MANY_PARTS
        if len(containers) >= LEVELS:
            return Reason.TOO_DEEP
        end = HEAD_END.search(raw, at, at + HEADER_BYTES)
        if end is None and len(raw) - at > HEADER_BYTES:
            return Reason.HEADERS_TOO_LONG
        body = len(raw) if end is None else end.start() if end[0] == b"--" else end.end()
        kind, between = _content_type(raw[at : end.start() if end else body])
        if not kind and containers:
            kind = containers[next(reversed(containers))]
        if kind.startswith(b"message/"):
            containers[at] = b""
            at = body
            continue
        if kind.startswith(b"multipart/") and between:
            containers[b"--" + between] = b"message/rfc822" if kind == b"multipart/digest" else b""
        at = _next_part(raw, body, containers)
    return None


def _content_type(head: bytes) -> tuple[bytes, bytes]:
    """The content type in lower case, and the boundary; empty where there is none."""
    found = CONTENT_TYPE.search(head)
    if found is None:
        return b"", b""
    kind = found[1].lower()
    if not kind.startswith(b"multipart/"):
        return kind, b""
    told = Message(compat32)
    told["Content-Type"] = found[0][:TEXT_CHARS].decode("latin-1").partition(":")[2].strip()
    return kind, (told.get_boundary() or "").encode("latin-1", "replace")


def _next_part(raw: bytes, at: int, containers: dict[bytes | int, bytes]) -> int:
    """Where the next part's headers begin, or −1; closes the containers that end before it."""
    at = raw.find(b"\n--", max(at - 1, 0)) if containers else -1
    while at >= 0:
        line_end = raw.find(b"\n", at + 1)
        line = raw[at + 1 : line_end if line_end >= 0 else len(raw)].rstrip()
        closes = line not in containers and line.endswith(b"--") and line[:-2] in containers
        if closes or line in containers:
            this = line[:-2] if closes else line
            while next(reversed(containers)) != this:
                containers.popitem()
            if not closes:
                return line_end + 1 if line_end >= 0 else len(raw)
            containers.popitem()
        at = raw.find(b"\n--", line_end) if line_end >= 0 else -1
    return -1


def _text(value: str | None) -> str | None:
    """A header as people read it; always text that UTF-8 can hold."""
    if value is None:
        return None
    octets = value.encode("ascii", "surrogateescape")
    try:
        text = octets.decode("utf-8")
    except UnicodeDecodeError:
        text = octets.decode("cp1252", "replace")
    text = FOLD.sub(" ", text).strip()[:TEXT_CHARS]
    if "=?" in text:
        text = _decoded(text)
    return text.encode("utf-8", "replace").decode("utf-8")


def _decoded(text: str) -> str:
    """With its encoded words decoded; what lies between them is as it stands, also a backslash, which `decode_header` hands on
    in a form in which it begins an escape."""
    parts = ENCODED_WORD.split(text)
    escaped = "".join(part if place % 2 else part.replace("\\", r"\u005c") for place, part in enumerate(parts))
    try:
        chunks = decode_header(escaped) if len(parts) > 1 else [(text, None)]
    except HeaderParseError:
        return text
    return "".join(chunk if isinstance(chunk, str) else _in_charset(chunk, charset) for chunk, charset in chunks)


def _in_charset(chunk: bytes, charset: str | None) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some codecs warn of what they find; it is somebody's mail, not our program
        try:
            return chunk.decode(charset or "raw-unicode-escape", "replace")  # the form decode_header gives plain text in
        except (LookupError, ValueError):
            return chunk.decode("utf-8", "replace")


def _time(value: str | None) -> datetime | None:
    try:
        told = parsedate_to_datetime((value or "")[:TEXT_CHARS])
        time = told.replace(tzinfo=told.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return time if time.year in YEARS else None


def _id(value: str | None) -> str | None:
    """The first `<…>` of the header, else its text; null if it is empty."""
    text = _text(value)
    found = MESSAGE_ID.search(text or "")
    return found[0] if found else text or None
