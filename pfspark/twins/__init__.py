"""Rules once more, in Arrow, for where all rows that they read are here.

To plan a rule takes Spark many times as long as it takes to find a round's few rows. What a rule says is said in `rules`;
`tests/test_twins.py` holds each beside its twin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pfspark.twins.gaps import GAPS
from pfspark.twins.picking import PICKING
from pfspark.twins.posting import POSTING
from pfspark.twins.ranking import RANKING
from pfspark.twins.receiving import RECEIVING
from pfspark.twins.removing import REMOVING
from pfspark.twins.sending import SENDING
from pfspark.twins.sets import SETS
from pfspark.twins.setting import SETTING
from pfspark.twins.status import STATUS
from pfspark.twins.timing import TIMING

TWINS: dict[str, Callable[..., Any]] = {
    **GAPS, **PICKING, **POSTING, **RANKING, **RECEIVING, **REMOVING, **SENDING, **SETS, **SETTING, **STATUS, **TIMING,
}  # fmt: skip
"""By the name of the rule."""
OF_ANY_SIZE = frozenset({**PICKING, **SETS})
"""Those that copy nothing but what they give, or reckon with numbers alone. Others put rows in order, or beside others."""
