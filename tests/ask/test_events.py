"""Events from the rows of tables: who logs what, what is listed, and how origins are numbered."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from pfspark.ask.eventlog import Deleted, Event, Posted, Sent, describe, read, write
from pfspark.ask.events import Log, events, replids
from pfspark.ask.stores import Stores
from pfspark.words import HIERARCHY, MessageType

START = datetime(2026, 1, 5, 8, tzinfo=UTC)
SALES = "PFS1:1"


class Paths:
    """What each viewer calls a folder; PFS2 has another name for one."""

    def path(self, viewer: str, folder: str) -> str:
        return folder if folder == HIERARCHY else {"PFS2": "/Verkauf"}.get(viewer, f"/Folder {folder.split(':')[1]}")


def at(minutes: int) -> datetime:
    return START + timedelta(minutes=minutes)


def piece(origin: str, low: int, high: int) -> dict[str, Any]:
    return {"origin": origin, "cn_min": low, "cn_max": high}


def message(type: MessageType, store: str = "PFS1", folder: str = SALES, to: tuple[str, ...] = ("PFS2",), **parts: Any) -> Any:
    named = {"message_id": f"{store}/{type}/{folder}", "type": str(type), "store": store, "folder": folder}
    told = {"carries": [], "asks": [], "recipients": [{"store": each} for each in to], "flags": [], "at": at(0), "round": 1}
    return {**named, **told, **parts}


def receipt(
    of: Any, store: str = "PFS2", outcome: str = "applied", minutes: int = 15, reason: str | None = None
) -> dict[str, Any]:
    return {"message_id": of["message_id"], "store": store, "outcome": outcome, "reason": reason, "at": at(minutes)}


def change(ref: str, object: str, action: str, upon: str = "", folder: str = SALES, **parts: Any) -> dict[str, Any]:
    """A change named `PFS1:7`; `upon`: another it was made upon."""
    origin, cn = ref.split(":")
    before = [{"origin": upon.split(":")[0], "cn": int(upon.split(":")[1])}] if upon else []
    said = {"folder": folder, "origin": origin, "cn": int(cn), "object": object, "action": action, "predecessors": before}
    return {"name": object, "properties": [], "size": 100, "made_at": at(int(cn)), "round": 1, **said, **parts}


def made(messages: Any = (), receipts: Any = (), changes: Any = (), replicas: Any = ()) -> list[Event]:
    return list(events(messages, receipts, changes, replicas, cast(Stores, Paths())))


# --- what is listed ---


def test_hierarchy_lists_each_folder_once_with_its_last_change() -> None:
    """As in V38: two numbers, one folder. A folder that was deleted is listed as such, with the number of that."""
    parent = [{"name": "parent", "value": "PFS1:1"}]
    top = [{"name": "parent", "value": ""}, {"name": "name", "value": "x"}]
    of_tree = {"folder": HIERARCHY}
    changes = [
        change("PFS1:1", "PFS1:1", "create_folder", properties=top, size=28, **of_tree),
        change("PFS1:2", "PFS1:2", "create_folder", properties=parent, size=40, **of_tree),
        change("PFS1:3", "PFS1:1", "set_folder", properties=top, size=30, **of_tree),
        change("PFS1:4", "PFS2:4", "delete_folder", properties=parent, **of_tree),
        change("PFS1:5", "PFS2:4", "set_folder", properties=parent, **of_tree),  # in vain
        change("PFS1:6", "PFS1:6", "create_folder", properties=parent, **of_tree),  # in another message
    ]
    sent = message(MessageType.HIERARCHY, folder=HIERARCHY, carries=[piece("PFS1", 1, 5)])
    first, second = made([sent], [receipt(sent)], changes)
    assert (first.event, first.store, first.cn_min, first.cn_max, first.cnset) == (3018, "PFS1", "PFS1:1", "PFS1:5", "")
    assert first.folders == (Sent("PFS1:2", "PFS1:1", 0, "/Folder 2"), Sent("PFS1:1", HIERARCHY, 40, "/Folder 1"))
    assert (first.rfis, first.deleted) == (2, (Deleted("PFS2:4", "PFS1:4"),))
    assert (second.event, second.store, second.server, second.at) == (3028, "PFS2", "PFS1", at(15))
    assert [sent.path for sent in second.folders] == ["/Verkauf", "/Verkauf"]


def test_content_lists_the_versions_that_are_not_superseded_in_the_message() -> None:
    changes = [
        change("PFS1:1", "PFS1:1", "post"),
        change("PFS1:2", "PFS1:1", "modify", upon="PFS1:1", name="new\r\nname"),
        change("PFS2:1", "PFS1:1", "modify", upon="PFS1:1"),  # without knowing of the other
        change("PFS1:3", "PFS1:3", "post"),
        change("PFS1:4", "PFS1:3", "delete", upon="PFS1:3"),
        change("PFS1:5", "PFS1:5", "post", folder="PFS1:9"),  # the same numbers in another folder
    ]
    sent = message(MessageType.CONTENT_RESPONSE, carries=[piece("PFS1", 1, 2), piece("PFS1", 4, 5), piece("PFS2", 1, 1)])
    [event] = made([sent], [], changes)
    assert (event.cnset, event.cn_min, event.database, event.message_ids) == ("PFS1:1-2:4-5,PFS2:1", "", "PFS1", 2)
    assert event.items == (Posted("PFS1:1", "PFS1:2", "new name", at(2)), Posted("PFS1:1", "PFS2:1", "PFS1:1", at(1)))
    assert event.deleted == (Deleted("PFS1:3", "PFS1:4"),)


def test_numbers_of_two_lives_have_the_least_of_the_first_and_the_most_of_the_last() -> None:
    sent = message(MessageType.CONTENT, carries=[piece("PFS1~2", 1, 3), piece("PFS1", 7, 9)])
    [event] = made([sent])
    assert (event.event, event.cn_min, event.cn_max) == (3020, "PFS1:7", "PFS1~2:3")


# --- who logs what ---

CARRIED = {"carries": [piece("PFS1", 1, 2)]}
ASKED = {"asks": [piece("PFS1", 1, 2)]}


@pytest.mark.rule("R65", "R66", "R67", "R68", "R69", "R70", "R71")
@pytest.mark.parametrize(
    ("type", "number", "folder", "parts", "out", "into"),
    [
        (MessageType.HIERARCHY, "0x2", HIERARCHY, CARRIED, 3018, 3028),
        (MessageType.CONTENT, "0x4", SALES, CARRIED, 3020, 3025),
        (MessageType.BACKFILL_REQUEST, "0x8", SALES, ASKED, 3016, 3026),
        (MessageType.BACKFILL_REQUEST, "0x8", HIERARCHY, ASKED, 3014, 3024),
        (MessageType.STATUS, "0x10", SALES, {}, 3017, 3027),
        (MessageType.STATUS, "0x10", HIERARCHY, {}, 3017, 3027),
        (MessageType.STATUS_REQUEST, "0x20", SALES, {}, 3017, 3027),
        (MessageType.STATUS_REQUEST, "0x20", HIERARCHY, {}, 3017, 3027),
        (MessageType.HIERARCHY_RESPONSE, "0x80000002", HIERARCHY, CARRIED, 3019, 3029),
        (MessageType.CONTENT_RESPONSE, "0x80000004", SALES, CARRIED, 3021, 3031),
    ],
)
def test_each_type_is_logged_under_its_number_by_who_sends_and_who_gets_it(
    type: MessageType, number: str, folder: str, parts: dict[str, Any], out: int, into: int
) -> None:
    sent = message(type, folder=folder, **parts)
    going, coming = made([sent], [receipt(sent)])
    assert (going.event, going.type, going.store, going.at) == (out, number, "PFS1", at(0))
    assert (coming.event, coming.type, coming.store, coming.at, coming.server) == (into, number, "PFS2", at(15), "PFS1")
    assert going.server == ("PFS2" if parts == ASKED else "")
    table = {"PFS1": 2}
    for event in (going, coming):
        assert f"type {number}" in describe(event, table).lower().replace("type: ", "type ")
        assert list(read(write(event, table), {2: "PFS1"})) == [event]


def test_what_did_not_get_in_is_in_no_log_but_the_senders() -> None:
    sent = message(MessageType.CONTENT, to=("PFS2", "PFS3", "PFS4", "PFS5"), carries=[piece("PFS1", 1, 1)])
    outcomes = {
        "PFS2": ("refused", "no_replica_here"),
        "PFS3": ("lost", "loss"),
        "PFS4": ("nothing_new", None),
        "PFS5": ("applied", None),
    }
    found = made([sent], [receipt(sent, store, became, reason=why) for store, (became, why) in outcomes.items()])
    assert [(event.event, event.store) for event in found] == [(3020, "PFS1"), (3025, "PFS4"), (3025, "PFS5")]


def test_a_status_that_was_refused_is_in_the_log_of_who_sent_it_alone() -> None:
    """What carries no changes brings nothing new, and has a reason where it was for no replica."""
    sent = message(MessageType.STATUS, to=("PFS2", "PFS3"))
    found = made([sent], [receipt(sent, "PFS2", "nothing_new", reason="no_replica_here"), receipt(sent, "PFS3", "nothing_new")])
    assert [(event.event, event.store) for event in found] == [(3017, "PFS1"), (3027, "PFS3")]


def test_a_copy_that_the_way_made_is_heard_and_was_sent_by_nobody() -> None:
    copy = message(MessageType.CONTENT, carries=[piece("PFS1", 1, 1)], flags=["copy"])
    assert [(event.event, event.store) for event in made([copy], [receipt(copy)])] == [(3025, "PFS2")]


def test_a_replica_that_is_erased_logs_its_removal() -> None:
    steps = [("active", 0), ("delete pending", 15), ("delete now", 30), ("erased", 45)]
    rows = [{"store": "PFS2", "folder": SALES, "life": 1, "standing": word, "at": at(when)} for word, when in steps]
    [event] = made(replicas=rows)
    assert (event.event, event.store, event.at, event.folder) == (3005, "PFS2", at(45), "/Verkauf")
    assert describe(event, {"PFS1": 2}) == "A replica of public folder (2-1) was removed."


def test_a_replica_that_begins_a_new_life_logs_it() -> None:
    """Not one that is put back after it was erased, nor one that was delete pending and stays after all."""
    steps = [("active", 1), ("delete pending", 1), ("active", 1), ("active", 2), ("erased", 2), ("active", 3)]
    rows = [
        {"store": "PFS2", "folder": SALES, "life": life, "standing": word, "at": at(15 * nth)}
        for nth, (word, life) in enumerate(steps)
    ]
    events = made(replicas=reversed(rows))
    assert [(event.event, event.at) for event in events] == [(3006, at(45)), (3005, at(60))]
    assert describe(events[0], {"PFS1": 2}) == "A replica of public folder (2-1) begins a new life."
    assert list(read(write(events[0], {"PFS1": 2}), {2: "PFS1"})) == [replace(events[0], folder="")]


def test_order_is_that_of_time_and_at_one_store_what_comes_in_goes_first() -> None:
    early = message(MessageType.CONTENT, carries=[piece("PFS1", 1, 1)])
    late = message(MessageType.STATUS, "PFS2", at=at(15))
    other = message(MessageType.STATUS, "PFS1", message_id="later", at=at(15))
    found = made([late, other, early], [receipt(early)])
    assert [(event.event, event.store) for event in found] == [(3020, "PFS1"), (3017, "PFS1"), (3025, "PFS2"), (3017, "PFS2")]
    assert found == made([early, other, late], [receipt(early)])


# --- the numbers of origins ---


def test_origins_are_numbered_from_2_as_they_appear() -> None:
    """No folder of ours can be written 1-1, and what comes later changes no number given."""
    replicas = [
        {"store": store, "life": life, "round": round}
        for store, life, round in [("B", 1, 3), ("A", 1, 3), ("A", 10, 9), ("A", 2, 9), ("0", 1, 12), ("B", 1, 1)]
    ]
    assert replids(replicas) == {"B": 2, "A": 3, "A~2": 4, "A~10": 5, "0": 6}
    for round in (1, 3, 9):
        early = replids(row for row in replicas if row["round"] <= round)
        assert list(early.items()) == list(replids(replicas).items())[: len(early)]
    told = [change("D:1", "D:1", "post", round=2), {**piece("C", 1, 1), "round": 2}]
    assert replids(replicas[:2], told) == {"C": 2, "D": 3, "A": 4, "B": 5}


def test_a_log_tells_its_events_as_lines_and_as_text() -> None:
    sent = message(MessageType.STATUS, folder=HIERARCHY)
    [(line, text)] = Log("main", {"PFS1": 2}, made([sent])).lines()
    assert (line["org"], line["at"], line["kind"], line["event"]) == ("main", "2026-01-05T08:00:00Z", "event", 3017)
    told = ["Computer: PFS1", "Description:", "Outgoing message type 0x10", "Message ID: PFS1/0x10/1-1"]
    assert text.endswith("\n".join([*told, "Folders: (1-1) IPM_SUBTREE"]))
