"""What a round reads: of views by folder the rows of the folders that it concerns, of mail what is due; the others whole.

Of changes and edits, of which there may be many, steps pick the rows that they need.

A round concerns a folder where mail about it is due, an entry of the agenda, or an edit. Where the hierarchy may change, it
concerns all that lies beneath the folders that may move or die, for with its parent a folder dies; and all that lies above any
folder that it reads, so that the trees which it draws of these are the trees that there are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from pfspark import branches
from pfspark.keyed import ByName, anti_join, distinct, filtered, semi_join
from pfspark.keys import FOLDER, MESSAGE
from pfspark.references import named
from pfspark.words import HIERARCHY, HIERARCHY_ACTIONS, Flag, MessageType

BY_FOLDER = ("tree", "folders", "lists", "replicas", "state", "array", "agenda", "lives")
"""The views that are read by folder."""
SPEAKING = ("replicas", "state")
"""The views by which a store gives numbers to what it says by itself: of these the hierarchy of each organization that plays is
always read, for at any time a leaver may speak in it."""
OF_HIERARCHY = (str(MessageType.HIERARCHY), str(MessageType.HIERARCHY_RESPONSE))


def due(table: pa.Table, clock: pa.Table, column: str = "due") -> pa.Table:
    """The rows whose time is not after that of their organization, or is none; of organizations not in `clock` no row."""
    nows = pc.take(clock["now"], pc.index_in(table["org"], value_set=clock["org"].combine_chunks()))
    has_come = pc.or_kleene(pc.is_null(table[column]), pc.less_equal(table[column], nows.cast(table[column].type)))
    return filtered(table, pc.fill_null(pc.and_kleene(pc.is_valid(nows), has_come), False))


@dataclass(frozen=True)
class Concern:
    """What a round reads: the `folders` (org, folder) and the `messages` (org, message_id) that are due; `trees`, the
    organizations (org) whose trees may change, within these folders; and `whole`, those (org) that are read entirely."""

    clock: pa.Table
    folders: pa.Table
    messages: pa.Table
    trees: pa.Table
    whole: pa.Table

    @classmethod
    def of(cls, tables: ByName, clock: pa.Table) -> Concern:
        """What is due by the clock: mail, the agenda, edits."""
        mail, agenda = (due(tables[name], clock) for name in ("mail", "agenda"))
        edits = due(tables["edits"], clock, "at")
        here = [each.select(list(FOLDER)) for each in (mail, agenda, edits)]
        folders = _with_made(pa.concat_tables(here), tables["changes"])
        news = mail.filter(pc.is_in(mail["type"], pa.array(OF_HIERARCHY)))
        on_folders = edits.filter(pc.is_in(edits["action"], pa.array(map(str, HIERARCHY_ACTIONS))))
        changing = [each.select(["org"]) for each in (news, answers_to_leavers(mail), on_folders)]
        trees = distinct(pa.concat_tables(changing), ["org"])
        if trees.num_rows:
            folders = _with_branches(folders, trees, news, on_folders, tables)
        return cls(clock, distinct(folders, FOLDER), distinct(mail, MESSAGE), trees, trees.slice(0, 0))

    def and_all_of(self, orgs: pa.Table) -> Concern:
        """The same, and those organizations as a whole."""
        return replace(self, whole=pa.concat_tables([self.whole, orgs.select(["org"])]))

    def unforeseen(self, retold: pa.Table, tree: pa.Table) -> pa.Table:
        """Of the rows of a tree that a round has `retold` those of which it was not foreseen: of an organization whose trees it
        did not draw whole enough, or of a folder of the `tree` before that it has not read."""
        elsewhere = anti_join(retold, pa.concat_tables([self.trees, self.whole]), ["org"])
        unread = anti_join(anti_join(retold, self.whole, ["org"]), self.folders, FOLDER)
        return pa.concat_tables([elsewhere, semi_join(unread, tree, FOLDER)])

    def read(self, name: str, table: pa.Table) -> pa.Table:
        """The rows of a view that concern it."""
        if name == "letters":
            return semi_join(table, self.messages, MESSAGE)
        if name not in BY_FOLDER:
            return due(table, self.clock) if name == "mail" else table
        rest = anti_join(table, self.whole, ["org"])
        folders = pa.concat_tables([self.folders, _hierarchies(self.clock)]) if name in SPEAKING else self.folders
        return pa.concat_tables([semi_join(table, self.whole, ["org"]), semi_join(rest, folders, FOLDER)])


def _with_made(folders: pa.Table, changes: pa.Table) -> pa.Table:
    """With the folders that edits became which are named there."""
    made = semi_join(changes, named(folders["org"], folders["folder"]), ["org", "edit_id"])
    return pa.concat_tables([folders, made.select(["org", "object"]).rename_columns(list(FOLDER))])


def _with_branches(folders: pa.Table, trees: pa.Table, news: pa.Table, edits: pa.Table, tables: ByName) -> pa.Table:
    """With all that must be read where the trees of those organizations may change."""
    changes = tables["changes"]
    letters, edited = branches.of_letters(news, changes, tables["folders"]), branches.of_edits(edits)
    said, moving, parents = (_with_made(pa.concat_tables(both), changes) for both in zip(letters, edited, strict=True))
    edges = branches.edges(tables["folders"], trees)
    here = pa.concat_tables([folders, said, branches.beneath(edges, moving), parents])
    return pa.concat_tables([branches.above(edges, here), _hierarchies(trees)])


def _hierarchies(orgs: pa.Table) -> pa.Table:
    """The folder that is the hierarchy of each of those organizations."""
    return orgs.select(["org"]).append_column("folder", pa.repeat(pa.scalar(HIERARCHY), orgs.num_rows))


def answers_to_leavers(mail: pa.Table) -> pa.Table:
    """The messages after which a leaver may say that it is gone (F62)."""
    flags = mail["flags"].combine_chunks()
    flagged = pc.list_parent_indices(flags).filter(pc.equal(pc.list_flatten(flags), str(Flag.DELETE_PENDING)))
    return mail.take(flagged.unique())
