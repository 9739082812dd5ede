"""What intake accepts of what anybody may have written into `edits`, and what rules make of what is in the tree already."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from pfspark.rows import arrow, local, schema_of
from pfspark.rules import aging, hierarchy, intake, sending, sources
from pfspark.tables import STAMP
from pfspark.words import PARENT
from tests.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOW = datetime.fromisoformat("2026-01-05T00:15:00+00:00")
FOLDER = {"name": "Sales", "parent": ""}
TREE = f"org string, store string, folder string, property string, value string, stamp {STAMP}"
YEAR_20000 = "timestamp_micros(569000000000000000)"

GOOD: dict[str, dict[str, Any]] = {
    "post": {"action": "post"},
    "a post of nothing": {"action": "post", "size": None, "properties": None},
    "headers are anything": {"action": "post", "properties": {"schedule": "x", "deleted": "y", "*": "z"}},
    "modify": {"action": "modify", "item": "P1:1", "size": 2**62 - 1},
    "create": {"action": "create_folder", "properties": {**FOLDER, "replica:P1": "listed"}},
    "set all": {
        "action": "set_folder",
        "properties": {
            "schedule": "0-15,1920-1980", "size_limit": "0", "age_limit": "86400", "deleted_item_retention": "0", "conflict": "2",
            "priority": "not urgent", "description": "", "replica:P2": "removed",
        },
    },
    "never, and for ever": {"action": "set_folder", "properties": {"schedule": "", "age_limit": "none"}},
}  # fmt: skip
BAD: dict[str, dict[str, Any]] = {
    "no action": {"action": None},
    "unknown action": {"action": "drop"},
    "no time": {"action": "post", "at": None},
    "before all times": {"action": "post", "at": datetime(1, 1, 2)},
    "after all times": {"action": "post", "at": datetime(9999, 12, 30)},
    "less than nothing": {"action": "post", "size": -1},
    "too large to be added": {"action": "post", "size": 2**63 - 1},
    "a post that names its item": {"action": "post", "item": "garbage"},
    "a folder without a name": {"action": "create_folder", "properties": {"parent": ""}},
    "a folder without a place": {"action": "create_folder", "properties": {"name": "x"}},
    "no name": {"action": "set_folder", "properties": {"name": None}},
    **{
        f"{name} {value}": {"action": "set_folder", "properties": {name: value}}
        for name, values in {
            "schedule": ("always", "1-2,", "1-2\n", "1", "-", "x-y", "123456-1", None),
            "size_limit": ("300KB", "-1", str(2**62), "9" * 40, "1e3", "", None),
            "age_limit": ("2d", "0", "-5", "9" * 18, None),
            "deleted_item_retention": (
                "-1",
                "x",
                "\x0130",
                " 30",
                "+30",
                "30\n",
            ),  # to Spark's casts some are 30
            "conflict": ("3", "true"),
            "priority": ("highest",),
            "replica:P2": ("gone", "leaving", "yes", None),
            "deleted": ("true",),
            "*": ("",),
            "*replica:P2": ("gone",),
        }.items()
        for value in values
    },
}


LIVES = [("o", "P1", "P1:1", NOW - timedelta(minutes=1)), ("o", "P1", "1-1", NOW - timedelta(minutes=3))]


def edits(spark: SparkSession, cases: dict[str, dict[str, Any]]) -> DataFrame:
    common = {"org": "o", "store": "P1", "at": NOW - timedelta(minutes=1), "folder": "P1:1", "properties": {}, "size": 1}
    rows = [{**common, "edit_id": name, "place": nth, **case} for nth, (name, case) in enumerate(cases.items())]
    listed = [{**row, "properties": None if row["properties"] is None else [*row["properties"].items()]} for row in rows]
    return local(spark, arrow(schema_of("edits"), listed), schema_of("edits"))


def received(spark: SparkSession, rows: DataFrame) -> dict[str, str | None]:
    return {row["edit_id"]: row["reason"] for row in taken_in(spark, rows).collect()}


def taken_in(spark: SparkSession, rows: DataFrame) -> DataFrame:
    return intake.receive(
        rows,
        repeated=intake.repeated(rows),
        taken=frame_of(spark, [], "org string, edit_id string"),
        stores=frame_of(spark, [("o", "P1")], "org string, store string"),
        replicas=frame_of(spark, LIVES, "org string, store string, folder string, at timestamp"),
        conditions=frame_of(spark, [], "org string, store string, down boolean"),
        clock=frame_of(spark, [("o", NOW)], "org string, now timestamp"),
    )


def test_what_no_rule_could_follow_is_refused_at_once(spark: SparkSession) -> None:
    reasons = received(spark, edits(spark, GOOD | BAD))
    assert reasons == dict.fromkeys(GOOD) | dict.fromkeys(BAD, "bad_value")


def test_what_a_restore_that_did_not_come_about_said_again_is_held_already(spark: SparkSession) -> None:
    """Its replicas have begun no new life by then: the hierarchy's two minutes before it was said, that of P1:1 right then. Of a
    folder without a replica nothing is known, and of other edits it does not matter."""
    post = {"action": "post", "item": None}
    cases = {"again:of an item": post, "again:of the tree": {"action": "set_folder"}, "again:made": {**post, "folder": "@x"},
             "of the tree": {"action": "set_folder"}}  # fmt: skip
    assert received(spark, edits(spark, cases)) == dict.fromkeys(cases) | {"again:of the tree": "already_taken_in"}


def test_an_edit_of_a_folder_that_says_nothing_sets_nothing(spark: SparkSession) -> None:
    """Else nobody could say any more who is listed after it, and the last replica could go (Q26); of a post it stays unsaid."""
    cases = {name: {"action": name, "properties": None} for name in ("set_folder", "delete_folder", "post")}
    said = {"said": {"action": "set_folder", "properties": {"description": "x"}}}
    found = {row["edit_id"]: row["properties"] for row in taken_in(spark, edits(spark, cases | said)).collect()}
    assert found == {"set_folder": {}, "delete_folder": {}, "post": None, "said": {"description": "x"}}


def test_of_edits_of_one_name_the_first_counts(spark: SparkSession) -> None:
    """By their time, then their place, then their store; those of another organization are others."""
    before, at = NOW - timedelta(minutes=2), NOW - timedelta(minutes=1)
    said = [("o", "b", at, 1, "P1"), ("o", "a", at, 1, "P1"), ("o", "a", at, 2, "P1"), ("o", "a", before, 3, "P1"),
            ("o", "c", at, 1, "P2"), ("o", "c", at, 1, "P1"), ("p", "a", at, 1, "P1")]  # fmt: skip
    rows = [{"org": org, "edit_id": edit, "at": at, "place": place, "store": store, "action": "post", "properties": [], "size": 1}
            for org, edit, at, place, store in said]  # fmt: skip
    found = intake.receive(
        local(spark, arrow(schema_of("edits"), rows), schema_of("edits")),
        repeated=frame_of(spark, [("o", "a"), ("o", "c")], "org string, edit_id string"),
        taken=frame_of(spark, [], "org string, edit_id string"),
        stores=frame_of(spark, [("o", "P1"), ("o", "P2"), ("p", "P1")], "org string, store string"),
        replicas=frame_of(spark, LIVES, "org string, store string, folder string, at timestamp"),
        conditions=frame_of(spark, [], "org string, store string, down boolean"),
        clock=frame_of(spark, [("o", NOW), ("p", NOW)], "org string, now timestamp"),
    )
    told = {(row["org"], row["edit_id"], row["place"], row["store"]): row["reason"] for row in found.collect()}
    again = {("o", "a", 1, "P1"), ("o", "a", 2, "P1"), ("o", "c", 1, "P2")}
    assert told == {(org, edit, place, store): "already_taken_in" if (org, edit, place, store) in again else None
                    for org, edit, _, place, store in said}  # fmt: skip


def test_every_refused_edit_is_told_of_and_taken_in_no_further(spark: SparkSession) -> None:
    """Also one whose action is none: it must not wait for ever, and call for a round each time."""
    found = taken_in(spark, edits(spark, BAD))
    assert not intake.of_folders(found).count() + intake.of_items(found).count()
    verdicts = intake.receipts(found, found.limit(0), found.limit(0))
    told = {row["edit_id"]: (row["outcome"], row["reason"]) for row in verdicts.collect()}
    assert told == dict.fromkeys(BAD, ("refused", "bad_value"))


def test_what_was_made_is_known_by_the_edit_that_made_it(spark: SparkSession) -> None:
    """Named as a folder, as an item, or as the parent of a folder; what nobody names, or only another organization, is not.
    Taken in twice, long after each other, it is what it became last."""
    made = [(org, name, f"{name} of {org}") for org in ("o", "p") for name in ("folder", "item", "parent", "other")]
    named = {
        "post": {"action": "post", "folder": "@folder"},
        "modify": {"action": "modify", "item": "@item"},
        "move": {"action": "set_folder", "folder": None, "properties": {PARENT: "@parent", "name": "@other"}},
        "plain": {"action": "modify", "item": "other", "properties": None},
    }
    rows = [*((*row, 2) for row in made), ("o", None, "of a start", 2), ("o", "item", "what it became first", 1)]
    changes = frame_of(spark, rows, "org string, edit_id string, object string, at bigint")
    found = intake.names(changes, edits=edits(spark, named)).collect()
    assert {(row["org"], row["edit_id"]): row["object"] for row in found} == {
        ("o", name): f"{name} of o" for name in ("folder", "item", "parent")
    }


def test_what_cannot_be_read_at_all_is_no_edit(spark: SparkSession) -> None:
    """Whoever has no name can be told nothing, and Python knows no year 20000."""
    rows = edits(spark, {"good": {"action": "post"}, "later": {"action": "post"}, "nobody": {"action": "post", "org": None}})
    late = rows.selectExpr(*(f"if(edit_id = 'later', {YEAR_20000}, at) as at" if n == "at" else n for n in rows.columns))
    nameless = rows.where("edit_id = 'good'").selectExpr(*("null as edit_id" if n == "edit_id" else n for n in rows.columns))
    found = intake.legible(late.unionByName(nameless)).toArrow().to_pylist()
    assert {row["edit_id"]: row["at"] for row in found} == {"good": NOW - timedelta(minutes=1), "later": None}
    assert received(spark, intake.legible(late).where("edit_id = 'later'")) == {"later": "bad_value"}


def tree(spark: SparkSession, **said: dict[str, str]) -> DataFrame:
    rows = [("o", "P1", folder, name, value, (NOW, "P1", 1)) for folder, sets in said.items() for name, value in sets.items()]
    return frame_of(spark, rows, TREE)


def test_limits_that_are_none_are_as_if_not_set(spark: SparkSession) -> None:
    """They harm nobody, least of all the folder beside it."""
    bad = {"schedule": "nonsense", "size_limit": "300KB", "priority": "highest"}
    good = {"schedule": "0-15", "size_limit": "1024", "priority": "urgent"}
    said = tree(spark, bad=bad, good=good, minus={"size_limit": "-1"}, huge={"size_limit": "9" * 30}, named={"name": "7"})
    rows = sending.limits(hierarchy.properties(said, names=sending.LIMITS)).collect()
    found = {row["folder"]: (row["schedule"], row["size_limit"], row["priority"]) for row in rows}
    none = (None, None, None)
    assert found == {"bad": none, "good": ("0-15", 1024, "urgent"), "minus": none, "huge": none}


def test_an_age_that_is_none_is_as_if_not_set(spark: SparkSession) -> None:
    ages = {"bad": "2d", "minus": "-5", "huge": "9" * 18, "own": "60", "ever": "none"}
    here = "org string, store string, folder string, standing string"
    limited = aging.limited(
        frame_of(spark, [("o", "P1", folder, "active") for folder in (*ages, "silent")], here),
        limits=tree(spark, **{folder: {"age_limit": value} for folder, value in ages.items()}),
        policies=frame_of(spark, [("o", 3600)], "org string, age_limit_s bigint"),
    )
    found = {row["folder"]: row["limit_s"] for row in limited.collect()}
    assert found == {"bad": 3600, "minus": 3600, "huge": 3600, "own": 60, "silent": 3600}


def test_an_entry_of_a_replica_list_that_says_nothing_known_is_none(spark: SparkSession) -> None:
    seen = tree(spark, F={"replica:P1": "listed", "replica:P2": "perhaps"})
    folders = frame_of(spark, [("o", "P1", "F", "", False)], schema_of("folders"))
    assert [(row["peer"], row["listing"]) for row in hierarchy.lists(seen, folders=folders).collect()] == [("P1", "listed")]


@pytest.mark.parametrize("version", ["", "Exchange", "9" * 400, None])
def test_a_version_that_is_no_number_is_an_old_one(spark: SparkSession, version: str | None) -> None:
    known = sources._facts(
        frame_of(
            spark,
            [("o", "P1", "F", "P2", 1, 1)],
            "org string, store string, folder string, peer string, amount bigint, whole bigint",
        ),
        stores=frame_of(
            spark,
            [("o", "P1", "A", "2007", False), ("o", "P2", "A", version, False)],
            "org string, store string, site string, version string, preferred boolean",
        ),
        links=frame_of(spark, [], "org string, from_site string, to_site string, cost bigint, delay_s bigint"),
        contacts=frame_of(spark, [], "org string, store string, peer string, asked timestamp, silent timestamp"),
        clock=frame_of(
            spark,
            [("o", NOW, ["older_version"], False)],
            "org string, now timestamp, source_keys array<string>, full_match_first boolean",
        ),
    )
    assert known.collect()[0]["facts"]["before_2000"] is (version is None or not version.isdigit())
