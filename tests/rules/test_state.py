"""The replication state table, as frames."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from pfspark.rules import state, status
from pfspark.tables import CLAIM, RANGE
from pfspark.words import Entry
from tests.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HERE = "org string, store string, folder string"


@pytest.mark.rule("R96", "R97")
def test_sources_are_all_holders_of_the_list_but_oneself(spark: SparkSession) -> None:
    """A replica that is gone, one that was never listed, one of a life that is over, and oneself claim nothing."""
    listed = {"ME": "listed", "NEAR": "listed", "FAR": "listed", "LEAVER": "removed", "GONE": "gone", "REBORN": "listed"}
    about = [*listed, "STRANGER"]
    beliefs = [("o", "ME", "/F", "reported", peer, "FAR", 1, 4) for peer in about]
    lists = [("o", "ME", "/F", peer, how) for peer, how in listed.items()]
    stores = [("o", peer, "far" if peer == "FAR" else "here") for peer in about]
    claims = state.claims(
        frame_of(spark, beliefs, f"{HERE}, entry string, about string, origin string, cn_min bigint, cn_max bigint"),
        holders=status.holders(frame_of(spark, lists, f"{HERE}, peer string, listing string")),
        lives=frame_of(spark, [("o", "ME", "/F", "REBORN", 2)], f"{HERE}, peer string, life bigint"),
        stores=frame_of(spark, stores, "org string, store string, site string"),
    )
    found = {row["peer"]: (row["near"], row["leaving"], row["cn_min"], row["cn_max"]) for row in claims.collect()}
    assert found == {"NEAR": (True, False, 1, 4), "FAR": (False, False, 1, 4), "LEAVER": (True, True, 1, 4)}


SPAN = "cn_min bigint, cn_max bigint"
LINE = f"{HERE}, origin string, {SPAN}"
BELIEF = f"{HERE}, entry string, about string, origin string, {SPAN}"
STATE = f"{BELIEF}, relayed boolean"
STANDS = f"{HERE}, life bigint, standing string"
LIVES = f"{HERE}, peer string, life bigint"
MAIL = (
    "org string, message_id string, recipient string, store string, folder string, sender string, "
    f"carries array<{RANGE}>, asks array<{RANGE}>"
)
LETTERS = f"org string, message_id string, status array<{CLAIM}>"
Claims = list[tuple[str, str, str, int, int]]
ME = ("o", "ME", "F")


def mail(spark: SparkSession, *messages: tuple[str, str, Claims], folder: str = "F") -> tuple[DataFrame, DataFrame]:
    """Messages from whom to whom, and the letters that are in them, by what their status says."""
    rows: list[Any] = [
        ("o", f"m{nth}", to, sender.partition("~")[0], folder, sender, [], []) for nth, (sender, to, _) in enumerate(messages)
    ]
    letters = [("o", f"m{nth}", status) for nth, (_, _, status) in enumerate(messages)]
    return frame_of(spark, rows, MAIL), frame_of(spark, letters, LETTERS)


def ranges(rows: DataFrame, *columns: str) -> set[tuple[object, ...]]:
    """Those columns, and from where to where."""
    found = [tuple(row[name] for name in (*columns, "cn_min", "cn_max")) for row in rows.collect()]
    assert len(found) == len({*found}), "each once"
    return {*found}


@pytest.mark.rule("R48", "R75", "R77", "R83", "R106", "R145")
def test_a_store_learns_what_is_new_of_others(spark: SparkSession) -> None:
    """C3: relayed where a third store told it, and not where the one it is about did too. Of oneself nobody tells, and of a life
    that is over nothing counts (Q12)."""
    reported = "reported"
    accepted, letters = mail(
        spark,
        (
            "B",
            "ME",
            [("B", reported, "A", 1, 9), ("B", "empty", "A", 2, 2), ("C", reported, "A", 1, 5), ("ME", reported, "A", 1, 99)],
        ),
        ("B", "ME", [("B", reported, "A", 1, 9)]),  # said twice is known once
        ("C", "ME", [("C", reported, "A", 4, 6), ("D", reported, "A", 1, 1), ("D~2", reported, "A", 3, 3)]),
    )
    believed = [(*ME, reported, "B", "A", 1, 4), (*ME, reported, "C", "A", 1, 1), ("o", "ME", "G", reported, "B", "A", 1, 9)]
    told = state.hear(accepted, letters=letters, believed=frame_of(spark, believed, BELIEF))
    news = state.learn(told, believed=frame_of(spark, believed, BELIEF), lives=frame_of(spark, [(*ME, "D", 2)], LIVES))
    assert {row["store"] for row in news.collect()} == {"ME"}
    assert cut(ranges(news, "about", "entry", "relayed")) == {
        ("B", reported, False): {5, 6, 7, 8, 9}, ("B", "empty", False): {2},
        ("C", reported, True): {2, 3}, ("C", reported, False): {4, 5, 6}, ("D~2", reported, True): {3},
    }  # fmt: skip
    beliefs = frame_of(spark, believed, BELIEF)
    after = state.with_news(beliefs, news)
    assert after.columns == beliefs.columns
    assert cut(ranges(after.where("folder = 'F'"), "about", "entry"))["B", reported] == {*range(1, 10)}


@pytest.mark.rule("R48")
def test_who_is_told_what_it_does_not_believe_yet(spark: SparkSession) -> None:
    """By each letter to it that says so, and not by one to another; what lies within what it believes it is not told, though
    others are, and what reaches beyond that it is told whole. Nobody is told of itself."""
    reported = "reported"
    accepted, letters = mail(
        spark,
        ("B", "ME", [("B", reported, "A", 2, 5), ("C", reported, "A", 2, 6)]),
        ("C", "D", [("C", reported, "A", 2, 6), ("B", reported, "A", 2, 5), ("D", reported, "A", 1, 9)]),
        ("D", "ME", [("C", reported, "A", 2, 6), ("B", "empty", "A", 2, 5)]),
    )
    believed = [(*ME, reported, "B", "A", 1, 9), (*ME, reported, "C", "A", 3, 9), ("o", "D", "G", reported, "B", "A", 1, 9)]
    told = state.hear(accepted, letters=letters, believed=frame_of(spark, believed, BELIEF))
    assert ranges(told, "store", "sender", "about", "entry") == {
        ("ME", "B", "C", reported, 2, 6), ("ME", "D", "C", reported, 2, 6), ("ME", "D", "B", "empty", 2, 5),
        ("D", "C", "C", reported, 2, 6), ("D", "C", "B", reported, 2, 5),
    }  # fmt: skip


def cut(found: set[tuple[Any, ...]]) -> dict[tuple[object, ...], set[int]]:
    """The numbers themselves, however ranges are cut."""
    numbers: dict[tuple[object, ...], set[int]] = {}
    for *key, first, last in found:
        numbers.setdefault(tuple(key), set()).update(range(first, last + 1))
    return numbers


def test_who_is_shown_numbers_that_it_does_not_know_begins_a_new_life(spark: SparkSession) -> None:
    """F8: those of its current life that lie behind all it holds of it; not what it holds, nor what another or an older life
    gave, nor where the replica is going. Whoever shows them, and of whom."""
    shows = {"BEHIND": ("ME~2", 6, 7), "HELD": ("ME~2", 1, 5), "OLDER": ("ME", 1, 99), "OTHER": ("B", 1, 99),
             "NOTHING": ("ME~2", 1, 1), "GOING": ("ME~2", 9, 9), "LEAVING": ("ME~2", 9, 9)}  # fmt: skip
    rows: list[Any] = [("o", name, "ME", "B", name, "B", [], []) for name in shows]
    letters = [("o", name, [("C", "reported", *shown)]) for name, shown in shows.items()]
    held = [("o", "ME", name, "ME~2", 1, 5) for name in shows if name != "NOTHING"]
    stands = {"GOING": "delete now", "LEAVING": "delete pending"}
    replicas = [("o", "ME", name, 2, stands.get(name, "active")) for name in shows]
    found = state.forgotten(
        frame_of(spark, rows, MAIL),
        letters=frame_of(spark, letters, LETTERS),
        applied=frame_of(spark, [*held, ("o", "ME", "HELD", "ME", 1, 3)], LINE),
        replicas=frame_of(spark, replicas, STANDS),
    )
    assert {(row["folder"], row["life"], row["standing"]) for row in found.collect()} == {
        ("BEHIND", 3, "active"), ("NOTHING", 3, "active"), ("LEAVING", 3, "delete pending"),
    }  # fmt: skip


def test_a_new_life_begins_with_what_the_one_before_held(spark: SparkSession) -> None:
    """Under its own label; what it believes of others is there anyway, and what a life before that said stays behind."""
    said = [(*ME, "applied", "ME~2", "A", 1, 5, False), (*ME, "empty", "ME~2", "A", 2, 2, False),
            (*ME, "applied", "ME", "A", 9, 9, False), (*ME, "reported", "B", "A", 1, 7, True),
            ("o", "ME", "G", "applied", "ME~2", "A", 1, 1, False)]  # fmt: skip
    begun = frame_of(spark, [(*ME, 3, "active")], STANDS)
    over = state.carried_over(frame_of(spark, said, STATE), begun=begun)
    assert ranges(over, "store", "folder", "entry", "about", "origin", "relayed") == {
        ("ME", "F", "applied", "ME~3", "A", False, 1, 5), ("ME", "F", "empty", "ME~3", "A", False, 2, 2),
    }  # fmt: skip


@pytest.mark.rule("R7")
def test_what_a_store_says_of_itself_and_of_others(spark: SparkSession) -> None:
    """Of folders of which it has a replica: its own in the current life; of others whatever stands there. Held with content is
    what is applied and not empty."""
    said = [
        (*ME, "applied", "ME~2", "A", 1, 9, False), (*ME, "empty", "ME~2", "A", 3, 4, False),
        (*ME, "sent", "ME~2", "ME~2", 1, 1, False), (*ME, "applied", "ME", "A", 20, 29, False),
        (*ME, "reported", "B", "A", 1, 7, True), (*ME, "empty", "B", "A", 5, 5, False),
        ("o", "ME", "ERASED", "applied", "ME", "A", 1, 1, False), ("o", "ME", "ERASED", "reported", "B", "A", 1, 1, False),
        ("o", "ME", "NONE", "reported", "B", "A", 1, 1, False), ("o", "ME", "GOING", "reported", "B", "A", 8, 8, False),
    ]  # fmt: skip
    rows = frame_of(spark, said, STATE)
    stands = {"F": (2, "active"), "ERASED": (1, "erased"), "GOING": (1, "delete now")}
    replicas = frame_of(spark, [("o", "ME", folder, *how) for folder, how in stands.items()], STANDS)
    believed = state.believed(rows, replicas=replicas)
    assert ranges(believed, "folder", "entry", "about", "origin") == {
        ("F", "reported", "B", "A", 1, 7), ("F", "empty", "B", "A", 5, 5), ("GOING", "reported", "B", "A", 8, 8),
    }  # fmt: skip
    own = state.own(rows, replicas=replicas)
    applied, empty = (state.ranges_of(own, entry=entry) for entry in (Entry.APPLIED, Entry.EMPTY))
    assert ranges(applied, "folder", "origin") == {("F", "A", 1, 9)}
    assert ranges(empty, "folder", "origin") == {("F", "A", 3, 4)}
    with_content = {("F", "A", 1, 2), ("F", "A", 5, 9)}
    assert ranges(state.contents(applied, empty=empty), "folder", "origin") == with_content
    assert ranges(state.contents_of(rows, replicas=replicas), "folder", "origin") == with_content


@pytest.mark.rule("R75")
def test_what_is_held_is_said_in_as_few_ranges_as_can_be(spark: SparkSession) -> None:
    """Numbers that came, were settled, and were given here; whoever speaks of them, and of each folder by itself."""
    issued = frame_of(spark, [(*ME, "ME", 1, 2, 2)], f"{LINE}, rows bigint")
    came, settled = (frame_of(spark, rows, LINE) for rows in ([(*ME, "A", 1, 3)], [(*ME, "A", 4, 4), (*ME, "A", 9, 9)]))
    gained = state.gain(came, settled, issued)
    before = frame_of(spark, [(*ME, "A", 2, 2), ("o", "ME", "G", "A", 4, 4), ("o", "B", "F", "A", 5, 5)], LINE)
    assert ranges(state.canonical(gained.unionByName(before)), "store", "folder", "origin") == {
        ("ME", "F", "A", 1, 4), ("ME", "F", "A", 9, 9), ("ME", "F", "ME", 1, 2), ("ME", "G", "A", 4, 4), ("B", "F", "A", 5, 5),
    }  # fmt: skip


def test_what_is_not_sent_yet_is_not_shown(spark: SparkSession) -> None:
    """F60: numbers of one's own; where nothing is hidden all is shown."""
    applied = frame_of(spark, [(*ME, "ME", 1, 9), (*ME, "A", 1, 9), ("o", "ME", "G", "ME", 1, 9)], LINE)
    found = state.shown(applied, hidden=frame_of(spark, [(*ME, "ME", 6, 9)], LINE))
    assert ranges(found, "folder", "origin") == {("F", "ME", 1, 5), ("F", "A", 1, 9), ("G", "ME", 1, 9)}
    assert ranges(state.shown(applied, hidden=applied.limit(0)), "folder", "origin") == ranges(applied, "folder", "origin")


