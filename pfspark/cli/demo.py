"""`pfspark demo`: a hole, found and filled, told while it happens."""

from __future__ import annotations

import os
import shlex
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pfspark import cntext
from pfspark.cli import given, screen
from pfspark.errors import ViolationError
from pfspark.printed import Line
from pfspark.units import counted

if TYPE_CHECKING:
    from pfspark.edge.runner import Played
    from pfspark.lake import Lake

verbs = typer.Typer()

ORG = "Tern"
FOLDER = "/Launch"
SITES = {"PFS1": "Redmond", "PFS2": "Redmond", "PFS3": "Paris"}
MONDAY, TUESDAY = datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 1, 6, tzinfo=UTC)
DAY, EVENING, NIGHT = slice(0, 14), slice(14, 23), slice(23, None)
"""The mails of conf/demo.mbox by the part of that Monday in which they were written."""


@verbs.command(rich_help_panel="Begin here")
def demo(lake: given.LakeName = None, json: given.Json = False) -> None:
    """See three stores replicate a folder of mail, one of them cut off for a while. It takes less than a minute."""
    began = time.monotonic()
    where = _fresh(lake or "demo-lake")
    tell = _Telling(aloud=not json)
    tell.panel(
        "pfspark demo",
        "Three stores hold copies of one folder of mail: PFS1 and PFS2 in Redmond, PFS3 in Paris. Anybody may write at "
        "any store; there is no master.",
        "",
        "We import a day of mail, cut Paris off for a moment, and watch it find out and catch up. The rounds are real "
        f"ones, on Delta tables in {where}; the hours between them are skipped.",
    )
    screen.note(("starting Spark …", "dim"))
    from pfspark.edge.spark import temporary
    from pfspark.lake import Lake

    with Lake.create(where) as made, tempfile.TemporaryDirectory(dir=temporary.own_folder()) as folder:
        story = _Story(made, Path(folder), tell)
        story.begin()
        story.a_day_of_mail()
        story.cut_off()
        story.a_hole_is_seen()
        story.asked_and_answered()
        story.the_past()
    name = shlex.quote(where)
    tell.next_steps(
        f"All equal, after {time.monotonic() - began:.0f} seconds. Try next:",
        f"pfspark state --as-of {story.before} --lake {name}",
        f"pfspark items --store PFS3 --lake {name}",
        f"pfspark export paris.mbox --store PFS3 --folder {FOLDER} --lake {name}",
    )


