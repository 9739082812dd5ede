"""What is said to Spark to see whether it can be done: where it cannot, that is told to who asked, and to nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""They print each error before it is raised, with its stack, on stderr."""


@contextmanager
def quietly() -> Iterator[None]:
    """Spark prints no error that is raised meanwhile."""
    from pyspark.logger import PySparkLogger

    loggers = [PySparkLogger.getLogger(name) for name in LOGGERS]
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled
