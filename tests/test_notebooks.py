"""The notebooks run as they stand, and show what they say."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from pyspark.sql import SparkSession

from pfspark import cli, cntext
from pfspark.edge.pictures import MISSING
from pfspark.lake import Lake

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"


def run(name: str, **given: Any) -> dict[str, Any]:
    return runpy.run_path(str(NOTEBOOKS / name), given)


def holes(picture: Any) -> list[str]:
    return [bar.hovertext for bar in picture.data if bar.marker.color == MISSING]


def test_every_notebook_is_in_databricks_source_form() -> None:
    for notebook in sorted(NOTEBOOKS.glob("*.py")):
        text = notebook.read_text()
        assert text.startswith("# Databricks notebook source\n# MAGIC %md\n# MAGIC # "), notebook.name
        assert text.count("# COMMAND ----------") >= 4, notebook.name


@pytest.mark.in_turn("notebooks")
def test_first_round_ends_equal_everywhere_and_remembers_the_hole(spark: SparkSession) -> None:
    seen = run("01_first_round.py")
    assert seen["equal"]
    assert set(seen["sets"].values()) == {"PFS1:1-25"}
    then = {
        line["store"]: line["applied"]
        for line in seen["lake"].lines("state", as_of=seen["before_the_heal"])
        if line["folder"] == "/Launch"
    }
    assert then == seen["then"] == {"PFS1": "PFS1:1-24", "PFS2": "PFS1:1-24", "PFS3": ""}
    assert [holes(picture) for picture in seen["pictures"]] == [[], ["PFS1:1-24"], []]
    assert [list(picture.layout.yaxis.categoryarray) for picture in seen["pictures"]] == [
        [f"05 Jan {at}  {store}" for at in moments for store in ("PFS1", "PFS2", "PFS3")]
        for moments in (("09:00", "09:15"), ("11:00", "11:15"), ("23:45",))
    ]


@pytest.mark.in_turn("notebooks")
def test_change_numbers_show_the_table_of_the_article(spark: SparkSession) -> None:
    seen = run("02_change_numbers.py")
    assert len(seen["tables"]) == 7
    assert seen["tables"]["T6"].loc["PFS2", "PFS3"] == "PFS1:1-16,PFS2:1-28,PFS3:1-31"
    assert seen["grids"][6]["PFS3"]["missing"] == "PFS1:12-16,PFS2:21-28"
    assert sorted(holes(seen["pictures"][6])) == ["PFS1:12-16", "PFS2:21-28"]
    assert seen["end"]["converged"]


@pytest.mark.in_turn("notebooks")
def test_three_generations_ask_different_sources_and_take_different_times(spark: SparkSession) -> None:
    seen = run("03_three_generations.py")
    assert seen["requests"].T.to_dict() == {
        "FAR": {"2000": "NEAR:1-5", "2003": "", "2007": "", "modern": ""},
        "NEAR": {"2000": "", "2003": "NEAR:4-5", "2007": "NEAR:4-5", "modern": "NEAR:4-5"},
        "PREF": {"2000": "", "2003": "NEAR:1-3", "2007": "NEAR:1-3", "modern": "NEAR:1-3"},
    }
    hours = {generation: minute / 60 for generation, minute in seen["moments"]["told"].items()}
    assert hours == {"2000": 36.25, "2003": 36.25, "2007": pytest.approx(25 + 5 / 60), "modern": pytest.approx(2 + 5 / 60)}
    assert seen["moments"]["equal"].to_dict() == {"2000": 2910, "2003": 2910, "2007": 2240, "modern": 155}
    assert {"status_clock", "source_order"} <= set(seen["options"].index)
    assert all(end["converged"] for end in seen["ends"].values())


@pytest.mark.in_turn("notebooks")
def test_a_replica_is_added_and_another_removed_without_loss(spark: SparkSession) -> None:
    seen = run("04_adding_and_removing_replicas.py")
    sales = seen["sales"]
    assert sales[sales["store"] == "PFS1"]["standing"].tolist() == ["active"] * 2 + ["delete pending", "delete now"]
    assert sales[sales["store"] == "PFS2"]["missing"].tolist() == ["PFS1:1-40", "", "PFS1:41-43", "", ""]
    assert sales.iloc[-1][["store", "applied"]].tolist() == ["PFS2", "PFS1:1-43"]
    assert [reason for _, _, reason in seen["refusals"]] == ["no_replica_here", "no_replica_here", "last_replica"]
    assert [len(holes(picture)) for picture in seen["pictures"]] == [1, 0, 1, 0, 0]
    assert seen["sales_again"].query("store == 'PFS1'")["life"].tolist() == [1, 2, 2]
    assert seen["plans"].query("store == 'PFS1'")["life"].tolist() == [1, 1, 1]
    assert all(seen["ends"].values())


@pytest.mark.in_turn("notebooks")
def test_a_restore_repeats_no_number_and_revives_no_folder(spark: SparkSession) -> None:
    seen = run("05_restore.py")
    assert [numbers for _, numbers in seen["posted"]] == ["PFS2:1-2", "PFS2:3-5", "PFS2:6-7", "PFS2:8", "PFS2~2:1"]
    assert seen["shown"].loc["PFS2"].to_dict() == {"before": "/Sales", "restored": "/Old, /Sales", "in the end": "/Sales"}
    assert seen["lost"] == {"11:45": "", "12:00": "", "12:30": "PFS2:6-7", "20:00": "PFS2:6-7"}
    assert seen["held_at_the_end"] == dict.fromkeys(("PFS1", "PFS2"), "PFS2:1-5:8,PFS2~2:1")
    assert seen["lines"][-1]["converged"]


@pytest.mark.in_turn("notebooks")
def test_why_it_is_not_here_is_told_and_comes_true(spark: SparkSession) -> None:
    seen = run("06_why_is_it_not_here.py")
    assert list(seen["story"]["cause"]) == ["not_heard", "waiting_to_ask", "waiting_to_ask", "asked", "here"]
    assert seen["then"]["at"] == seen["waiting"]["next"]["at"] and seen["waiting"]["next"]["what"] == "ask"
    assert [f"{hop.store} {hop.what}" for hop in seen["hops"].itertuples()] == [
        "PFS1 numbered", "PFS1 sent", "PFS2 lost", "PFS2 heard", "PFS2 asked", "PFS1 arrived", "PFS1 answered", "PFS2 arrived",
        "PFS2 applied",
    ]  # fmt: skip
    assert [" ".join(drawn.text).replace("<br>", " ") for drawn in seen["way"].data if drawn.text] == [
        "numbered sent", "lost", "heard", "asked", "arrived answered", "arrived applied",
    ]  # fmt: skip


@pytest.mark.in_turn("notebooks")
def test_what_would_be_is_told_beside_what_comes(spark: SparkSession) -> None:
    seen = run("07_what_if.py")
    worlds = seen["worlds"].set_index("variant")
    assert list(worlds.index) == ["as it is", "one more mail", "and PFS1 down", "and asked sooner"]
    hours = worlds["hours"]
    assert hours["and asked sooner"] < hours["one more mail"] < hours["and PFS1 down"]
    assert worlds["difference"]["as it is"] is None
    assert seen["drained"]["lost_now"] == [{"folder": "/Sales", "numbers": "PFS1:1"}]


@pytest.mark.lakes  # it takes twice as long as the others
def test_a_lake_in_a_catalog_is_asked_by_sql_as_of_a_round(spark: SparkSession) -> None:
    """As on a workspace, whose widgets say where the course keeps its lakes."""
    widgets = SimpleNamespace(text=lambda name, default: None, get={"course": "spark_catalog.pfspark_course"}.__getitem__)
    seen = run("08_databricks.py", dbutils=SimpleNamespace(widgets=widgets))
    try:
        assert seen["then"].keys() <= {"PFS1"} and seen["now"] == {"PFS1": 2, "PFS2": 2}
        assert ("PFS2", "numbers", "PFS1:1,PFS2:1") in seen["diff"]
        assert seen["late"] == [] and not any(seen["audit"].values())
        assert seen["lake"].where == seen["schema"] == "spark_catalog.pfspark_course_databricks"
        shown = {name: cntext.show(held) for name, held in seen["held"].items()}
        assert list(shown.values())[:2] == ["PFS1:1", ""] and list(shown.values())[-2:] == ["PFS1:1,PFS2:1"] * 2
    finally:
        spark.sql(f"DROP SCHEMA {seen['schema']} CASCADE")


def test_each_says_what_one_learns_and_ends_with_two_exercises() -> None:
    for notebook in sorted(NOTEBOOKS.glob("*.py")):
        text = notebook.read_text()
        assert "# MAGIC You will learn " in text.partition("# COMMAND")[0], notebook.name
        last = text.rpartition("# COMMAND ----------")[2]
        assert "# MAGIC ## Two exercises" in last and "# MAGIC 1. " in last and "# MAGIC 2. " in last, notebook.name
        assert "\nshow(" in text or "\n    show(" in text, f"{notebook.name} shows no picture"
        assert "print(" not in text, f"{notebook.name}: what is to be seen stands last in its cell"


def test_what_they_name_is_there() -> None:
    """The commands and functions in their texts."""
    named = re.findall(r"`([^`\n]+)`", "\n".join(file.read_text() for file in NOTEBOOKS.glob("*.py")))
    commands = [words.split()[1:] for words in named if words.startswith("pfspark ")]
    functions = [re.fullmatch(r"(cntext|[Ll]ake)\.(\w+).*", name) for name in named]
    assert sorted(words[0] for words in commands) == ["drain", "set"] and sum(map(bool, functions)) >= 5
    for verb, *rest in commands:
        typer.main.get_command(cli.app()).commands[verb].make_context(verb, [*rest])
        assert verb != "set" or cntext.run_set(rest[0], "PFS1:1-2", "PFS1:1")
    for found in filter(None, functions):
        assert callable(getattr(cntext if found[1] == "cntext" else Lake, found[2]))
