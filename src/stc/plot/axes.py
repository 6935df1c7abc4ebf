"""Figures and axes: those that a caller gives, or our own, and what is written around them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from stc.plot.look import NOTE_SIZE, QUIET, SIZE, TITLE_SIZE, font, matplotlib
from stc.plot.text import literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

# Characters of a line of notes, an inch; of a sentence.
_NOTE_LENGTH, _SENTENCE_LENGTH = 14, 32


class Display:
    """What all displays share: where they draw, and what."""

    figure_: Figure | SubFigure
    axes_: list[Axes]

    @property
    def ax_(self) -> Axes:
        """The axes drawn into; of several, the first."""
        return self.axes_[0]

    @classmethod
    def _from_model(cls, model: Any, items: Sequence[Any], *which: Any, **options: Any) -> Self:
        """Draw the explanation of a model, or of items."""
        if not hasattr(model, "explain"):
            raise TypeError(
                f"{type(model).__name__} does not explain: give a SparseTensorClassifier; of a "
                "pipeline, its last step, and the items as they come there"
            )
        draw: Callable[..., Self] = cls.from_explanation  # type: ignore[attr-defined]
        return draw(model.explain(*items), *which, **options)


def positive(**numbers: int | None) -> None:
    """Refuse numbers below 1."""
    for name, number in numbers.items():
        if number is not None and number < 1:
            raise ValueError(f"{name}: at least 1 expected, got {number}")


def number_of_classes(ax: Any, asked: int | None, default: int) -> int:
    """How many classes to draw: as many as asked for, else as there are axes given."""
    positive(n_classes=asked)
    if asked is not None:
        return asked
    return default if ax is None else len(_axes_of(ax))


def take(display: Display, ax: Any, width: float, height: float, panels: int = 1) -> None:
    """Take the axes given, or make a figure with panels of this size in inches."""
    if ax is None:
        display.axes_ = _own_axes(width, height, panels)
    else:
        given = _axes_of(ax)
        if len(given) < panels:
            raise ValueError(
                f"ax: {panels} classes are drawn into axes of their own, got {len(given)}: give "
                f"{panels}, or n_classes={len(given)} to from_explanation or from_estimator"
            )
        display.axes_ = given[:panels]
    display.figure_ = display.ax_.figure


def note(display: Display, ax: Any, lines: Sequence[str]) -> None:
    """Write small print: below a figure of our own, else below the first of the axes given."""
    figure = display.figure_
    inches = figure.bbox.width / figure.dpi if ax is None else 4.0
    length = int(_NOTE_LENGTH * inches)
    text = literal("\n".join(part for line in lines for part in textwrap.wrap(line, length)))
    style = font(NOTE_SIZE, color=QUIET)
    if ax is None and len(display.axes_) > 1:
        figure.supxlabel(text, x=0.1 / inches, ha="left", **style)
    else:
        display.ax_.set_xlabel(text, loc="left", labelpad=6, **style)


def title(ax: Axes, text: str, side: Literal["left", "right"] = "left", **style: Any) -> None:
    """Write above the axes."""
    ax.set_title(literal(text), loc=side, **font(TITLE_SIZE, **style))


def bare(ax: Axes) -> None:
    """Axes without a frame and ticks."""
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.tick_params(length=0, labelsize=SIZE)
    ax.set_xticks([])
    ax.set_yticks([])


def say(ax: Axes, text: str) -> None:
    """A sentence where there is nothing to draw."""
    bare(ax)
    said = "\n".join(textwrap.wrap(text, _SENTENCE_LENGTH))
    ax.text(0.5, 0.5, said, transform=ax.transAxes, ha="center", va="center", **font(color=QUIET))


def _axes_of(ax: Any) -> list[Axes]:
    """The axes that a caller gives: one, several, or an array of them."""
    kind = matplotlib("axes").Axes
    given: list[Axes] = np.ravel(np.asarray(ax, dtype=object)).tolist()
    for own in given:
        if not isinstance(own, kind):
            raise TypeError(f"ax: Axes of Matplotlib expected, got {type(own).__name__}")
    return given


def _own_axes(width: float, height: float, panels: int) -> list[Axes]:
    """Axes of this size in a figure of pyplot, in rows of three or four."""
    columns = panels if panels <= 3 else min((4, 3), key=lambda own: -panels % own)
    rows = -(-panels // columns)
    size = columns * width, rows * height
    figure = matplotlib("pyplot").figure(figsize=size, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
    cells = list(figure.add_gridspec(rows, columns))[:panels]
    return [figure.add_subplot(cell) for cell in cells]
