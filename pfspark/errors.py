"""What may go wrong, one sentence each: every message says what was seen, what was expected and what to do.

The exit codes of all verbs, by one rule:

- 0: done.
- 1: refused. Something is wrong in a file, in a lake or in this machine: a scenario with an unknown profile, key or store,
  mail that is no mail, a text that is no set of change numbers, a lake of a newer pfspark or without such a round, no Java;
  an edit that its store refuses, as it has no replica there, or does not see the item.
- 2: wrong usage. Something is wrong in the words of the command: an unknown verb or option, a value that does not fit, a
  profile, organization, store, folder or rule that is not known, a file or a lake that is not there.
- 3: a check found rows that break a promise.
- 4: another writer holds the lake, or took it over.
- 130: stopped by Ctrl-C; the lake needs no repair.
- 141: whoever read had seen enough (`… | head`).
"""

from __future__ import annotations


class PfsparkError(Exception):
    """A refusal that its message explains (exit code 1)."""

    exit_code = 1


class RefusedError(PfsparkError):
    """An edit that its store would refuse, by what it sees itself; nothing of it is kept."""


class UsageError(PfsparkError):
    """The words of a command, or what a call is given, do not fit (exit code 2)."""

    exit_code = 2


class ViolationError(PfsparkError):
    """A check found rows that break a promise (exit code 3)."""

    exit_code = 3


class OtherWriterError(PfsparkError):
    """Another writer holds the lake, or took it over (exit code 4)."""

    exit_code = 4


class CnSetError(PfsparkError):
    """A text that is not a set of change numbers; names the place of the mistake."""


class ProfileError(PfsparkError):
    """A file of a profile that says what none can; names file and option."""


class ScenarioError(PfsparkError):
    """A scenario file that cannot be played; names file, key and the nearest known one."""


class LakeError(PfsparkError):
    """A folder or schema that is not a lake, or a lake of a newer pfspark."""


class NoLakeError(LakeError):
    """A place where no lake is, or only the beginning of one: one can be made there."""


class NoPlaceError(NoLakeError):
    """A lake is named where there is nothing (exit code 2)."""

    exit_code = 2


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
