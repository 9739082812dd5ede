"""By which exit code a verb ends, and what is known of what went wrong."""

from __future__ import annotations

import errno
import sys

from pfspark import engine
from pfspark.errors import PfsparkError, SparkStartError, UsageError
from pfspark.units import shown

INTERRUPTED = engine.INTERRUPTED
CUT_SHORT = 141  # 128 + SIGPIPE
WRONG_USAGE = 2
NOT_FORESEEN = 1
OF_SPARK = ("pyspark", "py4j", "delta")
"""What a cluster brings and a laptop is given by an extra."""
JAVA_HAS_ENDED = (
    "Java has ended in the middle of this: it was killed, or had no memory left (PFSPARK_MEMORY=4g gives it more). `log edits` "
    "and `log rounds` say what was done. Say it again."
)


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
    """What an error says in words of ours: itself, that there is no Spark, that no file can be called so, or the damage that it
    has met in a lake."""
    if isinstance(error, PfsparkError):
        return error
    if isinstance(error, ModuleNotFoundError) and error.name in OF_SPARK:
        lacking = f"Spark is not installed here: Python finds no `{error.name}`. `pip install 'pfspark[local]'` brings it."
        return SparkStartError(lacking)
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return UsageError(f"found {shown(error.filename)}, expected a path: a name in one has 255 bytes at most, all of it 4,095")
    if not isinstance(error, Exception) or "pyspark" not in sys.modules:
        return None
    from pfspark.edge.delta.damage import damage
    from pfspark.edge.session import java_has_ended

    of_spark = type(error).__module__.startswith(("py4j", "pyspark"))
    if of_spark and (damaged := damage(error)):
        return damaged
    return SparkStartError(JAVA_HAS_ENDED) if (of_spark or isinstance(error, OSError)) and java_has_ended() else None
