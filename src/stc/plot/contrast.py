"""Contrasts as bars: for one class to the right, for another to the left."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import polars as pl

from stc.explain import Contrast, LocalExplanation
from stc.plot.bars import draw_panels, limits_of, strongest
from stc.plot.display import ItemDisplay, one_item, title
from stc.plot.style import AGAINST_TEXT, FOR
from stc.plot.text import class_title, clean


@dataclass(eq=False)
class ContrastDisplay(ItemDisplay):
    """Bars of a contrast: features for the class to the right, for another class to the left.

    Parameters
    ----------
    table : polars.DataFrame
        The table of a `Contrast`, with `feature` and `share`.
    label, other
        The class explained, and the class it is compared with.
    probability, probability_of_other : float
        Their probabilities.

    Attributes
    ----------
    figure_, ax_
        The figure and the axes.

    Examples
    --------
    >>> from stc import SparseTensorClassifier, load_zoo
    >>> from stc.plot import ContrastDisplay
    >>> X, y = load_zoo()
    >>> explanation = SparseTensorClassifier().fit(X, y).explain_local(X[:1])
    >>> display = ContrastDisplay.from_explanation(explanation, label="Bird")
    >>> display.ax_.get_title("left"), display.ax_.get_title("right")
    ('← Bird, 0.00', 'Mammal, 0.99 →')
    """

    table: pl.DataFrame = field(repr=False)
    label: Any
    other: Any
    probability: float
    probability_of_other: float

    @classmethod
    def from_explanation(
        cls,
        explanation: LocalExplanation | Contrast,
        item: int | None = None,
        *,
        label: Any = None,
        n_features: int = 12,
        ax: Any = None,
    ) -> Self:
        """Draw why an item has its class and not another one.

        Parameters
        ----------
        explanation : LocalExplanation or Contrast
            The result of `model.explain_local(X)`, or of its method `why_not`.
        item : int, default=None
            Number of the item; None: the only item.
        label : default=None
            The other class; None: the most probable of the others.
        n_features : int, default=12
            Maximal number of features, those with the largest differences.
        ax : Axes, default=None
            Axes to draw into; None: a new figure.

        Returns
        -------
        ContrastDisplay

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from stc import SparseTensorClassifier
        >>> from stc.plot import ContrastDisplay
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> contrast = model.explain_local(["good bad"]).why_not(0)
        >>> display = ContrastDisplay.from_explanation(contrast, ax=Figure().subplots())
        >>> [label.get_text() for label in display.ax_.get_yticklabels()]
        ['bad', 'good']
        """
        contrast = explanation
        if isinstance(contrast, LocalExplanation):
            one = one_item(contrast, item)
            contrast = one.why_not(int(one.items[0]), label)
        probabilities = contrast.probability, contrast.probability_of_other
        display = cls(contrast.table, contrast.label, contrast.other, *probabilities)
        return display.plot(ax, n_features=n_features)

    def plot(self, ax: Any = None, *, n_features: int = 12) -> Self:
        """Draw the display, with parameters as in `from_explanation`, and return it.

        Examples
        --------
        >>> import polars as pl
        >>> from matplotlib.figure import Figure
        >>> from stc.plot import ContrastDisplay
        >>> table = pl.DataFrame({"feature": ["milk=1", "fins=1"], "share": [0.5, -0.25]})
        >>> display = ContrastDisplay(table, "mammal", "fish", 0.8, 0.2).plot(Figure().subplots())
        >>> [float(bar.get_width()) for bar in display.ax_.patches]
        [0.5, -0.25]
        """
        panel = strongest(self.table, n_features)
        low, high = limits_of(bar.value for bar in panel.bars)
        limits = min(low, -0.1 * high), max(high, -0.1 * low)
        empty = "no feature tells them apart"
        draw_panels(self, ax, [panel], limits, width=4.8, height=0.8, empty=empty)
        if panel.bars:
            self._note(ax, ["difference, as a share of the higher score"])
        other = class_title(self.other, self.probability_of_other)
        title(self.ax_, f"{clean('←')} {other}", color=AGAINST_TEXT)
        label = class_title(self.label, self.probability)
        title(self.ax_, f"{label} {clean('→')}", "right", color=FOR)
        return self
