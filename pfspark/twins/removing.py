"""Twins of the rules by which leavers are looked after: whether they are listed, and who acknowledges that they go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pfspark.keyed import anti_join, beside, semi_join, with_columns
from pfspark.keys import HERE, MESSAGE
from pfspark.twins.status import OF_MAIL, has
from pfspark.words import LIVE, REPLICA, Flag, Listing, Standing


def _acknowledgements(messages: pa.Table, *, letters: pa.Table, replicas: pa.Table, clock: pa.Table) -> pa.Table:
    leaving = replicas.filter(pc.equal(replicas["standing"], str(Standing.DELETE_PENDING))).select([*HERE, "at"])
    said = messages.filter(has(messages["flags"], Flag.DELETE_PENDING))
    ruled = beside(said, clock.select(["org", "removal_rule"]), ["org"], inner=True)
    told = beside(ruled, letters.select([*MESSAGE, "status"]), MESSAGE, inner=True)
    together = pc.equal(told["removal_rule"], "union_holds_all")
    claims = told.select([*OF_MAIL, "sender", "status", "at"]).rename_columns([*HERE, "sender", "status", "said"])
    claims = with_columns(claims, proof=pc.if_else(together, "", told["message_id"]))
    claims = claims.filter(pc.or_kleene(together, has(told["flags"], Flag.ACKNOWLEDGE)))
    known = beside(claims, leaving.rename_columns([*HERE, "began"]), HERE, inner=True)
    return known.filter(pc.greater(known["said"], known["began"]))


def _unlisted(replicas: pa.Table, *, seen: pa.Table, tree: pa.Table) -> pa.Table:
    removed = pc.is_in(tree["value"], pa.array([str(Listing.REMOVED), str(Listing.LEAVING)]))
    its_own = pc.equal(tree["property"], pc.binary_join_element_wise(REPLICA, tree["store"], ""))
    leaving = replicas.filter(pc.equal(replicas["standing"], str(Standing.DELETE_PENDING))).select(list(HERE))
    return anti_join(semi_join(leaving, seen, HERE), tree.filter(pc.and_(its_own, removed)), HERE)


def _called_again(replicas: pa.Table, *, lists: pa.Table) -> pa.Table:
    itself, removed = pc.equal(lists["peer"], lists["store"]), pc.equal(lists["listing"], str(Listing.REMOVED))
    gone = replicas.filter(pc.invert(pc.is_in(replicas["standing"], pa.array(map(str, LIVE))))).select(list(HERE))
    return semi_join(gone, lists.filter(pc.and_(itself, removed)), HERE)


def _let_go(before: pa.Table, leaving: pa.Table, *, replicas: pa.Table) -> pa.Table:
    gone = semi_join(replicas.filter(pc.equal(replicas["standing"], str(Standing.DELETE_NOW))), leaving, HERE)
    return semi_join(before.filter(pc.equal(before["standing"], str(Standing.DELETE_PENDING))), gone, HERE)


REMOVING: dict[str, Callable[..., Any]] = {
    "removal.acknowledgements": _acknowledgements,
    "removal.called_again": _called_again,
    "removal.let_go": _let_go,
    "removal.unlisted": _unlisted,
}
"""By the name of the rule."""
