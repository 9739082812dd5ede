"""By which exit code a verb ends, and what is known of what went wrong."""

from __future__ import annotations

from pfspark import engine
from pfspark.errors import PfsparkError, SparkStartError

INTERRUPTED = engine.INTERRUPTED
CUT_SHORT = 141  # 128 + SIGPIPE
WRONG_USAGE = 2
NOT_FORESEEN = 1
OF_SPARK = ("pyspark", "py4j", "delta")
"""What a cluster brings and a laptop is given by an extra."""


def exit_code(error: BaseException | None) -> int:
    """The exit code of a verb that ended so: 0 done, 1 refused, 2 wrong usage, 3 a violation, 4 another writer, 130 Ctrl-C."""
    if error is None:
        return 0
    if interrupted(error):
        return INTERRUPTED
    if told := known(error):
        return told.exit_code
    return WRONG_USAGE if hasattr(error, "format_message") else NOT_FORESEEN  # typer's own: the words do not fit


def interrupted(error: BaseException | None) -> bool:
    """Whether a Ctrl-C came first; py4j, interrupted in a call, goes on to fail in ways of its own."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def known(error: BaseException) -> PfsparkError | None:
    """What an error says in words of ours: itself, that there is no Spark, or the damage that it has met in a lake."""
    if isinstance(error, PfsparkError):
        return error
    if isinstance(error, ModuleNotFoundError) and error.name in OF_SPARK:
        lacking = f"Spark is not installed here: Python finds no `{error.name}`. `pip install 'pfspark[local]'` brings it."
        return SparkStartError(lacking)
    if not isinstance(error, Exception) or not type(error).__module__.startswith(("py4j", "pyspark")):
        return None
    from pfspark.edge.delta.damage import damage

    return damage(error)
