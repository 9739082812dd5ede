"""The text of events: the samples of the articles read and written, and whatever is written read back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfspark import cntext
from pfspark.ask.eventlog import Deleted, Event, Posted, Sent, describe, event_of, one_line, read, write
from pfspark.errors import CnSetError, EventLogError
from pfspark.words import HIERARCHY, MessageType

ORIGINS: dict[str | int, str] = {1: "PFS1", 2: "PFS2", "3": "PFS3", "5": "PFS5", "12": "PFS18", "44": "PFS68", "6e": "PFS110"}
REPLIDS = {str(label): key if isinstance(key, int) else int(key, 16) for key, label in ORIGINS.items()}

# --- the samples --------------------------------------------------------------------------------------------------------

V38 = """An outgoing replication message was issued.
Type: 0x2
Message ID: <23599A0E@contoso.com>
Database "PFDB"
CN min: 1-11D3, CN max: 1-11D4
RFIs: 1
1) FID: 1-38BF, PFID: 1-1, Offset: 28
        IPM_SUBTREE\\TestPF"""
V39 = """An incoming replication message was processed.
Type: 0x2
Message ID: 1-14CE
CN min: 5-38A4
CN max: 5-38B6
RFIs: 0
IDCN deleted: 5-2B19,5-38B6
Server: /O=contoso/CN=CONFIGURATION/CN=SERVERS/CN=EXCHSRVR/CN=MICROSOFT PUBLIC MDB"""
V40 = """An outgoing replication message was issued.
Type: 0x80000002
Message ID: 1-1B62
CNSET: 12-1B67,12-1B67 12-1B69,12-1B69, CNSET(FAI): {0}
RFIs: 2
1: 2-7,1-4,48
IPM_SUBTREE\\Sales
IDCN Deleted: {0}"""
V41 = """Outgoing message type 0x10
Message ID: 1-61ADB
Folders: (1-1) IPM_SUBTREE"""
V42 = """An outgoing replication message was issued.
Type: 0x80000004
Folder: (1-16771) IPM_SUBTREE\\FolderA\\Subfolder1
Database "PFDB"
CNSET: 1-1,1-1791E
CNSET (FAI): 1-1,1-1791E
Message IDs: 90
1: 1-1687B, 1-16C45
--- : Test 10 : 5/19/2010 4:16:12 PM"""
V43 = """An incoming replication message was processed.
Type: 0x4
Message ID: 1-7E4C
Folder: (5-821) IPM_SUBTREE\\A
CN min: 5-1
CN max: 5-795E
Server: /O=contoso/CN=CONFIGURATION/CN=SERVERS/CN=EXCHSRVR/CN=MICROSOFT PUBLIC MDB"""
V44 = """An incoming replication message was processed.
Type: 0x10
Message ID: 1-24687
Folder(s): (44-64981) IPM_SUBTREE\\A\\B
Server: /O=contoso/CN=CONFIGURATION/CN=SERVERS/CN=EXCHSRVR/CN=MICROSOFT PUBLIC MDB"""
REQUEST = """Outgoing message type 0x8
Message ID: 1-99
Folder: (5-821) IPM_SUBTREE\\A
Database "PFDB".
CNSET: 5-2,5-3
CNSET(FAI): {0}
Server: EXCHSRVR"""
REMOVAL = "A replica of public folder (5-2B19) was removed."

READ = {
    V38: Event(
        3018, "0x2", message_id="<23599A0E@contoso.com>", folder="1-1", id="1-1", database="PFDB",
        cn_min="PFS1:4563", cn_max="PFS1:4564", rfis=1, folders=(Sent("PFS1:14527", "1-1", 28, "/TestPF"),),
    ),
    V39: Event(
        3028, "0x2", message_id="1-14CE", folder="1-1", id="1-1", cn_min="PFS5:14500", cn_max="PFS5:14518", rfis=0,
        deleted=(Deleted("PFS5:11033", "PFS5:14518"),), server="EXCHSRVR",
    ),
    V40: Event(
        3019, "0x80000002", message_id="1-1B62", folder="1-1", id="1-1", cnset="PFS18:7015:7017", rfis=2,
        folders=(Sent("PFS2:7", "PFS1:4", 48, "/Sales"),),
    ),
    V41: Event(3017, "0x10", message_id="1-61ADB", folder="1-1", id="1-1"),
    V42: Event(
        3021, "0x80000004", folder="/FolderA/Subfolder1", id="PFS1:92017", database="PFDB",
        cnset="PFS1:1-96542", cnset_fai="PFS1:1-96542", message_ids=90,
        items=(Posted("PFS1:92283", "PFS1:93253", "Test 10", datetime(2010, 5, 19, 16, 16, 12, tzinfo=UTC)),),
    ),
    V43: Event(
        3025, "0x4", message_id="1-7E4C", folder="/A", id="PFS5:2081", cn_min="PFS5:1", cn_max="PFS5:31070", server="EXCHSRVR"
    ),
    V44: Event(3027, "0x10", message_id="1-24687", folder="/A/B", id="PFS68:412033", server="EXCHSRVR"),
    REQUEST: Event(
        3016, "0x8", message_id="1-99", folder="/A", id="PFS5:2081", database="PFDB", cnset="PFS5:2-3", server="EXCHSRVR"
    ),
    REMOVAL: Event(3005, id="PFS5:11033"),
}  # fmt: skip


@pytest.mark.parametrize("sample", READ, ids=["V38", "V39", "V40", "V41", "V42", "V43", "V44", "request", "removal"])
def test_samples_are_read_and_written_again(sample: str) -> None:
    assert list(read(sample, ORIGINS)) == [READ[sample]]
    assert describe(READ[sample], REPLIDS, "contoso") == sample


def one(text: str) -> Event:
    [event] = read(text, ORIGINS)
    return event


@pytest.mark.parametrize(
    ("sample", "was", "told"),
    [
        (V38, "CN min: 1-11D3, CN max: 1-11D4", "CN min: 1-11D3\nCN max: 1-11D4"),
        (V38, "CN min: 1-11D3, CN max: 1-11D4", "CN min: 1-11d3 CN max:1-11d4"),
        (V38, 'Database "PFDB"\nCN min', 'Database "PFDB". CN min'),
        (V38, "\n", "\r\n"),
        (V38, "\n", "\n\t  "),
        (V38, "\n", "\n\n"),
        (V38, "issued.", "issued.\nSomething that no sample tells."),
        (V40, "CNSET: 12-1B67,12-1B67 12-1B69,12-1B69, CNSET", "CNSET: 12-1B67,12-1B67 12-1B69,12-1B69\nCNSET "),
        (V40, "1: 2-7,1-4,48", "1) FID: 2-7, PFID: 1-4, Offset: 48"),
        (V41, "Folders:", "Folder(s):"),
        (V43, "CN min: 5-1\nCN max: 5-795E", 'Database "".CN min: 5-1 CN max:5-795E'),
        (V43, "/CN=MICROSOFT PUBLIC MDB", "/CN\n  =MICROSOFT PUBLIC MDB"),
        (V43, "Server: /O", "Server:\n/O"),
        (V43, "/CN=SERVERS", "\n /CN=SERVERS"),
        (V43, "/CN=MICROSOFT PUBLIC MDB", "/CN =MICROSOFT\nPUBLIC MDB"),
        (V39, "IDCN deleted:", "IDCN Deleted:  "),
        (V42, "Message IDs: 90", "Message IDs:90"),
    ],
)  # fmt: skip
def test_other_spellings_say_the_same(sample: str, was: str, told: str) -> None:
    assert was in sample
    assert one(sample.replace(was, told)) == READ[sample]


@pytest.mark.parametrize(
    ("shown", "id", "path"),
    [
        ("(1-1) IPM_SUBTREE", "1-1", "1-1"),
        ("(1-FFFFFFFF0000) NON_IPM_SUBTREE\\SYSTEM", "PFS1:281474976645120", "NON_IPM_SUBTREE/SYSTEM"),
        ("(3-FFFFFFFF0003) IPM_SUBTREE\\Internet Newsgroups", "PFS3:281474976645123", "/Internet Newsgroups"),
        ("(6e-2F506) NON_IPM_SUBTREE\\Events Root\\Ü/ber", "PFS110:193798", "NON_IPM_SUBTREE/Events Root/Ü\\ber"),
    ],
)
def test_folders_of_the_system_have_their_places(shown: str, id: str, path: str) -> None:
    text = V41.replace("(1-1) IPM_SUBTREE", shown)
    event = one(text)
    assert (event.id, event.folder) == (id, path)
    assert describe(event, REPLIDS).lower() == text.lower()


@pytest.mark.rule("R5")
def test_the_hierarchy_is_folder_1_1_in_logs_and_no_number_is_it() -> None:
    assert (one(V41).id, one(V38).folder, one(V38).folders[0].parent) == (HIERARCHY, HIERARCHY, HIERARCHY)
    assert one(V42.replace("CNSET: 1-1,1-1791E", "CNSET: 1-1,1-1")).cnset == "PFS1:1"
    assert one(V43.replace("CN min: 5-1\n", "CN min: 1-1\n")).cn_min == "PFS1:1"


HEADER = """Event Type: Information
Event Source: MSExchangeIS Public Store
Event Category: Replication Outgoing Messages
Event ID: {id}
Date: 5/21/2003
Time: 3:36:19 PM
User: N/A
Computer: EX1
Description:
"""
ERROR = """Unexpected replication thread error 0x3f0.

