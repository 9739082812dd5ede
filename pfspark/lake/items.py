"""Items, one by one."""

from __future__ import annotations

from collections.abc import Mapping

from pfspark.edge import copying
from pfspark.edge.asked import shown
from pfspark.errors import UsageError
from pfspark.lake.edits import Edits
from pfspark.lake.known import When
from pfspark.rows import rows_of
from pfspark.words import Action


class Items(Edits):
    """The items of a lake."""

    def post(
        self,
        store: str,
        folder: str,
        body: bytes | str,
        name: str | None = None,
        properties: Mapping[str, str] | None = None,
        *,
        org: str | None = None,
        at: When = None,
        edit_id: str | None = None,
    ) -> str:
        """Posts an item; gives the edit's id, which names the item as `@id` until it has a number. A text is written in UTF-8.

        Whoever may have to repeat a post gives the `edit_id` himself: a repeat is harmless.
        """
        return self._edit(org, store, Action.POST, folder, properties or {}, at, body=_body(body), name=name, edit_id=edit_id)

    def modify(
        self,
        store: str,
        folder: str,
        item: str,
        body: bytes | str,
        properties: Mapping[str, str] | None = None,
        *,
        org: str | None = None,
        at: When = None,
        edit_id: str | None = None,
    ) -> str:
        """Gives an item another body; `item`: its id, `@` and the edit that posted it, or its name."""
        raw = _body(body)
        return self._edit(org, store, Action.MODIFY, folder, properties or {}, at, body=raw, item=item, edit_id=edit_id)

    def resolve(self, store: str, folder: str, item: str, keep: str, *, org: str | None = None, at: When = None) -> list[str]:
        """Settles a conflict as a user does: `keep` names the version that stands, or `all`; gives the ids of the edits.

        A repeat is harmless: the same versions settled alike are the same edits.

        Source: F34.
        """
        org = self._org(org, store)
        self._expect_in_use(org, store)
        target = self._folder(org, store, folder)
        named = self._item(org, store, target, item, called=folder)
        versions = shown.in_conflict(self._world(), org, store, target, named)
        when = self._at(at) or self._clock(org, store, target, named, changes=True)
        edit = self._id_of(org, copying.settlement(versions, keep, store=store, folder=target, item=named))
        rows = copying.settled(versions, keep, edit, org=org, store=store, folder=target, item=named, at=when)
        self._tables.append("edits", rows_of("edits", rows))
        return [str(row["edit_id"]) for row in rows]

    def delete(self, store: str, folder: str, item: str, *, org: str | None = None, at: When = None) -> str:
        """Deletes an item."""
        return self._edit(org, store, Action.DELETE, folder, {}, at, item=item)


def _body(body: bytes | str) -> bytes:
    """Bytes as they are, a text in UTF-8."""
    if not isinstance(body, str):
        return bytes(body)
    try:
        return body.encode()
    except UnicodeEncodeError:
        raise UsageError(f"found {body[:60]!r}, expected a text that UTF-8 can write, or bytes") from None
