"""What administrators say of organizations, stores and links."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pfspark import cntext
from pfspark.edge.config import conf_folder
from pfspark.errors import UsageError
from pfspark.files import values
from pfspark.files.properties import NEW_STORE, slots
from pfspark.lake.known import Known, When, time_of
from pfspark.printed import Line
from pfspark.settings import MAIN, PROFILE, differences_text, load_profile, override, span
from pfspark.units import nearest, parse_size, parse_wait


class Directory(Known):
    """The directory of a lake."""

    def organization(
        self,
        org: str = MAIN,
        profile: str = PROFILE,
        options: Mapping[str, Any] | None = None,
        start: When = None,
        suspended: bool = False,
    ) -> None:
        """An organization and its policy: a profile, and the options that differ from it. Of one that is there all but its start
        is said anew; `set_options` and `suspend` change one thing.

        Cycles are counted from `start`, if none is given from midnight (UTC) of the day it is made. Raises UsageError for a new
        one without a name.
        """
        profiled = load_profile(profile, conf_folder())
        policy = override(profiled, options or {})
        known = self._directory("organizations").get((org,))
        if known is None:
            values.organization(org)
        now = datetime.now(UTC)
        begin = time_of(start) or (known and known["start"]) or now.replace(hour=0, minute=0, second=0, microsecond=0)
        said = differences_text(policy, profiled)
        self._say("organizations", {"org": org, "profile": profile, "options": said, "start": begin, "suspended": suspended})

    def suspend(self, org: str | None = None, suspended: bool = True) -> None:
        """Suspends content replication of a whole organization, or resumes it (F69)."""
        known = self._organization(org)
        self._say("organizations", {**known, "suspended": suspended})

    def store(
        self,
        name: str,
        site: str | None = None,
        *,
        org: str | None = None,
        version: str | None = None,
        preferred: bool | None = None,
        interval: str | timedelta | None = None,
        size_limit: str | int | None = None,
        schedule: str | None = None,
        retired: bool | None = None,
    ) -> None:
        """A store of the directory: a new one, which needs a site, or changes of one that is there.

        What was never told is as the policy says. A new store takes part from the next round on.
        """
        org = self._org(org)
        if not cntext.is_store_name(name):
            raise UsageError(f"{name!r} is no name of a store: letters, digits and . _ -, first a letter or digit, at most 64")
        every = None if interval is None else span(interval)
        if site is not None:
            values.word(site)
        if version is not None:
            values.version(version)
        told = {
            "site": site,
            "version": version,
            "preferred": preferred,
            "interval_s": None if every is None else int(every.total_seconds()),
            "size_limit": None if size_limit is None else parse_size(size_limit),
            "retired": retired,
        }
        known = self._directory("stores").get((org, name))
        if known is None and site is None:
            raise UsageError(f"in which site is the store {name!r}? A new store needs one")
        before = known or {**NEW_STORE, "retired": False}
        row = {**before, **{key: value for key, value in told.items() if value is not None}, "org": org, "store": name}
        self._say("stores", row if schedule is None else {**row, "schedule": slots(schedule)})

    def link(
        self,
        a: str,
        b: str,
        cost: int = 1,
        delay: str | timedelta = timedelta(0),
        *,
        org: str | None = None,
        both: bool = True,
    ) -> None:
        """Cost and delay from one site to another, and back unless `both` is false."""
        org = self._org(org)
        sites = sorted({row["site"] for row in self._directory("stores").values() if row["org"] == org})
        if a == b:
            raise UsageError(f"found a link from {a!r} to itself; expected two sites (what stays in one costs nothing)")
        for site in (a, b):
            if site not in sites:
                raise UsageError(f"no store is in the site {site!r}{nearest(site, sites)}")
        if cost < 0:
            raise UsageError(f"found the cost {cost}, expected a whole number from 0 on")
        said = {"org": org, "cost": cost, "delay_s": int(parse_wait(delay).total_seconds())}
        pairs = [(a, b), (b, a)] if both else [(a, b)]
        self._say("links", *({**said, "from_site": one, "to_site": other} for one, other in pairs))

    def unlink(self, a: str, b: str, *, org: str | None = None, both: bool = True) -> None:
        """Takes the link from one site to another away, and back unless `both` is false: it is a link like any unnamed one."""
        org = self._org(org)
        known = self._links(org)
        pairs = [pair for pair in ([(a, b), (b, a)] if both else [(a, b)]) if pair in known]
        if not pairs:
            raise UsageError(f"no link leads from {a!r} to {b!r}{nearest(f'{a} {b}', map(' '.join, known))}")
        self._say("links", *({**known[pair], "cost": None, "delay_s": None} for pair in pairs))

    def _links(self, org: str) -> dict[tuple[str, str], Line]:
        """The links of an organization by their sites."""
        said = {(one, other): row for (of, one, other), row in sorted(self._directory("links").items()) if of == org}
        return {pair: row for pair, row in said.items() if (row["cost"], row["delay_s"]) != (None, None)}
