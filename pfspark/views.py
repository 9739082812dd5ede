"""What a round reads: of views by folder the rows of the folders that it concerns, of mail what is due; the others whole.

Of changes and edits, of which there may be many, steps pick the rows that they need.

A round concerns a folder where mail about it is due, an entry of the agenda, or an edit. Whatever changes the hierarchy of an
organization concerns all its folders, for a tree is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from pfspark.keyed import distinct, filtered, having, lacking, named
from pfspark.keys import FOLDER
from pfspark.words import HIERARCHY, HIERARCHY_ACTIONS, Flag, MessageType

BY_FOLDER = ("tree", "folders", "lists", "replicas", "state", "array", "agenda", "lives")
"""The views that are read by folder."""
SPEAKING = ("replicas", "state")
"""The views by which a store gives numbers to what it says by itself: of these the hierarchy is always read."""
OF_HIERARCHY = (str(MessageType.HIERARCHY), str(MessageType.HIERARCHY_RESPONSE))

Tables = Mapping[str, pa.Table]


def due(table: pa.Table, clock: pa.Table, column: str = "due") -> pa.Table:
    """The rows whose time is not after that of their organization, or is none; of organizations not in `clock` no row."""
    nows = pc.take(clock["now"], pc.index_in(table["org"], value_set=clock["org"].combine_chunks()))
    has_come = pc.or_kleene(pc.is_null(table[column]), pc.less_equal(table[column], nows.cast(table[column].type)))
    return filtered(table, pc.fill_null(pc.and_kleene(pc.is_valid(nows), has_come), False))


@dataclass(frozen=True)
class Concern:
    """What a round concerns: folders (org, folder), and organizations as a whole."""

    clock: pa.Table
    folders: pa.Table
    whole: pa.Table

    @classmethod
    def of(cls, tables: Tables, clock: pa.Table) -> Concern:
        """What is due by the clock: mail, the agenda, edits."""
        mail, agenda = (due(tables[name], clock) for name in ("mail", "agenda"))
        edits = due(tables["edits"], clock, "at")
        news = mail.filter(pc.is_in(mail["type"], pa.array(OF_HIERARCHY)))
        on_folders = edits.filter(pc.is_in(edits["action"], pa.array(map(str, HIERARCHY_ACTIONS))))
        whole = [each.select(["org"]) for each in (news, answers_to_leavers(mail), on_folders)]
        made = having(tables["changes"], named(edits["org"], edits["folder"]), ["org", "edit_id"])
        here = [each.select(list(FOLDER)) for each in (mail, agenda, edits)]
        of_edits = made.select(["org", "object"]).rename_columns(list(FOLDER))
        folders, orgs = pa.concat_tables([*here, of_edits]), pa.concat_tables(whole)
        return cls(clock, distinct(folders, FOLDER), distinct(orgs, ["org"]))

    def and_all_of(self, orgs: pa.Table) -> Concern:
        """The same, and those organizations as a whole."""
        return replace(self, whole=pa.concat_tables([self.whole, orgs.select(["org"])]))

    def read(self, name: str, table: pa.Table) -> pa.Table:
        """The rows of a view that concern it."""
        if name not in BY_FOLDER:
            return due(table, self.clock) if name == "mail" else table
        rest = lacking(table, self.whole, ["org"])
        folders = pa.concat_tables([self.folders, self._hierarchies]) if name in SPEAKING else self.folders
        return pa.concat_tables([having(table, self.whole, ["org"]), having(rest, folders, FOLDER)])

    @property
    def _hierarchies(self) -> pa.Table:
        """The hierarchy of each organization that plays: at any time a leaver may speak in it."""
        folder = pa.repeat(pa.scalar(HIERARCHY), self.clock.num_rows)
        return self.clock.select(["org"]).append_column("folder", folder)


def answers_to_leavers(mail: pa.Table) -> pa.Table:
    """The messages after which a leaver may say that it is gone (F62)."""
    flags = mail["flags"].combine_chunks()
    flagged = pc.list_parent_indices(flags).filter(pc.equal(pc.list_flatten(flags), str(Flag.DELETE_PENDING)))
    return mail.take(flagged.unique())
