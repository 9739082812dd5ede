"""What changed in organizations between two moments: trees, lists, standings, numbers held, holes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.ask.stores import Stores
from pfspark.keys import HERE, ORIGIN_HERE
from pfspark.printed import Line
from pfspark.rules import state
from pfspark.words import REPLICA, WHOLE

VIEWS = ("tree", "lists", "replicas", "state", "array")
"""The views of a world that are compared."""
WHAT = ("tree", "list", "standing", "numbers", "holes")
"""What can be told to have changed."""

Views = Mapping[str, DataFrame]
Here = tuple[str, str, str]
"""An organization, a store and a folder."""


def changed(before: Views, after: Views) -> DataFrame:
    """One row for each thing that a store sees, has or lacks otherwise: org, store, folder, `what`, `name`, `before`, `after`.

    `what` is `tree` (`name`: the property), `list` (the replica), `standing` of the store's own replica, `numbers` (`after`:
    those that came, `before`: those that went), `holes` (`after`: opened, `before`: closed). What is alike has no row.
    """
    # Lists are compared as they are seen, and what whole objects were merged by nobody has set.
    is_set = ~(F.col("property").startswith(REPLICA) | F.col("property").startswith(WHOLE))
    properties = [world["tree"].where(is_set) for world in (before, after)]
    held = [state.contents_of(world["state"], replicas=world["replicas"]) for world in (before, after)]
    parts = (
        _unlike("tree", *properties, name="property", value="value"),
        _unlike("list", before["lists"], after["lists"], name="peer", value="listing"),
        _unlike("standing", before["replicas"], after["replicas"], name=None, value="standing"),
        _sets("numbers", *held),
        _sets("holes", before["array"], after["array"]),
    )
    return reduce(lambda some, more: some.unionByName(more), parts)


def called(folders: Iterable[Here], moments: Sequence[Mapping[str, Stores]]) -> dict[Here, Line]:
    """How lines name those folders: as the first of the moments does in which the store has heard of one, and with its `id` where
    two of them have one path, as one that was deleted and one that was made in its place.
    """
    found = {}
    for org, store, folder in folders:
        known = [moment[org] for moment in moments if org in moment]
        stores = next((each for each in known if folder in each.tree[store]), known[0])
        found[org, store, folder] = stores.called(store, folder)
    alike = Counter((org, store, name["folder"]) for (org, store, _), name in found.items())
    return {
        (org, store, folder): {**name, "id": folder} if alike[org, store, name["folder"]] > 1 else name
        for (org, store, folder), name in found.items()
    }


def _unlike(what: str, before: DataFrame, after: DataFrame, *, name: str | None, value: str) -> DataFrame:
    """What has another value, or has none any more, or had none yet."""
    named = F.col(name) if name else F.lit("")
    one, other = (
        rows.select(*HERE, named.alias("name"), F.col(value).alias(side)) for rows, side in ((before, "before"), (after, "after"))
    )
    both = one.join(other, [*HERE, "name"], "full").where(~F.col("before").eqNullSafe(F.col("after")))
    return both.select(*HERE, F.lit(what).alias("what"), F.nullif("name", F.lit("")).alias("name"), "before", "after")


def _sets(what: str, before: DataFrame, after: DataFrame) -> DataFrame:
    """The numbers that are in one set and not in the other."""
    gone = cnset.to_text(cnset.subtract(before, after, ORIGIN_HERE), HERE, "before")
    came = cnset.to_text(cnset.subtract(after, before, ORIGIN_HERE), HERE, "after")
    both = gone.join(came, list(HERE), "full")
    return both.select(*HERE, F.lit(what).alias("what"), F.lit(None).cast("string").alias("name"), "before", "after")
