"""Mail into a lake and out of it."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark.edge import mail, repeats
from pfspark.edge.session import computed_once
from pfspark.errors import LakeError, UsageError
from pfspark.lake.edits import Edits
from pfspark.lake.known import When
from pfspark.words import Action

ENVELOPE = "envelope"
"""The property that keeps an imported item's own mbox line: items with equal bodies share a row of `content`."""
HEADERS = {
    "subject": "subject",
    "sender": "from",
    "message_id": "message-id",
    "in_reply_to": "in-reply-to",
    "reason": "unparsed",
}
"""What of a mail becomes properties of its item; `unparsed`: why it was kept as it is (`mime.Reason`)."""

Progress = Callable[[int, int], object]


class Mails(Edits):
    """A lake that takes mail."""

    def import_mail(
        self,
        paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        store: str,
        folder: str,
        progress: Progress | None = None,
        *,
        org: str | None = None,
        at: When = None,
        left_out: Callable[[str, str], object] | None = None,
    ) -> dict[str, int]:
        """Posts the mails of mbox files, .eml files and Maildirs; a mail that was imported into that folder adds nothing.

        Counts: `posted`, `known` (imported before, and neither refused nor lost by a restore since), `unkept` (without bytes:
        too large, or unreadable). A mail that could not be parsed is posted all the same, with the reason in its property
        `unparsed`. `left_out` is told the file and the reason of what is not kept, of the first hundred in each batch.

        Raises RefusedError, before anything is kept, where the store has no replica of the folder.
        """
        sources = mail.find([paths] if isinstance(paths, str | os.PathLike) else paths)
        spark = self._tables.spark
        org = self._org(org, store)
        target = self._folder(org, store, folder)
        named = self._creation_of(org, target)
        moment = self._at(at) or datetime.now(UTC)
        self._check({"org": org, "store": store, "folder": target, "action": Action.POST, "properties": None}, folder)
        first = time.time_ns()
        counts = {"posted": 0, "known": 0, "unkept": 0}
        with computed_once(self._made(org, lambda edit: edit.contains(f"mail:{named}:")).drop("org")) as made:
            for mails in mail.read_batches(spark, sources, progress=progress or (lambda done, total: None)):
                ids = mails.withColumn("first", mail.edit_id(F.lit(named), "sha256", "occurrence"))
                known = (
                    ids.join(F.broadcast(made), "first", "left")
                    .withColumn("edit_id", repeats.next_id(F.col("first"), F.col("times")))
                    .withColumn("known", F.coalesce("counts", F.lit(False)))
                )
                with computed_once(known) as told:
                    self._take_mails(told, counts, (org, store, target), moment, first, left_out)
        return counts

    def _take_mails(
        self,
        told: DataFrame,
        counts: dict[str, int],
        where: tuple[str, str, str],
        at: datetime,
        first: int,
        left_out: Callable[[str, str], object] | None,
    ) -> None:
        """Keeps the mails of a batch that are not known yet, and counts them all."""
        unkept, before = F.count_if(F.col("raw").isNull()), F.count_if(F.expr("raw is not null and known"))
        [found] = told.agg(F.count("*").alias("all"), unkept.alias("unkept"), before.alias("known")).collect()
        new = found["all"] - found["unkept"] - found["known"]
        if new:
            self._write_mails(told.where("raw is not null and not known"), *where, at, first)
        if left_out and found["unkept"]:
            for row in told.where("raw is null").select("source", "reason").orderBy("no", "position").limit(100).collect():
                left_out(row["source"], row["reason"])
        counts["posted"] += new
        counts["known"] += found["known"]
        counts["unkept"] += found["unkept"]

    def _write_mails(self, mails: DataFrame, org: str, store: str, folder: str, at: datetime, first: int) -> None:
        written = F.lit(datetime.now(UTC))
        bodies = mails.where("occurrence = 1").select(
            F.col("sha256").alias("hash"), F.col("raw").alias("body"), "envelope", "size", written.alias("at")
        )
        self._tables.append("content", bodies)
        pairs = {
            **{name: F.col(column) for column, name in HEADERS.items()},
            "date": F.date_format("sent_at", "yyyy-MM-dd'T'HH:mm:ss'Z'"),
            ENVELOPE: F.decode("envelope", "ISO-8859-1"),
        }
        said = F.create_map(*[part for name, value in pairs.items() for part in (F.lit(name), value)])
        edits = mails.select(
            F.lit(org).alias("org"), "edit_id", F.lit(store).alias("store"),
            F.lit(at).alias("at"), (F.lit(first) + F.col("no") * 2**36 + F.col("position")).alias("place"),
            F.lit(str(Action.POST)).alias("action"), F.lit(folder).alias("folder"), F.lit(None).cast("string").alias("item"),
            F.col("subject").alias("name"), F.map_filter(said, lambda _, value: value.isNotNull()).alias("properties"),
            "size", F.col("sha256").alias("hash"), written.alias("written"),
        )  # fmt: skip
        self._tables.append("edits", edits)

    def export_mail(
        self,
        store: str,
        folder: str,
        target: str | os.PathLike[str],
        form: str = "mbox",
        *,
        org: str | None = None,
        as_of: When = None,
    ) -> int:
        """Writes the items of a folder, as a store holds them, to a new mbox or as .eml files into a new folder; how many.

        Raises LakeError for a body that is not what was posted; then no mbox is left behind.
        """
        if form not in ("mbox", "eml"):
            raise UsageError(f"found {form!r}, expected mbox or eml")
        seen = self.items(store, folder, as_of, org=org).where("not deleted and hash is not null")
        label, number = F.split("item", ":")[0], F.split("item", ":")[1].cast("bigint")
        bodies = self._tables.read("content").select("hash", "body").dropDuplicates(["hash"])
        ordered = seen.join(bodies, "hash").orderBy(label, number).select("name", "item", "properties", "hash", "body")
        rows = (
            (row["name"] or row["item"], _envelope(row["properties"]), _unaltered(row["item"], row["hash"], bytes(row["body"])))
            for row in ordered.toLocalIterator()
        )
        return mail.write_mbox(rows, target) if form == "mbox" else mail.write_eml(rows, target)


def _envelope(properties: Iterable[Mapping[str, str]]) -> bytes | None:
    """The line that an mbox had before the item, if it came from one."""
    said = next((each["value"] for each in properties if each["name"] == ENVELOPE), None)
    return None if said is None else said.encode("latin-1", "replace")


def _unaltered(item: str, hash: str, body: bytes) -> bytes:
    if hashlib.sha256(body).hexdigest() != hash:
        raise LakeError(f"the body of {item} is not what was posted: its hash is another. `pfspark audit --repair-plan`")
    return body
