"""Edits of the tree, as frames: which are refused and why, how they are numbered, and what their changes say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from pfspark.execute import Made, execute
from pfspark.frame import source
from pfspark.rows import arrow, local, rows_of, schema_of, struct
from pfspark.rules import folder_edits, places
from pfspark.tables import FRAMES
from pfspark.words import LEVELS, Action, Listing, Reason
from tests.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
MICRO = timedelta(microseconds=1)
Said = Mapping[str, Any]
"""What an edit says."""


def make(parent: str = "", **more: str) -> Said:
    return {"action": "create_folder", "properties": {"name": "new", "parent": parent, **replicas(more)}}


def put(folder: str, **more: str) -> Said:
    return {"action": "set_folder", "folder": folder, "properties": replicas(more)}


def drop(folder: str) -> Said:
    return {"action": "delete_folder", "folder": folder, "properties": {}}


def by_itself(folder: str, listing: Listing = Listing.GONE) -> Said:
    """What the store says of its own replica as a leaver."""
    return {**put(folder, P1=listing), "decided": NOW - timedelta(hours=1)}


def replicas(said: Mapping[str, str]) -> dict[str, str]:
    """Properties; those that are named like a store are entries of the list."""
    return {f"replica:{name}" if name[1:].isdigit() else name: value for name, value in said.items()}


def edits(spark: SparkSession, cases: Mapping[str, Sequence[Said]]) -> DataFrame:
    """The edits of each case, in an organization of its own, by default at P1; they are named and placed 1, 2, ..."""
    schema = struct(FRAMES["edits"].ddl)
    rows = [
        {"org": org, "store": "P1", "edit_id": str(nth), "nth": nth, "place": nth, "at": NOW, "now": NOW, **said}
        | {"properties": [*said["properties"].items()]}
        for org, some in cases.items()
        for nth, said in enumerate(some, 1)
    ]
    return local(spark, arrow(schema, rows), schema)


def resolved(spark: SparkSession, cases: Mapping[str, Sequence[Said]]) -> DataFrame:
    return folder_edits.resolve(edits(spark, cases), names=frame_of(spark, [], struct(FRAMES["names"].ddl)))


TREE = {"A": "", "A1": "A", "A2": "A1", "B": "", "L": "", "M": "", "DEAD": ""}
"""Where each folder of P1's tree lies; `DEAD` is deleted."""
CHAIN = {f"T{level}": f"T{level - 1}" if level > 1 else "" for level in range(1, LEVELS + 1)}
"""As deep as edits may make one."""
LISTS = {"A": ("P1", "P2"), "A1": ("P1", "P2"), "A2": ("P1",), "B": ("P1",), "L": ("P2",), "M": (), "DEAD": ("P1",)}
"""Who is listed for them; what P1 leaves is `L`. Merging took the last off `M`, so that P1 is kept there."""


def known(name: str, orgs: Sequence[str]) -> list[dict[str, Any]]:
    """What P1 sees in each of those organizations, as rows of that table; in the deep one there is the chain too."""
    said: list[dict[str, Any]] = []
    for org in orgs:
        here = {"org": org, "store": "P1"}
        if name == "folders":
            trees = TREE | (CHAIN if org.startswith("deep") else {})
            said += [{**here, "folder": each, "parent": above, "dead": each == "DEAD"} for each, above in trees.items()]
        elif name == "lists":
            standing = LISTS | {"M": ("P1",)}
            said += [{**here, "folder": each, "peer": peer, "listing": "listed"} for each in LISTS for peer in standing[each]]
            said += [{**here, "folder": "L", "peer": "P1", "listing": "removed"}]
        else:
            entries = {(each, f"replica:{peer}"): "listed" for each, peers in LISTS.items() for peer in peers}
            entries |= {("M", "replica:P1"): "removed", ("L", "replica:P1"): "removed"}
            stamp = {"at": NOW - timedelta(days=1), "origin": "P1", "cn": 1}
            said += [
                {**here, "folder": each, "property": of, "value": value, "stamp": stamp} for (each, of), value in entries.items()
            ]
    return said


