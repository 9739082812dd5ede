"""An organization of a lake as the ground on which worlds are played on, in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pfspark.between import Between
from pfspark.edge.asked import naming, shown
from pfspark.edge.asked.answers import Answers
from pfspark.edge.config import conf_folder
from pfspark.edge.spark.crossing import BY_FILES
from pfspark.edge.world.directory import directory
from pfspark.edge.world.rounds import admit
from pfspark.edge.world.turns import told_since
from pfspark.errors import UsageError
from pfspark.files.documents import Document, document
from pfspark.files.parts import Link
from pfspark.keyed import ByName, semi_join
from pfspark.printed import Line
from pfspark.schedules import Grid
from pfspark.sim import whatif
from pfspark.sim.ground import Ground, expect_change, varied
from pfspark.sim.scenario import Scenario, Store
from pfspark.words import HIERARCHY


def foresee(
    seen: Answers, org: str, end: datetime, variants: Mapping[str, Document], *, called: str, goes_on: bool,
    progress: whatif.Progress,
) -> Iterator[Line]:  # fmt: skip
    """A line for the world as it is and one for each variant, played on until `end`; `goes_on`: from the last round there is.
    `called`: what stands in errors about what is done, where that is no file.

    Raises ScenarioError for steps that cannot be played.
    """
    if whatif.AS_IS in variants:
        raise UsageError(f"found a variant called {whatif.AS_IS!r}, which is the world without any; call it otherwise")
    documents = {name: document(each, called) for name, each in variants.items()}
    for said, file in documents.values():
        expect_change(said, file)
    ground = _ground(seen, org, end, _names_in(documents.values()))
    worlds = {name: varied(ground, said, file, conf_folder()) for name, (said, file) in documents.items()}
    spark = seen.snapshot.tables.spark
    return whatif.foresee(spark, ground, _world(seen, ground, goes_on=goes_on), worlds, end, progress, BY_FILES)


def released(
    seen: Answers, org: str, end: datetime, steps: Sequence[Mapping[str, Any]], *, goes_on: bool, progress: whatif.Progress
) -> Iterator[Line]:
    """The replicas that are erased where those steps are done and it is played on until `end`: `goes_on` as in `foresee`."""
    ground = _ground(seen, org, end, {})
    variant = varied(ground, {"steps": steps}, "what is removed", conf_folder())
    spark = seen.snapshot.tables.spark
    return whatif.released(spark, ground, _world(seen, ground, goes_on=goes_on), variant, end, progress, BY_FILES)


def _world(seen: Answers, ground: Ground, *, goes_on: bool) -> ByName:
    """The tables on which worlds are played on, with what people did since."""
    world, org = Between(seen.snapshot.tables.spark), ground.scenario.name
    for name, rows in seen.world.items():
        world.replace(name, rows)
    if goes_on:
        next_round = Grid(ground.scenario.start, ground.scenario.interval).next_round(seen.at[org], ground.last)
        admit(world, {org: next_round}, told_since(seen.snapshot, [org], directory(seen.snapshot)))
    return world.tables


def _names_in(documents: Iterable[tuple[Mapping[str, Any], str]]) -> dict[tuple[str, str], set[str]]:
    """The items that steps name, each with its folder as they name that, and the stores at which they do."""
    entries = [entry for said, _ in documents for entry in said.get("steps", ()) if isinstance(entry, Mapping)]
    args = [each for entry in entries for each in entry.values() if isinstance(each, Mapping)]
    named: dict[tuple[str, str], set[str]] = defaultdict(set)
    for each in args:
        folder, item, store = (each.get(name) for name in ("folder", "item", "store"))
        if isinstance(folder, str) and isinstance(item, str) and isinstance(store, str):
            named[folder, item].add(store)
    return named


def _ground(seen: Answers, org: str, end: datetime, named: Mapping[tuple[str, str], set[str]]) -> Ground:
    """The organization as it stands."""
    row, policy, stores = seen.organizations[org], seen.policies[org], seen.views[org]
    directory = {name: [each for each in seen.world[name].to_pylist() if each["org"] == org] for name in ("stores", "links")}
    scenario = Scenario(
        name=org,
        profile=policy.profile,
        policy=policy,
        start=row["start"],
        end=end,
        interval=policy.interval,
        stores=tuple(Store(each["store"], each["site"]) for each in directory["stores"] if not each["retired"]),
        links=tuple(
            Link(each["from_site"], each["to_site"], each["cost"], timedelta(seconds=each["delay_s"]))
            for each in directory["links"]
        ),
        folders=(),
        steps=(),
        file=seen.snapshot.tables.where,
    )
    paths = {stores.path(*here): ("id", here[1]) for here in reversed(stores.alive()) if here[1] != HIERARCHY}
    items: dict[tuple[str, int | str], dict[str, str]] = {}
    refs = {folder: paths.get(naming.as_lines_name(folder), ("id", folder)) for folder, _ in named}
    mine = pa.table({"org": [org] * len(refs), "folder": pa.array([each for _, each in refs.values()], pa.string())})
    few = {name: semi_join(seen.world[name], mine, mine.column_names) for name in ("changes", "state", "replicas")}
    world = {**few, "stores": seen.world["stores"]}
    for (folder, name), viewers in sorted(named.items()):
        if meant := _item(world, org, [sorted(viewers), stores.members], refs[folder][1], name):
            items.setdefault(refs[folder], {})[name] = meant
    last = seen.at[org] if seen.played[org] else None
    return Ground(scenario, last, bool(row["suspended"]), paths, items)


def _item(world: ByName, org: str, viewers: Iterable[Sequence[str]], folder: str, name: str) -> str | None:
    """The id of the item of that name, of several the only one that readers see at the first of those `viewers`, else at the
    next; where all are deleted, of the last: its edit will be refused. None: there is none, or more than one that readers see,
    and the id must be told."""
    changes = world["changes"]
    here = (pc.field("org") == org) & (pc.field("folder") == folder) & (pc.field("name") == name)
    called = changes.filter(here).sort_by("at")["object"].to_pylist()
    there: set[str] = set()
    for some in viewers:
        seen = (each for viewer in some for each in shown.items(world, org, viewer, folder, name))
        there = there or {each["object"] for each in seen if each["name"] == name and not each["deleted"]}
    return next(iter(there or called[-1:]), None) if len(there) < 2 else None
