"""What a user installs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from functools import cache
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from pfspark.edge.config import conf_folder

ROOT = Path(__file__).parents[1]
NEVER_IMPORTED = {
    "databricks_bundles": "the models of bundles, and is called databricks in tests",
    "hatchling": "builds the wheel",
    "mypy": "a command",
    "pandas": "Spark takes Arrow tables only where it is",
    "pytest_xdist": "tests in two processes, and is called xdist there",
    "pyyaml": "reads the bundle, and is called yaml there",
    "ruff": "a command",
}
"""What is asked for and stands in no import, and why it is asked for."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    [built] = WheelBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("wheel")), versions=["standard"])
    return Path(built)


def test_the_wheel_holds_the_package_and_its_conf(wheel: Path) -> None:
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    conf = {f"pfspark/{file.relative_to(ROOT).as_posix()}" for file in (ROOT / "conf").rglob("*") if file.is_file()}
    code = {file.relative_to(ROOT).as_posix() for file in (ROOT / "pfspark").rglob("*.py")}
    assert conf and "pfspark/edge/log4j2.properties" in held
    assert conf | code <= held
    assert {name.split("/")[0] for name in held} == {"pfspark"}


def test_spark_is_the_users_choice(wheel: Path) -> None:
    """A cluster has its own Spark: only the extras ask for one, and for an exact one."""
    metadata = zipfile.ZipFile(wheel).read("pfspark-0.1.0.dist-info/METADATA").decode()
    asked = re.findall(r"^Requires-Dist: (.*spark.*)$", metadata, re.MULTILINE)
    ours = ("delta-spark==4.4.0", "pyspark==4.2.0")
    of_tests = (*ours, "pyspark[connect]==4.2.0")
    extras = {"local": ours, "test": of_tests}
    assert asked == [f"{package}; extra == '{extra}'" for extra, packages in extras.items() for package in packages]


@cache
def imports_in(folder: str) -> frozenset[str]:
    """The packages that the modules in this folder import, wherever in them, by the first part of the name."""
    nodes = [node for file in (ROOT / folder).rglob("*.py") for node in ast.walk(ast.parse(file.read_text()))]
    named = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    named |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level}
    return frozenset(name.split(".")[0] for name in named)


def imports(*folders: str) -> set[str]:
    return {package for folder in folders for package in imports_in(folder)}


def test_what_is_asked_for_is_imported() -> None:
    """Who installs pfspark gets nothing that it does not use; what no verb needs is an extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for packages, used in (
        (project["dependencies"], imports("pfspark")),
        (extras["local"], {*imports("pfspark"), "delta_spark"}),  # its jars are taken by its version
        (extras["docs"], imports("pfspark")),
        (extras["metrics"], imports("pfspark")),
        (extras["pictures"], imports("pfspark", "notebooks")),
        (extras["report"], imports("pfspark")),
        (extras["test"], imports("tests") | {"pfspark"}),
    ):
        names = {re.split(r"[^A-Za-z0-9-]", package)[0].replace("-", "_") for package in packages}
        unused = names - used - NEVER_IMPORTED.keys()
        assert not unused, f"{unused}: nothing imports it, so nobody should install it"
    assert "plotly" not in " ".join(project["dependencies"])


def test_an_installed_package_finds_its_conf(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    asked = [sys.executable, "-c", "from pfspark.edge.config import conf_folder; print(conf_folder())"]
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()) == tmp_path / "pfspark" / "conf"


def test_a_checkout_finds_its_conf() -> None:
    assert conf_folder() == ROOT / "conf"
    assert tomllib.loads((conf_folder() / "modern.toml").read_text())