def judged(spark: SparkSession, cases: Mapping[str, Sequence[Said]]) -> dict[str, list[dict[str, Any]]]:
    """The verdicts on the edits of each case, in order, made step by step as in a round."""
    rows = {name: rows_of(name, known(name, [*cases])) for name in ("folders", "lists", "tree")}
    given = {name: _made(table, schema_of(name)) for name, table in rows.items()}
    those, schema = edits(spark, cases), struct(FRAMES["edits"].ddl)
    given["edits"] = _made(those.toArrow(), schema)
    given["names"] = _made(arrow(struct(FRAMES["names"].ddl), []), struct(FRAMES["names"].ddl))
    asked = folder_edits.resolve(source("edits"), names=source("names"))
    folders = source("folders")
    deleting, reaching = places.deletions(asked), places.reaching(places.placements(asked), folders=folders)
    branches = places.branches(asked, deleting=deleting, folders=folders, reaching=reaching)
    followed = places.follow(asked, deleting=deleting, folders=folders, reaching=reaching, branches=branches)
    validated = folder_edits.validate(
        asked, folders=folders, lists=source("lists"), tree=source("tree"),
        deleted=places.deleted_with_parent(followed, branches=branches), too_deep=places.too_deep(followed),
    )  # fmt: skip
    found = execute(spark, {"validated": validated}, given)["validated"].to_pylist()
    assert sorted((row["org"], row["nth"]) for row in found) == sorted(
        (org, nth) for org, some in cases.items() for nth, _ in enumerate(some, 1)
    )
    return {org: sorted((row for row in found if row["org"] == org), key=lambda row: row["nth"]) for org in cases}


def _made(rows: Any, schema: Any) -> Made:
    return Made(lambda session: local(session, rows, schema), rows, schema=schema)


