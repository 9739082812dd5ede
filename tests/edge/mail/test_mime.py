"""What is derived from one mail, and that nothing in a mail stops or delays it."""

from __future__ import annotations

import email
import random
import time
from datetime import UTC, datetime
from email.policy import compat32

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pfspark.edge.mail import mime
from pfspark.edge.mail.mime import KIB, MIB, Derived, Reason, derive
from tests.edge.mailbox import HEAVY, SORTS


@pytest.mark.parametrize("sort", SORTS, ids=lambda sort: sort.__name__)
def test_every_sort_of_letter_says_what_it_must(sort):
    draw = random.Random(5)
    for number in range(3 if sort in HEAVY else 100):
        letter = sort(number, draw)
        assert derive(letter.raw)._replace(sender=None) == Derived(
            subject=letter.subject,
            sent_at=letter.sent_at,
            message_id=letter.message_id,
            in_reply_to=letter.in_reply_to,
            reason=letter.reason,
        )


@pytest.mark.parametrize(
    ("header", "sender"),
    [
        (b"From: Jean <jean@example.com>", "Jean <jean@example.com>"),
        (b"FROM:jean@example.com", "jean@example.com"),
        (b"From: =?utf-8?q?Zo=C3=A9?= <zoe@example.com>", "Zoé <zoe@example.com>"),
        (b"From: Ren\xe9 <r@example.com>", "René <r@example.com>"),
        (b"From:", ""),
        (b"Sender: jean@example.com", None),
    ],
)
def test_the_sender_is_what_people_read(header, sender):
    assert derive(header + b"\n\n").sender == sender


@pytest.mark.parametrize(
    ("subject", "told"),
    [
        (rb"=?utf-8?q?caf=C3=A9?= C:\users\x", r"café C:\users\x"),
        (rb"\u0041 =?utf-8?b?w6k=?= \n \\", r"\u0041 é \n \\"),
        ("Zoé =?utf-8?q?=C3=A9?= 日本 \\u".encode(), r"Zoé é 日本 \u"),
        (rb"=?utf-8?q?caf=C3=A9 C:\users", r"=?utf-8?q?caf=C3=A9 C:\users"),
        (rb"=?utf-8?b?w6k?= C:\u", r"é C:\u"),
        (rb"=?utf-8?q?=5Cusers?=", r"\users"),
    ],
)
def test_what_lies_beside_encoded_words_stays_as_it_is(subject, told):
    assert derive(b"Subject: " + subject + b"\n\n").subject == told


@pytest.mark.parametrize(
    ("date", "sent_at"),
    [
        (b"Mon, 5 Jan 2026 10:00:00 +0100", datetime(2026, 1, 5, 9, tzinfo=UTC)),
        (b"5 Jan 26 09:00 GMT (afternoon)", datetime(2026, 1, 5, 9, tzinfo=UTC)),
        (b"Mon, 05 Jan 2026 09:00:00 -0000", datetime(2026, 1, 5, 9, tzinfo=UTC)),
        (b"Wed, 31 Dec 1969 23:59:59 +0000", None),
        (b"Wed, 1 Jan 2200 00:00:00 +0000", None),
    ],
)
def test_times_are_utc_and_from_the_age_of_mail(date, sent_at):
    assert derive(b"Date: " + date + b"\n\n").sent_at == sent_at


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (b"<a@example.com>", "<a@example.com>"),
        (b"Your mail of Monday <a@example.com>\n <b@example.com>", "<a@example.com>"),
        (b"a@example.com", "a@example.com"),
        (b"", None),
    ],
)
def test_of_ids_the_first_counts(value, told):
    assert derive(b"In-Reply-To: " + value + b"\n\n").in_reply_to == told


CAPS = {
    "size": (mime.MAIL_BYTES, lambda size: b"Subject: x\n\n".ljust(size, b"x"), Reason.TOO_LARGE),
    "headers": (100 * KIB, lambda size: b"Subject: x\nX: ".ljust(size, b"x"), Reason.HEADERS_TOO_LONG),
}


@pytest.mark.parametrize(("cap", "made", "reason"), list(CAPS.values()), ids=list(CAPS))
def test_a_cap_is_met_by_one_byte_more(cap, made, reason):
    assert derive(made(cap)).reason is None
    assert derive(made(cap + 1)).reason == reason
    assert derive(made(cap + 1)).subject == "x"


def test_the_caps_are_those_of_the_promises():
    assert (mime.MAIL_BYTES, mime.LEVELS, mime.PARTS, mime.HEADER_BYTES) == (25 * 2**20, 100, 1000, 100 * 2**10)


# --- the walk over the parts, against the standard library's tree ---


def part(inside: tuple[str, list[bytes]], number: int) -> bytes:
    kind, parts = inside
    if kind == "message":
        return b"Content-Type: message/rfc822\n\nX: y\n" + parts[0]
    between = f"{kind}={number}".encode()
    body = b"".join(b"--%s\n%s\n" % (between, each) for each in parts)
    return b'Content-Type: multipart/%s;\n boundary="%s"\n\n%s--%s--\n' % (kind.encode(), between, body, between)


