"""Panels of horizontal bars, with names and numbers, on a common scale."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from stc.plot.display import Display, check_positive, remove_frame, title
from stc.plot.style import LINE, MUTED, NOTE_SIZE, font, share_colour
from stc.plot.text import clean, literal, max_inches, meaningful, more, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Height of a line, in inches.
LINE_HEIGHT = 0.26


class Bar(NamedTuple):
    """A bar, its name, and the number beside it."""

    name: str
    value: float
    number: str
    colour: str


class Panel(NamedTuple):
    """Bars, the first on top, and a note on those left out."""

    bars: Sequence[Bar]
    left_out: Sequence[str] = ()


def strongest(table: pl.DataFrame, n_features: int) -> Panel:
    """Return bars of the features with the largest absolute shares."""
    check_positive(n_features=n_features)
    order = pl.col("share").abs().fill_nan(0.0)
    chosen = table.sort(order, descending=True, maintain_order=True).head(n_features)
    bars = [
        Bar(feature, share, percent(share), share_colour(share))
        for feature, share in chosen.select("feature", "share").iter_rows()
    ]
    return Panel(bars, more(table.height - n_features, "feature", "features"))


def limits_of(values: Iterable[float]) -> tuple[float, float]:
    """Return limits that include all values, and a number beside the longest bars."""
    drawn = [0.0, *filter(meaningful, values)]
    low, high = min(drawn), max(drawn)
    margin = (0.4 if low < 0 < high else 0.2) * ((high - low) or 1.0)
    return low - margin if low < 0 else 0.0, high + margin


def draw_strongest(
    display: Display,
    ax: Any,
    tables: Sequence[pl.DataFrame],
    titles: Iterable[str],
    n_features: int,
    empty: str,
) -> list[float]:
    """Draw the strongest features of each table on a common scale; return the shares drawn."""
    panels = [strongest(table, n_features) for table in tables]
    shares = [bar.value for panel in panels for bar in panel.bars]
    low, high = limits = limits_of(shares)
    draw_panels(display, ax, panels, limits, width=2.7 if low < 0 < high else 2.1, empty=empty)
    for axes, text in zip(display.axes_, titles, strict=True):
        title(axes, text)
    return shares


def draw_panels(
    display: Display,
    ax: Any,
    panels: Sequence[Panel],
    limits: tuple[float, float],
    *,
    width: float,
    height: float = 0.6,
    min_lines: int = 4,
    empty: str = "",
) -> None:
    """Draw each panel into separate axes.

    Parameters
    ----------
    display, ax
        The display, and the axes given by the user.
    panels, limits
        The bars, and the limits of their values.
    width, height
        Inches beside the names, and above and below the lines.
    min_lines
        Minimal number of lines to reserve space for.
    empty
        Message for a panel without bars.
    """
    lines = max(len(panel.bars) + len(panel.left_out) for panel in panels)
    width += max_inches(bar.name for panel in panels for bar in panel.bars)
    display._take_axes(ax, width, LINE_HEIGHT * max(lines, min_lines) + height, len(panels))
    for axes, panel in zip(display.axes_, panels, strict=True):
        if panel.bars or not empty:
            _draw_panel(axes, panel, limits, lines)
        else:
            display._message(axes, empty)


def _draw_panel(ax: Axes, panel: Panel, limits: tuple[float, float], lines: int) -> None:
    places = np.arange(len(panel.bars) + len(panel.left_out))
    names = [literal(clean(bar.name)) for bar in panel.bars]
    widths = [bar.value if meaningful(bar.value) else 0.0 for bar in panel.bars]
    remove_frame(ax)
    colours = [bar.colour for bar in panel.bars]
    bars = ax.barh(places[: len(names)], widths, height=0.7, color=colours)
    numbers = [bar.number for bar in panel.bars]
    ax.bar_label(bars, labels=numbers, padding=3, **font(NOTE_SIZE, color=MUTED))
    ax.set_yticks(places, labels=[*names, *panel.left_out], **font())
    for label in ax.get_yticklabels()[len(names) :]:
        label.set(color=MUTED, fontsize=NOTE_SIZE)
    ax.set_ylim(lines - 0.4, -0.6)
    ax.set_xlim(*limits)
    ax.axvline(0, color=LINE, linewidth=0.8, zorder=0.5)
