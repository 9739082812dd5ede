"""Which version of an item a store shows: of tables that are here, as of frames."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import chain, product
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import Window
from pyspark.sql import functions as F

from pfspark.ask.stores import Stores
from pfspark.between import Between
from pfspark.cntext import label
from pfspark.edge.asked import shown
from pfspark.edge.world.facts import as_frame
from pfspark.keyed import ByName
from pfspark.rows import local
from pfspark.rules import items, state

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
ORIGINS = ("PFS1", "PFS1~2", "PFS1~10", "PFS2")
Row = dict[str, Any]


def world(changes: Iterable[Row], replicas: Iterable[Row], ranges: Iterable[Row]) -> ByName:
    def nobody() -> SparkSession:
        raise AssertionError("asked for Spark")

    return Between(nobody, {"changes": changes, "replicas": replicas, "state": ranges}).tables


def change(
    org: str, origin: str, cn: int, item: str, action: str, name: str | None, upon: Any = (), later: int | None = 0
) -> Row:
    """`later` by so many minutes, or at a time that nobody knows."""
    before = [{"origin": origin, "cn": number} for origin, number in upon]
    return {
        "org": org, "folder": "F", "origin": origin, "cn": cn, "object": item, "action": action, "name": name,
        "predecessors": before, "made_at": None if later is None else NOW + timedelta(minutes=later), "hash": f"{origin}:{cn}",
    }  # fmt: skip


def replica(org: str, store: str, life: int = 1, standing: str = "active", folder: str = "F") -> Row:
    return {"org": org, "store": store, "folder": folder, "life": life, "standing": standing, "at": NOW}


def span(org: str, store: str, about: str, entry: str, origin: str, low: int, high: int, folder: str = "F") -> Row:
    return {
        "org": org, "store": store, "folder": folder, "entry": entry, "about": about, "origin": origin, "cn_min": low,
        "cn_max": high, "relayed": False,
    }  # fmt: skip


def told(versions: Iterable[tuple[str, int, str, Any, int]]) -> tuple[list[str], list[str], bool]:
    """What PFS2, which holds all, shows of PFS1:1: the versions in the order of their rank, as text; then what is told of it."""
    made = [change("o", origin, cn, "PFS1:1", action, f"{origin}:{cn}", upon, at) for origin, cn, action, upon, at in versions]
    all_of = [span("o", "PFS2", "PFS2", "applied", origin, 1, 99) for origin in ORIGINS]
    known = world(made, [replica("o", "PFS2")], all_of)
    [item] = shown.items(known, "o", "PFS2", "F")
    assert shown.items(known, "o", "PFS2", "F", "PFS1:1") == [item] and item["name"] == item["version"]
    ranked = [f"{row['origin']}:{row['cn']}" for row in shown.in_conflict(known, "o", "PFS2", "F", "PFS1:1")]
    assert ranked[0] == item["version"] and sorted(ranked[1:]) == sorted(item["losers"])
    assert item["conflict"] == (len(ranked) > 1)
    return ranked, item["losers"], item["deleted"]


def test_three_are_in_conflict() -> None:
    """The later one wins; of one moment the larger label, a life being a number; a deletion comes last, whenever it was made."""
    first = ("PFS1", 1, "post", (), 0)
    upon = [("PFS1", 1)]
    alike = [("PFS2", 1, "modify", upon, 1), ("PFS1~2", 4, "modify", upon, 1), ("PFS1~10", 3, "modify", upon, 1)]
    assert told([first, *alike]) == (["PFS2:1", "PFS1~10:3", "PFS1~2:4"], ["PFS1~2:4", "PFS1~10:3"], False)
    later = ("PFS1~2", 5, "modify", upon, 2)
    assert told([first, *alike[::2], later]) == (["PFS1~2:5", "PFS2:1", "PFS1~10:3"], ["PFS1~10:3", "PFS2:1"], False)
    gone = ("PFS2", 7, "delete", upon, 9)
    assert told([first, later, gone]) == (["PFS1~2:5", "PFS2:7"], ["PFS2:7"], False)
    assert told([first, gone]) == (["PFS2:7"], [], True)
    settled = ("PFS1", 2, "modify", [("PFS1", 1), ("PFS1~2", 5), ("PFS2", 7)], 0)
    assert told([first, later, gone, settled]) == (["PFS1:2"], [], False)


def test_many_items_are_read_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of their numbers, and none is torn: each time as many changes as there may be, and the others of the last."""
    monkeypatch.setattr(shown, "PAGE", 2)
    made = [change("o", origin, cn, f"{origin}:{cn}", "post", None) for origin in ("PFS2", "PFS1~2", "PFS1") for cn in (10, 9, 1)]
    made += [change("o", "PFS2", cn, "PFS1:1", "modify", None, [("PFS1", 1)]) for cn in (20, 21, 22)]
    known = world(made, [replica("o", "PFS2")], [span("o", "PFS2", "PFS2", "applied", origin, 1, 99) for origin in ORIGINS])
    seen, read = Stores(known, "o"), []
    undominated = shown._undominated
    monkeypatch.setattr(shown, "_undominated", lambda rows, held: (read.append(len(rows)), undominated(rows, held))[1])
    [(folder, changes)] = shown.by_folder(known, "o", {"F", "G"}).items()
    found = list(shown.in_order(changes, seen, "PFS2", folder))
    assert [row["object"] for row in found] == [f"{origin}:{cn}" for origin in ("PFS1", "PFS1~2", "PFS2") for cn in (1, 9, 10)]
    assert (read, len(found[0]["losers"])) == ([4, 2, 2, 2, 2], 2)
    monkeypatch.undo()
    assert found == shown.items(known, "o", "PFS2", "F")


