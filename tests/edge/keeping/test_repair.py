"""The audit of a lake, and what mends it: each fault that other hands have made is found, and undone."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from pfspark.errors import LakeError
from pfspark.lake import Lake
from pfspark.rows import rows_of
from tests.edge.lakes import DAY

pytestmark = pytest.mark.lakes


def found(lake: Lake) -> set[str]:
    """The checks that are broken; each names a row that breaks it, where there is one to name."""
    *checks, certificate = lake.audit()
    assert {line["id"] for line in checks} == set(certificate["checks"])
    broken = {line["id"]: line for line in checks if line["rows"]}
    assert all(line["sample"] for id, line in broken.items() if id != "ledger")
    return set(broken)


def believe_what_nobody_holds(lake: Lake) -> None:
    belief = {
        "org": "main", "store": "PFS1", "folder": "PFS1:1", "entry": "reported", "about": "PFS2", "origin": "PFS2",
        "cn_min": 50, "cn_max": 60, "relayed": False,
    }  # fmt: skip
    columns = lake._tables.stored("state").drop("round").schema
    last = max(line["round"] for line in lake.lines("rounds"))
    lake._tables.append("state", lake._tables.spark.createDataFrame([belief | {"at": None}], columns), last)
    lake.close()


def test_audit(lake: Lake) -> None:
    """All promises hold, also after a restore."""
    lake.restore("PFS1", f"{DAY}00:30:00Z", now=f"{DAY}02:00:00Z")
    *checks, certificate = lake.audit()
    assert {line["id"]: line["rows"] for line in checks} == certificate["checks"]
    assert set(certificate["checks"]) == {
        "tables", "ledger", "facts", "bodies", "edits", "sizes", "base",
        "I1", "I2", "I3", "I4", "I5", "I6", "I8", "I9", "I10", "I12", "I13", "I14", "I15", "I17", "I18",
    }  # fmt: skip
    assert not any(certificate["checks"].values())
    assert lake.remedies() == []


def test_what_other_hands_did_is_found_and_undone(lake: Lake, tmp_path: Path) -> None:
    """A belief in what nobody holds, another body, a message that is gone: as played before, and the mail is whole again."""
    *_, before = lake.audit()
    bodies = {row["hash"]: bytes(row["body"]) for row in lake.table("content").collect()}
    believe_what_nobody_holds(lake)
    lake._tables.spark.sql(f"UPDATE delta.`{lake.where}/content` SET body = X'00' WHERE size = 5")
    odd = {"hash": "x') OR ('1'='1", "body": b"?", "size": 1, "at": datetime(2026, 1, 5, tzinfo=UTC)}
    lake._tables.append("content", rows_of("content", [odd]))
    with pytest.raises(LakeError, match="the body of PFS1:1 is not what was posted"):
        lake.export_mail("PFS1", "/Sales", tmp_path / "out.mbox")
    assert not (tmp_path / "out.mbox").exists()
    lake._tables.spark.sql(f"DELETE FROM delta.`{lake.where}/messages` WHERE type = '0x4'")
    assert found(lake) == {"facts", "bodies", "I4", "I8", "I13", "I17"}
    *_, after = lake.audit()
    parted = {name for name, table in after["tables"].items() if table != before["tables"][name]}
    assert parted == {"content", "messages", "state"}  # of a body only its hash is in the digest; it is checked by itself
    remedies = lake.remedies()
    assert {(remedy.what, remedy.target) for remedy in remedies if remedy.what == "take back"} == {
        ("take back", "state"), ("take back", "messages"),
    }  # fmt: skip
    assert {remedy.what for remedy in remedies} == {"take back", "set aside"}
    lake.mend(remedies)
    assert found(lake) == set()
    assert {row["hash"]: bytes(row["body"]) for row in lake.table("content").collect()} == bodies
    *_, mended = lake.audit()
    assert mended["tables"]["state"] == before["tables"]["state"]
    lake.close()


def test_who_is_taken_for_another_begins_a_new_life(lake: Lake) -> None:
    """A false belief that rounds were played upon: nothing can be taken back, so the store that is spoken of begins anew."""
    believe_what_nobody_holds(lake)
    lake.post("PFS2", "/Sales", b"meanwhile", at=f"{DAY}02:00:00Z")
    lake.round(f"{DAY}02:00:00Z")
    lake.close()
    assert found(lake) == {"facts", "I4", "I8"}
    first = lake.remedies()
    assert [remedy.what for remedy in first] == ["read anew"]  # the world that was played on does not know of it
    lake.mend(first)
    assert found(lake) == {"facts", "I4", "I8"}
    remedies = lake.remedies()
    assert {(remedy.what, remedy.target) for remedy in remedies} == {("new life", "PFS1"), ("new life", "PFS2")}
    assert "pfspark restore --store PFS2 --to" in remedies[-1].command
    lake.mend(remedies)
    lake.run(until_quiet=True)
    assert found(lake) == {"facts"}  # the belief counts no more, but it is there
    lake.maintain()
    assert found(lake) == set()
    lake.close()


def test_an_altered_ledger_is_found(lake: Lake) -> None:
    """Nothing here mends it: every row of it counts, and none says what another was."""
    lake._tables.spark.sql(f"UPDATE delta.`{lake.where}/rounds` SET writer = 'somebody' WHERE round = 3")
    assert found(lake) == {"ledger"}
    assert lake.remedies() == []