EcGetReplMsg
FReplAgent
"""


def test_a_log_is_read_event_by_event_and_other_events_are_passed_over() -> None:
    parts = [HEADER.format(id=3018) + V38, HEADER.format(id=3079) + ERROR, "Event ID: 3005", "Type: Information", REMOVAL, V39]
    parts += [HEADER.format(id=3030) + V43]
    found = list(read("\n".join(parts), ORIGINS))
    at = datetime(2003, 5, 21, 15, 36, 19, tzinfo=UTC)
    headed = {"at": at, "store": "EX1"}
    assert found == [replace(READ[V38], **headed), READ[REMOVAL], READ[V39], replace(READ[V43], event=3030, **headed)]
    assert list(read(HEADER.format(id=3079) + ERROR, ORIGINS)) == list(read("", ORIGINS)) == []


@pytest.mark.parametrize(
    ("head", "at"),
    [
        ("Date: 5/19/2010 4:16:12 PM", datetime(2010, 5, 19, 16, 16, 12, tzinfo=UTC)),
        ("Date: 1/5/2026\nTime: 12:00:00 AM", datetime(2026, 1, 5, tzinfo=UTC)),
        ("Date:\t\t1/5/2026\nTime:\t\t12:00:00PM", datetime(2026, 1, 5, 12, tzinfo=UTC)),
        ("Date: 1/5/2026\nTime: 14:16:12 PM", datetime(2026, 1, 5, 14, 16, 12, tzinfo=UTC)),
        ("Date: 1/5/2026\nTime: 23:01:02", datetime(2026, 1, 5, 23, 1, 2, tzinfo=UTC)),
        ("Date: 1/5/2026\nTime: 8:00:00.25 AM", datetime(2026, 1, 5, 8, 0, 0, 250000, tzinfo=UTC)),
        ("Date: 1/5/2026", None),
        ("Level: Information", None),
    ],
)
def test_times(head: str, at: datetime | None) -> None:
    assert one(f"{head}\n{V41}").at == at


@pytest.mark.parametrize(
    ("at", "told"),
    [
        (datetime(2026, 1, 5, tzinfo=UTC), "Date: 1/5/2026\nTime: 12:00:00 AM\nComputer: PFS1\nDescription:\nOutgoing"),
        (datetime(2026, 12, 31, 12, 1, 2, 30, tzinfo=UTC), "Date: 12/31/2026\nTime: 12:01:02.000030 PM\nComputer: PFS1\n"),
        (datetime(2026, 1, 5, 23, 1, tzinfo=UTC), "Event ID: 3017\nDate: 1/5/2026\nTime: 11:01:00 PM\n"),
    ],
)
def test_the_header(at: datetime, told: str) -> None:
    text = write(replace(READ[V41], at=at, store="PFS1"), REPLIDS)
    assert text.startswith(HEADER.split("Event ID")[0]) and told in text
    assert text.endswith(f"\nDescription:\n{V41}")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (V38.replace("1-11D3", "7-11D3"), "line 5 of the log: found REPLID 7 in '7-11D3', expected one of the table of origins"),
        (V38.replace("1-11D3", "11D3"), "line 5 of the log: found '11D3', expected a REPLID and a number in hex"),
        (V38.replace("1-11D3", "1-0"), "line 5 of the log: found '1-0', expected a number from 1"),
        (V40.replace("12-1B67,12-1B67", "12-1B67"), "line 4 of the log: not a set of change numbers: column 1: found '12-1B67'"),
        (V40.replace("12-1B67,12-1B67", "12-1B69,12-1B67"), "line 4 of the log: not a set"),
        (V39.replace("5-2B19,5-38B6", "5-2B19"), "line 7 of the log: found '5-2B19', expected an id and a number"),
        (V39.replace("RFIs: 0", "RFIs: some"), "line 6 of the log: found 'some', expected a number or nothing"),
        (V41.replace("0x10", "0x40"), "line 1 of the log: found a message of type 0x40, expected one of 0x2, 0x4, 0x8"),
        ("Date: 1/5/2026 14:16:12 AM\n" + V41, "line 1 of the log: found '1/5/2026 14:16:12 AM', expected month/day/year"),
        ("Date: 1/5/2026 25:16:12 PM\n" + V41, "line 1 of the log: found '1/5/2026 25:16:12 PM', expected month/day/year"),
        ("\nDate: 19/5/2010 4:16:12 PM\n" + V41, "line 2 of the log: found '19/5/2010 4:16:12 PM', expected month/day/year"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(text: str, told: str) -> None:
    with pytest.raises(EventLogError) as error:
        list(read(text, ORIGINS))
    assert str(error.value).startswith(told)


def test_a_table_of_origins_has_origins() -> None:
    with pytest.raises(CnSetError, match="expected an origin"):
        list(read(V41, {1: "no origin"}))


# --- whatever is written is read back ---

LABELS = st.sampled_from(sorted(REPLIDS))
NUMBERS = st.integers(1, cntext.MAX_CN)
REFS = st.builds("{}:{}".format, LABELS, NUMBERS)
SETS = st.dictionaries(
    LABELS, st.lists(st.tuples(NUMBERS, NUMBERS).map(lambda pair: (min(pair), max(pair))), min_size=1, max_size=4)
).map(cntext.show)
LINES = st.text(st.characters(blacklist_categories=["Cs"]), max_size=30).map(one_line)
NAMES = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="/"), min_size=1, max_size=20).map(one_line)
PATHS = st.one_of(st.lists(NAMES, min_size=1, max_size=3).map(lambda names: "/" + "/".join(names)))
FOLDERS = st.tuples(REFS.filter(lambda ref: ref != "PFS1:1"), PATHS)
STORES = st.from_regex(cntext.STORE_NAME, fullmatch=True)
MOMENTS = st.datetimes(datetime(1980, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
SENT = st.builds(
    lambda folder, parent, offset: Sent(folder[0], parent, offset, folder[1]),
    FOLDERS,
    st.just(HIERARCHY) | FOLDERS.map(lambda folder: folder[0]),
    st.integers(0, 2**40),
)
ITEMS = st.builds(Posted, REFS.filter(lambda ref: ref != "PFS1:1"), REFS, LINES, MOMENTS)
GONE = st.builds(Deleted, REFS.filter(lambda ref: ref != "PFS1:1"), REFS)


def some(values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(values, max_size=3).map(tuple)


@st.composite
def events(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Event:
    """An event with all that its kind tells."""
    head = {"at": draw(MOMENTS), "store": draw(STORES)}
    if draw(st.integers(0, 9)) == 0:
        return Event(3005, id=draw(FOLDERS)[0], **head)
    type, incoming = draw(st.sampled_from(MessageType)), draw(st.booleans())
    of_hierarchy = type in (MessageType.HIERARCHY, MessageType.HIERARCHY_RESPONSE)
    of_content = type in (MessageType.CONTENT, MessageType.CONTENT_RESPONSE)
    hierarchy = of_hierarchy or (not of_content and draw(st.booleans()))
    said: dict[str, Any] = {"message_id": draw(st.uuids()).hex}
    said["id"], said["folder"] = (HIERARCHY, HIERARCHY) if hierarchy else draw(FOLDERS)
    if type in (MessageType.HIERARCHY, MessageType.CONTENT):
        said |= {"cn_min": draw(REFS), "cn_max": draw(REFS)}
    if type in (MessageType.HIERARCHY_RESPONSE, MessageType.CONTENT_RESPONSE, MessageType.BACKFILL_REQUEST):
        said |= {"cnset": draw(SETS), "cnset_fai": draw(SETS)}
    if of_hierarchy:
        said |= {"rfis": draw(st.integers(0, 99)), "folders": draw(some(SENT)), "deleted": draw(some(GONE))}
    if of_content and not incoming:
        said |= {"message_ids": draw(st.integers(0, 99)), "items": draw(some(ITEMS)), "deleted": draw(some(GONE))}
    logs_database = type in (MessageType.HIERARCHY, MessageType.BACKFILL_REQUEST) or of_content
    if logs_database and not incoming:
        said["database"] = draw(STORES)
    if incoming or type == MessageType.BACKFILL_REQUEST:
        said["server"] = draw(STORES)
    return Event(event_of(type, incoming=incoming, hierarchy=hierarchy), str(type), **head, **said)


@given(st.lists(events(), max_size=4), LINES)
def test_what_is_written_is_read_back(said: list[Event], org: str) -> None:
    text = "\n\n".join(write(event, REPLIDS, org) for event in said)
    assert list(read(text, ORIGINS)) == said


@given(events())
def test_an_event_without_its_header_is_read_back_too(event: Event) -> None:
    headless = replace(event, at=None, store="")
    assert list(read(describe(event, REPLIDS), ORIGINS)) == [headless]


def test_a_row_is_plain() -> None:
    row = READ[V42].columns
    assert row["items"] == [{"id": "PFS1:92283", "cn": "PFS1:93253", "name": "Test 10", "at": "2010-05-19T16:16:12Z"}]
    assert (row["event"], row["at"], row["folders"]) == (3021, None, [])
