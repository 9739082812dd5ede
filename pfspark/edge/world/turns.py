"""When the organizations of a lake were played last, by its ledger, and of which people have said something else since."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

import pyarrow.compute as pc
from pyspark.sql import functions as F

from pfspark.edge.delta.damage import REFUSALS
from pfspark.edge.delta.ledger import LEDGER, Row, last_of_each
from pfspark.edge.delta.snapshot import Snapshot
from pfspark.edge.world.directory import DIRECTORY, directory, newest, told_anew
from pfspark.errors import LakeError
from pfspark.keyed import ByName
from pfspark.words import Kind


def clocks(snapshot: Snapshot) -> dict[str, datetime]:
    """The time of each organization's last round, by the ledger alone; absent: it had none yet."""
    return _last(snapshot, "now", Kind.PLAYED, Kind.RESTORED)


def played_last(snapshot: Snapshot, orgs: Iterable[str]) -> dict[str, Row]:
    """The row of the last round that each of those organizations played, restores left out; absent: there was none yet."""
    if snapshot.row.kind == Kind.PLAYED and {*orgs} <= snapshot.row.turns.keys():
        return dict.fromkeys(orgs, snapshot.row)
    last = _last(snapshot, "round", Kind.PLAYED)
    wanted = sorted({last[org] for org in orgs if org in last})
    found = snapshot.arrow(LEDGER, pc.field("round").isin(wanted))
    whole = snapshot.read(LEDGER).where(F.col("round").isin(wanted)).toArrow() if found is None else found
    rows = {row["round"]: Row.read(row) for row in whole.to_pylist()}
    return {org: rows[last[org]] for org in orgs if org in last}


def _last(snapshot: Snapshot, column: str, *kinds: Kind) -> dict[str, Any]:
    """Of each organization's last round of these kinds its time, `now`, or its number, `round`."""
    if (ledger := snapshot.arrow(LEDGER, pc.field("kind").isin(kinds), ["round", "turns", "kind"])) is not None:
        return last_of_each(ledger, column)
    turns = snapshot.read(LEDGER).where(F.col("kind").isin(*kinds)).select("round", F.inline("turns"))
    return {row["org"]: row[column] for row in newest(turns, ["org"], "round").toArrow().to_pylist()}


def told_since(snapshot: Snapshot, orgs: Iterable[str], entries: ByName) -> dict[str, set[str]]:
    """Of these organizations those that were not played yet, and those of which the directory, by its `entries`, says something
    else than when they were played last, each with its stores that were retired then; of what is too long ago, all."""
    played = played_last(snapshot, orgs)
    found: dict[str, set[str]] = {org: set() for org in orgs if org not in played}
    for versions in {tuple(row.versions[name] for name in DIRECTORY) for row in played.values()}:
        then = dict(zip(DIRECTORY, versions, strict=True))
        by_then = {org for org, row in played.items() if then.items() <= row.versions.items()}
        if then.items() <= snapshot.people.items():
            continue
        try:
            before = directory(replace(snapshot, people={**snapshot.people, **then}))
        except (LakeError, *REFUSALS):
            found |= {org: set() for org in by_then}
        else:
            found |= {org: stores for org, stores in told_anew(before, entries).items() if org in by_then}
    return found
