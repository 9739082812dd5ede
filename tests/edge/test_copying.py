"""Conflicts settled as users do (F34), deleted folders recovered under a new id (R141, R149)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pfspark.edge import copying
from pfspark.errors import UsageError
from pfspark.lake import Lake
from tests.edge.lakes import DAY, two_stores

NOW = datetime(2026, 1, 5, tzinfo=UTC)


def version(origin: str, cn: int, action: str = "modify", digest: str = "h") -> dict[str, Any]:
    headers = [{"name": "subject", "value": digest, "stamp": None}]
    named = {"object": "PFS1:1", "name": "it"}
    return {**named, "origin": origin, "cn": cn, "action": action, "properties": headers, "size": 1, "hash": digest}


WINNER, LOSER = version("PFS2", 4, digest="winner"), version("PFS1", 3, digest="loser")
GONE = version("PFS3", 1, "delete")


def settle(keep: str, *versions: dict[str, Any]) -> list[tuple[Any, ...]]:
    rows = copying.settled(versions, keep, "resolve", org="main", store="PFS1", folder="PFS1:1", item="PFS1:2", at=NOW)
    assert all(row["folder"] == "PFS1:1" and row["store"] == "PFS1" for row in rows)
    assert [row["place"] for row in rows] == sorted({row["place"] for row in rows})
    return [(row["action"], row["item"], row["hash"]) for row in rows]


def test_keep_this() -> None:
    assert settle("PFS1:3", WINNER, LOSER) == [("modify", "PFS1:2", "loser")]
    assert settle("PFS2:4", WINNER, LOSER) == [("modify", "PFS1:2", "winner")]
    assert settle("PFS3:1", WINNER, GONE) == [("delete", "PFS1:2", None)]


def test_keep_all() -> None:
    """Two messages are left, the loser as one of its own; of a deletion there is nothing to keep."""
    assert settle("all", WINNER, LOSER, GONE) == [("modify", "PFS1:2", "winner"), ("post", None, "loser")]


def test_what_is_settled_alike_is_the_same_edit() -> None:
    """Whatever the order of the versions; another choice, or another conflict of that item, is another edit."""

    def named(keep: str, *versions: dict[str, Any], store: str = "PFS1") -> str:
        return copying.settlement(versions, keep, store=store, folder="PFS1:1", item="PFS1:2")

    edit = named("all", WINNER, LOSER)
    assert edit == named("all", LOSER, WINNER) and edit.startswith("resolve:PFS1:PFS1:1:PFS1:2:")
    others = {named("PFS1:3", WINNER, LOSER), named("all", WINNER, GONE), named("all", WINNER, LOSER, store="PFS2")}
    assert len(others) == 3 and edit not in others


def test_nothing_to_settle() -> None:
    with pytest.raises(UsageError, match="is in no conflict at PFS1"):
        settle("all", WINNER)
    with pytest.raises(UsageError, match="no version 'PFS9:1' in conflict; there are PFS2:4, PFS1:3, and `all`"):
        settle("PFS9:1", WINNER, LOSER)


def test_recovered() -> None:
    folder, first, second = copying.recovered(
        [WINNER, LOSER], org="main", store="PFS2", name="Sales recovered", parent="", at=NOW
    )
    assert (folder["action"], dict(folder["properties"])["replica:PFS2"]) == ("create_folder", "listed")
    assert {row["folder"] for row in (first, second)} == {f"@{folder['edit_id']}"}
    assert [(row["name"], row["hash"], row["properties"]) for row in (first, second)] == [
        ("it", "winner", [("subject", "winner")]),
        ("it", "loser", [("subject", "loser")]),
    ]


def test_what_had_no_name_gets_none() -> None:
    """Its id stood for one; as the name of the copy it would name another item, once a number is given again."""
    _, row = copying.recovered([WINNER | {"name": "PFS1:1"}], org="main", store="PFS2", name="Sales recovered", parent="", at=NOW)
    assert row["name"] is None


@pytest.mark.lakes
def test_a_conflict_and_a_deleted_folder(spark: SparkSession, tmp_path: Path) -> None:
    with Lake.create(tmp_path / "lake", spark) as lake:
        two_stores(lake, "it")
        lake.run(f"{DAY}00:10:00Z")
        lake.modify("PFS1", "/Sales", "it", b"mine", at=f"{DAY}00:11:00Z")
        lake.modify("PFS2", "/Sales", "it", b"yours", at=f"{DAY}00:12:00Z")
        lake.run(f"{DAY}00:30:00Z")
        [shown] = lake.items("PFS1", "/Sales").collect()
        assert (shown["version"], shown["conflict"], list(shown["losers"])) == ("PFS2:1", True, ["PFS1:2"])
        left_out = []
        lake.export_mail("PFS1", "/Sales", tmp_path / "won", left_out=lambda *which: left_out.append(which))
        assert left_out == [("PFS1:1", "its versions beside PFS2:1, which has won their conflict")]
        lake.set_options({"conflict": 1})  # the last writer wins: no conflict is shown, as lines show none
        assert [row["conflict"] for row in lake.items("PFS1", "/Sales").collect()] == [False]
        assert [line["conflict"] for line in lake.lines("items", store="PFS1", folder="/Sales")] == [False]
        lake.set_options({"conflict": 0})
        edits = lake.resolve("PFS1", "/Sales", "it", "PFS1:2", at=f"{DAY}00:31:00Z")
        assert lake.resolve("PFS1", "/Sales", "it", "PFS1:2", at=f"{DAY}00:31:00Z") == edits  # a repeat, and harmless
        lake.run(f"{DAY}00:45:00Z")
        bodies = {row["hash"]: bytes(row["body"]) for row in lake.table("content").collect()}
        for store in ("PFS1", "PFS2"):
            [shown] = lake.items(store, "/Sales").collect()
            assert (shown["conflict"], bodies[shown["hash"]]) == (False, b"mine"), store
        lake.folder_delete("PFS1", "/Sales", at=f"{DAY}01:00:00Z")
        lake.run(f"{DAY}01:15:00Z")
        for about in (lambda: lake.items("PFS2", "/Sales"), lambda: lake.lines("gaps", folder="/Sales")):
            with pytest.raises(
                UsageError, match=r"'/Sales' is not known.*; one so called is deleted, and asked about as PFS1:1$"
            ):
                about()
        told = {line["store"]: (line["cause"], line["says"]) for line in lake.why_lines("PFS1:1", folder="PFS1:1")}
        assert told == {
            store: ("no_replica", f"{store} has no replica any more: the folder was deleted.") for store in ("PFS1", "PFS2")
        }
        with pytest.raises(UsageError, match="'/Buys': none was called so; `pfspark log edits` shows"):
            lake.folder_recover("PFS2", "/Buys")
        with pytest.raises(UsageError, match="'/Sale': none was called so; one called 'Sales' is PFS1:1; "):
            lake.folder_recover("PFS2", "/Sale")
        with pytest.raises(UsageError, match="no deleted folder had the path or id '/Old/Sales'; one called 'Sales' is PFS1:1; "):
            lake.folder_recover("PFS2", "/Old/Sales")
        lake.maintain("2026-03-05T00:00:00Z")  # the bodies are gone from the table, not from its history
        lake.folder_recover("PFS2", "/Sales", at=f"{DAY}02:00:00Z")
        lake.run(f"{DAY}02:15:00Z")
        [copy] = lake.items("PFS2", "/Sales recovered").collect()
        assert (copy["item"], copy["name"]) != ("PFS1:1", "it") and copy["name"] == "it"
        assert lake.export_mail("PFS2", "/Sales recovered", tmp_path / "out", "eml") == 1
        assert next((tmp_path / "out").iterdir()).read_bytes() == b"mine"


@pytest.mark.lakes
@pytest.mark.parametrize("method, copies", [(0, {b"near", b"there"}), (1, {b"there"})])
def test_what_any_store_had_of_a_deleted_folder_is_recovered(
    spark: SparkSession, tmp_path: Path, method: int, copies: set[bytes]
) -> None:
    """`late` was taken in with the deletion, `far` at a store that had not heard of it: no store saw all of them. `near` was
    modified at both, of which both versions are kept unless the last writer wins."""
    with Lake.create(tmp_path / "lake", spark) as lake:
        two_stores(lake, "it")
        lake.set_options({"conflict": method})
        lake.run(f"{DAY}00:30:00Z")
        lake.post("PFS1", "/Sales", b"mine", name="near", at=f"{DAY}00:31:00Z")
        lake.post("PFS2", "/Sales", b"yours", name="far", at=f"{DAY}00:31:00Z")
        lake.run(f"{DAY}00:45:00Z")
        lake.delete("PFS2", "/Sales", "it", at=f"{DAY}00:46:00Z")
        lake.post("PFS1", "/Sales", b"late", name="late", at=f"{DAY}00:46:00Z")
        lake.post("PFS1", "/Sales", b"nameless", at=f"{DAY}00:46:00Z")
        lake.modify("PFS1", "/Sales", "near", b"near", at=f"{DAY}00:46:00Z")
        lake.modify("PFS2", "/Sales", "near", b"there", at=f"{DAY}00:46:30Z")
        lake.folder_delete("PFS1", "/Sales", at=f"{DAY}00:47:00Z")
        lake.run(f"{DAY}01:15:00Z")
        lake.folder_recover("PFS2", "/Sales", at=f"{DAY}01:16:00Z")
        lake.folder_recover("PFS2", "/Sales", "of then", f"{DAY}00:30:00Z", at=f"{DAY}01:16:00Z")
        lake.run(f"{DAY}01:30:00Z")
        rows = lake.items("PFS2").collect()
        seen = {(row["path"], row["name"]) for row in rows if row["name"] != row["item"]}
        assert seen == {*(("/Sales recovered", name) for name in ("far", "late", "near")), ("/of then", "it")}
        bodies = {row["hash"]: bytes(row["body"]) for row in lake.table("content").collect()}
        assert {bodies[row["hash"]] for row in rows if row["name"] == "near"} == copies
        assert [bodies[row["hash"]] for row in rows if row["name"] == row["item"]] == [b"nameless"]