@pytest.mark.rule("R7", "R48")
def test_the_status_says_what_the_sender_holds_and_if_it_relays_what_others_do(spark: SparkSession) -> None:
    """C3, F61: in the organization that relays. Who speaks of one folder says nothing of another."""
    speaking = [(org, "ME", "F", "ME~2") for org in ("relays", "silent")]
    numbers = frame_of(spark, [(org, "ME", folder, "A", 1, 9) for org in ("relays", "silent") for folder in ("F", "G")], LINE)
    said = [(org, "ME", "F", "A", "B", "B", True, False, "reported", 1, 5) for org in ("relays", "silent")]
    claims = f"{HERE}, origin string, peer string, about string, near boolean, leaving boolean, entry string, {SPAN}"
    rows = state.tell(
        frame_of(spark, speaking, f"{HERE}, sender string"),
        shown=numbers,
        empty=frame_of(spark, [("relays", "ME", "F", "A", 2, 2)], LINE),
        claims=frame_of(spark, said, claims),
        clock=frame_of(spark, [("relays", True), ("silent", False)], "org string, relay_status boolean"),
    ).collect()
    own = ("ME~2", "reported", "A", 1, 9)
    assert {(row["org"], row["folder"]): [tuple(each) for each in row["status"]] for row in rows} == {
        ("relays", "F"): [("B", "reported", "A", 1, 5), ("ME~2", "empty", "A", 2, 2), own], ("silent", "F"): [own],
    }  # fmt: skip