Verdict = Reason | bool
"""Why an edit is refused; or, where it is not, whether P1 is on the folder's list after it."""
ON, OFF = True, False
NO_FOLDER, GONE_FOLDER = Reason.UNKNOWN_FOLDER, Reason.FOLDER_DELETED
CASES: dict[str, list[tuple[Said, Verdict]]] = {
    # lists (R14, Q26, R148)
    "one is put on": [(put("A", P3="listed"), ON)],
    "one is taken off, not the last": [(put("A", P1="removed"), OFF), (put("A", P2="removed"), Reason.LAST_REPLICA)],
    "the other goes, not the last": [(put("A", P2="removed"), ON), (put("A", P1="removed"), Reason.LAST_REPLICA)],
    "the last does not go": [(put("B", P1="removed"), Reason.LAST_REPLICA), (put("B", description="is there"), ON)],
    "nor all at once": [(put("A", P1="removed", P2="removed"), Reason.LAST_REPLICA)],
    "another comes first": [(put("B", P2="listed"), ON), (put("B", P1="removed"), OFF)],
    "another comes too late": [(put("B", P1="removed"), Reason.LAST_REPLICA), (put("B", P2="listed"), ON)],
    "another comes in the same": [(put("B", P2="listed", P1="removed"), OFF)],
    "one that is not on it": [(put("A", P3="removed"), Reason.NOT_LISTED), (put("L", P1="removed"), Reason.NOT_LISTED)],
    "off twice": [(put("A", P1="removed"), OFF), (put("A", P1="removed"), Reason.NOT_LISTED), (put("A", P1="listed"), ON)],
    "a refused one puts nobody on": [(make("X", P1="listed"), NO_FOLDER), (put("A", P3="removed"), Reason.NOT_LISTED)],
    "who is kept is the last": [(put("M", P1="removed"), Reason.LAST_REPLICA), (put("M", description="kept"), ON)],
    "who is kept until another comes": [(put("M", P2="listed"), OFF), (put("M", P1="removed"), Reason.NOT_LISTED)],
    "who is kept is taken off by name": [(put("M", P2="listed", P1="removed"), OFF)],
    # what a leaver says by itself
    "a leaver": [(by_itself("L"), OFF), (by_itself("L", Listing.LEAVING), OFF)],
    "no leaver": [(by_itself("A"), Reason.NOT_LEAVING), (by_itself("M"), Reason.NOT_LEAVING)],
    "put back": [(put("L", P1="listed"), ON), (by_itself("L"), Reason.NOT_LEAVING)],
    "put back, and off once more": [
        (put("L", P1="listed"), ON), (put("L", P1="removed"), OFF), (by_itself("L"), Reason.NOT_LEAVING)
    ],
    "another is put on": [(put("L", P3="listed"), OFF), (by_itself("L"), OFF)],
    # folders that are none, or no more (R12, R141)
    "nowhere": [
        (make(), OFF), (make("A2", P1="listed"), ON), (make("X"), NO_FOLDER), (make("DEAD"), GONE_FOLDER),
        (put("B", parent="X"), NO_FOLDER), (put("B", parent="DEAD"), GONE_FOLDER), (put("B", parent="A"), ON),
    ],
    "of no folder": [(put("X", description="?"), NO_FOLDER), (drop("X"), NO_FOLDER)],
    "of a deleted one": [(put("DEAD", description="?"), GONE_FOLDER), (drop("DEAD"), GONE_FOLDER)],
    "made before": [
        (make(), OFF), (make("@1"), OFF), (put("@1", P1="listed"), ON), (put("B", parent="@2"), ON), (drop("@1"), ON),
    ],
    "made after": [(make("@2"), NO_FOLDER), (make(), OFF)],
    "used before it is made": [(put("@2", description="?"), NO_FOLDER), (make(), OFF), (put("@2", description="!"), OFF)],
    "beneath what is not made": [
        (make("X"), NO_FOLDER), (make("@1"), NO_FOLDER), (make("@2"), NO_FOLDER), (put("@1", description="?"), NO_FOLDER),
        (put("B", parent="@3"), NO_FOLDER), (make(), OFF),
    ],
    "deleted before": [
        (drop("A"), ON), (put("A", description="?"), GONE_FOLDER), (drop("A1"), GONE_FOLDER), (make("A2"), GONE_FOLDER),
        (put("B", parent="A"), GONE_FOLDER), (put("B", description="!"), ON), (drop("A"), GONE_FOLDER),
    ],
    "deleted after": [(put("A2", description="!"), ON), (drop("A"), ON)],
    "moved away in time": [(put("A1", parent=""), ON), (drop("A"), ON), (put("A1", description="!"), ON), (make("A2"), OFF)],
    "moved away too late": [(drop("A"), ON), (put("A1", parent=""), GONE_FOLDER)],
    "moved there in time": [(put("B", parent="A2"), ON), (drop("A"), ON), (put("B", description="?"), GONE_FOLDER)],
    "made there in time": [(make("A2", P1="listed"), ON), (drop("A"), ON), (put("@1", description="?"), GONE_FOLDER)],
    "of one name": [(make(), OFF), (make(), OFF), (put("@1", description="one"), OFF), (drop("@2"), OFF)],
    # depth (R140)
    "deep": [(make(f"T{LEVELS - 1}"), OFF), (make(f"T{LEVELS}"), Reason.TOO_DEEP), (make("@2"), NO_FOLDER)],
}  # fmt: skip


BY_STORE = [put("A", description="?"), {**put("A", description="?"), "store": "P2"}, {**make(), "store": "P2"}, make("@3")]
NAMED_ALIKE = [{**by_itself("L"), "edit_id": "gone/P1/L"}, {**put("B", P1="removed"), "edit_id": "gone/P1/L"}]


