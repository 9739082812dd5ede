"""The columns of a round's frames are written down in `frames.json`; `python -m tests.sim.test_frames` writes them anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pfspark import cuts, kept, rows
from pfspark.edge.config import conf_folder
from pfspark.edge.session import open_session
from pfspark.sim import invention
from pfspark.sim.scenario import Scenario, read

BOOK = Path(kept.__file__).parent / "frames.json"


def organizations(config: pytest.Config) -> list[Scenario]:
    return read([conf_folder() / "scenarios" / "hole_and_backfill.toml"], conf_folder())


def test_the_columns_are_those_of_the_frames(performance: tuple[Any, Any]) -> None:
    """In whatever order: frames of one name come from several rules. What has something else to be need not be known."""
    built, written = (
        {name: {(field.name, field.dataType) for field in rows.struct(ddl)} for name, ddl in each.items()}
        for each in (performance[1].columns, cuts.frames())
    )
    parted = {name: built[name] ^ columns for name, columns in written.items() if built[name] != columns}
    assert not parted, "write them anew: python -m tests.sim.test_frames"


def main() -> None:
    """Plays a first round, in which every frame is built whose columns are not known."""
    BOOK.write_text("{}")
    [scenario] = read([conf_folder() / "scenarios" / "hole_and_backfill.toml"], conf_folder())
    world = kept.Kept(open_session(), invention.begin(scenario))
    world.play({scenario.name: invention.turn(scenario, scenario.start, suspended=False)})
    BOOK.write_text(json.dumps(dict(sorted(world.columns.items())), indent=1) + "\n")


if __name__ == "__main__":
    main()
