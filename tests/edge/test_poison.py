"""Nonsense in a lake: written past the API into tables that are open, it harms nobody but whom it is about."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from pfspark import cntext, said
from pfspark.edge.world.directory import DIRECTORY, entries, policies_of
from pfspark.errors import UsageError
from pfspark.lake import Lake
from pfspark.rows import local, rows_of, schema_of
from tests.edge.lakes import DAY

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

NOW = datetime(2026, 1, 5, tzinfo=UTC)
ORGANIZATION = {"org": "o", "profile": "modern", "options": "{}", "start": NOW, "suspended": False, "at": NOW}
STORE = {"org": "o", "store": "P1", "site": "A", "version": "2007", "preferred": False, "retired": False, "at": NOW}
LINK = {"org": "o", "from_site": "A", "to_site": "B", "cost": 1, "delay_s": 0, "at": NOW}

UNFIT: dict[str, tuple[str, dict[str, Any], str]] = {
    "not JSON": ("organizations", {"options": "{"}, "'{' are not JSON"),
    "no table": ("organizations", {"options": "[]"}, "'[]' are no table"),
    "deep": ("organizations", {"options": "[" * 100_000}, "are not JSON"),
    "no option": ("organizations", {"options": '{"colour": 1}'}, "'colour' is not known"),
    "half of a letter": ("organizations", {"options": r'{"source_order": "\ud800"}'}, "expected a text that UTF-8 can write"),
    "no value": ("organizations", {"options": '{"interval": "soon"}'}, "found 'soon'"),
    "no profile": ("organizations", {"profile": None}, "profile '' is not known"),
    "a path": ("organizations", {"profile": "../x"}, "profile '../x' is not known"),
    "no start": ("organizations", {"start": None}, "its start is no time"),
    "no interval": ("stores", {"interval_s": 0}, "the store 'P1' has interval_s 0"),
    "no size": ("stores", {"size_limit": -1}, "the store 'P1' has size_limit -1"),
    "no hours": ("stores", {"schedule": "always"}, "the store 'P1' has schedule 'always'"),
    "no site": ("stores", {"site": None}, "the store 'P1' has site None"),
    "a life": ("stores", {"store": "P1~x"}, "the store 'P1~x' has store 'P1~x'"),
    "before it left": ("links", {"delay_s": -1}, "the link 'A to B' has delay_s -1"),
    "too late": ("links", {"delay_s": 2**62}, "the link 'A to B' has delay_s"),
    "no cost": ("links", {"cost": None}, "the link 'A to B' has cost None"),
}


@pytest.mark.parametrize("case", UNFIT)
def test_who_cannot_be_followed_does_not_play_and_the_others_do(spark: SparkSession, case: str) -> None:
    """What is wrong is told with what was expected."""
    where, wrong, why = UNFIT[case]
    tables = {}
    for name, row in (("organizations", ORGANIZATION), ("stores", STORE), ("links", LINK)):
        own = {**row, **wrong} if name == where else row
        tables[name] = rows_of(name, [own, {**row, "org": "fine"}])
    policies, unfit = policies_of(**tables)
    assert policies.keys() == {"fine"} and unfit.keys() == {"o"}
    assert "'o' does not play" in unfit["o"] and why in unfit["o"] and "Say it anew" in unfit["o"]


def test_what_is_about_nobody_harms_nobody(spark: SparkSession, tmp_path: Path) -> None:
    """Rows of the directory without an organization, a store or a site, read with Spark and without; the lake opens, is asked and
    plays, and of an organization without a start nothing is waited for."""
    with Lake.create(tmp_path / "lake", spark) as lake:
        lake.organization("main", profile="modern", start=f"{DAY}00:00:00Z")
        lake.store("PFS1", "A", org="main")
        rows = {
            "organizations": [{**ORGANIZATION, "org": None}, {**ORGANIZATION, "org": "no start", "start": None}],
            "stores": [{**STORE, "org": None}, {**STORE, "org": "main", "store": None}],
            "links": [{**LINK, "org": "main", "to_site": None}, {**LINK, "org": None}],
        }
        for name, some in rows.items():
            lake._tables.append(name, rows_of(name, some))
            known = lake._tables.read(name)
            by_spark = entries(known, DIRECTORY[name]).toArrow().select(known.columns)
            assert by_spark.sort_by("at").to_pylist() == said.entries(known.toArrow(), DIRECTORY[name]).sort_by("at").to_pylist()
        assert lake.organizations == ["main", "no start"] and lake.stores_by_name() == [("main", "PFS1")]
        lake.run(until=timedelta(hours=1))
        assert [line["org"] for line in lake.lines("state")] == ["main"]
        assert [line["store"] for line in lake.lines("stores")] == ["PFS1"]
        assert lake.status()["at"].keys() == {"main"} and lake.unfit.keys() == {"no start"}


def test_without_an_organization_nothing_is_run(spark: SparkSession, tmp_path: Path) -> None:
    with Lake.create(tmp_path / "lake", spark) as lake, pytest.raises(UsageError, match="has no organization with a start yet"):
        lake.run(until=timedelta(hours=1))


@pytest.mark.lakes
def test_one_bad_row_stops_nobody_else(spark: SparkSession, tmp_path: Path) -> None:
    """Poison in all tables that anybody writes: what of it is an edit is refused, with a reason; others post and receive."""
    with Lake.create(tmp_path / "lake", spark) as lake:
        for org in ("main", "broken"):
            lake.organization(org, profile="modern", start=f"{DAY}00:00:00Z")
            for store in ("PFS1", "PFS2"):
                lake.store(store, "Redmond", org=org)
        made = lake.folder_create("PFS1", "/Sales", ["PFS1", "PFS2"], org="main", at=f"{DAY}00:00:00Z")
        lake.post("PFS1", "/Sales", b"one", org="main", at=f"{DAY}00:00:00Z")
        tables = lake._tables
        edit = {"org": "main", "store": "PFS1", "at": NOW, "place": 1, "folder": f"@{made}", "properties": [], "written": NOW}
        poison = [
            {**edit, "edit_id": "hours", "action": "set_folder", "properties": [("schedule", "whenever")]},
            {**edit, "edit_id": "limit", "action": "set_folder", "properties": [("size_limit", "300KB")]},
            {**edit, "edit_id": "no time", "action": "post", "at": None},
            {**edit, "edit_id": "no action", "action": None},
            {**edit, "edit_id": "no folder", "action": "create_folder", "properties": None},
            {**edit, "edit_id": None, "action": "post"},
            {**edit, "org": None, "edit_id": "nobody", "action": "post"},
        ]
        tables.append("edits", rows_of("edits", poison))
        late = rows_of("edits", [{**edit, "edit_id": "late", "action": "post"}])
        frame = local(spark, late, schema_of("edits"))
        frame.selectExpr(
            *("timestamp_micros(569000000000000000) as at" if name == "at" else name for name in frame.columns)
        ).write.format("delta").mode("append").save(f"{tables.where}/edits")
        broken = {**ORGANIZATION, "org": "broken", "options": "{", "at": datetime.now(UTC)}
        tables.append("organizations", rows_of("organizations", [broken]))
        said = list(lake.said(lake.round(f"{DAY}00:05:00Z")))
        refused = {line["edit"]: line["reason"] for line in said if line["kind"] == "refused"}
        assert refused == dict.fromkeys(("hours", "limit", "no time", "no action", "no folder", "late"), "bad_value")
        assert {line["folder"] for line in said if line["kind"] == "refused"} == {f"@{made}"}
        lake.round(f"{DAY}00:10:00Z")
        held = lake.answers(org="main").views["main"]
        assert [cntext.show(held.held(store, "PFS1:1")) for store in ("PFS1", "PFS2")] == ["PFS1:1", "PFS1:1"]
        status = lake.status("main")
        assert (status["converged"], status["missing"], status["edits"]) == (True, 0, 0)
        posts = [
            {**edit, "folder": "PFS1:1", "action": "post", "edit_id": each, "at": at} for each, at in (("no", None), ("at", NOW))
        ]
        tables.append("edits", rows_of("edits", posts))
        waiting = [line["item"] for line in lake.why_lines(org="main", store="PFS1") if line["cause"] == "not_taken_in"]
        assert waiting == ["@at", "@no"]  # of what has no time too it is told that it waits
        assert lake.unfit.keys() == {"broken"} and not lake.status()["converged"]
        with pytest.raises(UsageError, match=r"'broken' does not play: options .* are not JSON"):
            lake.answers(org="broken")
        lake.organization("broken", profile="modern")
        lake.folder_create("PFS1", "/Ours", ["PFS1"], org="broken")
        assert lake.round().turns.keys() >= {"broken"} and not lake.unfit
