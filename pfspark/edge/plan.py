"""What separates an organization from what a file says of it: a plan, line by line, and the rows that carry it out.

Nothing is removed unless that is asked for, and no store is retired while it has replicas: its content might be the only one.
What another store has made, renamed or moved, of which the store that edits has not heard yet, is neither made anew nor removed.
A property of a folder, once set, can be set otherwise and not be unset; of those that a file does not name nothing is said.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from pfspark.edge.asked.store_view import Folder, View
from pfspark.edge.config import conf_folder
from pfspark.edge.copying import edit_row
from pfspark.edge.door import validate
from pfspark.edge.world.directory import policy_of
from pfspark.errors import RefusedError, UsageError
from pfspark.files.properties import DEFAULT_SITE, NEW_STORE, spell_property
from pfspark.files.values import expect_parent
from pfspark.settings import OPTIONS, PROFILE, differences, differences_text, load_profile, override, single, text_of
from pfspark.words import NAME, PARENT, REPLICA, ROOT, Action, Listing, Planned

if TYPE_CHECKING:
    from pfspark.files.declared import Declared

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Change:
    """A line of a plan: what becomes of an organization, an option, a store, a link or a folder; as people write it."""

    what: Planned
    of: str
    name: str
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)
    says: str | None = None
    """Why it stays; of what changes, what is lost by it."""


@dataclass(frozen=True)
class Organization:
    """An organization as it stands in a lake."""

    name: str
    entry: Row | None
    """Its row of the directory, if there is one."""
    stores: Mapping[str, Row]
    links: Mapping[tuple[str, str], Row]
    view: View
    """What the store sees at which folders are edited, with the edits that wait there."""
    needed: Mapping[str, str]
    """Stores that should not be retired yet, each with the reason."""
    to_come: Callable[[], View]
    """What that store sees once it has heard all that others hold, and all have taken in what waits."""


@dataclass(frozen=True)
class Plan:
    """What has to be done so that an organization is what a file says."""

    org: str
    store: str | None
    """At which folders are edited; None: there is no store."""
    changes: tuple[Change, ...]
    rows: Mapping[str, Sequence[dict[str, Any]]]
    """What is written to do it, by table."""
    unlinked: tuple[str, ...]
    """Sites that no link names although there are others: each message to them is free and at once."""
    paths: Collection[str]
    """The folders that there were, as that store saw them."""
    made_of: tuple[int, ...] = ()
    """The versions of the tables of which it was made."""
    left_out: tuple[str, ...] = ()
    """Keys of the file that say nothing of an organization."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not any(self.rows.values())

    def count(self, what: Planned) -> int:
        """How many lines are so."""
        return sum(change.what == what for change in self.changes)

    def lines(self) -> Iterator[dict[str, Any]]:
        """What is to be done, as JSON lines."""
        for each in self.changes:
            yield {
                "org": self.org, "kind": "plan", "what": str(each.what), "of": each.of, "name": each.name,
                "before": spelled(each.before), "after": spelled(each.after), "says": each.says,
            }  # fmt: skip


def plan(said: Declared, there: Organization, *, prune: bool, at: datetime, place: int) -> Plan:
    """The plan; its edits are of the moment `at`, and in the order of `place`. `prune`: what the file does not have is removed.

    Raises UsageError for a profile or option that is not known, RefusedError for an edit that the store would refuse.
    """
    changes, entry = _organization(said, there, prune, at.replace(hour=0, minute=0, second=0, microsecond=0))
    about_stores, stores = _stores(said, there, prune)
    about_links, links = _links(said, there, prune)
    current = {**there.stores, **{row["store"]: row for row in stores}}
    everyone = [name for name, row in current.items() if not row["retired"] and (name in said.stores or not said.stores)]
    folders, paths = _Folders(there, at, place), [*there.view.paths()]
    folders.declare(said, everyone, {name for name, row in current.items() if row["retired"]}, prune)
    kept = {**there.links, **{(row["from_site"], row["to_site"]): row for row in links}}
    return Plan(
        org=there.name,
        store=there.view.store or None,
        changes=(*changes, *about_stores, *about_links, *folders.changes),
        rows={"organizations": entry, "stores": stores, "links": links, "edits": folders.rows},
        unlinked=unlinked(current.values(), (pair for pair, row in kept.items() if row["cost"] is not None)),
        paths=paths,
        left_out=said.left_out,
    )


