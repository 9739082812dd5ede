"""Letters and their ids, as frames."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from pfspark.rules import addressing
from pfspark.tables import CLAIM, RANGE
from tests.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEY = "org string, store string, folder string"
LETTERS = f"""{KEY}, type string, peers array<string>, carries array<{RANGE}>, asks array<{RANGE}>, responders array<string>,
flags array<string>, bytes bigint"""


@pytest.mark.rule("R48")
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_an_id_tells_time_and_order_whatever_the_zone(spark: SparkSession, zone: str) -> None:
    """A moment that New York has twice; what a label's life is goes before its text, as in messages."""
    now = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
    here = ("o", "P1", "P1:1")
    batches = [[("P1~2", 1, 2)], [("P1", 8, 9), ("P1~2", 3, 3)], [("P1", 1, 7)], [("P10", 1, 1)]]
    letters: list[Any] = [(*here, "0x4", ["P2"], carries, [], [], [], 0) for carries in batches]
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        rows = addressing.address(
            frame_of(spark, letters, LETTERS),
            status=frame_of(spark, [], f"{KEY}, status array<{CLAIM}>"),
            limits=frame_of(spark, [], f"{KEY}, priority string"),
            replicas=frame_of(spark, [(*here, 2)], f"{KEY}, life bigint"),
            delays=frame_of(spark, [], "org string, store string, delays map<string,bigint>"),
            conditions=frame_of(spark, [], "org string, store string, cut boolean"),
            clock=frame_of(spark, [("o", now)], "org string, now timestamp"),
        ).collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    found = {row["message_id"]: (row["carries"][0]["origin"], row["carries"][0]["cn_min"]) for row in rows}
    begins = "001793511000000000/P1~2/0x4/P1:1"
    assert found == {f"{begins}/1": ("P1", 1), f"{begins}/2": ("P1", 8), f"{begins}/3": ("P1~2", 1), f"{begins}/4": ("P10", 1)}


ME = ("o", "ME", "F")
SPAN = "cn_min bigint, cn_max bigint"
Letter = tuple[str, list[str], list[str], list[str], list[str], list[str]]


def peers(spark: SparkSession, **of: str) -> DataFrame:
    """Who else has each folder of ME, in no order."""
    rows = [("o", "ME", folder, peer) for folder, those in of.items() for peer in those.split()]
    return frame_of(spark, rows, f"{KEY}, peer string")


def said(letters: DataFrame) -> dict[tuple[str, ...], Letter]:
    """By folder and first recipient: type, recipients, what is carried and asked for, who must answer, flags."""
    found: dict[tuple[str, ...], Letter] = {}
    for row in letters.collect():
        carries, asks = (
            [f"{one['origin']}:{one['cn_min']}-{one['cn_max']}" for one in row[part]] for part in ("carries", "asks")
        )
        assert (row["org"], row["store"]) == ("o", "ME")
        key = (row["folder"], row["peers"][0])
        assert key not in found, "one letter to all"
        found[key] = (row["type"], row["peers"], carries, asks, row["responders"], row["flags"])
    return found


@pytest.mark.rule("R45", "R55", "R56", "R58", "R65", "R66", "R68")
def test_what_is_packed_goes_to_all_or_to_who_asked(spark: SparkSession) -> None:
    """One's own to all other holders at once, by the type of its folder; where nobody else holds it nothing goes. What was asked
    for goes to the asker alone, whoever else holds it."""
    carries = [("ME", 1, 3)]
    packed = frame_of(
        spark,
        [("o", "ME", folder, asker, carries, 7) for folder in ("1-1", "F", "LONELY") for asker in (None, "Z")],
        f"{KEY}, asker string, carries array<{RANGE}>, bytes bigint",
    )
    known = peers(spark, **{"1-1": "C B A", "F": "B A", "G": "X"})
    own = addressing.changes(packed, recipients=known)
    assert said(own) == {
        ("1-1", "A"): ("0x2", ["A", "B", "C"], ["ME:1-3"], [], [], []), ("F", "A"): ("0x4", ["A", "B"], ["ME:1-3"], [], [], []),
    }  # fmt: skip
    asked = addressing.responses(packed)
    assert said(asked) == {
        ("1-1", "Z"): ("0x80000002", ["Z"], ["ME:1-3"], [], [], []), ("F", "Z"): ("0x80000004", ["Z"], ["ME:1-3"], [], [], []),
        ("LONELY", "Z"): ("0x80000004", ["Z"], ["ME:1-3"], [], [], []),
    }  # fmt: skip
    assert {row["bytes"] for row in addressing.written(own, asked).collect()} == {7}


@pytest.mark.rule("R67", "R71", "R151")
def test_each_source_is_asked_once_for_all_that_is_wanted_of_it(spark: SparkSession) -> None:
    """Neighbouring pieces in one; of each folder by itself, and of each source."""
    pieces = [("F", "B", "X", 4, 6), ("F", "B", "X", 1, 3), ("F", "B", "A", 9, 9), ("F", "C", "X", 7, 8), ("1-1", "B", "X", 1, 1)]
    asks = frame_of(spark, [("o", "ME", *piece) for piece in pieces], f"{KEY}, peer string, origin string, {SPAN}")
    assert said(addressing.requests(asks)) == {
        ("F", "B"): ("0x8", ["B"], [], ["A:9-9", "X:1-6"], [], []), ("F", "C"): ("0x8", ["C"], [], ["X:7-8"], [], []),
        ("1-1", "B"): ("0x8", ["B"], [], ["X:1-1"], [], []),
    }  # fmt: skip


