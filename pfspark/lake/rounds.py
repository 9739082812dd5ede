"""Time passes in a lake: rounds, restores, upkeep, audits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from pfspark import cntext
from pfspark.ask import lines
from pfspark.ask.stores import ByOrg, Stores, converged, unlike
from pfspark.edge.asked import shown
from pfspark.edge.delta.snapshot import Snapshot
from pfspark.edge.keeping import certificates
from pfspark.edge.runner import Played
from pfspark.edge.world import carried, losing
from pfspark.edge.world.turns import clocks
from pfspark.errors import UsageError
from pfspark.lake.known import When, round_or_time, time_of
from pfspark.lake.questions import Questions
from pfspark.printed import Line
from pfspark.units import NOW
from pfspark.words import LAST, Outcome

if TYPE_CHECKING:
    from pfspark.edge.keeping.repair import Remedy


class Rounds(Questions):
    """A lake in which rounds are played."""

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
        end = self._from_last(until) if isinstance(until, timedelta) else None if by_now else time_of(until)
        count = 0
        for played in self._runner.run(end, until_quiet, by_now=by_now, resting=resting):
            count += 1
            if progress:
                progress(played)
        return count

    def _from_last(self, span: timedelta) -> datetime:
        """So long after the last round; before the first, after the last edit, or the start."""
        furthest = self._tables.snapshot().furthest
        if furthest is None:
            starts = [row["start"] for row in self._directory("organizations").values()]
            begun = (at for at in (*starts, pc.max(self._world()["edits"]["at"]).as_py()) if at is not None)
            furthest = max(begun, default=None)
        if furthest is None:
            raise UsageError(f"{self.where} has no organization with a start yet; make one with Lake.organization()")
        return min(furthest + span, LAST)

    def ahead(self) -> dict[str, timedelta]:
        """By how much the clocks of organizations are ahead of the clock on the wall; who is not ahead is left out.

        What is posted meanwhile waits for the next cycle there: no clock of an organization goes back.
        """
        snapshot, now = self._tables.snapshot(), datetime.now(UTC)
        if snapshot.furthest is None or snapshot.furthest <= now:
            return {}
        return {org: at - now for org, at in sorted(clocks(snapshot).items()) if at > now}

    def behind(self, at: datetime, store: str, *, org: str | None = None) -> timedelta:
        """How long before the last round of a store's organization that time is; nothing where it is not, or none was played."""
        of, snapshot = self._org(org, store), self._tables.snapshot()
        if snapshot.furthest is None or at >= snapshot.furthest:
            return timedelta(0)
        return max(clocks(snapshot).get(of, at) - at, timedelta(0))

    def losses(self, store: str, to: When, *, org: str | None = None) -> list[Line]:
        """What restoring a store to an earlier round would lose for ever: one line a folder; see `losing.losses`.

        Raises RefusedError for a store that is retired.
        """
        org = self._org(org, store)
        self._expect_in_use(org, store)
        return list(losing.losses(org, store, self._world(), self._world(self._earlier(to, org).row.round)))

    def restore(
        self,
        store: str,
        to: When,
        *,
        org: str | None = None,
        now: When = None,
        again: bool = False,
        agreed: Iterable[Line] | None = None,
    ) -> Played:
        """Takes a store back to what it knew after an earlier round; its replicas begin a new life and ask for status.

        What others hold comes back by backfill. What it alone held (`losses`) is lost, or taken in `again` under new
        numbers, as the edits that people made. Bodies that it shows again and upkeep had let go of come back first.
        `agreed`: the `losses` that somebody has agreed to; raises RefusedError where there are more by now, unless
        they are taken in again, and for a store that is retired.

        Source: R132, F8.
        """
        from pfspark.edge.keeping import repair

        org = self._org(org, store)
        self._expect_in_use(org, store)
        number = self._earlier(to, org).row.round
        repair.bring_back(self.answers(number, org), self._tables.snapshot(), store, datetime.now(UTC))
        return self._runner.restore(org, store, number, self._world(number), self._at(now), again=again, agreed=agreed)

    def maintain(self, now: When = None, told: Callable[[str], object] = lambda doing: None) -> dict[str, int]:
        """Upkeep: what is void or superseded goes, ranges are merged, files joined; how many rows went from each table.

        No answer changes, neither now nor as of an earlier round that the history reaches.

        Source: F56, Q20.
        """
        return self._runner.maintain(self._at(now), told)

    def _earlier(self, to: When, org: str) -> Snapshot:
        if to is None:
            raise UsageError("restore to which round, or to what time?")
        return self._tables.snapshot(round_or_time(to), org)

    def said(self, played: Played) -> Iterator[Line]:
        """What was refused and sent in a round, as lines."""
        parted = ByOrg(played.world)
        views = {org: Stores(parted, org) for org in played.turns}
        receipts = played.made["receipts"].to_pylist() if played.turns else []
        refused = [row for row in receipts if row["outcome"] == Outcome.REFUSED]
        items = self._items_of((row["org"], row["edit_id"]) for row in refused if row["edit_id"])
        for row in sorted(refused, key=lambda row: (row["org"], row["at"], row["place"] or 0, row["store"])):
            yield {
                "org": row["org"], "at": lines.moment(row["at"]), "kind": "refused", "store": row["store"],
                "what": "edit" if row["edit_id"] else "message", "edit": row["edit_id"], "reason": row["reason"],
                "type": row["type"], "folder": views[row["org"]].path(row["store"], row["folder"]),
                "item": items.get((row["org"], row["edit_id"])),
            }  # fmt: skip
        if played.turns:
            yield from lines.messages(played.made["messages"], views)

    def _items_of(self, edits: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
        """The item that each of these edits (organization, id) is about: by its name if it has one, else by its id."""
        if not (named := sorted({*edits})):
            return {}
        orgs, ids = zip(*named, strict=True)
        asked = pa.table({"org": pa.array(orgs, pa.string()), "edit_id": pa.array(ids, pa.string())})
        rows = carried.naming(asked, self._tables.snapshot(), "edits", ["org", "edit_id", "name", "item"]).to_pylist()
        return {(row["org"], row["edit_id"]): row["name"] or row["item"] for row in rows}

    def status(self, org: str | None = None) -> dict[str, Any]:
        """The lake at a glance: its last round, when what is due, whether replicas are equal, what is missing and waits.

        Nothing is said to be equal where an organization cannot play (`unfit`).
        """
        seen = self.answers(org=org)
        views = seen.views.values()
        alike = [
            converged(stores, shown.in_folders(seen.world, name, stores, unlike(stores))) for name, stores in seen.views.items()
        ]
        missing = sum(cntext.size(claimed) for stores in views for _, _, claimed, _ in stores.holes())
        due = {name: lines.moment(due) for name, due in seen.next_due.items() if name in seen.views}
        unfit = any(org in (None, of) for of in self.unfit)
        waiting = pc.sum(pc.is_in(seen.world["edits"]["org"], pa.array(seen.views, pa.string()))).as_py() or 0
        return {
            "lake": self.where, "round": seen.snapshot.row.round,
            "at": {name: lines.moment(at) for name, at in seen.at.items()}, "next_due": due,
            "converged": all(alike) and not waiting and all(seen.played.values()) and not unfit, "missing": missing,
            "edits": waiting,
            "in_flight": pc.sum(pc.is_in(seen.world["mail"]["org"], pa.array(seen.views, pa.string()))).as_py() or 0,
        }  # fmt: skip

    def audit(self, as_of: When = None) -> Iterator[Line]:
        """One line for each promise: what it says, how many rows break it, one of them; at last a certificate (`auditing`)."""
        from pfspark.edge.keeping import auditing

        facts = partial(self.answers, as_of, as_found=True)
        for line in auditing.audit(self._tables, facts, self._runner.at_hand_after, round_or_time(as_of)):
            if line["kind"] == "certificate" and as_of is None and self._tables.folder:
                certificates.leave(self._tables.folder, line, datetime.now(UTC))
            yield line

    def remedies(self) -> list[Remedy]:
        """What would mend the promises that are broken (`repair`): nothing is done yet."""
        from pfspark.edge.keeping import repair

        return repair.plan(self.answers(as_found=True), self._runner.at_hand_after)

    def mend(self, remedies: Sequence[Remedy]) -> None:
        """Does that: tables are taken back and bodies set aside in a round of upkeep, then stores begin new lives."""
        from pfspark.edge.keeping import repair

        by_hand = [remedy for remedy in remedies if remedy.what in (repair.TAKE_BACK, repair.SET_ASIDE)]
        if any(remedy.what == repair.READ_ANEW for remedy in remedies):
            self._runner.forget()
        if by_hand:
            self._runner.tend(lambda _: repair.undo(self._tables, by_hand))
            self._runner.close()  # the world it knows is the one that is undone
        for remedy in remedies:
            if remedy.what == repair.NEW_LIFE:
                self.restore(remedy.target, self._tables.snapshot().row.round, org=remedy.org)
