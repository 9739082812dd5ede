"""Pictures of sets of change numbers, and of the way of a number through an organization."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from pfspark import cntext
from pfspark.errors import UsageError

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

HELD, MISSING = "#2f6f8f", "#d9823b"
FEW = 10
"""Of fewer numbers each has its tick: plotly would write halves between them."""
NOT_INSTALLED = "plotly draws the pictures, and is not installed here: pip install 'pfspark[pictures]'"


def picture(sets: Mapping[str, cntext.CnSet], missing: Mapping[str, cntext.CnSet] | None = None, title: str = "") -> Figure:
    """A picture of named sets: a panel for each origin, a row for each name, a bar for each range of numbers.

    `missing` draws further ranges in the rows of the same names in another colour: the holes. Names keep their order.
    Raises UsageError where plotly is not installed.

    >>> figure = picture({"PFS3": cntext.parse("PFS1:1-11:17")}, {"PFS3": cntext.parse("PFS1:12-16")})
    >>> len(figure.data)
    3
    """
    try:
        from plotly.graph_objects import Bar
        from plotly.subplots import make_subplots
    except ImportError:
        raise UsageError(NOT_INSTALLED) from None

    holes = missing or {}
    origins = sorted({label for each in (*sets.values(), *holes.values()) for label in each}, key=cntext.label_key)
    figure = make_subplots(rows=1, cols=max(len(origins), 1), shared_yaxes=True, subplot_titles=origins, horizontal_spacing=0.03)
    names = list(dict.fromkeys([*sets, *holes]))
    for column, origin in enumerate(origins, 1):
        for drawn, colour in ((sets, HELD), (holes, MISSING)):
            for name in names:
                for low, high in drawn.get(name, {}).get(origin, ()):
                    span = f"{origin}:{low}-{high}" if high > low else f"{origin}:{low}"
                    bar = Bar(
                        y=[name], x=[high - low + 1], base=[low - 0.5], orientation="h", marker_color=colour, hovertext=span,
                        hoverinfo="text", showlegend=False,
                    )  # fmt: skip
                    figure.add_trace(bar, row=1, col=column)
        shown = [cn for drawn in (sets, holes) for each in drawn.values() for ends in each.get(origin, ()) for cn in ends]
        if shown and max(shown) - min(shown) < FEW:
            figure.update_xaxes(dtick=1, row=1, col=column)
    # The range is said, for a row without a bar is a row too: else the last ones would be left out.
    rows = [max(len(names), 1) - 0.5, -0.5]
    figure.update_yaxes(type="category", categoryorder="array", categoryarray=names, range=rows)
    height = 90 + 26 * len(names)
    figure.update_layout(barmode="overlay", bargap=0.35, title=title, height=height, margin={"l": 10, "r": 10, "t": 60, "b": 20})
    return figure


def timeline(hops: Iterable[Mapping[str, Any]], title: str = "") -> Figure:
    """A picture of how numbers came: a row for each store, a mark for each moment of it, a line for each letter.

    `hops` are rows of `Lake.trace`, in order of time. What was lost or refused on its way has the colour of what is missing.
    Raises UsageError where plotly is not installed.

    >>> sent = {"at": "2026-01-05T09:00:00Z", "store": "PFS1", "what": "sent", "says": "sends it to PFS2", "message_id": "1"}
    >>> lost = {"at": "2026-01-05T09:15:00Z", "store": "PFS2", "what": "lost", "says": "does not get it", "message_id": "1"}
    >>> [drawn.mode for drawn in timeline([sent, lost]).data]
    ['lines', 'markers+text', 'markers+text']
    """
    try:
        from plotly.graph_objects import Figure, Scatter
    except ImportError:
        raise UsageError(NOT_INSTALLED) from None

    told = [{**hop, "at": _moment(hop["at"])} for hop in hops]
    stores = list(dict.fromkeys(hop["store"] for hop in told))
    figure = Figure()
    first: dict[str, Mapping[str, Any]] = {}
    for hop in told:
        letter = hop.get("message_id")
        begin = first.setdefault(letter, hop) if letter else hop
        if begin["store"] != hop["store"]:
            line = {"color": _colour([hop]), "width": 1.5, "dash": "dot" if _colour([hop]) == MISSING else "solid"}
            ends = {"x": [begin["at"], hop["at"]], "y": [begin["store"], hop["store"]]}
            figure.add_trace(Scatter(**ends, mode="lines", line=line, hoverinfo="skip", showlegend=False))
    for (at, store), here in groupby(sorted(told, key=lambda hop: (hop["at"], stores.index(hop["store"]))), _where):
        moment = list(here)
        figure.add_trace(Scatter(
            x=[at], y=[store], mode="markers+text", text=["<br>".join(hop["what"] for hop in moment)],
            textposition="top center" if store == stores[0] else "bottom center", cliponaxis=False,
            marker={"color": _colour(moment), "size": 12, "symbol": "x" if _colour(moment) == MISSING else "circle"},
            hovertext=["<br>".join(hop["says"] for hop in moment)], hoverinfo="x+text", showlegend=False,
        ))  # fmt: skip
    figure.update_yaxes(type="category", categoryorder="array", categoryarray=stores, range=[len(stores) - 0.3, -0.7])
    figure.update_layout(title=title, height=170 + 60 * len(stores), margin={"l": 10, "r": 30, "t": 60, "b": 20})
    return figure


def _moment(at: str | datetime) -> datetime:
    return datetime.fromisoformat(at) if isinstance(at, str) else at


def _where(hop: Mapping[str, Any]) -> tuple[datetime, str]:
    return hop["at"], hop["store"]


def _colour(moment: Iterable[Mapping[str, Any]]) -> str:
    return MISSING if {"lost", "refused"} & {hop["what"] for hop in moment} else HELD


def show(*figures: Figure) -> None:
    """Shows figures one under the other in a notebook; elsewhere, where a browser would be opened for each, none."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None:
        for figure in figures:
            figure.show()
