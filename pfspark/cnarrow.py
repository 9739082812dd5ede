"""Sets of change numbers as Arrow tables: what `cnset` says of frames, for ranges that are here.

`tests/test_cnarrow.py` holds each beside what Spark makes of the same ranges.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pfspark.keyed import Whole, numbered, with_columns


def coverage(keys: Sequence[str], *layers: pa.Table) -> pa.Table:
    """The number line of each key, cut wherever a range of any layer begins or ends, as `cnset.coverage` has it.

    >>> held = pa.table({"origin": ["PFS1"], "cn_min": [1], "cn_max": [11], "held": [1]})
    >>> told = pa.table({"origin": ["PFS1"], "cn_min": [1], "cn_max": [17], "told": [1]})
    >>> coverage(["origin"], held, told).to_pylist()[1]
    {'origin': 'PFS1', 'cn_min': 12, 'cn_max': 17, 'held': 0, 'told': 1}
    """
    ranges = pa.concat_tables(layers, promote_options="permissive")
    measures = [name for name in ranges.column_names if name not in (*keys, "cn_min", "cn_max")]
    line, first_of = numbered(ranges, keys)
    # A range covers the numbers after `cn_min - 1` up to `cn_max`: so no point lies beyond 2^63 - 1.
    points = np.concatenate([whole(ranges["cn_min"]) - 1, whole(ranges["cn_max"])])
    lines = np.concatenate([line, line])
    order = np.lexsort((points, lines))
    points, lines = points[order], lines[order]
    last = np.append((points[1:] != points[:-1]) | (lines[1:] != lines[:-1]), True) if len(points) else np.empty(0, bool)
    sums = {}
    for name in measures:
        amounts = whole(pc.fill_null(ranges[name].cast(pa.int64()), 0))
        sums[name] = np.cumsum(np.concatenate([amounts, -amounts])[order])[last]  # all that happens at one point settles together
    points, lines = points[last], lines[last]
    covered = np.zeros(len(points), bool)
    for each in sums.values():
        covered |= each != 0
    [here] = np.nonzero(covered)  # nothing covers what lies after the last point of a line
    pieces = ranges.select(list(keys)).take(pa.array(first_of[lines[here]]))
    ends = {"cn_min": points[here] + 1, "cn_max": points[here + 1]}
    for name, column in {**ends, **{name: each[here] for name, each in sums.items()}}.items():
        pieces = pieces.append_column(name, pa.array(column, pa.int64()))
    return pieces


def join_up(pieces: pa.Table, keys: Sequence[str], alike: Sequence[str] = ()) -> pa.Table:
    """Neighbouring pieces of a line merged where they are alike in the columns `alike`; pieces must be disjoint.

    >>> pieces = pa.table({"origin": ["PFS1"] * 3, "cn_min": [12, 14, 17], "cn_max": [13, 16, 17], "heard": [5, 5, 9]})
    >>> join_up(pieces, ["origin"], ["heard"]).to_pylist()
    [{'origin': 'PFS1', 'cn_min': 12, 'cn_max': 16, 'heard': 5}, {'origin': 'PFS1', 'cn_min': 17, 'cn_max': 17, 'heard': 9}]
    """
    line, _ = numbered(pieces, (*keys, *alike))
    order = np.lexsort((whole(pieces["cn_min"]), line))
    pieces, line = pieces.take(pa.array(order)), line[order]
    first, last = whole(pieces["cn_min"]), whole(pieces["cn_max"])
    begins = np.ones(len(line), bool)
    begins[1:] = (line[1:] != line[:-1]) | (first[1:] != last[:-1] + 1)
    ends = np.append(begins[1:], True)[: len(begins)]
    merged = pieces.filter(pa.array(begins)).select([*keys, "cn_min", *alike])
    place = len(keys) + 1
    return merged.add_column(place, "cn_max", pa.array(last[ends], pa.int64()))


def canonical(ranges: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Sets in their shortest form: each number covered once, neighbours merged (F21)."""
    return join_up(coverage(keys, _layer(ranges, keys, a=1)), keys)