def test_where_a_store_says_that_there_is_none_it_claims_nothing(spark: SparkSession) -> None:
    """A report holds what was settled without content too: one cancels the other, near as far, whether it leaves or not."""
    claims = f"{LINE}, near boolean, leaving boolean, entry string"
    said = [(*ME, "A", 1, 9, True, False, "reported"), (*ME, "A", 2, 2, True, False, "empty"),
            (*ME, "A", 1, 5, False, True, "reported"), (*ME, "A", 4, 4, False, True, "empty")]  # fmt: skip
    layers = state.layers_of_claims(frame_of(spark, said, claims))
    assert ranges(layers, "claimed", "void", "near", "leaving") == {
        (1, 0, 1, 0, 1, 9), (-1, 1, -1, 0, 2, 2), (1, 0, 0, 1, 1, 5), (-1, 1, 0, -1, 4, 4),
    }  # fmt: skip


@pytest.mark.rule("R79", "R80", "R81")
def test_what_is_learned_is_written_down(spark: SparkSession) -> None:
    """Of the own replica under the label of its life, each number under what became of it; of others as they are. All in one
    time, that of the organization."""
    now = datetime(2026, 1, 5, 12, tzinfo=UTC)
    gained, sending, expired, settled, returned = (frame_of(spark, [(*ME, "A", nth, nth)], LINE) for nth in range(1, 6))
    nobody = frame_of(spark, [("o", "ME", "NONE", "A", 1, 1)], LINE)
    found = state.record(
        gained.unionByName(nobody), sending, expired, frame_of(spark, [(*ME, "reported", "B", "A", 1, 7, True)], STATE),
        settled=settled, returned=returned, replicas=frame_of(spark, [(*ME, 2, "active")], STANDS),
        clock=frame_of(spark, [("o", now)], "org string, now timestamp"),
    )  # fmt: skip
    assert {row["at"].replace(tzinfo=UTC) for row in found.collect()} == {now}
    assert ranges(found, "folder", "entry", "about", "origin", "relayed") == {
        ("F", "applied", "ME~2", "A", False, 1, 1), ("F", "sent", "ME~2", "A", False, 2, 2),
        ("F", "empty", "ME~2", "A", False, 3, 3), ("F", "empty", "ME~2", "A", False, 4, 4),
        ("F", "sent", "ME~2", "A", False, 5, 5), ("F", "reported", "B", "A", True, 1, 7),
    }  # fmt: skip


