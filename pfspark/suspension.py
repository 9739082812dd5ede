"""Suspended replication: content waits, and the hierarchy never does (F69)."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from pfspark.words import HIERARCHY


def content_waits() -> Column:
    """Whether it is content that a row is about, of an organization whose replication of content is `suspended`; that a leaver
    goes on all the same (D7), whoever asks says himself."""
    return F.col("suspended") & (F.col("folder") != HIERARCHY)
