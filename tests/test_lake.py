"""The door for users: a lake made, filled, played and asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pfspark.edge.spark import kept_plans
from pfspark.errors import RefusedError, UsageError, ViolationError
from pfspark.frame import RULES, Frame
from pfspark.lake import Lake

pytestmark = pytest.mark.lakes

DAY = "2026-01-05T"
MBOX = (
    b"From a@example.com Mon Jan  5 08:00:00 2026\nFrom: a@example.com\nSubject: one\n\nhello\n\n"
    b"From b@example.com Mon Jan  5 08:01:00 2026\nFrom: b@example.com\nSubject: two\n"
    b"Date: Mon, 5 Jan 2026 09:01:00 +0100\n\nhello again\n\n"
    b"From c@example.com Mon Jan  5 08:02:00 2026\nFrom: a@example.com\nSubject: one\n\nhello\n\n"
)
"""Three mails; the last has the bytes of the first, and an envelope of its own."""


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Two stores; a folder and its items are posted before the first round, mail is imported, and all becomes quiet."""
    place = tmp_path_factory.mktemp("lakes")
    lake = Lake.create(place / "lake", spark)
    lake.organization(profile="modern", start=f"{DAY}00:00:00Z")
    lake.store("PFS1", "Redmond", schedule="always")
    lake.store("PFS2", "Paris")
    lake.link("Redmond", "Paris", cost=5, delay="0m")
    lake.folder_create("PFS1", "/Sales", ["PFS1", "PFS2"], at=f"{DAY}00:00:00Z", size_limit="1MB")
    lake.folder_create("PFS1", "/Sales/West", at=f"{DAY}00:00:00Z")
    lake.post("PFS1", "/Sales", b"body", name="note", properties={"colour": "red"}, at=f"{DAY}00:01:00Z")
    lake.delete("PFS1", "/Sales", "note", at=f"{DAY}00:06:00Z")
    (place / "in.mbox").write_bytes(MBOX)
    assert lake.import_mail(place / "in.mbox", "PFS1", "/Sales", at=f"{DAY}00:02:00Z") == {"posted": 3, "known": 0, "unkept": 0}
    assert lake.run(until_quiet=True) > 3
    lake.close()
    return lake


def test_stores_hold_what_was_done(lake: Lake) -> None:
    lines = {(line["store"], line["folder"]): line for line in lake.lines("state")}
    assert set(lines) == {("PFS1", "1-1"), ("PFS1", "/Sales"), ("PFS1", "/Sales/West"), ("PFS2", "1-1"), ("PFS2", "/Sales")}
    assert {line["applied"] for (_, folder), line in lines.items() if folder == "/Sales"} == {"PFS1:1-5"}
    rows = {(row["store"], row["folder"]): row for row in lake.state().drop("at", "id").toArrow().to_pylist()}
    said = {key: {**row, "kind": "state", "reported": dict(row["reported"]), "at": lines[key]["at"]} for key, row in rows.items()}
    assert said == lines


def test_readers_see_items_by_path(lake: Lake) -> None:
    seen = {(row["store"], row["name"], row["deleted"]) for row in lake.items(folder="/Sales").collect()}
    assert seen == {(store, *item) for store in ("PFS1", "PFS2") for item in (("note", True), ("one", False), ("two", False))}
    assert {row["path"] for row in lake.items("PFS2").collect()} == {"/Sales"}


def test_a_status_says_that_all_is_equal_and_quiet(lake: Lake) -> None:
    status = lake.status()
    assert (status["converged"], status["missing"], status["edits"], status["in_flight"]) == (True, 0, 0, 0)
    assert list(lake.lines("gaps")) == []
    assert lake.gaps().count() == 0


@pytest.mark.rule("R23")
def test_mail_comes_out_as_it_went_in(lake: Lake, tmp_path: Path) -> None:
    assert lake.export_mail("PFS2", "/Sales", tmp_path / "out.mbox") == 3
    assert (tmp_path / "out.mbox").read_bytes() == MBOX
    assert lake.export_mail("PFS2", "/Sales", tmp_path / "eml", form="eml") == 3
    assert len(list((tmp_path / "eml").iterdir())) == 3


def test_what_a_mail_says_of_itself_is_known_of_its_item(lake: Lake) -> None:
    said = {row["name"]: {each["name"]: each["value"] for each in row["properties"]} for row in lake.items("PFS2").collect()}
    assert said["two"] == {
        "subject": "two", "from": "b@example.com", "date": "2026-01-05T08:01:00Z",
        "envelope": "From b@example.com Mon Jan  5 08:01:00 2026\n\n",
    }  # fmt: skip


def test_a_second_import_adds_nothing(lake: Lake) -> None:
    before = lake.table("edits").count(), lake.table("content").count()
    mbox = Path(lake.where).parent / "in.mbox"
    assert lake.import_mail([mbox], "PFS1", "/Sales") == {"posted": 0, "known": 3, "unkept": 0}
    assert (lake.table("edits").count(), lake.table("content").count()) == before


