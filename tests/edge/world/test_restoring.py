"""Restore on a lake: a new life, what comes back, what is lost, what is taken in again (R132, F8)."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pfspark.edge.world.facts import world
from pfspark.errors import LakeError, RefusedError
from pfspark.lake import Lake
from tests.edge.lakes import DAY, Ended, Point, assert_same_world, ending_at

pytestmark = pytest.mark.lakes


def held(lake: Lake, store: str) -> str:
    return next(line["applied"] for line in lake.lines("state") if (line["store"], line["folder"]) == (store, "/Sales"))


def test_restore(lake: Lake) -> None:
    assert (held(lake, "PFS1"), held(lake, "PFS2")) == ("PFS1:1-3", "PFS1:1,PFS2:1")
    [loss] = lake.losses("PFS1", f"{DAY}00:30:00Z")
    assert (loss["folder"], loss["numbers"], loss["changes"]) == ("/Sales", "PFS1:2-3", 2)
    played = lake.restore("PFS1", f"{DAY}00:30:00Z", now=f"{DAY}02:00:00Z", again=True)
    assert held(lake, "PFS1") == "PFS1:1"
    before = {line["store"]: line["applied"] for line in lake.lines("state", played.round - 1) if line["folder"] == "/Sales"}
    assert before["PFS1"] == "PFS1:1-3"  # history is not rewound
    lake.run(f"{DAY}04:00:00Z")
    # The old life's 2 and 3 are gone; their edits have numbers of the new life; what PFS2 held came back.
    assert held(lake, "PFS1") == held(lake, "PFS2") == "PFS1:1,PFS1~2:1-2,PFS2:1"
    bodies = {row["hash"]: bytes(row["body"]) for row in lake.table("content").collect()}
    for store in ("PFS1", "PFS2"):
        seen = {row["name"]: bodies[row["hash"]] for row in lake.items(store, "/Sales").collect()}
        assert seen == {"first": b"first", "mine": b"mine, better", "yours": b"yours"}
    assert_same_world(lake._runner.world().tables, world(lake._tables.snapshot()))
    assert [line["numbers"] for line in lake.losses("PFS2", 1)] == []  # PFS1 has all that PFS2 would forget


def test_more_is_not_lost_than_was_agreed(lake: Lake, spark: SparkSession) -> None:
    """A store goes on while somebody is asked whether it may lose what it alone has."""
    to = f"{DAY}00:30:00Z"
    agreed = lake.losses("PFS1", to)
    lake.close()
    with Lake.open(lake.where, spark) as other:
        other.post("PFS1", "/Sales", b"meanwhile", at=f"{DAY}01:10:00Z")
        other.round(f"{DAY}01:10:00Z", cut=["PFS1"])
    number = lake.status()["round"]
    with pytest.raises(RefusedError, match="PFS1 has PFS1:4 of /Sales since it was said what would be lost; nothing was done"):
        lake.restore("PFS1", to, now=f"{DAY}02:00:00Z", agreed=agreed)
    assert held(lake, "PFS1") == "PFS1:1-4"
    lake.restore("PFS1", to, now=f"{DAY}02:00:00Z", agreed=lake.losses("PFS1", to))
    assert held(lake, "PFS1") == "PFS1:1" and lake.status()["round"] > number


@pytest.mark.parametrize("about", ["an item", "an item by its edit", "a folder", "a parent", "a parent by its edit"])
def test_no_edit_that_waits_is_condemned_by_a_restore(lake: Lake, about: str) -> None:
    """It was accepted; the store that has forgotten what it is about would refuse it for ever."""
    made, then = f"{DAY}01:10:00Z", f"{DAY}01:15:00Z"
    match about:
        case "an item":
            lake.modify("PFS1", "/Sales", "mine", b"better", at=made)
        case "an item by its edit":
            lake.post("PFS1", "/Sales", b"new", name="new", at=made)
            lake.modify("PFS1", "/Sales", "new", b"better", at=then)
        case _:
            lake.folder_create("PFS1", "/New", ["PFS1"], at=made)
    if about == "a parent by its edit":
        lake.folder_create("PFS1", "/New/One", ["PFS1"], at=then)
    if about != "an item":
        lake.round(made, cut=["PFS1"])
    if about == "a folder":
        lake.post("PFS1", "/New", b"new", at=then)
    elif about == "a parent":
        lake.folder_create("PFS1", "/New/One", ["PFS1"], at=then)
    with pytest.raises(RefusedError, match=r"waits at PFS1, which had no PFS1:.* then and would refuse it; nothing was done"):
        lake.restore("PFS1", f"{DAY}00:30:00Z", now=f"{DAY}02:00:00Z", again=True)
    assert lake.rounds().where("kind = 'restored'").count() == 0
    lake.run(f"{DAY}01:30:00Z")
    lake.restore("PFS1", f"{DAY}00:30:00Z", now=f"{DAY}02:00:00Z", again=True)
    lake.run(until_quiet=True)
    assert lake.table("receipts").where("outcome = 'refused'").count() == 0


def test_what_comes_to_a_replica_that_will_stand_is_not_said_again(lake: Lake) -> None:
    """What makes the replica and what is in it are on the way together; said again, people would have it twice."""
    lake.folder_create("PFS1", "/New", ["PFS1"], at=f"{DAY}01:10:00Z")
    lake.round(f"{DAY}01:10:00Z")
    to = lake.status()["round"]
    lake.replica_add("PFS1", "/New", "PFS2", at=f"{DAY}01:15:00Z")
    lake.post("PFS1", "/New", b"one", name="one", at=f"{DAY}01:15:00Z")
    lake.round(f"{DAY}01:15:00Z")
    assert [(loss["folder"], loss["numbers"]) for loss in lake.losses("PFS1", to)] == [("/New", "PFS1:1")]
    with pytest.raises(RefusedError, match=r"PFS1:1 of /New is on its way to PFS2.*\(2026-01-05T01:15:00Z\); nothing was done"):
        lake.restore("PFS1", to, now=f"{DAY}01:20:00Z", again=True)
    lake.round(f"{DAY}01:30:00Z")
    assert lake.losses("PFS1", to) == []
    lake.restore("PFS1", to, now=f"{DAY}02:00:00Z", again=True)
    lake.run(until_quiet=True)
    assert [lake.items(store, "/New").count() for store in ("PFS1", "PFS2")] == [1, 1]


def test_mail_is_known_in_a_folder_that_was_taken_in_again(lake: Lake, tmp_path: Path) -> None:
    """The folder has another id and another edit that made it; what was imported into it is there."""
    (tmp_path / "box").write_bytes(b"From a@example.com Mon Jan  5 08:00:00 2026\nSubject: one\n\nhello\n\n")
    to = lake.status()["round"]
    lake.folder_create("PFS1", "/Box", at=f"{DAY}01:10:00Z")
    lake.round(f"{DAY}01:10:00Z", cut=["PFS1"])
    lake.import_mail(tmp_path / "box", "PFS1", "/Box", at=f"{DAY}01:15:00Z")
    lake.round(f"{DAY}01:15:00Z", cut=["PFS1"])
    for hour in (2, 3):
        lake.restore("PFS1", to, now=f"{DAY}0{hour}:00:00Z", again=True)
        lake.round(f"{DAY}0{hour}:05:00Z", cut=["PFS1"])
        assert lake.import_mail(tmp_path / "box", "PFS1", "/Box") == {"posted": 0, "known": 1, "unkept": 0}
    assert lake.items("PFS1", "/Box").count() == 1


@pytest.mark.parametrize(
    ("point", "played"), [(("before rounds", 2), False), (("before rounds", 2), True), (("after rounds", 2), False)]
)
def test_who_is_ended_in_a_restore_has_lost_nothing(lake: Lake, spark: SparkSession, point: Point, played: bool) -> None:
    """The first row of the ledger opens it, the second makes the restore count. What is to be taken in again waits by then: ended
    before, one restores once more, and what is said twice is taken in once. Whoever plays meanwhile has nothing twice: what was
    to be said again is held."""
    words = {"now": f"{DAY}02:00:00Z", "again": True}
    lake._tables.hook = ending_at(point)
    with pytest.raises(Ended):
        lake.restore("PFS1", f"{DAY}00:30:00Z", **words)
    lake.close()
    with Lake.open(lake.where, spark) as later:
        counts = held(later, "PFS1") == "PFS1:1"
        assert counts == (point[0] == "after rounds")
        if not counts:
            assert len(later.losses("PFS1", f"{DAY}00:30:00Z")) == 1
            if played:
                later.round(f"{DAY}02:05:00Z", cut=["PFS1"])
                assert held(later, "PFS1") == "PFS1:1-3"
                words["now"] = f"{DAY}02:10:00Z"
            later.restore("PFS1", f"{DAY}00:30:00Z", **words)
        later.run(f"{DAY}04:00:00Z")
        assert held(later, "PFS1") == held(later, "PFS2") == "PFS1:1,PFS1~2:1-2,PFS2:1"
        taken = later.table("receipts").where("edit_id LIKE 'again:%'").collect()
        assert sorted(row["outcome"] for row in taken) == ["applied"] * 2 + ["refused"] * (0 if counts else 2)


def test_a_store_restored_again_has_not_heard_what_its_first_restore_undid(lake: Lake) -> None:
    """To after the first, whose new life is asked about yet; then to before it."""
    lake.run(f"{DAY}08:00:00Z")
    assert held(lake, "PFS1") == "PFS1:1-3,PFS2:1"
    first = lake.restore("PFS1", f"{DAY}00:30:00Z", now=f"{DAY}08:30:00Z").round
    lake.round(f"{DAY}08:30:00Z", cut={"PFS2"})
    for to, there in ((first, "PFS1:1"), (first, "PFS1:1"), (first - 1, "PFS1:1-3,PFS2:1")):
        lake.restore("PFS1", to, now=f"{DAY}08:35:00Z")
        assert held(lake, "PFS1") == there
        carried, read = lake._runner.world().tables, world(lake._tables.snapshot())
        assert_same_world(carried, read)
        assert sorted(map(repr, carried["lives"].to_pylist())) == sorted(map(repr, read["lives"].to_pylist()))
        assert [line["sample"] for line in lake.audit() if line.get("rows")] == []
    lake.run(f"{DAY}12:00:00Z")
    assert_same_world(lake._runner.world().tables, world(lake._tables.snapshot()))
    assert held(lake, "PFS1") == held(lake, "PFS2")


def test_a_store_taken_back_to_before_it_was_there_is_filled_by_others(lake: Lake) -> None:
    """It has an empty tree of a new life, and learns everything anew; what it gave itself has no number again."""
    lake.folder_create("PFS2", "/Theirs", ["PFS2", "PFS1"], at=f"{DAY}01:30:00Z")
    lake.run(f"{DAY}02:30:00Z")
    before = {store: held(lake, store) for store in ("PFS1", "PFS2")}
    assert lake.losses("PFS2", 1) == []
    lake.restore("PFS2", 1, now=f"{DAY}03:00:00Z")
    assert [(line["store"], line["folder"], line["applied"]) for line in lake.lines("state") if line["store"] == "PFS2"] == [
        ("PFS2", "1-1", "")
    ]
    assert_same_world(lake._runner.world().tables, world(lake._tables.snapshot()))
    lake.run(f"{DAY}06:00:00Z")
    assert {store: held(lake, store) for store in ("PFS1", "PFS2")} == before
    lake.folder_create("PFS2", "/More", ["PFS1"], at=f"{DAY}06:00:00Z")
    lake.run(f"{DAY}07:00:00Z")
    [made] = {line["id"] for line in lake.lines("folders") if line["path"] == "/More"}
    assert made == "PFS2~2:1"
    assert [line["id"] for line in lake.audit() if line.get("rows")] == []
    assert_same_world(lake._runner.world().tables, world(lake._tables.snapshot()))


def test_folders_and_items_of_one_number_are_taken_in_again_each_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    """Numbers are a folder's own, so the first folder that a store makes has the id of the first item that it posts anywhere."""
    with Lake.create(tmp_path / "lake", spark) as lake:
        lake.organization(profile="modern", start=f"{DAY}00:00:00Z")
        lake.store("PFS1", "Redmond")
        lake.store("PFS2", "Redmond")
        both, at = ["PFS1", "PFS2"], f"{DAY}01:00:00Z"
        lake.folder_create("PFS1", "/Sales", both, at=f"{DAY}00:00:00Z")
        lake.run(until_quiet=True)
        to = lake.status()["round"]
        lake.post("PFS1", "/Sales", b"one", name="one", at=at)
        lake.folder_create("PFS1", "/New", both, at=at)
        lake.folder_create("PFS1", "/New/Below", both, at=at)
        lake.post("PFS1", "/New", b"two", name="two", at=at)
        lake.post("PFS1", "/New/Below", b"three", name="three", at=at)
        lake.round(at, cut={"PFS1"})
        for folder, name in (("/Sales", "one"), ("/New", "two"), ("/New/Below", "three")):
            lake.modify("PFS1", folder, name, f"{name}, better".encode(), at=f"{DAY}01:05:00Z")
        lake.round(f"{DAY}01:05:00Z", cut={"PFS1"})
        lake.restore("PFS1", to, now=f"{DAY}02:00:00Z", again=True)
        lake.run(f"{DAY}04:00:00Z")
        bodies = {row["hash"]: bytes(row["body"]) for row in lake.table("content").collect()}
        seen = [(row["store"], row["path"], row["name"], bodies[row["hash"]]) for row in lake.items().collect()]
        assert sorted(seen) == [
            (store, path, name, f"{name}, better".encode())
            for store in both for path, name in (("/New", "two"), ("/New/Below", "three"), ("/Sales", "one"))
        ]  # fmt: skip
        refused = lake.table("receipts").where("edit_id is not null and outcome = 'refused'").collect()
        assert refused == []


