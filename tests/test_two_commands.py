"""The README's first command, word for word, where nothing of pfspark is: in a fresh copy and an empty home.

The second is what `.ci/run` calls, in an empty home too.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
WHEEL = ("README.md", "conf", "pfspark", "pyproject.toml")


def test_it_is_installed_and_shown_in_an_empty_home(tmp_path: Path) -> None:
    """What pip has fetched before is at hand; Delta's jars, and all that pfspark keeps for itself, are not."""
    [command] = re.findall(r"^<!-- command: demo -->\n```bash\n(.+?)\n```$", (ROOT / "README.md").read_text(), re.M | re.S)
    copy, home = tmp_path / "copy", tmp_path / "home"
    home.mkdir()
    shutil.copytree(ROOT, copy, ignore=lambda place, names: {*names} - {*WHEEL} if Path(place) == ROOT else {"__pycache__"})
    fetched = subprocess.run([sys.executable, "-m", "pip", "cache", "dir"], capture_output=True, text=True, check=True)
    known = {name: word for name, word in os.environ.items() if not re.match("PFSPARK|PYSPARK|PYTHON|SPARK|XDG", name)}
    began = time.monotonic()
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=copy,
        env=known | {"HOME": str(home), "PIP_CACHE_DIR": fetched.stdout.strip()},
        capture_output=True,
        text=True,
    )
    print(f"installed and shown in {time.monotonic() - began:.0f} s")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4. The line is back, and a hole is seen" in done.stdout
    assert "WARN" not in done.stdout + done.stderr and "Traceback" not in done.stderr
    assert {*os.listdir(copy)} - {*WHEEL} == {".venv", "demo-lake"}
