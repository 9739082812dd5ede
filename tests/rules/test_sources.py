"""From whom missing numbers are asked, and who must answer: each key by itself, and each before the next.

A case lists peers in the order that the rules determine. It is played twice: named so that the order of names agrees,
and so that it disagrees; the name alone must not decide.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from pfspark import cntext
from pfspark.edge.config import conf_folder
from pfspark.rules import sources
from pfspark.settings import load_profile
from tests.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOW = datetime.fromisoformat("2026-01-05T12:00:00+00:00")
HOUR = timedelta(hours=1)
WANTED = "X:1-4"


@dataclass(frozen=True)
class Peer:
    """Another replica: next door, new, idle, and with everything, unless told otherwise."""

    cost: int | None = 0
    """0: in the asker's site. None: in another site without affinity."""
    delay: int = 0
    version: str = "2007"
    preferred: bool = False
    silent: bool = False
    gives: str = WANTED
    asked: int | None = None
    """Hours since it was asked last."""
    active: bool = False
    """Whether it has sent replicas."""
    age: int = 1
    """Days since its replica was placed."""


@dataclass(frozen=True)
class Case:
    """Peers in the order they are asked, or in which they are named; `others` never are."""

    rules: str
    peers: tuple[Peer, ...]
    others: tuple[Peer, ...] = ()
    asks: tuple[str, ...] = ()
    """What is asked of each."""
    profile: str = "exchange_2007"


def case(rules: str, *peers: Peer, **more: Any) -> Case:
    return Case(rules, peers, **more)


def old(rules: str, *peers: Peer, **more: Any) -> Case:
    """A case of Exchange 2000."""
    return Case(rules, peers, profile="exchange_2000", **more)


NEAR, FAR = Peer(), Peer(cost=9)
OLD = "5.5"

SOURCES = [
    case("R98 who is unavailable goes last, even if preferred and near", FAR, Peer(silent=True, preferred=True)),
    case("R99 the preferred one comes first, however far", Peer(cost=9, preferred=True), NEAR),
    case("R100 near before far, cheap before dear, whatever the version", Peer(version=OLD), Peer(cost=2, version="2003"), FAR),
    case("R101 newest first, whatever the amount", Peer(gives="X:1"), Peer(version="2003"), Peer(version="2000")),
    case("R102 who can give more comes first", NEAR, Peer(gives="X:2-4"), Peer(gives="X:1")),
    case("R103 who has nothing of it is dropped", Peer(gives="X:1"), others=(Peer(gives="Y:1", preferred=True), Peer(gives=""))),
    case(
        "R104 what the first lacks is asked of the next",
        Peer(gives="X:1-2", preferred=True), Peer(gives="X:2-3"), Peer(cost=1), asks=("X:1-2", "X:3", "X:4"),
    ),
    case("R104 who has all is asked for all", NEAR, FAR, asks=(WANTED,)),
    old("R107 R117 of those with everything the first in order is asked, alone", NEAR, FAR, Peer(version=OLD), asks=(WANTED,)),
    old("R108 own site, longest ago asked first", NEAR, Peer(asked=9), Peer(asked=2), Peer(asked=1)),
    old("R109 then other sites by cost", Peer(asked=1), Peer(cost=1, delay=9), Peer(cost=2), Peer(cost=3)),
    old("R110 then sites without affinity by time", Peer(cost=9), Peer(cost=None, delay=1), Peer(cost=None, delay=2)),
    old("R111 then old ones of the own site, longest ago first", Peer(cost=None), Peer(version=OLD), Peer(asked=1, version=OLD)),
    old("R112 then those elsewhere by cost", Peer(asked=1, version=OLD), Peer(cost=1, version=OLD), Peer(cost=2, version=OLD)),
    old(
        "R113 at last those without affinity by time",
        Peer(cost=9, version=OLD), Peer(cost=None, delay=1, version=OLD), Peer(cost=None, delay=2, version=OLD),
    ),
    old("R114 a far server of 2000 beats one of 5.5 next door", Peer(cost=9, version="2000"), Peer(version=OLD), asks=(WANTED,)),
    old("R115 partial matches are passed over", Peer(cost=9, version=OLD), Peer(gives="X:1-3"), asks=(WANTED,)),
    old(
        "R115 unless nobody has all and the last group tried has one",
        Peer(gives="X:1", version=OLD), Peer(gives="X:1-3"), Peer(cost=9, gives="X:1-3"), asks=("X:1", "X:2-3"),
    ),
    old(
        "R116 R107 who reported it has all, and one request is enough",
        Peer(cost=None, version=OLD), Peer(gives="X:1-2"), Peer(gives="X:3-4", asked=1), asks=(WANTED,),
    ),
    old(
        "R118 R119 nobody has all: several are asked, also in other sites",
        Peer(cost=9, gives="X:3-4"), Peer(gives="X:1-3"), asks=("X:3-4", "X:1-2"),
    ),
]  # fmt: skip