def test_the_past_can_be_asked(lake: Lake) -> None:
    played = [line["round"] for line in lake.lines("rounds") if line["what"] == "played"]
    early = [line for line in lake.lines("state", as_of=played[0]) if line["folder"] == "/Sales"]
    assert [line["store"] for line in early] == ["PFS1"]  # PFS2 had not heard of it yet
    assert lake.items(as_of=played[0]).count() <= lake.items().count()
    assert [line for line in lake.lines("state", as_of=f"{DAY}00:00:00Z")] == [
        line for line in lake.lines("state", as_of=str(played[0]))
    ]
    assert lake.rounds(as_of=played[0]).count() == played[0]


def test_each_organization_has_a_past_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    """One that is played after another, over the same hours: at any of them each is as it was then."""
    with Lake.create(tmp_path / "lake", spark) as lake:
        for org in ("first", "second"):
            lake.organization(org, "modern", start=f"{DAY}00:00:00Z")
            lake.store("A", "S", org=org)
            lake.folder_create("A", "/F", ["A"], org=org, at=f"{DAY}00:00:00Z")
            lake.run(until_quiet=True)
            for hour in (1, 2):
                lake.post("A", "/F", b"", org=org, at=f"{DAY}0{hour}:00:00Z")
                lake.run(until_quiet=True)
        for org in ("first", "second"):
            told = [lake.lines("state", f"{DAY}0{hour}:30:00Z", org=org, folder="/F") for hour in range(3)]
            held = [[line["applied"] for line in lines] for lines in told]
            assert held == [[""], ["A:1"], ["A:1-2"]], org
            assert [lake.items(as_of=f"{DAY}0{hour}:30:00Z", org=org).count() for hour in range(3)] == [0, 1, 2]
            assert {row["round"] for row in lake.rounds(f"{DAY}01:30:00Z", org=org).collect()} < {
                row["round"] for row in lake.rounds(org=org).collect()
            }
        assert {line["org"] for line in lake.lines("state", f"{DAY}01:30:00Z", folder="/F")} == {"first"}


def test_messages_and_folders_are_told_as_lines(lake: Lake) -> None:
    sent = list(lake.lines("messages"))
    assert lake.messages().count() == len(sent)
    assert {(line["from"], line["folder"]) for line in sent if line["type"] == "0x4"} == {("PFS1", "/Sales")}
    seen = {(line["store"], line["path"]): line["replicas"] for line in lake.lines("folders")}
    assert seen["PFS2", "/Sales/West"] == {"PFS1": "active"}


def test_an_idle_round_is_none(lake: Lake) -> None:
    """Also before the last round: by its own clock nothing is left to do there."""
    before = lake.rounds().count()
    assert lake.round(f"{DAY}00:00:00Z").turns == {}
    assert lake.rounds().count() == before


def test_mistakes_name_the_nearest_known(lake: Lake) -> None:
    mistakes = {
        "store 'PFS' is not known in 'main'; the nearest known is 'PFS": lambda: lake.post("PFS", "/Sales", b""),
        "folder '/Sale' is not known at PFS1; the nearest known is '/Sales'": lambda: lake.post("PFS1", "/Sale", b""),
        "organization 'mein' is not known; the nearest known is 'main'": lambda: lake.lines("state", org="mein"),
        "found 'stat', expected state, .*; the nearest known is 'state'": lambda: lake.lines("stat"),
        "no store is in the site 'Pari'; the nearest known is 'Paris'": lambda: lake.link("Pari", "Redmond"),
        "found a link from 'Paris' to itself": lambda: lake.link("Paris", "Paris"),
        "a folder has no 'colour'": lambda: lake.folder_set("PFS1", "/Sales", colour="red"),
        "no name of a store": lambda: lake.store("a b", "Paris"),
        "in which site": lambda: lake.store("PFS3"),
        "found 'a/b', expected a folder name: no /": lambda: lake.folder_rename("PFS1", "/Sales", "a/b"),
        r"found '.x9b2J', expected a folder name: no /": lambda: lake.folder_rename("PFS1", "/Sales", "\x9b2J"),
        r"found '.udcff', expected a text that UTF-8 can write": lambda: lake.folder_rename("PFS1", "/Sales", "\udcff"),
        "expected a text that UTF-8 can write": lambda: lake.post("PFS1", "/Sales", b"", name="\udcff"),
        "expected a time such as": lambda: lake.round("noon"),
    }
    refusals = {
        "item 'on' is not known in that folder at PFS1; the nearest known is 'one'": lambda: lake.modify(
            "PFS1", "/Sales", "on", b""
        ),
        "item 'PFS1:99' is not known in that folder at PFS1": lambda: lake.delete("PFS1", "/Sales", "PFS1:99"),
        "PFS2 has no replica of '/Sales/West' that readers see": lambda: lake.export_mail("PFS2", "/Sales/West", "never-made"),
        "item PFS1:1 is deleted at PFS1": lambda: lake.modify("PFS1", "/Sales", "PFS1:1", b""),
        r"2 items are called 'one': name one by its id \(PFS1:2, PFS1:4\)": lambda: lake.modify("PFS1", "/Sales", "one", b""),
    }
    before = lake.table("edits").count(), lake.table("content").count()
    for said, refusal in refusals.items():
        with pytest.raises(RefusedError, match=said):
            refusal()
    for said, mistake in mistakes.items():
        with pytest.raises(UsageError, match=said):
            mistake()
    assert (lake.table("edits").count(), lake.table("content").count()) == before