def test_what_may_be_meant_is_looked_at_alone() -> None:
    """What has that id, or had that name once; each is shown by all its versions."""
    made = [
        change("o", "PFS1", 1, "PFS1:1", "post", "plan"),
        change("o", "PFS1", 2, "PFS1:2", "post", "PFS1:1"),
        change("o", "PFS1", 3, "PFS1:1", "modify", "new plan", [("PFS1", 1)]),
        change("o", "PFS1", 10, "PFS1:10", "post", None),
        change("p", "PFS1", 4, "PFS1:4", "post", "plan"),
    ]
    known = world(
        made, [replica(org, "PFS1") for org in "op"], [span(org, "PFS1", "PFS1", "applied", "PFS1", 1, 10) for org in "op"]
    )

    def meant(item: str | None) -> list[tuple[str, str | None]]:
        return [(row["object"], row["name"]) for row in shown.items(known, "o", "PFS1", "F", item)]

    assert meant("plan") == [("PFS1:1", "new plan")]
    assert meant("PFS1:1") == [("PFS1:1", "new plan"), ("PFS1:2", "PFS1:1")]
    assert meant("offer") == []
    assert meant(None) == [("PFS1:1", "new plan"), ("PFS1:2", "PFS1:1"), ("PFS1:10", None)]
    assert shown.in_conflict(known, "o", "PFS1", "F", "@waits") == []


