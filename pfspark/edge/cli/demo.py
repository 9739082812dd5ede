"""`pfspark demo`: a hole, found and filled, told while it happens."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pfspark import cntext
from pfspark.edge.cli import given, screen
from pfspark.errors import ViolationError

if TYPE_CHECKING:
    from pfspark.lake import Lake

verbs = typer.Typer()

FOLDER = "/Launch"
STORES = {"PFS1": "Redmond", "PFS2": "Redmond", "PFS3": "Paris"}
MONDAY, TUESDAY = datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 1, 6, tzinfo=UTC)
MORNING, AFTERNOON, EVENING = slice(0, 8), slice(8, 14), slice(14, 23)
NIGHT = slice(23, None)
"""The mails of conf/demo.mbox by the part of the day in which they were written."""


@verbs.command(rich_help_panel="Begin here")
def demo(lake: given.LakeName = None) -> None:
    """See three stores replicate a folder of mail, one of them cut off for a while. It takes about a minute."""
    began = time.monotonic()
    where = _fresh(lake or "demo-lake")
    _panel(
        "pfspark demo",
        "Three stores hold copies of one folder: PFS1 and PFS2 in Redmond, PFS3 in Paris. Anybody may write at any "
        "store; there is no master. We import a day's mail, cut Paris off for an evening, and watch it find out and "
        f"catch up. The rounds are real, the hours pass as fast as they can be played. The lake is {where}.",
    )
    opened = _organization(where)
    with _mails() as import_part:
        _told(
            "1. A day of mail",
            "Paris writes in the morning, at PFS3; Redmond in the afternoon, at PFS1. Each change gets the next number "
            "of the store where it is made. At its next cycle a store sends what is new of its own.",
        )
        import_part(opened, "PFS3", MORNING, _at(MONDAY, 13, 30))
        import_part(opened, "PFS1", AFTERNOON, _at(MONDAY, 17, 25))
        _run(opened, _at(MONDAY, 18))
        _compare(opened)

        _told(
            "2. Paris is cut off",
            "Nine more mails come in at PFS1. PFS1 sends them once, to both; what is for PFS3 is lost on the way, and "
            "nobody knows: replication is by mail, and mail is not acknowledged.",
        )
        import_part(opened, "PFS1", EVENING, _at(MONDAY, 22, 45))
        _run(opened, _at(MONDAY, 23), cut=["PFS3"])
        _compare(opened)
        before = opened.last_round

        _told(
            "3. The line is back, and a hole is seen",
            "One more mail goes out. With it PFS1 says what else it holds; PFS3 compares, and notes what it lacks in "
            "its backfill array. It does not ask at once: often the missing message is only late.",
        )
        import_part(opened, "PFS1", NIGHT, _at(MONDAY, 23, 20))
        _run(opened, _at(MONDAY, 23, 45))
    screen.lines(opened.lines("gaps"), json=False)

    _told(
        "4. Asked and answered",
        "Nobody else in Paris has it, so PFS3 waits twelve hours, as Exchange 2007 does. Then it asks the best source, "
        "and the answer brings exactly the missing numbers.",
    )
    _run(opened, _at(TUESDAY, 13))
    equal = _compare(opened)

    _told(
        "5. The past can still be asked",
        f"Every round is kept. This is what PFS3 held after round {before}, before the line was back.",
    )
    screen.lines(screen.about(opened.lines("state", as_of=before), "PFS3", FOLDER), json=False)
    if not equal:
        raise ViolationError("the demo ended with replicas that differ; this is a fault of pfspark, please report it")
    _panel(
        f"All equal, after {time.monotonic() - began:.0f} seconds. Try next",
        f"pfspark log messages --lake {where}\n"
        f"pfspark items --store PFS3 --lake {where}\n"
        f"pfspark export {FOLDER} paris.mbox --store PFS3 --lake {where}",
    )


def _fresh(lake: str) -> str:
    """That name, or the first of `name-2`, `name-3`, … that is not taken."""
    return next(name for name in (lake, *(f"{lake}-{n}" for n in count(2))) if not os.path.lexists(name))


def _organization(where: str) -> Lake:
    from pfspark.lake import Lake

    opened = Lake.create(where)
    opened.organization("Tern", "exchange_2007", {}, _at(MONDAY, 7))
    for name, site in STORES.items():
        opened.store(name, site=site)
    opened.link("Redmond", "Paris", cost=10)
    opened.folder_create("PFS1", FOLDER, replicas=list(STORES), now=_at(MONDAY, 7))
    _run(opened, _at(MONDAY, 8))
    return opened


@contextmanager
def _mails() -> Iterator[Any]:
    """Gives a function that imports some of the demo's mails at a store."""
    from pfspark.edge import mail
    from pfspark.edge.config import conf_folder

    pieces = [("", piece.envelope, piece.raw or b"") for piece in mail.split_mbox(conf_folder() / "demo.mbox")]
    with tempfile.TemporaryDirectory(prefix="pfspark-") as folder:

        def import_part(opened: Lake, store: str, part: slice, now: datetime) -> None:
            file = Path(folder) / f"{part.start}.mbox"
            mail.write_mbox(pieces[part], file)
            opened.import_mail([file], store, FOLDER, now=now)
            _event(now, f"{len(pieces[part])} mails are imported at {store}")

        yield import_part


def _run(opened: Lake, until: datetime, cut: Iterable[str] = ()) -> None:
    screen.lines(opened.run(until=until, cut=tuple(cut)), json=False)


def _compare(opened: Lake) -> bool:
    """Prints what each store holds of the folder; whether they hold the same."""
    found = [line for line in opened.lines("state") if line["folder"] == FOLDER]
    sets = {line["store"]: line["applied"] for line in found}
    same = len(set(sets.values())) == 1
    sizes = {name: cntext.size(cntext.parse(held)) for name, held in sets.items()}
    rows = [(name, STORES[name], held, f"{sizes[name]} mails") for name, held in sorted(sets.items())]
    screen.table(("store", "site", "holds", ""), rows, f"{FOLDER}: " + ("equal everywhere" if same else "not equal"))
    return same


def _at(day: datetime, hour: int, minute: int = 0) -> datetime:
    return day.replace(hour=hour, minute=minute)


def _event(at: datetime, what: str) -> None:
    screen.say((f"{at:%Y-%m-%d %H:%M}", "dim"), f"  {what}")


def _told(title: str, text: str) -> None:
    screen.say()
    screen.say((title, "bold"))
    screen.paragraph(text)


def _panel(title: str, text: str) -> None:
    from rich.panel import Panel
    from rich.text import Text

    said = Text("\n").join(map(screen.text, text.splitlines()))
    screen.show(Panel(said, title=title, title_align="left", width=min(screen.console().width, screen.READABLE)))
