"""What a user installs."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from pfspark.edge.config import conf_folder

ROOT = Path(__file__).parents[1]


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


def test_an_installed_package_finds_its_conf(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    asked = [sys.executable, "-c", "from pfspark.edge.config import conf_folder; print(conf_folder())"]
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()) == tmp_path / "pfspark" / "conf"


def test_a_checkout_finds_its_conf() -> None:
    assert conf_folder() == ROOT / "conf"
    assert tomllib.loads((conf_folder() / "modern.toml").read_text())
