"""The notebooks run as they stand, and show what they say."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"


def run(name: str) -> dict[str, Any]:
    return runpy.run_path(str(NOTEBOOKS / name))


def test_every_notebook_is_in_databricks_source_form() -> None:
    for notebook in sorted(NOTEBOOKS.glob("*.py")):
        text = notebook.read_text()
        assert text.startswith("# Databricks notebook source\n# MAGIC %md\n# MAGIC # "), notebook.name
        assert text.count("# COMMAND ----------") >= 4, notebook.name


def test_first_round_ends_equal_everywhere_and_remembers_the_hole(spark: SparkSession) -> None:
    seen = run("01_first_round.py")
    assert seen["equal"]
    assert set(seen["sets"].values()) == {"PFS1:1-25"}
    then = {
        line["store"]: line["applied"]
        for line in seen["lake"].lines("state", as_of=seen["before_the_heal"])
        if line["folder"] == "/Launch"
    }
    assert then == {"PFS1": "PFS1:1-24", "PFS2": "PFS1:1-24", "PFS3": ""}


def test_change_numbers_show_the_table_of_the_article(spark: SparkSession) -> None:
    seen = run("02_change_numbers.py")
    assert len(seen["tables"]) == 7
    assert seen["tables"]["T6"].loc["PFS2", "PFS3"] == "PFS1:1-16,PFS2:1-28,PFS3:1-31"
    assert seen["grids"][6]["PFS3"]["missing"] == "PFS1:12-16,PFS2:21-28"
    holes = [bar.hovertext for bar in seen["pictures"][6].data if bar.marker.color == "#d9823b"]
    assert sorted(holes) == ["PFS1:12-16", "PFS2:21-28"]
    assert seen["end"]["converged"]
