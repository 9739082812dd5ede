"""The world after a round in a table of its own, for lakes that are no folder of this machine: see `bases`.

A row is a piece of one of the world's tables, as a stream of Arrow, so whatever columns those have this table has the same. It
is written anew at once, in one commit, and what `bases` says of a base holds of it: it decides nothing, and counts only as long
as the ledger's last row is the one after which it was left.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from operator import itemgetter
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F

from pfspark.edge.delta.damage import REFUSALS
from pfspark.edge.delta.stored import Stored
from pfspark.edge.world.bases import ABOUT, UNREADABLE, Base, in_a_stream, stamp
from pfspark.errors import LakeError
from pfspark.rows import struct

if TYPE_CHECKING:
    from pfspark.edge.delta.ledger import Row

NAME = "base"
SCHEMA = struct("digest string, name string, piece int, rows binary")
"""The digest of the ledger's row; a table of the world, or what is said of the whole; which of its pieces; its rows."""
PIECE = 200_000
"""Rows of a piece: some megabytes, and no row of a table may have more than two gigabytes."""


def leave(tables: Stored, base: Base, round: int, digest: str) -> None:
    """Puts a base in the place of the one that is there; where nothing can be written, or may be, there is none."""
    about = {**stamp(round, digest), "cursor": base.cursor, "directory": dict(base.directory)}
    pieces = [(ABOUT, 0, json.dumps(about).encode()), *_pieces(base)]
    names, places, rows = zip(*pieces, strict=True)
    table = pa.table({"digest": [digest] * len(pieces), "name": names, "piece": pa.array(places, pa.int32()), "rows": rows})
    with suppress(LakeError, *REFUSALS):  # in a schema others may have a table of that name: its columns are not these
        tables.replace(NAME, tables.spark.createDataFrame(table, SCHEMA))


def _pieces(base: Base) -> Iterator[tuple[str, int, bytes]]:
    for name, table in base.tables.items():
        for place, first in enumerate(range(0, max(table.num_rows, 1), PIECE)):
            yield name, place, in_a_stream(table.slice(first, PIECE))


def find(tables: Stored, row: Row) -> Base | None:
    """The base that was left after that row of the ledger, if one was."""
    with suppress(LakeError, *REFUSALS, *UNREADABLE):
        pieces = defaultdict(list)
        found = tables.stored(NAME).where(F.col("digest") == row.digest).toArrow()
        for piece in sorted(found.to_pylist(), key=itemgetter("name", "piece")):
            pieces[piece["name"]].append(piece["rows"])
        about = json.loads(b"".join(pieces.pop(ABOUT, [b"{}"])))
        if any(about.get(name) != value for name, value in stamp(row.round, row.digest).items()):
            return None
        streams = {name: [pa.ipc.open_stream(rows).read_all() for rows in some] for name, some in pieces.items()}
        return Base({name: pa.concat_tables(some) for name, some in streams.items()}, about["cursor"], about["directory"])
    return None


def drop(tables: Stored) -> None:
    """Takes away the base that is there, if one is."""
    if _is_there(tables):
        tables.delete(NAME, "true")


def tidy(tables: Stored) -> None:
    """Removes the files of bases that are older than the history of a table reaches; where there is no such table, nothing."""
    if tables.folder is None and _is_there(tables):
        tables.tidy(NAME)


def _is_there(tables: Stored) -> bool:
    """Whether there is such a table; one of that name that others have in the schema is none."""
    with suppress(LakeError, *REFUSALS):
        return tables.stored(NAME).columns == SCHEMA.names
    return False
