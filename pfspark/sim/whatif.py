"""What if: an organization played on as it is, and as it would be, side by side in the same rounds; and how the two come out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from pfspark import cntext, restarts
from pfspark.ask import lines
from pfspark.ask.stores import ByOrg, Stores
from pfspark.between import Between
from pfspark.keyed import ByName
from pfspark.materializer import ALL_LOCAL, Materializer
from pfspark.printed import Line
from pfspark.rows import rows_of
from pfspark.sim import invention, player
from pfspark.sim.asked import Past
from pfspark.sim.ground import Ground
from pfspark.sim.playing import Playing
from pfspark.sim.scenario import Scenario
from pfspark.sim.steps import Step
from pfspark.words import BackfillStep, Entry, Flag, MessageType, Outcome, Standing

AS_IS = "as it is"
"""The name of the world in which nothing is done."""
EDITS = "what if"
"""What the ids of edits begin with that are only thought of: an organization that was played has edits of the name `step 1`."""
TOLD = ("receipts", "changes", "replicas", "backfill", "messages", "state")
"""The tables by which worlds differ, in the order in which a round writes them."""
SENT_BY = {
    MessageType.HIERARCHY: "R65", MessageType.CONTENT: "R66", MessageType.BACKFILL_REQUEST: "R67",
    MessageType.HIERARCHY_RESPONSE: "R68", MessageType.CONTENT_RESPONSE: "R68", MessageType.STATUS: "R69",
    MessageType.STATUS_REQUEST: "R70",
}  # fmt: skip
"""The rules by which messages of each type are sent."""


class Foreseen:
    """What is played of some worlds (`player.Record`): the new rows of each, and what was missing there after each round."""

    def __init__(self, between: Between) -> None:
        self._between = between
        self._rows: dict[str, list[pa.Table]] = {name: [rows_of(name, (), ("round",))] for name in TOLD}
        self.missing: dict[str, list[tuple[datetime, int]]] = defaultdict(list)

    def begin(self, rows: Mapping[str, Sequence[invention.Row]]) -> None:
        """The worlds are there."""

    def round(self, turns: Mapping[str, datetime], edits: Sequence[Any], made: ByName, *_: Any) -> None:
        """A round of some worlds."""
        for name, tables in self._rows.items():
            tables.append(made[name].select(tables[0].column_names).cast(tables[0].schema))
        array = self._between.tables["array"]
        sizes = pc.add(pc.subtract(array["cn_max"], array["cn_min"]), 1)
        sums = pa.table({"org": array["org"], "size": sizes}).group_by("org").aggregate([("size", "sum")])
        of_world = dict(zip(sums["org"].to_pylist(), sums["size_sum"].to_pylist(), strict=True))
        for world, now in turns.items():
            self.missing[world].append((now, of_world.get(world, 0)))

    def restored(self, *_: Any) -> None:
        """What a store has lost is in no table of a round."""

    def rows(self, name: str, world: str) -> pa.Table:
        """The rows of a table that were made in a world."""
        return pa.concat_tables(table.filter(pc.equal(table["org"], world)) for table in self._rows[name])


Progress = Callable[[timedelta, timedelta], object]
"""Is told how much time was played, and how much will be."""


def foresee(
    spark: SparkSession,
    ground: Ground,
    tables: ByName,
    variants: Mapping[str, Scenario],
    until: datetime,
    progress: Progress = lambda done, total: None,
    materializer: Materializer = ALL_LOCAL,
) -> Iterator[Line]:
    """One line for the world as it is, and one for each variant (`ground.varied`) by its name, all played until that time.

    `tables` is the world after the organization's last round, and with what people did since: see `between.Between`.
    """
    org, worlds = ground.scenario.name, {AS_IS: ground.scenario, **variants}
    between, playing, foreseen = _played(spark, ground, tables, worlds, until, progress, materializer)
    ends = {line["org"]: line for line in player.ends(between, playing)}
    parted = ByOrg(dict(between.tables))
    played = {world: _World(ground, foreseen, world, Stores(parted, world), ends[world]) for world in worlds}
    for world, one in played.items():
        is_new = world != AS_IS
        yield {
            "org": org, "at": lines.moment(ground.now), "kind": "whatif", "world": "what_if" if is_new else "as_is",
            "variant": world if is_new else None, "until": lines.moment(until), **one.figures(),
            "difference": one.differs_first_from(played[AS_IS]) if is_new else None,
        }  # fmt: skip


def released(
    spark: SparkSession,
    ground: Ground,
    tables: ByName,
    variant: Scenario,
    until: datetime,
    progress: Progress = lambda done, total: None,
    materializer: Materializer = ALL_LOCAL,
) -> Iterator[Line]:
    """The replicas that are erased in that variant, each with when; as in `foresee`, but no other world is played beside it."""
    world = ground.scenario.name
    between, _, foreseen = _played(spark, ground, tables, {world: variant}, until, progress, materializer)
    return _released(foreseen.rows("replicas", world), Stores(dict(between.tables), world))


def _played(
    spark: SparkSession, ground: Ground, tables: ByName, worlds: Mapping[str, Scenario], until: datetime, progress: Progress,
    materializer: Materializer,
) -> tuple[Between, dict[str, Playing], Foreseen]:  # fmt: skip
    """Those worlds, played in the same rounds until that time."""
    org = ground.scenario.name
    between = _side_by_side(Between(spark, materializer=materializer), org, tables, worlds)
    others = [world for world, scenario in worlds.items() if _rules(scenario) != _rules(ground.scenario)]
    restarts.look_anew(between, dict.fromkeys(others, ground.now))
    waits = [Step(0, max(at or ground.now, ground.now), "look", {}) for at in _waiting(tables["edits"], org)]
    playing = {}
    for world, scenario in worlds.items():
        steps = sorted((*waits, *scenario.steps), key=lambda step: step.at)
        whole = replace(scenario, name=world, end=until, steps=tuple(steps), edits=EDITS)
        playing[world] = Playing(whole, ground.last, suspended=ground.suspended)
    foreseen = Foreseen(between)
    for _ in player.rounds(between, playing, Past(between, ()), foreseen):
        played_so_far = (max(one.now - ground.now, timedelta(0)) for one in playing.values())
        progress(sum(played_so_far, timedelta(0)), len(playing) * (until - ground.now))
    return between, playing, foreseen


def _side_by_side(between: Between, org: str, tables: ByName, worlds: Mapping[str, Scenario]) -> Between:
    """An empty world, with organizations that are all what that one is, by the names of the worlds, each with its own links."""
    for name, table in tables.items():
        own = table.filter(pc.equal(table["org"], org))
        place = own.schema.get_field_index("org")
        named = (pa.repeat(pa.scalar(world, pa.string()), own.num_rows) for world in worlds)
        between.replace(name, pa.concat_tables(own.set_column(place, "org", each) for each in named))
    between.replace(
        "links", (row for world, scenario in worlds.items() for row in invention.links(replace(scenario, name=world)))
    )
    return between


def _rules(scenario: Scenario) -> tuple[object, ...]:
    """What administrators say of an organization."""
    return scenario.policy, scenario.links, scenario.stores


def _waiting(edits: pa.Table, org: str) -> list[datetime | None]:
    """When the edits were made that wait to be taken in."""
    found: list[datetime | None] = edits.filter(pc.equal(edits["org"], org))["at"].unique().to_pylist()
    return found


def _letters(messages: pa.Table, sites: Mapping[str, str]) -> pa.Table:
    """Messages once for each recipient: from, to, link, bytes; `sites` are those of the stores."""
    recipients = messages["recipients"].combine_chunks()
    place = pc.list_parent_indices(recipients)
    sender, to = pc.take(messages["store"], place), pc.struct_field(pc.list_flatten(recipients), "store")
    ways = [f"{sites[one]} > {sites.get(other, other)}" for one, other in zip(sender.to_pylist(), to.to_pylist(), strict=True)]
    link = pa.array(ways, pa.string())
    return pa.table({"from": sender, "to": to, "link": link, "bytes": pc.take(messages["bytes"], place)})


class _World:
    """How a world comes out."""

    def __init__(self, ground: Ground, foreseen: Foreseen, world: str, stores: Stores, end: Line) -> None:
        self._ground = ground
        self._missing = foreseen.missing[world]
        self._rows = {name: foreseen.rows(name, world) for name in TOLD}
        self._end = end
        self._stores = stores
        self._holes = list(stores.holes())

    def figures(self) -> Line:
        """The columns of its line that count."""
        most, most_at = max(((count, at) for at, count in self._missing), key=lambda each: each[0], default=(0, None))
        messages = _sent(self._rows["messages"])
        letters = _letters(messages, self._stores.sites)
        return {
            "rounds": len(self._missing), "converged": self._end["converged"], "equal": self._equal(),
            "missing": self._end["missing"], "most": most, "most_at": lines.when(most_at if most else None),
            "messages": messages.num_rows, "letters": letters.num_rows, "bytes": pc.sum(letters["bytes"]).as_py() or 0,
            "types": _sums(messages, "type", "messages"), "links": _sums(letters, "link", "letters"),
            "lost": list(self._lost()), "refused": self._refused(),
            "released": list(_released(self._rows["replicas"], self._stores)),
            "stores": {store: self._of_store(store, letters) for store in self._stores.stores},
        }  # fmt: skip

    def _equal(self) -> str | None:
        """Since when all is equal: since the last number that a replica took for its own, and the last step of a replica."""
        if not self._end["converged"]:
            return None
        state, steps = self._rows["state"], self._rows["replicas"]
        about = pc.list_element(pc.split_pattern(state["about"], "~"), 0)
        own = pc.and_(pc.equal(about, state["store"]), pc.equal(state["entry"], str(Entry.APPLIED)))
        moments = [pc.max(state.filter(own)["at"]).as_py(), pc.max(steps["at"]).as_py(), self._ground.now]
        return lines.moment(max(at for at in moments if at is not None))

    def _lost(self) -> Iterator[Line]:
        """What is missing in the end, and claimed by nobody any more."""
        for store, folder, _, lost in self._holes:
            if lost:
                yield {"store": store, "folder": self._stores.path(store, folder), "numbers": cntext.show(lost)}

    def _refused(self) -> Line:
        """How many edits were refused, by the reason."""
        receipts = self._rows["receipts"]
        refused = receipts.filter(pc.and_(pc.is_valid(receipts["edit_id"]), pc.equal(receipts["outcome"], str(Outcome.REFUSED))))
        return dict(sorted(Counter(refused["reason"].to_pylist()).items()))

    def _of_store(self, store: str, letters: pa.Table) -> Line:
        sent, received = (letters.filter(pc.equal(letters[way], store)) for way in ("from", "to"))
        missing = sum(cntext.size(claimed) for of, _, claimed, _ in self._holes if of == store)
        return {
            "sent": sent.num_rows, "received": received.num_rows, "bytes": pc.sum(sent["bytes"]).as_py() or 0, "missing": missing
        }  # fmt: skip

    def differs_first_from(self, other: _World) -> Line | None:
        """What happens first here that does not happen there, or the other way around."""
        found: list[tuple[datetime, int, bool, str, Line]] = []
        for place, name in enumerate(TOLD):
            here, there = self._texts[name], other._texts[name]
            for ours, theirs, is_old in ((here, there, False), (there, here, True)):
                apart = ((ours[text]["at"], place, is_old, text) for text in ours.keys() - theirs.keys())
                if first := min(apart, default=None):
                    found.append((*first, ours[first[-1]]))
        if not found:
            return None
        at, place, is_old, _, row = min(found, key=lambda each: each[:4])
        rule, what = _told(TOLD[place], row, self._stores)
        return {
            "at": lines.moment(at), "store": row.get("store") or cntext.split_label(row["origin"])[0],
            "says": f"no longer: {what}" if is_old else f"{what}, unlike as it is", "rule": rule,
            "table": TOLD[place],
        }  # fmt: skip

    @cached_property
    def _texts(self) -> dict[str, dict[str, Line]]:
        """Its rows by table, and by all that they say, but of whose world they are, what a letter tells besides, and
        what is only meant to be done."""
        return {name: {_text(row): row for row in rows.to_pylist()} for name, rows in self._rows.items()}


def _released(steps: pa.Table, stores: Stores) -> Iterator[Line]:
    """The replicas that were erased by those steps, each with when."""
    for row in steps.filter(pc.equal(steps["standing"], str(Standing.ERASED))).to_pylist():
        yield {"store": row["store"], "folder": stores.path(row["store"], row["folder"]), "at": lines.moment(row["at"])}


def _sent(messages: pa.Table) -> pa.Table:
    """Without the copies that a line made of them, which nobody sent."""
    return messages.filter(pa.array([Flag.COPY not in flags for flags in messages["flags"].to_pylist()], pa.bool_()))


def _text(row: Line) -> str:
    return str(sorted((name, value) for name, value in row.items() if name not in ("org", "status", "due")))


def _sums(rows: pa.Table, column: str, counted: str) -> Line:
    """How many rows there are of each value of a column, and their bytes."""
    sums = rows.group_by(column).aggregate([("bytes", "count"), ("bytes", "sum")]).to_pylist()
    return {
        row[column]: {counted: row["bytes_count"], "bytes": row["bytes_sum"]} for row in sorted(sums, key=lambda row: row[column])
    }


def _told(name: str, row: Line, stores: Stores) -> tuple[str, str]:
    """The rule by which a row was written, and what it says."""

    def folder(store: str) -> str:
        return stores.path(store, row["folder"]) if row["folder"] else "a folder"

    match name:
        case "receipts" if row["edit_id"]:
            refused = row["outcome"] == Outcome.REFUSED
            done = f"refuses ({row['reason']})" if refused else "takes in"
            return "R1" if refused else "R30", f"{row['store']} {done} an edit ({row['type']})"
        case "receipts":
            lost = row["outcome"] == Outcome.LOST
            done = f"does not get ({row['reason']})" if lost else "gets"
            return "R64" if lost else "R74", f"{row['store']} {done} a message {row['type']} about {folder(row['store'])}"
        case "changes":
            store = cntext.split_label(row["origin"])[0]
            return "R30", f"{store} gives the number {lines.number_of(row)} in {folder(store)}"
        case "replicas":
            leaving = row["standing"] != Standing.ACTIVE
            return "R142" if leaving else "R139", f"the replica of {folder(row['store'])} at {row['store']} is {row['standing']}"
        case "backfill":
            asked = row["step"] != BackfillStep.HEARD
            done = f"asks {row['of']} for" if asked else "hears of"
            return "R94" if asked else "R76", f"{row['store']} {done} numbers of {folder(row['store'])} that it lacks"
        case "messages":
            to = ", ".join(sorted(each["store"] for each in row["recipients"]))
            return SENT_BY[MessageType(row["type"])], f"{row['store']} sends {row['type']} about {folder(row['store'])} to {to}"
    return "R75", f"{row['store']} records what it has learned of {folder(row['store'])}"
