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
_NONE_THERE = re.compile(r"NOT_FOUND|MISSING|DOES_NOT_EXIST|NOT_A_DELTA_TABLE|SINGLE_PART_NAMESPACE")
_OVERTAKEN = re.compile(r"DELTA_CONCURRENT_|io\.delta\.exceptions\.Concurrent")
_OF_JAVA = re.compile(r"(?<=: )(?:\w+\.)+\w*(?:Exception|Error): .+")
_CAUSES = re.compile(rf"{_FULL.pattern}|Permission denied|Read-only file system|File too large")


class RewrittenError(PySparkException):
    """What is new in a table cannot be told from its history: it was not only appended to."""


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


def cause(error: BaseException) -> str:
    """Of the pages that Java prints, the line that says what went wrong."""
    said = str(error)
    known = _CAUSES.search(said) or _OF_JAVA.search(said)
    first = known[0] if known else next((line.strip() for line in said.splitlines() if line.strip()), type(error).__name__)
    return first[:300].rstrip(".")


def unwritten(where: str, name: str, error: Exception) -> LakeError:
    """What is said of a table that cannot be written."""
    return LakeError(
        f"`{name}` of {where} could not be written: {cause(error)}. Nothing of it counts; set that right and do it again."
    )


def unread(where: str, name: str, error: Exception) -> LakeError:
    """What is said of a table that cannot be read, though nothing says that any of its files is gone or torn."""
    return LakeError(f"`{name}` of {where} cannot be read: {cause(error)}. Set that right and ask again.")


def is_missing(error: BaseException) -> bool:
    """Whether Spark found that there is no such table, schema or catalog."""
    condition = error.getCondition() if isinstance(error, PySparkException) else None
    return _NONE_THERE.search(condition or "") is not None


def is_overtaken(error: BaseException) -> bool:
    """Whether somebody has written into the table meanwhile, so that the same may be done once more."""
    return _OVERTAKEN.search(str(error)) is not None


def is_full(error: LakeError) -> bool:
    """Whether a table could not be written as there is no room."""
    return _FULL.search(str(error)) is not None