def test_lives_are_read_wherever_labels_stand(spark: SparkSession) -> None:
    """F8: as sender, as the one that is told of, as origin of what is held, carried or asked for; the highest counts, also of
    what was known before. Of a first life there is nothing to know. Messages of older ones count no more."""
    labels = {"S": "S~3", "T": "T~2", "O": "O~4", "C": "C~5", "K": "K~6"}
    rows = [
        ("o", "m0", "ME", "S", "F", labels["S"], [(labels["C"], 1, 1)], [(labels["K"], 1, 1)]),
        ("o", "m1", "ME", "S", "F", "S~2", [], []), ("o", "m2", "ME", "S", "F", "S", [], []),
        ("o", "m3", "ME", "S", "G", "S", [], []),
    ]  # fmt: skip
    says = {"m0": [(labels["T"], "reported", labels["O"], 1, 1), ("B", "reported", "B", 1, 1)], "m1": [], "m2": [], "m3": []}
    delivered, letters = frame_of(spark, rows, MAIL), frame_of(spark, [("o", *each) for each in says.items()], LETTERS)
    before = frame_of(spark, [(*ME, "T", 7), (*ME, "OLD", 2), (*ME, "S", 2)], LIVES)
    lives = state.read_lives(delivered, letters=letters, lives=before)
    known = {(row["store"], row["folder"], row["peer"]): row["life"] for row in lives.collect()}
    assert known == {(*ME[1:], peer): life for peer, life in dict(S=3, T=7, O=4, C=5, K=6, OLD=2).items()}
    current = state.from_current_replicas(delivered, lives=lives)
    assert sorted(current.columns) == sorted(delivered.columns)
    assert {(row["store"], row["recipient"], row["folder"], row["sender"]) for row in current.collect()} == {
        ("S", "ME", "F", "S~3"), ("S", "ME", "G", "S"),
    }  # fmt: skip