LEAVES = st.sampled_from([b"Content-Type: text/plain\n\nx\n", b"\nno headers\n--\n-- \nxx\n", b"X: y", b"", b"\n\n--9"])
TREES = st.recursive(
    LEAVES,
    lambda inner: st.builds(
        part,
        st.tuples(st.sampled_from(["mixed", "alternative", "digest", "message"]), st.lists(inner, min_size=1, max_size=4)),
        st.integers(0, 10**9),
    ),
    max_leaves=30,
)


def tree_of(message: email.message.Message, level: int = 1) -> list[int]:
    """The level of every part, as the standard library sees them."""
    inner = message.get_payload() if message.is_multipart() else []
    return [level, *(deeper for each in inner for deeper in tree_of(each, level + 1))]


@example(b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nx\n--b--\nepilogue\n--b\n\nno part\n", False)
@example(b'Content-Type: MULTIPART/Mixed; BOUNDARY = "b b"; x\n\n--b b  \n\n--b\n\n--b b-- \n', False)
@example(b'Content-Type: multipart/mixed; x-boundary=z; name="boundary=z"; boundary=b\n\n--b\n\nx\n--b--\n', False)
@example(b"Content-Type: multipart/mixed; boundary*=utf-8''b\n\n--b\n\nx\n--b--\n", False)
@example(b"Content-Type: multipart/mixed; boundary*0=b; boundary*1=c\n\n--bc\n\nx\n--bc--\n", False)
@example(b'Content-Type: multipart/mixed; boundary="b\\"c"\n\n--b"c\n\nx\n--b"c--\n', False)
@given(TREES, st.booleans())
def test_the_walk_counts_parts_and_levels_as_the_standard_library_does(mail, crlf):
    raw = b"Subject: x\n" + mail
    raw = raw.replace(b"\n", b"\r\n") if crlf else raw
    levels = tree_of(email.message_from_bytes(raw, policy=compat32))
    with pytest.MonkeyPatch.context() as patch:
        for parts, deepest, reason in [
            (len(levels), max(levels), None),
            (len(levels) - 1, max(levels), Reason.TOO_MANY_PARTS),
            (len(levels), max(levels) - 1, Reason.TOO_DEEP),
        ]:
            patch.setattr(mime, "PARTS", parts)
            patch.setattr(mime, "LEVELS", deepest)
            assert derive(raw).reason == reason


# --- nothing fails, nothing hangs ---

WORDS = b"Subject Date From Content-Type multipart/mixed message/rfc822 boundary=b --b -- utf-8 =? ?q? ?=".split()
SIGNS = [b":", b";", b"\n", b"\r\n", b"\r", b" ", b"\t", b"\n\n", b'"', b"<", b">", b"\0", b"\xff"]


@example(b"Subject: =?us-ascii?q?x?= \\ud800\n\n")
@given(st.one_of(st.binary(), st.lists(st.sampled_from(WORDS + SIGNS)).map(b"".join)))
def test_whatever_the_bytes_are_there_is_an_answer_that_utf_8_can_hold(raw):
    derived = derive(raw)
    assert derived.reason != Reason.UNPARSABLE
    for text in (derived.subject, derived.sender, derived.message_id, derived.in_reply_to):
        assert text is None or text.encode("utf-8").decode("utf-8") == text


def test_a_charset_that_warns_is_decoded_without_a_word():
    assert derive(b"Subject: =?unicode_escape?q?=5Cd?=\nFrom: a\n\n")[:2] == ("\\d", "a")


def test_what_the_parser_itself_cannot_bear_is_one_mail_set_aside(monkeypatch):
    monkeypatch.setattr(mime, "_structure", lambda raw: [].pop())
    assert derive(b"Subject: x\n\n") == Derived(reason=Reason.UNPARSABLE)


TOP = b"Content-Type: multipart/mixed; boundary=b\n\n"
SLOW = {
    "parts": TOP + b"--b\n\nx\n" * 3_000_000,
    "closed parts": TOP + b"--b--\n" * 2_000_000,
    "lines like boundaries": TOP + b"--\n" * 4_000_000,
    "empty lines": TOP + b"\n" * (24 * MIB),
    "one line": TOP + b"-" * (24 * MIB),
    "depth": b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (i, i) for i in range(100_000)),
    "forwards": b"Content-Type: message/rfc822\n\n" * 500_000,
    "boundaries": (TOP + b"--b\nContent-Type: multipart/x; " + b'boundary="' * 9000 + b"\n\n") * 250,
    "parameters": b'Content-Type: multipart/mixed; boundary="' + b";" * (99 * KIB) + b"\n\n",
    "words": b"Subject: " + b"=?a?q?" * (16 * KIB) + b"\n\n",
    "comments": b"Date: " + b"(" * (99 * KIB) + b"\n\n",
    "angles": b"Message-ID: " + b"<" * (99 * KIB) + b"\n\n",
    "folds": b"Subject: x\n" + b" \n" * (49 * KIB) + b"\n",
    "names": b"a:\n" * (33 * KIB) + b"\n",
}


@pytest.mark.parametrize("raw", list(SLOW.values()), ids=list(SLOW))
def test_no_mail_takes_more_than_seconds(raw):
    begun = time.process_time()
    derive(raw)
    assert time.process_time() - begun < 10
