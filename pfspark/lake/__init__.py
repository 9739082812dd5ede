"""The door for users: a lake, what is said and posted in it, its rounds, and what can be asked of it.

From nothing to equal stores:

    from pfspark import Lake
    lake = Lake.create("/data/lake")
    lake.organization(profile="modern")
    lake.store("PFS1", "Redmond"), lake.store("PFS2", "Paris")
    lake.folder_create("PFS1", "/Sales", ["PFS1", "PFS2"])
    lake.post("PFS1", "/Sales", b"Hello", name="first")
    lake.run(until_quiet=True)
    lake.state().show()
"""

from __future__ import annotations

import html
import os
from contextlib import suppress
from datetime import timedelta
from types import TracebackType

from pfspark.edge.delta import waiting
from pfspark.edge.delta.stored import Hook
from pfspark.edge.delta.tables import Tables
from pfspark.edge.session import open_session
from pfspark.lake import portrait
from pfspark.lake.fitting import fitting
from pfspark.lake.foresight import Foresight
from pfspark.lake.items import Items
from pfspark.lake.mails import Mails
from pfspark.lake.organizations import Organizations
from pfspark.rows import Session


@fitting
class Lake(Organizations, Items, Mails, Foresight):
    """A lake: a folder of Delta tables, or a schema of a catalog.

    Shown in a shell it says how its organizations stand, as far as that is known without Spark; in a notebook, as a table.
    """

    @classmethod
    def create(
        cls,
        where: str | os.PathLike[str],
        spark: Session | None = None,
        *,
        history: timedelta = timedelta(days=30),
        ahead: bool = False,
    ) -> Lake:
        """A new lake in a folder of its own, or in `catalog.schema`; `history`: how far back `as_of` reads.

        `spark` is a session, or what starts one; none: the one that is active, or a new one. For a folder of this machine none is
        started before it is needed. `ahead`: an `at` or a `now` more than a day ahead of the clock on the wall is meant; else it
        is refused.
        """
        return cls(Tables.create(spark or open_session, where, history=history), ahead=ahead)

    @classmethod
    def open(
        cls,
        where: str | os.PathLike[str],
        spark: Session | None = None,
        *,
        hook: Hook = lambda point: None,
        ahead: bool = False,
    ) -> Lake:
        """The lake that is there; `hook` is told of each commit, before and after; `spark` and `ahead` as in `create`.

        Raises LakeError where no lake is; of a folder of this machine before Spark starts.
        """
        Tables.expect(where)
        return cls(Tables.open(spark or (lambda: open_session(lasting=waiting.much(where))), where, hook), ahead=ahead)

    @classmethod
    def examine(cls, where: str | os.PathLike[str], spark: Session | None = None) -> Lake:
        """The lake that is there, to be audited, whatever is wrong with it.

        Raises LakeError where there is none.
        """
        Tables.expect(where, whole=False)
        return cls(Tables(spark or open_session, where))

    def __repr__(self) -> str:
        with suppress(Exception):  # to show a thing must not fail
            if self._tables.is_native and self._runner.at_hand() is not None:
                return portrait.words(self.where, self._tables.snapshot().row.round, list(self.status_lines()))
        return f"Lake({self.where!r})"

    def _repr_html_(self) -> str:
        with suppress(Exception):  # to show a thing must not fail
            return portrait.table(self.where, self._tables.snapshot().row.round, list(self.status_lines()))
        return f"<code>{html.escape(repr(self))}</code>"

    def __enter__(self) -> Lake:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self._runner.close()
