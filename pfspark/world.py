"""What a round is given, and what it gives: named groups of frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Trees:
    """What stores see of the tree: properties, folders, replica lists."""

    tree: DataFrame
    folders: DataFrame
    lists: DataFrame


@dataclass(frozen=True)
class World:
    """What a round is given: the directory, the edits to come, and every store's knowledge (`tables.EVERY`)."""

    stores: DataFrame
    links: DataFrame
    conditions: DataFrame
    faults: DataFrame
    edits: DataFrame
    taken: DataFrame
    changes: DataFrame
    mail: DataFrame
    letters: DataFrame
    tree: DataFrame
    folders: DataFrame
    lists: DataFrame
    replicas: DataFrame
    state: DataFrame
    array: DataFrame
    agenda: DataFrame
    contacts: DataFrame
    lives: DataFrame

    @property
    def trees(self) -> Trees:
        """What stores see of the tree before the round."""
        return Trees(self.tree, self.folders, self.lists)


@dataclass(frozen=True)
class Results:
    """What a round adds: new rows of tables, and rows that replace those of the same key in the views (`tables.REPLACED`).

    A round with `violations` may not count.
    """

    changes: DataFrame
    messages: DataFrame
    receipts: DataFrame
    state: DataFrame
    replicas: DataFrame
    backfill: DataFrame
    agenda: DataFrame
    tree: DataFrame
    folders: DataFrame
    lists: DataFrame
    array: DataFrame
    dirty: DataFrame
    contacts: DataFrame
    lives: DataFrame
    violations: DataFrame