@pytest.fixture(scope="module")
def verdicts(spark: SparkSession) -> dict[str, list[dict[str, Any]]]:
    cases = {case: [said for said, _ in some] for case, some in CASES.items()}
    return judged(spark, {**cases, "by store": BY_STORE, "named alike": NAMED_ALIKE})


@pytest.mark.rule("R11", "R12", "R14", "R15", "R140", "R148", "R149")
@pytest.mark.parametrize("case", CASES)
def test_each_edit_is_judged_by_what_those_before_it_leave(verdicts: dict[str, list[dict[str, Any]]], case: str) -> None:
    found = [row["reason"] or row["on"] for row in verdicts[case]]
    assert found == [verdict if isinstance(verdict, bool) else str(verdict) for _, verdict in CASES[case]]
    left = [row["on"] for row in verdicts[case] if row["reason"]]
    assert None not in left  # the refused are told too how the list stands


def test_stores_are_judged_by_what_each_of_them_sees(verdicts: dict[str, list[dict[str, Any]]]) -> None:
    """P2, to which nobody has told anything, knows no folder, and what it makes P1 does not know."""
    assert [row["reason"] for row in verdicts["by store"]] == [None, NO_FOLDER, None, NO_FOLDER]


def test_an_edit_that_is_named_like_another_has_a_verdict_of_its_own(verdicts: dict[str, list[dict[str, Any]]]) -> None:
    """As what a leaver says by itself, when somebody's edit has that name."""
    assert [row["reason"] for row in verdicts["named alike"]] == [None, Reason.LAST_REPLICA]


def test_what_an_edit_is_about(spark: SparkSession) -> None:
    """A folder that is made is called by its edit, or by its number where it has one; who says no place means the top."""
    said = {"o": [make("@before"), put("A", description="x"), put("A", parent="@1"), drop("A")],
            "p": [make("@before", P1="listed")]}  # fmt: skip
    names = frame_of(spark, [("o", "before", "P2:7"), ("o", "1x", "P2:8")], "org string, edit_id string, object string")
    found = folder_edits.resolve(edits(spark, said), names=names)
    assert "reason" not in found.columns
    assert {(row["org"], row["nth"]): (row["target"], row["parent"]) for row in found.collect()} == {
        ("o", 1): ("@1", "P2:7"), ("o", 2): ("A", ""), ("o", 3): ("A", "@1"), ("o", 4): ("A", ""), ("p", 1): ("@1", "@before"),
    }  # fmt: skip


PLACED = f"{FRAMES['resolved_folders'].ddl}, reason string, on boolean"


def validated(spark: SparkSession, *said: Said) -> DataFrame:
    """Edits with their targets, as they come from `validate`; at P1 unless said, now unless said."""
    common = {"org": "o", "store": "P1", "at": NOW, "now": NOW, "parent": "", "on": True, "folder": "A"}
    rows = [
        {**common, "edit_id": f"e{nth}", "nth": nth, "place": nth, "action": "set_folder", **each}
        for nth, each in enumerate(said, 1)
    ]
    for row in rows:
        row["properties"] = [*row["properties"].items()] if "properties" in row else None
        row["target"] = row.get("target", f"@{row['edit_id']}" if row["action"] == Action.CREATE_FOLDER else row["folder"])
    schema = struct(PLACED)
    return local(spark, arrow(schema, rows), schema)


def numbered(spark: SparkSession, *said: Said, tree: DataFrame | None = None) -> DataFrame:
    """Those that are not refused, with their numbers: P1, in its second life, has given seven, P2 none."""
    last = [("o", "P1", "1-1", "P1~2", 7), ("o", "P1", "A", "P1", 90), ("o", "P2", "1-1", "P2", 0), ("p", "P1", "1-1", "P1", 3)]
    numbers = frame_of(spark, last, struct(FRAMES["last_numbers"].ddl))
    return folder_edits.number(validated(spark, *said), numbers=numbers)


