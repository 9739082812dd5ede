"""What a lake says of itself to a monitor: gauges, in the text that Prometheus reads."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from pfspark import cntext
from pfspark.edge.asked.answers import Answers
from pfspark.errors import UsageError
from pfspark.printed import Line
from pfspark.words import HIERARCHY, Standing

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

OLD = timedelta(days=1)
"""How old a belief may be before it is told. Who lacks something is told as often, unasked, in a `modern` organization (R136);
where nothing concerns two stores neither hears from the other, and no fault is in that."""
GAUGES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "replicas": ("replicas that are not erased", ("org",)),
    "missing_numbers": ("numbers that a store has heard of, that others claim, and that it does not hold", ("org", "store")),
    "lost_numbers": ("numbers that a store has heard of, and that nobody claims any more", ("org", "store")),
    "oldest_hole_seconds": ("age of the oldest number missing, by the organization's clock; 0: none is", ("org",)),
    "mail_in_flight": ("letters under way", ("org",)),
    "edits_waiting": ("edits that no round has taken in", ("org",)),
    "old_beliefs": ("pairs of stores of which one has not heard from the other for more than a day", ("org",)),
    "clock_seconds": ("the organization's clock, in seconds since 1970", ("org",)),
    "due_seconds": ("when there is something to do next, in seconds since 1970; absent: never", ("org",)),
    "rounds": ("number of the last round", ()),
    "round_seconds": ("how long the last round took", ()),
}
"""What is told: by name what it says, and of what."""


def figures(answers: Answers) -> Iterator[tuple[str, Mapping[str, str], float]]:
    """The value of each gauge, by name and labels."""
    row, world = answers.snapshot.row, answers.world
    yield "rounds", {}, row.round
    yield "round_seconds", {}, (row.ended - row.began).total_seconds()
    replicas = world["replicas"]
    stands = (pc.field("standing") != str(Standing.ERASED)) & ~((pc.field("folder") == HIERARCHY) & _retired(answers, "store"))
    standing = _counted(replicas.filter(stands))
    contacts = world["contacts"].filter(~(_retired(answers, "store") | _retired(answers, "peer")))
    under_way, waiting = _counted(world["mail"]), _counted(world["edits"])
    for org, at in answers.at.items():
        of = {"org": org}
        yield "replicas", of, standing[org]
        yield "mail_in_flight", of, under_way[org]
        yield "edits_waiting", of, waiting[org]
        yield "clock_seconds", of, at.timestamp()
        yield "old_beliefs", of, _old(contacts, org, at)
        if (due := answers.due(org)) is not None:
            yield "due_seconds", of, due.timestamp()
    yield from _holes(answers)


def samples(answers: Answers) -> Iterator[Line]:
    """The value of each gauge as a line."""
    for name, of, value in figures(answers):
        yield {"kind": "metric", "name": f"pfspark_{name}", "org": of.get("org"), "store": of.get("store"), "value": value}


def _retired(answers: Answers, column: str) -> pc.Expression:
    """Whether a row is about a store, named in that column, that has no part in the hierarchy any more."""
    gone = [(org, store) for org, stores in answers.views.items() for store in {*stores.stores} - {*stores.members}]
    about = [(pc.field("org") == org) & (pc.field(column) == store) for org, store in gone]
    return reduce(operator.or_, about, pc.scalar(False))


def _counted(rows: pa.Table) -> Counter[str]:
    """How many rows each organization has."""
    return Counter({each["values"]: each["counts"] for each in rows["org"].value_counts().to_pylist()})


def _old(contacts: pa.Table, org: str, at: datetime) -> int:
    """Those that were heard of last before that, or never, and were asked before that or should have answered by then."""
    theirs = contacts.filter(pc.equal(contacts["org"], org))
    heard, asked, silent = (
        pc.fill_null(pc.less(theirs[name], pa.scalar(at - OLD, theirs[name].type)), False)
        for name in ("heard", "asked", "silent")
    )
    never = pc.and_(pc.is_null(theirs["heard"]), pc.or_(asked, silent))
    return int(pc.sum(pc.or_(heard, never)).as_py() or 0)


def _holes(answers: Answers) -> Iterator[tuple[str, Mapping[str, str], float]]:
    """What each store misses."""
    for org, stores in answers.views.items():
        missing, lost, at = Counter[str](), Counter[str](), answers.at[org]
        oldest = at
        for store, folder, claimed, unclaimed in stores.holes():
            missing[store] += cntext.size(claimed)
            lost[store] += cntext.size(unclaimed)
            oldest = min(oldest, stores.since(store, folder, claimed) or at)
        yield "oldest_hole_seconds", {"org": org}, (at - oldest).total_seconds()
        for store in stores.stores:
            yield "missing_numbers", {"org": org, "store": store}, missing[store]
            yield "lost_numbers", {"org": org, "store": store}, lost[store]


class Metrics:
    """The gauges, as they were told last."""

    def __init__(self) -> None:
        """Raises UsageError where prometheus-client is not installed."""
        try:
            from prometheus_client import CollectorRegistry, Gauge
        except ImportError:
            raise UsageError("prometheus-client is not installed here: pip install 'pfspark[metrics]'") from None
        self.registry: CollectorRegistry = CollectorRegistry()
        self._gauges: dict[str, Any] = {
            name: Gauge(f"pfspark_{name}", says, labels, registry=self.registry) for name, (says, labels) in GAUGES.items()
        }

    def tell(self, answers: Answers) -> None:
        """The values as they are now; what is not told any more is gone."""
        for name, gauge in self._gauges.items():
            if GAUGES[name][1]:
                gauge.clear()
        for name, labels, value in figures(answers):
            (self._gauges[name].labels(**labels) if labels else self._gauges[name]).set(value)

    def text(self) -> str:
        """The text that Prometheus reads."""
        from prometheus_client import generate_latest

        return generate_latest(self.registry).decode()

    def serve(self, port: int) -> None:
        """Serves them to this machine alone, in the background, until the process ends.

        Raises UsageError for a port that is taken.
        """
        from prometheus_client import start_http_server

        try:
            start_http_server(port, addr="127.0.0.1", registry=self.registry)
        except OSError as error:
            raise UsageError(f"the port {port} cannot be served: {error.strerror}; take another") from None