def test_what_is_lost_stays_lost(lake: Lake) -> None:
    lake.restore("PFS1", f"{DAY}00:30:00Z", now=f"{DAY}02:00:00Z")
    assert_same_world(lake._runner.world().tables, world(lake._tables.snapshot()))
    lake.run(f"{DAY}04:00:00Z")
    assert held(lake, "PFS1") == held(lake, "PFS2") == "PFS1:1,PFS2:1"
    lake.post("PFS1", "/Sales", b"next", name="next", at=f"{DAY}04:00:00Z")
    lake.run(f"{DAY}05:00:00Z")
    assert held(lake, "PFS2") == "PFS1:1,PFS1~2:1,PFS2:1"  # no number is given twice


def test_what_is_shown_again_has_its_body_again(lake: Lake, tmp_path: Path) -> None:
    """Though it was deleted long ago, and upkeep has let go of it; who exported the past meanwhile has it too."""
    lake.folder_create("PFS1", "/Alone", ["PFS1"], at=f"{DAY}08:00:00Z")
    lake.post("PFS1", "/Alone", b"one mail", name="one", at=f"{DAY}08:00:00Z")
    to = lake.round(f"{DAY}08:00:00Z").round
    lake.delete("PFS1", "/Alone", "one", at=f"{DAY}08:05:00Z")
    lake.round(f"{DAY}08:05:00Z")
    lake._tables.spark.sql(f"UPDATE delta.`{lake.where}/content` SET at = at - INTERVAL 2 DAYS")  # as if written long ago
    lake.run("2026-01-20T00:00:00Z")
    assert lake.maintain("2026-01-25T04:00:00Z")["content"] > 0
    assert b"one mail" not in {bytes(row["body"]) for row in lake.table("content").collect()}
    assert lake.export_mail("PFS1", "/Alone", tmp_path / "then", "eml", as_of=to) == 1
    lake.restore("PFS1", to, now="2026-01-25T05:00:00Z")
    assert lake.export_mail("PFS1", "/Alone", tmp_path / "now", "eml") == 1
    assert [line["id"] for line in lake.audit() if line.get("rows")] == []
    lake._tables.delete("content", "length(body) = 8")
    with pytest.raises(LakeError, match="the body of PFS1:1 is gone"):
        lake.export_mail("PFS1", "/Alone", tmp_path / "gone")


