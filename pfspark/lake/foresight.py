"""What a change or an outage would do: the lake's own world, played forward in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from pfspark import cnset
from pfspark.ask import drain, lines
from pfspark.edge.asked import naming
from pfspark.edge.asked.answers import Answers
from pfspark.errors import RefusedError, UsageError
from pfspark.files.documents import Document
from pfspark.keyed import ByName, semi_join
from pfspark.lake.known import When, time_of
from pfspark.lake.questions import expect_there
from pfspark.lake.rounds import Rounds
from pfspark.printed import Line
from pfspark.units import counted
from pfspark.words import HIERARCHY, LAST

if TYPE_CHECKING:
    from pfspark.sim.whatif import Progress

WITH_STEPS = "with the steps"
"""What the world is called in which one file of steps is done."""


class Foresight(Rounds):
    """A lake whose future can be asked for."""

    def whatif(
        self,
        steps: Document | None = None,
        *,
        variants: Mapping[str, Document] | None = None,
        until: When | timedelta,
        as_of: When = None,
        org: str | None = None,
    ) -> DataFrame:
        """One row for the world as it is, and one for the world in which `steps` are done, played on side by side.

        `steps`: a file in the language of scenario files ([[steps]], [[faults]], [[links]], [policy], profile), or what one
        says; `variants`: several such, by their names, played together. Their times count from the organization's last round, as
        does `until` where it is a length of time. The tables stay as they are.
        """
        return self._frame("whatif", self.whatif_lines(steps, variants=variants, until=until, as_of=as_of, org=org))

    def whatif_lines(
        self,
        steps: Document | None = None,
        *,
        variants: Mapping[str, Document] | None = None,
        until: When | timedelta,
        as_of: When = None,
        org: str | None = None,
        called: str = "steps",
        progress: Progress = lambda done, total: None,
    ) -> Iterator[Line]:
        """What `whatif` gives as JSON lines; `progress` is told how much time was played, in all worlds, and how much will be.
        `called`: what stands in errors about what is done, where that is no file.

        Raises ScenarioError for steps that cannot be played, UsageError for an end that is not after the last round.
        """
        org = self._org(org)
        seen = self.answers(as_of, org)
        end = self._end(seen, org, until)
        from pfspark.lake import outlook

        named = {**({} if steps is None else {WITH_STEPS: steps}), **(variants or {})}
        return outlook.foresee(seen, org, end, named, called=called, goes_on=as_of is None, progress=progress)

    def _end(self, seen: Answers, org: str, until: When | timedelta) -> datetime:
        """Until when an organization is played on; a length of time counts from its last round.

        Raises UsageError for an end that is not after that, and where the organization does not play.
        """
        if org not in seen.policies:
            raise UsageError(self.unfit.get(org, f"the organization {org!r} does not play"))
        now = seen.at[org]
        done = seen.world["edits"].filter((pc.field("org") == org) & pc.scalar(not seen.played[org]))["at"]
        begun = max(now, pc.max(done).as_py() or now)  # before the first round, so long after the last edit, as `run` is
        end = min(begun + until, LAST) if isinstance(until, timedelta) else time_of(until)
        if end is None or end <= now:
            raise UsageError(
                f"found {until}, expected a time after the last round, {now:%Y-%m-%dT%H:%M:%SZ}, or so long after it"
            )
        return end

    def drain(
        self,
        store: str,
        *,
        until: When | timedelta = timedelta(days=7),
        as_of: When = None,
        org: str | None = None,
        progress: Progress = lambda done, total: None,
    ) -> Line:
        """What must happen before a store can be switched off: it leaves the list of every folder, others take what it has,
        its replicas are erased. One line: since when it is `empty` if that began now, or after an earlier round (null: not by
        `until`, or more folders are `coming` to it), and what would be lost without, edits `waiting` there among it. `progress`:
        as in `whatif_lines`.

        Raises UsageError for a store that is not known, RefusedError for one that was retired with replicas.
        """
        from pfspark.lake import outlook

        org = self._org(org, store)
        seen = expect_there(self.answers(as_of, org), org)
        stores = seen.views[org]
        here = [folder for of, folder in stores.present() if of == store and folder != HIERARCHY]
        if here and store not in stores.members:
            raise RefusedError(
                f"{store} is retired with {counted(len(here), 'replica')}, and what a retired store has is not drained; "
                f"`pfspark store set {store} --not-retired` first"
            )
        others = {*stores.members} - {store}
        listed = {folder: [each for each in stores.listed(store, folder) if each in others] for folder in here}
        coming = drain.coming(seen.world, org).get(store, {})
        waiting = seen.world["edits"].filter((pc.field("org") == org) & (pc.field("store") == store))
        removing = [
            {"at": "0m", "remove_replica": {"store": store, "folder": folder, "replica": store}}
            for folder, rest in listed.items()
            if rest and store in stores.listed(store, folder)
        ]
        end = self._end(seen, org, until)
        found = outlook.released(seen, org, end, removing, goes_on=as_of is None, progress=progress)
        released = [each for each in found if each["store"] == store]
        mine = pa.table({"org": [org] * (len(here) + 1), "folder": [*here, HIERARCHY]})
        views = {name: semi_join(seen.world[name], mine, mine.column_names) for name in ("state", "replicas")}
        table, replicas = self._frame_of("state", views), self._frame_of("replicas", views)
        held = drain.alone(table, replicas=replicas, store=store, members=others)
        texts = cnset.to_text(held, ("folder",), "numbers").orderBy("folder").toArrow().to_pylist()
        more = sorted({*_paths(seen.world, org, coming)})
        is_emptied, now = len(released) == len(here) and not more, lines.moment(seen.at[org])
        return {
            "org": org, "at": now, "kind": "drain", "store": store, "until": lines.moment(end), "replicas": len(here),
            "empty": max((each["at"] for each in released), default=now) if is_emptied else None,
            "released": [{"folder": each["folder"], "at": each["at"]} for each in released],
            "needs_another": [stores.path(store, folder) for folder, rest in listed.items() if not rest],
            "coming": more, "waiting": waiting.num_rows,
            "lost_now": [{"folder": stores.path(store, row["folder"]), "numbers": row["numbers"]} for row in texts],
        }  # fmt: skip

    def listers(self, org: str | None = None, as_of: When = None) -> dict[str, str]:
        """Of each folder, by its path and by its id, a store whose own list has the store itself: where lists are edited best."""
        name = self._org(org)
        stores = expect_there(self.answers(as_of, name), name).views[name]
        here = [each for each in reversed(stores.present()) if each[1] != HIERARCHY]
        return {folder: store for store, folder in here} | {stores.path(*each): each[0] for each in here}


def _paths(world: ByName, org: str, folders: Mapping[str, str]) -> Iterator[str]:
    """The path of each folder as the store sees it that is told with it; its id where that sees none."""
    for viewer in {*folders.values()}:
        paths = {each: path for path, called in naming.seen_paths(world, org, viewer).items() for each in called}
        yield from (paths.get(folder, folder) for folder, by in folders.items() if by == viewer)
