"""Rows in files: the same rows, wherever they lie, and nothing copied that stays."""

from __future__ import annotations

import gc

import pyarrow as pa
import pytest

from pfspark import mapped
from pfspark.keyed import anti_join


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is larger than 4,000 bytes is large, and batches are short."""
    monkeypatch.setattr(mapped, "HELD", 4000)
    monkeypatch.setattr(mapped, "BATCH", 50)


def table(first: int, rows: int) -> pa.Table:
    numbers = range(first, first + rows)
    return pa.table({"org": [f"o{n}" for n in numbers], "n": numbers, "parts": [[{"cn": n}] for n in numbers]})


def numbers(rows: pa.Table) -> list[int]:
    assert rows["parts"].to_pylist() == [[{"cn": n}] for n in rows["n"].to_pylist()]
    return sorted(rows["n"].to_pylist())


def in_files(rows: pa.Table) -> int:
    return sum(batch.num_rows for batch, file in mapped.files_of(rows) if file)


def test_what_is_large_lies_in_a_file() -> None:
    """What is added waits in memory until it is large too; what is there stays where it is."""
    assert in_files(mapped.settled(table(0, 10))) == 0
    large = mapped.settled(table(0, 200))
    assert in_files(large) == 200 and numbers(large) == [*range(200)]
    more = mapped.settled(pa.concat_tables([large, table(200, 10)]))
    assert in_files(more) == 200 and numbers(more) == [*range(210)]
    most = mapped.settled(pa.concat_tables([more, table(210, 190)]))
    assert in_files(most) == 400 and numbers(most) == [*range(400)]


def test_of_what_is_replaced_no_more_than_its_batch_is_copied() -> None:
    large = mapped.settled(table(0, 200))
    less = mapped.settled(anti_join(large, pa.table({"org": ["o70"]}), ["org"]))
    assert in_files(less) == 150 and numbers(less) == [*range(70), *range(71, 200)]
    assert anti_join(less, pa.table({"org": ["o70"]}), ["org"]).equals(less)


def test_small_pieces_are_put_together() -> None:
    pieces = pa.concat_tables([table(n, 1) for n in range(mapped.PIECES)])
    assert mapped.settled(pieces)["n"].num_chunks == mapped.PIECES
    one = mapped.settled(pa.concat_tables([pieces, table(mapped.PIECES, 1)]))
    assert one["n"].num_chunks == 1 and numbers(one) == [*range(mapped.PIECES + 1)]


def test_a_file_ends_with_the_last_who_looks_into_it() -> None:
    large = mapped.settled(table(0, 200))
    [file] = {file for _, file in mapped.files_of(large)}
    part = large.slice(60, 1)
    del large
    gc.collect()
    assert file in mapped._MAPPED.values() and numbers(part) == [60]
    del part
    gc.collect()
    assert file not in mapped._MAPPED.values()


def test_where_no_file_can_be_written_rows_stay_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped.tempfile, "tempdir", "/there is no such folder")
    large = mapped.settled(table(0, 200))
    assert in_files(large) == 0 and numbers(large) == [*range(200)]


@pytest.mark.parametrize("pieces", [1, 7, 50])
def test_what_comes_piece_by_piece_lies_in_one_file(pieces: int) -> None:
    """Pieces are put together until a batch of the file is full; what is few stays in memory; the rows are in their order."""
    coming = (batch for n in range(400 // pieces) for batch in table(n * pieces, pieces).to_batches())
    large = mapped.gathered(coming, table(0, 1).schema)
    assert in_files(large) == large.num_rows and len({file for _, file in mapped.files_of(large)}) == 1
    assert large["n"].to_pylist() == [*range(400 // pieces * pieces)]
    assert {batch.num_rows >= mapped.BATCH for batch in large.to_batches()[:-1]} == {True}
    few = mapped.gathered(iter(table(0, 10).to_batches()), table(0, 1).schema)
    assert in_files(few) == 0 and numbers(few) == [*range(10)]


def test_nothing_is_nothing() -> None:
    assert mapped.gathered((), table(0, 0).schema).equals(table(0, 0))
    assert mapped.settled(table(0, 0)).num_rows == 0 and mapped.settled(table(0, 0)).schema == table(0, 0).schema
