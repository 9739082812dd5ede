"""What a short command does without: each is imported where it is needed, and nowhere else."""

from __future__ import annotations

from pathlib import Path

from tests.edge.processes import python

SHORT = """
import contextlib, sys
from pfspark.__main__ import main
with contextlib.suppress(SystemExit):
    main()
print("loaded", *sorted({"pandas", "pfspark.lake", *HEAVY} & sys.modules.keys()))
"""
HEAVY = (
    "pfspark.round", "pfspark.rules.packing", "pfspark.sim.scenario", "pfspark.files.language", "pfspark.ask.why",
    "pfspark.edge.asked.explained", "pfspark.edge.report", "pfspark.cli.keeping", "pfspark.edge.mail.rows",
)  # fmt: skip
ARRAYS = """
import sys
from pfspark.edge.spark.without_pandas import leave_pandas_out, take_pandas_in
leave_pandas_out()
import pyarrow as pa
print("pandas" in sys.modules, pa.array([1, None]).null_count)
take_pandas_in()
import pandas
print(pa.array(pandas.Series([1, None])).null_count, pa.Table.from_pandas(pandas.DataFrame({"a": [1]})).num_rows)
"""


def test_a_command_that_asks_no_java_imports_what_it_needs(tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    for words in (
        "init --profile modern", "store add PFS1 --site Redmond", "folder create /Sales --store PFS1", "state",
        "post --store PFS1 --folder /Sales --text hello",
    ):  # fmt: skip
        done = python(f"HEAVY = {HEAVY}\n{SHORT}", *words.split(), PFSPARK_LAKE=lake)
        assert done.stdout.splitlines()[-1] == "loaded pfspark.lake", (words, done.stderr)


def test_what_a_shell_starts_imports_nothing_large() -> None:
    """It hands over what an engine can do, and that is all that it needs for it."""
    large = ("typer", "rich", "pydantic", "pyspark", "pyarrow", "pandas", "numpy", "asyncio")
    done = python(f"import sys, pfspark.__main__; print(*({set(large)} & sys.modules.keys()))")
    assert done.stdout == "\n"


def test_who_needs_it_has_it() -> None:
    """What pandas leaves empty is null to Arrow, and not a number, as soon as Arrow knows pandas again."""
    assert python(ARRAYS).stdout.splitlines() == ["False 1", "1 1"]
