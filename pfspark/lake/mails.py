"""Mail into a lake and out of it."""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from itertools import accumulate

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.edge import mail, repeats
from pfspark.edge.asked import naming
from pfspark.edge.spark.tuned import computed_once
from pfspark.errors import LakeError, RefusedError, UsageError
from pfspark.lake.edits import Edits
from pfspark.lake.known import When, round_or_time
from pfspark.rows import schema_of
from pfspark.words import Action, Standing

TOLD = 100
"""Of so many mails in each batch that are not kept it is told why."""
Progress = Callable[[int, int], object]
LeftOut = Callable[[str, str], object]


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
        left_out: LeftOut | None = None,
    ) -> dict[str, int]:
        """Posts the mails of mbox files, .eml files and Maildirs; a mail that was imported into that folder adds nothing.

        Counts: `posted`, `known` (imported before, and neither refused nor lost by a restore since), `unkept` (without bytes:
        too large, or unreadable). A mail that could not be parsed is posted all the same, with the reason in its property
        `unparsed`. `left_out` is told the file and the reason of what is not kept, of the first hundred in each batch.

        Raises RefusedError, before anything is kept, where the store has no replica of the folder.
        """
        sources = mail.find([paths] if isinstance(paths, str | os.PathLike) else paths)
        org = self._org(org, store)
        target = self._folder(org, store, folder)
        named = self._creation_of(org, target)
        now = datetime.now(UTC)
        begins = accumulate((source.size + 1 for source in sources), initial=time.time_ns())
        told = mail.Import(org, store, target, self._at(at) or self._clock(org, store, target), tuple(begins), now)
        self._check({"org": org, "store": store, "folder": target, "action": Action.POST, "properties": None}, folder)
        taken = self._taken_here if self._tables.is_native else self._taken_by_spark
        counts = Counter(posted=0, known=0, unkept=0)
        for some in taken(sources, named, told, progress or (lambda done, total: None), left_out or (lambda file, reason: None)):
            counts.update(some)
        return dict(counts)

    def _taken_here(
        self, sources: list[mail.Source], named: str, told: mail.Import, progress: Progress, left_out: LeftOut
    ) -> Iterator[dict[str, int]]:
        """Keeps the mails that are not known yet, batch by batch; how many of each were what. No Spark is asked."""
        before = self._made_here(told.org, f"mail:{named}:")
        for mails in mail.read_here(sources, progress=progress):
            firsts = mail.edit_ids(named, mails)
            stand = [before.get(first or "", repeats.NEVER) for first in firsts]
            follows = [before.get(prior or "", repeats.NEVER).counts for prior in mail.edit_ids(named, mails, back=1)]
            kept = mails["raw"].is_valid()
            known = pc.and_(kept, pa.array((each.counts for each in stand), pa.bool_()))
            ids = [first and repeats.anew(first, each.times) for first, each in zip(firsts, stand, strict=True)]
            is_first = pc.or_(pc.equal(mails["occurrence"], 1), pa.array(follows, pa.bool_()))
            named_anew = mails.append_column("edit_id", pa.array(ids, pa.string())).append_column("is_first", is_first)
            new = named_anew.filter(pc.and_not(kept, known))
            if new.num_rows:  # before the edits: an edit whose body is not there would be a promise
                self._tables.append("content", mail.bodies(new, datetime.now(UTC)))
                edits = mail.edits(new.drop_columns(["raw", "is_first"]).to_batches(), told)
                self._tables.append("edits", pa.Table.from_batches(edits))
            unkept = mails.filter(pc.invert(kept)).select(["source", "reason"])
            for row in unkept.slice(0, TOLD).to_pylist():
                left_out(row["source"], row["reason"])
            yield {"posted": new.num_rows, "known": pc.sum(known).as_py() or 0, "unkept": unkept.num_rows}

    def _taken_by_spark(
        self, sources: list[mail.Source], named: str, told: mail.Import, progress: Progress, left_out: LeftOut
    ) -> Iterator[dict[str, int]]:
        """What `_taken_here` does, on the executors: for lakes that are elsewhere."""
        spark = self._tables.spark
        with computed_once(self._made(told.org, lambda edit: edit.contains(f"mail:{named}:")).drop("org")) as before:
            for mails in mail.read_batches(spark, sources, progress=progress):
                nth = F.col("occurrence")
                ids = {name: mail.edit_id(F.lit(named), "sha256", of) for name, of in {"first": nth, "prior": nth - 1}.items()}
                prior = before.select(F.col("first").alias("prior"), F.col("counts").alias("follows"))
                known = (
                    mails.withColumns(ids)
                    .join(F.broadcast(before), "first", "left")
                    .join(F.broadcast(prior), "prior", "left")
                    .withColumn("edit_id", repeats.next_id(F.col("first"), F.col("times")))
                    .withColumn("known", F.col("raw").isNotNull() & F.coalesce("counts", F.lit(False)))
                    .withColumn("is_first", (nth == 1) | F.coalesce("follows", F.lit(False)))
                )
                with computed_once(known) as batch:
                    unkept = F.count_if(F.col("raw").isNull()).alias("unkept")
                    [found] = batch.agg(F.count("*").alias("all"), unkept, F.count_if("known").alias("known")).collect()
                    posted = found["all"] - found["unkept"] - found["known"]
                    if posted:
                        self._write_mails(batch.where("raw is not null and not known"), told)
                    if found["unkept"]:
                        unkept_mails = batch.where("raw is null").orderBy("no", "position").select("source", "reason")
                        for row in unkept_mails.limit(TOLD).collect():
                            left_out(row["source"], row["reason"])
                    yield {"posted": posted, "known": found["known"], "unkept": found["unkept"]}

    def _write_mails(self, mails: DataFrame, told: mail.Import) -> None:
        at = F.lit(datetime.now(UTC))
        bodies = mails.where("is_first").select(
            F.col("sha256").alias("hash"), F.col("raw").alias("body"), "envelope", "size", at.alias("at")
        )
        self._tables.append("content", bodies)
        edits = mails.drop("raw").mapInArrow(partial(mail.edits, told=told), schema_of("edits"))
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
        left_out: LeftOut | None = None,
    ) -> int:
        """Writes the items of a folder, as a store holds them, to a new mbox or as .eml files into a new folder; how many.

        `left_out` is told the item and the reason of what the store shows or keeps there and is not written: an item without
        a body, versions that have lost a conflict.

        Raises RefusedError where the store has no replica that readers see (R146), LakeError for a body that is not what was
        posted, or not there any more; then no mbox is left behind.
        """
        if form not in ("mbox", "eml"):
            raise UsageError(f"found {form!r}, expected mbox or eml")
        org = self._org(org, store)
        known = self._world(as_of, org, near=[folder], store=store)
        named = sorted(naming.folders_named(known, org, store, folder))
        is_open = (pc.field("store") == store) & (pc.field("standing") == str(Standing.ACTIVE)) & pc.field("folder").isin(named)
        if not known["replicas"].filter((pc.field("org") == org) & is_open).num_rows:
            raise RefusedError(f"{store} has no replica of {folder!r} that readers see; `pfspark referrals` says who has")
        columns = ("name", "item", "version", "properties", "conflict", "hash")
        shown = self.items(store, folder, as_of, org=org).where("not deleted").select(*columns)
        content = self._tables.read("content", round_or_time(as_of), org)
        with computed_once(shown) as seen:  # two read it: not all bodies of the lake are looked for, and they are put in order
            wanted = content.join(seen.select("hash").distinct(), "hash", "left_semi")
            bodies = wanted.select("hash", "body").dropDuplicates(["hash"])
            label, number = cnset.order_of(F.split("item", ":")[0]), F.split("item", ":")[1].cast("bigint")
            ordered = seen.join(bodies, "hash", "left").orderBy(label, number).select(*columns, "body")
            written = _with_bodies(ordered.toLocalIterator(), left_out or (lambda item, reason: None))
            rows = (
                (row["name"] or row["item"], _envelope(row["properties"]), _unaltered(row["item"], row["hash"], row["body"]))
                for row in written
            )
            return mail.write_mbox(rows, target) if form == "mbox" else mail.write_eml(rows, target)


def _with_bodies(items: Iterable[Row], left_out: LeftOut) -> Iterator[Row]:
    """Those that have a body; of others, and of other versions, somebody is told."""
    for row in items:
        if row["conflict"]:
            left_out(row["item"], f"its versions beside {row['version']}, which has won their conflict")
        if row["hash"] is None:
            left_out(row["item"], "it has no body")
        else:
            yield row


def _envelope(properties: Iterable[Mapping[str, str]]) -> bytes | None:
    """The line that an mbox had before the item, if it came from one."""
    said = next((each["value"] for each in properties if each["name"] == mail.ENVELOPE), None)
    return None if said is None else said.encode("latin-1", "replace")


def _unaltered(item: str, hash: str, body: bytes | None) -> bytes:
    if body is None:
        raise LakeError(f"the body of {item} is gone: no row of `content` has it. `pfspark audit` names all that are")
    if hashlib.sha256(body).hexdigest() != hash:
        raise LakeError(f"the body of {item} is not what was posted: its hash is another. `pfspark audit --repair-plan`")
    return bytes(body)
