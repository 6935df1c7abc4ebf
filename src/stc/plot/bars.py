"""Bars with names and numbers, in one panel or in several of the same scale."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from stc.plot.axes import Display, bare, positive, say, take
from stc.plot.look import LINE, NOTE_SIZE, QUIET, colour, font
from stc.plot.text import clean, literal, meaningful, more, percent, room_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Height of a line, in inches.
LINE_HEIGHT = 0.26


class Bar(NamedTuple):
    """A bar, and what is written beside it."""

    name: str
    value: float
    number: str
    colour: str


class Panel(NamedTuple):
    """Bars, the first on top, and a line on those left out."""

    bars: Sequence[Bar]
    left_out: Sequence[str] = ()


def strongest(table: pl.DataFrame, n: int) -> Panel:
    """The features of highest share, whatever its sign."""
    positive(n_features=n)
    order = pl.col("share").abs().fill_nan(0.0)
    chosen = table.sort(order, descending=True, maintain_order=True).head(n)
    bars = [
        Bar(feature, share, percent(share), colour(share))
        for feature, share in chosen.select("feature", "share").iter_rows()
    ]
    return Panel(bars, more(table.height - n, "feature", "features"))


def reach_of(values: Iterable[float]) -> tuple[float, float]:
    """Limits that hold all values and a number beyond the longest bar of each side."""
    drawn = [0.0, *filter(meaningful, values)]
    low, high = min(drawn), max(drawn)
    room = (0.4 if low < 0 < high else 0.2) * ((high - low) or 1.0)
    return low - room if low < 0 else 0.0, high + room


def draw_strongest(
    display: Display, ax: Any, tables: Sequence[pl.DataFrame], n: int, empty: str
) -> list[float]:
    """Bars of the strongest features of each table, all of the same scale; what was drawn."""
    panels = [strongest(table, n) for table in tables]
    drawn = [bar.value for panel in panels for bar in panel.bars]
    low, high = reach = reach_of(drawn)
    draw(display, ax, panels, reach, width=2.7 if low < 0 < high else 2.1, empty=empty)
    return drawn


def draw(
    display: Display,
    ax: Any,
    panels: Sequence[Panel],
    reach: tuple[float, float],
    *,
    width: float,
    height: float = 0.6,
    least: int = 4,
    empty: str = "",
) -> None:
    """Draw panels into axes of their own, as wide as their names and so many inches.

    Parameters
    ----------
    display, ax
        What is drawn, and the axes given.
    panels, reach
        The bars, and the limits of their values.
    width, height
        Inches beside the names, and beside the lines.
    least
        Lines that there is room for at least.
    empty
        What to say where there are no bars.
    """
    lines = max(len(panel.bars) + len(panel.left_out) for panel in panels)
    width += room_for(bar.name for panel in panels for bar in panel.bars)
    take(display, ax, width, LINE_HEIGHT * max(lines, least) + height, len(panels))
    for own, panel in zip(display.axes_, panels, strict=True):
        if panel.bars or not empty:
            _draw_panel(own, panel, reach, lines)
        else:
            say(own, empty)


def _draw_panel(ax: Axes, panel: Panel, reach: tuple[float, float], lines: int) -> None:
    places = np.arange(len(panel.bars) + len(panel.left_out))
    names = [literal(clean(bar.name)) for bar in panel.bars]
    widths = [bar.value if meaningful(bar.value) else 0.0 for bar in panel.bars]
    bare(ax)
    colours = [bar.colour for bar in panel.bars]
    bars = ax.barh(places[: len(names)], widths, height=0.7, color=colours)
    numbers = [bar.number for bar in panel.bars]
    ax.bar_label(bars, labels=numbers, padding=3, **font(NOTE_SIZE, color=QUIET))
    ax.set_yticks(places, labels=[*names, *panel.left_out], **font())
    for label in ax.get_yticklabels()[len(names) :]:
        label.set(color=QUIET, fontsize=NOTE_SIZE)
    ax.set_ylim(lines - 0.4, -0.6)
    ax.set_xlim(*reach)
    ax.axvline(0, color=LINE, linewidth=0.8, zorder=0.5)