class _Story:
    """The demo, chapter by chapter."""

    def __init__(self, made: Lake, folder: Path, tell: _Telling) -> None:
        from pfspark.edge import mail
        from pfspark.edge.config import conf_folder

        self._lake = made
        self._folder = folder
        self._tell = tell
        self._mails = [("", each.envelope, each.raw or b"") for each in mail.split_mbox(conf_folder() / "demo.mbox")]
        self._last = 0
        self.before = 0
        """The last round before the line was back."""

    def begin(self) -> None:
        self._lake.organization(ORG, "exchange_2007", start=_at(MONDAY, 23))
        for name, site in SITES.items():
            self._lake.store(name, site, org=ORG)
        self._lake.link("Redmond", "Paris", cost=10, org=ORG)
        self._lake.folder_create("PFS1", FOLDER, list(SITES), org=ORG, at=_at(MONDAY, 23))
        self._tell.chapter(
            "1. A folder",
            f"{FOLDER} is made at PFS1. The tree of folders replicates like mail: it is folder 1-1, its items are the "
            "folders. Whoever makes or learns of a replica of its own asks the others for their status.",
        )
        self._run(_at(MONDAY, 23))

    def a_day_of_mail(self) -> None:
        self._tell.chapter(
            "2. A day of mail",
            "It comes in at PFS1, and then at PFS2. Each mail gets the next change number of its store. At its next cycle, "
            "every 15 minutes, a store sends what is new of its own.",
        )
        self._import("PFS1", DAY, _at(MONDAY, 23, 5))
        self._run(_at(MONDAY, 23, 15))
        self._import("PFS2", EVENING, _at(MONDAY, 23, 20))
        self._run(_at(MONDAY, 23, 30))
        self._compare()

    def cut_off(self) -> None:
        self._tell.chapter(
            "3. Paris is cut off",
            "The mails of PFS2 are on their way when the line breaks. PFS1 gets them; what is for PFS3 is lost. Nobody "
            "knows: they are sent once, and a message is not acknowledged. One last mail comes in at PFS2 and goes out.",
        )
        self._import("PFS2", NIGHT, _at(MONDAY, 23, 40))
        self._run(_at(MONDAY, 23, 45), cut=["PFS3"])
        self._compare()
        self.before = self._last

    def a_hole_is_seen(self) -> None:
        self._tell.chapter(
            "4. The line is back, and a hole is seen",
            "The last mail arrives, and with it, as with every message, what PFS2 holds. PFS3 compares, and notes what it "
            "lacks in its backfill array. It does not ask at once: it may only be late.",
        )
        self._run(_at(TUESDAY, 0))
        self._tell.lines(self._lake.lines("gaps", org=ORG))

    def asked_and_answered(self) -> None:
        self._tell.chapter(
            "5. Asked and answered",
            "Nobody else in Paris has them, so PFS3 waits twelve hours, as Exchange 2007 does. Then it asks the best "
            "source, and the answer brings exactly the missing numbers.",
        )
        self._run(_at(TUESDAY, 12, 30))
        if not self._compare():
            raise ViolationError("the demo ended with replicas that differ: a fault of pfspark, please report it")

    def the_past(self) -> None:
        self._tell.chapter(
            "6. The past can still be asked",
            f"Every table keeps its history. As of round {self.before}, before the line was back, PFS3 held:",
        )
        found = self._lake.lines("state", self.before, org=ORG)
        self._tell.held([line for line in found if (line["store"], line["folder"]) == ("PFS3", FOLDER)])

    def _import(self, store: str, part: slice, at: datetime) -> None:
        from pfspark.edge import mail

        file = self._folder / f"{part.start}.mbox"
        mail.write_mbox(self._mails[part], file)
        counts = self._lake.import_mail(file, store, FOLDER, org=ORG, at=at)
        self._tell.imported(counts, store, at)

    def _run(self, until: datetime, cut: Iterable[str] = ()) -> None:
        self._lake.run(until, progress=self._played, cut=cut)

    def _played(self, played: Played) -> None:
        self._tell.lines(self._lake.said(played))
        self._last = played.round or self._last

    def _compare(self) -> bool:
        """Prints what each store holds of the folder; whether it is the same."""
        found = [line for line in self._lake.lines("state", org=ORG) if line["folder"] == FOLDER]
        same = len(found) == len(SITES) and len({line["applied"] for line in found}) == 1
        self._tell.held(found, f"{FOLDER} is " + ("equal everywhere" if same else "not equal"))
        return same


class _Telling:
    """How the story is told: aloud to people, or as bare lines to programs."""

    def __init__(self, *, aloud: bool) -> None:
        self._aloud = aloud

    def panel(self, title: str, *told: str) -> None:
        from rich.panel import Panel
        from rich.text import Text

        width = min(screen.console().width, screen.READABLE)
        if self._aloud:
            screen.show(Panel(Text("\n").join(map(screen.text, told)), title=title, title_align="left", width=width))

    def chapter(self, title: str, told: str) -> None:
        if self._aloud:
            screen.say()
            screen.say((title, "bold"))
            screen.paragraph(told)

    def lines(self, found: Iterable[Line]) -> None:
        screen.lines(found, json=not self._aloud)

    def imported(self, counts: Mapping[str, int], store: str, at: datetime) -> None:
        if self._aloud:
            screen.say((f"{at:%Y-%m-%d %H:%M}", "dim"), f"  {counted(counts['posted'], 'mail')} imported at {store}")
        else:
            screen.counts("import", counts, json=True)

    def held(self, found: Sequence[Line], title: str = "") -> None:
        """What stores hold of the folder, by their state lines."""
        if self._aloud:
            sets = [(line["store"], line["applied"], cntext.size(cntext.parse(line["applied"]))) for line in found]
            rows = [(store, SITES[store], held, counted(mails, "mail")) for store, held, mails in sets]
            screen.table(("store", "site", "holds", ""), rows, title)
        else:
            self.lines(found)

    def next_steps(self, title: str, *commands: str) -> None:
        if self._aloud:
            screen.say()
            screen.say((title, "bold"))
            for command in commands:
                screen.say(f"  {command}")


def _fresh(lake: str) -> str:
    """That name, or the first of `name-2`, `name-3`, … that is not taken."""
    names = chain([lake], (f"{lake}-{n}" for n in count(2)))
    return next(name for name in names if not os.path.lexists(name))


def _at(day: datetime, hour: int, minute: int = 0) -> datetime:
    return day.replace(hour=hour, minute=minute)