@pytest.mark.rule("R98", "R99", "R100", "R101", "R102", "R103", "R104")
@pytest.mark.rule("R107", "R108", "R109", "R110", "R111", "R112", "R113", "R114", "R115", "R116", "R117", "R118", "R119")
def test_sources_in_order(spark: SparkSession) -> None:
    """Every case twice, in one job; `asks` says what is asked of whom."""
    orgs = named_twice(SOURCES)
    given = frames(spark, orgs)
    missing = frame_of(spark, [(org, "ME", "/F", "X", 1, 4) for org in orgs], MISSING)
    about = {name: given[name] for name in ("stores", "links", "contacts", "clock")}
    order: dict[str, dict[int, str]] = defaultdict(dict)
    ranking = sources.rank(missing, gives=given["gives"], **about)
    rows = ranking.collect()
    for row in rows:
        order[row["org"]][row["nth"]] = row["peer"]
    found = {org: [order[org][nth] for nth in sorted(order[org])] for org in orgs}
    assert found == {org: names for org, (_, names, _) in orgs.items()}

    due = frame_of(spark, [(org, "ME", "/F", "X", 1, 4, 0, 0, 0, None, NOW) for org in orgs], DUE)
    asked: dict[tuple[str, str], str] = {}
    ranked = frame_of(spark, rows, ranking.schema)
    for row in sources.choose(due, ranked=ranked, gives=given["gives"]).collect():
        piece = cntext.parse(asked.get((row["org"], row["peer"]), ""))
        asked[row["org"], row["peer"]] = cntext.show(cntext.union(piece, {"X": ((row["cn_min"], row["cn_max"]),)}))
    for org, (one, names, _) in orgs.items():
        if one.asks:
            asks = {peer: said for (of, peer), said in asked.items() if of == org}
            assert asks == dict(zip(names, one.asks, strict=False)), org


RESPONDERS = [
    old(
        "R121 three, and the oldest",
        Peer(age=9), Peer(cost=1), Peer(cost=2), Peer(cost=8, age=10), others=(Peer(cost=5), Peer(cost=4, version=OLD)),
    ),
    old("R121 two holders, both", Peer(), Peer(cost=None)),
    old("R122 own site, longest ago first", Peer(age=9), Peer(asked=9), Peer(asked=3), others=(Peer(asked=2), Peer(asked=1))),
    old(
        "R123 then active ones by cost",
        Peer(age=9), Peer(cost=5, active=True), Peer(cost=6, active=True), others=(Peer(cost=1), Peer(cost=7, active=True)),
    ),
    old(
        "R124 the own site before others, however lately asked",
        Peer(asked=1, age=9), Peer(cost=1, active=True), Peer(cost=2), others=(Peer(cost=None),),
    ),
    old(
        "R125 then those not known to be active, by cost",
        Peer(cost=9, active=True, age=9), Peer(cost=1), Peer(cost=2), others=(Peer(cost=3), Peer(cost=None)),
    ),
    old("R126 then other sites by time", Peer(age=9), Peer(cost=3), Peer(cost=None, delay=1), others=(Peer(cost=None, delay=2),)),
    old("R127 and these too, if there is room", Peer(age=9), Peer(cost=None, delay=5), Peer(cost=None, delay=9)),
    old("R128 the oldest copy is on the list already", Peer(), Peer(cost=1, age=9), Peer(cost=2), others=(Peer(cost=3, age=8),)),
]  # fmt: skip


DEPENDABLE = [
    case(
        "R102 R132 who is known to have most of what is missing",
        Peer(gives="X:1-4"), Peer(gives="X:2-4"), Peer(gives="X:1"), others=(Peer(gives="Y:1"), Peer(gives="")),
    ),
    case("R132 R121 who has nothing of it is named where there is room", Peer(gives="X:1"), Peer(gives="")),
    case(
        "R133 near and new before who has more", Peer(gives=""), Peer(version="2003"), Peer(version="2000", gives="X:1"),
        others=(Peer(version="2000", gives=""), FAR, Peer(silent=True)),
    ),
    case("R134 the preferred one", Peer(cost=9, preferred=True, gives=""), NEAR, Peer(gives="X:1"), others=(FAR,)),
]  # fmt: skip