def test_upkeep_changes_no_answer(lake: Lake) -> None:
    """Void facts, superseded steps and bodies go; what is answered now, and as of any round, stays."""
    lake._tables.append("state", lake._tables.stored("state").toArrow().drop_columns(["round"]), 2)  # 2 was opened: void
    lake.post("PFS1", "/Sales", b"doomed", name="doomed", at=f"{DAY}02:00:00Z")
    lake.round(f"{DAY}02:00:00Z")
    lake.delete("PFS1", "/Sales", "doomed", at=f"{DAY}02:05:00Z")
    lake.run(f"{DAY}04:00:00Z")
    rounds = [line["round"] for line in lake.lines("rounds")]
    kinds = ("state", "gaps", "items", "folders")
    before = {(kind, when): list(lake.lines(kind, when)) for when in (None, rounds[-2], 6) for kind in kinds}
    lake._tables.spark.sql(f"UPDATE delta.`{lake.where}/content` SET at = at - INTERVAL 2 DAYS")  # as if written long ago
    gone = lake.maintain(f"{DAY}05:00:00Z")
    assert gone["state"] > 0 and "content" not in gone
    gone = lake.maintain("2026-01-20T04:00:00Z")  # past the two weeks that bodies of deleted items are kept
    assert gone == {"content": 2}  # what was deleted, and the version that another was made upon
    bodies = {bytes(row["body"]) for row in lake.table("content").collect()}
    assert bodies == {b"first", b"yours", b"mine, better"}
    assert [line["what"] for line in lake.lines("rounds")][-1] == "maintained"
    after = {key: list(lake.lines(*key)) for key in before}
    for key, found in before.items():
        assert after[key] == found, key
    assert_same_world(lake._runner.world().tables, world(lake._tables.snapshot()))
    lake.post("PFS2", "/Sales", b"later", name="later", at="2026-01-20T05:00:00Z")
    lake.run("2026-01-20T06:00:00Z")
    assert held(lake, "PFS1") == held(lake, "PFS2") == "PFS1:1-5,PFS2:1-2"
