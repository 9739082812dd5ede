"""What is said of files of a lake that are gone or torn, or cannot be written."""

from __future__ import annotations

import re

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from pfspark.errors import DamageError, LakeError

REFUSALS = (PySparkException, Py4JError)
"""What Spark raises where it cannot read or write; what its jobs meet comes as Java's own."""

_UNREAD = re.compile(r"FAILED_READ_FILE\.\w+\] Encountered error while reading file (?P<path>.+?\.(?:parquet|json))\b|"
                     r"(?:FileNotFoundException: |is not a Parquet file: )(?:File )?(?P<other>\S+\.parquet)\b")  # fmt: skip
_FULL = re.compile(r"No space left on device|Disk quota exceeded")
_CAUSES = re.compile(rf"{_FULL.pattern}|Permission denied|Read-only file system|File too large")


def damaged(name: str, where: str, file: str) -> DamageError:
    """What is said of a table with a file that cannot be read."""
    return DamageError(
        f"`{name}` of {where} cannot be read: its file {file} is gone or torn. `pfspark audit` says what else is; "
        "put the file back from a copy of the lake. If somebody tidied the lake just now, ask again.",
        name, file,
    )  # fmt: skip


def damage(error: BaseException) -> DamageError | None:
    """What is said of what Spark raised while it read, if a file was the cause."""
    if isinstance(error, DamageError):
        return error
    found = _UNREAD.search(str(error))
    if found is None:
        return None
    where, name, file = re.sub("^file:/+", "/", found["path"] or found["other"]).rsplit("/", 2)
    if name == "_delta_log":
        (where, name), file = where.rsplit("/", 1), f"{name}/{file}"
    return damaged(name, where, file)


def unwritten(where: str, name: str, error: Exception) -> LakeError:
    """Of the pages that Java prints, the line that says what went wrong."""
    said = str(error)
    known = _CAUSES.search(said)
    first = known[0] if known else next((line.strip() for line in said.splitlines() if line.strip()), type(error).__name__)
    return LakeError(
        f"`{name}` of {where} could not be written: {first[:300]}. Nothing of it counts; set that right and do it again."
    )


def is_full(error: LakeError) -> bool:
    """Whether a table could not be written as there is no room."""
    return _FULL.search(str(error)) is not None