def subtract(left: pa.Table, right: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Numbers of `left` that are not in `right`, canonical (R88).

    >>> told = pa.table({"origin": ["PFS1", "PFS2"], "cn_min": [1, 1], "cn_max": [17, 28]})
    >>> held = pa.table({"origin": ["PFS1", "PFS1", "PFS2"], "cn_min": [1, 17, 1], "cn_max": [11, 17, 20]})
    >>> subtract(told, held, ["origin"]).to_pylist()
    [{'origin': 'PFS1', 'cn_min': 12, 'cn_max': 16}, {'origin': 'PFS2', 'cn_min': 21, 'cn_max': 28}]
    """
    both = coverage(keys, _layer(left, keys, a=1, b=0), _layer(right, keys, a=0, b=1))
    return join_up(both.filter((pc.field("a") > 0) & (pc.field("b") == 0)), keys)


def intersect(left: pa.Table, right: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Numbers in both sets, canonical."""
    both = coverage(keys, _layer(left, keys, a=1, b=0), _layer(right, keys, a=0, b=1))
    return join_up(both.filter((pc.field("a") > 0) & (pc.field("b") > 0)), keys)


def within(rows: pa.Table, ranges: pa.Table, keys: Sequence[str]) -> pa.Table:
    """The rows whose `cn` lies in a range of the same key, with all their columns and those of the range but its ends.

    >>> changes = pa.table({"origin": ["PFS1"] * 3, "cn": [7, 8, 9]})
    >>> ranges = pa.table({"origin": ["PFS1"] * 2, "cn_min": [1, 8], "cn_max": [8, 8], "asker": ["PFS2", "PFS3"]})
    >>> within(changes, ranges, ["origin"]).to_pylist()[1:]
    [{'origin': 'PFS1', 'cn': 8, 'asker': 'PFS2'}, {'origin': 'PFS1', 'cn': 8, 'asker': 'PFS3'}]
    """
    place, of = _meeting(rows, ranges, keys)
    theirs = ranges.drop_columns([*keys, "cn_min", "cn_max"]).take(pa.array(of))
    return with_columns(rows.take(pa.array(place)), **{name: theirs[name] for name in theirs.column_names})


def without(rows: pa.Table, ranges: pa.Table, keys: Sequence[str]) -> pa.Table:
    """The rows whose `cn` lies in no range of the same key, with all their columns; the ranges may overlap."""
    place, _ = _meeting(rows, ranges, keys)
    stays = np.ones(rows.num_rows, bool)
    stays[place] = False
    return rows.filter(pa.array(stays))


def _meeting(rows: pa.Table, ranges: pa.Table, keys: Sequence[str]) -> tuple[Whole, Whole]:
    """The places of rows and of ranges that meet, in the order of the ranges and, within one, of the numbers.

    Numbers lie along one line, those of each key after those of the key before; of a range its ends are looked up there.
    """
    number = whole(rows["cn"])
    line, _ = numbered(pa.concat_tables([rows.select(list(keys)), ranges.select(list(keys))]), keys)
    there = np.unique(number)
    along = line[: len(number)] * (len(there) + 1) + np.searchsorted(there, number)
    order = np.argsort(along)
    before = line[len(number) :] * (len(there) + 1)
    first = before + np.searchsorted(there, whole(ranges["cn_min"]), "left")
    last = before + np.searchsorted(there, whole(ranges["cn_max"]), "right")
    start, stop = (np.searchsorted(along[order], each) for each in (first, last))
    many = np.maximum(stop - start, 0)
    of = np.repeat(np.arange(len(many)), many)
    nth = np.arange(len(of)) - np.repeat(np.cumsum(many) - many, many)
    return order[start[of] + nth], of


def _layer(ranges: pa.Table, keys: Sequence[str], **measures: int) -> pa.Table:
    layer = ranges.select([*keys, "cn_min", "cn_max"])
    for name, amount in measures.items():
        layer = layer.append_column(name, pa.repeat(pa.scalar(amount, pa.int64()), layer.num_rows))
    return layer


def whole(column: pa.ChunkedArray) -> Whole:
    """The whole numbers of a column in which nothing is null."""
    numbers: Whole = column.to_numpy().astype(np.int64, copy=False)
    return numbers
