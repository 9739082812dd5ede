"""The backfill time-outs: how long whoever asks waits for an answer before asking again (R91)."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

TIMEOUTS = ("backfill_local_s", "backfill_remote_s", "delete_pending_timeout_s")
"""The columns of a policy that say them."""
REPEATS = 3
"""How often a status request is repeated to those who stay silent; of a leaver's there is no end."""


def timeout(attempt: Column, *, near: Column) -> Column:
    """Seconds to wait after request number `attempt` (0: after hearing of what is missing); the third wait serves all later
    requests too. `near`: whether it is asked for within the site."""
    nth = F.least(attempt + 1, F.lit(3)).cast("int")
    return F.when(near, F.element_at("backfill_local_s", nth)).otherwise(F.element_at("backfill_remote_s", nth))
