"""The door for users: a lake, what is said and posted in it, its rounds, and what can be asked of it.

From nothing to equal stores:

    from pfspark import Lake
    lake = Lake.create("/data/lake")
    lake.organization(profile="modern")
    lake.store("PFS1", "Redmond"), lake.store("PFS2", "Paris")
    lake.folder_create("PFS1", "/Sales", ["PFS1", "PFS2"])
    lake.post("PFS1", "/Sales", b"Hello", name="first")
    lake.run(until_quiet=True)
    lake.state().show()
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pfspark import cnset, cntext
from pfspark.ask import lines
from pfspark.ask.events import Log
from pfspark.edge import auditing, copying, door, mail, naming, repair, repeats, restoring
from pfspark.edge.answers import Answers
from pfspark.edge.config import conf_folder
from pfspark.edge.delta import Hook, Snapshot, Tables
from pfspark.edge.runner import Played, Runner
from pfspark.edge.session import open_session
from pfspark.edge.world import DIRECTORY, HERE, as_frame, as_kept, clocks, entries, kept_world, policy_of, trees
from pfspark.errors import LakeError, RefusedError, UsageError
from pfspark.rows import arrow, local, rows_of, struct
from pfspark.rules import items, state
from pfspark.settings import (
    NOW,
    confirmed,
    differences,
    load_profile,
    nearest,
    override,
    parse_duration,
    parse_size,
    parse_time,
)
from pfspark.sim.invention import set_properties, slots
from pfspark.sim.scenario import FOLDER_PROPERTIES
from pfspark.tables import LINES
from pfspark.words import HIERARCHY, LAST, NAME, PARENT, REPLICA, ROOT, Action, Listing, Outcome

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pfspark.edge.delta import AsOf
    from pfspark.edge.repair import Remedy

MAIN = "main"
"""The organization of a lake that has only one."""
FOLDER_NAME = re.compile(r"[^/\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,255}")
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

KINDS: dict[str, Callable[[Answers], Iterator[dict[str, Any]]]] = {
    "state": Answers.state, "items": Answers.items, "folders": Answers.folders, "gaps": Answers.gaps,
    "messages": Answers.messages, "stores": Answers.stores, "replicas": Answers.replicas, "events": Answers.events,
    "referrals": Answers.referrals, "rounds": Answers.rounds,
}  # fmt: skip
"""What can be asked for as lines."""

Line = dict[str, Any]
When = datetime | str | int | None
Progress = Callable[[int, int], object]


class Lake:
    """A lake: a folder of Delta tables, or a schema of a catalog."""

    def __init__(self, tables: Tables, *, ahead: bool = False) -> None:
        """`ahead`: whether times more than a day ahead of the clock on the wall are meant (`settings.confirmed`)."""
        self._tables = tables
        self._ahead = ahead
        self._runner = Runner(tables)
        self._views: tuple[int, Mapping[str, pa.Table]] | None = None
        self._trees: tuple[tuple[int, int], Mapping[str, pa.Table]] | None = None
        self._entries: dict[str, tuple[int, dict[tuple[str, ...], Line]]] = {}

    @classmethod
    def create(
        cls,
        where: str | os.PathLike[str],
        spark: SparkSession | None = None,
        *,
        history: timedelta = timedelta(days=30),
        ahead: bool = False,
    ) -> Lake:
        """A new lake in a folder of its own, or in `catalog.schema`; `history`: how far back `as_of` reads.

        `ahead`: times more than a day ahead of the clock on the wall are meant; else they are refused.
        """
        return cls(Tables.create(spark or open_session(), where, history=history), ahead=ahead)

    @classmethod
    def open(
        cls,
        where: str | os.PathLike[str],
        spark: SparkSession | None = None,
        *,
        hook: Hook = lambda point: None,
        ahead: bool = False,
    ) -> Lake:
        """The lake that is there; `hook` is told of each commit, before and after; `ahead` as in `create`.

        Raises LakeError where none is; of a folder of this machine before Spark starts.
        """
        Tables.expect(where)
        return cls(Tables.open(spark or open_session(), where, hook), ahead=ahead)

    @classmethod
    def examine(cls, where: str | os.PathLike[str], spark: SparkSession | None = None) -> Lake:
        """The lake that is there, to be audited, whatever is wrong with it."""
        return cls(Tables(spark or open_session(), where))

    def close(self) -> None:
        """Lets another writer in; this lake may be used on."""
        self._runner.close()

    def __enter__(self) -> Lake:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def where(self) -> str:
        """The folder, or the schema."""
        return self._tables.where

    # What administrators say

    def organization(
        self,
        org: str = MAIN,
        profile: str = "exchange_2007",
        options: Mapping[str, Any] | None = None,
        start: When = None,
        suspended: bool = False,
    ) -> None:
        """An organization and its policy: a profile, and the options that differ from it.

        Cycles are counted from `start`, if none is given from midnight (UTC) of the day it is made.
        """
        profiled = load_profile(profile, conf_folder())
        policy = override(profiled, options or {})
        known = self._directory("organizations").get((org,))
        now = datetime.now(UTC)
        begin = _time(start) or (known and known["start"]) or now.replace(hour=0, minute=0, second=0, microsecond=0)
        said = json.dumps(differences(policy, profiled), sort_keys=True)
        self._say(
            "organizations",
            known,
            {"org": org, "profile": profile, "options": said, "start": begin, "suspended": suspended},
        )

    def suspend(self, org: str | None = None, suspended: bool = True) -> None:
        """Suspends content replication of a whole organization, or resumes it (F69)."""
        known = self._organization(org)
        self._say("organizations", known, {**known, "suspended": suspended})

    def store(
        self,
        name: str,
        site: str | None = None,
        *,
        org: str | None = None,
        version: str | None = None,
        preferred: bool | None = None,
        interval: str | timedelta | None = None,
        size_limit: str | int | None = None,
        schedule: str | None = None,
        retired: bool | None = None,
    ) -> None:
        """A store of the directory: a new one, which needs a site, or changes of one that is there.

        What was never told is as the policy says. A new store takes part from the next round on.
        """
        org = self._org(org)
        if not cntext.is_store_name(name):
            raise UsageError(f"{name!r} is no name of a store: letters, digits and . _ -, first a letter or digit, at most 64")
        every = parse_duration(interval) if isinstance(interval, str) else interval
        told = {
            "site": site,
            "version": version,
            "preferred": preferred,
            "interval_s": every and int(every.total_seconds()),
            "size_limit": None if size_limit is None else parse_size(size_limit),
            "retired": retired,
        }
        known = self._directory("stores").get((org, name))
        if known is None and site is None:
            raise UsageError(f"in which site is the store {name!r}? A new store needs one")
        before = known or {"version": "2007", "preferred": False, "retired": False}
        row = {**before, **{key: value for key, value in told.items() if value is not None}, "org": org, "store": name}
        self._say("stores", known, row if schedule is None else {**row, "schedule": slots(schedule)})

    def link(
        self,
        a: str,
        b: str,
        cost: int = 1,
        delay: str | timedelta = timedelta(0),
        *,
        org: str | None = None,
        both: bool = True,
    ) -> None:
        """Cost and delay from one site to another, and back unless `both` is false."""
        org = self._org(org)
        sites = sorted({row["site"] for row in self._directory("stores").values() if row["org"] == org})
        for site in (a, b):
            if site not in sites:
                raise UsageError(f"no store is in the site {site!r}{nearest(site, sites)}")
        took = parse_duration(delay) if isinstance(delay, str) else delay
        known = self._directory("links")
        for one, other in [(a, b), (b, a)] if both else [(a, b)]:
            row = {"org": org, "from_site": one, "to_site": other, "cost": cost, "delay_s": int(took.total_seconds())}
            self._say("links", known.get((org, one, other)), row)

    # Folders

    def folder_create(
        self,
        store: str,
        path: str,
        replicas: Sequence[str] | None = None,
        *,
        org: str | None = None,
        at: When = None,
        **props: Any,
    ) -> str:
        """Creates a folder at a store, with replicas at these stores (none named: there); gives the edit's id.

        `props`: schedule, size_limit, age_limit, conflict, priority, description, note, permissions.
        """
        above, _, name = path.rstrip("/").rpartition("/")
        stores = list(replicas or [store])
        org = self._org(org, store, *stores)
        parent = self._folder(org, store, above) if above else ROOT
        listed = {f"{REPLICA}{each}": str(Listing.LISTED) for each in stores}
        sets = {NAME: _folder_name(name), PARENT: parent, **listed, **_properties(props)}
        return self._edit(org, store, Action.CREATE_FOLDER, None, sets, at)

    def folder_rename(self, store: str, folder: str, name: str, *, org: str | None = None, at: When = None) -> str:
        """Gives a folder another name."""
        return self._edit(org, store, Action.SET_FOLDER, folder, {NAME: _folder_name(name)}, at)

    def folder_move(self, store: str, folder: str, to: str, *, org: str | None = None, at: When = None) -> str:
        """Puts a folder under another, or at the top (`to` = "/")."""
        parent = self._folder(self._org(org, store), store, to) if to.strip("/") else ROOT
        return self._edit(org, store, Action.SET_FOLDER, folder, {PARENT: parent}, at)

    def folder_delete(self, store: str, folder: str, *, org: str | None = None, at: When = None) -> str:
        """Deletes a folder, everywhere and for ever."""
        return self._edit(org, store, Action.DELETE_FOLDER, folder, {}, at)

    def folder_recover(
        self,
        store: str,
        folder: str,
        name: str | None = None,
        as_of: When = None,
        *,
        org: str | None = None,
        at: When = None,
    ) -> str:
        """Copies a deleted folder, with the items that its readers saw, into a new one; gives the id of its edit.

        `folder`: its id, or the path it had. `as_of`: the round to copy from, if none is told the last before the deletion.
        `name`: of the copy, which lies at the top; `… recovered` unless told. The copy has one replica, at `store`.

        Source: R141, R149; F59.
        """
        org = self._org(org, store)
        target, earlier = self._deleted(org, folder) if as_of is None else (folder, _as_of(as_of))
        seen = self.items(None, target, earlier, org=org).where("not deleted").toArrow().to_pylist()
        viewers = {viewer: [row for row in seen if row["store"] == viewer] for viewer in {row["store"] for row in seen}}
        copied = max(viewers.items(), key=lambda pair: (pair[0] == store, len(pair[1]), pair[0]), default=(store, []))[1]
        path = str(copied[0]["path"]) if copied else folder
        rows = copying.recovered(
            sorted(copied, key=lambda row: naming.place_of(row["item"])),
            org=org, store=store, name=_folder_name(name or f"{path.rpartition('/')[2]} recovered"), parent=ROOT,
            at=self._at(at) or datetime.now(UTC),
        )  # fmt: skip
        self._check(rows[0], "")
        needed = F.col("hash").isin(sorted({row["hash"] for row in rows if row["hash"]}))
        bodies = self._tables.read("content", earlier).where(needed).dropDuplicates(["hash"])
        # Written anew although some may be there: upkeep leaves young bodies alone, and this one's edit is still to come.
        self._tables.append("content", bodies.withColumn("at", F.lit(datetime.now(UTC))))
        self._tables.append("edits", rows_of("edits", rows))
        return str(rows[0]["edit_id"])

    def _deleted(self, org: str, folder: str) -> tuple[str, int]:
        """The id of a deleted folder, named by it or by the path it had, and the last round before it was deleted."""
        gone = self._tables.read("changes").where((F.col("org") == org) & (F.col("action") == Action.DELETE_FOLDER))
        rows = gone.groupBy("object").agg(F.min("round").alias("round")).orderBy(F.desc("round")).collect()
        for row in rows:
            if folder == row["object"]:
                return str(row["object"]), row["round"] - 1
        for row in rows:
            known = self._world(row["round"] - 1)
            if any(naming.folder_named(known, org, viewer, folder) == row["object"] for viewer in naming.stores_of(known, org)):
                return str(row["object"]), row["round"] - 1
        raise UsageError(f"no deleted folder had the path or id {folder!r}")

    def folder_set(self, store: str, folder: str, *, org: str | None = None, at: When = None, **props: Any) -> str:
        """Sets properties of a folder, as `folder_create` names them (R16-R19)."""
        return self._edit(org, store, Action.SET_FOLDER, folder, _properties(props), at)

    def replica_add(self, store: str, folder: str, replica: str, *, org: str | None = None, at: When = None) -> str:
        """Puts a store on the replica list of a folder, as said at `store`."""
        self._org(org, replica)
        return self._edit(org, store, Action.SET_FOLDER, folder, {f"{REPLICA}{replica}": str(Listing.LISTED)}, at)

    def replica_move(
        self,
        store: str,
        folder: str,
        source: str,
        target: str,
        wait: Callable[[str], object],
        *,
        org: str | None = None,
        at: When = None,
    ) -> str:
        """Moves a replica: adds the new one, waits for hierarchy and content, then removes the old one (R142).

        Gives the id of the last edit. `wait` is called, with what is waited for, until all stores list the new replica and
        it holds all that the old one does; it lets time pass, or plays a round. Raises RefusedError where `source` is on no
        list to be moved from, or where what is added is refused when it is taken in.
        """
        org = self._org(org, store, source, target)
        if source == target:
            raise UsageError(f"{source} is where the replica comes from and where it goes; name two stores")
        named = self._folder(org, store, folder)
        listed = [row for row in self._tree_world()["lists"].to_pylist() if row["org"] == org and row["store"] == store]
        holders = sorted(row["peer"] for row in listed if row["folder"] == named and row["listing"] == Listing.LISTED)
        if source not in holders:
            raise RefusedError(
                f"{source} is not on the replica list of {folder!r}: {store} sees {', '.join(holders) or 'nobody'} there"
            )
        added = self.replica_add(store, folder, target, org=org, at=at)

        def open_points() -> Iterator[str]:
            known = lines.Stores(self._world(), org)
            unaware = [each for each in known.stores if target not in known.listed(each, named)]
            if unaware:
                yield f"the list to reach {', '.join(unaware)}"
            lacking = cntext.subtract(known.held(source, named), known.held(target, named))
            if lacking or (target, named) not in known.replicas:
                yield f"{target} to get {cntext.show(lacking) or 'its replica'}"

        while awaited := list(open_points()):
            wait("; ".join(awaited))
            self.accepted(added, org=org)
        return self.replica_remove(store, named, source, org=org, at=at)

    def accepted(self, *edits: str, org: str | None = None) -> None:
        """Raises RefusedError where one of these edits was refused when it was taken in; one that waits is not."""
        receipts = self._tables.read("receipts").where(F.col("edit_id").isin(*edits) & (F.col("outcome") == Outcome.REFUSED))
        for row in receipts.where(F.col("org") == self._org(org)).limit(1).collect():
            raise RefusedError(f"{row['store']} refused the edit {row['edit_id']} ({row['type']}): {row['reason']}")

    def replica_remove(self, store: str, folder: str, replica: str, *, org: str | None = None, at: When = None) -> str:
        """Takes a store off the replica list of a folder, as said at `store`."""
        self._org(org, replica)
        return self._edit(org, store, Action.SET_FOLDER, folder, {f"{REPLICA}{replica}": str(Listing.REMOVED)}, at)

    # Items

    def post(
        self,
        store: str,
        folder: str,
        body: bytes | str,
        name: str | None = None,
        properties: Mapping[str, str] | None = None,
        *,
        org: str | None = None,
        at: When = None,
        edit_id: str | None = None,
    ) -> str:
        """Posts an item; gives the edit's id, which names the item as `@id` until it has a number. A text is written in UTF-8.

        Whoever may have to repeat a post gives the `edit_id` himself: a repeat is harmless.
        """
        return self._edit(org, store, Action.POST, folder, properties or {}, at, body=_body(body), name=name, edit_id=edit_id)

    def modify(
        self,
        store: str,
        folder: str,
        item: str,
        body: bytes | str,
        properties: Mapping[str, str] | None = None,
        *,
        org: str | None = None,
        at: When = None,
        edit_id: str | None = None,
    ) -> str:
        """Gives an item another body; `item`: its id, `@` and the edit that posted it, or its name."""
        raw = _body(body)
        return self._edit(org, store, Action.MODIFY, folder, properties or {}, at, body=raw, item=item, edit_id=edit_id)

    def resolve(self, store: str, folder: str, item: str, keep: str, *, org: str | None = None, at: When = None) -> list[str]:
        """Settles a conflict as a user does: `keep` names the version that stands, or `all`; gives the ids of the edits.

        Source: F34.
        """
        org = self._org(org, store)
        target = self._folder(org, store, folder)
        named = self._item(org, store, target, item)
        world = self._world()
        everybody = state.held(self._known("state", world), replicas=self._known("replicas", world))
        own = everybody.where((F.col("org") == org) & (F.col("store") == store))
        seen = items.versions(items.seen(self._known("changes", world).where(F.col("object") == named), applied=own))
        there = seen.where((F.col("folder") == target) & ~F.col("dominated")).orderBy(*items.rank_of())
        rows = copying.settled(
            there.toArrow().to_pylist(), keep, org=org, store=store, folder=target, item=named,
            at=self._at(at) or datetime.now(UTC),
        )  # fmt: skip
        self._tables.append("edits", rows_of("edits", rows))
        return [str(row["edit_id"]) for row in rows]

    def delete(self, store: str, folder: str, item: str, *, org: str | None = None, at: When = None) -> str:
        """Deletes an item."""
        return self._edit(org, store, Action.DELETE, folder, {}, at, item=item)

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
        made = self._made(org, F.col("edit_id").contains(f"mail:{named}:")).drop("org").persist()
        for mails in mail.read_batches(spark, sources, progress=progress or (lambda done, total: None)):
            ids = mails.withColumn("first", mail.edit_id(F.lit(named), "sha256", "occurrence"))
            told = (
                ids.join(F.broadcast(made), "first", "left")
                .withColumn("edit_id", repeats.next_id(F.col("first"), F.col("times")))
                .withColumn("known", F.coalesce("counts", F.lit(False)))
                .persist()
            )
            fresh = told.where("raw is not null and not known")
            unkept, before = F.count_if(F.col("raw").isNull()), F.count_if(F.expr("raw is not null and known"))
            [found] = told.agg(F.count("*").alias("all"), unkept.alias("unkept"), before.alias("known")).collect()
            new = found["all"] - found["unkept"] - found["known"]
            if new:
                self._write_mails(fresh, org, store, target, moment, first)
            if left_out and found["unkept"]:
                for row in told.where("raw is null").select("source", "reason").orderBy("no", "position").limit(100).collect():
                    left_out(row["source"], row["reason"])
            told.unpersist()
            counts["posted"] += new
            counts["known"] += found["known"]
            counts["unkept"] += found["unkept"]
        made.unpersist()
        return counts

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

    # Rounds

    def round(self, now: When = None, dry_run: bool = False, cut: Iterable[str] = ()) -> Played:
        """One round of everybody who has something to do by now; one in which nobody has writes nothing.

        An organization whose clock is ahead of now plays its next due moment there (`ahead`). Stores that are `cut` off
        send and receive nothing. `said` tells what was sent and refused.
        """
        self._runner.cut = frozenset(cut)
        return self._runner.round(self._at(now), dry_run=dry_run)

    @property
    def unfit(self) -> Mapping[str, str]:
        """Organizations that did not play, as their entries in the directory cannot be followed, each with what is wrong."""
        return self._runner.unfit

    def run(
        self,
        until: When | timedelta = None,
        until_quiet: bool = False,
        progress: Callable[[Played], object] | None = None,
        cut: Iterable[str] = (),
        resting: Callable[[Mapping[str, datetime]], object] = lambda due: None,
    ) -> int:
        """Rounds one after another; how many.

        At once up to a time, or so long after the last round of all; at once until what is due by the clock on the wall is
        done (`until="now"`), or until all is quiet, in times to come if need be (`until_quiet`). Else as time goes by:
        then `resting` is told, by organization, when something is due next.
        """
        self._runner.cut = frozenset(cut)
        by_now = until == NOW
        end = self._from_last(until) if isinstance(until, timedelta) else None if by_now else _time(until)
        count = 0
        for played in self._runner.run(end, until_quiet, by_now=by_now, resting=resting):
            count += 1
            if progress:
                progress(played)
        return count

    def _from_last(self, span: timedelta) -> datetime:
        """So long after the last round; before the first, after the last edit, or the start."""
        furthest = self._tables.snapshot().furthest
        moments: list[datetime] = [furthest] if furthest else [
            *(row["start"] for row in self._directory("organizations").values()),
            *(at for at in self._world()["edits"]["at"].to_pylist() if at is not None),
        ]
        return min(max(moments) + span, LAST)

    def ahead(self) -> dict[str, timedelta]:
        """By how much the clocks of organizations are ahead of the clock on the wall; who is not ahead is left out.

        What is posted meanwhile waits for the next cycle there: no clock of an organization goes back.
        """
        snapshot, now = self._tables.snapshot(), datetime.now(UTC)
        if snapshot.furthest is None or snapshot.furthest <= now:
            return {}
        return {org: at - now for org, at in sorted(clocks(snapshot).items()) if at > now}

    def losses(self, store: str, to: When, *, org: str | None = None) -> list[Line]:
        """What restoring a store to an earlier round would lose for ever: one line a folder; see `restoring.losses`."""
        org = self._org(org, store)
        return list(restoring.losses(org, store, self._world(), self._world(self._earlier(to).row.round)))

    def restore(self, store: str, to: When, *, org: str | None = None, now: When = None, again: bool = False) -> Played:
        """Takes a store back to what it knew after an earlier round; its replicas begin a new life and ask for status.

        What others hold comes back by backfill. What it alone held (`losses`) is lost, or taken in `again` under new
        numbers, as the edits that people made.

        Source: R132, F8.
        """
        org, number = self._org(org, store), self._earlier(to).row.round
        then = self._world(number)
        lost = list(restoring.losses(org, store, self._world(), then)) if again else []
        changes = self._world()["changes"]
        played = self._runner.restore(org, store, number, then, self._at(now))
        if lost:
            edits = self._tables.read("edits").toArrow()
            rows = restoring.again(org, lost, changes, edits, played.turns[org])
            self._tables.append("edits", rows_of("edits", rows))
        return played

    def maintain(self, now: When = None, told: Callable[[str], object] = lambda doing: None) -> dict[str, int]:
        """Upkeep: what is void or superseded goes, ranges are merged, files joined; how many rows went from each table.

        No answer changes, neither now nor as of an earlier round that the history reaches.

        Source: F56, Q20.
        """
        return self._runner.maintain(self._at(now), told)

    def _earlier(self, to: When) -> Snapshot:
        if to is None:
            raise UsageError("restore to which round, or to what time?")
        return self._tables.snapshot(_as_of(to))

    def said(self, played: Played) -> Iterator[Line]:
        """What was refused and sent in a round, as lines."""
        parted = lines.ByOrg(played.world)
        views = {org: lines.Stores(parted, org, apart=True) for org in played.turns}
        receipts = played.made["receipts"].to_pylist() if played.turns else []
        refused = [row for row in receipts if row["outcome"] == Outcome.REFUSED]
        items = self._items_of(row["edit_id"] for row in refused if row["edit_id"])
        for row in sorted(refused, key=lambda row: (row["org"], row["at"], row["place"] or 0, row["store"])):
            yield {
                "org": row["org"], "at": lines.moment(row["at"]), "kind": "refused", "store": row["store"],
                "what": "edit" if row["edit_id"] else "message", "edit": row["edit_id"], "reason": row["reason"],
                "type": row["type"], "folder": _shown(views[row["org"]], row["store"], row["folder"]),
                "item": items.get((row["org"], row["edit_id"])),
            }  # fmt: skip
        if played.turns:
            yield from lines.messages(played.made["messages"], views)

    def _items_of(self, edits: Iterable[str]) -> dict[tuple[str, str], str]:
        """The item that each of these edits is about: by its name if it has one, else by its id."""
        if not (ids := sorted(set(edits))):
            return {}
        rows = self._tables.read("edits").where(F.col("edit_id").isin(*ids)).select("org", "edit_id", "name", "item").collect()
        return {(row["org"], row["edit_id"]): row["name"] or row["item"] for row in rows}

    def status(self, org: str | None = None) -> Line:
        """The lake at a glance: its last round, when what is due, whether replicas are equal, what is missing and waits."""
        seen = self.answers(org=org)
        views = seen.views.values()
        read = items.readable(seen.versions()).toArrow().to_pylist() if any(map(lines.unlike, views)) else []
        alike = [lines.converged(stores, [row for row in read if row["org"] == name]) for name, stores in seen.views.items()]
        missing = sum(cntext.size(stores.missing(*here)[0]) for stores in views for here in stores.present())
        due = {name: lines.moment(due) for name, due in self._runner.due().items() if name in seen.views}
        waiting = sum(name in seen.views for name in seen.world["edits"]["org"].to_pylist())
        return {
            "kind": "status", "lake": self.where, "round": seen.snapshot.row.round,
            "at": {name: lines.moment(at) for name, at in seen.at.items()}, "next_due": due,
            "converged": all(alike) and not waiting and all(seen.played.values()), "missing": missing,
            "edits": waiting, "in_flight": seen.world["mail"].num_rows,
        }  # fmt: skip

    def audit(self, as_of: When = None) -> Iterator[Line]:
        """One line for each promise: what it says, how many rows break it, one of them; at last a certificate (`auditing`)."""
        return auditing.audit(self._tables, lambda: self.answers(as_of, standing=True), _as_of(as_of))

    def remedies(self) -> list[Remedy]:
        """What would mend the promises that are broken (`repair`): nothing is done yet."""
        return repair.plan(self.answers(standing=True))

    def mend(self, remedies: Sequence[Remedy]) -> None:
        """Does that: tables are taken back and bodies set aside in a round of upkeep, then stores begin new lives."""
        by_hand = [remedy for remedy in remedies if remedy.what != repair.NEW_LIFE]
        if by_hand:
            self._runner.tend(lambda: repair.undo(self._tables, by_hand))
            self._runner.close()  # the world it knows is the one that is undone
        for remedy in remedies:
            if remedy.what == repair.NEW_LIFE:
                self.restore(remedy.target, self._tables.snapshot().row.round, org=remedy.org)

    # Reading

    def table(self, name: str, as_of: When = None) -> DataFrame:
        """The valid rows of a table, now or after the last round of that number or not after that time."""
        return self._tables.read(name, _as_of(as_of))

    def state(
        self, as_of: When = None, *, store: str | None = None, folder: str | None = None, org: str | None = None
    ) -> DataFrame:
        """One row for each store and folder: its sets as text (`ranges` has them as ranges), what it believes and misses."""
        return self._frame("state", self.lines("state", as_of, org=org, store=store, folder=folder))

    def ranges(
        self, as_of: When = None, *, store: str | None = None, folder: str | None = None, org: str | None = None
    ) -> DataFrame:
        """One row for each range of each set of `state`, for `pfspark.cnset`: `entry` names the set, `about` whose it is.

        Entries are applied, empty, sent, missing and lost, `about` the store itself, and reported, about each other store.
        """
        own = [
            F.struct(F.lit(name).alias("entry"), F.col("store").alias("about"), F.col(name).alias("text"))
            for name in ("applied", "empty", "sent", "missing", "lost")
        ]
        others = F.transform(
            F.map_entries("reported"),
            lambda each: F.struct(F.lit("reported").alias("entry"), each["key"].alias("about"), each["value"].alias("text")),
        )
        sets = self.state(as_of, store=store, folder=folder, org=org)
        return cnset.from_text(sets.select(*HERE, F.inline(F.concat(F.array(*own), others))), "text")

    def replicas(
        self, as_of: When = None, *, store: str | None = None, folder: str | None = None, org: str | None = None
    ) -> DataFrame:
        """One row for each store and folder: what it misses since when, belief and truth about the others."""
        return self._frame("replica", self.lines("replicas", as_of, org=org, store=store, folder=folder))

    def folders(
        self, as_of: When = None, *, store: str | None = None, folder: str | None = None, org: str | None = None
    ) -> DataFrame:
        """One row for each folder that a store sees: its path, its id, how each replica of its list stands."""
        return self._frame("folder", self.lines("folders", as_of, org=org, store=store, folder=folder))

    def stores(self, as_of: When = None, *, store: str | None = None, org: str | None = None) -> DataFrame:
        """One row for each store of the directory."""
        return self._frame("store", self.lines("stores", as_of, org=org, store=store))

    def gaps(
        self, as_of: When = None, *, store: str | None = None, folder: str | None = None, org: str | None = None
    ) -> DataFrame:
        """One row for each range in a backfill array: since when, who was asked when, and when it is asked for (again)."""
        return self._frame("gap", self.lines("gaps", as_of, org=org, store=store, folder=folder))

    def referrals(
        self, as_of: When = None, *, store: str | None = None, folder: str | None = None, org: str | None = None
    ) -> DataFrame:
        """One row for each folder that a store sees: where it sends a reader."""
        return self._frame("referral", self.lines("referrals", as_of, org=org, store=store, folder=folder))

    def events(
        self, as_of: When = None, *, store: str | None = None, folder: str | None = None, org: str | None = None
    ) -> DataFrame:
        """One row for each replication event, as Exchange logs it."""
        return self._frame("event", self.lines("events", as_of, org=org, store=store, folder=folder))

    def items(
        self, store: str | None = None, folder: str | None = None, as_of: When = None, *, org: str | None = None
    ) -> DataFrame:
        """One row for each item as readers at each store see it: `item`, `version`, `path`, the columns of the winning change.

        A replica that is leaving shows no reader anything (R146).
        """
        known = self._world(as_of)
        own = state.held(self._known("state", known), replicas=items.open_to_readers(self._known("replicas", known)))
        if org or store or folder:
            org = self._org(org, *([store] if store else []))
            own = own.where(F.col("org") == org)
        if store:
            own = own.where(F.col("store") == store)
        if folder:
            own = own.where(F.col("folder").isin(*sorted(naming.folders_named(known, str(org), store, folder))))
        found = items.readable(items.versions(items.seen(self._known("changes", known), applied=own)))
        return found.withColumnRenamed("object", "item").join(self._paths(known), list(HERE), "left")

    def messages(
        self, as_of: When = None, *, store: str | None = None, folder: str | None = None, org: str | None = None
    ) -> DataFrame:
        """One row for each replication message, whole, its sets as ranges; `store`: who sends it, or gets it."""
        found = self.table("messages", as_of)
        if org or store or folder:
            org = self._org(org, *([store] if store else []))
            found = found.where(F.col("org") == org)
        if store:
            found = found.where((F.col("store") == store) | F.exists("recipients", lambda to: to["store"] == store))
        if folder:
            ids = naming.folders_named(self._world(as_of), str(org), None, folder)
            found = found.where(F.col("folder").isin(*sorted(ids)))
        return found

    def refer(
        self,
        store: str | None = None,
        folder: str | None = None,
        as_of: When = None,
        *,
        site: str | None = None,
        org: str | None = None,
    ) -> Iterator[Line]:
        """Where readers are sent: at a store, at each store of a site, or everywhere; for one folder, or all they see."""
        if store or folder or site:
            org = self._org(org, *([store] if store else []))
        seen = self.answers(as_of, org)
        sites = {(row["org"], row["store"]): row["site"] for row in seen.world["stores"].to_pylist()}
        if site and site not in sites.values():
            raise UsageError(f"no store is in the site {site!r}{nearest(site, sorted(set(sites.values())))}")
        named = naming.folders_named(seen.world, str(org), store, folder) if folder else None
        for line in seen.referrals():
            here = store in (None, line["store"]) and site in (None, sites[line["org"], line["store"]])
            if here and (named is None or line["id"] in named):
                yield line

    def event_logs(self, as_of: When = None, *, org: str | None = None) -> Iterator[Log]:
        """The replication events of each organization, as Exchange logs them."""
        return self.answers(as_of, org).logs()

    def rounds(self, as_of: When = None, *, org: str | None = None) -> DataFrame:
        """The ledger, a row for each round (`tables.TABLES`); of an organization, those in which it played."""
        found = self.table("rounds", as_of)
        if org is None:
            return found
        named = self._org(org)
        return found.where(F.exists("turns", lambda turn: turn["org"] == named))

    def lines(
        self, kind: str, as_of: When = None, *, org: str | None = None, store: str | None = None, folder: str | None = None
    ) -> Iterator[Line]:
        """The answer as JSON lines: state, replicas, items, folders, gaps, messages, events, referrals, stores, rounds.

        `store`: of messages also what it was sent. `folder`: its path, or its id where a line has it.
        Raises UsageError for a store or folder that is not known.
        """
        if kind not in KINDS:
            raise UsageError(f"found {kind!r}, expected {', '.join(KINDS)}{nearest(kind, KINDS)}")
        found = lines.about(KINDS[kind](self.answers(as_of, org)), store, folder)
        first = next(found, None)
        if first is None:
            self.expect(store, folder, as_of, org=org)
            return iter(())
        return chain([first], found)

    @property
    def organizations(self) -> list[str]:
        """The names of the organizations."""
        return sorted(name for (name,) in self._directory("organizations"))

    def expect(self, store: str | None, folder: str | None, as_of: When = None, *, org: str | None = None) -> None:
        """Raises UsageError unless there is such a store, and some store sees such a folder; what is not named is not asked."""
        viewers = [(of, each) for of, each in self._directory("stores") if org in (None, of)]
        stores = sorted({each for _, each in viewers})
        if store and store not in stores:
            raise UsageError(f"the store {store!r} is not known{nearest(store, stores)}")
        if folder and folder != HIERARCHY:
            world = self._world(as_of)
            paths = sorted({path for of, viewer in viewers for path in naming.seen_paths(world, of, viewer)})
            if folder not in paths:
                raise UsageError(f"the folder {folder!r} is not known{nearest(folder, paths)}")

    def answers(self, as_of: When = None, org: str | None = None, standing: bool = False) -> Answers:
        """The lake as it is now, or was after a round, to be asked: all organizations, or one.

        `standing`: with what other hands have written into its tables since the last round.
        """
        if org is not None:
            self._org(org)
        snapshot = self._tables.snapshot(_as_of(as_of))
        if standing and as_of is None:
            snapshot = replace(snapshot, standing=True)
        world = kept_world(snapshot).tables if snapshot.standing else self._world(as_of)
        orgs = {name: row for (name,), row in self._directory("organizations", snapshot).items() if org in (None, name)}
        policies = {}
        for name, row in list(orgs.items()):
            try:
                policies[name] = policy_of(row)
            except UsageError:
                if org is not None:
                    raise
                del orgs[name]  # it does not play (`unfit`), and the others are asked all the same
        last = clocks(snapshot)
        parted = lines.ByOrg(world)
        return Answers(
            snapshot,
            world,
            views={name: lines.Stores(parted, name, apart=True) for name in sorted(orgs)},
            at={name: last[name] if name in last else row["start"] for name, row in orgs.items()},
            played={name: name in last for name in orgs},
            policies=policies,
        )

    def _paths(self, known: Mapping[str, pa.Table]) -> DataFrame:
        rows = []
        for org in sorted(set(known["tree"]["org"].to_pylist())):
            stores = lines.Stores(known, org)
            rows += [(org, store, folder, stores.path(store, folder)) for store in stores.stores for folder in stores.tree[store]]
        return self._tables.spark.createDataFrame(rows, "org string, store string, folder string, path string")

    def _frame(self, kind: str, rows: Iterable[Line]) -> DataFrame:
        """Lines of a kind as rows of a frame, their times as timestamps."""
        told, final = struct(LINES[kind].ddl.replace("timestamp", "string")), struct(LINES[kind].ddl)
        said = [{name: list(cell.items()) if isinstance(cell, dict) else cell for name, cell in row.items()} for row in rows]
        texts = local(self._tables.spark, arrow(told, said), told)
        return texts.select(*[F.col(column.name).cast(column.dataType) for column in final])

    def _known(self, name: str, world: Mapping[str, pa.Table]) -> DataFrame:
        return as_frame(self._tables.spark, name, world[name])

    # The world that is asked

    def _world(self, as_of: When = None) -> Mapping[str, pa.Table]:
        if as_of is None:
            return self._runner.kept().tables
        snapshot = self._tables.snapshot(_as_of(as_of))
        if self._views is None or self._views[0] != snapshot.row.round:
            self._views = snapshot.row.round, kept_world(snapshot).tables
        return self._views[1]

    def _tree_world(self) -> Mapping[str, pa.Table]:
        """As much of the world as the paths of folders need."""
        if self._runner.has_world:
            return self._runner.kept().tables
        snapshot = self._tables.snapshot()
        at = snapshot.row.round, self._tables.version("edits")
        if self._trees is None or self._trees[0] != at:
            self._trees = at, as_kept(self._tables.spark, trees(snapshot)).tables
        return self._trees[1]

    def _directory(self, name: str, snapshot: Snapshot | None = None) -> dict[tuple[str, ...], Line]:
        """The entries of a table of the directory by their keys."""
        version = snapshot.people[name] if snapshot and name in snapshot.people else self._tables.version(name)
        if name not in self._entries or self._entries[name][0] != version:
            rows = entries(snapshot or self._tables.snapshot(), name).toArrow().to_pylist()
            self._entries[name] = version, {tuple(row[key] for key in DIRECTORY[name]): row for row in rows}
        return self._entries[name][1]

    def _organization(self, org: str | None) -> Line:
        """The organization of that name, or the only one."""
        orgs = self._directory("organizations")
        names = sorted(name for (name,) in orgs)
        if not orgs:
            raise UsageError(f"{self.where} has no organization yet; make one with Lake.organization()")
        if org is None and len(orgs) > 1:
            raise UsageError(f"{self.where} has several organizations, so name one: {', '.join(names)}")
        if org is not None and org not in names:
            raise UsageError(f"the organization {org!r} is not known{nearest(org, names)}")
        return orgs[org or names[0],]

    def _org(self, org: str | None, *stores: str) -> str:
        """The name of the organization, in which these stores are."""
        name = str(self._organization(org)["org"])
        known = [store for of, store in self._directory("stores") if of == name]
        for store in stores:
            if store not in known:
                hint = nearest(store, known) or "; there is none yet, add one with Lake.store()"
                raise UsageError(f"the store {store!r} is not known in {name!r}{hint}")
        return name

    def _say(self, name: str, known: Line | None, row: Line) -> None:
        """A row of the directory; it is the latest of its key whatever the clock did meanwhile."""
        now = datetime.now(UTC)
        at = max(now, known["at"] + timedelta(microseconds=1)) if known else now
        said = rows_of(name, [{**row, "at": at}])
        self._tables.append(name, said)
        version, entries = self._entries[name]
        if self._tables.version(name) == version + 1:  # nobody else has said anything meanwhile
            [entry] = said.to_pylist()
            self._entries[name] = version + 1, {**entries, tuple(entry[key] for key in DIRECTORY[name]): entry}

    # Edits

    def _edit(
        self,
        org: str | None,
        store: str,
        action: Action,
        folder: str | None,
        sets: Mapping[str, str],
        at: When,
        *,
        body: bytes | None = None,
        name: str | None = None,
        item: str | None = None,
        edit_id: str | None = None,
    ) -> str:
        org = self._org(org, store)
        target = None if folder is None else self._folder(org, store, folder)
        written = datetime.now(UTC)
        digest = None if body is None else hashlib.sha256(body).hexdigest()
        row = {
            "org": org, "edit_id": edit_id or f"{action}:{uuid.uuid4().hex}", "store": store, "at": self._at(at) or written,
            "place": time.time_ns(), "action": str(action), "folder": target,
            "item": item and self._item(org, store, str(target), item), "name": name,
            "properties": list(sets.items()), "size": len(body or b""), "hash": digest, "written": written,
        }  # fmt: skip
        self._check(row, folder or "")
        if edit_id:
            row["edit_id"] = self._id_of(org, edit_id)
        edit = rows_of("edits", [row])
        if body is not None:  # before the edit: an edit whose body is not there would be a promise
            self._tables.append("content", rows_of("content", [{"hash": digest, "body": body, "size": len(body), "at": written}]))
        self._tables.append("edits", edit)
        return str(row["edit_id"])

    def _at(self, said: When) -> datetime | None:
        """A time that somebody says; one far ahead must be meant."""
        at = _time(said)
        return at and confirmed(at, ahead=self._ahead)

    def _check(self, row: Line, called: str) -> None:
        """Raises RefusedError where the store would refuse an edit by what it sees now (`door`)."""
        org, store, folder = str(row["org"]), str(row["store"]), row["folder"]

        def nearest_store() -> str:
            if folder.startswith("@"):
                return "; say --replicas where it is created"
            [named] = [line["stores"] for line in self.refer(store, folder, org=org)] or [[]]
            return f"; the nearest store that has one is {named[0]}" if named else "; no store has one as it sees the list"

        door.check(self._tree_world(), row, called, nearest_store)

    def _id_of(self, org: str, edit_id: str) -> str:
        """That id, unless the edit of that id was refused or is lost: then one that is new (`repeats`)."""
        told = self._made(org, F.col("edit_id").startswith(edit_id) | F.col("edit_id").startswith("again:"))
        rows = told.where((F.col("first") == edit_id) & ~F.col("counts")).collect()
        return f"{edit_id}~{rows[0]['times'] + 1}" if rows else edit_id

    def _made(self, org: str, these: Column) -> DataFrame:
        """How edits of an organization stand by the id of their first making; see `repeats.made`."""
        mine = (F.col("org") == org) & these
        snapshot = self._tables.snapshot()
        edits, receipts, changes = (snapshot.read(name).where(mine) for name in ("edits", "receipts", "changes"))
        lost = changes.limit(0)
        if snapshot.restores:
            world = self._world()
            held = state.held(self._known("state", world), replicas=self._known("replicas", world))
            lost = repeats.lost(changes, held=held, mail=self._known("mail", world))
        return repeats.made(edits, receipts=receipts, lost=lost)

    def _folder(self, org: str, store: str, folder: str) -> str:
        """The id of a folder that a store sees by that path (R149); of one whose creation waits, `@` and the edit."""
        [found] = naming.folders_named(self._tree_world(), org, store, folder)
        return found

    def _creation_of(self, org: str, folder: str) -> str:
        """A name for a folder that it has from the edit that makes it on: that edit, else its id."""
        made = self._tables.read("changes").where(
            (F.col("org") == org)
            & (F.col("folder") == HIERARCHY)
            & (F.col("object") == folder)
            & (F.col("action") == Action.CREATE_FOLDER)
        )
        found = [row["edit_id"] for row in made.select("edit_id").collect() if row["edit_id"]]
        return f"@{found[0]}" if found else folder

    def _item(self, org: str, store: str, folder: str, item: str) -> str:
        """The id of an item that a store sees, by it or by its name; of one whose post waits, `@` and the edit.

        Raises RefusedError where it is not there, or deleted.
        """
        edits = [
            row for row in self._tree_world()["edits"].to_pylist()
            if row["org"] == org and row["store"] == store and row["folder"] == folder
        ]  # fmt: skip
        rows = [(row["name"], f"@{row['edit_id']}", False) for row in edits if row["action"] == Action.POST]
        if not folder.startswith("@"):
            seen = self.items(store, folder, org=org).select("name", "item", "deleted").collect()
            rows = [(row["name"], row["item"], row["deleted"]) for row in seen] + rows
        gone = {row["item"] for row in edits if row["action"] == Action.DELETE} | {ref for _, ref, dead in rows if dead}
        names = {ref: name for name, ref, _ in rows}
        if item.startswith("@") and item not in names:
            taken = self._tables.read("changes").where((F.col("org") == org) & (F.col("edit_id") == item[1:]))
            item = next((str(row["object"]) for row in taken.select("object").collect()), item)
        if item in gone and item in names:
            raise RefusedError(f"the item {item} is deleted at {store}, and can no longer be changed")
        named = [item] if item in names else [ref for ref, name in names.items() if name == item and ref not in gone]
        if len(named) > 1:
            raise RefusedError(f"{len(named)} items are called {item!r}: name one by its id ({_some(named)})")
        if not named:
            there = [name for ref, name in names.items() if name and ref not in gone]
            raise RefusedError(f"the item {item!r} is not known in that folder at {store}{nearest(item, there)}")
        return named[0]


def _shown(stores: lines.Stores, store: str, folder: str | None) -> str | None:
    """The path of a folder; of one that the store does not see, what names it."""
    return stores.path(store, folder) if folder == HIERARCHY or folder in stores.tree[store] else folder


def _some(names: Sequence[str]) -> str:
    return ", ".join([*names[:3], *["…"] * (len(names) > 3)])


def _body(body: object) -> bytes:
    """Bytes as they are, a text in UTF-8."""
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(body)
    if isinstance(body, str):
        try:
            return body.encode()
        except UnicodeEncodeError:
            raise UsageError(f"found {body[:60]!r}, expected a text that UTF-8 can write, or bytes") from None
    raise UsageError(f"found a body of type {type(body).__name__}, expected bytes, or a text to be written in UTF-8")


def _folder_name(name: str) -> str:
    if not FOLDER_NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name of a folder: anything but / and control characters, 1 to 255 of them")
    return name


def _properties(props: Mapping[str, Any]) -> dict[str, str]:
    """Properties of a folder as an edit holds them."""
    for name in props:
        if name not in FOLDER_PROPERTIES:
            raise UsageError(f"a folder has no {name!r}{nearest(name, FOLDER_PROPERTIES)}")
    return set_properties({name: FOLDER_PROPERTIES[name](value) for name, value in props.items() if value is not None})


def _time(said: When) -> datetime | None:
    return None if said is None else parse_time(said if isinstance(said, datetime) else str(said))


def _envelope(properties: Iterable[Mapping[str, str]]) -> bytes | None:
    """The line that an mbox had before the item, if it came from one."""
    said = next((each["value"] for each in properties if each["name"] == ENVELOPE), None)
    return None if said is None else said.encode("latin-1", "replace")


def _unaltered(item: str, hash: str, body: bytes) -> bytes:
    if hashlib.sha256(body).hexdigest() != hash:
        raise LakeError(f"the body of {item} is not what was posted: its hash is another. `pfspark audit --repair-plan`")
    return body


def _as_of(said: When) -> AsOf:
    """A round by its number, or a time."""
    if isinstance(said, int) or (isinstance(said, str) and said.isascii() and said.isdigit()):
        return int(said)
    return _time(said)
