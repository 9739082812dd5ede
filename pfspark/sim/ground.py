"""An organization that is there, to be played on: as it is, or with what somebody would do to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pfspark.errors import ProfileError, ScenarioError, UsageError
from pfspark.files import language, values
from pfspark.files.parts import links_of
from pfspark.settings import differences, override, single
from pfspark.sim import steps
from pfspark.sim.scenario import Fault, Scenario, faults_of, profile_named
from pfspark.sim.steps import FolderRef, Step


@dataclass(frozen=True)
class Ground:
    """An organization as it stands after a round: what texts of steps are read against, and played on from."""

    scenario: Scenario
    """Its directory, policy and start; it has no folders and no steps, and its end is that of what is played."""
    last: datetime | None
    """When it played last; None: it has had no round."""
    suspended: bool
    folders: Mapping[str, FolderRef]
    """The id of each folder that some store sees, by its path."""
    items: Mapping[FolderRef, Mapping[str, str]]
    """Of folders the ids of their items, by name."""

    @property
    def now(self) -> datetime:
        """From when the times of steps count."""
        return self.last or self.scenario.start


def expect_change(document: Mapping[str, Any], file: str) -> None:
    """Raises ScenarioError for a text that does not say what is done to an organization, as if policy were a number."""
    try:
        language.Change.read(dict(document))
    except UsageError as error:
        raise ScenarioError(f"{file}: {error}") from None


def varied(ground: Ground, document: Mapping[str, Any], file: str, conf_folder: Path) -> Scenario:
    """That organization with what a text says that is done to it: [[steps]], [[faults]], [[links]], [policy], another
    profile. Its times count from `ground.now`; `file` stands in its errors.

    Raises ScenarioError for what cannot be played.
    """
    try:
        return _varied(ground, document, file, conf_folder)
    except (UsageError, ProfileError) as error:
        raise ScenarioError(f"{file}: {error}") from None


def _varied(ground: Ground, document: Mapping[str, Any], file: str, conf_folder: Path) -> Scenario:
    before, now = ground.scenario, ground.now
    told = language.Change.read(dict(document))
    with values.within("profile"):
        profiled = profile_named(told.profile or before.policy.profile, conf_folder)
        own = differences(before.policy, profile_named(before.policy.profile, conf_folder))
    with values.within("policy"):
        policy = override(profiled, own | dict(single(told.policy)))
    names = [store.name for store in before.stores]
    todo = steps.read(told.steps, names, now)
    _expect_to_be_played(todo, now, before.end)
    said = links_of(told.links, sorted({store.site for store in before.stores}))
    links = {(link.from_site, link.to_site): link for link in (*before.links, *said)}
    faults = faults_of(told.faults, names, now, before.end)
    _expect_to_strike(faults, before.end)
    return replace(
        before,
        profile=policy.profile,
        policy=policy,
        interval=policy.interval,
        links=tuple(links.values()),
        steps=steps.resolved(todo, ground.folders, now, ground.items),
        file=file,
        faults=faults,
        seed=before.seed if told.seed is None else told.seed,
    )


def _too_late(key: str, end: datetime, what: str) -> UsageError:
    return UsageError(f"{key}: found a time after the end, {end:%Y-%m-%dT%H:%M:%SZ}; leave this {what} out, or play on longer")


def _expect_to_strike(faults: Iterable[Fault], end: datetime) -> None:
    """Of a fault that begins when all is over nothing would be seen either."""
    for place, fault in enumerate(faults, 1):
        if fault.since > end or fault.since == fault.until:
            with values.within(f"faults {place}"):
                raise _too_late("since", end, "fault")


def _expect_to_be_played(todo: Iterable[Step], now: datetime, end: datetime) -> None:
    """Of a step after the end nothing would be seen: both worlds came out alike. Who comes back then has been away until it."""
    for step in todo:
        with values.within(f"step {step.number}"), values.within(step.verb):
            if step.at > end and step.verb not in ("heal", "up"):
                raise _too_late("at", end, "step")
            if step.verb in ("show", "why"):
                raise UsageError("both worlds are told side by side at their end; leave this step out")
            if step.verb == "restore" and step.args["to"] < now:
                raise UsageError(f"to: found a time before {now:%Y-%m-%dT%H:%M:%SZ}, expected one of what is played")
