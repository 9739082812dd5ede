"""What can be asked of a lake: frames, lines, answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark import cnset, cntext
from pfspark.ask import lines
from pfspark.ask.lines import Asked
from pfspark.ask.stores import ByOrg, Stores
from pfspark.edge.asked import naming
from pfspark.edge.asked.answers import Answers
from pfspark.edge.delta.damage import damage
from pfspark.edge.spark.crossing import to_frame
from pfspark.edge.world.directory import directory, policies_of, policy_of
from pfspark.edge.world.facts import world_between
from pfspark.edge.world.turns import clocks
from pfspark.errors import LakeError, UsageError
from pfspark.keyed import ByName, of_folders
from pfspark.keys import HERE
from pfspark.lake.known import Known, When, round_or_time
from pfspark.printed import LINES, Line
from pfspark.rows import arrow, local, of_lines, struct
from pfspark.rules import items, state
from pfspark.units import nearest, unfit, unknown
from pfspark.words import HIERARCHY

if TYPE_CHECKING:
    from pfspark.ask.about import About
    from pfspark.ask.events import Log
    from pfspark.edge.report import Page


def _events(seen: Answers) -> Iterator[Line]:
    from pfspark.edge.asked import eventlog  # a short command makes none

    return eventlog.told(seen)


KINDS: dict[str, Callable[[Answers], Iterator[dict[str, Any]]]] = {
    "state": Answers.state, "items": Answers.items, "folders": Answers.folders, "gaps": Answers.gaps,
    "messages": Answers.messages, "stores": Answers.stores, "replicas": Answers.replicas, "events": _events,
    "referrals": Answers.referrals, "rounds": Answers.rounds, "links": Answers.links, "options": Answers.options,
    "edits": Answers.edits,
}  # fmt: skip
"""What can be asked for as lines."""
OF_REPLICAS: dict[str, Callable[[Answers, Asked], Iterator[dict[str, Any]]]] = {
    "state": Answers.state, "items": Answers.items, "replicas": Answers.replicas,
}  # fmt: skip
"""Those of which no more is made than what is asked about one store or folder."""


class Questions(Known):
    """A lake that is asked."""

    def table(self, name: str, as_of: When = None, *, org: str | None = None) -> DataFrame:
        """The valid rows of a table, of all organizations, now or as of a round or a time. A time is that of the organization, if
        one is named; else the last round counts before any organization had passed that time."""
        return self._tables.read(name, round_or_time(as_of), org)

    def state(
        self, as_of: When = None, *, store: str | None = None, folder: str | None = None, org: str | None = None
    ) -> DataFrame:
        """One row for each store and folder: its sets as text (`ranges` has them as ranges), what it believes and misses."""
        return self._frame("state", self.lines("state", as_of, org=org, store=store, folder=folder))

    def ranges(
        self, as_of: When = None, *, store: str | None = None, folder: str | None = None, org: str | None = None
    ) -> DataFrame:
        """One row for each range of each set of `state`, for `pfspark.cnset`: `entry` names the set, `about` whose it is.

        `id`: the folder's, where the store sees two of that path.
        Entries are applied, empty, sent, missing and lost, `about` the store itself, and reported, about each other store.
        """
        sets = self.state(as_of, store=store, folder=folder, org=org)
        own = [
            F.struct(F.lit(name).alias("entry"), F.col("store").alias("about"), F.col(name).alias("text"))
            for name in ("applied", "empty", "sent", "missing", "lost")
        ]
        others = F.transform(
            F.map_entries("reported"),
            lambda each: F.struct(F.lit("reported").alias("entry"), each["key"].alias("about"), each["value"].alias("text")),
        )
        return cnset.from_text(sets.select(*HERE, "id", F.inline(F.concat(F.array(*own), others))), "text")

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

    def links(self, as_of: When = None, *, org: str | None = None) -> DataFrame:
        """One row for each link from one site to another."""
        return self._frame("link", self.lines("links", as_of, org=org))

    def options(self, as_of: When = None, *, org: str | None = None) -> DataFrame:
        """One row for each option of an organization: its value, its profile's, and what it is about."""
        return self._frame("option", self.lines("options", as_of, org=org))

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
        if {org, store, folder} != {None}:
            org = self._org(org, store)
        seen = self.answers(as_of, org, near=_named(folder), store=store)
        asked = None if folder is None else naming.folders_asked(seen.world, str(org), store, folder)
        views = {name: seen.world[name] for name in ("state", "replicas", "changes")}
        if asked is not None:  # of a large lake the rest need not go to Java
            views = {name: of_folders(rows, asked) for name, rows in views.items()}
        own = state.contents_of(self._frame_of("state", views), replicas=items.open_to_readers(self._frame_of("replicas", views)))
        own = own.where(F.col("org").isin(*seen.views))
        if store is not None:
            own = own.where(F.col("store") == store)
        found = items.readable(items.versions(items.seen(self._frame_of("changes", views), applied=own)))
        named = found.withColumnRenamed("object", "item").join(self._paths(seen, asked), list(HERE), "left")
        return named.withColumn("conflict", F.col("conflict") & ~F.coalesce("quiet", F.lit(False))).drop("quiet")

    def messages(
        self, as_of: When = None, *, store: str | None = None, folder: str | None = None, org: str | None = None
    ) -> DataFrame:
        """One row for each replication message, whole, its sets as ranges; `store`: who sends it, or gets it."""
        if {org, store, folder} != {None}:
            org = self._org(org, store)
        found = self.table("messages", as_of, org=org)
        if org is not None:
            found = found.where(F.col("org") == org)
        if store is not None:
            found = found.where((F.col("store") == store) | F.exists("recipients", lambda to: to["store"] == store))
        if folder is not None:
            ids = naming.folders_asked(self._world(as_of, org, near=[folder]), str(org), None, folder)
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
        if {store, folder, site} != {None}:
            org = self._org(org, store)
        seen = self.answers(as_of, org, near=_named(folder), store=store)
        sites = {(row["org"], row["store"]): row["site"] for row in seen.world["stores"].to_pylist() if row["org"] in seen.views}
        if site is not None and site not in sites.values():
            raise UsageError(f"no store is in the site {site!r}{nearest(site, sorted(set(sites.values())))}")
        named = naming.folders_asked(seen.world, str(org), store, folder) if folder is not None else None
        for line in seen.referrals(named):
            if store in (None, line["store"]) and site in (None, sites[line["org"], line["store"]]):
                yield line

    def event_logs(self, as_of: When = None, *, org: str | None = None) -> Iterator[Log]:
        """The replication events of each organization, as Exchange logs them."""
        from pfspark.edge.asked import eventlog

        return eventlog.logs(self.answers(as_of, org))

    def rounds(self, as_of: When = None, *, org: str | None = None) -> DataFrame:
        """The ledger, a row for each round (`tables.TABLES`); of an organization, those in which it played."""
        named = None if org is None else self._org(org)
        found = self.table("rounds", as_of, org=named)
        if named is None:
            return found
        return found.where(F.exists("turns", lambda turn: turn["org"] == named))

    def why(
        self,
        item: str | None = None,
        *,
        folder: str | None = None,
        store: str | None = None,
        as_of: When = None,
        org: str | None = None,
    ) -> DataFrame:
        """One row for each range of which one thing can be said: that it is at a store, or why not, and what happens next.

        `item` is a name, a number (`PFS1:7`) or a set of them, or `@` and an edit; without it: all that is not there. `store` and
        `folder`: without them every replica is asked about.
        """
        return self._frame("why", self.why_lines(item, folder=folder, store=store, as_of=as_of, org=org))

    def why_lines(
        self,
        item: str | None = None,
        *,
        folder: str | None = None,
        store: str | None = None,
        as_of: When = None,
        org: str | None = None,
    ) -> Iterator[Line]:
        """What `why` gives as JSON lines.

        Raises UsageError for a folder or store that is not known, and for an item that the folder does not have.
        """
        from pfspark.edge.asked import explained

        if item is not None and folder is None:
            raise UsageError(f"found the item {item!r}, expected its folder too: --folder")
        if {store, folder} != {None}:
            org = self._org(org, store)
        seen = self.answers(as_of, org, near=_named(folder))
        if org is not None:
            expect_there(seen, org)
        about = [each for each in explained.replicas_that_should(seen) if store in (None, each.store)]
        if org is not None and folder is not None:
            about = _in_folder(seen, org, folder, store, item, should=about)
        found = _if_any(explained.why(seen, about))
        if found is None and item is not None:
            raise _no_such_item(seen, org, folder, item)
        return found or iter(())

    def trace(self, item: str, *, folder: str, store: str | None = None, as_of: When = None, org: str | None = None) -> DataFrame:
        """One row for each thing that happened to an item's numbers on their way: given, sent, arrived, lost, asked for, applied.

        `item` is a name, a number (`PFS1:7`) or a set of them, or `@` and an edit; `store`: only what it took part in.
        """
        return self._frame("hop", self.trace_lines(item, folder=folder, store=store, as_of=as_of, org=org))

    def trace_lines(
        self, item: str, *, folder: str, store: str | None = None, as_of: When = None, org: str | None = None
    ) -> Iterator[Line]:
        """What `trace` gives as JSON lines, in order of time.

        Raises UsageError for a folder or store that is not known, and for an item that the folder does not have.
        """
        from pfspark.ask.about import About
        from pfspark.ask.hops import took_part
        from pfspark.edge.asked import explained

        org = self._org(org, store)
        seen = self.answers(as_of, org, near=[folder])
        named = sorted(naming.folders_asked(seen.world, org, None, folder))
        asked = [row for one in named for row in About.of(seen.world, org, "", one, item).ranges()]
        found = _if_any(explained.follow(seen, asked, partial(self._when_asking, org, named)))
        if found is None:
            raise _no_such_item(seen, org, folder, item)
        return (line for line in found if took_part(line, store))

    def _when_asking(self, org: str, folders: Collection[str], number: int) -> ByName | None:
        """What the stores of an organization went by as they asked about those folders in a round; None where upkeep has let go
        of it."""
        from pfspark.edge.asked import explained

        try:
            return explained.when_asking(self.answers(number, org, near=folders))
        except Exception as error:
            if isinstance(error, LakeError) or damage(error):
                return None
            raise

    def report(self, as_of: When = None, *, org: str | None = None) -> Page:
        """A page that works offline (`html`), and that a notebook shows: who has what, what is missing and why, what went on."""
        from pfspark.edge.report import page

        org = self._org(org)
        return page(expect_there(self.answers(as_of, org), org), org)

    def diff(self, before: When, after: When = None, *, org: str | None = None) -> DataFrame:
        """One row for each thing that changed between two rounds or times: trees, lists, standings, numbers held, holes."""
        return self._frame("diff", self.diff_lines(before, after, org=org))

    def diff_lines(
        self, before: When, after: When = None, *, store: str | None = None, folder: str | None = None, org: str | None = None
    ) -> Iterator[Line]:
        """What `diff` gives as JSON lines, by organization, store and folder.

        `folder`: its path at either moment, or its id. Raises UsageError for a store or folder that is not known.
        """
        return self._known(filter(Asked(store).about, self._changes(before, after, org, folder)), store, after, org)

    def _changes(self, before: When, after: When, org: str | None, folder: str | None) -> Iterator[Line]:
        from pfspark.ask import diff

        then, now = self.answers(before, org), self.answers(after, org)
        named = None if folder is None else _named_in((now, then), folder)
        worlds = [{name: seen.world[name] for name in diff.VIEWS} for seen in (then, now)]
        if named is not None:
            worlds = [{name: of_folders(rows, named) for name, rows in world.items()} for world in worlds]
        views = ({name: self._frame_of(name, world) for name in world} for world in worlds)
        at = {**then.at, **now.at}
        rows = diff.changed(*views).where(F.col("org").isin(*at)).toArrow().to_pylist()
        called = diff.called({(row["org"], row["store"], row["folder"]) for row in rows}, (now.views, then.views))
        for row in sorted(rows, key=lambda row: (*(row[name] for name in HERE), diff.WHAT.index(row["what"]), row["name"] or "")):
            yield {
                "org": row["org"], "at": lines.moment(at[row["org"]]), "kind": "diff", "store": row["store"],
                **called[row["org"], row["store"], row["folder"]],
                **{name: row[name] for name in ("what", "name", "before", "after")},
            }  # fmt: skip

    def status_lines(self, as_of: When = None, *, org: str | None = None) -> Iterator[Line]:
        """One JSON line for each organization: whether its active replicas are equal, and what is still to come.

        One that was not played yet is not equal: what was said and done there waits for its first round.
        """
        return self.answers(as_of, org).status(None if as_of is not None else datetime.now(UTC))

    def overdue(self, age: timedelta = timedelta(0), *, as_of: When = None, org: str | None = None) -> list[str]:
        """What is late, a sentence each: missing, waiting or due for longer than that by the clock on the wall, or by that of the
        organization after an earlier round; and organizations that do not play."""
        seen = self.answers(as_of, org)
        _, unfit = policies_of(**directory(seen.snapshot))
        return [why for of, why in sorted(unfit.items()) if org in (None, of)] + list(
            seen.overdue(age, None if as_of is not None else datetime.now(UTC))
        )

    def lines(
        self, kind: str, as_of: When = None, *, org: str | None = None, store: str | None = None, folder: str | None = None
    ) -> Iterator[Line]:
        """The answer as JSON lines: state, replicas, items, folders, gaps, messages, events, referrals, stores, links, options,
        edits, rounds.

        `store`: of messages also what it was sent. `folder`: its path, or its id where a line has it.
        Raises UsageError for a store or folder that is not known.
        """
        if kind not in KINDS:
            raise unfit(kind, ", ".join(KINDS) + nearest(kind, KINDS))
        seen = self.answers(as_of, org, near=_named(folder))
        asked = self._asked(seen, store, folder)
        if kind in OF_REPLICAS and (store, folder) != (None, None):
            return self._known(OF_REPLICAS[kind](seen, asked), store, as_of, org, folder)
        found: Iterable[Line] = KINDS[kind](seen)
        if kind == "rounds" and org is not None:
            found = (line for line in found if org in line["turns"])
        return self._known(filter(asked.about, found), store, as_of, org, folder)

    def last_edits(
        self, most: int, as_of: When = None, *, org: str | None = None, store: str | None = None, folder: str | None = None,
        outcome: str | None = None,
    ) -> Iterator[Line]:  # fmt: skip
        """The last edits of each organization, at `most` so many, as lines: about a store or folder, of one outcome."""
        seen = self.answers(as_of, org, near=_named(folder))
        asked = self._asked(seen, store, folder)
        found = seen.last_edits(lambda line: asked.about(line) and outcome in (None, line["outcome"]), most)
        return self._known(found, store, as_of, org, folder)

    def _asked(self, seen: Answers, store: str | None, folder: str | None) -> Asked:
        """Lines about that store and folder, as any store calls it."""
        name = None if folder is None else naming.as_lines_name(folder)
        called = set() if name in (None, HIERARCHY) else {*_names(seen, name)}
        return Asked(store, name, called)

    def _known(
        self, found: Iterator[Line], store: str | None, as_of: When, org: str | None, folder: str | None = None
    ) -> Iterator[Line]:
        """The lines found about that store or folder; where there is none, both must be known."""
        if (some := _if_any(found)) is None:
            self.expect(store, folder, as_of, org=org)
        return some or iter(())

    def expect(self, store: str | None, folder: str | None, as_of: When = None, *, org: str | None = None) -> None:
        """Raises UsageError unless there is such a store, and some store sees such a folder; what is not named is not asked."""
        viewers = [(of, each) for of, each in self._directory("stores") if org in (None, of)]
        stores = sorted({each for _, each in viewers})
        if store is not None and store not in stores:
            raise unknown("the store", store, stores)
        if folder is not None and folder != HIERARCHY:
            world = self._world(as_of, org)
            path = naming.as_lines_name(folder)
            if path.startswith("/") and any(naming.of_path(world, of, viewer, path) for of, viewer in viewers):
                return
            seen = [naming.seen_paths(world, of, viewer) for of, viewer in viewers]
            ids = {each for paths in seen for named in paths.values() for each in named}
            paths = sorted({path for each in seen for path in each})
            if path not in {*paths, *ids}:
                raise naming.unknown_folder(world, sorted({of for of, _ in viewers}), folder, paths)

    def answers(
        self,
        as_of: When = None,
        org: str | None = None,
        as_found: bool = False,
        *,
        near: Collection[str] = (),
        store: str | None = None,
    ) -> Answers:
        """The lake as it is now, or was after a round, to be asked: all organizations, or one.

        `as_found`: with what other hands have written into its tables since the last round. `near`: folders of which alone
        something is asked, as that store, or any, calls them.
        """
        if org is not None:
            self._org(org)
        snapshot = self._tables.snapshot(round_or_time(as_of), org)
        if as_found and as_of is None:
            snapshot = replace(snapshot, as_found=True)
        world = world_between(snapshot).tables if snapshot.as_found else self._world(as_of, org, near=near, store=store)
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
        parted = ByOrg(world)
        return Answers(
            snapshot,
            world,
            views={name: Stores(parted, name) for name in sorted(orgs)},
            at={name: last[name] if name in last else row["start"] for name, row in orgs.items()},
            played={name: name in last for name in orgs},
            policies=policies,
            organizations=orgs,
            next_due=self._runner.due() if as_of is None and not as_found else snapshot.row.next_due,
        )

    def _paths(self, seen: Answers, asked: Collection[str] | None) -> DataFrame:
        """The `path` of each folder that a store sees, or of those `asked` about alone, and whether its conflicts are `quiet`:
        there the last writer wins."""
        quiet, schema = seen.quiet(), struct("org string, store string, folder string, path string, quiet boolean")
        views = seen.views if asked is None else {org: stores.near(asked) for org, stores in seen.views.items()}
        rows = (
            {**dict(zip(HERE, here, strict=True)), "path": stores.path(*here[1:]), "quiet": here in quiet}
            for org, stores in views.items()
            for store in stores.stores
            for here in ((org, store, folder) for folder in stores.tree[store] if asked is None or folder in asked)
        )
        return to_frame(self._tables.spark, arrow(schema, rows), schema)

    def _frame(self, kind: str, rows: Iterable[Line]) -> DataFrame:
        """Lines of a kind as rows of a frame, their times as timestamps."""
        texts = local(self._tables.spark, of_lines(kind, rows), struct(LINES[kind].ddl.replace("timestamp", "string")))
        return texts.select(*[F.col(column.name).cast(column.dataType) for column in struct(LINES[kind].ddl)])


