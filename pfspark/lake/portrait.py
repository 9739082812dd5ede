"""What a lake looks like where it is shown: in a shell by what is at hand, in a notebook as a table."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from pfspark.ask.standing import in_words
from pfspark.edge.plain import terminal
from pfspark.printed import Line

COLUMNS = ("organization", "at", "replicas", "equal", "missing", "lost", "edits waiting", "next")
CELL = "padding: .2rem .7rem; text-align: left"


def words(where: str, round: int, lines: Sequence[Line]) -> str:
    """A line for the lake, and one for each organization."""
    told = [f"  {line['org']}: {in_words(line)}" for line in lines] or ["  no organization yet"]
    return "\n".join(map(terminal, [f"Lake({where!r}) after round {round}", *told]))


def table(where: str, round: int, lines: Sequence[Line]) -> str:
    """A row for each organization of a lake, as HTML."""
    rows = [
        (
            line["org"], line["at"], line["replicas"], ("yes" if line["equal"] else "no") if line["played"] else "not played yet",
            line["missing"], line["lost"], line["waiting"], line["due"] or "nothing due",
        )
        for line in lines
    ]  # fmt: skip
    head, *body = (
        "".join(f'<{tag} style="{CELL}">{escape(terminal(str(cell)))}</{tag}>' for cell in row)
        for tag, row in (("th", COLUMNS), *(("td", row) for row in rows))
    )
    drawn = "".join(f"<tr>{row}</tr>" for row in body) or f'<tr><td style="{CELL}">no organization yet</td></tr>'
    title = f"<b>{escape(terminal(where))}</b> after round {round}"
    return f"<div>{title}<table><thead><tr>{head}</tr></thead><tbody>{drawn}</tbody></table></div>"
