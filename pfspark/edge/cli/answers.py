"""`pfspark state`, `gaps`, `items`, `log` and `status`: what a lake knows, now or as of an earlier round."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pfspark import cntext
from pfspark.edge.cli import given, screen

if TYPE_CHECKING:
    from pfspark.lake import Lake

PANEL = "Answers"

verbs = typer.Typer()
log = typer.Typer(help="What happened, in order.")
verbs.add_typer(log, name="log", rich_help_panel=PANEL)

OfStore = Annotated[str | None, typer.Option("--store", help="Only this store.")]
OfFolder = Annotated[str | None, typer.Option("--folder", help="Only this folder, by its path.")]


@verbs.command(rich_help_panel=PANEL)
def status(lake: given.LakeName = None, org: given.Org = None, as_of: given.AsOf = None, json: given.Json = False) -> None:
    """Print how each organization stands: whether all replicas are equal, what waits, what is missing, what is due."""
    when = given.round_or_moment(as_of)
    with given.opened(lake) as there:
        screen.lines(standing(there, when, org), json=json)


@verbs.command(rich_help_panel=PANEL)
def state(
    store: OfStore = None, folder: OfFolder = None, lake: given.LakeName = None, org: given.Org = None,
    as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print what each replica holds, has sent, and lacks."""
    _answer("state", store, folder, lake, org, as_of, json)


@verbs.command(rich_help_panel=PANEL)
def items(
    store: OfStore = None, folder: OfFolder = None, lake: given.LakeName = None, org: given.Org = None,
    as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print the items that each store shows its readers."""
    _answer("items", store, folder, lake, org, as_of, json)


@verbs.command(rich_help_panel=PANEL)
def gaps(
    store: OfStore = None, folder: OfFolder = None, lake: given.LakeName = None, org: given.Org = None,
    as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print what is missing where: since when, who is asked for it, and when."""
    _answer("gaps", store, folder, lake, org, as_of, json)


@log.command("messages")
def log_messages(
    store: OfStore = None, folder: OfFolder = None, lake: given.LakeName = None, org: given.Org = None,
    as_of: given.AsOf = None, json: given.Json = False,
) -> None:  # fmt: skip
    """Print the replication messages."""
    _answer("messages", store, folder, lake, org, as_of, json)


@log.command("rounds")
def log_rounds(lake: given.LakeName = None, as_of: given.AsOf = None, json: given.Json = False) -> None:
    """Print the ledger: the rounds, when they were played, and what they wrote."""
    _answer("rounds", None, None, lake, None, as_of, json)


def _answer(
    kind: str, store: str | None, folder: str | None, lake: str | None, org: str | None, as_of: str | None, json: bool
) -> None:
    when = given.round_or_moment(as_of)
    with given.opened(lake) as there:
        found = list(screen.about(there.lines(kind, when, org=org), store, folder))
    screen.lines(found, json=json, orgs=len({line.get("org") for line in found}) > 1)


def standing(there: Lake, as_of: int | datetime | None, org: str | None) -> Iterator[dict[str, Any]]:
    """One line for each organization: whether its active replicas are equal, and what is still to come."""
    edits, receipts = (there.table(name, as_of).select("org", "edit_id") for name in ("edits", "receipts"))
    waiting = {
        row["org"]: row["count"] for row in edits.join(receipts, ["org", "edit_id"], "anti").groupBy("org").count().collect()
    }
    due = list(there.lines("rounds", as_of))[-1]["next_due"]
    found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for line in there.lines("state", as_of, org=org):
        found[line["org"], line["at"]].append(line)
    for (name, at), replicas in found.items():
        sets = defaultdict(set)
        for line in replicas:
            if line["standing"] == "active":
                sets[line["folder"]].add(line["applied"])
        yield {
            "org": name, "at": at, "kind": "status", "replicas": len(replicas),
            "equal": all(len(held) == 1 for held in sets.values()), "waiting": waiting.get(name, 0),
            "missing": sum(cntext.size(cntext.parse(line["missing"])) for line in replicas),
            "lost": sum(cntext.size(cntext.parse(line["lost"])) for line in replicas), "due": due.get(name),
        }  # fmt: skip