def expect_makeable(said: Declared, name: str) -> None:
    """Raises what `plan` raises of an organization that is not there yet, in a lake that need not be there either."""
    view = View({}, name, next(iter(said.stores), ""))
    nothing = Organization(name, entry=None, stores={}, links={}, view=view, needed={}, to_come=lambda: view)
    plan(said, nothing, prune=False, at=datetime.now(UTC), place=0)


def unlinked(stores: Iterable[Row], links: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The sites of those stores that no link names although there are others."""
    sites = {row["site"] for row in stores if not row["retired"]}
    return tuple(sorted(sites - {site for pair in links for site in pair})) if len(sites) > 1 else ()


# --- the directory ----------------------------------------------------------------------------------------------------


def _organization(said: Declared, there: Organization, prune: bool, today: datetime) -> tuple[list[Change], list[dict[str, Any]]]:
    """What becomes of its profile, its start, its switch and its options."""
    known, own, legible = there.entry, {}, False
    if known is not None:
        with suppress(UsageError):  # a policy that cannot be read is said anew
            own = differences(policy_of(known), load_profile(known["profile"], conf_folder()))
            legible = True
    profiled = load_profile(said.profile or (known or {}).get("profile") or PROFILE, conf_folder())
    policy = override(profiled, ({} if prune else own) | dict(single(said.options)))
    options = differences(policy, profiled)
    head = {
        "profile": policy.profile,
        "start": said.start or (known or {}).get("start") or today,
        "suspended": bool((known or {}).get("suspended")) if said.suspended is None else said.suspended,
    }
    before = {name: known[name] for name in head} if known else {}
    changes = [_change("organization", there.name, _told(before), _told(head), is_new=known is None)]
    named = dict(single(said.options))
    spelled_own, spelled_options = ({name: text_of(value) for name, value in each.items()} for each in (own, options))
    for name in (each for each in OPTIONS if each in own or each in options):
        if name in own and name in options and own[name] == options[name] and name not in named:
            changes.append(_stays("option", name, {"value": spelled_own[name]}))
        else:
            was, is_now = ({"value": each[name]} if name in each else {} for each in (spelled_own, spelled_options))
            changes.append(_change("option", name, was, is_now, is_new=not was))
    row = {**(known or {}), "org": there.name, **head, "options": differences_text(policy, profiled)}
    if legible and (before, own) == (head, options):
        return changes, []
    return changes, [row]


def _stores(said: Declared, there: Organization, prune: bool) -> tuple[list[Change], list[dict[str, Any]]]:
    changes, rows = [], []
    for name, told in said.stores.items():
        known = there.stores.get(name)
        if known is None or prune:
            row = {**(known or {}), "site": DEFAULT_SITE, **NEW_STORE, "retired": False, **told, "org": there.name, "store": name}
        else:
            row = {**known, "retired": False, **told}
        was, is_now = (spell_store(each) for each in (known or {}, row))
        change = _change("store", name, was, is_now, is_new=known is None)
        retires = row["retired"] and known is not None and not known["retired"]
        changes.append(replace(change, says=there.needed.get(name)) if retires else change)
        if was != is_now:
            rows.append(row)
    for name, known in there.stores.items():
        if name in said.stores or known["retired"]:
            continue
        if not prune or name in there.needed:
            changes.append(_stays("store", name, spell_store(known), there.needed.get(name) if prune else None))
        else:
            changes.append(Change(Planned.REMOVE, "store", name, spell_store(known), {"retired": True}))
            rows.append({**known, "retired": True})
    return changes, rows


def spell_store(row: Row) -> dict[str, Any]:
    """A store as people write it; what is as the policy says is left out."""
    told: dict[str, Any] = {
        name.removesuffix("_s"): spell_property(name.removesuffix("_s"), str(row[name]))
        for name in ("interval_s", "size_limit", "schedule")
        if row.get(name) is not None
    }
    return {name: row[name] for name in ("site", "version", "preferred", "retired") if row.get(name)} | told


def _links(said: Declared, there: Organization, prune: bool) -> tuple[list[Change], list[dict[str, Any]]]:
    changes, rows = [], []
    for pair, told in said.links.items():
        known = there.links.get(pair, {})
        row = {**known, "org": there.name, "from_site": pair[0], "to_site": pair[1], **told}
        was, is_now = (_link(each) for each in (known, row))
        changes.append(_change("link", _way(pair), was, is_now, is_new=not known))
        if was != is_now:
            rows.append(row)
    for pair, known in there.links.items():
        if pair not in said.links and prune:
            changes.append(Change(Planned.REMOVE, "link", _way(pair), _link(known)))
            rows.append({**known, "cost": None, "delay_s": None})
        elif pair not in said.links:
            changes.append(_stays("link", _way(pair), _link(known)))
    return changes, rows


def spell_links(links: Mapping[tuple[str, ...], Row]) -> list[dict[str, Any]]:
    """Links as a file says them: those alike in both directions as one."""
    told: list[dict[str, Any]] = []
    for pair, row in sorted(links.items()):
        alike = _link(links.get(pair[::-1], {})) == _link(row)
        if alike and pair < pair[::-1]:
            told.append({"sites": list(pair), **_link(row)})
        elif not alike:
            told.append({"from": pair[0], "to": pair[1], **_link(row)})
    return told


def _link(row: Row) -> dict[str, Any]:
    return {"cost": row["cost"], "delay": spell_property("delay", str(row["delay_s"]))} if row else {}


def _way(pair: tuple[str, str]) -> str:
    return " → ".join(pair)


# --- folders ----------------------------------------------------------------------------------------------------------


class _Folders:
    """The edits by which a store sees the folders that a file says."""

    def __init__(self, there: Organization, at: datetime, place: int) -> None:
        self.org, self.view, self.at, self.place = there.name, there.view, at, place
        self.refs = there.view.paths()
        self.to_come = cache(there.to_come)
        self.paths_to_come = cache(lambda: self.to_come().paths())
        self.deleted: set[str] = set()
        self.changes: list[Change] = []
        self.rows: list[dict[str, Any]] = []

    def declare(self, said: Declared, everyone: Sequence[str], retired: Collection[str], prune: bool) -> None:
        """Makes, changes and, with `prune`, deletes folders. `everyone`: who holds a folder of which that is not said.

        No replica is put at a `retired` store; raises RefusedError where there is no other, and as `_expect_unknown` does.
        """
        known = said.folders if prune else {**self.refs, **said.folders}
        for path, told in said.folders.items():
            expect_parent(path, known)
            refs = self.refs.get(path, [])
            there = {each for ref in refs for each in self.view.folders[ref].listed}
            replicas = [each for each in told.replicas or () if each in there or each not in retired]
            if nowhere := [each for each in told.replicas or () if each not in replicas]:
                why = "it is retired: what is put there reaches nobody"
                if not replicas:
                    raise RefusedError(f"only {', '.join(nowhere)} is to hold {path!r}, and {why}")
                self.changes.append(_stays("replica", path, {"replicas": nowhere}, why))
            if not refs:
                self._expect_unknown(path)
                self._create(path, replicas or tuple(everyone), told.properties)
            else:
                wanted = replicas or (tuple(everyone) if prune else ())
                self._change(path, only(self.view, path, refs), wanted, told.properties, prune)
        self._others(set(said.folders), prune)

    def _expect_unknown(self, path: str) -> None:
        """Raises RefusedError where another store has made a folder of that path, or renamed or moved one so, of which this store
        has not heard yet: made anew there would be two, and `prune` would delete what has only another name."""
        for ref in self.paths_to_come().get(path, ()):
            what = "renamed or moved one" if ref in self.view.folders else "made one"
            raise RefusedError(
                f"the folder {path!r} ({ref}): another store has {what} so, of which {self.view.store} has not heard yet; "
                "play on until it has, or name as --store one that sees it"
            )

    def _create(self, path: str, replicas: Sequence[str], properties: Mapping[str, str]) -> None:
        if not replicas:
            raise UsageError(f"who is to hold the folder {path!r}? Name its replicas, or a store")
        above, _, name = path.rpartition("/")
        parent = self.refs[above][0] if above else ROOT
        sets = {NAME: name, PARENT: parent, **_entries(replicas, Listing.LISTED), **properties}
        self.refs[path] = [f"@{self._edit(path, Action.CREATE_FOLDER, None, sets)}"]
        self.changes.append(Change(Planned.ADD, "folder", path, {}, _folder(replicas, properties)))

    def _change(self, path: str, ref: str, replicas: Sequence[str], properties: Mapping[str, str], prune: bool) -> None:
        """Two edits where stores both come and go: a list is never without a store, nor its content (R142)."""
        folder = self.view.folders[ref]
        listed, known = set(folder.listed), dict(folder.properties)
        other = {name: value for name, value in properties.items() if known.get(name) != value}
        new, gone = [each for each in replicas if each not in listed], sorted(listed - set(replicas)) if replicas else []
        if other or new:
            self._edit(path, Action.SET_FOLDER, ref, {**other, **_entries(new, Listing.LISTED)})
        if gone and prune:
            self._edit(path, Action.SET_FOLDER, ref, _entries(gone, Listing.REMOVED))
        was, is_now = _folder(sorted(listed), known), _folder(sorted(folder.listed), folder.properties)
        self.changes.append(_change("folder", path, was, is_now, is_new=False))
        if gone and not prune:
            self.changes.append(_stays("replica", path, {"replicas": gone}))

    def _others(self, declared: set[str], prune: bool) -> None:
        """The folders that a file does not have; the deletion of one is that of all beneath it."""
        for path, refs in sorted(self.refs.items()):
            for ref in refs if path not in declared else ():
                folder = self.view.folders[ref]
                held = spell_folder(folder)
                if not prune:
                    self.changes.append(_stays("folder", path, held))
                    continue
                if self._hides(ref):
                    why = f"another store has put a folder beneath it, of which {self.view.store} has not heard yet"
                    self.changes.append(_stays("folder", path, held, why))
                    continue
                if not folder.dead:
                    self._edit(path, Action.DELETE_FOLDER, ref, {})
                    self.deleted.add(ref)
                elif self.deleted.isdisjoint(self.to_come().upwards(ref)):
                    why = f"another store has moved it away, of which {self.view.store} has not heard yet"
                    self.changes.append(_stays("folder", path, held, why))
                    continue
                self.changes.append(Change(Planned.REMOVE, "folder", path, held))

    def _hides(self, ref: str) -> bool:
        """Whether folders that live will lie beneath that one, of which the store that edits does not know that."""
        to_come = self.to_come()
        return any(not to_come.folders[each].dead for each in to_come.beneath(ref).keys() - self.view.beneath(ref).keys())

    def _edit(self, path: str, action: Action, folder: str | None, sets: Mapping[str, str]) -> str:
        edit, place = f"{action}:{uuid.uuid4().hex}", self.place + len(self.rows)
        row = edit_row(self.org, self.view.store, action, folder, edit, self.at, place) | {"properties": list(sets.items())}
        validate(self.view, row, path)
        self.view.take_in(row)
        self.rows.append(row)
        return str(row["edit_id"])


def only(view: View, path: str, refs: Sequence[str]) -> str:
    """The folder of a path: a file can say one of each. Raises RefusedError where the store sees two (R149)."""
    if len(refs) > 1:
        raise RefusedError(
            f"{view.store} sees {len(refs)} folders called {path!r}: {' and '.join(refs)}; rename all but one first"
        )
    return refs[0]


def spell_folder(folder: Folder) -> dict[str, Any]:
    """A folder as a file says it."""
    return _folder(sorted(folder.listed), folder.properties)


def spell_properties(properties: Mapping[str, str]) -> dict[str, Any]:
    """What is set on a folder besides its place and its replicas, as people write it."""
    return {name: spell_property(name, value) for name, value in sorted(properties.items())}


def _folder(replicas: Sequence[str], properties: Mapping[str, str]) -> dict[str, Any]:
    """A folder as people write it."""
    return {"replicas": list(replicas)} | spell_properties(properties)


def _entries(stores: Iterable[str], listing: Listing) -> dict[str, str]:
    return {f"{REPLICA}{store}": str(listing) for store in stores}


# --- lines ------------------------------------------------------------------------------------------------------------


def _change(of: str, name: str, before: Row, after: Row, *, is_new: bool) -> Change:
    """A line of what differs, or of what is the same."""
    if is_new:
        return Change(Planned.ADD, of, name, {}, after)
    if before == after:
        return Change(Planned.SAME, of, name, before, after)
    names = [each for each in {**before, **after} if before.get(each) != after.get(each)]
    was, is_now = ({each: told[each] for each in names if each in told} for told in (before, after))
    return Change(Planned.CHANGE if is_now or of != "option" else Planned.REMOVE, of, name, was, is_now)


def _stays(of: str, name: str, known: Row, why: str | None = None) -> Change:
    return Change(Planned.STAYS, of, name, known, known, why or "the file does not have it; --prune removes it")


def spelled(told: Row) -> dict[str, str]:
    """What a file tells of something, each value as a text."""
    return {name: ", ".join(value) if isinstance(value, list) else text_of(value) for name, value in told.items()}


def _told(head: Row) -> dict[str, Any]:
    return {
        name: value.strftime("%Y-%m-%dT%H:%M:%SZ") if isinstance(value, datetime) else value
        for name, value in head.items()
        if value is not None and value is not False
    }