def invented(nth: int, seed: int) -> tuple[list[Row], list[Row], list[Row]]:
    """An organization: changes of an item or two, the replicas of PFS1 and PFS2 in one of their lives, and what they know."""
    of, org = Random(seed), str(nth)

    def some(store: str, about: str, entry: str) -> Row:
        low = of.randint(1, 4)
        return span(org, store, about, entry, of.choice(ORIGINS), low, of.randint(low, 4))

    numbers = [(origin, cn) for origin in ORIGINS for cn in range(1, 5)]
    changes = [
        change(
            org, *number, item=of.choice(["PFS1:1", "PFS1:1", "PFS2:1"]), action=of.choice(["modify", "modify", "delete"]),
            name=of.choice([None, "one", "two", "PFS1:1"]), upon=of.sample(numbers, of.choice([0, 0, 1, 2])),
            later=of.choice([0, 0, 1, 1, None]),
        )
        for number in of.sample(numbers, of.randint(1, 12))
    ]  # fmt: skip
    replicas, ranges = [], []
    for store in ("PFS1", "PFS2"):
        life = of.choice([1, 2, 10])
        mine = label(store, life)
        others = [each for each in (*ORIGINS, "PFS2~2") if each != mine]
        replicas.append(replica(org, store, life, of.choice(["active", "active", "active", "delete pending", "erased"])))
        ranges += [some(store, mine, "applied") for _ in range(of.randint(0, 9))]
        ranges += [some(store, mine, "empty") for _ in range(of.randint(0, 2))]
        ranges += [some(store, of.choice(others), entry) for entry in ("applied", "empty", "reported")]
    # The tree is a folder too, and shows no reader anything.
    tree = [span(org, "PFS1", "PFS1", "applied", origin, 1, 4, "1-1") for origin in ORIGINS]
    return [*changes, {**changes[0], "folder": "1-1"}], [*replicas, replica(org, "PFS1", folder="1-1")], ranges + tree


def by_rules(spark: SparkSession, known: ByName) -> list[Row]:
    """What the rules say of each item, with the numbers of its undominated versions, `ranked`."""

    def cut(frame: DataFrame) -> DataFrame:
        """Made here, so that no plan holds it twice."""
        return local(spark, frame.toArrow(), frame.schema)

    frames = {name: as_frame(spark, name, known[name]) for name in ("changes", "replicas", "state")}
    held = cut(state.contents_of(frames["state"], replicas=items.open_to_readers(frames["replicas"])))
    versions = cut(items.versions(items.seen(frames["changes"], applied=held)))
    rank = F.row_number().over(Window.partitionBy(*items.ITEM).orderBy(*items.winners_first()))
    ranked = versions.where("not dominated").select(*items.ITEM, F.struct(rank.alias("rank"), "hash").alias("one"))
    ranks = ranked.groupBy(*items.ITEM).agg(F.array_sort(F.collect_list("one"))["hash"].alias("ranked"))
    found: list[Row] = items.readable(versions).join(ranks, list(items.ITEM)).toArrow().to_pylist()
    return found


SAID = (*items.ITEM, "name", "version", "deleted", "conflict", "losers")


def said(rows: Iterable[Row], **more: str) -> list[Any]:
    return sorted(repr([{**row, **more}[name] for name in SAID]) for row in rows)


@given(seeds=st.lists(st.integers(0, 2**32), min_size=150, max_size=150, unique=True))
@settings(max_examples=2, phases=[Phase.explicit, Phase.reuse, Phase.generate])  # a smaller number is no simpler case
def test_what_is_here_says_what_the_rules_say(spark: SparkSession, seeds: list[int]) -> None:
    """In many organizations at once: conflicts, lives, ranges that overlap or are empty, what others or an older life have."""
    parts = [invented(nth, seed) for nth, seed in enumerate(seeds)]
    known = world(*(chain.from_iterable(part) for part in zip(*parts, strict=True)))
    expected = by_rules(spark, known)
    assert {len(row["losers"]) for row in expected} >= {0, 1, 2} and {row["deleted"] for row in expected} == {True, False}
    orgs = [str(nth) for nth in range(len(seeds))]
    everywhere = (shown.in_folders(known, org, Stores(known, org), {"F", "G"}) for org in orgs)
    assert said(chain.from_iterable(everywhere)) == said(expected)
    for org, store in product(orgs, ("PFS1", "PFS2")):
        here = {row["object"]: row for row in expected if (row["org"], row["store"]) == (org, store)}
        every = shown.items(known, org, store, "F")
        assert said(every, store=store) == said(here.values())
        for meant in ("one", "PFS1:1", "nothing"):
            some = shown.items(known, org, store, "F", meant)
            assert [row for row in every if row in some or meant in (row["object"], row["name"])] == some
        for item in ("PFS1:1", "PFS2:1"):
            ranked = [row["hash"] for row in shown.in_conflict(known, org, store, "F", item)]
            assert ranked == (list(here[item]["ranked"]) if item in here else [])
