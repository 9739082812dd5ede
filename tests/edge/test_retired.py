"""A store that is retired takes part in nothing: nobody waits for it, acts there, or reads what it saw last."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from pfspark import cli
from pfspark.edge.metrics import figures
from pfspark.errors import LakeError, RefusedError, UsageError
from pfspark.lake import Lake

pytestmark = pytest.mark.lakes

DAY = "2026-01-05T"


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """PFS1 is retired; since then PFS2 has made two folders, one beneath the other, and deleted the upper one."""
    with Lake.create(tmp_path_factory.mktemp("lakes") / "lake", spark) as lake:
        lake.organization(profile="modern", start=f"{DAY}00:00:00Z")
        for store in ("PFS1", "PFS2", "PFS3"):
            lake.store(store, "X")
        lake.folder_create("PFS2", "/Sales", ["PFS2"], at=f"{DAY}00:00:00Z")
        lake.run(until_quiet=True)
        lake.store("PFS1", retired=True)
        for folder in ("/New", "/New/Old"):
            lake.folder_create("PFS2", folder, ["PFS2", "PFS3"], at=f"{DAY}02:00:00Z")
        lake.post("PFS2", "/New/Old", b"kept", name="kept", at=f"{DAY}02:00:00Z")
        lake.run(f"{DAY}04:00:00Z")
        lake.folder_delete("PFS2", "/New", at=f"{DAY}04:05:00Z")
        lake.run(f"{DAY}06:00:00Z")
        yield lake


def test_nothing_is_done_there(lake: Lake) -> None:
    with pytest.raises(RefusedError, match="PFS1 is retired: nothing more is done there"):
        lake.folder_create("PFS1", "/X", ["PFS2"], at=f"{DAY}06:00:00Z")
    with pytest.raises(RefusedError, match="PFS1 is retired"):
        lake.folder_create("PFS2", "/X", ["PFS2", "PFS1"], at=f"{DAY}06:00:00Z")
    with pytest.raises(RefusedError, match="PFS1 is retired"):
        lake.replica_add("PFS2", "/Sales", "PFS1", at=f"{DAY}06:00:00Z")
    with pytest.raises(RefusedError, match="PFS1 is retired"):
        lake.resolve("PFS1", "/Sales", "anything", "all")
    with pytest.raises(RefusedError, match=r"PFS1 is retired.*store set PFS1 --not-retired"):
        lake.restore("PFS1", 1)
    with pytest.raises(RefusedError, match="PFS1 is retired"):
        lake.losses("PFS1", 1)  # before anybody is asked whether to lose them
    said = lake.declared()
    assert lake.plan(said, at=f"{DAY}06:00:00Z").rows.get("edits", []) == []  # at PFS1 the others' folders would be made anew
    assert said["stores"]["PFS1"]["retired"] is True


def test_nobody_reads_what_it_saw_last(lake: Lake) -> None:
    """Renamed since, a folder has its old name there alone."""
    lake.folder_rename("PFS2", "/Sales", "Trade", at=f"{DAY}06:05:00Z")
    lake.run(f"{DAY}06:30:00Z")
    assert (
        {line["store"] for line in lake.lines("folders")}
        == {line["store"] for line in lake.lines("referrals")}
        == {"PFS2", "PFS3"}
    )
    with pytest.raises(UsageError, match="the folder '/Sales' is not known; one so called is /Trade now; the nearest"):
        lake.items(folder="/Sales")
    last = lake.status()["round"]
    by_name = [[*lake.diff_lines(f"{DAY}06:00:00Z", last, folder=name)] for name in ("/Sales", "/Trade")]
    assert by_name[0] == by_name[1] and {line["store"] for line in by_name[0] if line["what"] == "tree"} == {"PFS2", "PFS3"}
    lake.folder_rename("PFS2", "/Trade", "Sales", at=f"{DAY}06:35:00Z")
    lake.run(f"{DAY}06:50:00Z")


def test_no_monitor_counts_it(lake: Lake) -> None:
    told = {name: value for name, of, value in figures(lake.answers()) if of == {"org": "main"}}
    assert told["replicas"] == lake.replicas().count() == 3  # the hierarchy at two stores, and /Sales
    later = lake.answers()
    later.at["main"] = later.at["main"].replace(day=6, hour=12)
    old = {name: value for name, of, value in figures(later) if of == {"org": "main"}}["old_beliefs"]
    assert old == 2  # each of the two about the other


def test_what_lay_beneath_a_deleted_folder_comes_back(lake: Lake) -> None:
    lake.folder_recover("PFS2", "/New/Old", at=f"{DAY}06:55:00Z")
    lake.run(f"{DAY}07:00:00Z")
    assert [(row["path"], row["name"]) for row in lake.items("PFS2").collect()] == [("/Old recovered", "kept")]


def test_nobody_waits_for_it(lake: Lake) -> None:
    """Played on by whoever waits, the replica has moved; what PFS1 saw last still lists PFS2, which lacks what it let go of."""
    lake.post("PFS2", "/Sales", b"sold", name="sold", at=f"{DAY}07:30:00Z")
    times = iter(range(20))

    def wait(what: str) -> None:
        assert "PFS1" not in what
        hour, minutes = divmod(5 * next(times), 60)
        lake.round(f"{DAY}{8 + hour:02}:{minutes:02}:00Z")

    lake.replica_move("PFS2", "/Sales", "PFS2", "PFS3", wait, at=f"{DAY}08:00:00Z")
    lake.run(f"{DAY}14:00:00Z")
    seen = {(line["store"], line["path"]): line["replicas"] for line in lake.lines("folders")}
    assert seen["PFS3", "/Sales"] == {"PFS3": "active"}
    lake.run("2026-01-06T06:00:00Z")  # at night PFS2 has erased it
    assert [*lake.why_lines()] == []
    told = {line["store"]: line["cause"] for line in lake.why_lines("sold", folder="/Sales")}
    assert told == {"PFS2": "no_replica", "PFS3": "here"}
    [said] = [line["says"] for line in lake.why_lines("sold", folder="/Sales", store="PFS1")]
    assert said.endswith(" PFS1 is retired; `pfspark store set PFS1 --not-retired` takes it back.")


def test_what_was_not_there_yet_is_told(lake: Lake) -> None:
    lake.organization("later", "modern", start=f"{DAY}00:00:00Z")
    for asked in (lambda: lake.report(1, org="later"), lambda: lake.why_lines("A:1", folder="1-1", as_of=1, org="later")):
        with pytest.raises(LakeError, match="the organization 'later' was not there yet after round 1"):
            asked()


def test_who_is_retired_with_replicas_is_told_of_them(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    assert lake.needed("PFS1", org="main") is None
    assert cli.run(("store", "set", "PFS3", "--retired", "--org", "main", "--lake", lake.where)) == 0
    assert "PFS3 is retired although it has 1 replica and 0 edits waiting" in capsys.readouterr().err
    with pytest.raises(RefusedError, match=r"PFS3 is retired with 1 replica,.*store set PFS3 --not-retired"):
        lake.drain("PFS3", org="main")
    assert lake.drain("PFS1", org="main")["replicas"] == 0
    assert cli.run(("referrals", "--store", "PFS1", "--org", "main", "--lake", lake.where)) == 0
    assert capsys.readouterr().err == "no folders at PFS1\n"
