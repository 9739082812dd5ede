"""Mails as what is posted of them: bodies, and edits that say what their headers say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pfspark.rows import rows_of
from pfspark.words import Action

if TYPE_CHECKING:
    from pyspark.sql import Column

ENVELOPE = "envelope"
"""The property that keeps an imported item's own mbox line: items with equal bodies share a row of `content`."""
HEADERS = {
    "subject": "subject",
    "from": "sender",
    "message-id": "message_id",
    "in-reply-to": "in_reply_to",
    "unparsed": "reason",
}
"""What becomes properties of an item, and of which column of its mail; `unparsed`: why it was kept as it is (`mime.Reason`)."""


class Import(NamedTuple):
    """What the edits of an import have in common.

    `begins`: the place of each source's first byte. They lie end to end, a nanosecond a byte, so that what is done after the
    import stands behind it.
    """

    org: str
    store: str
    folder: str
    at: datetime
    begins: tuple[int, ...]
    written: datetime


def edit_id(folder: Column | str, sha256: Column | str, occurrence: Column | str) -> Column:
    """The name of the edit that posts a mail into a folder, `mail:<folder>:<sha256>:<occurrence>`; null without bytes.

    It depends on nothing but the folder, the bytes, and how often they occurred before. So importing a file again adds
    nothing, and one that has grown adds what is new; the same mail twice in one import is two items.
    """
    from pyspark.sql import functions as F

    return F.concat(F.lit("mail:"), folder, F.lit(":"), sha256, F.lit(":"), occurrence)


def edit_ids(folder: str, mails: pa.Table, back: int = 0) -> list[str | None]:
    """What `edit_id` says, of rows that are here, or of as many occurrences of the same bytes `back`."""
    named = zip(mails["sha256"].to_pylist(), pc.subtract(mails["occurrence"], back).to_pylist(), strict=True)
    return [None if sha256 is None else f"mail:{folder}:{sha256}:{occurrence}" for sha256, occurrence in named]


def bodies(mails: pa.Table, written: datetime) -> pa.Table:
    """The rows of `content` of mails that are new: equal bytes are kept once, with the first of them that is (`is_first`). They
    come anew where earlier ones were posted before, whose body may have been let go of since."""
    first = mails.filter(mails["is_first"]).select(["sha256", "raw", "envelope", "size"])
    at = pa.repeat(pa.scalar(written, pa.timestamp("us", "UTC")), first.num_rows)
    return first.rename_columns(["hash", "body", "envelope", "size"]).append_column("at", at)


def edits(batches: Iterable[pa.RecordBatch], told: Import) -> Iterator[pa.RecordBatch]:
    """The rows of `edits` that post mails, each under its `edit_id`; the bodies are not needed."""
    for batch in batches:
        rows = [_edit(mail, told) for mail in batch.to_pylist()]
        yield from rows_of("edits", rows).to_batches()


def _edit(mail: Mapping[str, Any], told: Import) -> dict[str, Any]:
    sent_at, envelope = mail["sent_at"], mail["envelope"]
    said = {
        **{name: mail[column] for name, column in HEADERS.items()},
        "date": sent_at and f"{sent_at:%Y-%m-%dT%H:%M:%SZ}",
        ENVELOPE: None if envelope is None else envelope.decode("latin-1"),
    }
    return {
        "org": told.org, "edit_id": mail["edit_id"], "store": told.store, "at": told.at,
        "place": told.begins[mail["no"]] + mail["position"],
        "action": str(Action.POST), "folder": told.folder, "item": None, "name": mail["subject"],
        "properties": [(name, value) for name, value in said.items() if value is not None],
        "size": mail["size"], "hash": mail["sha256"], "written": told.written,
    }  # fmt: skip
