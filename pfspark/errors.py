"""What may go wrong, one sentence each: every message says what was seen, what was expected and what to do."""

from __future__ import annotations


class PfsparkError(Exception):
    """A refusal that its message explains (exit code 1)."""

    exit_code = 1


class UsageError(PfsparkError):
    """The words of a command, a file or a setting do not fit (exit code 2)."""

    exit_code = 2


class ViolationError(PfsparkError):
    """A check of the promises found rows that break it (exit code 3)."""

    exit_code = 3


class OtherWriterError(PfsparkError):
    """Another writer holds the lake, or took it over (exit code 4)."""

    exit_code = 4


class CnSetError(PfsparkError):
    """A text that is not a set of change numbers; names the place of the mistake."""


class ScenarioError(PfsparkError):
    """A scenario file that cannot be played; names file, key and the nearest known one."""


class LakeError(PfsparkError):
    """A folder or schema that is not a lake, or a lake of a newer pfspark."""


class NoLakeError(LakeError):
    """A place where no lake is, or only the beginning of one: one can be made there."""


class DamageError(LakeError):
    """A table that cannot be read as its log says; names table and file."""

    def __init__(self, said: str, table: str, file: str) -> None:
        super().__init__(said)
        self.table, self.file = table, file


class SparkStartError(PfsparkError):
    """Spark cannot start here: Java, the Delta jars, or another session in the way."""


class MailError(PfsparkError):
    """A file of mail that cannot be read as mail."""


class EventLogError(PfsparkError):
    """A text of an event log that cannot be read; names the line."""