@pytest.mark.rule("R132", "R133", "R134")
def test_the_responders_of_who_was_restored_or_started_again(spark: SparkSession) -> None:
    """Every case twice: three, in the order of sources."""
    orgs = named_twice(DEPENDABLE)
    assert named(spark, orgs, "three") == {(org, name, False) for org, (_, names, _) in orgs.items() for name in names}


@pytest.mark.rule("R120", "R121", "R122", "R123", "R124", "R125", "R126", "R127", "R128")
def test_the_responders_of_exchange_2000(spark: SparkSession) -> None:
    """Every case twice; those of the own site that are named for being there are stamped (R122)."""
    orgs = named_twice(RESPONDERS)
    assert named(spark, orgs, "three_and_oldest") == {
        (org, name, peer.cost == 0) for org, (one, names, _) in orgs.items() for name, peer in zip(names, one.peers, strict=True)
    }


# --- frames -----------------------------------------------------------------------------------------------------------

HERE = "org string, store string, folder string"
MISSING = f"{HERE}, origin string, cn_min bigint, cn_max bigint"
DUE = f"{MISSING}, near int, leaving int, attempt bigint, asked timestamp, now timestamp"

Named = dict[str, tuple[Case, list[str], list[str]]]


def named_twice(cases: list[Case]) -> Named:
    """Each case under names that rise and under names that fall: its peers and the others by name."""
    found: Named = {}
    for one in cases:
        places = range(len(one.peers) + len(one.others))
        for way in ("rising", "falling"):
            names = [f"P{place if way == 'rising' else 9 - place}" for place in places]
            found[f"{one.rules}, names {way}"] = one, names[: len(one.peers)], names[len(one.peers) :]
    return found


def named(spark: SparkSession, orgs: Named, rule: str) -> set[tuple[str, str, bool]]:
    """Who must answer where X:1-4 is missing: organization, peer, whether it is stamped."""
    given = frames(spark, orgs)
    begin = frame_of(spark, [(org, "ME", "/F", rule) for org in orgs], f"{HERE}, rule string")
    missing = frame_of(spark, [(org, "ME", "/F", "X", 1, 4) for org in orgs], MISSING)
    about = {name: given[name] for name in ("holders", "gives", "stores", "links", "contacts", "tree", "clock")}
    found = sources.responders(begin, missing=missing, **about).collect()
    return {(row["org"], row["peer"], row["stamped"]) for row in found}


def frames(spark: SparkSession, orgs: Named) -> dict[str, DataFrame]:
    """What the rules are given of those organizations: a peer in another site is in a site of its own."""
    rows: dict[str, list[Any]] = defaultdict(list)
    for org, (one, names, others) in orgs.items():
        policy = load_profile(one.profile, conf_folder()).columns()
        rows["clock"].append((org, NOW, policy["source_keys"], policy["full_match_first"]))
        rows["stores"].append((org, "ME", "HERE", "2007", False))
        for name, peer in zip([*names, *others], [*one.peers, *one.others], strict=True):
            site = "HERE" if peer.cost == 0 else f"at {name}"
            rows["stores"].append((org, name, site, peer.version, peer.preferred))
            if site != "HERE":
                rows["links"].append((org, "HERE", site, peer.cost, peer.delay))
            asked = None if peer.asked is None else NOW - peer.asked * HOUR
            rows["contacts"].append((org, "ME", name, asked, NOW if peer.silent else None, NOW if peer.active else None))
            rows["gives"] += [
                (org, "ME", "/F", origin, name, low, high)
                for origin, spans in cntext.parse(peer.gives).items()
                for low, high in spans
            ]
            rows["holders"].append((org, "ME", "/F", name))
            rows["tree"].append((org, "ME", "/F", f"replica:{name}", (NOW - 24 * peer.age * HOUR,)))
    return {name: frame_of(spark, rows[name], ddl) for name, ddl in DDL.items()}


DDL = {
    "clock": "org string, now timestamp, source_keys array<string>, full_match_first boolean",
    "stores": "org string, store string, site string, version string, preferred boolean",
    "links": "org string, from_site string, to_site string, cost bigint, delay_s bigint",
    "contacts": "org string, store string, peer string, asked timestamp, silent timestamp, sent timestamp",
    "gives": f"{HERE}, origin string, peer string, cn_min bigint, cn_max bigint",
    "holders": f"{HERE}, peer string",
    "tree": f"{HERE}, property string, stamp struct<at:timestamp>",
}