def _named(folder: str | None) -> list[str]:
    """The folders that are named."""
    return [] if folder is None else [folder]


def _if_any(found: Iterator[Line]) -> Iterator[Line] | None:
    """The same lines; None where there is none."""
    first = next(found, None)
    return None if first is None else chain([first], found)


def _in_folder(
    seen: Answers, org: str, folder: str, store: str | None, item: str | None, *, should: Sequence[About]
) -> list[About]:
    """What is asked about one folder, at one store or at all that `should` have it; of an item also who was never meant to have
    it is told, as of a folder that waits to be made."""
    from pfspark.ask.about import About

    asked: list[About] = []
    for one in sorted(naming.folders_asked(seen.world, org, None, folder)):
        has = {each.store for each in should if each.folder == one}
        stores = has if has and item is None else has.union(seen.views[org].members)
        asked += (About.of(seen.world, org, each, one, item) for each in (sorted(stores) if store is None else [store]))
    return asked


def _no_such_item(seen: Answers, org: str | None, folder: str | None, item: str) -> UsageError:
    named = naming.folders_asked(seen.world, str(org), None, str(folder))
    here = (pc.field("org") == org) & pc.field("folder").isin(sorted(named)) & pc.field("name").is_valid()
    known = seen.world["changes"].filter(here)["name"].unique().to_pylist()
    told = f"{folder} has no item and no number {item!r}{nearest(item, known)}"
    return UsageError(f"{told}; see `pfspark items --folder {folder}`")


