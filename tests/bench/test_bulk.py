"""Many items posted at once at one store and held at two others, from the first row of an edit to the last of a receipt.

pytest --bench -s tests/bench/test_bulk.py [-k million] [--bench-items 10000000] [--bench-bytes 1500000]

All go into one folder. Beside it PostgreSQL's logical replication of as many rows from one server to two, where `initdb` is on
PATH. Of items of 1.5 MB, by option, a message takes two; PostgreSQL has none of those.

What is not moved here: no body is, as all stores of a lake share the table `content`; PostgreSQL sends rows of 1 KB.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pfspark.lake import Lake
from pfspark.settings import MAIN
from pfspark.words import HIERARCHY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BEGINS = datetime(2026, 1, 5, tzinfo=UTC)
STORES = ("PFS1", "PFS2", "PFS3")
ROW = 1000
"""Bytes of an item, unless told otherwise, and of a row of PostgreSQL's."""
DISK = 1_000_000
"""Rows for which three servers of PostgreSQL have room."""


@pytest.mark.parametrize("items", [100_000, 300_000, 1_000_000, 10_000_000], ids=["100k", "300k", "million", "10 million"])
def test_items_posted_at_once(spark: SparkSession, tmp_path: Path, items: int, pytestconfig: pytest.Config) -> None:
    """Posted at one of three stores: the rounds until all hold them; as many rows by PostgreSQL to two servers."""
    if items > pytestconfig.getoption("--bench-items"):
        pytest.skip(f"{items:,} items are more than --bench-items")
    with ExitStack() as open_:
        lake = open_.enter_context(Lake.create(tmp_path / "lake", spark=spark))
        post(spark, tmp_path / "lake", empty_folder(lake), items, pytestconfig.getoption("--bench-bytes"))
        began = time.perf_counter()
        for nth in range(2, 6):
            lake.round(now=BEGINS + timedelta(hours=nth))
            said(f"round {nth - 1}", time.perf_counter() - began)
            if held(lake) == dict.fromkeys(STORES, items):
                break
        seconds = time.perf_counter() - began
        assert held(lake) == dict.fromkeys(STORES, items)
        said(f"{items:,} items held at three stores", seconds, 3 * items)
        said_of_memory(spark)
    if items > DISK or pytestconfig.getoption("--bench-bytes") != ROW:
        pytest.skip(f"PostgreSQL is seen beside items of {ROW:,} bytes, and of them {DISK:,} at most: more would fill the disk")
    if shutil.which("initdb") is None:
        pytest.skip("PostgreSQL's initdb is not on PATH: nothing to be seen beside")
    said(f"{items:,} rows in three servers of PostgreSQL", by_postgres(tmp_path, items), 3 * items)


def said(what: str, seconds: float, rows: int = 0) -> None:
    """A figure."""
    print(f"\n{what}: {seconds:.1f} s" + (f", {rows / seconds:,.0f} row-replicas/s" if rows else ""))


def said_of_memory(spark: SparkSession) -> None:
    """The most memory that Python and Java have had until now, and how much of it was none of files."""
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    for name, process in {"Python": os.getpid(), "Java": gateway.proc.pid}.items():
        told = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
        most, own = (int(told[key].split()[0]) // 1024 for key in ("VmHWM", "RssAnon"))
        print(f"{name}: {most:,} MB at most; now {own:,} MB of its own")


def empty_folder(lake: Lake) -> str:
    """The id of a folder with a replica at each store, before anything is in it."""
    lake.organization(profile="modern", start=BEGINS)
    for name in STORES:
        lake.store(name, site="Redmond")
    lake.folder_create(STORES[0], "/Sales", replicas=list(STORES), at=BEGINS)
    for minutes in range(0, 60, 15):
        lake.round(now=BEGINS + timedelta(minutes=minutes))
    (found,) = {str(line["id"]) for line in lake.folder_lines("/Sales")}
    return found


def post(spark: SparkSession, lake: Path, folder: str, items: int, size: int) -> None:
    """Edits of anybody's, written into the table that is open to everybody."""
    rows = spark.range(items).selectExpr(
        f"'{MAIN}' as org", "concat('post ', id) as edit_id", "'PFS1' as store", "timestamp'2026-01-05 01:00:00' as at",
        "id as place", "'post' as action", f"'{folder}' as folder", "concat('item ', id) as name", f"{size}L as size",
        "current_timestamp() as written",
    )  # fmt: skip
    rows.write.format("delta").mode("append").save(str(lake / "edits"))


def held(lake: Lake) -> dict[str, int]:
    """How many items each store holds, by its ranges."""
    found = dict.fromkeys(STORES, 0)
    for row in lake.ranges().where(f"entry = 'applied' and folder != '{HIERARCHY}'").toLocalIterator():
        found[row["store"]] += row["cn_max"] - row["cn_min"] + 1
    return found


def by_postgres(place: Path, rows: int) -> float:
    """Seconds in which rows that are inserted at one server have come to two others by logical replication."""
    text = "x" * (ROW - 30)
    with ExitStack() as running:
        source, *others = [running.enter_context(server(place / f"postgres {nth}")) for nth in range(3)]
        for port in (source, *others):
            sql(port, "create table item (id bigint primary key, name text, body text)")
        sql(source, "create publication all_items for table item")
        for nth, port in enumerate(others):
            link = f"host=127.0.0.1 port={source} dbname=postgres user=postgres"
            sql(port, f"create subscription s{nth} connection '{link}' publication all_items with (copy_data = false)")
        began = time.perf_counter()
        sql(source, f"insert into item select n, 'item ' || n, '{text}' from generate_series(1, {rows}) n")
        while any(int(sql(port, "select count(*) from item")) < rows for port in others):
            time.sleep(0.1)
        return time.perf_counter() - began


@contextmanager
def server(place: Path) -> Iterator[int]:
    """A PostgreSQL of its own, with nothing set but what logical replication needs, until it is let go: its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place.mkdir()
    shutil.chown(place, *_owner())
    for above in place.parents:
        if above.stat().st_uid == os.getuid() and above != Path("/"):
            above.chmod(above.stat().st_mode | 0o011)
    _run("initdb", "-D", str(place / "data"), "-U", "postgres", "-A", "trust")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c wal_level=logical -k ''"
    _run("pg_ctl", "-D", str(place / "data"), "-w", "-l", str(place / "log"), "-o", options, "start")
    try:
        yield port
    finally:
        _run("pg_ctl", "-D", str(place / "data"), "-w", "-m", "immediate", "stop")


def sql(port: int, statement: str) -> str:
    """What the server says to it."""
    return _run("psql", "-h", "127.0.0.1", "-p", str(port), "-U", "postgres", "-At", "-c", statement)


def _owner() -> tuple[str | int, str | int]:
    return ("postgres", "postgres") if os.getuid() == 0 else (os.getuid(), os.getgid())


def _run(*words: str) -> str:
    """PostgreSQL refuses to be run by root."""
    by: Sequence[str] = ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups") if os.getuid() == 0 else ()
    done = subprocess.run([*by, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd="/")
    assert done.returncode == 0, done.stdout
    return done.stdout.strip()
