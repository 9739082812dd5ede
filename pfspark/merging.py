"""Trees of folders drawn anew of all changes of the hierarchy that stores hold; a round merges new ones into what there was."""

from __future__ import annotations

from functools import cache

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pfspark.frame import rule, source
from pfspark.keyed import anti_join, distinct, semi_join
from pfspark.keys import STORE
from pfspark.rules import hierarchy, items, state
from pfspark.rules.frames import once
from pfspark.words import HIERARCHY, WHOLE
from pfspark.world import Trees

OF_NONE = "no tree"
"""What the tree is called that nothing has been merged into."""


def trees(changes: DataFrame, *, table: DataFrame, replicas: DataFrame, whole: DataFrame) -> Trees:
    """What stores see by all that they hold (`table`, canonical); `whole`: the organizations that merge whole objects."""
    held = state.contents_of(table, replicas=replicas)
    tree = hierarchy.merge(source(OF_NONE), once(items.seen(_of_hierarchy(changes), applied=held)), whole=whole)
    folders = hierarchy.folders(tree)
    return Trees(tree, folders, hierarchy.lists(tree, folders=folders))


@cache
def anew() -> dict[str, DataFrame]:
    """The trees, drawn of what is named: `changes`, `state`, `replicas`, and `OF_NONE`; they merge as the `clock` says."""
    whole = hierarchy.merging_whole(source("clock"))
    return vars(trees(source("changes"), table=source("state"), replicas=source("replicas"), whole=whole))


def merged_otherwise(tree: pa.Table, clock: pa.Table) -> pa.Table:
    """The rows of the clock of organizations in which a store's tree was not merged as they say: one of whole objects knows for
    each folder which won."""
    by_object = pc.equal(clock["hierarchy_merge"], "object")
    whole = distinct(tree.filter(pc.equal(tree["property"], WHOLE)), STORE)
    others = anti_join(distinct(tree, STORE), whole, STORE)
    wrong = [semi_join(clock.filter(by_object), others, ["org"]), semi_join(clock.filter(pc.invert(by_object)), whole, ["org"])]
    return pa.concat_tables(wrong)


@rule(like="changes", inline=True)
def _of_hierarchy(changes: DataFrame) -> DataFrame:
    return changes.where(F.col("folder") == HIERARCHY)