def _names(seen: Answers, folder: str) -> Iterator[tuple[str, str, str]]:
    """Of each folder that has that id, or that any store sees by that path: its id and its path as each store sees it, as org,
    store, name."""
    parted = ByOrg({name: seen.world[name] for name in ("stores", "tree", "folders", "edits")})
    for org, stores in seen.views.items():
        if folder.startswith("@") or cntext.is_number(folder):
            named = {folder}
        else:
            own = {name: parted.part(name, org) for name in ("stores", "tree", "folders", "edits")}
            named = {each for viewer in naming.stores_of(own, org) for each in naming.of_path(own, org, viewer, folder)}
        near = stores.near(named)
        for viewer in near.stores:
            for each in named & near.tree.get(viewer, {}).keys():
                yield org, viewer, each
                yield org, viewer, near.path(viewer, each)


def _named_in(moments: Sequence[Answers], folder: str) -> set[str]:
    """The folders that have that path, or id, in the eyes of any store at any of these moments.

    Raises UsageError where there is none.
    """
    if folder == HIERARCHY:
        return {folder}
    worlds = [(seen.world, org) for seen in moments for org in seen.views]
    if cntext.is_number(folder):
        named = {folder for world, _ in worlds if pc.any(pc.equal(world["tree"]["folder"], folder)).as_py()}
    else:
        viewers = ((*each, viewer) for each in worlds for viewer in naming.stores_of(*each))
        named = {each for viewer in viewers for each in naming.of_path(*viewer, folder)}
    if not named:
        paths = {path for each in worlds for viewer in naming.stores_of(*each) for path in naming.seen_paths(*each, viewer)}
        raise unknown("the folder", folder, sorted(paths))
    return named


def expect_there(seen: Answers, org: str) -> Answers:
    """Raises LakeError where the organization was not there yet."""
    if org not in seen.views:
        raise LakeError(f"the organization {org!r} was not there yet after round {seen.snapshot.row.round}")
    return seen
