"""Base classes of the displays: the choice of an item, axes, titles and notes."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import polars as pl

from stc.exceptions import ParameterError, ParameterTypeError
from stc.explain import GlobalExplanation, LocalExplanation
from stc.explain.names import with_probability
from stc.plot.style import MUTED, NOTE_SIZE, SIZE, TITLE_SIZE, font, matplotlib
from stc.plot.text import literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

# Characters per line: of notes, per inch; of a message.
_NOTE_LENGTH, _MESSAGE_LENGTH = 14, 32


class Display:
    """Base class of all displays."""

    figure_: Figure | SubFigure
    axes_: list[Axes]

    @property
    def ax_(self) -> Axes:
        """The axes drawn into; of several, the first."""
        return self.axes_[0]

    @classmethod
    def _from_model(
        cls, model: Any, method: str, items: Sequence[Any], *item: Any, **options: Any
    ) -> Self:
        """Draw what `explain_local` or `explain_global` of a model returns."""
        if not hasattr(model, method):
            raise ParameterTypeError(
                f"{type(model).__name__} has no method {method}",
                hint="of a pipeline, give the last step, and the items as transformed for it",
            )
        draw: Callable[..., Self] = cls.from_explanation  # type: ignore[attr-defined]
        return draw(getattr(model, method)(*items), *item, **options)

    def _take_axes(self, ax: Any, width: float, height: float, panels: int = 1) -> None:
        """Take the axes given, or create a figure with panels of this size in inches."""
        if ax is None:
            self.axes_ = _new_axes(width, height, panels)
        else:
            axes = _axes_list(ax)
            if len(axes) < panels:
                raise ParameterError(
                    f"ax: {panels} classes need as many axes, got {len(axes)}",
                    hint=f"give {panels} axes, or n_classes={len(axes)}",
                )
            self.axes_ = axes[:panels]
        self.figure_ = self.ax_.figure

    def _note(self, ax: Any, lines: Sequence[str]) -> None:
        """Write small print: below a new figure, or below the first of the axes given."""
        figure = self.figure_
        width = figure.bbox.width / figure.dpi if ax is None else 4.0
        length = int(_NOTE_LENGTH * width)
        text = literal("\n".join(part for line in lines for part in textwrap.wrap(line, length)))
        style = font(NOTE_SIZE, color=MUTED)
        if ax is None and len(self.axes_) > 1:
            figure.supxlabel(text, x=0.1 / width, ha="left", **style)
        else:
            self.ax_.set_xlabel(text, loc="left", labelpad=6, **style)

    def _message(self, ax: Axes, text: str) -> None:
        """Write a message into axes where there is nothing to draw."""
        remove_frame(ax)
        lines, place = "\n".join(textwrap.wrap(text, _MESSAGE_LENGTH)), ax.transAxes
        ax.text(0.5, 0.5, lines, transform=place, ha="center", va="center", **font(color=MUTED))


class ItemDisplay(Display):
    """Base class of the displays of one item."""

    @classmethod
    def from_estimator(cls, model: Any, X: Any, item: int | None = None, **options: Any) -> Self:
        """Explain an item and draw it.

        Parameters
        ----------
        model : SparseTensorClassifier, SparseTensorClassifierCV or StoredModel
            A fitted model.
        X
            Items, as in `fit`.
        item : int, default=None
            Number of the item in X; None: the only item.
        **options
            As in `from_explanation`.

        Returns
        -------
        the display

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from stc import SparseTensorClassifier
        >>> from stc.plot import ProbabilityDisplay
        >>> model = SparseTensorClassifier().fit([["red"], ["blue"]], ["hot", "cold"])
        >>> display = ProbabilityDisplay.from_estimator(model, [["red"]], ax=Figure().subplots())
        >>> display.labels, display.probabilities
        (['hot', 'cold'], [1.0, 0.0])
        """
        return cls._from_model(model, "explain_local", [X], item, **options)


class ModelDisplay(Display):
    """Base class of the displays of a model."""

    _LEGEND, _EMPTY = "share of the weights of the class", "no feature has a weight"

    @classmethod
    def from_estimator(cls, model: Any, **options: Any) -> Self:
        """Explain a model and draw it.

        Parameters
        ----------
        model : SparseTensorClassifier, SparseTensorClassifierCV or StoredModel
            A fitted model.
        **options
            As in `from_explanation`.

        Returns
        -------
        the display

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from stc import SparseTensorClassifier
        >>> from stc.plot import HeatmapDisplay
        >>> model = SparseTensorClassifier().fit([["red"], ["blue"]], ["hot", "cold"])
        >>> display = HeatmapDisplay.from_estimator(model, ax=Figure().subplots())
        >>> display.features, display.labels
        (['x0=blue', 'x0=red'], ['cold', 'hot'])
        """
        return cls._from_model(model, "explain_global", [], **options)

    @staticmethod
    def _weights(
        explanation: GlobalExplanation, labels: Sequence[Any] | None, n_classes: int
    ) -> tuple[list[Any], list[pl.DataFrame], int]:
        """Return the classes to draw, the weights of each, and the number of other classes."""
        chosen = list(explanation.classes if labels is None else labels)[:n_classes]
        tables = [explanation.for_class(label).table for label in chosen]
        return chosen, tables, len(explanation.classes) - len(chosen)


# --- what is drawn --------------------------------------------------------------------------------


def check_positive(**numbers: int | None) -> None:
    """Raise an error for numbers below 1."""
    for name, number in numbers.items():
        if number is not None and number < 1:
            raise ParameterError(f"{name}: at least 1 expected, got {number}")


def number_of_classes(ax: Any, n_classes: int | None, default: int) -> int:
    """Return the number of classes to draw: n_classes, else one per axes given."""
    check_positive(n_classes=n_classes)
    if n_classes is not None:
        return n_classes
    return default if ax is None else len(_axes_list(ax))


def one_item(explanation: LocalExplanation, item: int | None) -> LocalExplanation:
    """Return the explanation of one item; None: of the only item."""
    if item is None:
        if len(explanation) != 1:
            first = explanation.items[0] if len(explanation) else 0
            raise ParameterError(
                f"the explanation has {len(explanation):,} items",
                hint=f"choose one of them, as in item={first}",
            )
        item = int(explanation.items[0])
    return explanation.why(item)


def class_fields(one: LocalExplanation, places: Sequence[int]) -> dict[str, Any]:
    """Return the fields of a display of these classes, given by number, of one item."""
    return {
        "labels": [one.classes[place] for place in places],
        "probabilities": [float(one.proba[0, place]) for place in places],
        "unseen": one.unseen["feature"].to_list(),
        "more_classes": len(one.classes) - len(places),
    }


def reason_of(one: LocalExplanation) -> str:
    """Return the sentence on an item without contributions, without its class."""
    beginning = f"{with_probability(one.labels[0], one.probabilities[0])}: "
    return one.sentences(1)[0].removeprefix(beginning)


# --- axes -----------------------------------------------------------------------------------------


def title(ax: Axes, text: str, side: Literal["left", "right"] = "left", **style: Any) -> None:
    """Write a title above the axes."""
    ax.set_title(literal(text), loc=side, **font(TITLE_SIZE, **style))


def remove_frame(ax: Axes) -> None:
    """Remove the frame and the ticks of the axes."""
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.tick_params(length=0, labelsize=SIZE)
    ax.set_xticks([])
    ax.set_yticks([])


def _axes_list(ax: Any) -> list[Axes]:
    """Return the axes that a caller gives: one, several, or an array of them."""
    kind = matplotlib("axes").Axes
    axes: list[Axes] = np.ravel(np.asarray(ax, dtype=object)).tolist()
    for element in axes:
        if not isinstance(element, kind):
            raise ParameterTypeError(f"ax: Axes expected, got {type(element).__name__}")
    return axes


def _new_axes(width: float, height: float, panels: int) -> list[Axes]:
    """Create axes of this size in a figure of pyplot, in rows of three or four."""
    columns = panels if panels <= 3 else min((4, 3), key=lambda count: -panels % count)
    rows = -(-panels // columns)
    size = columns * width, rows * height
    figure = matplotlib("pyplot").figure(figsize=size, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
    cells = list(figure.add_gridspec(rows, columns))[:panels]
    return [figure.add_subplot(cell) for cell in cells]