@pytest.mark.rule("R31", "R40", "R41", "R141")
def test_numbers_go_on_in_order_and_a_folder_is_its_number(spark: SparkSession) -> None:
    """Of folder 1-1, of each store by itself; the refused use none up. Two of one name are two folders, and who named one that is
    made in this round, as folder or as parent, means its number."""
    new = {"action": "create_folder", "properties": {"name": "new", "parent": ""}}
    found = numbered(
        spark,
        {"nth": 6, "folder": "@e3", "edit_id": "last"}, {**new, "reason": "unknown_folder"}, new, new, {"parent": "@e4"},
        {"nth": -3, "edit_id": "first"}, {**new, "store": "P2", "edit_id": "p2"}, {"org": "p", "folder": "@e3", "edit_id": "p"},
        {"nth": 9, "folder": "@e2", "edit_id": "of another day"},
    )  # fmt: skip
    rows = {(row["org"], row["edit_id"]): (row["label"], row["cn"], row["object"], row["parent"]) for row in found.collect()}
    assert rows == {
        ("o", "first"): ("P1~2", 8, "A", ""), ("o", "e3"): ("P1~2", 9, "P1~2:9", ""), ("o", "e4"): ("P1~2", 10, "P1~2:10", ""),
        ("o", "e5"): ("P1~2", 11, "A", "P1~2:10"), ("o", "last"): ("P1~2", 12, "P1~2:9", ""),
        ("o", "of another day"): ("P1~2", 13, "@e2", ""), ("o", "p2"): ("P2", 1, "P2:1", ""), ("p", "p"): ("P1", 4, "@e3", ""),
    }  # fmt: skip


def tree(spark: SparkSession, at: datetime, **said: Mapping[str, str]) -> DataFrame:
    """Properties of folders as P1 sees them, all set at that time by P9:1."""
    stamp = {"at": at, "origin": "P9", "cn": 1}
    rows = [{"org": "o", "store": "P1", "folder": folder, "property": name, "value": value, "stamp": stamp}
            for folder, sets in said.items() for name, value in sets.items()]  # fmt: skip
    return local(spark, rows_of("tree", rows), schema_of("tree"))


def written(spark: SparkSession, held: DataFrame, *said: Said) -> dict[str, dict[str, Any]]:
    """What the changes of edits say, by the name of the edit."""
    found = folder_edits.record(numbered(spark, *said), tree=held).collect()
    return {row["edit_id"]: row.asDict(recursive=True) for row in found}


def says(change: Mapping[str, Any]) -> dict[str, tuple[str, str, datetime]]:
    """Each property with its value, and the number and time of what set it."""
    return {
        one["name"]: (one["value"], f"{one['stamp']['origin']}:{one['stamp']['cn']}", one["stamp"]["at"].replace(tzinfo=UTC))
        for one in change["properties_all"]
    }


@pytest.mark.rule("R13", "R17", "R19", "R27")
def test_a_change_carries_all_properties_of_its_folder(spark: SparkSession) -> None:
    """Each with the stamp of what set it: what stood there before, what edits before it in the round have set, and its own; not
    what comes after it, nor what another folder is called."""
    before = NOW - timedelta(days=1)
    held = tree(spark, before, A={"name": "Sales", "size_limit": "5", "*": "", "*replica:P2": "gone"}, B={"name": "other"})
    found = written(
        spark, held,
        {"properties": {"description": "one"}}, {"properties": {"size_limit": "9", "description": "two"}},
        {"action": "delete_folder"}, {"folder": "B", "properties": {"parent": "@e5"}, "parent": "@e5", "edit_id": "moved"},
        {"action": "create_folder", "properties": {"name": "new", "parent": ""}, "edit_id": "e5"},
    )  # fmt: skip
    old = "P9:1", before
    assert says(found["e1"]) == {
        "name": ("Sales", *old), "size_limit": ("5", *old), "description": ("one", "P1~2:8", NOW),
    }  # fmt: skip
    second = "P1~2:9", NOW + MICRO
    assert says(found["e2"]) == {"name": ("Sales", *old), "size_limit": ("9", *second), "description": ("two", *second)}
    assert says(found["e3"]) == {**says(found["e2"]), "deleted": ("true", "P1~2:10", NOW + 2 * MICRO)}
    assert says(found["moved"]) == {"name": ("other", *old), "parent": ("P1~2:12", "P1~2:11", NOW)}
    assert says(found["e5"]) == {"name": ("new", "P1~2:12", NOW), "parent": ("", "P1~2:12", NOW)}
    assert "properties" not in found["e1"] and found["e2"]["made_at"].replace(tzinfo=UTC) == NOW + MICRO


