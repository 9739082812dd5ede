"""How numbers came: the hops add up to the tables, nothing left out and nothing invented."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from pfspark import cntext
from pfspark.ask import trace
from pfspark.edge.config import conf_folder
from pfspark.rows import arrow, local, rows_of, schema_of, struct
from pfspark.sim.scenario import Scenario, read
from pfspark.words import Hop

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = Mapping[str, Any]
Facts = Mapping[str, Mapping[str, list[Row]]]
LETTERS = (Hop.SENT, Hop.ANSWERED, Hop.ASKED)
BECAME = (Hop.ARRIVED, Hop.REFUSED, Hop.LOST)


def became(receipt: Row) -> Hop:
    """What a letter became; one without changes that was refused is said to bring nothing new, and why."""
    if receipt["outcome"] == "lost":
        return Hop.LOST
    return Hop.REFUSED if receipt["reason"] else Hop.ARRIVED


def organizations(config: pytest.Config) -> list[Scenario]:
    """What this module wants played: what loses mail, asks for it, refuses it, expires, and is restored."""
    names = (
        "cut_off_and_catch_up", "expired_items", "lossy_line", "replica_added", "restored_store", "why_another_is_shown",
        "why_it_does_not_come",
    )  # fmt: skip
    return read([conf_folder() / "scenarios" / f"{name}.toml" for name in names], conf_folder())


def numbers(*rows: Row) -> Iterator[tuple[str, int]]:
    """The numbers that ranges mean."""
    for row in rows:
        yield from ((row["origin"], cn) for cn in range(row["cn_min"], row["cn_max"] + 1))


def frames(spark: SparkSession, facts: Mapping[str, Iterable[Row]]) -> dict[str, DataFrame]:
    return {name: local(spark, rows_of(name, facts.get(name, ())), schema_of(name)) for name in trace.FACTS}


def asked(spark: SparkSession, rows: Iterable[Row]) -> DataFrame:
    return local(spark, arrow(struct(trace.RANGE_DDL), rows), struct(trace.RANGE_DDL))


@pytest.fixture(scope="module")
def written(pytestconfig: pytest.Config, facts: Facts) -> dict[str, list[Row]]:
    """What was written of those organizations."""
    orgs = [scenario.name for scenario in organizations(pytestconfig)]
    return {name: [row for org in orgs for row in facts[name][org]] for name in trace.FACTS if name != "rounds"}


def about(written: Mapping[str, list[Row]]) -> list[Row]:
    """All numbers that were ever given, and those that were there from the start."""
    every = [{**row, "cn_min": row["cn"], "cn_max": row["cn"]} for row in written["changes"]]
    ranges = {(row["org"], row["folder"], row["origin"]) for row in every}
    held = [row for row in written["state"] if (row["org"], row["folder"], row["origin"]) not in ranges]  # had from the start
    return [*every, *held]


@pytest.fixture(scope="module")
def hops(spark: SparkSession, written: dict[str, list[Row]]) -> list[Row]:
    """What is told of all of them."""
    found: list[Row] = trace.hops(asked(spark, about(written)), frames(spark, written)).toArrow().to_pylist()
    return found


def told(hops: Iterable[Row], *what: Hop) -> Iterator[tuple[Row, tuple[str, int]]]:
    return ((row, number) for row in hops if row["what"] in what for number in numbers(row))


def test_every_number_was_given_once(hops: list[Row], written: dict[str, list[Row]]) -> None:
    found = [(row["org"], row["folder"], *number, row["at"]) for row, number in told(hops, Hop.NUMBERED)]
    assert sorted(found) == sorted((row["org"], row["folder"], row["origin"], row["cn"], row["at"]) for row in written["changes"])


def test_every_letter_goes_to_each_recipient_and_becomes_of_it_what_receipts_say(
    hops: list[Row], written: dict[str, list[Row]]
) -> None:
    known = {(row["org"], row["folder"], number) for row in about(written) for number in numbers(row)}
    letters = {}
    for row in written["messages"]:
        spoken = numbers(*row["carries"], *row["asks"])
        letters[row["org"], row["message_id"]] = [each for each in spoken if (row["org"], row["folder"], each) in known]
    gone = told(hops, *LETTERS)
    assert sorted((row["org"], row["message_id"], row["store"], row["peer"], *each) for row, each in gone) == sorted(
        (row["org"], row["message_id"], row["store"], to["store"], *each)
        for row in written["messages"] if "copy" not in row["flags"]  # which nobody sent
        for to in row["recipients"] for each in letters[row["org"], row["message_id"]]
    )  # fmt: skip
    came = told(hops, *BECAME)
    said = ("org", "message_id", "store", "what", "at", "reason")
    assert sorted((*(str(row[name]) for name in said), *each) for row, each in came) == sorted(
        (row["org"], row["message_id"], row["store"], became(row), str(row["at"]), str(row["reason"]), *each)
        for row in written["receipts"] if row["message_id"] for each in letters[row["org"], row["message_id"]]
    )  # fmt: skip
    assert {row["what"] for row in hops} >= {*LETTERS, *BECAME}


def test_what_was_heard_asked_for_and_taken_is_what_stores_wrote(hops: list[Row], written: dict[str, list[Row]]) -> None:
    for step, what, of in (("heard", Hop.HEARD, None), ("asked", Hop.ASKED, "of")):
        found = told(hops, what)
        steps = [row for row in written["backfill"] if row["step"] == step]
        assert sorted(
            (row["org"], row["store"], str(row["at"]), row["attempt"] or 0, str(of and row["peer"]), *each) for row, each in found
        ) == sorted(
            (row["org"], row["store"], str(row["at"]), row["attempt"], str(of and row[of]), *each)
            for row in steps for each in numbers(row)
        ), step  # fmt: skip
    assert all(row["peer"] for row in hops if row["what"] == Hop.HEARD)
    own = [row for row in written["state"] if cntext.split_label(row["about"])[0] == row["store"]]
    said = {
        entry: Counter(
            (row["org"], row["store"], row["folder"], row["at"], *each)
            for row in own if row["entry"] == entry for each in numbers(row)
            if entry == "empty" or row["about"] != row["origin"]
        )
        for entry in ("applied", "empty")
    }  # fmt: skip
    for what, expected in ((Hop.SETTLED, said["empty"]), (Hop.APPLIED, said["applied"] - said["empty"])):
        assert Counter((row["org"], row["store"], row["folder"], row["at"], *each) for row, each in told(hops, what)) == expected


def test_a_version_is_superseded_where_one_made_upon_it_is_first_held(hops: list[Row], written: dict[str, list[Row]]) -> None:
    held: dict[tuple[str, str, tuple[str, int]], dict[str, Any]] = defaultdict(dict)
    for row in written["state"]:
        if row["entry"] == "applied" and cntext.split_label(row["about"])[0] == row["store"]:
            for each in numbers(row):
                here = held[row["org"], row["folder"], each]
                here[row["store"]] = min(row["at"], here.get(row["store"], row["at"]))
    first: dict[tuple[Any, ...], Any] = {}
    for one in written["changes"]:
        for later in written["changes"]:
            if [one[name] for name in ("org", "folder", "object")] == [
                later[name] for name in ("org", "folder", "object")
            ] and any(before["origin"] == one["origin"] and one["cn"] <= before["cn"] for before in later["predecessors"]):
                for store, at in held[one["org"], one["folder"], (later["origin"], later["cn"])].items():
                    key = one["org"], one["folder"], one["origin"], one["cn"], store
                    first[key] = min(at, first.get(key, at))
    found = [((row["org"], row["folder"], *each, row["store"]), row["at"]) for row, each in told(hops, Hop.SUPERSEDED)]
    assert sorted(found) == sorted(first.items()) and found


def test_what_a_restored_store_had_learned_since_is_forgotten(spark: SparkSession) -> None:
    number = {"org": "main", "folder": "PFS1:1", "origin": "PFS1"}
    own = {**number, "store": "PFS2", "entry": "applied", "about": "PFS2", "relayed": False}
    at = {hour + 1: datetime(2026, 1, 5, hour, tzinfo=UTC) for hour in range(4)}
    state = [{**own, "cn_min": cn, "cn_max": cn, "round": cn, "at": at[cn]} for cn in (1, 2, 4)]
    anew = {**own, "cn_min": 1, "cn_max": 1, "round": 3, "at": at[3]}
    restored = {
        "round": 3,
        "kind": "restored",
        "turns": [{"org": "main", "now": at[3]}],
        "restored": [{"org": "main", "store": "PFS2", "to": 1}],
    }
    facts = frames(spark, {"state": [*state, anew], "rounds": [restored]})
    found = trace.hops(asked(spark, [{**number, "cn_min": 1, "cn_max": 9}]), facts).toArrow().to_pylist()
    assert sorted((row["at"], row["what"], row["cn_min"], row["cn_max"]) for row in found) == [
        (at[1], "applied", 1, 1), (at[2], "applied", 2, 2), (at[3], "forgotten", 2, 2), (at[4], "applied", 4, 4),
    ]  # fmt: skip
    assert [row["round"] for row in found if row["what"] == "forgotten"] == [3]
