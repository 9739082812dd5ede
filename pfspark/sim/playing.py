"""An organization while it is played: which step comes next, what its clock says, and who is cut off or down."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta

from pfspark.keyed import ByName
from pfspark.printed import Line
from pfspark.sim import invention
from pfspark.sim.scenario import Scenario
from pfspark.sim.steps import Step
from pfspark.units import TICK


class Playing:
    """One organization while it is played: what its steps have done so far, and when it plays next.

    Its rounds come at `time`, as the file counts it: start + k x interval, the `place` of a round being k. What they are
    played by is the organization's clock, `now`, which may be wrong, but never stands still or goes back: where it is put
    back, its rounds are a microsecond apart until it would be later again, as in `Runner.round`.
    """

    def __init__(self, scenario: Scenario, last: datetime | None = None, *, suspended: bool = False) -> None:
        """From its start on, or from after its `last` round."""
        self.scenario = scenario
        self.to_come = list(scenario.steps)
        self.cut: set[str] = set()
        self.down: set[str] = set()
        self.suspended = suspended
        self.started: set[str] = set()
        self.shows: list[str] = []
        self.whys: list[Step] = []
        self.wrong = timedelta(0)
        self.place = -1 if last is None else (last - scenario.start) // scenario.interval
        self.now = scenario.start - TICK if last is None else last
        self.before = self.now
        """What the clock said in the round before, played or not."""
        self.past: list[tuple[datetime, datetime, ByName]] = []
        self.violations: Counter[str] = Counter()

    @property
    def time(self) -> datetime:
        """Of the last round, as the file counts it."""
        return self.scenario.start + self.place * self.scenario.interval

    def next_round(self, due: datetime | None) -> int | None:
        """The place of the first round not before the next step, or for whose clock `due` has come, and after the last;
        None when the end comes first."""
        places = [self._not_before(step.at) for step in self.to_come[:1]]
        if due is not None:
            places.append(min(self._not_before(due - self.wrong), self.place - (self.now - due) // TICK))
        if not places:
            return None
        place = max(self.place + 1, min(places))
        return place if place * self.scenario.interval <= self.scenario.end - self.scenario.start else None

    def _not_before(self, time: datetime) -> int:
        return -((self.scenario.start - time) // self.scenario.interval)

    def remember(self, tables: ByName) -> None:
        """Keeps the tables as they are after a round, as long as a restore may go back to them."""
        if any(step.verb == "restore" for step in self.to_come):
            self.past.append((self.time, self.now, dict(tables)))

    def back_at(self, time: datetime) -> tuple[datetime, ByName]:
        """The last round not after that time: what the clock said, and the tables that it left."""
        return [(now, tables) for then, now, tables in self.past if then <= time][-1]

    def take_steps(self, place: int) -> list[Step]:
        """The steps that the round at this place sees, dated by its clock; their conditions set."""
        skipped, self.place = place - self.place - 1, place
        self.before = max(self.time - self.scenario.interval + self.wrong, self.now + skipped * TICK)
        steps = [step for step in self.to_come if step.at <= self.time]
        self.to_come = self.to_come[len(steps) :]
        self.started = set()
        self.shows = [name for step in steps if step.verb == "show" for name in step.args["what"]]
        self.whys = [step for step in steps if step.verb == "why"]
        for step in steps:
            match step.verb:
                case "cut":
                    self.cut |= set(step.args["stores"])
                case "heal":
                    self.cut -= set(step.args["stores"])
                case "down":
                    self.down |= set(step.args["stores"])
                case "up":
                    self.started |= self.down & set(step.args["stores"])
                    self.down -= set(step.args["stores"])
                case "suspend" | "resume":
                    self.suspended = step.verb == "suspend"
                case "clock":
                    self.wrong = step.args["wrong"]
        self.now = max(self.time + self.wrong, self.before + TICK)
        return [replace(step, at=step.at + self.wrong) for step in steps]

    def at_end(self) -> datetime:
        """What the clock says when all is over, or what the file counts if that is later."""
        last = (self.scenario.end - self.scenario.start) // self.scenario.interval
        time = self.scenario.start + last * self.scenario.interval
        return max(self.scenario.end, time + self.wrong, self.now + (last - self.place) * TICK)

    def turn(self) -> Line:
        """Its row of `clock` in that round, but its name."""
        return invention.turn(self.scenario, self.now, suspended=self.suspended, before=self.before)