def test_a_stamp_is_never_older_than_what_is_there(spark: SparkSession) -> None:
    """F31: with a clock that was put back the last edit would lose; of another folder it is as the clock says. What a store does
    by itself follows what it carries out, whatever the clock says, and was said before."""
    ahead, decided = NOW + timedelta(days=1), NOW - timedelta(hours=2)
    held = tree(spark, ahead, A={"name": "Sales"})
    by_itself = {"nth": -5, "edit_id": "itself", "decided": decided, "properties": {"replica:P1": "gone"}}
    found = written(
        spark, held, {"edit_id": "back"}, {"edit_id": "next"}, {**put("B", description="x"), "edit_id": "beside"}, by_itself
    )
    made = {name: row["made_at"].replace(tzinfo=UTC) for name, row in found.items()}
    assert made == {"back": ahead + MICRO, "next": ahead + 2 * MICRO, "beside": NOW, "itself": decided + MICRO}
    assert says(found["itself"]) == {
        "name": ("Sales", "P9:1", ahead), "replica:P1": ("gone", "P1~2:8", decided + MICRO),
    }  # fmt: skip
    assert says(found["back"]) == says(found["itself"])


def test_what_edits_become(spark: SparkSession) -> None:
    """Changes of folder 1-1, of those that were taken in; what a store says by itself is nobody's edit. All are told of, with
    their reasons, and how the list of each folder stood after each that counted."""
    refused = {"reason": "last_replica", "edit_id": "refused"}
    itself = {"decided": NOW, "edit_id": "itself", "on": False, "properties": {"replica:P1": "gone"}}
    said = [{"properties": {"description": "é"}}, refused, itself]
    recorded = folder_edits.record(numbered(spark, *said), tree=tree(spark, NOW))
    verdicts = folder_edits.verdicts(recorded, validated(spark, *said).where("reason is not null"))
    rows = verdicts.select(*verdicts.columns).toArrow()
    told = local(spark, rows, verdicts.schema)
    assert {(row["edit_id"], row["reason"], row["object"], row["cn"], row["target"]) for row in rows.to_pylist()} == {
        ("e1", None, "A", 8, None), ("itself", None, "A", 9, None), ("refused", "last_replica", None, None, "A"),
    }  # fmt: skip
    known_as = {(row["folder"], row["nth"], row["on"]) for row in folder_edits.entries(told).collect()}
    assert known_as == {("A", 1, True), ("A", 3, False)}
    changes = {row["cn"]: row for row in folder_edits.as_changes(told).toArrow().to_pylist()}
    assert {cn: (row["folder"], row["origin"], row["object"], row["edit_id"], row["store"]) for cn, row in changes.items()} == {
        8: ("1-1", "P1~2", "A", "e1", "P1"), 9: ("1-1", "P1~2", "A", None, "P1"),
    }  # fmt: skip
    assert changes[8]["size"] == len('{"description":"é"}'.encode()) and changes[8]["predecessors"] == []
    assert (changes[8]["made_at"], changes[8]["at"]) == (NOW, NOW) and changes[8]["properties"][0]["value"] == "é"
    assert changes[8].keys() == {each.name for each in FRAMES["new_changes"].columns}