def test_an_organization_is_said_again_and_the_last_word_counts(lake: Lake) -> None:
    lake.store("PFS2", preferred=True)
    lake.suspend()
    stores = {row["store"]: row for row in lake._directory("stores").values()}
    assert (stores["PFS2"]["site"], stores["PFS2"]["preferred"]) == ("Paris", True)
    assert lake._organization(None)["suspended"] is True
    lake.suspend(suspended=False)
    assert lake._organization(None)["suspended"] is False
    assert lake._organization(None)["start"].isoformat() == f"{DAY}00:00:00+00:00"


@pytest.mark.rule("R142")
def test_a_replica_moves(lake: Lake) -> None:
    """The new one is added, filled, and only then the old one is removed; one store waited for is named."""
    awaited: list[str] = []

    def play_on(what: str) -> None:
        awaited.append(what)
        assert lake.run(until_quiet=True)

    at = f"{DAY}12:00:00Z"
    lake.post("PFS1", "/Sales/West", b"moves along", name="along", at=at)
    lake.replica_move("PFS2", "/Sales/West", "PFS1", "PFS2", play_on, at=at)
    lake.run(until_quiet=True)
    assert any("PFS2 to get" in what for what in awaited)
    seen = {(line["store"], line["path"]): line["replicas"] for line in lake.lines("folders")}
    assert seen["PFS1", "/Sales/West"] == seen["PFS2", "/Sales/West"] == {"PFS2": "active"}
    held = {line["store"]: line["applied"] for line in lake.lines("state") if line["folder"] == "/Sales/West"}
    assert held.get("PFS2") == "PFS1:1"
    lake.close()


def test_a_round_that_breaks_a_promise_does_not_count(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers given twice stop the round before its ledger row; played rightly, the same edits are taken in."""
    at = f"{DAY}14:00:00Z"
    before = {line["store"]: line["applied"] for line in lake.lines("state") if line["folder"] == "/Sales"}
    lake.post("PFS1", "/Sales", b"once", name="once", at=at)

    def wrong(validated: DataFrame, *, replicas: DataFrame, numbers: DataFrame) -> DataFrame:
        return right.body(validated, replicas=replicas, numbers=numbers.withColumn("last", F.col("last") - 1))

    right, call = RULES["item_edits.number"], Frame.call

    def with_it(frame: Frame, made: Any, body: Any = None) -> Any:
        return call(frame, made, body or (wrong if frame.rule is right else None))

    with monkeypatch.context() as patched:
        patched.setattr(Frame, "call", with_it)
        patched.setattr(kept_plans, "_PLANS", WeakKeyDictionary())  # plans of what is right
        with pytest.raises(ViolationError, match="breaks I5") as refused:
            lake.round(now=at)
    assert refused.value.exit_code == 3
    assert before == {line["store"]: line["applied"] for line in lake.lines("state") if line["folder"] == "/Sales"}
    assert lake.round(now=at).round
    assert lake.items("PFS1", "/Sales").where("name = 'once'").count() == 1
    assert not any(line.get("rows") for line in lake.audit())
    lake.close()


NAMES = [
    "'; DROP TABLE edits", "`", "$x ${y} %s {z}", "..", "CON", " a ", "é", "e\u0301", "X", "x",
    "👩\u200d🚀", "\u202etxt", "😀" * 255, "=1+1",
]  # fmt: skip


def test_names_are_data(lake: Lake, tmp_path: Path) -> None:
    """What folders and items are called comes back at another store as it was said, letter for letter, and leads nowhere."""
    at = f"{DAY}20:00:00Z"
    lake.folder_create("PFS1", "/Names", ["PFS1", "PFS2"], at=at)
    for name in NAMES:
        lake.folder_create("PFS1", f"/Names/{name}", ["PFS1"], at=at)
    for name in NAMES:
        lake.post("PFS1", "/Names", name.encode(), name=name, at=at)
        lake.post("PFS1", f"/Names/{name}", b"below", name="below", at=at)
    lake.run(until_quiet=True)
    seen = {line["path"] for line in lake.lines("folders") if line["store"] == "PFS2"}
    assert {f"/Names/{name}" for name in NAMES} <= seen
    assert {row["name"] for row in lake.items("PFS2", "/Names").collect()} == set(NAMES)
    assert all(lake.items("PFS1", f"/Names/{name}").count() == 1 for name in ("..", "X", "`", "'; DROP TABLE edits"))
    (tmp_path / "out").mkdir()
    assert lake.export_mail("PFS2", "/Names", tmp_path / "out" / "eml", form="eml") == len(NAMES)
    files = list(tmp_path.rglob("*.eml"))
    assert sorted(file.read_bytes() for file in files) == sorted(name.encode() for name in NAMES)
    assert len({file.name.lower() for file in files}) == len(NAMES) and {file.parent.name for file in files} == {"eml"}
    lake.close()