@pytest.mark.rule("R69", "R70", "R130", "R135", "R136")
def test_status_is_told_and_asked_for(spark: SparkSession) -> None:
    """An answer goes to the asker alone, with its flags, also to whom nothing can be given; what nobody has asked for to all
    other holders. A question goes to all it is meant for, and names those who must answer; a leaver's is marked (F62)."""
    answered = frame_of(spark, [(*ME, "B", ["acknowledge"])], f"{KEY}, peer string, flags array<string>")
    answers = addressing.answers(answered, peers(spark, F="C"))
    assert said(answers) == {
        ("F", "B"): ("0x10", ["B"], [], [], [], ["acknowledge"]),
        ("F", "C"): ("0x10", ["C"], [], [], [], []),
    }
    quiet = frame_of(spark, [ME, ("o", "ME", "LONELY")], KEY)
    unasked = addressing.unasked(quiet, recipients=peers(spark, F="C B", G="D"))
    assert said(unasked) == {("F", "B"): ("0x10", ["B", "C"], [], [], [], [])}
    rows = [("F", "C", True, True, False), ("F", "B", True, False, False), ("F", "D", False, True, False),
            ("G", "B", True, True, True)]  # fmt: skip
    inquiries = frame_of(
        spark, [("o", "ME", *row) for row in rows], f"{KEY}, peer string, asks boolean, must boolean, leaver boolean"
    )
    assert said(addressing.inquiries(inquiries)) == {
        ("F", "B"): ("0x20", ["B", "C"], [], [], ["C"], []), ("G", "B"): ("0x20", ["B"], [], [], ["B"], ["delete_pending"]),
    }  # fmt: skip


@pytest.mark.rule("R48", "R56", "R57")
def test_every_letter_is_dated_and_says_what_its_sender_holds(spark: SparkSession) -> None:
    """One row however many recipients, each with the moment at which mail gets there; of who is cut off every letter is lost.
    What is set on the folder for its mail is said, and normal where nothing is."""
    now = datetime(2026, 1, 5, 12, tzinfo=UTC)
    senders = ("ME", "CUT", "MUTE")
    letters: list[Any] = [
        ("o", store, "F", "0x4", ["NEAR", "FAR"], [("ME", 1, 1)], [], ["FAR"], ["copy"], 9) for store in senders
    ]
    claim = [("ME~2", "reported", "A", 1, 9)]
    rows = addressing.address(
        frame_of(spark, letters, LETTERS),
        status=frame_of(spark, [("o", "ME", "F", claim), ("o", "MUTE", "G", claim)], f"{KEY}, status array<{CLAIM}>"),
        limits=frame_of(spark, [("o", "ME", "F", "urgent"), ("o", "MUTE", "G", "urgent")], f"{KEY}, priority string"),
        replicas=frame_of(spark, [("o", store, "F", 1 + (store == "ME")) for store in senders], f"{KEY}, life bigint"),
        delays=frame_of(spark, [("o", "ME", {"FAR": 60})], "org string, store string, delays map<string,bigint>"),
        conditions=frame_of(spark, [("o", "CUT", True), ("o", "MUTE", False)], "org string, store string, cut boolean"),
        clock=frame_of(spark, [("o", now)], "org string, now timestamp"),
    ).toArrow().to_pylist()  # fmt: skip
    found = {row["store"]: row for row in rows}
    assert len(rows) == len(found) == 3
    assert {name: [(to["store"], to["due"], to["lost"]) for to in row["recipients"]] for name, row in found.items()} == {
        "ME": [("FAR", now + timedelta(minutes=1), None), ("NEAR", now, None)],
        "CUT": [("FAR", now, "cut_off"), ("NEAR", now, "cut_off")], "MUTE": [("FAR", now, None), ("NEAR", now, None)],
    }  # fmt: skip
    assert {name: (row["sender"], len(row["status"]), row["priority"]) for name, row in found.items()} == {
        "ME": ("ME~2", 1, "urgent"), "CUT": ("CUT", 0, "normal"), "MUTE": ("MUTE", 0, "normal"),
    }  # fmt: skip
    assert {(row["type"], row["bytes"], *row["flags"], *row["responders"], row["at"]) for row in rows} == {
        ("0x4", 9, "copy", "FAR", now)
    }


def test_mail_takes_as_long_as_its_link_says(spark: SparkSession) -> None:
    """From site to site, in that direction; within a site, by a link without delay, or by none, it is there at once.
    A store without a name gets none, and harms nobody."""
    sites = {"A1": "A", "A2": "A", "B1": "B", "C1": "C"}
    stores = [("o", store, site) for store, site in sites.items()] + [("p", "A1", "A"), ("p", "B1", "B"), ("o", None, "B")]
    links = [("o", "A", "B", 60), ("o", "B", "A", 0), ("o", "A", "A", 99), ("o", "C", "A", -5), ("o", "A", "C", 7)]
    found = addressing.delays(
        frame_of(spark, stores, "org string, store string, site string"),
        frame_of(spark, links, "org string, from_site string, to_site string, delay_s bigint"),
    ).collect()
    assert {(row["org"], row["store"]): row["delays"] for row in found} == {
        ("o", "A1"): {"B1": 60, "C1": 7}, ("o", "A2"): {"B1": 60, "C1": 7},
    }  # fmt: skip
    speaking = frame_of(spark, [ME, ("o", "ME", "NONE")], KEY)
    senders = addressing.senders(speaking, replicas=frame_of(spark, [(*ME, 2)], f"{KEY}, life bigint"))
    assert [(row["folder"], row["sender"]) for row in senders.collect()] == [("F", "ME~2")]
