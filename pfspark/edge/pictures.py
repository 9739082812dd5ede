"""Pictures of sets of change numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pfspark import cntext
from pfspark.errors import UsageError

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

HELD, MISSING = "#2f6f8f", "#d9823b"


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
        raise UsageError("plotly draws the pictures, and is not installed here: pip install 'pfspark[pictures]'") from None

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
    figure.update_yaxes(autorange="reversed", categoryorder="array", categoryarray=names)
    height = 90 + 26 * len(names)
    figure.update_layout(barmode="overlay", bargap=0.35, title=title, height=height, margin={"l": 10, "r": 10, "t": 60, "b": 20})
    return figure
