"""One Spark session for the whole run, and how much is tried."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

import pfspark.execute
from pfspark.edge.delta import native
from pfspark.edge.session import open_session
from tests.kept_lakes import (
    at_rest,
    begun,
    copied,
    holed,
    holed_place,
    in_trouble,
    lake,
    one_round,
    parted_place,
    played_once,
    resting,
    run,
    troubled,
    undisturbed,
)
from tests.one_play import facts, performance, played

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling

__all__ = [
    "at_rest", "begun", "copied", "facts", "holed", "holed_place", "in_trouble", "lake", "one_round", "parted_place",
    "performance", "played", "played_once", "resting", "run", "troubled", "undisturbed",
]  # fmt: skip
"""The fixtures of all tests that stand elsewhere."""

LONG = {
    "test_amnesia", "test_archive", "test_connect", "test_ends", "test_first_start", "test_formats", "test_lost_executors",
    "test_mailbox_through_an_outage", "test_many", "test_mixed", "test_notebooks", "test_submit",
    "test_two_commands", "test_upkeep",
}  # fmt: skip
"""Files of few tests that take half a minute and more: they come early, so that of two processes none waits for the other."""

# How long an example takes says how busy the machine is, not whether it is right.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("pfspark", "how much is tried")
    group.addoption("--campaign-orgs", type=int, default=100, help="organizations in a campaign (100)")
    group.addoption("--campaign-rounds", type=int, default=14, help="rounds of half an hour in a campaign (14)")
    group.addoption("--why-orgs", type=int, default=2, help="invented organizations that are asked why (2)")
    group.addoption("--seed", type=int, default=1, help="the first of the seeds of a campaign's organizations (1)")
    group.addoption("--shrink", action="store_true", help="shrink the first world of a campaign that goes wrong (long)")
    group.addoption("--kills", type=int, default=1, help="times a writer is killed at a random moment (1)")
    group.addoption("--writers", type=int, default=3, help="processes that want to play on one lake (3)")
    today = datetime.now(UTC).toordinal()
    group.addoption("--turn", type=int, default=today, help="which of what is tried in turn (today's)")
    group.addoption("--lakes", action="store_true", help="run what plays whole lakes too (long)")
    group.addoption(
        "--without-native", action="store_true", help="write and read local tables by Spark alone, as where no deltalake is"
    )
    group.addoption("--without-twins", action="store_true", help="make every step by its rule, though its rows are here")
    group.addoption("--bench-items", type=int, default=1_000_000, help="items that are posted at once, at most (1,000,000)")
    group.addoption("--bench-bytes", type=int, default=1000, help="bytes of each of those items (1,000)")
    group.addoption("--bench", action="store_true", help="run tests/bench too: they measure, and take their time")


def pytest_configure(config: pytest.Config) -> None:
    """One of several processes (`-n 2`) ignores Ctrl-C, and so would what it starts."""
    if config.getoption("--without-native"):
        native.IS_HERE = False  # in the processes of the tests themselves, not in what they start
    if config.getoption("--without-twins"):
        pfspark.execute.TWINS = {}  # here too
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if collection_path == Path(__file__).parent / "bench" and not config.getoption("--bench") else None


@pytest.hookimpl(trylast=True)  # behind `-k` and `-m`: who asks for one of them gets it on any day
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What plays whole lakes takes long: it is left out unless asked for, and of tests in turn, of a file or of what they name
    together, all but one are."""
    if config.getoption("--lakes"):
        return
    in_turn: dict[object, list[pytest.Item]] = {}
    for item in items:
        if mark := item.get_closest_marker("in_turn"):
            in_turn.setdefault(mark.args or item.path, []).append(item)
    tried = {some[config.getoption("--turn") % len(some)] for some in in_turn.values()}
    others = {item for some in in_turn.values() for item in some} - tried
    left_out = [item for item in items if item in others or item.get_closest_marker("lakes")]
    config.hook.pytest_deselected(items=left_out)
    tests = Counter(item.path for item in items)
    items[:] = sorted((item for item in items if item not in left_out), key=partial(_turn, tests=tests))


def _turn(item: pytest.Item, tests: Mapping[Path, int]) -> tuple[object, ...]:
    """When its file comes: those that are played together first, then those that take long, then those of many tests."""
    together = hasattr(getattr(item, "module", None), "organizations")
    return not together, item.path.stem not in LONG, -tests[item.path], item.path


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Of several processes (`-n 2`) one tests what is played once for all; the others take the files one by one."""
    from xdist.scheduler import LoadScopeScheduling

    config.option.loadscopereorder = False  # they are in order: see `_turn`

    @cache
    def scope(file: str) -> str:
        return performance.__name__ if "def organizations(" in (config.rootpath / file).read_text() else file

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return scope(nodeid.partition("::")[0])

    return ByFile(config, log)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = open_session(lasting=True)
    yield session
    session.stop()
